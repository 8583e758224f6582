/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/dtype.h"

/* The value of a half-precision number from its definition, with ldexp: independent of the code under test. */
static double
half_value (uint16_t bits, int exp_bits, int mant_bits)
{
  int exponent = (bits >> mant_bits) & ((1 << exp_bits) - 1), bias = (1 << (exp_bits - 1)) - 1;
  int mantissa = bits & ((1 << mant_bits) - 1);
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exp_bits) - 1)
    return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * ldexp (mantissa, 1 - bias - mant_bits);
  return sign * ldexp (mantissa + (1 << mant_bits), exponent - bias - mant_bits);
}

static double
f16_value (uint16_t bits)
{
  return half_value (bits, 5, 10);
}

static double
bf16_value (uint16_t bits)
{
  return half_value (bits, 8, 7);
}

static void
check_widening (double (*value) (uint16_t), float (*widen) (uint16_t), uint16_t (*narrow32) (float),
                uint16_t (*narrow64) (double))
{
  for (int bits = 0; bits < 0x10000; bits++)
    {
      double expected = value ((uint16_t) bits);
      float got = widen ((uint16_t) bits);
      if (isnan (expected))
        {
          g_assert_true (isnan (got));
          g_assert_true (isnan (widen (narrow32 (got))) && isnan (widen (narrow64 (got))));
          continue;
        }
      g_assert_true (got == expected && !signbit (got) == !signbit (expected));
      g_assert_cmphex (narrow32 (got), ==, bits); /* exact values come back */
      g_assert_cmphex (narrow64 (expected), ==, bits);
    }
}

static void
test_all_half_values (void)
{
  check_widening (f16_value, tn_f16_to_f32, tn_f16_from_f32, tn_f16_from_f64);
  check_widening (bf16_value, tn_bf16_to_f32, tn_bf16_from_f32, tn_bf16_from_f64);
}

/* Between each two neighbours: the middle goes to the even one, a hair off the middle to the nearer. */
static void
check_rounding (double (*value) (uint16_t), uint16_t (*narrow32) (float), uint16_t (*narrow64) (double), int last)
{
  for (int sign = 0; sign < 0x10000; sign += 0x8000)
    for (int bits = 0; bits < last; bits++)
      {
        uint16_t low = (uint16_t) (sign | bits), high = (uint16_t) (low + 1);
        double a = value (low), b = value (high), middle = a + (b - a) / 2;
        uint16_t even = bits & 1 ? high : low;
        g_assert_cmphex (narrow64 (middle), ==, even);
        g_assert_cmphex (narrow64 (nextafter (middle, a)), ==, low);
        g_assert_cmphex (narrow64 (nextafter (middle, b)), ==, high);
        if ((double) (float) middle == middle)
          {
            g_assert_cmphex (narrow32 ((float) middle), ==, even);
            g_assert_cmphex (narrow32 (nextafterf ((float) middle, (float) a)), ==, low);
            g_assert_cmphex (narrow32 (nextafterf ((float) middle, (float) b)), ==, high);
          }
      }
}

static void
test_nearest_even (void)
{
  check_rounding (f16_value, tn_f16_from_f32, tn_f16_from_f64, 0x7bff);
  check_rounding (bf16_value, tn_bf16_from_f32, tn_bf16_from_f64, 0x7f7f);
}

static void
test_known_cases (void)
{
  g_assert_cmphex (tn_f16_from_f32 (1.0f), ==, 0x3c00);
  g_assert_cmphex (tn_f16_from_f32 (-2.0f), ==, 0xc000);
  g_assert_cmphex (tn_f16_from_f32 (65504.0f), ==, 0x7bff);
  g_assert_cmphex (tn_f16_from_f32 (65519.996f), ==, 0x7bff);
  g_assert_cmphex (tn_f16_from_f32 (65520.0f), ==, 0x7c00);
  g_assert_cmphex (tn_f16_from_f32 (-1e30f), ==, 0xfc00);
  g_assert_cmphex (tn_f16_from_f32 (0x1p-24f), ==, 0x0001);
  g_assert_cmphex (tn_f16_from_f32 (0x1p-25f), ==, 0x0000);
  g_assert_cmphex (tn_f16_from_f32 (0x1.000002p-25f), ==, 0x0001);
  g_assert_cmphex (tn_f16_from_f32 (-0.0f), ==, 0x8000);
  g_assert_cmphex (tn_f16_from_f32 (1.0f / 3), ==, 0x3555);
  g_assert_cmphex (tn_bf16_from_f32 (1.0f / 3), ==, 0x3eab);
  g_assert_cmphex (tn_bf16_from_f32 (3.3895314e38f), ==, 0x7f7f);
  g_assert_cmphex (tn_bf16_from_f32 (FLT_MAX), ==, 0x7f80);
  g_assert_cmphex (tn_bf16_from_f64 (1e300), ==, 0x7f80);
  g_assert_cmphex (tn_bf16_from_f64 (-5e-324), ==, 0x8000);
  /* A double that would be rounded twice: just over the middle of 1 and 1 + 2^-10, by less than a float can show. */
  g_assert_cmphex (tn_f16_from_f64 (1 + 0x1p-11 + 0x1p-40), ==, 0x3c01);
  g_assert_cmphex (tn_bf16_from_f64 (1 + 0x1p-8 + 0x1p-40), ==, 0x3f81);
  /* A NaN with a payload only in the low bits stays one. */
  uint32_t nan_bits = 0x7f800001;
  float nan_value;
  memcpy (&nan_value, &nan_bits, 4);
  g_assert_true (isnan (tn_bf16_to_f32 (tn_bf16_from_f32 (nan_value))));
  g_assert_true (isnan (tn_f16_to_f32 (tn_f16_from_f32 (nan_value))));
}

static void
integer_range (TnDType dtype, double *min, double *max)
{
  int bits = 8 * (int) tn_dtype_size (dtype);
  *min = dtype == TN_DTYPE_U8 ? 0 : -ldexp (1, bits - 1);
  *max = dtype == TN_DTYPE_U8 ? 255 : ldexp (1, bits - 1) - 1; /* int64: rounds to 2^63 */
}

/* What a value of @from is as @to, in double, by the rules of the header. */
static double
expected_value (double v, TnDType to)
{
  double min, max;
  switch (to)
    {
    case TN_DTYPE_F64:
      return v;
    case TN_DTYPE_F32:
      return (float) v;
    case TN_DTYPE_BOOL:
      return v != 0;
    case TN_DTYPE_F16:
    case TN_DTYPE_BF16:
      {
        /* By search over all values: nearest, ties to even; the step over the largest is as if there were one more. */
        gboolean half = to == TN_DTYPE_F16;
        double limit = half ? 65520 : ldexp (511, 119), best = 0, best_distance = INFINITY;
        if (isnan (v) || fabs (v) >= limit)
          return isnan (v) ? v : copysign (INFINITY, v);
        for (int bits = 0; bits < (half ? 0x7c00 : 0x7f80); bits++)
          {
            double x = half ? f16_value ((uint16_t) bits) : bf16_value ((uint16_t) bits);
            double distance = fabs (x - fabs (v));
            if (distance < best_distance || (distance == best_distance && !(bits & 1)))
              {
                best = x;
                best_distance = distance;
              }
          }
        return copysign (best, v);
      }
    default:
      integer_range (to, &min, &max);
      return isnan (v) ? 0 : CLAMP (trunc (v), min, max);
    }
}

static void
test_every_pair (void)
{
  static const double samples[] = { 0, 1, -1, 0.5, -0.75, 2.5, 100, 127.9, 128, -129, 255, 256, 300, -300, 1000.125, 32767, 40000, -40000,
                                    65504, 65520, 1e6, 2147483647, 3e9, -3e9, 1e18, 9e18, 1e19, -1e19, 1e30, 1e-3, 1e-7, 3.14159265358979, INFINITY, -INFINITY, NAN };
  enum { N = G_N_ELEMENTS (samples) };
  for (int from = 0; from < TN_DTYPE_COUNT; from++)
    for (int to = 0; to < TN_DTYPE_COUNT; to++)
      {
        _Alignas (8) char a[N * 8], b[N * 8], c[N * 8];
        for (int i = 0; i < N; i++)
          tn_dtype_store (from, a, i, samples[i]);
        tn_dtype_convert (from, a, to, b, N);
        for (int i = 0; i < N; i++)
          {
            double v = tn_dtype_load (from, a, i);
            double expected = expected_value (v, to), got = tn_dtype_load (to, b, i);
            if (!(isnan (expected) && isnan (got)) && expected != got)
              g_error ("%s %.17g to %s: %.17g, expected %.17g", tn_dtype_name (from), v, tn_dtype_name (to), got, expected);
            if (to != TN_DTYPE_BOOL && tn_dtype_is_integer (to))
              tn_dtype_store_int (to, c, i, tn_dtype_load_int (from, a, i));
            else
              tn_dtype_store (to, c, i, v);
            double single = tn_dtype_load (to, c, i);
            g_assert_true (single == got || (isnan (single) && isnan (got)));
          }
      }
}

static void
test_in_place (void)
{
  float x[4] = { 1.9f, -2.9f, 3e9f, NAN };
  int32_t y[4];
  tn_dtype_convert (TN_DTYPE_F32, x, TN_DTYPE_I32, x, 4);
  memcpy (y, x, sizeof y);
  g_assert_cmpint (y[0], ==, 1);
  g_assert_cmpint (y[1], ==, -2);
  g_assert_cmpint (y[2], ==, INT32_MAX);
  g_assert_cmpint (y[3], ==, 0);
  tn_dtype_convert (TN_DTYPE_I32, x, TN_DTYPE_I32, x, 4);
  g_assert_cmpmem (x, sizeof x, y, sizeof y);
}

static void
test_large_integers (void)
{
  int64_t v[] = { INT64_MAX, INT64_MIN, (1ll << 53) + 1, (1ll << 62) + (1ll << 54) + 1, (1ll << 62) + (1ll << 54) };
  int64_t back[5];
  float f[5];
  uint16_t h[5];
  tn_dtype_convert (TN_DTYPE_I64, v, TN_DTYPE_I64, back, 5);
  g_assert_cmpmem (v, sizeof v, back, sizeof back);
  for (int i = 0; i < 5; i++)
    g_assert_cmpint (tn_dtype_load_int (TN_DTYPE_I64, v, i), ==, v[i]);
  tn_dtype_convert (TN_DTYPE_I64, v, TN_DTYPE_F32, f, 5);
  g_assert_cmpfloat (f[0], ==, 0x1p63f);
  g_assert_cmpfloat (f[1], ==, -0x1p63f);
  tn_dtype_convert (TN_DTYPE_I64, v, TN_DTYPE_BF16, h, 5);
  g_assert_cmphex (h[3], ==, 0x5e81); /* one over the middle of 2^62 and its successor: up, though double cannot show the one */
  g_assert_cmphex (h[4], ==, 0x5e80); /* the middle: even */
  g_assert_cmphex (h[1], ==, 0xdf00);
  float big[] = { 0x1p63f, -0x1p63f, -0x1.8p63f };
  tn_dtype_convert (TN_DTYPE_F32, big, TN_DTYPE_I64, back, 3);
  g_assert_cmpint (back[0], ==, INT64_MAX);
  g_assert_cmpint (back[1], ==, INT64_MIN);
  g_assert_cmpint (back[2], ==, INT64_MIN);
}

static void
test_names (void)
{
  static const char *const safetensors[] = { "F32", "F64", "F16", "BF16", "I8", "I16", "I32", "I64", "U8", "BOOL" };
  static const size_t sizes[] = { 4, 8, 2, 2, 1, 2, 4, 8, 1, 1 };
  for (int i = 0; i < TN_DTYPE_COUNT; i++)
    {
      TnDType parsed;
      g_assert_true (tn_dtype_parse (tn_dtype_name (i), &parsed) && parsed == (TnDType) i);
      g_assert_true (tn_dtype_parse (tn_dtype_ir_name (i), &parsed) && parsed == (TnDType) i);
      g_assert_true (tn_dtype_parse (safetensors[i], &parsed) && parsed == (TnDType) i);
      g_assert_cmpuint (tn_dtype_size (i), ==, sizes[i]);
      g_assert_cmpint (tn_dtype_is_float (i), ==, i <= TN_DTYPE_BF16);
      g_assert_cmpint (tn_dtype_is_integer (i), ==, i > TN_DTYPE_BF16 && i != TN_DTYPE_BOOL);
    }
  TnDType parsed;
  g_assert_false (tn_dtype_parse ("float31", &parsed));
  g_assert_false (tn_dtype_parse ("", &parsed));
  g_assert_false (tn_dtype_parse (NULL, &parsed));
  g_assert_cmpstr (tn_dtype_ir_name (TN_DTYPE_BF16), ==, "BFloat16");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor/dtype/all-half-values", test_all_half_values);
  g_test_add_func ("/tensor/dtype/nearest-even", test_nearest_even);
  g_test_add_func ("/tensor/dtype/known-cases", test_known_cases);
  g_test_add_func ("/tensor/dtype/every-pair", test_every_pair);
  g_test_add_func ("/tensor/dtype/in-place", test_in_place);
  g_test_add_func ("/tensor/dtype/large-integers", test_large_integers);
  g_test_add_func ("/tensor/dtype/names", test_names);
  return g_test_run ();
}
