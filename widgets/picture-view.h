/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>
#include "draw/canvas.h"
#include "draw/palette.h"

/* TnPictureView: a canvas for a picture made of items (cells, tiles, bars), drawn, hit and walked by a table of functions.
 *
 * It does what all such canvases do: a press picks, arrows walk, Ctrl+wheel, pinch keys W and S zoom at the pointer, wheel and drag with
 * the middle button pan, F or a double press fits; the item under the pointer is told as tooltip and the cursor's as accessible
 * description. The picture is laid out for a rectangle that zooming makes larger than the widget.
 *
 *   static const TnPictureFuncs funcs = { draw, hit, move, describe };
 *   GtkWidget *view = tn_picture_view_new (&funcs, self, "shard_mesh_canvas", _("Mesh canvas"));
 *
 * Signals: "picked" (gint64 item): pressed or walked to, -1 where there is none.
 */
typedef struct
{
  void (*draw) (TnCanvas *canvas, const TnRect *area, const TnRect *clip, const TnPalette *palette, gpointer data);
  gint64 (*hit) (const TnRect *area, double x, double y, gpointer data);
  /** The item beside the cursor's; @dx, @dy are -1, 0 or 1. */
  gint64 (*move) (const TnRect *area, int dx, int dy, gpointer data);
  /** For people; g_free. NULL for none. @item -1: the picture as a whole. */
  char *(*describe) (gint64 item, gpointer data);
} TnPictureFuncs;

#define TN_TYPE_PICTURE_VIEW (tn_picture_view_get_type ())
G_DECLARE_FINAL_TYPE (TnPictureView, tn_picture_view, TN, PICTURE_VIEW, GtkWidget)

/** @funcs is static; @data must live as long as the view. */
GtkWidget *tn_picture_view_new (const TnPictureFuncs *funcs, gpointer data, const char *id, const char *label);
/** The data changed: draws anew and tells what is seen. @item: the cursor's, for the description. */
void tn_picture_view_update (TnPictureView *self, gint64 item);
/** @factor 0: fits. */
void tn_picture_view_zoom (TnPictureView *self, double factor);
void tn_picture_view_costs (TnPictureView *self, unsigned *nodes, unsigned *labels, double *ms);
