/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* How a reduction walks over its input. Internal to ops/.
 *
 * The elements that become one output are a group; its elements are visited in runs of constant stride, innermost reduced
 * dimension last, in row-major order: the order is part of the result, so it depends on shape and axes alone. Adjacent
 * dimensions of one kind (reduced or kept) are merged. Groups are numbered as the outputs are.
 */
typedef struct
{
  int64_t n_groups, group_size;
  int64_t n_runs, run_length, run_stride; /* in each group; stride in elements */
  int n_kept, n_reduced;                  /* merged dimensions; of the reduced ones the innermost is the run */
  int64_t kept_dims[TN_MAX_DIMS], kept_strides[TN_MAX_DIMS];
  int64_t reduced_dims[TN_MAX_DIMS], reduced_strides[TN_MAX_DIMS];
} TnGroups;

/** The axes of @node's attribute "axis" as flags, all of them where the list is empty; an error names an axis that is out of
 * range or given twice. */
gboolean tn_reduced_axes (const TnNode *node, const TnShape *shape, gboolean reduced[TN_MAX_DIMS], GError **error);
/** @shape without the reduced dimensions, or with 1 in their place. */
TnShape tn_reduced_shape (const TnShape *shape, const gboolean reduced[TN_MAX_DIMS], gboolean keep_dims);

void tn_groups_init (TnGroups *self, const TnShape *shape, const gboolean reduced[TN_MAX_DIMS]);

/** Offset, in elements, of @index in row-major order over @dims with @strides. */
static inline int64_t
tn_groups_offset (int n_dims, const int64_t *dims, const int64_t *strides, int64_t index)
{
  int64_t offset = 0;
  for (int d = n_dims - 1; d > 0; d--)
    {
      offset += index % dims[d] * strides[d];
      index /= dims[d];
    }
  return n_dims > 0 ? offset + index * strides[0] : 0;
}

static inline int64_t
tn_group_start (const TnGroups *self, int64_t group)
{
  return tn_groups_offset (self->n_kept, self->kept_dims, self->kept_strides, group);
}

/** Where run @run of a group starts, from the group's start. */
static inline int64_t
tn_run_start (const TnGroups *self, int64_t run)
{
  return tn_groups_offset (self->n_reduced - 1, self->reduced_dims, self->reduced_strides, run);
}
