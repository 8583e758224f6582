/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <tgmath.h>

/* Activations. Most are one entry of a table: the function f (x), and the gradient dy · f' written in a = dy and in b, which
 * is the input x or, where that says enough, the output y (then x need not be kept). Each entry makes two rows, "Mish" and
 * "MishGrad" (dy, x or y). Up to two parameters stand as p0 and p1, in the order of the attribute table. */

/* ---- pieces ---- */

#define SIGMOID(x) (1 / (1 + exp (-(x))))
/* log (1 + eˣ) without overflow */
#define SOFTPLUS(x) (((x) > 0 ? (x) : 0) + log1p (exp (-fabs (x))))
#define SQRT_2_OVER_PI 0.79788456080286535588
#define TANH_INNER(x) ((typeof (x)) SQRT_2_OVER_PI * ((x) + (typeof (x)) 0.044715 * (x) * (x) * (x)))
/* Klambauer et al., "Self-Normalizing Neural Networks" */
#define SELU_ALPHA 1.6732632423543772848
#define SELU_SCALE 1.0507009873554804934

static inline float
mish_slope_f32 (float x)
{
  float t = tanhf (fmaxf (x, 0) + log1pf (expf (-fabsf (x))));
  return t + x * (1 - t * t) / (1 + expf (-x));
}

static inline double
mish_slope_f64 (double x)
{
  double t = tanh (fmax (x, 0) + log1p (exp (-fabs (x))));
  return t + x * (1 - t * t) / (1 + exp (-x));
}
#define MISH_SLOPE(x) _Generic ((x), float: mish_slope_f32, default: mish_slope_f64) (x)

/* d/dx of ½ x (1 + tanh u), u = √(2/π) (x + 0.044715 x³) */
#define GELU_TANH_SLOPE(x, t)                                                                                                    \
  ((typeof (x)) 0.5 * (1 + (t))                                                                                                  \
   + (typeof (x)) 0.5 * (x) * (1 - (t) * (t)) * (typeof (x)) SQRT_2_OVER_PI * (1 + (typeof (x)) (3 * 0.044715) * (x) * (x)))

/* ---- attributes: the first two floats are p0 and p1 ---- */

static const TnAttrSpec no_attrs[] = { { 0 } };
static const TnAttrSpec leaky_attrs[] = { { "negative_slope", TN_ATTR_FLOAT, .number = 0.01 }, { 0 } };
static const TnAttrSpec alpha_attrs[] = { { "alpha", TN_ATTR_FLOAT, .number = 1 }, { 0 } };
static const TnAttrSpec lambd_attrs[] = { { "lambd", TN_ATTR_FLOAT, .number = 0.5 }, { 0 } };
static const TnAttrSpec hardtanh_attrs[] = { { "min_val", TN_ATTR_FLOAT, .number = -1 }, { "max_val", TN_ATTR_FLOAT, .number = 1 }, { 0 } };
static const TnAttrSpec softplus_attrs[] = { { "beta", TN_ATTR_FLOAT, .number = 1 }, { "threshold", TN_ATTR_FLOAT, .number = 20 }, { 0 } };
static const TnAttrSpec threshold_attrs[] = { { "threshold", TN_ATTR_FLOAT, .number = 0 }, { "value", TN_ATTR_FLOAT, .number = 0 }, { 0 } };

/* ---- the table: E (word, row name, rule sees, attributes, f (x), a · f' (b), formula) ---- */

/* clang-format off */
#define ACTIVATIONS(E)                                                                                                           \
  /* NaN stays NaN: a comparison that fails keeps x, or dy. */                                                                   \
  E (relu, "ReLU", OUTPUT, no_attrs, x < 0 ? 0 : x, b <= 0 ? 0 : a, "max (x, 0)")                                                \
  E (relu6, "ReLU6", INPUT, no_attrs, x < 0 ? 0 : x > 6 ? 6 : x, b <= 0 || b >= 6 ? 0 : a, "min (max (x, 0), 6)")                \
  E (leaky_relu, "LeakyReLU", INPUT, leaky_attrs, x > 0 ? x : p0 * x, b > 0 ? a : p0 * a, "x > 0 ? x : negative_slope · x")      \
  E (elu, "Elu", INPUT, alpha_attrs, x > 0 ? x : p0 * expm1 (x), b > 0 ? a : a * p0 * exp (b), "x > 0 ? x : alpha (eˣ - 1)")     \
  E (celu, "CeLU", INPUT, alpha_attrs, x > 0 ? x : p0 * expm1 (x / p0), b > 0 ? a : a * exp (b / p0),                            \
     "x > 0 ? x : alpha (exp (x / alpha) - 1)")                                                                                  \
  E (selu, "SeLU", INPUT, no_attrs, (typeof (x)) SELU_SCALE * (x > 0 ? x : (typeof (x)) SELU_ALPHA * expm1 (x)),                 \
     a * (typeof (b)) SELU_SCALE * (b > 0 ? 1 : (typeof (b)) SELU_ALPHA * exp (b)), "scale · (x > 0 ? x : alpha (eˣ - 1))")      \
  E (silu, "SiLU", INPUT, no_attrs, x / (1 + exp (-x)), a * SIGMOID (b) * (1 + b * (1 - SIGMOID (b))), "x σ(x)")                 \
  E (mish, "Mish", INPUT, no_attrs, x * tanh (SOFTPLUS (x)), a * MISH_SLOPE (b), "x tanh (log (1 + eˣ))")                        \
  E (sigmoid, "Sigmoid", OUTPUT, no_attrs, SIGMOID (x), a * b * (1 - b), "1 / (1 + e⁻ˣ)")                                        \
  E (logsigmoid, "LogSigmoid", INPUT, no_attrs, (x < 0 ? x : 0) - log1p (exp (-fabs (x))), a / (1 + exp (b)), "log σ(x)")        \
  E (tanh, "Tanh", OUTPUT, no_attrs, tanh (x), a * (1 - b * b), "tanh x")                                                        \
  E (hardtanh, "Hardtanh", INPUT, hardtanh_attrs, x < p0 ? p0 : x > p1 ? p1 : x, b <= p0 || b >= p1 ? 0 : a,                     \
     "x held between min_val and max_val")                                                                                       \
  E (hsigmoid, "HSigmoid", INPUT, no_attrs, x < -3 ? 0 : x > 3 ? 1 : (x + 3) / 6, b > -3 && b < 3 ? a / 6 : 0,                   \
     "min (max (x + 3, 0), 6) / 6")                                                                                              \
  E (hswish, "HSwish", INPUT, no_attrs, x < -3 ? 0 : x > 3 ? x : x * (x + 3) / 6, b <= -3 ? 0 : b < 3 ? a * (b / 3 + (typeof (b)) 0.5) : a, \
     "x · min (max (x + 3, 0), 6) / 6")                                                                                          \
  E (softplus, "Softplus", INPUT, softplus_attrs, x * p0 > p1 ? x : SOFTPLUS (x * p0) / p0, b * p0 > p1 ? a : a * SIGMOID (b * p0), \
     "log (1 + exp (beta x)) / beta, x where beta x > threshold")                                                                \
  E (softsign, "Softsign", INPUT, no_attrs, x / (1 + fabs (x)), a / ((1 + fabs (b)) * (1 + fabs (b))), "x / (1 + |x|)")          \
  E (softshrink, "SoftShrink", INPUT, lambd_attrs, x > p0 ? x - p0 : x < -p0 ? x + p0 : x * 0, b >= -p0 && b <= p0 ? 0 : a,      \
     "x moved towards 0 by lambd, not past it")                                                                                  \
  E (hshrink, "HShrink", INPUT, lambd_attrs, x >= -p0 && x <= p0 ? 0 : x, b >= -p0 && b <= p0 ? 0 : a, "0 where |x| ≤ lambd, else x") \
  E (tanhshrink, "Tanhshrink", INPUT, no_attrs, x - tanh (x), a * tanh (b) * tanh (b), "x - tanh x")                             \
  E (threshold, "Threshold", INPUT, threshold_attrs, x <= p0 ? p1 : x, b <= p0 ? 0 : a, "x ≤ threshold ? value : x")             \
  E (fast_gelu, "FastGeLU", INPUT, no_attrs, x / (1 + exp ((typeof (x)) -1.702 * x)),                                            \
     a * SIGMOID ((typeof (b)) 1.702 * b) * (1 + (typeof (b)) 1.702 * b * (1 - SIGMOID ((typeof (b)) 1.702 * b))), "x σ(1.702 x)")
/* clang-format on */

enum
{
  INPUT,
  OUTPUT
};

static void
read_parameters (const TnNode *node, double p[2])
{
  int n = 0;
  for (const TnAttrSpec *spec = node->op->attrs; spec != NULL && spec->name != NULL && n < 2; spec++)
    if (spec->type == TN_ATTR_FLOAT)
      p[n++] = tn_node_float (node, spec->name);
}

/* The gradient row has the same attributes. */
static void
unary_gradient (TnGradient *d, int sees)
{
  g_autofree char *name = g_strconcat (d->node->op->name, "Grad", NULL);
  TnValue *seen = sees == OUTPUT ? tn_forward_output (d, 0) : d->node->inputs[0];
  d->grad_inputs[0] = tn_op (d->graph, name, TN_IN (d->grad_outputs[0], seen), d->node->n_attrs, d->node->attrs);
}

static gboolean
infer_grad (TnNode *node, GError **error)
{
  if (!tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("the gradient must have the shape of the tensor it belongs to"));
  return tn_infer_unary_float (node, error);
}

#define DEFINE(word, name_, sees, attrs_, f, df, doc_)                                                                           \
  TN_UNARY_ROWS (word, f)                                                                                                        \
  TN_BINARY_ROWS (word##_grad, df)                                                                                               \
  static gboolean word##_kernel (const TnKernelContext *context, GError **error)                                                 \
  {                                                                                                                              \
    static const TnUnaryKernel kernel = { word##_f32, word##_f64, NULL };                                                        \
    double p[2] = { 0 };                                                                                                         \
    read_parameters (context->node, p);                                                                                          \
    return tn_run_unary (context, &kernel, p, error);                                                                            \
  }                                                                                                                              \
  static gboolean word##_grad_kernel (const TnKernelContext *context, GError **error)                                            \
  {                                                                                                                              \
    static const TnBinaryKernel kernel = { word##_grad_f32, word##_grad_f64, NULL };                                             \
    double p[2] = { 0 };                                                                                                         \
    read_parameters (context->node, p);                                                                                          \
    return tn_run_binary (context, &kernel, p, error);                                                                           \
  }                                                                                                                              \
  static void word##_gradient (TnGradient *d) { unary_gradient (d, sees); }

ACTIVATIONS (DEFINE)

/* ---- GeLU: exact, or by the tanh formula ---- */

TN_UNARY_ROWS (gelu, x * (typeof (x)) 0.5 * (1 + erf (x * (typeof (x)) G_SQRT2 / 2)))
TN_UNARY_ROWS (gelu_tanh, x * (typeof (x)) 0.5 * (1 + tanh (TANH_INNER (x))))
/* Φ(x) + x φ(x) */
TN_BINARY_ROWS (gelu_grad, a * ((typeof (b)) 0.5 * (1 + erf (b * (typeof (b)) G_SQRT2 / 2))
                                + b * exp (b * b * (typeof (b)) -0.5) * (typeof (b)) (SQRT_2_OVER_PI / 2)))
TN_BINARY_ROWS (gelu_tanh_grad, a * GELU_TANH_SLOPE (b, tanh (TANH_INNER (b))))

static gboolean
is_tanh (const TnNode *node)
{
  return strcmp (tn_node_string (node, "approximate"), "tanh") == 0;
}

static gboolean
check_approximate (TnNode *node, GError **error)
{
  const char *approximate = tn_node_string (node, "approximate");
  if (strcmp (approximate, "none") != 0 && strcmp (approximate, "tanh") != 0)
    return tn_infer_error (node, error, _ ("attribute “approximate” is “%s”: “none” and “tanh” are known"), approximate);
  return TRUE;
}

static gboolean
infer_gelu (TnNode *node, GError **error)
{
  return check_approximate (node, error) && tn_infer_unary_float (node, error);
}

static gboolean
infer_gelu_grad (TnNode *node, GError **error)
{
  return check_approximate (node, error) && infer_grad (node, error);
}

static gboolean
gelu_kernel (const TnKernelContext *context, GError **error)
{
  static const TnUnaryKernel exact = { gelu_f32, gelu_f64, NULL }, by_tanh = { gelu_tanh_f32, gelu_tanh_f64, NULL };
  return tn_run_unary (context, is_tanh (context->node) ? &by_tanh : &exact, NULL, error);
}

static gboolean
gelu_grad_kernel (const TnKernelContext *context, GError **error)
{
  static const TnBinaryKernel exact = { gelu_grad_f32, gelu_grad_f64, NULL };
  static const TnBinaryKernel by_tanh = { gelu_tanh_grad_f32, gelu_tanh_grad_f64, NULL };
  return tn_run_binary (context, is_tanh (context->node) ? &by_tanh : &exact, NULL, error);
}

static void
gelu_gradient (TnGradient *d)
{
  unary_gradient (d, INPUT);
}

static const TnAttrSpec gelu_attrs[] = { { "approximate", TN_ATTR_STRING, .text = "none" }, { 0 } };

/* ---- PReLU: one slope, or one a channel (dimension 1) ---- */

static gboolean
check_slopes (TnNode *node, int x, int weight, GError **error)
{
  const TnShape *shape = tn_in_shape (node, x);
  int64_t n = tn_shape_count (tn_in_shape (node, weight)), channels = shape->n_dims >= 2 ? shape->dims[1] : 1;
  if (tn_in_shape (node, weight)->n_dims > 1 || (n != 1 && n != channels))
    return tn_infer_error (node, error, _ ("the slope must have 1 element, or one a channel (dimension 1 of the input)"));
  return tn_infer_same_float (node, error);
}

static gboolean
infer_prelu (TnNode *node, GError **error)
{
  return check_slopes (node, 0, 1, error) && tn_infer_unary (node, error);
}

static gboolean
infer_prelu_grad (TnNode *node, GError **error)
{
  if (!tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("the gradient must have the shape of the tensor it belongs to"));
  if (!check_slopes (node, 1, 2, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), *tn_in_shape (node, 1));
  tn_set_output (node, 1, tn_in_dtype (node, 0), *tn_in_shape (node, 2));
  return TRUE;
}

/* x is [outer][channels][inner]; with one slope everything is one channel. */
typedef struct
{
  int64_t outer, channels, inner;
} Channels;

static Channels
split_channels (const TnShape *x, const TnShape *weight)
{
  if (tn_shape_count (weight) == 1)
    return (Channels){ 1, 1, tn_shape_count (x) };
  return (Channels){ x->dims[0], x->dims[1], tn_shape_span (x, 2, x->n_dims) };
}

static gboolean
prelu_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  Channels c = split_channels (tn_in_shape (node, 0), tn_in_shape (node, 1));
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *x = context->in[0];
    const T *slope = context->in[1];
    T *y = context->out[0];
    for (int64_t r = 0; r < c.outer * c.channels; r++)
      for (int64_t i = r * c.inner; i < (r + 1) * c.inner; i++)
        y[i] = x[i] > 0 ? x[i] : slope[r % c.channels] * x[i];
  })
  return TRUE;
}

static gboolean
prelu_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  Channels c = split_channels (tn_in_shape (node, 1), tn_in_shape (node, 2));
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *dy = context->in[0];
    const T *x = context->in[1];
    const T *slope = context->in[2];
    T *dx = context->out[0];
    T *dslope = context->out[1];
    for (int64_t channel = 0; channel < c.channels; channel++)
      {
        double sum = 0;
        for (int64_t n = 0; n < c.outer; n++)
          for (int64_t i = (n * c.channels + channel) * c.inner, end = i + c.inner; i < end; i++)
            {
              dx[i] = x[i] > 0 ? dy[i] : slope[channel] * dy[i];
              sum += x[i] > 0 ? 0 : (double) dy[i] * (double) x[i];
            }
        dslope[channel] = (T) sum;
      }
  })
  return TRUE;
}

static void
prelu_gradient (TnGradient *d)
{
  TnValue *dx = tn_op (d->graph, "PReLUGrad", TN_IN (d->grad_outputs[0], d->node->inputs[0], d->node->inputs[1]), TN_NO_ATTRS);
  d->grad_inputs[0] = dx;
  d->grad_inputs[1] = tn_value_sibling (dx, 1);
}

/* ---- GLU: the first half of a dimension times σ of the second ---- */

static gboolean
find_axis (TnNode *node, const TnShape *shape, gint64 *axis, GError **error)
{
  *axis = tn_node_int (node, "axis");
  if (shape->n_dims == 0 || !tn_normalize_axis (axis, shape->n_dims) || shape->dims[*axis] % 2 != 0)
    return tn_infer_error (node, error, _ ("axis %" PRId64 " must be a dimension of the input, of even size"),
                           tn_node_int (node, "axis"));
  return TRUE;
}

static gboolean
infer_glu (TnNode *node, GError **error)
{
  gint64 axis;
  TnShape shape = *tn_in_shape (node, 0);
  if (!tn_infer_same_float (node, error) || !find_axis (node, &shape, &axis, error))
    return FALSE;
  shape.dims[axis] /= 2;
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
infer_glu_grad (TnNode *node, GError **error)
{
  gint64 axis;
  TnShape shape = *tn_in_shape (node, 1);
  if (!tn_infer_same_float (node, error) || !find_axis (node, &shape, &axis, error))
    return FALSE;
  shape.dims[axis] /= 2;
  if (!tn_shape_equal (&shape, tn_in_shape (node, 0)))
    return tn_infer_error (node, error, _ ("the gradient must have half the size of the input in axis %" PRId64), axis);
  tn_set_output (node, 0, tn_in_dtype (node, 0), *tn_in_shape (node, 1));
  return TRUE;
}

/* Elements of one half, for each index of the dimensions before the axis. */
static int64_t
half_block (const TnNode *node, const TnShape *x, int64_t *outer)
{
  gint64 axis = tn_node_int (node, "axis");
  tn_normalize_axis (&axis, x->n_dims);
  *outer = tn_shape_span (x, 0, (int) axis);
  return x->dims[axis] / 2 * tn_shape_span (x, (int) axis + 1, x->n_dims);
}

static gboolean
glu_kernel (const TnKernelContext *context, GError **error)
{
  int64_t outer, block = half_block (context->node, tn_in_shape (context->node, 0), &outer);
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0];
    T *y = context->out[0];
    for (int64_t o = 0; o < outer; o++, x += 2 * block, y += block)
      for (int64_t i = 0; i < block; i++)
        y[i] = x[i] * SIGMOID (x[block + i]);
  })
  return TRUE;
}

static gboolean
glu_grad_kernel (const TnKernelContext *context, GError **error)
{
  int64_t outer, block = half_block (context->node, tn_in_shape (context->node, 1), &outer);
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *dy = context->in[0];
    const T *x = context->in[1];
    T *dx = context->out[0];
    for (int64_t o = 0; o < outer; o++, dy += block, x += 2 * block, dx += 2 * block)
      for (int64_t i = 0; i < block; i++)
        {
          T gate = SIGMOID (x[block + i]);
          dx[i] = dy[i] * gate;
          dx[block + i] = dy[i] * x[i] * gate * (1 - gate);
        }
  })
  return TRUE;
}

static void
glu_gradient (TnGradient *d)
{
  d->grad_inputs[0] = tn_op (d->graph, "GLUGrad", TN_IN (d->grad_outputs[0], d->node->inputs[0]), d->node->n_attrs, d->node->attrs);
}

static const TnAttrSpec glu_attrs[] = { { "axis", TN_ATTR_INT, .number = -1 }, { 0 } };

/* ---- the rows ---- */

#define EACH (TN_OP_ELEMENTWISE | TN_OP_INPLACE)
#define ROWS(word, name_, sees, attrs_, f, df, doc_)                                                                             \
  { .name = name_, .doc = doc_, .flags = EACH, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = attrs_,                \
    .infer = tn_infer_unary_float, .gradient = word##_gradient, .reference = word##_kernel },                                    \
  { .name = name_ "Grad", .doc = "dy times the slope of " doc_, .flags = EACH, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, \
    .attrs = attrs_, .infer = infer_grad, .reference = word##_grad_kernel },

const TnOp tn_ops_activation[] = {
  ACTIVATIONS (ROWS)
  { .name = "GeLU", .doc = "x Φ(x), or ½ x (1 + tanh (√(2/π) (x + 0.044715 x³)))", .flags = EACH, .min_inputs = 1, .max_inputs = 1,
    .n_outputs = 1, .attrs = gelu_attrs, .infer = infer_gelu, .gradient = gelu_gradient, .reference = gelu_kernel },
  { .name = "GeLUGrad", .doc = "dy times the slope of GeLU at x", .flags = EACH, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,
    .attrs = gelu_attrs, .infer = infer_gelu_grad, .reference = gelu_grad_kernel },
  { .name = "PReLU", .doc = "x > 0 ? x : weight · x", .flags = TN_OP_INPLACE, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,
    .infer = infer_prelu, .gradient = prelu_gradient, .reference = prelu_kernel },
  { .name = "PReLUGrad", .doc = "gradients of PReLU by x and weight, from dy, x, weight", .min_inputs = 3, .max_inputs = 3,
    .n_outputs = 2, .infer = infer_prelu_grad, .reference = prelu_grad_kernel },
  { .name = "GLU", .doc = "first half of axis times σ of the second half", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1,
    .attrs = glu_attrs, .infer = infer_glu, .gradient = glu_gradient, .reference = glu_kernel },
  { .name = "GLUGrad", .doc = "gradient of GLU by x, from dy and x", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,
    .attrs = glu_attrs, .infer = infer_glu_grad, .reference = glu_grad_kernel },
  { 0 },
};
