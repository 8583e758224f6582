/* SPDX-License-Identifier: Apache-2.0 */
#include "adaptive-bin.h"

struct _TnAdaptiveBin
{
  GtkWidget parent_instance;
  GtkWidget *child;
  TnWidthClass width_class;
  gboolean roomy;
  guint idle;
};

enum
{
  PROP_WIDTH_CLASS = 1,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (TnAdaptiveBin, tn_adaptive_bin, GTK_TYPE_WIDGET)

TnWidthClass
tn_width_class_of (int width)
{
  return width < 600 ? TN_WIDTH_COMPACT : width < 1100 ? TN_WIDTH_MEDIUM : width < 1900 ? TN_WIDTH_WIDE : TN_WIDTH_HUGE;
}

static gboolean
notify_idle (gpointer data)
{
  TnAdaptiveBin *self = data;
  self->idle = 0;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_WIDTH_CLASS]);
  return G_SOURCE_REMOVE;
}

static void
tn_adaptive_bin_measure (GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                         int *minimum_baseline, int *natural_baseline)
{
  TnAdaptiveBin *self = TN_ADAPTIVE_BIN (widget);
  int least = 0, most = 0;
  /* What the child would like at any size: under @for_size it may not even fit. */
  if (self->child != NULL)
    gtk_widget_measure (self->child, orientation, -1, &least, &most, NULL, NULL);
  *minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? TN_ADAPTIVE_MIN_WIDTH : TN_ADAPTIVE_MIN_HEIGHT;
  *natural = MAX (*minimum, most);
}

static void
tn_adaptive_bin_size_allocate (GtkWidget *widget, int width, int height, int baseline)
{
  TnAdaptiveBin *self = TN_ADAPTIVE_BIN (widget);
  TnWidthClass width_class = tn_width_class_of (width);
  gboolean roomy = width >= TN_ADAPTIVE_ROOMY_WIDTH;
  if (width_class != self->width_class || roomy != self->roomy)
    {
      self->width_class = width_class;
      self->roomy = roomy;
      if (self->idle == 0)
        self->idle = g_idle_add_full (G_PRIORITY_HIGH_IDLE, notify_idle, self, NULL);
    }
  if (self->child == NULL || !gtk_widget_should_layout (self->child))
    return;
  int least_width, least_height;
  gtk_widget_measure (self->child, GTK_ORIENTATION_HORIZONTAL, -1, &least_width, NULL, NULL, NULL);
  least_width = MAX (least_width, width);
  gtk_widget_measure (self->child, GTK_ORIENTATION_VERTICAL, least_width, &least_height, NULL, NULL, NULL);
  gtk_widget_allocate (self->child, least_width, MAX (least_height, height), baseline, NULL);
}

static void
tn_adaptive_bin_dispose (GObject *object)
{
  TnAdaptiveBin *self = TN_ADAPTIVE_BIN (object);
  g_clear_handle_id (&self->idle, g_source_remove);
  g_clear_pointer (&self->child, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_adaptive_bin_parent_class)->dispose (object);
}

static void
tn_adaptive_bin_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  if (id == PROP_WIDTH_CLASS)
    g_value_set_int (value, (int) TN_ADAPTIVE_BIN (object)->width_class);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static void
tn_adaptive_bin_class_init (TnAdaptiveBinClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);
  object_class->dispose = tn_adaptive_bin_dispose;
  object_class->get_property = tn_adaptive_bin_get_property;
  widget_class->measure = tn_adaptive_bin_measure;
  widget_class->size_allocate = tn_adaptive_bin_size_allocate;
  properties[PROP_WIDTH_CLASS] = g_param_spec_int ("width-class", NULL, NULL, 0, TN_WIDTH_HUGE, TN_WIDTH_WIDE,
                                                   G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
tn_adaptive_bin_init (TnAdaptiveBin *self)
{
  self->width_class = TN_WIDTH_WIDE;
  self->roomy = TRUE;
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
}

GtkWidget *
tn_adaptive_bin_new (void)
{
  return g_object_new (TN_TYPE_ADAPTIVE_BIN, NULL);
}

void
tn_adaptive_bin_set_child (TnAdaptiveBin *self, GtkWidget *child)
{
  g_return_if_fail (TN_IS_ADAPTIVE_BIN (self));
  g_clear_pointer (&self->child, gtk_widget_unparent);
  self->child = child;
  if (child != NULL)
    gtk_widget_set_parent (child, GTK_WIDGET (self));
}

TnWidthClass
tn_adaptive_bin_get_width_class (TnAdaptiveBin *self)
{
  g_return_val_if_fail (TN_IS_ADAPTIVE_BIN (self), TN_WIDTH_WIDE);
  return self->width_class;
}

gboolean
tn_adaptive_bin_is_roomy (TnAdaptiveBin *self)
{
  g_return_val_if_fail (TN_IS_ADAPTIVE_BIN (self), TRUE);
  return self->roomy;
}
