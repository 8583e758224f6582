/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "parameter-values.h"

/* By hand: 2, 4, 4, 4, 5, 5, 7, 9 has the mean 5 and the deviation 2. */
static void
mean_and_deviation_are_those_of_the_textbook (void)
{
  const float data[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
  g_autoptr (TnTensor) tensor = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2, 4), data);
  g_autoptr (TnParameterValues) values = tn_parameter_values_new ("w", 7, tensor);
  g_assert_cmpfloat (values->mean, ==, 5);
  g_assert_cmpfloat (values->deviation, ==, 2);
  g_assert_cmpfloat (values->least, ==, 2);
  g_assert_cmpfloat (values->most, ==, 9);
  double sum = 0;
  for (int i = 0; i < TN_VALUES_BINS; i++)
    sum += values->bins[i];
  g_assert_cmpfloat (sum, ==, 8);
  g_assert_cmpfloat (values->bins[0], ==, 1);
  g_assert_cmpfloat (values->bins[TN_VALUES_BINS - 1], ==, 1);
}

static void
what_is_no_number_is_counted_and_left_out_of_the_rest (void)
{
  const float data[] = { NAN, 0, 1, INFINITY, -INFINITY, 0, -1, NAN };
  g_autoptr (TnTensor) tensor = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (8), data);
  g_autoptr (TnParameterValues) values = tn_parameter_values_new ("w", 0, tensor);
  g_assert_cmpint (values->nans, ==, 2);
  g_assert_cmpint (values->infinities, ==, 2);
  g_assert_cmpint (values->zeros, ==, 2);
  g_assert_cmpfloat (values->mean, ==, 0);
  g_assert_cmpfloat (values->least, ==, -1);
  g_assert_cmpfloat (values->most, ==, 1);
  const float none[] = { NAN, NAN };
  g_autoptr (TnTensor) empty = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2), none);
  g_autoptr (TnParameterValues) nothing = tn_parameter_values_new ("w", 0, empty);
  g_assert_true (isnan (nothing->mean) && isnan (nothing->least));
}

static TnTensor *
counting (TnShape shape)
{
  TnTensor *tensor = tn_tensor_new (TN_DTYPE_F32, shape, NULL);
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    tn_tensor_set (tensor, i, (double) i);
  return tensor;
}

/* Row-major: element (a, b, c) of (2, 3, 4) is 12 a + 4 b + c. */
static void
any_two_dimensions_make_a_plane (void)
{
  g_autoptr (TnTensor) tensor = counting (TN_SHAPE (2, 3, 4));
  g_autoptr (TnParameterValues) values = tn_parameter_values_new ("w", 0, tensor);
  for (int rows = 0; rows < 3; rows++)
    for (int columns = 0; columns < 3; columns++)
      {
        const int64_t stride[] = { 12, 4, 1 }, index[] = { 1, 2, 3 };
        int n_rows, n_columns;
        if (rows == columns)
          continue;
        int other = 3 - rows - columns;
        g_autofree float *plane = tn_parameter_values_plane (values, rows, columns, index, &n_rows, &n_columns);
        g_assert_cmpint (n_rows, ==, tensor->shape.dims[rows]);
        g_assert_cmpint (n_columns, ==, tensor->shape.dims[columns]);
        for (int y = 0; y < n_rows; y++)
          for (int x = 0; x < n_columns; x++)
            g_assert_cmpfloat (plane[y * n_columns + x], ==, y * stride[rows] + x * stride[columns] + index[other] * stride[other]);
      }
}

static void
a_large_plane_is_thinned_within_its_bounds (void)
{
  g_autoptr (TnTensor) tensor = counting (TN_SHAPE (3 * TN_VALUES_MAX_SIDE - 1, 2));
  g_autoptr (TnParameterValues) values = tn_parameter_values_new ("w", 0, tensor);
  const int64_t index[2] = { 0 };
  int n_rows, n_columns;
  g_autofree float *plane = tn_parameter_values_plane (values, 0, 1, index, &n_rows, &n_columns);
  g_assert_cmpint (n_rows, ==, TN_VALUES_MAX_SIDE);
  for (int y = 0; y < n_rows; y++)
    g_assert_cmpfloat (plane[2 * y + 1], ==, 6 * y + 1);
}

/* Six kernels of 5 x 5: least value black, greatest white, clear between tiles. */
static void
kernels_stand_beside_each_other (void)
{
  g_autoptr (TnTensor) tensor = counting (TN_SHAPE (6, 1, 5, 5));
  g_autoptr (TnParameterValues) values = tn_parameter_values_new ("w", 0, tensor);
  int width, height, shown;
  g_autofree uint8_t *pixels = tn_parameter_values_kernels (values, 17, &width, &height, &shown);
  const uint32_t *argb = (const uint32_t *) (const void *) pixels;
  g_assert_cmpint (shown, ==, 6);
  g_assert_cmpint (width, ==, 17); /* three of five and two gaps */
  g_assert_cmpint (height, ==, 11);
  g_assert_cmphex (argb[0], ==, 0xff000000);
  g_assert_cmphex (argb[10 * 17 + 16], ==, 0xffffffff);
  g_assert_cmphex (argb[5], ==, 0);
  g_assert_cmphex (argb[5 * 17], ==, 0);
  /* Element 25 begins the second tile: 25 / 149 of the way from black to white. */
  g_assert_cmpint (abs ((int) (argb[6] & 0xff) - 25 * 255 / 149), <=, 1);
}

static void
a_value_that_is_no_number_is_red (void)
{
  const float data[] = { 0, NAN, 1, 0.5f };
  g_autoptr (TnTensor) tensor = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2, 2), data);
  g_autoptr (TnParameterValues) values = tn_parameter_values_new ("w", 0, tensor);
  const int64_t index[2] = { 0 };
  int width, height;
  g_autofree uint8_t *pixels = tn_parameter_values_heat_map (values, 0, 1, index, 2, &width, &height);
  const uint32_t *argb = (const uint32_t *) (const void *) pixels;
  g_assert_cmphex (argb[0], ==, 0xff000000);
  g_assert_cmphex (argb[1], ==, 0xffc01c28);
  g_assert_cmphex (argb[2], ==, 0xffffffff);
}

static void
csv_holds_every_value_exactly (void)
{
  const float data[] = { 0.1f, -3.40282347e+38f, 1.17549435e-38f, 16777215 };
  g_autoptr (TnTensor) tensor = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2, 2), data);
  g_autoptr (TnParameterValues) values = tn_parameter_values_new ("w", 0, tensor);
  g_autofree char *text = tn_parameter_values_to_csv (values);
  g_auto (GStrv) lines = g_strsplit (text, "\r\n", -1);
  g_assert_cmpstr (lines[0], ==, "index,value");
  g_assert_true (g_str_has_prefix (lines[3], "\"1, 0\","));
  for (int i = 0; i < 4; i++)
    g_assert_cmpfloat ((float) g_ascii_strtod (strrchr (lines[i + 1], ',') + 1, NULL), ==, data[i]);
}

static void
a_run_without_checkpoints_says_so (void)
{
  g_autofree char *folder = g_dir_make_tmp ("tenon-values-XXXXXX", NULL);
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_parameter_values_load (folder, -1, "conv1.weight", &error));
  g_assert_nonnull (strstr (error->message, "no checkpoint"));
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/app/parameter-values/mean-and-deviation", mean_and_deviation_are_those_of_the_textbook);
  g_test_add_func ("/app/parameter-values/not-finite-values-are-counted", what_is_no_number_is_counted_and_left_out_of_the_rest);
  g_test_add_func ("/app/parameter-values/any-two-dimensions-make-a-plane", any_two_dimensions_make_a_plane);
  g_test_add_func ("/app/parameter-values/large-plane-is-thinned", a_large_plane_is_thinned_within_its_bounds);
  g_test_add_func ("/app/parameter-values/kernels-stand-side-by-side", kernels_stand_beside_each_other);
  g_test_add_func ("/app/parameter-values/not-a-number-is-red", a_value_that_is_no_number_is_red);
  g_test_add_func ("/app/parameter-values/csv-is-exact", csv_holds_every_value_exactly);
  g_test_add_func ("/app/parameter-values/no-checkpoint-says-so", a_run_without_checkpoints_says_so);
  return g_test_run ();
}
