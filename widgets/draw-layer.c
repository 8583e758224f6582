/* SPDX-License-Identifier: Apache-2.0 */
#include "draw-layer.h"
#include <adwaita.h>
#include "canvas-snapshot.h"

struct _TnDrawLayer
{
  GtkWidget parent_instance;
  TnDrawLayerFunc draw;
  gpointer user_data;
  TnCanvas *canvas;
  unsigned nodes, labels;
  double ms;
};

G_DEFINE_FINAL_TYPE (TnDrawLayer, tn_draw_layer, GTK_TYPE_WIDGET)

const TnPalette *
tn_palette_current (void)
{
  AdwStyleManager *style = adw_style_manager_get_default ();
  gboolean dark = adw_style_manager_get_dark (style), contrast = adw_style_manager_get_high_contrast (style);
  return tn_palette_get (dark ? (contrast ? TN_PALETTE_DARK_CONTRAST : TN_PALETTE_DARK)
                              : contrast ? TN_PALETTE_LIGHT_CONTRAST : TN_PALETTE_LIGHT);
}

static void
tn_draw_layer_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  TnDrawLayer *self = TN_DRAW_LAYER (widget);
  gint64 start = g_get_monotonic_time ();
  int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  if (width <= 0 || height <= 0)
    return;
  tn_snapshot_canvas_begin (self->canvas, snapshot);
  gtk_snapshot_push_clip (snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) width, (float) height));
  self->draw (self->canvas, width, height, tn_palette_current (), self->user_data);
  gtk_snapshot_pop (snapshot);
  self->nodes = self->canvas->nodes;
  self->labels = self->canvas->labels;
  self->ms = (double) (g_get_monotonic_time () - start) / 1000;
}

static void
tn_draw_layer_css_changed (GtkWidget *widget, GtkCssStyleChange *change)
{
  GTK_WIDGET_CLASS (tn_draw_layer_parent_class)->css_changed (widget, change);
  tn_snapshot_canvas_forget (TN_DRAW_LAYER (widget)->canvas);
  gtk_widget_queue_draw (widget);
}

static void
tn_draw_layer_finalize (GObject *object)
{
  tn_snapshot_canvas_free (TN_DRAW_LAYER (object)->canvas);
  G_OBJECT_CLASS (tn_draw_layer_parent_class)->finalize (object);
}

static void
tn_draw_layer_class_init (TnDrawLayerClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->finalize = tn_draw_layer_finalize;
  widget_class->snapshot = tn_draw_layer_snapshot;
  widget_class->css_changed = tn_draw_layer_css_changed;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_PRESENTATION);
}

static void
tn_draw_layer_init (TnDrawLayer *self)
{
  AdwStyleManager *style = adw_style_manager_get_default ();
  self->canvas = tn_snapshot_canvas_new (GTK_WIDGET (self));
  gtk_widget_set_can_target (GTK_WIDGET (self), FALSE);
  g_signal_connect_object (style, "notify::dark", G_CALLBACK (gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (style, "notify::high-contrast", G_CALLBACK (gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
}

GtkWidget *
tn_draw_layer_new (TnDrawLayerFunc draw, gpointer user_data)
{
  TnDrawLayer *self = g_object_new (TN_TYPE_DRAW_LAYER, NULL);
  self->draw = draw;
  self->user_data = user_data;
  return GTK_WIDGET (self);
}

TnCanvas *
tn_draw_layer_canvas (TnDrawLayer *self)
{
  return self->canvas;
}

void
tn_draw_layer_costs (TnDrawLayer *self, unsigned *nodes, unsigned *labels, double *ms)
{
  *nodes = self->nodes;
  *labels = self->labels;
  *ms = self->ms;
}
