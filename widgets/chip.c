/* SPDX-License-Identifier: Apache-2.0 */
#include "chip.h"

#include <glib/gi18n.h>

#include "style.h"

struct _TnChip
{
  GtkWidget parent_instance;
  GtkWidget *box, *name, *label, *clear;
};

static guint cleared_signal;

G_DEFINE_FINAL_TYPE (TnChip, tn_chip, GTK_TYPE_WIDGET)

static void
clear_cb (TnChip *self)
{
  g_signal_emit (self, cleared_signal, 0);
}

static void
tn_chip_dispose (GObject *object)
{
  TnChip *self = TN_CHIP (object);
  g_clear_pointer (&self->box, gtk_widget_unparent);
  G_OBJECT_CLASS (tn_chip_parent_class)->dispose (object);
}

static void
tn_chip_class_init (TnChipClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_chip_dispose;
  cleared_signal = g_signal_new ("cleared", TN_TYPE_CHIP, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (klass), GTK_ACCESSIBLE_ROLE_GROUP);
}

static void
tn_chip_init (TnChip *self)
{
  tn_style_ensure ();
  self->box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_add_css_class (self->box, "linked");
  gtk_widget_add_css_class (self->box, "tn-chip");
  gtk_widget_set_parent (self->box, GTK_WIDGET (self));
  self->name = gtk_menu_button_new ();
  self->label = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (self->label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_max_width_chars (GTK_LABEL (self->label), 32);
  gtk_menu_button_set_child (GTK_MENU_BUTTON (self->name), self->label);
  self->clear = gtk_button_new_from_icon_name ("window-close-symbolic");
  g_signal_connect_swapped (self->clear, "clicked", G_CALLBACK (clear_cb), self);
  gtk_box_append (GTK_BOX (self->box), self->name);
  gtk_box_append (GTK_BOX (self->box), self->clear);
}

GtkWidget *
tn_chip_new (const char *text, GMenuModel *menu)
{
  TnChip *self = g_object_new (TN_TYPE_CHIP, NULL);
  if (menu != NULL)
    gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->name), menu);
  else
    gtk_widget_set_can_focus (self->name, FALSE);
  tn_chip_set_text (self, text);
  return GTK_WIDGET (self);
}

void
tn_chip_set_text (TnChip *self, const char *text)
{
  g_return_if_fail (TN_IS_CHIP (self));
  gtk_label_set_text (GTK_LABEL (self->label), text);
  gtk_widget_set_tooltip_text (self->name, text);
  g_autofree char *clear = g_strdup_printf (_ ("Clear %s"), text);
  gtk_widget_set_tooltip_text (self->clear, clear);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->clear), GTK_ACCESSIBLE_PROPERTY_LABEL, clear, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->name), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
}

const char *
tn_chip_get_text (TnChip *self)
{
  g_return_val_if_fail (TN_IS_CHIP (self), NULL);
  return gtk_label_get_text (GTK_LABEL (self->label));
}
