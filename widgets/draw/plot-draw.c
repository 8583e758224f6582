/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "draw/plot-private.h"

#define MAX_STROKE_POINTS 5000 /* of all lines together */
#define MAX_INK 20000          /* pixels of stroked length on a screen: what takes about 3 ms */
#define MAX_RECTS 4000         /* columns drawn as single rectangles; above, one picture */
#define MAX_DOTTED 48          /* rows up to which each one gets a marker */
#define LABEL_SIZE 11
#define X_GAP 84 /* pixels between labels */
#define LEGEND_WIDTH 190
#define RAW_ALPHA 0.55f
#define GHOST_ALPHA 0.4f

/* One curve to draw: a line's raw or smoothed values. */
typedef struct
{
  const TnPlotLine *line;
  gboolean smoothed;
  TnStrip style;
  size_t n; /* rows in view */
  gboolean stroked;
} Curve;

static TnTicksKind
x_ticks_kind (const TnPlot *self)
{
  switch (self->options.x)
    {
    case TN_X_STEP:
      return self->options.x_log ? TN_TICKS_NUMBER : TN_TICKS_WHOLE;
    case TN_X_RELATIVE:
      return TN_TICKS_DURATION;
    case TN_X_WALL:
      return TN_TICKS_CLOCK;
    case TN_X_EPOCH:
    default:
      return TN_TICKS_NUMBER;
    }
}

static const char *
x_name (const TnPlot *self, const char *unit)
{
  switch (self->options.x)
    {
    case TN_X_STEP:
      return _ ("step");
    case TN_X_EPOCH:
      return _ ("epoch");
    case TN_X_RELATIVE:
      return unit;
    case TN_X_WALL:
    default:
      return "";
    }
}

/* --- layout --- */

/* Tall plots need no denser labels than small ones. */
static double
y_gap (const TnPlot *self)
{
  return CLAMP (self->inner.height / 9, 32, 56);
}

static double
widest_label (TnCanvas *canvas, GArray *ticks)
{
  const TnTextStyle style = { .size = LABEL_SIZE, .tabular = TRUE };
  double widest = 0, width;
  for (guint i = 0; i < ticks->len; i++)
    {
      tn_canvas_measure (canvas, g_array_index (ticks, TnTick, i).label, &style, &width, NULL, NULL);
      widest = fmax (widest, width);
    }
  return widest;
}

static GArray *
x_ticks (TnPlot *self, TnCanvas *canvas, char *unit)
{
  GArray *ticks = tn_axis_ticks (&self->x, x_ticks_kind (self), X_GAP, self->options.localized, unit);
  double need = widest_label (canvas, ticks) + 14;
  if (need <= X_GAP)
    return ticks;
  g_array_unref (ticks);
  return tn_axis_ticks (&self->x, x_ticks_kind (self), need, self->options.localized, unit);
}

void
tn_plot_layout (TnPlot *self, TnCanvas *canvas, double width, double height)
{
  char unit[TN_TICK_LABEL];
  double top = fmax (self->options.show_title ? 44 : 20, self->options.corner), bottom = self->events->len > 0 ? 40 : 24;
  double right = self->options.show_legend ? LEGEND_WIDTH + 16 : 14;
  self->width = width;
  self->height = height;
  self->inner.y = top;
  self->inner.height = fmax (8, floor (height - top - bottom));
  self->y.from = self->inner.y + self->inner.height;
  self->y.to = self->inner.y;
  tn_plot_update_x (self);
  tn_plot_update_y (self);
  g_autoptr (GArray) ticks = tn_axis_ticks (&self->y, TN_TICKS_NUMBER, y_gap (self), self->options.localized, unit);
  double left = fmax (40, ceil ((widest_label (canvas, ticks) + 12) / 8) * 8); /* in steps: live labels must not shake the plot */
  self->inner.x = fmin (left, floor (width / 2));
  self->inner.width = fmax (8, floor (width - self->inner.x - right));
  self->x.from = self->inner.x;
  self->x.to = self->inner.x + self->inner.width;
}

TnRect
tn_plot_inner (const TnPlot *self)
{
  return self->inner;
}

const TnAxis *
tn_plot_x_axis (const TnPlot *self)
{
  return &self->x;
}

const TnAxis *
tn_plot_y_axis (const TnPlot *self)
{
  return &self->y;
}

/* --- axes --- */

static TnStroke
grid_stroke (const TnPalette *palette, gboolean major)
{
  return (TnStroke) { .width = 1, .color = tn_color_alpha (palette->grid, major || palette->high_contrast ? 1 : 0.5f) };
}

static void
draw_y_axis (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  char unit[TN_TICK_LABEL];
  const TnRect *inner = &self->inner;
  const TnTextStyle style = { .size = LABEL_SIZE, .color = palette->dim_text, .anchor = TN_ANCHOR_END, .tabular = TRUE };
  g_autoptr (GArray) ticks = tn_axis_ticks (&self->y, TN_TICKS_NUMBER, y_gap (self), self->options.localized, unit);
  for (guint i = 0; i < ticks->len; i++)
    {
      const TnTick *tick = &g_array_index (ticks, TnTick, i);
      TnStroke stroke = grid_stroke (palette, tick->major);
      double y = tn_canvas_snap (canvas, tn_axis_pixel (&self->y, tick->value), 1);
      tn_canvas_line (canvas, inner->x, y, inner->x + inner->width, y, &stroke);
      if (tick->major)
        tn_canvas_text (canvas, tick->label, inner->x - 8, y + 4, &style);
    }
  TnTextStyle unit_style = style;
  unit_style.anchor = TN_ANCHOR_START;
  unit_style.max_width = inner->width / 2;
  tn_canvas_text (canvas, self->unit, fmax (4, inner->x - 36), inner->y - 9, &unit_style);
}

static void
draw_x_axis (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  char unit[TN_TICK_LABEL];
  const TnRect *inner = &self->inner;
  TnTextStyle style = { .size = LABEL_SIZE, .color = palette->dim_text, .anchor = TN_ANCHOR_END, .tabular = TRUE };
  TnStroke axis = { .width = 1, .color = palette->border };
  double bottom = tn_canvas_snap (canvas, inner->y + inner->height, 1), name_width, width;
  double right = fmin (inner->x + inner->width + 10, self->width - 4);
  g_autoptr (GArray) ticks = x_ticks (self, canvas, unit);
  const char *name = x_name (self, unit);
  tn_canvas_measure (canvas, name, &style, &name_width, NULL, NULL);
  style.anchor = TN_ANCHOR_MIDDLE;
  for (guint i = 0; i < ticks->len; i++)
    {
      const TnTick *tick = &g_array_index (ticks, TnTick, i);
      TnStroke stroke = grid_stroke (palette, tick->major && self->options.x_log);
      double at = tn_axis_pixel (&self->x, tick->value), x = tn_canvas_snap (canvas, at, 1);
      tn_canvas_line (canvas, x, inner->y, x, bottom, &stroke);
      if (!tick->major)
        continue;
      tn_canvas_line (canvas, x, bottom, x, bottom + 4, &axis);
      tn_canvas_measure (canvas, tick->label, &style, &width, NULL, NULL);
      if (at - width / 2 >= 2 && at + width / 2 <= (name_width > 0 ? right - name_width - 8 : self->width - 2))
        tn_canvas_text (canvas, tick->label, at, bottom + 17, &style);
    }
  tn_canvas_line (canvas, inner->x, bottom, inner->x + inner->width, bottom, &axis);
  style.anchor = TN_ANCHOR_END;
  tn_canvas_text (canvas, name, right, bottom + 17, &style);
}

static void
draw_selection (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  double left, right;
  if (self->selection_begin > self->selection_end || !tn_plot_pixel_of_step (self, self->selection_begin, &left)
      || !tn_plot_pixel_of_step (self, self->selection_end, &right))
    return;
  const TnRect *inner = &self->inner;
  TnStroke stroke = { .width = palette->high_contrast ? 2 : 1, .color = palette->selection };
  if (right > inner->x && left < inner->x + inner->width && right > left && !palette->high_contrast)
    {
      double x0 = fmax (left, inner->x), x1 = fmin (right, inner->x + inner->width);
      tn_canvas_rect (canvas, &(TnRect) { x0, inner->y, x1 - x0, inner->height }, tn_color_alpha (palette->selection, 0.14f));
    }
  const double edges[] = { left, right };
  for (int i = 0; i < (right > left ? 2 : 1); i++)
    if (edges[i] >= inner->x && edges[i] <= inner->x + inner->width)
      {
        double x = tn_canvas_snap (canvas, edges[i], stroke.width);
        tn_canvas_line (canvas, x, inner->y, x, inner->y + inner->height, &stroke);
      }
}

static void
draw_thresholds (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  static const double dash[] = { 5, 4 };
  TnStroke stroke = { .width = palette->high_contrast ? 2 : 1, .color = palette->error, .dash = dash, .n_dash = 2 };
  const TnTextStyle style = { .size = 10, .color = palette->error, .anchor = TN_ANCHOR_END, .tabular = TRUE };
  for (guint i = 0; i < self->thresholds->len; i++)
    {
      double value = tn_plot_threshold (self, i);
      if (value < self->y.low || value > self->y.high)
        continue;
      char text[TN_TICK_LABEL];
      double y = tn_canvas_snap (canvas, tn_axis_pixel (&self->y, value), 1);
      tn_canvas_line (canvas, self->inner.x, y, self->inner.x + self->inner.width, y, &stroke);
      tn_canvas_text (canvas, tn_format_si (value, 3, self->options.localized, text), self->inner.x + self->inner.width - 4, y - 4, &style);
    }
}

/* --- curves --- */

static size_t
count_seen (TnPlot *self, const TnSeries *series)
{
  size_t n_segments, n = 0;
  TnSeenRows seen;
  tn_series_segments (series, &n_segments);
  for (size_t i = 0; i < n_segments; i++)
    if (tn_plot_seen_rows (self, series, i, &seen))
      n += seen.wide_end - seen.wide_begin;
  return n;
}

static void
add_curve (GArray *curves, TnPlot *self, const TnPlotLine *line, gboolean smoothed, const TnStrip *style)
{
  Curve curve = { line, smoothed, *style, count_seen (self, line->series), FALSE };
  curve.style.line = line;
  if (curve.n > 0)
    g_array_append_val (curves, curve);
}

static void
add_line (GArray *curves, TnPlot *self, const TnPlotLine *line, const TnPalette *palette)
{
  gboolean smoothing = tn_plot_is_smoothed (self, line);
  TnStrip style = { .color = tn_plot_line_color (line, palette), .width = palette->line_width, .dash = line->dash };
  if (line->emphasis)
    style.width *= 1.6;
  if (line->ghost && !palette->high_contrast)
    style.color.alpha = GHOST_ALPHA;
  if (smoothing && self->options.raw_behind && !line->ghost)
    {
      TnStrip raw = style;
      raw.width = palette->high_contrast ? 1.5 : 1;
      raw.dash = 0;
      raw.dots = palette->high_contrast;
      raw.color.alpha = palette->high_contrast ? 1 : RAW_ALPHA * style.color.alpha;
      add_curve (curves, self, line, FALSE, &raw);
    }
  style.width += smoothing ? 0.5 : 0;
  add_curve (curves, self, line, smoothing, &style);
}

/* Ghosts behind, validation in front, else as in the legend. */
static GArray *
list_curves (TnPlot *self, const TnPalette *palette)
{
  GArray *curves = g_array_new (FALSE, FALSE, sizeof (Curve));
  for (int layer = 0; layer < 3; layer++)
    for (guint i = 0; i < self->lines->len; i++)
      {
        const TnPlotLine *line = tn_plot_line (self, i);
        int of = line->ghost ? 0 : line->emphasis ? 2 : 1;
        if (of == layer && line->band < 0 && tn_plot_line_is_shown (self, line))
          add_line (curves, self, line, palette);
      }
  return curves;
}

static gboolean
place_row (const TnPlot *self, const TnSeries *series, const double *values, size_t row, TnPoint *point)
{
  double x = tn_plot_x_of (self, series, row), y = values[row];
  if (!isfinite (y) || (self->y.log && y <= 0) || (self->x.log && x <= 0))
    return FALSE;
  point->x = CLAMP (tn_axis_pixel (&self->x, x), -1e6, 1e6);
  point->y = CLAMP (tn_axis_pixel (&self->y, y), -1e6, 1e6);
  return TRUE;
}

/* Length of a curve, of any segment that is seen. */
static double
ink_of (const TnPlot *self, const Curve *curve)
{
  const TnSeries *series = curve->line->series;
  const double *values = tn_series_values (series, curve->smoothed);
  size_t n_segments, ready = tn_plot_n_ready (series, curve->smoothed);
  TnSeenRows seen;
  double ink = 0;
  tn_series_segments (series, &n_segments);
  for (size_t i = 0; i < n_segments; i++)
    {
      TnPoint last = { 0, 0 }, point = { 0, 0 };
      gboolean any = FALSE;
      if (!tn_plot_seen_rows (self, series, i, &seen))
        continue;
      for (size_t row = seen.wide_begin; row < MIN (seen.wide_end, ready); row++, last = point)
        {
          gboolean placed = place_row (self, series, values, row, &point);
          if (placed && any)
            ink += fmin (fabs (point.x - last.x), self->inner.width) + fmin (fabs (point.y - last.y), self->inner.height);
          any = placed;
        }
    }
  return ink;
}

/* Who is drawn row by row: at most two rows a pixel, and all together no more than a stroke may have. On a screen wild curves are
 * drawn as columns too: a stroke costs by its length. */
static void
choose_stroked (const TnPlot *self, GArray *curves, gboolean is_vector)
{
  size_t candidates = 0, total = 0, most = (size_t) (2 * self->inner.width);
  double ink = 0;
  for (guint i = 0; i < curves->len; i++)
    if (g_array_index (curves, Curve, i).n <= most)
      {
        candidates++;
        total += g_array_index (curves, Curve, i).n;
      }
  if (total > MAX_STROKE_POINTS)
    most = MAX_STROKE_POINTS / candidates;
  for (guint i = 0; i < curves->len; i++)
    {
      Curve *curve = &g_array_index (curves, Curve, i);
      curve->stroked = curve->n <= most;
      ink += curve->stroked && !is_vector ? ink_of (self, curve) : 0;
    }
  for (guint i = 0; i < curves->len && ink > MAX_INK; i++)
    g_array_index (curves, Curve, i).stroked = g_array_index (curves, Curve, i).n <= MAX_DOTTED;
}

static void
end_stroke (TnPlot *self, TnCanvas *canvas, const Curve *curve, GArray *points, const TnPalette *palette)
{
  TnStroke stroke = { .width = curve->style.width, .color = curve->style.color };
  stroke.dash = tn_palette_dash (curve->style.dash, &stroke.n_dash);
  if (curve->style.dots)
    for (guint i = 0; i < points->len; i++)
      {
        const TnPoint *point = &g_array_index (points, TnPoint, i);
        tn_canvas_rect (canvas, &(TnRect) { point->x - 1, point->y - 1, 2, 2 }, curve->style.color);
      }
  else if (points->len > 1)
    tn_canvas_polyline (canvas, (const TnPoint *) points->data, points->len, &stroke);
  else if (points->len == 1) /* a row between two gaps */
    tn_plot_draw_marker (canvas, curve->line->marker, g_array_index (points, TnPoint, 0).x, g_array_index (points, TnPoint, 0).y, 3.5,
                         curve->style.color, NULL);
  self->n_drawn += points->len;
  g_array_set_size (points, 0);
}

static void
draw_row_markers (TnCanvas *canvas, const Curve *curve, GArray *points, const TnPalette *palette)
{
  double last = -INFINITY, radius = curve->line->emphasis ? 4 : 3;
  TnColor inside = palette->background;
  for (guint i = 0; i < points->len; i++)
    {
      const TnPoint *point = &g_array_index (points, TnPoint, i);
      if (point->x - last < 3 * radius)
        continue;
      tn_plot_draw_marker (canvas, curve->line->marker, point->x, point->y, radius, curve->style.color, curve->line->emphasis ? &inside : NULL);
      last = point->x;
    }
}

static void
stroke_segment (TnPlot *self, TnCanvas *canvas, const Curve *curve, const TnSeenRows *seen, const TnPalette *palette)
{
  const TnSeries *series = curve->line->series;
  const double *values = tn_series_values (series, curve->smoothed);
  size_t end = MIN (seen->wide_end, tn_plot_n_ready (series, curve->smoothed));
  gboolean main_curve = curve->smoothed == tn_plot_is_smoothed (self, curve->line);
  gboolean marked = main_curve && !curve->line->ghost && (curve->n <= MAX_DOTTED || curve->line->emphasis);
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  for (size_t row = seen->wide_begin; row < end; row++)
    {
      TnPoint point;
      if (!place_row (self, series, values, row, &point))
        {
          end_stroke (self, canvas, curve, points, palette);
          continue;
        }
      g_array_append_val (points, point);
      g_array_append_val (all, point);
    }
  end_stroke (self, canvas, curve, points, palette);
  if (marked)
    draw_row_markers (canvas, curve, all, palette);
}

static void
draw_stroked (TnPlot *self, TnCanvas *canvas, const Curve *curve, const TnPalette *palette)
{
  size_t n_segments;
  TnSeenRows seen;
  tn_series_segments (curve->line->series, &n_segments);
  for (size_t i = 0; i < n_segments; i++)
    if (tn_plot_seen_rows (self, curve->line->series, i, &seen))
      stroke_segment (self, canvas, curve, &seen, palette);
}

static void
reduce_curve (TnPlot *self, TnCanvas *canvas, const Curve *curve)
{
  size_t n_segments;
  TnSeenRows seen;
  TnStrip style = curve->style;
  style.width *= canvas->scale;
  tn_series_segments (curve->line->series, &n_segments);
  for (size_t i = 0; i < n_segments; i++)
    if (tn_plot_seen_rows (self, curve->line->series, i, &seen))
      tn_plot_add_strip (self, curve->line->series, curve->smoothed, &seen, canvas->scale, &style);
}

/* A few columns as rectangles. */
static void
draw_rects (TnPlot *self, TnCanvas *canvas)
{
  double pixel = 1 / canvas->scale;
  for (guint s = 0; s < self->strips->len; s++)
    {
      const TnStrip *strip = &g_array_index (self->strips, TnStrip, s);
      for (int i = 0; i < strip->n; i++)
        {
          const TnColumn *column = &g_array_index (self->columns, TnColumn, strip->at + i);
          if (column->low > column->high)
            continue;
          double half = strip->width / 2, top = fmax (column->low - half, 0), bottom = fmin (column->high + half, self->inner.height * canvas->scale);
          TnRect rect = { self->inner.x + (strip->first + i) * pixel, self->inner.y + top * pixel, pixel, (bottom - top) * pixel };
          if (bottom > top)
            tn_canvas_rect (canvas, &rect, strip->color);
        }
    }
}

/* Files that know no pixels get a path up and down the columns. */
static void
draw_paths (TnPlot *self, TnCanvas *canvas)
{
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  for (guint s = 0; s < self->strips->len; s++)
    {
      const TnStrip *strip = &g_array_index (self->strips, TnStrip, s);
      TnStroke stroke = { .width = strip->width / canvas->scale, .color = strip->color };
      stroke.dash = tn_palette_dash (strip->dash, &stroke.n_dash);
      g_array_set_size (points, 0);
      for (int i = 0; i <= strip->n; i++)
        {
          const TnColumn *column = i < strip->n ? &g_array_index (self->columns, TnColumn, strip->at + i) : NULL;
          gboolean empty = column == NULL || column->low > column->high;
          if ((empty || points->len + 2 > MAX_STROKE_POINTS) && points->len > 0)
            {
              TnPoint last = g_array_index (points, TnPoint, points->len - 1);
              tn_canvas_polyline (canvas, (const TnPoint *) points->data, points->len, &stroke);
              g_array_set_size (points, 0);
              if (!empty)
                g_array_append_val (points, last);
            }
          if (empty)
            continue;
          double x = self->inner.x + (strip->first + i + 0.5) / canvas->scale;
          TnPoint ends[] = { { x, self->inner.y + column->low / canvas->scale }, { x, self->inner.y + column->high / canvas->scale } };
          if (i % 2 == 1) /* up, then down: the shortest way to the next one */
            g_array_append_val (points, ends[1]);
          g_array_append_val (points, ends[0]);
          if (i % 2 == 0)
            g_array_append_val (points, ends[1]);
        }
    }
}

static void
draw_reduced (TnPlot *self, TnCanvas *canvas)
{
  size_t total = self->columns->len;
  if (total == 0)
    return;
  self->n_drawn += 2 * total;
  gboolean plain = TRUE; /* rectangles know no dashes */
  for (guint s = 0; s < self->strips->len; s++)
    plain = plain && g_array_index (self->strips, TnStrip, s).dash == 0 && !g_array_index (self->strips, TnStrip, s).dots;
  if (canvas->table->is_vector)
    draw_paths (self, canvas);
  else if (plain && total <= MAX_RECTS)
    draw_rects (self, canvas);
  else
    {
      int width = (int) round (self->inner.width * canvas->scale), height = (int) round (self->inner.height * canvas->scale);
      tn_canvas_image (canvas, &self->inner, tn_plot_paint_strips (self, width, height), width, height, width * 4);
    }
}

/* --- bands --- */

static gboolean
value_at (const TnPlot *self, const TnSeries *series, double x, double *value)
{
  size_t row = tn_series_nearest (series, self->options.x, self->origin, x);
  gboolean smoothed = self->options.smoothing > 0;
  if (row == G_MAXSIZE || row >= tn_plot_n_ready (series, smoothed))
    return FALSE;
  size_t n = tn_series_n (series);
  if (x > tn_plot_x_of (self, series, n - 1) || x < tn_plot_x_of (self, series, 0))
    return FALSE;
  *value = tn_series_values (series, smoothed)[row];
  return isfinite (*value) && (!self->y.log || *value > 0);
}

static void
draw_band (TnPlot *self, TnCanvas *canvas, const TnBand *band, const TnPalette *palette)
{
  enum { COLUMNS = 400 };
  g_autofree TnPoint *edge = g_new (TnPoint, 2 * COLUMNS), *means = g_new (TnPoint, COLUMNS);
  const TnPlotLine *first = tn_plot_line (self, band->first);
  TnColor color = tn_plot_line_color (first, palette);
  int n = 0;
  for (int i = 0; i < COLUMNS; i++)
    {
      double pixel = self->inner.x + self->inner.width * i / (COLUMNS - 1), x = tn_axis_value (&self->x, pixel), value;
      double low = INFINITY, high = -INFINITY, sum = 0;
      int members = 0;
      for (unsigned m = band->first; m < band->first + band->n; m++)
        if (tn_plot_line_is_shown (self, tn_plot_line (self, m)) && value_at (self, tn_plot_line (self, m)->series, x, &value))
          {
            low = fmin (low, value);
            high = fmax (high, value);
            sum += value;
            members++;
          }
      if (members == 0)
        continue;
      means[n] = (TnPoint) { pixel, tn_axis_pixel (&self->y, sum / members) };
      edge[n] = (TnPoint) { pixel, tn_axis_pixel (&self->y, high) };
      edge[2 * COLUMNS - 1 - n] = (TnPoint) { pixel, tn_axis_pixel (&self->y, low) };
      n++;
    }
  if (n < 2)
    return;
  memmove (edge + n, edge + 2 * COLUMNS - n, n * sizeof (TnPoint));
  TnStroke border = { .width = 1, .color = color }, mean = { .width = palette->line_width + 0.5, .color = color };
  if (!palette->high_contrast)
    tn_canvas_polygon (canvas, edge, 2 * n, tn_color_alpha (color, 0.18f));
  else
    {
      tn_canvas_polyline (canvas, edge, n, &border);
      tn_canvas_polyline (canvas, edge + n, n, &border);
    }
  tn_canvas_polyline (canvas, means, n, &mean);
}

static void
draw_curves (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  g_autoptr (GArray) curves = list_curves (self, palette);
  TnRect clip = { self->inner.x - 5, self->inner.y - 5, self->inner.width + 10, self->inner.height + 10 };
  g_array_set_size (self->columns, 0);
  g_array_set_size (self->strips, 0);
  self->n_drawn = self->n_points = 0;
  choose_stroked (self, curves, canvas->table->is_vector);
  for (guint i = 0; i < curves->len; i++)
    {
      const Curve *curve = &g_array_index (curves, Curve, i);
      self->n_points += curve->n;
      if (!curve->stroked)
        reduce_curve (self, canvas, curve);
    }
  tn_canvas_push_clip (canvas, &clip);
  for (guint i = 0; i < self->bands->len; i++)
    draw_band (self, canvas, &g_array_index (self->bands, TnBand, i), palette);
  draw_reduced (self, canvas);
  for (guint i = 0; i < curves->len; i++)
    if (g_array_index (curves, Curve, i).stroked)
      draw_stroked (self, canvas, &g_array_index (curves, Curve, i), palette);
  tn_canvas_pop_clip (canvas);
}

/* --- in files: title, legend, badge --- */

static void
draw_legend (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  double x = self->inner.x + self->inner.width + 22, y = self->inner.y + 10;
  TnTextStyle name = { .size = LABEL_SIZE, .color = palette->text, .max_width = LEGEND_WIDTH - 100 };
  const TnTextStyle number = { .size = LABEL_SIZE, .color = palette->dim_text, .anchor = TN_ANCHOR_END, .tabular = TRUE };
  for (guint i = 0; i < self->lines->len && y < self->height - 18; i++)
    {
      const TnPlotLine *line = tn_plot_line (self, i);
      size_t n = tn_series_n (line->series);
      if (!tn_plot_line_is_shown (self, line))
        continue;
      TnStroke stroke = { .width = palette->line_width + 0.5, .color = tn_plot_line_color (line, palette) };
      if (line->ghost && !palette->high_contrast)
        stroke.color.alpha = GHOST_ALPHA;
      stroke.dash = tn_palette_dash (line->dash, &stroke.n_dash);
      tn_canvas_line (canvas, x, y - 4, x + 22, y - 4, &stroke);
      if (n <= MAX_DOTTED || line->emphasis)
        tn_plot_draw_marker (canvas, line->marker, x + 11, y - 4, 3, stroke.color, line->emphasis ? &palette->background : NULL);
      tn_canvas_text (canvas, line->label, x + 30, y, &name);
      char text[TN_TICK_LABEL] = "—";
      if (n > 0)
        tn_format_si (tn_series_values (line->series, FALSE)[n - 1], 4, self->options.localized, text);
      gboolean all_nan = n > 0 && tn_series_extreme (line->series, FALSE) == G_MAXSIZE;
      tn_canvas_text (canvas, all_nan ? _ ("all NaN") : text, self->width - 12, y, &number);
      y += 19;
    }
}

static void
draw_heading (TnPlot *self, TnCanvas *canvas, const TnPalette *palette)
{
  const TnTextStyle title = { .size = 14, .color = palette->text, .bold = TRUE, .max_width = self->width / 2 };
  g_autofree char *badge = tn_plot_badge (self);
  if (self->options.show_title)
    tn_canvas_text (canvas, self->title, 12, 20, &title);
  double width = 0, right = fmin (self->inner.x + self->inner.width, self->width - self->options.corner - 4), unit_width = 0;
  TnTextStyle dim = { .size = 10, .color = palette->dim_text, .anchor = TN_ANCHOR_END };
  if (badge == NULL)
    return;
  tn_canvas_measure (canvas, self->unit, &dim, &unit_width, NULL, NULL);
  tn_canvas_measure (canvas, badge, &dim, &width, NULL, NULL);
  double room = right - self->inner.x - unit_width - 8;
  if (room < 40)
    return;
  if (width > room)
    dim.max_width = room;
  tn_canvas_text (canvas, badge, right, self->inner.y - 9, &dim);
}

void
tn_plot_draw (TnPlot *self, TnCanvas *canvas, double width, double height, const TnPalette *palette)
{
  g_return_if_fail (self != NULL && canvas != NULL && palette != NULL);
  tn_plot_layout (self, canvas, width, height);
  tn_canvas_rect (canvas, &(TnRect) { 0, 0, width, height }, palette->background);
  draw_y_axis (self, canvas, palette);
  draw_x_axis (self, canvas, palette);
  draw_selection (self, canvas, palette);
  tn_plot_draw_events (self, canvas, palette);
  draw_curves (self, canvas, palette);
  draw_thresholds (self, canvas, palette);
  tn_plot_draw_marks (self, canvas, palette);
  draw_heading (self, canvas, palette);
  if (self->options.show_legend)
    draw_legend (self, canvas, palette);
}
