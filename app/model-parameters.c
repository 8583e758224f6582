/* SPDX-License-Identifier: Apache-2.0 */
#include "model-parameters.h"

#include <glib/gi18n.h>
#include <math.h>

#include "format.h"
#include "switch-row.h"
#include "table.h"

struct _TnModelParameters
{
  AdwBin parent_instance;
  GtkWidget *table, *form, *group, *trained, *shape_row, *bytes_row, *init_row, *values_row;
  TnTableModel *model;
  TnModelReport *report;
};

enum
{
  CHANGED,
  TRAINED_EDITED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnModelParameters, tn_model_parameters, ADW_TYPE_BIN)

static const TnParameterReport *
at (TnModelParameters *self, guint row)
{
  return &g_array_index (self->report->parameters, TnParameterReport, row);
}

static guint
n_rows (gpointer data)
{
  TnModelParameters *self = data;
  return self->report != NULL ? self->report->parameters->len : 0;
}

static double
number_of (gpointer data, guint row, guint column)
{
  return column == 3 ? (double) at (data, row)->elements : column == 4 ? (double) at (data, row)->bytes : NAN;
}

static char *
text_of (gpointer data, guint row, guint column)
{
  const TnParameterReport *parameter = at (data, row);
  switch (column)
    {
    case 0:
      return g_strdup (parameter->name);
    case 1:
      return tn_model_shape_text (&parameter->shape);
    case 2:
      return g_strdup (tn_dtype_name (parameter->dtype));
    case 3:
      return tn_format_count (parameter->elements);
    case 4:
      return tn_format_size ((double) parameter->bytes);
    case 5:
      return g_strdup (parameter->statistic ? _ ("statistic") : parameter->frozen ? _ ("frozen") : _ ("yes"));
    default:
      return g_strdup (parameter->init != NULL ? parameter->init : "");
    }
}

char **
tn_model_parameters_selected (TnModelParameters *self)
{
  g_return_val_if_fail (TN_IS_MODEL_PARAMETERS (self), NULL);
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
  GPtrArray *names = g_ptr_array_new ();
  for (guint i = 0; i < rows->len; i++)
    g_ptr_array_add (names, g_strdup (at (self, g_array_index (rows, guint, i))->name));
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (names, FALSE);
}

static void
show_one (TnModelParameters *self, const TnParameterReport *parameter)
{
  gtk_widget_set_visible (self->shape_row, parameter != NULL);
  gtk_widget_set_visible (self->init_row, parameter != NULL);
  gtk_widget_set_visible (self->values_row, parameter != NULL);
  if (parameter == NULL)
    return;
  g_autofree char *shape = tn_model_shape_text (&parameter->shape);
  g_autofree char *typed = g_strdup_printf ("%s %s", shape, tn_dtype_name (parameter->dtype));
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self->shape_row), typed);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self->init_row), parameter->init);
  gtk_actionable_set_action_target (GTK_ACTIONABLE (self->values_row), "s", parameter->name);
}

static void
show_selected (TnModelParameters *self)
{
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
  gtk_widget_set_visible (self->form, rows->len > 0);
  if (rows->len == 0)
    return;
  gboolean all_trained = TRUE, any_trainable = FALSE;
  int64_t bytes = 0;
  for (guint i = 0; i < rows->len; i++)
    {
      const TnParameterReport *parameter = at (self, g_array_index (rows, guint, i));
      any_trainable |= !parameter->statistic;
      all_trained &= parameter->statistic || !parameter->frozen;
      bytes += parameter->bytes;
    }
  const TnParameterReport *first = at (self, g_array_index (rows, guint, 0));
  g_autofree char *title = rows->len == 1 ? g_markup_escape_text (first->name, -1)
                                          : g_strdup_printf (g_dngettext (NULL, "%u parameter", "%u parameters", rows->len), rows->len);
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self->group), title);
  gtk_widget_set_visible (self->trained, any_trainable);
  tn_row_set_error (TN_ROW (self->trained), NULL);
  tn_switch_row_set_active (TN_SWITCH_ROW (self->trained), all_trained);
  g_autofree char *size = tn_format_size ((double) bytes);
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self->bytes_row), size);
  show_one (self, rows->len == 1 ? first : NULL);
}

static void
selection_cb (TnModelParameters *self)
{
  show_selected (self);
  g_signal_emit (self, signals[CHANGED], 0);
}

static void
trained_cb (TnModelParameters *self)
{
  g_signal_emit (self, signals[TRAINED_EDITED], 0, tn_switch_row_get_active (TN_SWITCH_ROW (self->trained)));
}

static void
tn_model_parameters_dispose (GObject *object)
{
  TnModelParameters *self = TN_MODEL_PARAMETERS (object);
  adw_bin_set_child (ADW_BIN (self), NULL);
  g_clear_object (&self->form);
  g_clear_object (&self->model);
  g_clear_pointer (&self->report, tn_model_report_unref);
  G_OBJECT_CLASS (tn_model_parameters_parent_class)->dispose (object);
}

static void
tn_model_parameters_class_init (TnModelParametersClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_model_parameters_dispose;
  GType type = G_TYPE_FROM_CLASS (klass);
  signals[CHANGED] = g_signal_new ("selection-changed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[TRAINED_EDITED] = g_signal_new ("trained-edited", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_BOOLEAN);
}

static GtkWidget *
fact_row (TnModelParameters *self, const char *title, const char *id)
{
  GtkWidget *row = adw_action_row_new ();
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  adw_preferences_row_set_use_markup (ADW_PREFERENCES_ROW (row), FALSE);
  gtk_widget_set_name (row, id);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self->group), row);
  return row;
}

static void
tn_model_parameters_init (TnModelParameters *self)
{
  static const TnTableFuncs funcs = { n_rows, text_of, number_of };
  const TnTableColumn columns[] = {
    { "name", _ ("Name"), TN_COLUMN_TEXT, .expand = TRUE }, { "shape", _ ("Shape"), TN_COLUMN_TEXT, .width = 110 },
    { "dtype", _ ("Type"), TN_COLUMN_TEXT, .width = 90 },   { "count", _ ("Elements"), TN_COLUMN_NUMBER },
    { "bytes", _ ("Size"), TN_COLUMN_BYTES },               { "trained", _ ("Trained"), TN_COLUMN_TEXT, .width = 90 },
    { "init", _ ("First Values"), TN_COLUMN_TEXT, .hidden = TRUE },
  };
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &funcs, self, NULL);
  self->table = tn_table_new (self->model, "model_param_table", _ ("Parameters table"));
  g_signal_connect_swapped (self->table, "selection-changed", G_CALLBACK (selection_cb), self);
  adw_bin_set_child (ADW_BIN (self), self->table);

  self->form = g_object_ref_sink (gtk_box_new (GTK_ORIENTATION_VERTICAL, 0));
  self->group = adw_preferences_group_new ();
  gtk_box_append (GTK_BOX (self->form), self->group);
  self->trained = tn_switch_row_new ();
  gtk_widget_set_name (self->trained, "model_param_grad_switch");
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->trained), _ ("Trained"));
  tn_row_set_line (TN_ROW (self->trained), _ ("Off: the values stay as they are."));
  tn_row_set_api_name (TN_ROW (self->trained), "requires_grad");
  g_signal_connect_swapped (self->trained, "edited", G_CALLBACK (trained_cb), self);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self->group), self->trained);
  self->shape_row = fact_row (self, _ ("Shape"), "model_param_shape_label");
  self->bytes_row = fact_row (self, _ ("Size"), "model_param_bytes_label");
  self->init_row = fact_row (self, _ ("First values"), "model_param_init_label");
  self->values_row = adw_action_row_new ();
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->values_row), _ ("Values"));
  adw_action_row_set_subtitle (ADW_ACTION_ROW (self->values_row), _ ("As a checkpoint of the current run holds them"));
  adw_action_row_add_suffix (ADW_ACTION_ROW (self->values_row), gtk_image_new_from_icon_name ("go-next-symbolic"));
  gtk_list_box_row_set_activatable (GTK_LIST_BOX_ROW (self->values_row), TRUE);
  gtk_widget_set_name (self->values_row, "model_param_values_button");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (self->values_row), "s", "");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->values_row), "win.values");
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self->group), self->values_row);
  gtk_widget_set_visible (self->form, FALSE);
}

GtkWidget *
tn_model_parameters_new (void)
{
  return g_object_new (TN_TYPE_MODEL_PARAMETERS, NULL);
}

/* The same parameters again: the selection stays. */
static gboolean
same_names (const TnModelReport *a, const TnModelReport *b)
{
  if (a == NULL || b == NULL || a->parameters->len != b->parameters->len)
    return FALSE;
  for (guint i = 0; i < a->parameters->len; i++)
    if (!g_str_equal (g_array_index (a->parameters, TnParameterReport, i).name, g_array_index (b->parameters, TnParameterReport, i).name))
      return FALSE;
  return TRUE;
}

void
tn_model_parameters_set_report (TnModelParameters *self, TnModelReport *report)
{
  g_return_if_fail (TN_IS_MODEL_PARAMETERS (self));
  g_autoptr (GArray) rows = same_names (self->report, report) ? tn_table_get_selected (TN_TABLE (self->table)) : NULL;
  if (report != NULL)
    tn_model_report_ref (report);
  g_clear_pointer (&self->report, tn_model_report_unref);
  self->report = report;
  tn_table_model_changed (self->model);
  if (rows != NULL)
    tn_table_select_rows (TN_TABLE (self->table), rows);
  show_selected (self);
}

void
tn_model_parameters_focus_filter (TnModelParameters *self)
{
  g_return_if_fail (TN_IS_MODEL_PARAMETERS (self));
  tn_table_focus_filter (TN_TABLE (self->table));
}

GtkWidget *
tn_model_parameters_form (TnModelParameters *self)
{
  g_return_val_if_fail (TN_IS_MODEL_PARAMETERS (self), NULL);
  return self->form;
}

void
tn_model_parameters_set_error (TnModelParameters *self, const char *text)
{
  g_return_if_fail (TN_IS_MODEL_PARAMETERS (self));
  tn_row_set_error (TN_ROW (self->trained), text);
}

void
tn_model_parameters_set_narrow (TnModelParameters *self, gboolean narrow)
{
  g_return_if_fail (TN_IS_MODEL_PARAMETERS (self));
  tn_table_set_narrow (TN_TABLE (self->table), narrow);
}

gboolean
tn_model_parameters_select (TnModelParameters *self, const char *name)
{
  g_return_val_if_fail (TN_IS_MODEL_PARAMETERS (self), FALSE);
  for (guint i = 0; i < n_rows (self); i++)
    if (g_strcmp0 (at (self, i)->name, name) == 0)
      {
        tn_table_select_row (TN_TABLE (self->table), i);
        return TRUE;
      }
  return FALSE;
}
