/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-document.h"
#include "base/error.h"
#include "ir/ir-line.h"
#include <string.h>

/* An .ir file as a document.
 *
 * Nodes of the entry lie in the scopes that the file names; each other function graph is a scope of its own with those
 * scopes in it. "Gradients/Default/net/conv1/Grad_Conv2D" is the backward side of Default/net/conv1. Scalars among the
 * operands become attributes, tensors become constants; a Load is the parameter it loads; the values that only keep an
 * order (UMonad, UpdateState, Depend's second operand) are control links. */

#define MAX_BESIDE 25  /* function graphs that stand beside the entry; more lie in one scope */
#define MAX_VALUE 1024 /* bytes of an attribute: MindInsight's limit */

typedef struct
{
  const TnIrGraph *graph;
  GHashTable *nodes;      /* number -> item + 1 */
  GHashTable *names;      /* name of a node -> item + 1 */
  GHashTable *parameters; /* number -> item + 1 */
  int result;             /* item of Return; -1 */
} Placed;

typedef struct
{
  TnGraphDocument *document;
  const TnIrDocument *ir;
  GPtrArray *placed;  /* Placed, one a graph of the file */
  GHashTable *graphs; /* name -> Placed */
  Placed *entry;
  int shown; /* nodes so far */
} Maker;

static void
placed_free (gpointer data)
{
  Placed *placed = data;
  g_hash_table_unref (placed->nodes);
  g_hash_table_unref (placed->names);
  g_hash_table_unref (placed->parameters);
  g_free (placed);
}

/* ---- scopes and phases ---- */

static gboolean
is_communication (const char *op)
{
  static const char *const names[] = { "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AllToAll", "AlltoAll", "Send", "Receive",
                                       "_MirrorOperator", "NeighborExchange", "HcclSend", "HcclRecv", "AllSwap", NULL };
  return g_strv_contains (names, op);
}

/* Where @scope lies and on which side: *path is to be freed. */
static TnPhase
place_scope (const char *scope, const char *op, char **path)
{
  TnPhase phase = TN_PHASE_FORWARD;
  if (scope == NULL || scope[0] == '\0')
    scope = "";
  if (g_str_has_prefix (scope, "Gradients/"))
    {
      scope += strlen ("Gradients/");
      phase = TN_PHASE_BACKWARD;
    }
  else if (g_str_has_prefix (scope, "recompute_"))
    phase = TN_PHASE_RECOMPUTE;
  *path = g_strdup (scope);
  char *last = strrchr (*path, '/');
  if (phase == TN_PHASE_BACKWARD && last != NULL && (g_str_has_prefix (last, "/Grad_") || g_str_has_prefix (last, "/grad")))
    *last = '\0';
  if (strstr (*path, "optimizer-") != NULL || g_str_has_prefix (op, "Apply"))
    phase = TN_PHASE_OPTIMIZER;
  return is_communication (op) ? TN_PHASE_COMMUNICATION : phase;
}

static const char *
plain_op (const char *op)
{
  return g_str_has_prefix (op, "PrimFunc_") ? op + strlen ("PrimFunc_") : op;
}

/* ---- types ---- */

static void
set_type (TnGraphItem *item, const char *type, char **shape)
{
  if (type == NULL)
    return;
  TnIrType parsed = tn_ir_type_parse (type);
  if (parsed.has_shape)
    *shape = tn_graph_shape_text (&parsed.shape);
  item->shape = *shape;
  if (parsed.has_dtype)
    item->dtype = tn_dtype_name (parsed.dtype);
  size_t bytes;
  gboolean known = parsed.has_dtype && parsed.has_shape;
  for (int i = 0; i < parsed.shape.n_dims; i++)
    known = known && parsed.shape.dims[i] >= 0;
  if (known && tn_shape_bytes (&parsed.shape, tn_dtype_size (parsed.dtype), &bytes, NULL))
    item->output_bytes = (double) bytes;
}

static char *
cut_value (const char *text)
{
  gsize n = strlen (text);
  if (n <= MAX_VALUE)
    return g_strdup (text);
  const char *end = g_utf8_find_prev_char (text, text + MAX_VALUE + 1);
  return g_strdup_printf ("%.*s…", (int) (end - text), text);
}

static void
add_attr (Maker *self, const char *name, const char *value)
{
  g_autofree char *cut = cut_value (value);
  tn_graph_document_add_attr (self->document, name, cut);
}

/* ---- items ---- */

static int
add_parameter (Maker *self, const TnIrParameter *parameter, const char *prefix)
{
  g_autofree char *shape = NULL;
  TnGraphItem item = { .name = parameter->ref_key != NULL ? parameter->ref_key : parameter->name, .op = "Parameter", .scope = -1,
                       .from = -1, .order = -1 };
  gboolean is_monad = parameter->type != NULL && strstr (parameter->type, "Monad") != NULL;
  gboolean is_weight = parameter->ref_key != NULL || parameter->has_default || strchr (item.name, '.') != NULL; /* the last: before 1.5 */
  item.kind = is_weight ? TN_ITEM_PARAMETER : is_monad ? TN_ITEM_CONSTANT : TN_ITEM_INPUT;
  if (item.kind == TN_ITEM_PARAMETER && (g_str_has_prefix (item.name, "moments.") || g_str_has_prefix (item.name, "moment")))
    item.kind = TN_ITEM_STATE;
  if (item.kind == TN_ITEM_INPUT)
    item.op = "Input";
  item.scope = tn_graph_document_scope (self->document, prefix);
  set_type (&item, parameter->type, &shape);
  int id = tn_graph_document_add (self->document, &item);
  if (id >= 0 && parameter->type != NULL)
    add_attr (self, "type", parameter->type);
  return id;
}

static void
add_attrs (Maker *self, const TnIrNode *node)
{
  for (int i = 0; i < node->n_operands; i++)
    if (node->operands[i].kind == TN_IR_OPERAND_VALUE && !g_str_has_prefix (node->operands[i].text, "Tensor("))
      {
        g_autofree char *name = g_strdup_printf ("input %d", i + 1);
        add_attr (self, name, node->operands[i].text);
      }
  for (int i = 0; i < node->n_attrs; i++)
    add_attr (self, node->attrs[i].name, node->attrs[i].value);
  if (node->instance != NULL)
    add_attr (self, "instance name", node->instance);
  if (node->device_types != NULL)
    add_attr (self, "device types", node->device_types);
  for (int i = 0; i < node->n_notes && i < 16; i++)
    {
      const char *note = node->notes[i];
      add_attr (self, g_str_has_prefix (note, "In file ") ? "source" : "note", g_str_has_prefix (note, "In file ") ? note + 8 : note);
    }
}

/* "Sub-op1" of "Default/network/Sub-op1"; the operator where there is no such name. */
static const char *
label_of (const TnIrNode *node)
{
  if (node->fullname == NULL)
    return node->op[0] != '\0' ? plain_op (node->op) : node->name;
  const char *slash = strrchr (node->fullname, '/');
  return slash != NULL ? slash + 1 : node->fullname;
}

static int
add_node (Maker *self, const TnIrNode *node, const char *prefix)
{
  const char *op = plain_op (node->op);
  g_autofree char *path = NULL, *shape = NULL;
  TnGraphItem item = { .op = op, .label = label_of (node), .from = -1, .order = node->line };
  item.phase = place_scope (node->scope, op, &path);
  g_autofree char *joined = prefix != NULL && path[0] != '\0' ? g_strconcat (prefix, "/", path, NULL) : g_strdup (prefix != NULL ? prefix : path);
  item.scope = tn_graph_document_scope (self->document, joined);
  item.name = node->fullname != NULL ? node->fullname : node->name[0] != '\0' ? node->name : op;
  if (strcmp (op, "Load") == 0)
    item.kind = TN_ITEM_PARAMETER;
  else if (strcmp (op, "Return") == 0)
    item.kind = TN_ITEM_OUTPUT;
  if (node->unparsed)
    item.name = item.label = item.op = "?";
  set_type (&item, node->n_outputs > 0 ? node->outputs[0] : NULL, &shape);
  int id = tn_graph_document_add (self->document, &item);
  if (id < 0)
    return -1;
  if (node->unparsed)
    add_attr (self, "text", node->op);
  else
    add_attrs (self, node);
  self->shown++;
  return id;
}

static void
note_name (GHashTable *table, const char *name, int id)
{
  if (name != NULL && name[0] != '\0')
    g_hash_table_insert (table, (gpointer) name, GINT_TO_POINTER (id + 1));
}

static void
place_graph (Maker *self, const TnIrGraph *graph, gboolean is_entry)
{
  Placed *placed = g_new0 (Placed, 1);
  placed->graph = graph;
  placed->nodes = g_hash_table_new (NULL, NULL);
  placed->names = g_hash_table_new (g_str_hash, g_str_equal);
  placed->parameters = g_hash_table_new (NULL, NULL);
  placed->result = -1;
  g_ptr_array_add (self->placed, placed);
  g_hash_table_insert (self->graphs, (gpointer) graph->name, placed);
  if (is_entry)
    self->entry = placed;

  g_autofree char *name = g_strdelimit (g_strdup (graph->name), "/", '_');
  g_autofree char *prefix = is_entry ? NULL : g_strconcat (self->ir->graphs->len > MAX_BESIDE ? "functions/" : "", name, NULL);
  const GPtrArray *parameters = is_entry && graph->parameters->len == 0 ? self->ir->parameters : graph->parameters;
  for (guint i = 0; i < parameters->len; i++)
    {
      const TnIrParameter *parameter = parameters->pdata[i];
      int id = add_parameter (self, parameter, prefix);
      g_hash_table_insert (placed->parameters, GINT_TO_POINTER (parameter->number), GINT_TO_POINTER (id + 1));
      note_name (placed->names, parameter->name, id);
    }
  for (guint i = 0; i < graph->nodes->len; i++)
    {
      const TnIrNode *node = graph->nodes->pdata[i];
      int id = add_node (self, node, prefix);
      if (node->number >= 0)
        g_hash_table_insert (placed->nodes, GINT_TO_POINTER (node->number), GINT_TO_POINTER (id + 1));
      note_name (placed->names, node->name, id);
    }
  if (graph->result != NULL)
    placed->result = add_node (self, graph->result, prefix);
}

/* ---- links ---- */

static int
look (GHashTable *table, int number)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (table, GINT_TO_POINTER (number))) - 1;
}

/* "$(@graph:para3_x)", "$(@graph:CNode_3)". */
static int
find_free (Maker *self, const TnIrOperand *operand)
{
  const char *at = strchr (operand->text, '@'), *colon = strrchr (operand->text, ':');
  if (at == NULL || colon == NULL || colon < at)
    return -1;
  g_autofree char *graph = g_strndup (at + 1, (gsize) (colon - at - 1));
  Placed *placed = g_hash_table_lookup (self->graphs, graph);
  if (placed == NULL)
    return -1;
  if (operand->number >= 0)
    return look (placed->parameters, operand->number);
  g_autofree char *name = g_strdup (colon + 1);
  g_strdelimit (name, ")", '\0');
  return GPOINTER_TO_INT (g_hash_table_lookup (placed->names, name)) - 1;
}

/* Numbers of parameters may repeat from graph to graph: this graph first, then the entry. */
static int
find_operand (Maker *self, Placed *placed, const TnIrOperand *operand)
{
  int id = -1;
  switch (operand->kind)
    {
    case TN_IR_OPERAND_NODE:
      return look (placed->nodes, operand->number);
    case TN_IR_OPERAND_PARAMETER:
      if (operand->number < 0) /* MindSpore 1.0 and before: "%para_x" */
        return GPOINTER_TO_INT (g_hash_table_lookup (placed->names, operand->text + MIN (6, strlen (operand->text)))) - 1;
      id = look (placed->parameters, operand->number);
      return id < 0 && self->entry != NULL ? look (self->entry->parameters, operand->number) : id;
    case TN_IR_OPERAND_FREE:
      return find_free (self, operand);
    case TN_IR_OPERAND_GRAPH:
      {
        Placed *called = g_hash_table_lookup (self->graphs, operand->text);
        return called != NULL ? called->result : -1;
      }
    default:
      return -1;
    }
}

static gboolean
is_control (Maker *self, const TnIrNode *node, int port, int from)
{
  const TnGraphItem *source = tn_graph_document_item (self->document, from);
  const char *op = plain_op (node->op);
  if (strcmp (op, "UpdateState") == 0 || strcmp (source->op, "UpdateState") == 0)
    return TRUE;
  if (port < node->n_inputs && strstr (node->inputs[port], "Monad") != NULL)
    return TRUE;
  return strcmp (op, "Depend") == 0 && port > 0;
}

static void
add_link (Maker *self, int from, int to, int port, gboolean control)
{
  double bytes = control ? 0 : tn_graph_document_item (self->document, from)->output_bytes;
  tn_graph_document_link (self->document, &(TnGraphLink){ .from = from, .to = to, .to_port = port, .control = control, .bytes = bytes });
}

static int
add_constant (Maker *self, const TnIrOperand *operand, int user)
{
  const TnGraphItem *at = tn_graph_document_item (self->document, user);
  TnGraphItem item = { .name = "Tensor", .op = "Constant", .kind = TN_ITEM_CONSTANT, .scope = at->scope, .phase = at->phase, .from = -1,
                       .order = -1 };
  int id = tn_graph_document_add (self->document, &item);
  if (id >= 0)
    add_attr (self, "value", operand->text);
  return id;
}

/* "call @4_body(%1, %2)": operands go to the parameters of that graph. */
static gboolean
link_call (Maker *self, Placed *placed, const TnIrNode *node, int id)
{
  if (!g_str_has_prefix (node->op, "call @"))
    return FALSE;
  Placed *called = g_hash_table_lookup (self->graphs, node->op + strlen ("call @"));
  if (called == NULL)
    return FALSE;
  for (int i = 0; i < node->n_operands && i < (int) called->graph->parameters->len; i++)
    {
      const TnIrParameter *parameter = called->graph->parameters->pdata[i];
      int from = find_operand (self, placed, &node->operands[i]), to = look (called->parameters, parameter->number);
      if (from >= 0 && to >= 0)
        add_link (self, from, to, 0, is_control (self, node, i, from));
    }
  if (called->result >= 0)
    add_link (self, called->result, id, 0, FALSE);
  return TRUE;
}

static void
link_node (Maker *self, Placed *placed, const TnIrNode *node, int id)
{
  if (id < 0 || node->unparsed || link_call (self, placed, node, id))
    return;
  for (int i = 0; i < node->n_operands; i++)
    {
      const TnIrOperand *operand = &node->operands[i];
      int from = find_operand (self, placed, operand);
      if (from < 0 && operand->kind == TN_IR_OPERAND_VALUE && g_str_has_prefix (operand->text, "Tensor("))
        from = add_constant (self, operand, id);
      if (from >= 0 && from != id)
        add_link (self, from, id, i, is_control (self, node, i, from));
    }
}

static void
link_graph (Maker *self, Placed *placed)
{
  for (guint i = 0; i < placed->graph->nodes->len; i++)
    {
      const TnIrNode *node = placed->graph->nodes->pdata[i];
      if (node->number >= 0)
        link_node (self, placed, node, look (placed->nodes, node->number));
    }
  if (placed->graph->result != NULL)
    link_node (self, placed, placed->graph->result, placed->result);
}

/* ---- what went wrong ---- */

static void
set_note (Maker *self)
{
  g_autofree char *note = NULL;
  int line = 0;
  for (guint g = 0; g < self->ir->graphs->len && note == NULL; g++)
    {
      const TnIrGraph *graph = self->ir->graphs->pdata[g];
      for (guint i = 0; i < graph->nodes->len && note == NULL; i++)
        {
          const TnIrNode *node = graph->nodes->pdata[i];
          line = node->line;
          if (node->unparsed)
            note = g_strdup_printf (_ ("line %d: “%.40s…” is no node. It is shown as a box without links"), node->line, g_strstrip ((char *) node->op));
        }
    }
  if (note == NULL && self->ir->truncated)
    note = g_strdup_printf (_ ("line %d: the file ends inside a graph. Graph up to node %d shown"), line, self->shown);
  tn_graph_document_set_note (self->document, note);
}

TnGraphDocument *
tn_graph_document_from_ir (const TnIrDocument *ir, const char *name)
{
  Maker self = { .document = tn_graph_document_new (name, "MindSpore .ir"), .ir = ir };
  self.placed = g_ptr_array_new_with_free_func (placed_free);
  self.graphs = g_hash_table_new (g_str_hash, g_str_equal);
  const TnIrGraph *entry = tn_ir_document_entry (ir);
  if (entry != NULL)
    place_graph (&self, entry, TRUE);
  for (guint i = 0; i < ir->graphs->len; i++)
    if (ir->graphs->pdata[i] != entry)
      place_graph (&self, ir->graphs->pdata[i], FALSE);
  for (guint i = 0; i < self.placed->len; i++)
    link_graph (&self, self.placed->pdata[i]);
  set_note (&self);
  g_hash_table_unref (self.graphs);
  g_ptr_array_unref (self.placed);
  tn_graph_document_finish (self.document);
  return self.document;
}
