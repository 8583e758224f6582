/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include <glib-unix.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>
#include <string.h>

#include "base/error.h"
#include "train/checkpoint.h"
#include "train/trainer-private.h"

#define MAX_WAITING_BATCHES 4
#define HEARTBEAT_MS 1000

typedef enum
{
  EVENT_STATE,
  EVENT_MESSAGE,
  EVENT_CHECKPOINT,
  EVENT_METRICS,
  EVENT_TIMES,
  EVENT_END /* the thread is about to return; error belongs to the event */
} EventKind;

typedef struct
{
  EventKind kind;
  TnRunState state;
  char *cause, *text; /* reason, message, path */
  int level;
  gint64 step;
  TnMetricsBatch *batch;
  TnNodeTimesReport *times;
  GError *error;
} Event;

enum
{
  SIGNAL_STATE_CHANGED,
  SIGNAL_METRICS,
  SIGNAL_MESSAGE,
  SIGNAL_CHECKPOINTED,
  SIGNAL_NODE_TIMES,
  N_SIGNALS
};

enum
{
  PROP_STATE = 1,
  PROP_STEP,
  PROP_TOTAL_STEPS,
  PROP_EPOCH,
  N_PROPERTIES
};

static guint signals[N_SIGNALS];
static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_FINAL_TYPE (TnTrainer, tn_trainer, G_TYPE_OBJECT)

/* From any thread to the main context. */

/* One block: struct, then the columns. */
static TnMetricsBatch *
batch_copy (const TnMetricsBatch *batch)
{
  gsize n = batch->n, n_name = strlen (batch->file) + 1;
  char *block = g_malloc (sizeof (TnMetricsBatch) + n * (8 + 8 + 4 + 4) + n_name);
  TnMetricsBatch *copy = (TnMetricsBatch *) block;
  gint64 *steps = (gint64 *) (block + sizeof (TnMetricsBatch)), *times = steps + n;
  float *values = (float *) (times + n);
  guint32 *tags = (guint32 *) (values + n);
  char *file = (char *) (tags + n);
  *copy = *batch;
  copy->steps = memcpy (steps, batch->steps, n * 8);
  copy->times_us = memcpy (times, batch->times_us, n * 8);
  copy->values = memcpy (values, batch->values, n * 4);
  copy->tags = memcpy (tags, batch->tags, n * 4);
  copy->file = memcpy (file, batch->file, n_name);
  return copy;
}

static void
event_free (Event *event)
{
  g_free (event->cause);
  g_free (event->text);
  g_free (event->batch);
  g_free (event->times);
  g_clear_error (&event->error);
  g_free (event);
}

static void
post (TnTrainer *self, Event event)
{
  Event *copy = g_new (Event, 1);
  *copy = event;
  pthread_mutex_lock (&self->mutex);
  g_queue_push_tail (&self->events, copy);
  self->n_batches += event.kind == EVENT_METRICS;
  if (event.kind == EVENT_STATE)
    self->progress.state = event.state;
  pthread_mutex_unlock (&self->mutex);
  g_source_set_ready_time (self->source, 0);
}

void
tn_trainer_post_state (TnTrainer *self, TnRunState state, const char *cause, const char *reason)
{
  post (self, (Event){ .kind = EVENT_STATE, .state = state, .cause = g_strdup (cause), .text = g_strdup (reason) });
}

void
tn_trainer_post_message (TnTrainer *self, GLogLevelFlags level, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  tn_run_folder_log (self->folder, "%s", text);
  post (self, (Event){ .kind = EVENT_MESSAGE, .level = (int) level, .text = text });
}

void
tn_trainer_post_checkpoint (TnTrainer *self, gint64 step, const char *path)
{
  pthread_mutex_lock (&self->mutex);
  self->progress.checkpoint_step = step;
  pthread_mutex_unlock (&self->mutex);
  post (self, (Event){ .kind = EVENT_CHECKPOINT, .step = step, .text = g_strdup (path) });
}

void
tn_trainer_post_metrics (TnTrainer *self, const TnMetricsBatch *batch)
{
  pthread_mutex_lock (&self->mutex);
  gboolean full = self->n_batches >= MAX_WAITING_BATCHES;
  pthread_mutex_unlock (&self->mutex);
  if (!full)
    post (self, (Event){ .kind = EVENT_METRICS, .batch = batch_copy (batch) });
}

void
tn_trainer_post_times (TnTrainer *self, TnNodeTimesReport *report)
{
  post (self, (Event){ .kind = EVENT_TIMES, .times = report });
}

void
tn_trainer_set_node_table (TnTrainer *self, GVariant *table)
{
  pthread_mutex_lock (&self->mutex);
  g_clear_pointer (&self->node_table, g_variant_unref);
  self->node_table = table;
  pthread_mutex_unlock (&self->mutex);
}

static void
command (TnTrainer *self, guint bits)
{
  pthread_mutex_lock (&self->mutex);
  atomic_fetch_or (&self->commands, bits);
  pthread_cond_broadcast (&self->wake);
  pthread_mutex_unlock (&self->mutex);
}

void
tn_trainer_write_failed (TnTrainer *self, const GError *error)
{
  pthread_mutex_lock (&self->mutex);
  if (self->write_failure == NULL)
    self->write_failure = g_error_copy (error);
  pthread_mutex_unlock (&self->mutex);
  command (self, TN_COMMAND_WRITE_FAILED);
}

/* In the main context. */

static gboolean
heartbeat_cb (gpointer data)
{
  TnTrainer *self = data;
  TnTrainerProgress progress;
  tn_trainer_get_progress (self, &progress);
  double median = progress.median_step_seconds;
  tn_run_folder_beat (self->folder, progress.step, isfinite (median) ? (gint64) (median * G_USEC_PER_SEC) : 0);
  return G_SOURCE_CONTINUE;
}

static void
set_heartbeat (TnTrainer *self, gboolean on)
{
  if (self->heartbeat != NULL)
    g_source_destroy (self->heartbeat);
  g_clear_pointer (&self->heartbeat, g_source_unref);
  if (!on)
    return;
  self->heartbeat = g_timeout_source_new (HEARTBEAT_MS);
  g_source_set_callback (self->heartbeat, heartbeat_cb, self, NULL);
  g_source_attach (self->heartbeat, self->context);
}

static void
end_thread (TnTrainer *self)
{
  set_heartbeat (self, FALSE);
  if (self->has_thread)
    pthread_join (self->thread, NULL);
  self->has_thread = FALSE;
  tn_run_folder_unlock (self->folder);
}

static void
tell (TnTrainer *self, Event *event)
{
  switch (event->kind)
    {
    case EVENT_STATE:
      self->told_state = event->state;
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STATE]);
      g_signal_emit (self, signals[SIGNAL_STATE_CHANGED], 0, (int) event->state, event->cause, event->text);
      break;
    case EVENT_MESSAGE:
      g_signal_emit (self, signals[SIGNAL_MESSAGE], 0, event->level, event->text);
      break;
    case EVENT_CHECKPOINT:
      g_signal_emit (self, signals[SIGNAL_CHECKPOINTED], 0, event->step, event->text);
      break;
    case EVENT_METRICS:
      g_signal_emit (self, signals[SIGNAL_METRICS], 0, event->batch);
      for (int i = PROP_STEP; i < N_PROPERTIES; i++)
        g_object_notify_by_pspec (G_OBJECT (self), properties[i]);
      break;
    case EVENT_TIMES:
      g_signal_emit (self, signals[SIGNAL_NODE_TIMES], 0, event->times);
      break;
    case EVENT_END:
      end_thread (self);
      self->error = g_steal_pointer (&event->error);
      break;
    }
}

static gboolean
deliver_cb (gpointer data)
{
  g_autoptr (TnTrainer) self = g_object_ref (TN_TRAINER (data)); /* a handler may drop the last one */
  g_source_set_ready_time (self->source, -1);
  for (;;)
    {
      pthread_mutex_lock (&self->mutex);
      Event *event = g_queue_pop_head (&self->events);
      if (event != NULL && event->kind == EVENT_METRICS)
        self->n_batches--;
      pthread_mutex_unlock (&self->mutex);
      if (event == NULL)
        return G_SOURCE_CONTINUE;
      tell (self, event);
      event_free (event);
    }
}

static gboolean
source_dispatch (GSource *source, GSourceFunc callback, gpointer user_data)
{
  return callback (user_data);
}

static GSourceFuncs source_functions = { .dispatch = source_dispatch };

/* Class. */

static void
tn_trainer_dispose (GObject *object)
{
  TnTrainer *self = TN_TRAINER (object);
  if (self->has_thread)
    {
      tn_trainer_stop_now (self);
      end_thread (self);
    }
  for (guint i = 0; i < G_N_ELEMENTS (self->signal_sources); i++)
    if (self->signal_sources[i] != NULL)
      {
        g_source_destroy (self->signal_sources[i]);
        g_clear_pointer (&self->signal_sources[i], g_source_unref);
      }
  if (self->source != NULL)
    {
      g_source_destroy (self->source);
      g_clear_pointer (&self->source, g_source_unref);
    }
  G_OBJECT_CLASS (tn_trainer_parent_class)->dispose (object);
}

static void
tn_trainer_finalize (GObject *object)
{
  TnTrainer *self = TN_TRAINER (object);
  g_queue_clear_full (&self->events, (GDestroyNotify) event_free);
  g_ptr_array_unref (self->changes);
  g_ptr_array_unref (self->start_changes);
  g_clear_error (&self->write_failure);
  g_clear_error (&self->error);
  g_clear_pointer (&self->node_table, g_variant_unref);
  g_free (self->stop_cause);
  g_free (self->stop_reason);
  g_clear_pointer (&self->folder, tn_run_folder_free);
  g_clear_pointer (&self->context, g_main_context_unref);
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->wake);
  G_OBJECT_CLASS (tn_trainer_parent_class)->finalize (object);
}

static void
tn_trainer_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  TnTrainer *self = TN_TRAINER (object);
  TnTrainerProgress progress;
  tn_trainer_get_progress (self, &progress);
  switch (id)
    {
    case PROP_STATE:
      g_value_set_int (value, (int) self->told_state);
      break;
    case PROP_STEP:
      g_value_set_int64 (value, progress.step);
      break;
    case PROP_TOTAL_STEPS:
      g_value_set_int64 (value, progress.total_steps);
      break;
    case PROP_EPOCH:
      g_value_set_int64 (value, progress.epoch);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
    }
}

static void
tn_trainer_class_init (TnTrainerClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);
  object_class->dispose = tn_trainer_dispose;
  object_class->finalize = tn_trainer_finalize;
  object_class->get_property = tn_trainer_get_property;

  GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  properties[PROP_STATE] = g_param_spec_int ("state", NULL, NULL, 0, TN_RUN_N_STATES - 1, 0, flags);
  properties[PROP_STEP] = g_param_spec_int64 ("step", NULL, NULL, 0, G_MAXINT64, 0, flags);
  properties[PROP_TOTAL_STEPS] = g_param_spec_int64 ("total-steps", NULL, NULL, 0, G_MAXINT64, 0, flags);
  properties[PROP_EPOCH] = g_param_spec_int64 ("epoch", NULL, NULL, 0, G_MAXINT64, 0, flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);

  GType type = G_TYPE_FROM_CLASS (class);
  signals[SIGNAL_STATE_CHANGED] = g_signal_new ("state-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 3,
                                                G_TYPE_INT, G_TYPE_STRING, G_TYPE_STRING);
  signals[SIGNAL_METRICS] = g_signal_new ("metrics", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_POINTER);
  signals[SIGNAL_MESSAGE] = g_signal_new ("message", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_INT,
                                          G_TYPE_STRING);
  signals[SIGNAL_CHECKPOINTED] = g_signal_new ("checkpointed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2,
                                               G_TYPE_INT64, G_TYPE_STRING);
  signals[SIGNAL_NODE_TIMES] = g_signal_new ("node-times", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_POINTER);
}

static void
tn_trainer_init (TnTrainer *self)
{
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->wake, NULL);
  g_queue_init (&self->events);
  self->changes = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_run_change_free);
  self->start_changes = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_run_change_free);
  self->progress = (TnTrainerProgress){ .loss = NAN, .loss_mean = NAN, .accuracy = NAN, .validation_loss = NAN,
                                        .samples_per_second = NAN, .seconds_left = NAN, .seconds_left_least = NAN,
                                        .seconds_left_most = NAN, .median_step_seconds = NAN, .checkpoint_step = -1 };
  self->context = g_main_context_ref_thread_default ();
  self->source = g_source_new (&source_functions, sizeof (GSource));
  g_source_set_static_name (self->source, "tn-trainer");
  g_source_set_callback (self->source, deliver_cb, self, NULL);
  g_source_attach (self->source, self->context);
}

TnTrainer *
tn_trainer_new (TnRunFolder *folder)
{
  g_return_val_if_fail (folder != NULL, NULL);
  TnTrainer *self = g_object_new (TN_TYPE_TRAINER, NULL);
  self->folder = folder;
  self->told_state = self->progress.state = tn_run_folder_state (folder);
  return self;
}

TnRunFolder *
tn_trainer_folder (TnTrainer *self)
{
  return self->folder;
}

/* Start and end. */

/* What would end a run before the place where it stands is a mistake. */
static gboolean
check_not_done (TnTrainer *self, const TnSettings *probe, const char *name, GError **error)
{
  gboolean by_epochs = strcmp (name, "train.epochs") == 0;
  if (!by_epochs && strcmp (name, "train.max_steps") != 0)
    return TRUE;
  gint64 wanted = tn_settings_get_int (probe, name);
  g_autofree char *checkpoints = tn_run_folder_checkpoints_path (self->folder);
  TnCheckpointState state;
  if (wanted == 0 || !tn_checkpoint_newest_state (checkpoints, &state))
    return TRUE;
  gint64 done = by_epochs ? state.epoch : state.step;
  if (wanted >= done)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
               by_epochs ? _("%s = %" PRId64 " is less than the %" PRId64 " epochs that the run has: it cannot go back.")
                         : _("%s = %" PRId64 " is less than the %" PRId64 " steps that the run has: it cannot go back."),
               name, wanted, done);
  return FALSE;
}

void
tn_trainer_allow_restart (TnTrainer *self)
{
  g_return_if_fail (TN_IS_TRAINER (self) && !self->has_thread);
  self->restart = TRUE;
}

gboolean
tn_trainer_change_at_start (TnTrainer *self, const char *name, const char *value, GError **error)
{
  static const char *const allowed[] = { "train.epochs", "train.max_steps", "device.threads", "parallel.ranks", "parallel.mode", "parallel.mesh", "parallel.rank_list",
                                          "parallel.strategy", "parallel.dataset", "parallel.optimizer", "parallel.optimizer_level",
                                          "parallel.optimizer_threshold", "parallel.optimizer_shard_size", NULL };
  g_return_val_if_fail (TN_IS_TRAINER (self) && !self->has_thread, FALSE);
  const TnSetting *row = tn_setting_require (name, error);
  if (row == NULL)
    return FALSE;
  if (!(row->flags & TN_SETTING_LIVE) && !g_strv_contains (allowed, row->name))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_STATE,
                   _("Setting “%s” cannot change in a run that exists: begin a new run with it."), row->name);
      return FALSE;
    }
  g_autoptr (TnSettings) probe = tn_settings_new ();
  if (!tn_settings_set (probe, row->name, value, error) || !check_not_done (self, probe, row->name, error))
    return FALSE;
  g_ptr_array_add (self->start_changes, tn_run_change_new (0, row->name, tn_settings_get_text (probe, row->name)));
  return TRUE;
}

static void *
thread_main (void *data)
{
  TnTrainer *self = data;
  GError *error = tn_training_run (self);
  TnRunState state = tn_run_folder_state (self->folder);
  Event last = { .kind = EVENT_STATE, .state = state, .cause = g_strdup (tn_run_folder_cause (self->folder)),
                 .text = g_strdup (tn_run_folder_reason (self->folder)) };
  post (self, (Event){ .kind = EVENT_END, .error = error });
  post (self, last);
  return NULL;
}

/* Signals of the process are for the main thread. */
static int
create_thread (TnTrainer *self)
{
  sigset_t all, before;
  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, &before);
  int result = pthread_create (&self->thread, NULL, thread_main, self);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return result;
}

gboolean
tn_trainer_start (TnTrainer *self, GError **error)
{
  g_return_val_if_fail (TN_IS_TRAINER (self) && !self->has_thread, FALSE);
  if (!tn_run_folder_lock (self->folder, error))
    return FALSE;
  /* Somebody may have trained in it since it was read. */
  if (!tn_run_folder_reload (self->folder, error))
    {
      tn_run_folder_unlock (self->folder);
      return FALSE;
    }
  atomic_store (&self->commands, 0);
  g_clear_pointer (&self->stop_cause, g_free);
  g_clear_pointer (&self->stop_reason, g_free);
  g_clear_error (&self->error);
  tn_trainer_post_state (self, TN_RUN_STARTING, "", "");
  int result = create_thread (self);
  if (result != 0)
    {
      tn_run_folder_unlock (self->folder);
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _("Cannot start the training thread: %s."), g_strerror (result));
      return FALSE;
    }
  self->has_thread = TRUE;
  set_heartbeat (self, TRUE);
  return TRUE;
}

gboolean
tn_trainer_run (TnTrainer *self, GError **error)
{
  while (self->has_thread || !tn_run_state_is_end (self->told_state))
    g_main_context_iteration (self->context, TRUE);
  if (self->error == NULL)
    return TRUE;
  g_propagate_error (error, g_error_copy (self->error));
  return FALSE;
}

const GError *
tn_trainer_error (TnTrainer *self)
{
  return self->error;
}

/* Commands. */

void
tn_trainer_pause (TnTrainer *self)
{
  command (self, TN_COMMAND_PAUSE);
}

void
tn_trainer_resume (TnTrainer *self)
{
  command (self, TN_COMMAND_RESUME);
}

void
tn_trainer_park (TnTrainer *self)
{
  command (self, TN_COMMAND_PARK);
}

void
tn_trainer_stop (TnTrainer *self)
{
  command (self, TN_COMMAND_STOP);
}

void
tn_trainer_stop_because (TnTrainer *self, const char *cause, const char *reason)
{
  pthread_mutex_lock (&self->mutex);
  if (self->stop_cause == NULL)
    {
      self->stop_cause = g_strdup (cause);
      self->stop_reason = g_strdup (reason);
    }
  pthread_mutex_unlock (&self->mutex);
  command (self, TN_COMMAND_STOP);
}

void
tn_trainer_stop_now (TnTrainer *self)
{
  command (self, TN_COMMAND_STOP_NOW);
}

void
tn_trainer_checkpoint (TnTrainer *self)
{
  command (self, TN_COMMAND_CHECKPOINT);
}

void
tn_trainer_watch_times (TnTrainer *self, gboolean on)
{
  atomic_fetch_add (&self->n_watchers, on ? 1 : -1);
}

GVariant *
tn_trainer_node_table (TnTrainer *self)
{
  pthread_mutex_lock (&self->mutex);
  GVariant *table = self->node_table != NULL ? g_variant_ref (self->node_table) : NULL;
  pthread_mutex_unlock (&self->mutex);
  return table;
}

static gboolean
add_change (TnTrainer *self, const char *name, const char *value, GError **error)
{
  pthread_mutex_lock (&self->mutex);
  TnRunState state = self->progress.state;
  gboolean ok = self->has_thread && !tn_run_state_is_end (state) && state != TN_RUN_STOPPING;
  if (ok)
    g_ptr_array_add (self->changes, tn_run_change_new (0, name, value));
  pthread_mutex_unlock (&self->mutex);
  if (ok)
    command (self, TN_COMMAND_CHANGE);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("The run is %s: nothing can be changed in it now."),
                 tn_run_state_name (state));
  return ok;
}

gboolean
tn_trainer_extend (TnTrainer *self, gint64 epochs, GError **error)
{
  if (epochs < 1 || epochs > 1000000)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("A run can be extended by 1 to 1000000 epochs, not %" PRId64 "."), epochs);
      return FALSE;
    }
  g_autofree char *text = g_strdup_printf ("%" PRId64, epochs);
  return add_change (self, "+epochs", text, error);
}

gboolean
tn_trainer_set_value (TnTrainer *self, const char *name, const char *value, GError **error)
{
  const TnSetting *row = tn_setting_require (name, error);
  if (row == NULL)
    return FALSE;
  if (!(row->flags & TN_SETTING_LIVE))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("Setting “%s” cannot change while a run goes on."), row->name);
      return FALSE;
    }
  g_autoptr (TnSettings) probe = tn_settings_new ();
  return tn_settings_set (probe, row->name, value, error)
         && add_change (self, row->name, tn_settings_get_text (probe, row->name), error);
}

void
tn_trainer_get_progress (TnTrainer *self, TnTrainerProgress *progress)
{
  pthread_mutex_lock (&self->mutex);
  *progress = self->progress;
  pthread_mutex_unlock (&self->mutex);
}

TnRunState
tn_trainer_state (TnTrainer *self)
{
  return self->told_state;
}

/* Ctrl-C. */

static gboolean
signal_cb (gpointer data)
{
  TnTrainer *self = data;
  self->n_interrupts++;
  if (self->n_interrupts == 1)
    tn_trainer_stop (self);
  else if (self->n_interrupts == 2)
    tn_trainer_stop_now (self);
  else
    _exit (130);
  return G_SOURCE_CONTINUE;
}

void
tn_trainer_handle_signals (TnTrainer *self)
{
  static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      if (self->signal_sources[i] != NULL)
        continue;
      self->signal_sources[i] = g_unix_signal_source_new (numbers[i]);
      g_source_set_callback (self->signal_sources[i], signal_cb, self, NULL);
      g_source_attach (self->signal_sources[i], self->context);
    }
}

gboolean
tn_trainer_was_interrupted (TnTrainer *self)
{
  return self->n_interrupts > 0;
}
