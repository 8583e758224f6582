/* SPDX-License-Identifier: Apache-2.0 */
#include "train/training.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pool.h"
#include "formats/tfevents.h"
#include "train/answers.h"
#include "train/memory-limit.h"

#define BYTES_PER_MB 1000000u

gint64
tn_training_now_ns (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

static gboolean
stop_now_wanted (TnTraining *self)
{
  return (atomic_load (&self->trainer->commands) & TN_COMMAND_STOP_NOW) != 0;
}

/* The data's fingerprint is made beside the first steps: a data set of some size takes longer than the start may. */

static void *
fingerprint_main (void *data)
{
  TnTraining *self = data;
  self->fingerprint = tn_dataset_fingerprint (self->input->dataset);
  atomic_store (&self->fingerprint_ready, TRUE);
  return NULL;
}

static void
join_fingerprint (TnTraining *self)
{
  if (self->has_fingerprint_thread)
    pthread_join (self->fingerprint_thread, NULL);
  self->has_fingerprint_thread = FALSE;
}

static gboolean
note_fingerprint (TnTraining *self, GError **error)
{
  join_fingerprint (self);
  g_autofree char *text = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", self->fingerprint);
  const char *before = tn_run_folder_fact (self->folder, "data_fingerprint");
  if (before != NULL && strcmp (before, text) == 0)
    return TRUE;
  if (before != NULL)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING,
                             _("The data in “%s” are not those that the run began with: from here on it learns from others."),
                             self->input->dataset->source);
  tn_run_folder_set_fact (self->folder, "data_fingerprint", text);
  return tn_run_folder_save (self->folder, error);
}

/* Getting ready. */

static gboolean
open_checkpoint (TnTraining *self, TnCheckpoint **checkpoint, GError **error)
{
  g_autofree char *passed_over = NULL;
  GError *failure = NULL;
  *checkpoint = tn_checkpoint_open_newest_unread (self->checkpoints, &passed_over, &failure);
  if (failure != NULL)
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  if (passed_over != NULL)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING, _("Went back to the checkpoint of step %" PRId64 ":\n%s"),
                             tn_checkpoint_state (*checkpoint)->step, passed_over);
  return TRUE;
}

static gboolean
has_event_files (TnTraining *self)
{
  g_auto (GStrv) files = tn_tfevents_list (tn_run_folder_path (self->folder), NULL);
  return files != NULL && files[0] != NULL;
}

/* A run that has been trained and has no checkpoint: one that was killed early begins again and says so; one whose checkpoints
 * were there and are gone does that only where it is asked for. */
static gboolean
check_lost_checkpoints (TnTraining *self, GError **error)
{
  double saved = tn_run_folder_fact_number (self->folder, "checkpoint");
  if (saved >= 0 && !self->trainer->restart)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND,
                   _("The run was saved at step %.0f, and there is no checkpoint left in “%s”. Put them back, or begin again at step 0 with "
                     "“tenon-cli resume --restart”."),
                   saved, self->checkpoints);
      return FALSE;
    }
  if (saved >= 0 || self->was_begun)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING,
                             _("There is no checkpoint of what was trained before: the run begins again at step 0."));
  return TRUE;
}

/* What was asked for with this start holds from here on. */
static gboolean
note_start_changes (TnTraining *self, gint64 step, GError **error)
{
  GPtrArray *changes = self->trainer->start_changes;
  for (guint i = 0; i < changes->len; i++)
    {
      const TnRunChange *change = g_ptr_array_index (changes, i);
      if (!tn_training_change (self, step, change->name, change->value, error))
        return FALSE;
    }
  g_ptr_array_set_size (changes, 0);
  return TRUE;
}

static gboolean
open_input (TnTraining *self, GError **error)
{
  g_autofree char *project = tn_run_folder_project_path (self->folder);
  gboolean own = tn_run_folder_is_chosen (self->folder, "data.normalize_mean")
                 || tn_run_folder_is_chosen (self->folder, "data.normalize_std");
  self->input = tn_input_open (self->settings, self->model, project, own, error);
  if (self->input == NULL)
    return FALSE;
  self->loader = tn_input_new_train_loader (self->input, error);
  if (self->loader == NULL)
    return FALSE;
  self->steps_per_epoch = tn_loader_steps_per_epoch (self->loader);
  const TnSplit *split = self->input->split;
  tn_trainer_post_message (self->trainer, G_LOG_LEVEL_INFO,
                           _("Data: %s; %" PRId64 " to train on, %" PRId64 " held out."),
                           self->input->dataset->description, split->n_train, split->n_held_out);
  if (split->n_held_out > 0)
    self->eval_loader = tn_input_new_eval_loader (self->input, split->held_out, split->n_held_out,
                                                  self->input->options.batch_size, error);
  return split->n_held_out == 0 || self->eval_loader != NULL;
}

/* Every size of batch that will come, so that no step compiles. */
static gboolean
prepare_plans (TnTraining *self, GError **error)
{
  gint64 batch = self->input->options.batch_size;
  gint64 tail = self->input->options.drop_last ? 0 : self->input->split->n_train % batch;
  return tn_program_prepare (self->program, batch, error) && (tail == 0 || tn_program_prepare (self->program, tail, error));
}

static gboolean
check_classes (TnTraining *self, GError **error)
{
  const TnDataset *dataset = self->input->dataset;
  gboolean by_class = tn_settings_enum_is (self->settings, "train.loss", "softmax_cross_entropy");
  if (by_class != (dataset->labels != NULL))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                   by_class ? _("“%s” has target values and no classes: choose train.loss = mse, l1 or bce.")
                            : _("“%s” has classes and no target values: choose train.loss = softmax_cross_entropy."),
                   dataset->source);
      return FALSE;
    }
  gint64 outputs = tn_program_n_outputs (self->program);
  gint64 needed = dataset->labels != NULL ? dataset->n_classes : dataset->target_width;
  if (dataset->labels != NULL ? needed <= outputs : needed == outputs)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
               dataset->labels != NULL ? _("“%s” has %d classes, the model's last cell has %d outputs: give it as many.")
                                       : _("“%s” has %d target values a sample, the model's last cell has %d outputs."),
               dataset->source, (int) needed, (int) outputs);
  return FALSE;
}

static gboolean
save_graphs (TnTraining *self, GError **error)
{
  if (!tn_settings_get_bool (self->settings, "graph.save"))
    return TRUE;
  g_autofree char *folder = g_build_filename (tn_run_folder_path (self->folder), "graphs", NULL);
  return tn_program_save_graphs (self->program, self->input->options.batch_size, folder, error);
}

/* What a run takes beside its program: the copy that a checkpoint is written from, and the loader's ring of batches. */
static size_t
own_buffers (const TnTraining *self)
{
  const TnLoaderOptions *options = &self->input->options;
  TnShape row = tn_model_batch_shape (self->model, 1);
  size_t bytes = (size_t) (options->prefetch + 1) * (size_t) options->batch_size
                 * ((size_t) tn_shape_count (&row) * sizeof (float) + sizeof (int32_t) + sizeof (int64_t));
  for (int i = 0; i < self->n_tensors; i++)
    bytes += self->tensors[i].copy ? 0 : tn_tensor_bytes (self->tensors[i].tensor);
  return bytes;
}

/* The program may take what the data leave. */
static void
leave_room_for_data (TnSettings *settings, uint64_t data_bytes)
{
  size_t allowed = tn_memory_allowed (tn_settings_get_int (settings, "device.memory_limit_mb"));
  uint64_t left = allowed > data_bytes ? (allowed - data_bytes) / BYTES_PER_MB : 0;
  g_autofree char *text = g_strdup_printf ("%" PRIu64, MAX (left, 1));
  if (data_bytes >= BYTES_PER_MB)
    tn_settings_set (settings, "device.memory_limit_mb", text, NULL);
}

static gboolean
build_program (TnTraining *self, gboolean goes_on, GError **error)
{
  g_autoptr (TnSettings) settings = tn_settings_copy (self->settings);
  if (goes_on) /* the weights come from the checkpoint: the file may be gone */
    tn_settings_reset (settings, "init.from");
  const char *weights = tn_settings_get_string (settings, "init.from");
  if (*weights != '\0')
    {
      g_autofree char *project = tn_run_folder_project_path (self->folder);
      g_autofree char *path = tn_project_resolve (project, weights);
      if (!tn_settings_set (settings, "init.from", path, error))
        return FALSE;
    }
  uint64_t data_bytes = tn_input_dataset_bytes (self->input->dataset);
  leave_room_for_data (settings, data_bytes);
  self->private_before = tn_training_private_bytes (self);
  self->program = tn_program_new_ranks (self->model, settings, error);
  if (self->program == NULL && error != NULL && g_error_matches (*error, TN_ERROR, TN_ERROR_MEMORY) && data_bytes >= BYTES_PER_MB)
    g_prefix_error (error, _("The data take %.1f MB. Beside them: "), (double) data_bytes / 1e6);
  if (self->program == NULL || !check_classes (self, error) || !prepare_plans (self, error)
      || !save_graphs (self, error) || !tn_program_save_strategy (self->program, tn_run_folder_path (self->folder), error))
    return FALSE;
  if (tn_program_weights_report (self->program) != NULL)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_MESSAGE, "%s", tn_program_weights_report (self->program));
  self->n_tensors = tn_program_n_slices (self->program);
  self->tensors = g_new0 (TnCheckpointTensor, MAX (self->n_tensors, 1));
  size_t statistics = 0;
  for (int i = 0; i < self->n_tensors; i++)
    {
      int rank;
      const TnStateEntry *entry = tn_program_slice (self->program, i, &rank);
      self->tensors[i] = (TnCheckpointTensor){ entry->name, entry->tensor, rank, &entry->shape, &entry->box, entry->copy };
      if (entry->role == TN_ROLE_STATISTIC)
        statistics += tn_tensor_bytes (entry->tensor);
    }
  if (statistics > 0)
    self->statistics = g_malloc (statistics);
  TnMemoryForecast forecast;
  tn_program_forecast (self->program, &forecast);
  forecast.buffers += own_buffers (self);
  forecast.total += own_buffers (self);
  pthread_mutex_lock (&self->trainer->mutex);
  TnTrainerProgress *progress = &self->trainer->progress;
  progress->memory_forecast = forecast.total;
  progress->memory_data = data_bytes;
  progress->n_parameters = (guint64) tn_program_n_parameters (self->program);
  progress->n_threads = tn_program_n_threads (self->program);
  progress->steps_per_epoch = self->steps_per_epoch;
  progress->samples = self->input->split->n_train;
  pthread_mutex_unlock (&self->trainer->mutex);
  tn_run_folder_set_fact_number (self->folder, "memory_forecast", (double) forecast.total);
  tn_run_folder_set_fact_number (self->folder, "memory_data", (double) data_bytes);
  tn_run_folder_set_fact_number (self->folder, "parameters", (double) tn_program_n_parameters (self->program));
  tn_run_folder_set_fact_number (self->folder, "steps_per_epoch", (double) self->steps_per_epoch);
  return TRUE;
}

static void
compare_builds (TnTraining *self, gboolean goes_on)
{
  g_autofree char *facts = tn_program_build_facts (self->program);
  char isa[sizeof self->at.isa];
  g_strlcpy (isa, facts, sizeof isa);
  if (goes_on && strcmp (isa, self->at.isa) != 0)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING,
                             _("The run goes on with %s, it had %s: from here on its bits may differ from an undisturbed run's."),
                             isa, self->at.isa);
  g_strlcpy (self->at.isa, isa, sizeof self->at.isa);
  tn_run_folder_set_fact (self->folder, "build", facts);
  tn_run_folder_set_fact (self->folder, "host", g_get_host_name ());
}

/* How ranks share the work, for comparison; where bits do not depend on it, that. */
static char *
describe_sharing (const TnSettings *settings)
{
  static const char *const names[] = { "parallel.mode", "parallel.ranks", "parallel.mesh", "parallel.rank_list", "parallel.strategy", "parallel.dataset", "parallel.optimizer", "parallel.optimizer_level",
                                       "parallel.optimizer_threshold", "parallel.optimizer_shard_size" };
  if (tn_settings_get_int (settings, "parallel.same_bits") > 0)
    return g_strdup_printf ("same_bits=%" PRId64, tn_settings_get_int (settings, "parallel.same_bits"));
  gboolean alone = tn_settings_enum_is (settings, "parallel.mode", "stand_alone");
  g_autoptr (GString) text = g_string_new (alone ? "stand_alone" : NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (names) && !alone; i++)
    g_string_append_printf (text, "%s%s=%s", i > 0 ? " " : "", names[i] + strlen ("parallel."), tn_settings_get_text (settings, names[i]));
  return g_strdup (text->str);
}

static void
compare_sharing (TnTraining *self, gboolean goes_on)
{
  g_autofree char *now = describe_sharing (self->settings);
  const char *before = tn_run_folder_fact (self->folder, "sharing");
  if (goes_on && before != NULL && strcmp (before, now) != 0)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING,
                             _("The run goes on with its work shared in another way (%s; it was %s): from here on its bits may differ from an undisturbed run's."), now, before);
  tn_run_folder_set_fact (self->folder, "sharing", now);
}

static gboolean
check_first_state (TnTraining *self, GError **error)
{
  g_autofree char *ruined = tn_program_find_nonfinite_state (self->program);
  if (ruined == NULL)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_NUMERIC, _("The weights that the run would begin with are of no use: %s."), ruined);
  return FALSE;
}

static gboolean
open_files (TnTraining *self, gboolean goes_on, GError **error)
{
  tn_answers_cut (tn_run_folder_path (self->folder), self->at.step);
  /* A run killed before its first checkpoint has rows that hold no longer, too. */
  if (!tn_training_open_metrics (self, goes_on || has_event_files (self), error) || !tn_training_open_writer (self, error))
    return FALSE;
  if (goes_on)
    tn_checkpoint_writer_set_loaded (self->writer, self->at.step);
  else if (!check_first_state (self, error)
           || (self->policy == TN_NONFINITE_ROLLBACK && !tn_training_save (self, error))) /* where to go back to */
    return FALSE;
  return TRUE;
}

static TnEnd
end_reached (TnTraining *self)
{
  if (self->max_steps > 0 && self->at.step >= self->max_steps)
    return TN_END_MAX_STEPS;
  return (self->epochs > 0 && self->at.epoch >= self->epochs) || (self->epochs == 0 && self->max_steps == 0) ? TN_END_EPOCHS
                                                                                                           : TN_END_NONE;
}

/* Asked to train, and nothing is left to do: whoever asked may not know. */
static void
tell_nothing_left (TnTraining *self)
{
  if (self->at.step == 0 || (tn_run_folder_state (self->folder) != TN_RUN_FINISHED && !self->start_changed))
    return;
  if (end_reached (self) == TN_END_MAX_STEPS)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING,
                             _("Nothing to train: %" PRId64 " steps are done and train.max_steps is %" PRId64
                               ". Go on with --set train.max_steps=%" PRId64 " or 0."),
                             self->at.step, self->max_steps, self->at.step + self->steps_per_epoch);
  else if (end_reached (self) != TN_END_NONE)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING,
                             _("Nothing to train: the run has %" PRId64 " of %" PRId64
                               " epochs. Go on with --set train.epochs=%" PRId64 "."),
                             self->at.epoch, self->epochs, self->at.epoch + 1);
}

static gboolean
prepare (TnTraining *self, GError **error)
{
  self->was_begun = has_event_files (self);
  self->start_changed = self->trainer->start_changes->len > 0;
  g_autoptr (TnCheckpoint) checkpoint = NULL;
  if (!open_checkpoint (self, &checkpoint, error))
    return FALSE;
  gboolean goes_on = checkpoint != NULL;
  if (!goes_on && !check_lost_checkpoints (self, error))
    return FALSE;
  gint64 step = goes_on ? tn_checkpoint_state (checkpoint)->step : 0;
  self->settings = tn_run_folder_settings_at (self->folder, step);
  if (!note_start_changes (self, step, error))
    return FALSE;
  self->model = tn_run_folder_load_model (self->folder, error);
  if (self->model == NULL || !open_input (self, error) || !tn_training_apply_settings (self, error)
      || stop_now_wanted (self) || !build_program (self, goes_on, error) || stop_now_wanted (self))
    return FALSE;
  self->at = (TnCheckpointState){ .seed = (guint64) tn_settings_get_int (self->settings, "train.seed"), .learning_rate = NAN,
                                  .loss = NAN, .best = NAN, .best_step = -1, .early_best = NAN };
  while (self->next_change < tn_run_folder_n_changes (self->folder)
         && tn_run_folder_change (self->folder, self->next_change)->step <= 0)
    self->next_change++;
  if (!tn_training_restore (self, checkpoint, error))
    return FALSE;
  compare_builds (self, goes_on);
  compare_sharing (self, goes_on);
  if (goes_on)
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_INFO, _("Going on from step %" PRId64 "."), self->at.step);
  /* One that was killed between its last validation and its end ends here; one that had ended goes on until the next validation. */
  if (goes_on && self->early_stop > 0 && self->at.stall >= self->early_stop && tn_run_folder_state (self->folder) != TN_RUN_FINISHED)
    self->end_wanted = TN_END_EARLY;
  if (goes_on && self->target_accuracy > 0 && self->input->dataset->labels != NULL && self->at.best >= self->target_accuracy
      && tn_run_folder_state (self->folder) != TN_RUN_FINISHED)
    self->end_wanted = TN_END_TARGET;
  tell_nothing_left (self);
  tn_loader_seek (self->loader, self->at.epoch, self->at.position);
  if (!open_files (self, goes_on, error))
    return FALSE;
  self->has_fingerprint_thread = pthread_create (&self->fingerprint_thread, NULL, fingerprint_main, self) == 0;
  pthread_mutex_lock (&self->trainer->mutex);
  self->trainer->progress.start_step = self->at.step;
  pthread_mutex_unlock (&self->trainer->mutex);
  return TRUE;
}

/* The loop. */

/* Where it ends by itself or is stopped in order, the state is saved: it must be worth it. TRUE: the run goes on after all, as
 * it went back to a checkpoint. */
static gboolean
goes_on_after_all (TnTraining *self, TnEnd *end, GError **error)
{
  gboolean rolled_back, own_end = *end != TN_END_STOP && *end != TN_END_PARK;
  if (*end == TN_END_STOP_NOW || *end == TN_END_FAILED)
    return FALSE;
  if (!tn_training_check_state (self, &rolled_back, error))
    *end = TN_END_FAILED;
  else if (own_end && !rolled_back && self->at.step > 0 && self->at.bad_steps >= self->at.step)
    {
      *end = TN_END_FAILED;
      g_set_error (error, TN_ERROR, TN_ERROR_NUMERIC,
                   _("None of the %" PRId64 " steps was finite: nothing was learned. Lower optimizer.lr or set train.clip_norm."),
                   self->at.step);
    }
  return own_end && rolled_back && *end != TN_END_FAILED;
}

static TnEnd
loop (TnTraining *self, GError **error)
{
  for (;;)
    {
      TnEnd end = tn_training_obey (self, error);
      if (end == TN_END_NONE)
        end = self->end_wanted != TN_END_NONE ? self->end_wanted : end_reached (self);
      self->end_wanted = TN_END_NONE;
      if (end != TN_END_NONE && !goes_on_after_all (self, &end, error))
        return end;
      if (!tn_training_step (self, &end, error))
        return TN_END_FAILED;
      if (end != TN_END_NONE)
        return end;
      if (self->save_wanted && !tn_training_save_finite (self, error))
        return TN_END_FAILED;
      self->save_wanted = FALSE;
      if (G_UNLIKELY (self->has_fingerprint_thread)
          && atomic_load_explicit (&self->fingerprint_ready, memory_order_acquire) && !note_fingerprint (self, error))
        return TN_END_FAILED;
    }
}

/* The last checkpoint comes before the last evaluation: what that finds is no part of the state, as a longer run would not
 * have looked at this step. */
static gboolean
finish_work (TnTraining *self, TnEnd end, GError **error)
{
  if (end == TN_END_STOP_NOW)
    return TRUE;
  if (end == TN_END_STOP || end == TN_END_PARK)
    tn_trainer_post_state (self->trainer, TN_RUN_STOPPING, "", "");
  if (!tn_training_save (self, error))
    return FALSE;
  gboolean own_end = end == TN_END_EPOCHS || end == TN_END_MAX_STEPS || end == TN_END_EARLY || end == TN_END_TARGET;
  if (own_end && !self->evaluated && self->eval_loader != NULL)
    {
      /* The rows of an epoch's end are there already where a killed process is taken over at its last step: then only the
       * numbers of run.json are found anew. */
      gint64 row_step = tn_training_evaluates_epoch (self, self->at.epoch) && self->at.position == 0 ? -1 : self->at.step;
      GError *failure = NULL;
      if (!tn_training_evaluate (self, row_step, FALSE, &failure) && failure != NULL)
        {
          g_propagate_error (error, failure);
          return FALSE;
        }
    }
  tn_training_add_parameter_norm (self, self->at.step);
  return TRUE;
}

static gboolean
close_files (TnTraining *self, TnEnd end, GError **error)
{
  if (self->writer != NULL)
    {
      if (end == TN_END_STOP_NOW)
        tn_checkpoint_writer_cancel (self->writer);
      g_autoptr (GError) failure = NULL;
      if (!tn_checkpoint_writer_wait (self->writer, &failure) && end != TN_END_STOP_NOW)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return FALSE;
        }
    }
  return self->metrics == NULL || tn_metrics_flush (self->metrics, TRUE, error);
}

static void
note_end_facts (TnTraining *self)
{
  TnTrainerProgress progress;
  tn_trainer_get_progress (self->trainer, &progress);
  tn_run_folder_set_fact_number (self->folder, "step", (double) self->at.step);
  tn_run_folder_set_fact_number (self->folder, "epoch", (double) self->at.epoch);
  tn_run_folder_set_fact_number (self->folder, "loss", self->at.loss);
  tn_run_folder_set_fact_number (self->folder, "accuracy", progress.accuracy);
  tn_run_folder_set_fact_number (self->folder, "checkpoint", (double) progress.checkpoint_step);
  tn_run_folder_set_fact_number (self->folder, "validation_loss", progress.validation_loss);
  tn_run_folder_set_fact_number (self->folder, "best", self->at.best);
  tn_run_folder_set_fact_number (self->folder, "seconds", progress.seconds);
  tn_run_folder_set_fact_number (self->folder, "memory_measured", (double) progress.memory_measured);
  tn_run_folder_set_fact_number (self->folder, "memory_grown", (double) progress.memory_grown);
}

static void
record_end (TnTraining *self, TnEnd end, const GError *error)
{
  switch (end)
    {
    case TN_END_EPOCHS:
      tn_run_folder_set_state (self->folder, TN_RUN_FINISHED, "epochs", _("All epochs are done."));
      break;
    case TN_END_MAX_STEPS:
      tn_run_folder_set_state (self->folder, TN_RUN_FINISHED, "max-steps", _("train.max_steps was reached."));
      break;
    case TN_END_EARLY:
      {
        g_autofree char *reason = g_strdup_printf (_("Stopped early: %" PRId64 " checks without gain."), self->at.stall);
        tn_run_folder_set_state (self->folder, TN_RUN_FINISHED, "early-stop", reason);
        break;
      }
    case TN_END_TARGET:
      tn_run_folder_set_state (self->folder, TN_RUN_FINISHED, "target", _("train.target_accuracy was reached."));
      break;
    case TN_END_STOP:
      pthread_mutex_lock (&self->trainer->mutex);
      if (self->trainer->stop_cause != NULL)
        tn_run_folder_set_state (self->folder, TN_RUN_STOPPED, self->trainer->stop_cause, self->trainer->stop_reason);
      else
        tn_run_folder_set_state (self->folder, TN_RUN_STOPPED, "user", _("Stopped by the user."));
      pthread_mutex_unlock (&self->trainer->mutex);
      break;
    case TN_END_STOP_NOW:
      tn_run_folder_set_state (self->folder, TN_RUN_STOPPED, "user-now", _("Stopped at once by the user, without a checkpoint."));
      break;
    case TN_END_PARK:
      tn_run_folder_set_state (self->folder, TN_RUN_PARKED, "user", _("Saved and parked; resume goes on with the same bits."));
      break;
    case TN_END_FAILED:
    case TN_END_NONE:
      tn_run_folder_set_state (self->folder, TN_RUN_FAILED, error->domain == TN_ERROR ? tn_error_code_name (error->code) : "error",
                               error->message);
      break;
    }
  tn_run_folder_log (self->folder, "%s: %s", tn_run_state_name (tn_run_folder_state (self->folder)),
                     tn_run_folder_reason (self->folder));
}

static void
clear (TnTraining *self)
{
  join_fingerprint (self);
  g_clear_pointer (&self->metrics, tn_metrics_free);
  g_clear_pointer (&self->writer, tn_checkpoint_writer_free);
  g_clear_pointer (&self->loader, tn_loader_free);
  g_clear_pointer (&self->eval_loader, tn_loader_free);
  g_clear_pointer (&self->program, tn_program_free);
  g_clear_pointer (&self->times, tn_node_times_free);
  g_clear_pointer (&self->input, tn_input_free);
  g_clear_pointer (&self->model, tn_model_unref);
  g_clear_pointer (&self->rate, tn_rate_free);
  g_clear_pointer (&self->settings, tn_settings_free);
  g_clear_pointer (&self->poisoned, g_hash_table_unref);
  g_clear_pointer (&self->tensors, g_free);
  g_clear_pointer (&self->statistics, g_free);
  g_clear_pointer (&self->checkpoints, g_free);
  if (self->statm_fd >= 0)
    close (self->statm_fd);
}

/* Everything up to the end state, but for recording that. */
static TnEnd
work (TnTraining *self, GError **error)
{
  if (!prepare (self, error))
    return *error == NULL ? TN_END_STOP_NOW : TN_END_FAILED;
  self->begun_ns = self->window_ns = tn_training_now_ns ();
  if (!tn_training_set_state (self, TN_RUN_RUNNING, "", "", error))
    return TN_END_FAILED;
  TnEnd end = loop (self, error);
  if (end != TN_END_FAILED && !finish_work (self, end, error))
    end = TN_END_FAILED;
  return end;
}

GError *
tn_training_run (TnTrainer *trainer)
{
  TnTraining self = { .trainer = trainer, .folder = trainer->folder, .statm_fd = open ("/proc/self/statm", O_RDONLY | O_CLOEXEC) };
  GError *error = NULL;
  pthread_setname_np (pthread_self (), "tn-trainer");
  tn_pool_enter_worker ();
  self.checkpoints = tn_run_folder_checkpoints_path (self.folder);
  self.clock_offset_us = g_get_real_time () - tn_training_now_ns () / 1000;
  self.at.best_step = self.updated_step = self.answered_step = -1;

  TnEnd end = work (&self, &error);
  GError *closing = NULL;
  if (!close_files (&self, end, &closing) && end != TN_END_FAILED)
    {
      error = g_steal_pointer (&closing);
      end = TN_END_FAILED;
    }
  g_clear_error (&closing);
  if (self.has_fingerprint_thread)
    note_fingerprint (&self, NULL);
  if (self.begun_ns > 0)
    note_end_facts (&self);
  record_end (&self, end, error);
  GError *last = NULL;
  if (!tn_run_folder_save (self.folder, &last) && error == NULL) /* the end could not be recorded: whoever looks will call it lost */
    {
      error = g_steal_pointer (&last);
      tn_run_folder_set_state (self.folder, TN_RUN_FAILED, tn_error_code_name (error->code), error->message);
    }
  g_clear_error (&last);
  clear (&self);
  return error;
}
