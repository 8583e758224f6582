/* SPDX-License-Identifier: Apache-2.0 */
#include "model-report.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "nn/cell.h"
#include "nn/model.h"
#include "ops/op.h"

#define BATCH 2 /* batch norm needs more than one */

static void
cell_report_free (gpointer data)
{
  TnCellReport *cell = data;
  g_free (cell->path);
  g_free (cell->name);
  g_free (cell->type);
  g_free (cell->scope);
  g_free (cell);
}

static void
parameter_clear (gpointer data)
{
  TnParameterReport *parameter = data;
  g_free (parameter->name);
  g_free (parameter->init);
}

TnModelReport *
tn_model_report_ref (TnModelReport *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_model_report_unref (TnModelReport *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_free (self->name);
  g_ptr_array_unref (self->cells);
  g_hash_table_unref (self->by_path);
  g_array_unref (self->parameters);
  g_free (self->error);
  g_free (self->error_path);
  g_free (self->fix_option);
  g_free (self);
}

/* Walks the text as the engine does, and notes under which scope each cell's operators will stand. */
static void
add_cells (TnModelReport *self, GHashTable *by_scope, JsonArray *array, const char *path, const char *scope)
{
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *node = json_array_get_element (array, i);
      if (!JSON_NODE_HOLDS_OBJECT (node))
        continue;
      JsonObject *object = json_node_get_object (node);
      TnCellReport *cell = g_new0 (TnCellReport, 1);
      cell->path = tn_json_path_element (path, i);
      cell->type = g_strdup (json_object_get_string_member_with_default (object, "type", ""));
      const char *name = json_object_get_string_member_with_default (object, "name", NULL);
      cell->name = name != NULL ? g_strdup (name) : g_strdup_printf ("%u", i);
      g_ptr_array_add (self->cells, cell);
      g_hash_table_insert (self->by_path, cell->path, cell);
      cell->scope = g_strdup_printf ("%s/%s-%s", scope, cell->name, cell->type);
      g_hash_table_insert (by_scope, cell->scope, cell);
      const TnCellClass *klass = tn_cell_class_find (cell->type);
      for (const TnOption *option = klass != NULL ? klass->options : NULL; option != NULL && option->name != NULL; option++)
        {
          JsonNode *member = option->type == TN_OPTION_CELLS ? json_object_get_member (object, option->name) : NULL;
          if (member == NULL || !JSON_NODE_HOLDS_ARRAY (member))
            continue;
          g_autofree char *member_path = tn_json_path_member (cell->path, option->name);
          add_cells (self, by_scope, json_node_get_array (member), member_path, cell->scope);
        }
    }
}

static TnShape
without_batch (const TnShape *shape)
{
  return shape->n_dims > 0 ? tn_shape_make (shape->n_dims - 1, shape->dims + 1) : *shape;
}

static void
count_node (TnModelReport *self, GHashTable *by_scope, const TnNode *node)
{
  g_autofree char *scope = g_strdup (node->scope != NULL ? node->scope : "");
  TnCost cost = { 0 };
  gboolean is_parameter = tn_node_is_parameter (node), is_op = !is_parameter && !tn_node_is_input (node) && !tn_node_is_constant (node);
  if (is_op)
    tn_node_cost (node, &cost);
  self->flops += cost.flops / BATCH;
  for (gboolean own = TRUE; *scope != '\0'; own = FALSE)
    {
      TnCellReport *cell = g_hash_table_lookup (by_scope, scope);
      if (cell != NULL && is_parameter && tn_node_parameter_info (node)->role == TN_ROLE_TRAINED)
        cell->parameters += tn_shape_count (&node->outputs[0].shape);
      if (cell != NULL && is_op && node->n_outputs > 0)
        {
          cell->built = TRUE;
          cell->output = without_batch (&node->outputs[0].shape);
          cell->flops += cost.flops / BATCH;
          if (own && !tn_node_is (node, "Reshape"))
            cell->bytes = tn_shape_count (&node->outputs[0].shape) / BATCH * (int64_t) tn_dtype_size (node->outputs[0].dtype);
        }
      char *slash = strrchr (scope, '/');
      if (slash == NULL)
        break;
      *slash = '\0';
    }
}

static void
add_parameter (TnModelReport *self, const TnValue *value)
{
  const TnParameterInfo *info = tn_node_parameter_info (value->node);
  TnParameterReport parameter = { .name = g_strdup (value->node->name),
                                  .shape = value->shape,
                                  .dtype = value->dtype,
                                  .elements = tn_shape_count (&value->shape),
                                  .statistic = info->role != TN_ROLE_TRAINED,
                                  .frozen = info->frozen,
                                  .init = g_strdup (info->init) };
  parameter.bytes = parameter.elements * (int64_t) tn_dtype_size (value->dtype);
  if (!parameter.statistic)
    self->trained += parameter.elements;
  self->bytes += parameter.bytes;
  g_array_append_val (self->parameters, parameter);
}

/* "cells[3].body[0].kernel: …" or "cells[3] (Dense): …": the longest beginning that is a cell's path. */
static void
locate_error (TnModelReport *self, const char *message)
{
  size_t longest = 0;
  for (guint i = 0; i < self->cells->len; i++)
    {
      const TnCellReport *cell = self->cells->pdata[i];
      size_t n = strlen (cell->path);
      if (n > longest && strncmp (message, cell->path, n) == 0 && strchr (". (:", message[n]) != NULL)
        {
          longest = n;
          g_free (self->error_path);
          self->error_path = g_strdup (cell->path);
        }
    }
  const char *rest = message + longest;
  rest += strspn (rest, ". :");
  self->error = g_strdup (longest > 0 ? rest : message);
}

/* Of the cells before: the last that makes what the failing one gets, past those that only change the shape. */
static const char *
giver_of (const TnModelReport *self, const TnCellReport *failed)
{
  const char *name = NULL;
  for (guint i = 0; i < self->cells->len && self->cells->pdata[i] != failed; i++)
    {
      const TnCellReport *cell = self->cells->pdata[i];
      if (cell->built && strcmp (cell->type, "Flatten") != 0 && strcmp (cell->type, "Reshape") != 0)
        name = cell->name;
    }
  return name != NULL ? name : _ ("the input");
}

/* A size that the cell states and the input has not. */
static void
find_fix (TnModelReport *self, const char *message, const TnGraph *graph, JsonObject *object)
{
  const TnCellReport *cell = self->error_path != NULL ? tn_model_report_cell (self, self->error_path) : NULL;
  const char *option = strstr (message, ".in_channels: ") != NULL ? "in_channels" : strstr (message, ".num_features: ") != NULL ? "num_features" : NULL;
  const TnNode *last = NULL;
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    if (!tn_node_is_parameter (tn_graph_node (graph, i)) && !tn_node_is_constant (tn_graph_node (graph, i)))
      last = tn_graph_node (graph, i);
  if (cell == NULL || option == NULL || object == NULL || last == NULL || last->outputs[0].shape.n_dims < 2)
    return;
  const TnShape *shape = &last->outputs[0].shape;
  int64_t has = strcmp (cell->type, "Dense") == 0 ? shape->dims[shape->n_dims - 1] : shape->dims[1];
  int64_t states = json_object_get_int_member_with_default (object, option, 0);
  if (has == states)
    return;
  self->fix_option = g_strdup (option);
  self->fix_value = has;
  g_free (self->error);
  self->error = g_strdup_printf (_ ("%s expects %" PRId64 " inputs, %s gives %" PRId64 "."), cell->name, states,
                                 giver_of (self, cell), has);
}

static JsonObject *
object_at (JsonNode *root, const char *path)
{
  JsonNode *node = root;
  for (const char *p = path; *p != '\0' && node != NULL;)
    if (*p == '[')
      {
        guint64 index = g_ascii_strtoull (p + 1, (char **) &p, 10);
        p += *p == ']';
        if (!JSON_NODE_HOLDS_ARRAY (node) || index >= json_array_get_length (json_node_get_array (node)))
          return NULL;
        node = json_array_get_element (json_node_get_array (node), (guint) index);
      }
    else
      {
        p += *p == '.';
        size_t n = strcspn (p, ".[");
        g_autofree char *key = g_strndup (p, n);
        p += n;
        if (!JSON_NODE_HOLDS_OBJECT (node))
          return NULL;
        node = json_object_get_member (json_node_get_object (node), key);
      }
  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

TnModelReport *
tn_model_report_new (JsonNode *network, const char *freeze, const char *init)
{
  TnModelReport *self = g_new0 (TnModelReport, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->cells = g_ptr_array_new_with_free_func (cell_report_free);
  self->by_path = g_hash_table_new (g_str_hash, g_str_equal);
  self->parameters = g_array_new (FALSE, FALSE, sizeof (TnParameterReport));
  g_array_set_clear_func (self->parameters, parameter_clear);
  JsonObject *root = JSON_NODE_HOLDS_OBJECT (network) ? json_node_get_object (network) : NULL;
  self->name = g_strdup (root != NULL ? json_object_get_string_member_with_default (root, "name", "model") : "model");

  g_autoptr (GHashTable) by_scope = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree char *scope = g_strdup_printf ("Default/network-%s", self->name);
  JsonNode *cells = root != NULL ? json_object_get_member (root, "cells") : NULL;
  if (cells != NULL && JSON_NODE_HOLDS_ARRAY (cells))
    add_cells (self, by_scope, json_node_get_array (cells), "cells", scope);

  g_autoptr (GError) error = NULL;
  g_autofree char *text = tn_json_to_text (network, 0);
  g_autoptr (TnModel) model = tn_model_from_json (text, -1, &error);
  if (model == NULL || (init != NULL && !tn_model_set_init (model, init, &error)))
    {
      locate_error (self, error->message);
      return self;
    }
  if (freeze != NULL)
    tn_model_set_freeze (model, freeze);
  self->input = tn_model_input (model)->shape;
  g_autoptr (TnGraph) graph = tn_graph_new (self->name);
  TnValue *x = tn_graph_add_input (graph, "x", tn_model_input (model)->dtype, tn_model_batch_shape (model, BATCH));
  TnValue *y = tn_model_build (model, graph, x, TRUE, &error);
  for (int i = 0; i < tn_graph_n_nodes (graph); i++)
    count_node (self, by_scope, tn_graph_node (graph, i));
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    add_parameter (self, tn_graph_parameter (graph, i));
  if (y == NULL)
    {
      locate_error (self, error->message);
      find_fix (self, error->message, graph, self->error_path != NULL ? object_at (network, self->error_path) : NULL);
    }
  return self;
}

/* The text, as json-glib's nodes share what is in them when they are copied. */
typedef struct
{
  char *network, *freeze, *init;
} Request;

static void
request_free (Request *request)
{
  g_free (request->network);
  g_free (request->freeze);
  g_free (request->init);
  g_free (request);
}

static void
report_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Request *request = data;
  GError *error = NULL;
  g_autoptr (JsonNode) network = tn_json_parse (request->network, -1, &error);
  if (network == NULL)
    g_task_return_error (task, error);
  else if (!g_task_return_error_if_cancelled (task))
    g_task_return_pointer (task, tn_model_report_new (network, request->freeze, request->init), (GDestroyNotify) tn_model_report_unref);
}

void
tn_model_report_async (JsonNode *network, const char *freeze, const char *init, GCancellable *cancellable,
                       GAsyncReadyCallback callback, gpointer user_data)
{
  Request *request = g_new0 (Request, 1);
  request->network = tn_json_to_text (network, 0);
  request->freeze = g_strdup (freeze);
  request->init = g_strdup (init);
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, request, (GDestroyNotify) request_free);
  g_task_set_return_on_cancel (task, TRUE);
  g_task_run_in_thread (task, report_thread);
}

TnModelReport *
tn_model_report_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

const TnCellReport *
tn_model_report_cell (const TnModelReport *self, const char *path)
{
  return g_hash_table_lookup (self->by_path, path);
}

char *
tn_model_shape_text (const TnShape *shape)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (int i = 0; i < shape->n_dims; i++)
    g_string_append_printf (text, "%s%" PRId64, i > 0 ? "×" : "", shape->dims[i]);
  return text->len > 0 ? g_string_free (g_steal_pointer (&text), FALSE) : g_strdup (_ ("scalar"));
}
