/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/plot.h"

/* What the files of TnPlot share. */

/* A run of pixel columns of one line in one segment: what a reduced curve is drawn from. Device pixels from the top of the inner area. */
typedef struct
{
  float low, high; /* upper and lower end; low > high: nothing there */
} TnColumn;

typedef struct
{
  const TnPlotLine *line;
  TnColor color;
  double width; /* of the line, device pixels */
  unsigned dash;
  gboolean dots; /* only the ends of columns: the raw line in high contrast */
  int first, n;  /* device columns */
  size_t at;     /* place of the first in the array of columns */
} TnStrip;

struct _TnPlot
{
  char *title, *unit;
  GPtrArray *lines;      /* TnPlotLine */
  GArray *bands;         /* TnBand */
  GArray *events;        /* TnPlotEvent, by step */
  GArray *thresholds;    /* double */
  TnPlotOptions options;
  int64_t selection_begin, selection_end;

  gboolean fit, following;
  double view_low, view_high; /* x range where not fit */
  int64_t origin;             /* of x; fixed while the kind of x stays */
  gboolean has_origin;
  double seen_low, seen_high; /* y range of the last drawing: jumps of less than 2 % are not made */
  gboolean has_seen;

  /* the last layout */
  TnRect inner;
  double width, height;
  TnAxis x, y;
  double data_low, data_high; /* x of all rows */
  int64_t n_points, n_drawn, n_not_positive, n_outside, n_no_log_x; /* for the badge */

  /* reused from frame to frame */
  GArray *columns; /* TnColumn */
  GArray *strips;  /* TnStrip */
  uint32_t *pixels;
  size_t n_pixels;
};

typedef struct
{
  unsigned first, n;
  char *label;
} TnBand;

/* Rows of one segment that are seen, and one more on either side for the line to come in from. */
typedef struct
{
  size_t begin, end;               /* rows in view */
  size_t wide_begin, wide_end;     /* with neighbours */
  size_t segment_begin, segment_end;
} TnSeenRows;

/** TRUE where any row of segment @i is seen or lies on both sides. */
gboolean tn_plot_seen_rows (const TnPlot *self, const TnSeries *series, size_t i, TnSeenRows *seen);
/** Rows up to which a line's values are there: smoothed ones may lag. */
size_t tn_plot_n_ready (const TnSeries *series, gboolean smoothed);

/** Whether the line's main curve is the smoothed one. */
static inline gboolean
tn_plot_is_smoothed (const TnPlot *self, const TnPlotLine *line)
{
  return self->options.smoothing > 0 && !line->emphasis;
}

void tn_plot_update_x (TnPlot *self);
void tn_plot_update_y (TnPlot *self);

/** Reduces one segment to columns and notes a strip; @style: colour, width, dash, dots. */
void tn_plot_add_strip (TnPlot *self, const TnSeries *series, gboolean smoothed, const TnSeenRows *seen, double scale, const TnStrip *style);
/** Paints all strips into the reused picture, device pixels, premultiplied. */
const uint8_t *tn_plot_paint_strips (TnPlot *self, int width, int height);

void tn_plot_draw_marks (TnPlot *self, TnCanvas *canvas, const TnPalette *palette);
void tn_plot_draw_events (TnPlot *self, TnCanvas *canvas, const TnPalette *palette);
void tn_plot_draw_marker (TnCanvas *canvas, TnMarker marker, double x, double y, double radius, TnColor color, const TnColor *inside);
double tn_plot_y_pixel (const TnPlot *self, double value);
