/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/error.h"
#include "train/checkpoint.h"
#include "train/run-folder.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* show: what stands in a run folder. */

static void
print_number (TnRunFolder *folder, const char *fact, const char *label, const char *format, double factor)
{
  double value = tn_run_folder_fact_number (folder, fact) * factor;
  if (!isfinite (value))
    return;
  printf ("  %-16s ", label);
  printf (format, value);
  putchar ('\n');
}

static void
print_loss (TnRunFolder *folder, const char *fact, const char *label)
{
  double value = tn_run_folder_fact_number (folder, fact);
  g_autofree char *text = tn_cli_number (value);
  if (isfinite (value))
    printf ("  %-16s %s\n", label, text);
}

static void
print_bytes (TnRunFolder *folder, const char *fact, const char *label)
{
  double value = tn_run_folder_fact_number (folder, fact);
  g_autofree char *text = tn_cli_bytes (value);
  if (isfinite (value) && value > 0)
    printf ("  %-16s %s\n", label, text);
}

static void
print_setting_cb (const TnSetting *setting, const char *value, gboolean is_set, void *data)
{
  if (tn_run_folder_is_chosen (data, setting->name))
    printf ("  %s = %s\n", setting->name, value);
}

static void
print_checkpoints (TnRunFolder *folder)
{
  g_autofree char *path = tn_run_folder_checkpoints_path (folder);
  g_autoptr (GArray) steps = tn_checkpoint_list (path);
  printf (_ ("Checkpoints:"));
  for (guint i = 0; i < steps->len; i++)
    printf (" %" G_GINT64_FORMAT, g_array_index (steps, gint64, i));
  printf ("%s\n", steps->len == 0 ? _ (" none") : "");
}

static void
print_run (TnRunFolder *folder)
{
  TnRunState state = tn_run_folder_seen_state (folder); /* may read run.json again: texts of the folder only after this */
  const char *reason = tn_run_folder_reason (folder);
  printf ("%s\n", tn_run_folder_path (folder));
  printf (_ ("%s, %s.%s%s\n"), tn_run_folder_model_name (folder), tn_run_state_name (state),
          *reason != '\0' ? " " : "", reason);
  print_number (folder, "step", _ ("steps"), "%.0f", 1);
  print_loss (folder, "loss", _ ("loss"));
  print_number (folder, "accuracy", _ ("accuracy"), "%.2f %%", 100);
  print_loss (folder, "validation_loss", _ ("held-out loss"));
  print_number (folder, "seconds", _ ("seconds"), "%.2f", 1);
  print_number (folder, "parameters", _ ("parameters"), "%.0f", 1);
  print_bytes (folder, "memory_forecast", _ ("memory forecast"));
  print_bytes (folder, "memory_grown", _ ("memory taken"));
  print_bytes (folder, "memory_measured", _ ("whole process"));
  const char *build = tn_run_folder_fact (folder, "build"), *fingerprint = tn_run_folder_fact (folder, "data_fingerprint");
  if (build != NULL)
    printf ("  %-16s %s\n", _ ("build"), build);
  if (fingerprint != NULL)
    printf ("  %-16s %s\n", _ ("data fingerprint"), fingerprint);
  print_checkpoints (folder);
  printf (_ ("Settings that were chosen:\n"));
  tn_settings_foreach (tn_run_folder_settings (folder), print_setting_cb, folder);
  for (int i = 0; i < tn_run_folder_n_changes (folder); i++)
    {
      const TnRunChange *change = tn_run_folder_change (folder, i);
      printf (_ ("  from step %" PRId64 ": %s = %s\n"), change->step, change->name, change->value);
    }
}

int
tn_command_show (int argc, char **argv)
{
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("run.json as one line, with the state as seen now"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("show", entries, &argc, &argv, 1, 1, _ ("name a run's folder")))
    return TN_EXIT_USAGE;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (argv[1], &error);
  if (folder == NULL)
    return tn_cli_fail (error, json);
  if (!json)
    {
      print_run (folder);
      return TN_EXIT_DONE;
    }
  g_autoptr (JsonNode) node = json_node_copy (tn_run_folder_json (folder));
  JsonObject *object = json_node_dup_object (node);
  json_object_set_string_member (object, "state", tn_run_state_name (tn_run_folder_seen_state (folder)));
  json_object_set_string_member (object, "path", tn_run_folder_path (folder));
  tn_cli_print_json (object);
  return TN_EXIT_DONE;
}
