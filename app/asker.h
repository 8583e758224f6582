/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>

#include "train/answers.h"

/* TnAsker: asks a run's newest checkpoint about samples, in worker threads: what stands behind Watch and Draw a digit. It has a program of
 * its own with one thread, so that a training beside it goes on at its speed. One question at a time is worked on. No GTK.
 *
 *   TnAsker *asker = tn_asker_new (run_path);
 *   tn_asker_watch_async (asker, cancellable, watched_cb, self);      // eight samples that were held out
 *   tn_asker_read_async (asker, pixels, cancellable, read_cb, self);  // a drawn picture
 */
typedef struct _TnAsker TnAsker;

/** What a checkpoint said of some samples. */
typedef struct
{
  gint64 step;         /* of the checkpoint; -1: there is none yet, and no values */
  int n, n_classes;
  gboolean pictures;   /* grey pictures of @width x @height: one can be drawn */
  int width, height;
  char **class_names;  /* [n_classes + 1] */
  gint64 *ids;         /* [n] */
  gint32 *labels;      /* [n], -1 where there are none */
  float *values;       /* [n][n_classes] probabilities */
  GBytes **images;     /* [n] premultiplied ARGB32, image_width * 4 a row; NULL for what was drawn */
  int image_width, image_height;
} TnAsked;

TnAsker *tn_asker_new (const char *run_path);
TnAsker *tn_asker_ref (TnAsker *self);
void tn_asker_unref (TnAsker *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnAsker, tn_asker_unref)

/** Eight samples: those of setting watch.samples, else held-out ones of different classes. Without a checkpoint the samples come without
 * answers. Errors: those of the run's folder, model and data; TN_ERROR_NOT_FOUND for a model without classes. */
void tn_asker_watch_async (TnAsker *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/** @pixels: [height][width] as tn_asker_watch_async() told the size, white on black; copied. TN_ERROR_NOT_FOUND where there is no checkpoint. */
void tn_asker_read_async (TnAsker *self, const guint8 *pixels, int width, int height, GCancellable *cancellable, GAsyncReadyCallback callback,
                          gpointer user_data);
TnAsked *tn_asker_finish (GAsyncResult *result, GError **error);
void tn_asked_free (TnAsked *asked);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnAsked, tn_asked_free)

/** The class that sample @i is taken for, and its share; -1 where there are no answers. */
int tn_asked_best (const TnAsked *asked, int i, double *share);
