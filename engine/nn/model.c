/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "nn/cell.h"

struct _TnModel
{
  gatomicrefcount ref_count;
  JsonNode *root; /* what it was made from, kept up to date by the setters */
  char *name;
  TnModelInput input;
  char *init;
  char **freeze;
  GPtrArray *cells;
};

TnModel *
tn_model_ref (TnModel *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_model_unref (TnModel *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->root, json_node_unref);
  g_clear_pointer (&self->cells, g_ptr_array_unref);
  g_strfreev (self->freeze);
  g_free (self->name);
  g_free (self->init);
  g_free (self);
}

/* ---- reading ---- */

/* mean and std: one number for all channels, or one a channel. */
static gboolean
read_channels (JsonObject *object, const char *key, double min, double *out, int *n, GError **error)
{
  JsonNode *node = json_object_get_member (object, key);
  *n = 0;
  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!JSON_NODE_HOLDS_ARRAY (node))
    {
      *n = 1;
      return tn_json_get_double (object, key, min, 1e6, out, "input", error);
    }
  JsonArray *array = json_node_get_array (node);
  guint length = json_array_get_length (array);
  gboolean ok = length >= 1 && length <= TN_MODEL_MAX_CHANNELS;
  for (guint i = 0; ok && i < length; i++)
    {
      JsonNode *element = json_array_get_element (array, i);
      GType type = JSON_NODE_HOLDS_VALUE (element) ? json_node_get_value_type (element) : G_TYPE_INVALID;
      out[i] = json_node_get_node_type (element) == JSON_NODE_VALUE ? json_node_get_double (element) : 0;
      ok = (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE) && out[i] >= min && out[i] <= 1e6;
    }
  *n = (int) length;
  if (ok)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("input.%s must be a number or a list of one a channel (%d at most)"), key,
               TN_MODEL_MAX_CHANNELS);
  return FALSE;
}

static gboolean
read_normalisation (TnModelInput *input, JsonObject *object, GError **error)
{
  int n_mean, n_std;
  if (!read_channels (object, "mean", -1e6, input->mean, &n_mean, error) || !read_channels (object, "std", 1e-6, input->std, &n_std, error))
    return FALSE;
  int channels = input->shape.n_dims == 3 ? (int) MIN (input->shape.dims[0], TN_MODEL_MAX_CHANNELS + 1) : 1;
  if (n_mean == n_std && (n_mean <= 1 || n_mean == channels))
    {
      input->n_channels = n_mean;
      return TRUE;
    }
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("input.mean and input.std have %d and %d values: give both 1, or one for each of the %d channels"),
               n_mean, n_std, channels);
  return FALSE;
}

static gboolean
read_input (TnModelInput *input, JsonObject *root, GError **error)
{
  static const char *const known[] = { "shape", "dtype", "pad", "mean", "std", NULL };
  JsonObject *object;
  const char *dtype = "float32";
  gint64 dims[TN_MAX_DIMS], pad = 0;
  int n_dims = 0;
  if (!tn_json_get_object (root, "input", &object, "", error) || !tn_json_check_members (object, known, "input", error)
      || !tn_json_get_ints (object, "shape", 1, G_MAXINT32, dims, TN_MAX_DIMS - 1, &n_dims, "input", error)
      || !tn_json_opt_string (object, "dtype", &dtype, "input", error) || !tn_json_opt_int (object, "pad", 0, 1024, &pad, "input", error))
    return FALSE;
  input->shape.n_dims = n_dims;
  for (int d = 0; d < n_dims; d++)
    input->shape.dims[d] = dims[d];
  input->pad = (int) pad;
  input->dtype = strcmp (dtype, "int32") == 0 ? TN_DTYPE_I32 : TN_DTYPE_F32;
  if (strcmp (dtype, "int32") != 0 && strcmp (dtype, "float32") != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("input.dtype is “%s”: it must be float32 or int32"), dtype);
      return FALSE;
    }
  if (pad > 0 && (n_dims != 3 || dims[1] <= 2 * pad || dims[2] <= 2 * pad))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                   _ ("input.pad is %d: input.shape counts the padding, so it must be a picture of more than %d pixels a side"), (int) pad,
                   2 * (int) pad);
      return FALSE;
    }
  size_t bytes;
  if (!tn_shape_bytes (&input->shape, sizeof (double), &bytes, error))
    {
      g_prefix_error (error, "input.shape: ");
      return FALSE;
    }
  return read_normalisation (input, object, error);
}

static gboolean
check_init (const char *init, GError **error)
{
  static const char *const known[] = { "mindspore1", "mindspore2", NULL };
  if (g_strv_contains (known, init))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
               _ ("init is “%s”: it must be mindspore1 (normal(0.01), zeros) or mindspore2 (he_uniform(sqrt5), uniform)"), init);
  return FALSE;
}

static gboolean
read_freeze (TnModel *self, JsonObject *root, GError **error)
{
  JsonNode *node = json_object_get_member (root, "freeze");
  if (node == NULL || JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  JsonArray *array = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
  guint n = array != NULL ? json_array_get_length (array) : 0;
  gboolean ok = array != NULL;
  self->freeze = g_new0 (char *, n + 1);
  for (guint i = 0; ok && i < n; i++)
    {
      JsonNode *element = json_array_get_element (array, i);
      ok = JSON_NODE_HOLDS_VALUE (element) && json_node_get_value_type (element) == G_TYPE_STRING;
      if (ok)
        self->freeze[i] = g_strdup (json_node_get_string (element));
    }
  if (!ok)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("freeze must be a list of name patterns like “conv1.*”"));
  return ok;
}

static gboolean
read_model (TnModel *self, GError **error)
{
  static const char *const known[] = { "name", "input", "init", "freeze", "cells", "comment", NULL };
  if (!JSON_NODE_HOLDS_OBJECT (self->root))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("a model is an object with members name, input and cells"));
      return FALSE;
    }
  JsonObject *root = json_node_get_object (self->root);
  const char *name = "Network", *init = "mindspore2";
  JsonArray *cells;
  if (!tn_json_check_members (root, known, "", error) || !tn_json_opt_string (root, "name", &name, "", error)
      || !tn_json_opt_string (root, "init", &init, "", error) || !check_init (init, error) || !read_input (&self->input, root, error)
      || !read_freeze (self, root, error) || !tn_json_get_array (root, "cells", &cells, "", error))
    return FALSE;
  if (*name == '\0' || strlen (name) > 100 || strpbrk (name, "/ ") != NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("name is “%s”: it must be 1 to 100 characters without / and spaces"), name);
      return FALSE;
    }
  self->name = g_strdup (name);
  self->init = g_strdup (init);
  self->cells = tn_cells_from_json (json_object_get_member (root, "cells"), "cells", error);
  return self->cells != NULL;
}

TnModel *
tn_model_from_json (const char *text, gssize n, GError **error)
{
  g_autoptr (TnModel) self = g_new0 (TnModel, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->root = tn_json_parse (text, n, error);
  if (self->root == NULL || !read_model (self, error))
    return NULL;
  return g_steal_pointer (&self);
}

TnModel *
tn_model_load (const char *path, GError **error)
{
  g_autoptr (TnModel) self = g_new0 (TnModel, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->root = tn_json_load (path, error);
  if (self->root == NULL)
    return NULL;
  if (read_model (self, error))
    return g_steal_pointer (&self);
  g_prefix_error (error, "%s: ", path);
  return NULL;
}

TnModel *
tn_model_new_preset (const char *name, GError **error)
{
  const char *text = tn_model_preset (name);
  if (text != NULL)
    return tn_model_from_json (text, -1, error);
  const char *const *names = tn_model_preset_names ();
  const char *near = tn_did_you_mean (name, names);
  g_autofree char *list = g_strjoinv (", ", (char **) names);
  if (near != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("there is no preset “%s”: did you mean “%s”?"), name, near);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("there is no preset “%s”: it is one of %s"), name, list);
  return NULL;
}

/* ---- facts and setters ---- */

char *
tn_model_to_json (TnModel *self)
{
  return tn_json_to_text (self->root, 2);
}

const char *
tn_model_name (TnModel *self)
{
  return self->name;
}

const TnModelInput *
tn_model_input (TnModel *self)
{
  return &self->input;
}

TnShape
tn_model_batch_shape (TnModel *self, int64_t batch)
{
  TnShape shape = { .n_dims = self->input.shape.n_dims + 1, .dims = { batch } };
  memcpy (shape.dims + 1, self->input.shape.dims, sizeof (int64_t) * (size_t) self->input.shape.n_dims);
  return shape;
}

gboolean
tn_model_set_init (TnModel *self, const char *preset, GError **error)
{
  if (!check_init (preset, error))
    return FALSE;
  g_free (self->init);
  self->init = g_strdup (preset);
  json_object_set_string_member (json_node_get_object (self->root), "init", preset);
  return TRUE;
}

const char *
tn_model_init (TnModel *self)
{
  return self->init;
}

void
tn_model_set_freeze (TnModel *self, const char *patterns)
{
  JsonArray *array = json_array_new ();
  g_strfreev (self->freeze);
  self->freeze = g_strsplit (patterns != NULL ? patterns : "", ",", -1);
  for (char **pattern = self->freeze; *pattern != NULL; pattern++)
    json_array_add_string_element (array, g_strstrip (*pattern));
  json_object_set_array_member (json_node_get_object (self->root), "freeze", array);
}

/* ---- building ---- */

static gboolean
check_input_value (TnModel *self, const TnValue *x, GError **error)
{
  TnShape want = tn_model_batch_shape (self, x->shape.n_dims > 0 ? x->shape.dims[0] : 0);
  gboolean float_for_float = tn_dtype_is_float (x->dtype) == tn_dtype_is_float (self->input.dtype);
  if (tn_shape_equal (&want, &x->shape) && float_for_float)
    return TRUE;
  g_autofree char *given = tn_shape_to_string (&x->shape), *sample = tn_shape_to_string (&self->input.shape);
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("the input is %s %s: model %s takes batches of %s samples of shape %s"),
               tn_dtype_name (x->dtype), given, self->name, tn_dtype_name (self->input.dtype), sample);
  return FALSE;
}

TnValue *
tn_model_build (TnModel *self, TnGraph *graph, TnValue *x, gboolean training, GError **error)
{
  if (!tn_graph_check (graph, error) || !check_input_value (self, x, error))
    return NULL;
  TnCellBuild build = { .graph = graph,
                        .training = training,
                        .init_preset = self->init,
                        .freeze = (const char *const *) self->freeze,
                        .prefix = g_string_new (NULL),
                        .names = g_ptr_array_new (),
                        .values = g_ptr_array_new () };
  g_autofree char *scope = g_strdup_printf ("network-%s", self->name);
  tn_graph_push_scope (graph, scope);
  TnValue *y = tn_cells_build (self->cells, &build, x);
  tn_graph_pop_scope (graph);
  g_string_free (build.prefix, TRUE);
  g_ptr_array_unref (build.names);
  g_ptr_array_unref (build.values);
  if (tn_graph_check (graph, error))
    return y;
  if (build.failed != NULL && !build.located)
    g_prefix_error (error, "%s (%s): ", tn_cell_path (build.failed), tn_cell_class (build.failed)->name);
  return NULL;
}

gboolean
tn_model_measure (TnModel *self, int64_t *trained, int64_t *statistics, TnShape *output, GError **error)
{
  g_autoptr (TnGraph) graph = tn_graph_new (self->name);
  TnValue *x = tn_graph_add_input (graph, "x", self->input.dtype, tn_model_batch_shape (self, 2));
  TnValue *y = tn_model_build (self, graph, x, TRUE, error);
  if (y == NULL)
    return FALSE;
  *trained = *statistics = 0;
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *parameter = tn_graph_parameter (graph, i);
      gboolean is_trained = tn_node_parameter_info (parameter->node)->role == TN_ROLE_TRAINED;
      *(is_trained ? trained : statistics) += tn_shape_count (&parameter->shape);
    }
  if (output != NULL)
    *output = y->shape.n_dims > 0 ? tn_shape_make (y->shape.n_dims - 1, y->shape.dims + 1) : y->shape;
  return TRUE;
}
