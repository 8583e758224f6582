/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/norm-planes.h"

/* Each loop is written once for a width of H vectors of eight, and made for both widths and both levels below. It waits
 * for memory more than for arithmetic, so avx512 takes the avx2 one. */

typedef float V __attribute__ ((vector_size (32), aligned (4), may_alias));
typedef int32_t M __attribute__ ((vector_size (32), aligned (4), may_alias));

#define CORE static inline __attribute__ ((always_inline))
#define CHAINS 4
#define COLUMNS(array, h) (*(const V *) ((array) + 8 * (h)))
#define SET_COLUMNS(array, h) (*(V *) ((array) + 8 * (h)))
#define AT(array, p, h) (*(const V *) ((array) + ((p) * H + (h)) * 8))
#define SET_AT(array, p, h) (*(V *) ((array) + ((p) * H + (h)) * 8))
#define EACH_HALF for (int h = 0; h < H; h++)
#define WHERE(mask, v) ((V) ((M) (mask) & (M) (v)))

CORE void
moments (const float *x, int64_t positions, float *mean, float *squares, const int H)
{
  V sums[2][CHAINS] = { 0 }, about[2] = { 0 };
  int64_t p = 0;
  for (; p + CHAINS <= positions; p += CHAINS)
    for (int k = 0; k < CHAINS; k++)
      EACH_HALF sums[h][k] += AT (x, p + k, h);
  for (; p < positions; p++)
    EACH_HALF sums[h][0] += AT (x, p, h);
  EACH_HALF
  {
    about[h] = ((sums[h][0] + sums[h][1]) + (sums[h][2] + sums[h][3])) / (float) positions;
    SET_COLUMNS (mean, h) = about[h];
    for (int k = 0; k < CHAINS; k++)
      sums[h][k] = (V){ 0 };
  }
  for (p = 0; p + CHAINS <= positions; p += CHAINS)
    for (int k = 0; k < CHAINS; k++)
      EACH_HALF
      {
        V d = AT (x, p + k, h) - about[h];
        sums[h][k] += d * d;
      }
  for (; p < positions; p++)
    EACH_HALF
    {
      V d = AT (x, p, h) - about[h];
      sums[h][0] += d * d;
    }
  EACH_HALF SET_COLUMNS (squares, h) = (sums[h][0] + sums[h][1]) + (sums[h][2] + sums[h][3]);
}

CORE void
apply (const float *x, const float *add, gboolean relu, int64_t positions, const float *centre, const float *scale, const float *shift,
       float *y, const int H)
{
  for (int64_t p = 0; p < positions; p++)
    EACH_HALF
    {
      V v = (AT (x, p, h) - COLUMNS (centre, h)) * COLUMNS (scale, h) + COLUMNS (shift, h);
      if (add != NULL)
        v += AT (add, p, h);
      if (relu)
        v = WHERE (~(M) (v <= 0), v); /* NaN stays NaN */
      SET_AT (y, p, h) = v;
    }
}

CORE void
products (const float *dy, const float *relu_y, const float *x, int64_t positions, const float *centre, float *sum, float *product,
          const int H)
{
  V sums[2][CHAINS] = { 0 }, with[2][CHAINS] = { 0 };
  int64_t even = positions / CHAINS * CHAINS;
  for (int64_t p = 0; p < even; p += CHAINS)
    for (int k = 0; k < CHAINS; k++)
      EACH_HALF
      {
        V d = AT (dy, p + k, h);
        if (relu_y != NULL)
          d = WHERE (AT (relu_y, p + k, h) > 0, d);
        sums[h][k] += d;
        with[h][k] += d * (AT (x, p + k, h) - COLUMNS (centre, h));
      }
  for (int64_t p = even; p < positions; p++)
    EACH_HALF
    {
      V d = AT (dy, p, h);
      if (relu_y != NULL)
        d = WHERE (AT (relu_y, p, h) > 0, d);
      sums[h][0] += d;
      with[h][0] += d * (AT (x, p, h) - COLUMNS (centre, h));
    }
  EACH_HALF
  {
    SET_COLUMNS (sum, h) = (sums[h][0] + sums[h][1]) + (sums[h][2] + sums[h][3]);
    SET_COLUMNS (product, h) = (with[h][0] + with[h][1]) + (with[h][2] + with[h][3]);
  }
}

CORE void
gradient (const float *dy, const float *relu_y, const float *x, int64_t positions, const float *centre, const float *a, const float *b,
          const float *c, float *dx, const int H)
{
  for (int64_t p = 0; p < positions; p++)
    EACH_HALF
    {
      V d = AT (dy, p, h);
      if (relu_y != NULL)
        d = WHERE (AT (relu_y, p, h) > 0, d);
      SET_AT (dx, p, h) = COLUMNS (a, h) * d + (COLUMNS (b, h) * (AT (x, p, h) - COLUMNS (centre, h)) + COLUMNS (c, h));
    }
}

#define MAKE(suffix, level, H)                                                                                                   \
  level static void moments_##suffix (const float *x, int64_t n, float *mean, float *squares) { moments (x, n, mean, squares, H); } \
  level static void apply_##suffix (const float *x, const float *add, gboolean relu, int64_t n, const float *centre,             \
                                    const float *scale, const float *shift, float *y)                                            \
  {                                                                                                                              \
    if (add == NULL && !relu)                                                                                                    \
      apply (x, NULL, FALSE, n, centre, scale, shift, y, H);                                                                     \
    else if (add == NULL)                                                                                                        \
      apply (x, NULL, TRUE, n, centre, scale, shift, y, H);                                                                      \
    else                                                                                                                         \
      apply (x, add, relu, n, centre, scale, shift, y, H);                                                                       \
  }                                                                                                                              \
  level static void products_##suffix (const float *dy, const float *relu_y, const float *x, int64_t n, const float *centre,     \
                                       float *sum, float *product)                                                               \
  {                                                                                                                              \
    if (relu_y == NULL)                                                                                                          \
      products (dy, NULL, x, n, centre, sum, product, H);                                                                        \
    else                                                                                                                         \
      products (dy, relu_y, x, n, centre, sum, product, H);                                                                      \
  }                                                                                                                              \
  level static void gradient_##suffix (const float *dy, const float *relu_y, const float *x, int64_t n, const float *centre,     \
                                       const float *a, const float *b, const float *c, float *dx)                                \
  {                                                                                                                              \
    if (relu_y == NULL)                                                                                                          \
      gradient (dy, NULL, x, n, centre, a, b, c, dx, H);                                                                         \
    else                                                                                                                         \
      gradient (dy, relu_y, x, n, centre, a, b, c, dx, H);                                                                       \
  }                                                                                                                              \
  static const TnNormPlanes planes_##suffix = { moments_##suffix, apply_##suffix, products_##suffix, gradient_##suffix };

MAKE (sse2_8, , 1)
MAKE (sse2_16, , 2)
#if defined __x86_64__ || defined __i386__
MAKE (avx2_8, __attribute__ ((target ("avx2,fma"))), 1)
MAKE (avx2_16, __attribute__ ((target ("avx2,fma"))), 2)
#else
#define planes_avx2_8 planes_sse2_8
#define planes_avx2_16 planes_sse2_16
#endif

const TnNormPlanes *
tn_norm_planes (TnIsa isa, int width)
{
  if (isa == TN_ISA_SSE2)
    return width == 8 ? &planes_sse2_8 : &planes_sse2_16;
  return width == 8 ? &planes_avx2_8 : &planes_avx2_16;
}
