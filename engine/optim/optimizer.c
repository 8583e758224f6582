/* SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"

/* What is fixed for each kind: its names, and the prefixes of its states in the order of the operator's inputs. */
typedef struct
{
  const char *name;         /* MindSpore's class */
  const char *setting;      /* in settings */
  const char *prefixes[4];
  gboolean counts_steps;    /* the operator takes the step */
} KindRow;

static const KindRow kinds[] = {
  [TN_OPTIMIZER_MOMENTUM] = { "Momentum", "momentum", { "moments." }, FALSE },
  [TN_OPTIMIZER_SGD] = { "SGD", "sgd", { "accum." }, TRUE },
  [TN_OPTIMIZER_ADAM] = { "Adam", "adam", { "moment1.", "moment2." }, TRUE },
  [TN_OPTIMIZER_ADAMW] = { "AdamW", "adamw", { "exp_avg.", "exp_avg_sq." }, TRUE },
  [TN_OPTIMIZER_ADAM_WEIGHT_DECAY] = { "AdamWeightDecay", "adam_weight_decay", { "adam_m.", "adam_v." }, FALSE },
};

static const char *const styles[] = { "mindspore", "torch", "experimental" }; /* of the operators */

void
tn_optimizer_init (TnOptimizer *self, TnOptimizerKind kind)
{
  *self = (TnOptimizer){ .kind = kind,
                         .style = kind == TN_OPTIMIZER_ADAMW ? TN_STYLE_TORCH : TN_STYLE_MINDSPORE,
                         .momentum = kind == TN_OPTIMIZER_MOMENTUM ? 0.9 : 0,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .eps = kind == TN_OPTIMIZER_ADAM_WEIGHT_DECAY ? 1e-6 : 1e-8,
                         .weight_decay = kind == TN_OPTIMIZER_ADAMW ? 0.01 : 0,
                         .loss_scale = 1 };
}

gboolean
tn_optimizer_kind_parse (const char *name, TnOptimizerKind *out, GError **error)
{
  const char *known[G_N_ELEMENTS (kinds) + 1] = { NULL };
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      known[i] = kinds[i].setting;
      if (g_ascii_strcasecmp (name, kinds[i].name) == 0 || g_ascii_strcasecmp (name, kinds[i].setting) == 0)
        {
          *out = (TnOptimizerKind) i;
          return TRUE;
        }
    }
  const char *near = tn_did_you_mean (name, known);
  g_autofree char *list = g_strjoinv (", ", (char **) known);
  if (near != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("there is no optimizer “%s”: did you mean “%s”?"), name, near);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("there is no optimizer “%s”: it is one of %s"), name, list);
  return FALSE;
}

const char *
tn_optimizer_kind_name (TnOptimizerKind kind)
{
  return kinds[kind].name;
}

/* ---- checks ---- */

static gboolean
check (gboolean ok, const TnOptimizer *self, const char *what, double value, const char *rule, GError **error)
{
  if (ok)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("optimizer %s: %s is %g and must be %s"), kinds[self->kind].name, what,
               value, rule);
  return FALSE;
}

static gboolean
is_not_negative (double value)
{
  return isfinite (value) && value >= 0;
}

gboolean
tn_optimizer_check (const TnOptimizer *self, GError **error)
{
  gboolean damped_nesterov = self->kind == TN_OPTIMIZER_SGD && self->nesterov && (self->momentum <= 0 || self->dampening != 0);
  if (!check (is_not_negative (self->momentum), self, "momentum", self->momentum, _ ("0 or more"), error)
      || !check (is_not_negative (self->dampening), self, "dampening", self->dampening, _ ("0 or more"), error)
      || !check (!damped_nesterov, self, "dampening", self->dampening, _ ("0, and momentum above 0, for Nesterov"), error)
      || !check (self->beta1 > 0 && self->beta1 < 1, self, "beta1", self->beta1, _ ("between 0 and 1"), error)
      || !check (self->beta2 > 0 && self->beta2 < 1, self, "beta2", self->beta2, _ ("between 0 and 1"), error)
      || !check (self->eps > 0 && isfinite (self->eps), self, "eps", self->eps, _ ("greater than 0"), error)
      || !check (is_not_negative (self->weight_decay), self, "weight_decay", self->weight_decay, _ ("0 or more"), error)
      || !check (self->loss_scale != 0 && isfinite (self->loss_scale), self, "loss_scale", self->loss_scale, _ ("greater than 0"), error)
      || !check (self->n_groups >= 0 && self->n_groups <= TN_OPTIMIZER_MAX_GROUPS, self, "groups", self->n_groups, _ ("32 at most"), error))
    return FALSE;
  for (int i = 0; i < self->n_groups; i++)
    {
      double decay = self->groups[i].weight_decay;
      if (!check (isnan (decay) || is_not_negative (decay), self, "weight_decay", decay, _ ("0 or more"), error)
          || !check (is_not_negative (self->groups[i].lr_factor), self, "lr_factor", self->groups[i].lr_factor, _ ("0 or more"), error))
        return FALSE;
    }
  return TRUE;
}

/* ---- which numbers a parameter gets ---- */

static const TnOptimizerGroup *
find_group (const TnOptimizer *self, const char *name)
{
  for (int i = 0; i < self->n_groups; i++)
    {
      g_auto (GStrv) patterns = g_strsplit (self->groups[i].pattern, ",", -1);
      for (char **pattern = patterns; *pattern != NULL; pattern++)
        if (g_pattern_match_simple (g_strstrip (*pattern), name))
          return &self->groups[i];
    }
  return NULL;
}

/* MindSpore decays by name as long as there are no groups, and by group where there are. */
double
tn_optimizer_weight_decay_of (const TnOptimizer *self, const char *name)
{
  const TnOptimizerGroup *group = find_group (self, name);
  if (group != NULL)
    return isnan (group->weight_decay) ? self->weight_decay : group->weight_decay;
  if (self->style == TN_STYLE_MINDSPORE && (strstr (name, "beta") != NULL || strstr (name, "gamma") != NULL))
    return 0;
  return self->weight_decay;
}

double
tn_optimizer_lr_factor_of (const TnOptimizer *self, const char *name)
{
  const TnOptimizerGroup *group = find_group (self, name);
  return group != NULL ? group->lr_factor : 1;
}

static gboolean
is_plain_descent (const TnOptimizer *self)
{
  return self->kind == TN_OPTIMIZER_SGD && self->momentum == 0;
}

int
tn_optimizer_states (const TnOptimizer *self, const char *prefixes[4])
{
  int n = 0;
  if (is_plain_descent (self))
    return 0;
  for (; n < 4 && kinds[self->kind].prefixes[n] != NULL; n++)
    prefixes[n] = kinds[self->kind].prefixes[n];
  if (self->amsgrad && (self->kind == TN_OPTIMIZER_ADAM || self->kind == TN_OPTIMIZER_ADAMW))
    prefixes[n++] = self->kind == TN_OPTIMIZER_ADAM ? "vhat." : "max_exp_avg_sq.";
  return n;
}

/* ---- building ---- */

static const char *
operator_name (const TnOptimizer *self)
{
  switch (self->kind)
    {
    case TN_OPTIMIZER_MOMENTUM: return "ApplyMomentum";
    case TN_OPTIMIZER_SGD: return is_plain_descent (self) ? "ApplyGradientDescent" : "SGD";
    case TN_OPTIMIZER_ADAM: return self->amsgrad ? "AdamAmsgrad" : "Adam";
    case TN_OPTIMIZER_ADAMW: return self->amsgrad ? "AdamWAmsgrad" : "AdamW";
    case TN_OPTIMIZER_ADAM_WEIGHT_DECAY: return "AdamWeightDecay";
    default: return "";
    }
}

static int
kind_attrs (const TnOptimizer *self, TnAttr *attrs)
{
  int n = 0;
  switch (self->kind)
    {
    case TN_OPTIMIZER_MOMENTUM:
      attrs[n++] = tn_attr_float ("momentum", self->momentum);
      attrs[n++] = tn_attr_bool ("use_nesterov", self->nesterov);
      break;
    case TN_OPTIMIZER_SGD:
      if (is_plain_descent (self))
        break;
      attrs[n++] = tn_attr_float ("momentum", self->momentum);
      attrs[n++] = tn_attr_float ("dampening", self->dampening);
      attrs[n++] = tn_attr_bool ("nesterov", self->nesterov);
      break;
    case TN_OPTIMIZER_ADAM:
    case TN_OPTIMIZER_ADAMW:
      attrs[n++] = tn_attr_bool ("use_nesterov", self->nesterov);
      attrs[n++] = tn_attr_string ("style", styles[self->style]);
      G_GNUC_FALLTHROUGH;
    case TN_OPTIMIZER_ADAM_WEIGHT_DECAY:
      attrs[n++] = tn_attr_float ("beta1", self->beta1);
      attrs[n++] = tn_attr_float ("beta2", self->beta2);
      attrs[n++] = tn_attr_float ("eps", self->eps);
      break;
    }
  return n;
}

static void
build_update (const TnOptimizer *self, TnGraph *graph, TnValue *parameter, TnValue *gradient, TnValue *lr, TnValue *step)
{
  const char *name = parameter->node->name, *prefixes[4];
  TnValue *inputs[8] = { parameter };
  int n_inputs = 1, n_states = tn_optimizer_states (self, prefixes);
  for (int i = 0; i < n_states; i++)
    {
      g_autofree char *state = g_strconcat (prefixes[i], name, NULL);
      inputs[n_inputs++] = tn_graph_add_parameter (graph, state, parameter->dtype, parameter->shape,
                                                   &(TnParameterInfo){ .role = TN_ROLE_OPTIMIZER, .init = "zeros" });
    }
  inputs[n_inputs++] = gradient;
  inputs[n_inputs++] = lr;
  if (kinds[self->kind].counts_steps && !is_plain_descent (self))
    inputs[n_inputs++] = step;

  TnAttr attrs[12];
  int n_attrs = kind_attrs (self, attrs);
  attrs[n_attrs++] = tn_attr_float ("weight_decay", tn_optimizer_weight_decay_of (self, name));
  attrs[n_attrs++] = tn_attr_float ("grad_scale", 1 / self->loss_scale);
  attrs[n_attrs++] = tn_attr_float ("lr_factor", tn_optimizer_lr_factor_of (self, name));
  tn_graph_add_node (graph, operator_name (self), n_inputs, inputs, n_attrs, attrs);
}

gboolean
tn_optimizer_build (const TnOptimizer *self, TnGraph *graph, int n, TnValue *const *parameters, TnValue *const *gradients,
                    TnValue *lr, TnValue *step, GError **error)
{
  if (!tn_optimizer_check (self, error))
    return FALSE;
  g_autofree char *scope = g_strdup_printf ("optimizer-%s", kinds[self->kind].name);
  tn_graph_push_scope (graph, scope);
  tn_graph_set_phase (graph, TN_PHASE_OPTIMIZER);
  for (int i = 0; i < n && !tn_graph_failed (graph); i++)
    build_update (self, graph, parameters[i], gradients[i], lr, step);
  tn_graph_set_phase (graph, TN_PHASE_FORWARD);
  tn_graph_pop_scope (graph);
  return tn_graph_check (graph, error);
}
