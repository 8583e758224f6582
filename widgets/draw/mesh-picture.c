/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/mesh-picture.h"
#include <inttypes.h>

#include <math.h>
#include "draw/shard-style.h"

#define HEAD 22 /* the axes' names */

/* Axes counted from the last: 0, 2, 4 ... run along x, the others along y. */
static gboolean
along_x (const TnMeshPicture *self, int axis)
{
  return (self->n_axes - 1 - axis) % 2 == 0;
}

/* The last axes go into cells, whole or in blocks that divide it, until the cells are few enough. */
static void
choose_block (TnMeshPicture *self)
{
  const TnMesh *mesh = self->mesh;
  self->n_axes = mesh->n_axes;
  self->block = 1;
  self->n_cells = mesh->n_ranks;
  for (int i = 0; i < mesh->n_axes; i++)
    self->sizes[i] = mesh->sizes[i];
  while (self->n_cells > TN_MESH_PICTURE_MAX_CELLS && self->n_axes > 0)
    {
      int last = self->n_axes - 1;
      int64_t size = self->sizes[last], part = 2;
      while (part < size && (size % part != 0 || self->n_cells / part > TN_MESH_PICTURE_MAX_CELLS))
        part++;
      part = MIN (part, size);
      self->sizes[last] = size / part;
      self->block *= part;
      self->n_cells /= part;
      if (self->sizes[last] == 1 && self->n_axes > 1)
        self->n_axes--;
    }
}

/* Width and height of a cell with the last axis in rows of @wrap. */
static void
measure (TnMeshPicture *self, int64_t wrap)
{
  int last = self->n_axes - 1;
  double nx = (double) wrap, ny = ceil ((double) self->sizes[last] / (double) wrap), gaps_x = 0, gaps_y = 0, gap = 5;
  double room_x = self->area.width, room_y = self->area.height - HEAD;
  self->wrap = wrap;
  self->lines = (int64_t) ny;
  for (int axis = last - 1; axis >= 0; axis--)
    {
      double n = (double) self->sizes[axis], *of = along_x (self, axis) ? &nx : &ny, *gaps = along_x (self, axis) ? &gaps_x : &gaps_y;
      double own = axis == last - 1 && self->lines == 1 ? 0 : gap;
      own = MIN (own, 0.3 * (along_x (self, axis) ? room_x : room_y) / n);
      *gaps = *gaps * n + own * (n - 1);
      *of *= n;
      (along_x (self, axis) ? self->gap_x : self->gap_y)[axis] = own;
      gap += 4;
    }
  self->cell_width = MIN (MAX (0, room_x - gaps_x) / nx, 110);
  self->cell_height = MIN (MAX (0, room_y - gaps_y) / ny, 64);
}

void
tn_mesh_picture_init (TnMeshPicture *self, const TnMesh *mesh, const TnRect *area)
{
  *self = (TnMeshPicture){ .mesh = mesh, .area = *area };
  choose_block (self);
  int last = self->n_axes - 1;
  int64_t best = self->sizes[last];
  double best_size = -1;
  for (int64_t wrap = 1; wrap <= self->sizes[last]; wrap++)
    {
      measure (self, wrap);
      double size = MIN (self->cell_width, 1.6 * self->cell_height) + (wrap == self->sizes[last] ? 4 : 0) + (self->sizes[last] % wrap == 0 ? 1e-3 : 0);
      if (size > best_size)
        {
          best = wrap;
          best_size = size;
        }
    }
  measure (self, best);
  double pitch_x = self->cell_width * (double) self->wrap, pitch_y = self->cell_height * (double) self->lines;
  for (int axis = last - 1; axis >= 0; axis--)
    {
      double *span = along_x (self, axis) ? &pitch_x : &pitch_y, gap = along_x (self, axis) ? self->gap_x[axis] : self->gap_y[axis];
      self->pitch[axis] = *span + gap;
      *span = *span * (double) self->sizes[axis] + gap * (double) (self->sizes[axis] - 1);
    }
}

TnRect
tn_mesh_picture_cell (const TnMeshPicture *self, int64_t cell)
{
  double x = self->area.x, y = self->area.y + HEAD;
  int last = self->n_axes - 1;
  int64_t at = cell % self->sizes[last];
  x += self->cell_width * (double) (at % self->wrap);
  y += self->cell_height * (double) (at / self->wrap);
  cell /= self->sizes[last];
  for (int axis = last - 1; axis >= 0; axis--)
    {
      *(along_x (self, axis) ? &x : &y) += self->pitch[axis] * (double) (cell % self->sizes[axis]);
      cell /= self->sizes[axis];
    }
  return (TnRect){ x, y, self->cell_width, self->cell_height };
}

int64_t
tn_mesh_picture_hit (const TnMeshPicture *self, double x, double y)
{
  int last = self->n_axes - 1;
  int64_t at[TN_MESH_MAX_AXES] = { 0 };
  double dx = x - self->area.x, dy = y - self->area.y - HEAD;
  for (int axis = 0; axis < last; axis++)
    {
      double *d = along_x (self, axis) ? &dx : &dy;
      at[axis] = self->pitch[axis] > 0 ? (int64_t) floor (*d / self->pitch[axis]) : 0;
      if (*d < 0 || at[axis] >= self->sizes[axis])
        return -1;
      *d -= self->pitch[axis] * (double) at[axis];
    }
  if (dx < 0 || dy < 0 || dx >= self->cell_width * (double) self->wrap || dy >= self->cell_height * (double) self->lines)
    return -1;
  at[last] = (int64_t) (dx / self->cell_width) + self->wrap * (int64_t) (dy / self->cell_height);
  if (at[last] >= self->sizes[last])
    return -1;
  int64_t cell = 0;
  for (int axis = 0; axis <= last; axis++)
    cell = cell * self->sizes[axis] + at[axis];
  return cell * self->block;
}

int64_t
tn_mesh_picture_move (const TnMeshPicture *self, int64_t place, int dx, int dy)
{
  TnRect cell = tn_mesh_picture_cell (self, CLAMP (place / self->block, 0, self->n_cells - 1));
  /* Gaps are less than a cell and its half. */
  for (double step = 1; step <= 2; step += 0.25)
    {
      int64_t hit = tn_mesh_picture_hit (self, cell.x + cell.width * (0.5 + dx * step), cell.y + cell.height * (0.5 + dy * step));
      if (hit >= 0 && hit / self->block != place / self->block)
        return hit;
    }
  return place;
}

static gboolean
in_group (const TnMesh *mesh, int64_t place, int64_t of, int axis)
{
  for (int i = 0; i < mesh->n_axes; i++)
    if (i != axis && tn_mesh_coordinate (mesh, place, i) != tn_mesh_coordinate (mesh, of, i))
      return FALSE;
  return TRUE;
}

static void
draw_head (const TnMeshPicture *self, TnCanvas *canvas, const TnPalette *palette)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (int i = 0; i < self->mesh->n_axes; i++)
    g_string_append_printf (text, "%s%s %" PRId64, i > 0 ? "  ·  " : "", self->mesh->names[i], self->mesh->sizes[i]);
  if (self->block > 1)
    g_string_append_printf (text, "   (a cell is %" PRId64 " ranks)", self->block);
  tn_canvas_text (canvas, text->str, self->area.x, self->area.y + 13, &(TnTextStyle){ .size = 12, .color = palette->dim_text, .max_width = self->area.width });
}

static void
draw_cell (const TnMeshPicture *self, TnCanvas *canvas, const TnPalette *palette, const TnRect *cell, int64_t place, gboolean grouped, int64_t stage_ranks)
{
  int64_t rank = self->mesh->ranks[place];
  double pad = MIN (1.5, MIN (cell->width, cell->height) / 6);
  TnRect inner = { cell->x + pad, cell->y + pad, cell->width - 2 * pad, cell->height - 2 * pad };
  TnColor tint = stage_ranks > 0 ? tn_rank_color (palette, rank / stage_ranks) : palette->dim_text;
  tn_canvas_rect (canvas, &inner, grouped ? tn_color_alpha (palette->accent, 0.35f) : tn_color_alpha (tint, stage_ranks > 0 ? 0.22f : 0.14f));
  if (grouped && inner.width > 6 && self->n_cells <= 1024)
    tn_canvas_rect (canvas, &(TnRect){ inner.x, inner.y + inner.height - 3, inner.width, 3 }, palette->accent);
  if (self->n_cells > TN_MESH_PICTURE_MAX_NUMBERS || inner.width < 16 || inner.height < 13)
    return;
  g_autofree char *text = g_strdup_printf ("%" PRId64 "%s", rank, self->block > 1 ? " …" : "");
  tn_canvas_text (canvas, text, inner.x + inner.width / 2, inner.y + inner.height / 2 + 4,
                  &(TnTextStyle){ .size = 12, .color = palette->text, .anchor = TN_ANCHOR_MIDDLE, .tabular = TRUE, .max_width = inner.width });
}

void
tn_mesh_picture_draw (const TnMeshPicture *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank, int axis,
                      int64_t stage_ranks)
{
  int64_t of = rank >= 0 ? tn_mesh_place (self->mesh, rank) : -1;
  draw_head (self, canvas, palette);
  for (int64_t c = 0; c < self->n_cells; c++)
    {
      TnRect cell = tn_mesh_picture_cell (self, c);
      if (!tn_rect_meets (&cell, clip))
        continue;
      gboolean grouped = of >= 0 && axis >= 0 && in_group (self->mesh, c * self->block, of / self->block * self->block, axis);
      draw_cell (self, canvas, palette, &cell, c * self->block, grouped, stage_ranks);
    }
  if (of >= 0)
    {
      TnRect cell = tn_mesh_picture_cell (self, of / self->block);
      tn_draw_frame (canvas, &cell, cell.width > 12 ? 2.5 : 1.5, palette->accent);
    }
}
