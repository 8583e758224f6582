/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/truth.h"
#include <math.h>
#include <string.h>

/* torch's elementwise, activation and reduce operators in terms of our rows. */

static TnValue *
apply (TnGraph *graph, const char *op, TnValue *a, TnValue *b)
{
  return tn_op (graph, op, TN_IN (a, b), TN_NO_ATTRS);
}

static TnValue *
apply_number (TnGraph *graph, const char *op, TnValue *a, double number)
{
  return apply (graph, op, a, tn_graph_add_scalar (graph, a->dtype, number));
}

/* ---- one input, nothing else ---- */

static const char *const plain[][2] = {
  { "neg", "Neg" }, { "abs", "Abs" }, { "exp", "Exp" }, { "log", "Log" }, { "log1p", "Log1p" }, { "expm1", "Expm1" },
  { "log2", "Log2" }, { "sqrt", "Sqrt" }, { "rsqrt", "Rsqrt" }, { "square", "Square" }, { "reciprocal", "Reciprocal" },
  { "sin", "Sin" }, { "cos", "Cos" }, { "tan", "Tan" }, { "atan", "Atan" }, { "sinh", "Sinh" }, { "cosh", "Cosh" },
  { "erf", "Erf" }, { "sign", "Sign" }, { "floor", "Floor" }, { "ceil", "Ceil" }, { "round", "Round" }, { "relu", "ReLU" },
  { "relu6", "ReLU6" }, { "selu", "SeLU" }, { "silu", "SiLU" }, { "mish", "Mish" }, { "sigmoid", "Sigmoid" },
  { "logsigmoid", "LogSigmoid" }, { "tanh", "Tanh" }, { "hardsigmoid", "HSigmoid" }, { "hardswish", "HSwish" },
  { "softsign", "Softsign" }, { "tanhshrink", "Tanhshrink" },
};

static gboolean
build_plain (TruthCase *c, TnGraph *graph)
{
  for (gsize i = 0; i < G_N_ELEMENTS (plain); i++)
    if (strcmp (c->op, plain[i][0]) == 0)
      truth_output (c, tn_op (graph, plain[i][1], TN_IN (truth_input_at (c, 0)), TN_NO_ATTRS));
  return TRUE;
}

/* ---- activations with numbers ---- */

typedef struct
{
  const char *torch, *op;
  struct
  {
    const char *torch, *attr;
    double missing;
  } attrs[2];
} NumberedActivation;

static const NumberedActivation numbered[] = {
  { "leaky_relu", "LeakyReLU", { { "negative_slope", "negative_slope", 0.01 } } },
  { "elu", "Elu", { { "alpha", "alpha", 1 } } },
  { "celu", "CeLU", { { "alpha", "alpha", 1 } } },
  { "hardtanh", "Hardtanh", { { "min_val", "min_val", -1 }, { "max_val", "max_val", 1 } } },
  { "softplus", "Softplus", { { "beta", "beta", 1 }, { "threshold", "threshold", 20 } } },
  { "softshrink", "SoftShrink", { { "lambd", "lambd", 0.5 } } },
  { "hardshrink", "HShrink", { { "lambd", "lambd", 0.5 } } },
  { "threshold", "Threshold", { { "threshold", "threshold", 0 }, { "value", "value", 0 } } },
};

static gboolean
build_numbered (TruthCase *c, TnGraph *graph)
{
  TnAttr attrs[2];
  for (gsize i = 0; i < G_N_ELEMENTS (numbered); i++)
    if (strcmp (c->op, numbered[i].torch) == 0)
      {
        int n = 0;
        for (; n < 2 && numbered[i].attrs[n].attr != NULL; n++)
          attrs[n] = tn_attr_float (numbered[i].attrs[n].attr,
                                    truth_float (c, numbered[i].attrs[n].torch, numbered[i].attrs[n].missing));
        truth_output (c, tn_op (graph, numbered[i].op, TN_IN (truth_input (c, "x")), n, attrs));
      }
  return TRUE;
}

static gboolean
build_gelu (TruthCase *c, TnGraph *graph)
{
  truth_output (c, tn_op (graph, "GeLU", TN_IN (truth_input (c, "x")),
                          TN_ATTRS (tn_attr_string ("approximate", truth_string (c, "approximate", "none")))));
  return TRUE;
}

static gboolean
build_prelu (TruthCase *c, TnGraph *graph)
{
  truth_output (c, apply (graph, "PReLU", truth_input (c, "x"), truth_input (c, "weight")));
  return TRUE;
}

static gboolean
build_glu (TruthCase *c, TnGraph *graph)
{
  truth_output (c, tn_op (graph, "GLU", TN_IN (truth_input (c, "x")), TN_ATTRS (tn_attr_int ("axis", truth_int (c, "dim", -1)))));
  return TRUE;
}

/* ---- arithmetic ---- */

/* a + alpha · b, a - alpha · b */
static gboolean
build_sum (TruthCase *c, TnGraph *graph)
{
  TnValue *b = truth_input (c, "b");
  if (truth_has (c, "alpha"))
    b = apply_number (graph, "Mul", b, truth_float (c, "alpha", 1));
  truth_output (c, apply (graph, strcmp (c->op, "add") == 0 ? "Add" : "Sub", truth_input (c, "a"), b));
  return TRUE;
}

static gboolean
build_pair (TruthCase *c, TnGraph *graph)
{
  static const char *const names[][2] = {
    { "mul", "Mul" }, { "maximum", "Maximum" }, { "minimum", "Minimum" }, { "atan2", "Atan2" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (c->op, names[i][0]) == 0)
      truth_output (c, apply (graph, names[i][1], truth_input (c, "a"), truth_input (c, "b")));
  return TRUE;
}

/* torch's rounding_mode: null, "floor" or "trunc". */
static gboolean
build_div (TruthCase *c, TnGraph *graph)
{
  const char *rounding = truth_string (c, "rounding_mode", "none");
  TnValue *quotient = apply (graph, "Div", truth_input (c, "a"), truth_input (c, "b"));
  if (strcmp (rounding, "trunc") == 0)
    return FALSE;
  truth_output (c, strcmp (rounding, "floor") == 0 ? tn_op (graph, "Floor", TN_IN (quotient), TN_NO_ATTRS) : quotient);
  return TRUE;
}

static gboolean
build_pow (TruthCase *c, TnGraph *graph)
{
  TnValue *a = truth_input (c, "a"), *b = truth_input (c, "b");
  truth_output (c, b != NULL ? apply (graph, "Pow", a, b) : apply_number (graph, "Pow", a, truth_float (c, "exponent", 1)));
  return TRUE;
}

static gboolean
build_clamp (TruthCase *c, TnGraph *graph)
{
  TnAttr attrs[2];
  int n = 0;
  if (truth_has (c, "min"))
    attrs[n++] = tn_attr_float ("min", truth_float (c, "min", 0));
  if (truth_has (c, "max"))
    attrs[n++] = tn_attr_float ("max", truth_float (c, "max", 0));
  truth_output (c, tn_op (graph, "Clamp", TN_IN (truth_input (c, "x")), n, attrs));
  return TRUE;
}

static gboolean
build_where (TruthCase *c, TnGraph *graph)
{
  truth_output (c, tn_op (graph, "Select", TN_IN (truth_input (c, "cond"), truth_input (c, "a"), truth_input (c, "b")), TN_NO_ATTRS));
  return TRUE;
}

static gboolean
build_masked_fill (TruthCase *c, TnGraph *graph)
{
  truth_output (c, tn_op (graph, "MaskedFill", TN_IN (truth_input (c, "x"), truth_input (c, "mask")),
                          TN_ATTRS (tn_attr_float ("value", truth_float (c, "value", 0)))));
  return TRUE;
}

/* a + weight · (b - a) */
static gboolean
build_lerp (TruthCase *c, TnGraph *graph)
{
  TnValue *a = truth_input (c, "a"), *way = apply (graph, "Sub", truth_input (c, "b"), a), *weight = truth_input (c, "weight");
  TnValue *step = weight != NULL ? apply (graph, "Mul", way, weight) : apply_number (graph, "Mul", way, truth_float (c, "weight", 0));
  truth_output (c, apply (graph, "Add", a, step));
  return TRUE;
}

static gboolean
build_dropout_mask (TruthCase *c, TnGraph *graph)
{
  truth_output (c, tn_op (graph, "DropoutGrad", TN_IN (truth_input (c, "x"), truth_input (c, "mask")),
                          TN_ATTRS (tn_attr_float ("keep_prob", 1 - truth_float (c, "p", 0.5)))));
  return TRUE;
}

/* ---- reductions ---- */

#define MAX_REDUCE_ATTRS 3

static int
reduce_attrs (TruthCase *c, TnAttr attrs[MAX_REDUCE_ATTRS], int64_t *axes)
{
  int n_axes = truth_ints (c, "dim", axes);
  attrs[0] = tn_attr_ints ("axis", n_axes, axes);
  attrs[1] = tn_attr_bool ("keep_dims", truth_bool (c, "keepdim", FALSE));
  return 2;
}

static gboolean
build_reduce (TruthCase *c, TnGraph *graph)
{
  static const char *const names[][2] = {
    { "sum", "ReduceSum" }, { "mean", "ReduceMean" }, { "prod", "ReduceProd" }, { "amax", "ReduceMax" }, { "amin", "ReduceMin" },
    { "logsumexp", "LogSumExp" },
  };
  TnAttr attrs[MAX_REDUCE_ATTRS];
  int64_t axes[TRUTH_MAX_INTS];
  TnValue *x = truth_input (c, "x");
  if (x->dtype == TN_DTYPE_BOOL) /* torch counts in int64 */
    x = tn_op (graph, "Cast", TN_IN (x), TN_ATTRS (tn_attr_dtype ("dtype", TN_DTYPE_I64)));
  int n = reduce_attrs (c, attrs, axes);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (c->op, names[i][0]) == 0)
      truth_output (c, tn_op (graph, names[i][1], TN_IN (x), n, attrs));
  return TRUE;
}

static gboolean
build_variance (TruthCase *c, TnGraph *graph)
{
  TnAttr attrs[MAX_REDUCE_ATTRS];
  int64_t axes[TRUTH_MAX_INTS];
  int n = reduce_attrs (c, attrs, axes);
  attrs[n++] = tn_attr_int ("correction", truth_int (c, "correction", truth_bool (c, "unbiased", TRUE)));
  truth_output (c, tn_op (graph, strcmp (c->op, "var") == 0 ? "ReduceVar" : "ReduceStd", TN_IN (truth_input (c, "x")), n, attrs));
  return TRUE;
}

/* Without a dimension max is amax. */
static gboolean
build_extreme (TruthCase *c, TnGraph *graph)
{
  gboolean largest = strcmp (c->op, "max") == 0;
  if (!truth_has (c, "dim"))
    {
      truth_output (c, tn_op (graph, largest ? "ReduceMax" : "ReduceMin", TN_IN (truth_input (c, "x")), TN_NO_ATTRS));
      return TRUE;
    }
  TnValue *values = tn_op (graph, largest ? "ReduceMaxWithIndex" : "ReduceMinWithIndex", TN_IN (truth_input (c, "x")),
                           TN_ATTRS (tn_attr_int ("axis", truth_int (c, "dim", 0)),
                                     tn_attr_bool ("keep_dims", truth_bool (c, "keepdim", FALSE))));
  truth_output (c, values);
  truth_output (c, tn_value_sibling (values, 1));
  return TRUE;
}

static gboolean
build_scan (TruthCase *c, TnGraph *graph)
{
  truth_output (c, tn_op (graph, strcmp (c->op, "cumsum") == 0 ? "CumSum" : "CumProd", TN_IN (truth_input (c, "x")),
                          TN_ATTRS (tn_attr_int ("axis", truth_int (c, "dim", 0)))));
  return TRUE;
}

static gboolean
build_norm (TruthCase *c, TnGraph *graph)
{
  TnAttr attrs[MAX_REDUCE_ATTRS];
  int64_t axes[TRUTH_MAX_INTS];
  int n = reduce_attrs (c, attrs, axes);
  attrs[n++] = tn_attr_float ("p", truth_float (c, "p", truth_float (c, "ord", 2)));
  truth_output (c, tn_op (graph, "LpNorm", TN_IN (truth_input (c, "x")), n, attrs));
  return TRUE;
}

const TruthMapping truth_map_a[] = {
  { "neg", build_plain }, { "abs", build_plain }, { "exp", build_plain }, { "log", build_plain }, { "log1p", build_plain },
  { "expm1", build_plain }, { "log2", build_plain }, { "sqrt", build_plain }, { "rsqrt", build_plain }, { "square", build_plain },
  { "reciprocal", build_plain }, { "sin", build_plain }, { "cos", build_plain }, { "tan", build_plain }, { "atan", build_plain },
  { "sinh", build_plain }, { "cosh", build_plain }, { "erf", build_plain }, { "sign", build_plain }, { "floor", build_plain },
  { "ceil", build_plain }, { "round", build_plain }, { "relu", build_plain }, { "relu6", build_plain }, { "selu", build_plain },
  { "silu", build_plain }, { "mish", build_plain }, { "sigmoid", build_plain }, { "logsigmoid", build_plain },
  { "tanh", build_plain }, { "hardsigmoid", build_plain }, { "hardswish", build_plain }, { "softsign", build_plain },
  { "tanhshrink", build_plain },
  { "leaky_relu", build_numbered }, { "elu", build_numbered }, { "celu", build_numbered }, { "hardtanh", build_numbered },
  { "softplus", build_numbered }, { "softshrink", build_numbered }, { "hardshrink", build_numbered }, { "threshold", build_numbered },
  { "gelu", build_gelu }, { "prelu", build_prelu }, { "glu", build_glu },
  { "add", build_sum }, { "sub", build_sum }, { "mul", build_pair }, { "div", build_div }, { "maximum", build_pair },
  { "minimum", build_pair }, { "atan2", build_pair }, { "pow", build_pow }, { "clamp", build_clamp }, { "where", build_where },
  { "masked_fill", build_masked_fill }, { "lerp", build_lerp }, { "dropout_mask", build_dropout_mask },
  { "sum", build_reduce }, { "mean", build_reduce }, { "prod", build_reduce }, { "amax", build_reduce }, { "amin", build_reduce },
  { "logsumexp", build_reduce }, { "var", build_variance }, { "std", build_variance }, { "max", build_extreme },
  { "min", build_extreme }, { "cumsum", build_scan }, { "cumprod", build_scan }, { "vector_norm", build_norm },
  { 0 },
};
