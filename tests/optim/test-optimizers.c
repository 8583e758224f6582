/* SPDX-License-Identifier: Apache-2.0 */
#include "optim/optimizer.h"
#include "base/error.h"
#include "ir/interpret.h"
#include "nn/numbers.h"
#include "optim/clip.h"
#include "optim/schedule.h"

/* Optimizers against PyTorch (float64, 1e-12) and MindSpore (float32, 1e-6): a graph of the parameters, their gradients as
 * inputs and the update nodes is run step by step. */

typedef struct
{
  TnGraph *graph;
  TnTensor **parameters; /* of the graph, in its order: parameters and states */
  int n_parameters, n;   /* n: without states */
  char **names;
  TnDType dtype;
} Run;

static void
run_clear (Run *run)
{
  for (int i = 0; i < run->n_parameters; i++)
    tn_tensor_unref (run->parameters[i]);
  g_free (run->parameters);
  g_strfreev (run->names);
  tn_graph_unref (run->graph);
}

/* @start: one tensor a name, taken. */
static gboolean
run_init (Run *run, const TnOptimizer *optimizer, char **names, TnTensor **start, TnDType dtype, GError **error)
{
  int n = (int) g_strv_length (names);
  *run = (Run){ .graph = tn_graph_new ("test"), .n = n, .names = g_strdupv (names), .dtype = dtype };
  g_autofree TnValue **parameters = g_new0 (TnValue *, n), **gradients = g_new0 (TnValue *, n);
  TnValue *lr = tn_graph_add_input (run->graph, "lr", dtype, TN_SHAPE_SCALAR);
  TnValue *step = tn_graph_add_input (run->graph, "step", TN_DTYPE_I64, TN_SHAPE_SCALAR);
  for (int i = 0; i < n; i++)
    {
      g_autofree char *gradient = g_strdup_printf ("gradient.%s", names[i]);
      TnParameterInfo info = { .role = TN_ROLE_TRAINED, .init = "zeros" };
      parameters[i] = tn_graph_add_parameter (run->graph, names[i], dtype, start[i]->shape, &info);
      gradients[i] = tn_graph_add_input (run->graph, gradient, dtype, start[i]->shape);
    }
  gboolean ok = tn_optimizer_build (optimizer, run->graph, n, parameters, gradients, lr, step, error);
  run->n_parameters = tn_graph_n_parameters (run->graph);
  run->parameters = g_new0 (TnTensor *, run->n_parameters);
  for (int i = 0; i < run->n_parameters; i++)
    run->parameters[i] = i < n ? start[i] : tn_tensor_new (dtype, tn_graph_parameter (run->graph, i)->shape, NULL);
  return ok;
}

static gboolean
run_step (Run *run, double lr, int64_t step, TnTensor **gradients, GError **error)
{
  g_autoptr (TnTensor) rate = tn_tensor_new (run->dtype, TN_SHAPE_SCALAR, NULL);
  g_autoptr (TnTensor) number = tn_tensor_new_from (TN_DTYPE_I64, TN_SHAPE_SCALAR, &step);
  g_autofree TnTensor **inputs = g_new0 (TnTensor *, run->n + 2);
  tn_tensor_set (rate, 0, lr);
  inputs[0] = rate;
  inputs[1] = number;
  for (int i = 0; i < run->n; i++)
    inputs[i + 2] = gradients[i];
  return tn_interpret (run->graph, inputs, run->parameters, NULL, NULL, error);
}

static gboolean
run_compare (Numbers *self, const char *name, const Run *run, int t, TnTensor **want, double rel, double abs)
{
  for (int i = 0; i < run->n; i++)
    {
      g_autofree char *message = NULL;
      if (numbers_close (run->parameters[i], want[i], rel, abs, &message))
        continue;
      g_autofree char *text = g_strdup_printf ("%s after step %d: %s", run->names[i], t + 1, message);
      numbers_fail (self, name, text);
      return FALSE;
    }
  return TRUE;
}

/* ---- cases in both forms ---- */

typedef struct
{
  const char *name;
  TnOptimizer optimizer;
  double rates[256];
  char **names;
  TnDType dtype;
  double rel, abs;
} Case;

static void
unref_tensors (TnTensor **tensors, int n)
{
  for (int i = 0; i < n; i++)
    tn_tensor_unref (tensors[i]);
}

static TnTensor *
torch_tensor (JsonObject *start, const char *name, JsonArray *data)
{
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_member (object, "shape", json_node_copy (json_object_get_member (json_object_get_object_member (start, name), "shape")));
  json_object_set_array_member (object, "data", json_array_ref (data));
  return truth_tensor (object, TN_DTYPE_F64);
}

/* The tensor of @name at step @t of a list of objects; torch's are flat lists that have the shape of "start". */
static TnTensor *
step_tensor (JsonArray *list, guint t, const char *name, JsonObject *torch_start, TnDType dtype)
{
  JsonObject *step = json_array_get_object_element (list, t);
  if (torch_start != NULL)
    return torch_tensor (torch_start, name, json_object_get_array_member (step, name));
  return truth_tensor (json_object_get_object_member (step, name), dtype);
}

static void
compare_case (Numbers *self, Case *c, JsonObject *start, JsonArray *grads, JsonArray *after, JsonObject *torch_start)
{
  int n = (int) g_strv_length (c->names);
  g_autofree TnTensor **tensors = g_new0 (TnTensor *, n), **want = g_new0 (TnTensor *, n);
  g_autoptr (GError) error = NULL;
  for (int i = 0; i < n; i++)
    tensors[i] = truth_tensor (json_object_get_object_member (start, c->names[i]), c->dtype);
  Run run;
  self->compared++;
  gboolean ok = run_init (&run, &c->optimizer, c->names, tensors, c->dtype, &error);
  for (guint t = 0; ok && t < json_array_get_length (after); t++)
    {
      for (int i = 0; i < n; i++)
        {
          tensors[i] = step_tensor (grads, t, c->names[i], torch_start, c->dtype);
          want[i] = step_tensor (after, t, c->names[i], torch_start, c->dtype);
        }
      gboolean ran = run_step (&run, c->rates[MIN (t, G_N_ELEMENTS (c->rates) - 1)], t + 1, tensors, &error);
      ok = ran && run_compare (self, c->name, &run, (int) t, want, c->rel, c->abs);
      unref_tensors (tensors, n);
      unref_tensors (want, n);
    }
  if (error != NULL)
    numbers_fail (self, c->name, error->message);
  run_clear (&run);
}

/* Every setting has to be known: a case with one that is not is left out and listed. */
static gboolean
take_settings (TnOptimizer *o, JsonObject *settings)
{
  g_autoptr (GList) names = json_object_get_members (settings);
  for (GList *l = names; l != NULL; l = l->next)
    {
      const char *name = l->data;
      JsonNode *node = json_object_get_member (settings, name);
      gboolean number = JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) != G_TYPE_STRING;
      double value = number ? numbers_double (settings, name, 0) : 0;
      if (strcmp (name, "betas") == 0)
        {
          o->beta1 = json_array_get_double_element (json_node_get_array (node), 0);
          o->beta2 = json_array_get_double_element (json_node_get_array (node), 1);
        }
      else if (!number)
        return FALSE;
      else if (strcmp (name, "momentum") == 0)
        o->momentum = value;
      else if (strcmp (name, "dampening") == 0)
        o->dampening = value;
      else if (strcmp (name, "weight_decay") == 0)
        o->weight_decay = value;
      else if (strcmp (name, "nesterov") == 0 || strcmp (name, "use_nesterov") == 0)
        o->nesterov = value != 0;
      else if (strcmp (name, "beta1") == 0)
        o->beta1 = value;
      else if (strcmp (name, "beta2") == 0)
        o->beta2 = value;
      else if (strcmp (name, "eps") == 0)
        o->eps = value;
      else if (strcmp (name, "amsgrad") == 0 || strcmp (name, "use_amsgrad") == 0)
        o->amsgrad = value != 0;
      else if (strcmp (name, "loss_scale") == 0)
        o->loss_scale = value;
      else if (strcmp (name, "maximize") == 0)
        o->loss_scale = value != 0 ? -1 : 1; /* the gradient's sign */
      else if (strcmp (name, "lr") != 0 && strcmp (name, "decoupled_weight_decay") != 0 && strcmp (name, "use_lazy") != 0
               && strcmp (name, "use_offload") != 0 && strcmp (name, "use_locking") != 0)
        return FALSE; /* the last three only say where MindSpore keeps and updates states */
    }
  return TRUE;
}

static void
compare_torch (Numbers *self, JsonObject *entry)
{
  JsonObject *settings = numbers_object (entry, "settings"), *start = numbers_object (entry, "start");
  TnOptimizerKind kind;
  Case c = { .name = numbers_text (entry, "optimizer"), .dtype = TN_DTYPE_F64, .rel = 1e-12, .abs = 1e-12 };
  if (!tn_optimizer_kind_parse (c.name, &kind, NULL))
    {
      numbers_without (self, c.name);
      return;
    }
  tn_optimizer_init (&c.optimizer, kind);
  c.optimizer.style = TN_STYLE_TORCH;
  if (!take_settings (&c.optimizer, settings))
    {
      numbers_without (self, c.name);
      return;
    }
  for (guint t = 0; t < G_N_ELEMENTS (c.rates); t++)
    c.rates[t] = numbers_double (settings, "lr", 0);
  g_autoptr (GList) names = json_object_get_members (start);
  g_auto (GStrv) list = g_new0 (char *, g_list_length (names) + 1);
  int n = 0;
  for (GList *l = names; l != NULL; l = l->next)
    list[n++] = g_strdup (l->data);
  c.names = list;
  compare_case (self, &c, start, numbers_array (entry, "grads"), numbers_array (entry, "params"), start);
}

/* MindSpore's groups: the ones that name parameters, by exact names. @patterns keeps their texts. */
static gboolean
take_groups (TnOptimizer *o, JsonArray *groups, double lr, GPtrArray *patterns)
{
  for (guint i = 0; groups != NULL && i < json_array_get_length (groups); i++)
    {
      if (!JSON_NODE_HOLDS_OBJECT (json_array_get_element (groups, i)))
        return FALSE;
      JsonObject *group = json_array_get_object_element (groups, i);
      JsonArray *params = numbers_array (group, "params");
      if (params == NULL)
        continue; /* order_params */
      if (json_object_has_member (group, "grad_centralization"))
        return FALSE;
      g_autoptr (GString) pattern = g_string_new (NULL);
      for (guint k = 0; k < json_array_get_length (params); k++)
        g_string_append_printf (pattern, "%s%s", k > 0 ? "," : "", json_array_get_string_element (params, k));
      g_ptr_array_add (patterns, g_strdup (pattern->str));
      o->groups[o->n_groups++] = (TnOptimizerGroup){ .pattern = patterns->pdata[patterns->len - 1],
                                                     .lr_factor = numbers_double (group, "lr", lr) / lr,
                                                     .weight_decay = numbers_double (group, "weight_decay", NAN) };
    }
  return TRUE;
}

static gboolean
take_rates (Case *c, JsonObject *object)
{
  JsonArray *list = numbers_array (object, "lr");
  double fixed = numbers_double (object, "lr", NAN);
  if (numbers_text (object, "lr") != NULL || (list == NULL && isnan (fixed)))
    return FALSE; /* the name of a schedule without its arguments */
  for (guint t = 0; t < G_N_ELEMENTS (c->rates); t++)
    c->rates[t] = list == NULL ? fixed : json_array_get_double_element (list, MIN (t, json_array_get_length (list) - 1));
  return TRUE;
}

static void
compare_mindspore (Numbers *self, JsonObject *object)
{
  const char *optimizer = numbers_text (object, "optimizer");
  JsonObject *args = numbers_object (object, "args");
  JsonArray *order = numbers_array (object, "parameter_order");
  g_autoptr (GPtrArray) patterns = g_ptr_array_new_with_free_func (g_free);
  Case c = { .name = numbers_text (object, "name"), .dtype = TN_DTYPE_F32, .rel = 2e-6, .abs = 1e-7 };
  /* experimental.optim has no state_at_end; it takes PyTorch's arguments and decays every parameter, but computes with
   * MindSpore's kernels. */
  gboolean experimental = !json_object_has_member (object, "state_at_end");
  gboolean same = strcmp (optimizer, "AdamOffload") == 0 || strcmp (optimizer, "LazyAdam") == 0; /* Adam elsewhere */
  TnOptimizerKind kind;
  gboolean known = tn_optimizer_kind_parse (same ? "Adam" : optimizer, &kind, NULL) && !g_str_has_prefix (c.name, "lars");
  if (known)
    {
      tn_optimizer_init (&c.optimizer, kind);
      c.optimizer.style = experimental ? TN_STYLE_EXPERIMENTAL : TN_STYLE_MINDSPORE;
      if (!experimental && kind == TN_OPTIMIZER_MOMENTUM)
        c.optimizer.momentum = 0;
    }
  if (!known || !take_settings (&c.optimizer, args) || !take_rates (&c, object)
      || !take_groups (&c.optimizer, numbers_array (object, "groups"), c.rates[0], patterns))
    {
      numbers_without (self, c.name);
      return;
    }
  /* Measured: MindSpore 2.10's kernel on the CPU ignores use_nesterov of Momentum. We keep the documented formula, so that
   * here it is switched off to compare the rest. */
  if (kind == TN_OPTIMIZER_MOMENTUM)
    c.optimizer.nesterov = FALSE;
  /* Measured too: amsgrad of experimental.optim.Adam divides by v itself where it is below its maximum. nn.Adam, AdamW and
   * PyTorch divide by the maximum, and so do we. */
  if (kind == TN_OPTIMIZER_ADAM && experimental)
    c.optimizer.amsgrad = FALSE;
  g_auto (GStrv) names = g_new0 (char *, json_array_get_length (order) + 1);
  for (guint i = 0; i < json_array_get_length (order); i++)
    names[i] = g_strdup (json_array_get_string_element (order, i));
  c.names = names;
  compare_case (self, &c, numbers_object (object, "initial"), numbers_array (object, "grads"), numbers_array (object, "after_step"), NULL);
}

static void
compare_any (Numbers *self, JsonObject *object)
{
  if (numbers_text (object, "optimizer") == NULL)
    return;
  if (numbers_object (object, "settings") != NULL && numbers_array (object, "params") != NULL)
    compare_torch (self, object);
  else if (numbers_object (object, "initial") != NULL && numbers_array (object, "after_step") != NULL
           && numbers_object (object, "args") != NULL && numbers_array (object, "parameter_order") != NULL)
    compare_mindspore (self, object);
}

static void
test_shared (void)
{
  numbers_shared ("optimizer runs", compare_any);
}

static void
test_own (void)
{
  numbers_own ("truth-optim", "optimizer runs", compare_any);
}

/* ---- formulas by hand: reference 5.5, w0 = 1, lr = 0.1, gradients .5, -.25, 1 ---- */

static void
check_scalar_run (const TnOptimizer *optimizer, const double want[3])
{
  static const double gradients[3] = { 0.5, -0.25, 1 };
  char *names[] = { (char *) "w", NULL };
  double one = 1;
  TnTensor *start = tn_tensor_new_from (TN_DTYPE_F64, TN_SHAPE (1), &one);
  g_autoptr (GError) error = NULL;
  Run run;
  g_assert_true (run_init (&run, optimizer, names, &start, TN_DTYPE_F64, &error));
  for (int t = 0; t < 3; t++)
    {
      g_autoptr (TnTensor) gradient = tn_tensor_new_from (TN_DTYPE_F64, TN_SHAPE (1), &gradients[t]);
      g_assert_true (run_step (&run, 0.1, t + 1, &gradient, &error));
      g_assert_cmpfloat_with_epsilon (tn_tensor_get (run.parameters[0], 0), want[t], 6e-9);
    }
  run_clear (&run);
}

static void
test_reference_vectors (void)
{
  TnOptimizer o;
  tn_optimizer_init (&o, TN_OPTIMIZER_MOMENTUM);
  check_scalar_run (&o, (const double[]){ .95, .93, .812 });
  o.nesterov = TRUE;
  check_scalar_run (&o, (const double[]){ .905, .912, .7058 });
  o.nesterov = FALSE;
  o.weight_decay = .01;
  check_scalar_run (&o, (const double[]){ .949, .927151, .806559749 });
  tn_optimizer_init (&o, TN_OPTIMIZER_SGD);
  check_scalar_run (&o, (const double[]){ .95, .975, .875 });
  o.momentum = .9;
  o.dampening = .5;
  check_scalar_run (&o, (const double[]){ .95, .9175, .83825 });
  tn_optimizer_init (&o, TN_OPTIMIZER_ADAM);
  check_scalar_run (&o, (const double[]){ .900000063, .873366374, .807555232 });
  o.nesterov = TRUE;
  check_scalar_run (&o, (const double[]){ .81000012, .819321911, .704319729 });
  tn_optimizer_init (&o, TN_OPTIMIZER_ADAM_WEIGHT_DECAY);
  check_scalar_run (&o, (const double[]){ .683792233, .57061627, .244844534 });
  o.weight_decay = .01;
  check_scalar_run (&o, (const double[]){ .682792233, .568933478, .242592808 });
}

/* MindSpore: beta and gamma are decayed only where a group says so. */
static void
test_decay_rule (void)
{
  TnOptimizer o;
  tn_optimizer_init (&o, TN_OPTIMIZER_MOMENTUM);
  o.weight_decay = 0.01;
  g_assert_cmpfloat (tn_optimizer_weight_decay_of (&o, "bn1.gamma"), ==, 0);
  g_assert_cmpfloat (tn_optimizer_weight_decay_of (&o, "fc.bias"), ==, 0.01);
  o.n_groups = 1;
  o.groups[0] = (TnOptimizerGroup){ .pattern = "bn1.*, fc.weight", .lr_factor = 0.5, .weight_decay = 0.1 };
  g_assert_cmpfloat (tn_optimizer_weight_decay_of (&o, "bn1.gamma"), ==, 0.1);
  g_assert_cmpfloat (tn_optimizer_lr_factor_of (&o, "fc.weight"), ==, 0.5);
  g_assert_cmpfloat (tn_optimizer_lr_factor_of (&o, "fc.bias"), ==, 1);
  o.style = TN_STYLE_TORCH;
  g_assert_cmpfloat (tn_optimizer_weight_decay_of (&o, "bn2.gamma"), ==, 0.01);
}

static void
test_refused (void)
{
  TnOptimizer o;
  TnOptimizerKind kind;
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_optimizer_kind_parse ("momentun", &kind, &error));
  g_assert_nonnull (strstr (error->message, "momentum"));
  g_clear_error (&error);
  tn_optimizer_init (&o, TN_OPTIMIZER_SGD);
  o.nesterov = TRUE;
  g_assert_false (tn_optimizer_check (&o, &error));
  g_clear_error (&error);
  tn_optimizer_init (&o, TN_OPTIMIZER_ADAM);
  o.beta2 = 1;
  g_assert_false (tn_optimizer_check (&o, &error));
  g_assert_nonnull (strstr (error->message, "beta2"));
}

/* torch.nn.utils.clip_grad_norm_: gradients 3 and 4 have norm 5; max 1 leaves 3/(5 + 1e-6) and 4/(5 + 1e-6), max 10 nothing. */
static void
check_clip (double max_norm, double factor)
{
  static const float values[2] = { 3, 4 };
  g_autoptr (TnGraph) graph = tn_graph_new ("clip");
  g_autoptr (GError) error = NULL;
  TnValue *gradients[2] = { tn_graph_add_input (graph, "a", TN_DTYPE_F32, TN_SHAPE (1)), tn_graph_add_input (graph, "b", TN_DTYPE_F32, TN_SHAPE (1)) };
  TnValue *norm = tn_clip_by_global_norm (graph, 2, gradients, max_norm);
  tn_graph_add_output (graph, "norm", norm);
  tn_graph_add_output (graph, "a", gradients[0]);
  tn_graph_add_output (graph, "b", gradients[1]);
  g_assert_true (tn_graph_check (graph, &error));
  TnTensor *inputs[2], *outputs[3] = { NULL };
  for (int i = 0; i < 2; i++)
    inputs[i] = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (1), &values[i]);
  g_assert_true (tn_interpret (graph, inputs, NULL, outputs, NULL, &error));
  g_assert_cmpfloat_with_epsilon (tn_tensor_get (outputs[0], 0), 5, 1e-6);
  g_assert_cmpfloat_with_epsilon (tn_tensor_get (outputs[1], 0), 3 * factor, 1e-6);
  g_assert_cmpfloat_with_epsilon (tn_tensor_get (outputs[2], 0), 4 * factor, 1e-6);
  unref_tensors (inputs, 2);
  unref_tensors (outputs, 3);
}

static void
test_clip (void)
{
  check_clip (1, 1 / (5 + 1e-6));
  check_clip (10, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optim/optimizer/truth", test_shared);
  g_test_add_func ("/optim/optimizer/own-truth", test_own);
  g_test_add_func ("/optim/optimizer/reference-vectors", test_reference_vectors);
  g_test_add_func ("/optim/optimizer/beta-and-gamma-decay-only-in-groups", test_decay_rule);
  g_test_add_func ("/optim/optimizer/bad-numbers-are-refused", test_refused);
  g_test_add_func ("/optim/clip/global-norm", test_clip);
  return g_test_run ();
}
