/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/json.h"
#include "ir/ir-text.h"
#include <string.h>

/* Expected counts come from MindSpore itself: truth/mindspore/graphs/expected_counts.json counts with regular expressions
 * what its dumps hold. */

static char *
truth_path (const char *relative)
{
  const char *root = g_getenv ("TENON_TRUTH"), *source = g_getenv ("TENON_SOURCE_ROOT");
  g_autofree char *usual = g_build_filename (source != NULL ? source : ".", "../shared/truth", NULL); /* wherever the test is run */
  g_autofree char *given = g_build_filename (root != NULL ? root : usual, "mindspore", relative, NULL);
  return g_file_test (given, G_FILE_TEST_EXISTS) ? g_steal_pointer (&given) : NULL;
}

static TnIrDocument *
load (const char *relative)
{
  g_autofree char *path = truth_path (relative);
  if (path == NULL)
    return NULL;
  g_autoptr (GError) error = NULL;
  TnIrDocument *document = tn_ir_document_load (path, &error);
  g_assert_no_error (error);
  return document;
}

static int
expected (JsonObject *object, const char *key)
{
  return json_object_get_null_member (object, key) ? -1 : (int) json_object_get_int_member (object, key);
}

static void
check_counts (const TnIrDocument *document, JsonObject *want)
{
  int n_nodes = 0, n_results = 0, n_unparsed = 0;
  for (guint i = 0; i < document->graphs->len; i++)
    {
      const TnIrGraph *graph = document->graphs->pdata[i];
      n_nodes += (int) graph->nodes->len;
      n_results += graph->result != NULL;
      for (guint k = 0; k < graph->nodes->len; k++)
        {
          const TnIrNode *node = graph->nodes->pdata[k];
          n_unparsed += node->unparsed;
          g_assert_cmpint (node->number, ==, k);
        }
    }
  g_assert_cmpint (n_nodes, ==, expected (want, "node_lines"));
  g_assert_cmpint (n_results, ==, expected (want, "return_lines"));
  g_assert_cmpint (n_unparsed, ==, 0);
  g_assert_cmpint (document->graphs->len, ==, expected (want, "subgraph_lines"));
  g_assert_cmpint (document->parameters->len, ==, expected (want, "parameter_lines_header"));
  g_assert_cmpint (document->total_subgraphs, ==, expected (want, "total_subgraphs_header"));
  g_assert_cmpint (document->total_params, ==, expected (want, "total_params_header"));
  g_assert_cmpint (document->total_nodes, ==, expected (want, "nodes_header"));
  g_assert_cmpint (document->total_cnodes, ==, expected (want, "cnodes_header"));
  g_assert_cmpstr (document->entry, ==, json_object_get_string_member (want, "entry") + 1);
  g_assert_false (document->truncated);
}

static void
test_counts (void)
{
  g_autofree char *path = truth_path ("graphs/expected_counts.json");
  if (path == NULL)
    {
      g_test_skip ("no MindSpore truth files");
      return;
    }
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) counts = tn_json_load (path, &error);
  g_assert_no_error (error);
  JsonObjectIter iter;
  const char *file;
  JsonNode *want;
  int n_files = 0;
  json_object_iter_init (&iter, json_node_get_object (counts));
  while (json_object_iter_next (&iter, &file, &want))
    if (g_str_has_suffix (file, ".ir"))
      {
        g_autoptr (TnIrDocument) document = load (file);
        g_assert_nonnull (document);
        g_test_message ("%s", file);
        check_counts (document, json_node_get_object (want));
        n_files++;
      }
  g_assert_cmpint (n_files, >, 70);
}

/* Every operand that is a node or a parameter must be one that the file defines, and every line of types must have as many
 * as the node has operands. */
static void
check_references (const TnIrDocument *document, const TnIrGraph *graph, const TnIrNode *node)
{
  for (int i = 0; i < node->n_operands; i++)
    {
      const TnIrOperand *operand = &node->operands[i];
      if (operand->kind == TN_IR_OPERAND_NODE)
        g_assert_cmpint (operand->number, <, graph->nodes->len);
      if (operand->kind == TN_IR_OPERAND_GRAPH)
        g_assert_nonnull (tn_ir_document_find (document, operand->text));
    }
  if (node->n_inputs != node->n_operands)
    g_test_message ("line %d: %s", node->line, node->op);
  if (node->inputs != NULL && node->number >= 0 && !g_str_has_prefix (node->op, "%"))
    g_assert_cmpint (node->n_inputs, ==, node->n_operands);
  if (node->outputs != NULL && node->number >= 0)
    g_assert_cmpint (node->n_outputs, ==, 1);
}

static void
test_references (void)
{
  static const char *const files[] = { "graphs/lenet5_train_level3/24_execute_0816.ir", "graphs/small_level3/24_execute_0609.ir",
                                       "graphs/transformer_block_level3/01_type_inference_0002.ir",
                                       "graphs/control_flow_level3/24_execute_1168.ir" };
  for (guint f = 0; f < G_N_ELEMENTS (files); f++)
    {
      g_autoptr (TnIrDocument) document = load (files[f]);
      if (document == NULL)
        {
          g_test_skip ("no MindSpore truth files");
          return;
        }
      for (guint i = 0; i < document->graphs->len; i++)
        {
          const TnIrGraph *graph = document->graphs->pdata[i];
          for (guint k = 0; k < graph->nodes->len; k++)
            check_references (document, graph, graph->nodes->pdata[k]);
        }
    }
}

/* Read off the file by eye. */
static void
test_lenet_node (void)
{
  g_autoptr (TnIrDocument) document = load ("graphs/lenet5_train_level3/graph_build_0_0812.ir");
  if (document == NULL)
    {
      g_test_skip ("no MindSpore truth files");
      return;
    }
  const TnIrGraph *graph = tn_ir_document_entry (document);
  g_assert_cmpstr (graph->name, ==, "kernel_graph0");
  const TnIrNode *node = graph->nodes->pdata[38];
  g_assert_cmpstr (node->op, ==, "Conv2DBackpropInput");
  g_assert_cmpstr (node->name, ==, "CNode_2276");
  g_assert_cmpint (node->n_operands, ==, 3);
  g_assert_cmpint (node->operands[0].kind, ==, TN_IR_OPERAND_NODE);
  g_assert_cmpint (node->operands[0].number, ==, 37);
  g_assert_cmpint (node->operands[2].kind, ==, TN_IR_OPERAND_VALUE);
  g_assert_cmpstr (node->operands[2].text, ==, "Tensor(shape=[4], dtype=Int64, value=[ 4  6 14 14])");
  g_assert_cmpstr (tn_ir_node_attr (node, "pad_mode"), ==, "\"VALID\"");
  g_assert_cmpstr (tn_ir_node_attr (node, "stride"), ==, "(1, 1, 1, 1)");
  g_assert_cmpstr (tn_ir_node_attr (node, "forward_node_name"), ==, "\"Conv2D_9518\"");
  g_assert_cmpstr (node->outputs[0], ==, "Tensor[Float32], (4, 6, 14, 14)");
  g_assert_nonnull (node->device_types);
  g_assert_cmpstr (node->scope, ==, "Gradients/Default/network-WithLossCell/_backbone-LeNet5/conv2-Conv2d/Grad_Conv2D");
  g_assert_cmpint (graph->order->len, >, 0);
}

static void
test_failed_analysis (void)
{
  g_autoptr (TnIrDocument) document = load ("graphs/evaluation_error/rank_0/om/analyze_fail.ir");
  if (document == NULL)
    {
      g_test_skip ("no MindSpore truth files");
      return;
    }
  const TnIrGraph *graph = document->graphs->pdata[1];
  const TnIrNode *node = graph->nodes->pdata[10];
  g_assert_cmpint (node->stopped_at, ==, 1);
  g_assert_cmpstr (node->outputs[0], ==, "null");
  g_assert_cmpstr (node->scope, ==, "Default");
  g_assert_cmpint (((TnIrNode *) graph->nodes->pdata[9])->stopped_at, ==, -1);
}

static const char sample[] =
  "# IR entry: @7_1_Net_construct_104\n"
  "# Total subgraphs: 2\n\n"
  "# Attrs:\nhas_attached: 1\njit_level:\n\n"
  "# Total params: 2\n# Params:\n"
  "%para1_x: <Tensor[Float32], (2, 3)> : [2, 3]\n"
  "%para2_fc.weight: <Ref[Tensor[Float32]], (5, 3), ref_key=fc.weight>  :  has_default\n\n"
  "subgraph attr:\ndefer_inline: 0\n"
  "# Parameters: 1, (<Tensor[Float32], (2, 3)>)\n"
  "subgraph @8_Net_construct_98 parent: [subgraph @7_1_Net_construct_104](%para3_a) {\n"
  "  %0(CNode_310$a) = HyperMap_x{fn_leaf: (a, b)}(%para3_a, $(@7_1_Net_construct_104:para2_fc.weight), "
  "Tensor(shape=[2, 2], dtype=Float32, value=\n[[1 2]\n [3 4]]), \"a, (b\") {instance name: sub} "
  "primitive_attrs: {output_names: [output], pad: (1, 2)} cnode_attrs: {checkpoint: Bool(1)} {in_strategy: ((2, 1), ())}\n"
  "      : (<Tensor[Float32], (2, 3)>, <Ref[Tensor[Float32]], (5, 3), ref_key=fc.weight>, <Tensor[Float32], (2, 2), value=...>, "
  "<String, NoShape>) -> (<Tuple[Tensor[Float32]*2], TupleShape((5, 3), (5))>)\n"
  "      # Fullname with scope: (Default/network/Sub-op1)\n"
  "      # In file net.py:16, 12~25/        a = ops.sub(x, 1)/\n"
  "  Return(%0)\n"
  "      : (<Tensor[Float32], (2, 3)>)\n"
  "}\n"
  "# Order:\n"
  "#   1: @8_Net_construct_98:CNode_310{[0]: ValueNode<Primitive> Sub, [1]: a}\n\n\n"
  "subgraph @7_1_Net_construct_104() {\n  %0(CNode_1) = call @8_Net_construct_98(%para1_x)\n  Return(%0)\n}\n";

static void
test_grammar (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (sample, -1, &error);
  g_assert_no_error (error);
  g_assert_cmpint (document->attrs->len, ==, 2);
  const TnIrParameter *parameter = document->parameters->pdata[1];
  g_assert_cmpint (parameter->number, ==, 2);
  g_assert_cmpstr (parameter->name, ==, "fc.weight");
  g_assert_cmpstr (parameter->ref_key, ==, "fc.weight");
  g_assert_true (parameter->has_default);
  TnIrType type = tn_ir_type_parse (parameter->type);
  g_assert_true (type.is_ref && type.is_tensor && type.has_dtype && type.has_shape);
  g_assert_cmpint (type.dtype, ==, TN_DTYPE_F32);
  TnShape shape = TN_SHAPE (5, 3);
  g_assert_true (tn_shape_equal (&type.shape, &shape));

  const TnIrGraph *graph = document->graphs->pdata[0];
  g_assert_cmpstr (graph->name, ==, "8_Net_construct_98");
  g_assert_cmpstr (graph->parent, ==, "7_1_Net_construct_104");
  g_assert_cmpstr (((TnIrParameter *) graph->parameters->pdata[0])->type, ==, "Tensor[Float32], (2, 3)");
  const TnIrNode *node = graph->nodes->pdata[0];
  g_assert_cmpstr (node->name, ==, "CNode_310$a");
  g_assert_cmpstr (node->op, ==, "HyperMap_x{fn_leaf: (a, b)}");
  g_assert_cmpint (node->n_operands, ==, 4);
  g_assert_cmpint (node->operands[1].kind, ==, TN_IR_OPERAND_FREE);
  g_assert_cmpint (node->operands[1].number, ==, 2);
  g_assert_cmpstr (node->operands[2].text, ==, "Tensor(shape=[2, 2], dtype=Float32, value=\n[[1 2]\n [3 4]])");
  g_assert_cmpstr (node->operands[3].text, ==, "\"a, (b\"");
  g_assert_cmpstr (node->instance, ==, "sub");
  g_assert_cmpstr (tn_ir_node_attr (node, "pad"), ==, "(1, 2)");
  g_assert_cmpstr (tn_ir_node_attr (node, "in_strategy"), ==, "((2, 1), ())");
  g_assert_cmpint (node->n_inputs, ==, 4);
  g_assert_cmpint (node->n_outputs, ==, 1);
  g_assert_cmpstr (node->scope, ==, "Default/network");
  g_assert_cmpint (node->n_notes, ==, 1);
  g_assert_cmpstr (graph->order->pdata[0], ==, "CNode_310");
  g_assert_nonnull (graph->result);
  g_assert_cmpstr (tn_ir_document_entry (document)->name, ==, "7_1_Net_construct_104");
}

/* From the notes on the dialects before 2.1. */
static void
test_older_dialect (void)
{
  static const char text[] = "#IR entry      : @3_construct_wrapper.21\n#attrs         :\ncheck_once : 1\n#Total params  : 2\n\n"
                             "%para1_x : <Tensor[Float32]x[const vector][32, 10]>\n"
                             "%para2 = fc.weight : <Tensor[Float32]x(5, 10)>  :  IsWeight:true\n\n#Total subgraph : 1\n\n"
                             "subgraph attr:\nUndeterminate : 0\nsubgraph @3_construct_wrapper.21() {\n"
                             "  %0([CNode]8) = MatMul(%para1_x, %para2_fc.weight) {instance name: matmul} primitive_attrs: {transpose_b: true}\n"
                             "      : (<Tensor[Float32]x[const vector][32, 10]>, <Tensor[Float32]x(5, 10)>) -> (<Tensor[Float32]x(32, 5)>)\n"
                             "  return(%0)\n      : (<Tensor[Float32]x(32, 5)>)\n}\n";
  g_autoptr (GError) error = NULL;
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (text, -1, &error);
  g_assert_no_error (error);
  g_assert_cmpint (document->total_subgraphs, ==, 1);
  g_assert_cmpint (document->total_params, ==, 2);
  g_assert_cmpstr (((TnIrParameter *) document->parameters->pdata[1])->name, ==, "fc.weight");
  const TnIrGraph *graph = tn_ir_document_entry (document);
  g_assert_cmpint (graph->nodes->len, ==, 1);
  g_assert_nonnull (graph->result);
  const TnIrNode *node = graph->nodes->pdata[0];
  g_assert_cmpstr (tn_ir_node_attr (node, "transpose_b"), ==, "true");
  TnIrType type = tn_ir_type_parse (node->inputs[0]);
  TnShape shape = TN_SHAPE (32, 10);
  g_assert_true (type.has_shape && tn_shape_equal (&type.shape, &shape));
}

static void
test_other_text_is_refused (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_ir_document_parse ("digraph mindspore {\n}\n", -1, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
}

static void
test_early_end_is_told (void)
{
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (sample, (gssize) (strstr (sample, "  Return(%0)") - sample), NULL);
  g_assert_nonnull (document);
  g_assert_true (document->truncated);
  g_assert_cmpint (((TnIrGraph *) document->graphs->pdata[0])->nodes->len, ==, 1);
}

/* Cut short and with random bytes changed, nothing may crash; the sanitizers see the rest. */
static void
fuzz (const char *text, size_t n, GRand *rand, int rounds)
{
  for (int i = 0; i < rounds; i++)
    {
      g_autofree char *bad = g_memdup2 (text, n);
      size_t length = (size_t) (g_rand_double (rand) * (double) n);
      for (int k = g_rand_int_range (rand, 0, 20); k > 0; k--)
        bad[(size_t) (g_rand_double (rand) * (double) n)] ^= (char) (1 << g_rand_int_range (rand, 0, 8));
      TnIrDocument *document = tn_ir_document_parse (bad, (gssize) (i % 2 ? length : n), NULL);
      if (document != NULL)
        {
          const TnIrGraph *entry = tn_ir_document_entry (document);
          for (guint k = 0; entry != NULL && k < entry->nodes->len; k++)
            for (int o = 0; o < ((TnIrNode *) entry->nodes->pdata[k])->n_outputs; o++)
              tn_ir_type_parse (((TnIrNode *) entry->nodes->pdata[k])->outputs[o]);
          tn_ir_document_free (document);
        }
    }
}

static void
test_damaged (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  fuzz (sample, sizeof sample - 1, rand, 2000);
  g_autofree char *path = truth_path ("graphs/small_level3/24_execute_0609.ir");
  g_autofree char *text = NULL;
  size_t n;
  if (path != NULL && g_file_get_contents (path, &text, &n, NULL))
    fuzz (text, n, rand, 500);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ir/text/counts-equal-mindspore", test_counts);
  g_test_add_func ("/ir/text/references-and-types-fit", test_references);
  g_test_add_func ("/ir/text/lenet-node-is-read-whole", test_lenet_node);
  g_test_add_func ("/ir/text/failed-analysis-marks-its-node", test_failed_analysis);
  g_test_add_func ("/ir/text/every-part-of-a-node-line", test_grammar);
  g_test_add_func ("/ir/text/older-dialect-is-understood", test_older_dialect);
  g_test_add_func ("/ir/text/other-text-is-refused", test_other_text_is_refused);
  g_test_add_func ("/ir/text/early-end-keeps-what-came-before", test_early_end_is_told);
  g_test_add_func ("/ir/text/damaged-text-never-crashes", test_damaged);
  return g_test_run ();
}
