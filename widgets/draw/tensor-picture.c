/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/tensor-picture.h"
#include <inttypes.h>

#include <math.h>
#include "base/error.h"
#include "draw/shard-style.h"

#define LEFT 62
#define TOP 22
#define FOOT 4
#define MAX_HATCHED 600
#define MAX_LABELLED 70
#define DENSITY_SIDE 512

TnTensorPicture *
tn_tensor_picture_new (TnLayout *layout, TnLayout *kept, const TnShape *shape, int64_t element_bytes, GError **error)
{
  TnShape local, cut;
  if (!tn_layout_local_shape (layout, shape, &local, error) || (kept != NULL && !tn_layout_local_shape (kept, shape, &cut, error)))
    return NULL;
  TnTensorPicture *self = g_new0 (TnTensorPicture, 1);
  self->layout = tn_layout_ref (layout);
  self->kept = tn_layout_ref (kept != NULL ? kept : layout);
  self->shape = *shape;
  self->element = element_bytes;
  int64_t n_slices = tn_layout_n_slices (layout);
  self->first = g_new (int64_t, MAX (n_slices, 1));
  for (int64_t i = 0; i < n_slices; i++)
    self->first[i] = -1;
  for (int64_t place = 0; place < layout->mesh->n_ranks; place++)
    {
      int64_t slice = tn_layout_slice_index (layout, place);
      if (self->first[slice] < 0)
        self->first[slice] = place;
    }
  self->n_replicas = tn_mesh_span (layout->mesh, tn_layout_replica_axes (layout));
  self->cuts = shape->n_dims > 0 && kept != NULL ? tn_layout_shards (kept, 0) / tn_layout_shards (layout, 0) : 1;
  /* The two most split dimensions, the earlier one down; where fewer are split, the first two. */
  int a = -1, b = -1;
  for (int d = 0; d < shape->n_dims; d++)
    if (a < 0 || tn_layout_shards (layout, d) > tn_layout_shards (layout, a))
      a = d;
  for (int d = 0; d < shape->n_dims; d++)
    if (d != a && (b < 0 || tn_layout_shards (layout, d) > tn_layout_shards (layout, b)))
      b = d;
  tn_tensor_picture_show (self, b < 0 ? a : MIN (a, b), b < 0 ? -1 : MAX (a, b));
  return self;
}

void
tn_tensor_picture_free (TnTensorPicture *self)
{
  tn_layout_unref (self->layout);
  tn_layout_unref (self->kept);
  g_free (self->first);
  g_free (self);
}

void
tn_tensor_picture_show (TnTensorPicture *self, int rows, int columns)
{
  if (rows == columns && rows >= 0)
    return;
  self->rows = rows;
  self->columns = columns;
  self->n_rows = rows >= 0 ? tn_layout_shards (self->layout, rows) : 1;
  self->n_columns = columns >= 0 ? tn_layout_shards (self->layout, columns) : 1;
}

void
tn_tensor_picture_set_slice (TnTensorPicture *self, int dim, int64_t at)
{
  self->at[dim] = CLAMP (at, 0, tn_layout_shards (self->layout, dim) - 1);
}

/* As the tensor's sides stand to one another, within reason. */
void
tn_tensor_picture_place (TnTensorPicture *self, const TnRect *area)
{
  double left = area->width < 260 ? 8 : LEFT, width = MAX (area->width - left - 8, 8), height = MAX (area->height - TOP - FOOT, 8);
  double rows = self->rows >= 0 ? (double) self->shape.dims[self->rows] : 1, columns = self->columns >= 0 ? (double) self->shape.dims[self->columns] : 1;
  double share = CLAMP (rows / MAX (columns, 1), 0.35, 1.5);
  if (self->columns >= 0)
    {
      if (width * share > height)
        width = MAX (height / share, MIN (width, 200));
      else
        height = width * share;
    }
  else
    height = MIN (height, MAX (110, 24.0 * (double) self->n_rows));
  self->frame = (TnRect){ area->x + left, area->y + TOP, width, height };
}

int64_t
tn_tensor_picture_n_tiles (const TnTensorPicture *self)
{
  return self->n_rows * self->n_columns;
}

TnRect
tn_tensor_picture_tile (const TnTensorPicture *self, int64_t tile)
{
  double w = self->frame.width / (double) self->n_columns, h = self->frame.height / (double) self->n_rows;
  return (TnRect){ self->frame.x + w * (double) (tile % self->n_columns), self->frame.y + h * (double) (tile / self->n_columns), w, h };
}

int64_t
tn_tensor_picture_hit (const TnTensorPicture *self, double x, double y)
{
  double dx = x - self->frame.x, dy = y - self->frame.y;
  if (dx < 0 || dy < 0 || dx >= self->frame.width || dy >= self->frame.height)
    return -1;
  int64_t row = (int64_t) (dy / self->frame.height * (double) self->n_rows), column = (int64_t) (dx / self->frame.width * (double) self->n_columns);
  return MIN (row, self->n_rows - 1) * self->n_columns + MIN (column, self->n_columns - 1);
}

static int64_t
shard_at (const TnTensorPicture *self, int64_t tile, int d)
{
  return d == self->rows ? tile / self->n_columns : d == self->columns ? tile % self->n_columns : self->at[d];
}

static int64_t
slice_of_tile (const TnTensorPicture *self, int64_t tile)
{
  int64_t slice = 0;
  for (int d = 0; d < self->shape.n_dims; d++)
    slice = slice * tn_layout_shards (self->layout, d) + shard_at (self, tile, d);
  return slice;
}

void
tn_tensor_picture_box (const TnTensorPicture *self, int64_t tile, TnBox *box)
{
  box->n_dims = self->shape.n_dims;
  for (int d = 0; d < self->shape.n_dims; d++)
    {
      int64_t size = self->shape.dims[d] / tn_layout_shards (self->layout, d);
      box->lo[d] = shard_at (self, tile, d) * size;
      box->hi[d] = box->lo[d] + size;
    }
}

int64_t
tn_tensor_picture_tile_of (const TnTensorPicture *self, int64_t rank)
{
  int64_t place = rank >= 0 ? tn_mesh_place (self->layout->mesh, rank) : -1;
  if (place < 0)
    return -1;
  int64_t slice = tn_layout_slice_index (self->layout, place), row = 0, column = 0;
  for (int d = self->shape.n_dims - 1; d >= 0; d--)
    {
      int64_t n = tn_layout_shards (self->layout, d), at = slice % n;
      slice /= n;
      if (d == self->rows)
        row = at;
      else if (d == self->columns)
        column = at;
      else if (at != self->at[d])
        return -1;
    }
  return row * self->n_columns + column;
}

int64_t *
tn_tensor_picture_owners (const TnTensorPicture *self, int64_t tile, int64_t *n)
{
  const TnMesh *mesh = self->layout->mesh;
  int64_t slice = slice_of_tile (self, tile), *owners = g_new (int64_t, self->n_replicas + 1);
  *n = 0;
  for (int64_t place = 0; place < mesh->n_ranks && *n < self->n_replicas; place++)
    if (tn_layout_slice_index (self->layout, place) == slice)
      owners[(*n)++] = mesh->ranks[place];
  return owners;
}

char *
tn_tensor_picture_range (const TnTensorPicture *self, int64_t tile)
{
  TnBox box;
  GString *text = g_string_new ("[");
  tn_tensor_picture_box (self, tile, &box);
  for (int d = 0; d < box.n_dims; d++)
    g_string_append_printf (text, "%s%" PRId64 ":%" PRId64, d > 0 ? ", " : "", box.lo[d], box.hi[d]);
  g_string_append_c (text, ')');
  return g_string_free (text, FALSE);
}

char *
tn_tensor_picture_owners_text (const TnTensorPicture *self, int64_t tile)
{
  int64_t n;
  g_autofree int64_t *owners = tn_tensor_picture_owners (self, tile, &n);
  if (n == self->layout->mesh->n_ranks && n > 1)
    return g_strdup_printf (_ ("all %" PRId64 " ranks"), n);
  GString *text = g_string_new (n == 1 ? _ ("rank ") : _ ("ranks "));
  for (int64_t i = 0; i < MIN (n, n == 3 ? 3 : 2); i++)
    g_string_append_printf (text, "%s%" PRId64, i > 0 ? ", " : "", owners[i]);
  if (n > 3)
    g_string_append_printf (text, " +%" PRId64, n - 2);
  return g_string_free (text, FALSE);
}

int64_t
tn_tensor_picture_tile_bytes (const TnTensorPicture *self)
{
  int64_t bytes = self->element;
  for (int d = 0; d < self->shape.n_dims; d++)
    bytes *= self->shape.dims[d] / tn_layout_shards (self->layout, d);
  return bytes;
}

static int64_t
first_rank (const TnTensorPicture *self, int64_t tile)
{
  int64_t place = self->first[slice_of_tile (self, tile)];
  return place >= 0 ? self->layout->mesh->ranks[place] : -1;
}

static void
draw_labels (const TnTensorPicture *self, TnCanvas *canvas, const TnPalette *palette, int64_t tile, const TnRect *r)
{
  g_autofree char *range = tn_tensor_picture_range (self, tile), *owners = tn_tensor_picture_owners_text (self, tile);
  g_autofree char *bytes = tn_short_bytes ((double) tn_tensor_picture_tile_bytes (self));
  const char *lines[] = { owners, range, bytes };
  int n = r->width < 40 || r->height < 16 ? 0 : r->height < 34 ? 1 : r->height < 50 ? 2 : 3;
  double y = r->y + r->height / 2 - 7.5 * (n - 1) + 4;
  for (int i = 0; i < n; i++)
    tn_canvas_text (canvas, lines[i], r->x + r->width / 2, y + 15 * i,
                    &(TnTextStyle){ .size = i == 0 ? 12 : 11, .color = i == 0 ? palette->text : palette->dim_text, .bold = i == 0, .tabular = TRUE, .anchor = TN_ANCHOR_MIDDLE, .max_width = r->width - 8 });
}

static void
draw_tile (const TnTensorPicture *self, TnCanvas *canvas, const TnPalette *palette, int64_t tile, const TnRect *r, gboolean hatched, gboolean labelled)
{
  int64_t owner = first_rank (self, tile);
  if (owner < 0)
    {
      tn_canvas_rect (canvas, r, tn_color_alpha (palette->error, 0.4f));
      return;
    }
  TnColor color = tn_rank_color (palette, owner);
  TnRect inner = { r->x + 0.5, r->y + 0.5, MAX (r->width - 1, 0.5), MAX (r->height - 1, 0.5) };
  tn_canvas_rect (canvas, &inner, tn_color_alpha (color, palette->high_contrast ? 0.12f : 0.28f));
  if (hatched)
    tn_draw_hatch (canvas, &inner, tn_rank_hatch (owner), 9, &(TnStroke){ 1, tn_color_alpha (color, 0.5f), NULL, 0 });
  if (inner.width > 8 && inner.height > 8)
    tn_canvas_rect (canvas, &(TnRect){ inner.x, inner.y, 3, inner.height }, color);
  if (self->cuts > 1 && self->rows == 0 && hatched && inner.height > 2.0 * (double) self->cuts)
    for (int64_t c = 1; c < MIN (self->cuts, 16); c++)
      tn_canvas_rect (canvas, &(TnRect){ inner.x, inner.y + inner.height * (double) c / (double) self->cuts, inner.width, 1 }, tn_color_alpha (palette->optimizer, 0.55f));
  if (labelled)
    draw_labels (self, canvas, palette, tile, &inner);
}

/* The density image: one pixel a tile as far as a side of 512 reaches, else the tile in the pixel's middle. */
static void
draw_density (const TnTensorPicture *self, TnCanvas *canvas, const TnPalette *palette)
{
  int width = (int) MIN (self->n_columns, DENSITY_SIDE), height = (int) MIN (self->n_rows, DENSITY_SIDE);
  g_autofree uint32_t *pixels = g_new (uint32_t, (size_t) width * (size_t) height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
        int64_t tile = self->n_rows * y / height * self->n_columns + self->n_columns * x / width;
        TnColor c = tn_rank_color (palette, first_rank (self, tile));
        pixels[y * width + x] = 0xb0000000u | (uint32_t) (c.red * 0xb0) << 16 | (uint32_t) (c.green * 0xb0) << 8 | (uint32_t) (c.blue * 0xb0);
      }
  tn_canvas_image (canvas, &self->frame, (const uint8_t *) pixels, width, height, width * 4);
}

static void
draw_axis (const TnTensorPicture *self, TnCanvas *canvas, const TnPalette *palette, int dim, gboolean down)
{
  if (dim < 0)
    return;
  const TnRect *f = &self->frame;
  g_autofree char *text = g_strdup_printf (_ ("dimension %d: %" PRId64), dim, self->shape.dims[dim]);
  g_autofree char *short_text = g_strdup_printf (_ ("dim %d: %" PRId64), dim, self->shape.dims[dim]);
  TnTextStyle style = { .size = 11, .color = palette->dim_text };
  if (!down)
    tn_canvas_text (canvas, text, f->x, f->y - 7, &(TnTextStyle){ .size = 11, .color = palette->dim_text, .max_width = f->width });
  else
    {
      style.max_width = LEFT - 4;
      style.anchor = TN_ANCHOR_END;
      tn_canvas_text (canvas, short_text, f->x - 5, f->y + 11, &style);
      g_autofree char *pieces = g_strdup_printf ("÷ %" PRId64, self->n_rows);
      if (self->n_rows > 1)
        tn_canvas_text (canvas, pieces, f->x - 5, f->y + 25, &style);
    }
}

void
tn_tensor_picture_draw (const TnTensorPicture *self, TnCanvas *canvas, const TnRect *clip, const TnPalette *palette, int64_t rank)
{
  int64_t n = tn_tensor_picture_n_tiles (self), chosen = tn_tensor_picture_tile_of (self, rank);
  int labelled = 0;
  if (n > TN_TENSOR_PICTURE_MAX_TILES)
    draw_density (self, canvas, palette);
  for (int64_t tile = 0; tile < n && n <= TN_TENSOR_PICTURE_MAX_TILES; tile++)
    {
      TnRect r = tn_tensor_picture_tile (self, tile);
      if (tn_rect_meets (&r, clip))
        draw_tile (self, canvas, palette, tile, &r, n <= MAX_HATCHED, labelled++ < MAX_LABELLED);
    }
  if (self->frame.x - clip->x > 40 || self->frame.x > 40)
    draw_axis (self, canvas, palette, self->rows, TRUE);
  draw_axis (self, canvas, palette, self->columns, FALSE);
  if (chosen >= 0)
    {
      TnRect r = tn_tensor_picture_tile (self, chosen);
      if (r.width < 4 || r.height < 4)
        r = (TnRect){ r.x - 2, r.y - 2, r.width + 4, r.height + 4 };
      tn_draw_frame (canvas, &r, 3, palette->accent);
    }
}
