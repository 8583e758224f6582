/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/autodiff.h"
#include "base/error.h"
#include "ops/op.h"

typedef struct
{
  TnGraph *graph;
  int n_nodes;        /* forward nodes: those that stood in the graph before */
  int *first;         /* node id -> index of its first output */
  gboolean *depends;  /* node id: depends on a wanted value */
  TnValue **gradient; /* output index -> sum so far */
} Sweep;

static TnValue **
gradient_slot (Sweep *sweep, const TnValue *value)
{
  return &sweep->gradient[sweep->first[value->node->id] + value->index];
}

static void
mark_dependants (Sweep *sweep, int n_wanted, TnValue *const *wanted)
{
  for (int i = 0; i < n_wanted; i++)
    sweep->depends[wanted[i]->node->id] = TRUE;
  for (int id = 0; id < sweep->n_nodes; id++)
    {
      const TnNode *node = tn_graph_node (sweep->graph, id);
      for (int k = 0; k < node->n_inputs && !sweep->depends[id]; k++)
        sweep->depends[id] = sweep->depends[node->inputs[k]->node->id];
    }
}

static void
accumulate (Sweep *sweep, const TnValue *value, TnValue *gradient)
{
  TnValue **slot = gradient_slot (sweep, value);
  if (gradient != NULL)
    *slot = *slot == NULL ? gradient : tn_op (sweep->graph, "Add", TN_IN (*slot, gradient), TN_NO_ATTRS);
}

static void
differentiate (Sweep *sweep, const TnNode *node)
{
  gboolean reached = FALSE;
  TnValue **grad_outputs = &sweep->gradient[sweep->first[node->id]];
  for (int i = 0; i < node->n_outputs; i++)
    reached |= grad_outputs[i] != NULL;
  if (!reached || !sweep->depends[node->id] || node->n_inputs == 0)
    return;
  if (node->op->gradient == NULL)
    {
      GError *error = NULL;
      tn_infer_error (node, &error, _ ("this operator has no gradient"));
      tn_graph_fail (sweep->graph, error);
      return;
    }
  g_autofree gboolean *wanted = g_new0 (gboolean, node->n_inputs);
  g_autofree TnValue **grad_inputs = g_new0 (TnValue *, node->n_inputs);
  for (int k = 0; k < node->n_inputs; k++)
    wanted[k] = sweep->depends[node->inputs[k]->node->id] && tn_dtype_is_float (node->inputs[k]->dtype);
  TnGradient gradient = { sweep->graph, node, grad_outputs, grad_inputs, wanted };
  tn_graph_set_origin (sweep->graph, node);
  node->op->gradient (&gradient);
  for (int k = 0; k < node->n_inputs && !tn_graph_failed (sweep->graph); k++)
    if (wanted[k])
      accumulate (sweep, node->inputs[k], grad_inputs[k]);
}

static TnValue *
fill_like (TnGraph *graph, const TnValue *value, double number)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) tensor = tn_tensor_new (value->dtype, value->shape, &error);
  if (tensor == NULL)
    {
      tn_graph_fail (graph, g_steal_pointer (&error));
      return NULL;
    }
  for (int64_t i = 0; number != 0 && i < tn_tensor_count (tensor); i++)
    tn_tensor_set (tensor, i, number);
  return tn_graph_add_constant (graph, tensor);
}

gboolean
tn_graph_add_gradients (TnGraph *graph, TnValue *loss, TnValue *seed, int n_wanted, TnValue *const *wanted, TnValue **gradients)
{
  if (tn_graph_failed (graph))
    return FALSE;
  Sweep sweep = { .graph = graph, .n_nodes = tn_graph_n_nodes (graph) };
  g_autofree int *counts = tn_graph_use_counts (graph, &sweep.first);
  g_autofree int *first = sweep.first;
  g_autofree gboolean *depends = sweep.depends = g_new0 (gboolean, sweep.n_nodes);
  int n_values = first[sweep.n_nodes - 1] + tn_graph_node (graph, sweep.n_nodes - 1)->n_outputs;
  g_autofree TnValue **slots = sweep.gradient = g_new0 (TnValue *, n_values);

  mark_dependants (&sweep, n_wanted, wanted);
  tn_graph_set_phase (graph, TN_PHASE_BACKWARD);
  tn_graph_set_origin (graph, loss->node);
  accumulate (&sweep, loss, seed != NULL ? seed : fill_like (graph, loss, 1));
  for (int id = sweep.n_nodes - 1; id >= 0 && !tn_graph_failed (graph); id--)
    differentiate (&sweep, tn_graph_node (graph, id));
  for (int i = 0; i < n_wanted && !tn_graph_failed (graph); i++)
    {
      tn_graph_set_origin (graph, wanted[i]->node);
      TnValue *gradient = *gradient_slot (&sweep, wanted[i]);
      gradients[i] = gradient != NULL ? gradient : fill_like (graph, wanted[i], 0);
    }
  tn_graph_set_origin (graph, NULL);
  tn_graph_set_phase (graph, TN_PHASE_FORWARD);
  return !tn_graph_failed (graph);
}
