/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/canvas-cairo.h"
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <math.h>
#include <pango/pangocairo.h>
#include "base/durable.h"
#include "base/error.h"

#define MAX_LAYOUTS 2048 /* then the cache starts anew */

typedef struct
{
  TnCanvas canvas;
  cairo_t *cr;
  PangoContext *context;
  GHashTable *layouts; /* text and style -> PangoLayout */
} CairoCanvas;

static void
set_color (cairo_t *cr, TnColor color)
{
  cairo_set_source_rgba (cr, color.red, color.green, color.blue, color.alpha);
}

static void
cairo_rect (TnCanvas *canvas, const TnRect *rect, TnColor fill)
{
  cairo_t *cr = ((CairoCanvas *) canvas)->cr;
  cairo_rectangle (cr, rect->x, rect->y, rect->width, rect->height);
  set_color (cr, fill);
  cairo_fill (cr);
}

static void
apply_stroke (cairo_t *cr, const TnStroke *stroke)
{
  set_color (cr, stroke->color);
  cairo_set_line_width (cr, stroke->width);
  cairo_set_line_join (cr, stroke->width > 2.5 ? CAIRO_LINE_JOIN_ROUND : CAIRO_LINE_JOIN_BEVEL); /* round ones cost, and thin lines hide them */
  cairo_set_line_cap (cr, CAIRO_LINE_CAP_BUTT);
  cairo_set_dash (cr, stroke->dash, stroke->dash != NULL ? stroke->n_dash : 0, 0);
  cairo_stroke (cr);
}

static void
cairo_round_rect (TnCanvas *canvas, const TnRect *rect, double radius, const TnColor *fill, const TnStroke *stroke)
{
  cairo_t *cr = ((CairoCanvas *) canvas)->cr;
  double x0 = rect->x, y0 = rect->y, x1 = rect->x + rect->width, y1 = rect->y + rect->height;
  double r = fmax (0, fmin (radius, fmin (rect->width, rect->height) / 2));
  cairo_new_path (cr);
  cairo_arc (cr, x1 - r, y0 + r, r, -G_PI_2, 0);
  cairo_arc (cr, x1 - r, y1 - r, r, 0, G_PI_2);
  cairo_arc (cr, x0 + r, y1 - r, r, G_PI_2, G_PI);
  cairo_arc (cr, x0 + r, y0 + r, r, G_PI, 3 * G_PI_2);
  cairo_close_path (cr);
  if (fill != NULL)
    {
      set_color (cr, *fill);
      cairo_fill_preserve (cr);
    }
  if (stroke != NULL)
    apply_stroke (cr, stroke);
  cairo_new_path (cr);
}

static void
trace (cairo_t *cr, const TnPoint *points, size_t n)
{
  cairo_new_path (cr);
  cairo_move_to (cr, points[0].x, points[0].y);
  for (size_t i = 1; i < n; i++)
    cairo_line_to (cr, points[i].x, points[i].y);
}

static void
cairo_polyline (TnCanvas *canvas, const TnPoint *points, size_t n, const TnStroke *stroke)
{
  cairo_t *cr = ((CairoCanvas *) canvas)->cr;
  trace (cr, points, n);
  apply_stroke (cr, stroke);
}

static void
cairo_polygon (TnCanvas *canvas, const TnPoint *points, size_t n, TnColor fill)
{
  cairo_t *cr = ((CairoCanvas *) canvas)->cr;
  trace (cr, points, n);
  cairo_close_path (cr);
  set_color (cr, fill);
  cairo_fill (cr);
}

static PangoLayout *
make_layout (CairoCanvas *self, const char *text, const TnTextStyle *style)
{
  PangoLayout *layout = pango_layout_new (self->context);
  g_autoptr (PangoFontDescription) font = pango_font_description_from_string ("Cantarell, Inter, Sans");
  pango_font_description_set_absolute_size (font, style->size * PANGO_SCALE);
  if (style->bold)
    pango_font_description_set_weight (font, PANGO_WEIGHT_BOLD);
  pango_layout_set_font_description (layout, font);
  pango_layout_set_single_paragraph_mode (layout, TRUE);
  if (style->tabular)
    {
      g_autoptr (PangoAttrList) attributes = pango_attr_list_new ();
      pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
      pango_layout_set_attributes (layout, attributes);
    }
  if (style->max_width > 0)
    {
      pango_layout_set_width (layout, (int) (style->max_width * PANGO_SCALE));
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
    }
  pango_layout_set_text (layout, text, -1);
  return layout;
}

static PangoLayout *
layout_of (CairoCanvas *self, const char *text, const TnTextStyle *style)
{
  g_autofree char *key = g_strdup_printf ("%g|%d|%d|%g|%s", style->size, style->bold, style->tabular, style->max_width, text);
  PangoLayout *layout = g_hash_table_lookup (self->layouts, key);
  if (layout != NULL)
    return layout;
  if (g_hash_table_size (self->layouts) >= MAX_LAYOUTS)
    g_hash_table_remove_all (self->layouts);
  layout = make_layout (self, text, style);
  g_hash_table_insert (self->layouts, g_steal_pointer (&key), layout);
  return layout;
}

static void
measure_layout (PangoLayout *layout, double *width, double *ascent, double *descent)
{
  PangoRectangle logical;
  pango_layout_get_extents (layout, NULL, &logical);
  *width = logical.width / (double) PANGO_SCALE;
  *ascent = pango_layout_get_baseline (layout) / (double) PANGO_SCALE;
  *descent = logical.height / (double) PANGO_SCALE - *ascent;
}

static void
cairo_measure (TnCanvas *canvas, const char *text, const TnTextStyle *style, double *width, double *ascent, double *descent)
{
  measure_layout (layout_of ((CairoCanvas *) canvas, text, style), width, ascent, descent);
}

static void
cairo_text (TnCanvas *canvas, const char *text, double x, double y, const TnTextStyle *style)
{
  CairoCanvas *self = (CairoCanvas *) canvas;
  PangoLayout *layout = layout_of (self, text, style);
  double width, ascent, descent;
  measure_layout (layout, &width, &ascent, &descent);
  PangoRectangle logical;
  pango_layout_get_extents (layout, NULL, &logical); /* text from right to left is laid at the right of max_width */
  double left = style->anchor == TN_ANCHOR_START ? x : style->anchor == TN_ANCHOR_MIDDLE ? x - width / 2 : x - width;
  cairo_move_to (self->cr, left - logical.x / (double) PANGO_SCALE, y - ascent);
  set_color (self->cr, style->color);
  pango_cairo_show_layout (self->cr, layout);
  cairo_new_path (self->cr);
}

static void
cairo_image (TnCanvas *canvas, const TnRect *rect, const uint8_t *pixels, int width, int height, int stride)
{
  cairo_t *cr = ((CairoCanvas *) canvas)->cr;
  cairo_surface_t *image = cairo_image_surface_create_for_data ((uint8_t *) pixels, CAIRO_FORMAT_ARGB32, width, height, stride);
  cairo_save (cr);
  cairo_translate (cr, rect->x, rect->y);
  cairo_scale (cr, rect->width / width, rect->height / height);
  cairo_set_source_surface (cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_rectangle (cr, 0, 0, width, height);
  cairo_fill (cr);
  cairo_restore (cr);
  cairo_surface_finish (image); /* a vector target copies what it still needs */
  cairo_surface_destroy (image);
}

static void
cairo_push_clip (TnCanvas *canvas, const TnRect *rect)
{
  cairo_t *cr = ((CairoCanvas *) canvas)->cr;
  cairo_save (cr);
  cairo_rectangle (cr, rect->x, rect->y, rect->width, rect->height);
  cairo_clip (cr);
}

static void
cairo_pop_clip (TnCanvas *canvas)
{
  cairo_restore (((CairoCanvas *) canvas)->cr);
}

#define TABLE(vector) \
  { .rect = cairo_rect, .round_rect = cairo_round_rect, .polyline = cairo_polyline, .polygon = cairo_polygon, \
    .text = cairo_text, .measure = cairo_measure, .image = cairo_image, .push_clip = cairo_push_clip, \
    .pop_clip = cairo_pop_clip, .is_vector = vector }
static const TnCanvasTable tables[] = { TABLE (FALSE), TABLE (TRUE) };

TnCanvas *
tn_cairo_canvas_new (cairo_t *cr, double scale, gboolean is_vector)
{
  g_return_val_if_fail (cr != NULL && scale > 0, NULL);
  CairoCanvas *self = g_new0 (CairoCanvas, 1);
  self->canvas.table = &tables[is_vector ? 1 : 0];
  self->canvas.scale = scale;
  self->cr = cairo_reference (cr);
  self->context = pango_cairo_create_context (cr);
  /* The same text must have the same width at every zoom and on every target. */
  pango_cairo_context_set_resolution (self->context, 96);
  pango_context_set_round_glyph_positions (self->context, FALSE);
  self->layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  return &self->canvas;
}

void
tn_cairo_canvas_free (TnCanvas *canvas)
{
  CairoCanvas *self = (CairoCanvas *) canvas;
  if (self == NULL)
    return;
  g_hash_table_unref (self->layouts);
  g_object_unref (self->context);
  cairo_destroy (self->cr);
  g_free (self);
}

gboolean
tn_picture_format_from_path (const char *path, TnPictureFormat *format, GError **error)
{
  static const char *const endings[] = { ".png", ".svg", ".pdf" };
  g_autofree char *lower = g_ascii_strdown (path, -1);
  for (int i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (lower, endings[i]))
      {
        *format = i;
        return TRUE;
      }
  g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("“%s” does not end in .png, .svg or .pdf. Choose one of these endings."), path);
  return FALSE;
}

static cairo_status_t
append_bytes (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
}

static gboolean
check_size (const TnPictureSize *size, GError **error)
{
  double most = fmax (size->width, size->height) * size->scale;
  if (size->width >= 1 && size->height >= 1 && size->scale > 0 && most <= TN_PICTURE_MAX_SIDE)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
               _ ("A picture of %g × %g at scale %g cannot be made. Choose sides of 1 to %d pixels in all."), size->width, size->height,
               size->scale, TN_PICTURE_MAX_SIDE);
  return FALSE;
}

static cairo_surface_t *
make_surface (TnPictureFormat format, const TnPictureSize *size, GByteArray *bytes)
{
  if (format == TN_PICTURE_PDF)
    return cairo_pdf_surface_create_for_stream (append_bytes, bytes, size->width, size->height);
  if (format == TN_PICTURE_PNG)
    return cairo_image_surface_create (CAIRO_FORMAT_ARGB32, (int) ceil (size->width * size->scale), (int) ceil (size->height * size->scale));
  cairo_surface_t *surface = cairo_svg_surface_create_for_stream (append_bytes, bytes, size->width, size->height);
  if (cairo_surface_status (surface) == CAIRO_STATUS_SUCCESS)
    cairo_svg_surface_set_document_unit (surface, CAIRO_SVG_UNIT_PX);
  return surface;
}

GBytes *
tn_picture_bytes (TnPictureFormat format, const TnPictureSize *size, TnPaintFunc paint, gpointer user_data, GError **error)
{
  g_return_val_if_fail (size != NULL && paint != NULL, NULL);
  if (!check_size (size, error))
    return NULL;
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  cairo_surface_t *surface = make_surface (format, size, bytes);
  double scale = format == TN_PICTURE_PNG ? size->scale : 1;
  cairo_surface_set_device_scale (surface, scale, scale);
  cairo_t *cr = cairo_create (surface);
  TnCanvas *canvas = tn_cairo_canvas_new (cr, scale, format != TN_PICTURE_PNG);
  paint (canvas, size->width, size->height, user_data);
  tn_cairo_canvas_free (canvas);
  cairo_status_t status = cairo_status (cr);
  cairo_destroy (cr);
  if (status == CAIRO_STATUS_SUCCESS && format == TN_PICTURE_PNG)
    status = cairo_surface_write_to_png_stream (surface, append_bytes, bytes);
  cairo_surface_finish (surface);
  if (status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_status (surface);
  cairo_surface_destroy (surface);
  if (status == CAIRO_STATUS_SUCCESS)
    return g_byte_array_free_to_bytes (g_steal_pointer (&bytes));
  g_set_error (error, TN_ERROR, status == CAIRO_STATUS_NO_MEMORY ? TN_ERROR_MEMORY : TN_ERROR_INTERNAL,
               _ ("The picture could not be drawn: %s. Try a smaller size."), cairo_status_to_string (status));
  return NULL;
}

gboolean
tn_picture_write (const char *path, TnPictureFormat format, const TnPictureSize *size, TnPaintFunc paint, gpointer user_data, GError **error)
{
  g_autoptr (GBytes) bytes = tn_picture_bytes (format, size, paint, user_data, error);
  return bytes != NULL && tn_picture_write_bytes (path, bytes, error);
}

gboolean
tn_picture_write_bytes (const char *path, GBytes *bytes, GError **error)
{
  return tn_durable_write (path, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), error);
}
