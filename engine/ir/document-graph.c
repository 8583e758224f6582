/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-document.h"
#include "ir/ir-values.h"
#include "ops/op.h"
#include <string.h>

/* Our own graph as a document. Subgraphs of If and While become scopes below the node that runs them. */

typedef struct
{
  TnGraphDocument *document;
  int depth;
} Maker;

static void add_graph (Maker *self, const TnGraph *graph, const char *prefix);

static TnItemKind
kind_of (const TnNode *node)
{
  if (tn_node_is_input (node))
    return TN_ITEM_INPUT;
  if (tn_node_is_constant (node))
    return TN_ITEM_CONSTANT;
  if (!tn_node_is_parameter (node))
    return TN_ITEM_OPERATOR;
  return tn_node_parameter_info (node)->role == TN_ROLE_OPTIMIZER ? TN_ITEM_STATE : TN_ITEM_PARAMETER;
}

static double
value_bytes (const TnValue *value)
{
  return (double) tn_shape_count (&value->shape) * (double) tn_dtype_size (value->dtype);
}

static void
add_attrs (TnGraphDocument *document, const TnNode *node)
{
  for (int i = 0; i < node->n_attrs; i++)
    {
      if (node->attrs[i].type == TN_ATTR_TENSOR)
        continue;
      g_autoptr (GString) text = g_string_new (NULL);
      tn_ir_append_attr (text, &node->attrs[i]);
      tn_graph_document_add_attr (document, node->attrs[i].name, text->str);
    }
}

static int
add_node (Maker *self, const TnNode *node, const char *prefix)
{
  const char *slash = strrchr (node->name, '/');
  g_autofree char *label = g_strdup (slash != NULL ? slash + 1 : node->name);
  g_autofree char *scope = prefix != NULL ? g_strconcat (prefix, "/", node->scope, NULL) : g_strdup (node->scope);
  g_autofree char *shape = node->n_outputs > 0 ? tn_graph_shape_text (&node->outputs[0].shape) : NULL;
  TnGraphItem item = { .name = node->name, .label = label, .op = node->op->name, .shape = shape, .kind = kind_of (node),
                       .phase = node->phase, .from = -1, .order = node->id };
  item.dtype = node->n_outputs > 0 ? tn_dtype_name (node->outputs[0].dtype) : NULL;
  item.scope = tn_graph_document_scope (self->document, scope);
  if (!(node->op->flags & TN_OP_LEAF))
    {
      TnCost cost = { 0 };
      tn_node_cost (node, &cost);
      item.flops = cost.flops;
      item.bytes = cost.bytes;
    }
  for (int i = 0; i < node->n_outputs; i++)
    item.output_bytes += value_bytes (&node->outputs[i]);
  int id = tn_graph_document_add (self->document, &item);
  if (id >= 0)
    add_attrs (self->document, node);
  return id;
}

/* A backward item belongs to the forward one that came from the same node of the graph as it was built: the first with the
 * same origin, or the origin itself where the graph was not rewritten. */
static void
match_backward (TnGraphDocument *document, const TnGraph *graph, const int *ids)
{
  g_autoptr (GHashTable) forward = g_hash_table_new (NULL, NULL);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < tn_graph_n_nodes (graph); i++)
      {
        const TnNode *node = tn_graph_node (graph, i);
        if (ids[i] < 0 || (node->op->flags & TN_OP_LEAF))
          continue;
        if (pass == 0 && node->phase == TN_PHASE_FORWARD)
          {
            int origin = node->from >= 0 ? node->from : node->id;
            if (!g_hash_table_contains (forward, GINT_TO_POINTER (origin)))
              g_hash_table_insert (forward, GINT_TO_POINTER (origin), GINT_TO_POINTER (ids[i] + 1));
          }
        else if (pass == 1 && node->phase == TN_PHASE_BACKWARD && node->from >= 0)
          tn_graph_document_item (document, ids[i])->from = GPOINTER_TO_INT (g_hash_table_lookup (forward, GINT_TO_POINTER (node->from))) - 1;
      }
}

static void
add_graph (Maker *self, const TnGraph *graph, const char *prefix)
{
  if (self->depth > 8)
    return;
  self->depth++;
  g_autofree int *ids = g_new (int, MAX (tn_graph_n_nodes (graph), 1));
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    {
      const TnNode *node = tn_graph_node (graph, i);
      ids[i] = add_node (self, node, prefix);
      for (int k = 0; k < node->n_inputs && ids[i] >= 0; k++)
        {
          const TnValue *input = node->inputs[k];
          if (ids[input->node->id] >= 0)
            tn_graph_document_link (self->document, &(TnGraphLink){ .from = ids[input->node->id], .to = ids[i], .from_port = input->index,
                                                                    .to_port = k, .bytes = value_bytes (input) });
        }
      for (int k = 0; k < node->n_subgraphs; k++)
        {
          g_autofree char *below = g_strdup_printf ("%s%s%s-%s", prefix != NULL ? prefix : "", prefix != NULL ? "/" : "", node->name,
                                                    tn_graph_name (node->subgraphs[k]));
          add_graph (self, node->subgraphs[k], below);
        }
    }
  match_backward (self->document, graph, ids);
  self->depth--;
}

TnGraphDocument *
tn_graph_document_from_graph (const TnGraph *graph)
{
  TnGraphDocument *document = tn_graph_document_new (tn_graph_name (graph), "Tenon");
  Maker maker = { .document = document };
  add_graph (&maker, graph, NULL);
  tn_graph_document_finish (document);
  return document;
}
