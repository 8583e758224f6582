/* SPDX-License-Identifier: Apache-2.0 */
#include "entry-row.h"

#include <string.h>

struct _TnEntryRow
{
  AdwActionRow parent_instance;
  GtkWidget *entry;
  char *text; /* in force */
  TnEntryRowCheck check;
  gpointer data;
  GDestroyNotify destroy;
};

static void row_iface_init (TnRowInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TnEntryRow, tn_entry_row, ADW_TYPE_ACTION_ROW, G_IMPLEMENT_INTERFACE (TN_TYPE_ROW, row_iface_init))

static char *
what_is_wrong (TnEntryRow *self)
{
  return self->check == NULL ? NULL : self->check (gtk_editable_get_text (GTK_EDITABLE (self->entry)), self->data);
}

static void
commit (TnEntryRow *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  gboolean is_new = strcmp (text, self->text) != 0;
  g_autofree char *error = is_new ? what_is_wrong (self) : NULL;
  tn_row_set_error (TN_ROW (self), error);
  if (error != NULL || !is_new)
    return;
  g_free (self->text);
  self->text = g_strdup (text);
  tn_row_emit_edited (TN_ROW (self));
}

static void
changed_cb (TnEntryRow *self)
{
  if (tn_row_get_error (TN_ROW (self)) == NULL)
    return;
  g_autofree char *error = what_is_wrong (self);
  if (error == NULL)
    tn_row_set_error (TN_ROW (self), NULL);
}

static char *
get_text (TnRow *row)
{
  return g_strdup (TN_ENTRY_ROW (row)->text);
}

static void
set_text (TnRow *row, const char *text)
{
  TnEntryRow *self = TN_ENTRY_ROW (row);
  char *copy = g_strdup (text != NULL ? text : "");
  g_free (self->text);
  self->text = copy;
  gtk_editable_set_text (GTK_EDITABLE (self->entry), copy);
}

static GtkWidget *
get_control (TnRow *row)
{
  return TN_ENTRY_ROW (row)->entry;
}

static void
row_iface_init (TnRowInterface *iface)
{
  iface->get_text = get_text;
  iface->set_text = set_text;
  iface->get_control = get_control;
}

static void
drop_check (TnEntryRow *self)
{
  if (self->destroy != NULL)
    self->destroy (self->data);
  self->check = NULL;
  self->data = NULL;
  self->destroy = NULL;
}

static void
tn_entry_row_finalize (GObject *object)
{
  TnEntryRow *self = TN_ENTRY_ROW (object);
  drop_check (self);
  g_free (self->text);
  G_OBJECT_CLASS (tn_entry_row_parent_class)->finalize (object);
}

static void
tn_entry_row_class_init (TnEntryRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tn_entry_row_finalize;
}

static void
tn_entry_row_init (TnEntryRow *self)
{
  self->text = g_strdup ("");
  self->entry = gtk_entry_new ();
  tn_entry_row_set_width (self, 14);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (commit), self);
  g_signal_connect_swapped (self->entry, "changed", G_CALLBACK (changed_cb), self);
  GtkEventController *focus = gtk_event_controller_focus_new ();
  g_signal_connect_swapped (focus, "leave", G_CALLBACK (commit), self);
  gtk_widget_add_controller (self->entry, focus);
  tn_row_setup (TN_ROW (self), self->entry, TRUE);
}

GtkWidget *
tn_entry_row_new (void)
{
  return g_object_new (TN_TYPE_ENTRY_ROW, NULL);
}

void
tn_entry_row_set_check (TnEntryRow *self, TnEntryRowCheck check, gpointer data, GDestroyNotify destroy)
{
  g_return_if_fail (TN_IS_ENTRY_ROW (self));
  drop_check (self);
  self->check = check;
  self->data = data;
  self->destroy = destroy;
}

void
tn_entry_row_set_placeholder (TnEntryRow *self, const char *text)
{
  g_return_if_fail (TN_IS_ENTRY_ROW (self));
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->entry), text);
}

void
tn_entry_row_set_width (TnEntryRow *self, int n_chars)
{
  g_return_if_fail (TN_IS_ENTRY_ROW (self));
  gtk_editable_set_width_chars (GTK_EDITABLE (self->entry), MIN (n_chars, 8));
  gtk_editable_set_max_width_chars (GTK_EDITABLE (self->entry), n_chars);
}
