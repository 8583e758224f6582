/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "device/cpu/plan-internal.h"

int
tn_plan_root (const TnPlan *plan, int buffer)
{
  while (tn_plan_buffer (plan, buffer)->parent >= 0)
    buffer = tn_plan_buffer (plan, buffer)->parent;
  return buffer;
}

static int
flat_index (const TnPlan *plan, const TnValue *value)
{
  return plan->first[value->node->id] + value->index;
}

static int *
buffer_slot (TnPlan *plan, const TnValue *value, TnCpuLayout layout)
{
  return &plan->buffer_of[flat_index (plan, value) * TN_LAYOUT_COUNT + (int) layout];
}

static int
add_buffer (TnPlan *plan, const TnValue *value, TnCpuLayout layout, TnHome home)
{
  TnBuffer buffer = { .value = value, .layout = layout, .home = home, .parent = -1, .producer = -1 };
  buffer.bytes = tn_cpu_layout_bytes (value, layout, &plan->target, &buffer.slice_bytes);
  g_array_append_val (plan->buffers, buffer);
  return *buffer_slot (plan, value, layout) = (int) plan->buffers->len - 1;
}

static int
add_step (TnPlan *plan, TnStep step)
{
  g_array_append_val (plan->steps, step);
  int id = (int) plan->steps->len - 1;
  for (int i = 0; i < step.n_out; i++)
    if (tn_plan_buffer (plan, step.out[i])->producer < 0)
      tn_plan_buffer (plan, step.out[i])->producer = id;
  return id;
}

/* ---- conversions ---- */

static int
convert (TnPlan *plan, const TnValue *value, TnCpuLayout from, TnCpuLayout to, int stage, GError **error)
{
  const TnCpuKernel *kernel = tn_cpu_convert_find (from, to);
  if (kernel == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INTERNAL, "no conversion of layout %d to %d for %s", from, to, value->node->name);
      return -1;
    }
  TnStep step = { .node = value->node, .kernel = kernel, .conversion = TRUE, .from = from, .to = to, .stage = stage,
                  .sliced = kernel->sliced, .rows = value->shape.n_dims > 0 ? value->shape.dims[0] : 1, .n_in = 1, .n_out = 1 };
  step.data = tn_cpu_convert_prepare (value, from, to, &plan->target, error);
  if (step.data == NULL)
    return -1;
  step.in = tn_arena_new0 (plan->arena, int, 1);
  step.out = tn_arena_new0 (plan->arena, int, 1);
  step.in[0] = *buffer_slot (plan, value, from);
  int buffer = add_buffer (plan, value, to, TN_HOME_ARENA);
  step.out[0] = buffer;
  add_step (plan, step);
  return buffer;
}

/* The value in @layout: as it is, or converted from the layout that it was made in. */
static int
buffer_in (TnPlan *plan, const TnValue *value, TnCpuLayout layout, int stage, GError **error)
{
  int buffer = *buffer_slot (plan, value, layout);
  if (buffer >= 0)
    return buffer;
  TnCpuLayout native = plan->native[flat_index (plan, value)];
  if (tn_cpu_convert_find (native, layout) != NULL)
    return convert (plan, value, native, layout, stage, error);
  TnCpuLayout between = layout == TN_LAYOUT_PANELS ? TN_LAYOUT_LANES : TN_LAYOUT_ROW;
  if (buffer_in (plan, value, between, stage, error) < 0)
    return -1;
  return convert (plan, value, between, layout, stage, error);
}

/* ---- nodes ---- */

static void
add_leaf (TnPlan *plan, const TnNode *node, int *n_inputs, int *n_state)
{
  const TnValue *value = &node->outputs[0];
  TnHome home = tn_node_is_input (node) ? TN_HOME_INPUT : tn_node_is_parameter (node) ? TN_HOME_STATE : TN_HOME_CONSTANT;
  TnBuffer *buffer = tn_plan_buffer (plan, add_buffer (plan, value, TN_LAYOUT_ROW, home));
  if (home == TN_HOME_INPUT)
    buffer->index = (*n_inputs)++;
  else if (home == TN_HOME_STATE)
    buffer->index = (*n_state)++;
  else
    buffer->constant = tn_tensor_data (tn_node_constant (node));
}

/* Reshape and its like cost nothing: another name for the same memory, row-major or, where rows stay rows, in lanes. */
static gboolean
add_view (TnPlan *plan, const TnNode *node, int stage, GError **error)
{
  const TnValue *from = node->inputs[0], *to = &node->outputs[0];
  TnCpuLayout layout = plan->native[flat_index (plan, from)];
  gboolean rows_stay = from->shape.n_dims > 0 && to->shape.n_dims > 0 && from->shape.dims[0] == to->shape.dims[0];
  if (layout != TN_LAYOUT_LANES || !rows_stay)
    layout = TN_LAYOUT_ROW;
  int source = buffer_in (plan, from, layout, stage, error);
  if (source < 0)
    return FALSE;
  int view = add_buffer (plan, to, layout, TN_HOME_ARENA);
  tn_plan_buffer (plan, view)->parent = source;
  tn_plan_buffer (plan, view)->producer = tn_plan_buffer (plan, source)->producer;
  plan->native[flat_index (plan, to)] = layout;
  return TRUE;
}

static TnCpuLayout
wanted_layout (const TnPlan *plan, const TnCpuKernel *kernel, const TnNode *node, TnCpuLayout layout)
{
  if (kernel == NULL)
    return TN_LAYOUT_ROW;
  if (layout != TN_LAYOUT_SAME)
    return layout;
  TnCpuLayout native = plan->native[flat_index (plan, node->inputs[0])];
  return native == TN_LAYOUT_PANELS ? TN_LAYOUT_ROW : native;
}

static gboolean
add_node (TnPlan *plan, const TnNode *node, GError **error)
{
  int stage = node->phase == TN_PHASE_OPTIMIZER ? 1 : 0;
  if ((node->op->flags & TN_OP_VIEW) != 0)
    return add_view (plan, node, stage, error);
  const TnCpuKernel *kernel = tn_cpu_kernel_find (node, &plan->target);
  TnStep step = { .node = node, .kernel = kernel, .stage = stage, .sliced = kernel != NULL && kernel->sliced,
                  .n_in = node->n_inputs, .n_out = node->n_outputs };
  step.in = tn_arena_new0 (plan->arena, int, MAX (node->n_inputs, 1));
  step.out = tn_arena_new0 (plan->arena, int, MAX (node->n_outputs, 1));
  for (int i = 0; i < node->n_inputs; i++)
    {
      TnCpuLayout layout = wanted_layout (plan, kernel, node, kernel == NULL ? TN_LAYOUT_ROW : kernel->in[MIN (i, TN_MAX_ARGS - 1)]);
      if ((step.in[i] = buffer_in (plan, node->inputs[i], layout, stage, error)) < 0)
        return FALSE;
    }
  if (step.sliced)
    for (int i = 0; i < node->n_inputs; i++)
      if ((kernel->whole & (1u << i)) == 0)
        {
          step.rows = node->inputs[i]->shape.dims[0];
          break;
        }
  if (kernel != NULL && kernel->prepare != NULL && !kernel->prepare (node, &plan->target, &step.data, &step.scratch, error))
    return FALSE;
  for (int i = 0; i < node->n_outputs; i++)
    {
      TnCpuLayout layout = wanted_layout (plan, kernel, node, kernel == NULL ? TN_LAYOUT_ROW : kernel->out[MIN (i, TN_MAX_ARGS - 1)]);
      int mutated = i < TN_MAX_MUTATED ? node->op->mutates[i] : 0;
      step.out[i] = add_buffer (plan, &node->outputs[i], layout, TN_HOME_ARENA);
      TnBuffer *buffer = tn_plan_buffer (plan, step.out[i]);
      buffer->sums = step.sliced && (kernel->sums & (1u << i)) != 0;
      if (mutated > 0)
        buffer->parent = step.in[mutated - 1];
      plan->native[flat_index (plan, &node->outputs[i])] = layout;
    }
  add_step (plan, step);
  return TRUE;
}

static gboolean
add_outputs (TnPlan *plan, GError **error)
{
  for (int i = 0; i < tn_graph_n_outputs (plan->graph); i++)
    {
      const TnValue *value = tn_graph_output (plan->graph, i).value;
      int buffer = buffer_in (plan, value, TN_LAYOUT_ROW, value->node->phase == TN_PHASE_OPTIMIZER ? 1 : 0, error);
      if (buffer < 0)
        return FALSE;
      tn_plan_buffer (plan, buffer)->output = TRUE;
    }
  return TRUE;
}

static gboolean
build (TnPlan *plan, GError **error)
{
  int n_inputs = 0, n_state = 0;
  for (int id = 0; id < tn_graph_n_nodes (plan->graph); id++)
    {
      const TnNode *node = tn_graph_node (plan->graph, id);
      if ((node->op->flags & TN_OP_LEAF) != 0)
        add_leaf (plan, node, &n_inputs, &n_state);
      else if (!add_node (plan, node, error))
        return FALSE;
    }
  if (!add_outputs (plan, error))
    return FALSE;
  tn_plan_schedule (plan);
  tn_plan_place (plan);
  tn_plan_emit (plan);
  return TRUE;
}

/* ---- the plan ---- */

TnPlan *
tn_plan_new (TnGraph *graph, const TnCpuTarget *target, GError **error)
{
  if (!tn_graph_check (graph, error))
    return NULL;
  g_autoptr (TnPlan) plan = g_new0 (TnPlan, 1);
  g_atomic_ref_count_init (&plan->ref_count);
  plan->graph = tn_graph_ref (graph);
  plan->target = *target;
  plan->arena = tn_arena_new ();
  plan->buffers = g_array_new (FALSE, TRUE, sizeof (TnBuffer));
  plan->steps = g_array_new (FALSE, TRUE, sizeof (TnStep));
  plan->waves = g_array_new (FALSE, TRUE, sizeof (TnWave));
  plan->calls = g_array_new (FALSE, TRUE, sizeof (TnCall));
  g_autofree int *uses = tn_graph_use_counts (graph, &plan->first);
  int n_nodes = tn_graph_n_nodes (graph);
  plan->n_values = n_nodes > 0 ? plan->first[n_nodes - 1] + tn_graph_node (graph, n_nodes - 1)->n_outputs : 0;
  plan->buffer_of = g_new (int, plan->n_values * TN_LAYOUT_COUNT + 1);
  for (int i = 0; i < plan->n_values * TN_LAYOUT_COUNT; i++)
    plan->buffer_of[i] = -1;
  plan->native = g_new0 (TnCpuLayout, plan->n_values + 1);
  return build (plan, error) ? g_steal_pointer (&plan) : NULL;
}

TnPlan *
tn_plan_ref (TnPlan *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_plan_unref (TnPlan *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->ref_count))
    return;
  for (guint i = 0; i < self->steps->len; i++)
    {
      TnStep *step = tn_plan_step (self, i);
      if (step->conversion)
        tn_cpu_convert_release (step->data);
      else if (step->data != NULL && step->kernel->release != NULL)
        step->kernel->release (step->data);
    }
  g_array_unref (self->buffers);
  g_array_unref (self->steps);
  g_array_unref (self->waves);
  g_array_unref (self->calls);
  g_free (self->first);
  g_free (self->buffer_of);
  g_free (self->native);
  tn_graph_unref (self->graph);
  tn_arena_free (self->arena);
  g_free (self);
}

TnGraph *
tn_plan_graph (const TnPlan *self)
{
  return self->graph;
}

int
tn_plan_n_calls (const TnPlan *self)
{
  return (int) self->calls->len;
}

TnPlanCall
tn_plan_call (const TnPlan *self, int i)
{
  return g_array_index (self->calls, TnCall, i).about;
}

int
tn_plan_n_waves (const TnPlan *self)
{
  return (int) self->waves->len;
}

int
tn_plan_optimizer_wave (const TnPlan *self)
{
  return self->optimizer_wave;
}

size_t
tn_plan_bytes (const TnPlan *self, int n_workers)
{
  return self->arena_bytes + (size_t) n_workers * (self->slice_bytes + self->scratch_bytes);
}

size_t
tn_plan_arena_bytes (const TnPlan *self)
{
  return self->arena_bytes;
}

char *
tn_plan_describe (const TnPlan *self)
{
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "arena %zu B, slice %zu B and scratch %zu B a worker\n", self->arena_bytes, self->slice_bytes,
                          self->scratch_bytes);
  for (guint w = 0; w < self->waves->len; w++)
    {
      const TnWave *wave = tn_plan_wave (self, w);
      g_string_append_printf (text, "wave %u%s: ", w, (int) w == self->optimizer_wave ? " (optimizer)" : "");
      if (wave->region)
        g_string_append_printf (text, "region of %" G_GINT64_FORMAT " slices in %d chunks\n", wave->n_slices, wave->n_chunks);
      else
        g_string_append_printf (text, "%" G_GINT64_FORMAT " tasks\n", wave->n_tasks);
      for (int c = wave->first_call; c < wave->first_call + wave->n_calls; c++)
        {
          const TnCall *call = &g_array_index (self->calls, TnCall, c);
          g_string_append_printf (text, "  %s [%s]\n", call->node->name,
                                  call->combine ? "add chunks" : call->about.kernel != NULL ? call->about.kernel->name : "plain");
        }
    }
  return g_string_free (text, FALSE);
}
