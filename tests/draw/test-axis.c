/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "draw/axis.h"

static guint32 seed;

static TnAxis
random_axis (GRand *rand, gboolean log)
{
  double low = pow (10, g_rand_double_range (rand, -9, 9)) * (log || g_rand_boolean (rand) ? 1 : -1);
  double high = log ? low * pow (10, g_rand_double_range (rand, 0.01, 12)) : low + pow (10, g_rand_double_range (rand, -9, 9));
  TnAxis axis = { .low = low, .high = high, .from = 40, .to = 40 + g_rand_double_range (rand, 120, 2000), .log = log };
  if (g_rand_boolean (rand)) /* upwards */
    {
      axis.from = axis.to;
      axis.to = 40;
    }
  return axis;
}

static gboolean
is_sharp (const TnAxis *axis) /* a double can tell its pixels apart */
{
  return axis->high - axis->low > 1e-11 * fmax (fabs (axis->low), fabs (axis->high));
}

static void
test_gaps (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  char unit[TN_TICK_LABEL];
  for (int i = 0; i < 4000; i++)
    {
      TnAxis axis = random_axis (rand, i % 2);
      TnTicksKind kind = i % 2 ? TN_TICKS_NUMBER : (TnTicksKind) g_rand_int_range (rand, 0, 3);
      double gap = i % 3 ? 60 : 30, last = NAN;
      if (!is_sharp (&axis))
        continue;
      g_autoptr (GArray) ticks = tn_axis_ticks (&axis, kind, gap, FALSE, unit);
      for (guint t = 0; t < ticks->len; t++)
        {
          const TnTick *tick = &g_array_index (ticks, TnTick, t);
          double pixel = tn_axis_pixel (&axis, tick->value);
          g_assert_cmpfloat (pixel, >=, 39.99);
          g_assert_cmpfloat (pixel, <=, fmax (axis.from, axis.to) + 0.01);
          if (!tick->major)
            continue;
          g_assert_true (isnan (last) || fabs (pixel - last) >= gap - 0.01);
          last = pixel;
        }
    }
}

/* Read back, a label is its value: prefix and all. */
static double
read_label (const char *label)
{
  static const char *const prefixes = "qryzafpnum kMGTPEZYRQ";
  g_autofree char *text = g_strdup (label);
  char *end;
  double sign = g_str_has_prefix (text, "−") ? -1 : 1;
  double value = g_ascii_strtod (text + (sign < 0 ? strlen ("−") : 0), &end);
  if (*end == ' ')
    end++;
  if (*end == '\0')
    return sign * value;
  char letter = g_str_has_prefix (end, "µ") ? 'u' : *end;
  return sign * value * pow (1000, (double) (strchr (prefixes, letter) - prefixes) - 10);
}

static void
test_labels (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  char unit[TN_TICK_LABEL];
  for (int i = 0; i < 2000; i++)
    {
      TnAxis axis = random_axis (rand, i % 2);
      if (axis.high - axis.low < 1e-6 * fabs (axis.low))
        continue;
      g_autoptr (GArray) ticks = tn_axis_ticks (&axis, TN_TICKS_NUMBER, 60, FALSE, unit);
      for (guint t = 0; t < ticks->len; t++)
        {
          const TnTick *tick = &g_array_index (ticks, TnTick, t);
          double size = fmax (fabs (tick->value), (axis.high - axis.low) * 1e-6);
          if (tick->major)
            g_assert_cmpfloat_with_epsilon (read_label (tick->label), tick->value, 1e-6 * size);
        }
    }
}

static void
test_ladder (void)
{
  TnAxis axis = { .low = 0, .high = 9380, .from = 40, .to = 940 };
  char unit[TN_TICK_LABEL];
  g_autoptr (GArray) ticks = tn_axis_ticks (&axis, TN_TICKS_WHOLE, 60, FALSE, unit);
  g_assert_cmpuint (ticks->len, ==, 10); /* 900 px / 60 = 15 at most; 1000 is the first rung that fits */
  g_assert_cmpstr (g_array_index (ticks, TnTick, 1).label, ==, "1000");
  axis.high = 60000;
  g_autoptr (GArray) large = tn_axis_ticks (&axis, TN_TICKS_WHOLE, 60, FALSE, unit);
  g_assert_cmpstr (g_array_index (large, TnTick, 0).label, ==, "0");
  g_assert_cmpstr (g_array_index (large, TnTick, 2).label, ==, "10 k");
  axis.high = 0.0004;
  g_autoptr (GArray) small = tn_axis_ticks (&axis, TN_TICKS_NUMBER, 100, FALSE, unit);
  g_assert_cmpstr (g_array_index (small, TnTick, 2).label, ==, "100 µ");
  axis.high = 2.5;
  g_autoptr (GArray) whole = tn_axis_ticks (&axis, TN_TICKS_WHOLE, 60, FALSE, unit);
  g_assert_cmpuint (whole->len, ==, 3); /* no half steps */
}

static void
test_log (void)
{
  TnAxis axis = { .low = 1e-3, .high = 10, .from = 0, .to = 1200, .log = TRUE };
  char unit[TN_TICK_LABEL];
  g_autoptr (GArray) ticks = tn_axis_ticks (&axis, TN_TICKS_NUMBER, 60, FALSE, unit);
  g_assert_cmpuint (ticks->len, ==, 4 * 9 + 1); /* 1 to 9 in four decades, and 10 */
  int major = 0;
  for (guint i = 0; i < ticks->len; i++)
    major += g_array_index (ticks, TnTick, i).major;
  g_assert_cmpint (major, ==, 4 * 3 + 1); /* 1, 2, 5 */
}

/* Steps far beyond what a double holds still get exact labels and places. */
static void
test_origin (void)
{
  int64_t origin = 9007199254740993; /* 2^53 + 1 */
  TnAxis axis = { .origin = origin, .low = 0, .high = 10, .from = 0, .to = 1000 };
  char unit[TN_TICK_LABEL];
  g_autoptr (GArray) ticks = tn_axis_ticks (&axis, TN_TICKS_WHOLE, 60, FALSE, unit);
  g_assert_cmpuint (ticks->len, ==, 11);
  for (guint i = 0; i < ticks->len; i++)
    g_assert_cmpfloat_with_epsilon (tn_axis_pixel (&axis, g_array_index (ticks, TnTick, i).value), 100.0 * i, 1e-9);
}

static void
test_zoom (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int i = 0; i < 2000; i++)
    {
      TnAxis axis = random_axis (rand, i % 2), before;
      if (!is_sharp (&axis))
        continue;
      before = axis;
      double pixel = g_rand_double_range (rand, 40, fmax (axis.from, axis.to)), at = tn_axis_value (&axis, pixel);
      double factor = g_rand_double_range (rand, 0.5, 2), scale = fmax (fabs (axis.low), fabs (axis.high));
      tn_axis_zoom (&axis, pixel, factor);
      double slack = 1e-3 + 1e-13 * scale / (axis.high - axis.low) * 2000;
      g_assert_cmpfloat_with_epsilon (tn_axis_pixel (&axis, at), pixel, slack); /* what is under the pointer stays */
      tn_axis_zoom (&axis, pixel, 1 / factor);
      g_assert_cmpfloat_with_epsilon (tn_axis_pixel (&before, axis.low), before.from, slack);
      g_assert_cmpfloat_with_epsilon (tn_axis_pixel (&before, axis.high), before.to, slack);
    }
}

static void
test_si (void)
{
  static const struct { double value; const char *text; } cases[] = {
    { 0, "0.000" }, { 0.0421, "0.04210" }, { 9999, "9999" }, { 12340, "12.34 k" }, { -12340, "−12.34 k" }, { 0.00012345, "123.5 µ" },
    { 1.5e9, "1.500 G" }, { 0.001, "0.001000" }, { NAN, "NaN" }, { INFINITY, "∞" }, { -INFINITY, "−∞" },
  };
  char text[TN_TICK_LABEL];
  for (int i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpstr (tn_format_si (cases[i].value, 4, FALSE, text), ==, cases[i].text);
}

static void
test_clock (void)
{
  g_setenv ("TZ", "UTC", TRUE);
  char unit[TN_TICK_LABEL];
  TnAxis axis = { .origin = INT64_C (1700000000000000), .low = 0, .high = 3600e6, .from = 0, .to = 600 };
  g_autoptr (GArray) ticks = tn_axis_ticks (&axis, TN_TICKS_CLOCK, 60, FALSE, unit);
  g_assert_cmpuint (ticks->len, ==, 6);
  g_assert_cmpstr (g_array_index (ticks, TnTick, 0).label, ==, "22:20"); /* 22:13:20 and the next 10 minutes: date -u -d @1700000000 */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_test_add_func ("/draw/ticks/at-least-the-gap-apart-and-never-outside", test_gaps);
  g_test_add_func ("/draw/ticks/a-label-says-its-value", test_labels);
  g_test_add_func ("/draw/ticks/one-two-five", test_ladder);
  g_test_add_func ("/draw/ticks/log-has-minor-ones-at-two-to-nine", test_log);
  g_test_add_func ("/draw/ticks/an-int64-origin-loses-nothing", test_origin);
  g_test_add_func ("/draw/ticks/clock-times-are-round", test_clock);
  g_test_add_func ("/draw/axis/zoom-keeps-what-is-under-the-pointer", test_zoom);
  g_test_add_func ("/draw/axis/numbers-with-prefixes", test_si);
  return g_test_run ();
}
