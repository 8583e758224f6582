/* SPDX-License-Identifier: Apache-2.0 */
#include "draw-pad.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#define SIDE 168
#define BOX (20.0 / 28)  /* of the picture that the strokes fill */
#define PEN (2.4 / 28)   /* width of the pen in the picture */
#define KEY_STEP 0.05
#define MAX_POINTS 20000 /* a pen that never rests */

typedef struct
{
  float x, y; /* 0 to 1 */
  gboolean begins; /* a stroke */
} Point;

struct _TnDrawPad
{
  GtkDrawingArea parent_instance;
  GArray *points;
  double start_x, start_y; /* of the drag */
  double key_x, key_y;
  gboolean pen_down;
};

G_DEFINE_FINAL_TYPE (TnDrawPad, tn_draw_pad, GTK_TYPE_DRAWING_AREA)

static guint drawn_signal;

static void
changed (TnDrawPad *self)
{
  gtk_widget_queue_draw (GTK_WIDGET (self));
  g_signal_emit (self, drawn_signal, 0);
}

static void
add_point (TnDrawPad *self, double x, double y, gboolean begins)
{
  if (self->points->len >= MAX_POINTS)
    return;
  Point point = { (float) CLAMP (x, 0, 1), (float) CLAMP (y, 0, 1), begins };
  g_array_append_val (self->points, point);
  changed (self);
}

/* Strokes as a path, moved and enlarged. */
static void
stroke (TnDrawPad *self, cairo_t *cr, double x, double y, double scale, double pen)
{
  cairo_set_line_cap (cr, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_width (cr, pen);
  for (guint i = 0; i < self->points->len; i++)
    {
      const Point *point = &g_array_index (self->points, Point, i);
      double px = x + (double) point->x * scale, py = y + (double) point->y * scale;
      if (point->begins)
        cairo_move_to (cr, px, py);
      cairo_line_to (cr, px, py);
    }
  cairo_stroke (cr);
}

static void
draw_func (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  TnDrawPad *self = TN_DRAW_PAD (area);
  double side = MIN (width, height), x = (width - side) / 2, y = (height - side) / 2, radius = 9;
  cairo_new_sub_path (cr);
  cairo_arc (cr, x + side - radius, y + radius, radius, -G_PI_2, 0);
  cairo_arc (cr, x + side - radius, y + side - radius, radius, 0, G_PI_2);
  cairo_arc (cr, x + radius, y + side - radius, radius, G_PI_2, G_PI);
  cairo_arc (cr, x + radius, y + radius, radius, G_PI, 3 * G_PI_2);
  cairo_close_path (cr);
  cairo_set_source_rgb (cr, 0.09, 0.09, 0.1);
  cairo_fill_preserve (cr);
  cairo_set_source_rgba (cr, 0.5, 0.5, 0.5, 0.35);
  cairo_set_line_width (cr, 1);
  cairo_stroke (cr);
  cairo_set_source_rgb (cr, 1, 1, 1);
  stroke (self, cr, x, y, side, side * 0.075);
  if (gtk_widget_has_visible_focus (GTK_WIDGET (self)))
    {
      cairo_set_source_rgb (cr, 0.47, 0.68, 0.93);
      cairo_set_line_width (cr, 2);
      cairo_arc (cr, x + self->key_x * side, y + self->key_y * side, self->pen_down ? 4 : 7, 0, 2 * G_PI);
      cairo_stroke (cr);
    }
}

/* The pen. */

static void
place (TnDrawPad *self, double x, double y, double *px, double *py)
{
  double width = gtk_widget_get_width (GTK_WIDGET (self)), height = gtk_widget_get_height (GTK_WIDGET (self)), side = fmax (fmin (width, height), 1);
  *px = (x - (width - side) / 2) / side;
  *py = (y - (height - side) / 2) / side;
}

static void
drag_begin_cb (GtkGestureDrag *drag, double x, double y, TnDrawPad *self)
{
  double px, py;
  self->start_x = x;
  self->start_y = y;
  place (self, x, y, &px, &py);
  gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_CLAIMED);
  gtk_widget_grab_focus (GTK_WIDGET (self));
  add_point (self, px, py, TRUE);
}

static void
drag_update_cb (GtkGestureDrag *drag, double dx, double dy, TnDrawPad *self)
{
  double px, py;
  place (self, self->start_x + dx, self->start_y + dy, &px, &py);
  add_point (self, px, py, FALSE);
}

static gboolean
key_cb (GtkEventControllerKey *keys, guint value, guint code, GdkModifierType modifiers, TnDrawPad *self)
{
  double dx = 0, dy = 0;
  if ((modifiers & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return FALSE;
  switch (value)
    {
    case GDK_KEY_Left:
      dx = -KEY_STEP;
      break;
    case GDK_KEY_Right:
      dx = KEY_STEP;
      break;
    case GDK_KEY_Up:
      dy = -KEY_STEP;
      break;
    case GDK_KEY_Down:
      dy = KEY_STEP;
      break;
    case GDK_KEY_space:
      self->pen_down = !self->pen_down;
      if (self->pen_down)
        add_point (self, self->key_x, self->key_y, TRUE);
      gtk_widget_queue_draw (GTK_WIDGET (self));
      return TRUE;
    case GDK_KEY_Delete:
    case GDK_KEY_BackSpace:
      tn_draw_pad_clear (self);
      return TRUE;
    default:
      return FALSE;
    }
  self->key_x = CLAMP (self->key_x + dx, 0, 1);
  self->key_y = CLAMP (self->key_y + dy, 0, 1);
  if (self->pen_down)
    add_point (self, self->key_x, self->key_y, FALSE);
  gtk_widget_queue_draw (GTK_WIDGET (self));
  return TRUE;
}

/* The picture. */

static void
mass_centre (const guint8 *pixels, int width, int height, double *x, double *y)
{
  double sum = 0, sx = 0, sy = 0;
  for (int row = 0; row < height; row++)
    for (int column = 0; column < width; column++)
      {
        double ink = pixels[row * width + column];
        sum += ink;
        sx += ink * (column + 0.5);
        sy += ink * (row + 0.5);
      }
  *x = sum > 0 ? sx / sum : width / 2.0;
  *y = sum > 0 ? sy / sum : height / 2.0;
}

static void
render (TnDrawPad *self, int width, int height, double x, double y, double scale, guint8 *pixels)
{
  cairo_surface_t *surface = cairo_image_surface_create (CAIRO_FORMAT_A8, width, height);
  cairo_t *cr = cairo_create (surface);
  stroke (self, cr, x, y, scale, PEN * MIN (width, height));
  cairo_destroy (cr);
  cairo_surface_flush (surface);
  const guint8 *data = cairo_image_surface_get_data (surface);
  int stride = cairo_image_surface_get_stride (surface);
  for (int row = 0; row < height && data != NULL; row++)
    memcpy (pixels + (gsize) row * (gsize) width, data + (gsize) row * (gsize) stride, (gsize) width);
  cairo_surface_destroy (surface);
}

void
tn_draw_pad_picture (TnDrawPad *self, int width, int height, guint8 *pixels)
{
  g_return_if_fail (TN_IS_DRAW_PAD (self) && width > 0 && height > 0);
  double left = 1, right = 0, top = 1, bottom = 0;
  memset (pixels, 0, (gsize) width * (gsize) height);
  if (self->points->len == 0)
    return;
  for (guint i = 0; i < self->points->len; i++)
    {
      const Point *point = &g_array_index (self->points, Point, i);
      left = fmin (left, (double) point->x);
      right = fmax (right, (double) point->x);
      top = fmin (top, (double) point->y);
      bottom = fmax (bottom, (double) point->y);
    }
  double side = MIN (width, height), room = side * (BOX - PEN), extent = fmax (fmax (right - left, bottom - top), 0.1);
  double scale = room / extent, x = width / 2.0 - (left + right) / 2 * scale, y = height / 2.0 - (top + bottom) / 2 * scale, cx, cy;
  render (self, width, height, x, y, scale, pixels);
  mass_centre (pixels, width, height, &cx, &cy);
  render (self, width, height, x + width / 2.0 - cx, y + height / 2.0 - cy, scale, pixels);
}

void
tn_draw_pad_clear (TnDrawPad *self)
{
  g_return_if_fail (TN_IS_DRAW_PAD (self));
  g_array_set_size (self->points, 0);
  self->pen_down = FALSE;
  changed (self);
}

gboolean
tn_draw_pad_is_empty (TnDrawPad *self)
{
  g_return_val_if_fail (TN_IS_DRAW_PAD (self), TRUE);
  return self->points->len == 0;
}

static void
tn_draw_pad_finalize (GObject *object)
{
  g_array_unref (TN_DRAW_PAD (object)->points);
  G_OBJECT_CLASS (tn_draw_pad_parent_class)->finalize (object);
}

static void
tn_draw_pad_class_init (TnDrawPadClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tn_draw_pad_finalize;
  drawn_signal = g_signal_new ("drawn", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
tn_draw_pad_init (TnDrawPad *self)
{
  GtkWidget *widget = GTK_WIDGET (self);
  self->points = g_array_new (FALSE, FALSE, sizeof (Point));
  self->key_x = self->key_y = 0.5;
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self), draw_func, NULL, NULL);
  gtk_widget_set_size_request (widget, SIDE, SIDE);
  gtk_widget_set_focusable (widget, TRUE);
  gtk_widget_set_cursor_from_name (widget, "crosshair");
  g_signal_connect (self, "state-flags-changed", G_CALLBACK (gtk_widget_queue_draw), NULL);
  GtkGesture *drag = gtk_gesture_drag_new ();
  g_signal_connect (drag, "drag-begin", G_CALLBACK (drag_begin_cb), self);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), self);
  gtk_widget_add_controller (widget, GTK_EVENT_CONTROLLER (drag));
  GtkEventController *keys = gtk_event_controller_key_new ();
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (widget, keys);
}

GtkWidget *
tn_draw_pad_new (void)
{
  return g_object_new (TN_TYPE_DRAW_PAD, "accessible-role", GTK_ACCESSIBLE_ROLE_IMG, NULL);
}
