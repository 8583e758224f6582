/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include "draw/plot.h"

/* TnPlotTableModel: the rows of a plot's shown lines by step, as a list model that makes its items only when they are asked for.
 *
 * The longest line gives the rows, in the order they arrived; steps that only other lines have are sorted in. Memory: 16 bytes for each
 * such step, nothing for the rest. Call tn_plot_table_model_update() when the plot changed; appended rows are told as appended. */
#define TN_TYPE_PLOT_TABLE_MODEL (tn_plot_table_model_get_type ())
G_DECLARE_FINAL_TYPE (TnPlotTableModel, tn_plot_table_model, TN, PLOT_TABLE_MODEL, GObject)

#define TN_TYPE_PLOT_TABLE_ROW (tn_plot_table_row_get_type ())
G_DECLARE_FINAL_TYPE (TnPlotTableRow, tn_plot_table_row, TN, PLOT_TABLE_ROW, GObject)

/** @plot must live as long as the model. */
TnPlotTableModel *tn_plot_table_model_new (TnPlot *plot);
void tn_plot_table_model_update (TnPlotTableModel *self);
/** Only rows at whose step there is an event. */
void tn_plot_table_model_set_only_events (TnPlotTableModel *self, gboolean only);
/** Place of the row with @step, or of the next one; the last one wins where a step comes twice. */
guint tn_plot_table_model_find (TnPlotTableModel *self, int64_t step);

int64_t tn_plot_table_row_step (TnPlotTableRow *row);
/** Row of @series at the step of @row; G_MAXSIZE where it has none. */
size_t tn_plot_table_row_in (TnPlotTableRow *row, const TnSeries *series);
