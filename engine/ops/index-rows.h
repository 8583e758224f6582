/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Rows of the index family that add or write at indices (scatter.c); the table is in index.c. */
gboolean tn_index_infer_gather_grad (TnNode *node, GError **error);
void tn_index_gather_grad_gradient (TnGradient *gradient);
gboolean tn_index_gather_grad_kernel (const TnKernelContext *context, GError **error);
gboolean tn_index_infer_scatter_elements (TnNode *node, GError **error);
void tn_index_scatter_elements_gradient (TnGradient *gradient);
gboolean tn_index_scatter_elements_kernel (const TnKernelContext *context, GError **error);
gboolean tn_index_infer_add (TnNode *node, GError **error);
void tn_index_add_gradient (TnGradient *gradient);
gboolean tn_index_add_kernel (const TnKernelContext *context, GError **error);

/** All indices of @input lie in 0..@size-1; else an error that names index, position and size. */
gboolean tn_index_check (const TnKernelContext *context, int input, int64_t size, GError **error);
/** Index tensor @index addresses elements of @x along @axis: equal ranks, no other size larger. */
gboolean tn_index_infer_along (const TnNode *node, const TnShape *x, const TnShape *index, int axis, GError **error);
/** Offset in a row-major tensor of @x for row-major element @i of the index tensor, whose index along @axis is @at. */
int64_t tn_index_offset (const TnShape *x, const TnShape *index, int axis, int64_t i, int64_t at);
