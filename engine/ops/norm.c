/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/norm-rows.h"

/* BatchNorm over axis 1 of [N, C, ...]:
 *
 *   y = (x - mean) · invstd · gamma + beta,   invstd = 1 / √(variance + epsilon)
 *
 * Training takes mean and (biased) variance of the batch and moves the running ones in place:
 * running = momentum · running + (1 - momentum) · batch, with the n / (n - 1) variance, as MindSpore 2.10 was measured to.
 */

static gboolean
check_channels (const TnNode *node, int first, GError **error)
{
  const TnShape *x = tn_in_shape (node, tn_node_is (node, "BatchNorm") ? 0 : 1);
  if (x->n_dims < 2)
    return tn_infer_error (node, error, _ ("the input must be [N, C, ...]"));
  for (int i = first; i < node->n_inputs; i++)
    if (tn_in_shape (node, i)->n_dims != 1 || tn_in_shape (node, i)->dims[0] != x->dims[1])
      return tn_infer_error (node, error,
                             _ ("input %d must have one value for each of %" PRId64 " channels (axis 1)"), i,
                             (gint64) x->dims[1]);
  return TRUE;
}

static gboolean
infer_batch_norm (TnNode *node, GError **error)
{
  if (!tn_infer_same_float (node, error) || !check_channels (node, 1, error))
    return FALSE;
  double momentum = tn_node_float (node, "momentum");
  if (!(momentum >= 0 && momentum <= 1) || !(tn_node_float (node, "epsilon") >= 0))
    return tn_infer_error (node, error, _ ("momentum must be between 0 and 1, epsilon not negative"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), *tn_in_shape (node, 0));
  for (int i = 1; i < 5; i++)
    tn_set_output (node, i, tn_in_dtype (node, 0), *tn_in_shape (node, 1));
  return TRUE;
}

static gboolean
infer_batch_norm_grad (TnNode *node, GError **error)
{
  if (!tn_infer_same_float (node, error) || !check_channels (node, 2, error))
    return FALSE;
  if (!tn_shape_equal (tn_in_shape (node, 0), tn_in_shape (node, 1)))
    return tn_infer_error (node, error, _ ("dy must have the shape of x"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), *tn_in_shape (node, 1));
  for (int i = 1; i < 3; i++)
    tn_set_output (node, i, tn_in_dtype (node, 0), *tn_in_shape (node, 2));
  return TRUE;
}

static void
batch_norm_cost (const TnNode *node, TnCost *cost)
{
  double n = (double) tn_shape_count (&node->outputs[0].shape);
  cost->flops = (tn_node_bool (node, "is_training") ? 7 : 2) * n;
}

#define FOR_EACH_OF_CHANNEL(v, c, k)                                                                                   \
  for (int64_t o_ = 0; o_ < (v).outer; o_++)                                                                           \
    for (int64_t k = (o_ * (v).n + c) * (v).inner, end_ = k + (v).inner; k < end_; k++)

static gboolean
batch_norm_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  TnAxisView v = tn_axis_view (tn_in_shape (node, 0), 1);
  gboolean training = tn_node_bool (node, "is_training");
  double epsilon = tn_node_float (node, "epsilon"), keep = tn_node_float (node, "momentum"),
         n = (double) (v.outer * v.inner);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *x = context->in[0], *gamma = context->in[1], *beta = context->in[2], *old_mean = context->in[3],
            *old_variance = context->in[4];
    T *y = context->out[0], *new_mean = context->out[1], *new_variance = context->out[2], *saved_mean = context->out[3],
      *saved_invstd = context->out[4];
    for (int64_t c = 0; c < v.n; c++)
      {
        double mean = old_mean[c], variance = old_variance[c];
        if (training)
          {
            double sum = 0, squares = 0;
            FOR_EACH_OF_CHANNEL (v, c, k) sum += x[k];
            mean = sum / n;
            FOR_EACH_OF_CHANNEL (v, c, k) squares += (x[k] - mean) * (x[k] - mean);
            variance = squares / n;
            new_mean[c] = (T) (keep * old_mean[c] + (1 - keep) * mean);
            new_variance[c] = (T) (keep * old_variance[c] + (1 - keep) * squares / MAX (n - 1, 1));
          }
        else
          {
            new_mean[c] = old_mean[c];
            new_variance[c] = old_variance[c];
          }
        double invstd = 1 / sqrt (variance + epsilon);
        saved_mean[c] = (T) mean;
        saved_invstd[c] = (T) invstd;
        FOR_EACH_OF_CHANNEL (v, c, k) y[k] = (T) ((x[k] - mean) * invstd * gamma[c] + beta[c]);
      }
  });
  return TRUE;
}

/* dx = gamma · invstd · (dy - mean (dy) - x̂ · mean (dy · x̂)) in training; without the means where they were constants. */
static gboolean
batch_norm_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  TnAxisView v = tn_axis_view (tn_in_shape (node, 1), 1);
  gboolean training = tn_node_bool (node, "is_training");
  double n = (double) (v.outer * v.inner);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *dy = context->in[0], *x = context->in[1], *gamma = context->in[2], *mean = context->in[3],
            *invstd = context->in[4];
    T *dx = context->out[0], *dgamma = context->out[1], *dbeta = context->out[2];
    for (int64_t c = 0; c < v.n; c++)
      {
        double sum = 0, products = 0, centre = mean[c], scale = invstd[c];
        FOR_EACH_OF_CHANNEL (v, c, k)
        {
          sum += dy[k];
          products += dy[k] * ((x[k] - centre) * scale);
        }
        dgamma[c] = (T) products;
        dbeta[c] = (T) sum;
        double mean_dy = training ? sum / n : 0, mean_product = training ? products / n : 0;
        FOR_EACH_OF_CHANNEL (v, c, k)
        dx[k] = (T) (gamma[c] * scale * (dy[k] - mean_dy - (x[k] - centre) * scale * mean_product));
      }
  });
  return TRUE;
}

static void
batch_norm_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  if (gradient->grad_outputs[0] == NULL)
    return;
  TnValue *dx =
      tn_op (gradient->graph, "BatchNormGrad",
             TN_IN (gradient->grad_outputs[0], node->inputs[0], node->inputs[1], &node->outputs[3], &node->outputs[4]),
             TN_ATTRS (tn_attr_bool ("is_training", tn_node_bool (node, "is_training")),
                       tn_attr_float ("epsilon", tn_node_float (node, "epsilon"))));
  for (int i = 0; i < 3; i++)
    gradient->grad_inputs[i] = tn_value_sibling (dx, i);
}

static const TnAttrSpec batch_norm_attrs[] = { { "is_training", TN_ATTR_BOOL },
                                               { "epsilon", TN_ATTR_FLOAT, .number = 1e-5 },
                                               { "momentum", TN_ATTR_FLOAT, .number = 0.9 },
                                               { 0 } };
static const TnAttrSpec batch_norm_grad_attrs[] = { { "is_training", TN_ATTR_BOOL },
                                                    { "epsilon", TN_ATTR_FLOAT, .number = 1e-5 },
                                                    { 0 } };
static const TnAttrSpec layer_norm_attrs[] = { { "begin_norm_axis", TN_ATTR_INT, .number = 1 },
                                               { "begin_params_axis", TN_ATTR_INT, .number = 1 },
                                               { "epsilon", TN_ATTR_FLOAT, .number = 1e-7 },
                                               { 0 } };
static const TnAttrSpec group_norm_attrs[] = { { "num_groups", TN_ATTR_INT, TRUE },
                                               { "epsilon", TN_ATTR_FLOAT, .number = 1e-5 },
                                               { 0 } };
static const TnAttrSpec instance_norm_attrs[] = { { "epsilon", TN_ATTR_FLOAT, .number = 1e-5 }, { 0 } };
static const TnAttrSpec rms_norm_attrs[] = { { "begin_norm_axis", TN_ATTR_INT, .number = -1 },
                                             { "epsilon", TN_ATTR_FLOAT, .number = 1e-6 },
                                             { 0 } };
static const TnAttrSpec l2_attrs[] = { { "axis", TN_ATTR_INT }, { "epsilon", TN_ATTR_FLOAT, .number = 1e-4 }, { 0 } };
static const TnAttrSpec lrn_attrs[] = {
  { "depth_radius", TN_ATTR_INT, .number = 5 }, { "size", TN_ATTR_INT },
  { "bias", TN_ATTR_FLOAT, .number = 1 },       { "alpha", TN_ATTR_FLOAT, .number = 1 },
  { "beta", TN_ATTR_FLOAT, .number = 0.5 },     { 0 }
};

#define ROWS .min_inputs = 3, .max_inputs = 3, .n_outputs = 3, .infer = tn_norm_infer_rows, .gradient = tn_norm_rows_gradient, .cost = tn_norm_rows_cost, .reference = tn_norm_rows_kernel
#define ROWS_GRAD .min_inputs = 5, .max_inputs = 5, .n_outputs = 3, .infer = tn_norm_infer_rows_grad, .cost = tn_norm_rows_cost, .reference = tn_norm_rows_grad_kernel

const TnOp tn_ops_norm[] = {
  { .name = "BatchNorm", .doc = "x, gamma, beta, mean, variance: y, running mean and variance, mean and 1/√(variance+ε) that were used.", .flags = TN_OP_EFFECT, .min_inputs = 5, .max_inputs = 5, .n_outputs = 5, .attrs = batch_norm_attrs, .infer = infer_batch_norm, .gradient = batch_norm_gradient, .cost = batch_norm_cost, .reference = batch_norm_kernel, .mutates = { 0, 4, 5, 0 } },
  { .name = "BatchNormGrad", .doc = "dy, x, gamma, saved mean and 1/std: dx, dgamma, dbeta.", .min_inputs = 5, .max_inputs = 5, .n_outputs = 3, .attrs = batch_norm_grad_attrs, .infer = infer_batch_norm_grad, .cost = batch_norm_cost, .reference = batch_norm_grad_kernel },
  { .name = "LayerNorm", .doc = "x, gamma, beta: y normalised from begin_norm_axis on, mean, 1/std.", ROWS, .attrs = layer_norm_attrs },
  { .name = "LayerNormGrad", .doc = "dy, x, gamma, mean, 1/std: dx, dgamma, dbeta.", ROWS_GRAD, .attrs = layer_norm_attrs },
  { .name = "GroupNorm", .doc = "x, gamma, beta: y normalised over each of num_groups groups of channels, mean, 1/std.", ROWS, .attrs = group_norm_attrs },
  { .name = "GroupNormGrad", .doc = "dy, x, gamma, mean, 1/std: dx, dgamma, dbeta.", ROWS_GRAD, .attrs = group_norm_attrs },
  { .name = "InstanceNorm", .doc = "x, gamma, beta: y normalised over each channel of each sample, mean, 1/std.", ROWS, .attrs = instance_norm_attrs },
  { .name = "InstanceNormGrad", .doc = "dy, x, gamma, mean, 1/std: dx, dgamma, dbeta.", ROWS_GRAD, .attrs = instance_norm_attrs },
  { .name = "RmsNorm", .doc = "x, gamma: y = x·gamma/√(mean (x²) + ε) from begin_norm_axis on, 1/√(...).", .min_inputs = 2, .max_inputs = 2, .n_outputs = 2, .attrs = rms_norm_attrs, .infer = tn_norm_infer_rows, .gradient = tn_norm_rows_gradient, .cost = tn_norm_rows_cost, .reference = tn_norm_rows_kernel },
  { .name = "RmsNormGrad", .doc = "dy, x, gamma, 1/√(...): dx, dgamma.", .min_inputs = 4, .max_inputs = 4, .n_outputs = 2, .attrs = rms_norm_attrs, .infer = tn_norm_infer_rows_grad, .cost = tn_norm_rows_cost, .reference = tn_norm_rows_grad_kernel },
  { .name = "L2Normalize", .doc = "y = x / √max (Σ x² along axis, ε)", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = l2_attrs, .infer = tn_norm_infer_l2, .gradient = tn_norm_l2_gradient, .reference = tn_norm_l2_kernel },
  { .name = "L2NormalizeGrad", .doc = "x, dy: dx.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = l2_attrs, .infer = tn_norm_infer_l2, .reference = tn_norm_l2_grad_kernel },
  { .name = "LRN", .doc = "y = x / (bias + alpha·Σ x² over depth_radius channels to each side)^beta; size instead: that many channels.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = lrn_attrs, .infer = tn_norm_infer_lrn, .gradient = tn_norm_lrn_gradient, .cost = tn_norm_lrn_cost, .reference = tn_norm_lrn_kernel },
  { .name = "LRNGrad", .doc = "x, dy: dx.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = lrn_attrs, .infer = tn_norm_infer_lrn, .cost = tn_norm_lrn_cost, .reference = tn_norm_lrn_grad_kernel },
  { 0 },
};
