/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "row.h"

/* TnNumberRow: a number over many decades, typed as text: a learning rate, a weight decay (see row.h).
 *
 * The value is taken on Enter and when the field is left. Not an AdwEntryRow, which has no room for a line under its title.
 *
 *   GtkWidget *row = tn_number_row_new (0, 1e6);
 *   tn_number_row_set_value (TN_NUMBER_ROW (row), 1e-3);
 */
#define TN_TYPE_NUMBER_ROW (tn_number_row_get_type ())
G_DECLARE_FINAL_TYPE (TnNumberRow, tn_number_row, TN, NUMBER_ROW, AdwActionRow)

/** @min and @max are allowed. */
GtkWidget *tn_number_row_new (double min, double max);
void tn_number_row_set_range (TnNumberRow *self, double min, double max);
/** Whole numbers only. */
void tn_number_row_set_whole (TnNumberRow *self, gboolean whole);
double tn_number_row_get_value (TnNumberRow *self);
void tn_number_row_set_value (TnNumberRow *self, double value);
