/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>
#include "draw/canvas.h"

/* TnSnapshotCanvas: the TnCanvas that the screen is drawn through. One a widget, kept from frame to frame for its text layouts.
 *
 *   TnCanvas *canvas = tn_snapshot_canvas_new (widget);   once
 *   tn_snapshot_canvas_begin (canvas, snapshot);          in the widget's snapshot, before drawing
 *
 * Upright and level lines and rectangles become colour nodes; curves become cairo nodes no larger than the clip. Window thread only. */
TnCanvas *tn_snapshot_canvas_new (GtkWidget *widget);
void tn_snapshot_canvas_free (TnCanvas *self);
/** Counters start at 0. */
void tn_snapshot_canvas_begin (TnCanvas *self, GtkSnapshot *snapshot);
/** Forgets text layouts: the widget's font changed. */
void tn_snapshot_canvas_forget (TnCanvas *self);
