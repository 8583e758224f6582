/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "draw/plot-private.h"

/* Reduction to pixel columns, and one picture of all of them.
 *
 * A column is the range of y that the curve runs through between two pixel edges: the extremes of its rows, and where the line crosses
 * the edges. So a column is never empty inside a curve, and one row among millions always shows. */

#define CROWDED 48   /* rows a column from which boundaries may move to whole blocks: by 1/6 of a pixel at most */
#define BATCH 16     /* columns painted together: 64 bytes of a picture's row */

/* Device pixels from the top, kept where a float is exact. */
typedef struct
{
  double low, scale, height;
  gboolean log;
} ToPixel;

static ToPixel
to_pixel_new (const TnPlot *self, double scale)
{
  double height = self->inner.height * scale;
  double low = self->y.log ? log (self->y.low) : self->y.low, high = self->y.log ? log (self->y.high) : self->y.high;
  return (ToPixel) { low, height / (high - low), height, self->y.log };
}

static inline float
to_pixel (const ToPixel *self, double value)
{
  double at = self->height - ((self->log ? log (value) : value) - self->low) * self->scale;
  return (float) CLAMP (at, -16, self->height + 16);
}

static inline gboolean
can_show (const ToPixel *self, double value)
{
  return isfinite (value) && (!self->log || value > 0);
}

typedef struct
{
  const TnPlot *plot;
  const TnSeries *series;
  const double *values;
  const TnPyramid *pyramid;
  const TnSeenRows *seen;
  size_t end; /* of rows that are ready */
  ToPixel y;
} Reducer;

/* y where the line between rows @right - 1 and @right crosses @x; FALSE where there is no line. */
static gboolean
crossing (const Reducer *self, size_t right, double x, float *y)
{
  if (right <= self->seen->segment_begin || right >= self->end)
    return FALSE;
  double before = self->values[right - 1], after = self->values[right];
  if (!can_show (&self->y, before) || !can_show (&self->y, after))
    return FALSE;
  double x0 = tn_plot_x_of (self->plot, self->series, right - 1), x1 = tn_plot_x_of (self->plot, self->series, right);
  if (self->plot->x.log)
    {
      if (x0 <= 0)
        return FALSE;
      x0 = log (x0);
      x1 = log (x1);
      x = log (x);
    }
  double share = x1 > x0 ? CLAMP ((x - x0) / (x1 - x0), 0, 1) : 0;
  float y0 = to_pixel (&self->y, before), y1 = to_pixel (&self->y, after);
  *y = (float) (y0 + (y1 - y0) * share);
  return TRUE;
}

static inline void
stretch (TnColumn *column, float y)
{
  column->low = y < column->low ? y : column->low;
  column->high = y > column->high ? y : column->high;
}

/* Up or down to where the column before ends: among so many rows the line between the two is as good as upright. */
static inline void
join (TnColumn *column, const TnColumn *before)
{
  if (before->high < column->low)
    column->low = before->high;
  else if (before->low > column->high)
    column->high = before->low;
}

static inline void
stretch_rows (const Reducer *self, TnColumn *column, size_t begin, size_t end)
{
  TnSummary sum;
  tn_pyramid_query (self->pyramid, self->values, begin, MIN (end, self->end), &sum);
  if ((self->y.log ? sum.n_positive : sum.n_finite) == 0)
    return;
  stretch (column, to_pixel (&self->y, sum.max));
  stretch (column, to_pixel (&self->y, self->y.log ? sum.min_positive : sum.min));
}

/* Blocks so small that a column has at least three of them; 1 where rows are few. */
static size_t
grain_of (double rows_a_column)
{
  if (rows_a_column < CROWDED)
    return 1;
  int level = 0;
  while (level + 1 < TN_PYRAMID_LEVELS && (double) tn_pyramid_block_size (level + 1) <= rows_a_column / 3)
    level++;
  return tn_pyramid_block_size (level);
}

static size_t
round_to (size_t value, size_t grain)
{
  return grain > 1 ? (value + grain / 2) / grain * grain : value;
}

/* Where the rows of a column end. Among many rows only every 64th is looked at: half of that is nothing beside the block. */
static size_t
boundary (const Reducer *self, size_t row, size_t guess, size_t grain, double right)
{
  const TnSeenRows *seen = self->seen;
  const TnPlot *plot = self->plot;
  int64_t key = tn_series_key (self->series, plot->options.x, plot->origin, right);
  if (grain < TN_SERIES_SPARSE)
    {
      size_t next = tn_series_find (tn_series_keys (self->series, plot->options.x), row, seen->end, guess, key);
      return CLAMP (round_to (next, grain), row, seen->end);
    }
  size_t begin = (row + TN_SERIES_SPARSE - 1) / TN_SERIES_SPARSE, end = (seen->end - 1) / TN_SERIES_SPARSE + 1;
  if (begin >= end)
    return seen->end;
  size_t found = tn_series_find (tn_series_sparse_keys (self->series, plot->options.x), begin, end, guess / TN_SERIES_SPARSE, key);
  size_t next = found * TN_SERIES_SPARSE;
  return CLAMP (round_to (next - MIN (next, TN_SERIES_SPARSE / 2), grain), row, seen->end);
}

void
tn_plot_add_strip (TnPlot *self, const TnSeries *series, gboolean smoothed, const TnSeenRows *seen, double scale, const TnStrip *style)
{
  int width = (int) round (self->inner.width * scale);
  size_t ready = tn_plot_n_ready (series, smoothed), end = MIN (seen->segment_end, ready);
  Reducer reducer = { self, series, tn_series_values (series, smoothed), tn_series_pyramid (series, smoothed), seen, end, to_pixel_new (self, scale) };
  if (width < 1 || seen->wide_begin >= end)
    return;
  TnAxis x = self->x;
  x.from = 0;
  x.to = width;
  size_t last_row = MIN (seen->wide_end, end) - 1;
  double from = tn_plot_x_of (self, series, seen->wide_begin), to = tn_plot_x_of (self, series, last_row);
  if (x.log && from <= 0)
    from = x.low;
  int first = (int) floor (CLAMP (tn_axis_pixel (&x, from), 0, width - 1));
  int last = (int) floor (CLAMP (tn_axis_pixel (&x, fmax (to, from)), 0, width - 1));
  TnStrip strip = *style;
  strip.first = first;
  strip.n = last - first + 1;
  strip.at = self->columns->len;
  g_array_set_size (self->columns, strip.at + strip.n);
  TnColumn *columns = &g_array_index (self->columns, TnColumn, strip.at);

  size_t grain = grain_of ((double) (seen->end - seen->begin) / strip.n);
  size_t row = seen->begin;
  double rows = (double) (seen->end - seen->begin) / strip.n; /* where even: the first guess is right, and one look at memory enough */
  double left = tn_axis_value (&x, first);
  for (int i = 0; i < strip.n; i++)
    {
      double right = tn_axis_value (&x, first + i + 1);
      TnColumn column = { G_MAXFLOAT, -G_MAXFLOAT };
      size_t guess = x.log ? row + (size_t) rows : seen->begin + (size_t) (rows * (i + 1) + 0.5);
      size_t next = i == strip.n - 1 ? seen->end : boundary (&reducer, row, guess, grain, right);
      float y;
      if (row < next)
        stretch_rows (&reducer, &column, row, next);
      if (grain == 1)
        {
          if (crossing (&reducer, row, left, &y))
            stretch (&column, y);
          if (crossing (&reducer, next, right, &y))
            stretch (&column, y);
        }
      else if (i > 0 && column.low <= column.high && columns[i - 1].low <= columns[i - 1].high)
        join (&column, &columns[i - 1]);
      columns[i] = column;
      row = next;
      left = right;
    }
  g_array_append_val (self->strips, strip);
}

/* --- the picture --- */

static inline uint32_t
premultiply (TnColor color, float coverage)
{
  float alpha = color.alpha * coverage;
  uint32_t a = (uint32_t) lrintf (alpha * 255), r = (uint32_t) lrintf (color.red * alpha * 255);
  uint32_t g = (uint32_t) lrintf (color.green * alpha * 255), b = (uint32_t) lrintf (color.blue * alpha * 255);
  return a << 24 | r << 16 | g << 8 | b;
}

static inline uint32_t
over (uint32_t below, uint32_t above)
{
  uint32_t left = 256 - (above >> 24) - (above >> 31); /* 255 - a, stretched to 0..256 */
  uint32_t even = ((below & 0x00ff00ff) * left >> 8) & 0x00ff00ff, odd = ((below >> 8) & 0x00ff00ff) * left & 0xff00ff00;
  return above + (even | odd);
}

static void
paint_span (uint32_t *column, int height, float low, float high, TnColor color)
{
  low = fmaxf (low, 0);
  high = fminf (high, (float) height);
  if (!(high > low))
    return;
  int first = (int) low, last = MIN ((int) high, height - 1);
  if (first == last)
    {
      column[first] = over (column[first], premultiply (color, high - low));
      return;
    }
  uint32_t full = premultiply (color, 1);
  column[first] = over (column[first], premultiply (color, (float) (first + 1) - low));
  if (color.alpha >= 1)
    for (int y = first + 1; y < last; y++)
      column[y] = full;
  else
    for (int y = first + 1; y < last; y++)
      column[y] = over (column[y], full);
  column[last] = over (column[last], premultiply (color, high - (float) last));
}

static gboolean
is_dash_on (unsigned dash, double pixels)
{
  int n;
  const double *lengths = tn_palette_dash (dash, &n);
  double period = 0;
  for (int i = 0; i < n; i++)
    period += lengths[i];
  if (period == 0)
    return TRUE;
  double at = fmod (pixels, period);
  for (int i = 0; i < n; i++)
    {
      if (at < lengths[i])
        return i % 2 == 0;
      at -= lengths[i];
    }
  return TRUE;
}

static void
paint_column (uint32_t *pixels, int height, const TnStrip *strip, const TnColumn *column)
{
  float half = (float) (strip->width / 2);
  if (column->low > column->high)
    return;
  if (!strip->dots)
    {
      paint_span (pixels, height, column->low - half, column->high + half, strip->color);
      return;
    }
  paint_span (pixels, height, column->low - half, column->low + half, strip->color);
  paint_span (pixels, height, column->high - half, column->high + half, strip->color);
}

const uint8_t *
tn_plot_paint_strips (TnPlot *self, int width, int height)
{
  size_t n = (size_t) width * height;
  if (n > self->n_pixels)
    {
      g_free (self->pixels);
      self->pixels = g_new (uint32_t, n);
      self->n_pixels = n;
    }
  const TnStrip *strips = (const TnStrip *) self->strips->data;
  const TnColumn *columns = (const TnColumn *) self->columns->data;
  double scale = self->inner.width > 0 ? width / self->inner.width : 1;
  g_autofree uint32_t *batch = g_new (uint32_t, (size_t) BATCH * height);
  for (int x0 = 0; x0 < width; x0 += BATCH)
    {
      int in_batch = MIN (BATCH, width - x0);
      memset (batch, 0, sizeof (uint32_t) * BATCH * height);
      for (guint s = 0; s < self->strips->len; s++)
        {
          int begin = MAX (x0, strips[s].first), end = MIN (x0 + in_batch, strips[s].first + strips[s].n);
          for (int x = begin; x < end; x++)
            if (is_dash_on (strips[s].dash, x / scale) && (!strips[s].dots || x % 3 == 0))
              paint_column (batch + (size_t) (x - x0) * height, height, &strips[s], &columns[strips[s].at + x - strips[s].first]);
        }
      for (int y = 0; y < height; y++)
        for (int i = 0; i < in_batch; i++)
          self->pixels[(size_t) y * width + x0 + i] = batch[(size_t) i * height + y];
    }
  return (const uint8_t *) self->pixels;
}
