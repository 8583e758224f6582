/* SPDX-License-Identifier: Apache-2.0 */
#include "switch-row.h"

struct _TnSwitchRow
{
  AdwActionRow parent_instance;
  GtkWidget *toggle;
  gulong active_handler;
};

static void row_iface_init (TnRowInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TnSwitchRow, tn_switch_row, ADW_TYPE_ACTION_ROW,
                               G_IMPLEMENT_INTERFACE (TN_TYPE_ROW, row_iface_init))

static void
active_cb (TnSwitchRow *self)
{
  tn_row_emit_edited (TN_ROW (self));
}

static char *
get_text (TnRow *row)
{
  return g_strdup (tn_switch_row_get_active (TN_SWITCH_ROW (row)) ? "true" : "false");
}

static void
set_text (TnRow *row, const char *text)
{
  tn_switch_row_set_active (TN_SWITCH_ROW (row), g_strcmp0 (text, "true") == 0);
}

static GtkWidget *
get_control (TnRow *row)
{
  return TN_SWITCH_ROW (row)->toggle;
}

static void
row_iface_init (TnRowInterface *iface)
{
  iface->get_text = get_text;
  iface->set_text = set_text;
  iface->get_control = get_control;
}

static void
tn_switch_row_class_init (TnSwitchRowClass *klass)
{
}

static void
tn_switch_row_init (TnSwitchRow *self)
{
  self->toggle = gtk_switch_new ();
  self->active_handler = g_signal_connect_swapped (self->toggle, "notify::active", G_CALLBACK (active_cb), self);
  tn_row_setup (TN_ROW (self), self->toggle, TRUE);
}

GtkWidget *
tn_switch_row_new (void)
{
  return g_object_new (TN_TYPE_SWITCH_ROW, NULL);
}

gboolean
tn_switch_row_get_active (TnSwitchRow *self)
{
  g_return_val_if_fail (TN_IS_SWITCH_ROW (self), FALSE);
  return gtk_switch_get_active (GTK_SWITCH (self->toggle));
}

void
tn_switch_row_set_active (TnSwitchRow *self, gboolean active)
{
  g_return_if_fail (TN_IS_SWITCH_ROW (self));
  g_signal_handler_block (self->toggle, self->active_handler);
  gtk_switch_set_active (GTK_SWITCH (self->toggle), active);
  g_signal_handler_unblock (self->toggle, self->active_handler);
}
