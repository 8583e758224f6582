/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include <math.h>
#include <string.h>

/* Comparisons, logic, choice and conversion. Truth values are one byte, 0 or 1. */

static void
no_gradient (TnGradient *d)
{
}

/* ---- comparisons ---- */

#define COMPARISON(name, op)                                                                                                     \
  TN_BINARY_ROW (name##_f32, float, uint8_t, a op b)                                                                             \
  TN_BINARY_ROW (name##_f64, double, uint8_t, a op b)                                                                            \
  static int64_t name##_int (int64_t a, int64_t b) { return a op b; }                                                            \
  static gboolean name##_kernel (const TnKernelContext *context, GError **error)                                                 \
  {                                                                                                                              \
    static const TnBinaryKernel kernel = { name##_f32, name##_f64, name##_int };                                                 \
    return tn_run_binary (context, &kernel, NULL, error);                                                                        \
  }

COMPARISON (equal, ==)
COMPARISON (not_equal, !=)
COMPARISON (less, <)
COMPARISON (less_equal, <=)
COMPARISON (greater, >)
COMPARISON (greater_equal, >=)

/* ---- logic ---- */

static gboolean
infer_logic (TnNode *node, GError **error)
{
  for (int i = 0; i < node->n_inputs; i++)
    if (tn_in_dtype (node, i) != TN_DTYPE_BOOL)
      return tn_infer_error (node, error, _ ("works on bool: compare first, or add a Cast"));
  return tn_infer_broadcast (node, error);
}

static int64_t and_int (int64_t a, int64_t b) { return a && b; }
static int64_t or_int (int64_t a, int64_t b) { return a || b; }
static int64_t not_int (int64_t x) { return !x; }

static gboolean
and_kernel (const TnKernelContext *context, GError **error)
{
  return tn_run_binary (context, &(TnBinaryKernel){ .integer = and_int }, NULL, error);
}

static gboolean
or_kernel (const TnKernelContext *context, GError **error)
{
  return tn_run_binary (context, &(TnBinaryKernel){ .integer = or_int }, NULL, error);
}

static gboolean
not_kernel (const TnKernelContext *context, GError **error)
{
  return tn_run_unary (context, &(TnUnaryKernel){ .integer = not_int }, NULL, error);
}

/* ---- IsNan, IsFinite ---- */

static gboolean
infer_test (TnNode *node, GError **error)
{
  if (!tn_infer_same_float (node, error))
    return FALSE;
  tn_set_output (node, 0, TN_DTYPE_BOOL, *tn_in_shape (node, 0));
  return TRUE;
}

#define TEST(name, expr)                                                                                                         \
  static gboolean name##_kernel (const TnKernelContext *context, GError **error)                                                 \
  {                                                                                                                              \
    int64_t n = tn_shape_count (tn_in_shape (context->node, 0));                                                                 \
    uint8_t *out = context->out[0];                                                                                              \
    TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {                                                                         \
      const T *x = context->in[0];                                                                                               \
      for (int64_t i = 0; i < n; i++)                                                                                            \
        out[i] = (expr) != 0;                                                                                                    \
    })                                                                                                                           \
    return TRUE;                                                                                                                 \
  }

TEST (is_nan, isnan (x[i]))
TEST (is_finite, isfinite (x[i]))

/* ---- Select, MaskedFill: bytes are moved, so any dtype goes ---- */

static gboolean
infer_select (TnNode *node, GError **error)
{
  TnShape shape;
  if (tn_in_dtype (node, 0) != TN_DTYPE_BOOL)
    return tn_infer_error (node, error, _ ("the condition must be bool"));
  if (tn_in_dtype (node, 1) != tn_in_dtype (node, 2))
    return tn_infer_error (node, error, _ ("the two choices must have one dtype: add a Cast"));
  if (!tn_shape_broadcast (tn_in_shape (node, 1), tn_in_shape (node, 2), &shape)
      || !tn_shape_broadcast (&shape, tn_in_shape (node, 0), &shape))
    return tn_infer_error (node, error, _ ("shapes do not broadcast: from the right, sizes must be equal or 1"));
  tn_set_output (node, 0, tn_in_dtype (node, 1), shape);
  return TRUE;
}

#define SELECT_ROW(T)                                                                                                            \
  {                                                                                                                              \
    const T *a = a_, *b = b_;                                                                                                    \
    T *out = out_;                                                                                                               \
    for (int64_t i = 0; i < n; i++)                                                                                              \
      out[i] = condition[i * step[0]] ? a[i * step[1]] : b[i * step[2]];                                                         \
  }                                                                                                                              \
  break;

static void
select_row (size_t size, int64_t n, const int *step, const uint8_t *condition, const void *a_, const void *b_, void *out_)
{
  switch (size)
    {
    case 1: SELECT_ROW (uint8_t)
    case 2: SELECT_ROW (uint16_t)
    case 4: SELECT_ROW (uint32_t)
    default: SELECT_ROW (uint64_t)
    }
}

static gboolean
select_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  TnBroadcast broadcast;
  TnBroadcastWalk walk = { 0 };
  size_t size = tn_dtype_size (node->outputs[0].dtype);
  tn_broadcast_init (&broadcast, &node->outputs[0].shape, 3,
                     (const TnShape *[]){ tn_in_shape (node, 0), tn_in_shape (node, 1), tn_in_shape (node, 2) });
  for (int64_t r = 0; r < broadcast.rows; r++, tn_broadcast_next (&broadcast, &walk))
    select_row (size, broadcast.row_length, broadcast.row_steps, (const uint8_t *) context->in[0] + walk.offsets[0],
                (const char *) context->in[1] + (size_t) walk.offsets[1] * size,
                (const char *) context->in[2] + (size_t) walk.offsets[2] * size,
                (char *) context->out[0] + (size_t) (r * broadcast.row_length) * size);
  return TRUE;
}

static void
select_gradient (TnGradient *d)
{
  TnGraph *g = d->graph;
  TnValue *dy = d->grad_outputs[0], *condition = d->node->inputs[0], *zero = tn_graph_add_scalar (g, dy->dtype, 0);
  if (d->wanted[1])
    tn_set_gradient (d, 1, tn_op (g, "Select", TN_IN (condition, dy, zero), TN_NO_ATTRS));
  if (d->wanted[2])
    tn_set_gradient (d, 2, tn_op (g, "Select", TN_IN (condition, zero, dy), TN_NO_ATTRS));
}

static gboolean
infer_masked_fill (TnNode *node, GError **error)
{
  TnShape shape;
  if (tn_in_dtype (node, 1) != TN_DTYPE_BOOL)
    return tn_infer_error (node, error, _ ("the mask must be bool"));
  if (!tn_shape_broadcast (tn_in_shape (node, 0), tn_in_shape (node, 1), &shape))
    return tn_infer_error (node, error, _ ("shapes do not broadcast: from the right, sizes must be equal or 1"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
masked_fill_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  TnDType dtype = node->outputs[0].dtype;
  TnBroadcast broadcast;
  TnBroadcastWalk walk = { 0 };
  size_t size = tn_dtype_size (dtype);
  uint64_t value = 0; /* room for one element of any dtype */
  tn_dtype_store (dtype, &value, 0, tn_node_float (node, "value"));
  tn_broadcast_init (&broadcast, &node->outputs[0].shape, 2, (const TnShape *[]){ tn_in_shape (node, 1), tn_in_shape (node, 0) });
  const int step[] = { broadcast.row_steps[0], 0, broadcast.row_steps[1] };
  for (int64_t r = 0; r < broadcast.rows; r++, tn_broadcast_next (&broadcast, &walk))
    select_row (size, broadcast.row_length, step, (const uint8_t *) context->in[1] + walk.offsets[0], &value,
                (const char *) context->in[0] + (size_t) walk.offsets[1] * size,
                (char *) context->out[0] + (size_t) (r * broadcast.row_length) * size);
  return TRUE;
}

static void
masked_fill_gradient (TnGradient *d)
{
  tn_set_gradient (d, 0, tn_op (d->graph, "MaskedFill", TN_IN (d->grad_outputs[0], d->node->inputs[1]),
                                TN_ATTRS (tn_attr_float ("value", 0))));
}

static const TnAttrSpec masked_fill_attrs[] = { { "value", TN_ATTR_FLOAT, .required = TRUE }, { 0 } };

/* ---- Cast ---- */

static gboolean
infer_cast (TnNode *node, GError **error)
{
  gint64 dtype = tn_node_int (node, "dtype");
  if (dtype < 0 || dtype >= TN_DTYPE_COUNT)
    return tn_infer_error (node, error, _ ("attribute “dtype” is not an element type"));
  tn_set_output (node, 0, (TnDType) dtype, *tn_in_shape (node, 0));
  return TRUE;
}

static gboolean
cast_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  size_t n = (size_t) tn_shape_count (tn_in_shape (node, 0));
  if (n > 0)
    tn_dtype_convert (tn_in_dtype (node, 0), context->in[0], node->outputs[0].dtype, context->out[0], n);
  return TRUE;
}

static void
cast_gradient (TnGradient *d)
{
  d->grad_inputs[0] = tn_op (d->graph, "Cast", TN_IN (d->grad_outputs[0]), TN_ATTRS (tn_attr_dtype ("dtype", tn_in_dtype (d->node, 0))));
}

static const TnAttrSpec cast_attrs[] = { { "dtype", TN_ATTR_DTYPE, .required = TRUE }, { 0 } };

/* ---- the rows ---- */

/* Truth values have no slope: their rule gives no gradient, and a loss over them is flat. */
#define COMPARE(name_, fn, doc_)                                                                                                 \
  { .name = name_, .doc = doc_, .flags = TN_OP_ELEMENTWISE, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1,                    \
    .infer = tn_infer_broadcast_bool, .gradient = no_gradient, .reference = fn##_kernel }

const TnOp tn_ops_compare[] = {
  COMPARE ("Equal", equal, "a = b"),
  COMPARE ("NotEqual", not_equal, "a ≠ b"),
  COMPARE ("Less", less, "a < b"),
  COMPARE ("LessEqual", less_equal, "a ≤ b"),
  COMPARE ("Greater", greater, "a > b"),
  COMPARE ("GreaterEqual", greater_equal, "a ≥ b"),
  { .name = "LogicalAnd", .doc = "a and b", .flags = TN_OP_ELEMENTWISE | TN_OP_INPLACE, .min_inputs = 2, .max_inputs = 2,
    .n_outputs = 1, .infer = infer_logic, .gradient = no_gradient, .reference = and_kernel },
  { .name = "LogicalOr", .doc = "a or b", .flags = TN_OP_ELEMENTWISE | TN_OP_INPLACE, .min_inputs = 2, .max_inputs = 2,
    .n_outputs = 1, .infer = infer_logic, .gradient = no_gradient, .reference = or_kernel },
  { .name = "LogicalNot", .doc = "not x", .flags = TN_OP_ELEMENTWISE | TN_OP_INPLACE, .min_inputs = 1, .max_inputs = 1,
    .n_outputs = 1, .infer = infer_logic, .gradient = no_gradient, .reference = not_kernel },
  { .name = "IsNan", .doc = "whether x is not a number", .flags = TN_OP_ELEMENTWISE, .min_inputs = 1, .max_inputs = 1,
    .n_outputs = 1, .infer = infer_test, .gradient = no_gradient, .reference = is_nan_kernel },
  { .name = "IsFinite", .doc = "whether x is neither infinite nor NaN", .flags = TN_OP_ELEMENTWISE, .min_inputs = 1,
    .max_inputs = 1, .n_outputs = 1, .infer = infer_test, .gradient = no_gradient, .reference = is_finite_kernel },
  { .name = "Select", .doc = "a where the condition holds, else b", .flags = TN_OP_ELEMENTWISE, .min_inputs = 3, .max_inputs = 3,
    .n_outputs = 1, .infer = infer_select, .gradient = select_gradient, .reference = select_kernel },
  { .name = "MaskedFill", .doc = "value where the mask holds, else x", .flags = TN_OP_ELEMENTWISE | TN_OP_INPLACE, .min_inputs = 2,
    .max_inputs = 2, .n_outputs = 1, .attrs = masked_fill_attrs, .infer = infer_masked_fill, .gradient = masked_fill_gradient,
    .reference = masked_fill_kernel },
  { .name = "Cast", .doc = "x converted to another element type", .flags = TN_OP_ELEMENTWISE, .min_inputs = 1, .max_inputs = 1,
    .n_outputs = 1, .attrs = cast_attrs, .infer = infer_cast, .gradient = cast_gradient, .reference = cast_kernel },
  { 0 },
};
