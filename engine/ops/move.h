/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* TnMove: elements carried from one strided arrangement to another: what transposing, slicing, joining, repeating and
 * padding have in common. Strides and offsets count elements and may be 0 or negative. */
#define TN_MOVE_DIMS (2 * TN_MAX_DIMS)

typedef struct
{
  int n_dims;
  int64_t dims[TN_MOVE_DIMS];
  int64_t to_strides[TN_MOVE_DIMS];
  int64_t from_strides[TN_MOVE_DIMS];
  int64_t to_offset, from_offset;
} TnMove;

/** Both sides row-major over @shape. */
TnMove tn_move_plain (const TnShape *shape);
/** Adds an innermost dimension. */
void tn_move_add_dim (TnMove *self, int64_t size, int64_t to_stride, int64_t from_stride);
/** Carries elements of @elem_size bytes; the two sides must not overlap. */
void tn_move_run (const TnMove *self, size_t elem_size, void *to, const void *from);

/* A tensor seen along one axis: [outer][n][inner]. */
typedef struct
{
  int64_t outer, n, inner;
} TnAxisView;

TnAxisView tn_axis_view (const TnShape *shape, int axis);

/** Attribute @name as an axis of a tensor with @n_dims dimensions, counted from the front; FALSE with an error where it is
 * out of range. */
gboolean tn_infer_axis (const TnNode *node, const char *name, int n_dims, int *axis, GError **error);
/** The same where the shape rule has passed. */
int tn_node_axis (const TnNode *node, const char *name, int n_dims);
/** Attribute @name holds exactly @n integers, each at least @least (absent is fine where the row does not require it). */
gboolean tn_infer_ints (const TnNode *node, const char *name, int n, int64_t least, GError **error);
/** Input @i is int32 or int64. */
gboolean tn_infer_index_input (const TnNode *node, int i, GError **error);
/** Element @i of an index tensor. */
int64_t tn_index_at (const TnKernelContext *context, int input, int64_t i);

/** @n zeroed doubles for a kernel's sums: free with g_free; NULL with an error where memory is out. */
double *tn_kernel_sums (const TnKernelContext *context, int64_t n, GError **error);

/** A value of @shape that is @value everywhere (row Fill). */
TnValue *tn_fill (TnGraph *graph, TnDType dtype, const TnShape *shape, double value);
TnValue *tn_reshape (TnGraph *graph, TnValue *value, const TnShape *shape);
