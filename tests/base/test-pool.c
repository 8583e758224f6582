/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pool.h"

typedef struct
{
  TnPool *pool;
  int n_threads;
  int counts[5000];
  _Atomic int in_use[64]; /* by worker number */
  int plain[64];          /* a data race here is found by thread sanitizer */
} Job;

static void
count_task (void *data, int64_t task, int worker)
{
  Job *job = data;
  g_assert_cmpint (worker, >=, 0);
  g_assert_cmpint (worker, <, job->n_threads);
  g_assert_cmpint (atomic_fetch_add (&job->in_use[worker], 1), ==, 0);
  job->counts[task]++;
  job->plain[worker]++;
  atomic_fetch_sub (&job->in_use[worker], 1);
}

static void
test_each_task_once (void)
{
  static const int sizes[] = { 1, 2, 3, 4, 9 };
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      g_autoptr (TnPool) pool = tn_pool_new (sizes[s], NULL);
      g_autofree Job *job = g_new0 (Job, 1);
      job->n_threads = sizes[s];
      int64_t expected[5000] = { 0 };
      for (int round = 0; round < 400; round++)
        {
          int64_t n = round * 37 % 61;
          tn_pool_run (pool, n, count_task, job);
          for (int64_t i = 0; i < n; i++)
            expected[i]++;
          if (round % 100 == 99)
            g_usleep (2000); /* workers go to sleep */
        }
      tn_pool_run (pool, 5000, count_task, job);
      for (int i = 0; i < 5000; i++)
        g_assert_cmpint (job->counts[i], ==, expected[i] + 1);
    }
}

static void
write_value (void *data, int64_t task, int worker)
{
  ((int64_t *) data)[task] = task * task;
}

static void
test_results_are_visible (void)
{
  g_autoptr (TnPool) pool = tn_pool_new (4, NULL);
  int64_t values[64];
  for (int round = 0; round < 3000; round++)
    {
      memset (values, 0, sizeof values);
      tn_pool_run (pool, 64, write_value, values);
      for (int64_t i = 0; i < 64; i++)
        g_assert_cmpint (values[i], ==, i * i);
    }
}

static void
inner_task (void *data, int64_t task, int worker)
{
  int *order = data;
  g_assert_cmpint (order[0], ==, worker);
  g_assert_cmpint (order[1]++, ==, task);
}

static void
outer_task (void *data, int64_t task, int worker)
{
  int order[2] = { worker, 0 };
  tn_pool_run (data, 5, inner_task, order);
  g_assert_cmpint (order[1], ==, 5);
}

static void
test_nested_runs_inline (void)
{
  for (int n = 1; n <= 3; n++)
    {
      g_autoptr (TnPool) pool = tn_pool_new (n, NULL);
      for (int i = 0; i < 100; i++)
        tn_pool_run (pool, 7, outer_task, pool);
      tn_pool_run (pool, 1, outer_task, pool);
    }
}

static void *
run_from_thread (void *data)
{
  Job *job = data;
  for (int i = 0; i < 300; i++)
    tn_pool_run (job->pool, 8, count_task, job);
  return NULL;
}

static void
test_two_callers_take_turns (void)
{
  g_autoptr (TnPool) pool = tn_pool_new (3, NULL);
  g_autofree Job *job = g_new0 (Job, 1);
  job->pool = pool;
  job->n_threads = 3;
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    pthread_create (&threads[i], NULL, run_from_thread, job);
  for (int i = 0; i < 3; i++)
    pthread_join (threads[i], NULL);
  for (int i = 0; i < 8; i++)
    g_assert_cmpint (job->counts[i], ==, 900);
}

static void
halve_smallest (void *data, int64_t task, int worker)
{
  static volatile double smallest = 2.2250738585072014e-308;
  volatile double half = smallest / 2;
  *(_Atomic int *) data += half != 0;
}

static void
test_denormals_are_flushed (void)
{
#if defined(__x86_64__) || defined(__aarch64__)
  tn_pool_enter_worker ();
  g_autoptr (TnPool) pool = tn_pool_new (3, NULL);
  _Atomic int n_denormal = 0;
  tn_pool_run (pool, 1000, halve_smallest, &n_denormal);
  g_assert_cmpint (n_denormal, ==, 0);
#else
  g_test_skip ("no flush-to-zero on this processor");
#endif
}

static void
test_idle_pool_sleeps (void)
{
  g_autoptr (TnPool) pool = tn_pool_new (2, NULL);
  int64_t values[64];
  tn_pool_run (pool, 64, write_value, values);
  g_usleep (20000);
  struct timespec before, after;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &before);
  g_usleep (200000);
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &after);
  double used = (after.tv_sec - before.tv_sec) + (after.tv_nsec - before.tv_nsec) * 1e-9;
  g_assert_cmpfloat (used, <, 0.05);
}

static void
test_bad_sizes_are_refused (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_pool_new (0, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_null (tn_pool_new (TN_POOL_MAX_THREADS + 1, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
}

static void
put (const char *root, const char *folder, const char *name, const char *text)
{
  g_autofree char *dir = g_build_filename (root, folder, NULL);
  g_autofree char *path = g_build_filename (dir, name, NULL);
  g_assert_cmpint (g_mkdir_with_parents (dir, 0755), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static void
test_quotas (void)
{
  g_autofree char *root = g_dir_make_tmp ("tenon-cgroup-XXXXXX", NULL);
  put (root, "a/b", "cpu.max", "max 100000\n");
  put (root, "a", "cpu.max", "250000 100000\n");
  put (root, "", "cpu.max", "max 100000\n");
  put (root, "c", "cpu.max", "100000 100000\n");
  put (root, "cpu,cpuacct/d", "cpu.cfs_quota_us", "-1\n");
  put (root, "cpu,cpuacct/d", "cpu.cfs_period_us", "100000\n");
  put (root, "cpu,cpuacct", "cpu.cfs_quota_us", "50000\n");
  put (root, "cpu,cpuacct", "cpu.cfs_period_us", "100000\n");
  g_assert_cmpint (tn_cpu_quota ("0::/a/b\n", root), ==, 3); /* the parent's 2.5, rounded up */
  g_assert_cmpint (tn_cpu_quota ("0::/c\n", root), ==, 1);
  g_assert_cmpint (tn_cpu_quota ("0::/not/visible/here\n", root), ==, G_MAXINT);
  g_assert_cmpint (tn_cpu_quota ("4:cpu,cpuacct:/d\n1:name=systemd:/x\n", root), ==, 1);
  g_assert_cmpint (tn_cpu_quota ("4:cpuset:/d\n", root), ==, G_MAXINT);
  g_assert_cmpint (tn_cpu_quota ("garbage\n:::\n0::/../../etc\n", root), ==, G_MAXINT);
  g_assert_cmpint (tn_cpu_count_allowed (), >=, 1);
  g_assert_cmpint (tn_cpu_count_allowed (), <=, sysconf (_SC_NPROCESSORS_CONF));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/pool/each-task-once", test_each_task_once);
  g_test_add_func ("/base/pool/results-are-visible", test_results_are_visible);
  g_test_add_func ("/base/pool/nested-runs-inline", test_nested_runs_inline);
  g_test_add_func ("/base/pool/two-callers-take-turns", test_two_callers_take_turns);
  g_test_add_func ("/base/pool/denormals-are-flushed", test_denormals_are_flushed);
  g_test_add_func ("/base/pool/idle-pool-sleeps", test_idle_pool_sleeps);
  g_test_add_func ("/base/pool/bad-sizes-are-refused", test_bad_sizes_are_refused);
  g_test_add_func ("/base/cpu-count/quotas-of-both-cgroup-versions", test_quotas);
  return g_test_run ();
}
