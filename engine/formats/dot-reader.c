/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dot-reader.h"
#include "base/error.h"
#include "formats/dot-parser.h"
#include <string.h>

/* ---- labels ---- */

static void
append_text (GString *out, const char *from, const char *to)
{
  static const char *const entities[][2] = { { "&lt;", "<" }, { "&gt;", ">" }, { "&amp;", "&" }, { "&quot;", "\"" }, { "&#39;", "'" } };
  while (from < to)
    {
      gsize k = 0;
      for (; k < G_N_ELEMENTS (entities); k++)
        if (strncmp (from, entities[k][0], strlen (entities[k][0])) == 0)
          break;
      if (k < G_N_ELEMENTS (entities))
        {
          g_string_append (out, entities[k][1]);
          from += strlen (entities[k][0]);
        }
      else
        g_string_append_c (out, *from++);
    }
}

/* Texts of the cells of an HTML table, in order; tags are only passed over. */
static GPtrArray *
cells_of (const char *html)
{
  GPtrArray *cells = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) text = g_string_new (NULL);
  for (const char *at = html; *at != '\0' && cells->len < 4096;)
    {
      const char *tag = strchr (at, '<');
      append_text (text, at, tag != NULL ? tag : at + strlen (at));
      if (tag == NULL)
        break;
      const char *end = strchr (tag, '>');
      if (end == NULL)
        break;
      if (g_ascii_strncasecmp (tag, "<br", 3) == 0)
        g_string_append (text, ", ");
      else if (g_ascii_strncasecmp (tag, "</td", 4) == 0)
        {
          g_ptr_array_add (cells, g_strdup (g_strstrip (text->str)));
          g_string_truncate (text, 0);
        }
      at = end + 1;
    }
  if (cells->len == 0)
    g_ptr_array_add (cells, g_strdup (g_strstrip (text->str)));
  return cells;
}

/* "a\nb\lc|{d|<port> e}" as one line. */
static char *
plain_label (const TnDotNode *node)
{
  if (node->label == NULL || strcmp (node->label, "\\N") == 0)
    return g_strdup (node->name);
  if (node->html)
    {
      g_autoptr (GPtrArray) cells = cells_of (node->label);
      g_ptr_array_add (cells, NULL);
      g_autofree char *joined = g_strjoinv (" ", (char **) cells->pdata);
      return g_strdup (g_strstrip (joined)[0] != '\0' ? joined : node->name);
    }
  const char *shape = tn_dot_attr (node->attrs, "shape");
  gboolean record = strchr (node->label, '|') != NULL || (shape != NULL && strstr (shape, "record") != NULL);
  GString *out = g_string_new (NULL);
  for (const char *c = node->label; *c != '\0'; c++)
    if (*c == '\\' && c[1] != '\0')
      {
        c++;
        if (*c == 'N')
          g_string_append (out, node->name);
        else if (*c == 'n' || *c == 'l' || *c == 'r')
          g_string_append_c (out, ' ');
        else
          g_string_append_c (out, *c);
      }
    else if (record && *c == '<' && strchr (c, '>') != NULL)
      c = strchr (c, '>');
    else
      g_string_append_c (out, *c == '\n' || (record && strchr ("|{}", *c) != NULL) ? ' ' : *c);
  g_strstrip (out->str);
  if (out->str[0] == '\0')
    g_string_assign (out, node->name);
  return g_string_free (out, FALSE);
}

/* ---- plain files and our own ---- */

static TnItemKind
kind_from (const char *name)
{
  for (int k = 0; k <= TN_ITEM_CONSTANT; k++)
    if (g_strcmp0 (name, tn_item_kind_name (k)) == 0)
      return k;
  return TN_ITEM_OPERATOR;
}

static TnPhase
phase_from (const char *name)
{
  for (int p = 0; p <= TN_PHASE_RECOMPUTE; p++)
    if (g_strcmp0 (name, tn_phase_name (p)) == 0)
      return p;
  return TN_PHASE_FORWARD;
}

static double
number_from (const char *text)
{
  double value = text != NULL ? g_ascii_strtod (text, NULL) : 0;
  return value >= 0 && value < 1e300 ? value : 0;
}

static void
add_own_node (TnGraphDocument *document, const TnDotNode *node)
{
  const char *phase = tn_dot_attr (node->attrs, "tn_phase"), *name = tn_dot_attr (node->attrs, "tn_name");
  TnGraphItem item = { .name = name != NULL ? name : node->name, .label = tn_dot_attr (node->attrs, "tn_label"), .op = tn_dot_attr (node->attrs, "tn_op"),
                       .shape = tn_dot_attr (node->attrs, "tn_shape"), .dtype = tn_dot_attr (node->attrs, "tn_dtype"), .from = -1,
                       .order = node->line, .kind = kind_from (tn_dot_attr (node->attrs, "tn_kind")), .phase = phase_from (phase) };
  item.flops = number_from (tn_dot_attr (node->attrs, "tn_flops"));
  item.bytes = number_from (tn_dot_attr (node->attrs, "tn_bytes"));
  item.output_bytes = number_from (tn_dot_attr (node->attrs, "tn_output_bytes"));
  item.scope = tn_graph_document_scope (document, tn_dot_attr (node->attrs, "tn_scope"));
  tn_graph_document_add (document, &item);
  for (guint i = 0; node->attrs != NULL && i < node->attrs->len; i++)
    if (g_str_has_prefix (g_array_index (node->attrs, TnDotAttr, i).name, "tna_"))
      tn_graph_document_add_attr (document, g_array_index (node->attrs, TnDotAttr, i).name + 4, g_array_index (node->attrs, TnDotAttr, i).value);
}

static void
add_plain_node (TnGraphDocument *document, const TnDotNode *node)
{
  g_autofree char *label = plain_label (node);
  TnGraphItem item = { .name = node->name, .label = label, .op = "", .from = -1, .order = node->line };
  item.scope = tn_graph_document_scope (document, node->scope);
  tn_graph_document_add (document, &item);
  for (guint i = 0; node->attrs != NULL && i < node->attrs->len; i++)
    tn_graph_document_add_attr (document, g_array_index (node->attrs, TnDotAttr, i).name, g_array_index (node->attrs, TnDotAttr, i).value);
}

static void
add_plain_edges (TnGraphDocument *document, const TnDotText *text)
{
  for (guint i = 0; i < text->edges->len; i++)
    {
      const TnDotEdge *edge = &g_array_index (text->edges, TnDotEdge, i);
      double bytes = tn_graph_document_item (document, edge->from)->output_bytes;
      tn_graph_document_link (document, &(TnGraphLink){ .from = edge->from, .to = edge->to, .control = edge->control != NULL, .bytes = bytes,
                                                        .to_port = (int) number_from (edge->to_port) % 100000 });
    }
}

/* "tn_from=n12": the forward item of a backward one, by the identifier in the file. */
static void
link_origins (TnGraphDocument *document, const TnDotText *text)
{
  for (guint i = 0; i < text->nodes->len; i++)
    {
      const char *from = tn_dot_attr (g_array_index (text->nodes, TnDotNode, i).attrs, "tn_from");
      if (from != NULL)
        tn_graph_document_item (document, (int) i)->from = GPOINTER_TO_INT (g_hash_table_lookup (text->index, from)) - 1;
    }
}

/* ---- what MindSpore draws ---- */

typedef enum
{
  OTHER,
  CNODE,
  PRIMITIVE,
  VALUE,
  USE,       /* of a parameter */
  GRAPH,
  PARAMETERS /* the list of them */
} Role;

typedef struct
{
  Role role;
  GPtrArray *cells;
  int item;      /* -1: is no item of its own */
  int primitive; /* of a CNode */
} Drawn;

static void
clear_drawn (gpointer data)
{
  g_clear_pointer (&((Drawn *) data)->cells, g_ptr_array_unref);
}

static Role
role_of (const TnDotNode *node, GPtrArray *cells)
{
  const char *shape = tn_dot_attr (node->attrs, "shape");
  if (g_str_has_prefix (node->name, "parameters_"))
    return PARAMETERS;
  if (!node->html)
    return g_strcmp0 (shape, "octagon") == 0 || g_strcmp0 (shape, "ellipse") == 0 ? USE : g_strcmp0 (shape, "oval") == 0 ? GRAPH : OTHER;
  if (strstr (node->label, "cornsilk") != NULL)
    return CNODE;
  return cells->len > 0 && g_str_has_prefix (cells->pdata[0], "Primitive") ? PRIMITIVE : VALUE;
}

/* "CNode(x)", or in ModelDigraph "Conv2DCNode". */
static const char *
cnode_cell (const Drawn *drawn)
{
  for (guint i = 0; i < drawn->cells->len; i++)
    {
      const char *cell = drawn->cells->pdata[i];
      if (!g_ascii_isdigit (cell[0]))
        return cell;
    }
  return "";
}

static void
add_drawn_node (TnGraphDocument *document, const TnDotNode *node, Drawn *drawn, const Drawn *primitive)
{
  TnGraphItem item = { .from = -1, .order = node->line, .op = "" };
  g_autofree char *name = NULL, *op = NULL;
  item.scope = tn_graph_document_scope (document, node->scope);
  switch (drawn->role)
    {
    case CNODE:
      {
        const char *cell = cnode_cell (drawn);
        gboolean whole = g_str_has_prefix (cell, "CNode(");
        gsize n = strlen (cell);
        name = whole ? g_strndup (cell + 6, n - 6 - (cell[n - 1] == ')')) : g_strdup (node->name);
        if (primitive != NULL && primitive->cells->len > 1)
          op = g_strdup (primitive->cells->pdata[1]);
        else
          op = !whole && g_str_has_suffix (cell, "CNode") ? g_strndup (cell, n - 5) : g_strdup (whole ? "" : cell);
        const char *plain = g_str_has_prefix (op, "PrimFunc_") ? op + strlen ("PrimFunc_") : op;
        item.op = plain;
        item.name = name;
        item.label = plain[0] != '\0' ? plain : name;
        item.kind = strcmp (plain, "Load") == 0 ? TN_ITEM_PARAMETER : strcmp (plain, "Return") == 0 ? TN_ITEM_OUTPUT : TN_ITEM_OPERATOR;
        break;
      }
    case USE:
      name = plain_label (node);
      item.name = name;
      item.op = "Parameter";
      item.kind = TN_ITEM_PARAMETER;
      break;
    case GRAPH:
      name = plain_label (node);
      item.name = name;
      item.op = "Graph";
      break;
    case VALUE:
      item.name = drawn->cells->len > 1 ? drawn->cells->pdata[1] : node->name;
      item.op = drawn->cells->len > 0 ? drawn->cells->pdata[0] : "Constant";
      item.kind = TN_ITEM_CONSTANT;
      break;
    default:
      name = plain_label (node);
      item.name = name;
    }
  drawn->item = tn_graph_document_add (document, &item);
  const Drawn *attrs = primitive != NULL ? primitive : drawn;
  for (guint i = drawn->role == CNODE && primitive == NULL ? attrs->cells->len : 2; i < attrs->cells->len; i++)
    {
      g_autofree char *pair = g_strndup (attrs->cells->pdata[i], 1024);
      char *space = strchr (pair, ' ');
      if (space != NULL)
        *space++ = '\0';
      if (pair[0] != '\0')
        tn_graph_document_add_attr (document, pair, space);
    }
}

static void
add_drawn_graph (TnGraphDocument *document, const TnDotText *text)
{
  g_autoptr (GArray) all = g_array_new (FALSE, TRUE, sizeof (Drawn));
  g_array_set_clear_func (all, clear_drawn);
  g_array_set_size (all, text->nodes->len);
  for (guint i = 0; i < text->nodes->len; i++)
    {
      const TnDotNode *node = &g_array_index (text->nodes, TnDotNode, i);
      Drawn *drawn = &g_array_index (all, Drawn, i);
      drawn->cells = node->html ? cells_of (node->label) : g_ptr_array_new_with_free_func (g_free);
      drawn->role = role_of (node, drawn->cells);
      drawn->item = drawn->primitive = -1;
    }
  for (guint i = 0; i < text->edges->len; i++)
    {
      const TnDotEdge *edge = &g_array_index (text->edges, TnDotEdge, i);
      Drawn *from = &g_array_index (all, Drawn, edge->from), *to = &g_array_index (all, Drawn, edge->to);
      if (from->role == PRIMITIVE && to->role == CNODE && strcmp (edge->to_port, "0") == 0)
        to->primitive = edge->from;
    }
  for (guint i = 0; i < text->nodes->len; i++)
    {
      Drawn *drawn = &g_array_index (all, Drawn, i);
      if (drawn->role != PRIMITIVE && drawn->role != PARAMETERS)
        add_drawn_node (document, &g_array_index (text->nodes, TnDotNode, i), drawn,
                        drawn->primitive >= 0 ? &g_array_index (all, Drawn, drawn->primitive) : NULL);
    }
  for (guint i = 0; i < text->edges->len; i++)
    {
      const TnDotEdge *edge = &g_array_index (text->edges, TnDotEdge, i);
      int from = g_array_index (all, Drawn, edge->from).item, to = g_array_index (all, Drawn, edge->to).item;
      if (from < 0 || to < 0)
        continue;
      gboolean control = strcmp (tn_graph_document_item (document, from)->op, "UpdateState") == 0
                         || strcmp (tn_graph_document_item (document, to)->op, "UpdateState") == 0;
      tn_graph_document_link (document, &(TnGraphLink){ .from = from, .to = to, .to_port = (int) number_from (edge->to_port) % 100000,
                                                        .control = control });
    }
}

TnGraphDocument *
tn_dot_read (const char *bytes, gsize n, const char *name, GError **error)
{
  g_autoptr (TnDotText) text = tn_dot_text_parse (bytes, n);
  if (text->nodes->len == 0 && text->error != NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("This is no graph in .dot text: %s"), text->error);
      return NULL;
    }
  gboolean ours = tn_dot_attr (text->attrs, "tn_format") != NULL, mindspore = strcmp (text->name, "mindspore") == 0;
  TnGraphDocument *document = tn_graph_document_new (text->name[0] != '\0' && !mindspore ? text->name : name, mindspore ? "MindSpore .dot" : ours ? "Tenon .dot" : ".dot");
  document->undirected = !text->directed;
  if (mindspore)
    add_drawn_graph (document, text);
  else
    {
      for (guint i = 0; i < text->nodes->len; i++)
        {
          const TnDotNode *node = &g_array_index (text->nodes, TnDotNode, i);
          if (ours)
            add_own_node (document, node);
          else
            add_plain_node (document, node);
        }
      if (ours)
        link_origins (document, text);
      add_plain_edges (document, text);
    }
  if (text->error != NULL)
    {
      g_autofree char *note = g_strdup_printf (_ ("%s. Graph up to node %u shown"), text->error, text->nodes->len);
      tn_graph_document_set_note (document, note);
    }
  tn_graph_document_finish (document);
  return document;
}
