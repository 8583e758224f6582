/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "plot-view.h"

/* TnPlotTable: the twin of a plot: its rows as a table of step, epoch, time and one column a shown line.
 *
 * Shows the steps that the plot has under its cursor, and puts the cursor where a row is chosen. Ten million rows scroll: cells are made
 * from the series when they come into view.
 *
 *   GtkWidget *table = tn_plot_table_new (TN_PLOT_VIEW (view));
 *
 * Signals: row-chosen (int64 step)  the selected row changed by key or click */
#define TN_TYPE_PLOT_TABLE (tn_plot_table_get_type ())
G_DECLARE_FINAL_TYPE (TnPlotTable, tn_plot_table, TN, PLOT_TABLE, GtkWidget)

GtkWidget *tn_plot_table_new (TnPlotView *view);
/** After rows were appended or lines came, went, or were hidden. Cheap; costs nothing while the table is not mapped. */
void tn_plot_table_changed (TnPlotTable *self);
void tn_plot_table_set_only_events (TnPlotTable *self, gboolean only);
/** Selects the row of @step and scrolls to it. */
void tn_plot_table_show_step (TnPlotTable *self, int64_t step);
