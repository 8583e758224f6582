/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ops/conv-rows.h"
#include "ops/move.h"
#include "ops/window.h"
#include <inttypes.h>

/* Im2Col (torch: unfold) copies every window into a column, Col2Im (fold) adds columns back; each is the other's gradient. */

static gboolean
resolve (const TnNode *node, const int64_t *in, TnWindow *window, GError **error)
{
  const int64_t *kernel;
  if (!tn_infer_ints (node, "kernel_size", 2, 1, error))
    return FALSE;
  tn_node_ints (node, "kernel_size", &kernel);
  return tn_window_resolve (node, "strides", FALSE, 2, in, kernel, window, error);
}

gboolean
tn_conv_infer_im2col (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  TnWindow window;
  if (!tn_infer_same_float (node, error))
    return FALSE;
  if (x->n_dims != 4)
    return tn_infer_error (node, error, _ ("the input must be [N, C, H, W]"));
  if (!resolve (node, x->dims + 2, &window, error))
    return FALSE;
  const TnWindowAxis *a = window.axis;
  tn_set_output (node, 0, tn_in_dtype (node, 0),
                 TN_SHAPE (x->dims[0], x->dims[1] * a[0].kernel * a[1].kernel, a[0].out * a[1].out));
  return TRUE;
}

gboolean
tn_conv_infer_col2im (TnNode *node, GError **error)
{
  const TnShape *columns = tn_in_shape (node, 0);
  const int64_t *size;
  TnWindow window;
  if (!tn_infer_same_float (node, error) || !tn_infer_ints (node, "output_size", 2, 1, error))
    return FALSE;
  tn_node_ints (node, "output_size", &size);
  if (!resolve (node, size, &window, error))
    return FALSE;
  const TnWindowAxis *a = window.axis;
  int64_t taps = a[0].kernel * a[1].kernel;
  if (columns->n_dims != 3 || columns->dims[1] % taps != 0 || columns->dims[2] != a[0].out * a[1].out)
    return tn_infer_error (node, error, _ ("columns must be [N, C·%" PRId64 ", %" PRId64 "]"),
                           (gint64) taps, (gint64) (a[0].out * a[1].out));
  tn_set_output (node, 0, tn_in_dtype (node, 0),
                 TN_SHAPE (columns->dims[0], columns->dims[1] / taps, size[0], size[1]));
  return TRUE;
}

/* Runs BODY for every cell (column offset, image offset) inside the image; image -1 where the window is over the padding. */
#define FOR_EACH_CELL(window, planes, column, image, ...)                                                              \
  do                                                                                                                   \
    {                                                                                                                  \
      const TnWindowAxis *h_ = &(window)->axis[0], *w_ = &(window)->axis[1];                                           \
      int64_t column = 0;                                                                                              \
      for (int64_t plane_ = 0; plane_ < (planes); plane_++)                                                            \
        for (int64_t kh_ = 0; kh_ < h_->kernel; kh_++)                                                                 \
          for (int64_t kw_ = 0; kw_ < w_->kernel; kw_++)                                                               \
            for (int64_t oh_ = 0; oh_ < h_->out; oh_++)                                                                \
              for (int64_t ow_ = 0; ow_ < w_->out; ow_++, column++)                                                    \
                {                                                                                                      \
                  int64_t y_ = oh_ * h_->stride - h_->before + kh_ * h_->dilation;                                     \
                  int64_t x_ = ow_ * w_->stride - w_->before + kw_ * w_->dilation;                                     \
                  gboolean inside_ = y_ >= 0 && y_ < h_->in && x_ >= 0 && x_ < w_->in;                                 \
                  int64_t image = inside_ ? (plane_ * h_->in + y_) * w_->in + x_ : -1;                                 \
                  { __VA_ARGS__ }                                                                                      \
                }                                                                                                      \
    }                                                                                                                  \
  while (0)

gboolean
tn_conv_im2col_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *x = tn_in_shape (context->node, 0);
  TnWindow window;
  if (!resolve (context->node, x->dims + 2, &window, error))
    return FALSE;
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *from = context->in[0];
    T *to = context->out[0];
    FOR_EACH_CELL (&window, x->dims[0] * x->dims[1], column, image, { to[column] = image < 0 ? 0 : from[image]; });
  });
  return TRUE;
}

gboolean
tn_conv_col2im_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *y = &context->node->outputs[0].shape;
  int64_t n = tn_shape_count (y);
  TnWindow window;
  g_autofree double *sums = tn_kernel_sums (context, n, error);
  if (sums == NULL || !resolve (context->node, y->dims + 2, &window, error))
    return FALSE;
  TN_FLOAT_CASES (tn_in_dtype (context->node, 0), T, {
    const T *from = context->in[0];
    T *to = context->out[0];
    FOR_EACH_CELL (&window, y->dims[0] * y->dims[1], column, image, {
      if (image >= 0)
        sums[image] += from[column];
    });
    for (int64_t i = 0; i < n; i++)
      to[i] = (T) sums[i];
  });
  return TRUE;
}

static void
other_way (TnGradient *gradient, const char *op, const int64_t *output_size)
{
  static const char *const arrays[] = { "kernel_size", "strides", "pad", "dilation" };
  TnAttr attrs[6] = { tn_attr_string ("pad_mode", tn_node_string (gradient->node, "pad_mode")) };
  int n = 1;
  for (gsize i = 0; i < G_N_ELEMENTS (arrays); i++)
    {
      const int64_t *values;
      int count = tn_node_ints (gradient->node, arrays[i], &values);
      if (values != NULL)
        attrs[n++] = tn_attr_ints (arrays[i], count, values);
    }
  if (output_size != NULL)
    attrs[n++] = tn_attr_ints ("output_size", 2, output_size);
  gradient->grad_inputs[0] = tn_op (gradient->graph, op, TN_IN (gradient->grad_outputs[0]), n, attrs);
}

void
tn_conv_im2col_gradient (TnGradient *gradient)
{
  other_way (gradient, "Col2Im", tn_in_shape (gradient->node, 0)->dims + 2);
}

void
tn_conv_col2im_gradient (TnGradient *gradient)
{
  other_way (gradient, "Im2Col", NULL);
}
