/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Einsum (einsum.c); the row is in matmul.c. */
gboolean tn_einsum_infer (TnNode *node, GError **error);
void tn_einsum_gradient (TnGradient *gradient);
void tn_einsum_cost (const TnNode *node, TnCost *cost);
gboolean tn_einsum_kernel (const TnKernelContext *context, GError **error);
