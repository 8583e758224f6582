/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dot-parser.h"
#include "base/error.h"
#include "formats/dot-lexer.h"
#include <string.h>

#define MAX_DEPTH 64
#define MAX_NODES 2000000
#define MAX_EDGES 8000000
#define MAX_ATTRS 64     /* of a node */
#define MAX_VALUE 16384  /* bytes of a kept value */

/* Defaults that hold in one pair of braces. */
typedef struct Scope Scope;
struct Scope
{
  Scope *above;
  const char *path;    /* clusters */
  char *cluster;       /* this one's last part, or NULL; free */
  const char *label;   /* default of nodes */
  GArray *members;     /* int: nodes named here, for a subgraph as the end of an edge */
};

typedef struct
{
  TnDotText *text;
  TnDotLexer lexer;
  int depth;
} Parser;

static gboolean parse_statements (Parser *self, Scope *scope);

/* ---- helpers ---- */

static gboolean
fail (Parser *self)
{
  if (self->text->error != NULL)
    return FALSE;
  const TnDotLexer *lexer = &self->lexer;
  g_autofree char *word = NULL;
  if (lexer->kind == TN_DOT_SIGN)
    word = g_strdup_printf ("%c", lexer->sign);
  else if (lexer->kind == TN_DOT_ARROW || lexer->kind == TN_DOT_LINE)
    word = g_strdup (lexer->kind == TN_DOT_ARROW ? "->" : "--");
  else if (lexer->kind != TN_DOT_END)
    {
      g_autofree char *cut = g_strndup (lexer->text->str, 40);
      word = g_utf8_make_valid (cut, -1);
    }
  if (word == NULL)
    self->text->error = g_strdup_printf (_ ("line %d: the text ends too early"), lexer->line);
  else
    self->text->error = g_strdup_printf (_ ("line %d: unexpected “%s”"), lexer->line, word);
  return FALSE;
}

static const char *
keep (Parser *self, const char *text, gsize max)
{
  gsize n = strnlen (text, max);
  char *cut = g_strndup (text, n);
  if (!g_utf8_validate (cut, -1, NULL))
    {
      char *valid = g_utf8_make_valid (cut, -1);
      g_free (cut);
      cut = valid;
    }
  const char *kept = tn_arena_strdup (self->text->arena, cut);
  g_free (cut);
  return kept;
}

static gboolean
expect (Parser *self, char sign)
{
  if (!tn_dot_lexer_is (&self->lexer, sign))
    return fail (self);
  tn_dot_lexer_next (&self->lexer);
  return TRUE;
}

const char *
tn_dot_attr (const GArray *attrs, const char *name)
{
  for (guint i = 0; attrs != NULL && i < attrs->len; i++)
    if (strcmp (g_array_index (attrs, TnDotAttr, i).name, name) == 0)
      return g_array_index (attrs, TnDotAttr, i).value;
  return NULL;
}

static int
find_node (Parser *self, Scope *scope, const char *name)
{
  int found = GPOINTER_TO_INT (g_hash_table_lookup (self->text->index, name)) - 1;
  if (found < 0)
    {
      if (self->text->nodes->len >= MAX_NODES)
        return -1;
      TnDotNode node = { .name = keep (self, name, MAX_VALUE), .label = scope->label, .scope = scope->path, .line = self->lexer.line };
      g_array_append_val (self->text->nodes, node);
      found = (int) self->text->nodes->len - 1;
      g_hash_table_insert (self->text->index, (gpointer) node.name, GINT_TO_POINTER (found + 1));
    }
  else if (scope->path[0] != '\0')
    {
      TnDotNode *node = &g_array_index (self->text->nodes, TnDotNode, found);
      if (node->scope[0] == '\0')
        node->scope = scope->path;
    }
  for (Scope *s = scope; s != NULL; s = s->above)
    if (s->members != NULL)
      g_array_append_val (s->members, found);
  return found;
}

/* ---- attributes ---- */

typedef void (*AttrFunc) (Parser *self, const char *name, gboolean html, gpointer data);

/* "[a=b, c="d"; e]", as many lists as there are. The value is the lexer's present word. */
static gboolean
parse_attrs (Parser *self, AttrFunc take, gpointer data)
{
  while (tn_dot_lexer_is (&self->lexer, '['))
    {
      tn_dot_lexer_next (&self->lexer);
      while (!tn_dot_lexer_is (&self->lexer, ']'))
        {
          if (self->lexer.kind != TN_DOT_ID)
            return fail (self);
          g_autofree char *name = g_strdup (self->lexer.text->str);
          tn_dot_lexer_next (&self->lexer);
          if (tn_dot_lexer_is (&self->lexer, '='))
            {
              tn_dot_lexer_next (&self->lexer);
              if (self->lexer.kind != TN_DOT_ID && self->lexer.kind != TN_DOT_HTML)
                return fail (self);
              take (self, name, self->lexer.kind == TN_DOT_HTML, data);
              tn_dot_lexer_next (&self->lexer);
            }
          if (tn_dot_lexer_is (&self->lexer, ',') || tn_dot_lexer_is (&self->lexer, ';'))
            tn_dot_lexer_next (&self->lexer);
        }
      tn_dot_lexer_next (&self->lexer);
    }
  return TRUE;
}

/* What would be fetched or drawn from elsewhere is dropped. */
static gboolean
is_dropped (const char *name)
{
  static const char *const names[] = { "image", "imagepath", "shapefile", "fontpath", "URL", "href", "edgeURL", "labelURL", "stylesheet", NULL };
  return g_strv_contains (names, name);
}

static void
take_node_attr (Parser *self, const char *name, gboolean html, gpointer data)
{
  TnDotNode *node = &g_array_index (self->text->nodes, TnDotNode, GPOINTER_TO_INT (data));
  const char *value = self->lexer.text->str;
  if (strcmp (name, "label") == 0)
    {
      node->label = keep (self, value, html ? 1 << 20 : MAX_VALUE);
      node->html = html;
      return;
    }
  if (is_dropped (name))
    return;
  if (node->attrs == NULL)
    node->attrs = g_array_new (FALSE, FALSE, sizeof (TnDotAttr));
  if (node->attrs->len >= MAX_ATTRS)
    return;
  TnDotAttr attr = { keep (self, name, 256), keep (self, value, MAX_VALUE) };
  g_array_append_val (node->attrs, attr);
}

static void
take_edge_attr (Parser *self, const char *name, gboolean html, gpointer data)
{
  TnDotEdge *edge = data;
  const char *value = keep (self, self->lexer.text->str, MAX_VALUE);
  if (strcmp (name, "label") == 0)
    edge->label = value;
  else if (strcmp (name, "style") == 0)
    edge->style = value;
  else if (strcmp (name, "lhead") == 0)
    edge->target = value;
  else if (strcmp (name, "tn_control") == 0)
    edge->control = value;
}

static void
take_default (Parser *self, const char *name, gboolean html, gpointer data)
{
  Scope *scope = data;
  if (strcmp (name, "label") == 0 && !html)
    scope->label = keep (self, self->lexer.text->str, MAX_VALUE);
}

static void
take_nothing (Parser *self, const char *name, gboolean html, gpointer data)
{
}

static void
set_graph_attr (Parser *self, Scope *scope, const char *name)
{
  if (scope->above == NULL)
    {
      if (self->text->attrs->len >= MAX_ATTRS || is_dropped (name))
        return;
      TnDotAttr attr = { keep (self, name, 256), keep (self, self->lexer.text->str, MAX_VALUE) };
      g_array_append_val (self->text->attrs, attr);
    }
}

static void
take_graph_attr (Parser *self, const char *name, gboolean html, gpointer data)
{
  set_graph_attr (self, data, name);
}

/* ---- clusters ---- */

/* The label of a cluster stands inside it: looked for ahead, so that nodes get their scope at once. Ours is "tn_scope". */
static char *
cluster_title (Parser *self, const char *id)
{
  TnDotLexer ahead = self->lexer;
  ahead.text = g_string_new (self->lexer.text->str);
  g_autofree char *title = NULL;
  int depth = 1;
  for (int i = 0; i < 64 && depth > 0 && ahead.kind != TN_DOT_END; i++)
    {
      tn_dot_lexer_next (&ahead);
      depth += tn_dot_lexer_is (&ahead, '{') ? 1 : tn_dot_lexer_is (&ahead, '}') ? -1 : 0;
      gboolean ours = ahead.kind == TN_DOT_ID && strcmp (ahead.text->str, "tn_scope") == 0;
      if (depth != 1 || ahead.kind != TN_DOT_ID || (!ours && strcmp (ahead.text->str, "label") != 0))
        continue;
      tn_dot_lexer_next (&ahead);
      if (!tn_dot_lexer_is (&ahead, '='))
        continue;
      tn_dot_lexer_next (&ahead);
      if (ahead.kind != TN_DOT_ID)
        continue;
      g_free (title);
      title = g_strndup (ahead.text->str, 256);
      if (ours)
        break;
    }
  g_string_free (ahead.text, TRUE);
  if (title == NULL || title[0] == '\0')
    return g_strdup (id);
  g_strdelimit (title, "\n\r", ' ');
  return g_steal_pointer (&title);
}

static gboolean
parse_braces (Parser *self, Scope *above, const char *id, GArray *members)
{
  Scope scope = { .above = above, .path = above->path, .label = above->label, .members = members };
  if (++self->depth > MAX_DEPTH)
    {
      self->depth--;
      return fail (self);
    }
  if (g_str_has_prefix (id, "cluster"))
    {
      g_autofree char *title = cluster_title (self, id);
      g_strdelimit (title, "/", '|');
      g_autofree char *path = above->path[0] != '\0' ? g_strconcat (above->path, "/", title, NULL) : g_strdup (title);
      scope.path = keep (self, path, MAX_VALUE);
    }
  gboolean done = expect (self, '{') && parse_statements (self, &scope) && expect (self, '}');
  self->depth--;
  return done;
}

/* ---- statements ---- */

/* One end of an edge: a node with its port, or all nodes of a subgraph. */
static gboolean
parse_end (Parser *self, Scope *scope, GArray *members, char **port)
{
  g_autofree char *id = NULL;
  *port = NULL;
  if (tn_dot_lexer_is_word (&self->lexer, "subgraph"))
    {
      tn_dot_lexer_next (&self->lexer);
      if (self->lexer.kind == TN_DOT_ID)
        {
          id = g_strdup (self->lexer.text->str);
          tn_dot_lexer_next (&self->lexer);
        }
      return tn_dot_lexer_is (&self->lexer, '{') ? parse_braces (self, scope, id != NULL ? id : "", members) : TRUE;
    }
  if (tn_dot_lexer_is (&self->lexer, '{'))
    return parse_braces (self, scope, "", members);
  if (self->lexer.kind != TN_DOT_ID && self->lexer.kind != TN_DOT_HTML)
    return fail (self);
  int node = find_node (self, scope, self->lexer.text->str);
  if (node < 0)
    return fail (self);
  g_array_append_val (members, node);
  tn_dot_lexer_next (&self->lexer);
  for (int i = 0; i < 2 && tn_dot_lexer_is (&self->lexer, ':'); i++)
    {
      tn_dot_lexer_next (&self->lexer);
      if (self->lexer.kind != TN_DOT_ID)
        return fail (self);
      if (*port == NULL)
        *port = g_strdup (self->lexer.text->str);
      tn_dot_lexer_next (&self->lexer);
    }
  return TRUE;
}

static gboolean
add_edges (Parser *self, const GArray *from, const GArray *to, const char *port)
{
  for (guint i = 0; i < from->len; i++)
    for (guint k = 0; k < to->len; k++)
      {
        if (self->text->edges->len >= MAX_EDGES)
          return fail (self);
        TnDotEdge edge = { .from = g_array_index (from, int, i), .to = g_array_index (to, int, k), .label = "", .style = "", .target = "",
                           .to_port = port != NULL ? keep (self, port, 64) : "" };
        g_array_append_val (self->text->edges, edge);
      }
  return TRUE;
}

static gboolean
parse_node_or_edge (Parser *self, Scope *scope)
{
  g_autoptr (GArray) from = g_array_new (FALSE, FALSE, sizeof (int));
  g_autofree char *first_port = NULL;
  guint first_edge = self->text->edges->len;
  gboolean is_node = self->lexer.kind == TN_DOT_ID && !tn_dot_lexer_is_word (&self->lexer, "subgraph");
  if (!parse_end (self, scope, from, &first_port))
    return FALSE;
  while (self->lexer.kind == TN_DOT_ARROW || self->lexer.kind == TN_DOT_LINE)
    {
      tn_dot_lexer_next (&self->lexer);
      GArray *to = g_array_new (FALSE, FALSE, sizeof (int));
      g_autofree char *port = NULL;
      if (!parse_end (self, scope, to, &port) || !add_edges (self, from, to, port))
        {
          g_array_unref (to);
          return FALSE;
        }
      g_array_unref (from);
      from = to;
      is_node = FALSE;
    }
  if (is_node)
    return parse_attrs (self, take_node_attr, GINT_TO_POINTER (g_array_index (from, int, 0)));
  TnDotEdge attrs = { .label = "", .style = "", .target = "" };
  if (!parse_attrs (self, take_edge_attr, &attrs))
    return FALSE;
  for (guint i = first_edge; i < self->text->edges->len; i++)
    {
      TnDotEdge *edge = &g_array_index (self->text->edges, TnDotEdge, i);
      edge->label = attrs.label;
      edge->style = attrs.style;
      edge->target = attrs.target;
      edge->control = attrs.control;
    }
  return TRUE;
}

/* "name = value" of the graph or a cluster; @done says whether it was one. */
static gboolean
parse_assignment (Parser *self, Scope *scope, gboolean *done)
{
  TnDotLexer ahead = self->lexer;
  ahead.text = g_string_new (NULL);
  tn_dot_lexer_next (&ahead);
  *done = self->lexer.kind == TN_DOT_ID && tn_dot_lexer_is (&ahead, '=');
  g_string_free (ahead.text, TRUE);
  if (!*done)
    return TRUE;
  g_autofree char *name = g_strdup (self->lexer.text->str);
  tn_dot_lexer_next (&self->lexer);
  tn_dot_lexer_next (&self->lexer);
  if (self->lexer.kind != TN_DOT_ID && self->lexer.kind != TN_DOT_HTML)
    return fail (self);
  set_graph_attr (self, scope, name);
  tn_dot_lexer_next (&self->lexer);
  return TRUE;
}

static gboolean
parse_statement (Parser *self, Scope *scope)
{
  gboolean is_node = tn_dot_lexer_is_word (&self->lexer, "node"), is_graph = tn_dot_lexer_is_word (&self->lexer, "graph");
  if (is_node || is_graph || tn_dot_lexer_is_word (&self->lexer, "edge"))
    {
      tn_dot_lexer_next (&self->lexer);
      return parse_attrs (self, is_node ? take_default : is_graph ? take_graph_attr : take_nothing, scope);
    }
  gboolean done;
  if (!parse_assignment (self, scope, &done))
    return FALSE;
  return done || parse_node_or_edge (self, scope);
}

static gboolean
parse_statements (Parser *self, Scope *scope)
{
  while (!tn_dot_lexer_is (&self->lexer, '}'))
    {
      if (tn_dot_lexer_is (&self->lexer, ';') || tn_dot_lexer_is (&self->lexer, ','))
        tn_dot_lexer_next (&self->lexer);
      else if (self->lexer.kind == TN_DOT_END || !parse_statement (self, scope))
        return fail (self);
    }
  return TRUE;
}

static void
parse_graph (Parser *self)
{
  if (tn_dot_lexer_is_word (&self->lexer, "strict"))
    tn_dot_lexer_next (&self->lexer);
  self->text->directed = tn_dot_lexer_is_word (&self->lexer, "digraph");
  if (!self->text->directed && !tn_dot_lexer_is_word (&self->lexer, "graph"))
    {
      fail (self);
      return;
    }
  tn_dot_lexer_next (&self->lexer);
  if (self->lexer.kind == TN_DOT_ID)
    {
      self->text->name = keep (self, self->lexer.text->str, MAX_VALUE);
      tn_dot_lexer_next (&self->lexer);
    }
  Scope scope = { .path = "" };
  if (expect (self, '{') && parse_statements (self, &scope))
    expect (self, '}');
}

TnDotText *
tn_dot_text_parse (const char *text, gsize n)
{
  TnDotText *self = g_new0 (TnDotText, 1);
  self->arena = tn_arena_new ();
  self->name = "";
  self->attrs = g_array_new (FALSE, FALSE, sizeof (TnDotAttr));
  self->nodes = g_array_new (FALSE, FALSE, sizeof (TnDotNode));
  self->edges = g_array_new (FALSE, FALSE, sizeof (TnDotEdge));
  self->index = g_hash_table_new (g_str_hash, g_str_equal);
  Parser parser = { .text = self };
  tn_dot_lexer_init (&parser.lexer, text, n);
  tn_dot_lexer_next (&parser.lexer);
  parse_graph (&parser);
  tn_dot_lexer_clear (&parser.lexer);
  return self;
}

void
tn_dot_text_free (TnDotText *self)
{
  for (guint i = 0; i < self->nodes->len; i++)
    g_clear_pointer (&g_array_index (self->nodes, TnDotNode, i).attrs, g_array_unref);
  g_array_unref (self->attrs);
  g_array_unref (self->nodes);
  g_array_unref (self->edges);
  g_hash_table_unref (self->index);
  g_free (self->error);
  tn_arena_free (self->arena);
  g_free (self);
}
