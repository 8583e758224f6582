/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/pyramid.h"

/* TnSeries: one metric of one run, as rows (step, value, wall time), growing at the end.
 *
 * Rows are kept as they arrive. A step that does not go up (a repeated or an earlier one) begins a new segment: segments are
 * drawn each for itself, never joined. Within a segment times do not run backwards: a clock that was set back holds still.
 * The smoothed value of each row is made from raw values when they arrive, so that no zoom changes it.
 *
 * Shared by reference; one thread at a time.
 *
 *   g_autoptr (TnSeries) loss = tn_series_new ("train/loss");
 *   tn_series_append (loss, 0, 2.303, g_get_real_time ());
 */
typedef enum
{
  TN_X_STEP,
  TN_X_EPOCH,
  TN_X_RELATIVE, /* seconds of work since the first row: pauses do not count */
  TN_X_WALL
} TnXKind;

typedef struct
{
  size_t begin;       /* index of its first row; it ends where the next begins */
  gboolean restarted; /* a resume, and not only a step that went back */
} TnSegment;

typedef struct _TnSeries TnSeries;

TnSeries *tn_series_new (const char *name);
TnSeries *tn_series_ref (TnSeries *self);
void tn_series_unref (TnSeries *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnSeries, tn_series_unref)
const char *tn_series_name (const TnSeries *self);

/** @time_us: Unix time in microseconds. */
void tn_series_append (TnSeries *self, int64_t step, double value, int64_t time_us);
/** A run goes on at @step: rows of that and later steps, in the last segment, hold no longer and are taken out; what follows is a new
 * segment with a restart mark. */
void tn_series_restart (TnSeries *self, int64_t step);
void tn_series_clear (TnSeries *self);
/** Grows by one each time rows are added or taken out: cheap to compare. */
uint64_t tn_series_generation (const TnSeries *self);

size_t tn_series_n (const TnSeries *self);
/* Arrays of tn_series_n() rows, good until the next change. */
const int64_t *tn_series_steps (const TnSeries *self);
const int64_t *tn_series_times (const TnSeries *self); /* never backwards within a segment */
const double *tn_series_values (const TnSeries *self, gboolean smoothed);
const TnPyramid *tn_series_pyramid (const TnSeries *self, gboolean smoothed);
/** Segments in order; at least one where there are rows. */
const TnSegment *tn_series_segments (const TnSeries *self, size_t *n);
/** Segment that row @i is in. */
size_t tn_series_segment_of (const TnSeries *self, size_t i);

/** Weight w of the exponential average, 0 to 0.999: s <- w s + (1 - w) y from s = 0, shown s / (1 - w^n), n counting finite values; others pass
 * and change nothing, and a constant series stays as it is. 0: none. Existing rows are smoothed by tn_series_smooth_some(). */
void tn_series_set_smoothing (TnSeries *self, double weight);
double tn_series_smoothing (const TnSeries *self);
/** Smooths up to @budget rows that wait for it; TRUE if more do. */
gboolean tn_series_smooth_some (TnSeries *self, size_t budget);
/** Rows that have their smoothed value; as many as there are rows once all is done. */
size_t tn_series_n_smoothed (const TnSeries *self);

/** Steps of one epoch, for TN_X_EPOCH; 0 where not known (x is then the step). */
void tn_series_set_steps_per_epoch (TnSeries *self, double steps);
double tn_series_steps_per_epoch (const TnSeries *self);
/** No work was done in [begin_us, end_us): relative time stands still there. Pauses in order of time. */
void tn_series_add_pause (TnSeries *self, int64_t begin_us, int64_t end_us);

/** x of row @i: step or microseconds less @origin (TN_X_STEP: step, TN_X_WALL: us), epochs, microseconds of work. */
double tn_series_x (const TnSeries *self, TnXKind kind, int64_t origin, size_t i);
/** Smallest step or time (whichever array orders @kind) whose x is at least @x: what to look for in tn_series_keys(). */
int64_t tn_series_key (const TnSeries *self, TnXKind kind, int64_t origin, double x);
/** Steps or times: the array that orders @kind. */
const int64_t *tn_series_keys (const TnSeries *self, TnXKind kind);
/** Every TN_SERIES_SPARSE-th of them, from row 0 on: what a search over a whole long series should look at, as it fits a cache. */
#define TN_SERIES_SPARSE 64
const int64_t *tn_series_sparse_keys (const TnSeries *self, TnXKind kind);
/** First index of [begin, end), within one segment, whose key is not below @key. @hint: where to look first. */
size_t tn_series_find (const int64_t *keys, size_t begin, size_t end, size_t hint, int64_t key);
/** Row nearest to @x in any segment, later segments first where equal; G_MAXSIZE where there is none. */
size_t tn_series_nearest (const TnSeries *self, TnXKind kind, int64_t origin, double x);
/** Index of the row with the smallest or largest finite value; G_MAXSIZE where there is none. */
size_t tn_series_extreme (const TnSeries *self, gboolean largest);
