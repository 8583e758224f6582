/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdint.h>

/* TnSchedule: the learning rate as a function of the step.
 *
 * Step 0 is the first update. A schedule has no state: the rate of any step can be asked for, so that a resumed run needs
 * nothing but its step. Immutable, shared by reference. Kinds (arguments as in MindSpore and PyTorch):
 *
 *   constant            learning_rate
 *   piecewise_constant  milestone [..], learning_rates [..]        rate k while step < milestone k; the last one after
 *   exponential_decay, natural_exp_decay, inverse_decay            learning_rate, decay_rate, decay_steps, is_stair
 *   cosine_decay        min_lr, max_lr, decay_steps
 *   polynomial_decay    learning_rate, end_learning_rate, decay_steps, power, update_decay_steps
 *   warmup              learning_rate, warmup_steps                 lr * min (step, w) / w: 0 at the first step
 *   StepLR, MultiStepLR, ConstantLR, LinearLR, ExponentialLR, PolynomialLR, CosineAnnealingLR,
 *   CosineAnnealingWarmRestarts, OneCycleLR, CyclicLR               base_lr and PyTorch's arguments, closed form
 *
 * The MindSpore kinds count in steps; with steps_per_epoch > 0 they count whole epochs instead (MindSpore's list functions:
 * decay_steps, milestones excepted, and warmup_steps are then epochs).
 *
 *   g_autoptr (TnSchedule) s = tn_schedule_new ("cosine_decay", TN_SCHEDULE_ARGS (tn_arg ("min_lr", 0),
 *                                               tn_arg ("max_lr", 0.1), tn_arg ("decay_steps", 5000)), &error);
 *   s = tn_schedule_warmup (s, 500);
 *   double lr = tn_schedule_lr (s, step);
 */
typedef struct _TnSchedule TnSchedule;

typedef struct
{
  const char *name;
  int count;
  const double *values; /* lists */
  double value;
  const char *text; /* words: mode "triangular" */
} TnScheduleArg;

static inline TnScheduleArg tn_arg (const char *name, double v) { return (TnScheduleArg){ .name = name, .value = v }; }
static inline TnScheduleArg tn_arg_list (const char *name, int n, const double *v) { return (TnScheduleArg){ .name = name, .count = n, .values = v }; }
static inline TnScheduleArg tn_arg_text (const char *name, const char *v) { return (TnScheduleArg){ .name = name, .text = v }; }
#define TN_SCHEDULE_ARGS(...) (int) (sizeof ((TnScheduleArg[]){ __VA_ARGS__ }) / sizeof (TnScheduleArg)), (TnScheduleArg[]){ __VA_ARGS__ }

/** Errors (TN_ERROR_INVALID_ARGUMENT): unknown kind or argument with a did-you-mean, a missing one, a value out of range. */
TnSchedule *tn_schedule_new (const char *kind, int n_args, const TnScheduleArg *args, GError **error);
/** {"kind": "cosine_decay", "max_lr": 0.1, ..., "warmup": 500}. @path is where the object stands, for messages. */
TnSchedule *tn_schedule_from_json (JsonObject *object, const char *path, GError **error);
/** The rate of step i is values[i]; the last one holds after the end. */
TnSchedule *tn_schedule_from_list (int n, const double *values);
/** Rises over @steps from 0 to what @inner says first (rate of step s: inner (0) * s / steps), then @inner from its own
 * step 0. Takes @inner. */
TnSchedule *tn_schedule_warmup (TnSchedule *inner, int64_t steps);
/** Schedules one after the other, each from its own step 0: the k-th until milestones[k]. Takes the schedules. */
TnSchedule *tn_schedule_sequence (int n, TnSchedule **schedules, const int64_t *milestones, GError **error);
TnSchedule *tn_schedule_ref (TnSchedule *self);
void tn_schedule_unref (TnSchedule *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnSchedule, tn_schedule_unref)

/** @step >= 0. */
double tn_schedule_lr (const TnSchedule *self, int64_t step);
/** The momentum that OneCycleLR and CyclicLR cycle along with the rate (beta1 of Adam); NAN for other kinds. */
double tn_schedule_momentum (const TnSchedule *self, int64_t step);
/** NULL-terminated names of all kinds. */
const char *const *tn_schedule_kinds (void);

/* TnPlateau: lowers the rate when a metric stops improving (PyTorch's ReduceLROnPlateau). A plain value that goes into checkpoints. */
typedef struct
{
  /* settings */
  gboolean maximize;
  double factor;    /* in (0, 1) */
  int64_t patience, cooldown;
  double threshold;
  gboolean absolute; /* threshold_mode "abs" */
  double min_lr, eps;
  /* state */
  double lr, best;
  int64_t bad, cooling;
} TnPlateau;

/** min, factor 0.1, patience 10, threshold 1e-4 relative, no cooldown. */
void tn_plateau_init (TnPlateau *self, double lr);
/** Forgets the best value; to be called after settings changed. */
void tn_plateau_reset (TnPlateau *self);
/** Takes the metric of an epoch and returns the rate that follows. */
double tn_plateau_step (TnPlateau *self, double metric);
