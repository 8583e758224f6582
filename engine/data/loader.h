/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "data/dataset.h"

/* TnLoader: batches, prepared ahead by a thread of its own.
 *
 * The loader goes through @ids epoch by epoch. A batch is float32, normalised and padded; its memory belongs to the loader's
 * ring and goes back with tn_loader_release(). After the start nothing is allocated. One thread takes batches; another may
 * call tn_loader_stop().
 *
 *   g_autoptr (TnLoader) loader = tn_loader_new (digits, split->train, split->n_train, &options, &error);
 *   TnBatch *batch = tn_loader_next (loader, &error);
 *   ... batch->x ...
 *   tn_loader_release (loader, batch);
 */
#define TN_LOADER_MAX_CHANNELS 4

typedef struct
{
  int batch_size;
  gboolean shuffle;
  uint64_t seed;
  gboolean drop_last;    /* leave out an epoch's last batch where it is smaller */
  int64_t n_epochs;      /* 0: without end */
  int prefetch;          /* batches prepared ahead; 0: in the caller's thread */
  int pad;               /* pixels around each side of a picture, with the value of a 0 pixel */
  gboolean normalise;    /* by mean and std; else uint8 only becomes v / 255 and floats stay */
  int n_channels;        /* how many of mean and std are given: 1, for all channels, or as many as a sample has */
  float mean[TN_LOADER_MAX_CHANNELS], std[TN_LOADER_MAX_CHANNELS];
} TnLoaderOptions;

typedef struct
{
  int64_t epoch, step_in_epoch;
  int n;               /* samples; batch_size but for an epoch's last */
  float *x;            /* [n][sample shape with padding] */
  int32_t *labels;     /* [n], or NULL with targets */
  float *targets;      /* [n][target_width], or NULL with labels */
  int64_t *ids;        /* [n] */
  gboolean last_in_epoch;
} TnBatch;

typedef struct _TnLoader TnLoader;

/** Starts at epoch 0, step 0. Holds a reference to @dataset and copies @ids. Errors: TN_ERROR_INVALID_ARGUMENT for options
 * that do not fit the data set (padding of what is no picture, std 0, more samples in a batch than there are with
 * drop_last). */
TnLoader *tn_loader_new (TnDataset *dataset, const int64_t *ids, int64_t n_ids, const TnLoaderOptions *options, GError **error);
/** All batches must have been given back. */
void tn_loader_free (TnLoader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnLoader, tn_loader_free)

/** Shape of one sample in x: with padding. */
TnShape tn_loader_sample_shape (TnLoader *self);
int64_t tn_loader_steps_per_epoch (TnLoader *self);

/** The next batch; waits for it. NULL without an error after the last of n_epochs; NULL with TN_ERROR_CANCELLED after
 * tn_loader_stop(). At most one batch may be out at a time. */
TnBatch *tn_loader_next (TnLoader *self, GError **error);
void tn_loader_release (TnLoader *self, TnBatch *batch);

/** Goes to a place in the stream: the next batch is that of (@epoch, @step_in_epoch), the same as it would have been without
 * interruption. No batch may be out. Undoes tn_loader_stop(). */
void tn_loader_seek (TnLoader *self, int64_t epoch, int64_t step_in_epoch);
/** Where the next batch will come from. */
void tn_loader_tell (TnLoader *self, int64_t *epoch, int64_t *step_in_epoch);
/** Wakes a waiting tn_loader_next() and ends the thread. From any thread. */
void tn_loader_stop (TnLoader *self);
