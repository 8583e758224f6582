/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "formats/cifar.h"
#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "formats/safetensors.h"

/* inspect knows files by their content: every one here has a name that says nothing. */

static JsonNode *
inspect (const char *name)
{
  g_autofree char *line = g_strdup_printf ("inspect '%s' --json", name), *out = run_ok (line);
  g_autofree char *plain = g_strdup_printf ("inspect '%s'", name), *text = run_ok (plain);
  JsonNode *node = parse_lines (out);
  g_assert_nonnull (strstr (text, text_of (node, "kind")));
  return node;
}

static void
assert_kind (const char *name, const char *kind)
{
  g_autoptr (JsonNode) node = inspect (name);
  g_assert_cmpstr (text_of (node, "kind"), ==, kind);
}

static char *
shape_of (JsonNode *node)
{
  return tn_json_to_text (json_object_get_member (json_node_get_object (node), "shape"), 0);
}

static void
test_arrays (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) tensor = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (2, 3, 32, 32), NULL);
  g_autoptr (TnTensor) labels = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (2), NULL);
  memset (tn_tensor_data (tensor), 7, tn_tensor_bytes (tensor));
  memset (tn_tensor_data (labels), 3, tn_tensor_bytes (labels));
  TnTensor *both[] = { tensor, labels };
  g_autofree char *a = g_build_filename (scratch, "a", NULL), *b = g_build_filename (scratch, "b", NULL), *c = g_build_filename (scratch, "c", NULL);
  g_autofree char *d = g_build_filename (scratch, "d", NULL), *e = g_build_filename (scratch, "e", NULL);
  g_assert_true (tn_npy_write (a, tensor, &error));
  g_assert_true (tn_npz_write (b, (const char *[]){ "x", "y" }, both, 2, &error));
  g_assert_true (tn_idx_write (c, tensor, &error));
  g_assert_true (tn_safetensors_write (d, (const char *[]){ "x", "y" }, both, 2, NULL, &error));
  g_assert_true (tn_cifar_write (e, tensor, labels, NULL, &error));
  g_assert_no_error (error);
  assert_kind ("a", "npy");
  assert_kind ("b", "npz");
  assert_kind ("c", "idx");
  assert_kind ("d", "safetensors");
  assert_kind ("e", "cifar-10");
  g_autoptr (JsonNode) node = inspect ("a");
  g_autofree char *shape = shape_of (node);
  g_assert_cmpstr (shape, ==, "[2, 3, 32, 32]");
  g_assert_cmpstr (text_of (node, "dtype"), ==, "uint8");
}

static void
test_what_a_run_leaves (void)
{
  make_project ("p", "--set graph.save=true --set train.max_steps=3");
  run_quiet ("train p");
  g_autofree char *run_path = only_run ("p");
  static const char *const expected[][2] = { { "", "run" },
                                             { "/run.json", "run" },
                                             { "/checkpoints/step-00000003", "checkpoint" },
                                             { "/checkpoints/step-00000003/manifest.json", "checkpoint" },
                                             { "/checkpoints/step-00000003/rank-0000.safetensors", "safetensors" },
                                             { "/checkpoints/step-00000003/state.json", "json" },
                                             { "/graphs/00_bootstrap_0000.ir", "ir" },
                                             { "/graphs/00_bootstrap_0001.dot", "dot" },
                                             { "/log.txt", "log" },
                                             { "/lock", "lock" },
                                             { "/checkpoints", "checkpoints" } };
  assert_kind ("p", "project");
  assert_kind ("p/project.json", "project");
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      g_autofree char *path = g_strconcat (run_path, expected[i][0], NULL);
      assert_kind (path, expected[i][1]);
    }
  g_autofree char *folder = g_build_filename (scratch, run_path, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  gboolean found = FALSE;
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    if (g_str_has_prefix (name, "events"))
      {
        g_autofree char *path = g_build_filename (run_path, name, NULL);
        assert_kind (path, "tfevents");
        found = TRUE;
      }
  g_assert_true (found);
}

/* Counted by hand: two nodes, one edge, and text that looks like more of them. */
static void
test_dot_is_counted (void)
{
  static const char dot[] = "digraph g {\ngraph [label=\"a -> b [\"]\nnode [shape=box]\nsubgraph cluster_0 {\nx [label=<<b>-&gt;</b> y [z]>]\n"
                            "y [label=\"say \\\"x -> y\\\"\"]\n}\nx -> y [style=dashed]\n}\n";
  g_autofree char *path = g_build_filename (scratch, "g", NULL);
  g_assert_true (g_file_set_contents (path, dot, -1, NULL));
  g_autoptr (JsonNode) node = inspect ("g");
  g_assert_cmpfloat (number_of (node, "nodes"), ==, 2);
  g_assert_cmpfloat (number_of (node, "edges"), ==, 1);
  g_assert_cmpfloat (number_of (node, "clusters"), ==, 1);
}

static void
test_several_and_a_wrong_one (void)
{
  g_autofree char *path = g_build_filename (scratch, "j", NULL);
  g_assert_true (g_file_set_contents (path, "{\"a\": {\"b\": 3}, \"c\": \"0x1p-2\"}", -1, NULL));
  g_auto (Result) result = run ("inspect j nowhere j");
  g_assert_cmpint (result.exit_code, ==, 1);
  g_assert_nonnull (strstr (result.err, "nowhere"));
  g_assert_cmpstr (strstr (result.out, "kind"), !=, g_strrstr (result.out, "kind"));
  g_assert_nonnull (strstr (result.out, "a.b"));
  g_assert_nonnull (strstr (result.out, "0.25")); /* 0x1p-2 */
}

static void
test_cut_gzip_is_damaged (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) tensor = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (20, 40, 40), NULL);
  uint8_t *pixels = tn_tensor_data (tensor);
  guint32 noise = 1;
  for (size_t i = 0; i < tn_tensor_bytes (tensor); i++)
    pixels[i] = (uint8_t) ((noise = noise * 1664525u + 1013904223u) >> 24);
  g_autofree char *plain = g_build_filename (scratch, "pixels", NULL), *cut = g_build_filename (scratch, "cut", NULL);
  g_assert_true (tn_idx_write (plain, tensor, &error));
  g_autofree char *line = g_strdup_printf ("gzip -c '%s' | head -c 9000 > '%s'", plain, cut);
  const char *argv[] = { "bash", "-c", line, NULL };
  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_auto (Result) result = run ("inspect cut --json");
  g_assert_cmpint (result.exit_code, ==, 1); /* told, and still a fault */
  g_autoptr (JsonNode) node = parse_lines (result.out);
  g_assert_cmpstr (text_of (node, "kind"), ==, "idx");
  g_assert_nonnull (strstr (text_of (node, "damage"), "cut short"));
}

static void
test_models_and_strangers (void)
{
  static const char model[] = "{\"input\": {\"shape\": [4]}, \"cells\": [{\"type\": \"Dense\", \"out_channels\": 3}]}";
  g_autofree char *path = g_build_filename (scratch, "m", NULL), *noise = g_build_filename (scratch, "noise", NULL);
  g_autofree char *empty = g_build_filename (scratch, "empty", NULL);
  g_assert_true (g_file_set_contents (path, model, -1, NULL));
  g_assert_true (g_file_set_contents (noise, "once upon a time", -1, NULL));
  g_assert_true (g_file_set_contents (empty, "", 0, NULL));
  g_autoptr (JsonNode) node = inspect ("m");
  g_assert_cmpstr (text_of (node, "kind"), ==, "model");
  g_assert_cmpfloat (number_of (node, "parameters"), ==, 4 * 3 + 3);
  assert_fails ("inspect noise", 1, "noise", "safetensors", NULL);
  assert_fails ("inspect empty", 1, "empty file", NULL);
  assert_fails ("inspect nowhere", 1, "nowhere", NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cli/inspect/arrays-by-content", test_arrays);
  g_test_add_func ("/cli/inspect/everything-that-a-run-leaves", test_what_a_run_leaves);
  g_test_add_func ("/cli/inspect/dot-is-counted", test_dot_is_counted);
  g_test_add_func ("/cli/inspect/several-and-a-wrong-one", test_several_and_a_wrong_one);
  g_test_add_func ("/cli/inspect/cut-gzip-is-damaged", test_cut_gzip_is_damaged);
  g_test_add_func ("/cli/inspect/models-and-strange-files", test_models_and_strangers);
  return run_tests ();
}
