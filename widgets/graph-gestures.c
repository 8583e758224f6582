/* SPDX-License-Identifier: Apache-2.0 */
#include "graph-view-private.h"
#include <math.h>

#define ZOOM_STEP 1.15
#define SURFACE_DELTA 20.0 /* touchpad units a wheel step */

static TnGraphPicture
picture_of (TnGraphView *self)
{
  return tn_graph_view_picture (self);
}

static TnGraphHit
hit_at (TnGraphView *self, double x, double y)
{
  TnGraphHit nothing = { TN_HIT_NOTHING, -1, -1, -1, 0 };
  if (self->cut == NULL)
    return nothing;
  TnGraphPicture picture = picture_of (self);
  return tn_graph_picture_hit (&picture, &self->transform, x, y);
}

static void
pan (TnGraphView *self, double dx, double dy)
{
  TnGraphTransform t = self->transform;
  t.x += dx / t.scale;
  t.y += dy / t.scale;
  tn_graph_view_set_transform (self, t);
}

/* ---- pointer ---- */

static char *
tip_of (TnGraphView *self, const TnGraphHit *hit)
{
  if (hit->kind == TN_HIT_BOX || hit->kind == TN_HIT_EXPANDER)
    {
      if (hit->box < 0)
        return NULL;
      const TnGraphBox *box = &self->cut->boxes[hit->box];
      const TnGraphItem *item = box->item >= 0 ? &self->document->items[box->item] : NULL;
      const char *name = item != NULL ? item->name : box->scope >= 0 ? self->document->scopes[box->scope].path : box->title;
      return g_strdup_printf ("%s\n%s%s%s", name, item != NULL ? item->op : box->type, box->shape[0] != '\0' ? "  " : "", box->shape);
    }
  if (hit->kind == TN_HIT_EDGE)
    {
      const TnGraphEdge *edge = &self->cut->edges[hit->edge];
      g_autofree char *size = edge->bytes > 0 ? g_format_size_full ((guint64) edge->bytes, G_FORMAT_SIZE_IEC_UNITS) : g_strdup ("");
      return g_strdup_printf ("%s → %s\n%s", self->cut->boxes[edge->from].title, self->cut->boxes[edge->to].title, size);
    }
  return NULL;
}

static void
motion_cb (TnGraphView *self, double x, double y)
{
  self->pointer_x = x;
  self->pointer_y = y;
  TnGraphHit hit = hit_at (self, x, y);
  gtk_widget_set_cursor_from_name (GTK_WIDGET (self), hit.kind == TN_HIT_EXPANDER || hit.kind == TN_HIT_TAG ? "pointer" : NULL);
  if (hit.box == self->hover)
    return;
  self->hover = hit.box;
  gtk_widget_queue_draw (self->hover_layer);
}

static void
leave_cb (TnGraphView *self)
{
  self->hover = -1;
  gtk_widget_queue_draw (self->hover_layer);
}

static gboolean
tooltip_cb (TnGraphView *self, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  TnGraphHit hit = keyboard ? (TnGraphHit){ TN_HIT_BOX, self->cursor, -1, -1, 0 } : hit_at (self, x, y);
  g_autofree char *text = tip_of (self, &hit);
  if (text == NULL)
    return FALSE;
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  gtk_tooltip_set_text (tooltip, valid);
  if (hit.box >= 0)
    {
      TnRect r = tn_graph_view_box_rect (self, hit.box);
      gtk_tooltip_set_tip_area (tooltip, &(GdkRectangle){ (int) r.x, (int) r.y, (int) MAX (r.width, 1), (int) MAX (r.height, 1) });
    }
  return TRUE;
}

/* ---- wheel and pinch ---- */

static gboolean
scroll_cb (TnGraphView *self, double dx, double dy, GtkEventControllerScroll *controller)
{
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (controller));
  gboolean smooth = gtk_event_controller_scroll_get_unit (controller) == GDK_SCROLL_UNIT_SURFACE;
  if (self->cut == NULL)
    return FALSE;
  if (state & GDK_CONTROL_MASK)
    {
      TnGraphTransform t = self->transform;
      double steps = (dx + dy) / (smooth ? SURFACE_DELTA : 1);
      tn_graph_transform_zoom (&t, pow (ZOOM_STEP, -steps), self->pointer_x, self->pointer_y);
      tn_graph_view_set_transform (self, t);
    }
  else
    {
      double step = smooth ? 1 : 60;
      if (state & GDK_SHIFT_MASK && dx == 0)
        pan (self, dy * step, 0);
      else
        pan (self, dx * step, dy * step);
    }
  return TRUE;
}

static void
pinch_begin_cb (TnGraphView *self, GdkEventSequence *sequence, GtkGesture *gesture)
{
  self->pinch_scale = 1;
  gtk_gesture_set_state (gesture, GTK_EVENT_SEQUENCE_CLAIMED);
}

static void
pinch_cb (TnGraphView *self, double scale, GtkGesture *gesture)
{
  double x, y;
  if (self->layout == NULL || !gtk_gesture_get_bounding_box_center (gesture, &x, &y) || scale <= 0)
    return;
  TnGraphTransform t = self->transform;
  tn_graph_transform_zoom (&t, scale / self->pinch_scale, x, y);
  self->pinch_scale = scale;
  tn_graph_view_set_transform (self, t);
}

/* ---- press ---- */

static void
open_or_close (TnGraphView *self, const TnGraphHit *hit)
{
  if (hit->box >= 0)
    tn_graph_view_toggle_box (self, hit->box);
  else if (hit->frame >= 0)
    tn_graph_view_close_scope (self, self->cut->frames[hit->frame].scope);
}

static void
pressed_cb (TnGraphView *self, int n_press, double x, double y, GtkGestureClick *gesture)
{
  guint button = gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture));
  GdkModifierType state = gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture));
  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (self->cut == NULL)
    return;
  TnGraphHit hit = hit_at (self, x, y);
  if (button == GDK_BUTTON_SECONDARY)
    {
      if (hit.box >= 0 && !(self->marks[hit.box] & TN_MARK_SELECTED))
        tn_graph_view_select_box (self, hit.box, FALSE);
      g_signal_emit_by_name (self, "menu", x, y);
      return;
    }
  if (button != GDK_BUTTON_PRIMARY || (state & GDK_SHIFT_MASK))
    return;
  if (n_press == 2)
    {
      open_or_close (self, &hit);
      return;
    }
  switch (hit.kind)
    {
    case TN_HIT_EXPANDER:
      open_or_close (self, &hit);
      break;
    case TN_HIT_TAG:
      tn_graph_view_follow_tunnel (self, hit.box, hit.number);
      break;
    case TN_HIT_FRAME:
      tn_graph_view_select_scope (self, self->cut->frames[hit.frame].scope, FALSE);
      break;
    case TN_HIT_EDGE:
      tn_graph_view_select_box (self, self->cut->edges[hit.edge].from, FALSE);
      tn_graph_view_select_box (self, self->cut->edges[hit.edge].to, TRUE);
      break;
    case TN_HIT_BOX:
      tn_graph_view_select_box (self, hit.box, (state & GDK_CONTROL_MASK) != 0);
      break;
    default:
      break;
    }
}

/* A press on nothing that was no drag lets the selection go. */
static void
released_cb (TnGraphView *self, int n_press, double x, double y, GtkGestureClick *gesture)
{
  if (gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture)) != GDK_BUTTON_PRIMARY || self->cut == NULL || n_press != 1)
    return;
  if (hit_at (self, x, y).kind == TN_HIT_NOTHING)
    {
      tn_graph_view_clear_trace (self);
      tn_graph_view_select_box (self, -1, FALSE);
    }
}

static void
long_press_cb (TnGraphView *self, double x, double y)
{
  g_signal_emit_by_name (self, "menu", x, y);
}

/* ---- drag ---- */

static gboolean
is_band (GtkGestureDrag *gesture)
{
  return (gtk_event_controller_get_current_event_state (GTK_EVENT_CONTROLLER (gesture)) & GDK_SHIFT_MASK) != 0;
}

static void
drag_begin_cb (TnGraphView *self, double x, double y, GtkGestureDrag *gesture)
{
  self->drag_start = self->transform;
  self->band = (TnRect){ 0 };
  if (gtk_gesture_single_get_current_button (GTK_GESTURE_SINGLE (gesture)) == GDK_BUTTON_SECONDARY)
    gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_DENIED);
}

static void
drag_update_cb (TnGraphView *self, double dx, double dy, GtkGestureDrag *gesture)
{
  double x, y;
  if (self->layout == NULL || !gtk_gesture_drag_get_start_point (gesture, &x, &y) || !gtk_drag_check_threshold (GTK_WIDGET (self), 0, 0, (int) dx, (int) dy))
    return;
  gtk_gesture_set_state (GTK_GESTURE (gesture), GTK_EVENT_SEQUENCE_CLAIMED);
  if (is_band (gesture) || self->band.width > 0)
    {
      self->band = (TnRect){ MIN (x, x + dx), MIN (y, y + dy), MAX (fabs (dx), 1), MAX (fabs (dy), 1) };
      gtk_widget_queue_draw (self->hover_layer);
      return;
    }
  TnGraphTransform t = self->drag_start;
  t.x -= dx / t.scale;
  t.y -= dy / t.scale;
  tn_graph_view_set_transform (self, t);
}

static void
drag_end_cb (TnGraphView *self, double dx, double dy, GtkGestureDrag *gesture)
{
  if (self->band.width <= 0 || self->cut == NULL)
    return;
  TnGraphPicture picture = picture_of (self);
  g_autoptr (GArray) boxes = tn_graph_picture_boxes_in (&picture, &self->transform, &self->band);
  self->band = (TnRect){ 0 };
  for (guint i = 0; i < boxes->len; i++)
    tn_graph_view_select_box (self, g_array_index (boxes, int, i), i > 0);
  gtk_widget_queue_draw (self->hover_layer);
}

/* ---- minimap ---- */

static void
go_to_minimap (TnGraphView *self, double x, double y)
{
  TnGraphPicture picture = picture_of (self);
  TnRect area = tn_graph_view_minimap_area (self);
  if (self->layout == NULL)
    return;
  TnPoint at = tn_graph_picture_minimap_point (&picture, &area, x, y);
  TnGraphTransform t = self->transform;
  t.x = at.x - gtk_widget_get_width (GTK_WIDGET (self)) / t.scale / 2;
  t.y = at.y - gtk_widget_get_height (GTK_WIDGET (self)) / t.scale / 2;
  tn_graph_view_set_transform (self, t);
}

static void
minimap_begin_cb (TnGraphView *self, double x, double y, GtkGesture *gesture)
{
  gtk_gesture_set_state (gesture, GTK_EVENT_SEQUENCE_CLAIMED);
  go_to_minimap (self, x, y);
}

static void
minimap_update_cb (TnGraphView *self, double dx, double dy, GtkGestureDrag *gesture)
{
  double x, y;
  if (gtk_gesture_drag_get_start_point (gesture, &x, &y))
    go_to_minimap (self, x + dx, y + dy);
}

void
tn_graph_view_add_gestures (TnGraphView *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  GtkEventController *motion = gtk_event_controller_motion_new ();
  g_signal_connect_swapped (motion, "motion", G_CALLBACK (motion_cb), self);
  g_signal_connect_swapped (motion, "leave", G_CALLBACK (leave_cb), self);
  gtk_widget_add_controller (widget, motion);
  GtkEventController *scroll = gtk_event_controller_scroll_new (GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  g_signal_connect_swapped (scroll, "scroll", G_CALLBACK (scroll_cb), self);
  gtk_widget_add_controller (widget, scroll);
  GtkGesture *pinch = gtk_gesture_zoom_new ();
  g_signal_connect_swapped (pinch, "begin", G_CALLBACK (pinch_begin_cb), self);
  g_signal_connect_swapped (pinch, "scale-changed", G_CALLBACK (pinch_cb), self);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (pinch));
  GtkGesture *click = gtk_gesture_click_new ();
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (click), 0);
  g_signal_connect_swapped (click, "pressed", G_CALLBACK (pressed_cb), self);
  g_signal_connect_swapped (click, "released", G_CALLBACK (released_cb), self);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (click));
  GtkGesture *drag = gtk_gesture_drag_new ();
  gtk_gesture_single_set_button (GTK_GESTURE_SINGLE (drag), 0);
  g_signal_connect_swapped (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect_swapped (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  g_signal_connect_swapped (drag, "drag-end", G_CALLBACK (drag_end_cb), self);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (drag));
  GtkGesture *press = gtk_gesture_long_press_new ();
  gtk_gesture_single_set_touch_only (GTK_GESTURE_SINGLE (press), TRUE);
  g_signal_connect_swapped (press, "pressed", G_CALLBACK (long_press_cb), self);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (press));
  GtkGesture *map = gtk_gesture_drag_new ();
  g_signal_connect_swapped (map, "drag-begin", G_CALLBACK (minimap_begin_cb), self);
  g_signal_connect_swapped (map, "drag-update", G_CALLBACK (minimap_update_cb), self);
  gtk_widget_add_controller (self->minimap, GTK_EVENT_CONTROLLER (map));
  gtk_widget_set_can_target (self->minimap, TRUE);
  gtk_widget_set_has_tooltip (widget, TRUE);
  g_signal_connect (self, "query-tooltip", G_CALLBACK (tooltip_cb), NULL);
}

/* ---- keys ---- */

static gboolean
has_cursor (TnGraphView *self)
{
  return self->cut != NULL && self->cursor >= 0 && self->cursor < self->cut->n_boxes;
}

/* The nearest box up, down, left or right: along an edge where one leads there. */
static void
step (TnGraphView *self, int dx, int dy)
{
  if (self->cut == NULL || self->cut->n_boxes == 0)
    return;
  if (!has_cursor (self))
    {
      tn_graph_view_select_box (self, 0, FALSE);
      return;
    }
  const TnRect *at = &self->layout->boxes[self->cursor];
  int best = -1;
  double least = G_MAXDOUBLE;
  g_autofree gboolean *linked = g_new0 (gboolean, self->cut->n_boxes + 1);
  for (int e = 0; e < self->cut->n_edges; e++)
    if (self->cut->edges[e].from == self->cursor)
      linked[self->cut->edges[e].to] = TRUE;
    else if (self->cut->edges[e].to == self->cursor)
      linked[self->cut->edges[e].from] = TRUE;
  for (int b = 0; b < self->cut->n_boxes; b++)
    {
      const TnRect *r = &self->layout->boxes[b];
      double x = r->x + r->width / 2 - at->x - at->width / 2, y = r->y + r->height / 2 - at->y - at->height / 2;
      double ahead = dx != 0 ? x * dx : y * dy, aside = fabs (dx != 0 ? y : x);
      if (b == self->cursor || ahead < 2)
        continue;
      double cost = ahead + aside * 2 - (linked[b] ? 400 : 0);
      if (cost < least)
        {
          least = cost;
          best = b;
        }
    }
  if (best >= 0)
    {
      tn_graph_view_select_box (self, best, FALSE);
      TnRect r = tn_graph_view_box_rect (self, best);
      double w = gtk_widget_get_width (GTK_WIDGET (self)), h = gtk_widget_get_height (GTK_WIDGET (self));
      pan (self, r.x < 12 ? r.x - 40 : r.x + r.width > w - 12 ? r.x + r.width - w + 40 : 0,
           r.y < 12 ? r.y - 40 : r.y + r.height > h - 12 ? r.y + r.height - h + 40 : 0);
    }
}

static void
open_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  if (has_cursor (self) && self->cut->boxes[self->cursor].can_open)
    tn_graph_view_toggle_box (self, self->cursor);
  else if (parameter != NULL && g_variant_get_boolean (parameter))
    step (self, 1, 0);
}

static void
close_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  if (!has_cursor (self))
    return;
  int frame = self->cut->boxes[self->cursor].frame;
  if (frame >= 0)
    tn_graph_view_close_scope (self, self->cut->frames[frame].scope);
  else
    step (self, -1, 0);
}

static void
step_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  int dx, dy;
  g_variant_get (parameter, "(ii)", &dx, &dy);
  step (TN_GRAPH_VIEW (widget), dx, dy);
}

static void
pan_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  int dx, dy;
  g_variant_get (parameter, "(ii)", &dx, &dy);
  pan (TN_GRAPH_VIEW (widget), dx * gtk_widget_get_width (widget) / 8.0, dy * gtk_widget_get_height (widget) * 0.7);
}

static void
zoom_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  tn_graph_view_zoom (TN_GRAPH_VIEW (widget), g_variant_get_boolean (parameter) ? ZOOM_STEP : 1 / ZOOM_STEP);
}

static void
trace_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  if (g_str_has_suffix (name, "path"))
    tn_graph_view_trace_path (self);
  else
    tn_graph_view_trace (self, g_str_has_suffix (name, "inputs"));
}

static void
escape_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  if (tn_graph_view_is_busy (self))
    tn_graph_view_cancel (self);
  else if (self->lit != NULL)
    tn_graph_view_clear_trace (self);
  else
    tn_graph_view_select_box (self, -1, FALSE);
}

static void
select_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  if (has_cursor (self))
    tn_graph_view_select_box (self, self->cursor, TRUE);
}

static void
fit_item_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  tn_graph_view_fit_selection (TN_GRAPH_VIEW (widget));
}

static void
only_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  if (self->folds == NULL)
    return;
  int scope = self->selected_scope >= 0 ? self->selected_scope : self->last >= 0 ? self->document->items[self->last].scope : -1;
  self->folds->only = self->folds->only >= 0 ? -1 : scope;
  if (self->folds->only >= 0)
    tn_graph_folds_open (self->folds, scope);
  self->was_fitted = FALSE;
  tn_graph_view_update (self);
}

static void
all_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  if (self->folds == NULL)
    return;
  if (g_str_has_suffix (name, "expand-all"))
    tn_graph_folds_expand_all (self->folds);
  else if (g_str_has_suffix (name, "collapse-all"))
    tn_graph_folds_collapse_all (self->folds);
  else
    tn_graph_folds_reset (self->folds);
  self->was_fitted = FALSE;
  tn_graph_view_update (self);
}

static void
menu_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  TnGraphView *self = TN_GRAPH_VIEW (widget);
  TnRect r = has_cursor (self) ? tn_graph_view_box_rect (self, self->cursor) : (TnRect){ 20, 20, 0, 0 };
  g_signal_emit_by_name (self, "menu", r.x + r.width / 2, r.y + r.height);
}

void
tn_graph_view_install_actions (GtkWidgetClass *class)
{
  gtk_widget_class_install_action (class, "graph.open", "b", open_action);
  gtk_widget_class_install_action (class, "graph.close", NULL, close_action);
  gtk_widget_class_install_action (class, "graph.step", "(ii)", step_action);
  gtk_widget_class_install_action (class, "graph.pan", "(ii)", pan_action);
  gtk_widget_class_install_action (class, "graph.zoom", "b", zoom_action);
  gtk_widget_class_install_action (class, "graph.inputs", NULL, trace_action);
  gtk_widget_class_install_action (class, "graph.outputs", NULL, trace_action);
  gtk_widget_class_install_action (class, "graph.path", NULL, trace_action);
  gtk_widget_class_install_action (class, "graph.escape", NULL, escape_action);
  gtk_widget_class_install_action (class, "graph.select", NULL, select_action);
  gtk_widget_class_install_action (class, "graph.fit-item", NULL, fit_item_action);
  gtk_widget_class_install_action (class, "graph.only", NULL, only_action);
  gtk_widget_class_install_action (class, "graph.expand-all", NULL, all_action);
  gtk_widget_class_install_action (class, "graph.collapse-all", NULL, all_action);
  gtk_widget_class_install_action (class, "graph.reset", NULL, all_action);
  gtk_widget_class_install_action (class, "graph.menu", NULL, menu_action);
  static const struct
  {
    guint key;
    GdkModifierType state;
    const char *action, *format;
    int a, b;
  } keys[] = {
    { GDK_KEY_Return, 0, "graph.open", "b", FALSE, 0 },     { GDK_KEY_KP_Enter, 0, "graph.open", "b", FALSE, 0 },
    { GDK_KEY_Right, 0, "graph.open", "b", TRUE, 0 },       { GDK_KEY_Left, 0, "graph.close", NULL, 0, 0 },
    { GDK_KEY_BackSpace, 0, "graph.close", NULL, 0, 0 },    { GDK_KEY_Up, 0, "graph.step", "(ii)", 0, -1 },
    { GDK_KEY_Down, 0, "graph.step", "(ii)", 0, 1 },        { GDK_KEY_Left, GDK_CONTROL_MASK, "graph.step", "(ii)", -1, 0 },
    { GDK_KEY_Right, GDK_CONTROL_MASK, "graph.step", "(ii)", 1, 0 }, { GDK_KEY_w, 0, "graph.zoom", "b", TRUE, 0 },
    { GDK_KEY_s, 0, "graph.zoom", "b", FALSE, 0 },          { GDK_KEY_a, 0, "graph.pan", "(ii)", -1, 0 },
    { GDK_KEY_d, 0, "graph.pan", "(ii)", 1, 0 },            { GDK_KEY_Page_Up, 0, "graph.pan", "(ii)", 0, -1 },
    { GDK_KEY_Page_Down, 0, "graph.pan", "(ii)", 0, 1 },    { GDK_KEY_i, 0, "graph.inputs", NULL, 0, 0 },
    { GDK_KEY_o, 0, "graph.outputs", NULL, 0, 0 },          { GDK_KEY_p, 0, "graph.path", NULL, 0, 0 },
    { GDK_KEY_f, 0, "graph.fit-item", NULL, 0, 0 },         { GDK_KEY_space, 0, "graph.select", NULL, 0, 0 },
    { GDK_KEY_Escape, 0, "graph.escape", NULL, 0, 0 },      { GDK_KEY_F10, GDK_SHIFT_MASK, "graph.menu", NULL, 0, 0 },
    { GDK_KEY_Menu, 0, "graph.menu", NULL, 0, 0 },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (keys); i++)
    gtk_widget_class_add_binding_action (class, keys[i].key, keys[i].state, keys[i].action, keys[i].format, keys[i].a, keys[i].b);
}
