/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/strategy-private.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"

/* MindInsight's parallel_strategy_<rank>.json: a profiled graph whose nodes carry the strategies that were generated. Only
 * operators are told there, no parameters. */

static gboolean
wrong (const char *what, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("This is no profiled strategy: %s."), what);
  return FALSE;
}

static JsonObject *
object_of (JsonNode *node)
{
  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static JsonArray *
array_member (JsonObject *object, const char *key)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, key) : NULL;
  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

/* {"dtype": "DT_TUPLE", "values": [{"intVal": "2"}, ...]}; numbers are strings. */
static GArray *
read_tuple (JsonNode *node)
{
  JsonArray *values = array_member (object_of (node), "values");
  if (values == NULL)
    return NULL;
  g_autoptr (GArray) tuple = g_array_new (FALSE, FALSE, sizeof (int64_t));
  for (guint i = 0; i < json_array_get_length (values); i++)
    {
      JsonObject *value = object_of (json_array_get_element (values, i));
      const char *text = NULL;
      gint64 number;
      if (value == NULL || !tn_json_get_string (value, "intVal", &text, "", NULL) || !g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &number, NULL))
        return NULL;
      g_array_append_val (tuple, number);
    }
  return g_steal_pointer (&tuple);
}

static gboolean
read_strategies (TnStrategyNode *item, JsonObject *attribute)
{
  JsonArray *inputs = array_member (object_of (json_object_get_member (attribute, "value")), "values");
  for (guint i = 0; inputs != NULL && i < json_array_get_length (inputs); i++)
    {
      GArray *tuple = read_tuple (json_array_get_element (inputs, i));
      if (tuple == NULL)
        return FALSE;
      g_ptr_array_add (item->strategies, tuple);
    }
  return TRUE;
}

static gboolean
read_node (TnStrategyFile *self, JsonNode *node, gint64 stage, GError **error)
{
  JsonObject *object = object_of (node);
  const char *op = "", *full = "", *name = "";
  if (object == NULL)
    return wrong (_ ("a node is no object"), error);
  if (!tn_json_get_string (object, "opType", &op, "node", error) || !tn_json_opt_string (object, "fullName", &full, "node", error) || !tn_json_opt_string (object, "name", &name, "node", error))
    return FALSE;
  JsonArray *attributes = array_member (object, "attribute");
  TnStrategyNode *item = tn_strategy_file_add_node (self, *full != '\0' ? full : *name != '\0' ? name : op, stage);
  for (guint i = 0; attributes != NULL && i < json_array_get_length (attributes); i++)
    {
      JsonObject *attribute = object_of (json_array_get_element (attributes, i));
      const char *key = "";
      if (attribute == NULL || !tn_json_opt_string (attribute, "name", &key, "attribute", NULL))
        return wrong (_ ("an attribute has no name"), error);
      if ((strcmp (key, "gen_strategy") == 0 || strcmp (key, "in_strategy") == 0) && item->strategies->len == 0 && !read_strategies (item, attribute))
        return wrong (_ ("a strategy is no list of tuples"), error);
    }
  return TRUE;
}

gboolean
tn_strategy_file_is_profiled (JsonObject *top)
{
  return json_object_has_member (top, "config") && json_object_has_member (top, "graph");
}

gboolean
tn_strategy_file_read_profiled (TnStrategyFile *self, JsonObject *top, GError **error)
{
  JsonObject *config = object_of (json_object_get_member (top, "config"));
  JsonArray *nodes = array_member (object_of (json_object_get_member (top, "graph")), "node");
  gint64 rank = 0, stage = 0;
  const char *mode = "";
  if (config == NULL || nodes == NULL)
    return wrong (_ ("it has no config or no nodes"), error);
  if (!tn_json_opt_int (config, "rankId", 0, G_MAXINT32, &rank, "config", error) || !tn_json_opt_int (config, "stageId", 0, G_MAXINT32, &stage, "config", error)
      || !tn_json_opt_string (config, "parallelType", &mode, "config", error))
    return FALSE;
  self->current_stage = stage;
  g_ptr_array_add (self->notes, g_strdup_printf (_ ("A profiled strategy: rank %" PRId64 ", stage %" PRId64 ", %s. Parameters are not told there."), rank, stage, mode));
  for (guint i = 0; i < json_array_get_length (nodes); i++)
    if (!read_node (self, json_array_get_element (nodes, i), stage, error))
      return FALSE;
  return TRUE;
}
