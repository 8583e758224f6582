/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include "base/error.h"
#include "ir/autodiff.h"
#include "ir/rewrite.h"
#include "optim/optimizer.h"
#include "parallel/context.h"

/* In float64 rounding cannot hide a small mistake of sharding: 20 steps within 1e-11, on a transformer block built from
 * operators and on networks whose graphs are made again in float64. */

/* ---- a graph in float64 ---- */

static gboolean
widen (TnRewrite *rewrite, const TnNode *node, gpointer data)
{
  const TnValue *value = node->n_outputs > 0 ? &node->outputs[0] : NULL;
  gboolean leaf = tn_node_is_input (node) || tn_node_is_parameter (node) || tn_node_is_constant (node);
  if (leaf && value->dtype == TN_DTYPE_F32)
    {
      TnValue *wide;
      if (tn_node_is_constant (node))
        {
          TnTensor *narrow = tn_node_constant (node);
          g_autoptr (TnTensor) tensor = tn_tensor_new (TN_DTYPE_F64, narrow->shape, NULL);
          for (int64_t e = 0; e < tn_tensor_count (narrow); e++)
            tn_tensor_set (tensor, e, tn_tensor_get (narrow, e));
          wide = tn_graph_add_constant (rewrite->to, tensor);
        }
      else if (tn_node_is_input (node))
        wide = tn_graph_add_input (rewrite->to, node->name, TN_DTYPE_F64, value->shape);
      else
        wide = tn_graph_add_parameter (rewrite->to, node->name, TN_DTYPE_F64, value->shape, tn_node_parameter_info (node));
      tn_rewrite_set (rewrite, value, wide);
      return TRUE;
    }
  if (leaf)
    return FALSE;
  g_autofree TnAttr *attrs = g_memdup2 (node->attrs, sizeof *attrs * (size_t) node->n_attrs);
  g_autofree TnValue **inputs = g_new0 (TnValue *, node->n_inputs + 1);
  TnNode local = *node;
  for (int i = 0; i < node->n_attrs; i++)
    if (attrs[i].type == TN_ATTR_DTYPE && attrs[i].i == TN_DTYPE_F32)
      attrs[i].i = TN_DTYPE_F64;
  local.attrs = attrs;
  for (int k = 0; k < node->n_inputs; k++)
    inputs[k] = tn_rewrite_get (rewrite, node->inputs[k]);
  tn_graph_set_origin (rewrite->to, node);
  tn_graph_set_phase (rewrite->to, node->phase);
  TnNode *copy = tn_graph_copy_node (rewrite->to, &local, inputs);
  for (int o = 0; copy != NULL && o < node->n_outputs; o++)
    tn_rewrite_set (rewrite, &node->outputs[o], &copy->outputs[o]);
  return TRUE;
}

static TnGraph *
in_double (TnGraph *graph)
{
  g_autoptr (GError) error = NULL;
  TnGraph *wide = tn_graph_rewrite (graph, widen, NULL, &error);
  g_assert_no_error (error);
  TnNamedValue loss = tn_graph_output (wide, 0);
  g_assert_cmpint (loss.value->dtype, ==, TN_DTYPE_F64);
  return wide;
}

/* ---- a transformer block ---- */

enum { B = 4, T = 4, D = 8, H = 4 };

static TnValue *
weight (TnGraph *graph, const char *name, TnShape shape)
{
  return tn_graph_add_parameter (graph, name, TN_DTYPE_F32, shape, &(TnParameterInfo){ .role = TN_ROLE_TRAINED, .init = "zeros" });
}

static TnValue *
product (TnGraph *graph, TnValue *a, TnValue *b, gboolean transpose_b)
{
  return tn_op (graph, "BatchMatMul", TN_IN (a, b), TN_ATTRS (tn_attr_bool ("transpose_b", transpose_b)));
}

static TnValue *
norm (TnGraph *graph, const char *name, TnValue *x)
{
  g_autofree char *gamma = g_strdup_printf ("%s.gamma", name), *beta = g_strdup_printf ("%s.beta", name);
  return tn_op (graph, "LayerNorm", TN_IN (x, weight (graph, gamma, TN_SHAPE (D)), weight (graph, beta, TN_SHAPE (D))),
                TN_ATTRS (tn_attr_int ("begin_norm_axis", 2), tn_attr_int ("begin_params_axis", 2), tn_attr_float ("epsilon", 1e-5)));
}

/* [B, T, D] -> [B, H, T, D / H] */
static TnValue *
heads (TnGraph *graph, TnValue *x)
{
  TnValue *split = tn_op (graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", 4, TN_SIZES (B, T, H, D / H))));
  return tn_op (graph, "Transpose", TN_IN (split), TN_ATTRS (tn_attr_ints ("perm", 4, TN_SIZES (0, 2, 1, 3))));
}

static TnGraph *
block_graph (TnOptimizerKind kind)
{
  g_autoptr (GError) error = NULL;
  TnGraph *graph = tn_graph_new ("block");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (B, T, D)), *n1 = norm (graph, "norm1", x);
  TnValue *q = heads (graph, product (graph, n1, weight (graph, "q", TN_SHAPE (D, D)), FALSE));
  TnValue *k = heads (graph, product (graph, n1, weight (graph, "k", TN_SHAPE (D, D)), FALSE));
  TnValue *v = heads (graph, product (graph, n1, weight (graph, "v", TN_SHAPE (D, D)), FALSE));
  TnValue *scores = tn_op (graph, "Mul", TN_IN (product (graph, q, k, TRUE), tn_graph_add_scalar (graph, TN_DTYPE_F32, 1 / sqrt (D / H))), TN_NO_ATTRS);
  TnValue *share = tn_op (graph, "Softmax", TN_IN (scores), TN_ATTRS (tn_attr_int ("axis", -1)));
  TnValue *mixed = tn_op (graph, "Transpose", TN_IN (product (graph, share, v, FALSE)), TN_ATTRS (tn_attr_ints ("perm", 4, TN_SIZES (0, 2, 1, 3))));
  mixed = tn_op (graph, "Reshape", TN_IN (mixed), TN_ATTRS (tn_attr_ints ("shape", 3, TN_SIZES (B, T, D))));
  TnValue *h = tn_op (graph, "Add", TN_IN (x, product (graph, mixed, weight (graph, "out", TN_SHAPE (D, D)), FALSE)), TN_NO_ATTRS);
  TnValue *up = tn_op (graph, "Add", TN_IN (product (graph, norm (graph, "norm2", h), weight (graph, "up", TN_SHAPE (D, 4 * D)), FALSE), weight (graph, "up.bias", TN_SHAPE (4 * D))), TN_NO_ATTRS);
  TnValue *y = tn_op (graph, "Add", TN_IN (h, product (graph, tn_op (graph, "GeLU", TN_IN (up), TN_NO_ATTRS), weight (graph, "down", TN_SHAPE (4 * D, D)), FALSE)), TN_NO_ATTRS);
  TnValue *loss = tn_op (graph, "ReduceMean", TN_IN (tn_op (graph, "Mul", TN_IN (y, y), TN_NO_ATTRS)), TN_ATTRS (tn_attr_ints ("axis", 3, TN_SIZES (0, 1, 2))));
  g_assert_true (tn_graph_check (graph, &error));
  g_assert_no_error (error);
  tn_graph_add_output (graph, "loss", loss);
  int n = tn_graph_n_parameters (graph);
  g_autofree TnValue **trained = g_new0 (TnValue *, n), **gradients = g_new0 (TnValue *, n);
  for (int i = 0; i < n; i++)
    trained[i] = tn_graph_parameter (graph, i);
  g_assert_true (tn_graph_add_gradients (graph, loss, NULL, n, trained, gradients));
  for (int i = 0; i < n; i++)
    {
      g_autofree char *name = g_strconcat ("grad:", trained[i]->node->name, NULL);
      tn_graph_add_output (graph, name, gradients[i]);
    }
  TnOptimizer optimizer;
  tn_optimizer_init (&optimizer, kind);
  TnValue *lr = tn_graph_add_input (graph, "lr", TN_DTYPE_F32, TN_SHAPE_SCALAR), *step = tn_graph_add_input (graph, "step", TN_DTYPE_I64, TN_SHAPE_SCALAR);
  g_assert_true (tn_optimizer_build (&optimizer, graph, n, trained, gradients, lr, step, &error));
  g_assert_no_error (error);
  return graph;
}

/* ---- checks ---- */

static void
check (TnGraph *graph, const char *mesh_text, int level, const char *strategy, const int64_t *ranks)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraph) wide = in_double (graph);
  g_autoptr (TnMesh) named = tn_mesh_parse (mesh_text, -1, &error);
  g_assert_no_error (error);
  g_autoptr (TnMesh) mesh = ranks == NULL ? tn_mesh_ref (named) : tn_mesh_new (named->n_axes, named->sizes, (const char *const *) named->names, named->n_ranks, ranks, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) strategies = tn_shard_strategies_parse (strategy, mesh, &error);
  g_assert_no_error (error);
  TnShardOptions options = { .mesh = mesh, .n_strategies = (int) strategies->len, .strategies = (const TnShardStrategy *) strategies->data, .optimizer_level = level, .optimizer_shard = -1 };
  int n = compare (wide, &options, 20, 1e-11);
  g_test_message ("%s, level %d: 20 steps within 1e-11, %d communications a step", mesh_text, level, n);
}

static void
test_block (void)
{
  g_autoptr (TnGraph) graph = block_graph (TN_OPTIMIZER_MOMENTUM), adam = block_graph (TN_OPTIMIZER_ADAM);
  check (graph, "dp=4", 0, "", NULL);
  check (graph, "tp=2", 0, "", NULL);
  check (graph, "tp=4", 0, "", NULL);
  check (graph, "dp=2,tp=2", 1, "", NULL);
  check (adam, "dp=2,tp=2", 3, "", TN_SIZES (6, 1, 4, 3));
  check (graph, "dp=2,sp=2,tp=2", 0, "", NULL);
}

static const Net lenet = { .preset = "lenet5", .batch = 4 };
static const Net mlp = { .model = "{\"name\": \"mlp\", \"input\": {\"shape\": [12]}, \"cells\": ["
                                  "{\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 16}, {\"type\": \"ReLU\"},"
                                  "{\"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 8}, {\"type\": \"Tanh\"},"
                                  "{\"type\": \"Dense\", \"name\": \"fc3\", \"out_channels\": 4}]}",
                         .batch = 8 };
static const Net pictures = { .model = "{\"name\": \"pictures\", \"input\": {\"shape\": [2, 8, 8]}, \"cells\": ["
                                       "{\"type\": \"Conv2d\", \"name\": \"conv1\", \"out_channels\": 4, \"kernel\": 3, \"pad_mode\": \"same\"}, {\"type\": \"Tanh\"},"
                                       "{\"type\": \"Conv2d\", \"name\": \"conv2\", \"out_channels\": 4, \"kernel\": 3, \"pad_mode\": \"same\"},"
                                       "{\"type\": \"Flatten\"}, {\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 4}]}",
                              .batch = 4 };

static void
test_networks (void)
{
  g_autoptr (TnGraph) one = whole_graph (&mlp, "momentum", 0.1), adam = whole_graph (&mlp, "adam", 0), conv = whole_graph (&pictures, "momentum", 0);
  for (int level = 0; level <= 3; level++)
    check (one, "dp=2,tp=2", level, "", NULL);
  check (adam, "dp=4", 1, "", TN_SIZES (3, 2, 1, 0));
  check (adam, "dp=2,x=2,tp=2", 2, "", NULL);
  check (conv, "h=2,w=2", 0, "{\"conv1\": [[\"None\", \"None\", \"h\", \"w\"], [\"None\", \"None\", \"None\", \"None\"]]}", NULL);
  check (conv, "dp=2,h=2", 1, "{\"conv1\": [[\"dp\", \"None\", \"h\", \"None\"], [\"None\", \"None\", \"None\", \"None\"]]}", TN_SIZES (5, 3, 2, 7));
}

static void
test_lenet (void)
{
  g_autoptr (TnGraph) graph = whole_graph (&lenet, "momentum", 0);
  check (graph, "dp=2,tp=2", 1, "", NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/blocks/transformer-in-float64", test_block);
  g_test_add_func ("/parallel/blocks/networks-in-float64", test_networks);
  g_test_add_func ("/parallel/blocks/lenet5-in-float64", test_lenet);
  return g_test_run ();
}
