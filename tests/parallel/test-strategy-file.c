/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <glib/gstdio.h>
#include "base/error.h"
#include "base/json.h"
#include "formats/strategy-file.h"

/* Files that MindSpore wrote, and what it reads out of them itself (truth folder, strategy_readback.json). */

static char *
strategy_path (const char *name)
{
  g_autofree char *folder = truth_folder ();
  return g_build_filename (folder, "mindspore/strategy", name, NULL);
}

static JsonArray *
ints_json (const GArray *list)
{
  JsonArray *array = json_array_new ();
  for (guint i = 0; list != NULL && i < list->len; i++)
    json_array_add_int_element (array, g_array_index (list, int64_t, i));
  return array;
}

static char *
array_text (JsonArray *array)
{
  g_autoptr (JsonNode) node = json_node_init_array (json_node_alloc (), array);
  return tn_json_to_text (node, 0);
}

static void
check_readback (JsonObject *c)
{
  g_autofree char *path = strategy_path (json_object_get_string_member (c, "file"));
  g_autoptr (GError) error = NULL;
  g_autoptr (TnStrategyFile) file = tn_strategy_file_load (path, &error);
  g_assert_no_error (error);
  JsonObject *layouts = json_object_get_object_member (c, "layouts");
  g_assert_cmpint (file->parameters->len, ==, json_object_get_size (layouts));
  for (guint i = 0; i < file->parameters->len; i++)
    {
      const TnStrategyParameter *p = file->parameters->pdata[i];
      const char *name;
      gint64 stage = tn_strategy_parameter_stage (p, &name);
      JsonArray *want = json_object_get_array_member (layouts, name), *got = json_array_new (), *maps = json_array_new ();
      g_assert_nonnull (want);
      for (guint d = 0; p->per_dim && d < p->maps->len; d++)
        json_array_add_array_element (maps, ints_json (p->maps->pdata[d]));
      json_array_add_array_element (got, ints_json (p->dev_matrix));
      json_array_add_array_element (got, p->per_dim ? json_array_ref (maps) : ints_json (p->maps->len > 0 ? p->maps->pdata[0] : NULL));
      json_array_add_array_element (got, ints_json (p->split_shape));
      json_array_add_int_element (got, p->field);
      json_array_add_int_element (got, p->opt_step);
      json_array_add_int_element (got, p->opt_size);
      json_array_unref (maps);
      if (json_array_get_length (want) > 6 && stage >= 0)
        g_assert_cmpint (json_array_get_int_element (json_array_get_array_element (want, 6), 0), ==, stage);
      if (json_array_get_length (want) > 6)
        json_array_add_element (got, json_node_copy (json_array_get_element (want, 6)));
      g_autofree char *a = array_text (got), *b = array_text (want);
      g_assert_cmpstr (a, ==, b);
      json_array_unref (got);
      if (p->split_shape == NULL || p->split_shape->len == 0)
        {
          g_autoptr (TnLayout) layout = tn_strategy_parameter_kept_layout (p, 0, &error);
          g_assert_no_error (error);
        }
    }
}

static void
test_readback (void)
{
  if (for_each_case ("layouts", check_readback) == 0)
    g_test_skip ("no truth folder");
}

/* Every file of the folder comes back as the same bytes; JSON that Python wrote has other spaces, and is stable from the
 * first writing on. */
static void
check_bytes (JsonObject *c)
{
  g_autofree char *path = strategy_path (json_object_get_string_member (c, "file")), *data = NULL;
  gsize n;
  g_autoptr (GError) error = NULL;
  g_file_get_contents (path, &data, &n, &error);
  g_assert_no_error (error);
  if (json_object_has_member (c, "restore_group_info_list"))
    {
      g_autoptr (TnGroupFile) group = tn_group_file_parse (data, n, &error);
      g_assert_no_error (error);
      g_autoptr (GByteArray) again = tn_group_file_to_protobuf (group);
      g_assert_cmpmem (again->data, again->len, data, n);
      JsonArray *want = json_object_get_array_member (c, "restore_group_info_list"), *got = ints_json (group->restore);
      g_autofree char *a = array_text (got), *b = array_text (want);
      g_assert_cmpstr (a, ==, b);
      json_array_unref (got);
      return;
    }
  g_autoptr (TnStrategyFile) file = tn_strategy_file_parse (data, n, &error);
  g_assert_no_error (error);
  if (g_str_has_suffix (path, ".json"))
    {
      g_autofree char *text = tn_strategy_file_to_json (file);
      if (strstr (data, "\": ") == NULL)
        g_assert_cmpstr (text, ==, data);
      g_autoptr (TnStrategyFile) second = tn_strategy_file_parse (text, strlen (text), &error);
      g_assert_no_error (error);
      g_autofree char *again = tn_strategy_file_to_json (second);
      g_assert_cmpstr (again, ==, text);
      g_autoptr (GPtrArray) lines = tn_strategy_files_diff (file, second);
      g_assert_cmpint (lines->len, ==, 0);
      return;
    }
  g_autoptr (GByteArray) again = tn_strategy_file_to_protobuf (file);
  g_assert_cmpmem (again->data, again->len, data, n);

  /* (d) The same as JSON and back. */
  g_autofree char *text = tn_strategy_file_to_json (file);
  g_autoptr (TnStrategyFile) json = tn_strategy_file_parse (text, strlen (text), &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) lines = tn_strategy_files_diff (file, json);
  g_assert_cmpint (lines->len, ==, 0);
}

static void
test_bytes (void)
{
  if (for_each_case ("file", check_bytes) == 0)
    g_test_skip ("no truth folder");
}

/* Cut anywhere, and with flipped bits: refused or read, never worse. */
static void
check_damage (JsonObject *c)
{
  g_autofree char *path = strategy_path (json_object_get_string_member (c, "file")), *data = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &data, &n, NULL));
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  gboolean group = json_object_has_member (c, "restore_group_info_list");
  for (gsize cut = 0; cut < n; cut += 16)
    {
      g_autofree char *part = g_memdup2 (data, MAX (cut, 1));
      g_autoptr (GError) error = NULL;
      g_autoptr (TnStrategyFile) file = group ? NULL : tn_strategy_file_parse (part, cut, &error);
      g_autoptr (TnGroupFile) groups = group ? tn_group_file_parse (part, cut, &error) : NULL;
      g_assert_true (file != NULL || groups != NULL || error != NULL);
    }
  for (int i = 0; i < 1000; i++)
    {
      g_autofree char *part = g_memdup2 (data, n);
      g_autoptr (GError) error = NULL;
      part[g_rand_int_range (rand, 0, (gint32) n)] ^= (char) (1 << g_rand_int_range (rand, 0, 8));
      g_autoptr (TnStrategyFile) file = group ? NULL : tn_strategy_file_parse (part, n, &error);
      g_autoptr (TnGroupFile) groups = group ? tn_group_file_parse (part, n, &error) : NULL;
      g_assert_true (file != NULL || groups != NULL || error != NULL);
      for (guint k = 0; file != NULL && k < file->parameters->len; k++)
        {
          g_autoptr (TnLayout) layout = tn_strategy_parameter_kept_layout (file->parameters->pdata[k], 0, NULL);
        }
    }
}

static void
test_damage (void)
{
  if (for_each_case ("file", check_damage) == 0)
    g_test_skip ("no truth folder");
}

/* The sample of the reference's 2.1, byte by byte. */
static void
test_golden (void)
{
  static const uint8_t want[] = {
    0x08, 0x01, 0x12, 0x1a, 0x0a, 0x08, 0x4d, 0x61, 0x74, 0x4d, 0x75, 0x6c, 0x5f, 0x77, 0x12, 0x0e, 0x08, 0x00, 0x12, 0x04, 0x08, 0x02, 0x08, 0x02, 0x12, 0x04, 0x08, 0x02, 0x08, 0x01,
    0x1a, 0x24, 0x0a, 0x01, 0x77, 0x12, 0x1f, 0x0a, 0x04, 0x08, 0x04, 0x08, 0x02, 0x12, 0x0d, 0x08, 0x01, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
    0x1a, 0x00, 0x22, 0x00, 0x28, 0x00, 0x30, 0x01, 0x38, 0x02,
  };
  g_autoptr (TnStrategyFile) file = tn_strategy_file_new ();
  file->current_stage = 1;
  TnStrategyNode *node = tn_strategy_file_add_node (file, "MatMul_w", 0);
  const int64_t tuples[][2] = { { 2, 2 }, { 2, 1 } };
  for (int i = 0; i < 2; i++)
    g_ptr_array_add (node->strategies, g_array_append_vals (g_array_new (FALSE, FALSE, sizeof (int64_t)), tuples[i], 2));
  g_autoptr (TnMesh) mesh = tn_mesh_new (2, TN_SIZES (4, 2), NULL, -1, NULL, NULL);
  g_autoptr (TnLayout) layout = tn_layout_parse (mesh, "a, None", NULL);
  TnStrategyParameter *p = tn_strategy_file_add_parameter (file, "w");
  tn_strategy_parameter_set_layout (p, layout);
  p->opt_step = 1;
  p->opt_size = 2;
  g_autoptr (GByteArray) got = tn_strategy_file_to_protobuf (file);
  g_assert_cmpmem (got->data, got->len, want, sizeof want);
}

/* What MindSpore merged from the stages of pp2. */
static void
test_merge (void)
{
  g_autofree char *first = strategy_path ("pp2/strategy_r0.ckpt"), *again = strategy_path ("pp2/strategy_r1.ckpt"), *second = strategy_path ("pp2/strategy_r4.ckpt");
  g_autofree char *merged = strategy_path ("merged_pp2.ckpt");
  if (!g_file_test (merged, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("no truth folder");
      return;
    }
  g_autoptr (TnStrategyFile) a = tn_strategy_file_load (first, NULL), b = tn_strategy_file_load (again, NULL), c = tn_strategy_file_load (second, NULL);
  g_autoptr (TnStrategyFile) want = tn_strategy_file_load (merged, NULL);
  TnStrategyFile *files[] = { a, b, c };
  g_autoptr (GError) error = NULL;
  g_autoptr (TnStrategyFile) got = tn_strategy_files_merge (files, 3, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) lines = tn_strategy_files_diff (want, got);
  for (guint i = 0; i < lines->len; i++)
    g_test_message ("%s", (char *) lines->pdata[i]);
  g_assert_cmpint (lines->len, ==, 0);
  g_assert_cmpint (got->current_stage, ==, want->current_stage);
}

/* MindInsight's file of a profiled run, in small. */
static void
test_profiled (void)
{
  static const char text[] = "{\"config\": {\"rankId\": 3, \"stageId\": 1, \"parallelType\": \"auto_parallel\"}, \"graph\": {\"node\": ["
                             "{\"name\": \"2\", \"opType\": \"Conv2D\", \"fullName\": \"Default/conv1/Conv2D-op1\", \"attribute\": [{\"name\": \"gen_strategy\", \"value\":"
                             "{\"dtype\": \"DT_TUPLE\", \"values\": [{\"dtype\": \"DT_TUPLE\", \"values\": [{\"dtype\": \"DT_INT64\", \"intVal\": \"2\"}, {\"dtype\": \"DT_INT64\", \"intVal\": \"1\"}]}]}}]}]}}";
  g_autoptr (GError) error = NULL;
  g_autoptr (TnStrategyFile) file = tn_strategy_file_parse (text, sizeof text - 1, &error);
  g_assert_no_error (error);
  g_assert_cmpint (file->nodes->len, ==, 1);
  const TnStrategyNode *node = file->nodes->pdata[0];
  g_assert_cmpstr (node->node, ==, "Default/conv1/Conv2D-op1");
  g_assert_cmpint (node->stage, ==, 1);
  const GArray *tuple = node->strategies->pdata[0];
  g_assert_cmpint (g_array_index (tuple, int64_t, 0), ==, 2);
  for (gsize cut = 1; cut < sizeof text - 1; cut += 16)
    {
      g_autoptr (TnStrategyFile) part = tn_strategy_file_parse (text, cut, NULL);
      g_assert_null (part);
    }
}

/* ---- what MindSpore refuses (strategy_errors.json; the files are described by their names) ---- */

static const struct
{
  const char *name, *text;
  gssize n;
} wrong_files[] = {
  { "empty.ckpt", "", 0 }, { "garbage.ckpt", "\x9f\x03\xee\x7a\xff\xff\x00\x81\x5b\x12", 10 }, { "text.ckpt", "this is no strategy", 19 },
  { "trunc.ckpt", "\x08\x01\x12\x1a\x0a\x08\x4d\x61\x74", 9 }, { "nolayout.ckpt", "\x08\x01", 2 }, { "empty.json", "", 0 }, { "garbage.json", "{\"current_stage\": ", 18 },
  { "emptyobj.json", "{}", 2 }, { "a.txt", "this is no strategy", 19 },
};

static char *error_folder;
static int errors_seen;

static void
check_refused (JsonObject *c)
{
  const char *name = json_object_get_string_member (c, "name");
  if (!g_str_has_prefix (name, "read ") || strchr (name, '.') == NULL)
    return;
  g_autofree char *path = g_build_filename (error_folder, name + 5, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (wrong_files); i++)
    if (strcmp (wrong_files[i].name, name + 5) == 0)
      g_assert_true (g_file_set_contents (path, wrong_files[i].text, wrong_files[i].n, NULL));
  g_autoptr (GError) error = NULL;
  g_autoptr (TnStrategyFile) file = tn_strategy_file_load (path, &error);
  g_test_message ("%s: %s", name, error != NULL ? error->message : "read");
  if (json_object_has_member (c, "ok"))
    {
      g_assert_no_error (error);
      g_assert_cmpint (file->parameters->len, ==, json_object_get_int_member (c, "ok"));
    }
  else
    {
      g_assert_null (file);
      if (strstr (name, "missing") != NULL)
        g_assert_error (error, TN_ERROR, TN_ERROR_NOT_FOUND);
      g_assert_nonnull (strstr (error->message, name + 5)); /* says which file */
    }
  g_unlink (path);
  errors_seen++;
}

static void
test_refused (void)
{
  error_folder = g_dir_make_tmp ("tenon-strategy-XXXXXX", NULL);
  if (for_each_case ("name", check_refused) == 0)
    g_test_skip ("no truth folder");
  else
    g_test_message ("%d files as MindSpore takes or refuses them", errors_seen);
  g_rmdir (error_folder);
  g_free (error_folder);
}

/* ---- laws ---- */

static TnStrategyFile *
random_file (GRand *rand, gboolean single_axes)
{
  TnStrategyFile *file = tn_strategy_file_new ();
  file->current_stage = g_rand_int_range (rand, 0, 5);
  for (int i = g_rand_int_range (rand, 0, 4); i > 0; i--)
    {
      g_autofree char *name = g_strdup_printf ("%s%d", g_rand_boolean (rand) ? "fc-1.weight" : "moments.bias", i);
      g_autoptr (TnMesh) mesh = random_mesh (rand, 64);
      int n_dims = g_rand_int_range (rand, 1, 5);
      TnLayout *layout = random_layout (rand, mesh, n_dims);
      for (int d = 0; d < n_dims && single_axes; d++)
        if (layout->dims[d].n > 1)
          {
            tn_layout_unref (layout);
            layout = tn_layout_new_replicated (mesh, n_dims);
          }
      TnStrategyParameter *p = tn_strategy_file_add_parameter (file, name);
      tn_strategy_parameter_set_layout (p, layout);
      tn_layout_unref (layout);
      p->opt_size = g_rand_int_range (rand, -1, 5);
      p->opt_step = g_rand_int_range (rand, 0, 5);
      p->field = g_rand_int_range (rand, 0, 3);
      TnStrategyNode *node = tn_strategy_file_add_node (file, name, g_rand_int_range (rand, 0, 4));
      for (int k = g_rand_int_range (rand, 0, 3); k > 0; k--)
        {
          GArray *tuple = g_array_new (FALSE, FALSE, sizeof (int64_t));
          for (int d = g_rand_int_range (rand, 0, 4); d > 0; d--)
            {
              int64_t value = 1 << g_rand_int_range (rand, 0, 8);
              g_array_append_val (tuple, value);
            }
          g_ptr_array_add (node->strategies, tuple);
        }
    }
  return file;
}

/* (c) Written, read and written again are the same bytes, in both forms. (d) Where no dimension is split twice the two say
 * the same. */
static void
test_laws (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < 10000; round++)
    {
      g_autoptr (GError) error = NULL;
      gboolean single = round % 2 == 0;
      g_autoptr (TnStrategyFile) file = random_file (rand, single);
      g_autoptr (GByteArray) bytes = tn_strategy_file_to_protobuf (file);
      g_autofree char *text = tn_strategy_file_to_json (file);
      g_autoptr (TnStrategyFile) one = bytes->len > 0 ? tn_strategy_file_parse (bytes->data, bytes->len, &error) : NULL;
      g_assert_no_error (error);
      g_autoptr (TnStrategyFile) two = tn_strategy_file_parse (text, strlen (text), &error);
      g_assert_no_error (error);
      g_autoptr (GByteArray) bytes_again = tn_strategy_file_to_protobuf (one);
      g_autofree char *text_again = tn_strategy_file_to_json (two);
      g_assert_cmpmem (bytes->data, bytes->len, bytes_again->data, bytes_again->len);
      g_assert_cmpstr (text, ==, text_again);
      g_autoptr (GPtrArray) kept = tn_strategy_files_diff (file, one), across = tn_strategy_files_diff (one, two);
      g_assert_cmpint (kept->len, ==, 0);
      if (single)
        g_assert_cmpint (across->len, ==, 0);
      for (guint i = 0; i < one->parameters->len; i++)
        {
          g_autoptr (TnLayout) a = tn_strategy_parameter_layout (file->parameters->pdata[i], 0, NULL), b = tn_strategy_parameter_layout (one->parameters->pdata[i], 0, NULL);
          g_assert_true (tn_layout_equal (a, b));
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/strategy-file/reads-what-mindspore-reads", test_readback);
  g_test_add_func ("/parallel/strategy-file/writes-the-same-bytes", test_bytes);
  g_test_add_func ("/parallel/strategy-file/damage-is-refused-or-harmless", test_damage);
  g_test_add_func ("/parallel/strategy-file/golden-bytes", test_golden);
  g_test_add_func ("/parallel/strategy-file/merges-pipeline-stages-as-mindspore", test_merge);
  g_test_add_func ("/parallel/strategy-file/reads-profiled-strategies", test_profiled);
  g_test_add_func ("/parallel/strategy-file/refuses-what-mindspore-refuses", test_refused);
  g_test_add_func ("/parallel/strategy-file/both-forms-are-stable-and-agree", test_laws);
  return g_test_run ();
}
