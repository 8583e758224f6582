/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "base/error.h"
#include "ops/families.h"

/* Parameter updates. Input 0 is the parameter, its states follow; all are written in place. Then come the gradient, the
 * learning rate of the step and, where a rule counts steps, the number of this update, 1 for the first.
 *
 * Three ways of rounding exist side by side, because all are compared with: style "mindspore" computes coefficients in the
 * parameter's own type (1 - beta2 of 0.999 is 0.00100004673 in float32, beta^t is a running product), "experimental" (MindSpore's
 * experimental.optim) the same with beta^t as a power, style "torch" computes them in double and rounds once. The loops are written so that a compiler turns them into vector code. */

#define UPDATE_ATTRS                                                                                                            \
  { "weight_decay", TN_ATTR_FLOAT, FALSE, 0 }, { "grad_scale", TN_ATTR_FLOAT, FALSE, 1 }, { "lr_factor", TN_ATTR_FLOAT, FALSE, 1 }

static const TnAttrSpec descent_attrs[] = { UPDATE_ATTRS, { 0 } };
static const TnAttrSpec momentum_attrs[] = {
  { "momentum", TN_ATTR_FLOAT, FALSE, 0.9 }, { "use_nesterov", TN_ATTR_BOOL, FALSE, 0 }, UPDATE_ATTRS, { 0 },
};
static const TnAttrSpec sgd_attrs[] = {
  { "momentum", TN_ATTR_FLOAT, FALSE, 0 }, { "dampening", TN_ATTR_FLOAT, FALSE, 0 }, { "nesterov", TN_ATTR_BOOL, FALSE, 0 },
  UPDATE_ATTRS, { 0 },
};
static const TnAttrSpec adam_attrs[] = {
  { "beta1", TN_ATTR_FLOAT, FALSE, 0.9 }, { "beta2", TN_ATTR_FLOAT, FALSE, 0.999 }, { "eps", TN_ATTR_FLOAT, FALSE, 1e-8 },
  { "use_nesterov", TN_ATTR_BOOL, FALSE, 0 }, { "style", TN_ATTR_STRING, FALSE, 0, "mindspore" }, UPDATE_ATTRS, { 0 },
};
static const TnAttrSpec adam_weight_decay_attrs[] = {
  { "beta1", TN_ATTR_FLOAT, FALSE, 0.9 }, { "beta2", TN_ATTR_FLOAT, FALSE, 0.999 }, { "eps", TN_ATTR_FLOAT, FALSE, 1e-6 },
  UPDATE_ATTRS, { 0 },
};

/* ---- shape rule ---- */

static gboolean
infer_update (TnNode *node, GError **error)
{
  int n_states = node->op->n_outputs; /* the parameter and what is kept for it */
  TnDType dtype = tn_in_dtype (node, 0);
  if (!tn_dtype_is_float (dtype))
    return tn_infer_error (node, error, _ ("updates floating-point parameters, not %s"), tn_dtype_name (dtype));
  for (int i = 0; i <= n_states; i++)
    {
      if (tn_in_dtype (node, i) != dtype || !tn_shape_equal (tn_in_shape (node, i), tn_in_shape (node, 0)))
        return tn_infer_error (node, error, _ ("parameter, states and gradient must have one dtype and shape"));
      if (i < n_states && !tn_node_is_parameter (node->inputs[i]->node))
        return tn_infer_error (node, error, _ ("input %d must be a parameter, as it is written"), i);
    }
  const TnValue *lr = node->inputs[n_states + 1];
  if (!tn_dtype_is_float (lr->dtype) || tn_shape_count (&lr->shape) != 1)
    return tn_infer_error (node, error, _ ("the learning rate must be one floating-point number"));
  if (tn_has_input (node, n_states + 2))
    {
      const TnValue *step = node->inputs[n_states + 2];
      if (step->dtype != TN_DTYPE_I64 || tn_shape_count (&step->shape) != 1)
        return tn_infer_error (node, error, _ ("the step must be one int64"));
    }
  for (int i = 0; i < n_states; i++)
    tn_set_output (node, i, dtype, *tn_in_shape (node, 0));
  return TRUE;
}

static void
cost_update (const TnNode *node, double flops_an_element, TnCost *cost)
{
  double count = (double) tn_shape_count (tn_in_shape (node, 0)), size = (double) tn_dtype_size (tn_in_dtype (node, 0));
  cost->flops = flops_an_element * count;
  cost->bytes = (2.0 * node->op->n_outputs + 1.0) * count * size;
}

static void cost_momentum (const TnNode *node, TnCost *cost) { cost_update (node, 6, cost); }
static void cost_adam (const TnNode *node, TnCost *cost) { cost_update (node, 14, cost); }

/* ---- what the kernels share ---- */

static double
read_lr (const TnKernelContext *context, int input)
{
  const TnNode *node = context->node;
  double lr = tn_in_dtype (node, input) == TN_DTYPE_F64 ? *(const double *) context->in[input] : *(const float *) context->in[input];
  return lr * tn_node_float (node, "lr_factor");
}

/* beta^step as a product of float32 factors, one a step, as MindSpore's beta1_power is kept: 1 - beta^t then has the same
 * rounding. The last product is remembered, so that a step costs one multiplication; the result depends on the arguments only. */
static float
running_power (float beta, int64_t step)
{
  static _Thread_local struct
  {
    float beta, power;
    int64_t step;
  } memory[4];
  static _Thread_local unsigned next;
  unsigned slot = 0;
  while (slot < G_N_ELEMENTS (memory) && memory[slot].beta != beta)
    slot++;
  if (slot == G_N_ELEMENTS (memory))
    slot = next++ % G_N_ELEMENTS (memory);
  if (memory[slot].beta != beta || memory[slot].step > step)
    {
      memory[slot].beta = beta;
      memory[slot].power = 1;
      memory[slot].step = 0;
    }
  float power = memory[slot].power;
  for (int64_t t = memory[slot].step; t < step && power > 0x1p-60f; t++) /* 1 - power is 1 long before */
    power *= beta;
  memory[slot].power = power;
  memory[slot].step = step;
  return power;
}

/* ---- kernels ---- */

static gboolean
run_descent (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_shape_count (tn_in_shape (node, 0));
  double lr_ = read_lr (context, 2);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    T *restrict w = context->out[0];
    const T *restrict grad = context->in[1];
    T lr = (T) lr_, decay = (T) tn_node_float (node, "weight_decay"), scale = (T) tn_node_float (node, "grad_scale");
    for (int64_t i = 0; i < n; i++)
      w[i] -= lr * (grad[i] * scale + decay * w[i]);
  });
  return TRUE;
}

static gboolean
run_momentum (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_shape_count (tn_in_shape (node, 0));
  gboolean nesterov = tn_node_bool (node, "use_nesterov");
  double lr_ = read_lr (context, 3);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    T *restrict w = context->out[0];
    T *restrict v = context->out[1];
    const T *restrict grad = context->in[2];
    T lr = (T) lr_, u = (T) tn_node_float (node, "momentum");
    T decay = (T) tn_node_float (node, "weight_decay"), scale = (T) tn_node_float (node, "grad_scale");
    if (nesterov)
      for (int64_t i = 0; i < n; i++)
        {
          T g = grad[i] * scale + decay * w[i];
          v[i] = u * v[i] + g;
          w[i] -= lr * (g + u * v[i]);
        }
    else
      for (int64_t i = 0; i < n; i++)
        {
          v[i] = u * v[i] + (grad[i] * scale + decay * w[i]);
          w[i] -= lr * v[i];
        }
  });
  return TRUE;
}

static gboolean
run_sgd (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_shape_count (tn_in_shape (node, 0));
  int64_t step = *(const int64_t *) context->in[4];
  gboolean nesterov = tn_node_bool (node, "nesterov");
  double lr_ = read_lr (context, 3), momentum = tn_node_float (node, "momentum");
  /* The first gradient enters the momentum undamped. */
  double share = step <= 1 ? 1 : 1 - tn_node_float (node, "dampening");
  double keep = step <= 1 ? 0 : momentum;
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    T *restrict w = context->out[0];
    T *restrict v = context->out[1];
    const T *restrict grad = context->in[2];
    T lr = (T) lr_, u = (T) momentum, kept = (T) keep, new_share = (T) share;
    T decay = (T) tn_node_float (node, "weight_decay"), scale = (T) tn_node_float (node, "grad_scale");
    for (int64_t i = 0; i < n; i++)
      {
        T g = grad[i] * scale + decay * w[i];
        T a = kept * v[i] + new_share * g;
        v[i] = a;
        w[i] -= lr * (nesterov ? g + u * a : a);
      }
  });
  return TRUE;
}

/* Coefficients of one Adam step, in double. */
typedef struct
{
  double m_share, v_share; /* 1 - beta */
  double step_size;        /* w -= step_size m / (sqrt (v) / root + eps) */
  double root;
} AdamCoefficients;

/* @inside: eps is added after the bias correction of v (PyTorch, and AdamW everywhere), not before. */
static AdamCoefficients
adam_f32 (float beta1, float beta2, float lr, int64_t step, gboolean inside, gboolean product)
{
  float power1 = product ? running_power (beta1, step) : powf (beta1, (float) step);
  float power2 = product ? running_power (beta2, step) : powf (beta2, (float) step);
  float root = sqrtf (1.0f - power2);
  float step_size = inside ? lr / (1.0f - power1) : lr * root / (1.0f - power1);
  return (AdamCoefficients){ 1.0f - beta1, 1.0f - beta2, step_size, inside ? root : 1 };
}

static AdamCoefficients
adam_coefficients (const TnNode *node, double lr, int64_t step, gboolean decoupled)
{
  const char *style = tn_node_string (node, "style");
  gboolean torch = g_strcmp0 (style, "torch") == 0, inside = torch || decoupled;
  gboolean product = g_strcmp0 (style, "mindspore") == 0 && !decoupled; /* MindSpore has AdamW in experimental.optim only */
  double beta1 = tn_node_float (node, "beta1"), beta2 = tn_node_float (node, "beta2");
  if (!torch && tn_in_dtype (node, 0) == TN_DTYPE_F32)
    return adam_f32 ((float) beta1, (float) beta2, (float) lr, step, inside, product);
  double correction1 = 1 - pow (beta1, (double) step), root = sqrt (1 - pow (beta2, (double) step));
  if (inside)
    return (AdamCoefficients){ 1 - beta1, 1 - beta2, lr / correction1, root };
  return (AdamCoefficients){ 1 - beta1, 1 - beta2, lr * root / correction1, 1 };
}

/* Adam, AdamW and their AMSGrad forms: @best is the running maximum of v, or NULL. */
static gboolean
update_adam (const TnKernelContext *context, int grad_input, gboolean decoupled, void *best_, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_shape_count (tn_in_shape (node, 0)), step = *(const int64_t *) context->in[grad_input + 2];
  double lr = read_lr (context, grad_input + 1), weight_decay = tn_node_float (node, "weight_decay");
  gboolean nesterov = tn_node_bool (node, "use_nesterov");
  AdamCoefficients k = adam_coefficients (node, lr, step, decoupled);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    T *restrict w = context->out[0];
    T *restrict m = context->out[1];
    T *restrict v = context->out[2];
    T *restrict best = best_;
    const T *restrict grad = context->in[grad_input];
    T m_share = (T) k.m_share, v_share = (T) k.v_share, step_size = (T) k.step_size, root = (T) k.root;
    T beta1 = (T) tn_node_float (node, "beta1"), eps = (T) tn_node_float (node, "eps"), scale = (T) tn_node_float (node, "grad_scale");
    T decay = decoupled ? 0 : (T) weight_decay, shrink = decoupled ? (T) (1 - lr * weight_decay) : 1;
    for (int64_t i = 0; i < n; i++)
      {
        T g = grad[i] * scale + decay * w[i];
        m[i] += (g - m[i]) * m_share;
        v[i] += (g * g - v[i]) * v_share;
        T second = v[i];
        if (best != NULL)
          second = best[i] = best[i] > v[i] ? best[i] : v[i];
        T first = nesterov ? beta1 * m[i] + m_share * g : m[i];
        w[i] = shrink * w[i] - step_size * first / ((T) sqrt (second) / root + eps);
      }
  });
  return TRUE;
}

static gboolean
run_adam (const TnKernelContext *context, GError **error)
{
  return update_adam (context, 3, FALSE, NULL, error);
}

static gboolean
run_adamw (const TnKernelContext *context, GError **error)
{
  return update_adam (context, 3, TRUE, NULL, error);
}

static gboolean
run_adam_amsgrad (const TnKernelContext *context, GError **error)
{
  return update_adam (context, 4, FALSE, context->out[3], error);
}

static gboolean
run_adamw_amsgrad (const TnKernelContext *context, GError **error)
{
  return update_adam (context, 4, TRUE, context->out[3], error);
}

static gboolean
run_adam_weight_decay (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_shape_count (tn_in_shape (node, 0));
  double lr_ = read_lr (context, 4);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    T *restrict w = context->out[0];
    T *restrict m = context->out[1];
    T *restrict v = context->out[2];
    const T *restrict grad = context->in[3];
    T lr = (T) lr_, beta1 = (T) tn_node_float (node, "beta1"), beta2 = (T) tn_node_float (node, "beta2");
    T eps = (T) tn_node_float (node, "eps"), decay = (T) tn_node_float (node, "weight_decay");
    T scale = (T) tn_node_float (node, "grad_scale");
    for (int64_t i = 0; i < n; i++)
      {
        T g = grad[i] * scale;
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        w[i] -= lr * (m[i] / ((T) sqrt (v[i]) + eps) + decay * w[i]);
      }
  });
  return TRUE;
}

const TnOp tn_ops_optimizer[] = {
  { .name = "ApplyGradientDescent", .doc = "w -= lr (g + decay w); inputs w, g, lr", .flags = TN_OP_EFFECT, .min_inputs = 3,
    .max_inputs = 3, .n_outputs = 1, .attrs = descent_attrs, .infer = infer_update, .cost = cost_momentum,
    .reference = run_descent, .mutates = { 1 } },
  { .name = "ApplyMomentum", .doc = "v = u v + g; w -= lr v, Nesterov: w -= lr (g + u v); inputs w, v, g, lr",
    .flags = TN_OP_EFFECT, .min_inputs = 4, .max_inputs = 4, .n_outputs = 2, .attrs = momentum_attrs, .infer = infer_update,
    .cost = cost_momentum, .reference = run_momentum, .mutates = { 1, 2 } },
  { .name = "SGD", .doc = "v = g at first, then u v + (1 - dampening) g; w -= lr v; inputs w, v, g, lr, step",
    .flags = TN_OP_EFFECT, .min_inputs = 5, .max_inputs = 5, .n_outputs = 2, .attrs = sgd_attrs, .infer = infer_update,
    .cost = cost_momentum, .reference = run_sgd, .mutates = { 1, 2 } },
  { .name = "Adam", .doc = "w -= lr m^ / (sqrt (v^) + eps), bias corrected; inputs w, m, v, g, lr, step",
    .flags = TN_OP_EFFECT, .min_inputs = 6, .max_inputs = 6, .n_outputs = 3, .attrs = adam_attrs, .infer = infer_update,
    .cost = cost_adam, .reference = run_adam, .mutates = { 1, 2, 3 } },
  { .name = "AdamAmsgrad", .doc = "Adam with the running maximum of v; inputs w, m, v, vmax, g, lr, step",
    .flags = TN_OP_EFFECT, .min_inputs = 7, .max_inputs = 7, .n_outputs = 4, .attrs = adam_attrs, .infer = infer_update,
    .cost = cost_adam, .reference = run_adam_amsgrad, .mutates = { 1, 2, 3, 4 } },
  { .name = "AdamW", .doc = "w -= lr decay w, then Adam; inputs w, m, v, g, lr, step", .flags = TN_OP_EFFECT,
    .min_inputs = 6, .max_inputs = 6, .n_outputs = 3, .attrs = adam_attrs, .infer = infer_update, .cost = cost_adam,
    .reference = run_adamw, .mutates = { 1, 2, 3 } },
  { .name = "AdamWAmsgrad", .doc = "AdamW with the running maximum of v; inputs w, m, v, vmax, g, lr, step",
    .flags = TN_OP_EFFECT, .min_inputs = 7, .max_inputs = 7, .n_outputs = 4, .attrs = adam_attrs, .infer = infer_update,
    .cost = cost_adam, .reference = run_adamw_amsgrad, .mutates = { 1, 2, 3, 4 } },
  { .name = "AdamWeightDecay", .doc = "w -= lr (m / (sqrt v + eps) + decay w), no bias correction; inputs w, m, v, g, lr",
    .flags = TN_OP_EFFECT, .min_inputs = 5, .max_inputs = 5, .n_outputs = 3, .attrs = adam_weight_decay_attrs,
    .infer = infer_update, .cost = cost_adam, .reference = run_adam_weight_decay, .mutates = { 1, 2, 3 } },
  { 0 },
};
