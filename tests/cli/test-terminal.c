/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The progress bar, on a pseudo-terminal. */

/* Trains @project with stderr on a terminal of @columns; returns what came there. */
static char *
train_on_terminal (const char *project, int columns, char **out)
{
  g_autofree char *program = program_path ();
  int master = posix_openpt (O_RDWR | O_NOCTTY);
  g_assert_cmpint (master, >=, 0);
  g_assert_cmpint (grantpt (master), ==, 0);
  g_assert_cmpint (unlockpt (master), ==, 0);
  int slave = open (ptsname (master), O_RDWR | O_NOCTTY);
  struct winsize size = { .ws_row = 24, .ws_col = (unsigned short) columns };
  g_assert_cmpint (ioctl (slave, TIOCSWINSZ, &size), ==, 0);
  g_autoptr (GError) error = NULL;
  g_autofree char *data = g_build_filename (scratch, "data", NULL);
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_subprocess_launcher_set_cwd (launcher, scratch);
  g_subprocess_launcher_setenv (launcher, "XDG_DATA_HOME", data, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_RUNTIME_DIR", scratch, TRUE);
  g_subprocess_launcher_setenv (launcher, "TERM", "xterm", TRUE);
  g_subprocess_launcher_take_stderr_fd (launcher, slave);
  g_autoptr (GSubprocess) process = g_subprocess_launcher_spawn (launcher, &error, program, "train", project, NULL);
  g_assert_no_error (error);
  g_clear_object (&launcher); /* closes the slave: the master ends with the process */
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[4096];
  for (ssize_t n; (n = read (master, buffer, sizeof buffer)) > 0;)
    g_string_append_len (text, buffer, n);
  close (master);
  g_subprocess_communicate_utf8 (process, NULL, NULL, out, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (exit_code (process), ==, 0);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* @bar: a line this wide always has room for it, whatever else it says. */
static void
assert_bar_fits (int columns, gboolean bar)
{
  g_autofree char *out = NULL;
  gint64 begin = g_get_monotonic_time ();
  g_autofree char *text = train_on_terminal ("bar", columns, &out);
  double seconds = (double) (g_get_monotonic_time () - begin) * 1e-6;
  g_auto (GStrv) draws = g_strsplit (text, "\r", -1);
  guint n = 0;
  for (char **draw = draws; *draw != NULL; draw++)
    {
      char *end = strstr (*draw, "\033[K");
      if (end == NULL)
        continue;
      *end = '\0';
      n += **draw != '\0';
      g_assert_cmpint (g_utf8_strlen (*draw, -1), <, columns);
      if (bar && strstr (*draw, " left") != NULL)
        g_assert_cmpint (**draw, ==, '[');
    }
  g_test_message ("%u draws in %.2f s", n, seconds);
  g_assert_cmpuint (n, >, 0);
  g_assert_cmpfloat (n, <=, seconds * 10 + 2);
  g_assert_nonnull (strstr (text, "step "));
  g_assert_nonnull (strstr (out, "finished: "));
  g_assert_null (strchr (out, '\033'));
}

static void
test_bar (void)
{
  make_project ("bar", "--set train.epochs=60 --set train.eval_every=0 --set checkpoint.every_epochs=0");
  assert_bar_fits (80, TRUE);
  assert_bar_fits (40, FALSE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/terminal/bar-fits-and-is-drawn-at-most-ten-times-a-second", test_bar);
  return run_tests ();
}
