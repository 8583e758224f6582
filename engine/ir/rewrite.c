/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/rewrite.h"

TnValue *
tn_rewrite_get (const TnRewrite *rewrite, const TnValue *value)
{
  return rewrite->map[rewrite->first[value->node->id] + value->index];
}

void
tn_rewrite_set (TnRewrite *rewrite, const TnValue *value, TnValue *replacement)
{
  rewrite->map[rewrite->first[value->node->id] + value->index] = replacement;
}

TnNode *
tn_rewrite_copy (TnRewrite *rewrite, const TnNode *node)
{
  g_autofree TnValue **inputs = g_new0 (TnValue *, node->n_inputs + 1);
  for (int k = 0; k < node->n_inputs; k++)
    inputs[k] = tn_rewrite_get (rewrite, node->inputs[k]);
  TnNode *copy = tn_graph_copy_node (rewrite->to, node, inputs);
  for (int i = 0; copy != NULL && i < node->n_outputs; i++)
    tn_rewrite_set (rewrite, &node->outputs[i], &copy->outputs[i]);
  return copy;
}

TnGraph *
tn_graph_rewrite (const TnGraph *from, TnRewriteVisitor visitor, gpointer data, GError **error)
{
  g_autoptr (TnGraph) to = tn_graph_new (tn_graph_name (from));
  TnRewrite rewrite = { .from = from, .to = to };
  int n = tn_graph_n_nodes (from), n_values = 1;
  g_autofree int *uses = tn_graph_use_counts (from, &rewrite.first);
  g_autofree int *first = rewrite.first;
  if (n > 0)
    n_values += first[n - 1] + tn_graph_node (from, n - 1)->n_outputs;
  g_autofree TnValue **map = rewrite.map = g_new0 (TnValue *, n_values);
  for (int id = 0; id < n; id++)
    {
      const TnNode *node = tn_graph_node (from, id);
      if (!visitor (&rewrite, node, data))
        tn_rewrite_copy (&rewrite, node);
      if (!tn_graph_check (to, error))
        return NULL;
    }
  for (int i = 0; i < tn_graph_n_outputs (from); i++)
    tn_graph_add_output (to, tn_graph_output (from, i).name, tn_rewrite_get (&rewrite, tn_graph_output (from, i).value));
  return g_steal_pointer (&to);
}
