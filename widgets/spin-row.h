/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "row.h"

/* TnSpinRow: a number in a range, with buttons that step it (see row.h).
 *
 * Text that is no number, or outside the range, stays in the field with an error; get_value stays the last good one. Accepts
 * "1e-3" and both the locale's and the C decimal sign.
 *
 *   GtkWidget *row = tn_spin_row_new (0, 90, 0);
 *   tn_spin_row_set_increments (TN_SPIN_ROW (row), 1, 10);
 *   tn_spin_row_set_unit (TN_SPIN_ROW (row), _("%"));
 */
#define TN_TYPE_SPIN_ROW (tn_spin_row_get_type ())
G_DECLARE_FINAL_TYPE (TnSpinRow, tn_spin_row, TN, SPIN_ROW, AdwActionRow)

/** @digits: decimals shown; 0 makes it a row of whole numbers that refuses others. */
GtkWidget *tn_spin_row_new (double min, double max, int digits);
void tn_spin_row_set_range (TnSpinRow *self, double min, double max);
/** As @digits of tn_spin_row_new(). */
void tn_spin_row_set_digits (TnSpinRow *self, int digits);
void tn_spin_row_set_increments (TnSpinRow *self, double step, double page);
/** Shown grey after the field, translated; NULL for none. */
void tn_spin_row_set_unit (TnSpinRow *self, const char *unit);
double tn_spin_row_get_value (TnSpinRow *self);
void tn_spin_row_set_value (TnSpinRow *self, double value);
