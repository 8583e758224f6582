/* SPDX-License-Identifier: Apache-2.0 */
#include "segmented.h"

#include "style.h"

#define MAX_BUTTONS 5

struct _TnSegmented
{
  GtkWidget parent_instance;
  GtkWidget *box;
  GtkWidget *buttons[MAX_BUTTONS];
  char *ids[MAX_BUTTONS];
  int n, active; /* -1: none yet */
};

enum
{
  PROP_0,
  PROP_ACTIVE_ID,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (TnSegmented, tn_segmented, GTK_TYPE_WIDGET)

static void
set_active (TnSegmented *self, int active)
{
  if (active == self->active)
    return;
  self->active = active;
  for (int i = 0; i < self->n; i++)
    {
      gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (self->buttons[i]), i == active);
      gtk_accessible_update_state (GTK_ACCESSIBLE (self->buttons[i]), GTK_ACCESSIBLE_STATE_CHECKED,
                                   i == active ? GTK_ACCESSIBLE_TRISTATE_TRUE : GTK_ACCESSIBLE_TRISTATE_FALSE, -1);
    }
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_ACTIVE_ID]);
}

static void
toggled_cb (GtkToggleButton *button, TnSegmented *self)
{
  for (int i = 0; i < self->n; i++)
    if (self->buttons[i] == GTK_WIDGET (button) && gtk_toggle_button_get_active (button))
      set_active (self, i);
}

gboolean
tn_segmented_move (TnSegmented *self, int by)
{
  g_return_val_if_fail (TN_IS_SEGMENTED (self), FALSE);
  int to = CLAMP (self->active + by, 0, self->n - 1);
  if (self->n == 0 || to == self->active)
    return FALSE;
  set_active (self, to);
  gtk_widget_grab_focus (self->buttons[to]);
  return TRUE;
}

static gboolean
key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, TnSegmented *self)
{
  if ((state & gtk_accelerator_get_default_mod_mask ()) != 0)
    return FALSE;
  gboolean mirrored = gtk_widget_get_direction (GTK_WIDGET (self)) == GTK_TEXT_DIR_RTL;
  if (key == GDK_KEY_Left || key == GDK_KEY_KP_Left)
    return tn_segmented_move (self, mirrored ? 1 : -1), TRUE;
  if (key == GDK_KEY_Right || key == GDK_KEY_KP_Right)
    return tn_segmented_move (self, mirrored ? -1 : 1), TRUE;
  return FALSE;
}

static void
tn_segmented_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_ACTIVE_ID)
    g_value_set_string (value, tn_segmented_get_active_id (TN_SEGMENTED (object)));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
tn_segmented_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  if (id == PROP_ACTIVE_ID)
    tn_segmented_set_active_id (TN_SEGMENTED (object), g_value_get_string (value));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
tn_segmented_dispose (GObject *object)
{
  TnSegmented *self = TN_SEGMENTED (object);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_segmented_parent_class)->dispose (object);
}

static void
tn_segmented_finalize (GObject *object)
{
  TnSegmented *self = TN_SEGMENTED (object);
  for (int i = 0; i < self->n; i++)
    g_free (self->ids[i]);
  G_OBJECT_CLASS (tn_segmented_parent_class)->finalize (object);
}

static void
tn_segmented_class_init (TnSegmentedClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  object_class->get_property = tn_segmented_get_property;
  object_class->set_property = tn_segmented_set_property;
  object_class->dispose = tn_segmented_dispose;
  object_class->finalize = tn_segmented_finalize;
  properties[PROP_ACTIVE_ID] = g_param_spec_string ("active-id", NULL, NULL, NULL,
                                                    G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, properties);
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_RADIO_GROUP);
}

static void
tn_segmented_init (TnSegmented *self)
{
  tn_style_ensure ();
  self->active = -1;
  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_add_css_class (self->box, "linked");
  gtk_widget_add_css_class (self->box, "tn-segmented");
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}

GtkWidget *
tn_segmented_new (const char *label)
{
  GtkWidget *self = g_object_new (TN_TYPE_SEGMENTED, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  return self;
}

GtkWidget *
tn_segmented_add (TnSegmented *self, const char *id, const char *name)
{
  g_return_val_if_fail (TN_IS_SEGMENTED (self) && self->n < MAX_BUTTONS, NULL);
  GtkWidget *button = g_object_new (GTK_TYPE_TOGGLE_BUTTON, "label", name, "accessible-role", GTK_ACCESSIBLE_ROLE_RADIO, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  if (self->n > 0)
    gtk_toggle_button_set_group (GTK_TOGGLE_BUTTON (button), GTK_TOGGLE_BUTTON (self->buttons[0]));
  g_signal_connect (button, "toggled", G_CALLBACK (toggled_cb), self);
  gtk_box_append (GTK_BOX (self->box), button);
  self->ids[self->n] = g_strdup (id);
  self->buttons[self->n++] = button;
  if (self->active < 0)
    set_active (self, 0);
  return button;
}

const char *
tn_segmented_get_active_id (TnSegmented *self)
{
  g_return_val_if_fail (TN_IS_SEGMENTED (self), NULL);
  return self->active < 0 ? NULL : self->ids[self->active];
}

void
tn_segmented_set_active_id (TnSegmented *self, const char *id)
{
  g_return_if_fail (TN_IS_SEGMENTED (self));
  for (int i = 0; i < self->n; i++)
    if (g_strcmp0 (self->ids[i], id) == 0)
      set_active (self, i);
}
