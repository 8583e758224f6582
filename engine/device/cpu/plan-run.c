/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "device/cpu/plan-internal.h"
#include "ir/interpret.h"

/* The executor. Everything here runs at every step: no allocation, no locks beyond the pool's. */

typedef struct
{
  const TnPlan *plan;
  const TnPlanRun *run;
  const TnWave *wave;
  char *slices; /* the workers' slice buffers, then their scratch */
  char *scratch;
  GError *error; /* first of any worker */
} Work;

static char *
resolve (const Work *work, const TnArg *arg, int64_t slice, int chunk, int worker)
{
  char *base;
  switch (arg->home)
    {
    case TN_HOME_SLICE:
      return work->slices + (size_t) worker * work->plan->slice_bytes + arg->offset;
    case TN_HOME_STATE:
      base = work->run->state[arg->index];
      break;
    case TN_HOME_INPUT:
      base = (char *) work->run->inputs[arg->index];
      break;
    case TN_HOME_CONSTANT:
      base = (char *) arg->constant;
      break;
    default:
      base = work->run->memory + arg->offset;
      if (arg->chunked && chunk > 0)
        base = work->run->memory + arg->chunk_offset + (size_t) (chunk - 1) * ((arg->bytes + 63) & ~(size_t) 63);
      break;
    }
  return base + (size_t) slice * arg->slice_bytes;
}

/* Adds chunk k + d to chunk k for d = 1, 2, 4 ...: a balanced tree whose shape depends on the number of chunks alone. */
static void
combine (const Work *work, const TnCall *call, int task)
{
  size_t per_task = (call->elements + (size_t) call->n_tasks - 1) / (size_t) call->n_tasks;
  size_t from = per_task * (size_t) task, n = MIN (per_task, call->elements - from);
  for (int distance = 1; distance < call->n_chunks; distance *= 2)
    for (int k = 0; k + distance < call->n_chunks; k += 2 * distance)
      {
        TnArg arg = call->in[0];
        float *to = (float *) resolve (work, &arg, 0, k, 0) + from;
        const float *add = (const float *) resolve (work, &arg, 0, k + distance, 0) + from;
        work->plan->target.lanes->add (to, add, to, n);
      }
}

static void
keep_error (Work *work, GError *error)
{
  GError *none = NULL;
  if (!__atomic_compare_exchange_n (&work->error, &none, error, FALSE, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    g_error_free (error);
}

static gboolean
needs_interpreter (const TnNode *node)
{
  if ((node->op->flags & TN_OP_CONTROL) != 0)
    return TRUE;
  for (int i = 0; i < node->n_inputs + node->n_outputs; i++)
    {
      TnDType dtype = i < node->n_inputs ? node->inputs[i]->dtype : node->outputs[i - node->n_inputs].dtype;
      if (dtype == TN_DTYPE_F16 || dtype == TN_DTYPE_BF16)
        return TRUE;
    }
  return FALSE;
}

/* Control flow and half precision go through the interpreter, which allocates: they are not made for speed. */
static gboolean
run_interpreted (const Work *work, const TnCall *call, void **in, void **out, GError **error)
{
  const TnNode *node = call->node;
  const TnRandomState random = { work->run->seed, work->run->step, work->run->first_sample };
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  g_autofree TnTensor **outputs = g_new0 (TnTensor *, node->n_outputs + 1);
  for (int i = 0; i < node->n_inputs; i++)
    g_ptr_array_add (inputs, tn_tensor_new_external (node->inputs[i]->dtype, node->inputs[i]->shape, in[i], NULL, NULL));
  if (!tn_interpret_node (node, (TnTensor *const *) inputs->pdata, outputs, &random, error))
    return FALSE;
  gboolean ok = TRUE;
  for (int i = 0; i < node->n_outputs; i++)
    {
      g_autoptr (TnTensor) to = tn_tensor_new_external (node->outputs[i].dtype, node->outputs[i].shape, out[i], NULL, NULL);
      ok = ok && (tn_tensor_data (outputs[i]) == out[i] || tn_tensor_copy (to, outputs[i], error));
      tn_tensor_unref (outputs[i]);
    }
  return ok;
}

static void
run_plain (Work *work, const TnCall *call, void **in, void **out)
{
  GError *error = NULL;
  if (call->collective && work->run->collective != NULL)
    {
      if (!work->run->collective (work->run->collective_data, call->node, in, out, &error))
        keep_error (work, error);
      return;
    }
  TnKernelContext context = { call->node, in, out, work->run->seed, work->run->step, work->run->first_sample };
  gboolean ok = needs_interpreter (call->node) ? run_interpreted (work, call, in, out, &error)
                                               : call->node->op->reference (&context, &error);
  if (!ok)
    keep_error (work, error);
}

static void
run_call (Work *work, int index, int64_t slice, int chunk, gboolean accumulate, int task, int worker)
{
  const TnCall *call = &g_array_index (work->plan->calls, TnCall, index);
  const TnSpanHook *hook = work->run->hook;
  if (call->combine)
    {
      void *sum = resolve (work, &call->in[0], 0, 0, worker);
      if (hook != NULL)
        hook->begin (hook->data, work->plan, index, slice, worker);
      combine (work, call, task);
      if (hook != NULL)
        hook->end (hook->data, work->plan, index, slice, worker, &(TnCpuCall){ .node = call->node, .out = &sum, .task = task, .n_tasks = call->n_tasks });
      return;
    }
  void **in = g_newa (void *, call->n_in + 1), **out = g_newa (void *, call->n_out + 1);
  for (int i = 0; i < call->n_in; i++)
    in[i] = resolve (work, &call->in[i], slice, chunk, worker);
  for (int i = 0; i < call->n_out; i++)
    out[i] = resolve (work, &call->out[i], slice, chunk, worker);
  int64_t rows = work->wave->region ? MIN (TN_SLICE_ROWS, work->wave->rows - slice * TN_SLICE_ROWS) : 0;
  TnCpuCall values = { .node = call->node, .target = &work->plan->target, .data = call->data, .in = in, .out = out,
                       .scratch = work->scratch + (size_t) worker * work->plan->scratch_bytes,
                       .rows = rows, .elements = call->elements, .accumulate = accumulate, .task = task, .n_tasks = call->n_tasks,
                       .seed = work->run->seed, .step = work->run->step,
                       .first_sample = work->run->first_sample + slice * TN_SLICE_ROWS };
  if (work->wave->region)
    values.elements = call->about.layout == TN_LAYOUT_LANES ? call->elements_row : call->elements_row * (size_t) rows;
  if (hook != NULL)
    hook->begin (hook->data, work->plan, index, slice, worker);
  if (call->about.kernel != NULL)
    call->about.kernel->run (&values);
  else
    run_plain (work, call, in, out);
  if (hook != NULL)
    hook->end (hook->data, work->plan, index, slice, worker, &values);
}

static void
run_chunk (void *data, int64_t chunk, int worker)
{
  Work *work = data;
  const TnWave *wave = work->wave;
  int64_t from = chunk * wave->n_slices / wave->n_chunks, to = (chunk + 1) * wave->n_slices / wave->n_chunks;
  for (int64_t slice = from; slice < to; slice++)
    for (int c = 0; c < wave->n_calls; c++)
      run_call (work, wave->first_call + c, slice, (int) chunk, slice > from, 0, worker);
}

static void
run_task (void *data, int64_t task, int worker)
{
  Work *work = data;
  int c = 0;
  while (task >= work->wave->task_end[c])
    c++;
  if (!g_array_index (work->plan->calls, TnCall, work->wave->first_call + c).collective) /* their turn comes when the wave is done */
    run_call (work, work->wave->first_call + c, 0, 0, FALSE, (int) (task - (c > 0 ? work->wave->task_end[c - 1] : 0)), worker);
}

/* What the ranks do together, in the order of the plan: any other could lock them up. */
static void
run_collectives (Work *work)
{
  for (int c = 0; c < work->wave->n_calls && work->error == NULL; c++)
    if (g_array_index (work->plan->calls, TnCall, work->wave->first_call + c).collective)
      run_call (work, work->wave->first_call + c, 0, 0, FALSE, 0, 0);
}

gboolean
tn_plan_run (const TnPlan *self, const TnPlanRun *run, int from, int to, GError **error)
{
  int n_workers = run->pool != NULL ? tn_pool_n_threads (run->pool) : 1;
  Work work = { .plan = self, .run = run, .slices = run->memory + self->arena_bytes };
  work.scratch = work.slices + (size_t) n_workers * self->slice_bytes;
  for (int w = from; w < to && work.error == NULL; w++)
    {
      work.wave = tn_plan_wave (self, w);
      if (work.wave->region)
        tn_pool_run (run->pool, work.wave->n_chunks, run_chunk, &work);
      else
        tn_pool_run (run->pool, work.wave->n_tasks, run_task, &work);
      if (work.wave->has_collectives)
        run_collectives (&work);
    }
  if (work.error == NULL)
    return TRUE;
  g_propagate_error (error, work.error);
  return FALSE;
}

const void *
tn_plan_output (const TnPlan *self, const TnPlanRun *run, int i)
{
  const TnValue *value = tn_graph_output (self->graph, i).value;
  int buffer = self->buffer_of[(self->first[value->node->id] + value->index) * TN_LAYOUT_COUNT + TN_LAYOUT_ROW];
  const TnBuffer *root = tn_plan_buffer (self, tn_plan_root (self, buffer));
  switch (root->home)
    {
    case TN_HOME_STATE:
      return run->state[root->index];
    case TN_HOME_INPUT:
      return run->inputs[root->index];
    case TN_HOME_CONSTANT:
      return root->constant;
    default:
      return run->memory + root->offset;
    }
}
