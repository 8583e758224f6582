/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/processes.h"
#include "cli/session.h"
#include "base/error.h"

/* resume: goes on from the newest checkpoint that holds, or from the beginning where there never was one. */
int
tn_command_resume (int argc, char **argv)
{
  g_auto (GStrv) set = NULL;
  gboolean json = FALSE, restart = FALSE;
  const GOptionEntry entries[] = {
    { "set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &set, N_ ("A setting from here on, such as train.epochs"), "NAME=VALUE" },
    { "restart", 0, 0, G_OPTION_ARG_NONE, &restart, N_ ("Begin again at step 0 where all checkpoints are gone"), NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, N_ ("One JSON object a line"), NULL },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("resume", entries, &argc, &argv, 1, 1, _ ("name a run's folder")))
    return TN_EXIT_USAGE;
  g_autoptr (GError) error = NULL;
  int status = TN_EXIT_DONE;
  if (!tn_processes_join (json, &status))
    return status;
  if (tn_processes_is_follower ())
    return tn_processes_serve ();
  TnRunFolder *folder = tn_run_folder_open (argv[1], &error);
  tn_processes_announce (folder);
  return tn_processes_leave (folder != NULL ? tn_session_run ("resume", folder, set, restart ? TN_SESSION_RESTART : 0, json)
                                            : tn_cli_fail (error, json));
}
