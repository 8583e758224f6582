/* SPDX-License-Identifier: Apache-2.0 */
#include "page-start.h"

#include <glib/gi18n.h>
#include <math.h>

#include "application.h"
#include "format.h"
#include "library/catalogue.h"
#include "run-line.h"
#include "samples.h"
#include "train/run-folder.h"
#include "train/run-state.h"

struct _TnPageStart
{
  AdwBin parent_instance;
  GtkWidget *cards, *recent_box, *recent_list, *recent_entry, *help_button;
  GCancellable *reading;
};

G_DEFINE_FINAL_TYPE (TnPageStart, tn_page_start, ADW_TYPE_BIN)

/* Recent projects. */

typedef struct
{
  char *path, *name, *state_text;
  gint64 opened_us;
  gboolean exists;
} Recent;

static void
recent_free (Recent *recent)
{
  g_free (recent->path);
  g_free (recent->name);
  g_free (recent->state_text);
  g_free (recent);
}

/* State of the newest run, as it is now. */
static char *
state_of (const char *project)
{
  g_autoptr (GPtrArray) runs = tn_run_folder_list (project, NULL);
  g_autoptr (TnRunFolder) folder = runs != NULL && runs->len > 0 ? tn_run_folder_open (g_ptr_array_index (runs, runs->len - 1), NULL) : NULL;
  if (folder == NULL)
    return NULL;
  static const TnRunWord words[TN_RUN_N_STATES] = { TN_WORD_QUEUED,   TN_WORD_STARTING, TN_WORD_RUNNING,  TN_WORD_PAUSED, TN_WORD_PARKED,
                                                    TN_WORD_STOPPING, TN_WORD_STOPPED,  TN_WORD_FINISHED, TN_WORD_FAILED, TN_WORD_LOST };
  const char *word = tn_run_word_label (words[tn_run_folder_seen_state (folder)]);
  double accuracy = tn_run_folder_fact_number (folder, "accuracy");
  g_autofree char *share = isfinite (accuracy) ? tn_format_share (accuracy) : NULL;
  return share != NULL ? g_strdup_printf ("%s · %s", word, share) : g_strdup (word);
}

static void
read_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  guint most = GPOINTER_TO_UINT (data);
  GPtrArray *found = g_ptr_array_new_with_free_func ((GDestroyNotify) recent_free);
  g_autoptr (TnCatalogue) catalogue = tn_catalogue_open (NULL, NULL);
  g_autoptr (GPtrArray) projects = catalogue != NULL ? tn_catalogue_projects (catalogue, NULL) : NULL;
  for (guint i = 0; projects != NULL && i < projects->len && found->len < most; i++)
    {
      const TnCatalogueProject *project = g_ptr_array_index (projects, i);
      Recent *recent = g_new0 (Recent, 1);
      recent->path = g_strdup (project->path);
      recent->name = project->name != NULL && *project->name != '\0' ? g_strdup (project->name) : g_path_get_basename (project->path);
      recent->opened_us = project->opened_us;
      recent->exists = project->exists;
      recent->state_text = project->exists ? state_of (project->path) : NULL;
      g_ptr_array_add (found, recent);
    }
  g_task_return_pointer (task, found, (GDestroyNotify) g_ptr_array_unref);
}

static void
recent_activated_cb (GtkListBox *list, GtkListBoxRow *row, TnPageStart *self)
{
  const char *path = g_object_get_data (G_OBJECT (row), "tn-path");
  if (path != NULL)
    gtk_widget_activate_action (GTK_WIDGET (self), "win.open-path", "s", path);
}

static void
forget_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_autoptr (TnCatalogue) catalogue = tn_catalogue_open (NULL, NULL);
  if (catalogue != NULL)
    tn_catalogue_forget_project (catalogue, data, NULL);
  g_task_return_boolean (task, TRUE);
}

static void
forgot_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  tn_page_start_refresh (TN_PAGE_START (source));
}

static void
forget_cb (GtkButton *button, TnPageStart *self)
{
  GtkWidget *row = gtk_widget_get_ancestor (GTK_WIDGET (button), GTK_TYPE_LIST_BOX_ROW);
  g_autoptr (GTask) task = g_task_new (self, NULL, forgot_cb, NULL);
  g_task_set_task_data (task, g_strdup (g_object_get_data (G_OBJECT (row), "tn-path")), g_free);
  g_task_run_in_thread (task, forget_thread);
}

static GtkWidget *
recent_row (TnPageStart *self, const Recent *recent)
{
  GtkWidget *row = adw_action_row_new ();
  g_autofree char *name = g_markup_escape_text (recent->name, -1), *folder = g_path_get_dirname (recent->path);
  g_autofree char *where = g_str_has_prefix (folder, g_get_home_dir ()) ? g_strconcat ("~", folder + strlen (g_get_home_dir ()), NULL) : g_strdup (folder);
  g_autofree char *subtitle = recent->exists ? (recent->state_text != NULL ? g_strdup_printf ("%s · %s", recent->state_text, where) : g_strdup (where))
                                             : g_strdup_printf (_("Not found in %s"), where);
  g_autofree char *markup = g_markup_escape_text (subtitle, -1), *moment = tn_format_moment (recent->opened_us), *id = g_strconcat ("start_recent_row:", recent->path, NULL);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), name);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), markup);
  adw_action_row_set_title_lines (ADW_ACTION_ROW (row), 1);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 1);
  gtk_widget_set_tooltip_text (row, recent->path);
  gtk_widget_set_name (row, id);
  g_object_set_data_full (G_OBJECT (row), "tn-path", g_strdup (recent->path), g_free);
  GtkWidget *time = gtk_label_new (moment);
  gtk_widget_add_css_class (time, "dim-label");
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), time);
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), recent->exists);
  if (recent->exists)
    adw_action_row_add_suffix (ADW_ACTION_ROW (row), gtk_image_new_from_icon_name ("go-next-symbolic"));
  else
    {
      GtkWidget *button = gtk_button_new_from_icon_name ("list-remove-symbolic");
      gtk_widget_add_css_class (button, "flat");
      gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
      gtk_widget_set_tooltip_text (button, _("Remove from the list"));
      gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Remove from the list"), -1);
      g_signal_connect (button, "clicked", G_CALLBACK (forget_cb), self);
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), button);
    }
  return row;
}

static void
read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnPageStart *self = TN_PAGE_START (source);
  g_autoptr (GPtrArray) found = g_task_propagate_pointer (G_TASK (result), NULL);
  if (found == NULL)
    return;
  GtkListBoxRow *row;
  while ((row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->recent_list), 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->recent_list), GTK_WIDGET (row));
  for (guint i = 0; i < found->len; i++)
    gtk_list_box_append (GTK_LIST_BOX (self->recent_list), recent_row (self, g_ptr_array_index (found, i)));
  gtk_widget_set_visible (self->recent_box, found->len > 0);
  gtk_widget_set_visible (self->recent_entry, found->len > 5);
}

void
tn_page_start_refresh (TnPageStart *self)
{
  g_return_if_fail (TN_IS_PAGE_START (self));
  g_cancellable_cancel (self->reading);
  g_clear_object (&self->reading);
  self->reading = g_cancellable_new ();
  g_autoptr (GTask) task = g_task_new (self, self->reading, read_cb, NULL);
  g_task_set_task_data (task, GUINT_TO_POINTER (g_settings_get_uint (tn_application_settings (), "recent-max")), NULL);
  g_task_run_in_thread (task, read_thread);
}

static gboolean
filter_func (GtkListBoxRow *row, gpointer data)
{
  TnPageStart *self = data;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->recent_entry));
  const char *path = g_object_get_data (G_OBJECT (row), "tn-path");
  g_autofree char *needle = g_utf8_casefold (text, -1), *hay = path != NULL ? g_utf8_casefold (path, -1) : NULL;
  return hay == NULL || strstr (hay, needle) != NULL;
}

/* Cards and buttons. */

static GtkWidget *
sample_card (const TnSample *sample)
{
  GtkWidget *card = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *texts = gtk_box_new (GTK_ORIENTATION_VERTICAL, 3), *title = gtk_label_new (_(sample->title)), *text = gtk_label_new (_(sample->text));
  GtkWidget *button = gtk_button_new_with_label (_("Train"));
  g_autoptr (GdkTexture) texture = tn_sample_picture (sample->id);
  GtkWidget *picture = gtk_picture_new_for_paintable (GDK_PAINTABLE (texture));
  gtk_picture_set_content_fit (GTK_PICTURE (picture), GTK_CONTENT_FIT_COVER);
  gtk_picture_set_alternative_text (GTK_PICTURE (picture), _(sample->text));
  gtk_widget_set_size_request (picture, 240, 140);
  gtk_widget_set_overflow (card, GTK_OVERFLOW_HIDDEN);
  gtk_widget_add_css_class (card, "card");
  gtk_widget_add_css_class (card, "sample-card");
  gtk_label_set_xalign (GTK_LABEL (title), 0);
  gtk_label_set_xalign (GTK_LABEL (text), 0);
  gtk_label_set_wrap (GTK_LABEL (text), TRUE);
  gtk_widget_add_css_class (title, "heading");
  gtk_widget_add_css_class (text, "dim-label");
  gtk_widget_set_hexpand (texts, TRUE);
  gtk_box_append (GTK_BOX (texts), title);
  gtk_box_append (GTK_BOX (texts), text);
  gtk_widget_add_css_class (button, "suggested-action");
  gtk_widget_add_css_class (button, "pill");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), "win.start-sample");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", sample->id);
  g_autofree char *id = g_strconcat ("start_train_button:", sample->id, NULL);
  /* Translators: "Train Digits" */
  g_autofree char *label = g_strdup_printf (_("Train %s"), _(sample->title));
  gtk_widget_set_name (button, id);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  g_object_set_data_full (G_OBJECT (button), "tn-label", g_strdup (label), g_free);
  gtk_widget_set_margin_top (line, 12);
  gtk_widget_set_margin_bottom (line, 12);
  gtk_widget_set_margin_start (line, 12);
  gtk_widget_set_margin_end (line, 12);
  gtk_box_append (GTK_BOX (line), texts);
  gtk_box_append (GTK_BOX (line), button);
  gtk_box_append (GTK_BOX (card), picture);
  gtk_box_append (GTK_BOX (card), line);
  return card;
}

static GtkWidget *
action_button (const char *label, const char *icon, const char *action, const char *target, const char *id)
{
  GtkWidget *button = gtk_button_new (), *content = adw_button_content_new ();
  adw_button_content_set_label (ADW_BUTTON_CONTENT (content), label);
  adw_button_content_set_icon_name (ADW_BUTTON_CONTENT (content), icon);
  adw_button_content_set_use_underline (ADW_BUTTON_CONTENT (content), TRUE);
  gtk_button_set_child (GTK_BUTTON (button), content);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  if (target != NULL)
    gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "s", target);
  gtk_widget_set_name (button, id);
  return button;
}

static GtkWidget *
section_title (const char *text)
{
  GtkWidget *label = gtk_label_new (text);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "title-4");
  gtk_widget_set_hexpand (label, TRUE);
  return label;
}

static GtkWidget *
make_own (void)
{
  GtkWidget *flow = gtk_flow_box_new ();
  GtkWidget *const buttons[] = {
    action_button (_("_Open…"), "document-open-symbolic", "win.open", NULL, "start_open_button"),
    action_button (_("Open _Folder…"), "folder-open-symbolic", "win.open-folder", NULL, "start_open_folder_button"),
    action_button (_("_Empty Project"), "document-new-symbolic", "win.start-sample", "empty", "start_empty_button"),
  };
  gtk_flow_box_set_selection_mode (GTK_FLOW_BOX (flow), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line (GTK_FLOW_BOX (flow), 3);
  gtk_flow_box_set_column_spacing (GTK_FLOW_BOX (flow), 12);
  gtk_flow_box_set_row_spacing (GTK_FLOW_BOX (flow), 12);
  gtk_flow_box_set_homogeneous (GTK_FLOW_BOX (flow), TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (buttons); i++)
    {
      gtk_flow_box_append (GTK_FLOW_BOX (flow), buttons[i]);
      gtk_widget_set_focusable (gtk_widget_get_parent (buttons[i]), FALSE);
    }
  return flow;
}

static GtkWidget *
make_recent (TnPageStart *self)
{
  GtkWidget *line = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  self->recent_box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  self->recent_entry = gtk_search_entry_new ();
  gtk_widget_set_name (self->recent_entry, "start_recent_entry");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->recent_entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Filter recent projects"), -1);
  self->recent_list = gtk_list_box_new ();
  gtk_widget_set_name (self->recent_list, "start_recent_list");
  gtk_widget_add_css_class (self->recent_list, "boxed-list");
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->recent_list), GTK_SELECTION_NONE);
  gtk_list_box_set_filter_func (GTK_LIST_BOX (self->recent_list), filter_func, self, NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->recent_list), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Recent projects"), -1);
  g_signal_connect (self->recent_list, "row-activated", G_CALLBACK (recent_activated_cb), self);
  g_signal_connect_swapped (self->recent_entry, "search-changed", G_CALLBACK (gtk_list_box_invalidate_filter), self->recent_list);
  gtk_box_append (GTK_BOX (line), section_title (_("Recent")));
  gtk_box_append (GTK_BOX (line), self->recent_entry);
  gtk_box_append (GTK_BOX (self->recent_box), line);
  gtk_box_append (GTK_BOX (self->recent_box), self->recent_list);
  gtk_widget_set_visible (self->recent_box, FALSE);
  return self->recent_box;
}

static void
help_action (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gtk_menu_button_popup (GTK_MENU_BUTTON (TN_PAGE_START (widget)->help_button));
}

static GtkWidget *
make_help (TnPageStart *self)
{
  GtkWidget *label = gtk_label_new (_("Everything begins here. Press Train on a sample to see a network learn at once, or open your own data or project. What you "
                                      "opened before stands below.")), *popover = gtk_popover_new ();
  self->help_button = gtk_menu_button_new ();
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 44);
  gtk_popover_set_child (GTK_POPOVER (popover), label);
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (self->help_button), popover);
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (self->help_button), "help-about-symbolic");
  gtk_widget_add_css_class (self->help_button, "flat");
  gtk_widget_set_name (self->help_button, "start_help_button");
  gtk_widget_set_tooltip_text (self->help_button, _("About this page"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->help_button), GTK_ACCESSIBLE_PROPERTY_LABEL, _("About this page"), -1);
  return self->help_button;
}

void
tn_page_start_set_width (TnPageStart *self, TnWidthClass width)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->cards), width == TN_WIDTH_COMPACT ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL);
}

static void
tn_page_start_dispose (GObject *object)
{
  TnPageStart *self = TN_PAGE_START (object);
  g_cancellable_cancel (self->reading);
  g_clear_object (&self->reading);
  G_OBJECT_CLASS (tn_page_start_parent_class)->dispose (object);
}

static void
tn_page_start_class_init (TnPageStartClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_page_start_dispose;
  gtk_widget_class_install_action (GTK_WIDGET_CLASS (class), "start.help", NULL, help_action);
}

static void
tn_page_start_init (TnPageStart *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18), *clamp = adw_clamp_new (), *scroller = gtk_scrolled_window_new ();
  GtkWidget *first = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  gtk_box_append (GTK_BOX (first), section_title (_("Try a sample")));
  gtk_box_append (GTK_BOX (first), make_help (self));
  self->cards = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 18);
  gtk_box_set_homogeneous (GTK_BOX (self->cards), TRUE);
  gtk_widget_set_name (self->cards, "start_sample_list");
  for (const TnSample *sample = tn_samples; sample->id != NULL; sample++)
    gtk_box_append (GTK_BOX (self->cards), sample_card (sample));
  GtkWidget *hint = gtk_label_new (_("You can also drop a file or folder anywhere."));
  gtk_widget_add_css_class (hint, "dim-label");
  gtk_label_set_wrap (GTK_LABEL (hint), TRUE);
  GtkWidget *const children[] = { first, self->cards, section_title (_("Use your own")), make_own (), make_recent (self), hint };
  for (guint i = 0; i < G_N_ELEMENTS (children); i++)
    gtk_box_append (GTK_BOX (box), children[i]);
  gtk_widget_set_margin_top (box, 24);
  gtk_widget_set_margin_bottom (box, 24);
  gtk_widget_set_margin_start (box, 18);
  gtk_widget_set_margin_end (box, 18);
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 800);
  adw_clamp_set_tightening_threshold (ADW_CLAMP (clamp), 700);
  adw_clamp_set_child (ADW_CLAMP (clamp), box);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  adw_bin_set_child (ADW_BIN (self), scroller);
  gtk_widget_set_name (GTK_WIDGET (self), "start_page");
}

GtkWidget *
tn_page_start_new (void)
{
  return g_object_new (TN_TYPE_PAGE_START, NULL);
}
