/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

/* Paths. */

char *
tn_json_path_member (const char *path, const char *key)
{
  return path == NULL || *path == '\0' ? g_strdup (key) : g_strdup_printf ("%s.%s", path, key);
}

char *
tn_json_path_element (const char *path, guint index)
{
  return g_strdup_printf ("%s[%u]", path != NULL ? path : "", index);
}

static gboolean G_GNUC_PRINTF (5, 6)
fail_at (GError **error, const char *path, const char *key, int code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *where = tn_json_path_member (path, key);
  g_set_error (error, TN_ERROR, code, "%s: %s", where, what);
  return FALSE;
}

/* The value in a few words, for messages. */
static char *
describe (JsonNode *node)
{
  g_autofree char *text = tn_json_to_text (node, 0);
  if (strlen (text) <= 40)
    return g_steal_pointer (&text);
  return g_strdup (JSON_NODE_HOLDS_OBJECT (node) ? "{…}" : JSON_NODE_HOLDS_ARRAY (node) ? "[…]" : _("a long text"));
}

static gboolean
fail_type (GError **error, const char *path, const char *key, JsonNode *node, const char *wanted)
{
  g_autofree char *shown = describe (node);
  /* Translators: 1: what stands in the file, 2: what kind of value is needed ("a whole number"). */
  return fail_at (error, path, key, TN_ERROR_INVALID_ARGUMENT, _("%s is not %s"), shown, wanted);
}

static JsonNode *
require (JsonObject *object, const char *key, const char *path, GError **error)
{
  JsonNode *node = json_object_get_member (object, key);
  if (node == NULL)
    fail_at (error, path, key, TN_ERROR_NOT_FOUND, _("missing"));
  return node;
}

static gboolean
is_absent (JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member (object, key);
  return node == NULL || JSON_NODE_HOLDS_NULL (node);
}

/* Types. */

static gboolean
node_int (JsonNode *node, gint64 *out)
{
  if (!JSON_NODE_HOLDS_VALUE (node))
    return FALSE;
  if (json_node_get_value_type (node) == G_TYPE_INT64)
    {
      *out = json_node_get_int (node);
      return TRUE;
    }
  if (json_node_get_value_type (node) != G_TYPE_DOUBLE)
    return FALSE;
  double value = json_node_get_double (node); /* 1e3 is whole too */
  if (!(fabs (value) < 0x1p53) || value != floor (value))
    return FALSE;
  *out = (gint64) value;
  return TRUE;
}

static gboolean
node_double (JsonNode *node, double *out)
{
  if (!JSON_NODE_HOLDS_VALUE (node))
    return FALSE;
  GType type = json_node_get_value_type (node);
  if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
    return FALSE;
  *out = type == G_TYPE_INT64 ? (double) json_node_get_int (node) : json_node_get_double (node);
  return TRUE;
}

static gboolean
check_int_range (gint64 value, gint64 min, gint64 max, const char *path, const char *key, GError **error)
{
  if (value >= min && value <= max)
    return TRUE;
  return fail_at (error, path, key, TN_ERROR_INVALID_ARGUMENT,
                  _("%" PRId64 " is out of range; %" PRId64 " to %" PRId64 " is possible"), value, min, max);
}

gboolean
tn_json_get_int (JsonObject *object, const char *key, gint64 min, gint64 max, gint64 *out, const char *path,
                 GError **error)
{
  JsonNode *node = require (object, key, path, error);
  gint64 value;
  if (node == NULL)
    return FALSE;
  if (!node_int (node, &value))
    return fail_type (error, path, key, node, _("a whole number"));
  if (!check_int_range (value, min, max, path, key, error))
    return FALSE;
  *out = value;
  return TRUE;
}

gboolean
tn_json_get_double (JsonObject *object, const char *key, double min, double max, double *out, const char *path,
                    GError **error)
{
  JsonNode *node = require (object, key, path, error);
  double value;
  if (node == NULL)
    return FALSE;
  if (!node_double (node, &value))
    return fail_type (error, path, key, node, _("a number"));
  if (!(value >= min && value <= max))
    return fail_at (error, path, key, TN_ERROR_INVALID_ARGUMENT, _("%g is out of range; %g to %g is possible"), value,
                    min, max);
  *out = value;
  return TRUE;
}

gboolean
tn_json_get_bool (JsonObject *object, const char *key, gboolean *out, const char *path, GError **error)
{
  JsonNode *node = require (object, key, path, error);
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return fail_type (error, path, key, node, _("true or false"));
  *out = json_node_get_boolean (node);
  return TRUE;
}

gboolean
tn_json_get_string (JsonObject *object, const char *key, const char **out, const char *path, GError **error)
{
  JsonNode *node = require (object, key, path, error);
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return fail_type (error, path, key, node, _("a text in double quotes"));
  *out = json_node_get_string (node);
  return TRUE;
}

gboolean
tn_json_get_object (JsonObject *object, const char *key, JsonObject **out, const char *path, GError **error)
{
  JsonNode *node = require (object, key, path, error);
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return fail_type (error, path, key, node, _("an object in {}"));
  *out = json_node_get_object (node);
  return TRUE;
}

gboolean
tn_json_get_array (JsonObject *object, const char *key, JsonArray **out, const char *path, GError **error)
{
  JsonNode *node = require (object, key, path, error);
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_ARRAY (node))
    return fail_type (error, path, key, node, _("a list in []"));
  *out = json_node_get_array (node);
  return TRUE;
}

gboolean
tn_json_get_ints (JsonObject *object, const char *key, gint64 min, gint64 max, gint64 *values, int max_values,
                  int *n_values, const char *path, GError **error)
{
  JsonArray *array;
  if (!tn_json_get_array (object, key, &array, path, error))
    return FALSE;
  guint n = json_array_get_length (array);
  if (n > (guint) max_values)
    return fail_at (error, path, key, TN_ERROR_INVALID_ARGUMENT, _("%u numbers; at most %d are possible"), n,
                    max_values);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *element = tn_json_path_element (key, i);
      JsonNode *node = json_array_get_element (array, i);
      if (!node_int (node, &values[i]))
        return fail_type (error, path, element, node, _("a whole number"));
      if (!check_int_range (values[i], min, max, path, element, error))
        return FALSE;
    }
  *n_values = (int) n;
  return TRUE;
}

gboolean
tn_json_opt_int (JsonObject *object, const char *key, gint64 min, gint64 max, gint64 *out, const char *path,
                 GError **error)
{
  return is_absent (object, key) || tn_json_get_int (object, key, min, max, out, path, error);
}

gboolean
tn_json_opt_double (JsonObject *object, const char *key, double min, double max, double *out, const char *path,
                    GError **error)
{
  return is_absent (object, key) || tn_json_get_double (object, key, min, max, out, path, error);
}

gboolean
tn_json_opt_bool (JsonObject *object, const char *key, gboolean *out, const char *path, GError **error)
{
  return is_absent (object, key) || tn_json_get_bool (object, key, out, path, error);
}

gboolean
tn_json_opt_string (JsonObject *object, const char *key, const char **out, const char *path, GError **error)
{
  return is_absent (object, key) || tn_json_get_string (object, key, out, path, error);
}

gboolean
tn_json_check_members (JsonObject *object, const char *const *known, const char *path, GError **error)
{
  JsonObjectIter iter;
  const char *name;
  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &name, NULL))
    {
      if (g_strv_contains (known, name))
        continue;
      const char *near = tn_did_you_mean (name, known);
      if (near != NULL)
        return fail_at (error, path, name, TN_ERROR_INVALID_ARGUMENT, _("unknown name; did you mean “%s”?"), near);
      g_autofree char *all = g_strjoinv (", ", (char **) known);
      return fail_at (error, path, name, TN_ERROR_INVALID_ARGUMENT, _("unknown name; possible are %s"), all);
    }
  return TRUE;
}

/* Exact numbers. */

char *
tn_hex_double (double value)
{
  if (isnan (value))
    return g_strdup (signbit (value) ? "-nan" : "nan");
  if (isinf (value))
    return g_strdup (value < 0 ? "-inf" : "inf");
  char text[64]; /* sign, 13 digits, exponent; the only thing of it that locales change is the point */
  char *comma;
  g_snprintf (text, sizeof text, "%a", value);
  if ((comma = strpbrk (text, ",\xd9")) != NULL)
    {
      gsize width = *comma == ',' ? 1 : 2;
      *comma = '.';
      memmove (comma + 1, comma + width, strlen (comma + width) + 1);
    }
  return g_strdup (text);
}

gboolean
tn_hex_double_parse (const char *text, double *out)
{
  g_return_val_if_fail (text != NULL && out != NULL, FALSE);
  if (*text == '\0' || g_ascii_isspace (*text))
    return FALSE;
  char *end;
  double value = g_ascii_strtod (text, &end);
  if (end == text || *end != '\0')
    return FALSE;
  *out = value;
  return TRUE;
}

void
tn_json_set_int64_string (JsonObject *object, const char *key, int64_t value)
{
  g_autofree char *text = g_strdup_printf ("%" PRId64, value);
  json_object_set_string_member (object, key, text);
}

gboolean
tn_json_get_int64_string (JsonObject *object, const char *key, int64_t *out, const char *path, GError **error)
{
  const char *text;
  gint64 value;
  if (!tn_json_get_string (object, key, &text, path, error))
    return FALSE;
  if (!g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &value, NULL))
    return fail_at (error, path, key, TN_ERROR_INVALID_ARGUMENT, _("“%s” is not a whole number of 64 bits"), text);
  *out = value;
  return TRUE;
}

void
tn_json_set_hex_double (JsonObject *object, const char *key, double value)
{
  g_autofree char *text = tn_hex_double (value);
  json_object_set_string_member (object, key, text);
}

gboolean
tn_json_get_hex_double (JsonObject *object, const char *key, double *out, const char *path, GError **error)
{
  const char *text;
  if (!tn_json_get_string (object, key, &text, path, error))
    return FALSE;
  if (!tn_hex_double_parse (text, out))
    return fail_at (error, path, key, TN_ERROR_INVALID_ARGUMENT, _("“%s” is not a number such as 0x1.8p+1"), text);
  return TRUE;
}
