/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "run-control.h"
#include "selection.h"

/* TnLiveView: the plots of the current run, the status above them, and the ghost of the run before. */
#define TN_TYPE_LIVE_VIEW (tn_live_view_get_type ())
G_DECLARE_FINAL_TYPE (TnLiveView, tn_live_view, TN, LIVE_VIEW, AdwBin)

GtkWidget *tn_live_view_new (TnRunControl *control, TnSelection *selection);
/** Plots a row, from and to. */
void tn_live_view_set_columns (TnLiveView *self, guint least, guint columns);
/** Action of the group "plot" on the plot with the focus, or on the first: "zoom-in", "fit", "export" ... */
void tn_live_view_plot_action (TnLiveView *self, const char *action);
