/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <json-glib/json-glib.h>
#include "parallel/mesh.h"
#include "tensor/shape.h"

/* TnLayout: how one tensor lies on a mesh of ranks.
 *
 * A mesh axis may split at most one tensor dimension; a dimension may be split by several axes, the first named is the most
 * significant. Axes that split nothing hold replicas, or, where they are marked partial, values that must still be
 * reduced over the axis to give the tensor. Immutable once made; share by reference, from any thread.
 *
 *   g_autoptr (TnLayout) rows = tn_layout_parse (mesh, "(dp, None)", &error);
 *   TnBox box;
 *   if (!tn_layout_slice (rows, &shape, rank, &box, &error)) ...
 */
typedef enum
{
  TN_PARTIAL_NONE,
  TN_PARTIAL_SUM,
  TN_PARTIAL_MEAN, /* the tensor is the mean of the ranks' values */
  TN_PARTIAL_MAX,
  TN_PARTIAL_MIN,
  TN_PARTIAL_PROD
} TnPartial;

/** "sum", "mean" ...; "none". */
const char *tn_partial_name (TnPartial partial);

/* What splits one tensor dimension. */
typedef struct
{
  int n;         /* 0: not split */
  gboolean tuple; /* was given as a tuple: kept for the dictionary */
  int8_t axes[TN_MESH_MAX_AXES]; /* most significant first; -1 where a tuple names "None" */
} TnDimMap;

typedef struct _TnLayout TnLayout;

/* Read only. */
struct _TnLayout
{
  int ref_count;
  TnMesh *mesh;
  int n_dims;
  uint32_t used;    /* bits of the axes that split a dimension */
  uint32_t partial; /* bits of the axes that are partial */
  TnPartial op;     /* how the partial axes are reduced */
  TnDimMap dims[TN_MAX_DIMS];
};

/* Half-open index ranges [lo, hi). */
typedef struct
{
  int n_dims;
  int64_t lo[TN_MAX_DIMS], hi[TN_MAX_DIMS];
} TnBox;

int64_t tn_box_count (const TnBox *box);
gboolean tn_box_equal (const TnBox *a, const TnBox *b);
/** FALSE if nothing is in both. */
gboolean tn_box_intersect (const TnBox *a, const TnBox *b, TnBox *out);
/** "[0:4, 8:16]"; free with g_free. */
char *tn_box_to_string (const TnBox *box);

/* ---- making ---- */

/**
 * tn_layout_new:
 * @dims: one a tensor dimension; axes counted from the left
 *
 * Errors: %TN_LAYOUT_ERROR_AXIS, _AXIS_TWICE, _DIMS (more than 8), _PARTIAL; the message names dimension and axis.
 */
TnLayout *tn_layout_new (TnMesh *mesh, int n_dims, const TnDimMap *dims, uint32_t partial, TnPartial op, GError **error);
/** "(dp, None, (dp, tp))" or the same without the outer parentheses; "None" and "-" are not split. */
TnLayout *tn_layout_parse (TnMesh *mesh, const char *text, GError **error);
TnLayout *tn_layout_new_replicated (TnMesh *mesh, int n_dims);
/** @map: MindSpore's, one number a dimension, counted from the right, -1 for not split. */
TnLayout *tn_layout_new_from_map (TnMesh *mesh, int n_dims, const int64_t *map, GError **error);
/** The same layout with @axes (bits) partial and the others not. */
TnLayout *tn_layout_with_partial (TnLayout *self, uint32_t axes, TnPartial op);
TnLayout *tn_layout_ref (TnLayout *self);
void tn_layout_unref (TnLayout *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnLayout, tn_layout_unref)

/** The same slices on the same ranks by the same axes; "None" in tuples does not count. */
gboolean tn_layout_equal (const TnLayout *a, const TnLayout *b);
/** "(dp, None)", "(None) sum over tp"; free with g_free. */
char *tn_layout_to_string (const TnLayout *self);

/* ---- slices ---- */

/** Into how many pieces dimension @dim is cut. */
int64_t tn_layout_shards (const TnLayout *self, int dim);
/**
 * tn_layout_local_shape: the shape of every rank's slice.
 *
 * Errors: %TN_LAYOUT_ERROR_DIMS, and %TN_LAYOUT_ERROR_UNEVEN if a dimension does not divide: the message names the
 * dimension, its size and the legal divisors.
 */
gboolean tn_layout_local_shape (const TnLayout *self, const TnShape *shape, TnShape *local, GError **error);
/**
 * tn_layout_slice:
 * @shape: global shape, as many dimensions as the layout has
 * @rank: global rank id, one of the mesh's ranks
 * @box: (out): index ranges of the rank's slice
 *
 * Errors: %TN_LAYOUT_ERROR_RANK if the rank is not in the mesh, and those of tn_layout_local_shape().
 */
gboolean tn_layout_slice (const TnLayout *self, const TnShape *shape, int64_t rank, TnBox *box, GError **error);
/** Row-major number of a place's slice among the distinct ones; @place must be in the mesh. */
int64_t tn_layout_slice_index (const TnLayout *self, int64_t place);
/** Number of distinct slices. */
int64_t tn_layout_n_slices (const TnLayout *self);
/** Bits of the axes along which ranks hold the same slice (partial ones are not among them). */
uint32_t tn_layout_replica_axes (const TnLayout *self);
/** Which of its replicas a place is, counted in the order of the rank list; 0 is the one that owns the slice. */
int64_t tn_layout_replica (const TnLayout *self, int64_t place);

/* ---- optimizer sharding ---- */

/**
 * tn_layout_fold_optimizer: dimension 0 of every slice cut further, over ranks that hold the same slice.
 * @shard_size: -1: over all of them; 0 and 1: not at all; n: over blocks of n
 *
 * Where an axis must be cut in two for it, the new layout is on a mesh with one more axis. Errors:
 * %TN_LAYOUT_ERROR_SHARD_SIZE if n does not divide the replicas or cannot be cut from the axes, %TN_LAYOUT_ERROR_DIMS for a scalar.
 */
TnLayout *tn_layout_fold_optimizer (TnLayout *self, int64_t shard_size, GError **error);
/** The same slices by the axes of @mesh, a refinement of the layout's mesh (tn_mesh_refine()). */
TnLayout *tn_layout_refined (TnLayout *self, TnMesh *mesh, GError **error);

/* ---- MindSpore's dictionary and text ---- */

/** {"device_matrix", "tensor_map", "interleaved_parallel", "alias_name", "rank_list"}. */
JsonObject *tn_layout_to_dict (const TnLayout *self);
/**
 * tn_layout_from_dict: reads what tn_layout_to_dict() writes; the last two members may be missing (older releases).
 *
 * Errors: %TN_LAYOUT_ERROR_TYPE for members of another type, and those of tn_mesh_new() and tn_layout_new().
 */
TnLayout *tn_layout_from_dict (JsonObject *dict, GError **error);
/**
 * tn_layout_parse_python: reads "Layout((2, 2), ('dp', 'mp'), rank_list=[0, 1, 2, 3])('dp', 'None')" by the rules of
 * MindSpore's constructor and call, in their order. Nothing is executed.
 * @mesh: (out) (optional): what the constructor made
 *
 * Errors: the code of the rule; %TN_LAYOUT_ERROR_UNSET where the text has no call, so there is a mesh only.
 */
TnLayout *tn_layout_parse_python (const char *text, TnMesh **mesh, GError **error);
/** The text that tn_layout_parse_python() reads. Free with g_free. */
char *tn_layout_to_python (const TnLayout *self);
