/* SPDX-License-Identifier: Apache-2.0 */
#include "train/training.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/answers.h"

/* Facts in run.json: the steps whose batches are passed over after a rollback. */
#define POISONED_FACT "left_out_steps"

static gboolean
barrier_cb (gpointer data, GError **error)
{
  TnTraining *self = data;
  return tn_metrics_flush (self->metrics, TRUE, error); /* no checkpoint without the rows before it */
}

static void
written_cb (gint64 step, const char *path, const GError *error, gpointer data)
{
  TnTraining *self = data;
  if (error == NULL)
    tn_trainer_post_checkpoint (self->trainer, step, path);
  else if (!g_error_matches (error, TN_ERROR, TN_ERROR_CANCELLED))
    tn_trainer_write_failed (self->trainer, error);
}

static void
batch_cb (const TnMetricsBatch *batch, gpointer data)
{
  tn_trainer_post_metrics (((TnTraining *) data)->trainer, batch);
}

static void
metrics_failed_cb (const GError *error, gpointer data)
{
  tn_trainer_write_failed (((TnTraining *) data)->trainer, error);
}

gboolean
tn_training_open_metrics (TnTraining *self, gboolean goes_on, GError **error)
{
  self->metrics = tn_metrics_new (tn_run_folder_path (self->folder), goes_on ? self->at.step : -1, batch_cb, metrics_failed_cb,
                                  self, error);
  return self->metrics != NULL;
}

gboolean
tn_training_open_writer (TnTraining *self, GError **error)
{
  int keep = (int) tn_settings_get_int (self->settings, "checkpoint.keep");
  self->writer = tn_checkpoint_writer_new (self->checkpoints, self->tensors, self->n_tensors, keep, barrier_cb, written_cb,
                                           self, error);
  if (self->writer == NULL)
    return FALSE;
  tn_checkpoint_writer_set_best (self->writer, self->at.best_step);
  return TRUE;
}

/* What the watched samples are answered at this checkpoint. A run does not end for want of them. */
static void
note_answers (TnTraining *self)
{
  int n;
  g_autofree int64_t *ids = tn_settings_get_int_list (self->settings, "watch.samples", &n);
  if (n == 0 || self->answered_step == self->at.step)
    return;
  self->answered_step = self->at.step;
  g_autoptr (GError) error = NULL;
  gboolean classes = tn_settings_enum_is (self->settings, "train.loss", "softmax_cross_entropy");
  g_autoptr (TnAnswers) answers = tn_answers_new (self->program, self->input, classes, ids, n, self->at.step, &error);
  if (answers == NULL || !tn_answers_append (answers, tn_run_folder_path (self->folder), &error))
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING, _("The watched samples were not answered: %s"), error->message);
}

gboolean
tn_training_save (TnTraining *self, GError **error)
{
  gint64 begun = tn_training_now_ns ();
  gboolean ok = tn_checkpoint_writer_save (self->writer, self->tensors, self->n_tensors, &self->at, error);
  if (ok)
    note_answers (self);
  tn_pace_add (&self->pace, TN_PACE_CHECKPOINT, (double) (tn_training_now_ns () - begun) / 1e9);
  return ok;
}

gboolean
tn_training_save_finite (TnTraining *self, GError **error)
{
  gboolean rolled_back;
  return tn_training_check_state (self, &rolled_back, error) && (rolled_back || tn_training_save (self, error));
}

/* Steps that were found not finite, once and for all: a resumed run passes over the same ones. */
static void
read_poisoned (TnTraining *self)
{
  const char *text = tn_run_folder_fact (self->folder, POISONED_FACT);
  if (text == NULL || self->policy != TN_NONFINITE_ROLLBACK)
    return;
  g_auto (GStrv) steps = g_strsplit (text, ",", -1);
  for (char **step = steps; *step != NULL; step++)
    {
      gint64 number = g_ascii_strtoll (*step, NULL, 10);
      g_hash_table_add (self->poisoned, g_memdup2 (&number, sizeof number));
    }
}

static gboolean
write_poisoned (TnTraining *self, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  GHashTableIter iter;
  gpointer step;
  g_hash_table_iter_init (&iter, self->poisoned);
  while (g_hash_table_iter_next (&iter, &step, NULL))
    g_string_append_printf (text, "%s%" PRId64, text->len > 0 ? "," : "", *(gint64 *) step);
  tn_run_folder_set_fact (self->folder, POISONED_FACT, text->str);
  return tn_run_folder_save (self->folder, error);
}

gboolean
tn_training_restore (TnTraining *self, TnCheckpoint *checkpoint, GError **error)
{
  if (self->policy == TN_NONFINITE_ROLLBACK && self->poisoned == NULL)
    {
      self->poisoned = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
      read_poisoned (self);
    }
  if (checkpoint == NULL)
    return TRUE;
  if (!tn_checkpoint_restore (checkpoint, self->tensors, self->n_tensors, error))
    return FALSE;
  if (!tn_program_state_changed (self->program, error))
    return FALSE;
  self->at = *tn_checkpoint_state (checkpoint);
  self->next_change = 0;
  while (self->next_change < tn_run_folder_n_changes (self->folder)
         && tn_run_folder_change (self->folder, self->next_change)->step <= self->at.step)
    self->next_change++;
  pthread_mutex_lock (&self->trainer->mutex);
  TnTrainerProgress *progress = &self->trainer->progress;
  progress->step = self->at.step;
  progress->epoch = self->at.epoch;
  progress->loss = self->at.loss;
  progress->learning_rate = self->at.learning_rate;
  progress->checkpoint_step = self->at.step;
  progress->skipped_steps = self->at.bad_steps;
  progress->checks_without_gain = self->at.stall;
  pthread_mutex_unlock (&self->trainer->mutex);
  return TRUE;
}

/* Settings as they were at the step to which it went back; then the rows start over from there. */
static gboolean
start_over (TnTraining *self, GError **error)
{
  TnSettings *settings = tn_run_folder_settings_at (self->folder, self->at.step);
  tn_settings_free (self->settings);
  self->settings = settings;
  g_clear_pointer (&self->metrics, tn_metrics_free);
  tn_answers_cut (tn_run_folder_path (self->folder), self->at.step);
  self->answered_step = self->at.step;
  tn_checkpoint_writer_set_loaded (self->writer, self->at.step);
  tn_checkpoint_writer_set_best (self->writer, self->at.best_step);
  return tn_training_open_metrics (self, TRUE, error) && tn_training_apply_settings (self, error);
}

gboolean
tn_training_roll_back (TnTraining *self, gint64 bad_step, GError **error)
{
  if (!tn_checkpoint_writer_wait (self->writer, error))
    return FALSE;
  g_hash_table_add (self->poisoned, g_memdup2 (&bad_step, sizeof bad_step));
  if (!write_poisoned (self, error))
    return FALSE;
  g_autofree char *passed_over = NULL;
  g_autoptr (TnCheckpoint) checkpoint = tn_checkpoint_open_newest_unread (self->checkpoints, &passed_over, error);
  if (checkpoint == NULL)
    {
      if (error != NULL && *error == NULL)
        g_set_error (error, TN_ERROR, TN_ERROR_NUMERIC, _("Step %" PRId64 " is not finite, and there is no checkpoint to go back to."), bad_step + 1);
      return FALSE;
    }
  self->epoch_loss = 0;
  self->epoch_steps = 0;
  self->updated_step = -1;
  return tn_training_restore (self, checkpoint, error) && start_over (self, error);
}
