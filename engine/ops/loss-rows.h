/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* NLLLoss and its gradient (nll.c); the rows are in loss.c. */
gboolean tn_nll_infer (TnNode *node, GError **error);
gboolean tn_nll_infer_grad (TnNode *node, GError **error);
void tn_nll_gradient (TnGradient *gradient);
void tn_nll_cost (const TnNode *node, TnCost *cost);
gboolean tn_nll_kernel (const TnKernelContext *context, GError **error);
gboolean tn_nll_grad_kernel (const TnKernelContext *context, GError **error);

typedef enum
{
  TN_REDUCTION_NONE,
  TN_REDUCTION_SUM,
  TN_REDUCTION_MEAN,
  TN_REDUCTION_BATCH_MEAN /* sum / size of axis 0 */
} TnReduction;

/** Attribute "reduction" of a loss. */
gboolean tn_loss_reduction (const TnNode *node, TnReduction *reduction, GError **error);
