/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/shard-private.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "ops/op.h"

/* Strategies: which node has one, and what counts mean for it. */

/* "Default/network-Net/block0-Sequential/fc1-Dense" -> "block0/fc1": the cells' own names. */
static char *
cell_path (const char *scope)
{
  const char *at = strstr (scope, "network-");
  at = at != NULL ? strchr (at, '/') : NULL;
  g_auto (GStrv) parts = g_strsplit (at != NULL ? at + 1 : scope, "/", -1);
  for (int i = 0; parts[i] != NULL; i++)
    {
      char *class = strrchr (parts[i], '-');
      if (class != NULL)
        *class = '\0';
    }
  return g_strjoinv ("/", parts);
}

int
tn_shard_find_strategy (const TnSharded *self, const TnNode *node, int *offset)
{
  *offset = 0;
  g_autofree char *path = node->phase == TN_PHASE_FORWARD && self->options.n_strategies > 0 ? cell_path (node->scope) : NULL;
  for (int i = 0; i < self->options.n_strategies; i++)
    {
      const TnShardStrategy *s = &self->options.strategies[i];
      /* The cell's main operator: the one of its forward nodes with so many inputs, the bias aside. */
      if (path != NULL && s->n_inputs == node->n_inputs && !tn_node_is (node, "BiasAdd")
          && (g_pattern_match_simple (s->pattern, node->name) || g_pattern_match_simple (s->pattern, path)))
        return i;
      *offset += s->n_inputs;
    }
  return -1;
}

/* ---- counts ---- */

/* MindSpore's tuples for @node: a device matrix with one axis a label of the operator's rule, in the rule's order, and the
 * repeated calculations as the last axis. */
static gboolean
layouts_of_counts (const TnSharded *self, const TnNode *node, const TnShardStrategy *strategy, TnLayout **layouts, GError **error)
{
  g_auto (TnRule) rule = { 0 };
  int64_t sizes[TN_RULE_MAX_LABELS + 1], product = 1;
  int axis_of[TN_RULE_MAX_LABELS], n_axes = 0;
  tn_rule_for (node, &rule);
  for (int l = 0; l < rule.n_labels; l++)
    sizes[l] = 1;
  for (int k = 0; k < strategy->n_inputs; k++)
    for (int d = 0; d < strategy->counts[k].n_dims; d++)
      {
        int64_t count = strategy->counts[k].dims[d];
        int label = d < tn_in_shape (node, k)->n_dims ? rule.in[k][d] : -1;
        if (count == 1)
          continue;
        if (strategy->counts[k].n_dims != tn_in_shape (node, k)->n_dims || count < 1 || label < 0 || (sizes[label] != 1 && sizes[label] != count))
          {
            g_autofree char *shape = tn_shape_to_string (tn_in_shape (node, k));
            g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS,
                         _ ("The strategy “%s” cuts dimension %d of input %d of %s (%s, shape %s) in %" PRId64 ": there must be one count a dimension, equal for dimensions that go together, and 1 where the operator needs it whole."),
                         strategy->pattern, d, k, node->name, node->op->name, shape, count);
            return FALSE;
          }
        sizes[label] = count;
      }
  int64_t matrix[TN_MESH_MAX_AXES];
  for (int l = 0; l < rule.n_labels; l++)
    {
      axis_of[l] = sizes[l] > 1 && n_axes + 1 < TN_MESH_MAX_AXES ? n_axes : -1;
      if (axis_of[l] < 0)
        continue;
      matrix[n_axes++] = sizes[l];
      product = product <= self->mesh->n_ranks ? product * sizes[l] : product;
    }
  if (self->mesh->n_ranks % product != 0)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_RANK_COUNT, _ ("The strategy “%s” makes %" PRId64 " pieces, which does not divide the %" PRId64 " ranks."),
                   strategy->pattern, product, self->mesh->n_ranks);
      return FALSE;
    }
  matrix[n_axes++] = self->mesh->n_ranks / product;
  g_autoptr (TnMesh) own = tn_mesh_new (n_axes, matrix, NULL, self->mesh->n_ranks, self->mesh->plain ? NULL : self->mesh->ranks, error);
  for (int k = 0; own != NULL && k < strategy->n_inputs; k++)
    {
      TnDimMap dims[TN_MAX_DIMS] = { 0 };
      for (int d = 0; d < strategy->counts[k].n_dims; d++)
        if (strategy->counts[k].dims[d] > 1)
          dims[d] = (TnDimMap){ .n = 1, .axes = { (int8_t) axis_of[(int) rule.in[k][d]] } };
      layouts[k] = tn_layout_new (own, strategy->counts[k].n_dims, dims, 0, TN_PARTIAL_NONE, error);
    }
  return own != NULL;
}

void
tn_shard_clear_strategy (gpointer data)
{
  TnShardStrategy *strategy = data;
  for (int k = 0; strategy->inputs != NULL && k < strategy->n_inputs; k++)
    tn_layout_unref (strategy->inputs[k]);
  g_free (strategy->inputs);
}

static gboolean
resolve_one (TnSharded *self, int i, TnShardStrategy *own, GError **error)
{
  const TnShardStrategy *given = &self->options.strategies[i];
  int offset;
  *own = *given;
  own->counts = NULL;
  own->inputs = g_new0 (TnLayout *, given->n_inputs + 1);
  for (int k = 0; given->inputs != NULL && k < given->n_inputs; k++)
    own->inputs[k] = given->inputs[k] != NULL ? tn_layout_ref (given->inputs[k]) : NULL;
  for (int id = 0; id < self->n_nodes; id++)
    if (tn_shard_find_strategy (self, tn_graph_node (self->source, id), &offset) == i)
      return given->inputs != NULL || layouts_of_counts (self, tn_graph_node (self->source, id), given, own->inputs, error);
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("The strategy “%s” fits no operator with %d inputs: name a cell, as in “tenon-cli graph”."), given->pattern, given->n_inputs);
  return FALSE;
}

/* Strategies may be on meshes of their own: all are brought to one that refines them. */
static gboolean
join_meshes (TnSharded *self, GError **error)
{
  for (int i = 0; i < self->options.n_strategies; i++)
    for (int k = 0; k < self->options.strategies[i].n_inputs; k++)
      {
        TnLayout *layout = self->options.strategies[i].inputs[k];
        if (layout == NULL || tn_mesh_equal (layout->mesh, self->mesh))
          continue;
        TnMesh *joined = tn_mesh_refine (self->mesh, layout->mesh, error);
        if (joined == NULL)
          {
            g_prefix_error (error, _ ("The strategy of “%s”: "), self->options.strategies[i].pattern);
            return FALSE;
          }
        tn_mesh_unref (self->mesh);
        self->mesh = joined;
      }
  return TRUE;
}

gboolean
tn_shard_resolve_strategies (TnSharded *self, GError **error)
{
  int n = self->options.n_strategies;
  g_array_set_size (self->own, (guint) n);
  for (int i = 0; i < n; i++)
    if (!resolve_one (self, i, &g_array_index (self->own, TnShardStrategy, i), error))
      return FALSE;
  self->options.strategies = (const TnShardStrategy *) self->own->data;
  return join_meshes (self, error);
}
