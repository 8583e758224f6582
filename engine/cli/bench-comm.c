/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/pool.h"
#include "cli/cli.h"
#include "comm/mpi.h"
#include "comm/threads.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* bench comm: the time of every collective, and its bus bandwidth as nccl-tests count it: bytes a rank has to move at least,
 * whatever the algorithm, so that numbers of ranks and transports can be compared. "copy" is what the machine itself can do:
 * every rank copies its vector at the same time. */

#define MOST_TIMES 2000
#define PARTS 9 /* rows of the table */

typedef enum
{
  COPY,
  ALL_REDUCE,
  ALL_GATHER,
  REDUCE_SCATTER,
  ALL_TO_ALL,
  BROADCAST,
  SEND_RECV,
  SMALL_ALL_REDUCE,
  BARRIER
} What;

static const struct
{
  const char *name;
  What what;
} rows[PARTS] = { { "copy", COPY },
                  { "all_reduce", ALL_REDUCE },
                  { "all_gather", ALL_GATHER },
                  { "reduce_scatter", REDUCE_SCATTER },
                  { "all_to_all", ALL_TO_ALL },
                  { "broadcast", BROADCAST },
                  { "send_recv", SEND_RECV },
                  { "all_reduce_4_bytes", SMALL_ALL_REDUCE },
                  { "barrier", BARRIER } };

typedef struct
{
  TnComm *comm;
  size_t n; /* floats of a rank's vector */
  double seconds;
  gboolean for_people;
  GError *error;
} Bench;

static double
now_s (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

static gboolean
once (Bench *bench, What what, float *in, float *out)
{
  TnComm *comm = bench->comm;
  size_t n = bench->n, part = n / (size_t) tn_comm_size (comm);
  int next = (tn_comm_rank (comm) + 1) % tn_comm_size (comm), before = (tn_comm_rank (comm) + tn_comm_size (comm) - 1) % tn_comm_size (comm);
  GError **error = &bench->error;
  switch (what)
    {
    case COPY:
      memcpy (out, in, n * sizeof (float));
      return TRUE;
    case ALL_REDUCE: /* in place, as gradients are */
      return tn_comm_all_reduce (comm, out, out, n, TN_DTYPE_F32, TN_REDUCE_MEAN, error);
    case ALL_GATHER:
      return tn_comm_all_gather (comm, in, out, part, TN_DTYPE_F32, error);
    case REDUCE_SCATTER:
      return tn_comm_reduce_scatter (comm, in, out, part, TN_DTYPE_F32, TN_REDUCE_SUM, error);
    case ALL_TO_ALL:
      return tn_comm_all_to_all (comm, in, out, part, TN_DTYPE_F32, error);
    case BROADCAST:
      return tn_comm_broadcast (comm, out, n, TN_DTYPE_F32, 0, error);
    case SEND_RECV:
      return next == tn_comm_rank (comm) || tn_comm_exchange (comm, next, in, n, before, out, n, TN_DTYPE_F32, error);
    case SMALL_ALL_REDUCE:
      return tn_comm_all_reduce (comm, in, out, 1, TN_DTYPE_F32, TN_REDUCE_SUM, error);
    default:
      return tn_comm_barrier (comm, error);
    }
}

/* Bytes that go over the busiest link. */
static double
bus_bytes (What what, size_t n, int ranks)
{
  double bytes = (double) n * sizeof (float), share = (double) (ranks - 1) / ranks;
  switch (what)
    {
    case COPY:
    case BROADCAST:
    case SEND_RECV:
      return bytes;
    case ALL_REDUCE:
      return 2 * share * bytes;
    case ALL_GATHER:
    case REDUCE_SCATTER:
    case ALL_TO_ALL:
      return share * bytes;
    default:
      return 0;
    }
}

static void
print_row (const Bench *bench, int row, double *times, int n_times)
{
  qsort (times, (size_t) n_times, sizeof (double), compare_doubles);
  double least = times[0], median = times[n_times / 2], moved = bus_bytes (rows[row].what, bench->n, tn_comm_size (bench->comm));
  const char *transport = bench->comm->table->name;
  if (bench->for_people)
    {
      if (moved > 0)
        printf (_ ("%-19s %d ranks as %s, %.1f MB: %.3f ms (best %.3f), bus %.2f GB/s\n"), rows[row].name, tn_comm_size (bench->comm), transport,
                (double) bench->n * 4e-6, median * 1e3, least * 1e3, moved / median * 1e-9);
      else
        printf (_ ("%-19s %d ranks as %s: %.2f us (best %.2f)\n"), rows[row].name, tn_comm_size (bench->comm), transport, median * 1e6, least * 1e6);
      return;
    }
  JsonObject *line = json_object_new ();
  json_object_set_string_member (line, "peer", "tenon");
  json_object_set_string_member (line, "version", TN_VERSION);
  json_object_set_string_member (line, "workload", "comm");
  json_object_set_string_member (line, "collective", rows[row].name);
  json_object_set_string_member (line, "transport", transport);
  json_object_set_int_member (line, "ranks", tn_comm_size (bench->comm));
  json_object_set_int_member (line, "bytes", moved > 0 ? (gint64) (bench->n * sizeof (float)) : rows[row].what == SMALL_ALL_REDUCE ? 4 : 0);
  json_object_set_double_member (line, "ms_min", least * 1e3);
  json_object_set_double_member (line, "ms_median", median * 1e3);
  json_object_set_int_member (line, "steps", n_times);
  if (moved > 0)
    json_object_set_double_member (line, "bus_gb_per_s", moved / median * 1e-9);
  tn_cli_print_json (line);
}

/* All ranks stop after the same number of times: rank 0 says when. */
static gboolean
time_row (Bench *bench, int row, float *in, float *out)
{
  g_autofree double *times = g_new (double, MOST_TIMES);
  int n = 0;
  double until = now_s () + bench->seconds / PARTS;
  for (int32_t more = 1; more; n++)
    {
      if (!tn_comm_barrier (bench->comm, &bench->error))
        return FALSE;
      double begun = now_s ();
      if (!once (bench, rows[row].what, in, out))
        return FALSE;
      if (rows[row].what == COPY && !tn_comm_barrier (bench->comm, &bench->error)) /* the slowest counts, as in the others */
        return FALSE;
      times[n] = now_s () - begun;
      more = n + 1 < MOST_TIMES && (n < 5 || now_s () < until);
      if (!tn_comm_broadcast (bench->comm, &more, 1, TN_DTYPE_I32, 0, &bench->error))
        return FALSE;
    }
  if (tn_comm_rank (bench->comm) == 0)
    print_row (bench, row, times, n);
  return TRUE;
}

static void *
bench_main (void *data)
{
  Bench *bench = data;
  int ranks = tn_comm_size (bench->comm);
  tn_comm_threads_enter (bench->comm);
  float *in = g_aligned_alloc (bench->n + (size_t) ranks, sizeof (float), 64), *out = g_aligned_alloc (bench->n + (size_t) ranks, sizeof (float), 64);
  for (size_t i = 0; i < bench->n + (size_t) ranks; i++)
    in[i] = out[i] = (float) (i % 1000);
  for (int row = 0; row < PARTS && bench->error == NULL; row++)
    time_row (bench, row, in, out);
  if (bench->error != NULL)
    tn_comm_fail (bench->comm, bench->error->message);
  tn_comm_threads_leave (bench->comm);
  g_aligned_free (in);
  g_aligned_free (out);
  return NULL;
}

static int
bench_processes (Bench bench)
{
  g_autoptr (GError) error = NULL;
  bench.comm = tn_comm_mpi_open (&error);
  if (bench.comm == NULL)
    return tn_cli_fail (error, FALSE);
  bench_main (&bench);
  tn_comm_free (bench.comm);
  int status = bench.error != NULL ? tn_cli_fail (bench.error, FALSE) : TN_EXIT_DONE;
  g_clear_error (&bench.error);
  return status;
}

int
tn_bench_comm (int ranks, size_t bytes, double seconds, gboolean for_people)
{
  Bench common = { .n = bytes / sizeof (float), .seconds = seconds, .for_people = for_people };
  if (tn_comm_mpi_is_started ())
    return bench_processes (common);
  g_autoptr (GError) error = NULL;
  g_autofree TnComm **comms = tn_comm_threads_new (ranks, 0, &error);
  if (comms == NULL)
    return tn_cli_fail (error, FALSE);
  g_autofree Bench *benches = g_new (Bench, ranks);
  g_autofree pthread_t *threads = g_new (pthread_t, ranks);
  int started = 0;
  for (int k = 0; k < ranks; k++)
    {
      benches[k] = common;
      benches[k].comm = comms[k];
    }
  while (started < ranks && pthread_create (&threads[started], NULL, bench_main, &benches[started]) == 0)
    started++;
  if (started < ranks)
    tn_comm_fail (comms[0], _ ("the system refused a thread"));
  for (int k = 0; k < started; k++)
    pthread_join (threads[k], NULL);
  for (int k = 0; k < ranks; k++)
    tn_comm_free (comms[k]);
  int status = TN_EXIT_DONE;
  for (int k = 0; k < started; k++)
    {
      if (benches[k].error != NULL && status == TN_EXIT_DONE)
        status = tn_cli_fail (benches[k].error, FALSE);
      g_clear_error (&benches[k].error);
    }
  return status;
}
