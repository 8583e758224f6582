/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-layout.h"
#include <math.h>
#include <string.h>

TnGraphLayout *
tn_graph_layout_ref (TnGraphLayout *self)
{
  g_atomic_int_inc (&self->refs);
  return self;
}

void
tn_graph_layout_unref (TnGraphLayout *self)
{
  if (!g_atomic_int_dec_and_test (&self->refs))
    return;
  g_free (self->boxes);
  g_free (self->frames);
  g_free (self->first_point);
  g_free (self->points);
  g_free (self);
}

static gboolean
overlap (const TnRect *a, const TnRect *b)
{
  return a->x + a->width > b->x + 0.5 && b->x + b->width > a->x + 0.5 && a->y + a->height > b->y + 0.5 && b->y + b->height > a->y + 0.5;
}

static gboolean
is_inside (const TnRect *inner, const TnRect *outer)
{
  return inner->x >= outer->x - 0.5 && inner->y >= outer->y - 0.5 && inner->x + inner->width <= outer->x + outer->width + 0.5
         && inner->y + inner->height <= outer->y + outer->height + 0.5;
}

static gboolean
is_at_edge (const TnRect *box, TnPoint p)
{
  gboolean in = p.x >= box->x - 1 && p.x <= box->x + box->width + 1 && p.y >= box->y - 1 && p.y <= box->y + box->height + 1;
  gboolean deep = p.x > box->x + 1 && p.x < box->x + box->width - 1 && p.y > box->y + 1 && p.y < box->y + box->height - 1;
  return in && !deep;
}

static gboolean
is_in_frame (const TnGraphCut *cut, int frame, int outer)
{
  for (; frame >= 0; frame = cut->frames[frame].frame)
    if (frame == outer)
      return TRUE;
  return FALSE;
}

static gboolean
say (char **reason, const char *what, int i, int k)
{
  if (reason != NULL)
    *reason = g_strdup_printf ("%s: %d and %d", what, i, k);
  return FALSE;
}

typedef struct
{
  double x;
  int box;
} Start;

static int
compare_starts (gconstpointer a, gconstpointer b)
{
  double x = ((const Start *) a)->x, y = ((const Start *) b)->x;
  return x < y ? -1 : x > y;
}

gboolean
tn_graph_layout_check (const TnGraphLayout *self, const TnGraphCut *cut, char **reason)
{
  g_autofree Start *starts = g_new (Start, self->n_boxes + 1);
  for (int b = 0; b < self->n_boxes; b++)
    {
      const TnRect *box = &self->boxes[b];
      if (!isfinite (box->x) || !isfinite (box->y))
        return say (reason, "a box is nowhere", b, b);
      starts[b] = (Start){ box->x, b };
      if (cut->boxes[b].frame >= 0 && !is_inside (box, &self->frames[cut->boxes[b].frame]))
        return say (reason, "a box leaves its frame", b, cut->boxes[b].frame);
    }
  qsort (starts, (size_t) self->n_boxes, sizeof (Start), compare_starts);
  for (int i = 0; i < self->n_boxes; i++)
    for (int k = i + 1; k < self->n_boxes && starts[k].x < self->boxes[starts[i].box].x + self->boxes[starts[i].box].width; k++)
      if (overlap (&self->boxes[starts[i].box], &self->boxes[starts[k].box]))
        return say (reason, "boxes overlap", starts[i].box, starts[k].box);
  for (int f = 0; f < self->n_frames; f++)
    {
      if (cut->frames[f].frame >= 0 && !is_inside (&self->frames[f], &self->frames[cut->frames[f].frame]))
        return say (reason, "a frame leaves its frame", f, cut->frames[f].frame);
      for (int k = 0; k < f; k++)
        if (!is_in_frame (cut, f, k) && !is_in_frame (cut, k, f) && overlap (&self->frames[f], &self->frames[k]))
          return say (reason, "frames overlap", f, k);
      for (int b = 0; b < self->n_boxes; b++)
        if (!is_in_frame (cut, cut->boxes[b].frame, f) && overlap (&self->boxes[b], &self->frames[f]))
          return say (reason, "a strange box lies in a frame", b, f);
    }
  for (int e = 0; e < self->n_edges; e++)
    {
      int first = self->first_point[e], end = self->first_point[e + 1];
      if (cut->edges[e].kind == TN_EDGE_TUNNEL)
        continue;
      if (end - first < 2)
        return say (reason, "an edge has no line", e, end - first);
      if (!is_at_edge (&self->boxes[cut->edges[e].from], self->points[first]))
        return say (reason, "an edge does not begin at its box", e, cut->edges[e].from);
      if (!is_at_edge (&self->boxes[cut->edges[e].to], self->points[end - 1]))
        return say (reason, "an edge does not end at its box", e, cut->edges[e].to);
    }
  return TRUE;
}
