/* SPDX-License-Identifier: Apache-2.0 */
#include "data-form.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "combo-row.h"
#include "spin-row.h"
#include "switch-row.h"

#define BUILT_IN "drawn-digits"

struct _TnDataForm
{
  AdwBin parent_instance;
  TnDocument *document;
  TnDataScan *scan;
  GtkWidget *sources, *rule, *percent, *drop_last, *shuffle;
  GtkWidget *radios; /* never shown: makes even a single source a radio button */
  GPtrArray *known; /* sources that this window has seen, char* */
  GtkFileChooserNative *dialog;
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (TnDataForm, tn_data_form, ADW_TYPE_BIN)

static void
edit (TnDataForm *self, GtkWidget *row, const char *key, const char *value)
{
  g_autoptr (GError) error = NULL;
  if (self->document == NULL || self->filling)
    return;
  if (!tn_document_edit (self->document, "setting", key, value, &error) && row != NULL)
    tn_row_set_error (TN_ROW (row), error->message);
}

/* Sources. */

static void
remember (TnDataForm *self, const char *source)
{
  if (!g_ptr_array_find_with_equal_func (self->known, source, g_str_equal, NULL))
    g_ptr_array_add (self->known, g_strdup (source));
}

static void
source_cb (GtkCheckButton *button, TnDataForm *self)
{
  if (gtk_check_button_get_active (button) && !self->filling)
    edit (self, NULL, "data.source", g_object_get_data (G_OBJECT (button), "source"));
}

static void
remove_source_cb (GtkButton *button, TnDataForm *self)
{
  guint place;
  if (g_ptr_array_find_with_equal_func (self->known, g_object_get_data (G_OBJECT (button), "source"), g_str_equal, &place))
    g_ptr_array_remove_index (self->known, place);
  tn_data_form_update (self);
}

static char *
title_of (const char *source)
{
  if (g_str_has_prefix (source, BUILT_IN) && strchr (source, '/') == NULL)
    return g_strdup (_ ("Drawn digits"));
  return g_path_get_basename (source);
}

static GtkWidget *
source_row (TnDataForm *self, const char *source, gboolean current)
{
  GtkWidget *row = adw_action_row_new (), *radio = gtk_check_button_new ();
  g_autofree char *title = title_of (source), *plain = g_markup_escape_text (title, -1);
  gboolean built_in = strcmp (title, source) != 0 && strchr (source, '/') == NULL;
  g_autofree char *where = built_in ? g_strdup (_ ("Made by Tenon, no files needed")) : g_markup_escape_text (source, -1);
  g_autofree char *name = g_strdup_printf ("data_source_row:%s", source);
  gtk_widget_set_name (row, name);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), plain);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (row), where);
  adw_action_row_set_subtitle_lines (ADW_ACTION_ROW (row), 2);
  gtk_check_button_set_group (GTK_CHECK_BUTTON (radio), GTK_CHECK_BUTTON (self->radios));
  gtk_check_button_set_active (GTK_CHECK_BUTTON (radio), current);
  gtk_accessible_update_property (GTK_ACCESSIBLE (radio), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  g_object_set_data_full (G_OBJECT (radio), "source", g_strdup (source), g_free);
  g_signal_connect (radio, "toggled", G_CALLBACK (source_cb), self);
  adw_action_row_add_prefix (ADW_ACTION_ROW (row), radio);
  adw_action_row_set_activatable_widget (ADW_ACTION_ROW (row), radio);
  if (!current && !built_in)
    {
      GtkWidget *remove = gtk_button_new_from_icon_name ("list-remove-symbolic");
      g_autofree char *label = g_strdup_printf (_ ("Remove %s from the list"), title);
      gtk_widget_set_tooltip_text (remove, label);
      gtk_accessible_update_property (GTK_ACCESSIBLE (remove), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
      gtk_widget_add_css_class (remove, "flat");
      gtk_widget_set_valign (remove, GTK_ALIGN_CENTER);
      g_object_set_data_full (G_OBJECT (remove), "source", g_strdup (source), g_free);
      g_signal_connect (remove, "clicked", G_CALLBACK (remove_source_cb), self);
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), remove);
    }
  return row;
}

static void
fill_sources (TnDataForm *self, const char *current)
{
  GtkListBoxRow *old;
  while ((old = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->sources), 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->sources), GTK_WIDGET (old));
  remember (self, current);
  remember (self, BUILT_IN);
  for (guint i = 0; i < self->known->len; i++)
    gtk_list_box_append (GTK_LIST_BOX (self->sources), source_row (self, self->known->pdata[i], strcmp (self->known->pdata[i], current) == 0));
}

static void
take_file (TnDataForm *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);
  if (path != NULL)
    edit (self, NULL, "data.source", path);
}

static void
response_cb (GtkNativeDialog *dialog, int response, TnDataForm *self)
{
  g_autoptr (GFile) file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file (GTK_FILE_CHOOSER (dialog)) : NULL;
  g_clear_object (&self->dialog);
  if (file != NULL)
    take_file (self, file);
}

void
tn_data_form_choose (TnDataForm *self, gboolean folder)
{
  g_return_if_fail (TN_IS_DATA_FORM (self));
  if (self->dialog != NULL)
    return;
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  self->dialog = gtk_file_chooser_native_new (folder ? _ ("Choose a Data Folder") : _ ("Choose a Data File"),
                                              GTK_IS_WINDOW (root) ? GTK_WINDOW (root) : NULL,
                                              folder ? GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER : GTK_FILE_CHOOSER_ACTION_OPEN, NULL, NULL);
  g_signal_connect_object (self->dialog, "response", G_CALLBACK (response_cb), self, 0);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->dialog));
}

static gboolean
drop_cb (GtkDropTarget *target, const GValue *value, double x, double y, TnDataForm *self)
{
  GSList *files = G_VALUE_HOLDS (value, GDK_TYPE_FILE_LIST) ? g_value_get_boxed (value) : NULL;
  if (files == NULL)
    return FALSE;
  take_file (self, files->data);
  return TRUE;
}

/* What is held out. */

static void
put_rule (TnDataForm *self, GtkWidget *row)
{
  const char *kind = tn_combo_row_get_id (TN_COMBO_ROW (self->rule));
  g_autofree char *number = tn_row_get_text (TN_ROW (self->percent));
  g_autofree char *rule = strcmp (kind, "none") == 0    ? g_strdup ("none")
                          : strcmp (kind, "count") == 0 ? g_strdup_printf ("last:%s", number)
                                                        : g_strdup_printf ("%s:%s%%", kind, number);
  edit (self, row, "data.validation", rule);
}

static void
percent_cb (TnDataForm *self)
{
  put_rule (self, self->percent);
}

/* A percentage is no number of samples: the usual one of the new kind takes its place. */
static void
rule_cb (TnDataForm *self)
{
  const char *kind = tn_combo_row_get_id (TN_COMBO_ROW (self->rule));
  gboolean count = strcmp (kind, "count") == 0;
  gboolean was_count = gtk_widget_get_visible (self->percent) && g_object_get_data (G_OBJECT (self->percent), "count") != NULL;
  if (count != was_count)
    {
      tn_spin_row_set_range (TN_SPIN_ROW (self->percent), count ? 1 : 0.1, count ? 1e9 : 90);
      tn_spin_row_set_value (TN_SPIN_ROW (self->percent), count ? 1000 : 10);
    }
  put_rule (self, self->rule);
}

static void
show_rule (TnDataForm *self, const char *text)
{
  TnValidationRule rule = { 0 };
  tn_validation_rule_parse (text, &rule, NULL);
  gboolean count = rule.kind == TN_VALIDATION_LAST_COUNT, none = rule.kind == TN_VALIDATION_NONE;
  tn_row_set_text (TN_ROW (self->rule), none ? "none" : count ? "count" : rule.kind == TN_VALIDATION_HASH_PERCENT ? "hash" : "last");
  g_object_set_data (G_OBJECT (self->percent), "count", GINT_TO_POINTER (count));
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->percent), count ? _ ("Samples held out") : _ ("Share held out"));
  gtk_widget_set_visible (self->percent, !none);
  tn_spin_row_set_range (TN_SPIN_ROW (self->percent), count ? 1 : 0.1, count ? 1e9 : 90);
  tn_spin_row_set_digits (TN_SPIN_ROW (self->percent), count ? 0 : 1);
  tn_spin_row_set_increments (TN_SPIN_ROW (self->percent), count ? 100 : 1, count ? 1000 : 10);
  tn_spin_row_set_unit (TN_SPIN_ROW (self->percent), count ? NULL : "%");
  if (!none)
    tn_spin_row_set_value (TN_SPIN_ROW (self->percent), count ? (double) rule.count : rule.percent);
  tn_row_set_note (TN_ROW (self->rule), none ? _ ("Nothing is held out: there is no accuracy to choose the best checkpoint by.") : NULL);
}

static void
switch_cb (GtkWidget *row, TnDataForm *self)
{
  g_autofree char *value = tn_row_get_text (TN_ROW (row));
  edit (self, row, row == self->drop_last ? "data.drop_last" : "data.shuffle", value);
}

static void
reset_cb (GtkWidget *row, TnDataForm *self)
{
  edit (self, row, g_object_get_data (G_OBJECT (row), "key"), NULL);
}

static void
show_batches (TnDataForm *self)
{
  const TnSettings *settings = tn_document_settings (self->document);
  gboolean drop = tn_settings_get_bool (settings, "data.drop_last");
  gint64 batch = tn_settings_get_int (settings, "train.batch"), left = self->scan != NULL ? self->scan->counts[TN_SIDE_TRAIN] % batch : 0;
  g_autofree char *note = NULL;
  if (drop && left > 0)
    note = g_strdup_printf (g_dngettext (NULL, "The last sample of each epoch is left out.",
                                         "The last %" PRId64 " samples of each epoch are left out.", (gulong) left), left);
  tn_row_set_line (TN_ROW (self->drop_last), note != NULL ? note : _ ("An epoch’s last batch is left out if it is not full."));
}

static void
show_split (TnDataForm *self)
{
  TnRow *row = gtk_widget_get_visible (self->percent) ? TN_ROW (self->percent) : TN_ROW (self->rule);
  if (self->scan == NULL)
    return;
  tn_row_set_error (TN_ROW (self->rule), NULL);
  tn_row_set_error (row, self->scan->split_error);
  g_autofree char *line = g_strdup_printf (_ ("%'" PRId64 " train, %'" PRId64 " are held out."),
                                           self->scan->counts[TN_SIDE_TRAIN], self->scan->counts[TN_SIDE_HELD_OUT]);
  tn_row_set_line (row, line);
}

void
tn_data_form_update (TnDataForm *self)
{
  g_return_if_fail (TN_IS_DATA_FORM (self));
  if (self->document == NULL)
    return;
  const TnSettings *settings = tn_document_settings (self->document);
  self->filling = TRUE;
  fill_sources (self, tn_settings_get_string (settings, "data.source"));
  show_rule (self, tn_settings_get_string (settings, "data.validation"));
  tn_switch_row_set_active (TN_SWITCH_ROW (self->drop_last), tn_settings_get_bool (settings, "data.drop_last"));
  tn_switch_row_set_active (TN_SWITCH_ROW (self->shuffle), tn_settings_get_bool (settings, "data.shuffle"));
  GtkWidget *rows[] = { self->rule, self->drop_last, self->shuffle };
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const TnSetting *setting = tn_setting_find (g_object_get_data (G_OBJECT (rows[i]), "key"));
      tn_row_set_changed (TN_ROW (rows[i]), strcmp (tn_settings_get_text (settings, setting->name), setting->default_value) != 0, NULL);
    }
  show_batches (self);
  show_split (self);
  gtk_widget_set_sensitive (GTK_WIDGET (self), !tn_document_is_read_only (self->document));
  self->filling = FALSE;
}

/* Class. */

static void
tn_data_form_dispose (GObject *object)
{
  TnDataForm *self = TN_DATA_FORM (object);
  if (self->dialog != NULL)
    gtk_native_dialog_destroy (GTK_NATIVE_DIALOG (self->dialog));
  g_clear_object (&self->dialog);
  g_clear_object (&self->document);
  g_clear_object (&self->radios);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  g_clear_pointer (&self->known, g_ptr_array_unref);
  G_OBJECT_CLASS (tn_data_form_parent_class)->dispose (object);
}

static void
tn_data_form_class_init (TnDataFormClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_data_form_dispose;
}

static GtkWidget *
add_group (GtkWidget *box, const char *title)
{
  GtkWidget *group = adw_preferences_group_new ();
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), title);
  gtk_box_append (GTK_BOX (box), group);
  return group;
}

static void
add_row (TnDataForm *self, GtkWidget *group, GtkWidget *row, const char *id, const char *key, const char *title, const char *line,
         const char *api_name)
{
  gtk_widget_set_name (row, id);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  tn_row_set_line (TN_ROW (row), line);
  tn_row_set_api_name (TN_ROW (row), api_name);
  g_object_set_data (G_OBJECT (row), "key", (gpointer) key);
  g_signal_connect (row, "reset", G_CALLBACK (reset_cb), self);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), row);
}

static void
choose_file_cb (TnDataForm *self)
{
  tn_data_form_choose (self, FALSE);
}

static void
choose_folder_cb (TnDataForm *self)
{
  tn_data_form_choose (self, TRUE);
}

static GtkWidget *
add_button (GtkWidget *box, const char *label, const char *id, GCallback clicked, TnDataForm *self)
{
  GtkWidget *button = gtk_button_new_with_mnemonic (label);
  gtk_widget_set_name (button, id);
  gtk_widget_set_hexpand (button, TRUE);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  gtk_box_append (GTK_BOX (box), button);
  return button;
}

static void
add_sources (TnDataForm *self, GtkWidget *box)
{
  GtkWidget *group = add_group (box, _ ("Source"));
  self->sources = gtk_list_box_new ();
  gtk_widget_set_name (self->sources, "data_source_list");
  gtk_widget_add_css_class (self->sources, "boxed-list");
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->sources), GTK_SELECTION_NONE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->sources), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Data sources"), -1);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), self->sources);
  /* Below each other: beside each other long words would need more than 360 px. */
  GtkWidget *buttons = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_set_margin_top (buttons, 6);
  add_button (buttons, _ ("Add _File…"), "data_add_file_button", G_CALLBACK (choose_file_cb), self);
  add_button (buttons, _ ("Add F_older…"), "data_add_folder_button", G_CALLBACK (choose_folder_cb), self);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), buttons);
}

static void
add_split (TnDataForm *self, GtkWidget *box)
{
  GtkWidget *group = add_group (box, _ ("Split"));
  self->rule = tn_combo_row_new ();
  tn_combo_row_add (TN_COMBO_ROW (self->rule), "last", _ ("The last part"));
  tn_combo_row_add (TN_COMBO_ROW (self->rule), "count", _ ("The last samples"));
  tn_combo_row_add (TN_COMBO_ROW (self->rule), "hash", _ ("Spread evenly"));
  tn_combo_row_add (TN_COMBO_ROW (self->rule), "none", _ ("Nothing"));
  g_signal_connect_swapped (self->rule, "edited", G_CALLBACK (rule_cb), self);
  add_row (self, group, self->rule, "data_split_drop", "data.validation", _ ("Hold out"),
           _ ("They never train; accuracy is measured on them."), NULL);
  self->percent = tn_spin_row_new (0.1, 90, 1);
  g_signal_connect_swapped (self->percent, "edited", G_CALLBACK (percent_cb), self);
  add_row (self, group, self->percent, "data_val_spin", "data.validation", _ ("Share held out"), NULL, NULL);
}

static void
add_batches (TnDataForm *self, GtkWidget *box)
{
  GtkWidget *group = add_group (box, _ ("Batches"));
  self->shuffle = tn_switch_row_new ();
  g_signal_connect (self->shuffle, "edited", G_CALLBACK (switch_cb), self);
  add_row (self, group, self->shuffle, "data_shuffle_switch", "data.shuffle", _ ("Shuffle"), _ ("Each epoch takes the samples in another order."),
           "shuffle");
  self->drop_last = tn_switch_row_new ();
  g_signal_connect (self->drop_last, "edited", G_CALLBACK (switch_cb), self);
  add_row (self, group, self->drop_last, "data_drop_last_switch", "data.drop_last", _ ("Full batches only"), NULL, "drop_remainder");
}

static void
tn_data_form_init (TnDataForm *self)
{
  self->known = g_ptr_array_new_with_free_func (g_free);
  self->radios = g_object_ref_sink (gtk_check_button_new ());
  GtkWidget *scroller = gtk_scrolled_window_new (), *clamp = adw_clamp_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_margin_start (box, 12);
  gtk_widget_set_margin_end (box, 12);
  gtk_widget_set_margin_top (box, 12);
  gtk_widget_set_margin_bottom (box, 18);
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 720);
  adw_clamp_set_child (ADW_CLAMP (clamp), box);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  add_sources (self, box);
  add_split (self, box);
  add_batches (self, box);
  adw_bin_set_child (ADW_BIN (self), scroller);
  GtkDropTarget *drop = gtk_drop_target_new (GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
  g_signal_connect (drop, "drop", G_CALLBACK (drop_cb), self);
  gtk_widget_add_controller (self->sources, GTK_EVENT_CONTROLLER (drop));
}

GtkWidget *
tn_data_form_new (void)
{
  return g_object_new (TN_TYPE_DATA_FORM, NULL);
}

void
tn_data_form_set_document (TnDataForm *self, TnDocument *document)
{
  g_return_if_fail (TN_IS_DATA_FORM (self));
  if (g_set_object (&self->document, document))
    g_ptr_array_set_size (self->known, 0);
  tn_data_form_update (self);
}

void
tn_data_form_set_scan (TnDataForm *self, TnDataScan *scan)
{
  g_return_if_fail (TN_IS_DATA_FORM (self));
  if (scan != NULL)
    tn_data_scan_ref (scan);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  self->scan = scan;
  if (self->document == NULL)
    return;
  show_batches (self);
  show_split (self);
}
