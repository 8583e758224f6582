/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/arena.h"

/* The statements of .dot text as plain lists, before anybody says what they mean. Strings live in the arena. */
typedef struct
{
  const char *name, *value;
} TnDotAttr;

typedef struct
{
  const char *name;  /* its identifier */
  const char *label; /* NULL: none */
  gboolean html;     /* the label is HTML */
  const char *scope; /* clusters that it lies in, "outer/inner"; "" */
  int line;
  GArray *attrs;     /* TnDotAttr; NULL: none */
} TnDotNode;

typedef struct
{
  int from, to;
  const char *to_port; /* "" */
  const char *label;
  const char *style;
  const char *target; /* lhead: cluster; "" */
  const char *control; /* attribute of our own files; NULL */
} TnDotEdge;

typedef struct
{
  TnArena *arena;
  const char *name;
  gboolean directed;
  GArray *attrs; /* TnDotAttr of the graph */
  GArray *nodes; /* TnDotNode */
  GArray *edges; /* TnDotEdge */
  GHashTable *index; /* name -> node + 1 */
  char *error;   /* "line 812: unexpected “)”", or NULL */
} TnDotText;

TnDotText *tn_dot_text_parse (const char *text, gsize n);
void tn_dot_text_free (TnDotText *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnDotText, tn_dot_text_free)

const char *tn_dot_attr (const GArray *attrs, const char *name);
