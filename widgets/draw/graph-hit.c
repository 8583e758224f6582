/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-picture.h"
#include <math.h>

#define TAG_WIDTH 21
#define TAG_HEIGHT 15
#define MAX_TAGS 2

/* ---- transform ---- */

TnGraphTransform
tn_graph_transform_fit (const TnGraphLayout *layout, double width, double height, double most)
{
  double margin = 24;
  double scale = MIN ((width - 2 * margin) / MAX (layout->width, 1), (height - 2 * margin) / MAX (layout->height, 1));
  scale = CLAMP (MIN (scale, most), TN_GRAPH_MIN_SCALE, TN_GRAPH_MAX_SCALE);
  return (TnGraphTransform){ (layout->width - width / scale) / 2, (layout->height - height / scale) / 2, scale };
}

void
tn_graph_transform_zoom (TnGraphTransform *self, double factor, double x, double y)
{
  TnPoint at = tn_graph_from_view (self, x, y);
  self->scale = CLAMP (self->scale * factor, TN_GRAPH_MIN_SCALE, TN_GRAPH_MAX_SCALE);
  self->x = at.x - x / self->scale;
  self->y = at.y - y / self->scale;
}

void
tn_graph_transform_limit (TnGraphTransform *self, const TnGraphLayout *layout, double width, double height)
{
  double w = width / self->scale, h = height / self->scale, keep = 60 / self->scale;
  self->x = CLAMP (self->x, MIN (keep - w, 0), MAX (layout->width - keep, keep - w));
  self->y = CLAMP (self->y, MIN (keep - h, 0), MAX (layout->height - keep, keep - h));
}

/* ---- places of small things ---- */

int
tn_graph_picture_tags (const TnGraphCut *cut, int box, int *numbers, int max, int *n_all)
{
  int n = 0;
  for (int e = 0; e < cut->n_edges; e++)
    {
      const TnGraphEdge *edge = &cut->edges[e];
      if (edge->kind != TN_EDGE_TUNNEL || (edge->from != box && edge->to != box))
        continue;
      gboolean known = FALSE;
      for (int k = 0; k < MIN (n, max) && !known; k++)
        known = numbers[k] == edge->number;
      if (known)
        continue;
      if (n < max)
        numbers[n] = edge->number;
      n++;
    }
  if (n_all != NULL)
    *n_all = n;
  return MIN (n, max);
}

gboolean
tn_graph_picture_tag_is_source (const TnGraphCut *cut, int box, int number)
{
  for (int e = 0; e < cut->n_edges; e++)
    if (cut->edges[e].kind == TN_EDGE_TUNNEL && cut->edges[e].number == number)
      return cut->edges[e].from == box;
  return FALSE;
}

/* Sources have theirs at the right, or below where the graph runs to the right; ends at the left, or above. */
TnRect
tn_graph_picture_tag_rect (const TnGraphPicture *self, int box, int k, gboolean is_source)
{
  const TnRect *at = &self->layout->boxes[box];
  if (self->cut->show.to_right)
    return (TnRect){ at->x + k * (TAG_WIDTH + 2), is_source ? at->y + at->height + 2 : at->y - TAG_HEIGHT - 2, TAG_WIDTH, TAG_HEIGHT };
  return (TnRect){ is_source ? at->x + at->width + 3 : at->x - TAG_WIDTH - 3, at->y + 3 + k * (TAG_HEIGHT + 3), TAG_WIDTH, TAG_HEIGHT };
}

TnRect
tn_graph_picture_box_expander (const TnRect *box)
{
  return (TnRect){ box->x + box->width - 19, box->y + 3, 16, 16 };
}

TnRect
tn_graph_picture_frame_expander (const TnRect *frame)
{
  return (TnRect){ frame->x + frame->width - 22, frame->y + 4, 16, 16 };
}

static gboolean
contains (const TnRect *rect, TnPoint p)
{
  return p.x >= rect->x && p.x < rect->x + rect->width && p.y >= rect->y && p.y < rect->y + rect->height;
}

/* ---- hit ---- */

static double
distance_to_line (TnPoint p, TnPoint a, TnPoint b)
{
  double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  double t = length > 0 ? CLAMP (((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0, 1) : 0;
  return hypot (p.x - a.x - t * dx, p.y - a.y - t * dy);
}

static int
edge_at (const TnGraphPicture *self, TnPoint p, double reach)
{
  int best = -1;
  for (int e = 0; e < self->layout->n_edges; e++)
    for (int k = self->layout->first_point[e]; k + 1 < self->layout->first_point[e + 1]; k++)
      {
        double distance = distance_to_line (p, self->layout->points[k], self->layout->points[k + 1]);
        if (distance < reach)
          {
            reach = distance;
            best = e;
          }
      }
  return best;
}

static gboolean
hit_tag (const TnGraphPicture *self, TnPoint p, TnGraphHit *hit)
{
  for (int e = 0; e < self->cut->n_edges; e++)
    {
      const TnGraphEdge *edge = &self->cut->edges[e];
      if (edge->kind != TN_EDGE_TUNNEL)
        continue;
      for (int end = 0; end < 2; end++)
        {
          int box = end == 0 ? edge->from : edge->to, numbers[MAX_TAGS], n = tn_graph_picture_tags (self->cut, box, numbers, MAX_TAGS, NULL);
          for (int k = 0; k < n; k++)
            {
              TnRect rect = tn_graph_picture_tag_rect (self, box, k, tn_graph_picture_tag_is_source (self->cut, box, numbers[k]));
              if (contains (&rect, p))
                {
                  *hit = (TnGraphHit){ TN_HIT_TAG, box, -1, -1, numbers[k] };
                  return TRUE;
                }
            }
        }
    }
  return FALSE;
}

TnGraphHit
tn_graph_picture_hit (const TnGraphPicture *self, const TnGraphTransform *transform, double x, double y)
{
  TnPoint p = tn_graph_from_view (transform, x, y);
  TnGraphHit hit = { TN_HIT_NOTHING, -1, -1, -1, 0 };
  for (int b = 0; b < self->layout->n_boxes; b++)
    if (contains (&self->layout->boxes[b], p))
      {
        TnRect expander = tn_graph_picture_box_expander (&self->layout->boxes[b]);
        gboolean opens = self->cut->boxes[b].can_open && transform->scale >= 0.25 && contains (&expander, p);
        return (TnGraphHit){ opens ? TN_HIT_EXPANDER : TN_HIT_BOX, b, -1, -1, 0 };
      }
  if (transform->scale >= 0.25 && hit_tag (self, p, &hit))
    return hit;
  int edge = transform->scale >= 0.1 ? edge_at (self, p, 4 / transform->scale) : -1;
  if (edge >= 0)
    return (TnGraphHit){ TN_HIT_EDGE, -1, -1, edge, 0 };
  for (int f = self->layout->n_frames - 1; f >= 0; f--) /* the innermost comes last */
    if (contains (&self->layout->frames[f], p))
      {
        TnRect expander = tn_graph_picture_frame_expander (&self->layout->frames[f]);
        return (TnGraphHit){ contains (&expander, p) ? TN_HIT_EXPANDER : TN_HIT_FRAME, -1, f, -1, 0 };
      }
  return hit;
}

GArray *
tn_graph_picture_boxes_in (const TnGraphPicture *self, const TnGraphTransform *transform, const TnRect *rect)
{
  GArray *boxes = g_array_new (FALSE, FALSE, sizeof (int));
  TnPoint a = tn_graph_from_view (transform, rect->x, rect->y), b = tn_graph_from_view (transform, rect->x + rect->width, rect->y + rect->height);
  for (int i = 0; i < self->layout->n_boxes; i++)
    {
      const TnRect *box = &self->layout->boxes[i];
      if (box->x >= a.x && box->y >= a.y && box->x + box->width <= b.x && box->y + box->height <= b.y)
        g_array_append_val (boxes, i);
    }
  return boxes;
}

TnPoint
tn_graph_picture_minimap_point (const TnGraphPicture *self, const TnRect *area, double x, double y)
{
  double scale = MIN (area->width / MAX (self->layout->width, 1), area->height / MAX (self->layout->height, 1));
  double left = area->x + (area->width - self->layout->width * scale) / 2, top = area->y + (area->height - self->layout->height * scale) / 2;
  return (TnPoint){ (x - left) / scale, (y - top) / scale };
}
