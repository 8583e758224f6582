/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "parallel/strategy-export.h"
#include "parallel/strategy-metadata.h"
#include "train/program-private.h"

/* Programs whose weights are split: each rank has its slices of the state and the plan of its part of the graph. */

gboolean
tn_program_is_split (const TnProgram *self)
{
  return self->context != NULL;
}

/* ---- graphs ---- */

static const TnValue *
find_input (const TnGraph *graph, const char *name)
{
  for (int i = 0; i < tn_graph_n_inputs (graph); i++)
    if (strcmp (tn_graph_input (graph, i)->node->name, name) == 0)
      return tn_graph_input (graph, i);
  return NULL;
}

static TnSharded *
shard (TnProgram *self, const TnCompiled *compiled, TnDatasetStrategy dataset, GError **error)
{
  TnShardOptions options = self->context->options;
  options.dataset = dataset;
  if (self->compiled->len > 0) /* the state lies as the first step's plan wants it */
    {
      options.like = ((const TnCompiled *) self->compiled->pdata[0])->sharded;
      options.mesh = tn_sharded_mesh (options.like);
    }
  return tn_shard_graph (compiled->whole, &options, error);
}

/* The last batch of an epoch may have a number of rows that ranks cannot share: then each takes all of them. */
static TnSharded *
shard_any (TnProgram *self, const TnCompiled *compiled, GError **error)
{
  GError *failure = NULL;
  TnSharded *sharded = shard (self, compiled, self->context->options.dataset, &failure);
  if (sharded == NULL && self->compiled->len > 0 && g_error_matches (failure, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_UNEVEN)
      && (sharded = shard (self, compiled, TN_DATASET_FULL_BATCH, NULL)) == NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("A batch of %" PRId64 " rows cannot be shared by these ranks (%s): set data.drop_last = true, or another train.batch."),
                 compiled->rows, failure->message);
  else if (sharded == NULL && self->compiled->len == 0 && g_error_matches (failure, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_UNEVEN))
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("train.batch = %" PRId64 ", parallel.mesh or parallel.strategy does not fit: %s"), compiled->rows,
                 failure->message);
  else if (sharded == NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  g_clear_error (&failure);
  return sharded;
}

gboolean
tn_program_split_graph (TnProgram *self, TnCompiled *compiled, GError **error)
{
  int64_t n = self->context->mesh->n_ranks;
  compiled->padded = compiled->training ? compiled->rows : (compiled->rows + n - 1) / n * n;
  compiled->whole = compiled->training ? tn_program_training_graph (&self->recipe, compiled->padded, error)
                                       : tn_program_evaluation_graph (&self->recipe, compiled->padded, error);
  compiled->sharded = compiled->whole != NULL ? shard_any (self, compiled, error) : NULL;
  if (compiled->sharded == NULL)
    return FALSE;
  compiled->built = tn_graph_ref (tn_sharded_graph (compiled->sharded));
  return TRUE;
}

static gboolean
own_box (const TnProgram *self, const TnLayout *layout, const TnShape *shape, TnBox *box, GError **error)
{
  return tn_layout_slice (layout, shape, layout->mesh->ranks[self->place], box, error);
}

/* Where a part of an input does not lie in one piece, or rows are filled up, it is copied. */
static gboolean
needs_copy (const TnCompiled *compiled, const TnShape *shape, const TnBox *box)
{
  gboolean copy = compiled->padded != compiled->rows;
  for (int d = 1; d < shape->n_dims; d++)
    copy |= box->lo[d] != 0 || box->hi[d] != shape->dims[d];
  return copy;
}

static gboolean
make_part (TnProgram *self, const TnCompiled *compiled, int which, const char *name, GError **error)
{
  const TnValue *value = find_input (compiled->whole, name);
  TnBox box;
  if (value == NULL)
    return TRUE;
  if (!own_box (self, tn_sharded_input (compiled->sharded, name), &value->shape, &box, error))
    return FALSE;
  size_t bytes = (size_t) tn_box_count (&box) * tn_dtype_size (value->dtype);
  if (!needs_copy (compiled, &value->shape, &box) || bytes <= self->part_bytes[which])
    return TRUE;
  g_aligned_free (self->parts[which]);
  self->parts[which] = g_aligned_alloc (bytes, 1, 64);
  self->part_bytes[which] = bytes;
  return TRUE;
}

gboolean
tn_program_check_split (TnProgram *self, const TnCompiled *compiled, GError **error)
{
  for (int i = 0; i < tn_graph_n_parameters (compiled->whole); i++)
    {
      const TnValue *value = tn_graph_parameter (compiled->whole, i);
      const TnStateEntry *entry = tn_program_find_state (self, value->node->name);
      TnBox box;
      if (!own_box (self, tn_sharded_layout (compiled->sharded, value), &value->shape, &box, error))
        return FALSE;
      if (tn_box_equal (&box, &entry->box))
        continue;
      g_autofree char *have = tn_box_to_string (&entry->box), *want = tn_box_to_string (&box);
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED,
                   _ ("%s lies as %s, and %s with %" PRId64 " rows wants %s: name its layout in parallel.strategy, or set data.drop_last = true."), entry->name,
                   have, compiled->training ? _ ("a step") : _ ("an evaluation"), compiled->rows, want);
      return FALSE;
    }
  return make_part (self, compiled, 0, "x", error) && make_part (self, compiled, 1, "labels", error) && make_part (self, compiled, 1, "targets", error);
}

/* ---- boxes ---- */

/* Where @box of a tensor begins and how it is walked: rows of bytes that lie together. */
static void
copy_rows (char *whole, const TnShape *shape, const TnBox *box, char *part, size_t size, int64_t rows_there, gboolean cut)
{
  int64_t strides[TN_MAX_DIMS], at[TN_MAX_DIMS] = { 0 };
  int n = shape->n_dims;
  tn_shape_strides (shape, strides);
  size_t row = n > 0 ? (size_t) (box->hi[n - 1] - box->lo[n - 1]) * size : size;
  if (tn_box_count (box) == 0)
    return;
  for (;;)
    {
      int64_t offset = 0;
      for (int d = 0; d < n; d++)
        {
          int64_t index = box->lo[d] + (d < n - 1 ? at[d] : 0);
          offset += (d == 0 ? MIN (index, rows_there - 1) : index) * strides[d];
        }
      char *there = whole + (size_t) offset * size;
      memcpy (cut ? part : there, cut ? there : part, row);
      part += row;
      int d = n - 2;
      while (d >= 0 && ++at[d] == box->hi[d] - box->lo[d])
        at[d--] = 0;
      if (d < 0)
        return;
    }
}

/* A batch of one dimension has no rows that lie together. */
static void
copy_column (const char *whole, const TnBox *box, char *part, size_t size, int64_t rows_there)
{
  for (int64_t i = box->lo[0]; i < box->hi[0]; i++, part += size)
    memcpy (part, whole + (size_t) MIN (i, rows_there - 1) * size, size);
}

static const void *
own_part (TnProgram *self, const TnCompiled *compiled, int which, const TnValue *value, const void *data, int64_t n)
{
  TnBox box;
  size_t size = tn_dtype_size (value->dtype);
  if (data == NULL || !own_box (self, tn_sharded_input (compiled->sharded, value->node->name), &value->shape, &box, NULL))
    return data;
  if (which == 0)
    self->first_row = box.lo[0];
  if (!needs_copy (compiled, &value->shape, &box))
    return (const char *) data + (size_t) box.lo[0] * size * (size_t) (tn_shape_count (&value->shape) / MAX (value->shape.dims[0], 1));
  if (value->shape.n_dims == 1)
    copy_column (data, &box, self->parts[which], size, n);
  else
    copy_rows ((char *) data, &value->shape, &box, self->parts[which], size, n, TRUE);
  return self->parts[which];
}

void
tn_program_set_split_inputs (TnProgram *self, const TnCompiled *compiled, const TnProgramBatch *batch)
{
  const TnGraph *graph = compiled->whole;
  const TnValue *x = find_input (graph, "x"), *labels = find_input (graph, compiled->classes ? "labels" : "targets");
  self->inputs[compiled->x] = own_part (self, compiled, 0, x, batch->x, batch->n);
  if (compiled->labels >= 0)
    self->inputs[compiled->labels] = own_part (self, compiled, 1, labels, compiled->classes ? (const void *) batch->labels : (const void *) batch->targets, batch->n);
}

/* ---- putting together ---- */

int
tn_program_n_slices (const TnProgram *self)
{
  return (int) self->state->len * (tn_program_is_split (self) && self->ranks != NULL ? tn_ranks_n (self->ranks) : 1);
}

const TnStateEntry *
tn_program_slice (const TnProgram *self, int i, int *rank)
{
  int place = i / (int) self->state->len;
  const TnProgram *program = place == 0 ? self : tn_ranks_program (self->ranks, place);
  if (rank != NULL)
    *rank = tn_program_is_split (self) ? (int) self->context->mesh->ranks[place] : 0;
  return tn_program_state (program, i % (int) self->state->len);
}

TnTensor *
tn_program_gather_state (TnProgram *self, const char *name, GError **error)
{
  const TnStateEntry *first = tn_program_find_state (self, name);
  if (first == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no parameter “%s”."), name);
      return NULL;
    }
  TnTensor *whole = tn_tensor_new (first->tensor->dtype, first->shape, error);
  int n = (int) self->state->len;
  for (int i = 0; whole != NULL && i < tn_program_n_slices (self); i += n)
    {
      const TnStateEntry *entry = tn_program_slice (self, i + (int) (first - tn_program_state (self, 0)), NULL);
      if (!entry->copy)
        copy_rows (tn_tensor_data (whole), &entry->shape, &entry->box, tn_tensor_data (entry->tensor), tn_dtype_size (whole->dtype), G_MAXINT64, FALSE);
    }
  return whole;
}

TnTensor *
tn_program_gather_output (TnProgram *self, const TnCompiled *compiled, const char *name, GError **error)
{
  const TnValue *value = tn_graph_find_output (compiled->whole, name);
  const TnLayout *layout = value != NULL ? tn_sharded_output (compiled->sharded, name) : NULL;
  if (layout == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("The step has no output “%s”."), name);
      return NULL;
    }
  TnTensor *whole = tn_tensor_new (value->dtype, value->shape, error);
  for (int place = 0; whole != NULL && place < layout->mesh->n_ranks; place++)
    {
      const TnProgram *program = place == 0 ? self : tn_ranks_program (self->ranks, place);
      TnPlanRun run = { .memory = program->memory };
      TnBox box;
      if (tn_layout_replica (layout, place) != 0)
        continue;
      if (!tn_layout_slice (layout, &value->shape, layout->mesh->ranks[place], &box, error))
        {
          tn_tensor_unref (whole);
          return NULL;
        }
      copy_rows (tn_tensor_data (whole), &value->shape, &box, (char *) tn_program_output (compiled, &run, name), tn_dtype_size (value->dtype), G_MAXINT64, FALSE);
    }
  return whole;
}

/* ---- evaluation ---- */

gboolean
tn_program_run_evaluation (TnProgram *self, const TnProgramBatch *batch, GError **error)
{
  TnCompiled *compiled = tn_program_compiled (self, batch->n, FALSE, error);
  if (compiled == NULL || !tn_program_check_batch (compiled, batch, error))
    return FALSE;
  tn_pool_enter_worker ();
  self->current = NULL;
  tn_program_set_inputs (self, compiled, batch);
  TnPlanRun run = tn_program_run (self, compiled, 0, batch->first_sample + self->first_row);
  return tn_plan_run (compiled->plan, &run, 0, tn_plan_n_waves (compiled->plan), error);
}

gboolean
tn_program_collect_evaluation (TnProgram *self, const TnProgramBatch *batch, TnEvalResult *result, float *outputs, GError **error)
{
  const TnCompiled *compiled = tn_program_compiled (self, batch->n, FALSE, error);
  g_autoptr (TnTensor) logits = compiled != NULL ? tn_program_gather_output (self, compiled, "logits", error) : NULL;
  g_autoptr (TnTensor) losses = logits != NULL ? tn_program_gather_output (self, compiled, "loss", error) : NULL;
  if (losses == NULL)
    return FALSE;
  int64_t width = tn_tensor_count (logits) / MAX (compiled->padded, 1), each = tn_tensor_count (losses) / MAX (compiled->padded, 1);
  const float *loss = tn_tensor_data (losses);
  *result = (TnEvalResult){ .n = batch->n };
  for (int64_t i = 0; i < each * batch->n; i++)
    result->loss_sum += (double) loss[i] / (double) each;
  if (batch->labels != NULL)
    result->correct = tn_program_count_correct (tn_tensor_data (logits), width, batch->labels, batch->n);
  if (outputs != NULL)
    memcpy (outputs, tn_tensor_data (logits), sizeof (float) * (size_t) (width * batch->n));
  return TRUE;
}

/* ---- statistics ---- */

gboolean
tn_program_join_statistics (TnProgram *self, TnComm *comm, GError **error)
{
  for (int i = 0; self->context->options.local_batch_norm && i < tn_program_n_state (self); i++)
    {
      const TnStateEntry *entry = tn_program_state (self, i);
      size_t n = (size_t) tn_tensor_count (entry->tensor);
      if (entry->role != TN_ROLE_STATISTIC || entry->tensor->dtype != TN_DTYPE_F32)
        continue;
      if (n != (size_t) tn_shape_count (&entry->shape))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("The channels of %s are split, each rank's statistics are of its rows alone: set parallel.batch_norm = global."),
                       entry->name);
          return FALSE;
        }
      if (!tn_comm_all_reduce (comm, tn_tensor_data (entry->tensor), tn_tensor_data (entry->tensor), n, TN_DTYPE_F32, TN_REDUCE_MEAN, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- what was chosen ---- */

gboolean
tn_program_save_strategy (TnProgram *self, const char *folder, GError **error)
{
  const TnCompiled *compiled = self->context != NULL && self->compiled->len > 0 ? self->compiled->pdata[0] : NULL;
  if (compiled == NULL)
    return TRUE;
  g_autofree char *path = g_build_filename (folder, "strategy", NULL);
  if (g_mkdir_with_parents (path, 0755) != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_IO, _ ("Cannot make folder “%s”."), path);
      return FALSE;
    }
  g_autoptr (TnStrategyFile) file = tn_sharded_to_strategy_file (compiled->sharded);
  for (int64_t place = 0; place < self->context->mesh->n_ranks; place++)
    {
      g_autofree char *name = g_strdup_printf ("%s/rank_%" PRId64 ".json", path, self->context->mesh->ranks[place]);
      if (!tn_strategy_file_save (file, name, error))
        return FALSE;
    }
  TnNetwork network = { "train" };
  tn_strategy_save_online (&network, compiled->sharded, compiled->whole, self->is_recorded);
  return TRUE;
}
