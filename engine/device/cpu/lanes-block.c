/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/lanes-isa.h"

/* The register blocks: all multiply-adds of the lanes kernels happen here. A block keeps OUTPUTS x POSITIONS x HALVES
 * sums in registers; 12 hide the latency of a fused multiply-add (4 cycles, two a cycle) with room to spare. */

/* sum += a * b, with sum in place and both factors in registers: left alone, compilers destroy a factor and copy sums
 * about, or read a factor from memory once per sum, and 16 registers or two loads a cycle are then not enough. */
#if TN_LW >= 8
#define ADD_PRODUCT(sum, a, b) __asm__ ("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#else
#define ADD_PRODUCT(sum, a, b) ((sum) = v_fma (a, b, sum))
#endif

/* Written out by name and not as a function with constants: gcc and clang keep the sums in registers only when they see
 * literal bounds before they take the array apart. */
#define BLOCK_OF(NAME, VECTORS, OUTPUTS, POSITIONS)                                                                    \
  static void NAME##_##OUTPUTS##_##POSITIONS (const TnLanesCall *call)                                                 \
  {                                                                                                                    \
    const char *w[OUTPUTS];                                                                                            \
    const char *x = (const char *) call->x;                                                                            \
    const ptrdiff_t x_step = call->x_position_step * (ptrdiff_t) sizeof (float);                                       \
    float *y = call->y;                                                                                                \
    const float *mask = call->mask, *const bias = call->bias;                                                          \
    const ptrdiff_t y_output_step = call->y_output_step, y_step = call->y_position_step;                               \
    const gboolean relu = call->relu, resume = call->resume;                                                           \
    const int n_positions = call->n_positions;                                                                         \
    const TnLanesTap *const taps = call->taps, *const end = taps + call->n_taps;                                       \
    UNROLL for (int o = 0; o < OUTPUTS; o++) w[o] = (const char *) (call->w + o * call->w_output_step);                \
    for (int p = 0; p < n_positions; p += POSITIONS, x += POSITIONS * x_step)                                          \
      {                                                                                                                \
        V sum[OUTPUTS][POSITIONS][VECTORS];                                                                            \
        UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                       \
          UNROLL for (int q = 0; q < POSITIONS; q++)                                                                   \
            UNROLL for (int h = 0; h < VECTORS; h++) sum[o][q][h] = (V){ 0 };                                          \
        if (__builtin_expect (resume, 0))                                                                              \
          UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                     \
            UNROLL for (int q = 0; q < POSITIONS; q++)                                                                 \
              UNROLL for (int h = 0; h < VECTORS; h++)                                                                 \
                sum[o][q][h] = v_loadu (y + o * y_output_step + q * y_step + h * LW);                                  \
        for (const TnLanesTap *tap = taps; tap != end; tap++)                                                          \
          {                                                                                                            \
            const char *xt = x + tap->x;                                                                               \
            const ptrdiff_t wt = tap->w;                                                                               \
            V in[POSITIONS][VECTORS], weight[OUTPUTS];                                                                 \
            /* Again the shorter side stays. */                                                                        \
            if (OUTPUTS < POSITIONS * VECTORS)                                                                         \
              {                                                                                                        \
                UNROLL for (int o = 0; o < OUTPUTS; o++) weight[o] = v_set (*(const float *) (w[o] + wt));             \
                UNROLL for (int q = 0; q < POSITIONS; q++)                                                             \
                  UNROLL for (int h = 0; h < VECTORS; h++)                                                             \
                    {                                                                                                  \
                      in[q][h] = v_load ((const float *) (xt + q * x_step) + h * LW);                                  \
                      UNROLL for (int o = 0; o < OUTPUTS; o++) ADD_PRODUCT (sum[o][q][h], weight[o], in[q][h]);        \
                    }                                                                                                  \
              }                                                                                                        \
            else                                                                                                       \
              {                                                                                                        \
                UNROLL for (int q = 0; q < POSITIONS; q++)                                                             \
                  UNROLL for (int h = 0; h < VECTORS; h++)                                                             \
                    in[q][h] = v_load ((const float *) (xt + q * x_step) + h * LW);                                    \
                UNROLL for (int o = 0; o < OUTPUTS; o++)                                                               \
                  {                                                                                                    \
                    weight[o] = v_set (*(const float *) (w[o] + wt));                                                  \
                    UNROLL for (int q = 0; q < POSITIONS; q++)                                                         \
                      UNROLL for (int h = 0; h < VECTORS; h++) ADD_PRODUCT (sum[o][q][h], weight[o], in[q][h]);        \
                  }                                                                                                    \
              }                                                                                                        \
          }                                                                                                            \
        if (bias)                                                                                                      \
          UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                     \
            {                                                                                                          \
              const V b = v_set (bias[o]);                                                                             \
              UNROLL for (int q = 0; q < POSITIONS; q++)                                                               \
                UNROLL for (int h = 0; h < VECTORS; h++) sum[o][q][h] += b;                                            \
            }                                                                                                          \
        if (relu)                                                                                                      \
          UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                     \
            UNROLL for (int q = 0; q < POSITIONS; q++)                                                                 \
              UNROLL for (int h = 0; h < VECTORS; h++) sum[o][q][h] = v_relu (sum[o][q][h]);                           \
        if (mask)                                                                                                      \
          {                                                                                                            \
            UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                   \
              UNROLL for (int q = 0; q < POSITIONS; q++)                                                               \
                UNROLL for (int h = 0; h < VECTORS; h++)                                                               \
                  sum[o][q][h] = v_and (v_load (mask + o * y_output_step + q * y_step + h * LW) > 0, sum[o][q][h]);    \
            mask += POSITIONS * y_step;                                                                                \
          }                                                                                                            \
        UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                       \
          UNROLL for (int q = 0; q < POSITIONS; q++)                                                                   \
            UNROLL for (int h = 0; h < VECTORS; h++)                                                                   \
              v_storeu (y + o * y_output_step + q * y_step + h * LW, sum[o][q][h]);                                    \
        UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                       \
          UNROLL for (int q = 0; q < POSITIONS; q++)                                                                   \
            UNROLL for (int h = VECTORS; h < HALVES; h++)                                                              \
              v_storeu (y + o * y_output_step + q * y_step + h * LW, (V){ 0 });                                        \
        y += POSITIONS * y_step;                                                                                       \
      }                                                                                                                \
  }
#define BLOCK(OUTPUTS, POSITIONS) BLOCK_OF (block, HALVES, OUTPUTS, POSITIONS)
/* A last group of at most 8 images: only the first half of the lanes is computed, the others become 0. */
#define HALF_BLOCK(OUTPUTS, POSITIONS) BLOCK_OF (half, HALVES / 2, OUTPUTS, POSITIONS)

/* The same for a convolution's weight gradient: OUTPUTS x TAPS sums by lane, over all positions of the call. A bias
 * gradient rides along where the caller asks for it: additions have their own ports. */
#define GRAD_BLOCK(OUTPUTS, TAPS)                                                                                      \
  INLINE void grad_loop_##OUTPUTS##_##TAPS (const TnLanesGradCall *call, const int with_bias)                          \
  {                                                                                                                    \
    V sum[OUTPUTS][TAPS], bias[OUTPUTS];                                                                               \
    UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                           \
      {                                                                                                                \
        bias[o] = (V){ 0 };                                                                                            \
        UNROLL for (int t = 0; t < TAPS; t++) sum[o][t] = (V){ 0 };                                                    \
      }                                                                                                                \
    if (call->resume)                                                                                                  \
      UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                         \
        {                                                                                                              \
          if (with_bias)                                                                                               \
            bias[o] = v_load (call->bias_sums + o * LW);                                                               \
          UNROLL for (int t = 0; t < TAPS; t++) sum[o][t] = v_load (call->sums + o * call->sums_step + t * LW);        \
        }                                                                                                              \
    const ptrdiff_t x_step = call->x_column_step * (ptrdiff_t) sizeof (float);                                         \
    const gboolean half = call->half;                                                                                  \
    for (int g = 0; g < call->n_groups; g++)                                                                           \
      for (int row = 0; row < call->n_rows; row++)                                                                     \
        {                                                                                                              \
          const char *x[TAPS], *dy[OUTPUTS];                                                                           \
          const float *x0 = call->x + g * call->x_group_step + row * call->x_row_step;                                 \
          const float *dy0 = call->dy + g * call->dy_group_step + row * (ptrdiff_t) call->n_columns * 16;              \
          UNROLL for (int t = 0; t < TAPS; t++) x[t] = (const char *) (x0 + call->taps[t]);                            \
          UNROLL for (int o = 0; o < OUTPUTS; o++) dy[o] = (const char *) (dy0 + o * call->dy_output_step);            \
          const ptrdiff_t end = call->n_columns * (ptrdiff_t) 64;                                                      \
          for (ptrdiff_t at = 0, xat = 0; at < end; at += 64, xat += x_step)                                           \
            UNROLL for (int h = 0; h < HALVES; h++)                                                                    \
              {                                                                                                        \
                if (h == HALVES / 2 && h > 0 && half)                                                                  \
                  break;                                                                                               \
                /* The shorter side stays in registers, the longer passes through one. */                              \
                V d[OUTPUTS], in[TAPS];                                                                                \
                if (OUTPUTS <= TAPS)                                                                                   \
                  {                                                                                                    \
                    UNROLL for (int o = 0; o < OUTPUTS; o++)                                                           \
                      {                                                                                                \
                        d[o] = v_load ((const float *) (dy[o] + at) + h * LW);                                         \
                        if (with_bias)                                                                                 \
                          bias[o] += d[o];                                                                             \
                      }                                                                                                \
                    UNROLL for (int t = 0; t < TAPS; t++)                                                              \
                      {                                                                                                \
                        in[t] = v_load ((const float *) (x[t] + xat) + h * LW);                                        \
                        UNROLL for (int o = 0; o < OUTPUTS; o++) ADD_PRODUCT (sum[o][t], d[o], in[t]);                 \
                      }                                                                                                \
                  }                                                                                                    \
                else                                                                                                   \
                  {                                                                                                    \
                    UNROLL for (int t = 0; t < TAPS; t++)                                                              \
                      {                                                                                                \
                        in[t] = v_load ((const float *) (x[t] + xat) + h * LW);                                        \
                      }                                                                                                \
                    UNROLL for (int o = 0; o < OUTPUTS; o++)                                                           \
                      {                                                                                                \
                        d[o] = v_load ((const float *) (dy[o] + at) + h * LW);                                         \
                        if (with_bias)                                                                                 \
                          bias[o] += d[o];                                                                             \
                        UNROLL for (int t = 0; t < TAPS; t++) ADD_PRODUCT (sum[o][t], d[o], in[t]);                    \
                      }                                                                                                \
                  }                                                                                                    \
              }                                                                                                        \
        }                                                                                                              \
    UNROLL for (int o = 0; o < OUTPUTS; o++)                                                                           \
      {                                                                                                                \
        if (with_bias)                                                                                                 \
          v_store (call->bias_sums + o * LW, bias[o]);                                                                 \
        UNROLL for (int t = 0; t < TAPS; t++) v_store (call->sums + o * call->sums_step + t * LW, sum[o][t]);          \
      }                                                                                                                \
  }                                                                                                                    \
  static void grad_##OUTPUTS##_##TAPS (const TnLanesGradCall *call)                                                    \
  {                                                                                                                    \
    if (call->bias_sums)                                                                                               \
      grad_loop_##OUTPUTS##_##TAPS (call, 1);                                                                          \
    else                                                                                                               \
      grad_loop_##OUTPUTS##_##TAPS (call, 0);                                                                          \
  }

#if TN_LW == 16 /* 32 registers */
#define BLOCKS(X)                                                                                                      \
  X (1, 1) X (1, 2) X (1, 3) X (1, 4) X (1, 5) X (1, 6) X (1, 7) X (1, 8) X (1, 10) X (1, 12) X (1, 14)                \
  X (2, 1) X (2, 2) X (2, 3) X (2, 4) X (2, 5) X (2, 6) X (2, 7) X (2, 8) X (2, 10)                                    \
  X (3, 1) X (3, 2) X (3, 3) X (3, 4) X (3, 5) X (3, 6) X (3, 7)                                                       \
  X (4, 1) X (4, 2) X (4, 3) X (4, 4) X (4, 5) X (5, 1) X (5, 2) X (5, 3) X (5, 4)                                     \
  X (6, 1) X (6, 2) X (6, 3) X (6, 4)
#define HALF_BLOCKS(X) /* a vector is all lanes */
#define GRAD_BLOCKS(X)                                                                                                 \
  X (1, 1) X (1, 2) X (1, 3) X (1, 4) X (1, 5) X (1, 6) X (1, 7) X (1, 8) X (1, 9) X (1, 10) X (1, 12) X (1, 15)       \
  X (2, 1) X (2, 2) X (2, 3) X (2, 4) X (2, 5) X (2, 6) X (2, 7) X (2, 8) X (2, 9) X (2, 10)                           \
  X (3, 1) X (3, 2) X (3, 3) X (3, 4) X (3, 5) X (3, 6) X (3, 7) X (4, 1) X (4, 2) X (4, 3) X (4, 4) X (4, 5)          \
  X (5, 1) X (5, 2) X (5, 3) X (5, 4) X (5, 5) X (6, 1) X (6, 2) X (6, 3) X (6, 4)
#elif TN_LW == 8 /* 16 registers, two vectors a position */
#define BLOCKS(X)                                                                                                      \
  X (1, 1) X (1, 2) X (1, 3) X (1, 4) X (1, 5) X (1, 6) X (2, 1) X (2, 2) X (2, 3) X (3, 1) X (3, 2) X (4, 1) X (5, 1) \
  X (6, 1)
#define HALF_BLOCKS(X)                                                                                                 \
  X (1, 1) X (1, 2) X (1, 3) X (1, 4) X (1, 6) X (1, 8) X (1, 12) X (2, 1) X (2, 2) X (2, 3) X (2, 4) X (2, 6)         \
  X (3, 1) X (3, 2) X (3, 3) X (3, 4) X (4, 1) X (4, 2) X (4, 3) X (5, 1) X (5, 2) X (6, 1) X (6, 2)
#define GRAD_BLOCKS(X)                                                                                                 \
  X (1, 1) X (1, 2) X (1, 3) X (1, 4) X (1, 5) X (1, 6) X (1, 7) X (1, 8) X (1, 9) X (1, 10)                           \
  X (2, 1) X (2, 2) X (2, 3) X (2, 4) X (2, 5) X (2, 6) X (3, 1) X (3, 2) X (3, 3) X (3, 4) X (4, 1) X (4, 2) X (4, 3) \
  X (5, 1) X (5, 2) X (6, 1) X (6, 2)
#else /* 16 registers, four vectors a position, a broadcast is a load and a shuffle */
#define BLOCKS(X) X (1, 1) X (1, 2) X (1, 3) X (2, 1) X (3, 1)
#define HALF_BLOCKS(X) X (1, 1) X (1, 2) X (1, 3) X (1, 4) X (1, 6) X (2, 1) X (2, 2) X (2, 3) X (3, 1) X (3, 2)
#define GRAD_BLOCKS(X)                                                                                                 \
  X (1, 1) X (1, 2) X (1, 3) X (1, 4) X (1, 5) X (1, 6) X (1, 7) X (1, 8) X (1, 9)                                     \
  X (2, 1) X (2, 2) X (2, 3) X (2, 4) X (2, 5) X (3, 1) X (3, 2) X (3, 3) X (4, 1) X (4, 2)
#endif

BLOCKS (BLOCK)
HALF_BLOCKS (HALF_BLOCK)
GRAD_BLOCKS (GRAD_BLOCK)

#define ROW(OUTPUTS, POSITIONS) .run[OUTPUTS][POSITIONS] = block_##OUTPUTS##_##POSITIONS,
#define HALF_ROW(OUTPUTS, POSITIONS) .half_run[OUTPUTS][POSITIONS] = half_##OUTPUTS##_##POSITIONS,
#define GRAD_ROW(OUTPUTS, TAPS) .grad[OUTPUTS][TAPS] = grad_##OUTPUTS##_##TAPS,

const TnLanesBlocks ISA (tn_lanes_blocks) = {
  BLOCKS (ROW) HALF_BLOCKS (HALF_ROW) GRAD_BLOCKS (GRAD_ROW)
#if TN_LW == 16
  .positions = { 0, 14, 10, 7, 5, 4, 4 },
  .cover = { 0, 1, 2, 3, 4, 5, 6, 4, 4, 5, 5, 6, 6, 5, 5, 5, 6, 6, 6, 5, 5, 6, 6, 6, 6 },
#elif TN_LW == 8
  .positions = { 0, 6, 3, 2, 1, 1, 1 },
  .half_positions = { 0, 12, 6, 4, 3, 2, 2 },
  .cover = { 0, 1, 2, 3, 4, 5, 6, 4, 5, 5, 5, 6, 6, 5, 5, 5, 6, 6, 6, 5, 5, 6, 6, 6, 6 },
#else
  .positions = { 0, 3, 1, 1 },
  .half_positions = { 0, 6, 3, 2 },
  .cover = { 0, 1, 2, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 },
#endif
};

/* Chains of multiply-adds on nothing but registers: what the core can do at most. */
#define CHAINS (TN_LW == 16 ? 24 : 12)

double
ISA (tn_lanes_burn) (int64_t rounds, float *sink)
{
  V sum[CHAINS], a = v_set (sink[0]), b = v_set (sink[1]);
  UNROLL for (int i = 0; i < CHAINS; i++) sum[i] = v_set ((float) i);
  for (int64_t r = 0; r < rounds * (1024 / CHAINS); r++)
    UNROLL for (int i = 0; i < CHAINS; i++)
      {
        sum[i] = v_fma (a, sum[i], b);
        __asm__ ("" : "+v"(sum[i])); /* or compilers would fold the chains */
      }
  V all = sum[0];
  UNROLL for (int i = 1; i < CHAINS; i++) all += sum[i];
  sink[0] = v_sum (all) * 0 + sink[0];
  return (double) rounds * (1024 / CHAINS) * CHAINS * LW * 2;
}
