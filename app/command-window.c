/* SPDX-License-Identifier: Apache-2.0 */
#include "command-window.h"

#include <glib/gi18n.h>

#include "base/json.h"
#include "run-control.h"

static char *
command_line (TnDocument *document)
{
  g_autofree char *quoted = g_shell_quote (tn_document_path (document));
  return g_strdup_printf ("tenon-cli train %s", quoted);
}

static char *
settings_json (TnDocument *document)
{
  JsonObject *object = tn_settings_to_json (tn_document_settings (document), FALSE);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  return tn_json_to_text (node, 2);
}

static void
copy_cb (GtkButton *button, const char *text)
{
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (button)), text);
}

static GtkWidget *
text_group (const char *title, const char *text, const char *id)
{
  GtkWidget *group = adw_preferences_group_new (), *view = gtk_text_view_new (), *frame = gtk_scrolled_window_new ();
  GtkWidget *button = gtk_button_new_from_icon_name ("edit-copy-symbolic");
  gtk_text_buffer_set_text (gtk_text_view_get_buffer (GTK_TEXT_VIEW (view)), text, -1);
  gtk_text_view_set_editable (GTK_TEXT_VIEW (view), FALSE);
  gtk_text_view_set_monospace (GTK_TEXT_VIEW (view), TRUE);
  gtk_text_view_set_wrap_mode (GTK_TEXT_VIEW (view), GTK_WRAP_WORD_CHAR);
  gtk_text_view_set_left_margin (GTK_TEXT_VIEW (view), 12);
  gtk_text_view_set_right_margin (GTK_TEXT_VIEW (view), 12);
  gtk_text_view_set_top_margin (GTK_TEXT_VIEW (view), 12);
  gtk_text_view_set_bottom_margin (GTK_TEXT_VIEW (view), 12);
  gtk_widget_set_name (view, id);
  gtk_accessible_update_property (GTK_ACCESSIBLE (view), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (frame), view);
  gtk_scrolled_window_set_propagate_natural_height (GTK_SCROLLED_WINDOW (frame), TRUE);
  gtk_scrolled_window_set_max_content_height (GTK_SCROLLED_WINDOW (frame), 280);
  gtk_widget_add_css_class (frame, "card");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, _("Copy"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Copy"), -1);
  g_signal_connect_data (button, "clicked", G_CALLBACK (copy_cb), g_strdup (text), (GClosureNotify) (void (*) (void)) g_free, 0);
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  adw_preferences_group_set_header_suffix (ADW_PREFERENCES_GROUP (group), button);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), frame);
  return group;
}

void
tn_command_present (GtkWindow *parent, TnDocument *document, const char *run_path)
{
  GtkWidget *window = adw_window_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *page = adw_preferences_page_new ();
  g_autofree char *train = command_line (document), *json = settings_json (document);
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (text_group (_("Train"), train, "command_train_view")));
  if (run_path != NULL)
    {
      g_autofree char *quoted = g_shell_quote (run_path), *resume = g_strdup_printf ("tenon-cli resume %s", quoted);
      adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (text_group (_("Resume the current run"), resume, "command_resume_view")));
    }
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (page), ADW_PREFERENCES_GROUP (text_group (_("Settings"), json, "command_settings_view")));
  gtk_widget_set_vexpand (page, TRUE);
  gtk_box_append (GTK_BOX (box), adw_header_bar_new ());
  gtk_box_append (GTK_BOX (box), page);
  adw_window_set_content (ADW_WINDOW (window), box);
  gtk_window_set_title (GTK_WINDOW (window), _("Command"));
  gtk_window_set_default_size (GTK_WINDOW (window), 560, 520);
  gtk_widget_set_name (window, "command_window");
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_modal (GTK_WINDOW (window), TRUE);
  gtk_window_present (GTK_WINDOW (window));
}
