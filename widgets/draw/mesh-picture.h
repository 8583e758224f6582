/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas.h"
#include "draw/palette.h"
#include "parallel/mesh.h"

/* TnMeshPicture: the device matrix as cells in nested frames.
 *
 * The last axis runs along a row (wrapped where that makes better cells), the one before it down, the next ones nest in the same two
 * directions with wider gaps. Above 256 cells numbers go; above 4,096 one cell stands for a block of the last axes and says
 * how many ranks are in it. Drawing, hit test and cell rectangles are the same geometry.
 *
 *   TnMeshPicture picture;
 *   tn_mesh_picture_init (&picture, mesh, &area);
 *   tn_mesh_picture_draw (&picture, canvas, &clip, palette, rank, axis);
 *   gint64 place = tn_mesh_picture_hit (&picture, x, y);
 */
#define TN_MESH_PICTURE_MAX_CELLS 4096
#define TN_MESH_PICTURE_MAX_NUMBERS 240

typedef struct
{
  const TnMesh *mesh; /* not owned */
  TnRect area;
  int n_axes;         /* shown; the others are inside a cell */
  int64_t sizes[TN_MESH_MAX_AXES];
  int64_t block;      /* ranks in a cell: places that follow one another */
  int64_t n_cells;
  int64_t wrap, lines; /* the last shown axis: columns and rows */
  double cell_width, cell_height;
  double gap_x[TN_MESH_MAX_AXES], gap_y[TN_MESH_MAX_AXES]; /* between neighbours along an axis; 0 where it runs the other way */
  double pitch[TN_MESH_MAX_AXES]; /* from one coordinate of the axis to the next */
} TnMeshPicture;

void tn_mesh_picture_init (TnMeshPicture *self, const TnMesh *mesh, const TnRect *area);
TnRect tn_mesh_picture_cell (const TnMeshPicture *self, int64_t cell);
/** The first place of the cell at a point; -1 for none. */
int64_t tn_mesh_picture_hit (const TnMeshPicture *self, double x, double y);
/** @rank: framed; -1 for none. @axis: the group of @rank along it is filled; -1 for none. @stage_ranks: ranks in a
 * pipeline stage, whose cells are tinted alike; 0 for none. */
void tn_mesh_picture_draw (const TnMeshPicture *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank, int axis,
                           int64_t stage_ranks);
/** The place @dx columns and @dy rows away, as far as the edge. */
int64_t tn_mesh_picture_move (const TnMeshPicture *self, int64_t place, int dx, int dy);
