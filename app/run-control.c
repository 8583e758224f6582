/* SPDX-License-Identifier: Apache-2.0 */
#include "run-control.h"
#include <inttypes.h>

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "run-process.h"
#include "run-timing.h"

#define CHANGED_MS 200
#define SILENT_LEAST_S 10

struct _TnRunControl
{
  GObject parent_instance;
  TnDocument *document;
  gulong document_handler;

  char *path, *previous_path;
  TnRun *run;
  TnSeries *series[TN_N_TAGS];
  TnSettings *settings;
  GHashTable *facts; /* name -> double* */
  char *cause, *reason;
  TnRunLine line;
  TnRunTiming timing;
  gint64 last_sign_us; /* monotonic */
  gboolean pausing;
  char *waiting_method; /* asked for before the trainer answered */
  GVariant *waiting_parameters;

  GSubprocess *process; /* that we started for @path */
  int exit_signal;
  guint changed_timer, silent_timer;
  GCancellable *look; /* of the worker that reads run.json */
};

enum
{
  SIGNAL_RUN_CHANGED,
  SIGNAL_ROWS,
  SIGNAL_RESTARTED,
  SIGNAL_CHANGED,
  SIGNAL_MESSAGE,
  SIGNAL_CHECKPOINTED,
  SIGNAL_FAILED,
  SIGNAL_RUNS_CHANGED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnRunControl, tn_run_control, G_TYPE_OBJECT)

static void read_folder (TnRunControl *self);
static void connected_cb (TnRun *run, GParamSpec *spec, TnRunControl *self);

static gboolean
changed_cb (gpointer data)
{
  TnRunControl *self = data;
  self->changed_timer = 0;
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
  return G_SOURCE_REMOVE;
}

static void
queue_changed (TnRunControl *self)
{
  if (self->changed_timer == 0)
    self->changed_timer = g_timeout_add (CHANGED_MS, changed_cb, self);
}

static void
changed_now (TnRunControl *self)
{
  g_clear_handle_id (&self->changed_timer, g_source_remove);
  g_signal_emit (self, signals[SIGNAL_CHANGED], 0);
}

static void
fail (TnRunControl *self, const GError *error)
{
  if (!g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    g_signal_emit (self, signals[SIGNAL_FAILED], 0, error);
}

/* State. */

static TnRunWord
word_of (TnRunState state)
{
  static const TnRunWord words[TN_RUN_N_STATES] = {
    [TN_RUN_QUEUED] = TN_WORD_QUEUED,     [TN_RUN_STARTING] = TN_WORD_STARTING, [TN_RUN_RUNNING] = TN_WORD_RUNNING,
    [TN_RUN_PAUSED] = TN_WORD_PAUSED,     [TN_RUN_PARKED] = TN_WORD_PARKED,     [TN_RUN_STOPPING] = TN_WORD_STOPPING,
    [TN_RUN_STOPPED] = TN_WORD_STOPPED,   [TN_RUN_FINISHED] = TN_WORD_FINISHED, [TN_RUN_FAILED] = TN_WORD_FAILED,
    [TN_RUN_LOST] = TN_WORD_LOST,
  };
  return words[state];
}

static void
count_total (TnRunControl *self)
{
  double per_epoch = tn_run_control_fact (self, "steps_per_epoch");
  self->line.total_steps = 0;
  self->line.epochs = self->settings != NULL ? tn_settings_get_int (self->settings, "train.epochs") : 0;
  if (self->settings == NULL || !(per_epoch > 0))
    return;
  gint64 most = tn_settings_get_int (self->settings, "train.max_steps");
  gint64 total = self->line.epochs * (gint64) per_epoch;
  self->line.total_steps = most > 0 && (total == 0 || most < total) ? most : total;
  self->line.epoch = self->line.step / (gint64) per_epoch;
  self->timing.steps_per_epoch = (gint64) per_epoch;
}

static void
update_line (TnRunControl *self)
{
  TnRunWord word = self->run != NULL ? word_of (tn_run_state (self->run)) : TN_WORD_NONE;
  /* A process that we started and that has not taken its lock yet: the folder still says queued (or its old end). */
  if (self->process != NULL && (word == TN_WORD_QUEUED || tn_run_word_is_end (word)))
    word = TN_WORD_STARTING;
  double silent = (double) (g_get_monotonic_time () - self->last_sign_us) / G_USEC_PER_SEC;
  if (word == TN_WORD_RUNNING && silent > fmax (SILENT_LEAST_S, 20 * self->timing.step_seconds))
    {
      word = TN_WORD_SILENT;
      self->line.silent_seconds = silent;
    }
  if (word == TN_WORD_RUNNING && self->pausing)
    word = TN_WORD_PAUSING;
  else if (word != TN_WORD_RUNNING)
    self->pausing = FALSE;
  self->line.word = word;
  self->line.cause = self->cause;
  self->line.reason = self->reason;
  self->line.signal = self->exit_signal;
  self->line.accuracy = tn_run_control_last (self, TN_TAG_VALIDATION_ACCURACY);
  self->line.seconds = tn_run_control_fact (self, "seconds");
  const TnSeries *loss = self->series[TN_TAG_LOSS];
  if (tn_series_n (loss) > 0)
    self->line.step = tn_series_steps (loss)[tn_series_n (loss) - 1] + 1;
  else if (isfinite (tn_run_control_fact (self, "step")))
    self->line.step = (gint64) tn_run_control_fact (self, "step");
  count_total (self);
  tn_run_timing_left (&self->timing, self->line.step, self->line.total_steps, &self->line.left_low, &self->line.left_high);
}

static gboolean
silent_cb (gpointer data)
{
  TnRunControl *self = data;
  TnRunWord before = self->line.word;
  /* A heartbeat in the lock is a sign of life too; the look for it is made by a worker. */
  if (g_get_monotonic_time () - self->last_sign_us > 2 * G_USEC_PER_SEC)
    read_folder (self);
  update_line (self);
  if (self->line.word != before || self->line.word == TN_WORD_SILENT)
    changed_now (self);
  return G_SOURCE_CONTINUE;
}

static void
watch_silence (TnRunControl *self)
{
  gboolean wanted = tn_run_word_is_live (self->line.word) && self->line.word != TN_WORD_PAUSED;
  if (wanted && self->silent_timer == 0)
    self->silent_timer = g_timeout_add_seconds (1, silent_cb, self);
  else if (!wanted)
    g_clear_handle_id (&self->silent_timer, g_source_remove);
}

static void
state_changed_cb (TnRun *run, int state, const char *cause, const char *reason, TnRunControl *self)
{
  g_free (self->cause);
  g_free (self->reason);
  self->cause = g_strdup (cause);
  self->reason = g_strdup (reason);
  self->last_sign_us = g_get_monotonic_time ();
  update_line (self);
  watch_silence (self);
  changed_now (self);
  read_folder (self);
  if (tn_run_state_is_end ((TnRunState) state))
    g_signal_emit (self, signals[SIGNAL_RUNS_CHANGED], 0);
}

/* Rows. */

static void
metrics_cb (TnRun *run, const TnMetricsBatch *batch, TnRunControl *self)
{
  for (guint i = 0; i < batch->n; i++)
    {
      if (batch->tags[i] >= TN_N_TAGS)
        continue;
      tn_series_append (self->series[batch->tags[i]], batch->steps[i], (double) batch->values[i], batch->times_us[i]);
      if (batch->tags[i] == TN_TAG_LOSS)
        tn_run_timing_step (&self->timing, batch->steps[i], batch->times_us[i]);
      else if (batch->tags[i] == TN_TAG_VALIDATION_LOSS)
        tn_run_timing_validation (&self->timing, batch->times_us[i]);
    }
  self->last_sign_us = g_get_monotonic_time ();
  gboolean first = self->line.step == 0;
  update_line (self);
  g_signal_emit (self, signals[SIGNAL_ROWS], 0, batch);
  if (first)
    changed_now (self);
  else
    queue_changed (self);
}

static void
restarted_cb (TnRun *run, gint64 step, TnRunControl *self)
{
  for (int tag = 0; tag < TN_N_TAGS; tag++)
    tn_series_restart (self->series[tag], step);
  tn_run_timing_reset (&self->timing);
  g_signal_emit (self, signals[SIGNAL_RESTARTED], 0, step);
}

static void
message_cb (TnRun *run, int level, const char *text, TnRunControl *self)
{
  self->last_sign_us = g_get_monotonic_time ();
  g_signal_emit (self, signals[SIGNAL_MESSAGE], 0, level, text);
}

static void
checkpointed_cb (TnRun *run, gint64 step, const char *path, TnRunControl *self)
{
  self->last_sign_us = g_get_monotonic_time ();
  g_signal_emit (self, signals[SIGNAL_CHECKPOINTED], 0, step);
  read_folder (self);
}

/* What stands in the folder, read by a worker. */

typedef struct
{
  char *path, *previous;
  TnSettings *settings;
  GHashTable *facts;
  gint64 beat_age_us; /* since the lock was written; -1: not known */
} Look;

static void
look_free (Look *look)
{
  g_free (look->path);
  g_free (look->previous);
  g_clear_pointer (&look->settings, tn_settings_free);
  g_clear_pointer (&look->facts, g_hash_table_unref);
  g_free (look);
}

static const char *const fact_names[] = { "step",      "epoch",   "loss",            "accuracy",        "validation_loss", "best",
                                          "seconds",   "memory_forecast", "memory_measured", "parameters",      "steps_per_epoch" };

static void
look_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Look *look = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (look->path, NULL);
  if (folder != NULL)
    {
      look->settings = tn_run_folder_settings_at (folder, G_MAXINT64);
      look->facts = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
      for (guint i = 0; i < G_N_ELEMENTS (fact_names); i++)
        {
          double *value = g_new (double, 1);
          *value = tn_run_folder_fact_number (folder, fact_names[i]);
          g_hash_table_insert (look->facts, (gpointer) fact_names[i], value);
        }
      g_autofree char *project = tn_run_folder_project_path (folder);
      g_autoptr (GPtrArray) runs = tn_run_folder_list (project, NULL);
      for (guint i = 1; runs != NULL && i < runs->len; i++)
        if (g_str_equal (g_ptr_array_index (runs, i), tn_run_folder_path (folder)))
          look->previous = g_strdup (g_ptr_array_index (runs, i - 1));
    }
  g_autofree char *lock = g_build_filename (look->path, "lock", NULL);
  GStatBuf info;
  look->beat_age_us = g_stat (lock, &info) == 0 ? g_get_real_time () - (gint64) info.st_mtime * G_USEC_PER_SEC : -1;
  g_task_return_boolean (task, folder != NULL);
}

static void
looked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnRunControl *self = TN_RUN_CONTROL (source);
  Look *look = g_task_get_task_data (G_TASK (result));
  if (!g_task_propagate_boolean (G_TASK (result), NULL) || g_strcmp0 (look->path, self->path) != 0)
    return;
  g_clear_object (&self->look);
  g_clear_pointer (&self->settings, tn_settings_free);
  g_clear_pointer (&self->facts, g_hash_table_unref);
  self->settings = g_steal_pointer (&look->settings);
  self->facts = g_steal_pointer (&look->facts);
  g_free (self->previous_path);
  self->previous_path = g_steal_pointer (&look->previous);
  if (look->beat_age_us >= 0)
    self->last_sign_us = MAX (self->last_sign_us, g_get_monotonic_time () - look->beat_age_us);
  update_line (self);
  queue_changed (self);
}

static void
read_folder (TnRunControl *self)
{
  if (self->path == NULL)
    return;
  g_cancellable_cancel (self->look);
  g_clear_object (&self->look);
  self->look = g_cancellable_new ();
  Look *look = g_new0 (Look, 1);
  look->path = g_strdup (self->path);
  g_autoptr (GTask) task = g_task_new (self, self->look, looked_cb, NULL);
  g_task_set_task_data (task, look, (GDestroyNotify) look_free);
  g_task_run_in_thread (task, look_thread);
}

/* The current run. */

static void
forget_run (TnRunControl *self)
{
  g_cancellable_cancel (self->look);
  g_clear_object (&self->look);
  if (self->run != NULL)
    {
      g_signal_handlers_disconnect_by_data (self->run, self);
      g_object_run_dispose (G_OBJECT (self->run)); /* stops its timer and its worker now, whoever holds it */
      g_clear_object (&self->run);
    }
  for (int tag = 0; tag < TN_N_TAGS; tag++) /* plots may hold the old ones */
    {
      g_clear_pointer (&self->series[tag], tn_series_unref);
      self->series[tag] = tn_series_new (tn_tags[tag].name);
    }
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->previous_path, g_free);
  g_clear_pointer (&self->settings, tn_settings_free);
  g_clear_pointer (&self->facts, g_hash_table_unref);
  g_clear_pointer (&self->cause, g_free);
  g_clear_pointer (&self->reason, g_free);
  g_clear_object (&self->process);
  g_clear_pointer (&self->waiting_method, g_free);
  g_clear_pointer (&self->waiting_parameters, g_variant_unref);
  self->exit_signal = 0;
  self->pausing = FALSE;
  self->line = (TnRunLine){ .accuracy = NAN, .seconds = NAN, .left_low = NAN, .left_high = NAN };
  tn_run_timing_reset (&self->timing);
}

static void
take_run (TnRunControl *self, TnRun *run)
{
  forget_run (self);
  self->run = run;
  self->path = g_strdup (tn_run_path (run));
  self->last_sign_us = g_get_monotonic_time ();
  g_signal_connect (run, "metrics", G_CALLBACK (metrics_cb), self);
  g_signal_connect (run, "restarted", G_CALLBACK (restarted_cb), self);
  g_signal_connect (run, "state-changed", G_CALLBACK (state_changed_cb), self);
  g_signal_connect (run, "message", G_CALLBACK (message_cb), self);
  g_signal_connect (run, "checkpointed", G_CALLBACK (checkpointed_cb), self);
  g_signal_connect (run, "notify::connected", G_CALLBACK (connected_cb), self);
}

static void
opened_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  GError *error = NULL;
  TnRun *run = tn_run_new (data, &error); /* signals in the main context: a worker has none of its own */
  if (run != NULL)
    g_task_return_pointer (task, run, g_object_unref);
  else
    g_task_return_error (task, error);
}

static void
begin_following (TnRunControl *self)
{
  tn_run_follow (self->run);
  update_line (self);
  watch_silence (self);
  g_signal_emit (self, signals[SIGNAL_RUN_CHANGED], 0);
  changed_now (self);
  read_folder (self);
}

static void
opened_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnRunControl *self = TN_RUN_CONTROL (source);
  g_autoptr (GError) error = NULL;
  TnRun *run = g_task_propagate_pointer (G_TASK (result), &error);
  if (run == NULL)
    {
      fail (self, error);
      return;
    }
  take_run (self, run);
  begin_following (self);
}

void
tn_run_control_select (TnRunControl *self, const char *path)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  if (g_strcmp0 (path, self->path) == 0)
    return;
  if (path == NULL)
    {
      forget_run (self);
      watch_silence (self);
      g_signal_emit (self, signals[SIGNAL_RUN_CHANGED], 0);
      changed_now (self);
      return;
    }
  g_autoptr (GTask) task = g_task_new (self, NULL, opened_cb, NULL);
  g_task_set_task_data (task, g_strdup (path), g_free);
  g_task_run_in_thread (task, opened_thread);
}

static void
newest_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_autoptr (GPtrArray) runs = tn_run_folder_list (data, NULL);
  g_task_return_pointer (task, runs != NULL && runs->len > 0 ? g_strdup (g_ptr_array_index (runs, runs->len - 1)) : NULL, g_free);
}

static void
newest_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnRunControl *self = TN_RUN_CONTROL (source);
  g_autofree char *path = g_task_propagate_pointer (G_TASK (result), NULL);
  const char *project = g_task_get_task_data (G_TASK (result));
  if (path != NULL && self->path == NULL && self->document != NULL && g_str_equal (project, tn_document_path (self->document)))
    tn_run_control_select (self, path);
}

static void
command_cb (TnDocument *document, const char *name, const char *value, TnRunControl *self)
{
  if (value != NULL)
    tn_run_control_set_value (self, name, value);
}

void
tn_run_control_set_document (TnRunControl *self, TnDocument *document)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  if (self->document == document)
    return;
  if (self->document != NULL)
    g_signal_handler_disconnect (self->document, self->document_handler);
  g_set_object (&self->document, document);
  if (document != NULL)
    self->document_handler = g_signal_connect (document, "command", G_CALLBACK (command_cb), self);
  tn_run_control_select (self, NULL);
  forget_run (self);
  if (document == NULL)
    return;
  g_autoptr (GTask) task = g_task_new (self, NULL, newest_cb, NULL);
  g_task_set_task_data (task, g_strdup (tn_document_path (document)), g_free);
  g_task_run_in_thread (task, newest_thread);
}

/* Starting. */

/* A trainer that ended before it took its run left the reason in the log. */
static void
read_log_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_autofree char *path = g_build_filename (data, "log.txt", NULL), *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    text = g_strdup ("");
  const char *line = strrchr (g_strchomp (text), '\n');
  g_task_return_pointer (task, g_utf8_make_valid (line != NULL ? line + 1 : text, -1), g_free);
}

static void
log_read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autofree char *line = g_task_propagate_pointer (G_TASK (result), NULL);
  g_autoptr (GError) error = g_error_new (TN_ERROR, TN_ERROR_STATE, _("The training did not start. %s"), line);
  fail (TN_RUN_CONTROL (source), error);
}

static void
tell_start_failed (TnRunControl *self)
{
  g_autoptr (GTask) task = g_task_new (self, NULL, log_read_cb, NULL);
  g_task_set_task_data (task, g_strdup (self->path), g_free);
  g_task_run_in_thread (task, read_log_thread);
}

static void
exited_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnRunControl) self = data;
  GSubprocess *process = G_SUBPROCESS (source);
  g_subprocess_wait_finish (process, result, NULL);
  if (process != self->process)
    return;
  self->exit_signal = g_subprocess_get_if_signaled (process) ? g_subprocess_get_term_sig (process) : 0;
  gboolean refused = g_subprocess_get_if_exited (process) && g_subprocess_get_exit_status (process) != 0;
  g_clear_object (&self->process);
  if (self->run != NULL)
    {
      tn_run_expect (self->run); /* its end is in the folder by now */
      if (refused && (tn_run_state (self->run) == TN_RUN_QUEUED || self->line.word == TN_WORD_STARTING))
        tell_start_failed (self);
    }
  update_line (self);
  changed_now (self);
}

static void
take_process (TnRunControl *self, GSubprocess *process)
{
  g_set_object (&self->process, process);
  self->exit_signal = 0;
  self->last_sign_us = g_get_monotonic_time ();
  g_subprocess_wait_async (process, NULL, exited_cb, g_object_ref (self));
  tn_run_expect (self->run);
  update_line (self);
  watch_silence (self);
  changed_now (self);
}

static void
spawn (TnRunControl *self, const char *const *arguments)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) process = tn_run_process_spawn (arguments, self->path, &error);
  if (process != NULL)
    take_process (self, process);
  else
    fail (self, error);
}

/* A run that is being made. */
typedef struct
{
  TnRunControl *control;
  TnRun *run;
  GSubprocess *process;
  GError *error;
} Start;

static void
start_free (Start *start)
{
  g_clear_object (&start->run);
  g_clear_object (&start->process);
  g_clear_error (&start->error);
  g_object_unref (start->control);
  g_free (start);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Start, start_free)

/* In a worker: the trainer starts while the window still lays out its page. */
static void
run_made (const char *run_path, gpointer data)
{
  Start *start = data;
  start->process = tn_run_process_spawn ((const char *const[]){ "train", run_path, NULL }, run_path, &start->error);
  start->run = tn_run_new (run_path, start->error == NULL ? &start->error : NULL); /* signals in the main context: a worker has none of its own */
}

static void
made_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Start) start = data;
  TnRunControl *self = start->control;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = tn_document_new_run_finish (TN_DOCUMENT (source), result, &error);
  if (path == NULL || start->run == NULL)
    {
      fail (self, error != NULL ? error : start->error);
      return;
    }
  if (self->document != TN_DOCUMENT (source))
    return; /* the window shows another project by now; the training goes on */
  take_run (self, g_steal_pointer (&start->run));
  if (start->process != NULL)
    take_process (self, start->process);
  else
    fail (self, start->error);
  begin_following (self);
  g_signal_emit (self, signals[SIGNAL_RUNS_CHANGED], 0);
}

void
tn_run_control_train (TnRunControl *self, const TnSettings *settings)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  if (self->document == NULL)
    return;
  Start *start = g_new0 (Start, 1);
  start->control = g_object_ref (self);
  tn_document_new_run_async (self->document, settings, run_made, made_cb, start);
}

static void
enqueued_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnRunControl) self = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = tn_document_new_run_finish (TN_DOCUMENT (source), result, &error);
  if (path == NULL)
    {
      fail (self, error);
      return;
    }
  g_signal_emit (self, signals[SIGNAL_RUNS_CHANGED], 0);
  if (!tn_run_word_is_live (self->line.word))
    tn_run_control_select (self, path);
}

void
tn_run_control_enqueue (TnRunControl *self)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  if (self->document != NULL)
    tn_document_new_run_async (self->document, NULL, NULL, enqueued_cb, g_object_ref (self));
}

void
tn_run_control_start_queued (TnRunControl *self)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  if (self->run != NULL)
    spawn (self, (const char *const[]){ "train", self->path, NULL });
}

void
tn_run_control_resume (TnRunControl *self)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  if (self->run != NULL)
    spawn (self, (const char *const[]){ "resume", self->path, NULL });
}

/* Steering. */

static void
called_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnRunControl) self = data;
  g_autoptr (GError) error = NULL;
  if (!tn_run_call_finish (TN_RUN (source), result, &error))
    {
      self->pausing = FALSE;
      fail (self, error);
    }
  update_line (self);
  changed_now (self);
}

/* A trainer that was just started, or that this window has only just found, answers in a moment: the call waits for it. */
static void
connected_cb (TnRun *run, GParamSpec *spec, TnRunControl *self)
{
  if (!tn_run_is_connected (run) || self->waiting_method == NULL)
    return;
  g_autofree char *method = g_steal_pointer (&self->waiting_method);
  g_autoptr (GVariant) parameters = g_steal_pointer (&self->waiting_parameters);
  tn_run_call_async (run, method, parameters, NULL, called_cb, g_object_ref (self));
}

static void
call (TnRunControl *self, const char *method, GVariant *parameters)
{
  if (self->run != NULL && !tn_run_is_connected (self->run) && tn_run_word_is_live (self->line.word))
    {
      g_free (self->waiting_method);
      g_clear_pointer (&self->waiting_parameters, g_variant_unref);
      self->waiting_method = g_strdup (method);
      self->waiting_parameters = parameters != NULL ? g_variant_ref_sink (parameters) : NULL;
      tn_run_expect (self->run);
    }
  else if (self->run != NULL)
    tn_run_call_async (self->run, method, parameters, NULL, called_cb, g_object_ref (self));
  else if (parameters != NULL)
    g_variant_unref (g_variant_ref_sink (parameters));
}

void
tn_run_control_extend (TnRunControl *self, int epochs)
{
  tn_run_control_extend_as (self, epochs, NULL);
}

void
tn_run_control_extend_as (TnRunControl *self, int epochs, const char *how)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  if (self->run == NULL || self->settings == NULL)
    return;
  gint64 total = tn_settings_get_int (self->settings, "train.epochs") + epochs;
  if (tn_run_is_connected (self->run))
    {
      call (self, "Extend", g_variant_new ("(x)", (gint64) epochs));
      return;
    }
  g_autofree char *assignment = g_strdup_printf ("train.epochs=%" PRId64, total);
  g_autofree char *schedule = how != NULL ? g_strdup_printf ("schedule.extend=%s", how) : NULL;
  spawn (self, (const char *const[]){ "resume", self->path, "--set", assignment, schedule != NULL ? "--set" : NULL, schedule, NULL });
}

void
tn_run_control_pause (TnRunControl *self, gboolean paused)
{
  g_return_if_fail (TN_IS_RUN_CONTROL (self));
  self->pausing = paused;
  call (self, paused ? "Pause" : "Resume", NULL);
  update_line (self);
  changed_now (self);
}

void
tn_run_control_stop (TnRunControl *self)
{
  call (self, "Stop", NULL);
}

void
tn_run_control_stop_now (TnRunControl *self)
{
  call (self, "StopNow", NULL);
}

void
tn_run_control_park (TnRunControl *self)
{
  call (self, "Park", NULL);
}

void
tn_run_control_checkpoint (TnRunControl *self)
{
  call (self, "Checkpoint", NULL);
}

void
tn_run_control_set_value (TnRunControl *self, const char *name, const char *value)
{
  call (self, "SetValue", g_variant_new ("(ss)", name, value));
}

/* Reading. */

TnDocument *
tn_run_control_document (TnRunControl *self)
{
  return self->document;
}

TnRun *
tn_run_control_run (TnRunControl *self)
{
  return self->run;
}

const char *
tn_run_control_path (TnRunControl *self)
{
  return self->path;
}

const char *
tn_run_control_previous_path (TnRunControl *self)
{
  return self->previous_path;
}

const TnRunLine *
tn_run_control_line (TnRunControl *self)
{
  return &self->line;
}

char *
tn_run_control_line_text (TnRunControl *self)
{
  return tn_run_line_text (&self->line);
}

const TnSettings *
tn_run_control_settings (TnRunControl *self)
{
  return self->settings;
}

double
tn_run_control_fact (TnRunControl *self, const char *name)
{
  const double *value = self->facts != NULL ? g_hash_table_lookup (self->facts, name) : NULL;
  return value != NULL ? *value : NAN;
}

TnSeries *
tn_run_control_series (TnRunControl *self, TnTag tag)
{
  g_return_val_if_fail (tag < TN_N_TAGS, NULL);
  return self->series[tag];
}

double
tn_run_control_last (TnRunControl *self, TnTag tag)
{
  const TnSeries *series = self->series[tag];
  return tn_series_n (series) > 0 ? tn_series_values (series, FALSE)[tn_series_n (series) - 1] : NAN;
}

double
tn_run_control_speed (TnRunControl *self)
{
  return tn_run_control_last (self, TN_TAG_SAMPLES_PER_SECOND);
}

/* Class. */

static void
tn_run_control_dispose (GObject *object)
{
  TnRunControl *self = TN_RUN_CONTROL (object);
  g_clear_handle_id (&self->changed_timer, g_source_remove);
  g_clear_handle_id (&self->silent_timer, g_source_remove);
  forget_run (self);
  if (self->document != NULL)
    g_signal_handler_disconnect (self->document, self->document_handler);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tn_run_control_parent_class)->dispose (object);
}

static void
tn_run_control_finalize (GObject *object)
{
  TnRunControl *self = TN_RUN_CONTROL (object);
  for (int tag = 0; tag < TN_N_TAGS; tag++)
    tn_series_unref (self->series[tag]);
  G_OBJECT_CLASS (tn_run_control_parent_class)->finalize (object);
}

static void
tn_run_control_class_init (TnRunControlClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);
  GType type = G_TYPE_FROM_CLASS (class);
  object_class->dispose = tn_run_control_dispose;
  object_class->finalize = tn_run_control_finalize;
  static const struct
  {
    const char *name;
    guint n_parameters;
    GType types[2];
  } rows[N_SIGNALS] = {
    [SIGNAL_RUN_CHANGED] = { "run-changed", 0, { 0 } },
    [SIGNAL_ROWS] = { "rows", 1, { G_TYPE_POINTER } },
    [SIGNAL_RESTARTED] = { "restarted", 1, { G_TYPE_INT64 } },
    [SIGNAL_CHANGED] = { "changed", 0, { 0 } },
    [SIGNAL_MESSAGE] = { "message", 2, { G_TYPE_INT, G_TYPE_STRING } },
    [SIGNAL_CHECKPOINTED] = { "checkpointed", 1, { G_TYPE_INT64 } },
    [SIGNAL_FAILED] = { "failed", 1, { G_TYPE_NONE } },
    [SIGNAL_RUNS_CHANGED] = { "runs-changed", 0, { 0 } },
  };
  for (int i = 0; i < N_SIGNALS; i++)
    {
      GType types[2] = { rows[i].types[0], rows[i].types[1] };
      if (i == SIGNAL_FAILED)
        types[0] = G_TYPE_ERROR; /* a call, so not for a static table */
      signals[i] = g_signal_newv (rows[i].name, type, G_SIGNAL_RUN_LAST, NULL, NULL, NULL, NULL, G_TYPE_NONE, rows[i].n_parameters, types);
    }
}

static void
tn_run_control_init (TnRunControl *self)
{
  forget_run (self);
}

TnRunControl *
tn_run_control_new (void)
{
  return g_object_new (TN_TYPE_RUN_CONTROL, NULL);
}
