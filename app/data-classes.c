/* SPDX-License-Identifier: Apache-2.0 */
#include "data-classes.h"

#include <glib/gi18n.h>

#include "draw-layer.h"
#include "draw/bars.h"
#include "table.h"

struct _TnDataClasses
{
  AdwBin parent_instance;
  GtkWidget *table, *canvas;
  TnTableModel *model;
  TnDataScan *scan;
};

enum
{
  OPENED,
  RENAMED,
  N_SIGNALS
};

static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (TnDataClasses, tn_data_classes, ADW_TYPE_BIN)

static const int64_t *
counts_of (TnDataClasses *self, guint row)
{
  return self->scan->class_counts + row * TN_N_SIDES;
}

static int64_t
total_of (TnDataClasses *self, guint row)
{
  const int64_t *counts = counts_of (self, row);
  return counts[TN_SIDE_TRAIN] + counts[TN_SIDE_HELD_OUT];
}

static guint
n_classes (gpointer data)
{
  TnDataClasses *self = data;
  return self->scan != NULL ? (guint) self->scan->dataset->n_classes : 0;
}

static double
number_of (gpointer data, guint row, guint column)
{
  TnDataClasses *self = data;
  switch (column)
    {
    case 0:
      return row;
    case 2:
      return (double) total_of (self, row);
    case 3:
      return (double) total_of (self, row) / (double) MAX (self->scan->counts[TN_SIDE_TRAIN] + self->scan->counts[TN_SIDE_HELD_OUT], 1);
    default:
      return (double) counts_of (self, row)[column - 4];
    }
}

static char *
text_of (gpointer data, guint row, guint column)
{
  TnDataClasses *self = data;
  if (column == 1)
    return g_strdup (self->scan->class_names[row]);
  double value = number_of (data, row, column);
  return column == 3 ? g_strdup_printf (_ ("%.1f %%"), value * 100) : g_strdup_printf ("%'.0f", value);
}

static int
compare_counts (gconstpointer a_pointer, gconstpointer b_pointer)
{
  int64_t a = *(const int64_t *) a_pointer, b = *(const int64_t *) b_pointer;
  return (a > b) - (a < b);
}

/* A class below a tenth of the middle one learns badly. */
static guint
n_rare (TnDataClasses *self)
{
  guint n = n_classes (self), rare = 0;
  g_autofree int64_t *totals = g_new (int64_t, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    totals[i] = total_of (self, i);
  qsort (totals, n, sizeof *totals, compare_counts);
  for (guint i = 0; i < n; i++)
    rare += totals[i] * 10 < totals[n / 2];
  return rare;
}

static void
draw_cb (TnCanvas *canvas, double width, double height, const TnPalette *palette, gpointer data)
{
  TnDataClasses *self = data;
  guint n = n_classes (self);
  g_autofree TnBar *bars = g_new0 (TnBar, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    bars[i] = (TnBar) { self->scan->class_names[i], (double) total_of (self, i), (double) counts_of (self, i)[TN_SIDE_HELD_OUT] };
  tn_bars_draw (canvas, width, height, palette, bars, (int) n);
}

static void
activated_cb (TnTable *table, guint row, TnDataClasses *self)
{
  g_signal_emit (self, signals[OPENED], 0, (int) row);
}

static gint64
selected_class (TnDataClasses *self)
{
  g_autoptr (GArray) rows = tn_table_get_selected (TN_TABLE (self->table));
  return rows->len > 0 ? (gint64) g_array_index (rows, guint, 0) : -1;
}

static void
open_action (GSimpleAction *action, GVariant *value, gpointer data)
{
  gint64 row = selected_class (data);
  if (row >= 0)
    g_signal_emit (data, signals[OPENED], 0, (int) row);
}

static void
rename_response_cb (AdwMessageDialog *dialog, const char *response, TnDataClasses *self)
{
  GtkEditable *entry = GTK_EDITABLE (adw_message_dialog_get_extra_child (dialog));
  g_autofree char *name = g_strstrip (g_strdup (gtk_editable_get_text (entry)));
  int row = GPOINTER_TO_INT (g_object_get_data (G_OBJECT (dialog), "row"));
  if (g_strcmp0 (response, "rename") == 0)
    g_signal_emit (self, signals[RENAMED], 0, row, name);
}

/* Commas separate names in the setting. */
static void
name_changed_cb (GtkEditable *entry, AdwMessageDialog *dialog)
{
  const char *text = gtk_editable_get_text (entry);
  adw_message_dialog_set_response_enabled (dialog, "rename", *text != '\0' && strchr (text, ',') == NULL);
}

static void
rename_action (GSimpleAction *action, GVariant *value, gpointer data)
{
  TnDataClasses *self = data;
  gint64 row = selected_class (self);
  if (row < 0)
    return;
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *dialog = adw_message_dialog_new (GTK_WINDOW (root), _ ("Rename Class"), _ ("The name is kept in the project and with new runs. It may not contain a comma."));
  GtkWidget *entry = gtk_entry_new ();
  gtk_widget_set_name (dialog, "data_rename_dialog");
  gtk_editable_set_text (GTK_EDITABLE (entry), self->scan->class_names[row]);
  gtk_entry_set_activates_default (GTK_ENTRY (entry), TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (entry), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Class name"), -1);
  adw_message_dialog_set_extra_child (ADW_MESSAGE_DIALOG (dialog), entry);
  adw_message_dialog_add_responses (ADW_MESSAGE_DIALOG (dialog), "cancel", _ ("_Cancel"), "rename", _ ("_Rename"), NULL);
  adw_message_dialog_set_response_appearance (ADW_MESSAGE_DIALOG (dialog), "rename", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response (ADW_MESSAGE_DIALOG (dialog), "rename");
  adw_message_dialog_set_close_response (ADW_MESSAGE_DIALOG (dialog), "cancel");
  g_object_set_data (G_OBJECT (dialog), "row", GINT_TO_POINTER ((int) row));
  g_signal_connect (entry, "changed", G_CALLBACK (name_changed_cb), dialog);
  g_signal_connect_object (dialog, "response", G_CALLBACK (rename_response_cb), self, 0);
  gtk_window_present (GTK_WINDOW (dialog));
}

static void
tn_data_classes_dispose (GObject *object)
{
  TnDataClasses *self = TN_DATA_CLASSES (object);
  adw_bin_set_child (ADW_BIN (self), NULL);
  g_clear_object (&self->model);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  G_OBJECT_CLASS (tn_data_classes_parent_class)->dispose (object);
}

static void
tn_data_classes_class_init (TnDataClassesClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = tn_data_classes_dispose;
  GType type = G_TYPE_FROM_CLASS (klass);
  signals[OPENED] = g_signal_new ("opened", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);
  signals[RENAMED] = g_signal_new ("renamed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_INT, G_TYPE_STRING);
}

static void
tn_data_classes_init (TnDataClasses *self)
{
  static const TnTableFuncs funcs = { n_classes, text_of, number_of };
  const TnTableColumn columns[] = {
    { "index", _ ("Number"), TN_COLUMN_NUMBER },    { "name", _ ("Class"), TN_COLUMN_TEXT, .expand = TRUE },
    { "count", _ ("Samples"), TN_COLUMN_NUMBER },   { "share", _ ("Share"), TN_COLUMN_SHARE },
    { "training", _ ("Training"), TN_COLUMN_NUMBER }, { "held", _ ("Held Out"), TN_COLUMN_NUMBER },
    { "left", _ ("Left Out"), TN_COLUMN_NUMBER },
  };
  self->model = tn_table_model_new (columns, G_N_ELEMENTS (columns), &funcs, self, NULL);
  self->table = tn_table_new (self->model, "data_class_table", _ ("Classes table"));
  g_signal_connect (self->table, "row-activated", G_CALLBACK (activated_cb), self);
  g_autoptr (GSimpleActionGroup) actions = g_simple_action_group_new ();
  static const GActionEntry entries[] = { { .name = "open", .activate = open_action }, { .name = "rename", .activate = rename_action } };
  g_action_map_add_action_entries (G_ACTION_MAP (actions), entries, G_N_ELEMENTS (entries), self);
  gtk_widget_insert_action_group (GTK_WIDGET (self), "class", G_ACTION_GROUP (actions));
  g_autoptr (GMenu) menu = g_menu_new ();
  g_menu_append (menu, _ ("Show Only This Class"), "class.open");
  g_menu_append (menu, _ ("Rename…"), "class.rename");
  tn_table_set_row_menu (TN_TABLE (self->table), G_MENU_MODEL (menu));
  GtkWidget *rename = gtk_button_new_from_icon_name ("document-edit-symbolic");
  gtk_widget_set_name (rename, "data_rename_button");
  gtk_widget_add_css_class (rename, "flat");
  gtk_widget_set_tooltip_text (rename, _ ("Rename Class"));
  gtk_accessible_update_property (GTK_ACCESSIBLE (rename), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Rename Class"), -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (rename), "class.rename");
  tn_table_add_tool (TN_TABLE (self->table), rename);
  gtk_widget_set_vexpand (self->table, TRUE);

  self->canvas = tn_draw_layer_new (draw_cb, self);
  gtk_widget_set_name (self->canvas, "data_class_canvas");
  gtk_widget_set_size_request (self->canvas, -1, 24 * 10 + 12);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->canvas), GTK_ACCESSIBLE_PROPERTY_LABEL, _ ("Classes canvas"), -1);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_box_append (GTK_BOX (box), self->canvas);
  gtk_box_append (GTK_BOX (box), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (box), self->table);
  adw_bin_set_child (ADW_BIN (self), box);
}

GtkWidget *
tn_data_classes_new (void)
{
  return g_object_new (TN_TYPE_DATA_CLASSES, NULL);
}

void
tn_data_classes_set_scan (TnDataClasses *self, TnDataScan *scan)
{
  g_return_if_fail (TN_IS_DATA_CLASSES (self));
  if (scan != NULL)
    tn_data_scan_ref (scan);
  g_clear_pointer (&self->scan, tn_data_scan_unref);
  self->scan = scan;
  tn_table_model_changed (self->model);
  g_autofree char *text = NULL;
  if (scan != NULL)
    {
      guint rare = n_rare (self);
      text = g_strdup_printf (g_dngettext (NULL, "%u class", "%u classes", n_classes (self)), n_classes (self));
      g_autofree char *note = rare > 0 ? g_strdup_printf (g_dngettext (NULL, "%u of them is rare", "%u of them are rare", rare), rare) : NULL;
      g_autofree char *all = note != NULL ? g_strdup_printf (_ ("%s, %s"), text, note) : g_strdup (text);
      gtk_accessible_update_property (GTK_ACCESSIBLE (self->canvas), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, all, -1);
    }
  gtk_widget_set_visible (self->canvas, scan != NULL && scan->dataset->n_classes > 1);
  gtk_widget_queue_draw (self->canvas);
}

void
tn_data_classes_focus_filter (TnDataClasses *self)
{
  g_return_if_fail (TN_IS_DATA_CLASSES (self));
  tn_table_focus_filter (TN_TABLE (self->table));
}

void
tn_data_classes_set_narrow (TnDataClasses *self, gboolean narrow)
{
  g_return_if_fail (TN_IS_DATA_CLASSES (self));
  tn_table_set_narrow (TN_TABLE (self->table), narrow);
}
