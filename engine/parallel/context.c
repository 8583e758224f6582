/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/context.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"

/* ---- strategies in JSON ---- */

static void
clear_strategy (gpointer data)
{
  TnShardStrategy *strategy = data;
  for (int k = 0; strategy->inputs != NULL && k < strategy->n_inputs; k++)
    tn_layout_unref (strategy->inputs[k]);
  g_free (strategy->inputs);
  g_free ((TnShape *) strategy->counts);
  g_free ((char *) strategy->pattern);
}

static gboolean
wrong_type (const char *pattern, guint k, GError **error)
{
  g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_TYPE, _ ("parallel.strategy, “%s”, input %u: write a list with one entry a dimension: an axis, \"None\", a list of axes, or a count."), pattern, k);
  return FALSE;
}

static gboolean
read_axis (const TnMesh *mesh, JsonNode *node, const char *pattern, guint k, TnDimMap *dim, GError **error)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return wrong_type (pattern, k, error);
  const char *name = json_node_get_string (node);
  int axis = tn_mesh_axis (mesh, name);
  if (strcmp (name, "None") == 0)
    return TRUE;
  if (axis < 0 || dim->n == TN_MESH_MAX_AXES)
    {
      g_autofree char *known = tn_mesh_to_string (mesh);
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("parallel.strategy, “%s”, input %u: “%s” is no axis of the mesh %s."), pattern, k, name, known);
      return FALSE;
    }
  dim->axes[dim->n++] = (int8_t) axis;
  return TRUE;
}

static TnLayout *
read_axes (TnMesh *mesh, JsonArray *list, const char *pattern, guint k, GError **error)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  guint n = json_array_get_length (list);
  for (guint d = 0; d < MIN (n, TN_MAX_DIMS); d++)
    {
      JsonNode *node = json_array_get_element (list, d);
      if (JSON_NODE_HOLDS_ARRAY (node))
        {
          JsonArray *axes = json_node_get_array (node);
          for (guint i = 0; i < json_array_get_length (axes); i++)
            if (!read_axis (mesh, json_array_get_element (axes, i), pattern, k, &dims[d], error))
              return NULL;
        }
      else if (!read_axis (mesh, node, pattern, k, &dims[d], error))
        return NULL;
    }
  return tn_layout_new (mesh, (int) MIN (n, G_MAXINT), dims, 0, TN_PARTIAL_NONE, error);
}

static gboolean
holds_counts (JsonArray *list)
{
  for (guint d = 0; d < json_array_get_length (list); d++)
    {
      JsonNode *node = json_array_get_element (list, d);
      if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
        return FALSE;
    }
  return json_array_get_length (list) > 0;
}

static void
read_counts (JsonArray *inputs, TnShardStrategy *strategy)
{
  TnShape *counts = g_new0 (TnShape, strategy->n_inputs);
  for (int k = 0; k < strategy->n_inputs; k++)
    {
      JsonArray *list = json_array_get_array_element (inputs, (guint) k);
      counts[k].n_dims = (int) MIN (json_array_get_length (list), TN_MAX_DIMS);
      for (int d = 0; d < counts[k].n_dims; d++)
        counts[k].dims[d] = json_array_get_int_element (list, (guint) d);
    }
  strategy->counts = counts;
}

static gboolean
read_strategy (TnMesh *mesh, const char *pattern, JsonNode *node, TnShardStrategy *strategy, GError **error)
{
  JsonArray *inputs = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  guint n = inputs != NULL ? json_array_get_length (inputs) : 0;
  if (n < 1 || n > 8)
    return wrong_type (pattern, 0, error);
  strategy->pattern = g_strdup (pattern);
  strategy->n_inputs = (int) n;
  gboolean counts = TRUE;
  for (guint k = 0; k < n; k++)
    {
      if (!JSON_NODE_HOLDS_ARRAY (json_array_get_element (inputs, k)))
        return wrong_type (pattern, k, error);
      counts &= holds_counts (json_array_get_array_element (inputs, k));
    }
  if (counts)
    {
      read_counts (inputs, strategy);
      return TRUE;
    }
  strategy->inputs = g_new0 (TnLayout *, n);
  for (guint k = 0; k < n; k++)
    if ((strategy->inputs[k] = read_axes (mesh, json_array_get_array_element (inputs, k), pattern, k, error)) == NULL)
      return FALSE;
  return TRUE;
}

GArray *
tn_shard_strategies_parse (const char *text, TnMesh *mesh, GError **error)
{
  g_autoptr (GArray) strategies = g_array_new (FALSE, TRUE, sizeof (TnShardStrategy));
  g_array_set_clear_func (strategies, clear_strategy);
  if (*text == '\0')
    return g_steal_pointer (&strategies);
  g_autoptr (JsonNode) node = tn_json_parse (text, -1, error);
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    {
      if (node != NULL)
        g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_TYPE, _ ("parallel.strategy must be an object: {\"cell\": [[...], ...]}."));
      return NULL;
    }
  JsonObjectIter iter;
  const char *pattern;
  JsonNode *value;
  json_object_iter_init_ordered (&iter, json_node_get_object (node));
  while (json_object_iter_next_ordered (&iter, &pattern, &value))
    {
      TnShardStrategy strategy = { 0 };
      gboolean ok = read_strategy (mesh, pattern, value, &strategy, error);
      g_array_append_val (strategies, strategy);
      if (!ok)
        return NULL;
    }
  return g_steal_pointer (&strategies);
}

/* ---- settings ---- */

static gboolean
refuse (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse (GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, message);
  return FALSE;
}

static gboolean
check_settings (const TnSettings *s, GError **error)
{
  gboolean optimizer = tn_settings_get_bool (s, "parallel.optimizer"), alone = tn_settings_enum_is (s, "parallel.mode", "stand_alone");
  int n;
  g_autofree int64_t *fusion = tn_settings_get_int_list (s, "parallel.all_reduce_fusion", &n);
  if (optimizer && (alone || tn_settings_enum_is (s, "parallel.mode", "hybrid_parallel")) && tn_settings_get_int (s, "parallel.ranks") > 1)
    return refuse (error, _ ("parallel.optimizer needs parallel.mode = data_parallel, semi_auto_parallel or auto_parallel."));
  if (tn_settings_get_int (s, "parallel.optimizer_shard_size") == 0)
    return refuse (error, _ ("parallel.optimizer_shard_size is 0: it is -1 for all, or 2 or more ranks."));
  for (int i = 1; i < n; i++)
    if (fusion[i] <= fusion[i - 1])
      return refuse (error, _ ("parallel.all_reduce_fusion must ascend: %" PRId64 " follows %" PRId64 "."), fusion[i], fusion[i - 1]);
  return TRUE;
}

TnParallelContext *
tn_parallel_context_new (const TnSettings *s, int64_t ranks, GError **error)
{
  if (!check_settings (s, error))
    return NULL;
  g_autoptr (TnParallelContext) self = g_new0 (TnParallelContext, 1);
  const char *mesh = tn_settings_get_string (s, "parallel.mesh");
  gboolean open = !tn_settings_is_set (s, "parallel.ranks") || tn_settings_get_int (s, "parallel.ranks") == 1; /* a run has every setting set */
  gboolean by_ranks = ranks < 0 && *mesh != '\0' && open && strchr (mesh, '?') == NULL; /* the mesh says how many */
  int64_t n = ranks >= 0 ? ranks : tn_settings_get_int (s, "parallel.ranks");
  self->mesh = tn_mesh_parse (*mesh != '\0' ? mesh : "dp=?", by_ranks ? -1 : n, error);
  if (self->mesh == NULL)
    {
      g_prefix_error (error, "parallel.mesh: ");
      return NULL;
    }
  self->strategies = tn_shard_strategies_parse (tn_settings_get_string (s, "parallel.strategy"), self->mesh, error);
  if (self->strategies == NULL)
    return NULL;
  int64_t shard = tn_settings_get_int (s, "parallel.optimizer_shard_size");
  self->options = (TnShardOptions){
    .mesh = self->mesh,
    .n_strategies = (int) self->strategies->len,
    .strategies = (const TnShardStrategy *) self->strategies->data,
    .dataset = tn_settings_enum_is (s, "parallel.dataset", "full_batch") ? TN_DATASET_FULL_BATCH : TN_DATASET_DATA_PARALLEL,
    .optimizer_level = tn_settings_get_bool (s, "parallel.optimizer") ? (int) tn_settings_get_int (s, "parallel.optimizer_level") : 0,
    .optimizer_shard = shard == 1 ? -1 : shard,
    .optimizer_threshold = tn_settings_get_int (s, "parallel.optimizer_threshold") * 1024,
    .local_batch_norm = tn_settings_enum_is (s, "parallel.batch_norm", "local")
                        || (tn_settings_enum_is (s, "parallel.batch_norm", "auto") && tn_settings_enum_is (s, "parallel.mode", "data_parallel")),
  };
  return g_steal_pointer (&self);
}

void
tn_parallel_context_free (TnParallelContext *self)
{
  if (self == NULL)
    return;
  tn_mesh_unref (self->mesh);
  g_clear_pointer (&self->strategies, g_array_unref);
  g_free (self);
}

gboolean
tn_parallel_context_can_run (const TnSettings *s, GError **error)
{
  if (!check_settings (s, error))
    return FALSE;
  if (tn_settings_get_int (s, "parallel.pipeline_stages") > 1)
    return refuse (error, _ ("Pipelines cannot run yet: set parallel.pipeline_stages to 1."));
  if (tn_settings_enum_is (s, "parallel.mode", "auto_parallel") && !tn_settings_enum_is (s, "parallel.search_mode", "sharding_propagation"))
    return refuse (error, _ ("auto_parallel runs by propagation only: set parallel.search_mode to sharding_propagation."));
  return TRUE;
}
