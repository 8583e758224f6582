/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "selection.h"

/* TnSelectionBar: what is selected, one chip a part; hidden while nothing is. */
#define TN_TYPE_SELECTION_BAR (tn_selection_bar_get_type ())
G_DECLARE_FINAL_TYPE (TnSelectionBar, tn_selection_bar, TN, SELECTION_BAR, AdwBin)

GtkWidget *tn_selection_bar_new (TnSelection *selection);
