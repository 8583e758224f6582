/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "device/cpu/kernels.h"
#include "device/cpu/norm-planes.h"
#include "device/cpu/wide.h"

/* Batch norm in TN_LAYOUT_BLOCKED where an image has many channels, in TN_LAYOUT_LANES elsewhere.
 *
 * Means and squares are taken plane by plane, of each image about its own mean while the plane is in the nearest cache,
 * and put together in double by image number (Chan, Golub and LeVeque 1983), so x is read once from memory for both and
 * nothing cancels. Both layouts add in the same order. A task takes some channels of the whole batch. */

#define LANES_CHANNELS 4 /* of a task in lanes */

/* ---- planes ---- */

/* How the planes of one task's channels lie: BLOCKED has an image of width channels a plane, LANES a channel of 16 images. */
typedef struct
{
  const TnNormPlanes *loops;
  gboolean lanes;
  int width;
  int64_t rows, channels, positions;
  int64_t first, last; /* channels of this task */
} Cut;

static Cut
make_cut (const TnCpuCall *call, const TnShape *shape, gboolean lanes)
{
  Cut cut = { .lanes = lanes, .width = lanes ? TN_LANES : call->target->block, .rows = shape->dims[0], .channels = shape->dims[1],
              .positions = tn_shape_span (shape, 2, shape->n_dims) };
  cut.loops = tn_norm_planes (call->target->isa, cut.width);
  int64_t step = lanes ? LANES_CHANNELS : cut.width;
  cut.first = call->task * step;
  cut.last = MIN (cut.first + step, cut.channels);
  return cut;
}

/* Planes of this task: in lanes one for each (channel, group of images), else one an image. */
static int64_t
n_planes (const Cut *cut)
{
  return cut->lanes ? (cut->last - cut->first) * tn_lanes_groups (cut->rows) : cut->rows;
}

static size_t
plane_offset (const Cut *cut, int64_t plane)
{
  int64_t at = cut->lanes ? plane % tn_lanes_groups (cut->rows) * cut->channels + cut->first + plane / tn_lanes_groups (cut->rows)
                          : plane * (cut->channels / cut->width) + cut->first / cut->width;
  return (size_t) (at * cut->positions * cut->width);
}

/* The channel of column @k of @plane, counted from the task's first; -1 for a lane without an image. */
static int
channel_of (const Cut *cut, int64_t plane, int k)
{
  int groups = tn_lanes_groups (cut->rows);
  if (!cut->lanes)
    return k;
  return plane % groups * TN_LANES + k < cut->rows ? (int) (plane / groups) : -1;
}

/* Spreads one number a channel over the columns of @plane; 0 in unused lanes. */
static void
spread (const Cut *cut, int64_t plane, const float *by_channel, float *columns)
{
  for (int k = 0; k < cut->width; k++)
    {
      int c = channel_of (cut, plane, k);
      columns[k] = c < 0 ? 0 : by_channel[c];
    }
}

/* ---- forward ---- */

typedef struct
{
  int64_t n; /* planes so far */
  double mean, squares;
} Moments;

static void
add_plane (Moments *m, double positions, double mean, double squares)
{
  double difference = mean - m->mean, n = (double) m->n++;
  m->mean += difference / (n + 1);
  m->squares += squares + difference * difference * positions * n / (n + 1);
}

static void
take_moments (const Cut *cut, const float *x, Moments *moments)
{
  float mean[TN_LANES], squares[TN_LANES];
  for (int64_t plane = 0; plane < n_planes (cut); plane++)
    {
      cut->loops->moments (x + plane_offset (cut, plane), cut->positions, mean, squares);
      for (int k = 0; k < cut->width; k++)
        {
          int c = channel_of (cut, plane, k);
          if (c >= 0)
            add_plane (&moments[c], (double) cut->positions, mean[k], squares[k]);
        }
    }
}

static void
forward (const TnCpuCall *call, gboolean lanes, const float *add, gboolean relu)
{
  const TnNode *node = call->node;
  Cut cut = make_cut (call, &node->inputs[0]->shape, lanes);
  const float *x = call->in[0], *gamma = call->in[1], *beta = call->in[2], *old_mean = call->in[3], *old_variance = call->in[4];
  float *y = call->out[0], *new_mean = call->out[1], *new_variance = call->out[2], *saved_mean = call->out[3], *saved_invstd = call->out[4];
  gboolean training = tn_node_bool (node, "is_training");
  double epsilon = tn_node_float (node, "epsilon"), keep = tn_node_float (node, "momentum"), n = (double) (cut.rows * cut.positions);
  Moments moments[TN_LANES] = { 0 };
  float centre[TN_LANES], scale[TN_LANES], shift[TN_LANES];
  if (training)
    take_moments (&cut, x, moments);
  for (int64_t c = cut.first; c < cut.last; c++)
    {
      const Moments *m = &moments[c - cut.first];
      double mean = training ? m->mean : old_mean[c], variance = training ? m->squares / n : old_variance[c];
      if (training)
        {
          new_mean[c] = (float) (keep * old_mean[c] + (1 - keep) * mean);
          new_variance[c] = (float) (keep * old_variance[c] + (1 - keep) * m->squares / MAX (n - 1, 1));
        }
      double invstd = 1 / sqrt (variance + epsilon);
      saved_mean[c] = centre[c - cut.first] = (float) mean;
      saved_invstd[c] = (float) invstd;
      scale[c - cut.first] = (float) (invstd * gamma[c]);
      shift[c - cut.first] = beta[c];
    }
  for (int64_t plane = 0; plane < n_planes (&cut); plane++)
    {
      float centres[TN_LANES], scales[TN_LANES], shifts[TN_LANES];
      size_t at = plane_offset (&cut, plane);
      spread (&cut, plane, centre, centres);
      spread (&cut, plane, scale, scales);
      spread (&cut, plane, shift, shifts);
      cut.loops->apply (x + at, add != NULL ? add + at : NULL, relu, cut.positions, centres, scales, shifts, y + at);
    }
}

/* ---- backward ---- */

static void
backward (const TnCpuCall *call, gboolean lanes, const float *dy, const float *relu_y, const float *x, void *const *rest)
{
  const TnNode *node = call->node;
  Cut cut = make_cut (call, &node->outputs[0].shape, lanes);
  const float *gamma = rest[0], *mean = rest[1], *invstd = rest[2];
  float *dx = call->out[0], *dgamma = call->out[1], *dbeta = call->out[2];
  gboolean training = tn_node_bool (node, "is_training");
  double n = (double) (cut.rows * cut.positions), sums[TN_LANES] = { 0 }, products[TN_LANES] = { 0 };
  float a[TN_LANES], b[TN_LANES], c[TN_LANES];
  for (int64_t plane = 0; plane < n_planes (&cut); plane++)
    {
      float centres[TN_LANES], sum[TN_LANES], product[TN_LANES];
      size_t at = plane_offset (&cut, plane);
      spread (&cut, plane, mean + cut.first, centres);
      cut.loops->products (dy + at, relu_y != NULL ? relu_y + at : NULL, x + at, cut.positions, centres, sum, product);
      for (int k = 0; k < cut.width; k++)
        {
          int i = channel_of (&cut, plane, k);
          if (i < 0)
            continue;
          sums[i] += sum[k];
          products[i] += product[k];
        }
    }
  for (int64_t i = cut.first; i < cut.last; i++)
    {
      int k = (int) (i - cut.first);
      double scale = invstd[i], by_hat = products[k] * scale;
      dgamma[i] = (float) by_hat;
      dbeta[i] = (float) sums[k];
      a[k] = (float) (gamma[i] * scale);
      b[k] = training ? (float) (-gamma[i] * scale * scale * (by_hat / n)) : 0;
      c[k] = training ? (float) (-gamma[i] * scale * (sums[k] / n)) : 0;
    }
  for (int64_t plane = 0; plane < n_planes (&cut); plane++)
    {
      float centres[TN_LANES], as[TN_LANES], bs[TN_LANES], cs[TN_LANES];
      size_t at = plane_offset (&cut, plane);
      spread (&cut, plane, mean + cut.first, centres);
      spread (&cut, plane, a, as);
      spread (&cut, plane, b, bs);
      spread (&cut, plane, c, cs);
      cut.loops->gradient (dy + at, relu_y != NULL ? relu_y + at : NULL, x + at, cut.positions, centres, as, bs, cs, dx + at);
    }
}

/* ---- the table ---- */

static gboolean
match_blocked (const TnNode *node, const TnCpuTarget *target)
{
  return tn_wide_image (&node->outputs[0], target, TN_WIDE_CHANNELS);
}

static gboolean
match_lanes (const TnNode *node, const TnCpuTarget *target)
{
  const TnShape *shape = &node->outputs[0].shape;
  return node->outputs[0].dtype == TN_DTYPE_F32 && shape->n_dims >= 2 && tn_shape_count (shape) > 0
         && tn_shape_count (shape) < G_MAXINT32 / TN_LANES;
}

static int
tasks_blocked (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return (int) (node->outputs[0].shape.dims[1] / target->block);
}

static int
tasks_lanes (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return (int) ((node->outputs[0].shape.dims[1] + LANES_CHANNELS - 1) / LANES_CHANNELS);
}

#define KERNEL(kind, suffix, lanes, ...)                                                                                          \
  static void run_##kind##_##suffix (const TnCpuCall *call) { __VA_ARGS__; }
KERNEL (norm, blocked, FALSE, forward (call, FALSE, NULL, FALSE))
KERNEL (norm, lanes, TRUE, forward (call, TRUE, NULL, FALSE))
KERNEL (grad, blocked, FALSE, backward (call, FALSE, call->in[0], NULL, call->in[1], call->in + 2))
KERNEL (grad, lanes, TRUE, backward (call, TRUE, call->in[0], NULL, call->in[1], call->in + 2))

#define B TN_LAYOUT_BLOCKED
#define L TN_LAYOUT_LANES
#define R TN_LAYOUT_ROW
#define NORM(op_, layout, suffix, ...)                                                                                           \
  { .op = op_, .name = #suffix, .match = match_##suffix, .tasks = tasks_##suffix, .out = { layout, R, R, R, R }, __VA_ARGS__ }

const TnCpuKernel tn_cpu_kernels_norm[] = {
  NORM ("BatchNorm", B, blocked, .in = { B, R, R, R, R }, .run = run_norm_blocked),
  NORM ("BatchNorm", L, lanes, .in = { L, R, R, R, R }, .run = run_norm_lanes),
  NORM ("BatchNormGrad", B, blocked, .in = { B, B, R, R, R }, .inplace = TRUE, .run = run_grad_blocked),
  NORM ("BatchNormGrad", L, lanes, .in = { L, L, R, R, R }, .inplace = TRUE, .run = run_grad_lanes),
  { 0 },
};
