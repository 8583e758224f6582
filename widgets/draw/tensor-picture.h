/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas.h"
#include "draw/palette.h"
#include "parallel/layout.h"

/* TnTensorPicture: a tensor cut by its layout, two dimensions on the screen.
 *
 * Every distinct slice is a tile with its index ranges, who holds it and its bytes, in the colour and hatch of its first owner. Cuts that the
 * optimizer makes further are thin lines inside. The other dimensions stand at a chosen slice. Above 2,000 tiles
 * the picture is a density image with the selected rank's tile in its true place.
 *
 *   TnTensorPicture *picture = tn_tensor_picture_new (layout, kept, &shape, 4);
 *   tn_tensor_picture_place (picture, &area);
 *   tn_tensor_picture_draw (picture, canvas, palette, 3);
 */
#define TN_TENSOR_PICTURE_MAX_TILES 2000

typedef struct
{
  TnLayout *layout; /* computed with */
  TnLayout *kept;   /* with the optimizer's cut; the same where there is none */
  TnShape shape;
  int64_t element;  /* bytes */
  int rows, columns; /* dimensions shown; -1: one line */
  int64_t at[TN_MAX_DIMS]; /* which slice of the other dimensions */
  int64_t n_rows, n_columns, n_replicas, cuts;
  int64_t *first;   /* [slices] lowest place that holds it */
  TnRect frame;     /* of the tiles */
} TnTensorPicture;

/** @kept may be NULL. NULL where the shape does not divide: say so beside. */
TnTensorPicture *tn_tensor_picture_new (TnLayout *layout, TnLayout *kept, const TnShape *shape, int64_t element_bytes, GError **error);
void tn_tensor_picture_free (TnTensorPicture *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTensorPicture, tn_tensor_picture_free)
/** @columns may be -1; two that are the same are not taken. */
void tn_tensor_picture_show (TnTensorPicture *self, int rows, int columns);
void tn_tensor_picture_set_slice (TnTensorPicture *self, int dim, int64_t at);
void tn_tensor_picture_place (TnTensorPicture *self, const TnRect *area);
int64_t tn_tensor_picture_n_tiles (const TnTensorPicture *self);
TnRect tn_tensor_picture_tile (const TnTensorPicture *self, int64_t tile);
/** -1 for none. */
int64_t tn_tensor_picture_hit (const TnTensorPicture *self, double x, double y);
/** The tile that a rank holds; -1 if it is at another slice of the dimensions that are not shown. */
int64_t tn_tensor_picture_tile_of (const TnTensorPicture *self, int64_t rank);
void tn_tensor_picture_box (const TnTensorPicture *self, int64_t tile, TnBox *box);
/** Ranks that hold the tile, ascending in place; g_free. */
int64_t *tn_tensor_picture_owners (const TnTensorPicture *self, int64_t tile, int64_t *n);
/** "[0:60, 0:200)". Free with g_free. */
char *tn_tensor_picture_range (const TnTensorPicture *self, int64_t tile);
/** "ranks 0, 2 +6". Free with g_free. */
char *tn_tensor_picture_owners_text (const TnTensorPicture *self, int64_t tile);
int64_t tn_tensor_picture_tile_bytes (const TnTensorPicture *self);
void tn_tensor_picture_draw (const TnTensorPicture *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank);
