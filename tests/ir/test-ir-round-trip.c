/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ir/autodiff.h"
#include "ir/ir-reader.h"
#include "ir/ir-writer.h"
#include "ops/op.h"
#include <math.h>
#include <string.h>

/* What is written and read again must be the same graph, piece by piece; the comparison below is the expectation. */

/* ---- comparing ---- */

static void
assert_same_tensor (TnTensor *a, TnTensor *b)
{
  g_assert_cmpint (a->dtype, ==, b->dtype);
  g_assert_true (tn_shape_equal (&a->shape, &b->shape));
  g_autoptr (TnTensor) x = tn_tensor_contiguous (a, NULL), y = tn_tensor_contiguous (b, NULL);
  if (tn_tensor_bytes (x) > 0)
    g_assert_cmpmem (tn_tensor_data (x), tn_tensor_bytes (x), tn_tensor_data (y), tn_tensor_bytes (y));
}

static void
assert_same_attr (const TnAttr *a, const TnAttr *b)
{
  g_assert_cmpstr (a->name, ==, b->name);
  g_assert_cmpint (a->type, ==, b->type);
  switch (a->type)
    {
    case TN_ATTR_FLOAT:
      g_assert_cmpmem (&a->f, sizeof a->f, &b->f, sizeof b->f);
      break;
    case TN_ATTR_STRING:
      g_assert_cmpstr (a->s, ==, b->s);
      break;
    case TN_ATTR_INTS:
    case TN_ATTR_FLOATS:
      g_assert_cmpint (a->count, ==, b->count);
      if (a->count > 0)
        g_assert_cmpmem (a->ints, 8 * (size_t) a->count, b->ints, 8 * (size_t) b->count);
      break;
    case TN_ATTR_TENSOR:
      assert_same_tensor (a->tensor, b->tensor);
      break;
    default:
      g_assert_cmpint (a->i, ==, b->i);
    }
}

static void assert_same_graph (const TnGraph *a, const TnGraph *b);

static void
assert_same_value (const TnValue *a, const TnValue *b)
{
  g_assert_cmpint (a->node->id, ==, b->node->id);
  g_assert_cmpint (a->index, ==, b->index);
}

static void
assert_same_parameter (const TnNode *a, const TnNode *b)
{
  const TnParameterInfo *x = tn_node_parameter_info (a), *y = tn_node_parameter_info (b);
  g_assert_cmpint (x->role, ==, y->role);
  g_assert_cmpint (x->frozen, ==, y->frozen);
  g_assert_cmpstr (x->init, ==, y->init);
}

static void
assert_same_node (const TnNode *a, const TnNode *b)
{
  g_assert_cmpstr (a->op->name, ==, b->op->name);
  g_assert_cmpstr (a->name, ==, b->name);
  g_assert_cmpstr (a->scope, ==, b->scope);
  g_assert_cmpint (a->phase, ==, b->phase);
  g_assert_cmpint (a->from, ==, b->from);
  g_assert_cmpint (a->n_attrs, ==, b->n_attrs);
  g_assert_cmpint (a->n_inputs, ==, b->n_inputs);
  g_assert_cmpint (a->n_outputs, ==, b->n_outputs);
  g_assert_cmpint (a->n_subgraphs, ==, b->n_subgraphs);
  for (int i = 0; i < a->n_attrs; i++)
    assert_same_attr (&a->attrs[i], &b->attrs[i]);
  for (int i = 0; i < a->n_inputs; i++)
    assert_same_value (a->inputs[i], b->inputs[i]);
  for (int i = 0; i < a->n_outputs; i++)
    {
      g_assert_cmpint (a->outputs[i].dtype, ==, b->outputs[i].dtype);
      g_assert_true (tn_shape_equal (&a->outputs[i].shape, &b->outputs[i].shape));
    }
  for (int i = 0; i < a->n_subgraphs; i++)
    assert_same_graph (a->subgraphs[i], b->subgraphs[i]);
  if (tn_node_is_parameter (a))
    assert_same_parameter (a, b);
}

static void
assert_same_graph (const TnGraph *a, const TnGraph *b)
{
  g_assert_cmpstr (tn_graph_name (a), ==, tn_graph_name (b));
  g_assert_cmpint (tn_graph_n_nodes (a), ==, tn_graph_n_nodes (b));
  g_assert_cmpint (tn_graph_n_inputs (a), ==, tn_graph_n_inputs (b));
  g_assert_cmpint (tn_graph_n_parameters (a), ==, tn_graph_n_parameters (b));
  g_assert_cmpint (tn_graph_n_outputs (a), ==, tn_graph_n_outputs (b));
  for (int i = 0; i < tn_graph_n_nodes (a); i++)
    assert_same_node (tn_graph_node (a, i), tn_graph_node (b, i));
  for (int i = 0; i < tn_graph_n_inputs (a); i++)
    assert_same_value (tn_graph_input (a, i), tn_graph_input (b, i));
  for (int i = 0; i < tn_graph_n_parameters (a); i++)
    assert_same_value (tn_graph_parameter (a, i), tn_graph_parameter (b, i));
  for (int i = 0; i < tn_graph_n_outputs (a); i++)
    {
      g_assert_cmpstr (tn_graph_output (a, i).name, ==, tn_graph_output (b, i).name);
      assert_same_value (tn_graph_output (a, i).value, tn_graph_output (b, i).value);
    }
}

static void
check (TnGraph *graph)
{
  g_autoptr (GError) error = NULL;
  tn_graph_check (graph, &error);
  g_assert_no_error (error);
  g_autofree char *text = tn_ir_text (graph);
  if (g_getenv ("TENON_SHOW") != NULL)
    g_printerr ("%s", text);
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (text, -1, &error);
  g_assert_no_error (error);
  g_autoptr (TnGraph) again = tn_graph_from_ir (document, &error);
  g_assert_no_error (error);
  assert_same_graph (graph, again);
  g_autofree char *text_again = tn_ir_text (again);
  g_assert_cmpstr (text, ==, text_again);
}

/* ---- graphs ---- */

static TnValue *
conv_block (TnGraph *graph, const char *name, TnValue *x, int in, int out)
{
  g_autofree char *weight = g_strconcat (name, ".weight", NULL), *bias = g_strconcat (name, ".bias", NULL);
  tn_graph_push_scope (graph, name);
  TnValue *w = tn_graph_add_parameter (graph, weight, TN_DTYPE_F32, TN_SHAPE (out, in, 5, 5), &(TnParameterInfo){ .init = "he_uniform" });
  TnValue *b = tn_graph_add_parameter (graph, bias, TN_DTYPE_F32, TN_SHAPE (out), &(TnParameterInfo){ .init = "zeros" });
  x = tn_op (graph, "Conv2D", TN_IN (x, w), TN_ATTRS (tn_attr_string ("pad_mode", "valid")));
  x = tn_op (graph, "ReLU", TN_IN (tn_op (graph, "BiasAdd", TN_IN (x, b), TN_NO_ATTRS)), TN_NO_ATTRS);
  x = tn_op (graph, "MaxPool", TN_IN (x),
             TN_ATTRS (tn_attr_ints ("kernel_size", 2, (int64_t[]){ 2, 2 }), tn_attr_ints ("strides", 2, (int64_t[]){ 2, 2 })));
  tn_graph_pop_scope (graph);
  return x;
}

/* LeNet-5 up to its first dense layer, a squared error, gradients and momentum: every phase that a step has. */
static TnGraph *
lenet_step (void)
{
  TnGraph *graph = tn_graph_new ("LeNet5");
  TnValue *x = tn_graph_add_input (graph, "data", TN_DTYPE_F32, TN_SHAPE (4, 1, 28, 28));
  tn_graph_push_scope (graph, "network");
  x = conv_block (graph, "conv1", x, 1, 6);
  x = conv_block (graph, "conv2", x, 6, 16);
  x = tn_op (graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", 2, (int64_t[]){ 4, 256 })));
  TnValue *w = tn_graph_add_parameter (graph, "fc.weight", TN_DTYPE_F32, TN_SHAPE (10, 256), &(TnParameterInfo){ .init = "normal(0.02)" });
  x = tn_op (graph, "MatMul", TN_IN (x, w), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
  tn_graph_pop_scope (graph);
  TnValue *loss = tn_op (graph, "ReduceMean", TN_IN (tn_op (graph, "Square", TN_IN (x), TN_NO_ATTRS)), TN_NO_ATTRS);
  TnValue *wanted[] = { tn_graph_find_parameter (graph, "conv1.weight"), w }, *gradients[2];
  g_autoptr (GError) error = NULL;
  tn_graph_check (graph, &error);
  g_assert_no_error (error);
  g_assert_true (tn_graph_add_gradients (graph, loss, NULL, 2, wanted, gradients));
  tn_graph_set_phase (graph, TN_PHASE_OPTIMIZER);
  TnValue *v = tn_graph_add_parameter (graph, "moments.fc.weight", TN_DTYPE_F32, TN_SHAPE (10, 256),
                                       &(TnParameterInfo){ .role = TN_ROLE_OPTIMIZER, .init = "zeros" });
  TnValue *rate = tn_graph_add_scalar (graph, TN_DTYPE_F32, 0.1);
  tn_op (graph, "ApplyMomentum", TN_IN (w, v, gradients[1], rate), TN_ATTRS (tn_attr_float ("momentum", 0.9)));
  tn_graph_add_output (graph, "loss", loss);
  tn_graph_add_output (graph, "conv1.weight.grad", gradients[0]);
  return graph;
}

static void
test_training_step (void)
{
  g_autoptr (TnGraph) graph = lenet_step ();
  check (graph);
}

/* NaNs with other bits, denormals, −0 and 2^53 + 1 tell text from bits. */
static void
test_constants (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("constants");
  guint32 bits[6] = { 0x7fc00001, 0xffc12345, 0x00000001, 0x80000000, 0x7f800000, 0x3dcccccd };
  g_autoptr (TnTensor) floats = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2, 3), bits);
  g_autoptr (TnTensor) turned = tn_tensor_permute (floats, (int[]){ 1, 0 }, NULL);
  int64_t large[2] = { (G_GINT64_CONSTANT (1) << 53) + 1, G_MININT64 };
  g_autoptr (TnTensor) ints = tn_tensor_new_from (TN_DTYPE_I64, TN_SHAPE (2), large);
  g_autoptr (TnTensor) many = tn_tensor_new (TN_DTYPE_F64, TN_SHAPE (10, 20, 3), NULL);
  for (int i = 0; i < 600; i++)
    ((double *) tn_tensor_data (many))[i] = sin (i);
  g_autoptr (TnTensor) empty = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (0, 3), NULL);
  TnTensor *all[] = { floats, turned, ints, many, empty };
  TnValue *unused = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      g_autofree char *name = g_strdup_printf ("out%u", i);
      unused = tn_graph_add_constant (graph, all[i]);
      tn_graph_add_output (graph, name, tn_graph_add_constant (graph, all[i]));
    }
  g_assert_nonnull (unused);
  for (int dtype = 0; dtype < TN_DTYPE_COUNT; dtype++)
    tn_graph_add_output (graph, "scalar", tn_graph_add_scalar (graph, (TnDType) dtype, 1));
  check (graph);
}

static void
test_attributes (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("attributes");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (4, 6));
  TnValue *y = tn_op (graph, "Pad", TN_IN (x),
                      TN_ATTRS (tn_attr_ints ("paddings", 4, (int64_t[]){ 1, 2, 0, 3 }), tn_attr_float ("value", 1e-5),
                                tn_attr_string ("mode", "constant")));
  TnValue *z = tn_op (graph, "Fill", 0, NULL,
                      TN_ATTRS (tn_attr_ints ("shape", 0, NULL), tn_attr_float ("value", -INFINITY), tn_attr_dtype ("dtype", TN_DTYPE_BF16)));
  TnValue *e = tn_op (graph, "Einsum", TN_IN (x, x), TN_ATTRS (tn_attr_string ("equation", "ij,kj->ik")));
  tn_graph_add_output (graph, "y", y);
  tn_graph_add_output (graph, "z", z);
  tn_graph_add_output (graph, "e", e);
  check (graph);
}

static void
test_several_outputs (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("several");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (6, 4));
  TnValue *parts = tn_op (graph, "Split", TN_IN (x), TN_ATTRS (tn_attr_int ("axis", 0), tn_attr_ints ("sizes", 3, (int64_t[]){ 1, 2, 3 })));
  TnValue *y = tn_op (graph, "Concat", TN_IN (tn_value_sibling (parts, 2), parts), TN_ATTRS (tn_attr_int ("axis", 0)));
  TnValue *dropped = tn_op (graph, "Dropout", TN_IN (y), TN_ATTRS (tn_attr_float ("keep_prob", 0.75)));
  tn_graph_add_output (graph, "part", tn_value_sibling (parts, 2));
  tn_graph_add_output (graph, "mask", tn_value_sibling (dropped, 1));
  tn_graph_add_output (graph, "dropped", dropped);
  check (graph);
}

static void
test_no_output (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("none");
  tn_op (graph, "ReLU", TN_IN (tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2))), TN_NO_ATTRS);
  check (graph);
}

/* Names that end strings, lines, brackets and commands where they are not escaped. */
static void
test_names (void)
{
  static const char *const names[] = { "a \"quoted\" name", "больше ↓ 例", "<Tensor[Float32], (2)>", "x, %para1_x", "a: <b>  :  has_default",
                                       "100%22", "line\nbreak\ttab", "back\\slash", "((([[{{", ")]}", "$(@g:x)", "# Return(%0)", "%0", "" };
  g_autoptr (TnGraph) graph = tn_graph_new ("1_<net> \"with\"\na (name) {");
  TnValue *sum = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      tn_graph_push_scope (graph, names[i]);
      TnValue *w = tn_graph_add_parameter (graph, names[i], TN_DTYPE_F32, TN_SHAPE (2),
                                           &(TnParameterInfo){ .role = (TnParameterRole) (i % 3), .frozen = i % 2, .init = i % 4 ? names[i] : NULL });
      TnValue *x = tn_graph_add_input (graph, names[i], TN_DTYPE_F32, TN_SHAPE (2));
      TnValue *y = tn_op (graph, "Mul", TN_IN (x, w), TN_NO_ATTRS);
      sum = sum == NULL ? y : tn_op (graph, "Add", TN_IN (sum, y), TN_NO_ATTRS);
      tn_graph_pop_scope (graph);
      tn_graph_add_output (graph, names[i], sum);
    }
  check (graph);
}

static TnGraph *
branch (const char *name, const char *op)
{
  TnGraph *graph = tn_graph_new (name);
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2, 3));
  TnValue *n = tn_graph_add_input (graph, "n", TN_DTYPE_I32, TN_SHAPE_SCALAR);
  tn_graph_add_output (graph, "x", tn_op (graph, op, TN_IN (x, x), TN_NO_ATTRS));
  tn_graph_add_output (graph, "n", tn_op (graph, "Add", TN_IN (n, tn_graph_add_scalar (graph, TN_DTYPE_I32, 1)), TN_NO_ATTRS));
  return graph;
}

/* A loop whose body branches; both branches have the same name. */
static TnGraph *
loop (void)
{
  g_autoptr (TnGraph) then = branch ("branch", "Add"), otherwise = branch ("branch", "Mul");
  g_autoptr (TnGraph) body = tn_graph_new ("body"), condition = tn_graph_new ("condition");
  TnValue *x = tn_graph_add_input (body, "x", TN_DTYPE_F32, TN_SHAPE (2, 3));
  TnValue *n = tn_graph_add_input (body, "n", TN_DTYPE_I32, TN_SHAPE_SCALAR);
  TnValue *small = tn_op (body, "Less", TN_IN (n, tn_graph_add_scalar (body, TN_DTYPE_I32, 5)), TN_NO_ATTRS);
  TnNode *choice = tn_graph_add_node_full (body, "If", TN_IN (small, x, n), TN_NO_ATTRS, 2, (TnGraph *[]){ then, otherwise });
  g_assert_nonnull (choice);
  tn_graph_add_output (body, "x", &choice->outputs[0]);
  tn_graph_add_output (body, "n", &choice->outputs[1]);
  tn_graph_add_input (condition, "x", TN_DTYPE_F32, TN_SHAPE (2, 3));
  TnValue *m = tn_graph_add_input (condition, "n", TN_DTYPE_I32, TN_SHAPE_SCALAR);
  tn_graph_add_output (condition, "go on", tn_op (condition, "Less", TN_IN (m, tn_graph_add_scalar (condition, TN_DTYPE_I32, 9)), TN_NO_ATTRS));
  TnGraph *graph = tn_graph_new ("loop");
  x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2, 3));
  n = tn_graph_add_scalar (graph, TN_DTYPE_I32, 0);
  TnNode *node = tn_graph_add_node_full (graph, "While", TN_IN (x, n), TN_ATTRS (tn_attr_int ("max_iterations", 20)), 2,
                                         (TnGraph *[]){ condition, body });
  g_assert_nonnull (node);
  tn_graph_add_output (graph, "x", &node->outputs[0]);
  return graph;
}

static void
test_subgraphs (void)
{
  g_autoptr (TnGraph) graph = loop ();
  check (graph);
  g_autofree char *text = tn_ir_text (graph);
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (text, -1, NULL);
  g_assert_cmpint (document->graphs->len, ==, 5);
  g_assert_cmpint (document->total_subgraphs, ==, 5);
}

/* A reader that knows nothing of our comments must find the dialect's facts. */
static void
test_dialect (void)
{
  g_autoptr (TnGraph) graph = lenet_step ();
  g_autofree char *text = tn_ir_text (graph);
  g_assert_true (g_str_has_prefix (text, "# IR entry: @LeNet5\n# Total subgraphs: 1\n"));
  g_assert_nonnull (strstr (text, "\n%para1_data: <Tensor[Float32], (4, 1, 28, 28)> : [4, 1, 28, 28]\n"));
  g_assert_nonnull (strstr (text, "\n%para2_conv1.weight: <Ref[Tensor[Float32]], (6, 1, 5, 5), ref_key=conv1.weight, is_parameter>  :  has_default\n"));
  g_assert_nonnull (strstr (text, "  %0(CNode_3) = Conv2D(%para1_data, %para2_conv1.weight) primitive_attrs: {pad_mode: \"valid\"}\n"
                                  "      : (<Tensor[Float32], (4, 1, 28, 28)>, <Ref[Tensor[Float32]], (6, 1, 5, 5), ref_key=conv1.weight, "
                                  "is_parameter>) -> (<Tensor[Float32], (4, 6, 24, 24)>)\n"
                                  "      # Fullname with scope: (Default/network/conv1/Conv2D-op0)\n"));
  g_assert_nonnull (strstr (text, "kernel_size: (2, 2)"));
  g_assert_nonnull (strstr (text, "F32(0.1)"));
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (text, -1, NULL);
  const TnIrGraph *entry = tn_ir_document_entry (document);
  for (guint i = 0; i < entry->nodes->len; i++)
    {
      const TnIrNode *node = entry->nodes->pdata[i];
      g_assert_false (node->unparsed);
      g_assert_cmpint (node->n_inputs, ==, node->n_operands);
    }
  g_assert_cmpint (document->parameters->len, ==, document->total_params);
}

static void
test_foreign_file (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnIrDocument) document = tn_ir_document_parse ("# IR entry: @net\n\nsubgraph @net() {\n  Return(%para1_x)\n}\n", -1, NULL);
  g_assert_null (tn_graph_from_ir (document, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED);
}

static void
test_changed_type (void)
{
  g_autoptr (TnGraph) graph = lenet_step ();
  g_autofree char *text = tn_ir_text (graph);
  char *type = strstr (text, "(4, 6, 24, 24)>)");
  g_assert_nonnull (type);
  type[1] = '5';
  g_autoptr (GError) error = NULL;
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (text, -1, NULL);
  g_assert_null (tn_graph_from_ir (document, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "Conv2D"));
}

static void
test_self_reference (void)
{
  g_autoptr (TnGraph) graph = loop ();
  g_autofree char *text = tn_ir_text (graph);
  g_auto (GStrv) parts = g_strsplit (text, "@1_condition, ", 2);
  g_autofree char *cyclic = g_strjoinv ("@loop, ", parts);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnIrDocument) document = tn_ir_document_parse (cyclic, -1, NULL);
  g_assert_null (tn_graph_from_ir (document, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
}

static void
fuzz (const TnGraph *graph, GRand *rand, int rounds)
{
  g_autofree char *text = tn_ir_text (graph);
  int n = (int) strlen (text);
  for (int i = 0; i < rounds; i++)
    {
      g_autofree char *bad = g_strdup (text);
      for (int k = g_rand_int_range (rand, 1, 6); k > 0; k--)
        {
          int at = g_rand_int_range (rand, 0, n);
          bad[at] = g_rand_boolean (rand) ? (char) (bad[at] ^ (1 << g_rand_int_range (rand, 0, 8))) : text[g_rand_int_range (rand, 0, n)];
        }
      g_autoptr (TnIrDocument) document = tn_ir_document_parse (bad, i % 3 ? n : g_rand_int_range (rand, 0, n), NULL);
      if (document == NULL)
        continue;
      g_autoptr (GError) error = NULL;
      g_autoptr (TnGraph) again = tn_graph_from_ir (document, &error);
      g_assert_true ((again == NULL) == (error != NULL));
    }
}

/* Every way to shorten the text of a constant: none may load, and GLib's decoder must not be given less than it takes. */
static void
test_short_data (void)
{
  g_autoptr (TnGraph) graph = loop ();
  g_autofree char *text = tn_ir_text (graph);
  const char *begin = strstr (text, "data \""), *end = begin ? strchr (begin + 6, '"') : NULL;
  g_assert_nonnull (end);
  for (const char *cut = begin + 6; cut < end; cut++)
    {
      g_autofree char *bad = g_strdup_printf ("%.*s%s", (int) (cut - text), text, end);
      g_autoptr (TnIrDocument) document = tn_ir_document_parse (bad, -1, NULL);
      g_assert_true (document == NULL || tn_graph_from_ir (document, NULL) == NULL);
    }
}

static void
test_damaged (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (TnGraph) step = lenet_step (), control = loop ();
  fuzz (step, rand, 400);
  fuzz (control, rand, 1000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ir/round-trip/training-step", test_training_step);
  g_test_add_func ("/ir/round-trip/constants-keep-their-bits", test_constants);
  g_test_add_func ("/ir/round-trip/attributes", test_attributes);
  g_test_add_func ("/ir/round-trip/several-outputs", test_several_outputs);
  g_test_add_func ("/ir/round-trip/no-output", test_no_output);
  g_test_add_func ("/ir/round-trip/any-name", test_names);
  g_test_add_func ("/ir/round-trip/subgraphs", test_subgraphs);
  g_test_add_func ("/ir/writer/text-is-the-dialect", test_dialect);
  g_test_add_func ("/ir/reader/foreign-file-is-refused", test_foreign_file);
  g_test_add_func ("/ir/reader/changed-type-is-refused", test_changed_type);
  g_test_add_func ("/ir/reader/graph-in-itself-is-refused", test_self_reference);
  g_test_add_func ("/ir/reader/short-data-is-refused", test_short_data);
  g_test_add_func ("/ir/reader/damaged-text-never-crashes", test_damaged);
  return g_test_run ();
}
