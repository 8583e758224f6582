/* SPDX-License-Identifier: Apache-2.0 */
#include "settings-form.h"

#include <glib/gi18n.h>
#include <string.h>

#include "combo-row.h"
#include "entry-row.h"
#include "number-row.h"
#include "path-row.h"
#include "row.h"
#include "setting-titles.h"
#include "spin-row.h"
#include "switch-row.h"

typedef enum
{
  GROUP_ESSENTIALS,
  GROUP_SCHEDULE,
  GROUP_DEVICE,
  GROUP_CHECKPOINTS,
  GROUP_GRAPHS,
  N_GROUPS
} Group;

static const struct
{
  const char *title, *id;
} groups[N_GROUPS] = {
  [GROUP_ESSENTIALS] = { N_("Essentials"), "train_essentials_row" },   [GROUP_SCHEDULE] = { N_("Schedule"), "train_schedule_row" },
  [GROUP_DEVICE] = { N_("Device and mode"), "train_device_row" },      [GROUP_CHECKPOINTS] = { N_("Checkpoints"), "train_checkpoints_row" },
  [GROUP_GRAPHS] = { N_("Graphs and records"), "train_graphs_group_row" },
};

/* Where a setting stands. Those not named here go by their prefix, after these, and are not everyday. */
static const struct
{
  const char *name, *id;
  Group group;
  gboolean everyday;
} places[] = {
  { "train.epochs", "train_epochs_spin", GROUP_ESSENTIALS, TRUE },
  { "train.batch", "train_batch_spin", GROUP_ESSENTIALS, TRUE },
  { "optimizer.lr", "train_lr_entry", GROUP_ESSENTIALS, TRUE },
  { "optimizer.kind", "train_optimizer_drop", GROUP_ESSENTIALS, TRUE },
  { "optimizer.momentum", "train_momentum_entry", GROUP_ESSENTIALS, TRUE },
  { "train.loss", "train_loss_drop", GROUP_ESSENTIALS, TRUE },
  { "train.seed", "train_seed_spin", GROUP_ESSENTIALS, TRUE },
  { "train.eval_every", "train_val_every_spin", GROUP_ESSENTIALS, FALSE },
  { "train.on_nonfinite", "train_nan_drop", GROUP_ESSENTIALS, FALSE },
  { "schedule.kind", "train_schedule_drop", GROUP_SCHEDULE, TRUE },
  { "schedule.warmup_steps", "train_warmup_spin", GROUP_SCHEDULE, TRUE },
  { "device.mode", "train_mode_drop", GROUP_DEVICE, TRUE },
  { "device.threads", "train_threads_spin", GROUP_DEVICE, TRUE },
  { "device.isa", "train_isa_drop", GROUP_DEVICE, FALSE },
  { "device.strict", "train_deterministic_switch", GROUP_DEVICE, FALSE },
  { "device.memory_limit_mb", "train_max_mem_entry", GROUP_DEVICE, FALSE },
  { "checkpoint.every_epochs", "train_checkpoint_epochs_spin", GROUP_CHECKPOINTS, TRUE },
  { "checkpoint.every_steps", "train_checkpoint_steps_spin", GROUP_CHECKPOINTS, TRUE },
  { "checkpoint.keep", "train_checkpoint_keep_spin", GROUP_CHECKPOINTS, TRUE },
  { "graph.save", "train_graphs_drop", GROUP_GRAPHS, TRUE },
  { "metrics.histogram_every", "train_histogram_spin", GROUP_GRAPHS, TRUE },
};

static const struct
{
  const char *prefix;
  Group group;
} prefixes[] = {
  { "train.", GROUP_ESSENTIALS },       { "optimizer.", GROUP_ESSENTIALS }, { "init.", GROUP_ESSENTIALS },
  { "schedule.", GROUP_SCHEDULE },      { "device.", GROUP_DEVICE },        { "checkpoint.", GROUP_CHECKPOINTS },
  { "graph.", GROUP_GRAPHS },           { "metrics.", GROUP_GRAPHS },
};

/* Words for the values of enums, where the value is not its own word. */
static const struct
{
  const char *setting, *value, *name;
} words[] = {
  { "optimizer.kind", "momentum", N_("Momentum") }, { "optimizer.kind", "sgd", "SGD" },
  { "optimizer.kind", "adam", "Adam" }, { "optimizer.kind", "adamw", "AdamW" },
  { "optimizer.kind", "adam_weight_decay", "AdamWeightDecay" },
  { "train.loss", "softmax_cross_entropy", N_("Softmax cross-entropy") }, { "train.loss", "mse", N_("Mean squared error") },
  { "train.loss", "l1", N_("Mean absolute error") }, { "train.loss", "bce", N_("Binary cross-entropy") },
  { "train.on_nonfinite", "stop", N_("Stop and explain") }, { "train.on_nonfinite", "skip", N_("Skip the step") },
  { "train.on_nonfinite", "rollback", N_("Roll back") },
  { "schedule.kind", "constant", N_("Constant") }, { "schedule.kind", "step", N_("Steps") },
  { "schedule.kind", "cosine", N_("Cosine") }, { "schedule.kind", "warmup", N_("Warm-up") },
  { "device.mode", "graph", N_("Compiled (GRAPH)") }, { "device.mode", "pynative", N_("Step by step (PYNATIVE)") },
  { "device.isa", "auto", N_("Automatic") }, { "device.isa", "sse2", "SSE2" }, { "device.isa", "avx2", "AVX2" }, { "device.isa", "avx512", "AVX-512" },
  { "init.preset", "mindspore1", N_("Normal(0.01), zero biases") }, { "init.preset", "mindspore2", N_("He uniform") },
};

typedef struct
{
  const TnSetting *setting;
  char *id, *folded; /* for the search */
  Group group;
  gboolean everyday;
  GtkWidget *row; /* NULL until its group was opened */
} Field;

struct _TnSettingsForm
{
  AdwBin parent_instance;
  TnRunControl *control;
  TnDocument *document;
  GtkWidget *entry, *box, *expanders[N_GROUPS], *group_widgets[N_GROUPS], *nothing;
  GPtrArray *fields;
  gboolean built[N_GROUPS], running, show_all, setting;
};

G_DEFINE_FINAL_TYPE (TnSettingsForm, tn_settings_form, ADW_TYPE_BIN)

static void
field_free (Field *field)
{
  g_free (field->id);
  g_free (field->folded);
  g_free (field);
}

static Field *
find_field (TnSettingsForm *self, const char *name)
{
  for (guint i = 0; i < self->fields->len; i++)
    {
      Field *field = g_ptr_array_index (self->fields, i);
      if (g_str_equal (field->setting->name, name))
        return field;
    }
  return NULL;
}

static Field *
field_new (const TnSetting *setting, Group group, const char *id, gboolean everyday)
{
  Field *field = g_new0 (Field, 1);
  field->setting = setting;
  field->group = group;
  field->everyday = everyday;
  if (id != NULL)
    field->id = g_strdup (id);
  else
    {
      static const char *const kinds[] = { "spin", "entry", "switch", "entry", "drop", "row", "entry", "entry" };
      g_autofree char *name = g_strdup (strchr (setting->name, '.') + 1);
      field->id = g_strdup_printf ("train_%s_%s", name, kinds[setting->type]);
    }
  g_autofree char *all = g_strjoin (" ", tn_setting_title (setting->name), setting->name, _(setting->help),
                                    setting->aliases != NULL ? setting->aliases : "", NULL);
  field->folded = g_utf8_casefold (all, -1);
  return field;
}

static void
collect_fields (TnSettingsForm *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    if (tn_setting_find (places[i].name) != NULL)
      g_ptr_array_add (self->fields, field_new (tn_setting_find (places[i].name), places[i].group, places[i].id, places[i].everyday));
  for (const TnSetting *setting = tn_settings; setting->name != NULL; setting++)
    for (guint i = 0; find_field (self, setting->name) == NULL && i < G_N_ELEMENTS (prefixes); i++)
      if (g_str_has_prefix (setting->name, prefixes[i].prefix))
        g_ptr_array_add (self->fields, field_new (setting, prefixes[i].group, NULL, FALSE));
}

/* Rows. */

static const char *
word_of (const char *setting, const char *value)
{
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (words[i].setting, setting) && g_str_equal (words[i].value, value))
      return _(words[i].name);
  return value;
}

static char *
check_text (const char *text, gpointer data)
{
  const TnSetting *setting = data;
  g_autoptr (TnSettings) trial = tn_settings_new ();
  g_autoptr (GError) error = NULL;
  return tn_settings_set (trial, setting->name, text, &error) ? NULL : g_strdup (error->message);
}

static GtkWidget *
control_for (const TnSetting *setting)
{
  GtkWidget *row;
  switch (setting->type)
    {
    case TN_SETTING_BOOL:
      return tn_switch_row_new ();
    case TN_SETTING_ENUM:
      row = tn_combo_row_new ();
      for (const char *const *value = setting->values; *value != NULL; value++)
        tn_combo_row_add (TN_COMBO_ROW (row), *value, word_of (setting->name, *value));
      return row;
    case TN_SETTING_PATH:
      return tn_path_row_new (GTK_FILE_CHOOSER_ACTION_OPEN);
    case TN_SETTING_INT:
      if (setting->max > 1e9)
        {
          row = tn_number_row_new (setting->min, setting->max);
          tn_number_row_set_whole (TN_NUMBER_ROW (row), TRUE);
          return row;
        }
      row = tn_spin_row_new (setting->min, setting->max, 0);
      tn_spin_row_set_increments (TN_SPIN_ROW (row), 1, 10);
      return row;
    case TN_SETTING_FLOAT:
      return tn_number_row_new (setting->min, setting->max);
    case TN_SETTING_STRING:
    case TN_SETTING_INT_LIST:
    case TN_SETTING_FLOAT_LIST:
    default:
      row = tn_entry_row_new ();
      tn_entry_row_set_check (TN_ENTRY_ROW (row), check_text, (gpointer) setting, NULL);
      return row;
    }
}

/* What is allowed but has a consequence. */
static const char *
note_for (TnSettingsForm *self, const Field *field)
{
  const char *name = field->setting->name;
  const TnSettings *settings = tn_document_settings (self->document);
  if (g_str_equal (name, "optimizer.lr") && tn_settings_get_float (settings, name) > 1)
    return _("More than 1 seldom trains: the loss may become NaN.");
  if (self->running && (field->setting->flags & TN_SETTING_LIVE) == 0 && tn_run_control_settings (self->control) != NULL
      && !g_str_equal (tn_settings_get_text (tn_run_control_settings (self->control), name), tn_settings_get_text (settings, name)))
    return _("Applies at the next run.");
  return NULL;
}

static void
show_value (TnSettingsForm *self, Field *field)
{
  if (field->row == NULL || self->document == NULL)
    return;
  const TnSettings *settings = tn_document_settings (self->document);
  const char *value = tn_settings_get_text (settings, field->setting->name);
  g_autofree char *shown = tn_row_get_text (TN_ROW (field->row));
  self->setting = TRUE;
  if (g_strcmp0 (shown, value) != 0 || tn_row_get_error (TN_ROW (field->row)) != NULL)
    tn_row_set_text (TN_ROW (field->row), value);
  self->setting = FALSE;
  gboolean changed = !g_str_equal (value, field->setting->default_value);
  tn_row_set_changed (TN_ROW (field->row), changed, field->setting->default_value);
  tn_row_set_note (TN_ROW (field->row), note_for (self, field));
}

static void
edited_cb (TnRow *row, TnSettingsForm *self)
{
  Field *field = g_object_get_data (G_OBJECT (row), "tn-field");
  if (self->document == NULL || self->setting)
    return;
  g_autofree char *text = tn_row_get_text (row);
  g_autofree char *before = g_strdup (tn_settings_get_text (tn_document_settings (self->document), field->setting->name));
  g_autoptr (GError) error = NULL;
  if (!tn_document_edit (self->document, "setting", field->setting->name, text, &error))
    {
      tn_row_set_error (row, error->message);
      return;
    }
  if (self->running && field->setting->flags & TN_SETTING_LIVE && !g_str_equal (before, text))
    {
      tn_run_control_set_value (self->control, field->setting->name, text);
      tn_document_note (self->document, "live", field->setting->name, before, text);
    }
}

static void
reset_cb (TnRow *row, TnSettingsForm *self)
{
  Field *field = g_object_get_data (G_OBJECT (row), "tn-field");
  if (self->document != NULL)
    tn_document_edit (self->document, "setting", field->setting->name, NULL, NULL);
}

static gboolean
is_wanted (TnSettingsForm *self, const Field *field)
{
  return field->everyday || self->show_all
         || (self->document != NULL && !g_str_equal (tn_settings_get_text (tn_document_settings (self->document), field->setting->name), field->setting->default_value));
}

static gboolean
is_found (TnSettingsForm *self, const Field *field, char **terms)
{
  for (; *terms != NULL; terms++)
    if (strstr (field->folded, *terms) == NULL)
      return FALSE;
  return TRUE;
}

static void
build_row (TnSettingsForm *self, Field *field)
{
  GtkWidget *row = control_for (field->setting);
  field->row = row;
  gtk_widget_set_name (row, field->id);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), tn_setting_title (field->setting->name));
  tn_row_set_line (TN_ROW (row), _(field->setting->help));
  g_autofree char *alias = field->setting->aliases != NULL ? g_strndup (field->setting->aliases, strcspn (field->setting->aliases, " ")) : NULL;
  tn_row_set_api_name (TN_ROW (row), alias != NULL ? alias : field->setting->name);
  g_object_set_data (G_OBJECT (row), "tn-field", field);
  g_signal_connect (row, "edited", G_CALLBACK (edited_cb), self);
  g_signal_connect (row, "reset", G_CALLBACK (reset_cb), self);
  adw_expander_row_add_row (ADW_EXPANDER_ROW (self->expanders[field->group]), row);
  show_value (self, field);
}

static void
build_group (TnSettingsForm *self, Group group)
{
  if (self->built[group])
    return;
  self->built[group] = TRUE;
  for (guint i = 0; i < self->fields->len; i++)
    {
      Field *field = g_ptr_array_index (self->fields, i);
      if (field->group == group)
        build_row (self, field);
    }
}

/* Which rows show: by search, else everyday ones and those that were changed. */
static void
refilter (TnSettingsForm *self)
{
  g_autofree char *folded = g_utf8_casefold (gtk_editable_get_text (GTK_EDITABLE (self->entry)), -1);
  g_auto (GStrv) terms = g_strsplit_set (g_strstrip (folded), " ", -1);
  gboolean searching = terms[0] != NULL && *terms[0] != '\0', any = FALSE;
  for (int group = 0; group < N_GROUPS; group++)
    {
      gboolean some = FALSE;
      for (guint i = 0; i < self->fields->len; i++)
        {
          Field *field = g_ptr_array_index (self->fields, i);
          if (field->group != (Group) group)
            continue;
          gboolean shown = searching ? is_found (self, field, terms) : is_wanted (self, field);
          some |= shown;
          if (searching && shown)
            build_group (self, (Group) group);
          if (field->row != NULL)
            gtk_widget_set_visible (field->row, shown);
        }
      gtk_widget_set_visible (self->group_widgets[group], some);
      if (searching && some)
        adw_expander_row_set_expanded (ADW_EXPANDER_ROW (self->expanders[group]), TRUE);
      any |= some;
    }
  gtk_widget_set_visible (self->nothing, !any);
}

static void
expanded_cb (AdwExpanderRow *expander, GParamSpec *spec, TnSettingsForm *self)
{
  if (!adw_expander_row_get_expanded (expander))
    return;
  for (int group = 0; group < N_GROUPS; group++)
    if (self->expanders[group] == GTK_WIDGET (expander) && !self->built[group])
      {
        build_group (self, (Group) group);
        refilter (self);
      }
}

/* What a closed group says: its values that differ. */
static void
summarise (TnSettingsForm *self)
{
  for (int group = 0; group < N_GROUPS; group++)
    {
      int n = 0;
      for (guint i = 0; self->document != NULL && i < self->fields->len; i++)
        {
          const Field *field = g_ptr_array_index (self->fields, i);
          n += field->group == (Group) group
               && !g_str_equal (tn_settings_get_text (tn_document_settings (self->document), field->setting->name), field->setting->default_value);
        }
      g_autofree char *text = n > 0 ? g_strdup_printf (ngettext ("%d changed", "%d changed", (gulong) n), n) : g_strdup ("");
      adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self->expanders[group]), text);
    }
}

void
tn_settings_form_update (TnSettingsForm *self, const char *key)
{
  g_return_if_fail (TN_IS_SETTINGS_FORM (self));
  for (guint i = 0; i < self->fields->len; i++)
    {
      Field *field = g_ptr_array_index (self->fields, i);
      if (key == NULL || g_str_equal (field->setting->name, key))
        show_value (self, field);
    }
  summarise (self);
  refilter (self);
}

void
tn_settings_form_set_document (TnSettingsForm *self, TnDocument *document)
{
  g_return_if_fail (TN_IS_SETTINGS_FORM (self));
  g_set_object (&self->document, document);
  tn_settings_form_update (self, NULL);
}

void
tn_settings_form_set_running (TnSettingsForm *self, gboolean running)
{
  g_return_if_fail (TN_IS_SETTINGS_FORM (self));
  if (self->running == running)
    return;
  self->running = running;
  tn_settings_form_update (self, NULL);
}

void
tn_settings_form_set_show_all (TnSettingsForm *self, gboolean show_all)
{
  g_return_if_fail (TN_IS_SETTINGS_FORM (self));
  self->show_all = show_all;
  refilter (self);
}

void
tn_settings_form_find (TnSettingsForm *self)
{
  gtk_widget_grab_focus (self->entry);
}

void
tn_settings_form_show (TnSettingsForm *self, const char *name)
{
  g_return_if_fail (TN_IS_SETTINGS_FORM (self));
  Field *field = find_field (self, name);
  if (field == NULL)
    return;
  gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
  build_group (self, field->group);
  adw_expander_row_set_expanded (ADW_EXPANDER_ROW (self->expanders[field->group]), TRUE);
  refilter (self);
  gtk_widget_set_visible (field->row, TRUE);
  gtk_widget_grab_focus (TN_ROW_GET_IFACE (field->row)->get_control (TN_ROW (field->row)));
}

void
tn_settings_form_append (TnSettingsForm *self, GtkWidget *widget)
{
  gtk_box_append (GTK_BOX (self->box), widget);
}

static void
tn_settings_form_dispose (GObject *object)
{
  TnSettingsForm *self = TN_SETTINGS_FORM (object);
  g_clear_object (&self->document);
  g_clear_object (&self->control);
  G_OBJECT_CLASS (tn_settings_form_parent_class)->dispose (object);
}

static void
tn_settings_form_finalize (GObject *object)
{
  g_ptr_array_unref (TN_SETTINGS_FORM (object)->fields);
  G_OBJECT_CLASS (tn_settings_form_parent_class)->finalize (object);
}

static void
tn_settings_form_class_init (TnSettingsFormClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_settings_form_dispose;
  G_OBJECT_CLASS (class)->finalize = tn_settings_form_finalize;
}

static void
tn_settings_form_init (TnSettingsForm *self)
{
  GtkWidget *outer = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new (), *clamp = adw_clamp_new ();
  self->fields = g_ptr_array_new_with_free_func ((GDestroyNotify) field_free);
  collect_fields (self);
  self->entry = gtk_search_entry_new ();
  gtk_widget_set_name (self->entry, "train_find_entry");
  g_object_set (self->entry, "placeholder-text", _("Find a setting"), NULL);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Find a setting"), -1);
  gtk_widget_set_margin_top (self->entry, 6);
  gtk_widget_set_margin_bottom (self->entry, 6);
  gtk_widget_set_margin_start (self->entry, 12);
  gtk_widget_set_margin_end (self->entry, 12);
  g_signal_connect_swapped (self->entry, "search-changed", G_CALLBACK (refilter), self);

  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12);
  gtk_widget_set_margin_top (self->box, 6);
  gtk_widget_set_margin_bottom (self->box, 18);
  gtk_widget_set_margin_start (self->box, 12);
  gtk_widget_set_margin_end (self->box, 12);
  for (int group = 0; group < N_GROUPS; group++)
    {
      GtkWidget *widget = adw_preferences_group_new (), *expander = adw_expander_row_new ();
      adw_preferences_row_set_title (ADW_PREFERENCES_ROW (expander), _(groups[group].title));
      gtk_widget_set_name (expander, groups[group].id);
      adw_preferences_group_add (ADW_PREFERENCES_GROUP (widget), expander);
      gtk_box_append (GTK_BOX (self->box), widget);
      self->expanders[group] = expander;
      self->group_widgets[group] = widget;
      g_signal_connect (expander, "notify::expanded", G_CALLBACK (expanded_cb), self);
    }
  self->nothing = gtk_label_new (_("No setting of that name"));
  gtk_widget_add_css_class (self->nothing, "dim-label");
  gtk_widget_set_visible (self->nothing, FALSE);
  gtk_box_append (GTK_BOX (self->box), self->nothing);
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 720);
  adw_clamp_set_child (ADW_CLAMP (clamp), self->box);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), clamp);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_widget_set_name (scroller, "train_settings_page");
  gtk_box_append (GTK_BOX (outer), self->entry);
  gtk_box_append (GTK_BOX (outer), scroller);
  adw_bin_set_child (ADW_BIN (self), outer);
  adw_expander_row_set_expanded (ADW_EXPANDER_ROW (self->expanders[GROUP_ESSENTIALS]), TRUE);
}

GtkWidget *
tn_settings_form_new (TnRunControl *control)
{
  TnSettingsForm *self = g_object_new (TN_TYPE_SETTINGS_FORM, NULL);
  self->control = g_object_ref (control);
  return GTK_WIDGET (self);
}
