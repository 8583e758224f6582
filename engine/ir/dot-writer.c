/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/dot-writer.h"
#include "base/durable.h"
#include "ir/ir-values.h"
#include "ops/op.h"
#include <string.h>

#define MAX_CELL 200 /* bytes of one value in a table */

typedef struct
{
  GString *nodes;     /* statements of the cluster that is being written */
  GString *edges;     /* of all clusters: they follow at the end */
  GPtrArray *graphs;  /* TnGraph, the entry first */
  GHashTable *index;  /* TnGraph -> its place in @graphs, plus one */
  int g;              /* the one that is being written */
  int n_extra;        /* nodes for operators, constants and uses of parameters so far */
} Writer;

static void
collect (Writer *self, TnGraph *graph)
{
  if (g_hash_table_contains (self->index, graph))
    return;
  g_ptr_array_add (self->graphs, graph);
  g_hash_table_insert (self->index, graph, GINT_TO_POINTER ((int) self->graphs->len));
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    for (int k = 0; k < tn_graph_node (graph, i)->n_subgraphs; k++)
      collect (self, tn_graph_node (graph, i)->subgraphs[k]);
}

/* ---- escaping ---- */

static char *
shorten (const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  if (strlen (valid) <= MAX_CELL)
    return g_steal_pointer (&valid);
  const char *end = g_utf8_find_prev_char (valid, valid + MAX_CELL + 1);
  return g_strdup_printf ("%.*s…", (int) (end - valid), valid);
}

/* For HTML labels, whose text is XML: no control characters, and no cell may be empty. */
static void
append_html (GString *out, const char *text)
{
  g_autofree char *shown = shorten (text);
  for (const char *c = shown; *c != '\0'; c++)
    if (*c == '<')
      g_string_append (out, "&lt;");
    else if (*c == '>')
      g_string_append (out, "&gt;");
    else if (*c == '&')
      g_string_append (out, "&amp;");
    else if (*c == '"')
      g_string_append (out, "&quot;");
    else if (*c == '\'')
      g_string_append (out, "&#39;");
    else if (*c == '\n')
      g_string_append (out, "<br/>");
    else
      g_string_append_c (out, (unsigned char) *c < 0x20 || *c == 0x7f ? ' ' : *c);
  if (shown[0] == '\0')
    g_string_append_c (out, '-');
}

/* For labels in quotes, where Graphviz knows backslashes and entities. */
static void
append_label (GString *out, const char *text)
{
  g_autofree char *shown = shorten (text);
  for (const char *c = shown; *c != '\0'; c++)
    if (*c == '"' || *c == '\\')
      g_string_append_printf (out, "\\%c", *c);
    else if (*c == '&')
      g_string_append (out, "&amp;");
    else
      g_string_append_c (out, (unsigned char) *c < 0x20 || *c == 0x7f ? ' ' : *c);
}

/* ---- nodes ---- */

/* "<table ...><tr><td bgcolor='white'>KIND</td></tr><tr><td>": what operators and constants have in common. */
static int
begin_value (Writer *self, const char *kind, const char *text)
{
  g_string_append_printf (self->nodes,
                          "node%d_x%d[fontname=\"Courier New\",shape=plaintext,label=<<table port='core' cellborder='0' cellspacing='2' "
                          "bgcolor='lavender'><tr><td bgcolor='white'>",
                          self->g, self->n_extra);
  append_html (self->nodes, kind);
  g_string_append (self->nodes, "</td></tr><tr><td>");
  append_html (self->nodes, text);
  g_string_append (self->nodes, "</td></tr>");
  return self->n_extra++;
}

static int
write_primitive (Writer *self, const TnNode *node)
{
  int id = begin_value (self, "Primitive", node->op->name);
  for (int i = 0; i < node->n_attrs; i++)
    {
      g_autoptr (GString) text = g_string_new (node->attrs[i].name);
      g_string_append_c (text, ' ');
      tn_ir_append_attr (text, &node->attrs[i]);
      g_string_append (self->nodes, "<tr><td align='left'>");
      append_html (self->nodes, text->str);
      g_string_append (self->nodes, "</td></tr>");
    }
  g_string_append (self->nodes, "</table>>,]\n");
  return id;
}

static int
write_constant (Writer *self, const TnNode *node)
{
  g_autoptr (GString) text = g_string_new (NULL);
  tn_ir_append_tensor (text, tn_node_constant (node));
  int id = begin_value (self, "Tensor", text->str);
  g_string_append (self->nodes, "</table>>,]\n");
  return id;
}

static int
write_use (Writer *self, const TnNode *node)
{
  g_string_append_printf (self->nodes, "node%d_x%d[fontname=\"Courier New\",shape=octagon,label=\"", self->g, self->n_extra);
  append_label (self->nodes, node->name);
  g_string_append (self->nodes, "\",style=filled,fillcolor=paleturquoise,]\n");
  return self->n_extra++;
}

/* "node0_7[...]" with ports 0 (the operator) to @n_ports. @id < 0: Return. */
static void
write_table (Writer *self, int id, int n_ports, const char *title)
{
  if (id >= 0)
    g_string_append_printf (self->nodes, "node%d_%d", self->g, id);
  else
    g_string_append_printf (self->nodes, "node%d_return", self->g);
  g_string_append (self->nodes, "[fontname=\"Courier New\",shape=plaintext,label=<<table port='core'>\n<tr>");
  for (int i = 0; i <= n_ports; i++)
    g_string_append_printf (self->nodes, "<td port='%d'>%d</td>", i, i);
  g_string_append_printf (self->nodes, "</tr>\n<tr><td colspan='%d' bgcolor='cornsilk'>CNode(", n_ports + 1);
  append_html (self->nodes, title);
  g_string_append (self->nodes, ")</td></tr>\n</table>>,]\n");
}

/* ---- edges ---- */

static void
append_target (Writer *self, int id, int port)
{
  if (id >= 0)
    g_string_append_printf (self->edges, "node%d_%d:%d", self->g, id, port);
  else
    g_string_append_printf (self->edges, "node%d_return:%d", self->g, port);
}

static void
write_operator_edge (Writer *self, int primitive, int id, gboolean has_inputs)
{
  g_string_append_printf (self->edges, "node%d_x%d:core->", self->g, primitive);
  append_target (self, id, 0);
  g_string_append (self->edges, has_inputs ? "[arrowhead=vee,style=dashed]\n" : "[arrowhead=vee,]\n");
}

static void
write_input (Writer *self, const TnValue *value, int id, int port)
{
  const TnNode *node = value->node;
  if (tn_node_is_constant (node))
    {
      int x = write_constant (self, node);
      g_string_append_printf (self->edges, "node%d_x%d:core->", self->g, x);
    }
  else if (node->op->flags & TN_OP_LEAF)
    {
      int x = write_use (self, node);
      g_string_append_printf (self->edges, "node%d_x%d->", self->g, x);
    }
  else
    g_string_append_printf (self->edges, "node%d_%d:core->", self->g, node->id);
  append_target (self, id, port);
  g_string_append (self->edges, "[arrowhead=vee,]\n");
}

/* An oval for the subgraph, an edge from it to its place and a blue one to the cluster. */
static void
write_subgraph_use (Writer *self, const TnGraph *graph, int id, int port)
{
  int target = GPOINTER_TO_INT (g_hash_table_lookup (self->index, graph)) - 1, x = self->n_extra++;
  g_string_append_printf (self->nodes, "node%d_x%d[fontname=\"Courier New\",shape=oval,label=\"", self->g, x);
  append_label (self->nodes, tn_graph_name (graph));
  g_string_append_printf (self->nodes, "\",style=filled,fillcolor=palegreen,URL=\"#cluster_%d\",]\n", target);
  g_string_append_printf (self->edges, "node%d_x%d->", self->g, x);
  append_target (self, id, port);
  g_string_append (self->edges, "[arrowhead=vee,]\n");
  g_string_append_printf (self->edges, "node%d_x%d->node%d_return[lhead=cluster_%d,dir=both,arrowhead=dot,style=filled,color=blue]\n",
                          self->g, x, target, target);
}

/* ---- graphs ---- */

static void
write_node (Writer *self, const TnNode *node)
{
  int n_ports = node->n_subgraphs + node->n_inputs;
  g_autofree char *title = g_strdup_printf ("CNode_%d", node->id);
  write_table (self, node->id, n_ports, title);
  write_operator_edge (self, write_primitive (self, node), node->id, n_ports > 0);
  for (int i = 0; i < node->n_subgraphs; i++)
    write_subgraph_use (self, node->subgraphs[i], node->id, i + 1);
  for (int i = 0; i < node->n_inputs; i++)
    write_input (self, node->inputs[i], node->id, node->n_subgraphs + i + 1);
}

static void
write_return (Writer *self, const TnGraph *graph)
{
  write_table (self, -1, tn_graph_n_outputs (graph), "Return");
  int primitive = begin_value (self, "Primitive", "Return");
  g_string_append (self->nodes, "</table>>,]\n");
  write_operator_edge (self, primitive, -1, tn_graph_n_outputs (graph) > 0);
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    write_input (self, tn_graph_output (graph, i).value, -1, i + 1);
}

static void
write_parameter_row (Writer *self, const TnValue *value)
{
  g_string_append (self->nodes, "<tr><td>");
  append_html (self->nodes, value->node->name);
  g_string_append_c (self->nodes, '[');
  for (int i = 0; i < value->shape.n_dims; i++)
    g_string_append_printf (self->nodes, "%" G_GINT64_FORMAT ",", (gint64) value->shape.dims[i]);
  g_string_append (self->nodes, "]</td></tr>");
}

static void
write_parameters (Writer *self, const TnGraph *graph)
{
  g_string_append_printf (self->nodes,
                          "parameters_%d[fontname=\"Courier New\",shape=plaintext,label=<<table bgcolor='paleturquoise' cellspacing='0' "
                          "cellborder='1' border='0'><tr><td>parameters</td></tr>",
                          self->g);
  for (int i = 0; i < tn_graph_n_inputs (graph); i++)
    write_parameter_row (self, tn_graph_input (graph, i));
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    write_parameter_row (self, tn_graph_parameter (graph, i));
  g_string_append (self->nodes, "</table>>,];\n");
}

static void
write_graph (Writer *self, const TnGraph *graph)
{
  g_string_append_printf (self->nodes, "subgraph cluster_%d{\nid=cluster_%d\nlabel=\"", self->g, self->g);
  append_label (self->nodes, tn_graph_name (graph));
  g_string_append (self->nodes, "[managed]\"\nfontname=\"Courier New\"\n");
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    if (!(tn_graph_node (graph, i)->op->flags & TN_OP_LEAF))
      write_node (self, tn_graph_node (graph, i));
  write_return (self, graph);
  write_parameters (self, graph);
  g_string_append (self->nodes, "}\n");
}

char *
tn_dot_text (const TnGraph *graph)
{
  Writer self = { .nodes = g_string_new ("digraph mindspore {\ncompound=true\n"), .edges = g_string_new (NULL) };
  self.graphs = g_ptr_array_new ();
  self.index = g_hash_table_new (NULL, NULL);
  collect (&self, (TnGraph *) graph);
  for (guint i = 0; i < self.graphs->len; i++)
    {
      self.g = (int) i;
      write_graph (&self, self.graphs->pdata[i]);
    }
  g_string_append_len (self.nodes, self.edges->str, (gssize) self.edges->len);
  g_string_append (self.nodes, "}\n");
  g_string_free (self.edges, TRUE);
  g_hash_table_unref (self.index);
  g_ptr_array_unref (self.graphs);
  return g_string_free (self.nodes, FALSE);
}

gboolean
tn_dot_write (const TnGraph *graph, const char *path, GError **error)
{
  g_autofree char *text = tn_dot_text (graph);
  return tn_durable_write (path, text, strlen (text), error);
}
