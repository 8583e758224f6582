/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/progress.h"
#include "base/error.h"
#include "train/run-client.h"
#include "train/service.h"
#include <glib-unix.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* attach: watches or steers a run that another process trains. */

typedef struct
{
  const char *word, *method, *done;
} Verb;

static const Verb verbs[] = {
  { "pause", "Pause", N_ ("It pauses at the next step.") },
  { "resume", "Resume", N_ ("It goes on.") },
  { "park", "Park", N_ ("It saves and ends; “tenon-cli resume” goes on with the same bits.") },
  { "stop", "Stop", N_ ("It finishes the step, writes a checkpoint and ends.") },
  { "stop-now", "StopNow", N_ ("It ends without a checkpoint.") },
  { "checkpoint", "Checkpoint", N_ ("It writes a checkpoint after this step.") },
};

static const char *const words[] = { "watch", "pause", "resume", "park", "stop", "stop-now", "checkpoint", "extend", "set", NULL };

static int
call (const char *run, const char *method, GVariant *parameters, const char *done)
{
  g_autoptr (GError) error = NULL;
  if (!tn_run_call_sync (run, method, parameters, &error))
    return tn_cli_fail (error, FALSE);
  printf ("%s\n", done);
  return TN_EXIT_DONE;
}

static int
extend (const char *run, const char *epochs)
{
  gint64 n;
  if (epochs == NULL || !g_ascii_string_to_signed (epochs, 10, 1, 1000000, &n, NULL))
    return tn_cli_usage ("attach", _ ("extend by how many epochs? For example: extend 2"));
  return call (run, "Extend", g_variant_new ("(x)", n), _ ("It trains for more epochs."));
}

static int
set_value (const char *run, const char *assignment)
{
  g_autofree char *name = NULL, *value = NULL;
  g_autoptr (GError) error = NULL;
  if (assignment == NULL)
    return tn_cli_usage ("attach", _ ("set which setting? For example: set optimizer.lr=0.001"));
  if (!tn_cli_split_assignment (assignment, &name, &value, &error) || tn_setting_require (name, &error) == NULL)
    return tn_cli_usage ("attach", "%s", error->message);
  return call (run, "SetValue", g_variant_new ("(ss)", name, value), _ ("It holds from the next step on."));
}

/* watch: the numbers are put together from rows, as the trainer is not in this process. */

typedef struct
{
  TnRun *run;
  TnProgressView *view;
  GMainLoop *loop;
  TnTrainerProgress progress;
  gboolean caught_up, interrupted, connecting;
  char *reason;
  gint64 batch;
  GDBusConnection *connection; /* to ask for what no row tells; NULL where no process trains */
  GCancellable *cancellable;
  guint output;
  gint64 silent_us; /* since when the process does not answer; 0: it does, or there is none */
  gboolean silence_told;
} Watch;

#define ASK_PERIOD_S 1
#define SILENCE_US (5 * G_USEC_PER_SEC)

/* How many steps there will be only the trainer knows: it has counted its samples, and "extend" changes it. */

static void
told_total_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GVariant) reply = g_dbus_connection_call_finish (G_DBUS_CONNECTION (source), result, NULL);
  g_autoptr (GVariant) value = NULL;
  if (reply == NULL) /* the process ended, or whoever asked did: then @data is gone */
    return;
  Watch *self = data;
  self->silent_us = 0;
  g_variant_get (reply, "(v)", &value);
  if (g_variant_is_of_type (value, G_VARIANT_TYPE_INT64))
    self->progress.total_steps = g_variant_get_int64 (value);
}

/* A process that holds the lock and does not answer, stopped perhaps, would look like a run that makes no steps. */
static void
tell_silence (Watch *self)
{
  g_auto (TnRunOwner) owner = { 0 };
  gint64 now = g_get_monotonic_time ();
  if (!tn_run_folder_owner (tn_run_path (self->run), &owner, NULL) || !owner.held)
    self->silent_us = 0;
  else if (self->silent_us == 0)
    self->silent_us = now;
  else if (now - self->silent_us >= SILENCE_US && !self->silence_told)
    {
      g_autofree char *text = tn_run_silence_text (tn_run_path (self->run), &owner);
      self->silence_told = TRUE;
      tn_progress_view_message (self->view, TRUE, text);
    }
}

static void
ask_total (Watch *self)
{
  if (self->connection != NULL)
    g_dbus_connection_call (self->connection, NULL, TN_SERVICE_PATH, "org.freedesktop.DBus.Properties", "Get",
                            g_variant_new ("(ss)", TN_SERVICE_INTERFACE, "TotalSteps"), G_VARIANT_TYPE ("(v)"), G_DBUS_CALL_FLAGS_NONE, -1,
                            self->cancellable, told_total_cb, self);
}

static void
connected_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GDBusConnection) connection = g_dbus_connection_new_for_address_finish (result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return; /* @data is gone */
  Watch *self = data;
  self->connecting = FALSE;
  self->connection = g_steal_pointer (&connection);
  ask_total (self);
}

static void
connect_to_trainer (Watch *self)
{
  g_auto (TnRunOwner) owner = { 0 };
  g_clear_object (&self->connection);
  if (self->connecting || !tn_run_folder_owner (tn_run_path (self->run), &owner, NULL) || !owner.held || owner.address == NULL)
    return;
  self->connecting = TRUE;
  g_dbus_connection_new_for_address (owner.address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, NULL, self->cancellable, connected_cb, self);
}

static gboolean
ask_cb (gpointer data)
{
  Watch *self = data;
  tell_silence (self);
  if (self->connection == NULL || g_dbus_connection_is_closed (self->connection))
    connect_to_trainer (self);
  else
    ask_total (self);
  return G_SOURCE_CONTINUE;
}

static double
seconds_left (const Watch *self)
{
  const TnTrainerProgress *p = &self->progress;
  gboolean known = p->total_steps > 0 && p->samples_per_second > 0 && p->state == TN_RUN_RUNNING;
  return known ? (double) MAX (0, p->total_steps - p->step) * (double) self->batch / p->samples_per_second : NAN;
}

static void
metrics_cb (TnRun *run, gpointer data, Watch *self)
{
  const TnMetricsBatch *batch = data;
  TnTrainerProgress *p = &self->progress;
  for (guint i = 0; i < batch->n; i++)
    switch (batch->tags[i])
      {
      case TN_TAG_LOSS:
        p->loss = (double) batch->values[i];
        p->step = batch->steps[i] + 1;
        break;
      case TN_TAG_LEARNING_RATE:
        p->learning_rate = (double) batch->values[i];
        break;
      case TN_TAG_SAMPLES_PER_SECOND:
        p->samples_per_second = (double) batch->values[i];
        break;
      case TN_TAG_VALIDATION_ACCURACY:
        p->accuracy = (double) batch->values[i];
        break;
      case TN_TAG_EPOCH:
        p->epoch = (gint64) batch->values[i];
        break;
      default:
        break;
      }
  tn_progress_view_batch (self->view, batch);
  p->state = tn_run_state (run);
  p->seconds_left = seconds_left (self);
  tn_progress_view_update (self->view, p);
}

static void
end_if_over (Watch *self)
{
  if (self->caught_up && tn_run_state_is_end (tn_run_state (self->run)))
    g_main_loop_quit (self->loop);
}

static void
state_changed_cb (TnRun *run, int state, const char *cause, const char *reason, Watch *self)
{
  self->progress.state = (TnRunState) state;
  g_free (self->reason);
  self->reason = g_strdup (reason);
  end_if_over (self);
}

static void
caught_up_cb (TnRun *run, Watch *self)
{
  self->caught_up = TRUE;
  end_if_over (self);
}

static void
message_cb (TnRun *run, int level, const char *text, Watch *self)
{
  tn_progress_view_message (self->view, level <= G_LOG_LEVEL_WARNING, text);
}

static void
restarted_cb (TnRun *run, gint64 step, Watch *self)
{
  g_autofree char *text = g_strdup_printf (_ ("The run was resumed at step %" PRId64 "."), step);
  tn_progress_view_message (self->view, FALSE, text);
}

static gboolean
interrupt_cb (gpointer data)
{
  Watch *self = data;
  self->interrupted = TRUE;
  g_main_loop_quit (self->loop);
  return G_SOURCE_CONTINUE;
}

static void
output_gone_cb (gpointer data)
{
  Watch *self = data;
  self->output = 0;
  g_main_loop_quit (self->loop);
}

static void
read_settings (Watch *self, const char *path)
{
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (path, NULL);
  g_autoptr (TnSettings) settings = folder != NULL ? tn_run_folder_settings_at (folder, G_MAXINT64) : NULL;
  self->progress = (TnTrainerProgress){ .loss = NAN, .loss_mean = NAN, .learning_rate = NAN, .accuracy = NAN, .validation_loss = NAN,
                                        .samples_per_second = NAN, .seconds = NAN, .seconds_left = NAN, .checkpoint_step = -1 };
  if (settings == NULL)
    return;
  self->progress.epochs = tn_settings_get_int (settings, "train.epochs");
  self->progress.total_steps = tn_settings_get_int (settings, "train.max_steps");
  self->batch = tn_settings_get_int (settings, "train.batch");
}

static void
print_end (Watch *self, const char *path)
{
  const TnTrainerProgress *p = &self->progress;
  const char *state = tn_run_state_name (tn_run_state (self->run));
  tn_progress_view_clear (self->view);
  if (tn_progress_view_is_json (self->view))
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "state", state);
      json_object_set_string_member (object, "run", path);
      json_object_set_int_member (object, "steps", p->step);
      json_object_set_int_member (object, "total_steps", p->total_steps);
      tn_cli_set_number (object, "loss", p->loss);
      tn_cli_set_number (object, "accuracy", p->accuracy);
      tn_cli_print_json (object);
      return;
    }
  g_autofree char *loss = tn_cli_number (p->loss);
  printf (_ ("%s after %" PRId64 " steps"), state, p->step);
  if (isfinite (p->loss))
    printf (_ (", loss %s"), loss);
  gboolean why = self->reason != NULL && *self->reason != '\0';
  printf (".%s%s\n", why ? " " : "", why ? self->reason : "");
}

static int
watch (const char *path, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRun) run = tn_run_new (path, &error);
  if (run == NULL)
    return tn_cli_fail (error, json);
  g_autoptr (TnProgressView) view = tn_progress_view_new (json);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  Watch self = { .run = run, .view = view, .loop = loop };
  read_settings (&self, path);
  g_signal_connect (run, "metrics", G_CALLBACK (metrics_cb), &self);
  g_signal_connect (run, "state-changed", G_CALLBACK (state_changed_cb), &self);
  g_signal_connect (run, "caught-up", G_CALLBACK (caught_up_cb), &self);
  g_signal_connect (run, "message", G_CALLBACK (message_cb), &self);
  g_signal_connect (run, "restarted", G_CALLBACK (restarted_cb), &self);
  guint interrupt = g_unix_signal_add (SIGINT, interrupt_cb, &self), ask = g_timeout_add_seconds (ASK_PERIOD_S, ask_cb, &self);
  self.output = tn_cli_watch_output (output_gone_cb, &self);
  self.cancellable = g_cancellable_new ();
  ask_cb (&self);
  tn_run_follow (run);
  g_main_loop_run (loop);
  g_source_remove (interrupt);
  g_source_remove (ask);
  g_clear_handle_id (&self.output, g_source_remove);
  g_cancellable_cancel (self.cancellable);
  g_clear_object (&self.cancellable);
  g_clear_object (&self.connection);
  g_signal_handlers_disconnect_by_data (run, &self);
  print_end (&self, path);
  g_free (self.reason);
  return self.interrupted ? TN_EXIT_INTERRUPTED : TN_EXIT_DONE;
}

int
tn_command_attach (int argc, char **argv)
{
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("watch: one JSON object a line"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("attach", entries, &argc, &argv, 2, 3, _ ("name a run's folder and what to do: watch, pause, resume, park, stop, stop-now, checkpoint, extend N, set NAME=VALUE")))
    return TN_EXIT_USAGE;
  const char *run = argv[1], *word = argv[2], *more = argc > 3 ? argv[3] : NULL;
  if (strcmp (word, "extend") == 0)
    return extend (run, more);
  if (strcmp (word, "set") == 0)
    return set_value (run, more);
  if (more != NULL)
    return tn_cli_usage ("attach", _ ("“%s” is one argument too many"), more);
  if (strcmp (word, "watch") == 0)
    return watch (run, json);
  for (guint i = 0; i < G_N_ELEMENTS (verbs); i++)
    if (strcmp (verbs[i].word, word) == 0)
      return call (run, verbs[i].method, NULL, _ (verbs[i].done));
  g_autofree char *suggestion = tn_cli_suggestion (word, words);
  return tn_cli_usage ("attach", _ ("a run cannot be told to “%s”%s"), word, suggestion);
}
