/* SPDX-License-Identifier: Apache-2.0 */
#include "canvas-snapshot.h"
#include <math.h>

#define MAX_LAYOUTS 1024 /* then the cache starts anew */
#define MAX_CLIPS 16

typedef struct
{
  TnCanvas canvas;
  GtkWidget *widget; /* its owner */
  GtkSnapshot *snapshot;
  GHashTable *layouts; /* text and style -> PangoLayout */
  graphene_rect_t clips[MAX_CLIPS];
  int n_clips;
} SnapshotCanvas;

static GdkRGBA
to_rgba (TnColor color)
{
  return (GdkRGBA) { color.red, color.green, color.blue, color.alpha };
}

static void
append_rect (SnapshotCanvas *self, double x, double y, double width, double height, TnColor color)
{
  GdkRGBA rgba = to_rgba (color);
  graphene_rect_t bounds = GRAPHENE_RECT_INIT ((float) x, (float) y, (float) width, (float) height);
  gtk_snapshot_append_color (self->snapshot, &rgba, &bounds);
}

static void
snapshot_rect (TnCanvas *canvas, const TnRect *rect, TnColor fill)
{
  append_rect ((SnapshotCanvas *) canvas, rect->x, rect->y, rect->width, rect->height, fill);
}

static void
snapshot_round_rect (TnCanvas *canvas, const TnRect *rect, double radius, const TnColor *fill, const TnStroke *stroke)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  double outset = stroke != NULL ? stroke->width / 2 : 0;
  GskRoundedRect shape;
  graphene_rect_t bounds = GRAPHENE_RECT_INIT ((float) (rect->x - outset), (float) (rect->y - outset), (float) (rect->width + 2 * outset),
                                               (float) (rect->height + 2 * outset));
  gsk_rounded_rect_init_from_rect (&shape, &bounds, (float) fmin (radius + outset, fmin (bounds.size.width, bounds.size.height) / 2));
  if (fill != NULL)
    {
      GdkRGBA rgba = to_rgba (*fill);
      gtk_snapshot_push_rounded_clip (self->snapshot, &shape);
      gtk_snapshot_append_color (self->snapshot, &rgba, &bounds);
      gtk_snapshot_pop (self->snapshot);
    }
  if (stroke == NULL)
    return;
  GdkRGBA rgba = to_rgba (stroke->color);
  float width = (float) stroke->width;
  gtk_snapshot_append_border (self->snapshot, &shape, (float[]) { width, width, width, width }, (GdkRGBA[]) { rgba, rgba, rgba, rgba });
}

/* What @points take up and the clip lets show; FALSE for nothing. */
static gboolean
bounds_of (SnapshotCanvas *self, const TnPoint *points, size_t n, double margin, graphene_rect_t *bounds)
{
  double x0 = INFINITY, y0 = INFINITY, x1 = -INFINITY, y1 = -INFINITY;
  for (size_t i = 0; i < n; i++)
    {
      x0 = fmin (x0, points[i].x);
      y0 = fmin (y0, points[i].y);
      x1 = fmax (x1, points[i].x);
      y1 = fmax (y1, points[i].y);
    }
  graphene_rect_init (bounds, (float) floor (x0 - margin), (float) floor (y0 - margin), (float) ceil (x1 - x0 + 2 * margin + 1),
                      (float) ceil (y1 - y0 + 2 * margin + 1));
  return self->n_clips == 0 || graphene_rect_intersection (bounds, &self->clips[self->n_clips - 1], bounds);
}

static cairo_t *
begin_cairo (SnapshotCanvas *self, const TnPoint *points, size_t n, double margin)
{
  graphene_rect_t bounds;
  if (!bounds_of (self, points, n, margin, &bounds))
    return NULL;
  cairo_t *cr = gtk_snapshot_append_cairo (self->snapshot, &bounds);
  cairo_move_to (cr, points[0].x, points[0].y);
  for (size_t i = 1; i < n; i++)
    cairo_line_to (cr, points[i].x, points[i].y);
  return cr;
}

static void
snapshot_polyline (TnCanvas *canvas, const TnPoint *points, size_t n, const TnStroke *stroke)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  double half = stroke->width / 2;
  if (n == 2 && stroke->n_dash == 0 && points[0].x == points[1].x)
    {
      append_rect (self, points[0].x - half, fmin (points[0].y, points[1].y), stroke->width, fabs (points[1].y - points[0].y), stroke->color);
      return;
    }
  if (n == 2 && stroke->n_dash == 0 && points[0].y == points[1].y)
    {
      append_rect (self, fmin (points[0].x, points[1].x), points[0].y - half, fabs (points[1].x - points[0].x), stroke->width, stroke->color);
      return;
    }
  cairo_t *cr = begin_cairo (self, points, n, stroke->width);
  if (cr == NULL)
    return;
  cairo_set_source_rgba (cr, stroke->color.red, stroke->color.green, stroke->color.blue, stroke->color.alpha);
  cairo_set_line_width (cr, stroke->width);
  cairo_set_line_join (cr, stroke->width > 2.5 ? CAIRO_LINE_JOIN_ROUND : CAIRO_LINE_JOIN_BEVEL); /* round ones cost, and thin lines hide them */
  cairo_set_dash (cr, stroke->dash, stroke->dash != NULL ? stroke->n_dash : 0, 0);
  cairo_stroke (cr);
  cairo_destroy (cr);
}

static void
snapshot_polygon (TnCanvas *canvas, const TnPoint *points, size_t n, TnColor fill)
{
  cairo_t *cr = begin_cairo ((SnapshotCanvas *) canvas, points, n, 1);
  if (cr == NULL)
    return;
  cairo_close_path (cr);
  cairo_set_source_rgba (cr, fill.red, fill.green, fill.blue, fill.alpha);
  cairo_fill (cr);
  cairo_destroy (cr);
}

static PangoLayout *
make_layout (SnapshotCanvas *self, const char *text, const TnTextStyle *style)
{
  PangoLayout *layout = gtk_widget_create_pango_layout (self->widget, text);
  PangoFontDescription *font = pango_font_description_copy (pango_context_get_font_description (gtk_widget_get_pango_context (self->widget)));
  pango_font_description_set_absolute_size (font, style->size * PANGO_SCALE);
  pango_font_description_set_weight (font, style->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description (layout, font);
  pango_font_description_free (font);
  pango_layout_set_single_paragraph_mode (layout, TRUE);
  if (style->tabular)
    {
      PangoAttrList *attributes = pango_attr_list_new ();
      pango_attr_list_insert (attributes, pango_attr_font_features_new ("tnum=1"));
      pango_layout_set_attributes (layout, attributes);
      pango_attr_list_unref (attributes);
    }
  if (style->max_width > 0)
    {
      pango_layout_set_width (layout, (int) (style->max_width * PANGO_SCALE));
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
    }
  return layout;
}

static PangoLayout *
layout_of (SnapshotCanvas *self, const char *text, const TnTextStyle *style)
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
snapshot_measure (TnCanvas *canvas, const char *text, const TnTextStyle *style, double *width, double *ascent, double *descent)
{
  PangoRectangle logical;
  PangoLayout *layout = layout_of ((SnapshotCanvas *) canvas, text, style);
  pango_layout_get_extents (layout, NULL, &logical);
  *width = logical.width / (double) PANGO_SCALE;
  *ascent = pango_layout_get_baseline (layout) / (double) PANGO_SCALE;
  *descent = logical.height / (double) PANGO_SCALE - *ascent;
}

static void
snapshot_text (TnCanvas *canvas, const char *text, double x, double y, const TnTextStyle *style)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  PangoRectangle logical;
  PangoLayout *layout = layout_of (self, text, style);
  GdkRGBA rgba = to_rgba (style->color);
  pango_layout_get_extents (layout, NULL, &logical);
  double width = logical.width / (double) PANGO_SCALE;
  double left = style->anchor == TN_ANCHOR_START ? x : style->anchor == TN_ANCHOR_MIDDLE ? x - width / 2 : x - width;
  double top = y - pango_layout_get_baseline (layout) / (double) PANGO_SCALE;
  left -= logical.x / (double) PANGO_SCALE;
  gtk_snapshot_save (self->snapshot);
  gtk_snapshot_translate (self->snapshot, &GRAPHENE_POINT_INIT ((float) (round (left * canvas->scale) / canvas->scale),
                                                                (float) (round (top * canvas->scale) / canvas->scale)));
  gtk_snapshot_append_layout (self->snapshot, layout, &rgba);
  gtk_snapshot_restore (self->snapshot);
}

static void
snapshot_image (TnCanvas *canvas, const TnRect *rect, const uint8_t *pixels, int width, int height, int stride)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  graphene_rect_t bounds = GRAPHENE_RECT_INIT ((float) rect->x, (float) rect->y, (float) rect->width, (float) rect->height);
  cairo_surface_t *image = cairo_image_surface_create_for_data ((uint8_t *) pixels, CAIRO_FORMAT_ARGB32, width, height, stride);
  cairo_t *cr = gtk_snapshot_append_cairo (self->snapshot, &bounds);
  cairo_translate (cr, rect->x, rect->y);
  cairo_scale (cr, rect->width / width, rect->height / height);
  cairo_set_source_surface (cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  cairo_surface_finish (image); /* the node, which recorded it, makes its copy here */
  cairo_surface_destroy (image);
}

static void
snapshot_push_clip (TnCanvas *canvas, const TnRect *rect)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  graphene_rect_t clip = GRAPHENE_RECT_INIT ((float) rect->x, (float) rect->y, (float) rect->width, (float) rect->height);
  gtk_snapshot_push_clip (self->snapshot, &clip);
  g_return_if_fail (self->n_clips < MAX_CLIPS);
  if (self->n_clips > 0 && !graphene_rect_intersection (&clip, &self->clips[self->n_clips - 1], &clip))
    clip.size.width = clip.size.height = 0;
  self->clips[self->n_clips++] = clip;
}

static void
snapshot_pop_clip (TnCanvas *canvas)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  gtk_snapshot_pop (self->snapshot);
  self->n_clips = MAX (0, self->n_clips - 1);
}

static const TnCanvasTable table = {
  .rect = snapshot_rect, .round_rect = snapshot_round_rect, .polyline = snapshot_polyline, .polygon = snapshot_polygon,
  .text = snapshot_text, .measure = snapshot_measure, .image = snapshot_image, .push_clip = snapshot_push_clip, .pop_clip = snapshot_pop_clip,
};

TnCanvas *
tn_snapshot_canvas_new (GtkWidget *widget)
{
  SnapshotCanvas *self = g_new0 (SnapshotCanvas, 1);
  self->canvas.table = &table;
  self->canvas.scale = 1;
  self->widget = widget;
  self->layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  return &self->canvas;
}

void
tn_snapshot_canvas_free (TnCanvas *canvas)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  if (self == NULL)
    return;
  g_hash_table_unref (self->layouts);
  g_free (self);
}

void
tn_snapshot_canvas_begin (TnCanvas *canvas, GtkSnapshot *snapshot)
{
  SnapshotCanvas *self = (SnapshotCanvas *) canvas;
  self->snapshot = snapshot;
  self->n_clips = 0;
  canvas->scale = gtk_widget_get_scale_factor (self->widget);
  canvas->nodes = canvas->labels = 0;
}

void
tn_snapshot_canvas_forget (TnCanvas *canvas)
{
  g_hash_table_remove_all (((SnapshotCanvas *) canvas)->layouts);
}
