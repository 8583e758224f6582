/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/shard-private.h"

#include <string.h>
#include "base/error.h"
#include "ops/op.h"

/* ---- moves as nodes ---- */

TnValue *
tn_shard_collective (TnSharded *self, TnGraph *graph, const TnNode *asked_by, const char *what, TnMesh *mesh, uint32_t axes, TnMoveKind kind,
                     TnValue *x, int dim, int concat_dim, TnPartial op)
{
  int64_t list[TN_MESH_MAX_AXES], group = tn_mesh_span (mesh, axes);
  int n = 0;
  for (int i = 0; i < mesh->n_axes; i++)
    if (axes >> i & 1)
      list[n++] = i;
  TnAttr attrs[6] = { tn_attr_ints ("mesh", mesh->n_axes, mesh->sizes), tn_attr_ints ("axes", n, list), tn_attr_int ("group", group) };
  int n_attrs = 3;
  if (kind != TN_MOVE_ALL_REDUCE)
    attrs[n_attrs++] = tn_attr_int ("dim", dim);
  if (kind == TN_MOVE_ALL_TO_ALL)
    attrs[n_attrs++] = tn_attr_int ("concat_dim", concat_dim);
  if (kind == TN_MOVE_ALL_REDUCE || kind == TN_MOVE_REDUCE_SCATTER)
    attrs[n_attrs++] = tn_attr_string ("op", tn_partial_name (op));
  tn_graph_set_origin (graph, asked_by);
  tn_graph_set_phase (graph, TN_PHASE_COMMUNICATION);
  TnValue *y = tn_op (graph, kind == TN_MOVE_SLICE ? "ShardSlice" : tn_move_kind_name (kind), TN_IN (x), n_attrs, attrs);
  if (y != NULL && kind != TN_MOVE_SLICE)
    {
      static const double factor[] = { [TN_MOVE_ALL_GATHER] = 1, [TN_MOVE_ALL_TO_ALL] = 0, [TN_MOVE_REDUCE_SCATTER] = 0, [TN_MOVE_ALL_REDUCE] = 0 };
      double in = (double) (tn_shape_count (&x->shape) * (int64_t) tn_dtype_size (x->dtype)), g = (double) group;
      TnTraffic traffic = { kind, asked_by->phase, y->node->name, what, mesh, axes, group, (int64_t) in,
                            factor[kind] > 0 ? in * (g - 1) : in * (g - 1) / g * (kind == TN_MOVE_ALL_REDUCE ? 2 : 1) };
      tn_mesh_ref (mesh);
      g_array_append_val (self->traffic, traffic);
    }
  tn_graph_set_phase (graph, asked_by->phase);
  return y;
}

static TnValue *
reshaped (TnGraph *graph, TnValue *x, int n, const int64_t *dims)
{
  if (x == NULL)
    return NULL;
  gboolean same = x->shape.n_dims == n;
  for (int d = 0; same && d < n; d++)
    same = x->shape.dims[d] == dims[d];
  return same ? x : tn_op (graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", n, dims)));
}

static TnValue *
move (TnSharded *self, TnGraph *graph, const TnNode *asked_by, const TnValue *what, TnValue *x, const TnLayout *from, const TnLayout *to)
{
  TnRedistribution r;
  GError *error = NULL;
  TnShape local;
  if (!tn_redistribution_infer (&r, from, to, &what->shape, TN_REDISTRIBUTION_CHEAPEST, &error))
    {
      g_prefix_error (&error, "%s: ", what->node->name);
      tn_graph_fail (graph, error);
      return NULL;
    }
  tn_graph_set_origin (graph, asked_by);
  for (int i = 0; i < r.n_moves && x != NULL; i++)
    {
      const TnMove *m = &r.moves[i];
      int64_t dims[TN_MOVE_MAX_DIMS];
      int n = tn_redistribution_local_dims (&r, i, dims);
      uint32_t axes = 1u << m->axis;
      while (m->kind == TN_MOVE_ALL_REDUCE && i + 1 < r.n_moves && r.moves[i + 1].kind == TN_MOVE_ALL_REDUCE)
        axes |= 1u << r.moves[++i].axis;
      if (n > TN_MAX_DIMS)
        {
          tn_graph_fail (graph, g_error_new (TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_DIMS, _ ("%s: its dimensions are split by too many axes for one redistribution."), what->node->name));
          break;
        }
      if (m->kind != TN_MOVE_ALL_REDUCE)
        x = reshaped (graph, x, n, dims);
      x = tn_shard_collective (self, graph, asked_by, what->node->name, r.meshes[m->stage], axes, m->kind, x, m->dim, m->concat_dim, r.op);
    }
  if (x != NULL && tn_layout_local_shape (to, &what->shape, &local, NULL))
    x = reshaped (graph, x, local.n_dims, local.dims);
  tn_redistribution_clear (&r);
  return x;
}

/* @value in @layout, moved once for all who ask (level 3: once forward and once backward). */
static TnValue *
bring (TnSharded *self, TnRewrite *rewrite, const TnNode *asked_by, const TnValue *value, TnLayout *layout)
{
  TnLayout *have = self->layouts[tn_sharded_index (self, value)];
  TnValue *x = tn_rewrite_get (rewrite, value);
  if (x == NULL || tn_layout_equal (have, layout))
    return x;
  g_autofree char *text = tn_layout_to_string (layout);
  gboolean again = self->options.optimizer_level >= 3 && tn_node_is_parameter (value->node) && asked_by->phase == TN_PHASE_BACKWARD;
  char *key = g_strdup_printf ("%d %d %s", tn_sharded_index (self, value), again, text);
  TnValue *moved = g_hash_table_lookup (self->brought, key);
  if (moved == NULL)
    {
      moved = move (self, rewrite->to, asked_by, value, x, have, layout);
      g_hash_table_insert (self->brought, key, moved);
    }
  else
    g_free (key);
  return moved;
}

/* ---- nodes ---- */

static gboolean
write_leaf (TnSharded *self, TnRewrite *rewrite, const TnNode *node)
{
  if (tn_node_is_constant (node))
    return FALSE;
  const TnValue *value = &node->outputs[0];
  TnShape local;
  GError *error = NULL;
  if (!tn_layout_local_shape (self->layouts[tn_sharded_index (self, value)], &value->shape, &local, &error))
    {
      g_prefix_error (&error, "%s: ", node->name);
      tn_graph_fail (rewrite->to, error);
      return TRUE;
    }
  tn_graph_set_origin (rewrite->to, node);
  TnValue *copy = tn_node_is_input (node) ? tn_graph_add_input (rewrite->to, node->name, value->dtype, local)
                                          : tn_graph_add_parameter (rewrite->to, node->name, value->dtype, local, tn_node_parameter_info (node));
  tn_graph_set_origin (rewrite->to, NULL);
  tn_rewrite_set (rewrite, value, copy);
  return TRUE;
}

/* The node on slices: attributes that hold sizes of output 0 get the local ones. */
static void
write_plain (TnSharded *self, TnRewrite *rewrite, const TnNode *node, const TnNodePlan *plan, TnValue **inputs)
{
  g_autofree TnAttr *attrs = g_memdup2 (node->attrs, sizeof *attrs * (size_t) node->n_attrs);
  TnNode local = *node;
  TnShape shape;
  GError *error = NULL;
  if (!tn_layout_local_shape (plan->made[0], &node->outputs[0].shape, &shape, &error))
    {
      g_prefix_error (&error, "%s: ", node->name);
      tn_graph_fail (rewrite->to, error);
      return;
    }
  for (int i = 0; i < node->n_attrs; i++)
    {
      if (plan->rule.shape_attr != NULL && strcmp (attrs[i].name, plan->rule.shape_attr) == 0 && attrs[i].count == shape.n_dims)
        attrs[i].ints = shape.dims;
      if (plan->rule.size_attr != NULL && strcmp (attrs[i].name, plan->rule.size_attr) == 0)
        attrs[i].i = shape.dims[0];
    }
  local.attrs = attrs;
  TnNode *copy = tn_graph_copy_node (rewrite->to, &local, inputs);
  for (int o = 0; copy != NULL && o < node->n_outputs; o++)
    tn_rewrite_set (rewrite, &node->outputs[o], &copy->outputs[o]);
}

/* Gradients of parameters go to where the parameter lies as soon as they are there. */
static void
settle (TnSharded *self, TnRewrite *rewrite, const TnNode *node, const TnNodePlan *plan)
{
  for (int o = 0; o < node->n_outputs; o++)
    {
      TnLayout *kept = self->layouts[self->first[node->id] + o];
      TnValue *made = tn_rewrite_get (rewrite, &node->outputs[o]);
      if (made != NULL && !tn_layout_equal (plan->made[o], kept))
        tn_rewrite_set (rewrite, &node->outputs[o], move (self, rewrite->to, node, &node->outputs[o], made, plan->made[o], kept));
    }
}

static gboolean
write_node (TnRewrite *rewrite, const TnNode *node, gpointer data)
{
  TnSharded *self = data;
  const TnNodePlan *plan = &self->plans[node->id];
  if (node->n_inputs == 0 && plan->made == NULL)
    return write_leaf (self, rewrite, node);
  g_autofree TnValue **inputs = g_new0 (TnValue *, node->n_inputs + 1);
  for (int k = 0; k < node->n_inputs; k++)
    inputs[k] = bring (self, rewrite, node, node->inputs[k], plan->in[k]);
  tn_graph_set_origin (rewrite->to, node);
  tn_graph_set_phase (rewrite->to, node->phase);
  if (!tn_shard_write_special (self, rewrite, node, plan, inputs))
    write_plain (self, rewrite, node, plan, inputs);
  settle (self, rewrite, node, plan);
  tn_graph_set_origin (rewrite->to, NULL);
  tn_graph_set_phase (rewrite->to, TN_PHASE_FORWARD);
  return TRUE;
}

static TnGraph *
write_graph (TnSharded *self, GError **error)
{
  g_autoptr (TnGraph) to = tn_graph_rewrite (self->source, write_node, self, error);
  return to != NULL && tn_graph_check (to, error) ? g_steal_pointer (&to) : NULL;
}

/* ---- making one ---- */

/* "grad:fc1.weight" -> the parameter's id, for the value that is output under that name. */
static void
find_gradients (TnSharded *self)
{
  for (int i = 0; i < self->n_values; i++)
    self->parameter_of[i] = -1;
  for (int i = 0; i < tn_graph_n_outputs (self->source); i++)
    {
      TnNamedValue output = tn_graph_output (self->source, i);
      const TnValue *parameter = g_str_has_prefix (output.name, "grad:") ? tn_graph_find_parameter (self->source, output.name + strlen ("grad:")) : NULL;
      self->is_output[tn_sharded_index (self, output.value)] = TRUE;
      if (parameter != NULL && tn_shape_equal (&parameter->shape, &output.value->shape))
        self->parameter_of[tn_sharded_index (self, output.value)] = parameter->node->id;
    }
}

static void
clear_plans (TnSharded *self)
{
  for (int id = 0; id < self->n_nodes; id++)
    {
      TnNodePlan *plan = &self->plans[id];
      for (int k = 0; k < plan->n_in; k++)
        tn_layout_unref (plan->in[k]);
      for (int o = 0; o < plan->n_made; o++)
        tn_layout_unref (plan->made[o]);
      g_free (plan->in);
      g_free (plan->made);
      tn_rule_clear (&plan->rule);
      *plan = (TnNodePlan){ 0 };
    }
  for (int i = 0; i < self->n_values; i++)
    {
      g_clear_pointer (&self->layouts[i], tn_layout_unref);
      g_clear_pointer (&self->used[i], tn_layout_unref);
    }
}

static void
clear_layout (gpointer data)
{
  tn_layout_unref (data);
}

static gboolean
refine_strategies (TnSharded *self, GError **error)
{
  g_ptr_array_set_size (self->strategies, 0);
  for (int i = 0; i < self->options.n_strategies; i++)
    for (int k = 0; k < self->options.strategies[i].n_inputs; k++)
      {
        TnLayout *layout = self->options.strategies[i].inputs[k];
        TnLayout *refined = layout != NULL ? tn_layout_refined (layout, self->mesh, error) : NULL;
        if (layout != NULL && refined == NULL)
          return FALSE;
        g_ptr_array_add (self->strategies, refined);
      }
  return TRUE;
}

static gboolean
decide (TnSharded *self, GError **error)
{
  if (!tn_shard_resolve_strategies (self, error))
    return FALSE;
  for (int round = 0; round < TN_MESH_MAX_AXES; round++)
    {
      TnMesh *finer = NULL;
      if (!refine_strategies (self, error) || !tn_shard_plan (self, &finer, error))
        return FALSE;
      if (finer == NULL)
        return TRUE;
      clear_plans (self);
      tn_mesh_unref (self->mesh);
      self->mesh = finer;
    }
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_MESH, _ ("The strategies need a mesh of too many axes."));
  return FALSE;
}

void
tn_shard_clear_traffic (gpointer data)
{
  tn_mesh_unref (((TnTraffic *) data)->mesh);
}

TnSharded *
tn_shard_graph (TnGraph *graph, const TnShardOptions *options, GError **error)
{
  g_autoptr (TnSharded) self = g_new0 (TnSharded, 1);
  self->source = tn_graph_ref (graph);
  self->options = *options;
  self->mesh = tn_mesh_ref (options->mesh);
  self->n_nodes = tn_graph_n_nodes (graph);
  g_autofree int *counts = tn_graph_use_counts (graph, &self->first);
  self->n_values = self->n_nodes > 0 ? self->first[self->n_nodes - 1] + tn_graph_node (graph, self->n_nodes - 1)->n_outputs : 0;
  self->layouts = g_new0 (TnLayout *, self->n_values + 1);
  self->used = g_new0 (TnLayout *, self->n_values + 1);
  self->parameter_of = g_new0 (int, self->n_values + 1);
  self->is_output = g_new0 (gboolean, self->n_values + 1);
  self->plans = g_new0 (TnNodePlan, self->n_nodes + 1);
  self->strategies = g_ptr_array_new_with_free_func (clear_layout);
  self->traffic = g_array_new (FALSE, TRUE, sizeof (TnTraffic));
  g_array_set_clear_func (self->traffic, tn_shard_clear_traffic);
  self->own = g_array_new (FALSE, TRUE, sizeof (TnShardStrategy));
  g_array_set_clear_func (self->own, tn_shard_clear_strategy);
  self->brought = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  find_gradients (self);
  if (!decide (self, error))
    return NULL;
  self->graph = write_graph (self, error);
  if (self->graph == NULL || ((options->bucket_bytes > 0 || options->n_bucket_ends > 0) && !tn_shard_fuse (self, error)))
    return NULL;
  return g_steal_pointer (&self);
}

void
tn_sharded_free (TnSharded *self)
{
  if (self == NULL)
    return;
  clear_plans (self);
  g_clear_pointer (&self->graph, tn_graph_unref);
  g_clear_pointer (&self->source, tn_graph_unref);
  g_clear_pointer (&self->mesh, tn_mesh_unref);
  g_ptr_array_unref (self->strategies);
  g_array_unref (self->own);
  g_array_unref (self->traffic);
  g_hash_table_unref (self->brought);
  g_free (self->first);
  g_free (self->layouts);
  g_free (self->used);
  g_free (self->parameter_of);
  g_free (self->is_output);
  g_free (self->plans);
  g_free (self);
}

/* ---- reading ---- */

TnGraph *
tn_sharded_graph (const TnSharded *self)
{
  return self->graph;
}

TnMesh *
tn_sharded_mesh (const TnSharded *self)
{
  return self->mesh;
}

TnLayout *
tn_sharded_layout (const TnSharded *self, const TnValue *value)
{
  return self->layouts[tn_sharded_index (self, value)];
}

TnLayout *
tn_sharded_parameter (const TnSharded *self, const char *name)
{
  const TnValue *value = tn_graph_find_parameter (self->source, name);
  return value != NULL ? tn_sharded_layout (self, value) : NULL;
}

TnLayout *
tn_sharded_input (const TnSharded *self, const char *name)
{
  for (int i = 0; i < tn_graph_n_inputs (self->source); i++)
    if (strcmp (tn_graph_input (self->source, i)->node->name, name) == 0)
      return tn_sharded_layout (self, tn_graph_input (self->source, i));
  return NULL;
}

TnLayout *
tn_sharded_output (const TnSharded *self, const char *name)
{
  const TnValue *value = tn_graph_find_output (self->source, name);
  return value != NULL ? tn_sharded_layout (self, value) : NULL;
}

int
tn_sharded_n_traffic (const TnSharded *self)
{
  return (int) self->traffic->len;
}

const TnTraffic *
tn_sharded_traffic (const TnSharded *self, int i)
{
  return &g_array_index (self->traffic, TnTraffic, i);
}
