/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* Words of .dot text. Strings with backslashes, joined by “+”, HTML between brackets, comments and “#” lines are taken care of. */
typedef enum
{
  TN_DOT_END,
  TN_DOT_ID,
  TN_DOT_HTML,
  TN_DOT_ARROW, /* -> */
  TN_DOT_LINE,  /* -- */
  TN_DOT_SIGN,  /* { } [ ] = ; , : */
  TN_DOT_WRONG  /* @text is what stands there */
} TnDotKind;

typedef struct
{
  const char *at, *end;
  int line; /* of the present word */
  TnDotKind kind;
  char sign;
  gboolean quoted; /* an ID in quotes is never a keyword */
  GString *text;
} TnDotLexer;

void tn_dot_lexer_init (TnDotLexer *self, const char *text, gsize n);
void tn_dot_lexer_clear (TnDotLexer *self);
void tn_dot_lexer_next (TnDotLexer *self);
gboolean tn_dot_lexer_is (const TnDotLexer *self, char sign);
/** Whether the word is this keyword, whatever its case. */
gboolean tn_dot_lexer_is_word (const TnDotLexer *self, const char *word);
