/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <glib/gstdio.h>
#include "base/error.h"
#include "formats/safetensors.h"
#include "parallel/reshard.h"
#include "train/checkpoint.h"

/* ---- which ranks are needed: MindSpore's answers ---- */

static GArray *
json_ints (JsonArray *array)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (int64_t));
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      int64_t value = json_array_get_int_element (array, i);
      g_array_append_val (list, value);
    }
  return list;
}

static int
compare_int64 (gconstpointer a, gconstpointer b)
{
  int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
  return (x > y) - (x < y);
}

/* Its operators may gather more than a slice needs (it gathers first and cuts then); ours never need a rank that it does not. */
static int exact, seen;

static void
check_needed (JsonObject *c)
{
  if (!json_object_has_member (c, "to_device_matrix") || !json_object_has_member (c, "ranks"))
    return;
  g_autoptr (TnLayout) from = json_layout (c, "device_matrix", "from_map"), to = json_layout (c, "to_device_matrix", "to_map");
  TnShape shape = json_shape (c, "shape");
  JsonArray *ranks = json_object_get_array_member (c, "ranks");
  for (guint i = 0; i < json_array_get_length (ranks); i++)
    {
      JsonObject *rank = json_array_get_object_element (ranks, i);
      if (!json_object_has_member (rank, "needed"))
        continue;
      g_autoptr (GError) error = NULL;
      g_autoptr (GArray) want = json_ints (json_object_get_array_member (rank, "needed"));
      g_autoptr (GArray) got = tn_reshard_needed (from, to, &shape, json_object_get_int_member (rank, "rank"), &error);
      g_assert_no_error (error);
      g_array_sort (want, compare_int64);
      g_assert_cmpint (got->len, <=, want->len);
      gboolean same = got->len == want->len;
      for (guint k = 0; same && k < got->len; k++)
        same = g_array_index (got, int64_t, k) == g_array_index (want, int64_t, k);
      exact += same;
      seen++;
    }
}

static void
test_needed (void)
{
  if (for_each_case ("from_map", check_needed) == 0)
    {
      g_test_skip ("no truth folder");
      return;
    }
  g_test_message ("the same ranks as MindSpore in %d of %d cases, never more of them", exact, seen);
  g_assert_cmpint (exact * 10, >, seen * 8);
}

/* ---- files ---- */

static TnTensor *
counting (TnShape shape, double from)
{
  TnTensor *tensor = tn_tensor_new (TN_DTYPE_F32, shape, NULL);
  for (int64_t e = 0; e < tn_tensor_count (tensor); e++)
    tn_tensor_set (tensor, e, from + (double) e);
  return tensor;
}

static void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);
      if (g_file_test (child, G_FILE_TEST_IS_DIR))
        remove_folder (child);
      else
        g_unlink (child);
    }
  g_rmdir (path);
}

static TnStrategyFile *
random_strategy (GRand *rand, int n, char names[][16], TnShape *shapes)
{
  TnStrategyFile *file = tn_strategy_file_new ();
  for (int i = 0; i < n; i++)
    {
      int64_t sizes[2] = { 1 << g_rand_int_range (rand, 0, 3), 1 << g_rand_int_range (rand, 0, 3) };
      g_autoptr (TnMesh) mesh = tn_mesh_new (2, sizes, NULL, -1, NULL, NULL);
      g_autoptr (TnLayout) layout = random_layout (rand, mesh, shapes[i].n_dims);
      TnStrategyParameter *p = tn_strategy_file_add_parameter (file, names[i]);
      tn_strategy_parameter_set_layout (p, layout);
      p->opt_size = g_rand_boolean (rand) ? -1 : 0;
    }
  return file;
}

static void
assert_same_tensors (const char *folder, char names[][16], TnTensor **tensors, int n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnCheckpoint) checkpoint = tn_checkpoint_open (folder, &error); /* compares every file's size and checksum */
  g_assert_no_error (error);
  g_assert_cmpint (tn_checkpoint_n_tensors (checkpoint), ==, n);
  for (int i = 0; i < n; i++)
    {
      TnTensor *got = tn_checkpoint_tensor (checkpoint, names[i]);
      g_assert_true (got != NULL && tn_shape_equal (&got->shape, &tensors[i]->shape));
      g_assert_cmpmem (tn_tensor_data (got), sizeof (float) * (size_t) tn_tensor_count (got), tn_tensor_data (tensors[i]), sizeof (float) * (size_t) tn_tensor_count (got));
    }
}

/* (e) From whole to A to B to whole again is the identity; memory holds a slice and a piece at most. */
static void
test_round_trip (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree char *folder = g_dir_make_tmp ("tenon-reshard-XXXXXX", NULL);
  g_autofree char *whole = g_build_filename (folder, "whole.safetensors", NULL);
  char names[4][16] = { "a", "b.weight", "scalar", "c" };
  TnShape shapes[] = { TN_SHAPE (32, 48), TN_SHAPE (64), TN_SHAPE_SCALAR, TN_SHAPE (16, 16, 16) };
  TnTensor *tensors[4];
  const char *list[4];
  for (int i = 0; i < 4; i++)
    {
      tensors[i] = counting (shapes[i], i * 10000);
      list[i] = names[i];
    }
  g_assert_true (tn_safetensors_write (whole, list, tensors, 4, NULL, NULL));
  for (int round = 0; round < 20; round++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *a = g_strdup_printf ("%s/a%d", folder, round), *b = g_strdup_printf ("%s/b%d", folder, round), *back = g_strdup_printf ("%s/c%d", folder, round);
      g_autoptr (TnStrategyFile) first = random_strategy (rand, 2, names, shapes), second = random_strategy (rand, 2, names, shapes);
      TnReshardReport report;
      tn_reshard (whole, first, a, &report, &error);
      g_assert_no_error (error);
      g_assert_cmpint (report.bytes, ==, 4 * (32 * 48 + 64 + 1 + 4096)); /* every element once */
      g_assert_cmpint ((gint64) report.peak_bytes, <=, 2 * 4 * 4096);
      assert_same_tensors (a, names, tensors, 4);
      tn_reshard (a, second, b, NULL, &error);
      g_assert_no_error (error);
      assert_same_tensors (b, names, tensors, 4);
      tn_reshard (b, NULL, back, NULL, &error);
      g_assert_no_error (error);
      assert_same_tensors (back, names, tensors, 4);
      g_assert_false (tn_reshard (b, NULL, back, NULL, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_EXISTS);
    }
  for (int i = 0; i < 4; i++)
    tn_tensor_unref (tensors[i]);
  remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/reshard/needed-ranks-agree-with-mindspore", test_needed);
  g_test_add_func ("/parallel/reshard/there-and-back-is-the-identity", test_round_trip);
  return g_test_run ();
}
