/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"
#include <math.h>

static TnRecorder *
self_of (TnCanvas *canvas)
{
  return (TnRecorder *) canvas;
}

static void
rect (TnCanvas *canvas, const TnRect *box, TnColor fill)
{
  g_array_append_val (self_of (canvas)->rects, *box);
  if (self_of (canvas)->below != NULL)
    tn_canvas_rect (self_of (canvas)->below, box, fill);
}

static void
round_rect (TnCanvas *canvas, const TnRect *box, double radius, const TnColor *fill, const TnStroke *stroke)
{
  if (self_of (canvas)->below != NULL)
    tn_canvas_round_rect (self_of (canvas)->below, box, radius, fill, stroke);
}

static void
polyline (TnCanvas *canvas, const TnPoint *points, size_t n, const TnStroke *stroke)
{
  TnRecorder *self = self_of (canvas);
  if (n > 2)
    {
      const TnPoint end = { NAN, NAN };
      g_array_append_vals (self->points, points, n);
      g_array_append_val (self->points, end);
    }
  self->longest = MAX (self->longest, n);
  if (self->below != NULL)
    tn_canvas_polyline (self->below, points, n, stroke);
}

static void
polygon (TnCanvas *canvas, const TnPoint *points, size_t n, TnColor fill)
{
  self_of (canvas)->polygons++;
  if (self_of (canvas)->below != NULL)
    tn_canvas_polygon (self_of (canvas)->below, points, n, fill);
}

static void
measure (TnCanvas *canvas, const char *text, const TnTextStyle *style, double *width, double *ascent, double *descent)
{
  *width = 0.55 * style->size * (double) g_utf8_strlen (text, -1);
  if (style->max_width > 0)
    *width = MIN (*width, style->max_width);
  *ascent = 0.8 * style->size;
  *descent = 0.2 * style->size;
}

static void
text (TnCanvas *canvas, const char *words, double x, double y, const TnTextStyle *style)
{
  TnRecorder *self = self_of (canvas);
  double width, ascent, descent;
  measure (canvas, words, style, &width, &ascent, &descent);
  double left = style->anchor == TN_ANCHOR_START ? x : style->anchor == TN_ANCHOR_MIDDLE ? x - width / 2 : x - width;
  TnRecordedLabel label = { { left, y - ascent, width, ascent + descent }, g_strdup (words) };
  g_array_append_val (self->labels, label);
  if (self->below != NULL)
    tn_canvas_rect (self->below, &(TnRect) { left, y - ascent + 2, width, ascent - 2 }, tn_color_alpha (style->color, 0.5f));
}

static void
image (TnCanvas *canvas, const TnRect *box, const uint8_t *pixels, int width, int height, int stride)
{
  TnRecorder *self = self_of (canvas);
  self->images++;
  g_free (self->pixels);
  self->pixels = g_memdup2 (pixels, (size_t) stride * height);
  self->image_width = width;
  self->image_height = height;
  self->image_rect = *box;
  if (self->below != NULL)
    tn_canvas_image (self->below, box, pixels, width, height, stride);
}

static void
push_clip (TnCanvas *canvas, const TnRect *box)
{
  if (self_of (canvas)->below != NULL)
    tn_canvas_push_clip (self_of (canvas)->below, box);
}

static void
pop_clip (TnCanvas *canvas)
{
  if (self_of (canvas)->below != NULL)
    tn_canvas_pop_clip (self_of (canvas)->below);
}

#define TABLE(vector) \
  { .rect = rect, .round_rect = round_rect, .polyline = polyline, .polygon = polygon, .text = text, .measure = measure, .image = image, \
    .push_clip = push_clip, .pop_clip = pop_clip, .is_vector = vector }
static const TnCanvasTable tables[] = { TABLE (FALSE), TABLE (TRUE) };

static void
label_clear (gpointer data)
{
  g_free (((TnRecordedLabel *) data)->text);
}

TnRecorder *
tn_recorder_new (TnCanvas *below, double scale, gboolean is_vector)
{
  TnRecorder *self = g_new0 (TnRecorder, 1);
  self->canvas.table = &tables[is_vector];
  self->canvas.scale = scale;
  self->below = below;
  self->labels = g_array_new (FALSE, FALSE, sizeof (TnRecordedLabel));
  g_array_set_clear_func (self->labels, label_clear);
  self->points = g_array_new (FALSE, FALSE, sizeof (TnPoint));
  self->rects = g_array_new (FALSE, FALSE, sizeof (TnRect));
  return self;
}

void
tn_recorder_free (TnRecorder *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->labels);
  g_array_unref (self->points);
  g_array_unref (self->rects);
  g_free (self->pixels);
  g_free (self);
}
