/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/lanes-isa.h"

/** All positions of one run for one block of outputs: as many at once as registers hold, spread evenly. */
static void
run_positions (TnLanesCall *call, int n_outputs, int n)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  const TnLanesBlock *run = call->half ? blocks->half_run[n_outputs] : blocks->run[n_outputs];
  int most = call->half ? blocks->half_positions[n_outputs] : blocks->positions[n_outputs];
  while (n > 0)
    {
      int n_blocks = (n + most - 1) / most, at_once = (n + n_blocks - 1) / n_blocks;
      while (!run[at_once])
        at_once--;
      call->n_positions = n - n % at_once;
      run[at_once](call);
      n -= call->n_positions;
      call->x += call->n_positions * call->x_position_step;
      call->y += call->n_positions * call->y_position_step;
      if (call->mask)
        call->mask += call->n_positions * call->y_position_step;
    }
}

/** Points @call at one row and column of outputs, from output @o on. */
static void
call_at (const TnLanesGather *gather, TnLanesCall *call, int o, int row, int row_base, int row_list, int column,
         int column_base, int column_list, int n_contracted)
{
  ptrdiff_t out = o * gather->out_plane + ((ptrdiff_t) row * gather->out_width + column) * 16;
  call->w += o * gather->w_output_step;
  call->x += ((ptrdiff_t) row_base * gather->in_width + column_base) * 16;
  call->y += out;
  call->mask = call->mask ? call->mask + out : NULL;
  call->bias = call->bias ? call->bias + o : NULL;
  call->taps = gather->taps[row_list * gather->n_column_lists + column_list];
  call->n_taps = n_contracted * gather->row_taps[row_list] * gather->column_taps[column_list];
}

/** A few columns at an edge do not fill a block that wants several positions: those run down the rows. */
static gboolean
is_thin (const TnLanesGather *gather, const TnLanesRun *run, int n_outputs, gboolean half)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  int most = half ? blocks->half_positions[n_outputs] : blocks->positions[n_outputs];
  return run->count < most && gather->n_row_runs < gather->n_rows;
}

/** One row of outputs of one convolution group, over @n_contracted channels of @x and @w. */
static void
gather_row (const TnLanesGather *gather, int row, const TnLanesCall *proto, int n_contracted)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  for (int o = 0, n; o < gather->n_outputs; o += n)
    {
      n = blocks->cover[MIN (gather->n_outputs - o, TN_LANES_COVER)];
      for (int i = 0; i < gather->n_runs; i++)
        {
          const TnLanesRun *run = &gather->runs[i];
          TnLanesCall call = *proto;
          if (is_thin (gather, run, n, proto->half))
            continue;
          call_at (gather, &call, o, row, gather->row_base[row], gather->row_list[row], run->first, run->base, run->list,
                   n_contracted);
          call.x_position_step = run->base_step * 16;
          call.y_position_step = run->step * 16;
          run_positions (&call, n, run->count);
        }
    }
}

/** What gather_row() left out. */
static void
gather_thin (const TnLanesGather *gather, const TnLanesCall *proto, int n_contracted)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  for (int o = 0, n; o < gather->n_outputs; o += n)
    {
      n = blocks->cover[MIN (gather->n_outputs - o, TN_LANES_COVER)];
      for (const TnLanesRun *run = gather->runs; run < gather->runs + gather->n_runs; run++)
        for (int i = 0; is_thin (gather, run, n, proto->half) && i < run->count; i++)
          for (const TnLanesRun *rows = gather->row_runs; rows < gather->row_runs + gather->n_row_runs; rows++)
            {
              TnLanesCall call = *proto;
              call_at (gather, &call, o, rows->first, rows->base, rows->list, run->first + i * run->step,
                       run->base + i * run->base_step, run->list, n_contracted);
              call.x_position_step = (ptrdiff_t) rows->base_step * gather->in_width * 16;
              call.y_position_step = (ptrdiff_t) rows->step * gather->out_width * 16;
              run_positions (&call, n, rows->count);
            }
    }
}

static void
gather_group (const TnLanesGather *gather, const float *x, const float *w, const float *bias, gboolean relu,
              const float *mask, float *y, gboolean half)
{
  for (int c = 0, n; c < gather->n_contracted; c += n)
    {
      n = MIN (gather->n_chain, gather->n_contracted - c);
      gboolean last = c + n == gather->n_contracted;
      TnLanesCall proto = { .w = w + c * gather->w_contracted_step, .x = x + c * gather->in_plane, .y = y,
                            .w_output_step = gather->w_output_step, .y_output_step = gather->out_plane,
                            .resume = c > 0, .bias = last ? bias : NULL, .relu = last && relu, .mask = last ? mask : NULL,
                            .half = half };
      for (int row = 0; row < gather->n_rows; row++)
        gather_row (gather, row, &proto, n);
      gather_thin (gather, &proto, n);
    }
}

/** Whether only the first 8 lanes need work. */
static gboolean
is_half (int lanes)
{
  return HALVES > 1 && lanes <= 8;
}

static void
gather_all (const TnLanesGather *gather, const float *x, const float *w, const float *bias, gboolean relu,
            const float *mask, float *y, int g0, int g1, int last_lanes)
{
  ptrdiff_t x_step = gather->n_contracted * gather->in_plane, y_step = gather->n_outputs * gather->out_plane;
  for (int g = g0; g < g1; g++)
    for (int part = 0; part < gather->n_groups; part++)
      {
        ptrdiff_t at = (ptrdiff_t) g * gather->n_groups + part;
        gather_group (gather, x + at * x_step, w + part * gather->w_group_step,
                      bias ? bias + part * gather->n_outputs : NULL, relu, mask ? mask + at * y_step : NULL, y + at * y_step,
                      g == g1 - 1 && is_half (last_lanes));
      }
}

void
ISA (tn_lanes_conv_forward) (const TnLanesConv *conv, const float *x, const float *w, const float *bias, gboolean relu,
                             float *y, int g0, int g1, int last_lanes)
{
  gather_all (&conv->forward, x, w, bias, relu, NULL, y, g0, g1, last_lanes);
}

void
ISA (tn_lanes_conv_backward_data) (const TnLanesConv *conv, const float *dy, const float *w, const float *relu_y,
                                   float *dx, int g0, int g1, int last_lanes)
{
  gather_all (&conv->backward, dy, w, NULL, FALSE, relu_y, dx, g0, g1, last_lanes);
}

/** Copies groups [g0, g1) into @out with a frame of zeros. */
static void
pad_images (const TnLanesConv *conv, const float *x, float *out, int g0, int g1)
{
  const TnLanesConvShape *s = &conv->shape;
  size_t row = (size_t) s->width * 16, padded_row = (size_t) conv->padded_width * 16;
  size_t left = (size_t) s->pad_left * 16, right = padded_row - left - row;
  size_t n_planes = (size_t) (g1 - g0) * s->channels;
  x += (size_t) g0 * s->channels * s->height * row;
  for (size_t i = 0; i < n_planes; i++)
    {
      memset (out, 0, s->pad_top * padded_row * sizeof *out);
      out += s->pad_top * padded_row;
      for (int r = 0; r < s->height; r++, x += row, out += padded_row)
        {
          memset (out, 0, left * sizeof *out);
          memcpy (out + left, x, row * sizeof *out);
          memset (out + left + row, 0, right * sizeof *out);
        }
      memset (out, 0, s->pad_bottom * padded_row * sizeof *out);
      out += s->pad_bottom * padded_row;
    }
}

/** All taps of @n_outputs outputs over the rows and groups of @sweep; the bias gradient goes with the first taps. */
static void
grad_sweep (const TnLanesConv *conv, const TnLanesGradCall *sweep, int n_outputs)
{
  const TnLanesBlocks *blocks = &ISA (tn_lanes_blocks);
  for (int t = 0, n; t < conv->n_taps; t += n)
    {
      n = MIN (conv->block_taps, conv->n_taps - t);
      while (!blocks->grad[n_outputs][n])
        n--;
      TnLanesGradCall call = *sweep;
      call.taps += t;
      call.sums += t * LW;
      call.bias_sums = t == 0 ? sweep->bias_sums : NULL;
      blocks->grad[n_outputs][n](&call);
    }
}

/** Lane sums to gradients. */
static void
grad_store (const float *sums, int n, gboolean accumulate, float *out)
{
  int i = 0;
#if TN_LW == 8
  /* Eight at once: halves are added until a vector holds eight sums, the tree of v_sum(). */
  for (; i + 8 <= n; i += 8)
    {
      V v[8], a[4], b[2];
      UNROLL for (int j = 0; j < 8; j++) v[j] = v_load (sums + (i + j) * LW);
      UNROLL for (int j = 0; j < 4; j++)
        a[j] = __builtin_shufflevector (v[j], v[j + 4], 0, 1, 2, 3, 8, 9, 10, 11)
               + __builtin_shufflevector (v[j], v[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
      UNROLL for (int j = 0; j < 2; j++)
        b[j] = __builtin_shufflevector (a[j], a[j + 2], 0, 1, 8, 9, 4, 5, 12, 13)
               + __builtin_shufflevector (a[j], a[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
      V all = __builtin_shufflevector (b[0], b[1], 0, 8, 2, 10, 4, 12, 6, 14)
              + __builtin_shufflevector (b[0], b[1], 1, 9, 3, 11, 5, 13, 7, 15);
      if (accumulate)
        all += v_loadu (out + i);
      v_storeu (out + i, all);
    }
#endif
  for (; i < n; i++)
    out[i] = accumulate ? out[i] + v_sum (v_load (sums + i * LW)) : v_sum (v_load (sums + i * LW));
}

/** One convolution group: block after block of outputs, each swept over groups and rows in order. */
static void
grad_part (const TnLanesConv *conv, const TnLanesGradCall *part, int n_groups, int last_lanes, gboolean accumulate, float *dw,
           float *db)
{
  int n_outputs = conv->shape.outputs / conv->shape.groups;
  int n_whole = is_half (last_lanes) ? n_groups - 1 : n_groups;
  float *bias_sums = part->sums + (ptrdiff_t) conv->block_outputs * conv->n_taps * LW;
  for (int o = 0, n; o < n_outputs; o += n)
    {
      n = MIN (conv->block_outputs, n_outputs - o);
      TnLanesGradCall call = *part;
      call.bias_sums = db ? bias_sums : NULL;
      for (int g = 0; g < n_groups; g += call.n_groups)
        for (int row = 0; row < conv->out_height; row += conv->sweep_rows)
          {
            call.half = g == n_whole;
            call.n_groups = call.half ? 1 : MIN (conv->sweep_groups, n_whole - g);
            call.n_rows = MIN (conv->sweep_rows, conv->out_height - row);
            call.resume = g > 0 || row > 0;
            call.x = part->x + g * part->x_group_step + row * part->x_row_step;
            call.dy = part->dy + g * part->dy_group_step + o * part->dy_output_step + row * (ptrdiff_t) conv->out_width * 16;
            grad_sweep (conv, &call, n);
          }
      grad_store (part->sums, n * conv->n_taps, accumulate, dw + (ptrdiff_t) o * conv->n_taps);
      if (db)
        grad_store (bias_sums, n, accumulate, db + o);
    }
}

void
ISA (tn_lanes_conv_backward_weights) (const TnLanesConv *conv, const float *x, const float *dy, gboolean accumulate,
                                      float *dw, float *db, void *scratch, int g0, int g1, int last_lanes)
{
  const TnLanesConvShape *s = &conv->shape;
  ptrdiff_t plane = (ptrdiff_t) conv->padded_height * conv->padded_width * 16;
  ptrdiff_t out_plane = (ptrdiff_t) conv->out_height * conv->out_width * 16;
  int in_part = s->channels / s->groups, out_part = s->outputs / s->groups;
  if (g0 >= g1)
    {
      if (!accumulate)
        memset (dw, 0, (size_t) s->outputs * conv->n_taps * sizeof *dw);
      if (!accumulate && db)
        memset (db, 0, s->outputs * sizeof *db);
      return;
    }
  float *sums = scratch, *padded = sums + (ptrdiff_t) conv->block_outputs * (conv->n_taps + 1) * 16;
  if (conv->padded)
    {
      pad_images (conv, x, padded, g0, g1);
      x = padded;
    }
  else
    x += g0 * s->channels * plane;
  dy += g0 * s->outputs * out_plane;
  TnLanesGradCall call = { .x_group_step = s->channels * plane,
                           .x_row_step = (ptrdiff_t) s->stride_h * conv->padded_width * 16,
                           .x_column_step = s->stride_w * 16,
                           .dy_group_step = s->outputs * out_plane,
                           .dy_output_step = out_plane,
                           .taps = conv->taps,
                           .n_columns = conv->out_width,
                           .sums = sums,
                           .sums_step = (ptrdiff_t) conv->n_taps * LW };
  for (int part = 0; part < s->groups; part++)
    {
      call.x = x + part * in_part * plane;
      call.dy = dy + part * out_part * out_plane;
      grad_part (conv, &call, g1 - g0, last_lanes, accumulate, dw + (ptrdiff_t) part * out_part * conv->n_taps,
                 db ? db + part * out_part : NULL);
    }
}

/** Lane sums of outputs [o, o + n), n at most 4: enough chains to hide the latency of an addition. */
INLINE void
bias_block (const float *dy, int outputs, ptrdiff_t plane, int o, const int n, gboolean accumulate, float *db, int g0, int g1)
{
  V sum[4];
  UNROLL for (int i = 0; i < n; i++) sum[i] = (V){ 0 };
  for (int g = g0; g < g1; g++)
    {
      const float *at = dy + ((ptrdiff_t) g * outputs + o) * plane;
      for (ptrdiff_t p = 0; p < plane; p += LW)
        UNROLL for (int i = 0; i < n; i++) sum[i] += v_load (at + i * plane + p);
    }
  UNROLL for (int i = 0; i < n; i++) db[o + i] = v_sum (sum[i]) + (accumulate ? db[o + i] : 0);
}

void
ISA (tn_lanes_bias_gradient) (const float *dy, int outputs, int plane, gboolean accumulate, float *db, int g0, int g1)
{
  int o = 0;
  for (; o + 4 <= outputs; o += 4)
    bias_block (dy, outputs, (ptrdiff_t) plane * 16, o, 4, accumulate, db, g0, g1);
  for (; o < outputs; o++)
    bias_block (dy, outputs, (ptrdiff_t) plane * 16, o, 1, accumulate, db, g0, g1);
}
