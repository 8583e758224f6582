/* SPDX-License-Identifier: Apache-2.0 */
#include "accelerators.h"

#include <glib/gi18n.h>

#include "page.h"

const TnAccelerator tn_accelerators[] = {
  { "app.new-project", "<Control>n", N_("New project"), TN_KEYS_GENERAL, FALSE },
  { "app.new-window", "<Control><Shift>n", N_("New window"), TN_KEYS_GENERAL, FALSE },
  { "win.open", "<Control>o", N_("Open"), TN_KEYS_GENERAL, FALSE },
  { "win.open-folder", NULL, N_("Open a folder"), TN_KEYS_GENERAL, FALSE },
  { "win.save", "<Control>s", N_("Save"), TN_KEYS_GENERAL, FALSE },
  { "win.save-copy", "<Control><Shift>s", N_("Save a copy"), TN_KEYS_GENERAL, FALSE },
  { "win.goto", "<Control>k <Control><Shift>p", N_("Go to anything"), TN_KEYS_GENERAL, FALSE },
  { "app.preferences", "<Control>comma", N_("Preferences"), TN_KEYS_GENERAL, FALSE },
  { "win.help", "F1", N_("About this page"), TN_KEYS_GENERAL, FALSE },
  { "win.show-help-overlay", "<Control>question", N_("Keyboard shortcuts"), TN_KEYS_GENERAL, FALSE },
  { "win.menu", "F10", N_("Main menu"), TN_KEYS_GENERAL, FALSE },
  { "win.fullscreen", "F11", N_("Full screen"), TN_KEYS_GENERAL, FALSE },
  { "win.close", "<Control>w", N_("Close the window"), TN_KEYS_GENERAL, FALSE },
  { "app.quit", "<Control>q", N_("Quit"), TN_KEYS_GENERAL, FALSE },

  { "win.home", "<Alt>Home", N_("Start page"), TN_KEYS_PAGES, FALSE },
  { "win.next-page", "<Control>Page_Down", N_("Next page"), TN_KEYS_PAGES, FALSE },
  { "win.previous-page", "<Control>Page_Up", N_("Previous page"), TN_KEYS_PAGES, FALSE },
  { "win.next-view", "<Control><Alt>Page_Down", N_("Next view of the page"), TN_KEYS_PAGES, FALSE },
  { "win.previous-view", "<Control><Alt>Page_Up", N_("Previous view of the page"), TN_KEYS_PAGES, FALSE },
  { "win.back", "<Alt>Left", N_("Back in the history"), TN_KEYS_PAGES, FALSE },
  { "win.forward", "<Alt>Right", N_("Forward in the history"), TN_KEYS_PAGES, FALSE },
  { "win.show-sidebar", "F9", N_("Show the sidebar"), TN_KEYS_PAGES, FALSE },
  { "win.show-inspector", "<Alt>Return", N_("Show the inspector"), TN_KEYS_PAGES, FALSE },
  { "win.show-drawer", "F12", N_("Show the drawer"), TN_KEYS_PAGES, FALSE },

  { "win.train", "<Control>r", N_("Train, or resume"), TN_KEYS_TRAINING, FALSE },
  { "win.pause", "<Control><Shift>r", N_("Pause and go on"), TN_KEYS_TRAINING, FALSE },
  { "win.stop", "<Control><Shift>x", N_("Stop and save"), TN_KEYS_TRAINING, FALSE },
  { "win.stop-now", NULL, N_("Stop now, without a checkpoint"), TN_KEYS_TRAINING, FALSE },
  { "win.park", NULL, N_("Save and free memory"), TN_KEYS_TRAINING, FALSE },
  { "win.train-again", NULL, N_("Train again (a new run)"), TN_KEYS_TRAINING, FALSE },
  { "win.train-more", NULL, N_("Train 10 epochs more"), TN_KEYS_TRAINING, FALSE },
  { "win.resume", NULL, N_("Resume"), TN_KEYS_TRAINING, FALSE },
  { "win.train-steps", NULL, N_("Run 20 steps"), TN_KEYS_TRAINING, FALSE },
  { "win.queue-add", NULL, N_("Add to the queue"), TN_KEYS_TRAINING, FALSE },
  { "win.checkpoint", "<Control>b", N_("Write a checkpoint"), TN_KEYS_TRAINING, FALSE },
  { "win.check", "<Control><Shift>k", N_("Check only"), TN_KEYS_TRAINING, FALSE },
  { "win.show-command", NULL, N_("Show the command"), TN_KEYS_TRAINING, FALSE },

  { "win.undo", "<Control>z", N_("Undo"), TN_KEYS_EDIT, TRUE },
  { "win.redo", "<Control><Shift>z", N_("Redo"), TN_KEYS_EDIT, TRUE },
  { "win.copy", "<Control>c", N_("Copy"), TN_KEYS_EDIT, TRUE },
  { "win.copy-picture", "<Control><Shift>c", N_("Copy the picture"), TN_KEYS_EDIT, FALSE },
  { "win.paste", "<Control>v", N_("Paste"), TN_KEYS_EDIT, TRUE },
  { "win.export", "<Control>e", N_("Export"), TN_KEYS_EDIT, FALSE },
  { "win.export-again", "<Control><Shift>e", N_("Export again"), TN_KEYS_EDIT, FALSE },
  { "win.print", "<Control>p", N_("Print"), TN_KEYS_EDIT, FALSE },
  { "win.clear-selection", "Escape", N_("Clear the last part of the selection"), TN_KEYS_EDIT, TRUE },
  { "win.clear-all", "<Shift>Escape", N_("Clear the selection"), TN_KEYS_EDIT, TRUE },

  { "win.find", "<Control>f", N_("Find"), TN_KEYS_VIEW, FALSE },
  { "win.find-next", "<Control>g", N_("Find next"), TN_KEYS_VIEW, FALSE },
  { "win.find-previous", "<Control><Shift>g", N_("Find previous"), TN_KEYS_VIEW, FALSE },
  { "win.table-twin", "<Control>l", N_("Picture or table"), TN_KEYS_VIEW, FALSE },
  { "win.zoom-in", "<Control>plus <Control>equal <Control>KP_Add", N_("Zoom in"), TN_KEYS_VIEW, FALSE },
  { "win.zoom-out", "<Control>minus <Control>KP_Subtract", N_("Zoom out"), TN_KEYS_VIEW, FALSE },
  { "win.zoom-fit", "<Control>0", N_("Show everything"), TN_KEYS_VIEW, FALSE },
  { "win.zoom-actual", "<Control>1", N_("Natural size"), TN_KEYS_VIEW, FALSE },
  { "win.fit-selection", "f", N_("Show the selection"), TN_KEYS_VIEW, TRUE },
  { "win.reload", "F5", N_("Read again"), TN_KEYS_VIEW, FALSE },
  { NULL },
};

const char *
tn_keys_section_title (TnKeysSection section)
{
  static const char *const titles[TN_KEYS_N_SECTIONS] = { N_("General"), N_("Pages"), N_("Training"), N_("Edit"), N_("View") };
  return _(titles[section]);
}

void
tn_accelerators_set (GtkApplication *application)
{
  for (const TnAccelerator *row = tn_accelerators; row->action != NULL; row++)
    if (row->accelerator != NULL && !row->local)
      {
        g_auto (GStrv) keys = g_strsplit (row->accelerator, " ", -1);
        gtk_application_set_accels_for_action (application, row->action, (const char *const *) keys);
      }
  for (int i = 0; tn_pages[i].id != NULL; i++)
    {
      g_autofree char *action = g_strdup_printf ("win.page('%s')", tn_pages[i].id), *key = g_strdup_printf ("<Alt>%d", i + 1);
      gtk_application_set_accels_for_action (application, action, (const char *const[]){ key, NULL });
    }
}

void
tn_accelerators_add_local (GtkWidget *window)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();
  gtk_event_controller_set_propagation_phase (controller, GTK_PHASE_BUBBLE);
  gtk_shortcut_controller_set_scope (GTK_SHORTCUT_CONTROLLER (controller), GTK_SHORTCUT_SCOPE_LOCAL);
  for (const TnAccelerator *row = tn_accelerators; row->action != NULL; row++)
    if (row->local)
      gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (controller),
                                            gtk_shortcut_new (gtk_shortcut_trigger_parse_string (row->accelerator), gtk_named_action_new (row->action)));
  gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (controller),
                                        gtk_shortcut_new (gtk_shortcut_trigger_parse_string ("slash"), gtk_named_action_new ("win.find")));
  gtk_widget_add_controller (window, controller);
}

/* The window of shortcuts, as XML: GtkShortcutsWindow can be filled by a builder only. */

static void
add_shortcut (GString *xml, const char *keys, const char *title)
{
  g_autofree char *text = g_markup_escape_text (title, -1), *accelerator = g_markup_escape_text (keys, -1);
  g_string_append_printf (xml,
                          "<child><object class='GtkShortcutsShortcut'><property name='title'>%s</property>"
                          "<property name='accelerator'>%s</property></object></child>",
                          text, accelerator);
}

static void
add_group (GString *xml, const char *title)
{
  g_autofree char *text = g_markup_escape_text (title, -1);
  g_string_append_printf (xml, "<child><object class='GtkShortcutsGroup'><property name='title'>%s</property>", text);
}

GtkWidget *
tn_shortcuts_window_new (void)
{
  g_autoptr (GString) xml = g_string_new ("<interface><object class='GtkShortcutsWindow' id='window'><property name='modal'>1</property>"
                                          "<child><object class='GtkShortcutsSection'><property name='section-name'>all</property>"
                                          "<property name='max-height'>12</property>");
  for (int section = 0; section < TN_KEYS_N_SECTIONS; section++)
    {
      add_group (xml, tn_keys_section_title ((TnKeysSection) section));
      for (int i = 0; section == TN_KEYS_PAGES && tn_pages[i].id != NULL; i++)
        {
          g_autofree char *key = g_strdup_printf ("<Alt>%d", i + 1);
          add_shortcut (xml, key, _(tn_pages[i].title));
        }
      for (const TnAccelerator *row = tn_accelerators; row->action != NULL; row++)
        if (row->section == (TnKeysSection) section && row->accelerator != NULL)
          add_shortcut (xml, row->accelerator, _(row->title));
      g_string_append (xml, "</object></child>");
    }
  g_string_append (xml, "</object></child></object></interface>");
  g_autoptr (GtkBuilder) builder = gtk_builder_new_from_string (xml->str, (gssize) xml->len);
  GtkWidget *window = GTK_WIDGET (gtk_builder_get_object (builder, "window"));
  gtk_widget_set_name (window, "shortcuts_window");
  return g_object_ref (window);
}
