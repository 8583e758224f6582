/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib-object.h>
#include "train/metrics.h"
#include "train/node-times.h"
#include "train/run-folder.h"

/* TnTrainer: takes a run folder and trains in it, in a thread of its own.
 *
 * It reads the model and settings from run.json, opens the data, compiles the program, goes back to the newest checkpoint
 * that holds if there is one, and steps until the settings' end or a command. All calls below are for the thread that made
 * it, and return at once; signals arrive there too, through the main context that was its default at construction.
 *
 *   g_autoptr (TnTrainer) trainer = tn_trainer_new (run);
 *   g_signal_connect (trainer, "state-changed", G_CALLBACK (state_changed_cb), loop);
 *   if (!tn_trainer_start (trainer, &error))     // TN_ERROR_BUSY: somebody trains there
 *     return FALSE;
 *   g_main_loop_run (loop);
 *
 * Signals:
 *   state-changed (int state, const char *cause, const char *reason)    TnRunState
 *   metrics       (gpointer TnMetricsBatch)         at most 20 a second; holds for the emission
 *   message       (int GLogLevelFlags, const char *text)
 *   checkpointed  (gint64 step, const char *path)
 *   node-times    (gpointer TnNodeTimesReport)      while watched; holds for the emission
 * Properties, notified with the signals: state, step, total-steps, epoch.
 *
 * The first signal of a run is state-changed to starting, the last to an end state; after it the lock is free. */
#define TN_TYPE_TRAINER (tn_trainer_get_type ())
G_DECLARE_FINAL_TYPE (TnTrainer, tn_trainer, TN, TRAINER, GObject)

/* A look at how far it is; any thread. */
typedef struct
{
  TnRunState state;
  gint64 step;            /* steps done */
  gint64 total_steps;     /* at which it ends by itself; 0 while not known */
  gint64 start_step;      /* where this process took over */
  gint64 epoch;           /* of the next step, from 0 */
  gint64 epochs;
  gint64 steps_per_epoch;
  gint64 samples;         /* training samples an epoch */
  double loss;            /* last step; NaN before the first */
  double loss_mean;       /* since the epoch began */
  double learning_rate;
  double accuracy;        /* last validation, 0..1; NaN before the first */
  double validation_loss;
  double samples_per_second; /* over the last second or so */
  double seconds;         /* since training began in this process, without pauses */
  double seconds_left;    /* NaN while not known */
  double seconds_left_least, seconds_left_most; /* from quartiles of step, validation and checkpoint; NaN for the first steps */
  double median_step_seconds; /* of the last steps; NaN at first */
  gint64 checks_without_gain; /* validations in a row, for early stopping */
  gint64 skipped_steps;
  guint64 memory_forecast; /* bytes of the program and what steps take; 0 before the program is compiled */
  guint64 memory_data;     /* bytes of the data set beside these */
  guint64 memory_measured; /* resident bytes of the process after step 1; 0 before */
  guint64 memory_grown;    /* private resident bytes gained from before the program was made to after step 1 */
  guint64 n_parameters;
  int n_threads;
  gint64 checkpoint_step; /* last one on disk, or -1 */
} TnTrainerProgress;

/** Takes ownership of @folder. */
TnTrainer *tn_trainer_new (TnRunFolder *folder);
TnRunFolder *tn_trainer_folder (TnTrainer *self);
/** Before start: a setting that holds from the step where this start takes over, recorded as a change. Allowed are settings
 * that may change while a run goes on, train.epochs, train.max_steps, device.threads, and how ranks share the work
 * (parallel.ranks, .mode, .mesh, .strategy, .dataset, .optimizer*). Fewer epochs or steps than are done are
 * TN_ERROR_INVALID_ARGUMENT. */
gboolean tn_trainer_change_at_start (TnTrainer *self, const char *name, const char *value, GError **error);
/** Before start: a run whose checkpoints are gone begins again at step 0 in place of being refused (TN_ERROR_NOT_FOUND). */
void tn_trainer_allow_restart (TnTrainer *self);
/**
 * tn_trainer_start: locks the folder and starts the thread: from the newest checkpoint if there is one, else from step 0.
 *
 * Errors: TN_ERROR_BUSY (another process trains there), TN_ERROR_IO for a read-only or vanished folder. Everything later
 * (a bad model, missing data, no memory) ends in state failed with its reason, and tn_trainer_error().
 */
gboolean tn_trainer_start (TnTrainer *self, GError **error);
/** Iterates the main context until an end state; TRUE if finished, stopped or parked, else FALSE with what went wrong.
 * For tests and tools. */
gboolean tn_trainer_run (TnTrainer *self, GError **error);

/* Commands: taken at the next step boundary. */
void tn_trainer_pause (TnTrainer *self);
void tn_trainer_resume (TnTrainer *self);
void tn_trainer_park (TnTrainer *self);
/** Finishes the step, writes a checkpoint, ends as stopped. */
void tn_trainer_stop (TnTrainer *self);
/** The same with a cause of its own in the end state: "output-closed" and a sentence for people. */
void tn_trainer_stop_because (TnTrainer *self, const char *cause, const char *reason);
/** Ends without a checkpoint. */
void tn_trainer_stop_now (TnTrainer *self);
void tn_trainer_checkpoint (TnTrainer *self);
/** Counts those who want node-times: each @on = TRUE is to be taken back with FALSE. In PYNATIVE mode there are none. */
void tn_trainer_watch_times (TnTrainer *self, gboolean on);
/** (transfer full) (nullable): tn_node_times_table() of what the reports name; NULL before the first one. */
GVariant *tn_trainer_node_table (TnTrainer *self);
/** Adds @epochs >= 1 to train.epochs. */
gboolean tn_trainer_extend (TnTrainer *self, gint64 epochs, GError **error);
/** Checked at once; TN_ERROR_STATE for a setting that cannot change while a run goes on. */
gboolean tn_trainer_set_value (TnTrainer *self, const char *name, const char *value, GError **error);

void tn_trainer_get_progress (TnTrainer *self, TnTrainerProgress *progress);
TnRunState tn_trainer_state (TnTrainer *self);
/** What a failed run failed of; NULL otherwise. */
const GError *tn_trainer_error (TnTrainer *self);

/* Ctrl-C: the first SIGINT, SIGTERM or SIGHUP calls tn_trainer_stop(), the second tn_trainer_stop_now(), a third ends the
 * process. Lives as long as @self. */
void tn_trainer_handle_signals (TnTrainer *self);
/** Whether a signal has come: the exit code is then 130. */
gboolean tn_trainer_was_interrupted (TnTrainer *self);
