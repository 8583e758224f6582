/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>
#include "draw/canvas.h"
#include "draw/palette.h"

/* TnDrawLayer: a widget that draws through a TnCanvas by calling a function. Canvases are stacks of them: what changes with the pointer is
 * a layer above the data, so that the data is not drawn again. A layer takes no events. It draws anew when colours, contrast or font change.
 *
 *   GtkWidget *layer = tn_draw_layer_new (draw_data, self);
 */
#define TN_TYPE_DRAW_LAYER (tn_draw_layer_get_type ())
G_DECLARE_FINAL_TYPE (TnDrawLayer, tn_draw_layer, TN, DRAW_LAYER, GtkWidget)

typedef void (*TnDrawLayerFunc) (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data);

/** @user_data must live as long as the layer: usually its parent. */
GtkWidget *tn_draw_layer_new (TnDrawLayerFunc draw, gpointer user_data);
/** For measuring text outside of drawing. */
TnCanvas *tn_draw_layer_canvas (TnDrawLayer *self);
/** Nodes, labels and milliseconds of the last drawing. */
void tn_draw_layer_costs (TnDrawLayer *self, unsigned *nodes, unsigned *labels, double *ms);
/** Colours for what the user's desktop asks for now: light or dark, more contrast. */
const TnPalette *tn_palette_current (void);
