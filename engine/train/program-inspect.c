/* SPDX-License-Identifier: Apache-2.0 */
#include "train/program-private.h"
#include "base/error.h"
#include "train/graph-save.h"
#include <dnnl.h>
#include <math.h>
#include <string.h>

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
  if (tn_program_is_split (self))
    return tn_program_gather_output (self, self->current, name, error);
  TnPlanRun run = tn_program_run (self, self->current, 0, 0);
  return tn_tensor_new_from (value->dtype, value->shape, tn_program_output (self->current, &run, name));
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

static const TnCompiled *
first_training (const TnProgram *self)
{
  for (guint i = 0; i < self->compiled->len; i++)
    if (((const TnCompiled *) self->compiled->pdata[i])->training)
      return self->compiled->pdata[i];
  return NULL;
}

TnPlan *
tn_program_step_plan (const TnProgram *self)
{
  return first_training (self)->plan;
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
      n += tn_shape_count (&tn_program_state (self, (int) i)->shape);
  return n;
}

/* Dense and convolution products only: what the peers' tables count. */
double
tn_program_flops (const TnProgram *self, int64_t batch)
{
  static const char *const products[] = { "MatMul", "BatchMatMul", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter" };
  const TnCompiled *compiled = first_training (self);
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
  TnCompiled *compiled = tn_program_compiled (self, batch, TRUE, error);
  if (compiled == NULL)
    return NULL;
  return tn_graph_ref (optimized ? tn_plan_graph (compiled->plan) : compiled->built);
}

gboolean
tn_program_save_graphs (TnProgram *self, int64_t batch, const char *folder, GError **error)
{
  TnCompiled *compiled = tn_program_compiled (self, batch, TRUE, error);
  return compiled != NULL && tn_graph_save_stages (compiled->built, tn_program_has_kernel, &self->target, folder, error);
}

TnPlan *
tn_program_plan (TnProgram *self, int64_t batch, GError **error)
{
  TnCompiled *compiled = tn_program_compiled (self, batch, TRUE, error);
  return compiled != NULL ? compiled->plan : NULL;
}

char *
tn_program_build_facts (const TnProgram *self)
{
  const dnnl_version_t *dnnl = dnnl_version ();
  return g_strdup_printf ("isa=%s onednn=%d.%d.%d", tn_isa_name (self->target.isa), dnnl->major, dnnl->minor, dnnl->patch);
}

int
tn_program_n_threads (const TnProgram *self)
{
  return tn_pool_n_threads (self->pool) * MAX (self->n_replicas, 1);
}
