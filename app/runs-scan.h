/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/series.h"
#include "train/run-folder.h"

/* What the runs of a project look like from outside, read in a worker thread. Nothing here changes once it is made. */
typedef struct
{
  char *path, *name, *differing; /* differing: settings that other runs have otherwise, "lr 0.1, batch 32" */
  char *problem;                 /* why run.json cannot be read; NULL: it can */
  TnRunState state;
  double step, loss, accuracy, best, seconds, bytes, started; /* NaN: not known; started: Unix seconds */
} TnRunEntry;

typedef struct
{
  GPtrArray *entries; /* TnRunEntry, newest first */
} TnRunScan;

void tn_run_scan_free (TnRunScan *self);

/** @removed: the runs that were taken out of the project. The result of the task is a TnRunScan. */
void tn_run_scan_async (const char *project, gboolean removed, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
TnRunScan *tn_run_scan_finish (GAsyncResult *result, GError **error);

/** The losses of the runs at @paths: one TnSeries each (an empty one where nothing can be read), in their order. */
void tn_run_curves_async (const char *const *paths, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GPtrArray *tn_run_curves_finish (GAsyncResult *result, GError **error);
