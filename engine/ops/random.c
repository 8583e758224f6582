/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/random.h"
#include "base/error.h"
#include "base/philox.h"
#include "ops/broadcast.h"
#include "ops/families.h"
#include <stdlib.h>
#include <string.h>

/* Operators that draw random numbers, from the counter-based generator (base/philox.h). */

/* ---- which numbers ---- */

int
tn_random_ordinal (const TnNode *node)
{
  gint64 given = tn_node_int (node, "ordinal");
  const char *suffix = g_strrstr (node->name, "-op");
  if (given >= 0)
    return (int) given;
  return suffix != NULL ? atoi (suffix + strlen ("-op")) : 0;
}

uint64_t
tn_random_key (const TnNode *node, uint64_t seed)
{
  static const char *const kinds[] = { "Dropout", "StandardNormal", "UniformReal", "UniformInt", "Bernoulli" };
  uint32_t kind = 0;
  while (kind < G_N_ELEMENTS (kinds) && !tn_node_is (node, kinds[kind]))
    kind++;
  return tn_philox_key (seed, node->scope, (uint32_t) tn_random_ordinal (node) + (kind << 24));
}

uint64_t
tn_random_first (const TnKernelContext *context, const TnShape *shape)
{
  int64_t row = tn_shape_span (shape, MIN (1, shape->n_dims), shape->n_dims);
  return (uint64_t) context->first_sample * (uint64_t) tn_node_int (context->node, "rows_per_sample") * (uint64_t) row;
}

/* ---- generators ---- */

static gboolean
check_rows (const TnNode *node, GError **error)
{
  if (tn_node_int (node, "rows_per_sample") < 0)
    return tn_infer_error (node, error, _ ("attribute “rows_per_sample” is negative"));
  return TRUE;
}

static gboolean
set_shape (TnNode *node, TnDType dtype, GError **error)
{
  const int64_t *dims;
  int n = tn_node_ints (node, "shape", &dims);
  if (n > TN_MAX_DIMS)
    return tn_infer_error (node, error, _ ("attribute “shape” has %d dimensions: at most %d"), n, TN_MAX_DIMS);
  for (int d = 0; d < n; d++)
    if (dims[d] < 0)
      return tn_infer_error (node, error, _ ("attribute “shape” has a negative size"));
  tn_set_output (node, 0, dtype, tn_shape_make (n, dims));
  return check_rows (node, error);
}

static gboolean
infer_generator (TnNode *node, GError **error)
{
  gint64 dtype = tn_node_int (node, "dtype");
  if (dtype < 0 || dtype >= TN_DTYPE_COUNT || !tn_dtype_is_float ((TnDType) dtype))
    return tn_infer_error (node, error, _ ("attribute “dtype” must be a floating type"));
  return set_shape (node, (TnDType) dtype, error);
}

static gboolean
infer_uniform_int (TnNode *node, GError **error)
{
  gint64 dtype = tn_node_int (node, "dtype");
  if (dtype != TN_DTYPE_I32 && dtype != TN_DTYPE_I64)
    return tn_infer_error (node, error, _ ("attribute “dtype” must be int32 or int64"));
  if (tn_node_int (node, "minval") >= tn_node_int (node, "maxval"))
    return tn_infer_error (node, error, _ ("“minval” must be less than “maxval”"));
  return set_shape (node, (TnDType) dtype, error);
}

static gboolean
infer_bernoulli (TnNode *node, GError **error)
{
  gint64 dtype = tn_node_int (node, "dtype");
  double p = tn_node_float (node, "p");
  if (dtype < 0 || dtype >= TN_DTYPE_COUNT)
    return tn_infer_error (node, error, _ ("attribute “dtype” is not an element type"));
  if (!(p >= 0 && p <= 1))
    return tn_infer_error (node, error, _ ("attribute “p” must be from 0 to 1"));
  return set_shape (node, (TnDType) dtype, error);
}

#define GENERATOR(name, draw)                                                                                                    \
  static gboolean name##_kernel (const TnKernelContext *context, GError **error)                                                 \
  {                                                                                                                              \
    const TnValue *out = &context->node->outputs[0];                                                                             \
    uint64_t key = tn_random_key (context->node, context->seed), first = tn_random_first (context, &out->shape);                 \
    size_t n = (size_t) tn_shape_count (&out->shape);                                                                            \
    if (out->dtype == TN_DTYPE_F32)                                                                                              \
      draw (key, context->step, first, n, context->out[0]);                                                                      \
    else if (out->dtype == TN_DTYPE_F64)                                                                                         \
      draw##_f64 (key, context->step, first, n, context->out[0]);                                                                \
    else                                                                                                                         \
      return tn_infer_error (context->node, error, _ ("no kernel for %s"), tn_dtype_name (out->dtype));                          \
    return TRUE;                                                                                                                 \
  }
GENERATOR (standard_normal, tn_philox_normal)
GENERATOR (uniform_real, tn_philox_uniform)

static gboolean
uniform_int_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnValue *out = &node->outputs[0];
  uint64_t key = tn_random_key (node, context->seed), first = tn_random_first (context, &out->shape);
  gint64 lowest = tn_node_int (node, "minval");
  uint64_t bound = (uint64_t) tn_node_int (node, "maxval") - (uint64_t) lowest;
  for (int64_t i = 0, n = tn_shape_count (&out->shape); i < n; i++)
    tn_dtype_store_int (out->dtype, context->out[0], (size_t) i,
                        (int64_t) ((uint64_t) lowest + tn_philox_bounded (key, context->step, first + (uint64_t) i, bound)));
  return TRUE;
}

/* Drawn in blocks that fit the stack. */
#define DRAW_BLOCK 256

static gboolean
bernoulli_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnValue *out = &node->outputs[0];
  uint64_t key = tn_random_key (node, context->seed), first = tn_random_first (context, &out->shape);
  uint8_t drawn[DRAW_BLOCK];
  for (int64_t at = 0, total = tn_shape_count (&out->shape); at < total; at += DRAW_BLOCK)
    {
      int64_t n = MIN (DRAW_BLOCK, total - at);
      tn_philox_bernoulli (key, context->step, first + (uint64_t) at, (size_t) n, (float) tn_node_float (node, "p"), drawn);
      for (int64_t i = 0; i < n; i++)
        tn_dtype_store_int (out->dtype, context->out[0], (size_t) (at + i), drawn[i]);
    }
  return TRUE;
}

/* ---- Dropout ---- */

static gboolean
check_keep_prob (const TnNode *node, GError **error)
{
  double keep = tn_node_float (node, "keep_prob");
  if (!(keep > 0 && keep <= 1))
    return tn_infer_error (node, error, _ ("attribute “keep_prob” must be above 0 and at most 1"));
  return TRUE;
}

static gboolean
infer_dropout (TnNode *node, GError **error)
{
  if (!tn_infer_unary_float (node, error) || !check_keep_prob (node, error) || !check_rows (node, error))
    return FALSE;
  tn_set_output (node, 1, TN_DTYPE_BOOL, *tn_in_shape (node, 0));
  return TRUE;
}

static gboolean
infer_dropout_grad (TnNode *node, GError **error)
{
  if (tn_in_dtype (node, 1) != TN_DTYPE_BOOL || !tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("the mask must be bool and of the gradient's shape"));
  if (!tn_dtype_is_float (tn_in_dtype (node, 0)))
    return tn_infer_error (node, error, _ ("works on floating-point tensors, not %s"), tn_dtype_name (tn_in_dtype (node, 0)));
  return check_keep_prob (node, error) && tn_infer_unary (node, error);
}

/* out = x · mask / keep_prob */
static gboolean
apply_mask (const TnKernelContext *context, const void *in, const uint8_t *mask, void *out_, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_shape_count (&node->outputs[0].shape);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *x = in;
    const T keep = (T) tn_node_float (node, "keep_prob");
    T *out = out_;
    for (int64_t i = 0; i < n; i++)
      out[i] = x[i] * (T) mask[i] / keep;
  })
  return TRUE;
}

static gboolean
dropout_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *shape = tn_in_shape (node, 0);
  tn_philox_bernoulli (tn_random_key (node, context->seed), context->step, tn_random_first (context, shape),
                       (size_t) tn_shape_count (shape), (float) tn_node_float (node, "keep_prob"), context->out[1]);
  return apply_mask (context, context->in[0], context->out[1], context->out[0], error);
}

static gboolean
dropout_grad_kernel (const TnKernelContext *context, GError **error)
{
  return apply_mask (context, context->in[0], context->in[1], context->out[0], error);
}

static TnValue *
masked (TnGradient *d, TnValue *mask)
{
  return tn_op (d->graph, "DropoutGrad", TN_IN (d->grad_outputs[0], mask),
                TN_ATTRS (tn_attr_float ("keep_prob", tn_node_float (d->node, "keep_prob"))));
}

static void
dropout_gradient (TnGradient *d)
{
  if (d->grad_outputs[0] != NULL)
    d->grad_inputs[0] = masked (d, tn_forward_output (d, 1));
}

/* Linear in x: its own gradient. */
static void
dropout_grad_gradient (TnGradient *d)
{
  d->grad_inputs[0] = masked (d, d->node->inputs[1]);
}

/* ---- the rows ---- */

#define WHICH(rows) { "ordinal", TN_ATTR_INT, .number = -1 }, { "rows_per_sample", TN_ATTR_INT, .number = rows }
#define SHAPE { "shape", TN_ATTR_INTS, .required = TRUE }
static const TnAttrSpec generator_attrs[] = { SHAPE, { "dtype", TN_ATTR_DTYPE, .number = TN_DTYPE_F32 }, WHICH (0), { 0 } };
static const TnAttrSpec uniform_int_attrs[] = {
  SHAPE, { "minval", TN_ATTR_INT, .required = TRUE }, { "maxval", TN_ATTR_INT, .required = TRUE },
  { "dtype", TN_ATTR_DTYPE, .number = TN_DTYPE_I32 }, WHICH (0), { 0 },
};
static const TnAttrSpec bernoulli_attrs[] = {
  SHAPE, { "p", TN_ATTR_FLOAT, .number = 0.5 }, { "dtype", TN_ATTR_DTYPE, .number = TN_DTYPE_F32 }, WHICH (0), { 0 },
};
static const TnAttrSpec dropout_attrs[] = { { "keep_prob", TN_ATTR_FLOAT, .number = 0.5 }, WHICH (1), { 0 } };
static const TnAttrSpec dropout_grad_attrs[] = { { "keep_prob", TN_ATTR_FLOAT, .number = 0.5 }, { 0 } };

const TnOp tn_ops_random[] = {
  { .name = "StandardNormal", .doc = "independent numbers, mean 0, variance 1", .flags = TN_OP_RANDOM, .n_outputs = 1,
    .attrs = generator_attrs, .infer = infer_generator, .reference = standard_normal_kernel },
  { .name = "UniformReal", .doc = "independent numbers in [0, 1)", .flags = TN_OP_RANDOM, .n_outputs = 1, .attrs = generator_attrs,
    .infer = infer_generator, .reference = uniform_real_kernel },
  { .name = "UniformInt", .doc = "independent integers in [minval, maxval)", .flags = TN_OP_RANDOM, .n_outputs = 1,
    .attrs = uniform_int_attrs, .infer = infer_uniform_int, .reference = uniform_int_kernel },
  { .name = "Bernoulli", .doc = "1 with probability p, else 0", .flags = TN_OP_RANDOM, .n_outputs = 1, .attrs = bernoulli_attrs,
    .infer = infer_bernoulli, .reference = bernoulli_kernel },
  { .name = "Dropout", .doc = "x · mask / keep_prob, and the mask (bool), 1 with probability keep_prob", .flags = TN_OP_RANDOM | TN_OP_INPLACE,
    .min_inputs = 1, .max_inputs = 1, .n_outputs = 2, .attrs = dropout_attrs, .infer = infer_dropout, .gradient = dropout_gradient,
    .reference = dropout_kernel },
  { .name = "DropoutGrad", .doc = "dy · mask / keep_prob", .flags = TN_OP_ELEMENTWISE | TN_OP_INPLACE, .min_inputs = 2, .max_inputs = 2,
    .n_outputs = 1, .attrs = dropout_grad_attrs, .infer = infer_dropout_grad, .gradient = dropout_grad_gradient,
    .reference = dropout_grad_kernel },
  { 0 },
};
