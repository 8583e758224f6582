/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "ops/move.h"
#include "ops/shape-rows.h"

/* StridedSlice, Tril and Triu, Diagonal. */

/* ---- StridedSlice ---- */

/* Python's slice (begin, end, stride) of a dimension of @size: first place and how many. */
static int64_t
resolve_slice (int64_t size, int64_t begin, int64_t end, int64_t stride, int64_t *first)
{
  int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
  begin = begin < 0 ? MAX (begin + size, low) : MIN (begin, high);
  end = end < 0 ? MAX (end + size, low) : MIN (end, high);
  *first = begin;
  if (stride > 0)
    return end > begin ? (end - begin - 1) / stride + 1 : 0;
  return begin > end ? (begin - end - 1) / -stride + 1 : 0;
}

/* @whole: the sliced tensor's shape; @slice gets the result's shape and, on the from side, where it lies. */
static gboolean
make_slice (const TnNode *node, const TnShape *whole, TnMove *slice, TnShape *shape, GError **error)
{
  const int64_t *begin, *end, *strides;
  int64_t plain[TN_MAX_DIMS];
  int n = tn_node_ints (node, "begin", &begin), n_strides = tn_node_ints (node, "strides", &strides);
  if (tn_node_ints (node, "end", &end) != n || (strides != NULL && n_strides != n) || n > whole->n_dims)
    return tn_infer_error (node, error,
                           _ ("begin, end and strides must have one length, at most the number of dimensions"));
  *slice = (TnMove){ 0 };
  *shape = *whole;
  tn_shape_strides (whole, plain);
  for (int d = 0; d < whole->n_dims; d++)
    {
      int64_t first = 0, stride = d < n && strides != NULL ? strides[d] : 1;
      if (stride == 0 || stride == G_MININT64)
        return tn_infer_error (node, error, _ ("a stride must not be 0"));
      if (d < n)
        shape->dims[d] = resolve_slice (whole->dims[d], begin[d], end[d], stride, &first);
      slice->from_offset += shape->dims[d] > 0 ? first * plain[d] : 0;
      tn_move_add_dim (slice, shape->dims[d], 0, shape->dims[d] > 1 ? stride * plain[d] : 0);
    }
  tn_shape_strides (shape, slice->to_strides);
  return TRUE;
}

gboolean
tn_shape_infer_slice (TnNode *node, GError **error)
{
  TnMove slice;
  TnShape shape;
  if (!make_slice (node, tn_in_shape (node, 0), &slice, &shape, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

gboolean
tn_shape_slice_kernel (const TnKernelContext *context, GError **error)
{
  TnMove slice;
  TnShape shape;
  if (!make_slice (context->node, tn_in_shape (context->node, 0), &slice, &shape, error))
    return FALSE;
  tn_move_run (&slice, tn_dtype_size (tn_in_dtype (context->node, 0)), context->out[0], context->in[0]);
  return TRUE;
}

static TnShape
shape_attr (const TnNode *node)
{
  const int64_t *dims;
  int n = tn_node_ints (node, "shape", &dims);
  return n <= TN_MAX_DIMS ? tn_shape_make (n, dims) : (TnShape){ .n_dims = n };
}

gboolean
tn_shape_infer_slice_grad (TnNode *node, GError **error)
{
  TnShape whole = shape_attr (node), shape;
  TnMove slice;
  if (!tn_shape_bytes (&whole, tn_dtype_size (tn_in_dtype (node, 0)), NULL, error)
      || !make_slice (node, &whole, &slice, &shape, error))
    return FALSE;
  if (!tn_shape_equal (&shape, tn_in_shape (node, 0)))
    return tn_infer_error (node, error, _ ("dy does not have the slice's shape"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), whole);
  return TRUE;
}

/* Sets @out to zeros and carries @in to where @from is on @move's from side. */
static gboolean
scatter (const TnKernelContext *context, const TnMove *move)
{
  const TnValue *y = &context->node->outputs[0];
  size_t elem = tn_dtype_size (y->dtype), bytes = (size_t) tn_shape_count (&y->shape) * elem;
  TnMove back = { .n_dims = move->n_dims, .to_offset = move->from_offset, .from_offset = move->to_offset };
  memcpy (back.dims, move->dims, sizeof back.dims);
  memcpy (back.to_strides, move->from_strides, sizeof back.to_strides);
  memcpy (back.from_strides, move->to_strides, sizeof back.from_strides);
  if (bytes > 0)
    memset (context->out[0], 0, bytes);
  tn_move_run (&back, elem, context->out[0], context->in[0]);
  return TRUE;
}

gboolean
tn_shape_slice_grad_kernel (const TnKernelContext *context, GError **error)
{
  TnShape shape;
  TnMove slice;
  return make_slice (context->node, &context->node->outputs[0].shape, &slice, &shape, error)
         && scatter (context, &slice);
}

void
tn_shape_slice_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  const TnShape *x = tn_in_shape (node, 0);
  const int64_t *begin, *end, *strides;
  int n = tn_node_ints (node, "begin", &begin), n_strides = tn_node_ints (node, "strides", &strides);
  tn_node_ints (node, "end", &end);
  const TnAttr attrs[] = { tn_attr_ints ("shape", x->n_dims, x->dims), tn_attr_ints ("begin", n, begin),
                           tn_attr_ints ("end", n, end), tn_attr_ints ("strides", n_strides, strides) };
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "StridedSliceGrad", TN_IN (gradient->grad_outputs[0]), strides != NULL ? 4 : 3, attrs);
}

void
tn_shape_slice_grad_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  const int64_t *begin, *end, *strides;
  int n = tn_node_ints (node, "begin", &begin), n_strides = tn_node_ints (node, "strides", &strides);
  tn_node_ints (node, "end", &end);
  const TnAttr attrs[] = { tn_attr_ints ("begin", n, begin), tn_attr_ints ("end", n, end),
                           tn_attr_ints ("strides", n_strides, strides) };
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "StridedSlice", TN_IN (gradient->grad_outputs[0]), strides != NULL ? 3 : 2, attrs);
}

/* ---- Tril, Triu ---- */

gboolean
tn_shape_infer_triangle (TnNode *node, GError **error)
{
  if (tn_in_shape (node, 0)->n_dims < 2)
    return tn_infer_error (node, error, _ ("needs at least 2 dimensions"));
  return tn_infer_unary (node, error);
}

gboolean
tn_shape_triangle_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *x = tn_in_shape (context->node, 0);
  int64_t rows = x->dims[x->n_dims - 2], columns = x->dims[x->n_dims - 1], total = tn_shape_span (x, 0, x->n_dims - 1);
  gboolean lower = tn_node_is (context->node, "Tril");
  size_t elem = tn_dtype_size (tn_in_dtype (context->node, 0));
  gint64 diagonal = CLAMP (tn_node_int (context->node, "diagonal"), -rows - 1, columns + 1);
  for (int64_t i = 0; i < total; i++)
    {
      char *to = (char *) context->out[0] + (size_t) (i * columns) * elem;
      const char *from = (const char *) context->in[0] + (size_t) (i * columns) * elem;
      int64_t edge = CLAMP (i % rows + diagonal + (lower ? 1 : 0), 0, columns);
      int64_t first = lower ? 0 : edge, n = lower ? edge : columns - edge;
      memset (to, 0, (size_t) columns * elem);
      memcpy (to + (size_t) first * elem, from + (size_t) first * elem, (size_t) n * elem);
    }
  return TRUE;
}

void
tn_shape_triangle_gradient (TnGradient *gradient)
{
  gradient->grad_inputs[0] = tn_op (gradient->graph, gradient->node->op->name, TN_IN (gradient->grad_outputs[0]),
                                    TN_ATTRS (tn_attr_int ("diagonal", tn_node_int (gradient->node, "diagonal"))));
}

/* ---- Diagonal ---- */

/* The from side is the whole tensor, the to side its diagonal as last dimension. */
static gboolean
make_diagonal (const TnNode *node, const TnShape *whole, TnMove *move, TnShape *shape, GError **error)
{
  int dim1, dim2;
  int64_t strides[TN_MAX_DIMS];
  if (!tn_infer_axis (node, "dim1", whole->n_dims, &dim1, error)
      || !tn_infer_axis (node, "dim2", whole->n_dims, &dim2, error))
    return FALSE;
  if (dim1 == dim2 || whole->n_dims < 2)
    return tn_infer_error (node, error, _ ("dim1 and dim2 must be two different axes"));
  *move = (TnMove){ 0 };
  *shape = (TnShape){ 0 };
  tn_shape_strides (whole, strides);
  for (int d = 0; d < whole->n_dims; d++)
    if (d != dim1 && d != dim2)
      {
        shape->dims[shape->n_dims++] = whole->dims[d];
        tn_move_add_dim (move, whole->dims[d], 0, strides[d]);
      }
  gint64 offset = tn_node_int (node, "offset");
  int64_t down = offset < 0 ? -MAX (offset, -whole->dims[dim1]) : 0,
          right = offset > 0 ? MIN (offset, whole->dims[dim2]) : 0;
  int64_t length = MIN (whole->dims[dim1] - down, whole->dims[dim2] - right);
  move->from_offset = length > 0 ? down * strides[dim1] + right * strides[dim2] : 0;
  shape->dims[shape->n_dims++] = length;
  tn_move_add_dim (move, length, 0, strides[dim1] + strides[dim2]);
  tn_shape_strides (shape, move->to_strides);
  return TRUE;
}

gboolean
tn_shape_infer_diagonal (TnNode *node, GError **error)
{
  TnMove move;
  TnShape shape;
  if (!make_diagonal (node, tn_in_shape (node, 0), &move, &shape, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

gboolean
tn_shape_diagonal_kernel (const TnKernelContext *context, GError **error)
{
  TnMove move;
  TnShape shape;
  if (!make_diagonal (context->node, tn_in_shape (context->node, 0), &move, &shape, error))
    return FALSE;
  tn_move_run (&move, tn_dtype_size (tn_in_dtype (context->node, 0)), context->out[0], context->in[0]);
  return TRUE;
}

gboolean
tn_shape_infer_diagonal_grad (TnNode *node, GError **error)
{
  TnShape whole = shape_attr (node), shape;
  TnMove move;
  if (!tn_shape_bytes (&whole, tn_dtype_size (tn_in_dtype (node, 0)), NULL, error)
      || !make_diagonal (node, &whole, &move, &shape, error))
    return FALSE;
  if (!tn_shape_equal (&shape, tn_in_shape (node, 0)))
    return tn_infer_error (node, error, _ ("dy does not have the diagonal's shape"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), whole);
  return TRUE;
}

gboolean
tn_shape_diagonal_grad_kernel (const TnKernelContext *context, GError **error)
{
  TnMove move;
  TnShape shape;
  return make_diagonal (context->node, &context->node->outputs[0].shape, &move, &shape, error)
         && scatter (context, &move);
}

static const char *const diagonal_names[] = { "offset", "dim1", "dim2" };

void
tn_shape_diagonal_gradient (TnGradient *gradient)
{
  const TnShape *x = tn_in_shape (gradient->node, 0);
  TnAttr attrs[4];
  for (int i = 0; i < 3; i++)
    attrs[i] = tn_attr_int (diagonal_names[i], tn_node_int (gradient->node, diagonal_names[i]));
  attrs[3] = tn_attr_ints ("shape", x->n_dims, x->dims);
  gradient->grad_inputs[0] = tn_op (gradient->graph, "DiagonalGrad", TN_IN (gradient->grad_outputs[0]), 4, attrs);
}

void
tn_shape_diagonal_grad_gradient (TnGradient *gradient)
{
  TnAttr attrs[3];
  for (int i = 0; i < 3; i++)
    attrs[i] = tn_attr_int (diagonal_names[i], tn_node_int (gradient->node, diagonal_names[i]));
  gradient->grad_inputs[0] = tn_op (gradient->graph, "Diagonal", TN_IN (gradient->grad_outputs[0]), 3, attrs);
}
