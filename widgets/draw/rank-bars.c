/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/rank-bars.h"
#include <inttypes.h>

#include <stdlib.h>
#include "base/error.h"
#include "draw/shard-style.h"

#define LEFT 66
#define RIGHT 78
#define LEGEND 24
#define STRIP 46
#define FULLEST 10

const char *
tn_rank_part_name (TnRankPart part)
{
  const char *const names[] = { _ ("parameters"), _ ("gradients"), _ ("optimizer"), _ ("activations"), _ ("buffers") };
  return names[part];
}

double
tn_rank_bytes_total (const TnRankBytes *rank)
{
  double total = 0;
  for (int i = 0; i < TN_N_RANK_PARTS; i++)
    total += rank->parts[i];
  return total;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

/* The fullest first; equal ones by place. */
static void
choose_fullest (TnRankBars *self)
{
  for (int64_t i = 0; i < self->n; i++)
    {
      double total = tn_rank_bytes_total (&self->ranks[i]);
      int at = self->n_bars;
      while (at > 0 && total > tn_rank_bytes_total (&self->ranks[self->bars[at - 1]]))
        at--;
      if (at >= FULLEST)
        continue;
      self->n_bars = MIN (self->n_bars + 1, FULLEST);
      for (int k = self->n_bars - 1; k > at; k--)
        self->bars[k] = self->bars[k - 1];
      self->bars[at] = i;
    }
}

void
tn_rank_bars_init (TnRankBars *self, const TnRankBytes *ranks, int64_t n, double limit)
{
  *self = (TnRankBars){ .ranks = ranks, .n = n, .limit = limit };
  self->bars = g_new (int64_t, TN_RANK_BARS_MAX);
  g_autofree double *totals = g_new (double, n + 1);
  for (int64_t i = 0; i < n; i++)
    totals[i] = tn_rank_bytes_total (&ranks[i]);
  qsort (totals, (size_t) n, sizeof (double), compare_doubles);
  if (n > 0)
    {
      self->least = totals[0];
      self->most = totals[n - 1];
      for (int q = 0; q < 3; q++)
        self->quartiles[q] = totals[(n - 1) * (q + 1) / 4];
    }
  if (n > TN_RANK_BARS_MAX)
    choose_fullest (self);
  else
    for (; self->n_bars < n; self->n_bars++)
      self->bars[self->n_bars] = self->n_bars;
}

void
tn_rank_bars_clear (TnRankBars *self)
{
  g_clear_pointer (&self->bars, g_free);
}

static double
top (const TnRankBars *self)
{
  return self->area.y + LEGEND + (self->n > TN_RANK_BARS_MAX ? STRIP : 0);
}

void
tn_rank_bars_place (TnRankBars *self, const TnRect *area)
{
  self->area = *area;
  double room = area->height - (top (self) - area->y);
  self->row = CLAMP (room / MAX (self->n_bars, 1), 2, 30);
}

double
tn_rank_bars_height (const TnRankBars *self)
{
  return LEGEND + (self->n > TN_RANK_BARS_MAX ? STRIP : 0) + 20.0 * self->n_bars + 4;
}

TnRect
tn_rank_bars_row (const TnRankBars *self, int bar)
{
  return (TnRect){ self->area.x, top (self) + self->row * bar, self->area.width, self->row };
}

int64_t
tn_rank_bars_hit (const TnRankBars *self, double x, double y)
{
  int bar = y >= top (self) && self->row > 0 ? (int) ((y - top (self)) / self->row) : -1;
  return bar >= 0 && bar < self->n_bars && x >= self->area.x && x < self->area.x + self->area.width ? self->bars[bar] : -1;
}

static TnColor
part_color (const TnPalette *palette, TnRankPart part)
{
  const TnColor colors[] = { palette->compute, palette->series[6], palette->optimizer, palette->data, palette->communication };
  return colors[part];
}

static void
draw_part (TnCanvas *canvas, const TnPalette *palette, const TnRect *r, TnRankPart part)
{
  static const TnHatch hatches[] = { TN_HATCH_NONE, TN_HATCH_RISING, TN_HATCH_FALLING, TN_HATCH_LEVEL, TN_HATCH_NONE };
  TnColor color = part_color (palette, part);
  tn_canvas_rect (canvas, r, tn_color_alpha (color, hatches[part] == TN_HATCH_NONE ? (part == TN_RANK_BUFFERS ? 0.45f : 0.85f) : 0.3f));
  tn_draw_hatch (canvas, r, hatches[part], 5, &(TnStroke){ 1, color, NULL, 0 });
}

static double
scale_of (const TnRankBars *self)
{
  double end = MAX (self->most, self->limit > 0 && self->limit < 4 * self->most ? self->limit : 0);
  return end > 0 ? MAX (self->area.width - LEFT - RIGHT, 1) / end : 0;
}

static void
draw_legend (const TnRankBars *self, TnCanvas *canvas, const TnPalette *palette)
{
  double x = self->area.x;
  for (int part = 0; part < TN_N_RANK_PARTS; part++)
    {
      TnTextStyle style = { .size = 11, .color = palette->dim_text };
      double width;
      tn_canvas_measure (canvas, tn_rank_part_name (part), &style, &width, NULL, NULL);
      if (x + 16 + width > self->area.x + self->area.width)
        return;
      draw_part (canvas, palette, &(TnRect){ x, self->area.y + 4, 11, 11 }, part);
      tn_canvas_text (canvas, tn_rank_part_name (part), x + 16, self->area.y + 13, &style);
      x += width + 30;
    }
}

static void
draw_strip (const TnRankBars *self, TnCanvas *canvas, const TnPalette *palette)
{
  double y = self->area.y + LEGEND + 4, scale = scale_of (self), x = self->area.x + LEFT;
  g_autofree char *least = tn_short_bytes (self->least), *middle = tn_short_bytes (self->quartiles[1]), *most = tn_short_bytes (self->most);
  g_autofree char *text = g_strdup_printf (_ ("%" PRId64 " ranks: least %s, median %s, most %s"), self->n, least, middle, most);
  tn_canvas_rect (canvas, &(TnRect){ x, y + 7, MAX (self->most * scale, 1), 2 }, palette->border);
  tn_canvas_rect (canvas, &(TnRect){ x + self->quartiles[0] * scale, y + 2, MAX ((self->quartiles[2] - self->quartiles[0]) * scale, 2), 12 }, tn_color_alpha (palette->accent, 0.4f));
  const double marks[] = { self->least, self->quartiles[1], self->most };
  for (int i = 0; i < 3; i++)
    tn_canvas_rect (canvas, &(TnRect){ x + marks[i] * scale - 1, y, 2, 16 }, palette->text);
  tn_canvas_text (canvas, text, x, y + 31, &(TnTextStyle){ .size = 11, .color = palette->text, .tabular = TRUE, .max_width = self->area.width - LEFT });
}

static void
draw_bar (const TnRankBars *self, TnCanvas *canvas, const TnPalette *palette, int bar, int64_t rank)
{
  const TnRankBytes *bytes = &self->ranks[self->bars[bar]];
  TnRect row = tn_rank_bars_row (self, bar);
  double x = row.x + LEFT, scale = scale_of (self), pad = row.height > 8 ? 3 : 0.5, total = tn_rank_bytes_total (bytes);
  gboolean over = self->limit > 0 && total > self->limit;
  for (int part = 0; part < TN_N_RANK_PARTS; part++)
    {
      double w = bytes->parts[part] * scale;
      if (w >= 0.25)
        draw_part (canvas, palette, &(TnRect){ x, row.y + pad, w, row.height - 2 * pad }, part);
      x += w;
    }
  if (rank == bytes->rank)
    tn_draw_frame (canvas, &(TnRect){ row.x + LEFT - 2, row.y + pad - 2, total * scale + 4, row.height - 2 * pad + 4 }, 2, palette->accent);
  if (row.height < 12)
    return;
  g_autofree char *name = g_strdup_printf (_ ("rank %" PRId64), bytes->rank), *size = tn_short_bytes (total);
  double y = row.y + row.height / 2 + 4;
  tn_canvas_text (canvas, name, row.x + LEFT - 8, y, &(TnTextStyle){ .size = 11, .color = palette->text, .anchor = TN_ANCHOR_END, .tabular = TRUE, .bold = rank == bytes->rank });
  tn_canvas_text (canvas, size, row.x + row.width - 4, y, &(TnTextStyle){ .size = 11, .color = over ? palette->error : palette->text, .anchor = TN_ANCHOR_END, .tabular = TRUE, .bold = over });
}

void
tn_rank_bars_draw (const TnRankBars *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank)
{
  draw_legend (self, canvas, palette);
  if (self->n > TN_RANK_BARS_MAX)
    draw_strip (self, canvas, palette);
  for (int bar = 0; bar < self->n_bars; bar++)
    {
      TnRect row = tn_rank_bars_row (self, bar);
      if (tn_rect_meets (&row, clip))
        draw_bar (self, canvas, palette, bar, rank);
    }
  double scale = scale_of (self), x = self->area.x + LEFT + self->limit * scale;
  if (self->limit > 0 && self->n_bars > 0 && x < self->area.x + self->area.width - RIGHT + 1)
    {
      static const double dash[] = { 4, 3 };
      tn_canvas_line (canvas, x, top (self) - 4, x, top (self) + self->row * self->n_bars, &(TnStroke){ 1.5, palette->error, dash, 2 });
    }
}
