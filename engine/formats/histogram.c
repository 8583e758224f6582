/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tfevents.h"

#include <float.h>
#include <math.h>

#define MAX_SIDE 800

/* Limits on the positive side: 1e-12 x 1.1^k below 1e20. TensorFlow, core/lib/histogram/histogram.cc. */
static int
side_limits (double limits[MAX_SIDE])
{
  int n = 0;
  for (double v = 1.0e-12; v < 1.0e20; v *= 1.1)
    limits[n++] = v;
  return n;
}

/* All limits, ascending: -DBL_MAX, the negative side, 0, the positive side, DBL_MAX. */
typedef struct
{
  int n;
  double at[2 * MAX_SIDE + 3];
} Limits;

static const Limits *
default_limits (void)
{
  static Limits limits;
  static gsize ready;
  if (g_once_init_enter (&ready))
    {
      double side[MAX_SIDE];
      int n_side = side_limits (side), n = 0;
      limits.at[n++] = -DBL_MAX;
      for (int i = n_side - 1; i >= 0; i--)
        limits.at[n++] = -side[i];
      limits.at[n++] = 0;
      for (int i = 0; i < n_side; i++)
        limits.at[n++] = side[i];
      limits.at[n++] = DBL_MAX;
      limits.n = n;
      g_once_init_leave (&ready, 1);
    }
  return &limits;
}

/* First limit > value, as TensorFlow's upper_bound. */
static int
bucket_of (const Limits *limits, double value)
{
  int low = 0, high = limits->n - 1;
  while (low < high)
    {
      int middle = (low + high) / 2;
      if (limits->at[middle] > value)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

/* Neighbouring empty buckets become one. */
static void
keep_buckets (TnHistogram *self, const Limits *limits, const double *counts)
{
  self->limits = g_new (double, limits->n);
  self->buckets = g_new (double, limits->n);
  for (int i = 0; i < limits->n;)
    {
      double limit = limits->at[i], count = counts[i];
      i++;
      while (count <= 0 && i < limits->n && counts[i] <= 0)
        limit = limits->at[i++];
      self->limits[self->n_buckets] = limit;
      self->buckets[self->n_buckets++] = count;
    }
}

TnHistogram *
tn_histogram_new_from_floats (const float *values, size_t n, int64_t *n_not_finite)
{
  const Limits *limits = default_limits ();
  TnHistogram *self = g_new0 (TnHistogram, 1);
  g_autofree double *counts = g_new0 (double, limits->n);
  int64_t skipped = 0;

  self->min = DBL_MAX;
  self->max = -DBL_MAX;
  for (size_t i = 0; i < n; i++)
    {
      double v = values[i];
      if (!isfinite (v))
        {
          skipped++;
          continue;
        }
      self->min = MIN (self->min, v);
      self->max = MAX (self->max, v);
      self->count++;
      self->sum += v;
      self->sum_squares += v * v;
      counts[bucket_of (limits, v)]++;
    }
  if (self->count == 0)
    self->min = self->max = 0;
  keep_buckets (self, limits, counts);
  if (n_not_finite)
    *n_not_finite = skipped;
  return self;
}

void
tn_histogram_free (TnHistogram *self)
{
  g_free (self->limits);
  g_free (self->buckets);
  g_free (self);
}
