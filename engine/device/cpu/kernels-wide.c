/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "device/cpu/dnnl-conv.h"
#include "device/cpu/kernels.h"
#include "device/cpu/wide.h"
#include "ops/conv.h"

/* Convolutions with many channels, by oneDNN.
 *
 * A kernel is whole and cut by (chunk of output channels, group of images) into tasks that depend on the shapes alone.
 * oneDNN sees one image and one chunk at a time: one image of some channel blocks is contiguous in TN_LAYOUT_BLOCKED, so
 * nothing is copied, a chunk's weights stay in the cache, and a row's bits do not depend on the rest of the batch. A weight
 * gradient is cut by output channels, each task sums the whole batch. */

#define IMAGE_GROUPS 16 /* tasks of a convolution, about */
#define GRADIENT_OUTPUTS 16 /* channels of a weight gradient's task: more fall out of the cache (measured) */
#define SEVERAL_TASKS 8

static TnDnnlKind
kind_of (const TnNode *node)
{
  return g_str_has_suffix (node->op->name, "Input")    ? TN_DNNL_BACKWARD_DATA
         : g_str_has_suffix (node->op->name, "Filter") ? TN_DNNL_BACKWARD_WEIGHTS
                                                       : TN_DNNL_FORWARD;
}

/* ---- how a node is cut ---- */

typedef struct
{
  TnConv2dGeometry g;
  TnDnnlConv *conv;
  int64_t chunk, n_chunks;   /* channels of what is computed: of y, of x, or outputs of w */
  int64_t group, n_groups;   /* images */
  gboolean chunk_outer;      /* tasks are (chunk, group); else a task goes through all chunks image by image */
  size_t dy_bytes, dw_bytes; /* scratch of a weight gradient before oneDNN's own */
} Wide;

/* Whether a chunk's weights stay and images pass by, or the other way round: what is read again less. */
static void
cut_images (Wide *wide, int64_t channels, int64_t others, int64_t read_again, int block)
{
  int64_t taps = wide->g.kh * wide->g.kw, weights = channels * others * taps;
  wide->chunk = tn_wide_chunk (channels, others, taps, block);
  wide->n_chunks = channels / wide->chunk;
  wide->chunk_outer = wide->n_chunks > 1 && weights > wide->n_chunks * read_again;
  int64_t groups = wide->chunk_outer ? (IMAGE_GROUPS + wide->n_chunks - 1) / wide->n_chunks : IMAGE_GROUPS;
  wide->group = (wide->g.n + groups - 1) / groups;
  wide->n_groups = (wide->g.n + wide->group - 1) / wide->group;
}

static size_t
aligned (size_t bytes)
{
  return (bytes + 63) & ~(size_t) 63;
}

static void
cut_outputs (Wide *wide, int block)
{
  const TnConv2dGeometry *g = &wide->g;
  wide->chunk = g->o % GRADIENT_OUTPUTS == 0 && g->o / GRADIENT_OUTPUTS >= SEVERAL_TASKS ? GRADIENT_OUTPUTS : block;
  wide->n_chunks = g->o / wide->chunk;
  wide->dy_bytes = aligned ((size_t) (g->n * wide->chunk * g->oh * g->ow) * sizeof (float));
  wide->dw_bytes = aligned ((size_t) (wide->chunk * g->c * g->kh * g->kw) * sizeof (float));
}

/* Fills in all of @wide but the primitive, whose shape is returned. */
static TnDnnlConvShape
cut (Wide *wide, const TnNode *node, const TnCpuTarget *target)
{
  TnDnnlKind kind = kind_of (node);
  tn_conv2d_geometry (node, &wide->g);
  const TnConv2dGeometry *g = &wide->g;
  if (kind == TN_DNNL_FORWARD)
    cut_images (wide, g->o, g->c, g->c * g->h * g->w, target->block);
  else if (kind == TN_DNNL_BACKWARD_DATA)
    cut_images (wide, g->c, g->o, g->o * g->oh * g->ow, target->block);
  else
    cut_outputs (wide, target->block);
  return (TnDnnlConvShape){ .kind = kind, .n = kind == TN_DNNL_BACKWARD_WEIGHTS ? g->n : 1, .h = g->h, .w = g->w, .oh = g->oh, .ow = g->ow,
                            .c = kind == TN_DNNL_BACKWARD_DATA ? wide->chunk : g->c, .o = kind == TN_DNNL_BACKWARD_DATA ? g->o : wide->chunk,
                            .kh = g->kh, .kw = g->kw, .stride_h = g->stride_h, .stride_w = g->stride_w, .pad_top = g->pad_top,
                            .pad_left = g->pad_left, .pad_bottom = g->pad_bottom, .pad_right = g->pad_right, .block = target->block,
                            .winograd = !target->strict };
}

/* ---- which ---- */

static gboolean
match_any (const TnNode *node, const TnCpuTarget *target)
{
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]->dtype != TN_DTYPE_F32)
      return FALSE;
  if (node->inputs[0]->shape.n_dims != 4 || tn_shape_count (&node->inputs[0]->shape) == 0)
    return FALSE;
  Wide wide = { 0 };
  tn_conv2d_geometry (node, &wide.g);
  const TnConv2dGeometry *g = &wide.g;
  gboolean inputs = g->c % target->block == 0 ? g->c >= TN_WIDE_INPUT_CHANNELS
                                              : g->c <= TN_DNNL_FEW_CHANNELS && kind_of (node) != TN_DNNL_BACKWARD_DATA;
  if (!inputs || g->o % target->block != 0 || g->o < TN_WIDE_CHANNELS || g->group != 1 || g->dilation_h != 1 || g->dilation_w != 1
      || g->n < 1 || MIN (MIN (g->pad_top, g->pad_bottom), MIN (g->pad_left, g->pad_right)) < 0
      || g->c * g->o * g->kh * g->kw >= G_MAXINT32 || g->n * g->c * g->h * g->w >= G_MAXINT32 || g->n * g->o * g->oh * g->ow >= G_MAXINT32)
    return FALSE;
  TnDnnlConvShape shape = cut (&wide, node, target);
  return tn_dnnl_conv_is_fast (&shape);
}

static gboolean
few_channels (const TnNode *node)
{
  TnConv2dGeometry g;
  tn_conv2d_geometry (node, &g);
  return g.c <= TN_DNNL_FEW_CHANNELS;
}

static gboolean
match_wide (const TnNode *node, const TnCpuTarget *target)
{
  return match_any (node, target) && !few_channels (node);
}

static gboolean
match_stem (const TnNode *node, const TnCpuTarget *target)
{
  return match_any (node, target) && few_channels (node);
}

/* ---- what a node prepares ---- */

static void
release_wide (void *data)
{
  Wide *wide = data;
  g_clear_pointer (&wide->conv, tn_dnnl_conv_free);
  g_free (wide);
}

static gboolean
prepare_wide (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  Wide *wide = g_new0 (Wide, 1);
  TnDnnlConvShape shape = cut (wide, node, target);
  wide->conv = tn_dnnl_conv_new (&shape, error);
  if (wide->conv == NULL)
    {
      release_wide (wide);
      return FALSE;
    }
  *scratch = wide->dy_bytes + wide->dw_bytes + tn_dnnl_conv_scratch (wide->conv);
  *data = wide;
  return TRUE;
}

static int
tasks_images (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  const Wide *wide = data;
  return (int) (wide->chunk_outer ? wide->n_chunks * wide->n_groups : wide->n_groups);
}

static int
tasks_weights (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return (int) ((const Wide *) data)->n_chunks;
}

/* ---- running ---- */

typedef void (*OneImage) (const TnCpuCall *call, const Wide *wide, int64_t image, int64_t chunk);

static void
for_each_image (const TnCpuCall *call, OneImage func)
{
  const Wide *wide = call->data;
  int64_t first_chunk = 0, last_chunk = wide->n_chunks, group = call->task;
  if (wide->chunk_outer)
    {
      first_chunk = call->task / wide->n_groups;
      last_chunk = first_chunk + 1;
      group = call->task % wide->n_groups;
    }
  int64_t end = MIN ((group + 1) * wide->group, wide->g.n);
  for (int64_t image = group * wide->group; image < end; image++)
    for (int64_t chunk = first_chunk; chunk < last_chunk; chunk++)
      func (call, wide, image, chunk);
}

/* y += bias, then ReLU, in the order and with the rounding of the three nodes apart. @y: [chunk / b][plane][b]. */
static void
add_bias (float *y, const float *bias, int64_t chunk, int64_t plane, int block)
{
  for (int64_t ob = 0; ob < chunk / block; ob++, bias += block)
    for (int64_t p = 0; p < plane; p++, y += block)
      for (int k = 0; k < block; k++)
        y[k] += bias[k];
}

static void
forward_image (const TnCpuCall *call, const Wide *wide, int64_t image, int64_t chunk)
{
  const TnConv2dGeometry *g = &wide->g;
  int64_t plane = g->oh * g->ow, size = wide->chunk * plane;
  const float *x = (const float *) call->in[0] + image * g->c * g->h * g->w;
  float *y = (float *) call->out[0] + image * g->o * plane + chunk * size;
  tn_dnnl_conv_run (wide->conv, x, (const float *) call->in[1] + chunk * wide->chunk * g->c * g->kh * g->kw, y, call->scratch);
  if (call->node->n_inputs > 2)
    add_bias (y, (const float *) call->in[2] + chunk * wide->chunk, wide->chunk, plane, call->target->block);
  if (tn_node_attr (call->node, "relu") != NULL && tn_node_bool (call->node, "relu"))
    call->target->lanes->relu_forward (y, y, (size_t) size);
}

static void
run_forward (const TnCpuCall *call)
{
  for_each_image (call, forward_image);
}

static void
input_image (const TnCpuCall *call, const Wide *wide, int64_t image, int64_t chunk)
{
  const TnConv2dGeometry *g = &wide->g;
  int64_t plane = g->h * g->w, size = wide->chunk * plane, at = image * g->c * plane + chunk * size;
  float *dx = (float *) call->out[0] + at;
  tn_dnnl_conv_run (wide->conv, dx, (const float *) call->in[1] + chunk * wide->chunk * g->o * g->kh * g->kw,
                    (const float *) call->in[0] + image * g->o * g->oh * g->ow, call->scratch);
  if (call->node->n_inputs > 2)
    call->target->lanes->relu_backward ((const float *) call->in[2] + at, dx, dx, (size_t) size);
}

static void
run_input (const TnCpuCall *call)
{
  for_each_image (call, input_image);
}

static void
run_weights (const TnCpuCall *call)
{
  const Wide *wide = call->data;
  const TnConv2dGeometry *g = &wide->g;
  float *own_dy = call->scratch, *dw = (float *) ((char *) call->scratch + wide->dy_bytes);
  void *scratch = (char *) dw + wide->dw_bytes;
  int64_t size = wide->chunk * g->oh * g->ow, taps = g->kh * g->kw;
  const float *dy = call->in[0];
  if (wide->n_chunks > 1)
    for (int64_t n = 0; n < g->n; n++)
      memcpy (own_dy + n * size, dy + (n * wide->n_chunks + call->task) * size, (size_t) size * sizeof (float));
  tn_dnnl_conv_run (wide->conv, call->in[1], dw, wide->n_chunks > 1 ? own_dy : dy, scratch);
  tn_wide_unpack_filter (dw, wide->chunk, g->c, taps, call->target->block, (float *) call->out[0] + call->task * wide->chunk * g->c * taps);
}

/* ---- the table ---- */

#define B TN_LAYOUT_BLOCKED
#define R TN_LAYOUT_ROW
#define F TN_LAYOUT_FILTER
#define FB TN_LAYOUT_FILTER_BACK

#define FORWARD(op_, x_, match_)                                                                                                 \
  { .op = op_, .name = "onednn", .in = { x_, F, R }, .out = { B }, .match = match_, .prepare = prepare_wide,                  \
    .release = release_wide, .tasks = tasks_images, .run = run_forward }
#define INPUT(op_)                                                                                                               \
  { .op = op_, .name = "onednn", .in = { B, FB, B }, .out = { B }, .match = match_wide, .prepare = prepare_wide,                \
    .release = release_wide, .tasks = tasks_images, .run = run_input }
#define WEIGHTS(op_, x_, match_)                                                                                                 \
  { .op = op_, .name = "onednn", .in = { B, x_ }, .out = { R }, .match = match_, .prepare = prepare_wide,                     \
    .release = release_wide, .tasks = tasks_weights, .run = run_weights }

const TnCpuKernel tn_cpu_kernels_wide[] = {
  FORWARD ("Conv2D", B, match_wide),
  FORWARD ("Conv2D", R, match_stem),
  FORWARD ("FusedConv2D", B, match_wide),
  FORWARD ("FusedConv2D", R, match_stem),
  INPUT ("Conv2DBackpropInput"),
  INPUT ("FusedConv2DBackpropInput"),
  WEIGHTS ("Conv2DBackpropFilter", B, match_wide),
  WEIGHTS ("Conv2DBackpropFilter", R, match_stem),
  { .op = "FusedConv2DBackpropFilter", .match = match_any }, /* the parts do: a bias gradient has the bits of its own kernel */
  { 0 },
};
