/* SPDX-License-Identifier: Apache-2.0 */
#include "train/program-graph.h"
#include "base/error.h"
#include "ir/autodiff.h"
#include "optim/clip.h"

gboolean
tn_program_recipe_init (TnProgramRecipe *recipe, TnModel *model, TnSettings *settings, GError **error)
{
  TnOptimizerKind kind;
  *recipe = (TnProgramRecipe){ .model = model, .clip_norm = tn_settings_get_float (settings, "train.clip_norm") };
  if (!tn_loss_parse (tn_settings_get_string (settings, "train.loss"), "mean", &recipe->loss, error)
      || !tn_optimizer_kind_parse (tn_settings_get_string (settings, "optimizer.kind"), &kind, error))
    return FALSE;
  TnOptimizer *o = &recipe->optimizer;
  tn_optimizer_init (o, kind);
  static const struct
  {
    const char *setting;
    size_t offset;
  } numbers[] = {
    { "optimizer.momentum", G_STRUCT_OFFSET (TnOptimizer, momentum) },   { "optimizer.dampening", G_STRUCT_OFFSET (TnOptimizer, dampening) },
    { "optimizer.beta1", G_STRUCT_OFFSET (TnOptimizer, beta1) },         { "optimizer.beta2", G_STRUCT_OFFSET (TnOptimizer, beta2) },
    { "optimizer.eps", G_STRUCT_OFFSET (TnOptimizer, eps) },             { "optimizer.weight_decay", G_STRUCT_OFFSET (TnOptimizer, weight_decay) },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (tn_settings_is_set (settings, numbers[i].setting)) /* otherwise each kind has its own default */
      *(double *) ((char *) o + numbers[i].offset) = tn_settings_get_float (settings, numbers[i].setting);
  if (tn_settings_is_set (settings, "optimizer.nesterov"))
    o->nesterov = tn_settings_get_bool (settings, "optimizer.nesterov");
  return tn_optimizer_check (o, error);
}

/* The model and its loss by the recipe's reduction. */
static TnValue *
add_forward (const TnProgramRecipe *recipe, TnGraph *graph, int64_t rows, gboolean training, TnReduction reduction, TnValue **logits,
             GError **error)
{
  TnValue *x = tn_graph_add_input (graph, "x", tn_model_input (recipe->model)->dtype, tn_model_batch_shape (recipe->model, rows));
  *logits = tn_model_build (recipe->model, graph, x, training, error);
  if (*logits == NULL)
    return NULL;
  TnLoss loss = recipe->loss;
  loss.reduction = reduction;
  TnDType dtype;
  TnShape shape;
  tn_loss_label_type (&loss, *logits, &dtype, &shape);
  gboolean classes = dtype == TN_DTYPE_I32 || dtype == TN_DTYPE_I64;
  TnValue *labels = tn_graph_add_input (graph, classes ? "labels" : "targets", classes ? TN_DTYPE_I32 : dtype, shape);
  TnValue *value = tn_loss_build (&loss, graph, *logits, labels, NULL);
  if (!tn_graph_check (graph, error))
    return NULL;
  return value;
}

static void
add_update (const TnProgramRecipe *recipe, TnGraph *graph, int n, TnValue **trained, TnValue **gradients, GError **error)
{
  TnValue *lr = tn_graph_add_input (graph, "lr", TN_DTYPE_F32, TN_SHAPE_SCALAR);
  TnValue *step = tn_graph_add_input (graph, "step", TN_DTYPE_I64, TN_SHAPE_SCALAR);
  if (n == 0)
    return;
  TnValue *norm;
  tn_graph_set_phase (graph, TN_PHASE_BACKWARD);
  if (recipe->clip_norm > 0)
    {
      norm = tn_clip_by_global_norm (graph, n, gradients, recipe->clip_norm);
    }
  else
    {
      tn_graph_push_scope (graph, "gradients");
      norm = tn_op (graph, "GlobalNorm", n, gradients, TN_NO_ATTRS);
      tn_graph_pop_scope (graph);
    }
  tn_graph_add_output (graph, "grad_norm", norm);
  tn_optimizer_build (&recipe->optimizer, graph, n, trained, gradients, lr, step, error);
}

TnGraph *
tn_program_training_graph (const TnProgramRecipe *recipe, int64_t rows, GError **error)
{
  g_autoptr (TnGraph) graph = tn_graph_new (tn_model_name (recipe->model));
  TnValue *logits, *loss = add_forward (recipe, graph, rows, TRUE, TN_REDUCTION_MEAN, &logits, error);
  if (loss == NULL)
    return NULL;
  tn_graph_add_output (graph, "loss", loss);

  int n = 0, n_parameters = tn_graph_n_parameters (graph);
  g_autofree TnValue **trained = g_new0 (TnValue *, n_parameters + 1);
  g_autofree TnValue **gradients = g_new0 (TnValue *, n_parameters + 1);
  for (int i = 0; i < n_parameters; i++)
    {
      TnValue *parameter = tn_graph_parameter (graph, i);
      const TnParameterInfo *info = tn_node_parameter_info (parameter->node);
      if (info->role == TN_ROLE_TRAINED && !info->frozen)
        trained[n++] = parameter;
    }
  if (n > 0 && !tn_graph_add_gradients (graph, loss, NULL, n, trained, gradients))
    {
      tn_graph_check (graph, error);
      return NULL;
    }
  for (int i = 0; i < n; i++)
    {
      g_autofree char *name = g_strconcat ("grad:", trained[i]->node->name, NULL);
      tn_graph_add_output (graph, name, gradients[i]);
    }
  GError *failure = NULL;
  add_update (recipe, graph, n, trained, gradients, &failure);
  if (failure != NULL)
    {
      g_propagate_error (error, failure);
      return NULL;
    }
  return tn_graph_check (graph, error) ? g_steal_pointer (&graph) : NULL;
}

TnGraph *
tn_program_evaluation_graph (const TnProgramRecipe *recipe, int64_t rows, GError **error)
{
  g_autoptr (TnGraph) graph = tn_graph_new (tn_model_name (recipe->model));
  TnValue *logits, *loss = add_forward (recipe, graph, rows, FALSE, TN_REDUCTION_NONE, &logits, error);
  if (loss == NULL)
    return NULL;
  tn_graph_add_output (graph, "logits", logits);
  tn_graph_add_output (graph, "loss", loss);
  return g_steal_pointer (&graph);
}
