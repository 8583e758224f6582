/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "train/run-client.h"
#include "train/service.h"

/* The address sanitizer keeps freed memory for a while. */
#ifdef __SANITIZE_ADDRESS__
#define MAX_GROWTH (256u << 20)
#else
#define MAX_GROWTH (4u << 20)
#endif

/* A trainer that serves itself on D-Bus, in a process of its own (this program with --serve RUN), and clients that follow it. */

static char *scratch;
static char *program;

static gboolean is_over;

static void
serve_state_cb (TnTrainer *trainer, int state, const char *cause, const char *reason, gpointer data)
{
  is_over = tn_run_state_is_end ((TnRunState) state);
}

static int
serve (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTrainer) trainer = new_trainer (path);
  g_signal_connect (trainer, "state-changed", G_CALLBACK (serve_state_cb), NULL);
  if (!tn_trainer_start (trainer, &error))
    return 3;
  g_autoptr (TnService) service = tn_service_new (trainer, &error);
  if (service == NULL)
    return 4;
  tn_trainer_handle_signals (trainer);
  while (!is_over)
    g_main_context_iteration (NULL, TRUE);
  return tn_trainer_was_interrupted (trainer) ? 130 : 0;
}

static GPid
spawn (const char *mode, const char *path)
{
  char *arguments[] = { program, (char *) mode, (char *) path, NULL };
  g_autoptr (GError) error = NULL;
  GPid pid;
  g_spawn_async (NULL, arguments, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &error);
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

/* What a client was told. */
typedef struct
{
  GPtrArray *lines; /* "tag step value" of deterministic tags */
  guint n_live, n_checkpoints;
  gboolean caught_up;
  TnRun *run;
} Told;

static void
told_metrics_cb (TnRun *run, gpointer data, gpointer user_data)
{
  Told *told = user_data;
  const TnMetricsBatch *batch = data;
  told->n_live += tn_run_is_connected (run);
  for (guint i = 0; i < batch->n; i++)
    {
      char value[G_ASCII_DTOSTR_BUF_SIZE];
      if (tn_tags[batch->tags[i]].deterministic)
        g_ptr_array_add (told->lines, g_strdup_printf ("%s %" G_GINT64_FORMAT " %s", tn_tags[batch->tags[i]].name, batch->steps[i],
                                                       g_ascii_dtostr (value, sizeof value, (double) batch->values[i])));
    }
}

static void
told_checkpoint_cb (TnRun *run, gint64 step, const char *path, gpointer data)
{
  ((Told *) data)->n_checkpoints++;
}

static void
told_caught_up_cb (TnRun *run, gpointer data)
{
  ((Told *) data)->caught_up = TRUE;
}

static void
follow (Told *told, const char *path)
{
  g_autoptr (GError) error = NULL;
  *told = (Told){ .lines = g_ptr_array_new_with_free_func (g_free), .run = tn_run_new (path, &error) };
  g_assert_no_error (error);
  g_signal_connect (told->run, "metrics", G_CALLBACK (told_metrics_cb), told);
  g_signal_connect (told->run, "checkpointed", G_CALLBACK (told_checkpoint_cb), told);
  g_signal_connect (told->run, "caught-up", G_CALLBACK (told_caught_up_cb), told);
  tn_run_follow (told->run);
}

static void
told_clear (Told *told)
{
  g_object_unref (told->run);
  g_ptr_array_unref (told->lines);
}

static gboolean
nothing_cb (gpointer data)
{
  return G_SOURCE_CONTINUE;
}

static void
iterate_until_end (Told *told)
{
  guint timer = g_timeout_add (100, nothing_cb, NULL);
  gint64 until = g_get_monotonic_time () + 90 * G_USEC_PER_SEC;
  while (!tn_run_state_is_end (tn_run_state (told->run)) || !told->caught_up)
    {
      g_assert_cmpint (g_get_monotonic_time (), <, until);
      g_main_context_iteration (NULL, TRUE);
    }
  g_source_remove (timer);
}

static void
assert_told_everything (Told *told, const char *path)
{
  g_autoptr (GPtrArray) rows = deterministic_rows (path);
  g_ptr_array_sort (told->lines, compare_text);
  g_assert_cmpuint (told->lines->len, ==, rows->len);
  for (guint i = 0; i < rows->len; i++)
    g_assert_cmpstr (g_ptr_array_index (told->lines, i), ==, g_ptr_array_index (rows, i));
}

static void
test_every_row_once (void)
{
  const char *const more[] = { "train.epochs=40", NULL };
  g_autofree char *path = small_run (scratch, "rows", more);
  GPid pid = spawn ("--serve", path);
  g_usleep (100000); /* some history before the client comes */
  Told told;
  follow (&told, path);
  iterate_until_end (&told);
  g_assert_cmpint (wait_exit (pid), ==, 0);
  g_assert_cmpstr (tn_run_state_name (tn_run_state (told.run)), ==, "finished");
  assert_told_everything (&told, path);
  told_clear (&told);
}

/* Waits for the address, so that a call finds its process. */
static void
wait_for_service (const char *path)
{
  for (int i = 0; i < 600; i++)
    {
      g_auto (TnRunOwner) owner = { 0 };
      if (tn_run_folder_owner (path, &owner, NULL) && owner.held && owner.address != NULL)
        return;
      g_usleep (10000);
    }
  g_assert_not_reached ();
}

static void
test_calls (void)
{
  const char *const more[] = { "train.epochs=100000", NULL };
  g_autofree char *path = small_run (scratch, "calls", more);
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_run_call_sync (path, "Stop", NULL, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_STATE);
  g_clear_error (&error);

  GPid pid = spawn ("--serve", path);
  wait_for_service (path);
  g_auto (TnRunOwner) owner = { 0 };
  g_assert_true (tn_run_folder_owner (path, &owner, NULL));
  g_assert_cmpint (owner.pid, ==, pid);
  GStatBuf info;
  g_assert_true (g_str_has_prefix (owner.address, "unix:path="));
  g_autofree char *socket = g_strndup (owner.address + strlen ("unix:path="), strcspn (owner.address + strlen ("unix:path="), ","));
  g_assert_cmpint (g_stat (socket, &info), ==, 0);
  g_assert_cmpuint (info.st_mode & 0777, ==, 0600);

  g_assert_false (tn_run_call_sync (path, "SetValue", g_variant_new ("(ss)", "train.batch", "5"), &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_STATE);
  g_clear_error (&error);
  g_assert_false (tn_run_call_sync (path, "SetValue", g_variant_new ("(ss)", "optimizer.lr", "many"), &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
  g_clear_error (&error);
  g_assert_true (tn_run_call_sync (path, "SetValue", g_variant_new ("(ss)", "optimizer.lr", "0.002"), &error));
  g_assert_true (tn_run_call_sync (path, "Pause", NULL, &error));
  g_assert_true (tn_run_call_sync (path, "Checkpoint", NULL, &error));
  g_assert_true (tn_run_call_sync (path, "Resume", NULL, &error));
  g_assert_true (tn_run_call_sync (path, "Park", NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (wait_exit (pid), ==, 0);
  g_autoptr (TnRunFolder) run = tn_run_folder_open (path, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_run_folder_state (run), ==, TN_RUN_PARKED);
  g_assert_cmpint (tn_run_folder_n_changes (run), ==, 1);
  g_assert_cmpstr (tn_run_folder_change (run, 0)->name, ==, "optimizer.lr");
  g_assert_false (g_file_test (socket, G_FILE_TEST_EXISTS));
}

static void
test_interrupt_saves (void)
{
  const char *const more[] = { "train.epochs=100000", NULL };
  g_autofree char *path = small_run (scratch, "interrupt", more);
  GPid pid = spawn ("--serve", path);
  wait_for_service (path);
  g_usleep (200000);
  kill (pid, SIGINT);
  g_assert_cmpint (wait_exit (pid), ==, 130);
  g_autoptr (TnRunFolder) run = tn_run_folder_open (path, NULL);
  g_assert_cmpint (tn_run_folder_state (run), ==, TN_RUN_STOPPED);
  g_autofree char *folder = tn_run_folder_checkpoints_path (run);
  g_autoptr (TnCheckpoint) checkpoint = tn_checkpoint_open_newest (folder, NULL, NULL);
  g_assert_cmpint (tn_checkpoint_state (checkpoint)->step, ==, (gint64) tn_run_folder_fact_number (run, "step"));
}

static void
test_killed_run_is_lost (void)
{
  const char *const more[] = { "train.epochs=100000", NULL };
  g_autofree char *path = small_run (scratch, "killed", more);
  GPid pid = spawn ("--serve", path);
  wait_for_service (path);
  Told told;
  follow (&told, path);
  while (told.n_live == 0)
    g_main_context_iteration (NULL, TRUE);
  kill (pid, SIGKILL);
  wait_exit (pid);
  iterate_until_end (&told);
  g_assert_cmpstr (tn_run_state_name (tn_run_state (told.run)), ==, "lost");
  told_clear (&told);
}

static guint64
resident_bytes (GPid pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/statm", (int) pid);
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return g_ascii_strtoull (strchr (text, ' '), NULL, 10) * (guint64) sysconf (_SC_PAGESIZE);
}

static int
watch (const char *path)
{
  Told told;
  follow (&told, path);
  while (!tn_run_state_is_end (tn_run_state (told.run)) || !told.caught_up)
    g_main_context_iteration (NULL, TRUE);
  g_autoptr (GPtrArray) rows = deterministic_rows (path);
  int result = told.lines->len == rows->len ? 0 : 5;
  told_clear (&told);
  return result;
}

/* A client that is stopped: the trainer's memory stays flat, and the client lacks nothing when it wakes. Seconds: 5, or 60 with -m slow. */
static void
test_stopped_client (void)
{
  const char *const more[] = { "train.epochs=1000000", "checkpoint.every_epochs=0", "train.eval_every=0",
                               "optimizer.lr=0.0001", NULL };
  g_autofree char *path = small_run (scratch, "stopped", more);
  int seconds = g_test_slow () ? 60 : 5;
  GPid trainer = spawn ("--serve", path);
  wait_for_service (path);
  GPid client = spawn ("--watch", path);
  g_usleep (2000000);
  kill (client, SIGSTOP);
  g_usleep (1500000);
  guint64 before = resident_bytes (trainer);
  g_usleep ((gulong) seconds * 1000000);
  guint64 after = resident_bytes (trainer);
  g_test_message ("trainer: %" G_GUINT64_FORMAT " bytes, %d s later %" G_GUINT64_FORMAT, before, seconds, after);
  g_assert_cmpuint (after, <, before + MAX_GROWTH);
  g_autoptr (GError) error = NULL;
  g_assert_true (tn_run_call_sync (path, "Stop", NULL, &error)); /* the stopped client does not hold it */
  g_assert_cmpint (wait_exit (trainer), ==, 0);
  kill (client, SIGCONT);
  g_assert_cmpint (wait_exit (client), ==, 0);
}

int
main (int argc, char **argv)
{
  if (argc == 3 && strcmp (argv[1], "--serve") == 0)
    return serve (argv[2]);
  if (argc == 3 && strcmp (argv[1], "--watch") == 0)
    return watch (argv[2]);
  program = g_file_read_link ("/proc/self/exe", NULL);
  g_test_init (&argc, &argv, NULL);
  scratch = make_scratch ();
  g_test_add_func ("/train/service/a-client-gets-every-row-once", test_every_row_once);
  g_test_add_func ("/train/service/calls-reach-the-trainer", test_calls);
  g_test_add_func ("/train/service/an-interrupt-saves-and-stops", test_interrupt_saves);
  g_test_add_func ("/train/service/a-killed-run-is-lost", test_killed_run_is_lost);
  g_test_add_func ("/train/service/a-stopped-client-costs-nothing", test_stopped_client);
  int result = g_test_run ();
  remove_tree (scratch);
  g_free (scratch);
  g_free (program);
  return result;
}
