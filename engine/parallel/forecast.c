/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/forecast.h"

#include <string.h>
#include "ir/memory-plan.h"
#include "ops/op.h"

#define ALIGNMENT 64

static int64_t
bytes_of (const TnValue *value)
{
  return tn_shape_count (&value->shape) * (int64_t) tn_dtype_size (value->dtype);
}

static gboolean
is_leaf (const TnNode *node)
{
  return tn_node_is_input (node) || tn_node_is_parameter (node) || tn_node_is_constant (node);
}

/* Lives of all values that nodes make, but for gradients, which are counted apart. */
static int64_t
peak (const TnGraph *graph, const gboolean *apart, const int *first)
{
  int n = tn_graph_n_nodes (graph), n_values = n > 0 ? first[n - 1] + tn_graph_node (graph, n - 1)->n_outputs : 0;
  g_autofree TnMemoryBlock *blocks = g_new0 (TnMemoryBlock, n_values + 1);
  for (int id = 0; id < n; id++)
    {
      const TnNode *node = tn_graph_node (graph, id);
      for (int o = 0; o < node->n_outputs && !is_leaf (node); o++)
        if (!apart[first[id] + o] && !(node->op->mutates[MIN (o, TN_MAX_MUTATED - 1)] != 0 && o < TN_MAX_MUTATED))
          blocks[first[id] + o] = (TnMemoryBlock){ .size = (size_t) bytes_of (&node->outputs[o]), .first = id, .last = id };
      for (int k = 0; k < node->n_inputs; k++)
        blocks[first[node->inputs[k]->node->id] + node->inputs[k]->index].last = id;
    }
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    {
      const TnValue *value = tn_graph_output (graph, i).value;
      blocks[first[value->node->id] + value->index].last = n;
    }
  return (int64_t) tn_memory_plan (blocks, n_values, ALIGNMENT);
}

void
tn_shard_forecast (const TnSharded *sharded, TnShardForecast *out)
{
  const TnGraph *graph = tn_sharded_graph (sharded);
  int *first;
  g_autofree int *counts = tn_graph_use_counts (graph, &first);
  g_autofree int *owned = first;
  int n = tn_graph_n_nodes (graph);
  g_autofree gboolean *apart = g_new0 (gboolean, n > 0 ? first[n - 1] + tn_graph_node (graph, n - 1)->n_outputs : 1);
  *out = (TnShardForecast){ 0 };
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *value = tn_graph_parameter (graph, i);
      *(tn_node_parameter_info (value->node)->role == TN_ROLE_OPTIMIZER ? &out->optimizer : &out->parameters) += bytes_of (value);
    }
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    {
      TnNamedValue output = tn_graph_output (graph, i);
      int at = first[output.value->node->id] + output.value->index;
      if (!g_str_has_prefix (output.name, "grad:") || apart[at])
        continue;
      out->gradients += bytes_of (output.value);
      apart[at] = TRUE;
    }
  out->activations = peak (graph, apart, first);
  for (int i = 0; i < tn_sharded_n_traffic (sharded); i++)
    {
      const TnTraffic *t = tn_sharded_traffic (sharded, i);
      out->buffers = MAX (out->buffers, t->bytes_in * (t->kind == TN_MOVE_ALL_GATHER ? t->group : 1));
    }
  out->total = out->parameters + out->gradients + out->optimizer + out->activations + out->buffers;
}

static void
clear_sum (gpointer data)
{
  g_free (((TnTrafficSum *) data)->axes);
}

static char *
axes_text (const TnTraffic *t)
{
  GString *text = g_string_new (NULL);
  for (int i = 0; i < t->mesh->n_axes; i++)
    if (t->axes >> i & 1)
      g_string_append_printf (text, "%s%s", text->len > 0 ? "+" : "", t->mesh->names[i]);
  return g_string_free (text, FALSE);
}

GArray *
tn_shard_traffic_sums (const TnSharded *sharded)
{
  GArray *sums = g_array_new (FALSE, TRUE, sizeof (TnTrafficSum));
  g_array_set_clear_func (sums, clear_sum);
  for (int i = 0; i < tn_sharded_n_traffic (sharded); i++)
    {
      const TnTraffic *t = tn_sharded_traffic (sharded, i);
      g_autofree char *axes = axes_text (t);
      TnTrafficSum *found = NULL;
      for (guint k = 0; k < sums->len && found == NULL; k++)
        {
          TnTrafficSum *sum = &g_array_index (sums, TnTrafficSum, k);
          if (sum->kind == t->kind && sum->phase == t->phase && strcmp (sum->axes, axes) == 0)
            found = sum;
        }
      if (found == NULL)
        {
          TnTrafficSum sum = { t->kind, t->phase, g_strdup (axes), t->group, t->mesh->n_ranks / t->group, 0, 0 };
          g_array_append_val (sums, sum);
          found = &g_array_index (sums, TnTrafficSum, sums->len - 1);
        }
      found->count++;
      found->bytes += t->bytes;
    }
  return sums;
}

GArray *
tn_shard_entries (const TnSharded *sharded, const TnGraph *source)
{
  int n = tn_graph_n_parameters (source);
  GArray *entries = g_array_sized_new (FALSE, TRUE, sizeof (TnShardEntry), (guint) n);
  for (int i = 0; i < n; i++)
    {
      const TnValue *value = tn_graph_parameter (source, i);
      const TnParameterInfo *info = tn_node_parameter_info (value->node);
      TnLayout *layout = tn_sharded_layout (sharded, value);
      TnShardEntry entry = { value->node->name, info->role, info->frozen, value->dtype, value->shape, { 0 }, layout, 0, 1 };
      if (tn_layout_local_shape (layout, &value->shape, &entry.local, NULL))
        entry.bytes = tn_shape_count (&entry.local) * (int64_t) tn_dtype_size (value->dtype);
      entry.replicas = tn_mesh_span (layout->mesh, tn_layout_replica_axes (layout));
      g_array_append_val (entries, entry);
    }
  return entries;
}
