/* SPDX-License-Identifier: Apache-2.0 */
#include "run-timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_FIRST 10

void
tn_run_timing_reset (TnRunTiming *self)
{
  *self = (TnRunTiming){ .last_step = -1 };
}

void
tn_run_timing_step (TnRunTiming *self, gint64 step, gint64 time_us)
{
  if (self->last_us > 0 && step == self->last_step + 1 && time_us >= self->last_us && !self->after_validation && ++self->seen > N_FIRST)
    self->steps[self->n_steps++ % TN_TIMING_WINDOW] = (double) (time_us - self->last_us) / 1e6;
  self->after_validation = FALSE;
  self->last_step = step;
  self->last_us = time_us;
}

void
tn_run_timing_validation (TnRunTiming *self, gint64 time_us)
{
  if (self->last_us > 0 && time_us > self->last_us)
    self->validations[self->n_validations++ % G_N_ELEMENTS (self->validations)] = (double) (time_us - self->last_us) / 1e6;
  self->after_validation = TRUE;
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

static double
quantile (const double *values, guint n, double share)
{
  double sorted[TN_TIMING_WINDOW];
  memcpy (sorted, values, n * sizeof *values);
  qsort (sorted, n, sizeof *sorted, compare);
  return sorted[(guint) (share * (n - 1) + 0.5)];
}

void
tn_run_timing_left (TnRunTiming *self, gint64 step, gint64 total, double *low, double *high)
{
  *low = *high = NAN;
  guint n = MIN (self->n_steps, TN_TIMING_WINDOW);
  if (n > 0)
    self->step_seconds = quantile (self->steps, n, 0.5);
  if (n < N_FIRST || total <= 0)
    return;
  double steps = (double) MAX (0, total - step), passes = 0;
  guint n_validations = MIN (self->n_validations, G_N_ELEMENTS (self->validations));
  if (n_validations > 0 && self->steps_per_epoch > 0)
    passes = ceil (steps / (double) self->steps_per_epoch) * quantile (self->validations, n_validations, 0.5);
  /* Means of many steps vary less than single steps, so the quartiles are pulled towards the mean. */
  double sum = 0;
  for (guint i = 0; i < n; i++)
    sum += self->steps[i];
  double mean = sum / n;
  *low = steps * fmin (mean, (mean + quantile (self->steps, n, 0.25)) / 2) + passes;
  *high = steps * fmax (mean, (mean + quantile (self->steps, n, 0.75)) / 2) * 1.05 + passes;
}
