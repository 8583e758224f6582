/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/cell-private.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "nn/initializer.h"

/* Reading a cell from JSON: every member is checked against the class's option table. */

static char *
node_text (JsonNode *node)
{
  g_autofree char *text = tn_json_to_text (node, 0);
  if (g_utf8_strlen (text, -1) <= 60)
    return g_steal_pointer (&text);
  g_autofree char *start = g_utf8_substring (text, 0, 57);
  return g_strconcat (start, "...", NULL);
}

static gboolean
set_option_error (GError **error, JsonNode *node, const char *path, const char *key, const char *allowed)
{
  g_autofree char *value = node_text (node);
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s.%s is %s: it must be %s"), path, key, value, allowed);
  return FALSE;
}

static gboolean
node_number (JsonNode *node, double *out)
{
  if (!JSON_NODE_HOLDS_VALUE (node))
    return FALSE;
  GType type = json_node_get_value_type (node);
  *out = json_node_get_double (node);
  return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE;
}

static gboolean
node_int (JsonNode *node, double *out)
{
  return node_number (node, out) && json_node_get_value_type (node) == G_TYPE_INT64;
}

static gboolean
in_range (const TnOption *option, double value)
{
  return (option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max);
}

static char *
range_text (const TnOption *option)
{
  const char *noun = option->type == TN_OPTION_FLOAT ? _ ("a number") : _ ("a whole number");
  char low[32], high[32];
  if (option->min == 0 && option->max == 0)
    return g_strdup (noun);
  g_ascii_formatd (low, sizeof low, option->type == TN_OPTION_FLOAT ? "%.9g" : "%.0f", option->min);
  g_ascii_formatd (high, sizeof high, option->type == TN_OPTION_FLOAT ? "%.9g" : "%.0f", option->max);
  char *one = option->max < G_MAXINT32   ? g_strdup_printf (_ ("%s from %s to %s"), noun, low, high)
              : option->min > -G_MAXINT32 ? g_strdup_printf (_ ("%s of at least %s"), noun, low)
                                          : g_strdup (noun);
  if (option->type != TN_OPTION_INTS)
    return one;
  char *list = option->count > 0 ? g_strdup_printf (_ ("%s, or a list of %d"), one, option->count)
                                 : g_strdup_printf (_ ("a list; each element %s"), one);
  g_free (one);
  return list;
}

static gboolean
read_number (const TnOption *option, JsonNode *node, TnOptionValue *value, const char *path, GError **error)
{
  gboolean ok = option->type == TN_OPTION_INT ? node_int (node, &value->number) : node_number (node, &value->number);
  if (ok && in_range (option, value->number))
    return TRUE;
  g_autofree char *allowed = range_text (option);
  return set_option_error (error, node, path, option->name, allowed);
}

static gboolean
read_ints (const TnOption *option, JsonNode *node, TnOptionValue *value, const char *path, GError **error)
{
  g_autofree char *allowed = range_text (option);
  double number;
  if (node_int (node, &number) && in_range (option, number))
    {
      value->n_ints = MAX (option->count, 1);
      for (int i = 0; i < value->n_ints; i++)
        value->ints[i] = (int64_t) number;
      return TRUE;
    }
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  guint n = array != NULL ? json_array_get_length (array) : 0;
  if (array == NULL || n > TN_MAX_DIMS || (option->count > 0 && n != (guint) option->count))
    return set_option_error (error, node, path, option->name, allowed);
  for (guint i = 0; i < n; i++)
    {
      if (!node_int (json_array_get_element (array, i), &number) || !in_range (option, number))
        return set_option_error (error, node, path, option->name, allowed);
      value->ints[i] = (int64_t) number;
    }
  value->n_ints = (int) n;
  return TRUE;
}

static gboolean
read_text (const TnOption *option, JsonNode *node, TnOptionValue *value, const char *path, GError **error)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return set_option_error (error, node, path, option->name, _ ("a word in quotes"));
  value->text = g_strdup (json_node_get_string (node));
  if (option->type != TN_OPTION_CHOICE)
    return TRUE;
  g_auto (GStrv) words = g_strsplit (option->choices, "|", -1);
  if (g_strv_contains ((const char *const *) words, value->text))
    return TRUE;
  g_autofree char *list = g_strjoinv (", ", words);
  g_autofree char *allowed = g_strdup_printf (_ ("one of %s"), list);
  return set_option_error (error, node, path, option->name, allowed);
}

static gboolean
read_init (const TnOption *option, JsonNode *node, TnOptionValue *value, const char *path, GError **error)
{
  double number;
  if (node_number (node, &number))
    {
      char text[G_ASCII_DTOSTR_BUF_SIZE];
      value->text = g_strdup_printf ("constant(%s)", g_ascii_dtostr (text, sizeof text, number));
      return TRUE;
    }
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return set_option_error (error, node, path, option->name, _ ("an initializer (“he_uniform(sqrt5)”) or a number"));
  value->text = g_strdup (json_node_get_string (node));
  if (tn_initializer_check (value->text, error))
    return TRUE;
  g_prefix_error (error, "%s.%s: ", path, option->name);
  return FALSE;
}

static gboolean
read_option (const TnOption *option, JsonNode *node, TnOptionValue *value, const char *path, GError **error)
{
  value->given = TRUE;
  switch (option->type)
    {
    case TN_OPTION_INT:
    case TN_OPTION_FLOAT: return read_number (option, node, value, path, error);
    case TN_OPTION_BOOL:
      if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
        return set_option_error (error, node, path, option->name, _ ("true or false"));
      value->number = json_node_get_boolean (node);
      return TRUE;
    case TN_OPTION_TEXT:
    case TN_OPTION_CHOICE: return read_text (option, node, value, path, error);
    case TN_OPTION_INIT: return read_init (option, node, value, path, error);
    case TN_OPTION_INTS: return read_ints (option, node, value, path, error);
    case TN_OPTION_CELLS:
      {
        g_autofree char *member = tn_json_path_member (path, option->name);
        value->cells = tn_cells_from_json (node, member, error);
        return value->cells != NULL;
      }
    }
  return FALSE;
}

static void
take_default (const TnOption *option, TnOptionValue *value)
{
  value->number = isnan (option->number) ? 0 : option->number;
  if (option->type == TN_OPTION_CHOICE)
    value->text = g_strndup (option->choices, strcspn (option->choices, "|"));
  else
    value->text = g_strdup (option->text);
  if (option->type == TN_OPTION_INTS && !isnan (option->number))
    {
      value->n_ints = option->count;
      for (int i = 0; i < option->count; i++)
        value->ints[i] = (int64_t) option->number;
    }
}

static gboolean
check_members (const TnCellClass *klass, JsonObject *object, const char *path, GError **error)
{
  g_autoptr (GPtrArray) known = g_ptr_array_new ();
  for (const char *const *common = (const char *const[]){ "type", "name", "inputs", "comment", NULL }; *common != NULL; common++)
    g_ptr_array_add (known, (gpointer) *common);
  for (const TnOption *option = klass->options; option->name != NULL; option++)
    g_ptr_array_add (known, (gpointer) option->name);
  g_ptr_array_add (known, NULL);
  return tn_json_check_members (object, (const char *const *) known->pdata, path, error);
}

static gboolean
read_options (TnCell *self, JsonObject *object, GError **error)
{
  for (int i = 0; i < self->n_options; i++)
    {
      const TnOption *option = &self->klass->options[i];
      JsonNode *node = json_object_get_member (object, option->name);
      if (node != NULL && !JSON_NODE_HOLDS_NULL (node))
        {
          if (!read_option (option, node, &self->values[i], self->path, error))
            return FALSE;
        }
      else if (option->required)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("%s.%s is missing: %s needs it"), self->path, option->name,
                       self->klass->name);
          return FALSE;
        }
      else
        take_default (option, &self->values[i]);
    }
  return TRUE;
}

static const TnCellClass *
read_class (JsonObject *object, const char *path, GError **error)
{
  const char *type = NULL;
  if (!tn_json_get_string (object, "type", &type, path, error))
    return NULL;
  const TnCellClass *klass = tn_cell_class_find (type);
  if (klass != NULL)
    return klass;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (int i = 0; tn_cell_class_at (i) != NULL; i++)
    g_ptr_array_add (names, (gpointer) tn_cell_class_at (i)->name);
  g_ptr_array_add (names, NULL);
  const char *near = tn_did_you_mean (type, (const char *const *) names->pdata);
  g_autofree char *list = g_strjoinv (", ", (char **) names->pdata);
  if (near != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s.type is “%s”: did you mean “%s”?"), path, type, near);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s.type is “%s”: it must be one of %s"), path, type, list);
  return NULL;
}

static gboolean
read_name (TnCell *self, JsonObject *object, int index, GError **error)
{
  const char *name = NULL;
  if (!tn_json_opt_string (object, "name", &name, self->path, error))
    return FALSE;
  self->name = name != NULL ? g_strdup (name) : g_strdup_printf ("%d", index);
  if (*self->name != '\0' && strlen (self->name) <= 100 && strpbrk (self->name, "/,*? ") == NULL && strcmp (self->name, "input") != 0)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
               _ ("%s.name is “%s”: it must be 1 to 100 characters without / , * ? and spaces, and not “input”"), self->path, self->name);
  return FALSE;
}

static gboolean
read_inputs (TnCell *self, JsonObject *object, GError **error)
{
  JsonNode *node = json_object_get_member (object, "inputs");
  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!JSON_NODE_HOLDS_ARRAY (node))
    return set_option_error (error, node, self->path, "inputs", _ ("a list of names of earlier cells, or “input”"));
  JsonArray *array = json_node_get_array (node);
  guint n = json_array_get_length (array);
  self->inputs = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++)
    {
      JsonNode *element = json_array_get_element (array, i);
      if (!JSON_NODE_HOLDS_VALUE (element) || json_node_get_value_type (element) != G_TYPE_STRING)
        return set_option_error (error, node, self->path, "inputs", _ ("a list of names of earlier cells, or “input”"));
      self->inputs[i] = g_strdup (json_node_get_string (element));
    }
  int low = self->klass->min_inputs, high = self->klass->max_inputs;
  if ((int) n >= low && (high < 0 || (int) n <= high))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s.inputs names %u cells: %s takes %d%s"), self->path, n,
               self->klass->name, low, high < 0 ? _ (" or more") : "");
  return FALSE;
}

TnCell *
tn_cell_from_json (JsonNode *node, const char *path, int index, GError **error)
{
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_autofree char *value = node_text (node);
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s is %s: it must be an object like {\"type\": \"ReLU\"}"), path, value);
      return NULL;
    }
  JsonObject *object = json_node_get_object (node);
  const TnCellClass *klass = read_class (object, path, error);
  if (klass == NULL || !check_members (klass, object, path, error))
    return NULL;
  TnCell *self = g_new0 (TnCell, 1);
  self->klass = klass;
  self->path = g_strdup (path);
  while (klass->options[self->n_options].name != NULL)
    self->n_options++;
  self->values = g_new0 (TnOptionValue, self->n_options + 1);
  if (read_name (self, object, index, error) && read_inputs (self, object, error) && read_options (self, object, error))
    return self;
  tn_cell_free (self);
  return NULL;
}

GPtrArray *
tn_cells_from_json (JsonNode *node, const char *path, GError **error)
{
  if (!JSON_NODE_HOLDS_ARRAY (node))
    {
      g_autofree char *value = node_text (node);
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s is %s: it must be a list of cells"), path, value);
      return NULL;
    }
  JsonArray *array = json_node_get_array (node);
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_cell_free);
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *element = tn_json_path_element (path, i);
      TnCell *cell = tn_cell_from_json (json_array_get_element (array, i), element, (int) i, error);
      if (cell == NULL)
        return NULL;
      g_ptr_array_add (cells, cell);
      if (!g_hash_table_add (names, cell->name))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%s.name is “%s”, which an earlier cell of this list has"),
                       element, cell->name);
          return NULL;
        }
    }
  return g_steal_pointer (&cells);
}

void
tn_cell_free (TnCell *self)
{
  if (self == NULL)
    return;
  for (int i = 0; i < self->n_options; i++)
    {
      g_free (self->values[i].text);
      g_clear_pointer (&self->values[i].cells, g_ptr_array_unref);
    }
  g_free (self->values);
  g_free (self->name);
  g_free (self->path);
  g_strfreev (self->inputs);
  g_free (self);
}
