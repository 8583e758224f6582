/* SPDX-License-Identifier: Apache-2.0 */
#include "train/program-private.h"
#include "base/error.h"
#include "ir/passes.h"
#include "parallel/shard-graph.h"
#include "train/ranks.h"
#include "train/memory-limit.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GUESSES 6 /* of the largest batch that fits */

/* ---- compiling ---- */

static void
free_compiled (gpointer data)
{
  TnCompiled *compiled = data;
  g_clear_pointer (&compiled->built, tn_graph_unref);
  tn_plan_unref (compiled->plan);
  g_clear_pointer (&compiled->whole, tn_graph_unref);
  if (!compiled->borrowed)
    tn_sharded_free (compiled->sharded);
  g_free (compiled->state);
  g_free (compiled);
}

gboolean
tn_program_has_kernel (const TnNode *fused, gpointer data)
{
  return tn_cpu_kernel_find (fused, data) != NULL;
}

static int
find_input (const TnGraph *graph, const char *name)
{
  for (int i = 0; i < tn_graph_n_inputs (graph); i++)
    if (strcmp (tn_graph_input (graph, i)->node->name, name) == 0)
      return i;
  return -1;
}

static int
find_output (const TnGraph *graph, const char *name)
{
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    if (strcmp (tn_graph_output (graph, i).name, name) == 0)
      return i;
  return -1;
}

static TnCompiled *
find_compiled (const TnProgram *self, int64_t rows, gboolean training)
{
  for (guint i = 0; i < self->compiled->len; i++)
    {
      TnCompiled *compiled = self->compiled->pdata[i];
      if (compiled->rows == rows && compiled->training == training)
        return compiled;
    }
  return NULL;
}

/* Plans do not change and hold no addresses: ranks share them. */
static TnCompiled *
share_compiled (const TnCompiled *theirs)
{
  TnCompiled *compiled = g_memdup2 (theirs, sizeof *theirs);
  compiled->state = NULL;
  tn_graph_ref (compiled->built);
  tn_plan_ref (compiled->plan);
  if (compiled->whole != NULL)
    tn_graph_ref (compiled->whole);
  compiled->borrowed = TRUE;
  return compiled;
}

/* The graph of one of several ranks that take @rows each, where some nodes need all of them: what it computes is what one rank
 * computes with the whole batch. */
static TnGraph *
joined_graph (const TnProgram *self, int64_t rows, GError **error)
{
  g_autoptr (TnGraph) whole = tn_program_training_graph (&self->recipe, rows * self->n_joined, error);
  g_autofree char *text = g_strdup_printf ("dp=%d", self->n_joined);
  g_autoptr (TnMesh) mesh = whole != NULL ? tn_mesh_parse (text, -1, error) : NULL;
  TnShardOptions options = { .mesh = mesh };
  g_autoptr (TnSharded) sharded = mesh != NULL ? tn_shard_graph (whole, &options, error) : NULL;
  return sharded != NULL ? tn_graph_ref (tn_sharded_graph (sharded)) : NULL;
}

static TnCompiled *
compile (TnProgram *self, int64_t rows, gboolean training, GError **error)
{
  TnCompiled *theirs = self->origin != NULL ? find_compiled (self->origin, rows, training) : NULL;
  if (theirs != NULL)
    return share_compiled (theirs);
  TnCompiled *compiled = g_new0 (TnCompiled, 1);
  compiled->rows = rows;
  compiled->training = training;
  compiled->padded = rows;
  if (self->context != NULL)
    tn_program_split_graph (self, compiled, error);
  else
    compiled->built = training && self->n_joined > 0 ? joined_graph (self, rows, error)
                      : training                     ? tn_program_training_graph (&self->recipe, rows, error)
                                                     : tn_program_evaluation_graph (&self->recipe, rows, error);
  if (compiled->built != NULL)
    {
      g_autoptr (TnGraph) graph = tn_passes_run (compiled->built, tn_program_has_kernel, &self->target, NULL, NULL, error);
      compiled->plan = graph != NULL ? tn_plan_new (graph, &self->target, error) : NULL;
    }
  if (compiled->plan == NULL)
    {
      free_compiled (compiled);
      return NULL;
    }
  compiled->x = find_input (compiled->built, "x");
  compiled->labels = MAX (find_input (compiled->built, "labels"), find_input (compiled->built, "targets"));
  compiled->classes = find_input (compiled->built, "labels") >= 0;
  compiled->lr = find_input (compiled->built, "lr");
  compiled->step = find_input (compiled->built, "step");
  compiled->loss = find_output (tn_plan_graph (compiled->plan), "loss");
  compiled->grad_norm = find_output (tn_plan_graph (compiled->plan), "grad_norm");
  compiled->logits = find_output (tn_plan_graph (compiled->plan), "logits");
  return compiled;
}

/* Addresses of the state for the plan's parameters; memory for its values. */
static gboolean
attach (TnProgram *self, TnCompiled *compiled, GError **error)
{
  const TnGraph *graph = tn_plan_graph (compiled->plan);
  if (self->context != NULL && !tn_program_check_split (self, compiled, error))
    return FALSE;
  compiled->state = g_new0 (void *, tn_graph_n_parameters (graph) + 1);
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnStateEntry *entry = tn_program_find_state (self, tn_graph_parameter (graph, i)->node->name);
      g_assert (entry != NULL);
      compiled->state[i] = tn_tensor_data (entry->tensor);
    }
  size_t bytes = tn_plan_bytes (compiled->plan, tn_pool_n_threads (self->pool));
  if (bytes > self->memory_bytes)
    {
      void *memory = NULL;
      if (posix_memalign (&memory, 64, bytes) != 0)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for the values of a step with batch %" PRId64 " (%.1f MB): take a smaller train.batch."),
                       compiled->rows, (double) bytes / 1e6);
          return FALSE;
        }
      free (self->memory);
      self->memory = memory;
      self->memory_bytes = bytes;
      self->current = NULL; /* gradients of an earlier step are gone */
    }
  g_ptr_array_add (self->compiled, compiled);
  return TRUE;
}

TnCompiled *
tn_program_compiled (TnProgram *self, int64_t rows, gboolean training, GError **error)
{
  TnCompiled *compiled = find_compiled (self, rows, training);
  if (compiled != NULL)
    return compiled;
  compiled = compile (self, rows, training, error);
  if (compiled == NULL)
    return NULL;
  if (!attach (self, compiled, error))
    {
      free_compiled (compiled);
      return NULL;
    }
  return compiled;
}

/* ---- memory ---- */

static void
forecast_memory (const TnProgram *self, const TnCompiled *compiled, TnMemoryForecast *out)
{
  const TnGraph *graph = tn_plan_graph (compiled->plan);
  *out = (TnMemoryForecast){ 0 };
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *value = tn_graph_parameter (graph, i);
      size_t bytes = (size_t) tn_shape_count (&value->shape) * tn_dtype_size (value->dtype);
      const TnParameterInfo *info = tn_node_parameter_info (value->node);
      *(info->role == TN_ROLE_OPTIMIZER ? &out->optimizer : &out->parameters) += bytes;
    }
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    {
      TnNamedValue output = tn_graph_output (graph, i);
      if (g_str_has_prefix (output.name, "grad:"))
        out->gradients += (size_t) tn_shape_count (&output.value->shape) * tn_dtype_size (output.value->dtype);
    }
  size_t arena = tn_plan_arena_bytes (compiled->plan);
  out->activations = arena > out->gradients ? arena - out->gradients : 0;
  out->buffers = tn_plan_bytes (compiled->plan, tn_pool_n_threads (self->pool)) - arena;
  size_t replicas = (size_t) MAX (self->n_replicas, 1);
  for (size_t *kind = &out->parameters; kind < &out->total; kind++)
    *kind *= replicas;
  out->total = out->parameters + out->gradients + out->optimizer + out->activations + out->buffers;
}

/* What grows with the batch grows in proportion to it, but for what does not grow: a guess, which is measured and mended. Only asked where
 * a run is refused, as each look compiles. */
static int64_t
find_fitting_batch (TnProgram *self, const TnMemoryForecast *f, int64_t rows, size_t limit)
{
  size_t fixed = f->parameters + f->gradients + f->optimizer, per_batch = f->total - fixed;
  double guess = limit > fixed && per_batch > 0 ? (double) rows * (double) (limit - fixed) / (double) per_batch : 0;
  double most = (double) f->total;
  for (int i = 0; i < MAX_GUESSES && guess >= 1; i++)
    {
      TnMemoryForecast found;
      int64_t batch = (int64_t) guess;
      if (self->context != NULL && batch > self->context->mesh->n_ranks)
        batch -= batch % self->context->mesh->n_ranks;
      TnCompiled *compiled = compile (self, batch, TRUE, NULL);
      if (compiled == NULL)
        return 0;
      forecast_memory (self, compiled, &found);
      free_compiled (compiled);
      if (found.total <= limit)
        return batch;
      double slope = (most - (double) found.total) / (double) (rows - batch);
      double step = slope > 0 ? ceil ((double) (found.total - limit) / slope) : guess / 2;
      guess = MIN (guess - MAX (step, 1), guess - 1);
    }
  return 0;
}

static gboolean
check_memory (TnProgram *self, TnSettings *settings, int64_t rows, GError **error)
{
  size_t limit = tn_memory_allowed (tn_settings_get_int (settings, "device.memory_limit_mb"));
  const TnMemoryForecast *f = &self->forecast;
  if (f->total <= limit)
    return TRUE;
  int64_t fits = find_fitting_batch (self, f, rows, limit);
  g_autofree char *advice = fits >= 1 ? g_strdup_printf (_ ("train.batch = %" PRId64 " would fit"), fits)
                                      : g_strdup (_ ("no train.batch fits, not even 1"));
  g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("Training with batch %" PRId64 " needs %.1f MB, %.1f MB are allowed: %s."), rows,
               (double) f->total / 1e6, (double) limit / 1e6, advice);
  return FALSE;
}

/* ---- making one ---- */

/* A pattern that freezes nothing is a mistake that would cost a run. */
static gboolean
check_freeze (const TnProgram *self, const char *patterns, GError **error)
{
  g_auto (GStrv) list = g_strsplit_set (patterns, ", ", -1);
  for (char **pattern = list; *pattern != NULL; pattern++)
    {
      gboolean found = **pattern == '\0';
      g_autoptr (GString) names = g_string_new (NULL);
      for (guint i = 0; i < self->state->len && !found; i++)
        {
          const TnStateEntry *entry = tn_program_state (self, (int) i);
          found = entry->role == TN_ROLE_TRAINED && g_pattern_match_simple (*pattern, entry->name);
          if (entry->role == TN_ROLE_TRAINED && names->len < 300)
            g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", entry->name);
        }
      if (!found)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("train.freeze: “%s” matches no parameter. There are: %s."), *pattern, names->str);
          return FALSE;
        }
    }
  return TRUE;
}

/* Everything before the first compilation. */
static gboolean
start_target (TnProgram *self, TnSettings *settings, GError **error)
{
  int threads = (int) tn_settings_get_int (settings, "device.threads");
  TnIsa isa;
  if (!tn_isa_parse (tn_settings_get_string (settings, "device.isa"), &isa, error)
      || !tn_cpu_target_init (&self->target, isa, tn_settings_get_bool (settings, "device.strict"), error)
      || (self->pool = tn_pool_new (threads > 0 ? threads : tn_cpu_count_allowed (), error)) == NULL)
    return FALSE;
  self->mode = tn_settings_enum_is (settings, "device.mode", "pynative") ? TN_MODE_PYNATIVE : TN_MODE_GRAPH;
  self->seed = (uint64_t) tn_settings_get_int (settings, "train.seed");
  tn_model_set_freeze (self->recipe.model, tn_settings_get_string (settings, "train.freeze"));
  if (tn_settings_is_set (settings, "init.preset") && !tn_model_set_init (self->recipe.model, tn_settings_get_string (settings, "init.preset"), error))
    return FALSE;
  return TRUE;
}

static gboolean
start (TnProgram *self, TnSettings *settings, GError **error)
{
  int64_t rows = tn_settings_get_int (settings, "train.batch");
  TnCompiled *compiled = start_target (self, settings, error) ? compile (self, rows, TRUE, error) : NULL;
  if (compiled == NULL)
    return FALSE;
  forecast_memory (self, compiled, &self->forecast);
  if (!check_memory (self, settings, rows, error) || !tn_program_add_state (self, compiled, error) || !attach (self, compiled, error))
    {
      free_compiled (compiled);
      return FALSE;
    }
  if (!check_freeze (self, tn_settings_get_string (settings, "train.freeze"), error))
    return FALSE;
  const char *weights = tn_settings_get_string (settings, "init.from");
  self->weights = weights != NULL && *weights != '\0' ? g_strdup (weights) : NULL;
  return weights == NULL || *weights == '\0' || tn_program_load_weights (self, weights, &self->weights_report, error);
}

static TnProgram *
program_new (void)
{
  TnProgram *self = g_new0 (TnProgram, 1);
  self->state = g_array_new (FALSE, TRUE, sizeof (TnStateEntry));
  g_array_set_clear_func (self->state, tn_program_clear_state_entry);
  self->state_by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->compiled = g_ptr_array_new_with_free_func (free_compiled);
  self->eager_cache = tn_eager_cache_new ();
  return self;
}

TnProgram *
tn_program_new_replica (TnProgram *origin, int place, GError **error)
{
  g_autoptr (TnProgram) self = program_new ();
  self->origin = origin;
  self->n_joined = origin->n_joined;
  self->context = origin->context;
  self->place = place;
  self->recipe = origin->recipe;
  tn_model_ref (self->recipe.model);
  self->target = origin->target;
  self->mode = origin->mode;
  self->seed = origin->seed;
  self->pool = tn_pool_new (tn_pool_n_threads (origin->pool), error);
  if (self->pool == NULL)
    return NULL;
  if (self->context != NULL) /* slices of its own, made here */
    return tn_program_add_state (self, origin->compiled->pdata[0], error)
                   && (origin->weights == NULL || tn_program_load_weights (self, origin->weights, NULL, error))
               ? g_steal_pointer (&self)
               : NULL;
  for (guint i = 0; i < origin->state->len; i++)
    {
      TnStateEntry entry = *tn_program_state (origin, (int) i);
      entry.tensor = tn_tensor_cast (entry.tensor, entry.tensor->dtype, error);
      if (entry.tensor == NULL)
        return NULL;
      entry.name = g_strdup (entry.name);
      g_array_append_val (self->state, entry);
      g_hash_table_insert (self->state_by_name, (gpointer) entry.name, GINT_TO_POINTER (self->state->len));
    }
  return g_steal_pointer (&self);
}

/* Not compiled yet. */
static TnProgram *
new_uncompiled (TnModel *model, TnSettings *settings, const TnRanksCut *cut, GError **error)
{
  g_autoptr (TnProgram) self = program_new ();
  self->n_replicas = cut->n_blocks > 1 ? cut->n_threads : 1;
  self->n_joined = cut->joined && !cut->split ? cut->n_ranks : 0;
  if (cut->split && (self->context = tn_parallel_context_new (settings, cut->n_ranks, error)) == NULL)
    {
      self->recipe.model = NULL;
      return NULL;
    }
  self->is_recorded = cut->split && !tn_settings_enum_is (settings, "parallel.mode", "data_parallel");
  if (!tn_program_recipe_init (&self->recipe, model, settings, error))
    {
      self->recipe.model = NULL;
      return NULL;
    }
  tn_model_ref (model);
  return g_steal_pointer (&self);
}

static TnProgram *
new_with (TnModel *model, TnSettings *settings, const TnRanksCut *cut, GError **error)
{
  g_autoptr (TnProgram) self = new_uncompiled (model, settings, cut, error);
  return self != NULL && start (self, settings, error) ? g_steal_pointer (&self) : NULL;
}

/* Each rank has a flat copy of its gradients, and one for every doubling of its blocks. */
static void
add_exchange (const TnRanksCut *cut, TnMemoryForecast *forecast)
{
  size_t copies = cut->n_blocks > 1 && !cut->joined ? 1 : 0;
  for (int blocks = cut->n_blocks / cut->n_ranks; blocks > 1; blocks /= 2)
    copies++;
  forecast->buffers += forecast->gradients * copies;
  forecast->total += forecast->gradients * copies;
}

gboolean
tn_program_measure (TnModel *model, TnSettings *settings, size_t beside, TnProgramMeasure *out, GError **error)
{
  TnRanksCut cut;
  if (!tn_ranks_cut (settings, &cut, error))
    return FALSE;
  g_autoptr (TnSettings) own = cut.n_blocks > 1 ? tn_ranks_own_settings (settings, &cut, error) : tn_settings_copy (settings);
  g_autoptr (TnProgram) self = own != NULL ? new_uncompiled (model, own, &cut, error) : NULL;
  TnCompiled *compiled = NULL;
  int64_t rows = own != NULL ? tn_settings_get_int (own, "train.batch") : 0;
  if (self != NULL && start_target (self, own, error))
    compiled = compile (self, rows, TRUE, error);
  if (compiled == NULL)
    return FALSE;
  *out = (TnProgramMeasure){ .allowed = tn_memory_allowed (tn_settings_get_int (settings, "device.memory_limit_mb")) };
  forecast_memory (self, compiled, &out->forecast);
  add_exchange (&cut, &out->forecast);
  size_t room = out->allowed > beside ? out->allowed - beside : 0;
  out->largest_batch = out->forecast.total <= room ? rows : find_fitting_batch (self, &out->forecast, rows, room);
  out->largest_batch *= cut.split ? 1 : MAX (cut.n_blocks, 1);
  free_compiled (compiled);
  return TRUE;
}

TnProgram *
tn_program_new (TnModel *model, TnSettings *settings, GError **error)
{
  return new_with (model, settings, &(TnRanksCut){ .n_ranks = 1, .n_threads = 1, .n_blocks = 1 }, error);
}

TnProgram *
tn_program_new_ranks (TnModel *model, TnSettings *settings, GError **error)
{
  TnRanksCut cut;
  if (!tn_ranks_cut (settings, &cut, error))
    return NULL;
  if (cut.n_blocks == 1)
    return tn_program_new (model, settings, error);
  g_autoptr (TnSettings) own = tn_ranks_own_settings (settings, &cut, error);
  g_autoptr (TnProgram) self = own != NULL ? new_with (model, own, &cut, error) : NULL;
  if (self == NULL)
    return NULL;
  add_exchange (&cut, &self->forecast);
  self->ranks = tn_ranks_new (self, settings, &cut, error);
  return self->ranks != NULL ? g_steal_pointer (&self) : NULL;
}

void
tn_program_free (TnProgram *self)
{
  if (self == NULL)
    return;
  tn_ranks_free (self->ranks);
  tn_eager_free (self->eager);
  tn_eager_cache_free (self->eager_cache);
  g_ptr_array_unref (self->compiled);
  g_hash_table_unref (self->state_by_name);
  g_array_unref (self->state);
  tn_pool_free (self->pool);
  free (self->memory);
  tn_model_unref (self->recipe.model);
  g_free (self->weights_report);
  g_free (self->weights);
  for (gsize k = 0; k < G_N_ELEMENTS (self->parts); k++)
    g_aligned_free (self->parts[k]);
  if (self->origin == NULL)
    tn_parallel_context_free (self->context);
  g_free (self);
}

void
tn_program_forecast (const TnProgram *self, TnMemoryForecast *forecast)
{
  *forecast = self->forecast;
}

gboolean
tn_program_prepare (TnProgram *self, int64_t batch, GError **error)
{
  return self->ranks != NULL ? tn_ranks_prepare (self->ranks, batch, error) : tn_program_compiled (self, batch, TRUE, error) != NULL;
}

/* ---- steps ---- */

TnPlanRun
tn_program_run (TnProgram *self, const TnCompiled *compiled, int64_t step, int64_t first_sample)
{
  return (TnPlanRun){ .pool = self->pool, .memory = self->memory, .inputs = self->inputs, .state = compiled->state, .seed = self->seed,
                      .step = (uint64_t) step, .first_sample = first_sample, .hook = self->hook,
                      .collective = self->collectives != NULL ? tn_collectives_run : NULL, .collective_data = self->collectives };
}

void
tn_program_set_inputs (TnProgram *self, const TnCompiled *compiled, const TnProgramBatch *batch)
{
  self->first_row = 0;
  if (compiled->sharded != NULL)
    tn_program_set_split_inputs (self, compiled, batch);
  else
    self->inputs[compiled->x] = batch->x;
  if (compiled->sharded == NULL && compiled->labels >= 0)
    self->inputs[compiled->labels] = compiled->classes ? (const void *) batch->labels : (const void *) batch->targets;
  if (compiled->lr >= 0)
    self->inputs[compiled->lr] = &self->lr;
  if (compiled->step >= 0)
    self->inputs[compiled->step] = &self->step_number;
}

gboolean
tn_program_check_batch (const TnCompiled *compiled, const TnProgramBatch *batch, GError **error)
{
  if (batch->x != NULL && (compiled->classes ? batch->labels != NULL : batch->targets != NULL))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
               compiled->classes ? _ ("This loss needs classes as labels, the batch has none: choose train.loss = mse or l1 for target values.")
                                 : _ ("This loss needs target values, the batch has none: choose train.loss = softmax_cross_entropy for classes."));
  return FALSE;
}

TnEager *
tn_program_new_eager (TnProgram *self, const TnCompiled *compiled, gboolean copy_state, int64_t step, int64_t first_sample)
{
  TnGraph *graph = compiled->built;
  TnEager *eager = tn_eager_new (graph, &self->target, self->pool, self->eager_cache);
  tn_eager_set_random (eager, self->seed, (uint64_t) step, first_sample);
  for (int i = 0; i < tn_graph_n_inputs (graph); i++)
    {
      const TnValue *value = tn_graph_input (graph, i);
      g_autoptr (TnTensor) tensor = tn_tensor_new_external (value->dtype, value->shape, (void *) self->inputs[i], NULL, NULL);
      tn_eager_bind (eager, value, tensor);
    }
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *value = tn_graph_parameter (graph, i);
      TnTensor *own = tn_program_find_state (self, value->node->name)->tensor;
      g_autoptr (TnTensor) tensor = copy_state ? tn_tensor_cast (own, own->dtype, NULL) : tn_tensor_ref (own);
      tn_eager_bind (eager, value, tensor);
    }
  return eager;
}

static gboolean
stop_before_optimizer (const TnNode *node, gpointer data)
{
  return node == NULL || node->phase != TN_PHASE_OPTIMIZER;
}

const void *
tn_program_output (const TnCompiled *compiled, const TnPlanRun *run, const char *name)
{
  int place = find_output (tn_plan_graph (compiled->plan), name);
  return place >= 0 ? tn_plan_output (compiled->plan, run, place) : NULL;
}

static double
eager_output (TnProgram *self, const char *name)
{
  const TnValue *value = tn_graph_find_output (self->current->built, name);
  TnTensor *tensor = value != NULL ? tn_eager_value (self->eager, value, NULL) : NULL;
  return tensor != NULL ? tn_tensor_get (tensor, 0) : 0;
}

gboolean
tn_program_forward_backward_alone (TnProgram *self, const TnProgramBatch *batch, int64_t step, TnStepResult *result, GError **error)
{
  TnCompiled *compiled = tn_program_compiled (self, batch->n, TRUE, error);
  if (compiled == NULL || !tn_program_check_batch (compiled, batch, error))
    return FALSE;
  tn_pool_enter_worker ();
  self->current = compiled;
  tn_program_set_inputs (self, compiled, batch);
  g_clear_pointer (&self->eager, tn_eager_free);
  if (self->mode == TN_MODE_PYNATIVE)
    {
      self->eager = tn_program_new_eager (self, compiled, FALSE, step, batch->first_sample);
      tn_eager_set_breakpoint (self->eager, stop_before_optimizer, NULL);
      if (!tn_eager_run (self->eager, error))
        return FALSE;
      *result = (TnStepResult){ eager_output (self, "loss"), eager_output (self, "grad_norm") };
      return TRUE;
    }
  TnPlanRun run = tn_program_run (self, compiled, step, batch->first_sample + self->first_row);
  if (!tn_plan_run (compiled->plan, &run, 0, tn_plan_optimizer_wave (compiled->plan), error))
    return FALSE;
  const float *norm = compiled->grad_norm >= 0 ? tn_plan_output (compiled->plan, &run, compiled->grad_norm) : NULL;
  *result = (TnStepResult){ *(const float *) tn_plan_output (compiled->plan, &run, compiled->loss), norm != NULL ? *norm : 0 };
  return TRUE;
}

gboolean
tn_program_update_alone (TnProgram *self, double lr, int64_t step, GError **error)
{
  if (self->current == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_STATE, "tn_program_update without gradients of this step");
      return FALSE;
    }
  tn_pool_enter_worker ();
  self->lr = (float) lr;
  self->step_number = step + 1;
  if (self->eager != NULL)
    {
      tn_eager_set_breakpoint (self->eager, NULL, NULL);
      return tn_eager_run (self->eager, error);
    }
  TnPlanRun run = tn_program_run (self, self->current, step, 0);
  return tn_plan_run (self->current->plan, &run, tn_plan_optimizer_wave (self->current->plan), tn_plan_n_waves (self->current->plan), error);
}

int64_t
tn_program_count_correct (const float *logits, int64_t width, const int32_t *labels, int64_t n)
{
  int64_t correct = 0;
  for (int64_t i = 0; i < n; i++, logits += width)
    {
      int64_t best = 0;
      for (int64_t k = 1; k < width; k++)
        if (logits[k] > logits[best])
          best = k;
      correct += best == labels[i];
    }
  return correct;
}

gboolean
tn_program_evaluate_alone (TnProgram *self, const TnProgramBatch *batch, TnEvalResult *result, float *outputs, GError **error)
{
  TnCompiled *compiled = tn_program_compiled (self, batch->n, FALSE, error);
  if (compiled == NULL || !tn_program_check_batch (compiled, batch, error))
    return FALSE;
  tn_pool_enter_worker ();
  self->current = NULL;
  tn_program_set_inputs (self, compiled, batch);
  const float *logits, *loss;
  g_autoptr (TnEager) eager = NULL;
  const TnValue *loss_value = tn_graph_find_output (compiled->built, "loss"), *logits_value = tn_graph_find_output (compiled->built, "logits");
  TnPlanRun run = tn_program_run (self, compiled, 0, batch->first_sample);
  if (self->mode == TN_MODE_PYNATIVE)
    {
      eager = tn_program_new_eager (self, compiled, FALSE, 0, batch->first_sample);
      if (!tn_eager_run (eager, error))
        return FALSE;
      logits = tn_tensor_data (tn_eager_value (eager, logits_value, NULL));
      loss = tn_tensor_data (tn_eager_value (eager, loss_value, NULL));
    }
  else
    {
      if (!tn_plan_run (compiled->plan, &run, 0, tn_plan_n_waves (compiled->plan), error))
        return FALSE;
      logits = tn_plan_output (compiled->plan, &run, compiled->logits);
      loss = tn_plan_output (compiled->plan, &run, compiled->loss);
    }
  int64_t width = tn_shape_count (&logits_value->shape) / MAX (batch->n, 1), n_losses = tn_shape_count (&loss_value->shape);
  *result = (TnEvalResult){ .n = batch->n };
  for (int64_t i = 0; i < n_losses; i++)
    result->loss_sum += (double) loss[i] * (double) batch->n / (double) n_losses;
  if (batch->labels != NULL)
    result->correct = tn_program_count_correct (logits, width, batch->labels, batch->n);
  if (outputs != NULL)
    memcpy (outputs, logits, sizeof (float) * (size_t) (width * batch->n));
  return TRUE;
}

/* ---- alone or with others ---- */

gboolean
tn_program_forward_backward (TnProgram *self, const TnProgramBatch *batch, int64_t step, TnStepResult *result, GError **error)
{
  return self->ranks != NULL ? tn_ranks_forward_backward (self->ranks, batch, step, result, error)
                             : tn_program_forward_backward_alone (self, batch, step, result, error);
}

gboolean
tn_program_update (TnProgram *self, double lr, int64_t step, GError **error)
{
  return self->ranks != NULL ? tn_ranks_update (self->ranks, lr, step, error) : tn_program_update_alone (self, lr, step, error);
}

gboolean
tn_program_evaluate (TnProgram *self, const TnProgramBatch *batch, TnEvalResult *result, float *outputs, GError **error)
{
  if (tn_program_is_split (self))
    return tn_ranks_evaluate (self->ranks, batch, result, error) && tn_program_collect_evaluation (self, batch, result, outputs, error);
  return self->ranks != NULL && outputs == NULL ? tn_ranks_evaluate (self->ranks, batch, result, error)
                                                : tn_program_evaluate_alone (self, batch, result, outputs, error);
}

gboolean
tn_program_state_changed (TnProgram *self, GError **error)
{
  return self->ranks == NULL || tn_ranks_share_state (self->ranks, error);
}

gboolean
tn_program_serve (TnProgram *self, GError **error)
{
  if (self->ranks != NULL)
    return tn_ranks_serve (self->ranks, error);
  g_set_error_literal (error, TN_ERROR, TN_ERROR_STATE, _ ("This program shares its steps with nobody."));
  return FALSE;
}
