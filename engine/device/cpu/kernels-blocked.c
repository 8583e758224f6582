/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "device/cpu/kernels.h"
#include "device/cpu/wide.h"
#include "ops/pool.h"

/* Max pooling in TN_LAYOUT_BLOCKED, so that images of many channels need not change layout for it. A plane is
 * [H][W][b]: each of b channels pools for itself, side by side. */

/* The pool inside a fused node, so that ops/pool.c resolves its geometry. */
static void
pool_geometry (const TnNode *node, TnPool2dGeometry *g)
{
  TnNode plain = *node;
  if (g_str_equal (node->op->name, "FusedMaxPoolReluGrad"))
    plain.op = tn_op_find ("MaxPoolGrad");
  tn_pool2d_geometry (&plain, g);
}

/* Every window meets the image, as one of nothing has no maximum. */
static gboolean
windows_meet (int64_t size, int64_t out, int64_t kernel, int64_t stride, int64_t before)
{
  return before < kernel && (out - 1) * stride - before < size;
}

static gboolean
match_pool (const TnNode *node, const TnCpuTarget *target)
{
  for (int i = 0; i < node->n_inputs; i++)
    if (!tn_wide_image (node->inputs[i], target, TN_WIDE_CHANNELS))
      return FALSE;
  TnPool2dGeometry g;
  pool_geometry (node, &g);
  return g.dilation_h == 1 && g.dilation_w == 1 && windows_meet (g.h, g.oh, g.kh, g.stride_h, g.pad_top)
         && windows_meet (g.w, g.ow, g.kw, g.stride_w, g.pad_left);
}

static gboolean
prepare_pool (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch, GError **error)
{
  TnPool2dGeometry *g = g_new0 (TnPool2dGeometry, 1);
  pool_geometry (node, g);
  *data = g;
  return TRUE;
}

typedef struct
{
  int64_t y0, y1, x0, x1;
} Window;

static Window
window_at (const TnPool2dGeometry *g, int64_t r, int64_t c)
{
  int64_t y = r * g->stride_h - g->pad_top, x = c * g->stride_w - g->pad_left;
  return (Window){ MAX (y, 0), MIN (y + g->kh, g->h), MAX (x, 0), MIN (x + g->kw, g->w) };
}

static inline __attribute__ ((always_inline)) void
max_plane (const TnPool2dGeometry *g, const float *x, float *y, const int b)
{
  for (int64_t r = 0; r < g->oh; r++)
    for (int64_t c = 0; c < g->ow; c++, y += b)
      {
        Window w = window_at (g, r, c);
        float best[16];
        memcpy (best, x + (w.y0 * g->w + w.x0) * b, (size_t) b * sizeof (float));
        for (int64_t yy = w.y0; yy < w.y1; yy++)
          for (int64_t xx = w.x0; xx < w.x1; xx++)
            for (int k = 0; k < b; k++)
              {
                float v = x[(yy * g->w + xx) * b + k];
                best[k] = v > best[k] || v != v ? v : best[k]; /* NaN wins */
              }
        memcpy (y, best, (size_t) b * sizeof (float));
      }
}

/* The gradient goes to the first winner of a window in row-major order. @relu: x came out of a ReLU, whose gradient is
 * taken here too: nothing where the winner is not above 0. */
static inline __attribute__ ((always_inline)) void
max_plane_grad (const TnPool2dGeometry *g, const float *x, const float *y, const float *dy, gboolean relu, float *dx, const int b)
{
  memset (dx, 0, (size_t) (g->h * g->w * b) * sizeof (float));
  for (int64_t r = 0; r < g->oh; r++)
    for (int64_t c = 0; c < g->ow; c++, y += b, dy += b)
      {
        Window w = window_at (g, r, c);
        float left[16]; /* what has not found its winner */
        for (int k = 0; k < b; k++)
          left[k] = relu && !(y[k] > 0) ? 0 : dy[k];
        for (int64_t yy = w.y0; yy < w.y1; yy++)
          for (int64_t xx = w.x0; xx < w.x1; xx++)
            {
              const float *at = x + (yy * g->w + xx) * b;
              float *to = dx + (yy * g->w + xx) * b;
              for (int k = 0; k < b; k++)
                {
                  gboolean wins = at[k] == y[k] || (at[k] != at[k] && y[k] != y[k]);
                  to[k] += wins ? left[k] : 0;
                  left[k] = wins ? 0 : left[k];
                }
            }
      }
}

static void
run_max (const TnCpuCall *call)
{
  const TnPool2dGeometry *g = call->data;
  const float *x = call->in[0];
  float *y = call->out[0];
  int b = call->target->block;
  for (int64_t i = 0; i < call->rows * (g->c / b); i++, x += g->h * g->w * b, y += g->oh * g->ow * b)
    if (b == 8)
      max_plane (g, x, y, 8);
    else
      max_plane (g, x, y, 16);
}

static void
run_max_grad (const TnCpuCall *call)
{
  const TnPool2dGeometry *g = call->data;
  const float *x = call->in[0], *y = call->in[1], *dy = call->in[2];
  float *dx = call->out[0];
  gboolean relu = g_str_equal (call->node->op->name, "FusedMaxPoolReluGrad");
  int64_t b = call->target->block, plane = g->h * g->w * b, out_plane = g->oh * g->ow * b;
  for (int64_t i = 0; i < call->rows * (g->c / b); i++, x += plane, dx += plane, y += out_plane, dy += out_plane)
    if (b == 8)
      max_plane_grad (g, x, y, dy, relu, dx, 8);
    else
      max_plane_grad (g, x, y, dy, relu, dx, 16);
}

#define B TN_LAYOUT_BLOCKED
#define POOL(op_, run_)                                                                                                          \
  { .op = op_, .name = "blocked", .sliced = TRUE, .in = { B, B, B }, .out = { B }, .match = match_pool, .prepare = prepare_pool, \
    .release = g_free, .run = run_ }

const TnCpuKernel tn_cpu_kernels_blocked[] = {
  POOL ("MaxPool", run_max), POOL ("MaxPoolGrad", run_max_grad), POOL ("FusedMaxPoolReluGrad", run_max_grad), { 0 },
};
