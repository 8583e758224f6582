/* SPDX-License-Identifier: Apache-2.0 */
#include "train/program.h"
#include "base/error.h"
#include "device/cpu/eager.h"
#include "device/cpu/plan.h"
#include "formats/safetensors.h"
#include "ir/passes.h"
#include "nn/initializer.h"
#include "train/graph-save.h"
#include "train/memory-limit.h"
#include "train/program-graph.h"
#include <cblas.h>
#include <dnnl.h>
#include <math.h>
#include <string.h>

/* A graph made ready for one batch size. */
typedef struct
{
  int64_t rows;
  gboolean training;
  TnGraph *built; /* as the model made it: what PYNATIVE runs */
  TnPlan *plan;   /* of the graph that the passes made of it */
  void **state;   /* addresses by graph parameter */
  int n_inputs;
  int x, labels, lr, step; /* input places; -1: none */
} Compiled;

struct _TnProgram
{
  TnProgramRecipe recipe;
  uint64_t seed;
  TnCpuTarget target;
  TnPool *pool;
  TnMode mode;
  GArray *state; /* TnStateEntry */
  GHashTable *state_by_name; /* name -> index + 1 */
  GPtrArray *compiled;
  char *memory; /* one arena for all plans, as large as the largest needs */
  size_t memory_bytes;
  TnMemoryForecast forecast;
  const TnSpanHook *hook;
  char *weights_report; /* of init.from; NULL: not set */

  /* the step at hand: between forward_backward and update */
  Compiled *current;
  const void *inputs[4];
  float lr;
  int64_t step_number; /* from 1, as optimizers count */
  TnEager *eager;
  TnEagerCache *eager_cache;
};

/* ---- compiling ---- */

static void
free_compiled (gpointer data)
{
  Compiled *compiled = data;
  tn_graph_unref (compiled->built);
  tn_plan_unref (compiled->plan);
  g_free (compiled->state);
  g_free (compiled);
}

static gboolean
has_kernel (const TnNode *fused, gpointer data)
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

static Compiled *
compile (TnProgram *self, int64_t rows, gboolean training, GError **error)
{
  Compiled *compiled = g_new0 (Compiled, 1);
  compiled->rows = rows;
  compiled->training = training;
  compiled->built = training ? tn_program_training_graph (&self->recipe, rows, error) : tn_program_evaluation_graph (&self->recipe, rows, error);
  if (compiled->built != NULL)
    {
      g_autoptr (TnGraph) graph = tn_passes_run (compiled->built, has_kernel, &self->target, NULL, NULL, error);
      compiled->plan = graph != NULL ? tn_plan_new (graph, &self->target, error) : NULL;
    }
  if (compiled->plan == NULL)
    {
      free_compiled (compiled);
      return NULL;
    }
  compiled->x = find_input (compiled->built, "x");
  compiled->labels = MAX (find_input (compiled->built, "labels"), find_input (compiled->built, "targets"));
  compiled->lr = find_input (compiled->built, "lr");
  compiled->step = find_input (compiled->built, "step");
  return compiled;
}

/* Addresses of the state for the plan's parameters; memory for its values. */
static gboolean
attach (TnProgram *self, Compiled *compiled, GError **error)
{
  const TnGraph *graph = tn_plan_graph (compiled->plan);
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
          g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for the values of a step with batch %" G_GINT64_FORMAT " (%.1f MB): take a smaller train.batch."),
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

static Compiled *
find_compiled (const TnProgram *self, int64_t rows, gboolean training)
{
  for (guint i = 0; i < self->compiled->len; i++)
    {
      Compiled *compiled = self->compiled->pdata[i];
      if (compiled->rows == rows && compiled->training == training)
        return compiled;
    }
  return NULL;
}

static Compiled *
get_compiled (TnProgram *self, int64_t rows, gboolean training, GError **error)
{
  Compiled *compiled = find_compiled (self, rows, training);
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
forecast_memory (const TnProgram *self, const Compiled *compiled, TnMemoryForecast *out)
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
  out->total = out->parameters + out->gradients + out->optimizer + out->activations + out->buffers;
}

static gboolean
check_memory (const TnProgram *self, TnSettings *settings, int64_t rows, GError **error)
{
  size_t limit = tn_memory_allowed (tn_settings_get_int (settings, "device.memory_limit_mb"));
  const TnMemoryForecast *f = &self->forecast;
  if (f->total <= limit)
    return TRUE;
  size_t fixed = f->parameters + f->gradients + f->optimizer, per_batch = f->total - fixed;
  int64_t fits = limit > fixed && per_batch > 0 ? (int64_t) ((double) rows * (double) (limit - fixed) / (double) per_batch) : 0;
  g_autofree char *advice = fits >= 1 ? g_strdup_printf (_ ("train.batch = %" G_GINT64_FORMAT " would fit"), fits)
                                      : g_strdup (_ ("no batch fits: the parameters alone are too many"));
  g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("Training with batch %" G_GINT64_FORMAT " needs %.1f MB, %.1f MB are allowed: %s."), rows,
               (double) f->total / 1e6, (double) limit / 1e6, advice);
  return FALSE;
}

/* ---- state ---- */

static gboolean
add_state (TnProgram *self, const TnGraph *graph, GError **error)
{
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *value = tn_graph_parameter (graph, i);
      if (g_hash_table_contains (self->state_by_name, value->node->name))
        continue;
      const TnParameterInfo *info = tn_node_parameter_info (value->node);
      TnTensor *tensor = tn_tensor_new (value->dtype, value->shape, error);
      if (tensor == NULL)
        return FALSE;
      TnStateEntry entry = { g_strdup (value->node->name), info->role, info->frozen, tensor };
      g_array_append_val (self->state, entry);
      g_hash_table_insert (self->state_by_name, (gpointer) entry.name, GINT_TO_POINTER (self->state->len));
      if (info->init != NULL && !tn_initializer_fill (info->init, entry.name, self->seed, tensor, error))
        return FALSE;
    }
  return TRUE;
}

static void
clear_state (gpointer data)
{
  TnStateEntry *entry = data;
  g_free ((char *) entry->name);
  tn_tensor_unref (entry->tensor);
}

int
tn_program_n_state (const TnProgram *self)
{
  return (int) self->state->len;
}

const TnStateEntry *
tn_program_state (const TnProgram *self, int i)
{
  return &g_array_index (self->state, TnStateEntry, i);
}

const TnStateEntry *
tn_program_find_state (const TnProgram *self, const char *name)
{
  int index = GPOINTER_TO_INT (g_hash_table_lookup (self->state_by_name, name));
  return index > 0 ? tn_program_state (self, index - 1) : NULL;
}

double
tn_program_parameter_norm (const TnProgram *self)
{
  double total = 0;
  for (guint i = 0; i < self->state->len; i++)
    {
      const TnStateEntry *entry = tn_program_state (self, (int) i);
      const float *x = tn_tensor_data (entry->tensor);
      if (entry->role == TN_ROLE_TRAINED && entry->tensor->dtype == TN_DTYPE_F32)
        for (int64_t k = 0; k < tn_tensor_count (entry->tensor); k++)
          total += (double) x[k] * (double) x[k];
    }
  return sqrt (total);
}

gboolean
tn_program_load_weights (TnProgram *self, const char *path, char **report, GError **error)
{
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, error);
  if (file == NULL)
    return FALSE;
  g_autoptr (GString) text = g_string_new (NULL);
  int n_matched = 0;
  for (guint i = 0; i < self->state->len; i++)
    {
      const TnStateEntry *entry = tn_program_state (self, (int) i);
      if (entry->role == TN_ROLE_OPTIMIZER)
        continue;
      const TnSafetensorsEntry *stored = tn_safetensors_find (file, entry->name);
      if (stored == NULL || !tn_shape_equal (&stored->shape, &entry->tensor->shape))
        {
          g_autofree char *want = tn_shape_to_string (&entry->tensor->shape);
          g_autofree char *have = stored != NULL ? tn_shape_to_string (&stored->shape) : g_strdup (_ ("not in the file"));
          g_string_append_printf (text, _ ("kept its own start: %s %s (%s)\n"), entry->name, want, have);
          continue;
        }
      g_autoptr (TnTensor) tensor = tn_safetensors_load (file, entry->name, error);
      if (tensor == NULL || !tn_tensor_copy (entry->tensor, tensor, error))
        return FALSE;
      n_matched++;
    }
  for (guint i = 0; i < tn_safetensors_n (file); i++)
    if (tn_program_find_state (self, tn_safetensors_entry (file, i)->name) == NULL)
      g_string_append_printf (text, _ ("not used: %s\n"), tn_safetensors_entry (file, i)->name);
  g_string_prepend (text, "\n");
  g_autofree char *head = g_strdup_printf (_ ("%d tensors taken from %s"), n_matched, path);
  g_string_prepend (text, head);
  if (n_matched == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("No tensor of %s has the name and shape of a parameter of this model.\n%s"), path, text->str);
      return FALSE;
    }
  if (report != NULL)
    *report = g_strdup (text->str);
  return TRUE;
}

/* ---- making one ---- */

static gboolean
start (TnProgram *self, TnSettings *settings, GError **error)
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

  int64_t rows = tn_settings_get_int (settings, "train.batch");
  Compiled *compiled = compile (self, rows, TRUE, error);
  if (compiled == NULL)
    return FALSE;
  forecast_memory (self, compiled, &self->forecast);
  if (!check_memory (self, settings, rows, error) || !add_state (self, compiled->built, error) || !attach (self, compiled, error))
    {
      free_compiled (compiled);
      return FALSE;
    }
  const char *weights = tn_settings_get_string (settings, "init.from");
  return weights == NULL || *weights == '\0' || tn_program_load_weights (self, weights, &self->weights_report, error);
}

TnProgram *
tn_program_new (TnModel *model, TnSettings *settings, GError **error)
{
  g_autoptr (TnProgram) self = g_new0 (TnProgram, 1);
  self->state = g_array_new (FALSE, TRUE, sizeof (TnStateEntry));
  g_array_set_clear_func (self->state, clear_state);
  self->state_by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->compiled = g_ptr_array_new_with_free_func (free_compiled);
  self->eager_cache = tn_eager_cache_new ();
  if (!tn_program_recipe_init (&self->recipe, model, settings, error))
    {
      self->recipe.model = NULL;
      return NULL;
    }
  tn_model_ref (model);
  return start (self, settings, error) ? g_steal_pointer (&self) : NULL;
}

void
tn_program_free (TnProgram *self)
{
  if (self == NULL)
    return;
  tn_eager_free (self->eager);
  tn_eager_cache_free (self->eager_cache);
  g_ptr_array_unref (self->compiled);
  g_hash_table_unref (self->state_by_name);
  g_array_unref (self->state);
  tn_pool_free (self->pool);
  free (self->memory);
  tn_model_unref (self->recipe.model);
  g_free (self->weights_report);
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
  return get_compiled (self, batch, TRUE, error) != NULL;
}

/* ---- steps ---- */

static TnPlanRun
make_run (TnProgram *self, const Compiled *compiled, int64_t step, int64_t first_sample)
{
  return (TnPlanRun){ .pool = self->pool, .memory = self->memory, .inputs = self->inputs, .state = compiled->state, .seed = self->seed,
                      .step = (uint64_t) step, .first_sample = first_sample, .hook = self->hook };
}

static void
set_inputs (TnProgram *self, const Compiled *compiled, const TnProgramBatch *batch)
{
  self->inputs[compiled->x] = batch->x;
  if (compiled->labels >= 0)
    self->inputs[compiled->labels] = batch->labels != NULL ? (const void *) batch->labels : (const void *) batch->targets;
  if (compiled->lr >= 0)
    self->inputs[compiled->lr] = &self->lr;
  if (compiled->step >= 0)
    self->inputs[compiled->step] = &self->step_number;
}

static gboolean
check_batch (const Compiled *compiled, const TnProgramBatch *batch, GError **error)
{
  if (batch->x != NULL && (compiled->labels < 0 || batch->labels != NULL || batch->targets != NULL))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("The batch has no labels, which this loss needs."));
  return FALSE;
}

static TnEager *
new_eager (TnProgram *self, const Compiled *compiled, gboolean copy_state, int64_t step, int64_t first_sample)
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

static const void *
plan_output (const Compiled *compiled, const TnPlanRun *run, const char *name)
{
  const TnGraph *graph = tn_plan_graph (compiled->plan);
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    if (strcmp (tn_graph_output (graph, i).name, name) == 0)
      return tn_plan_output (compiled->plan, run, i);
  return NULL;
}

static double
eager_output (TnProgram *self, const char *name)
{
  const TnValue *value = tn_graph_find_output (self->current->built, name);
  TnTensor *tensor = value != NULL ? tn_eager_value (self->eager, value, NULL) : NULL;
  return tensor != NULL ? tn_tensor_get (tensor, 0) : 0;
}

gboolean
tn_program_forward_backward (TnProgram *self, const TnProgramBatch *batch, int64_t step, TnStepResult *result, GError **error)
{
  Compiled *compiled = get_compiled (self, batch->n, TRUE, error);
  if (compiled == NULL || !check_batch (compiled, batch, error))
    return FALSE;
  tn_pool_enter_worker ();
  self->current = compiled;
  set_inputs (self, compiled, batch);
  g_clear_pointer (&self->eager, tn_eager_free);
  if (self->mode == TN_MODE_PYNATIVE)
    {
      self->eager = new_eager (self, compiled, FALSE, step, batch->first_sample);
      tn_eager_set_breakpoint (self->eager, stop_before_optimizer, NULL);
      if (!tn_eager_run (self->eager, error))
        return FALSE;
      *result = (TnStepResult){ eager_output (self, "loss"), eager_output (self, "grad_norm") };
      return TRUE;
    }
  TnPlanRun run = make_run (self, compiled, step, batch->first_sample);
  if (!tn_plan_run (compiled->plan, &run, 0, tn_plan_optimizer_wave (compiled->plan), error))
    return FALSE;
  const float *norm = plan_output (compiled, &run, "grad_norm");
  *result = (TnStepResult){ *(const float *) plan_output (compiled, &run, "loss"), norm != NULL ? *norm : 0 };
  return TRUE;
}

gboolean
tn_program_update (TnProgram *self, double lr, int64_t step, GError **error)
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
  TnPlanRun run = make_run (self, self->current, step, 0);
  return tn_plan_run (self->current->plan, &run, tn_plan_optimizer_wave (self->current->plan), tn_plan_n_waves (self->current->plan), error);
}

static int64_t
count_correct (const float *logits, int64_t width, const int32_t *labels, int64_t n)
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
tn_program_evaluate (TnProgram *self, const TnProgramBatch *batch, TnEvalResult *result, float *outputs, GError **error)
{
  Compiled *compiled = get_compiled (self, batch->n, FALSE, error);
  if (compiled == NULL || !check_batch (compiled, batch, error))
    return FALSE;
  tn_pool_enter_worker ();
  self->current = NULL;
  set_inputs (self, compiled, batch);
  const float *logits, *loss;
  g_autoptr (TnEager) eager = NULL;
  const TnValue *loss_value = tn_graph_find_output (compiled->built, "loss"), *logits_value = tn_graph_find_output (compiled->built, "logits");
  TnPlanRun run = make_run (self, compiled, 0, batch->first_sample);
  if (self->mode == TN_MODE_PYNATIVE)
    {
      eager = new_eager (self, compiled, FALSE, 0, batch->first_sample);
      if (!tn_eager_run (eager, error))
        return FALSE;
      logits = tn_tensor_data (tn_eager_value (eager, logits_value, NULL));
      loss = tn_tensor_data (tn_eager_value (eager, loss_value, NULL));
    }
  else
    {
      if (!tn_plan_run (compiled->plan, &run, 0, tn_plan_n_waves (compiled->plan), error))
        return FALSE;
      logits = plan_output (compiled, &run, "logits");
      loss = plan_output (compiled, &run, "loss");
    }
  int64_t width = tn_shape_count (&logits_value->shape) / MAX (batch->n, 1), n_losses = tn_shape_count (&loss_value->shape);
  *result = (TnEvalResult){ .n = batch->n };
  for (int64_t i = 0; i < n_losses; i++)
    result->loss_sum += (double) loss[i] * (double) batch->n / (double) n_losses;
  if (batch->labels != NULL)
    result->correct = count_correct (logits, width, batch->labels, batch->n);
  if (outputs != NULL)
    memcpy (outputs, logits, sizeof (float) * (size_t) (width * batch->n));
  return TRUE;
}

/* ---- looking inside ---- */

TnTensor *
tn_program_gradient (TnProgram *self, const char *parameter, GError **error)
{
  g_autofree char *name = g_strconcat ("grad:", parameter, NULL);
  const TnValue *value = self->current != NULL ? tn_graph_find_output (self->current->built, name) : NULL;
  if (value == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no gradient of “%s”: it is frozen, not a parameter, or no step was taken."), parameter);
      return NULL;
    }
  if (self->eager != NULL)
    {
      TnTensor *tensor = tn_eager_value (self->eager, value, error);
      return tensor != NULL ? tn_tensor_cast (tensor, tensor->dtype, error) : NULL;
    }
  TnPlanRun run = make_run (self, self->current, 0, 0);
  return tn_tensor_new_from (value->dtype, value->shape, plan_output (self->current, &run, name));
}

static gboolean
is_finite_tensor (const TnTensor *tensor)
{
  if (!tn_dtype_is_float (tensor->dtype))
    return TRUE;
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    if (!isfinite (tn_tensor_get (tensor, i)))
      return FALSE;
  return TRUE;
}

char *
tn_program_find_nonfinite (TnProgram *self, const TnProgramBatch *batch, int64_t step)
{
  Compiled *compiled = get_compiled (self, batch->n, TRUE, NULL);
  if (compiled == NULL)
    return NULL;
  set_inputs (self, compiled, batch);
  g_autoptr (TnEager) eager = new_eager (self, compiled, TRUE, step, batch->first_sample);
  for (int id = 0; id < tn_graph_n_nodes (compiled->built); id++)
    {
      const TnNode *node = tn_graph_node (compiled->built, id);
      if (node->phase == TN_PHASE_OPTIMIZER && (node->op->flags & TN_OP_LEAF) == 0)
        break;
      for (int i = 0; i < node->n_outputs; i++)
        {
          TnTensor *tensor = tn_eager_value (eager, &node->outputs[i], NULL);
          if (tensor != NULL && !is_finite_tensor (tensor))
            return g_strdup (node->name);
        }
    }
  return NULL;
}

const char *
tn_program_weights_report (const TnProgram *self)
{
  return self->weights_report;
}

void
tn_program_set_mode (TnProgram *self, TnMode mode)
{
  self->mode = mode;
}

TnMode
tn_program_mode (const TnProgram *self)
{
  return self->mode;
}

void
tn_program_set_span_hook (TnProgram *self, const TnSpanHook *hook)
{
  self->hook = hook;
}

static const Compiled *
first_training (const TnProgram *self)
{
  for (guint i = 0; i < self->compiled->len; i++)
    if (((const Compiled *) self->compiled->pdata[i])->training)
      return self->compiled->pdata[i];
  return NULL;
}

int64_t
tn_program_n_outputs (const TnProgram *self)
{
  TnShape shape;
  int64_t trained, statistics;
  return tn_model_measure (self->recipe.model, &trained, &statistics, &shape, NULL) ? tn_shape_count (&shape) : 0;
}

int64_t
tn_program_n_parameters (const TnProgram *self)
{
  int64_t n = 0;
  for (guint i = 0; i < self->state->len; i++)
    if (tn_program_state (self, (int) i)->role == TN_ROLE_TRAINED)
      n += tn_tensor_count (tn_program_state (self, (int) i)->tensor);
  return n;
}

/* Dense and convolution products only: what the peers' tables count. */
double
tn_program_flops (const TnProgram *self, int64_t batch)
{
  static const char *const products[] = { "MatMul", "BatchMatMul", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter" };
  const Compiled *compiled = first_training (self);
  double flops = 0;
  for (int id = 0; id < tn_graph_n_nodes (compiled->built); id++)
    for (gsize k = 0; k < G_N_ELEMENTS (products); k++)
      if (tn_node_is (tn_graph_node (compiled->built, id), products[k]))
        {
          TnCost cost;
          tn_node_cost (tn_graph_node (compiled->built, id), &cost);
          flops += cost.flops;
        }
  return flops * (double) batch / (double) compiled->rows;
}

TnGraph *
tn_program_graph (TnProgram *self, int64_t batch, gboolean optimized, GError **error)
{
  Compiled *compiled = get_compiled (self, batch, TRUE, error);
  if (compiled == NULL)
    return NULL;
  return tn_graph_ref (optimized ? tn_plan_graph (compiled->plan) : compiled->built);
}

gboolean
tn_program_save_graphs (TnProgram *self, int64_t batch, const char *folder, GError **error)
{
  Compiled *compiled = get_compiled (self, batch, TRUE, error);
  return compiled != NULL && tn_graph_save_stages (compiled->built, has_kernel, &self->target, folder, error);
}

TnPlan *
tn_program_plan (TnProgram *self, int64_t batch, GError **error)
{
  Compiled *compiled = get_compiled (self, batch, TRUE, error);
  return compiled != NULL ? compiled->plan : NULL;
}

char *
tn_program_build_facts (const TnProgram *self)
{
  const dnnl_version_t *dnnl = dnnl_version ();
  return g_strdup_printf ("isa=%s openblas=%s onednn=%d.%d.%d", tn_isa_name (self->target.isa), openblas_get_corename (), dnnl->major, dnnl->minor,
                          dnnl->patch);
}

int
tn_program_n_threads (const TnProgram *self)
{
  return tn_pool_n_threads (self->pool);
}
