/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

/* TnDrawPad: a black square to draw on in white, with the mouse, a finger, a pen or the keys: arrows move, Space puts the pen down and lifts
 * it, Delete clears.
 *
 * Signal: drawn ()   what is on it changed */
#define TN_TYPE_DRAW_PAD (tn_draw_pad_get_type ())
G_DECLARE_FINAL_TYPE (TnDrawPad, tn_draw_pad, TN, DRAW_PAD, GtkDrawingArea)

GtkWidget *tn_draw_pad_new (void);
void tn_draw_pad_clear (TnDrawPad *self);
gboolean tn_draw_pad_is_empty (TnDrawPad *self);
/** As handwritten digits are prepared: the strokes fit 20/28 of the picture and the centre of mass lies in its middle. @pixels:
 * [height][width], white on black. */
void tn_draw_pad_picture (TnDrawPad *self, int width, int height, guint8 *pixels);
