/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/scan.h"
#include "base/error.h"
#include "ops/broadcast.h"
#include <inttypes.h>

/* A tensor seen along one axis: [outer][length][inner]. */
typedef struct
{
  int64_t outer, length, inner;
} Lines;

static Lines
lines_of (const TnNode *node, const TnShape *shape)
{
  gint64 axis = tn_node_int (node, "axis");
  if (shape->n_dims == 0)
    return (Lines){ 1, 1, 1 };
  tn_normalize_axis (&axis, shape->n_dims);
  return (Lines){ tn_shape_span (shape, 0, (int) axis), shape->dims[axis], tn_shape_span (shape, (int) axis + 1, shape->n_dims) };
}

/* A scalar has the axes 0 and -1. */
static gboolean
check_axis (const TnNode *node, const TnShape *shape, GError **error)
{
  gint64 axis = tn_node_int (node, "axis");
  if (!tn_normalize_axis (&axis, MAX (shape->n_dims, 1)))
    return tn_infer_error (node, error, _ ("axis %" PRId64 " is out of range for %d dimensions"), tn_node_int (node, "axis"),
                           shape->n_dims);
  return TRUE;
}

/* ---- running sums and products ---- */

gboolean
tn_scan_infer (TnNode *node, GError **error)
{
  if (tn_in_dtype (node, 0) == TN_DTYPE_BOOL)
    return tn_infer_error (node, error, _ ("works on numbers, not bool: add a Cast"));
  return check_axis (node, tn_in_shape (node, 0), error) && tn_infer_unary (node, error);
}

gboolean
tn_scan_infer_grad (TnNode *node, GError **error)
{
  if (!tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("the gradient must have the shape of the input"));
  return check_axis (node, tn_in_shape (node, 0), error) && tn_infer_unary_float (node, error);
}

/* Calls BODY for each line with AT (i), the place of its i-th element in the order of the scan. */
#define EACH_LINE(node, shape, ...)                                                                                              \
  {                                                                                                                              \
    const Lines lines = lines_of (node, shape);                                                                                  \
    const gboolean reverse = tn_node_bool (node, "reverse"), exclusive = tn_node_bool (node, "exclusive");                       \
    for (int64_t o = 0; o < lines.outer; o++)                                                                                    \
      for (int64_t column = 0; column < lines.inner; column++)                                                                                  \
        {                                                                                                                        \
          const int64_t first = o * lines.length * lines.inner + column;                                                              \
          __VA_ARGS__                                                                                                            \
        }                                                                                                                        \
  }
#define AT(i) (first + (reverse ? lines.length - 1 - (i) : (i)) * lines.inner)

static gboolean
scan_integers (const TnKernelContext *context, gboolean product, GError **error)
{
  const TnNode *node = context->node;
  TnDType dtype = tn_in_dtype (node, 0);
  if (tn_dtype_is_float (dtype))
    return tn_infer_error (node, error, _ ("no kernel for %s"), tn_dtype_name (dtype));
  EACH_LINE (node, tn_in_shape (node, 0), {
    uint64_t so_far = product;
    for (int64_t i = 0; i < lines.length; i++)
      {
        uint64_t value = (uint64_t) tn_dtype_load_int (dtype, context->in[0], (size_t) AT (i));
        uint64_t next = product ? so_far * value : so_far + value;
        tn_store_wrapped (dtype, context->out[0], AT (i), (int64_t) (exclusive ? so_far : next));
        so_far = next;
      }
  })
  return TRUE;
}

#define SCAN(name, start, op, is_product)                                                                                        \
  gboolean name (const TnKernelContext *context, GError **error)                                                                 \
  {                                                                                                                              \
    const TnNode *node = context->node;                                                                                          \
    TnDType dtype = tn_in_dtype (node, 0);                                                                                       \
    if (dtype != TN_DTYPE_F32 && dtype != TN_DTYPE_F64)                                                                          \
      return scan_integers (context, is_product, error);                                                                         \
    TN_FLOAT_CASES (dtype, T, {                                                                                                  \
      const T *x = context->in[0];                                                                                               \
      T *y = context->out[0];                                                                                                    \
      EACH_LINE (node, tn_in_shape (node, 0), {                                                                                  \
        double so_far = start;                                                                                                   \
        for (int64_t i = 0; i < lines.length; i++)                                                                               \
          {                                                                                                                      \
            double next = so_far op (double) x[AT (i)];                                                                          \
            y[AT (i)] = (T) (exclusive ? so_far : next);                                                                         \
            so_far = next;                                                                                                       \
          }                                                                                                                      \
      })                                                                                                                         \
    })                                                                                                                           \
    return TRUE;                                                                                                                 \
  }
SCAN (tn_cumsum_kernel, 0, +, FALSE)
SCAN (tn_cumprod_kernel, 1, *, TRUE)

/* The transpose of a running sum runs the other way. */
void
tn_cumsum_gradient (TnGradient *d)
{
  d->grad_inputs[0] = tn_op (d->graph, "CumSum", TN_IN (d->grad_outputs[0]),
                             TN_ATTRS (tn_attr_int ("axis", tn_node_int (d->node, "axis")),
                                       tn_attr_bool ("exclusive", tn_node_bool (d->node, "exclusive")),
                                       tn_attr_bool ("reverse", !tn_node_bool (d->node, "reverse"))));
}

/* dx_i = Σ over the products y_k that hold x_i of dy_k · (y_k without x_i): quadratic in the length, and right where some
 * x are 0. */
gboolean
tn_cumprod_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *dy = context->in[0];
    const T *x = context->in[1];
    T *dx = context->out[0];
    EACH_LINE (node, tn_in_shape (node, 0), {
      double before = 1; /* x_0 ... x_(i-1) */
      for (int64_t i = 0; i < lines.length; i++)
        {
          double sum = 0;
          double others = before;
          for (int64_t k = i + exclusive; k < lines.length; k++)
            {
              int64_t last = k - exclusive; /* y_k = x_0 ... x_last */
              if (last > i)
                others *= (double) x[AT (last)];
              sum += (double) dy[AT (k)] * others;
            }
          before *= (double) x[AT (i)];
          dx[AT (i)] = (T) sum;
        }
    })
  })
  return TRUE;
}

void
tn_cumprod_gradient (TnGradient *d)
{
  d->grad_inputs[0] = tn_op (d->graph, "CumProdGrad", TN_IN (d->grad_outputs[0], d->node->inputs[0]), d->node->n_attrs, d->node->attrs);
}

/* ---- the extreme and its place ---- */

static TnShape
without_axis (const TnNode *node, const TnShape *shape, gboolean keep_dims)
{
  TnShape out = { 0 };
  gint64 axis = tn_node_int (node, "axis");
  tn_normalize_axis (&axis, shape->n_dims);
  for (int d = 0; d < shape->n_dims; d++)
    if (d != axis)
      out.dims[out.n_dims++] = shape->dims[d];
    else if (keep_dims)
      out.dims[out.n_dims++] = 1;
  return out;
}

gboolean
tn_indexed_infer (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  if (!check_axis (node, x, error))
    return FALSE;
  TnShape shape = without_axis (node, x, tn_node_bool (node, "keep_dims"));
  if (lines_of (node, x).length == 0 && tn_shape_count (&shape) > 0)
    return tn_infer_error (node, error, _ ("there is no largest or smallest element of an empty axis"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  tn_set_output (node, 1, TN_DTYPE_I64, shape);
  return TRUE;
}

/* The first of equals; a NaN wins. */
#define INDEXED(name, op)                                                                                                        \
  gboolean name (const TnKernelContext *context, GError **error)                                                                 \
  {                                                                                                                              \
    const Lines lines = lines_of (context->node, tn_in_shape (context->node, 0));                                                \
    int64_t *places = context->out[1];                                                                                           \
    TN_NUMBER_CASES (tn_in_dtype (context->node, 0), T, {                                                                        \
      const T *x = context->in[0];                                                                                               \
      T *values = context->out[0];                                                                                               \
      for (int64_t o = 0; o < lines.outer; o++)                                                                                  \
        for (int64_t k = 0; k < lines.inner; k++)                                                                                \
          {                                                                                                                      \
            const T *line = x + o * lines.length * lines.inner + k;                                                              \
            int64_t best = 0;                                                                                                    \
            for (int64_t i = 1; i < lines.length; i++)                                                                           \
              if (line[best * lines.inner] == line[best * lines.inner]                                                           \
                  && (line[i * lines.inner] op line[best * lines.inner] || line[i * lines.inner] != line[i * lines.inner]))      \
                best = i;                                                                                                        \
            values[o * lines.inner + k] = line[best * lines.inner];                                                              \
            places[o * lines.inner + k] = best;                                                                                  \
          }                                                                                                                      \
    })                                                                                                                           \
    return TRUE;                                                                                                                 \
  }
INDEXED (tn_indexed_max_kernel, >)
INDEXED (tn_indexed_min_kernel, <)

/* Inputs dy and place; attribute "shape" is that of x. */
gboolean
tn_indexed_infer_grad (TnNode *node, GError **error)
{
  const int64_t *dims;
  int n = tn_node_ints (node, "shape", &dims);
  size_t bytes;
  if (n > TN_MAX_DIMS)
    return tn_infer_error (node, error, _ ("attribute “shape” has %d dimensions: at most %d"), n, TN_MAX_DIMS);
  TnShape shape = tn_shape_make (n, dims);
  if (!tn_shape_bytes (&shape, sizeof (double), &bytes, error) || !check_axis (node, &shape, error))
    return FALSE;
  TnShape reduced = without_axis (node, &shape, FALSE);
  if (!tn_dtype_is_float (tn_in_dtype (node, 0)) || tn_in_dtype (node, 1) != TN_DTYPE_I64
      || tn_shape_count (tn_in_shape (node, 0)) != tn_shape_count (&reduced)
      || tn_shape_count (tn_in_shape (node, 1)) != tn_shape_count (&reduced))
    return tn_infer_error (node, error, _ ("needs a floating gradient and int64 places, one for each line along the axis"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

gboolean
tn_indexed_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const Lines lines = lines_of (node, &node->outputs[0].shape);
  const int64_t *places = context->in[1];
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *dy = context->in[0];
    T *dx = context->out[0];
    for (int64_t o = 0; o < lines.outer; o++)
      for (int64_t i = 0; i < lines.length; i++)
        for (int64_t k = 0; k < lines.inner; k++)
          dx[(o * lines.length + i) * lines.inner + k] = places[o * lines.inner + k] == i ? dy[o * lines.inner + k] : 0;
  })
  return TRUE;
}

void
tn_indexed_gradient (TnGradient *d)
{
  const TnShape *x = tn_in_shape (d->node, 0);
  if (d->grad_outputs[0] != NULL) /* places have no slope */
    d->grad_inputs[0] = tn_op (d->graph, "ReduceWithIndexGrad", TN_IN (d->grad_outputs[0], &d->node->outputs[1]),
                               TN_ATTRS (tn_attr_int ("axis", tn_node_int (d->node, "axis")), tn_attr_ints ("shape", x->n_dims, x->dims)));
}
