/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gi18n.h>
#include <math.h>
#include "plot-view-private.h"
#include <inttypes.h>

/* The layer above the data: crosshair, tooltip, rubber band, focus. */

#define MAX_ROWS 5
#define ROW_HEIGHT 18
#define PADDING 9
#define TEXT 11

static TnTextStyle
text_style (TnColor color, gboolean right)
{
  return (TnTextStyle) { .size = TEXT, .color = color, .anchor = right ? TN_ANCHOR_END : TN_ANCHOR_START, .tabular = TRUE };
}

typedef struct
{
  char name[64], shown[TN_TICK_LABEL], raw[TN_TICK_LABEL];
  TnColor color;
  TnMarker marker;
  gboolean error;
} Row;

typedef struct
{
  char *heading, *more, *statistics[2];
  Row rows[MAX_ROWS];
  guint n_rows;
  double name_width, shown_width, raw_width, width, height;
} Tip;

static void
tip_clear (Tip *tip)
{
  g_free (tip->heading);
  g_free (tip->more);
  g_free (tip->statistics[0]);
  g_free (tip->statistics[1]);
}

static double
width_of (TnCanvas *canvas, const char *text)
{
  const TnTextStyle style = text_style ((TnColor) { 0 }, FALSE);
  double width = 0;
  if (text != NULL && *text != '\0')
    tn_canvas_measure (canvas, text, &style, &width, NULL, NULL);
  return width;
}

static char *
heading_of (const TnPlotHit *hit)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_local (hit->time_us / G_USEC_PER_SEC);
  g_autofree char *clock = time != NULL ? g_date_time_format (time, "%H:%M:%S") : g_strdup ("");
  g_autofree char *step = g_strdup_printf ("%" PRId64, hit->step);
  /* Translators: a step of training and the time of day */
  return g_strdup_printf (_ ("step %s · %s"), step, clock);
}

static void
fill_row (TnPlotView *self, Row *row, const TnPlotHit *hit, const TnPalette *palette)
{
  gboolean smoothing = tn_plot_options (self->plot)->smoothing > 0;
  g_utf8_strncpy (row->name, hit->line->label, MIN (15, g_utf8_strlen (hit->line->label, -1)));
  if (g_utf8_strlen (hit->line->label, -1) > 15)
    g_strlcat (row->name, "…", sizeof row->name);
  tn_format_si (smoothing ? hit->smoothed : hit->raw, 4, TRUE, row->shown);
  if (smoothing)
    tn_format_si (hit->raw, 4, TRUE, row->raw);
  row->color = tn_plot_line_color (hit->line, palette);
  row->marker = hit->line->marker;
  row->error = !isfinite (hit->raw);
}

/* Of a selected range: how far, how much, how steep. */
static void
fill_statistics (TnPlotView *self, Tip *tip, const TnPlotLine *line)
{
  int64_t begin, end;
  TnPlotStatistics sum;
  char delta[TN_TICK_LABEL], slope[TN_TICK_LABEL], mean[TN_TICK_LABEL], deviation[TN_TICK_LABEL];
  if (!tn_plot_selection (self->plot, &begin, &end) || begin == end)
    return;
  tn_plot_statistics (line, begin, end, &sum);
  g_autofree char *steps = g_strdup_printf ("%" PRId64, end - begin);
  tip->statistics[0] = g_strdup_printf (_ ("%s steps · Δ %s · %s per step"), steps, tn_format_si (sum.delta, 3, TRUE, delta),
                                        tn_format_si (sum.slope, 3, TRUE, slope));
  /* Translators: mean and standard deviation */
  tip->statistics[1] = g_strdup_printf (_ ("mean %s ± %s"), tn_format_si (sum.mean, 4, TRUE, mean), tn_format_si (sum.deviation, 3, TRUE, deviation));
}

static gboolean
tip_init (Tip *tip, TnPlotView *self, TnCanvas *canvas, const TnPalette *palette)
{
  *tip = (Tip) { 0 };
  g_autoptr (GArray) hits = tn_plot_hits (self->plot, self->pointer_x, self->pointer_y);
  if (hits->len == 0)
    return FALSE;
  tip->n_rows = MIN (hits->len, MAX_ROWS);
  tip->heading = heading_of (&g_array_index (hits, TnPlotHit, 0));
  if (hits->len > MAX_ROWS)
    tip->more = g_strdup_printf (ngettext ("and %u more", "and %u more", hits->len - MAX_ROWS), hits->len - MAX_ROWS);
  for (guint i = 0; i < tip->n_rows; i++)
    {
      Row *row = &tip->rows[i];
      fill_row (self, row, &g_array_index (hits, TnPlotHit, i), palette);
      tip->name_width = fmax (tip->name_width, width_of (canvas, row->name));
      tip->shown_width = fmax (tip->shown_width, width_of (canvas, row->shown));
      tip->raw_width = fmax (tip->raw_width, width_of (canvas, row->raw));
    }
  fill_statistics (self, tip, g_array_index (hits, TnPlotHit, 0).line);
  double row_width = 18 + tip->name_width + 18 + tip->shown_width + (tip->raw_width > 0 ? 14 + tip->raw_width : 0);
  tip->width = fmax (fmax (row_width, width_of (canvas, tip->heading)), width_of (canvas, tip->more));
  int lines = 1 + tip->n_rows + (tip->more != NULL);
  for (int i = 0; i < 2 && tip->statistics[i] != NULL; i++, lines++)
    tip->width = fmax (tip->width, width_of (canvas, tip->statistics[i]));
  tip->width += 2 * PADDING;
  tip->height = lines * ROW_HEIGHT + 2 * PADDING - 4;
  return TRUE;
}

/* Beside the pointer, never on it. */
static TnRect
place_tip (const Tip *tip, double x, double y, double width, double height)
{
  double left = x + 16 + tip->width <= width ? x + 16 : x - 16 - tip->width;
  double top = CLAMP (y - tip->height / 2, 2, fmax (2, height - tip->height - 2));
  return (TnRect) { fmax (2, left), top, tip->width, tip->height };
}

static void
draw_tip (TnPlotView *self, TnCanvas *canvas, double width, double height, const TnPalette *palette)
{
  Tip tip;
  if (!tip_init (&tip, self, canvas, palette))
    return;
  TnRect box = place_tip (&tip, self->pointer_x, self->pointer_y, width, height);
  TnColor fill = tn_color_alpha (palette->box, palette->high_contrast ? 1 : 0.96f);
  TnStroke edge = { .width = palette->high_contrast ? 2 : 1, .color = palette->border };
  const TnTextStyle dim = text_style (palette->dim_text, FALSE), plain = text_style (palette->text, FALSE);
  tn_canvas_round_rect (canvas, &box, 8, &fill, &edge);
  double x = box.x + PADDING, right = box.x + box.width - PADDING, y = box.y + PADDING + 9;
  tn_canvas_text (canvas, tip.heading, x, y, &dim);
  for (guint i = 0; i < tip.n_rows; i++)
    {
      const Row *row = &tip.rows[i];
      TnTextStyle value = text_style (row->error ? palette->error : palette->text, TRUE);
      TnTextStyle raw = text_style (row->error ? palette->error : palette->dim_text, TRUE);
      y += ROW_HEIGHT;
      tn_canvas_round_rect (canvas, &(TnRect) { x, y - 8, 9, 9 }, 4.5, &row->color, NULL);
      tn_canvas_text (canvas, row->name, x + 18, y, &plain);
      tn_canvas_text (canvas, row->raw, right, y, &raw);
      value.bold = i == 0;
      tn_canvas_text (canvas, row->shown, tip.raw_width > 0 ? right - tip.raw_width - 14 : right, y, &value);
    }
  const char *const after[] = { tip.more, tip.statistics[0], tip.statistics[1] };
  for (int i = 0; i < G_N_ELEMENTS (after); i++)
    if (after[i] != NULL)
      tn_canvas_text (canvas, after[i], x, y += ROW_HEIGHT, &dim);
  tip_clear (&tip);
}

static void
draw_crosshair (TnPlotView *self, TnCanvas *canvas, const TnPalette *palette)
{
  double at;
  TnRect inner = tn_plot_inner (self->plot);
  if (self->hover_step < 0 || !tn_plot_pixel_of_step (self->plot, self->hover_step, &at) || at < inner.x - 1 || at > inner.x + inner.width + 1)
    return;
  TnStroke stroke = { .width = palette->high_contrast ? 2 : 1, .color = palette->dim_text };
  double x = tn_canvas_snap (canvas, at, stroke.width);
  tn_canvas_line (canvas, x, inner.y, x, inner.y + inner.height, &stroke);
  g_autoptr (GArray) hits = tn_plot_hits (self->plot, at, self->has_pointer ? self->pointer_y : inner.y);
  for (guint i = 0; i < MIN (hits->len, 12); i++)
    {
      const TnPlotHit *hit = &g_array_index (hits, TnPlotHit, i);
      TnColor color = tn_plot_line_color (hit->line, palette);
      TnStroke ring = { .width = 2, .color = palette->background };
      if (isfinite (hit->distance) && hit->y >= inner.y - 1 && hit->y <= inner.y + inner.height + 1 && fabs (hit->x - at) < 8)
        tn_canvas_round_rect (canvas, &(TnRect) { hit->x - 4, hit->y - 4, 8, 8 }, 4, &color, &ring);
    }
}

static void
draw_rubber_band (TnPlotView *self, TnCanvas *canvas, const TnPalette *palette)
{
  TnRect inner = tn_plot_inner (self->plot);
  double x0 = CLAMP (fmin (self->drag_x, self->pointer_x), inner.x, inner.x + inner.width);
  double x1 = CLAMP (fmax (self->drag_x, self->pointer_x), inner.x, inner.x + inner.width);
  double y0 = self->drag == TN_DRAG_BOX ? CLAMP (fmin (self->drag_y, self->pointer_y), inner.y, inner.y + inner.height) : inner.y;
  double y1 = self->drag == TN_DRAG_BOX ? CLAMP (fmax (self->drag_y, self->pointer_y), inner.y, inner.y + inner.height) : inner.y + inner.height;
  TnColor fill = tn_color_alpha (palette->selection, palette->high_contrast ? 0 : 0.16f);
  TnStroke edge = { .width = palette->high_contrast ? 2 : 1, .color = palette->selection };
  tn_canvas_round_rect (canvas, &(TnRect) { x0, y0, x1 - x0, y1 - y0 }, 2, &fill, &edge);
}

static void
draw_focus (TnPlotView *self, TnCanvas *canvas, double width, double height, const TnPalette *palette)
{
  TnStroke ring = { .width = 2, .color = tn_color_alpha (palette->selection, palette->high_contrast ? 1 : 0.6f) };
  if (gtk_widget_has_visible_focus (GTK_WIDGET (self)))
    tn_canvas_round_rect (canvas, &(TnRect) { 1, 1, width - 2, height - 2 }, 6, NULL, &ring);
}

void
tn_plot_view_draw_hover (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data)
{
  TnPlotView *self = user_data;
  draw_focus (self, canvas, width, height, palette);
  if (self->drag == TN_DRAG_SELECT || self->drag == TN_DRAG_BOX)
    draw_rubber_band (self, canvas, palette);
  draw_crosshair (self, canvas, palette);
  if (self->has_pointer && self->drag != TN_DRAG_PAN)
    draw_tip (self, canvas, width, height, palette);
}
