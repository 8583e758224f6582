/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Kernels and rules of the operators that go along one axis: running sums and products, and extremes with their places.
 * Their rows stand in reduce.c. Internal to ops/. */
gboolean tn_scan_infer (TnNode *node, GError **error);
gboolean tn_scan_infer_grad (TnNode *node, GError **error);
gboolean tn_cumsum_kernel (const TnKernelContext *context, GError **error);
void tn_cumsum_gradient (TnGradient *d);
gboolean tn_cumprod_kernel (const TnKernelContext *context, GError **error);
gboolean tn_cumprod_grad_kernel (const TnKernelContext *context, GError **error);
void tn_cumprod_gradient (TnGradient *d);

gboolean tn_indexed_infer (TnNode *node, GError **error);
gboolean tn_indexed_infer_grad (TnNode *node, GError **error);
gboolean tn_indexed_max_kernel (const TnKernelContext *context, GError **error);
gboolean tn_indexed_min_kernel (const TnKernelContext *context, GError **error);
gboolean tn_indexed_grad_kernel (const TnKernelContext *context, GError **error);
void tn_indexed_gradient (TnGradient *d);
