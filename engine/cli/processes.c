/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/processes.h"
#include "cli/cli.h"
#include "base/error.h"
#include "comm/mpi.h"
#include "train/program.h"
#include "train/rank-files.h"
#include "train/ranks.h"
#include <stdio.h>
#include <string.h>

#define MAX_PATH_BYTES 4096

static TnComm *comm;
static TnRankFiles *files;

gboolean
tn_processes_join (gboolean json, int *status)
{
  g_autoptr (GError) error = NULL;
  if (!tn_comm_mpi_is_started ())
    return TRUE;
  comm = tn_comm_mpi_open (&error);
  tn_ranks_set_process (comm);
  if (comm == NULL)
    *status = tn_cli_fail (error, json);
  return comm != NULL;
}

gboolean
tn_processes_is_follower (void)
{
  return comm != NULL && tn_comm_rank (comm) > 0;
}

/* ---- rank 0 ---- */

gboolean
tn_processes_apply (TnSettings *settings, GError **error)
{
  if (comm == NULL)
    return TRUE;
  g_autofree char *n = g_strdup_printf ("%d", tn_comm_size (comm));
  return (tn_settings_is_set (settings, "parallel.ranks") || tn_settings_set (settings, "parallel.ranks", n, error))
         && (tn_settings_is_set (settings, "parallel.mode") || tn_settings_set (settings, "parallel.mode", "data_parallel", error));
}

void
tn_processes_announce (TnRunFolder *folder)
{
  char path[MAX_PATH_BYTES] = { 0 };
  g_autoptr (GError) error = NULL;
  if (comm == NULL)
    return;
  if (folder != NULL)
    g_strlcpy (path, tn_run_folder_path (folder), sizeof path);
  if (!tn_comm_broadcast (comm, path, sizeof path, TN_DTYPE_U8, 0, &error))
    fprintf (stderr, "tenon-cli: %s\n", error->message);
  if (folder != NULL)
    files = tn_rank_files_open (path, 0, TRUE, &error);
}

void
tn_processes_note_told (void)
{
  static gboolean noted;
  if (files != NULL && !noted)
    tn_rank_files_note_told (files);
  noted = TRUE;
}

int
tn_processes_leave (int status)
{
  if (comm == NULL)
    return status;
  if (!tn_ranks_process_is_over ())
    tn_comm_fail (comm, _ ("the run ended before its ranks began"));
  tn_rank_files_close (files, status == TN_EXIT_FAILED ? _ ("see the run's own log") : NULL);
  files = NULL;
  tn_ranks_set_process (NULL);
  g_clear_pointer (&comm, tn_comm_free);
  return status;
}

/* ---- the others ---- */

static gboolean
serve_run (const char *path, GError **error)
{
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (path, error);
  if (folder == NULL)
    return FALSE;
  g_autoptr (TnSettings) settings = tn_run_folder_settings_at (folder, G_MAXINT64);
  tn_settings_reset (settings, "init.from"); /* rank 0 sends its state */
  g_autoptr (TnModel) model = tn_run_folder_load_model (folder, error);
  g_autoptr (TnProgram) program = model != NULL ? tn_program_new_ranks (model, settings, error) : NULL;
  if (program == NULL)
    return FALSE;
  g_autofree char *text = g_strdup_printf (_ ("Rank %d of %d, process on %s."), tn_comm_rank (comm), tn_comm_size (comm), g_get_host_name ());
  tn_rank_files_log (files, text);
  return tn_program_serve (program, error);
}

int
tn_processes_serve (void)
{
  char path[MAX_PATH_BYTES] = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean ok = tn_comm_broadcast (comm, path, sizeof path, TN_DTYPE_U8, 0, &error);
  path[sizeof path - 1] = '\0';
  if (ok && *path != '\0')
    {
      files = tn_rank_files_open (path, tn_comm_rank (comm), FALSE, &error);
      ok = files != NULL && serve_run (path, &error);
    }
  if (!ok)
    tn_comm_fail (comm, error->message);
  tn_rank_files_close (files, ok ? NULL : error->message);
  tn_ranks_set_process (NULL);
  g_clear_pointer (&comm, tn_comm_free);
  return ok ? TN_EXIT_DONE : TN_EXIT_FAILED; /* rank 0 tells what happened */
}
