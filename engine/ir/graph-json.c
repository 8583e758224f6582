/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-json.h"
#include "ops/op.h"
#include <string.h>

#define MAX_VALUES 64
#define MAX_SCOPE_DEPTH 200

static void
add_int (JsonArray *array, gint64 value)
{
  json_array_add_int_element (array, value);
}

static JsonArray *
shape_to_json (const TnShape *shape)
{
  JsonArray *array = json_array_new ();
  for (int i = 0; i < shape->n_dims; i++)
    add_int (array, shape->dims[i]);
  return array;
}

/* Small tensors as a flat list, larger ones not at all. */
static JsonNode *
tensor_to_json (TnTensor *tensor)
{
  g_autoptr (TnTensor) dense = tn_tensor_contiguous (tensor, NULL);
  if (dense == NULL || tn_tensor_count (dense) > MAX_VALUES)
    return json_node_new (JSON_NODE_NULL);
  JsonArray *array = json_array_new ();
  for (size_t i = 0; i < (size_t) tn_tensor_count (dense); i++)
    if (tn_dtype_is_float (dense->dtype))
      json_array_add_double_element (array, tn_dtype_load (dense->dtype, tn_tensor_data (dense), i));
    else
      add_int (array, tn_dtype_load_int (dense->dtype, tn_tensor_data (dense), i));
  JsonNode *node = json_node_new (JSON_NODE_ARRAY);
  json_node_take_array (node, array);
  return node;
}

static JsonNode *
list_to_json (const TnAttr *attr)
{
  JsonArray *array = json_array_new ();
  for (int i = 0; i < attr->count; i++)
    if (attr->type == TN_ATTR_INTS)
      add_int (array, attr->ints[i]);
    else
      json_array_add_double_element (array, attr->floats[i]);
  JsonNode *node = json_node_new (JSON_NODE_ARRAY);
  json_node_take_array (node, array);
  return node;
}

static JsonNode *
attr_to_json (const TnAttr *attr)
{
  switch (attr->type)
    {
    case TN_ATTR_INT:
      return json_node_init_int (json_node_alloc (), attr->i);
    case TN_ATTR_FLOAT:
      return json_node_init_double (json_node_alloc (), attr->f);
    case TN_ATTR_BOOL:
      return json_node_init_boolean (json_node_alloc (), attr->i != 0);
    case TN_ATTR_STRING:
      return attr->s != NULL ? json_node_init_string (json_node_alloc (), attr->s) : json_node_new (JSON_NODE_NULL);
    case TN_ATTR_DTYPE:
      if (attr->i < 0 || attr->i >= TN_DTYPE_COUNT)
        return json_node_new (JSON_NODE_NULL);
      return json_node_init_string (json_node_alloc (), tn_dtype_name ((TnDType) attr->i));
    case TN_ATTR_TENSOR:
      return tensor_to_json (attr->tensor);
    default:
      return list_to_json (attr);
    }
}

static void
set_reference (JsonObject *object, const TnValue *value)
{
  json_object_set_int_member (object, "node", value->node->id);
  json_object_set_int_member (object, "output", value->index);
}

static JsonObject *graph_to_json (const TnGraph *graph, gboolean is_top);

/* ---- nodes ---- */

static JsonArray *
inputs_to_json (const TnNode *node)
{
  JsonArray *array = json_array_new ();
  for (int i = 0; i < node->n_inputs; i++)
    {
      JsonObject *input = json_object_new ();
      set_reference (input, node->inputs[i]);
      json_array_add_object_element (array, input);
    }
  return array;
}

static JsonArray *
outputs_to_json (const TnNode *node)
{
  JsonArray *array = json_array_new ();
  for (int i = 0; i < node->n_outputs; i++)
    {
      JsonObject *output = json_object_new ();
      json_object_set_string_member (output, "dtype", tn_dtype_name (node->outputs[i].dtype));
      json_object_set_array_member (output, "shape", shape_to_json (&node->outputs[i].shape));
      json_array_add_object_element (array, output);
    }
  return array;
}

static JsonObject *
node_to_json (const TnNode *node, TnCost *cost)
{
  JsonObject *object = json_object_new (), *attributes = json_object_new ();
  json_object_set_int_member (object, "id", node->id);
  json_object_set_string_member (object, "name", node->name);
  json_object_set_string_member (object, "op", node->op->name);
  json_object_set_string_member (object, "scope", node->scope);
  json_object_set_string_member (object, "phase", tn_phase_name (node->phase));
  json_object_set_int_member (object, "from", node->from);
  for (int i = 0; i < node->n_attrs && !tn_node_is_constant (node); i++)
    json_object_set_member (attributes, node->attrs[i].name, attr_to_json (&node->attrs[i]));
  json_object_set_object_member (object, "attributes", attributes);
  if (tn_node_is_constant (node))
    json_object_set_member (object, "value", tensor_to_json (tn_node_constant (node)));
  json_object_set_array_member (object, "inputs", inputs_to_json (node));
  json_object_set_array_member (object, "outputs", outputs_to_json (node));
  *cost = (TnCost){ 0 };
  if (!(node->op->flags & TN_OP_LEAF))
    tn_node_cost (node, cost);
  json_object_set_double_member (object, "flops", cost->flops);
  json_object_set_double_member (object, "bytes", cost->bytes);
  if (node->n_subgraphs > 0)
    {
      JsonArray *subgraphs = json_array_new ();
      for (int i = 0; i < node->n_subgraphs; i++)
        json_array_add_object_element (subgraphs, graph_to_json (node->subgraphs[i], FALSE));
      json_object_set_array_member (object, "subgraphs", subgraphs);
    }
  return object;
}

static JsonObject *
parameter_to_json (const TnNode *node)
{
  static const char *const roles[] = { "trained", "statistic", "optimizer" };
  const TnParameterInfo *info = tn_node_parameter_info (node);
  JsonObject *object = json_object_new ();
  json_object_set_int_member (object, "node", node->id);
  json_object_set_string_member (object, "name", node->name);
  json_object_set_string_member (object, "role", roles[info->role]);
  json_object_set_boolean_member (object, "frozen", info->frozen);
  if (info->init != NULL)
    json_object_set_string_member (object, "init", info->init);
  return object;
}

/* ---- scopes ---- */

typedef struct
{
  JsonArray *array;
  GHashTable *index; /* path -> place in @array, plus one */
} Scopes;

/* Place of @path, with all that it lies in, up to @depth levels (names from a file may have any number of them). */
static int
find_scope (Scopes *self, const char *path, int depth)
{
  int found = GPOINTER_TO_INT (g_hash_table_lookup (self->index, path));
  if (found > 0)
    return found - 1;
  const char *slash = strrchr (path, '/');
  int parent = -1;
  if (slash != NULL && depth > 0)
    {
      g_autofree char *above = g_strndup (path, (size_t) (slash - path));
      parent = find_scope (self, above, depth - 1);
    }
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "name", path);
  json_object_set_int_member (object, "parent", parent);
  json_object_set_int_member (object, "nodes", 0);
  json_object_set_double_member (object, "flops", 0);
  json_array_add_object_element (self->array, object);
  g_hash_table_insert (self->index, g_strdup (path), GINT_TO_POINTER ((int) json_array_get_length (self->array)));
  return (int) json_array_get_length (self->array) - 1;
}

static void
count_in_scopes (Scopes *self, const TnNode *node, double flops)
{
  for (int i = find_scope (self, node->scope, MAX_SCOPE_DEPTH); i >= 0;)
    {
      JsonObject *scope = json_array_get_object_element (self->array, (guint) i);
      json_object_set_int_member (scope, "nodes", json_object_get_int_member (scope, "nodes") + 1);
      json_object_set_double_member (scope, "flops", json_object_get_double_member (scope, "flops") + flops);
      i = (int) json_object_get_int_member (scope, "parent");
    }
}

/* ---- graphs ---- */

static JsonObject *
totals_to_json (const TnGraph *graph, const TnCost *cost)
{
  gint64 elements = 0, bytes = 0;
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *value = tn_graph_parameter (graph, i);
      elements += tn_shape_count (&value->shape);
      bytes += tn_shape_count (&value->shape) * (gint64) tn_dtype_size (value->dtype);
    }
  JsonObject *totals = json_object_new ();
  json_object_set_int_member (totals, "nodes", tn_graph_n_nodes (graph));
  json_object_set_int_member (totals, "parameters", elements);
  json_object_set_int_member (totals, "parameter_bytes", bytes);
  json_object_set_double_member (totals, "flops", cost->flops);
  json_object_set_double_member (totals, "bytes", cost->bytes);
  return totals;
}

static void
set_ends (JsonObject *object, const TnGraph *graph)
{
  JsonArray *inputs = json_array_new (), *parameters = json_array_new (), *outputs = json_array_new ();
  for (int i = 0; i < tn_graph_n_inputs (graph); i++)
    add_int (inputs, tn_graph_input (graph, i)->node->id);
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    json_array_add_object_element (parameters, parameter_to_json (tn_graph_parameter (graph, i)->node));
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    {
      JsonObject *output = json_object_new ();
      json_object_set_string_member (output, "name", tn_graph_output (graph, i).name);
      set_reference (output, tn_graph_output (graph, i).value);
      json_array_add_object_element (outputs, output);
    }
  json_object_set_array_member (object, "inputs", inputs);
  json_object_set_array_member (object, "parameters", parameters);
  json_object_set_array_member (object, "outputs", outputs);
}

static JsonObject *
graph_to_json (const TnGraph *graph, gboolean is_top)
{
  JsonObject *object = json_object_new ();
  JsonArray *nodes = json_array_new ();
  Scopes scopes = { json_array_new (), g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  TnCost total = { 0 };
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    {
      const TnNode *node = tn_graph_node (graph, i);
      TnCost cost;
      json_array_add_object_element (nodes, node_to_json (node, &cost));
      count_in_scopes (&scopes, node, cost.flops);
      total.flops += cost.flops;
      total.bytes += cost.bytes;
    }
  if (is_top)
    {
      json_object_set_string_member (object, "format", "tenon-graph");
      json_object_set_int_member (object, "version", 1);
    }
  json_object_set_string_member (object, "name", tn_graph_name (graph));
  json_object_set_object_member (object, "totals", totals_to_json (graph, &total));
  set_ends (object, graph);
  json_object_set_array_member (object, "nodes", nodes);
  json_object_set_array_member (object, "scopes", scopes.array);
  g_hash_table_unref (scopes.index);
  return object;
}

JsonNode *
tn_graph_to_json (const TnGraph *graph)
{
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);
  json_node_take_object (node, graph_to_json (graph, TRUE));
  return node;
}
