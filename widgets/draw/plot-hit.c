/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "base/error.h"
#include "draw/plot-private.h"

/* What lies where: the inverse of drawing. */

#define REACH 12 /* pixels beyond a line's end where it is still meant */

gboolean
tn_plot_pixel_of_step (const TnPlot *self, int64_t step, double *pixel)
{
  if (self->options.x == TN_X_STEP)
    {
      double x = (double) (step - self->origin);
      if (self->x.log && x <= 0)
        return FALSE;
      *pixel = tn_axis_pixel (&self->x, x);
      return TRUE;
    }
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnSeries *series = tn_plot_line (self, i)->series;
      size_t n_segments, end = tn_series_n (series);
      const TnSegment *segments = tn_series_segments (series, &n_segments);
      const int64_t *steps = tn_series_steps (series);
      if (!tn_plot_line_is_shown (self, tn_plot_line (self, i)))
        continue;
      for (size_t s = n_segments; s-- > 0; end = segments[s].begin)
        {
          size_t begin = segments[s].begin, row;
          if (step < steps[begin] || step > steps[end - 1])
            continue;
          row = tn_series_find (steps, begin, end, begin, step);
          double x = tn_plot_x_of (self, series, row);
          if (steps[row] != step) /* between two rows */
            {
              double before = tn_plot_x_of (self, series, row - 1);
              x = before + (x - before) * (double) (step - steps[row - 1]) / (double) (steps[row] - steps[row - 1]);
            }
          if (self->x.log && x <= 0)
            return FALSE;
          *pixel = tn_axis_pixel (&self->x, x);
          return TRUE;
        }
    }
  return FALSE;
}

static size_t
nearest_row (const TnPlot *self, const TnPlotLine *line, double pixel)
{
  return tn_series_nearest (line->series, self->options.x, self->origin, tn_axis_value (&self->x, pixel));
}

gboolean
tn_plot_step_at (const TnPlot *self, double pixel, int64_t *step)
{
  double best = INFINITY;
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnPlotLine *line = tn_plot_line (self, i);
      size_t row = tn_plot_line_is_shown (self, line) ? nearest_row (self, line, pixel) : G_MAXSIZE;
      if (row == G_MAXSIZE)
        continue;
      double distance = fabs (tn_axis_pixel (&self->x, tn_plot_x_of (self, line->series, row)) - pixel);
      if (!(distance < best))
        continue;
      best = distance;
      *step = tn_series_steps (line->series)[row];
    }
  return isfinite (best);
}

/* Whether @x lies beyond both ends of the line: the row found is then an end, and says nothing about what is there. */
static gboolean
is_beyond (const TnPlot *self, const TnSeries *series, size_t row, double row_x, double x)
{
  size_t n_segments, segment = tn_series_segment_of (series, row);
  const TnSegment *segments = tn_series_segments (series, &n_segments);
  size_t end = segment + 1 < n_segments ? segments[segment + 1].begin : tn_series_n (series);
  return (row == segments[segment].begin && x < row_x - REACH) || (row == end - 1 && x > row_x + REACH);
}

static int
compare_hits (gconstpointer a, gconstpointer b)
{
  double left = ((const TnPlotHit *) a)->distance, right = ((const TnPlotHit *) b)->distance;
  return left < right ? -1 : left > right;
}

GArray *
tn_plot_hits (const TnPlot *self, double x, double y)
{
  GArray *hits = g_array_new (FALSE, TRUE, sizeof (TnPlotHit));
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnPlotLine *line = tn_plot_line (self, i);
      size_t row = tn_plot_line_is_shown (self, line) ? nearest_row (self, line, x) : G_MAXSIZE;
      if (row == G_MAXSIZE)
        continue;
      TnPlotHit hit = { .line = line, .row = row, .distance = INFINITY };
      hit.raw = tn_series_values (line->series, FALSE)[row];
      hit.smoothed = tn_plot_is_smoothed (self, line) && row < tn_series_n_smoothed (line->series) ? tn_series_values (line->series, TRUE)[row] : hit.raw;
      hit.step = tn_series_steps (line->series)[row];
      hit.time_us = tn_series_times (line->series)[row];
      hit.x = tn_axis_pixel (&self->x, tn_plot_x_of (self, line->series, row));
      if (is_beyond (self, line->series, row, hit.x, x))
        continue;
      if (isfinite (hit.smoothed) && (!self->y.log || hit.smoothed > 0))
        {
          hit.y = tn_axis_pixel (&self->y, hit.smoothed);
          hit.distance = fabs (hit.y - y);
        }
      g_array_append_val (hits, hit);
    }
  g_array_sort (hits, compare_hits);
  return hits;
}

/* --- from event to event --- */

static void
take_if_nearer (int64_t step, const char *text, int64_t from, int direction, int64_t *found, const char **best, gboolean *any)
{
  gboolean ahead = direction > 0 ? step > from : step < from;
  if (!ahead || (*any && (direction > 0 ? step >= *found : step <= *found)))
    return;
  *found = step;
  *best = text;
  *any = TRUE;
}

/* The last odd row before @end is searched forwards, block by block from behind. */
static size_t
find_odd_before (const TnSeries *series, size_t end)
{
  const TnPyramid *pyramid = tn_series_pyramid (series, FALSE);
  const double *values = tn_series_values (series, FALSE);
  while (end > 0)
    {
      size_t begin = end > 4096 ? end - 4096 : 0, last = G_MAXSIZE;
      for (size_t at = tn_pyramid_find_odd (pyramid, values, begin, end, FALSE); at < end; at = tn_pyramid_find_odd (pyramid, values, at + 1, end, FALSE))
        last = at;
      if (last != G_MAXSIZE)
        return last;
      end = begin;
    }
  return G_MAXSIZE;
}

gboolean
tn_plot_next_event (const TnPlot *self, int64_t step, int direction, int64_t *found, char **text)
{
  gboolean any = FALSE;
  const char *best = "";
  for (guint i = 0; i < self->events->len; i++)
    {
      const TnPlotEvent *event = tn_plot_event (self, i);
      take_if_nearer (event->step, event->text[0] != '\0' ? event->text : tn_event_name (event->kind), step, direction, found, &best, &any);
    }
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnSeries *series = tn_plot_line (self, i)->series;
      size_t n_segments, n = tn_series_n (series);
      const TnSegment *segments = tn_series_segments (series, &n_segments);
      const int64_t *steps = tn_series_steps (series);
      if (n == 0 || !tn_plot_line_is_shown (self, tn_plot_line (self, i)))
        continue;
      size_t begin = segments[n_segments - 1].begin; /* what the run is now */
      size_t from = tn_series_find (steps, begin, n, begin, direction > 0 ? step + 1 : step);
      size_t row = direction > 0 ? tn_pyramid_find_odd (tn_series_pyramid (series, FALSE), tn_series_values (series, FALSE), from, n, FALSE)
                                 : find_odd_before (series, from);
      if (row < n)
        take_if_nearer (steps[row], _ ("Not a number"), step, direction, found, &best, &any);
    }
  if (text != NULL)
    *text = any ? g_strdup (best) : NULL;
  return any;
}

void
tn_plot_statistics (const TnPlotLine *line, int64_t begin, int64_t end, TnPlotStatistics *statistics)
{
  const TnSeries *series = line->series;
  const double *values = tn_series_values (series, FALSE);
  const int64_t *steps = tn_series_steps (series);
  double mean = 0, squares = 0, first = NAN, last = NAN;
  int64_t first_step = 0, last_step = 0, n = 0;
  for (size_t i = 0; i < tn_series_n (series); i++)
    {
      if (steps[i] < begin || steps[i] > end || !isfinite (values[i]))
        continue;
      if (n == 0)
        {
          first = values[i];
          first_step = steps[i];
        }
      last = values[i];
      last_step = steps[i];
      n++;
      double delta = values[i] - mean; /* Welford */
      mean += delta / (double) n;
      squares += delta * (values[i] - mean);
    }
  *statistics = (TnPlotStatistics) { .n = n, .delta_step = last_step - first_step, .delta = last - first, .mean = n > 0 ? mean : NAN,
                                     .deviation = n > 1 ? sqrt (squares / (double) (n - 1)) : 0 };
  statistics->slope = statistics->delta_step > 0 ? statistics->delta / (double) statistics->delta_step : 0;
}
