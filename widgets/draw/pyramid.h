/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnPyramid: minimum, maximum and counts of any range of a growing array, in time that depends on the logarithm of its length.
 *
 * Level 0 sums up blocks of 16 values, each level above it 4 blocks of the one below. Only whole blocks are kept, so an append touches
 * one block in 16 values, and cutting the end off is a matter of counts. The values belong to the caller, who hands
 * them in again at each call. 2.7 bytes a value. */
#define TN_PYRAMID_BASE 16
#define TN_PYRAMID_FAN_OUT 4
#define TN_PYRAMID_LEVELS 20

typedef struct
{
  double min, max;       /* of the finite values; min > max where there is none */
  double min_positive;   /* smallest value above 0, infinity where there is none: the lower end on a log axis */
  int64_t n_finite, n_positive;
} TnSummary;

typedef struct
{
  TnSummary *blocks[TN_PYRAMID_LEVELS];
  size_t n[TN_PYRAMID_LEVELS], room[TN_PYRAMID_LEVELS];
} TnPyramid;

void tn_pyramid_clear (TnPyramid *self);
/** Takes note of @values[0..n), of which earlier calls have seen a beginning. */
void tn_pyramid_extend (TnPyramid *self, const double *values, size_t n);
/** Forgets what was seen from @n on. */
void tn_pyramid_truncate (TnPyramid *self, size_t n);
/** Sums up @values[begin..end). */
void tn_pyramid_query (const TnPyramid *self, const double *values, size_t begin, size_t end, TnSummary *summary);
/** How many finite values of [begin, end) lie below @low or above @high; those that are not @positive_only counted out if that is set. */
int64_t tn_pyramid_count_outside (const TnPyramid *self, const double *values, size_t begin, size_t end, double low, double high,
                                  gboolean positive_only);
/** Index of the first value of [begin, end) that is not finite (@finite FALSE) or is at most 0 (@finite TRUE); @end if there is none. */
size_t tn_pyramid_find_odd (const TnPyramid *self, const double *values, size_t begin, size_t end, gboolean finite);
/** Values in a block of level @level. */
static inline size_t
tn_pyramid_block_size (int level)
{
  return (size_t) TN_PYRAMID_BASE << (2 * level);
}

void tn_summary_clear (TnSummary *self);
void tn_summary_add (TnSummary *self, double value);
