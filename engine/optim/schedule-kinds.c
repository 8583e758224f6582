/* SPDX-License-Identifier: Apache-2.0 */
#include "optim/schedule-kinds.h"

#include <math.h>
#include <string.h>
#include "base/error.h"

/* Formulas: MindSpore's nn.*_lr functions and nn.*LR cells, PyTorch's torch.optim.lr_scheduler in closed form. @t is the step,
 * or the epoch where a MindSpore kind counts in epochs. */

#define TINY 1e-300
#define HUGE_COUNT 9e15
#define LR(name) { name, SCHEDULE_NUMBER, TRUE, 0, 0, 1e30 }
#define RATE(name) { name, SCHEDULE_NUMBER, TRUE, 0, TINY, 1e30 }
#define COUNT(name) { name, SCHEDULE_COUNT, TRUE, 0, 1, HUGE_COUNT }
#define OPTIONAL(name, value, low, high) { name, SCHEDULE_NUMBER, FALSE, value, low, high }
#define FLAG(name, value) { name, SCHEDULE_FLAG, FALSE, value }

/* ---- MindSpore ---- */

static double
constant_lr (const TnScheduleValues *v, double t)
{
  return v->n[0];
}

/* milestone, learning_rates */
static double
piecewise_lr (const TnScheduleValues *v, double t)
{
  int k = 0;
  while (k < v->list_n[0] - 1 && t >= v->list[0][k])
    k++;
  return v->list[1][k];
}

static gboolean
piecewise_check (const TnScheduleValues *v, GError **error)
{
  int n = v->list_n[0];
  if (n == 0 || n != v->list_n[1])
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                   _ ("there are %d milestones and %d learning_rates: give as many rates as milestones"), n, v->list_n[1]);
      return FALSE;
    }
  for (int i = 0; i < n; i++)
    if (v->list[0][i] < 1 || v->list[0][i] != floor (v->list[0][i]) || (i > 0 && v->list[0][i] < v->list[0][i - 1]))
      {
        g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                     _ ("milestone[%d] = %g: milestones are whole numbers from 1 up that do not fall"), i, v->list[0][i]);
        return FALSE;
      }
  return TRUE;
}

/* learning_rate, decay_rate, decay_steps, is_stair */
static double
decay_exponent (const TnScheduleValues *v, double t)
{
  return v->n[3] != 0 ? floor (t / v->n[2]) : t / v->n[2];
}

static double
exponential_decay_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] * pow (v->n[1], decay_exponent (v, t));
}

/* The code of MindSpore, not its text: the exponent is not divided by decay_steps. */
static double
natural_exp_decay_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] * exp (-v->n[1] * (v->n[3] != 0 ? floor (t / v->n[2]) * v->n[2] : t));
}

static double
inverse_decay_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] / (1 + v->n[1] * decay_exponent (v, t));
}

/* min_lr, max_lr, decay_steps */
static double
cosine_decay_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] + 0.5 * (v->n[1] - v->n[0]) * (1 + cos (G_PI * MIN (t, v->n[2]) / v->n[2]));
}

static gboolean
cosine_decay_check (const TnScheduleValues *v, GError **error)
{
  if (v->n[1] > v->n[0])
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("max_lr (%g) must be greater than min_lr (%g)"), v->n[1], v->n[0]);
  return FALSE;
}

/* learning_rate, end_learning_rate, decay_steps, power, update_decay_steps */
static double
polynomial_decay_lr (const TnScheduleValues *v, double t)
{
  double steps = v->n[2];
  if (v->n[4] != 0)
    steps *= MAX (ceil (t / steps), 1);
  t = MIN (t, steps);
  return (v->n[0] - v->n[1]) * pow (1 - t / steps, v->n[3]) + v->n[1];
}

/* learning_rate, warmup_steps */
static double
warmup_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] * MIN (t, v->n[1]) / v->n[1];
}

/* ---- PyTorch: base_lr first ---- */

static double
step_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] * pow (v->n[2], floor (t / v->n[1]));
}

static double
multi_step_lr (const TnScheduleValues *v, double t)
{
  int passed = 0;
  for (int i = 0; i < v->list_n[1]; i++)
    passed += v->list[1][i] <= t;
  return v->n[0] * pow (v->n[2], passed);
}

static double
constant_factor_lr (const TnScheduleValues *v, double t)
{
  return t < v->n[2] ? v->n[0] * v->n[1] : v->n[0];
}

static double
linear_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] * (v->n[1] + (v->n[2] - v->n[1]) * MIN (t, v->n[3]) / v->n[3]);
}

static double
exponential_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] * pow (v->n[1], t);
}

static double
polynomial_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] * pow (1 - MIN (t, v->n[1]) / v->n[1], v->n[2]);
}

static double
cosine_annealing_lr (const TnScheduleValues *v, double t)
{
  return v->n[2] + (v->n[0] - v->n[2]) * (1 + cos (G_PI * t / v->n[1])) / 2;
}

/* base_lr, T_0, T_mult, eta_min: periods of T_0, T_0 T_mult, T_0 T_mult^2 ... */
static double
warm_restarts_lr (const TnScheduleValues *v, double t)
{
  double period = v->n[1], begin = 0;
  if (v->n[2] == 1)
    begin = floor (t / period) * period;
  else
    while (t >= begin + period)
      {
        begin += period;
        period *= v->n[2];
      }
  return v->n[3] + (v->n[0] - v->n[3]) * (1 + cos (G_PI * (t - begin) / period)) / 2;
}

/* base_lr (unused), max_lr, total_steps, pct_start, anneal_strategy, three_phase, div_factor, final_div_factor, base_momentum,
 * max_momentum */
static double
one_cycle (const TnScheduleValues *v, double t, gboolean momentum)
{
  double total = v->n[2], first = v->n[3] * total - 1;
  gboolean three = v->n[5] != 0;
  double ends[3] = { first, three ? 2 * first : total - 1, total - 1 };
  double start_lr = v->n[1] / v->n[6], floor_lr = start_lr / v->n[7];
  double lr[4] = { start_lr, v->n[1], three ? start_lr : floor_lr, floor_lr };
  double u[4] = { v->n[9], v->n[8], v->n[9], v->n[9] };
  const double *level = momentum ? u : lr;
  int n_phases = three ? 3 : 2, phase = 0;
  while (phase < n_phases - 1 && t > ends[phase])
    phase++;
  double begin = phase > 0 ? ends[phase - 1] : 0, span = ends[phase] - begin;
  double part = span > 0 ? MIN ((t - begin) / span, 1) : 1;
  double from = level[phase], to = level[phase + 1];
  if (g_strcmp0 (v->text[4], "linear") == 0)
    return from + (to - from) * part;
  return to + (from - to) / 2 * (1 + cos (G_PI * part));
}

static double one_cycle_lr (const TnScheduleValues *v, double t) { return one_cycle (v, t, FALSE); }
static double one_cycle_momentum (const TnScheduleValues *v, double t) { return one_cycle (v, t, TRUE); }

/* base_lr, max_lr, step_size_up, step_size_down, mode, gamma, base_momentum, max_momentum. Returns 0..1: where in the triangle. */
static double
cyclic_height (const TnScheduleValues *v, double t)
{
  double up = v->n[2], total = up + (v->given[3] ? v->n[3] : up), ratio = up / total;
  double cycle = floor (1 + t / total), x = 1 + t / total - cycle;
  double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
  if (g_strcmp0 (v->text[4], "triangular2") == 0)
    return height / pow (2, cycle - 1);
  if (g_strcmp0 (v->text[4], "exp_range") == 0)
    return height * pow (v->n[5], t);
  return height;
}

static double
cyclic_lr (const TnScheduleValues *v, double t)
{
  return v->n[0] + (v->n[1] - v->n[0]) * cyclic_height (v, t);
}

static double
cyclic_momentum (const TnScheduleValues *v, double t)
{
  return v->n[7] - (v->n[7] - v->n[6]) * cyclic_height (v, t);
}

static gboolean
check_word (const char *name, const char *text, const char *const *words, GError **error)
{
  if (g_strv_contains (words, text))
    return TRUE;
  g_autofree char *list = g_strjoinv (", ", (char **) words);
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s is “%s”: it is one of %s"), name, text, list);
  return FALSE;
}

static gboolean
cyclic_check (const TnScheduleValues *v, GError **error)
{
  return check_word ("mode", v->text[4], (const char *const[]){ "triangular", "triangular2", "exp_range", NULL }, error);
}

static gboolean
one_cycle_check (const TnScheduleValues *v, GError **error)
{
  return check_word ("anneal_strategy", v->text[4], (const char *const[]){ "cos", "linear", NULL }, error);
}

const TnScheduleKind tn_schedule_table[] = {
  { "constant", { LR ("learning_rate|lr|base_lr") }, FALSE, constant_lr },
  { "piecewise_constant",
    { { "milestone|milestones", SCHEDULE_LIST, TRUE, 0, 1, HUGE_COUNT }, { "learning_rates", SCHEDULE_LIST, TRUE, 0, 0, 1e30 } },
    FALSE, piecewise_lr, NULL, piecewise_check },
  { "exponential_decay",
    { RATE ("learning_rate"), RATE ("decay_rate"), COUNT ("decay_steps|decay_epoch"), FLAG ("is_stair", 0) }, TRUE,
    exponential_decay_lr },
  { "natural_exp_decay",
    { RATE ("learning_rate"), RATE ("decay_rate"), COUNT ("decay_steps|decay_epoch"), FLAG ("is_stair", 0) }, TRUE,
    natural_exp_decay_lr },
  { "inverse_decay",
    { RATE ("learning_rate"), RATE ("decay_rate"), COUNT ("decay_steps|decay_epoch"), FLAG ("is_stair", 0) }, TRUE,
    inverse_decay_lr },
  { "cosine_decay", { OPTIONAL ("min_lr", 0, 0, 1e30), RATE ("max_lr"), COUNT ("decay_steps|decay_epoch") }, TRUE,
    cosine_decay_lr, NULL, cosine_decay_check },
  { "polynomial_decay",
    { RATE ("learning_rate"), LR ("end_learning_rate"), COUNT ("decay_steps|decay_epoch"), RATE ("power"),
      FLAG ("update_decay_steps|update_decay_epoch", 0) },
    TRUE, polynomial_decay_lr },
  { "warmup", { RATE ("learning_rate"), COUNT ("warmup_steps|warmup_epoch") }, TRUE, warmup_lr },
  { "StepLR", { LR ("base_lr"), COUNT ("step_size"), OPTIONAL ("gamma", 0.1, 0, 1e30) }, FALSE, step_lr },
  { "MultiStepLR",
    { LR ("base_lr"), { "milestones", SCHEDULE_LIST, TRUE, 0, 0, HUGE_COUNT }, OPTIONAL ("gamma", 0.1, 0, 1e30) }, FALSE,
    multi_step_lr },
  { "ConstantLR", { LR ("base_lr"), OPTIONAL ("factor", 1.0 / 3, 0, 1), OPTIONAL ("total_iters", 5, 0, HUGE_COUNT) }, FALSE,
    constant_factor_lr },
  { "LinearLR",
    { LR ("base_lr"), OPTIONAL ("start_factor", 1.0 / 3, TINY, 1), OPTIONAL ("end_factor", 1, 0, 1),
      OPTIONAL ("total_iters", 5, 1, HUGE_COUNT) },
    FALSE, linear_lr },
  { "ExponentialLR", { LR ("base_lr"), RATE ("gamma") }, FALSE, exponential_lr },
  { "PolynomialLR", { LR ("base_lr"), OPTIONAL ("total_iters", 5, 1, HUGE_COUNT), OPTIONAL ("power", 1, 0, 1e30) }, FALSE,
    polynomial_lr },
  { "CosineAnnealingLR", { LR ("base_lr"), COUNT ("T_max"), OPTIONAL ("eta_min", 0, 0, 1e30) }, FALSE, cosine_annealing_lr },
  { "CosineAnnealingWarmRestarts",
    { LR ("base_lr"), COUNT ("T_0"), { "T_mult", SCHEDULE_COUNT, FALSE, 1, 1, 1e6 }, OPTIONAL ("eta_min", 0, 0, 1e30) }, FALSE,
    warm_restarts_lr },
  { "OneCycleLR",
    { OPTIONAL ("base_lr", 0, 0, 1e30), RATE ("max_lr"), COUNT ("total_steps"), OPTIONAL ("pct_start", 0.3, 0, 1),
      { "anneal_strategy", SCHEDULE_WORD, FALSE, 0, 0, 0, "cos" }, FLAG ("three_phase", 0), OPTIONAL ("div_factor", 25, TINY, 1e30),
      OPTIONAL ("final_div_factor", 1e4, TINY, 1e30), OPTIONAL ("base_momentum", 0.85, 0, 1), OPTIONAL ("max_momentum", 0.95, 0, 1) },
    FALSE, one_cycle_lr, one_cycle_momentum, one_cycle_check },
  { "CyclicLR",
    { LR ("base_lr"), LR ("max_lr"), { "step_size_up", SCHEDULE_COUNT, FALSE, 2000, 1, HUGE_COUNT },
      { "step_size_down", SCHEDULE_COUNT, FALSE, 2000, 1, HUGE_COUNT }, { "mode", SCHEDULE_WORD, FALSE, 0, 0, 0, "triangular" },
      OPTIONAL ("gamma", 1, 0, 1e30), OPTIONAL ("base_momentum", 0.8, 0, 1), OPTIONAL ("max_momentum", 0.9, 0, 1) },
    FALSE, cyclic_lr, cyclic_momentum, cyclic_check },
  { NULL },
};
