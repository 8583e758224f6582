/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/canvas.h"
#include <math.h>

void
tn_canvas_rect (TnCanvas *self, const TnRect *rect, TnColor fill)
{
  self->nodes++;
  self->table->rect (self, rect, fill);
}

void
tn_canvas_round_rect (TnCanvas *self, const TnRect *rect, double radius, const TnColor *fill, const TnStroke *stroke)
{
  self->nodes++;
  self->table->round_rect (self, rect, radius, fill, stroke);
}

void
tn_canvas_polyline (TnCanvas *self, const TnPoint *points, size_t n, const TnStroke *stroke)
{
  if (n < 2)
    return;
  self->nodes++;
  self->table->polyline (self, points, n, stroke);
}

void
tn_canvas_line (TnCanvas *self, double x0, double y0, double x1, double y1, const TnStroke *stroke)
{
  tn_canvas_polyline (self, (TnPoint[]) { { x0, y0 }, { x1, y1 } }, 2, stroke);
}

void
tn_canvas_polygon (TnCanvas *self, const TnPoint *points, size_t n, TnColor fill)
{
  if (n < 3)
    return;
  self->nodes++;
  self->table->polygon (self, points, n, fill);
}

void
tn_canvas_text (TnCanvas *self, const char *text, double x, double y, const TnTextStyle *style)
{
  if (text == NULL || text[0] == '\0')
    return;
  self->labels++;
  self->table->text (self, text, x, y, style);
}

void
tn_canvas_measure (TnCanvas *self, const char *text, const TnTextStyle *style, double *width, double *ascent, double *descent)
{
  double unused;
  self->table->measure (self, text, style, width ? width : &unused, ascent ? ascent : &unused, descent ? descent : &unused);
}

void
tn_canvas_image (TnCanvas *self, const TnRect *rect, const uint8_t *pixels, int width, int height, int stride)
{
  self->nodes++;
  self->table->image (self, rect, pixels, width, height, stride);
}

void
tn_canvas_push_clip (TnCanvas *self, const TnRect *rect)
{
  self->table->push_clip (self, rect);
}

void
tn_canvas_pop_clip (TnCanvas *self)
{
  self->table->pop_clip (self);
}

double
tn_canvas_snap (const TnCanvas *self, double at, double width)
{
  double pixels = fmax (1.0, round (width * self->scale)); /* odd widths sit on the middle of a pixel */
  double half = fmod (pixels, 2) == 1 ? 0.5 : 0;
  return (floor (at * self->scale) + half) / self->scale;
}
