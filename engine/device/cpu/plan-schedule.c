/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/plan-internal.h"

/* Scheduling: waves are filled greedily. First a region takes every sliced step that can run, through as many steps as it
 * can, so that a slice stays in its worker's cache; then one wave takes every whole step that can run. */

int
tn_plan_n_chunks (int64_t rows)
{
  int64_t slices = (rows + TN_SLICE_ROWS - 1) / TN_SLICE_ROWS;
  return (int) MIN (slices, TN_MAX_CHUNKS);
}

/* The first wave that may read @buffer: sums are ready only after the wave that adds their chunks. */
static int
ready_wave (const TnPlan *plan, int buffer)
{
  int producer = tn_plan_buffer (plan, buffer)->producer;
  if (producer < 0)
    return 0;
  const TnStep *step = tn_plan_step (plan, producer);
  if (step->wave < 0)
    return G_MAXINT;
  const TnBuffer *made = tn_plan_buffer (plan, tn_plan_root (plan, buffer));
  return step->wave + 1 + (made->sums && tn_plan_n_chunks (step->rows) > 1 ? 1 : 0);
}

int
tn_plan_output_wave (const TnPlan *self, int i)
{
  const TnValue *value = tn_graph_output (self->graph, i).value;
  return ready_wave (self, self->buffer_of[(self->first[value->node->id] + value->index) * TN_LAYOUT_COUNT + TN_LAYOUT_ROW]);
}

/* An effect may run only when everything before it that reads the same parameter has run in an earlier wave. */
static gboolean
readers_done (const TnPlan *plan, int id, int wave)
{
  const TnStep *effect = tn_plan_step (plan, id);
  for (int i = 0; i < effect->n_out; i++)
    {
      if (i >= TN_MAX_MUTATED || effect->node->op->mutates[i] == 0)
        continue;
      int state = tn_plan_root (plan, effect->in[effect->node->op->mutates[i] - 1]);
      for (int s = 0; s < id; s++)
        {
          const TnStep *reader = tn_plan_step (plan, s);
          for (int k = 0; k < reader->n_in; k++)
            if (tn_plan_root (plan, reader->in[k]) == state && (reader->wave < 0 || reader->wave >= wave))
              return FALSE;
        }
    }
  return TRUE;
}

static gboolean
can_run (const TnPlan *plan, int id, int wave, gboolean in_region)
{
  const TnStep *step = tn_plan_step (plan, id);
  for (int i = 0; i < step->n_in; i++)
    {
      int producer = tn_plan_buffer (plan, step->in[i])->producer;
      gboolean made_here = in_region && producer >= 0 && tn_plan_step (plan, producer)->wave == wave
                           && !tn_plan_buffer (plan, tn_plan_root (plan, step->in[i]))->sums
                           && (step->conversion || (step->kernel->whole & (1u << i)) == 0);
      if (!made_here && ready_wave (plan, step->in[i]) > wave)
        return FALSE;
    }
  return step->conversion || (step->node->op->flags & TN_OP_EFFECT) == 0 || readers_done (plan, id, wave);
}

static int
fill_region (TnPlan *plan, int wave, int stage, int *position, int64_t *rows)
{
  int n = 0;
  *rows = -1;
  for (guint s = 0; s < plan->steps->len; s++)
    {
      TnStep *step = tn_plan_step (plan, s);
      if (step->wave >= 0 || step->stage != stage || !step->sliced || (*rows >= 0 && step->rows != *rows)
          || !can_run (plan, (int) s, wave, TRUE))
        continue;
      *rows = step->rows;
      step->wave = wave;
      step->position = (*position)++;
      n++;
    }
  return n;
}

static int
fill_whole (TnPlan *plan, int wave, int stage, int *position)
{
  int n = 0;
  for (guint s = 0; s < plan->steps->len; s++)
    {
      TnStep *step = tn_plan_step (plan, s);
      if (step->wave < 0 && step->stage == stage && !step->sliced && can_run (plan, (int) s, wave, FALSE))
        n++, step->wave = -2 - wave; /* marked, so that steps of one wave do not see each other */
    }
  for (guint s = 0; s < plan->steps->len; s++)
    {
      TnStep *step = tn_plan_step (plan, s);
      if (step->wave == -2 - wave)
        {
          step->wave = wave;
          step->position = (*position)++;
        }
    }
  return n;
}

static gboolean
has_pending_sums (const TnPlan *plan)
{
  if (plan->waves->len == 0)
    return FALSE;
  const TnWave *last = tn_plan_wave (plan, plan->waves->len - 1);
  if (!last->region || last->n_chunks < 2)
    return FALSE;
  for (guint s = 0; s < plan->steps->len; s++)
    {
      const TnStep *step = tn_plan_step (plan, s);
      if (step->wave == (int) plan->waves->len - 1)
        for (int i = 0; i < step->n_out; i++)
          if (tn_plan_buffer (plan, step->out[i])->sums)
            return TRUE;
    }
  return FALSE;
}

void
tn_plan_schedule (TnPlan *plan)
{
  int position = 0;
  guint left = plan->steps->len;
  for (guint s = 0; s < plan->steps->len; s++)
    tn_plan_step (plan, s)->wave = -1;
  for (int stage = 0; stage <= 1; stage++)
    {
      guint in_stage = 0;
      for (guint s = 0; s < plan->steps->len; s++)
        in_stage += tn_plan_step (plan, s)->stage == stage;
      while (in_stage > 0)
        {
          TnWave region = { .region = TRUE };
          int n = fill_region (plan, (int) plan->waves->len, stage, &position, &region.rows);
          if (n > 0)
            {
              region.n_slices = (region.rows + TN_SLICE_ROWS - 1) / TN_SLICE_ROWS;
              region.n_chunks = tn_plan_n_chunks (region.rows);
              g_array_append_val (plan->waves, region);
            }
          TnWave whole = { 0 };
          int m = fill_whole (plan, (int) plan->waves->len, stage, &position);
          if (m > 0 || has_pending_sums (plan))
            g_array_append_val (plan->waves, whole);
          g_assert (n + m > 0 || has_pending_sums (plan) || plan->waves->len > 0);
          in_stage -= (guint) (n + m);
          left -= (guint) (n + m);
        }
      if (stage == 0)
        {
          if (has_pending_sums (plan))
            {
              TnWave whole = { 0 };
              g_array_append_val (plan->waves, whole);
            }
          plan->optimizer_wave = (int) plan->waves->len;
        }
    }
  g_assert (left == 0);
}
