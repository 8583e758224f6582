/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/lanes-isa.h"

/* Rows of weights that are kept in L2 while groups pass: a panel of TN_LANES_CHAIN columns is 96 KiB. */
#define PANEL 96

/* Taps of a stretch: so many sums go through memory as must, and no stretch is a mere rest. */
static int
stretch_of (int n)
{
  int stretches = (n + TN_LANES_CHAIN - 1) / TN_LANES_CHAIN;
  return (n + stretches - 1) / stretches;
}

/** Outputs [r0, r1) x groups [g0, g1) over one stretch of taps: @proto points at output 0 of group 0. */
static void
dense_blocks (const TnLanesCall *proto, int r0, int r1, int g0, int g1, ptrdiff_t x_group_step, ptrdiff_t y_group_step)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  for (int r = r0, n; r < r1; r += n)
    {
      n = blocks->cover[MIN (r1 - r, TN_LANES_COVER)];
      TnLanesCall call = *proto;
      ptrdiff_t out = r * call.y_output_step + g0 * y_group_step;
      call.w += r * call.w_output_step;
      call.x += g0 * x_group_step;
      call.x_position_step = x_group_step;
      call.y += out;
      call.y_position_step = y_group_step;
      call.bias = call.bias ? call.bias + r : NULL;
      call.mask = call.mask ? call.mask + out : NULL;
      for (int left = g1 - g0, at_once; left > 0; left -= call.n_positions)
        {
          at_once = MIN (blocks->positions[n], left);
          while (!blocks->run[n][at_once])
            at_once--;
          call.n_positions = at_once;
          blocks->run[n][at_once](&call);
          call.x += at_once * x_group_step;
          call.y += at_once * y_group_step;
          call.mask = call.mask ? call.mask + at_once * y_group_step : NULL;
        }
    }
}

/* Groups that run together in a block: their inputs share L1 with nothing else. */
static int
groups_at_once (void)
{
  return TN_LW == 16 ? 4 : 1;
}

void
ISA (tn_lanes_dense_forward) (const TnLanesDense *dense, const float *x, const float *w, const float *bias, gboolean relu,
                              float *y, int r0, int r1, int g0, int g1)
{
  ptrdiff_t x_step = (ptrdiff_t) dense->n_in * 16, y_step = (ptrdiff_t) dense->n_out * 16;
  for (int i = 0, n, most = stretch_of (dense->n_in); i < dense->n_in; i += n)
    {
      n = MIN (dense->n_in - i, most);
      gboolean last = i + n == dense->n_in;
      TnLanesCall call = { .w = w + i, .x = x + (ptrdiff_t) i * 16, .y = y, .w_output_step = dense->n_in,
                           .y_output_step = 16, .taps = dense->forward, .n_taps = n, .resume = i > 0,
                           .bias = last ? bias : NULL, .relu = last && relu };
      for (int r = r0, rows; r < r1; r += rows)
        {
          rows = MIN (r1 - r, PANEL);
          for (int g = g0; g < g1; g += groups_at_once ())
            dense_blocks (&call, r, r + rows, g, MIN (g1, g + groups_at_once ()), x_step, y_step);
        }
    }
}

/* Blocks of inputs that are packed together, and the distance of two: a line more than their size, or all would fall on
 * the same cache sets. */
#define PACKED_BLOCKS 8
#define ROWS_AHEAD 8 /* each of them lies in cache lines of its own, too far apart for the processor to foresee */
#define PACKED_STEP (TN_LANES_CHAIN * 8 + 16)

/** Columns of @n_rows rows of @w, one block after the other, 8 floats a row of which the block's own matter. @n_floats: how
 * many may be read from a row of @w on. */
static void
pack_columns (const float *w, ptrdiff_t row_step, int n_rows, const int *rows, int n_blocks, int n_floats, float *out)
{
  int width = 0;
  for (int b = 0; b < n_blocks; b++)
    width += rows[b];
  for (int o = 0; o < n_rows; o++, w += row_step, out += 8)
    {
      for (int at = 0; at < width + 15 && o + ROWS_AHEAD < n_rows; at += 16)
        __builtin_prefetch (w + ROWS_AHEAD * row_step + at);
      for (int b = 0, at = 0; b < n_blocks; at += rows[b++])
        if (at + 8 <= n_floats)
          memcpy (out + b * PACKED_STEP, w + at, 8 * sizeof *out);
        else
          memcpy (out + b * PACKED_STEP, w + at, rows[b] * sizeof *out);
    }
}

void
ISA (tn_lanes_dense_backward_data) (const TnLanesDense *dense, const float *dy, const float *w, const float *relu_y,
                                    float *dx, int r0, int r1, int g0, int g1)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  float packed[PACKED_BLOCKS * PACKED_STEP] __attribute__ ((aligned (64)));
  ptrdiff_t dy_step = (ptrdiff_t) dense->n_out * 16, dx_step = (ptrdiff_t) dense->n_in * 16;
  for (int o = 0, n, most = stretch_of (dense->n_out); o < dense->n_out; o += n)
    {
      n = MIN (dense->n_out - o, most);
      gboolean last = o + n == dense->n_out;
      for (int r = r0, end; r < r1; r = end)
        {
          const float *columns = w + (ptrdiff_t) o * dense->n_in + r;
          TnLanesCall calls[PACKED_BLOCKS];
          int rows[PACKED_BLOCKS], n_blocks = 0;
          for (end = r; end < r1 && n_blocks < PACKED_BLOCKS; end += rows[n_blocks++])
            {
              rows[n_blocks] = blocks->cover[MIN (r1 - end, TN_LANES_COVER)];
              calls[n_blocks] = (TnLanesCall){ .w = dense->pack ? packed + n_blocks * PACKED_STEP : columns + (end - r),
                                               .x = dy + (ptrdiff_t) o * 16, .y = dx + end * 16, .w_output_step = 1,
                                               .y_output_step = 16, .taps = dense->backward, .n_taps = n, .resume = o > 0,
                                               .mask = last && relu_y ? relu_y + end * 16 : NULL };
            }
          if (dense->pack)
            pack_columns (columns, dense->n_in, n, rows, n_blocks, dense->n_in - r, packed);
          for (int g = g0; g < g1; g += groups_at_once ())
            for (int b = 0; b < n_blocks; b++)
              dense_blocks (&calls[b], 0, rows[b], g, MIN (g1, g + groups_at_once ()), dy_step, dx_step);
        }
    }
}

void
ISA (tn_lanes_dense_transpose) (const TnLanesDense *dense, const float *x, float *xt, int p0, int p1)
{
  ptrdiff_t panel = (ptrdiff_t) dense->n_groups * 256;
  for (int p = p0; p < p1; p++)
    for (int g = 0; g < dense->n_groups; g++)
      {
        const float *in = x + ((ptrdiff_t) g * dense->n_in + p * 16) * 16;
        float *out = xt + p * panel + g * 256;
        int n = dense->n_in - p * 16;
        float block[256] __attribute__ ((aligned (64)));
        if (n < 16)
          {
            memset (block, 0, sizeof block);
            memcpy (block, in, n * 16 * sizeof *in);
            in = block;
          }
        ISA (tn_lanes_turn) (in, 16, out, 16);
      }
}

/** Rows [r, r + n_rows) of panels [0, n_panels): weights of the gather are dy, positions are the panels of x. */
static void
grad_rows (const TnLanesDense *dense, const float *xt, const float *dy, gboolean accumulate, float *dw, int r, int n_rows)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  ptrdiff_t panel = (ptrdiff_t) dense->n_groups * 256;
  int whole = dense->n_in / 16, rest = dense->n_in % 16;
  float edge[TN_LANES_MAX_OUTPUTS * 16] __attribute__ ((aligned (64)));
  for (int i = 0, n, most = stretch_of (dense->n_images); i < dense->n_images; i += n)
    {
      n = MIN (dense->n_images - i, most);
      TnLanesCall call = { .w = dy + r * 16, .x = xt, .y = dw + (ptrdiff_t) r * dense->n_in, .w_output_step = 16,
                           .x_position_step = panel, .y_output_step = dense->n_in, .y_position_step = 16,
                           .taps = dense->images + i, .n_taps = n, .resume = accumulate || i > 0 };
      for (int left = whole, at_once; left > 0; left -= call.n_positions)
        {
          at_once = MIN (blocks->positions[n_rows], left);
          while (!blocks->run[n_rows][at_once])
            at_once--;
          call.n_positions = left - left % at_once;
          blocks->run[n_rows][at_once](&call);
          call.x += call.n_positions * panel;
          call.y += call.n_positions * 16;
        }
      if (rest == 0)
        continue;
      float *out = call.y;
      call.y = edge;
      call.y_output_step = 16;
      call.n_positions = 1;
      for (int o = 0; o < n_rows; o++)
        {
          memset (edge + o * 16, 0, 16 * sizeof *edge);
          if (call.resume)
            memcpy (edge + o * 16, out + (ptrdiff_t) o * dense->n_in, rest * sizeof *edge);
        }
      blocks->run[n_rows][1](&call);
      for (int o = 0; o < n_rows; o++)
        memcpy (out + (ptrdiff_t) o * dense->n_in, edge + o * 16, rest * sizeof *edge);
    }
}

static float
bias_sum (const TnLanesDense *dense, const float *dy, int row)
{
  V sum = { 0 };
  for (int g = 0; g < dense->n_groups; g++)
    UNROLL for (int h = 0; h < HALVES; h++) sum += v_load (dy + ((ptrdiff_t) g * dense->n_out + row) * 16 + h * LW);
  return v_sum (sum);
}

void
ISA (tn_lanes_dense_backward_weights) (const TnLanesDense *dense, const float *xt, const float *dy, gboolean accumulate,
                                       float *dw, float *db, int r0, int r1)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  for (int r = r0, n; r < r1; r += n)
    {
      n = blocks->cover[MIN (r1 - r, TN_LANES_COVER)];
      grad_rows (dense, xt, dy, accumulate, dw, r, n);
    }
  for (int r = r0; db && r < r1; r++)
    db[r] = bias_sum (dense, dy, r) + (accumulate ? db[r] : 0);
}
