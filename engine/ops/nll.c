/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ops/loss-rows.h"
#include "ops/move.h"

/* NLLLoss (log_p [N,K], target [N], weight [K] or none) -> loss, total weight. With w = weight[target]:
 *
 *   loss_n = -(1 - s) · w · log_p[target] - s / K · Σ_k weight[k] · log_p[k]       s: label_smoothing
 *
 * Rows whose target is ignore_index give 0 and weigh nothing; mean divides by Σ w. As torch's cross_entropy does.
 * NLLLossGrad takes dloss, log_p, target, total weight, weight or none.
 */

static gboolean
check (const TnNode *node, int logits, GError **error)
{
  const TnShape *x = tn_in_shape (node, logits), *target = tn_in_shape (node, logits + 1);
  double smoothing = tn_node_float (node, "label_smoothing");
  TnReduction reduction;
  if (!tn_infer_index_input (node, logits + 1, error) || !tn_loss_reduction (node, &reduction, error))
    return FALSE;
  if (!tn_dtype_is_float (tn_in_dtype (node, logits)) || reduction == TN_REDUCTION_BATCH_MEAN)
    return tn_infer_error (node, error, _ ("log-probabilities must be floating-point, reduction none, sum or mean"));
  if (x->n_dims != 2 || target->n_dims != 1 || target->dims[0] != x->dims[0])
    return tn_infer_error (node, error, _ ("log-probabilities must be [N, K] and targets [N]"));
  if (!(smoothing >= 0 && smoothing <= 1))
    return tn_infer_error (node, error, _ ("label_smoothing must be between 0 and 1"));
  int weight = node->n_inputs - 1;
  gboolean weighted = weight == (logits == 0 ? 2 : 4);
  if (weighted
      && (tn_in_shape (node, weight)->n_dims != 1 || tn_in_shape (node, weight)->dims[0] != x->dims[1]
          || tn_in_dtype (node, weight) != tn_in_dtype (node, logits)))
    return tn_infer_error (node, error, _ ("the class weights must be [K], of the dtype of the log-probabilities"));
  return TRUE;
}

static TnShape
loss_shape (const TnNode *node, int64_t n)
{
  TnReduction reduction = TN_REDUCTION_NONE;
  tn_loss_reduction (node, &reduction, NULL);
  return reduction == TN_REDUCTION_NONE ? TN_SHAPE (n) : TN_SHAPE_SCALAR;
}

gboolean
tn_nll_infer (TnNode *node, GError **error)
{
  if (!check (node, 0, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), loss_shape (node, tn_in_shape (node, 0)->dims[0]));
  tn_set_output (node, 1, tn_in_dtype (node, 0), TN_SHAPE_SCALAR);
  return TRUE;
}

gboolean
tn_nll_infer_grad (TnNode *node, GError **error)
{
  if (!check (node, 1, error))
    return FALSE;
  TnShape loss = loss_shape (node, tn_in_shape (node, 1)->dims[0]);
  if (!tn_shape_equal (&loss, tn_in_shape (node, 0)) || tn_shape_count (tn_in_shape (node, 3)) != 1
      || tn_in_dtype (node, 0) != tn_in_dtype (node, 1) || tn_in_dtype (node, 3) != tn_in_dtype (node, 1))
    return tn_infer_error (node, error, _ ("dloss and the total weight must be as the loss gives them"));
  tn_set_output (node, 0, tn_in_dtype (node, 1), *tn_in_shape (node, 1));
  return TRUE;
}

void
tn_nll_cost (const TnNode *node, TnCost *cost)
{
  int logits = tn_node_is (node, "NLLLoss") ? 0 : 1;
  const TnShape *x = tn_in_shape (node, logits);
  cost->flops = tn_node_float (node, "label_smoothing") > 0 ? 2 * (double) tn_shape_count (x) : 3 * (double) x->dims[0];
}

/* The target of a row, -1 where it is ignored; FALSE with an error where it is no class. */
static gboolean
target_at (const TnKernelContext *context, int input, int64_t row, int64_t classes, int64_t *target, GError **error)
{
  *target = tn_index_at (context, input, row);
  if (*target == tn_node_int (context->node, "ignore_index"))
    *target = -1;
  else if (*target < 0 || *target >= classes)
    return tn_infer_error (context->node, error,
                           _ ("target %" PRId64 " in row %" PRId64
                              " is not one of the %" PRId64 " classes 0 to %" PRId64),
                           (gint64) *target, (gint64) row, (gint64) classes, (gint64) classes - 1);
  return TRUE;
}

gboolean
tn_nll_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_in_shape (node, 0)->dims[0], k = tn_in_shape (node, 0)->dims[1];
  double smoothing = tn_node_float (node, "label_smoothing"), sum = 0, total = 0;
  TnReduction reduction = TN_REDUCTION_NONE;
  tn_loss_reduction (node, &reduction, NULL);
  TN_FLOAT_CASES (tn_in_dtype (node, 0), T, {
    const T *log_p = context->in[0], *weight = tn_has_input (node, 2) ? context->in[2] : NULL;
    T *loss = context->out[0];
    for (int64_t row = 0; row < n; row++, log_p += k)
      {
        int64_t target;
        if (!target_at (context, 1, row, k, &target, error))
          return FALSE;
        double own = 0;
        if (target >= 0)
          {
            double w = weight != NULL ? weight[target] : 1, smooth = 0;
            own = -(1 - smoothing) * w * log_p[target];
            for (int64_t c = 0; c < k && smoothing > 0; c++)
              smooth -= (weight != NULL ? weight[c] : 1.0) * log_p[c];
            own += smoothing / (double) k * smooth;
            total += w;
          }
        if (reduction == TN_REDUCTION_NONE)
          loss[row] = (T) own;
        sum += own;
      }
    if (reduction != TN_REDUCTION_NONE)
      loss[0] = (T) (reduction == TN_REDUCTION_MEAN ? sum / total : sum);
    ((T *) context->out[1])[0] = (T) total;
  });
  return TRUE;
}

gboolean
tn_nll_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  int64_t n = tn_in_shape (node, 1)->dims[0], k = tn_in_shape (node, 1)->dims[1];
  double smoothing = tn_node_float (node, "label_smoothing");
  TnReduction reduction = TN_REDUCTION_NONE;
  tn_loss_reduction (node, &reduction, NULL);
  TN_FLOAT_CASES (tn_in_dtype (node, 1), T, {
    const T *dloss = context->in[0], *total = context->in[3], *weight = tn_has_input (node, 4) ? context->in[4] : NULL;
    T *dx = context->out[0];
    for (int64_t row = 0; row < n; row++, dx += k)
      {
        int64_t target;
        if (!target_at (context, 2, row, k, &target, error))
          return FALSE;
        /* Ignored rows get 0 even where all rows are ignored and the mean is 0 / 0. */
        double scale = reduction == TN_REDUCTION_NONE ? dloss[row] : dloss[0];
        if (reduction == TN_REDUCTION_MEAN)
          scale /= total[0];
        for (int64_t c = 0; c < k; c++)
          {
            double w = weight != NULL ? weight[c] : 1,
                   share = smoothing / (double) k + (c == target ? 1 - smoothing : 0);
            dx[c] = target < 0 ? 0 : (T) (-w * share * scale);
          }
      }
  });
  return TRUE;
}

void
tn_nll_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  if (gradient->grad_outputs[0] == NULL || !gradient->wanted[0])
    return;
  TnValue *inputs[] = { gradient->grad_outputs[0], node->inputs[0], node->inputs[1], &node->outputs[1],
                        tn_has_input (node, 2) ? node->inputs[2] : NULL };
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "NLLLossGrad", tn_has_input (node, 2) ? 5 : 4, inputs, node->n_attrs, node->attrs);
}
