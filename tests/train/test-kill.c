/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* A trainer that is killed: at every fault point of its files (every ninth; all of them with -m slow), and at random moments.
 * Resumed, it must equal an undisturbed run. The trainer is this program with --train RUN. */

static char *scratch, *program;
static const char *const settings[] = { "train.epochs=1", "checkpoint.every_steps=6", "checkpoint.keep=2", NULL };

static int
train_child (const char *path)
{
  g_autoptr (GError) error = NULL;
  TnRunState state = train (path, NULL, NULL, &error);
  if (error != NULL)
    g_printerr ("%s\n", error->message);
  return state == TN_RUN_FINISHED ? 0 : 1;
}

static GPid
spawn_trainer (const char *path, const char *fault)
{
  char *arguments[] = { program, (char *) "--train", (char *) path, NULL };
  g_auto (GStrv) environment = g_get_environ ();
  if (fault != NULL)
    environment = g_environ_setenv (environment, "TENON_FAULT", fault, TRUE);
  g_autoptr (GError) error = NULL;
  GPid pid;
  g_spawn_async (NULL, arguments, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &error);
  g_assert_no_error (error);
  return pid;
}

static int
wait_exit (GPid pid)
{
  int status;
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

static char *
fresh_run (int number)
{
  g_autofree char *name = g_strdup_printf ("run-%d", number);
  return small_run (scratch, name, settings);
}

static char *
undisturbed_run (guint64 *n_points)
{
  static int counter;
  g_autofree char *name = g_strdup_printf ("undisturbed-%d", counter++);
  g_autofree char *path = small_run (scratch, name, settings);
  g_autofree char *counts = g_build_filename (scratch, "counts", NULL);
  g_autofree char *fault = g_strconcat ("count:", counts, NULL);
  g_assert_cmpint (wait_exit (spawn_trainer (path, fault)), ==, 0);
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (counts, &text, NULL, NULL));
  *n_points = g_ascii_strtoull (text + strlen ("points "), NULL, 10);
  return g_steal_pointer (&path);
}

static void
finish_and_compare (const char *whole, const char *path)
{
  g_assert_cmpint (wait_exit (spawn_trainer (path, NULL)), ==, 0);
  assert_equal_runs (whole, path, 20);
  remove_tree (path);
}

static void
test_every_point (void)
{
  guint64 n_points, stride = g_test_slow () ? 1 : 9;
  int n_killed = 0;
  g_autofree char *whole = undisturbed_run (&n_points);
  g_assert_cmpuint (n_points, >, 100);
  for (guint64 point = 1; point <= n_points; point += stride)
    {
      g_autofree char *path = fresh_run ((int) point);
      g_autofree char *fault = g_strdup_printf ("kill:%" G_GUINT64_FORMAT, point);
      n_killed += wait_exit (spawn_trainer (path, fault)) == 128 + SIGKILL;
      finish_and_compare (whole, path);
    }
  g_test_message ("%" G_GUINT64_FORMAT " points, killed at %d", n_points, n_killed);
  g_assert_cmpint (n_killed, >, 10); /* the last points move with the number of batches of rows */
}

static void
test_random_moments (void)
{
  guint64 n_points;
  g_autofree char *whole = undisturbed_run (&n_points);
  int n = g_test_slow () ? 50 : 6;
  for (int i = 0; i < n; i++)
    {
      g_autofree char *path = fresh_run (100000 + i);
      GPid pid = spawn_trainer (path, NULL);
      g_usleep ((gulong) g_test_rand_int_range (1000, 120000));
      kill (pid, SIGKILL);
      wait_exit (pid);
      finish_and_compare (whole, path);
    }
}

int
main (int argc, char **argv)
{
  if (argc == 3 && strcmp (argv[1], "--train") == 0)
    return train_child (argv[2]);
  program = g_file_read_link ("/proc/self/exe", NULL);
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/kill/at-a-fault-point-resumes-exactly", test_every_point);
  g_test_add_func ("/train/kill/at-a-random-moment-resumes-exactly", test_random_moments);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  g_free (program);
  return result;
}
