/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>
#include "draw/graph-overlay.h"

/* TnGraphTable: the operators of a document as a tree of scopes: the twin of TnGraphView for keyboard and screen reader.
 *
 * Rows are made when they are looked at. Signal "picked" (item, scope): a row was selected; one of them is -1. "activated" the same for
 * Enter and double click. */
#define TN_TYPE_GRAPH_TABLE (tn_graph_table_get_type ())
G_DECLARE_FINAL_TYPE (TnGraphTable, tn_graph_table, TN, GRAPH_TABLE, GtkWidget)

GtkWidget *tn_graph_table_new (void);
void tn_graph_table_set_document (TnGraphTable *self, TnGraphDocument *document);
/** Shares of the overlay in the last column; NULL: none. @overlay must live until the next call. */
void tn_graph_table_set_overlay (TnGraphTable *self, const TnGraphOverlay *overlay);
/** Opens what @item (or @scope, where @item is -1) lies in and selects its row; emits nothing. */
void tn_graph_table_show (TnGraphTable *self, int item, int scope);
/** Only the names and the overlay: for a narrow pane. */
void tn_graph_table_set_narrow (TnGraphTable *self, gboolean narrow);
