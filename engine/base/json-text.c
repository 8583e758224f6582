/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

static void
append_string (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  for (const char *p = text; *p != '\0'; p++)
    switch (*p)
      {
      case '"':
      case '\\':
        g_string_append_c (out, '\\');
        g_string_append_c (out, *p);
        break;
      case '\n':
        g_string_append (out, "\\n");
        break;
      case '\r':
        g_string_append (out, "\\r");
        break;
      case '\t':
        g_string_append (out, "\\t");
        break;
      default:
        if ((guchar) *p < 0x20)
          g_string_append_printf (out, "\\u%04x", *p);
        else
          g_string_append_c (out, *p);
      }
  g_string_append_c (out, '"');
}

static void
append_double (GString *out, double value)
{
  if (isnan (value))
    g_string_append (out, "\"NaN\"");
  else if (isinf (value))
    g_string_append (out, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  else
    {
      char text[G_ASCII_DTOSTR_BUF_SIZE];
      tn_double_to_text (value, text);
      g_string_append (out, text);
      if (strpbrk (text, ".e") == NULL) /* so that it is read as double again */
        g_string_append (out, ".0");
    }
}

const char *
tn_double_to_text (double value, char text[G_ASCII_DTOSTR_BUF_SIZE])
{
  static const char *const formats[] = { "%.15g", "%.16g", "%.17g" };
  for (int i = 0; i < 3; i++)
    {
      g_ascii_formatd (text, G_ASCII_DTOSTR_BUF_SIZE, formats[i], value);
      if (g_ascii_strtod (text, NULL) == value)
        break;
    }
  return text;
}

static void
append_value (GString *out, JsonNode *node)
{
  GType type = json_node_get_value_type (node);
  if (type == G_TYPE_STRING)
    append_string (out, json_node_get_string (node));
  else if (type == G_TYPE_BOOLEAN)
    g_string_append (out, json_node_get_boolean (node) ? "true" : "false");
  else if (type == G_TYPE_DOUBLE)
    append_double (out, json_node_get_double (node));
  else
    g_string_append_printf (out, "%" PRId64, json_node_get_int (node));
}

static void
append_break (GString *out, int indent, int level)
{
  if (indent <= 0)
    return;
  g_string_append_c (out, '\n');
  for (int i = 0; i < indent * level; i++)
    g_string_append_c (out, ' ');
}

static void append_node (GString *out, JsonNode *node, int indent, int level);

static void
append_object (GString *out, JsonObject *object, int indent, int level)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;
  gboolean first = TRUE;
  g_string_append_c (out, '{');
  json_object_iter_init_ordered (&iter, object);
  while (json_object_iter_next_ordered (&iter, &name, &value))
    {
      if (!first)
        g_string_append (out, indent > 0 ? "," : ", ");
      first = FALSE;
      append_break (out, indent, level + 1);
      append_string (out, name);
      g_string_append (out, ": ");
      append_node (out, value, indent, level + 1);
    }
  if (!first)
    append_break (out, indent, level);
  g_string_append_c (out, '}');
}

static gboolean
holds_plain_values (JsonArray *array)
{
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *node = json_array_get_element (array, i);
      if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) == G_TYPE_STRING)
        return FALSE;
    }
  return TRUE;
}

/* Lists of numbers stay on one line: shapes and strides are read as one thing. */
static void
append_array (GString *out, JsonArray *array, int indent, int level)
{
  gboolean broken = indent > 0 && !holds_plain_values (array);
  g_string_append_c (out, '[');
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      if (i > 0)
        g_string_append (out, broken ? "," : ", ");
      if (broken)
        append_break (out, indent, level + 1);
      append_node (out, json_array_get_element (array, i), indent, level + 1);
    }
  if (broken)
    append_break (out, indent, level);
  g_string_append_c (out, ']');
}

static void
append_node (GString *out, JsonNode *node, int indent, int level)
{
  if (JSON_NODE_HOLDS_OBJECT (node))
    append_object (out, json_node_get_object (node), indent, level);
  else if (JSON_NODE_HOLDS_ARRAY (node))
    append_array (out, json_node_get_array (node), indent, level);
  else if (JSON_NODE_HOLDS_NULL (node))
    g_string_append (out, "null");
  else
    append_value (out, node);
}

char *
tn_json_to_text (JsonNode *node, int indent)
{
  g_return_val_if_fail (node != NULL, NULL);
  GString *out = g_string_new (NULL);
  append_node (out, node, indent, 0);
  if (indent > 0)
    g_string_append_c (out, '\n');
  return g_string_free (out, FALSE);
}

/* Near names. */

#define MAX_NAME 128

/* Characters in lower case, at most MAX_NAME of them. */
static int
letters_of (const char *text, gunichar letters[MAX_NAME])
{
  int n = 0;
  for (; *text != '\0' && n < MAX_NAME; text = g_utf8_next_char (text))
    {
      gunichar c = g_utf8_get_char (text);
      letters[n++] = c < 0x80 ? (gunichar) g_ascii_tolower ((gchar) c) : c;
    }
  return n;
}

guint
tn_levenshtein (const char *a, const char *b)
{
  gunichar x[MAX_NAME], y[MAX_NAME];
  int n = letters_of (a, x), m = letters_of (b, y);
  guint row[MAX_NAME + 1]; /* row[j]: distance of the first i letters of a and the first j of b */
  for (int j = 0; j <= m; j++)
    row[j] = (guint) j;
  for (int i = 1; i <= n; i++)
    {
      guint diagonal = row[0];
      row[0] = (guint) i;
      for (int j = 1; j <= m; j++)
        {
          guint replaced = diagonal + (x[i - 1] != y[j - 1]);
          diagonal = row[j];
          row[j] = MIN (replaced, MIN (row[j], row[j - 1]) + 1);
        }
    }
  return row[m];
}

/* "batch" for "train.batch": people leave out the group. */
static gboolean
is_last_part (const char *name, const char *candidate)
{
  const char *dot = strrchr (candidate, '.');
  return dot != NULL && g_ascii_strcasecmp (dot + 1, name) == 0;
}

const char *
tn_did_you_mean (const char *name, const char *const *candidates)
{
  g_return_val_if_fail (name != NULL && candidates != NULL, NULL);
  if (*name == '\0' || !g_utf8_validate (name, -1, NULL))
    return NULL;
  const char *best = NULL;
  guint best_distance = G_MAXUINT;
  for (int i = 0; candidates[i] != NULL; i++)
    {
      guint distance = is_last_part (name, candidates[i]) ? 1 : tn_levenshtein (name, candidates[i]);
      if (distance < best_distance)
        {
          best_distance = distance;
          best = candidates[i];
        }
    }
  if (best == NULL || best_distance <= MAX (g_utf8_strlen (name, MAX_NAME) / 3, 1))
    return best;
  for (int i = 0; candidates[i] != NULL; i++)
    if (strlen (name) >= 3 && g_ascii_strncasecmp (candidates[i], name, strlen (name)) == 0)
      return candidates[i];
  return NULL;
}
