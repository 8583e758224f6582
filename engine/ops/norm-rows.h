/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Rules of norm-rows.c (LayerNorm, GroupNorm, RmsNorm) and lrn.c (L2Normalize, LRN); the rows are in norm.c. */
gboolean tn_norm_infer_rows (TnNode *node, GError **error);
gboolean tn_norm_infer_rows_grad (TnNode *node, GError **error);
void tn_norm_rows_gradient (TnGradient *gradient);
void tn_norm_rows_cost (const TnNode *node, TnCost *cost);
gboolean tn_norm_rows_kernel (const TnKernelContext *context, GError **error);
gboolean tn_norm_rows_grad_kernel (const TnKernelContext *context, GError **error);

gboolean tn_norm_infer_l2 (TnNode *node, GError **error);
void tn_norm_l2_gradient (TnGradient *gradient);
gboolean tn_norm_l2_kernel (const TnKernelContext *context, GError **error);
gboolean tn_norm_l2_grad_kernel (const TnKernelContext *context, GError **error);
gboolean tn_norm_infer_lrn (TnNode *node, GError **error);
void tn_norm_lrn_gradient (TnGradient *gradient);
void tn_norm_lrn_cost (const TnNode *node, TnCost *cost);
gboolean tn_norm_lrn_kernel (const TnKernelContext *context, GError **error);
gboolean tn_norm_lrn_grad_kernel (const TnKernelContext *context, GError **error);
