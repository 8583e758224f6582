/* SPDX-License-Identifier: Apache-2.0 */
#include "plan-view.h"

#include <glib/gi18n.h>
#include <math.h>

#include "format.h"
#include "setting-titles.h"
#include "train/check.h"

#define FIRST_MS 1500 /* a training that was asked for with the project comes first */
#define EDIT_MS 400
#define BAR_HEIGHT 14
#define UNFOLD_US 400000

static const struct
{
  const char *title;
  double color[3];
} kinds[] = {
  { N_("weights"), { 0.21, 0.52, 0.89 } },   { N_("gradients"), { 0.90, 0.38, 0.00 } },   { N_("optimizer"), { 0.57, 0.25, 0.67 } },
  { N_("activations"), { 0.18, 0.76, 0.49 } }, { N_("buffers"), { 0.60, 0.60, 0.59 } },
};
#define N_KINDS ((int) G_N_ELEMENTS (kinds))

struct _TnPlanView
{
  AdwBin parent_instance;
  TnRunControl *control;
  TnDocument *document;
  TnCheck *found; /* NULL: not looked at yet */
  GCancellable *cancellable;
  guint timer;
  gint64 follow_until_us;
  GtkWidget *total, *bar, *legend, *measured, *list;
  GPtrArray *rows; /* of the list, borrowed */
};

G_DEFINE_FINAL_TYPE (TnPlanView, tn_plan_view, ADW_TYPE_BIN)

enum
{
  SIGNAL_SHOW_SETTING,
  SIGNAL_CHECKED,
  N_SIGNALS
};
static guint signals[N_SIGNALS];

static void
sizes_of (const TnCheck *found, double sizes[])
{
  const TnMemoryForecast *forecast = &found->memory.forecast;
  const size_t bytes[] = { forecast->parameters, forecast->gradients, forecast->optimizer, forecast->activations, forecast->buffers };
  for (int i = 0; i < N_KINDS; i++)
    sizes[i] = (double) bytes[i];
}

/* The bar: the kinds over the whole width; a line under it shows their part of what is free. */
static void
draw_bar (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  TnPlanView *self = data;
  double sizes[N_KINDS], sum = 0, at = 0, radius = 6;
  cairo_new_sub_path (cr);
  cairo_arc (cr, width - radius, radius, radius, -G_PI_2, 0);
  cairo_arc (cr, width - radius, height - radius, radius, 0, G_PI_2);
  cairo_arc (cr, radius, height - radius, radius, G_PI_2, G_PI);
  cairo_arc (cr, radius, radius, radius, G_PI, 3 * G_PI_2);
  cairo_close_path (cr);
  cairo_clip (cr);
  cairo_set_source_rgba (cr, 0.5, 0.5, 0.5, 0.25);
  cairo_paint (cr);
  if (self->found == NULL)
    return;
  sizes_of (self->found, sizes);
  for (int i = 0; i < N_KINDS; i++)
    sum += sizes[i];
  gboolean mirrored = gtk_widget_get_direction (GTK_WIDGET (area)) == GTK_TEXT_DIR_RTL;
  for (int i = 0; sum > 0 && i < N_KINDS; i++)
    {
      double part = sizes[i] / sum * width;
      cairo_rectangle (cr, mirrored ? width - at - part : at, 0, part, height);
      cairo_set_source_rgb (cr, kinds[i].color[0], kinds[i].color[1], kinds[i].color[2]);
      cairo_fill (cr);
      at += part;
    }
}

static void
show_plan (TnPlanView *self)
{
  double sizes[N_KINDS] = { 0 };
  g_autoptr (GString) legend = g_string_new (NULL);
  gboolean known = self->found != NULL && self->found->memory.forecast.total > 0;
  if (known)
    sizes_of (self->found, sizes);
  for (int i = 0; known && i < N_KINDS; i++)
    {
      if (!(sizes[i] > 0))
        continue;
      g_autofree char *size = tn_format_size (sizes[i]);
      g_autofree char *escaped = g_markup_printf_escaped ("<span foreground='#%02x%02x%02x'>●</span> %s %s", (int) (kinds[i].color[0] * 255),
                                                          (int) (kinds[i].color[1] * 255), (int) (kinds[i].color[2] * 255), _(kinds[i].title), size);
      g_string_append_printf (legend, "%s%s", legend->len > 0 ? "   " : "", escaped);
    }
  gtk_label_set_markup (GTK_LABEL (self->legend), legend->str);
  g_autofree char *need = known ? tn_format_size ((double) self->found->memory.forecast.total + (double) self->found->data_bytes) : NULL;
  g_autofree char *allowed = known ? tn_format_size ((double) self->found->memory.allowed) : NULL;
  /* Translators: memory that a training needs, and how much there is */
  g_autofree char *text = known ? g_strdup_printf (_("%s of %s"), need, allowed) : g_strdup ("");
  gtk_label_set_text (GTK_LABEL (self->total), text);
  gtk_widget_set_visible (self->bar, known);
  gtk_widget_set_visible (self->legend, known);
  gtk_widget_set_tooltip_text (self->bar, text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->bar), GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, text, -1);
  gtk_widget_queue_draw (self->bar);
}

static void
control_changed_cb (TnRunControl *control, TnPlanView *self)
{
  double bytes = tn_run_control_fact (control, "memory_measured");
  gtk_widget_set_visible (self->measured, isfinite (bytes) && bytes > 0);
  if (!isfinite (bytes) || bytes <= 0)
    return;
  g_autofree char *size = tn_format_size (bytes), *text = g_strdup_printf (_("This run took %s after its first step"), size);
  if (g_strcmp0 (text, gtk_label_get_text (GTK_LABEL (self->measured))) != 0)
    gtk_label_set_text (GTK_LABEL (self->measured), text);
}

/* Findings. */

static void
fix_cb (GtkButton *button, TnPlanView *self)
{
  const char *setting = g_object_get_data (G_OBJECT (button), "tn-setting"), *fix = g_object_get_data (G_OBJECT (button), "tn-fix");
  if (fix != NULL)
    tn_document_edit (self->document, "setting", setting, fix, NULL); /* undone like any other edit */
  else
    g_signal_emit (self, signals[SIGNAL_SHOW_SETTING], 0, setting);
}

static void
add_finding (TnPlanView *self, const TnFinding *finding)
{
  static const struct
  {
    const char *icon, *tone;
  } looks[] = {
    [TN_FINDING_ERROR] = { "dialog-error-symbolic", "error" },
    [TN_FINDING_WARNING] = { "dialog-warning-symbolic", "warning" },
    [TN_FINDING_NOTE] = { "dialog-information-symbolic", "dim-label" },
  };
  GtkWidget *row = adw_action_row_new (), *icon = gtk_image_new_from_icon_name (looks[finding->severity].icon);
  g_autofree char *id = g_strdup_printf ("train_check_row:%s", finding->code);
  gtk_widget_set_name (row, id);
  gtk_widget_add_css_class (icon, looks[finding->severity].tone);
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), finding->text);
  adw_action_row_set_title_lines (ADW_ACTION_ROW (row), 0);
  gtk_widget_add_css_class (row, "check-row");
  adw_action_row_add_prefix (ADW_ACTION_ROW (row), icon);
  if (finding->setting != NULL)
    {
      g_autofree char *button_id = g_strdup_printf ("train_check_fix_button:%s", finding->code);
      GtkWidget *button = gtk_button_new_with_label (finding->fix != NULL ? _("Fix") : _("Show"));
      g_autofree char *hint = finding->fix != NULL ? g_strdup_printf (_("Set %s to “%s”"), tn_setting_title (finding->setting), finding->fix)
                                                   : g_strdup_printf (_("Show %s"), tn_setting_title (finding->setting));
      gtk_widget_set_name (button, button_id);
      gtk_widget_set_tooltip_text (button, hint);
      gtk_widget_set_valign (button, GTK_ALIGN_CENTER);
      g_object_set_data_full (G_OBJECT (button), "tn-setting", g_strdup (finding->setting), g_free);
      g_object_set_data_full (G_OBJECT (button), "tn-fix", g_strdup (finding->fix), g_free);
      g_signal_connect (button, "clicked", G_CALLBACK (fix_cb), self);
      adw_action_row_add_suffix (ADW_ACTION_ROW (row), button);
    }
  adw_expander_row_add_row (ADW_EXPANDER_ROW (self->list), row);
  g_ptr_array_add (self->rows, row);
}

static void
show_findings (TnPlanView *self)
{
  guint n[TN_FINDING_NOTE + 1] = { 0 };
  for (guint i = 0; i < self->rows->len; i++)
    adw_expander_row_remove (ADW_EXPANDER_ROW (self->list), g_ptr_array_index (self->rows, i));
  g_ptr_array_set_size (self->rows, 0);
  for (guint i = 0; i < self->found->findings->len; i++)
    {
      const TnFinding *finding = g_ptr_array_index (self->found->findings, i);
      n[finding->severity]++;
      add_finding (self, finding);
    }
  g_autofree char *errors = n[TN_FINDING_ERROR] > 0 ? g_strdup_printf (ngettext ("%u error", "%u errors", n[TN_FINDING_ERROR]), n[TN_FINDING_ERROR]) : NULL;
  g_autofree char *warnings
    = n[TN_FINDING_WARNING] > 0 ? g_strdup_printf (ngettext ("%u warning", "%u warnings", n[TN_FINDING_WARNING]), n[TN_FINDING_WARNING]) : NULL;
  g_autofree char *both = errors != NULL && warnings != NULL ? g_strdup_printf (_("%s, %s"), errors, warnings) : NULL;
  const char *text = both != NULL ? both : errors != NULL ? errors : warnings != NULL ? warnings : _("Nothing stands against training");
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self->list), text);
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (self->list), self->rows->len > 0);
}

/* Looking. */

typedef struct
{
  char *path;
  TnSettings *settings;
  JsonNode *network;
} Question;

static void
question_free (Question *question)
{
  g_free (question->path);
  tn_settings_free (question->settings);
  g_clear_pointer (&question->network, json_node_unref);
  g_free (question);
}

static void
check_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Question *question = data;
  GError *error = NULL;
  g_autoptr (TnProject) project = tn_project_open (question->path, &error);
  if (project == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  tn_project_set_network (project, question->network); /* as it stands in the window, saved or not */
  g_task_return_pointer (task, tn_check_project (project, question->settings, cancellable), (GDestroyNotify) tn_check_free);
}

static void
checked_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnPlanView *self = TN_PLAN_VIEW (source);
  TnCheck *found = g_task_propagate_pointer (G_TASK (result), NULL);
  if (found == NULL) /* cancelled by a later edit, or the folder is gone: the window says that elsewhere */
    return;
  g_clear_pointer (&self->found, tn_check_free);
  self->found = found;
  show_plan (self);
  show_findings (self);
  g_signal_emit (self, signals[SIGNAL_CHECKED], 0);
}

static void
forget (TnPlanView *self)
{
  g_cancellable_cancel (self->cancellable);
  g_clear_object (&self->cancellable);
  g_clear_handle_id (&self->timer, g_source_remove);
}

static gboolean
timer_cb (gpointer data)
{
  TnPlanView *self = data;
  self->timer = 0;
  forget (self);
  if (self->document == NULL)
    return G_SOURCE_REMOVE;
  Question *question = g_new0 (Question, 1);
  JsonNode *network = tn_document_network (self->document);
  question->path = g_strdup (tn_document_path (self->document));
  question->settings = tn_settings_copy (tn_document_settings (self->document));
  question->network = network != NULL ? json_node_copy (network) : NULL;
  self->cancellable = g_cancellable_new ();
  g_autoptr (GTask) task = g_task_new (self, self->cancellable, checked_cb, NULL);
  g_task_set_task_data (task, question, (GDestroyNotify) question_free);
  g_task_run_in_thread (task, check_thread);
  return G_SOURCE_REMOVE;
}

static void
queue (TnPlanView *self, guint ms)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  self->timer = g_timeout_add (ms, timer_cb, self);
}

void
tn_plan_view_set_document (TnPlanView *self, TnDocument *document)
{
  g_return_if_fail (TN_IS_PLAN_VIEW (self));
  if (self->document == document)
    {
      if (document != NULL)
        queue (self, EDIT_MS); /* edited while another page was shown */
      return;
    }
  forget (self);
  g_set_object (&self->document, document);
  g_clear_pointer (&self->found, tn_check_free);
  show_plan (self);
  if (document != NULL)
    queue (self, FIRST_MS);
}

void
tn_plan_view_edited (TnPlanView *self)
{
  g_return_if_fail (TN_IS_PLAN_VIEW (self));
  queue (self, EDIT_MS);
}

/* The list grows while it unfolds: its end is kept in sight until it has. */
static gboolean
follow_cb (GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  TnPlanView *self = TN_PLAN_VIEW (widget);
  GtkWidget *scroller = gtk_widget_get_ancestor (widget, GTK_TYPE_SCROLLED_WINDOW);
  if (scroller == NULL || g_get_monotonic_time () > self->follow_until_us)
    return G_SOURCE_REMOVE;
  GtkAdjustment *adjustment = gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (scroller));
  gtk_adjustment_set_value (adjustment, gtk_adjustment_get_upper (adjustment) - gtk_adjustment_get_page_size (adjustment));
  return G_SOURCE_CONTINUE;
}

void
tn_plan_view_open (TnPlanView *self)
{
  g_return_if_fail (TN_IS_PLAN_VIEW (self));
  adw_expander_row_set_expanded (ADW_EXPANDER_ROW (self->list), TRUE);
  gtk_widget_grab_focus (self->list);
  self->follow_until_us = g_get_monotonic_time () + UNFOLD_US;
  gtk_widget_add_tick_callback (GTK_WIDGET (self), follow_cb, NULL, NULL);
}

const char *
tn_plan_view_error (TnPlanView *self)
{
  g_return_val_if_fail (TN_IS_PLAN_VIEW (self), NULL);
  if (self->found == NULL || !tn_check_has_errors (self->found))
    return NULL;
  const TnFinding *first = g_ptr_array_index (self->found->findings, 0);
  return first->text;
}

static void
tn_plan_view_dispose (GObject *object)
{
  TnPlanView *self = TN_PLAN_VIEW (object);
  forget (self);
  g_clear_object (&self->document);
  g_clear_object (&self->control);
  g_clear_pointer (&self->found, tn_check_free);
  g_clear_pointer (&self->rows, g_ptr_array_unref);
  G_OBJECT_CLASS (tn_plan_view_parent_class)->dispose (object);
}

static void
tn_plan_view_class_init (TnPlanViewClass *class)
{
  GType type = G_TYPE_FROM_CLASS (class);
  G_OBJECT_CLASS (class)->dispose = tn_plan_view_dispose;
  signals[SIGNAL_SHOW_SETTING] = g_signal_new ("show-setting", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[SIGNAL_CHECKED] = g_signal_new ("checked", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
tn_plan_view_init (TnPlanView *self)
{
  GtkWidget *outer = gtk_box_new (GTK_ORIENTATION_VERTICAL, 12), *card = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *title = gtk_label_new (_("Memory Plan")), *group = adw_preferences_group_new ();
  self->rows = g_ptr_array_new ();
  self->total = gtk_label_new ("");
  self->legend = gtk_label_new (NULL);
  self->measured = gtk_label_new (NULL);
  self->bar = g_object_new (GTK_TYPE_DRAWING_AREA, "accessible-role", GTK_ACCESSIBLE_ROLE_METER, NULL);
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self->bar), draw_bar, self, NULL);
  gtk_drawing_area_set_content_height (GTK_DRAWING_AREA (self->bar), BAR_HEIGHT);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->bar), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Memory by kind"), -1);
  gtk_widget_set_name (self->bar, "train_plan_bar");
  gtk_widget_set_name (self->total, "train_plan_label");
  gtk_widget_add_css_class (title, "heading");
  gtk_widget_add_css_class (self->total, "numeric");
  gtk_widget_add_css_class (self->legend, "caption");
  gtk_widget_add_css_class (self->measured, "caption");
  gtk_widget_add_css_class (self->measured, "dim-label");
  gtk_widget_set_hexpand (title, TRUE);
  gtk_label_set_xalign (GTK_LABEL (title), 0);
  GtkWidget *const texts[] = { self->legend, self->measured };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      gtk_label_set_xalign (GTK_LABEL (texts[i]), 0);
      gtk_label_set_wrap (GTK_LABEL (texts[i]), TRUE);
    }
  gtk_widget_set_visible (self->measured, FALSE);
  gtk_box_append (GTK_BOX (head), title);
  gtk_box_append (GTK_BOX (head), self->total);
  gtk_box_append (GTK_BOX (card), head);
  gtk_box_append (GTK_BOX (card), self->bar);
  gtk_box_append (GTK_BOX (card), self->legend);
  gtk_box_append (GTK_BOX (card), self->measured);
  gtk_widget_add_css_class (card, "card");
  gtk_widget_add_css_class (card, "watch-card");

  self->list = adw_expander_row_new ();
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->list), _("Checks"));
  adw_expander_row_set_subtitle (ADW_EXPANDER_ROW (self->list), _("Looking…"));
  adw_expander_row_set_enable_expansion (ADW_EXPANDER_ROW (self->list), FALSE);
  gtk_widget_set_name (self->list, "train_check_list");
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (group), self->list);
  gtk_box_append (GTK_BOX (outer), card);
  gtk_box_append (GTK_BOX (outer), group);
  adw_bin_set_child (ADW_BIN (self), outer);
  show_plan (self);
}

GtkWidget *
tn_plan_view_new (TnRunControl *control)
{
  TnPlanView *self = g_object_new (TN_TYPE_PLAN_VIEW, NULL);
  self->control = g_object_ref (control);
  g_signal_connect_object (control, "changed", G_CALLBACK (control_changed_cb), self, 0);
  return GTK_WIDGET (self);
}
