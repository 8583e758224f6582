/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/tfevents.h"
#include "train/checkpoint.h"
#include "train/trainer.h"
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_RANKS 1024 /* that are looked for */

/* verify-resume: trains 2N steps in one go, and N steps, stop, and N more, in folders of its own, and compares what they
 * left: the files of the last checkpoint and the rows of deterministic metrics, bit for bit. */

static void
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

/* A copy of the model and settings of a project or run. Its paths are made absolute, as the copy lies elsewhere. */

static gboolean
absolute (TnSettings *settings, const char *name, const char *folder, GError **error)
{
  const char *value = tn_settings_get_string (settings, name);
  if (value == NULL || *value == '\0' || g_path_is_absolute (value) || g_str_has_prefix (value, "drawn-digits"))
    return TRUE;
  g_autofree char *path = g_canonicalize_filename (value, folder);
  return tn_settings_set (settings, name, path, error);
}

static TnProject *
copy_project (const char *path, const char *to, char **set, gint64 steps, GError **error)
{
  g_autoptr (TnRunFolder) run = tn_cli_is_run (path) ? tn_run_folder_open (path, error) : NULL;
  if (run == NULL && tn_cli_is_run (path))
    return NULL;
  g_autofree char *project_path = run != NULL ? tn_run_folder_project_path (run) : g_canonicalize_filename (path, NULL);
  g_autoptr (TnProject) project = run == NULL ? tn_project_open (path, error) : NULL;
  if (run == NULL && project == NULL)
    return NULL;
  g_autoptr (TnSettings) settings = tn_settings_copy (run != NULL ? tn_run_folder_settings (run) : tn_project_settings (project));
  if (!tn_cli_apply_in (settings, set, project_path, error))
    return NULL;
  g_autoptr (TnModel) model = run != NULL ? tn_run_folder_load_model (run, error) : tn_project_load_model (project, settings, error);
  if (model == NULL)
    return NULL;
  g_autofree char *json = tn_model_to_json (model);
  g_autoptr (JsonNode) network = tn_json_parse (json, -1, error);
  gint64 epochs = MAX (tn_settings_get_int (settings, "train.epochs"), MIN (2 * steps, 1000000)); /* the steps end it, not the data */
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, epochs);
  tn_settings_reset (settings, "model.file");
  if (network == NULL || !absolute (settings, "data.source", project_path, error) || !absolute (settings, "init.from", project_path, error)
      || !tn_settings_set (settings, "train.epochs", text, error))
    return NULL;
  return tn_project_create (to, settings, network, error);
}

/* Training. */

static gboolean
train (const char *run, gint64 until, GError **error)
{
  TnRunFolder *folder = tn_run_folder_open (run, error);
  if (folder == NULL)
    return FALSE;
  g_autoptr (TnTrainer) trainer = tn_trainer_new (folder);
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, until);
  if (!tn_trainer_change_at_start (trainer, "train.max_steps", text, error))
    return FALSE;
  tn_trainer_handle_signals (trainer);
  if (!tn_trainer_start (trainer, error) || !tn_trainer_run (trainer, error))
    return FALSE;
  if (!tn_trainer_was_interrupted (trainer))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_CANCELLED, _ ("Stopped before anything was compared."));
  return FALSE;
}

static char *
new_run (TnProject *project, GError **error)
{
  g_autoptr (TnRunFolder) folder = tn_run_folder_create (project, NULL, error);
  return folder != NULL ? g_strdup (tn_run_folder_path (folder)) : NULL;
}

/* Comparing. */

static gboolean
compare_files (const char *a, const char *b, gint64 step, const char *name, GString *report, GError **error)
{
  g_autofree char *sub = g_strdup_printf ("step-%08" G_GINT64_FORMAT, step);
  g_autofree char *path_a = g_build_filename (a, "checkpoints", sub, name, NULL), *path_b = g_build_filename (b, "checkpoints", sub, name, NULL);
  g_autofree char *data_a = NULL, *data_b = NULL;
  gsize n_a, n_b;
  if (!g_file_get_contents (path_a, &data_a, &n_a, error) || !g_file_get_contents (path_b, &data_b, &n_b, error))
    return FALSE;
  if (n_a != n_b || memcmp (data_a, data_b, n_a) != 0)
    g_string_append_printf (report, _ ("%s differs (%zu and %zu bytes)\n"), name, n_a, n_b);
  return TRUE;
}

static int
compare_text (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* "tag step value" of deterministic tags, sorted. */
static GPtrArray *
read_rows (const char *run, GError **error)
{
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (run, NULL, error);
  if (rows == NULL)
    return NULL;
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

static gboolean
compare_rows (const char *a, const char *b, guint *n, GString *report, GError **error)
{
  g_autoptr (GPtrArray) rows_a = read_rows (a, error), rows_b = rows_a != NULL ? read_rows (b, error) : NULL;
  if (rows_b == NULL)
    return FALSE;
  *n = rows_a->len;
  for (guint i = 0; i < MIN (rows_a->len, rows_b->len); i++)
    if (strcmp (rows_a->pdata[i], rows_b->pdata[i]) != 0)
      {
        g_string_append_printf (report, _ ("metrics differ: “%s” and “%s”\n"), (char *) rows_a->pdata[i], (char *) rows_b->pdata[i]);
        return TRUE;
      }
  if (rows_a->len != rows_b->len)
    g_string_append_printf (report, _ ("there are %u and %u rows of metrics\n"), rows_a->len, rows_b->len);
  return TRUE;
}

/* Every rank's file; a run whose weights are whole has the first one only. */
static gboolean
compare_ranks (const char *a, const char *b, gint64 step, GString *report, GError **error)
{
  for (int rank = 0; rank < MAX_RANKS; rank++)
    {
      g_autofree char *name = g_strdup_printf ("rank-%04d.safetensors", rank);
      g_autofree char *path = g_strdup_printf ("%s/checkpoints/step-%08" G_GINT64_FORMAT "/%s", a, step, name);
      if (rank > 0 && !g_file_test (path, G_FILE_TEST_EXISTS))
        continue;
      if (!compare_files (a, b, step, name, report, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
verify (const char *path, const char *scratch, char **set, gint64 steps, guint *n_rows, GString *report, GError **error)
{
  g_autofree char *folder = g_build_filename (scratch, "project", NULL);
  g_autoptr (TnProject) project = copy_project (path, folder, set, steps, error);
  g_autofree char *once = project != NULL ? new_run (project, error) : NULL;
  g_autofree char *twice = once != NULL ? new_run (project, error) : NULL;
  return twice != NULL && train (once, 2 * steps, error) && train (twice, steps, error) && train (twice, 2 * steps, error)
         && compare_ranks (once, twice, 2 * steps, report, error)
         && compare_files (once, twice, 2 * steps, "state.json", report, error) && compare_rows (once, twice, n_rows, report, error);
}

static int
tell (gint64 steps, guint n_rows, const GString *report, gboolean json)
{
  gboolean equal = report->len == 0;
  if (json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_boolean_member (object, "equal", equal);
      json_object_set_int_member (object, "steps", steps);
      json_object_set_int_member (object, "rows", n_rows);
      json_object_set_string_member (object, "differences", report->str);
      tn_cli_print_json (object);
    }
  else if (equal)
    printf (_ ("Equal: %" PRId64 " steps in one go, and %" PRId64 " + stop + %" PRId64 ", left the same weights, state and %u rows of metrics, bit for bit.\n"),
            2 * steps, steps, steps, n_rows);
  if (!equal)
    fprintf (stderr, _ ("tenon-cli: the resumed run is not equal:\n%s"), report->str);
  return equal ? TN_EXIT_DONE : TN_EXIT_FAILED;
}

int
tn_command_verify_resume (int argc, char **argv)
{
  g_auto (GStrv) set = NULL;
  gint64 steps = 50;
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "steps", 'n', 0, G_OPTION_ARG_INT64, &steps, N_ ("Steps before and after the stop (50)"), "N" },
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &set, N_ ("A setting for both runs"), "NAME=VALUE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("The result as a JSON object"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("verify-resume", entries, &argc, &argv, 1, 1, _ ("name a project's or a run's folder")))
    return TN_EXIT_USAGE;
  if (steps < 1 || steps > G_GINT64_CONSTANT (1000000000))
    return tn_cli_usage ("verify-resume", _ ("--steps is from 1 to 1000000000"));
  g_autoptr (GError) error = NULL;
  g_autofree char *scratch = g_dir_make_tmp ("tenon-verify-XXXXXX", &error);
  if (scratch == NULL)
    return tn_cli_fail (error, json);
  g_autoptr (GString) report = g_string_new (NULL);
  guint n_rows = 0;
  gboolean ok = verify (argv[1], scratch, set, steps, &n_rows, report, &error);
  remove_tree (scratch);
  if (ok)
    return tell (steps, n_rows, report, json);
  int status = tn_cli_fail (error, json);
  return g_error_matches (error, TN_ERROR, TN_ERROR_CANCELLED) ? TN_EXIT_INTERRUPTED : status;
}
