/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Resize and ResizeGrad (resize.c); the rows are in pool.c. */
#define TN_RESIZE_ATTRS { "mode", TN_ATTR_STRING, .text = "nearest" }, { "align_corners", TN_ATTR_BOOL }, { "antialias", TN_ATTR_BOOL }

gboolean tn_resize_infer (TnNode *node, GError **error);
void tn_resize_gradient (TnGradient *gradient);
void tn_resize_cost (const TnNode *node, TnCost *cost);
gboolean tn_resize_kernel (const TnKernelContext *context, GError **error);
