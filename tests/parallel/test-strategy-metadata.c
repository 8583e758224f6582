/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/error.h"
#include "base/json.h"
#include "parallel/context.h"
#include "parallel/forecast.h"
#include "parallel/strategy-metadata.h"
#include "train/program-graph.h"

/* The document's example: LeNet-5 with Momentum and SoftmaxCrossEntropyWithLogits, semi-automatic, parameters not yet made. */
static TnGraph *
lenet (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_new_preset ("lenet5", &error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  TnProgramRecipe recipe;
  tn_program_recipe_init (&recipe, model, settings, &error);
  TnGraph *graph = tn_program_training_graph (&recipe, 32, &error);
  g_assert_no_error (error);
  return graph;
}

static TnSharded *
shard (TnGraph *graph, const char *mesh_text, int level)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnMesh) mesh = tn_mesh_parse (mesh_text, -1, &error);
  TnShardOptions options = { .mesh = mesh, .optimizer_level = level, .optimizer_shard = -1 };
  TnSharded *sharded = tn_shard_graph (graph, &options, &error);
  g_assert_no_error (error);
  return sharded;
}

static const TnNetwork network = { "train.0" }, uncompiled = { "" };

static void
test_none (void)
{
  g_autoptr (TnGraph) graph = lenet ();
  g_autoptr (TnSharded) sharded = shard (graph, "dp=8", 0);
  tn_clear_strategy_metadata ();
  g_assert_null (tn_get_strategy_metadata (&uncompiled, -1, NULL));
  g_assert_null (tn_get_strategy_metadata (&network, -1, NULL));
  tn_strategy_save_online (&network, sharded, graph, TRUE); /* recording is off in a new process */
  g_assert_null (tn_get_current_strategy_metadata (&network));
  tn_enable_save_strategy_online ();
  tn_strategy_save_online (&uncompiled, sharded, graph, TRUE);
  g_assert_null (tn_get_strategy_metadata (&uncompiled, -1, NULL));
  tn_strategy_save_online (&network, sharded, graph, FALSE); /* data_parallel */
  g_assert_null (tn_get_strategy_metadata (&network, -1, NULL));
  tn_strategy_save_online (&network, sharded, graph, TRUE); /* the phase was recorded before */
  g_assert_null (tn_get_strategy_metadata (&network, -1, NULL));
  tn_clear_strategy_metadata ();
  tn_strategy_save_online (&network, sharded, graph, TRUE); /* recording is still on */
  g_autoptr (TnStrategyMetadata) metadata = tn_get_strategy_metadata (&network, -1, NULL);
  g_assert_nonnull (metadata);
  tn_clear_strategy_metadata ();
  g_assert_null (tn_get_strategy_metadata (&network, -1, NULL));
  g_assert_cmpint (tn_strategy_metadata_n_ranks (metadata), ==, 8); /* what was got stays */
}

/* As MindSpore printed it on 8 ranks (lenet_train). */
static void
test_document (void)
{
  g_autoptr (TnGraph) graph = lenet ();
  g_autoptr (TnSharded) sharded = shard (graph, "dp=8", 0);
  g_autofree char *folder = truth_folder (), *path = g_build_filename (folder != NULL ? folder : "", "mindspore/strategy/lenet_train/meta_r0.json", NULL);
  tn_clear_strategy_metadata ();
  tn_enable_save_strategy_online ();
  tn_strategy_save_online (&network, sharded, graph, TRUE);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnStrategyMetadata) all = tn_get_strategy_metadata (&network, -1, &error), fifth = tn_get_strategy_metadata (&network, 5, &error);
  g_autoptr (TnStrategyMetadata) current = tn_get_current_strategy_metadata (&network);
  g_assert_no_error (error);
  g_assert_cmpint (tn_strategy_metadata_n_ranks (all), ==, 8);
  g_assert_cmpint (tn_strategy_metadata_rank (fifth, 0), ==, 5);
  g_assert_cmpint (tn_strategy_metadata_rank (current, 0), ==, 0);
  g_assert_null (tn_get_strategy_metadata (&network, 99, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_NOT_FOUND);
  g_autoptr (JsonNode) root = g_file_test (path, G_FILE_TEST_EXISTS) ? truth_load (path) : NULL;
  if (root == NULL)
    {
      g_test_skip ("no truth folder");
      return;
    }
  JsonObject *want = json_object_get_object_member (json_object_get_object_member (json_node_get_object (root), "get_strategy_metadata"), "same for every rank");
  g_autoptr (JsonObject) got = tn_strategy_metadata_to_json (fifth, FALSE);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), json_object_get_object_member (got, "5"));
  g_autoptr (JsonNode) expected = json_node_init_object (json_node_alloc (), want);
  g_autofree char *a = tn_json_to_text (node, 1), *b = tn_json_to_text (expected, 1);
  g_assert_cmpstr (a, ==, b);
}

/* The user's names stand beside the synthetic ones; the optimizer's cut is folded in. */
static void
test_names (void)
{
  g_autoptr (TnGraph) graph = lenet ();
  g_autoptr (TnSharded) sharded = shard (graph, "dp=4,x=1,tp=2", 1);
  tn_clear_strategy_metadata ();
  tn_enable_save_strategy_online ();
  tn_strategy_save_online (&network, sharded, graph, TRUE);
  g_autoptr (TnStrategyMetadata) metadata = tn_get_strategy_metadata (&network, 3, NULL);
  const TnStrategyMetadataItem *item = tn_strategy_metadata_find (metadata, "fc2.weight");
  g_autofree char *named = tn_layout_to_string (item->named), *plain = tn_layout_to_string (item->layout);
  g_assert_cmpstr (named, ==, "((dp, x), tp)");
  g_assert_cmpstr (plain, ==, "(a, b)");
  g_assert_cmpint (item->layout->mesh->n_axes, ==, 2);
}

/* A transformer's 3,000 parameters over 4,096 ranks are a view: layouts, bytes and every rank's slice of some. */
static void
test_scale (void)
{
  gint64 start = g_get_monotonic_time ();
  g_autoptr (GError) error = NULL;
  g_autoptr (TnMesh) mesh = tn_mesh_parse ("dp=512,tp=8", 4096, &error);
  g_autoptr (TnLayout) rows = tn_layout_parse (mesh, "tp, None", NULL), columns = tn_layout_parse (mesh, "None, tp", NULL);
  double bytes = 0;
  for (int i = 0; i < 3000; i++)
    {
      TnShape shape = TN_SHAPE (4096, 4096), local;
      g_autoptr (TnLayout) kept = tn_layout_fold_optimizer (i % 2 ? rows : columns, -1, &error);
      g_assert_true (kept != NULL && tn_layout_local_shape (kept, &shape, &local, &error));
      bytes += 4.0 * (double) tn_shape_count (&local);
      if (i % 30 == 0)
        for (int64_t rank = 0; rank < 4096; rank++)
          {
            TnBox box;
            tn_layout_slice (kept, &shape, rank, &box, NULL);
          }
    }
  g_assert_cmpfloat (bytes, ==, 3000.0 * 4096 * 4096 * 4 / 4096);
  double ms = (double) (g_get_monotonic_time () - start) / 1e3;
  g_test_message ("3,000 layouts on 4,096 ranks, and all slices of 100 of them: %.1f ms", ms);
  g_assert_cmpfloat (ms, <, 1000); /* the benchmark asks for 100 on a quiet machine */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/strategy-metadata/none-where-mindspore-has-none", test_none);
  g_test_add_func ("/parallel/strategy-metadata/the-document-s-example", test_document);
  g_test_add_func ("/parallel/strategy-metadata/names-and-optimizer-cuts", test_names);
  g_test_add_func ("/parallel/strategy-metadata/thousands-of-ranks-are-a-view", test_scale);
  return g_test_run ();
}
