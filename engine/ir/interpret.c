/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/interpret.h"
#include "base/error.h"
#include "ops/op.h"
#include <inttypes.h>

static const TnRandomState no_random = { 0 };

static void
unref_all (TnTensor **tensors, int n)
{
  for (int i = 0; i < n; i++)
    g_clear_pointer (&tensors[i], tn_tensor_unref);
}

/* ---- control flow: forward only ---- */

static gboolean
run_subgraph (const TnGraph *graph, TnTensor *const *inputs, TnTensor **outputs, const TnRandomState *random, GError **error)
{
  g_autofree TnTensor **parameters = g_new0 (TnTensor *, MAX (tn_graph_n_parameters (graph), 1));
  return tn_interpret (graph, inputs, parameters, outputs, random, error);
}

/* If(condition, x...): subgraph 0 where condition is true, else 1, both on x... */
static gboolean
run_if (const TnNode *node, TnTensor *const *inputs, TnTensor **outputs, const TnRandomState *random, GError **error)
{
  int branch = tn_tensor_get (inputs[0], 0) != 0 ? 0 : 1;
  return run_subgraph (node->subgraphs[branch], inputs + 1, outputs, random, error);
}

/* While(x...): as long as subgraph 0 (x...) is true, x... = subgraph 1 (x...). */
static gboolean
run_while (const TnNode *node, TnTensor *const *inputs, TnTensor **outputs, const TnRandomState *random, GError **error)
{
  g_autofree TnTensor **state = g_new0 (TnTensor *, node->n_inputs);
  for (int i = 0; i < node->n_inputs; i++)
    state[i] = tn_tensor_ref (inputs[i]);
  gint64 limit = tn_node_int (node, "max_iterations");
  for (gint64 round = 0;; round++)
    {
      g_autoptr (TnTensor) go_on = NULL;
      g_autofree TnTensor **next = g_new0 (TnTensor *, node->n_inputs);
      gboolean ok = run_subgraph (node->subgraphs[0], state, &go_on, random, error);
      if (ok && tn_tensor_get (go_on, 0) == 0)
        break;
      if (ok && round == limit)
        ok = tn_infer_error (node, error, _ ("the loop did not end within max_iterations = %" PRId64), limit);
      if (!ok || !run_subgraph (node->subgraphs[1], state, next, random, error))
        {
          unref_all (state, node->n_inputs);
          return FALSE;
        }
      unref_all (state, node->n_inputs);
      for (int i = 0; i < node->n_inputs; i++)
        state[i] = next[i];
    }
  for (int i = 0; i < node->n_inputs; i++)
    outputs[i] = state[i];
  return TRUE;
}

/* ---- one node ---- */

static gboolean
is_half (TnDType dtype)
{
  return dtype == TN_DTYPE_F16 || dtype == TN_DTYPE_BF16;
}

/* float16 and bfloat16: the kernel works on float32 copies, results are rounded once. */
static TnNode *
widen_node (const TnNode *node, TnNode *copy, TnValue *in_values, TnValue *out_values, TnValue **in_pointers)
{
  *copy = *node;
  for (int i = 0; i < node->n_inputs; i++)
    {
      in_values[i] = *node->inputs[i];
      if (is_half (in_values[i].dtype))
        in_values[i].dtype = TN_DTYPE_F32;
      in_pointers[i] = &in_values[i];
    }
  for (int i = 0; i < node->n_outputs; i++)
    {
      out_values[i] = node->outputs[i];
      if (is_half (out_values[i].dtype))
        out_values[i].dtype = TN_DTYPE_F32;
    }
  copy->inputs = in_pointers;
  copy->outputs = out_values;
  return copy;
}

static gboolean
run_kernel (const TnNode *node, TnTensor *const *inputs, TnTensor *const *outputs, const TnRandomState *random, GError **error)
{
  g_autofree void **in = g_new0 (void *, node->n_inputs + 1);
  g_autofree void **out = g_new0 (void *, node->n_outputs + 1);
  for (int i = 0; i < node->n_inputs; i++)
    in[i] = tn_tensor_data (inputs[i]);
  for (int i = 0; i < node->n_outputs; i++)
    out[i] = tn_tensor_data (outputs[i]);
  TnKernelContext context = { node, in, out, random->seed, random->step, random->first_sample };
  return node->op->reference (&context, error);
}

static gboolean
run_widened (const TnNode *node, TnTensor *const *inputs, TnTensor *const *outputs, const TnRandomState *random, GError **error)
{
  g_autofree TnValue *in_values = g_new0 (TnValue, node->n_inputs + 1);
  g_autofree TnValue *out_values = g_new0 (TnValue, node->n_outputs + 1);
  g_autofree TnValue **pointers = g_new0 (TnValue *, node->n_inputs + 1);
  g_autoptr (GPtrArray) held = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  g_autofree TnTensor **wide_in = g_new0 (TnTensor *, node->n_inputs + 1);
  g_autofree TnTensor **wide_out = g_new0 (TnTensor *, node->n_outputs + 1);
  TnNode wide;
  widen_node (node, &wide, in_values, out_values, pointers);
  for (int i = 0; i < node->n_inputs; i++)
    {
      wide_in[i] = is_half (inputs[i]->dtype) ? tn_tensor_cast (inputs[i], TN_DTYPE_F32, error) : tn_tensor_ref (inputs[i]);
      if (wide_in[i] == NULL)
        return FALSE;
      g_ptr_array_add (held, wide_in[i]);
    }
  for (int i = 0; i < node->n_outputs; i++)
    {
      int from = node->op->mutates[MIN (i, TN_MAX_MUTATED - 1)];
      wide_out[i] = from > 0 && i < TN_MAX_MUTATED ? tn_tensor_ref (wide_in[from - 1])
                                                   : tn_tensor_new (out_values[i].dtype, out_values[i].shape, error);
      if (wide_out[i] == NULL)
        return FALSE;
      g_ptr_array_add (held, wide_out[i]);
    }
  if (!run_kernel (&wide, wide_in, wide_out, random, error))
    return FALSE;
  for (int i = 0; i < node->n_outputs; i++)
    if (!tn_tensor_copy (outputs[i], wide_out[i], error))
      return FALSE;
  return TRUE;
}

gboolean
tn_interpret_node (const TnNode *node, TnTensor *const *inputs, TnTensor **outputs, const TnRandomState *random, GError **error)
{
  if (random == NULL)
    random = &no_random;
  if (tn_node_is (node, "If"))
    return run_if (node, inputs, outputs, random, error);
  if (tn_node_is (node, "While"))
    return run_while (node, inputs, outputs, random, error);

  gboolean wide = FALSE;
  for (int i = 0; i < node->n_outputs; i++)
    {
      int from = i < TN_MAX_MUTATED ? node->op->mutates[i] : 0;
      outputs[i] = from > 0 ? tn_tensor_ref (inputs[from - 1])
                            : tn_tensor_new (node->outputs[i].dtype, node->outputs[i].shape, error);
      if (outputs[i] == NULL)
        {
          unref_all (outputs, i);
          return FALSE;
        }
      wide |= is_half (node->outputs[i].dtype);
    }
  for (int i = 0; i < node->n_inputs; i++)
    wide |= is_half (node->inputs[i]->dtype);
  /* Moving elements about needs no arithmetic, and Cast is where float16 comes from. */
  if (tn_node_is (node, "Cast") || (node->op->flags & TN_OP_VIEW) != 0)
    wide = FALSE;
  gboolean ok = wide ? run_widened (node, inputs, outputs, random, error) : run_kernel (node, inputs, outputs, random, error);
  if (!ok)
    unref_all (outputs, node->n_outputs);
  return ok;
}

/* ---- a graph ---- */

static gboolean
run_nodes (const TnGraph *graph, TnTensor ***values, TnTensor *const *inputs, TnTensor *const *parameters,
           const TnRandomState *random, GError **error)
{
  int next_input = 0, next_parameter = 0;
  for (int id = 0; id < tn_graph_n_nodes (graph); id++)
    {
      const TnNode *node = tn_graph_node (graph, id);
      TnTensor **results = values[id] = g_new0 (TnTensor *, node->n_outputs + 1);
      if (tn_node_is_input (node))
        results[0] = tn_tensor_ref (inputs[next_input++]);
      else if (tn_node_is_parameter (node))
        results[0] = tn_tensor_ref (parameters[next_parameter++]);
      else if (tn_node_is_constant (node))
        results[0] = tn_tensor_ref (tn_node_constant (node));
      else
        {
          g_autofree TnTensor **in = g_new0 (TnTensor *, node->n_inputs + 1);
          for (int i = 0; i < node->n_inputs; i++)
            in[i] = values[node->inputs[i]->node->id][node->inputs[i]->index];
          if (!tn_interpret_node (node, in, results, random, error))
            return FALSE;
        }
    }
  return TRUE;
}

gboolean
tn_interpret (const TnGraph *graph, TnTensor *const *inputs, TnTensor *const *parameters, TnTensor **outputs,
              const TnRandomState *random, GError **error)
{
  int n_nodes = tn_graph_n_nodes (graph);
  g_autofree TnTensor ***values = g_new0 (TnTensor **, n_nodes + 1);
  gboolean ok = run_nodes (graph, values, inputs, parameters, random, error);
  for (int i = 0; ok && i < tn_graph_n_outputs (graph); i++)
    {
      const TnValue *value = tn_graph_output (graph, i).value;
      outputs[i] = tn_tensor_ref (values[value->node->id][value->index]);
    }
  for (int id = 0; id < n_nodes && values[id] != NULL; id++)
    {
      unref_all (values[id], tn_graph_node (graph, id)->n_outputs);
      g_free (values[id]);
    }
  return ok;
}
