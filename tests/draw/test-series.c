/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "draw/series.h"

/* Series and pyramid against scans of all rows. */

static guint32 seed;

static double
random_value (GRand *rand)
{
  double kind = g_rand_double (rand);
  return kind < 0.02 ? NAN : kind < 0.03 ? INFINITY : kind < 0.04 ? -INFINITY : kind < 0.08 ? 0 : g_rand_double_range (rand, -50, 500);
}

static double *
random_values (GRand *rand, size_t n)
{
  double *values = g_new (double, n);
  for (size_t i = 0; i < n; i++)
    values[i] = random_value (rand);
  return values;
}

static void
check_range (const TnPyramid *pyramid, const double *values, size_t begin, size_t end)
{
  TnSummary want, got;
  tn_summary_clear (&want);
  for (size_t i = begin; i < end; i++)
    tn_summary_add (&want, values[i]);
  tn_pyramid_query (pyramid, values, begin, end, &got);
  g_assert_cmpfloat (got.min, ==, want.min);
  g_assert_cmpfloat (got.max, ==, want.max);
  g_assert_cmpfloat (got.min_positive, ==, want.min_positive);
  g_assert_cmpint (got.n_finite, ==, want.n_finite);
  g_assert_cmpint (got.n_positive, ==, want.n_positive);
}

static void
test_pyramid_ranges (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  size_t n = 100000;
  g_autofree double *values = random_values (rand, n);
  TnPyramid pyramid = { 0 };
  for (size_t seen = 0; seen < n;)
    {
      size_t more = (size_t) g_rand_int_range (rand, 1, 5000); /* as appends come */
      seen = MIN (n, seen + more);
      tn_pyramid_extend (&pyramid, values, seen);
      size_t begin = (size_t) g_rand_int_range (rand, 0, (int) seen), end = begin + (size_t) g_rand_int_range (rand, 0, (int) (seen - begin) + 1);
      check_range (&pyramid, values, begin, end);
      check_range (&pyramid, values, 0, seen);
    }
  tn_pyramid_truncate (&pyramid, 70001);
  for (int i = 0; i < 200; i++)
    {
      size_t begin = (size_t) g_rand_int_range (rand, 0, 70001);
      check_range (&pyramid, values, begin, (size_t) g_rand_int_range (rand, (int) begin, 70002));
    }
  tn_pyramid_extend (&pyramid, values, n);
  check_range (&pyramid, values, 3, n - 3);
  tn_pyramid_clear (&pyramid);
}

static void
test_pyramid_million (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  size_t n = 1000000;
  g_autofree double *values = random_values (rand, n);
  TnPyramid pyramid = { 0 };
  tn_pyramid_extend (&pyramid, values, n);
  for (double width = 1; width < 1e6; width *= 1.7)
    for (int i = 0; i < 8; i++)
      {
        size_t begin = (size_t) g_rand_int_range (rand, 0, (int) (n - (size_t) width));
        check_range (&pyramid, values, begin, begin + (size_t) width);
      }
  tn_pyramid_clear (&pyramid);
}

static void
test_pyramid_counts (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  size_t n = 20000;
  g_autofree double *values = random_values (rand, n);
  TnPyramid pyramid = { 0 };
  tn_pyramid_extend (&pyramid, values, n);
  for (int i = 0; i < 300; i++)
    {
      size_t begin = (size_t) g_rand_int_range (rand, 0, (int) n), end = (size_t) g_rand_int_range (rand, (int) begin, (int) n + 1);
      double low = g_rand_double_range (rand, -60, 200), high = low + g_rand_double_range (rand, 0, 400);
      gboolean positive = i % 2;
      int64_t want = 0;
      size_t odd = end, not_positive = end;
      for (size_t j = begin; j < end; j++)
        want += isfinite (values[j]) && (values[j] < low || values[j] > high) && (!positive || values[j] > 0);
      for (size_t j = end; j-- > begin;)
        {
          odd = isfinite (values[j]) ? odd : j;
          not_positive = isfinite (values[j]) && values[j] <= 0 ? j : not_positive;
        }
      g_assert_cmpint (tn_pyramid_count_outside (&pyramid, values, begin, end, low, high, positive), ==, want);
      g_assert_cmpuint (tn_pyramid_find_odd (&pyramid, values, begin, end, FALSE), ==, odd);
      g_assert_cmpuint (tn_pyramid_find_odd (&pyramid, values, begin, end, TRUE), ==, not_positive);
    }
  tn_pyramid_clear (&pyramid);
}

/* The formula of the specification, each row from the beginning in long double. */
static double
smoothed_by_hand (const double *values, size_t i, double weight)
{
  long double s = 0, left = 1;
  if (!isfinite (values[i]))
    return values[i];
  for (size_t j = 0; j <= i; j++)
    if (isfinite (values[j]))
      {
        s = weight * s + (1 - (long double) weight) * values[j];
        left *= weight;
      }
  return (double) (s / (1 - left));
}

static void
check_smoothing (TnSeries *series, double weight)
{
  const double *raw = tn_series_values (series, FALSE), *smooth = tn_series_values (series, TRUE);
  g_assert_cmpuint (tn_series_n_smoothed (series), ==, tn_series_n (series));
  for (size_t i = 0; i < tn_series_n (series); i += 37)
    {
      double want = smoothed_by_hand (raw, i, weight);
      if (isfinite (want))
        g_assert_cmpfloat_with_epsilon (smooth[i], want, 1e-9 * fmax (1, fabs (want)));
      else
        g_assert_true (isnan (want) ? isnan (smooth[i]) : smooth[i] == want);
    }
}

static void
test_smoothing_formula (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const double weights[] = { 0.3, 0.6, 0.9, 0.99, 0.999 };
  for (int w = 0; w < G_N_ELEMENTS (weights); w++)
    {
      g_autoptr (TnSeries) series = tn_series_new ("x");
      if (w % 2)
        tn_series_set_smoothing (series, weights[w]); /* before: as rows arrive */
      for (int i = 0; i < 2000; i++)
        tn_series_append (series, i, random_value (rand), i);
      tn_series_set_smoothing (series, weights[w]); /* after: in pieces */
      while (tn_series_smooth_some (series, 333))
        ;
      check_smoothing (series, weights[w]);
    }
}

static void
test_smoothing_constant (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  tn_series_set_smoothing (series, 0.999);
  for (int i = 0; i < 5000; i++)
    tn_series_append (series, i, i % 10 == 3 ? NAN : 0.1, i);
  for (int i = 0; i < 5000; i++)
    if (i % 10 != 3)
      g_assert_cmpfloat (tn_series_values (series, TRUE)[i], ==, 0.1); /* to the last bit */
    else
      g_assert_true (isnan (tn_series_values (series, TRUE)[i]));
}

static void
test_segments (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  const int64_t steps[] = { 0, 1, 2, 3, 3, 4, 5, 2, 3, 9 };
  size_t n;
  for (int i = 0; i < G_N_ELEMENTS (steps); i++)
    tn_series_append (series, steps[i], i, 1000 - i);
  const TnSegment *segments = tn_series_segments (series, &n);
  g_assert_cmpuint (n, ==, 3);
  g_assert_cmpuint (segments[1].begin, ==, 4);
  g_assert_cmpuint (segments[2].begin, ==, 7);
  g_assert_false (segments[1].restarted);
  for (int i = 1; i < 4; i++)
    g_assert_cmpint (tn_series_times (series)[i], ==, 1000); /* a clock that runs back holds still */
  for (int i = 0; i < G_N_ELEMENTS (steps); i++)
    g_assert_cmpuint (tn_series_segment_of (series, i), ==, i < 4 ? 0 : i < 7 ? 1 : 2);
}

/* A resume takes out what it does again, and only that. */
static void
test_restart (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  size_t n;
  tn_series_set_smoothing (series, 0.5);
  for (int i = 0; i < 1000; i++)
    tn_series_append (series, i, i == 990 ? -7 : i, i);
  g_assert_cmpuint (tn_series_extreme (series, FALSE), ==, 990);
  tn_series_restart (series, 800);
  g_assert_cmpuint (tn_series_n (series), ==, 800);
  g_assert_cmpuint (tn_series_extreme (series, FALSE), ==, 0);
  for (int i = 800; i < 1200; i++)
    tn_series_append (series, i, 2 * i, i);
  while (tn_series_smooth_some (series, 100))
    ;
  const TnSegment *segments = tn_series_segments (series, &n);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpuint (segments[1].begin, ==, 800);
  g_assert_true (segments[1].restarted);
  for (int i = 0; i < 1200; i++)
    {
      g_assert_cmpint (tn_series_steps (series)[i], ==, i);
      g_assert_cmpfloat (tn_series_values (series, FALSE)[i], ==, i < 800 ? i : 2 * i);
    }
  check_range (tn_series_pyramid (series, FALSE), tn_series_values (series, FALSE), 0, 1200);
  check_smoothing (series, 0.5);
}

static void
test_find (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  int64_t keys[500];
  keys[0] = -300;
  for (int i = 1; i < 500; i++)
    keys[i] = keys[i - 1] + g_rand_int_range (rand, 0, 4);
  for (int i = 0; i < 20000; i++)
    {
      size_t begin = (size_t) g_rand_int_range (rand, 0, 500), end = (size_t) g_rand_int_range (rand, (int) begin, 501), want = begin;
      int64_t key = g_rand_int_range (rand, -320, 800);
      while (want < end && keys[want] < key)
        want++;
      g_assert_cmpuint (tn_series_find (keys, begin, end, (size_t) g_rand_int_range (rand, 0, 520), key), ==, want);
    }
}

/* Every kind of x finds its own rows again, with int64 steps that a double does not hold. */
static void
test_keys_invert_x (void)
{
  g_autoptr (TnSeries) series = tn_series_new ("x");
  int64_t base = G_MAXINT64 - 100000, start = 1700000000000000;
  tn_series_set_steps_per_epoch (series, 187);
  tn_series_add_pause (series, start + 5000000, start + 9000000);
  tn_series_add_pause (series, start + 9500000, start + 9600000);
  int64_t time = start;
  for (int i = 0; i < 1000; i++)
    {
      tn_series_append (series, base + 3 * i, i, time);
      time += 10000;
      if (time == start + 5000000 || time == start + 9500000)
        time = time == start + 5000000 ? start + 9000000 : start + 9600000;
    }
  const struct { TnXKind kind; int64_t origin; } kinds[] = { { TN_X_STEP, base }, { TN_X_WALL, start }, { TN_X_RELATIVE, 0 } };
  for (int k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (size_t i = 0; i < 1000; i++)
      {
        double x = tn_series_x (series, kinds[k].kind, kinds[k].origin, i);
        int64_t key = tn_series_key (series, kinds[k].kind, kinds[k].origin, x);
        size_t found = tn_series_find (tn_series_keys (series, kinds[k].kind), 0, 1000, 0, key);
        g_assert_cmpfloat (tn_series_x (series, kinds[k].kind, kinds[k].origin, found), ==, x);
        g_assert_cmpuint (tn_series_nearest (series, kinds[k].kind, kinds[k].origin, x), ==, i);
      }
  g_assert_cmpfloat (tn_series_x (series, TN_X_STEP, base, 999), ==, 2997);
  /* 999 intervals of 10 ms, whatever the pauses */
  g_assert_cmpfloat (tn_series_x (series, TN_X_RELATIVE, 0, 999), ==, 9990000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_test_add_func ("/draw/pyramid/any-range-of-a-growing-array-equals-a-scan", test_pyramid_ranges);
  g_test_add_func ("/draw/pyramid/a-million-values-at-any-width", test_pyramid_million);
  g_test_add_func ("/draw/pyramid/counts-and-finds-like-a-scan", test_pyramid_counts);
  g_test_add_func ("/draw/series/smoothing-equals-the-formula", test_smoothing_formula);
  g_test_add_func ("/draw/series/a-constant-stays-as-it-is", test_smoothing_constant);
  g_test_add_func ("/draw/series/a-step-back-begins-a-segment", test_segments);
  g_test_add_func ("/draw/series/a-restart-takes-out-what-is-done-again", test_restart);
  g_test_add_func ("/draw/series/finds-the-first-key-from-any-hint", test_find);
  g_test_add_func ("/draw/series/every-kind-of-x-leads-back-to-its-row", test_keys_invert_x);
  return g_test_run ();
}
