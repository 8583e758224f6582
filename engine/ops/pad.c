/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ops/move.h"
#include "ops/shape-rows.h"

/* Pad: paddings hold before and after of every dimension, first dimension first. Constant padding may be negative (cuts).
 * reflect does not repeat the border, symmetric does, edge (torch: replicate) repeats it alone, circular goes round. */

typedef enum
{
  MODE_CONSTANT,
  MODE_REFLECT,
  MODE_SYMMETRIC,
  MODE_EDGE,
  MODE_CIRCULAR
} PadMode;

static gboolean
parse_mode (const TnNode *node, PadMode *mode, GError **error)
{
  static const struct
  {
    const char *name;
    PadMode mode;
  } names[] = { { "constant", MODE_CONSTANT },   { "reflect", MODE_REFLECT }, { "symmetric", MODE_SYMMETRIC },
                { "edge", MODE_EDGE },           { "replicate", MODE_EDGE },  { "circular", MODE_CIRCULAR } };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_ascii_strcasecmp (tn_node_string (node, "mode"), names[i].name) == 0)
      {
        *mode = names[i].mode;
        return TRUE;
      }
  return tn_infer_error (node, error,
                         _ ("mode must be constant, reflect, symmetric, edge, replicate or circular, not “%s”"),
                         tn_node_string (node, "mode"));
}

/* Where place @i of the padded dimension is read from; -1: the constant. */
static int64_t
source (PadMode mode, int64_t i, int64_t before, int64_t size)
{
  int64_t at = i - before;
  if (at >= 0 && at < size)
    return at;
  switch (mode)
    {
    case MODE_REFLECT: return at < 0 ? -at : 2 * size - 2 - at;
    case MODE_SYMMETRIC: return at < 0 ? -at - 1 : 2 * size - 1 - at;
    case MODE_EDGE: return at < 0 ? 0 : size - 1;
    case MODE_CIRCULAR: return at < 0 ? at + size : at - size;
    default: return -1;
    }
}

static gboolean
padded_shape (const TnNode *node, const TnShape *x, TnShape *y, GError **error)
{
  const int64_t *paddings;
  PadMode mode = MODE_CONSTANT;
  if (!parse_mode (node, &mode, error))
    return FALSE;
  if (tn_node_ints (node, "paddings", &paddings) != 2 * x->n_dims)
    return tn_infer_error (node, error, _ ("paddings need two numbers for each dimension"));
  *y = *x;
  for (int d = 0; d < x->n_dims; d++)
    {
      int64_t size = x->dims[d], before = paddings[2 * d], after = paddings[2 * d + 1];
      int64_t most = mode == MODE_REFLECT                              ? size - 1
                     : mode == MODE_SYMMETRIC || mode == MODE_CIRCULAR ? size
                                                                       : G_MAXINT64;
      if (mode != MODE_CONSTANT && (MAX (before, after) > 0 && (MAX (before, after) > most || size == 0)))
        return tn_infer_error (node, error,
                               _ ("dimension %d of size %" PRId64 " is too small for this padding"), d,
                               (gint64) size);
      if (mode != MODE_CONSTANT && MIN (before, after) < 0)
        return tn_infer_error (node, error, _ ("only constant padding can be negative"));
      if (__builtin_add_overflow (y->dims[d], before, &y->dims[d])
          || __builtin_add_overflow (y->dims[d], after, &y->dims[d]) || y->dims[d] < 0)
        return tn_infer_error (node, error, _ ("dimension %d cannot have a negative size"), d);
    }
  return TRUE;
}

gboolean
tn_shape_infer_pad (TnNode *node, GError **error)
{
  TnShape y;
  if (!padded_shape (node, tn_in_shape (node, 0), &y, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), y);
  return TRUE;
}

static TnShape
shape_attr (const TnNode *node)
{
  const int64_t *dims;
  int n = tn_node_ints (node, "shape", &dims);
  return n <= TN_MAX_DIMS ? tn_shape_make (n, dims) : (TnShape){ .n_dims = n };
}

gboolean
tn_shape_infer_pad_grad (TnNode *node, GError **error)
{
  TnShape x = shape_attr (node), y;
  if (!tn_shape_bytes (&x, sizeof (double), NULL, error) || !padded_shape (node, &x, &y, error))
    return FALSE;
  if (!tn_shape_equal (&y, tn_in_shape (node, 0)))
    return tn_infer_error (node, error, _ ("dy does not have the padded shape"));
  tn_set_output (node, 0, tn_in_dtype (node, 0), x);
  return TRUE;
}

/* For each element of the padded tensor (row-major) where it comes from in the other, -1 for the constant. Goes through
 * the places of the padded tensor in order. */
typedef struct
{
  const TnShape *padded;
  int64_t *sources[TN_MAX_DIMS]; /* per dimension and place: offset in the inner tensor, or -1 */
  int64_t at[TN_MAX_DIMS];
} PadWalk;

static void
pad_walk_init (PadWalk *walk, const TnNode *node, const TnShape *inner, const TnShape *padded)
{
  const int64_t *paddings;
  int64_t strides[TN_MAX_DIMS];
  PadMode mode = MODE_CONSTANT;
  parse_mode (node, &mode, NULL);
  tn_node_ints (node, "paddings", &paddings);
  tn_shape_strides (inner, strides);
  *walk = (PadWalk){ .padded = padded };
  for (int d = 0; d < padded->n_dims; d++)
    {
      walk->sources[d] = g_new (int64_t, padded->dims[d] + 1);
      for (int64_t i = 0; i < padded->dims[d]; i++)
        {
          int64_t from = source (mode, i, paddings[2 * d], inner->dims[d]);
          walk->sources[d][i] = from < 0 ? -1 : from * strides[d];
        }
    }
}

static void
pad_walk_clear (PadWalk *walk)
{
  for (int d = 0; d < walk->padded->n_dims; d++)
    g_free (walk->sources[d]);
}

static int64_t
pad_walk_next (PadWalk *walk)
{
  int64_t from = 0;
  int n = walk->padded->n_dims;
  for (int d = 0; d < n && from >= 0; d++)
    from = walk->sources[d][walk->at[d]] < 0 ? -1 : from + walk->sources[d][walk->at[d]];
  for (int d = n - 1; d >= 0 && ++walk->at[d] == walk->padded->dims[d]; d--)
    walk->at[d] = 0;
  return from;
}

gboolean
tn_shape_pad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *y = &node->outputs[0].shape;
  size_t elem = tn_dtype_size (tn_in_dtype (node, 0));
  char fill[8] = { 0 };
  tn_dtype_store (tn_in_dtype (node, 0), fill, 0, tn_node_float (node, "value"));
  PadWalk walk;
  pad_walk_init (&walk, node, tn_in_shape (node, 0), y);
  int64_t n = tn_shape_count (y);
  for (int64_t i = 0; i < n; i++)
    {
      int64_t from = pad_walk_next (&walk);
      memcpy ((char *) context->out[0] + (size_t) i * elem,
              from < 0 ? fill : (const char *) context->in[0] + (size_t) from * elem, elem);
    }
  pad_walk_clear (&walk);
  return TRUE;
}

gboolean
tn_shape_pad_grad_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *y = tn_in_shape (node, 0), *x = &node->outputs[0].shape;
  int64_t n = tn_shape_count (y), n_x = tn_shape_count (x);
  g_autofree double *sums = tn_kernel_sums (context, n_x, error);
  if (sums == NULL)
    return FALSE;
  PadWalk walk;
  pad_walk_init (&walk, node, x, y);
  for (int64_t i = 0; i < n; i++)
    {
      int64_t from = pad_walk_next (&walk);
      if (from >= 0)
        sums[from] += tn_dtype_load (tn_in_dtype (node, 0), context->in[0], (size_t) i);
    }
  pad_walk_clear (&walk);
  tn_dtype_convert (TN_DTYPE_F64, sums, node->outputs[0].dtype, context->out[0], (size_t) n_x);
  return TRUE;
}

void
tn_shape_pad_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  const TnShape *x = tn_in_shape (node, 0);
  const int64_t *paddings;
  int n = tn_node_ints (node, "paddings", &paddings);
  if (g_ascii_strcasecmp (tn_node_string (node, "mode"), "constant") == 0)
    {
      int64_t back[2 * TN_MAX_DIMS];
      for (int i = 0; i < n; i++)
        back[i] = -paddings[i];
      gradient->grad_inputs[0] = tn_op (gradient->graph, "Pad", TN_IN (gradient->grad_outputs[0]),
                                        TN_ATTRS (tn_attr_ints ("paddings", n, back)));
      return;
    }
  gradient->grad_inputs[0] =
      tn_op (gradient->graph, "PadGrad", TN_IN (gradient->grad_outputs[0]),
             TN_ATTRS (tn_attr_ints ("shape", x->n_dims, x->dims), tn_attr_ints ("paddings", n, paddings),
                       tn_attr_string ("mode", tn_node_string (node, "mode"))));
}

void
tn_shape_pad_grad_gradient (TnGradient *gradient)
{
  const int64_t *paddings;
  int n = tn_node_ints (gradient->node, "paddings", &paddings);
  gradient->grad_inputs[0] = tn_op (gradient->graph, "Pad", TN_IN (gradient->grad_outputs[0]),
                                    TN_ATTRS (tn_attr_ints ("paddings", n, paddings),
                                              tn_attr_string ("mode", tn_node_string (gradient->node, "mode"))));
}
