/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

typedef struct
{
  const char *start;
  const char *at;
  const char *end;
  int depth;
  GError **error;
} Reader;

/* Line and column are counted only when something is wrong. */
static gboolean G_GNUC_PRINTF (3, 4)
fail_at (Reader *reader, const char *where, const char *format, ...)
{
  int line = 1;
  const char *line_start = reader->start;
  for (const char *p = reader->start; p < where; p++)
    if (*p == '\n')
      {
        line++;
        line_start = p + 1;
      }
  long column = 1 + g_utf8_strlen (line_start, where - line_start);

  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  /* Translators: place and description of a mistake in a text file. */
  g_set_error (reader->error, TN_ERROR, TN_ERROR_PARSE, _("line %d, column %ld: %s"), line, column, what);
  return FALSE;
}

static void
skip_space (Reader *reader)
{
  while (reader->at < reader->end && strchr (" \t\r\n", *reader->at) != NULL)
    reader->at++;
}

static gboolean
fail_unexpected (Reader *reader, const char *wanted)
{
  if (reader->at >= reader->end)
    return fail_at (reader, reader->at, _("the text ends where %s should stand"), wanted);
  gunichar c = g_utf8_get_char (reader->at);
  g_autofree char *shown = g_unichar_isprint (c) ? g_strdup_printf ("“%.*s”", g_unichar_to_utf8 (c, NULL), reader->at)
                                                 : g_strdup_printf ("U+%04X", c);
  return fail_at (reader, reader->at, _("%s where %s should stand"), shown, wanted);
}

static gboolean
read_hex4 (Reader *reader, gunichar *out)
{
  *out = 0;
  for (int i = 0; i < 4; i++, reader->at++)
    {
      int digit = reader->at < reader->end ? g_ascii_xdigit_value (*reader->at) : -1;
      if (digit < 0)
        return fail_unexpected (reader, _("four hexadecimal digits"));
      *out = *out * 16 + (gunichar) digit;
    }
  return TRUE;
}

/* After "\u". */
static gboolean
read_unicode_escape (Reader *reader, GString *text)
{
  const char *start = reader->at - 2;
  gunichar c;
  if (!read_hex4 (reader, &c))
    return FALSE;
  if (c >= 0xd800 && c < 0xdc00)
    {
      gunichar low = 0;
      gboolean pair = reader->end - reader->at >= 2 && reader->at[0] == '\\' && reader->at[1] == 'u';
      if (pair)
        {
          reader->at += 2;
          if (!read_hex4 (reader, &low))
            return FALSE;
        }
      if (low < 0xdc00 || low >= 0xe000)
        return fail_at (reader, start, _("half of a surrogate pair"));
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
  else if (c >= 0xdc00 && c < 0xe000)
    return fail_at (reader, start, _("half of a surrogate pair"));
  if (c == 0)
    return fail_at (reader, start, _("a zero character is not possible in a text"));
  g_string_append_unichar (text, c);
  return TRUE;
}

static gboolean
read_escape (Reader *reader, GString *text)
{
  static const char letters[] = "\"\\/bfnrt";
  static const char meanings[] = "\"\\/\b\f\n\r\t";
  char letter = reader->at + 1 < reader->end ? reader->at[1] : '\0';
  const char *found = letter != '\0' ? strchr (letters, letter) : NULL;
  if (letter == 'u')
    {
      reader->at += 2;
      return read_unicode_escape (reader, text);
    }
  if (found == NULL)
    return fail_at (reader, reader->at, _("an unknown escape; a backslash itself is written \\\\"));
  g_string_append_c (text, meanings[found - letters]);
  reader->at += 2;
  return TRUE;
}

/* At the opening quote. */
static char *
read_string (Reader *reader)
{
  const char *start = reader->at++;
  g_autoptr (GString) text = g_string_new (NULL);
  while (reader->at < reader->end && *reader->at != '"')
    {
      if (*reader->at == '\n')
        break;
      if ((guchar) *reader->at < 0x20)
        {
          fail_at (reader, reader->at, _("control character U+%04X in a string; write it as an escape"), *reader->at);
          return NULL;
        }
      if (*reader->at == '\\')
        {
          if (!read_escape (reader, text))
            return NULL;
          continue;
        }
      const char *run = reader->at;
      while (reader->at < reader->end && (guchar) *reader->at >= 0x20 && *reader->at != '"' && *reader->at != '\\')
        reader->at++;
      g_string_append_len (text, run, reader->at - run);
    }
  if (reader->at >= reader->end || *reader->at != '"')
    {
      fail_at (reader, start, _("a string that is not closed"));
      return NULL;
    }
  reader->at++;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
skip_digits (Reader *reader)
{
  const char *start = reader->at;
  while (reader->at < reader->end && g_ascii_isdigit (*reader->at))
    reader->at++;
  return reader->at > start || fail_unexpected (reader, _("a digit"));
}

static JsonNode *
read_number (Reader *reader)
{
  const char *start = reader->at;
  gboolean whole = TRUE;
  if (*reader->at == '-')
    reader->at++;
  const char *digits = reader->at;
  if (!skip_digits (reader))
    return NULL;
  if (*digits == '0' && reader->at - digits > 1)
    {
      fail_at (reader, start, _("a number may not begin with 0"));
      return NULL;
    }
  if (reader->at < reader->end && *reader->at == '.')
    {
      whole = FALSE;
      reader->at++;
      if (!skip_digits (reader))
        return NULL;
    }
  if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E'))
    {
      whole = FALSE;
      reader->at++;
      if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
        reader->at++;
      if (!skip_digits (reader))
        return NULL;
    }

  g_autofree char *text = g_strndup (start, (gsize) (reader->at - start));
  errno = 0;
  gint64 integer = whole ? g_ascii_strtoll (text, NULL, 10) : 0;
  if (whole && errno == 0 && strcmp (text, "-0") != 0)
    return json_node_init_int (json_node_alloc (), integer);
  double value = g_ascii_strtod (text, NULL);
  if (!isfinite (value))
    {
      fail_at (reader, start, _("a number too large"));
      return NULL;
    }
  return json_node_init_double (json_node_alloc (), value);
}

static JsonNode *
read_word (Reader *reader)
{
  static const char *const words[] = { "true", "false", "null" };
  for (int i = 0; i < 3; i++)
    {
      gsize n = strlen (words[i]);
      if ((gsize) (reader->end - reader->at) < n || strncmp (reader->at, words[i], n) != 0)
        continue;
      reader->at += n;
      return i == 2 ? json_node_init_null (json_node_alloc ()) : json_node_init_boolean (json_node_alloc (), i == 0);
    }
  fail_unexpected (reader, _("a value"));
  return NULL;
}

static JsonNode *read_value (Reader *reader);

static gboolean
read_elements (Reader *reader, JsonArray *array)
{
  reader->at++;
  skip_space (reader);
  if (reader->at < reader->end && *reader->at == ']')
    {
      reader->at++;
      return TRUE;
    }
  for (;;)
    {
      JsonNode *value = read_value (reader);
      if (value == NULL)
        return FALSE;
      json_array_add_element (array, value);
      skip_space (reader);
      char c = reader->at < reader->end ? *reader->at : '\0';
      if (c != ',' && c != ']')
        return fail_unexpected (reader, _("“,” or “]”"));
      reader->at++;
      if (c == ']')
        return TRUE;
    }
}

static gboolean
read_member (Reader *reader, JsonObject *object)
{
  skip_space (reader);
  const char *where = reader->at;
  if (where >= reader->end || *where != '"')
    return fail_unexpected (reader, _("a name in double quotes"));
  g_autofree char *key = read_string (reader);
  if (key == NULL)
    return FALSE;
  if (json_object_has_member (object, key))
    return fail_at (reader, where, _("“%s” stands twice in the same object"), key);
  skip_space (reader);
  if (reader->at >= reader->end || *reader->at != ':')
    return fail_unexpected (reader, _("“:”"));
  reader->at++;
  JsonNode *value = read_value (reader);
  if (value == NULL)
    return FALSE;
  json_object_set_member (object, key, value);
  return TRUE;
}

static gboolean
read_members (Reader *reader, JsonObject *object)
{
  reader->at++;
  skip_space (reader);
  if (reader->at < reader->end && *reader->at == '}')
    {
      reader->at++;
      return TRUE;
    }
  for (;;)
    {
      if (!read_member (reader, object))
        return FALSE;
      skip_space (reader);
      char c = reader->at < reader->end ? *reader->at : '\0';
      if (c != ',' && c != '}')
        return fail_unexpected (reader, _("“,” or “}”"));
      reader->at++;
      if (c == '}')
        return TRUE;
    }
}

static JsonNode *
read_container (Reader *reader)
{
  if (reader->depth >= TN_JSON_MAX_DEPTH)
    {
      fail_at (reader, reader->at, _("nested deeper than %d levels"), TN_JSON_MAX_DEPTH);
      return NULL;
    }
  reader->depth++;
  g_autoptr (JsonNode) node = json_node_alloc ();
  gboolean ok;
  if (*reader->at == '{')
    {
      g_autoptr (JsonObject) object = json_object_new ();
      ok = read_members (reader, object);
      json_node_init_object (node, object);
    }
  else
    {
      g_autoptr (JsonArray) array = json_array_new ();
      ok = read_elements (reader, array);
      json_node_init_array (node, array);
    }
  reader->depth--;
  return ok ? g_steal_pointer (&node) : NULL;
}

static JsonNode *
read_value (Reader *reader)
{
  skip_space (reader);
  char c = reader->at < reader->end ? *reader->at : '\0';
  if (c == '{' || c == '[')
    return read_container (reader);
  if (c == '-' || g_ascii_isdigit (c))
    return read_number (reader);
  if (c == '"')
    {
      g_autofree char *text = read_string (reader);
      return text != NULL ? json_node_init_string (json_node_alloc (), text) : NULL;
    }
  return read_word (reader);
}

JsonNode *
tn_json_parse (const char *text, gssize n, GError **error)
{
  g_return_val_if_fail (text != NULL || n == 0, NULL);
  gsize size = n < 0 ? strlen (text) : (gsize) n;
  if (size > TN_JSON_MAX_BYTES)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_PARSE, _("The JSON text has %zu bytes; at most %u are read"), size,
                   TN_JSON_MAX_BYTES);
      return NULL;
    }
  if (size >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0) /* the mark that some editors put in front */
    {
      text += 3;
      size -= 3;
    }

  Reader reader = { .start = text, .at = text, .end = text + size, .error = error };
  const char *bad;
  if (size > 0 && !g_utf8_validate (text, (gssize) size, &bad))
    {
      fail_at (&reader, bad, _("byte 0x%02x is not UTF-8; save the file as UTF-8"), (guchar) *bad);
      return NULL;
    }
  g_autoptr (JsonNode) node = read_value (&reader);
  if (node == NULL)
    return NULL;
  skip_space (&reader);
  if (reader.at < reader.end)
    {
      fail_unexpected (&reader, _("the end of the text"));
      return NULL;
    }
  return g_steal_pointer (&node);
}

JsonNode *
tn_json_load (const char *path, GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !g_file_test (path, G_FILE_TEST_IS_REGULAR)) /* a pipe would hang the reader */
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is not a regular file."), path);
      return NULL;
    }
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, error);
  if (file == NULL)
    {
      if (error != NULL && *error != NULL)
        {
          int code = g_error_matches (*error, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? TN_ERROR_NOT_FOUND : TN_ERROR_IO;
          (*error)->domain = TN_ERROR;
          (*error)->code = code;
        }
      return NULL;
    }
  const char *text = g_mapped_file_get_contents (file);
  JsonNode *node = tn_json_parse (text != NULL ? text : "", (gssize) g_mapped_file_get_length (file), error);
  if (node == NULL)
    g_prefix_error (error, "%s: ", path);
  return node;
}
