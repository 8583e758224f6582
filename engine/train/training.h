/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/checkpoint.h"
#include "train/input.h"
#include "train/pace.h"
#include "train/program.h"
#include "train/rate.h"
#include "train/trainer-private.h"

/* TnTraining: everything that the stepping thread has in hand. training.c gets it ready and drives it, training-step.c takes
 * the steps, training-commands.c does what it is told between them. */
typedef enum
{
  TN_END_NONE,
  TN_END_EPOCHS,
  TN_END_MAX_STEPS,
  TN_END_EARLY,  /* validations without gain */
  TN_END_TARGET, /* train.target_accuracy was reached */
  TN_END_STOP,
  TN_END_STOP_NOW,
  TN_END_PARK,
  TN_END_FAILED
} TnEnd;

typedef enum
{
  TN_NONFINITE_STOP,
  TN_NONFINITE_SKIP,
  TN_NONFINITE_ROLLBACK
} TnNonfinitePolicy;

typedef struct
{
  TnTrainer *trainer;
  TnRunFolder *folder;
  char *checkpoints; /* folder */
  TnSettings *settings; /* as they are at this step */
  TnModel *model;
  TnInput *input;
  TnProgram *program;
  TnLoader *loader, *eval_loader; /* eval_loader: NULL without held-out samples */
  TnRate *rate;
  TnMetrics *metrics;
  TnCheckpointWriter *writer;
  TnCheckpointTensor *tensors; /* the program's state */
  int n_tensors;

  /* Where it stands: what goes into a checkpoint. */
  TnCheckpointState at;
  int next_change; /* of the folder's, to be replayed */

  /* From settings, read again when one changes. */
  gint64 total_steps, epochs, max_steps, every_steps, every_epochs, eval_every, histogram_every, steps_per_epoch;
  gboolean norms;
  gint64 early_stop;
  double early_stop_delta, target_accuracy;
  TnNonfinitePolicy policy;
  int consecutive_bad, n_rollbacks;
  gint64 answered_step; /* of the last answers for watched samples, or -1 */
  gint64 updated_step; /* the last one in this process whose update was made, or -1 */
  GHashTable *poisoned; /* steps whose batch is passed over after a rollback */
  float *statistics;    /* copy of the running statistics, with policy skip */

  /* Clock: monotonic ns, and what to add for Unix time. */
  gint64 clock_offset_us, begun_ns, paused_ns;
  gint64 window_ns, window_samples; /* throughput of the last second or so */
  double epoch_loss;
  gint64 epoch_steps;
  TnPace pace;
  TnNodeTimes *times; /* NULL: nobody asks */
  int statm_fd;
  guint64 private_before; /* bytes, before the program was made */
  gboolean first_step_done;

  gboolean was_begun, start_changed; /* rows of earlier processes; settings changed with this start */
  gboolean evaluated; /* at this step */
  gboolean save_wanted;
  TnEnd end_wanted; /* what the last validation asks for, once the step is saved */
  pthread_t fingerprint_thread;
  gboolean has_fingerprint_thread;
  _Atomic gboolean fingerprint_ready;
  guint64 fingerprint;
} TnTraining;

gint64 tn_training_now_ns (void);
static inline gint64
tn_training_unix_us (const TnTraining *self, gint64 now_ns)
{
  return now_ns / 1000 + self->clock_offset_us;
}

/* training-step.c */

/** One step: batch, forward and backward, update, rows. Sets *end where the run cannot go on. */
gboolean tn_training_step (TnTraining *self, TnEnd *end, GError **error);
/** Whether the end of the epoch of which @done are then done is followed by an evaluation. */
gboolean tn_training_evaluates_epoch (const TnTraining *self, gint64 done);
/** Evaluates the held-out samples. Rows stand at @row_step (-1: no rows). With @counts the best score is brought up to date. FALSE with an error, or
 * without one where it was interrupted by stop-now. */
gboolean tn_training_evaluate (TnTraining *self, gint64 row_step, gboolean counts, GError **error);
/** The parameters' norm as a row of @row_step. */
void tn_training_add_parameter_norm (TnTraining *self, gint64 row_step);
/** Whether every number of the state is finite. Where not, FALSE with an error, or TRUE and *@rolled_back. Between steps. */
gboolean tn_training_check_state (TnTraining *self, gboolean *rolled_back, GError **error);
guint64 tn_training_resident_bytes (TnTraining *self);
/** Resident bytes that no file stands behind: what allocations cost. */
guint64 tn_training_private_bytes (TnTraining *self);

/* training-commands.c */

/** What waits: settings to be replayed or changed, pause, stop ... Returns how to end, or TN_END_NONE. */
TnEnd tn_training_obey (TnTraining *self, GError **error);
/** Reads the cached settings, makes the schedule. */
gboolean tn_training_apply_settings (TnTraining *self, GError **error);
/** A change from @step on: into the settings and the folder, with what an extension of the run brings along. */
gboolean tn_training_change (TnTraining *self, gint64 step, const char *name, const char *value, GError **error);
/** Changes of the folder whose step has come. */
gboolean tn_training_replay_changes (TnTraining *self, GError **error);
gboolean tn_training_set_state (TnTraining *self, TnRunState state, const char *cause, const char *reason, GError **error);

/* training-restore.c */

/** Back to the newest checkpoint that holds, if there is one. */
gboolean tn_training_restore (TnTraining *self, TnCheckpoint *checkpoint, GError **error);
/** Throws away what was done since the last checkpoint, and passes over the batch of @bad_step from now on. */
gboolean tn_training_roll_back (TnTraining *self, gint64 bad_step, GError **error);
/** A checkpoint of this step; the state must be finite. */
gboolean tn_training_save (TnTraining *self, GError **error);
/** The same where that is not known: a ruined state is not saved but handled as train.on_nonfinite says. Between steps. */
gboolean tn_training_save_finite (TnTraining *self, GError **error);
gboolean tn_training_open_metrics (TnTraining *self, gboolean goes_on, GError **error);
gboolean tn_training_open_writer (TnTraining *self, GError **error);
