/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "collectives.h"
#include "comm/threads.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef struct
{
  TnComm *comm;
  guint32 seed;
  int n;
  void *shared;
  GError *error;
  gint64 ended_us;
} Rank;

static void
run_ranks_on (int n_ranks, int cores, void *(*main) (void *), Rank *ranks, Rank common)
{
  g_autofree TnComm **comms = tn_comm_threads_new (n_ranks, cores, NULL);
  g_autofree pthread_t *threads = g_new (pthread_t, n_ranks);
  for (int k = 0; k < n_ranks; k++)
    {
      ranks[k] = common;
      ranks[k].comm = comms[k];
      pthread_create (&threads[k], NULL, main, &ranks[k]);
    }
  for (int k = 0; k < n_ranks; k++)
    pthread_join (threads[k], NULL);
}

/* ---- against brute force ---- */

static void *
collectives_main (void *data)
{
  Rank *rank = data;
  tn_comm_threads_enter (rank->comm);
  check_collectives (rank->comm, rank->seed, rank->n);
  tn_comm_threads_leave (rank->comm);
  tn_comm_free (rank->comm);
  return NULL;
}

static void
test_collectives (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  for (int P = 1; P <= 9; P++)
    {
      Rank ranks[16];
      run_ranks_on (P, 0, collectives_main, ranks, (Rank){ .seed = seed + (guint32) P, .n = g_test_thorough () ? 300 : 30 });
    }
}

static void
test_sixteen_on_two_cores (void)
{
  Rank ranks[16];
  gint64 begun = g_get_monotonic_time ();
  run_ranks_on (16, 2, collectives_main, ranks, (Rank){ .seed = 99, .n = 20 });
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 60 * G_USEC_PER_SEC);
}

/* ---- permits ---- */

static _Atomic int computing, most;

static void *
permits_main (void *data)
{
  Rank *rank = data;
  tn_comm_threads_enter (rank->comm);
  for (int i = 0; i < 20; i++)
    {
      int n = atomic_fetch_add (&computing, 1) + 1, before = atomic_load (&most);
      while (n > before && !atomic_compare_exchange_weak (&most, &before, n))
        ;
      g_usleep (300);
      atomic_fetch_sub (&computing, 1);
      g_assert_true (tn_comm_barrier (rank->comm, NULL));
    }
  tn_comm_threads_leave (rank->comm);
  tn_comm_free (rank->comm);
  return NULL;
}

static void
test_permits (void)
{
  Rank ranks[12];
  run_ranks_on (12, 3, permits_main, ranks, (Rank){ 0 });
  g_assert_cmpint (atomic_load (&most), <=, 3);
  g_assert_cmpint (atomic_load (&most), >=, 2);
}

/* ---- failures ---- */

static void *
failing_main (void *data)
{
  Rank *rank = data;
  float x[1000] = { 0 };
  int failing = 2;
  for (int i = 0; rank->error == NULL; i++)
    {
      if (rank->comm->rank == failing && i == 7)
        {
          if (rank->n == 0)
            tn_comm_fail (rank->comm, "the disk is full");
          break;
        }
      switch (rank->seed % 3)
        {
        case 0:
          tn_comm_all_reduce (rank->comm, x, x, 1000, TN_DTYPE_F32, TN_REDUCE_SUM, &rank->error);
          break;
        case 1:
          tn_comm_wait (tn_comm_all_reduce_start (rank->comm, x, 1000, TN_DTYPE_F32, TN_REDUCE_SUM), NULL, &rank->error);
          break;
        default:
          tn_comm_exchange (rank->comm, (rank->comm->rank + 1) % rank->comm->size, x, 100,
                            (rank->comm->rank + rank->comm->size - 1) % rank->comm->size, x + 500, 100, TN_DTYPE_F32, &rank->error);
        }
    }
  rank->ended_us = g_get_monotonic_time ();
  tn_comm_free (rank->comm);
  return NULL;
}

static void
test_failure_is_named (void)
{
  for (guint32 kind = 0; kind < 3; kind++)
    {
      Rank ranks[5];
      run_ranks_on (5, 0, failing_main, ranks, (Rank){ .seed = kind });
      for (int k = 0; k < 5; k++)
        {
          if (k != 2)
            g_assert_cmpstr (ranks[k].error->message, ==, "Rank 2 stopped: the disk is full");
          g_assert_cmpint (ABS (ranks[k].ended_us - ranks[2].ended_us), <, 2 * G_USEC_PER_SEC);
          g_clear_error (&ranks[k].error);
        }
    }
}

static void
test_leaving_is_named (void)
{
  Rank ranks[5];
  run_ranks_on (5, 0, failing_main, ranks, (Rank){ .seed = 0, .n = 1 });
  for (int k = 0; k < 5; k++)
    {
      if (k != 2)
        g_assert_nonnull (strstr (ranks[k].error->message, "went away"));
      g_clear_error (&ranks[k].error);
    }
}

static void *
mismatch_main (void *data)
{
  Rank *rank = data;
  float x[100] = { 0 };
  tn_comm_all_reduce (rank->comm, x, x, rank->comm->rank == 1 ? 99 : 100, TN_DTYPE_F32, TN_REDUCE_SUM, &rank->error);
  tn_comm_free (rank->comm);
  return NULL;
}

static void
test_mismatch_is_found (void)
{
  Rank ranks[3];
  run_ranks_on (3, 0, mismatch_main, ranks, (Rank){ 0 });
  for (int k = 0; k < 3; k++)
    {
      g_assert_nonnull (strstr (ranks[k].error->message, "do not call the same collective"));
      g_clear_error (&ranks[k].error);
    }
}

static void
test_refusals (void)
{
  g_autofree TnComm **comms = tn_comm_threads_new (1, 0, NULL);
  g_autoptr (TnComm) comm = comms[0];
  g_autoptr (GError) error = NULL;
  char x[64] = { 0 };
  g_assert_null (tn_comm_threads_new (0, 0, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (tn_comm_all_reduce (comm, x, x, 4, TN_DTYPE_I32, TN_REDUCE_MEAN, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_DTYPE);
  g_clear_error (&error);
  g_assert_false (tn_comm_all_reduce (comm, x, x, 4, TN_DTYPE_BOOL, TN_REDUCE_SUM, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_DTYPE);
  g_clear_error (&error);
  g_assert_false (tn_comm_all_gather (comm, x, x, SIZE_MAX / 2, TN_DTYPE_F32, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (tn_comm_send (comm, 0, x, 1, TN_DTYPE_F32, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (tn_comm_broadcast (comm, x, 1, TN_DTYPE_F32, 1, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
}

/* ---- idle ranks ---- */

static void *
idle_main (void *data)
{
  Rank *rank = data;
  if (rank->comm->rank == 0)
    g_usleep (500000);
  g_assert_true (tn_comm_barrier (rank->comm, NULL));
  tn_comm_free (rank->comm);
  return NULL;
}

static void
test_waiting_costs_nothing (void)
{
  struct timespec before, after;
  Rank ranks[8];
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &before);
  run_ranks_on (8, 0, idle_main, ranks, (Rank){ 0 });
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &after);
  double cpu = (double) (after.tv_sec - before.tv_sec) + (double) (after.tv_nsec - before.tv_nsec) * 1e-9;
  g_assert_cmpfloat (cpu, <, 0.5 * 0.03 * 7);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/comm/threads/collectives-equal-brute-force", test_collectives);
  g_test_add_func ("/comm/threads/sixteen-ranks-on-two-cores-stay-live", test_sixteen_on_two_cores);
  g_test_add_func ("/comm/threads/no-more-compute-than-there-are-cores", test_permits);
  g_test_add_func ("/comm/threads/failure-stops-all-with-its-name", test_failure_is_named);
  g_test_add_func ("/comm/threads/leaving-is-named", test_leaving_is_named);
  g_test_add_func ("/comm/threads/mismatch-is-found", test_mismatch_is_found);
  g_test_add_func ("/comm/threads/refusals", test_refusals);
  g_test_add_func ("/comm/threads/waiting-costs-nothing", test_waiting_costs_nothing);
  return g_test_run ();
}
