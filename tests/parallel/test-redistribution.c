/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "parallel/redistribution.h"

#define CASES 10000

/* Golden lists of the reference, 4.2: device matrix [4, 2], shape 16 x 8; b is MindSpore's axis 0, a its axis 1. */
static void
test_golden (void)
{
  static const struct { const char *from, *to, *want; gboolean no_a2a; } rows[] = {
    { "a, -", "-, a", "AllToAll(split 1, concat 0, a x4)" },
    { "a, -", "-, a", "AllGather(dim 0, a x4), Slice(dim 1, a x4)", TRUE },
    { "a, -", "-, -", "AllGather(dim 0, a x4)" },
    { "-, -", "b, a", "Slice(dim 0, b x2), Slice(dim 1, a x4)" },
    { "b, -", "a, -", "AllGather(dim 0, b x2), Slice(dim 0, a x4)" },
    { "a, b", "-, a", "AllGather(dim 1, b x2), AllToAll(split 1, concat 0, a x4)" },
    { "a, b", "b, a", "AllGather(dim 0, a x4), AllToAll(split 0, concat 1, b x2), Slice(dim 1, a x4)" },
    { "a, b", "b, a", "AllGather(dim 0, a x4), AllGather(dim 1, b x2), Slice(dim 0, b x2), Slice(dim 1, a x4)", TRUE },
  };
  g_autoptr (TnMesh) mesh = tn_mesh_new (2, TN_SIZES (4, 2), NULL, -1, NULL, NULL);
  TnShape shape = TN_SHAPE (16, 8);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (TnLayout) from = tn_layout_parse (mesh, rows[i].from, NULL), to = tn_layout_parse (mesh, rows[i].to, NULL);
      g_autoptr (GError) error = NULL;
      TnRedistribution r;
      tn_redistribution_infer (&r, from, to, &shape, rows[i].no_a2a ? TN_REDISTRIBUTION_GREEDY_NO_A2A : TN_REDISTRIBUTION_GREEDY, &error);
      g_assert_no_error (error);
      g_autofree char *got = tn_redistribution_to_string (&r);
      if (i != 7) /* the order in which the two last slices come is not part of the law */
        g_assert_cmpstr (got, ==, rows[i].want);
      else
        g_assert_cmpint (r.n_moves, ==, 4);
      tn_redistribution_clear (&r);
    }
}

/* The values of the tensor at a box, times @factor. */
static int64_t *
cut (const TnShape *shape, const TnBox *box, int64_t factor)
{
  int64_t strides[TN_MAX_DIMS], n = tn_box_count (box), *out = g_new (int64_t, MAX (n, 1));
  tn_shape_strides (shape, strides);
  for (int64_t e = 0; e < n; e++)
    {
      int64_t rest = e, at = 0;
      for (int d = shape->n_dims - 1; d >= 0; d--)
        {
          at += (box->lo[d] + rest % (box->hi[d] - box->lo[d])) * strides[d];
          rest /= box->hi[d] - box->lo[d];
        }
      out[e] = (at + 1) * factor;
    }
  return out;
}

/* (b) Moves on integers give what direct slicing gives. Returns the elements received by a rank. */
static double
check_pair (TnLayout *from, TnLayout *to, const TnShape *shape, TnRedistributionMethod method)
{
  TnRedistribution r;
  g_autoptr (GError) error = NULL;
  tn_redistribution_infer (&r, from, to, shape, method, &error);
  g_assert_no_error (error);
  int64_t n = from->mesh->n_ranks, parts = tn_mesh_span (from->mesh, from->partial);
  g_autofree int64_t **slices = g_new (int64_t *, n);
  for (int64_t p = 0; p < n; p++)
    {
      TnBox box;
      int64_t index = 0;
      g_autofree int64_t *group = tn_mesh_group (from->mesh, from->partial, from->mesh->ranks[p], &index);
      tn_layout_slice (from, shape, from->mesh->ranks[p], &box, NULL);
      slices[p] = cut (shape, &box, index + 1); /* partial: 1 + 2 + ... times the value in all */
    }
  tn_redistribution_run (&r, slices);
  for (int64_t p = 0; p < n; p++)
    {
      TnBox box;
      tn_layout_slice (to, shape, to->mesh->ranks[p], &box, NULL);
      g_autofree int64_t *want = cut (shape, &box, parts * (parts + 1) / 2);
      if (memcmp (want, slices[p], sizeof *want * (size_t) tn_box_count (&box)) != 0)
        {
          g_autofree char *a = tn_layout_to_string (from), *b = tn_layout_to_string (to), *list = tn_redistribution_to_string (&r);
          g_error ("%s -> %s by %s is wrong at place %d", a, b, list, (int) p);
        }
      g_free (slices[p]);
    }
  double elements = tn_redistribution_elements (&r);
  tn_redistribution_clear (&r);
  return elements;
}

static void
test_random_pairs (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  int cheaper = 0;
  for (int round = 0; round < CASES; round++)
    {
      g_autoptr (TnMesh) mesh = random_mesh (rand, 24);
      int n_dims = g_rand_int_range (rand, 1, 4);
      g_autoptr (TnLayout) plain = random_layout (rand, mesh, n_dims), to = random_layout (rand, mesh, n_dims);
      uint32_t partial = g_rand_int_range (rand, 0, 4) == 0 ? tn_layout_replica_axes (plain) & (uint32_t) g_rand_int (rand) : 0;
      g_autoptr (TnLayout) from = tn_layout_with_partial (plain, partial, TN_PARTIAL_SUM);
      TnShape shape = { .n_dims = n_dims };
      for (int d = 0; d < n_dims; d++)
        shape.dims[d] = tn_layout_shards (from, d) * tn_layout_shards (to, d);
      if (tn_shape_count (&shape) > 4096)
        continue;
      double greedy = check_pair (from, to, &shape, TN_REDISTRIBUTION_GREEDY), cheapest = check_pair (from, to, &shape, TN_REDISTRIBUTION_CHEAPEST);
      check_pair (from, to, &shape, TN_REDISTRIBUTION_GREEDY_NO_A2A);
      g_assert_cmpfloat (cheapest, <=, greedy * (1 + 1e-9));
      cheaper += cheapest < greedy * (1 - 1e-9);
    }
  g_test_message ("the cheapest list beats the greedy one in %d of %d pairs", cheaper, CASES);
  g_assert_cmpint (cheaper, >, 0);
}

/* Between meshes that are cut differently, and between rank lists in another order. */
static void
test_other_meshes (void)
{
  guint32 seed = (guint32) g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < 2000; round++)
    {
      static const int64_t sizes[][3] = { { 2, 2, 2 }, { 4, 2, 1 }, { 2, 4, 1 }, { 8, 1, 1 }, { 1, 2, 4 } };
      const int64_t *one = sizes[g_rand_int_range (rand, 0, 5)], *two = sizes[g_rand_int_range (rand, 0, 5)];
      g_autoptr (TnMesh) a = tn_mesh_new (3, one, NULL, -1, NULL, NULL);
      g_autoptr (TnMesh) b = tn_mesh_new (3, two, NULL, 8, round % 2 ? TN_SIZES (0, 1, 2, 3, 4, 5, 6, 7) : TN_SIZES (7, 2, 0, 1, 3, 5, 4, 6), NULL);
      g_autoptr (TnLayout) from = random_layout (rand, a, 2), to = random_layout (rand, b, 2);
      TnShape shape = TN_SHAPE (16, 24);
      for (int method = 0; method < 3; method++)
        check_pair (from, to, &shape, (TnRedistributionMethod) method);
    }
}

/* The pairs that MindSpore was asked to transform. */
static void
check_transform (JsonObject *c)
{
  if (!json_object_has_member (c, "to_device_matrix") || !json_object_has_member (c, "shape"))
    return;
  g_autoptr (TnLayout) from = json_layout (c, "device_matrix", "from_map"), to = json_layout (c, "to_device_matrix", "to_map");
  TnShape shape = json_shape (c, "shape");
  if (from->mesh->n_ranks != to->mesh->n_ranks)
    return;
  for (int method = 0; method < 3; method++)
    check_pair (from, to, &shape, (TnRedistributionMethod) method);
}

static void
test_transforms (void)
{
  if (for_each_case ("from_map", check_transform) == 0)
    g_test_skip ("no truth folder");
}

/* torch's values before and after; uneven ones are refused by us. Values are quarters: four times them are whole. */
static TnLayout *
placed (JsonObject *c, const char *key, TnMesh *mesh, int n_dims)
{
  JsonArray *placements = json_object_get_array_member (c, key);
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  uint32_t partial = 0;
  for (guint i = 0; i < json_array_get_length (placements); i++)
    {
      const char *p = json_array_get_string_element (placements, i);
      if (*p == 'S')
        dims[atoi (p + 1)].axes[dims[atoi (p + 1)].n++] = (int8_t) i;
      else if (*p == 'P')
        partial |= 1u << i;
    }
  return tn_layout_new (mesh, n_dims, dims, partial, TN_PARTIAL_SUM, NULL);
}

static int64_t *
quarters (JsonArray *ranks, guint rank, int64_t *n)
{
  JsonArray *data = json_object_get_array_member (json_array_get_object_element (ranks, rank), "data");
  *n = json_array_get_length (data);
  int64_t *out = g_new (int64_t, *n + 1);
  for (guint i = 0; i < *n; i++)
    out[i] = (int64_t) (4 * json_array_get_double_element (data, i));
  return out;
}

static void
check_torch (JsonObject *c)
{
  if (!json_object_has_member (c, "after"))
    return;
  TnShape sizes = json_shape (c, "mesh_shape"), shape = json_shape (c, "tensor_shape"), local;
  g_autoptr (TnMesh) mesh = tn_mesh_new (sizes.n_dims, sizes.dims, NULL, -1, NULL, NULL);
  g_autoptr (TnLayout) from = placed (c, "from", mesh, shape.n_dims), to = placed (c, "to", mesh, shape.n_dims);
  gboolean even = tn_layout_local_shape (from, &shape, &local, NULL) && tn_layout_local_shape (to, &shape, &local, NULL);
  JsonArray *before = json_object_get_array_member (c, "before"), *after = json_object_get_array_member (c, "after");
  for (int method = 0; method < 3; method++)
    {
      TnRedistribution r;
      g_autoptr (GError) error = NULL;
      if (!tn_redistribution_infer (&r, from, to, &shape, (TnRedistributionMethod) method, &error))
        {
          g_assert_false (even);
          g_assert_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_UNEVEN);
          continue;
        }
      int64_t n;
      g_autofree int64_t **slices = g_new (int64_t *, mesh->n_ranks);
      for (int64_t p = 0; p < mesh->n_ranks; p++)
        slices[p] = quarters (before, (guint) p, &n);
      tn_redistribution_run (&r, slices);
      for (int64_t p = 0; p < mesh->n_ranks; p++)
        {
          g_autofree int64_t *want = quarters (after, (guint) p, &n);
          g_assert_cmpmem (slices[p], sizeof *want * (size_t) n, want, sizeof *want * (size_t) n);
          g_free (slices[p]);
        }
      tn_redistribution_clear (&r);
    }
}

static void
test_torch (void)
{
  if (for_each_case ("before", check_torch) == 0)
    g_test_skip ("no truth folder");
}

static void
test_speed (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (TnMesh) mesh = tn_mesh_new (3, TN_SIZES (2, 2, 2), NULL, -1, NULL, NULL);
  g_autoptr (GPtrArray) layouts = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_layout_unref);
  for (int i = 0; i < 100; i++)
    g_ptr_array_add (layouts, random_layout (rand, mesh, 3));
  TnShape shape = TN_SHAPE (64, 64, 64);
  for (int method = 0; method < 3; method += 2)
    {
      double us = G_MAXDOUBLE; /* the quietest of some rounds */
      for (int round = 0; round < 5; round++)
        {
          gint64 start = g_get_monotonic_time ();
          for (int i = 0; i < 100; i++)
            for (int k = 0; k < 100; k++)
              {
                TnRedistribution r;
                tn_redistribution_infer (&r, layouts->pdata[i], layouts->pdata[k], &shape, (TnRedistributionMethod) method, NULL);
                tn_redistribution_clear (&r);
              }
          us = MIN (us, (double) (g_get_monotonic_time () - start) / 1e4);
        }
      g_test_message ("method %d: %.2f us a pair", method, us);
      g_assert_cmpfloat (us, <, 50); /* a bound that holds on a busy machine; the benchmark asks for 10 */
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/redistribution/golden-lists", test_golden);
  g_test_add_func ("/parallel/redistribution/random-pairs-equal-direct-slicing", test_random_pairs);
  g_test_add_func ("/parallel/redistribution/other-meshes-and-rank-lists", test_other_meshes);
  g_test_add_func ("/parallel/redistribution/mindspore-transforms", test_transforms);
  g_test_add_func ("/parallel/redistribution/values-agree-with-torch", test_torch);
  g_test_add_func ("/parallel/redistribution/takes-microseconds", test_speed);
  return g_test_run ();
}
