/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "row.h"

/* TnEntryRow: a row of free text, checked by a function (see row.h): patterns, lists of numbers, names.
 *
 *   GtkWidget *row = tn_entry_row_new ();
 *   tn_entry_row_set_check (TN_ENTRY_ROW (row), check_name, self, NULL);
 */
#define TN_TYPE_ENTRY_ROW (tn_entry_row_get_type ())
G_DECLARE_FINAL_TYPE (TnEntryRow, tn_entry_row, TN, ENTRY_ROW, AdwActionRow)

/** What is wrong with @text, to be freed with g_free, or NULL. */
typedef char *(*TnEntryRowCheck) (const char *text, gpointer data);

GtkWidget *tn_entry_row_new (void);
void tn_entry_row_set_check (TnEntryRow *self, TnEntryRowCheck check, gpointer data, GDestroyNotify destroy);
/** Grey text of an empty field. */
void tn_entry_row_set_placeholder (TnEntryRow *self, const char *text);
/** Characters that the field is wide; 14 unless told. */
void tn_entry_row_set_width (TnEntryRow *self, int n_chars);
