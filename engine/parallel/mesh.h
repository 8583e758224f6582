/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnMesh: ranks arranged in a row-major box with named axes (MindSpore's device matrix; the last axis varies fastest).
 *
 * Axes are counted from the left here; MindSpore's tensor maps count from the right, and are converted only where its
 * files and dictionaries are read and written. Immutable once made; share by reference, from any thread.
 *
 *   g_autoptr (TnMesh) mesh = tn_mesh_new (2, TN_SIZES (4, 2), TN_NAMES ("dp", "tp"), -1, NULL, &error);
 */
#define TN_MESH_MAX_AXES 16
#define TN_MESH_MAX_RANKS (1 << 20)
/** The alias of the axis that counts virtual slices of one card; only the last axis may have it. */
#define TN_MESH_INTERLEAVED "interleaved_parallel"

/* What is wrong with a mesh, a layout, or a tensor under it. One code a rule, in the order in which they are checked. */
#define TN_LAYOUT_ERROR tn_layout_error_quark ()
typedef enum
{
  TN_LAYOUT_ERROR_TYPE,        /* text or JSON that holds something else than numbers and names there */
  TN_LAYOUT_ERROR_LENGTHS,     /* as many names as axes */
  TN_LAYOUT_ERROR_EMPTY_NAME,
  TN_LAYOUT_ERROR_NONE_NAME,   /* an axis called "None" */
  TN_LAYOUT_ERROR_NAME_TWICE,
  TN_LAYOUT_ERROR_INTERLEAVED, /* "interleaved_parallel" not last */
  TN_LAYOUT_ERROR_SIZE,        /* an axis of no or negative size, or too many ranks */
  TN_LAYOUT_ERROR_RANK_COUNT,  /* rank list of another length than the product of the axes */
  TN_LAYOUT_ERROR_RANK_TWICE,
  TN_LAYOUT_ERROR_RANK,        /* a negative rank; a rank that is not in the mesh */
  TN_LAYOUT_ERROR_AXIS,        /* a dimension names an axis that the mesh does not have */
  TN_LAYOUT_ERROR_AXIS_TWICE,  /* an axis splits two dimensions */
  TN_LAYOUT_ERROR_DIMS,        /* more or fewer dimensions than the tensor */
  TN_LAYOUT_ERROR_UNEVEN,      /* a dimension does not divide */
  TN_LAYOUT_ERROR_SHARD_SIZE,  /* an optimizer shard size that does not divide the replicas */
  TN_LAYOUT_ERROR_PARTIAL,     /* an axis that splits and is partial, or two kinds of partial */
  TN_LAYOUT_ERROR_MESH,        /* meshes that have no common refinement, or other ranks */
  TN_LAYOUT_ERROR_UNSET        /* no map was given yet */
} TnLayoutError;
GQuark tn_layout_error_quark (void);
/** Python's exception for a code, as MindSpore raises it: "TypeError" or "ValueError". */
const char *tn_layout_error_exception (int code);

typedef struct _TnMesh TnMesh;

/* Read only. */
struct _TnMesh
{
  int ref_count;
  int n_axes;
  gboolean interleaved; /* the last axis counts slices of a card and not ranks */
  gboolean plain;       /* ranks are 0 .. n - 1 in order */
  int64_t n_ranks;      /* length of the rank list: the product of all axes */
  int64_t sizes[TN_MESH_MAX_AXES];
  int64_t strides[TN_MESH_MAX_AXES]; /* in places of the rank list */
  char *names[TN_MESH_MAX_AXES];
  int64_t *ranks;       /* [n_ranks] place -> rank */
  GHashTable *places;   /* rank -> place + 1; NULL where @plain */
};

#define TN_SIZES(...) ((const int64_t[]){ __VA_ARGS__ })
#define TN_NAMES(...) ((const char *const[]){ __VA_ARGS__ })

/**
 * tn_mesh_new:
 * @names: @n_axes of them, or NULL for a, b, c ...
 * @n_ranks, @ranks: the ranks by place; -1 and NULL for 0 .. product - 1
 *
 * Errors: the codes above up to %TN_LAYOUT_ERROR_RANK; the message names the axis or rank.
 */
TnMesh *tn_mesh_new (int n_axes, const int64_t *sizes, const char *const *names, int64_t n_ranks, const int64_t *ranks,
                     GError **error);
TnMesh *tn_mesh_ref (TnMesh *self);
void tn_mesh_unref (TnMesh *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnMesh, tn_mesh_unref)

/** "dp=4,tp=2", as on the command line. @n_ranks: what the product must be; -1: any. One axis may have "?" for its size. */
TnMesh *tn_mesh_parse (const char *text, int64_t n_ranks, GError **error);
/** "dp=4,tp=2"; free with g_free. */
char *tn_mesh_to_string (const TnMesh *self);
/** Same sizes, names and ranks. */
gboolean tn_mesh_equal (const TnMesh *a, const TnMesh *b);
/** Same ranks at the same places, whatever the axes. */
gboolean tn_mesh_same_ranks (const TnMesh *a, const TnMesh *b);

/** -1 if there is none. */
int tn_mesh_axis (const TnMesh *self, const char *name);
/** Place of @rank in the rank list; -1 if it is not there. */
int64_t tn_mesh_place (const TnMesh *self, int64_t rank);
static inline int64_t
tn_mesh_coordinate (const TnMesh *self, int64_t place, int axis)
{
  return place / self->strides[axis] % self->sizes[axis];
}

/** The product of the sizes of axes whose bit is set in @axes. */
int64_t tn_mesh_span (const TnMesh *self, uint32_t axes);
/**
 * tn_mesh_group: the ranks that differ from @rank only along @axes (bits), row-major in the order of the axes.
 * @index: (out) (optional): where @rank itself stands in it
 *
 * Returns tn_mesh_span() ranks; free with g_free. NULL if @rank is not in the mesh.
 */
int64_t *tn_mesh_group (const TnMesh *self, uint32_t axes, int64_t rank, int64_t *index);

/**
 * tn_mesh_refine: a mesh of the same ranks whose axes can be joined to those of @a as well as to those of @b: its
 * cumulative products (from the right) are the union of both. Names stay where an axis stays whole; pieces of "dp" are
 * called "dp_1", "dp_2" ...
 *
 * Errors: %TN_LAYOUT_ERROR_MESH where the ranks differ or the products do not divide each other.
 */
TnMesh *tn_mesh_refine (const TnMesh *a, const TnMesh *b, GError **error);
