/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/cpu-isa.h"
#include <glib.h>
#include <stdint.h>

/* TnNormPlanes: the inner loops of batch norm over one plane [positions][width], width 8 or 16: a block of channels of one
 * image (TN_LAYOUT_BLOCKED), or 16 images of one channel (TN_LAYOUT_LANES). Coefficients are one a column. Columns are
 * summed over positions in four interleaved chains whatever the level; avx2 has fused multiply-adds, sse2 has not. */
typedef struct
{
  /** Mean of each column, and the sum of squares about it. */
  void (*moments) (const float *x, int64_t positions, float *mean, float *squares);
  /** y = (x - centre) * scale + shift, + @add, then ReLU; each rounded as if it were alone. @add may be NULL. */
  void (*apply) (const float *x, const float *add, gboolean relu, int64_t positions, const float *centre, const float *scale,
                 const float *shift, float *y);
  /** Sums of dy and of dy * (x - centre). @relu_y: dy counts where it is above 0; or NULL. */
  void (*products) (const float *dy, const float *relu_y, const float *x, int64_t positions, const float *centre, float *sum,
                    float *product);
  /** dx = a * dy + (b * (x - centre) + c); @dx may be @dy. */
  void (*gradient) (const float *dy, const float *relu_y, const float *x, int64_t positions, const float *centre, const float *a,
                    const float *b, const float *c, float *dx);
} TnNormPlanes;

/** @width: 8 or 16. */
const TnNormPlanes *tn_norm_planes (TnIsa isa, int width);
