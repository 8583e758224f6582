/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph.h"
#include "base/error.h"
#include "ops/op.h"
#include <string.h>

struct _TnGraph
{
  gatomicrefcount ref_count;
  TnArena *arena;
  const char *name;
  GPtrArray *nodes;      /* TnNode, in an order in which they can run */
  GPtrArray *inputs;     /* TnValue */
  GPtrArray *parameters; /* TnValue */
  GHashTable *by_name;   /* parameter name -> TnValue */
  GArray *outputs;       /* TnNamedValue */
  GPtrArray *tensors;    /* held for attributes and constants */
  GPtrArray *children;   /* TnGraph, held for nodes with subgraphs */
  GHashTable *op_counts; /* "scope/Op" -> how many, for names */
  GPtrArray *scopes;     /* stack of arena strings */
  TnPhase phase;
  const TnNode *origin;
  GError *failure;
};

const char *
tn_phase_name (TnPhase phase)
{
  static const char *const names[] = { "forward", "backward", "optimizer", "communication", "recompute" };
  return names[phase];
}

TnGraph *
tn_graph_new (const char *name)
{
  TnGraph *self = g_new0 (TnGraph, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->arena = tn_arena_new ();
  self->name = tn_arena_strdup (self->arena, name);
  self->nodes = g_ptr_array_new ();
  self->inputs = g_ptr_array_new ();
  self->parameters = g_ptr_array_new ();
  self->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->outputs = g_array_new (FALSE, FALSE, sizeof (TnNamedValue));
  self->tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  self->children = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_graph_unref);
  self->op_counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->scopes = g_ptr_array_new ();
  g_ptr_array_add (self->scopes, tn_arena_strdup (self->arena, "Default"));
  return self;
}

TnGraph *
tn_graph_ref (TnGraph *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_graph_unref (TnGraph *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_ptr_array_unref (self->nodes);
  g_ptr_array_unref (self->inputs);
  g_ptr_array_unref (self->parameters);
  g_hash_table_unref (self->by_name);
  g_array_unref (self->outputs);
  g_ptr_array_unref (self->tensors);
  g_ptr_array_unref (self->children);
  g_hash_table_unref (self->op_counts);
  g_ptr_array_unref (self->scopes);
  g_clear_error (&self->failure);
  tn_arena_free (self->arena);
  g_free (self);
}

/* ---- failing and scopes ---- */

gboolean
tn_graph_check (TnGraph *self, GError **error)
{
  if (self->failure == NULL)
    return TRUE;
  g_propagate_error (error, g_error_copy (self->failure));
  return FALSE;
}

void
tn_graph_fail (TnGraph *self, GError *error)
{
  if (self->failure == NULL)
    self->failure = error;
  else
    g_error_free (error);
}

gboolean
tn_graph_failed (TnGraph *self)
{
  return self->failure != NULL;
}

void
tn_graph_push_scope (TnGraph *self, const char *scope)
{
  g_autofree char *path = g_strdup_printf ("%s/%s", tn_graph_scope (self), scope);
  g_ptr_array_add (self->scopes, tn_arena_strdup (self->arena, path));
}

void
tn_graph_pop_scope (TnGraph *self)
{
  g_return_if_fail (self->scopes->len > 1);
  g_ptr_array_set_size (self->scopes, self->scopes->len - 1);
}

const char *
tn_graph_scope (TnGraph *self)
{
  return self->scopes->pdata[self->scopes->len - 1];
}

void
tn_graph_set_phase (TnGraph *self, TnPhase phase)
{
  self->phase = phase;
}

void
tn_graph_set_origin (TnGraph *self, const TnNode *node)
{
  self->origin = node;
}

/* ---- nodes ---- */

static TnAttr
copy_attr (TnGraph *self, const TnAttr *attr)
{
  TnAttr copy = *attr;
  copy.name = tn_arena_strdup (self->arena, attr->name);
  switch (attr->type)
    {
    case TN_ATTR_STRING:
      copy.s = tn_arena_strdup (self->arena, attr->s);
      break;
    case TN_ATTR_INTS:
      copy.ints = tn_arena_memdup (self->arena, attr->ints, sizeof (int64_t) * (size_t) attr->count);
      break;
    case TN_ATTR_FLOATS:
      copy.floats = tn_arena_memdup (self->arena, attr->floats, sizeof (double) * (size_t) attr->count);
      break;
    case TN_ATTR_TENSOR:
      g_ptr_array_add (self->tensors, tn_tensor_ref (attr->tensor));
      break;
    default:
      break;
    }
  return copy;
}

void
tn_node_set_n_outputs (TnNode *node, int n)
{
  node->n_outputs = n;
  node->outputs = tn_arena_new0 (node->graph->arena, TnValue, MAX (n, 1));
  for (int i = 0; i < n; i++)
    node->outputs[i] = (TnValue){ .node = node, .index = i };
}

static TnNode *
new_node (TnGraph *self, const TnOp *op, int n_inputs, TnValue **inputs, int n_attrs, const TnAttr *attrs)
{
  TnNode *node = tn_arena_new0 (self->arena, TnNode, 1);
  node->graph = self;
  node->op = op;
  node->phase = self->phase;
  node->scope = self->origin != NULL ? tn_arena_strdup (self->arena, self->origin->scope) : tn_graph_scope (self);
  node->from = self->origin == NULL ? -1 : self->origin->from >= 0 ? self->origin->from : self->origin->id;
  node->n_inputs = n_inputs;
  node->inputs = tn_arena_memdup (self->arena, inputs, sizeof (TnValue *) * (size_t) n_inputs);
  node->n_attrs = n_attrs;
  node->attrs = tn_arena_new0 (self->arena, TnAttr, MAX (n_attrs, 1));
  for (int i = 0; i < n_attrs; i++)
    node->attrs[i] = copy_attr (self, &attrs[i]);
  node->id = (int) self->nodes->len;
  return node;
}

/* "Conv2D-op0": counted by scope and operator, as MindSpore's full names are. */
static void
name_node (TnGraph *self, TnNode *node)
{
  g_autofree char *key = g_strdup_printf ("%s/%s", node->scope, node->op->name);
  gpointer count = g_hash_table_lookup (self->op_counts, key);
  g_autofree char *name = g_strdup_printf ("%s-op%d", key, GPOINTER_TO_INT (count));
  g_hash_table_insert (self->op_counts, g_steal_pointer (&key), GINT_TO_POINTER (GPOINTER_TO_INT (count) + 1));
  node->name = tn_arena_strdup (self->arena, name);
}

static gboolean
check_attrs (const TnNode *node, GError **error)
{
  for (int i = 0; i < node->n_attrs; i++)
    {
      const TnAttrSpec *spec = node->op->attrs;
      while (spec != NULL && spec->name != NULL && strcmp (spec->name, node->attrs[i].name) != 0)
        spec++;
      if (spec == NULL || spec->name == NULL)
        return tn_infer_error (node, error, _ ("unknown attribute “%s”"), node->attrs[i].name);
      if (spec->type != node->attrs[i].type)
        return tn_infer_error (node, error, _ ("attribute “%s” has the wrong type"), node->attrs[i].name);
    }
  for (const TnAttrSpec *spec = node->op->attrs; spec != NULL && spec->name != NULL; spec++)
    if (spec->required && tn_node_attr (node, spec->name) == NULL)
      return tn_infer_error (node, error, _ ("attribute “%s” is missing"), spec->name);
  return TRUE;
}

static gboolean
infer (TnNode *node, GError **error)
{
  const TnOp *op = node->op;
  if (node->n_inputs < op->min_inputs || (op->max_inputs != TN_VARIADIC && node->n_inputs > op->max_inputs))
    return tn_infer_error (node, error, _ ("takes %d to %d inputs, has %d"), op->min_inputs, op->max_inputs, node->n_inputs);
  if (!check_attrs (node, error))
    return FALSE;
  if (op->n_outputs != TN_VARIADIC)
    tn_node_set_n_outputs (node, op->n_outputs);
  g_autoptr (GError) refused = NULL;
  if (!op->infer (node, &refused))
    {
      /* What a helper refuses, a shape or an attribute, does not know the node. */
      if (g_str_has_prefix (refused->message, node->name))
        g_propagate_error (error, g_steal_pointer (&refused));
      else
        tn_infer_error (node, error, "%s", refused->message);
      return FALSE;
    }
  if (node->n_outputs < 1)
    return tn_infer_error (node, error, _ ("cut into no parts: nothing would come out"));
  for (int i = 0; i < node->n_outputs; i++)
    {
      size_t bytes;
      if (!tn_shape_bytes (&node->outputs[i].shape, tn_dtype_size (node->outputs[i].dtype), &bytes, error))
        {
          g_prefix_error (error, "%s: ", node->name);
          return FALSE;
        }
    }
  return TRUE;
}

TnNode *
tn_graph_add_node_full (TnGraph *self, const char *op_name, int n_inputs, TnValue **inputs, int n_attrs, const TnAttr *attrs,
                        int n_subgraphs, TnGraph **subgraphs)
{
  if (self->failure != NULL)
    return NULL;
  const TnOp *op = tn_op_find (op_name);
  if (op == NULL)
    {
      g_set_error (&self->failure, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("there is no operator “%s”"), op_name);
      return NULL;
    }
  for (int i = 0; i < n_inputs; i++)
    if (inputs[i] == NULL)
      {
        g_set_error (&self->failure, TN_ERROR, TN_ERROR_INTERNAL, _ ("%s in %s: input %d is missing"), op_name,
                     tn_graph_scope (self), i);
        return NULL;
      }
  TnNode *node = new_node (self, op, n_inputs, inputs, n_attrs, attrs);
  name_node (self, node);
  if (n_subgraphs > 0)
    {
      node->subgraphs = tn_arena_memdup (self->arena, subgraphs, sizeof (TnGraph *) * (size_t) n_subgraphs);
      node->n_subgraphs = n_subgraphs;
      for (int i = 0; i < n_subgraphs; i++)
        g_ptr_array_add (self->children, tn_graph_ref (subgraphs[i]));
    }
  if (!infer (node, &self->failure))
    return NULL;
  g_ptr_array_add (self->nodes, node);
  return node;
}

TnNode *
tn_graph_add_node (TnGraph *self, const char *op, int n_inputs, TnValue **inputs, int n_attrs, const TnAttr *attrs)
{
  return tn_graph_add_node_full (self, op, n_inputs, inputs, n_attrs, attrs, 0, NULL);
}

TnValue *
tn_op (TnGraph *self, const char *op, int n_inputs, TnValue **inputs, int n_attrs, const TnAttr *attrs)
{
  TnNode *node = tn_graph_add_node (self, op, n_inputs, inputs, n_attrs, attrs);
  return node == NULL ? NULL : &node->outputs[0];
}

static TnNode *
copy_leaf (TnGraph *self, const TnNode *node)
{
  const TnValue *value = &node->outputs[0];
  TnValue *copy = tn_node_is_input (node)       ? tn_graph_add_input (self, node->name, value->dtype, value->shape)
                  : tn_node_is_parameter (node) ? tn_graph_add_parameter (self, node->name, value->dtype, value->shape,
                                                                          tn_node_parameter_info (node))
                                                : tn_graph_add_constant (self, tn_node_constant (node));
  return copy == NULL ? NULL : copy->node;
}

TnNode *
tn_graph_copy_node (TnGraph *self, const TnNode *node, TnValue **inputs)
{
  TnNode *copy = (node->op->flags & TN_OP_LEAF) != 0
                     ? copy_leaf (self, node)
                     : tn_graph_add_node_full (self, node->op->name, node->n_inputs, inputs, node->n_attrs, node->attrs,
                                               node->n_subgraphs, node->subgraphs);
  if (copy == NULL)
    return NULL;
  copy->name = tn_arena_strdup (self->arena, node->name);
  copy->scope = tn_arena_strdup (self->arena, node->scope);
  copy->phase = node->phase;
  copy->from = node->from >= 0 ? node->from : node->id;
  return copy;
}

TnValue *
tn_value_sibling (TnValue *value, int index)
{
  return value == NULL ? NULL : &value->node->outputs[index];
}

/* ---- leaves ---- */

static TnNode *
add_leaf (TnGraph *self, const char *op, const char *name, TnDType dtype, TnShape shape)
{
  if (self->failure != NULL)
    return NULL;
  TnNode *node = new_node (self, tn_op_find (op), 0, NULL, 0, NULL);
  tn_node_set_n_outputs (node, 1);
  tn_set_output (node, 0, dtype, shape);
  size_t bytes;
  if (!tn_shape_bytes (&shape, tn_dtype_size (dtype), &bytes, &self->failure))
    {
      g_prefix_error (&self->failure, "%s: ", name != NULL ? name : op);
      return NULL;
    }
  if (name != NULL)
    node->name = tn_arena_strdup (self->arena, name);
  else
    name_node (self, node);
  g_ptr_array_add (self->nodes, node);
  return node;
}

TnValue *
tn_graph_add_input (TnGraph *self, const char *name, TnDType dtype, TnShape shape)
{
  TnNode *node = add_leaf (self, "Input", name, dtype, shape);
  if (node == NULL)
    return NULL;
  g_ptr_array_add (self->inputs, &node->outputs[0]);
  return &node->outputs[0];
}

TnValue *
tn_graph_add_parameter (TnGraph *self, const char *name, TnDType dtype, TnShape shape, const TnParameterInfo *info)
{
  if (self->failure == NULL && g_hash_table_contains (self->by_name, name))
    g_set_error (&self->failure, TN_ERROR, TN_ERROR_EXISTS, _ ("two parameters are named “%s”: give one of the cells another name"),
                 name);
  TnNode *node = add_leaf (self, "Parameter", name, dtype, shape);
  if (node == NULL)
    return NULL;
  TnParameterInfo *kept = tn_arena_memdup (self->arena, info, sizeof *info);
  kept->init = tn_arena_strdup (self->arena, info->init);
  node->attrs = tn_arena_new0 (self->arena, TnAttr, 1);
  node->attrs[0] = (TnAttr){ .name = "info", .type = TN_ATTR_STRING, .s = (const char *) kept }; /* hidden: n_attrs stays 0 */
  g_ptr_array_add (self->parameters, &node->outputs[0]);
  g_hash_table_insert (self->by_name, (char *) node->name, &node->outputs[0]);
  return &node->outputs[0];
}

TnValue *
tn_graph_add_constant (TnGraph *self, TnTensor *tensor)
{
  TnNode *node = add_leaf (self, "Constant", NULL, tensor->dtype, tensor->shape);
  if (node == NULL)
    return NULL;
  TnAttr attr = tn_attr_tensor ("value", tensor);
  node->attrs = tn_arena_new0 (self->arena, TnAttr, 1);
  node->attrs[0] = copy_attr (self, &attr);
  node->n_attrs = 1;
  return &node->outputs[0];
}

TnValue *
tn_graph_add_scalar (TnGraph *self, TnDType dtype, double value)
{
  g_autoptr (TnTensor) tensor = tn_tensor_new (dtype, TN_SHAPE_SCALAR, &self->failure);
  if (tensor == NULL)
    return NULL;
  tn_tensor_set (tensor, 0, value);
  return tn_graph_add_constant (self, tensor);
}

void
tn_graph_add_output (TnGraph *self, const char *name, TnValue *value)
{
  if (self->failure != NULL || value == NULL)
    return;
  TnNamedValue output = { tn_arena_strdup (self->arena, name), value };
  g_array_append_val (self->outputs, output);
}

/* ---- reading ---- */

const char *
tn_graph_name (const TnGraph *self)
{
  return self->name;
}

TnArena *
tn_graph_arena (TnGraph *self)
{
  return self->arena;
}

int
tn_graph_n_nodes (const TnGraph *self)
{
  return (int) self->nodes->len;
}

TnNode *
tn_graph_node (const TnGraph *self, int id)
{
  return self->nodes->pdata[id];
}

int
tn_graph_n_outputs (const TnGraph *self)
{
  return (int) self->outputs->len;
}

TnNamedValue
tn_graph_output (const TnGraph *self, int i)
{
  return g_array_index (self->outputs, TnNamedValue, i);
}

TnValue *
tn_graph_find_output (const TnGraph *self, const char *name)
{
  for (guint i = 0; i < self->outputs->len; i++)
    if (strcmp (g_array_index (self->outputs, TnNamedValue, i).name, name) == 0)
      return g_array_index (self->outputs, TnNamedValue, i).value;
  return NULL;
}

int
tn_graph_n_inputs (const TnGraph *self)
{
  return (int) self->inputs->len;
}

TnValue *
tn_graph_input (const TnGraph *self, int i)
{
  return self->inputs->pdata[i];
}

int
tn_graph_n_parameters (const TnGraph *self)
{
  return (int) self->parameters->len;
}

TnValue *
tn_graph_parameter (const TnGraph *self, int i)
{
  return self->parameters->pdata[i];
}

TnValue *
tn_graph_find_parameter (const TnGraph *self, const char *name)
{
  return g_hash_table_lookup (self->by_name, name);
}

gboolean
tn_node_is (const TnNode *node, const char *op)
{
  return strcmp (node->op->name, op) == 0;
}

gboolean
tn_node_is_input (const TnNode *node)
{
  return (node->op->flags & TN_OP_LEAF) != 0 && tn_node_is (node, "Input");
}

gboolean
tn_node_is_parameter (const TnNode *node)
{
  return (node->op->flags & TN_OP_LEAF) != 0 && tn_node_is (node, "Parameter");
}

gboolean
tn_node_is_constant (const TnNode *node)
{
  return (node->op->flags & TN_OP_LEAF) != 0 && tn_node_is (node, "Constant");
}

const TnParameterInfo *
tn_node_parameter_info (const TnNode *node)
{
  g_return_val_if_fail (tn_node_is_parameter (node), NULL);
  return (const TnParameterInfo *) node->attrs[0].s;
}

TnTensor *
tn_node_constant (const TnNode *node)
{
  g_return_val_if_fail (tn_node_is_constant (node), NULL);
  return node->attrs[0].tensor;
}

const TnAttr *
tn_node_attr (const TnNode *node, const char *name)
{
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp (node->attrs[i].name, name) == 0)
      return &node->attrs[i];
  return NULL;
}

static const TnAttrSpec *
find_spec (const TnNode *node, const char *name)
{
  for (const TnAttrSpec *spec = node->op->attrs; spec != NULL && spec->name != NULL; spec++)
    if (strcmp (spec->name, name) == 0)
      return spec;
  g_error ("operator %s has no attribute %s", node->op->name, name);
}

gint64
tn_node_int (const TnNode *node, const char *name)
{
  const TnAttr *attr = tn_node_attr (node, name);
  return attr != NULL ? attr->i : (gint64) find_spec (node, name)->number;
}

double
tn_node_float (const TnNode *node, const char *name)
{
  const TnAttr *attr = tn_node_attr (node, name);
  return attr != NULL ? attr->f : find_spec (node, name)->number;
}

gboolean
tn_node_bool (const TnNode *node, const char *name)
{
  return tn_node_int (node, name) != 0;
}

const char *
tn_node_string (const TnNode *node, const char *name)
{
  const TnAttr *attr = tn_node_attr (node, name);
  return attr != NULL ? attr->s : find_spec (node, name)->text;
}

int
tn_node_ints (const TnNode *node, const char *name, const int64_t **values)
{
  const TnAttr *attr = tn_node_attr (node, name);
  *values = attr != NULL ? attr->ints : NULL;
  return attr != NULL ? attr->count : 0;
}

int
tn_node_floats (const TnNode *node, const char *name, const double **values)
{
  const TnAttr *attr = tn_node_attr (node, name);
  *values = attr != NULL ? attr->floats : NULL;
  return attr != NULL ? attr->count : 0;
}

int *
tn_graph_use_counts (const TnGraph *self, int **first)
{
  int n = 0;
  *first = g_new0 (int, self->nodes->len + 1);
  for (guint i = 0; i < self->nodes->len; i++)
    {
      (*first)[i] = n;
      n += ((TnNode *) self->nodes->pdata[i])->n_outputs;
    }
  int *counts = g_new0 (int, n + 1);
  for (guint i = 0; i < self->nodes->len; i++)
    {
      const TnNode *node = self->nodes->pdata[i];
      for (int k = 0; k < node->n_inputs; k++)
        counts[(*first)[node->inputs[k]->node->id] + node->inputs[k]->index]++;
    }
  for (guint i = 0; i < self->outputs->len; i++)
    {
      const TnValue *value = g_array_index (self->outputs, TnNamedValue, i).value;
      counts[(*first)[value->node->id] + value->index]++;
    }
  return counts;
}
