/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/philox.h"

/* Random123 1.14, tests/kat_vectors, the three lines "philox4x32 10": counter, key, result. */
static void
test_known_answers (void)
{
  static const struct
  {
    uint32_t counter[4], key[2], out[4];
  } cases[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
      { 0xffffffff, 0xffffffff },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      uint32_t out[4];
      const uint32_t *c = cases[i].counter;
      tn_philox_block ((uint64_t) cases[i].key[1] << 32 | cases[i].key[0], (uint64_t) c[3] << 32 | c[2],
                       (uint64_t) c[1] << 32 | c[0], out);
      g_assert_cmpmem (out, sizeof out, cases[i].out, sizeof cases[i].out);
    }
}

/* What must hold is that keys never change: resumed runs depend on it. The two values come from an independent
 * implementation of the definition in philox.h (twelve lines of Python, arbitrary precision). */
static void
test_key_is_stable_and_distinct (void)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (int seed = 0; seed < 20; seed++)
    for (int scope = 0; scope < 20; scope++)
      for (uint32_t ordinal = 0; ordinal < 20; ordinal++)
        {
          g_autofree char *path = g_strdup_printf ("Default/conv%d", scope);
          gint64 key = (gint64) tn_philox_key (seed, path, ordinal);
          g_assert_true (g_hash_table_add (seen, g_memdup2 (&key, sizeof key)));
        }
  g_assert_cmphex (tn_philox_key (7, "Default/network-LeNet5/conv1", 3), ==, 0x3bd262c72b3750b7ull);
  g_assert_cmphex (tn_philox_key (0, "", 0), ==, 0x926bd52cd2f5c560ull);
}

static void
test_any_sub_range_gives_the_same (void)
{
  enum { N = 101 };
  static float whole[N], part[N];
  static double whole64[N], part64[N];
  static uint8_t bits[N], some_bits[N];
  const uint64_t base = 0xfffffffdull; /* across a carry of the low counter word, and not a multiple of four */
  tn_philox_uniform (5, 9, base, N, whole);
  tn_philox_bernoulli (5, 9, base, N, 0.3f, bits);
  tn_philox_uniform_f64 (5, 9, base, N, whole64);
  for (int first = 0; first < N; first++)
    for (int n = 0; n <= MIN (N - first, 9); n++)
      {
        tn_philox_uniform (5, 9, base + first, n, part);
        g_assert_cmpmem (part, n * sizeof *part, whole + first, n * sizeof *part);
        tn_philox_bernoulli (5, 9, base + first, n, 0.3f, some_bits);
        g_assert_cmpmem (some_bits, n, bits + first, n);
        tn_philox_uniform_f64 (5, 9, base + first, n, part64);
        g_assert_cmpmem (part64, n * sizeof *part64, whole64 + first, n * sizeof *part64);
      }
  for (int i = 0; i < N; i++)
    g_assert_cmpint (bits[i], ==, whole[i] < 0.3f);

  tn_philox_normal (5, 9, base, N, whole);
  tn_philox_normal_f64 (5, 9, base, N, whole64);
  for (int first = 0; first < N; first++)
    {
      tn_philox_normal (5, 9, base + first, N - first, part);
      g_assert_cmpmem (part, (N - first) * sizeof *part, whole + first, (N - first) * sizeof *part);
    }
  for (int i = 0; i < N; i++)
    g_assert_cmpfloat ((float) whole64[i], ==, whole[i]);
}

/* Moments of the distributions: five standard errors. */
static void
test_moments (void)
{
  enum { N = 400000 };
  g_autofree float *x = g_new (float, N);
  double sum = 0, square = 0, fourth = 0;
  tn_philox_uniform (1, 2, 0, N, x);
  for (int i = 0; i < N; i++)
    {
      g_assert_true (x[i] >= 0 && x[i] < 1);
      sum += x[i];
      square += (double) x[i] * x[i];
    }
  g_assert_cmpfloat (fabs (sum / N - 0.5), <, 5 * sqrt (1.0 / 12 / N));
  g_assert_cmpfloat (fabs (square / N - 1.0 / 3), <, 5 * sqrt (4.0 / 45 / N));

  sum = square = 0;
  tn_philox_normal (1, 2, 0, N, x);
  for (int i = 0; i < N; i++)
    {
      double v = x[i];
      sum += v;
      square += v * v;
      fourth += v * v * v * v;
    }
  g_assert_cmpfloat (fabs (sum / N), <, 5 / sqrt (N));
  g_assert_cmpfloat (fabs (square / N - 1), <, 5 * sqrt (2.0 / N));
  g_assert_cmpfloat (fabs (fourth / N - 3), <, 5 * sqrt (96.0 / N));
}

static void
test_normal_is_finite_at_the_edges (void)
{
  double pair[2];
  tn_philox_to_normal ((uint32_t[]){ 0, 0, 0, 0 }, pair);
  g_assert_cmpfloat (pair[0], ==, 0);
  tn_philox_to_normal ((uint32_t[]){ 0xffffffff, 0xffffffff, 0, 0 }, pair);
  g_assert_true (fabs (pair[0] - sqrt (2 * 53 * log (2))) < 1e-12); /* u = 2^-53, angle 0 */
  g_assert_cmpfloat (tn_philox_to_float (0xffffffff), <, 1.0f);
  g_assert_cmpfloat (tn_philox_to_double (0xffffffff, 0xffffffff), <, 1.0);
}

static void
test_bounded_is_uniform (void)
{
  int counts[7] = { 0 };
  for (int i = 0; i < 70000; i++)
    counts[tn_philox_bounded (3, 0, i, 7)]++;
  double chi = 0; /* 6 degrees of freedom: 22.5 is passed once in a thousand */
  for (int i = 0; i < 7; i++)
    chi += (counts[i] - 10000.0) * (counts[i] - 10000.0) / 10000;
  g_assert_cmpfloat (chi, <, 22.5);
  for (int i = 0; i < 1000; i++)
    {
      g_assert_cmpuint (tn_philox_bounded (3, 0, i, 1), ==, 0);
      /* Half of all words are rejected for this bound. */
      g_assert_cmpuint (tn_philox_bounded (3, 1, i, (1ull << 63) + 1), <=, 1ull << 63);
    }
}

static void
test_shuffle_is_a_permutation (void)
{
  enum { N = 1000 };
  int64_t a[N], b[N];
  gboolean seen[N] = { FALSE };
  tn_philox_shuffle (11, 0, N, a);
  tn_philox_shuffle (11, 1, N, b);
  int same = 0;
  for (int i = 0; i < N; i++)
    {
      g_assert_false (seen[a[i]]);
      seen[a[i]] = TRUE;
      same += a[i] == b[i];
    }
  g_assert_cmpint (same, <, 10); /* one on average */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/philox/random123-known-answers", test_known_answers);
  g_test_add_func ("/base/philox/key-is-stable-and-distinct", test_key_is_stable_and_distinct);
  g_test_add_func ("/base/philox/any-sub-range-gives-the-same", test_any_sub_range_gives_the_same);
  g_test_add_func ("/base/philox/moments", test_moments);
  g_test_add_func ("/base/philox/normal-is-finite-at-the-edges", test_normal_is_finite_at_the_edges);
  g_test_add_func ("/base/philox/bounded-is-uniform", test_bounded_is_uniform);
  g_test_add_func ("/base/philox/shuffle-is-a-permutation", test_shuffle_is_a_permutation);
  return g_test_run ();
}
