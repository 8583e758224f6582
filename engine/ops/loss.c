/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/loss-rows.h"
#include "ops/move.h"

/* Losses of a prediction x and a target t of one shape: loss_i = f (x_i, t_i), then none, sum or mean over all elements
 * (KLDivLoss also batchmean). Each has one line in the table below and two rows: itself, and its Grad, which takes
 * dloss, x, t and gives dx and dt. Weights of elements are further inputs of x's shape: for BinaryCrossEntropy one, for
 * BCEWithLogitsLoss weight and pos_weight.
 */
typedef struct
{
  double weight, pos_weight; /* of this element */
  double a;                  /* delta, beta, margin, epsilon */
  gboolean log_input, full;
} Settings;

typedef struct
{
  const char *name;
  const char *number; /* attribute that becomes a */
  double (*loss) (double x, double t, const Settings *s);
  double (*dx) (double x, double t, const Settings *s);
  double (*dt) (double x, double t, const Settings *s); /* NULL: 0 */
} Loss;

static double
sign (double d)
{
  return d > 0 ? 1 : d < 0 ? -1 : d;
}

static double mse (double x, double t, const Settings *s) { return (x - t) * (x - t); }
static double mse_dx (double x, double t, const Settings *s) { return 2 * (x - t); }
static double mse_dt (double x, double t, const Settings *s) { return 2 * (t - x); }

static double l1 (double x, double t, const Settings *s) { return fabs (x - t); }
static double l1_dx (double x, double t, const Settings *s) { return sign (x - t); }
static double l1_dt (double x, double t, const Settings *s) { return sign (t - x); }

/* beta = 0 is L1. */
static double
smooth_l1 (double x, double t, const Settings *s)
{
  double d = fabs (x - t);
  return d < s->a ? 0.5 * d * d / s->a : d - 0.5 * s->a;
}

static double
smooth_l1_dx (double x, double t, const Settings *s)
{
  double d = x - t;
  return fabs (d) < s->a ? d / s->a : sign (d);
}

static double smooth_l1_dt (double x, double t, const Settings *s) { return -smooth_l1_dx (x, t, s); }

static double
huber (double x, double t, const Settings *s)
{
  double d = fabs (x - t);
  return d <= s->a ? 0.5 * d * d : s->a * (d - 0.5 * s->a);
}

static double
huber_dx (double x, double t, const Settings *s)
{
  double d = x - t;
  return fabs (d) <= s->a ? d : s->a * sign (d);
}

static double huber_dt (double x, double t, const Settings *s) { return -huber_dx (x, t, s); }

/* Logarithms are not let below -100, as torch and MindSpore do, so that x = 0 and x = 1 give finite losses. */
static double
clamped_log (double x)
{
  return MAX (log (x), -100);
}

static double
bce (double x, double t, const Settings *s)
{
  return -s->weight * (t * clamped_log (x) + (1 - t) * clamped_log (1 - x));
}

static double bce_dx (double x, double t, const Settings *s) { return s->weight * (x - t) / MAX ((1 - x) * x, 1e-12); }
static double bce_dt (double x, double t, const Settings *s) { return s->weight * (clamped_log (1 - x) - clamped_log (x)); }

static double
softplus (double x)
{
  return x > 0 ? x + log1p (exp (-x)) : log1p (exp (x));
}

static double
sigmoid (double x)
{
  return x >= 0 ? 1 / (1 + exp (-x)) : exp (x) / (1 + exp (x));
}

/* (1 - t) x + (1 + (pos_weight - 1) t) · log (1 + exp (-x)) */
static double
bce_logits (double x, double t, const Settings *s)
{
  return s->weight * ((1 - t) * x + (1 + (s->pos_weight - 1) * t) * softplus (-x));
}

static double
bce_logits_dx (double x, double t, const Settings *s)
{
  return s->weight * ((1 - t) - (1 + (s->pos_weight - 1) * t) * sigmoid (-x));
}

static double
bce_logits_dt (double x, double t, const Settings *s)
{
  return s->weight * (-x + (s->pos_weight - 1) * softplus (-x));
}

/* x: log-probabilities; t: probabilities, 0 log 0 = 0. With log_target t is a logarithm too. */
static double
kl_div (double x, double t, const Settings *s)
{
  if (s->full)
    return exp (t) * (t - x);
  return (t > 0 ? t * log (t) : 0) - t * x;
}

static double kl_div_dx (double x, double t, const Settings *s) { return s->full ? -exp (t) : -t; }
static double kl_div_dt (double x, double t, const Settings *s) { return s->full ? exp (t) * (t - x + 1) : log (t) + 1 - x; }

/* t = 1: x; t = -1: max (0, margin - x). */
static double hinge (double x, double t, const Settings *s) { return t == 1 ? x : t == -1 ? MAX (s->a - x, 0) : 0; }
static double hinge_dx (double x, double t, const Settings *s) { return t == 1 ? 1 : t == -1 && s->a - x > 0 ? -1 : 0; }

/* log_input: exp (x) - t x, else x - t log (x + epsilon); full adds Stirling's formula where t > 1. */
static double
poisson (double x, double t, const Settings *s)
{
  double loss = s->log_input ? exp (x) - t * x : x - t * log (x + s->a);
  return loss + (s->full && t > 1 ? t * log (t) - t + 0.5 * log (2 * G_PI * t) : 0);
}

static double poisson_dx (double x, double t, const Settings *s) { return s->log_input ? exp (x) - t : 1 - t / (x + s->a); }

static double
poisson_dt (double x, double t, const Settings *s)
{
  return (s->log_input ? -x : -log (x + s->a)) + (s->full && t > 1 ? log (t) + 0.5 / t : 0);
}

static double soft_margin (double x, double t, const Settings *s) { return softplus (-t * x); }
static double soft_margin_dx (double x, double t, const Settings *s) { return -t * sigmoid (-t * x); }
static double soft_margin_dt (double x, double t, const Settings *s) { return -x * sigmoid (-t * x); }

static const Loss losses[] = {
  { "MSELoss", NULL, mse, mse_dx, mse_dt },
  { "L1Loss", NULL, l1, l1_dx, l1_dt },
  { "SmoothL1Loss", "beta", smooth_l1, smooth_l1_dx, smooth_l1_dt },
  { "HuberLoss", "delta", huber, huber_dx, huber_dt },
  { "BinaryCrossEntropy", NULL, bce, bce_dx, bce_dt },
  { "BCEWithLogitsLoss", NULL, bce_logits, bce_logits_dx, bce_logits_dt },
  { "KLDivLoss", NULL, kl_div, kl_div_dx, kl_div_dt },
  { "HingeEmbeddingLoss", "margin", hinge, hinge_dx, NULL },
  { "PoissonNLLLoss", "eps", poisson, poisson_dx, poisson_dt },
  { "SoftMarginLoss", NULL, soft_margin, soft_margin_dx, soft_margin_dt },
};

/* The table's line of a row or its Grad. */
static const Loss *
loss_of (const TnNode *node)
{
  for (gsize i = 0; i < G_N_ELEMENTS (losses); i++)
    if (g_str_has_prefix (node->op->name, losses[i].name))
      return &losses[i];
  g_assert_not_reached ();
}

static gboolean
is_grad (const TnNode *node)
{
  return g_str_has_suffix (node->op->name, "Grad");
}

gboolean
tn_loss_reduction (const TnNode *node, TnReduction *reduction, GError **error)
{
  static const char *const names[] = { "none", "sum", "mean", "batchmean" };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_strcmp0 (tn_node_string (node, "reduction"), names[i]) == 0)
      {
        *reduction = (TnReduction) i;
        return TRUE;
      }
  return tn_infer_error (node, error, _ ("reduction must be none, sum or mean, not “%s”"),
                         tn_node_string (node, "reduction"));
}

static gboolean
infer_loss (TnNode *node, GError **error)
{
  int first = is_grad (node) ? 1 : 0;
  const TnShape *x = tn_in_shape (node, first);
  TnReduction reduction = TN_REDUCTION_NONE;
  if (!tn_infer_same_float (node, error) || !tn_loss_reduction (node, &reduction, error))
    return FALSE;
  if (reduction == TN_REDUCTION_BATCH_MEAN && (x->n_dims == 0 || loss_of (node)->loss != kl_div))
    return tn_infer_error (node, error, _ ("reduction batchmean is for KLDivLoss of [N, ...]"));
  for (int i = first + 1; i < node->n_inputs; i++)
    if (!tn_shape_equal (tn_in_shape (node, i), x))
      return tn_infer_error (node, error, _ ("prediction, target and weights must have one shape"));
  TnShape loss = reduction == TN_REDUCTION_NONE ? *x : TN_SHAPE_SCALAR;
  if (first == 1 && !tn_shape_equal (tn_in_shape (node, 0), &loss))
    return tn_infer_error (node, error, _ ("dloss must have the shape of the loss"));
  for (int i = 0; i < node->n_outputs; i++)
    tn_set_output (node, i, tn_in_dtype (node, 0), first == 1 ? *x : loss);
  return TRUE;
}

static gboolean
has_attr (const TnNode *node, const char *name)
{
  for (const TnAttrSpec *spec = node->op->attrs; spec->name != NULL; spec++)
    if (strcmp (spec->name, name) == 0)
      return TRUE;
  return FALSE;
}

static Settings
settings_of (const TnNode *node, const Loss *loss)
{
  Settings s = { .weight = 1, .pos_weight = 1 };
  if (loss->number != NULL)
    s.a = tn_node_float (node, loss->number);
  if (has_attr (node, "log_input"))
    s.log_input = tn_node_bool (node, "log_input");
  if (has_attr (node, "full"))
    s.full = tn_node_bool (node, "full");
  if (has_attr (node, "log_target"))
    s.full = tn_node_bool (node, "log_target");
  return s;
}

static double
divisor (const TnNode *node, const TnShape *x)
{
  TnReduction reduction = TN_REDUCTION_NONE;
  tn_loss_reduction (node, &reduction, NULL);
  return reduction == TN_REDUCTION_MEAN         ? (double) tn_shape_count (x)
         : reduction == TN_REDUCTION_BATCH_MEAN ? (double) x->dims[0]
                                                : 1;
}

static gboolean
loss_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *shape = tn_in_shape (node, 0);
  const Loss *loss = loss_of (node);
  Settings s = settings_of (node, loss);
  int64_t n = tn_shape_count (shape);
  gboolean each = g_strcmp0 (tn_node_string (node, "reduction"), "none") == 0;
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *x = context->in[0], *t = context->in[1];
    const T *weight = tn_has_input (node, 2) ? context->in[2] : NULL,
            *pos_weight = tn_has_input (node, 3) ? context->in[3] : NULL;
    T *y = context->out[0];
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
      {
        s.weight = weight != NULL ? weight[i] : 1;
        s.pos_weight = pos_weight != NULL ? pos_weight[i] : 1;
        double value = loss->loss (x[i], t[i], &s);
        if (each)
          y[i] = (T) value;
        sum += value;
      }
    if (!each)
      y[0] = (T) (sum / divisor (node, shape));
  });
  return TRUE;
}

static gboolean
loss_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *shape = tn_in_shape (node, 1);
  const Loss *loss = loss_of (node);
  Settings s = settings_of (node, loss);
  int64_t n = tn_shape_count (shape);
  gboolean each = g_strcmp0 (tn_node_string (node, "reduction"), "none") == 0;
  double share = 1 / divisor (node, shape);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *dloss = context->in[0], *x = context->in[1], *t = context->in[2];
    const T *weight = tn_has_input (node, 3) ? context->in[3] : NULL,
            *pos_weight = tn_has_input (node, 4) ? context->in[4] : NULL;
    T *dx = context->out[0], *dt = context->out[1];
    for (int64_t i = 0; i < n; i++)
      {
        double scale = (each ? dloss[i] : dloss[0]) * share;
        s.weight = weight != NULL ? weight[i] : 1;
        s.pos_weight = pos_weight != NULL ? pos_weight[i] : 1;
        dx[i] = (T) (loss->dx (x[i], t[i], &s) * scale);
        dt[i] = loss->dt != NULL ? (T) (loss->dt (x[i], t[i], &s) * scale) : 0;
      }
  });
  return TRUE;
}

static void
loss_cost (const TnNode *node, TnCost *cost)
{
  cost->flops = (is_grad (node) ? 8 : 4) * (double) tn_shape_count (tn_in_shape (node, is_grad (node) ? 1 : 0));
}

static void
loss_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *inputs[5] = { gradient->grad_outputs[0] };
  for (int i = 0; i < node->n_inputs; i++)
    inputs[1 + i] = node->inputs[i];
  g_autofree char *name = g_strconcat (node->op->name, "Grad", NULL);
  TnValue *dx = tn_op (gradient->graph, name, node->n_inputs + 1, inputs, node->n_attrs, node->attrs);
  gradient->grad_inputs[0] = dx;
  gradient->grad_inputs[1] = tn_value_sibling (dx, 1);
}

#define REDUCTION { "reduction", TN_ATTR_STRING, .text = "mean" }
static const TnAttrSpec reduction_attrs[] = { REDUCTION, { 0 } };
static const TnAttrSpec beta_attrs[] = { REDUCTION, { "beta", TN_ATTR_FLOAT, .number = 1 }, { 0 } };
static const TnAttrSpec delta_attrs[] = { REDUCTION, { "delta", TN_ATTR_FLOAT, .number = 1 }, { 0 } };
static const TnAttrSpec margin_attrs[] = { REDUCTION, { "margin", TN_ATTR_FLOAT, .number = 1 }, { 0 } };
static const TnAttrSpec kl_attrs[] = { REDUCTION, { "log_target", TN_ATTR_BOOL }, { 0 } };
static const TnAttrSpec poisson_attrs[] = { REDUCTION,
                                            { "log_input", TN_ATTR_BOOL, .number = TRUE },
                                            { "full", TN_ATTR_BOOL },
                                            { "eps", TN_ATTR_FLOAT, .number = 1e-8 },
                                            { 0 } };
static const TnAttrSpec nll_attrs[] = {
  REDUCTION, { "ignore_index", TN_ATTR_INT, .number = -100 }, { "label_smoothing", TN_ATTR_FLOAT }, { 0 }
};

/* A loss and its gradient; @extra: how many weights it may take. */
#define LOSS_ROWS(name_, doc_, extra, attrs_)                                                                          \
  { .name = name_, .doc = doc_, .min_inputs = 2, .max_inputs = 2 + extra, .n_outputs = 1, .attrs = attrs_, .infer = infer_loss,  \
    .gradient = loss_gradient, .cost = loss_cost, .reference = loss_kernel },                                          \
  { .name = name_ "Grad", .doc = "dloss and the loss's inputs: dx, dt.", .min_inputs = 3, .max_inputs = 3 + extra,     \
    .n_outputs = 2, .attrs = attrs_, .infer = infer_loss, .cost = loss_cost, .reference = loss_grad_kernel }

const TnOp tn_ops_loss[] = {
  LOSS_ROWS ("MSELoss", "(x - t)²", 0, reduction_attrs),
  LOSS_ROWS ("L1Loss", "|x - t|", 0, reduction_attrs),
  LOSS_ROWS ("SmoothL1Loss", "d = |x - t|: d²/(2 beta) where d < beta, else d - beta/2", 0, beta_attrs),
  LOSS_ROWS ("HuberLoss", "d = |x - t|: d²/2 where d <= delta, else delta·(d - delta/2)", 0, delta_attrs),
  LOSS_ROWS ("BinaryCrossEntropy", "-weight·(t·log x + (1 - t)·log (1 - x)), logarithms at least -100", 1,
             reduction_attrs),
  LOSS_ROWS ("BCEWithLogitsLoss", "BinaryCrossEntropy of sigmoid (x), with pos_weight at t", 2, reduction_attrs),
  LOSS_ROWS ("KLDivLoss", "t·(log t - x); x are log-probabilities", 0, kl_attrs),
  LOSS_ROWS ("HingeEmbeddingLoss", "t = 1: x; t = -1: max (0, margin - x)", 0, margin_attrs),
  LOSS_ROWS ("PoissonNLLLoss", "exp (x) - t·x, or x - t·log (x + eps)", 0, poisson_attrs),
  LOSS_ROWS ("SoftMarginLoss", "log (1 + exp (-t·x))", 0, reduction_attrs),
  { .name = "NLLLoss",
    .doc = "log p [N,K], target [N], weight [K] or none: loss and total weight.",
    .min_inputs = 2,
    .max_inputs = 3,
    .n_outputs = 2,
    .attrs = nll_attrs,
    .infer = tn_nll_infer,
    .gradient = tn_nll_gradient,
    .cost = tn_nll_cost,
    .reference = tn_nll_kernel },
  { .name = "NLLLossGrad",
    .doc = "dloss, log p, target, total weight, weight or none: dx.",
    .min_inputs = 4,
    .max_inputs = 5,
    .n_outputs = 1,
    .attrs = nll_attrs,
    .infer = tn_nll_infer_grad,
    .cost = tn_nll_cost,
    .reference = tn_nll_grad_kernel },
  { 0 },
};
