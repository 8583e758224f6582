/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/matmul-rows.h"
#include "ops/move.h"

/* Matrix products and biases. The arithmetic: every output element is summed in double over the inner index, from 0 up,
 * and rounded once. */

typedef struct
{
  int64_t m, n, k;
  gboolean transpose_a, transpose_b;
} Product;

/* The last two dimensions as a product. */
static gboolean
resolve (const TnNode *node, Product *p, GError **error)
{
  const TnShape *a = tn_in_shape (node, 0), *b = tn_in_shape (node, 1);
  p->transpose_a = tn_node_bool (node, "transpose_a");
  p->transpose_b = tn_node_bool (node, "transpose_b");
  p->m = a->dims[a->n_dims - (p->transpose_a ? 1 : 2)];
  p->k = a->dims[a->n_dims - (p->transpose_a ? 2 : 1)];
  p->n = b->dims[b->n_dims - (p->transpose_b ? 2 : 1)];
  int64_t k = b->dims[b->n_dims - (p->transpose_b ? 1 : 2)];
  if (p->k != k)
    return tn_infer_error (node, error,
                           _ ("the inner sizes %" PRId64 " and %" PRId64
                              " must be equal (transpose_a %s, transpose_b %s)"),
                           (gint64) p->k, (gint64) k, p->transpose_a ? "true" : "false",
                           p->transpose_b ? "true" : "false");
  return TRUE;
}

static gboolean
infer_matmul (TnNode *node, GError **error)
{
  Product p;
  if (!tn_infer_same_float (node, error))
    return FALSE;
  if (tn_in_shape (node, 0)->n_dims != 2 || tn_in_shape (node, 1)->n_dims != 2)
    return tn_infer_error (node, error, _ ("both inputs must be matrices: BatchMatMul takes more dimensions"));
  if (!resolve (node, &p, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), TN_SHAPE (p.m, p.n));
  return TRUE;
}

static TnShape
batch_shape (const TnShape *shape)
{
  return tn_shape_make (shape->n_dims - 2, shape->dims);
}

static gboolean
infer_batch_matmul (TnNode *node, GError **error)
{
  Product p;
  if (!tn_infer_same_float (node, error))
    return FALSE;
  if (tn_in_shape (node, 0)->n_dims < 2 || tn_in_shape (node, 1)->n_dims < 2)
    return tn_infer_error (node, error, _ ("both inputs need at least 2 dimensions"));
  if (!resolve (node, &p, error))
    return FALSE;
  TnShape a = batch_shape (tn_in_shape (node, 0)), b = batch_shape (tn_in_shape (node, 1)), shape;
  if (!tn_shape_broadcast (&a, &b, &shape))
    return tn_infer_error (node, error,
                           _ ("the leading dimensions do not broadcast: from the right, sizes must be equal or 1"));
  shape.dims[shape.n_dims++] = p.m;
  shape.dims[shape.n_dims++] = p.n;
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static void
product_cost (const TnNode *node, TnCost *cost)
{
  const TnShape *a = tn_in_shape (node, 0);
  int64_t k = a->dims[a->n_dims - (tn_node_bool (node, "transpose_a") ? 2 : 1)];
  cost->flops = 2.0 * (double) tn_shape_count (&node->outputs[0].shape) * (double) k;
}

/* @packed: [k][n], @row: [n]. */
#define MULTIPLY(T)                                                                                                    \
  do                                                                                                                   \
    {                                                                                                                  \
      const T *x = (const T *) a + a_at, *w = (const T *) b + b_at;                                                    \
      T *y = (T *) out + out_at;                                                                                       \
      int64_t a_row = p->transpose_a ? 1 : p->k, a_column = p->transpose_a ? p->m : 1;                                 \
      int64_t b_row = p->transpose_b ? 1 : p->n, b_column = p->transpose_b ? p->k : 1;                                 \
      for (int64_t k = 0; k < p->k; k++)                                                                               \
        for (int64_t j = 0; j < p->n; j++)                                                                             \
          packed[k * p->n + j] = w[k * b_row + j * b_column];                                                          \
      for (int64_t i = 0; i < p->m; i++)                                                                               \
        {                                                                                                              \
          memset (row, 0, (size_t) p->n * sizeof (double));                                                            \
          for (int64_t k = 0; k < p->k; k++)                                                                           \
            {                                                                                                          \
              const double value = x[i * a_row + k * a_column], *from = packed + k * p->n;                             \
              for (int64_t j = 0; j < p->n; j++)                                                                       \
                row[j] += value * from[j];                                                                             \
            }                                                                                                          \
          for (int64_t j = 0; j < p->n; j++)                                                                           \
            y[i * p->n + j] = (T) row[j];                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
  while (0)

static void
multiply (TnDType dtype, const Product *p, const void *a, int64_t a_at, const void *b, int64_t b_at, void *out,
          int64_t out_at, double *packed, double *row)
{
  if (dtype == TN_DTYPE_F64)
    MULTIPLY (double);
  else
    MULTIPLY (float);
}

/* Offset in elements of batch @index of the output in an operand whose leading dimensions broadcast to it. */
static int64_t
operand_offset (const TnShape *operand, const TnShape *out, int64_t index, int64_t matrix)
{
  int64_t at = 0, stride = matrix;
  for (int back = 3; back <= out->n_dims; back++)
    {
      int64_t size = out->dims[out->n_dims - back], place = index % size;
      index /= size;
      if (back > operand->n_dims)
        break;
      int64_t own = operand->dims[operand->n_dims - back];
      at += own == 1 ? 0 : place * stride;
      stride *= own;
    }
  return at;
}

static gboolean
product_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *y = &node->outputs[0].shape;
  TnDType dtype = tn_in_dtype (node, 0);
  Product p;
  if (!resolve (node, &p, error))
    return FALSE;
  if (dtype != TN_DTYPE_F32 && dtype != TN_DTYPE_F64)
    return tn_infer_error (node, error, _ ("no kernel for %s"), tn_dtype_name (dtype));
  g_autofree double *packed = tn_kernel_sums (context, (p.k + 1) * p.n, error);
  if (packed == NULL)
    return FALSE;
  int64_t batches = tn_shape_span (y, 0, y->n_dims - 2);
  for (int64_t i = 0; i < batches; i++)
    multiply (dtype, &p, context->in[0], operand_offset (tn_in_shape (node, 0), y, i, p.m * p.k), context->in[1],
              operand_offset (tn_in_shape (node, 1), y, i, p.k * p.n), context->out[0], i * p.m * p.n, packed,
              packed + p.k * p.n);
  return TRUE;
}

static TnValue *
product (TnGradient *gradient, TnValue *a, TnValue *b, gboolean transpose_a, gboolean transpose_b)
{
  return tn_op (gradient->graph, gradient->node->op->name, TN_IN (a, b),
                TN_ATTRS (tn_attr_bool ("transpose_a", transpose_a), tn_attr_bool ("transpose_b", transpose_b)));
}

/* dA = dY Bᵀ, dB = Aᵀ dY, each transposed again where its operand was. */
static void
product_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *a = node->inputs[0], *b = node->inputs[1], *dy = gradient->grad_outputs[0];
  gboolean ta = tn_node_bool (node, "transpose_a"), tb = tn_node_bool (node, "transpose_b");
  if (gradient->wanted[0])
    gradient->grad_inputs[0] = tn_sum_to (
        gradient->graph, ta ? product (gradient, b, dy, tb, TRUE) : product (gradient, dy, b, FALSE, !tb), &a->shape);
  if (gradient->wanted[1])
    gradient->grad_inputs[1] = tn_sum_to (
        gradient->graph, tb ? product (gradient, dy, a, TRUE, ta) : product (gradient, a, dy, !ta, FALSE), &b->shape);
}

/* ---- biases: [N, C, ...] + [C] ---- */

static gboolean
infer_bias_add (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0), *b = tn_in_shape (node, 1);
  if (!tn_infer_same_float (node, error))
    return FALSE;
  if (x->n_dims < 2 || b->n_dims != 1 || b->dims[0] != x->dims[1])
    return tn_infer_error (node, error, _ ("the bias must have one value for each place of axis 1"));
  return tn_infer_unary (node, error);
}

static gboolean
bias_add_kernel (const TnKernelContext *context, GError **error)
{
  TnAxisView v = tn_axis_view (tn_in_shape (context->node, 0), 1);
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0], *b = context->in[1];
    T *y = context->out[0];
    for (int64_t i = 0; i < v.outer * v.n; i++)
      for (int64_t k = i * v.inner; k < (i + 1) * v.inner; k++)
        y[k] = x[k] + b[i % v.n];
  });
  return TRUE;
}

static void
bias_add_gradient (TnGradient *gradient)
{
  TnValue *dy = gradient->grad_outputs[0];
  gradient->grad_inputs[0] = dy;
  if (gradient->wanted[1])
    gradient->grad_inputs[1] = tn_op (gradient->graph, "BiasAddGrad", TN_IN (dy), TN_NO_ATTRS);
}

static gboolean
infer_bias_add_grad (TnNode *node, GError **error)
{
  const TnShape *dy = tn_in_shape (node, 0);
  if (!tn_infer_same_float (node, error))
    return FALSE;
  if (dy->n_dims < 2)
    return tn_infer_error (node, error, _ ("needs at least 2 dimensions"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), TN_SHAPE (dy->dims[1]));
  return TRUE;
}

static gboolean
bias_add_grad_kernel (const TnKernelContext *context, GError **error)
{
  TnAxisView v = tn_axis_view (tn_in_shape (context->node, 0), 1);
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *dy = context->in[0];
    T *db = context->out[0];
    for (int64_t c = 0; c < v.n; c++)
      {
        double sum = 0;
        for (int64_t o = 0; o < v.outer; o++)
          for (int64_t i = 0; i < v.inner; i++)
            sum += dy[(o * v.n + c) * v.inner + i];
        db[c] = (T) sum;
      }
  });
  return TRUE;
}

static void
bias_add_grad_cost (const TnNode *node, TnCost *cost)
{
  cost->flops = (double) tn_shape_count (tn_in_shape (node, 0));
}

static void
bias_add_grad_gradient (TnGradient *gradient)
{
  const TnShape *dy = tn_in_shape (gradient->node, 0);
  TnShape column = { .n_dims = dy->n_dims };
  for (int d = 0; d < dy->n_dims; d++)
    column.dims[d] = d == 1 ? dy->dims[1] : 1;
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "BroadcastTo", TN_IN (tn_reshape (gradient->graph, gradient->grad_outputs[0], &column)),
             TN_ATTRS (tn_attr_ints ("shape", dy->n_dims, dy->dims)));
}

static const TnAttrSpec product_attrs[] = { { "transpose_a", TN_ATTR_BOOL }, { "transpose_b", TN_ATTR_BOOL }, { 0 } };
static const TnAttrSpec einsum_attrs[] = { { "equation", TN_ATTR_STRING, TRUE },
                                           { "output_shape", TN_ATTR_INTS },
                                           { 0 } };

const TnOp tn_ops_matmul[] = {
  { .name = "MatMul", .doc = "C = A B of matrices, each transposed first if asked for.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = product_attrs, .infer = infer_matmul, .gradient = product_gradient, .cost = product_cost, .reference = product_kernel },
  { .name = "BatchMatMul", .doc = "MatMul of the last two dimensions; the leading ones broadcast.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = product_attrs, .infer = infer_batch_matmul, .gradient = product_gradient, .cost = product_cost, .reference = product_kernel },
  { .name = "BiasAdd", .doc = "y[n,c,...] = x[n,c,...] + b[c]", .flags = TN_OP_INPLACE, .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .infer = infer_bias_add, .gradient = bias_add_gradient, .reference = bias_add_kernel },
  { .name = "BiasAddGrad", .doc = "db[c] = Σ dy[n,c,...]", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .infer = infer_bias_add_grad, .gradient = bias_add_grad_gradient, .cost = bias_add_grad_cost, .reference = bias_add_grad_kernel },
  { .name = "Einsum", .doc = "Sum of products by index letters: \"bij,bjk->bik\", \"ii->i\", \"...i,i->...\".", .min_inputs = 1, .max_inputs = TN_VARIADIC, .n_outputs = 1, .attrs = einsum_attrs, .infer = tn_einsum_infer, .gradient = tn_einsum_gradient, .cost = tn_einsum_cost, .reference = tn_einsum_kernel },
  { 0 },
};
