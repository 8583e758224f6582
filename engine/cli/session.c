/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"
#include "cli/cli.h"
#include "cli/processes.h"
#include "cli/progress.h"
#include "base/error.h"
#include "train/run-removal.h"
#include "train/service.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TICK_MS 100

typedef struct
{
  TnTrainer *trainer;
  TnService *service;
  TnProgressView *view;
  GMainLoop *loop;
  gboolean forecast_told, measured_told;
  guint tick, output;
  gboolean output_gone;
} Session;

/* The forecast is for what the program allocates; the process has code, libraries and data besides. */
static void
tell_forecast (Session *self, const TnTrainerProgress *progress)
{
  self->forecast_told = TRUE;
  if (tn_progress_view_is_json (self->view))
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "memory-forecast");
      json_object_set_int_member (object, "bytes", (gint64) progress->memory_forecast);
      json_object_set_int_member (object, "data_bytes", (gint64) progress->memory_data);
      json_object_set_int_member (object, "parameters", (gint64) progress->n_parameters);
      json_object_set_int_member (object, "threads", progress->n_threads);
      tn_progress_view_object (self->view, object);
      return;
    }
  g_autofree char *bytes = tn_cli_bytes ((double) progress->memory_forecast);
  g_autofree char *data = tn_cli_bytes ((double) progress->memory_data);
  g_autofree char *threads = g_strdup_printf (tn_ngettext ("%d thread", "%d threads", (gulong) progress->n_threads), progress->n_threads);
  g_autofree char *text = g_strdup_printf (_ ("%'" PRIu64 " parameters; %s of memory forecast for them and a step, %s for the data; %s"),
                                           progress->n_parameters, bytes, data, threads);
  tn_progress_view_message (self->view, FALSE, text);
}

static void
tell_measured (Session *self, const TnTrainerProgress *progress)
{
  self->measured_told = TRUE;
  double difference = ((double) progress->memory_grown / (double) progress->memory_forecast - 1) * 100;
  if (tn_progress_view_is_json (self->view))
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "memory-measured");
      json_object_set_int_member (object, "forecast_bytes", (gint64) progress->memory_forecast);
      json_object_set_int_member (object, "grown_bytes", (gint64) progress->memory_grown);
      tn_cli_set_number (object, "difference_percent", difference);
      json_object_set_int_member (object, "process_bytes", (gint64) progress->memory_measured);
      tn_progress_view_object (self->view, object);
      return;
    }
  g_autofree char *grown = tn_cli_bytes ((double) progress->memory_grown), *all = tn_cli_bytes ((double) progress->memory_measured);
  g_autofree char *text = g_strdup_printf (_ ("Memory after step 1: %s, %+.0f %% of the forecast; the whole process has %s"), grown,
                                           difference, all);
  tn_progress_view_message (self->view, FALSE, text);
}

static void
look (Session *self)
{
  TnTrainerProgress progress;
  tn_trainer_get_progress (self->trainer, &progress);
  if (!self->forecast_told && progress.memory_forecast > 0)
    tell_forecast (self, &progress);
  if (!self->measured_told && self->forecast_told && progress.memory_measured > 0)
    tell_measured (self, &progress);
  if (!tn_run_state_is_end (progress.state))
    tn_progress_view_update (self->view, &progress);
}

static gboolean
tick_cb (gpointer data)
{
  if (tn_trainer_was_interrupted (((Session *) data)->trainer))
    tn_processes_note_told ();
  look (data);
  return G_SOURCE_CONTINUE;
}

static void
state_changed_cb (TnTrainer *trainer, int state, const char *cause, const char *reason, Session *self)
{
  look (self);
  if (state == TN_RUN_STOPPING && tn_trainer_was_interrupted (trainer) && !tn_progress_view_is_json (self->view))
    tn_progress_view_message (self->view, TRUE, _ ("Stopping: this step will be finished and a checkpoint written. Ctrl-C again ends at once."));
  else if (state == TN_RUN_PAUSED)
    tn_progress_view_message (self->view, FALSE, _ ("Paused."));
  if (tn_run_state_is_end ((TnRunState) state))
    g_main_loop_quit (self->loop);
}

static void
metrics_cb (TnTrainer *trainer, gpointer batch, Session *self)
{
  look (self);
  tn_progress_view_batch (self->view, batch);
}

static void
message_cb (TnTrainer *trainer, int level, const char *text, Session *self)
{
  tn_progress_view_message (self->view, level <= G_LOG_LEVEL_WARNING, text);
}

static void
checkpointed_cb (TnTrainer *trainer, gint64 step, const char *path, Session *self)
{
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "event", "checkpoint");
  json_object_set_int_member (object, "step", step);
  json_object_set_string_member (object, "path", path);
  tn_progress_view_object (self->view, object);
}

/* Refused before its first step for what was asked for, and not for what happened: there is nothing in the run to go on with. */
static gboolean
was_refused (TnTrainer *trainer)
{
  static const int codes[] = { TN_ERROR_INVALID_ARGUMENT, TN_ERROR_SHAPE, TN_ERROR_MEMORY, TN_ERROR_NOT_FOUND, TN_ERROR_PARSE, TN_ERROR_FORMAT };
  TnTrainerProgress progress;
  const GError *error = tn_trainer_error (trainer);
  tn_trainer_get_progress (trainer, &progress);
  for (guint i = 0; error != NULL && progress.step == 0 && i < G_N_ELEMENTS (codes); i++)
    if (g_error_matches (error, TN_ERROR, codes[i]))
      return TRUE;
  return FALSE;
}

static void
discard (TnRunFolder *folder, gboolean json)
{
  g_autofree char *path = g_strdup (tn_run_folder_path (folder));
  if (tn_run_delete (path, NULL) && !json)
    printf (_ ("The folder of the run was removed, as nothing was trained in it.\n"));
}

/* Whoever watched it is gone, and would not know that it goes on: it is saved and ends. */
static void
output_gone_cb (gpointer data)
{
  Session *self = data;
  self->output = 0;
  self->output_gone = TRUE;
  fprintf (stderr, "tenon-cli: %s\n", _ ("Nobody reads the output any more: this step is finished, a checkpoint written and the run stopped."));
  tn_trainer_stop_because (self->trainer, "output-closed", _ ("Stopped and saved, as nobody read its output any more."));
}

/* The end. */

static void
print_end_object (Session *self, const TnTrainerProgress *p, TnRunFolder *folder, gboolean refused)
{
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "state", tn_run_state_name (p->state));
  json_object_set_string_member (object, "cause", tn_run_folder_cause (folder));
  json_object_set_string_member (object, "reason", tn_run_folder_reason (folder));
  if (refused) /* its folder goes */
    json_object_set_null_member (object, "run");
  else
    json_object_set_string_member (object, "run", tn_run_folder_path (folder));
  json_object_set_int_member (object, "steps", p->step);
  tn_cli_set_number (object, "loss", p->loss);
  tn_cli_set_number (object, "accuracy", p->accuracy);
  tn_cli_set_number (object, "validation_loss", p->validation_loss);
  tn_cli_set_number (object, "seconds", p->seconds);
  json_object_set_int_member (object, "checkpoint", p->checkpoint_step);
  tn_cli_print_json (object);
}

static void
print_end (Session *self, const TnTrainerProgress *p, TnRunFolder *folder, gboolean refused)
{
  g_autofree char *seconds = tn_cli_duration (p->seconds);
  g_autofree char *loss = tn_cli_number (p->loss);
  const char *reason = p->state == TN_RUN_FAILED ? "" : tn_run_folder_reason (folder); /* why it failed is on stderr */
  if (p->state == TN_RUN_FAILED && p->step == 0)
    printf (_ ("%s before the first step.\n"), tn_run_state_name (p->state));
  else
    {
      printf (_ ("%s: %" PRId64 " steps"), tn_run_state_name (p->state), p->step);
      if (p->start_step > 0)
        printf (_ (" (%" PRId64 " of them now, in %s)"), p->step - p->start_step, seconds);
      else
        printf (_ (" in %s"), seconds);
      if (isfinite (p->loss))
        printf (_ (", loss %s"), loss);
      if (isfinite (p->accuracy))
        printf (_ (", held-out accuracy %.2f %%"), p->accuracy * 100);
      printf (".%s%s\n", *reason != '\0' ? " " : "", reason);
    }
  if (!refused)
    printf (_ ("Run: %s\n"), tn_run_folder_path (folder));
}

static int
finish (Session *self, TnRunFolder *folder, gboolean refused)
{
  TnTrainerProgress progress;
  tn_trainer_get_progress (self->trainer, &progress);
  tn_progress_view_clear (self->view);
  const GError *error = tn_trainer_error (self->trainer);
  if (error != NULL)
    fprintf (stderr, "tenon-cli: %s\n", error->message);
  if (tn_progress_view_is_json (self->view))
    print_end_object (self, &progress, folder, refused);
  else
    print_end (self, &progress, folder, refused);
  if (progress.state == TN_RUN_FAILED || (self->output_gone && progress.state == TN_RUN_STOPPED))
    return TN_EXIT_FAILED;
  return progress.state == TN_RUN_STOPPED || tn_trainer_was_interrupted (self->trainer) ? TN_EXIT_INTERRUPTED : TN_EXIT_DONE;
}

/* Usage errors are found before anything starts. */
static gboolean
change_at_start (TnTrainer *trainer, char **changes, GError **error)
{
  for (char **change = changes; change != NULL && *change != NULL; change++)
    {
      g_autofree char *name = NULL, *value = NULL;
      if (!tn_cli_split_assignment (*change, &name, &value, error) || !tn_trainer_change_at_start (trainer, name, value, error))
        return FALSE;
    }
  return TRUE;
}

static void
serve (Session *self)
{
  g_autoptr (GError) error = NULL;
  self->service = tn_service_new (self->trainer, &error);
  if (self->service == NULL)
    {
      g_autofree char *text = g_strdup_printf (_ ("Nobody can attach to this run: %s"), error->message);
      tn_progress_view_message (self->view, TRUE, text);
    }
}

int
tn_session_run (const char *command, TnRunFolder *folder, char **changes, TnSessionFlags flags, gboolean json)
{
  g_autoptr (TnTrainer) trainer = tn_trainer_new (folder);
  g_autoptr (TnProgressView) view = tn_progress_view_new (json);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (GError) error = NULL;
  Session self = { .trainer = trainer, .view = view, .loop = loop };
  if (!change_at_start (trainer, changes, &error))
    return tn_cli_usage (command, "%s", error->message);
  if (flags & TN_SESSION_RESTART)
    tn_trainer_allow_restart (trainer);
  tn_trainer_handle_signals (trainer);
  g_signal_connect (trainer, "state-changed", G_CALLBACK (state_changed_cb), &self);
  g_signal_connect (trainer, "metrics", G_CALLBACK (metrics_cb), &self);
  g_signal_connect (trainer, "message", G_CALLBACK (message_cb), &self);
  g_signal_connect (trainer, "checkpointed", G_CALLBACK (checkpointed_cb), &self);
  if (!tn_trainer_start (trainer, &error))
    return tn_cli_fail (error, json);
  if (json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "event", "run");
      json_object_set_string_member (object, "path", tn_run_folder_path (folder));
      tn_cli_print_json (object);
    }
  serve (&self);
  self.tick = g_timeout_add (TICK_MS, tick_cb, &self);
  self.output = tn_cli_watch_output (output_gone_cb, &self);
  g_main_loop_run (loop);
  g_source_remove (self.tick);
  g_clear_handle_id (&self.output, g_source_remove);
  gboolean refused = (flags & TN_SESSION_NEW) && was_refused (trainer);
  int status = finish (&self, folder, refused);
  g_clear_pointer (&self.service, tn_service_free);
  g_signal_handlers_disconnect_by_data (trainer, &self);
  if (refused)
    discard (folder, json);
  g_autofree char *project = tn_run_folder_project_path (folder);
  tn_cli_note_project (project);
  return status;
}
