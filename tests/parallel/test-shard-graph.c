/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <math.h>
#include "ir/interpret.h"
#include "nn/initializer.h"
#include "ops/collective.h"
#include "ops/op.h"
#include "parallel/context.h"
#include "train/program-graph.h"

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

/* Gradients in buckets: the same numbers with fewer all-reduces, and the first bucket is under way before the last gradient. */
static void
test_fusion (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraph) graph = whole_graph (&lenet, "momentum", 0), clipped = whole_graph (&mlp, "adam", 0.1);
  g_autoptr (TnMesh) mesh = mesh_of ("dp=2"), both = mesh_of ("dp=2,tp=2");
  TnShardOptions single = { .mesh = mesh }, whole = { .mesh = mesh, .bucket_bytes = 1 << 20 }, small = { .mesh = mesh, .bucket_bytes = 40 * 1024 };
  TnShardOptions by_number = { .mesh = mesh, .n_bucket_ends = 2, .bucket_ends = TN_SIZES (1, 5) }, two_axes = { .mesh = both, .bucket_bytes = 1 << 20 };
  int n = compare (graph, &single, 2, 2e-5), n_whole = compare (graph, &whole, 2, 2e-5), n_small = compare (graph, &small, 2, 2e-5), n_numbered = compare (graph, &by_number, 2, 2e-5);
  g_test_message ("LeNet-5 on two ranks: %d communications one by one, %d in one bucket, %d in buckets of 40 KB, %d cut after gradients 1 and 5", n, n_whole, n_small, n_numbered);
  g_assert_cmpint (n, ==, 11); /* ten gradients and the loss */
  g_assert_cmpint (n_whole, ==, 2);
  g_assert_cmpint (n_numbered, ==, 4); /* 0-1, 2-5, 6-9, and the loss */
  g_assert_true (n_small > n_whole && n_small < n);
  compare (clipped, &two_axes, 2, 2e-5);
  g_autoptr (TnSharded) sharded = tn_shard_graph (graph, &small, &error);
  g_assert_no_error (error);
  TnGraph *local = tn_sharded_graph (sharded);
  int first_reduce = G_MAXINT, last_backward = -1;
  double bytes = 0;
  for (int id = 0; id < tn_graph_n_nodes (local); id++)
    {
      const TnNode *node = tn_graph_node (local, id);
      if (tn_node_is (node, "AllReduce") && node->inputs[0]->shape.n_dims > 0)
        first_reduce = MIN (first_reduce, id);
      if (tn_node_is (node, "Conv2DBackpropFilter"))
        last_backward = id;
    }
  g_assert_cmpint (first_reduce, <, last_backward);
  for (int i = 0; i < tn_sharded_n_traffic (sharded); i++)
    {
      const TnTraffic *t = tn_sharded_traffic (sharded, i);
      g_assert_nonnull (t->node);
      bytes += t->phase == TN_PHASE_BACKWARD ? (double) t->bytes_in : 0;
    }
  g_assert_cmpfloat (bytes, ==, 4.0 * (6 * 25 + 6 + 16 * 6 * 25 + 16 + 120 * 400 + 120 + 84 * 120 + 84 + 10 * 84 + 10));
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
  g_test_add_func ("/parallel/shard-graph/gradients-in-buckets-equal-one-rank", test_fusion);
  g_test_add_func ("/parallel/shard-graph/what-does-not-fit-is-refused-by-name", test_refused);
  return g_test_run ();
}
