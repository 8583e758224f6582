/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/strategy-private.h"

#include <string.h>
#include "base/error.h"
#include "base/json.h"

static gboolean
wrong (const char *path, const char *key, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("This is no strategy file of MindSpore: %s.%s is not what it should be."), path, key);
  return FALSE;
}

static GArray *
read_list (JsonNode *node)
{
  if (node == NULL || !JSON_NODE_HOLDS_ARRAY (node))
    return NULL;
  JsonArray *array = json_node_get_array (node);
  GArray *list = g_array_new (FALSE, FALSE, sizeof (int64_t));
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *item = json_array_get_element (array, i);
      if (!JSON_NODE_HOLDS_VALUE (item) || json_node_get_value_type (item) != G_TYPE_INT64)
        {
          g_array_unref (list);
          return NULL;
        }
      int64_t value = json_node_get_int (item);
      g_array_append_val (list, value);
    }
  return list;
}

static gboolean
read_node (TnStrategyFile *self, const char *name, JsonNode *value, GError **error)
{
  gint64 stage = 0;
  JsonArray *strategies;
  if (!JSON_NODE_HOLDS_OBJECT (value))
    return wrong ("parallel_strategy_item", name, error);
  JsonObject *object = json_node_get_object (value);
  if (!tn_json_opt_int (object, "stage", 0, G_MAXINT32, &stage, name, error) || !tn_json_get_array (object, "parallel_strategy", &strategies, name, error))
    return FALSE;
  TnStrategyNode *node = tn_strategy_file_add_node (self, name, stage);
  for (guint i = 0; i < json_array_get_length (strategies); i++)
    {
      GArray *list = read_list (json_array_get_element (strategies, i));
      if (list == NULL)
        return wrong (name, "parallel_strategy", error);
      g_ptr_array_add (node->strategies, list);
    }
  return TRUE;
}

static gboolean
read_maps (TnStrategyParameter *p, JsonNode *node)
{
  GArray *flat = read_list (node);
  if (flat != NULL)
    {
      g_ptr_array_add (p->maps, flat);
      return TRUE;
    }
  if (node == NULL || !JSON_NODE_HOLDS_ARRAY (node))
    return FALSE;
  p->per_dim = TRUE;
  JsonArray *array = json_node_get_array (node);
  for (guint d = 0; d < json_array_get_length (array); d++)
    {
      JsonNode *item = json_array_get_element (array, d);
      GArray *list = read_list (item);
      if (list == NULL && JSON_NODE_HOLDS_VALUE (item) && json_node_get_value_type (item) == G_TYPE_INT64)
        {
          int64_t value = json_node_get_int (item);
          list = g_array_new (FALSE, FALSE, sizeof (int64_t));
          g_array_append_val (list, value);
        }
      if (list == NULL)
        return FALSE;
      g_ptr_array_add (p->maps, list);
    }
  return TRUE;
}

static gboolean
read_parameter (TnStrategyFile *self, const char *name, JsonNode *value, GError **error)
{
  if (!JSON_NODE_HOLDS_OBJECT (value))
    return wrong ("parallel_layout_item", name, error);
  JsonObject *object = json_node_get_object (value);
  TnStrategyParameter *p = tn_strategy_file_add_parameter (self, name);
  p->dev_matrix = read_list (json_object_get_member (object, "dev_matrix"));
  if (p->dev_matrix == NULL)
    return wrong (name, "dev_matrix", error);
  if (!read_maps (p, json_object_get_member (object, "tensor_map")))
    return wrong (name, "tensor_map", error);
  p->tensor_shape = read_list (json_object_get_member (object, "tensor_shape"));
  p->split_shape = read_list (json_object_get_member (object, "param_split_shape"));
  p->offsets = read_list (json_object_get_member (object, "indices_offset"));
  if ((p->split_shape != NULL ? p->split_shape->len : 0) != (p->offsets != NULL ? p->offsets->len : 0))
    return wrong (name, "indices_offset", error);
  if (!json_object_has_member (object, "opt_weight_shard_size"))
    g_ptr_array_add (self->notes, g_strdup_printf (_ ("%s: no optimizer sharding is told; it was written by an old version."), name));
  return tn_json_opt_int (object, "field", G_MININT32, G_MAXINT32, &p->field, name, error)
         && tn_json_opt_int (object, "opt_weight_shard_step", G_MININT32, G_MAXINT32, &p->opt_step, name, error)
         && tn_json_opt_int (object, "opt_weight_shard_size", G_MININT32, G_MAXINT32, &p->opt_size, name, error);
}

static gboolean
read_members (TnStrategyFile *self, JsonObject *top, const char *key, gboolean (*read) (TnStrategyFile *, const char *, JsonNode *, GError **), GError **error)
{
  JsonNode *node = json_object_get_member (top, key);
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;
  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return wrong ("", key, error);
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &name, &value))
    if (!read (self, name, value, error))
      return FALSE;
  return TRUE;
}

gboolean
tn_strategy_file_read_json (TnStrategyFile *self, const void *data, size_t n, GError **error)
{
  g_autoptr (JsonNode) node = tn_json_parse (data, (gssize) n, error);
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return wrong ("", "", error);
  JsonObject *top = json_node_get_object (node);
  if (tn_strategy_file_is_profiled (top))
    return tn_strategy_file_read_profiled (self, top, error);
  if (!tn_json_opt_int (top, "current_stage", 0, G_MAXINT32, &self->current_stage, "", error)
      || !read_members (self, top, "parallel_layout_item", read_parameter, error)
      || !read_members (self, top, "parallel_strategy_item", read_node, error))
    return FALSE;
  if (self->parameters->len == 0)
    g_ptr_array_add (self->notes, g_strdup (_ ("No parameter layouts are told.")));
  return TRUE;
}

/* ---- writing ---- */

static JsonArray *
list_json (const GArray *list)
{
  JsonArray *array = json_array_new ();
  for (guint i = 0; list != NULL && i < list->len; i++)
    json_array_add_int_element (array, g_array_index (list, int64_t, i));
  return array;
}

static JsonArray *
maps_json (const TnStrategyParameter *p)
{
  if (!p->per_dim)
    return list_json (p->maps->len > 0 ? p->maps->pdata[0] : NULL);
  JsonArray *array = json_array_new ();
  for (guint d = 0; d < p->maps->len; d++)
    json_array_add_array_element (array, list_json (p->maps->pdata[d]));
  return array;
}

/* Members in the order of their names, as MindSpore's writer has them. */
static JsonObject *
parameter_json (const TnStrategyParameter *p)
{
  JsonObject *object = json_object_new ();
  json_object_set_array_member (object, "dev_matrix", list_json (p->dev_matrix));
  json_object_set_int_member (object, "field", p->field);
  if (p->offsets != NULL && p->offsets->len > 0)
    json_object_set_array_member (object, "indices_offset", list_json (p->offsets));
  json_object_set_int_member (object, "opt_weight_shard_size", p->opt_size);
  json_object_set_int_member (object, "opt_weight_shard_step", p->opt_step);
  if (p->split_shape != NULL && p->split_shape->len > 0)
    json_object_set_array_member (object, "param_split_shape", list_json (p->split_shape));
  json_object_set_array_member (object, "tensor_map", maps_json (p));
  if (p->tensor_shape != NULL)
    json_object_set_array_member (object, "tensor_shape", list_json (p->tensor_shape));
  return object;
}

static JsonObject *
node_json (const TnStrategyNode *node)
{
  JsonObject *object = json_object_new ();
  JsonArray *array = json_array_new ();
  for (guint i = 0; i < node->strategies->len; i++)
    json_array_add_array_element (array, list_json (node->strategies->pdata[i]));
  json_object_set_array_member (object, "parallel_strategy", array);
  json_object_set_int_member (object, "stage", node->stage);
  return object;
}

static int
by_name (gconstpointer a, gconstpointer b)
{
  return strcmp (**(char *const *const *) a, **(char *const *const *) b); /* the name is the first member of both */
}

static GPtrArray *
sorted (const GPtrArray *items)
{
  GPtrArray *copy = g_ptr_array_new ();
  for (guint i = 0; i < items->len; i++)
    g_ptr_array_add (copy, items->pdata[i]);
  g_ptr_array_sort (copy, by_name);
  return copy;
}

/* Without the spaces behind commas and colons, as MindSpore writes it. In place. */
static void
close_up (char *text)
{
  gboolean quoted = FALSE;
  char *to = text;
  for (const char *at = text; *at != '\0'; at++)
    {
      if (*at == '\\' && at[1] != '\0')
        *to++ = *at++;
      else if (*at == '"')
        quoted = !quoted;
      if (*at != ' ' || quoted)
        *to++ = *at;
    }
  *to = '\0';
}

char *
tn_strategy_file_to_json (const TnStrategyFile *self)
{
  g_autoptr (JsonObject) top = json_object_new ();
  g_autoptr (GPtrArray) parameters = sorted (self->parameters), nodes = sorted (self->nodes);
  JsonObject *layouts = json_object_new (), *strategies = json_object_new ();
  for (guint i = 0; i < parameters->len; i++)
    json_object_set_object_member (layouts, ((TnStrategyParameter *) parameters->pdata[i])->name, parameter_json (parameters->pdata[i]));
  for (guint i = 0; i < nodes->len; i++)
    json_object_set_object_member (strategies, ((TnStrategyNode *) nodes->pdata[i])->node, node_json (nodes->pdata[i]));
  json_object_set_int_member (top, "current_stage", self->current_stage);
  json_object_set_object_member (top, "parallel_layout_item", layouts);
  json_object_set_object_member (top, "parallel_strategy_item", strategies);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), top);
  char *text = tn_json_to_text (node, 0);
  close_up (text);
  return text;
}
