/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dot-lexer.h"
#include <string.h>

void
tn_dot_lexer_init (TnDotLexer *self, const char *text, gsize n)
{
  *self = (TnDotLexer){ .at = text, .end = text + n, .line = 1, .text = g_string_new (NULL) };
  if (n >= 3 && memcmp (text, "\xef\xbb\xbf", 3) == 0)
    self->at += 3;
}

void
tn_dot_lexer_clear (TnDotLexer *self)
{
  g_string_free (self->text, TRUE);
}

static gboolean
more (const TnDotLexer *self, gsize n)
{
  return (gsize) (self->end - self->at) >= n;
}

static void
skip_line (TnDotLexer *self)
{
  while (more (self, 1) && *self->at != '\n')
    self->at++;
}

static void
skip_comment (TnDotLexer *self)
{
  for (self->at += 2; more (self, 1); self->at++)
    {
      if (*self->at == '\n')
        self->line++;
      if (more (self, 2) && self->at[0] == '*' && self->at[1] == '/')
        {
          self->at += 2;
          return;
        }
    }
}

static void
skip_blanks (TnDotLexer *self)
{
  gboolean line_start = FALSE;
  while (more (self, 1))
    {
      char c = *self->at;
      if (c == '\n')
        {
          self->line++;
          line_start = TRUE;
          self->at++;
        }
      else if (g_ascii_isspace (c))
        self->at++;
      else if (c == '#' && line_start)
        skip_line (self);
      else if (c == '/' && more (self, 2) && self->at[1] == '/')
        skip_line (self);
      else if (c == '/' && more (self, 2) && self->at[1] == '*')
        skip_comment (self);
      else
        return;
    }
}

static void
read_quoted (TnDotLexer *self)
{
  for (self->at++; more (self, 1) && *self->at != '"'; self->at++)
    {
      char c = *self->at;
      if (c == '\n')
        self->line++;
      if (c == '\\' && more (self, 2) && (self->at[1] == '"' || self->at[1] == '\n'))
        {
          self->at++;
          if (*self->at == '"')
            g_string_append_c (self->text, '"');
          else
            self->line++;
          continue;
        }
      g_string_append_c (self->text, c);
    }
  if (more (self, 1))
    self->at++;
  else
    self->kind = TN_DOT_WRONG;
}

/* Between brackets that may nest. MindSpore does not escape everything: where they are not even, "</table>>" ends it too. */
static void
read_html (TnDotLexer *self)
{
  int depth = 0;
  self->kind = TN_DOT_HTML;
  for (; more (self, 1); self->at++)
    {
      char c = *self->at;
      if (c == '\n')
        self->line++;
      depth += c == '<' ? 1 : c == '>' ? -1 : 0;
      gboolean table_ends = c == '>' && self->text->len >= 9 && g_ascii_strcasecmp (self->text->str + self->text->len - 8, "</table>") == 0
                            && more (self, 2) && strchr (",];\n ", self->at[1]) != NULL;
      if (depth == 0 || table_ends)
        {
          self->at++;
          g_string_erase (self->text, 0, 1);
          return;
        }
      g_string_append_c (self->text, c);
    }
  self->kind = TN_DOT_WRONG;
}

static gboolean
is_word_char (char c)
{
  return g_ascii_isalnum (c) || c == '_' || (c & 0x80) != 0;
}

static void
read_word (TnDotLexer *self)
{
  gboolean number = g_ascii_isdigit (*self->at) || *self->at == '.' || *self->at == '-';
  do
    g_string_append_c (self->text, *self->at++);
  while (more (self, 1) && (is_word_char (*self->at) || (number && *self->at == '.')));
  self->kind = TN_DOT_ID;
}

/* "a" + "b" */
static void
read_joined (TnDotLexer *self)
{
  self->kind = TN_DOT_ID;
  self->quoted = TRUE;
  read_quoted (self);
  while (self->kind == TN_DOT_ID)
    {
      const char *at = self->at;
      int line = self->line;
      skip_blanks (self);
      if (more (self, 1) && *self->at == '+')
        {
          self->at++;
          skip_blanks (self);
          if (more (self, 1) && *self->at == '"')
            {
              read_quoted (self);
              continue;
            }
        }
      self->at = at;
      self->line = line;
      return;
    }
}

void
tn_dot_lexer_next (TnDotLexer *self)
{
  skip_blanks (self);
  g_string_truncate (self->text, 0);
  self->quoted = FALSE;
  self->kind = TN_DOT_END;
  if (!more (self, 1) || *self->at == '\0')
    return;
  char c = *self->at;
  if (c == '-' && more (self, 2) && (self->at[1] == '>' || self->at[1] == '-'))
    {
      self->kind = self->at[1] == '>' ? TN_DOT_ARROW : TN_DOT_LINE;
      self->at += 2;
    }
  else if (strchr ("{}[]=;,:", c) != NULL)
    {
      self->kind = TN_DOT_SIGN;
      self->sign = c;
      self->at++;
    }
  else if (c == '"')
    read_joined (self);
  else if (c == '<')
    read_html (self);
  else if (is_word_char (c) || c == '.' || c == '-')
    read_word (self);
  else
    {
      self->kind = TN_DOT_WRONG;
      g_string_append_c (self->text, c);
      self->at++;
    }
}

gboolean
tn_dot_lexer_is (const TnDotLexer *self, char sign)
{
  return self->kind == TN_DOT_SIGN && self->sign == sign;
}

gboolean
tn_dot_lexer_is_word (const TnDotLexer *self, const char *word)
{
  return self->kind == TN_DOT_ID && !self->quoted && g_ascii_strcasecmp (self->text->str, word) == 0;
}
