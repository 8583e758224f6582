/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/plan-internal.h"
#include "ir/memory-plan.h"
#include <string.h>

#define ALIGNMENT 64

/* What is known of a group of buffers that share memory, kept at its root. */
typedef struct
{
  int first_position, last_position; /* steps that write and read it */
  int first_wave, last_wave;
  gboolean output;
  gboolean cut; /* everything that touches it cuts it by rows, in one region */
} Life;

static void
touch (const TnPlan *plan, Life *lives, int buffer, const TnStep *step, gboolean cut)
{
  Life *life = &lives[tn_plan_root (plan, buffer)];
  if (life->first_position < 0)
    {
      life->first_position = step->position;
      life->first_wave = step->wave;
      life->cut = TRUE;
    }
  life->first_position = MIN (life->first_position, step->position);
  life->first_wave = MIN (life->first_wave, step->wave);
  life->last_position = MAX (life->last_position, step->position);
  life->last_wave = MAX (life->last_wave, step->wave);
  life->cut &= cut;
}

static Life *
find_lives (const TnPlan *plan)
{
  Life *lives = g_new (Life, plan->buffers->len + 1);
  for (guint b = 0; b < plan->buffers->len; b++)
    lives[b] = (Life){ -1, -1, -1, -1, FALSE, FALSE };
  for (guint s = 0; s < plan->steps->len; s++)
    {
      const TnStep *step = tn_plan_step (plan, s);
      for (int i = 0; i < step->n_in; i++)
        touch (plan, lives, step->in[i], step, step->sliced && (step->conversion || (step->kernel->whole & (1u << i)) == 0));
      for (int i = 0; i < step->n_out; i++)
        touch (plan, lives, step->out[i], step, step->sliced && !tn_plan_buffer (plan, step->out[i])->sums);
    }
  for (guint b = 0; b < plan->buffers->len; b++)
    {
      Life *life = &lives[tn_plan_root (plan, (int) b)];
      const TnBuffer *buffer = tn_plan_buffer (plan, b);
      if (buffer->output)
        {
          life->output = TRUE;
          life->last_wave = (int) plan->waves->len;
          life->last_position = G_MAXINT;
        }
    }
  return lives;
}

static gboolean
is_local (const Life *life)
{
  return life->cut && !life->output && life->first_wave == life->last_wave;
}

static gboolean
read_elsewhere_in_wave (const TnPlan *plan, int root, const TnStep *by)
{
  for (guint s = 0; s < plan->steps->len; s++)
    {
      const TnStep *step = tn_plan_step (plan, s);
      if (step == by || step->wave != by->wave)
        continue;
      for (int i = 0; i < step->n_in; i++)
        if (tn_plan_root (plan, step->in[i]) == root)
          return TRUE;
    }
  return FALSE;
}

/* A kernel may write over its input where nobody reads that input later (or, in a wave of whole calls, at the same time). */
static void
share_in_place (TnPlan *plan, const Life *lives)
{
  for (guint s = 0; s < plan->steps->len; s++)
    {
      const TnStep *step = tn_plan_step (plan, s);
      if (step->kernel == NULL || !step->kernel->inplace || step->n_in == 0 || step->n_out == 0)
        continue;
      int source = tn_plan_root (plan, step->in[0]);
      const TnBuffer *from = tn_plan_buffer (plan, source);
      TnBuffer *to = tn_plan_buffer (plan, step->out[0]);
      if (from->home != TN_HOME_ARENA || to->parent >= 0 || from->sums || from->layout != to->layout || from->bytes != to->bytes
          || lives[source].last_position != step->position || lives[source].output
          || is_local (&lives[source]) != is_local (&lives[step->out[0]])
          || (!step->sliced && read_elsewhere_in_wave (plan, source, step)))
        continue;
      to->parent = source;
    }
}

/* ---- offsets ---- */

typedef struct
{
  GArray *blocks; /* TnMemoryBlock */
  GArray *owners; /* int: buffer, or -1 - buffer for its further chunks */
} Packing;

static Packing
new_packing (void)
{
  return (Packing){ g_array_new (FALSE, TRUE, sizeof (TnMemoryBlock)), g_array_new (FALSE, FALSE, sizeof (int)) };
}

static void
add_block (Packing *packing, int owner, size_t size, int first, int last)
{
  TnMemoryBlock block = { .size = size, .first = first, .last = last };
  g_array_append_val (packing->blocks, block);
  g_array_append_val (packing->owners, owner);
}

static size_t
pack (TnPlan *plan, Packing *packing)
{
  TnMemoryBlock *blocks = (TnMemoryBlock *) packing->blocks->data;
  size_t total = tn_memory_plan (blocks, (int) packing->blocks->len, ALIGNMENT);
  g_assert (tn_memory_plan_is_sound (blocks, (int) packing->blocks->len));
  for (guint i = 0; i < packing->blocks->len; i++)
    {
      int owner = g_array_index (packing->owners, int, i);
      if (owner >= 0)
        tn_plan_buffer (plan, owner)->offset = blocks[i].offset;
      else
        tn_plan_buffer (plan, -1 - owner)->chunk_offset = blocks[i].offset;
    }
  g_array_unref (packing->blocks);
  g_array_unref (packing->owners);
  return total;
}

static size_t
round_up (size_t bytes)
{
  return (bytes + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
}

static void
place_arena (TnPlan *plan, const Life *lives)
{
  Packing packing = new_packing ();
  for (guint b = 0; b < plan->buffers->len; b++)
    {
      const TnBuffer *buffer = tn_plan_buffer (plan, b);
      const Life *life = &lives[b];
      if (buffer->parent >= 0 || buffer->home != TN_HOME_ARENA || life->first_position < 0)
        continue;
      int n_chunks = buffer->sums ? tn_plan_n_chunks (tn_plan_step (plan, buffer->producer)->rows) : 1;
      int last = n_chunks > 1 ? MAX (life->last_wave, life->first_wave + 1) : life->last_wave;
      add_block (&packing, (int) b, buffer->bytes, life->first_wave, last);
      if (n_chunks > 1)
        add_block (&packing, -1 - (int) b, round_up (buffer->bytes) * (size_t) (n_chunks - 1), life->first_wave, life->first_wave + 1);
    }
  plan->arena_bytes = pack (plan, &packing);
}

static void
place_slices (TnPlan *plan, const Life *lives)
{
  for (guint w = 0; w < plan->waves->len; w++)
    {
      Packing packing = new_packing ();
      for (guint b = 0; b < plan->buffers->len; b++)
        {
          const TnBuffer *buffer = tn_plan_buffer (plan, b);
          if (buffer->parent < 0 && buffer->home == TN_HOME_SLICE && lives[b].first_wave == (int) w)
            add_block (&packing, (int) b, buffer->slice_bytes, lives[b].first_position, lives[b].last_position);
        }
      size_t bytes = pack (plan, &packing);
      plan->slice_bytes = MAX (plan->slice_bytes, bytes);
    }
}

void
tn_plan_place (TnPlan *plan)
{
  g_autofree Life *before = find_lives (plan);
  share_in_place (plan, before);
  g_autofree Life *lives = find_lives (plan);
  for (guint b = 0; b < plan->buffers->len; b++)
    {
      TnBuffer *buffer = tn_plan_buffer (plan, b);
      if (buffer->parent < 0 && buffer->home == TN_HOME_ARENA && buffer->slice_bytes > 0 && lives[b].first_position >= 0
          && is_local (&lives[b]))
        buffer->home = TN_HOME_SLICE;
    }
  place_arena (plan, lives);
  place_slices (plan, lives);
  for (guint s = 0; s < plan->steps->len; s++)
    plan->scratch_bytes = MAX (plan->scratch_bytes, round_up (tn_plan_step (plan, s)->scratch));
}
