/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/layout.h"

#include "base/error.h"
#include <inttypes.h>

/* Optimizer sharding as part of the layout, and layouts on a finer mesh. */

static TnLayout *
fail_size (GError **error, const TnLayout *self, int64_t shard_size)
{
  g_autofree char *text = tn_layout_to_string (self), *mesh = tn_mesh_to_string (self->mesh);
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_SHARD_SIZE,
               _ ("An optimizer shard size of %" PRId64 " does not fit layout %s on mesh %s: it must divide its %" PRId64 " replicas, cut from the last axes that split nothing."),
               shard_size, text, mesh, tn_mesh_span (self->mesh, tn_layout_replica_axes (self)));
  return NULL;
}

/* @mesh with axis @at cut into [rest, part]. */
static TnMesh *
cut_axis (const TnMesh *mesh, int at, int64_t part, GError **error)
{
  int64_t sizes[TN_MESH_MAX_AXES];
  const char *names[TN_MESH_MAX_AXES];
  g_autofree char *left = g_strdup_printf ("%s_1", mesh->names[at]), *right = g_strdup_printf ("%s_2", mesh->names[at]);
  if (mesh->n_axes == TN_MESH_MAX_AXES)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_SIZE, _ ("The mesh has %d axes already, none can be cut in two."), mesh->n_axes);
      return NULL;
    }
  for (int i = 0, k = 0; i < mesh->n_axes; i++)
    {
      names[k] = i == at ? left : mesh->names[i];
      sizes[k++] = i == at ? mesh->sizes[i] / part : mesh->sizes[i];
      if (i == at)
        {
          names[k] = right;
          sizes[k++] = part;
        }
    }
  return tn_mesh_new (mesh->n_axes + 1, sizes, names, mesh->n_ranks, mesh->plain ? NULL : mesh->ranks, error);
}

/* Appends @axes, left to right, to dimension 0. */
static TnLayout *
append_axes (TnMesh *mesh, const TnLayout *self, const TnDimMap *dims, uint32_t axes, GError **error)
{
  TnDimMap all[TN_MAX_DIMS], first = { 0 };
  for (int d = 0; d < self->n_dims; d++)
    all[d] = dims[d];
  for (int k = 0; k < dims[0].n; k++)
    if (dims[0].axes[k] >= 0)
      first.axes[first.n++] = dims[0].axes[k];
  for (int i = 0; i < mesh->n_axes; i++)
    if (axes >> i & 1)
      first.axes[first.n++] = (int8_t) i;
  all[0] = first;
  return tn_layout_new (mesh, self->n_dims, all, 0, TN_PARTIAL_NONE, error);
}

TnLayout *
tn_layout_fold_optimizer (TnLayout *self, int64_t shard_size, GError **error)
{
  const TnMesh *mesh = self->mesh;
  uint32_t open = tn_layout_replica_axes (self), taken = 0;
  int64_t replicas = tn_mesh_span (mesh, open), product = 1;
  if (shard_size == 0 || shard_size == 1)
    return tn_layout_ref (self);
  if (self->n_dims == 0)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_DIMS, _ ("A scalar has no dimension 0 that an optimizer shard could cut."));
      return NULL;
    }
  if (shard_size == -1 || shard_size == replicas)
    return append_axes (self->mesh, self, self->dims, open, error);
  if (shard_size < 0 || replicas % shard_size != 0)
    return fail_size (error, self, shard_size);
  for (int i = mesh->n_axes - 1; i >= 0; i--)
    {
      if (!(open >> i & 1))
        continue;
      int64_t rest = shard_size / product;
      if (rest % mesh->sizes[i] == 0)
        {
          taken |= 1u << i;
          product *= mesh->sizes[i];
          if (product == shard_size)
            return append_axes (self->mesh, self, self->dims, taken, error);
          continue;
        }
      if (mesh->sizes[i] % rest != 0)
        return fail_size (error, self, shard_size);
      g_autoptr (TnMesh) finer = cut_axis (mesh, i, rest, error);
      if (finer == NULL)
        return NULL;
      TnDimMap dims[TN_MAX_DIMS];
      for (int d = 0; d < self->n_dims; d++)
        {
          dims[d] = self->dims[d];
          for (int k = 0; k < dims[d].n; k++)
            dims[d].axes[k] = (int8_t) (dims[d].axes[k] + (dims[d].axes[k] > i));
        }
      uint32_t below = (1u << i) - 1;
      taken = (taken & below) | ((taken & ~below) << 1) | 1u << (i + 1);
      return append_axes (finer, self, dims, taken, error);
    }
  return fail_size (error, self, shard_size);
}

/* The axes of @fine that make up axis @at of @coarse, as bits; 0 and *fits FALSE where they do not. Axes of size 1 are none. */
static uint32_t
pieces_of (const TnMesh *coarse, int at, const TnMesh *fine, gboolean *fits)
{
  int64_t lo = coarse->strides[at], hi = lo * coarse->sizes[at], product = 1;
  uint32_t pieces = 0;
  for (int i = 0; i < fine->n_axes; i++)
    if (fine->sizes[i] > 1 && fine->strides[i] >= lo && fine->strides[i] < hi)
      {
        pieces |= 1u << i;
        product *= fine->sizes[i];
      }
  *fits &= product == coarse->sizes[at];
  return pieces;
}

TnLayout *
tn_layout_refined (TnLayout *self, TnMesh *mesh, GError **error)
{
  if (self->mesh == mesh)
    return tn_layout_ref (self);
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  gboolean fits = tn_mesh_same_ranks (self->mesh, mesh);
  uint32_t partial = 0;
  for (int d = 0; fits && d < self->n_dims; d++)
    for (int k = 0; k < self->dims[d].n; k++)
      {
        if (self->dims[d].axes[k] < 0)
          continue;
        uint32_t pieces = pieces_of (self->mesh, self->dims[d].axes[k], mesh, &fits);
        for (int i = 0; i < mesh->n_axes; i++)
          if (pieces >> i & 1 && dims[d].n < TN_MESH_MAX_AXES)
            dims[d].axes[dims[d].n++] = (int8_t) i;
      }
  for (int i = 0; fits && i < self->mesh->n_axes; i++)
    if (self->partial >> i & 1)
      partial |= pieces_of (self->mesh, i, mesh, &fits);
  if (fits)
    return tn_layout_new (mesh, self->n_dims, dims, partial, self->op, error);
  g_autofree char *left = tn_mesh_to_string (self->mesh), *right = tn_mesh_to_string (mesh);
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_MESH, _ ("Mesh %s is no refinement of %s."), right, left);
  return NULL;
}
