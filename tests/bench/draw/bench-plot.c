/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "draw/canvas-cairo.h"
#include "draw/plot.h"

/* What a frame of a plot costs without a display: 20 curves of 1,000,000 rows at 1200 x 600, one JSON line a zoom. Held to: under 8 ms for any. */

#define N_LINES 20
#define N_ROWS 1000000
#define N_FRAMES 40

static int
compare (const void *a, const void *b)
{
  double left = *(const double *) a, right = *(const double *) b;
  return left < right ? -1 : left > right;
}

static void
measure (TnPlot *plot, cairo_surface_t *surface, double share, double smoothing)
{
  double ms[N_FRAMES], cpu[N_FRAMES];
  unsigned nodes = 0, labels = 0;
  cairo_t *cr = cairo_create (surface);
  TnCanvas *canvas = tn_cairo_canvas_new (cr, 1, FALSE);
  tn_plot_fit (plot);
  tn_plot_draw (plot, canvas, 1200, 600, tn_palette_get (TN_PALETTE_LIGHT));
  for (int i = 0; i < N_FRAMES; i++)
    {
      double width = N_ROWS * share, low = (N_ROWS - width) * i / N_FRAMES;
      gint64 start = g_get_monotonic_time ();
      clock_t cpu_start = clock ();
      if (share < 1)
        tn_plot_set_x_range (plot, low, low + width);
      canvas->nodes = canvas->labels = 0;
      tn_plot_draw (plot, canvas, 1200, 600, tn_palette_get (TN_PALETTE_LIGHT));
      ms[i] = (double) (g_get_monotonic_time () - start) / 1000;
      cpu[i] = (double) (clock () - cpu_start) * 1000 / CLOCKS_PER_SEC;
      nodes = MAX (nodes, canvas->nodes);
      labels = MAX (labels, canvas->labels);
    }
  tn_cairo_canvas_free (canvas);
  cairo_destroy (cr);
  qsort (ms, N_FRAMES, sizeof (double), compare);
  qsort (cpu, N_FRAMES, sizeof (double), compare);
  printf ("{\"bench\": \"plot\", \"lines\": %d, \"rows\": %d, \"shown\": %g, \"smoothing\": %g, \"median_ms\": %.2f, \"max_ms\": %.2f, \"cpu_median_ms\": %.2f, \"cpu_max_ms\": %.2f, "
          "\"nodes\": %u, \"labels\": %u}\n",
          N_LINES, N_ROWS, share, smoothing, ms[N_FRAMES / 2], ms[N_FRAMES - 1], cpu[N_FRAMES / 2], cpu[N_FRAMES - 1], nodes, labels);
  fflush (stdout);
}

static void
set_smoothing (TnPlot *plot, double weight)
{
  TnPlotOptions options = *tn_plot_options (plot);
  options.smoothing = weight;
  tn_plot_set_options (plot, &options);
  gint64 start = g_get_monotonic_time ();
  while (tn_plot_smooth_some (plot, N_ROWS))
    ;
  if (weight > 0)
    printf ("{\"bench\": \"plot-smoothing\", \"rows\": %d, \"ms\": %.1f}\n", N_LINES * N_ROWS, (double) (g_get_monotonic_time () - start) / 1000);
}

int
main (void)
{
  g_autoptr (TnPlot) plot = tn_plot_new ("loss");
  gint64 start = g_get_monotonic_time ();
  for (int l = 0; l < N_LINES; l++)
    {
      g_autoptr (TnSeries) series = tn_series_new ("loss");
      guint32 random = (guint32) l + 1;
      for (int i = 0; i < N_ROWS; i++)
        {
          random = random * 1664525u + 1013904223u;
          tn_series_append (series, i, (0.3 + 0.1 * l) * exp (-4.0 * i / N_ROWS) + 0.1 * l + 0.2 * (random / 4294967296.0), i);
        }
      tn_plot_add (plot, series, "run", NULL)->dash = 0;
    }
  printf ("{\"bench\": \"plot-append\", \"rows\": %d, \"ns_a_row\": %.1f}\n", N_LINES * N_ROWS,
          (double) (g_get_monotonic_time () - start) * 1000 / N_LINES / N_ROWS);
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, 1200, 600);
  const double shares[] = { 1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001, 0.00001 };
  for (int s = 0; s < 2; s++)
    {
      set_smoothing (plot, s * 0.6);
      for (int i = 0; i < G_N_ELEMENTS (shares); i++)
        measure (plot, surface, shares[i], s * 0.6);
    }
  cairo_surface_destroy (surface);
  return 0;
}
