/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "tensor/shape.h"

static void
test_bytes (void)
{
  g_autoptr (GError) error = NULL;
  size_t bytes = 99;
  TnShape s = TN_SHAPE (32, 1, 28, 28);
  g_assert_true (tn_shape_bytes (&s, 4, &bytes, &error));
  g_assert_cmpuint (bytes, ==, 100352);
  g_assert_cmpint (tn_shape_count (&s), ==, 25088);
  g_assert_cmpint (tn_shape_span (&s, 1, 3), ==, 28);
  g_assert_cmpint (tn_shape_span (&s, 2, 2), ==, 1);
  s = TN_SHAPE_SCALAR;
  g_assert_true (tn_shape_bytes (&s, 8, &bytes, NULL) && bytes == 8);
  s = TN_SHAPE (3, 0, 5);
  g_assert_true (tn_shape_bytes (&s, 8, &bytes, NULL) && bytes == 0);
  s = TN_SHAPE (1, 1, 1, 1, 1, 1, 1, 7);
  g_assert_true (tn_shape_bytes (&s, 1, &bytes, NULL) && bytes == 7);
}

static void
assert_refused (TnShape shape, size_t size)
{
  g_autoptr (GError) error = NULL;
  size_t bytes;
  g_assert_false (tn_shape_bytes (&shape, size, &bytes, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
}

static void
test_bad_shapes_are_refused (void)
{
  size_t bytes;
  TnShape largest = TN_SHAPE (INT64_MAX);
  g_assert_true (tn_shape_bytes (&largest, 1, &bytes, NULL) && bytes == INT64_MAX);
  assert_refused (largest, 2);
  assert_refused (TN_SHAPE (1ll << 31, 1ll << 32), 1);
  assert_refused (TN_SHAPE (1ll << 30, 1ll << 30, 1ll << 30), 4);
  assert_refused (TN_SHAPE (INT64_MAX, INT64_MAX), 8);
  assert_refused (TN_SHAPE (0, 1ll << 62, 1ll << 62), 4); /* empty, but its strides would overflow */
  assert_refused (TN_SHAPE (3, -1), 4);
  assert_refused (TN_SHAPE (INT64_MIN), 4);
  TnShape bad = { .n_dims = 9 };
  assert_refused (bad, 4);
  bad.n_dims = -1;
  assert_refused (bad, 4);
}

static void
test_strides (void)
{
  int64_t strides[TN_MAX_DIMS];
  TnShape s = TN_SHAPE (2, 3, 5);
  tn_shape_strides (&s, strides);
  g_assert_cmpint (strides[0], ==, 15);
  g_assert_cmpint (strides[1], ==, 5);
  g_assert_cmpint (strides[2], ==, 1);
}

static void
check_broadcast (TnShape a, TnShape b, const char *expected)
{
  TnShape ab, ba;
  gboolean fits = tn_shape_broadcast (&a, &b, &ab);
  g_assert_cmpint (fits, ==, tn_shape_broadcast (&b, &a, &ba));
  g_assert_cmpint (fits, ==, expected != NULL);
  if (!fits)
    return;
  g_assert_true (tn_shape_equal (&ab, &ba));
  g_autofree char *text = tn_shape_to_string (&ab);
  g_assert_cmpstr (text, ==, expected);
}

/* The examples of NumPy's user guide, "Broadcasting", and its rule for size 0. */
static void
test_broadcast (void)
{
  check_broadcast (TN_SHAPE (256, 256, 3), TN_SHAPE (3), "(256, 256, 3)");
  check_broadcast (TN_SHAPE (8, 1, 6, 1), TN_SHAPE (7, 1, 5), "(8, 7, 6, 5)");
  check_broadcast (TN_SHAPE (5, 4), TN_SHAPE (1), "(5, 4)");
  check_broadcast (TN_SHAPE (15, 3, 5), TN_SHAPE (3, 1), "(15, 3, 5)");
  check_broadcast (TN_SHAPE (3), TN_SHAPE (4), NULL);
  check_broadcast (TN_SHAPE (2, 1), TN_SHAPE (8, 4, 3), NULL);
  check_broadcast (TN_SHAPE_SCALAR, TN_SHAPE (2, 3), "(2, 3)");
  check_broadcast (TN_SHAPE_SCALAR, TN_SHAPE_SCALAR, "()");
  check_broadcast (TN_SHAPE (1, 3), TN_SHAPE (0, 1), "(0, 3)");
  check_broadcast (TN_SHAPE (2, 3), TN_SHAPE (0, 3), NULL);
}

static void
test_text (void)
{
  g_autofree char *a = tn_shape_to_string (&(TnShape[]){ TN_SHAPE (32, 1, 28, 28) }[0]);
  g_autofree char *b = tn_shape_to_string (&(TnShape[]){ TN_SHAPE (5) }[0]);
  g_autofree char *c = tn_shape_to_string (&(TnShape){ 0 });
  g_assert_cmpstr (a, ==, "(32, 1, 28, 28)");
  g_assert_cmpstr (b, ==, "(5)");
  g_assert_cmpstr (c, ==, "()");
  g_assert_false (tn_shape_equal (&(TnShape[]){ TN_SHAPE (5) }[0], &(TnShape[]){ TN_SHAPE (5, 1) }[0]));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor/shape/bytes", test_bytes);
  g_test_add_func ("/tensor/shape/bad-shapes-are-refused", test_bad_shapes_are_refused);
  g_test_add_func ("/tensor/shape/strides", test_strides);
  g_test_add_func ("/tensor/shape/broadcast-as-numpy", test_broadcast);
  g_test_add_func ("/tensor/shape/text", test_text);
  return g_test_run ();
}
