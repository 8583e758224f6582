/* SPDX-License-Identifier: Apache-2.0 */
#include "shard-plan.h"
#include <inttypes.h>

#include <glib/gi18n.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "shard-plan-private.h"

/* ---- plans ---- */

static void
clear_item (gpointer data)
{
  TnShardItem *item = data;
  g_free (item->name);
  g_free (item->cell);
  g_free (item->problem);
  g_clear_pointer (&item->layout, tn_layout_unref);
  g_clear_pointer (&item->kept, tn_layout_unref);
}

static void
clear_move (gpointer data)
{
  g_free (((TnShardMove *) data)->value);
  tn_mesh_unref (((TnShardMove *) data)->mesh);
}

TnShardPlan *
tn_shard_plan_new (void)
{
  TnShardPlan *self = g_new0 (TnShardPlan, 1);
  self->ref_count = 1;
  self->items = g_array_new (FALSE, TRUE, sizeof (TnShardItem));
  self->moves = g_array_new (FALSE, TRUE, sizeof (TnShardMove));
  self->notes = g_ptr_array_new_with_free_func (g_free);
  g_array_set_clear_func (self->items, clear_item);
  g_array_set_clear_func (self->moves, clear_move);
  return self;
}

TnShardPlan *
tn_shard_plan_ref (TnShardPlan *self)
{
  g_atomic_int_inc (&self->ref_count);
  return self;
}

void
tn_shard_plan_unref (TnShardPlan *self)
{
  if (self == NULL || !g_atomic_int_dec_and_test (&self->ref_count))
    return;
  g_array_unref (self->items);
  g_array_unref (self->moves);
  g_ptr_array_unref (self->notes);
  g_clear_pointer (&self->mesh, tn_mesh_unref);
  g_clear_pointer (&self->file, tn_strategy_file_free);
  g_clear_pointer (&self->sharded, tn_sharded_free);
  g_clear_pointer (&self->source, tn_graph_unref);
  g_free (self->title);
  g_free (self);
}

const TnShardItem *
tn_shard_plan_item (const TnShardPlan *self, guint i)
{
  return i < self->items->len ? &g_array_index (self->items, TnShardItem, i) : NULL;
}

int
tn_shard_plan_find (const TnShardPlan *self, const char *name)
{
  for (guint i = 0; name != NULL && i < self->items->len; i++)
    if (strcmp (g_array_index (self->items, TnShardItem, i).name, name) == 0)
      return (int) i;
  return -1;
}

char *
tn_shard_item_split (const TnShardItem *item)
{
  if (item->layout == NULL || tn_layout_n_slices (item->layout) == 1)
    return g_strdup ("—");
  GString *text = g_string_new (NULL);
  for (int d = 0; d < item->layout->n_dims; d++)
    g_string_append_printf (text, "%s%" PRId64, d > 0 ? "·" : "", tn_layout_shards (item->layout, d));
  return g_string_free (text, FALSE);
}

void
tn_shard_plan_rank (const TnShardPlan *self, int64_t place, TnRankBytes *out)
{
  const TnShardForecast *f = &self->forecast;
  *out = (TnRankBytes){ .rank = self->mesh->ranks[place] };
  if (self->planned)
    {
      const double parts[] = { (double) f->parameters, (double) f->gradients, (double) f->optimizer, (double) f->activations, (double) f->buffers };
      memcpy (out->parts, parts, sizeof parts);
      return;
    }
  for (guint i = 0; i < self->items->len; i++)
    {
      const TnShardItem *item = tn_shard_plan_item (self, i);
      if (item->bytes > 0 && (item->stage < 0 || (item->layout != NULL && tn_mesh_place (item->layout->mesh, out->rank) >= 0)))
        out->parts[strcmp (item->kind, "optimizer") == 0 ? TN_RANK_OPTIMIZER : TN_RANK_PARAMETERS] += (double) item->bytes;
    }
}

/* Ranks of a stage hold the same bytes. */
TnRankBytes *
tn_shard_plan_ranks (const TnShardPlan *self)
{
  TnRankBytes *ranks = g_new0 (TnRankBytes, self->mesh->n_ranks + 1);
  for (int64_t place = 0; place < self->mesh->n_ranks; place++)
    if (place % MAX (self->stage_ranks, 1) == 0)
      tn_shard_plan_rank (self, place, &ranks[place]);
    else
      {
        ranks[place] = ranks[place - 1];
        ranks[place].rank = self->mesh->ranks[place];
      }
  return ranks;
}

double
tn_shard_plan_model_bytes (const TnShardPlan *self)
{
  double bytes = 0;
  for (guint i = 0; i < self->items->len; i++)
    {
      const TnShardItem *item = tn_shard_plan_item (self, i);
      if (item->bytes > 0 && strcmp (item->kind, "optimizer") != 0)
        bytes += (double) tn_shape_count (&item->shape) * (double) item->element;
    }
  return bytes;
}

GArray *
tn_shard_plan_links (const TnShardPlan *self, int kind, int phase)
{
  GArray *links = g_array_new (FALSE, TRUE, sizeof (TnTrafficLinks));
  for (guint i = 0; i < self->moves->len; i++)
    {
      const TnShardMove *move = &g_array_index (self->moves, TnShardMove, i);
      guint k = 0;
      if ((kind >= 0 && (int) move->kind != kind) || (phase >= 0 && (int) move->phase != phase))
        continue;
      for (; k < links->len; k++)
        {
          TnTrafficLinks *link = &g_array_index (links, TnTrafficLinks, k);
          if (link->mesh == move->mesh && link->axes == move->axes && (link->kind == TN_MOVE_ALL_TO_ALL) == (move->kind == TN_MOVE_ALL_TO_ALL))
            break;
        }
      if (k == links->len)
        g_array_append_val (links, ((TnTrafficLinks){ move->kind, move->mesh, move->axes, 0 }));
      g_array_index (links, TnTrafficLinks, k).bytes += move->bytes;
    }
  return links;
}

/* ---- requests ---- */

TnShardRequest *
tn_shard_request_new (void)
{
  TnShardRequest *self = g_new0 (TnShardRequest, 1);
  self->ranks = -1;
  self->optimizer_level = -1;
  return self;
}

void
tn_shard_request_free (TnShardRequest *self)
{
  g_free (self->path);
  g_free (self->settings);
  g_free (self->network);
  g_free (self->mesh);
  g_free (self->strategy);
  g_clear_pointer (&self->shapes, tn_shard_plan_unref);
  g_free (self);
}

static GMutex lock; /* one plan at a time: they share what is below, and the cores */

TnShardPlan *
tn_shard_plan_make (const TnShardRequest *request, GError **error)
{
  g_mutex_lock (&lock);
  TnShardPlan *plan = request->is_file ? tn_shard_plan_from_files (request, error) : tn_shard_plan_from_project (request, error);
  g_mutex_unlock (&lock);
  return plan;
}

static void
plan_in_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  GError *error = NULL;
  if (g_task_return_error_if_cancelled (task))
    return;
  TnShardPlan *plan = tn_shard_plan_make (data, &error);
  if (plan != NULL)
    g_task_return_pointer (task, plan, (GDestroyNotify) tn_shard_plan_unref);
  else
    g_task_return_error (task, error);
}

void
tn_shard_plan_async (TnShardRequest *request, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, request, (GDestroyNotify) tn_shard_request_free);
  g_task_run_in_thread (task, plan_in_thread);
}

TnShardPlan *
tn_shard_plan_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
