/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "plot-view-private.h"

/* What pointer and keys do on a plot: the table of gestures that all canvases share. */

#define ZOOM_STEP 1.15
#define TOUCHPAD_PART 20.0 /* pixels of a touchpad that make one step of a wheel */
#define PAN_PART 0.1       /* of the width, a key press */

static GdkModifierType
modifiers (gpointer controller)
{
  return gtk_event_controller_get_current_event_state (controller);
}

static gboolean
is_over_data (TnPlotView *self, double x, double y)
{
  TnRect inner = tn_plot_inner (self->plot);
  return x >= inner.x && x <= inner.x + inner.width && y >= inner.y && y <= inner.y + inner.height;
}

/* --- pointer --- */

static void
set_hover (TnPlotView *self, int64_t step)
{
  if (step != self->hover_step)
    tn_plot_view_set_hover_step (self, step);
  gtk_widget_queue_draw (GTK_WIDGET (self->hover));
}

static void
motion_cb (GtkEventControllerMotion *motion, double x, double y, TnPlotView *self)
{
  int64_t step;
  self->pointer_x = x;
  self->pointer_y = y;
  self->has_pointer = is_over_data (self, x, y);
  set_hover (self, self->has_pointer && tn_plot_step_at (self->plot, x, &step) ? step : -1);
}

static void
leave_cb (GtkEventControllerMotion *motion, TnPlotView *self)
{
  self->has_pointer = FALSE;
  set_hover (self, -1);
}

static gboolean
scroll_cb (GtkEventControllerScroll *scroll, double dx, double dy, TnPlotView *self)
{
  GdkModifierType state = modifiers (scroll);
  gboolean touchpad = gtk_event_controller_scroll_get_unit (scroll) == GDK_SCROLL_UNIT_SURFACE;
  double steps = touchpad ? 1 / TOUCHPAD_PART : 1;
  if (state & GDK_CONTROL_MASK)
    {
      TnRect inner = tn_plot_inner (self->plot);
      tn_plot_zoom_x (self->plot, self->has_pointer ? self->pointer_x : inner.x + inner.width / 2, pow (ZOOM_STEP, -dy * steps));
      tn_plot_view_moved (self);
      return GDK_EVENT_STOP;
    }
  double along = state & GDK_SHIFT_MASK && dx == 0 ? dy : fabs (dx) > fabs (dy) ? dx : 0;
  if (along == 0)
    return GDK_EVENT_PROPAGATE; /* the page scrolls */
  tn_plot_pan_x (self->plot, touchpad ? along : along * tn_plot_inner (self->plot).width * PAN_PART);
  tn_plot_view_moved (self);
  return GDK_EVENT_STOP;
}

static void
drag_begin_cb (GtkGestureDrag *gesture, double x, double y, TnPlotView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  self->drag = TN_DRAG_NONE;
  if (!is_over_data (self, x, y) || button == GDK_BUTTON_SECONDARY)
    {
      gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_DENIED);
      return;
    }
  self->drag_x = x;
  self->drag_y = y;
  self->drag_last = 0;
}

static void
drag_update_cb (GtkGestureDrag *gesture, double dx, double dy, TnPlotView *self)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  if (self->drag == TN_DRAG_NONE)
    {
      if (!gtk_drag_check_threshold (GTK_WIDGET (self), 0, 0, (int) dx, (int) dy))
        return;
      gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
      self->drag = button == GDK_BUTTON_MIDDLE ? TN_DRAG_PAN : modifiers (gesture) & GDK_SHIFT_MASK ? TN_DRAG_BOX : TN_DRAG_SELECT;
    }
  self->pointer_x = self->drag_x + dx;
  self->pointer_y = self->drag_y + dy;
  if (self->drag == TN_DRAG_PAN)
    {
      tn_plot_pan_x (self->plot, self->drag_last - dx);
      self->drag_last = dx;
      tn_plot_view_moved (self);
    }
  gtk_widget_queue_draw (GTK_WIDGET (self->hover));
}

static void
drag_end_cb (GtkGestureDrag *gesture, double dx, double dy, TnPlotView *self)
{
  int64_t begin, end;
  double x0 = fmin (self->drag_x, self->drag_x + dx), x1 = fmax (self->drag_x, self->drag_x + dx);
  if (self->drag == TN_DRAG_SELECT && tn_plot_step_at (self->plot, x0, &begin) && tn_plot_step_at (self->plot, x1, &end))
    tn_plot_view_select (self, MIN (begin, end), MAX (begin, end));
  if (self->drag == TN_DRAG_BOX && fabs (dx) > 2 && fabs (dy) > 2)
    {
      tn_plot_zoom_to (self->plot, &(TnRect) { x0, fmin (self->drag_y, self->drag_y + dy), x1 - x0, fabs (dy) });
      tn_plot_view_moved (self);
    }
  self->drag = TN_DRAG_NONE;
  gtk_widget_queue_draw (GTK_WIDGET (self->hover));
}

static void
released_cb (GtkGestureClick *click, int n_press, double x, double y, TnPlotView *self)
{
  int64_t step, begin, end;
  if (n_press == 2)
    {
      gtk_widget_activate_action (GTK_WIDGET (self), "plot.fit", NULL);
      return;
    }
  if (n_press != 1 || self->drag != TN_DRAG_NONE || !is_over_data (self, x, y) || !tn_plot_step_at (self->plot, x, &step))
    return;
  if (modifiers (click) & GDK_CONTROL_MASK && tn_plot_selection (self->plot, &begin, &end))
    tn_plot_view_select (self, MIN (begin, step), MAX (end, step));
  else
    tn_plot_view_select (self, step, step);
}

static void
pressed_cb (GtkGestureClick *click, int n_press, double x, double y, TnPlotView *self)
{
  gtk_widget_grab_focus (GTK_WIDGET (self));
}

static void
menu_pressed_cb (GtkGestureClick *click, int n_press, double x, double y, TnPlotView *self)
{
  gtk_gesture_set_state (GTK_GESTURE (click), GTK_EVENT_SEQUENCE_CLAIMED);
  tn_plot_view_popup (self, x, y);
}

static void
long_pressed_cb (GtkGestureLongPress *press, double x, double y, TnPlotView *self)
{
  gtk_gesture_set_state (GTK_GESTURE (press), GTK_EVENT_SEQUENCE_CLAIMED);
  tn_plot_view_popup (self, x, y);
}

static void
pinch_begin_cb (GtkGesture *gesture, GdkEventSequence *sequence, TnPlotView *self)
{
  double y;
  self->pinch_last = 1;
  gtk_gesture_get_bounding_box_center (gesture, &self->pinch_x, &y);
  gtk_gesture_set_state (gesture, GTK_EVENT_SEQUENCE_CLAIMED);
}

static void
pinch_cb (GtkGestureZoom *gesture, double scale, TnPlotView *self)
{
  double x, y;
  if (gtk_gesture_get_bounding_box_center (GTK_GESTURE (gesture), &x, &y)) /* two fingers that move together pan */
    {
      tn_plot_pan_x (self->plot, self->pinch_x - x);
      self->pinch_x = x;
    }
  tn_plot_zoom_x (self->plot, self->pinch_x, scale / self->pinch_last);
  self->pinch_last = scale;
  tn_plot_view_moved (self);
}

/* --- keys --- */

static int64_t
cursor_or_last (TnPlotView *self)
{
  int64_t step = self->hover_step;
  TnRect inner = tn_plot_inner (self->plot);
  if (step < 0 && !tn_plot_step_at (self->plot, inner.x + inner.width, &step))
    return -1;
  return step;
}

static double
zoom_anchor (TnPlotView *self)
{
  TnRect inner = tn_plot_inner (self->plot);
  double pixel;
  if (self->hover_step >= 0 && tn_plot_pixel_of_step (self->plot, self->hover_step, &pixel) && pixel >= inner.x && pixel <= inner.x + inner.width)
    return pixel;
  return inner.x + inner.width / 2;
}

/* The row beside @step in the first shown line that has one. */
static int64_t
step_beside (TnPlotView *self, int64_t step, int direction)
{
  int64_t best = -1;
  for (unsigned i = 0; i < tn_plot_n_lines (self->plot); i++)
    {
      const TnPlotLine *line = tn_plot_line (self->plot, i);
      size_t n_segments, n = tn_series_n (line->series);
      const TnSegment *segments = tn_series_segments (line->series, &n_segments);
      const int64_t *steps = tn_series_steps (line->series);
      if (n == 0 || !tn_plot_line_is_shown (self->plot, line))
        continue;
      size_t begin = segments[n_segments - 1].begin;
      size_t at = tn_series_find (steps, begin, n, begin, direction > 0 ? step + 1 : step);
      if (direction > 0 ? at == n : at == begin)
        continue;
      int64_t found = steps[direction > 0 ? at : at - 1];
      if (best < 0 || (direction > 0 ? found < best : found > best))
        best = found;
    }
  return best >= 0 ? best : step;
}

static void
reveal (TnPlotView *self, int64_t step)
{
  TnRect inner = tn_plot_inner (self->plot);
  double pixel;
  if (!tn_plot_pixel_of_step (self->plot, step, &pixel))
    return;
  double by = pixel < inner.x ? pixel - inner.x - 20 : pixel > inner.x + inner.width ? pixel - inner.x - inner.width + 20 : 0;
  if (by == 0)
    return;
  tn_plot_pan_x (self->plot, by);
  tn_plot_view_moved (self);
}

static void
go_to (TnPlotView *self, int64_t step, gboolean extend)
{
  if (step < 0)
    return;
  int64_t from = self->hover_step >= 0 ? self->hover_step : step;
  if (!extend)
    self->anchor_step = -1;
  else if (self->anchor_step < 0)
    self->anchor_step = from;
  reveal (self, step);
  self->has_pointer = FALSE;
  set_hover (self, step);
  if (extend)
    tn_plot_view_select (self, MIN (self->anchor_step, step), MAX (self->anchor_step, step));
}

static gboolean
move_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  int direction, extend;
  g_variant_get (args, "(ib)", &direction, &extend);
  int64_t at = cursor_or_last (self);
  go_to (self, self->hover_step < 0 ? at : step_beside (self, at, direction), extend);
  return GDK_EVENT_STOP;
}

static gboolean
event_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  gtk_widget_activate_action (widget, g_variant_get_int32 (args) > 0 ? "plot.next-event" : "plot.previous-event", NULL);
  return GDK_EVENT_STOP;
}

static gboolean
pan_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  tn_plot_pan_x (self->plot, g_variant_get_int32 (args) * tn_plot_inner (self->plot).width * PAN_PART);
  tn_plot_view_moved (self);
  return GDK_EVENT_STOP;
}

static gboolean
zoom_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  tn_plot_zoom_x (self->plot, zoom_anchor (self), pow (ZOOM_STEP, 2 * g_variant_get_int32 (args)));
  tn_plot_view_moved (self);
  return GDK_EVENT_STOP;
}

static gboolean
enter_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  if (self->hover_step >= 0)
    tn_plot_view_select (self, self->hover_step, self->hover_step);
  else
    g_signal_emit_by_name (self, "activated");
  return GDK_EVENT_STOP;
}

static gboolean
zoom_to_selection_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  int64_t begin, end;
  double left, right;
  if (!tn_plot_selection (self->plot, &begin, &end) || !tn_plot_pixel_of_step (self->plot, begin, &left)
      || !tn_plot_pixel_of_step (self->plot, end, &right) || right - left < 1e-6)
    return GDK_EVENT_PROPAGATE;
  const TnAxis *x = tn_plot_x_axis (self->plot);
  tn_plot_set_x_range (self->plot, tn_axis_value (x, left), tn_axis_value (x, right));
  tn_plot_view_moved (self);
  return GDK_EVENT_STOP;
}

static gboolean
edge_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  const TnAxis *x = tn_plot_x_axis (self->plot);
  int64_t step;
  if (g_variant_get_int32 (args) > 0)
    {
      gtk_widget_activate_action (widget, "plot.follow", NULL);
      return GDK_EVENT_STOP;
    }
  if (tn_plot_step_at (self->plot, x->log ? x->from : x->from - 1e9, &step))
    go_to (self, step, FALSE);
  return GDK_EVENT_STOP;
}

static gboolean
menu_key_cb (GtkWidget *widget, GVariant *args, gpointer user_data)
{
  TnPlotView *self = TN_PLOT_VIEW (widget);
  tn_plot_view_popup (self, zoom_anchor (self), gtk_widget_get_height (widget) / 2.0);
  return GDK_EVENT_STOP;
}

/* W, A, S, D by their place on the keyboard, whatever the layout writes there. Evdev codes + 8. */
static gboolean
key_pressed_cb (GtkEventControllerKey *key, guint keyval, guint keycode, GdkModifierType state, TnPlotView *self)
{
  if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK | GDK_SUPER_MASK))
    return GDK_EVENT_PROPAGATE;
  GtkWidget *widget = GTK_WIDGET (self);
  g_autoptr (GVariant) plus = g_variant_ref_sink (g_variant_new_int32 (1)), minus = g_variant_ref_sink (g_variant_new_int32 (-1));
  switch (keycode)
    {
    case 25:
      return zoom_cb (widget, plus, NULL);
    case 39:
      return zoom_cb (widget, minus, NULL);
    case 38:
      return pan_cb (widget, minus, NULL);
    case 40:
      return pan_cb (widget, plus, NULL);
    default:
      return GDK_EVENT_PROPAGATE;
    }
}

static void
bind (GtkWidgetClass *klass, guint key, GdkModifierType state, GtkShortcutFunc func, int argument)
{
  gtk_widget_class_add_binding (klass, key, state, func, "i", argument);
}

void
tn_plot_view_class_init_keys (GtkWidgetClass *klass)
{
  static const struct { guint key; int direction; } arrows[] = {
    { GDK_KEY_Left, -1 }, { GDK_KEY_KP_Left, -1 }, { GDK_KEY_Right, 1 }, { GDK_KEY_KP_Right, 1 },
  };
  for (int i = 0; i < G_N_ELEMENTS (arrows); i++)
    {
      gtk_widget_class_add_binding (klass, arrows[i].key, 0, move_cb, "(ib)", arrows[i].direction, FALSE);
      gtk_widget_class_add_binding (klass, arrows[i].key, GDK_SHIFT_MASK, move_cb, "(ib)", arrows[i].direction, TRUE);
      bind (klass, arrows[i].key, GDK_CONTROL_MASK, event_cb, arrows[i].direction);
    }
  bind (klass, GDK_KEY_period, 0, event_cb, 1);
  bind (klass, GDK_KEY_comma, 0, event_cb, -1);
  bind (klass, GDK_KEY_Home, 0, edge_cb, -1);
  bind (klass, GDK_KEY_End, 0, edge_cb, 1);
  bind (klass, GDK_KEY_Return, 0, enter_cb, 0);
  bind (klass, GDK_KEY_KP_Enter, 0, enter_cb, 0);
  bind (klass, GDK_KEY_z, 0, zoom_to_selection_cb, 0);
  bind (klass, GDK_KEY_Menu, 0, menu_key_cb, 0);
  bind (klass, GDK_KEY_F10, GDK_SHIFT_MASK, menu_key_cb, 0);
}

static void
add (TnPlotView *self, gpointer controller)
{
  gtk_widget_add_controller (GTK_WIDGET (self), controller);
}

void
tn_plot_view_init_gestures (TnPlotView *self)
{
  GtkEventController *motion = gtk_event_controller_motion_new ();
  g_signal_connect (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "enter", G_CALLBACK (motion_cb), self);
  g_signal_connect (motion, "leave", G_CALLBACK (leave_cb), self);
  add (self, motion);

  GtkEventController *scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  g_signal_connect (scroll, "scroll", G_CALLBACK (scroll_cb), self);
  add (self, scroll);

  GtkGesture *pinch = gtk_gesture_zoom_new ();
  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (pinch), GTK_PHASE_CAPTURE);
  g_signal_connect (pinch, "begin", G_CALLBACK (pinch_begin_cb), self);
  g_signal_connect (pinch, "scale-changed", G_CALLBACK (pinch_cb), self);
  add (self, pinch);

  GtkGesture *click = gtk_gesture_click_new ();
  g_signal_connect (click, "pressed", G_CALLBACK (pressed_cb), self);
  g_signal_connect (click, "released", G_CALLBACK (released_cb), self);
  add (self, click);

  GtkGesture *drag = gtk_gesture_drag_new ();
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect (drag, "drag-end", G_CALLBACK (drag_end_cb), self);
  add (self, drag);

  GtkGesture *menu = gtk_gesture_click_new ();
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (menu), GDK_BUTTON_SECONDARY);
  g_signal_connect (menu, "pressed", G_CALLBACK (menu_pressed_cb), self);
  add (self, menu);

  GtkGesture *press = gtk_gesture_long_press_new ();
  gtk_gesture_single_set_touch_only (GTK_GESTURE_SINGLE (press), TRUE);
  g_signal_connect (press, "pressed", G_CALLBACK (long_pressed_cb), self);
  add (self, press);

  GtkEventController *key = gtk_event_controller_key_new ();
  g_signal_connect (key, "key-pressed", G_CALLBACK (key_pressed_cb), self);
  add (self, key);
}
