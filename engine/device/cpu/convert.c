/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "device/cpu/kernels.h"
#include "device/cpu/wide.h"
#include <string.h>

/* Conversions between layouts. Nothing is rounded: they move floats. */

size_t
tn_cpu_layout_bytes (const TnValue *value, TnCpuLayout layout, const TnCpuTarget *target, size_t *slice_bytes)
{
  size_t size = tn_dtype_size (value->dtype);
  int64_t rows = value->shape.n_dims > 0 ? value->shape.dims[0] : 1, features = tn_shape_span (&value->shape, 1, value->shape.n_dims);
  *slice_bytes = value->shape.n_dims > 0 ? TN_SLICE_ROWS * (size_t) features * size : 0;
  if (layout == TN_LAYOUT_LANES)
    return (size_t) tn_lanes_groups (rows) * *slice_bytes;
  if (layout == TN_LAYOUT_FILTER || layout == TN_LAYOUT_FILTER_BACK)
    *slice_bytes = 0;
  if (layout == TN_LAYOUT_PANELS)
    {
      *slice_bytes = 0;
      return (size_t) tn_lanes_groups (rows) * TN_LANES * (size_t) ((features + 15) / 16 * 16) * size;
    }
  return (size_t) rows * (size_t) features * size;
}

void *
tn_cpu_convert_prepare (const TnValue *value, TnCpuLayout from, TnCpuLayout to, const TnCpuTarget *target, GError **error)
{
  TnCpuConvert *convert = g_new0 (TnCpuConvert, 1);
  convert->dtype = value->dtype;
  convert->rows = value->shape.n_dims > 0 ? value->shape.dims[0] : 1;
  convert->features = tn_shape_span (&value->shape, 1, value->shape.n_dims);
  convert->channels = value->shape.n_dims > 1 ? value->shape.dims[1] : 1;
  convert->plane = tn_shape_span (&value->shape, 2, value->shape.n_dims);
  if (value->dtype != TN_DTYPE_F32 || convert->rows > G_MAXINT || convert->features > G_MAXINT)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INTERNAL, "%s: no layout but row-major for %s", value->node->name, tn_dtype_name (value->dtype));
      g_free (convert);
      return NULL;
    }
  if (to == TN_LAYOUT_PANELS)
    {
      convert->dense = tn_lanes_dense_new (target->lanes, (int) convert->rows, (int) convert->features, 1, error);
      if (convert->dense == NULL)
        {
          g_free (convert);
          return NULL;
        }
    }
  return convert;
}

void
tn_cpu_convert_release (void *data)
{
  TnCpuConvert *convert = data;
  g_clear_pointer (&convert->dense, tn_lanes_dense_free);
  g_free (convert);
}

static void
row_to_lanes (const TnCpuCall *call)
{
  const TnCpuConvert *convert = call->data;
  call->target->lanes->pack (call->in[0], (int) call->rows, (int) convert->features, call->out[0], 0, 1);
}

static void
lanes_to_row (const TnCpuCall *call)
{
  const TnCpuConvert *convert = call->data;
  call->target->lanes->unpack (call->in[0], (int) call->rows, (int) convert->features, call->out[0], 0, 1);
}

#define PANELS_A_TASK 4

static int
panel_tasks (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  const TnCpuConvert *convert = data;
  return (tn_lanes_dense_panels (convert->dense) + PANELS_A_TASK - 1) / PANELS_A_TASK;
}

static void
lanes_to_panels (const TnCpuCall *call)
{
  const TnCpuConvert *convert = call->data;
  int from = call->task * PANELS_A_TASK, n = tn_lanes_dense_panels (convert->dense);
  call->target->lanes->dense_transpose (convert->dense, call->in[0], call->out[0], from, MIN (from + PANELS_A_TASK, n));
}

/* [rows][C][P] to [rows][C/b][P][b], rows of the slice at hand. */
static void
row_to_blocked (const TnCpuCall *call)
{
  const TnCpuConvert *convert = call->data;
  int64_t b = call->target->block, planes = call->rows * convert->channels / b;
  const float *x = call->in[0];
  float *y = call->out[0];
  for (int64_t i = 0; i < planes; i++, x += b * convert->plane)
    for (int64_t p = 0; p < convert->plane; p++)
      for (int64_t k = 0; k < b; k++)
        *y++ = x[k * convert->plane + p];
}

static void
blocked_to_row (const TnCpuCall *call)
{
  const TnCpuConvert *convert = call->data;
  int64_t b = call->target->block, planes = call->rows * convert->channels / b;
  const float *x = call->in[0];
  float *y = call->out[0];
  for (int64_t i = 0; i < planes; i++, y += b * convert->plane)
    for (int64_t p = 0; p < convert->plane; p++)
      for (int64_t k = 0; k < b; k++)
        y[k * convert->plane + p] = *x++;
}

/* Weights [O][C][taps] for wide convolutions: a task packs one block of outputs, or one chunk of inputs. */

static int
filter_tasks (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return (int) (((const TnCpuConvert *) data)->rows / target->block);
}

static void
row_to_filter (const TnCpuCall *call)
{
  const TnCpuConvert *convert = call->data;
  tn_wide_pack_filter (call->in[0], convert->rows, convert->channels, convert->plane, call->target->block, call->out[0], call->task,
                       call->task + 1);
}

static int
filter_back_tasks (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  const TnCpuConvert *convert = data;
  return (int) (convert->channels / tn_wide_chunk (convert->channels, convert->rows, convert->plane, target->block));
}

static void
row_to_filter_back (const TnCpuCall *call)
{
  const TnCpuConvert *convert = call->data;
  tn_wide_pack_filter_back (call->in[0], convert->rows, convert->channels, convert->plane, call->target->block, call->out[0],
                            call->task, call->task + 1);
}

static const TnCpuKernel conversions[] = {
  { .op = "Layout", .name = "row to lanes", .sliced = TRUE, .run = row_to_lanes, .in = { TN_LAYOUT_ROW }, .out = { TN_LAYOUT_LANES } },
  { .op = "Layout", .name = "lanes to row", .sliced = TRUE, .run = lanes_to_row, .in = { TN_LAYOUT_LANES }, .out = { TN_LAYOUT_ROW } },
  { .op = "Layout", .name = "lanes to panels", .tasks = panel_tasks, .run = lanes_to_panels, .in = { TN_LAYOUT_LANES }, .out = { TN_LAYOUT_PANELS } },
  { .op = "Layout", .name = "row to blocked", .sliced = TRUE, .run = row_to_blocked, .in = { TN_LAYOUT_ROW }, .out = { TN_LAYOUT_BLOCKED } },
  { .op = "Layout", .name = "blocked to row", .sliced = TRUE, .run = blocked_to_row, .in = { TN_LAYOUT_BLOCKED }, .out = { TN_LAYOUT_ROW } },
  { .op = "Layout", .name = "row to filter", .tasks = filter_tasks, .run = row_to_filter, .in = { TN_LAYOUT_ROW }, .out = { TN_LAYOUT_FILTER } },
  { .op = "Layout", .name = "row to filter, back", .tasks = filter_back_tasks, .run = row_to_filter_back, .in = { TN_LAYOUT_ROW }, .out = { TN_LAYOUT_FILTER_BACK } },
};

const TnCpuKernel *
tn_cpu_convert_find (TnCpuLayout from, TnCpuLayout to)
{
  for (gsize i = 0; i < G_N_ELEMENTS (conversions); i++)
    if (conversions[i].in[0] == from && conversions[i].out[0] == to)
      return &conversions[i];
  return NULL;
}
