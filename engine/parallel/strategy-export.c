/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/strategy-export.h"

#include <string.h>
#include "ops/op.h"
#include "parallel/shard-private.h"

static const TnNode *
first_parameter (const TnNode *node)
{
  for (int k = 0; k < node->n_inputs; k++)
    if (tn_node_is_parameter (node->inputs[k]->node))
      return node->inputs[k]->node;
  return NULL;
}

static void
add_node (TnStrategyFile *file, const TnSharded *sharded, const TnNode *node, const TnNode *parameter)
{
  g_autofree char *name = g_strdup_printf ("%s_%s", node->op->name, parameter->name);
  TnStrategyNode *item = tn_strategy_file_add_node (file, name, 0);
  for (int k = 0; k < node->n_inputs; k++)
    {
      GArray *counts = g_array_new (FALSE, FALSE, sizeof (int64_t));
      for (int d = 0; d < node->inputs[k]->shape.n_dims; d++)
        {
          int64_t n = tn_layout_shards (sharded->plans[node->id].in[k], d);
          g_array_append_val (counts, n);
        }
      g_ptr_array_add (item->strategies, counts);
    }
}

/* The optimizer's cut: how many pieces, and how far apart their ranks are; -1 where all copies are cut. */
static void
set_optimizer (TnStrategyParameter *p, const TnLayout *used, const TnLayout *kept)
{
  int64_t pieces = used->n_dims > 0 ? tn_layout_shards (kept, 0) / tn_layout_shards (used, 0) : 1;
  uint32_t axes = kept->used & ~used->used;
  if (pieces <= 1)
    return;
  p->opt_size = pieces == tn_mesh_span (used->mesh, tn_layout_replica_axes (used)) ? -1 : pieces;
  for (int i = kept->mesh->n_axes - 1; i >= 0 && p->opt_step == 0; i--)
    if (axes >> i & 1 && kept->mesh->sizes[i] > 1)
      p->opt_step = kept->mesh->strides[i];
}

/* The layout that a parameter is computed with; of an optimizer state, that of its parameter, whose cut it shares. */
static const TnLayout *
computed_with (const TnSharded *sharded, const TnValue *value, const TnLayout *kept)
{
  const char *dot = strchr (value->node->name, '.');
  const TnValue *base = tn_node_parameter_info (value->node)->role == TN_ROLE_OPTIMIZER && dot != NULL ? tn_graph_find_parameter (sharded->source, dot + 1) : NULL;
  const TnValue *meant = base != NULL && tn_layout_equal (tn_sharded_layout (sharded, base), kept) ? base : value;
  return sharded->used[tn_sharded_index (sharded, meant)];
}

TnStrategyFile *
tn_sharded_to_strategy_file (const TnSharded *sharded)
{
  TnStrategyFile *file = tn_strategy_file_new ();
  file->current_stage = 1;
  for (int id = 0; id < sharded->n_nodes; id++)
    {
      const TnNode *node = tn_graph_node (sharded->source, id), *parameter = node->phase == TN_PHASE_FORWARD ? first_parameter (node) : NULL;
      if (parameter != NULL)
        add_node (file, sharded, node, parameter);
    }
  for (int i = 0; i < tn_graph_n_parameters (sharded->source); i++)
    {
      const TnValue *value = tn_graph_parameter (sharded->source, i);
      const TnLayout *kept = tn_sharded_layout (sharded, value);
      const TnLayout *used = computed_with (sharded, value, kept);
      TnStrategyParameter *p = tn_strategy_file_add_parameter (file, value->node->name);
      tn_strategy_parameter_set_layout (p, used);
      set_optimizer (p, used, kept);
      TnShape shape = value->shape;
      p->tensor_shape = g_array_append_vals (g_array_new (FALSE, FALSE, sizeof (int64_t)), shape.dims, (guint) shape.n_dims);
    }
  return file;
}
