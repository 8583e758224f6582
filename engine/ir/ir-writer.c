/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/ir-writer.h"
#include "base/durable.h"
#include "ir/ir-values.h"
#include "ops/op.h"
#include <string.h>

typedef struct
{
  GString *out;
  GPtrArray *graphs;      /* TnGraph, the entry first, then as they are met */
  GHashTable *labels;     /* TnGraph -> "1_body" */
  GHashTable *paras;      /* TnNode of inputs and parameters -> N of %paraN */
  const TnGraph *graph;   /* the one that is being written */
  const char *label;      /* of that graph */
  GHashTable *lines;      /* TnValue -> k of %k in that graph, plus one */
  GPtrArray *order;       /* entries of "# Order:" */
  int n_lines;
} Writer;

/* ---- names ---- */

static void
collect (Writer *self, TnGraph *graph)
{
  if (g_hash_table_contains (self->labels, graph))
    return;
  GString *label = g_string_new (NULL);
  if (self->graphs->len > 0)
    g_string_append_printf (label, "%u_", self->graphs->len);
  else if (g_ascii_isdigit (tn_graph_name (graph)[0]))
    g_string_append_c (label, '_'); /* only subgraphs begin with a digit, so no two labels are the same */
  tn_ir_append_label (label, tn_graph_name (graph));
  g_hash_table_insert (self->labels, graph, g_string_free (label, FALSE));
  g_ptr_array_add (self->graphs, graph);
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    for (int k = 0; k < tn_graph_node (graph, i)->n_subgraphs; k++)
      collect (self, tn_graph_node (graph, i)->subgraphs[k]);
}

/* Numbers run on through all graphs: inputs of a graph first, then its parameters. */
static void
number_paras (Writer *self)
{
  int n = 0;
  for (guint g = 0; g < self->graphs->len; g++)
    {
      const TnGraph *graph = self->graphs->pdata[g];
      for (int i = 0; i < tn_graph_n_inputs (graph); i++)
        g_hash_table_insert (self->paras, tn_graph_input (graph, i)->node, GINT_TO_POINTER (++n));
      for (int i = 0; i < tn_graph_n_parameters (graph); i++)
        g_hash_table_insert (self->paras, tn_graph_parameter (graph, i)->node, GINT_TO_POINTER (++n));
    }
}

static int
para_number (Writer *self, const TnNode *node)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (self->paras, node));
}

static void
append_para (Writer *self, const TnNode *node)
{
  g_string_append_printf (self->out, "%%para%d_", para_number (self, node));
  tn_ir_append_label (self->out, node->name);
}

static void
append_para_type (Writer *self, const TnNode *node)
{
  const TnValue *value = &node->outputs[0];
  g_autofree char *dims = tn_shape_to_string (&value->shape);
  if (tn_node_is_parameter (node))
    {
      g_string_append_printf (self->out, "<Ref[Tensor[%s]], %s, ref_key=", tn_dtype_ir_name (value->dtype), dims);
      tn_ir_append_label (self->out, node->name);
      g_string_append (self->out, ", is_parameter>");
    }
  else
    g_string_append_printf (self->out, "<Tensor[%s], %s>", tn_dtype_ir_name (value->dtype), dims);
}

/* ---- values ---- */

static void
append_operand (Writer *self, const TnValue *value)
{
  const TnNode *node = value->node;
  if (tn_node_is_constant (node))
    tn_ir_append_tensor (self->out, tn_node_constant (node));
  else if (tn_node_is_input (node) || tn_node_is_parameter (node))
    append_para (self, node);
  else
    g_string_append_printf (self->out, "%%%d", GPOINTER_TO_INT (g_hash_table_lookup (self->lines, value)) - 1);
}

static void
append_operand_type (Writer *self, const TnValue *value)
{
  const TnNode *node = value->node;
  if (tn_node_is_input (node) || tn_node_is_parameter (node))
    {
      append_para_type (self, node);
      return;
    }
  g_string_append_c (self->out, '<');
  if (tn_node_is_constant (node) && value->shape.n_dims == 0)
    g_string_append_printf (self->out, "%s, NoShape", tn_dtype_ir_name (value->dtype));
  else
    tn_ir_append_type (self->out, value->dtype, &value->shape);
  if (tn_node_is_constant (node) && value->shape.n_dims > 0)
    g_string_append (self->out, ", value=...");
  g_string_append_c (self->out, '>');
}

/* ", constants (3, 4)": which constants the operands are, in order. */
static void
append_constant_ids (Writer *self, int n, TnValue *const *values)
{
  gboolean any = FALSE;
  for (int i = 0; i < n; i++)
    if (tn_node_is_constant (values[i]->node))
      {
        g_string_append_printf (self->out, any ? ", %d" : ", constants (%d", values[i]->node->id);
        any = TRUE;
      }
  if (any)
    g_string_append_c (self->out, ')');
}

static void
append_data (Writer *self, TnTensor *tensor)
{
  g_autoptr (TnTensor) dense = tn_tensor_contiguous (tensor, NULL);
  g_autofree char *dims = tn_shape_to_string (&tensor->shape);
  g_string_append_printf (self->out, "type %s, shape %s, data \"", tn_dtype_ir_name (tensor->dtype), dims);
  if (dense != NULL && tn_tensor_bytes (dense) > 0)
    {
      g_autofree char *text = g_base64_encode (tn_tensor_data (dense), tn_tensor_bytes (dense));
      g_string_append (self->out, text);
    }
  g_string_append_c (self->out, '"');
}

static void
append_origin (Writer *self, const TnNode *node)
{
  g_string_append_printf (self->out, "id %d, phase %s, from %d", node->id, tn_phase_name (node->phase), node->from);
}

/* ---- "# Order:" ---- */

static void
append_order_operand (GString *text, int index, const TnValue *value)
{
  g_string_append_printf (text, ", [%d]: ", index);
  if (tn_node_is_constant (value->node))
    g_string_append (text, "ValueNode<Tensor> Tensor(...)");
  else if (tn_node_is_input (value->node) || tn_node_is_parameter (value->node))
    {
      g_string_append (text, "param_");
      tn_ir_append_label (text, value->node->name);
    }
  else
    g_string_append_printf (text, "CNode_%d", value->node->id);
}

static void
note_order (Writer *self, const TnNode *node)
{
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "#%4u: @%s:CNode_%d{[0]: ValueNode<Primitive> %s", self->order->len + 1, self->label, node->id,
                          node->op->name);
  for (int i = 0; i < node->n_inputs; i++)
    append_order_operand (text, i + 1, node->inputs[i]);
  g_string_append (text, "}\n");
  g_ptr_array_add (self->order, g_string_free (text, FALSE));
}

/* ---- node lines ---- */

static void
write_operands (Writer *self, const TnNode *node)
{
  /* the condition of If comes before its branches, as in MindSpore's Switch */
  int first = node->n_subgraphs > 0 && tn_node_is (node, "If") ? 1 : 0;
  gboolean more = FALSE;
  g_string_append_c (self->out, '(');
  for (int i = 0; i <= node->n_inputs; i++)
    {
      for (int k = 0; i == MIN (first, node->n_inputs) && k < node->n_subgraphs; k++, more = TRUE)
        g_string_append_printf (self->out, "%s@%s", more ? ", " : "",
                                (char *) g_hash_table_lookup (self->labels, node->subgraphs[k]));
      if (i == node->n_inputs)
        break;
      g_string_append (self->out, more ? ", " : "");
      append_operand (self, node->inputs[i]);
      more = TRUE;
    }
  g_string_append_c (self->out, ')');
}

static void
write_operand_types (Writer *self, const TnNode *node)
{
  int first = node->n_subgraphs > 0 && tn_node_is (node, "If") ? 1 : 0;
  gboolean more = FALSE;
  g_string_append_c (self->out, '(');
  for (int i = 0; i <= node->n_inputs; i++)
    {
      for (int k = 0; i == MIN (first, node->n_inputs) && k < node->n_subgraphs; k++, more = TRUE)
        g_string_append (self->out, more ? ", <Func, NoShape>" : "<Func, NoShape>");
      if (i == node->n_inputs)
        break;
      g_string_append (self->out, more ? ", " : "");
      append_operand_type (self, node->inputs[i]);
      more = TRUE;
    }
  g_string_append_c (self->out, ')');
}

static void
write_attrs (Writer *self, const TnNode *node)
{
  if (node->n_attrs == 0)
    return;
  g_string_append (self->out, " primitive_attrs: {");
  for (int i = 0; i < node->n_attrs; i++)
    {
      g_string_append_printf (self->out, "%s%s: ", i > 0 ? ", " : "", node->attrs[i].name);
      tn_ir_append_attr (self->out, &node->attrs[i]);
    }
  g_string_append_c (self->out, '}');
}

static void
write_fullname (Writer *self, const char *name)
{
  g_string_append (self->out, "      # Fullname with scope: (");
  tn_ir_append_escaped (self->out, name);
  g_string_append (self->out, ")\n");
}

/* Outputs of a node with several are read through lines of their own. */
static void
write_tuple_items (Writer *self, const TnNode *node, const int *uses)
{
  int line = self->n_lines - 1;
  for (int i = 0; i < node->n_outputs; i++)
    {
      if (uses[i] == 0)
        continue;
      g_string_append_printf (self->out, "  %%%d(CNode_%d$%d) = TupleGetItem(%%%d, I64(%d))\n      : (<", self->n_lines, node->id,
                              i, line, i);
      tn_ir_append_node_type (self->out, node);
      g_string_append (self->out, ">, <Int64, NoShape>) -> (<");
      tn_ir_append_type (self->out, node->outputs[i].dtype, &node->outputs[i].shape);
      g_string_append (self->out, ">)\n");
      g_autofree char *name = g_strdup_printf ("%s/TupleGetItem-op%d", node->scope, self->n_lines);
      write_fullname (self, name);
      g_hash_table_insert (self->lines, &node->outputs[i], GINT_TO_POINTER (++self->n_lines));
    }
}

static void
write_node (Writer *self, const TnNode *node, const int *uses)
{
  g_string_append_printf (self->out, "  %%%d(CNode_%d) = %s", self->n_lines, node->id, node->op->name);
  write_operands (self, node);
  write_attrs (self, node);
  g_string_append (self->out, "\n      : ");
  write_operand_types (self, node);
  g_string_append (self->out, " -> (<");
  tn_ir_append_node_type (self->out, node);
  g_string_append (self->out, ">)\n");
  write_fullname (self, node->name);
  g_string_append (self->out, "      # Tenon: ");
  append_origin (self, node);
  append_constant_ids (self, node->n_inputs, node->inputs);
  g_string_append_c (self->out, '\n');
  for (int i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].type == TN_ATTR_TENSOR)
      {
        g_string_append_printf (self->out, "      # Tenon tensor: attr \"%s\", ", node->attrs[i].name);
        append_data (self, node->attrs[i].tensor);
        g_string_append_c (self->out, '\n');
      }
  note_order (self, node);
  self->n_lines++;
  if (node->n_outputs == 1)
    g_hash_table_insert (self->lines, &node->outputs[0], GINT_TO_POINTER (self->n_lines));
  else
    write_tuple_items (self, node, uses);
}

static void
append_values (Writer *self, guint n, TnValue *const *values, void (*append) (Writer *, const TnValue *))
{
  for (guint i = 0; i < n; i++)
    {
      g_string_append (self->out, i > 0 ? ", " : "");
      append (self, values[i]);
    }
}

/* One result is returned as it is, any other number as a tuple. */
static void
write_return (Writer *self)
{
  guint n = (guint) tn_graph_n_outputs (self->graph);
  g_autofree TnValue **values = g_new (TnValue *, n + 1);
  for (guint i = 0; i < n; i++)
    values[i] = tn_graph_output (self->graph, (int) i).value;
  if (n != 1)
    {
      g_string_append_printf (self->out, "  %%%d(CNode_outputs) = MakeTuple(", self->n_lines);
      append_values (self, n, values, append_operand);
      g_string_append (self->out, ")\n      : (");
      append_values (self, n, values, append_operand_type);
      g_string_append (self->out, ") -> (<Tuple, NoShape>)\n      # Fullname with scope: (Default/MakeTuple-op0)\n");
      g_string_append_printf (self->out, "  Return(%%%d)\n      : (<Tuple, NoShape>)\n", self->n_lines);
    }
  else
    {
      g_string_append (self->out, "  Return(");
      append_operand (self, values[0]);
      g_string_append (self->out, ")\n      : (");
      append_operand_type (self, values[0]);
      g_string_append (self->out, ")\n");
    }
  g_string_append (self->out, "      # Fullname with scope: (Default/Return-op0)\n      # Tenon: outputs (");
  for (guint i = 0; i < n; i++)
    {
      g_string_append (self->out, i > 0 ? ", " : "");
      tn_ir_append_quoted (self->out, tn_graph_output (self->graph, (int) i).name);
    }
  g_string_append_c (self->out, ')');
  append_constant_ids (self, (int) n, values);
  g_string_append_c (self->out, '\n');
}

/* ---- graphs ---- */

static const char *
role_name (TnParameterRole role)
{
  return role == TN_ROLE_TRAINED ? "trained" : role == TN_ROLE_STATISTIC ? "statistic" : "optimizer";
}

static void
write_leaf (Writer *self, const TnNode *node)
{
  g_string_append_printf (self->out, "# Tenon %s: ",
                          tn_node_is_input (node) ? "input" : tn_node_is_parameter (node) ? "parameter" : "constant");
  append_origin (self, node);
  g_string_append (self->out, ", scope ");
  tn_ir_append_quoted (self->out, node->scope);
  g_string_append (self->out, ", ");
  if (tn_node_is_constant (node))
    append_data (self, tn_node_constant (node));
  else
    {
      g_string_append_printf (self->out, "para %d, name ", para_number (self, node));
      tn_ir_append_quoted (self->out, node->name);
    }
  if (tn_node_is_parameter (node))
    {
      const TnParameterInfo *info = tn_node_parameter_info (node);
      g_string_append_printf (self->out, ", role %s, frozen %d", role_name (info->role), info->frozen ? 1 : 0);
      if (info->init != NULL)
        {
          g_string_append (self->out, ", init ");
          tn_ir_append_quoted (self->out, info->init);
        }
    }
  g_string_append_c (self->out, '\n');
}

static void
write_graph_head (Writer *self, gboolean is_entry)
{
  const TnGraph *graph = self->graph;
  int n = tn_graph_n_inputs (graph) + tn_graph_n_parameters (graph);
  g_autofree TnValue **values = g_new (TnValue *, n + 1);
  for (int i = 0; i < n; i++)
    values[i] = i < tn_graph_n_inputs (graph) ? tn_graph_input (graph, i) : tn_graph_parameter (graph, i - tn_graph_n_inputs (graph));

  g_string_append (self->out, "subgraph attr:\ntenon_name: ");
  tn_ir_append_quoted (self->out, tn_graph_name (graph));
  g_string_append_printf (self->out, "\nsubgraph instance: %s : 0x%x\n", self->label, (unsigned) self->order->len);
  if (!is_entry)
    {
      g_string_append_printf (self->out, "# Parameters: %d, (", n);
      append_values (self, (guint) n, values, append_operand_type);
      g_string_append (self->out, ")\n");
    }
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    if (tn_graph_node (graph, i)->op->flags & TN_OP_LEAF)
      write_leaf (self, tn_graph_node (graph, i));
  g_string_append_printf (self->out, "\nsubgraph @%s(", self->label);
  if (!is_entry)
    append_values (self, (guint) n, values, append_operand);
  g_string_append (self->out, ") {\n");
}

static void
write_graph (Writer *self, const TnGraph *graph, gboolean is_entry)
{
  self->graph = graph;
  self->label = g_hash_table_lookup (self->labels, graph);
  self->n_lines = 0;
  g_hash_table_remove_all (self->lines);
  g_ptr_array_set_size (self->order, 0);
  write_graph_head (self, is_entry);
  g_autofree int *first = NULL;
  g_autofree int *uses = tn_graph_use_counts (graph, &first);
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    {
      const TnNode *node = tn_graph_node (graph, i);
      if (!(node->op->flags & TN_OP_LEAF))
        write_node (self, node, uses + first[i]);
    }
  write_return (self);
  g_string_append (self->out, "}\n");
  if (self->order->len > 0)
    g_string_append (self->out, "# Order:\n");
  for (guint i = 0; i < self->order->len; i++)
    g_string_append (self->out, self->order->pdata[i]);
  g_string_append (self->out, "\n\n");
}

static void
write_params (Writer *self)
{
  const TnGraph *entry = self->graphs->pdata[0];
  int n_inputs = tn_graph_n_inputs (entry), n = n_inputs + tn_graph_n_parameters (entry);
  g_string_append_printf (self->out, "# Total params: %d\n# Params:\n", n);
  for (int i = 0; i < n; i++)
    {
      const TnValue *value = i < n_inputs ? tn_graph_input (entry, i) : tn_graph_parameter (entry, i - n_inputs);
      append_para (self, value->node);
      g_string_append (self->out, ": ");
      append_para_type (self, value->node);
      if (i >= n_inputs)
        g_string_append (self->out, "  :  has_default");
      else
        {
          g_string_append (self->out, " : [");
          for (int k = 0; k < value->shape.n_dims; k++)
            g_string_append_printf (self->out, "%s%" G_GINT64_FORMAT, k > 0 ? ", " : "", (gint64) value->shape.dims[k]);
          g_string_append_c (self->out, ']');
        }
      g_string_append_c (self->out, '\n');
    }
}

/* Nodes as the dialect counts them: leaves, too; cnodes include each graph's Return. */
static void
write_counts (Writer *self)
{
  int n_nodes = 0, n_cnodes = 0;
  for (guint g = 0; g < self->graphs->len; g++)
    {
      const TnGraph *graph = self->graphs->pdata[g];
      n_nodes += tn_graph_n_nodes (graph) + 1;
      n_cnodes++;
      for (int i = 0; i < tn_graph_n_nodes (graph); i++)
        n_cnodes += (tn_graph_node (graph, i)->op->flags & TN_OP_LEAF) == 0;
    }
  g_string_append_printf (self->out, "\nNode counting information:\nTotal number of nodes: %d\nTotal number of cnodes: %d\n\n",
                          n_nodes, n_cnodes);
}

char *
tn_ir_text (const TnGraph *graph)
{
  Writer self = { .out = g_string_new (NULL), .graphs = g_ptr_array_new (), .order = g_ptr_array_new_with_free_func (g_free) };
  self.labels = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self.paras = g_hash_table_new (NULL, NULL);
  self.lines = g_hash_table_new (NULL, NULL);
  collect (&self, (TnGraph *) graph);
  number_paras (&self);
  g_string_append_printf (self.out, "# IR entry: @%s\n# Total subgraphs: %u\n\n# Attrs:\ntenon_format: 1\n\n",
                          (char *) g_hash_table_lookup (self.labels, graph), self.graphs->len);
  write_params (&self);
  write_counts (&self);
  for (guint i = 0; i < self.graphs->len; i++)
    write_graph (&self, self.graphs->pdata[i], i == 0);
  g_hash_table_unref (self.lines);
  g_hash_table_unref (self.paras);
  g_hash_table_unref (self.labels);
  g_ptr_array_unref (self.order);
  g_ptr_array_unref (self.graphs);
  return g_string_free (self.out, FALSE);
}

gboolean
tn_ir_write (const TnGraph *graph, const char *path, GError **error)
{
  g_autofree char *text = tn_ir_text (graph);
  return tn_durable_write (path, text, strlen (text), error);
}
