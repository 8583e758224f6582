/* SPDX-License-Identifier: Apache-2.0 */
#include "train/training.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/rate.h"

#define ENDING (TN_COMMAND_STOP | TN_COMMAND_STOP_NOW | TN_COMMAND_PARK | TN_COMMAND_WRITE_FAILED)

gboolean
tn_training_set_state (TnTraining *self, TnRunState state, const char *cause, const char *reason, GError **error)
{
  tn_run_folder_set_state (self->folder, state, cause, reason);
  tn_trainer_post_state (self->trainer, state, cause, reason);
  return tn_run_folder_save (self->folder, error);
}

static gint64
count_total (const TnTraining *self)
{
  gint64 by_epochs = self->epochs > 0 ? self->epochs * self->steps_per_epoch : G_MAXINT64;
  gint64 by_steps = self->max_steps > 0 ? self->max_steps : G_MAXINT64;
  gint64 total = MIN (by_epochs, by_steps);
  return total == G_MAXINT64 ? 0 : total;
}

gboolean
tn_training_apply_settings (TnTraining *self, GError **error)
{
  const TnSettings *settings = self->settings;
  self->epochs = tn_settings_get_int (settings, "train.epochs");
  self->max_steps = tn_settings_get_int (settings, "train.max_steps");
  self->eval_every = tn_settings_get_int (settings, "train.eval_every");
  self->every_steps = tn_settings_get_int (settings, "checkpoint.every_steps");
  self->every_epochs = tn_settings_get_int (settings, "checkpoint.every_epochs");
  self->histogram_every = tn_settings_get_int (settings, "metrics.histogram_every");
  self->norms = tn_settings_get_bool (settings, "metrics.norms");
  self->early_stop = tn_settings_get_int (settings, "train.early_stop");
  self->early_stop_delta = tn_settings_get_float (settings, "train.early_stop_delta");
  self->target_accuracy = tn_settings_get_float (settings, "train.target_accuracy");
  if (self->program != NULL)
    tn_program_set_mode (self->program, tn_settings_enum_is (settings, "device.mode", "pynative") ? TN_MODE_PYNATIVE : TN_MODE_GRAPH);
  self->policy = (TnNonfinitePolicy) tn_settings_get_enum (settings, "train.on_nonfinite");
  self->total_steps = count_total (self);

  /* The schedule's length is that of the epochs: a run that is cut by train.max_steps and goes on later has the same rates as
   * one that was never cut. */
  TnRate *rate = tn_rate_new (settings, self->steps_per_epoch, self->max_steps, error);
  if (rate == NULL)
    return FALSE;
  g_clear_pointer (&self->rate, tn_rate_free);
  self->rate = rate;
  if (self->writer != NULL)
    tn_checkpoint_writer_set_keep (self->writer, (int) tn_settings_get_int (settings, "checkpoint.keep"));

  pthread_mutex_lock (&self->trainer->mutex);
  self->trainer->progress.epochs = self->epochs;
  self->trainer->progress.total_steps = self->total_steps;
  pthread_mutex_unlock (&self->trainer->mutex);
  return TRUE;
}

gboolean
tn_training_replay_changes (TnTraining *self, GError **error)
{
  gboolean changed = FALSE;
  for (; self->next_change < tn_run_folder_n_changes (self->folder); self->next_change++)
    {
      const TnRunChange *change = tn_run_folder_change (self->folder, self->next_change);
      if (change->step > self->at.step)
        break;
      if (!tn_settings_set (self->settings, change->name, change->value, error))
        return FALSE;
      tn_trainer_post_message (self->trainer, G_LOG_LEVEL_INFO, _("Step %" PRId64 ": %s = %s, as before."),
                               self->at.step, change->name, change->value);
      changed = TRUE;
    }
  return !changed || tn_training_apply_settings (self, error);
}

static gboolean
change_one (TnTraining *self, gint64 step, const char *name, const char *value, GError **error)
{
  if (!tn_settings_set (self->settings, name, value, error))
    return FALSE;
  tn_run_folder_add_change (self->folder, step, name, value);
  tn_trainer_post_message (self->trainer, G_LOG_LEVEL_INFO, _("From step %" PRId64 " on: %s = %s."), step, name, value);
  return TRUE;
}

gboolean
tn_training_change (TnTraining *self, gint64 step, const char *name, const char *value, GError **error)
{
  if (strcmp (name, "train.epochs") == 0)
    {
      g_auto (GStrv) pairs = tn_rate_extension (self->settings, g_ascii_strtoll (value, NULL, 10));
      for (char **pair = pairs; *pair != NULL; pair += 2)
        if (!change_one (self, step, pair[0], pair[1], error))
          return FALSE;
    }
  return change_one (self, step, name, value, error);
}

/* The record comes first: a change that was felt by a step is never forgotten. */
static gboolean
make_changes (TnTraining *self, GError **error)
{
  pthread_mutex_lock (&self->trainer->mutex);
  g_autoptr (GPtrArray) changes = self->trainer->changes;
  self->trainer->changes = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_run_change_free);
  atomic_fetch_and (&self->trainer->commands, ~(guint) TN_COMMAND_CHANGE);
  pthread_mutex_unlock (&self->trainer->mutex);

  for (guint i = 0; i < changes->len; i++)
    {
      const TnRunChange *change = g_ptr_array_index (changes, i);
      const char *name = change->name;
      g_autofree char *value = g_strdup (change->value);
      if (strcmp (name, "+epochs") == 0)
        {
          name = "train.epochs";
          gint64 epochs = MIN (self->epochs + g_ascii_strtoll (change->value, NULL, 10), 1000000);
          g_free (value);
          value = g_strdup_printf ("%" PRId64, epochs);
        }
      if (!tn_training_change (self, self->at.step, name, value, error))
        return FALSE;
      if (strcmp (name, "train.epochs") == 0)
        self->epochs = tn_settings_get_int (self->settings, name);
    }
  self->next_change = tn_run_folder_n_changes (self->folder);
  return tn_run_folder_save (self->folder, error) && tn_training_apply_settings (self, error);
}

static guint
take_commands (TnTraining *self, guint which)
{
  return atomic_fetch_and (&self->trainer->commands, ~which) & which;
}

static TnEnd
ending (TnTraining *self, GError **error)
{
  guint commands = atomic_load (&self->trainer->commands);
  if (commands & TN_COMMAND_WRITE_FAILED)
    {
      pthread_mutex_lock (&self->trainer->mutex);
      g_propagate_error (error, g_error_copy (self->trainer->write_failure));
      pthread_mutex_unlock (&self->trainer->mutex);
      return TN_END_FAILED;
    }
  if (commands & TN_COMMAND_STOP_NOW)
    return TN_END_STOP_NOW;
  if (commands & TN_COMMAND_STOP)
    return TN_END_STOP;
  return commands & TN_COMMAND_PARK ? TN_END_PARK : TN_END_NONE;
}

/* Until something else is wanted. What may be done while paused is done: settings, a checkpoint. */
static gboolean
pause_here (TnTraining *self, GError **error)
{
  gint64 begun = tn_training_now_ns ();
  TnTrainer *trainer = self->trainer;
  if (!tn_training_set_state (self, TN_RUN_PAUSED, "", "", error))
    return FALSE;
  for (;;)
    {
      if ((take_commands (self, TN_COMMAND_CHECKPOINT) && !tn_training_save_finite (self, error))
          || ((atomic_load (&trainer->commands) & TN_COMMAND_CHANGE) && !make_changes (self, error)))
        return FALSE;
      guint commands = atomic_load (&trainer->commands);
      if (commands & (ENDING | TN_COMMAND_RESUME))
        break;
      pthread_mutex_lock (&trainer->mutex);
      while (!(atomic_load (&trainer->commands) & (ENDING | TN_COMMAND_RESUME | TN_COMMAND_CHECKPOINT | TN_COMMAND_CHANGE)))
        pthread_cond_wait (&trainer->wake, &trainer->mutex);
      pthread_mutex_unlock (&trainer->mutex);
    }
  take_commands (self, TN_COMMAND_PAUSE | TN_COMMAND_RESUME);
  gint64 now = tn_training_now_ns ();
  self->paused_ns += now - begun;
  self->window_ns += now - begun;
  return (atomic_load (&trainer->commands) & ENDING) || tn_training_set_state (self, TN_RUN_RUNNING, "", "", error);
}

TnEnd
tn_training_obey (TnTraining *self, GError **error)
{
  if (self->next_change < tn_run_folder_n_changes (self->folder) && !tn_training_replay_changes (self, error))
    return TN_END_FAILED;
  if (G_LIKELY (atomic_load_explicit (&self->trainer->commands, memory_order_acquire) == 0))
    return TN_END_NONE;

  if ((atomic_load (&self->trainer->commands) & TN_COMMAND_CHANGE) && !make_changes (self, error))
    return TN_END_FAILED;
  if (take_commands (self, TN_COMMAND_CHECKPOINT) && !tn_training_save_finite (self, error))
    return TN_END_FAILED;
  TnEnd end = ending (self, error);
  if (end != TN_END_NONE)
    return end;
  /* Pause and resume that came together cancel out. */
  guint both = take_commands (self, TN_COMMAND_RESUME);
  if (both != 0)
    take_commands (self, TN_COMMAND_PAUSE);
  if (!(atomic_load (&self->trainer->commands) & TN_COMMAND_PAUSE))
    return TN_END_NONE;
  return pause_here (self, error) ? ending (self, error) : TN_END_FAILED;
}
