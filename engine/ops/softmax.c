/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/move.h"

/* Softmax and what is built on it. The largest logit is taken off before the exponential, so nothing overflows; -inf gets
 * probability 0, a line of nothing but -inf becomes NaN. */

#define FOR_EACH_LINE(v, first)                                                                                        \
  for (int64_t o_ = 0; o_ < (v).outer; o_++)                                                                           \
    for (int64_t first = o_ * (v).n * (v).inner, end_ = first + (v).inner; first < end_; first++)

static gboolean
infer_softmax (TnNode *node, GError **error)
{
  int axis;
  if (!tn_infer_same_float (node, error) || !tn_infer_axis (node, "axis", tn_in_shape (node, 0)->n_dims, &axis, error))
    return FALSE;
  if (node->n_inputs == 2 && !tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("y and dy must have one shape"));
  return tn_infer_unary (node, error);
}

static void
softmax_cost (const TnNode *node, TnCost *cost)
{
  cost->flops = 4 * (double) tn_shape_count (tn_in_shape (node, 0));
}

static TnAxisView
axis_view (const TnKernelContext *context)
{
  const TnShape *x = tn_in_shape (context->node, 0);
  return tn_axis_view (x, tn_node_axis (context->node, "axis", x->n_dims));
}

/* Largest value and Σ exp (x - largest) of a line. */
#define LINE_MAXIMUM(x, n, stride, largest)                                                                            \
  double largest = -INFINITY;                                                                                          \
  for (int64_t i = 0; i < (n); i++)                                                                                    \
    largest = (x)[i * (stride)] > largest ? (x)[i * (stride)] : largest;
#define LINE_SUM(x, n, stride, largest, sum)                                                                           \
  double sum = 0;                                                                                                      \
  for (int64_t i = 0; i < (n); i++)                                                                                    \
    sum += exp ((x)[i * (stride)] - largest);

static gboolean
softmax_kernel (const TnKernelContext *context, GError **error)
{
  TnAxisView v = axis_view (context);
  gboolean logarithm = tn_node_is (context->node, "LogSoftmax");
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    FOR_EACH_LINE (v, first)
      {
        const T *x = (const T *) context->in[0] + first;
        T *y = (T *) context->out[0] + first;
        LINE_MAXIMUM (x, v.n, v.inner, largest)
        LINE_SUM (x, v.n, v.inner, largest, sum)
        double log_sum = log (sum);
        for (int64_t i = 0; i < v.n; i++)
          y[i * v.inner] = (T) (logarithm ? x[i * v.inner] - largest - log_sum : exp (x[i * v.inner] - largest) / sum);
      }
  });
  return TRUE;
}

/* SoftmaxGrad: dx = y · (dy - Σ y · dy). LogSoftmaxGrad: dx = dy - exp (y) · Σ dy. */
static gboolean
softmax_grad_kernel (const TnKernelContext *context, GError **error)
{
  TnAxisView v = axis_view (context);
  gboolean logarithm = tn_node_is (context->node, "LogSoftmaxGrad");
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    FOR_EACH_LINE (v, first)
      {
        const T *y = (const T *) context->in[0] + first, *dy = (const T *) context->in[1] + first;
        T *dx = (T *) context->out[0] + first;
        double sum = 0;
        for (int64_t i = 0; i < v.n; i++)
          sum += logarithm ? dy[i * v.inner] : (double) y[i * v.inner] * dy[i * v.inner];
        for (int64_t i = 0; i < v.n; i++)
          dx[i * v.inner] = (T) (logarithm ? dy[i * v.inner] - exp (y[i * v.inner]) * sum : y[i * v.inner] * (dy[i * v.inner] - sum));
      }
  });
  return TRUE;
}

static void
softmax_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  g_autofree char *name = g_strconcat (node->op->name, "Grad", NULL);
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, name, TN_IN ((TnValue *) &node->outputs[0], gradient->grad_outputs[0]), node->n_attrs,
             node->attrs);
}

/* ---- cross entropy of logits [N, K] ---- */

static gboolean
infer_loss_and_backprop (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  tn_set_output (node, 0, tn_in_dtype (node, 0), TN_SHAPE (x->dims[0]));
  tn_set_output (node, 1, tn_in_dtype (node, 0), *x);
  return TRUE;
}

static gboolean
infer_dense (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  if (!tn_infer_same_float (node, error))
    return FALSE;
  if (x->n_dims != 2 || !tn_shape_equal (x, tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("logits and labels must both be [N, K]"));
  return infer_loss_and_backprop (node, error);
}

static gboolean
infer_sparse (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0), *labels = tn_in_shape (node, 1);
  if (!tn_dtype_is_float (tn_in_dtype (node, 0)))
    return tn_infer_error (node, error, _ ("logits must be floating-point"));
  if (!tn_infer_index_input (node, 1, error))
    return FALSE;
  if (x->n_dims != 2 || labels->n_dims != 1 || labels->dims[0] != x->dims[0])
    return tn_infer_error (node, error, _ ("logits must be [N, K] and labels [N]"));
  return infer_loss_and_backprop (node, error);
}

static void
cross_entropy_cost (const TnNode *node, TnCost *cost)
{
  cost->flops = 7 * (double) tn_shape_count (tn_in_shape (node, 0));
}

/* loss = Σ labels · (log Σ exp x - x); backprop = softmax · Σ labels - labels. Labels of 0 do not meet infinite logits. */
static gboolean
dense_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *shape = tn_in_shape (context->node, 0);
  int64_t n = shape->dims[0], k = shape->dims[1];
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    for (int64_t row = 0; row < n; row++)
      {
        const T *x = (const T *) context->in[0] + row * k, *labels = (const T *) context->in[1] + row * k;
        T *loss = (T *) context->out[0] + row, *back = (T *) context->out[1] + row * k;
        LINE_MAXIMUM (x, k, 1, largest)
        LINE_SUM (x, k, 1, largest, sum)
        double log_sum = log (sum), total = 0, weight = 0;
        for (int64_t i = 0; i < k; i++)
          {
            weight += labels[i];
            total += labels[i] != 0 ? labels[i] * (log_sum - (x[i] - largest)) : 0;
          }
        *loss = (T) total;
        for (int64_t i = 0; i < k; i++)
          back[i] = (T) (exp (x[i] - largest) / sum * weight - labels[i]);
      }
  });
  return TRUE;
}

static gboolean
sparse_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_in_shape (node, 0)->dims[0], k = tn_in_shape (node, 0)->dims[1];
  double scale = tn_node_float (node, "grad_scale");
  for (int64_t row = 0; row < n; row++)
    {
      int64_t label = tn_index_at (context, 1, row);
      if (label < 0 || label >= k)
        return tn_infer_error (node, error,
                               _ ("label %" PRId64 " in row %" PRId64
                                  " is not one of the %" PRId64 " classes 0 to %" PRId64),
                               (gint64) label, (gint64) row, (gint64) k, (gint64) k - 1);
    }
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    for (int64_t row = 0; row < n; row++)
      {
        const T *x = (const T *) context->in[0] + row * k;
        T *loss = (T *) context->out[0] + row, *back = (T *) context->out[1] + row * k;
        int64_t label = tn_index_at (context, 1, row);
        LINE_MAXIMUM (x, k, 1, largest)
        LINE_SUM (x, k, 1, largest, sum)
        *loss = (T) (log (sum) - (x[label] - largest));
        for (int64_t i = 0; i < k; i++)
          back[i] = (T) ((exp (x[i] - largest) / sum - (i == label ? 1 : 0)) * scale);
      }
  });
  return TRUE;
}

static TnValue *
times_loss (TnGradient *gradient, TnValue *per_logit)
{
  TnValue *dloss =
      tn_op (gradient->graph, "ExpandDims", TN_IN (gradient->grad_outputs[0]), TN_ATTRS (tn_attr_int ("axis", 1)));
  return tn_op (gradient->graph, "Mul", TN_IN (per_logit, dloss), TN_NO_ATTRS);
}

static void
cross_entropy_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  if (gradient->grad_outputs[0] == NULL)
    return;
  if (gradient->wanted[0])
    gradient->grad_inputs[0] = times_loss (gradient, (TnValue *) &node->outputs[1]);
  if (gradient->wanted[1])
    {
      TnValue *log_p =
          tn_op (gradient->graph, "LogSoftmax", TN_IN (node->inputs[0]), TN_ATTRS (tn_attr_int ("axis", 1)));
      gradient->grad_inputs[1] = times_loss (gradient, tn_op (gradient->graph, "Neg", TN_IN (log_p), TN_NO_ATTRS));
    }
}

static const TnAttrSpec axis_attrs[] = { { "axis", TN_ATTR_INT, .number = -1 }, { 0 } };
static const TnAttrSpec sparse_attrs[] = { { "grad_scale", TN_ATTR_FLOAT, .number = 1 }, { 0 } };

#define UNARY_ROW .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = axis_attrs, .infer = infer_softmax, .cost = softmax_cost
#define GRAD_ROW .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = axis_attrs, .infer = infer_softmax, .cost = softmax_cost

const TnOp tn_ops_softmax[] = {
  { .name = "Softmax", .doc = "y = exp (x) / Σ exp (x) along axis", UNARY_ROW, .gradient = softmax_gradient, .reference = softmax_kernel },
  { .name = "SoftmaxGrad", .doc = "y, dy: y·(dy - Σ y·dy)", GRAD_ROW, .reference = softmax_grad_kernel },
  { .name = "LogSoftmax", .doc = "y = x - log Σ exp (x) along axis", UNARY_ROW, .gradient = softmax_gradient, .reference = softmax_kernel },
  { .name = "LogSoftmaxGrad", .doc = "y, dy: dy - exp (y)·Σ dy", GRAD_ROW, .reference = softmax_grad_kernel },
  { .name = "SoftmaxCrossEntropyWithLogits", .doc = "logits, labels [N,K]: loss [N] = -Σ labels·log softmax, and its gradient.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 2, .infer = infer_dense, .gradient = cross_entropy_gradient, .cost = cross_entropy_cost, .reference = dense_kernel },
  { .name = "SparseSoftmaxCrossEntropyWithLogits", .doc = "logits [N,K], labels [N]: loss [N] = -log softmax at the label, and its gradient times grad_scale.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 2, .attrs = sparse_attrs, .infer = infer_sparse, .gradient = cross_entropy_gradient, .cost = cross_entropy_cost, .reference = sparse_kernel },
  { 0 },
};
