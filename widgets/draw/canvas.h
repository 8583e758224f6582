/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnCanvas: what all drawing in Tenon goes through.
 *
 * A picture (plot, graph, matrix ...) is drawn by code that knows only this table, so the same picture goes to the screen
 * (GtkSnapshot, widgets/canvas-snapshot.h), to PNG, SVG, PDF and to tests (cairo, canvas-cairo.h). Units are logical pixels,
 * origin top left, y downwards. No call keeps a pointer to what it was given. One thread at a time.
 *
 *   tn_canvas_rect (canvas, &(TnRect) { 0, 0, 100, 20 }, palette->accent);
 *   tn_canvas_text (canvas, "loss", 4, 16, &(TnTextStyle) { .size = 11, .color = palette->text });
 */
typedef struct
{
  double x, y, width, height;
} TnRect;

typedef struct
{
  double x, y;
} TnPoint;

/** Straight, not premultiplied; 0 to 1. */
typedef struct
{
  float red, green, blue, alpha;
} TnColor;

typedef enum
{
  TN_ANCHOR_START, /* x is the left edge */
  TN_ANCHOR_MIDDLE,
  TN_ANCHOR_END
} TnAnchor;

typedef struct
{
  double size;  /* height of an em in pixels */
  TnColor color;
  TnAnchor anchor;
  gboolean bold;
  gboolean tabular;  /* figures of equal width */
  double max_width;  /* 0: no limit; else the end is cut and an ellipsis put in its place */
} TnTextStyle;

typedef struct
{
  double width;
  TnColor color;
  const double *dash; /* lengths on, off, on ...; NULL for solid */
  int n_dash;
} TnStroke;

typedef struct _TnCanvas TnCanvas;

/** One row a back end. Text is placed by its base line. */
typedef struct
{
  void (*rect) (TnCanvas *self, const TnRect *rect, TnColor fill);
  void (*round_rect) (TnCanvas *self, const TnRect *rect, double radius, const TnColor *fill, const TnStroke *stroke);
  void (*polyline) (TnCanvas *self, const TnPoint *points, size_t n, const TnStroke *stroke);
  void (*polygon) (TnCanvas *self, const TnPoint *points, size_t n, TnColor fill);
  void (*text) (TnCanvas *self, const char *text, double x, double y, const TnTextStyle *style);
  void (*measure) (TnCanvas *self, const char *text, const TnTextStyle *style, double *width, double *ascent, double *descent);
  /* @pixels: premultiplied ARGB32 in native byte order, @stride bytes a row; scaled to @rect. */
  void (*image) (TnCanvas *self, const TnRect *rect, const uint8_t *pixels, int width, int height, int stride);
  void (*push_clip) (TnCanvas *self, const TnRect *rect);
  void (*pop_clip) (TnCanvas *self);
  gboolean is_vector; /* SVG, PDF: no rasterised plots */
} TnCanvasTable;

/** First member of every back end's own struct. */
struct _TnCanvas
{
  const TnCanvasTable *table;
  double scale;   /* device pixels a logical pixel: lines snap to device pixels */
  unsigned nodes; /* drawn so far: rect, polyline, polygon, image */
  unsigned labels; /* texts drawn so far */
};

void tn_canvas_rect (TnCanvas *self, const TnRect *rect, TnColor fill);
/** @fill or @stroke may be NULL. */
void tn_canvas_round_rect (TnCanvas *self, const TnRect *rect, double radius, const TnColor *fill, const TnStroke *stroke);
/** No more than 5,000 points a call. */
void tn_canvas_polyline (TnCanvas *self, const TnPoint *points, size_t n, const TnStroke *stroke);
void tn_canvas_line (TnCanvas *self, double x0, double y0, double x1, double y1, const TnStroke *stroke);
void tn_canvas_polygon (TnCanvas *self, const TnPoint *points, size_t n, TnColor fill);
void tn_canvas_text (TnCanvas *self, const char *text, double x, double y, const TnTextStyle *style);
/** Any of the results may be NULL. */
void tn_canvas_measure (TnCanvas *self, const char *text, const TnTextStyle *style, double *width, double *ascent, double *descent);
void tn_canvas_image (TnCanvas *self, const TnRect *rect, const uint8_t *pixels, int width, int height, int stride);
void tn_canvas_push_clip (TnCanvas *self, const TnRect *rect);
void tn_canvas_pop_clip (TnCanvas *self);
/** @at moved to the nearest edge of a device pixel, so that a line of @width pixels is sharp. */
double tn_canvas_snap (const TnCanvas *self, double at, double width);

static inline TnColor
tn_color_alpha (TnColor color, float alpha)
{
  color.alpha = alpha;
  return color;
}
