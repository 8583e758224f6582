/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/error.h"
#include "ops/move.h"
#include "ops/norm-rows.h"

/* L2Normalize along one axis and LRN across channels. Gradient rows take x, dy. */

/* ---- L2Normalize ---- */

gboolean
tn_norm_infer_l2 (TnNode *node, GError **error)
{
  int axis;
  if (!tn_infer_same_float (node, error) || !tn_infer_axis (node, "axis", tn_in_shape (node, 0)->n_dims, &axis, error))
    return FALSE;
  if (node->n_inputs == 2 && !tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("dy must have the shape of x"));
  return tn_infer_unary (node, error);
}

#define FOR_EACH_LINE(v, first)                                                                                        \
  for (int64_t o_ = 0; o_ < (v).outer; o_++)                                                                           \
    for (int64_t first = o_ * (v).n * (v).inner, end_ = first + (v).inner; first < end_; first++)

gboolean
tn_norm_l2_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *shape = tn_in_shape (context->node, 0);
  TnAxisView v = tn_axis_view (shape, tn_node_axis (context->node, "axis", shape->n_dims));
  double epsilon = tn_node_float (context->node, "epsilon");
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0];
    T *y = context->out[0];
    FOR_EACH_LINE (v, first)
      {
        double squares = 0;
        for (int64_t i = 0; i < v.n; i++)
          squares += (double) x[first + i * v.inner] * x[first + i * v.inner];
        double norm = sqrt (squares < epsilon ? epsilon : squares);
        for (int64_t i = 0; i < v.n; i++)
          y[first + i * v.inner] = (T) (x[first + i * v.inner] / norm);
      }
  });
  return TRUE;
}

gboolean
tn_norm_l2_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *shape = tn_in_shape (context->node, 0);
  TnAxisView v = tn_axis_view (shape, tn_node_axis (context->node, "axis", shape->n_dims));
  double epsilon = tn_node_float (context->node, "epsilon");
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0], *dy = context->in[1];
    T *dx = context->out[0];
    FOR_EACH_LINE (v, first)
      {
        double squares = 0, products = 0;
        for (int64_t i = 0; i < v.n; i++)
          {
            squares += (double) x[first + i * v.inner] * x[first + i * v.inner];
            products += (double) x[first + i * v.inner] * dy[first + i * v.inner];
          }
        double norm = sqrt (squares < epsilon ? epsilon : squares), along = squares < epsilon ? 0 : products / squares;
        for (int64_t i = 0; i < v.n; i++)
          dx[first + i * v.inner] = (T) ((dy[first + i * v.inner] - x[first + i * v.inner] * along) / norm);
      }
  });
  return TRUE;
}

void
tn_norm_l2_gradient (TnGradient *gradient)
{
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "L2NormalizeGrad", TN_IN (gradient->node->inputs[0], gradient->grad_outputs[0]),
             gradient->node->n_attrs, gradient->node->attrs);
}

/* ---- LRN ---- */

static void
reach (const TnNode *node, int64_t *before, int64_t *after)
{
  gint64 size = tn_node_int (node, "size"), radius = tn_node_int (node, "depth_radius");
  *before = size > 0 ? size / 2 : radius;
  *after = size > 0 ? (size - 1) / 2 : radius;
}

gboolean
tn_norm_infer_lrn (TnNode *node, GError **error)
{
  int64_t before, after;
  reach (node, &before, &after);
  if (!tn_infer_same_float (node, error))
    return FALSE;
  if (tn_in_shape (node, 0)->n_dims < 2 || MIN (before, after) < 0 || MAX (before, after) > G_MAXINT32)
    return tn_infer_error (node, error, _ ("the input must be [N, C, ...] and the window not negative"));
  if (node->n_inputs == 2 && !tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("dy must have the shape of x"));
  return tn_infer_unary (node, error);
}

void
tn_norm_lrn_cost (const TnNode *node, TnCost *cost)
{
  int64_t before, after;
  reach (node, &before, &after);
  cost->flops = (2.0 * (double) (before + after + 1) + 3) * (double) tn_shape_count (tn_in_shape (node, 0));
}

/* bias + alpha · Σ x² around each channel of one line of channels. */
#define LINE_SCALES(T)                                                                                                 \
  for (int64_t c = 0; c < v.n; c++)                                                                                    \
    {                                                                                                                  \
      double squares = 0;                                                                                              \
      for (int64_t k = MAX (c - before, 0); k <= MIN (c + after, v.n - 1); k++)                                        \
        squares += (double) x[first + k * v.inner] * x[first + k * v.inner];                                           \
      scales[c] = bias + alpha * squares;                                                                              \
    }

#define LRN_SETTINGS                                                                                                   \
  TnAxisView v = tn_axis_view (tn_in_shape (context->node, 0), 1);                                                     \
  double bias = tn_node_float (context->node, "bias"), alpha = tn_node_float (context->node, "alpha");                 \
  double beta = tn_node_float (context->node, "beta");                                                                 \
  int64_t before, after;                                                                                               \
  reach (context->node, &before, &after);                                                                              \
  g_autofree double *scales = tn_kernel_sums (context, v.n, error);                                                    \
  if (scales == NULL)                                                                                                  \
    return FALSE

gboolean
tn_norm_lrn_kernel (const TnKernelContext *context, GError **error)
{
  LRN_SETTINGS;
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0];
    T *y = context->out[0];
    FOR_EACH_LINE (v, first)
      {
        LINE_SCALES (T)
        for (int64_t c = 0; c < v.n; c++)
          y[first + c * v.inner] = (T) (x[first + c * v.inner] * pow (scales[c], -beta));
      }
  });
  return TRUE;
}

/* dx_i = dy_i s_i^-beta - 2 alpha beta x_i Σ_j dy_j x_j s_j^(-beta-1) over the channels j whose window holds i. */
gboolean
tn_norm_lrn_grad_kernel (const TnKernelContext *context, GError **error)
{
  LRN_SETTINGS;
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0], *dy = context->in[1];
    T *dx = context->out[0];
    FOR_EACH_LINE (v, first)
      {
        LINE_SCALES (T)
        for (int64_t c = 0; c < v.n; c++)
          {
            double sum = 0;
            for (int64_t j = MAX (c - after, 0); j <= MIN (c + before, v.n - 1); j++)
              sum += (double) dy[first + j * v.inner] * x[first + j * v.inner] * pow (scales[j], -beta - 1);
            dx[first + c * v.inner] = (T) (dy[first + c * v.inner] * pow (scales[c], -beta)
                                           - 2 * alpha * beta * x[first + c * v.inner] * sum);
          }
      }
  });
  return TRUE;
}

void
tn_norm_lrn_gradient (TnGradient *gradient)
{
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "LRNGrad", TN_IN (gradient->node->inputs[0], gradient->grad_outputs[0]),
             gradient->node->n_attrs, gradient->node->attrs);
}
