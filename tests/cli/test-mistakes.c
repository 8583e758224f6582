/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <signal.h>
#include <unistd.h>
#include <zlib.h>

/* What was silent once: damaged checkpoints, lost ones, settings without effect, runs that cannot be read, data that are too large. */

static char *
newest_checkpoint (const char *run_path)
{
  g_autofree char *folder = g_build_filename (scratch, run_path, "checkpoints", NULL), *newest = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    if (newest == NULL || strcmp (name, newest) > 0)
      {
        g_free (newest);
        newest = g_strdup (name);
      }
  return g_build_filename (folder, newest, NULL);
}

static void
damage_newest (const char *run_path)
{
  g_autofree char *newest = newest_checkpoint (run_path), *file = g_build_filename (newest, "rank-0000.safetensors", NULL);
  g_assert_cmpint (truncate (file, 1000), ==, 0);
}

static void
test_older_checkpoint_is_told (void)
{
  make_project ("older", "--set train.max_steps=8 --set checkpoint.every_steps=4");
  run_quiet ("train older");
  g_autofree char *run_path = only_run ("older");
  damage_newest (run_path);
  static const char *const forms[] = { "eval %s", "export %s -o older.safetensors", "predict %s older.npy" };
  g_autoptr (GError) error = NULL;
  g_autofree char *npy = g_build_filename (scratch, "older.npy", NULL);
  static const char header[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2, 28, 28), }";
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_byte_array_append (bytes, (const guint8 *) header, sizeof header - 1);
  while (bytes->len < 127)
    g_byte_array_append (bytes, (const guint8 *) " ", 1);
  g_byte_array_append (bytes, (const guint8 *) "\n", 1);
  g_byte_array_set_size (bytes, 128 + 2 * 784);
  memset (bytes->data + 128, 7, 2 * 784);
  g_assert_true (g_file_set_contents (npy, (const char *) bytes->data, bytes->len, &error));
  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autoptr (GString) line = g_string_new (forms[i]);
      g_string_replace (line, "%s", run_path, 0);
      g_auto (Result) result = run (line->str);
      g_test_message ("%s: %s%s", line->str, result.out, result.err);
      g_assert_cmpint (result.exit_code, ==, 0);
      g_assert_nonnull (strstr (result.err, "step 4"));
      g_assert_nonnull (strstr (result.err, "step-00000008"));
      if (i == 1)
        continue;
      g_string_append (line, " --json");
      g_auto (Result) object = run (line->str);
      g_autoptr (JsonNode) last = parse_lines (object.out);
      g_assert_cmpfloat (number_of (last, "step"), ==, 4);
      g_assert_nonnull (strstr (text_of (last, "passed_over"), "step-00000008"));
    }
}

static void
test_lost_checkpoints_are_told (void)
{
  make_project ("gone", "--set train.max_steps=8 --set checkpoint.every_steps=4");
  run_quiet ("train gone");
  g_autofree char *run_path = only_run ("gone"), *folder = g_build_filename (scratch, run_path, "checkpoints", NULL);
  remove_tree (folder);
  g_autofree char *line = g_strdup_printf ("resume %s", run_path), *again = g_strdup_printf ("resume %s --restart --json", run_path);
  assert_fails (line, 1, "step 8", "--restart", NULL);
  g_autofree char *out = run_ok (again);
  g_assert_nonnull (strstr (out, "begins again at step 0"));
  g_autoptr (JsonNode) last = parse_lines (out);
  g_assert_cmpfloat (number_of (last, "steps"), ==, 8);
}

static void
test_settings_without_effect_are_told (void)
{
  make_project ("none", "--set train.epochs=2");
  run_quiet ("train none");
  g_autofree char *run_path = only_run ("none");
  g_autofree char *fewer = g_strdup_printf ("resume %s --set train.epochs=1", run_path), *steps = g_strdup_printf ("resume %s --set train.max_steps=5", run_path);
  assert_fails (fewer, 2, "train.epochs = 1", "2 epochs", NULL);
  assert_fails (steps, 2, "train.max_steps = 5", "32 steps", NULL);
  g_autofree char *same = g_strdup_printf ("resume %s --set optimizer.lr=0.5", run_path);
  g_auto (Result) result = run (same);
  g_assert_cmpint (result.exit_code, ==, 0);
  g_assert_nonnull (strstr (result.err, "Nothing to train: the run has 2 of 2 epochs"));
  g_autoptr (JsonNode) shown = show (run_path);
  g_assert_cmpstr (text_of (shown, "state"), ==, "finished");
}

static void
test_running_run_is_attached_to (void)
{
  make_project ("busy", "--set train.epochs=100000 --set train.eval_every=0 --set checkpoint.every_epochs=0");
  g_autoptr (GSubprocess) process = start ("train busy --json", G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_autoptr (GDataInputStream) lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (process));
  for (gboolean running = FALSE; !running;)
    {
      g_autofree char *got = g_data_input_stream_read_line (lines, NULL, NULL, NULL);
      g_assert_nonnull (got);
      running = strstr (got, "memory-measured") != NULL;
    }
  g_autofree char *run_path = only_run ("busy"), *line = g_strdup_printf ("train %s", run_path), *name = g_path_get_basename (run_path);
  g_auto (Result) result = run (line);
  g_assert_cmpint (result.exit_code, ==, 1);
  g_assert_nonnull (strstr (result.err, "attach"));
  g_assert_null (strstr (result.err, "resume"));
  g_autofree char *remove = g_strdup_printf ("runs busy --remove %s", name), *rename = g_strdup_printf ("runs busy --rename %s --to other", name);
  assert_fails (remove, 1, "is being trained", NULL);
  assert_fails (rename, 1, "is being trained", NULL);
  g_subprocess_send_signal (process, SIGKILL);
  g_subprocess_wait (process, NULL, NULL);
}

static int
count_runs (const char *project)
{
  g_autofree char *path = g_build_filename (scratch, project, "runs", NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  int n = 0;
  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
test_refused_run_leaves_no_folder (void)
{
  make_project ("refused", NULL);
  static const char *const settings[] = { "data.source=nowhere", "train.loss=mse", "device.memory_limit_mb=1", "train.freeze=nothing*", "init.from=none.safetensors",
                                          "schedule.kind=warmup" };
  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      g_autofree char *line = g_strdup_printf ("train refused --set %s --json", settings[i]);
      g_auto (Result) result = run (line);
      g_test_message ("%s: %s", line, result.err);
      g_assert_cmpint (result.exit_code, ==, 1);
      g_autoptr (JsonNode) last = parse_lines (result.out);
      g_assert_cmpstr (text_of (last, "state"), ==, "failed");
      g_assert_true (json_object_get_null_member (json_node_get_object (last), "run"));
      g_assert_cmpint (count_runs ("refused"), ==, 0);
    }
}

static void
test_strange_runs_are_listed (void)
{
  make_project ("strange", NULL);
  run_quiet ("train strange --set train.max_steps=1");
  static const char *const names[] = { "pipe", "empty", "folder", "link" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *folder = g_build_filename (scratch, "strange", "runs", names[i], NULL), *file = g_build_filename (folder, "run.json", NULL);
      g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
      if (i == 0)
        g_assert_cmpint (mkfifo (file, 0600), ==, 0);
      else if (i == 1)
        g_assert_true (g_file_set_contents (file, "", 0, NULL));
      else if (i == 2)
        g_assert_cmpint (g_mkdir (file, 0755), ==, 0);
      else
        g_assert_cmpint (symlink ("nowhere", file), ==, 0);
    }
  g_autofree char *out = run_ok ("runs strange --json"), *table = run_ok ("runs strange");
  g_auto (GStrv) lines = g_strsplit (g_strchomp (out), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 5);
  int n_damaged = 0;
  for (char **line = lines; *line != NULL; line++)
    {
      g_autoptr (JsonNode) row = parse_lines (*line);
      if (strcmp (text_of (row, "state"), "damaged") != 0)
        continue;
      n_damaged++;
      g_assert_cmpuint (strlen (text_of (row, "reason")), >, 10);
      g_assert_nonnull (strstr (table, text_of (row, "name")));
    }
  g_assert_cmpint (n_damaged, ==, 4);
}

static void
test_runs_are_removed_and_renamed (void)
{
  make_project ("tidy", NULL);
  run_quiet ("train tidy --set train.max_steps=2");
  g_autofree char *run_path = only_run ("tidy"), *name = g_path_get_basename (run_path);
  g_autofree char *rename = g_strdup_printf ("runs tidy --rename %s --to 'small steps'", name);
  run_quiet (rename);
  run_quiet ("runs tidy --remove 'small steps'");
  g_autofree char *none = run_ok ("runs tidy --json"), *removed = run_ok ("runs tidy --removed --json");
  g_assert_cmpstr (none, ==, "");
  g_autoptr (JsonNode) row = parse_lines (removed);
  g_assert_cmpstr (text_of (row, "name"), ==, "small steps");
  g_assert_cmpfloat (number_of (row, "steps"), ==, 2);

  /* Twice of one name: neither is lost. */
  run_quiet ("train tidy --set train.max_steps=3");
  g_autofree char *again = g_strdup_printf ("runs tidy --rename %s --to 'small steps'", name);
  run_quiet (again);
  run_quiet ("runs tidy --remove 'small steps'");
  run_quiet ("runs tidy --restore 'small steps~2'");
  run_quiet ("runs tidy --restore 'small steps'");
  g_autofree char *both = run_ok ("runs tidy --json");
  g_auto (GStrv) lines = g_strsplit (g_strchomp (both), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 2);
  g_autoptr (JsonNode) a = parse_lines (lines[0]), b = parse_lines (lines[1]);
  g_assert_cmpfloat (number_of (a, "steps") + number_of (b, "steps"), ==, 5);
  run_quiet ("resume 'tidy/runs/small steps' --set train.max_steps=0"); /* and it goes on under its name */

  static const char *const wrong[] = { "", ".hidden", "a/b", "../up", "tab\there" };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *line = g_strdup_printf ("runs tidy --rename 'small steps' --to '%s'", wrong[i]);
      assert_fails (line, 1, "no name", NULL);
    }
  assert_fails ("runs tidy --rename 'small steps' --to 'small steps~2'", 1, "no name", NULL);
  assert_fails ("runs tidy --remove ../tidy", 2, "name of a run", NULL);
  assert_fails ("runs tidy --remove nothing", 1, "no run", NULL);
  assert_fails ("runs tidy --rename a", 2, "--to", NULL);
}

/* init.from beside project.json, whatever the working folder is. */
static void
test_weights_are_found_in_the_project (void)
{
  make_project ("donor", NULL);
  run_quiet ("train donor --set train.max_steps=1");
  g_autofree char *run_path = only_run ("donor");
  make_project ("taker", "--set init.from=w.safetensors");
  g_autofree char *line = g_strdup_printf ("export %s -o taker/w.safetensors", run_path);
  run_quiet (line);
  g_autofree char *out = run_ok ("train taker --set train.max_steps=1");
  g_assert_nonnull (strstr (out, "10 tensors taken from"));
  g_autofree char *set = run_ok ("train donor --set train.max_steps=1 --set init.from=taker/w.safetensors"); /* or from the working folder */
  g_assert_nonnull (strstr (set, "10 tensors taken from"));
}

/* 256 MB of zeros are 256 KB of gzip. */
static void
test_gzip_bomb_is_refused (void)
{
  g_autofree char *folder = g_build_filename (scratch, "bomb-data", NULL), *images = g_build_filename (folder, "train-images-idx3-ubyte.gz", NULL);
  g_autofree char *labels = g_build_filename (folder, "train-labels-idx1-ubyte.gz", NULL);
  const int n = 262144, side = 32;
  g_mkdir (folder, 0755);
  gzFile file = gzopen (images, "wb1"), label_file = gzopen (labels, "wb1");
  guint32 head[] = { GUINT32_TO_BE (0x803), GUINT32_TO_BE (n), GUINT32_TO_BE (side), GUINT32_TO_BE (side) };
  guint32 label_head[] = { GUINT32_TO_BE (0x801), GUINT32_TO_BE (n) };
  g_autofree char *zeros = g_malloc0 ((gsize) n);
  gzwrite (file, head, sizeof head);
  for (int i = 0; i < side * side; i++)
    gzwrite (file, zeros, (unsigned) n);
  gzwrite (label_file, label_head, sizeof label_head);
  gzwrite (label_file, zeros, (unsigned) n);
  gzclose (file);
  gzclose (label_file);
  make_project ("bomb", "--set device.memory_limit_mb=100 --set data.source=bomb-data");
  g_autofree char *program = program_path ();
  g_autofree char *absolute = g_canonicalize_filename (program, NULL);
  assert_fails ("train bomb", 1, "268.4 MB", "100.0 MB are allowed", NULL);
  g_assert_cmpint (count_runs ("bomb"), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/mistakes/an-older-checkpoint-is-told", test_older_checkpoint_is_told);
  g_test_add_func ("/cli/mistakes/lost-checkpoints-are-told", test_lost_checkpoints_are_told);
  g_test_add_func ("/cli/mistakes/settings-without-effect-are-told", test_settings_without_effect_are_told);
  g_test_add_func ("/cli/mistakes/a-running-run-is-attached-to-and-not-moved", test_running_run_is_attached_to);
  g_test_add_func ("/cli/mistakes/a-refused-run-leaves-no-folder", test_refused_run_leaves_no_folder);
  g_test_add_func ("/cli/mistakes/runs-that-cannot-be-read-are-listed", test_strange_runs_are_listed);
  g_test_add_func ("/cli/mistakes/a-gzip-bomb-is-refused", test_gzip_bomb_is_refused);
  g_test_add_func ("/cli/runs/removed-restored-and-renamed", test_runs_are_removed_and_renamed);
  g_test_add_func ("/cli/init-from/found-in-the-project-first", test_weights_are_found_in_the_project);
  return run_tests ();
}
