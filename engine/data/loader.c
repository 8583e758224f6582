/* SPDX-License-Identifier: Apache-2.0 */
#include "data/loader.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/shuffle.h"

typedef struct
{
  int64_t epoch, step;
} Place;

struct _TnLoader
{
  TnDataset *dataset;
  TnLoaderOptions options;
  TnShuffle *shuffle;
  int64_t steps_per_epoch;
  TnShape out_shape;
  size_t out_elements;
  /* Channels, rows, columns of a raw picture; what is no picture is one row. */
  size_t C, H, W;
  float (*tables)[256]; /* [C]: raw byte -> value */
  uint8_t *scratch;
  TnBatch *ring;        /* [n_ring]; batch k of the stream goes to place k % n_ring */
  int n_ring;
  Place make_next;      /* only the making thread */

  pthread_t thread;
  gboolean has_thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Below: under the lock. Made, taken and released batches since the last seek: released <= taken <= made. */
  int64_t n_made, n_taken, n_released;
  gboolean stop, ended;
  Place take_next;
};

static void
gather_bytes (TnLoader *self, const uint8_t *from, float *to)
{
  size_t pad = (size_t) self->options.pad, width = self->W + 2 * pad;
  for (size_t c = 0; c < self->C; c++)
    {
      const float *table = self->tables[c];
      for (size_t i = 0; i < pad * width; i++)
        *to++ = table[0];
      for (size_t y = 0; y < self->H; y++)
        {
          for (size_t i = 0; i < pad; i++)
            *to++ = table[0];
          for (size_t x = 0; x < self->W; x++)
            to[x] = table[from[x]];
          to += self->W;
          from += self->W;
          for (size_t i = 0; i < pad; i++)
            *to++ = table[0];
        }
      for (size_t i = 0; i < pad * width; i++)
        *to++ = table[0];
    }
}

static void
gather_floats (TnLoader *self, const float *from, float *to)
{
  const TnLoaderOptions *o = &self->options;
  size_t pad = (size_t) o->pad, width = self->W + 2 * pad, height = self->H + 2 * pad;
  for (size_t c = 0; c < self->C; c++)
    {
      float mean = o->normalise ? o->mean[o->n_channels > 1 ? c : 0] : 0.f, std = o->normalise ? o->std[o->n_channels > 1 ? c : 0] : 1.f;
      for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
          {
            gboolean inside = y >= pad && y < pad + self->H && x >= pad && x < pad + self->W;
            *to++ = ((inside ? from[(y - pad) * self->W + x - pad] : 0.f) - mean) / std;
          }
      from += self->H * self->W;
    }
}

static void
make_batch (TnLoader *self, Place place, TnBatch *batch)
{
  const int64_t *order = tn_shuffle_order (self->shuffle, place.epoch);
  int64_t first = place.step * self->options.batch_size, n_ids = tn_shuffle_n (self->shuffle);

  batch->epoch = place.epoch;
  batch->step_in_epoch = place.step;
  batch->n = (int) MIN ((int64_t) self->options.batch_size, n_ids - first);
  batch->last_in_epoch = place.step + 1 == self->steps_per_epoch;
  memcpy (batch->ids, order + first, sizeof *batch->ids * (size_t) batch->n);
  for (int i = 0; i < batch->n; i++)
    {
      int64_t id = batch->ids[i];
      const void *raw = tn_dataset_sample (self->dataset, id, self->scratch);
      float *to = batch->x + (size_t) i * self->out_elements;
      if (i + 1 < batch->n)
        __builtin_prefetch (self->dataset->samples + (size_t) batch->ids[i + 1] * self->dataset->sample_bytes);
      if (self->dataset->dtype == TN_DTYPE_U8)
        gather_bytes (self, raw, to);
      else
        gather_floats (self, raw, to);
      if (batch->labels)
        batch->labels[i] = self->dataset->labels[id];
      else
        memcpy (batch->targets + (size_t) i * (size_t) self->dataset->target_width,
                self->dataset->targets + (size_t) id * (size_t) self->dataset->target_width,
                sizeof (float) * (size_t) self->dataset->target_width);
    }
}

static Place
place_after (TnLoader *self, Place place)
{
  if (++place.step == self->steps_per_epoch)
    place = (Place){ place.epoch + 1, 0 };
  return place;
}

static gboolean
is_end (TnLoader *self, Place place)
{
  return self->options.n_epochs > 0 && place.epoch >= self->options.n_epochs;
}

static void *
thread_main (void *data)
{
  TnLoader *self = data;

  pthread_mutex_lock (&self->lock);
  while (!self->stop && !is_end (self, self->make_next))
    {
      if (self->n_made - self->n_released >= self->n_ring)
        {
          pthread_cond_wait (&self->changed, &self->lock);
          continue;
        }
      TnBatch *batch = &self->ring[self->n_made % self->n_ring];
      pthread_mutex_unlock (&self->lock);
      make_batch (self, self->make_next, batch);
      self->make_next = place_after (self, self->make_next);
      pthread_mutex_lock (&self->lock);
      self->n_made++;
      pthread_cond_broadcast (&self->changed);
    }
  self->ended = TRUE;
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->lock);
  return NULL;
}

/* Signals are the main thread's. */
static void
start_thread (TnLoader *self)
{
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, &before);
  self->has_thread = pthread_create (&self->thread, NULL, thread_main, self) == 0;
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (self->has_thread)
    pthread_setname_np (self->thread, "tn-loader");
}

static void
end_thread (TnLoader *self)
{
  pthread_mutex_lock (&self->lock);
  self->stop = TRUE;
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->lock);
  if (self->has_thread)
    pthread_join (self->thread, NULL);
  self->has_thread = FALSE;
}

static gboolean
check_options (TnDataset *dataset, int64_t n_ids, const TnLoaderOptions *o, GError **error)
{
  const TnShape *shape = &dataset->sample_shape;
  const char *problem = NULL;
  int64_t channels = shape->n_dims == 3 ? shape->dims[0] : 1;

  if (o->batch_size < 1 || o->batch_size > 1 << 24 || n_ids < 1)
    problem = _ ("the batch needs at least one sample");
  else if (o->prefetch < 0 || o->prefetch > 1024 || o->n_epochs < 0)
    problem = _ ("prefetch must be 0 to 1024");
  else if (o->drop_last && n_ids < o->batch_size)
    problem = _ ("there are fewer samples than a batch has, and the last partial batch is dropped: nothing would be left");
  else if (o->pad < 0 || o->pad > 4096 || (o->pad > 0 && shape->n_dims != 3))
    problem = _ ("only pictures (channels, rows, columns) can be padded, by 0 to 4096 pixels");
  else if (o->normalise && o->n_channels != 1 && (o->n_channels != channels || channels > TN_LOADER_MAX_CHANNELS))
    problem = _ ("mean and std need one value, or one for each channel");
  for (int c = 0; !problem && o->normalise && c < o->n_channels; c++)
    if (!isfinite (o->mean[c]) || !isfinite (o->std[c]) || o->std[c] <= 0)
      problem = _ ("std must be over 0");
  if (problem)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("Cannot make batches of %d from %" PRId64 " samples of “%s”: %s."),
                 o->batch_size, n_ids, dataset->source, problem);
  return problem == NULL;
}

static gboolean
make_ring (TnLoader *self, GError **error)
{
  size_t B = (size_t) self->options.batch_size, bytes;
  TnShape shape = TN_SHAPE (self->n_ring, (int64_t) B, (int64_t) self->out_elements);
  if (!tn_shape_bytes (&shape, sizeof (float), &bytes, error))
    return FALSE;
  self->ring = g_new0 (TnBatch, self->n_ring);
  for (int i = 0; i < self->n_ring; i++)
    {
      TnBatch *batch = &self->ring[i];
      void *x = NULL;
      if (posix_memalign (&x, 64, MAX (B * self->out_elements * sizeof (float), 64)) != 0)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for batches of %zu bytes. Make the batch smaller."),
                       B * self->out_elements * sizeof (float));
          return FALSE;
        }
      batch->x = x;
      batch->ids = g_new0 (int64_t, B);
      if (self->dataset->labels)
        batch->labels = g_new0 (int32_t, B);
      else
        batch->targets = g_new0 (float, B *(size_t) self->dataset->target_width);
    }
  return TRUE;
}

/* As PyTorch computes it: each operation rounded to float. */
static void
make_tables (TnLoader *self)
{
  const TnLoaderOptions *o = &self->options;
  self->tables = g_malloc (sizeof *self->tables * self->C);
  for (size_t c = 0; c < self->C; c++)
    for (int v = 0; v < 256; v++)
      {
        float value = (float) v / 255.f;
        if (o->normalise)
          value = (value - o->mean[o->n_channels > 1 ? c : 0]) / o->std[o->n_channels > 1 ? c : 0];
        self->tables[c][v] = value;
      }
}

TnLoader *
tn_loader_new (TnDataset *dataset, const int64_t *ids, int64_t n_ids, const TnLoaderOptions *options, GError **error)
{
  if (!check_options (dataset, n_ids, options, error))
    return NULL;
  g_autoptr (TnLoader) self = g_new0 (TnLoader, 1);
  pthread_mutex_init (&self->lock, NULL);
  pthread_cond_init (&self->changed, NULL);
  self->dataset = tn_dataset_ref (dataset);
  self->options = *options;
  self->shuffle = tn_shuffle_new (ids, n_ids, options->shuffle, options->seed);
  self->steps_per_epoch = options->drop_last ? n_ids / options->batch_size : (n_ids + options->batch_size - 1) / options->batch_size;

  const TnShape *shape = &dataset->sample_shape;
  gboolean picture = shape->n_dims == 3;
  self->C = picture ? (size_t) shape->dims[0] : 1;
  self->H = picture ? (size_t) shape->dims[1] : 1;
  self->W = picture ? (size_t) shape->dims[2] : dataset->sample_elements;
  self->out_shape = *shape;
  if (picture)
    self->out_shape = TN_SHAPE (shape->dims[0], shape->dims[1] + 2 * options->pad, shape->dims[2] + 2 * options->pad);
  self->out_elements = (size_t) tn_shape_count (&self->out_shape);
  self->scratch = g_malloc (MAX (dataset->sample_bytes, 1));
  self->n_ring = options->prefetch + 1;
  if (dataset->dtype == TN_DTYPE_U8)
    make_tables (self);
  if (!make_ring (self, error))
    return NULL;
  tn_loader_seek (self, 0, 0);
  return g_steal_pointer (&self);
}

void
tn_loader_free (TnLoader *self)
{
  end_thread (self);
  for (int i = 0; self->ring && i < self->n_ring; i++)
    {
      free (self->ring[i].x);
      g_free (self->ring[i].labels);
      g_free (self->ring[i].targets);
      g_free (self->ring[i].ids);
    }
  g_free (self->ring);
  g_free (self->tables);
  g_free (self->scratch);
  tn_shuffle_free (self->shuffle);
  tn_dataset_unref (self->dataset);
  pthread_cond_destroy (&self->changed);
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}

TnShape
tn_loader_sample_shape (TnLoader *self)
{
  return self->out_shape;
}

int64_t
tn_loader_steps_per_epoch (TnLoader *self)
{
  return self->steps_per_epoch;
}

void
tn_loader_seek (TnLoader *self, int64_t epoch, int64_t step_in_epoch)
{
  g_return_if_fail (epoch >= 0 && step_in_epoch >= 0 && step_in_epoch <= self->steps_per_epoch);
  end_thread (self);
  g_return_if_fail (self->n_taken == self->n_released);
  pthread_mutex_lock (&self->lock);
  /* The end of an epoch is the beginning of the next. */
  self->take_next = step_in_epoch == self->steps_per_epoch ? (Place){ epoch + 1, 0 } : (Place){ epoch, step_in_epoch };
  self->make_next = self->take_next;
  self->n_made = self->n_taken = self->n_released = 0;
  self->stop = self->ended = FALSE;
  pthread_mutex_unlock (&self->lock);
  /* Without a thread (none asked for, or none to be had) batches are made when they are taken. */
  if (self->options.prefetch > 0)
    start_thread (self);
}

void
tn_loader_tell (TnLoader *self, int64_t *epoch, int64_t *step_in_epoch)
{
  pthread_mutex_lock (&self->lock);
  *epoch = self->take_next.epoch;
  *step_in_epoch = self->take_next.step;
  pthread_mutex_unlock (&self->lock);
}

void
tn_loader_stop (TnLoader *self)
{
  pthread_mutex_lock (&self->lock);
  self->stop = TRUE;
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->lock);
}

/* With the lock held. */
static gboolean
wait_for_batch (TnLoader *self)
{
  if (!self->has_thread)
    {
      if (self->stop || is_end (self, self->make_next))
        return FALSE;
      make_batch (self, self->make_next, &self->ring[self->n_made % self->n_ring]);
      self->make_next = place_after (self, self->make_next);
      self->n_made++;
      return TRUE;
    }
  while (!self->stop && !self->ended && self->n_made == self->n_taken)
    pthread_cond_wait (&self->changed, &self->lock);
  return !self->stop && self->n_made > self->n_taken;
}

TnBatch *
tn_loader_next (TnLoader *self, GError **error)
{
  TnBatch *batch = NULL;
  pthread_mutex_lock (&self->lock);
  gboolean out = self->n_taken != self->n_released;
  if (!out && wait_for_batch (self))
    {
      batch = &self->ring[self->n_taken++ % self->n_ring];
      self->take_next = place_after (self, self->take_next);
    }
  gboolean stopped = self->stop;
  pthread_mutex_unlock (&self->lock);

  if (out)
    g_set_error (error, TN_ERROR, TN_ERROR_STATE, _ ("A batch was asked for before the last one was given back."));
  else if (!batch && stopped)
    g_set_error (error, TN_ERROR, TN_ERROR_CANCELLED, _ ("Loading was stopped."));
  return batch;
}

void
tn_loader_release (TnLoader *self, TnBatch *batch)
{
  pthread_mutex_lock (&self->lock);
  g_warn_if_fail (batch == &self->ring[self->n_released % self->n_ring] && self->n_released < self->n_taken);
  self->n_released++;
  pthread_cond_broadcast (&self->changed);
  pthread_mutex_unlock (&self->lock);
}
