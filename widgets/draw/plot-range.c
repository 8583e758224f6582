/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "draw/plot-private.h"

/* What is seen: rows in view, ranges of both axes, zoom and follow. */

#define Y_MARGIN 0.05
#define Y_STILL 0.02          /* smaller changes of the y range are not made */
#define X_MARGIN 0.015        /* room behind the newest row */
#define SAMPLES 32768         /* values that percentiles are taken from */
#define LARGE (INT64_C (1) << 50)

size_t
tn_plot_n_ready (const TnSeries *series, gboolean smoothed)
{
  return smoothed ? tn_series_n_smoothed (series) : tn_series_n (series);
}

double
tn_plot_x_of (const TnPlot *self, const TnSeries *series, size_t i)
{
  return tn_series_x (series, self->options.x, self->origin, i);
}

gboolean
tn_plot_seen_rows (const TnPlot *self, const TnSeries *series, size_t i, TnSeenRows *seen)
{
  size_t n_segments;
  const TnSegment *segments = tn_series_segments (series, &n_segments);
  const int64_t *keys = tn_series_keys (series, self->options.x);
  size_t begin = segments[i].begin, end = i + 1 < n_segments ? segments[i + 1].begin : tn_series_n (series);
  int64_t low = tn_series_key (series, self->options.x, self->origin, self->x.low);
  int64_t above = tn_series_key (series, self->options.x, self->origin, nextafter (self->x.high, INFINITY));
  seen->segment_begin = begin;
  seen->segment_end = end;
  seen->begin = tn_series_find (keys, begin, end, begin, low);
  seen->end = tn_series_find (keys, begin, end, end, above);
  seen->end = MAX (seen->begin, seen->end);
  seen->wide_begin = seen->begin > begin ? seen->begin - 1 : seen->begin;
  seen->wide_end = seen->end < end ? seen->end + 1 : seen->end;
  return seen->begin < seen->end || seen->wide_begin + 2 == seen->wide_end;
}

/* --- x --- */

static void
fix_origin (TnPlot *self)
{
  if (self->has_origin)
    return;
  self->origin = 0;
  int64_t least = G_MAXINT64;
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnSeries *series = tn_plot_line (self, i)->series;
      if (tn_series_n (series) > 0)
        least = MIN (least, tn_series_keys (series, self->options.x)[0]);
    }
  if (least == G_MAXINT64)
    return;
  self->has_origin = TRUE;
  if (self->options.x == TN_X_WALL || (self->options.x == TN_X_STEP && !self->options.x_log && (least > LARGE || least < -LARGE)))
    self->origin = least;
}

static void
take_in_line (const TnPlot *self, const TnSeries *series, double *low, double *high)
{
  size_t n_segments, n = tn_series_n (series);
  const TnSegment *segments = tn_series_segments (series, &n_segments);
  const int64_t *keys = tn_series_keys (series, self->options.x);
  int64_t positive = tn_series_key (series, self->options.x, self->origin, nextafter (0, 1));
  for (size_t i = 0; i < n_segments; i++)
    {
      size_t begin = segments[i].begin, end = i + 1 < n_segments ? segments[i + 1].begin : n;
      if (self->options.x_log)
        begin = tn_series_find (keys, begin, end, begin, positive);
      if (begin == end)
        continue;
      *low = fmin (*low, tn_plot_x_of (self, series, begin));
      *high = fmax (*high, tn_plot_x_of (self, series, end - 1));
    }
}

static void
find_data (TnPlot *self)
{
  double low = INFINITY, high = -INFINITY;
  for (guint i = 0; i < self->lines->len; i++)
    if (tn_plot_line_is_shown (self, tn_plot_line (self, i)))
      take_in_line (self, tn_plot_line (self, i)->series, &low, &high);
  if (low > high)
    {
      low = self->options.x_log ? 1 : 0;
      high = self->options.x_log ? 10 : 1;
    }
  self->data_low = low;
  self->data_high = high;
}

/* The least width of x that makes sense: a fraction of a step, a microsecond. */
static double
least_width (const TnPlot *self)
{
  return self->options.x == TN_X_EPOCH ? 1e-6 : 0.25;
}

static void
fit_x (TnPlot *self)
{
  double low = self->data_low, high = self->data_high;
  if (self->options.x_log)
    {
      self->x.low = low == high ? low / 2 : low;
      self->x.high = high * pow (high / self->x.low, X_MARGIN);
      return;
    }
  if (low == high)
    {
      double half = self->options.x == TN_X_WALL || self->options.x == TN_X_RELATIVE ? 5e5 : 1;
      low -= half;
      high += half;
    }
  self->x.low = low;
  self->x.high = high + (high - low) * X_MARGIN;
}

void
tn_plot_update_x (TnPlot *self)
{
  fix_origin (self);
  find_data (self);
  self->x.origin = self->origin;
  self->x.log = self->options.x_log;
  if (self->fit)
    {
      fit_x (self);
      self->view_low = self->x.low;
      self->view_high = self->x.high;
      return;
    }
  if (self->following && self->data_high > self->view_high && !self->options.x_log)
    {
      double shift = self->data_high - self->view_high + (self->view_high - self->view_low) * X_MARGIN;
      self->view_low += shift;
      self->view_high += shift;
    }
  self->x.low = self->view_low;
  self->x.high = self->view_high;
}

/* --- y --- */

static void
take_in_seen (const TnPlot *self, const TnSeries *series, gboolean smoothed, TnSummary *sum)
{
  size_t n_segments, ready = tn_plot_n_ready (series, smoothed);
  tn_series_segments (series, &n_segments);
  for (size_t i = 0; i < n_segments; i++)
    {
      TnSeenRows seen;
      TnSummary part;
      if (!tn_plot_seen_rows (self, series, i, &seen))
        continue;
      size_t begin = seen.begin < seen.end ? seen.begin : seen.wide_begin, end = seen.begin < seen.end ? seen.end : seen.wide_end;
      tn_pyramid_query (tn_series_pyramid (series, smoothed), tn_series_values (series, smoothed), begin, MIN (end, ready), &part);
      sum->min = fmin (sum->min, part.min);
      sum->max = fmax (sum->max, part.max);
      sum->min_positive = fmin (sum->min_positive, part.min_positive);
      sum->n_finite += part.n_finite;
      sum->n_positive += part.n_positive;
    }
}

static gboolean
shows_raw (const TnPlot *self, const TnPlotLine *line)
{
  return !tn_plot_is_smoothed (self, line) || (self->options.raw_behind && !line->ghost);
}

static void
sample_line (const TnPlot *self, const TnSeries *series, size_t most, GArray *samples)
{
  size_t n_segments, n = 0;
  const double *values = tn_series_values (series, FALSE);
  tn_series_segments (series, &n_segments);
  TnSeenRows seen;
  for (size_t i = 0; i < n_segments; i++)
    if (tn_plot_seen_rows (self, series, i, &seen))
      n += seen.end - seen.begin;
  size_t stride = MAX (1, n / MAX (1, most));
  for (size_t i = 0; i < n_segments; i++)
    if (tn_plot_seen_rows (self, series, i, &seen))
      for (size_t row = seen.begin; row < seen.end; row += stride)
        if (isfinite (values[row]) && (!self->options.y_log || values[row] > 0))
          g_array_append_val (samples, values[row]);
}

/* The @k-th smallest: Hoare's selection. */
static double
select_kth (double *values, size_t n, size_t k)
{
  size_t low = 0, high = n - 1;
  while (low < high)
    {
      double pivot = values[low + (high - low) / 2];
      size_t i = low - 1, j = high + 1; /* may wrap, and is moved back before it is used */
      for (;;)
        {
          do
            i++;
          while (values[i] < pivot);
          do
            j--;
          while (values[j] > pivot);
          if (i >= j)
            break;
          double swapped = values[i];
          values[i] = values[j];
          values[j] = swapped;
        }
      if (k <= j)
        high = j;
      else
        low = j + 1;
    }
  return values[k];
}

/* Range of the 1st to 99th percentile of what is seen; above 32,768 rows, of evenly spaced ones. */
static gboolean
percentiles (const TnPlot *self, double *low, double *high)
{
  g_autoptr (GArray) samples = g_array_new (FALSE, FALSE, sizeof (double));
  unsigned shown = 0;
  for (guint i = 0; i < self->lines->len; i++)
    shown += tn_plot_line_is_shown (self, tn_plot_line (self, i));
  for (guint i = 0; i < self->lines->len; i++)
    if (tn_plot_line_is_shown (self, tn_plot_line (self, i)))
      sample_line (self, tn_plot_line (self, i)->series, SAMPLES / shown, samples);
  if (samples->len < 10)
    return FALSE;
  size_t n = samples->len, k = (n - 1) / 100;
  *low = select_kth ((double *) samples->data, n, k);
  *high = select_kth ((double *) samples->data, n, n - 1 - k);
  return TRUE;
}

static void
widen (const TnPlot *self, double *low, double *high)
{
  if (self->options.y_log)
    {
      double ratio = *high > *low ? pow (*high / *low, Y_MARGIN) : 2;
      *low /= ratio;
      *high *= ratio;
      return;
    }
  double margin = *high > *low ? (*high - *low) * Y_MARGIN : *low != 0 ? fabs (*low) * Y_MARGIN : 1;
  if (!(*low - margin < *low)) /* far from zero and closer than a double tells apart */
    margin = fabs (*low) * 1e-12;
  *low -= margin;
  *high += margin;
}

static double
on_scale (const TnPlot *self, double value)
{
  return self->options.y_log ? log (value) : value;
}

static gboolean
is_still (const TnPlot *self, double low, double high, const TnSummary *sum)
{
  if (!self->has_seen || (self->options.y_log && !(self->seen_low > 0)))
    return FALSE;
  double seen_low = on_scale (self, self->seen_low), seen_high = on_scale (self, self->seen_high);
  double least = Y_STILL * (seen_high - seen_low), bottom = self->options.y_log ? sum->min_positive : sum->min;
  gboolean holds = self->options.clip_outliers || (bottom >= self->seen_low && sum->max <= self->seen_high);
  return holds && fabs (on_scale (self, low) - seen_low) < least && fabs (on_scale (self, high) - seen_high) < least;
}

void
tn_plot_update_y (TnPlot *self)
{
  TnSummary sum;
  tn_summary_clear (&sum);
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnPlotLine *line = tn_plot_line (self, i);
      if (!tn_plot_line_is_shown (self, line))
        continue;
      if (shows_raw (self, line))
        take_in_seen (self, line->series, FALSE, &sum);
      if (tn_plot_is_smoothed (self, line))
        take_in_seen (self, line->series, TRUE, &sum);
    }
  self->y.log = self->options.y_log;
  gboolean any = self->options.y_log ? sum.n_positive > 0 : sum.n_finite > 0;
  double low = any ? (self->options.y_log ? sum.min_positive : sum.min) : self->options.y_log ? 0.1 : 0;
  double high = any ? sum.max : 1;
  if (any && self->options.clip_outliers)
    percentiles (self, &low, &high);
  if (self->options.unit_interval && !self->options.y_log && low >= 0 && high <= 1)
    {
      low = 0;
      high = 1;
    }
  else if (any)
    widen (self, &low, &high);
  gboolean keep = (self->options.y_locked && self->has_seen) || (any && is_still (self, low, high, &sum));
  if (!keep)
    {
      self->seen_low = low;
      self->seen_high = high;
      self->has_seen = any;
    }
  self->y.low = self->seen_low;
  self->y.high = self->seen_high;
}

double
tn_plot_y_pixel (const TnPlot *self, double value)
{
  return tn_axis_pixel (&self->y, value);
}

/* --- zoom, pan, follow --- */

void
tn_plot_fit (TnPlot *self)
{
  self->fit = self->following = TRUE;
  self->options.y_locked = FALSE;
  self->has_seen = FALSE;
}

gboolean
tn_plot_is_fit (const TnPlot *self)
{
  return self->fit;
}

void
tn_plot_set_x_range (TnPlot *self, double low, double high)
{
  if (!(high > low) || !isfinite (low) || !isfinite (high) || (self->options.x_log && low <= 0))
    return;
  fix_origin (self);
  find_data (self); /* rows may have come since the last drawing */
  TnAxis axis = self->x;
  axis.low = low;
  axis.high = high;
  axis.log = self->options.x_log;
  double end = self->data_high;
  if (axis.log)
    tn_axis_limit (&axis, self->data_low / 2, end * 2, 1.0001);
  else
    {
      double room = fmax (self->data_high - self->data_low, least_width (self)) * 0.25;
      tn_axis_limit (&axis, self->data_low - room, end + room, least_width (self));
    }
  self->fit = FALSE;
  self->view_low = self->x.low = axis.low;
  self->view_high = self->x.high = axis.high;
  self->following = self->view_high >= self->data_high;
}

void
tn_plot_set_y_range (TnPlot *self, double low, double high)
{
  if (!(high > low) || (self->options.y_log && low <= 0))
    return;
  self->seen_low = self->y.low = low;
  self->seen_high = self->y.high = high;
  self->has_seen = self->options.y_locked = TRUE;
}

void
tn_plot_zoom_x (TnPlot *self, double pixel, double factor)
{
  TnAxis axis = self->x;
  tn_axis_zoom (&axis, pixel, factor);
  tn_plot_set_x_range (self, axis.low, axis.high);
}

void
tn_plot_pan_x (TnPlot *self, double pixels)
{
  TnAxis axis = self->x;
  tn_axis_pan (&axis, pixels);
  tn_plot_set_x_range (self, axis.low, axis.high);
}

void
tn_plot_zoom_to (TnPlot *self, const TnRect *box)
{
  double left = tn_axis_value (&self->x, box->x), right = tn_axis_value (&self->x, box->x + box->width);
  double bottom = tn_axis_value (&self->y, box->y + box->height), top = tn_axis_value (&self->y, box->y);
  tn_plot_set_x_range (self, left, right);
  tn_plot_set_y_range (self, bottom, top);
}

gboolean
tn_plot_is_following (const TnPlot *self)
{
  return self->following;
}

void
tn_plot_follow (TnPlot *self)
{
  double width = self->view_high - self->view_low;
  self->following = TRUE;
  if (self->fit || self->options.x_log)
    {
      self->fit = TRUE;
      return;
    }
  self->view_high = self->data_high + width * X_MARGIN;
  self->view_low = self->view_high - width;
}
