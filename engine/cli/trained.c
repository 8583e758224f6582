/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained.h"
#include "cli/cli.h"
#include "base/error.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static char *
list_steps (const char *folder)
{
  g_autoptr (GArray) steps = tn_checkpoint_list (folder);
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < steps->len; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", g_array_index (steps, gint64, i));
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static TnCheckpoint *
open_step (const char *folder, gint64 step, GError **error)
{
  g_autofree char *path = tn_checkpoint_step_path (folder, step);
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    return tn_checkpoint_open (path, error);
  g_autofree char *steps = list_steps (folder);
  g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no checkpoint of step %" PRId64 " in “%s”; there are those of steps: %s."), step,
               folder, steps);
  return NULL;
}

static TnCheckpoint *
open_newest (const char *folder, char **passed_over, GError **error)
{
  GError *failure = NULL;
  TnCheckpoint *checkpoint = tn_checkpoint_open_newest (folder, passed_over, &failure);
  if (failure != NULL)
    g_propagate_error (error, failure);
  else if (checkpoint == NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no checkpoint in “%s” yet: train the run first, or write one with “%s attach RUN checkpoint”."),
                 folder, tn_cli_program ());
  return checkpoint;
}

static TnCheckpoint *
open_checkpoint (const char *folder, const char *which, char **passed_over, GError **error)
{
  gint64 step;
  if (strcmp (which, "newest") != 0 && strcmp (which, "best") != 0)
    {
      if (g_ascii_string_to_signed (which, 10, 0, G_MAXINT64, &step, NULL))
        return open_step (folder, step, error);
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s” is no checkpoint: give a step, newest or best."), which);
      return NULL;
    }
  g_autoptr (TnCheckpoint) newest = open_newest (folder, passed_over, error);
  if (newest == NULL || strcmp (which, "newest") == 0)
    return g_steal_pointer (&newest);
  step = tn_checkpoint_state (newest)->best_step;
  return step < 0 || step == tn_checkpoint_state (newest)->step ? g_steal_pointer (&newest) : open_step (folder, step, error);
}

static gboolean
restore (TnTrained *self, GError **error)
{
  int n = tn_program_n_state (self->program);
  g_autofree TnCheckpointTensor *tensors = g_new (TnCheckpointTensor, n + 1);
  for (int i = 0; i < n; i++)
    {
      const TnStateEntry *entry = tn_program_state (self->program, i);
      tensors[i] = (TnCheckpointTensor){ entry->name, entry->tensor };
    }
  return tn_checkpoint_restore (self->checkpoint, tensors, n, error);
}

TnTrained *
tn_trained_open (const char *run_path, const char *which, GError **error)
{
  g_autoptr (TnTrained) self = g_new0 (TnTrained, 1);
  self->folder = tn_run_folder_open (run_path, error);
  if (self->folder == NULL)
    return NULL;
  g_autofree char *checkpoints = tn_run_folder_checkpoints_path (self->folder);
  self->checkpoint = open_checkpoint (checkpoints, which, &self->passed_over, error);
  if (self->checkpoint == NULL)
    return NULL;
  self->settings = tn_run_folder_settings_at (self->folder, tn_trained_step (self));
  tn_settings_reset (self->settings, "init.from"); /* the weights come from the checkpoint: that file may be gone */
  self->own_normalisation = tn_run_folder_is_chosen (self->folder, "data.normalize_mean")
                            || tn_run_folder_is_chosen (self->folder, "data.normalize_std");
  self->model = tn_run_folder_load_model (self->folder, error);
  self->program = self->model != NULL ? tn_program_new (self->model, self->settings, error) : NULL;
  if (self->program == NULL || !restore (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

void
tn_trained_free (TnTrained *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->program, tn_program_free);
  g_clear_pointer (&self->model, tn_model_unref);
  g_clear_pointer (&self->settings, tn_settings_free);
  g_clear_pointer (&self->checkpoint, tn_checkpoint_free);
  g_clear_pointer (&self->folder, tn_run_folder_free);
  g_free (self->passed_over);
  g_free (self);
}

gint64
tn_trained_step (const TnTrained *self)
{
  return tn_checkpoint_state (self->checkpoint)->step;
}

void
tn_trained_tell_passed_over (const TnTrained *self, JsonObject *object)
{
  if (self->passed_over != NULL)
    fprintf (stderr, _ ("tenon-cli: A newer checkpoint cannot be read, this is the one of step %" PRId64 ":\n%s\n"), tn_trained_step (self),
             self->passed_over);
  if (object != NULL && self->passed_over != NULL)
    json_object_set_string_member (object, "passed_over", self->passed_over);
  else if (object != NULL)
    json_object_set_null_member (object, "passed_over");
}
