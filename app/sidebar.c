/* SPDX-License-Identifier: Apache-2.0 */
#include "sidebar.h"

#include <glib/gi18n.h>

struct _TnSidebar
{
  AdwBin parent_instance;
  GtkWidget *list, *project_button, *rename_entry;
  TnDocument *document;
  GtkListBoxRow *selected;
};

static guint chosen_signal;

G_DEFINE_FINAL_TYPE (TnSidebar, tn_sidebar, ADW_TYPE_BIN)

static GtkListBoxRow *
find_row (TnSidebar *self, const char *id)
{
  GtkListBoxRow *row;
  for (int i = 0; (row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), i)) != NULL; i++)
    if (g_strcmp0 (((const TnPageInfo *) g_object_get_data (G_OBJECT (row), "tn-info"))->id, id) == 0)
      return row;
  return NULL;
}

static void
activated_cb (GtkListBox *list, GtkListBoxRow *row, TnSidebar *self)
{
  const TnPageInfo *info = g_object_get_data (G_OBJECT (row), "tn-info");
  g_signal_emit (self, chosen_signal, 0, info->id);
}

static void
header_func (GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  const TnPageInfo *info = g_object_get_data (G_OBJECT (row), "tn-info");
  const TnPageInfo *last = before != NULL ? g_object_get_data (G_OBJECT (before), "tn-info") : NULL;
  static const char *const titles[] = { N_("Build"), N_("Look inside"), N_("Keep") };
  if (last != NULL && last->group == info->group)
    {
      gtk_list_box_row_set_header (row, NULL);
      return;
    }
  GtkWidget *label = gtk_label_new (_(titles[info->group]));
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "sidebar-group");
  gtk_list_box_row_set_header (row, label);
}

static void
rename_cb (GtkEntry *entry, TnSidebar *self)
{
  gtk_widget_activate_action (GTK_WIDGET (self), "win.rename", "s", gtk_editable_get_text (GTK_EDITABLE (entry)));
  gtk_menu_button_popdown (GTK_MENU_BUTTON (self->project_button));
}

static void
show_in_files_cb (GtkButton *button, TnSidebar *self)
{
  g_autofree char *uri = g_filename_to_uri (tn_document_path (self->document), NULL, NULL);
  if (uri != NULL)
    gtk_show_uri (GTK_WINDOW (gtk_widget_get_root (GTK_WIDGET (self))), uri, GDK_CURRENT_TIME);
  gtk_menu_button_popdown (GTK_MENU_BUTTON (self->project_button));
}

static void
start_cb (GtkButton *button, TnSidebar *self)
{
  gtk_menu_button_popdown (GTK_MENU_BUTTON (self->project_button));
  gtk_widget_activate_action (GTK_WIDGET (self), "win.home", NULL);
}

static GtkWidget *
flat_button (const char *label, GCallback callback, TnSidebar *self)
{
  GtkWidget *button = gtk_button_new_with_mnemonic (label);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_halign (gtk_button_get_child (GTK_BUTTON (button)), GTK_ALIGN_START);
  g_signal_connect (button, "clicked", callback, self);
  return button;
}

static GtkWidget *
project_popover (TnSidebar *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6), *label = gtk_label_new (_("Name")), *popover = gtk_popover_new ();
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "heading");
  self->rename_entry = gtk_entry_new ();
  gtk_widget_set_name (self->rename_entry, "side_name_entry");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->rename_entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Name of the project"), -1);
  g_signal_connect (self->rename_entry, "activate", G_CALLBACK (rename_cb), self);
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), self->rename_entry);
  gtk_box_append (GTK_BOX (box), flat_button (_("Show in _Files"), G_CALLBACK (show_in_files_cb), self));
  gtk_box_append (GTK_BOX (box), flat_button (_("_Start Page"), G_CALLBACK (start_cb), self));
  gtk_popover_set_child (GTK_POPOVER (popover), box);
  return popover;
}

static void
name_changed (TnSidebar *self)
{
  const char *name = self->document != NULL ? tn_document_name (self->document) : "";
  gtk_menu_button_set_label (GTK_MENU_BUTTON (self->project_button), name);
  gtk_editable_set_text (GTK_EDITABLE (self->rename_entry), name);
}

void
tn_sidebar_set_document (TnSidebar *self, TnDocument *document)
{
  g_return_if_fail (TN_IS_SIDEBAR (self));
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  g_set_object (&self->document, document);
  if (document != NULL)
    g_signal_connect_object (document, "notify::name", G_CALLBACK (name_changed), self, G_CONNECT_SWAPPED);
  name_changed (self);
}

void
tn_sidebar_add (TnSidebar *self, const TnPageInfo *info)
{
  g_return_if_fail (TN_IS_SIDEBAR (self));
  GtkWidget *row = gtk_list_box_row_new (), *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *label = gtk_label_new (_(info->title)), *badge = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_widget_add_css_class (badge, "sidebar-badge");
  gtk_widget_set_valign (badge, GTK_ALIGN_CENTER);
  gtk_widget_set_visible (badge, FALSE);
  gtk_box_append (GTK_BOX (box), gtk_image_new_from_icon_name (info->icon));
  gtk_box_append (GTK_BOX (box), label);
  gtk_box_append (GTK_BOX (box), badge);
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_autofree char *id = g_strconcat ("sidebar_row:", info->id, NULL);
  gtk_widget_set_name (row, id);
  gtk_accessible_update_property (GTK_ACCESSIBLE (row), GTK_ACCESSIBLE_PROPERTY_LABEL, _(info->title), -1);
  g_object_set_data_full (G_OBJECT (row), "tn-label", g_strdup (_(info->title)), g_free);
  g_object_set_data (G_OBJECT (row), "tn-info", (gpointer) info);
  g_object_set_data (G_OBJECT (row), "tn-badge", badge);
  gtk_list_box_append (GTK_LIST_BOX (self->list), row);
}

void
tn_sidebar_select (TnSidebar *self, const char *id)
{
  g_return_if_fail (TN_IS_SIDEBAR (self));
  gtk_list_box_select_row (GTK_LIST_BOX (self->list), find_row (self, id));
}

void
tn_sidebar_set_badge (TnSidebar *self, const char *id, const char *text, const char *explanation)
{
  g_return_if_fail (TN_IS_SIDEBAR (self));
  GtkListBoxRow *row = find_row (self, id);
  if (row == NULL)
    return;
  GtkWidget *badge = g_object_get_data (G_OBJECT (row), "tn-badge");
  gtk_label_set_text (GTK_LABEL (badge), text != NULL ? text : "");
  gtk_widget_set_visible (badge, text != NULL);
  gtk_widget_set_tooltip_text (GTK_WIDGET (row), explanation);
}

static void
tn_sidebar_dispose (GObject *object)
{
  TnSidebar *self = TN_SIDEBAR (object);
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tn_sidebar_parent_class)->dispose (object);
}

static void
tn_sidebar_class_init (TnSidebarClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_sidebar_dispose;
  chosen_signal = g_signal_new ("chosen", G_TYPE_FROM_CLASS (class), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
tn_sidebar_init (TnSidebar *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new ();
  self->project_button = gtk_menu_button_new ();
  gtk_widget_set_name (self->project_button, "sidebar_project_button");
  gtk_widget_add_css_class (self->project_button, "flat");
  gtk_widget_set_margin_top (self->project_button, 6);
  gtk_widget_set_margin_start (self->project_button, 6);
  gtk_widget_set_margin_end (self->project_button, 6);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (self->project_button), project_popover (self));
  self->list = gtk_list_box_new ();
  gtk_widget_set_name (self->list, "sidebar_list");
  gtk_widget_add_css_class (self->list, "navigation-sidebar");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->list), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Pages"), -1);
  gtk_list_box_set_header_func (GTK_LIST_BOX (self->list), header_func, NULL, NULL);
  g_signal_connect (self->list, "row-activated", G_CALLBACK (activated_cb), self);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->list);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), self->project_button);
  gtk_box_append (GTK_BOX (box), scroller);
  gtk_widget_add_css_class (box, "background");
  adw_bin_set_child (ADW_BIN (self), box);
}

GtkWidget *
tn_sidebar_new (void)
{
  return g_object_new (TN_TYPE_SIDEBAR, NULL);
}
