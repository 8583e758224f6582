/* SPDX-License-Identifier: Apache-2.0 */
#include "combo-row.h"

struct _TnComboRow
{
  AdwComboRow parent_instance;
  GtkStringList *names;
  GPtrArray *ids;
  gulong selected_handler;
};

static void row_iface_init (TnRowInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TnComboRow, tn_combo_row, ADW_TYPE_COMBO_ROW, G_IMPLEMENT_INTERFACE (TN_TYPE_ROW, row_iface_init))

static void
selected_cb (TnComboRow *self)
{
  if (tn_combo_row_get_id (self) == NULL)
    return;
  tn_row_set_error (TN_ROW (self), NULL);
  tn_row_emit_edited (TN_ROW (self));
}

static char *
get_text (TnRow *row)
{
  return g_strdup (tn_combo_row_get_id (TN_COMBO_ROW (row)));
}

static void
set_text (TnRow *row, const char *text)
{
  tn_combo_row_set_id (TN_COMBO_ROW (row), text);
}

static GtkWidget *
get_control (TnRow *row)
{
  return GTK_WIDGET (row);
}

static void
row_iface_init (TnRowInterface *iface)
{
  iface->get_text = get_text;
  iface->set_text = set_text;
  iface->get_control = get_control;
}

static void
tn_combo_row_finalize (GObject *object)
{
  TnComboRow *self = TN_COMBO_ROW (object);
  g_clear_object (&self->names);
  g_ptr_array_unref (self->ids);
  G_OBJECT_CLASS (tn_combo_row_parent_class)->finalize (object);
}

static void
tn_combo_row_class_init (TnComboRowClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tn_combo_row_finalize;
}

/* The row gives way to the chosen word, not the word to the row: libadwaita's own label shrinks to three letters. */
static void
setup_cb (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *label = gtk_label_new (NULL), *mark = gtk_image_new_from_icon_name ("object-select-symbolic");
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), mark);
  gtk_list_item_set_child (item, box);
}

static void
bind_cb (GtkSignalListItemFactory *factory, GtkListItem *item, TnComboRow *self)
{
  GtkWidget *box = gtk_list_item_get_child (item), *label = gtk_widget_get_first_child (box), *mark = gtk_widget_get_last_child (box);
  gboolean in_popover = gtk_widget_get_ancestor (box, GTK_TYPE_POPOVER) != NULL;
  gtk_label_set_text (GTK_LABEL (label), gtk_string_object_get_string (gtk_list_item_get_item (item)));
  gtk_widget_set_visible (mark, in_popover);
  gtk_widget_set_opacity (mark, gtk_list_item_get_position (item) == adw_combo_row_get_selected (ADW_COMBO_ROW (self)) ? 1 : 0);
}

static void
tn_combo_row_init (TnComboRow *self)
{
  self->names = gtk_string_list_new (NULL);
  self->ids = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GtkListItemFactory) factory = gtk_signal_list_item_factory_new ();
  g_signal_connect (factory, "setup", G_CALLBACK (setup_cb), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_cb), self);
  adw_combo_row_set_factory (ADW_COMBO_ROW (self), factory);
  adw_combo_row_set_model (ADW_COMBO_ROW (self), G_LIST_MODEL (self->names));
  self->selected_handler = g_signal_connect (self, "notify::selected", G_CALLBACK (selected_cb), NULL);
  tn_row_setup (TN_ROW (self), NULL, FALSE);
}

GtkWidget *
tn_combo_row_new (void)
{
  return g_object_new (TN_TYPE_COMBO_ROW, NULL);
}

void
tn_combo_row_add (TnComboRow *self, const char *id, const char *name)
{
  g_return_if_fail (TN_IS_COMBO_ROW (self) && id != NULL && name != NULL);
  /* The first item selects itself: not the user's doing. */
  g_signal_handler_block (self, self->selected_handler);
  g_ptr_array_add (self->ids, g_strdup (id));
  gtk_string_list_append (self->names, name);
  g_signal_handler_unblock (self, self->selected_handler);
}

void
tn_combo_row_clear (TnComboRow *self)
{
  g_return_if_fail (TN_IS_COMBO_ROW (self));
  g_signal_handler_block (self, self->selected_handler);
  gtk_string_list_splice (self->names, 0, self->ids->len, NULL);
  g_ptr_array_set_size (self->ids, 0);
  g_signal_handler_unblock (self, self->selected_handler);
}

const char *
tn_combo_row_get_id (TnComboRow *self)
{
  g_return_val_if_fail (TN_IS_COMBO_ROW (self), NULL);
  guint selected = adw_combo_row_get_selected (ADW_COMBO_ROW (self));
  return selected < self->ids->len ? self->ids->pdata[selected] : NULL;
}

gboolean
tn_combo_row_set_id (TnComboRow *self, const char *id)
{
  g_return_val_if_fail (TN_IS_COMBO_ROW (self), FALSE);
  guint place;
  if (id == NULL || !g_ptr_array_find_with_equal_func (self->ids, id, g_str_equal, &place))
    return FALSE;
  g_signal_handler_block (self, self->selected_handler);
  adw_combo_row_set_selected (ADW_COMBO_ROW (self), place);
  g_signal_handler_unblock (self, self->selected_handler);
  return TRUE;
}
