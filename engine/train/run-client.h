/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include "train/metrics.h"
#include "train/node-times.h"
#include "train/run-folder.h"

/* TnRun: follows one run from another process: what stands in its event files, joined with what its trainer says live.
 *
 * Every row comes exactly once, in the order of the files. When the run was resumed, "restarted" tells the step from which
 * on earlier rows hold no longer, before the rows that replace them. Files are read in a worker thread.
 *
 *   g_autoptr (TnRun) run = tn_run_new (path, &error);
 *   g_signal_connect (run, "metrics", G_CALLBACK (metrics_cb), NULL);
 *   tn_run_follow (run);
 *
 * Signals, in the main context that was default at construction:
 *   metrics       (gpointer TnMetricsBatch)    tags are ids of tn_tags
 *   restarted     (gint64 step)
 *   state-changed (int state, const char *cause, const char *reason)   TnRunState; lost where the process is gone
 *   message       (int level, const char *text)      live only
 *   checkpointed  (gint64 step, const char *path)    live only
 *   node-times    (gpointer TnNodeTimesReport)       after a call of WatchTimes (true), while this connection lasts
 *   caught-up     ()      all that was in the files at the first look has been told
 * Properties: state, connected, silent (it lives, and gives no sign of life: tn_run_state_judge()). */
#define TN_TYPE_RUN (tn_run_get_type ())
G_DECLARE_FINAL_TYPE (TnRun, tn_run, TN, RUN, GObject)

TnRun *tn_run_new (const char *path, GError **error);
/** Starts reading, connects to the trainer where one runs, and again when a later process resumes the run. */
void tn_run_follow (TnRun *self);
/** A trainer was just started: looks often for its address, until it answers or some seconds have passed. */
void tn_run_expect (TnRun *self);
const char *tn_run_path (TnRun *self);
TnRunState tn_run_state (TnRun *self);
gboolean tn_run_is_silent (TnRun *self);
/** State of the trainer's connection. */
gboolean tn_run_is_connected (TnRun *self);

/** Calls a method of the service ("Pause", "Stop", "SetValue" ...); @parameters: floating or NULL. TN_ERROR_STATE where no
 * process trains, with its state in the message. */
void tn_run_call_async (TnRun *self, const char *method, GVariant *parameters, GCancellable *cancellable,
                        GAsyncReadyCallback callback, gpointer user_data);
gboolean tn_run_call_finish (TnRun *self, GAsyncResult *result, GError **error);
/** (transfer full): the same for a method that answers something ("Nodes"): its reply, or NULL with an error. */
GVariant *tn_run_call_finish_reply (TnRun *self, GAsyncResult *result, GError **error);

/** What to say of a trainer that holds its lock and does not answer: its process, whether it is stopped, and what to do. Free with g_free. */
char *tn_run_silence_text (const char *run_path, const TnRunOwner *owner);
/** The same without a TnRun, blocking (for the command line): connects, calls, waits for the answer, 5 s at most:
 * TN_ERROR_BUSY with tn_run_silence_text() where none came. */
gboolean tn_run_call_sync (const char *run_path, const char *method, GVariant *parameters, GError **error);
