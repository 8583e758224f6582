/* SPDX-License-Identifier: Apache-2.0 */
#include "train/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "train/answers.h"

#define PARAMETER_NORM_EVERY 50
#define MAX_CONSECUTIVE_BAD 10
#define MAX_ROLLBACKS 10
#define WINDOW_NS 1000000000

static TnProgramBatch
program_batch (const TnBatch *batch)
{
  return (TnProgramBatch){ .n = batch->n, .x = batch->x, .labels = batch->labels, .targets = batch->targets };
}

guint64
tn_training_resident_bytes (TnTraining *self)
{
  char text[128] = { 0 };
  if (self->statm_fd < 0 || pread (self->statm_fd, text, sizeof text - 1, 0) <= 0)
    return 0;
  char *second = strchr (text, ' ');
  return second != NULL ? g_ascii_strtoull (second, NULL, 10) * (guint64) sysconf (_SC_PAGESIZE) : 0;
}

guint64
tn_training_private_bytes (TnTraining *self)
{
  char text[128] = { 0 };
  if (self->statm_fd < 0 || pread (self->statm_fd, text, sizeof text - 1, 0) <= 0)
    return 0;
  char *at = text; /* size, resident, shared: pages */
  g_ascii_strtoull (at, &at, 10);
  guint64 resident = g_ascii_strtoull (at, &at, 10), shared = g_ascii_strtoull (at, &at, 10);
  return resident > shared ? (resident - shared) * (guint64) sysconf (_SC_PAGESIZE) : 0;
}

void
tn_training_add_parameter_norm (TnTraining *self, gint64 row_step)
{
  if (self->norms)
    tn_metrics_add (self->metrics, TN_TAG_PARAMETER_NORM, row_step, tn_program_parameter_norm (self->program),
                    tn_training_unix_us (self, tn_training_now_ns ()));
}

/* Histograms of parameters, and of the gradients that are still there. Float32 only: other types have no rows. */
static void
add_histograms (TnTraining *self, gint64 step, gint64 time_us)
{
  for (int i = 0; i < tn_program_n_state (self->program); i++)
    {
      const TnStateEntry *entry = tn_program_state (self->program, i);
      if (entry->role != TN_ROLE_TRAINED || entry->tensor->dtype != TN_DTYPE_F32)
        continue;
      g_autofree char *tag = g_strdup_printf ("parameters/%s", entry->name);
      /* What is split is put together for as long as it is counted: one tensor at a time. */
      g_autoptr (TnTensor) whole = tn_program_is_split (self->program) ? tn_program_gather_state (self->program, entry->name, NULL) : tn_tensor_ref (entry->tensor);
      if (whole == NULL)
        continue;
      tn_metrics_add_histogram (self->metrics, tag, step, time_us, tn_tensor_data (whole), (gsize) tn_tensor_count (whole));
      if (entry->frozen)
        continue;
      g_autoptr (TnTensor) gradient = tn_program_gradient (self->program, entry->name, NULL);
      g_autofree char *gradient_tag = g_strdup_printf ("gradients/%s", entry->name);
      if (gradient != NULL && gradient->dtype == TN_DTYPE_F32)
        tn_metrics_add_histogram (self->metrics, gradient_tag, step, time_us, tn_tensor_data (gradient),
                                  (gsize) tn_tensor_count (gradient));
    }
}

/* Running statistics take part in the forward pass: a step that is left out must leave them as they were. */
static void
copy_statistics (TnTraining *self, gboolean back)
{
  char *at = (char *) self->statistics;
  for (int i = 0; at != NULL && i < self->n_tensors; i++)
    {
      const TnStateEntry *entry = tn_program_slice (self->program, i, NULL);
      if (entry->role != TN_ROLE_STATISTIC)
        continue;
      size_t n = tn_tensor_bytes (entry->tensor);
      void *data = tn_tensor_data (entry->tensor);
      memcpy (back ? data : at, back ? at : data, n);
      at += n;
    }
}

/* Not finite: the numbers of the step at hand, or what an earlier update made of the state. Steps are counted from 1 in texts, as
 * checkpoints and progress count them. */

static gboolean
give_up (TnTraining *self, gint64 step, const char *why, const char *where, GError **error)
{
  tn_run_folder_set_fact_number (self->folder, "nonfinite_step", (double) step + 1);
  tn_run_folder_set_fact (self->folder, "nonfinite_where", where);
  g_set_error (error, TN_ERROR, TN_ERROR_NUMERIC, "%s", why);
  return FALSE;
}

static gboolean
skip_step (TnTraining *self, gint64 step, const char *what, const char *where, GError **error)
{
  copy_statistics (self, TRUE);
  if (self->statistics != NULL && !tn_program_state_changed (self->program, error))
    return FALSE;
  tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING, _("Step %" PRId64 " left out: %s is not finite (%s)."), step + 1, what,
                           where);
  if (++self->consecutive_bad < MAX_CONSECUTIVE_BAD)
    return TRUE;
  g_autofree char *why = g_strdup_printf (_("%d steps one after the other were not finite, the last one step %" PRId64
                                            " (%s). Lower optimizer.lr or set train.clip_norm."),
                                          MAX_CONSECUTIVE_BAD, step + 1, where);
  return give_up (self, step, why, where, error);
}

static gboolean
go_back (TnTraining *self, gint64 step, const char *what, const char *where, GError **error)
{
  if (self->n_rollbacks >= MAX_ROLLBACKS)
    {
      g_autofree char *why = g_strdup_printf (_("Went back to a checkpoint %d times and step %" PRId64 " is still not finite (%s). Lower "
                                                "optimizer.lr or set train.clip_norm."),
                                              MAX_ROLLBACKS, step + 1, where);
      return give_up (self, step, why, where, error);
    }
  self->n_rollbacks++;
  tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING,
                           _("Step %" PRId64 ": %s is not finite (%s). Going back to the last checkpoint (%d of %d times)."), step + 1, what,
                           where, self->n_rollbacks, MAX_ROLLBACKS);
  return tn_training_roll_back (self, step, error);
}

static gboolean
stop_there (TnTraining *self, gint64 step, const char *what, const char *where, GError **error)
{
  g_autofree char *why = g_strdup_printf (_("Step %" PRId64 ": %s is not a finite number (%s). Lower optimizer.lr, set train.clip_norm, or "
                                            "choose train.on_nonfinite=rollback."),
                                          step + 1, what, where);
  return give_up (self, step, why, where, error);
}

/* The state itself is ruined, by the update of step @step: leaving steps out cannot mend it. */
static gboolean
handle_ruined (TnTraining *self, gint64 step, const char *where, gboolean *rolled_back, GError **error)
{
  const char *what = _("what its update made");
  if (self->policy != TN_NONFINITE_ROLLBACK)
    return stop_there (self, step, what, where, error);
  *rolled_back = TRUE;
  return go_back (self, step, what, where, error);
}

/* TRUE: the run goes on (with another step than planned, after a rollback). */
static gboolean
handle_nonfinite (TnTraining *self, const TnProgramBatch *batch, const TnStepResult *result, gboolean *rolled_back,
                  GError **error)
{
  gint64 step = self->at.step;
  const char *what = isfinite (result->loss) ? _("a gradient") : _("the loss");
  *rolled_back = FALSE;
  copy_statistics (self, TRUE);
  g_autofree char *ruined = tn_program_find_nonfinite_state (self->program);
  if (ruined != NULL && self->updated_step >= 0)
    return handle_ruined (self, self->updated_step, ruined, rolled_back, error);
  g_autofree char *found = ruined != NULL ? g_strdup (ruined) : tn_program_find_nonfinite (self->program, batch, step);
  const char *where = found != NULL ? found : _("no single operator's output is, when it is run again");
  if (self->policy == TN_NONFINITE_STOP)
    return stop_there (self, step, what, where, error);
  if (self->policy == TN_NONFINITE_SKIP)
    return skip_step (self, step, what, where, error);
  *rolled_back = TRUE;
  return go_back (self, step, what, where, error);
}

gboolean
tn_training_check_state (TnTraining *self, gboolean *rolled_back, GError **error)
{
  *rolled_back = FALSE;
  g_autofree char *ruined = tn_program_find_nonfinite_state (self->program);
  if (ruined == NULL)
    return TRUE;
  if (!handle_ruined (self, MAX (self->updated_step, 0), ruined, rolled_back, error))
    return FALSE;
  tn_loader_seek (self->loader, self->at.epoch, self->at.position);
  return TRUE;
}

static void
add_rows (TnTraining *self, const TnBatch *batch, const TnStepResult *result, gint64 t0, gint64 t1, gint64 t2)
{
  TnMetrics *metrics = self->metrics;
  gint64 step = self->at.step, time_us = tn_training_unix_us (self, t2);
  tn_metrics_add (metrics, TN_TAG_LOSS, step, result->loss, time_us);
  tn_metrics_add (metrics, TN_TAG_LEARNING_RATE, step, self->at.learning_rate, time_us);
  if (self->norms)
    tn_metrics_add (metrics, TN_TAG_GRADIENT_NORM, step, result->grad_norm, time_us);
  if (self->norms && step % PARAMETER_NORM_EVERY == 0)
    tn_metrics_add (metrics, TN_TAG_PARAMETER_NORM, step, tn_program_parameter_norm (self->program), time_us);
  tn_metrics_add (metrics, TN_TAG_SAMPLES_PER_SECOND, step, batch->n * 1e9 / (double) MAX (t2 - t0, 1), time_us);
  tn_metrics_add (metrics, TN_TAG_DATA_MS, step, (double) (t1 - t0) / 1e6, time_us);
  tn_metrics_add (metrics, TN_TAG_COMPUTE_MS, step, (double) (t2 - t1) / 1e6, time_us);
  if (self->histogram_every > 0 && step % self->histogram_every == 0)
    add_histograms (self, step, time_us);
}

/* Steps, validations and checkpoints until the run ends by itself. */
static void
count_left (const TnTraining *self, gint64 left[TN_PACE_N_KINDS])
{
  gint64 steps = self->total_steps > 0 ? MAX (self->total_steps - self->at.step, 0) : 0;
  gint64 epochs = self->steps_per_epoch > 0 ? (self->at.position + steps) / self->steps_per_epoch : 0;
  left[TN_PACE_STEP] = steps;
  left[TN_PACE_VALIDATION] = self->eval_loader == NULL ? 0 : self->eval_every > 0 ? epochs / self->eval_every : MIN (epochs, 1);
  left[TN_PACE_CHECKPOINT] = 1 + (self->every_steps > 0 ? steps / self->every_steps : 0) + (self->every_epochs > 0 ? epochs / self->every_epochs : 0);
}

/* Once a second or so: throughput, memory, time left. */
static void
close_window (TnTraining *self, gint64 now)
{
  double rate = (double) self->window_samples * 1e9 / (double) (now - self->window_ns);
  guint64 resident = tn_training_resident_bytes (self);
  tn_metrics_add (self->metrics, TN_TAG_MEMORY, self->at.step, (double) resident, tn_training_unix_us (self, now));
  pthread_mutex_lock (&self->trainer->mutex);
  TnTrainerProgress *progress = &self->trainer->progress;
  progress->samples_per_second = rate;
  if (self->total_steps > 0 && rate > 0)
    progress->seconds_left = (double) (self->total_steps - self->at.step) * self->input->options.batch_size / rate;
  gint64 left[TN_PACE_N_KINDS];
  count_left (self, left);
  tn_pace_left (&self->pace, left, &progress->seconds_left_least, &progress->seconds_left_most);
  progress->median_step_seconds = tn_pace_median (&self->pace, TN_PACE_STEP);
  pthread_mutex_unlock (&self->trainer->mutex);
  self->window_ns = now;
  self->window_samples = 0;
}

static void
compare_memory (TnTraining *self)
{
  guint64 resident = tn_training_resident_bytes (self), now = tn_training_private_bytes (self);
  guint64 grown = now > self->private_before ? now - self->private_before : 0;
  pthread_mutex_lock (&self->trainer->mutex);
  self->trainer->progress.memory_measured = resident;
  self->trainer->progress.memory_grown = grown;
  guint64 forecast = self->trainer->progress.memory_forecast;
  pthread_mutex_unlock (&self->trainer->mutex);
  g_autofree char *planned = g_format_size (forecast);
  g_autofree char *taken = g_format_size (grown);
  g_autofree char *measured = g_format_size (resident);
  tn_run_folder_log (self->folder, _("Memory: %s forecast for the program, %s taken after step 1; the process has %s."), planned,
                     taken, measured);
}

static void
advance (TnTraining *self, const TnBatch *batch, const TnStepResult *result, gint64 now)
{
  TnCheckpointState *at = &self->at;
  at->step++;
  at->samples += batch->n;
  at->loss = result->loss;
  at->epoch = batch->last_in_epoch ? batch->epoch + 1 : batch->epoch;
  at->position = batch->last_in_epoch ? 0 : batch->step_in_epoch + 1;
  self->evaluated = FALSE;
  if (isfinite (result->loss))
    {
      self->epoch_loss += result->loss;
      self->epoch_steps++;
    }
  self->window_samples += batch->n;

  pthread_mutex_lock (&self->trainer->mutex);
  TnTrainerProgress *progress = &self->trainer->progress;
  progress->step = at->step;
  progress->epoch = at->epoch;
  progress->loss = result->loss;
  progress->loss_mean = self->epoch_steps > 0 ? self->epoch_loss / (double) self->epoch_steps : NAN;
  progress->learning_rate = at->learning_rate;
  progress->skipped_steps = at->bad_steps;
  progress->seconds = (double) (now - self->begun_ns - self->paused_ns) / 1e9;
  pthread_mutex_unlock (&self->trainer->mutex);
  if (now - self->window_ns >= WINDOW_NS)
    close_window (self, now);
  if (batch->last_in_epoch)
    {
      self->epoch_loss = 0;
      self->epoch_steps = 0;
    }
}

/* A step whose batch is not used for learning. */
static void
leave_out (TnTraining *self, const TnBatch *batch, gint64 now)
{
  TnStepResult nothing = { .loss = NAN, .grad_norm = NAN };
  self->at.bad_steps++;
  tn_metrics_add (self->metrics, TN_TAG_SKIPPED_STEPS, self->at.step, (double) self->at.bad_steps,
                  tn_training_unix_us (self, now));
  advance (self, batch, &nothing, now);
}

/* One relaxed load a step where nobody asks. */
static void
set_times (TnTraining *self)
{
  gboolean wanted = atomic_load_explicit (&self->trainer->n_watchers, memory_order_relaxed) > 0;
  if (G_LIKELY (wanted == (self->times != NULL)))
    return;
  tn_program_set_span_hook (self->program, NULL);
  g_clear_pointer (&self->times, tn_node_times_free);
  if (!wanted)
    return;
  self->times = tn_node_times_new (tn_program_step_plan (self->program), tn_program_n_threads (self->program));
  tn_program_set_span_hook (self->program, tn_node_times_hook (self->times));
  tn_trainer_set_node_table (self->trainer, tn_node_times_table (self->times));
}

static void
report_times (TnTraining *self, const TnBatch *batch)
{
  if (self->times == NULL || batch->n != self->input->options.batch_size || tn_program_mode (self->program) != TN_MODE_GRAPH)
    return;
  TnNodeTimesReport *report = tn_node_times_step (self->times, self->at.step);
  if (report != NULL)
    tn_trainer_post_times (self->trainer, report);
}

static gboolean
take_step (TnTraining *self, TnBatch *batch, gint64 t0, gboolean *rolled_back, GError **error)
{
  gint64 t1 = tn_training_now_ns ();
  TnProgramBatch rows = program_batch (batch);
  TnStepResult result;
  *rolled_back = FALSE;
  if (self->poisoned != NULL && g_hash_table_contains (self->poisoned, &self->at.step))
    {
      leave_out (self, batch, t1);
      return TRUE;
    }
  set_times (self);
  self->at.learning_rate = tn_rate_at (self->rate, self->at.step);
  if (self->statistics != NULL)
    copy_statistics (self, FALSE);
  if (!tn_program_forward_backward (self->program, &rows, self->at.step, &result, error))
    return FALSE;
  if (!isfinite (result.loss) || !isfinite (result.grad_norm))
    {
      if (!handle_nonfinite (self, &rows, &result, rolled_back, error))
        return FALSE;
      if (!*rolled_back)
        leave_out (self, batch, tn_training_now_ns ());
      return TRUE;
    }
  self->consecutive_bad = 0;
  self->updated_step = self->at.step;
  if (!tn_program_update (self->program, self->at.learning_rate, self->at.step, error))
    return FALSE;
  gint64 t2 = tn_training_now_ns ();
  tn_pace_add (&self->pace, TN_PACE_STEP, (double) (t2 - t0) / 1e9);
  add_rows (self, batch, &result, t0, t1, t2);
  advance (self, batch, &result, t2);
  report_times (self, batch);
  if (!self->first_step_done)
    {
      self->first_step_done = TRUE;
      compare_memory (self);
    }
  return TRUE;
}

gboolean
tn_training_evaluates_epoch (const TnTraining *self, gint64 done)
{
  gboolean is_last = self->epochs > 0 && done >= self->epochs;
  return self->eval_loader != NULL && done > 0 && (is_last || (self->eval_every > 0 && done % self->eval_every == 0));
}

gboolean
tn_training_step (TnTraining *self, TnEnd *end, GError **error)
{
  gint64 t0 = tn_training_now_ns ();
  TnBatch *batch = tn_loader_next (self->loader, error);
  *end = TN_END_NONE;
  if (batch == NULL)
    return FALSE;
  gint64 epoch = batch->epoch;
  gboolean last_in_epoch = batch->last_in_epoch, rolled_back;
  gboolean ok = take_step (self, batch, t0, &rolled_back, error);
  tn_loader_release (self->loader, batch);
  if (!ok)
    return FALSE;
  if (rolled_back)
    {
      tn_loader_seek (self->loader, self->at.epoch, self->at.position);
      return TRUE;
    }
  self->save_wanted = self->every_steps > 0 && self->at.step % self->every_steps == 0;
  if (!last_in_epoch)
    return TRUE;

  self->save_wanted |= self->every_epochs > 0 && (epoch + 1) % self->every_epochs == 0;
  /* Rows of an epoch's end belong to its last step: a resume from the checkpoint behind it keeps them. */
  tn_metrics_add (self->metrics, TN_TAG_EPOCH, self->at.step - 1, (double) (epoch + 1),
                  tn_training_unix_us (self, tn_training_now_ns ()));
  if (!tn_training_evaluates_epoch (self, epoch + 1))
    return TRUE;
  GError *failure = NULL;
  if (tn_training_evaluate (self, self->at.step - 1, TRUE, &failure))
    return TRUE;
  *end = failure == NULL ? TN_END_STOP_NOW : TN_END_NONE;
  if (failure != NULL)
    g_propagate_error (error, failure);
  return failure == NULL;
}

/* Evaluation. */

static void
keep_best (TnTraining *self, double score)
{
  if (!isfinite (score) || (isfinite (self->at.best) && score <= self->at.best))
    return;
  self->at.best = score;
  self->at.best_step = self->at.step;
  /* The best one can only be kept if it is written. */
  if (self->every_epochs > 0)
    {
      self->save_wanted = TRUE;
      tn_checkpoint_writer_set_best (self->writer, self->at.step);
    }
}

/* Whether this validation was the last that is needed. The count goes into the checkpoint, so that a resumed run ends at the same step. */
static void
look_for_end (TnTraining *self, double score, double accuracy)
{
  if (!isfinite (self->at.early_best) || score > self->at.early_best + self->early_stop_delta)
    {
      self->at.early_best = score;
      self->at.stall = 0;
    }
  else
    self->at.stall++;
  if (self->target_accuracy > 0 && accuracy >= self->target_accuracy)
    self->end_wanted = TN_END_TARGET;
  else if (self->early_stop > 0 && self->at.stall >= self->early_stop)
    self->end_wanted = TN_END_EARLY;
  pthread_mutex_lock (&self->trainer->mutex);
  self->trainer->progress.checks_without_gain = self->at.stall;
  pthread_mutex_unlock (&self->trainer->mutex);
}

/* A run does not end for want of it. */
static void
write_validation (TnTraining *self, TnValidation *found, double loss, double accuracy)
{
  g_autoptr (GError) error = NULL;
  found->step = self->at.step;
  found->loss = loss;
  found->accuracy = accuracy;
  if (!tn_validation_write (found, tn_run_folder_path (self->folder), &error))
    tn_trainer_post_message (self->trainer, G_LOG_LEVEL_WARNING, "%s", error->message);
}

gboolean
tn_training_evaluate (TnTraining *self, gint64 row_step, gboolean counts, GError **error)
{
  TnEvalResult sum = { 0 };
  gboolean has_labels = FALSE;
  gint64 begun = tn_training_now_ns ();
  tn_loader_seek (self->eval_loader, 0, 0);
  GError *failure = NULL;
  gint64 width = tn_program_n_outputs (self->program);
  g_autoptr (TnValidation) found = self->input->dataset->labels != NULL ? tn_validation_new (self->input->dataset) : NULL;
  g_autofree float *logits = found != NULL ? g_new (float, (gsize) width * (gsize) self->input->options.batch_size) : NULL;
  for (TnBatch *batch; (batch = tn_loader_next (self->eval_loader, &failure)) != NULL;)
    {
      TnProgramBatch rows = program_batch (batch);
      TnEvalResult part;
      has_labels = batch->labels != NULL;
      gboolean ok = tn_program_evaluate (self->program, &rows, &part, logits, error);
      if (ok && found != NULL)
        tn_validation_add (found, logits, width, batch->ids, batch->labels, batch->n);
      tn_loader_release (self->eval_loader, batch);
      if (!ok || (atomic_load (&self->trainer->commands) & TN_COMMAND_STOP_NOW))
        return FALSE;
      sum.loss_sum += part.loss_sum;
      sum.correct += part.correct;
      sum.n += part.n;
    }
  if (failure != NULL)
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  gint64 now = tn_training_now_ns (), time_us = tn_training_unix_us (self, now);
  double loss = sum.n > 0 ? sum.loss_sum / (double) sum.n : NAN;
  double accuracy = has_labels && sum.n > 0 ? (double) sum.correct / (double) sum.n : NAN;
  if (row_step >= 0)
    tn_metrics_add (self->metrics, TN_TAG_VALIDATION_LOSS, row_step, loss, time_us);
  if (row_step >= 0 && has_labels)
    tn_metrics_add (self->metrics, TN_TAG_VALIDATION_ACCURACY, row_step, accuracy, time_us);
  if (counts)
    {
      keep_best (self, has_labels ? accuracy : -loss);
      look_for_end (self, has_labels ? accuracy : -loss, has_labels ? accuracy : NAN);
    }
  if (found != NULL)
    write_validation (self, found, loss, accuracy);
  self->evaluated = TRUE;
  self->window_ns += now - begun; /* is no training time */
  tn_pace_add (&self->pace, TN_PACE_VALIDATION, (double) (now - begun) / 1e9);

  pthread_mutex_lock (&self->trainer->mutex);
  self->trainer->progress.validation_loss = loss;
  self->trainer->progress.accuracy = accuracy;
  pthread_mutex_unlock (&self->trainer->mutex);
  return TRUE;
}
