/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib/gstdio.h>
#include <string.h>

#include "base/durable.h"
#include "base/error.h"
#include "formats/tfevents.h"
#include "train/checkpoint.h"
#include "train/trainer.h"

/* Scratch folders, small projects and what a run left, for the tests of this room. */

static inline void
remove_tree (const char *path)
{
  g_autoptr (GDir) dir = g_file_test (path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open (path, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);
      remove_tree (child);
    }
  g_remove (path);
}

static inline char *
make_scratch (void)
{
  g_autoptr (GError) error = NULL;
  char *path = g_dir_make_tmp ("tenon-train-XXXXXX", &error);
  g_assert_no_error (error);
  return path;
}

/* A project of a small net on few digits: 20 steps of 8 an epoch. @more: assignments, NULL-terminated. */
static inline TnProject *
small_project (const char *scratch, const char *name, const char *const *more)
{
  static const char *const basic[] = { "model.preset=lenet5", "data.samples=200", "data.validation=last:40", "train.batch=8",
                                       "train.epochs=2", "train.seed=7", "device.threads=1", NULL };
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autoptr (GError) error = NULL;
  for (int i = 0; basic[i] != NULL; i++)
    tn_settings_set_assignment (settings, basic[i], &error);
  for (int i = 0; more != NULL && more[i] != NULL; i++)
    tn_settings_set_assignment (settings, more[i], &error);
  g_assert_no_error (error);
  g_autofree char *path = g_build_filename (scratch, name, NULL);
  TnProject *project = tn_project_create (path, settings, NULL, &error);
  g_assert_no_error (error);
  return project;
}

/* The path of a new run. Free with g_free. */
static inline char *
new_run (TnProject *project)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) run = tn_run_folder_create (project, NULL, &error);
  g_assert_no_error (error);
  return g_strdup (tn_run_folder_path (run));
}

static inline char *
small_run (const char *scratch, const char *name, const char *const *more)
{
  g_autoptr (TnProject) project = small_project (scratch, name, more);
  return new_run (project);
}

static inline TnTrainer *
new_trainer (const char *run_path)
{
  g_autoptr (GError) error = NULL;
  TnRunFolder *run = tn_run_folder_open (run_path, &error);
  g_assert_no_error (error);
  return tn_trainer_new (run);
}

/* Trains (or goes on) to the end; @name, @value: a setting changed at this start, or NULL. */
static inline TnRunState
train (const char *run_path, const char *name, const char *value, GError **error)
{
  g_autoptr (TnTrainer) trainer = new_trainer (run_path);
  if ((name != NULL && !tn_trainer_change_at_start (trainer, name, value, error)) || !tn_trainer_start (trainer, error))
    return TN_RUN_FAILED;
  tn_trainer_run (trainer, error);
  return tn_trainer_state (trainer);
}

static inline void
train_ok (const char *run_path, const char *name, const char *value)
{
  g_autoptr (GError) error = NULL;
  TnRunState state = train (run_path, name, value, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (tn_run_state_name (state), ==, "finished");
}

static inline char *
read_checkpoint_file (const char *run_path, gint64 step, const char *name, gsize *n)
{
  g_autofree char *folder = g_build_filename (run_path, "checkpoints", NULL);
  g_autofree char *path = tn_checkpoint_step_path (folder, step);
  g_autofree char *file = g_build_filename (path, name, NULL);
  g_autoptr (GError) error = NULL;
  char *text = NULL;
  g_file_get_contents (file, &text, n, &error);
  g_assert_no_error (error);
  return text;
}

/* "tag step value" of deterministic tags, sorted; what "equal" means for rows. */
static inline int
compare_text (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static inline GPtrArray *
deterministic_rows (const char *run_path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (run_path, NULL, &error);
  g_assert_no_error (error);
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      int tag = row->kind == TN_TFEVENTS_SCALAR ? tn_tag_find (row->tag) : -1;
      char value[G_ASCII_DTOSTR_BUF_SIZE];
      if (tag >= 0 && tn_tags[tag].deterministic)
        g_ptr_array_add (lines, g_strdup_printf ("%s %" G_GINT64_FORMAT " %s", row->tag, (gint64) row->step,
                                                 g_ascii_dtostr (value, sizeof value, row->value)));
    }
  g_ptr_array_sort (lines, compare_text);
  return lines;
}

/* Rank files, state.json and deterministic rows, at @step. */
static inline void
assert_equal_runs (const char *a, const char *b, gint64 step)
{
  static const char *const files[] = { "rank-0000.safetensors", "state.json" };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      gsize n_a, n_b;
      g_autofree char *text_a = read_checkpoint_file (a, step, files[i], &n_a);
      g_autofree char *text_b = read_checkpoint_file (b, step, files[i], &n_b);
      g_assert_cmpmem (text_a, n_a, text_b, n_b);
    }
  g_autoptr (GPtrArray) rows_a = deterministic_rows (a);
  g_autoptr (GPtrArray) rows_b = deterministic_rows (b);
  for (guint i = 0; i < MIN (rows_a->len, rows_b->len); i++)
    g_assert_cmpstr (g_ptr_array_index (rows_a, i), ==, g_ptr_array_index (rows_b, i));
  g_assert_cmpuint (rows_a->len, ==, rows_b->len);
  g_assert_cmpuint (rows_a->len, >, (guint) step);
}
