/* SPDX-License-Identifier: Apache-2.0 */
#include "shard-plan-private.h"
#include <inttypes.h>

#include <glib/gi18n.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "parallel/context.h"
#include "parallel/rules.h"
#include "parallel/strategy-export.h"
#include "train/program-graph.h"
#include "train/project.h"

/* Plans of a project: its training step, cut as parallel.* says. */

/* The model and graph of the last request: building them takes longer than planning. Used under the lock of tn_shard_plan_make(). */
static struct
{
  char *key; /* all that the model is made of */
  TnModel *model;
  TnGraph *graph;
  int64_t rows;
} last;

static gboolean
is_parallel (const TnSetting *setting)
{
  return g_str_has_prefix (setting->name, "parallel.");
}

static void
add_to_key (const TnSetting *setting, const char *value, gboolean is_set, void *data)
{
  if (is_set && !is_parallel (setting))
    g_string_append_printf (data, "%s=%s\n", setting->name, value);
}

static TnSettings *
read_settings (const TnShardRequest *request, GError **error)
{
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autoptr (JsonNode) node = tn_json_parse (request->settings, -1, error);
  if (node == NULL || !tn_settings_from_json (settings, json_node_get_object (node), NULL, error))
    return NULL;
  tn_settings_reset (settings, "init.from"); /* weights are not needed: what it names may be gone */
  if ((request->mesh != NULL && !tn_settings_set (settings, "parallel.mesh", request->mesh, error))
      || (request->strategy != NULL && !tn_settings_set (settings, "parallel.strategy", request->strategy, error)))
    return NULL;
  if (request->optimizer_level >= 0)
    {
      g_autofree char *level = g_strdup_printf ("%d", MAX (request->optimizer_level, 1));
      if (!tn_settings_set (settings, "parallel.optimizer", request->optimizer_level > 0 ? "true" : "false", error)
          || !tn_settings_set (settings, "parallel.optimizer_level", level, error))
        return NULL;
      if (tn_settings_enum_is (settings, "parallel.mode", "stand_alone"))
        tn_settings_set (settings, "parallel.mode", "semi_auto_parallel", NULL);
    }
  return g_steal_pointer (&settings);
}

static gboolean
load_model (const TnShardRequest *request, const TnSettings *settings, GError **error)
{
  g_autoptr (GString) key = g_string_new (request->path);
  g_string_append_printf (key, "\n%s\n", request->network != NULL ? request->network : "");
  tn_settings_foreach (settings, add_to_key, key);
  if (g_strcmp0 (last.key, key->str) == 0)
    return TRUE;
  g_clear_pointer (&last.key, g_free);
  g_clear_pointer (&last.model, tn_model_unref);
  g_clear_pointer (&last.graph, tn_graph_unref);
  g_autoptr (TnProject) project = tn_project_open (request->path, error);
  g_autoptr (JsonNode) network = project != NULL && request->network != NULL ? tn_json_parse (request->network, -1, error) : NULL;
  if (project == NULL || (request->network != NULL && network == NULL))
    return FALSE;
  tn_project_set_network (project, network);
  last.model = tn_project_load_model (project, settings, error);
  if (last.model != NULL)
    last.key = g_string_free (g_steal_pointer (&key), FALSE);
  return last.key != NULL;
}

static TnGraph *
build_graph (TnSettings *settings, int64_t rows, GError **error)
{
  TnProgramRecipe recipe;
  if (last.graph != NULL && last.rows == rows)
    return last.graph;
  g_clear_pointer (&last.graph, tn_graph_unref);
  if (!tn_program_recipe_init (&recipe, last.model, settings, error))
    return NULL;
  last.graph = tn_program_training_graph (&recipe, rows, error);
  last.rows = rows;
  return last.graph;
}

/* The least multiple of the pieces that samples are cut into that is no smaller than the batch. */
static int64_t
fitting_rows (const TnMesh *mesh, int64_t batch)
{
  int64_t pieces = 1;
  for (int i = 0; i < mesh->n_axes; i++)
    if (tn_axis_role (mesh->names[i]) == TN_AXIS_BATCH)
      pieces *= mesh->sizes[i];
  return (batch + pieces - 1) / pieces * pieces;
}

/* ---- what can be changed by a strategy of its own ---- */

/* "Default/network-Net/block0-Sequential/fc1-Dense" -> "block0/fc1". */
static char *
cell_path (const char *scope)
{
  const char *at = strstr (scope, "network-");
  at = at != NULL ? strchr (at, '/') : NULL;
  if (at == NULL)
    return NULL;
  g_auto (GStrv) parts = g_strsplit (at + 1, "/", -1);
  for (int i = 0; parts[i] != NULL; i++)
    {
      char *class = strrchr (parts[i], '-');
      if (class != NULL)
        *class = '\0';
    }
  return g_strjoinv ("/", parts);
}

static void
find_cells (TnShardPlan *plan)
{
  g_autoptr (GHashTable) items = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < plan->items->len; i++)
    g_hash_table_insert (items, g_array_index (plan->items, TnShardItem, i).name, &g_array_index (plan->items, TnShardItem, i));
  for (int id = 0; id < tn_graph_n_nodes (plan->source); id++)
    {
      const TnNode *node = tn_graph_node (plan->source, id);
      if (node->phase != TN_PHASE_FORWARD || tn_node_is (node, "BiasAdd") || node->n_inputs < 2)
        continue;
      for (int k = 0; k < node->n_inputs; k++)
        {
          TnShardItem *item = tn_node_is_parameter (node->inputs[k]->node) ? g_hash_table_lookup (items, node->inputs[k]->node->name) : NULL;
          g_auto (TnRule) rule = { 0 };
          if (item == NULL || item->cell != NULL || item->shape.n_dims < 2 || !tn_rule_for (node, &rule))
            continue;
          item->cell = cell_path (node->scope);
          item->node = id;
          item->input = k;
        }
    }
}

/* ---- plans ---- */

static void
add_items (TnShardPlan *plan, const TnSharded *whole)
{
  g_autoptr (GArray) entries = tn_shard_entries (plan->sharded, plan->source);
  for (guint i = 0; i < entries->len; i++)
    {
      static const char *const kinds[] = { [TN_ROLE_TRAINED] = "parameter", [TN_ROLE_STATISTIC] = "statistic", [TN_ROLE_OPTIMIZER] = "optimizer" };
      const TnShardEntry *entry = &g_array_index (entries, TnShardEntry, i);
      TnLayout *computed = whole != NULL ? tn_sharded_parameter (whole, entry->name) : NULL;
      TnShardItem item = { .name = g_strdup (entry->name), .kind = entry->frozen ? "frozen" : kinds[entry->role], .dtype = tn_dtype_name (entry->dtype),
                           .element = (int64_t) tn_dtype_size (entry->dtype), .has_shape = TRUE, .shape = entry->shape, .local = entry->local, .bytes = entry->bytes,
                           .replicas = entry->replicas, .stage = -1 };
      item.kept = tn_layout_ref (entry->layout);
      item.layout = tn_layout_ref (computed != NULL ? computed : entry->layout);
      g_array_append_val (plan->items, item);
    }
}

static void
add_moves (TnShardPlan *plan)
{
  for (int i = 0; i < tn_sharded_n_traffic (plan->sharded); i++)
    {
      const TnTraffic *t = tn_sharded_traffic (plan->sharded, i);
      TnShardMove move = { t->kind, t->phase, g_strdup (t->value), tn_mesh_ref (t->mesh), t->axes, t->group, t->bytes };
      g_array_append_val (plan->moves, move);
      plan->traffic += t->bytes;
    }
}

TnShardPlan *
tn_shard_plan_from_project (const TnShardRequest *request, GError **error)
{
  g_autoptr (TnSettings) settings = read_settings (request, error);
  g_autoptr (TnParallelContext) context = settings != NULL ? tn_parallel_context_new (settings, request->ranks, error) : NULL;
  if (context == NULL || !load_model (request, settings, error))
    return NULL;
  g_autoptr (TnShardPlan) plan = tn_shard_plan_new ();
  int64_t batch = tn_settings_get_int (settings, "train.batch");
  plan->rows = request->fit_batch ? fitting_rows (context->mesh, batch) : batch;
  TnGraph *graph = build_graph (settings, plan->rows, error);
  plan->sharded = graph != NULL ? tn_shard_graph (graph, &context->options, error) : NULL;
  if (plan->sharded == NULL)
    {
      g_prefix_error (error, _("With train.batch = %" PRId64 ": "), plan->rows);
      return NULL;
    }
  plan->source = tn_graph_ref (graph);
  plan->planned = TRUE;
  plan->mesh = tn_mesh_ref (tn_sharded_mesh (plan->sharded));
  plan->stage_ranks = plan->mesh->n_ranks;
  TnShardOptions uncut = context->options;
  uncut.optimizer_level = 0;
  g_autoptr (TnSharded) whole = context->options.optimizer_level > 0 ? tn_shard_graph (graph, &uncut, NULL) : NULL;
  add_items (plan, whole);
  add_moves (plan);
  find_cells (plan);
  tn_shard_forecast (plan->sharded, &plan->forecast);
  plan->file = tn_sharded_to_strategy_file (plan->sharded);
  plan->title = g_path_get_basename (request->path);
  return g_steal_pointer (&plan);
}

/* ---- strategies ---- */

static JsonArray *
axes_json (const TnMesh *mesh, const TnDimMap *dims, int n)
{
  JsonArray *list = json_array_new ();
  for (int d = 0; d < n; d++)
    if (dims[d].n == 0)
      json_array_add_string_element (list, "None");
    else if (dims[d].n == 1)
      json_array_add_string_element (list, mesh->names[(int) dims[d].axes[0]]);
    else
      {
        JsonArray *axes = json_array_new ();
        for (int i = 0; i < dims[d].n; i++)
          json_array_add_string_element (axes, mesh->names[(int) dims[d].axes[i]]);
        json_array_add_array_element (list, axes);
      }
  return list;
}

/* Input @j beside the one that was laid out: dimensions that go together with its are split alike, the others as they were. */
static JsonArray *
other_input_json (const TnShardPlan *self, const TnNode *node, const TnRule *rule, int j, int chosen, const TnLayout *layout)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  const TnValue *value = node->inputs[j];
  const TnLayout *old = tn_sharded_layout (self->sharded, value);
  for (int d = 0; d < value->shape.n_dims; d++)
    {
      int label = rule->in[j][d], same = -1;
      for (int e = 0; e < layout->n_dims && label >= 0; e++)
        if (rule->in[chosen][e] == label)
          same = e;
      if (same >= 0)
        {
          dims[d] = layout->dims[same];
          continue;
        }
      for (int i = 0; old != NULL && d < old->n_dims && i < old->dims[d].n; i++)
        {
          int axis = old->dims[d].axes[i] >= 0 ? tn_mesh_axis (layout->mesh, old->mesh->names[(int) old->dims[d].axes[i]]) : -1;
          if (axis >= 0 && !(layout->used >> axis & 1))
            dims[d].axes[dims[d].n++] = (int8_t) axis;
        }
    }
  return axes_json (layout->mesh, dims, value->shape.n_dims);
}

char *
tn_shard_plan_strategy (const TnShardPlan *self, guint i, const TnLayout *layout, const char *current, GError **error)
{
  const TnShardItem *item = tn_shard_plan_item (self, i);
  const TnNode *node = tn_graph_node (self->source, item->node);
  g_auto (TnRule) rule = { 0 };
  g_autoptr (JsonNode) was = *current != '\0' ? tn_json_parse (current, -1, error) : NULL;
  if (!tn_rule_for (node, &rule) || (*current != '\0' && (was == NULL || !JSON_NODE_HOLDS_OBJECT (was))))
    {
      if (error != NULL && *error == NULL)
        g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("parallel.strategy is no object of patterns. Reset it first."));
      return NULL;
    }
  JsonArray *inputs = json_array_new ();
  for (int j = 0; j < node->n_inputs; j++)
    json_array_add_array_element (inputs, j == item->input ? axes_json (layout->mesh, layout->dims, layout->n_dims) : other_input_json (self, node, &rule, j, item->input, layout));
  JsonObject *object = json_object_new ();
  json_object_set_array_member (object, item->cell, inputs); /* first: the first pattern that matches counts */
  JsonObjectIter iter;
  const char *pattern;
  JsonNode *value;
  if (was != NULL)
    {
      json_object_iter_init_ordered (&iter, json_node_get_object (was));
      while (json_object_iter_next_ordered (&iter, &pattern, &value))
        if (strcmp (pattern, item->cell) != 0)
          json_object_set_member (object, pattern, json_node_copy (value));
    }
  g_autoptr (JsonNode) node_out = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  return tn_json_to_text (node_out, 0);
}
