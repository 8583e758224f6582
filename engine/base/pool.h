/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnPool: a fixed number of threads that work through numbered tasks together.
 *
 * The caller of tn_pool_run() is one of the threads, so a pool of one creates none. Tasks are claimed one by one: results
 * may depend on the task number, never on the worker number, which only names scratch memory. One run at a time: a second
 * thread that calls tn_pool_run() waits for the first; a task that calls it on its own pool runs the inner tasks itself,
 * in order, under its own worker number.
 *
 * An idle worker spins for at most 30 us, and only if the pool has no more threads than there are cores; then it sleeps,
 * so a pool left alone costs nothing.
 *
 *   g_autoptr (TnPool) pool = tn_pool_new (tn_cpu_count_allowed (), &error);
 *   tn_pool_run (pool, n_slices, run_slice, plan);
 */
typedef struct _TnPool TnPool;

/** @task: 0..n_tasks-1, @worker: 0..n_threads-1. The thread has entered tn_pool_enter_worker(). */
typedef void (*TnPoolFunc) (void *data, int64_t task, int worker);

#define TN_POOL_MAX_THREADS 1024

/** @n_threads: 1..TN_POOL_MAX_THREADS, the caller included. Errors: out of range, or the system refuses a thread. */
TnPool *tn_pool_new (int n_threads, GError **error);
/** Ends and joins the threads. Not while a run is going on. */
void tn_pool_free (TnPool *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnPool, tn_pool_free)

int tn_pool_n_threads (const TnPool *self);

/** Calls @fn for every task and returns when all have returned; what they wrote is visible to the caller. @self may be
 * NULL: then the tasks run here. */
void tn_pool_run (TnPool *self, int64_t n_tasks, TnPoolFunc fn, void *data);

/** Sets this thread's floating-point control to flush denormals to zero (x86: FTZ and DAZ; AArch64: FZ), as in every
 * worker. The thread that calls tn_pool_run() calls it once itself, else the bits of its tasks differ from a worker's. */
void tn_pool_enter_worker (void);

/** The processors that this process may use: the least of its affinity mask and the cgroup quotas (v2 cpu.max of every
 * level up to the root, v1 cpu.cfs_quota_us), quotas rounded up; at least 1. Reads files: call it once. */
int tn_cpu_count_allowed (void);

/** The quota part of the above, for tests: @cgroup_text is what /proc/self/cgroup holds, @root where the hierarchies are
 * mounted. G_MAXINT if there is none. */
int tn_cpu_quota (const char *cgroup_text, const char *root);
