/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/move.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

TnMove
tn_move_plain (const TnShape *shape)
{
  TnMove move = { .n_dims = shape->n_dims };
  tn_shape_strides (shape, move.to_strides);
  tn_shape_strides (shape, move.from_strides);
  for (int d = 0; d < shape->n_dims; d++)
    move.dims[d] = shape->dims[d];
  return move;
}

void
tn_move_add_dim (TnMove *self, int64_t size, int64_t to_stride, int64_t from_stride)
{
  g_return_if_fail (self->n_dims < TN_MOVE_DIMS);
  self->dims[self->n_dims] = size;
  self->to_strides[self->n_dims] = to_stride;
  self->from_strides[self->n_dims++] = from_stride;
}

#define COPY_ROW(T)                                                                                                    \
  do                                                                                                                   \
    {                                                                                                                  \
      const T *x = (const T *) from + from_at;                                                                         \
      T *y = (T *) to + to_at;                                                                                         \
      for (int64_t i = 0; i < n; i++)                                                                                  \
        y[i * to_stride] = x[i * from_stride];                                                                         \
    }                                                                                                                  \
  while (0)

static void
copy_row (size_t elem_size, void *to, int64_t to_at, int64_t to_stride, const void *from, int64_t from_at,
          int64_t from_stride, int64_t n)
{
  if (to_stride == 1 && from_stride == 1)
    {
      memcpy ((char *) to + to_at * (int64_t) elem_size, (const char *) from + from_at * (int64_t) elem_size,
              (size_t) n * elem_size);
      return;
    }
  switch (elem_size)
    {
    case 1: COPY_ROW (uint8_t); break;
    case 2: COPY_ROW (uint16_t); break;
    case 4: COPY_ROW (uint32_t); break;
    default: COPY_ROW (uint64_t); break;
    }
}

void
tn_move_run (const TnMove *self, size_t elem_size, void *to, const void *from)
{
  for (int d = 0; d < self->n_dims; d++)
    if (self->dims[d] <= 0)
      return;
  int last = self->n_dims - 1;
  int64_t n = last >= 0 ? self->dims[last] : 1;
  int64_t to_stride = last >= 0 ? self->to_strides[last] : 1, from_stride = last >= 0 ? self->from_strides[last] : 1;
  int64_t at[TN_MOVE_DIMS] = { 0 }, to_at = self->to_offset, from_at = self->from_offset;
  while (TRUE)
    {
      copy_row (elem_size, to, to_at, to_stride, from, from_at, from_stride, n);
      int d = last - 1;
      for (; d >= 0; d--)
        {
          to_at += self->to_strides[d];
          from_at += self->from_strides[d];
          if (++at[d] < self->dims[d])
            break;
          to_at -= self->to_strides[d] * self->dims[d];
          from_at -= self->from_strides[d] * self->dims[d];
          at[d] = 0;
        }
      if (d < 0)
        return;
    }
}

TnAxisView
tn_axis_view (const TnShape *shape, int axis)
{
  if (shape->n_dims == 0)
    return (TnAxisView){ 1, 1, 1 };
  return (TnAxisView){ tn_shape_span (shape, 0, axis), shape->dims[axis],
                       tn_shape_span (shape, axis + 1, shape->n_dims) };
}

gboolean
tn_infer_axis (const TnNode *node, const char *name, int n_dims, int *axis, GError **error)
{
  gint64 value = tn_node_int (node, name);
  if (!tn_normalize_axis (&value, n_dims))
    return tn_infer_error (node, error, _ ("%s = %" PRId64 " is not an axis of %d dimensions"), name,
                           tn_node_int (node, name), n_dims);
  *axis = (int) value;
  return TRUE;
}

int
tn_node_axis (const TnNode *node, const char *name, int n_dims)
{
  gint64 value = tn_node_int (node, name);
  tn_normalize_axis (&value, n_dims);
  return (int) value;
}

gboolean
tn_infer_ints (const TnNode *node, const char *name, int n, int64_t least, GError **error)
{
  const int64_t *values;
  int count = tn_node_ints (node, name, &values);
  if (values == NULL)
    return TRUE;
  if (count != n)
    return tn_infer_error (node, error, _ ("%s needs %d numbers, has %d"), name, n, count);
  for (int i = 0; i < n; i++)
    if (values[i] < least)
      return tn_infer_error (node, error, _ ("%s must be at least %" PRId64 ", is %" PRId64), name,
                             (gint64) least, (gint64) values[i]);
  return TRUE;
}

gboolean
tn_infer_index_input (const TnNode *node, int i, GError **error)
{
  TnDType dtype = tn_in_dtype (node, i);
  if (dtype != TN_DTYPE_I32 && dtype != TN_DTYPE_I64)
    return tn_infer_error (node, error, _ ("input %d must be int32 or int64"), i);
  return TRUE;
}

int64_t
tn_index_at (const TnKernelContext *context, int input, int64_t i)
{
  return tn_in_dtype (context->node, input) == TN_DTYPE_I32 ? ((const int32_t *) context->in[input])[i]
                                                            : ((const int64_t *) context->in[input])[i];
}

double *
tn_kernel_sums (const TnKernelContext *context, int64_t n, GError **error)
{
  double *sums = n >= G_MAXINT64 / (int64_t) sizeof (double) ? NULL : g_try_new0 (double, (gsize) n + 1);
  if (sums == NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("%s: no memory for %" PRId64 " intermediate sums"),
                 context->node->name, (gint64) n);
  return sums;
}

TnValue *
tn_fill (TnGraph *graph, TnDType dtype, const TnShape *shape, double value)
{
  return tn_op (graph, "Fill", 0, NULL,
                TN_ATTRS (tn_attr_ints ("shape", shape->n_dims, shape->dims), tn_attr_float ("value", value),
                          tn_attr_dtype ("dtype", dtype)));
}

TnValue *
tn_reshape (TnGraph *graph, TnValue *value, const TnShape *shape)
{
  return tn_op (graph, "Reshape", TN_IN (value), TN_ATTRS (tn_attr_ints ("shape", shape->n_dims, shape->dims)));
}
