/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir-line.h"
#include <string.h>

static const char *
keep (TnArena *arena, const char *from, const char *to)
{
  while (from < to && *from == ' ')
    from++;
  while (to > from && to[-1] == ' ')
    to--;
  char *copy = tn_arena_alloc (arena, (size_t) (to - from) + 1);
  memcpy (copy, from, (size_t) (to - from));
  return copy;
}

int
tn_ir_number (const char *text)
{
  char *end;
  gint64 value = g_ascii_strtoll (text, &end, 10);
  return end == text || value < 0 || value > G_MAXINT ? -1 : (int) value;
}

/* ---- brackets ---- */

void
tn_ir_scan (TnIrScan *scan, const char *text)
{
  for (; *text != '\0'; text++)
    if (*text == '"')
      scan->quoted = !scan->quoted;
    else if (!scan->quoted && (*text == '(' || *text == '[' || *text == '{'))
      scan->depth++;
    else if (!scan->quoted && (*text == ')' || *text == ']' || *text == '}'))
      scan->depth--;
}

/* End of the item that starts at @p: a comma or a closing bracket outside of all brackets, or @end. In types angle
 * brackets count and quotes do not; elsewhere it is the other way round. */
static const char *
item_end (const char *p, const char *end, gboolean is_type)
{
  int depth = 0;
  gboolean quoted = FALSE;
  for (const char *start = p; p < end; p++)
    {
      if (*p == '"' && !is_type)
        quoted = !quoted;
      if (quoted)
        continue;
      if (*p == '(' || *p == '[' || *p == '{' || (is_type && *p == '<'))
        depth++;
      else if (*p == ')' || *p == ']' || *p == '}' || (is_type && *p == '>' && !(p > start && p[-1] == '-')))
        {
          if (depth-- == 0)
            return p;
        }
      else if (*p == ',' && depth == 0)
        return p;
    }
  return end;
}

/* The bracket that closes the one before @p, or NULL. */
static const char *
closing (const char *p, const char *end)
{
  for (p = item_end (p, end, FALSE); p < end && *p == ','; p = item_end (p + 1, end, FALSE))
    ;
  return p < end ? p : NULL;
}

/* ---- types ---- */

const char *
tn_ir_line_types (TnArena *arena, const char *text, GPtrArray *types, gint64 *items_left)
{
  const char *end = text + strlen (text);
  while (text < end && *text != ')' && --*items_left > 0)
    {
      while (*text == ' ')
        text++;
      const char *stop = item_end (text, end, TRUE), *from = text, *to = stop;
      if (to - from >= 2 && *from == '<' && to[-1] == '>')
        {
          from++;
          to--;
        }
      g_ptr_array_add (types, (gpointer) keep (arena, from, to));
      text = stop < end && *stop == ',' ? stop + 1 : stop;
      if (stop < end && *stop != ',' && *stop != ')')
        return end; /* brackets that do not fit: no more is to be had from this line */
    }
  return text < end ? text + 1 : end;
}

static const char **
take_types (TnArena *arena, GPtrArray *types, int *n)
{
  *n = (int) types->len;
  const char **copy = tn_arena_new0 (arena, const char *, MAX (types->len, 1));
  for (guint i = 0; i < types->len; i++)
    copy[i] = types->pdata[i];
  g_ptr_array_set_size (types, 0);
  return copy;
}

void
tn_ir_line_node_types (TnArena *arena, const char *text, TnIrNode *node, gint64 *items_left)
{
  g_autoptr (GPtrArray) types = g_ptr_array_new ();
  text = tn_ir_line_types (arena, text, types, items_left);
  node->inputs = take_types (arena, types, &node->n_inputs);
  if (g_str_has_prefix (text, " -> ("))
    tn_ir_line_types (arena, text + 5, types, items_left);
  node->outputs = take_types (arena, types, &node->n_outputs);
}

static gboolean
parse_dims (const char *text, TnShape *shape)
{
  while (*text == ' ')
    text++;
  while (*text != ')' && *text != ']' && *text != '}')
    {
      char *end;
      gint64 value = g_ascii_strtoll (text, &end, 10);
      if (end == text || shape->n_dims == TN_MAX_DIMS)
        return FALSE;
      shape->dims[shape->n_dims++] = value;
      for (text = end; *text == ' ' || *text == ','; text++)
        ;
    }
  return TRUE;
}

TnIrType
tn_ir_type_parse (const char *text)
{
  TnIrType type = { 0 };
  char name[16] = "";
  type.is_ref = g_str_has_prefix (text, "Ref[");
  if (type.is_ref)
    text += 4;
  type.is_tensor = g_str_has_prefix (text, "Tensor[");
  if (type.is_tensor)
    text += 7;
  size_t n = strspn (text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS);
  memcpy (name, text, MIN (n, sizeof name - 1));
  type.has_dtype = tn_dtype_parse (name, &type.dtype);
  text += n;
  const char *open = strpbrk (text, "(");
  const char *old = strstr (text, "[const vector]");
  if (type.is_tensor && old != NULL && (open == NULL || old < open))
    open = strpbrk (old + 14, "[{");
  type.has_shape = type.is_tensor && open != NULL && parse_dims (open + 1, &type.shape);
  if (!type.has_shape)
    type.shape = TN_SHAPE_SCALAR;
  return type;
}

/* ---- parameters ---- */

void
tn_ir_line_parameter (TnArena *arena, const char *line, TnIrParameter *parameter)
{
  parameter->number = g_str_has_prefix (line, "%para") ? tn_ir_number (line + 5) : -1;
  const char *p = line + (g_str_has_prefix (line, "%para") ? 5 : 1), *end = line + strlen (line);
  while (p < end && g_ascii_isdigit (*p))
    p++;
  if (*p == '_')
    p++;
  else if (g_str_has_prefix (p, " = "))
    p += 3;
  const char *open = strstr (p, ": <");
  parameter->name = keep (arena, p, open != NULL ? open : end);
  if (open == NULL)
    return;
  open += 3;
  const char *close = item_end (open, end, TRUE);
  while (close < end && *close == ',')
    close = item_end (close + 1, end, TRUE);
  parameter->type = keep (arena, open, close);
  parameter->has_default = strstr (close, "has_default") != NULL;
  const char *key = strstr (parameter->type, "ref_key=");
  if (key != NULL)
    {
      const char *comma = strstr (key, ", ");
      key += key[8] == ':'; /* "ref_key=:fc.weight" before 2.1 */
      parameter->ref_key = keep (arena, key + 8, comma != NULL ? comma : key + strlen (key));
    }
}

/* ---- nodes ---- */

static TnIrOperand
make_operand (TnArena *arena, const char *from, const char *to)
{
  TnIrOperand operand = { .kind = TN_IR_OPERAND_VALUE, .number = -1, .text = keep (arena, from, to) };
  const char *text = operand.text;
  if (g_str_has_prefix (text, "%para") && g_ascii_isdigit (text[5]))
    {
      operand.kind = TN_IR_OPERAND_PARAMETER;
      operand.number = tn_ir_number (text + 5);
    }
  else if (text[0] == '%' && g_ascii_isdigit (text[1]))
    {
      operand.kind = TN_IR_OPERAND_NODE;
      operand.number = tn_ir_number (text + 1);
    }
  else if (text[0] == '@')
    {
      operand.kind = TN_IR_OPERAND_GRAPH;
      operand.text++;
    }
  else if (g_str_has_prefix (text, "$(@"))
    {
      const char *para = strstr (text, ":para");
      operand.kind = TN_IR_OPERAND_FREE;
      operand.number = para != NULL ? tn_ir_number (para + 5) : -1;
    }
  return operand;
}

static void
take_operands (TnArena *arena, GArray *operands, TnIrNode *node)
{
  node->n_operands = (int) operands->len;
  node->operands = tn_arena_memdup (arena, operands->data, sizeof (TnIrOperand) * operands->len);
}

static void
split_operands (TnArena *arena, const char *p, const char *end, TnIrNode *node, gint64 *items_left)
{
  g_autoptr (GArray) operands = g_array_new (FALSE, FALSE, sizeof (TnIrOperand));
  while (p < end && --*items_left > 0)
    {
      const char *stop = item_end (p, end, FALSE);
      TnIrOperand operand = make_operand (arena, p, stop);
      g_array_append_val (operands, operand);
      p = stop + 1;
    }
  take_operands (arena, operands, node);
}

/* Where quotes or brackets do not fit: the references alone. */
static void
find_references (TnArena *arena, const char *p, TnIrNode *node, gint64 *items_left)
{
  g_autoptr (GArray) operands = g_array_new (FALSE, FALSE, sizeof (TnIrOperand));
  while ((p = strpbrk (p, "%@$")) != NULL && --*items_left > 0)
    {
      const char *stop = p + 1 + strcspn (p + 1, ",)] ");
      if (g_str_has_prefix (p, "$(@") && *stop == ')')
        stop++;
      if (*p == '@' || g_ascii_isdigit (p[1]) || g_str_has_prefix (p, "%para") || g_str_has_prefix (p, "$(@"))
        {
          TnIrOperand operand = make_operand (arena, p, stop);
          g_array_append_val (operands, operand);
        }
      p = stop;
    }
  take_operands (arena, operands, node);
}

static void
split_attrs (TnArena *arena, const char *p, const char *end, GArray *attrs, gint64 *items_left)
{
  while (p < end && --*items_left > 0)
    {
      const char *stop = item_end (p, end, FALSE);
      const char *colon = memchr (p, ':', (size_t) (stop - p));
      TnIrAttr attr = { .name = keep (arena, p, colon != NULL ? colon : stop), .value = "" };
      if (colon != NULL)
        attr.value = keep (arena, colon + 1, stop);
      g_array_append_val (attrs, attr);
      p = stop + 1;
    }
}

/* "{instance name: matmul} primitive_attrs: {a: b} cnode_attrs: {} {in_strategy: ((2, 1))}". */
static void
read_attr_groups (TnArena *arena, const char *p, const char *end, TnIrNode *node, gint64 *items_left)
{
  static const char instance[] = "instance name: ";
  g_autoptr (GArray) attrs = g_array_new (FALSE, FALSE, sizeof (TnIrAttr));
  while ((p = memchr (p, '{', (size_t) (end - p))) != NULL)
    {
      p++;
      const char *close = closing (p, end);
      if (close == NULL)
        break;
      if (g_str_has_prefix (p, instance))
        node->instance = keep (arena, p + sizeof instance - 1, close);
      else
        split_attrs (arena, p, close, attrs, items_left);
      p = close + 1;
    }
  node->n_attrs = (int) attrs->len;
  node->attrs = tn_arena_memdup (arena, attrs->data, sizeof (TnIrAttr) * attrs->len);
}

/* The bracket before the operands: the first outside of the brackets that belong to the operator, as in
 * "HyperMap_x{fn_leaf: ...}(", "%5[@FuncUnion(@a, @b)](", "$(@graph:node)(". */
static const char *
operands_open (const char *p)
{
  int depth = 0;
  for (const char *start = p; *p != '\0'; p++)
    if (*p == '(' && depth == 0 && !(p > start && p[-1] == '$'))
      return p;
    else if (*p == '(' || *p == '[' || *p == '{')
      depth++;
    else if (*p == ')' || *p == ']' || *p == '}')
      depth--;
  return NULL;
}

/* Number and name of the node; returns where its operator begins. */
static const char *
read_left_side (TnArena *arena, const char *p, TnIrNode *node)
{
  node->number = tn_ir_number (p + 1);
  const char *open = strchr (p, '('), *equals = strstr (p, " = ");
  if (equals == NULL)
    return NULL;
  if (open != NULL && open < equals)
    {
      const char *close = strstr (open, ") = ");
      if (close == NULL)
        return NULL;
      node->name = keep (arena, open + 1, close);
      return close + 4;
    }
  return equals + 3;
}

void
tn_ir_line_node (TnArena *arena, const char *line, TnIrNode *node, gint64 *items_left)
{
  const char *end = line + strlen (line), *p = line + 2, *open;
  node->number = -1;
  node->name = "";
  if (*p == '%')
    p = read_left_side (arena, p, node);
  open = p != NULL ? operands_open (p) : NULL;
  if (open == NULL)
    {
      node->unparsed = TRUE;
      node->op = keep (arena, line, end);
      return;
    }
  node->op = node->number >= 0 ? keep (arena, p, open) : "Return";
  const char *close = closing (open + 1, end);
  if (close == NULL)
    {
      find_references (arena, open + 1, node, items_left);
      return;
    }
  split_operands (arena, open + 1, close, node, items_left);
  read_attr_groups (arena, close + 1, end, node, items_left);
}
