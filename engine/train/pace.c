/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static guint
capacity (TnPaceKind kind)
{
  return kind == TN_PACE_STEP ? TN_PACE_STEPS : TN_PACE_RARE;
}

void
tn_pace_add (TnPace *self, TnPaceKind kind, double seconds)
{
  if (kind == TN_PACE_STEP && self->warm_up < TN_PACE_WARM_UP)
    {
      self->warm_up++;
      return;
    }
  self->seconds[kind][self->n[kind]++ % capacity (kind)] = (float) seconds;
}

static int
compare_floats (const void *a, const void *b)
{
  float x = *(const float *) a, y = *(const float *) b;
  return (x > y) - (x < y);
}

/* The value below which @share of the last ones lie. */
static double
quantile (const TnPace *self, TnPaceKind kind, double share)
{
  float sorted[TN_PACE_STEPS];
  guint n = MIN (self->n[kind], capacity (kind));
  if (n == 0)
    return NAN;
  memcpy (sorted, self->seconds[kind], n * sizeof (float));
  qsort (sorted, n, sizeof (float), compare_floats);
  return (double) sorted[(guint) lround (share * (n - 1))];
}

double
tn_pace_median (const TnPace *self, TnPaceKind kind)
{
  return quantile (self, kind, 0.5);
}

gboolean
tn_pace_left (const TnPace *self, const gint64 left[TN_PACE_N_KINDS], double *least, double *most)
{
  *least = *most = NAN;
  if (self->n[TN_PACE_STEP] == 0)
    return FALSE;
  *least = *most = 0;
  for (int kind = 0; kind < TN_PACE_N_KINDS; kind++)
    if (self->n[kind] > 0 && left[kind] > 0)
      {
        *least += (double) left[kind] * quantile (self, (TnPaceKind) kind, 0.25);
        *most += (double) left[kind] * quantile (self, (TnPaceKind) kind, 0.75);
      }
  return TRUE;
}
