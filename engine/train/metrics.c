/* SPDX-License-Identifier: Apache-2.0 */
#include "train/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "formats/tfevents.h"

#define RING_ROWS 65536u /* a power of two */
#define TICK_NS 50000000 /* 20 times a second */
#define ALMOST_FULL (RING_ROWS / 2)

const TnTagInfo tn_tags[TN_N_TAGS] = {
  [TN_TAG_LOSS] = { "train/loss", "", TRUE },
  [TN_TAG_LEARNING_RATE] = { "train/learning_rate", "", TRUE },
  [TN_TAG_GRADIENT_NORM] = { "train/gradient_norm", "", TRUE },
  [TN_TAG_PARAMETER_NORM] = { "train/parameter_norm", "", TRUE },
  [TN_TAG_SAMPLES_PER_SECOND] = { "speed/samples_per_second", "samples/s", FALSE },
  [TN_TAG_DATA_MS] = { "speed/data_ms", "ms", FALSE },
  [TN_TAG_COMPUTE_MS] = { "speed/compute_ms", "ms", FALSE },
  [TN_TAG_MEMORY] = { "memory/resident", "bytes", FALSE },
  [TN_TAG_VALIDATION_LOSS] = { "validation/loss", "", TRUE },
  [TN_TAG_VALIDATION_ACCURACY] = { "validation/accuracy", "", TRUE },
  [TN_TAG_EPOCH] = { "train/epoch", "", TRUE },
  [TN_TAG_SKIPPED_STEPS] = { "train/skipped_steps", "", TRUE },
};

typedef struct
{
  guint32 tag;
  float value;
  gint64 step, time_us;
} Row;

typedef struct
{
  char *tag;
  gint64 step, time_us;
  TnHistogram *histogram;
} PendingHistogram;

struct _TnMetrics
{
  TnMetricsFunc func;
  TnMetricsErrorFunc error_func;
  gpointer user_data;
  TnTfeventsWriter *writer; /* the writer's thread only, once that runs */
  char *file;
  pthread_t thread;
  gboolean has_thread;

  /* Ring with one producer and one consumer: positions only grow. */
  Row *ring;
  _Atomic guint64 put, taken;

  /* The batch that is handed on, in columns. */
  guint32 *tags;
  gint64 *steps, *times;
  float *values;

  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t wake;   /* the writer's */
  pthread_cond_t done;   /* those who wait for it */
  gboolean quit;
  guint64 asked, answered; /* flushes */
  gboolean sync;           /* one of those asked for wants the disk */
  GError *failure;
  GPtrArray *histograms;   /* PendingHistogram */
};

int
tn_tag_find (const char *name)
{
  for (int i = 0; i < TN_N_TAGS; i++)
    if (strcmp (tn_tags[i].name, name) == 0)
      return i;
  return -1;
}

static void
pending_free (PendingHistogram *pending)
{
  g_free (pending->tag);
  tn_histogram_free (pending->histogram);
  g_free (pending);
}

/* The writer's thread. */

/* Rows of one step and moment become one event. Returns how many rows went in. */
static guint
write_event (TnMetrics *self, guint64 first, guint64 end)
{
  const char *tags[TN_N_TAGS];
  float values[TN_N_TAGS];
  const Row *head = &self->ring[first % RING_ROWS];
  guint n = 0;
  while (first + n < end && n < TN_N_TAGS)
    {
      const Row *row = &self->ring[(first + n) % RING_ROWS];
      if (row->step != head->step || row->time_us != head->time_us)
        break;
      tags[n] = tn_tags[row->tag].name;
      values[n] = row->value;
      n++;
    }
  tn_tfevents_writer_scalars (self->writer, head->step, (double) head->time_us / 1e6, (int) n, tags, values);
  return n;
}

static guint
write_rows (TnMetrics *self)
{
  guint64 first = atomic_load_explicit (&self->taken, memory_order_relaxed);
  guint64 end = atomic_load_explicit (&self->put, memory_order_acquire);
  guint n = 0;
  for (guint64 at = first; at < end;)
    at += write_event (self, at, end);
  for (guint64 at = first; at < end; at++, n++)
    {
      const Row *row = &self->ring[at % RING_ROWS];
      self->tags[n] = row->tag;
      self->steps[n] = row->step;
      self->values[n] = row->value;
      self->times[n] = row->time_us;
    }
  atomic_store_explicit (&self->taken, end, memory_order_release);
  return n;
}

static void
write_histograms (TnMetrics *self, GPtrArray *histograms)
{
  for (guint i = 0; i < histograms->len; i++)
    {
      const PendingHistogram *pending = g_ptr_array_index (histograms, i);
      tn_tfevents_writer_histogram (self->writer, pending->step, (double) pending->time_us / 1e6, pending->tag,
                                    pending->histogram);
    }
}

/* One round, without the lock. */
static void
write_all (TnMetrics *self, GPtrArray *histograms, gboolean sync, gboolean failed, GError **error)
{
  if (failed) /* rows are dropped, so that training can end in order */
    {
      atomic_store (&self->taken, atomic_load (&self->put));
      return;
    }
  guint64 begin = tn_tfevents_writer_end (self->writer, TRUE);
  guint n = write_rows (self);
  write_histograms (self, histograms);
  if (n == 0 && histograms->len == 0 && !sync)
    return;
  if (!(sync ? tn_tfevents_writer_sync (self->writer, error) : tn_tfevents_writer_flush (self->writer, error)))
    return;
  TnMetricsBatch batch = { .n = n, .tags = self->tags, .steps = self->steps, .values = self->values,
                           .times_us = self->times, .file = self->file, .begin = begin,
                           .end = tn_tfevents_writer_end (self->writer, FALSE) };
  if (self->func != NULL && batch.end > batch.begin)
    self->func (&batch, self->user_data);
}

static void
wait_for_tick (TnMetrics *self)
{
  struct timespec until;
  clock_gettime (CLOCK_MONOTONIC, &until);
  until.tv_nsec += TICK_NS;
  if (until.tv_nsec >= 1000000000)
    until.tv_nsec -= 1000000000, until.tv_sec++;
  int result = 0;
  while (!self->quit && self->asked == self->answered && result == 0
         && atomic_load (&self->put) - atomic_load (&self->taken) < ALMOST_FULL)
    result = pthread_cond_timedwait (&self->wake, &self->mutex, &until);
}

static void *
writer_main (void *data)
{
  TnMetrics *self = data;
  pthread_setname_np (pthread_self (), "tn-metrics");
  pthread_mutex_lock (&self->mutex);
  for (gboolean quit = FALSE; !quit;)
    {
      wait_for_tick (self);
      quit = self->quit;
      guint64 asked = self->asked;
      gboolean sync = self->sync, failed = self->failure != NULL;
      self->sync = FALSE;
      GPtrArray *histograms = self->histograms;
      self->histograms = g_ptr_array_new_with_free_func ((GDestroyNotify) pending_free);
      pthread_mutex_unlock (&self->mutex);

      GError *failure = NULL;
      write_all (self, histograms, sync || quit, failed, &failure);
      g_ptr_array_unref (histograms);
      if (failure != NULL && self->error_func != NULL)
        self->error_func (failure, self->user_data);

      pthread_mutex_lock (&self->mutex);
      if (failure != NULL)
        self->failure = failure;
      self->answered = asked;
      pthread_cond_broadcast (&self->done);
    }
  pthread_mutex_unlock (&self->mutex);
  return NULL;
}

/* The caller's side. */

static void
init_conditions (TnMetrics *self)
{
  pthread_condattr_t attributes;
  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->wake, &attributes);
  pthread_cond_init (&self->done, &attributes);
  pthread_condattr_destroy (&attributes);
}

TnMetrics *
tn_metrics_new (const char *folder, gint64 resume_step, TnMetricsFunc func, TnMetricsErrorFunc error_func,
                gpointer user_data, GError **error)
{
  TnTfeventsWriter *writer = tn_tfevents_writer_new (folder, resume_step, 0, error);
  if (writer == NULL)
    return NULL;
  TnMetrics *self = g_new0 (TnMetrics, 1);
  self->writer = writer;
  self->file = g_path_get_basename (tn_tfevents_writer_path (writer));
  self->func = func;
  self->error_func = error_func;
  self->user_data = user_data;
  self->ring = g_new0 (Row, RING_ROWS);
  self->tags = g_new (guint32, RING_ROWS);
  self->steps = g_new (gint64, RING_ROWS);
  self->times = g_new (gint64, RING_ROWS);
  self->values = g_new (float, RING_ROWS);
  self->histograms = g_ptr_array_new_with_free_func ((GDestroyNotify) pending_free);
  init_conditions (self);
  int result = pthread_create (&self->thread, NULL, writer_main, self);
  self->has_thread = result == 0;
  if (result != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _("Cannot start the thread that writes metrics: %s."),
                   g_strerror (result));
      tn_metrics_free (self);
      return NULL;
    }
  return self;
}

void
tn_metrics_free (TnMetrics *self)
{
  if (self == NULL)
    return;
  if (self->has_thread)
    {
      pthread_mutex_lock (&self->mutex);
      self->quit = TRUE;
      pthread_cond_broadcast (&self->wake);
      pthread_mutex_unlock (&self->mutex);
      pthread_join (self->thread, NULL);
    }
  tn_tfevents_writer_free (self->writer);
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->wake);
  pthread_cond_destroy (&self->done);
  g_ptr_array_unref (self->histograms);
  g_clear_error (&self->failure);
  g_free (self->ring);
  g_free (self->tags);
  g_free (self->steps);
  g_free (self->times);
  g_free (self->values);
  g_free (self->file);
  g_free (self);
}

/* The disk has not kept up for seconds: now the step waits, as rows may not be lost and memory may not grow. */
static void
wait_for_room (TnMetrics *self)
{
  pthread_mutex_lock (&self->mutex);
  pthread_cond_broadcast (&self->wake);
  while (atomic_load (&self->put) - atomic_load (&self->taken) >= RING_ROWS)
    pthread_cond_wait (&self->done, &self->mutex);
  pthread_mutex_unlock (&self->mutex);
}

void
tn_metrics_add (TnMetrics *self, TnTag tag, gint64 step, double value, gint64 time_us)
{
  guint64 put = atomic_load_explicit (&self->put, memory_order_relaxed);
  guint64 used = put - atomic_load_explicit (&self->taken, memory_order_acquire);
  if (used >= RING_ROWS)
    wait_for_room (self);
  self->ring[put % RING_ROWS] = (Row){ tag, (float) value, step, time_us };
  atomic_store_explicit (&self->put, put + 1, memory_order_release);
  if (used + 1 == ALMOST_FULL)
    {
      pthread_mutex_lock (&self->mutex);
      pthread_cond_broadcast (&self->wake);
      pthread_mutex_unlock (&self->mutex);
    }
}

void
tn_metrics_add_histogram (TnMetrics *self, const char *tag, gint64 step, gint64 time_us, const float *values, gsize n)
{
  PendingHistogram *pending = g_new (PendingHistogram, 1);
  *pending = (PendingHistogram){ g_strdup (tag), step, time_us, tn_histogram_new_from_floats (values, n, NULL) };
  pthread_mutex_lock (&self->mutex);
  g_ptr_array_add (self->histograms, pending);
  pthread_mutex_unlock (&self->mutex);
}

gboolean
tn_metrics_flush (TnMetrics *self, gboolean sync, GError **error)
{
  pthread_mutex_lock (&self->mutex);
  guint64 wanted = ++self->asked;
  self->sync |= sync;
  pthread_cond_broadcast (&self->wake);
  while (self->answered < wanted)
    pthread_cond_wait (&self->done, &self->mutex);
  gboolean ok = self->failure == NULL;
  if (!ok)
    g_propagate_error (error, g_error_copy (self->failure));
  pthread_mutex_unlock (&self->mutex);
  return ok;
}

const char *
tn_metrics_file (const TnMetrics *self)
{
  return self->file;
}
