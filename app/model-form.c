/* SPDX-License-Identifier: Apache-2.0 */
#include "model-form.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "combo-row.h"
#include "entry-row.h"
#include "nn/cell.h"
#include "number-row.h"
#include "spin-row.h"
#include "switch-row.h"

struct _TnModelForm
{
  AdwBin parent_instance;
  GtkWidget *box, *group, *name;
  char *path, *type;
  GPtrArray *rows; /* of the options, with "option" */
};

static guint option_edited;

G_DEFINE_FINAL_TYPE (TnModelForm, tn_model_form, ADW_TYPE_BIN)

/* Titles of the options that many cells have; the others are shown by their own name. */
static const struct
{
  const char *name, *title, *line;
} titles[] = {
  { "in_channels", N_ ("Inputs"), N_ ("What comes in; empty takes what the layer before gives.") },
  { "out_channels", N_ ("Outputs"), N_ ("How many features the layer finds.") },
  { "kernel", N_ ("Kernel"), N_ ("Height and width of the window.") },
  { "stride", N_ ("Stride"), N_ ("How far the window moves.") },
  { "pad_mode", N_ ("Edges"), N_ ("Whether the picture keeps its size.") },
  { "padding", N_ ("Padding"), N_ ("Zeros around the picture.") },
  { "dilation", N_ ("Dilation"), N_ ("Gaps between the window’s elements.") },
  { "group", N_ ("Groups"), N_ ("Channels are cut into so many parts.") },
  { "has_bias", N_ ("Bias"), N_ ("A number added to each output.") },
  { "weight_init", N_ ("First weights"), N_ ("How the weights are drawn.") },
  { "bias_init", N_ ("First bias"), N_ ("How the bias is drawn.") },
  { "activation", N_ ("Activation"), N_ ("What follows: relu, tanh, gelu …") },
  { "num_features", N_ ("Features"), N_ ("Channels that come in; empty takes what is there.") },
  { "p", N_ ("Share dropped"), N_ ("While training; the others are scaled up.") },
  { "eps", N_ ("Epsilon"), N_ ("Keeps a division from zero.") },
  { "momentum", N_ ("Momentum"), N_ ("How slowly running statistics change.") },
};

static const char *const inits[] = { "normal(0.01)",      "truncated_normal(0.02)", "uniform(0.07)", "xavier_uniform(1)", "xavier_normal(1)",
                                     "he_uniform(sqrt5)", "he_normal(0)",           "zeros",         "ones",              "constant(0.1)",
                                     "identity",          "dirac(1)",               "orthogonal(1)", "sparse(0.1)",       "variance_scaling(1)" };

static void
emit (TnModelForm *self, const char *option, const char *json)
{
  g_signal_emit (self, option_edited, 0, option, json);
}

static char *
quoted (const char *text)
{
  g_autoptr (JsonNode) node = json_node_init_string (json_node_alloc (), text);
  return tn_json_to_text (node, 0);
}

/* "5, 5" as [5,5], "5" as 5. */
static char *
list_json (const char *text)
{
  g_auto (GStrv) parts = g_strsplit_set (text, ",× ", -1);
  g_autoptr (GString) json = g_string_new (NULL);
  int n = 0;
  for (char **part = parts; *part != NULL; part++)
    if (**part != '\0')
      g_string_append_printf (json, "%s%s", n++ > 0 ? "," : "", *part);
  return n == 1 ? g_strdup (json->str) : g_strdup_printf ("[%s]", json->str);
}

static const TnOption *
option_of (GtkWidget *row)
{
  return g_object_get_data (G_OBJECT (row), "option");
}

static char *
check_list (const char *text, gpointer data)
{
  const TnOption *option = data;
  g_auto (GStrv) parts = g_strsplit_set (text, ",× ", -1);
  int n = 0;
  for (char **part = parts; *part != NULL; part++)
    {
      gint64 value;
      if (**part == '\0')
        continue;
      if (!g_ascii_string_to_signed (*part, 10, (gint64) option->min, MAX ((gint64) option->max, (gint64) option->min), &value, NULL))
        return g_strdup_printf (_ ("Whole numbers from %.0f to %.0f, with commas between them."), option->min, option->max);
      n++;
    }
  if (n == 0 && option->required)
    return g_strdup (_ ("A number is needed here."));
  if (option->count > 0 && n > 1 && n != option->count)
    return g_strdup_printf (_ ("One number, or %d with commas between them."), option->count);
  return NULL;
}

static char *
check_name (const char *text, gpointer data)
{
  if (*text == '\0' || strlen (text) > 100 || strpbrk (text, "/,*? ") != NULL || strcmp (text, "input") == 0)
    return g_strdup (_ ("1 to 100 characters without / , * ? and spaces, and not “input”."));
  return NULL;
}

static char *
check_size (const char *text, gpointer data)
{
  const TnOption *option = data;
  gint64 value;
  if (*text == '\0' || g_ascii_string_to_signed (text, 10, (gint64) option->min, (gint64) option->max, &value, NULL))
    return NULL;
  return g_strdup_printf (_ ("A whole number from %.0f to %.0f, or nothing."), option->min, option->max);
}

static void
edited_cb (GtkWidget *row, TnModelForm *self)
{
  const TnOption *option = option_of (row);
  g_autofree char *text = tn_row_get_text (TN_ROW (row)), *json = NULL;
  switch (option->type)
    {
    case TN_OPTION_INT:
    case TN_OPTION_FLOAT:
    case TN_OPTION_BOOL:
      json = g_strdup (text);
      break;
    case TN_OPTION_INTS:
      json = list_json (text);
      break;
    case TN_OPTION_TEXT:
    case TN_OPTION_CHOICE:
    case TN_OPTION_INIT:
      json = quoted (text);
      break;
    case TN_OPTION_CELLS:
      return;
    }
  gboolean nothing = *text == '\0' && option->type != TN_OPTION_TEXT;
  emit (self, option->name, nothing ? NULL : json);
}

static void
reset_cb (GtkWidget *row, TnModelForm *self)
{
  emit (self, option_of (row)->name, NULL);
}

static void
name_cb (GtkWidget *row, TnModelForm *self)
{
  g_autofree char *text = tn_row_get_text (TN_ROW (row));
  emit (self, "name", text);
}

/* What the row shows: the member's value, or the default. */
static char *
value_text (const TnOption *option, JsonObject *object)
{
  JsonNode *node = json_object_get_member (object, option->name);
  if (node != NULL && JSON_NODE_HOLDS_ARRAY (node))
    {
      g_autofree char *json = tn_json_to_text (node, 0);
      g_auto (GStrv) parts = g_strsplit_set (json, "[] ", -1);
      g_autofree char *plain = g_strjoinv ("", parts);
      g_auto (GStrv) numbers = g_strsplit (plain, ",", -1);
      return g_strjoinv (", ", numbers);
    }
  if (node != NULL && JSON_NODE_HOLDS_VALUE (node))
    return json_node_get_value_type (node) == G_TYPE_STRING ? g_strdup (json_node_get_string (node)) : tn_json_to_text (node, 0);
  if (option->type == TN_OPTION_BOOL)
    return g_strdup (option->number != 0 ? "true" : "false");
  if (option->type == TN_OPTION_CHOICE)
    return g_strndup (option->choices, strcspn (option->choices, "|"));
  if (option->text != NULL)
    return g_strdup (option->text);
  gboolean no_default = isnan (option->number) || (option->number == 0 && (option->min > 0 || option->type == TN_OPTION_INIT));
  return no_default || option->type == TN_OPTION_TEXT ? g_strdup ("") : g_strdup_printf ("%g", option->number);
}

static GtkWidget *
new_init_row (void)
{
  GtkWidget *row = tn_combo_row_new ();
  tn_combo_row_add (TN_COMBO_ROW (row), "", _ ("The model’s own"));
  for (size_t i = 0; i < G_N_ELEMENTS (inits); i++)
    tn_combo_row_add (TN_COMBO_ROW (row), inits[i], inits[i]);
  return row;
}

static GtkWidget *
new_row (const TnOption *option)
{
  GtkWidget *row;
  /* Without a default an empty field means something of its own: no spin button. */
  gboolean may_be_empty = !option->required && option->number == 0 && option->min > 0;
  switch (option->type)
    {
    case TN_OPTION_INT:
      if (may_be_empty)
        {
          row = tn_entry_row_new ();
          tn_entry_row_set_check (TN_ENTRY_ROW (row), check_size, (gpointer) option, NULL);
          return row;
        }
      row = tn_spin_row_new (option->min, MAX (option->max, option->min), 0);
      return row;
    case TN_OPTION_FLOAT:
      return option->min == 0 && option->max == 0 ? tn_number_row_new (-1e30, 1e30) : tn_number_row_new (option->min, option->max);
    case TN_OPTION_BOOL:
      return tn_switch_row_new ();
    case TN_OPTION_CHOICE:
      {
        g_auto (GStrv) words = g_strsplit (option->choices, "|", -1);
        row = tn_combo_row_new ();
        for (char **word = words; *word != NULL; word++)
          tn_combo_row_add (TN_COMBO_ROW (row), *word, *word);
        return row;
      }
    case TN_OPTION_INIT:
      return new_init_row ();
    case TN_OPTION_INTS:
      row = tn_entry_row_new ();
      tn_entry_row_set_check (TN_ENTRY_ROW (row), check_list, (gpointer) option, NULL);
      return row;
    case TN_OPTION_TEXT:
    case TN_OPTION_CELLS:
      break;
    }
  return tn_entry_row_new ();
}

static void
add_row (TnModelForm *self, const TnOption *option)
{
  GtkWidget *row = new_row (option);
  const char *title = option->name, *line = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS (titles); i++)
    if (strcmp (titles[i].name, option->name) == 0)
      {
        title = _ (titles[i].title);
        line = _ (titles[i].line);
      }
  g_autofree char *id = g_strdup_printf ("model_option_row:%s", option->name);
  gtk_widget_set_name (row, id);
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (row), title);
  tn_row_set_line (TN_ROW (row), line);
  if (strcmp (title, option->name) != 0)
    tn_row_set_api_name (TN_ROW (row), option->name);
  g_object_set_data (G_OBJECT (row), "option", (gpointer) option);
  g_signal_connect (row, "edited", G_CALLBACK (edited_cb), self);
  g_signal_connect (row, "reset", G_CALLBACK (reset_cb), self);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self->group), row);
  g_ptr_array_add (self->rows, row);
}

static void
rebuild (TnModelForm *self)
{
  g_ptr_array_set_size (self->rows, 0);
  if (self->group != NULL)
    gtk_box_remove (GTK_BOX (self->box), self->group);
  self->group = adw_preferences_group_new ();
  gtk_box_append (GTK_BOX (self->box), self->group);
  self->name = tn_entry_row_new ();
  gtk_widget_set_name (self->name, "model_name_entry");
  adw_preferences_row_set_title (ADW_PREFERENCES_ROW (self->name), _ ("Name"));
  tn_entry_row_set_check (TN_ENTRY_ROW (self->name), check_name, NULL, NULL);
  g_signal_connect (self->name, "edited", G_CALLBACK (name_cb), self);
  adw_preferences_group_add (ADW_PREFERENCES_GROUP (self->group), self->name);
  const TnCellClass *klass = tn_cell_class_find (self->type);
  for (const TnOption *option = klass != NULL ? klass->options : NULL; option != NULL && option->name != NULL; option++)
    if (option->type != TN_OPTION_CELLS)
      add_row (self, option);
}

static void
show_values (TnModelForm *self, JsonObject *object)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      GtkWidget *row = self->rows->pdata[i];
      const TnOption *option = option_of (row);
      g_autofree char *text = value_text (option, object);
      if (option->type == TN_OPTION_INIT && !tn_combo_row_set_id (TN_COMBO_ROW (row), text))
        tn_combo_row_add (TN_COMBO_ROW (row), text, text);
      tn_row_set_text (TN_ROW (row), text);
      tn_row_set_changed (TN_ROW (row), !option->required && json_object_has_member (object, option->name), NULL);
    }
}

void
tn_model_form_set_cell (TnModelForm *self, const char *path, JsonObject *object, const TnCellReport *cell)
{
  g_return_if_fail (TN_IS_MODEL_FORM (self));
  const char *type = object != NULL ? json_object_get_string_member_with_default (object, "type", "") : "";
  gboolean same = g_strcmp0 (self->path, path) == 0 && g_strcmp0 (self->type, type) == 0;
  gtk_widget_set_visible (self->box, object != NULL);
  if (!same)
    {
      g_free (self->path);
      g_free (self->type);
      self->path = g_strdup (path);
      self->type = g_strdup (type);
      if (object != NULL)
        rebuild (self);
    }
  if (object == NULL)
    return;
  const TnCellClass *klass = tn_cell_class_find (type);
  g_autofree char *doc = g_markup_escape_text (klass != NULL ? klass->doc : "", -1);
  adw_preferences_group_set_title (ADW_PREFERENCES_GROUP (self->group), type);
  adw_preferences_group_set_description (ADW_PREFERENCES_GROUP (self->group), doc);
  tn_row_set_text (TN_ROW (self->name), cell != NULL ? cell->name : json_object_get_string_member_with_default (object, "name", ""));
  show_values (self, object);
}

void
tn_model_form_set_error (TnModelForm *self, const char *option, const char *text)
{
  g_return_if_fail (TN_IS_MODEL_FORM (self));
  for (guint i = 0; i < self->rows->len; i++)
    if (g_strcmp0 (option_of (self->rows->pdata[i])->name, option) == 0)
      tn_row_set_error (TN_ROW (self->rows->pdata[i]), text);
}

static void
tn_model_form_finalize (GObject *object)
{
  TnModelForm *self = TN_MODEL_FORM (object);
  g_free (self->path);
  g_free (self->type);
  g_ptr_array_unref (self->rows);
  G_OBJECT_CLASS (tn_model_form_parent_class)->finalize (object);
}

static void
tn_model_form_class_init (TnModelFormClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = tn_model_form_finalize;
  option_edited = g_signal_new ("option-edited", TN_TYPE_MODEL_FORM, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_STRING,
                                G_TYPE_STRING);
}

static void
tn_model_form_init (TnModelForm *self)
{
  self->rows = g_ptr_array_new ();
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  adw_bin_set_child (ADW_BIN (self), self->box);
}

GtkWidget *
tn_model_form_new (void)
{
  return g_object_new (TN_TYPE_MODEL_FORM, NULL);
}
