/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <signal.h>

/* Readers that go away, an output that is closed, a trainer that does not answer, files that may not grow. */

#define ENDLESS "--set train.epochs=100000 --set train.eval_every=0 --set checkpoint.every_epochs=0"

/* A line for bash in which $T is the program, with the scratch folder as working folder. */
static Result
shell (const char *line)
{
  g_autofree char *program = program_path (), *data = g_build_filename (scratch, "data", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  g_autofree char *absolute = g_canonicalize_filename (program, NULL);
  g_subprocess_launcher_set_cwd (launcher, scratch);
  g_subprocess_launcher_setenv (launcher, "XDG_DATA_HOME", data, TRUE);
  g_subprocess_launcher_setenv (launcher, "XDG_RUNTIME_DIR", scratch, TRUE);
  g_subprocess_launcher_setenv (launcher, "T", absolute, TRUE);
  g_autoptr (GSubprocess) process = g_subprocess_launcher_spawn (launcher, &error, "bash", "-c", line, NULL);
  g_assert_no_error (error);
  Result result = finish (process);
  g_test_message ("%s: %d\n%s%s", line, result.exit_code, result.out, result.err);
  return result;
}

/* A run that goes on until it is told to end. */
static GSubprocess *
start_endless (const char *project, char **run_path)
{
  g_autofree char *line = g_strdup_printf ("train %s --json", project);
  make_project (project, ENDLESS);
  GSubprocess *process = start (line, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_autoptr (GDataInputStream) lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (process));
  g_filter_input_stream_set_close_base_stream (G_FILTER_INPUT_STREAM (lines), FALSE);
  for (gboolean running = FALSE; !running;)
    {
      g_autofree char *got = g_data_input_stream_read_line (lines, NULL, NULL, NULL);
      g_assert_nonnull (got);
      running = strstr (got, "memory-measured") != NULL;
    }
  *run_path = only_run (project);
  return process;
}

static void
end (GSubprocess *process)
{
  g_subprocess_send_signal (process, SIGCONT);
  g_subprocess_send_signal (process, SIGINT);
  g_assert_true (g_subprocess_wait (process, NULL, NULL));
}

/* timeout(1) answers 124 where a command does not end by itself. */
static void
test_watch_ends_with_its_reader (void)
{
  g_autofree char *run_path = NULL;
  g_autoptr (GSubprocess) process = start_endless ("read", &run_path);
  static const char *const forms[] = { "timeout 20 $T attach %s watch | head -1; exit ${PIPESTATUS[0]}",
                                       "timeout 20 $T attach %s watch --json | head -1; exit ${PIPESTATUS[0]}" };
  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autoptr (GString) line = g_string_new (forms[i]);
      g_string_replace (line, "%s", run_path, 0);
      g_auto (Result) result = shell (line->str);
      g_assert_cmpint (result.exit_code, ==, 0);
      g_assert_cmpstr (result.err, ==, "");
    }
  /* Paused, there is nothing to write, and it ends all the same. */
  g_autofree char *pause = g_strdup_printf ("attach %s pause", run_path), *paused = NULL;
  run_quiet (pause);
  paused = g_strdup_printf ("timeout 20 $T attach %s watch | true; exit ${PIPESTATUS[0]}", run_path);
  g_auto (Result) result = shell (paused);
  g_assert_cmpint (result.exit_code, ==, 0);
  end (process);
}

/* A run is saved, and says so with its exit code. */
static void
test_train_saves_when_its_reader_goes (void)
{
  make_project ("saves", ENDLESS);
  g_auto (Result) result = shell ("timeout 60 $T train saves | head -1; exit ${PIPESTATUS[0]}");
  g_assert_cmpint (result.exit_code, ==, 1);
  g_assert_nonnull (strstr (result.err, "checkpoint"));
  g_autofree char *run_path = only_run ("saves");
  g_autoptr (JsonNode) shown = show (run_path);
  g_assert_cmpstr (text_of (shown, "state"), ==, "stopped");
  g_assert_cmpstr (text_of (shown, "cause"), ==, "output-closed");
  g_autofree char *list = g_strdup_printf ("show %s", run_path), *text = run_ok (list);
  g_assert_null (strstr (text, "Checkpoints: none"));
}

static void
test_closed_output_is_refused_at_once (void)
{
  make_project ("closed", ENDLESS);
  static const char *const commands[] = { "train closed", "runs closed", "options", "graph -f json closed", "--version" };
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      g_autofree char *line = g_strdup_printf ("timeout 20 $T %s >&-", commands[i]);
      g_auto (Result) result = shell (line);
      g_assert_cmpint (result.exit_code, ==, 1);
      g_assert_nonnull (strstr (result.err, "closed"));
    }
  g_autofree char *runs = g_build_filename (scratch, "closed", "runs", NULL);
  g_assert_false (g_file_test (runs, G_FILE_TEST_EXISTS)); /* not even begun */
}

static void
test_stopped_trainer_is_told (void)
{
  g_autofree char *run_path = NULL;
  g_autoptr (GSubprocess) process = start_endless ("frozen", &run_path);
  g_subprocess_send_signal (process, SIGSTOP);
  g_autofree char *advice = g_strdup_printf ("kill -CONT %s", g_subprocess_get_identifier (process));
  static const char *const words[] = { "pause", "set optimizer.lr=0.1" };
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      gint64 begun = g_get_monotonic_time ();
      g_autofree char *line = g_strdup_printf ("attach %s %s", run_path, words[i]);
      assert_fails (line, 1, advice, NULL);
      g_assert_cmpint (g_get_monotonic_time () - begun, <, 15 * G_USEC_PER_SEC);
    }
  g_autofree char *watch = g_strdup_printf ("timeout -s INT 12 $T attach %s watch", run_path);
  g_auto (Result) watched = shell (watch);
  g_assert_nonnull (strstr (watched.err, advice));
  end (process);
}

/* A file that may not grow is the disk-full error and not a signal without a word. */
static void
test_file_limit_is_an_error (void)
{
  make_project ("limit", "--set train.epochs=40 --set checkpoint.every_steps=1");
  g_auto (Result) result = shell ("ulimit -f 100; $T train limit --json");
  g_assert_cmpint (result.exit_code, ==, 1);
  g_assert_true (strstr (result.out, "\"no-space\"") != NULL);
  g_autofree char *run_path = only_run ("limit");
  g_autoptr (JsonNode) shown = show (run_path);
  g_assert_cmpstr (text_of (shown, "state"), ==, "failed");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/stream/watch-ends-with-its-reader", test_watch_ends_with_its_reader);
  g_test_add_func ("/cli/stream/train-is-saved-when-its-reader-goes", test_train_saves_when_its_reader_goes);
  g_test_add_func ("/cli/stream/closed-output-is-refused-at-once", test_closed_output_is_refused_at_once);
  g_test_add_func ("/cli/stream/stopped-trainer-is-told", test_stopped_trainer_is_told);
  g_test_add_func ("/cli/stream/file-limit-is-an-error", test_file_limit_is_an_error);
  return run_tests ();
}
