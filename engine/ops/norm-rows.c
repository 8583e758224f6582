/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/norm-rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ops/move.h"

/* LayerNorm, GroupNorm, InstanceNorm and RmsNorm: x is rows of equal length, each normalised alone; element i of the whole
 * tensor is scaled by gamma[i / inner mod n_params].
 *
 *   y = x̂ · gamma + beta,  x̂ = (x - mean) · rstd      RmsNorm: mean = 0 and no beta
 */
typedef struct
{
  gboolean centred;
  int64_t rows, length;
  int64_t inner, n_params;
  TnShape params, stats;
} Rows;

static gboolean
resolve_layer (const TnNode *node, const TnShape *x, Rows *r, GError **error)
{
  int norm, params;
  if (!tn_infer_axis (node, "begin_norm_axis", x->n_dims, &norm, error))
    return FALSE;
  params = norm;
  if (r->centred && !tn_infer_axis (node, "begin_params_axis", x->n_dims, &params, error))
    return FALSE;
  r->rows = tn_shape_span (x, 0, norm);
  r->length = tn_shape_span (x, norm, x->n_dims);
  r->inner = 1;
  r->params = tn_shape_make (x->n_dims - params, x->dims + params);
  r->stats = *x;
  for (int d = norm; d < x->n_dims; d++)
    r->stats.dims[d] = 1;
  return TRUE;
}

static gboolean
resolve_group (const TnNode *node, const TnShape *x, Rows *r, GError **error)
{
  if (x->n_dims < 2)
    return tn_infer_error (node, error, _ ("the input must be [N, C, ...]"));
  int64_t groups = g_str_has_prefix (node->op->name, "Instance") ? x->dims[1] : tn_node_int (node, "num_groups");
  if (groups < 1 || x->dims[1] % groups != 0)
    return tn_infer_error (node, error,
                           _ ("%" PRId64 " channels do not divide into %" PRId64 " groups"),
                           (gint64) x->dims[1], (gint64) groups);
  r->inner = tn_shape_span (x, 2, x->n_dims);
  r->rows = x->dims[0] * groups;
  r->length = x->dims[1] / groups * r->inner;
  r->params = TN_SHAPE (x->dims[1]);
  r->stats = TN_SHAPE (x->dims[0], groups);
  return TRUE;
}

static gboolean
resolve (const TnNode *node, const TnShape *x, Rows *r, GError **error)
{
  *r = (Rows){ .centred = !g_str_has_prefix (node->op->name, "Rms") };
  gboolean by_group = g_str_has_prefix (node->op->name, "Group") || g_str_has_prefix (node->op->name, "Instance");
  if (!(by_group ? resolve_group : resolve_layer) (node, x, r, error))
    return FALSE;
  r->n_params = tn_shape_count (&r->params);
  return TRUE;
}

static gboolean
check_params (const TnNode *node, const Rows *r, int first, int last, GError **error)
{
  for (int i = first; i <= last; i++)
    if (!tn_shape_equal (tn_in_shape (node, i), &r->params))
      {
        g_autofree char *text = tn_shape_to_string (&r->params);
        return tn_infer_error (node, error, _ ("gamma and beta must have shape %s"), text);
      }
  return TRUE;
}

gboolean
tn_norm_infer_rows (TnNode *node, GError **error)
{
  Rows r;
  if (!tn_infer_same_float (node, error) || !resolve (node, tn_in_shape (node, 0), &r, error)
      || !check_params (node, &r, 1, r.centred ? 2 : 1, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), *tn_in_shape (node, 0));
  for (int i = 1; i < node->n_outputs; i++)
    tn_set_output (node, i, tn_in_dtype (node, 0), r.stats);
  return TRUE;
}

gboolean
tn_norm_infer_rows_grad (TnNode *node, GError **error)
{
  Rows r;
  if (!tn_infer_same_float (node, error) || !resolve (node, tn_in_shape (node, 1), &r, error)
      || !check_params (node, &r, 2, 2, error))
    return FALSE;
  if (!tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("dy must have the shape of x"));
  for (int i = 3; i < node->n_inputs; i++)
    if (!tn_shape_equal (tn_in_shape (node, i), &r.stats))
      return tn_infer_error (node, error, _ ("input %d must be the forward row's statistics"), i);
  tn_set_output (node, 0, tn_in_dtype (node, 0), *tn_in_shape (node, 1));
  for (int i = 1; i < node->n_outputs; i++)
    tn_set_output (node, i, tn_in_dtype (node, 0), r.params);
  return TRUE;
}

void
tn_norm_rows_cost (const TnNode *node, TnCost *cost)
{
  cost->flops =
      (g_str_has_suffix (node->op->name, "Grad") ? 11 : 7) * (double) tn_shape_count (&node->outputs[0].shape);
}

gboolean
tn_norm_rows_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  double epsilon = tn_node_float (node, "epsilon");
  Rows r;
  if (!resolve (node, tn_in_shape (node, 0), &r, error))
    return FALSE;
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *x = context->in[0], *gamma = context->in[1], *beta = r.centred ? context->in[2] : NULL;
    T *y = context->out[0], *means = r.centred ? context->out[1] : NULL, *rstds = context->out[r.centred ? 2 : 1];
    for (int64_t row = 0; row < r.rows; row++)
      {
        int64_t first = row * r.length;
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < r.length && r.centred; i++)
          mean += x[first + i];
        mean = r.centred ? mean / (double) r.length : 0;
        for (int64_t i = 0; i < r.length; i++)
          squares += (x[first + i] - mean) * (x[first + i] - mean);
        double rstd = 1 / sqrt (squares / (double) r.length + epsilon);
        for (int64_t i = first; i < first + r.length; i++)
          {
            int64_t p = i / r.inner % r.n_params;
            y[i] = (T) ((x[i] - mean) * rstd * gamma[p] + (beta != NULL ? beta[p] : 0));
          }
        if (means != NULL)
          means[row] = (T) mean;
        rstds[row] = (T) rstd;
      }
  });
  return TRUE;
}

/* With g = dy · gamma: dx = rstd · (g - mean (g) - x̂ · mean (g · x̂)); RmsNorm without mean (g). */
gboolean
tn_norm_rows_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  Rows r;
  if (!resolve (node, tn_in_shape (node, 1), &r, error))
    return FALSE;
  g_autofree double *sums = tn_kernel_sums (context, 2 * r.n_params, error);
  if (sums == NULL)
    return FALSE;
  double *sum_gamma = sums, *sum_beta = sums + r.n_params;
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *dy = context->in[0], *x = context->in[1], *gamma = context->in[2];
    const T *means = r.centred ? context->in[3] : NULL, *rstds = context->in[r.centred ? 4 : 3];
    T *dx = context->out[0], *dgamma = context->out[1], *dbeta = r.centred ? context->out[2] : NULL;
    for (int64_t row = 0; row < r.rows; row++)
      {
        double mean = means != NULL ? means[row] : 0, rstd = rstds[row], sum = 0, products = 0;
        int64_t first = row * r.length;
        for (int64_t i = first; i < first + r.length; i++)
          {
            int64_t p = i / r.inner % r.n_params;
            double normal = (x[i] - mean) * rstd, g = (double) dy[i] * gamma[p];
            sum += g;
            products += g * normal;
            sum_gamma[p] += dy[i] * normal;
            sum_beta[p] += dy[i];
          }
        sum = r.centred ? sum / (double) r.length : 0;
        products /= (double) r.length;
        for (int64_t i = first; i < first + r.length; i++)
          {
            double g = (double) dy[i] * gamma[i / r.inner % r.n_params];
            dx[i] = (T) (rstd * (g - sum - (x[i] - mean) * rstd * products));
          }
      }
    for (int64_t p = 0; p < r.n_params; p++)
      {
        dgamma[p] = (T) sum_gamma[p];
        if (dbeta != NULL)
          dbeta[p] = (T) sum_beta[p];
      }
  });
  return TRUE;
}

void
tn_norm_rows_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  if (gradient->grad_outputs[0] == NULL)
    return;
  TnValue *inputs[5] = { gradient->grad_outputs[0], node->inputs[0], node->inputs[1] };
  int n = 3;
  for (int i = 1; i < node->n_outputs; i++)
    inputs[n++] = &node->outputs[i];
  g_autofree char *name = g_strconcat (node->op->name, "Grad", NULL);
  TnValue *dx = tn_op (gradient->graph, name, n, inputs, node->n_attrs, node->attrs);
  for (int i = 0; i < node->n_inputs; i++)
    gradient->grad_inputs[i] = tn_value_sibling (dx, i);
}
