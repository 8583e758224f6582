/* SPDX-License-Identifier: Apache-2.0 */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include "draw/plot.h"
#include "recorder.h"

/* What a plot draws, counted and looked at through a canvas that notes it. */

static guint32 seed;

static const TnPalette *
light (void)
{
  return tn_palette_get (TN_PALETTE_LIGHT);
}

static TnPlot *
plot_with (TnSeries *series)
{
  TnPlot *plot = tn_plot_new ("loss");
  TnPlotLine *line = tn_plot_add (plot, series, "training", NULL);
  line->color = 0;
  return plot;
}

static void
set_options (TnPlot *plot, void (*change) (TnPlotOptions *options))
{
  TnPlotOptions options = *tn_plot_options (plot);
  change (&options);
  tn_plot_set_options (plot, &options);
}

static void
log_y (TnPlotOptions *options)
{
  options->y_log = TRUE;
}

static TnRecorder *
draw (TnPlot *plot, double width, double height, double scale, gboolean vector)
{
  TnRecorder *recorder = tn_recorder_new (NULL, scale, vector);
  while (tn_plot_smooth_some (plot, 1 << 20))
    ;
  tn_plot_draw (plot, &recorder->canvas, width, height, light ());
  return recorder;
}

/* Top of what is drawn of a curve, in logical pixels. */
static double
top_of (const TnRecorder *recorder, TnRect inner)
{
  double top = INFINITY;
  for (guint i = 0; i < recorder->rects->len; i++)
    {
      const TnRect *rect = &g_array_index (recorder->rects, TnRect, i);
      if (rect->width <= 1 && rect->height < inner.height - 1) /* a column */
        top = fmin (top, rect->y);
    }
  for (int y = 0; y < recorder->image_height; y++)
    for (int x = 0; x < recorder->image_width; x++)
      if (((const uint32_t *) recorder->pixels)[(size_t) y * recorder->image_width + x] >> 24 > 100)
        top = fmin (top, recorder->image_rect.y + y * recorder->image_rect.height / recorder->image_height);
  for (guint i = 0; i < recorder->points->len; i++)
    top = fmin (top, g_array_index (recorder->points, TnPoint, i).y);
  return top;
}

static void
check_spike (TnPlot *plot, double low, double high, double scale, gboolean vector)
{
  tn_plot_set_x_range (plot, low, high);
  tn_plot_set_y_range (plot, 0, 11);
  g_autoptr (TnRecorder) recorder = draw (plot, 1200, 600, scale, vector);
  double want = tn_axis_pixel (tn_plot_y_axis (plot), 10);
  g_test_message ("%g to %g, scale %g, vector %d: %u rects, %u points, %u images", low, high, scale, vector, recorder->rects->len, recorder->points->len, recorder->images);
  g_assert_cmpfloat_with_epsilon (top_of (recorder, tn_plot_inner (plot)), want, 2.5);
}

/* One row among a million, at every zoom, on every kind of target. */
static void
test_spike (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (TnSeries) series = tn_series_new ("x"), other = tn_series_new ("y");
  int spike = g_rand_int_range (rand, 1000, 999000);
  for (int i = 0; i < 1000000; i++)
    {
      tn_series_append (series, i, i == spike ? 10 : 1 + 0.1 * sin (i * 0.01), i);
      tn_series_append (other, i, 0.5, i);
    }
  g_autoptr (TnPlot) plot = plot_with (series);
  for (int more = 0; more < 2; more++)
    {
      for (double span = 1e6; span > 3; span /= 3.7)
        {
          double low = fmax (0, spike - span * g_rand_double (rand));
          check_spike (plot, low, low + span, 1, FALSE);
          check_spike (plot, low, low + span, 2, FALSE);
          check_spike (plot, low, low + span, 1, TRUE);
        }
      for (int i = 0; i < 4; i++) /* now as one picture */
        tn_plot_add (plot, other, "other", NULL);
    }
}

static void
check_budget (TnPlot *plot, double width, double height, double scale)
{
  g_autoptr (TnRecorder) recorder = draw (plot, width, height, scale, FALSE);
  g_assert_cmpuint (recorder->canvas.nodes, <=, 8000);
  g_assert_cmpuint (recorder->canvas.labels, <=, 250);
  g_assert_cmpuint (recorder->longest, <=, 5000);
  g_assert_cmpuint (recorder->canvas.nodes, >, 5); /* and it draws at all */
}

static TnPlot *
crowded_plot (GRand *rand, int n_lines, int n_rows)
{
  TnPlot *plot = tn_plot_new ("crowd");
  for (int l = 0; l < n_lines; l++)
    {
      g_autoptr (TnSeries) series = tn_series_new ("x");
      for (int i = 0; i < n_rows; i++)
        tn_series_append (series, i, g_rand_int_range (rand, 0, 50) == 0 ? NAN : g_rand_double_range (rand, -1, 1 + l), i);
      tn_plot_add (plot, series, "a line with a long name that has no room", NULL);
    }
  for (int i = 0; i < n_rows; i += MAX (1, n_rows / 500))
    tn_plot_add_event (plot, (TnEventKind) (i % TN_N_EVENTS), i, i, "event");
  return plot;
}

static void
test_budgets (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const int rows[] = { 1, 3, 40, 700, 3000, 50000 };
  for (int i = 0; i < G_N_ELEMENTS (rows); i++)
    for (int lines = 1; lines <= 40; lines = lines * 3 + 1)
      {
        g_autoptr (TnPlot) plot = crowded_plot (rand, lines, rows[i]);
        TnPlotOptions options = *tn_plot_options (plot);
        options.show_legend = i % 2;
        options.smoothing = i % 3 == 0 ? 0.9 : 0;
        tn_plot_set_options (plot, &options);
        check_budget (plot, 1200, 600, 1);
        check_budget (plot, 3840, 2000, 1);
        check_budget (plot, 600, 300, 2);
        check_budget (plot, 200, 120, 1);
      }
}

static gboolean
overlap (const TnRect *a, const TnRect *b)
{
  return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

static void
check_labels (TnPlot *plot, double width, double height)
{
  g_autoptr (TnRecorder) recorder = draw (plot, width, height, 1, FALSE);
  for (guint i = 0; i < recorder->labels->len; i++)
    {
      const TnRecordedLabel *label = &g_array_index (recorder->labels, TnRecordedLabel, i);
      gboolean inside = label->box.x >= 0 && label->box.y >= 0 && label->box.x + label->box.width <= width && label->box.y + label->box.height <= height;
      if (!inside)
        g_error ("label “%s” at %g, %g is outside of %g × %g", label->text, label->box.x, label->box.y, width, height);
      for (guint j = 0; j < i; j++)
        {
          const TnRecordedLabel *other = &g_array_index (recorder->labels, TnRecordedLabel, j);
          if (overlap (&label->box, &other->box))
            g_error ("labels “%s” and “%s” overlap at %g × %g", label->text, other->text, width, height);
        }
    }
}

static void
test_labels (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const TnXKind kinds[] = { TN_X_STEP, TN_X_EPOCH, TN_X_RELATIVE, TN_X_WALL };
  for (int i = 0; i < 60; i++)
    {
      g_autoptr (TnPlot) plot = tn_plot_new ("a title");
      g_autoptr (TnSeries) series = tn_series_new ("x");
      double size = pow (10, g_rand_double_range (rand, -8, 8));
      int64_t pace = (int64_t) pow (10, g_rand_double_range (rand, 0, 9));
      for (int row = 0; row < 500; row++)
        tn_series_append (series, row * (1 + i % 7), size * g_rand_double_range (rand, i % 2 ? 0.01 : -1, 1), INT64_C (1700000000000000) + row * pace);
      tn_plot_add (plot, series, "one", NULL);
      tn_plot_set_unit (plot, i % 3 ? "" : "samples/s");
      TnPlotOptions options = *tn_plot_options (plot);
      options.x = kinds[i % 4];
      options.y_log = i % 5 == 0;
      options.show_title = i % 2;
      tn_plot_set_options (plot, &options);
      check_labels (plot, 1200, 600);
      check_labels (plot, 420, 240);
      check_labels (plot, 230, 150);
    }
}

static void
test_hits (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (TnPlot) plot = tn_plot_new ("x");
  for (int l = 0; l < 8; l++)
    {
      g_autoptr (TnSeries) series = tn_series_new ("x");
      for (int i = 0; i < 60; i++)
        tn_series_append (series, 10 * i + l, g_rand_double (rand), i);
      tn_plot_add (plot, series, "line", NULL);
    }
  g_autoptr (TnRecorder) recorder = draw (plot, 1000, 500, 1, FALSE);
  for (int n = 0; n < 500; n++)
    {
      const TnPlotLine *line = tn_plot_line (plot, g_rand_int_range (rand, 0, 8));
      size_t row = (size_t) g_rand_int_range (rand, 0, 60);
      double x = tn_axis_pixel (tn_plot_x_axis (plot), (double) tn_series_steps (line->series)[row]);
      double y = tn_axis_pixel (tn_plot_y_axis (plot), tn_series_values (line->series, FALSE)[row]);
      g_autoptr (GArray) hits = tn_plot_hits (plot, x, y);
      const TnPlotHit *first = &g_array_index (hits, TnPlotHit, 0), *found = NULL;
      for (guint i = 0; i < hits->len; i++)
        {
          const TnPlotHit *hit = &g_array_index (hits, TnPlotHit, i);
          g_assert_cmpfloat (hit->distance, >=, first->distance);
          found = hit->line == line ? hit : found;
        }
      g_assert_nonnull (found);
      g_assert_cmpuint (found->row, ==, row);
      g_assert_cmpfloat_with_epsilon (found->x, x, 1e-6);
      g_assert_cmpfloat_with_epsilon (found->y, y, 1e-6);
      int64_t step;
      double pixel;
      g_assert_true (tn_plot_step_at (plot, x, &step));
      g_assert_cmpint (step, ==, tn_series_steps (line->series)[row]);
      g_assert_true (tn_plot_pixel_of_step (plot, step, &pixel));
      g_assert_cmpfloat_with_epsilon (pixel, x, 1e-6);
    }
}

static void
test_log_counts (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  const double values[] = { 1, 0.5, 0, 0.2, -3, 0, 0.1, NAN, 0.05 };
  for (int i = 0; i < G_N_ELEMENTS (values); i++)
    tn_series_append (series, i, values[i], i);
  g_autoptr (TnPlot) plot = plot_with (series);
  set_options (plot, log_y);
  g_autoptr (TnRecorder) recorder = draw (plot, 600, 300, 1, FALSE);
  g_autofree char *badge = tn_plot_badge (plot);
  g_assert_cmpstr (badge, ==, "3 values ≤ 0 not on a log axis");
  g_assert_cmpfloat (tn_plot_y_axis (plot)->low, >, 0.04); /* the smallest positive one less 5 % of the decades */
  g_assert_cmpfloat (tn_plot_y_axis (plot)->low, <, 0.05);
}

/* The curve of a segment never meets that of the next. */
static void
test_restart_is_no_zigzag (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  for (int i = 0; i < 100; i++)
    tn_series_append (series, i, 0, i);
  for (int i = 50; i < 100; i++)
    tn_series_append (series, i, 1, 100 + i);
  g_autoptr (TnPlot) plot = plot_with (series);
  g_autoptr (TnRecorder) recorder = draw (plot, 600, 300, 1, FALSE);
  double y0 = tn_axis_pixel (tn_plot_y_axis (plot), 0), y1 = tn_axis_pixel (tn_plot_y_axis (plot), 1);
  guint at_0 = 0, at_1 = 0;
  for (guint i = 0; i < recorder->points->len; i++)
    {
      double y = g_array_index (recorder->points, TnPoint, i).y;
      at_0 += fabs (y - y0) < 1e-6;
      at_1 += fabs (y - y1) < 1e-6;
    }
  g_assert_cmpuint (at_0, ==, 100);
  g_assert_cmpuint (at_1, ==, 50);
  gboolean mark = FALSE;
  for (guint i = 0; i < recorder->labels->len; i++)
    mark = mark || strcmp (g_array_index (recorder->labels, TnRecordedLabel, i).text, "↺") == 0;
  g_assert_true (mark);
}

static void
test_few_rows (void)
{
  for (int n = 1; n <= 3; n++)
    {
      g_autoptr (TnSeries) series = tn_series_new ("x");
      for (int i = 0; i < n; i++)
        tn_series_append (series, i, 0, i); /* a loss of exactly 0 */
      g_autoptr (TnPlot) plot = plot_with (series);
      tn_plot_line (plot, 0)->marker = TN_MARKER_TRIANGLE;
      g_autoptr (TnRecorder) recorder = draw (plot, 600, 300, 1, FALSE);
      g_assert_cmpuint (recorder->polygons, >=, n);
    }
}

static void
clip (TnPlotOptions *options)
{
  options->clip_outliers = TRUE;
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double left = *(const double *) a, right = *(const double *) b;
  return left < right ? -1 : left > right;
}

static void
test_outliers (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (TnSeries) series = tn_series_new ("x");
  double values[5000];
  for (int i = 0; i < 5000; i++)
    {
      values[i] = g_rand_double (rand) * (i % 400 == 0 ? 1000 : 1);
      tn_series_append (series, i, values[i], i);
    }
  qsort (values, 5000, sizeof (double), compare_doubles);
  double low = values[49], high = values[4950], margin = (high - low) * 0.05;
  g_autoptr (TnPlot) plot = plot_with (series);
  set_options (plot, clip);
  g_autoptr (TnRecorder) recorder = draw (plot, 600, 300, 1, FALSE);
  g_assert_cmpfloat_with_epsilon (tn_plot_y_axis (plot)->low, low - margin, 1e-9);
  g_assert_cmpfloat_with_epsilon (tn_plot_y_axis (plot)->high, high + margin, 1e-9);
  int outside = 0;
  for (int i = 0; i < 5000; i++)
    outside += values[i] < low - margin || values[i] > high + margin;
  g_autofree char *want = g_strdup_printf ("%d points outside", outside), *badge = tn_plot_badge (plot);
  g_assert_nonnull (strstr (badge, want));
}

/* A live curve: the range of y holds still until it must move by 2 %, and never cuts anything off. */
static void
test_still (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (TnSeries) series = tn_series_new ("x");
  g_autoptr (TnPlot) plot = plot_with (series);
  double low = 0, high = 0, least = INFINITY, most = -INFINITY;
  int moves = 0;
  for (int i = 0; i < 600; i++)
    {
      double value = 2 * exp (-i / 150.0) + 0.2 * g_rand_double (rand);
      least = fmin (least, value);
      most = fmax (most, value);
      tn_series_append (series, i, value, i);
      g_autoptr (TnRecorder) recorder = draw (plot, 400, 200, 1, FALSE);
      const TnAxis *y = tn_plot_y_axis (plot);
      g_assert_cmpfloat (y->low, <=, least);
      g_assert_cmpfloat (y->high, >=, most);
      if (i > 2 && (y->low != low || y->high != high))
        {
          g_assert_cmpfloat (fmax (fabs (y->low - low), fabs (y->high - high)), >=, 0.0199 * (high - low));
          moves++;
        }
      low = y->low;
      high = y->high;
    }
  g_assert_cmpint (moves, <, 100);
}

static void
test_follow (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  g_autoptr (TnPlot) plot = plot_with (series);
  for (int i = 0; i < 1000; i++)
    tn_series_append (series, i, i, i);
  tn_recorder_free (draw (plot, 600, 300, 1, FALSE));
  tn_plot_set_x_range (plot, 900, 1000);
  g_assert_true (tn_plot_is_following (plot));
  for (int i = 1000; i < 1500; i++)
    tn_series_append (series, i, i, i);
  tn_recorder_free (draw (plot, 600, 300, 1, FALSE));
  g_assert_cmpfloat (tn_plot_x_axis (plot)->high, >=, 1499);
  g_assert_cmpfloat_with_epsilon (tn_plot_x_axis (plot)->high - tn_plot_x_axis (plot)->low, 100, 1e-9);
  tn_plot_pan_x (plot, -300);
  g_assert_false (tn_plot_is_following (plot));
  double low = tn_plot_x_axis (plot)->low;
  for (int i = 1500; i < 1600; i++)
    tn_series_append (series, i, i, i);
  tn_recorder_free (draw (plot, 600, 300, 1, FALSE));
  g_assert_cmpfloat (tn_plot_x_axis (plot)->low, ==, low);
  tn_plot_follow (plot);
  tn_recorder_free (draw (plot, 600, 300, 1, FALSE));
  g_assert_cmpfloat (tn_plot_x_axis (plot)->high, >=, 1599);
}

static void
test_events (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  for (int i = 0; i < 20000; i++)
    tn_series_append (series, i, i == 77 || i == 15000 ? NAN : 1, i);
  g_autoptr (TnPlot) plot = plot_with (series);
  tn_plot_add_event (plot, TN_EVENT_CHECKPOINT, 100, 0, "second");
  tn_plot_add_event (plot, TN_EVENT_CHECKPOINT, 50, 0, "first");
  const int64_t order[] = { 50, 77, 100, 15000 };
  int64_t step = -1;
  for (int i = 0; i < 4; i++)
    {
      g_assert_true (tn_plot_next_event (plot, step, 1, &step, NULL));
      g_assert_cmpint (step, ==, order[i]);
    }
  g_assert_false (tn_plot_next_event (plot, step, 1, &step, NULL));
  for (int i = 2; i >= 0; i--)
    {
      g_assert_true (tn_plot_next_event (plot, step, -1, &step, NULL));
      g_assert_cmpint (step, ==, order[i]);
    }
}

static void
test_crossing (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  g_autoptr (TnPlot) plot = plot_with (series);
  tn_plot_add_threshold (plot, 0.5);
  const double values[] = { 1, 0.6, 0.4, 0.3, NAN, 0.7, 0.8, 0.2 };
  for (int i = 0; i < G_N_ELEMENTS (values); i++)
    tn_plot_append (plot, tn_plot_line (plot, 0), i, values[i], i);
  g_assert_cmpuint (tn_plot_n_events (plot), ==, 2); /* none across the gap */
  g_assert_cmpint (tn_plot_event (plot, 0)->step, ==, 2);
  g_assert_cmpint (tn_plot_event (plot, 1)->step, ==, 7);
}

/* Follows for five checks, then moves away: one event at the fifth check of it, no more while it goes on. */
static void
test_gap (void)
{
  g_autoptr (TnSeries) train = tn_series_new ("t"), validation = tn_series_new ("v");
  g_autoptr (TnPlot) plot = plot_with (train);
  TnPlotLine *line = tn_plot_add (plot, validation, "validation", NULL);
  int noted = 0;
  for (int i = 0; i < 1000; i++)
    {
      tn_series_append (train, i, 1 - i / 1000.0, i);
      if (i % 50 != 49)
        continue;
      double gap = i < 400 ? 0.1 : 0.1 + (i - 400) / 1000.0;
      tn_series_append (validation, i, 1 - i / 1000.0 + gap, i);
      noted += tn_plot_check_gap (plot, tn_plot_line (plot, 0), line);
    }
  g_assert_cmpint (noted, ==, 1);
  g_assert_cmpuint (tn_plot_n_events (plot), ==, 1);
  g_assert_cmpint (tn_plot_event (plot, 0)->kind, ==, TN_EVENT_DIVERGING);
  g_assert_cmpint (tn_plot_event (plot, 0)->step, >=, 649); /* 449 is the first wider one, 649 the fifth */
  g_assert_cmpint (tn_plot_event (plot, 0)->step, <=, 699);
}

static void
test_statistics (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  const double values[] = { 100, 2, 4, 4, NAN, 4, 5, 5, 7, 9, 100 };
  for (int i = 0; i < G_N_ELEMENTS (values); i++)
    tn_series_append (series, 10 * i, values[i], i);
  g_autoptr (TnPlot) plot = plot_with (series);
  TnPlotStatistics sum;
  tn_plot_statistics (tn_plot_line (plot, 0), 10, 90, &sum);
  g_assert_cmpint (sum.n, ==, 8); /* the example of many textbooks: mean 5, deviation of the sample sqrt(32/7) */
  g_assert_cmpfloat_with_epsilon (sum.mean, 5, 1e-12);
  g_assert_cmpfloat_with_epsilon (sum.deviation, sqrt (32.0 / 7), 1e-12);
  g_assert_cmpint (sum.delta_step, ==, 80);
  g_assert_cmpfloat_with_epsilon (sum.slope, 7.0 / 80, 1e-12);
}

static void
test_export (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("train/loss");
  for (int i = 0; i < 5000; i++)
    tn_series_append (series, i, i == 7 ? NAN : 1 / (i + 1.0), INT64_C (1700000000000000) + i * 1000);
  tn_series_set_steps_per_epoch (series, 100);
  g_autoptr (TnPlot) plot = tn_plot_new ("x");
  tn_plot_add (plot, series, "a", "run, \"one\"");
  g_autofree char *csv = tn_plot_export_text (plot, TN_TABLE_CSV, 0, -1), *json = tn_plot_export_text (plot, TN_TABLE_JSON, 0, -1);
  g_auto (GStrv) lines = g_strsplit (csv, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 5002); /* all of them, a header, and the end */
  g_assert_cmpstr (lines[0], ==, "run,rank,step,epoch,relative,wall,raw,smoothed,tag");
  g_assert_cmpstr (lines[4], ==, "\"run, \"\"one\"\"\",0,3,0.029999999999999999,0.0030000000000000001,2023-11-14T22:13:20.003000Z,0.25,0.25,train/loss");
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_assert_true (json_parser_load_from_data (parser, json, -1, NULL));
  JsonArray *rows = json_node_get_array (json_parser_get_root (parser));
  g_assert_cmpuint (json_array_get_length (rows), ==, 5000);
  for (guint i = 0; i < 5000; i++)
    {
      JsonObject *row = json_array_get_object_element (rows, i);
      g_assert_cmpint (json_object_get_int_member (row, "step"), ==, i);
      g_assert_cmpstr (json_object_get_string_member (row, "run"), ==, "run, \"one\"");
      if (i == 7)
        g_assert_true (json_object_get_null_member (row, "raw"));
      else
        g_assert_cmpfloat (json_object_get_double_member (row, "raw"), ==, 1 / (i + 1.0));
    }
  g_autofree char *some = tn_plot_export_text (plot, TN_TABLE_CSV, 10, 12);
  g_auto (GStrv) three = g_strsplit (some, "\n", -1);
  g_assert_cmpuint (g_strv_length (three), ==, 5);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_test_add_func ("/draw/plot/one-step-in-a-million-always-shows", test_spike);
  g_test_add_func ("/draw/plot/nodes-and-labels-stay-in-their-budgets", test_budgets);
  g_test_add_func ("/draw/plot/labels-never-overlap-nor-leave-the-picture", test_labels);
  g_test_add_func ("/draw/plot/hits-are-the-inverse-of-drawing", test_hits);
  g_test_add_func ("/draw/plot/values-not-on-a-log-axis-are-counted", test_log_counts);
  g_test_add_func ("/draw/plot/a-step-back-is-no-zigzag", test_restart_is_no_zigzag);
  g_test_add_func ("/draw/plot/a-run-of-three-steps-shows-three-points", test_few_rows);
  g_test_add_func ("/draw/plot/clipped-outliers-are-counted", test_outliers);
  g_test_add_func ("/draw/plot/the-y-range-holds-still", test_still);
  g_test_add_func ("/draw/plot/follows-until-panned-away", test_follow);
  g_test_add_func ("/draw/plot/jumps-from-event-to-event", test_events);
  g_test_add_func ("/draw/plot/crossing-a-limit-is-an-event", test_crossing);
  g_test_add_func ("/draw/plot/validation-that-moves-away-is-one-event", test_gap);
  g_test_add_func ("/draw/plot/statistics-of-a-range", test_statistics);
  g_test_add_func ("/draw/plot/exports-every-raw-row", test_export);
  return g_test_run ();
}
