/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "formats/tfevents.h"
#include "train/metrics.h"
#include "train/run-removal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* runs: the runs of a project, oldest first; takes runs out of it, brings them back and gives them other names. */

typedef struct
{
  const char *remove, *restore, *rename, *to;
} Moves;

typedef struct
{
  double step, loss, accuracy;
} Numbers;

/* run.json is written now and then: of a run that goes on, or was killed, the event files know more. */
static void
read_events (const char *path, Numbers *numbers)
{
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_read_folder (path, NULL, NULL);
  for (guint i = 0; rows != NULL && i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      int tag = row->kind == TN_TFEVENTS_SCALAR ? tn_tag_find (row->tag) : -1;
      if (tag == TN_TAG_LOSS)
        {
          numbers->step = (double) row->step + 1;
          numbers->loss = row->value;
        }
      else if (tag == TN_TAG_VALIDATION_ACCURACY)
        numbers->accuracy = row->value;
    }
}

static Numbers
find_numbers (TnRunFolder *folder, TnRunState state)
{
  Numbers numbers = { tn_run_folder_fact_number (folder, "step"), tn_run_folder_fact_number (folder, "loss"),
                      tn_run_folder_fact_number (folder, "accuracy") };
  if (!isfinite (numbers.step) || state == TN_RUN_LOST || !tn_run_state_is_end (state))
    read_events (tn_run_folder_path (folder), &numbers);
  return numbers;
}

static void
print_object (TnRunFolder *folder, TnRunState state, const Numbers *numbers)
{
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "name", tn_run_folder_name (folder));
  json_object_set_string_member (object, "path", tn_run_folder_path (folder));
  json_object_set_string_member (object, "model", tn_run_folder_model_name (folder));
  json_object_set_string_member (object, "state", tn_run_state_name (state));
  json_object_set_string_member (object, "cause", tn_run_folder_cause (folder));
  json_object_set_string_member (object, "reason", tn_run_folder_reason (folder));
  json_object_set_int_member (object, "steps", isfinite (numbers->step) ? (gint64) numbers->step : 0);
  tn_cli_set_number (object, "loss", numbers->loss);
  tn_cli_set_number (object, "accuracy", numbers->accuracy);
  tn_cli_print_json (object);
}

static void
print_row (TnRunFolder *folder, TnRunState state, const Numbers *numbers)
{
  char accuracy[32] = "-";
  g_autofree char *loss = isfinite (numbers->loss) ? tn_cli_number (numbers->loss) : g_strdup ("-");
  if (isfinite (numbers->accuracy))
    g_snprintf (accuracy, sizeof accuracy, "%.2f %%", numbers->accuracy * 100);
  printf ("%-32s %-9s %9" G_GINT64_FORMAT " %10s %10s\n", tn_run_folder_name (folder), tn_run_state_name (state),
          isfinite (numbers->step) ? (gint64) numbers->step : 0, loss, accuracy);
}

static void
print_damaged (const char *path, const GError *error, gboolean json)
{
  g_autofree char *name = g_path_get_basename (path), *shown = tn_cli_printable (name);
  if (!json)
    {
      printf ("%-32s %-9s %s\n", shown, _ ("damaged"), error->message);
      return;
    }
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "name", shown);
  json_object_set_string_member (object, "path", path);
  json_object_set_string_member (object, "state", "damaged");
  json_object_set_string_member (object, "cause", error->domain == TN_ERROR ? tn_error_code_name (error->code) : "other");
  json_object_set_string_member (object, "reason", error->message);
  tn_cli_print_json (object);
}

static int
list (const char *path, gboolean removed, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = tn_project_open (path, &error);
  g_autoptr (GPtrArray) runs = NULL;
  if (project != NULL)
    runs = removed ? tn_run_list_removed (tn_project_path (project), &error) : tn_run_folder_list (tn_project_path (project), &error);
  if (runs == NULL)
    return tn_cli_fail (error, json);
  if (!json && removed && runs->len == 0)
    printf (_ ("No run was removed.\n"));
  else if (!json && runs->len == 0)
    {
      g_autofree char *quoted = tn_cli_quote (path);
      printf (_ ("No runs yet: “%s train %s” begins one.\n"), tn_cli_program (), quoted);
    }
  else if (!json)
    printf ("%-32s %-9s %9s %10s %10s\n", _ ("run"), _ ("state"), _ ("steps"), _ ("loss"), _ ("accuracy"));
  for (guint i = 0; i < runs->len; i++)
    {
      g_autoptr (GError) failure = NULL;
      g_autoptr (TnRunFolder) folder = tn_run_folder_open (runs->pdata[i], &failure);
      if (folder == NULL) /* one that cannot be read does not hide the others, nor is it hidden */
        {
          print_damaged (runs->pdata[i], failure, json);
          continue;
        }
      TnRunState state = tn_run_folder_seen_state (folder);
      Numbers numbers = find_numbers (folder, state);
      (json ? print_object : print_row) (folder, state, &numbers);
    }
  return TN_EXIT_DONE;
}

/* Moves. */

static int
tell_moved (const char *project, const char *from, const char *to, const char *format, const GError *error, gboolean json)
{
  if (to == NULL)
    return tn_cli_fail (error, json);
  g_autofree char *name = g_path_get_basename (to), *old = g_path_get_basename (from);
  tn_cli_note_project (project);
  if (json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "from", old);
      json_object_set_string_member (object, "name", name);
      json_object_set_string_member (object, "path", to);
      tn_cli_print_json (object);
    }
  else
    printf (format, old, tn_cli_program (), project, name);
  return TN_EXIT_DONE;
}

/* Names and not paths: what is moved is of this project. */
static char *
path_of (const char *project, const char *folder, const char *name)
{
  return strchr (name, '/') != NULL || *name == '.' || *name == '\0' ? NULL : g_build_filename (project, "runs", folder, name, NULL);
}

static int
move (const char *path, const Moves *moves, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = tn_project_open (path, &error);
  if (project == NULL)
    return tn_cli_fail (error, json);
  const char *root = tn_project_path (project);
  const char *name = moves->remove != NULL ? moves->remove : moves->restore != NULL ? moves->restore : moves->rename;
  g_autofree char *from = path_of (root, moves->restore != NULL ? ".removed" : "", name);
  g_autofree char *to = NULL;
  if (from == NULL)
    return tn_cli_usage ("runs", _ ("“%s” is not the name of a run: “runs” lists them"), name);
  if (moves->remove != NULL)
    {
      to = tn_run_remove (from, &error);
      return tell_moved (root, from, to, _ ("%s was removed; “%s runs %s --restore %s” brings it back.\n"), error, json);
    }
  if (moves->restore != NULL)
    {
      to = tn_run_restore (from, &error);
      return tell_moved (root, from, to, _ ("%s is back. “%s runs %s” lists it as %s.\n"), error, json);
    }
  to = tn_run_rename (from, moves->to, &error);
  return tell_moved (root, from, to, _ ("%s has another name. “%s runs %s” lists it as %s.\n"), error, json);
}

int
tn_command_runs (int argc, char **argv)
{
  g_autofree char *remove = NULL, *restore = NULL, *rename = NULL, *to = NULL;
  gboolean json = FALSE, removed = FALSE;
  const GOptionEntry entries[] = {
    { "remove", 0, 0, G_OPTION_ARG_STRING, &remove, N_ ("Take a run out of the project, into runs/.removed"), "NAME" },
    { "restore", 0, 0, G_OPTION_ARG_STRING, &restore, N_ ("Bring a removed run back"), "NAME" },
    { "removed", 0, 0, G_OPTION_ARG_NONE, &removed, N_ ("List the removed runs"), NULL },
    { "rename", 0, 0, G_OPTION_ARG_STRING, &rename, N_ ("Give a run another name (with --to)"), "NAME" },
    { "to", 0, 0, G_OPTION_ARG_STRING, &to, N_ ("The other name"), "NAME" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a run"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("runs", entries, &argc, &argv, 1, 1, _ ("name a project's folder")))
    return TN_EXIT_USAGE;
  int n_moves = (remove != NULL) + (restore != NULL) + (rename != NULL) + removed;
  if (n_moves > 1 || (rename != NULL) != (to != NULL))
    return tn_cli_usage ("runs", _ ("one of --remove NAME, --restore NAME, --removed, and --rename NAME --to NAME"));
  Moves moves = { remove, restore, rename, to };
  return n_moves > 0 && !removed ? move (argv[1], &moves, json) : list (argv[1], removed, json);
}
