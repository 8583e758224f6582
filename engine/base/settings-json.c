/* SPDX-License-Identifier: Apache-2.0 */
#include "base/settings.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"

/* A setting's value as text, if the node is of a type that the setting takes. */
static char *
text_of_value (const TnSetting *row, JsonNode *node)
{
  if (!JSON_NODE_HOLDS_VALUE (node))
    return NULL;
  GType type = json_node_get_value_type (node);
  gboolean number = type == G_TYPE_INT64 || type == G_TYPE_DOUBLE;
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  switch (row->type)
    {
    case TN_SETTING_INT:
    case TN_SETTING_FLOAT:
    case TN_SETTING_INT_LIST:
    case TN_SETTING_FLOAT_LIST:
      if (type == G_TYPE_INT64)
        return g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (node));
      return number ? g_strdup (tn_double_to_text (json_node_get_double (node), buffer)) : NULL;
    case TN_SETTING_BOOL:
      return type == G_TYPE_BOOLEAN ? g_strdup (json_node_get_boolean (node) ? "true" : "false") : NULL;
    case TN_SETTING_STRING:
    case TN_SETTING_ENUM:
    case TN_SETTING_PATH:
      return type == G_TYPE_STRING ? g_strdup (json_node_get_string (node)) : NULL;
    }
  return NULL;
}

static char *
text_of_node (const TnSetting *row, JsonNode *node)
{
  gboolean is_list = row->type == TN_SETTING_INT_LIST || row->type == TN_SETTING_FLOAT_LIST;
  if (!is_list || !JSON_NODE_HOLDS_ARRAY (node))
    return text_of_value (row, node);
  JsonArray *array = json_node_get_array (node);
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *part = text_of_value (row, json_array_get_element (array, i));
      if (part == NULL)
        return NULL;
      g_string_append_printf (text, "%s%s", i ? "," : "", part);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
tn_settings_set_json (TnSettings *self, const char *name, JsonNode *value, GError **error)
{
  g_return_val_if_fail (self != NULL && name != NULL && value != NULL, FALSE);
  const TnSetting *row = tn_setting_require (name, error);
  if (row == NULL)
    return FALSE;
  g_autofree char *text = text_of_node (row, value);
  if (text == NULL)
    {
      g_autofree char *shown = tn_json_to_text (value, 0);
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("%s: %s is not of type %s"), row->name, shown,
                   tn_setting_type_name (row->type));
      return FALSE;
    }
  return tn_settings_set (self, name, text, error);
}

/* "train": the part before the dot of some name. */
static gboolean
is_group (const char *name)
{
  gsize n = strlen (name);
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    if (strncmp (row->name, name, n) == 0 && row->name[n] == '.')
      return TRUE;
  return FALSE;
}

static gboolean
take_members (TnSettings *self, JsonObject *object, const char *prefix, const char *const *skip, GError **error)
{
  JsonObjectIter iter;
  const char *member;
  JsonNode *value;
  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &member, &value))
    {
      if (skip != NULL && g_strv_contains (skip, member))
        continue;
      g_autofree char *name = tn_json_path_member (prefix, member);
      if (!JSON_NODE_HOLDS_OBJECT (value) && is_group (name))
        {
          g_autofree char *shown = tn_json_to_text (value, 0);
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                       _("%s: an object of settings must stand here ({\"name\": value}), not %s"), name, shown);
          return FALSE;
        }
      const TnSetting *row = JSON_NODE_HOLDS_OBJECT (value) ? tn_setting_find (name) : NULL;
      if (row != NULL && row->type == TN_SETTING_STRING) /* a setting with a grammar of its own may be written as JSON */
        {
          g_autofree char *text = tn_json_to_text (value, 0);
          if (!tn_settings_set (self, name, text, error))
            return FALSE;
          continue;
        }
      gboolean ok = JSON_NODE_HOLDS_OBJECT (value)
                        ? take_members (self, json_node_get_object (value), name, NULL, error)
                        : tn_settings_set_json (self, name, value, error);
      if (!ok)
        return FALSE;
    }
  return TRUE;
}

gboolean
tn_settings_from_json (TnSettings *self, JsonObject *object, const char *const *skip, GError **error)
{
  g_return_val_if_fail (self != NULL && object != NULL, FALSE);
  g_autoptr (TnSettings) trial = tn_settings_copy (self);
  if (!take_members (trial, object, "", skip, error))
    return FALSE;
  return take_members (self, object, "", skip, error);
}

static JsonNode *
node_of_number (const TnSetting *row, const char *text)
{
  JsonNode *node = json_node_alloc ();
  if (row->type == TN_SETTING_INT || row->type == TN_SETTING_INT_LIST)
    return json_node_init_int (node, g_ascii_strtoll (text, NULL, 10));
  return json_node_init_double (node, g_ascii_strtod (text, NULL));
}

static JsonNode *
node_of_text (const TnSetting *row, const char *text)
{
  switch (row->type)
    {
    case TN_SETTING_INT:
    case TN_SETTING_FLOAT:
      return node_of_number (row, text);
    case TN_SETTING_BOOL:
      return json_node_init_boolean (json_node_alloc (), *text == 't');
    case TN_SETTING_INT_LIST:
    case TN_SETTING_FLOAT_LIST:
      {
        g_autoptr (JsonArray) array = json_array_new ();
        g_auto (GStrv) parts = g_strsplit (text, ",", -1);
        for (int i = 0; parts[i] != NULL; i++)
          json_array_add_element (array, node_of_number (row, parts[i]));
        return json_node_init_array (json_node_alloc (), array);
      }
    default:
      return json_node_init_string (json_node_alloc (), text);
    }
}

static void
put_nested (JsonObject *root, const char *name, JsonNode *value)
{
  const char *dot = strchr (name, '.');
  if (dot == NULL)
    {
      json_object_set_member (root, name, value);
      return;
    }
  g_autofree char *group = g_strndup (name, (gsize) (dot - name));
  if (!json_object_has_member (root, group))
    json_object_set_object_member (root, group, json_object_new ());
  put_nested (json_object_get_object_member (root, group), dot + 1, value);
}

typedef struct
{
  JsonObject *root;
  gboolean all;
} Export;

static void
export_cb (const TnSetting *row, const char *value, gboolean is_set, void *data)
{
  Export *export = data;
  if (export->all || (is_set && strcmp (value, row->default_value) != 0))
    put_nested (export->root, row->name, node_of_text (row, value));
}

JsonObject *
tn_settings_to_json (const TnSettings *self, gboolean all)
{
  g_return_val_if_fail (self != NULL, NULL);
  Export export = { json_object_new (), all };
  tn_settings_foreach (self, export_cb, &export);
  return export.root;
}

/* The table itself. */

static JsonNode *
row_to_json (const TnSetting *row)
{
  g_autoptr (JsonObject) object = json_object_new ();
  gboolean number = row->type == TN_SETTING_INT || row->type == TN_SETTING_FLOAT || row->type == TN_SETTING_INT_LIST
                    || row->type == TN_SETTING_FLOAT_LIST;
  json_object_set_string_member (object, "name", row->name);
  json_object_set_string_member (object, "type", tn_setting_type_name (row->type));
  json_object_set_member (object, "default", node_of_text (row, row->default_value));
  if (number)
    {
      json_object_set_double_member (object, "min", row->min);
      json_object_set_double_member (object, "max", row->max);
    }
  if (row->values != NULL)
    {
      JsonArray *values = json_array_new ();
      for (int i = 0; row->values[i] != NULL; i++)
        json_array_add_string_element (values, row->values[i]);
      json_object_set_array_member (object, "values", values);
    }
  json_object_set_string_member (object, "unit", row->unit);
  json_object_set_string_member (object, "help", _(row->help));
  JsonArray *aliases = json_array_new ();
  g_auto (GStrv) names = g_strsplit (row->aliases != NULL ? row->aliases : "", " ", -1);
  for (int i = 0; names[i] != NULL && *names[i] != '\0'; i++)
    json_array_add_string_element (aliases, names[i]);
  json_object_set_array_member (object, "aliases", aliases);
  json_object_set_boolean_member (object, "live", (row->flags & TN_SETTING_LIVE) != 0);
  return json_node_init_object (json_node_alloc (), object);
}

JsonNode *
tn_settings_table_to_json (void)
{
  g_autoptr (JsonArray) rows = json_array_new ();
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    json_array_add_element (rows, row_to_json (row));
  return json_node_init_array (json_node_alloc (), rows);
}

static gboolean
same_group (const char *a, const char *b)
{
  gsize n = strcspn (a, ".");
  return strncmp (a, b, n) == 0 && b[n] == '.';
}

static void
append_row (GString *text, const TnSetting *row)
{
  g_autofree char *range = tn_setting_range_text (row);
  g_string_append_printf (text, "  %s = %s", row->name, *row->default_value != '\0' ? row->default_value : "\"\"");
  if (*row->unit != '\0')
    g_string_append_printf (text, " %s", _(row->unit));
  g_string_append_printf (text, "\n      %s\n      %s", _(row->help), tn_setting_type_name (row->type));
  if (*range != '\0')
    g_string_append_printf (text, ", %s", range);
  if (row->flags & TN_SETTING_LIVE)
    g_string_append_printf (text, "; %s", _("may change during a run"));
  if (row->aliases != NULL)
    g_string_append_printf (text, "; %s %s", _("also called"), row->aliases);
  g_string_append_c (text, '\n');
}

char *
tn_settings_to_text (void)
{
  GString *text = g_string_new (NULL);
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    {
      if (row > tn_settings && !same_group (row->name, row[-1].name))
        g_string_append_c (text, '\n');
      append_row (text, row);
    }
  return g_string_free (text, FALSE);
}
