/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/truth.h"
#include <math.h>
#include <string.h>

/* ---- files ---- */

static char *
source_path (const char *relative)
{
  const char *root = g_getenv ("TENON_SOURCE_ROOT");
  return g_build_filename (root != NULL ? root : ".", relative, NULL);
}

char *
truth_folder (void)
{
  const char *given = g_getenv ("TENON_TRUTH");
  g_autofree char *folder = given != NULL ? g_strdup (given) : source_path ("../shared/truth");
  return g_file_test (folder, G_FILE_TEST_IS_DIR) ? g_steal_pointer (&folder) : NULL;
}

char *
truth_own_folder (void)
{
  return source_path ("tests/data/truth");
}

static void
collect (GPtrArray *files, const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        collect (files, path);
      else if (g_str_has_suffix (name, ".json"))
        g_ptr_array_add (files, g_steal_pointer (&path));
    }
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
truth_files (const char *folder)
{
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  collect (files, folder);
  g_ptr_array_sort (files, compare_paths);
  return files;
}

/* json-glib reads "-0" as the integer 0: written as -0.0 it keeps its sign. */
static char *
keep_negative_zeros (const char *text)
{
  GString *out = g_string_new (NULL);
  for (const char *at = text; *at != '\0'; at++)
    {
      g_string_append_c (out, *at);
      gboolean begins = at > text && strchr ("[,: \n\t\r", at[-1]) != NULL;
      if (begins && at[0] == '-' && at[1] == '0' && at[2] != '\0' && strchr ("],} \n\t\r", at[2]) != NULL)
        {
          g_string_append (out, "0.0");
          at++;
        }
    }
  return g_string_free (out, FALSE);
}

JsonNode *
truth_load (const char *path)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return NULL;
  g_autofree char *kept = keep_negative_zeros (text);
  g_autoptr (JsonParser) parser = json_parser_new_immutable ();
  if (!json_parser_load_from_data (parser, kept, -1, NULL))
    return NULL;
  JsonNode *root = json_parser_get_root (parser);
  return root != NULL && JSON_NODE_HOLDS_OBJECT (root) ? json_node_copy (root) : NULL;
}

/* ---- tensors ---- */

static double
number_of (JsonNode *node)
{
  if (json_node_get_value_type (node) == G_TYPE_STRING)
    return g_ascii_strtod (json_node_get_string (node), NULL); /* "nan", "inf", "-inf" */
  if (json_node_get_value_type (node) == G_TYPE_BOOLEAN)
    return json_node_get_boolean (node);
  return json_node_get_double (node);
}

TnTensor *
truth_tensor (JsonObject *object, TnDType float_dtype)
{
  TnDType dtype = float_dtype;
  TnShape shape = { 0 };
  const char *name = json_object_get_string_member_with_default (object, "dtype", "float64");
  JsonArray *dims = json_object_get_array_member (object, "shape"), *data = json_object_get_array_member (object, "data");
  if (tn_dtype_parse (name, &dtype) && tn_dtype_is_float (dtype))
    dtype = float_dtype;
  for (guint d = 0; d < json_array_get_length (dims); d++)
    shape.dims[shape.n_dims++] = json_array_get_int_element (dims, d);
  TnTensor *tensor = tn_tensor_new (dtype, shape, NULL);
  g_assert_nonnull (tensor);
  g_assert_cmpint (tn_tensor_count (tensor), ==, json_array_get_length (data));
  for (guint i = 0; i < json_array_get_length (data); i++)
    tn_tensor_set (tensor, i, number_of (json_array_get_element (data, i)));
  return tensor;
}

static double
largest_finite (TnTensor *tensor)
{
  double largest = 0;
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    if (isfinite (tn_tensor_get (tensor, i)))
      largest = MAX (largest, fabs (tn_tensor_get (tensor, i)));
  return largest;
}

gboolean
truth_compare (TnTensor *got, TnTensor *want, double tolerance, double absolute, char **message)
{
  if (!tn_shape_equal (&got->shape, &want->shape))
    {
      g_autofree char *a = tn_shape_to_string (&got->shape), *b = tn_shape_to_string (&want->shape);
      *message = g_strdup_printf ("shape %s, want %s", a, b);
      return FALSE;
    }
  double allowed = tolerance * largest_finite (want) + absolute, worst = -1;
  int64_t at = 0;
  for (int64_t i = 0; i < tn_tensor_count (want); i++)
    {
      double g = tn_tensor_get (got, i), w = tn_tensor_get (want, i);
      if (g == w || (isnan (g) && isnan (w)))
        continue;
      double off = isfinite (g) && isfinite (w) ? fabs (g - w) : INFINITY;
      if (off > worst)
        {
          worst = off;
          at = i;
        }
    }
  if (worst <= allowed)
    return TRUE;
  *message = g_strdup_printf ("element %" G_GINT64_FORMAT " is %.17g, want %.17g: off by %.3g, allowed %.3g", at, tn_tensor_get (got, at),
                              tn_tensor_get (want, at), worst, allowed);
  return FALSE;
}

/* ---- inputs and outputs of a case ---- */

static JsonObject *
input_object (TruthCase *c, const char *name)
{
  JsonObject *inputs = json_object_get_object_member (c->json, "inputs");
  return json_object_has_member (inputs, name) ? json_object_get_object_member (inputs, name) : NULL;
}

TnValue *
truth_input (TruthCase *c, const char *name)
{
  for (int i = 0; i < tn_graph_n_inputs (c->graph); i++)
    if (strcmp (tn_graph_input (c->graph, i)->node->name, name) == 0)
      return tn_graph_input (c->graph, i);
  return NULL;
}

int
truth_n_inputs (TruthCase *c)
{
  return (int) json_object_get_size (json_object_get_object_member (c->json, "inputs"));
}

TnValue *
truth_input_at (TruthCase *c, int i)
{
  return tn_graph_input (c->graph, i);
}

TnTensor *
truth_input_tensor (TruthCase *c, const char *name)
{
  JsonObject *object = input_object (c, name);
  return object != NULL ? truth_tensor (object, c->dtype) : NULL;
}

void
truth_output (TruthCase *c, TnValue *value)
{
  g_ptr_array_add (c->outputs, value);
}

/* ---- attributes ---- */

static JsonNode *
attr (TruthCase *c, const char *name)
{
  JsonNode *node = json_object_has_member (c->attrs, name) ? json_object_get_member (c->attrs, name) : NULL;
  return node != NULL && !JSON_NODE_HOLDS_NULL (node) ? node : NULL;
}

gboolean
truth_has (TruthCase *c, const char *name)
{
  return attr (c, name) != NULL;
}

double
truth_float (TruthCase *c, const char *name, double missing)
{
  JsonNode *node = attr (c, name);
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? number_of (node) : missing;
}

gint64
truth_int (TruthCase *c, const char *name, gint64 missing)
{
  JsonNode *node = attr (c, name);
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? (gint64) number_of (node) : missing;
}

gboolean
truth_bool (TruthCase *c, const char *name, gboolean missing)
{
  JsonNode *node = attr (c, name);
  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? number_of (node) != 0 : missing;
}

const char *
truth_string (TruthCase *c, const char *name, const char *missing)
{
  JsonNode *node = attr (c, name);
  return node != NULL && json_node_get_value_type (node) == G_TYPE_STRING ? json_node_get_string (node) : missing;
}

int
truth_ints (TruthCase *c, const char *name, int64_t *values)
{
  JsonNode *node = attr (c, name);
  if (node == NULL)
    return 0;
  if (!JSON_NODE_HOLDS_ARRAY (node))
    {
      values[0] = (int64_t) number_of (node);
      return 1;
    }
  JsonArray *list = json_node_get_array (node);
  int n = (int) MIN (json_array_get_length (list), TRUTH_MAX_INTS);
  for (int i = 0; i < n; i++)
    values[i] = json_array_get_int_element (list, (guint) i);
  return n;
}
