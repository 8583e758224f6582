/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/safetensors.h"

#include "base/error.h"
#include "base/json.h"
#include "support.h"

/* Every tensor of a file against its listing (dtype, shape, SHA-256 of the bytes): made by the safetensors package and by
 * MindSpore. Returns how many were compared. */
static guint
compare_listing (const char *path, JsonObject *listing, JsonObject *appended)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, &error);
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;
  guint n = 0;

  g_assert_no_error (error);
  json_object_iter_init (&iter, listing);
  while (json_object_iter_next (&iter, &name, &node))
    {
      JsonObject *want = json_node_get_object (node);
      const TnSafetensorsEntry *entry = tn_safetensors_find (file, name);
      if (!entry)
        continue;
      JsonArray *shape = json_object_get_array_member (want, "shape");
      g_assert_cmpint (entry->shape.n_dims, ==, json_array_get_length (shape));
      for (int d = 0; d < entry->shape.n_dims; d++)
        g_assert_cmpint (entry->shape.dims[d], ==, json_array_get_int_element (shape, d));
      g_autofree guchar *bytes = g_malloc (MAX (entry->bytes, 1));
      g_assert_true (tn_safetensors_load_raw (file, entry, bytes, &error));
      g_autofree char *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, bytes, entry->bytes);
      g_assert_cmpstr (sum, ==, json_object_get_string_member (want, "sha256"));
      if (entry->dtype != TN_DTYPE_COUNT)
        {
          g_autoptr (TnTensor) t = tn_safetensors_load (file, name, &error);
          g_assert_no_error (error);
          JsonArray *first = json_object_get_array_member (want, "first");
          for (guint i = 0; i < json_array_get_length (first); i++)
            {
              JsonNode *v = json_array_get_element (first, i);
              if (JSON_NODE_HOLDS_VALUE (v) && json_node_get_value_type (v) != G_TYPE_STRING)
                g_assert_cmpfloat_with_epsilon (tn_tensor_get (t, i), json_node_get_double (v), 1e-6 * (1 + ABS (json_node_get_double (v))));
            }
        }
      n++;
    }
  /* What MindSpore's append_dict adds: numbers become tensors of one element, texts are left out. */
  json_object_iter_init (&iter, appended ? appended : listing);
  while (appended && json_object_iter_next (&iter, &name, &node))
    {
      GType type = json_node_get_value_type (node);
      if (type == G_TYPE_STRING)
        continue;
      double want = type == G_TYPE_BOOLEAN ? json_node_get_boolean (node) : json_node_get_double (node);
      g_autoptr (TnTensor) t = tn_safetensors_load (file, name, &error);
      g_assert_no_error (error);
      g_assert_cmpfloat (tn_tensor_get (t, 0), ==, want);
      n++;
    }
  g_assert_cmpint (n, ==, tn_safetensors_n (file));
  return n;
}

/* A listing as Python writes it: its NaN and Infinity are no JSON, and become null. */
static JsonNode *
load_listing (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, &error));
  g_autoptr (GRegex) regex = g_regex_new ("(?<=[\\s,\\[:])-?(NaN|Infinity)(?=[\\s,\\]}])", 0, 0, NULL);
  g_autofree char *json = g_regex_replace_literal (regex, text, -1, 0, "null", 0, NULL);
  JsonNode *root = tn_json_parse (json, -1, &error);
  g_assert_no_error (error);
  return root;
}

static void
test_torch_files (void)
{
  static const char *const files[][2] = {
    { "mixed_dtypes.safetensors", "mixed_dtypes.safetensors.tensors.json" },
    { "gpt-00001-of-00002.safetensors", "gpt.safetensors.index.json.tensors.json" },
    { "gpt-00002-of-00002.safetensors", "gpt.safetensors.index.json.tensors.json" },
  };
  g_autofree char *truth = shared_folder ("TENON_TRUTH", "truth");
  guint n = 0;
  for (gsize i = 0; truth && i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (truth, "torch", "models", files[i][0], NULL);
      g_autofree char *json = g_build_filename (truth, "torch", "models", files[i][1], NULL);
      if (!g_file_test (json, G_FILE_TEST_EXISTS)) /* another truth folder, with other files */
        continue;
      g_autoptr (JsonNode) root = load_listing (json);
      n += compare_listing (path, json_object_get_object_member (json_node_get_object (root), "tensors"), NULL);
    }
  g_test_message ("%u tensors compared", n);
}

static void
test_mindspore_files (void)
{
  g_autofree char *truth = shared_folder ("TENON_TRUTH", "truth");
  guint n = 0;
  if (!truth)
    return;
  g_autofree char *json = g_build_filename (truth, "mindspore", "checkpoints", "checkpoints.json", NULL);
  if (!g_file_test (json, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("no MindSpore checkpoints there");
      return;
    }
  g_autoptr (JsonNode) root = load_listing (json);
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init (&iter, json_node_get_object (root));
  while (json_object_iter_next (&iter, &key, &node))
    if (g_str_has_suffix (key, ".safetensors") && JSON_NODE_HOLDS_OBJECT (node))
      {
        g_autofree char *path = g_build_filename (truth, "mindspore", "checkpoints", key, NULL);
        JsonObject *entry = json_node_get_object (node);
        n += compare_listing (path, json_object_get_object_member (entry, "parameters"),
                              json_object_has_member (entry, "append_dict") ? json_object_get_object_member (entry, "append_dict") : NULL);
      }
  g_test_message ("%u tensors compared", n);
  g_assert_cmpint (n, >, 0);
}

static void
test_bad_files (void)
{
  static const char *const files[][2] = {
    { "bad_header_longer_than_file.safetensors", "longer than the file" }, { "bad_header_not_json.safetensors", "not a JSON object" },
    /* "v", which comes first, is called F32 [4] over 24 bytes, and "w" lies on the same bytes. */
    { "bad_overlap_and_size_mismatch.safetensors", "“v”: it has 24 bytes, not what F32 (4) needs" },
    { "bad_truncated.safetensors", "“w”" },
    { "bad_zero_bytes.safetensors", "too short" },                         { "bad_runs_code.pt", "zip" },
  };
  g_autofree char *truth = shared_folder ("TENON_TRUTH", "truth");
  for (gsize i = 0; truth && i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (truth, "torch", "models", files[i][0], NULL);
      g_autoptr (GError) error = NULL;
      if (!g_file_test (path, G_FILE_TEST_EXISTS))
        continue;
      g_assert_null (tn_safetensors_open (path, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, files[i][1]));
    }
}

static void
write_header_file (const char *path, const char *header, gsize n_data)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint8 length[8] = { 0 };
  length[0] = (guint8) strlen (header);
  g_byte_array_append (bytes, length, 8);
  g_byte_array_append (bytes, (const guint8 *) header, (guint) strlen (header));
  for (gsize i = 0; i < n_data; i++)
    g_byte_array_append (bytes, (const guint8 *) "x", 1);
  write_bytes (path, bytes->data, bytes->len);
}

static void
test_strict_header (void)
{
  static const char *const bad[] = {
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",                                       /* hole */
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",                                       /* size */
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}",                                       /* order */
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",                                      /* negative */
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",                   /* overflow */
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
    "{\"__metadata__\":{\"k\":1}}",
    "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", /* half a byte */
  };
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "t.safetensors", NULL);
  g_autoptr (GError) error = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      write_header_file (path, bad[i], 8);
      g_assert_null (tn_safetensors_open (path, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
      g_clear_error (&error);
    }
  /* Bytes after the last tensor: loaded, and said. A type of the future: listed. */
  write_header_file (path, "{\"a\":{\"dtype\":\"F3_NEW\",\"shape\":[5],\"data_offsets\":[0,3]}}", 10);
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, &error);
  g_assert_no_error (error);
  g_assert_nonnull (strstr (tn_safetensors_warning (file), "7 bytes"));
  g_assert_null (tn_safetensors_load (file, "a", &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_DTYPE);
  remove_folder (folder);
}

static gboolean
read_damaged (const char *path, gint64 flipped_byte, gpointer data, GError **error)
{
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, error);
  if (!file)
    return FALSE;
  for (guint i = 0; i < tn_safetensors_n (file); i++)
    {
      const TnSafetensorsEntry *entry = tn_safetensors_entry (file, i);
      if (entry->dtype == TN_DTYPE_COUNT)
        continue;
      g_autoptr (TnTensor) t = tn_safetensors_load (file, entry->name, error);
      if (!t)
        return FALSE;
    }
  return TRUE;
}

/* The writer's order and padding, then damage to what it wrote. */
static void
test_written_file (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "t.safetensors", NULL), *bytes = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) b = tn_tensor_new_from (TN_DTYPE_U8, TN_SHAPE (3), (guint8[]){ 1, 2, 3 });
  g_autoptr (TnTensor) z = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2, 2), (float[]){ 1, 2, 3, 4 });
  g_autoptr (TnTensor) a = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE_SCALAR, (float[]){ 5 });
  g_autoptr (TnTensor) i = tn_tensor_new_from (TN_DTYPE_I64, TN_SHAPE (1), (gint64[]){ -6 });
  g_autoptr (TnTensor) turned = tn_tensor_permute (z, (int[]){ 1, 0 }, NULL);
  g_autoptr (GHashTable) metadata = g_hash_table_new (g_str_hash, g_str_equal);
  gsize n;
  g_hash_table_insert (metadata, "note", "a \"quoted\"\nline");
  g_hash_table_insert (metadata, "format", "tenon");
  g_assert_true (tn_safetensors_write (path, (const char *[]){ "b", "z", "a", "i" }, (TnTensor *[]){ b, turned, a, i }, 4, metadata, &error));
  g_assert_no_error (error);

  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  g_assert_cmpint ((guint8) bytes[0] % 8, ==, 0);
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, &error);
  g_assert_no_error (error);
  const char *const order[] = { "i", "a", "z", "b" };
  for (guint k = 0; k < 4; k++)
    g_assert_cmpstr (tn_safetensors_entry (file, k)->name, ==, order[k]);
  g_assert_null (tn_safetensors_warning (file));
  g_assert_cmpstr (tn_safetensors_metadata (file, "note"), ==, "a \"quoted\"\nline");
  g_autoptr (TnTensor) back = tn_safetensors_load (file, "z", &error);
  g_assert_cmpfloat (tn_tensor_get (back, 1), ==, 3);
  damage_file (path, TRUE, read_damaged, NULL);
  remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/safetensors/files-of-the-safetensors-package", test_torch_files);
  g_test_add_func ("/formats/safetensors/files-of-mindspore", test_mindspore_files);
  g_test_add_func ("/formats/safetensors/bad-files-are-refused-with-their-cause", test_bad_files);
  g_test_add_func ("/formats/safetensors/header-rules", test_strict_header);
  g_test_add_func ("/formats/safetensors/written-file-reads-back-and-survives-damage", test_written_file);
  return g_test_run ();
}
