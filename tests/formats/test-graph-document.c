/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-document.h"
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/philox.h"
#include "ir/dot-writer.h"
#include "ir/ir-writer.h"
#include "nn/model.h"
#include "support.h"
#include "train/program.h"

static void
collect (const char *folder, GPtrArray *files)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        collect (path, files);
      else if (g_str_has_suffix (name, ".ir") || g_str_has_suffix (name, ".dot") || g_str_has_suffix (name, ".gv") || g_str_has_suffix (name, ".onnx"))
        g_ptr_array_add (files, g_steal_pointer (&path));
    }
}

static GPtrArray *
all_files (void)
{
  static const char *const places[][3] = { { "TENON_DATA", "data", "graphs" }, { "TENON_DATA", "data", "models" },
                                           { "TENON_TRUTH", "truth", "mindspore/graphs" }, { "TENON_TRUTH", "truth", "torch/models" } };
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *root = shared_folder (places[i][0], places[i][1]);
      g_autofree char *folder = root != NULL ? g_build_filename (root, places[i][2], NULL) : NULL;
      if (folder != NULL)
        collect (folder, files);
    }
  return files;
}

/* What every document must hold, whatever it was made from. */
static void
check_document (const TnGraphDocument *document)
{
  for (int i = 0; i < document->n_items; i++)
    {
      const TnGraphItem *item = &document->items[i];
      g_assert_true (g_utf8_validate (item->name, -1, NULL));
      g_assert_cmpint (item->scope, <, document->n_scopes);
      g_assert_cmpint (item->from, <, document->n_items);
    }
  for (int i = 0; i < document->n_links; i++)
    {
      g_assert_cmpint (document->links[i].from, >=, 0);
      g_assert_cmpint (document->links[i].from, <, document->n_items);
      g_assert_cmpint (document->links[i].to, >=, 0);
      g_assert_cmpint (document->links[i].to, <, document->n_items);
    }
  for (int i = 0; i < document->n_scopes; i++)
    g_assert_cmpint (document->scopes[i].parent, <, i);
}

static TnGraphDocument *
read_text (const char *text, GError **error)
{
  return tn_graph_document_from_bytes (text, strlen (text), "text", error);
}

/* ---- .ir ---- */

/* Counted by regular expressions over the files, by another program. Load, Return and operators are one item a line. */
static void
test_mindspore_counts (void)
{
  g_autofree char *truth = shared_folder ("TENON_TRUTH", "truth");
  g_autofree char *path = truth != NULL ? g_build_filename (truth, "mindspore", "graphs", "expected_counts.json", NULL) : NULL;
  if (path == NULL || !g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("no truth folder");
      return;
    }
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_assert_true (json_parser_load_from_file (parser, path, NULL));
  JsonObject *all = json_node_get_object (json_parser_get_root (parser));
  g_autoptr (GList) names = json_object_get_members (all);
  int n_ir = 0, n_dot = 0;
  for (GList *at = names; at != NULL; at = at->next)
    {
      const char *name = at->data;
      g_autofree char *file = g_build_filename (truth, "mindspore", name, NULL);
      if (!g_file_test (file, G_FILE_TEST_EXISTS) || JSON_NODE_TYPE (json_object_get_member (all, name)) != JSON_NODE_OBJECT)
        continue;
      JsonObject *counts = json_object_get_object_member (all, name);
      g_autoptr (GError) error = NULL;
      if (g_str_has_suffix (name, ".ir") && json_object_has_member (counts, "node_lines"))
        {
          g_autoptr (TnGraphDocument) document = tn_graph_document_load (file, &error);
          g_assert_no_error (error);
          check_document (document);
          int lines = 0;
          for (int i = 0; i < document->n_items; i++)
            lines += document->items[i].order >= 0;
          g_assert_cmpint (lines, ==, json_object_get_int_member (counts, "node_lines") + json_object_get_int_member (counts, "return_lines"));
          n_ir++;
        }
      else if (g_str_has_suffix (name, ".dot"))
        {
          g_autoptr (TnGraphDocument) document = tn_graph_document_load (file, &error);
          g_assert_no_error (error);
          check_document (document);
          g_assert_null (document->note);
          g_assert_cmpstr (document->format, ==, "MindSpore .dot");
          g_assert_cmpint (document->n_items, <=, json_object_get_int_member (counts, "node_statements"));
          g_assert_cmpint (document->n_links, <=, json_object_get_int_member (counts, "edges"));
          g_assert_cmpint (document->n_links, >, 0);
          n_dot++;
        }
    }
  g_test_message ("compared %d .ir and %d .dot files", n_ir, n_dot);
  g_assert_cmpint (n_ir, >, 0);
}

/* The dialects as MindSpore's releases wrote them: one graph, x - 1 after x times w, the same picture from each. */
static const char *const dialects[] = {
  /* 1.0 */
  "#IR entry      : @construct_wrapper.21\n#attrs         :\n#Total params  : 2\n\n"
  "%para1 = x : <Tensor[Float32]x[const vector][32, 10]>\n%para2 = fc.weight : <Tensor[Float32]x[const vector][5, 10]>\n\n#Total subgraph : 1\n\n"
  "subgraph attr:\nUndeterminate : 0\nsubgraph @construct_wrapper.21() {\n"
  "  %0([CNode]8) = MatMul(%para1, %para2) {instance name: matmul} {transpose_b: true}\n"
  " { strategy: ((8, 1), (1, 1)) }      : (<Tensor[Float32]x[const vector][32, 10]>, <Tensor[Float32]x[const vector][5, 10]>) -> (<Tensor[Float32]x[const vector][32, 5]>)\n"
  "      : (Default/network-Net/fc-Dense/MatMul-op3)\n"
  "  %1([CNode]9) = Sub(%0, 1)\n      : (<Tensor[Float32]x[const vector][32, 5]>, <Int64>) -> (<Tensor[Float32]x[const vector][32, 5]>)\n"
  "  return(%1)\n      : (<Tensor[Float32]x[const vector][32, 5]>)\n}\n",
  /* 1.1 to 1.3 */
  "#IR entry      : @3_construct_wrapper.21\n#attrs         :\ncheck_set_strategy_valid_once_only : 1\n#Total params  : 2\n\n"
  "%para1_x : <Tensor[Float32]x[const vector][32, 10]>\n"
  "%para2_fc.weight : <Tensor[Float32]x[const vector][5, 10]>  :  <Float32xDefaultFormat[const vector][5, 10]>  :  IsWeight:true\n\n#Total subgraph : 1\n\n"
  "subgraph attr:\nUndeterminate : 0\nsubgraph @3_construct_wrapper.21() {\n"
  "  %0([CNode]8) = MatMul(%para1_x, %para2_fc.weight) {instance name: matmul} primitive_attrs: {transpose_b: true, input_names: [x1, x2]}\n"
  "      : (<Tensor[Float32]x[const vector][32, 10]>, <Tensor[Float32]x[const vector][5, 10]>) -> (<Tensor[Float32]x[const vector][32, 5]>)\n"
  "      : (<Float32xDefaultFormat[const vector][32, 10]>, <Float32xDefaultFormat[const vector][5, 10]>) -> (<Float32xDefaultFormat[const vector][32, 5]>)\n"
  "      : (Default/network-Net/fc-Dense/MatMul-op3)\n      # In file net.py(12)/        return self.fc(x)/\n"
  "  %1([CNode]9) = Sub(%0, 1) primitive_attrs: {}\n      : (<Tensor[Float32]x[const vector][32, 5]>, <Int64>) -> (<Tensor[Float32]x[const vector][32, 5]>)\n"
  "  return(%1)\n      : (<Tensor[Float32]x[const vector][32, 5]>)\n}\n",
  /* 1.5 to 1.9 */
  "#IR entry      : @3_construct_wrapper.21\n#attrs         :\n#Total params  : 2\n\n%para1_x : <Tensor[Float32]x(32, 10)>\n"
  "%para2_fc.weight : <Ref[Tensor(F32)], ref_key=:fc.weight>  :  has_default\n\n#Total subgraph : 1\n\nsubgraph attr:\n"
  "subgraph @3_construct_wrapper.21() {\n"
  "  %0([CNode]5) = MatMul(%para1_x, %para2_fc.weight) {instance name: matmul} primitive_attrs: {transpose_b: true} cnode_attrs: {} cnode_primal_attrs: {}\n"
  "      : (<Tensor[Float32]x(32, 10)>, <Tensor[Float32]x(5, 10)>) -> (<Tensor[Float32]x(32, 5)>)\n"
  "      # scope: (Default/network-Net/fc-Dense)\n"
  "  %1([CNode]6) = Sub(%0, Tensor(shape=[], dtype=Float32, value= 1))\n      : (<Tensor[Float32]x(32, 5)>, <Tensor[Float32]x()>) -> (<Tensor[Float32]x(32, 5)>)\n"
  "  Return(%1)\n      : (<Tensor[Float32]x(32, 5)>)\n}\n",
  /* 2.0 */
  "#IR entry      : @3_construct_wrapper.21\n#Total subgraph: 1\n\n#attrs         :\n#Total params  : 2\n\n%para1_x : <Tensor[Float32], (32, 10)>\n"
  "%para2_fc.weight : <Ref[Tensor[Float32]], (5, 10), ref_key=:fc.weight>  :  has_default\n\nsubgraph attr:\n"
  "subgraph instance: 3_construct_wrapper.21 : 0x556cab47cd00\n# In file net.py:19/    def construct(self, x, y):/\n"
  "subgraph @3_construct_wrapper.21() {\n"
  "  %0([CNode]5) = MatMul(%para1_x, %para2_fc.weight) {instance name: matmul} primitive_attrs: {transpose_b: true}\n"
  "      : (<Tensor[Float32], (32, 10)>, <Ref[Tensor[Float32]], (5, 10)>) -> (<Tensor[Float32], (32, 5)>)\n"
  "      # scope: (Default/network-Net/fc-Dense)\n"
  "  %1([CNode]6) = Sub(%0, Tensor(shape=[], dtype=Float32, value=1))\n      : (<Tensor[Float32], (32, 5)>, <Tensor[Float32], ()>) -> (<Tensor[Float32], (32, 5)>)\n"
  "      # scope: (Default)\n  Return(%1)\n      : (<Tensor[Float32], (32, 5)>)\n      # scope: (Default)\n}\n# order:\n#   1: @3_construct_wrapper.21:[CNode]5{[0]: x}\n",
  /* 2.1 and later */
  "# IR entry: @3_construct_wrapper_21\n# Total subgraphs: 1\n\n# Total params: 2\n# Params:\n%para1_x: <Tensor[Float32], (32, 10)> : [32, 10]\n"
  "%para2_fc.weight: <Ref[Tensor[Float32]], (5, 10), ref_key=fc.weight>  :  has_default\n\nsubgraph attr:\nsubgraph instance: 3_construct_wrapper_21 : 0x55d0\n"
  "subgraph @3_construct_wrapper_21() {\n"
  "  %0(CNode_310$a) = PrimFunc_MatMul(%para1_x, %para2_fc.weight, Bool(0), Bool(1)) {instance name: matmul} cnode_attrs: {checkpoint: Bool(1)}\n"
  "      : (<Tensor[Float32], (32, 10)>, <Ref[Tensor[Float32]], (5, 10)>, <Bool, NoShape>, <Bool, NoShape>) -> (<Tensor[Float32], (32, 5)>)\n"
  "      # Fullname with scope: (Default/network-Net/fc-Dense/MatMul-op3)\n"
  "  %1(CNode_311) = PrimFunc_Sub(%0, F32(1))\n      : (<Tensor[Float32], (32, 5)>, <Float32, NoShape>) -> (<Tensor[Float32], (32, 5)>)\n"
  "      # Fullname with scope: (Default/Sub-op1)\n  Return(%1)\n      : (<Tensor[Float32], (32, 5)>)\n      # Scope: (Default)\n}\n",
};

static int
find_op (const TnGraphDocument *document, const char *op)
{
  for (int i = 0; i < document->n_items; i++)
    if (strcmp (document->items[i].op, op) == 0)
      return i;
  return -1;
}

static void
test_dialects (void)
{
  for (gsize d = 0; d < G_N_ELEMENTS (dialects); d++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnGraphDocument) document = read_text (dialects[d], &error);
      g_assert_no_error (error);
      g_test_message ("dialect %zu", d + 1);
      check_document (document);
      g_assert_null (document->note);
      int matmul = find_op (document, "MatMul"), sub = find_op (document, "Sub"), result = find_op (document, "Return");
      g_assert_cmpint (matmul, >=, 0);
      g_assert_cmpint (sub, >=, 0);
      g_assert_cmpint (result, >=, 0);
      const TnGraphItem *item = &document->items[matmul];
      g_assert_cmpstr (item->shape, ==, "32×5");
      g_assert_cmpstr (item->dtype, ==, "float32");
      g_assert_cmpfloat (item->output_bytes, ==, 32 * 5 * 4);
      g_assert_cmpint (item->scope, >=, 0);
      g_assert_cmpstr (document->scopes[item->scope].path, ==, "Default/network-Net/fc-Dense");
      g_assert_cmpstr (document->scopes[item->scope].label, ==, "fc");
      g_assert_cmpint (document->in_first[matmul + 1] - document->in_first[matmul], ==, 2);
      const TnGraphItem *x = &document->items[document->links[document->in_links[document->in_first[matmul]]].from];
      g_assert_cmpstr (x->name, ==, "x");
      g_assert_cmpint (x->kind, ==, TN_ITEM_INPUT);
      const TnGraphItem *w = &document->items[document->links[document->in_links[document->in_first[matmul] + 1]].from];
      g_assert_cmpstr (w->name, ==, "fc.weight");
      g_assert_cmpint (document->links[document->in_links[document->in_first[sub]]].from, ==, matmul);
      g_assert_cmpint (document->links[document->in_links[document->in_first[result]]].from, ==, sub);
    }
}

/* ---- .dot ---- */

static void
test_dot_grammar (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraphDocument) document = read_text (
    "/* c */ strict digraph \"g \\\"1\\\"\" {\n# line\n node [label=\"\\N!\"]; a -> {b c} -> d:p:n [label=x];\n"
    " subgraph cluster_one { label=\"One\"; e; subgraph cluster_two { label=Two f } }\n \"long\" + \" name\" -> a; g [label=<<b>bold</b> &lt;x&gt;>,] ; e -- f; 3 -> -.5 }",
    &error);
  g_assert_no_error (error);
  check_document (document);
  g_assert_null (document->note);
  g_assert_cmpstr (document->name, ==, "g \"1\"");
  g_assert_cmpint (document->n_items, ==, 10);
  g_assert_cmpint (document->n_links, ==, 2 + 2 + 1 + 1 + 1);
  int f = tn_graph_document_find (document, "f");
  g_assert_cmpstr (document->scopes[document->items[f].scope].path, ==, "One/Two");
  g_assert_cmpint (tn_graph_document_find (document, "long name"), >=, 0);
  g_assert_cmpstr (document->items[tn_graph_document_find (document, "g")].label, ==, "bold <x>");
  g_assert_cmpstr (document->items[tn_graph_document_find (document, "a")].label, ==, "a!");
}

static void
test_dot_mistake (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraphDocument) document = read_text ("digraph g {\n a -> b;\n b -> c\n c -> ) d;\n e -> f\n}\n", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (document->note, ==, "line 4: unexpected “)”. Graph up to node 3 shown");
  g_assert_cmpint (document->n_items, ==, 3);
  g_assert_null (read_text ("digraph {{{ )", &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
}

/* Deeper than any stack: refused, not followed. */
static void
test_dot_deep (void)
{
  g_autoptr (GString) text = g_string_new ("digraph g { a -> b; ");
  for (int i = 0; i < 100000; i++)
    g_string_append (text, "subgraph cluster_x {");
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraphDocument) document = read_text (text->str, &error);
  g_assert_no_error (error);
  g_assert_nonnull (document->note);
  g_assert_cmpint (document->n_items, ==, 2);
}

static TnGraph *
preset_graph (const char *preset, int64_t batch)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_new_preset (preset, &error);
  g_assert_no_error (error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autoptr (TnProgram) program = tn_program_new (model, settings, &error);
  g_assert_no_error (error);
  TnGraph *graph = tn_program_graph (program, batch, TRUE, &error);
  g_assert_no_error (error);
  return graph;
}

static char *
describe (const TnGraphDocument *document, int i, gboolean names)
{
  const TnGraphItem *item = &document->items[i];
  return g_strdup_printf ("%s %s %s %s %s %d %d %d %s %d", names ? item->name : "", item->op, item->shape, item->dtype, item->scope >= 0 ? document->scopes[item->scope].path : "",
                          item->kind, item->phase, document->in_first[i + 1] - document->in_first[i],
                          names && item->from >= 0 ? document->items[item->from].name : "", item->n_attrs);
}

/* Our .dot and our .ir hold all that the graph holds; the .ir numbers operators anew. */
static void
test_round_trip (gconstpointer preset)
{
  g_autoptr (TnGraph) graph = preset_graph (preset, 4);
  g_autoptr (TnGraphDocument) document = tn_graph_document_from_graph (graph);
  check_document (document);
  g_assert_cmpint (document->n_items, ==, tn_graph_n_nodes (graph));
  g_autofree char *dot = tn_dot_text (graph), *ir = tn_ir_text (graph);
  for (int k = 0; k < 2; k++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnGraphDocument) back = read_text (k == 0 ? dot : ir, &error);
      g_assert_no_error (error);
      g_assert_null (back->note);
      g_assert_cmpint (back->n_items, ==, document->n_items);
      g_assert_cmpint (back->n_links, ==, document->n_links);
      g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      for (int i = 0; i < document->n_items; i++)
        g_hash_table_add (seen, describe (document, i, k == 0));
      for (int i = 0; i < back->n_items; i++)
        {
          g_autofree char *one = describe (back, i, k == 0);
          if (!g_hash_table_contains (seen, one))
            g_error ("not in the graph: %s", one);
        }
    }
}

/* ---- ONNX ---- */

static void
test_onnx (void)
{
  g_autofree char *data = shared_folder ("TENON_DATA", "data");
  g_autofree char *path = data != NULL ? g_build_filename (data, "models", "light_resnet50.onnx", NULL) : NULL;
  if (path == NULL || !g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("no data folder");
      return;
    }
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraphDocument) document = tn_graph_document_load (path, &error);
  g_assert_no_error (error);
  check_document (document);
  g_assert_null (document->note);
  int convs = 0, adds = 0, without_input = 0;
  for (int i = 0; i < document->n_items; i++)
    {
      convs += strcmp (document->items[i].op, "Conv") == 0;
      adds += strcmp (document->items[i].op, "Add") == 0 || strcmp (document->items[i].op, "Sum") == 0;
      without_input += document->items[i].kind == TN_ITEM_OPERATOR && document->in_first[i] == document->in_first[i + 1]
                       && strcmp (document->items[i].op, "ConstantOfShape") != 0;
    }
  g_assert_cmpint (convs, ==, 53); /* 1 + 16 blocks of 3 + 4 shortcuts: He et al. 2015, table 1 */
  g_assert_cmpint (adds, ==, 16);
  g_assert_cmpint (without_input, ==, 0);
}

/* ---- damaged files ---- */

static gboolean
is_fine (const char *bytes, gsize n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraphDocument) document = tn_graph_document_from_bytes (bytes, n, "damaged", &error);
  g_assert_true ((document == NULL) == (error != NULL));
  if (document != NULL)
    check_document (document);
  return document != NULL;
}

/* Cut at every 64th byte (each 1/400 of large ones, so that the test ends), and 1,000 bits turned one after the other over all files. */
static void
test_damage (void)
{
  g_autoptr (GPtrArray) files = all_files ();
  if (files->len == 0)
    {
      g_test_skip ("no data folder");
      return;
    }
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  int cuts = 0, flips = 0, per_file = MAX (1000 / (int) files->len, 1) + 1;
  for (guint i = 0; i < files->len; i++)
    {
      g_autofree char *bytes = NULL;
      gsize n;
      if (!g_file_get_contents (files->pdata[i], &bytes, &n, NULL) || n == 0)
        continue;
      gsize step = g_test_slow () ? 64 : MAX (64, n / 40 / 64 * 64);
      for (gsize at = 0; at < n; at += step, cuts++)
        {
          g_autofree char *part = g_memdup2 (bytes, at + 1);
          part[at] = '\0';
          is_fine (part, at);
        }
      for (int k = 0; k < per_file; k++, flips++)
        {
          gsize at = (gsize) g_rand_int_range (rand, 0, (gint32) n);
          char bit = (char) (1 << g_rand_int_range (rand, 0, 8));
          bytes[at] ^= bit;
          is_fine (bytes, n);
          bytes[at] ^= bit;
        }
    }
  g_test_message ("%u files, %d cuts, %d flips", files->len, cuts, flips);
  g_assert_cmpint (flips, >=, 1000);
}

/* Every file of every program can be shown, but for those that are made to be wrong. */
static void
test_all_load (void)
{
  g_autoptr (GPtrArray) files = all_files ();
  for (guint i = 0; i < files->len; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnGraphDocument) document = tn_graph_document_load (files->pdata[i], &error);
      gboolean bad = strstr (files->pdata[i], "/bad_") != NULL || strstr (files->pdata[i], "/actor_set/") != NULL; /* that one is no graph dump */
      if (document == NULL && !bad)
        g_error ("%s: %s", (char *) files->pdata[i], error->message);
      if (document == NULL)
        continue;
      check_document (document);
      g_test_message ("%s: %d items, %d links, %d scopes, note %s", (char *) files->pdata[i], document->n_items, document->n_links, document->n_scopes, document->note);
      if (!bad)
        g_assert_null (document->note);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/graph-document/mindspore-node-counts", test_mindspore_counts);
  g_test_add_func ("/formats/graph-document/five-dialects-one-graph", test_dialects);
  g_test_add_func ("/formats/graph-document/dot-grammar", test_dot_grammar);
  g_test_add_func ("/formats/graph-document/dot-mistake-has-its-line", test_dot_mistake);
  g_test_add_func ("/formats/graph-document/dot-nesting-is-bounded", test_dot_deep);
  g_test_add_data_func ("/formats/graph-document/round-trip/lenet5", "lenet5", test_round_trip);
  g_test_add_data_func ("/formats/graph-document/round-trip/resnet18", "resnet18-cifar", test_round_trip);
  g_test_add_func ("/formats/graph-document/onnx-resnet50", test_onnx);
  g_test_add_func ("/formats/graph-document/all-files-load", test_all_load);
  g_test_add_func ("/formats/graph-document/damage-never-crashes", test_damage);
  return g_test_run ();
}
