/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/shard-private.h"

#include <string.h>
#include "base/error.h"
#include "ops/op.h"

TnAxisRole
tn_axis_role (const char *name)
{
  static const struct { const char *name; TnAxisRole role; } known[] = {
    { "dp", TN_AXIS_BATCH }, { "data", TN_AXIS_BATCH }, { "batch", TN_AXIS_BATCH }, { "fsdp", TN_AXIS_BATCH },
    { "tp", TN_AXIS_WEIGHT }, { "mp", TN_AXIS_WEIGHT }, { "model", TN_AXIS_WEIGHT },
    { "sp", TN_AXIS_SEQUENCE }, { "seq", TN_AXIS_SEQUENCE }, { "cp", TN_AXIS_SEQUENCE },
  };
  const char *end = strrchr (name, '_'); /* "dp_1": a piece of dp */
  size_t n = end != NULL && end[1] != '\0' && strspn (end + 1, "0123456789") == strlen (end + 1) ? (size_t) (end - name) : strlen (name);
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (strlen (known[i].name) == n && g_ascii_strncasecmp (known[i].name, name, n) == 0)
      return known[i].role;
  return TN_AXIS_OTHER;
}

uint32_t
tn_dim_axes (const TnDimMap *dim)
{
  uint32_t axes = 0;
  for (int k = 0; k < dim->n; k++)
    if (dim->axes[k] >= 0)
      axes |= 1u << dim->axes[k];
  return axes;
}

static int64_t
dim_count (const TnMesh *mesh, const TnDimMap *dim)
{
  return tn_mesh_span (mesh, tn_dim_axes (dim));
}

static void
set_layout (TnLayout **slot, TnLayout *layout)
{
  TnLayout *old = *slot;
  *slot = layout;
  tn_layout_unref (old);
}

/* ---- leaves ---- */

static gboolean
plan_input (TnSharded *self, const TnValue *value, GError **error)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  TnShape local;
  int n = value->shape.n_dims;
  gboolean tokens = n == 3 || (n == 2 && !tn_dtype_is_float (value->dtype));
  for (int i = 0; i < self->mesh->n_axes && n > 0 && self->options.dataset == TN_DATASET_DATA_PARALLEL; i++)
    {
      TnAxisRole role = tn_axis_role (self->mesh->names[i]);
      if (role == TN_AXIS_BATCH)
        dims[0].axes[dims[0].n++] = (int8_t) i;
      else if (role == TN_AXIS_SEQUENCE && tokens)
        dims[1].axes[dims[1].n++] = (int8_t) i;
    }
  g_autoptr (TnLayout) layout = tn_layout_new (self->mesh, n, dims, 0, TN_PARTIAL_NONE, error);
  if (layout == NULL)
    return FALSE;
  if (!tn_layout_local_shape (layout, &value->shape, &local, error))
    {
      g_prefix_error (error, _ ("Input “%s”: "), value->node->name);
      return FALSE;
    }
  int at = tn_sharded_index (self, value);
  set_layout (&self->layouts[at], tn_layout_ref (layout));
  set_layout (&self->used[at], g_steal_pointer (&layout));
  return TRUE;
}

static void
plan_whole (TnSharded *self, const TnValue *value)
{
  int at = tn_sharded_index (self, value);
  set_layout (&self->layouts[at], tn_layout_new_replicated (self->mesh, value->shape.n_dims));
  set_layout (&self->used[at], tn_layout_ref (self->layouts[at]));
}

/* As it lies in the graph that this one goes along with, whatever the node that reads it wants. */
static gboolean
plan_like (TnSharded *self, const TnValue *value, TnLayout *layout, TnLayout *there, GError **error)
{
  int at = tn_sharded_index (self, value);
  TnLayout *kept = tn_layout_refined (there, self->mesh, error);
  if (kept == NULL)
    return FALSE;
  set_layout (&self->layouts[at], kept);
  set_layout (&self->used[at], tn_layout_ref (layout));
  return TRUE;
}

/* A parameter is first read: it is computed with as @layout, and kept so or cut further by the optimizer's sharding. */
static gboolean
plan_parameter (TnSharded *self, const TnValue *value, TnLayout *layout, TnMesh **finer, GError **error)
{
  TnLayout *there = self->options.like != NULL ? tn_sharded_parameter (self->options.like, value->node->name) : NULL;
  if (there != NULL)
    return plan_like (self, value, layout, there, error);
  int at = tn_sharded_index (self, value);
  const TnParameterInfo *info = tn_node_parameter_info (value->node);
  g_autoptr (TnLayout) kept = tn_layout_ref (layout);
  int64_t bytes = tn_shape_count (&value->shape) * (int64_t) tn_dtype_size (value->dtype);
  TnShape local;
  if (self->options.optimizer_level > 0 && info->role == TN_ROLE_TRAINED && !info->frozen && value->shape.n_dims > 0 && bytes >= self->options.optimizer_threshold)
    {
      g_autoptr (TnLayout) folded = tn_layout_fold_optimizer (layout, self->options.optimizer_shard, NULL);
      if (folded != NULL && tn_layout_local_shape (folded, &value->shape, &local, NULL))
        {
          if (folded->mesh != self->mesh)
            {
              *finer = tn_mesh_ref (folded->mesh);
              return TRUE;
            }
          set_layout (&kept, tn_layout_ref (folded));
        }
    }
  set_layout (&self->layouts[at], g_steal_pointer (&kept));
  set_layout (&self->used[at], tn_layout_ref (layout));
  return TRUE;
}

/* ---- the labels of a node ---- */

typedef struct
{
  TnSharded *self;
  const TnNode *node;
  TnNodePlan *plan;
  uint32_t taken; /* axes that split a label */
} Choice;

static gboolean
divides (const Choice *c, int label, int64_t n)
{
  const TnRule *rule = &c->plan->rule;
  for (int k = 0; k < c->node->n_inputs; k++)
    for (int d = 0; d < tn_in_shape (c->node, k)->n_dims; d++)
      if (rule->in[k][d] == label && tn_in_shape (c->node, k)->dims[d] % n != 0)
        return FALSE;
  for (int o = 0; o < MIN (c->node->n_outputs, TN_RULE_MAX_OUTPUTS); o++)
    for (int d = 0; d < c->node->outputs[o].shape.n_dims; d++)
      if (rule->out[o][d] == label && c->node->outputs[o].shape.dims[d] % n != 0)
        return FALSE;
  return TRUE;
}

static gboolean
assign (Choice *c, int label, const TnDimMap *dim)
{
  uint32_t axes = tn_dim_axes (dim);
  if (label < 0 || axes == 0 || c->plan->labels[label].n > 0 || (axes & c->taken) != 0 || !divides (c, label, dim_count (c->self->mesh, dim)))
    return FALSE;
  c->plan->labels[label].n = 0;
  for (int k = 0; k < dim->n; k++)
    if (dim->axes[k] >= 0)
      c->plan->labels[label].axes[c->plan->labels[label].n++] = dim->axes[k];
  c->taken |= axes;
  return TRUE;
}

/* Labels take the axes that split input @k now. */
static void
follow (Choice *c, int k)
{
  const TnValue *value = c->node->inputs[k];
  int at = tn_sharded_index (c->self, value);
  const TnLayout *layout = c->node->phase == TN_PHASE_OPTIMIZER ? c->self->layouts[at] : c->self->used[at];
  for (int d = 0; layout != NULL && d < layout->n_dims; d++)
    assign (c, c->plan->rule.in[k][d], &layout->dims[d]);
}

static int64_t
weight_of (const TnNode *node, int k)
{
  const TnValue *value = node->inputs[k];
  int64_t bytes = tn_shape_count (&value->shape) * (int64_t) tn_dtype_size (value->dtype);
  gboolean fixed_first = node->phase == TN_PHASE_OPTIMIZER;
  return tn_node_is_parameter (value->node) == fixed_first ? bytes + (G_MAXINT64 >> 1) : bytes;
}

static void
follow_inputs (Choice *c)
{
  g_autofree gboolean *done = g_new0 (gboolean, c->node->n_inputs + 1);
  for (int round = 0; round < c->node->n_inputs; round++)
    {
      int best = -1;
      for (int k = 0; k < c->node->n_inputs; k++)
        if (!done[k] && (best < 0 || weight_of (c->node, k) > weight_of (c->node, best)))
          best = k;
      done[best] = TRUE;
      follow (c, best);
    }
}

/* Labels that no input splits take what the parameter has whose gradient comes out. */
static void
follow_gradient (Choice *c)
{
  for (int o = 0; o < MIN (c->node->n_outputs, TN_RULE_MAX_OUTPUTS); o++)
    {
      int parameter = c->self->parameter_of[c->self->first[c->node->id] + o];
      const TnLayout *layout = parameter >= 0 ? c->self->used[c->self->first[parameter]] : NULL;
      for (int d = 0; layout != NULL && d < layout->n_dims; d++)
        assign (c, c->plan->rule.out[o][d], &layout->dims[d]);
    }
}

static gboolean
reads_new_weight (const Choice *c, int label)
{
  for (int k = 0; k < c->node->n_inputs; k++)
    if (tn_node_is_parameter (c->node->inputs[k]->node) && c->self->layouts[tn_sharded_index (c->self, c->node->inputs[k])] == NULL)
      for (int d = 0; d < c->node->inputs[k]->shape.n_dims; d++)
        if (c->plan->rule.in[k][d] == label)
          return TRUE;
  return FALSE;
}

/* Axes for weights split the rule's weight label, where the activation did not bring them along another one: so columns
 * and rows take turns from layer to layer. */
static void
split_weights (Choice *c)
{
  int label = c->plan->rule.weight_label;
  const TnMesh *mesh = c->self->mesh;
  TnDimMap dim = { 0 };
  if (label < 0 || c->node->phase != TN_PHASE_FORWARD || !reads_new_weight (c, label))
    return;
  for (int i = 0; i < mesh->n_axes; i++)
    if (tn_axis_role (mesh->names[i]) == TN_AXIS_WEIGHT && !(c->taken >> i & 1))
      dim.axes[dim.n++] = (int8_t) i;
  assign (c, label, &dim);
}

/* ---- strategies ---- */

static gboolean
refuse (const Choice *c, int k, int d, const char *why, GError **error)
{
  g_autofree char *shape = tn_shape_to_string (tn_in_shape (c->node, k));
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("The strategy of %s (%s) cannot split dimension %d of input %d, of shape %s: %s."), c->node->name,
               c->node->op->name, d, k, shape, why);
  return FALSE;
}

static gboolean
follow_strategy (Choice *c, GError **error)
{
  int offset, i = tn_shard_find_strategy (c->self, c->node, &offset);
  for (int k = 0; i >= 0 && k < c->node->n_inputs; k++)
    {
      const TnLayout *layout = c->self->strategies->pdata[offset + k];
      TnShape local;
      if (layout == NULL)
        continue;
      if (!tn_layout_local_shape (layout, tn_in_shape (c->node, k), &local, error))
        {
          g_prefix_error (error, _ ("The strategy of %s, input %d: "), c->node->name, k);
          return FALSE;
        }
      for (int d = 0; d < layout->n_dims; d++)
        {
          uint32_t axes = tn_dim_axes (&layout->dims[d]);
          int label = c->plan->rule.in[k][d];
          if (axes == 0 || tn_mesh_span (c->self->mesh, axes) == 1)
            continue;
          if (label < 0)
            return refuse (c, k, d, _ ("the operator needs it whole"), error);
          if (!assign (c, label, &layout->dims[d]) && tn_dim_axes (&c->plan->labels[label]) != axes)
            return refuse (c, k, d, _ ("it must be split like the dimension of another input that it goes with, and an axis splits one dimension"), error);
        }
    }
  return TRUE;
}

/* ---- layouts of a node ---- */

static TnLayout *
layout_of (const Choice *c, const int8_t *labels, int n_dims, uint32_t partial, TnPartial op)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  for (int d = 0; d < n_dims; d++)
    if (labels[d] >= 0)
      dims[d] = c->plan->labels[labels[d]];
  return tn_layout_new (c->self->mesh, n_dims, dims, partial, op, NULL);
}

/* Axes along which all inputs are partial in the same way, where the operator is linear in them. */
static uint32_t
passing_partial (const Choice *c, TnPartial *op)
{
  const TnNode *node = c->node;
  gboolean sum = tn_node_is (node, "Add") || tn_node_is (node, "AddN");
  if (!c->plan->rule.partial_through && !sum)
    return 0;
  const TnLayout *first = c->self->layouts[tn_sharded_index (c->self, node->inputs[0])];
  for (int k = 0; k < node->n_inputs; k++)
    {
      const TnLayout *layout = c->self->layouts[tn_sharded_index (c->self, node->inputs[k])];
      if (layout == NULL || layout->partial != first->partial || layout->op != first->op || (sum && layout->op != TN_PARTIAL_SUM)
          || !tn_shape_equal (tn_in_shape (node, k), tn_in_shape (node, 0)))
        return 0;
    }
  *op = first->op;
  return first->partial & ~c->taken;
}

static uint32_t
reduced_axes (const Choice *c, int o, TnPartial *op)
{
  const TnRule *rule = &c->plan->rule;
  uint32_t axes = 0;
  for (int l = 0; l < rule->n_labels; l++)
    {
      gboolean there = FALSE;
      for (int d = 0; d < c->node->outputs[o].shape.n_dims; d++)
        there |= rule->out[o][d] == l;
      if (there || rule->reduce[l] == TN_PARTIAL_NONE || c->plan->labels[l].n == 0)
        continue;
      axes |= tn_dim_axes (&c->plan->labels[l]);
      *op = rule->reduce[l];
    }
  return axes;
}

static gboolean
settle_inputs (Choice *c, uint32_t partial, TnPartial op, TnMesh **finer, GError **error)
{
  TnNodePlan *plan = c->plan;
  const TnNode *node = c->node;
  plan->n_in = node->n_inputs;
  plan->in = g_new0 (TnLayout *, node->n_inputs + 1);
  for (int k = 0; k < node->n_inputs; k++)
    {
      int at = tn_sharded_index (c->self, node->inputs[k]);
      TnLayout *have = c->self->layouts[at];
      if (plan->rule.kind == TN_RULE_GLOBAL_NORM)
        plan->in[k] = tn_layout_with_partial (have, 0, TN_PARTIAL_NONE);
      else
        plan->in[k] = layout_of (c, plan->rule.in[k], tn_in_shape (node, k)->n_dims, partial, op);
      if (have == NULL && !plan_parameter (c->self, node->inputs[k], plan->in[k], finer, error))
        return FALSE;
      if (*finer != NULL)
        return TRUE;
    }
  return TRUE;
}

static gboolean
plan_node (TnSharded *self, const TnNode *node, TnMesh **finer, GError **error)
{
  TnNodePlan *plan = &self->plans[node->id];
  Choice c = { self, node, plan, 0 };
  gboolean has_rule = tn_rule_for (node, &plan->rule);
  if (plan->rule.kind == TN_RULE_BATCH_NORM || plan->rule.kind == TN_RULE_BATCH_NORM_GRAD)
    if (self->options.local_batch_norm || !tn_node_bool (node, "is_training"))
      {
        plan->rule.reduce[0] = plan->rule.kind == TN_RULE_BATCH_NORM_GRAD ? TN_PARTIAL_SUM : TN_PARTIAL_NONE;
        plan->rule.kind = TN_RULE_PLAIN;
      }
  if (plan->rule.kind == TN_RULE_LOOKUP_GRAD && tn_node_int (node, "padding_idx") >= 0)
    plan->rule.out[0][0] = TN_RULE_WHOLE;
  if (has_rule)
    {
      if (!follow_strategy (&c, error))
        return FALSE;
      follow_inputs (&c);
      split_weights (&c);
      follow_gradient (&c);
    }
  TnPartial op = TN_PARTIAL_NONE;
  uint32_t partial = passing_partial (&c, &op);
  if (!settle_inputs (&c, partial, op, finer, error) || *finer != NULL)
    return *finer != NULL;
  plan->n_made = node->n_outputs;
  plan->made = g_new0 (TnLayout *, node->n_outputs + 1);
  for (int o = 0; o < node->n_outputs; o++)
    {
      static const int8_t whole[TN_MAX_DIMS] = { -1, -1, -1, -1, -1, -1, -1, -1 };
      TnPartial reduce = op;
      uint32_t axes = partial != 0 || o >= TN_RULE_MAX_OUTPUTS ? partial : reduced_axes (&c, o, &reduce);
      plan->made[o] = layout_of (&c, o < TN_RULE_MAX_OUTPUTS ? plan->rule.out[o] : whole, node->outputs[o].shape.n_dims, axes, reduce);
      int at = self->first[node->id] + o, parameter = self->parameter_of[at];
      TnLayout *kept = parameter >= 0 ? self->layouts[self->first[parameter]] : plan->made[o];
      if (kept == NULL)
        kept = plan->made[o];
      kept = self->is_output[at] ? tn_layout_with_partial (kept, 0, TN_PARTIAL_NONE) : tn_layout_ref (kept);
      set_layout (&self->layouts[at], kept);
      set_layout (&self->used[at], tn_layout_ref (kept));
    }
  return TRUE;
}

gboolean
tn_shard_plan (TnSharded *self, TnMesh **finer, GError **error)
{
  for (int id = 0; id < self->n_nodes; id++)
    {
      const TnNode *node = tn_graph_node (self->source, id);
      if (tn_node_is_input (node))
        {
          if (!plan_input (self, &node->outputs[0], error))
            return FALSE;
        }
      else if (tn_node_is_constant (node))
        plan_whole (self, &node->outputs[0]);
      else if (!tn_node_is_parameter (node) && (!plan_node (self, node, finer, error) || *finer != NULL))
        return *finer != NULL;
    }
  for (int i = 0; i < tn_graph_n_parameters (self->source); i++) /* nobody reads these */
    if (self->layouts[tn_sharded_index (self, tn_graph_parameter (self->source, i))] == NULL)
      plan_whole (self, tn_graph_parameter (self->source, i));
  return TRUE;
}
