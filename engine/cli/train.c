/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/processes.h"
#include "cli/session.h"
#include "base/error.h"

/* train: a new run of a project, or the first start of a run that waits. */

static TnRunFolder *
make_run (const char *path, char **set, gboolean json, int *exit_code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProject) project = tn_project_open (path, &error);
  if (project == NULL)
    {
      *exit_code = tn_cli_fail (error, json);
      return NULL;
    }
  g_autoptr (TnSettings) settings = tn_settings_copy (tn_project_settings (project));
  if (!tn_cli_apply_or_tell ("train", settings, set, tn_project_path (project), exit_code))
    return NULL;
  if (!tn_processes_apply (settings, &error))
    {
      *exit_code = tn_cli_fail (error, json);
      return NULL;
    }
  TnRunFolder *folder = tn_run_folder_create (project, settings, &error);
  if (folder == NULL)
    *exit_code = tn_cli_fail (error, json);
  return folder;
}

static TnRunFolder *
open_queued (const char *path, gboolean json, int *exit_code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (path, &error);
  TnRunState state = folder != NULL ? tn_run_folder_seen_state (folder) : TN_RUN_QUEUED;
  g_autofree char *quoted = tn_cli_quote (path);
  if (folder != NULL && state != TN_RUN_QUEUED && !tn_run_state_is_end (state))
    g_set_error (&error, TN_ERROR, TN_ERROR_BUSY,
                 _ ("“%s” is %s in another process: “%s attach %s watch” shows how far it is, “… stop” ends it."), path,
                 tn_run_state_name (state), tn_cli_program (), quoted);
  else if (folder != NULL && state != TN_RUN_QUEUED)
    g_set_error (&error, TN_ERROR, TN_ERROR_STATE, _ ("“%s” was begun already, it is %s: “%s resume %s” goes on with it."), path,
                 tn_run_state_name (state), tn_cli_program (), quoted);
  if (error == NULL)
    return g_steal_pointer (&folder);
  *exit_code = tn_cli_fail (error, json);
  return NULL;
}

int
tn_command_train (int argc, char **argv)
{
  g_auto (GStrv) set = NULL;
  gboolean json = FALSE;
  const GOptionEntry entries[] = {
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &set, N_ ("A setting for this run; see tenon-cli options"), "NAME=VALUE" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a line; the last is the result"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("train", entries, &argc, &argv, 1, 1, _ ("name a project's folder or a queued run")))
    return TN_EXIT_USAGE;
  int status = TN_EXIT_DONE;
  if (!tn_processes_join (json, &status))
    return status;
  if (tn_processes_is_follower ())
    return tn_processes_serve ();
  gboolean queued = tn_cli_is_run (argv[1]);
  TnRunFolder *folder = queued ? open_queued (argv[1], json, &status) : make_run (argv[1], set, json, &status);
  tn_processes_announce (folder);
  return tn_processes_leave (folder != NULL ? tn_session_run ("train", folder, queued ? set : NULL, queued ? 0 : TN_SESSION_NEW, json) : status);
}
