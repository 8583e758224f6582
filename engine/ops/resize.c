/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/resize.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ops/move.h"

/* Resize: each spatial axis in turn is multiplied by a sparse matrix whose rows hold the weights of one output place:
 * one for nearest, two for linear, a triangle as wide as the step for antialias. ResizeGrad multiplies by its transpose.
 * Coordinates are torch's: places are cell centres, or with align_corners the first and last centres coincide. */
typedef struct
{
  int64_t first, n;
  double *weights;
} Taps;

typedef struct
{
  gboolean linear, exact, align_corners, antialias;
} Mode;

static gboolean
parse_mode (const TnNode *node, Mode *mode, GError **error)
{
  const char *name = tn_node_string (node, "mode");
  *mode =
      (Mode){ .align_corners = tn_node_bool (node, "align_corners"), .antialias = tn_node_bool (node, "antialias") };
  mode->exact = g_strcmp0 (name, "nearest-exact") == 0;
  mode->linear =
      g_strcmp0 (name, "linear") == 0 || g_strcmp0 (name, "bilinear") == 0 || g_strcmp0 (name, "trilinear") == 0;
  if (!mode->linear && !mode->exact && g_strcmp0 (name, "nearest") != 0)
    return tn_infer_error (node, error,
                           _ ("mode must be nearest, nearest-exact or linear (bilinear, trilinear), not “%s”"), name);
  return TRUE;
}

static gboolean
is_gradient (const TnNode *node)
{
  return tn_node_is (node, "ResizeGrad");
}

gboolean
tn_resize_infer (TnNode *node, GError **error)
{
  Mode mode;
  const int64_t *sizes;
  TnShape shape = *tn_in_shape (node, 0);
  if (!tn_infer_same_float (node, error) || !parse_mode (node, &mode, error))
    return FALSE;
  if (shape.n_dims < 3)
    return tn_infer_error (node, error, _ ("the input must be [N, C, ...] with at least one spatial axis"));
  int skip = is_gradient (node) ? 0 : 2, n = tn_node_ints (node, is_gradient (node) ? "input_size" : "size", &sizes);
  if (n != shape.n_dims - skip)
    return tn_infer_error (node, error, _ ("size must name every spatial axis"));
  for (int d = 2; d < shape.n_dims; d++)
    {
      int64_t size = sizes[d - skip];
      if (size < 1 || shape.dims[d] < 1)
        return tn_infer_error (node, error, _ ("spatial sizes must be positive"));
      shape.dims[d] = size;
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static Taps
make_taps (const Mode *mode, int64_t in, int64_t out, int64_t o)
{
  double scale = mode->align_corners && mode->linear ? (out > 1 ? (double) (in - 1) / (double) (out - 1) : 0)
                                                     : (double) in / (double) out;
  if (!mode->linear)
    {
      int64_t at = (int64_t) floor (((double) o + (mode->exact ? 0.5 : 0)) * scale);
      Taps taps = { MIN (at, in - 1), 1, g_new (double, 1) };
      taps.weights[0] = 1;
      return taps;
    }
  if (mode->antialias)
    {
      double centre = scale * ((double) o + 0.5), support = MAX (scale, 1), total = 0;
      int64_t first = MAX ((int64_t) (centre - support + 0.5), 0), last = MIN ((int64_t) (centre + support + 0.5), in);
      Taps taps = { first, last - first, g_new0 (double, last - first + 1) };
      for (int64_t i = 0; i < taps.n; i++)
        total += taps.weights[i] = MAX (1 - fabs (((double) (i + first) - centre + 0.5) / support), 0);
      for (int64_t i = 0; i < taps.n && total != 0; i++)
        taps.weights[i] /= total;
      return taps;
    }
  double at = mode->align_corners ? scale * (double) o : MAX (scale * ((double) o + 0.5) - 0.5, 0);
  int64_t first = MIN ((int64_t) at, in - 1);
  Taps taps = { first, first + 1 < in ? 2 : 1, g_new (double, 2) };
  taps.weights[1] = at - (double) first;
  taps.weights[0] = taps.n == 1 ? 1 : 1 - taps.weights[1];
  return taps;
}

/* One axis of [outer][n][inner], in double. */
static void
apply_axis (const Mode *mode, gboolean transposed, int64_t outer, int64_t small, int64_t large, int64_t inner,
            const double *from, double *to)
{
  /* small: size on the Resize input side, large: on its output side, whichever is larger. */
  int64_t n_from = transposed ? large : small, n_to = transposed ? small : large;
  for (int64_t o = 0; o < large; o++)
    {
      Taps taps = make_taps (mode, small, large, o);
      for (int64_t b = 0; b < outer; b++)
        for (int64_t t = 0; t < taps.n; t++)
          {
            int64_t place = taps.first + t;
            const double *x = from + (b * n_from + (transposed ? o : place)) * inner;
            double *y = to + (b * n_to + (transposed ? place : o)) * inner, weight = taps.weights[t];
            for (int64_t i = 0; i < inner; i++)
              y[i] += weight * x[i];
          }
      g_free (taps.weights);
    }
}

gboolean
tn_resize_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnValue *y = &node->outputs[0];
  TnShape now = *tn_in_shape (node, 0);
  Mode mode;
  if (!parse_mode (node, &mode, error))
    return FALSE;
  g_autofree double *from = tn_kernel_sums (context, tn_shape_count (&now), error);
  if (from == NULL)
    return FALSE;
  tn_dtype_convert (tn_in_dtype (node, 0), context->in[0], TN_DTYPE_F64, from, (size_t) tn_shape_count (&now));
  for (int d = 2; d < now.n_dims; d++)
    {
      int64_t old = now.dims[d], new = y->shape.dims[d];
      now.dims[d] = new;
      double *to = tn_kernel_sums (context, tn_shape_count (&now), error);
      if (to == NULL)
        return FALSE;
      apply_axis (&mode, is_gradient (node), tn_shape_span (&now, 0, d), is_gradient (node) ? new : old,
                  is_gradient (node) ? old : new, tn_shape_span (&now, d + 1, now.n_dims), from, to);
      g_free (from);
      from = to;
    }
  tn_dtype_convert (TN_DTYPE_F64, from, y->dtype, context->out[0], (size_t) tn_shape_count (&now));
  return TRUE;
}

void
tn_resize_cost (const TnNode *node, TnCost *cost)
{
  const TnShape *x = tn_in_shape (node, 0);
  double taps = g_str_has_prefix (tn_node_string (node, "mode"), "nearest") ? 1 : 2;
  cost->flops =
      2 * taps * (x->n_dims - 2) * (double) MAX (tn_shape_count (x), tn_shape_count (&node->outputs[0].shape));
}

void
tn_resize_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  const TnShape *x = tn_in_shape (node, 0);
  gboolean back = is_gradient (node);
  TnAttr attrs[] = { tn_attr_string ("mode", tn_node_string (node, "mode")),
                     tn_attr_bool ("align_corners", tn_node_bool (node, "align_corners")),
                     tn_attr_bool ("antialias", tn_node_bool (node, "antialias")),
                     back ? tn_attr_ints ("size", x->n_dims - 2, x->dims + 2)
                          : tn_attr_ints ("input_size", x->n_dims, x->dims) };
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, back ? "Resize" : "ResizeGrad", TN_IN (gradient->grad_outputs[0]), 4, attrs);
}
