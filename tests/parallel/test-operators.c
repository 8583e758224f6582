/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include "base/error.h"
#include "ir/autodiff.h"

/* Single operators on split inputs: what torch's DTensor computed in float64 (truth folder torch/sharding, cases with
 * "input_placements"), forward and backward. */

typedef struct
{
  TnGraph *graph;
  TnValue *in[4];
  TnValue *main, *second; /* what strategies are for; second: of an mlp */
} Built;

static TnValue *
reduce (TnGraph *graph, const char *op, TnValue *x, int axis)
{
  int64_t axes[TN_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < x->shape.n_dims; d++)
    if (axis < 0 || axis == d)
      axes[n++] = d;
  return tn_op (graph, op, TN_IN (x), TN_ATTRS (tn_attr_ints ("axis", n, axes)));
}

static TnValue *
constant (TnGraph *graph, TnDType dtype, TnShape shape, const double *values, double same)
{
  g_autoptr (TnTensor) tensor = tn_tensor_new (dtype, shape, NULL);
  for (int64_t e = 0; e < tn_tensor_count (tensor); e++)
    tn_tensor_set (tensor, e, values != NULL ? values[e] : same);
  return tn_graph_add_constant (graph, tensor);
}

static TnValue *
times_transposed (TnGraph *graph, TnValue *x, TnValue *w)
{
  return tn_op (graph, "MatMul", TN_IN (x, w), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
}

/* The README of the folder says what each word means. NULL: another word. */
static TnValue *
build (Built *b, const char *op)
{
  TnGraph *g = b->graph;
  TnValue **in = b->in, *y = NULL;
  int axis = g_ascii_isdigit (op[strlen (op) - 1]) ? op[strlen (op) - 1] - '0' : -1;
  if (strcmp (op, "matmul") == 0)
    y = b->main = tn_op (g, "MatMul", TN_IN (in[0], in[1]), TN_NO_ATTRS);
  else if (strcmp (op, "add") == 0 || strcmp (op, "mul") == 0)
    y = b->main = tn_op (g, *op == 'a' ? "Add" : "Mul", TN_IN (in[0], in[1]), TN_NO_ATTRS);
  else if (g_str_has_prefix (op, "sum") || strcmp (op, "mean") == 0)
    y = b->main = reduce (g, *op == 's' ? "ReduceSum" : "ReduceMean", in[0], axis);
  else if (g_str_has_prefix (op, "softmax"))
    y = b->main = tn_op (g, "Softmax", TN_IN (in[0]), TN_ATTRS (tn_attr_int ("axis", axis)));
  else if (strcmp (op, "relu") == 0)
    y = b->main = tn_op (g, "ReLU", TN_IN (in[0]), TN_NO_ATTRS);
  else if (strcmp (op, "transpose") == 0)
    y = b->main = tn_op (g, "Transpose", TN_IN (in[0]), TN_ATTRS (tn_attr_ints ("perm", 2, TN_SIZES (1, 0))));
  else if (strcmp (op, "layer_norm") == 0)
    y = b->main = tn_op (g, "LayerNorm", TN_IN (in[0], constant (g, TN_DTYPE_F64, TN_SHAPE (in[0]->shape.dims[1]), NULL, 1), constant (g, TN_DTYPE_F64, TN_SHAPE (in[0]->shape.dims[1]), NULL, 0)),
                         TN_ATTRS (tn_attr_int ("begin_norm_axis", 1), tn_attr_int ("begin_params_axis", 1), tn_attr_float ("epsilon", 1e-5)));
  else if (strcmp (op, "embedding") == 0)
    y = b->main = tn_op (g, "Gather", TN_IN (in[0], constant (g, TN_DTYPE_I32, TN_SHAPE (2, 3), (const double[]){ 0, 5, 2, 7, 1, 5 }, 0)), TN_ATTRS (tn_attr_int ("axis", 0)));
  else if (strcmp (op, "linear_bias") == 0)
    y = tn_op (g, "BiasAdd", TN_IN (b->main = times_transposed (g, in[0], in[1]), in[2]), TN_NO_ATTRS);
  else if (strcmp (op, "mlp") == 0)
    y = b->second = times_transposed (g, tn_op (g, "ReLU", TN_IN (b->main = times_transposed (g, in[0], in[1])), TN_NO_ATTRS), in[2]);
  return y;
}

static TnLayout *
placement (JsonArray *placements, TnMesh *mesh, int n_dims)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  for (guint i = 0; i < json_array_get_length (placements); i++)
    {
      const char *p = json_array_get_string_element (placements, i);
      if (*p == 'S')
        dims[p[1] - '0'].axes[dims[p[1] - '0'].n++] = (int8_t) i;
    }
  return tn_layout_new (mesh, n_dims, dims, 0, TN_PARTIAL_NONE, NULL);
}

static int as_torch, gathered, uneven;

static void
put (Ranks *many, const TnLayout *layout, TnMesh *mesh, const TnNode *node, TnTensor *whole)
{
  for (int p = 0; p < many->n; p++)
    {
      TnBox box;
      g_assert_true (tn_layout_slice (layout, &whole->shape, mesh->ranks[p], &box, NULL));
      many->values[p][many->first[node->id]] = contiguous_cut (whole, &box);
    }
}

static void
check_output (Ranks *many, TnSharded *sharded, const char *id, const char *name, JsonObject *json)
{
  TnValue *value = tn_graph_find_output (tn_sharded_graph (sharded), name);
  g_autofree TnTensor **parts = g_new0 (TnTensor *, many->n);
  g_autoptr (TnTensor) want = truth_tensor (json, TN_DTYPE_F64);
  g_autofree char *what = g_strdup_printf ("%s %s", id, name);
  for (int p = 0; p < many->n; p++)
    parts[p] = many->values[p][many->first[value->node->id] + value->index];
  check_close (what, want, parts, tn_sharded_output (sharded, name), 1e-12);
}

static void
run_case (JsonObject *c, Built *b, TnSharded *sharded)
{
  TnGraph *local = tn_sharded_graph (sharded);
  TnMesh *mesh = tn_sharded_mesh (sharded);
  Ranks many = { .graph = local, .mesh = mesh, .n = (int) mesh->n_ranks };
  g_autofree int *uses = tn_graph_use_counts (local, &many.first);
  JsonArray *inputs = json_object_get_array_member (c, "inputs"), *gradients = json_object_get_array_member (c, "grad_inputs");
  int n_values = many.first[tn_graph_n_nodes (local) - 1] + 8;
  many.values = g_new0 (TnTensor **, many.n);
  for (int p = 0; p < many.n; p++)
    many.values[p] = g_new0 (TnTensor *, n_values);
  for (guint i = 0; i < json_array_get_length (inputs); i++)
    {
      g_autoptr (TnTensor) whole = truth_tensor (json_array_get_object_element (inputs, i), TN_DTYPE_F64);
      const char *name = b->in[i]->node->name;
      put (&many, tn_sharded_parameter (sharded, name), mesh, tn_graph_find_parameter (local, name)->node, whole);
    }
  g_autoptr (TnTensor) dy = truth_tensor (json_object_get_object_member (c, "grad_output"), TN_DTYPE_F64);
  put (&many, tn_sharded_input (sharded, "dy"), mesh, tn_graph_input (local, 0)->node, dy);
  run_ranks (&many);
  const char *id = json_object_get_string_member (c, "id");
  check_output (&many, sharded, id, "out", json_object_get_object_member (c, "output"));
  for (guint i = 0; i < json_array_get_length (gradients); i++)
    {
      g_autofree char *name = g_strdup_printf ("grad:%s", b->in[i]->node->name);
      check_output (&many, sharded, id, name, json_array_get_object_element (gradients, i));
    }
  clear_values (&many, FALSE);
  clear_values (&many, TRUE);
}

static void
check_case (JsonObject *c)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraph) graph = tn_graph_new ("op");
  Built b = { .graph = graph };
  JsonArray *inputs = json_object_get_array_member (c, "inputs"), *placements = json_object_get_array_member (c, "input_placements");
  int n = (int) json_array_get_length (inputs);
  for (int i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("in%d", i);
      b.in[i] = tn_graph_add_parameter (graph, name, TN_DTYPE_F64, json_shape (json_array_get_object_element (inputs, (guint) i), "shape"), &(TnParameterInfo){ .role = TN_ROLE_TRAINED, .init = "zeros" });
    }
  TnValue *y = build (&b, json_object_get_string_member (c, "op"));
  g_assert_true (tn_graph_check (graph, &error));
  if (y == NULL)
    return;
  TnValue *dy = tn_graph_add_input (graph, "dy", TN_DTYPE_F64, y->shape), *gradients[4];
  g_assert_true (tn_graph_add_gradients (graph, y, dy, n, b.in, gradients));
  tn_graph_add_output (graph, "out", y);
  for (int i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("grad:in%d", i);
      tn_graph_add_output (graph, name, gradients[i]);
    }
  TnShape sizes = json_shape (c, "mesh_shape");
  g_autoptr (TnMesh) mesh = tn_mesh_new (sizes.n_dims, sizes.dims, NULL, -1, NULL, &error);
  g_assert_no_error (error);
  TnLayout *layouts[4] = { NULL };
  for (int i = 0; i < n; i++)
    layouts[i] = placement (json_array_get_array_element (placements, (guint) i), mesh, b.in[i]->shape.n_dims);
  TnLayout *first[4] = { layouts[0], b.main->node->n_inputs > 1 ? layouts[1] : NULL, NULL, NULL }, *second[2] = { NULL, layouts[2] };
  TnShardStrategy strategies[] = { { .pattern = b.main->node->name, .n_inputs = b.main->node->n_inputs, .inputs = first }, { .pattern = b.second != NULL ? b.second->node->name : "", .n_inputs = 2, .inputs = second } };
  TnShardOptions options = { .mesh = mesh, .dataset = TN_DATASET_FULL_BATCH, .n_strategies = b.second != NULL ? 2 : 1, .strategies = strategies };
  g_autoptr (TnSharded) sharded = tn_shard_graph (graph, &options, &error);
  if (sharded != NULL)
    as_torch++;
  else
    {
      /* Torch gathers by itself where an operator needs an input whole, and cuts unevenly; a strategy that says so is refused here. */
      g_test_message ("%s: %s", json_object_get_string_member (c, "id"), error->message);
      g_assert_true (error->domain == TN_LAYOUT_ERROR);
      uneven += error->code == TN_LAYOUT_ERROR_UNEVEN;
      gathered += error->code != TN_LAYOUT_ERROR_UNEVEN;
      g_clear_error (&error);
      options.n_strategies = 0;
      sharded = tn_shard_graph (graph, &options, &error);
      g_assert_no_error (error);
    }
  run_case (c, &b, sharded);
  for (int i = 0; i < n; i++)
    tn_layout_unref (layouts[i]);
}

static void
test_torch (void)
{
  if (for_each_case ("input_placements", check_case) == 0)
    g_test_skip ("no truth folder");
  else
    g_test_message ("%d operators split as torch splits them, values and gradients within 1e-12; %d refused as uneven and %d as operators that need it whole, then right without", as_torch, uneven, gathered);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/operators/values-and-gradients-agree-with-torch", test_torch);
  return g_test_run ();
}
