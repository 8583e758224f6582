/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/json.h"
#include "ir/dot-writer.h"
#include "ir/graph-dump.h"
#include "ir/graph-json.h"
#include "ir/ir-reader.h"
#include "ops/op.h"
#include <glib/gstdio.h>
#include <string.h>

static TnGraph *
branch (const char *name, const char *op)
{
  TnGraph *graph = tn_graph_new (name);
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2, 3));
  tn_graph_add_output (graph, "x", tn_op (graph, op, TN_IN (x, x), TN_NO_ATTRS));
  return graph;
}

/* A graph with everything that is drawn, and names that XML and Graphviz have a meaning for. */
static TnGraph *
example (void)
{
  static const char *const names[] = { "fc.weight", "a \"b\" & <c> 'd'", "вес ↓", "back\\slash\\N", "&lt;", "line\nbreak", "", "{|}", "-->" };
  g_autoptr (TnGraph) then = branch ("then \"<&>\\", "Add"), otherwise = branch ("else", "Mul");
  TnGraph *graph = tn_graph_new ("net \"<b>\"\\");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2, 3));
  tn_graph_push_scope (graph, "network");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      TnValue *w = tn_graph_add_parameter (graph, names[i], TN_DTYPE_F32, TN_SHAPE (2, 3), &(TnParameterInfo){ .init = "zeros" });
      x = tn_op (graph, "Add", TN_IN (x, w), TN_NO_ATTRS);
    }
  tn_graph_pop_scope (graph);
  g_autoptr (TnTensor) constant = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (2, 3), NULL);
  x = tn_op (graph, "Mul", TN_IN (x, tn_graph_add_constant (graph, constant)), TN_NO_ATTRS);
  TnValue *choice = tn_graph_add_input (graph, "choice", TN_DTYPE_BOOL, TN_SHAPE_SCALAR);
  TnNode *node = tn_graph_add_node_full (graph, "If", TN_IN (choice, x), TN_NO_ATTRS, 2, (TnGraph *[]){ then, otherwise });
  g_assert_nonnull (node);
  TnValue *e = tn_op (graph, "Einsum", TN_IN (&node->outputs[0], x), TN_ATTRS (tn_attr_string ("equation", "ij,kj->ik")));
  tn_graph_add_output (graph, "y", e);
  tn_graph_add_output (graph, "x", x);
  return graph;
}

/* ---- .dot ---- */

static void
assert_balanced (const char *text)
{
  int braces = 0, tables = 0;
  gboolean quoted = FALSE;
  for (const char *c = text; *c != '\0'; c++)
    {
      if (*c == '\\' && quoted)
        c++;
      else if (*c == '"')
        quoted = !quoted;
      else if (!quoted && g_str_has_prefix (c, "<<table"))
        tables++;
      else if (!quoted && g_str_has_prefix (c, "</table>>"))
        tables--;
      else if (!quoted && tables == 0)
        braces += *c == '{' ? 1 : *c == '}' ? -1 : 0;
      g_assert_cmpint (tables, >=, 0);
      g_assert_cmpint (tables, <=, 1);
    }
  g_assert_false (quoted);
  g_assert_cmpint (braces, ==, 0);
  g_assert_cmpint (tables, ==, 0);
}

static void
test_dot_is_balanced (void)
{
  g_autoptr (TnGraph) graph = example ();
  g_autofree char *text = tn_dot_text (graph);
  g_assert_true (g_utf8_validate (text, -1, NULL));
  assert_balanced (text);
  g_assert_true (g_str_has_prefix (text, "digraph \""));
}

/* Graphviz itself is the judge. */
static void
test_dot_in_graphviz (void)
{
  g_autofree char *program = g_find_program_in_path ("dot");
  if (program == NULL)
    {
      g_test_skip ("Graphviz is not installed");
      return;
    }
  g_autoptr (TnGraph) graph = example ();
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("tenon-dot-XXXXXX", &error);
  g_autofree char *path = g_build_filename (folder, "graph.dot", NULL);
  g_assert_true (tn_dot_write (graph, path, &error));
  const char *argv[] = { program, "-Tsvg", path, NULL };
  g_autofree char *svg = NULL, *complaints = NULL;
  int status;
  g_assert_true (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &svg, &complaints, &status, &error));
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpstr (complaints, ==, "");
  g_assert_nonnull (strstr (svg, "a &quot;b&quot; &amp; &lt;c&gt; &#39;d&#39;"));
  g_assert_nonnull (strstr (svg, "вес ↓"));
  g_remove (path);
  g_rmdir (folder);
}

/* ---- folder ---- */

static void
remove_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      if (g_remove (path) != 0)
        remove_folder (path);
    }
  g_rmdir (folder);
}

static void
assert_file (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_assert_true (g_file_test (path, G_FILE_TEST_IS_REGULAR));
}

static void
test_dump_names (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("tenon-dump-XXXXXX", &error);
  g_autoptr (TnGraphDump) dump = tn_graph_dump_new (folder, 0, 1, &error);
  g_autoptr (TnGraph) graph = example ();
  g_assert_true (tn_graph_dump_stage (dump, "bootstrap", graph, &error));
  g_assert_true (tn_graph_dump_stage (dump, "type_inference", graph, &error));
  g_assert_true (tn_graph_dump_stage_text (dump, "../auto monad", graph, &error));
  g_assert_true (tn_graph_dump_stage (dump, "execute", graph, &error));
  g_assert_no_error (error);
  assert_file (folder, "00_bootstrap_0000.ir");
  assert_file (folder, "00_bootstrap_0001.dot");
  assert_file (folder, "01_type_inference_0002.ir");
  assert_file (folder, "01_type_inference_0003.dot");
  assert_file (folder, "02_.._auto_monad_0004.ir");
  assert_file (folder, "03_execute_0005.ir");
  assert_file (folder, "03_execute_0006.dot");
  g_autofree char *path = g_build_filename (folder, "03_execute_0005.ir", NULL);
  g_autoptr (TnGraph) again = tn_ir_read (path, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_graph_n_nodes (again), ==, tn_graph_n_nodes (graph));
  remove_folder (folder);
}

static void
test_rank_folder (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("tenon-dump-XXXXXX", &error);
  g_autoptr (TnGraphDump) dump = tn_graph_dump_new (folder, 3, 4, &error);
  g_autoptr (TnGraph) graph = example ();
  g_assert_true (tn_graph_dump_stage (dump, "bootstrap", graph, &error));
  assert_file (folder, "rank_3/00_bootstrap_0000.ir");
  remove_folder (folder);
}

static void
test_no_folder (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_graph_dump_new ("/proc/version/graphs", 0, 1, &error));
  g_assert_nonnull (error);
  g_assert_true (error->domain == TN_ERROR);
}

/* Names from real folders and from the notes on older releases. */
static void
test_parse_names (void)
{
  static const struct
  {
    const char *file, *name;
    int stage, counter;
  } cases[] = {
    { "00_bootstrap_0000.ir", "bootstrap", 0, 0 },
    { "18_execute_10161.ir", "execute", 18, 10161 },
    { "x/0003_hwopt_d_end_graph_0.ir", "hwopt_d_end_graph_0", -1, 3 },
    { "04_abstract_specialize.dot", "abstract_specialize", 4, -1 },
    { "10_parallel-infer-symbol-second_0027.dot", "parallel-infer-symbol-second", 10, 27 },
    { "graph_build_0_0605.ir", "graph_build_0", -1, 605 },
    { "ms_output_optimize.pb", "ms_output_optimize", -1, -1 },
    { "opt_a.r1.a_2.pass_0042.ir", "opt_a.r1.a_2.pass", -1, 42 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      int stage, counter;
      g_autofree char *name = NULL;
      g_assert_true (tn_graph_dump_parse_name (cases[i].file, &stage, &name, &counter));
      g_assert_cmpstr (name, ==, cases[i].name);
      g_assert_cmpint (stage, ==, cases[i].stage);
      g_assert_cmpint (counter, ==, cases[i].counter);
    }
  int stage, counter;
  char *name = NULL;
  g_assert_false (tn_graph_dump_parse_name ("README.md", &stage, &name, &counter));
}

/* ---- JSON ---- */

static void
test_json (void)
{
  g_autoptr (TnGraph) graph = example ();
  g_autoptr (JsonNode) json = tn_graph_to_json (graph);
  g_autofree char *text = tn_json_to_text (json, 2);
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) again = tn_json_parse (text, -1, &error);
  g_assert_no_error (error);
  JsonObject *top = json_node_get_object (again);
  g_assert_cmpstr (json_object_get_string_member (top, "name"), ==, "net \"<b>\"\\");
  JsonArray *nodes = json_object_get_array_member (top, "nodes");
  g_assert_cmpint (json_array_get_length (nodes), ==, tn_graph_n_nodes (graph));
  JsonObject *totals = json_object_get_object_member (top, "totals");
  g_assert_cmpint (json_object_get_int_member (totals, "parameters"), ==, 9 * 6); /* nine of 2 x 3 */
  g_assert_cmpint (json_object_get_int_member (totals, "parameter_bytes"), ==, 9 * 24);
  JsonObject *last = json_array_get_object_element (nodes, json_array_get_length (nodes) - 1);
  g_assert_cmpstr (json_object_get_string_member (last, "op"), ==, "Einsum");
  g_assert_cmpstr (json_object_get_string_member (json_object_get_object_member (last, "attributes"), "equation"), ==, "ij,kj->ik");
  JsonObject *root = json_array_get_object_element (json_object_get_array_member (top, "scopes"), 0);
  g_assert_cmpstr (json_object_get_string_member (root, "name"), ==, "Default");
  g_assert_cmpint (json_object_get_int_member (root, "nodes"), ==, tn_graph_n_nodes (graph));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ir/dot/brackets-are-even", test_dot_is_balanced);
  g_test_add_func ("/ir/dot/graphviz-has-no-complaint", test_dot_in_graphviz);
  g_test_add_func ("/ir/dump/files-are-named-as-mindspore-does", test_dump_names);
  g_test_add_func ("/ir/dump/ranks-have-folders", test_rank_folder);
  g_test_add_func ("/ir/dump/folder-that-cannot-be-is-refused", test_no_folder);
  g_test_add_func ("/ir/dump/names-of-all-releases", test_parse_names);
  g_test_add_func ("/ir/json/describes-the-graph", test_json);
  return g_test_run ();
}
