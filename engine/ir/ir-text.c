/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir-text.h"
#include "base/error.h"
#include "ir/ir-line.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#define MAX_JOINED 4096 /* physical lines of one node */

typedef enum
{
  IN_HEADER,
  IN_ATTRS,
  IN_JIT_CONFIG,
  IN_GRAPH_ATTRS,
  IN_GRAPH,
  IN_ORDER
} Place;

typedef struct
{
  TnIrDocument *document;
  char *next, *end; /* lines end in 0 once they were read */
  int line; /* number of the one that was read last */
  Place place;
  TnIrGraph *graph; /* open one */
  TnIrNode *node;   /* last one */
  GPtrArray *node_notes;
  GPtrArray *attrs, *notes; /* for the graph to come */
  int stopped_at;
  gint64 items_left;
} Parser;

/* ---- lines ---- */

static char *
read_line (Parser *self)
{
  if (self->next >= self->end)
    return NULL;
  char *line = self->next, *end = memchr (line, '\n', (size_t) (self->end - line));
  if (end == NULL)
    end = self->end;
  self->next = MIN (end + 1, self->end);
  self->line++;
  *end = '\0';
  if (end > line && end[-1] == '\r')
    end[-1] = '\0';
  return line;
}

static char *
keep (Parser *self, const char *from, const char *to)
{
  char *copy = tn_arena_alloc (self->document->arena, (size_t) (to - from) + 1);
  memcpy (copy, from, (size_t) (to - from));
  return copy;
}

static char *
keep_line (Parser *self, const char *text)
{
  return keep (self, text, text + strlen (text));
}

static gboolean
starts_node (const char *line)
{
  if (!g_str_has_prefix (line, "  "))
    return FALSE;
  line += 2;
  if (g_ascii_strncasecmp (line, "return(", 7) == 0)
    return TRUE;
  if (line[0] != '%' || !g_ascii_isdigit (line[1]))
    return FALSE;
  for (line++; g_ascii_isdigit (*line); line++)
    ;
  return *line == '(' || g_str_has_prefix (line, " = ");
}

/* Lines that cannot be the rest of a tensor constant: joining stops before them however the brackets stand. */
static gboolean
starts_something (const char *line)
{
  return starts_node (line) || g_str_has_prefix (line, "      : (") || g_str_has_prefix (line, "      #") || line[0] == '}'
         || line[0] == '#' || g_str_has_prefix (line, "subgraph ");
}

/* A tensor of two or more dimensions has line breaks in it: goes on until brackets are even. */
static void
join_node_line (Parser *self, char *line)
{
  TnIrScan scan = { 0 };
  tn_ir_scan (&scan, line);
  for (int i = 0; i < MAX_JOINED && (scan.depth > 0 || scan.quoted) && self->next < self->end; i++)
    {
      if (starts_something (self->next))
        break;
      char *end = self->next - 1; /* the 0 that read_line put over the line's end; one more where it ended in CR */
      *end = '\n';
      if (end > line && end[-1] == '\0')
        end[-1] = ' ';
      tn_ir_scan (&scan, read_line (self));
    }
}

/* ---- attributes ---- */

/* "key: value", "key : value", "key:". */
static gboolean
add_key_value (Parser *self, GPtrArray *attrs, const char *line)
{
  const char *colon = strchr (line, ':');
  if (colon == NULL || colon == line)
    return FALSE;
  const char *end = colon;
  while (end > line && end[-1] == ' ')
    end--;
  TnIrAttr *attr = tn_arena_new0 (self->document->arena, TnIrAttr, 1);
  attr->name = keep (self, line, end);
  for (colon++; *colon == ' '; colon++)
    ;
  attr->value = keep_line (self, colon);
  g_ptr_array_add (attrs, attr);
  return TRUE;
}

/* ---- header ---- */

/* Finds "# Total params: 5" whatever its case, its blanks around # and : and a plural s. */
static const char *
header_fact (const char *line, const char *key)
{
  while (*line == '#' || *line == ' ')
    line++;
  size_t n = strlen (key);
  if (g_ascii_strncasecmp (line, key, n) != 0)
    return NULL;
  line += n;
  if (*line == 's' || *line == 'S')
    line++;
  while (*line == ' ')
    line++;
  if (*line != ':')
    return NULL;
  for (line++; *line == ' '; line++)
    ;
  return line;
}

static void
finish_notes (Parser *self)
{
  if (self->node != NULL && self->node_notes->len > 0)
    {
      self->node->n_notes = (int) self->node_notes->len;
      self->node->notes = tn_arena_memdup (self->document->arena, self->node_notes->pdata, sizeof (char *) * self->node_notes->len);
    }
  g_ptr_array_set_size (self->node_notes, 0);
  self->node = NULL;
}

static gboolean
read_header_line (Parser *self, const char *line)
{
  TnIrDocument *document = self->document;
  const char *value;
  if ((value = header_fact (line, "IR entry")) != NULL)
    document->entry = keep_line (self, *value == '@' ? value + 1 : value);
  else if ((value = header_fact (line, "Total subgraph")) != NULL)
    document->total_subgraphs = tn_ir_number (value);
  else if ((value = header_fact (line, "Total param")) != NULL)
    document->total_params = tn_ir_number (value);
  else if ((value = header_fact (line, "Total number of node")) != NULL)
    document->total_nodes = tn_ir_number (value);
  else if ((value = header_fact (line, "Total number of cnode")) != NULL)
    document->total_cnodes = tn_ir_number (value);
  else
    return FALSE;
  self->place = IN_HEADER;
  return TRUE;
}

/* "%para2_fc.weight: <Ref[...], ref_key=fc.weight>  :  has_default", "%para1 = x : <...>". */
static void
read_parameter (Parser *self, const char *line)
{
  TnIrParameter *parameter = tn_arena_new0 (self->document->arena, TnIrParameter, 1);
  tn_ir_line_parameter (self->document->arena, line, parameter);
  g_ptr_array_add (self->document->parameters, parameter);
}

/* ---- graphs ---- */

static void
read_graph_parameters (Parser *self, TnIrGraph *graph, const char *list)
{
  const char *close = strrchr (list, ')');
  const char *end = close != NULL ? close : list + strlen (list);
  while (list < end)
    {
      const char *comma = strstr (list, ", %"); /* names may have commas in them */
      if (comma == NULL || comma > end)
        comma = end;
      g_autofree char *one = g_strndup (list, (size_t) (comma - list));
      if (one[0] == '%')
        {
          TnIrParameter *parameter = tn_arena_new0 (self->document->arena, TnIrParameter, 1);
          tn_ir_line_parameter (self->document->arena, one, parameter);
          g_ptr_array_add (graph->parameters, parameter);
        }
      list = MIN (comma + 2, end);
    }
}

/* Types of a graph's parameters stand in "# Parameters: 2, (<...>, <...>)" before it. */
static void
read_parameter_types (Parser *self, TnIrGraph *graph)
{
  for (guint i = 0; i < graph->notes->len; i++)
    {
      const char *list = graph->notes->pdata[i];
      if (!g_str_has_prefix (list, "Parameters: ") || (list = strchr (list, '(')) == NULL)
        continue;
      g_autoptr (GPtrArray) types = g_ptr_array_new ();
      tn_ir_line_types (self->document->arena, list + 1, types, &self->items_left);
      for (guint k = 0; k < types->len && k < graph->parameters->len; k++)
        ((TnIrParameter *) graph->parameters->pdata[k])->type = types->pdata[k];
    }
}

/* "subgraph @NAME parent: [subgraph @P](%para1_x, %para2_y) {" */
static void
open_graph (Parser *self, const char *line)
{
  TnIrGraph *graph = tn_arena_new0 (self->document->arena, TnIrGraph, 1);
  const char *name = strchr (line, '@') + 1, *parent = strstr (name, " parent: ");
  const char *list = strchr (name, '(');
  const char *end = list != NULL ? list : name + strlen (name);
  if (parent != NULL && parent < end)
    {
      const char *at = strchr (parent, '@'), *close = strchr (parent, ']');
      if (at != NULL && close != NULL && at < close)
        {
          graph->parent = keep (self, at + 1, close);
          list = strchr (close, '(');
        }
      end = parent;
    }
  graph->name = keep (self, name, end);
  graph->line = self->line;
  graph->parameters = g_ptr_array_new ();
  graph->nodes = g_ptr_array_new ();
  graph->order = g_ptr_array_new ();
  graph->attrs = g_steal_pointer (&self->attrs);
  graph->notes = g_steal_pointer (&self->notes);
  self->attrs = g_ptr_array_new ();
  self->notes = g_ptr_array_new ();
  g_ptr_array_add (self->document->graphs, graph);
  if (list != NULL)
    read_graph_parameters (self, graph, list + 1);
  read_parameter_types (self, graph);
  self->graph = graph;
  self->place = IN_GRAPH;
}

static void
read_node (Parser *self, char *line)
{
  finish_notes (self);
  int number = self->line;
  join_node_line (self, line);
  TnIrNode *node = tn_arena_new0 (self->document->arena, TnIrNode, 1);
  node->line = number;
  node->stopped_at = self->stopped_at;
  self->stopped_at = -1;
  tn_ir_line_node (self->document->arena, line, node, &self->items_left);
  if (node->number < 0 && !node->unparsed)
    self->graph->result = node;
  else
    g_ptr_array_add (self->graph->nodes, node);
  self->node = node;
}

/* "(Default/fc-Dense/MatMul-op0)" without the brackets. */
static const char *
keep_bracketed (Parser *self, const char *text)
{
  const char *open = strchr (text, '('), *close = strrchr (text, ')');
  return open != NULL && close != NULL && close > open ? keep (self, open + 1, close) : NULL;
}

static void
set_fullname (Parser *self, TnIrNode *node, const char *bracketed)
{
  node->fullname = keep_bracketed (self, bracketed);
  const char *slash = node->fullname != NULL ? strrchr (node->fullname, '/') : NULL;
  if (slash != NULL)
    node->scope = keep (self, node->fullname, slash);
}

static void
read_node_note (Parser *self, const char *line)
{
  TnIrNode *node = self->node;
  if (node == NULL)
    return;
  while (*line == ' ' || *line == '#')
    line++;
  if (g_ascii_strncasecmp (line, "Fullname with scope: (", 22) == 0)
    set_fullname (self, node, line);
  else if (g_ascii_strncasecmp (line, "scope: (", 8) == 0)
    node->scope = keep_bracketed (self, line);
  else if (*line != '\0')
    g_ptr_array_add (self->node_notes, keep_line (self, line));
}

/* MindSpore before 2.0: "      : (Default/network-Net/fc-Dense/MatMul-op3)" after the types. */
static gboolean
is_old_fullname (const char *text)
{
  return strchr (text, '<') == NULL && strstr (text, " -> ") == NULL && (strchr (text, '/') != NULL || g_str_has_prefix (text, "(Default"));
}

static void
read_type_line (Parser *self, const char *line)
{
  TnIrNode *node = self->node;
  if (node == NULL)
    return;
  if (node->inputs != NULL && node->fullname == NULL && is_old_fullname (line + 8))
    {
      set_fullname (self, node, line + 8);
      return;
    }
  if (node->inputs == NULL)
    tn_ir_line_node_types (self->document->arena, line + 9, node, &self->items_left);
  else if (node->device_types == NULL)
    node->device_types = keep_line (self, line + 8);
  else
    g_ptr_array_add (self->node_notes, keep_line (self, line + 6));
}

static void
read_graph_line (Parser *self, char *line)
{
  if (starts_node (line))
    read_node (self, line);
  else if (line[0] == '}')
    {
      finish_notes (self);
      self->place = IN_HEADER;
    }
  else if (g_str_has_prefix (line, "#---"))
    {
      const char *mark = strstr (line, "> ");
      self->stopped_at = mark != NULL ? tn_ir_number (mark + 2) : 0;
    }
  else if (g_str_has_prefix (line, "      : ("))
    read_type_line (self, line);
  else if (g_str_has_prefix (line, " { strategy: ") && strstr (line, "      : (") != NULL)
    {
      /* MindSpore 1.0 puts the strategy after the end of the node's line. */
      char *types = strstr (line, "      : (");
      read_type_line (self, types);
      *types = '\0';
      read_node_note (self, line);
    }
  else
    read_node_note (self, line);
}

/* "#   1: @graph:CNode_12{[0]: ...}" */
static gboolean
read_order_line (Parser *self, const char *line)
{
  const char *at = strstr (line, ": @");
  if (line[0] != '#' || at == NULL || self->graph == NULL)
    return FALSE;
  const char *end = strchr (at, '{');
  if (end == NULL)
    end = at + strlen (at);
  const char *name = end;
  while (name > at + 3 && name[-1] != ':')
    name--;
  g_ptr_array_add (self->graph->order, keep (self, name, end));
  return TRUE;
}

/* ---- the whole ---- */

static gboolean
read_section (Parser *self, const char *line)
{
  const char *bare = line;
  while (*bare == '#' || *bare == ' ')
    bare++;
  if (g_str_has_prefix (line, "subgraph @"))
    open_graph (self, line);
  else if (g_ascii_strncasecmp (line, "subgraph attr", 13) == 0)
    self->place = IN_GRAPH_ATTRS;
  else if (line[0] == '#' && header_fact (line, "order") != NULL)
    self->place = IN_ORDER;
  else if (line[0] == '#' && header_fact (line, "attr") != NULL)
    self->place = IN_ATTRS;
  else if (g_str_has_prefix (line, "jit config {"))
    self->place = IN_JIT_CONFIG;
  else if (g_str_has_prefix (line, "%para"))
    read_parameter (self, line);
  else
    return read_header_line (self, line);
  return TRUE;
}

static void
read_other_line (Parser *self, const char *line)
{
  if (self->place == IN_ORDER && read_order_line (self, line))
    return;
  if (self->place == IN_JIT_CONFIG && line[0] == '}')
    self->place = IN_HEADER;
  else if (self->place == IN_JIT_CONFIG)
    add_key_value (self, self->document->jit_config, line);
  else if (line[0] == '\0' && self->place == IN_ATTRS)
    self->place = IN_HEADER;
  else if (line[0] != '#' && self->place == IN_ATTRS)
    add_key_value (self, self->document->attrs, line);
  else if (line[0] != '#' && self->place == IN_GRAPH_ATTRS)
    add_key_value (self, self->attrs, line);
  else if (line[0] != '\0')
    {
      while (*line == '#' || *line == ' ')
        line++;
      g_ptr_array_add (self->notes, keep_line (self, line));
    }
}

static void
read_lines (Parser *self)
{
  char *line;
  while ((line = read_line (self)) != NULL && self->items_left > 0)
    if (self->place == IN_GRAPH && !g_str_has_prefix (line, "subgraph @"))
      read_graph_line (self, line);
    else
      {
        if (self->place == IN_GRAPH)
          finish_notes (self); /* the graph before has no end */
        if (!read_section (self, line))
          read_other_line (self, line);
      }
  self->document->truncated = self->place == IN_GRAPH;
  finish_notes (self);
}

static TnIrDocument *
document_new (void)
{
  TnIrDocument *self = g_new0 (TnIrDocument, 1);
  self->arena = tn_arena_new ();
  self->total_subgraphs = self->total_params = self->total_nodes = self->total_cnodes = -1;
  self->attrs = g_ptr_array_new ();
  self->jit_config = g_ptr_array_new ();
  self->parameters = g_ptr_array_new ();
  self->graphs = g_ptr_array_new ();
  return self;
}

void
tn_ir_document_free (TnIrDocument *self)
{
  for (guint i = 0; i < self->graphs->len; i++)
    {
      TnIrGraph *graph = self->graphs->pdata[i];
      g_ptr_array_unref (graph->parameters);
      g_ptr_array_unref (graph->nodes);
      g_ptr_array_unref (graph->attrs);
      g_ptr_array_unref (graph->notes);
      g_ptr_array_unref (graph->order);
    }
  g_ptr_array_unref (self->attrs);
  g_ptr_array_unref (self->jit_config);
  g_ptr_array_unref (self->parameters);
  g_ptr_array_unref (self->graphs);
  tn_arena_free (self->arena);
  g_free (self);
}

TnIrDocument *
tn_ir_document_parse (const char *text, gssize n, GError **error)
{
  size_t size = n < 0 ? strlen (text) : (size_t) n;
  if (size > TN_IR_MAX_BYTES)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("the graph dump has %zu MiB; at most %u can be read"), size >> 20,
                   TN_IR_MAX_BYTES >> 20);
      return NULL;
    }
  g_autofree char *copy = g_utf8_make_valid (text, (gssize) size);
  g_autoptr (TnIrDocument) document = document_new ();
  Parser self = { .document = document, .next = copy, .end = copy + strlen (copy), .stopped_at = -1 };
  self.items_left = TN_IR_MAX_ITEMS;
  self.attrs = g_ptr_array_new ();
  self.notes = g_ptr_array_new ();
  self.node_notes = g_ptr_array_new ();
  if (g_str_has_prefix (self.next, "\xef\xbb\xbf"))
    self.next += 3;
  read_lines (&self);
  g_ptr_array_unref (self.attrs);
  g_ptr_array_unref (self.notes);
  g_ptr_array_unref (self.node_notes);
  if (self.items_left <= 0)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("line %d: the graph dump has too many operands and types to be read"), self.line);
  else if (document->entry == NULL && document->graphs->len == 0)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _ ("this is no graph dump: it has neither a line “# IR entry: …” nor a line “subgraph @…”"));
  else
    return g_steal_pointer (&document);
  return NULL;
}

TnIrDocument *
tn_ir_document_load (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  size_t n = 0;
  GStatBuf info;
  if (g_stat (path, &info) != 0)
    {
      tn_error_set_errno (error, errno, _ ("read"), path);
      return NULL;
    }
  if (!S_ISREG (info.st_mode) || info.st_size > TN_IR_MAX_BYTES)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("%s: not a file, or of more than %u MiB"), path, TN_IR_MAX_BYTES >> 20);
      return NULL;
    }
  if (!g_file_get_contents (path, &text, &n, NULL))
    {
      tn_error_set_errno (error, errno != 0 ? errno : EIO, _ ("read"), path);
      return NULL;
    }
  TnIrDocument *document = tn_ir_document_parse (text, (gssize) n, error);
  if (document == NULL)
    g_prefix_error (error, "%s: ", path);
  return document;
}

const TnIrGraph *
tn_ir_document_find (const TnIrDocument *self, const char *name)
{
  for (guint i = 0; i < self->graphs->len; i++)
    if (strcmp (((const TnIrGraph *) self->graphs->pdata[i])->name, name) == 0)
      return self->graphs->pdata[i];
  return NULL;
}

const TnIrGraph *
tn_ir_document_entry (const TnIrDocument *self)
{
  const TnIrGraph *entry = self->entry != NULL ? tn_ir_document_find (self, self->entry) : NULL;
  if (entry == NULL && self->graphs->len > 0)
    entry = self->graphs->pdata[self->graphs->len - 1];
  return entry;
}

const char *
tn_ir_node_attr (const TnIrNode *node, const char *name)
{
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp (node->attrs[i].name, name) == 0)
      return node->attrs[i].value;
  return NULL;
}
