/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/shape-rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/move.h"

#define ELEM(context, i) tn_dtype_size ((context)->node->outputs[i].dtype)

/* ---- views: the same elements under another shape ---- */

static gboolean
view_kernel (const TnKernelContext *context, GError **error)
{
  const TnValue *y = &context->node->outputs[0];
  size_t bytes = (size_t) tn_shape_count (&y->shape) * tn_dtype_size (y->dtype);
  if (context->out[0] != context->in[0] && bytes > 0)
    memcpy (context->out[0], context->in[0], bytes);
  return TRUE;
}

static void
view_gradient (TnGradient *gradient)
{
  gradient->grad_inputs[0] = tn_reshape (gradient->graph, gradient->grad_outputs[0], tn_in_shape (gradient->node, 0));
}

static gboolean
infer_reshape (TnNode *node, GError **error)
{
  const int64_t *wanted;
  TnShape shape = { .n_dims = tn_node_ints (node, "shape", &wanted) };
  if (shape.n_dims > TN_MAX_DIMS)
    return tn_infer_error (node, error, _ ("a tensor cannot have %d dimensions"), shape.n_dims);
  int64_t count = tn_shape_count (tn_in_shape (node, 0)), known = 1;
  int open = -1;
  for (int d = 0; d < shape.n_dims; d++)
    {
      shape.dims[d] = wanted[d];
      if (wanted[d] < -1 || (wanted[d] == -1 && open >= 0))
        return tn_infer_error (node, error, _ ("sizes must be 0 or more, and at most one -1"));
      if (wanted[d] == -1)
        open = d;
      else if (__builtin_mul_overflow (known, wanted[d], &known))
        return tn_infer_error (node, error, _ ("the new shape is too large"));
    }
  if (open >= 0 && known > 0 && count % known == 0)
    shape.dims[open] = count / known;
  else if (open >= 0 || known != count)
    {
      g_autofree char *text = tn_shape_to_string (&shape);
      return tn_infer_error (node, error, _ ("%" PRId64 " elements do not fit shape %s"), (gint64) count,
                             text);
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
infer_flatten (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  TnShape shape = { 0 };
  if (x->n_dims == 0)
    shape = TN_SHAPE (1);
  else
    {
      /* Flatten of one dimension keeps axis 0 and adds nothing: start_dim 1 is then past the end. */
      gint64 start = tn_node_int (node, "start_dim"), end = tn_node_int (node, "end_dim");
      if (x->n_dims == 1 && start == 1)
        start = 0;
      if (!tn_normalize_axis (&start, x->n_dims) || !tn_normalize_axis (&end, x->n_dims) || start > end)
        return tn_infer_error (node, error, _ ("start_dim and end_dim must be axes of the input, in this order"));
      for (int d = 0; d < start; d++)
        shape.dims[shape.n_dims++] = x->dims[d];
      shape.dims[shape.n_dims++] = tn_shape_span (x, (int) start, (int) end + 1);
      for (int d = (int) end + 1; d < x->n_dims; d++)
        shape.dims[shape.n_dims++] = x->dims[d];
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
infer_expand_dims (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  int axis;
  if (x->n_dims == TN_MAX_DIMS)
    return tn_infer_error (node, error, _ ("the input has %d dimensions already"), TN_MAX_DIMS);
  if (!tn_infer_axis (node, "axis", x->n_dims + 1, &axis, error))
    return FALSE;
  TnShape shape = { .n_dims = x->n_dims + 1 };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = d < axis ? x->dims[d] : d == axis ? 1 : x->dims[d - 1];
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

/* Without axis every dimension of size 1 goes. */
static gboolean
infer_squeeze (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  const int64_t *axes;
  int n = tn_node_ints (node, "axis", &axes);
  gboolean drop[TN_MAX_DIMS] = { FALSE };
  for (int i = 0; i < n; i++)
    {
      gint64 axis = axes[i];
      if (!tn_normalize_axis (&axis, x->n_dims) || x->n_dims == 0 || x->dims[axis] != 1)
        return tn_infer_error (node, error, _ ("axis %" PRId64 " is not a dimension of size 1"),
                               (gint64) axes[i]);
      drop[axis] = TRUE;
    }
  TnShape shape = { 0 };
  for (int d = 0; d < x->n_dims; d++)
    if (axes == NULL ? x->dims[d] != 1 : !drop[d])
      shape.dims[shape.n_dims++] = x->dims[d];
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static void
identity_gradient (TnGradient *gradient)
{
  gradient->grad_inputs[0] = gradient->grad_outputs[0];
}

static void
stop_gradient (TnGradient *gradient)
{
}

/* ---- Transpose ---- */

static gboolean
infer_transpose (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  const int64_t *perm;
  int n = tn_node_ints (node, "perm", &perm);
  gboolean seen[TN_MAX_DIMS] = { FALSE };
  TnShape shape = { .n_dims = x->n_dims };
  if (n != x->n_dims)
    return tn_infer_error (node, error, _ ("perm names %d axes, the input has %d"), n, x->n_dims);
  for (int d = 0; d < n; d++)
    {
      gint64 axis = perm[d];
      if (!tn_normalize_axis (&axis, n) || seen[axis])
        return tn_infer_error (node, error, _ ("perm must name every axis once"));
      seen[axis] = TRUE;
      shape.dims[d] = x->dims[axis];
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
transpose_kernel (const TnKernelContext *context, GError **error)
{
  const int64_t *perm;
  int64_t strides[TN_MAX_DIMS];
  TnMove move = tn_move_plain (&context->node->outputs[0].shape);
  tn_shape_strides (tn_in_shape (context->node, 0), strides);
  tn_node_ints (context->node, "perm", &perm);
  for (int d = 0; d < move.n_dims; d++)
    move.from_strides[d] = strides[perm[d] < 0 ? perm[d] + move.n_dims : perm[d]];
  tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
  return TRUE;
}

static void
transpose_gradient (TnGradient *gradient)
{
  const int64_t *perm;
  int64_t back[TN_MAX_DIMS];
  int n = tn_node_ints (gradient->node, "perm", &perm);
  for (int d = 0; d < n; d++)
    back[perm[d] < 0 ? perm[d] + n : perm[d]] = d;
  gradient->grad_inputs[0] = tn_op (gradient->graph, "Transpose", TN_IN (gradient->grad_outputs[0]),
                                    TN_ATTRS (tn_attr_ints ("perm", n, back)));
}

/* ---- repeating ---- */

/* -1 in shape keeps the input's size. */
static gboolean
infer_broadcast_shape (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  const int64_t *wanted;
  TnShape shape = { .n_dims = tn_node_ints (node, "shape", &wanted) }, wider;
  if (shape.n_dims > TN_MAX_DIMS || shape.n_dims < x->n_dims)
    return tn_infer_error (node, error, _ ("shape must have at least the input's dimensions and at most %d"),
                           TN_MAX_DIMS);
  for (int d = 0; d < shape.n_dims; d++)
    {
      int from = d - (shape.n_dims - x->n_dims);
      shape.dims[d] = wanted[d] == -1 && from >= 0 ? x->dims[from] : wanted[d];
    }
  if (!tn_shape_broadcast (x, &shape, &wider) || !tn_shape_equal (&shape, &wider))
    {
      g_autofree char *text = tn_shape_to_string (&shape);
      return tn_infer_error (node, error, _ ("cannot be broadcast to %s: from the right, sizes must be equal or 1"),
                             text);
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
broadcast_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *x = tn_in_shape (context->node, 0);
  TnMove move = tn_move_plain (&context->node->outputs[0].shape);
  int64_t strides[TN_MAX_DIMS];
  tn_shape_strides (x, strides);
  for (int d = 0; d < move.n_dims; d++)
    {
      int from = d - (move.n_dims - x->n_dims);
      move.from_strides[d] = from < 0 || x->dims[from] == 1 ? 0 : strides[from];
    }
  tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
  return TRUE;
}

static void
broadcast_gradient (TnGradient *gradient)
{
  gradient->grad_inputs[0] = tn_sum_to (gradient->graph, gradient->grad_outputs[0], tn_in_shape (gradient->node, 0));
}

static gboolean
infer_tile (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  const int64_t *multiples;
  TnShape shape = { .n_dims = tn_node_ints (node, "multiples", &multiples) };
  if (shape.n_dims > TN_MAX_DIMS || shape.n_dims < x->n_dims)
    return tn_infer_error (node, error, _ ("multiples must have at least the input's dimensions and at most %d"),
                           TN_MAX_DIMS);
  for (int d = 0; d < shape.n_dims; d++)
    {
      int from = d - (shape.n_dims - x->n_dims);
      if (multiples[d] < 0 || __builtin_mul_overflow (multiples[d], from < 0 ? 1 : x->dims[from], &shape.dims[d]))
        return tn_infer_error (node, error, _ ("multiples must be 0 or more and give a size that can be addressed"));
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

/* Each axis becomes two: copy and place in the copy. */
static gboolean
tile_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *x = tn_in_shape (context->node, 0), *y = &context->node->outputs[0].shape;
  const int64_t *multiples;
  int64_t from[TN_MAX_DIMS], to[TN_MAX_DIMS];
  TnMove move = { 0 };
  tn_node_ints (context->node, "multiples", &multiples);
  tn_shape_strides (x, from);
  tn_shape_strides (y, to);
  for (int d = 0; d < y->n_dims; d++)
    {
      int k = d - (y->n_dims - x->n_dims);
      int64_t size = k < 0 ? 1 : x->dims[k];
      tn_move_add_dim (&move, multiples[d], to[d] * size, 0);
      tn_move_add_dim (&move, size, to[d], k < 0 ? 0 : from[k]);
    }
  tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
  return TRUE;
}

/* Sums the copies one axis after the other: [outer][copies][size · inner] -> [outer][size · inner]. */
static void
tile_gradient (TnGradient *gradient)
{
  const TnShape *x = tn_in_shape (gradient->node, 0);
  const int64_t *multiples;
  int n = tn_node_ints (gradient->node, "multiples", &multiples);
  TnShape now = gradient->node->outputs[0].shape;
  TnValue *dy = gradient->grad_outputs[0];
  for (int d = 0; d < n; d++)
    {
      int k = d - (n - x->n_dims);
      int64_t size = k < 0 ? 1 : x->dims[k];
      if (multiples[d] == 1)
        continue;
      TnShape split = TN_SHAPE (tn_shape_span (&now, 0, d), multiples[d], size * tn_shape_span (&now, d + 1, n));
      dy = tn_reshape (gradient->graph, dy, &split);
      dy = tn_op (gradient->graph, "ReduceSum", TN_IN (dy), TN_ATTRS (tn_attr_ints ("axis", 1, (int64_t[]){ 1 })));
      now.dims[d] = size;
    }
  gradient->grad_inputs[0] = tn_reshape (gradient->graph, dy, x);
}

static gboolean
infer_repeat_elements (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  gint64 repeats = tn_node_int (node, "repeats");
  int axis;
  if (!tn_infer_axis (node, "axis", shape.n_dims, &axis, error))
    return FALSE;
  if (shape.n_dims == 0 || repeats < 0 || __builtin_mul_overflow (shape.dims[axis], repeats, &shape.dims[axis]))
    return tn_infer_error (node, error, _ ("repeats must be 0 or more, and the input must have an axis"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
repeat_elements_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *x = tn_in_shape (context->node, 0);
  TnAxisView v = tn_axis_view (x, tn_node_axis (context->node, "axis", x->n_dims));
  TnMove move = { 0 };
  tn_move_add_dim (&move, v.outer * v.n, tn_node_int (context->node, "repeats") * v.inner, v.inner);
  tn_move_add_dim (&move, tn_node_int (context->node, "repeats"), v.inner, 0);
  tn_move_add_dim (&move, v.inner, 1, 1);
  tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
  return TRUE;
}

static void
repeat_elements_gradient (TnGradient *gradient)
{
  const TnShape *x = tn_in_shape (gradient->node, 0);
  TnAxisView v = tn_axis_view (x, tn_node_axis (gradient->node, "axis", x->n_dims));
  TnShape split = TN_SHAPE (v.outer * v.n, tn_node_int (gradient->node, "repeats"), v.inner);
  TnValue *dy = tn_reshape (gradient->graph, gradient->grad_outputs[0], &split);
  dy = tn_op (gradient->graph, "ReduceSum", TN_IN (dy), TN_ATTRS (tn_attr_ints ("axis", 1, (int64_t[]){ 1 })));
  gradient->grad_inputs[0] = tn_reshape (gradient->graph, dy, x);
}

/* ---- turning ---- */

static gboolean
infer_axes_unary (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  const int64_t *axes;
  int n = tn_node_ints (node, "axis", &axes);
  for (int i = 0; i < n; i++)
    {
      gint64 axis = axes[i];
      if (!tn_normalize_axis (&axis, x->n_dims) || x->n_dims == 0)
        return tn_infer_error (node, error, _ ("axis %" PRId64 " is not an axis of the input"),
                               (gint64) axes[i]);
    }
  return tn_infer_unary (node, error);
}

static gboolean
reverse_kernel (const TnKernelContext *context, GError **error)
{
  TnMove move = tn_move_plain (tn_in_shape (context->node, 0));
  const int64_t *axes;
  int n = tn_node_ints (context->node, "axis", &axes);
  gboolean turned[TN_MAX_DIMS] = { FALSE };
  for (int i = 0; i < n; i++)
    turned[axes[i] < 0 ? axes[i] + move.n_dims : axes[i]] ^= TRUE;
  for (int d = 0; d < move.n_dims; d++)
    if (turned[d])
      {
        move.from_offset += (move.dims[d] - 1) * move.from_strides[d];
        move.from_strides[d] = -move.from_strides[d];
      }
  tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
  return TRUE;
}

static void
reverse_gradient (TnGradient *gradient)
{
  const int64_t *axes;
  int n = tn_node_ints (gradient->node, "axis", &axes);
  gradient->grad_inputs[0] = tn_op (gradient->graph, "ReverseV2", TN_IN (gradient->grad_outputs[0]),
                                    TN_ATTRS (tn_attr_ints ("axis", n, axes)));
}

static gboolean
infer_roll (TnNode *node, GError **error)
{
  const int64_t *ints;
  if (tn_node_ints (node, "shift", &ints) != tn_node_ints (node, "axis", &ints))
    return tn_infer_error (node, error, _ ("shift and axis must have the same length"));
  return infer_axes_unary (node, error);
}

static gboolean
roll_kernel (const TnKernelContext *context, GError **error)
{
  const TnShape *x = tn_in_shape (context->node, 0);
  const int64_t *axes, *shifts;
  int64_t shift[TN_MAX_DIMS] = { 0 }, strides[TN_MAX_DIMS];
  int n = tn_node_ints (context->node, "axis", &axes);
  tn_node_ints (context->node, "shift", &shifts);
  tn_shape_strides (x, strides);
  for (int i = 0; i < n; i++)
    {
      int64_t axis = axes[i] < 0 ? axes[i] + x->n_dims : axes[i], size = MAX (x->dims[axis], 1);
      shift[axis] = ((shift[axis] + shifts[i]) % size + size) % size;
    }
  /* The tensor falls into 2^n blocks: before and after the place where an axis wraps. */
  for (int block = 0; block < 1 << x->n_dims; block++)
    {
      TnMove move = tn_move_plain (x);
      for (int d = 0; d < x->n_dims; d++)
        {
          gboolean wraps = (block >> d & 1) != 0;
          move.dims[d] = wraps ? shift[d] : x->dims[d] - shift[d];
          move.from_offset += wraps ? (x->dims[d] - shift[d]) * strides[d] : 0;
          move.to_offset += wraps ? 0 : shift[d] * strides[d];
        }
      tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
    }
  return TRUE;
}

static void
roll_gradient (TnGradient *gradient)
{
  const int64_t *axes, *shifts;
  int n = tn_node_ints (gradient->node, "axis", &axes);
  tn_node_ints (gradient->node, "shift", &shifts);
  g_autofree int64_t *back = g_new (int64_t, n + 1);
  for (int i = 0; i < n; i++)
    back[i] = -shifts[i];
  gradient->grad_inputs[0] = tn_op (gradient->graph, "Roll", TN_IN (gradient->grad_outputs[0]),
                                    TN_ATTRS (tn_attr_ints ("shift", n, back), tn_attr_ints ("axis", n, axes)));
}

/* ---- PixelShuffle: [N, C·r², H, W] <-> [N, C, H·r, W·r], in torch's channel order ---- */

static gboolean
infer_pixel_shuffle (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  gint64 r = tn_node_int (node, "upscale_factor");
  int n = shape.n_dims;
  if (n < 3 || r < 1 || shape.dims[n - 3] % (r * r) != 0)
    return tn_infer_error (node, error, _ ("needs at least 3 dimensions and channels divisible by upscale_factor²"));
  shape.dims[n - 3] /= r * r;
  shape.dims[n - 2] *= r;
  shape.dims[n - 1] *= r;
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
infer_pixel_unshuffle (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  gint64 r = tn_node_int (node, "downscale_factor");
  int n = shape.n_dims;
  if (n < 3 || r < 1 || shape.dims[n - 2] % r != 0 || shape.dims[n - 1] % r != 0)
    return tn_infer_error (node, error,
                           _ ("needs at least 3 dimensions, height and width divisible by downscale_factor"));
  shape.dims[n - 3] *= r * r;
  shape.dims[n - 2] /= r;
  shape.dims[n - 1] /= r;
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

/* @packed: the side with r² times the channels. */
static TnMove
pixel_move (const TnShape *packed, int64_t r, gboolean unpack)
{
  int n = packed->n_dims;
  int64_t h = packed->dims[n - 2], w = packed->dims[n - 1], planes = tn_shape_span (packed, 0, n - 2) / (r * r);
  const int64_t sizes[] = { planes, r, r, h, w };
  const int64_t packed_strides[] = { r * r * h * w, r * h * w, h * w, w, 1 };
  const int64_t wide_strides[] = { r * r * h * w, w * r, 1, w * r * r, r };
  TnMove move = { 0 };
  for (int d = 0; d < 5; d++)
    tn_move_add_dim (&move, sizes[d], unpack ? wide_strides[d] : packed_strides[d],
                     unpack ? packed_strides[d] : wide_strides[d]);
  return move;
}

static gboolean
pixel_shuffle_kernel (const TnKernelContext *context, GError **error)
{
  TnMove move = pixel_move (tn_in_shape (context->node, 0), tn_node_int (context->node, "upscale_factor"), TRUE);
  tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
  return TRUE;
}

static gboolean
pixel_unshuffle_kernel (const TnKernelContext *context, GError **error)
{
  TnMove move = pixel_move (&context->node->outputs[0].shape, tn_node_int (context->node, "downscale_factor"), FALSE);
  tn_move_run (&move, ELEM (context, 0), context->out[0], context->in[0]);
  return TRUE;
}

static void
pixel_shuffle_gradient (TnGradient *gradient)
{
  gint64 r = tn_node_int (gradient->node, "upscale_factor");
  gradient->grad_inputs[0] = tn_op (gradient->graph, "PixelUnshuffle", TN_IN (gradient->grad_outputs[0]),
                                    TN_ATTRS (tn_attr_int ("downscale_factor", r)));
}

static void
pixel_unshuffle_gradient (TnGradient *gradient)
{
  gint64 r = tn_node_int (gradient->node, "downscale_factor");
  gradient->grad_inputs[0] = tn_op (gradient->graph, "PixelShuffle", TN_IN (gradient->grad_outputs[0]),
                                    TN_ATTRS (tn_attr_int ("upscale_factor", r)));
}

/* ---- Fill ---- */

static gboolean
infer_fill (TnNode *node, GError **error)
{
  const int64_t *sizes;
  int n = tn_node_ints (node, "shape", &sizes);
  gint64 dtype = tn_node_int (node, "dtype");
  if (n > TN_MAX_DIMS || dtype < 0 || dtype >= TN_DTYPE_COUNT)
    return tn_infer_error (node, error, _ ("shape or dtype is out of range"));
  tn_set_output (node, 0, (TnDType) dtype, tn_shape_make (n, sizes));
  return TRUE;
}

static gboolean
fill_with (const TnKernelContext *context, double value)
{
  const TnValue *y = &context->node->outputs[0];
  int64_t n = tn_shape_count (&y->shape);
  for (int64_t i = 0; i < n; i++)
    tn_dtype_store (y->dtype, context->out[0], (size_t) i, value);
  return TRUE;
}

static gboolean
fill_kernel (const TnKernelContext *context, GError **error)
{
  return fill_with (context, tn_node_float (context->node, "value"));
}

static gboolean
zeros_kernel (const TnKernelContext *context, GError **error)
{
  return fill_with (context, 0);
}

static gboolean
ones_kernel (const TnKernelContext *context, GError **error)
{
  return fill_with (context, 1);
}

static const TnAttrSpec shape_attr[] = { { "shape", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec flatten_attrs[] = { { "start_dim", TN_ATTR_INT, .number = 1 },
                                            { "end_dim", TN_ATTR_INT, .number = -1 },
                                            { 0 } };
static const TnAttrSpec axis_attr[] = { { "axis", TN_ATTR_INT, TRUE }, { 0 } };
static const TnAttrSpec axis_zero[] = { { "axis", TN_ATTR_INT }, { 0 } };
static const TnAttrSpec squeeze_attrs[] = { { "axis", TN_ATTR_INTS }, { 0 } };
static const TnAttrSpec axes_attr[] = { { "axis", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec perm_attr[] = { { "perm", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec tile_attrs[] = { { "multiples", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec repeat_attrs[] = { { "repeats", TN_ATTR_INT, TRUE }, { "axis", TN_ATTR_INT }, { 0 } };
static const TnAttrSpec roll_attrs[] = { { "shift", TN_ATTR_INTS, TRUE }, { "axis", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec split_attrs[] = {
  { "axis", TN_ATTR_INT }, { "sizes", TN_ATTR_INTS }, { "output_num", TN_ATTR_INT, .number = 1 }, { 0 }
};
static const TnAttrSpec slice_attrs[] = {
  { "begin", TN_ATTR_INTS, TRUE }, { "end", TN_ATTR_INTS, TRUE }, { "strides", TN_ATTR_INTS }, { 0 }
};
static const TnAttrSpec slice_grad_attrs[] = { { "shape", TN_ATTR_INTS, TRUE },
                                               { "begin", TN_ATTR_INTS, TRUE },
                                               { "end", TN_ATTR_INTS, TRUE },
                                               { "strides", TN_ATTR_INTS },
                                               { 0 } };
static const TnAttrSpec pad_attrs[] = {
  { "paddings", TN_ATTR_INTS, TRUE }, { "mode", TN_ATTR_STRING, .text = "constant" }, { "value", TN_ATTR_FLOAT }, { 0 }
};
static const TnAttrSpec pad_grad_attrs[] = { { "shape", TN_ATTR_INTS, TRUE },
                                             { "paddings", TN_ATTR_INTS, TRUE },
                                             { "mode", TN_ATTR_STRING, TRUE, .text = "reflect" },
                                             { 0 } };
static const TnAttrSpec triangle_attrs[] = { { "diagonal", TN_ATTR_INT }, { 0 } };
static const TnAttrSpec diagonal_attrs[] = {
  { "offset", TN_ATTR_INT }, { "dim1", TN_ATTR_INT }, { "dim2", TN_ATTR_INT, .number = 1 }, { 0 }
};
static const TnAttrSpec diagonal_grad_attrs[] = { { "shape", TN_ATTR_INTS, TRUE },
                                                  { "offset", TN_ATTR_INT },
                                                  { "dim1", TN_ATTR_INT },
                                                  { "dim2", TN_ATTR_INT, .number = 1 },
                                                  { 0 } };
static const TnAttrSpec upscale_attr[] = { { "upscale_factor", TN_ATTR_INT, TRUE }, { 0 } };
static const TnAttrSpec downscale_attr[] = { { "downscale_factor", TN_ATTR_INT, TRUE }, { 0 } };
static const TnAttrSpec fill_attrs[] = {
  { "shape", TN_ATTR_INTS, TRUE }, { "value", TN_ATTR_FLOAT }, { "dtype", TN_ATTR_DTYPE, .number = TN_DTYPE_F32 }, { 0 }
};

/* One input, one output, nothing to compute but places: the cost is bytes alone. */
#define MOVE_ROW .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .cost = tn_shape_cost_move
#define VIEW_ROW .flags = TN_OP_VIEW | TN_OP_INPLACE, .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .reference = view_kernel

const TnOp tn_ops_shape[] = {
  { .name = "Reshape", .doc = "The same elements under shape; one size may be -1.", VIEW_ROW, .attrs = shape_attr, .infer = infer_reshape, .gradient = view_gradient },
  { .name = "Flatten", .doc = "Dimensions start_dim to end_dim become one.", VIEW_ROW, .attrs = flatten_attrs, .infer = infer_flatten, .gradient = view_gradient },
  { .name = "ExpandDims", .doc = "A dimension of size 1 at axis.", VIEW_ROW, .attrs = axis_attr, .infer = infer_expand_dims, .gradient = view_gradient },
  { .name = "Squeeze", .doc = "Drops dimensions of size 1.", VIEW_ROW, .attrs = squeeze_attrs, .infer = infer_squeeze, .gradient = view_gradient },
  { .name = "Identity", .doc = "y = x", VIEW_ROW, .infer = tn_infer_unary, .gradient = identity_gradient },
  { .name = "StopGradient", .doc = "y = x; no gradient goes back.", VIEW_ROW, .infer = tn_infer_unary, .gradient = stop_gradient },
  { .name = "Transpose", .doc = "Dimension d of y is dimension perm[d] of x.", MOVE_ROW, .attrs = perm_attr, .infer = infer_transpose, .gradient = transpose_gradient, .reference = transpose_kernel },
  { .name = "BroadcastTo", .doc = "Stretches dimensions of size 1; -1 keeps a size.", MOVE_ROW, .attrs = shape_attr, .infer = infer_broadcast_shape, .gradient = broadcast_gradient, .reference = broadcast_kernel },
  { .name = "Tile", .doc = "Dimension d is repeated multiples[d] times as a whole.", MOVE_ROW, .attrs = tile_attrs, .infer = infer_tile, .gradient = tile_gradient, .reference = tile_kernel },
  { .name = "RepeatElements", .doc = "Every slice along axis is repeated in place.", MOVE_ROW, .attrs = repeat_attrs, .infer = infer_repeat_elements, .gradient = repeat_elements_gradient, .reference = repeat_elements_kernel },
  { .name = "ReverseV2", .doc = "Turns the axes round.", MOVE_ROW, .attrs = axes_attr, .infer = infer_axes_unary, .gradient = reverse_gradient, .reference = reverse_kernel },
  { .name = "Roll", .doc = "y[(i + shift) mod n] = x[i] along each axis.", MOVE_ROW, .attrs = roll_attrs, .infer = infer_roll, .gradient = roll_gradient, .reference = roll_kernel },
  { .name = "Split", .doc = "Pieces along axis: of the given sizes, or output_num equal ones.", .min_inputs = 1, .max_inputs = 1, .n_outputs = TN_VARIADIC, .attrs = split_attrs, .infer = tn_shape_infer_split, .gradient = tn_shape_split_gradient, .cost = tn_shape_cost_move, .reference = tn_shape_split_kernel },
  { .name = "Concat", .doc = "The inputs behind each other along axis.", .min_inputs = 1, .max_inputs = TN_VARIADIC, .n_outputs = 1, .attrs = axis_zero, .infer = tn_shape_infer_concat, .gradient = tn_shape_concat_gradient, .cost = tn_shape_cost_move, .reference = tn_shape_concat_kernel },
  { .name = "Stack", .doc = "Equal shapes along a new axis.", .min_inputs = 1, .max_inputs = TN_VARIADIC, .n_outputs = 1, .attrs = axis_zero, .infer = tn_shape_infer_stack, .gradient = tn_shape_stack_gradient, .cost = tn_shape_cost_move, .reference = tn_shape_stack_kernel },
  { .name = "Unstack", .doc = "One output for each place along axis.", .min_inputs = 1, .max_inputs = 1, .n_outputs = TN_VARIADIC, .attrs = axis_zero, .infer = tn_shape_infer_unstack, .gradient = tn_shape_unstack_gradient, .cost = tn_shape_cost_move, .reference = tn_shape_split_kernel },
  { .name = "StridedSlice", .doc = "x[begin:end:stride] in the leading dimensions, by Python's rules.", MOVE_ROW, .attrs = slice_attrs, .infer = tn_shape_infer_slice, .gradient = tn_shape_slice_gradient, .reference = tn_shape_slice_kernel },
  { .name = "StridedSliceGrad", .doc = "Zeros of shape with dy in the slice.", MOVE_ROW, .attrs = slice_grad_attrs, .infer = tn_shape_infer_slice_grad, .gradient = tn_shape_slice_grad_gradient, .reference = tn_shape_slice_grad_kernel },
  { .name = "Pad", .doc = "paddings: before and after of each dimension; constant, reflect, symmetric, edge or circular.", MOVE_ROW, .attrs = pad_attrs, .infer = tn_shape_infer_pad, .gradient = tn_shape_pad_gradient, .reference = tn_shape_pad_kernel },
  { .name = "PadGrad", .doc = "Adds what was copied from a place to that place.", MOVE_ROW, .attrs = pad_grad_attrs, .infer = tn_shape_infer_pad_grad, .gradient = tn_shape_pad_grad_gradient, .reference = tn_shape_pad_grad_kernel },
  { .name = "Tril", .doc = "Zero where column > row + diagonal.", MOVE_ROW, .attrs = triangle_attrs, .infer = tn_shape_infer_triangle, .gradient = tn_shape_triangle_gradient, .reference = tn_shape_triangle_kernel },
  { .name = "Triu", .doc = "Zero where column < row + diagonal.", MOVE_ROW, .attrs = triangle_attrs, .infer = tn_shape_infer_triangle, .gradient = tn_shape_triangle_gradient, .reference = tn_shape_triangle_kernel },
  { .name = "Diagonal", .doc = "Elements with index(dim2) = index(dim1) + offset, as last dimension.", MOVE_ROW, .attrs = diagonal_attrs, .infer = tn_shape_infer_diagonal, .gradient = tn_shape_diagonal_gradient, .reference = tn_shape_diagonal_kernel },
  { .name = "DiagonalGrad", .doc = "Zeros of shape with dy on the diagonal.", MOVE_ROW, .attrs = diagonal_grad_attrs, .infer = tn_shape_infer_diagonal_grad, .gradient = tn_shape_diagonal_grad_gradient, .reference = tn_shape_diagonal_grad_kernel },
  { .name = "PixelShuffle", .doc = "[N, C·r², H, W] to [N, C, H·r, W·r].", MOVE_ROW, .attrs = upscale_attr, .infer = infer_pixel_shuffle, .gradient = pixel_shuffle_gradient, .reference = pixel_shuffle_kernel },
  { .name = "PixelUnshuffle", .doc = "[N, C, H·r, W·r] to [N, C·r², H, W].", MOVE_ROW, .attrs = downscale_attr, .infer = infer_pixel_unshuffle, .gradient = pixel_unshuffle_gradient, .reference = pixel_unshuffle_kernel },
  { .name = "Fill", .doc = "value everywhere.", .n_outputs = 1, .attrs = fill_attrs, .infer = infer_fill, .reference = fill_kernel },
  { .name = "ZerosLike", .doc = "0 in the shape of x.", MOVE_ROW, .infer = tn_infer_unary, .gradient = stop_gradient, .reference = zeros_kernel },
  { .name = "OnesLike", .doc = "1 in the shape of x.", MOVE_ROW, .infer = tn_infer_unary, .gradient = stop_gradient, .reference = ones_kernel },
  { 0 },
};
