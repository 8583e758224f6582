/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/truth-run.h"
#include "ir/autodiff.h"
#include "ir/interpret.h"
#include <string.h>

gboolean
truth_is_case (JsonNode *node)
{
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return FALSE;
  JsonObject *object = json_node_get_object (node);
  return json_object_has_member (object, "op") && json_object_has_member (object, "outputs")
         && json_object_has_member (object, "inputs") && JSON_NODE_HOLDS_OBJECT (json_object_get_member (object, "inputs"));
}

char *
truth_group (const char *id)
{
  const char *slash = strchr (id, '/');
  return slash != NULL ? g_strndup (id, (gsize) (slash - id)) : g_strdup (id);
}

static const TruthMapping *
find_mapping (const char *op)
{
  const TruthMapping *const maps[] = { truth_map_a, truth_map_b };
  for (gsize m = 0; m < G_N_ELEMENTS (maps); m++)
    for (const TruthMapping *row = maps[m]; row->op != NULL; row++)
      if (strcmp (row->op, op) == 0)
        return row;
  return NULL;
}

/* ---- building ---- */

static void
add_inputs (TruthRun *run)
{
  JsonObject *inputs = json_object_get_object_member (run->c.json, "inputs");
  g_autoptr (GList) names = json_object_get_members (inputs);
  for (GList *l = names; l != NULL; l = l->next)
    {
      TnTensor *tensor = truth_tensor (json_object_get_object_member (inputs, l->data), run->c.dtype);
      g_ptr_array_add (run->inputs, tensor);
      tn_graph_add_input (run->c.graph, l->data, tensor->dtype, tensor->shape);
    }
}

static void
expect (TruthRun *run, char *name, JsonObject *tensor, TnValue *value)
{
  g_ptr_array_add (run->names, name);
  g_ptr_array_add (run->want, truth_tensor (tensor, run->c.dtype));
  tn_graph_add_output (run->c.graph, name, value);
}

/* The gradient that enters at output @i as one more graph input; NULL if none does. */
static TnValue *
add_seed (TruthRun *run, JsonArray *grad_outputs, guint i)
{
  run->seed_of[i] = -1;
  if (grad_outputs == NULL || i >= json_array_get_length (grad_outputs)
      || !JSON_NODE_HOLDS_OBJECT (json_array_get_element (grad_outputs, i)))
    return NULL;
  g_autofree char *name = g_strdup_printf ("gradient-%u", i);
  TnTensor *tensor = truth_tensor (json_array_get_object_element (grad_outputs, i), run->c.dtype);
  run->seed_of[i] = (int) run->inputs->len;
  g_ptr_array_add (run->inputs, tensor);
  return tn_graph_add_input (run->c.graph, name, tensor->dtype, tensor->shape);
}

/* One output: its gradient enters there. More: they are joined to the scalar Σ output · gradient. */
static void
add_gradients (TruthRun *run)
{
  TnGraph *graph = run->c.graph;
  JsonObject *wanted = json_object_has_member (run->c.json, "grad_inputs") ? json_object_get_object_member (run->c.json, "grad_inputs") : NULL;
  JsonArray *grad_outputs = json_object_has_member (run->c.json, "grad_outputs") ? json_object_get_array_member (run->c.json, "grad_outputs") : NULL;
  TnValue *loss = NULL, *loss_seed = NULL;
  int n_seeds = 0;
  for (guint i = 0; i < (guint) run->n_outputs; i++)
    {
      TnValue *output = run->c.outputs->pdata[i], *seed = add_seed (run, grad_outputs, i);
      if (seed == NULL)
        continue;
      if (n_seeds++ == 0)
        {
          loss = output;
          loss_seed = seed;
          continue;
        }
      if (loss_seed != NULL)
        loss = tn_op (graph, "ReduceSum", TN_IN (tn_op (graph, "Mul", TN_IN (loss, loss_seed), TN_NO_ATTRS)), TN_NO_ATTRS);
      TnValue *term = tn_op (graph, "ReduceSum", TN_IN (tn_op (graph, "Mul", TN_IN (output, seed), TN_NO_ATTRS)), TN_NO_ATTRS);
      loss = tn_op (graph, "Add", TN_IN (loss, term), TN_NO_ATTRS);
      loss_seed = NULL;
    }
  if (wanted == NULL || n_seeds == 0 || json_object_get_size (wanted) == 0)
    return;
  g_autoptr (GList) names = json_object_get_members (wanted);
  int n = (int) g_list_length (names), k = 0;
  g_autofree TnValue **values = g_new0 (TnValue *, n), **gradients = g_new0 (TnValue *, n);
  for (GList *l = names; l != NULL; l = l->next)
    values[k++] = truth_input (&run->c, l->data);
  if (!tn_graph_add_gradients (graph, loss, loss_seed, n, values, gradients))
    return;
  k = 0;
  for (GList *l = names; l != NULL; l = l->next)
    expect (run, g_strdup_printf ("gradient of %s", (char *) l->data), json_object_get_object_member (wanted, l->data), gradients[k++]);
}

TruthState
truth_run_init (TruthRun *run, JsonObject *json, TnDType dtype, char **message)
{
  *run = (TruthRun){ 0 };
  run->inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  run->want = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  run->names = g_ptr_array_new_with_free_func (g_free);
  run->c = (TruthCase){
    .json = json,
    .attrs = json_object_has_member (json, "attrs") ? json_object_ref (json_object_get_object_member (json, "attrs")) : json_object_new (),
    .id = json_object_get_string_member_with_default (json, "id", "?"),
    .op = json_object_get_string_member (json, "op"),
    .note = json_object_get_string_member_with_default (json, "note", ""),
    .dtype = dtype,
    .graph = tn_graph_new ("truth"),
    .outputs = g_ptr_array_new (),
  };
  JsonNode *gradcheck = json_object_get_member (json, "gradcheck");
  run->gradcheck = gradcheck != NULL && JSON_NODE_HOLDS_VALUE (gradcheck) && json_node_get_boolean (gradcheck);

  const TruthMapping *mapping = find_mapping (run->c.op);
  if (mapping == NULL)
    return TRUTH_NO_OPERATOR;
  add_inputs (run);
  if (!mapping->build (&run->c, run->c.graph))
    return TRUTH_NO_OPERATOR;
  JsonArray *outputs = json_object_get_array_member (json, "outputs");
  run->n_outputs = (int) json_array_get_length (outputs);
  run->seed_of = g_new0 (int, run->n_outputs + 1);
  g_autoptr (GError) error = NULL;
  if (tn_graph_check (run->c.graph, &error) && (int) run->c.outputs->len != run->n_outputs)
    {
      *message = g_strdup_printf ("the mapping gives %u outputs, the case has %d", run->c.outputs->len, run->n_outputs);
      return TRUTH_BROKEN;
    }
  for (int i = 0; error == NULL && i < run->n_outputs; i++)
    expect (run, g_strdup_printf ("output %d", i), json_array_get_object_element (outputs, (guint) i), run->c.outputs->pdata[i]);
  if (error == NULL)
    add_gradients (run);
  if (error == NULL && tn_graph_check (run->c.graph, &error))
    return TRUTH_READY;
  *message = g_strdup (error->message);
  return TRUTH_BROKEN;
}

void
truth_run_clear (TruthRun *run)
{
  g_clear_pointer (&run->c.attrs, json_object_unref);
  g_clear_pointer (&run->c.graph, tn_graph_unref);
  g_clear_pointer (&run->c.outputs, g_ptr_array_unref);
  g_clear_pointer (&run->inputs, g_ptr_array_unref);
  g_clear_pointer (&run->want, g_ptr_array_unref);
  g_clear_pointer (&run->names, g_ptr_array_unref);
  g_clear_pointer (&run->seed_of, g_free);
}

GPtrArray *
truth_run_compute (TruthRun *run, GPtrArray *inputs, char **message)
{
  g_autoptr (GError) error = NULL;
  int n = tn_graph_n_outputs (run->c.graph);
  g_autofree TnTensor **results = g_new0 (TnTensor *, n + 1);
  if (!tn_interpret (run->c.graph, (TnTensor *const *) inputs->pdata, NULL, results, NULL, &error))
    {
      *message = g_strdup (error->message);
      return NULL;
    }
  GPtrArray *out = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  for (int i = 0; i < n; i++)
    g_ptr_array_add (out, results[i]);
  return out;
}
