/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-picture.h"
#include "base/error.h"
#include <math.h>
#include <string.h>

#define MAX_LABELS 250
#define MAX_NODES 7600
#define MAX_POINTS 400 /* of one drawn edge */
#define CORNER 9       /* radius of a bent edge, in the layout */
#define MAX_TAGS 2

typedef struct
{
  const TnGraphPicture *picture;
  TnCanvas *canvas;
  const TnPalette *palette;
  TnGraphTransform t;
  double width, height;
  unsigned first_node, first_label;
  gboolean text, details;
} Drawing;

static TnColor
blend (TnColor a, TnColor b, double t)
{
  return (TnColor){ (float) (a.red + (b.red - a.red) * t), (float) (a.green + (b.green - a.green) * t), (float) (a.blue + (b.blue - a.blue) * t),
                    (float) (a.alpha + (b.alpha - a.alpha) * t) };
}

static TnRect
to_view (const Drawing *d, const TnRect *r)
{
  return (TnRect){ (r->x - d->t.x) * d->t.scale, (r->y - d->t.y) * d->t.scale, r->width * d->t.scale, r->height * d->t.scale };
}

static gboolean
is_visible (const Drawing *d, const TnRect *r, double margin)
{
  return r->x < d->width + margin && r->y < d->height + margin && r->x + r->width > -margin && r->y + r->height > -margin;
}

static gboolean
has_room (const Drawing *d, unsigned nodes)
{
  return d->picture->unlimited || d->canvas->nodes - d->first_node + nodes <= MAX_NODES;
}

static void
draw_text (Drawing *d, const char *text, double x, double y, double size, TnColor color, TnAnchor anchor, gboolean bold, double max_width)
{
  double pixels = size * d->t.scale;
  if (text[0] == '\0' || pixels < 2.6 || max_width < 6 || (!d->picture->unlimited && d->canvas->labels - d->first_label >= MAX_LABELS))
    return;
  tn_canvas_text (d->canvas, text, x, y, &(TnTextStyle){ .size = pixels, .color = color, .anchor = anchor, .bold = bold, .max_width = max_width });
}

/* ---- colours ---- */

static TnColor
side_color (const TnPalette *palette, TnGraphSide side)
{
  return side == TN_SIDE_FORWARD ? palette->forward : side == TN_SIDE_BACKWARD ? palette->backward : palette->optimizer;
}

static TnColor
box_color (const Drawing *d, const TnGraphBox *box)
{
  const TnGraphItem *item = box->item >= 0 ? &d->picture->cut->document->items[box->item] : NULL;
  if (box->is_input)
    return d->palette->data;
  if (box->kind == TN_BOX_TAG || box->kind == TN_BOX_BUNDLE)
    return d->palette->dim_text;
  if (item != NULL && item->phase == TN_PHASE_COMMUNICATION)
    return d->palette->communication;
  return side_color (d->palette, box->side);
}

static guint8
marks_of (const Drawing *d, int box)
{
  return d->picture->marks != NULL ? d->picture->marks[box] : 0;
}

static gboolean
is_dimmed (const Drawing *d, int box)
{
  return d->picture->any_lit && !(marks_of (d, box) & (TN_MARK_LIT | TN_MARK_SELECTED));
}

/* ---- columns and frames ---- */

static void
draw_columns (Drawing *d)
{
  const char *titles[] = { _ ("Forward"), _ ("Backward"), _ ("Optimizer") };
  if (!d->picture->cut->has_columns)
    return;
  for (int k = 0; k < 3; k++)
    {
      const TnRect *column = &d->picture->layout->columns[k];
      if (column->width <= 0)
        continue;
      TnRect r = to_view (d, column);
      if (!is_visible (d, &r, 0))
        continue;
      TnColor color = side_color (d->palette, k), fill = blend (d->palette->background, color, 0.035);
      if (!d->palette->high_contrast)
        tn_canvas_round_rect (d->canvas, &r, 12 * d->t.scale, &fill, NULL);
      double size = MAX (13, 9 / d->t.scale);
      draw_text (d, titles[k], r.x + 14 * d->t.scale, r.y + 20 * d->t.scale, size, blend (d->palette->text, color, 0.6), TN_ANCHOR_START, TRUE,
                 r.width - 20 * d->t.scale);
    }
}

/* A plus or a minus in a small square. */
static void
draw_expander (Drawing *d, TnRect rect, gboolean plus, TnColor color)
{
  TnRect r = to_view (d, &rect);
  if (r.width < 7)
    return;
  double inset = r.width * 0.3, cx = r.x + r.width / 2, cy = r.y + r.height / 2;
  TnStroke stroke = { .width = MAX (1, 1.4 * d->t.scale), .color = color };
  tn_canvas_line (d->canvas, r.x + inset, cy, r.x + r.width - inset, cy, &stroke);
  if (plus)
    tn_canvas_line (d->canvas, cx, r.y + inset, cx, r.y + r.height - inset, &stroke);
}

static void
draw_frames (Drawing *d)
{
  for (int f = 0; f < d->picture->layout->n_frames; f++)
    {
      const TnGraphFrame *frame = &d->picture->cut->frames[f];
      TnRect r = to_view (d, &d->picture->layout->frames[f]);
      if (!is_visible (d, &r, 2) || !has_room (d, 4))
        continue;
      TnColor color = side_color (d->palette, frame->side), fill = blend (d->palette->background, color, d->palette->high_contrast ? 0 : 0.07);
      TnColor border = d->palette->high_contrast ? d->palette->border : blend (d->palette->background, color, 0.38);
      tn_canvas_round_rect (d->canvas, &r, 8 * d->t.scale, &fill, &(TnStroke){ .width = MAX (d->palette->line_width * 0.7, 1), .color = border });
      if (d->t.scale < 0.1)
        continue;
      double size = d->t.scale < 0.25 ? MIN (9 / d->t.scale, 30) : 12;
      draw_text (d, frame->title, r.x + 10 * d->t.scale, r.y + (5 + size * 0.95) * d->t.scale, size, blend (d->palette->text, color, 0.35), TN_ANCHOR_START, TRUE,
                 r.width - 36 * d->t.scale);
      if (d->text)
        draw_expander (d, tn_graph_picture_frame_expander (&d->picture->layout->frames[f]), FALSE, d->palette->dim_text);
    }
}

/* ---- edges ---- */

static void
add_point (TnPoint *points, int *n, double x, double y)
{
  if (*n < MAX_POINTS)
    points[(*n)++] = (TnPoint){ x, y };
}

/* Corners become arcs, so that one can follow a line with the eye. */
static int
round_corners (const Drawing *d, const TnPoint *from, int n, TnPoint *out)
{
  int count = 0;
  for (int i = 0; i < n; i++)
    {
      TnPoint p = tn_graph_to_view (&d->t, from[i].x, from[i].y);
      if (i == 0 || i == n - 1 || d->t.scale < 0.3)
        {
          add_point (out, &count, p.x, p.y);
          continue;
        }
      TnPoint a = tn_graph_to_view (&d->t, from[i - 1].x, from[i - 1].y), b = tn_graph_to_view (&d->t, from[i + 1].x, from[i + 1].y);
      double la = hypot (p.x - a.x, p.y - a.y), lb = hypot (b.x - p.x, b.y - p.y);
      double r = MIN (CORNER * d->t.scale, MIN (la, lb) / 2);
      if (la < 0.1 || lb < 0.1)
        continue;
      TnPoint s = { p.x + (a.x - p.x) * r / la, p.y + (a.y - p.y) * r / la }, e = { p.x + (b.x - p.x) * r / lb, p.y + (b.y - p.y) * r / lb };
      for (int k = 0; k <= 4; k++)
        {
          double t = k / 4.0, u = 1 - t;
          add_point (out, &count, u * u * s.x + 2 * u * t * p.x + t * t * e.x, u * u * s.y + 2 * u * t * p.y + t * t * e.y);
        }
    }
  return count;
}

/* 1 to 4 pixels by the logarithm of what flows: 1 KiB is 1, 1 GiB is 4. */
static double
edge_width (double bytes)
{
  return bytes > 0 ? CLAMP (1 + (log2 (bytes) - 10) * 3 / 20, 1, 4) : 1;
}

static TnColor
edge_color (const Drawing *d, const TnGraphEdge *edge)
{
  const TnPalette *p = d->palette;
  TnColor color = blend (p->background, p->dim_text, p->high_contrast ? 1 : 0.72);
  if (edge->kind == TN_EDGE_COMMUNICATION)
    color = p->communication;
  else if (edge->kind == TN_EDGE_GRADIENT)
    color = blend (p->background, p->optimizer, 0.55);
  else if (edge->kind == TN_EDGE_TURN)
    color = blend (p->background, p->backward, 0.75);
  if (d->picture->any_lit && (is_dimmed (d, edge->from) || is_dimmed (d, edge->to)))
    color = blend (p->background, color, 0.22);
  else if (d->picture->any_lit || (marks_of (d, edge->from) & TN_MARK_SELECTED) || (marks_of (d, edge->to) & TN_MARK_SELECTED))
    color = p->accent;
  return color;
}

static void
draw_arrow (Drawing *d, TnPoint before, TnPoint end, TnColor color, double width)
{
  double dx = end.x - before.x, dy = end.y - before.y, length = hypot (dx, dy), size = (5 + width) * MAX (d->t.scale, 0.4);
  if (length < 0.5)
    return;
  dx /= length;
  dy /= length;
  TnPoint triangle[] = { end,
                         { end.x - dx * size - dy * size * 0.5, end.y - dy * size + dx * size * 0.5 },
                         { end.x - dx * size + dy * size * 0.5, end.y - dy * size - dx * size * 0.5 } };
  tn_canvas_polygon (d->canvas, triangle, 3, color);
}

static gboolean
edge_is_visible (const Drawing *d, int e)
{
  double x0 = G_MAXDOUBLE, y0 = G_MAXDOUBLE, x1 = -G_MAXDOUBLE, y1 = -G_MAXDOUBLE;
  for (int k = d->picture->layout->first_point[e]; k < d->picture->layout->first_point[e + 1]; k++)
    {
      TnPoint p = tn_graph_to_view (&d->t, d->picture->layout->points[k].x, d->picture->layout->points[k].y);
      x0 = MIN (x0, p.x);
      y0 = MIN (y0, p.y);
      x1 = MAX (x1, p.x);
      y1 = MAX (y1, p.y);
    }
  return x0 < d->width + 8 && y0 < d->height + 8 && x1 > -8 && y1 > -8;
}

static void
draw_edge (Drawing *d, int e)
{
  const TnGraphEdge *edge = &d->picture->cut->edges[e];
  int first = d->picture->layout->first_point[e], n = d->picture->layout->first_point[e + 1] - first;
  if (n < 2 || !edge_is_visible (d, e) || !has_room (d, 3))
    return;
  static const double dash[] = { 4, 3 };
  TnPoint points[MAX_POINTS];
  TnColor color = edge_color (d, edge);
  double width = edge_width (edge->bytes) * (d->palette->high_contrast ? 1.5 : 1) * CLAMP (d->t.scale, 0.5, 1.3);
  int count = round_corners (d, &d->picture->layout->points[first], n, points);
  TnStroke stroke = { .width = width, .color = color };
  if (edge->kind == TN_EDGE_CONTROL)
    {
      stroke.dash = dash;
      stroke.n_dash = 2;
      stroke.width = 1;
    }
  if (edge->kind == TN_EDGE_COMMUNICATION)
    {
      /* Two lines: a wide one with a narrow one of the background on it. */
      tn_canvas_polyline (d->canvas, points, (size_t) count, &(TnStroke){ .width = width + 3, .color = color });
      stroke = (TnStroke){ .width = MAX (width - 0.5, 1), .color = d->palette->background };
    }
  tn_canvas_polyline (d->canvas, points, (size_t) count, &stroke);
  if (d->t.scale >= 0.2 && count >= 2)
    draw_arrow (d, points[count - 2], points[count - 1], color, width);
}

/* ---- boxes ---- */

static double
largest_value (const TnGraphPicture *picture)
{
  double most = 0;
  for (int b = 0; picture->values != NULL && b < picture->cut->n_boxes; b++)
    if (isfinite (picture->values[b].value))
      most = MAX (most, picture->values[b].value);
  return most;
}

static TnColor
word_color (const TnPalette *palette, const char *word)
{
  return palette->series[g_str_hash (word) % TN_PALETTE_N_SERIES];
}

static TnColor
fill_of (const Drawing *d, int b, double most)
{
  const TnGraphBox *box = &d->picture->cut->boxes[b];
  TnColor base = d->palette->high_contrast ? d->palette->box : blend (d->palette->background, box_color (d, box), 0.1);
  if (d->picture->values == NULL || box->kind > TN_BOX_SCOPE)
    return base;
  TnBoxValue value = d->picture->values[b];
  if (value.word != NULL)
    return blend (d->palette->background, word_color (d->palette, value.word), 0.3);
  if (!isfinite (value.value) || most <= 0)
    return d->palette->background;
  return blend (d->palette->background, d->palette->series[1], 0.06 + 0.5 * value.value / most);
}

static TnChange
change_of (const Drawing *d, int b)
{
  TnChange found = TN_CHANGE_NONE;
  if (d->picture->changes == NULL)
    return found;
  const TnGraphBox *box = &d->picture->cut->boxes[b];
  if (box->kind == TN_BOX_ITEM && box->n_folded == 1 && box->item >= 0)
    return d->picture->changes[box->item];
  for (int i = 0; i < d->picture->cut->document->n_items; i++)
    if (d->picture->cut->box_of_item[i] == b && d->picture->changes[i] != TN_CHANGE_NONE)
      found = found == TN_CHANGE_NONE || found == (TnChange) d->picture->changes[i] ? (TnChange) d->picture->changes[i] : TN_CHANGE_CHANGED;
  return found;
}

static char *
second_line (const Drawing *d, int b)
{
  const TnGraphBox *box = &d->picture->cut->boxes[b];
  if (d->picture->values != NULL && d->picture->overlay != NULL)
    return tn_graph_overlay_text (d->picture->overlay, d->picture->values[b]);
  g_autoptr (GString) text = g_string_new (box->type);
  if (box->n_ops > 1)
    g_string_append_printf (text, g_dngettext ("tenon", "%s%d op", "%s%d ops", (gulong) box->n_ops), text->len > 0 ? " · " : "", box->n_ops);
  if (box->n_parameters > 0 && !d->picture->cut->show.parameters)
    g_string_append_printf (text, g_dngettext ("tenon", "%s%d param", "%s%d params", (gulong) box->n_parameters), text->len > 0 ? " · " : "", box->n_parameters);
  return g_strdup (text->str);
}

static void
draw_box_text (Drawing *d, int b, const TnRect *r, TnColor ink, TnColor dim)
{
  const TnGraphBox *box = &d->picture->cut->boxes[b];
  double s = d->t.scale, left = r->x + 11 * s, room = r->width - (box->can_open ? 32 : 18) * s;
  if (box->kind > TN_BOX_SCOPE)
    {
      draw_text (d, box->title, r->x + r->width / 2, r->y + 14 * s, 11, dim, TN_ANCHOR_MIDDLE, FALSE, r->width - 8 * s);
      return;
    }
  double shape = d->details && box->shape[0] != '\0' ? tn_graph_text_width (box->shape, 10.5, FALSE) * s : 0;
  double title = tn_graph_text_width (box->title, 12, TRUE) * s;
  g_autofree char *times = box->n_folded > 1 ? g_strdup_printf ("×%d", box->n_folded) : NULL;
  double times_width = times != NULL ? 32 * s : 0;
  /* The title comes first; a shape that has no room beside it is left to the inspector. */
  gboolean both = title + times_width + shape + 8 * s <= room;
  g_autofree char *second = d->details ? second_line (d, b) : NULL;
  gboolean two = second != NULL && second[0] != '\0';
  double y = r->y + (two ? 17 : 24) * s;
  draw_text (d, box->title, left, y, 12, ink, TN_ANCHOR_START, TRUE, room - times_width - (both ? shape + 4 * s : 0));
  if (times != NULL)
    draw_text (d, times, left + MIN (title, room - times_width) + 6 * s, y, 12, d->palette->accent, TN_ANCHOR_START, TRUE, times_width);
  if (both && shape > 0)
    draw_text (d, box->shape, left + room, y, 10.5, dim, TN_ANCHOR_END, FALSE, shape + 4 * s);
  if (two)
    draw_text (d, second, left, r->y + 32 * s, 10.5, dim, TN_ANCHOR_START, FALSE, r->width - 18 * s);
}

static void
draw_change (Drawing *d, const TnRect *r, TnChange change)
{
  static const char *const signs[] = { "", "+", "−", "≠" };
  TnColor colors[] = { d->palette->text, d->palette->success, d->palette->error, d->palette->warning };
  TnRect badge = { r->x - 6 * d->t.scale, r->y - 6 * d->t.scale, 15 * d->t.scale, 15 * d->t.scale };
  tn_canvas_round_rect (d->canvas, &badge, badge.width / 2, &colors[change], NULL);
  draw_text (d, signs[change], badge.x + badge.width / 2, badge.y + 11.5 * d->t.scale, 11, d->palette->background, TN_ANCHOR_MIDDLE, TRUE, badge.width);
}

static void
draw_box (Drawing *d, int b, double most)
{
  const TnGraphBox *box = &d->picture->cut->boxes[b];
  TnRect r = to_view (d, &d->picture->layout->boxes[b]);
  if (!is_visible (d, &r, 4) || !has_room (d, 6))
    return;
  guint8 marks = marks_of (d, b);
  TnChange change = change_of (d, b);
  TnColor color = box_color (d, box), fill = fill_of (d, b, most), border = blend (d->palette->background, color, d->palette->high_contrast ? 1 : 0.5);
  TnColor ink = d->palette->text, dim = d->palette->dim_text;
  double s = d->t.scale, line = d->palette->high_contrast ? 2 : 1, radius = (box->is_input ? 14 : box->kind > TN_BOX_SCOPE ? 9 : 5) * s;
  static const double dash[] = { 3, 3 };
  if (change == TN_CHANGE_REMOVED)
    fill = d->palette->background;
  if (is_dimmed (d, b))
    {
      fill = blend (d->palette->background, fill, 0.35);
      border = blend (d->palette->background, border, 0.35);
      color = blend (d->palette->background, color, 0.35);
      ink = blend (d->palette->background, ink, 0.4);
      dim = blend (d->palette->background, dim, 0.4);
    }
  if (marks & (TN_MARK_SELECTED | TN_MARK_FOUND | TN_MARK_GUILTY))
    {
      border = marks & TN_MARK_GUILTY ? d->palette->error : marks & TN_MARK_SELECTED ? d->palette->selection : d->palette->warning;
      line = 2.5;
    }
  if ((box->can_open || box->n_folded > 1) && s >= 0.25)
    {
      /* A second card behind says that there is more inside. */
      TnRect behind = { r.x + 3 * s, r.y + 3 * s, r.width, r.height };
      tn_canvas_round_rect (d->canvas, &behind, radius, &fill, &(TnStroke){ .width = 1, .color = border });
    }
  TnStroke stroke = { .width = line, .color = border };
  if (box->kind == TN_BOX_TAG || box->kind == TN_BOX_BUNDLE || change == TN_CHANGE_REMOVED)
    {
      stroke.dash = dash;
      stroke.n_dash = 2;
    }
  tn_canvas_round_rect (d->canvas, &r, radius, &fill, &stroke);
  if (box->kind <= TN_BOX_SCOPE && s >= 0.25 && !box->is_input)
    tn_canvas_rect (d->canvas, &(TnRect){ r.x + 1, r.y + 5 * s, 3.5 * s, r.height - 10 * s }, color);
  if (marks & TN_MARK_CURSOR)
    {
      TnRect around = { r.x - 4, r.y - 4, r.width + 8, r.height + 8 };
      tn_canvas_round_rect (d->canvas, &around, radius + 4, NULL, &(TnStroke){ .width = 2, .color = d->palette->accent });
    }
  if (d->text)
    draw_box_text (d, b, &r, ink, dim);
  if (box->can_open && d->text)
    draw_expander (d, tn_graph_picture_box_expander (&d->picture->layout->boxes[b]), TRUE, dim);
  if (change != TN_CHANGE_NONE && s >= 0.25)
    draw_change (d, &r, change);
}

/* ---- tags of tunnels ---- */

static void
draw_tags (Drawing *d, int b)
{
  int numbers[MAX_TAGS], all = 0, n = tn_graph_picture_tags (d->picture->cut, b, numbers, MAX_TAGS, &all);
  for (int k = 0; k < n; k++)
    {
      gboolean source = tn_graph_picture_tag_is_source (d->picture->cut, b, numbers[k]);
      TnRect rect = tn_graph_picture_tag_rect (d->picture, b, k, source), r = to_view (d, &rect);
      if (!is_visible (d, &r, 0) || !has_room (d, 1))
        continue;
      TnColor color = source ? d->palette->forward : d->palette->backward, fill = blend (d->palette->background, color, 0.16);
      if (is_dimmed (d, b))
        fill = blend (d->palette->background, fill, 0.4);
      tn_canvas_round_rect (d->canvas, &r, r.height / 2, &fill, NULL);
      gboolean more = k == MAX_TAGS - 1 && all > MAX_TAGS;
      g_autofree char *text = more ? g_strdup_printf ("+%d", all - MAX_TAGS + 1) : g_strdup_printf ("%d", numbers[k]);
      draw_text (d, text, r.x + r.width / 2, r.y + 11 * d->t.scale, 9.5, color, TN_ANCHOR_MIDDLE, TRUE, r.width);
    }
}

/* ---- everything ---- */

static int
count_visible (const Drawing *d)
{
  int n = 0;
  for (int b = 0; b < d->picture->layout->n_boxes; b++)
    {
      TnRect r = to_view (d, &d->picture->layout->boxes[b]);
      n += is_visible (d, &r, 0);
    }
  return n;
}

static gboolean *
boxes_with_tags (const TnGraphCut *cut)
{
  gboolean *tagged = g_new0 (gboolean, cut->n_boxes + 1);
  for (int e = 0; e < cut->n_edges; e++)
    if (cut->edges[e].kind == TN_EDGE_TUNNEL)
      tagged[cut->edges[e].from] = tagged[cut->edges[e].to] = TRUE;
  return tagged;
}

static void
draw_legend (Drawing *d)
{
  if (d->picture->overlay == NULL)
    return;
  g_autofree char *text = tn_graph_overlay_legend (d->picture->overlay);
  double width = tn_graph_text_width (text, 11, FALSE) + 108;
  TnRect card = { 10, d->height - 38, MIN (width, d->width - 20), 28 };
  TnColor fill = d->palette->box;
  tn_canvas_round_rect (d->canvas, &card, 6, &fill, &(TnStroke){ .width = 1, .color = d->palette->border });
  if (d->picture->overlay->kind != TN_OVERLAY_DTYPE)
    for (int k = 0; k < 8; k++)
      tn_canvas_rect (d->canvas, &(TnRect){ card.x + 10 + k * 9, card.y + 9, 9, 10 }, blend (d->palette->background, d->palette->series[1], 0.06 + 0.5 * k / 7));
  tn_canvas_text (d->canvas, text, card.x + 92, card.y + 18, &(TnTextStyle){ .size = 11, .color = d->palette->text, .max_width = card.width - 100 });
}

void
tn_graph_picture_draw (const TnGraphPicture *self, TnCanvas *canvas, const TnPalette *palette, const TnGraphTransform *transform, double width, double height)
{
  Drawing d = { .picture = self, .canvas = canvas, .palette = palette, .t = *transform, .width = width, .height = height,
                .first_node = canvas->nodes, .first_label = canvas->labels };
  int visible = count_visible (&d);
  d.text = transform->scale >= 0.25;
  /* Three labels a box while they fit into the budget; then the name alone. */
  d.details = d.text && (self->unlimited || visible * 3 <= MAX_LABELS);
  tn_canvas_push_clip (canvas, &(TnRect){ 0, 0, width, height });
  draw_columns (&d);
  draw_frames (&d);
  double most = largest_value (self);
  if (transform->scale >= 0.1)
    for (int e = 0; e < self->layout->n_edges; e++)
      draw_edge (&d, e);
  g_autofree gboolean *tagged = boxes_with_tags (self->cut);
  for (int b = 0; b < self->layout->n_boxes; b++)
    if (transform->scale >= 0.1 || self->cut->boxes[b].can_open || self->layout->n_frames == 0)
      draw_box (&d, b, most);
  for (int b = 0; b < self->layout->n_boxes && d.text; b++)
    if (tagged[b])
      draw_tags (&d, b);
  draw_legend (&d);
  tn_canvas_pop_clip (canvas);
}

void
tn_graph_picture_draw_minimap (const TnGraphPicture *self, TnCanvas *canvas, const TnPalette *palette, const TnGraphTransform *transform, double view_width,
                               double view_height, const TnRect *area)
{
  double scale = MIN (area->width / MAX (self->layout->width, 1), area->height / MAX (self->layout->height, 1));
  double left = area->x + (area->width - self->layout->width * scale) / 2, top = area->y + (area->height - self->layout->height * scale) / 2;
  TnColor card = palette->box;
  tn_canvas_round_rect (canvas, area, 4, &card, &(TnStroke){ .width = 1, .color = palette->border });
  tn_canvas_push_clip (canvas, area);
  for (int f = 0; f < self->layout->n_frames; f++)
    {
      const TnRect *r = &self->layout->frames[f];
      tn_canvas_rect (canvas, &(TnRect){ left + r->x * scale, top + r->y * scale, MAX (r->width * scale, 1), MAX (r->height * scale, 1) },
                      blend (palette->background, side_color (palette, self->cut->frames[f].side), 0.18));
    }
  for (int b = 0; b < self->layout->n_boxes; b++)
    {
      const TnRect *r = &self->layout->boxes[b];
      gboolean marked = self->marks != NULL && (self->marks[b] & (TN_MARK_SELECTED | TN_MARK_FOUND | TN_MARK_LIT));
      TnColor color = marked ? palette->selection : blend (palette->background, side_color (palette, self->cut->boxes[b].side), 0.6);
      tn_canvas_rect (canvas, &(TnRect){ left + r->x * scale, top + r->y * scale, MAX (r->width * scale, 1.5), MAX (r->height * scale, 1.5) }, color);
    }
  TnRect seen = { left + transform->x * scale, top + transform->y * scale, view_width / transform->scale * scale, view_height / transform->scale * scale };
  tn_canvas_round_rect (canvas, &seen, 1, NULL, &(TnStroke){ .width = 1.5, .color = palette->accent });
  tn_canvas_pop_clip (canvas);
}
