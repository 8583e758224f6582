/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/lanes-isa.h"

/* Element-wise passes. The last n % LW elements go through the same vector code in a padded copy, so that an element's bits
 * do not depend on where it lies. */

/** For each vector of n floats: the code given, with `at`, and get / put that know where the end is. */
#define FLAT(N, ...)                                                                                                    \
  do                                                                                                                    \
    {                                                                                                                   \
      size_t at = 0;                                                                                                    \
      for (const size_t left = LW; at + LW <= (N); at += LW)                                                            \
        __VA_ARGS__;                                                                                                    \
      if (at < (N))                                                                                                     \
        {                                                                                                               \
          const size_t left = (N) - at;                                                                                 \
          __VA_ARGS__;                                                                                                  \
        }                                                                                                               \
    }                                                                                                                   \
  while (0)

INLINE V
get_part (const float *p, size_t left)
{
  if (__builtin_expect (left == LW, 1))
    return v_loadu (p);
  V x = { 0 };
  memcpy (&x, p, left * sizeof *p);
  return x;
}

INLINE void
put_part (float *p, V x, size_t left)
{
  if (__builtin_expect (left == LW, 1))
    v_storeu (p, x);
  else
    memcpy (p, &x, left * sizeof *p);
}

#define GET(array) get_part ((array) + at, left)
#define PUT(array, value) put_part ((array) + at, value, left)

void
ISA (tn_lanes_relu_forward) (const float *x, float *y, size_t n)
{
  FLAT (n, PUT (y, v_relu (GET (x))));
}

void
ISA (tn_lanes_relu_backward) (const float *y, const float *dy, float *dx, size_t n)
{
  FLAT (n, PUT (dx, v_and (GET (y) > 0, GET (dy))));
}

void
ISA (tn_lanes_add) (const float *a, const float *b, float *y, size_t n)
{
  FLAT (n, PUT (y, GET (a) + GET (b)));
}

void
ISA (tn_lanes_multiply) (const float *a, const float *b, float *y, size_t n)
{
  FLAT (n, PUT (y, GET (a) * GET (b)));
}

void
ISA (tn_lanes_scale) (float factor, const float *x, float *y, size_t n)
{
  const V f = v_set (factor);
  FLAT (n, PUT (y, f * GET (x)));
}

void
ISA (tn_lanes_bias_add) (const float *x, const float *bias, float *y, int channels, int plane, int g0, int g1)
{
  size_t step = (size_t) plane * 16;
  for (int g = g0; g < g1; g++)
    for (int c = 0; c < channels; c++)
      {
        size_t first = ((size_t) g * channels + c) * step;
        const V b = v_set (bias[c]);
        for (size_t at = first; at < first + step; at += LW)
          v_store (y + at, v_load (x + at) + b);
      }
}

void
ISA (tn_lanes_momentum) (const TnLanesMomentum *setting, float *w, float *velocity, const float *grad, size_t n)
{
  const V mu = v_set (setting->momentum), minus_lr = v_set (-setting->learning_rate), decay = v_set (setting->weight_decay);
  if (setting->nesterov)
    FLAT (n, {
      V g = v_fma (decay, GET (w), GET (grad)), v = v_fma (mu, GET (velocity), g);
      PUT (velocity, v);
      PUT (w, v_fma (minus_lr, v_fma (mu, v, g), GET (w)));
    });
  else
    FLAT (n, {
      V old = GET (w), v = v_fma (mu, GET (velocity), v_fma (decay, old, GET (grad)));
      PUT (velocity, v);
      PUT (w, v_fma (minus_lr, v, old));
    });
}

void
ISA (tn_lanes_sgd) (float learning_rate, float weight_decay, float *w, const float *grad, size_t n)
{
  const V minus_lr = v_set (-learning_rate), decay = v_set (weight_decay);
  FLAT (n, {
    V old = GET (w);
    PUT (w, v_fma (minus_lr, v_fma (decay, old, GET (grad)), old));
  });
}

void
ISA (tn_lanes_adam) (const TnLanesAdam *s, float *w, float *m, float *v, const float *grad, size_t n)
{
  const V b1 = v_set (s->beta1), b2 = v_set (s->beta2), c1 = v_set (1 - s->beta1), c2 = v_set (1 - s->beta2);
  const V minus_step = v_set (-s->learning_rate / s->bias_correction1), epsilon = v_set (s->epsilon);
  const V correction2 = v_set (1 / s->bias_correction2);
  const V decay = v_set (s->decoupled ? 0 : s->weight_decay);
  const V shrink = v_set (s->decoupled ? 1 - s->learning_rate * s->weight_decay : 1);
  FLAT (n, {
    V old = GET (w), g = v_fma (decay, old, GET (grad));
    V first = v_fma (b1, GET (m), c1 * g), second = v_fma (b2, GET (v), c2 * g * g);
    PUT (m, first);
    PUT (v, second);
    PUT (w, v_fma (minus_step, first / (v_sqrt (second * correction2) + epsilon), shrink * old));
  });
}

void
ISA (tn_lanes_exp) (const float *x, float *y, size_t n)
{
  FLAT (n, PUT (y, v_exp (GET (x))));
}

float
ISA (tn_lanes_sum) (const float *x, size_t n)
{
  V sum[8];
  size_t whole = n / (8 * LW) * (8 * LW);
  UNROLL for (int i = 0; i < 8; i++) sum[i] = (V){ 0 };
  for (size_t at = 0; at < whole; at += 8 * LW)
    UNROLL for (int i = 0; i < 8; i++) sum[i] += v_loadu (x + at + i * LW);
  FLAT (n - whole, sum[0] += GET (x + whole));
  return v_sum (((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
}

/* Eight chains over a stretch that leaves them short; stretches are added in double. */
#define SQUARES_STRETCH 1024

double
ISA (tn_lanes_sum_of_squares) (const float *x, size_t n)
{
  double total = 0;
  for (size_t from = 0; from < n; from += SQUARES_STRETCH)
    {
      const float *part = x + from;
      size_t length = MIN (n - from, (size_t) SQUARES_STRETCH), whole = length / (8 * LW) * (8 * LW);
      V sum[8];
      UNROLL for (int i = 0; i < 8; i++) sum[i] = (V){ 0 };
      for (size_t at = 0; at < whole; at += 8 * LW)
        UNROLL for (int i = 0; i < 8; i++)
          {
            const V value = v_loadu (part + at + i * LW);
            sum[i] = v_fma (value, value, sum[i]);
          }
      FLAT (length - whole, {
        const V value = GET (part + whole);
        sum[0] = v_fma (value, value, sum[0]);
      });
      total += (double) v_sum (((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
    }
  return total;
}

void
ISA (tn_lanes_triad) (float factor, const float *a, const float *b, float *y, size_t n)
{
  const V f = v_set (factor);
  FLAT (n, PUT (y, v_fma (f, GET (a), GET (b))));
}
