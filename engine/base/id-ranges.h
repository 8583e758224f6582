/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnIdRanges: a set of ids written as people write it: "3,17,200-210".
 *
 * Kept as ascending ranges that neither touch nor overlap, so that its text has one form and its size is bounded by the text
 * it was read from. Not thread-safe while it changes.
 *
 *   g_autoptr (TnIdRanges) excluded = tn_id_ranges_parse ("3,17,200-210", &error);
 *   if (!tn_id_ranges_contains (excluded, id)) ...
 */
typedef struct
{
  int64_t first, last; /* inclusive */
} TnIdRange;

typedef struct
{
  GArray *ranges; /* TnIdRange */
} TnIdRanges;

/** Ids from 0, in any order, spaces allowed; "" is the empty set. Error TN_ERROR_INVALID_ARGUMENT names the part. */
TnIdRanges *tn_id_ranges_parse (const char *text, GError **error);
void tn_id_ranges_free (TnIdRanges *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnIdRanges, tn_id_ranges_free)

gboolean tn_id_ranges_contains (const TnIdRanges *self, int64_t id);
void tn_id_ranges_add (TnIdRanges *self, int64_t first, int64_t last);
void tn_id_ranges_remove (TnIdRanges *self, int64_t first, int64_t last);
/** How many ids. */
int64_t tn_id_ranges_count (const TnIdRanges *self);
/** The one form: "3,17,200-210". Free with g_free. */
char *tn_id_ranges_to_text (const TnIdRanges *self);
