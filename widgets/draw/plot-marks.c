/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "base/error.h"
#include "draw/plot-private.h"

/* Signs on a plot: markers of rows, values that cannot be placed, restarts, events. */

#define MAX_MARKS 120     /* of one line */
#define MAX_EVENTS 200    /* drawn */
#define MARK_GAP 6        /* pixels; marks that are closer fall together */
#define GLYPH_GAP 11

void
tn_plot_draw_marker (TnCanvas *canvas, TnMarker marker, double x, double y, double radius, TnColor color, const TnColor *inside)
{
  double r = radius;
  TnStroke edge = { .width = 1.5, .color = color };
  const TnPoint triangle[] = { { x, y - r }, { x + r, y + r * 0.8 }, { x - r, y + r * 0.8 }, { x, y - r } };
  const TnPoint diamond[] = { { x, y - 1.2 * r }, { x + 1.2 * r, y }, { x, y + 1.2 * r }, { x - 1.2 * r, y }, { x, y - 1.2 * r } };
  TnRect box = { x - r, y - r, 2 * r, 2 * r };
  if (marker == TN_MARKER_CIRCLE || marker == TN_MARKER_SQUARE)
    tn_canvas_round_rect (canvas, &box, marker == TN_MARKER_CIRCLE ? r : 0, inside != NULL ? inside : &color, &edge);
  else
    {
      const TnPoint *points = marker == TN_MARKER_TRIANGLE ? triangle : diamond;
      size_t n = marker == TN_MARKER_TRIANGLE ? 4 : 5;
      tn_canvas_polygon (canvas, points, n - 1, inside != NULL ? *inside : color);
      tn_canvas_polyline (canvas, points, n, &edge);
    }
}

/* A triangle on an edge of the inner area; @up: its point looks upwards. */
static void
draw_arrow (TnCanvas *canvas, double x, double y, gboolean up, gboolean open, TnColor color)
{
  double height = up ? -7 : 7;
  const TnPoint points[] = { { x - 4, y }, { x + 4, y }, { x, y + height }, { x - 4, y } };
  TnStroke stroke = { .width = 1.25, .color = color };
  if (!open)
    tn_canvas_polygon (canvas, points, 3, color);
  else
    tn_canvas_polyline (canvas, points, 4, &stroke);
}

static gboolean
is_inside (const TnPlot *self, double x)
{
  return x >= self->inner.x - 0.5 && x <= self->inner.x + self->inner.width + 0.5;
}

static void
draw_not_finite (TnPlot *self, TnCanvas *canvas, double value, double x, const TnPalette *palette)
{
  double top = self->inner.y, bottom = self->inner.y + self->inner.height;
  if (isnan (value))
    tn_canvas_rect (canvas, &(TnRect) { x - 1, top, 2, 9 }, palette->error);
  else
    draw_arrow (canvas, x, value > 0 ? top + 8 : bottom - 8, value > 0, FALSE, palette->error);
}

/* Calls for odd rows of a segment, one in MARK_GAP pixels. */
static void
mark_odd_rows (TnPlot *self, TnCanvas *canvas, const TnPlotLine *line, const TnSeenRows *seen, gboolean finite, const TnPalette *palette)
{
  const TnSeries *series = line->series;
  const double *values = tn_series_values (series, FALSE);
  const int64_t *keys = tn_series_keys (series, self->options.x);
  size_t row = seen->begin;
  for (int n = 0; n < MAX_MARKS; n++)
    {
      row = tn_pyramid_find_odd (tn_series_pyramid (series, FALSE), values, row, seen->end, finite);
      if (row == seen->end)
        return;
      double x = tn_axis_pixel (&self->x, tn_plot_x_of (self, series, row));
      if (is_inside (self, x) && finite)
        draw_arrow (canvas, x, self->inner.y + self->inner.height - 1, TRUE, TRUE, tn_plot_line_color (line, palette));
      else if (is_inside (self, x))
        draw_not_finite (self, canvas, values[row], x, palette);
      int64_t key = tn_series_key (series, self->options.x, self->origin, tn_axis_value (&self->x, x + MARK_GAP));
      row = MAX (row + 1, tn_series_find (keys, row, seen->end, row, key));
    }
}

/* Arrows where the curve leaves at the top or the bottom, and how many rows are out there. */
static void
mark_outside (TnPlot *self, TnCanvas *canvas, const TnPlotLine *line, const TnSeenRows *seen, const TnPalette *palette)
{
  const TnSeries *series = line->series;
  const TnPyramid *pyramid = tn_series_pyramid (series, FALSE);
  const double *values = tn_series_values (series, FALSE);
  const int64_t *keys = tn_series_keys (series, self->options.x);
  int64_t outside = tn_pyramid_count_outside (pyramid, values, seen->begin, seen->end, self->y.low, self->y.high, self->y.log);
  self->n_outside += outside;
  if (outside == 0)
    return;
  TnColor color = tn_plot_line_color (line, palette);
  size_t row = seen->begin;
  for (double at = self->inner.x; at < self->inner.x + self->inner.width && row < seen->end; at += 2 * MARK_GAP)
    {
      TnSummary sum;
      int64_t key = tn_series_key (series, self->options.x, self->origin, tn_axis_value (&self->x, at + 2 * MARK_GAP));
      size_t next = tn_series_find (keys, row, seen->end, row, key);
      tn_pyramid_query (pyramid, values, row, next, &sum);
      if (sum.n_finite > 0 && sum.max > self->y.high)
        draw_arrow (canvas, at + MARK_GAP, self->inner.y + 8, TRUE, FALSE, color);
      if (sum.n_finite > 0 && (self->y.log ? sum.min_positive : sum.min) < self->y.low)
        draw_arrow (canvas, at + MARK_GAP, self->inner.y + self->inner.height - 8, FALSE, FALSE, color);
      row = next;
    }
}

static void
count_not_shown (TnPlot *self, const TnSeries *series, const TnSeenRows *seen)
{
  TnSummary sum;
  tn_pyramid_query (tn_series_pyramid (series, FALSE), tn_series_values (series, FALSE), seen->begin, seen->end, &sum);
  if (self->y.log)
    self->n_not_positive += sum.n_finite - sum.n_positive;
}

static void
count_no_log_x (TnPlot *self, const TnSeries *series, const TnSeenRows *seen)
{
  int64_t positive = tn_series_key (series, self->options.x, self->origin, nextafter (0, 1));
  const int64_t *keys = tn_series_keys (series, self->options.x);
  self->n_no_log_x += (int64_t) (tn_series_find (keys, seen->segment_begin, seen->segment_end, seen->segment_begin, positive) - seen->segment_begin);
}

static void
mark_restart (TnPlot *self, TnCanvas *canvas, const TnPlotLine *line, size_t row, double *last, const TnPalette *palette)
{
  const TnTextStyle style = { .size = 13, .color = tn_plot_line_color (line, palette), .anchor = TN_ANCHOR_MIDDLE };
  double x = tn_axis_pixel (&self->x, tn_plot_x_of (self, line->series, row));
  if (!is_inside (self, x) || fabs (x - *last) < 16 || x - 7 < self->inner.x || x + 7 > self->inner.x + self->inner.width)
    return;
  tn_canvas_text (canvas, "↺", x, self->inner.y + self->inner.height - 5, &style);
  *last = x;
}

static void
mark_line (TnPlot *self, TnCanvas *canvas, const TnPlotLine *line, const TnPalette *palette)
{
  size_t n_segments;
  const TnSegment *segments = tn_series_segments (line->series, &n_segments);
  TnSeenRows seen;
  double last_restart = -INFINITY;
  for (size_t i = 0; i < n_segments; i++)
    {
      gboolean is_seen = tn_plot_seen_rows (self, line->series, i, &seen);
      if (self->x.log)
        count_no_log_x (self, line->series, &seen);
      if (!is_seen)
        continue;
      if (i > 0)
        mark_restart (self, canvas, line, segments[i].begin, &last_restart, palette);
      mark_odd_rows (self, canvas, line, &seen, FALSE, palette);
      count_not_shown (self, line->series, &seen);
      if (self->y.log)
        mark_odd_rows (self, canvas, line, &seen, TRUE, palette);
      if (self->options.clip_outliers || self->options.y_locked)
        mark_outside (self, canvas, line, &seen, palette);
    }
}

void
tn_plot_draw_marks (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  self->n_outside = self->n_not_positive = self->n_no_log_x = 0;
  for (guint i = 0; i < self->lines->len; i++)
    if (tn_plot_line_is_shown (self, tn_plot_line (self, i)))
      mark_line (self, canvas, tn_plot_line (self, i), palette);
}

/* --- events --- */

static TnColor
event_color (TnEventKind kind, const TnPalette *palette)
{
  switch (kind)
    {
    case TN_EVENT_CHECKPOINT:
      return palette->checkpoint;
    case TN_EVENT_SETTING:
      return palette->optimizer;
    case TN_EVENT_NAN:
    case TN_EVENT_LOST:
      return palette->error;
    case TN_EVENT_CROSSING:
    case TN_EVENT_DIVERGING:
      return palette->warning;
    case TN_EVENT_VALIDATION:
      return palette->compute;
    case TN_EVENT_EPOCH:
    case TN_EVENT_PAUSE:
    case TN_EVENT_RESUME:
    default:
      return palette->dim_text;
    }
}

/* Each kind has its own shape: colour is not the only carrier. */
static void
draw_glyph (TnCanvas *canvas, TnEventKind kind, double x, double y, TnColor color)
{
  TnStroke stroke = { .width = 1.5, .color = color };
  const TnPoint right[] = { { x - 3, y - 4 }, { x + 4, y }, { x - 3, y + 4 } };
  switch (kind)
    {
    case TN_EVENT_EPOCH:
      tn_canvas_rect (canvas, &(TnRect) { x - 0.75, y - 3, 1.5, 6 }, color);
      break;
    case TN_EVENT_CHECKPOINT:
      tn_plot_draw_marker (canvas, TN_MARKER_SQUARE, x, y, 2.75, color, NULL);
      break;
    case TN_EVENT_VALIDATION:
      tn_canvas_round_rect (canvas, &(TnRect) { x - 3.5, y - 3.5, 7, 7 }, 3.5, NULL, &stroke);
      break;
    case TN_EVENT_SETTING:
      tn_plot_draw_marker (canvas, TN_MARKER_DIAMOND, x, y, 3, color, NULL);
      break;
    case TN_EVENT_PAUSE:
      tn_canvas_rect (canvas, &(TnRect) { x - 3, y - 4, 2, 8 }, color);
      tn_canvas_rect (canvas, &(TnRect) { x + 1, y - 4, 2, 8 }, color);
      break;
    case TN_EVENT_RESUME:
      tn_canvas_polygon (canvas, right, 3, color);
      break;
    case TN_EVENT_NAN:
    case TN_EVENT_LOST:
      tn_canvas_line (canvas, x - 3.5, y - 3.5, x + 3.5, y + 3.5, &stroke);
      tn_canvas_line (canvas, x - 3.5, y + 3.5, x + 3.5, y - 3.5, &stroke);
      if (kind == TN_EVENT_LOST)
        tn_canvas_round_rect (canvas, &(TnRect) { x - 4.5, y - 4.5, 9, 9 }, 1, NULL, &stroke);
      break;
    case TN_EVENT_CROSSING:
    case TN_EVENT_DIVERGING:
    case TN_N_EVENTS:
    default:
      tn_plot_draw_marker (canvas, TN_MARKER_TRIANGLE, x, y, 3.5, color, NULL);
      break;
    }
}

/* Kinds that come often give way to those that say more. */
static gboolean
is_minor (TnEventKind kind)
{
  return kind == TN_EVENT_EPOCH || kind == TN_EVENT_VALIDATION || kind == TN_EVENT_CHECKPOINT;
}

static void
draw_events_of (TnPlot *self, TnCanvas *canvas, gboolean minor, GArray *taken, const TnPalette *palette)
{
  double bottom = self->inner.y + self->inner.height, x;
  for (guint i = 0; i < self->events->len && taken->len < MAX_EVENTS; i++)
    {
      const TnPlotEvent *event = tn_plot_event (self, i);
      if (is_minor (event->kind) != minor || !tn_plot_pixel_of_step (self, event->step, &x) || !is_inside (self, x))
        continue;
      gboolean crowded = FALSE;
      for (guint t = 0; t < taken->len && !crowded; t++)
        crowded = fabs (g_array_index (taken, double, t) - x) < GLYPH_GAP;
      if (crowded)
        continue;
      g_array_append_val (taken, x);
      TnColor color = event_color (event->kind, palette);
      TnStroke stroke = { .width = 1, .color = tn_color_alpha (color, palette->high_contrast ? 1 : minor ? 0.16f : 0.45f) };
      double at = tn_canvas_snap (canvas, x, 1);
      tn_canvas_line (canvas, at, self->inner.y, at, bottom, &stroke);
      draw_glyph (canvas, event->kind, x, bottom + 30, color);
    }
}

void
tn_plot_draw_events (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (double));
  draw_events_of (self, canvas, FALSE, taken, palette);
  draw_events_of (self, canvas, TRUE, taken, palette);
}
