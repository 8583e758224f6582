/* SPDX-License-Identifier: Apache-2.0 */
#include "picture-view.h"

#include <math.h>

#include "draw-layer.h"

#define PAD 8
#define MAX_ZOOM 64

struct _TnPictureView
{
  GtkWidget parent_instance;
  const TnPictureFuncs *funcs;
  gpointer data;
  GtkWidget *layer;
  double zoom, x, y; /* origin of the zoomed picture, at most 0 */
  double pointer_x, pointer_y, drag_x, drag_y;
};

enum
{
  PICKED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnPictureView, tn_picture_view, GTK_TYPE_WIDGET)

static TnRect
area_of (TnPictureView *self)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)), height = gtk_widget_get_height (GTK_WIDGET (self));
  return (TnRect){ self->x + PAD, self->y + PAD, MAX (width * self->zoom - 2 * PAD, 1), MAX (height * self->zoom - 2 * PAD, 1) };
}

static void
draw_cb (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer user_data)
{
  TnPictureView *self = user_data;
  TnRect area = area_of (self);
  self->funcs->draw (canvas, &area, &(TnRect){ 0, 0, width, height }, palette, self->data);
}

static void
limit (TnPictureView *self)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)), height = gtk_widget_get_height (GTK_WIDGET (self));
  self->x = CLAMP (self->x, width - width * self->zoom, 0);
  self->y = CLAMP (self->y, height - height * self->zoom, 0);
  gtk_widget_queue_draw (self->layer);
}

static void
zoom_at (TnPictureView *self, double factor, double x, double y)
{
  double zoom = CLAMP (self->zoom * factor, 1, MAX_ZOOM), ratio = zoom / self->zoom;
  self->x = x - (x - self->x) * ratio;
  self->y = y - (y - self->y) * ratio;
  self->zoom = zoom;
  limit (self);
}

void
tn_picture_view_zoom (TnPictureView *self, double factor)
{
  zoom_at (self, factor > 0 ? factor : 1 / self->zoom, gtk_widget_get_width (GTK_WIDGET (self)) / 2.0, gtk_widget_get_height (GTK_WIDGET (self)) / 2.0);
}

static void
press_cb (TnPictureView *self, int n_press, double x, double y)
{
  TnRect area = area_of (self);
  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (n_press == 2)
    tn_picture_view_zoom (self, 0);
  else
    g_signal_emit (self, signals[PICKED], 0, self->funcs->hit (&area, x, y, self->data));
}

static void
motion_cb (TnPictureView *self, double x, double y)
{
  self->pointer_x = x;
  self->pointer_y = y;
}

static gboolean
scroll_cb (TnPictureView *self, double dx, double dy, GtkEventControllerScroll *scroll)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (scroll));
  if (state & GDK_CONTROL_MASK)
    zoom_at (self, pow (1.15, -dy), self->pointer_x, self->pointer_y);
  else if (self->zoom <= 1)
    return FALSE;
  else
    {
      self->x -= 40 * (state & GDK_SHIFT_MASK ? dy : dx);
      self->y -= state & GDK_SHIFT_MASK ? 0 : 40 * dy;
      limit (self);
    }
  return TRUE;
}

static void
drag_begin_cb (TnPictureView *self)
{
  self->drag_x = self->x;
  self->drag_y = self->y;
}

static void
drag_update_cb (TnPictureView *self, double dx, double dy)
{
  self->x = self->drag_x + dx;
  self->y = self->drag_y + dy;
  limit (self);
}

static gboolean
tooltip_cb (TnPictureView *self, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  TnRect area = area_of (self);
  gint64 item = keyboard ? -1 : self->funcs->hit (&area, x, y, self->data);
  g_autofree char *text = item >= 0 ? self->funcs->describe (item, self->data) : NULL;
  if (text == NULL)
    return FALSE;
  gtk_tooltip_set_text (tooltip, text);
  gtk_tooltip_set_tip_area (tooltip, &(GdkRectangle){ x - 3, y - 3, 6, 6 });
  return TRUE;
}

static gboolean
key_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPictureView *self = TN_PICTURE_VIEW (widget);
  TnRect area = area_of (self);
  int dx, dy;
  g_variant_get (args, "(ii)", &dx, &dy);
  g_signal_emit (self, signals[PICKED], 0, self->funcs->move (&area, dx, dy, self->data));
  return TRUE;
}

static gboolean
zoom_key_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  tn_picture_view_zoom (TN_PICTURE_VIEW (widget), g_variant_get_double (args));
  return TRUE;
}

static gboolean
pan_key_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPictureView *self = TN_PICTURE_VIEW (widget);
  self->x += g_variant_get_double (args) * gtk_widget_get_width (widget);
  limit (self);
  return TRUE;
}

static void
tn_picture_view_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  GTK_WIDGET_CLASS (tn_picture_view_parent_class)->snapshot (widget, snapshot);
  if (gtk_widget_has_visible_focus (widget))
    gtk_snapshot_render_focus (snapshot, gtk_widget_get_style_context (widget), 0, 0, gtk_widget_get_width (widget), gtk_widget_get_height (widget));
}

static void
tn_picture_view_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TnPictureView *self = TN_PICTURE_VIEW (widget);
  gtk_widget_size_allocate (self->layer, &(GtkAllocation){ 0, 0, width, height }, -1);
  limit (self);
}

static void
tn_picture_view_dispose (GObject *object)
{
  g_clear_pointer (&TN_PICTURE_VIEW (object)->layer, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_picture_view_parent_class)->dispose (object);
}

static void
tn_picture_view_class_init (TnPictureViewClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);
  G_OBJECT_CLASS (klass)->dispose = tn_picture_view_dispose;
  widget_class->snapshot = tn_picture_view_snapshot;
  widget_class->size_allocate = tn_picture_view_size_allocate;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
  gtk_widget_class_set_css_name (widget_class, "pictureview");
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Left, 0, key_cb, "(ii)", -1, 0);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Right, 0, key_cb, "(ii)", 1, 0);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Up, 0, key_cb, "(ii)", 0, -1);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_Down, 0, key_cb, "(ii)", 0, 1);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_w, 0, zoom_key_cb, "d", 1.25);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_s, 0, zoom_key_cb, "d", 0.8);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_f, 0, zoom_key_cb, "d", 0.0);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_a, 0, pan_key_cb, "d", 0.2);
  gtk_widget_class_add_binding (widget_class, GDK_KEY_d, 0, pan_key_cb, "d", -0.2);
  signals[PICKED] = g_signal_new ("picked", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT64);
}

static void
tn_picture_view_init (TnPictureView *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new (), *scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  GtkGesture *press = gtk_gesture_click_new (), *drag = gtk_gesture_drag_new ();
  self->zoom = 1;
  self->layer = tn_draw_layer_new (draw_cb, self);
  gtk_widget_set_parent (self->layer, GTK_WIDGET (self));
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_has_tooltip (GTK_WIDGET (self), TRUE);
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_direction (GTK_WIDGET (self), GTK_TEXT_DIR_LTR);
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), GDK_BUTTON_MIDDLE);
  g_signal_connect_swapped (press, "pressed", G_CALLBACK (press_cb), self);
  g_signal_connect_swapped (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect_swapped (scroll, "scroll", G_CALLBACK (scroll_cb), self);
  g_signal_connect_swapped (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect_swapped (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect (self, "query-tooltip", G_CALLBACK (tooltip_cb), NULL);
  gtk_widget_add_controller (GTK_WIDGET (self), motion);
  gtk_widget_add_controller (GTK_WIDGET (self), scroll);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (press));
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (drag));
}

GtkWidget *
tn_picture_view_new (const TnPictureFuncs *funcs, gpointer data, const char *id, const char *label)
{
  TnPictureView *self = g_object_new (TN_TYPE_PICTURE_VIEW, NULL);
  self->funcs = funcs;
  self->data = data;
  gtk_widget_set_name (GTK_WIDGET (self), id);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return GTK_WIDGET (self);
}

void
tn_picture_view_update (TnPictureView *self, gint64 item)
{
  g_autofree char *text = self->funcs->describe (item, self->data);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text != NULL ? text : "", -1);
  gtk_widget_queue_draw (self->layer);
}

void
tn_picture_view_costs (TnPictureView *self, unsigned *nodes, unsigned *labels, double *ms)
{
  tn_draw_layer_costs (TN_DRAW_LAYER (self->layer), nodes, labels, ms);
}
