/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw-layer.h"
#include "plot-view.h"

/* What the files of TnPlotView share. */
struct _TnPlotView
{
  GtkWidget parent_instance;
  TnPlot *plot;
  TnDrawLayer *data, *hover;
  GtkWidget *follow_button, *menu_button, *popover;
  guint tick, rest_timeout;
  gboolean needs_description;

  /* pointer and key cursor */
  gboolean has_pointer;   /* over this plot: it shows the tooltip */
  double pointer_x, pointer_y;
  int64_t hover_step;     /* -1: none */
  int64_t anchor_step;    /* where Shift+arrows began, -1: none */

  /* a drag under way */
  enum { TN_DRAG_NONE, TN_DRAG_SELECT, TN_DRAG_BOX, TN_DRAG_PAN } drag;
  double drag_x, drag_y, drag_last;
  double pinch_x, pinch_last;
};

void tn_plot_view_init_gestures (TnPlotView *self);
void tn_plot_view_class_init_keys (GtkWidgetClass *klass);
void tn_plot_view_draw_hover (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data);

/** Range or scale changed by hand: redraw, and tell when it rests. */
void tn_plot_view_moved (TnPlotView *self);
void tn_plot_view_select (TnPlotView *self, int64_t begin, int64_t end);
void tn_plot_view_popup (TnPlotView *self, double x, double y);
