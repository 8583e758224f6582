/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/tap.h"
#include "base/error.h"
#include "device/cpu/plan-internal.h"
#include <stdatomic.h>
#include <string.h>

typedef struct
{
  int call;    /* that makes the value, or adds the chunks of a sum */
  int output;
  TnTensor *value;
  atomic_int tasks_done;
} Tap;

struct _TnTapSet
{
  TnPlan *plan;
  GPtrArray *taps;
  GPtrArray **by_call; /* [n_calls] taps of each call, or NULL */
  TnSpanHook hook;
};

static const TnCall *
call_of (const TnPlan *plan, int i)
{
  return &g_array_index (plan->calls, TnCall, i);
}

static void
begin_nothing (void *data, const TnPlan *plan, int call, int64_t slice, int worker)
{
}

/* A slice's rows, brought to row-major order. Workers write different rows. */
static void
copy_slice (const Tap *tap, const TnCall *call, const TnPlan *plan, int64_t slice, const TnCpuCall *values)
{
  const TnShape *shape = &tap->value->shape;
  size_t features = (size_t) tn_shape_span (shape, 1, shape->n_dims), size = tn_dtype_size (tap->value->dtype);
  char *to = (char *) tn_tensor_data (tap->value) + (size_t) slice * TN_SLICE_ROWS * features * size;
  const TnCpuKernel *kernel = call->about.kernel;
  TnCpuLayout layout = kernel->out[MIN (tap->output, TN_MAX_ARGS - 1)];
  if (layout == TN_LAYOUT_SAME)
    layout = call->about.layout;
  if (layout == TN_LAYOUT_LANES)
    plan->target.lanes->unpack (values->out[tap->output], (int) values->rows, (int) features, (float *) to, 0, 1);
  else
    memcpy (to, values->out[tap->output], (size_t) values->rows * features * size);
}

static void
copy_whole (const Tap *tap, const TnCall *call, const TnPlan *plan, const void *from)
{
  const TnShape *shape = &tap->value->shape;
  TnCpuLayout layout = call->combine || call->about.kernel == NULL ? TN_LAYOUT_ROW : call->about.kernel->out[MIN (tap->output, TN_MAX_ARGS - 1)];
  if (layout == TN_LAYOUT_LANES)
    {
      int rows = (int) shape->dims[0];
      plan->target.lanes->unpack (from, rows, (int) tn_shape_span (shape, 1, shape->n_dims), tn_tensor_data (tap->value), 0, tn_lanes_groups (rows));
    }
  else
    memcpy (tn_tensor_data (tap->value), from, tn_tensor_bytes (tap->value));
}

static void
end_call (void *data, const TnPlan *plan, int index, int64_t slice, int worker, const TnCpuCall *values)
{
  TnTapSet *self = data;
  GPtrArray *taps = self->by_call[index];
  const TnCall *call = call_of (plan, index);
  for (guint i = 0; taps != NULL && i < taps->len; i++)
    {
      Tap *tap = taps->pdata[i];
      if (tn_plan_wave (plan, call->about.wave)->region)
        copy_slice (tap, call, plan, slice, values);
      else if (atomic_fetch_add (&tap->tasks_done, 1) + 1 == call->n_tasks)
        {
          copy_whole (tap, call, plan, values->out[call->combine ? 0 : tap->output]);
          atomic_store (&tap->tasks_done, 0);
        }
    }
}

static void
free_tap (gpointer data)
{
  Tap *tap = data;
  tn_tensor_unref (tap->value);
  g_free (tap);
}

TnTapSet *
tn_tap_set_new (TnPlan *plan)
{
  TnTapSet *self = g_new0 (TnTapSet, 1);
  self->plan = tn_plan_ref (plan);
  self->taps = g_ptr_array_new_with_free_func (free_tap);
  self->by_call = g_new0 (GPtrArray *, plan->calls->len + 1);
  self->hook = (TnSpanHook){ begin_nothing, end_call, self };
  return self;
}

void
tn_tap_set_free (TnTapSet *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->plan->calls->len; i++)
    g_clear_pointer (&self->by_call[i], g_ptr_array_unref);
  g_free (self->by_call);
  g_ptr_array_unref (self->taps);
  tn_plan_unref (self->plan);
  g_free (self);
}

/* The call that completes the value: a sum's chunks are added by a later one. */
static int
find_call (const TnPlan *plan, const TnNode *node, int output)
{
  int found = -1, combines = 0;
  for (guint i = 0; i < plan->calls->len; i++)
    {
      const TnCall *call = call_of (plan, (int) i);
      if (call->node != node)
        continue;
      if (call->combine && combines++ == output)
        return (int) i;
      if (!call->combine && !call->about.conversion)
        found = (int) i;
    }
  return found;
}

static void
set_missing (const TnPlan *plan, const char *name, GError **error)
{
  g_autoptr (GString) others = g_string_new (NULL);
  g_autofree char *scope = g_path_get_dirname (name);
  for (int id = 0; id < tn_graph_n_nodes (plan->graph); id++)
    if (strcmp (tn_graph_node (plan->graph, id)->scope, scope) == 0)
      g_string_append_printf (others, "%s%s", others->len > 0 ? ", " : "", tn_graph_node (plan->graph, id)->name);
  g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND,
               _ ("The plan has no node “%s”: a pass merged it into another or left it out. Its scope has: %s. PYNATIVE mode has every node."), name,
               others->len > 0 ? others->str : _ ("nothing"));
}

int
tn_tap_set_add (TnTapSet *self, const char *name, int output, GError **error)
{
  const TnNode *node = NULL;
  for (int id = 0; id < tn_graph_n_nodes (self->plan->graph) && node == NULL; id++)
    if (strcmp (tn_graph_node (self->plan->graph, id)->name, name) == 0)
      node = tn_graph_node (self->plan->graph, id);
  int call = node != NULL && output < node->n_outputs ? find_call (self->plan, node, output) : -1;
  if (call < 0)
    {
      set_missing (self->plan, name, error);
      return -1;
    }
  TnTensor *value = tn_tensor_new (node->outputs[output].dtype, node->outputs[output].shape, error);
  if (value == NULL)
    return -1;
  Tap *tap = g_new0 (Tap, 1);
  tap->call = call;
  tap->output = output;
  tap->value = value;
  g_ptr_array_add (self->taps, tap);
  if (self->by_call[call] == NULL)
    self->by_call[call] = g_ptr_array_new ();
  g_ptr_array_add (self->by_call[call], tap);
  return (int) self->taps->len - 1;
}

const TnSpanHook *
tn_tap_set_hook (TnTapSet *self)
{
  return &self->hook;
}

TnTensor *
tn_tap_set_value (TnTapSet *self, int tap)
{
  return ((Tap *) self->taps->pdata[tap])->value;
}
