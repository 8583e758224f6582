/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/lane.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/error.h"
#include "base/pool.h"
#include "comm/reduce.h"
#include "comm/threads.h"

struct _TnCommRequest
{
  TnComm *comm;
  void *data;
  size_t n;
  TnDType dtype;
  TnReduce op;
  gboolean done, ok;
  GError *error;
  TnCommSpan span;
};

struct _TnCommLane
{
  pthread_t thread;
  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t changed;
  GQueue waiting;
  gboolean busy, ending;
};

static gint64
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
work_off (TnCommRequest *request)
{
  TnComm *comm = request->comm;
  tn_comm_threads_enter (comm);
  request->span.begun_ns = now_ns ();
  request->ok = comm->table->all_reduce (comm, request->data, request->data, request->n, request->dtype, request->op, &request->error);
  request->span.ended_ns = now_ns ();
  tn_comm_threads_leave (comm);
}

static void *
lane_main (void *data)
{
  TnCommLane *lane = data;
  pthread_setname_np (pthread_self (), "tn-lane");
  tn_pool_enter_worker ();
  pthread_mutex_lock (&lane->mutex);
  while (!lane->ending || !g_queue_is_empty (&lane->waiting))
    {
      TnCommRequest *request = g_queue_pop_head (&lane->waiting);
      if (request == NULL)
        {
          pthread_cond_wait (&lane->changed, &lane->mutex);
          continue;
        }
      lane->busy = TRUE;
      pthread_mutex_unlock (&lane->mutex);
      work_off (request);
      pthread_mutex_lock (&lane->mutex);
      lane->busy = FALSE;
      request->done = TRUE;
      pthread_cond_broadcast (&lane->changed);
    }
  pthread_mutex_unlock (&lane->mutex);
  return NULL;
}

/* Signals are for the program's own threads. NULL where the system refuses a thread: then requests are worked off at once. */
static TnCommLane *
lane_new (void)
{
  TnCommLane *lane = g_new0 (TnCommLane, 1);
  pthread_mutex_init (&lane->mutex, NULL);
  pthread_cond_init (&lane->changed, NULL);
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  int failure = pthread_create (&lane->thread, NULL, lane_main, lane);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (failure == 0)
    return lane;
  pthread_mutex_destroy (&lane->mutex);
  pthread_cond_destroy (&lane->changed);
  g_free (lane);
  return NULL;
}

TnCommRequest *
tn_comm_all_reduce_start (TnComm *self, void *data, size_t n, TnDType dtype, TnReduce op)
{
  TnCommRequest *request = g_new0 (TnCommRequest, 1);
  *request = (TnCommRequest){ .comm = self, .data = data, .n = n, .dtype = dtype, .op = op };
  request->span = (TnCommSpan){ .started_ns = now_ns (), .bytes = n * tn_dtype_size (dtype) };
  if (!tn_reduce_takes (dtype, op))
    {
      g_set_error (&request->error, TN_ERROR, TN_ERROR_DTYPE, _("Ranks do not reduce %s that way."), tn_dtype_name (dtype));
      request->done = TRUE;
      return request;
    }
  if (self->lane == NULL)
    self->lane = lane_new ();
  if (self->lane == NULL)
    {
      work_off (request);
      request->done = TRUE;
      return request;
    }
  pthread_mutex_lock (&self->lane->mutex);
  g_queue_push_tail (&self->lane->waiting, request);
  pthread_cond_broadcast (&self->lane->changed);
  pthread_mutex_unlock (&self->lane->mutex);
  return request;
}

/* A rank that waits for its own lane gives its core to whoever has something to do. */
gboolean
tn_comm_wait (TnCommRequest *request, TnCommSpan *span, GError **error)
{
  TnComm *comm = request->comm;
  TnCommLane *lane = comm->lane;
  if (lane != NULL)
    {
      pthread_mutex_lock (&lane->mutex);
      if (!request->done)
        {
          pthread_mutex_unlock (&lane->mutex);
          gboolean had = tn_comm_threads_leave (comm);
          pthread_mutex_lock (&lane->mutex);
          while (!request->done)
            pthread_cond_wait (&lane->changed, &lane->mutex);
          pthread_mutex_unlock (&lane->mutex);
          if (had)
            tn_comm_threads_enter (comm);
        }
      else
        pthread_mutex_unlock (&lane->mutex);
    }
  gboolean ok = request->ok;
  if (span != NULL)
    *span = request->span;
  if (request->error != NULL)
    g_propagate_error (error, request->error);
  g_free (request);
  return ok;
}

void
tn_comm_lane_drain (TnComm *comm)
{
  TnCommLane *lane = comm->lane;
  if (lane == NULL)
    return;
  pthread_mutex_lock (&lane->mutex);
  gboolean idle = !lane->busy && g_queue_is_empty (&lane->waiting);
  pthread_mutex_unlock (&lane->mutex);
  if (idle)
    return;
  gboolean had = tn_comm_threads_leave (comm);
  pthread_mutex_lock (&lane->mutex);
  while (lane->busy || !g_queue_is_empty (&lane->waiting))
    pthread_cond_wait (&lane->changed, &lane->mutex);
  pthread_mutex_unlock (&lane->mutex);
  if (had)
    tn_comm_threads_enter (comm);
}

/* What was started is worked off first. */
void
tn_comm_lane_free (TnComm *comm)
{
  TnCommLane *lane = comm->lane;
  if (lane == NULL)
    return;
  pthread_mutex_lock (&lane->mutex);
  lane->ending = TRUE;
  pthread_cond_broadcast (&lane->changed);
  pthread_mutex_unlock (&lane->mutex);
  pthread_join (lane->thread, NULL);
  pthread_mutex_destroy (&lane->mutex);
  pthread_cond_destroy (&lane->changed);
  g_free (lane);
  comm->lane = NULL;
}
