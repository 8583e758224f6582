/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/shard-style.h"

#include <math.h>

#define MAX_HATCH_LINES 600

TnColor
tn_rank_color (const TnPalette *palette, int64_t rank)
{
  return palette->series[MAX (rank, 0) % 8];
}

TnHatch
tn_rank_hatch (int64_t rank)
{
  return (TnHatch) (MAX (rank, 0) / 8 % TN_N_HATCHES);
}

gboolean
tn_rect_meets (const TnRect *a, const TnRect *b)
{
  return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

/* Point @at of the way along the left and upper (@first) or lower and right edges of a rectangle whose diagonals rise. */
static TnPoint
diagonal_end (const TnRect *r, double at, gboolean first, gboolean falling)
{
  double x = first ? MAX (0, at - r->height) : MIN (at, r->width), y = first ? MIN (at, r->height) : MAX (0, at - r->width);
  return (TnPoint){ falling ? r->x + r->width - x : r->x + x, r->y + y };
}

/* The lines are joined along the edge into one snake, so that a hatch is one node. */
void
tn_draw_hatch (TnCanvas *canvas, const TnRect *rect, TnHatch hatch, double step, const TnStroke *stroke)
{
  TnPoint points[2 * MAX_HATCH_LINES];
  double span = hatch == TN_HATCH_LEVEL ? rect->height : rect->width + rect->height;
  size_t n = 0;
  if (hatch == TN_HATCH_NONE || rect->width < 3 || rect->height < 3)
    return;
  step = MAX (step, span / MAX_HATCH_LINES + 1e-6);
  for (double at = step / 2; at < span && n + 2 <= G_N_ELEMENTS (points); at += step)
    {
      TnPoint a = { rect->x, rect->y + at }, b = { rect->x + rect->width, rect->y + at };
      if (hatch != TN_HATCH_LEVEL)
        {
          a = diagonal_end (rect, at, TRUE, hatch == TN_HATCH_FALLING);
          b = diagonal_end (rect, at, FALSE, hatch == TN_HATCH_FALLING);
        }
      gboolean back = n / 2 % 2 != 0;
      points[n++] = back ? b : a;
      points[n++] = back ? a : b;
    }
  if (n >= 2)
    tn_canvas_polyline (canvas, points, n, stroke);
}

void
tn_draw_frame (TnCanvas *canvas, const TnRect *rect, double width, TnColor color)
{
  double w = MIN (width, MIN (rect->width, rect->height) / 2);
  tn_canvas_rect (canvas, &(TnRect){ rect->x, rect->y, rect->width, w }, color);
  tn_canvas_rect (canvas, &(TnRect){ rect->x, rect->y + rect->height - w, rect->width, w }, color);
  tn_canvas_rect (canvas, &(TnRect){ rect->x, rect->y + w, w, rect->height - 2 * w }, color);
  tn_canvas_rect (canvas, &(TnRect){ rect->x + rect->width - w, rect->y + w, w, rect->height - 2 * w }, color);
}

char *
tn_short_bytes (double bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
  int unit = 0;
  for (; fabs (bytes) >= 1024 && unit < 5; unit++)
    bytes /= 1024;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (number, sizeof number, unit == 0 || bytes >= 100 ? "%.0f" : "%.1f", bytes);
  return g_strconcat (number, " ", units[unit], NULL);
}
