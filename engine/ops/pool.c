/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/pool.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/resize.h"
#include "ops/window.h"

/* Pooling over 2 or 3 spatial axes with fixed windows, or over 2 with windows that adapt to an output size. One kernel for
 * all: a window is a range of places on each axis, axes that a row does not have are of size 1.
 *
 * max: NaN wins; the gradient goes to the first maximum in row-major order. avg: the divisor is the number of places in
 * the window that lie in the input, with count_include_pad those in the padding too (never those past it).
 */
typedef struct
{
  int64_t first, count, step; /* places first, first + step ... (count of them), all inside the input */
  int64_t counted;            /* for the divisor */
} Span;

typedef struct
{
  int n_axes;
  gboolean adaptive, average;
  int64_t planes;
  int64_t in[3], out[3];
  TnWindow window;   /* not adaptive; axes at the end of in and out */
  Span *spans[3];
} Pool;

static void
pool_clear (Pool *self)
{
  for (int i = 0; i < 3; i++)
    g_free (self->spans[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Pool, pool_clear)

static Span
adaptive_span (int64_t in, int64_t out, int64_t o)
{
  int64_t first = o * in / out, last = ((o + 1) * in + out - 1) / out;
  return (Span){ first, last - first, 1, last - first };
}

static Span
window_span (const TnWindowAxis *a, int64_t o, gboolean with_padding)
{
  int64_t k_first, k_last, start = o * a->stride - a->before;
  tn_window_inside (a, o, &k_first, &k_last);
  Span span = { start + k_first * a->dilation, MAX (k_last - k_first, 0), a->dilation, MAX (k_last - k_first, 0) };
  if (with_padding)
    span.counted = MAX (MIN (start + a->kernel, a->in + a->after) - start, 0);
  return span;
}

/* The input's shape, from an attribute in rows that have only dy. */
static gboolean
input_shape (const TnNode *node, int n_dims, TnShape *x, GError **error)
{
  const int64_t *sizes;
  *x = *tn_in_shape (node, 0);
  if (g_str_has_prefix (node->op->name, "AvgPool") && g_str_has_suffix (node->op->name, "Grad"))
    {
      if (!tn_infer_ints (node, "input_size", n_dims, 0, error))
        return FALSE;
      tn_node_ints (node, "input_size", &sizes);
      *x = tn_shape_make (n_dims, sizes);
      return tn_shape_bytes (x, sizeof (double), NULL, error);
    }
  if (x->n_dims != n_dims)
    return tn_infer_error (node, error, _ ("the input must have %d dimensions"), n_dims);
  return TRUE;
}

static gboolean
resolve_adaptive (const TnNode *node, Pool *pool, TnShape *x, GError **error)
{
  const int64_t *sizes;
  *x = *tn_in_shape (node, 0);
  pool->adaptive = TRUE;
  if (tn_node_is (node, "AdaptiveAvgPool2DGrad"))
    {
      if (!tn_infer_ints (node, "input_size", 4, 0, error))
        return FALSE;
      tn_node_ints (node, "input_size", &sizes);
      *x = tn_shape_make (4, sizes);
      pool->out[1] = tn_in_shape (node, 0)->dims[2];
      pool->out[2] = tn_in_shape (node, 0)->dims[3];
      return tn_in_shape (node, 0)->n_dims == 4 ? tn_shape_bytes (x, sizeof (double), NULL, error)
                                                : tn_infer_error (node, error, _ ("dy must have 4 dimensions"));
    }
  if (x->n_dims != 4 || x->dims[2] < 1 || x->dims[3] < 1)
    return tn_infer_error (node, error, _ ("the input must be [N, C, H, W], not empty"));
  if (tn_node_is (node, "AdaptiveMaxPool2DGrad"))
    {
      pool->out[1] = tn_in_shape (node, 1)->n_dims == 4 ? tn_in_shape (node, 1)->dims[2] : 0;
      pool->out[2] = tn_in_shape (node, 1)->n_dims == 4 ? tn_in_shape (node, 1)->dims[3] : 0;
      return TRUE;
    }
  if (!tn_infer_ints (node, "output_size", 2, -1, error))
    return FALSE;
  tn_node_ints (node, "output_size", &sizes);
  for (int i = 0; i < 2; i++)
    pool->out[1 + i] = sizes[i] == -1 ? x->dims[2 + i] : sizes[i];
  return TRUE;
}

static gboolean
resolve_windows (const TnNode *node, Pool *pool, TnShape *x, GError **error)
{
  const int64_t *kernel;
  pool->n_axes = strstr (node->op->name, "3D") != NULL ? 3 : 2;
  if (!input_shape (node, pool->n_axes + 2, x, error) || !tn_infer_ints (node, "kernel_size", pool->n_axes, 1, error))
    return FALSE;
  tn_node_ints (node, "kernel_size", &kernel);
  if (!tn_window_resolve (node, "strides", tn_node_bool (node, "ceil_mode"), pool->n_axes, x->dims + 2, kernel,
                          &pool->window, error))
    return FALSE;
  for (int i = 0; i < pool->n_axes; i++)
    {
      const TnWindowAxis *a = &pool->window.axis[i];
      if (MAX (a->before, a->after) > (a->kernel - 1) * a->dilation)
        return tn_infer_error (node, error,
                               _ ("padding must be smaller than the window, else windows lie wholly in it"));
      pool->out[3 - pool->n_axes + i] = a->out;
    }
  return TRUE;
}

static gboolean
resolve (const TnNode *node, Pool *pool, TnShape *x, TnShape *y, GError **error)
{
  *pool =
      (Pool){ .n_axes = 2, .in = { 1, 1, 1 }, .out = { 1, 1, 1 }, .average = strstr (node->op->name, "Avg") != NULL };
  gboolean adaptive = g_str_has_prefix (node->op->name, "Adaptive");
  if (!(adaptive ? resolve_adaptive : resolve_windows) (node, pool, x, error))
    return FALSE;
  pool->planes = x->dims[0] * x->dims[1];
  *y = *x;
  for (int i = 0; i < pool->n_axes; i++)
    {
      pool->in[3 - pool->n_axes + i] = x->dims[2 + i];
      y->dims[2 + i] = pool->out[3 - pool->n_axes + i];
    }
  return TRUE;
}

static gboolean
counts_padding (const TnNode *node)
{
  return tn_node_bool (node, "count_include_pad") && g_ascii_strcasecmp (tn_node_string (node, "pad_mode"), "pad") == 0;
}

static void
make_spans (const TnNode *node, Pool *pool)
{
  for (int i = 0; i < 3; i++)
    {
      int axis = i - (3 - pool->n_axes);
      pool->spans[i] = g_new (Span, pool->out[i] + 1);
      for (int64_t o = 0; o < pool->out[i]; o++)
        pool->spans[i][o] = axis < 0 ? (Span){ 0, 1, 1, 1 }
                            : pool->adaptive
                                ? adaptive_span (pool->in[i], pool->out[i], o)
                                : window_span (&pool->window.axis[axis], o, pool->average && counts_padding (node));
    }
}

void
tn_pool2d_geometry (const TnNode *node, TnPool2dGeometry *out)
{
  Pool pool;
  TnShape x, y;
  *out = (TnPool2dGeometry){ 0 };
  g_return_if_fail (resolve (node, &pool, &x, &y, NULL) && !pool.adaptive && pool.n_axes == 2);
  const TnWindowAxis *h = &pool.window.axis[0], *w = &pool.window.axis[1];
  *out = (TnPool2dGeometry){ .n = x.dims[0],
                             .c = x.dims[1],
                             .h = h->in,
                             .w = w->in,
                             .oh = h->out,
                             .ow = w->out,
                             .kh = h->kernel,
                             .kw = w->kernel,
                             .stride_h = h->stride,
                             .stride_w = w->stride,
                             .dilation_h = h->dilation,
                             .dilation_w = w->dilation,
                             .pad_top = h->before,
                             .pad_left = w->before,
                             .pad_bottom = h->after,
                             .pad_right = w->after };
  if (pool.average)
    {
      out->count_include_pad = counts_padding (node);
      out->divisor_override = tn_node_int (node, "divisor_override");
    }
}

/* ---- shape rules ---- */

static gboolean
infer_pool (TnNode *node, GError **error)
{
  Pool pool;
  TnShape x, y;
  if (!tn_infer_same_float (node, error) || !resolve (node, &pool, &x, &y, error))
    return FALSE;
  if (pool.average && !pool.adaptive && tn_node_int (node, "divisor_override") < 0)
    return tn_infer_error (node, error, _ ("divisor_override must be positive, or 0 for none"));
  gboolean gradient = g_str_has_suffix (node->op->name, "Grad");
  const TnShape *dy = tn_in_shape (node, node->n_inputs - 1);
  if (gradient && (!tn_shape_equal (dy, &y) || (node->n_inputs == 3 && !tn_shape_equal (tn_in_shape (node, 1), &y))))
    {
      g_autofree char *text = tn_shape_to_string (&y);
      return tn_infer_error (node, error, _ ("y and dy must have the shape of the output, %s"), text);
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), gradient ? x : y);
  return TRUE;
}

static void
pool_cost (const TnNode *node, TnCost *cost)
{
  g_auto (Pool) pool = { 0 };
  TnShape x, y;
  if (!resolve (node, &pool, &x, &y, NULL))
    return;
  make_spans (node, &pool);
  cost->flops = (double) pool.planes;
  for (int i = 0; i < 3; i++)
    {
      double visited = 0;
      for (int64_t o = 0; o < pool.out[i]; o++)
        visited += (double) pool.spans[i][o].count;
      cost->flops *= visited;
    }
}

/* ---- kernels ---- */

/* Runs BODY for the windows of one plane in row-major order; a, b, c are their spans, o counts them. */
#define FOR_EACH_WINDOW(pool, o, a, b, c, ...)                                                                         \
  do                                                                                                                   \
    {                                                                                                                  \
      int64_t o = 0;                                                                                                   \
      for (int64_t i_ = 0; i_ < (pool)->out[0]; i_++)                                                                  \
        for (int64_t j_ = 0; j_ < (pool)->out[1]; j_++)                                                                \
          for (int64_t k_ = 0; k_ < (pool)->out[2]; k_++, o++)                                                         \
            {                                                                                                          \
              const Span *a = &(pool)->spans[0][i_], *b = &(pool)->spans[1][j_], *c = &(pool)->spans[2][k_];           \
              { __VA_ARGS__ }                                                                                          \
            }                                                                                                          \
    }                                                                                                                  \
  while (0)

/* Runs BODY for the places of one window in row-major order; at is the place in the plane. */
#define FOR_EACH_PLACE(pool, a, b, c, at, ...)                                                                         \
  for (int64_t p_ = 0; p_ < a->count; p_++)                                                                            \
    for (int64_t q_ = 0; q_ < b->count; q_++)                                                                          \
      {                                                                                                                \
        int64_t row_ = ((a->first + p_ * a->step) * (pool)->in[1] + b->first + q_ * b->step) * (pool)->in[2] + c->first;         \
        for (int64_t r_ = 0; r_ < c->count; r_++)                                                                      \
          {                                                                                                            \
            int64_t at = row_ + r_ * c->step;                                                                          \
            { __VA_ARGS__ }                                                                                            \
          }                                                                                                            \
      }

static double
divisor (const TnNode *node, const Pool *pool, const Span *a, const Span *b, const Span *c)
{
  gint64 fixed = pool->adaptive ? 0 : tn_node_int (node, "divisor_override");
  return fixed > 0 ? (double) fixed : (double) (a->counted * b->counted * c->counted);
}

/* The maximum of each window, or the first place where it stands. */
#define FIND_MAXIMUM(T, x, best, best_at)                                                                              \
  T best = (T) -INFINITY;                                                                                              \
  int64_t best_at = -1;                                                                                                \
  FOR_EACH_PLACE (&pool, a, b, c, at, {                                                                                \
    if (best_at < 0 || x[at] > best || (isnan (x[at]) && !isnan (best)))                                               \
      {                                                                                                                \
        best = x[at];                                                                                                  \
        best_at = at;                                                                                                  \
      }                                                                                                                \
  })

static gboolean
pool_kernel (const TnKernelContext *context, GError **error)
{
  g_auto (Pool) pool = { 0 };
  TnShape xs, ys;
  if (!resolve (context->node, &pool, &xs, &ys, error))
    return FALSE;
  make_spans (context->node, &pool);
  int64_t x_size = pool.in[0] * pool.in[1] * pool.in[2], y_size = pool.out[0] * pool.out[1] * pool.out[2];
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0];
    T *y = context->out[0];
    for (int64_t plane = 0; plane < pool.planes; plane++, x += x_size, y += y_size)
      if (pool.average)
        FOR_EACH_WINDOW (&pool, o, a, b, c, {
          double sum = 0;
          FOR_EACH_PLACE (&pool, a, b, c, at, { sum += x[at]; })
          y[o] = (T) (sum / divisor (context->node, &pool, a, b, c));
        });
      else
        FOR_EACH_WINDOW (&pool, o, a, b, c, {
          FIND_MAXIMUM (T, x, best, best_at)
          y[o] = best;
        });
  });
  return TRUE;
}

static gboolean
pool_grad_kernel (const TnKernelContext *context, GError **error)
{
  g_auto (Pool) pool = { 0 };
  TnShape xs, ys;
  if (!resolve (context->node, &pool, &xs, &ys, error))
    return FALSE;
  make_spans (context->node, &pool);
  int64_t x_size = pool.in[0] * pool.in[1] * pool.in[2], y_size = pool.out[0] * pool.out[1] * pool.out[2];
  g_autofree double *sums = tn_kernel_sums (context, x_size, error);
  if (sums == NULL)
    return FALSE;
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *x = context->in[0], *dy = context->in[context->node->n_inputs - 1];
    T *dx = context->out[0];
    for (int64_t plane = 0; plane < pool.planes; plane++, x += x_size, dx += x_size, dy += y_size)
      {
        memset (sums, 0, (size_t) x_size * sizeof (double));
        if (pool.average)
          FOR_EACH_WINDOW (&pool, o, a, b, c, {
            double share = dy[o] / divisor (context->node, &pool, a, b, c);
            FOR_EACH_PLACE (&pool, a, b, c, at, { sums[at] += share; })
          });
        else
          FOR_EACH_WINDOW (&pool, o, a, b, c, {
            FIND_MAXIMUM (T, x, best, best_at)
            if (best_at >= 0)
              sums[best_at] += dy[o];
          });
        for (int64_t i = 0; i < x_size; i++)
          dx[i] = (T) sums[i];
      }
  });
  return TRUE;
}

/* ---- gradients ---- */

/* The window's attributes as given, and input_size where the row asks for it. */
static int
copy_attrs (const TnNode *node, const TnShape *input_size, TnAttr *attrs)
{
  int n = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp (node->attrs[i].name, "input_size") != 0 && strcmp (node->attrs[i].name, "output_size") != 0)
      attrs[n++] = node->attrs[i];
  if (input_size != NULL)
    attrs[n++] = tn_attr_ints ("input_size", input_size->n_dims, input_size->dims);
  return n;
}

static void
pool_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *x = node->inputs[0], *y = &node->outputs[0], *dy = gradient->grad_outputs[0];
  g_autofree char *name = g_strconcat (node->op->name, "Grad", NULL);
  g_autofree TnAttr *attrs = g_new0 (TnAttr, node->n_attrs + 1);
  gboolean average = strstr (node->op->name, "Avg") != NULL, adaptive = g_str_has_prefix (node->op->name, "Adaptive");
  int n = copy_attrs (node, average ? &x->shape : NULL, attrs);
  TnValue *with_y[] = { x, y, dy }, *with_x[] = { x, dy };
  gradient->grad_inputs[0] = average    ? tn_op (gradient->graph, name, 1, &dy, n, attrs)
                             : adaptive ? tn_op (gradient->graph, name, 2, with_x, n, attrs)
                                        : tn_op (gradient->graph, name, 3, with_y, n, attrs);
}

/* Averaging is linear: the gradient of its gradient is averaging. */
static void
avg_grad_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  g_autofree char *name = g_strndup (node->op->name, strlen (node->op->name) - strlen ("Grad"));
  g_autofree TnAttr *attrs = g_new0 (TnAttr, node->n_attrs + 1);
  int n = copy_attrs (node, NULL, attrs);
  if (g_str_has_prefix (name, "Adaptive"))
    attrs[n++] = tn_attr_ints ("output_size", 2, tn_in_shape (node, 0)->dims + 2);
  gradient->grad_inputs[0] = tn_op (gradient->graph, name, TN_IN (gradient->grad_outputs[0]), n, attrs);
}

#define WINDOW_ATTRS                                                                                                   \
  { "kernel_size", TN_ATTR_INTS, TRUE }, { "strides", TN_ATTR_INTS }, { "pad_mode", TN_ATTR_STRING, .text = "valid" }, { "pad", TN_ATTR_INTS }, \
  { "dilation", TN_ATTR_INTS }, { "ceil_mode", TN_ATTR_BOOL }
#define AVG_ATTRS WINDOW_ATTRS, { "count_include_pad", TN_ATTR_BOOL, .number = TRUE }, { "divisor_override", TN_ATTR_INT }
static const TnAttrSpec max_attrs[] = { WINDOW_ATTRS, { 0 } };
static const TnAttrSpec avg_attrs[] = { AVG_ATTRS, { 0 } };
static const TnAttrSpec avg_grad_attrs[] = { AVG_ATTRS, { "input_size", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec adaptive_attrs[] = { { "output_size", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec input_size_attrs[] = { { "input_size", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec resize_attrs[] = { { "size", TN_ATTR_INTS, TRUE }, TN_RESIZE_ATTRS, { 0 } };
static const TnAttrSpec resize_grad_attrs[] = { { "input_size", TN_ATTR_INTS, TRUE }, TN_RESIZE_ATTRS, { 0 } };

#define ONE_OUTPUT .n_outputs = 1, .infer = infer_pool, .cost = pool_cost
#define FORWARD_ROW .min_inputs = 1, .max_inputs = 1, ONE_OUTPUT, .gradient = pool_gradient, .reference = pool_kernel
#define MAX_GRAD_ROW(n) .min_inputs = n, .max_inputs = n, ONE_OUTPUT, .reference = pool_grad_kernel
#define AVG_GRAD_ROW .min_inputs = 1, .max_inputs = 1, ONE_OUTPUT, .gradient = avg_grad_gradient, .reference = pool_grad_kernel

const TnOp tn_ops_pool[] = {
  { .name = "MaxPool", .doc = "The maximum of each window of [N,C,H,W].", FORWARD_ROW, .attrs = max_attrs },
  { .name = "MaxPoolGrad", .doc = "x, y, dy: dy to the first maximum of each window.", MAX_GRAD_ROW (3), .attrs = max_attrs },
  { .name = "AvgPool", .doc = "The mean of each window of [N,C,H,W].", FORWARD_ROW, .attrs = avg_attrs },
  { .name = "AvgPoolGrad", .doc = "dy shared out over each window.", AVG_GRAD_ROW, .attrs = avg_grad_attrs },
  { .name = "MaxPool3D", .doc = "The maximum of each window of [N,C,D,H,W].", FORWARD_ROW, .attrs = max_attrs },
  { .name = "MaxPool3DGrad", .doc = "x, y, dy: dy to the first maximum of each window.", MAX_GRAD_ROW (3), .attrs = max_attrs },
  { .name = "AvgPool3D", .doc = "The mean of each window of [N,C,D,H,W].", FORWARD_ROW, .attrs = avg_attrs },
  { .name = "AvgPool3DGrad", .doc = "dy shared out over each window.", AVG_GRAD_ROW, .attrs = avg_grad_attrs },
  { .name = "AdaptiveAvgPool2D", .doc = "Means of windows from floor (o·in/out) to ceil ((o+1)·in/out).", FORWARD_ROW, .attrs = adaptive_attrs },
  { .name = "AdaptiveAvgPool2DGrad", .doc = "dy shared out over each window.", AVG_GRAD_ROW, .attrs = input_size_attrs },
  { .name = "AdaptiveMaxPool2D", .doc = "Maxima of windows from floor (o·in/out) to ceil ((o+1)·in/out).", FORWARD_ROW, .attrs = adaptive_attrs },
  { .name = "AdaptiveMaxPool2DGrad", .doc = "x, dy: dy to the first maximum of each window.", MAX_GRAD_ROW (2), },
  { .name = "Resize", .doc = "Interpolates the dimensions after [N,C] to size: nearest, nearest-exact or linear.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = resize_attrs, .infer = tn_resize_infer, .gradient = tn_resize_gradient, .cost = tn_resize_cost, .reference = tn_resize_kernel },
  { .name = "ResizeGrad", .doc = "The transpose of Resize: dy back to input_size.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = resize_grad_attrs, .infer = tn_resize_infer, .gradient = tn_resize_gradient, .cost = tn_resize_cost, .reference = tn_resize_kernel },
  { 0 },
};
