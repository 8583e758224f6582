/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "formats/safetensors.h"
#include "tensor/tensor.h"
#include "train/run-folder.h"

/* train, sample, resume, runs, show, verify-resume, export on small data. */

static void
test_json (void)
{
  make_project ("json", "--set train.epochs=2");
  g_autofree char *out = run_ok ("train json --json");
  g_autoptr (JsonNode) last = parse_lines (out);
  g_assert_cmpstr (text_of (last, "state"), ==, "finished");
  g_assert_cmpfloat (number_of (last, "steps"), ==, 32); /* 520 samples make 16 full batches of 32 */
  g_assert_cmpfloat (number_of (last, "loss"), >, 0);
  g_assert_cmpfloat (number_of (last, "accuracy"), >=, 0);
  g_assert_cmpfloat (number_of (last, "seconds"), >, 0);
  g_assert_nonnull (strstr (out, "\"memory-forecast\""));
  g_assert_nonnull (strstr (out, "\"difference_percent\""));
  g_assert_true (strstr (out, "\"memory-forecast\"") < strstr (out, "\"memory-measured\""));
}

static void
test_plain_lines (void)
{
  make_project ("plain", NULL);
  g_auto (Result) result = run ("train plain");
  g_assert_cmpint (result.exit_code, ==, 0);
  g_assert_cmpstr (result.err, ==, "");
  g_assert_null (strchr (result.out, '\r'));
  g_assert_null (strchr (result.out, '\033'));
  g_assert_nonnull (strstr (result.out, "forecast"));
  g_assert_nonnull (strstr (result.out, "After step 16:")); /* steps done, not the index of the last one */
  g_assert_nonnull (strstr (result.out, "finished: 16 steps"));
  g_assert_null (strstr (result.out, " \n"));
  g_autofree char *run_path = only_run ("plain");
  g_assert_nonnull (strstr (result.out, run_path));
}

static void
test_german (void)
{
  g_autofree char *locales = g_build_filename (scratch, "locale", NULL), *path = g_build_filename (locales, "de_DE.UTF-8", NULL);
  const char *argv[] = { "localedef", "-i", "de_DE", "-f", "UTF-8", path, NULL };
  int status;
  g_mkdir (locales, 0755);
  if (!g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL, &status, NULL)
      || status != 0)
    {
      g_test_skip ("the German locale cannot be made here");
      return;
    }
  environment[0][0] = "LOCPATH";
  environment[0][1] = locales;
  environment[1][0] = "LC_ALL";
  environment[1][1] = "de_DE.UTF-8";
  make_project ("deutsch", "--set optimizer.lr=0.02");
  g_autofree char *out = run_ok ("train deutsch --json"), *plain = run_ok ("train deutsch --set train.max_steps=2");
  memset (environment, 0, sizeof environment);
  g_assert_true (g_regex_match_simple ("[0-9],[0-9] MB", plain, 0, 0)); /* people get their own comma: the locale did hold */
  g_autoptr (JsonNode) last = parse_lines (out);
  g_autoptr (JsonNode) shown = show (text_of (last, "run"));
  JsonObject *settings = json_object_get_object_member (json_node_get_object (shown), "settings");
  g_assert_cmpfloat (json_object_get_double_member (json_object_get_object_member (settings, "optimizer"), "lr"), ==, 0.02);
  g_assert_cmpfloat (number_of (last, "loss"), <, 100);
}

static void
test_resume_extends (void)
{
  make_project ("more", NULL);
  run_quiet ("train more");
  g_autofree char *run_path = only_run ("more");
  g_autofree char *line = g_strdup_printf ("resume %s --set train.epochs=2 --json", run_path), *second = run_ok (line);
  g_autoptr (JsonNode) last = parse_lines (second);
  g_assert_cmpfloat (number_of (last, "steps"), ==, 32);
  g_autofree char *wrong = g_strdup_printf ("resume %s --set train.seed=2", run_path);
  assert_fails (wrong, 2, "train.seed", NULL);
  g_autofree char *again = g_strdup_printf ("train %s", run_path);
  assert_fails (again, 1, "resume", NULL);
  g_autofree char *nothing = g_strdup_printf ("attach %s pause", run_path);
  assert_fails (nothing, 1, "finished", NULL);
}

/* All steps of the run, as in JSON, and how many are new. */
static void
test_resume_counts_all_steps (void)
{
  make_project ("count", NULL);
  run_quiet ("train count --set train.max_steps=10"); /* ends inside an epoch */
  g_autofree char *run_path = only_run ("count");
  g_autofree char *line = g_strdup_printf ("resume %s --set train.max_steps=16", run_path), *out = run_ok (line);
  g_assert_nonnull (strstr (out, "finished: 16 steps (6 of them now"));
}

/* A validation inside an epoch has the number of its checkpoint too. */
static void
test_validation_counts_steps_done (void)
{
  make_project ("inside", NULL);
  g_autofree char *out = run_ok ("train inside --json --set train.max_steps=10");
  g_auto (GStrv) lines = g_strsplit (out, "\n", -1);
  int n = 0;
  for (char **line = lines; *line != NULL; line++)
    if (strstr (*line, "\"validation\"") != NULL)
      {
        g_autoptr (JsonNode) row = parse_lines (*line);
        g_assert_cmpfloat (number_of (row, "step"), ==, 10);
        n++;
      }
  g_assert_cmpint (n, ==, 1);
}

static void
test_failed_before_training (void)
{
  make_project ("early", "--set device.memory_limit_mb=1");
  g_auto (Result) result = run ("train early");
  g_assert_cmpint (result.exit_code, ==, 1);
  g_assert_nonnull (strstr (result.out, "failed before the first step.\n"));
  g_assert_null (strstr (result.out, "0 steps"));
}

/* A loss that ran away is told in a few characters, and a small one is not 0.0000. */
static void
test_losses_are_short (void)
{
  static const char *const losses[][2] = { { "1.25e25", " 1.250e+25" }, { "0.000000125", " 1.250e-07" }, { "2.302585", " 2.303" }, { "12345.678", " 12345.7" } };
  make_project ("wild", NULL);
  run_quiet ("train wild --set train.max_steps=1");
  g_autofree char *run_path = only_run ("wild"), *line = g_strdup_printf ("show %s", run_path);
  g_autofree char *file = g_build_filename (scratch, run_path, "run.json", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (losses); i++)
    {
      g_autofree char *text = NULL, *number = g_strdup_printf ("\\g<1>%s", losses[i][0]);
      g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
      g_autoptr (GRegex) regex = g_regex_new ("(\"loss\": )[-+.0-9e]+", 0, 0, NULL);
      g_autofree char *changed = g_regex_replace (regex, text, -1, 0, number, 0, NULL);
      g_assert_true (g_file_set_contents (file, changed, -1, NULL));
      g_autofree char *shown = run_ok (line), *table = run_ok ("runs wild");
      g_assert_nonnull (strstr (shown, losses[i][1]));
      g_assert_nonnull (strstr (table, losses[i][1]));
    }
}

static void
test_runs_are_listed (void)
{
  make_project ("list", NULL);
  g_autofree char *none = run_ok ("runs list");
  g_assert_nonnull (strstr (none, "tenon-cli train"));
  run_quiet ("train list --set train.max_steps=3");
  run_quiet ("train list");
  g_autofree char *out = run_ok ("runs list --json"), *table = run_ok ("runs list");
  g_auto (GStrv) lines = g_strsplit (g_strchomp (out), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 2);
  g_autoptr (JsonNode) first = parse_lines (lines[0]), second = parse_lines (lines[1]);
  g_assert_cmpfloat (number_of (first, "steps"), ==, 3);
  g_assert_cmpfloat (number_of (second, "steps"), ==, 16);
  g_assert_cmpstr (text_of (second, "state"), ==, "finished");
  g_assert_nonnull (strstr (table, text_of (second, "name")));
}

static void
test_sample (void)
{
  g_autofree char *out = run_ok ("sample --set data.samples=600 --set train.epochs=1");
  run_quiet ("sample --set data.samples=600 --set train.epochs=1");
  g_autofree char *place = g_build_filename (scratch, "data", "tenon", "sample", NULL);
  g_assert_nonnull (strstr (out, place));
  g_assert_nonnull (strstr (out, "tenon-cli resume"));
  g_autofree char *line = g_strdup_printf ("runs '%s' --json", place), *list = run_ok (line);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (list), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 2);
}

static void
test_queued_run (void)
{
  make_project ("queue", NULL);
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (scratch, "queue", NULL);
  g_autoptr (TnProject) project = tn_project_open (path, &error);
  g_autoptr (TnRunFolder) folder = tn_run_folder_create (project, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *list = run_ok ("runs queue --json");
  g_autoptr (JsonNode) row = parse_lines (list);
  g_assert_cmpstr (text_of (row, "state"), ==, "queued");
  g_autofree char *line = g_strdup_printf ("train '%s' --json", tn_run_folder_path (folder)), *out = run_ok (line);
  g_autoptr (JsonNode) last = parse_lines (out);
  g_assert_cmpstr (text_of (last, "run"), ==, tn_run_folder_path (folder));
  g_assert_cmpfloat (number_of (last, "steps"), ==, 16);
}

static void
test_memory_limit (void)
{
  make_project ("tight", "--set device.memory_limit_mb=1");
  assert_fails ("train tight", 1, "needs", "1.0 MB are allowed", "train.batch", NULL);
  g_auto (Result) result = run ("train tight --json");
  g_autoptr (JsonNode) last = parse_lines (result.out);
  g_assert_cmpstr (text_of (last, "state"), ==, "failed");
  g_assert_cmpstr (text_of (last, "cause"), ==, "memory");
}

/* The disk is full at one operation after the other: each time the command says so or gets by, and the run goes on later. */
static void
test_full_disk (void)
{
  make_project ("disk", "--set train.max_steps=8 --set checkpoint.every_steps=4");
  for (int n = 1; n <= 37; n += 9)
    {
      g_autofree char *fault = g_strdup_printf ("nospace:%d", n);
      environment[0][0] = "TENON_FAULT";
      environment[0][1] = fault;
      g_auto (Result) result = run ("train disk --json");
      memset (environment, 0, sizeof environment);
      g_test_message ("%s: %d %s", fault, result.exit_code, result.err);
      if (result.exit_code == 0)
        continue;
      g_assert_cmpint (result.exit_code, ==, 1);
      g_assert_nonnull (strstr (result.err, "space"));
      g_autoptr (JsonNode) last = parse_lines (result.out);
      if (!json_object_has_member (json_node_get_object (last), "run")) /* not even the folder could be made */
        continue;
      g_autofree char *line = g_strdup_printf ("resume '%s' --json", text_of (last, "run")), *out = run_ok (line);
      g_autoptr (JsonNode) end = parse_lines (out);
      g_assert_cmpfloat (number_of (end, "steps"), ==, 8);
    }
}

static void
test_verify_resume (void)
{
  make_project ("verify", NULL);
  g_autofree char *out = run_ok ("verify-resume verify --steps 10 --json");
  g_autoptr (JsonNode) result = parse_lines (out);
  g_assert_true (json_object_get_boolean_member (json_node_get_object (result), "equal"));
  g_assert_cmpfloat (number_of (result, "rows"), >, 20);
  g_autofree char *runs = g_build_filename (scratch, "verify", "runs", NULL); /* nothing is left in the project */
  g_autoptr (GDir) dir = g_dir_open (runs, 0, NULL);
  g_assert_true (dir == NULL || g_dir_read_name (dir) == NULL);
  assert_fails ("verify-resume verify --steps 0", 2, "--steps", NULL);
}

static void
test_graphs_are_saved (void)
{
  make_project ("saved", "--set graph.save=true --set train.max_steps=2");
  run_quiet ("train saved");
  g_autofree char *run_path = only_run ("saved");
  static const char *const files[] = { "00_bootstrap_0000.ir", "00_bootstrap_0001.dot", "01_dead_code_0002.ir", "04_fuse_0008.ir" };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (scratch, run_path, "graphs", files[i], NULL);
      g_test_message ("%s", path);
      g_assert_true (g_file_test (path, G_FILE_TEST_IS_REGULAR));
    }
}

static void
test_weights_travel (void)
{
  make_project ("from", NULL);
  run_quiet ("train from");
  g_autofree char *run_path = only_run ("from");
  g_autofree char *line = g_strdup_printf ("export %s -o weights.safetensors", run_path);
  run_quiet (line);
  g_autofree char *path = g_build_filename (scratch, "weights.safetensors", NULL);
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, NULL);
  g_assert_nonnull (file);
  g_assert_nonnull (tn_safetensors_find (file, "conv1.weight"));
  g_assert_cmpuint (tn_safetensors_n (file), ==, 10); /* five layers with weight and bias, no momentum */

  make_project ("to", "--set init.from=weights.safetensors --set optimizer.lr=0 --set train.max_steps=1");
  run_quiet ("train to");
  g_autofree char *second_path = only_run ("to");
  g_autofree char *line_again = g_strdup_printf ("export %s -o again.safetensors", second_path);
  run_quiet (line_again);
  g_autofree char *path_again = g_build_filename (scratch, "again.safetensors", NULL);
  g_autoptr (TnSafetensors) copy = tn_safetensors_open (path_again, NULL);
  g_autoptr (TnTensor) a = tn_safetensors_load (file, "fc1.weight", NULL), b = tn_safetensors_load (copy, "fc1.weight", NULL);
  g_assert_cmpmem (tn_tensor_data (a), tn_tensor_bytes (a), tn_tensor_data (b), tn_tensor_bytes (b));
}

static void
test_weights_that_do_not_fit_are_listed (void)
{
  static const char model[] = "{\"input\": {\"shape\": [1, 32, 32], \"pad\": 2}, \"cells\": [{\"type\": \"Conv2d\", \"name\": \"conv1\", "
                              "\"out_channels\": 6, \"kernel\": 5, \"pad_mode\": \"valid\", \"has_bias\": true}, {\"type\": \"Flatten\"}, "
                              "{\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 10}]}";
  make_project ("donor", NULL);
  run_quiet ("train donor --set train.max_steps=1");
  g_autofree char *run_path = only_run ("donor"), *line = g_strdup_printf ("export %s -o donor.safetensors", run_path);
  run_quiet (line);
  g_autofree char *path = g_build_filename (scratch, "half.json", NULL);
  g_assert_true (g_file_set_contents (path, model, -1, NULL));
  run_quiet ("new half --model half.json --set init.from=donor.safetensors " SMALL);
  g_autofree char *out = run_ok ("train half --set train.max_steps=1");
  g_assert_nonnull (strstr (out, "2 tensors taken from")); /* conv1.weight and conv1.bias */
  g_assert_nonnull (strstr (out, "\n  fc1.weight: is (10, 4704) here, but (120, 400) in the file\n"));
  g_assert_nonnull (strstr (out, "\n  conv2.weight\n"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/train/every-line-is-json-and-the-last-has-the-result", test_json);
  g_test_add_func ("/cli/train/plain-lines-without-a-terminal", test_plain_lines);
  g_test_add_func ("/cli/train/numbers-are-c-locale-under-a-german-one", test_german);
  g_test_add_func ("/cli/train/queued-run-is-begun", test_queued_run);
  g_test_add_func ("/cli/train/memory-limit-says-what-would-fit", test_memory_limit);
  g_test_add_func ("/cli/train/full-disk-is-told-and-the-run-goes-on-later", test_full_disk);
  g_test_add_func ("/cli/train/graphs-of-every-stage-are-saved", test_graphs_are_saved);
  g_test_add_func ("/cli/resume/epochs-can-be-added", test_resume_extends);
  g_test_add_func ("/cli/resume/counts-all-steps", test_resume_counts_all_steps);
  g_test_add_func ("/cli/train/validation-counts-steps-done", test_validation_counts_steps_done);
  g_test_add_func ("/cli/train/failed-before-the-first-step", test_failed_before_training);
  g_test_add_func ("/cli/train/losses-have-four-digits", test_losses_are_short);
  g_test_add_func ("/cli/runs/lists-state-steps-and-loss", test_runs_are_listed);
  g_test_add_func ("/cli/sample/makes-a-project-once-and-a-run-each-time", test_sample);
  g_test_add_func ("/cli/verify-resume/stopped-and-resumed-is-equal", test_verify_resume);
  g_test_add_func ("/cli/init-from/what-does-not-fit-is-listed", test_weights_that_do_not_fit_are_listed);
  g_test_add_func ("/cli/export/weights-begin-another-run", test_weights_travel);
  return run_tests ();
}
