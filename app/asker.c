/* SPDX-License-Identifier: Apache-2.0 */
#include "asker.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "draw/sample-image.h"
#include "train/checkpoint.h"
#include "train/input.h"
#include "train/program.h"
#include "train/run-folder.h"

#define N_WATCHED 8
#define TILE 56

struct _TnAsker
{
  gatomicrefcount ref_count;
  char *path;
  GMutex mutex; /* for what follows: made by the first question */
  TnRunFolder *folder;
  TnSettings *settings;
  TnModel *model;
  TnProgram *program;
  TnInput *input;
  gboolean own_normalisation;
  gint64 step; /* that the program holds; -1: none */
  int64_t watched[N_WATCHED];
  int n_watched;
};

TnAsker *
tn_asker_new (const char *run_path)
{
  TnAsker *self = g_new0 (TnAsker, 1);
  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->mutex);
  self->path = g_strdup (run_path);
  self->step = -1;
  return self;
}

TnAsker *
tn_asker_ref (TnAsker *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_asker_unref (TnAsker *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->input, tn_input_free);
  g_clear_pointer (&self->program, tn_program_free);
  g_clear_pointer (&self->model, tn_model_unref);
  g_clear_pointer (&self->settings, tn_settings_free);
  g_clear_pointer (&self->folder, tn_run_folder_free);
  g_mutex_clear (&self->mutex);
  g_free (self->path);
  g_free (self);
}

void
tn_asked_free (TnAsked *asked)
{
  if (asked == NULL)
    return;
  for (int i = 0; asked->images != NULL && i < asked->n; i++)
    g_clear_pointer (&asked->images[i], g_bytes_unref);
  g_free (asked->images);
  g_free (asked->ids);
  g_free (asked->labels);
  g_free (asked->values);
  g_strfreev (asked->class_names);
  g_free (asked);
}

int
tn_asked_best (const TnAsked *asked, int i, double *share)
{
  int best = -1;
  *share = NAN;
  for (int k = 0; asked->values != NULL && k < asked->n_classes; k++)
    if (best < 0 || asked->values[i * asked->n_classes + k] > asked->values[i * asked->n_classes + best])
      best = k;
  if (best >= 0)
    *share = (double) asked->values[i * asked->n_classes + best];
  return best;
}

/* Making, in a worker, with the lock. */

/* Different classes where there are enough: the first held-out sample of each. */
static void
choose_watched (TnAsker *self)
{
  const TnDataset *dataset = self->input->dataset;
  const TnSplit *split = self->input->split;
  int n_named = 0;
  g_autofree int64_t *named = tn_settings_get_int_list (self->settings, "watch.samples", &n_named);
  for (int i = 0; i < n_named && self->n_watched < N_WATCHED; i++)
    if (named[i] >= 0 && named[i] < dataset->n_samples)
      self->watched[self->n_watched++] = named[i];
  if (self->n_watched > 0)
    return;
  const int64_t *ids = split->n_held_out > 0 ? split->held_out : split->train;
  int64_t n = split->n_held_out > 0 ? split->n_held_out : split->n_train;
  int different = MIN (N_WATCHED, dataset->n_classes);
  for (int i = 0; i < N_WATCHED; i++)
    for (int64_t at = 0; at < n && self->n_watched == i; at++)
      {
        gboolean taken = FALSE;
        for (int k = 0; k < i && !taken; k++)
          taken = self->watched[k] == ids[at];
        if (!taken && dataset->labels[ids[at]] == i % different)
          self->watched[self->n_watched++] = ids[at];
      }
}

static gboolean
make (TnAsker *self, GError **error)
{
  if (self->input != NULL)
    return TRUE;
  if (self->folder == NULL)
    self->folder = tn_run_folder_open (self->path, error);
  if (self->folder == NULL)
    return FALSE;
  g_clear_pointer (&self->settings, tn_settings_free);
  g_clear_pointer (&self->model, tn_model_unref);
  g_clear_pointer (&self->program, tn_program_free);
  self->settings = tn_run_folder_settings_at (self->folder, G_MAXINT64);
  if (!tn_settings_enum_is (self->settings, "train.loss", "softmax_cross_entropy"))
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("This model answers with numbers, not with classes."));
      return FALSE;
    }
  tn_settings_reset (self->settings, "init.from"); /* the weights come from the checkpoint: that file may be gone */
  if (!tn_settings_set (self->settings, "train.batch", G_STRINGIFY (N_WATCHED), error) || !tn_settings_set (self->settings, "device.threads", "1", error))
    return FALSE;
  self->own_normalisation = tn_run_folder_is_chosen (self->folder, "data.normalize_mean") || tn_run_folder_is_chosen (self->folder, "data.normalize_std");
  self->model = tn_run_folder_load_model (self->folder, error);
  self->program = self->model != NULL ? tn_program_new (self->model, self->settings, error) : NULL;
  if (self->program == NULL)
    return FALSE;
  g_autofree char *project = tn_run_folder_project_path (self->folder);
  g_autoptr (TnInput) input = tn_input_open (self->settings, self->model, project, self->own_normalisation, error);
  if (input == NULL)
    return FALSE;
  if (input->dataset->n_classes == 0 || input->dataset->n_classes != tn_program_n_outputs (self->program))
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("The data set has no classes that the model could name."));
      return FALSE;
    }
  self->input = g_steal_pointer (&input);
  choose_watched (self);
  return TRUE;
}

/* The newest weights. Without a checkpoint it stays as it is. */
static gboolean
refresh (TnAsker *self, GError **error)
{
  g_autofree char *folder = tn_run_folder_checkpoints_path (self->folder);
  g_autoptr (GArray) steps = tn_checkpoint_list (folder);
  if (steps->len == 0 || g_array_index (steps, gint64, steps->len - 1) == self->step)
    return TRUE;
  GError *failure = NULL;
  g_autoptr (TnCheckpoint) checkpoint = tn_checkpoint_open_newest (folder, NULL, &failure);
  if (checkpoint == NULL)
    {
      if (failure == NULL || self->step >= 0) /* just being replaced: what we have is the one before */
        {
          g_clear_error (&failure);
          return TRUE;
        }
      g_propagate_error (error, failure);
      return FALSE;
    }
  int n = tn_program_n_state (self->program);
  g_autofree TnCheckpointTensor *tensors = g_new (TnCheckpointTensor, n + 1);
  for (int i = 0; i < n; i++)
    {
      const TnStateEntry *entry = tn_program_state (self->program, i);
      tensors[i] = (TnCheckpointTensor){ entry->name, entry->tensor };
    }
  if (!tn_checkpoint_restore (checkpoint, tensors, n, error))
    return FALSE;
  self->step = tn_checkpoint_state (checkpoint)->step;
  return TRUE;
}

static TnAsked *
begin_answer (TnAsker *self, int n)
{
  const TnDataset *dataset = self->input->dataset;
  const TnShape *shape = &dataset->sample_shape;
  TnAsked *asked = g_new0 (TnAsked, 1);
  asked->step = self->step;
  asked->n = n;
  asked->n_classes = dataset->n_classes;
  asked->pictures = dataset->dtype == TN_DTYPE_U8 && shape->n_dims == 3 && shape->dims[0] == 1 && MAX (shape->dims[1], shape->dims[2]) <= 256;
  if (asked->pictures)
    {
      asked->height = (int) shape->dims[1];
      asked->width = (int) shape->dims[2];
    }
  asked->class_names = g_strdupv (dataset->class_names);
  asked->ids = g_new0 (gint64, MAX (n, 1));
  asked->labels = g_new0 (gint32, MAX (n, 1));
  return asked;
}

static void
softmax (float *row, int n)
{
  double most = -INFINITY, sum = 0;
  for (int i = 0; i < n; i++)
    most = fmax (most, (double) row[i]);
  for (int i = 0; i < n; i++)
    sum += exp ((double) row[i] - most);
  for (int i = 0; i < n; i++)
    row[i] = (float) (exp ((double) row[i] - most) / sum);
}

static gboolean
answer (TnAsker *self, TnInput *input, const int64_t *ids, TnAsked *asked, GError **error)
{
  if (self->step < 0)
    return TRUE;
  g_autoptr (TnLoader) loader = tn_input_new_eval_loader (input, ids, asked->n, MIN (asked->n, N_WATCHED), error);
  if (loader == NULL)
    return FALSE;
  asked->values = g_new0 (float, asked->n * asked->n_classes);
  GError *failure = NULL;
  TnBatch *batch;
  int at = 0;
  while ((batch = tn_loader_next (loader, &failure)) != NULL)
    {
      TnProgramBatch rows = { .n = batch->n, .x = batch->x, .labels = batch->labels };
      TnEvalResult result;
      gboolean ok = at + (int) batch->n <= asked->n
                    && tn_program_evaluate (self->program, &rows, &result, asked->values + at * asked->n_classes, error);
      at += (int) batch->n;
      tn_loader_release (loader, batch);
      if (!ok)
        return FALSE;
    }
  if (failure != NULL)
    {
      g_propagate_error (error, failure);
      return FALSE;
    }
  for (int i = 0; i < asked->n; i++)
    softmax (asked->values + i * asked->n_classes, asked->n_classes);
  return TRUE;
}

static TnAsked *
watch (TnAsker *self, GError **error)
{
  TnDataset *dataset = self->input->dataset;
  g_autoptr (TnAsked) asked = begin_answer (self, self->n_watched);
  asked->images = g_new0 (GBytes *, MAX (asked->n, 1));
  for (int i = 0; i < asked->n; i++)
    {
      asked->ids[i] = self->watched[i];
      asked->labels[i] = dataset->labels[self->watched[i]];
      uint8_t *pixels = tn_sample_image (dataset, self->watched[i], TILE, &asked->image_width, &asked->image_height);
      if (pixels != NULL)
        asked->images[i] = g_bytes_new_take (pixels, (gsize) asked->image_width * (gsize) asked->image_height * 4);
    }
  return answer (self, self->input, self->watched, asked, error) ? g_steal_pointer (&asked) : NULL;
}

/* Questions. */

typedef struct
{
  TnAsker *asker;
  guint8 *pixels; /* NULL: the watched samples */
  int width, height;
} Question;

static void
question_free (Question *question)
{
  tn_asker_unref (question->asker);
  g_free (question->pixels);
  g_free (question);
}

static TnAsked *
read_picture (TnAsker *self, const Question *question, GError **error)
{
  if (self->step < 0)
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no checkpoint yet."));
      return NULL;
    }
  g_autoptr (TnTensor) samples = tn_tensor_new_from (TN_DTYPE_U8, TN_SHAPE (1, 1, question->height, question->width), question->pixels);
  const int32_t nobody_looks = 0;
  g_autoptr (TnTensor) labels = tn_tensor_new_from (TN_DTYPE_I32, TN_SHAPE (1), &nobody_looks);
  g_autoptr (TnDataset) dataset = tn_dataset_new_from_tensors (samples, labels, NULL, _ ("a drawn picture"), error);
  g_autoptr (TnInput) input = dataset != NULL ? tn_input_new (dataset, self->settings, self->model, self->own_normalisation, error) : NULL;
  if (input == NULL)
    return NULL;
  g_autoptr (TnAsked) asked = begin_answer (self, 1);
  asked->labels[0] = -1;
  const int64_t id = 0;
  return answer (self, input, &id, asked, error) ? g_steal_pointer (&asked) : NULL;
}

static void
ask_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Question *question = data;
  TnAsker *self = question->asker;
  GError *error = NULL;
  TnAsked *asked = NULL;
  g_mutex_lock (&self->mutex);
  if (!g_task_return_error_if_cancelled (task))
    {
      if (make (self, &error) && refresh (self, &error))
        asked = question->pixels != NULL ? read_picture (self, question, &error) : watch (self, &error);
      if (asked != NULL)
        g_task_return_pointer (task, asked, (GDestroyNotify) tn_asked_free);
      else
        g_task_return_error (task, error);
    }
  g_mutex_unlock (&self->mutex);
}

static void
ask (TnAsker *self, Question *question, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  question->asker = tn_asker_ref (self);
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, question, (GDestroyNotify) question_free);
  g_task_run_in_thread (task, ask_thread);
}

void
tn_asker_watch_async (TnAsker *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  ask (self, g_new0 (Question, 1), cancellable, callback, user_data);
}

void
tn_asker_read_async (TnAsker *self, const guint8 *pixels, int width, int height, GCancellable *cancellable, GAsyncReadyCallback callback,
                     gpointer user_data)
{
  Question *question = g_new0 (Question, 1);
  question->pixels = g_memdup2 (pixels, (gsize) width * (gsize) height);
  question->width = width;
  question->height = height;
  ask (self, question, cancellable, callback, user_data);
}

TnAsked *
tn_asker_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
