/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/lanes-isa.h"

/* Between rows (image by image) and lanes (16 images side by side): 8 x 8 blocks turned in registers, 4 x 4 on sse2. */

#if TN_LW == 4
#define SIDE 4
#else
#define SIDE 8
#endif

typedef float T __attribute__ ((vector_size (4 * SIDE), may_alias));
typedef float TU __attribute__ ((vector_size (4 * SIDE), may_alias, aligned (4)));

INLINE void
turn_block (T r[SIDE])
{
  T a[SIDE];
#if SIDE == 8
  UNROLL for (int i = 0; i < 8; i += 2)
    {
      a[i] = __builtin_shufflevector (r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      a[i + 1] = __builtin_shufflevector (r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
  UNROLL for (int i = 0; i < 8; i += 4)
    {
      r[i] = __builtin_shufflevector (a[i], a[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 1] = __builtin_shufflevector (a[i], a[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
      r[i + 2] = __builtin_shufflevector (a[i + 1], a[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 3] = __builtin_shufflevector (a[i + 1], a[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  UNROLL for (int i = 0; i < 4; i++)
    {
      a[i] = __builtin_shufflevector (r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
      a[i + 4] = __builtin_shufflevector (r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#else
  T b[4];
  b[0] = __builtin_shufflevector (r[0], r[1], 0, 4, 1, 5);
  b[1] = __builtin_shufflevector (r[0], r[1], 2, 6, 3, 7);
  b[2] = __builtin_shufflevector (r[2], r[3], 0, 4, 1, 5);
  b[3] = __builtin_shufflevector (r[2], r[3], 2, 6, 3, 7);
  a[0] = __builtin_shufflevector (b[0], b[2], 0, 1, 4, 5);
  a[1] = __builtin_shufflevector (b[0], b[2], 2, 3, 6, 7);
  a[2] = __builtin_shufflevector (b[1], b[3], 0, 1, 4, 5);
  a[3] = __builtin_shufflevector (b[1], b[3], 2, 3, 6, 7);
#endif
  UNROLL for (int i = 0; i < SIDE; i++) r[i] = a[i];
}

INLINE void
turn_side (const float *in, ptrdiff_t in_stride, float *out, ptrdiff_t out_stride)
{
  T r[SIDE];
  UNROLL for (int i = 0; i < SIDE; i++) r[i] = (T) * (const TU *) (in + i * in_stride);
  turn_block (r);
  UNROLL for (int i = 0; i < SIDE; i++) *(TU *) (out + i * out_stride) = (TU) r[i];
}

void
ISA (tn_lanes_turn) (const float *in, ptrdiff_t in_stride, float *out, ptrdiff_t out_stride)
{
  for (int i = 0; i < 16; i += SIDE)
    UNROLL for (int j = 0; j < 16; j += SIDE) turn_side (in + i * in_stride + j, in_stride, out + j * out_stride + i, out_stride);
}

void
ISA (tn_lanes_pack) (const float *rows, int n_images, int n_features, float *lanes, int g0, int g1)
{
  ptrdiff_t width = n_features;
  for (int g = g0; g < g1; g++)
    {
      const float *in = rows + g * 16 * width;
      float *out = lanes + g * 16 * width;
      int used = MIN (16, n_images - g * 16), f = 0;
      for (; used == 16 && f + 16 <= n_features; f += 16)
        ISA (tn_lanes_turn) (in + f, width, out + (ptrdiff_t) f * 16, 16);
      for (; f < n_features; f++)
        for (int lane = 0; lane < 16; lane++)
          out[(ptrdiff_t) f * 16 + lane] = lane < used ? in[lane * width + f] : 0;
    }
}

void
ISA (tn_lanes_unpack) (const float *lanes, int n_images, int n_features, float *rows, int g0, int g1)
{
  ptrdiff_t width = n_features;
  for (int g = g0; g < g1; g++)
    {
      const float *in = lanes + g * 16 * width;
      float *out = rows + g * 16 * width;
      int used = MIN (16, n_images - g * 16), f = 0;
      for (; used == 16 && f + 16 <= n_features; f += 16)
        ISA (tn_lanes_turn) (in + (ptrdiff_t) f * 16, 16, out + f, width);
      for (; f < n_features; f++)
        for (int lane = 0; lane < used; lane++)
          out[lane * width + f] = in[(ptrdiff_t) f * 16 + lane];
    }
}
