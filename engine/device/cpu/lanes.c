/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/lanes.h"
#include <limits.h>
#include <string.h>
#include "base/error.h"
#include "device/cpu/lanes-plan.h"

/* Descriptors of the lanes kernels: which taps meet which positions. */

extern const TnLanesKernels tn_lanes_table_sse2, tn_lanes_table_avx2, tn_lanes_table_avx512;

const TnLanesKernels *
tn_lanes_kernels (TnIsa isa)
{
  if (isa == TN_ISA_AUTO)
    isa = tn_isa_detect ();
  if (!tn_isa_available (isa))
    return NULL;
  switch (isa)
    {
    case TN_ISA_AVX512:
      return &tn_lanes_table_avx512;
    case TN_ISA_AVX2:
      return &tn_lanes_table_avx2;
    default:
      return &tn_lanes_table_sse2;
    }
}

#define SWEEP_BYTES (64 << 10) /* of an L2; taps of a channel share most of it in L1 */

/* --- one axis of a gather --- */

typedef struct
{
  int n_out, n_in, kernel, stride, pad, dilation;
  gboolean backward; /* outputs of this axis are inputs of the convolution */
} Axis;

/** The input index that tap @k of output @i reads, or -1. */
static int
axis_input (const Axis *axis, int i, int k)
{
  int64_t at;
  if (!axis->backward)
    at = (int64_t) i * axis->stride - axis->pad + (int64_t) k * axis->dilation;
  else
    {
      at = (int64_t) i + axis->pad - (int64_t) k * axis->dilation;
      if (at % axis->stride != 0)
        return -1;
      at /= axis->stride;
    }
  return at >= 0 && at < axis->n_in ? (int) at : -1;
}

/** What an axis comes to: lists of (k, input index from the first tap's), each output's list and base. */
typedef struct
{
  int n_lists;
  int *n_taps;        /* [n_lists] */
  int *k, *offset;    /* [n_lists][kernel] */
  int *list, *base;   /* [n_out] */
} AxisLists;

static void
axis_lists_clear (AxisLists *lists)
{
  g_free (lists->n_taps);
  g_free (lists->k);
  g_free (lists->offset);
  g_free (lists->list);
  g_free (lists->base);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (AxisLists, axis_lists_clear)

static void
axis_find_lists (const Axis *axis, AxisLists *lists)
{
  int kernel = axis->kernel;
  g_autofree int *k = g_new (int, kernel), *offset = g_new (int, kernel);
  lists->list = g_new (int, axis->n_out);
  lists->base = g_new0 (int, axis->n_out);
  for (int i = 0; i < axis->n_out; i++)
    {
      int n = 0, found = 0;
      for (int tap = 0; tap < kernel; tap++)
        {
          int at = axis_input (axis, i, tap);
          if (at < 0)
            continue;
          if (n == 0)
            lists->base[i] = at;
          k[n] = tap;
          offset[n++] = at - lists->base[i];
        }
      for (; found < lists->n_lists; found++)
        if (lists->n_taps[found] == n && memcmp (lists->k + (size_t) found * kernel, k, n * sizeof *k) == 0
            && memcmp (lists->offset + (size_t) found * kernel, offset, n * sizeof *offset) == 0)
          break;
      lists->list[i] = found;
      if (found < lists->n_lists)
        continue;
      lists->n_lists++;
      lists->n_taps = g_renew (int, lists->n_taps, lists->n_lists);
      lists->k = g_renew (int, lists->k, (size_t) lists->n_lists * kernel);
      lists->offset = g_renew (int, lists->offset, (size_t) lists->n_lists * kernel);
      lists->n_taps[found] = n;
      memcpy (lists->k + (size_t) found * kernel, k, n * sizeof *k);
      memcpy (lists->offset + (size_t) found * kernel, offset, n * sizeof *offset);
    }
}

/** Cuts the columns of each list into evenly spaced runs. */
static TnLanesRun *
axis_runs (const AxisLists *lists, int n_out, int *n_runs)
{
  GArray *runs = g_array_new (FALSE, FALSE, sizeof (TnLanesRun));
  for (int list = 0; list < lists->n_lists; list++)
    {
      TnLanesRun run = { 0 };
      for (int i = 0; i < n_out; i++)
        {
          if (lists->list[i] != list)
            continue;
          int step = i - run.first - (run.count - 1) * run.step;
          int base_step = lists->base[i] - run.base - (run.count - 1) * run.base_step;
          if (run.count == 1)
            {
              run.step = step;
              run.base_step = base_step;
            }
          else if (run.count == 0 || step != run.step || base_step != run.base_step)
            {
              if (run.count > 0)
                g_array_append_val (runs, run);
              run = (TnLanesRun){ .list = list, .first = i, .base = lists->base[i] };
            }
          run.count++;
        }
      if (run.count > 0)
        g_array_append_val (runs, run);
    }
  *n_runs = runs->len;
  return (TnLanesRun *) g_array_free (runs, FALSE);
}

/* --- gathers --- */

static void
gather_clear (TnLanesGather *gather)
{
  for (int i = 0; gather->taps && i < gather->n_row_lists * gather->n_column_lists; i++)
    g_free (gather->taps[i]);
  g_free (gather->taps);
  g_free (gather->row_list);
  g_free (gather->row_base);
  g_free (gather->row_taps);
  g_free (gather->column_taps);
  g_free (gather->runs);
  g_free (gather->row_runs);
}

static TnLanesTap *
gather_taps (const TnLanesGather *gather, const AxisLists *rows, int r, const AxisLists *columns, int c, int kernel_h,
             int kernel_w)
{
  TnLanesTap *taps = g_new (TnLanesTap, MAX (1, gather->n_chain * rows->n_taps[r] * columns->n_taps[c])), *tap = taps;
  for (int channel = 0; channel < gather->n_chain; channel++)
    for (int i = 0; i < rows->n_taps[r]; i++)
      for (int j = 0; j < columns->n_taps[c]; j++, tap++)
        {
          int y = rows->offset[r * kernel_h + i], x = columns->offset[c * kernel_w + j];
          int ky = rows->k[r * kernel_h + i], kx = columns->k[c * kernel_w + j];
          tap->x = (int32_t) ((channel * gather->in_plane + ((ptrdiff_t) y * gather->in_width + x) * 16) * sizeof (float));
          tap->w = (int32_t) ((channel * gather->w_contracted_step + ky * kernel_w + kx) * sizeof (float));
        }
  return taps;
}

/** Fills the lists of a gather whose channel counts, planes and weight steps are set. */
static void
gather_build (TnLanesGather *gather, const Axis *row_axis, const Axis *column_axis)
{
  g_auto (AxisLists) rows = { 0 }, columns = { 0 };
  axis_find_lists (row_axis, &rows);
  axis_find_lists (column_axis, &columns);
  gather->n_rows = row_axis->n_out;
  gather->row_runs = axis_runs (&rows, row_axis->n_out, &gather->n_row_runs);
  gather->row_list = g_steal_pointer (&rows.list);
  gather->row_base = g_steal_pointer (&rows.base);
  gather->n_row_lists = rows.n_lists;
  gather->n_column_lists = columns.n_lists;
  gather->runs = axis_runs (&columns, column_axis->n_out, &gather->n_runs);
  gather->row_taps = g_memdup2 (rows.n_taps, rows.n_lists * sizeof (int));
  gather->column_taps = g_memdup2 (columns.n_taps, columns.n_lists * sizeof (int));
  int area = row_axis->kernel * column_axis->kernel;
  int n_chains = (gather->n_contracted * area + TN_LANES_CHAIN - 1) / TN_LANES_CHAIN;
  n_chains = CLAMP (n_chains, 1, gather->n_contracted);
  gather->n_chain = (gather->n_contracted + n_chains - 1) / n_chains;
  gather->taps = g_new (TnLanesTap *, (size_t) rows.n_lists * columns.n_lists);
  for (int r = 0; r < rows.n_lists; r++)
    for (int c = 0; c < columns.n_lists; c++)
      gather->taps[r * columns.n_lists + c]
          = gather_taps (gather, &rows, r, &columns, c, row_axis->kernel, column_axis->kernel);
}

/* --- convolution --- */

static int
out_size (int in, int pad0, int pad1, int kernel, int stride, int dilation)
{
  int64_t room = (int64_t) in + pad0 + pad1 - (int64_t) dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : (int) (room / stride + 1);
}

/** Whether one group of 16 images of @channels planes of @height x @width stays below 2 GiB. */
static gboolean
fits (int64_t channels, int64_t height, int64_t width)
{
  int64_t plane, all;
  return !__builtin_mul_overflow (height, width, &plane) && !__builtin_mul_overflow (plane, channels, &all)
         && all <= INT32_MAX / 64;
}

static gboolean
conv_check (const TnLanesConvShape *s, int out_height, int out_width, GError **error)
{
  gboolean positive = s->channels > 0 && s->height > 0 && s->width > 0 && s->outputs > 0 && s->kernel_h > 0
                      && s->kernel_w > 0 && s->stride_h > 0 && s->stride_w > 0 && s->dilation_h > 0 && s->dilation_w > 0
                      && s->groups > 0;
  if (!positive || s->pad_top < 0 || s->pad_bottom < 0 || s->pad_left < 0 || s->pad_right < 0)
    g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                 _ ("Convolution of %d channels of %d x %d: every size must be at least 1 and every pad at least 0"),
                 s->channels, s->height, s->width);
  else if (s->channels % s->groups != 0 || s->outputs % s->groups != 0)
    g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                 _ ("Convolution from %d to %d channels: %d groups must divide both"), s->channels, s->outputs, s->groups);
  else if (out_height < 1 || out_width < 1)
    g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                 _ ("Convolution of %d x %d with a kernel of %d x %d has no output; pad the input or take a smaller kernel"),
                 s->height, s->width, s->kernel_h, s->kernel_w);
  else if (!fits (s->channels, (int64_t) s->height + s->pad_top + s->pad_bottom,
                  (int64_t) s->width + s->pad_left + s->pad_right)
           || !fits (s->outputs, out_height, out_width)
           || !fits ((int64_t) s->outputs * (s->channels / s->groups), s->kernel_h, s->kernel_w))
    g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                 _ ("Convolution of %d channels of %d x %d to %d channels is too large for batch-in-lanes kernels"),
                 s->channels, s->height, s->width, s->outputs);
  else
    return TRUE;
  return FALSE;
}

/** Cycles of a weight-gradient block for half a position: multiply-adds, loads and latency compete. Blocks that need the
 * last of 16 registers, or pass their outputs through one, measure 12 % slower. */
static double
grad_cost (const TnLanesBlocks *blocks, int outputs, int taps)
{
  double cycles = MAX (MAX (outputs * taps / 2.0, (outputs + taps) / 2.0), 4) + 0.25;
  gboolean tight = !blocks->grad[5][5] && outputs * taps + MIN (outputs, taps) + 1 >= 16;
  return tight || outputs > taps ? cycles * 1.12 : cycles;
}

static double
grad_row_cost (const TnLanesBlocks *blocks, int outputs, int block_taps, int n_taps)
{
  double cost = 0;
  for (int t = 0, tb; t < n_taps; t += tb)
    {
      tb = MIN (block_taps, n_taps - t);
      while (!blocks->grad[outputs][tb])
        tb--;
      cost += grad_cost (blocks, outputs, tb);
    }
  return cost;
}

/** The block that covers outputs x taps in the fewest cycles, edges counted. */
static void
choose_grad_block (TnLanesConv *self, const TnLanesBlocks *blocks)
{
  int n_outputs = self->shape.outputs / self->shape.groups;
  double best = G_MAXDOUBLE;
  for (int o = 1; o <= MIN (n_outputs, TN_LANES_MAX_OUTPUTS); o++)
    for (int t = 1; t <= MIN (self->n_taps, TN_LANES_MAX_TAPS); t++)
      {
        if (!blocks->grad[o][t])
          continue;
        double cost = n_outputs / o * grad_row_cost (blocks, o, t, self->n_taps);
        if (n_outputs % o)
          cost += grad_row_cost (blocks, n_outputs % o, t, self->n_taps);
        if (cost < best)
          {
            best = cost;
            self->block_outputs = o;
            self->block_taps = t;
          }
      }
}

/** Rows whose outputs' gradients and one channel's inputs take SWEEP_BYTES, or as many whole groups. */
static void
choose_sweep (TnLanesConv *self)
{
  const TnLanesConvShape *s = &self->shape;
  int64_t row = ((int64_t) self->block_outputs * self->out_width + (int64_t) s->stride_h * self->padded_width) * 64;
  int64_t edge = (int64_t) s->dilation_h * (s->kernel_h - 1) * self->padded_width * 64;
  int64_t group = row * self->out_height + edge;
  if (group <= SWEEP_BYTES)
    {
      self->sweep_groups = (int) (SWEEP_BYTES / group);
      self->sweep_rows = self->out_height;
      return;
    }
  int64_t rows = MAX ((SWEEP_BYTES - edge) / row, 1), n = (self->out_height + rows - 1) / rows;
  self->sweep_groups = 1;
  self->sweep_rows = (int) ((self->out_height + n - 1) / n);
}

static void
conv_build_grad (TnLanesConv *self, const TnLanesBlocks *blocks)
{
  const TnLanesConvShape *s = &self->shape;
  self->padded = s->pad_top || s->pad_bottom || s->pad_left || s->pad_right;
  self->padded_height = s->height + s->pad_top + s->pad_bottom;
  self->padded_width = s->width + s->pad_left + s->pad_right;
  self->n_taps = s->channels / s->groups * s->kernel_h * s->kernel_w;
  self->taps = g_new (int32_t, self->n_taps);
  int32_t *tap = self->taps;
  for (int c = 0; c < s->channels / s->groups; c++)
    for (int ky = 0; ky < s->kernel_h; ky++)
      for (int kx = 0; kx < s->kernel_w; kx++)
        *tap++ = ((c * self->padded_height + ky * s->dilation_h) * self->padded_width + kx * s->dilation_w) * 16;
  choose_grad_block (self, blocks);
  choose_sweep (self);
}

TnLanesConv *
tn_lanes_conv_new (const TnLanesKernels *kernels, const TnLanesConvShape *s, GError **error)
{
  g_return_val_if_fail (kernels && s, NULL);
  gboolean sane = s->stride_h > 0 && s->stride_w > 0 && s->dilation_h > 0 && s->dilation_w > 0;
  int oh = sane ? out_size (s->height, s->pad_top, s->pad_bottom, s->kernel_h, s->stride_h, s->dilation_h) : 0;
  int ow = sane ? out_size (s->width, s->pad_left, s->pad_right, s->kernel_w, s->stride_w, s->dilation_w) : 0;
  if (!conv_check (s, oh, ow, error))
    return NULL;
  TnLanesConv *self = g_new0 (TnLanesConv, 1);
  self->shape = *s;
  self->out_height = oh;
  self->out_width = ow;
  ptrdiff_t area = (ptrdiff_t) s->kernel_h * s->kernel_w, in_part = s->channels / s->groups, out_part = s->outputs / s->groups;
  ptrdiff_t in_plane = (ptrdiff_t) s->height * s->width * 16, out_plane = (ptrdiff_t) oh * ow * 16;
  self->forward = (TnLanesGather){ .n_contracted = in_part, .n_outputs = out_part, .n_groups = s->groups,
                                   .in_width = s->width, .out_width = ow, .in_plane = in_plane, .out_plane = out_plane,
                                   .w_output_step = in_part * area, .w_contracted_step = area,
                                   .w_group_step = out_part * in_part * area };
  self->backward = (TnLanesGather){ .n_contracted = out_part, .n_outputs = in_part, .n_groups = s->groups,
                                    .in_width = ow, .out_width = s->width, .in_plane = out_plane, .out_plane = in_plane,
                                    .w_output_step = area, .w_contracted_step = in_part * area,
                                    .w_group_step = out_part * in_part * area };
  gather_build (&self->forward, &(Axis){ oh, s->height, s->kernel_h, s->stride_h, s->pad_top, s->dilation_h, FALSE },
                &(Axis){ ow, s->width, s->kernel_w, s->stride_w, s->pad_left, s->dilation_w, FALSE });
  gather_build (&self->backward, &(Axis){ s->height, oh, s->kernel_h, s->stride_h, s->pad_top, s->dilation_h, TRUE },
                &(Axis){ s->width, ow, s->kernel_w, s->stride_w, s->pad_left, s->dilation_w, TRUE });
  conv_build_grad (self, kernels->blocks);
  return self;
}

void
tn_lanes_conv_free (TnLanesConv *self)
{
  if (!self)
    return;
  gather_clear (&self->forward);
  gather_clear (&self->backward);
  g_free (self->taps);
  g_free (self);
}

int
tn_lanes_conv_out_height (const TnLanesConv *self)
{
  return self->out_height;
}

int
tn_lanes_conv_out_width (const TnLanesConv *self)
{
  return self->out_width;
}

size_t
tn_lanes_conv_scratch (const TnLanesConv *self, int n_groups)
{
  size_t plane = (size_t) self->padded_height * self->padded_width * 64;
  size_t sums = (size_t) self->block_outputs * (self->n_taps + 1) * 64;
  return sums + (self->padded ? plane * self->shape.channels * n_groups : 0);
}

/* --- dense --- */

TnLanesDense *
tn_lanes_dense_new (const TnLanesKernels *kernels, int n_images, int n_in, int n_out, GError **error)
{
  g_return_val_if_fail (kernels, NULL);
  int n_groups = n_images > 0 ? tn_lanes_groups (n_images) : 0;
  if (n_images < 1 || n_in < 1 || n_out < 1 || n_in > INT32_MAX - 15 || !fits (n_groups, (n_in + 15) / 16 * 16, 1)
      || !fits (n_groups, n_out, 1) || !fits (1, n_in, n_out))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
                   _ ("Dense layer from %d to %d features for a batch of %d: sizes must be at least 1, and arrays below 2 GiB"),
                   n_in, n_out, n_images);
      return NULL;
    }
  TnLanesDense *self = g_new0 (TnLanesDense, 1);
  *self = (TnLanesDense){ .n_images = n_images, .n_in = n_in, .n_out = n_out, .n_groups = n_groups };
  self->forward = g_new (TnLanesTap, TN_LANES_CHAIN);
  self->backward = g_new (TnLanesTap, TN_LANES_CHAIN);
  /* Going down the columns of w meets one cache line a row. Packing them pays where many groups follow, or where the rows
   * lie a power of two apart and fall on the same few cache sets. */
  self->pack = n_groups > 4 || n_in % 128 == 0;
  for (int i = 0; i < TN_LANES_CHAIN; i++)
    {
      self->forward[i] = (TnLanesTap){ i * 64, i * 4 };
      self->backward[i] = (TnLanesTap){ i * 64, self->pack ? i * 32 : MIN (i, n_out - 1) * n_in * 4 };
    }
  self->images = g_new (TnLanesTap, n_images);
  for (int n = 0; n < n_images; n++)
    self->images[n] = (TnLanesTap){ n * 64, n / 16 * n_out * 64 + n % 16 * 4 };
  return self;
}

void
tn_lanes_dense_free (TnLanesDense *self)
{
  if (!self)
    return;
  g_free (self->forward);
  g_free (self->backward);
  g_free (self->images);
  g_free (self);
}

int
tn_lanes_dense_panels (const TnLanesDense *self)
{
  return (self->n_in + 15) / 16;
}

size_t
tn_lanes_dense_scratch (const TnLanesDense *self)
{
  return (size_t) tn_lanes_dense_panels (self) * self->n_groups * 256 * sizeof (float);
}

/* --- pool --- */

/** Whether windows 0 and n_out - 1 of an axis meet the image. */
static gboolean
axis_windows_fit (int in, int kernel, int stride, int pad, int n_out)
{
  return pad < kernel && ((int64_t) n_out - 1) * stride - pad < in;
}

gboolean
tn_lanes_pool_check (const TnLanesPool *p, GError **error)
{
  gboolean positive = p->channels > 0 && p->height > 0 && p->width > 0 && p->kernel_h > 0 && p->kernel_w > 0
                      && p->stride_h > 0 && p->stride_w > 0 && p->out_height > 0 && p->out_width > 0;
  if (positive && p->pad_top >= 0 && p->pad_left >= 0 && fits (p->channels, p->height, p->width)
      && axis_windows_fit (p->height, p->kernel_h, p->stride_h, p->pad_top, p->out_height)
      && axis_windows_fit (p->width, p->kernel_w, p->stride_w, p->pad_left, p->out_width))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
               _ ("Pool of %d x %d with a kernel of %d x %d to %d x %d: sizes must be at least 1, pads smaller than the kernel, "
                  "and each window must meet the image"),
               p->height, p->width, p->kernel_h, p->kernel_w, p->out_height, p->out_width);
  return FALSE;
}

gboolean
tn_lanes_pool_is_quarter (const TnLanesPool *p)
{
  return p->kernel_h == 2 && p->kernel_w == 2 && p->stride_h == 2 && p->stride_w == 2 && p->pad_top == 0 && p->pad_left == 0
         && p->out_height * 2 <= p->height && p->out_width * 2 <= p->width;
}
