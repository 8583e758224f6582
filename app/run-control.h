/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "document.h"
#include "draw/series.h"
#include "run-line.h"
#include "train/run-client.h"

/* TnRunControl: the window's current run: follows it, keeps its rows, starts and steers its trainer.
 *
 * A training is always a process of its own: `tenon-cli train DIR/runs/NAME` or `tenon-cli resume` in its own session, with
 * its output in the run's log.txt. The window may go; the run goes on and another window attaches to it.
 *
 * Signals:
 *   run-changed  ()                          another current run; rows begin anew
 *   rows         (gpointer TnMetricsBatch)   after they were added to the series
 *   restarted    (gint64 step)               rows from there on hold no longer, and were removed
 *   changed      ()                          word or line changed, at most 5 times a second
 *   message      (int level, const char *text)
 *   checkpointed (gint64 step)
 *   failed       (GError *error)             something that was asked for was not possible
 *   runs-changed ()                          runs were made or ended: lists should look again */
#define TN_TYPE_RUN_CONTROL (tn_run_control_get_type ())
G_DECLARE_FINAL_TYPE (TnRunControl, tn_run_control, TN, RUN_CONTROL, GObject)

TnRunControl *tn_run_control_new (void);

/** Attaches to the newest run of @document (NULL: to none). */
void tn_run_control_set_document (TnRunControl *self, TnDocument *document);
TnDocument *tn_run_control_document (TnRunControl *self);
/** Makes the run in folder @path current; NULL: none. */
void tn_run_control_select (TnRunControl *self, const char *path);
/** NULL where there is none. */
TnRun *tn_run_control_run (TnRunControl *self);
const char *tn_run_control_path (TnRunControl *self);
/** The run before the current one in the same project, for the ghost curve; NULL if there is none. */
const char *tn_run_control_previous_path (TnRunControl *self);
const TnRunLine *tn_run_control_line (TnRunControl *self);
char *tn_run_control_line_text (TnRunControl *self);
/** Settings that the run was made with; NULL where they are not read yet. */
const TnSettings *tn_run_control_settings (TnRunControl *self);
/** A number that the trainer left in run.json ("memory_forecast", "memory_measured", "seconds" ...); NaN. */
double tn_run_control_fact (TnRunControl *self, const char *name);
/** The rows of @tag so far: plots show it as it grows. Belongs to the run: hold a reference to keep it. */
TnSeries *tn_run_control_series (TnRunControl *self, TnTag tag);
/** Last value of @tag, or NaN. */
double tn_run_control_last (TnRunControl *self, TnTag tag);
/** Samples a second over the last second; NaN where not known. */
double tn_run_control_speed (TnRunControl *self);

/* Steering: all at once, the answer comes by signals. */
/** A new run with the document's settings, or with @settings. */
void tn_run_control_train (TnRunControl *self, const TnSettings *settings);
/** Makes a run and leaves it waiting. */
void tn_run_control_enqueue (TnRunControl *self);
void tn_run_control_start_queued (TnRunControl *self);
void tn_run_control_resume (TnRunControl *self);
/** @epochs more in the same run: by the trainer where one lives, else by resuming. */
void tn_run_control_extend (TnRunControl *self, int epochs);
/** The same for a run that ended; @how: what becomes of its schedule of rates: setting schedule.extend, "hold", "stretch" or "restart". */
void tn_run_control_extend_as (TnRunControl *self, int epochs, const char *how);
void tn_run_control_pause (TnRunControl *self, gboolean paused);
void tn_run_control_stop (TnRunControl *self);
void tn_run_control_stop_now (TnRunControl *self);
void tn_run_control_park (TnRunControl *self);
void tn_run_control_checkpoint (TnRunControl *self);
/** A live setting of the running trainer. */
void tn_run_control_set_value (TnRunControl *self, const char *name, const char *value);

/** Path of tenon-cli: beside this program, in the build folder, in libexecdir, or in PATH; NULL if there is none. */
const char *tn_cli_path (void);
