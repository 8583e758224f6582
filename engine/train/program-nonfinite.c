/* SPDX-License-Identifier: Apache-2.0 */
#include "train/program-private.h"
#include "base/error.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Finding what went wrong where a step's numbers are not finite. */

/* An exponent of ones: infinite or not a number. Counted without a branch, as this looks at all of the state before every checkpoint. */
static int64_t
count_nonfinite_f32 (const float *x, int64_t n)
{
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++)
    {
      uint32_t bits;
      memcpy (&bits, &x[i], sizeof bits);
      count += (bits & 0x7f800000u) == 0x7f800000u;
    }
  return count;
}

static int64_t
count_nonfinite (const TnTensor *tensor)
{
  int64_t count = 0, n = tn_tensor_count (tensor);
  if (!tn_dtype_is_float (tensor->dtype))
    return 0;
  if (tensor->dtype == TN_DTYPE_F32 && tn_tensor_is_contiguous (tensor))
    return count_nonfinite_f32 (tn_tensor_data (tensor), n);
  for (int64_t i = 0; i < n; i++)
    count += !isfinite (tn_tensor_get (tensor, i));
  return count;
}

static double
largest (const TnTensor *tensor)
{
  double most = 0;
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    most = fmax (most, fabs (tn_tensor_get (tensor, i)));
  return most;
}

char *
tn_program_find_nonfinite_state (const TnProgram *self)
{
  for (int i = 0; i < tn_program_n_slices (self); i++)
    {
      int rank;
      const TnStateEntry *entry = tn_program_slice (self, i, &rank);
      int64_t count = count_nonfinite (entry->tensor);
      if (count > 0 && tn_program_is_split (self))
        return g_strdup_printf (_ ("%s on rank %d, where %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " numbers are not finite"), entry->name, rank, count,
                                tn_tensor_count (entry->tensor));
      if (count > 0)
        return g_strdup_printf (_ ("%s, where %" PRId64 " of %" PRId64 " numbers are not finite"), entry->name, count,
                                tn_tensor_count (entry->tensor));
    }
  return NULL;
}

/* The name of the parameter whose gradient @value is; NULL if it is none. */
static const char *
gradient_of (const TnGraph *graph, const TnValue *value)
{
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    {
      TnNamedValue output = tn_graph_output (graph, i);
      if (output.value == value && g_str_has_prefix (output.name, "grad:"))
        return output.name + strlen ("grad:");
    }
  return NULL;
}

/* A norm of numbers that are all finite: their squares are more than float32 holds. The largest is what went wrong. */
static char *
describe_overflow (TnEager *eager, const TnGraph *graph, const TnNode *norm)
{
  const TnValue *worst = NULL;
  double most = -1;
  for (int i = 0; i < norm->n_inputs; i++)
    {
      TnTensor *tensor = tn_eager_value (eager, norm->inputs[i], NULL);
      double size = tensor != NULL ? largest (tensor) : -1;
      if (size > most)
        {
          most = size;
          worst = norm->inputs[i];
        }
    }
  const char *parameter = worst != NULL ? gradient_of (graph, worst) : NULL;
  if (worst == NULL)
    return g_strdup (norm->name);
  return g_strdup_printf (parameter != NULL ? _ ("gradient of %s, which reaches %.3g: the norm of all gradients is more than float32 holds")
                                            : _ ("output of %s, which reaches %.3g: the norm of all gradients is more than float32 holds"),
                          parameter != NULL ? parameter : worst->node->name, most);
}

static char *
describe_value (TnEager *eager, const TnGraph *graph, const TnNode *node, const TnValue *value, const TnTensor *tensor)
{
  if (tn_node_is (node, "GlobalNorm"))
    return describe_overflow (eager, graph, node);
  const char *parameter = gradient_of (graph, value);
  int64_t count = count_nonfinite (tensor), n = tn_tensor_count (tensor);
  if (parameter != NULL)
    return g_strdup_printf (_ ("gradient of %s (%s), where %" PRId64 " of %" PRId64 " numbers are not finite"), parameter, node->name,
                            count, n);
  return g_strdup_printf (_ ("output of %s, where %" PRId64 " of %" PRId64 " numbers are not finite"), node->name, count, n);
}

/* Where weights are split no rank can run the step alone: what it left in memory is looked at. */
static char *
find_nonfinite_gradient (TnProgram *self)
{
  const TnCompiled *compiled = self->current;
  for (int i = 0; compiled != NULL && i < tn_graph_n_outputs (compiled->whole); i++)
    {
      TnNamedValue output = tn_graph_output (compiled->whole, i);
      if (!g_str_has_prefix (output.name, "grad:"))
        continue;
      g_autoptr (TnTensor) tensor = tn_program_gather_output (self, compiled, output.name, NULL);
      int64_t count = tensor != NULL ? count_nonfinite (tensor) : 0;
      if (count > 0)
        return g_strdup_printf (_ ("gradient of %s (%s), where %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " numbers are not finite"),
                                output.name + strlen ("grad:"), output.value->node->name, count, tn_tensor_count (tensor));
    }
  return NULL;
}

char *
tn_program_find_nonfinite (TnProgram *self, const TnProgramBatch *batch, int64_t step)
{
  if (tn_program_is_split (self))
    return find_nonfinite_gradient (self);
  TnCompiled *compiled = tn_program_compiled (self, batch->n, TRUE, NULL);
  if (compiled == NULL)
    return NULL;
  tn_program_set_inputs (self, compiled, batch);
  g_autoptr (TnEager) eager = tn_program_new_eager (self, compiled, TRUE, step, batch->first_sample);
  for (int id = 0; id < tn_graph_n_nodes (compiled->built); id++)
    {
      const TnNode *node = tn_graph_node (compiled->built, id);
      if (node->phase == TN_PHASE_OPTIMIZER && (node->op->flags & TN_OP_LEAF) == 0)
        break;
      for (int i = 0; i < node->n_outputs; i++)
        {
          TnTensor *tensor = tn_eager_value (eager, &node->outputs[i], NULL);
          if (tensor != NULL && count_nonfinite (tensor) > 0)
            return describe_value (eager, compiled->built, node, &node->outputs[i], tensor);
        }
    }
  return NULL;
}
