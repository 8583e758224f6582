/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/error.h"
#include "base/json.h"
#include "parallel/context.h"
#include "parallel/forecast.h"
#include "train/program-graph.h"
#include "train/project.h"

static TnSettings *
with (const char *name, const char *value)
{
  g_autoptr (GError) error = NULL;
  TnSettings *settings = tn_settings_new ();
  tn_settings_set (settings, "parallel.ranks", "8", &error);
  tn_settings_set (settings, "parallel.mode", "semi_auto_parallel", &error);
  tn_settings_set (settings, name, value, &error);
  g_assert_no_error (error);
  return settings;
}

/* What can be stored and planned, but not run, names the setting to change. */
static void
test_cannot_run (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSettings) fine = with ("parallel.mesh", "dp=4,tp=2"), pipeline = with ("parallel.pipeline_stages", "2"), search = with ("parallel.mode", "auto_parallel");
  g_assert_true (tn_parallel_context_can_run (fine, &error));
  g_assert_true (tn_parallel_context_can_run (search, &error));
  g_assert_false (tn_parallel_context_can_run (pipeline, &error));
  g_assert_nonnull (strstr (error->message, "parallel.pipeline_stages"));
  g_clear_error (&error);
  tn_settings_set (search, "parallel.search_mode", "recursive_programming", NULL);
  g_assert_false (tn_parallel_context_can_run (search, &error));
  g_assert_nonnull (strstr (error->message, "parallel.search_mode"));
}

/* MindSpore's names reach the same settings. */
static void
test_aliases (void)
{
  static const struct { const char *theirs, *ours; } rows[] = {
    { "device_num", "parallel.ranks" }, { "parallel_mode", "parallel.mode" }, { "gradients_mean", "parallel.gradients_mean" },
    { "gradient_fp32_sync", "parallel.gradient_fp32_sync" }, { "loss_repeated_mean", "parallel.loss_repeated_mean" },
    { "auto_parallel_search_mode", "parallel.search_mode" }, { "parameter_broadcast", "parallel.parameter_broadcast" },
    { "strategy_ckpt_load_file", "parallel.strategy_load" }, { "strategy_ckpt_save_file", "parallel.strategy_save" },
    { "group_ckpt_save_file", "parallel.group_save" }, { "dataset_strategy", "parallel.dataset" },
    { "enable_parallel_optimizer", "parallel.optimizer" }, { "parallel_optimizer_threshold", "parallel.optimizer_threshold" },
    { "optimizer_weight_shard_size", "parallel.optimizer_shard_size" }, { "grad_accumulation_step", "parallel.accumulation_steps" },
    { "pipeline_stages", "parallel.pipeline_stages" }, { "all_reduce_fusion_config", "parallel.all_reduce_fusion" },
    { "enable_alltoall", "parallel.all_to_all" }, { "communi_parallel_mode", "parallel.group_mode" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const TnSetting *row = tn_setting_find (rows[i].theirs);
      g_assert_nonnull (row);
      g_assert_cmpstr (row->name, ==, rows[i].ours);
    }
}

/* A strategy stands as an object in project.json. */
static void
test_object (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = tn_json_parse ("{\"parallel\": {\"ranks\": 8, \"mesh\": \"dp=4,tp=2\", \"strategy\": {\"fc*\": [[\"dp\", \"None\"], [\"tp\", \"None\"]], \"conv1\": [[8, 1, 1, 1], [1, 1, 1, 1]]}}}", -1, &error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_assert_true (tn_settings_from_json (settings, json_node_get_object (node), NULL, &error));
  g_assert_no_error (error);
  g_autoptr (TnParallelContext) context = tn_parallel_context_new (settings, -1, &error);
  g_assert_no_error (error);
  g_assert_cmpint (context->options.n_strategies, ==, 2);
  g_assert_cmpstr (context->options.strategies[0].pattern, ==, "fc*");
  g_autofree char *text = tn_layout_to_string (context->options.strategies[0].inputs[1]);
  g_assert_cmpstr (text, ==, "(tp, None)");
  g_assert_cmpint (context->options.strategies[1].counts[0].dims[0], ==, 8);
}

static void
test_refused (void)
{
  static const struct { const char *name, *value, *says; } wrong[] = {
    { "parallel.mesh", "dp=3,tp=2", "6" },
    { "parallel.strategy", "[1]", "parallel.strategy" },
    { "parallel.strategy", "{\"fc\": 3}", "fc" },
    { "parallel.strategy", "{\"fc\": [[\"dp\"], [\"zz\"]]}", "zz" },
    { "parallel.strategy", "{\"fc\": [[\"dp\", \"dp\"]]}", "dp" },
    { "parallel.all_reduce_fusion", "5,3", "ascend" },
    { "parallel.optimizer_shard_size", "0", "optimizer_shard_size" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnSettings) settings = with (wrong[i].name, wrong[i].value);
      g_assert_null (tn_parallel_context_new (settings, -1, &error));
      g_assert_nonnull (error);
      if (strstr (error->message, wrong[i].says) == NULL)
        g_error ("%s", error->message);
    }
}

/* The project that ships: LeNet-5 with Momentum on 8 ranks. Bytes by hand: fc1 is 120 x 400, split by tp = 2; fc2 84 x 120. */
static void
test_sample (void)
{
  g_autoptr (GError) error = NULL;
  const char *root = g_getenv ("TENON_SOURCE_ROOT");
  g_autofree char *path = g_build_filename (root != NULL ? root : ".", "resources/samples/lenet5-8-ranks", NULL);
  g_autoptr (TnProject) project = tn_project_open (path, &error);
  g_assert_no_error (error);
  TnSettings *settings = tn_project_settings (project);
  g_autoptr (TnModel) model = tn_project_load_model (project, settings, &error);
  g_autoptr (TnParallelContext) context = tn_parallel_context_new (settings, -1, &error);
  g_assert_no_error (error);
  TnProgramRecipe recipe;
  g_assert_true (tn_program_recipe_init (&recipe, model, settings, &error));
  g_autoptr (TnGraph) graph = tn_program_training_graph (&recipe, tn_settings_get_int (settings, "train.batch"), &error);
  g_assert_no_error (error);
  g_autoptr (TnSharded) sharded = tn_shard_graph (graph, &context->options, &error);
  g_assert_no_error (error);
  g_autoptr (GArray) entries = tn_shard_entries (sharded, graph);
  int seen = 0;
  for (guint i = 0; i < entries->len; i++)
    {
      const TnShardEntry *entry = &g_array_index (entries, TnShardEntry, i);
      gboolean fc1 = g_str_has_suffix (entry->name, "fc1.weight"), fc2 = g_str_has_suffix (entry->name, "fc2.weight");
      if (!fc1 && !fc2)
        continue;
      g_autofree char *layout = tn_layout_to_string (entry->layout);
      g_assert_cmpstr (layout, ==, fc1 ? "(tp, None)" : "(None, tp)");
      g_assert_cmpint (entry->bytes, ==, fc1 ? 120 * 400 * 4 / 2 : 84 * 120 * 4 / 2);
      g_assert_cmpint (entry->replicas, ==, 4);
      seen++;
    }
  g_assert_cmpint (seen, ==, 4); /* each with its moments */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/context/what-cannot-run-names-its-setting", test_cannot_run);
  g_test_add_func ("/parallel/context/mindspore-names-are-aliases", test_aliases);
  g_test_add_func ("/parallel/context/a-strategy-is-an-object-in-the-project", test_object);
  g_test_add_func ("/parallel/context/wrong-settings-are-refused-by-name", test_refused);
  g_test_add_func ("/parallel/context/the-project-that-ships-can-be-planned", test_sample);
  return g_test_run ();
}
