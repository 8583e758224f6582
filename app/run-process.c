/* SPDX-License-Identifier: Apache-2.0 */
#include "run-process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <unistd.h>

#include "base/error.h"
#include "run-control.h"

#ifndef TN_LIBEXECDIR
#define TN_LIBEXECDIR "/usr/libexec"
#endif

static char *
find_cli (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = self != NULL ? g_path_get_dirname (self) : g_strdup (".");
  char *places[] = { g_build_filename (folder, "tenon-cli", NULL), g_build_filename (folder, "..", "engine", "cli", "tenon-cli", NULL),
                     g_build_filename (folder, "..", "..", "engine", "cli", "tenon-cli", NULL), g_strdup (TN_LIBEXECDIR "/tenon-cli"),
                     g_find_program_in_path ("tenon-cli") };
  char *found = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      if (found == NULL && places[i] != NULL && g_file_test (places[i], G_FILE_TEST_IS_EXECUTABLE))
        found = g_canonicalize_filename (places[i], NULL);
      g_free (places[i]);
    }
  return found;
}

const char *
tn_cli_path (void)
{
  static gsize ready;
  static char *path;
  if (g_once_init_enter (&ready))
    {
      path = find_cli ();
      g_once_init_leave (&ready, 1);
    }
  return path;
}

/* Between fork and exec: only calls that are safe there. */
static void
own_session (gpointer data)
{
  (void) setsid ();
}

GSubprocess *
tn_run_process_spawn (const char *const *arguments, const char *run_path, GError **error)
{
  const char *cli = tn_cli_path ();
  if (cli == NULL)
    {
      g_set_error_literal (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("tenon-cli, which trains, was not found beside Tenon. Install Tenon again."));
      return NULL;
    }
  g_autofree char *log = g_build_filename (run_path, "log.txt", NULL);
  int fd = open (log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    {
      tn_error_set_errno (error, errno, _("write"), log);
      return NULL;
    }
  int null = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDERR_MERGE);
  g_subprocess_launcher_take_stdin_fd (launcher, null);
  g_subprocess_launcher_take_stdout_fd (launcher, fd);
  g_subprocess_launcher_set_child_setup (launcher, own_session, NULL, NULL);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_ptr_array_add (argv, (gpointer) cli);
  for (; *arguments != NULL; arguments++)
    g_ptr_array_add (argv, (gpointer) *arguments);
  g_ptr_array_add (argv, NULL);
  return g_subprocess_launcher_spawnv (launcher, (const char *const *) argv->pdata, error);
}
