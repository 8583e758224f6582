/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/conv.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ops/conv-rows.h"
#include "ops/families.h"
#include "ops/move.h"
#include "ops/window.h"

/* Convolution (cross-correlation) over 2 or 3 spatial axes and its gradients: one rule and one kernel for both, two axes
 * being three with the first of size 1.
 *
 *   y[n,o,p] = Σ_c Σ_k x[n,c, p·stride - before + k·dilation] · w[o,c,k]      c: the channels of o's group
 */
typedef struct
{
  int n_axes;
  int64_t n, c, o, group;
  TnWindow window;
} Conv;

typedef enum
{
  CONV_FORWARD, /* x, w -> y */
  CONV_INPUT,   /* dy, w -> dx */
  CONV_FILTER   /* dy, x -> dw */
} ConvKind;

static ConvKind
kind_of (const TnNode *node)
{
  return g_str_has_suffix (node->op->name, "BackpropInput")    ? CONV_INPUT
         : g_str_has_suffix (node->op->name, "BackpropFilter") ? CONV_FILTER
                                                               : CONV_FORWARD;
}

static gboolean
size_attr (const TnNode *node, const char *name, int n_dims, TnShape *shape, GError **error)
{
  const int64_t *sizes;
  if (!tn_infer_ints (node, name, n_dims, 0, error))
    return FALSE;
  int n = tn_node_ints (node, name, &sizes);
  *shape = tn_shape_make (n, sizes);
  return tn_shape_bytes (shape, sizeof (double), NULL, error);
}

/* Shapes of input and weights, from inputs or attributes by the row. */
static gboolean
operand_shapes (const TnNode *node, int n_dims, TnShape *x, TnShape *w, GError **error)
{
  ConvKind kind = kind_of (node);
  for (int i = 0; i < 2; i++)
    if (tn_in_shape (node, i)->n_dims != n_dims)
      return tn_infer_error (node, error, _ ("both inputs must have %d dimensions"), n_dims);
  *x = *tn_in_shape (node, kind == CONV_FILTER ? 1 : 0);
  *w = *tn_in_shape (node, 1);
  if (kind == CONV_INPUT)
    return size_attr (node, "input_size", n_dims, x, error);
  return kind == CONV_FILTER ? size_attr (node, "filter_size", n_dims, w, error) : TRUE;
}

static gboolean
resolve (const TnNode *node, Conv *conv, TnShape *x, TnShape *w, TnShape *y, GError **error)
{
  int n_axes = g_str_has_prefix (node->op->name, "Conv3D") ? 3 : 2;
  if (!operand_shapes (node, n_axes + 2, x, w, error))
    return FALSE;
  *conv = (Conv){
    .n_axes = n_axes, .n = x->dims[0], .c = x->dims[1], .o = w->dims[0], .group = tn_node_int (node, "group")
  };
  if (conv->group < 1 || conv->c % conv->group != 0 || conv->o % conv->group != 0
      || w->dims[1] != conv->c / conv->group)
    return tn_infer_error (node, error,
                           _ ("%" PRId64 " input channels, %" PRId64
                              " output channels and weights for %" PRId64
                              " channels do not fit %" PRId64 " groups: weights are [out, in / group, ...]"),
                           (gint64) conv->c, (gint64) conv->o, (gint64) w->dims[1], (gint64) conv->group);
  if (!tn_window_resolve (node, "stride", FALSE, n_axes, x->dims + 2, w->dims + 2, &conv->window, error))
    return FALSE;
  *y = (TnShape){ .n_dims = n_axes + 2, .dims = { conv->n, conv->o } };
  for (int i = 0; i < n_axes; i++)
    y->dims[2 + i] = conv->window.axis[i].out;
  if (n_axes == 2)
    {
      conv->window.axis[2] = conv->window.axis[1];
      conv->window.axis[1] = conv->window.axis[0];
      conv->window.axis[0] = (TnWindowAxis){ .in = 1, .kernel = 1, .stride = 1, .dilation = 1, .out = 1 };
    }
  return TRUE;
}

static gboolean
infer_conv (TnNode *node, GError **error)
{
  Conv conv;
  TnShape x, w, y;
  if (!tn_infer_same_float (node, error) || !resolve (node, &conv, &x, &w, &y, error))
    return FALSE;
  ConvKind kind = kind_of (node);
  if (kind != CONV_FORWARD && !tn_shape_equal (tn_in_shape (node, 0), &y))
    {
      g_autofree char *text = tn_shape_to_string (&y);
      return tn_infer_error (node, error, _ ("dy must have the shape of the output, %s"), text);
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), kind == CONV_FORWARD ? y : kind == CONV_INPUT ? x : w);
  return TRUE;
}

void
tn_conv2d_geometry (const TnNode *node, TnConv2dGeometry *out)
{
  Conv conv;
  TnShape x, w, y;
  *out = (TnConv2dGeometry){ 0 };
  TnNode plain = *node;
  if (g_str_has_prefix (node->op->name, "Fused")) /* ops/fused.c: the convolution's inputs and attributes come first */
    plain.op = tn_op_find (node->op->name + strlen ("Fused"));
  plain.n_inputs = 2;
  g_return_if_fail (plain.op != NULL && g_str_has_prefix (plain.op->name, "Conv2D") && resolve (&plain, &conv, &x, &w, &y, NULL));
  const TnWindowAxis *h = &conv.window.axis[1], *v = &conv.window.axis[2];
  *out = (TnConv2dGeometry){ .n = conv.n,
                             .c = conv.c,
                             .h = h->in,
                             .w = v->in,
                             .o = conv.o,
                             .kh = h->kernel,
                             .kw = v->kernel,
                             .oh = h->out,
                             .ow = v->out,
                             .stride_h = h->stride,
                             .stride_w = v->stride,
                             .dilation_h = h->dilation,
                             .dilation_w = v->dilation,
                             .pad_top = h->before,
                             .pad_left = v->before,
                             .pad_bottom = h->after,
                             .pad_right = v->after,
                             .group = conv.group };
}

/* Multiply-adds that really happen: padding is not counted. */
static void
conv_cost (const TnNode *node, TnCost *cost)
{
  Conv conv;
  TnShape x, w, y;
  if (!resolve (node, &conv, &x, &w, &y, NULL))
    return;
  double pairs = 1;
  for (int i = 0; i < 3; i++)
    {
      double inside = 0;
      for (int64_t k = 0; k < conv.window.axis[i].kernel; k++)
        {
          int64_t first, last;
          tn_window_places (&conv.window.axis[i], k, &first, &last);
          inside += (double) MAX (last - first, 0);
        }
      pairs *= inside;
    }
  cost->flops = 2 * pairs * (double) conv.n * (double) conv.o * (double) (conv.c / conv.group);
}

/* ---- kernels ---- */

/* A row of the innermost axis that one weight connects: output places [first, last), input at output · stride + shift. */
typedef struct
{
  int64_t first, last, x, y; /* offsets of the two rows in their planes */
  int64_t shift;
} Row;

/* The k-th weight's row for output rows @p (two outer axes); FALSE where it lies in the padding. */
static gboolean
find_row (const Conv *conv, const int64_t p[2], const int64_t k[3], Row *row)
{
  const TnWindowAxis *a = conv->window.axis;
  int64_t at[2];
  for (int i = 0; i < 2; i++)
    {
      at[i] = p[i] * a[i].stride - a[i].before + k[i] * a[i].dilation;
      if (at[i] < 0 || at[i] >= a[i].in)
        return FALSE;
    }
  tn_window_places (&a[2], k[2], &row->first, &row->last);
  row->x = (at[0] * a[1].in + at[1]) * a[2].in;
  row->y = (p[0] * a[1].out + p[1]) * a[2].out;
  row->shift = k[2] * a[2].dilation - a[2].before;
  return row->first < row->last;
}

/* Goes over (channel of the group, kernel place) of one output row in the order of the weights: w_at counts with it. */
#define FOR_EACH_WEIGHT(conv, p, k, row, c_, w_at, ...)                                                                \
  do                                                                                                                   \
    {                                                                                                                  \
      int64_t k[3], w_at = 0;                                                                                          \
      const TnWindowAxis *axis_ = (conv)->window.axis;                                                                 \
      for (int64_t c_ = 0; c_ < (conv)->c / (conv)->group; c_++)                                                       \
        for (k[0] = 0; k[0] < axis_[0].kernel; k[0]++)                                                                 \
          for (k[1] = 0; k[1] < axis_[1].kernel; k[1]++)                                                               \
            for (k[2] = 0; k[2] < axis_[2].kernel; k[2]++, w_at++)                                                     \
              {                                                                                                        \
                Row row;                                                                                               \
                if (find_row ((conv), p, k, &row))                                                                     \
                  { __VA_ARGS__ }                                                                                      \
              }                                                                                                        \
    }                                                                                                                  \
  while (0)

#define FOR_EACH_OUTPUT_ROW(conv, p)                                                                                   \
  for (p[0] = 0; p[0] < (conv)->window.axis[0].out; p[0]++)                                                            \
    for (p[1] = 0; p[1] < (conv)->window.axis[1].out; p[1]++)

static int64_t
x_plane (const Conv *conv)
{
  return conv->window.axis[0].in * conv->window.axis[1].in * conv->window.axis[2].in;
}

static int64_t
y_plane (const Conv *conv)
{
  return conv->window.axis[0].out * conv->window.axis[1].out * conv->window.axis[2].out;
}

static int64_t
filter_size (const Conv *conv)
{
  return conv->c / conv->group * conv->window.axis[0].kernel * conv->window.axis[1].kernel
         * conv->window.axis[2].kernel;
}

/* One output row at a time, summed in double: channels, then kernel places, in the order of the weights. */
#define FORWARD(T)                                                                                                     \
  do                                                                                                                   \
    {                                                                                                                  \
      const T *x = context->in[0], *w = context->in[1];                                                                \
      T *y = context->out[0];                                                                                          \
      int64_t p[2], ow = conv.window.axis[2].out, stride = conv.window.axis[2].stride;                                 \
      for (int64_t n = 0; n < conv.n; n++)                                                                             \
        for (int64_t o = 0; o < conv.o; o++)                                                                           \
          {                                                                                                            \
            const T *xn = x + (n * conv.c + o / o_group * c_group) * xs, *wo = w + o * fs;                             \
            T *yo = y + (n * conv.o + o) * ys;                                                                         \
            FOR_EACH_OUTPUT_ROW (&conv, p)                                                                             \
              {                                                                                                        \
                memset (sums, 0, (size_t) ow * sizeof (double));                                                       \
                FOR_EACH_WEIGHT (&conv, p, k, row, c, w_at, {                                                          \
                  const double weight = wo[w_at];                                                                      \
                  const T *xr = xn + c * xs + row.x + row.shift;                                                       \
                  for (int64_t i = row.first; i < row.last; i++)                                                       \
                    sums[i] += weight * xr[i * stride];                                                                \
                });                                                                                                    \
                T *yr = yo + (p[0] * conv.window.axis[1].out + p[1]) * ow;                                             \
                for (int64_t i = 0; i < ow; i++)                                                                       \
                  yr[i] = (T) sums[i];                                                                                 \
              }                                                                                                        \
          }                                                                                                            \
    }                                                                                                                  \
  while (0)

/* Per sample and group: every output row is spread over the group's input planes. */
#define BACKPROP_INPUT(T)                                                                                              \
  do                                                                                                                   \
    {                                                                                                                  \
      const T *dy = context->in[0], *w = context->in[1];                                                               \
      T *dx = context->out[0];                                                                                         \
      int64_t p[2], stride = conv.window.axis[2].stride;                                                               \
      for (int64_t n = 0; n < conv.n; n++)                                                                             \
        for (int64_t g = 0; g < conv.group; g++)                                                                       \
          {                                                                                                            \
            memset (sums, 0, (size_t) (c_group * xs) * sizeof (double));                                               \
            for (int64_t o = g * o_group; o < (g + 1) * o_group; o++)                                                  \
              FOR_EACH_OUTPUT_ROW (&conv, p)                                                                           \
                FOR_EACH_WEIGHT (&conv, p, k, row, c, w_at, {                                                          \
                  const double weight = w[o * fs + w_at];                                                              \
                  const T *dyr = dy + (n * conv.o + o) * ys + row.y;                                                   \
                  double *to = sums + c * xs + row.x + row.shift;                                                      \
                  for (int64_t i = row.first; i < row.last; i++)                                                       \
                    to[i * stride] += weight * dyr[i];                                                                 \
                });                                                                                                    \
            for (int64_t i = 0; i < c_group * xs; i++)                                                                 \
              dx[(n * conv.c + g * c_group) * xs + i] = (T) sums[i];                                                   \
          }                                                                                                            \
    }                                                                                                                  \
  while (0)

/* Per output channel: samples, then output rows, in order. */
#define BACKPROP_FILTER(T)                                                                                             \
  do                                                                                                                   \
    {                                                                                                                  \
      const T *dy = context->in[0], *x = context->in[1];                                                               \
      T *dw = context->out[0];                                                                                         \
      int64_t p[2], stride = conv.window.axis[2].stride;                                                               \
      for (int64_t o = 0; o < conv.o; o++)                                                                             \
        {                                                                                                              \
          memset (sums, 0, (size_t) fs * sizeof (double));                                                             \
          for (int64_t n = 0; n < conv.n; n++)                                                                         \
            {                                                                                                          \
              const T *xn = x + (n * conv.c + o / o_group * c_group) * xs, *dyo = dy + (n * conv.o + o) * ys;          \
              FOR_EACH_OUTPUT_ROW (&conv, p)                                                                           \
                FOR_EACH_WEIGHT (&conv, p, k, row, c, w_at, {                                                          \
                  const T *xr = xn + c * xs + row.x + row.shift, *dyr = dyo + row.y;                                   \
                  double sum = 0;                                                                                      \
                  for (int64_t i = row.first; i < row.last; i++)                                                       \
                    sum += (double) dyr[i] * xr[i * stride];                                                           \
                  sums[w_at] += sum;                                                                                   \
                });                                                                                                    \
            }                                                                                                          \
          for (int64_t i = 0; i < fs; i++)                                                                             \
            dw[o * fs + i] = (T) sums[i];                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
  while (0)

static gboolean
conv_kernel (const TnKernelContext *context, GError **error)
{
  Conv conv;
  TnShape xshape, wshape, yshape;
  ConvKind kind = kind_of (context->node);
  if (!resolve (context->node, &conv, &xshape, &wshape, &yshape, error))
    return FALSE;
  int64_t xs = x_plane (&conv), ys = y_plane (&conv), fs = filter_size (&conv);
  int64_t c_group = conv.c / conv.group, o_group = conv.o / conv.group;
  g_autofree double *sums = tn_kernel_sums (context,
                                            kind == CONV_FORWARD ? conv.window.axis[2].out
                                            : kind == CONV_INPUT ? c_group * xs
                                                                 : fs,
                                            error);
  if (sums == NULL)
    return FALSE;
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    if (kind == CONV_FORWARD)
      FORWARD (T);
    else if (kind == CONV_INPUT)
      BACKPROP_INPUT (T);
    else
      BACKPROP_FILTER (T);
  });
  return TRUE;
}

/* ---- gradients: the three rows are each other's ---- */

/* Row @suffix of the same dimension with the same window; @size_name and @size where it needs one. */
static TnValue *
same_window (TnGradient *gradient, const char *suffix, TnValue *a, TnValue *b, const char *size_name,
             const TnShape *size)
{
  static const char *const arrays[] = { "stride", "pad", "dilation" };
  const TnNode *node = gradient->node;
  g_autofree char *name = g_strdup_printf ("%.6s%s", node->op->name, suffix);
  TnAttr attrs[6] = { tn_attr_string ("pad_mode", tn_node_string (node, "pad_mode")),
                      tn_attr_int ("group", tn_node_int (node, "group")) };
  int n = 2;
  for (gsize i = 0; i < G_N_ELEMENTS (arrays); i++)
    {
      const int64_t *values;
      int count = tn_node_ints (node, arrays[i], &values);
      if (values != NULL)
        attrs[n++] = tn_attr_ints (arrays[i], count, values);
    }
  if (size != NULL)
    attrs[n++] = tn_attr_ints (size_name, size->n_dims, size->dims);
  return tn_op (gradient->graph, name, TN_IN (a, b), n, attrs);
}

static void
conv_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *dy = gradient->grad_outputs[0];
  if (gradient->wanted[0])
    gradient->grad_inputs[0] =
        same_window (gradient, "BackpropInput", dy, node->inputs[1], "input_size", tn_in_shape (node, 0));
  if (gradient->wanted[1])
    gradient->grad_inputs[1] =
        same_window (gradient, "BackpropFilter", dy, node->inputs[0], "filter_size", tn_in_shape (node, 1));
}

static void
backprop_input_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *ddx = gradient->grad_outputs[0];
  if (gradient->wanted[0])
    gradient->grad_inputs[0] = same_window (gradient, "", ddx, node->inputs[1], NULL, NULL);
  if (gradient->wanted[1])
    gradient->grad_inputs[1] =
        same_window (gradient, "BackpropFilter", node->inputs[0], ddx, "filter_size", tn_in_shape (node, 1));
}

static void
backprop_filter_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  TnValue *ddw = gradient->grad_outputs[0];
  if (gradient->wanted[0])
    gradient->grad_inputs[0] = same_window (gradient, "", node->inputs[1], ddw, NULL, NULL);
  if (gradient->wanted[1])
    gradient->grad_inputs[1] =
        same_window (gradient, "BackpropInput", node->inputs[0], ddw, "input_size", tn_in_shape (node, 1));
}

#define WINDOW_ATTRS                                                                                                   \
  { "stride", TN_ATTR_INTS }, { "pad_mode", TN_ATTR_STRING, .text = "valid" }, { "pad", TN_ATTR_INTS }, { "dilation", TN_ATTR_INTS }, \
  { "group", TN_ATTR_INT, .number = 1 }
static const TnAttrSpec conv_attrs[] = { WINDOW_ATTRS, { 0 } };
static const TnAttrSpec input_attrs[] = { WINDOW_ATTRS, { "input_size", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec filter_attrs[] = { WINDOW_ATTRS, { "filter_size", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec im2col_attrs[] = { { "kernel_size", TN_ATTR_INTS, TRUE },
                                           { "strides", TN_ATTR_INTS },
                                           { "pad_mode", TN_ATTR_STRING, .text = "pad" },
                                           { "pad", TN_ATTR_INTS },
                                           { "dilation", TN_ATTR_INTS },
                                           { 0 } };
static const TnAttrSpec col2im_attrs[] = { { "output_size", TN_ATTR_INTS, TRUE },
                                           { "kernel_size", TN_ATTR_INTS, TRUE },
                                           { "strides", TN_ATTR_INTS },
                                           { "pad_mode", TN_ATTR_STRING, .text = "pad" },
                                           { "pad", TN_ATTR_INTS },
                                           { "dilation", TN_ATTR_INTS },
                                           { 0 } };

#define CONV_ROW .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .infer = infer_conv, .cost = conv_cost, .reference = conv_kernel

const TnOp tn_ops_conv[] = {
  { .name = "Conv2D", .doc = "y[n,o,p] = Σ x[n,c,p·stride - pad + k·dilation]·w[o,c,k]", CONV_ROW, .attrs = conv_attrs, .gradient = conv_gradient },
  { .name = "Conv2DBackpropInput", .doc = "dx from dy and w; the transposed convolution.", CONV_ROW, .attrs = input_attrs, .gradient = backprop_input_gradient },
  { .name = "Conv2DBackpropFilter", .doc = "dw from dy and x.", CONV_ROW, .attrs = filter_attrs, .gradient = backprop_filter_gradient },
  { .name = "Conv3D", .doc = "Conv2D over three spatial axes.", CONV_ROW, .attrs = conv_attrs, .gradient = conv_gradient },
  { .name = "Conv3DBackpropInput", .doc = "dx from dy and w; the transposed convolution.", CONV_ROW, .attrs = input_attrs, .gradient = backprop_input_gradient },
  { .name = "Conv3DBackpropFilter", .doc = "dw from dy and x.", CONV_ROW, .attrs = filter_attrs, .gradient = backprop_filter_gradient },
  { .name = "Im2Col", .doc = "[N,C,H,W] to columns [N, C·kh·kw, places].", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = im2col_attrs, .infer = tn_conv_infer_im2col, .gradient = tn_conv_im2col_gradient, .reference = tn_conv_im2col_kernel },
  { .name = "Col2Im", .doc = "Columns [N, C·kh·kw, places] added into [N,C,H,W].", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = col2im_attrs, .infer = tn_conv_infer_col2im, .gradient = tn_conv_col2im_gradient, .reference = tn_conv_col2im_kernel },
  { 0 },
};
