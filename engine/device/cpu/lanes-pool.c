/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/lanes-isa.h"

/* The part of one window that lies in the image. */
typedef struct
{
  int y0, y1, x0, x1;
} Window;

INLINE Window
window_at (const TnLanesPool *p, int row, int column)
{
  int y = row * p->stride_h - p->pad_top, x = column * p->stride_w - p->pad_left;
  return (Window){ MAX (y, 0), MIN (y + p->kernel_h, p->height), MAX (x, 0), MIN (x + p->kernel_w, p->width) };
}

/** Rows and columns that no 2 x 2 window meets get no gradient. */
static void
clear_rest (const TnLanesPool *p, float *dx)
{
  size_t row = (size_t) p->width * 16, met = (size_t) p->out_width * 32;
  if (met < row)
    for (int r = 0; r < p->out_height * 2; r++)
      memset (dx + r * row + met, 0, (row - met) * sizeof *dx);
  if (p->out_height * 2 < p->height)
    memset (dx + p->out_height * 2 * row, 0, (p->height - p->out_height * 2) * row * sizeof *dx);
}

static void
max_quarter (const TnLanesPool *p, const float *x, float *y)
{
  ptrdiff_t row = (ptrdiff_t) p->width * 16;
  for (int r = 0; r < p->out_height; r++, x += 2 * row)
    for (int c = 0; c < p->out_width; c++, y += 16)
      UNROLL for (int h = 0; h < HALVES; h++)
        {
          const float *at = x + c * 32 + h * LW;
          V best = v_max_nan (v_load (at), v_load (at + 16));
          best = v_max_nan (best, v_load (at + row));
          v_store (y + h * LW, v_max_nan (best, v_load (at + row + 16)));
        }
}

void
ISA (tn_lanes_max_pool_forward) (const TnLanesPool *p, const float *x, float *y, int g0, int g1)
{
  ptrdiff_t plane = (ptrdiff_t) p->height * p->width * 16, out_plane = (ptrdiff_t) p->out_height * p->out_width * 16;
  gboolean quarter = tn_lanes_pool_is_quarter (p);
  for (ptrdiff_t i = (ptrdiff_t) g0 * p->channels; i < (ptrdiff_t) g1 * p->channels; i++)
    {
      const float *in = x + i * plane;
      float *out = y + i * out_plane;
      if (quarter)
        {
          max_quarter (p, in, out);
          continue;
        }
      for (int r = 0; r < p->out_height; r++)
        for (int c = 0; c < p->out_width; c++, out += 16)
          for (int h = 0; h < 16; h += LW)
            {
              Window w = window_at (p, r, c);
              V best = v_load (in + ((ptrdiff_t) w.y0 * p->width + w.x0) * 16 + h);
              for (int yy = w.y0; yy < w.y1; yy++)
                for (int xx = w.x0; xx < w.x1; xx++)
                  best = v_max_nan (best, v_load (in + ((ptrdiff_t) yy * p->width + xx) * 16 + h));
              v_store (out + h, best);
            }
    }
}

/** Lanes of @x that hold the maximum @best: equal, or both NaN. */
INLINE VI
wins (V x, V best)
{
  return (x == best) | ((x != x) & (best != best));
}

INLINE void
max_quarter_backward (const TnLanesPool *p, const float *x, const float *y, const float *dy, const gboolean relu, float *dx)
{
  ptrdiff_t row = (ptrdiff_t) p->width * 16;
  for (int r = 0; r < p->out_height; r++, x += 2 * row, dx += 2 * row)
    for (int c = 0; c < p->out_width; c++, y += 16, dy += 16)
      UNROLL for (int h = 0; h < HALVES; h++)
        {
          const ptrdiff_t at = c * 32 + h * LW;
          const V best = v_load (y + h * LW);
          V left = v_load (dy + h * LW);
          if (relu)
            left = v_and (best > 0, left);
          const ptrdiff_t cell[4] = { at, at + 16, at + row, at + row + 16 };
          UNROLL for (int i = 0; i < 4; i++)
            {
              const VI won = wins (v_load (x + cell[i]), best);
              v_store (dx + cell[i], v_and (won, left));
              left = v_and (~won, left);
            }
        }
}

void
ISA (tn_lanes_max_pool_backward) (const TnLanesPool *p, const float *x, const float *y, const float *dy, gboolean relu,
                                  float *dx, int g0, int g1)
{
  ptrdiff_t plane = (ptrdiff_t) p->height * p->width * 16, out_plane = (ptrdiff_t) p->out_height * p->out_width * 16;
  gboolean quarter = tn_lanes_pool_is_quarter (p);
  for (ptrdiff_t i = (ptrdiff_t) g0 * p->channels; i < (ptrdiff_t) g1 * p->channels; i++)
    {
      const float *in = x + i * plane, *out = y + i * out_plane, *dout = dy + i * out_plane;
      float *din = dx + i * plane;
      if (quarter)
        {
          if (relu)
            max_quarter_backward (p, in, out, dout, TRUE, din);
          else
            max_quarter_backward (p, in, out, dout, FALSE, din);
          clear_rest (p, din);
          continue;
        }
      memset (din, 0, plane * sizeof *din);
      for (int r = 0; r < p->out_height; r++)
        for (int c = 0; c < p->out_width; c++, out += 16, dout += 16)
          for (int h = 0; h < 16; h += LW)
            {
              Window w = window_at (p, r, c);
              V best = v_load (out + h), left = v_load (dout + h);
              if (relu)
                left = v_and (best > 0, left);
              for (int yy = w.y0; yy < w.y1; yy++)
                for (int xx = w.x0; xx < w.x1; xx++)
                  {
                    ptrdiff_t at = ((ptrdiff_t) yy * p->width + xx) * 16 + h;
                    VI won = wins (v_load (in + at), best);
                    v_store (din + at, v_load (din + at) + v_and (won, left));
                    left = v_and (~won, left);
                  }
            }
    }
}

INLINE float
share (const TnLanesPool *p, Window w)
{
  int n = p->count_padding ? p->kernel_h * p->kernel_w : (w.y1 - w.y0) * (w.x1 - w.x0);
  return 1.0f / (float) n;
}

void
ISA (tn_lanes_avg_pool_forward) (const TnLanesPool *p, const float *x, float *y, int g0, int g1)
{
  ptrdiff_t plane = (ptrdiff_t) p->height * p->width * 16, out_plane = (ptrdiff_t) p->out_height * p->out_width * 16;
  for (ptrdiff_t i = (ptrdiff_t) g0 * p->channels; i < (ptrdiff_t) g1 * p->channels; i++)
    {
      const float *in = x + i * plane;
      float *out = y + i * out_plane;
      for (int r = 0; r < p->out_height; r++)
        for (int c = 0; c < p->out_width; c++, out += 16)
          {
            Window w = window_at (p, r, c);
            V sum[HALVES], part = v_set (share (p, w));
            UNROLL for (int h = 0; h < HALVES; h++) sum[h] = (V){ 0 };
            for (int yy = w.y0; yy < w.y1; yy++)
              for (int xx = w.x0; xx < w.x1; xx++)
                UNROLL for (int h = 0; h < HALVES; h++)
                  sum[h] += v_load (in + ((ptrdiff_t) yy * p->width + xx) * 16 + h * LW);
            UNROLL for (int h = 0; h < HALVES; h++) v_store (out + h * LW, sum[h] * part);
          }
    }
}

void
ISA (tn_lanes_avg_pool_backward) (const TnLanesPool *p, const float *dy, float *dx, int g0, int g1)
{
  ptrdiff_t plane = (ptrdiff_t) p->height * p->width * 16, out_plane = (ptrdiff_t) p->out_height * p->out_width * 16;
  gboolean quarter = tn_lanes_pool_is_quarter (p);
  for (ptrdiff_t i = (ptrdiff_t) g0 * p->channels; i < (ptrdiff_t) g1 * p->channels; i++)
    {
      const float *dout = dy + i * out_plane;
      float *din = dx + i * plane;
      if (quarter)
        clear_rest (p, din);
      else
        memset (din, 0, plane * sizeof *din);
      for (int r = 0; r < p->out_height; r++)
        for (int c = 0; c < p->out_width; c++, dout += 16)
          {
            Window w = window_at (p, r, c);
            V part = v_set (share (p, w));
            for (int yy = w.y0; yy < w.y1; yy++)
              for (int xx = w.x0; xx < w.x1; xx++)
                UNROLL for (int h = 0; h < HALVES; h++)
                  {
                    float *at = din + ((ptrdiff_t) yy * p->width + xx) * 16 + h * LW;
                    V d = v_load (dout + h * LW) * part;
                    if (!quarter)
                      d += v_load (at);
                    v_store (at, d);
                  }
          }
    }
}
