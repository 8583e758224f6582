/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <immintrin.h>

/* The vector of one instruction level. Sources that include this are compiled once per level with TN_LW floats a vector
 * (4, 8, 16) and TN_ISA the suffix of every symbol they export, so that one source is one kernel on all levels. */

#define TN_JOIN_(a, b) a##_##b
#define TN_JOIN(a, b) TN_JOIN_ (a, b)
#define ISA(name) TN_JOIN (name, TN_ISA)

#define LW TN_LW
#define HALVES (16 / LW) /* vectors of a position of 16 lanes */
#define UNROLL _Pragma ("GCC unroll 32")
#define INLINE static inline __attribute__ ((always_inline))

typedef float V __attribute__ ((vector_size (4 * LW), may_alias));
typedef int32_t VI __attribute__ ((vector_size (4 * LW), may_alias));
typedef float VU __attribute__ ((vector_size (4 * LW), may_alias, aligned (4)));

INLINE V
v_load (const float *p)
{
  return *(const V *) p;
}

INLINE void
v_store (float *p, V x)
{
  *(V *) p = x;
}

INLINE V
v_loadu (const float *p)
{
  return (V) * (const VU *) p;
}

INLINE void
v_storeu (float *p, V x)
{
  *(VU *) p = (VU) x;
}

/* x - 0 and not x + 0: -0 stays -0, and compilers drop it. */
INLINE V
v_set (float x)
{
  return x - (V){ 0 };
}

/** a * b + c in one rounding wherever the level has it. */
INLINE V
v_fma (V a, V b, V c)
{
#if TN_LW == 16
  return (V) _mm512_fmadd_ps ((__m512) a, (__m512) b, (__m512) c);
#elif TN_LW == 8
  return (V) _mm256_fmadd_ps ((__m256) a, (__m256) b, (__m256) c);
#else
  return (V) _mm_add_ps (_mm_mul_ps ((__m128) a, (__m128) b), (__m128) c);
#endif
}

INLINE V
v_sqrt (V x)
{
#if TN_LW == 16
  return (V) _mm512_sqrt_ps ((__m512) x);
#elif TN_LW == 8
  return (V) _mm256_sqrt_ps ((__m256) x);
#else
  return (V) _mm_sqrt_ps ((__m128) x);
#endif
}

/** The lanes of x where the mask (all ones or zeros) is set, 0 elsewhere. */
INLINE V
v_and (VI mask, V x)
{
  return (V) ((VI) x & mask);
}

INLINE V
v_select (VI mask, V yes, V no)
{
  return (V) (((VI) yes & mask) | ((VI) no & ~mask));
}

/** max (x, 0), where NaN and -0 stay. */
INLINE V
v_relu (V x)
{
#if TN_LW == 16
  return (V) _mm512_max_ps (_mm512_setzero_ps (), (__m512) x);
#elif TN_LW == 8
  return (V) _mm256_max_ps (_mm256_setzero_ps (), (__m256) x);
#else
  return (V) _mm_max_ps (_mm_setzero_ps (), (__m128) x);
#endif
}

/** b if b > a or b is NaN, else a. */
INLINE V
v_max_nan (V a, V b)
{
  return v_select ((b > a) | (b != b), b, a);
}

/** Sum of the lanes: halves are added until one is left. */
INLINE float
v_sum (V x)
{
#if TN_LW == 16
  x += __builtin_shufflevector (x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  x += __builtin_shufflevector (x, x, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3);
  x += __builtin_shufflevector (x, x, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1);
  x += __builtin_shufflevector (x, x, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0);
#elif TN_LW == 8
  x += __builtin_shufflevector (x, x, 4, 5, 6, 7, 0, 1, 2, 3);
  x += __builtin_shufflevector (x, x, 2, 3, 0, 1, 2, 3, 0, 1);
  x += __builtin_shufflevector (x, x, 1, 0, 1, 0, 1, 0, 1, 0);
#else
  x += __builtin_shufflevector (x, x, 2, 3, 0, 1);
  x += __builtin_shufflevector (x, x, 1, 0, 1, 0);
#endif
  return x[0];
}

/** exp (x): x = n ln 2 + r, |r| <= ln 2 / 2; a polynomial of degree 7 for exp (r) (Cephes' expf has degree 5 + 2), the
 * exponent added as an integer. 0 below -87.33654 (where results would be denormal), infinity above 88.72283, NaN stays. */
INLINE V
v_exp (V x)
{
  const V magic = v_set (12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
  VI under = x < v_set (-87.33654f), over = x > v_set (88.72283f);
  V in = v_select (under | over, (V){ 0 }, x);
  V shifted = v_fma (in, v_set (1.44269504088896341f), magic);
  V n = shifted - magic;
  V r = v_fma (n, v_set (-0.693359375f), in);
  r = v_fma (n, v_set (2.12194440e-4f), r);
  V p = v_set (1.9875691500e-4f);
  p = v_fma (p, r, v_set (1.3981999507e-3f));
  p = v_fma (p, r, v_set (8.3334519073e-3f));
  p = v_fma (p, r, v_set (4.1665795894e-2f));
  p = v_fma (p, r, v_set (1.6666665459e-1f));
  p = v_fma (p, r, v_set (5.0000001201e-1f));
  p = v_fma (p * r, r, r) + v_set (1);
  /* Twice half the exponent: 2^128 alone is no float. */
  VI whole = (VI) shifted - (VI) magic, half = whole >> 1, rest = whole - half;
  p = p * (V) ((half + 127) << 23) * (V) ((rest + 127) << 23);
  p = v_select (under, (V){ 0 }, p);
  return v_select (over, v_set (__builtin_inff ()), p);
}
