/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir-reader.h"
#include "base/error.h"
#include "ir/ir-values.h"
#include "ops/op.h"
#include <string.h>

#define MAX_DEPTH 64 /* subgraphs in subgraphs */

typedef struct
{
  const TnIrDocument *document;
  GHashTable *graphs; /* label -> TnGraph, made so far; NULL: being made */
  int depth;
} Reader;

/* One graph while it is built. */
typedef struct
{
  Reader *reader;
  const TnIrGraph *from;
  TnGraph *graph;
  GHashTable *leaves; /* id -> TnValue of inputs, parameters and constants */
  GHashTable *paras;  /* N of %paraN -> TnValue */
  GArray *todo;       /* Leaf that are not added yet, by id */
  guint next_leaf;
  TnNode **nodes;   /* by k of %k; NULL: none yet, or one that stands for a value */
  TnValue **values; /* by k of %k: what it gives where that is one value */
} Builder;

typedef struct
{
  int id;
  const char *note; /* "Tenon constant: id 3, ..." */
} Leaf;

static gboolean
fail (GError **error, int line, const char *what)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("line %d: %s; the file is damaged or was changed by hand: save the graph again"),
               line, what);
  return FALSE;
}

/* ---- facts: "id 3, phase forward, name \"a, b\", constants (1, 2)" ---- */

static const char *
item_end (const char *p)
{
  gboolean quoted = FALSE;
  int depth = 0;
  for (; *p != '\0'; p++)
    if (*p == '"')
      quoted = !quoted;
    else if (!quoted && (*p == '(' || *p == ')'))
      depth += *p == '(' ? 1 : -1;
    else if (!quoted && depth <= 0 && *p == ',')
      break;
  return p;
}

/* Value of @key, or NULL. */
static char *
fact (const char *note, const char *key)
{
  const char *p = strstr (note, ": ");
  size_t n = strlen (key);
  for (p = p != NULL ? p + 2 : ""; *p != '\0';)
    {
      while (*p == ' ')
        p++;
      const char *end = item_end (p);
      if (strncmp (p, key, n) == 0 && p[n] == ' ')
        return g_strndup (p + n + 1, (size_t) (end - p) - n - 1);
      p = *end == ',' ? end + 1 : end;
    }
  return NULL;
}

static gboolean
fact_int (const char *note, const char *key, gint64 *out)
{
  g_autofree char *text = fact (note, key);
  char *end = NULL;
  if (text == NULL)
    return FALSE;
  *out = g_ascii_strtoll (text, &end, 10);
  return end != text && *end == '\0' && *out >= G_MININT && *out <= G_MAXINT;
}

static char *
fact_text (const char *note, const char *key)
{
  g_autofree char *text = fact (note, key);
  return text != NULL ? tn_ir_unquote (text) : NULL;
}

static gboolean
parse_shape (const char *text, TnShape *shape)
{
  *shape = TN_SHAPE_SCALAR;
  if (*text++ != '(')
    return FALSE;
  while (*text != ')')
    {
      char *end;
      gint64 size = g_ascii_strtoll (text, &end, 10);
      if (end == text || size < 0 || shape->n_dims == TN_MAX_DIMS)
        return FALSE;
      shape->dims[shape->n_dims++] = size;
      for (text = end; *text == ',' || *text == ' '; text++)
        ;
    }
  return TRUE;
}

/* A tensor from its type, shape and data; the data must be exactly as long as the shape says. */
static TnTensor *
fact_tensor (const char *note)
{
  g_autofree char *type = fact (note, "type"), *dims = fact (note, "shape"), *data = fact_text (note, "data");
  TnDType dtype;
  TnShape shape;
  size_t want, have = 0;
  if (type == NULL || dims == NULL || data == NULL || !tn_dtype_parse (type, &dtype) || !parse_shape (dims, &shape)
      || !tn_shape_bytes (&shape, tn_dtype_size (dtype), &want, NULL))
    return NULL;
  if (data[0] != '\0' && data[1] != '\0') /* GLib asks for two characters at least; one decodes to nothing */
    g_base64_decode_inplace (data, &have);
  if (have != want || (data[0] != '\0' && have == 0))
    return NULL;
  g_autoptr (TnTensor) tensor = tn_tensor_new (dtype, shape, NULL);
  if (tensor != NULL && have > 0)
    memcpy (tn_tensor_data (tensor), data, have);
  return g_steal_pointer (&tensor);
}

/* What a node to come belongs to. The graph takes scope and origin from a node; @stand_in is one that says just that. */
static gboolean
set_origin (Builder *self, const char *note, const char *scope, TnNode *stand_in)
{
  gint64 from;
  g_autofree char *phase = fact (note, "phase");
  if (phase == NULL || scope == NULL || !fact_int (note, "from", &from) || from < -1)
    return FALSE;
  *stand_in = (TnNode){ .scope = scope, .from = (int) from, .id = -1 };
  tn_graph_set_origin (self->graph, stand_in);
  for (int i = TN_PHASE_FORWARD; i <= TN_PHASE_RECOMPUTE; i++)
    if (strcmp (phase, tn_phase_name ((TnPhase) i)) == 0)
      {
        tn_graph_set_phase (self->graph, (TnPhase) i);
        return TRUE;
      }
  return FALSE;
}

/* ---- leaves ---- */

static int
compare_leaves (gconstpointer a, gconstpointer b)
{
  const Leaf *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

static gboolean
collect_leaves (Builder *self, GError **error)
{
  for (guint i = 0; i < self->from->notes->len; i++)
    {
      const char *note = self->from->notes->pdata[i];
      gint64 id;
      if (!g_str_has_prefix (note, "Tenon "))
        continue;
      if (!fact_int (note, "id", &id) || id < 0)
        return fail (error, self->from->line, _ ("a “# Tenon” line above the graph has no id"));
      Leaf leaf = { (int) id, note };
      g_array_append_val (self->todo, leaf);
    }
  g_array_sort (self->todo, compare_leaves);
  return TRUE;
}

static const TnIrParameter *
find_para (const Builder *self, int number)
{
  const GPtrArray *lists[] = { self->from->parameters, self->reader->document->parameters };
  for (int l = 0; l < 2; l++)
    for (guint i = 0; i < lists[l]->len; i++)
      if (((const TnIrParameter *) lists[l]->pdata[i])->number == number)
        return lists[l]->pdata[i];
  return NULL;
}

static TnParameterRole
parse_role (const char *role)
{
  return g_strcmp0 (role, "statistic") == 0 ? TN_ROLE_STATISTIC
         : g_strcmp0 (role, "optimizer") == 0 ? TN_ROLE_OPTIMIZER
                                              : TN_ROLE_TRAINED;
}

/* Dtype and shape stand in the line of %paraN, or in "# Parameters" of a subgraph; the note has the rest. */
static gboolean
add_para (Builder *self, const Leaf *leaf, TnValue **value)
{
  gint64 number, frozen = 0;
  g_autofree char *name = fact_text (leaf->note, "name"), *role = fact (leaf->note, "role"), *init = fact_text (leaf->note, "init");
  if (name == NULL || !fact_int (leaf->note, "para", &number))
    return FALSE;
  const TnIrParameter *para = find_para (self, (int) number);
  if (para == NULL || para->type == NULL)
    return FALSE;
  TnIrType type = tn_ir_type_parse (para->type);
  if (!type.has_dtype || !type.has_shape)
    return FALSE;
  if (g_str_has_prefix (leaf->note, "Tenon input: "))
    *value = tn_graph_add_input (self->graph, name, type.dtype, type.shape);
  else
    {
      fact_int (leaf->note, "frozen", &frozen);
      TnParameterInfo info = { .role = parse_role (role), .frozen = frozen != 0, .init = init };
      *value = tn_graph_add_parameter (self->graph, name, type.dtype, type.shape, &info);
    }
  g_hash_table_insert (self->paras, GINT_TO_POINTER ((int) number), *value);
  return TRUE;
}

static gboolean
add_leaf (Builder *self, const Leaf *leaf, GError **error)
{
  TnNode stand_in;
  TnValue *value = NULL;
  g_autofree char *scope = fact_text (leaf->note, "scope");
  gboolean ok = leaf->id == tn_graph_n_nodes (self->graph) && set_origin (self, leaf->note, scope, &stand_in);
  if (ok && g_str_has_prefix (leaf->note, "Tenon constant: "))
    {
      g_autoptr (TnTensor) tensor = fact_tensor (leaf->note);
      ok = tensor != NULL;
      if (ok)
        value = tn_graph_add_constant (self->graph, tensor);
    }
  else
    ok = ok && add_para (self, leaf, &value);
  tn_graph_set_origin (self->graph, NULL);
  if (!ok)
    {
      g_autofree char *start = g_strndup (leaf->note, MIN (strlen (leaf->note), 40));
      g_autofree char *what = g_strdup_printf (_ ("“# %s …” above the graph cannot be understood"), start);
      return fail (error, self->from->line, what);
    }
  g_hash_table_insert (self->leaves, GINT_TO_POINTER (leaf->id), value);
  return tn_graph_check (self->graph, error);
}

/* Leaves stand between the nodes by their ids. */
static gboolean
add_leaves_before (Builder *self, int id, GError **error)
{
  for (; self->next_leaf < self->todo->len; self->next_leaf++)
    {
      const Leaf *leaf = &g_array_index (self->todo, Leaf, self->next_leaf);
      if (leaf->id >= id)
        break;
      if (!add_leaf (self, leaf, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- attributes ---- */

static gint64
scalar_int (const char *text)
{
  const char *open = strchr (text, '(');
  return g_ascii_strtoll (open != NULL ? open + 1 : text, NULL, 10);
}

static double
scalar_double (const char *text)
{
  const char *open = strchr (text, '(');
  return g_ascii_strtod (open != NULL ? open + 1 : text, NULL);
}

/* "(1, 2)" as 8-byte numbers: int64, or double. */
static GArray *
parse_list (const char *text, gboolean doubles)
{
  GArray *values = g_array_new (FALSE, FALSE, 8);
  for (text += *text == '('; *text != '\0' && *text != ')';)
    {
      char *end;
      gint64 i = 0;
      double f = 0;
      if (doubles)
        f = g_ascii_strtod (text, &end);
      else
        i = g_ascii_strtoll (text, &end, 10);
      if (end == text)
        break;
      g_array_append_vals (values, doubles ? (void *) &f : (void *) &i, 1);
      for (text = end; *text == ',' || *text == ' '; text++)
        ;
    }
  return values;
}

static TnTensor *
attr_tensor (const TnIrNode *from, const char *name)
{
  for (int i = 0; i < from->n_notes; i++)
    if (g_str_has_prefix (from->notes[i], "Tenon tensor: "))
      {
        g_autofree char *attr = fact_text (from->notes[i], "attr");
        if (g_strcmp0 (attr, name) == 0)
          return fact_tensor (from->notes[i]);
      }
  return NULL;
}

/* The operator's row knows the type. What @attr points to lives in @arena, a tensor is the caller's. */
static gboolean
parse_attr (TnArena *arena, const TnIrNode *from, const TnIrAttr *text, const TnAttrSpec *spec, TnAttr *attr)
{
  g_autofree char *unquoted = NULL;
  g_autoptr (GArray) values = NULL;
  TnDType dtype;
  *attr = (TnAttr){ .name = text->name, .type = spec->type };
  switch (spec->type)
    {
    case TN_ATTR_INT:
    case TN_ATTR_BOOL:
      attr->i = scalar_int (text->value);
      return TRUE;
    case TN_ATTR_FLOAT:
      attr->f = scalar_double (text->value);
      return TRUE;
    case TN_ATTR_STRING:
      if (text->value[0] != '"')
        return strcmp (text->value, "None") == 0;
      unquoted = tn_ir_unquote (text->value);
      attr->s = tn_arena_strdup (arena, unquoted);
      return TRUE;
    case TN_ATTR_INTS:
    case TN_ATTR_FLOATS:
      values = parse_list (text->value, spec->type == TN_ATTR_FLOATS);
      attr->count = (int) values->len;
      attr->ints = tn_arena_memdup (arena, values->data, 8 * (size_t) values->len); /* or floats: the same place */
      return TRUE;
    case TN_ATTR_DTYPE:
      if (!tn_dtype_parse (text->value, &dtype))
        return FALSE;
      attr->i = dtype;
      return TRUE;
    case TN_ATTR_TENSOR:
      attr->tensor = attr_tensor (from, text->name);
      return attr->tensor != NULL;
    }
  return FALSE;
}

static gboolean
parse_attrs (TnArena *arena, const TnIrNode *from, const TnOp *op, TnAttr *attrs, GError **error)
{
  for (int i = 0; i < from->n_attrs; i++)
    {
      const TnAttrSpec *spec = op->attrs;
      while (spec != NULL && spec->name != NULL && strcmp (spec->name, from->attrs[i].name) != 0)
        spec++;
      if (spec == NULL || spec->name == NULL || !parse_attr (arena, from, &from->attrs[i], spec, &attrs[i]))
        {
          g_autofree char *what = g_strdup_printf (_ ("attribute “%s” of %s is unknown or has the wrong type"), from->attrs[i].name,
                                                   from->op);
          return fail (error, from->line, what);
        }
    }
  return TRUE;
}

/* ---- nodes ---- */

static TnGraph *build_graph (Reader *reader, const TnIrGraph *from, GError **error);

static TnGraph *
find_subgraph (Reader *self, const char *label, int line, GError **error)
{
  gpointer graph;
  if (g_hash_table_lookup_extended (self->graphs, label, NULL, &graph))
    {
      if (graph == NULL)
        fail (error, line, _ ("a subgraph contains itself"));
      return graph;
    }
  const TnIrGraph *from = tn_ir_document_find (self->document, label);
  if (from == NULL || self->depth >= MAX_DEPTH)
    {
      fail (error, line, from == NULL ? _ ("there is no such subgraph") : _ ("subgraphs are nested too deep"));
      return NULL;
    }
  return build_graph (self, from, error);
}

/* "(3, 4)": the constants among the operands, in order. */
static GArray *
constant_ids (const char *note)
{
  g_autofree char *text = note != NULL ? fact (note, "constants") : NULL;
  return parse_list (text != NULL ? text : "", FALSE);
}

static TnValue *
find_value (Builder *self, const TnIrOperand *operand, const GArray *constants, guint *next_constant)
{
  gint64 id;
  switch (operand->kind)
    {
    case TN_IR_OPERAND_NODE:
      return operand->number >= 0 && operand->number < (int) self->from->nodes->len ? self->values[operand->number] : NULL;
    case TN_IR_OPERAND_PARAMETER:
      return g_hash_table_lookup (self->paras, GINT_TO_POINTER (operand->number));
    case TN_IR_OPERAND_VALUE:
      if (*next_constant >= constants->len)
        return NULL;
      id = g_array_index (constants, gint64, (*next_constant)++);
      return id >= 0 && id <= G_MAXINT ? g_hash_table_lookup (self->leaves, GINT_TO_POINTER ((int) id)) : NULL;
    default:
      return NULL;
    }
}

/* Splits operands into @values and subgraphs. */
static gboolean
find_operands (Builder *self, const TnIrNode *from, const char *note, GPtrArray *values, GPtrArray *subgraphs, GError **error)
{
  g_autoptr (GArray) constants = constant_ids (note);
  guint next_constant = 0;
  for (int i = 0; i < from->n_operands; i++)
    {
      const TnIrOperand *operand = &from->operands[i];
      if (operand->kind == TN_IR_OPERAND_GRAPH)
        {
          TnGraph *graph = find_subgraph (self->reader, operand->text, from->line, error);
          if (graph == NULL)
            return FALSE;
          g_ptr_array_add (subgraphs, graph);
          continue;
        }
      TnValue *value = find_value (self, operand, constants, &next_constant);
      if (value == NULL)
        {
          g_autofree char *what = g_strdup_printf (_ ("operand %d of %s is nothing that stands before it"), i, from->op);
          return fail (error, from->line, what);
        }
      g_ptr_array_add (values, value);
    }
  return TRUE;
}

static const char *
own_note (const TnIrNode *from)
{
  for (int i = 0; i < from->n_notes; i++)
    if (g_str_has_prefix (from->notes[i], "Tenon: "))
      return from->notes[i];
  return NULL;
}

static gboolean
check_type (const TnIrNode *from, const TnNode *node, GError **error)
{
  g_autoptr (GString) type = g_string_new (NULL);
  tn_ir_append_node_type (type, node);
  if (from->n_outputs == 1 && strcmp (from->outputs[0], type->str) == 0)
    return TRUE;
  g_autofree char *what = g_strdup_printf (_ ("%s gives <%s>, the file says <%s>"), node->name, type->str,
                                           from->n_outputs > 0 ? from->outputs[0] : "");
  return fail (error, from->line, what);
}

/* TupleGetItem(%3, I64(1)) stands for output 1 of %3. */
static gboolean
read_tuple_item (Builder *self, const TnIrNode *from, int k, GError **error)
{
  const TnIrOperand *tuple = from->operands;
  if (from->n_operands == 2 && tuple->kind == TN_IR_OPERAND_NODE && tuple->number >= 0 && tuple->number < k)
    {
      TnNode *node = self->nodes[tuple->number];
      gint64 index = scalar_int (from->operands[1].text);
      if (node != NULL && index >= 0 && index < node->n_outputs)
        {
          self->values[k] = &node->outputs[index];
          return TRUE;
        }
    }
  return fail (error, from->line, _ ("TupleGetItem of something that has no such output"));
}

static TnNode *
add_node (Builder *self, const TnIrNode *from, const char *note, const TnAttr *attrs, GError **error)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new (), subgraphs = g_ptr_array_new ();
  if (!find_operands (self, from, note, values, subgraphs, error))
    return NULL;
  TnNode stand_in, *node = NULL;
  g_autofree char *scope = from->scope != NULL ? tn_ir_unquote (from->scope) : NULL;
  gboolean ok = set_origin (self, note, scope, &stand_in);
  if (ok)
    node = tn_graph_add_node_full (self->graph, from->op, (int) values->len, (TnValue **) values->pdata, from->n_attrs, attrs,
                                   (int) subgraphs->len, (TnGraph **) subgraphs->pdata);
  tn_graph_set_origin (self->graph, NULL);
  if (!ok)
    fail (error, from->line, _ ("scope, phase or origin are missing"));
  else if (!tn_graph_check (self->graph, error))
    g_prefix_error (error, _ ("line %d: "), from->line);
  return node;
}

static gboolean
build_node (Builder *self, const TnIrNode *from, const char *note, int k, GError **error)
{
  const TnOp *op = tn_op_find (from->op);
  if (op == NULL || (op->flags & TN_OP_LEAF))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("line %d: there is no operator “%s”"), from->line, from->op);
      return FALSE;
    }
  g_autofree TnAttr *attrs = g_new0 (TnAttr, from->n_attrs + 1);
  TnNode *node = NULL;
  if (parse_attrs (tn_graph_arena (self->graph), from, op, attrs, error))
    node = add_node (self, from, note, attrs, error);
  for (int i = 0; i < from->n_attrs; i++)
    if (attrs[i].type == TN_ATTR_TENSOR)
      g_clear_pointer (&attrs[i].tensor, tn_tensor_unref);
  if (node == NULL)
    return FALSE;
  self->nodes[k] = node;
  self->values[k] = node->n_outputs == 1 ? &node->outputs[0] : NULL;
  return check_type (from, node, error);
}

static gboolean
read_node (Builder *self, int k, GError **error)
{
  const TnIrNode *from = self->from->nodes->pdata[k];
  const char *note = own_note (from);
  gint64 id;
  if (from->number != k || from->unparsed)
    return fail (error, from->line, _ ("the node's number is not the next one"));
  if (note == NULL && strcmp (from->op, "TupleGetItem") == 0)
    return read_tuple_item (self, from, k, error);
  if (note == NULL && strcmp (from->op, "MakeTuple") == 0 && k + 1 == (int) self->from->nodes->len)
    return TRUE; /* read with Return */
  if (note == NULL || !fact_int (note, "id", &id))
    return fail (error, from->line, _ ("the node has no “# Tenon” line"));
  if (!add_leaves_before (self, (int) id, error))
    return FALSE;
  if (id != tn_graph_n_nodes (self->graph))
    return fail (error, from->line, _ ("the node's id is not the next one"));
  return build_node (self, from, note, k, error);
}

/* ---- outputs ---- */

static gboolean
read_result (Builder *self, GError **error)
{
  const TnIrNode *result = self->from->result, *list = result;
  const char *note = result != NULL ? own_note (result) : NULL;
  g_autofree char *names = note != NULL ? fact (note, "outputs") : NULL;
  if (names == NULL || names[0] != '(')
    return fail (error, result != NULL ? result->line : self->from->line, _ ("the graph has no Return with its outputs' names"));
  int last = (int) self->from->nodes->len - 1;
  if (result->n_operands == 1 && result->operands[0].kind == TN_IR_OPERAND_NODE && result->operands[0].number == last && last >= 0
      && self->nodes[last] == NULL && self->values[last] == NULL)
    list = self->from->nodes->pdata[last];
  g_autoptr (GPtrArray) values = g_ptr_array_new (), subgraphs = g_ptr_array_new ();
  if (!find_operands (self, list, note, values, subgraphs, error))
    return FALSE;
  const char *p = names + 1;
  for (guint i = 0; i < values->len; i++)
    {
      const char *open = strchr (p, '"'), *close = open != NULL ? strchr (open + 1, '"') : NULL;
      if (close == NULL)
        return fail (error, result->line, _ ("an output has no name"));
      g_autofree char *quoted = g_strndup (open, (size_t) (close - open) + 1);
      g_autofree char *name = tn_ir_unquote (quoted);
      tn_graph_add_output (self->graph, name, values->pdata[i]);
      p = close + 1;
    }
  return TRUE;
}

/* ---- graphs ---- */

static gboolean
build (Builder *self, GError **error)
{
  if (!collect_leaves (self, error))
    return FALSE;
  for (guint k = 0; k < self->from->nodes->len; k++)
    if (!read_node (self, (int) k, error))
      return FALSE;
  return add_leaves_before (self, G_MAXINT, error) && read_result (self, error) && tn_graph_check (self->graph, error);
}

static TnGraph *
build_graph (Reader *reader, const TnIrGraph *from, GError **error)
{
  g_autofree char *name = NULL;
  for (guint i = 0; i < from->attrs->len && name == NULL; i++)
    if (strcmp (((TnIrAttr *) from->attrs->pdata[i])->name, "tenon_name") == 0)
      name = tn_ir_unquote (((TnIrAttr *) from->attrs->pdata[i])->value);
  g_autoptr (TnGraph) graph = tn_graph_new (name != NULL ? name : from->name);
  Builder self = { .reader = reader, .from = from, .graph = graph };
  self.leaves = g_hash_table_new (NULL, NULL);
  self.paras = g_hash_table_new (NULL, NULL);
  self.todo = g_array_new (FALSE, FALSE, sizeof (Leaf));
  self.nodes = g_new0 (TnNode *, from->nodes->len + 1);
  self.values = g_new0 (TnValue *, from->nodes->len + 1);
  g_hash_table_insert (reader->graphs, (gpointer) from->name, NULL);
  reader->depth++;
  gboolean ok = build (&self, error);
  reader->depth--;
  g_hash_table_unref (self.leaves);
  g_hash_table_unref (self.paras);
  g_array_unref (self.todo);
  g_free (self.nodes);
  g_free (self.values);
  if (!ok)
    return NULL;
  g_hash_table_insert (reader->graphs, (gpointer) from->name, tn_graph_ref (graph));
  return graph; /* the table holds it */
}

static void
unref_graph (gpointer graph)
{
  if (graph != NULL)
    tn_graph_unref (graph);
}

static gboolean
is_own (const TnIrDocument *document)
{
  for (guint i = 0; i < document->attrs->len; i++)
    {
      const TnIrAttr *attr = document->attrs->pdata[i];
      if (strcmp (attr->name, "tenon_format") == 0)
        return strcmp (attr->value, "1") == 0;
    }
  return FALSE;
}

TnGraph *
tn_graph_from_ir (const TnIrDocument *document, GError **error)
{
  const TnIrGraph *entry = tn_ir_document_entry (document);
  if (!is_own (document) || entry == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED,
                   _ ("this graph dump was not written by this program (or by a newer version): it can be shown, not run"));
      return NULL;
    }
  Reader reader = { .document = document, .graphs = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, unref_graph) };
  TnGraph *graph = build_graph (&reader, entry, error);
  if (graph != NULL)
    tn_graph_ref (graph);
  g_hash_table_unref (reader.graphs);
  return graph;
}

TnGraph *
tn_ir_read (const char *path, GError **error)
{
  g_autoptr (TnIrDocument) document = tn_ir_document_load (path, error);
  if (document == NULL)
    return NULL;
  TnGraph *graph = tn_graph_from_ir (document, error);
  if (graph == NULL)
    g_prefix_error (error, "%s: ", path);
  return graph;
}
