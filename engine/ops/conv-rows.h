/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Im2Col and Col2Im (im2col.c); the rows are in conv.c. */
gboolean tn_conv_infer_im2col (TnNode *node, GError **error);
gboolean tn_conv_infer_col2im (TnNode *node, GError **error);
void tn_conv_im2col_gradient (TnGradient *gradient);
void tn_conv_col2im_gradient (TnGradient *gradient);
gboolean tn_conv_im2col_kernel (const TnKernelContext *context, GError **error);
gboolean tn_conv_col2im_kernel (const TnKernelContext *context, GError **error);
