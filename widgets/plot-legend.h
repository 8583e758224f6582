/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "plot-view.h"

/* TnPlotLegend: the lines of a plot, each with a box to show or hide it, its colour, name and numbers.
 *
 * The value is that at the crosshair, else the last. A double click shows only that line, again all; rows are dragged into another order,
 * by keys with Alt+Up and Alt+Down. Put it right of the plot where there is room, under it elsewhere.
 *
 *   GtkWidget *legend = tn_plot_legend_new (TN_PLOT_VIEW (view));
 *
 * Signals: color-chosen (char *run, GdkRGBA *color)  to be kept with the run; changed ()  visibility or order */
#define TN_TYPE_PLOT_LEGEND (tn_plot_legend_get_type ())
G_DECLARE_FINAL_TYPE (TnPlotLegend, tn_plot_legend, TN, PLOT_LEGEND, GtkWidget)

GtkWidget *tn_plot_legend_new (TnPlotView *view);
/** Lines came or went, or have new values. Cheap; at most ten times a second. */
void tn_plot_legend_changed (TnPlotLegend *self);
