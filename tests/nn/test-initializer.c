/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/initializer.h"
#include "base/error.h"
#include "nn/numbers.h"

/* Initializers: statistics of large draws against MindSpore's, exact values where there is no chance in them, and that a slice
 * is the same whoever makes it. */

#define SEED 20261130

typedef struct
{
  double mean, std, min, max;
  int64_t zeros;
} Statistics;

static Statistics
measure (TnTensor *tensor)
{
  int64_t n = tn_tensor_count (tensor);
  Statistics s = { .min = INFINITY, .max = -INFINITY };
  for (int64_t i = 0; i < n; i++)
    {
      double x = tn_tensor_get (tensor, i);
      s.mean += x / (double) n;
      s.min = MIN (s.min, x);
      s.max = MAX (s.max, x);
      s.zeros += x == 0;
    }
  for (int64_t i = 0; i < n; i++)
    s.std += pow (tn_tensor_get (tensor, i) - s.mean, 2) / (double) n;
  s.std = sqrt (s.std);
  return s;
}

/* "HeUniform(0.1,fan_in,relu) (100, 400)" and "Dirac groups=2 (4,2,3,3)": what stands before the shape. */
static char *
initializer_of (const char *name)
{
  g_auto (GStrv) words = g_strsplit (name, " ", 3);
  if (words[1] != NULL && g_str_has_prefix (words[1], "groups="))
    return g_strdup_printf ("%s(%s)", words[0], words[1]);
  return g_strdup (words[0]);
}

static TnTensor *
tensor_of (JsonObject *object)
{
  JsonArray *dims = numbers_array (object, "shape");
  TnShape shape = { .n_dims = (int) json_array_get_length (dims) };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = json_array_get_int_element (dims, (guint) d);
  return tn_tensor_new (TN_DTYPE_F32, shape, NULL);
}

static void
compare_statistics (Numbers *self, JsonObject *object, const char *name, TnTensor *tensor)
{
  Statistics got = measure (tensor);
  double n = (double) tn_tensor_count (tensor), std = numbers_double (object, "std", 0), want = numbers_double (object, "mean", 0);
  double min = numbers_double (object, "min", 0), max = numbers_double (object, "max", 0);
  g_autofree char *message = NULL;
  /* Both means are drawn, so that their difference spreads √2 as wide as one. */
  if (fabs (got.mean - want) > 5 * G_SQRT2 * std / sqrt (n) + 1e-7)
    message = g_strdup_printf ("mean %g, want %g", got.mean, want);
  else if (fabs (got.std - std) > 0.02 * std + 1e-7 && n > 10000)
    message = g_strdup_printf ("standard deviation %g, want %g", got.std, std);
  /* Where MindSpore's values end at a limit (uniform: at √3 standard deviations), so must ours. MindSpore's own truncated
   * normal of VarianceScaling was measured to be uniform. */
  else if (strstr (name, "niform") != NULL && strstr (name, "untruncated") == NULL && (got.max > max + 0.01 * fabs (max) || got.min < min - 0.01 * fabs (min)))
    message = g_strdup_printf ("range %g to %g, want %g to %g", got.min, got.max, min, max);
  else if ((double) got.zeros != numbers_double (object, "zeros", 0))
    message = g_strdup_printf ("%" G_GINT64_FORMAT " zeros, want %g", (gint64) got.zeros, numbers_double (object, "zeros", 0));
  if (message != NULL)
    numbers_fail (self, name, message);
}

static void
compare_gram (Numbers *self, const char *name, TnTensor *tensor, double gain)
{
  int64_t rows = tensor->shape.dims[0], columns = tensor->shape.dims[1];
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < rows; k++)
      {
        double dot = 0;
        for (int64_t j = 0; j < columns; j++)
          dot += tn_tensor_get (tensor, i * columns + j) * tn_tensor_get (tensor, k * columns + j);
        if (fabs (dot - (i == k ? gain * gain : 0)) > 1e-5)
          {
            numbers_fail (self, name, "rows are not orthogonal");
            return;
          }
      }
}

static void
compare_case (Numbers *self, JsonObject *object)
{
  const char *name = numbers_text (object, "name");
  gboolean gram = json_object_has_member (object, "gram_is_gain_squared_identity");
  if (name == NULL || numbers_array (object, "shape") == NULL || !(gram || (json_object_has_member (object, "n") && json_object_has_member (object, "std"))))
    return;
  g_autofree char *text = initializer_of (name);
  g_autoptr (TnTensor) tensor = tensor_of (object);
  g_autoptr (GError) error = NULL;
  self->compared++;
  if (!tn_initializer_fill (text, name, SEED, tensor, &error))
    {
      numbers_fail (self, name, error->message);
      return;
    }
  double gain = 1;
  JsonObject *data = numbers_object (object, "data");
  if (data != NULL)
    {
      g_autoptr (TnTensor) want = truth_tensor (data, TN_DTYPE_F32);
      g_autofree char *message = NULL;
      if (!numbers_close (tensor, want, 0, 0, &message))
        numbers_fail (self, name, message);
    }
  else if (gram)
    compare_gram (self, name, tensor, sscanf (name, "Orthogonal(%lf)", &gain) == 1 ? gain : 1);
  else
    compare_statistics (self, object, name, tensor);
}

static void
test_shared (void)
{
  numbers_shared ("initializers", compare_case);
}

static void
test_own (void)
{
  numbers_own ("truth-nn", "initializers", compare_case);
}

/* Any box of any initializer holds the values of the whole at its place. */
static void
test_slices (void)
{
  static const char *const texts[] = { "normal(0.02)", "uniform", "truncated_normal(1, 0, -2, 2)", "he_uniform(sqrt5)", "xavier_normal",
                                       "variance_scaling(2, fan_avg)", "sparse(0.3)", "identity", "orthogonal", "0.5" };
  GRand *random = g_rand_new_with_seed (g_test_rand_int ());
  TnShape shape = TN_SHAPE (37, 1500);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (TnTensor) whole = tn_tensor_new (TN_DTYPE_F32, shape, NULL);
      g_assert_true (tn_initializer_fill (texts[i], "fc.weight", SEED, whole, NULL));
      for (int round = 0; round < 5; round++)
        {
          int64_t start[2] = { g_rand_int_range (random, 0, 37), g_rand_int_range (random, 0, 1500) };
          TnShape size = TN_SHAPE (g_rand_int_range (random, 1, 38 - (gint32) start[0]), g_rand_int_range (random, 1, 1501 - (gint32) start[1]));
          g_autoptr (TnTensor) box = tn_tensor_new (TN_DTYPE_F32, size, NULL);
          g_assert_true (tn_initializer_fill_box (texts[i], "fc.weight", SEED, &shape, start, box, NULL));
          for (int64_t k = 0; k < tn_tensor_count (box); k++)
            g_assert_cmpfloat (tn_tensor_get (box, k), ==,
                               tn_tensor_get (whole, (start[0] + k / size.dims[1]) * 1500 + start[1] + k % size.dims[1]));
        }
    }
  g_rand_free (random);
}

static void
test_names_are_keys (void)
{
  g_autoptr (TnTensor) a = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (64), NULL), b = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (64), NULL);
  g_autoptr (TnTensor) c = tn_tensor_new (TN_DTYPE_F64, TN_SHAPE (64), NULL);
  g_assert_true (tn_initializer_fill ("normal", "a", 1, a, NULL) && tn_initializer_fill ("normal", "b", 1, b, NULL)
                 && tn_initializer_fill ("normal", "a", 1, c, NULL));
  int same = 0;
  for (int i = 0; i < 64; i++)
    {
      same += tn_tensor_get (a, i) == tn_tensor_get (b, i);
      g_assert_cmpfloat (tn_tensor_get (a, i), ==, (float) tn_tensor_get (c, i)); /* float64 holds the same numbers, unrounded */
    }
  g_assert_cmpint (same, ==, 0);
}

/* What MindSpore refuses with ValueError, and what has no meaning. */
static void
test_refused (void)
{
  static const char *const bad[] = { "", "normall", "normal(", "normal(1", "normal(a)", "normal(1,2,3)", "normal(-1)", "he_uniform(0.1,fan)", "he_uniform(0,fan_in,prelu)",
                                     "zeros(1)", "uniform(scale=)", "uniform(width=1)", "truncated_normal(1,0,3,-3)", "dirac(0)", "1e999" };
  static const char *const good[] = { "ZEROS", "XavierUniform", "Normal(sigma=0.5, mean=1)", "he_uniform( sqrt5 )", "-3", "normal()" };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_false (tn_initializer_check (bad[i], &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
    }
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    g_assert_true (tn_initializer_check (good[i], NULL));
  g_autoptr (GError) error = NULL;
  TnShape line = TN_SHAPE (5), cube = TN_SHAPE (5, 5, 5), four = TN_SHAPE (4, 2, 3);
  g_assert_false (tn_initializer_check_shape ("xavier_uniform", &line, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
  g_assert_false (tn_initializer_check_shape ("identity", &cube, NULL));
  g_assert_false (tn_initializer_check_shape ("dirac(3)", &four, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/nn/initializer/truth", test_shared);
  g_test_add_func ("/nn/initializer/own-truth", test_own);
  g_test_add_func ("/nn/initializer/slice-equals-slice-of-whole", test_slices);
  g_test_add_func ("/nn/initializer/other-name-other-values", test_names_are_keys);
  g_test_add_func ("/nn/initializer/bad-texts-are-refused", test_refused);
  return g_test_run ();
}
