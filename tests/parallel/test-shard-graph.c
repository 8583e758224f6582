/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <math.h>
#include "ir/interpret.h"
#include "nn/initializer.h"
#include "ops/collective.h"
#include "ops/op.h"
#include "parallel/context.h"
#include "train/program-graph.h"

/* N ranks against one: the whole graph and the local graph of each rank are interpreted by the plain kernels, the ranks in
 * step with each other, collectives by copying here. After some steps all that was computed must agree. */

typedef struct
{
  const TnGraph *graph;
  TnMesh *mesh;
  int n, *first;
  TnTensor ***values; /* [rank place][flat value] */
  int64_t first_sample[64]; /* [rank place] */
} Ranks;

static TnTensor *
contiguous_cut (TnTensor *whole, const TnBox *box)
{
  TnShape shape = { .n_dims = box->n_dims };
  int64_t strides[TN_MAX_DIMS], n = tn_box_count (box);
  for (int d = 0; d < box->n_dims; d++)
    shape.dims[d] = box->hi[d] - box->lo[d];
  tn_shape_strides (&whole->shape, strides);
  TnTensor *out = tn_tensor_new (whole->dtype, shape, NULL);
  size_t size = tn_dtype_size (whole->dtype);
  for (int64_t e = 0; e < n; e++)
    {
      int64_t rest = e, at = 0;
      for (int d = box->n_dims - 1; d >= 0; d--)
        {
          at += (box->lo[d] + rest % shape.dims[d]) * strides[d];
          rest /= shape.dims[d];
        }
      memcpy ((char *) tn_tensor_data (out) + (size_t) e * size, (char *) tn_tensor_data (whole) + (size_t) at * size, size);
    }
  return out;
}

/* Reads elements as doubles, writes them back: enough for checks. */
static TnTensor *
collective (const Ranks *ranks, const TnNode *node, int place)
{
  const int64_t *axes_list, *sizes;
  int n_axes = tn_node_ints (node, "axes", &axes_list), n_sizes = tn_node_ints (node, "mesh", &sizes);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnMesh) mesh = tn_mesh_new (n_sizes, sizes, NULL, -1, NULL, &error);
  g_assert_no_error (error);
  uint32_t axes = 0;
  for (int i = 0; i < n_axes; i++)
    axes |= 1u << axes_list[i];
  int64_t index, group = tn_mesh_span (mesh, axes);
  g_autofree int64_t *places = tn_mesh_group (mesh, axes, place, &index);
  g_assert_cmpint (group, ==, tn_node_int (node, "group"));
  TnTensor *out = tn_tensor_new (node->outputs[0].dtype, node->outputs[0].shape, NULL);
  if (tn_node_is (node, "RankIndex"))
    {
      tn_tensor_set (out, 0, (double) index);
      return out;
    }
  int at = ranks->first[node->inputs[0]->node->id] + node->inputs[0]->index;
  gboolean reduces = tn_node_is (node, "AllReduce") || tn_node_is (node, "ReduceScatter");
  int dim = tn_node_is (node, "AllReduce") ? 0 : (int) tn_node_int (node, "dim"), concat = tn_node_is (node, "AllToAll") ? (int) tn_node_int (node, "concat_dim") : -1;
  const char *op = reduces ? tn_node_string (node, "op") : "";
  const TnShape *x = &node->inputs[0]->shape, *y = &out->shape;
  int64_t x_strides[TN_MAX_DIMS], n = tn_shape_count (y);
  tn_shape_strides (x, x_strides);
  for (int64_t e = 0; e < n; e++)
    {
      int64_t rest = e, i[TN_MAX_DIMS], peer = index, from = 0;
      for (int d = y->n_dims - 1; d >= 0; d--)
        {
          i[d] = rest % y->dims[d];
          rest /= y->dims[d];
        }
      if (tn_node_is (node, "AllGather"))
        {
          peer = i[dim] / x->dims[dim];
          i[dim] %= x->dims[dim];
        }
      else if (tn_node_is (node, "AllToAll"))
        {
          peer = i[concat] / x->dims[concat];
          i[concat] %= x->dims[concat];
          i[dim] += index * y->dims[dim];
        }
      else if (!tn_node_is (node, "AllReduce"))
        i[dim] += index * y->dims[dim];
      for (int d = 0; d < x->n_dims; d++)
        from += i[d] * x_strides[d];
      double value = tn_tensor_get (ranks->values[places[reduces ? 0 : peer]][at], from);
      for (int64_t k = 1; reduces && k < group; k++)
        {
          double other = tn_tensor_get (ranks->values[places[k]][at], from);
          value = strcmp (op, "max") == 0 ? MAX (value, other) : strcmp (op, "min") == 0 ? MIN (value, other) : strcmp (op, "prod") == 0 ? value * other : value + other;
        }
      tn_tensor_set (out, e, strcmp (op, "mean") == 0 ? value / (double) group : value);
    }
  return out;
}

static void
run_ranks (Ranks *ranks)
{
  for (int id = 0; id < tn_graph_n_nodes (ranks->graph); id++)
    {
      const TnNode *node = tn_graph_node (ranks->graph, id);
      if (tn_node_is_input (node) || tn_node_is_parameter (node))
        continue;
      for (int p = 0; p < ranks->n; p++)
        {
          TnTensor **values = ranks->values[p];
          if (tn_node_is_constant (node))
            values[ranks->first[id]] = tn_tensor_ref (tn_node_constant (node));
          else if (tn_node_is_collective (node))
            values[ranks->first[id]] = collective (ranks, node, p);
          else
            {
              g_autofree TnTensor **in = g_new0 (TnTensor *, node->n_inputs + 1);
              g_autoptr (GError) error = NULL;
              TnRandomState random = { 7, 1, ranks->first_sample[p] };
              for (int k = 0; k < node->n_inputs; k++)
                in[k] = values[ranks->first[node->inputs[k]->node->id] + node->inputs[k]->index];
              tn_interpret_node (node, in, values + ranks->first[id], &random, &error);
              g_assert_no_error (error);
            }
        }
    }
}

static void
clear_values (Ranks *ranks, gboolean parameters_too)
{
  for (int id = 0; id < tn_graph_n_nodes (ranks->graph); id++)
    {
      const TnNode *node = tn_graph_node (ranks->graph, id);
      for (int p = 0; p < ranks->n && (parameters_too || !tn_node_is_parameter (node)); p++)
        for (int o = 0; o < node->n_outputs; o++)
          g_clear_pointer (&ranks->values[p][ranks->first[id] + o], tn_tensor_unref);
    }
  for (int p = 0; p < ranks->n && parameters_too; p++)
    g_free (ranks->values[p]);
  if (parameters_too)
    {
      g_free (ranks->values);
      g_free (ranks->first);
    }
}

static void
check_close (const char *what, TnTensor *whole, TnTensor *const *parts, const TnLayout *layout, double tolerance)
{
  double largest = 0, worst = 0;
  for (int64_t e = 0; e < tn_tensor_count (whole); e++)
    largest = MAX (largest, fabs (tn_tensor_get (whole, e)));
  for (int64_t p = 0; p < layout->mesh->n_ranks; p++)
    {
      TnBox box;
      g_assert_true (tn_layout_slice (layout, &whole->shape, layout->mesh->ranks[p], &box, NULL));
      g_autoptr (TnTensor) want = contiguous_cut (whole, &box);
      g_assert_true (tn_shape_equal (&want->shape, &parts[p]->shape));
      for (int64_t e = 0; e < tn_tensor_count (want); e++)
        worst = MAX (worst, fabs (tn_tensor_get (want, e) - tn_tensor_get (parts[p], e)));
    }
  if (!(worst <= tolerance * MAX (largest, 1e-30)) && worst > 1e-12)
    {
      g_autofree char *text = tn_layout_to_string (layout);
      g_error ("%s as %s differs by %g of %g", what, text, worst, largest);
    }
}

typedef struct
{
  const char *model; /* JSON */
  const char *preset;
  int64_t batch;
} Net;

static TnGraph *
whole_graph (const Net *net, const char *optimizer, double clip)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = net->preset != NULL ? tn_model_new_preset (net->preset, &error) : tn_model_from_json (net->model, -1, &error);
  g_assert_no_error (error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  tn_settings_set (settings, "optimizer.kind", optimizer, NULL);
  g_autofree char *number = g_strdup_printf ("%g", clip);
  tn_settings_set (settings, "train.clip_norm", number, NULL);
  TnProgramRecipe recipe;
  tn_program_recipe_init (&recipe, model, settings, &error);
  TnGraph *graph = tn_program_training_graph (&recipe, net->batch, &error);
  g_assert_no_error (error);
  return graph;
}

static TnTensor *
random_tensor (GRand *rand, const TnValue *value, const char *name)
{
  TnTensor *tensor = tn_tensor_new (value->dtype, value->shape, NULL);
  for (int64_t e = 0; e < tn_tensor_count (tensor); e++)
    tn_tensor_set (tensor, e, strcmp (name, "lr") == 0 ? 0.05 : strcmp (name, "step") == 0 ? 1 : tn_dtype_is_float (value->dtype) ? g_rand_double_range (rand, -0.5, 0.5) : g_rand_int_range (rand, 0, 4));
  return tensor;
}

/* Runs @steps of both and compares parameters, states, losses and gradients. Returns the traffic's count. */
static int
compare (TnGraph *whole, const TnShardOptions *options, int steps, double tolerance)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSharded) sharded = tn_shard_graph (whole, options, &error);
  g_assert_no_error (error);
  TnGraph *local = tn_sharded_graph (sharded);
  TnMesh *mesh = tn_sharded_mesh (sharded);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  Ranks one = { .graph = whole, .mesh = NULL, .n = 1 }, many = { .graph = local, .mesh = mesh, .n = (int) mesh->n_ranks };
  g_autofree int *uses_one = tn_graph_use_counts (whole, &one.first), *uses_many = tn_graph_use_counts (local, &many.first);
  int n_one = one.first[tn_graph_n_nodes (whole) - 1] + 8, n_many = many.first[tn_graph_n_nodes (local) - 1] + 8;
  one.values = g_new0 (TnTensor **, 1);
  one.values[0] = g_new0 (TnTensor *, n_one);
  many.values = g_new0 (TnTensor **, many.n);
  for (int p = 0; p < many.n; p++)
    many.values[p] = g_new0 (TnTensor *, n_many);

  int n_parameters = tn_graph_n_parameters (whole);
  g_assert_cmpint (n_parameters, ==, tn_graph_n_parameters (local));
  g_autoptr (GPtrArray) state = g_ptr_array_new (); /* whole values of the parameters */
  for (int i = 0; i < n_parameters; i++)
    {
      const TnValue *value = tn_graph_parameter (whole, i);
      TnTensor *tensor = random_tensor (rand, value, value->node->name);
      for (int64_t e = 0; e < tn_tensor_count (tensor); e++)
        if (tn_node_parameter_info (value->node)->role == TN_ROLE_OPTIMIZER || g_str_has_suffix (value->node->name, "variance"))
          tn_tensor_set (tensor, e, fabs (tn_tensor_get (tensor, e)));
      g_ptr_array_add (state, tensor);
      one.values[0][one.first[value->node->id]] = tensor;
      const TnLayout *layout = tn_sharded_parameter (sharded, value->node->name);
      for (int p = 0; p < many.n; p++)
        {
          TnBox box;
          g_assert_true (tn_layout_slice (layout, &value->shape, mesh->ranks[p], &box, NULL));
          many.values[p][many.first[tn_graph_find_parameter (local, value->node->name)->node->id]] = contiguous_cut (tensor, &box);
        }
    }
  for (int step = 0; step < steps; step++)
    {
      for (int i = 0; i < tn_graph_n_inputs (whole); i++)
        {
          const TnValue *value = tn_graph_input (whole, i), *mine = tn_graph_input (local, i);
          TnTensor *tensor = random_tensor (rand, value, value->node->name);
          one.values[0][one.first[value->node->id]] = tensor;
          const TnLayout *layout = tn_sharded_input (sharded, value->node->name);
          for (int p = 0; p < many.n; p++)
            {
              TnBox box;
              g_assert_true (tn_layout_slice (layout, &value->shape, mesh->ranks[p], &box, NULL));
              many.values[p][many.first[mine->node->id]] = contiguous_cut (tensor, &box);
              many.first_sample[p] = i == 0 ? box.lo[0] : many.first_sample[p];
            }
        }
      run_ranks (&one);
      run_ranks (&many);
      for (int i = 0; i < tn_graph_n_outputs (whole); i++)
        {
          TnNamedValue a = tn_graph_output (whole, i), b = tn_graph_output (local, i);
          g_autofree TnTensor **parts = g_new0 (TnTensor *, many.n);
          for (int p = 0; p < many.n; p++)
            parts[p] = many.values[p][many.first[b.value->node->id] + b.value->index];
          check_close (a.name, one.values[0][one.first[a.value->node->id] + a.value->index], parts, tn_sharded_output (sharded, a.name), tolerance);
        }
      for (int i = 0; i < n_parameters; i++)
        {
          const char *name = tn_graph_parameter (whole, i)->node->name;
          g_autofree TnTensor **parts = g_new0 (TnTensor *, many.n);
          for (int p = 0; p < many.n; p++)
            parts[p] = many.values[p][many.first[tn_graph_find_parameter (local, name)->node->id]];
          check_close (name, state->pdata[i], parts, tn_sharded_parameter (sharded, name), tolerance);
        }
      clear_values (&one, FALSE);
      clear_values (&many, FALSE);
    }
  clear_values (&one, TRUE);
  clear_values (&many, TRUE);
  return tn_sharded_n_traffic (sharded);
}

static const Net lenet = { .preset = "lenet5", .batch = 8 }, cnn = { .preset = "small-cnn", .batch = 8 };
static const Net mlp = { .model = "{\"name\": \"mlp\", \"input\": {\"shape\": [12]}, \"cells\": ["
                                  "{\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 16}, {\"type\": \"ReLU\"},"
                                  "{\"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 8}, {\"type\": \"ReLU\"},"
                                  "{\"type\": \"Dense\", \"name\": \"fc3\", \"out_channels\": 4}]}",
                         .batch = 8 };

static TnMesh *
mesh_of (const char *text)
{
  g_autoptr (GError) error = NULL;
  TnMesh *mesh = tn_mesh_parse (text, -1, &error);
  g_assert_no_error (error);
  return mesh;
}

static void
check_net (const Net *net, const char *mesh_text, int level, const char *optimizer, double clip)
{
  g_autoptr (TnGraph) graph = whole_graph (net, optimizer, clip);
  g_autoptr (TnMesh) mesh = mesh_of (mesh_text);
  TnShardOptions options = { .mesh = mesh, .optimizer_level = level, .optimizer_shard = -1 };
  int n = compare (graph, &options, 2, 2e-5);
  g_test_message ("%s on %s, level %d: %d communications a step", net->preset != NULL ? net->preset : "mlp", mesh_text, level, n);
}

static void
test_data_parallel (void)
{
  check_net (&mlp, "dp=2", 0, "momentum", 0);
  check_net (&mlp, "dp=4", 0, "adam", 0.1);
  check_net (&lenet, "dp=4", 0, "momentum", 0);
}

static void
test_weights (void)
{
  check_net (&mlp, "tp=2", 0, "momentum", 0);
  check_net (&mlp, "tp=4", 0, "momentum", 0.1);
  check_net (&lenet, "tp=2", 0, "momentum", 0);
}

static void
test_both (void)
{
  check_net (&mlp, "dp=2,tp=2", 0, "momentum", 0);
  check_net (&mlp, "tp=2,dp=2", 0, "adamw", 0);
  check_net (&mlp, "dp=2,x=1,tp=4", 0, "sgd", 0);
  check_net (&lenet, "dp=2,tp=2", 0, "momentum", 0.01);
}

static void
test_optimizer_levels (void)
{
  for (int level = 1; level <= 3; level++)
    {
      check_net (&mlp, "dp=4", level, "adam", 0);
      check_net (&mlp, "dp=2,tp=2", level, "momentum", 0.1);
    }
  check_net (&lenet, "dp=2", 1, "momentum", 0);
}

static void
test_batch_norm (void)
{
  check_net (&cnn, "dp=2", 0, "momentum", 0);
  check_net (&cnn, "dp=2,tp=2", 1, "momentum", 0);
}

static const Net embedding = { .model = "{\"name\": \"words\", \"input\": {\"shape\": [6], \"dtype\": \"int32\"}, \"cells\": ["
                                        "{\"type\": \"Embedding\", \"name\": \"table\", \"vocab_size\": 8, \"embedding_size\": 4},"
                                        "{\"type\": \"LayerNorm\", \"name\": \"norm\"},"
                                        "{\"type\": \"Flatten\"},"
                                        "{\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 4}]}",
                               .batch = 8 };

/* Rows of the table on each rank (masked lookup), with and without copies for the batch. */
static void
test_embedding (void)
{
  check_net (&embedding, "tp=2", 0, "momentum", 0);
  check_net (&embedding, "tp=4", 0, "momentum", 0);
  check_net (&embedding, "dp=2,tp=4", 1, "adam", 0);
  check_net (&embedding, "dp=4", 0, "momentum", 0);
  check_net (&embedding, "dp=2,sp=3", 0, "momentum", 0);
}

static void
check_strategy (const Net *net, const char *mesh_text, const char *strategy, const int64_t *ranks)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraph) graph = whole_graph (net, "momentum", 0.1);
  g_autoptr (TnMesh) named = mesh_of (mesh_text);
  g_autoptr (TnMesh) mesh = ranks == NULL ? tn_mesh_ref (named) : tn_mesh_new (named->n_axes, named->sizes, (const char *const *) named->names, named->n_ranks, ranks, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) strategies = tn_shard_strategies_parse (strategy, mesh, &error);
  g_assert_no_error (error);
  TnShardOptions options = { .mesh = mesh, .n_strategies = (int) strategies->len, .strategies = (const TnShardStrategy *) strategies->data };
  compare (graph, &options, 2, 2e-5);
}

static void
test_strategies (void)
{
  check_strategy (&mlp, "x=2,y=2", "{\"fc1\": [[\"x\", \"y\"], [\"None\", \"y\"]], \"fc3\": [[\"None\", \"None\"], [[\"x\", \"y\"], \"None\"]]}", NULL);
  check_strategy (&mlp, "dp=2,tp=4", "{\"fc1\": [[\"dp\", \"None\"], [\"tp\", \"None\"]]}", NULL);
}

/* Counts: each operator has a device matrix of its own. */
static void
test_counts (void)
{
  check_strategy (&mlp, "dp=8", "{\"fc1\": [[2, 2], [2, 2]], \"fc2\": [[8, 1], [1, 1]], \"fc3\": [[1, 4], [2, 4]]}", NULL);
  check_strategy (&mlp, "dp=2,tp=2", "{\"fc1\": [[4, 1], [1, 1]], \"fc2\": [[1, 2], [2, 2]]}", NULL);
}

static void
test_rank_list (void)
{
  check_strategy (&mlp, "dp=2,tp=2", "", TN_SIZES (6, 1, 4, 3));
  check_strategy (&lenet, "dp=2,tp=2", "", TN_SIZES (3, 2, 1, 0));
}

/* Rows and columns of pictures on each rank: 3x3 windows and 5x5 ones, with stride and dilation, reach into the neighbours'. */
static void
test_spatial (void)
{
  static const Net net = { .model = "{\"name\": \"pictures\", \"input\": {\"shape\": [2, 16, 16]}, \"cells\": ["
                                    "{\"type\": \"Conv2d\", \"name\": \"conv1\", \"out_channels\": 4, \"kernel\": 3, \"pad_mode\": \"same\"}, {\"type\": \"ReLU\"},"
                                    "{\"type\": \"MaxPool2d\", \"kernel\": 2, \"stride\": 2},"
                                    "{\"type\": \"Conv2d\", \"name\": \"conv2\", \"out_channels\": 4, \"kernel\": 3, \"stride\": 2, \"pad_mode\": \"same\"}, {\"type\": \"ReLU\"},"
                                    "{\"type\": \"Conv2d\", \"name\": \"conv3\", \"out_channels\": 2, \"kernel\": 3, \"pad_mode\": \"same\"},"
                                    "{\"type\": \"Flatten\"}, {\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 4}]}",
                           .batch = 4 };
  static const Net wide = { .model = "{\"name\": \"pictures\", \"input\": {\"shape\": [2, 12, 8]}, \"cells\": ["
                                     "{\"type\": \"Conv2d\", \"name\": \"conv1\", \"out_channels\": 3, \"kernel\": 5, \"pad_mode\": \"same\"},"
                                     "{\"type\": \"Conv2d\", \"name\": \"conv2\", \"out_channels\": 3, \"kernel\": 3, \"dilation\": 2, \"pad_mode\": \"same\"},"
                                     "{\"type\": \"Flatten\"}, {\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 4}]}",
                            .batch = 4 };
  static const char *const rows = "{\"conv1\": [[\"None\", \"None\", \"h\", \"None\"], [\"None\", \"None\", \"None\", \"None\"]]}";
  static const char *const both = "{\"conv1\": [[\"None\", \"None\", \"h\", \"w\"], [\"None\", \"None\", \"None\", \"None\"]]}";
  check_strategy (&net, "h=2", rows, NULL);
  check_strategy (&net, "h=4", rows, NULL);
  check_strategy (&net, "h=2,w=2", both, NULL);
  check_strategy (&net, "dp=2,h=2", "{\"conv1\": [[\"dp\", \"None\", \"h\", \"None\"], [\"None\", \"None\", \"None\", \"None\"]]}", NULL);
  check_strategy (&net, "h=4", rows, TN_SIZES (2, 0, 3, 1));
  check_strategy (&net, "dp=4", "{\"conv1\": [[1, 1, 2, 2], [1, 1, 1, 1]]}", NULL); /* MindSpore's counts */
  check_strategy (&wide, "h=3", rows, NULL);
  check_strategy (&wide, "h=3,w=2", both, NULL);
}

/* That the rows really stay split from convolution to convolution: each has a slice of them and an exchange of edges. */
static void
test_spatial_stays (void)
{
  g_autoptr (GError) error = NULL;
  static const Net net = { .model = "{\"name\": \"pictures\", \"input\": {\"shape\": [2, 16, 16]}, \"cells\": ["
                                    "{\"type\": \"Conv2d\", \"name\": \"conv1\", \"out_channels\": 4, \"kernel\": 3, \"pad_mode\": \"same\"}, {\"type\": \"ReLU\"},"
                                    "{\"type\": \"MaxPool2d\", \"kernel\": 2, \"stride\": 2},"
                                    "{\"type\": \"Conv2d\", \"name\": \"conv2\", \"out_channels\": 4, \"kernel\": 3, \"pad_mode\": \"same\"}, {\"type\": \"ReLU\"},"
                                    "{\"type\": \"Conv2d\", \"name\": \"conv3\", \"out_channels\": 4, \"kernel\": 3, \"pad_mode\": \"same\"},"
                                    "{\"type\": \"Flatten\"}, {\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 4}]}",
                           .batch = 4 };
  g_autoptr (TnGraph) graph = whole_graph (&net, "momentum", 0);
  g_autoptr (TnMesh) mesh = mesh_of ("h=4");
  g_autoptr (GArray) strategies = tn_shard_strategies_parse ("{\"conv1\": [[\"None\", \"None\", \"h\", \"None\"], [\"None\", \"None\", \"None\", \"None\"]]}", mesh, &error);
  TnShardOptions options = { .mesh = mesh, .n_strategies = 1, .strategies = (const TnShardStrategy *) strategies->data };
  g_autoptr (TnSharded) sharded = tn_shard_graph (graph, &options, &error);
  g_assert_no_error (error);
  TnGraph *local = tn_sharded_graph (sharded);
  int convolutions = 0, exchanges = 0;
  for (int id = 0; id < tn_graph_n_nodes (local); id++)
    {
      const TnNode *node = tn_graph_node (local, id);
      exchanges += tn_node_is (node, "RankIndex");
      if (tn_node_is (node, "Conv2D"))
        g_assert_cmpint (node->inputs[0]->shape.dims[2], ==, (convolutions == 0 ? 16 : 8) / 4 + 2); /* a slice and a row on each side */
      convolutions += tn_node_is (node, "Conv2D");
    }
  g_assert_cmpint (convolutions, ==, 3);
  g_assert_cmpint (exchanges, ==, 7); /* all forward and for their filters, and the second's input; the third's gradient comes whole from Flatten's */
}

/* What does not fit is refused by name. */
static void
test_refused (void)
{
  static const struct { const char *mesh, *strategy, *says; } wrong[] = {
    { "dp=2,tp=2", "{\"fc1\": [[\"None\", \"tp\"], [\"tp\", \"None\"]]}", "fc1" },
    { "dp=2,tp=2", "{\"nowhere\": [[\"None\", \"tp\"], [\"None\", \"tp\"]]}", "nowhere" },
    { "dp=2,tp=2", "{\"fc1\": [[1, 3], [1, 3]]}", "does not divide" },
    { "dp=2,tp=2", "{\"fc1\": [[1, 2], [1, 4]]}", "fc1" },
    { "dp=3", "", "legal" },
  };
  g_autoptr (TnGraph) graph = whole_graph (&mlp, "momentum", 0);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnMesh) mesh = mesh_of (wrong[i].mesh);
      g_autoptr (GArray) strategies = tn_shard_strategies_parse (wrong[i].strategy, mesh, &error);
      g_assert_no_error (error);
      TnShardOptions options = { .mesh = mesh, .n_strategies = (int) strategies->len, .strategies = (const TnShardStrategy *) strategies->data };
      g_assert_null (tn_shard_graph (graph, &options, &error));
      g_assert_nonnull (error);
      if (strstr (error->message, wrong[i].says) == NULL)
        g_error ("%s", error->message);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/shard-graph/data-parallel-ranks-equal-one", test_data_parallel);
  g_test_add_func ("/parallel/shard-graph/split-weights-equal-one-rank", test_weights);
  g_test_add_func ("/parallel/shard-graph/both-axes-equal-one-rank", test_both);
  g_test_add_func ("/parallel/shard-graph/optimizer-levels-equal-one-rank", test_optimizer_levels);
  g_test_add_func ("/parallel/shard-graph/batch-norm-over-ranks-equals-one-rank", test_batch_norm);
  g_test_add_func ("/parallel/shard-graph/embeddings-by-rows-equal-one-rank", test_embedding);
  g_test_add_func ("/parallel/shard-graph/strategies-by-axes-equal-one-rank", test_strategies);
  g_test_add_func ("/parallel/shard-graph/strategies-by-counts-equal-one-rank", test_counts);
  g_test_add_func ("/parallel/shard-graph/rank-lists-in-any-order-equal-one-rank", test_rank_list);
  g_test_add_func ("/parallel/shard-graph/rows-and-columns-with-halo-equal-one-rank", test_spatial);
  g_test_add_func ("/parallel/shard-graph/split-rows-stay-split", test_spatial_stays);
  g_test_add_func ("/parallel/shard-graph/what-does-not-fit-is-refused-by-name", test_refused);
  return g_test_run ();
}
