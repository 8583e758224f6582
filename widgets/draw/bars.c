/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/bars.h"

#include <math.h>

#define ROW 24.0
#define MARGIN 12.0

static double
name_width (TnCanvas *canvas, const TnBar *bars, int n, const TnTextStyle *style, double limit)
{
  double widest = 0;
  for (int i = 0; i < n; i++)
    {
      double width;
      tn_canvas_measure (canvas, bars[i].name, style, &width, NULL, NULL);
      widest = MAX (widest, width);
    }
  return MIN (widest, limit);
}

int
tn_bars_draw (TnCanvas *canvas, double width, double height, const TnPalette *palette, const TnBar *bars, int n)
{
  int shown = MIN (n, (int) ((height - MARGIN) / ROW));
  if (shown <= 0)
    return 0;
  TnTextStyle style = { .size = 13, .color = palette->text, .tabular = TRUE };
  double longest = 0;
  for (int i = 0; i < n; i++)
    longest = MAX (longest, bars[i].value);
  double names = name_width (canvas, bars, shown, &style, width * 0.3);
  double left = MARGIN + names + 8, room = width - left - MARGIN - 64;
  if (longest <= 0 || room < 8)
    return 0;
  for (int i = 0; i < shown; i++)
    {
      double y = MARGIN / 2 + i * ROW, length = room * bars[i].value / longest, part = room * bars[i].part / longest;
      style.anchor = TN_ANCHOR_END;
      style.max_width = names;
      tn_canvas_text (canvas, bars[i].name, left - 8, y + 16, &style);
      tn_canvas_rect (canvas, &(TnRect) { left, y + 3, MAX (length - part, 1), ROW - 8 }, palette->series[0]);
      if (part > 0)
        tn_canvas_rect (canvas, &(TnRect) { left + length - part, y + 3, part, ROW - 8 }, tn_color_alpha (palette->series[0], 0.45f));
      char text[32];
      g_snprintf (text, sizeof text, "%'.0f", bars[i].value);
      style.anchor = TN_ANCHOR_START;
      style.max_width = 0;
      tn_canvas_text (canvas, text, left + length + 8, y + 16, &style);
    }
  return shown;
}

void
tn_histogram_draw (TnCanvas *canvas, double width, double height, const TnPalette *palette, const double *counts, int n, double low,
                   double high)
{
  double highest = 0, room = height - 2 * MARGIN - 16;
  for (int i = 0; i < n; i++)
    highest = MAX (highest, counts[i]);
  if (highest <= 0 || room < 8 || n < 1)
    return;
  double step = (width - 2 * MARGIN) / n, base = MARGIN + room;
  for (int i = 0; i < n; i++)
    {
      double length = room * counts[i] / highest;
      if (counts[i] > 0)
        tn_canvas_rect (canvas, &(TnRect) { MARGIN + i * step, base - MAX (length, 1), MAX (step - 1, 1), MAX (length, 1) }, palette->series[0]);
    }
  tn_canvas_rect (canvas, &(TnRect) { MARGIN, base, width - 2 * MARGIN, 1 }, palette->border);
  TnTextStyle style = { .size = 12, .color = palette->dim_text, .tabular = TRUE };
  char text[32];
  g_snprintf (text, sizeof text, "%.4g", low);
  tn_canvas_text (canvas, text, MARGIN, base + 16, &style);
  style.anchor = TN_ANCHOR_END;
  g_snprintf (text, sizeof text, "%.4g", high);
  tn_canvas_text (canvas, text, width - MARGIN, base + 16, &style);
  if (low < 0 && high > 0)
    {
      double zero = MARGIN + (width - 2 * MARGIN) * -low / (high - low);
      tn_canvas_rect (canvas, &(TnRect) { zero, MARGIN, 1, room }, tn_color_alpha (palette->text, 0.4f));
      style.anchor = TN_ANCHOR_MIDDLE;
      tn_canvas_text (canvas, "0", zero, base + 16, &style);
    }
}
