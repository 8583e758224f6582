/* SPDX-License-Identifier: Apache-2.0 */
#include "train/reducer.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GRADIENT_PREFIX "grad:"

typedef struct
{
  const char *name; /* of the graph output */
  size_t from, n;   /* in the flat buffer */
  int wave;         /* of the block's plan */
} Segment;

typedef struct
{
  size_t from, n;
  int first, n_segments;
} Bucket;

/* A plan's side of it: made when first needed. */
typedef struct
{
  const TnCompiled *compiled;
  int *output; /* [n segments] graph output */
  int *wave;   /* [n buckets] at which the bucket is complete */
  int last_wave;
  int loss, norm;
} Binding;

struct _TnReducer
{
  TnProgram *program;
  TnComm *comm;
  int n_blocks, own_blocks; /* of all ranks; of this one */
  int64_t rows;
  int n_segments, n_buckets;
  Segment *segments;
  Bucket *buckets;
  GPtrArray *bindings;
  size_t n_flat;       /* gradients, then the loss */
  size_t n_statistics; /* behind them, where there are any */
  int levels;
  float **stack; /* [levels] sums of 1, 2, 4 ... blocks; [0] is what a block makes */
  float *before; /* [n_statistics] as they were at the step's start */
  TnCommRequest **requests;
  TnCommSpan *spans;
  gint64 begun_ns, backward_ns, ended_ns;
};

static gint64
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64) t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- rows ---- */

void
tn_reducer_block (int n_blocks, int block, int64_t n, int64_t *from, int64_t *to)
{
  *from = n * block / n_blocks;
  *to = n * (block + 1) / n_blocks;
}

void
tn_reducer_rows (int n_blocks, int n_ranks, int rank, int64_t n, int64_t *from, int64_t *to)
{
  int64_t unused;
  int each = n_blocks / n_ranks;
  tn_reducer_block (n_blocks, rank * each, n, from, &unused);
  tn_reducer_block (n_blocks, rank * each + each - 1, n, &unused, to);
}

/* ---- making one ---- */

static int
compare_segments (const void *a, const void *b)
{
  const Segment *x = a, *y = b;
  return x->wave != y->wave ? x->wave - y->wave : (x->from > y->from) - (x->from < y->from);
}

static gboolean
find_segments (TnReducer *self, const TnCompiled *compiled, GError **error)
{
  const TnGraph *graph = tn_plan_graph (compiled->plan);
  int n = tn_graph_n_outputs (graph);
  self->segments = g_new0 (Segment, n + 1);
  for (int i = 0; i < n; i++)
    {
      TnNamedValue output = tn_graph_output (graph, i);
      if (!g_str_has_prefix (output.name, GRADIENT_PREFIX))
        continue;
      if (output.value->dtype != TN_DTYPE_F32)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _("The gradient of %s is %s; ranks share float32 only: set parallel.mode = stand_alone."),
                       output.name + strlen (GRADIENT_PREFIX), tn_dtype_name (output.value->dtype));
          return FALSE;
        }
      /* Gradients of one wave stay in reverse order of the parameters: the last layer's come first. */
      self->segments[self->n_segments++] = (Segment){ .name = output.name,
                                                      .from = (size_t) (n - i),
                                                      .n = (size_t) tn_shape_count (&output.value->shape),
                                                      .wave = tn_plan_output_wave (compiled->plan, i) };
    }
  qsort (self->segments, (size_t) self->n_segments, sizeof (Segment), compare_segments);
  for (int s = 0; s < self->n_segments; s++)
    {
      self->segments[s].from = self->n_flat;
      self->n_flat += self->segments[s].n;
    }
  return TRUE;
}

/* A bucket ends where it is large enough and the next gradient comes later: cutting a wave would gain nothing. */
static void
cut_buckets (TnReducer *self, size_t bucket_bytes)
{
  self->buckets = g_new0 (Bucket, self->n_segments + 1);
  for (int s = 0; s < self->n_segments; s++)
    {
      const Segment *segment = &self->segments[s];
      Bucket *bucket = self->n_buckets > 0 ? &self->buckets[self->n_buckets - 1] : NULL;
      if (bucket == NULL || (bucket->n * sizeof (float) >= bucket_bytes && segment->wave > segment[-1].wave))
        {
          bucket = &self->buckets[self->n_buckets++];
          *bucket = (Bucket){ .from = segment->from, .first = s };
        }
      bucket->n += segment->n;
      bucket->n_segments++;
    }
  if (self->n_buckets == 0)
    self->n_buckets = 1; /* the loss alone */
  self->buckets[self->n_buckets - 1].n++;
  self->n_flat++;
}

static const TnStateEntry *
statistic (const TnReducer *self, int i)
{
  const TnStateEntry *entry = tn_program_state (self->program, i);
  return entry->role == TN_ROLE_STATISTIC && entry->tensor->dtype == TN_DTYPE_F32 ? entry : NULL;
}

TnReducer *
tn_reducer_new (TnProgram *program, TnComm *comm, int n_blocks, int64_t rows, size_t bucket_bytes, GError **error)
{
  g_autoptr (TnReducer) self = g_new0 (TnReducer, 1);
  self->program = program;
  self->comm = comm;
  self->n_blocks = n_blocks;
  self->own_blocks = n_blocks / tn_comm_size (comm);
  self->rows = rows;
  self->bindings = g_ptr_array_new ();
  const TnCompiled *compiled = tn_program_compiled (program, rows, TRUE, error);
  if (compiled == NULL || !find_segments (self, compiled, error))
    return NULL;
  cut_buckets (self, bucket_bytes);
  for (int i = 0; i < tn_program_n_state (program); i++)
    if (statistic (self, i) != NULL)
      self->n_statistics += (size_t) tn_tensor_count (statistic (self, i)->tensor);
  while (1 << self->levels <= self->own_blocks)
    self->levels++;
  self->stack = g_new0 (float *, self->levels);
  for (int k = 0; k < self->levels; k++)
    {
      self->stack[k] = g_try_malloc0_n (self->n_flat + self->n_statistics, sizeof (float));
      if (self->stack[k] == NULL)
        {
          g_set_error_literal (error, TN_ERROR, TN_ERROR_MEMORY, _("No memory for the gradients that ranks exchange: take fewer ranks or a smaller model."));
          return NULL;
        }
    }
  self->before = g_new0 (float, self->n_statistics + 1);
  self->requests = g_new0 (TnCommRequest *, self->n_buckets);
  self->spans = g_new0 (TnCommSpan, self->n_buckets);
  return g_steal_pointer (&self);
}

static void
binding_free (Binding *binding)
{
  g_free (binding->output);
  g_free (binding->wave);
  g_free (binding);
}

void
tn_reducer_free (TnReducer *self)
{
  if (self == NULL)
    return;
  g_ptr_array_set_free_func (self->bindings, (GDestroyNotify) binding_free);
  g_ptr_array_unref (self->bindings);
  for (int k = 0; k < self->levels && self->stack != NULL; k++)
    g_free (self->stack[k]);
  g_free (self->stack);
  g_free (self->before);
  g_free (self->segments);
  g_free (self->buckets);
  g_free (self->requests);
  g_free (self->spans);
  g_free (self);
}

static int
find_output (const TnGraph *graph, const char *name)
{
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    if (strcmp (tn_graph_output (graph, i).name, name) == 0)
      return i;
  return -1;
}

static const Binding *
bind (TnReducer *self, const TnCompiled *compiled)
{
  for (guint i = 0; i < self->bindings->len; i++)
    if (((Binding *) self->bindings->pdata[i])->compiled == compiled)
      return self->bindings->pdata[i];
  const TnGraph *graph = tn_plan_graph (compiled->plan);
  Binding *binding = g_new0 (Binding, 1);
  binding->compiled = compiled;
  binding->output = g_new0 (int, self->n_segments + 1);
  binding->wave = g_new0 (int, self->n_buckets);
  binding->loss = find_output (graph, "loss");
  binding->norm = find_output (graph, "grad_norm");
  for (int b = 0; b < self->n_buckets; b++)
    {
      for (int s = self->buckets[b].first; s < self->buckets[b].first + self->buckets[b].n_segments; s++)
        {
          binding->output[s] = find_output (graph, self->segments[s].name);
          binding->wave[b] = MAX (binding->wave[b], tn_plan_output_wave (compiled->plan, binding->output[s]));
        }
      binding->last_wave = MAX (binding->last_wave, binding->wave[b]);
    }
  int loss_wave = tn_plan_output_wave (compiled->plan, binding->loss);
  binding->wave[self->n_buckets - 1] = MAX (binding->wave[self->n_buckets - 1], loss_wave);
  binding->last_wave = MAX (binding->last_wave, loss_wave);
  g_ptr_array_add (self->bindings, binding);
  return binding;
}

/* ---- between the plan's memory and the flat buffer ---- */

static void
pack (TnReducer *self, const Binding *binding, const TnPlanRun *run, int b, float weight)
{
  const Bucket *bucket = &self->buckets[b];
  float *flat = self->stack[0];
  for (int s = bucket->first; s < bucket->first + bucket->n_segments; s++)
    {
      const float *gradient = tn_plan_output (binding->compiled->plan, run, binding->output[s]);
      float *to = flat + self->segments[s].from;
      for (size_t i = 0; i < self->segments[s].n; i++)
        to[i] = gradient[i] * weight;
    }
  if (b == self->n_buckets - 1)
    flat[self->n_flat - 1] = *(const float *) tn_plan_output (binding->compiled->plan, run, binding->loss) * weight;
}

static void
unpack (TnReducer *self, const Binding *binding, const TnPlanRun *run, const float *flat, int b)
{
  const Bucket *bucket = &self->buckets[b];
  for (int s = bucket->first; s < bucket->first + bucket->n_segments; s++)
    memcpy ((float *) tn_plan_output (binding->compiled->plan, run, binding->output[s]), flat + self->segments[s].from,
            self->segments[s].n * sizeof (float));
}

static void
pack_statistics (TnReducer *self, float *to, float weight)
{
  for (int i = 0; i < tn_program_n_state (self->program); i++)
    if (statistic (self, i) != NULL)
      {
        const float *x = tn_tensor_data (statistic (self, i)->tensor);
        for (int64_t k = 0; k < tn_tensor_count (statistic (self, i)->tensor); k++)
          *to++ = x[k] * weight;
      }
}

static void
unpack_statistics (TnReducer *self, const float *from)
{
  for (int i = 0; i < tn_program_n_state (self->program); i++)
    if (statistic (self, i) != NULL)
      {
        size_t n = (size_t) tn_tensor_count (statistic (self, i)->tensor);
        memcpy (tn_tensor_data (statistic (self, i)->tensor), from, n * sizeof (float));
        from += n;
      }
}

/* ---- a step ---- */

/* Rows [from, to) of the batch, of which @mine begins at row @first. */
static TnProgramBatch
part_of (const TnReducer *self, const TnProgramBatch *mine, int64_t first, int64_t from, int64_t to)
{
  TnShape row = tn_model_batch_shape (self->program->recipe.model, 1);
  int64_t skipped = from - first;
  return (TnProgramBatch){ .n = to - from,
                           .x = mine->x + skipped * tn_shape_count (&row),
                           .labels = mine->labels != NULL ? mine->labels + skipped : NULL,
                           .targets = mine->targets != NULL ? mine->targets + skipped * tn_program_n_outputs (self->program) : NULL,
                           .first_sample = mine->first_sample + skipped };
}

static const Binding *
begin_block (TnReducer *self, const TnProgramBatch *part, GError **error)
{
  TnProgram *program = self->program;
  TnCompiled *compiled = tn_program_compiled (program, part->n > 0 ? part->n : self->rows, TRUE, error);
  if (compiled == NULL || (part->n > 0 && !tn_program_check_batch (compiled, part, error)))
    return NULL;
  program->current = compiled;
  tn_program_set_inputs (program, compiled, part);
  return bind (self, compiled);
}

static gboolean
wait_all (TnReducer *self, int n, GError **error)
{
  gboolean ok = TRUE;
  for (int b = 0; b < n; b++)
    ok = tn_comm_wait (self->requests[b], &self->spans[b], ok ? error : NULL) && ok;
  return ok;
}

/* One block: each bucket goes on its way as soon as it is complete. */
static const Binding *
step_overlapped (TnReducer *self, const TnProgramBatch *part, int64_t n, int64_t step, TnPlanRun *run, GError **error)
{
  const Binding *binding = begin_block (self, part, error);
  if (binding == NULL)
    return NULL;
  *run = tn_program_run (self->program, binding->compiled, step, part->first_sample);
  float weight = (float) ((double) part->n / (double) n), *flat = self->stack[0];
  if (part->n == 0)
    memset (flat, 0, self->n_flat * sizeof (float));
  gboolean ok = TRUE;
  int at = 0, started = 0;
  for (int b = 0; b < self->n_buckets && ok; b++)
    {
      const Bucket *bucket = &self->buckets[b];
      if (part->n > 0)
        {
          ok = tn_plan_run (binding->compiled->plan, run, at, MAX (at, binding->wave[b]), error);
          at = MAX (at, binding->wave[b]);
          pack (self, binding, run, b, weight);
        }
      if (b == self->n_buckets - 1)
        self->backward_ns = now_ns ();
      if (ok && self->n_buckets == 1)
        {
          self->spans[0] = (TnCommSpan){ .started_ns = now_ns (), .begun_ns = now_ns (), .bytes = bucket->n * sizeof (float) };
          ok = tn_comm_all_reduce (self->comm, flat, flat, bucket->n, TN_DTYPE_F32, TN_REDUCE_SUM, error);
          self->spans[0].ended_ns = now_ns ();
        }
      else if (ok)
        self->requests[started++] = tn_comm_all_reduce_start (self->comm, flat + bucket->from, bucket->n, TN_DTYPE_F32, TN_REDUCE_SUM);
    }
  if (!ok && started > 0) /* the others must not wait for a bucket that will not come */
    tn_comm_fail (self->comm, error != NULL && *error != NULL ? (*error)->message : _("a step failed"));
  if (!wait_all (self, started, ok ? error : NULL) || !ok)
    return NULL;
  return binding;
}

/* Block b's sum meets that of the blocks before it as soon as both have the same size: a balanced tree by block number. */
static void
add_block (TnReducer *self, int b)
{
  size_t n = self->n_flat + self->n_statistics;
  int level = 0;
  for (; (b >> level) & 1; level++)
    {
      const float *earlier = self->stack[level + 1];
      float *sum = self->stack[0];
      for (size_t i = 0; i < n; i++)
        sum[i] = earlier[i] + sum[i];
    }
  if (level + 1 < self->levels)
    memcpy (self->stack[level + 1], self->stack[0], n * sizeof (float));
}

static const Binding *
step_by_blocks (TnReducer *self, const TnProgramBatch *mine, int64_t n, int64_t step, TnPlanRun *run, GError **error)
{
  const Binding *binding = NULL;
  int first_block = tn_comm_rank (self->comm) * self->own_blocks;
  int64_t first, from, to;
  tn_reducer_block (self->n_blocks, first_block, n, &first, &to);
  float *flat = self->stack[0];
  for (int b = 0; b < self->own_blocks; b++)
    {
      tn_reducer_block (self->n_blocks, first_block + b, n, &from, &to);
      TnProgramBatch part = part_of (self, mine, first, from, to);
      memset (flat, 0, (self->n_flat + self->n_statistics) * sizeof (float));
      if (part.n > 0 || binding == NULL)
        {
          binding = begin_block (self, &part, error);
          if (binding == NULL)
            return NULL;
          *run = tn_program_run (self->program, binding->compiled, step, part.first_sample);
        }
      if (part.n > 0)
        {
          float weight = (float) ((double) part.n / (double) n);
          unpack_statistics (self, self->before);
          if (!tn_plan_run (binding->compiled->plan, run, 0, tn_plan_optimizer_wave (binding->compiled->plan), error))
            return NULL;
          for (int k = 0; k < self->n_buckets; k++)
            pack (self, binding, run, k, weight);
          pack_statistics (self, flat + self->n_flat, weight);
        }
      add_block (self, b);
    }
  self->backward_ns = now_ns ();
  memset (self->spans, 0, sizeof (TnCommSpan) * (size_t) self->n_buckets);
  self->spans[0] = (TnCommSpan){ .started_ns = self->backward_ns, .begun_ns = self->backward_ns };
  gboolean ok = tn_comm_all_reduce (self->comm, flat, flat, self->n_flat + self->n_statistics, TN_DTYPE_F32, TN_REDUCE_SUM, error);
  self->spans[0].ended_ns = now_ns ();
  self->spans[0].bytes = (self->n_flat + self->n_statistics) * sizeof (float);
  return ok ? binding : NULL;
}

static gboolean
share_statistics (TnReducer *self, int64_t rows, int64_t n, GError **error)
{
  float *flat = self->stack[0] + self->n_flat;
  pack_statistics (self, flat, (float) ((double) rows / (double) n));
  return tn_comm_all_reduce (self->comm, flat, flat, self->n_statistics, TN_DTYPE_F32, TN_REDUCE_SUM, error);
}

gboolean
tn_reducer_step (TnReducer *self, const TnProgramBatch *mine, int64_t n, int64_t step, TnStepResult *result, GError **error)
{
  TnPlanRun run;
  gboolean overlapped = self->own_blocks == 1;
  self->begun_ns = now_ns ();
  pack_statistics (self, self->before, 1);
  const Binding *binding = overlapped ? step_overlapped (self, mine, n, step, &run, error) : step_by_blocks (self, mine, n, step, &run, error);
  if (binding == NULL)
    return FALSE;
  const float *flat = self->stack[0];
  TnPlan *plan = binding->compiled->plan;
  for (int b = 0; b < self->n_buckets; b++)
    unpack (self, binding, &run, flat, b);
  gboolean has_rows = !overlapped || mine->n > 0;
  if (!tn_plan_run (plan, &run, binding->last_wave, tn_plan_optimizer_wave (plan), error))
    return FALSE;
  if (self->n_statistics > 0)
    {
      if (!has_rows)
        unpack_statistics (self, self->before);
      if (overlapped && !share_statistics (self, mine->n, n, error))
        return FALSE;
      unpack_statistics (self, flat + self->n_flat);
    }
  const float *norm = binding->norm >= 0 ? tn_plan_output (plan, &run, binding->norm) : NULL;
  *result = (TnStepResult){ flat[self->n_flat - 1], norm != NULL ? *norm : 0 };
  self->ended_ns = now_ns ();
  return TRUE;
}

/* ---- evaluation ---- */

enum
{
  LOSS,
  CORRECT,
  ROWS,
  N_SUMS
};

gboolean
tn_reducer_evaluate (TnReducer *self, const TnProgramBatch *mine, int64_t n, TnEvalResult *result, GError **error)
{
  int first_block = tn_comm_rank (self->comm) * self->own_blocks;
  int64_t first, from, to;
  tn_reducer_block (self->n_blocks, first_block, n, &first, &to);
  g_autofree double (*sums)[N_SUMS] = g_malloc0_n ((gsize) self->own_blocks, sizeof *sums);
  for (int b = 0; b < self->own_blocks; b++)
    {
      tn_reducer_block (self->n_blocks, first_block + b, n, &from, &to);
      TnProgramBatch part = part_of (self, mine, first, from, to);
      TnEvalResult one = { 0 };
      if (part.n > 0 && !tn_program_evaluate_alone (self->program, &part, &one, NULL, error))
        return FALSE;
      sums[b][LOSS] = one.loss_sum;
      sums[b][CORRECT] = (double) one.correct;
      sums[b][ROWS] = (double) one.n;
    }
  for (int d = 1; d < self->own_blocks; d *= 2)
    for (int k = 0; k + d < self->own_blocks; k += 2 * d)
      for (int i = 0; i < N_SUMS; i++)
        sums[k][i] += sums[k + d][i];
  if (!tn_comm_all_reduce (self->comm, sums[0], sums[0], N_SUMS, TN_DTYPE_F64, TN_REDUCE_SUM, error))
    return FALSE;
  *result = (TnEvalResult){ .loss_sum = sums[0][LOSS], .correct = (int64_t) sums[0][CORRECT], .n = (int64_t) sums[0][ROWS] };
  return TRUE;
}

int
tn_reducer_n_buckets (const TnReducer *self)
{
  return self->n_buckets;
}

const TnCommSpan *
tn_reducer_spans (const TnReducer *self)
{
  return self->spans;
}

void
tn_reducer_ends (const TnReducer *self, gint64 *begun_ns, gint64 *backward_ns, gint64 *ended_ns)
{
  *begun_ns = self->begun_ns;
  *backward_ns = self->backward_ns;
  *ended_ns = self->ended_ns;
}
