/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <locale.h>
#include <math.h>
#include <string.h>

/* "1 000" and "1 000" with the thin and no-break spaces that locales group digits by: a space counts only between digits. */
static gboolean
is_group_space (gunichar c)
{
  return c == ' ' || c == 0x00a0 || c == 0x2009 || c == 0x202f;
}

static char *
to_c_locale (const char *text)
{
  const char *decimal = localeconv ()->decimal_point;
  size_t n_decimal = strlen (decimal);
  g_autoptr (GString) out = g_string_new (NULL);
  for (const char *p = text; *p != '\0';)
    {
      gunichar c = g_utf8_get_char (p);
      const char *next = g_utf8_next_char (p);
      if (n_decimal > 0 && strncmp (p, decimal, n_decimal) == 0)
        {
          g_string_append_c (out, '.');
          next = p + n_decimal;
        }
      else if (c == 0x2212)
        g_string_append_c (out, '-');
      else if (!(is_group_space (c) && p > text && g_ascii_isdigit (p[-1]) && g_ascii_isdigit (*next)))
        g_string_append_unichar (out, c);
      p = next;
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

gboolean
tn_number_parse (const char *text, double *value)
{
  if (!g_utf8_validate (text, -1, NULL))
    return FALSE;
  g_autofree char *plain = g_strstrip (to_c_locale (text));
  /* strtod would also read "0x10", "inf" and "nan", which nobody types as a setting. */
  if (*plain == '\0' || plain[strspn (plain, "+-.0123456789eE")] != '\0')
    return FALSE;
  char *end;
  double number = g_ascii_strtod (plain, &end);
  if (*end != '\0' || end == plain || !isfinite (number))
    return FALSE;
  *value = number;
  return TRUE;
}

char *
tn_number_text_c (double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  for (int digits = 1; digits <= 17; digits++)
    {
      char format[8];
      g_snprintf (format, sizeof format, "%%.%dg", digits);
      g_ascii_formatd (text, sizeof text, format, value);
      if (g_ascii_strtod (text, NULL) == value)
        break;
    }
  /* 120000 is easier to read than 1.2e+05. */
  if (value == trunc (value) && fabs (value) < 1e15)
    g_ascii_formatd (text, sizeof text, "%.0f", value);
  return g_strdup (text);
}

char *
tn_number_text (double value)
{
  g_autofree char *text = tn_number_text_c (value);
  char *dot = strchr (text, '.');
  if (dot == NULL)
    return g_steal_pointer (&text);
  *dot = '\0';
  return g_strconcat (text, localeconv ()->decimal_point, dot + 1, NULL);
}
