/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/canvas.h"
#include "draw/palette.h"
#include "parallel/redistribution.h"

/* TnTrafficMatrix: bytes a step from every rank (row) to every rank (column).
 *
 * Collectives are spread over the links that their algorithm uses: all-reduce, all-gather and reduce-scatter a ring in the
 * order of the group, all-to-all every pair. Above 64 ranks a row is a block of places that follow one another. */
#define TN_TRAFFIC_MATRIX_MAX 64

typedef struct
{
  TnMoveKind kind;
  TnMesh *mesh;   /* not owned */
  uint32_t axes;  /* the group runs over these */
  double bytes;   /* a rank receives a step */
} TnTrafficLinks;

typedef struct
{
  TnMesh *mesh;   /* rows and columns are its places; owned */
  int64_t block;  /* places in a row */
  int n;
  double *bytes;  /* [n][n] sender, receiver */
  double most;
  TnRect frame;
} TnTrafficMatrix;

/** @mesh: the order of ranks; the links' meshes have the same ranks. */
TnTrafficMatrix *tn_traffic_matrix_new (TnMesh *mesh, const TnTrafficLinks *links, int n_links);
void tn_traffic_matrix_free (TnTrafficMatrix *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTrafficMatrix, tn_traffic_matrix_free)
void tn_traffic_matrix_place (TnTrafficMatrix *self, const TnRect *area);
TnRect tn_traffic_matrix_cell (const TnTrafficMatrix *self, int64_t cell);
/** sender * n + receiver; -1. */
int64_t tn_traffic_matrix_hit (const TnTrafficMatrix *self, double x, double y);
/** "rank 3", "ranks 64–127": of a row. Free with g_free. */
char *tn_traffic_matrix_name (const TnTrafficMatrix *self, int row);
void tn_traffic_matrix_draw (const TnTrafficMatrix *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank);
