/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Rules of the shape family that stand in join.c (Split, Concat, Stack), slice.c (StridedSlice, Diagonal, Tril) and pad.c;
 * the rows themselves are in shape.c. */
void tn_shape_cost_move (const TnNode *node, TnCost *cost);
gboolean tn_shape_infer_split (TnNode *node, GError **error);
gboolean tn_shape_infer_concat (TnNode *node, GError **error);
gboolean tn_shape_infer_stack (TnNode *node, GError **error);
gboolean tn_shape_infer_unstack (TnNode *node, GError **error);
gboolean tn_shape_infer_slice (TnNode *node, GError **error);
gboolean tn_shape_infer_slice_grad (TnNode *node, GError **error);
gboolean tn_shape_infer_pad (TnNode *node, GError **error);
gboolean tn_shape_infer_pad_grad (TnNode *node, GError **error);
gboolean tn_shape_infer_triangle (TnNode *node, GError **error);
gboolean tn_shape_infer_diagonal (TnNode *node, GError **error);
gboolean tn_shape_infer_diagonal_grad (TnNode *node, GError **error);
void tn_shape_split_gradient (TnGradient *gradient);
void tn_shape_concat_gradient (TnGradient *gradient);
void tn_shape_stack_gradient (TnGradient *gradient);
void tn_shape_unstack_gradient (TnGradient *gradient);
void tn_shape_slice_gradient (TnGradient *gradient);
void tn_shape_slice_grad_gradient (TnGradient *gradient);
void tn_shape_pad_gradient (TnGradient *gradient);
void tn_shape_pad_grad_gradient (TnGradient *gradient);
void tn_shape_triangle_gradient (TnGradient *gradient);
void tn_shape_diagonal_gradient (TnGradient *gradient);
void tn_shape_diagonal_grad_gradient (TnGradient *gradient);
gboolean tn_shape_split_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_concat_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_stack_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_slice_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_slice_grad_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_pad_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_pad_grad_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_triangle_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_diagonal_kernel (const TnKernelContext *context, GError **error);
gboolean tn_shape_diagonal_grad_kernel (const TnKernelContext *context, GError **error);
