/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>
#include "draw/graph-picture.h"
#include "draw/graph-search.h"

/* TnGraphView: a graph on the screen, to be walked through.
 *
 * Shows a cut of a document in its layout, with zoom, pan, selection, a cursor for the keyboard, minimap and overlays. Layout
 * runs in a thread or child; what is shown stays until the new places are there, and boxes then move to them in at most 250 ms.
 *
 *   GtkWidget *view = tn_graph_view_new ();
 *   tn_graph_view_set_document (TN_GRAPH_VIEW (view), document, NULL);
 *
 * Signals: "selected" after the selection changed, "shown" after a new cut is in place, "said" (text) for what the user should know,
 * "menu" (x, y) when a menu is asked for at the cursor. Actions: "graph.open", "graph.close", "graph.inputs", ... see graph-view.c. */
#define TN_TYPE_GRAPH_VIEW (tn_graph_view_get_type ())
G_DECLARE_FINAL_TYPE (TnGraphView, tn_graph_view, TN, GRAPH_VIEW, GtkWidget)

GtkWidget *tn_graph_view_new (void);
/** @changes: (nullable): TnChange by item, copied. NULL document: nothing is shown. */
void tn_graph_view_set_document (TnGraphView *self, TnGraphDocument *document, const guint8 *changes);
TnGraphDocument *tn_graph_view_document (TnGraphView *self);
/** What is open and shown. Change it, then call tn_graph_view_update(). NULL without a document. */
TnGraphFolds *tn_graph_view_folds (TnGraphView *self);
void tn_graph_view_update (TnGraphView *self);
/** What is on the screen; NULL before the first layout. */
const TnGraphCut *tn_graph_view_cut (TnGraphView *self);
const TnGraphLayout *tn_graph_view_layout (TnGraphView *self);
gboolean tn_graph_view_is_busy (TnGraphView *self);
/** Ends a layout that is under way: the own one is taken. */
void tn_graph_view_cancel (TnGraphView *self);
/** Takes @overlay; NULL for none. */
void tn_graph_view_set_overlay (TnGraphView *self, TnGraphOverlay *overlay);
const TnGraphOverlay *tn_graph_view_overlay (TnGraphView *self);
void tn_graph_view_set_minimap (TnGraphView *self, gboolean shown);
void tn_graph_view_set_seconds (TnGraphView *self, int seconds);

/** The item that is selected last, or -1; of a scope's box its scope is @scope. */
int tn_graph_view_selected (TnGraphView *self, int *scope);
GArray *tn_graph_view_selection (TnGraphView *self); /* int: items; free */
/** Opens what hides @item, selects it and brings it into view. */
void tn_graph_view_reveal (TnGraphView *self, int item);
void tn_graph_view_select_scope (TnGraphView *self, int scope, gboolean reveal);
/** Lights what the selection depends on, or what depends on it; the ways between two selected ones. FALSE if there is nothing to. */
gboolean tn_graph_view_trace (TnGraphView *self, gboolean inputs);
gboolean tn_graph_view_trace_path (TnGraphView *self);
void tn_graph_view_clear_trace (TnGraphView *self);

void tn_graph_view_fit (TnGraphView *self);
/** @factor 0: to 100 %. */
void tn_graph_view_zoom (TnGraphView *self, double factor);
void tn_graph_view_fit_selection (TnGraphView *self);
/** The picture as it is, for exports. Valid until the next update. */
TnGraphPicture tn_graph_view_picture (TnGraphView *self);
double tn_graph_view_scale (TnGraphView *self);
