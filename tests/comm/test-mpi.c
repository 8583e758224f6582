/* SPDX-License-Identifier: Apache-2.0 */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks as processes: mpirun starts mpi-ranks, whose path MPI_RANKS names. */

static char *
run_ranks (int n, const char *what, gboolean ends_well)
{
  g_autofree char *count = g_strdup_printf ("%d", n);
  const char *argv[] = { "mpirun", "--oversubscribe", "-n", count, g_getenv ("MPI_RANKS"), what, NULL };
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE);
  g_subprocess_launcher_setenv (launcher, "OMPI_ALLOW_RUN_AS_ROOT", "1", TRUE);
  g_subprocess_launcher_setenv (launcher, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", TRUE);
  GError *error = NULL;
  g_autoptr (GSubprocess) process = g_subprocess_launcher_spawnv (launcher, argv, &error);
  g_assert_no_error (error);
  char *text = NULL;
  g_subprocess_communicate_utf8 (process, NULL, NULL, &text, NULL, &error);
  g_assert_no_error (error);
  if (g_subprocess_get_successful (process) != ends_well)
    g_test_message ("%s", text);
  g_assert_true (g_subprocess_get_successful (process) == ends_well);
  return text;
}

static int
count (const char *text, const char *part)
{
  int n = 0;
  for (const char *at = text; (at = strstr (at, part)) != NULL; at += strlen (part))
    n++;
  return n;
}

static void
test_collectives (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autofree char *number = g_strdup_printf ("%u", seed);
  static const int counts[] = { 1, 2, 3, 5 };
  for (gsize i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      g_autofree char *text = run_ranks (counts[i], number, TRUE);
      g_assert_cmpint (count (text, "ok\n"), ==, counts[i]);
    }
}

static void
test_failure_is_named (void)
{
  gint64 begun = g_get_monotonic_time ();
  g_autofree char *text = run_ranks (3, "fail", FALSE);
  g_assert_cmpint (count (text, "Rank 2 stopped: the disk is full\n"), ==, 2);
  g_assert_cmpint (g_get_monotonic_time () - begun, <, 10 * G_USEC_PER_SEC);
}

static void
test_idle (void)
{
  g_autofree char *text = run_ranks (4, "idle", TRUE);
  g_assert_cmpint (count (text, "share "), ==, 3);
  for (const char *at = text; (at = strstr (at, "share ")) != NULL; at++)
    {
      g_test_message ("%.4f of a core", g_ascii_strtod (at + 6, NULL));
      g_assert_cmpfloat (g_ascii_strtod (at + 6, NULL), <, 0.03);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autofree char *mpirun = g_find_program_in_path ("mpirun");
  if (mpirun == NULL || g_getenv ("MPI_RANKS") == NULL)
    {
      g_test_message ("no mpirun here");
      return g_test_run ();
    }
  g_test_add_func ("/comm/mpi/collectives-equal-brute-force", test_collectives);
  g_test_add_func ("/comm/mpi/failure-stops-all-with-its-name", test_failure_is_named);
  g_test_add_func ("/comm/mpi/idle-ranks-take-under-3-percent", test_idle);
  return g_test_run ();
}
