/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inspect.h"
#include "cli/cli.h"
#include "base/error.h"
#include "base/json.h"
#include "data/dataset.h"
#include "nn/model.h"
#include "train/checkpoint.h"
#include "train/project.h"
#include "train/run-folder.h"
#include <math.h>
#include <string.h>

#define MOST_DEPTH 4

static gboolean
has_file (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static void
add_checkpoints (JsonObject *object, const char *folder)
{
  g_autoptr (GArray) steps = tn_checkpoint_list (folder);
  for (guint i = 0; i < steps->len; i++)
    {
      g_autofree char *path = tn_checkpoint_step_path (folder, g_array_index (steps, gint64, i));
      g_autofree char *name = g_path_get_basename (path);
      JsonObject *item = tn_inspection_add_item (object, name);
      json_object_set_int_member (item, "step", g_array_index (steps, gint64, i));
      json_object_set_boolean_member (item, "pinned", tn_checkpoint_is_pinned (path));
    }
}

static JsonObject *
describe_checkpoints (const char *path)
{
  JsonObject *object = tn_inspection_new ("checkpoints", path);
  add_checkpoints (object, path);
  return object;
}

static gboolean
holds_checkpoints (const char *path)
{
  g_autoptr (GArray) steps = tn_checkpoint_list (path);
  return steps->len > 0;
}

static void
set_fact (JsonObject *object, TnRunFolder *run, const char *fact)
{
  double value = tn_run_folder_fact_number (run, fact);
  if (isfinite (value))
    tn_cli_set_number (object, fact, value);
}

static JsonObject *
describe_run (const char *path, GError **error)
{
  g_autoptr (TnRunFolder) run = tn_run_folder_open (path, error);
  if (run == NULL)
    return NULL;
  JsonObject *object = tn_inspection_new ("run", path);
  json_object_set_string_member (object, "model", tn_run_folder_model_name (run));
  json_object_set_string_member (object, "state", tn_run_state_name (tn_run_folder_seen_state (run)));
  json_object_set_string_member (object, "reason", tn_run_folder_reason (run));
  g_autofree char *checkpoints = tn_run_folder_checkpoints_path (run);
  double step = tn_run_folder_fact_number (run, "step");
  json_object_set_int_member (object, "steps", isfinite (step) ? (gint64) step : 0);
  set_fact (object, run, "loss");
  set_fact (object, run, "accuracy");
  add_checkpoints (object, checkpoints);
  return object;
}

static JsonObject *
describe_project (const char *path, GError **error)
{
  g_autoptr (TnProject) project = tn_project_open (path, error);
  g_autoptr (TnModel) model = project != NULL ? tn_project_load_model (project, NULL, error) : NULL;
  if (model == NULL)
    return NULL;
  JsonObject *object = tn_inspection_new ("project", path);
  json_object_set_string_member (object, "name", tn_project_name (project));
  json_object_set_string_member (object, "model", tn_model_name (model));
  json_object_set_string_member (object, "data", tn_settings_get_string (tn_project_settings (project), "data.source"));
  g_autoptr (GPtrArray) runs = tn_run_folder_list (tn_project_path (project), NULL);
  for (guint i = 0; runs != NULL && i < runs->len; i++)
    {
      g_autofree char *name = g_path_get_basename (runs->pdata[i]);
      JsonObject *item = tn_inspection_add_item (object, name);
      g_autoptr (TnRunFolder) run = tn_run_folder_open (runs->pdata[i], NULL);
      if (run != NULL)
        json_object_set_string_member (item, "state", tn_run_state_name (tn_run_folder_seen_state (run)));
    }
  return object;
}

static JsonObject *
describe_checkpoint (const char *path, GError **error)
{
  g_autoptr (TnCheckpoint) checkpoint = tn_checkpoint_open (path, error);
  if (checkpoint == NULL)
    return NULL;
  const TnCheckpointState *state = tn_checkpoint_state (checkpoint);
  JsonObject *object = tn_inspection_new ("checkpoint", path);
  json_object_set_int_member (object, "step", state->step);
  json_object_set_int_member (object, "epoch", state->epoch);
  json_object_set_int_member (object, "position", state->position);
  json_object_set_string_member (object, "build", state->isa);
  json_object_set_boolean_member (object, "pinned", tn_checkpoint_is_pinned (path));
  for (int i = 0; i < tn_checkpoint_n_tensors (checkpoint); i++)
    {
      const char *name = tn_checkpoint_tensor_name (checkpoint, i);
      const TnTensor *tensor = tn_checkpoint_tensor (checkpoint, name);
      JsonObject *item = tn_inspection_add_item (object, name);
      json_object_set_string_member (item, "dtype", tn_dtype_name (tensor->dtype));
      tn_inspection_set_shape (item, tensor->shape.dims, tensor->shape.n_dims);
    }
  return object;
}

static JsonObject *
describe_data (const char *path, GError **error)
{
  static const char *const parts[] = { "train", "test" };
  g_autoptr (JsonObject) object = tn_inspection_new ("data", path);
  g_autoptr (GError) first = NULL;
  for (int part = 0; part < 2; part++)
    {
      TnDatasetOptions options = { .part = part == 0 ? TN_DATASET_TRAIN : TN_DATASET_TEST };
      g_autoptr (GError) failure = NULL;
      g_autoptr (TnDataset) dataset = tn_dataset_open (path, &options, &failure);
      if (dataset == NULL)
        {
          if (first == NULL)
            first = g_steal_pointer (&failure);
          continue;
        }
      JsonObject *item = tn_inspection_add_item (object, parts[part]);
      json_object_set_int_member (item, "samples", dataset->n_samples);
      json_object_set_int_member (item, "classes", dataset->n_classes);
      json_object_set_string_member (item, "dtype", tn_dtype_name (dataset->dtype));
      tn_inspection_set_shape (item, dataset->sample_shape.dims, dataset->sample_shape.n_dims);
    }
  if (json_object_has_member (object, "items"))
    return g_steal_pointer (&object);
  g_propagate_error (error, g_steal_pointer (&first));
  return NULL;
}

JsonObject *
tn_inspect_folder (const char *path, GError **error)
{
  if (has_file (path, "run.json"))
    return describe_run (path, error);
  if (has_file (path, "project.json"))
    return describe_project (path, error);
  if (has_file (path, "manifest.json"))
    return describe_checkpoint (path, error);
  if (holds_checkpoints (path))
    return describe_checkpoints (path);
  return describe_data (path, error);
}

/* JSON files. */

static JsonObject *
describe_model (const char *path, GError **error)
{
  g_autoptr (TnModel) model = tn_model_load (path, error);
  int64_t trained, statistics;
  TnShape output;
  if (model == NULL || !tn_model_measure (model, &trained, &statistics, &output, error))
    return NULL;
  const TnModelInput *input = tn_model_input (model);
  JsonObject *object = tn_inspection_new ("model", path);
  json_object_set_string_member (object, "name", tn_model_name (model));
  json_object_set_int_member (object, "parameters", trained);
  json_object_set_int_member (object, "statistics", statistics);
  JsonObject *in = tn_inspection_add_item (object, "input"), *out = tn_inspection_add_item (object, "output");
  tn_inspection_set_shape (in, input->shape.dims, input->shape.n_dims);
  tn_inspection_set_shape (out, output.dims, output.n_dims);
  return object;
}

/* Numbers that must come back bit for bit stand as text in hexadecimal: people get them in decimal. */
static gboolean
parse_exact (const char *text, double *value)
{
  char *end;
  if (!g_str_has_prefix (text, "0x") && !g_str_has_prefix (text, "-0x"))
    return FALSE;
  *value = g_ascii_strtod (text, &end);
  return strchr (text, 'p') != NULL && *end == '\0';
}

/* One item a value, with its path; lists are counted. */
static void
add_values (JsonObject *object, const char *prefix, JsonObject *from, int depth)
{
  g_autoptr (GList) members = json_object_get_members (from);
  for (GList *member = members; member != NULL; member = member->next)
    {
      g_autofree char *name = *prefix != '\0' ? g_strdup_printf ("%s.%s", prefix, (char *) member->data) : g_strdup (member->data);
      JsonNode *node = json_object_get_member (from, member->data);
      if (JSON_NODE_HOLDS_OBJECT (node) && depth < MOST_DEPTH)
        {
          add_values (object, name, json_node_get_object (node), depth + 1);
          continue;
        }
      JsonObject *item = tn_inspection_add_item (object, name);
      double number;
      if (JSON_NODE_HOLDS_ARRAY (node))
        json_object_set_int_member (item, "elements", json_array_get_length (json_node_get_array (node)));
      else if (JSON_NODE_HOLDS_OBJECT (node))
        json_object_set_int_member (item, "members", json_object_get_size (json_node_get_object (node)));
      else if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
               && parse_exact (json_node_get_string (node), &number))
        tn_cli_set_number (item, "value", number);
      else
        json_object_set_member (item, "value", json_node_copy (node));
    }
}

static JsonObject *
describe_lock (const char *path, JsonObject *top)
{
  static const char *const told[] = { "pid", "host", "address" };
  g_autofree char *folder = g_path_get_dirname (path);
  g_auto (TnRunOwner) owner = { 0 };
  JsonObject *object = tn_inspection_new ("lock", path);
  if (tn_run_folder_owner (folder, &owner, NULL))
    json_object_set_boolean_member (object, "held", owner.held);
  for (guint i = 0; i < G_N_ELEMENTS (told); i++)
    if (json_object_has_member (top, told[i]))
      json_object_set_member (object, told[i], json_node_copy (json_object_get_member (top, told[i])));
  return object;
}

JsonObject *
tn_inspect_json (const char *path, GError **error)
{
  g_autoptr (JsonNode) node = tn_json_load (path, error);
  if (node == NULL)
    return NULL;
  JsonObject *top = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *format = NULL;
  if (top != NULL)
    tn_json_opt_string (top, "format", &format, "", NULL);
  g_autofree char *folder = g_path_get_dirname (path);
  if (g_strcmp0 (format, "tenon-project") == 0)
    return describe_project (path, error);
  if (g_strcmp0 (format, "tenon-run") == 0 && has_file (folder, "run.json"))
    return describe_run (folder, error);
  if (g_strcmp0 (format, "tenon-checkpoint") == 0 && has_file (folder, "manifest.json"))
    return describe_checkpoint (folder, error);
  if (top != NULL && json_object_has_member (top, "cells"))
    return describe_model (path, error);
  if (top != NULL && json_object_has_member (top, "pid") && json_object_has_member (top, "boot_id"))
    return describe_lock (path, top);
  JsonObject *object = tn_inspection_new ("json", path);
  if (format != NULL)
    json_object_set_string_member (object, "format", format);
  if (top != NULL)
    add_values (object, "", top, 0);
  else if (JSON_NODE_HOLDS_ARRAY (node))
    json_object_set_int_member (object, "elements", json_array_get_length (json_node_get_array (node)));
  return object;
}
