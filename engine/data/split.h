/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>
#include "base/id-ranges.h"

/* TnSplit: which samples train and which are held out, by a stated rule:
 *
 *   "none"       all train
 *   "last:N"     the last N samples are held out
 *   "last:P%"    the last P percent (rounded to the nearest sample)
 *   "hash:P%"    about P percent, chosen by a hash of the sample's id: a sample stays on its side when more are added
 *
 * Both lists are ascending. */
typedef struct
{
  int64_t *train, *held_out; /* ids */
  int64_t n_train, n_held_out;
} TnSplit;

/** Errors: TN_ERROR_INVALID_ARGUMENT for a rule that is none of these, or that leaves nothing to train or, but for "none",
 * nothing held out. */
TnSplit *tn_split_new (const char *rule, int64_t n_samples, GError **error);
/** Takes the ids in @excluded out of both lists; no other sample changes its side. TN_ERROR_INVALID_ARGUMENT if nothing is left
 * to train, or nothing held out where something was; @self is then as it was. */
gboolean tn_split_exclude (TnSplit *self, const TnIdRanges *excluded, GError **error);
void tn_split_free (TnSplit *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnSplit, tn_split_free)

/** Whether @rule is one, without a data set: for the settings table. */
gboolean tn_split_check_rule (const char *rule, GError **error);
