/* SPDX-License-Identifier: Apache-2.0 */
#include "window-private.h"

#include <glib/gi18n.h>

#include "application.h"

#define STATUS_US (5 * G_USEC_PER_SEC)

static void
name_widget (GtkWidget *widget, const char *id, const char *label)
{
  gtk_widget_set_name (widget, id);
  if (label == NULL)
    return;
  gtk_widget_set_tooltip_text (widget, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  g_object_set_data_full (G_OBJECT (widget), "tn-label", g_strdup (label), g_free);
}

static GtkWidget *
toggle (const char *icon, const char *action, const char *id, const char *label)
{
  GtkWidget *button = gtk_toggle_button_new ();
  gtk_button_set_icon_name (GTK_BUTTON (button), icon);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  name_widget (button, id, label);
  return button;
}

static GMenuModel *
primary_menu (void)
{
  g_autoptr (GMenu) menu = g_menu_new ();
  static const struct
  {
    const char *label, *action;
    gboolean new_section;
  } rows[] = {
    { N_("_New Project"), "app.new-project", TRUE },  { N_("_Open…"), "win.open", FALSE },
    { N_("Open _Folder…"), "win.open-folder", FALSE }, { N_("_Save"), "win.save", TRUE },
    { N_("Save a _Copy…"), "win.save-copy", FALSE },  { N_("_Export…"), "win.export", FALSE },
    { N_("_Undo"), "win.undo", TRUE },                { N_("_Redo"), "win.redo", FALSE },
    { N_("_Go to…"), "win.goto", FALSE },
    { N_("New _Window"), "app.new-window", TRUE },    { N_("_Preferences"), "app.preferences", FALSE },
    { N_("_Keyboard Shortcuts"), "win.show-help-overlay", FALSE },
    { N_("_Help"), "win.help", FALSE },               { N_("_About Tenon"), "app.about", FALSE },
  };
  GMenu *section = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      if (rows[i].new_section)
        {
          g_clear_object (&section);
          section = g_menu_new ();
          g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
        }
      g_menu_append (section, _(rows[i].label), rows[i].action);
    }
  g_clear_object (&section);
  return G_MENU_MODEL (g_steal_pointer (&menu));
}

static GtkWidget *
make_train_group (TnWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  self->header_train_button = adw_split_button_new ();
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->header_train_button), "win.train");
  adw_split_button_set_label (ADW_SPLIT_BUTTON (self->header_train_button), _("Train"));
  gtk_widget_add_css_class (self->header_train_button, "suggested-action");
  gtk_widget_set_name (self->header_train_button, "header_train_button");
  self->train_menu = g_menu_new ();
  adw_split_button_set_menu_model (ADW_SPLIT_BUTTON (self->header_train_button), G_MENU_MODEL (self->train_menu));

  self->header_pause_toggle = toggle ("media-playback-pause-symbolic", "win.pause", "header_pause_toggle", _("Pause"));

  self->header_stop_button = adw_split_button_new ();
  adw_split_button_set_icon_name (ADW_SPLIT_BUTTON (self->header_stop_button), "media-playback-stop-symbolic");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->header_stop_button), "win.stop");
  name_widget (self->header_stop_button, "header_stop_button", _("Stop and save"));
  g_autoptr (GMenu) stop_menu = g_menu_new ();
  g_menu_append (stop_menu, _("Stop Now (No Checkpoint)"), "win.stop-now");
  g_menu_append (stop_menu, _("Save and Free Memory"), "win.park");
  adw_split_button_set_menu_model (ADW_SPLIT_BUTTON (self->header_stop_button), G_MENU_MODEL (stop_menu));

  gtk_box_append (GTK_BOX (box), self->header_train_button);
  gtk_box_append (GTK_BOX (box), self->header_pause_toggle);
  gtk_box_append (GTK_BOX (box), self->header_stop_button);
  gtk_widget_set_name (box, "header_train_box");
  return box;
}

void
tn_window_build_header (TnWindow *self)
{
  AdwHeaderBar *bar = ADW_HEADER_BAR (adw_header_bar_new ());
  self->header = GTK_WIDGET (bar);
  gtk_widget_set_name (self->header, "header_bar");
  self->header_title = adw_window_title_new ("Tenon", "");
  gtk_widget_set_name (self->header_title, "header_title");
  adw_header_bar_set_title_widget (bar, self->header_title);

  self->header_sidebar_toggle = toggle ("tn-sidebar-symbolic", "win.show-sidebar", "header_sidebar_toggle", _("Show the sidebar"));
  self->header_inspector_toggle = toggle ("tn-inspector-symbolic", "win.show-inspector", "header_inspector_toggle", _("Show the inspector"));
  self->header_goto_button = gtk_button_new_from_icon_name ("edit-find-symbolic");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->header_goto_button), "win.goto");
  name_widget (self->header_goto_button, "header_goto_button", _("Go to anything"));
  self->header_menu_button = gtk_menu_button_new ();
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (self->header_menu_button), "open-menu-symbolic");
  name_widget (self->header_menu_button, "header_menu_button", _("Main menu"));
  g_autoptr (GMenuModel) menu = primary_menu ();
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->header_menu_button), menu);

  self->header_group = g_object_ref_sink (make_train_group (self));
  adw_header_bar_pack_start (bar, self->header_sidebar_toggle);
  adw_header_bar_pack_end (bar, self->header_menu_button);
  adw_header_bar_pack_end (bar, self->header_inspector_toggle);
  adw_header_bar_pack_end (bar, self->header_goto_button);
  adw_header_bar_pack_end (bar, self->header_group);
  g_object_unref (self->header_group);
}

/* The train group is in the header bar, and in a bar of its own at the bottom where the window is narrow. */
void
tn_window_place_header (TnWindow *self)
{
  gboolean compact = self->width == TN_WIDTH_COMPACT, project = tn_window_visible_page (self) != NULL;
  GtkWidget *parent = gtk_widget_get_parent (self->header_group);
  gboolean in_bar = parent != NULL && gtk_widget_is_ancestor (self->header_group, self->action_bar);
  if (compact != in_bar)
    {
      g_object_ref (self->header_group);
      if (in_bar)
        gtk_action_bar_remove (GTK_ACTION_BAR (self->action_bar), self->header_group);
      else
        adw_header_bar_remove (ADW_HEADER_BAR (self->header), self->header_group);
      if (compact)
        gtk_action_bar_set_center_widget (GTK_ACTION_BAR (self->action_bar), self->header_group);
      else
        adw_header_bar_pack_end (ADW_HEADER_BAR (self->header), self->header_group);
      g_object_unref (self->header_group);
    }
  /* What fits 360 px: Go To and the inspector are in the menu, the system closes and moves the window by its own keys. */
  adw_header_bar_set_decoration_layout (ADW_HEADER_BAR (self->header), compact ? ":close" : NULL);
  gtk_widget_set_visible (self->header_goto_button, !compact);
  gtk_widget_set_visible (self->action_bar, compact && project);
  gtk_widget_set_visible (self->header_group, project);
  gtk_widget_set_visible (self->header_sidebar_toggle, project);
  gtk_widget_set_visible (self->header_inspector_toggle, project && !compact);
}

/* What the Train button does. */

static gboolean
project_differs (TnWindow *self)
{
  const TnSettings *run = tn_run_control_settings (self->control);
  if (run == NULL || self->document == NULL)
    return FALSE;
  g_autofree const char **names = tn_settings_diff (run, tn_document_settings (self->document));
  for (int i = 0; names[i] != NULL; i++)
    if (!g_str_equal (names[i], "train.epochs") || !tn_run_word_is_end (tn_run_control_line (self->control)->word))
      return TRUE;
  return FALSE;
}

static const char *
choose_train (TnWindow *self, const char **label)
{
  TnRunWord word = tn_run_control_line (self->control)->word;
  *label = _("Train");
  if (word == TN_WORD_NONE)
    return "new";
  if (word == TN_WORD_QUEUED)
    {
      *label = _("Train Now");
      return "queued";
    }
  if (word == TN_WORD_PAUSED)
    {
      *label = _("Resume");
      return "unpause";
    }
  if (tn_run_word_is_live (word))
    return "off";
  if (project_differs (self))
    return "new";
  if (word == TN_WORD_FINISHED)
    {
      *label = _("Train 10 More");
      return "more";
    }
  *label = _("Resume");
  return "resume";
}

static void
fill_train_menu (TnWindow *self)
{
  g_menu_remove_all (self->train_menu);
  static const struct
  {
    const char *label, *action;
  } rows[] = {
    { N_("Train Again (a New Run)"), "win.train-again" }, { N_("Resume"), "win.resume" },
    { N_("Train 10 Epochs More"), "win.train-more" },     { N_("Check Only"), "win.check" },
    { N_("Run 20 Steps"), "win.train-steps" },            { N_("Add to Queue"), "win.queue-add" },
    { N_("Show Command…"), "win.show-command" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char *reason = tn_window_reason (self, rows[i].action);
      /* Translators: a menu item and why it cannot be chosen */
      g_autofree char *label = reason != NULL ? g_strdup_printf (C_("menu item", "%s: %s"), _(rows[i].label), reason) : g_strdup (_(rows[i].label));
      g_menu_append (self->train_menu, label, rows[i].action);
    }
}

static gboolean
say_status (gpointer data)
{
  TnWindow *self = data;
  self->status_timer = 0;
  self->status_us = g_get_monotonic_time ();
  g_autofree char *text = tn_run_control_line_text (self->control);
  gtk_label_set_text (GTK_LABEL (self->status_label), text);
  return G_SOURCE_REMOVE;
}

/* A screen reader hears the line at most every five seconds. */
static void
queue_status (TnWindow *self)
{
  gint64 wait = self->status_us + STATUS_US - g_get_monotonic_time ();
  if (self->status_timer == 0)
    self->status_timer = g_timeout_add ((guint) CLAMP (wait / 1000, 1, 5000), say_status, self);
}

void
tn_window_update_header (TnWindow *self)
{
  gboolean project = tn_window_visible_page (self) != NULL && self->document != NULL;
  AdwWindowTitle *title = ADW_WINDOW_TITLE (self->header_title);
  tn_window_place_header (self);
  if (!project)
    {
      adw_window_title_set_title (title, "Tenon");
      adw_window_title_set_subtitle (title, "");
      gtk_window_set_title (GTK_WINDOW (self), "Tenon");
      return;
    }
  g_autofree char *line = tn_run_control_line_text (self->control);
  g_autofree char *name = g_strconcat (tn_document_is_dirty (self->document) ? "• " : "", tn_document_name (self->document), NULL);
  adw_window_title_set_title (title, name);
  TnRunWord now = tn_run_control_line (self->control)->word;
  gboolean short_line = self->width == TN_WIDTH_COMPACT && now != TN_WORD_NONE;
  adw_window_title_set_subtitle (title, short_line ? tn_run_word_label (now) : line);
  g_autofree char *window_title = g_strdup_printf ("%s – Tenon", tn_document_name (self->document));
  gtk_window_set_title (GTK_WINDOW (self), window_title);
  queue_status (self);

  const char *label, *action = choose_train (self, &label);
  self->train_action = action;
  AdwSplitButton *button = ADW_SPLIT_BUTTON (self->header_train_button);
  if (g_strcmp0 (adw_split_button_get_label (button), label) != 0)
    adw_split_button_set_label (button, label);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  TnRunWord word = tn_run_control_line (self->control)->word;
  if (word != self->last_word || g_menu_model_get_n_items (G_MENU_MODEL (self->train_menu)) == 0)
    fill_train_menu (self);

  TnPage *train = tn_window_page (self, "train");
  g_autofree char *badge = tn_run_word_is_live (word) ? g_strdup (word == TN_WORD_PAUSED ? "‖" : "●")
                           : word == TN_WORD_FAILED || word == TN_WORD_LOST ? g_strdup ("!") : NULL;
  if (train != NULL)
    tn_page_set_badge (train, badge, badge != NULL ? tn_run_word_label (word) : NULL);
}
