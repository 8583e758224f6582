/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <signal.h>
#include <unistd.h>

/* Signals, kills, a second trainer, folders that go away; and what attach does to a run that goes on. */

#define ENDLESS "--set train.epochs=100000 --set train.eval_every=0 --set checkpoint.every_epochs=0"

/* Starts a command that prints JSON lines, and waits for the first line that has @text. */
static GSubprocess *
start_until (const char *line, const char *text, GDataInputStream **rest)
{
  GSubprocess *process = start (line, G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  *rest = g_data_input_stream_new (g_subprocess_get_stdout_pipe (process));
  for (;;)
    {
      g_autofree char *got = g_data_input_stream_read_line (*rest, NULL, NULL, NULL);
      g_assert_nonnull (got);
      if (strstr (got, text) != NULL)
        return process;
    }
}

/* The rest of the output and the exit code. */
static Result
finish_rest (GSubprocess *process, GDataInputStream *rest)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (;;)
    {
      g_autofree char *line = g_data_input_stream_read_line (rest, NULL, NULL, NULL);
      if (line == NULL)
        break;
      g_string_append_printf (text, "%s\n", line);
    }
  Result result = finish (process);
  g_free (result.out);
  result.out = g_string_free (g_steal_pointer (&text), FALSE);
  return result;
}

static void
test_interrupted_once (void)
{
  make_project ("once", ENDLESS);
  g_autoptr (GDataInputStream) rest = NULL;
  g_autoptr (GSubprocess) process = start_until ("train once --json", "memory-measured", &rest);
  g_subprocess_send_signal (process, SIGINT);
  g_auto (Result) result = finish_rest (process, rest);
  g_assert_cmpint (result.exit_code, ==, 130);
  g_autoptr (JsonNode) last = parse_lines (result.out);
  g_assert_cmpstr (text_of (last, "state"), ==, "stopped");
  g_assert_cmpfloat (number_of (last, "checkpoint"), ==, number_of (last, "steps"));
  g_autofree char *run_path = only_run ("once");
  g_autofree char *line = g_strdup_printf ("resume %s --json --set train.max_steps=%d", run_path, (int) number_of (last, "steps") + 3);
  g_autofree char *out = run_ok (line);
  g_autoptr (JsonNode) end = parse_lines (out);
  g_assert_cmpfloat (number_of (end, "steps"), ==, number_of (last, "steps") + 3);
}

static void
test_stopping_is_told_after_a_signal (void)
{
  make_project ("told", ENDLESS);
  g_autoptr (GDataInputStream) rest = NULL, again_rest = NULL;
  g_autoptr (GSubprocess) process = start_until ("train told", "Memory after step 1", &rest);
  g_subprocess_send_signal (process, SIGINT);
  g_auto (Result) result = finish_rest (process, rest);
  g_assert_nonnull (strstr (result.err, "Stopping: this step will be finished"));
  g_assert_nonnull (strstr (result.out, "stopped: "));
  g_autofree char *run_path = only_run ("told"), *resume = g_strdup_printf ("resume %s", run_path);
  g_autofree char *stop = g_strdup_printf ("attach %s stop", run_path);
  g_autoptr (GSubprocess) again = start_until (resume, "Memory after step 1", &again_rest);
  run_quiet (stop);
  g_auto (Result) second = finish_rest (again, again_rest);
  g_assert_null (strstr (second.err, "Stopping")); /* no Ctrl-C came */
}

/* Two signals of different kinds, as two of one kind may be merged before the first is seen. */
static void
test_interrupted_twice (void)
{
  make_project ("twice", ENDLESS);
  g_autoptr (GDataInputStream) rest = NULL;
  g_autoptr (GSubprocess) process = start_until ("train twice --json", "memory-measured", &rest);
  g_subprocess_send_signal (process, SIGINT);
  g_subprocess_send_signal (process, SIGTERM);
  g_auto (Result) result = finish_rest (process, rest);
  g_assert_cmpint (result.exit_code, ==, 130);
  g_autoptr (JsonNode) last = parse_lines (result.out);
  g_assert_cmpstr (text_of (last, "state"), ==, "stopped");
}

static void
test_killed_and_resumed (void)
{
  static const char more[] = "--set train.epochs=100 --set train.max_steps=300 --set checkpoint.every_steps=7 --set train.eval_every=0";
  make_project ("undisturbed", more);
  make_project ("killed", more);
  g_autofree char *undisturbed = run_ok ("train undisturbed --json");
  g_autoptr (JsonNode) expected = parse_lines (undisturbed);
  g_autoptr (GDataInputStream) rest = NULL;
  g_autoptr (GSubprocess) process = start_until ("train killed --json", "\"checkpoint\"", &rest);
  g_subprocess_send_signal (process, SIGKILL);
  g_auto (Result) result = finish_rest (process, rest);
  g_assert_cmpint (result.exit_code, ==, 128 + SIGKILL);
  g_autofree char *run_path = only_run ("killed");
  g_autoptr (JsonNode) lost = show (run_path);
  g_assert_cmpstr (text_of (lost, "state"), ==, "lost");
  g_autofree char *line = g_strdup_printf ("resume %s --json", run_path), *out = run_ok (line);
  g_autoptr (JsonNode) last = parse_lines (out);
  g_assert_cmpfloat (number_of (last, "steps"), ==, 300);
  g_assert_cmpfloat (number_of (last, "loss"), ==, number_of (expected, "loss"));
  g_assert_cmpfloat (number_of (last, "accuracy"), ==, number_of (expected, "accuracy"));
}

static void
test_steered (void)
{
  make_project ("steered", ENDLESS);
  g_autoptr (GDataInputStream) rest = NULL;
  g_autoptr (GSubprocess) process = start_until ("train steered --json", "memory-measured", &rest);
  g_autofree char *run_path = only_run ("steered");

  g_autofree char *second = g_strdup_printf ("resume %s", run_path);
  assert_fails (second, 1, "is being trained", g_subprocess_get_identifier (process), NULL);

  g_autofree char *set = g_strdup_printf ("attach %s set optimizer.lr=0.005", run_path);
  run_quiet (set);
  g_autofree char *bad = g_strdup_printf ("attach %s set train.batch=64", run_path);
  assert_fails (bad, 1, "train.batch", NULL);
  g_autofree char *unknown = g_strdup_printf ("attach %s set optimizer.l=64", run_path);
  assert_fails (unknown, 2, "optimizer.l", NULL);
  g_autofree char *word = g_strdup_printf ("attach %s pauze", run_path);
  assert_fails (word, 2, "“pauze”", "did you mean “pause”", NULL);
  static const char *const words[] = { "pause", "checkpoint", "resume", "extend 2", "park" };
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      g_autofree char *line = g_strdup_printf ("attach %s %s", run_path, words[i]);
      run_quiet (line);
    }
  g_auto (Result) result = finish_rest (process, rest);
  g_assert_cmpint (result.exit_code, ==, 0);
  g_autoptr (JsonNode) last = parse_lines (result.out);
  g_assert_cmpstr (text_of (last, "state"), ==, "parked");

  g_autoptr (JsonNode) shown = show (run_path);
  g_autofree char *changes = tn_json_to_text (json_object_get_member (json_node_get_object (shown), "changes"), 0);
  g_assert_nonnull (strstr (changes, "0.005"));
  g_assert_nonnull (strstr (changes, "100002"));
  g_autofree char *watch = g_strdup_printf ("attach %s watch --json", run_path), *watched = run_ok (watch);
  g_autoptr (JsonNode) seen = parse_lines (watched);
  g_assert_cmpfloat (number_of (seen, "steps"), ==, number_of (last, "steps"));
}

static void
test_watched_live (void)
{
  make_project ("watched", ENDLESS);
  g_autoptr (GDataInputStream) rest = NULL, watch_rest = NULL;
  g_autoptr (GSubprocess) process = start_until ("train watched --json", "memory-measured", &rest);
  g_autofree char *run_path = only_run ("watched"), *watch = g_strdup_printf ("attach %s watch --json", run_path);
  g_autoptr (GSubprocess) watcher = start_until (watch, "\"total_steps\": 1600000", &watch_rest); /* 100,000 epochs of 16: the trainer knows */
  g_autofree char *left = NULL;
  while (left == NULL)
    {
      g_autofree char *line = g_data_input_stream_read_line (watch_rest, NULL, NULL, NULL);
      g_assert_nonnull (line);
      if (strstr (line, "\"seconds_left\"") != NULL && strstr (line, "\"seconds_left\": null") == NULL)
        left = g_steal_pointer (&line);
    }
  g_autofree char *stop = g_strdup_printf ("attach %s stop", run_path);
  run_quiet (stop);
  g_auto (Result) trained = finish_rest (process, rest), watched = finish_rest (watcher, watch_rest);
  g_assert_cmpint (trained.exit_code, ==, 130);
  g_assert_cmpint (watched.exit_code, ==, 0);
  g_autoptr (JsonNode) a = parse_lines (trained.out), b = parse_lines (watched.out);
  g_assert_cmpstr (text_of (b, "state"), ==, "stopped");
  g_assert_cmpfloat (number_of (a, "steps"), ==, number_of (b, "steps"));
}

static void
test_vanished (void)
{
  make_project ("vanished", ENDLESS " --set checkpoint.every_steps=20");
  g_autofree char *path = g_build_filename (scratch, "vanished", NULL);
  g_autoptr (GDataInputStream) rest = NULL;
  g_autoptr (GSubprocess) process = start_until ("train vanished --json", "memory-measured", &rest);
  for (int i = 0; i < 1000 && g_file_test (path, G_FILE_TEST_EXISTS); i++)
    remove_tree (path); /* again, where the run made a file in between */
  g_auto (Result) result = finish_rest (process, rest);
  g_test_message ("%s", result.err);
  g_assert_cmpint (result.exit_code, ==, 1);
  g_assert_nonnull (strstr (result.err, "vanished"));
}

static void
test_read_only (void)
{
  assert_fails ("new /proc/tenon", 1, "/proc/tenon", NULL);
  if (geteuid () == 0)
    {
      g_test_message ("the rest is not for root, who may write anywhere");
      return;
    }
  make_project ("locked", NULL);
  g_autofree char *path = g_build_filename (scratch, "locked", NULL);
  g_assert_cmpint (g_chmod (path, 0555), ==, 0);
  assert_fails ("train locked", 1, "locked", NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/interrupt/once-writes-a-checkpoint", test_interrupted_once);
  g_test_add_func ("/cli/interrupt/stopping-is-told-after-a-signal-only", test_stopping_is_told_after_a_signal);
  g_test_add_func ("/cli/interrupt/twice-ends-at-once", test_interrupted_twice);
  g_test_add_func ("/cli/interrupt/killed-run-goes-on-with-the-same-numbers", test_killed_and_resumed);
  g_test_add_func ("/cli/attach/steers-a-run-and-a-second-trainer-is-refused", test_steered);
  g_test_add_func ("/cli/attach/watches-to-the-end", test_watched_live);
  g_test_add_func ("/cli/folder/vanished-one-fails-with-its-name", test_vanished);
  g_test_add_func ("/cli/folder/read-only-one-is-told", test_read_only);
  return run_tests ();
}
