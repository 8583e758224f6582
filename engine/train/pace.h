/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnPace: how long steps, validations and checkpoints of a run take, and from that how long the rest of it will. Each kind has its
 * own quartiles over what came last: a mean over all would swing with every validation. No allocation; one thread. */
#define TN_PACE_STEPS 127
#define TN_PACE_RARE 15
#define TN_PACE_WARM_UP 10 /* steps of a process that do not count: caches are cold */

typedef enum
{
  TN_PACE_STEP,
  TN_PACE_VALIDATION,
  TN_PACE_CHECKPOINT,
  TN_PACE_N_KINDS
} TnPaceKind;

typedef struct
{
  float seconds[TN_PACE_N_KINDS][TN_PACE_STEPS];
  guint n[TN_PACE_N_KINDS]; /* in all; of validations and checkpoints the last TN_PACE_RARE count */
  guint warm_up;            /* steps seen of these */
} TnPace;

void tn_pace_add (TnPace *self, TnPaceKind kind, double seconds);
/** Median, or NaN before anything counts. */
double tn_pace_median (const TnPace *self, TnPaceKind kind);
/**
 * tn_pace_left: seconds that @left of each kind will take: lower and upper quartile of each, summed. FALSE (and NaN) while no step counts.
 * A kind of which nothing was seen yet adds nothing.
 */
gboolean tn_pace_left (const TnPace *self, const gint64 left[TN_PACE_N_KINDS], double *least, double *most);
