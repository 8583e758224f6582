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
      tn_reshard (whole, &(TnReshardOptions){ .strategy = first }, a, &report, &error);
      g_assert_no_error (error);
      g_assert_cmpint (report.bytes, ==, 4 * (32 * 48 + 64 + 1 + 4096)); /* every element once */
      g_assert_cmpint ((gint64) report.peak_bytes, <=, 2 * 4 * 4096);
      assert_same_tensors (a, names, tensors, 4);
      tn_reshard (a, &(TnReshardOptions){ .strategy = second }, b, NULL, &error);
      g_assert_no_error (error);
      assert_same_tensors (b, names, tensors, 4);
      tn_reshard (b, &(TnReshardOptions){ 0 }, back, NULL, &error);
      g_assert_no_error (error);
      assert_same_tensors (back, names, tensors, 4);
      g_assert_false (tn_reshard (b, &(TnReshardOptions){ 0 }, back, NULL, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_EXISTS);
    }
  for (int i = 0; i < 4; i++)
    tn_tensor_unref (tensors[i]);
  remove_folder (folder);
}

/* The same over folders of ranks in MindSpore's two formats, with the strategy that they were cut by. */
static void
test_rank_folders (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree char *folder = g_dir_make_tmp ("tenon-reshard-XXXXXX", NULL);
  g_autofree char *whole = g_build_filename (folder, "whole.safetensors", NULL);
  char names[3][16] = { "a", "b.weight", "epoch" };
  TnShape shapes[] = { TN_SHAPE (32, 48), TN_SHAPE (64), TN_SHAPE_SCALAR };
  TnTensor *tensors[3];
  const char *list[3];
  for (int i = 0; i < 3; i++)
    {
      tensors[i] = counting (shapes[i], i * 10000);
      list[i] = names[i];
    }
  g_assert_true (tn_safetensors_write (whole, list, tensors, 3, NULL, NULL));
  for (int round = 0; round < 12; round++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *a = g_strdup_printf ("%s/a%d", folder, round), *b = g_strdup_printf ("%s/b%d", folder, round), *back = g_strdup_printf ("%s/c%d", folder, round);
      g_autoptr (TnStrategyFile) first = random_strategy (rand, 2, names, shapes), second = random_strategy (rand, 2, names, shapes);
      TnReshardReport report;
      tn_reshard (whole, &(TnReshardOptions){ .strategy = first, .format = TN_RESHARD_CKPT, .prefix = "net-" }, a, NULL, &error);
      g_assert_no_error (error);
      tn_reshard (a, &(TnReshardOptions){ .from_strategy = first, .strategy = second, .format = TN_RESHARD_SAFETENSORS }, b, &report, &error);
      g_assert_no_error (error);
      g_assert_cmpint (report.tensors, ==, 3);
      g_autofree char *rank_0 = g_build_filename (b, "rank_0", "0.safetensors", NULL);
      g_assert_true (g_file_test (rank_0, G_FILE_TEST_EXISTS));
      tn_reshard (b, &(TnReshardOptions){ .from_strategy = second }, back, NULL, &error);
      g_assert_no_error (error);
      assert_same_tensors (back, names, tensors, 3);
      /* Without the strategy nobody can know how the slices go together. */
      if (report.ranks > 1)
        {
          g_assert_false (tn_reshard (b, &(TnReshardOptions){ 0 }, folder, NULL, &error));
          g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
        }
    }
  for (int i = 0; i < 3; i++)
    tn_tensor_unref (tensors[i]);
  remove_folder (folder);
}

/* Pieces that merge_sliced_parameter merged: the tensor counts up in all of them. */
static int merged;

static void
check_merged (JsonObject *c)
{
  if (!json_object_has_member (c, "device_matrix"))
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnLayout) layout = json_layout (c, "device_matrix", "tensor_map");
  TnShape shape = json_shape (c, "shape"), local;
  g_autofree char *folder = g_dir_make_tmp ("tenon-merge-XXXXXX", NULL), *whole = g_build_filename (folder, "whole.safetensors", NULL), *cut = g_build_filename (folder, "cut", NULL),
             *out = g_build_filename (folder, "out", NULL);
  g_autoptr (TnStrategyFile) strategy = tn_strategy_file_new ();
  tn_strategy_parameter_set_layout (tn_strategy_file_add_parameter (strategy, "p"), layout);
  g_autoptr (TnTensor) want = truth_tensor (json_object_get_object_member (c, "merged"), TN_DTYPE_F32);
  g_assert_true (tn_shape_equal (&want->shape, &shape));
  JsonArray *pieces = json_object_get_array_member (c, "pieces");
  g_assert_cmpint (json_array_get_length (pieces), ==, layout->mesh->n_ranks);
  g_assert_true (tn_layout_local_shape (layout, &shape, &local, NULL));
  for (int d = 0; d < local.n_dims; d++)
    g_assert_cmpint (local.dims[d], ==, json_array_get_int_element (json_array_get_array_element (pieces, 0), (guint) d));
  const char *name = "p";
  char names[1][16] = { "p" };
  g_assert_true (tn_safetensors_write (whole, &name, &want, 1, NULL, NULL));
  tn_reshard (whole, &(TnReshardOptions){ .strategy = strategy, .format = TN_RESHARD_CKPT }, cut, NULL, &error);
  g_assert_no_error (error);
  tn_reshard (cut, &(TnReshardOptions){ .from_strategy = strategy }, out, NULL, &error);
  g_assert_no_error (error);
  assert_same_tensors (out, names, &want, 1);
  remove_folder (folder);
  merged++;
}

static void
test_merge_sliced (void)
{
  if (for_each_case ("merged", check_merged) == 0)
    g_test_skip ("no truth folder");
  else
    g_test_message ("%d tensors cut and merged as merge_sliced_parameter does", merged);
}

/* (e) in memory, for many layouts: each slice of B from the ranks of A that are said to be needed and from no other, and back. */
static int64_t **
cut_all (const TnLayout *from, const TnLayout *to, const TnShape *shape, int64_t **slices)
{
  int64_t **out = g_new0 (int64_t *, to->mesh->n_ranks);
  for (int64_t place = 0; place < to->mesh->n_ranks; place++)
    {
      TnBox want, have, both;
      int64_t filled = 0;
      g_autoptr (GArray) ranks = tn_reshard_needed (from, to, shape, to->mesh->ranks[place], NULL);
      g_assert_true (tn_layout_slice (to, shape, to->mesh->ranks[place], &want, NULL));
      out[place] = g_new (int64_t, tn_box_count (&want));
      for (guint k = 0; k < ranks->len; k++)
        {
          int64_t rank = g_array_index (ranks, int64_t, k), *slice = slices[tn_mesh_place (from->mesh, rank)];
          g_assert_true (tn_layout_slice (from, shape, rank, &have, NULL) && tn_box_intersect (&want, &have, &both));
          for (int64_t e = 0; e < tn_box_count (&both); e++)
            {
              int64_t rest = e, source = 0, target = 0, source_stride = 1, target_stride = 1;
              for (int d = shape->n_dims - 1; d >= 0; d--)
                {
                  int64_t i = both.lo[d] + rest % (both.hi[d] - both.lo[d]);
                  rest /= both.hi[d] - both.lo[d];
                  source += (i - have.lo[d]) * source_stride;
                  target += (i - want.lo[d]) * target_stride;
                  source_stride *= have.hi[d] - have.lo[d];
                  target_stride *= want.hi[d] - want.lo[d];
                }
              out[place][target] = slice[source];
              filled++;
            }
        }
      g_assert_cmpint (filled, ==, tn_box_count (&want)); /* each element once */
    }
  return out;
}

static void
free_all (int64_t **slices, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    g_free (slices[i]);
  g_free (slices);
}

static void
test_needed_suffice (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  int done = 0;
  while (done < 10000)
    {
      g_autoptr (TnMesh) one = random_mesh (rand, 12), two = random_mesh (rand, 12), single = tn_mesh_new (1, TN_SIZES (1), NULL, -1, NULL, NULL);
      int n_dims = g_rand_int_range (rand, 1, 3);
      g_autoptr (TnLayout) a = random_layout (rand, one, n_dims), b = random_layout (rand, two, n_dims), whole = tn_layout_new_replicated (single, n_dims);
      TnShape shape = { .n_dims = n_dims };
      for (int d = 0; d < n_dims; d++)
        shape.dims[d] = tn_layout_shards (a, d) * tn_layout_shards (b, d);
      int64_t n = tn_shape_count (&shape);
      if (n > 600)
        continue;
      int64_t *counting_up = g_new (int64_t, n);
      for (int64_t i = 0; i < n; i++)
        counting_up[i] = i;
      int64_t **in_a = cut_all (whole, a, &shape, &counting_up), **in_b = cut_all (a, b, &shape, in_a), **again = cut_all (b, a, &shape, in_b);
      TnShape local;
      g_assert_true (tn_layout_local_shape (a, &shape, &local, NULL));
      for (int64_t p = 0; p < one->n_ranks; p++)
        g_assert_cmpmem (again[p], sizeof (int64_t) * (size_t) tn_shape_count (&local), in_a[p], sizeof (int64_t) * (size_t) tn_shape_count (&local));
      free_all (in_a, one->n_ranks);
      free_all (in_b, two->n_ranks);
      free_all (again, one->n_ranks);
      g_free (counting_up);
      done++;
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/reshard/needed-ranks-agree-with-mindspore", test_needed);
  g_test_add_func ("/parallel/reshard/there-and-back-is-the-identity", test_round_trip);
  g_test_add_func ("/parallel/reshard/folders-of-ranks-there-and-back", test_rank_folders);
  g_test_add_func ("/parallel/reshard/merges-what-mindspore-merges", test_merge_sliced);
  g_test_add_func ("/parallel/reshard/needed-ranks-suffice-there-and-back", test_needed_suffice);
  return g_test_run ();
}
