/* SPDX-License-Identifier: Apache-2.0 */
#include <gio/gio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Ranks as processes: mpirun starts mpi-ranks, whose path MPI_RANKS names. */

static GSubprocess *
start (const char *const *argv)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE);
  g_subprocess_launcher_setenv (launcher, "OMPI_ALLOW_RUN_AS_ROOT", "1", TRUE);
  g_subprocess_launcher_setenv (launcher, "ASAN_OPTIONS", "detect_leaks=0", TRUE); /* Open MPI leaks, in modules that it unloads */
  g_subprocess_launcher_setenv (launcher, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", TRUE);
  GError *error = NULL;
  GSubprocess *process = g_subprocess_launcher_spawnv (launcher, argv, &error);
  g_assert_no_error (error);
  return process;
}

static char *
output_of (const char *const *argv, gboolean ends_well)
{
  g_autoptr (GSubprocess) process = start (argv);
  GError *error = NULL;
  char *text = NULL;
  g_subprocess_communicate_utf8 (process, NULL, NULL, &text, NULL, &error);
  g_assert_no_error (error);
  if (g_subprocess_get_successful (process) != ends_well)
    g_test_message ("%s", text);
  g_assert_true (g_subprocess_get_successful (process) == ends_well);
  return text;
}

static char *
run_ranks (int n, const char *what, gboolean ends_well)
{
  g_autofree char *count = g_strdup_printf ("%d", n);
  const char *argv[] = { "mpirun", "--oversubscribe", "-n", count, g_getenv ("MPI_RANKS"), what, NULL };
  return output_of (argv, ends_well);
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

/* ---- training ---- */

static char *scratch;

static char *
make_project (const char *name, const char *epochs)
{
  char *path = g_build_filename (scratch, name, NULL);
  const char *argv[] = { g_getenv ("TENON_CLI"), "new", path, "--preset", "lenet5", "--set", "data.samples=200", "--set", "train.batch=24", "--set", epochs,
                         "--set", "data.drop_last=false", "--set", "checkpoint.every_steps=5", "--set", "device.threads=1", NULL };
  g_free (output_of (argv, TRUE));
  return path;
}

static char *
only_run (const char *project)
{
  g_autofree char *runs = g_build_filename (project, "runs", NULL);
  g_autoptr (GDir) dir = g_dir_open (runs, 0, NULL);
  const char *name = dir != NULL ? g_dir_read_name (dir) : NULL;
  return name != NULL ? g_build_filename (runs, name, NULL) : NULL;
}

static char *
last_weights (const char *project, gsize *n)
{
  g_autofree char *run = only_run (project), *path = g_build_filename (run, "weights", NULL);
  const char *argv[] = { g_getenv ("TENON_CLI"), "export", run, "-o", path, NULL };
  g_free (output_of (argv, TRUE));
  char *bytes = NULL;
  g_assert_true (g_file_get_contents (path, &bytes, n, NULL));
  return bytes;
}

static void
test_processes_give_the_bits_of_threads (void)
{
  g_autofree char *threads = make_project ("threads", "train.epochs=2"), *processes = make_project ("processes", "train.epochs=2");
  const char *with_threads[] = { g_getenv ("TENON_CLI"), "train", threads, "--json", "--set", "parallel.ranks=3", "--set", "parallel.mode=data_parallel", NULL };
  const char *with_processes[] = { "mpirun", "--oversubscribe", "-n", "3", g_getenv ("TENON_CLI"), "train", processes, "--json", NULL };
  g_free (output_of (with_threads, TRUE));
  g_autofree char *text = output_of (with_processes, TRUE);
  g_assert_cmpint (count (text, "\"state\": \"finished\""), ==, 1); /* rank 0 alone speaks */
  gsize n_a, n_b;
  g_autofree char *a = last_weights (threads, &n_a), *b = last_weights (processes, &n_b);
  g_assert_cmpmem (a, n_a, b, n_b);
  g_autofree char *run = only_run (processes);
  for (int rank = 0; rank < 3; rank++)
    {
      g_autofree char *name = g_strdup_printf ("ranks/rank-%04d.lock", rank), *path = g_build_filename (run, name, NULL), *lock = NULL;
      g_assert_true (g_file_get_contents (path, &lock, NULL, NULL));
      g_assert_nonnull (strstr (lock, "\"end\": \"finished\""));
    }
}

static gint64
process_of (const char *run, int rank)
{
  g_autofree char *name = g_strdup_printf ("ranks/rank-%04d.lock", rank), *path = g_build_filename (run, name, NULL), *lock = NULL;
  const char *at = g_file_get_contents (path, &lock, NULL, NULL) ? strstr (lock, "\"pid\": ") : NULL;
  return at != NULL ? g_ascii_strtoll (at + 7, NULL, 10) : 0;
}

static gboolean
has_checkpoint (const char *run)
{
  g_autofree char *path = g_build_filename (run, "checkpoints", NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *manifest = g_build_filename (path, name, "manifest.json", NULL);
      if (g_file_test (manifest, G_FILE_TEST_EXISTS))
        return TRUE;
    }
  return FALSE;
}

static void
test_lost_rank_is_named_and_the_run_goes_on (void)
{
  g_autofree char *project = make_project ("lost", "train.epochs=100000"), *run = NULL;
  const char *argv[] = { "mpirun", "--oversubscribe", "-n", "3", g_getenv ("TENON_CLI"), "train", project, "--json", NULL };
  g_autoptr (GSubprocess) process = start (argv);
  for (int i = 0; i < 600 && (run == NULL || !has_checkpoint (run)); i++)
    {
      g_usleep (50000);
      if (run == NULL)
        run = only_run (project);
    }
  gint64 pid = process_of (run, 2);
  g_assert_cmpint (pid, >, 1);
  kill ((pid_t) pid, SIGKILL);
  g_subprocess_communicate_utf8 (process, NULL, NULL, NULL, NULL, NULL);
  g_assert_false (g_subprocess_get_successful (process));
  const char *show[] = { g_getenv ("TENON_CLI"), "show", run, NULL };
  g_autofree char *text = output_of (show, TRUE), *named = g_strdup_printf ("Rank 2 (process %" G_GINT64_FORMAT " on ", pid);
  if (strstr (text, named) == NULL)
    g_test_message ("%s", text);
  g_assert_nonnull (strstr (text, named));
  g_assert_null (strstr (text, "Rank 0 (")); /* were told to end */
  g_assert_null (strstr (text, "Rank 1 ("));
  const char *resume[] = { "mpirun", "--oversubscribe", "-n", "3", g_getenv ("TENON_CLI"), "resume", run, "--json", "--set",
                           "train.max_steps=3000", NULL };
  g_autofree char *end = output_of (resume, TRUE);
  g_assert_cmpint (count (end, "\"state\": \"finished\""), ==, 1);
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
  scratch = g_dir_make_tmp ("tenon-mpi-XXXXXX", NULL);
  if (g_getenv ("TENON_CLI") != NULL)
    {
      g_test_add_func ("/comm/mpi/processes-give-the-bits-of-threads", test_processes_give_the_bits_of_threads);
      g_test_add_func ("/comm/mpi/lost-rank-is-named-and-the-run-goes-on", test_lost_rank_is_named_and_the_run_goes_on);
    }
  int status = g_test_run ();
  const char *const remove[] = { "rm", "-rf", scratch, NULL };
  g_spawn_sync (NULL, (char **) remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  g_free (scratch);
  return status;
}
