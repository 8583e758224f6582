/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/json.h"

#define CASES 10000

/* ---- MindSpore's own answers (truth folder mindspore/strategy) ---- */

/* What section 10 of the reference says to refuse although MindSpore takes it. */
static gboolean
refused_on_purpose (const GError *error)
{
  return g_error_matches (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_SIZE) || g_error_matches (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_RANK)
         || g_error_matches (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_RANK_TWICE);
}

static void
check_constructor (JsonObject *c)
{
  const char *name = json_object_get_string_member (c, "name");
  if (!g_str_has_prefix (name, "Layout("))
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnMesh) mesh = NULL;
  g_autoptr (TnLayout) layout = tn_layout_parse_python (name, &mesh, &error);
  const char *want = json_object_has_member (c, "error") ? json_object_get_string_member (c, "error") : NULL;
  if (want != NULL)
    {
      if (layout != NULL)
        g_error ("%s is refused by MindSpore with %s", name, want);
      if (g_strcmp0 (tn_layout_error_exception (error->code), want) != 0)
        g_error ("%s: %s, wanted %s", name, error->message, want);
      return;
    }
  if (error != NULL && refused_on_purpose (error))
    return;
  if (error != NULL && error->code == TN_LAYOUT_ERROR_UNSET)
    {
      g_assert_nonnull (mesh); /* a case without a call */
      return;
    }
  g_assert_no_error (error);
  g_autoptr (JsonObject) dict = tn_layout_to_dict (layout);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), dict);
  g_autofree char *got = tn_json_to_text (node, 0), *expected = tn_json_to_text (json_object_get_member (c, "ok"), 0);
  g_assert_cmpstr (got, ==, expected);

  /* Text and dictionary read back as the same layout. */
  g_autofree char *text = tn_layout_to_python (layout);
  g_autoptr (TnLayout) again = tn_layout_parse_python (text, NULL, &error), from_dict = tn_layout_from_dict (dict, &error);
  g_assert_no_error (error);
  g_assert_true (tn_layout_equal (layout, again) && tn_layout_equal (layout, from_dict));
}

static void
test_constructor (void)
{
  if (for_each_case ("alias_name", check_constructor) == 0)
    g_test_skip ("no truth folder");
}

static void
check_slices (JsonObject *c)
{
  g_autoptr (TnLayout) layout = json_layout (c, "device_matrix", "tensor_map");
  TnShape shape = json_shape (c, "shape");
  JsonArray *boxes = json_object_get_array_member (c, "boxes"), *index = json_object_get_array_member (c, "slice_index");
  for (int64_t rank = 0; rank < layout->mesh->n_ranks; rank++)
    {
      TnBox box;
      g_assert_true (tn_layout_slice (layout, &shape, rank, &box, NULL));
      JsonArray *want = json_array_get_array_element (boxes, (guint) rank);
      for (int d = 0; d < shape.n_dims; d++)
        {
          JsonArray *range = json_array_get_array_element (want, (guint) d);
          g_assert_cmpint (box.lo[d], ==, json_array_get_int_element (range, 0));
          g_assert_cmpint (box.hi[d], ==, json_array_get_int_element (range, 1));
        }
      g_assert_cmpint (tn_layout_slice_index (layout, rank), ==, json_array_get_int_element (index, (guint) rank));
    }
}

static void
test_slices (void)
{
  if (for_each_case ("boxes", check_slices) == 0)
    g_test_skip ("no truth folder");
}

static void
check_fold (JsonObject *c)
{
  if (!json_object_has_member (c, "kind") || json_object_get_member (c, "opt_weight_shard_size") == NULL)
    return;
  g_autoptr (JsonObject) dict = json_object_new ();
  json_object_set_member (dict, "device_matrix", json_node_copy (json_object_get_member (c, "device_matrix")));
  json_object_set_member (dict, "tensor_map", json_node_copy (json_object_get_member (c, "tensor_map")));
  JsonNode *want_node = json_object_get_member (c, "result");
  g_assert_true (JSON_NODE_HOLDS_OBJECT (want_node));
  JsonObject *want = json_node_get_object (want_node);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnLayout) layout = tn_layout_from_dict (dict, &error);
  g_assert_no_error (error);
  g_autoptr (TnLayout) folded = tn_layout_fold_optimizer (layout, json_object_get_int_member (c, "opt_weight_shard_size"), &error);
  g_assert_no_error (error);
  g_autoptr (TnLayout) expected = tn_layout_from_dict (want, &error);
  g_assert_no_error (error);
  g_assert_cmpint (folded->mesh->n_axes, ==, expected->mesh->n_axes);
  for (int i = 0; i < folded->mesh->n_axes; i++)
    g_assert_cmpint (folded->mesh->sizes[i], ==, expected->mesh->sizes[i]);
  for (int d = 0; d < folded->n_dims; d++)
    {
      /* the same axes in the same order; one-element tuples and scalars are one */
      int k = 0, m = 0;
      for (; k < folded->dims[d].n && m < expected->dims[d].n;)
        if (folded->dims[d].axes[k] < 0)
          k++;
        else if (expected->dims[d].axes[m] < 0)
          m++;
        else
          g_assert_cmpint (folded->dims[d].axes[k++], ==, expected->dims[d].axes[m++]);
      for (; k < folded->dims[d].n; k++)
        g_assert_cmpint (folded->dims[d].axes[k], <, 0);
      for (; m < expected->dims[d].n; m++)
        g_assert_cmpint (expected->dims[d].axes[m], <, 0);
    }
}

static void
test_fold (void)
{
  if (for_each_case ("opt_weight_shard_size", check_fold) == 0)
    g_test_skip ("no truth folder");
}

/* torch's placements: "S0" a mesh dimension. */
static void
check_torch (JsonObject *c)
{
  TnShape sizes = json_shape (c, "mesh_shape"), shape = json_shape (c, "tensor_shape");
  JsonArray *placements = json_object_get_array_member (c, "placements");
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  for (guint i = 0; i < json_array_get_length (placements); i++)
    {
      const char *p = json_array_get_string_element (placements, i);
      if (*p == 'S')
        {
          TnDimMap *dim = &dims[atoi (p + 1)];
          dim->axes[dim->n++] = (int8_t) i;
        }
    }
  g_autoptr (TnMesh) mesh = tn_mesh_new (sizes.n_dims, sizes.dims, NULL, -1, NULL, NULL);
  g_autoptr (TnLayout) layout = tn_layout_new (mesh, shape.n_dims, dims, 0, TN_PARTIAL_NONE, NULL);
  g_autoptr (GError) error = NULL;
  JsonArray *ranks = json_object_get_array_member (c, "ranks");
  TnShape whole;
  if (!json_object_get_boolean_member (c, "even"))
    {
      g_assert_false (tn_layout_local_shape (layout, &shape, &whole, &error));
      g_assert_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_UNEVEN);
      return;
    }
  for (guint i = 0; i < json_array_get_length (ranks); i++)
    {
      JsonObject *rank = json_array_get_object_element (ranks, i);
      TnShape local = json_shape (rank, "local_shape"), offset = json_shape (rank, "global_offset");
      TnBox box;
      g_assert_true (tn_layout_slice (layout, &shape, json_object_get_int_member (rank, "rank"), &box, NULL));
      for (int d = 0; d < shape.n_dims; d++)
        {
          g_assert_cmpint (box.lo[d], ==, offset.dims[d]);
          g_assert_cmpint (box.hi[d] - box.lo[d], ==, local.dims[d]);
        }
    }
}

static void
test_torch (void)
{
  if (for_each_case ("placements", check_torch) == 0)
    g_test_skip ("no truth folder");
}

/* ---- golden vectors of the reference, 1.4 ---- */

static void
assert_slice (TnLayout *layout, TnShape shape, int64_t rank, const char *want)
{
  TnBox box;
  g_assert_true (tn_layout_slice (layout, &shape, rank, &box, NULL));
  g_autofree char *text = tn_box_to_string (&box);
  g_assert_cmpstr (text, ==, want);
}

static void
test_golden (void)
{
  g_autoptr (TnMesh) cube = tn_mesh_new (3, TN_SIZES (2, 2, 2), NULL, -1, NULL, NULL);
  g_autoptr (TnMesh) square = tn_mesh_new (2, TN_SIZES (2, 2), NULL, 4, TN_SIZES (0, 2, 1, 3), NULL);
  g_autoptr (TnLayout) one = tn_layout_parse (cube, "(a, c)", NULL), two = tn_layout_parse (cube, "((c, b), None)", NULL);
  g_autoptr (TnLayout) three = tn_layout_parse (square, "a, b", NULL), four = tn_layout_parse (cube, "(b, a, c), None", NULL);
  const char *const boxes[] = { "[0:4, 0:8]", "[0:4, 8:16]", "[4:8, 0:8]", "[4:8, 8:16]" };
  for (int r = 0; r < 8; r++)
    assert_slice (one, TN_SHAPE (8, 16), r, boxes[r / 4 * 2 + r % 2]);
  const char *const rows[] = { "[0:2, 0:16]", "[4:6, 0:16]", "[2:4, 0:16]", "[6:8, 0:16]" };
  for (int r = 0; r < 8; r++)
    assert_slice (two, TN_SHAPE (8, 16), r, rows[r % 4]);
  assert_slice (three, TN_SHAPE (4, 4), 2, "[0:2, 2:4]");
  assert_slice (three, TN_SHAPE (4, 4), 1, "[2:4, 0:2]");
  const int first[] = { 0, 12, 48, 60, 24, 36, 72, 84 };
  for (int r = 0; r < 8; r++)
    {
      g_autofree char *want = g_strdup_printf ("[%d:%d, 0:16]", first[r], first[r] + 12);
      assert_slice (four, TN_SHAPE (96, 16), r, want);
    }
  g_assert_cmpint (tn_layout_replica (one, 2), ==, 1);
  g_assert_cmpint (tn_layout_replica (one, 5), ==, 0);
  g_autofree int64_t *peers = tn_mesh_group (cube, tn_layout_replica_axes (two), 5, NULL);
  g_assert_cmpint (peers[0], ==, 1);
  g_assert_cmpint (peers[1], ==, 5);
}

static void
test_uneven (void)
{
  g_autoptr (TnMesh) mesh = tn_mesh_new (1, TN_SIZES (8), NULL, -1, NULL, NULL);
  g_autoptr (TnLayout) layout = tn_layout_parse (mesh, "a, None", NULL);
  g_autoptr (GError) error = NULL;
  TnShape shape = TN_SHAPE (84, 2), local;
  g_assert_false (tn_layout_local_shape (layout, &shape, &local, &error));
  g_assert_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_UNEVEN);
  g_assert_nonnull (strstr (error->message, "84"));
  g_assert_nonnull (strstr (error->message, "1, 2, 3, 4, 6, 7."));
}

static void
test_mesh_text (void)
{
  static const struct { const char *text; int64_t ranks; int code; } wrong[] = {
    { "dp=4,tp=2", 6, TN_LAYOUT_ERROR_RANK_COUNT }, { "dp=0", -1, TN_LAYOUT_ERROR_SIZE }, { "dp", -1, TN_LAYOUT_ERROR_TYPE },
    { "dp=2,dp=2", -1, TN_LAYOUT_ERROR_NAME_TWICE }, { "None=2", -1, TN_LAYOUT_ERROR_NONE_NAME }, { "=2", -1, TN_LAYOUT_ERROR_EMPTY_NAME },
    { "interleaved_parallel=2,dp=2", -1, TN_LAYOUT_ERROR_INTERLEAVED }, { "dp=?,tp=3", 8, TN_LAYOUT_ERROR_SIZE },
    { "a=1000000,b=1000000,c=1000000,d=1000000", -1, TN_LAYOUT_ERROR_SIZE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_mesh_parse (wrong[i].text, wrong[i].ranks, &error));
      g_assert_error (error, TN_LAYOUT_ERROR, wrong[i].code);
    }
  g_autoptr (TnMesh) mesh = tn_mesh_parse ("dp=?,tp=2", 4096, NULL);
  g_assert_cmpint (mesh->sizes[0], ==, 2048);
}

/* ---- laws, on random cases ---- */

/* (a) The slices cover the tensor, each element on as many ranks as there are replicas. */
static void
test_cover (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < CASES; round++)
    {
      g_autoptr (TnMesh) mesh = random_mesh (rand, 32);
      int n_dims = g_rand_int_range (rand, 1, 4);
      g_autoptr (TnLayout) layout = random_layout (rand, mesh, n_dims);
      TnShape shape = { .n_dims = n_dims };
      int64_t held = 0, replicas = tn_mesh_span (mesh, tn_layout_replica_axes (layout));
      for (int d = 0; d < n_dims; d++)
        shape.dims[d] = tn_layout_shards (layout, d) * g_rand_int_range (rand, 1, 3);
      g_autofree int *count = g_new0 (int, tn_shape_count (&shape));
      for (int64_t i = 0; i < mesh->n_ranks; i++)
        {
          TnBox box;
          g_assert_true (tn_layout_slice (layout, &shape, mesh->ranks[i], &box, NULL));
          held += tn_box_count (&box);
          int64_t strides[TN_MAX_DIMS], n = tn_box_count (&box);
          tn_shape_strides (&shape, strides);
          for (int64_t e = 0; e < n; e++)
            {
              int64_t rest = e, at = 0;
              for (int d = n_dims - 1; d >= 0; d--)
                {
                  at += (box.lo[d] + rest % (box.hi[d] - box.lo[d])) * strides[d];
                  rest /= box.hi[d] - box.lo[d];
                }
              count[at]++;
            }
        }
      g_assert_cmpint (held, ==, replicas * tn_shape_count (&shape));
      for (int64_t e = 0; e < tn_shape_count (&shape); e++)
        g_assert_cmpint (count[e], ==, replicas);
    }
}

/* Folded optimizer shards are what the runtime cuts: the slice, cut evenly by the place within consecutive blocks of the
 * ranks that hold it. */
static void
test_fold_law (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  int done = 0;
  for (int round = 0; round < CASES; round++)
    {
      int64_t sizes[3];
      for (int i = 0; i < 3; i++)
        sizes[i] = 1 << g_rand_int_range (rand, 0, 3);
      g_autoptr (TnMesh) mesh = tn_mesh_new (3, sizes, NULL, -1, NULL, NULL);
      g_autoptr (TnLayout) layout = random_layout (rand, mesh, 2);
      uint32_t open = tn_layout_replica_axes (layout);
      int64_t s = 1 << g_rand_int_range (rand, 0, 7);
      g_autoptr (GError) error = NULL;
      g_autoptr (TnLayout) folded = tn_layout_fold_optimizer (layout, s, &error);
      if (tn_mesh_span (mesh, open) % s != 0)
        {
          g_assert_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_SHARD_SIZE);
          continue;
        }
      g_assert_no_error (error);
      TnShape shape = TN_SHAPE (tn_layout_shards (layout, 0) * s * 2, tn_layout_shards (layout, 1));
      for (int64_t rank = 0; rank < mesh->n_ranks; rank++)
        {
          TnBox whole, part;
          int64_t index;
          g_autofree int64_t *group = tn_mesh_group (mesh, open, rank, &index);
          g_assert_true (tn_layout_slice (layout, &shape, rank, &whole, NULL));
          g_assert_true (tn_layout_slice (folded, &shape, rank, &part, NULL));
          int64_t rows = (whole.hi[0] - whole.lo[0]) / s;
          g_assert_cmpint (part.lo[0], ==, whole.lo[0] + index % s * rows);
          g_assert_cmpint (part.hi[0], ==, part.lo[0] + rows);
        }
      done++;
    }
  g_assert_cmpint (done, >, CASES / 10);
}

/* A layout on a finer mesh holds the same slices. */
static void
test_refined (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < 1000; round++)
    {
      int64_t one[3], two[3], n = 1, m = 1;
      for (int i = 0; i < 3; i++)
        n *= one[i] = 1 << g_rand_int_range (rand, 0, 3);
      for (int i = 0; i < 2; i++)
        {
          two[i] = 1 << g_rand_int_range (rand, 0, 3);
          m *= two[i] = MIN (two[i], n / m);
        }
      two[2] = n / m;
      g_autoptr (TnMesh) a = tn_mesh_new (3, one, NULL, -1, NULL, NULL), b = tn_mesh_new (3, two, TN_NAMES ("x", "y", "z"), -1, NULL, NULL);
      g_autoptr (GError) error = NULL;
      g_autoptr (TnMesh) fine = tn_mesh_refine (a, b, &error);
      g_assert_no_error (error);
      g_autoptr (TnLayout) layout = random_layout (rand, b, 2);
      g_autoptr (TnLayout) refined = tn_layout_refined (layout, fine, &error);
      g_assert_no_error (error);
      TnShape shape = TN_SHAPE (64, 128);
      for (int64_t rank = 0; rank < n; rank++)
        {
          TnBox x, y;
          g_assert_true (tn_layout_slice (layout, &shape, rank, &x, NULL) && tn_layout_slice (refined, &shape, rank, &y, NULL));
          g_assert_true (tn_box_equal (&x, &y));
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/layout/constructor-and-dictionary-agree-with-mindspore", test_constructor);
  g_test_add_func ("/parallel/layout/slices-agree-with-mindspore", test_slices);
  g_test_add_func ("/parallel/layout/slices-agree-with-torch-and-uneven-ones-are-refused", test_torch);
  g_test_add_func ("/parallel/layout/optimizer-folds-agree-with-mindspore", test_fold);
  g_test_add_func ("/parallel/layout/golden-slices", test_golden);
  g_test_add_func ("/parallel/layout/uneven-split-names-the-legal-divisors", test_uneven);
  g_test_add_func ("/parallel/mesh/wrong-texts-are-refused-by-rule", test_mesh_text);
  g_test_add_func ("/parallel/layout/slices-cover-the-tensor", test_cover);
  g_test_add_func ("/parallel/layout/optimizer-folds-cut-slices-evenly", test_fold_law);
  g_test_add_func ("/parallel/layout/a-finer-mesh-holds-the-same-slices", test_refined);
  return g_test_run ();
}
