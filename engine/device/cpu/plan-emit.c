/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/plan-internal.h"
#include "ops/collective.h"
#include <stdlib.h>

/* Turns scheduled steps over placed buffers into calls over addresses. */

#define COMBINE_FLOATS 8192 /* of a task that adds chunks */

static TnArg
make_arg (const TnPlan *plan, int buffer, gboolean cut)
{
  const TnBuffer *own = tn_plan_buffer (plan, buffer), *root = tn_plan_buffer (plan, tn_plan_root (plan, buffer));
  TnArg arg = { .home = root->home, .index = root->index, .offset = root->offset, .constant = root->constant, .bytes = root->bytes };
  if (cut && root->home != TN_HOME_SLICE)
    arg.slice_bytes = own->slice_bytes;
  if (root->sums && tn_plan_n_chunks (tn_plan_step (plan, root->producer)->rows) > 1)
    {
      arg.chunked = TRUE;
      arg.chunk_offset = root->chunk_offset;
    }
  return arg;
}

static void
set_elements (TnCall *call, const TnPlan *plan, const TnStep *step)
{
  if (step->n_out == 0)
    return;
  const TnBuffer *out = tn_plan_buffer (plan, step->out[0]);
  size_t size = tn_dtype_size (out->value->dtype);
  call->elements = out->bytes / size;
  call->elements_row = out->layout == TN_LAYOUT_LANES ? out->slice_bytes / size : out->slice_bytes / size / TN_SLICE_ROWS;
}

static void
emit_step (TnPlan *plan, const TnStep *step)
{
  TnCall call = { .node = step->node, .data = step->data, .n_in = step->n_in, .n_out = step->n_out, .n_tasks = 1 };
  call.about = (TnPlanCall){ step->node, step->kernel, step->wave, step->conversion, step->from, step->to,
                             step->n_out > 0 ? tn_plan_buffer (plan, step->out[0])->layout : TN_LAYOUT_ROW };
  call.in = tn_arena_new0 (plan->arena, TnArg, MAX (step->n_in, 1));
  call.out = tn_arena_new0 (plan->arena, TnArg, MAX (step->n_out, 1));
  for (int i = 0; i < step->n_in; i++)
    call.in[i] = make_arg (plan, step->in[i], step->sliced && (step->conversion || (step->kernel->whole & (1u << i)) == 0));
  for (int i = 0; i < step->n_out; i++)
    {
      call.out[i] = make_arg (plan, step->out[i], step->sliced && !tn_plan_buffer (plan, step->out[i])->sums);
      if (!step->sliced || !tn_plan_buffer (plan, step->out[i])->sums)
        call.out[i].chunked = FALSE;
    }
  for (int i = 0; i < step->n_in; i++)
    call.in[i].chunked = FALSE; /* whoever reads a sum reads it added up */
  set_elements (&call, plan, step);
  call.collective = !step->conversion && tn_node_is_collective (step->node);
  if (!step->sliced && step->kernel != NULL && step->kernel->tasks != NULL)
    call.n_tasks = step->kernel->tasks (step->node, step->data, &plan->target);
  g_array_append_val (plan->calls, call);
}

static void
emit_combines (TnPlan *plan, int region_wave)
{
  for (guint s = 0; s < plan->steps->len; s++)
    {
      const TnStep *step = tn_plan_step (plan, s);
      int n_chunks = tn_plan_n_chunks (step->rows);
      if (step->wave != region_wave || n_chunks < 2)
        continue;
      for (int i = 0; i < step->n_out; i++)
        {
          if (!tn_plan_buffer (plan, step->out[i])->sums)
            continue;
          TnCall call = { .node = step->node, .n_in = 1, .combine = TRUE, .n_chunks = n_chunks };
          call.about = (TnPlanCall){ step->node, step->kernel, region_wave + 1, TRUE, TN_LAYOUT_ROW, TN_LAYOUT_ROW, TN_LAYOUT_ROW };
          call.in = tn_arena_new0 (plan->arena, TnArg, 1);
          call.out = call.in;
          call.in[0] = make_arg (plan, step->out[i], FALSE);
          call.elements = call.in[0].bytes / sizeof (float);
          call.n_tasks = (int) ((call.elements + COMBINE_FLOATS - 1) / COMBINE_FLOATS);
          g_array_append_val (plan->calls, call);
        }
    }
}

static int
compare_positions (const void *a, const void *b)
{
  return (*(TnStep *const *) a)->position - (*(TnStep *const *) b)->position;
}

static void
count_tasks (TnPlan *plan, TnWave *wave)
{
  wave->task_end = tn_arena_new0 (plan->arena, int64_t, MAX (wave->n_calls, 1));
  for (int c = 0; c < wave->n_calls; c++)
    {
      wave->has_collectives |= g_array_index (plan->calls, TnCall, wave->first_call + c).collective;
      wave->n_tasks += g_array_index (plan->calls, TnCall, wave->first_call + c).n_tasks;
      wave->task_end[c] = wave->n_tasks;
    }
}

void
tn_plan_emit (TnPlan *plan)
{
  g_autofree TnStep **order = g_new (TnStep *, plan->steps->len + 1);
  for (guint s = 0; s < plan->steps->len; s++)
    order[s] = tn_plan_step (plan, s);
  qsort (order, plan->steps->len, sizeof *order, compare_positions);
  guint next = 0;
  for (guint w = 0; w < plan->waves->len; w++)
    {
      TnWave *wave = tn_plan_wave (plan, w);
      wave->first_call = (int) plan->calls->len;
      if (!wave->region && w > 0 && tn_plan_wave (plan, w - 1)->region)
        emit_combines (plan, (int) w - 1);
      for (; next < plan->steps->len && order[next]->wave == (int) w; next++)
        emit_step (plan, order[next]);
      wave->n_calls = (int) plan->calls->len - wave->first_call;
      if (!wave->region)
        count_tasks (plan, wave);
    }
}
