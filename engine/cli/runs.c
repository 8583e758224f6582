/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "formats/tfevents.h"
#include "train/metrics.h"
#include "train/run-folder.h"
#include <math.h>
#include <stdio.h>

/* runs: the runs of a project, oldest first. */

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

static int
list (const char *path, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = tn_project_open (path, &error);
  g_autoptr (GPtrArray) runs = project != NULL ? tn_run_folder_list (tn_project_path (project), &error) : NULL;
  if (runs == NULL)
    return tn_cli_fail (error, json);
  if (!json && runs->len == 0)
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
      if (folder == NULL) /* one that cannot be read does not hide the others */
        {
          fprintf (stderr, "tenon-cli: %s\n", failure->message);
          continue;
        }
      TnRunState state = tn_run_folder_seen_state (folder);
      Numbers numbers = find_numbers (folder, state);
      (json ? print_object : print_row) (folder, state, &numbers);
    }
  return TN_EXIT_DONE;
}

int
tn_command_runs (int argc, char **argv)
{
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a run"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("runs", entries, &argc, &argv, 1, 1, _ ("name a project's folder")))
    return TN_EXIT_USAGE;
  return list (argv[1], json);
}
