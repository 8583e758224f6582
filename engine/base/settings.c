/* SPDX-License-Identifier: Apache-2.0 */
#include "base/settings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

struct _TnSettings
{
  GHashTable *values; /* name (the row's) -> normal text; only what was set */
};

/* The table. */

static gboolean
has_alias (const TnSetting *row, const char *name)
{
  if (row->aliases == NULL)
    return FALSE;
  g_auto (GStrv) aliases = g_strsplit (row->aliases, " ", -1);
  return g_strv_contains ((const char *const *) aliases, name);
}

const TnSetting *
tn_setting_find (const char *name)
{
  g_return_val_if_fail (name != NULL, NULL);
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    if (strcmp (row->name, name) == 0)
      return row;
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    if (has_alias (row, name))
      return row;
  return NULL;
}

const TnSetting *
tn_setting_require (const char *name, GError **error)
{
  const TnSetting *found = tn_setting_find (name);
  if (found != NULL)
    return found;

  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    g_ptr_array_add (names, (gpointer) row->name);
  g_ptr_array_add (names, NULL);
  const char *near = tn_did_you_mean (name, (const char *const *) names->pdata);
  if (near != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no setting “%s”; did you mean “%s”?"), name, near);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no setting “%s”; tenon-cli options lists them"), name);
  return NULL;
}

const char *
tn_setting_type_name (TnSettingType type)
{
  static const char *const names[] = {
    [TN_SETTING_INT] = "int",   [TN_SETTING_FLOAT] = "float", [TN_SETTING_BOOL] = "bool",
    [TN_SETTING_STRING] = "string", [TN_SETTING_ENUM] = "enum", [TN_SETTING_PATH] = "path",
    [TN_SETTING_INT_LIST] = "int-list", [TN_SETTING_FLOAT_LIST] = "float-list",
  };
  return names[type];
}

static char *
number_text (const TnSetting *row, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (row->type == TN_SETTING_INT || row->type == TN_SETTING_INT_LIST)
    return g_strdup_printf ("%" PRId64, (int64_t) value);
  return g_strdup (tn_double_to_text (value, text));
}

char *
tn_setting_range_text (const TnSetting *setting)
{
  switch (setting->type)
    {
    case TN_SETTING_INT:
    case TN_SETTING_FLOAT:
    case TN_SETTING_INT_LIST:
    case TN_SETTING_FLOAT_LIST:
      {
        g_autofree char *min = number_text (setting, setting->min);
        g_autofree char *max = number_text (setting, setting->max);
        return g_strdup_printf ("%s .. %s", min, max);
      }
    case TN_SETTING_ENUM:
      return g_strjoinv (", ", (char **) setting->values);
    case TN_SETTING_BOOL:
      return g_strdup (_("true or false"));
    default:
      return g_strdup ("");
    }
}

/* Values. */

TnSettings *
tn_settings_new (void)
{
  TnSettings *self = g_new0 (TnSettings, 1);
  self->values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  return self;
}

static void
copy_values (GHashTable *to, GHashTable *from)
{
  GHashTableIter iter;
  gpointer name, text;
  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &name, &text))
    g_hash_table_insert (to, name, g_strdup (text));
}

TnSettings *
tn_settings_copy (const TnSettings *self)
{
  TnSettings *copy = tn_settings_new ();
  copy_values (copy->values, self->values);
  return copy;
}

void
tn_settings_free (TnSettings *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->values);
  g_free (self);
}

static gboolean
fail_value (const TnSetting *row, const char *value, const char *wanted, GError **error)
{
  g_autofree char *range = tn_setting_range_text (row);
  /* Translators: 1: a setting's name, 2: what was typed, 3: "a whole number", 4: the range, may be empty. */
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("%s: “%s” is not %s%s%s"), row->name, value, wanted,
               *range != '\0' ? ": " : "", range);
  return FALSE;
}

static gboolean
normalize_int (const TnSetting *row, const char *text, char **normal)
{
  gint64 value;
  if (!g_ascii_string_to_signed (text, 10, (gint64) row->min, (gint64) row->max, &value, NULL))
    return FALSE;
  *normal = g_strdup_printf ("%" PRId64, (int64_t) value);
  return TRUE;
}

static gboolean
normalize_float (const TnSetting *row, const char *text, char **normal)
{
  double value;
  if (!tn_hex_double_parse (text, &value) || !(value >= row->min && value <= row->max))
    return FALSE;
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  *normal = g_strdup (tn_double_to_text (value == 0 ? 0 : value, buffer)); /* no -0 */
  return TRUE;
}

static gboolean
normalize_bool (const char *text, char **normal)
{
  static const char *const words[2][4] = { { "false", "no", "off", "0" }, { "true", "yes", "on", "1" } };
  for (int value = 0; value < 2; value++)
    for (int i = 0; i < 4; i++)
      if (g_ascii_strcasecmp (text, words[value][i]) == 0)
        {
          *normal = g_strdup (words[value][0]);
          return TRUE;
        }
  return FALSE;
}

static gboolean
normalize_list (const TnSetting *row, const char *text, char **normal)
{
  g_autoptr (GString) joined = g_string_new (NULL);
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  for (int i = 0; parts[i] != NULL; i++)
    {
      g_autofree char *part = NULL;
      g_strstrip (parts[i]);
      if (row->type == TN_SETTING_INT_LIST ? !normalize_int (row, parts[i], &part) : !normalize_float (row, parts[i], &part))
        return FALSE;
      g_string_append_printf (joined, "%s%s", i ? "," : "", part);
    }
  *normal = g_string_free (g_steal_pointer (&joined), FALSE);
  return TRUE;
}

static gboolean
normalize_enum (const TnSetting *row, const char *text, char **normal, GError **error)
{
  for (int i = 0; row->values[i] != NULL; i++)
    if (g_ascii_strcasecmp (row->values[i], text) == 0)
      {
        *normal = g_strdup (row->values[i]);
        return TRUE;
      }
  const char *near = tn_did_you_mean (text, row->values);
  if (near == NULL)
    return fail_value (row, text, _("one of its values"), error);
  g_autofree char *range = tn_setting_range_text (row);
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("%s: “%s” is not possible; did you mean “%s”? (%s)"),
               row->name, text, near, range);
  return FALSE;
}

static gboolean
normalize_text (const TnSetting *row, const char *text, char **normal, GError **error)
{
  for (const char *p = text; *p != '\0'; p++)
    if ((guchar) *p < 0x20 || *p == 0x7f)
      {
        g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("%s: control characters are not possible"), row->name);
        return FALSE;
      }
  if (row->check != NULL && !row->check (text, error))
    {
      g_prefix_error (error, "%s: ", row->name);
      return FALSE;
    }
  *normal = g_strdup (text);
  return TRUE;
}

static gboolean
normalize (const TnSetting *row, const char *text, char **normal, GError **error)
{
  if (!g_utf8_validate (text, -1, NULL))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("%s: the value is not UTF-8 text"), row->name);
      return FALSE;
    }
  switch (row->type)
    {
    case TN_SETTING_INT:
      return normalize_int (row, text, normal) || fail_value (row, text, _("a whole number in its range"), error);
    case TN_SETTING_FLOAT:
      return normalize_float (row, text, normal) || fail_value (row, text, _("a number in its range"), error);
    case TN_SETTING_BOOL:
      return normalize_bool (text, normal) || fail_value (row, text, _("a yes or no"), error);
    case TN_SETTING_ENUM:
      return normalize_enum (row, text, normal, error);
    case TN_SETTING_INT_LIST:
      return normalize_list (row, text, normal) || fail_value (row, text, _("a list of whole numbers in range"), error);
    case TN_SETTING_FLOAT_LIST:
      return normalize_list (row, text, normal) || fail_value (row, text, _("a list of numbers in range"), error);
    case TN_SETTING_STRING:
    case TN_SETTING_PATH:
      return normalize_text (row, text, normal, error);
    }
  g_return_val_if_reached (FALSE);
}

gboolean
tn_settings_set (TnSettings *self, const char *name, const char *value, GError **error)
{
  g_return_val_if_fail (self != NULL && name != NULL && value != NULL, FALSE);
  const TnSetting *row = tn_setting_require (name, error);
  char *normal = NULL;
  if (row == NULL || !normalize (row, value, &normal, error))
    return FALSE;
  g_hash_table_insert (self->values, (gpointer) row->name, normal);
  return TRUE;
}

gboolean
tn_settings_set_assignment (TnSettings *self, const char *assignment, GError **error)
{
  g_return_val_if_fail (self != NULL && assignment != NULL, FALSE);
  const char *equals = strchr (assignment, '=');
  if (equals == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("“%s” has no “=”; write NAME=VALUE"), assignment);
      return FALSE;
    }
  g_autofree char *name = g_strndup (assignment, (gsize) (equals - assignment));
  return tn_settings_set (self, name, equals + 1, error);
}

void
tn_settings_reset (TnSettings *self, const char *name)
{
  const TnSetting *row = tn_setting_find (name);
  if (row != NULL)
    g_hash_table_remove (self->values, row->name);
}

gboolean
tn_settings_is_set (const TnSettings *self, const char *name)
{
  return g_hash_table_contains (self->values, name);
}

static const TnSetting *
row_of (const char *name)
{
  const TnSetting *row = tn_setting_find (name);
  if (row == NULL)
    g_critical ("no setting “%s”", name);
  return row;
}

static const char *
text_of (const TnSettings *self, const TnSetting *row)
{
  const char *text = g_hash_table_lookup (self->values, row->name);
  return text != NULL ? text : row->default_value;
}

const char *
tn_settings_get_text (const TnSettings *self, const char *name)
{
  const TnSetting *row = row_of (name);
  return row != NULL ? text_of (self, row) : "";
}

int64_t
tn_settings_get_int (const TnSettings *self, const char *name)
{
  const TnSetting *row = row_of (name);
  g_return_val_if_fail (row != NULL && row->type == TN_SETTING_INT, 0);
  return g_ascii_strtoll (text_of (self, row), NULL, 10);
}

double
tn_settings_get_float (const TnSettings *self, const char *name)
{
  const TnSetting *row = row_of (name);
  g_return_val_if_fail (row != NULL && (row->type == TN_SETTING_FLOAT || row->type == TN_SETTING_INT), 0);
  return g_ascii_strtod (text_of (self, row), NULL);
}

gboolean
tn_settings_get_bool (const TnSettings *self, const char *name)
{
  const TnSetting *row = row_of (name);
  g_return_val_if_fail (row != NULL && row->type == TN_SETTING_BOOL, FALSE);
  return *text_of (self, row) == 't';
}

const char *
tn_settings_get_string (const TnSettings *self, const char *name)
{
  return tn_settings_get_text (self, name);
}

int
tn_settings_get_enum (const TnSettings *self, const char *name)
{
  const TnSetting *row = row_of (name);
  g_return_val_if_fail (row != NULL && row->type == TN_SETTING_ENUM, 0);
  const char *text = text_of (self, row);
  int place = 0;
  while (row->values[place] != NULL && strcmp (row->values[place], text) != 0)
    place++;
  return place;
}

gboolean
tn_settings_enum_is (const TnSettings *self, const char *name, const char *value)
{
  return strcmp (tn_settings_get_text (self, name), value) == 0;
}

static char **
list_parts (const TnSettings *self, const TnSetting *row, int *n)
{
  const char *text = text_of (self, row);
  char **parts = *text != '\0' ? g_strsplit (text, ",", -1) : g_new0 (char *, 1);
  *n = (int) g_strv_length (parts);
  return parts;
}

int64_t *
tn_settings_get_int_list (const TnSettings *self, const char *name, int *n)
{
  const TnSetting *row = row_of (name);
  *n = 0;
  g_return_val_if_fail (row != NULL && row->type == TN_SETTING_INT_LIST, NULL);
  g_auto (GStrv) parts = list_parts (self, row, n);
  int64_t *values = g_new (int64_t, *n);
  for (int i = 0; i < *n; i++)
    values[i] = g_ascii_strtoll (parts[i], NULL, 10);
  return values;
}

double *
tn_settings_get_float_list (const TnSettings *self, const char *name, int *n)
{
  const TnSetting *row = row_of (name);
  *n = 0;
  g_return_val_if_fail (row != NULL && row->type == TN_SETTING_FLOAT_LIST, NULL);
  g_auto (GStrv) parts = list_parts (self, row, n);
  double *values = g_new (double, *n);
  for (int i = 0; i < *n; i++)
    values[i] = g_ascii_strtod (parts[i], NULL);
  return values;
}

const char **
tn_settings_diff (const TnSettings *a, const TnSettings *b)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    if (strcmp (text_of (a, row), text_of (b, row)) != 0)
      g_ptr_array_add (names, (gpointer) row->name);
  g_ptr_array_add (names, NULL);
  return (const char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

void
tn_settings_foreach (const TnSettings *self, TnSettingsFunc fn, void *data)
{
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    fn (row, text_of (self, row), tn_settings_is_set (self, row->name), data);
}

/* data.validation */

static gboolean
parse_percent (const char *text, double *out)
{
  gsize n = strlen (text);
  if (n < 2 || text[n - 1] != '%' || !g_ascii_isdigit (*text))
    return FALSE;
  g_autofree char *number = g_strndup (text, n - 1);
  return tn_hex_double_parse (number, out) && *out > 0 && *out < 100;
}

gboolean
tn_validation_rule_parse (const char *text, TnValidationRule *out, GError **error)
{
  g_return_val_if_fail (text != NULL && out != NULL, FALSE);
  *out = (TnValidationRule){ .kind = TN_VALIDATION_NONE };
  gint64 count;
  if (strcmp (text, "none") == 0)
    return TRUE;
  if (g_str_has_prefix (text, "last:") && parse_percent (text + 5, &out->percent))
    out->kind = TN_VALIDATION_LAST_PERCENT;
  else if (g_str_has_prefix (text, "hash:") && parse_percent (text + 5, &out->percent))
    out->kind = TN_VALIDATION_HASH_PERCENT;
  else if (g_str_has_prefix (text, "last:") && g_ascii_string_to_signed (text + 5, 10, 1, G_MAXINT64, &count, NULL))
    {
      out->kind = TN_VALIDATION_LAST_COUNT;
      out->count = count;
    }
  else
    {
      const char *colon = g_str_has_prefix (text, "last:") || g_str_has_prefix (text, "hash:") ? text + 5 : "";
      char *end = NULL;
      double percent = *colon ? g_ascii_strtod (colon, &end) : NAN;
      if (end != NULL && strcmp (end, "%") == 0 && (percent <= 0 || percent >= 100))
        g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                     percent <= 0 ? _("“%s” holds nothing out; write none, or a share above 0 and below 100 %%")
                                  : _("“%s” leaves nothing to train on; the share must be above 0 and below 100 %%"), text);
      else
        g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                   _("“%s” is not a rule; write last:10000, last:10%%, hash:10%% or none"), text);
      return FALSE;
    }
  return TRUE;
}
