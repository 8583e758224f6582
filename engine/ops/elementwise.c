/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include <math.h>
#include <tgmath.h>

/* Arithmetic and elementary functions, element by element. Borders (NaN, infinities, 0) are torch's. */

/* Integers wrap around, as two's complement hardware does. */
#define WRAP(a, op, b) ((int64_t) ((uint64_t) (a) op (uint64_t) (b)))

#define BINARY_KERNEL(name, integer_fn)                                                                                          \
  static gboolean name##_kernel (const TnKernelContext *context, GError **error)                                                 \
  {                                                                                                                              \
    static const TnBinaryKernel kernel = { name##_f32, name##_f64, integer_fn };                                                 \
    return tn_run_binary (context, &kernel, NULL, error);                                                                        \
  }
#define UNARY_KERNEL(name, integer_fn)                                                                                           \
  static gboolean name##_kernel (const TnKernelContext *context, GError **error)                                                 \
  {                                                                                                                              \
    static const TnUnaryKernel kernel = { name##_f32, name##_f64, integer_fn };                                                  \
    return tn_run_unary (context, &kernel, NULL, error);                                                                         \
  }

/* ---- shape rules ---- */

/* Arithmetic on truth values would leave 0 and 1. */
static gboolean
infer_arithmetic (TnNode *node, GError **error)
{
  if (tn_in_dtype (node, 0) == TN_DTYPE_BOOL)
    return tn_infer_error (node, error, _ ("works on numbers, not bool: add a Cast"));
  return tn_infer_broadcast (node, error);
}

static gboolean
infer_float_broadcast (TnNode *node, GError **error)
{
  return tn_infer_same_float (node, error) && tn_infer_broadcast (node, error);
}

static gboolean
infer_number (TnNode *node, GError **error)
{
  if (tn_in_dtype (node, 0) == TN_DTYPE_BOOL)
    return tn_infer_error (node, error, _ ("works on numbers, not bool: add a Cast"));
  return tn_infer_unary (node, error);
}

static gboolean
infer_add_n (TnNode *node, GError **error)
{
  for (int i = 1; i < node->n_inputs; i++)
    if (tn_in_dtype (node, i) != tn_in_dtype (node, 0) || !tn_shape_equal (tn_in_shape (node, i), tn_in_shape (node, 0)))
      return tn_infer_error (node, error, _ ("all inputs must have one dtype and shape"));
  return infer_number (node, error);
}

/* ---- two inputs ---- */

TN_BINARY_ROWS (add, a + b)
TN_BINARY_ROWS (sub, a - b)
TN_BINARY_ROWS (mul, a * b)
TN_BINARY_ROWS (div, a / b)
TN_BINARY_ROWS (pow, pow (a, b))
TN_BINARY_ROWS (atan2, atan2 (a, b))
/* A NaN on either side wins. */
TN_BINARY_ROWS (maximum, a > b || a != a ? a : b)
TN_BINARY_ROWS (minimum, a < b || a != a ? a : b)

static int64_t add_int (int64_t a, int64_t b) { return WRAP (a, +, b); }
static int64_t sub_int (int64_t a, int64_t b) { return WRAP (a, -, b); }
static int64_t mul_int (int64_t a, int64_t b) { return WRAP (a, *, b); }
static int64_t maximum_int (int64_t a, int64_t b) { return MAX (a, b); }
static int64_t minimum_int (int64_t a, int64_t b) { return MIN (a, b); }

BINARY_KERNEL (add, add_int)
BINARY_KERNEL (sub, sub_int)
BINARY_KERNEL (mul, mul_int)
BINARY_KERNEL (div, NULL)
BINARY_KERNEL (pow, NULL)
BINARY_KERNEL (atan2, NULL)
BINARY_KERNEL (maximum, maximum_int)
BINARY_KERNEL (minimum, minimum_int)

#define BINARY_GRADIENT(name, grad_a, grad_b)                                                                                    \
  static void name##_gradient (TnGradient *d)                                                                                    \
  {                                                                                                                              \
    TnGraph *g = d->graph;                                                                                                       \
    TnValue *dy = d->grad_outputs[0], *a = d->node->inputs[0], *b = d->node->inputs[1], *y = tn_forward_output (d, 0);           \
    (void) g, (void) a, (void) b, (void) y;                                                                                      \
    if (d->wanted[0])                                                                                                            \
      tn_set_gradient (d, 0, grad_a);                                                                                            \
    if (d->wanted[1])                                                                                                            \
      tn_set_gradient (d, 1, grad_b);                                                                                            \
  }

/* dy where a wins, half of it where both are equal, 0 where b wins. */
static TnValue *
winner_gradient (TnGraph *g, TnValue *dy, const char *loses, TnValue *a, TnValue *b)
{
  TnValue *zero = tn_graph_add_scalar (g, dy->dtype, 0);
  TnValue *shared = tn_op (g, "Select", TN_IN (tn_apply2 (g, "Equal", a, b), tn_apply_number (g, "Mul", dy, 0.5), dy), TN_NO_ATTRS);
  return tn_op (g, "Select", TN_IN (tn_apply2 (g, loses, a, b), zero, shared), TN_NO_ATTRS);
}

/* d a^b / da = b a^(b-1), and 0 where b = 0, also at a = 0. */
static TnValue *
pow_base_gradient (TnGraph *g, TnValue *dy, TnValue *a, TnValue *b)
{
  TnValue *zero = tn_graph_add_scalar (g, dy->dtype, 0);
  TnValue *slope = tn_apply2 (g, "Mul", b, tn_apply2 (g, "Pow", a, tn_apply_number (g, "Sub", b, 1)));
  return tn_op (g, "Select", TN_IN (tn_apply_number (g, "Equal", b, 0), zero, tn_apply2 (g, "Mul", dy, slope)), TN_NO_ATTRS);
}

/* d a^b / db = a^b log a, and 0 where a = 0 and b >= 0. */
static TnValue *
pow_exponent_gradient (TnGraph *g, TnValue *dy, TnValue *a, TnValue *b, TnValue *y)
{
  TnValue *zero = tn_graph_add_scalar (g, dy->dtype, 0);
  TnValue *flat = tn_apply2 (g, "LogicalAnd", tn_apply_number (g, "Equal", a, 0), tn_apply_number (g, "GreaterEqual", b, 0));
  TnValue *slope = tn_apply2 (g, "Mul", y, tn_apply1 (g, "Log", a));
  return tn_apply2 (g, "Mul", dy, tn_op (g, "Select", TN_IN (flat, zero, slope), TN_NO_ATTRS));
}

/* dy · u / (a² + b²) */
static TnValue *
atan2_gradient_of (TnGraph *g, TnValue *dy, TnValue *u, TnValue *a, TnValue *b)
{
  TnValue *length = tn_apply2 (g, "Add", tn_apply1 (g, "Square", a), tn_apply1 (g, "Square", b));
  return tn_apply2 (g, "Mul", dy, tn_apply2 (g, "Div", u, length));
}

BINARY_GRADIENT (add, dy, dy)
BINARY_GRADIENT (sub, dy, tn_apply1 (g, "Neg", dy))
BINARY_GRADIENT (mul, tn_apply2 (g, "Mul", dy, b), tn_apply2 (g, "Mul", dy, a))
BINARY_GRADIENT (div, tn_apply2 (g, "Div", dy, b), tn_apply1 (g, "Neg", tn_apply2 (g, "Mul", dy, tn_apply2 (g, "Div", y, b))))
BINARY_GRADIENT (pow, pow_base_gradient (g, dy, a, b), pow_exponent_gradient (g, dy, a, b, y))
BINARY_GRADIENT (maximum, winner_gradient (g, dy, "Less", a, b), winner_gradient (g, dy, "Less", b, a))
BINARY_GRADIENT (minimum, winner_gradient (g, dy, "Greater", a, b), winner_gradient (g, dy, "Greater", b, a))
BINARY_GRADIENT (atan2, atan2_gradient_of (g, dy, b, a, b), tn_apply1 (g, "Neg", atan2_gradient_of (g, dy, a, a, b)))

/* ---- one input ---- */

TN_UNARY_ROWS (neg, -x)
TN_UNARY_ROWS (abs, fabs (x))
TN_UNARY_ROWS (square, x *x)
TN_UNARY_ROWS (sign, (x > 0) - (x < 0))
TN_UNARY_ROWS (exp, exp (x))
TN_UNARY_ROWS (log, log (x))
TN_UNARY_ROWS (log1p, log1p (x))
TN_UNARY_ROWS (expm1, expm1 (x))
TN_UNARY_ROWS (log2, log2 (x))
TN_UNARY_ROWS (sqrt, sqrt (x))
TN_UNARY_ROWS (rsqrt, 1 / sqrt (x))
TN_UNARY_ROWS (reciprocal, 1 / x)
TN_UNARY_ROWS (sin, sin (x))
TN_UNARY_ROWS (cos, cos (x))
TN_UNARY_ROWS (tan, tan (x))
TN_UNARY_ROWS (atan, atan (x))
TN_UNARY_ROWS (sinh, sinh (x))
TN_UNARY_ROWS (cosh, cosh (x))
TN_UNARY_ROWS (erf, erf (x))
TN_UNARY_ROWS (floor, floor (x))
TN_UNARY_ROWS (ceil, ceil (x))
TN_UNARY_ROWS (round, rint (x)) /* half to even: nobody changes the rounding mode */

static int64_t neg_int (int64_t x) { return WRAP (0, -, x); }
static int64_t abs_int (int64_t x) { return x < 0 ? WRAP (0, -, x) : x; }
static int64_t square_int (int64_t x) { return WRAP (x, *, x); }
static int64_t sign_int (int64_t x) { return (x > 0) - (x < 0); }

UNARY_KERNEL (neg, neg_int)
UNARY_KERNEL (abs, abs_int)
UNARY_KERNEL (square, square_int)
UNARY_KERNEL (sign, sign_int)
UNARY_KERNEL (exp, NULL)
UNARY_KERNEL (log, NULL)
UNARY_KERNEL (log1p, NULL)
UNARY_KERNEL (expm1, NULL)
UNARY_KERNEL (log2, NULL)
UNARY_KERNEL (sqrt, NULL)
UNARY_KERNEL (rsqrt, NULL)
UNARY_KERNEL (reciprocal, NULL)
UNARY_KERNEL (sin, NULL)
UNARY_KERNEL (cos, NULL)
UNARY_KERNEL (tan, NULL)
UNARY_KERNEL (atan, NULL)
UNARY_KERNEL (sinh, NULL)
UNARY_KERNEL (cosh, NULL)
UNARY_KERNEL (erf, NULL)
UNARY_KERNEL (floor, NULL)
UNARY_KERNEL (ceil, NULL)
UNARY_KERNEL (round, NULL)

#define UNARY_GRADIENT(name, slope)                                                                                              \
  static void name##_gradient (TnGradient *d)                                                                                    \
  {                                                                                                                              \
    TnGraph *g = d->graph;                                                                                                       \
    TnValue *dy = d->grad_outputs[0], *x = d->node->inputs[0], *y = tn_forward_output (d, 0);                                    \
    (void) x, (void) y;                                                                                                          \
    d->grad_inputs[0] = slope;                                                                                                   \
  }
#define TIMES(a, b) tn_apply2 (g, "Mul", a, b)
#define OVER(a, b) tn_apply2 (g, "Div", a, b)
#define OF(op, v) tn_apply1 (g, op, v)
#define WITH(op, v, number) tn_apply_number (g, op, v, number)

/* Steps: flat wherever they have a slope. */
static void
flat_gradient (TnGradient *d)
{
}

UNARY_GRADIENT (neg, OF ("Neg", dy))
UNARY_GRADIENT (abs, TIMES (dy, OF ("Sign", x)))
UNARY_GRADIENT (square, TIMES (dy, WITH ("Mul", x, 2)))
UNARY_GRADIENT (exp, TIMES (dy, y))
UNARY_GRADIENT (log, OVER (dy, x))
UNARY_GRADIENT (log1p, OVER (dy, WITH ("Add", x, 1)))
UNARY_GRADIENT (expm1, TIMES (dy, WITH ("Add", y, 1)))
UNARY_GRADIENT (log2, OVER (dy, WITH ("Mul", x, G_LN2)))
UNARY_GRADIENT (sqrt, OVER (dy, WITH ("Mul", y, 2)))
UNARY_GRADIENT (rsqrt, TIMES (WITH ("Mul", dy, -0.5), TIMES (y, OF ("Square", y))))
UNARY_GRADIENT (reciprocal, OF ("Neg", TIMES (dy, OF ("Square", y))))
UNARY_GRADIENT (sin, TIMES (dy, OF ("Cos", x)))
UNARY_GRADIENT (cos, OF ("Neg", TIMES (dy, OF ("Sin", x))))
UNARY_GRADIENT (tan, TIMES (dy, WITH ("Add", OF ("Square", y), 1)))
UNARY_GRADIENT (atan, OVER (dy, WITH ("Add", OF ("Square", x), 1)))
UNARY_GRADIENT (sinh, TIMES (dy, OF ("Cosh", x)))
UNARY_GRADIENT (cosh, TIMES (dy, OF ("Sinh", x)))
/* 2/√π exp(-x²) */
UNARY_GRADIENT (erf, TIMES (dy, WITH ("Mul", OF ("Exp", OF ("Neg", OF ("Square", x))), M_2_SQRTPI)))

/* ---- Clamp ---- */

TN_UNARY_ROWS (clamp, (x < p0 ? p0 : x) > p1 ? p1 : (x < p0 ? p0 : x)) /* NaN stays */
/* 0 at the bounds themselves, as torch 2.15 has it; an absent bound bounds nothing, not even an infinite x. */
TN_BINARY_ROWS (clamp_grad, (isinf (p0) || b > p0) && (isinf (p1) || b < p1) && b == b ? a : 0)

static void
clamp_bounds (const TnNode *node, double p[2])
{
  p[0] = tn_node_float (node, "min");
  p[1] = tn_node_float (node, "max");
}

static gboolean
clamp_kernel (const TnKernelContext *context, GError **error)
{
  static const TnUnaryKernel kernel = { clamp_f32, clamp_f64, NULL };
  double p[2];
  clamp_bounds (context->node, p);
  return tn_run_unary (context, &kernel, p, error);
}

static gboolean
clamp_grad_kernel (const TnKernelContext *context, GError **error)
{
  static const TnBinaryKernel kernel = { clamp_grad_f32, clamp_grad_f64, NULL };
  double p[2];
  clamp_bounds (context->node, p);
  return tn_run_binary (context, &kernel, p, error);
}

static void
clamp_gradient (TnGradient *d)
{
  double p[2];
  clamp_bounds (d->node, p);
  d->grad_inputs[0] = tn_op (d->graph, "ClampGrad", TN_IN (d->grad_outputs[0], d->node->inputs[0]),
                             TN_ATTRS (tn_attr_float ("min", p[0]), tn_attr_float ("max", p[1])));
}

static const TnAttrSpec clamp_attrs[] = {
  { "min", TN_ATTR_FLOAT, .number = -INFINITY },
  { "max", TN_ATTR_FLOAT, .number = INFINITY },
  { 0 },
};

/* ---- AddN: from left to right ---- */

static gboolean
add_n_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_shape_count (&node->outputs[0].shape);
  TN_NUMBER_CASES (tn_in_dtype (node, 0), T, {
    T *out = context->out[0];
    const T *first = context->in[0];
    for (int64_t i = 0; i < n; i++)
      {
        T sum = first[i];
        for (int k = 1; k < node->n_inputs; k++)
          sum = (T) (sum + ((const T *) context->in[k])[i]);
        out[i] = sum;
      }
  })
  return TRUE;
}

static void
add_n_gradient (TnGradient *d)
{
  for (int k = 0; k < d->node->n_inputs; k++)
    d->grad_inputs[k] = d->grad_outputs[0];
}

static void
add_n_cost (const TnNode *node, TnCost *cost)
{
  cost->flops = (double) tn_shape_count (&node->outputs[0].shape) * (node->n_inputs - 1);
}

/* ---- the rows ---- */

#define EACH (TN_OP_ELEMENTWISE | TN_OP_INPLACE)
#define BINARY(name_, fn, infer_, doc_)                                                                                          \
  { .name = name_, .doc = doc_, .flags = EACH, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .infer = infer_,                \
    .gradient = fn##_gradient, .reference = fn##_kernel }
#define UNARY(name_, fn, infer_, gradient_, doc_)                                                                                \
  { .name = name_, .doc = doc_, .flags = EACH, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .infer = infer_,                \
    .gradient = gradient_##_gradient, .reference = fn##_kernel }
#define FLOAT_UNARY(name_, fn, doc_) UNARY (name_, fn, tn_infer_unary_float, fn, doc_)

const TnOp tn_ops_elementwise[] = {
  BINARY ("Add", add, infer_arithmetic, "a + b"),
  BINARY ("Sub", sub, infer_arithmetic, "a - b"),
  BINARY ("Mul", mul, infer_arithmetic, "a · b"),
  BINARY ("Div", div, infer_float_broadcast, "a / b"),
  BINARY ("Pow", pow, infer_float_broadcast, "a to the power of b"),
  BINARY ("Atan2", atan2, infer_float_broadcast, "angle of the point (b, a)"),
  BINARY ("Maximum", maximum, tn_infer_broadcast, "the larger of a and b; NaN wins"),
  BINARY ("Minimum", minimum, tn_infer_broadcast, "the smaller of a and b; NaN wins"),
  UNARY ("Neg", neg, infer_number, neg, "-x"),
  UNARY ("Abs", abs, infer_number, abs, "|x|"),
  UNARY ("Square", square, infer_number, square, "x²"),
  UNARY ("Sign", sign, infer_number, flat, "-1, 0 or 1; 0 for NaN"),
  FLOAT_UNARY ("Exp", exp, "e to the power of x"),
  FLOAT_UNARY ("Log", log, "natural logarithm"),
  FLOAT_UNARY ("Log1p", log1p, "log (1 + x), exact for small x"),
  FLOAT_UNARY ("Expm1", expm1, "exp (x) - 1, exact for small x"),
  FLOAT_UNARY ("Log2", log2, "logarithm to base 2"),
  FLOAT_UNARY ("Sqrt", sqrt, "square root"),
  FLOAT_UNARY ("Rsqrt", rsqrt, "1 / √x"),
  FLOAT_UNARY ("Reciprocal", reciprocal, "1 / x"),
  FLOAT_UNARY ("Sin", sin, "sine"),
  FLOAT_UNARY ("Cos", cos, "cosine"),
  FLOAT_UNARY ("Tan", tan, "tangent"),
  FLOAT_UNARY ("Atan", atan, "arc tangent"),
  FLOAT_UNARY ("Sinh", sinh, "hyperbolic sine"),
  FLOAT_UNARY ("Cosh", cosh, "hyperbolic cosine"),
  FLOAT_UNARY ("Erf", erf, "2/√π ∫₀ˣ exp (-t²) dt"),
  UNARY ("Floor", floor, tn_infer_unary_float, flat, "largest integer not above x"),
  UNARY ("Ceil", ceil, tn_infer_unary_float, flat, "smallest integer not below x"),
  UNARY ("Round", round, tn_infer_unary_float, flat, "nearest integer, half to even"),
  { .name = "Clamp", .doc = "min (max (x, min), max); NaN stays", .flags = EACH, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1,
    .attrs = clamp_attrs, .infer = tn_infer_unary_float, .gradient = clamp_gradient, .reference = clamp_kernel },
  { .name = "ClampGrad", .doc = "dy where min < x < max, else 0", .flags = EACH, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,
    .attrs = clamp_attrs, .infer = infer_float_broadcast, .reference = clamp_grad_kernel },
  { .name = "AddN", .doc = "sum of all inputs, from left to right", .flags = EACH, .min_inputs = 1, .max_inputs = TN_VARIADIC,
    .n_outputs = 1, .infer = infer_add_n, .gradient = add_n_gradient, .cost = add_n_cost, .reference = add_n_kernel },
  { 0 },
};
