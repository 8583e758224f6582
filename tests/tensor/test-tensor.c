/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "tensor/tensor.h"

static TnTensor *
iota (TnShape shape)
{
  TnTensor *t = tn_tensor_new (TN_DTYPE_F32, shape, NULL);
  for (int64_t i = 0; i < tn_tensor_count (t); i++)
    ((float *) tn_tensor_data (t))[i] = (float) i;
  return t;
}

static void
test_new_is_zeroed_and_aligned (void)
{
  for (int64_t n = 0; n < 70; n++)
    {
      g_autoptr (TnTensor) t = tn_tensor_new (TN_DTYPE_F64, TN_SHAPE (n), NULL);
      g_assert_cmpuint ((uintptr_t) tn_tensor_data (t) % 64, ==, 0);
      g_assert_cmpuint (tn_tensor_bytes (t), ==, n * 8);
      for (int64_t i = 0; i < n; i++)
        g_assert_cmpfloat (tn_tensor_get (t, i), ==, 0);
    }
}

static void
test_too_large_is_an_error (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (1ll << 40, 1ll << 40), &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
  g_assert_nonnull (strstr (error->message, "(1099511627776, 1099511627776)"));
  g_clear_error (&error);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they end the process instead of returning NULL */
  g_assert_null (tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (1ll << 60), &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_MEMORY);
  g_assert_nonnull (strstr (error->message, "4611686018427387904"));
#endif
}

static void
test_permute (void)
{
  g_autoptr (TnTensor) t = iota (TN_SHAPE (2, 3, 4));
  g_autoptr (TnTensor) p = tn_tensor_permute (t, (const int[]){ 2, 0, 1 }, NULL);
  g_assert_cmpint (p->shape.dims[0], ==, 4);
  g_assert_false (tn_tensor_is_contiguous (p));
  g_autoptr (TnTensor) c = tn_tensor_contiguous (p, NULL);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 3; k++)
        {
          double expected = j * 12 + k * 4 + i;
          g_assert_cmpfloat (tn_tensor_get (p, (i * 2 + j) * 3 + k), ==, expected);
          g_assert_cmpfloat (((float *) tn_tensor_data (c))[(i * 2 + j) * 3 + k], ==, expected);
        }
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_tensor_permute (t, (const int[]){ 0, 0, 1 }, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
  g_assert_null (tn_tensor_permute (t, (const int[]){ 0, 1, 3 }, NULL));
}

static void
test_slice (void)
{
  g_autoptr (TnTensor) t = iota (TN_SHAPE (4, 5));
  g_autoptr (TnTensor) s = tn_tensor_slice (t, 1, 2, 2, NULL);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++)
      g_assert_cmpfloat (tn_tensor_get (s, i * 2 + j), ==, i * 5 + j + 2);
  tn_tensor_set (s, 3, -7); /* row 1, column 1 of the view */
  g_assert_cmpfloat (tn_tensor_get (t, 8), ==, -7);
  g_autoptr (TnTensor) rows = tn_tensor_slice (t, 0, 1, 2, NULL);
  g_assert_true (tn_tensor_is_contiguous (rows));
  g_assert_true (tn_tensor_data (rows) == (float *) tn_tensor_data (t) + 5);
  g_autoptr (TnTensor) empty = tn_tensor_slice (t, 0, 4, 0, NULL);
  g_assert_cmpint (tn_tensor_count (empty), ==, 0);
  static const int64_t bad[][3] = { { 0, 0, 5 }, { 0, 3, 2 }, { 0, -1, 1 }, { 0, 5, 0 }, { 2, 0, 1 }, { -1, 0, 1 }, { 1, 0, -1 }, { 1, 1, INT64_MAX } };
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_tensor_slice (t, (int) bad[i][0], bad[i][1], bad[i][2], &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
    }
}

static void
test_expand (void)
{
  g_autoptr (TnTensor) t = iota (TN_SHAPE (3, 1));
  g_autoptr (TnTensor) e = tn_tensor_expand (t, TN_SHAPE (2, 3, 4), NULL);
  for (int i = 0; i < 24; i++)
    g_assert_cmpfloat (tn_tensor_get (e, i), ==, i / 4 % 3);
  g_autoptr (TnTensor) c = tn_tensor_contiguous (e, NULL);
  for (int i = 0; i < 24; i++)
    g_assert_cmpfloat (((float *) tn_tensor_data (c))[i], ==, i / 4 % 3);
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_tensor_expand (t, TN_SHAPE (2, 4), &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
  g_assert_null (tn_tensor_expand (t, TN_SHAPE (3), NULL));
  g_assert_null (tn_tensor_expand (t, TN_SHAPE (1ll << 40, 3, 1ll << 40), NULL)); /* no memory is needed, but it cannot be counted */
}

static void
test_reshape (void)
{
  g_autoptr (TnTensor) t = iota (TN_SHAPE (2, 3, 4));
  g_autoptr (TnTensor) r = tn_tensor_reshape (t, TN_SHAPE (6, -1), NULL);
  g_assert_cmpint (r->shape.dims[1], ==, 4);
  g_assert_true (tn_tensor_data (r) == tn_tensor_data (t));
  static const int64_t bad[][2] = { { 5, 5 }, { -1, -1 }, { 7, -1 }, { -2, 12 }, { 0, -1 } };
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_tensor_reshape (t, TN_SHAPE (bad[i][0], bad[i][1]), &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
    }
  g_autoptr (TnTensor) p = tn_tensor_permute (t, (const int[]){ 1, 0, 2 }, NULL);
  g_assert_null (tn_tensor_reshape (p, TN_SHAPE (24), NULL));
}

static void
test_storage_outlives_its_tensor (void)
{
  TnTensor *t = iota (TN_SHAPE (100));
  g_autoptr (TnTensor) view = tn_tensor_slice (t, 0, 90, 10, NULL);
  tn_tensor_unref (t);
  g_assert_cmpfloat (tn_tensor_get (view, 9), ==, 99);
}

static void
count_free (gpointer owner)
{
  ++*(int *) owner;
}

static void
test_external (void)
{
  int n_freed = 0;
  float memory[6] = { 0, 1, 2, 3, 4, 5 };
  TnTensor *t = tn_tensor_new_external (TN_DTYPE_F32, TN_SHAPE (2, 3), memory, count_free, &n_freed);
  TnTensor *v = tn_tensor_reshape (t, TN_SHAPE (6), NULL);
  g_assert_true (tn_tensor_data (v) == memory);
  tn_tensor_unref (t);
  g_assert_cmpint (n_freed, ==, 0);
  tn_tensor_unref (v);
  g_assert_cmpint (n_freed, ==, 1);
}

/* Any view into any view, against the element-wise definition. */
static void
test_copy_between_views (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < 300; round++)
    {
      int order[4] = { 0, 1, 2, 3 };
      for (int i = 3; i > 0; i--)
        {
          int j = g_rand_int_range (rand, 0, i + 1), swap = order[i];
          order[i] = order[j];
          order[j] = swap;
        }
      int64_t dims[4];
      for (int i = 0; i < 4; i++)
        dims[i] = g_rand_int_range (rand, 1, round % 10 == 0 ? 300 / (1 + 60 * i) + 2 : 6);
      TnDType from_dtype = g_rand_int_range (rand, 0, TN_DTYPE_COUNT), to_dtype = g_rand_int_range (rand, 0, TN_DTYPE_COUNT);
      g_autoptr (TnTensor) base = tn_tensor_new (from_dtype, tn_shape_make (4, dims), NULL);
      for (int64_t i = 0; i < tn_tensor_count (base); i++)
        tn_tensor_set (base, i, (double) (i * 7 % 100));
      g_autoptr (TnTensor) from = tn_tensor_permute (base, order, NULL);
      TnShape larger = from->shape;
      for (int i = 0; i < 4; i++)
        larger.dims[i] += 2; /* the target is cut out of something larger */
      g_autoptr (TnTensor) host = tn_tensor_new (to_dtype, larger, NULL);
      TnTensor *to = tn_tensor_ref (host);
      for (int i = 0; i < 4; i++)
        {
          TnTensor *next = tn_tensor_slice (to, i, 1, from->shape.dims[i], NULL);
          tn_tensor_unref (to);
          to = next;
        }
      g_assert_true (tn_tensor_copy (to, from, NULL));
      double sum = 0, host_sum = 0;
      for (int64_t i = 0; i < tn_tensor_count (to); i++)
        {
          double v = tn_tensor_get (from, i);
          g_assert_cmpfloat (tn_tensor_get (to, i), ==, to_dtype == TN_DTYPE_BOOL ? v != 0 : v);
          sum += tn_tensor_get (to, i);
        }
      for (int64_t i = 0; i < tn_tensor_count (host); i++)
        host_sum += tn_tensor_get (host, i);
      g_assert_cmpfloat (sum, ==, host_sum); /* nothing beside it was written */
      tn_tensor_unref (to);
    }
}

static void
test_overlapping_copy (void)
{
  g_autoptr (TnTensor) t = iota (TN_SHAPE (10));
  g_autoptr (TnTensor) low = tn_tensor_slice (t, 0, 0, 8, NULL);
  g_autoptr (TnTensor) high = tn_tensor_slice (t, 0, 2, 8, NULL);
  g_assert_true (tn_tensor_copy (high, low, NULL));
  for (int i = 0; i < 8; i++)
    g_assert_cmpfloat (tn_tensor_get (high, i), ==, i);
  g_autoptr (TnTensor) square = iota (TN_SHAPE (3, 3));
  g_autoptr (TnTensor) turned = tn_tensor_permute (square, (const int[]){ 1, 0 }, NULL);
  g_assert_true (tn_tensor_copy (square, turned, NULL));
  for (int i = 0; i < 9; i++)
    g_assert_cmpfloat (tn_tensor_get (square, i), ==, i % 3 * 3 + i / 3);
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_tensor_copy (square, t, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
}

static void
test_text (void)
{
  g_autoptr (TnTensor) t = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2, 2), (const float[]){ 1, -0.5f, 1e10f, NAN });
  g_autofree char *a = tn_tensor_to_string (t, 10);
  g_autofree char *b = tn_tensor_to_string (t, 2);
  g_autofree char *c = tn_tensor_to_string (t, 0);
  g_assert_cmpstr (a, ==, "Tensor[Float32], (2, 2) [1, -0.5, 1e+10, nan]");
  g_assert_cmpstr (b, ==, "Tensor[Float32], (2, 2) [1, -0.5, ...]");
  g_assert_cmpstr (c, ==, "Tensor[Float32], (2, 2)");
  g_autoptr (TnTensor) i = tn_tensor_new_from (TN_DTYPE_I64, TN_SHAPE_SCALAR, &(int64_t){ INT64_MAX });
  g_autofree char *d = tn_tensor_to_string (i, 1);
  g_assert_cmpstr (d, ==, "Tensor[Int64], () [9223372036854775807]");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor/tensor/new-is-zeroed-and-aligned", test_new_is_zeroed_and_aligned);
  g_test_add_func ("/tensor/tensor/too-large-is-an-error", test_too_large_is_an_error);
  g_test_add_func ("/tensor/tensor/permute", test_permute);
  g_test_add_func ("/tensor/tensor/slice", test_slice);
  g_test_add_func ("/tensor/tensor/expand", test_expand);
  g_test_add_func ("/tensor/tensor/reshape", test_reshape);
  g_test_add_func ("/tensor/tensor/storage-outlives-its-tensor", test_storage_outlives_its_tensor);
  g_test_add_func ("/tensor/tensor/external-memory-is-freed-once", test_external);
  g_test_add_func ("/tensor/tensor/copy-between-views", test_copy_between_views);
  g_test_add_func ("/tensor/tensor/overlapping-copy", test_overlapping_copy);
  g_test_add_func ("/tensor/tensor/text", test_text);
  return g_test_run ();
}
