/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "comm/threads.h"
#include "device/cpu/plan.h"
#include "ir/passes.h"
#include "parallel/context.h"
#include "train/collectives.h"
#include "train/program-graph.h"
#include "train/program-private.h"

/* The compiled plan of a rank's graph on N threads with real collectives, against the compiled plan of the whole graph on one:
 * losses, gradients, parameters and states of every step. */

#define MAX_RANKS 8

static const char mlp[] = "{\"name\": \"mlp\", \"input\": {\"shape\": [12]}, \"cells\": ["
                          "{\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 16}, {\"type\": \"ReLU\"},"
                          "{\"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 8}, {\"type\": \"ReLU\"},"
                          "{\"type\": \"Dense\", \"name\": \"fc3\", \"out_channels\": 4}]}";
static const char words[] = "{\"name\": \"words\", \"input\": {\"shape\": [6], \"dtype\": \"int32\"}, \"cells\": ["
                            "{\"type\": \"Embedding\", \"name\": \"table\", \"vocab_size\": 8, \"embedding_size\": 4},"
                            "{\"type\": \"LayerNorm\", \"name\": \"norm\"}, {\"type\": \"Flatten\"},"
                            "{\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 4}]}";

/* A plan and the memory of one who runs it. */
typedef struct
{
  TnGraph *graph; /* as planned from: inputs, parameters and outputs by place */
  TnPlan *plan;
  char *memory;
  void **state;
  const void **inputs;
} Runner;

static TnPlan *
plan_of (TnGraph *graph)
{
  TnCpuTarget target;
  GError *error = NULL;
  g_assert_true (tn_cpu_target_init (&target, TN_ISA_AUTO, TRUE, &error));
  g_autoptr (TnGraph) optimized = tn_passes_run (graph, tn_program_has_kernel, &target, NULL, NULL, &error);
  g_assert_no_error (error);
  TnPlan *plan = tn_plan_new (optimized, &target, &error);
  g_assert_no_error (error);
  return plan;
}

static void
runner_init (Runner *self, TnGraph *graph, TnPlan *plan)
{
  *self = (Runner){ .graph = graph, .plan = plan };
  self->memory = g_aligned_alloc0 (tn_plan_bytes (plan, 1) + 64, 1, 64);
  self->state = g_new0 (void *, tn_graph_n_parameters (graph) + 1);
  self->inputs = g_new0 (const void *, tn_graph_n_inputs (graph) + 1);
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    self->state[i] = g_aligned_alloc0 ((size_t) tn_shape_count (&tn_graph_parameter (graph, i)->shape) + 16, 8, 64);
  for (int i = 0; i < tn_graph_n_inputs (graph); i++)
    self->inputs[i] = g_aligned_alloc0 ((size_t) tn_shape_count (&tn_graph_input (graph, i)->shape) + 16, 8, 64);
}

static void
runner_clear (Runner *self)
{
  for (int i = 0; i < tn_graph_n_parameters (self->graph); i++)
    g_aligned_free (self->state[i]);
  for (int i = 0; i < tn_graph_n_inputs (self->graph); i++)
    g_aligned_free ((void *) self->inputs[i]);
  g_free (self->state);
  g_free (self->inputs);
  g_aligned_free (self->memory);
}

/* Parameters of the planned graph stand in another order than the graph's, maybe. */
static void
run (Runner *self, TnCollectives *collectives, int64_t first_sample)
{
  GError *error = NULL;
  const TnGraph *planned = tn_plan_graph (self->plan);
  g_autofree void **state = g_new0 (void *, tn_graph_n_parameters (planned) + 1);
  for (int i = 0; i < tn_graph_n_parameters (planned); i++)
    for (int k = 0; k < tn_graph_n_parameters (self->graph); k++)
      if (strcmp (tn_graph_parameter (planned, i)->node->name, tn_graph_parameter (self->graph, k)->node->name) == 0)
        state[i] = self->state[k];
  TnPlanRun now = { .memory = self->memory, .inputs = self->inputs, .state = state, .seed = 7, .step = 1, .first_sample = first_sample,
                    .collective = collectives != NULL ? tn_collectives_run : NULL, .collective_data = collectives };
  tn_pool_enter_worker ();
  tn_plan_run (self->plan, &now, 0, tn_plan_n_waves (self->plan), &error);
  g_assert_no_error (error);
}

/* The elements of @box of a tensor of @shape, to and fro. */
static void
copy_box (char *whole, const TnShape *shape, const TnBox *box, char *part, size_t size, gboolean cut)
{
  int64_t strides[TN_MAX_DIMS], n = 1, e, rest, at;
  tn_shape_strides (shape, strides);
  for (int d = 0; d < shape->n_dims; d++)
    n *= box->hi[d] - box->lo[d];
  for (e = 0; e < n; e++)
    {
      rest = e;
      at = 0;
      for (int d = shape->n_dims - 1; d >= 0; d--)
        {
          int64_t length = box->hi[d] - box->lo[d];
          at += (box->lo[d] + rest % length) * strides[d];
          rest /= length;
        }
      memcpy (cut ? part + (size_t) e * size : whole + (size_t) at * size, cut ? whole + (size_t) at * size : part + (size_t) e * size, size);
    }
}

static void
fill (GRand *random, const TnValue *value, void *data)
{
  const char *name = value->node->name;
  /* Wide layers with large weights would make rounding grow from step to step. */
  double range = tn_node_is_parameter (value->node) && tn_shape_count (&value->shape) > 200 ? 0.08 : 0.5;
  for (int64_t e = 0; e < tn_shape_count (&value->shape); e++)
    {
      double x = strcmp (name, "lr") == 0 ? 0.02 : strcmp (name, "step") == 0 ? 1 : tn_dtype_is_float (value->dtype) ? g_rand_double_range (random, -range, range) : g_rand_int_range (random, 0, 4);
      if (g_str_has_suffix (name, "variance") || (tn_node_is_parameter (value->node) && tn_node_parameter_info (value->node)->role == TN_ROLE_OPTIMIZER))
        x = fabs (x);
      tn_dtype_store (value->dtype, data, (size_t) e, x);
    }
}

/* How far the parts are from the whole, of its largest element. */
static void
compare (const char *name, const TnValue *value, const void *whole, const TnLayout *layout, const TnMesh *mesh, void *const *parts)
{
  int64_t count = tn_shape_count (&value->shape);
  double largest = 0, worst = 0;
  g_autofree double *joined = g_new (double, count + 1);
  for (int64_t e = 0; e < count; e++)
    largest = MAX (largest, fabs (tn_dtype_load (value->dtype, whole, (size_t) e)));
  g_autofree char *cut = g_malloc ((gsize) count * 8 + 8);
  for (int64_t p = 0; p < mesh->n_ranks; p++)
    {
      TnBox box;
      g_assert_true (tn_layout_slice (layout, &value->shape, mesh->ranks[p], &box, NULL));
      copy_box ((char *) whole, &value->shape, &box, cut, tn_dtype_size (value->dtype), TRUE);
      for (int64_t e = 0; e < tn_box_count (&box); e++)
        worst = MAX (worst, fabs (tn_dtype_load (value->dtype, cut, (size_t) e) - tn_dtype_load (value->dtype, parts[p], (size_t) e)));
    }
  if (!(worst <= 1e-5 * largest) && worst > 1e-9)
    g_error ("%s differs by %g of %g", name, worst, largest);
}

typedef struct
{
  TnComm *comm;
  Runner *runner;
  TnCollectives *collectives;
  int64_t first_sample;
} Rank;

static void *
rank_main (void *data)
{
  Rank *rank = data;
  tn_comm_threads_enter (rank->comm);
  run (rank->runner, rank->collectives, rank->first_sample);
  tn_comm_threads_leave (rank->comm);
  return NULL;
}

static void
check (const char *net, int64_t batch, const char *mesh_text, const char *strategy, int level, const char *optimizer, double clip, int n_steps)
{
  GError *error = NULL;
  g_autoptr (TnModel) model = *net == '{' ? tn_model_from_json (net, -1, &error) : tn_model_new_preset (net, &error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autofree char *number = g_strdup_printf ("%g", clip);
  tn_settings_set (settings, "optimizer.kind", optimizer, NULL);
  tn_settings_set (settings, "optimizer.eps", "1e-3", NULL);
  tn_settings_set (settings, "train.clip_norm", number, NULL);
  TnProgramRecipe recipe;
  g_assert_true (tn_program_recipe_init (&recipe, model, settings, &error));
  g_autoptr (TnGraph) whole = tn_program_training_graph (&recipe, batch, &error);
  g_autoptr (TnMesh) asked = tn_mesh_parse (mesh_text, -1, &error);
  g_autoptr (GArray) strategies = strategy != NULL ? tn_shard_strategies_parse (strategy, asked, &error) : NULL;
  g_assert_no_error (error);
  TnShardOptions options = { .mesh = asked, .optimizer_level = level, .optimizer_shard = -1, .n_strategies = strategies != NULL ? (int) strategies->len : 0,
                             .strategies = strategies != NULL ? (const TnShardStrategy *) strategies->data : NULL };
  g_autoptr (TnSharded) sharded = tn_shard_graph (whole, &options, &error);
  g_assert_no_error (error);
  TnGraph *local = tn_sharded_graph (sharded);
  const TnMesh *mesh = tn_sharded_mesh (sharded);
  int P = (int) mesh->n_ranks;
  g_assert_cmpint (P, <=, MAX_RANKS);

  g_autoptr (TnPlan) whole_plan = plan_of (whole);
  g_autoptr (TnPlan) local_plan = plan_of (local); /* one for all ranks */
  Runner one, many[MAX_RANKS];
  Rank ranks[MAX_RANKS];
  g_autofree TnComm **comms = tn_comm_threads_new (P, 0, NULL);
  runner_init (&one, whole, whole_plan);
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  for (int i = 0; i < tn_graph_n_parameters (whole); i++)
    fill (random, tn_graph_parameter (whole, i), one.state[i]);
  for (int p = 0; p < P; p++)
    {
      runner_init (&many[p], local, local_plan);
      ranks[p] = (Rank){ .comm = comms[p], .runner = &many[p], .collectives = tn_collectives_new (comms[p]) };
      for (int i = 0; i < tn_graph_n_parameters (local); i++)
        {
          const TnValue *value = tn_graph_find_parameter (whole, tn_graph_parameter (local, i)->node->name);
          int k = 0;
          TnBox box;
          while (tn_graph_parameter (whole, k) != value)
            k++;
          g_assert_true (tn_layout_slice (tn_sharded_parameter (sharded, value->node->name), &value->shape, mesh->ranks[p], &box, NULL));
          copy_box (one.state[k], &value->shape, &box, many[p].state[i], tn_dtype_size (value->dtype), TRUE);
        }
    }
  for (int step = 0; step < n_steps; step++)
    {
      for (int i = 0; i < tn_graph_n_inputs (whole); i++)
        {
          const TnValue *value = tn_graph_input (whole, i);
          fill (random, value, (void *) one.inputs[i]);
          for (int p = 0; p < P; p++)
            {
              TnBox box;
              g_assert_true (tn_layout_slice (tn_sharded_input (sharded, value->node->name), &value->shape, mesh->ranks[p], &box, NULL));
              copy_box ((char *) one.inputs[i], &value->shape, &box, (char *) many[p].inputs[i], tn_dtype_size (value->dtype), TRUE);
              ranks[p].first_sample = i == 0 ? box.lo[0] : ranks[p].first_sample;
            }
        }
      run (&one, NULL, 0);
      pthread_t threads[MAX_RANKS];
      for (int p = 0; p < P; p++)
        pthread_create (&threads[p], NULL, rank_main, &ranks[p]);
      for (int p = 0; p < P; p++)
        pthread_join (threads[p], NULL);
      void *parts[MAX_RANKS];
      const TnGraph *a = tn_plan_graph (whole_plan), *b = tn_plan_graph (local_plan);
      for (int i = 0; i < tn_graph_n_outputs (a); i++)
        {
          TnPlanRun where = { .memory = one.memory };
          const char *name = tn_graph_output (a, i).name;
          int k = 0;
          while (strcmp (tn_graph_output (b, k).name, name) != 0)
            k++;
          const void *mine = tn_plan_output (whole_plan, &where, i);
          for (int p = 0; p < P; p++)
            parts[p] = (void *) tn_plan_output (local_plan, &(TnPlanRun){ .memory = many[p].memory }, k);
          compare (name, tn_graph_output (a, i).value, mine, tn_sharded_output (sharded, name), mesh, parts);
        }
      for (int i = 0; i < tn_graph_n_parameters (local); i++)
        {
          const char *name = tn_graph_parameter (local, i)->node->name;
          int k = 0;
          while (strcmp (tn_graph_parameter (whole, k)->node->name, name) != 0)
            k++;
          for (int p = 0; p < P; p++)
            parts[p] = many[p].state[i];
          compare (name, tn_graph_parameter (whole, k), one.state[k], tn_sharded_parameter (sharded, name), mesh, parts);
        }
    }
  runner_clear (&one);
  for (int p = 0; p < P; p++)
    {
      runner_clear (&many[p]);
      tn_collectives_free (ranks[p].collectives);
    }
  for (int p = 0; p < P; p++)
    tn_comm_free (comms[p]);
}

static void
test_data (void)
{
  check (mlp, 8, "dp=2", NULL, 0, "momentum", 0, 20);
  check ("lenet5", 16, "dp=4", NULL, 0, "momentum", 0.1, 20);
}

static void
test_weights (void)
{
  check (mlp, 8, "tp=2", NULL, 0, "momentum", 0, 20);
  check (mlp, 8, "tp=4", NULL, 0, "adam", 0.1, 10);
  check ("lenet5", 8, "tp=2", NULL, 0, "momentum", 0, 10);
}

static void
test_both (void)
{
  check (mlp, 8, "dp=2,tp=2", NULL, 0, "momentum", 0, 20);
  check (mlp, 8, "tp=2,dp=4", NULL, 0, "adamw", 0, 10);
  check ("lenet5", 8, "dp=2,tp=2", NULL, 0, "momentum", 0.01, 10);
}

static void
test_optimizer (void)
{
  for (int level = 1; level <= 3; level++)
    {
      check (mlp, 8, "dp=4", NULL, level, "adam", 0, 10);
      check (mlp, 8, "dp=2,tp=2", NULL, level, "momentum", 0.1, 10);
    }
}

static void
test_batch_norm (void)
{
  check ("small-cnn", 8, "dp=2", NULL, 0, "momentum", 0, 5);
  check ("small-cnn", 8, "dp=4", NULL, 0, "momentum", 0, 5);
}

static void
test_embedding (void)
{
  check (words, 8, "tp=4", NULL, 0, "momentum", 0, 10);
  check (words, 8, "dp=2,tp=4", NULL, 1, "adam", 0, 10);
}

static void
test_strategies (void)
{
  check (mlp, 8, "x=2,y=2", "{\"fc1\": [[\"x\", \"y\"], [\"None\", \"y\"]], \"fc3\": [[\"None\", \"None\"], [[\"x\", \"y\"], \"None\"]]}", 0, "momentum", 0, 10);
  check (mlp, 8, "dp=8", "{\"fc1\": [[2, 2], [2, 2]], \"fc2\": [[8, 1], [1, 1]], \"fc3\": [[1, 4], [2, 4]]}", 0, "momentum", 0, 10);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/train/sharded/data", test_data);
  g_test_add_func ("/train/sharded/weights", test_weights);
  g_test_add_func ("/train/sharded/both", test_both);
  g_test_add_func ("/train/sharded/optimizer-levels", test_optimizer);
  g_test_add_func ("/train/sharded/batch-norm-over-ranks", test_batch_norm);
  g_test_add_func ("/train/sharded/embedding-by-rows", test_embedding);
  g_test_add_func ("/train/sharded/strategies", test_strategies);
  return g_test_run ();
}
