/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/graph-compare.h"
#include "draw/graph-layout.h"
#include "draw/graph-overlay.h"
#include "draw/palette.h"

/* TnGraphPicture: a cut in its places, drawn on any canvas, and what stands at a point of it.
 *
 * Everything that is drawn is where the layout says, moved and scaled by the transform; hit testing asks the same rectangles.
 * Below a zoom of 0.25 boxes have no text, below 0.1 only scopes are drawn. At most 8,000 nodes and 250 labels a picture. */
#define TN_GRAPH_MIN_SCALE 0.05
#define TN_GRAPH_MAX_SCALE 4.0

typedef struct
{
  double x, y;  /* of the layout at the upper left corner of the view */
  double scale;
} TnGraphTransform;

typedef enum
{
  TN_MARK_SELECTED = 1 << 0,
  TN_MARK_CURSOR = 1 << 1,
  TN_MARK_LIT = 1 << 2, /* of a cone or path: all others are then dimmed */
  TN_MARK_FOUND = 1 << 3,
  TN_MARK_GUILTY = 1 << 4
} TnGraphMark;

typedef struct
{
  const TnGraphCut *cut;
  const TnGraphLayout *layout;
  const TnGraphOverlay *overlay; /* NULL: none */
  const TnBoxValue *values;      /* of the overlay, by box */
  const guint8 *marks;           /* TnGraphMark by box; NULL */
  const guint8 *changes;         /* TnChange by item; NULL */
  gboolean any_lit;
  gboolean unlimited; /* a file, not a frame: no budget of nodes and labels */
} TnGraphPicture;

void tn_graph_picture_draw (const TnGraphPicture *self, TnCanvas *canvas, const TnPalette *palette, const TnGraphTransform *transform, double width,
                            double height);
/** The whole in a small rectangle, with the part that is in view. */
void tn_graph_picture_draw_minimap (const TnGraphPicture *self, TnCanvas *canvas, const TnPalette *palette, const TnGraphTransform *transform,
                                    double view_width, double view_height, const TnRect *area);
/** Point of the layout that @x, @y of the minimap means. */
TnPoint tn_graph_picture_minimap_point (const TnGraphPicture *self, const TnRect *area, double x, double y);

typedef enum
{
  TN_HIT_NOTHING,
  TN_HIT_BOX,
  TN_HIT_EXPANDER, /* of a box or of a frame */
  TN_HIT_FRAME,    /* its head */
  TN_HIT_TAG,      /* of a tunnel */
  TN_HIT_EDGE
} TnGraphHitKind;

typedef struct
{
  TnGraphHitKind kind;
  int box, frame, edge, number; /* -1 where it is none of these */
} TnGraphHit;

/** @x, @y: in the view. */
TnGraphHit tn_graph_picture_hit (const TnGraphPicture *self, const TnGraphTransform *transform, double x, double y);
/** Boxes that lie wholly in a rectangle of the view. GArray of int. */
GArray *tn_graph_picture_boxes_in (const TnGraphPicture *self, const TnGraphTransform *transform, const TnRect *rect);

/** Tags at a box: numbers of the tunnels, at most @max; the last place is 0 where there are more ("+3"). @n_all (nullable). */
int tn_graph_picture_tags (const TnGraphCut *cut, int box, int *numbers, int max, int *n_all);
/** Place of the @k-th tag of @box in the layout. */
TnRect tn_graph_picture_tag_rect (const TnGraphPicture *self, int box, int k, gboolean is_source);
/** Whether tunnel @number begins at @box. */
gboolean tn_graph_picture_tag_is_source (const TnGraphCut *cut, int box, int number);
/** The sign that opens or closes, of a box or a frame. */
TnRect tn_graph_picture_box_expander (const TnRect *box);
TnRect tn_graph_picture_frame_expander (const TnRect *frame);

static inline TnPoint
tn_graph_to_view (const TnGraphTransform *t, double x, double y)
{
  return (TnPoint){ (x - t->x) * t->scale, (y - t->y) * t->scale };
}

static inline TnPoint
tn_graph_from_view (const TnGraphTransform *t, double x, double y)
{
  return (TnPoint){ x / t->scale + t->x, y / t->scale + t->y };
}

/** The whole in the middle, at most at zoom 1 (@most: 1, or larger). */
TnGraphTransform tn_graph_transform_fit (const TnGraphLayout *layout, double width, double height, double most);
/** Zooms by @factor so that the point under @x, @y stays there. */
void tn_graph_transform_zoom (TnGraphTransform *self, double factor, double x, double y);
/** Keeps some of the layout in view. */
void tn_graph_transform_limit (TnGraphTransform *self, const TnGraphLayout *layout, double width, double height);
