/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

#include "table-model.h"

/* TnTable: a table with its toolbar: filter, columns menu, sort menu, copy, export.
 *
 * The sort order is set through the sort menu, whose button says it ("Sorted by bytes"), or by pressing a header. Ctrl+C copies the
 * selected rows as CSV and tab-separated text, Ctrl+Shift+L the column that was pressed last (at first the first one).
 * Cells and rows tell a screen reader their column names and texts.
 *
 *   GtkWidget *table = tn_table_new (model, "data_class_table", _("Classes table"));
 *   g_signal_connect (table, "row-activated", G_CALLBACK (activated_cb), self);   // (guint row)
 *
 * Signals: "row-activated" (guint row: of the arrays), "selection-changed".
 * Actions: table.copy, table.copy-column, table.sort("bytes" or "-bytes", "" for none), table.column-ID.
 */
#define TN_TYPE_TABLE (tn_table_get_type ())
G_DECLARE_FINAL_TYPE (TnTable, tn_table, TN, TABLE, GtkWidget)

/** Keeps a reference to @model. @id goes to gtk_widget_set_name of the view, @label to its accessible name. */
GtkWidget *tn_table_new (TnTableModel *model, const char *id, const char *label);
TnTableModel *tn_table_get_model (TnTable *self);
/** Selected rows of the arrays, in the order shown. Free with g_array_unref. */
GArray *tn_table_get_selected (TnTable *self);
/** Selects only @row (of the arrays) and scrolls to it. */
void tn_table_select_row (TnTable *self, guint row);
/** Selects exactly @rows (guint, of the arrays), as far as they are shown; does not scroll. */
void tn_table_select_rows (TnTable *self, GArray *rows);
/** A menu for rows: right click, Menu key, Shift+F10. */
void tn_table_set_row_menu (TnTable *self, GMenuModel *menu);
/** For controls of the page's own, at the end of the toolbar. */
void tn_table_add_tool (TnTable *self, GtkWidget *tool);
void tn_table_set_toolbar_visible (TnTable *self, gboolean visible);
/** A sign in place of the sort button's words. */
void tn_table_set_narrow (TnTable *self, gboolean narrow);
void tn_table_focus_filter (TnTable *self);
/** What Ctrl+C puts on the clipboard: the selected rows, or all where none is. Free with g_free. */
char *tn_table_copy_text (TnTable *self, char separator);
/** Sort order and hidden columns as text, for the project's views. Free with g_free. */
char *tn_table_get_state (TnTable *self);
void tn_table_set_state (TnTable *self, const char *state);
