/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnShuffle: the order in which an epoch goes through its samples.
 *
 * A permutation that depends on (seed, epoch) and the ids only, so a run resumes in the middle of an epoch by asking for
 * the position where it stood. One epoch's order is kept; asking for another makes that one (about 2 ms for 60,000). One
 * thread at a time. */
typedef struct _TnShuffle TnShuffle;

/** Copies @ids. @shuffled FALSE: their own order in every epoch. */
TnShuffle *tn_shuffle_new (const int64_t *ids, int64_t n, gboolean shuffled, uint64_t seed);
void tn_shuffle_free (TnShuffle *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnShuffle, tn_shuffle_free)
int64_t tn_shuffle_n (const TnShuffle *self);
/** The ids of @epoch in order, [n]; valid until another epoch is asked for. Never allocates. */
const int64_t *tn_shuffle_order (TnShuffle *self, int64_t epoch);
