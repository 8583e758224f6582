/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/plot.h"
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "draw/plot-private.h"

static void
line_free (gpointer data)
{
  TnPlotLine *line = data;
  tn_series_unref (line->series);
  g_free (line->label);
  g_free (line->run);
  g_free (line);
}

static void
event_clear (gpointer data)
{
  g_free (((TnPlotEvent *) data)->text);
}

static void
band_clear (gpointer data)
{
  g_free (((TnBand *) data)->label);
}

TnPlot *
tn_plot_new (const char *title)
{
  TnPlot *self = g_new0 (TnPlot, 1);
  self->title = g_strdup (title != NULL ? title : "");
  self->unit = g_strdup ("");
  self->lines = g_ptr_array_new_with_free_func (line_free);
  self->bands = g_array_new (FALSE, TRUE, sizeof (TnBand));
  g_array_set_clear_func (self->bands, band_clear);
  self->events = g_array_new (FALSE, TRUE, sizeof (TnPlotEvent));
  g_array_set_clear_func (self->events, event_clear);
  self->thresholds = g_array_new (FALSE, TRUE, sizeof (double));
  self->columns = g_array_new (FALSE, FALSE, sizeof (TnColumn));
  self->strips = g_array_new (FALSE, FALSE, sizeof (TnStrip));
  self->options = (TnPlotOptions) { .raw_behind = TRUE, .max_lines = 50 };
  self->selection_begin = 0;
  self->selection_end = -1;
  self->fit = self->following = TRUE;
  return self;
}

void
tn_plot_free (TnPlot *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->lines);
  g_array_unref (self->bands);
  g_array_unref (self->events);
  g_array_unref (self->thresholds);
  g_array_unref (self->columns);
  g_array_unref (self->strips);
  g_free (self->pixels);
  g_free (self->title);
  g_free (self->unit);
  g_free (self);
}

const char *
tn_plot_title (const TnPlot *self)
{
  return self->title;
}

void
tn_plot_set_title (TnPlot *self, const char *title)
{
  g_free (self->title);
  self->title = g_strdup (title != NULL ? title : "");
}

void
tn_plot_set_unit (TnPlot *self, const char *unit)
{
  g_free (self->unit);
  self->unit = g_strdup (unit != NULL ? unit : "");
}

/* --- lines --- */

TnPlotLine *
tn_plot_add (TnPlot *self, TnSeries *series, const char *label, const char *run)
{
  g_return_val_if_fail (series != NULL, NULL);
  TnPlotLine *line = g_new0 (TnPlotLine, 1);
  line->series = tn_series_ref (series);
  line->label = g_strdup (label != NULL ? label : tn_series_name (series));
  line->run = g_strdup (run != NULL ? run : "");
  line->color = run != NULL ? tn_palette_series_of (run) : self->lines->len % TN_PALETTE_N_SERIES;
  line->band = -1;
  for (guint i = 0; i < self->lines->len; i++)
    if (tn_plot_line (self, i)->color == line->color)
      line->dash++;
  line->marker = (line->color + line->dash) % TN_N_MARKERS;
  tn_series_set_smoothing (series, self->options.smoothing);
  g_ptr_array_add (self->lines, line);
  return line;
}

static void
leave_bands (TnPlot *self)
{
  g_array_set_size (self->bands, 0);
  for (guint i = 0; i < self->lines->len; i++)
    tn_plot_line (self, i)->band = -1;
}

void
tn_plot_remove (TnPlot *self, TnPlotLine *line)
{
  leave_bands (self); /* their numbers hold no longer */
  g_ptr_array_remove (self->lines, line);
}

void
tn_plot_remove_all (TnPlot *self)
{
  g_ptr_array_set_size (self->lines, 0);
  g_array_set_size (self->bands, 0);
  self->has_origin = self->has_seen = FALSE;
}

unsigned
tn_plot_n_lines (const TnPlot *self)
{
  return self->lines->len;
}

TnPlotLine *
tn_plot_line (const TnPlot *self, unsigned i)
{
  return g_ptr_array_index (self->lines, i);
}

void
tn_plot_move_line (TnPlot *self, unsigned from, unsigned to)
{
  if (from >= self->lines->len || to >= self->lines->len || from == to)
    return;
  leave_bands (self);
  g_ptr_array_insert (self->lines, to, g_ptr_array_steal_index (self->lines, from));
}

TnColor
tn_plot_line_color (const TnPlotLine *line, const TnPalette *palette)
{
  return line->own_color ? line->chosen : palette->series[line->color % TN_PALETTE_N_SERIES];
}

gboolean
tn_plot_line_is_shown (const TnPlot *self, const TnPlotLine *line)
{
  if (line->hidden)
    return FALSE;
  if (self->lines->len <= self->options.max_lines)
    return TRUE;
  unsigned n = 0;
  for (guint i = 0; i < self->lines->len && n < self->options.max_lines; i++)
    {
      const TnPlotLine *other = tn_plot_line (self, i);
      if (other == line)
        return TRUE;
      n += !other->hidden;
    }
  return FALSE;
}

void
tn_plot_add_band (TnPlot *self, unsigned first, unsigned n, const char *label)
{
  g_return_if_fail (n > 0 && first + n <= self->lines->len);
  TnBand band = { first, n, g_strdup (label) };
  for (unsigned i = first; i < first + n; i++)
    tn_plot_line (self, i)->band = (int) self->bands->len;
  g_array_append_val (self->bands, band);
}

void
tn_plot_append (TnPlot *self, TnPlotLine *line, int64_t step, double value, int64_t time_us)
{
  size_t n = tn_series_n (line->series);
  double before = n > 0 ? tn_series_values (line->series, FALSE)[n - 1] : NAN;
  tn_series_append (line->series, step, value, time_us);
  if (!isfinite (before) || !isfinite (value))
    return;
  for (guint i = 0; i < self->thresholds->len; i++)
    {
      double limit = tn_plot_threshold (self, i);
      if ((before < limit) == (value < limit))
        continue;
      char number[TN_TICK_LABEL];
      tn_format_si (limit, 3, self->options.localized, number);
      g_autofree char *text = g_strdup_printf (value < limit ? _ ("%s fell below %s") : _ ("%s rose to %s"), line->label, number);
      tn_plot_add_event (self, TN_EVENT_CROSSING, step, time_us, text);
    }
}

#define GAP_CHECKS 5

/* How far validation lies above training at its row @row; NaN where it cannot be said. */
static double
gap_at (const TnSeries *train, const TnSeries *validation, size_t row)
{
  size_t at = tn_series_nearest (train, TN_X_STEP, 0, tn_series_x (validation, TN_X_STEP, 0, row));
  if (at == G_MAXSIZE || at >= tn_series_n_smoothed (train))
    return NAN;
  return tn_series_values (validation, FALSE)[row] - tn_series_values (train, TRUE)[at];
}

/* Whether the gap grew in each of the checks that end at row @last. */
static gboolean
is_widening (const TnSeries *train, const TnSeries *validation, size_t last)
{
  if (last < GAP_CHECKS)
    return FALSE;
  for (size_t row = last - GAP_CHECKS + 1; row <= last; row++)
    if (!(gap_at (train, validation, row) > gap_at (train, validation, row - 1)))
      return FALSE;
  return gap_at (train, validation, last) > 0;
}

gboolean
tn_plot_check_gap (TnPlot *self, const TnPlotLine *train, const TnPlotLine *validation)
{
  size_t n = tn_series_n (validation->series);
  if (n <= GAP_CHECKS || !is_widening (train->series, validation->series, n - 1) || is_widening (train->series, validation->series, n - 2))
    return FALSE;
  tn_plot_add_event (self, TN_EVENT_DIVERGING, tn_series_steps (validation->series)[n - 1], tn_series_times (validation->series)[n - 1], NULL);
  return TRUE;
}

/* --- options --- */

const TnPlotOptions *
tn_plot_options (const TnPlot *self)
{
  return &self->options;
}

void
tn_plot_set_options (TnPlot *self, const TnPlotOptions *options)
{
  TnPlotOptions old = self->options;
  self->options = *options;
  self->options.smoothing = isfinite (options->smoothing) ? CLAMP (options->smoothing, 0, 0.999) : 0;
  self->options.max_lines = MAX (1, options->max_lines);
  if (options->x != TN_X_STEP && options->x != TN_X_RELATIVE)
    self->options.x_log = FALSE;
  if (old.x != options->x || old.x_log != self->options.x_log)
    {
      self->has_origin = FALSE;
      self->fit = self->following = TRUE;
    }
  if (old.y_log != options->y_log || old.clip_outliers != options->clip_outliers || old.unit_interval != options->unit_interval)
    self->has_seen = self->options.y_locked = FALSE;
  for (guint i = 0; i < self->lines->len; i++)
    tn_series_set_smoothing (tn_plot_line (self, i)->series, self->options.smoothing);
}

gboolean
tn_plot_smooth_some (TnPlot *self, size_t budget)
{
  gboolean more = FALSE;
  for (guint i = 0; i < self->lines->len; i++)
    {
      TnSeries *series = tn_plot_line (self, i)->series;
      size_t before = tn_series_n_smoothed (series);
      more = (budget > 0 ? tn_series_smooth_some (series, budget) : before < tn_series_n (series)) || more;
      budget -= MIN (budget, tn_series_n_smoothed (series) - before);
    }
  return more;
}

/* --- events, thresholds, selection --- */

void
tn_plot_add_event (TnPlot *self, TnEventKind kind, int64_t step, int64_t time_us, const char *text)
{
  TnPlotEvent event = { kind, step, time_us, g_strdup (text != NULL ? text : "") };
  guint at = self->events->len;
  while (at > 0 && g_array_index (self->events, TnPlotEvent, at - 1).step > step)
    at--;
  g_array_insert_val (self->events, at, event);
}

void
tn_plot_clear_events (TnPlot *self)
{
  g_array_set_size (self->events, 0);
}

void
tn_plot_drop_events (TnPlot *self, int64_t from)
{
  guint n = self->events->len;
  while (n > 0 && g_array_index (self->events, TnPlotEvent, n - 1).step >= from)
    n--;
  g_array_set_size (self->events, n);
}

unsigned
tn_plot_n_events (const TnPlot *self)
{
  return self->events->len;
}

const TnPlotEvent *
tn_plot_event (const TnPlot *self, unsigned i)
{
  return &g_array_index (self->events, TnPlotEvent, i);
}

const char *
tn_event_name (TnEventKind kind)
{
  static const char *const names[TN_N_EVENTS] = {
    N_ ("Epoch"), N_ ("Checkpoint"), N_ ("Validation"), N_ ("Setting changed"), N_ ("Paused"), N_ ("Resumed"), N_ ("Not a number"),
    N_ ("Rank lost"), N_ ("Limit crossed"), N_ ("Validation no longer follows"),
  };
  return kind < TN_N_EVENTS ? _ (names[kind]) : "";
}

void
tn_plot_add_threshold (TnPlot *self, double value)
{
  if (isfinite (value))
    g_array_append_val (self->thresholds, value);
}

void
tn_plot_clear_thresholds (TnPlot *self)
{
  g_array_set_size (self->thresholds, 0);
}

unsigned
tn_plot_n_thresholds (const TnPlot *self)
{
  return self->thresholds->len;
}

double
tn_plot_threshold (const TnPlot *self, unsigned i)
{
  return g_array_index (self->thresholds, double, i);
}

void
tn_plot_set_selection (TnPlot *self, int64_t begin, int64_t end)
{
  self->selection_begin = begin;
  self->selection_end = end;
}

gboolean
tn_plot_selection (const TnPlot *self, int64_t *begin, int64_t *end)
{
  *begin = self->selection_begin;
  *end = self->selection_end;
  return self->selection_begin <= self->selection_end;
}

/* --- in words --- */

/* @one and @many hold one %s for the number. */
static void
add_part (GPtrArray *parts, int64_t n, char *text)
{
  if (n > 0)
    g_ptr_array_add (parts, text);
  else
    g_free (text);
}

char *
tn_plot_badge (const TnPlot *self)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (g_free);
  unsigned shown = 0, wanted = 0;
  for (guint i = 0; i < self->lines->len; i++)
    {
      shown += tn_plot_line_is_shown (self, tn_plot_line (self, i));
      wanted += !tn_plot_line (self, i)->hidden;
    }
  if (shown < wanted)
    g_ptr_array_add (parts, g_strdup_printf (_ ("Showing %u of %u lines"), shown, wanted));
  if (self->n_drawn > 0 && self->n_points >= 2 * self->n_drawn)
    g_ptr_array_add (parts, g_strdup_printf (_ ("1 of %.0f points, extremes kept"), (double) self->n_points / (double) self->n_drawn));
  gulong outside = (gulong) self->n_outside, not_positive = (gulong) self->n_not_positive, no_log_x = (gulong) self->n_no_log_x;
  add_part (parts, self->n_outside, g_strdup_printf (g_dngettext ("tenon", "%lu point outside", "%lu points outside", outside), outside));
  add_part (parts, self->n_not_positive, g_strdup_printf (g_dngettext ("tenon", "%lu value ≤ 0 not on a log axis",
                                                                       "%lu values ≤ 0 not on a log axis", not_positive), not_positive));
  add_part (parts, self->n_no_log_x, g_strdup_printf (g_dngettext ("tenon", "%lu point at x ≤ 0 not on a log axis",
                                                                   "%lu points at x ≤ 0 not on a log axis", no_log_x), no_log_x));
  if (parts->len == 0)
    return NULL;
  g_ptr_array_add (parts, NULL);
  return g_strjoinv (" · ", (char **) parts->pdata);
}

char *
tn_plot_description (const TnPlot *self)
{
  unsigned shown = 0;
  int64_t last_step = -1;
  double last = NAN;
  for (guint i = 0; i < self->lines->len; i++)
    {
      const TnPlotLine *line = tn_plot_line (self, i);
      size_t n = tn_series_n (line->series);
      if (!tn_plot_line_is_shown (self, line))
        continue;
      shown++;
      if (n > 0 && tn_series_steps (line->series)[n - 1] > last_step)
        {
          last_step = tn_series_steps (line->series)[n - 1];
          last = tn_series_values (line->series, FALSE)[n - 1];
        }
    }
  if (last_step < 0)
    return g_strdup_printf (_ ("%s, no points yet"), self->title);
  char value[TN_TICK_LABEL];
  tn_format_si (last, 4, self->options.localized, value);
  g_autofree char *lines = g_strdup_printf (g_dngettext ("tenon", "%u line", "%u lines", shown), shown);
  g_autofree char *steps = g_strdup_printf (g_dngettext ("tenon", "%lu step", "%lu steps", (gulong) last_step + 1), (gulong) last_step + 1);
  /* Translators: the name of a plot, how many lines, how many steps, the last value */
  return g_strdup_printf (_ ("%s, %s, %s, last %s"), self->title, lines, steps, value);
}
