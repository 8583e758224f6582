/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "draw/plot.h"
#include "recorder.h"

/* Pictures of plots: against pictures that a person looked at (tests/draw/pictures; TENON_UPDATE_PICTURES=1 makes them anew), and as files.
 * In pictures labels are boxes, so that they depend on no font. */

#define TOLERANCE 40       /* of a channel */
#define MAX_DIFFERENT 0.01 /* share of pixels */

typedef struct
{
  TnPlot *plot;
  const TnPalette *palette;
} Job;

static void
paint (TnCanvas *canvas, double width, double height, gpointer user_data)
{
  const Job *job = user_data;
  g_autoptr (TnRecorder) recorder = tn_recorder_new (canvas, canvas->scale, canvas->table->is_vector);
  tn_plot_draw (job->plot, &recorder->canvas, width, height, job->palette);
}

static double
noise (int i) /* the same everywhere */
{
  guint32 x = (guint32) i * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return x / 4294967296.0 - 0.5;
}

static TnPlotLine *
add_line (TnPlot *plot, const char *name, unsigned color, int n, int every, double scale)
{
  g_autoptr (TnSeries) series = tn_series_new (name);
  for (int i = 0; i < n; i += every)
    tn_series_append (series, i, i == n / 2 ? NAN : scale * (exp (-3.0 * i / n) + 0.1 + 0.2 * noise (i)), INT64_C (1700000000000000) + i * INT64_C (1000000));
  TnPlotLine *line = tn_plot_add (plot, series, name, NULL);
  line->color = color;
  line->dash = 0;
  return line;
}

/* Something of everything. */
static TnPlot *
example (const char *title)
{
  TnPlot *plot = tn_plot_new (title);
  TnPlotOptions options = *tn_plot_options (plot);
  options.show_title = options.show_legend = TRUE;
  options.smoothing = 0.9;
  tn_plot_set_options (plot, &options);
  add_line (plot, "run 11", 2, 1500, 1, 1.4)->ghost = TRUE;
  add_line (plot, "train/loss", 0, 2000, 1, 1);
  TnPlotLine *validation = add_line (plot, "validation/loss", 1, 2000, 180, 1.1);
  validation->emphasis = TRUE;
  validation->marker = TN_MARKER_DIAMOND;
  for (int i = 0; i < TN_N_EVENTS; i++)
    tn_plot_add_event (plot, (TnEventKind) i, 150 + 180 * i, 0, "");
  tn_plot_add_threshold (plot, 0.3);
  tn_plot_set_selection (plot, 700, 900);
  while (tn_plot_smooth_some (plot, 1 << 20))
    ;
  return plot;
}

static cairo_status_t
read_bytes (void *closure, unsigned char *data, unsigned int length)
{
  GByteArray *bytes = closure;
  if (bytes->len < length)
    return CAIRO_STATUS_READ_ERROR;
  memcpy (data, bytes->data, length);
  g_byte_array_remove_range (bytes, 0, length);
  return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *
load_png (GBytes *png)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_byte_array_append (bytes, g_bytes_get_data (png, NULL), (guint) g_bytes_get_size (png));
  cairo_surface_t *surface = cairo_image_surface_create_from_png_stream (read_bytes, bytes);
  g_assert_cmpint (cairo_surface_status (surface), ==, CAIRO_STATUS_SUCCESS);
  return surface;
}

static double
share_different (cairo_surface_t *a, cairo_surface_t *b)
{
  int width = cairo_image_surface_get_width (a), height = cairo_image_surface_get_height (a);
  gint64 different = 0;
  if (width != cairo_image_surface_get_width (b) || height != cairo_image_surface_get_height (b))
    return 1;
  for (int y = 0; y < height; y++)
    {
      const uint8_t *left = cairo_image_surface_get_data (a) + (size_t) y * cairo_image_surface_get_stride (a);
      const uint8_t *right = cairo_image_surface_get_data (b) + (size_t) y * cairo_image_surface_get_stride (b);
      for (int x = 0; x < width; x++)
        {
          gboolean same = TRUE;
          for (int c = 0; c < 3; c++)
            same = same && abs (left[4 * x + c] - right[4 * x + c]) <= TOLERANCE;
          different += !same;
        }
    }
  return (double) different / ((double) width * height);
}

static void
check_picture (const char *name, TnPlot *plot, TnPaletteKind kind, double scale)
{
  Job job = { plot, tn_palette_get (kind) };
  g_autoptr (GError) error = NULL;
  g_autofree char *file = g_strconcat (name, ".png", NULL);
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "draw", "pictures", file, NULL);
  g_autofree char *contents = NULL;
  gsize length;
  g_autoptr (GBytes) png = tn_picture_bytes (TN_PICTURE_PNG, &(TnPictureSize) { 460, 200, scale }, paint, &job, &error);
  g_assert_no_error (error);
  if (g_getenv ("TENON_UPDATE_PICTURES") != NULL)
    g_file_set_contents (path, g_bytes_get_data (png, NULL), (gssize) g_bytes_get_size (png), &error);
  g_assert_no_error (error);
  g_file_get_contents (path, &contents, &length, &error);
  g_assert_no_error (error);
  g_autoptr (GBytes) known = g_bytes_new (contents, length);
  cairo_surface_t *got = load_png (png), *want = load_png (known);
  double share = share_different (got, want);
  cairo_surface_destroy (got);
  cairo_surface_destroy (want);
  if (share > MAX_DIFFERENT)
    {
      g_autofree char *out = g_build_filename (g_get_tmp_dir (), file, NULL);
      g_file_set_contents (out, g_bytes_get_data (png, NULL), (gssize) g_bytes_get_size (png), NULL);
      g_error ("%.2f %% of the pixels of %s differ; the new one is %s", 100 * share, path, out);
    }
}

static void
test_light (void)
{
  g_autoptr (TnPlot) plot = example ("loss");
  check_picture ("plot-light", plot, TN_PALETTE_LIGHT, 1);
}

static void
test_dark (void)
{
  g_autoptr (TnPlot) plot = example ("loss");
  check_picture ("plot-dark", plot, TN_PALETTE_DARK, 1);
}

static void
test_contrast (void)
{
  g_autoptr (TnPlot) plot = example ("loss");
  check_picture ("plot-contrast", plot, TN_PALETTE_LIGHT_CONTRAST, 1);
}

static void
test_scale (void)
{
  g_autoptr (TnPlot) plot = example ("loss");
  check_picture ("plot-scale-2", plot, TN_PALETTE_LIGHT, 2);
}

static void
test_log (void)
{
  g_autoptr (TnPlot) plot = example ("loss");
  TnPlotOptions options = *tn_plot_options (plot);
  options.y_log = options.clip_outliers = TRUE;
  options.smoothing = 0;
  tn_plot_set_options (plot, &options);
  check_picture ("plot-log", plot, TN_PALETTE_DARK, 1);
}

/* Words that are read from the right change nothing about the axes. */
static void
test_right_to_left (void)
{
  g_autoptr (TnPlot) plot = example ("loss"), hebrew = example ("אבדן");
  Job left = { plot, tn_palette_get (TN_PALETTE_LIGHT) }, right = { hebrew, tn_palette_get (TN_PALETTE_LIGHT) };
  TnPictureSize size = { 460, 200, 1 };
  g_autoptr (GBytes) one = tn_picture_bytes (TN_PICTURE_PNG, &size, paint, &left, NULL), two = tn_picture_bytes (TN_PICTURE_PNG, &size, paint, &right, NULL);
  g_assert_cmpfloat (tn_plot_x_axis (hebrew)->from, <, tn_plot_x_axis (hebrew)->to);
  g_assert_true (g_bytes_equal (one, two)); /* titles of four letters each, drawn as boxes */
  check_picture ("plot-light", hebrew, TN_PALETTE_LIGHT, 1);
}

/* --- as files --- */

static void
paint_real (TnCanvas *canvas, double width, double height, gpointer user_data)
{
  const Job *job = user_data;
  tn_plot_draw (job->plot, canvas, width, height, job->palette);
}

static void
count_element (GMarkupParseContext *context, const char *name, const char **names, const char **values, gpointer user_data, GError **error)
{
  int *counts = user_data;
  counts[0] += g_str_equal (name, "path");
  counts[1] += g_str_equal (name, "image");
}

static TnPlot *
large_plot (void)
{
  TnPlot *plot = tn_plot_new ("loss");
  for (int i = 0; i < 8; i++)
    add_line (plot, "line", (unsigned) i, 30000, 1, 1 + i);
  return plot;
}

static void
test_svg (void)
{
  g_autoptr (TnPlot) plot = large_plot ();
  Job job = { plot, tn_palette_get (TN_PALETTE_LIGHT) };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) svg = tn_picture_bytes (TN_PICTURE_SVG, &(TnPictureSize) { 1200, 600, 1 }, paint_real, &job, &error);
  int counts[2] = { 0, 0 };
  const GMarkupParser parser = { .start_element = count_element };
  g_autoptr (GMarkupParseContext) context = g_markup_parse_context_new (&parser, 0, counts, NULL);
  g_assert_no_error (error);
  gboolean ok = g_markup_parse_context_parse (context, g_bytes_get_data (svg, NULL), (gssize) g_bytes_get_size (svg), &error)
                && g_markup_parse_context_end_parse (context, &error);
  g_assert_no_error (error);
  g_assert_true (ok);
  g_assert_cmpint (counts[0], >, 20);
  g_assert_cmpint (counts[1], ==, 0); /* no pixels in a vector file */
}

static void
test_pdf (void)
{
  g_autoptr (TnPlot) plot = large_plot ();
  Job job = { plot, tn_palette_get (TN_PALETTE_LIGHT) };
  g_autoptr (GBytes) pdf = tn_picture_bytes (TN_PICTURE_PDF, &(TnPictureSize) { 1200, 600, 1 }, paint_real, &job, NULL);
  gsize n;
  const char *data = g_bytes_get_data (pdf, &n);
  g_assert_true (strncmp (data, "%PDF-", 5) == 0);
  const char *start = n > 64 ? memmem (data + n - 64, 64, "startxref", 9) : NULL;
  g_assert_nonnull (start);
  guint64 at = g_ascii_strtoull (start + strlen ("startxref"), NULL, 10);
  g_assert_cmpuint (at, <, n);
  g_assert_true (strncmp (data + at, "xref", 4) == 0);
  g_assert_null (memmem (data, n, "/Subtype /Image", 15));
  g_assert_nonnull (memmem (data, n, "/MediaBox [ 0 0 1200 600 ]", 26));
}

static void
test_refusals (void)
{
  g_autoptr (TnPlot) plot = example ("x");
  Job job = { plot, tn_palette_get (TN_PALETTE_LIGHT) };
  g_autofree char *folder = g_dir_make_tmp ("tenon-picture-XXXXXX", NULL), *path = g_build_filename (folder, "a.png", NULL);
  const TnPictureSize bad[] = { { 0, 10, 1 }, { 40000, 10, 1 }, { 20000, 10, 2 }, { 10, 10, NAN }, { NAN, 10, 1 } };
  g_file_set_contents (path, "old", -1, NULL);
  for (int i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *contents = NULL;
      g_assert_false (tn_picture_write (path, TN_PICTURE_PNG, &bad[i], paint, &job, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
      g_assert_true (g_file_get_contents (path, &contents, NULL, NULL));
      g_assert_cmpstr (contents, ==, "old");
    }
  g_autoptr (GError) error = NULL;
  TnPictureFormat format;
  g_assert_true (tn_picture_write (path, TN_PICTURE_PNG, &(TnPictureSize) { 100, 80, 1 }, paint, &job, &error));
  g_assert_true (tn_picture_format_from_path ("x/A.SVG", &format, NULL));
  g_assert_cmpint (format, ==, TN_PICTURE_SVG);
  g_assert_false (tn_picture_format_from_path ("a.jpg", &format, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED);
  g_unlink (path);
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  g_setenv ("TZ", "UTC", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/draw/picture/light", test_light);
  g_test_add_func ("/draw/picture/dark", test_dark);
  g_test_add_func ("/draw/picture/high-contrast", test_contrast);
  g_test_add_func ("/draw/picture/scale-2", test_scale);
  g_test_add_func ("/draw/picture/log", test_log);
  g_test_add_func ("/draw/picture/axes-stay-left-to-right", test_right_to_left);
  g_test_add_func ("/draw/picture/svg-is-xml-without-pixels", test_svg);
  g_test_add_func ("/draw/picture/pdf-has-its-table-and-no-pixels", test_pdf);
  g_test_add_func ("/draw/picture/refuses-sizes-and-keeps-the-old-file", test_refusals);
  return g_test_run ();
}
