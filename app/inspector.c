/* SPDX-License-Identifier: Apache-2.0 */
#include "inspector.h"

#include <glib/gi18n.h>
#include <math.h>

#include "format.h"
#include "train/checkpoint.h"

struct _TnInspector
{
  AdwBin parent_instance;
  TnWindow *window; /* not owned: it owns us */
  GtkWidget *page;
  GPtrArray *groups; /* what is shown now, borrowed */
  GtkWidget *pin;
  guint refresh;
};

G_DEFINE_FINAL_TYPE (TnInspector, tn_inspector, ADW_TYPE_BIN)

static void
copy_cb (GtkButton *button, const char *text)
{
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (button)), text);
}

static void
add_fact (AdwPreferencesGroup *group, const char *name, const char *value)
{
  if (value == NULL)
    return;
  GtkWidget *row = adw_action_row_new (), *label = gtk_label_new (value), *button = gtk_button_new_from_icon_name ("edit-copy-symbolic");
  g_autofree char *copy = g_strdup_printf (_("Copy %s"), name);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), name);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_width_chars (GTK_LABEL (label), (int) MIN (g_utf8_strlen (value, -1), 18));
  gtk_label_set_selectable (GTK_LABEL (label), FALSE);
  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 22);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_add_css_class (label, "numeric");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text (button, copy);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, copy, -1);
  g_signal_connect_data (button, "clicked", G_CALLBACK (copy_cb), g_strdup (value), (GClosureNotify) (void (*) (void)) g_free, 0);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), button);
  adw_preferences_group_add (group, row);
}

static void
take_fact (AdwPreferencesGroup *group, const char *name, char *value)
{
  g_autofree char *text = value;
  add_fact (group, name, text);
}

static void
number_fact (TnInspector *self, AdwPreferencesGroup *group, const char *name, const char *fact, char *(*format) (double))
{
  double value = tn_run_control_fact (tn_window_control (self->window), fact);
  if (isfinite (value))
    take_fact (group, name, format (value));
}

static char *
format_whole (double value)
{
  return tn_format_count ((gint64) value);
}

static GtkWidget *
show_in (TnInspector *self)
{
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GMenu) menu = g_menu_new ();
  for (const TnPageInfo *info = tn_pages; info->id != NULL; info++)
    {
      g_autofree char *action = g_strdup_printf ("win.page('%s')", info->id);
      g_menu_append (menu, _(info->title), action);
    }
  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), _("Show in"));
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_widget_set_name (button, "inspector_show_button");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  return button;
}

static AdwPreferencesGroup *
add_group (TnInspector *self, const char *title, const char *description)
{
  GtkWidget *group = adw_preferences_group_new ();
  g_autofree char *text = g_markup_escape_text (title, -1);
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), text);
  adw_preferences_group_set_description (ADW_PREFERENCES_GROUP (group), description);
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (self->page), ADW_PREFERENCES_GROUP (group));
  g_ptr_array_add (self->groups, group);
  return ADW_PREFERENCES_GROUP (group);
}

/* One series' value at a step. */
static double
value_at (const TnSeries *series, gint64 step)
{
  size_t n = tn_series_n (series);
  const int64_t *steps = tn_series_steps (series);
  for (size_t i = n; i > 0 && steps[i - 1] >= step; i--)
    if (steps[i - 1] == step)
      return tn_series_values (series, FALSE)[i - 1];
  return NAN;
}

static void
tell_step (TnInspector *self, gint64 first, gint64 last)
{
  TnRunControl *control = tn_window_control (self->window);
  g_autofree char *title = tn_selection_describe (tn_window_selection (self->window), TN_SELECTION_STEPS);
  AdwPreferencesGroup *group = add_group (self, title, NULL);
  adw_preferences_group_set_header_suffix (group, show_in (self));
  if (first != last)
    take_fact (group, _("Steps"), tn_format_count (last - first + 1));
  static const struct
  {
    const char *name;
    TnTag tag;
  } rows[] = {
    { N_("Loss"), TN_TAG_LOSS },
    { N_("Learning rate"), TN_TAG_LEARNING_RATE },
    { N_("Gradient norm"), TN_TAG_GRADIENT_NORM },
    { N_("Parameter norm"), TN_TAG_PARAMETER_NORM },
    { N_("Samples a second"), TN_TAG_SAMPLES_PER_SECOND },
    { N_("Computing (ms)"), TN_TAG_COMPUTE_MS },
    { N_("Waiting for data (ms)"), TN_TAG_DATA_MS },
    { N_("Validation loss"), TN_TAG_VALIDATION_LOSS },
    { N_("Validation accuracy"), TN_TAG_VALIDATION_ACCURACY },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const TnSeries *series = tn_run_control_series (control, rows[i].tag);
      double value = value_at (series, last);
      if (!isnan (value))
        take_fact (group, _(rows[i].name), tn_format_loss (value));
    }
}

static void
tell_run (TnInspector *self)
{
  TnRunControl *control = tn_window_control (self->window);
  const char *path = tn_run_control_path (control);
  if (path == NULL)
    {
      add_group (self, _("Nothing selected"), _("Select a step in a curve, a run, a layer or a sample to see its facts here."));
      return;
    }
  g_autofree char *name = g_path_get_basename (path);
  AdwPreferencesGroup *group = add_group (self, name, NULL);
  adw_preferences_group_set_header_suffix (group, show_in (self));
  const TnRunLine *line = tn_run_control_line (control);
  add_fact (group, _("State"), tn_run_word_label (line->word));
  take_fact (group, _("Steps done"), tn_format_count_exact (line->step));
  if (line->total_steps > 0)
    take_fact (group, _("Steps in all"), tn_format_count_exact (line->total_steps));
  double loss = tn_run_control_last (control, TN_TAG_LOSS), accuracy = tn_run_control_last (control, TN_TAG_VALIDATION_ACCURACY);
  if (!isnan (loss))
    take_fact (group, _("Loss"), tn_format_loss (loss));
  if (!isnan (accuracy))
    take_fact (group, _("Accuracy"), tn_format_share (accuracy));
  number_fact (self, group, _("Best"), "best", tn_format_loss);
  number_fact (self, group, _("Parameters"), "parameters", format_whole);
  number_fact (self, group, _("Memory planned"), "memory_forecast", tn_format_size);
  number_fact (self, group, _("Memory measured"), "memory_measured", tn_format_size);
  number_fact (self, group, _("Time"), "seconds", tn_format_duration);
  number_fact (self, group, _("Steps an epoch"), "steps_per_epoch", format_whole);
  if (line->reason != NULL && *line->reason != '\0')
    add_fact (group, _("Why it ended"), line->reason);
  const TnSettings *settings = tn_run_control_settings (control);
  if (settings == NULL)
    return;
  AdwPreferencesGroup *chosen = add_group (self, _("Settings"), NULL);
  static const char *const names[] = { "train.batch", "optimizer.kind", "optimizer.lr", "train.epochs", "train.seed", "device.mode" };
  static const char *const titles[] = { N_("Batch size"), N_("Optimizer"), N_("Learning rate"), N_("Epochs"), N_("Seed"), N_("Mode") };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    add_fact (chosen, _(titles[i]), tn_settings_get_text (settings, names[i]));
}

static void
refresh (TnInspector *self)
{
  for (guint i = 0; i < self->groups->len; i++)
    adw_preferences_page_remove (ADW_PREFERENCES_PAGE (self->page), g_ptr_array_index (self->groups, i));
  g_ptr_array_set_size (self->groups, 0);
  TnSelection *selection = tn_window_selection (self->window);
  static const struct
  {
    TnSelectionPart part;
    const char *name;
  } texts[] = {
    { TN_SELECTION_SAMPLE, N_("Sample") },
    { TN_SELECTION_PARAMETER, N_("Parameter") },
    { TN_SELECTION_NODE, N_("Node") },
  };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    if (tn_selection_get_text (selection, texts[i].part) != NULL)
      {
        AdwPreferencesGroup *group = add_group (self, tn_selection_get_text (selection, texts[i].part), _(texts[i].name));
        adw_preferences_group_set_header_suffix (group, show_in (self));
        add_fact (group, _("Name"), tn_selection_get_text (selection, texts[i].part));
      }
  gint64 first, last;
  if (tn_selection_get_range (selection, TN_SELECTION_STEPS, &first, &last))
    tell_step (self, first, last);
  tell_run (self);
}

static gboolean
refresh_cb (gpointer data)
{
  TnInspector *self = data;
  self->refresh = 0;
  if (gtk_widget_get_mapped (GTK_WIDGET (self)) && !gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->pin)))
    refresh (self);
  return G_SOURCE_REMOVE;
}

/* Facts of a running training change all the time; twice a second is enough to read. */
static void
queue (TnInspector *self, guint ms)
{
  if (self->refresh == 0)
    self->refresh = g_timeout_add (ms, refresh_cb, self);
}

static void
selection_changed_cb (TnSelection *selection, guint mask, TnInspector *self)
{
  if (mask & ~(guint) TN_SELECTION_HOVER)
    {
      g_clear_handle_id (&self->refresh, g_source_remove);
      queue (self, 10);
    }
}

static void
control_changed_cb (TnRunControl *control, TnInspector *self)
{
  queue (self, 1000);
}

static void
tn_inspector_map (GtkWidget *widget)
{
  GTK_WIDGET_CLASS (tn_inspector_parent_class)->map (widget);
  queue (TN_INSPECTOR (widget), 10);
}

static void
tn_inspector_dispose (GObject *object)
{
  g_clear_handle_id (&TN_INSPECTOR (object)->refresh, g_source_remove);
  G_OBJECT_CLASS (tn_inspector_parent_class)->dispose (object);
}

static void
tn_inspector_finalize (GObject *object)
{
  g_ptr_array_unref (TN_INSPECTOR (object)->groups);
  G_OBJECT_CLASS (tn_inspector_parent_class)->finalize (object);
}

static void
tn_inspector_class_init (TnInspectorClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tn_inspector_dispose;
  G_OBJECT_CLASS (class)->finalize = tn_inspector_finalize;
  GTK_WIDGET_CLASS (class)->map = tn_inspector_map;
}

static void
tn_inspector_init (TnInspector *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *title = gtk_label_new (_("Inspector"));
  self->groups = g_ptr_array_new ();
  self->page = adw_preferences_page_new ();
  self->pin = gtk_toggle_button_new ();
  gtk_button_set_icon_name (GTK_BUTTON (self->pin), "tn-pin-symbolic");
  gtk_widget_add_css_class (self->pin, "flat");
  gtk_widget_set_name (self->pin, "inspector_pin_toggle");
  gtk_widget_set_tooltip_text (self->pin, _("Keep these facts"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->pin), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Keep these facts"), -1);
  gtk_widget_add_css_class (title, "heading");
  gtk_widget_set_hexpand (title, TRUE);
  gtk_label_set_xalign (GTK_LABEL (title), 0);
  gtk_widget_add_css_class (bar, "page-toolbar");
  gtk_box_append (GTK_BOX (bar), title);
  gtk_box_append (GTK_BOX (bar), self->pin);
  gtk_widget_set_vexpand (self->page, TRUE);
  gtk_box_append (GTK_BOX (box), bar);
  gtk_box_append (GTK_BOX (box), self->page);
  gtk_widget_add_css_class (box, "background");
  GtkWidget *clamp = adw_clamp_new (); /* a pane takes its natural width: this is it */
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), 320);
  adw_clamp_set_tightening_threshold (ADW_CLAMP (clamp), 320);
  adw_clamp_set_child (ADW_CLAMP (clamp), box);
  adw_bin_set_child (ADW_BIN (self), clamp);
  gtk_widget_set_name (GTK_WIDGET (self), "inspector_box");
}

GtkWidget *
tn_inspector_new (TnWindow *window)
{
  TnInspector *self = g_object_new (TN_TYPE_INSPECTOR, NULL);
  self->window = window;
  g_signal_connect_object (tn_window_selection (window), "changed", G_CALLBACK (selection_changed_cb), self, 0);
  g_signal_connect_object (tn_window_control (window), "changed", G_CALLBACK (control_changed_cb), self, 0);
  g_signal_connect_object (tn_window_control (window), "run-changed", G_CALLBACK (control_changed_cb), self, 0);
  return GTK_WIDGET (self);
}
