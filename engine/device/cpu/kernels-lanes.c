/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/kernels.h"
#include "ops/conv.h"
#include "ops/pool.h"
#include <string.h>

/* Kernels of lanes.h in the table: convolutions with few channels, dense layers, pools and the loss. */

#define LARGEST_LANES_WEIGHT (1 << 20)   /* bytes: read again for each slice, so they must stay in the cache */
#define LARGEST_SLICED_DENSE (256 << 10) /* above, a dense layer goes over the whole batch block by block of its rows */

static gboolean
all_f32 (const TnNode *node)
{
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]->dtype != TN_DTYPE_F32)
      return FALSE;
  return TRUE;
}

static gboolean
has_rows (const TnValue *value)
{
  return value->shape.n_dims >= 2 && value->shape.dims[0] > 0 && tn_shape_count (&value->shape) > 0;
}

/* ---- convolution ---- */

static gboolean
match_conv (const TnNode *node, const TnCpuTarget *target)
{
  if (!all_f32 (node) || !has_rows (node->inputs[0]) || node->inputs[0]->shape.n_dims != 4)
    return FALSE;
  TnConv2dGeometry g;
  tn_conv2d_geometry (node, &g);
  int64_t weight_bytes = g.o * (g.c / MAX (g.group, 1)) * g.kh * g.kw * (int64_t) sizeof (float);
  int64_t image_bytes = MAX (g.c * g.h * g.w, g.o * g.oh * g.ow) * (int64_t) sizeof (float);
  return g.n > 0 && weight_bytes <= LARGEST_LANES_WEIGHT && image_bytes * TN_LANES < G_MAXINT32;
}

static TnLanesConv *
new_conv (const TnNode *node, const TnCpuTarget *target, GError **error)
{
  TnConv2dGeometry g;
  tn_conv2d_geometry (node, &g);
  TnLanesConvShape shape = { .channels = (int) g.c, .height = (int) g.h, .width = (int) g.w, .outputs = (int) g.o,
                             .kernel_h = (int) g.kh, .kernel_w = (int) g.kw, .stride_h = (int) g.stride_h, .stride_w = (int) g.stride_w,
                             .pad_top = (int) g.pad_top, .pad_bottom = (int) g.pad_bottom, .pad_left = (int) g.pad_left,
                             .pad_right = (int) g.pad_right, .dilation_h = (int) g.dilation_h, .dilation_w = (int) g.dilation_w,
                             .groups = (int) g.group };
  return tn_lanes_conv_new (target->lanes, &shape, error);
}

static gboolean
prepare_conv (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  *data = new_conv (node, target, error);
  return *data != NULL;
}

static gboolean
prepare_conv_weights (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  TnLanesConv *conv = new_conv (node, target, error);
  *data = conv;
  if (conv != NULL)
    *scratch = tn_lanes_conv_scratch (conv, 1);
  return conv != NULL;
}

static void
release_conv (void *data)
{
  tn_lanes_conv_free (data);
}

static void
run_conv (const TnCpuCall *call)
{
  gboolean fused = call->node->n_attrs > 0 && tn_node_attr (call->node, "relu") != NULL && tn_node_bool (call->node, "relu");
  call->target->lanes->conv_forward (call->data, call->in[0], call->in[1], call->node->n_inputs > 2 ? call->in[2] : NULL, fused,
                                     call->out[0], 0, 1, (int) call->rows);
}

static void
run_conv_input (const TnCpuCall *call)
{
  call->target->lanes->conv_backward_data (call->data, call->in[0], call->in[1], call->node->n_inputs > 2 ? call->in[2] : NULL,
                                           call->out[0], 0, 1, (int) call->rows);
}

static void
run_conv_weights (const TnCpuCall *call)
{
  call->target->lanes->conv_backward_weights (call->data, call->in[1], call->in[0], call->accumulate, call->out[0],
                                              call->node->n_outputs > 1 ? call->out[1] : NULL, call->scratch, 0, 1, (int) call->rows);
}

/* ---- bias ---- */

static gboolean
match_bias (const TnNode *node, const TnCpuTarget *target)
{
  return all_f32 (node) && has_rows (node->inputs[0]);
}

static void
run_bias (const TnCpuCall *call)
{
  const TnShape *shape = &call->node->inputs[0]->shape;
  call->target->lanes->bias_add (call->in[0], call->in[1], call->out[0], (int) shape->dims[1], (int) tn_shape_span (shape, 2, shape->n_dims), 0, 1);
}

static gboolean
match_bias_grad_image (const TnNode *node, const TnCpuTarget *target)
{
  return all_f32 (node) && has_rows (node->inputs[0]) && node->inputs[0]->shape.n_dims == 4;
}

static void
run_bias_grad_image (const TnCpuCall *call)
{
  const TnShape *dy = &call->node->inputs[0]->shape;
  call->target->lanes->bias_gradient (call->in[0], (int) dy->dims[1], (int) (dy->dims[2] * dy->dims[3]), call->accumulate, call->out[0], 0, 1);
}

/* ---- dense ---- */

static int64_t
rows_of (const TnNode *node)
{
  return node->inputs[0]->shape.dims[0];
}

static gboolean
is_plain_matmul (const TnNode *node, gboolean transpose_a, gboolean transpose_b)
{
  if (!g_str_equal (node->op->name, "MatMul"))
    return TRUE; /* a fused row, whose form is fixed */
  return tn_node_bool (node, "transpose_a") == transpose_a && tn_node_bool (node, "transpose_b") == transpose_b;
}

static gboolean
match_dense_form (const TnNode *node, gboolean transpose_a, gboolean transpose_b)
{
  return all_f32 (node) && has_rows (node->inputs[0]) && tn_shape_count (&node->inputs[1]->shape) > 0
         && is_plain_matmul (node, transpose_a, transpose_b)
         && MAX (tn_shape_count (&node->inputs[0]->shape), tn_shape_count (&node->outputs[0].shape)) < G_MAXINT32 / 64;
}

static gboolean
is_small (const TnNode *node)
{
  return tn_shape_count (&node->inputs[1]->shape) * (int64_t) sizeof (float) <= LARGEST_SLICED_DENSE;
}

static gboolean
match_dense_sliced (const TnNode *node, const TnCpuTarget *target)
{
  return match_dense_form (node, FALSE, TRUE) && is_small (node);
}

static gboolean
match_dense_whole (const TnNode *node, const TnCpuTarget *target)
{
  return match_dense_form (node, FALSE, TRUE);
}

static gboolean
match_dense_input_sliced (const TnNode *node, const TnCpuTarget *target)
{
  return match_dense_form (node, FALSE, FALSE) && is_small (node);
}

static gboolean
match_dense_input_whole (const TnNode *node, const TnCpuTarget *target)
{
  return match_dense_form (node, FALSE, FALSE);
}

static gboolean
match_dense_weight (const TnNode *node, const TnCpuTarget *target)
{
  return match_dense_form (node, TRUE, FALSE) && node->inputs[1]->shape.n_dims == 2;
}

static gboolean
prepare_dense (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  const TnShape *w = &node->inputs[1]->shape;
  *data = tn_lanes_dense_new (target->lanes, (int) rows_of (node), (int) w->dims[1], (int) w->dims[0], error);
  return *data != NULL;
}

static gboolean
prepare_dense_weight (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  const TnShape *dy = &node->inputs[0]->shape, *x = &node->inputs[1]->shape;
  *data = tn_lanes_dense_new (target->lanes, (int) dy->dims[0], (int) x->dims[1], (int) dy->dims[1], error);
  return *data != NULL;
}

static void
release_dense (void *data)
{
  tn_lanes_dense_free (data);
}

static gboolean
wants_relu (const TnNode *node)
{
  return g_str_equal (node->op->name, "FusedDense") && tn_node_bool (node, "relu");
}

static void
dense_rows (const TnCpuCall *call, int r0, int r1, int groups)
{
  call->target->lanes->dense_forward (call->data, call->in[0], call->in[1], call->node->n_inputs > 2 ? call->in[2] : NULL,
                                      wants_relu (call->node), call->out[0], r0, r1, 0, groups);
}

static void
run_dense_sliced (const TnCpuCall *call)
{
  dense_rows (call, 0, (int) call->node->inputs[1]->shape.dims[0], 1);
}

#define ROWS_A_TASK 24 /* four blocks of six */

static int
task_count (int64_t rows)
{
  return (int) ((rows + ROWS_A_TASK - 1) / ROWS_A_TASK);
}

static int
tasks_dense (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return task_count (node->inputs[1]->shape.dims[0]);
}

static void
run_dense_whole (const TnCpuCall *call)
{
  int from = call->task * ROWS_A_TASK, n = (int) call->node->inputs[1]->shape.dims[0];
  dense_rows (call, from, MIN (from + ROWS_A_TASK, n), tn_lanes_groups (rows_of (call->node)));
}

static void
dense_input_rows (const TnCpuCall *call, int r0, int r1, int groups)
{
  call->target->lanes->dense_backward_data (call->data, call->in[0], call->in[1], call->node->n_inputs > 2 ? call->in[2] : NULL,
                                            call->out[0], r0, r1, 0, groups);
}

static void
run_dense_input_sliced (const TnCpuCall *call)
{
  dense_input_rows (call, 0, (int) call->node->inputs[1]->shape.dims[1], 1);
}

static int
tasks_dense_input (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return task_count (node->inputs[1]->shape.dims[1]);
}

static void
run_dense_input_whole (const TnCpuCall *call)
{
  int from = call->task * ROWS_A_TASK, n = (int) call->node->inputs[1]->shape.dims[1];
  dense_input_rows (call, from, MIN (from + ROWS_A_TASK, n), tn_lanes_groups (rows_of (call->node)));
}

static int
tasks_dense_weight (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return task_count (node->inputs[0]->shape.dims[1]);
}

static void
run_dense_weight (const TnCpuCall *call)
{
  int from = call->task * ROWS_A_TASK, n = (int) call->node->inputs[0]->shape.dims[1];
  call->target->lanes->dense_backward_weights (call->data, call->in[1], call->in[0], FALSE, call->out[0],
                                               call->node->n_outputs > 1 ? call->out[1] : NULL, from, MIN (from + ROWS_A_TASK, n));
}

/* The bias gradient of a dense layer alone: that of a layer with one input, whose weight gradient goes to scratch. */
static gboolean
match_bias_grad_dense (const TnNode *node, const TnCpuTarget *target)
{
  return all_f32 (node) && has_rows (node->inputs[0]) && node->inputs[0]->shape.n_dims == 2 && rows_of (node) < (1 << 20);
}

typedef struct
{
  TnLanesDense *dense;
  float *zeros;
} BiasGrad;

static gboolean
prepare_bias_grad_dense (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  TnLanesDense *dense = tn_lanes_dense_new (target->lanes, (int) rows_of (node), 1, (int) node->inputs[0]->shape.dims[1], error);
  if (dense == NULL)
    return FALSE;
  BiasGrad *grad = g_new0 (BiasGrad, 1);
  grad->dense = dense;
  grad->zeros = g_aligned_alloc0 (1, tn_lanes_dense_scratch (dense), 64);
  *scratch = (size_t) node->inputs[0]->shape.dims[1] * sizeof (float);
  *data = grad;
  return TRUE;
}

static void
release_bias_grad_dense (void *data)
{
  BiasGrad *grad = data;
  tn_lanes_dense_free (grad->dense);
  g_aligned_free (grad->zeros);
  g_free (grad);
}

static void
run_bias_grad_dense (const TnCpuCall *call)
{
  const BiasGrad *grad = call->data;
  call->target->lanes->dense_backward_weights (grad->dense, grad->zeros, call->in[0], FALSE, call->scratch, call->out[0], 0,
                                               (int) call->node->inputs[0]->shape.dims[1]);
}

/* ---- pools ---- */

/* The pool inside a fused node, so that ops/pool.c resolves its geometry. */
static gboolean
pool_of (const TnNode *node, const TnShape *x, TnLanesPool *pool)
{
  TnNode plain = *node;
  if (g_str_equal (node->op->name, "FusedMaxPoolReluGrad"))
    plain.op = tn_op_find ("MaxPoolGrad");
  TnPool2dGeometry g;
  if (x->n_dims != 4)
    return FALSE;
  tn_pool2d_geometry (&plain, &g);
  if (g.dilation_h != 1 || g.dilation_w != 1 || g.divisor_override != 0 || tn_shape_span (x, 1, 4) * TN_LANES > G_MAXINT32)
    return FALSE;
  *pool = (TnLanesPool){ .channels = (int) g.c, .height = (int) g.h, .width = (int) g.w, .kernel_h = (int) g.kh, .kernel_w = (int) g.kw,
                         .stride_h = (int) g.stride_h, .stride_w = (int) g.stride_w, .pad_top = (int) g.pad_top, .pad_left = (int) g.pad_left,
                         .out_height = (int) g.oh, .out_width = (int) g.ow, .count_padding = g.count_include_pad };
  return tn_lanes_pool_check (pool, NULL);
}

static gboolean
match_max_pool (const TnNode *node, const TnCpuTarget *target)
{
  TnLanesPool pool;
  return all_f32 (node) && has_rows (node->inputs[0]) && pool_of (node, &node->inputs[0]->shape, &pool);
}

/* Windows of 2 x 2 that do not overlap: each cell of x is read before its gradient is written, so that dx may lie over x. */
static gboolean
match_max_pool_in_place (const TnNode *node, const TnCpuTarget *target)
{
  TnLanesPool pool;
  return all_f32 (node) && has_rows (node->inputs[0]) && pool_of (node, &node->inputs[0]->shape, &pool) && tn_lanes_pool_is_quarter (&pool);
}

static gboolean
prepare_pool (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  TnLanesPool *pool = g_new0 (TnLanesPool, 1);
  pool_of (node, &node->inputs[0]->shape, pool);
  *data = pool;
  return TRUE;
}

static void
run_max_pool (const TnCpuCall *call)
{
  call->target->lanes->max_pool_forward (call->data, call->in[0], call->out[0], 0, 1);
}

static void
run_max_pool_grad (const TnCpuCall *call)
{
  gboolean relu = g_str_equal (call->node->op->name, "FusedMaxPoolReluGrad");
  call->target->lanes->max_pool_backward (call->data, call->in[0], call->in[1], call->in[2], relu, call->out[0], 0, 1);
}

/* ---- loss ---- */

static gboolean
match_loss (const TnNode *node, const TnCpuTarget *target)
{
  return node->inputs[0]->dtype == TN_DTYPE_F32 && node->inputs[1]->dtype == TN_DTYPE_I32 && node->inputs[0]->shape.n_dims == 2
         && has_rows (node->inputs[0]);
}

static void
run_loss (const TnCpuCall *call)
{
  call->target->lanes->softmax_cross_entropy (call->in[0], call->in[1], (int) call->rows, (int) call->node->inputs[0]->shape.dims[1],
                                              (float) tn_node_float (call->node, "grad_scale"), call->out[0], call->out[1], 0, 1);
}

/* ---- the table ---- */

#define L TN_LAYOUT_LANES
#define R TN_LAYOUT_ROW
#define P TN_LAYOUT_PANELS
#define INPUT(i) (1u << (i))

#define CONV_FORWARD(op_)                                                                                                        \
  { .op = op_, .name = "lanes", .sliced = TRUE, .whole = INPUT (1) | INPUT (2), .in = { L, R, R }, .out = { L }, .match = match_conv, \
    .prepare = prepare_conv, .release = release_conv, .run = run_conv }
#define CONV_INPUT(op_)                                                                                                          \
  { .op = op_, .name = "lanes", .sliced = TRUE, .whole = INPUT (1), .in = { L, R, L }, .out = { L }, .match = match_conv,         \
    .prepare = prepare_conv, .release = release_conv, .run = run_conv_input }
#define CONV_WEIGHTS(op_)                                                                                                        \
  { .op = op_, .name = "lanes", .sliced = TRUE, .sums = 3, .in = { L, L }, .out = { R, R }, .match = match_conv,                  \
    .prepare = prepare_conv_weights, .release = release_conv, .run = run_conv_weights }
#define DENSE_FORWARD(op_)                                                                                                       \
  { .op = op_, .name = "lanes", .sliced = TRUE, .whole = INPUT (1) | INPUT (2), .in = { L, R, R }, .out = { L },                  \
    .match = match_dense_sliced, .prepare = prepare_dense, .release = release_dense, .run = run_dense_sliced },                  \
  { .op = op_, .name = "lanes by rows", .in = { L, R, R }, .out = { L }, .match = match_dense_whole, .prepare = prepare_dense,    \
    .release = release_dense, .tasks = tasks_dense, .run = run_dense_whole }
#define DENSE_INPUT(op_)                                                                                                         \
  { .op = op_, .name = "lanes", .sliced = TRUE, .whole = INPUT (1), .in = { L, R, L }, .out = { L },                              \
    .match = match_dense_input_sliced, .prepare = prepare_dense, .release = release_dense, .run = run_dense_input_sliced },      \
  { .op = op_, .name = "lanes by rows", .in = { L, R, L }, .out = { L }, .match = match_dense_input_whole,                        \
    .prepare = prepare_dense, .release = release_dense, .tasks = tasks_dense_input, .run = run_dense_input_whole }
#define MAX_POOL_GRAD(op_)                                                                                                       \
  { .op = op_, .name = "lanes", .sliced = TRUE, .inplace = TRUE, .in = { L, L, L }, .out = { L }, .match = match_max_pool_in_place, \
    .prepare = prepare_pool, .release = g_free, .run = run_max_pool_grad },                                                      \
  { .op = op_, .name = "lanes", .sliced = TRUE, .in = { L, L, L }, .out = { L }, .match = match_max_pool, .prepare = prepare_pool, \
    .release = g_free, .run = run_max_pool_grad }
#define DENSE_WEIGHT(op_)                                                                                                        \
  { .op = op_, .name = "lanes by rows", .in = { L, P }, .out = { R, R }, .match = match_dense_weight,                             \
    .prepare = prepare_dense_weight, .release = release_dense, .tasks = tasks_dense_weight, .run = run_dense_weight }

const TnCpuKernel tn_cpu_kernels_lanes[] = {
  CONV_FORWARD ("Conv2D"),
  CONV_FORWARD ("FusedConv2D"),
  CONV_INPUT ("Conv2DBackpropInput"),
  CONV_INPUT ("FusedConv2DBackpropInput"),
  CONV_WEIGHTS ("Conv2DBackpropFilter"),
  CONV_WEIGHTS ("FusedConv2DBackpropFilter"),
  DENSE_FORWARD ("MatMul"),
  DENSE_FORWARD ("FusedDense"),
  DENSE_INPUT ("MatMul"),
  DENSE_INPUT ("FusedDenseBackpropInput"),
  DENSE_WEIGHT ("MatMul"),
  DENSE_WEIGHT ("FusedDenseBackpropWeight"),
  { .op = "BiasAdd", .name = "lanes", .sliced = TRUE, .inplace = TRUE, .whole = INPUT (1), .in = { L, R }, .out = { L }, .match = match_bias, .run = run_bias },
  { .op = "BiasAddGrad", .name = "lanes", .sliced = TRUE, .sums = 1, .in = { L }, .out = { R }, .match = match_bias_grad_image,
    .run = run_bias_grad_image },
  { .op = "BiasAddGrad", .name = "lanes by rows", .in = { L }, .out = { R }, .match = match_bias_grad_dense,
    .prepare = prepare_bias_grad_dense, .release = release_bias_grad_dense, .run = run_bias_grad_dense },
  { .op = "MaxPool", .name = "lanes", .sliced = TRUE, .in = { L }, .out = { L }, .match = match_max_pool, .prepare = prepare_pool, .release = g_free, .run = run_max_pool },
  MAX_POOL_GRAD ("MaxPoolGrad"),
  MAX_POOL_GRAD ("FusedMaxPoolReluGrad"),
  { .op = "SparseSoftmaxCrossEntropyWithLogits", .name = "lanes", .sliced = TRUE, .in = { L, R }, .out = { R, L }, .match = match_loss, .run = run_loss },
  { 0 },
};
