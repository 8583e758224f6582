/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/graph-export.h"
#include <math.h>
#include "base/durable.h"
#include "base/error.h"

#define MARGIN 20

typedef struct
{
  const TnGraphPicture *picture;
  const TnPalette *palette;
} Paint;

static void
paint (TnCanvas *canvas, double width, double height, gpointer data)
{
  const Paint *p = data;
  TnGraphTransform transform = { -MARGIN, -MARGIN, 1 };
  tn_canvas_rect (canvas, &(TnRect){ 0, 0, width, height }, p->palette->background);
  tn_graph_picture_draw (p->picture, canvas, p->palette, &transform, width, height);
}

GBytes *
tn_graph_export_bytes (const TnGraphPicture *picture, const TnPalette *palette, TnPictureFormat format, double scale, GError **error)
{
  TnGraphPicture whole = *picture;
  whole.unlimited = TRUE;
  Paint p = { &whole, palette };
  double legend = picture->overlay != NULL ? 44 : 0;
  TnPictureSize size = { MAX (ceil (picture->layout->width), 40) + 2 * MARGIN, MAX (ceil (picture->layout->height), 40) + 2 * MARGIN + legend,
                         format == TN_PICTURE_PNG ? scale : 1 };
  if (format == TN_PICTURE_PNG && MAX (size.width, size.height) * scale > TN_PICTURE_MAX_SIDE)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                   _ ("The picture would be %.0f × %.0f pixels; a PNG file holds %d a side. Close scopes, take a smaller scale, or write SVG or PDF"),
                   size.width * scale, size.height * scale, TN_PICTURE_MAX_SIDE);
      return NULL;
    }
  return tn_picture_bytes (format, &size, paint, &p, error);
}

gboolean
tn_graph_export_picture (const TnGraphPicture *picture, const TnPalette *palette, TnPictureFormat format, double scale, const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = tn_graph_export_bytes (picture, palette, format, scale, error);
  gsize n;
  const void *data = bytes != NULL ? g_bytes_get_data (bytes, &n) : NULL;
  return data != NULL && tn_durable_write (path, data, n, error);
}
