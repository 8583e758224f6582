/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>

#include "table-filter.h"

/* TnTableModel: rows of somebody's arrays as a GListModel, filtered and sorted.
 *
 * The rows stay where they are: functions read a cell when it is shown. Items (TnTableRow) are light objects made when
 * asked for; sorting and filtering work on an array of row numbers, never on objects. Above some ten thousand rows they run in
 * slices of a few milliseconds, and the sorting in a thread, so that the window never waits; until they are done the old
 * order stands (property "busy"). No display needed.
 *
 *   TnTableModel *model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &funcs, self, NULL);
 *   tn_table_model_set_sort (model, "bytes", TRUE);
 *   tn_table_model_changed (model);   // rows have come, gone or changed
 */
typedef struct
{
  guint (*n_rows) (gpointer data);
  TnTableText text;
  TnTableNumber number; /* may be NULL where all columns are text */
} TnTableFuncs;

#define TN_TYPE_TABLE_ROW (tn_table_row_get_type ())
G_DECLARE_FINAL_TYPE (TnTableRow, tn_table_row, TN, TABLE_ROW, GObject)
/** The row of the arrays. */
guint tn_table_row_index (TnTableRow *self);

#define TN_TYPE_TABLE_MODEL (tn_table_model_get_type ())
G_DECLARE_FINAL_TYPE (TnTableModel, tn_table_model, TN, TABLE_MODEL, GObject)

/** @columns (ids and titles are copied) and @funcs (copied) describe the rows; @data goes to @funcs. */
TnTableModel *tn_table_model_new (const TnTableColumn *columns, guint n_columns, const TnTableFuncs *funcs, gpointer data,
                                  GDestroyNotify destroy);
const TnTableColumn *tn_table_model_columns (TnTableModel *self, guint *n);
/** Place of a column, or -1. */
int tn_table_model_find_column (TnTableModel *self, const char *id);
/** Rows have come, gone or changed: order and filter are made anew. */
void tn_table_model_changed (TnTableModel *self);
/** Only new rows at the end: what is shown keeps its place where there is neither order nor filter. */
void tn_table_model_appended (TnTableModel *self);

/** FALSE with @error (freed with g_free) for a bad filter; the last good one stays in force. */
gboolean tn_table_model_set_filter (TnTableModel *self, const char *text, char **error);
/** @id NULL: the rows' own order. Rows that compare equal keep it; missing numbers come last. */
void tn_table_model_set_sort (TnTableModel *self, const char *id, gboolean descending);
const char *tn_table_model_sort_column (TnTableModel *self, gboolean *descending);

/** All rows, whatever the filter. */
guint tn_table_model_n_rows (TnTableModel *self);
/** The row shown at @position. */
guint tn_table_model_row_at (TnTableModel *self, guint position);
/** Where @row is shown, or -1: looks through the order. */
gint64 tn_table_model_position_of (TnTableModel *self, guint row);
char *tn_table_model_text (TnTableModel *self, guint row, guint column);
gboolean tn_table_model_is_busy (TnTableModel *self);

/** The shown rows at @positions (NULL: all, @n is then ignored) with the columns @columns (their places; NULL: all) as CSV (RFC
 * 4180), or with @separator '\t' as tab-separated text. With a header of titles; numbers exact in the C locale. */
char *tn_table_model_to_csv (TnTableModel *self, const guint *positions, guint n, const guint *columns, guint n_columns,
                             char separator);
