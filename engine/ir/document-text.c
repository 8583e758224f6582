/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-document.h"
#include "base/json.h"
#include <string.h>

/* A document as CSV, JSON and .dot text. */

/* ---- CSV ---- */

static void
append_cell (GString *out, const char *text)
{
  if (strpbrk (text, ",\"\n\r") == NULL)
    {
      g_string_append (out, text);
      return;
    }
  g_string_append_c (out, '"');
  for (; *text != '\0'; text++)
    {
      if (*text == '"')
        g_string_append_c (out, '"');
      g_string_append_c (out, *text);
    }
  g_string_append_c (out, '"');
}

char *
tn_graph_document_to_csv (const TnGraphDocument *self)
{
  GString *out = g_string_new ("id,name,op,kind,phase,scope,shape,dtype,output_bytes,flops,bytes,inputs,outputs\n");
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  for (int i = 0; i < self->n_items; i++)
    {
      const TnGraphItem *item = &self->items[i];
      const char *cells[] = { item->name, item->op, tn_item_kind_name (item->kind), tn_phase_name (item->phase),
                              item->scope >= 0 ? self->scopes[item->scope].path : "", item->shape, item->dtype };
      g_string_append_printf (out, "%d", i);
      for (gsize k = 0; k < G_N_ELEMENTS (cells); k++)
        {
          g_string_append_c (out, ',');
          append_cell (out, cells[k]);
        }
      const double numbers[] = { item->output_bytes, item->flops, item->bytes };
      for (gsize k = 0; k < G_N_ELEMENTS (numbers); k++)
        g_string_append_printf (out, ",%s", tn_double_to_text (numbers[k], number));
      g_string_append_printf (out, ",%d,%d\n", self->in_first[i + 1] - self->in_first[i], self->out_first[i + 1] - self->out_first[i]);
    }
  return g_string_free (out, FALSE);
}

/* ---- JSON ---- */

static JsonObject *
item_to_json (const TnGraphDocument *self, int i)
{
  const TnGraphItem *item = &self->items[i];
  JsonObject *object = json_object_new (), *attributes = json_object_new ();
  JsonArray *inputs = json_array_new (), *outputs = json_array_new ();
  json_object_set_int_member (object, "id", i);
  json_object_set_string_member (object, "name", item->name);
  json_object_set_string_member (object, "op", item->op);
  json_object_set_string_member (object, "kind", tn_item_kind_name (item->kind));
  json_object_set_string_member (object, "phase", tn_phase_name (item->phase));
  json_object_set_string_member (object, "scope", item->scope >= 0 ? self->scopes[item->scope].path : "");
  json_object_set_string_member (object, "shape", item->shape);
  json_object_set_string_member (object, "dtype", item->dtype);
  json_object_set_double_member (object, "output_bytes", item->output_bytes);
  json_object_set_double_member (object, "flops", item->flops);
  for (int k = 0; k < item->n_attrs; k++)
    json_object_set_string_member (attributes, item->attrs[k].name, item->attrs[k].value);
  json_object_set_object_member (object, "attributes", attributes);
  for (int k = self->in_first[i]; k < self->in_first[i + 1]; k++)
    json_array_add_string_element (inputs, self->items[self->links[self->in_links[k]].from].name);
  for (int k = self->out_first[i]; k < self->out_first[i + 1]; k++)
    json_array_add_string_element (outputs, self->items[self->links[self->out_links[k]].to].name);
  json_object_set_array_member (object, "inputs", inputs);
  json_object_set_array_member (object, "outputs", outputs);
  return object;
}

static char *
object_text (JsonObject *object, int indent)
{
  g_autoptr (JsonNode) node = json_node_alloc ();
  json_node_init_object (node, object);
  json_object_unref (object);
  return tn_json_to_text (node, indent);
}

char *
tn_graph_document_item_json (const TnGraphDocument *self, int item)
{
  g_return_val_if_fail (item >= 0 && item < self->n_items, NULL);
  return object_text (item_to_json (self, item), 2);
}

char *
tn_graph_document_to_json (const TnGraphDocument *self)
{
  JsonObject *object = json_object_new ();
  JsonArray *items = json_array_new (), *links = json_array_new ();
  json_object_set_string_member (object, "format", "tenon-graph-document");
  json_object_set_int_member (object, "version", 1);
  json_object_set_string_member (object, "name", self->name);
  json_object_set_string_member (object, "source", self->format);
  for (int i = 0; i < self->n_items; i++)
    json_array_add_object_element (items, item_to_json (self, i));
  for (int i = 0; i < self->n_links; i++)
    {
      const TnGraphLink *link = &self->links[i];
      JsonObject *one = json_object_new ();
      json_object_set_int_member (one, "from", link->from);
      json_object_set_int_member (one, "to", link->to);
      json_object_set_int_member (one, "input", link->to_port);
      json_object_set_boolean_member (one, "control", link->control);
      json_object_set_double_member (one, "bytes", link->bytes);
      json_array_add_object_element (links, one);
    }
  json_object_set_array_member (object, "items", items);
  json_object_set_array_member (object, "links", links);
  return object_text (object, 2);
}

/* ---- .dot ----
 *
 * One cluster a side (forward, backward, optimizer) and in it one a scope, so that Graphviz draws what belongs together side by
 * side. Parameters are small and their links, like those from the forward side to the backward one, do not pull: without that
 * every weight ties three far places together and the picture of LeNet-5 is wider than a screen. */

typedef struct
{
  const TnGraphDocument *document;
  GString *out;
  int *first_child, *next; /* scopes */
  int *first_item, *next_item;
  int cluster;
} Writer;

static void
append_quoted (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  for (; *text != '\0'; text++)
    if (*text == '"')
      g_string_append (out, "\\\"");
    else if (*text == '\\')
      g_string_append (out, "\\\\");
    else
      g_string_append_c (out, (unsigned char) *text < 0x20 || *text == 0x7f ? ' ' : *text);
  g_string_append_c (out, '"');
}

static void
append_attr (GString *out, const char *name, const char *value)
{
  if (value == NULL || value[0] == '\0')
    return;
  g_string_append_printf (out, ", %s=", name);
  append_quoted (out, value);
}

static void
append_number_attr (GString *out, const char *name, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (value > 0)
    g_string_append_printf (out, ", %s=\"%s\"", name, tn_double_to_text (value, text));
}

static const char *
side_color (TnPhase phase)
{
  static const char *const colors[] = { "#dbe8f8", "#fbe6d5", "#ecdff2", "#ffd9b8", "#dbe8f8" };
  return colors[phase];
}

static gboolean
is_quiet (const TnGraphItem *item)
{
  return item->kind == TN_ITEM_PARAMETER || item->kind == TN_ITEM_STATE || item->kind == TN_ITEM_CONSTANT;
}

static void
write_item (Writer *self, int i)
{
  const TnGraphItem *item = &self->document->items[i];
  GString *out = self->out;
  g_autofree char *label = NULL;
  const char *title = item->label[0] != '\0' ? item->label : item->name;
  if (is_quiet (item))
    label = g_strdup (title);
  else if (item->shape[0] != '\0')
    label = g_strdup_printf ("%s\n%s", title, item->shape);
  else
    label = g_strdup (title);
  g_autoptr (GString) quoted = g_string_new (NULL);
  for (char *line = label, *end; line != NULL; line = end)
    {
      end = strchr (line, '\n');
      if (end != NULL)
        *end++ = '\0';
      if (line != label)
        g_string_append (quoted, "\\n");
      g_autoptr (GString) part = g_string_new (NULL);
      g_auto (GStrv) pieces = g_strsplit (line, "&", -1); /* Graphviz knows entities in labels */
      g_autofree char *escaped = g_strjoinv ("&amp;", pieces);
      append_quoted (part, escaped);
      g_string_append_len (quoted, part->str + 1, (gssize) part->len - 2);
    }
  g_string_append_printf (out, "n%d [label=\"%s\"", i, quoted->str);
  if (is_quiet (item))
    g_string_append (out, ", shape=plaintext, fontsize=8, height=0.2, width=0.2, margin=\"0.02,0.01\"");
  else if (item->kind != TN_ITEM_OPERATOR)
    g_string_append (out, ", shape=ellipse, fillcolor=\"#d7f0ee\"");
  else
    append_attr (out, "fillcolor", side_color (item->phase));
  if (strcmp (item->name, title) != 0)
    append_attr (out, "tn_label", item->label);
  append_attr (out, "tn_name", item->name);
  append_attr (out, "tn_op", item->op);
  append_attr (out, "tn_kind", tn_item_kind_name (item->kind));
  append_attr (out, "tn_phase", tn_phase_name (item->phase));
  append_attr (out, "tn_scope", item->scope >= 0 ? self->document->scopes[item->scope].path : NULL);
  append_attr (out, "tn_shape", item->shape);
  append_attr (out, "tn_dtype", item->dtype);
  if (item->from >= 0)
    g_string_append_printf (out, ", tn_from=n%d", item->from);
  append_number_attr (out, "tn_flops", item->flops);
  append_number_attr (out, "tn_bytes", item->bytes);
  append_number_attr (out, "tn_output_bytes", item->output_bytes);
  for (int k = 0; k < item->n_attrs && k < 32; k++)
    {
      g_autofree char *name = g_strconcat ("tna_", item->attrs[k].name, NULL);
      g_string_append (out, ", ");
      append_quoted (out, name);
      g_string_append_c (out, '=');
      append_quoted (out, item->attrs[k].value);
    }
  g_string_append (out, "];\n");
}

/* The phase group that an item is drawn in: 0 forward, 1 backward, 2 optimizer. */
static int
side_of (const TnGraphItem *item)
{
  return item->phase == TN_PHASE_OPTIMIZER ? 2 : item->phase == TN_PHASE_FORWARD ? 0 : 1;
}

static gboolean
has_side (Writer *self, int scope, int side)
{
  for (int i = self->first_item[scope]; i >= 0; i = self->next_item[i])
    if (side_of (&self->document->items[i]) == side)
      return TRUE;
  for (int s = self->first_child[scope]; s >= 0; s = self->next[s])
    if (has_side (self, s, side))
      return TRUE;
  return FALSE;
}

static void
write_scope (Writer *self, int scope, int side)
{
  const TnGraphScope *s = &self->document->scopes[scope];
  if (!has_side (self, scope, side))
    return;
  g_auto (GStrv) pieces = g_strsplit (s->label, "&", -1);
  g_autofree char *label = g_strjoinv ("&amp;", pieces);
  g_string_append_printf (self->out, "subgraph cluster_%d {\nlabel=", self->cluster++);
  append_quoted (self->out, label);
  g_string_append (self->out, "; tn_scope=");
  append_quoted (self->out, s->path);
  g_string_append (self->out, ";\n");
  for (int i = self->first_item[scope]; i >= 0; i = self->next_item[i])
    if (side_of (&self->document->items[i]) == side)
      write_item (self, i);
  for (int c = self->first_child[scope]; c >= 0; c = self->next[c])
    write_scope (self, c, side);
  g_string_append (self->out, "}\n");
}

static void
index_tree (Writer *self)
{
  const TnGraphDocument *document = self->document;
  self->first_child = g_new (int, document->n_scopes + 1);
  self->next = g_new (int, document->n_scopes + 1);
  self->first_item = g_new (int, document->n_scopes + 1);
  self->next_item = g_new (int, document->n_items + 1);
  for (int s = 0; s <= document->n_scopes; s++)
    self->first_child[s] = self->first_item[s] = -1;
  for (int s = document->n_scopes - 1; s >= 0; s--)
    {
      int parent = document->scopes[s].parent >= 0 ? document->scopes[s].parent : document->n_scopes;
      self->next[s] = self->first_child[parent];
      self->first_child[parent] = s;
    }
  for (int i = document->n_items - 1; i >= 0; i--)
    {
      int parent = document->items[i].scope >= 0 ? document->items[i].scope : document->n_scopes;
      self->next_item[i] = self->first_item[parent];
      self->first_item[parent] = i;
    }
}

static void
write_link (Writer *self, const TnGraphLink *link)
{
  const TnGraphItem *from = &self->document->items[link->from], *to = &self->document->items[link->to];
  g_string_append_printf (self->out, "n%d -> n%d [", link->from, link->to);
  if (is_quiet (from) && (from->scope != to->scope || side_of (from) != side_of (to)))
    g_string_append (self->out, "style=invis, constraint=false");
  else if (is_quiet (from))
    g_string_append (self->out, "color=\"#9a9996\", arrowsize=0.5");
  else if (side_of (from) == 0 && side_of (to) == 1 && to->from >= 0)
    g_string_append (self->out, "style=dotted, color=\"#9a9996\", constraint=false");
  else if (link->control)
    g_string_append (self->out, "style=dashed");
  if (link->control)
    g_string_append (self->out, self->out->str[self->out->len - 1] == '[' ? "tn_control=1" : ", tn_control=1");
  g_string_append (self->out, "];\n");
}

char *
tn_graph_document_to_dot (const TnGraphDocument *self)
{
  Writer writer = { .document = self, .out = g_string_new ("digraph ") };
  static const char *const sides[] = { "Forward", "Backward", "Optimizer" };
  append_quoted (writer.out, self->name[0] != '\0' ? self->name : "graph");
  g_string_append (writer.out, " {\ngraph [tn_format=1, fontname=\"sans-serif\", fontsize=10, ranksep=0.3, nodesep=0.2, nslimit=2, nslimit1=2, "
                               "mclimit=1, color=\"#c0bfbc\", labeljust=l];\n"
                               "node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\", fontsize=10, color=\"#9a9996\", "
                               "fillcolor=\"#f6f5f4\", height=0.3, margin=\"0.12,0.04\"];\nedge [arrowsize=0.6, color=\"#5e5c64\"];\n");
  index_tree (&writer);
  for (int side = 0; side < 3; side++)
    {
      gboolean any = FALSE;
      for (int i = 0; i < self->n_items && !any; i++)
        any = side_of (&self->items[i]) == side;
      if (!any)
        continue;
      if (self->has_phases)
        g_string_append_printf (writer.out, "subgraph cluster_side%d {\nlabel=\"%s\"; color=\"#9a9996\"; fontsize=14;\n", side, sides[side]);
      for (int i = writer.first_item[self->n_scopes]; i >= 0; i = writer.next_item[i])
        if (side_of (&self->items[i]) == side)
          write_item (&writer, i);
      for (int s = writer.first_child[self->n_scopes]; s >= 0; s = writer.next[s])
        write_scope (&writer, s, side);
      if (self->has_phases)
        g_string_append (writer.out, "}\n");
    }
  for (int i = 0; i < self->n_links; i++)
    write_link (&writer, &self->links[i]);
  g_string_append (writer.out, "}\n");
  g_free (writer.first_child);
  g_free (writer.next);
  g_free (writer.first_item);
  g_free (writer.next_item);
  return g_string_free (writer.out, FALSE);
}
