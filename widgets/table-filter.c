/* SPDX-License-Identifier: Apache-2.0 */
#include "table-filter.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "number.h"

typedef enum
{
  CONTAINS,
  CONTAINS_NOT,
  IS,
  IS_NOT,
  GREATER,
  GREATER_OR_EQUAL,
  LESS,
  LESS_OR_EQUAL
} Operator;

/* Longer ones first: ">" begins ">=". */
static const struct
{
  const char *sign;
  Operator op;
} operators[] = { { "!~", CONTAINS_NOT }, { "!=", IS_NOT }, { ">=", GREATER_OR_EQUAL }, { "<=", LESS_OR_EQUAL },
                  { "~", CONTAINS },      { ":", IS },      { "=", IS },                { ">", GREATER },
                  { "<", LESS } };

typedef struct
{
  int column; /* -1: any */
  TnColumnKind kind;
  Operator op;
  char *text; /* case folded */
  double number;
  gboolean is_number;
} Word;

struct _TnTableFilter
{
  GArray *words; /* Word */
  guint n_columns;
};

static const struct
{
  const char *suffix;
  TnColumnKind kind;
  double factor;
} units[] = {
  { "KiB", TN_COLUMN_BYTES, 0x1p10 }, { "MiB", TN_COLUMN_BYTES, 0x1p20 }, { "GiB", TN_COLUMN_BYTES, 0x1p30 },
  { "TiB", TN_COLUMN_BYTES, 0x1p40 }, { "kB", TN_COLUMN_BYTES, 1e3 },     { "MB", TN_COLUMN_BYTES, 1e6 },
  { "GB", TN_COLUMN_BYTES, 1e9 },     { "TB", TN_COLUMN_BYTES, 1e12 },    { "B", TN_COLUMN_BYTES, 1 },
  { "ns", TN_COLUMN_TIME, 1e-9 },     { "us", TN_COLUMN_TIME, 1e-6 },     { "µs", TN_COLUMN_TIME, 1e-6 },
  { "ms", TN_COLUMN_TIME, 1e-3 },     { "s", TN_COLUMN_TIME, 1 },         { "min", TN_COLUMN_TIME, 60 },
  { "h", TN_COLUMN_TIME, 3600 },      { "%", TN_COLUMN_SHARE, 0.01 },     { "k", TN_COLUMN_NUMBER, 1e3 },
  { "M", TN_COLUMN_NUMBER, 1e6 },     { "G", TN_COLUMN_NUMBER, 1e9 },
};

gboolean
tn_table_filter_number (const char *text, TnColumnKind kind, double *value)
{
  if (kind == TN_COLUMN_TEXT)
    kind = TN_COLUMN_NUMBER;
  size_t n_number = strspn (text, "+-.,0123456789");
  /* "1e3" has an exponent, "1e" has not. */
  if ((text[n_number] == 'e' || text[n_number] == 'E') && n_number > 0 && strpbrk (text + n_number + 1, "0123456789") != NULL)
    n_number += 1 + strspn (text + n_number + 1, "+-0123456789");
  g_autofree char *number = g_strndup (text, n_number), *unit = g_strstrip (g_strdup (text + n_number));
  if (!tn_number_parse (number, value))
    return FALSE;
  if (*unit == '\0')
    return TRUE;
  for (size_t i = 0; i < G_N_ELEMENTS (units); i++)
    if (units[i].kind == kind && g_ascii_strcasecmp (unit, units[i].suffix) == 0)
      {
        *value *= units[i].factor;
        return TRUE;
      }
  return FALSE;
}

static char *
without_spaces (const char *text)
{
  g_autofree char *folded = g_utf8_casefold (text, -1);
  g_autoptr (GString) out = g_string_new (NULL);
  for (const char *p = folded; *p != '\0'; p = g_utf8_next_char (p))
    if (!g_unichar_isspace (g_utf8_get_char (p)))
      g_string_append_unichar (out, g_utf8_get_char (p));
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static int
find_column (const char *name, const TnTableColumn *columns, guint n)
{
  g_autofree char *wanted = without_spaces (name);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *id = g_utf8_casefold (columns[i].id, -1), *title = without_spaces (columns[i].title);
      if (strcmp (wanted, id) == 0 || strcmp (wanted, title) == 0)
        return (int) i;
    }
  return -1;
}

/* Levenshtein's distance, for words of at most 31 bytes: names of columns are short. */
static guint
distance (const char *a, const char *b)
{
  guint row[32], n = MIN (strlen (b), 31);
  for (guint j = 0; j <= n; j++)
    row[j] = j;
  for (guint i = 1; a[i - 1] != '\0'; i++)
    {
      guint diagonal = row[0];
      row[0] = i;
      for (guint j = 1; j <= n; j++)
        {
          guint above = row[j];
          row[j] = MIN (MIN (row[j], row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
          diagonal = above;
        }
    }
  return row[n];
}

static char *
unknown_column (const char *name, const TnTableColumn *columns, guint n)
{
  const char *best = NULL;
  guint best_distance = G_MAXUINT;
  for (guint i = 0; i < n; i++)
    {
      guint d = distance (name, columns[i].id);
      if (d < best_distance)
        {
          best_distance = d;
          best = columns[i].id;
        }
    }
  return best == NULL ? g_strdup_printf (_ ("Unknown word ‘%s’."), name)
                      : g_strdup_printf (_ ("Unknown word ‘%s’. Try %s."), name, best);
}

/* One word up to a space outside quotes; the quotes are left out. @sign: where the operator stands in it, or -1. */
static char *
next_word (const char **text, int *sign, guint *which, gboolean *open)
{
  g_autoptr (GString) word = g_string_new (NULL);
  gboolean quoted = FALSE;
  *sign = -1;
  const char *p = *text;
  for (; *p != '\0' && (quoted || !g_ascii_isspace (*p)); p++)
    {
      if (*p == '"')
        {
          quoted = !quoted;
          continue;
        }
      for (guint i = 0; i < G_N_ELEMENTS (operators) && !quoted && *sign < 0; i++)
        if (g_str_has_prefix (p, operators[i].sign))
          {
            *sign = (int) word->len;
            *which = i;
          }
      g_string_append_c (word, *p);
    }
  *open = quoted;
  *text = p;
  return g_string_free (g_steal_pointer (&word), FALSE);
}

static char *
read_word (const char *text, int sign, guint which, const TnTableColumn *columns, guint n, Word *word)
{
  if (sign <= 0)
    {
      *word = (Word) { .column = -1, .op = CONTAINS, .text = g_utf8_casefold (text, -1) };
      return NULL;
    }
  g_autofree char *name = g_strndup (text, (gsize) sign);
  const char *value = text + sign + strlen (operators[which].sign);
  int column = find_column (name, columns, n);
  if (column < 0)
    return unknown_column (name, columns, n);
  if (*value == '\0')
    return g_strdup_printf (_ ("‘%s’ needs a value, as in %s%s."), text, name,
                            columns[column].kind == TN_COLUMN_TEXT ? "~abc" : columns[column].kind == TN_COLUMN_BYTES ? ">1MiB" : ">1");
  *word = (Word) { .column = column, .kind = columns[column].kind, .op = operators[which].op };
  word->is_number = tn_table_filter_number (value, word->kind, &word->number);
  if (!word->is_number && (word->op >= GREATER || (word->kind != TN_COLUMN_TEXT && (word->op == IS || word->op == IS_NOT))))
    return g_strdup_printf (_ ("‘%s’ is not a number that %s can be compared with."), value, columns[column].id);
  word->text = g_utf8_casefold (value, -1);
  return NULL;
}

TnTableFilter *
tn_table_filter_new (const char *text, const TnTableColumn *columns, guint n_columns, char **error)
{
  g_autoptr (TnTableFilter) self = g_new0 (TnTableFilter, 1);
  self->words = g_array_new (FALSE, FALSE, sizeof (Word));
  self->n_columns = n_columns;
  while (*(text += strspn (text, " \t\n")) != '\0')
    {
      int sign;
      guint which = 0;
      gboolean open;
      Word word;
      g_autofree char *raw = next_word (&text, &sign, &which, &open);
      char *problem = open ? g_strdup (_ ("A quotation mark is missing.")) : read_word (raw, sign, which, columns, n_columns, &word);
      if (problem != NULL)
        {
          *error = problem;
          return NULL;
        }
      g_array_append_val (self->words, word);
    }
  return self->words->len == 0 ? NULL : g_steal_pointer (&self);
}

void
tn_table_filter_free (TnTableFilter *self)
{
  for (guint i = 0; i < self->words->len; i++)
    g_free (g_array_index (self->words, Word, i).text);
  g_array_unref (self->words);
  g_free (self);
}

static gboolean
compare_number (const Word *word, double value)
{
  switch (word->op)
    {
    case IS:
      return value == word->number;
    case IS_NOT:
      return value != word->number;
    case GREATER:
      return value > word->number;
    case GREATER_OR_EQUAL:
      return value >= word->number;
    case LESS:
      return value < word->number;
    case LESS_OR_EQUAL:
      return value <= word->number;
    case CONTAINS:
    case CONTAINS_NOT:
      break;
    }
  return FALSE;
}

static gboolean
cell_contains (const Word *word, guint row, guint column, TnTableText text, gpointer data, gboolean whole)
{
  g_autofree char *shown = text (data, row, column);
  if (shown == NULL)
    return FALSE;
  g_autofree char *folded = g_utf8_casefold (shown, -1);
  return whole ? strcmp (folded, word->text) == 0 : strstr (folded, word->text) != NULL;
}

static gboolean
word_holds (const Word *word, guint n_columns, guint row, TnTableText text, TnTableNumber number, gpointer data)
{
  if (word->column < 0)
    {
      for (guint column = 0; column < n_columns; column++)
        if (cell_contains (word, row, column, text, data, FALSE))
          return TRUE;
      return FALSE;
    }
  guint column = (guint) word->column;
  if (word->op == CONTAINS || word->op == CONTAINS_NOT)
    return cell_contains (word, row, column, text, data, FALSE) == (word->op == CONTAINS);
  if (word->kind != TN_COLUMN_TEXT && number != NULL)
    return compare_number (word, number (data, row, column));
  if (word->op == IS || word->op == IS_NOT)
    return cell_contains (word, row, column, text, data, TRUE) == (word->op == IS);
  /* A number in a column of text: "3.14" > 3. */
  g_autofree char *shown = text (data, row, column);
  double value;
  return shown != NULL && tn_number_parse (shown, &value) && compare_number (word, value);
}

gboolean
tn_table_filter_match (const TnTableFilter *self, guint row, TnTableText text, TnTableNumber number, gpointer data)
{
  for (guint i = 0; i < self->words->len; i++)
    if (!word_holds (&g_array_index (self->words, Word, i), self->n_columns, row, text, number, data))
      return FALSE;
  return TRUE;
}
