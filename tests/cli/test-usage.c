/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

/* What every command owes: help that fits a screen, and mistakes that are named. */

static const char *const commands[] = { "new", "train", "sample", "resume", "runs", "show", "attach", "eval", "predict", "export", "graph",
                                        "inspect", "cells", "options", "doctor", "verify-resume", "bench" };

/* A screen is 80 x 24; the list of all commands may take a taller one. */
static void
assert_fits (const char *text, const char *what, guint n_lines)
{
  g_auto (GStrv) lines = g_strsplit (g_strchomp ((char *) text), "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      if (g_utf8_strlen (*line, -1) > 80)
        g_test_message ("%s: %s", what, *line);
      g_assert_cmpint (g_utf8_strlen (*line, -1), <=, 80);
    }
  g_assert_cmpuint (g_strv_length (lines), <=, n_lines);
}

static void
test_help_fits (void)
{
  g_autofree char *all = run_ok ("--help");
  assert_fits (all, "--help", 32);
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    g_assert_nonnull (strstr (all, commands[i]));
  g_auto (GStrv) lines = g_strsplit (all, "\n", -1);
  guint told = 0;
  for (char **at = lines; *at != NULL; at++)
    {
      if (!g_str_has_prefix (*at, "  "))
        continue;
      told++;
      g_autofree char *command = g_strndup (*at + 2, strcspn (*at + 2, " "));
      g_autofree char *line = g_strdup_printf ("%s --help", command), *help = run_ok (line);
      g_assert_nonnull (strstr (help, "Example:"));
      g_assert_nonnull (strstr (help, "tenon-cli "));
      assert_fits (help, command, 24);
    }
  g_assert_cmpuint (told, >=, G_N_ELEMENTS (commands));
}

static void
test_unknown_names (void)
{
  assert_fails ("trian d", 2, "“trian”", "did you mean “train”", NULL);
  assert_fails ("frobnicate", 2, "“frobnicate”", "--help", NULL);
  assert_fails ("train d --jsn", 2, "“--jsn”", "did you mean “--json”", NULL);
  assert_fails ("new d --preset lenet6", 2, "“lenet6”", "did you mean “lenet5”", "resnet18-cifar", NULL);
  assert_fails ("new d --set data.validation=last:100%", 2, "leaves nothing to train on", NULL);
  assert_fails ("new d --set data.validation=hash:0%", 2, "holds nothing out", NULL);
  assert_fails ("new d --set data.validation=first:3", 2, "is not a rule", "last:10%", NULL);
  assert_fails ("new $'d\xff'", 1, "UTF-8", "another name", NULL);
  assert_fails ("new d --set train.btch=3", 2, "train.btch", "did you mean “train.batch”", NULL);
  assert_fails ("new d --set train.batch=many", 2, "train.batch", "many", NULL);
  assert_fails ("new d --set train.batch", 2, "NAME=VALUE", NULL);
  assert_fails ("options optimiser", 2, "optimiser", "did you mean “optimizer”", NULL);
  assert_fails ("--verison", 2, "“--verison”", "did you mean “--version”", NULL);
  assert_fails ("help trian", 2, "“trian”", "did you mean “train”", NULL);
  assert_fails ("cells Conv3d", 2, "“Conv3d”", "did you mean “Conv2d”", NULL);
  g_autofree char *path = g_build_filename (scratch, "d", NULL);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
}

static void
test_missing_arguments (void)
{
  static const char *const needing[] = { "new", "train", "resume", "runs", "show", "attach", "eval", "predict", "export", "graph", "inspect",
                                         "verify-resume", "bench" };
  for (guint i = 0; i < G_N_ELEMENTS (needing); i++)
    assert_fails (needing[i], 2, needing[i], "--help", NULL);
  assert_fails ("train a b", 2, "“b”", NULL);
}

static void
test_not_a_folder (void)
{
  assert_fails ("train nowhere", 1, "nowhere", "tenon-cli new", NULL);
  assert_fails ("resume nowhere", 1, "nowhere", NULL);
  assert_fails ("runs nowhere", 1, "nowhere", NULL);
  assert_fails ("show nowhere", 1, "nowhere", NULL);
  assert_fails ("eval nowhere", 1, "nowhere", NULL);
  assert_fails ("attach nowhere watch", 1, "nowhere", NULL);
  assert_fails ("new p --data missing-folder", 2, "missing-folder", NULL);
  assert_fails ("new p --data /etc/passwd", 1, "/etc/passwd", NULL);
  assert_fails ("new p --preset resnet18-cifar --data drawn-digits", 1, "3 x 32 x 32", NULL); /* one channel of 28 x 28 does not fit */
  g_autofree char *path = g_build_filename (scratch, "p", NULL);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
}

static void
test_new_refuses_a_full_folder (void)
{
  make_project ("full", NULL);
  assert_fails ("new full --preset mlp", 1, "full", NULL);
}

static void
test_new_copies_a_model (void)
{
  g_autofree char *path = g_build_filename (scratch, "tiny.json", NULL);
  g_autofree char *broken = g_build_filename (scratch, "broken.json", NULL);
  g_assert_true (g_file_set_contents (path, "{\"name\": \"tiny\", \"input\": {\"shape\": [1, 28, 28]}, \"cells\": [{\"type\": \"Flatten\"}, "
                                            "{\"type\": \"Dense\", \"out_channels\": 10}]}", -1, NULL));
  g_assert_true (g_file_set_contents (broken, "{\"cells\": [\n  {\"type\": ]}", -1, NULL));
  run_quiet ("new own --model tiny.json " SMALL);
  g_assert_cmpint (g_remove (path), ==, 0);
  g_autofree char *trained = run_ok ("train own --json --set train.max_steps=3");
  g_autoptr (JsonNode) last = parse_lines (trained);
  g_assert_cmpfloat (number_of (last, "steps"), ==, 3);
  assert_fails ("new other --model broken.json", 1, "broken.json", "line 2", NULL);
}

static void
test_options_are_json (void)
{
  g_autofree char *all = run_ok ("options --json"), *group = run_ok ("options schedule --json"), *text = run_ok ("options train.batch");
  g_autoptr (JsonNode) last = parse_lines (all), last_of_group = parse_lines (group);
  g_assert_cmpstr (text_of (last, "name"), ==, "graph.save");
  g_assert_true (g_str_has_prefix (text_of (last_of_group, "name"), "schedule."));
  g_assert_true (g_str_has_prefix (text, "train.batch = 32 samples"));
}

static void
test_doctor_is_json (void)
{
  g_autofree char *out = run_ok ("doctor --json --seconds 0.01");
  g_autoptr (JsonNode) report = parse_lines (out);
  g_assert_cmpfloat (number_of (report, "gflops_1_thread"), >, 0.1);
  g_assert_cmpfloat (number_of (report, "threads"), >=, 1);
  g_assert_nonnull (text_of (report, "onednn"));
  g_assert_null (strstr (out, "\"threads\": 1.0"));
  g_assert_true (g_regex_match_simple ("\"memory_bytes\": [0-9]+[,}]", out, 0, 0));
}

static void
test_help_of_a_command (void)
{
  g_autofree char *a = run_ok ("help train"), *b = run_ok ("train --help");
  g_assert_cmpstr (a, ==, b);
}

/* Whatever reads --json output gets JSON even where the line itself is wrong. */
static void
test_usage_errors_are_json (void)
{
  static const char *const lines[] = { "train d --json --set train.btch=3", "train --json", "options nothing --json", "eval --json --part none x" };
  make_project ("d", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_auto (Result) result = run (lines[i]);
      g_assert_cmpint (result.exit_code, ==, 2);
      g_autoptr (JsonNode) told = parse_lines (result.out);
      g_assert_cmpstr (text_of (told, "code"), ==, "invalid-argument");
      g_assert_nonnull (strstr (result.err, text_of (told, "error")));
    }
}

static void
test_cells_tell_their_options (void)
{
  g_autofree char *all = run_ok ("cells"), *conv = run_ok ("cells Conv2d --json");
  g_assert_nonnull (strstr (all, "Dense"));
  g_autoptr (JsonNode) cell = parse_lines (conv);
  JsonArray *options = json_object_get_array_member (json_node_get_object (cell), "options");
  gboolean found = FALSE;
  for (guint i = 0; i < json_array_get_length (options); i++)
    {
      JsonObject *option = json_array_get_object_element (options, i);
      if (strcmp (json_object_get_string_member (option, "name"), "pad_mode") != 0)
        continue;
      found = TRUE;
      g_assert_cmpstr (json_object_get_string_member (option, "default"), ==, "same"); /* MindSpore's default */
      g_assert_cmpstr (json_object_get_string_member (option, "range"), ==, "same|valid|pad");
    }
  g_assert_true (found);
}

/* The model that "cells" shows can be trained. */
static void
test_cells_example_trains (void)
{
  g_autofree char *all = run_ok ("cells"), *path = g_build_filename (scratch, "example.json", NULL);
  char *begin = strstr (all, "\n{\n"), *end = strstr (all, "\n}\n");
  g_assert_true (begin != NULL && end != NULL && begin < end);
  g_assert_true (g_file_set_contents (path, begin + 1, end + 3 - (begin + 1), NULL));
  run_quiet ("new example --model example.json --data drawn-digits " SMALL);
  run_quiet ("train example --set train.max_steps=2");
}

static void
test_hints_can_be_pasted (void)
{
  g_autofree char *out = run_ok ("new 'two words' --preset lenet5 " SMALL), *program = program_path ();
  g_autofree char *wanted = g_strdup_printf ("%s train 'two words'", program);
  g_assert_nonnull (strstr (out, wanted));
}

static void
test_bench_for_people (void)
{
  g_autofree char *json = run_ok ("bench mlp --batch 8 --threads 1 --steps 2 --warmup 1 --seconds 0"), *text = run_ok ("bench mlp --batch 8 --threads 1 --steps 2 --warmup 1 --seconds 0 --text");
  g_autoptr (JsonNode) line = parse_lines (json);
  g_assert_cmpfloat (number_of (line, "ms_p99"), >=, number_of (line, "ms_median"));
  g_assert_true (g_str_has_prefix (text, "mlp, batch 8"));
}

static void
test_closed_pipe (void)
{
  g_autofree char *program = program_path ();
  g_autofree char *line = g_strdup_printf ("'%s' options | head -1; '%s' options --json | true", program, program);
  const char *argv[] = { "bash", "-o", "pipefail", "-c", line, NULL };
  g_autoptr (GError) error = NULL;
  g_autofree char *out = NULL, *err = NULL;
  int status;
  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, &status, &error));
  g_assert_true (g_spawn_check_wait_status (status, &error));
  g_assert_cmpstr (err, ==, "");
}

static void
test_full_output_is_told (void)
{
  g_autofree char *program = program_path ();
  make_project ("f", NULL);
  static const char *const lines[] = { "options", "options --json", "graph -f ir f", "graph -f json f", "bench peak --seconds 0.01", "doctor --seconds 0.01 --json",
                                       "train f --json --set train.max_steps=2", "inspect f", "cells" };
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autofree char *line = g_strdup_printf ("cd '%s' && XDG_DATA_HOME=data XDG_RUNTIME_DIR='%s' '%s' %s > /dev/full", scratch, scratch, program, lines[i]);
      const char *argv[] = { "bash", "-c", line, NULL };
      g_autofree char *err = NULL;
      int status;
      g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, &err, &status, NULL));
      g_test_message ("%s: %s", lines[i], err);
      g_assert_cmpint (WEXITSTATUS (status), ==, 1);
      g_assert_nonnull (strstr (err, "Cannot write the output"));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/usage/help-fits-a-screen-with-an-example", test_help_fits);
  g_test_add_func ("/cli/usage/unknown-names-are-told-with-a-suggestion", test_unknown_names);
  g_test_add_func ("/cli/usage/missing-arguments-are-usage-errors", test_missing_arguments);
  g_test_add_func ("/cli/usage/folders-that-are-none-are-named", test_not_a_folder);
  g_test_add_func ("/cli/new/full-folder-is-refused", test_new_refuses_a_full_folder);
  g_test_add_func ("/cli/new/model-is-copied", test_new_copies_a_model);
  g_test_add_func ("/cli/options/every-line-is-json", test_options_are_json);
  g_test_add_func ("/cli/doctor/report-is-json", test_doctor_is_json);
  g_test_add_func ("/cli/usage/help-of-a-command-by-either-way", test_help_of_a_command);
  g_test_add_func ("/cli/usage/errors-are-json-too", test_usage_errors_are_json);
  g_test_add_func ("/cli/cells/tells-defaults-and-ranges", test_cells_tell_their_options);
  g_test_add_func ("/cli/cells/example-trains", test_cells_example_trains);
  g_test_add_func ("/cli/hints/can-be-pasted", test_hints_can_be_pasted);
  g_test_add_func ("/cli/bench/json-or-text", test_bench_for_people);
  g_test_add_func ("/cli/output/closed-pipe-is-no-failure", test_closed_pipe);
  g_test_add_func ("/cli/output/full-disk-is-a-failure", test_full_output_is_told);
  return run_tests ();
}
