/* SPDX-License-Identifier: Apache-2.0 */
#include "window-private.h"

#include <glib/gi18n.h>

#include "accelerators.h"
#include "application.h"
#include "command-window.h"
#include "goto-popover.h"
#include "page-train.h"
#include "values-window.h"

#define REASON_US (2 * G_USEC_PER_SEC)
#define N_MORE_EPOCHS 10
#define N_TRIAL_STEPS "20"

typedef enum
{
  NEEDS_NOTHING = 0,
  NEEDS_PROJECT = 1 << 0,
  NEEDS_LIVE = 1 << 1,      /* a trainer works */
  NEEDS_END = 1 << 2,       /* the run ended and can go on */
  NEEDS_NO_LIVE = 1 << 3,
  NEEDS_SELECTION = 1 << 4,
  NEEDS_PAUSABLE = 1 << 5,  /* running or paused */
  NEEDS_UNDO = 1 << 6,
  NEEDS_REDO = 1 << 7,
  NEEDS_BACK = 1 << 8,
  NEEDS_FORWARD = 1 << 9,
  NEEDS_TRAIN = 1 << 10,
  NEEDS_DRAWER = 1 << 11,
  NEEDS_RUN = 1 << 12
} Needs;

typedef struct
{
  const char *name;
  void (*activate) (TnWindow *self);
  guint needs;
  int verb; /* of the visible page, or -1 */
} Row;

static void train_again (TnWindow *self);
static void check (TnWindow *self);

/* A schedule of rates that has ended: only the user knows what comes after it. */

static void
extend_clicked_cb (GtkButton *button, TnWindow *self)
{
  GtkWidget *popover = gtk_widget_get_ancestor (GTK_WIDGET (button), GTK_TYPE_POPOVER);
  tn_run_control_extend_as (self->control, N_MORE_EPOCHS, g_object_get_data (G_OBJECT (button), "tn-how"));
  gtk_popover_popdown (GTK_POPOVER (popover));
  tn_window_show_page (self, "train");
}

static void
popover_closed_cb (GtkWidget *popover, gpointer data)
{
  g_idle_add_once ((GSourceOnceFunc) gtk_widget_unparent, popover); /* its own handlers run to their end first */
}

static void
ask_schedule (TnWindow *self)
{
  static const struct
  {
    const char *how, *id, *label, *hint;
  } choices[] = {
    { "hold", "train_extend_hold_button", N_("_Hold the Last Rate"), N_("The learning rate stays where the schedule ended") },
    { "stretch", "train_extend_stretch_button", N_("_Stretch the Schedule"), N_("The schedule is laid over the new length of the run") },
    { "restart", "train_extend_restart_button", N_("_Restart the Schedule"), N_("The schedule begins again from its start") },
  };
  GtkWidget *popover = gtk_popover_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *text = gtk_label_new (_("The schedule of learning rates has ended.\nWhat shall the next 10 epochs do?"));
  gtk_label_set_xalign (GTK_LABEL (text), 0);
  gtk_widget_set_margin_bottom (text, 6);
  gtk_widget_set_name (popover, "train_extend_popover");
  gtk_box_append (GTK_BOX (box), text);
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++)
    {
      GtkWidget *button = gtk_button_new_with_mnemonic (_(choices[i].label));
      gtk_widget_set_name (button, choices[i].id);
      gtk_widget_set_tooltip_text (button, _(choices[i].hint));
      if (i == 0)
        gtk_widget_add_css_class (button, "suggested-action");
      g_object_set_data (G_OBJECT (button), "tn-how", (gpointer) choices[i].how);
      g_signal_connect_object (button, "clicked", G_CALLBACK (extend_clicked_cb), self, 0);
      gtk_box_append (GTK_BOX (box), button);
    }
  gtk_widget_set_margin_top (box, 6);
  gtk_widget_set_margin_bottom (box, 6);
  gtk_widget_set_margin_start (box, 6);
  gtk_widget_set_margin_end (box, 6);
  gtk_popover_set_child (GTK_POPOVER (popover), box);
  gtk_widget_set_parent (popover, self->header_train_button);
  g_signal_connect (popover, "closed", G_CALLBACK (popover_closed_cb), NULL);
  gtk_popover_popup (GTK_POPOVER (popover));
}

static void
train_more (TnWindow *self)
{
  const TnSettings *settings = tn_run_control_settings (self->control);
  gboolean scheduled = settings != NULL && !tn_settings_enum_is (settings, "schedule.kind", "constant");
  if (scheduled && tn_run_control_line (self->control)->word == TN_WORD_FINISHED)
    {
      ask_schedule (self);
      return;
    }
  tn_run_control_extend (self->control, N_MORE_EPOCHS);
  tn_window_show_page (self, "train");
}

static void
train (TnWindow *self)
{
  const char *action = self->train_action != NULL ? self->train_action : "new";
  if (g_str_equal (action, "queued"))
    tn_run_control_start_queued (self->control);
  else if (g_str_equal (action, "unpause"))
    tn_run_control_pause (self->control, FALSE);
  else if (g_str_equal (action, "more"))
    {
      train_more (self);
      return;
    }
  else if (g_str_equal (action, "resume"))
    tn_run_control_resume (self->control);
  else
    {
      train_again (self);
      return;
    }
  tn_window_show_page (self, "train");
}

/* What would be refused is not begun: the list says what is wrong and how to mend it. */
static void
train_again (TnWindow *self)
{
  TnPage *page = tn_window_page (self, "train");
  if (page != NULL && page == tn_window_visible_page (self) && tn_page_train_error (TN_PAGE_TRAIN (page)) != NULL)
    {
      check (self);
      return;
    }
  tn_run_control_train (self->control, NULL);
  tn_window_show_page (self, "train");
}

static void
train_steps (TnWindow *self)
{
  g_autoptr (TnSettings) settings = tn_settings_copy (tn_document_settings (self->document));
  if (tn_settings_set (settings, "train.max_steps", N_TRIAL_STEPS, NULL))
    tn_run_control_train (self->control, settings);
  tn_window_show_page (self, "train");
}

static void
resume (TnWindow *self)
{
  tn_run_control_resume (self->control);
}

static void
queue_add (TnWindow *self)
{
  tn_run_control_enqueue (self->control);
  tn_window_toast (self, _("Added to the queue"));
}

static void
stop (TnWindow *self)
{
  tn_run_control_stop (self->control);
}

static void
stop_now (TnWindow *self)
{
  tn_run_control_stop_now (self->control);
}

static void
park (TnWindow *self)
{
  tn_run_control_park (self->control);
}

static void
checkpoint (TnWindow *self)
{
  tn_run_control_checkpoint (self->control);
  tn_window_toast (self, _("A checkpoint is written at the end of this step"));
}

static void
check (TnWindow *self)
{
  TnPage *page = tn_window_page (self, "train");
  tn_window_show_page (self, "train");
  if (page != NULL)
    g_signal_emit_by_name (page, "check");
}

static void
show_command (TnWindow *self)
{
  tn_command_present (GTK_WINDOW (self), self->document, tn_run_control_path (self->control));
}

static void
home (TnWindow *self)
{
  tn_window_show_start (self);
}

static void
step_page (TnWindow *self, int by)
{
  TnPage *page = tn_window_visible_page (self);
  guint at = 0;
  if (page == NULL)
    return;
  g_ptr_array_find (self->pages, page, &at);
  int to = CLAMP ((int) at + by, 0, (int) self->pages->len - 1);
  tn_window_show_page (self, tn_pages[to].id);
}

static void
next_page (TnWindow *self)
{
  step_page (self, 1);
}

static void
previous_page (TnWindow *self)
{
  step_page (self, -1);
}

static void
back (TnWindow *self)
{
  tn_window_go (self, -1);
}

static void
forward (TnWindow *self)
{
  tn_window_go (self, 1);
}

static void
undo (TnWindow *self)
{
  tn_document_undo (self->document);
}

static void
redo (TnWindow *self)
{
  tn_document_redo (self->document);
}

static void
open_file (TnWindow *self)
{
  tn_window_choose_file (self, FALSE);
}

static void
open_folder (TnWindow *self)
{
  tn_window_choose_file (self, TRUE);
}

static void
saved_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnWindow) self = data;
  if (tn_document_save_finish (TN_DOCUMENT (source), result, NULL))
    tn_window_toast (self, _("Saved"));
}

static void
save (TnWindow *self)
{
  tn_document_save_async (self->document, saved_cb, g_object_ref (self));
}

static void
take_theirs (TnWindow *self)
{
  tn_document_reload (self->document);
}

static void
clear_selection (TnWindow *self)
{
  tn_selection_clear (self->selection, tn_selection_latest (self->selection));
}

static void
clear_all (TnWindow *self)
{
  tn_selection_clear_all (self->selection);
}

static void
show_goto (TnWindow *self)
{
  tn_goto_present (self);
}

static void
show_menu (TnWindow *self)
{
  gtk_menu_button_popup (GTK_MENU_BUTTON (self->header_menu_button));
}

static void
fullscreen (TnWindow *self)
{
  if (gtk_window_is_fullscreen (GTK_WINDOW (self)))
    gtk_window_unfullscreen (GTK_WINDOW (self));
  else
    gtk_window_fullscreen (GTK_WINDOW (self));
}

static void
help (TnWindow *self)
{
  TnPage *page = tn_window_visible_page (self);
  if (page != NULL)
    tn_page_show_help (page);
  else
    gtk_widget_activate_action (self->start, "start.help", NULL);
}

static void
show_shortcuts (TnWindow *self)
{
  GtkWidget *window = tn_shortcuts_window_new ();
  gtk_window_set_transient_for (GTK_WINDOW (window), GTK_WINDOW (self));
  gtk_window_present (GTK_WINDOW (window));
  g_object_unref (window);
}

static void
close_window (TnWindow *self)
{
  gtk_window_close (GTK_WINDOW (self));
}

static const Row rows[] = {
  { "open", open_file, NEEDS_NOTHING, -1 },
  { "open-folder", open_folder, NEEDS_NOTHING, -1 },
  { "save", save, NEEDS_PROJECT, -1 },
  { "save-copy", tn_window_save_copy, NEEDS_PROJECT, -1 },
  { "take-theirs", take_theirs, NEEDS_PROJECT, -1 },
  { "goto", show_goto, NEEDS_NOTHING, -1 },
  { "help", help, NEEDS_NOTHING, -1 },
  { "show-help-overlay", show_shortcuts, NEEDS_NOTHING, -1 },
  { "menu", show_menu, NEEDS_NOTHING, -1 },
  { "fullscreen", fullscreen, NEEDS_NOTHING, -1 },
  { "close", close_window, NEEDS_NOTHING, -1 },
  { "home", home, NEEDS_NOTHING, -1 },
  { "next-page", next_page, NEEDS_PROJECT, -1 },
  { "previous-page", previous_page, NEEDS_PROJECT, -1 },
  { "back", back, NEEDS_BACK, -1 },
  { "forward", forward, NEEDS_FORWARD, -1 },
  { "train", train, NEEDS_PROJECT | NEEDS_TRAIN, -1 },
  { "train-again", train_again, NEEDS_PROJECT | NEEDS_NO_LIVE, -1 },
  { "train-more", train_more, NEEDS_PROJECT | NEEDS_END, -1 },
  { "train-steps", train_steps, NEEDS_PROJECT | NEEDS_NO_LIVE, -1 },
  { "resume", resume, NEEDS_PROJECT | NEEDS_END, -1 },
  { "queue-add", queue_add, NEEDS_PROJECT, -1 },
  { "stop", stop, NEEDS_LIVE, -1 },
  { "stop-now", stop_now, NEEDS_LIVE, -1 },
  { "park", park, NEEDS_LIVE, -1 },
  { "checkpoint", checkpoint, NEEDS_LIVE, -1 },
  { "check", check, NEEDS_PROJECT, -1 },
  { "show-command", show_command, NEEDS_PROJECT, -1 },
  { "undo", undo, NEEDS_UNDO, -1 },
  { "redo", redo, NEEDS_REDO, -1 },
  { "clear-selection", clear_selection, NEEDS_SELECTION, -1 },
  { "clear-all", clear_all, NEEDS_SELECTION, -1 },
  { "find", NULL, NEEDS_PROJECT, TN_PAGE_FIND },
  { "find-next", NULL, NEEDS_PROJECT, TN_PAGE_FIND_NEXT },
  { "find-previous", NULL, NEEDS_PROJECT, TN_PAGE_FIND_PREVIOUS },
  { "export", NULL, NEEDS_PROJECT, TN_PAGE_EXPORT },
  { "export-again", NULL, NEEDS_PROJECT, TN_PAGE_EXPORT_AGAIN },
  { "print", NULL, NEEDS_PROJECT, TN_PAGE_PRINT },
  { "copy", NULL, NEEDS_PROJECT, TN_PAGE_COPY },
  { "copy-picture", NULL, NEEDS_PROJECT, TN_PAGE_COPY_PICTURE },
  { "paste", NULL, NEEDS_PROJECT, TN_PAGE_PASTE },
  { "table-twin", NULL, NEEDS_PROJECT, TN_PAGE_TABLE_TWIN },
  { "zoom-in", NULL, NEEDS_PROJECT, TN_PAGE_ZOOM_IN },
  { "zoom-out", NULL, NEEDS_PROJECT, TN_PAGE_ZOOM_OUT },
  { "zoom-fit", NULL, NEEDS_PROJECT, TN_PAGE_ZOOM_FIT },
  { "zoom-actual", NULL, NEEDS_PROJECT, TN_PAGE_ZOOM_ACTUAL },
  { "fit-selection", NULL, NEEDS_PROJECT, TN_PAGE_FIT_SELECTION },
  { "reload", NULL, NEEDS_PROJECT, TN_PAGE_RELOAD },
  { "next-view", NULL, NEEDS_PROJECT, TN_PAGE_NEXT_VIEW },
  { "previous-view", NULL, NEEDS_PROJECT, TN_PAGE_PREVIOUS_VIEW },
};

static const Row *
find_row (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (rows[i].name, name))
      return &rows[i];
  return NULL;
}

/* The first need that is not met, in words; NULL where all are. */
static const char *
missing (TnWindow *self, const Row *row)
{
  TnRunWord word = tn_run_control_line (self->control)->word;
  gboolean live = tn_run_word_is_live (word);
  TnPage *page = tn_window_visible_page (self);
  if (row->needs & NEEDS_PROJECT && self->document == NULL)
    return _("no project is open");
  if (row->needs & NEEDS_LIVE && !live)
    return _("nothing is training");
  if (row->needs & NEEDS_NO_LIVE && live)
    return _("a training is running");
  if (row->needs & NEEDS_END && !tn_run_word_is_end (word))
    return live ? _("the training is still running") : _("nothing was trained yet");
  if (row->needs & NEEDS_TRAIN && live && word != TN_WORD_PAUSED)
    return _("it is training already");
  if (row->needs & NEEDS_SELECTION && tn_selection_parts (self->selection) == 0)
    return _("nothing is selected");
  if (row->needs & NEEDS_UNDO && (self->document == NULL || !tn_document_can_undo (self->document)))
    return _("there is nothing to undo");
  if (row->needs & NEEDS_REDO && (self->document == NULL || !tn_document_can_redo (self->document)))
    return _("there is nothing to redo");
  if (row->needs & NEEDS_BACK && self->history_at == 0)
    return _("this is the first view");
  if (row->needs & NEEDS_FORWARD && self->history_at + 1 >= self->history->len)
    return _("this is the last view");
  if (row->verb >= 0 && (page == NULL || (tn_page_verbs (page) & (1u << row->verb)) == 0))
    return _("this page has nothing for it");
  return NULL;
}

const char *
tn_window_reason (TnWindow *self, const char *action)
{
  const Row *row = find_row (g_str_has_prefix (action, "win.") ? action + 4 : action);
  return row != NULL ? missing (self, row) : NULL;
}

static void
activate_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnWindow *self = data;
  const Row *row = find_row (g_action_get_name (G_ACTION (action)));
  if (row->verb < 0)
    row->activate (self);
  else if (tn_window_visible_page (self) != NULL)
    tn_page_perform (tn_window_visible_page (self), (TnPageVerb) row->verb);
}

/* Actions with a value. */

static void
page_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  tn_window_show_page (data, g_variant_get_string (parameter, NULL));
}

static void
open_path_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  tn_window_open (data, g_variant_get_string (parameter, NULL));
}

static void
sample_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  const char *sample = g_variant_get_string (parameter, NULL);
  tn_window_start_sample (data, sample, !g_str_equal (sample, "empty"));
}

static void
rename_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnWindow *self = data;
  g_autoptr (GError) error = NULL;
  if (self->document != NULL && !tn_document_edit (self->document, "name", "", g_variant_get_string (parameter, NULL), &error))
    tn_window_show_error (self, error);
}

static void
run_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnWindow *self = data;
  tn_run_control_select (self->control, g_variant_get_string (parameter, NULL));
}

static void
setting_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  TnWindow *self = data;
  TnPage *page = tn_window_page (self, "train");
  tn_window_show_page (self, "train");
  if (page != NULL && self->document != NULL)
    tn_page_train_show_setting (TN_PAGE_TRAIN (page), g_variant_get_string (parameter, NULL));
}

static void
values_cb (GSimpleAction *action, GVariant *parameter, gpointer data)
{
  tn_values_present (data, g_variant_get_string (parameter, NULL));
}

static void
change_pause_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnWindow *self = data;
  g_simple_action_set_state (action, value);
  tn_run_control_pause (self->control, g_variant_get_boolean (value));
}

static void
change_flap_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnWindow *self = data;
  gboolean sidebar = g_str_equal (g_action_get_name (G_ACTION (action)), "show-sidebar");
  AdwFlap *flap = ADW_FLAP (sidebar ? self->sidebar_flap : self->inspector_flap);
  adw_flap_set_reveal_flap (flap, g_variant_get_boolean (value));
  if (!adw_flap_get_folded (flap))
    g_settings_set_boolean (tn_application_settings (), sidebar ? "sidebar-visible" : "inspector-visible", g_variant_get_boolean (value));
}

static void
change_drawer_cb (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnWindow *self = data;
  g_simple_action_set_state (action, value);
  g_settings_set_boolean (tn_application_settings (), "drawer-visible", g_variant_get_boolean (value));
  for (guint i = 0; i < self->pages->len; i++)
    tn_page_set_drawer_shown (g_ptr_array_index (self->pages, i), g_variant_get_boolean (value));
}

static const GActionEntry entries[] = {
  { .name = "page", .activate = page_cb, .parameter_type = "s" },
  { .name = "open-path", .activate = open_path_cb, .parameter_type = "s" },
  { .name = "start-sample", .activate = sample_cb, .parameter_type = "s" },
  { .name = "rename", .activate = rename_cb, .parameter_type = "s" },
  { .name = "run", .activate = run_cb, .parameter_type = "s" },
  { .name = "setting", .activate = setting_cb, .parameter_type = "s" },
  { .name = "values", .activate = values_cb, .parameter_type = "s" },
  { .name = "pause", .state = "false", .change_state = change_pause_cb },
  { .name = "show-sidebar", .state = "true", .change_state = change_flap_cb },
  { .name = "show-inspector", .state = "true", .change_state = change_flap_cb },
  { .name = "show-drawer", .state = "false", .change_state = change_drawer_cb },
};

static void
set_state (TnWindow *self, const char *name, gboolean state)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), name);
  g_simple_action_set_state (G_SIMPLE_ACTION (action), g_variant_new_boolean (state));
}

static void
set_enabled (TnWindow *self, const char *name, gboolean enabled)
{
  GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), name);
  if (g_action_get_enabled (action) != enabled)
    g_simple_action_set_enabled (G_SIMPLE_ACTION (action), enabled);
}

void
tn_window_update_actions (TnWindow *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    set_enabled (self, rows[i].name, missing (self, &rows[i]) == NULL);
  TnRunWord word = tn_run_control_line (self->control)->word;
  set_enabled (self, "pause", word == TN_WORD_RUNNING || word == TN_WORD_SILENT || word == TN_WORD_PAUSING || word == TN_WORD_PAUSED);
  set_state (self, "pause", word == TN_WORD_PAUSED || word == TN_WORD_PAUSING);
  gtk_widget_set_tooltip_text (self->header_pause_toggle, word == TN_WORD_PAUSED ? _("Go on (Ctrl+Shift+R)") : _("Pause (Ctrl+Shift+R)"));
  const char *reason = tn_window_reason (self, "win.train");
  g_autofree char *why = reason != NULL ? g_strdup_printf (_("Train: %s"), reason) : g_strdup (_("Train (Ctrl+R)"));
  gtk_widget_set_tooltip_text (self->header_train_button, why);
  TnPage *page = tn_window_visible_page (self);
  set_enabled (self, "show-drawer", page != NULL && tn_page_has_drawer (page));
  set_enabled (self, "show-sidebar", page != NULL);
  set_enabled (self, "show-inspector", page != NULL);
}

static void
flap_cb (GObject *flap, GParamSpec *spec, TnWindow *self)
{
  set_state (self, "show-sidebar", adw_flap_get_reveal_flap (ADW_FLAP (self->sidebar_flap)));
  set_state (self, "show-inspector", adw_flap_get_reveal_flap (ADW_FLAP (self->inspector_flap)));
}

/* A key whose action is off says why, at most once in two seconds. The accelerators ran before, so this sees only the rest. */
static gboolean
refused_key_cb (GtkEventControllerKey *controller, guint key, guint code, GdkModifierType state, TnWindow *self)
{
  for (const TnAccelerator *at = tn_accelerators; at->action != NULL; at++)
    {
      if (at->accelerator == NULL || at->local || !g_str_has_prefix (at->action, "win."))
        continue;
      GAction *action = g_action_map_lookup_action (G_ACTION_MAP (self), at->action + 4);
      g_auto (GStrv) keys = g_strsplit (at->accelerator, " ", -1);
      guint wanted;
      GdkModifierType mask;
      if (action == NULL || g_action_get_enabled (action) || !gtk_accelerator_parse (keys[0], &wanted, &mask)
          || gdk_keyval_to_lower (key) != wanted || (state & gtk_accelerator_get_default_mod_mask ()) != mask)
        continue;
      gint64 now = g_get_monotonic_time ();
      const char *reason = tn_window_reason (self, at->action);
      if (now - self->last_reason_us > REASON_US)
        {
          g_autofree char *text = g_strdup_printf (C_("menu item", "%s: %s"), _(at->title), reason != NULL ? reason : _("not possible now"));
          tn_window_toast (self, text);
          self->last_reason_us = now;
        }
      return TRUE;
    }
  return FALSE;
}

void
tn_window_install_actions (TnWindow *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GSimpleAction) action = g_simple_action_new (rows[i].name, NULL);
      g_signal_connect (action, "activate", G_CALLBACK (activate_cb), self);
      g_action_map_add_action (G_ACTION_MAP (self), G_ACTION (action));
    }
  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries), self);
  g_signal_connect (self->sidebar_flap, "notify::reveal-flap", G_CALLBACK (flap_cb), self);
  g_signal_connect (self->inspector_flap, "notify::reveal-flap", G_CALLBACK (flap_cb), self);
  gboolean drawer = g_settings_get_boolean (tn_application_settings (), "drawer-visible");
  set_state (self, "show-drawer", drawer);
  for (guint i = 0; i < self->pages->len; i++)
    tn_page_set_drawer_shown (g_ptr_array_index (self->pages, i), drawer);
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (refused_key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}
