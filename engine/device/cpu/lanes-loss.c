/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "device/cpu/lanes-isa.h"

/* Softmax over lanes: a vector holds one class of LW images, so that nothing is ever added across lanes. */

static int
used_lanes (int n_images, int group)
{
  return CLAMP (n_images - group * 16, 0, 16);
}

/** All ones in the lanes first..first + LW - 1 below @used. */
INLINE VI
lanes_below (int used, int first)
{
  VI index;
  UNROLL for (int i = 0; i < LW; i++) index[i] = first + i;
  return index < ((VI){ 0 } + used);
}

/** exp (x - max) of @n_classes into @e, which may be @x; returns their sum. */
INLINE V
exponentials (const float *x, int n_classes, float *e, V *max)
{
  V most = v_load (x), sum = { 0 };
  for (int k = 1; k < n_classes; k++)
    most = v_max_nan (most, v_load (x + k * 16));
  for (int k = 0; k < n_classes; k++)
    {
      V value = v_exp (v_load (x + k * 16) - most);
      v_store (e + k * 16, value);
      sum += value;
    }
  *max = most;
  return sum;
}

void
ISA (tn_lanes_softmax) (const float *x, int n_images, int n_classes, float *y, int g0, int g1)
{
  for (int g = g0; g < g1; g++)
    for (int h = 0; h < 16; h += LW)
      {
        ptrdiff_t at = (ptrdiff_t) g * n_classes * 16 + h;
        V max, sum = exponentials (x + at, n_classes, y + at, &max), part = v_set (1) / sum;
        VI used = lanes_below (used_lanes (n_images, g), h);
        for (int k = 0; k < n_classes; k++)
          v_store (y + at + k * 16, v_and (used, v_load (y + at + k * 16) * part));
      }
}

/** Losses of up to LW images from max and sum; logarithms in double, one an image. */
static void
losses (const float *logits, const int32_t *labels, int n, int n_classes, V max, V sum, float *loss)
{
  for (int i = 0; i < n; i++)
    {
      gboolean known = labels[i] >= 0 && labels[i] < n_classes;
      loss[i] = known ? (float) (log ((double) sum[i]) + ((double) max[i] - logits[labels[i] * 16 + i])) : 0;
    }
}

void
ISA (tn_lanes_softmax_cross_entropy) (const float *logits, const int32_t *labels, int n_images, int n_classes, float scale,
                                      float *loss, float *dlogits, int g0, int g1)
{
  for (int g = g0; g < g1; g++)
    for (int h = 0; h < 16; h += LW)
      {
        const float *x = logits + (ptrdiff_t) g * n_classes * 16 + h;
        float *dx = dlogits ? dlogits + (ptrdiff_t) g * n_classes * 16 + h : NULL;
        int first = g * 16 + h, n = CLAMP (n_images - first, 0, LW);
        V max = v_load (x), sum = { 0 };
        VI label = { 0 };
        for (int i = 0; i < LW; i++)
          label[i] = i < n && labels[first + i] < n_classes ? labels[first + i] : -1;
        for (int k = 1; k < n_classes; k++)
          max = v_max_nan (max, v_load (x + k * 16));
        for (int k = 0; k < n_classes; k++)
          sum += v_exp (v_load (x + k * 16) - max);
        if (loss)
          losses (x, labels + first, n, n_classes, max, sum, loss + first);
        if (!dx)
          continue;
        /* The exponentials are taken twice so that dlogits may be logits and may be left out; K is small. */
        V part = v_set (1) / sum, factor = v_set (scale);
        VI known = label >= 0;
        for (int k = 0; k < n_classes; k++)
          {
            V share = v_exp (v_load (x + k * 16) - max) * part;
            V hot = v_and (label == ((VI){ 0 } + k), v_set (1));
            v_store (dx + k * 16, v_and (known, (share - hot) * factor));
          }
      }
}

void
ISA (tn_lanes_argmax) (const float *logits, int n_images, int n_classes, int32_t *best, int g0, int g1)
{
  for (int g = g0; g < g1; g++)
    for (int h = 0; h < 16; h += LW)
      {
        const float *x = logits + (ptrdiff_t) g * n_classes * 16 + h;
        int first = g * 16 + h, n = CLAMP (n_images - first, 0, LW);
        V max = v_load (x);
        VI index = { 0 };
        for (int k = 1; k < n_classes; k++)
          {
            V value = v_load (x + k * 16);
            VI better = (value > max) | ((value != value) & (max == max));
            index = (((VI){ 0 } + k) & better) | (index & ~better);
            max = v_select (better, value, max);
          }
        for (int i = 0; i < n; i++)
          best[first + i] = index[i];
      }
}
