/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "ops/index-rows.h"
#include "ops/move.h"

/* Operators that add or write at indices. Sums are taken in double, in the order of the positions, so the same bits come
 * out whatever the indices are. */

/* ---- GatherGrad, UnsortedSegmentSum ---- */

/* dy is x's shape with the axis replaced by the index tensor's dimensions. */
typedef struct
{
  int axis;
  int64_t size, padding;
} Target;

static gboolean
target_of (const TnNode *node, Target *target, GError **error)
{
  const TnShape *dy = tn_in_shape (node, 0), *indices = tn_in_shape (node, 1);
  if (tn_node_is (node, "UnsortedSegmentSum"))
    *target = (Target){ 0, tn_node_int (node, "num_segments"), -1 };
  else
    {
      *target = (Target){ 0, tn_node_int (node, "size"), tn_node_int (node, "padding_idx") };
      if (!tn_infer_axis (node, "axis", MAX (dy->n_dims - indices->n_dims + 1, 1), &target->axis, error))
        return FALSE;
    }
  if (target->size < 0 || dy->n_dims < target->axis + indices->n_dims)
    return tn_infer_error (
        node, error, _ ("the data must have the index tensor's dimensions at the axis, the size must not be negative"));
  for (int d = 0; d < indices->n_dims; d++)
    if (dy->dims[target->axis + d] != indices->dims[d])
      return tn_infer_error (node, error, _ ("the data must have the index tensor's dimensions at axis %d"),
                             target->axis);
  return TRUE;
}

gboolean
tn_index_infer_gather_grad (TnNode *node, GError **error)
{
  const TnShape *dy = tn_in_shape (node, 0), *indices = tn_in_shape (node, 1);
  Target target;
  if (!tn_infer_index_input (node, 1, error) || !target_of (node, &target, error))
    return FALSE;
  if (!tn_dtype_is_float (tn_in_dtype (node, 0)))
    return tn_infer_error (node, error, _ ("adds floating-point tensors, not %s"),
                           tn_dtype_name (tn_in_dtype (node, 0)));
  TnShape shape = { 0 };
  if (dy->n_dims - indices->n_dims + 1 > TN_MAX_DIMS)
    return tn_infer_error (node, error, _ ("the result would have %d dimensions"), dy->n_dims - indices->n_dims + 1);
  for (int d = 0; d < target.axis; d++)
    shape.dims[shape.n_dims++] = dy->dims[d];
  shape.dims[shape.n_dims++] = target.size;
  for (int d = target.axis + indices->n_dims; d < dy->n_dims; d++)
    shape.dims[shape.n_dims++] = dy->dims[d];
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

gboolean
tn_index_gather_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *x = &node->outputs[0].shape;
  int64_t n = tn_shape_count (tn_in_shape (node, 1)), count = tn_shape_count (x);
  Target target;
  if (!target_of (node, &target, error) || !tn_index_check (context, 1, target.size, error))
    return FALSE;
  TnAxisView v = tn_axis_view (x, target.axis);
  g_autofree double *sums = tn_kernel_sums (context, count, error);
  if (sums == NULL)
    return FALSE;
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *dy = context->in[0];
    T *dx = context->out[0];
    for (int64_t o = 0; o < v.outer; o++)
      for (int64_t i = 0; i < n; i++, dy += v.inner)
        {
          int64_t index = tn_index_at (context, 1, i);
          double *to = sums + (o * v.n + index) * v.inner;
          for (int64_t k = 0; k < v.inner && index != target.padding; k++)
            to[k] += dy[k];
        }
    for (int64_t i = 0; i < count; i++)
      dx[i] = (T) sums[i];
  });
  return TRUE;
}

/* Reading is adding's transpose; what padding_idx dropped gets no gradient back only where it was dropped, so the row of
 * the padding is made zero first. */
void
tn_index_gather_grad_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  Target target = { 0 };
  TnValue *ddx = gradient->grad_outputs[0];
  target_of (node, &target, NULL);
  if (target.padding >= 0 && target.padding < target.size)
    {
      TnShape mask_shape = { .n_dims = ddx->shape.n_dims - target.axis };
      for (int d = 0; d < mask_shape.n_dims; d++)
        mask_shape.dims[d] = d == 0 ? target.size : 1;
      g_autoptr (TnTensor) mask = tn_tensor_new (ddx->dtype, mask_shape, NULL);
      for (int64_t i = 0; mask != NULL && i < target.size; i++)
        tn_tensor_set (mask, i, i == target.padding ? 0 : 1);
      ddx = mask != NULL ? tn_op (gradient->graph, "Mul", TN_IN (ddx, tn_graph_add_constant (gradient->graph, mask)),
                                  TN_NO_ATTRS)
                         : NULL;
    }
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "Gather", TN_IN (ddx, node->inputs[1]), TN_ATTRS (tn_attr_int ("axis", target.axis)));
}

/* ---- TensorScatterElements (x, index, updates) ---- */

gboolean
tn_index_infer_scatter_elements (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0), *index = tn_in_shape (node, 1);
  const char *reduction = tn_node_string (node, "reduction");
  int axis;
  if (!tn_infer_index_input (node, 1, error) || !tn_infer_axis (node, "axis", x->n_dims, &axis, error)
      || !tn_index_infer_along (node, x, index, axis, error))
    return FALSE;
  if (tn_in_dtype (node, 2) != tn_in_dtype (node, 0) || !tn_shape_equal (tn_in_shape (node, 2), index))
    return tn_infer_error (node, error, _ ("updates must have the index's shape and the data's dtype"));
  if (g_strcmp0 (reduction, "none") != 0 && g_strcmp0 (reduction, "add") != 0)
    return tn_infer_error (node, error, _ ("reduction must be none or add, not “%s”"), reduction);
  return tn_infer_unary (node, error);
}

gboolean
tn_index_scatter_elements_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *x = tn_in_shape (node, 0), *index = tn_in_shape (node, 1);
  int axis = tn_node_axis (node, "axis", x->n_dims);
  gboolean add = g_strcmp0 (tn_node_string (node, "reduction"), "add") == 0;
  int64_t n = tn_shape_count (index), count = tn_shape_count (x);
  if (!tn_index_check (context, 1, x->n_dims > 0 ? x->dims[axis] : 1, error))
    return FALSE;
  g_autofree double *sums = tn_kernel_sums (context, add ? count : 0, error);
  if (sums == NULL)
    return FALSE;
  TN_NUMBER_CASES (tn_in_dtype (node, 0), T, {
    const T *data = context->in[0], *updates = context->in[2];
    T *y = context->out[0];
    for (int64_t i = 0; i < count; i++)
      if (add)
        sums[i] = (double) data[i];
      else
        y[i] = data[i];
    for (int64_t i = 0; i < n; i++)
      {
        int64_t to = tn_index_offset (x, index, axis, i, tn_index_at (context, 1, i));
        if (add)
          sums[to] += (double) updates[i];
        else
          y[to] = updates[i];
      }
    for (int64_t i = 0; i < count && add; i++)
      y[i] = (T) sums[i];
  });
  return TRUE;
}

/* reduction none: what was written over gets no gradient (where an index comes twice, every update gets the place's, as
 * in torch). */
void
tn_index_scatter_elements_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *dy = gradient->grad_outputs[0], *index = node->inputs[1];
  gint64 axis = tn_node_int (node, "axis");
  gboolean add = g_strcmp0 (tn_node_string (node, "reduction"), "add") == 0;
  if (gradient->wanted[0])
    gradient->grad_inputs[0] = add ? dy
                                   : tn_op (gradient->graph, "TensorScatterElements",
                                            TN_IN (dy, index, tn_fill (gradient->graph, dy->dtype, &index->shape, 0)),
                                            TN_ATTRS (tn_attr_int ("axis", axis)));
  if (gradient->wanted[2])
    gradient->grad_inputs[2] =
        tn_op (gradient->graph, "GatherD", TN_IN (dy, index), TN_ATTRS (tn_attr_int ("dim", axis)));
}

/* ---- IndexAdd (x, indices, y) ---- */

gboolean
tn_index_infer_add (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  int axis;
  if (!tn_infer_index_input (node, 1, error) || !tn_infer_axis (node, "axis", shape.n_dims, &axis, error))
    return FALSE;
  if (shape.n_dims == 0 || tn_in_shape (node, 1)->n_dims != 1 || !tn_dtype_is_float (tn_in_dtype (node, 0))
      || tn_in_dtype (node, 2) != tn_in_dtype (node, 0))
    return tn_infer_error (node, error, _ ("needs floating-point data of one dtype and one-dimensional indices"));
  shape.dims[axis] = tn_in_shape (node, 1)->dims[0];
  if (!tn_shape_equal (&shape, tn_in_shape (node, 2)))
    return tn_infer_error (node, error,
                           _ ("what is added must have one slice for each index and otherwise the data's shape"));
  return tn_infer_unary (node, error);
}

gboolean
tn_index_add_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *x = tn_in_shape (node, 0);
  TnAxisView v = tn_axis_view (x, tn_node_axis (node, "axis", x->n_dims));
  int64_t n = tn_in_shape (node, 1)->dims[0], count = tn_shape_count (x);
  if (!tn_index_check (context, 1, v.n, error))
    return FALSE;
  g_autofree double *sums = tn_kernel_sums (context, count, error);
  if (sums == NULL)
    return FALSE;
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *data = context->in[0], *added = context->in[2];
    T *y = context->out[0];
    for (int64_t i = 0; i < count; i++)
      sums[i] = data[i];
    for (int64_t o = 0; o < v.outer; o++)
      for (int64_t i = 0; i < n; i++, added += v.inner)
        for (int64_t k = 0; k < v.inner; k++)
          sums[(o * v.n + tn_index_at (context, 1, i)) * v.inner + k] += added[k];
    for (int64_t i = 0; i < count; i++)
      y[i] = (T) sums[i];
  });
  return TRUE;
}

void
tn_index_add_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *dy = gradient->grad_outputs[0];
  gradient->grad_inputs[0] = dy;
  if (gradient->wanted[2])
    gradient->grad_inputs[2] = tn_op (gradient->graph, "Gather", TN_IN (dy, node->inputs[1]),
                                      TN_ATTRS (tn_attr_int ("axis", tn_node_int (node, "axis"))));
}
