/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks.h"
#include <inttypes.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "comm/threads.h"
#include "parallel/context.h"
#include "train/reducer.h"

typedef enum
{
  ORDER_PREPARE,
  ORDER_STEP,
  ORDER_UPDATE,
  ORDER_EVALUATE,
  ORDER_STATE,
  ORDER_END
} OrderKind;

/* What rank 0 tells the others. The addresses hold in its own process only. */
typedef struct
{
  OrderKind kind;
  int64_t n, step, first_sample;
  double lr;
  const float *x, *targets;
  const int32_t *labels;
  gboolean has_labels, has_targets;
} Order;

typedef struct
{
  TnRanks *ranks;
  TnComm *comm;
  TnProgram *program;
  TnReducer *reducer;
  pthread_t thread;
  gboolean has_thread;

  /* rows that came from another process */
  float *x, *targets;
  int32_t *labels;
  int64_t capacity;
} Rank;

struct _TnRanks
{
  TnRanksCut cut;
  int n_own; /* ranks of this process */
  Rank *own;
  int64_t rows; /* of a whole block */
  size_t bucket_bytes;
  gboolean processes;
  gboolean served; /* rank 0 has said that it is over */
};

static TnComm *process;
static gboolean process_is_over;
static const TnCommTable *test_table, **own_table;

void
tn_ranks_set_process (TnComm *comm)
{
  process = comm;
}

TnComm *
tn_ranks_process (void)
{
  return process;
}

gboolean
tn_ranks_process_is_over (void)
{
  return process_is_over;
}

/* ---- the cut ---- */

static gboolean
refuse (GError **error, const char *format, int64_t a, int64_t b)
{
  g_autofree char *number_a = g_strdup_printf ("%" PRId64, a), *number_b = g_strdup_printf ("%" PRId64, b);
  g_auto (GStrv) parts = g_strsplit (format, "%1", 2);
  g_autofree char *text = g_strjoinv (number_a, parts);
  g_auto (GStrv) rest = g_strsplit (text, "%2", 2);
  g_autofree char *message = g_strjoinv (number_b, rest);
  g_set_error_literal (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, message);
  return FALSE;
}

/* Whether settings cut weights: by strategies, or the optimizer's share of them. */
static gboolean
wants_split (const TnSettings *settings)
{
  if (tn_settings_enum_is (settings, "parallel.mode", "stand_alone"))
    return FALSE;
  return !tn_settings_enum_is (settings, "parallel.mode", "data_parallel") || tn_settings_get_bool (settings, "parallel.optimizer");
}

static gboolean
check_split (const TnSettings *settings, const TnMesh *mesh, GError **error)
{
  gboolean by_data = tn_settings_enum_is (settings, "parallel.mode", "data_parallel");
  for (int i = 0; by_data && i < mesh->n_axes; i++)
    if (tn_axis_role (mesh->names[i]) != TN_AXIS_BATCH)
      {
        g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("parallel.mode = data_parallel splits batches alone, axis “%s” of parallel.mesh does not: set parallel.mode = semi_auto_parallel."),
                     mesh->names[i]);
        return FALSE;
      }
  if (process != NULL)
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _("Ranks that split weights are threads of one process: start without mpirun, with parallel.ranks, or set parallel.mode = data_parallel and parallel.optimizer = false."));
      return FALSE;
    }
  if (mesh->n_ranks > 1 && tn_settings_get_int (settings, "parallel.same_bits") > 0)
    return refuse (error, _("The %1 blocks of parallel.same_bits need whole weights on each of %2 ranks: set parallel.same_bits = 0, or parallel.mode = data_parallel and parallel.optimizer = false."),
                   tn_settings_get_int (settings, "parallel.same_bits"), mesh->n_ranks);
  if (mesh->n_ranks > 1 && tn_settings_get_int (settings, "parallel.accumulation_steps") > 1)
    return refuse (error, _("%1 micro-batches are not added up where weights are split: set parallel.accumulation_steps = 1."), tn_settings_get_int (settings, "parallel.accumulation_steps"), 0);
  if (mesh->n_ranks > 1 && tn_settings_enum_is (settings, "device.mode", "pynative"))
    return refuse (error, _("Operators run one at a time (device.mode = pynative) on one rank only, not on %1: set device.mode = graph."), mesh->n_ranks, 0);
  return TRUE;
}

static gboolean
cut_split (const TnSettings *settings, TnRanksCut *cut, GError **error)
{
  g_autoptr (TnParallelContext) context = tn_parallel_context_can_run (settings, error) ? tn_parallel_context_new (settings, -1, error) : NULL;
  if (context == NULL || !check_split (settings, context->mesh, error))
    return FALSE;
  int n = (int) context->mesh->n_ranks;
  *cut = (TnRanksCut){ .n_ranks = n, .n_threads = n, .n_blocks = n, .joined = n > 1, .split = n > 1 };
  return TRUE;
}

gboolean
tn_ranks_cut (const TnSettings *settings, TnRanksCut *cut, GError **error)
{
  if (wants_split (settings))
    return cut_split (settings, cut, error);
  int64_t ranks = tn_settings_get_int (settings, "parallel.ranks"), blocks = tn_settings_get_int (settings, "parallel.same_bits");
  gboolean alone = tn_settings_enum_is (settings, "parallel.mode", "stand_alone");
  int64_t n = process != NULL ? tn_comm_size (process) : ranks, batch = tn_settings_get_int (settings, "train.batch");
  if (process != NULL && tn_settings_is_set (settings, "parallel.ranks") && ranks != n)
    return refuse (error, _("mpirun started %1 processes, parallel.ranks is %2: give both the same number."), n, ranks);
  if (alone && n > 1)
    return refuse (error, _("%1 ranks need a way to share the work: set parallel.mode = data_parallel, or parallel.ranks = 1."), n, 0);
  if (!alone && !tn_parallel_context_can_run (settings, error))
    return FALSE;
  if (blocks > 0 && (blocks & (blocks - 1)) != 0)
    return refuse (error, _("parallel.same_bits is %1: it must be a power of two."), blocks, 0);
  if (blocks > 0 && (n > blocks || blocks % n != 0))
    return refuse (error, _("%1 ranks do not divide the %2 blocks of parallel.same_bits: take as many ranks, or a power of two fewer."), n, blocks);
  gboolean joined = n > 1 && tn_settings_enum_is (settings, "parallel.batch_norm", "global");
  if (joined && blocks > 0)
    return refuse (error, _("The %1 blocks of parallel.same_bits have statistics of their own: set parallel.batch_norm = local, or parallel.same_bits = 0."), blocks, 0);
  int64_t s = blocks > 0 ? blocks : n;
  if (batch % s != 0)
    return refuse (error, blocks > 0 ? _("train.batch = %1 cannot be cut into the %2 equal blocks of parallel.same_bits: choose a multiple.")
                                     : _("train.batch = %1 cannot be shared equally by %2 ranks: choose a multiple."),
                   batch, s);
  if (s > 1 && tn_settings_enum_is (settings, "device.mode", "pynative"))
    return refuse (error, _("Operators run one at a time (device.mode = pynative) on one rank only, not on %1: set device.mode = graph."), n, 0);
  *cut = (TnRanksCut){ .n_ranks = (int) n, .n_threads = process != NULL ? 1 : (int) n, .n_blocks = (int) s, .joined = joined,
                       .rank = process != NULL ? tn_comm_rank (process) : 0 };
  return TRUE;
}

/* Threads that compute at once are no more than there are cores. */
TnSettings *
tn_ranks_own_settings (const TnSettings *settings, const TnRanksCut *cut, GError **error)
{
  g_autoptr (TnSettings) own = tn_settings_copy (settings);
  int threads = (int) tn_settings_get_int (settings, "device.threads");
  int share = MAX (1, (threads > 0 ? threads : tn_cpu_count_allowed ()) / cut->n_ranks);
  g_autofree char *batch = g_strdup_printf ("%" PRId64, tn_settings_get_int (settings, "train.batch") / (cut->split ? 1 : cut->n_blocks));
  g_autofree char *count = g_strdup_printf ("%d", share);
  if (!tn_settings_set (own, "train.batch", batch, error) || !tn_settings_set (own, "device.threads", count, error))
    return NULL;
  return g_steal_pointer (&own);
}

/* ---- what every rank does ---- */

static gboolean
prepare (Rank *rank, int64_t n, GError **error)
{
  int blocks = rank->ranks->cut.n_blocks;
  if (rank->ranks->cut.joined && n % blocks != 0)
    return refuse (error, _("A batch of %1 cannot be shared equally by %2 ranks, which batch norm over all of them needs: set data.drop_last = true."), n, blocks);
  int64_t least = n / blocks, most = (n + blocks - 1) / blocks;
  return (least == 0 || tn_program_compiled (rank->program, least, TRUE, error) != NULL)
         && tn_program_compiled (rank->program, most, TRUE, error) != NULL;
}

static gboolean
make_reducer (Rank *rank, GError **error)
{
  TnRanks *ranks = rank->ranks;
  rank->reducer = tn_reducer_new (rank->program, rank->comm, ranks->cut.n_blocks, ranks->rows, ranks->bucket_bytes, error);
  return rank->reducer != NULL;
}

static TnProgramBatch
rows_of (const Rank *rank, const Order *order)
{
  const TnRanksCut *cut = &rank->ranks->cut;
  int64_t from, to;
  tn_reducer_rows (cut->n_blocks, cut->n_ranks, tn_comm_rank (rank->comm), order->n, &from, &to);
  TnProgramBatch mine = { .n = to - from, .first_sample = order->first_sample + from };
  if (rank->ranks->processes && tn_comm_rank (rank->comm) != 0)
    {
      mine.x = rank->x;
      mine.labels = order->has_labels ? rank->labels : NULL;
      mine.targets = order->has_targets ? rank->targets : NULL;
      return mine;
    }
  TnShape row = tn_model_batch_shape (rank->program->recipe.model, 1);
  mine.x = order->x + from * tn_shape_count (&row);
  mine.labels = order->labels != NULL ? order->labels + from : NULL;
  mine.targets = order->targets != NULL ? order->targets + from * tn_program_n_outputs (rank->program) : NULL;
  return mine;
}

/* Processes get their rows from rank 0. */
static gboolean
receive_rows (Rank *rank, const Order *order, GError **error)
{
  const TnRanksCut *cut = &rank->ranks->cut;
  int64_t from, to;
  tn_reducer_rows (cut->n_blocks, cut->n_ranks, tn_comm_rank (rank->comm), order->n, &from, &to);
  TnShape row = tn_model_batch_shape (rank->program->recipe.model, 1);
  size_t n = (size_t) (to - from), width = (size_t) tn_shape_count (&row), outputs = (size_t) tn_program_n_outputs (rank->program);
  if (rank->capacity < to - from)
    {
      g_aligned_free (rank->x);
      g_free (rank->labels);
      g_free (rank->targets);
      rank->x = g_aligned_alloc (MAX (n * width, 1), sizeof (float), 64);
      rank->labels = g_new (int32_t, n);
      rank->targets = order->has_targets ? g_new (float, n * outputs) : NULL;
      rank->capacity = to - from;
    }
  return tn_comm_recv (rank->comm, 0, rank->x, n * width, TN_DTYPE_F32, error)
         && (!order->has_labels || tn_comm_recv (rank->comm, 0, rank->labels, n, TN_DTYPE_I32, error))
         && (!order->has_targets || tn_comm_recv (rank->comm, 0, rank->targets, n * outputs, TN_DTYPE_F32, error));
}

static gboolean
send_rows (Rank *rank, const Order *order, GError **error)
{
  const TnRanksCut *cut = &rank->ranks->cut;
  TnShape row = tn_model_batch_shape (rank->program->recipe.model, 1);
  size_t width = (size_t) tn_shape_count (&row), outputs = (size_t) tn_program_n_outputs (rank->program);
  for (int k = 1; k < cut->n_ranks; k++)
    {
      int64_t from, to;
      tn_reducer_rows (cut->n_blocks, cut->n_ranks, k, order->n, &from, &to);
      size_t n = (size_t) (to - from), at = (size_t) from;
      if (!tn_comm_send (rank->comm, k, order->x + at * width, n * width, TN_DTYPE_F32, error)
          || (order->has_labels && !tn_comm_send (rank->comm, k, order->labels + at, n, TN_DTYPE_I32, error))
          || (order->has_targets && !tn_comm_send (rank->comm, k, order->targets + at * outputs, n * outputs, TN_DTYPE_F32, error)))
        return FALSE;
    }
  return TRUE;
}

static gboolean
share_state (Rank *rank, GError **error)
{
  for (int i = 0; i < tn_program_n_state (rank->program); i++)
    {
      TnTensor *tensor = tn_program_state (rank->program, i)->tensor;
      if (!tn_comm_broadcast (rank->comm, tn_tensor_data (tensor), tn_tensor_bytes (tensor), TN_DTYPE_U8, 0, error))
        return FALSE;
    }
  return TRUE;
}

/* Every rank finds its part of the batch itself. After each order all ranks rest, so that rank 0 can look at what they have. */
static gboolean
carry_out_split (Rank *rank, const Order *order, TnStepResult *step, GError **error)
{
  TnProgram *program = rank->program;
  TnProgramBatch batch = { .n = order->n, .x = order->x, .labels = order->labels, .targets = order->targets, .first_sample = order->first_sample };
  gboolean ok = TRUE;
  switch (order->kind)
    {
    case ORDER_PREPARE:
      ok = tn_program_compiled (program, order->n, TRUE, error) != NULL;
      break;
    case ORDER_STEP:
      ok = tn_program_forward_backward_alone (program, &batch, order->step, step, error) && tn_program_join_statistics (program, rank->comm, error);
      break;
    case ORDER_UPDATE:
      ok = tn_program_update_alone (program, order->lr, order->step, error);
      break;
    case ORDER_EVALUATE:
      ok = tn_program_run_evaluation (program, &batch, error);
      break;
    default:
      return TRUE;
    }
  return ok && tn_comm_barrier (rank->comm, error);
}

/* The same on every rank; rank 0's results are those that count. */
static gboolean
carry_out (Rank *rank, const Order *order, TnStepResult *step, TnEvalResult *evaluation, GError **error)
{
  if (rank->ranks->cut.split)
    return carry_out_split (rank, order, step, error);
  if (rank->ranks->processes && (order->kind == ORDER_STEP || order->kind == ORDER_EVALUATE)
      && !(tn_comm_rank (rank->comm) == 0 ? send_rows (rank, order, error) : receive_rows (rank, order, error)))
    return FALSE;
  TnProgramBatch mine;
  switch (order->kind)
    {
    case ORDER_PREPARE:
      return prepare (rank, order->n, error);
    case ORDER_STEP:
      mine = rows_of (rank, order);
      if (rank->ranks->cut.joined)
        return tn_program_forward_backward_alone (rank->program, &mine, order->step, step, error);
      if (rank->reducer == NULL && !make_reducer (rank, error))
        return FALSE;
      return tn_reducer_step (rank->reducer, &mine, order->n, order->step, step, error);
    case ORDER_UPDATE:
      return tn_program_update_alone (rank->program, order->lr, order->step, error);
    case ORDER_EVALUATE:
      if (rank->reducer == NULL && !make_reducer (rank, error))
        return FALSE;
      mine = rows_of (rank, order);
      return tn_reducer_evaluate (rank->reducer, &mine, order->n, evaluation, error);
    case ORDER_STATE:
      return share_state (rank, error);
    default:
      return TRUE;
    }
}

/* ---- the others ---- */

static gboolean
serve (Rank *rank, GError **error)
{
  TnStepResult step;
  TnEvalResult evaluation;
  GError *failure = NULL;
  for (;;)
    {
      Order order = { 0 };
      if (!tn_comm_broadcast (rank->comm, &order, sizeof order, TN_DTYPE_U8, 0, error))
        return FALSE;
      if (order.kind == ORDER_END)
        return TRUE;
      tn_pool_enter_worker ();
      if (carry_out (rank, &order, &step, &evaluation, &failure))
        continue;
      tn_comm_fail (rank->comm, failure->message);
      g_propagate_error (error, failure);
      return FALSE;
    }
}

static void *
rank_main (void *data)
{
  Rank *rank = data;
  char name[16];
  g_snprintf (name, sizeof name, "tn-rank-%d", tn_comm_rank (rank->comm));
  pthread_setname_np (pthread_self (), name);
  tn_comm_threads_enter (rank->comm);
  serve (rank, NULL); /* what failed is told by whoever waits for this rank */
  tn_comm_threads_leave (rank->comm);
  return NULL;
}

gboolean
tn_ranks_serve (TnRanks *self, GError **error)
{
  self->served = TRUE;
  return serve (&self->own[0], error);
}

/* Signals are for the program's own threads. */
static gboolean
start_thread (Rank *rank, GError **error)
{
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  int failure = pthread_create (&rank->thread, NULL, rank_main, rank);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  rank->has_thread = failure == 0;
  if (failure != 0)
    g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _("The system refused a thread for rank %d (%s): set parallel.ranks lower."),
                 tn_comm_rank (rank->comm), g_strerror (failure));
  return failure == 0;
}

/* ---- rank 0 ---- */

/* Other ranks find the plans that rank 0 has made: so it makes them first. */
static gboolean
make_plans (TnRanks *self, const Order *order, GError **error)
{
  int blocks = self->cut.n_blocks;
  gboolean training = order->kind != ORDER_EVALUATE;
  if (self->cut.split)
    return order->kind == ORDER_UPDATE || order->kind == ORDER_STATE || order->kind == ORDER_END
           || tn_program_compiled (self->own[0].program, order->n, training, error) != NULL;
  if (self->cut.joined && training && order->n % blocks != 0)
    return order->kind == ORDER_UPDATE || order->kind == ORDER_STATE || order->kind == ORDER_END || prepare (&self->own[0], order->n, error);
  if (order->kind == ORDER_UPDATE || order->kind == ORDER_STATE || order->kind == ORDER_END)
    return TRUE;
  for (int64_t rows = order->n / blocks; rows <= (order->n + blocks - 1) / blocks; rows++)
    if (rows > 0 && tn_program_compiled (self->own[0].program, rows, training, error) == NULL)
      return FALSE;
  return TRUE;
}

static void
join_threads (TnRanks *self)
{
  for (int k = 0; k < self->n_own; k++)
    if (self->own[k].has_thread)
      {
        pthread_join (self->own[k].thread, NULL);
        self->own[k].has_thread = FALSE;
      }
}

/* After a failure the group is over, every other rank ends at its next collective. They may still read the batch, which is the
 * caller's, so they are waited for. */
static gboolean
give_order (TnRanks *self, Order *order, TnStepResult *step, TnEvalResult *evaluation, GError **error)
{
  Rank *first = &self->own[0];
  GError *failure = NULL;
  tn_pool_enter_worker ();
  tn_comm_threads_enter (first->comm);
  gboolean ok = make_plans (self, order, &failure) && tn_comm_broadcast (first->comm, order, sizeof *order, TN_DTYPE_U8, 0, &failure)
                && carry_out (first, order, step, evaluation, &failure);
  if (!ok)
    tn_comm_fail (first->comm, failure->message);
  tn_comm_threads_leave (first->comm);
  if (!ok)
    join_threads (self);
  if (failure != NULL)
    g_propagate_error (error, failure);
  return ok;
}

static Order
order_of (OrderKind kind, const TnProgramBatch *batch, int64_t step)
{
  return (Order){ .kind = kind, .n = batch->n, .step = step, .first_sample = batch->first_sample, .x = batch->x, .labels = batch->labels,
                  .targets = batch->targets, .has_labels = batch->labels != NULL, .has_targets = batch->targets != NULL };
}

gboolean
tn_ranks_prepare (TnRanks *self, int64_t batch, GError **error)
{
  return give_order (self, &(Order){ .kind = ORDER_PREPARE, .n = batch }, NULL, NULL, error);
}

gboolean
tn_ranks_forward_backward (TnRanks *self, const TnProgramBatch *batch, int64_t step, TnStepResult *result, GError **error)
{
  Order order = order_of (ORDER_STEP, batch, step);
  return give_order (self, &order, result, NULL, error);
}

gboolean
tn_ranks_update (TnRanks *self, double lr, int64_t step, GError **error)
{
  return give_order (self, &(Order){ .kind = ORDER_UPDATE, .lr = lr, .step = step }, NULL, NULL, error);
}

gboolean
tn_ranks_evaluate (TnRanks *self, const TnProgramBatch *batch, TnEvalResult *result, GError **error)
{
  Order order = order_of (ORDER_EVALUATE, batch, 0);
  return give_order (self, &order, NULL, result, error);
}

gboolean
tn_ranks_share_state (TnRanks *self, GError **error)
{
  return give_order (self, &(Order){ .kind = ORDER_STATE }, NULL, NULL, error);
}

int
tn_ranks_n (const TnRanks *self)
{
  return self->cut.n_ranks;
}

TnProgram *
tn_ranks_program (const TnRanks *self, int place)
{
  return self->own[place].program;
}

/* ---- making and ending ---- */

static gboolean
start_replicas (TnRanks *self, TnProgram *program, GError **error)
{
  g_autofree TnComm **comms = tn_comm_threads_new (self->n_own, 0, error);
  if (comms == NULL)
    return FALSE;
  for (int k = 0; k < self->n_own && test_table != NULL; k++)
    {
      *own_table = k == 0 ? comms[k]->table : *own_table;
      comms[k]->table = test_table;
    }
  for (int k = 0; k < self->n_own; k++)
    self->own[k] = (Rank){ .ranks = self, .comm = comms[k], .program = k == 0 ? program : NULL };
  for (int k = 1; k < self->n_own; k++)
    if ((self->own[k].program = tn_program_new_replica (program, k, error)) == NULL)
      return FALSE;
  return TRUE;
}

static gboolean
start_threads (TnRanks *self, GError **error)
{
  for (int k = 1; k < self->n_own; k++)
    if (!start_thread (&self->own[k], error))
      return FALSE;
  return TRUE;
}

TnRanks *
tn_ranks_new (TnProgram *program, const TnSettings *settings, const TnRanksCut *cut, GError **error)
{
  TnRanks *self = g_new0 (TnRanks, 1);
  self->cut = *cut;
  self->n_own = cut->n_threads;
  self->own = g_new0 (Rank, self->n_own);
  self->rows = tn_settings_get_int (settings, "train.batch") / cut->n_blocks;
  self->bucket_bytes = (size_t) tn_settings_get_int (settings, "parallel.bucket_kb") * 1024;
  self->processes = process != NULL;
  gboolean ok = TRUE;
  if (self->processes)
    self->own[0] = (Rank){ .ranks = self, .comm = process, .program = program };
  else
    ok = start_replicas (self, program, error);
  for (int k = 0; ok && cut->joined && k < self->n_own; k++)
    self->own[k].program->collectives = tn_collectives_new (self->own[k].comm);
  if (ok && !self->processes)
    ok = start_threads (self, error);
  if (ok && self->processes && cut->rank == 0) /* replicas of this process are copies already */
    ok = tn_ranks_share_state (self, error);
  if (ok)
    return self;
  tn_ranks_free (self);
  return NULL;
}

static void
clear_rank (TnRanks *self, Rank *rank)
{
  tn_reducer_free (rank->reducer);
  if (rank->program != NULL)
    g_clear_pointer (&rank->program->collectives, tn_collectives_free);
  if (rank != &self->own[0])
    tn_program_free (rank->program);
  if (!self->processes)
    tn_comm_free (rank->comm);
  g_aligned_free (rank->x);
  g_free (rank->labels);
  g_free (rank->targets);
}

void
tn_ranks_free (TnRanks *self)
{
  if (self == NULL)
    return;
  if (self->own[0].comm != NULL && self->cut.rank == 0 && !self->served)
    process_is_over = give_order (self, &(Order){ .kind = ORDER_END }, NULL, NULL, NULL) && self->processes;
  join_threads (self);
  for (int k = 0; k < self->n_own; k++)
    clear_rank (self, &self->own[k]);
  g_free (self->own);
  g_free (self);
}

/* ---- looking inside ---- */

void
tn_ranks_times (const TnRanks *self, TnRanksTimes *times)
{
  const TnReducer *reducer = self->own[0].reducer;
  *times = (TnRanksTimes){ 0 };
  if (reducer == NULL)
    return;
  times->n_buckets = tn_reducer_n_buckets (reducer);
  times->buckets = tn_reducer_spans (reducer);
  tn_reducer_ends (reducer, &times->begun_ns, &times->backward_ended_ns, &times->ended_ns);
}

void
tn_ranks_set_test_table (const TnCommTable *table, const TnCommTable **own)
{
  test_table = table;
  own_table = own;
}
