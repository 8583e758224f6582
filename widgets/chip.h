/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

/* TnChip: one part of a selection or a filter: its name, a menu of what can be done with it, and × to clear it.
 *
 *   GtkWidget *chip = tn_chip_new (_("rank 3"), menu_model);
 *   g_signal_connect (chip, "cleared", G_CALLBACK (cleared_cb), selection);
 */
#define TN_TYPE_CHIP (tn_chip_get_type ())
G_DECLARE_FINAL_TYPE (TnChip, tn_chip, TN, CHIP, GtkWidget)

/** @menu may be NULL: the chip is then text and ×. */
GtkWidget *tn_chip_new (const char *text, GMenuModel *menu);
void tn_chip_set_text (TnChip *self, const char *text);
const char *tn_chip_get_text (TnChip *self);
