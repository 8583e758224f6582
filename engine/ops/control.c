/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/families.h"

/* Control flow runs its subgraphs in ir/interpret.c; forward only, so there is no gradient. */

static gboolean
check_subgraph (const TnNode *node, const TnGraph *graph, int first_input, GError **error)
{
  if (tn_graph_n_inputs (graph) != node->n_inputs - first_input)
    return tn_infer_error (node, error, _ ("subgraph %s takes %d inputs, %d are given"), tn_graph_name (graph),
                           tn_graph_n_inputs (graph), node->n_inputs - first_input);
  if (tn_graph_n_parameters (graph) > 0)
    return tn_infer_error (node, error, _ ("subgraph %s has parameters of its own: pass them as inputs"), tn_graph_name (graph));
  for (int i = first_input; i < node->n_inputs; i++)
    {
      const TnValue *want = tn_graph_input (graph, i - first_input);
      if (want->dtype != node->inputs[i]->dtype || !tn_shape_equal (&want->shape, &node->inputs[i]->shape))
        return tn_infer_error (node, error, _ ("input %d does not have the dtype and shape that subgraph %s takes"), i,
                               tn_graph_name (graph));
    }
  return TRUE;
}

static gboolean
is_condition (const TnValue *value)
{
  return value->dtype == TN_DTYPE_BOOL && tn_shape_count (&value->shape) == 1;
}

static gboolean
infer_if (TnNode *node, GError **error)
{
  if (node->n_subgraphs != 2)
    return tn_infer_error (node, error, _ ("needs two subgraphs: then and else"));
  if (!is_condition (node->inputs[0]))
    return tn_infer_error (node, error, _ ("the condition must be one bool"));
  const TnGraph *then = node->subgraphs[0], *otherwise = node->subgraphs[1];
  if (!check_subgraph (node, then, 1, error) || !check_subgraph (node, otherwise, 1, error))
    return FALSE;
  if (tn_graph_n_outputs (then) != tn_graph_n_outputs (otherwise))
    return tn_infer_error (node, error, _ ("the branches give %d and %d values"), tn_graph_n_outputs (then), tn_graph_n_outputs (otherwise));
  tn_node_set_n_outputs (node, tn_graph_n_outputs (then));
  for (int i = 0; i < node->n_outputs; i++)
    {
      const TnValue *a = tn_graph_output (then, i).value, *b = tn_graph_output (otherwise, i).value;
      if (a->dtype != b->dtype || !tn_shape_equal (&a->shape, &b->shape))
        return tn_infer_error (node, error, _ ("the branches' outputs %d differ in dtype or shape"), i);
      tn_set_output (node, i, a->dtype, a->shape);
    }
  return TRUE;
}

static gboolean
infer_while (TnNode *node, GError **error)
{
  if (node->n_subgraphs != 2)
    return tn_infer_error (node, error, _ ("needs two subgraphs: condition and body"));
  const TnGraph *condition = node->subgraphs[0], *body = node->subgraphs[1];
  if (!check_subgraph (node, condition, 0, error) || !check_subgraph (node, body, 0, error))
    return FALSE;
  if (tn_graph_n_outputs (condition) != 1 || !is_condition (tn_graph_output (condition, 0).value))
    return tn_infer_error (node, error, _ ("the condition subgraph must give one bool"));
  if (tn_graph_n_outputs (body) != node->n_inputs)
    return tn_infer_error (node, error, _ ("the body must give as many values as it takes"));
  tn_node_set_n_outputs (node, node->n_inputs);
  for (int i = 0; i < node->n_inputs; i++)
    {
      const TnValue *next = tn_graph_output (body, i).value;
      if (next->dtype != node->inputs[i]->dtype || !tn_shape_equal (&next->shape, &node->inputs[i]->shape))
        return tn_infer_error (node, error, _ ("value %d changes dtype or shape in the loop"), i);
      tn_set_output (node, i, next->dtype, next->shape);
    }
  return TRUE;
}

static const TnAttrSpec while_attrs[] = { { "max_iterations", TN_ATTR_INT, .number = 1000000 }, { 0 } };

const TnOp tn_ops_control[] = {
  { .name = "If", .doc = "Runs one of two subgraphs.", .flags = TN_OP_CONTROL, .min_inputs = 1, .max_inputs = TN_VARIADIC, .n_outputs = TN_VARIADIC, .infer = infer_if },
  { .name = "While", .doc = "Runs the body as long as the condition holds.", .flags = TN_OP_CONTROL, .min_inputs = 1, .max_inputs = TN_VARIADIC, .n_outputs = TN_VARIADIC, .attrs = while_attrs, .infer = infer_while },
  { 0 },
};
