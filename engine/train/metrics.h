/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnMetrics: numbers that a run leaves, as rows (tag, step, value, time).
 *
 * The training thread only puts rows into a ring; a writer thread makes TensorBoard events of them (one event a step),
 * appends them to the run's event file up to 20 times a second and then hands each batch on, so that no step waits for the
 * disk unless the ring (64 Ki rows) is full.
 *
 * Values are float32 in the file; rows carry the same rounded value, so that live and read rows are equal. */

typedef enum
{
  TN_TAG_LOSS,
  TN_TAG_LEARNING_RATE,
  TN_TAG_GRADIENT_NORM,
  TN_TAG_PARAMETER_NORM,
  TN_TAG_SAMPLES_PER_SECOND,
  TN_TAG_DATA_MS,
  TN_TAG_COMPUTE_MS,
  TN_TAG_MEMORY,
  TN_TAG_VALIDATION_LOSS,
  TN_TAG_VALIDATION_ACCURACY,
  TN_TAG_EPOCH,
  TN_TAG_SKIPPED_STEPS,
  TN_N_TAGS
} TnTag;

typedef struct
{
  const char *name;       /* "train/loss": as in the event file */
  const char *unit;       /* "", "ms", "bytes", "samples/s" */
  gboolean deterministic; /* the same in an equal run: what verify-resume compares */
} TnTagInfo;

extern const TnTagInfo tn_tags[TN_N_TAGS];
/** -1 for a name that is not in the table. */
int tn_tag_find (const char *name);

/** Rows in columns. Row i of tag tags[i] at step steps[i], counted from 0. An epoch's validation stands at the epoch's last step; one
 * made because a run ends inside an epoch at the step that would have come next, so that a resume replaces it. */
typedef struct
{
  guint n;
  const guint32 *tags;    /* TnTag */
  const gint64 *steps;
  const float *values;
  const gint64 *times_us; /* Unix time */
  const char *file;       /* event file's name, without folder */
  guint64 begin, end;     /* the rows' events are bytes [begin, end) of it */
} TnMetricsBatch;

typedef struct _TnMetrics TnMetrics;
/** Writer's thread; @batch holds for the call. */
typedef void (*TnMetricsFunc) (const TnMetricsBatch *batch, gpointer user_data);
/** A write failed: called once, from the writer's thread; rows after it are dropped. */
typedef void (*TnMetricsErrorFunc) (const GError *error, gpointer user_data);

/** Opens a new event file in @folder. @resume_step: the first step that will be done, where a run goes on (its second record is
 * then SessionLog START, which makes readers drop earlier rows from there on), else -1. */
TnMetrics *tn_metrics_new (const char *folder, gint64 resume_step, TnMetricsFunc func, TnMetricsErrorFunc error_func,
                           gpointer user_data, GError **error);
/** Writes what is left and syncs. */
void tn_metrics_free (TnMetrics *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnMetrics, tn_metrics_free)

/** The training thread only. @time_us: Unix time. Rows of one step that come one after the other become one event. */
void tn_metrics_add (TnMetrics *self, TnTag tag, gint64 step, double value, gint64 time_us);
/** The training thread only; counts the values into TensorBoard's buckets here. Values that are not finite are left out. */
void tn_metrics_add_histogram (TnMetrics *self, const char *tag, gint64 step, gint64 time_us, const float *values, gsize n);
/** Any thread; waits. Everything added so far is in the file; with @sync also on the disk. FALSE with the error if writing failed. */
gboolean tn_metrics_flush (TnMetrics *self, gboolean sync, GError **error);
const char *tn_metrics_file (const TnMetrics *self);
