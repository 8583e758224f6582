/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>

#include "base/settings.h"
#include "data/dataset.h"

/* TnDataScan: what the project's data source holds, found out in a worker thread.
 *
 * Two parts: opening the source (slow, once a source) and sorting its samples into those that train, are held out or are
 * left out (fast, after each change of the rule). The result is immutable; both keep the window free.
 *
 *   tn_data_scan_async (settings, folder, NULL, cancellable, done_cb, self);
 */
typedef enum
{
  TN_SIDE_TRAIN,
  TN_SIDE_HELD_OUT,
  TN_SIDE_EXCLUDED,
  TN_N_SIDES
} TnSampleSide;

typedef struct
{
  gatomicrefcount ref_count;
  TnDataset *dataset;
  char *source;           /* setting data.source */
  uint8_t *sides;         /* [n_samples] TnSampleSide */
  int64_t counts[TN_N_SIDES];
  int64_t *class_counts;  /* [n_classes][TN_N_SIDES] */
  char **class_names;     /* [n_classes], with data.class_names applied */
  char *split_error;      /* the rule does not fit: all samples then count as training; NULL if it does */
} TnDataScan;

/** @known (nullable): an earlier scan; its data set is taken again where source, samples and seed are the same. */
void tn_data_scan_async (const TnSettings *settings, const char *folder, TnDataScan *known, GCancellable *cancellable,
                         GAsyncReadyCallback callback, gpointer user_data);
TnDataScan *tn_data_scan_finish (GAsyncResult *result, GError **error);
TnDataScan *tn_data_scan_ref (TnDataScan *self);
void tn_data_scan_unref (TnDataScan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnDataScan, tn_data_scan_unref)

/** "7", or the target of a sample without classes, "0.25". Free with g_free. */
char *tn_data_scan_label (const TnDataScan *self, int64_t id);
/** "training", "held out", "left out": translated, static. */
const char *tn_sample_side_name (TnSampleSide side);
