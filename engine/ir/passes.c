/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/passes.h"
#include "base/error.h"
#include "ir/interpret.h"
#include "ir/rewrite.h"
#include "ops/op.h"
#include <string.h>

/* ---- dead code ---- */

static void
mark_alive (const TnGraph *graph, gboolean *alive)
{
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    alive[tn_graph_output (graph, i).value->node->id] = TRUE;
  for (int id = tn_graph_n_nodes (graph) - 1; id >= 0; id--)
    {
      const TnNode *node = tn_graph_node (graph, id);
      if ((node->op->flags & TN_OP_EFFECT) != 0 || tn_node_is_input (node) || tn_node_is_parameter (node))
        alive[id] = TRUE;
      for (int k = 0; alive[id] && k < node->n_inputs; k++)
        alive[node->inputs[k]->node->id] = TRUE;
    }
}

static gboolean
drop_dead (TnRewrite *rewrite, const TnNode *node, gpointer data)
{
  const gboolean *alive = data;
  return !alive[node->id];
}

TnGraph *
tn_pass_dead_code (const TnGraph *graph, GError **error)
{
  g_autofree gboolean *alive = g_new0 (gboolean, tn_graph_n_nodes (graph) + 1);
  mark_alive (graph, alive);
  return tn_graph_rewrite (graph, drop_dead, alive, error);
}

/* ---- constants ---- */

#define MOST_FOLDED_BYTES (16u << 20)

static gboolean
may_fold (const TnRewrite *rewrite, const TnNode *node)
{
  if ((node->op->flags & (TN_OP_LEAF | TN_OP_RANDOM | TN_OP_EFFECT | TN_OP_CONTROL)) != 0 || node->n_inputs == 0)
    return FALSE;
  for (int k = 0; k < node->n_inputs; k++)
    {
      const TnValue *input = tn_rewrite_get (rewrite, node->inputs[k]);
      if (input == NULL || !tn_node_is_constant (input->node))
        return FALSE;
    }
  size_t bytes = 0;
  for (int i = 0; i < node->n_outputs; i++)
    bytes += (size_t) tn_shape_count (&node->outputs[i].shape) * tn_dtype_size (node->outputs[i].dtype);
  return bytes <= MOST_FOLDED_BYTES;
}

static gboolean
fold (TnRewrite *rewrite, const TnNode *node, gpointer data)
{
  if (!may_fold (rewrite, node))
    return FALSE;
  g_autofree TnTensor **in = g_new0 (TnTensor *, node->n_inputs + 1);
  g_autofree TnTensor **out = g_new0 (TnTensor *, node->n_outputs + 1);
  for (int k = 0; k < node->n_inputs; k++)
    in[k] = tn_node_constant (tn_rewrite_get (rewrite, node->inputs[k])->node);
  if (!tn_interpret_node (node, in, out, NULL, NULL))
    return FALSE; /* what cannot be computed now fails when it runs, with its name */
  for (int i = 0; i < node->n_outputs; i++)
    {
      tn_rewrite_set (rewrite, &node->outputs[i], tn_graph_add_constant (rewrite->to, out[i]));
      tn_tensor_unref (out[i]);
    }
  return TRUE;
}

TnGraph *
tn_pass_fold_constants (const TnGraph *graph, GError **error)
{
  return tn_graph_rewrite (graph, fold, NULL, error);
}

/* ---- common subexpressions ---- */

static void
append_attr (GString *key, const TnAttr *attr)
{
  g_string_append_printf (key, "|%s:%d:", attr->name, attr->type);
  switch (attr->type)
    {
    case TN_ATTR_STRING:
      g_string_append (key, attr->s);
      break;
    case TN_ATTR_INTS:
      for (int i = 0; i < attr->count; i++)
        g_string_append_printf (key, "%" G_GINT64_FORMAT ",", attr->ints[i]);
      break;
    case TN_ATTR_FLOATS:
      for (int i = 0; i < attr->count; i++)
        g_string_append_printf (key, "%a,", attr->floats[i]);
      break;
    case TN_ATTR_FLOAT:
      g_string_append_printf (key, "%a", attr->f);
      break;
    case TN_ATTR_TENSOR:
      g_string_append_printf (key, "%p", (void *) attr->tensor);
      break;
    default:
      g_string_append_printf (key, "%" G_GINT64_FORMAT, attr->i);
    }
}

/* Equal text means equal computation. Constants are compared by value. */
static char *
node_key (const TnRewrite *rewrite, const TnNode *node)
{
  GString *key = g_string_new (node->op->name);
  if (tn_node_is_constant (node))
    {
      const TnTensor *tensor = tn_node_constant (node);
      g_autofree char *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, tn_tensor_data (tensor), tn_tensor_bytes (tensor));
      g_autofree char *shape = tn_shape_to_string (&tensor->shape);
      g_string_append_printf (key, "|%d%s%s", tensor->dtype, shape, sum);
      return g_string_free (key, FALSE);
    }
  for (int k = 0; k < node->n_inputs; k++)
    {
      const TnValue *input = tn_rewrite_get (rewrite, node->inputs[k]);
      g_string_append_printf (key, "|%d.%d", input->node->id, input->index);
    }
  for (int i = 0; i < node->n_attrs; i++)
    append_attr (key, &node->attrs[i]);
  return g_string_free (key, FALSE);
}

static gboolean
merge (TnRewrite *rewrite, const TnNode *node, gpointer data)
{
  GHashTable *seen = data; /* key -> TnNode of the new graph */
  if ((node->op->flags & (TN_OP_RANDOM | TN_OP_EFFECT | TN_OP_CONTROL)) != 0 || tn_node_is_input (node) || tn_node_is_parameter (node)
      || node->phase == TN_PHASE_OPTIMIZER)
    return FALSE;
  g_autofree char *key = node_key (rewrite, node);
  TnNode *twin = g_hash_table_lookup (seen, key);
  if (twin == NULL)
    {
      twin = tn_rewrite_copy (rewrite, node);
      if (twin != NULL)
        g_hash_table_insert (seen, g_steal_pointer (&key), twin);
      return TRUE;
    }
  for (int i = 0; i < node->n_outputs; i++)
    tn_rewrite_set (rewrite, &node->outputs[i], &twin->outputs[i]);
  return TRUE;
}

TnGraph *
tn_pass_common_subexpressions (const TnGraph *graph, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return tn_graph_rewrite (graph, merge, seen, error);
}

/* ---- all ---- */

TnGraph *
tn_passes_run (const TnGraph *graph, TnFusionAccepts accepts, gpointer data,
               void (*stage) (gpointer stage_data, const char *name, TnGraph *graph), gpointer stage_data, GError **error)
{
  static const char *const names[] = { "dead_code", "fold_constants", "common_subexpressions", "fuse", "dead_code_after_fuse" };
  g_autoptr (TnGraph) current = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const TnGraph *from = current != NULL ? current : graph;
      TnGraph *next = i == 1   ? tn_pass_fold_constants (from, error)
                      : i == 2 ? tn_pass_common_subexpressions (from, error)
                      : i == 3 ? tn_pass_fuse (from, accepts, data, error)
                               : tn_pass_dead_code (from, error);
      tn_graph_unref (current);
      current = next;
      if (current == NULL)
        return NULL;
      if (stage != NULL)
        stage (stage_data, names[i], current);
    }
  return g_steal_pointer (&current);
}
