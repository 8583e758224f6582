/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define SPIN_NS 30000
#define PAUSES_PER_CLOCK 16

/* The gate counts the workers inside the present run. Only while it is open may a worker enter. The caller opens it, works,
 * closes it when no task is left, and waits for the count to reach 0: a worker that wakes up too late finds it closed
 * and delays nobody. */
#define GATE_OPEN 0x80000000u
#define GATE_WAITED 0x40000000u /* the caller sleeps on the gate */
#define GATE_COUNT 0x3fffffffu

typedef struct
{
  TnPool *pool;
  int index;
  pthread_t thread;
} Worker;

struct _TnPool
{
  /* Written by the caller before the gate opens, read by workers after they have entered. */
  TnPoolFunc fn;
  void *data;
  int64_t n_tasks;

  _Alignas (64) _Atomic int64_t next_task;
  _Alignas (64) _Atomic uint32_t gate;
  _Alignas (64) _Atomic uint32_t generation; /* one more for every run; idle workers watch it */
  _Atomic int n_sleeping;
  _Atomic gboolean ending;

  _Alignas (64) pthread_mutex_t run_lock; /* one run at a time */
  int n_threads;
  int n_cores;
  Worker *workers; /* [n_threads - 1], worker numbers from 1 */
};

/* The pools whose tasks this thread is inside of, innermost first: how a nested run is recognised. */
typedef struct _Frame Frame;
struct _Frame
{
  TnPool *pool;
  int worker;
  Frame *outer;
};

static _Thread_local Frame *frames;

/* Threads of all pools, callers included: spinning is only harmless while each can have a core. */
static _Atomic int n_threads_total;

static inline void
pause_briefly (void)
{
#if defined(__x86_64__)
  __builtin_ia32_pause ();
#elif defined(__aarch64__)
  __asm__ volatile ("yield");
#endif
}

static int64_t
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
futex_wait (_Atomic uint32_t *word, uint32_t expected)
{
  syscall (SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void
futex_wake (_Atomic uint32_t *word, int n)
{
  syscall (SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static gboolean
may_spin (const TnPool *self)
{
  return atomic_load_explicit (&n_threads_total, memory_order_relaxed) <= self->n_cores;
}

/* Waits until *word is not @value; TRUE if that came within the spinning time. */
static gboolean
spin_while_equal (const TnPool *self, _Atomic uint32_t *word, uint32_t value)
{
  if (!may_spin (self))
    return atomic_load_explicit (word, memory_order_acquire) != value;
  int64_t end = 0;
  for (;;)
    {
      for (int i = 0; i < PAUSES_PER_CLOCK; i++)
        {
          if (atomic_load_explicit (word, memory_order_acquire) != value)
            return TRUE;
          pause_briefly ();
        }
      int64_t now = now_ns ();
      if (end == 0)
        end = now + SPIN_NS;
      else if (now >= end)
        return FALSE;
    }
}

void
tn_pool_enter_worker (void)
{
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr (__builtin_ia32_stmxcsr () | 0x8040u); /* FTZ, DAZ */
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile ("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile ("msr fpcr, %0" : : "r"(control | (1ull << 24)));
#endif
}

static void
work (TnPool *self, int worker)
{
  Frame frame = { self, worker, frames };
  frames = &frame;
  for (;;)
    {
      int64_t task = atomic_fetch_add_explicit (&self->next_task, 1, memory_order_relaxed);
      if (task >= self->n_tasks)
        break;
      self->fn (self->data, task, worker);
    }
  frames = frame.outer;
}

static gboolean
enter_gate (TnPool *self)
{
  uint32_t gate = atomic_load_explicit (&self->gate, memory_order_relaxed);
  while (gate & GATE_OPEN)
    if (atomic_compare_exchange_weak_explicit (&self->gate, &gate, gate + 1, memory_order_acquire,
                                               memory_order_relaxed))
      return TRUE;
  return FALSE;
}

static void
leave_gate (TnPool *self)
{
  uint32_t before = atomic_fetch_sub_explicit (&self->gate, 1, memory_order_release);
  if (before == (GATE_WAITED | 1))
    futex_wake (&self->gate, 1);
}

static void *
worker_main (void *arg)
{
  Worker *worker = arg;
  TnPool *self = worker->pool;
  uint32_t seen = 0;

  tn_pool_enter_worker ();
  for (;;)
    {
      while (!spin_while_equal (self, &self->generation, seen))
        {
          /* The order matters: the caller raises the generation, then looks for sleepers. */
          atomic_fetch_add (&self->n_sleeping, 1);
          futex_wait (&self->generation, seen);
          atomic_fetch_sub (&self->n_sleeping, 1);
        }
      seen = atomic_load_explicit (&self->generation, memory_order_acquire);
      if (atomic_load_explicit (&self->ending, memory_order_acquire))
        return NULL;
      if (enter_gate (self))
        {
          work (self, worker->index);
          leave_gate (self);
        }
    }
}

static void
wake_workers (TnPool *self, int64_t wanted)
{
  atomic_fetch_add (&self->generation, 1);
  int sleeping = atomic_load (&self->n_sleeping);
  if (sleeping > 0)
    futex_wake (&self->generation, (int) MIN (wanted, INT_MAX));
}

static void
close_gate_and_wait (TnPool *self)
{
  uint32_t gate = atomic_fetch_and_explicit (&self->gate, ~GATE_OPEN, memory_order_acq_rel) & ~GATE_OPEN;
  while (gate & GATE_COUNT)
    {
      if (!spin_while_equal (self, &self->gate, gate))
        {
          if ((gate & GATE_WAITED)
              || atomic_compare_exchange_strong_explicit (&self->gate, &gate, gate | GATE_WAITED, memory_order_acquire,
                                                          memory_order_acquire))
            {
              gate |= GATE_WAITED;
              futex_wait (&self->gate, gate);
            }
        }
      gate = atomic_load_explicit (&self->gate, memory_order_acquire);
    }
}

static void
run_inline (TnPool *self, int worker, int64_t n_tasks, TnPoolFunc fn, void *data)
{
  Frame frame = { self, worker, frames };
  frames = &frame;
  for (int64_t task = 0; task < n_tasks; task++)
    fn (data, task, worker);
  frames = frame.outer;
}

void
tn_pool_run (TnPool *self, int64_t n_tasks, TnPoolFunc fn, void *data)
{
  g_return_if_fail (fn != NULL);
  if (n_tasks <= 0)
    return;
  if (self == NULL)
    {
      for (int64_t task = 0; task < n_tasks; task++)
        fn (data, task, 0);
      return;
    }
  for (Frame *frame = frames; frame != NULL; frame = frame->outer)
    if (frame->pool == self)
      {
        run_inline (self, frame->worker, n_tasks, fn, data);
        return;
      }

  pthread_mutex_lock (&self->run_lock);
  if (n_tasks == 1 || self->n_threads == 1)
    run_inline (self, 0, n_tasks, fn, data);
  else
    {
      self->fn = fn;
      self->data = data;
      self->n_tasks = n_tasks;
      atomic_store_explicit (&self->next_task, 0, memory_order_relaxed);
      atomic_store_explicit (&self->gate, GATE_OPEN, memory_order_release);
      wake_workers (self, n_tasks - 1);
      work (self, 0);
      close_gate_and_wait (self);
    }
  pthread_mutex_unlock (&self->run_lock);
}

int
tn_pool_n_threads (const TnPool *self)
{
  return self == NULL ? 1 : self->n_threads;
}

static void
end_workers (TnPool *self, int n_started)
{
  atomic_store_explicit (&self->ending, TRUE, memory_order_release);
  wake_workers (self, INT_MAX);
  for (int i = 0; i < n_started; i++)
    pthread_join (self->workers[i].thread, NULL);
}

static void
destroy (TnPool *self)
{
  atomic_fetch_sub (&n_threads_total, self->n_threads);
  pthread_mutex_destroy (&self->run_lock);
  g_free (self->workers);
  free (self);
}

/* Signals are for the program's own threads. */
static int
start_worker (Worker *worker)
{
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  int failure = pthread_create (&worker->thread, NULL, worker_main, worker);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (failure == 0)
    {
      char name[16];
      snprintf (name, sizeof name, "tn-worker-%d", worker->index);
      pthread_setname_np (worker->thread, name);
    }
  return failure;
}

TnPool *
tn_pool_new (int n_threads, GError **error)
{
  if (n_threads < 1 || n_threads > TN_POOL_MAX_THREADS)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("Cannot compute with %d threads; choose 1 to %d"),
                   n_threads, TN_POOL_MAX_THREADS);
      return NULL;
    }
  TnPool *self = aligned_alloc (64, sizeof *self);
  if (self == NULL)
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_MEMORY, _("No memory for a pool of threads; close other programs"));
      return NULL;
    }
  *self = (TnPool){ .n_threads = n_threads, .n_cores = tn_cpu_count_allowed () };
  pthread_mutex_init (&self->run_lock, NULL);
  self->workers = g_new0 (Worker, n_threads - 1);
  atomic_fetch_add (&n_threads_total, n_threads);

  for (int i = 0; i < n_threads - 1; i++)
    {
      self->workers[i] = (Worker){ .pool = self, .index = i + 1 };
      int failure = start_worker (&self->workers[i]);
      if (failure != 0)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_MEMORY,
                       _("The system refused thread %d of %d (%s); set device.threads lower or raise the limit "
                         "(ulimit -u)"),
                       i + 1, n_threads, g_strerror (failure));
          end_workers (self, i);
          destroy (self);
          return NULL;
        }
    }
  return self;
}

void
tn_pool_free (TnPool *self)
{
  if (self == NULL)
    return;
  end_workers (self, self->n_threads - 1);
  destroy (self);
}
