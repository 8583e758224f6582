/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>
#include "draw/plot.h"

/* TnPlotView: a plot in a window: curves that grow, a crosshair, zoom and pan, selection of steps.
 *
 * Draws a TnPlot, which it owns and gives out: add lines and change options there, then call tn_plot_view_changed(), which costs nothing
 * when called often: one drawing a frame. The crosshair is a layer above, so pointing redraws no data. Role IMG; the name is the
 * plot's title, the description says what it shows, and with the cursor what lies there.
 *
 *   GtkWidget *view = tn_plot_view_new ("loss");
 *   TnPlotLine *line = tn_plot_add (tn_plot_view_plot (TN_PLOT_VIEW (view)), series, "run 12", "run-12");
 *   tn_plot_view_append (TN_PLOT_VIEW (view), line, step, loss, time_us);
 *
 * Properties:
 *   hover-step (int64)  step under the pointer or the key cursor, -1 for none; bind it between the plots of a page and all show the crosshair
 *   following (boolean, read only)
 *   log-y, clip-outliers, lock-y (boolean)
 * Signals:
 *   selection-changed (int64 begin, int64 end)  the user selected steps; end < begin: cleared
 *   view-rested ()      zoom or pan came to rest for 400 ms: an entry of the view history
 *   options-changed ()  the user changed log, clip or lock in the plot's menu
 *   export-requested () Export… was chosen
 *   activated ()        Enter on the plot without a selection: enlarge
 * Actions (group "plot"): zoom-in, zoom-out, fit, follow, previous-event, next-event, log-y, clip-outliers, lock-y, export, copy-data,
 *   copy-picture, add-limit, clear-limits. */
#define TN_TYPE_PLOT_VIEW (tn_plot_view_get_type ())
G_DECLARE_FINAL_TYPE (TnPlotView, tn_plot_view, TN, PLOT_VIEW, GtkWidget)

GtkWidget *tn_plot_view_new (const char *title);
/** Belongs to the view. */
TnPlot *tn_plot_view_plot (TnPlotView *self);
/** Something of the plot or its series is different: draw it in the next frame. */
void tn_plot_view_changed (TnPlotView *self);

/** Appends a row to @line's series; notes the crossing of a limit as an event. */
void tn_plot_view_append (TnPlotView *self, TnPlotLine *line, int64_t step, double value, int64_t time_us);
/** Shows an earlier run faintly behind; the legend says only @difference ("lr 0.01 → 0.1"). */
TnPlotLine *tn_plot_view_add_ghost (TnPlotView *self, TnSeries *series, const char *difference, const char *run);
void tn_plot_view_set_x (TnPlotView *self, TnXKind x, gboolean log);
void tn_plot_view_set_log_y (TnPlotView *self, gboolean log);
void tn_plot_view_set_smoothing (TnPlotView *self, double weight);

/** The shared selection, from outside: no signal. */
void tn_plot_view_set_selection (TnPlotView *self, int64_t begin, int64_t end);
int64_t tn_plot_view_hover_step (TnPlotView *self);
void tn_plot_view_set_hover_step (TnPlotView *self, int64_t step);
/** x and y range, to be kept in a view history; (0, 0): fit. */
void tn_plot_view_get_range (TnPlotView *self, double *low, double *high);
void tn_plot_view_set_range (TnPlotView *self, double low, double high);
/** Nodes and labels of the last frame of data, and its milliseconds. */
void tn_plot_view_costs (TnPlotView *self, unsigned *nodes, unsigned *labels, double *ms);
/** Writes the picture as it is shown, in @palette, with title and legend if asked; format by the ending of @path. */
gboolean tn_plot_view_save (TnPlotView *self, const char *path, double width, double height, double scale, const TnPalette *palette,
                            gboolean legend, GError **error);
