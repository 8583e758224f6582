/* SPDX-License-Identifier: Apache-2.0 */
#include "inspector.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "format.h"
#include "page-data.h"
#include "project-facts.h"
#include "train/checkpoint.h"
#include "values-window.h"

/* What is told of one selected thing. */
typedef struct
{
  const char *kind; /* for ids: "run", "node" ... */
  char *title;
  const char *description, *pages; /* pages: ids of those that show it, NULL for none */
  GArray *facts;                   /* TnFact */
  char *parameter;                 /* whose values can be seen, or NULL */
} Section;

struct _TnInspector
{
  AdwBin parent_instance;
  TnWindow *window; /* not owned: it owns us */
  GtkWidget *page;
  GPtrArray *groups; /* what is shown now, borrowed */
  GPtrArray *labels; /* of the values, in order, borrowed */
  GtkWidget *picture; /* of kernels, borrowed; NULL where none is shown */
  char *shape;       /* names of what is shown: while they stay, only the texts are set */
  GtkWidget *pin;
  guint refresh;
  /* Read in workers when something selected needs it. */
  TnDocument *document;
  TnProjectFacts *project;
  TnDataScan *scan;
  TnParameterValues *values;
  char *values_of; /* run and parameter that values belong to, or are asked for */
  GCancellable *reading_project, *reading_scan, *reading_values;
};

G_DEFINE_FINAL_TYPE (TnInspector, tn_inspector, ADW_TYPE_BIN)

static void queue (TnInspector *self, guint ms);

static void
section_free (gpointer data)
{
  Section *section = data;
  g_free (section->title);
  g_free (section->parameter);
  g_array_unref (section->facts);
  g_free (section);
}

static Section *
add_section (GPtrArray *sections, const char *kind, const char *title, const char *description, const char *pages)
{
  Section *section = g_new0 (Section, 1);
  *section = (Section){ kind, g_strdup (title), description, pages, tn_facts_new (), NULL };
  g_ptr_array_add (sections, section);
  return section;
}

static void
copy_cb (GtkButton *button, GtkLabel *label)
{
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (button)), gtk_label_get_text (label));
}

/* A label that wraps asks for the width of its longest word only: short values are given room to stand on one line. */
static void
set_value (GtkWidget *label, const char *value)
{
  gtk_label_set_width_chars (GTK_LABEL (label), (int) MIN (g_utf8_strlen (value, -1) + 2, 18));
  gtk_label_set_text (GTK_LABEL (label), value);
}

static void
add_row (TnInspector *self, AdwPreferencesGroup *group, const char *kind, const TnFact *fact)
{
  GtkWidget *row = adw_action_row_new (), *label = gtk_label_new (NULL), *button = gtk_button_new_from_icon_name ("edit-copy-symbolic");
  g_autofree char *copy = g_strdup_printf (_("Copy %s"), fact->name), *id = g_strdup_printf ("inspector_copy_button:%s:%s", kind, fact->name);
  g_autofree char *label_id = g_strdup_printf ("inspector_fact_label:%s:%s", kind, fact->name);
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), fact->name);
  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 22);
  set_value (label, fact->value);
  gtk_widget_add_css_class (label, "dim-label");
  gtk_widget_add_css_class (label, "numeric");
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  gtk_widget_set_name (button, id);
  gtk_widget_set_name (label, label_id);
  gtk_widget_set_tooltip_text (button, copy);
  gtk_accessible_update_property (GTK_ACCESSIBLE (button), GTK_ACCESSIBLE_PROPERTY_LABEL, copy, -1);
  g_signal_connect_object (button, "clicked", G_CALLBACK (copy_cb), label, 0);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), label);
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), button);
  adw_preferences_group_add (group, row);
  g_ptr_array_add (self->labels, label);
}

static GtkWidget *
show_in (const char *kind, const char *pages)
{
  g_autofree char *id = g_strdup_printf ("inspector_show_button:%s", kind);
  GtkWidget *button = gtk_menu_button_new ();
  g_autoptr (GMenu) menu = g_menu_new ();
  g_auto (GStrv) ids = g_strsplit (pages, " ", -1);
  for (const TnPageInfo *info = tn_pages; info->id != NULL; info++)
    if (g_strv_contains ((const char *const *) ids, info->id))
      {
        g_autofree char *action = g_strdup_printf ("win.page('%s')", info->id);
        g_menu_append (menu, _(info->title), action);
      }
  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), _("Show in"));
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (button), G_MENU_MODEL (menu));
  gtk_widget_set_name (button, id);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
  return button;
}

/* Kernels as they are at the newest checkpoint: the picture changes while the run goes on. */
static void
add_values (TnInspector *self, AdwPreferencesGroup *group, const Section *section)
{
  GtkWidget *row = adw_action_row_new ();
  self->picture = gtk_picture_new ();
  gtk_widget_set_name (self->picture, "inspector_kernel_picture");
  gtk_picture_set_content_fit (GTK_PICTURE (self->picture), GTK_CONTENT_FIT_SCALE_DOWN);
  gtk_widget_set_margin_top (self->picture, 12);
  gtk_widget_set_margin_bottom (self->picture, 12);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), _("All Values"));
  adw_action_row_add_suffix (ADW_ACTION_ROW (row), gtk_image_new_from_icon_name ("go-next-symbolic"));
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (row), TRUE);
  gtk_widget_set_name (row, "inspector_values_button");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (row), "s", section->parameter);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (row), "win.values");
  adw_preferences_group_add (group, row);
  adw_preferences_group_add (group, self->picture);
}

static void
add_group (TnInspector *self, const Section *section)
{
  GtkWidget *group = adw_preferences_group_new ();
  g_autofree char *text = g_markup_escape_text (section->title, -1);
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (group), text);
  adw_preferences_group_set_description (ADW_PREFERENCES_GROUP (group), section->description);
  if (section->pages != NULL)
    adw_preferences_group_set_header_suffix (ADW_PREFERENCES_GROUP (group), show_in (section->kind, section->pages));
  for (guint i = 0; i < section->facts->len; i++)
    add_row (self, ADW_PREFERENCES_GROUP (group), section->kind, &g_array_index (section->facts, TnFact, i));
  if (section->parameter != NULL)
    add_values (self, ADW_PREFERENCES_GROUP (group), section);
  adw_preferences_page_add (ADW_PREFERENCES_PAGE (self->page), ADW_PREFERENCES_GROUP (group));
  g_ptr_array_add (self->groups, group);
}

static char *
shape_of (GPtrArray *sections)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < sections->len; i++)
    {
      const Section *section = g_ptr_array_index (sections, i);
      g_string_append_printf (text, "\x1d%s\x1f%s", section->title, section->parameter != NULL ? section->parameter : "");
      for (guint f = 0; f < section->facts->len; f++)
        g_string_append_printf (text, "\x1e%s", g_array_index (section->facts, TnFact, f).name);
    }
  return g_string_free (text, FALSE);
}

static void
show_picture (TnInspector *self)
{
  int width = 0, height = 0, shown = 0;
  uint8_t *pixels = self->values != NULL ? tn_parameter_values_kernels (self->values, 240, &width, &height, &shown) : NULL;
  g_autoptr (GdkTexture) texture = tn_values_texture (pixels, width, height);
  g_autofree char *text = texture != NULL ? g_strdup_printf (_("Kernels at step %d"), (int) self->values->step) : NULL;
  gtk_picture_set_paintable (GTK_PICTURE (self->picture), GDK_PAINTABLE (texture));
  gtk_picture_set_alternative_text (GTK_PICTURE (self->picture), text);
  gtk_widget_set_visible (self->picture, texture != NULL);
}

/* Rows are made anew only where other facts are told: focus and scrolling stay while numbers run. */
static void
show_sections (TnInspector *self, GPtrArray *sections)
{
  char *shape = shape_of (sections);
  gboolean same = g_strcmp0 (shape, self->shape) == 0;
  g_free (self->shape);
  self->shape = shape;
  if (!same)
    {
      for (guint i = 0; i < self->groups->len; i++)
        adw_preferences_page_remove (ADW_PREFERENCES_PAGE (self->page), g_ptr_array_index (self->groups, i));
      g_ptr_array_set_size (self->groups, 0);
      g_ptr_array_set_size (self->labels, 0);
      self->picture = NULL;
    }
  for (guint i = 0, label = 0; i < sections->len; i++)
    {
      const Section *section = g_ptr_array_index (sections, i);
      if (!same)
        add_group (self, section);
      for (guint f = 0; same && f < section->facts->len; f++)
        set_value (g_ptr_array_index (self->labels, label++), g_array_index (section->facts, TnFact, f).value);
    }
  if (self->picture != NULL)
    show_picture (self);
}

static void
add_fact (Section *section, const char *name, const char *value)
{
  tn_facts_take (section->facts, name, g_strdup (value));
}

static void
take_fact (Section *section, const char *name, char *value)
{
  tn_facts_take (section->facts, name, value);
}

static void
take_all (Section *section, GArray *facts)
{
  for (guint i = 0; i < facts->len; i++)
    add_fact (section, g_array_index (facts, TnFact, i).name, g_array_index (facts, TnFact, i).value);
  g_array_unref (facts);
}

static void
number_fact (TnInspector *self, Section *section, const char *name, const char *fact, char *(*format) (double))
{
  double value = tn_run_control_fact (tn_window_control (self->window), fact);
  if (isfinite (value))
    take_fact (section, name, format (value));
}

static char *
format_whole (double value)
{
  return tn_format_count ((gint64) value);
}

/* ---- what workers read ---- */

static void
stop (GCancellable **cancellable)
{
  if (*cancellable != NULL)
    g_cancellable_cancel (*cancellable);
  g_clear_object (cancellable);
}

static void
project_read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnInspector) self = data;
  TnProjectFacts *project = tn_project_facts_finish (result, NULL);
  if (project == NULL) /* cancelled */
    return;
  g_clear_object (&self->reading_project);
  g_clear_pointer (&self->project, tn_project_facts_unref);
  self->project = project;
  queue (self, 10);
}

static void
read_project (TnInspector *self)
{
  stop (&self->reading_project);
  self->reading_project = g_cancellable_new ();
  tn_project_facts_async (tn_document_path (self->document), self->reading_project, project_read_cb, g_object_ref (self));
}

static void
scan_read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnInspector) self = data;
  g_autoptr (GError) error = NULL;
  TnDataScan *scan = tn_data_scan_finish (result, &error);
  if (scan == NULL)
    return;
  g_clear_object (&self->reading_scan);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  self->scan = scan;
  queue (self, 10);
}

static void
read_scan (TnInspector *self)
{
  TnPage *page = tn_window_page (self->window, "data");
  TnDataScan *known = page != NULL ? tn_page_data_scan (TN_PAGE_DATA (page)) : NULL;
  if (known == NULL)
    known = self->scan;
  stop (&self->reading_scan);
  self->reading_scan = g_cancellable_new ();
  tn_data_scan_async (tn_document_settings (self->document), tn_document_path (self->document), known, self->reading_scan, scan_read_cb,
                      g_object_ref (self));
}

static void
values_read_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (TnInspector) self = data;
  g_autoptr (GError) error = NULL;
  TnParameterValues *values = tn_parameter_values_load_finish (result, &error);
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return;
  g_clear_object (&self->reading_values);
  g_clear_pointer (&self->values, tn_parameter_values_unref);
  self->values = values; /* NULL: no checkpoint holds it yet */
  queue (self, 10);
}

/* The newest values of what is selected, read again only where that changed or @again. */
static void
read_values (TnInspector *self, gboolean again)
{
  const char *name = tn_selection_get_text (tn_window_selection (self->window), TN_SELECTION_PARAMETER);
  const char *path = tn_run_control_path (tn_window_control (self->window));
  g_autofree char *of = name != NULL && path != NULL ? g_strconcat (path, "\n", name, NULL) : NULL;
  if (!again && g_strcmp0 (of, self->values_of) == 0)
    return;
  stop (&self->reading_values);
  if (g_strcmp0 (of, self->values_of) != 0)
    g_clear_pointer (&self->values, tn_parameter_values_unref);
  g_free (self->values_of);
  self->values_of = g_steal_pointer (&of);
  if (self->values_of == NULL)
    return;
  self->reading_values = g_cancellable_new ();
  tn_parameter_values_load_async (path, -1, name, self->reading_values, values_read_cb, g_object_ref (self));
}

static void
edited_cb (TnInspector *self)
{
  stop (&self->reading_scan);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
}

/* What was read belongs to the document and is asked for again when it is needed. */
static void
forget (TnInspector *self)
{
  stop (&self->reading_project);
  g_clear_pointer (&self->project, tn_project_facts_unref);
  edited_cb (self);
  queue (self, 10);
}

static void
follow_document (TnInspector *self)
{
  TnDocument *document = tn_window_document (self->window);
  if (document == self->document)
    return;
  if (self->document != NULL)
    g_signal_handlers_disconnect_by_data (self->document, self);
  forget (self);
  g_set_object (&self->document, document);
  if (document == NULL)
    return;
  g_signal_connect_object (document, "saved", G_CALLBACK (forget), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (document, "edited", G_CALLBACK (edited_cb), self, G_CONNECT_SWAPPED);
}

/* ---- what is told ---- */

static void
tell_sample (TnInspector *self, GPtrArray *sections)
{
  const char *sample = tn_selection_get_text (tn_window_selection (self->window), TN_SELECTION_SAMPLE);
  const char *colon = sample != NULL ? strrchr (sample, ':') : NULL;
  gint64 id;
  if (sample == NULL || self->document == NULL)
    return;
  Section *section = add_section (sections, "sample", sample, _("Sample"), "data");
  if (self->scan == NULL && self->reading_scan == NULL)
    read_scan (self);
  if (self->scan != NULL && g_ascii_string_to_signed (colon != NULL ? colon + 1 : sample, 10, 0, G_MAXINT64, &id, NULL))
    take_all (section, tn_facts_of_sample (self->scan, id));
}

static void
tell_values (TnInspector *self, Section *section)
{
  const TnParameterValues *values = self->values;
  if (values == NULL)
    return;
  take_fact (section, _("At step"), tn_format_count_exact (values->step));
  take_fact (section, _("Least"), tn_format_loss (values->least));
  take_fact (section, _("Greatest"), tn_format_loss (values->most));
  take_fact (section, _("Mean"), tn_format_loss (values->mean));
  take_fact (section, _("Deviation"), tn_format_loss (values->deviation));
  take_fact (section, _("Zeros"), tn_format_count_exact (values->zeros));
  take_fact (section, _("NaN"), tn_format_count_exact (values->nans));
}

static void
tell_parameter (TnInspector *self, GPtrArray *sections)
{
  const char *name = tn_selection_get_text (tn_window_selection (self->window), TN_SELECTION_PARAMETER);
  read_values (self, FALSE);
  if (name == NULL)
    return;
  Section *section = add_section (sections, "parameter", name, _("Parameter"), "model graph");
  if (self->project != NULL)
    take_all (section, tn_facts_of_parameter (self->project, name));
  tell_values (self, section);
  section->parameter = g_strdup (name);
}

static void
tell_node (TnInspector *self, GPtrArray *sections)
{
  const char *name = tn_selection_get_text (tn_window_selection (self->window), TN_SELECTION_NODE);
  if (name == NULL)
    return;
  const char *last = strrchr (name, '/');
  Section *section = add_section (sections, "node", last != NULL ? last + 1 : name, _("Node"), "model graph");
  add_fact (section, _("Name"), name);
  if (self->project != NULL)
    take_all (section, tn_facts_of_node (self->project, name));
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
tell_step (TnInspector *self, GPtrArray *sections, gint64 first, gint64 last)
{
  TnRunControl *control = tn_window_control (self->window);
  g_autofree char *title = tn_selection_describe (tn_window_selection (self->window), TN_SELECTION_STEPS);
  Section *group = add_section (sections, "step", title, NULL, "train");
  take_fact (group, _("Step"), tn_format_count_exact (last));
  double per_epoch = tn_run_control_fact (control, "steps_per_epoch");
  if (per_epoch >= 1)
    take_fact (group, _("Epoch"), tn_format_count_exact ((last - 1) / (gint64) per_epoch + 1));
  const TnSettings *settings = tn_run_control_settings (control);
  if (settings != NULL)
    take_fact (group, _("Samples seen"), tn_format_count_exact (last * tn_settings_get_int (settings, "train.batch")));
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
tell_run (TnInspector *self, GPtrArray *sections)
{
  TnRunControl *control = tn_window_control (self->window);
  const char *path = tn_run_control_path (control);
  if (path == NULL)
    {
      if (sections->len == 0)
        add_section (sections, "none", _("Nothing selected"), _("Select a step in a curve, a run, a layer or a sample to see its facts here."), NULL);
      return;
    }
  g_autofree char *name = g_path_get_basename (path);
  Section *group = add_section (sections, "run", name, NULL, "train graph runs");
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
  Section *chosen = add_section (sections, "settings", _("Settings"), NULL, NULL);
  static const char *const names[] = { "train.batch", "optimizer.kind", "optimizer.lr", "train.epochs", "train.seed", "device.mode" };
  static const char *const titles[] = { N_("Batch size"), N_("Optimizer"), N_("Learning rate"), N_("Epochs"), N_("Seed"), N_("Mode") };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    add_fact (chosen, _(titles[i]), tn_settings_get_text (settings, names[i]));
}

static void
refresh (TnInspector *self)
{
  g_autoptr (GPtrArray) sections = g_ptr_array_new_with_free_func (section_free);
  TnSelection *selection = tn_window_selection (self->window);
  gint64 first, last;
  follow_document (self);
  guint parts = tn_selection_parts (selection);
  if (parts & (TN_SELECTION_NODE | TN_SELECTION_PARAMETER) && self->document != NULL && self->project == NULL && self->reading_project == NULL)
    read_project (self);
  tell_sample (self, sections);
  tell_parameter (self, sections);
  tell_node (self, sections);
  if (tn_selection_get_range (selection, TN_SELECTION_STEPS, &first, &last))
    tell_step (self, sections, first, last);
  tell_run (self, sections);
  show_sections (self, sections);
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
checkpointed_cb (TnRunControl *control, gint64 step, TnInspector *self)
{
  if (gtk_widget_get_mapped (GTK_WIDGET (self)))
    read_values (self, TRUE);
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
  TnInspector *self = TN_INSPECTOR (object);
  g_clear_handle_id (&self->refresh, g_source_remove);
  stop (&self->reading_project);
  stop (&self->reading_scan);
  stop (&self->reading_values);
  g_clear_pointer (&self->project, tn_project_facts_unref);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  g_clear_pointer (&self->values, tn_parameter_values_unref);
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tn_inspector_parent_class)->dispose (object);
}

static void
tn_inspector_finalize (GObject *object)
{
  g_ptr_array_unref (TN_INSPECTOR (object)->groups);
  g_ptr_array_unref (TN_INSPECTOR (object)->labels);
  g_free (TN_INSPECTOR (object)->shape);
  g_free (TN_INSPECTOR (object)->values_of);
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
  self->labels = g_ptr_array_new ();
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
  g_signal_connect_object (tn_window_control (window), "checkpointed", G_CALLBACK (checkpointed_cb), self, 0);
  return GTK_WIDGET (self);
}
