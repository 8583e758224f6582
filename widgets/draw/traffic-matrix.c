/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/traffic-matrix.h"
#include <inttypes.h>

#include <math.h>
#include "base/error.h"
#include "draw/shard-style.h"

#define LEFT 44
#define TOP 38
#define MAX_NUMBERS 120

/* The place that follows in the group's ring. */
static int64_t
next_in_ring (const TnMesh *mesh, uint32_t axes, int64_t place)
{
  for (int axis = mesh->n_axes - 1; axis >= 0; axis--)
    if (axes >> axis & 1)
      {
        if (tn_mesh_coordinate (mesh, place, axis) + 1 < mesh->sizes[axis])
          return place + mesh->strides[axis];
        place -= (mesh->sizes[axis] - 1) * mesh->strides[axis];
      }
  return place;
}

static void
add (TnTrafficMatrix *self, const TnMesh *mesh, int64_t from, int64_t to, double bytes)
{
  int64_t a = tn_mesh_place (self->mesh, mesh->ranks[from]), b = tn_mesh_place (self->mesh, mesh->ranks[to]);
  if (a >= 0 && b >= 0)
    self->bytes[a / self->block * self->n + b / self->block] += bytes;
}

static void
spread (TnTrafficMatrix *self, const TnTrafficLinks *links)
{
  int64_t group = tn_mesh_span (links->mesh, links->axes);
  if (group < 2)
    return;
  for (int64_t place = 0; place < links->mesh->n_ranks; place++)
    {
      int64_t to = next_in_ring (links->mesh, links->axes, place);
      if (links->kind != TN_MOVE_ALL_TO_ALL)
        add (self, links->mesh, place, to, links->bytes);
      else
        for (int64_t i = 1; i < group; i++, to = next_in_ring (links->mesh, links->axes, to))
          add (self, links->mesh, place, to, links->bytes / (double) (group - 1));
    }
}

TnTrafficMatrix *
tn_traffic_matrix_new (TnMesh *mesh, const TnTrafficLinks *links, int n_links)
{
  TnTrafficMatrix *self = g_new0 (TnTrafficMatrix, 1);
  self->mesh = tn_mesh_ref (mesh);
  self->block = (mesh->n_ranks + TN_TRAFFIC_MATRIX_MAX - 1) / TN_TRAFFIC_MATRIX_MAX;
  self->n = (int) ((mesh->n_ranks + self->block - 1) / self->block);
  self->bytes = g_new0 (double, (gsize) self->n * (gsize) self->n);
  for (int i = 0; i < n_links; i++)
    spread (self, &links[i]);
  for (int i = 0; i < self->n * self->n; i++)
    self->most = MAX (self->most, self->bytes[i]);
  return self;
}

void
tn_traffic_matrix_free (TnTrafficMatrix *self)
{
  tn_mesh_unref (self->mesh);
  g_free (self->bytes);
  g_free (self);
}

void
tn_traffic_matrix_place (TnTrafficMatrix *self, const TnRect *area)
{
  double side = MAX (MIN (area->width - LEFT - 4, area->height - TOP - 4), 8);
  side = MIN (side, 84.0 * self->n);
  self->frame = (TnRect){ area->x + LEFT, area->y + TOP, side, side };
}

TnRect
tn_traffic_matrix_cell (const TnTrafficMatrix *self, int64_t cell)
{
  double side = self->frame.width / self->n;
  return (TnRect){ self->frame.x + side * (double) (cell % self->n), self->frame.y + side * (double) (cell / self->n), side, side };
}

int64_t
tn_traffic_matrix_hit (const TnTrafficMatrix *self, double x, double y)
{
  double dx = x - self->frame.x, dy = y - self->frame.y, side = self->frame.width / self->n;
  if (dx < 0 || dy < 0 || dx >= self->frame.width || dy >= self->frame.height)
    return -1;
  return MIN ((int64_t) (dy / side), self->n - 1) * self->n + MIN ((int64_t) (dx / side), self->n - 1);
}

char *
tn_traffic_matrix_name (const TnTrafficMatrix *self, int row)
{
  int64_t first = row * self->block, last = MIN (first + self->block, self->mesh->n_ranks) - 1;
  if (first == last)
    return g_strdup_printf (_ ("rank %" PRId64), self->mesh->ranks[first]);
  if (self->mesh->plain)
    return g_strdup_printf (_ ("ranks %" PRId64 "–%" PRId64), first, last);
  return g_strdup_printf (_ ("places %" PRId64 "–%" PRId64), first, last);
}

static void
draw_names (const TnTrafficMatrix *self, TnCanvas *canvas, const TnPalette *palette)
{
  double side = self->frame.width / self->n;
  int every = MAX (1, (int) ceil (24 / side));
  TnTextStyle dim = { .size = 11, .color = palette->dim_text, .tabular = TRUE };
  tn_canvas_text (canvas, _ ("from ↓   to →"), self->frame.x - LEFT + 2, self->frame.y - 22, &dim);
  for (int i = 0; i < self->n; i += every)
    {
      g_autofree char *text = g_strdup_printf ("%" PRId64, self->mesh->ranks[i * self->block]);
      dim.anchor = TN_ANCHOR_MIDDLE;
      tn_canvas_text (canvas, text, self->frame.x + side * (i + 0.5), self->frame.y - 6, &dim);
      dim.anchor = TN_ANCHOR_END;
      tn_canvas_text (canvas, text, self->frame.x - 6, self->frame.y + side * (i + 0.5) + 4, &dim);
    }
}

void
tn_traffic_matrix_draw (const TnTrafficMatrix *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank)
{
  int labels = 0;
  double low = self->most;
  for (int i = 0; i < self->n * self->n; i++)
    if (self->bytes[i] > 0)
      low = MIN (low, self->bytes[i]);
  tn_canvas_rect (canvas, &self->frame, palette->box);
  draw_names (self, canvas, palette);
  for (int64_t i = 0; i < (int64_t) self->n * self->n; i++)
    {
      TnRect r = tn_traffic_matrix_cell (self, i);
      if (self->bytes[i] <= 0 || !tn_rect_meets (&r, clip))
        continue;
      double share = self->most > low ? log (self->bytes[i] / low) / log (self->most / low) : 1;
      TnRect inner = { r.x + 0.5, r.y + 0.5, MAX (r.width - 1, 0.5), MAX (r.height - 1, 0.5) };
      tn_canvas_rect (canvas, &inner, tn_color_alpha (palette->communication, (float) (0.18 + 0.37 * share)));
      if (r.width < 28 || labels++ >= MAX_NUMBERS)
        continue;
      g_autofree char *text = tn_short_bytes (self->bytes[i]);
      tn_canvas_text (canvas, text, r.x + r.width / 2, r.y + r.height / 2 + 4,
                      &(TnTextStyle){ .size = 10, .color = palette->text, .anchor = TN_ANCHOR_MIDDLE, .tabular = TRUE, .max_width = r.width - 2 });
    }
  tn_draw_frame (canvas, &self->frame, 1, palette->border);
  int64_t place = rank >= 0 ? tn_mesh_place (self->mesh, rank) : -1;
  if (place >= 0)
    {
      double side = self->frame.width / self->n, at = side * (double) (place / self->block);
      tn_draw_frame (canvas, &(TnRect){ self->frame.x, self->frame.y + at, self->frame.width, side }, 2, palette->accent);
      tn_draw_frame (canvas, &(TnRect){ self->frame.x + at, self->frame.y, side, self->frame.height }, 2, palette->accent);
    }
}
