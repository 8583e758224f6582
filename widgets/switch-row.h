/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "row.h"

/* TnSwitchRow: a row that is on or off. Its text is "true" or "false" (see row.h).
 *
 *   GtkWidget *row = tn_switch_row_new ();
 *   tn_switch_row_set_active (TN_SWITCH_ROW (row), TRUE);   // emits no "edited"
 */
#define TN_TYPE_SWITCH_ROW (tn_switch_row_get_type ())
G_DECLARE_FINAL_TYPE (TnSwitchRow, tn_switch_row, TN, SWITCH_ROW, AdwActionRow)

GtkWidget *tn_switch_row_new (void);
gboolean tn_switch_row_get_active (TnSwitchRow *self);
void tn_switch_row_set_active (TnSwitchRow *self, gboolean active);
