/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/move.h"
#include "ops/shape-rows.h"
#include <inttypes.h>

/* Split, Unstack, Concat, Stack: pieces along one axis. */

/* Moving elements is no arithmetic. */
void
tn_shape_cost_move (const TnNode *node, TnCost *cost)
{
  cost->flops = 0;
}

/* ---- taking apart ---- */

gboolean
tn_shape_infer_split (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  const int64_t *sizes;
  int axis, n = tn_node_ints (node, "sizes", &sizes);
  if (shape.n_dims == 0)
    return tn_infer_error (node, error, _ ("a scalar cannot be split"));
  if (!tn_infer_axis (node, "axis", shape.n_dims, &axis, error))
    return FALSE;
  int64_t size = shape.dims[axis], sum = 0, equal = 0;
  if (sizes == NULL)
    {
      gint64 pieces = tn_node_int (node, "output_num");
      if (pieces < 1 || pieces > G_MAXINT16 || size % pieces != 0)
        return tn_infer_error (
            node, error, _ ("size %" PRId64 " does not divide into output_num = %" PRId64 " pieces"),
            (gint64) size, pieces);
      n = (int) pieces;
      equal = size / pieces;
    }
  for (int i = 0; i < n && sizes != NULL; i++)
    {
      if (sizes[i] < 0 || sizes[i] > size - sum)
        return tn_infer_error (node, error, _ ("the pieces do not add up to the size of the axis"));
      sum += sizes[i];
    }
  if (sizes != NULL && (sum != size || n == 0))
    return tn_infer_error (node, error, _ ("the pieces do not add up to the size of the axis"));
  tn_node_set_n_outputs (node, n);
  for (int i = 0; i < n; i++)
    {
      shape.dims[axis] = sizes != NULL ? sizes[i] : equal;
      tn_set_output (node, i, tn_in_dtype (node, 0), shape);
    }
  return TRUE;
}

gboolean
tn_shape_infer_unstack (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  int axis;
  if (x->n_dims == 0)
    return tn_infer_error (node, error, _ ("a scalar cannot be taken apart"));
  if (!tn_infer_axis (node, "axis", x->n_dims, &axis, error))
    return FALSE;
  if (x->dims[axis] > G_MAXINT16)
    return tn_infer_error (node, error, _ ("%" PRId64 " outputs are too many"), (gint64) x->dims[axis]);
  TnShape shape = { .n_dims = x->n_dims - 1 };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = x->dims[d < axis ? d : d + 1];
  tn_node_set_n_outputs (node, (int) x->dims[axis]);
  for (int i = 0; i < node->n_outputs; i++)
    tn_set_output (node, i, tn_in_dtype (node, 0), shape);
  return TRUE;
}

/* Both sides as [outer][piece · inner]: output @i starts at a column of the input. */
gboolean
tn_shape_split_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  TnAxisView v = tn_axis_view (tn_in_shape (node, 0), tn_node_axis (node, "axis", tn_in_shape (node, 0)->n_dims));
  size_t elem = tn_dtype_size (tn_in_dtype (node, 0));
  int64_t column = 0;
  for (int i = 0; i < node->n_outputs; i++)
    {
      int64_t width = v.outer > 0 ? tn_shape_count (&node->outputs[i].shape) / v.outer : 0;
      TnMove move = { .from_offset = column };
      tn_move_add_dim (&move, v.outer, width, v.n * v.inner);
      tn_move_add_dim (&move, width, 1, 1);
      tn_move_run (&move, elem, context->out[i], context->in[0]);
      column += width;
    }
  return TRUE;
}

/* Pieces that nothing depends on have gradient 0. */
static void
join_gradients (TnGradient *gradient, const char *join)
{
  const TnNode *node = gradient->node;
  g_autofree TnValue **pieces = g_new (TnValue *, node->n_outputs + 1);
  for (int i = 0; i < node->n_outputs; i++)
    pieces[i] = gradient->grad_outputs[i] != NULL
                  ? gradient->grad_outputs[i]
                  : tn_fill (gradient->graph, node->outputs[i].dtype, &node->outputs[i].shape, 0);
  gradient->grad_inputs[0] = tn_op (gradient->graph, join, node->n_outputs, pieces,
                                    TN_ATTRS (tn_attr_int ("axis", tn_node_int (node, "axis"))));
}

void
tn_shape_split_gradient (TnGradient *gradient)
{
  join_gradients (gradient, "Concat");
}

void
tn_shape_unstack_gradient (TnGradient *gradient)
{
  join_gradients (gradient, "Stack");
}

/* ---- putting together ---- */

gboolean
tn_shape_infer_concat (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  int axis;
  if (shape.n_dims == 0)
    return tn_infer_error (node, error, _ ("scalars cannot be joined along an axis: use Stack"));
  if (!tn_infer_axis (node, "axis", shape.n_dims, &axis, error))
    return FALSE;
  for (int i = 1; i < node->n_inputs; i++)
    {
      TnShape other = *tn_in_shape (node, i);
      if (other.n_dims != shape.n_dims
          || __builtin_add_overflow (shape.dims[axis], other.dims[axis], &shape.dims[axis]))
        return tn_infer_error (node, error, _ ("input %d has another number of dimensions than input 0"), i);
      other.dims[axis] = shape.dims[axis];
      if (!tn_shape_equal (&other, &shape) || tn_in_dtype (node, i) != tn_in_dtype (node, 0))
        return tn_infer_error (node, error,
                               _ ("input %d must agree with input 0 in dtype and in every size but axis %d"), i, axis);
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

gboolean
tn_shape_infer_stack (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  int axis;
  if (x->n_dims == TN_MAX_DIMS)
    return tn_infer_error (node, error, _ ("the inputs have %d dimensions already"), TN_MAX_DIMS);
  if (!tn_infer_axis (node, "axis", x->n_dims + 1, &axis, error))
    return FALSE;
  for (int i = 1; i < node->n_inputs; i++)
    if (!tn_shape_equal (tn_in_shape (node, i), x) || tn_in_dtype (node, i) != tn_in_dtype (node, 0))
      return tn_infer_error (node, error, _ ("all inputs must have one dtype and shape; input %d differs"), i);
  TnShape shape = { .n_dims = x->n_dims + 1 };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = d < axis ? x->dims[d] : d == axis ? node->n_inputs : x->dims[d - 1];
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
join (const TnKernelContext *context, int64_t outer)
{
  const TnNode *node = context->node;
  size_t elem = tn_dtype_size (tn_in_dtype (node, 0));
  if (outer == 0)
    return TRUE;
  int64_t row = tn_shape_count (&node->outputs[0].shape) / outer, column = 0;
  for (int i = 0; i < node->n_inputs; i++)
    {
      int64_t width = tn_shape_count (tn_in_shape (node, i)) / outer;
      TnMove move = { .to_offset = column };
      tn_move_add_dim (&move, outer, row, width);
      tn_move_add_dim (&move, width, 1, 1);
      tn_move_run (&move, elem, context->out[0], context->in[i]);
      column += width;
    }
  return TRUE;
}

gboolean
tn_shape_concat_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *y = &context->node->outputs[0].shape;
  return join (context, tn_shape_span (y, 0, tn_node_axis (context->node, "axis", y->n_dims)));
}

gboolean
tn_shape_stack_kernel (const TnKernelContext *context, GError **error)
{
  return tn_shape_concat_kernel (context, error);
}

void
tn_shape_concat_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  int axis = tn_node_axis (node, "axis", tn_in_shape (node, 0)->n_dims);
  g_autofree int64_t *sizes = g_new (int64_t, node->n_inputs);
  for (int i = 0; i < node->n_inputs; i++)
    sizes[i] = tn_in_shape (node, i)->dims[axis];
  TnValue *pieces = tn_op (gradient->graph, "Split", TN_IN (gradient->grad_outputs[0]),
                           TN_ATTRS (tn_attr_int ("axis", axis), tn_attr_ints ("sizes", node->n_inputs, sizes)));
  for (int i = 0; i < node->n_inputs; i++)
    gradient->grad_inputs[i] = tn_value_sibling (pieces, i);
}

void
tn_shape_stack_gradient (TnGradient *gradient)
{
  TnValue *pieces = tn_op (gradient->graph, "Unstack", TN_IN (gradient->grad_outputs[0]),
                           TN_ATTRS (tn_attr_int ("axis", tn_node_int (gradient->node, "axis"))));
  for (int i = 0; i < gradient->node->n_inputs; i++)
    gradient->grad_inputs[i] = tn_value_sibling (pieces, i);
}
