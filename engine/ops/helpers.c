/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/op.h"

gboolean
tn_infer_error (const TnNode *node, GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_autoptr (GString) inputs = g_string_new (NULL);
  for (int i = 0; i < node->n_inputs; i++)
    {
      g_autofree char *shape = tn_shape_to_string (&node->inputs[i]->shape);
      g_string_append_printf (inputs, "%s%s %s", i > 0 ? ", " : "", tn_dtype_name (node->inputs[i]->dtype), shape);
    }
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("%s: %s; inputs: %s"), node->name, message, inputs->len > 0 ? inputs->str : _ ("none"));
  return FALSE;
}

gboolean
tn_infer_same_float (TnNode *node, GError **error)
{
  if (!tn_dtype_is_float (tn_in_dtype (node, 0)))
    return tn_infer_error (node, error, _ ("works on floating-point tensors, not %s"), tn_dtype_name (tn_in_dtype (node, 0)));
  for (int i = 1; i < node->n_inputs; i++)
    if (tn_in_dtype (node, i) != tn_in_dtype (node, 0))
      return tn_infer_error (node, error, _ ("all inputs must have one dtype"));
  return TRUE;
}

gboolean
tn_infer_unary (TnNode *node, GError **error)
{
  tn_set_output (node, 0, tn_in_dtype (node, 0), *tn_in_shape (node, 0));
  return TRUE;
}

gboolean
tn_infer_unary_float (TnNode *node, GError **error)
{
  return tn_infer_same_float (node, error) && tn_infer_unary (node, error);
}

static gboolean
infer_broadcast_to (TnNode *node, gboolean to_bool, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  for (int i = 1; i < node->n_inputs; i++)
    {
      if (tn_in_dtype (node, i) != tn_in_dtype (node, 0))
        return tn_infer_error (node, error, _ ("inputs must have one dtype: add a Cast"));
      TnShape wider;
      if (!tn_shape_broadcast (&shape, tn_in_shape (node, i), &wider))
        return tn_infer_error (node, error, _ ("shapes do not broadcast: from the right, sizes must be equal or 1"));
      shape = wider;
    }
  tn_set_output (node, 0, to_bool ? TN_DTYPE_BOOL : tn_in_dtype (node, 0), shape);
  return TRUE;
}

gboolean
tn_infer_broadcast (TnNode *node, GError **error)
{
  return infer_broadcast_to (node, FALSE, error);
}

gboolean
tn_infer_broadcast_bool (TnNode *node, GError **error)
{
  return infer_broadcast_to (node, TRUE, error);
}

/* Undoes broadcasting: sums over the dimensions that were added or stretched (ReduceSum keeps them as 1), then drops the
 * leading ones. */
TnValue *
tn_sum_to (TnGraph *graph, TnValue *value, const TnShape *shape)
{
  if (value == NULL || tn_shape_equal (&value->shape, shape))
    return value;
  int64_t axes[TN_MAX_DIMS];
  int n_axes = 0, added = value->shape.n_dims - shape->n_dims;
  for (int d = 0; d < value->shape.n_dims; d++)
    if (d < added || (shape->dims[d - added] == 1 && value->shape.dims[d] != 1))
      axes[n_axes++] = d;
  if (n_axes > 0)
    value = tn_op (graph, "ReduceSum", TN_IN (value), TN_ATTRS (tn_attr_ints ("axis", n_axes, axes), tn_attr_bool ("keep_dims", TRUE)));
  if (added > 0)
    value = tn_op (graph, "Reshape", TN_IN (value), TN_ATTRS (tn_attr_ints ("shape", shape->n_dims, shape->dims)));
  return value;
}

gboolean
tn_normalize_axis (gint64 *axis, int n_dims)
{
  if (*axis < 0)
    *axis += n_dims;
  return *axis >= 0 && *axis < MAX (n_dims, 1);
}

/* Where a row says nothing: one operation an output element, every tensor touched once. */
void
tn_node_cost (const TnNode *node, TnCost *cost)
{
  *cost = (TnCost){ 0 };
  for (int i = 0; i < node->n_inputs; i++)
    cost->bytes += (double) tn_shape_count (&node->inputs[i]->shape) * (double) tn_dtype_size (node->inputs[i]->dtype);
  for (int i = 0; i < node->n_outputs; i++)
    {
      double n = (double) tn_shape_count (&node->outputs[i].shape);
      cost->bytes += n * (double) tn_dtype_size (node->outputs[i].dtype);
      if ((node->op->flags & (TN_OP_LEAF | TN_OP_VIEW)) == 0)
        cost->flops += n;
    }
  if (node->op->cost != NULL)
    node->op->cost (node, cost);
}
