/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/pyramid.h"
#include <math.h>

void
tn_summary_clear (TnSummary *self)
{
  *self = (TnSummary) { .min = INFINITY, .max = -INFINITY, .min_positive = INFINITY };
}

void
tn_summary_add (TnSummary *self, double value)
{
  if (!isfinite (value))
    return;
  self->n_finite++;
  self->min = value < self->min ? value : self->min;
  self->max = value > self->max ? value : self->max;
  if (value <= 0)
    return;
  self->n_positive++;
  self->min_positive = value < self->min_positive ? value : self->min_positive;
}

static inline void
merge (TnSummary *self, const TnSummary *other)
{
  self->min = other->min < self->min ? other->min : self->min;
  self->max = other->max > self->max ? other->max : self->max;
  self->min_positive = other->min_positive < self->min_positive ? other->min_positive : self->min_positive;
  self->n_finite += other->n_finite;
  self->n_positive += other->n_positive;
}

void
tn_pyramid_clear (TnPyramid *self)
{
  for (int level = 0; level < TN_PYRAMID_LEVELS; level++)
    g_free (self->blocks[level]);
  *self = (TnPyramid) { 0 };
}

static TnSummary *
add_block (TnPyramid *self, int level)
{
  if (self->n[level] == self->room[level])
    {
      self->room[level] = MAX (16, self->room[level] * 2);
      self->blocks[level] = g_renew (TnSummary, self->blocks[level], self->room[level]);
    }
  TnSummary *block = &self->blocks[level][self->n[level]++];
  tn_summary_clear (block);
  return block;
}

/* A level's last four blocks became whole: one more above it, and so on up. */
static void
carry (TnPyramid *self)
{
  for (int level = 0; level + 1 < TN_PYRAMID_LEVELS && self->n[level] % TN_PYRAMID_FAN_OUT == 0; level++)
    {
      const TnSummary *below = &self->blocks[level][self->n[level] - TN_PYRAMID_FAN_OUT];
      TnSummary *block = add_block (self, level + 1);
      for (int i = 0; i < TN_PYRAMID_FAN_OUT; i++)
        merge (block, &below[i]);
    }
}

void
tn_pyramid_extend (TnPyramid *self, const double *values, size_t n)
{
  while ((self->n[0] + 1) * TN_PYRAMID_BASE <= n)
    {
      const double *of_block = values + self->n[0] * TN_PYRAMID_BASE;
      TnSummary *block = add_block (self, 0);
      for (int i = 0; i < TN_PYRAMID_BASE; i++)
        tn_summary_add (block, of_block[i]);
      carry (self);
    }
}

void
tn_pyramid_truncate (TnPyramid *self, size_t n)
{
  for (int level = 0; level < TN_PYRAMID_LEVELS; level++)
    self->n[level] = MIN (self->n[level], n / tn_pyramid_block_size (level));
}

/* The largest whole block that begins at @at and ends by @end: its level, or -1 where only single values fit. */
static inline int
block_at (const TnPyramid *self, size_t at, size_t end)
{
  if (at % TN_PYRAMID_BASE != 0 || at + TN_PYRAMID_BASE > end || at / TN_PYRAMID_BASE >= self->n[0])
    return -1;
  int level = 0;
  size_t block = at / TN_PYRAMID_BASE;
  while (level + 1 < TN_PYRAMID_LEVELS && block % TN_PYRAMID_FAN_OUT == 0 && at + tn_pyramid_block_size (level + 1) <= end
         && block / TN_PYRAMID_FAN_OUT < self->n[level + 1])
    {
      level++;
      block /= TN_PYRAMID_FAN_OUT;
    }
  return level;
}

void
tn_pyramid_query (const TnPyramid *self, const double *values, size_t begin, size_t end, TnSummary *summary)
{
  tn_summary_clear (summary);
  for (size_t at = begin; at < end;)
    {
      int level = block_at (self, at, end);
      if (level < 0)
        {
          tn_summary_add (summary, values[at++]);
          continue;
        }
      size_t size = tn_pyramid_block_size (level);
      merge (summary, &self->blocks[level][at / size]);
      at += size;
    }
}

static inline gboolean
is_outside (double value, double low, double high, gboolean positive_only)
{
  return isfinite (value) && (value < low || value > high) && (!positive_only || value > 0);
}

static int64_t
count_in_block (const TnPyramid *self, const double *values, int level, size_t block, double low, double high, gboolean positive_only)
{
  const TnSummary *summary = &self->blocks[level][block];
  double min = positive_only ? summary->min_positive : summary->min;
  int64_t n = positive_only ? summary->n_positive : summary->n_finite;
  if (n == 0 || (min >= low && summary->max <= high))
    return 0;
  if (min > high || summary->max < low)
    return n;
  int64_t count = 0;
  if (level == 0)
    for (size_t i = block * TN_PYRAMID_BASE; i < (block + 1) * TN_PYRAMID_BASE; i++)
      count += is_outside (values[i], low, high, positive_only);
  else
    for (size_t i = 0; i < TN_PYRAMID_FAN_OUT; i++)
      count += count_in_block (self, values, level - 1, block * TN_PYRAMID_FAN_OUT + i, low, high, positive_only);
  return count;
}

int64_t
tn_pyramid_count_outside (const TnPyramid *self, const double *values, size_t begin, size_t end, double low, double high, gboolean positive_only)
{
  int64_t count = 0;
  for (size_t at = begin; at < end;)
    {
      int level = block_at (self, at, end);
      if (level < 0)
        {
          count += is_outside (values[at++], low, high, positive_only);
          continue;
        }
      size_t size = tn_pyramid_block_size (level);
      count += count_in_block (self, values, level, at / size, low, high, positive_only);
      at += size;
    }
  return count;
}

static inline gboolean
is_odd (double value, gboolean finite)
{
  return finite ? isfinite (value) && value <= 0 : !isfinite (value);
}

size_t
tn_pyramid_find_odd (const TnPyramid *self, const double *values, size_t begin, size_t end, gboolean finite)
{
  size_t at = begin;
  while (at < end)
    {
      int level = block_at (self, at, end);
      if (level < 0)
        {
          if (is_odd (values[at], finite))
            return at;
          at++;
          continue;
        }
      /* Down to the smallest block that has one; a block without is passed over whole. */
      for (; level >= 0; level--)
        {
          size_t size = tn_pyramid_block_size (level);
          const TnSummary *block = &self->blocks[level][at / size];
          if (finite ? block->n_finite == block->n_positive : block->n_finite == (int64_t) size)
            {
              at += size;
              break;
            }
        }
      if (level < 0)
        for (size_t i = at; i < at + TN_PYRAMID_BASE; i++)
          if (is_odd (values[i], finite))
            return i;
    }
  return end;
}
