/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnRunTiming: how long the rest of a run takes, as a range: from the quartiles of the last training steps and the median
 * of validation passes. The first ten steps do not count. No GTK; time comes with the rows. */
#define TN_TIMING_WINDOW 128

typedef struct
{
  double steps[TN_TIMING_WINDOW]; /* seconds a step, ring */
  guint n_steps, seen;
  double validations[16];
  guint n_validations;
  gint64 last_step, last_us;      /* of the last training row */
  gboolean after_validation;      /* the next difference holds a validation, too */
  gint64 steps_per_epoch;
  double step_seconds;            /* median, 0 while not known */
} TnRunTiming;

void tn_run_timing_reset (TnRunTiming *self);
void tn_run_timing_step (TnRunTiming *self, gint64 step, gint64 time_us);
void tn_run_timing_validation (TnRunTiming *self, gint64 time_us);
/** NaN in both while estimating or where @total is 0. */
void tn_run_timing_left (TnRunTiming *self, gint64 step, gint64 total, double *low, double *high);
