/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/session.h"
#include "base/error.h"
#include <stdio.h>

/* sample: what ./run does where there is no display. A project that is there already gets one more run. */

static TnProject *
open_or_create (const char *path, GError **error)
{
  g_autofree char *file = g_build_filename (path, "project.json", NULL);
  if (g_file_test (file, G_FILE_TEST_EXISTS))
    return tn_project_open (path, error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  if (!tn_settings_set (settings, "model.preset", "lenet5", error) || !tn_settings_set (settings, "data.source", "drawn-digits", error)
      || !tn_settings_set (settings, "train.epochs", "3", error))
    return NULL;
  return tn_project_create (path, settings, NULL, error);
}

static void
print_next (TnRunFolder *folder, const char *project_path)
{
  const char *program = tn_cli_program ();
  g_autofree char *run = tn_cli_quote (tn_run_folder_path (folder)), *project = tn_cli_quote (project_path);
  printf (_ ("\nThe project is %s. What to do next:\n"
             "  %s show %s\n"
             "  %s runs %s\n"
             "  %s resume %s --set train.epochs=6\n"
             "  %s new digits --preset lenet5 --data FOLDER-OF-MNIST && %s train digits\n"),
          project_path, program, run, program, project, program, run, program, program);
}

int
tn_command_sample (int argc, char **argv)
{
  g_auto (GStrv) set = NULL;
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &set, N_ ("A setting for this run; see tenon-cli options"), "NAME=VALUE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a line"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("sample", entries, &argc, &argv, 0, 1, ""))
    return TN_EXIT_USAGE;
  g_autofree char *path = argc > 1 ? g_strdup (argv[1]) : g_build_filename (g_get_user_data_dir (), "tenon", "sample", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = open_or_create (path, &error);
  if (project == NULL)
    return tn_cli_fail (error, json);
  int status;
  g_autoptr (TnSettings) settings = tn_settings_copy (tn_project_settings (project));
  if (!tn_cli_apply_or_tell ("sample", settings, set, tn_project_path (project), &status))
    return status;
  TnRunFolder *folder = tn_run_folder_create (project, settings, &error);
  if (folder == NULL)
    return tn_cli_fail (error, json);
  g_autofree char *run = g_strdup (tn_run_folder_path (folder));
  if (!json)
    printf (_ ("Training LeNet-5 on drawn digits in %s\n"), run);
  status = tn_session_run ("sample", folder, NULL, TN_SESSION_NEW, json);
  g_autoptr (TnRunFolder) made = status == TN_EXIT_DONE && !json ? tn_run_folder_open (run, NULL) : NULL;
  if (made != NULL)
    print_next (made, tn_project_path (project));
  return status;
}
