/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "row.h"

/* TnComboRow: one of a few words, each with a stable id and a name for people (see row.h). An AdwComboRow.
 *
 *   GtkWidget *row = tn_combo_row_new ();
 *   tn_combo_row_add (TN_COMBO_ROW (row), "adam", _("Adam"));
 *   tn_row_set_text (TN_ROW (row), "adam");   // by id
 */
#define TN_TYPE_COMBO_ROW (tn_combo_row_get_type ())
G_DECLARE_FINAL_TYPE (TnComboRow, tn_combo_row, TN, COMBO_ROW, AdwComboRow)

GtkWidget *tn_combo_row_new (void);
void tn_combo_row_add (TnComboRow *self, const char *id, const char *name);
void tn_combo_row_clear (TnComboRow *self);
/** NULL while there is none. */
const char *tn_combo_row_get_id (TnComboRow *self);
/** FALSE if there is no such id; the choice is then as it was. */
gboolean tn_combo_row_set_id (TnComboRow *self, const char *id);
