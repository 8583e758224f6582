/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "data/drawn-digits.h"
#include "formats/idx.h"
#include "formats/npy.h"

/* eval, predict and graph. */

static char *trained; /* a run */

/* The first 30 digits of another seed, as an .npy of pictures and as IDX files. */
static void
write_digits (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) pixels = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (30, 28, 28), NULL);
  g_autoptr (TnTensor) labels = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (30), NULL);
  int32_t classes[30];
  tn_drawn_digits_fill (99, 0, 30, tn_tensor_data (pixels), classes);
  for (int i = 0; i < 30; i++)
    tn_tensor_set (labels, i, classes[i]);
  g_autofree char *folder = g_build_filename (scratch, "idx", NULL), *npy = g_build_filename (scratch, "digits.npy", NULL);
  g_autofree char *images = g_build_filename (folder, "t10k-images-idx3-ubyte", NULL), *names = g_build_filename (folder, "t10k-labels-idx1-ubyte", NULL);
  g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
  g_assert_true (tn_npy_write (npy, pixels, &error));
  g_assert_true (tn_idx_write (images, pixels, &error));
  g_assert_true (tn_idx_write (names, labels, &error));
  g_assert_no_error (error);
}

static void
set_up (void)
{
  if (trained != NULL)
    return;
  make_project ("read", "--set train.epochs=12 --set optimizer.lr=0.03 --set checkpoint.every_epochs=4 --set checkpoint.keep=20");
  run_quiet ("train read");
  trained = only_run ("read");
  write_digits ();
}

static JsonNode *
run_json (const char *command, const char *more)
{
  g_autofree char *line = g_strdup_printf ("%s %s %s --json", command, trained, more), *out = run_ok (line);
  return parse_lines (out);
}

/* What eval finds on the held-out samples is what the trainer found at the end. */
static void
test_eval_equals_training (void)
{
  set_up ();
  g_autoptr (JsonNode) found = run_json ("eval", ""), shown = show (trained);
  JsonObject *facts = json_object_get_object_member (json_node_get_object (shown), "facts");
  g_assert_cmpfloat (number_of (found, "samples"), ==, 80);
  g_assert_cmpfloat (number_of (found, "accuracy"), ==, json_object_get_double_member (facts, "accuracy"));
  g_assert_cmpfloat_with_epsilon (number_of (found, "loss"), json_object_get_double_member (facts, "validation_loss"), 1e-9);
  g_assert_cmpfloat (number_of (found, "accuracy"), >, 0.3); /* three times better than guessing */
}

static void
test_eval_other_data (void)
{
  set_up ();
  g_autoptr (JsonNode) folder = run_json ("eval", "--data idx"), drawn = run_json ("eval", "--data drawn-digits:50 --checkpoint 64");
  g_assert_cmpfloat (number_of (folder, "samples"), ==, 30);
  g_assert_cmpfloat (number_of (drawn, "samples"), ==, 50);
  g_assert_cmpfloat (number_of (drawn, "step"), ==, 64);
  g_autoptr (JsonNode) best = run_json ("eval", "--checkpoint best");
  g_assert_cmpfloat (number_of (best, "samples"), ==, 80);
  g_autofree char *missing = g_strdup_printf ("eval %s --checkpoint 5", trained), *wrong = g_strdup_printf ("eval %s --checkpoint last", trained);
  assert_fails (missing, 1, "step 5", "64", NULL);
  assert_fails (wrong, 1, "“last”", "newest", NULL);
  g_autofree char *data = g_strdup_printf ("eval %s --data nothing-here", trained);
  assert_fails (data, 1, "nothing-here", NULL);
}

/* The classes with the highest probability, counted against the labels, give eval's accuracy. */
static void
test_predict_equals_eval (void)
{
  set_up ();
  g_autoptr (JsonNode) folder = run_json ("eval", "--data idx");
  g_autofree char *line = g_strdup_printf ("predict %s digits.npy --json", trained), *out = run_ok (line);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (out), "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 30);
  int correct = 0;
  for (int i = 0; i < 30; i++)
    {
      g_autoptr (JsonNode) row = parse_lines (lines[i]);
      JsonArray *all = json_object_get_array_member (json_node_get_object (row), "probabilities");
      double sum = 0;
      for (guint k = 0; k < json_array_get_length (all); k++)
        sum += json_array_get_double_element (all, k);
      g_assert_cmpfloat_with_epsilon (sum, 1, 1e-5);
      g_assert_cmpfloat (number_of (row, "index"), ==, i);
      correct += (int) number_of (row, "class") == i % 10; /* drawn digits go round the classes */
    }
  g_assert_cmpfloat_with_epsilon (correct / 30.0, number_of (folder, "accuracy"), 1e-12);
}

static void
test_predict_index (void)
{
  set_up ();
  g_autofree char *a = g_strdup_printf ("predict %s digits.npy --index 3 --index 7", trained), *text = run_ok (a);
  g_autofree char *b = g_strdup_printf ("predict %s idx/t10k-images-idx3-ubyte --index 3 --index 7", trained), *same = run_ok (b);
  g_assert_cmpstr (text, ==, same);
  g_assert_true (g_regex_match_simple ("sample 7: class [0-9] \\([0-9.]+ %\\)", text, 0, 0));
  g_autofree char *far = g_strdup_printf ("predict %s digits.npy --index 30", trained);
  assert_fails (far, 1, "0 to 29", NULL);
  g_autoptr (TnTensor) wide = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (2, 9, 9), NULL);
  g_autofree char *path = g_build_filename (scratch, "wide.npy", NULL), *line = g_strdup_printf ("predict %s wide.npy", trained);
  memset (tn_tensor_data (wide), 0, tn_tensor_bytes (wide));
  g_assert_true (tn_npy_write (path, wide, NULL));
  g_auto (Result) result = run (line); /* nobody said anything of classes */
  g_assert_cmpint (result.exit_code, ==, 1);
  g_assert_nonnull (strstr (result.err, "2 samples (1, 9, 9)"));
  g_assert_null (strstr (result.err, "classes"));
  g_autofree char *none = g_strdup_printf ("predict %s read/project.json", trained);
  assert_fails (none, 1, "project.json", NULL);
}

static void
test_graph_formats (void)
{
  set_up ();
  g_autofree char *dot = run_ok ("graph read --format dot"), *ir = run_ok ("graph read --format ir --stage built");
  g_autofree char *json = run_ok ("graph read --format json --set train.batch=7"), *plan = run_ok ("graph read --format plan");
  g_assert_true (g_str_has_prefix (dot, "digraph"));
  g_assert_nonnull (strstr (ir, "# IR entry"));
  g_assert_cmpuint (strlen (plan), >, 100);
  g_autoptr (JsonNode) graph = parse_lines (json);
  g_assert_cmpstr (text_of (graph, "format"), ==, "tenon-graph");
  JsonObject *totals = json_object_get_object_member (json_node_get_object (graph), "totals");
  g_assert_cmpint (json_object_get_int_member (totals, "nodes"), >, 20);
  g_autofree char *line = g_strdup_printf ("graph %s --format ir -o step.ir", trained), *nothing = run_ok (line);
  g_autofree char *path = g_build_filename (scratch, "step.ir", NULL);
  g_assert_cmpstr (nothing, ==, "");
  g_assert_true (g_file_test (path, G_FILE_TEST_IS_REGULAR));
#if TN_HAVE_DRAW
  run_quiet ("graph read --format svg -o a.svg");
#else
  assert_fails ("graph read --format svg -o a.svg", 1, "cannot draw", "--format dot", NULL);
#endif
  assert_fails ("graph read --format dat", 2, "“dot”", NULL);
  assert_fails ("graph read", 2, "--format", NULL);
}

/* A run that died says so, with the reason that run.json had: show looks twice and must not mix the looks up. */
static void
test_show_lost_run (void)
{
  set_up ();
  g_autofree char *file = g_build_filename (scratch, trained, "run.json", NULL), *line = g_strdup_printf ("show %s", trained), *text = NULL;
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  g_auto (GStrv) parts = g_strsplit (text, "\"state\": \"finished\"", 2);
  g_assert_cmpint (g_strv_length (parts), ==, 2);
  g_autofree char *dead = g_strjoin ("\"state\": \"running\"", parts[0], parts[1], NULL);
  g_assert_true (g_file_set_contents (file, dead, -1, NULL));
  g_autofree char *out = run_ok (line);
  g_assert_true (g_file_set_contents (file, text, -1, NULL));
  g_assert_nonnull (strstr (out, "lost."));
  g_assert_nonnull (strstr (out, "All epochs are done."));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/eval/equals-what-training-found", test_eval_equals_training);
  g_test_add_func ("/cli/eval/other-data-and-checkpoints", test_eval_other_data);
  g_test_add_func ("/cli/predict/counted-is-the-accuracy-of-eval", test_predict_equals_eval);
  g_test_add_func ("/cli/predict/chosen-samples-of-npy-and-idx", test_predict_index);
  g_test_add_func ("/cli/show/lost-run-keeps-its-reason", test_show_lost_run);
  g_test_add_func ("/cli/graph/every-format", test_graph_formats);
  int status = run_tests ();
  g_free (trained);
  return status;
}
