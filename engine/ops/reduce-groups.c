/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/reduce-groups.h"
#include "base/error.h"
#include <inttypes.h>
#include <string.h>

gboolean
tn_reduced_axes (const TnNode *node, const TnShape *shape, gboolean reduced[TN_MAX_DIMS], GError **error)
{
  const int64_t *axes;
  int n = tn_node_ints (node, "axis", &axes);
  for (int d = 0; d < TN_MAX_DIMS; d++)
    reduced[d] = n == 0 && d < shape->n_dims;
  for (int i = 0; i < n; i++)
    {
      gint64 axis = axes[i];
      if (shape->n_dims == 0 && (axis == 0 || axis == -1))
        continue; /* the one element of a scalar, along whichever axis */
      if (!tn_normalize_axis (&axis, shape->n_dims))
        return tn_infer_error (node, error, _ ("axis %" PRId64 " is out of range for %d dimensions"), axes[i], shape->n_dims);
      if (reduced[axis])
        return tn_infer_error (node, error, _ ("axis %" PRId64 " is given twice"), axes[i]);
      reduced[axis] = TRUE;
    }
  return TRUE;
}

TnShape
tn_reduced_shape (const TnShape *shape, const gboolean reduced[TN_MAX_DIMS], gboolean keep_dims)
{
  TnShape out = { 0 };
  for (int d = 0; d < shape->n_dims; d++)
    if (!reduced[d])
      out.dims[out.n_dims++] = shape->dims[d];
    else if (keep_dims)
      out.dims[out.n_dims++] = 1;
  return out;
}

void
tn_groups_init (TnGroups *self, const TnShape *shape, const gboolean reduced[TN_MAX_DIMS])
{
  int64_t strides[TN_MAX_DIMS];
  int before = -1; /* kind of the dimension before: -1 none, else reduced or not */
  memset (self, 0, sizeof *self);
  self->n_groups = self->group_size = 1;
  tn_shape_strides (shape, strides);
  for (int d = 0; d < shape->n_dims; d++)
    {
      int64_t size = shape->dims[d];
      *(reduced[d] ? &self->group_size : &self->n_groups) *= size;
      if (size == 1)
        continue;
      int *n = reduced[d] ? &self->n_reduced : &self->n_kept;
      int64_t *dims = reduced[d] ? self->reduced_dims : self->kept_dims;
      int64_t *own = reduced[d] ? self->reduced_strides : self->kept_strides;
      int at = before == reduced[d] ? *n - 1 : (*n)++;
      dims[at] = before == reduced[d] ? dims[at] * size : size;
      own[at] = strides[d];
      before = reduced[d];
    }
  if (self->n_reduced == 0) /* nothing to reduce: groups of one */
    {
      self->n_reduced = 1;
      self->reduced_dims[0] = 1;
    }
  self->run_length = self->reduced_dims[self->n_reduced - 1];
  self->run_stride = self->reduced_strides[self->n_reduced - 1];
  self->n_runs = self->run_length > 0 ? self->group_size / self->run_length : 0;
}
