/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/eager.h"
#include "base/error.h"
#include "device/cpu/plan.h"
#include "ir/interpret.h"
#include <string.h>

/* ---- cache of one-operator plans ---- */

typedef struct
{
  TnPlan *plan;
  char *memory;
} Ready;

struct _TnEagerCache
{
  GHashTable *by_signature;
};

static void
free_ready (gpointer data)
{
  Ready *ready = data;
  tn_plan_unref (ready->plan);
  g_aligned_free (ready->memory);
  g_free (ready);
}

TnEagerCache *
tn_eager_cache_new (void)
{
  TnEagerCache *self = g_new0 (TnEagerCache, 1);
  self->by_signature = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_ready);
  return self;
}

void
tn_eager_cache_free (TnEagerCache *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->by_signature);
  g_free (self);
}

static void
append_value (GString *key, const TnValue *value)
{
  g_string_append_printf (key, "|%d%c", value->dtype, tn_node_is_parameter (value->node) ? 'p' : 'v');
  for (int d = 0; d < value->shape.n_dims; d++)
    g_string_append_printf (key, ",%" G_GINT64_FORMAT, value->shape.dims[d]);
}

/* What a plan of the node depends on. Random nodes draw by name, so that counts for them. */
static char *
signature (const TnNode *node)
{
  GString *key = g_string_new (node->op->name);
  for (int i = 0; i < node->n_inputs; i++)
    append_value (key, node->inputs[i]);
  for (int i = 0; i < node->n_attrs; i++)
    {
      const TnAttr *attr = &node->attrs[i];
      g_string_append_printf (key, "|%s=", attr->name);
      if (attr->type == TN_ATTR_STRING)
        g_string_append (key, attr->s);
      else if (attr->type == TN_ATTR_FLOAT)
        g_string_append_printf (key, "%a", attr->f);
      else if (attr->type == TN_ATTR_INTS)
        for (int k = 0; k < attr->count; k++)
          g_string_append_printf (key, "%" G_GINT64_FORMAT ",", attr->ints[k]);
      else if (attr->type == TN_ATTR_FLOATS)
        for (int k = 0; k < attr->count; k++)
          g_string_append_printf (key, "%a,", attr->floats[k]);
      else if (attr->type == TN_ATTR_TENSOR)
        g_string_append_printf (key, "%p", (void *) attr->tensor);
      else
        g_string_append_printf (key, "%" G_GINT64_FORMAT, attr->i);
    }
  if ((node->op->flags & TN_OP_RANDOM) != 0)
    g_string_append_printf (key, "|%s|%s", node->scope, node->name);
  return g_string_free (key, FALSE);
}

static TnGraph *
single_node_graph (const TnNode *node)
{
  g_autoptr (TnGraph) graph = tn_graph_new (node->op->name);
  g_autofree TnValue **inputs = g_new0 (TnValue *, node->n_inputs + 1);
  for (int i = 0; i < node->n_inputs; i++)
    {
      const TnValue *value = node->inputs[i];
      g_autofree char *name = g_strdup_printf ("input%d", i);
      inputs[i] = tn_node_is_parameter (value->node)
                      ? tn_graph_add_parameter (graph, name, value->dtype, value->shape, &(TnParameterInfo){ .init = "zeros" })
                      : tn_graph_add_input (graph, name, value->dtype, value->shape);
    }
  TnNode *copy = tn_graph_copy_node (graph, node, inputs);
  for (int i = 0; copy != NULL && i < copy->n_outputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("output%d", i);
      tn_graph_add_output (graph, name, &copy->outputs[i]);
    }
  return g_steal_pointer (&graph);
}

/* ---- the runner ---- */

struct _TnEager
{
  TnGraph *graph;
  TnCpuTarget target;
  TnPool *pool;
  TnEagerCache *cache;
  TnRandomState random;
  GPtrArray *results; /* by node id: TnTensor *[n_outputs], NULL where it has not run */
  int next;
  TnEagerBreak breakpoint;
  gpointer breakpoint_data;
};

TnEager *
tn_eager_new (TnGraph *graph, const TnCpuTarget *target, TnPool *pool, TnEagerCache *cache)
{
  TnEager *self = g_new0 (TnEager, 1);
  self->graph = tn_graph_ref (graph);
  self->target = *target;
  self->pool = pool;
  self->cache = cache;
  self->results = g_ptr_array_new ();
  return self;
}

void
tn_eager_free (TnEager *self)
{
  if (self == NULL)
    return;
  for (guint id = 0; id < self->results->len; id++)
    {
      TnTensor **tensors = self->results->pdata[id];
      for (int i = 0; tensors != NULL && i < tn_graph_node (self->graph, (int) id)->n_outputs; i++)
        g_clear_pointer (&tensors[i], tn_tensor_unref);
      g_free (tensors);
    }
  g_ptr_array_unref (self->results);
  tn_graph_unref (self->graph);
  g_free (self);
}

static TnTensor **
results_of (TnEager *self, int id)
{
  if (self->results->len <= (guint) id)
    g_ptr_array_set_size (self->results, id + 1);
  if (self->results->pdata[id] == NULL)
    self->results->pdata[id] = g_new0 (TnTensor *, tn_graph_node (self->graph, id)->n_outputs + 1);
  return self->results->pdata[id];
}

void
tn_eager_bind (TnEager *self, const TnValue *leaf, TnTensor *tensor)
{
  g_return_if_fail (tensor->dtype == leaf->dtype && tn_shape_equal (&tensor->shape, &leaf->shape) && tn_tensor_is_contiguous (tensor));
  TnTensor **results = results_of (self, leaf->node->id);
  g_clear_pointer (&results[0], tn_tensor_unref);
  results[0] = tn_tensor_ref (tensor);
}

void
tn_eager_set_random (TnEager *self, uint64_t seed, uint64_t step, int64_t first_sample)
{
  self->random = (TnRandomState){ seed, step, first_sample };
}

void
tn_eager_set_breakpoint (TnEager *self, TnEagerBreak func, gpointer data)
{
  self->breakpoint = func;
  self->breakpoint_data = data;
}

int
tn_eager_position (const TnEager *self)
{
  return self->next;
}

static Ready *
get_ready (TnEager *self, const TnNode *node, GError **error)
{
  g_autofree char *key = signature (node);
  Ready *ready = g_hash_table_lookup (self->cache->by_signature, key);
  if (ready != NULL)
    return ready;
  g_autoptr (TnGraph) graph = single_node_graph (node);
  TnPlan *plan = tn_plan_new (graph, &self->target, error);
  if (plan == NULL)
    return NULL;
  ready = g_new0 (Ready, 1);
  ready->plan = plan;
  ready->memory = g_aligned_alloc0 (1, MAX (tn_plan_bytes (plan, self->pool != NULL ? tn_pool_n_threads (self->pool) : 1), 64), 64);
  g_hash_table_insert (self->cache->by_signature, g_steal_pointer (&key), ready);
  return ready;
}

/* Runs @node by its plan on @inputs. Outputs are copied out, but for those that were written into a parameter. */
static gboolean
run_planned (TnEager *self, const TnNode *node, TnTensor *const *inputs, TnTensor **outputs, GError **error)
{
  Ready *ready = get_ready (self, node, error);
  if (ready == NULL)
    return FALSE;
  g_autofree const void **data = g_new0 (const void *, node->n_inputs + 1);
  g_autofree void **state = g_new0 (void *, node->n_inputs + 1);
  int n_data = 0, n_state = 0;
  for (int i = 0; i < node->n_inputs; i++)
    if (tn_node_is_parameter (node->inputs[i]->node))
      state[n_state++] = tn_tensor_data (inputs[i]);
    else
      data[n_data++] = tn_tensor_data (inputs[i]);
  TnPlanRun run = { .pool = self->pool, .memory = ready->memory, .inputs = data, .state = state, .seed = self->random.seed,
                    .step = self->random.step, .first_sample = self->random.first_sample };
  if (!tn_plan_run (ready->plan, &run, 0, tn_plan_n_waves (ready->plan), error))
    return FALSE;
  for (int i = 0; i < node->n_outputs; i++)
    {
      int mutated = i < TN_MAX_MUTATED ? node->op->mutates[i] : 0;
      if (mutated > 0)
        outputs[i] = tn_tensor_ref (inputs[mutated - 1]);
      else if ((outputs[i] = tn_tensor_new (node->outputs[i].dtype, node->outputs[i].shape, error)) == NULL)
        return FALSE;
      else
        memcpy (tn_tensor_data (outputs[i]), tn_plan_output (ready->plan, &run, i), tn_tensor_bytes (outputs[i]));
    }
  return TRUE;
}

static gboolean
run_node (TnEager *self, const TnNode *node, GError **error)
{
  TnTensor **outputs = results_of (self, node->id);
  if (tn_node_is_constant (node))
    {
      outputs[0] = tn_tensor_ref (tn_node_constant (node));
      return TRUE;
    }
  if ((node->op->flags & TN_OP_LEAF) != 0)
    {
      if (outputs[0] != NULL)
        return TRUE;
      g_set_error (error, TN_ERROR, TN_ERROR_STATE, _ ("%s has no value: bind a tensor to it before the run"), node->name);
      return FALSE;
    }
  g_autofree TnTensor **inputs = g_new0 (TnTensor *, node->n_inputs + 1);
  for (int i = 0; i < node->n_inputs; i++)
    inputs[i] = results_of (self, node->inputs[i]->node->id)[node->inputs[i]->index];
  return tn_cpu_kernel_find (node, &self->target) != NULL ? run_planned (self, node, inputs, outputs, error)
                                                          : tn_interpret_node (node, inputs, outputs, &self->random, error);
}

static gboolean
run_until (TnEager *self, int end, gboolean *stopped, GError **error)
{
  *stopped = FALSE;
  if (!tn_graph_check (self->graph, error))
    return FALSE;
  for (; self->next < end; self->next++)
    {
      const TnNode *node = tn_graph_node (self->graph, self->next);
      if (self->breakpoint != NULL && !self->breakpoint (node, self->breakpoint_data))
        {
          *stopped = TRUE;
          return TRUE;
        }
      if (!run_node (self, node, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
tn_eager_run (TnEager *self, GError **error)
{
  gboolean stopped;
  if (!run_until (self, tn_graph_n_nodes (self->graph), &stopped, error))
    return FALSE;
  if (!stopped && self->breakpoint != NULL)
    self->breakpoint (NULL, self->breakpoint_data);
  return TRUE;
}

TnTensor *
tn_eager_value (TnEager *self, const TnValue *value, GError **error)
{
  gboolean stopped;
  if (value == NULL)
    {
      tn_graph_check (self->graph, error);
      return NULL;
    }
  if (!run_until (self, MAX (value->node->id + 1, self->next), &stopped, error))
    return NULL;
  TnTensor *tensor = self->next > value->node->id ? results_of (self, value->node->id)[value->index] : NULL;
  if (tensor == NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_STATE, _ ("%s has not run: the run stopped before it"), value->node->name);
  return tensor;
}
