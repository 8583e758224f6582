/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ops/families.h"
#include "ops/index-rows.h"
#include "ops/move.h"

/* Operators that read by index, and those that give indices. An index counts from 0 and is never negative; one that is
 * out of range is an error in every kernel. */

gboolean
tn_index_check (const TnKernelContext *context, int input, int64_t size, GError **error)
{
  int64_t n = tn_shape_count (tn_in_shape (context->node, input));
  for (int64_t i = 0; i < n; i++)
    {
      int64_t index = tn_index_at (context, input, i);
      if (index < 0 || index >= size)
        return tn_infer_error (context->node, error,
                               _ ("index %" PRId64 " at position %" PRId64
                                  " of input %d is outside 0 to %" PRId64 " (size %" PRId64 ")"),
                               (gint64) index, (gint64) i, input, (gint64) size - 1, (gint64) size);
    }
  return TRUE;
}

/* ---- Gather: slices ---- */

static gboolean
infer_gather (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0), *indices = tn_in_shape (node, 1);
  int axis;
  if (!tn_infer_index_input (node, 1, error) || !tn_infer_axis (node, "axis", x->n_dims, &axis, error))
    return FALSE;
  if (x->n_dims == 0 || x->n_dims - 1 + indices->n_dims > TN_MAX_DIMS)
    return tn_infer_error (node, error, _ ("the result would have %d dimensions"), x->n_dims - 1 + indices->n_dims);
  TnShape shape = { 0 };
  for (int d = 0; d < axis; d++)
    shape.dims[shape.n_dims++] = x->dims[d];
  for (int d = 0; d < indices->n_dims; d++)
    shape.dims[shape.n_dims++] = indices->dims[d];
  for (int d = axis + 1; d < x->n_dims; d++)
    shape.dims[shape.n_dims++] = x->dims[d];
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
gather_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *x = tn_in_shape (node, 0);
  TnAxisView v = tn_axis_view (x, tn_node_axis (node, "axis", x->n_dims));
  int64_t n = tn_shape_count (tn_in_shape (node, 1));
  size_t bytes = (size_t) v.inner * tn_dtype_size (tn_in_dtype (node, 0));
  if (!tn_index_check (context, 1, v.n, error))
    return FALSE;
  for (int64_t o = 0; o < v.outer && bytes > 0; o++)
    for (int64_t i = 0; i < n; i++)
      memcpy ((char *) context->out[0] + (size_t) (o * n + i) * bytes,
              (const char *) context->in[0] + (size_t) (o * v.n + tn_index_at (context, 1, i)) * bytes, bytes);
  return TRUE;
}

static void
gather_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  const TnShape *x = tn_in_shape (node, 0);
  int axis = tn_node_axis (node, "axis", x->n_dims);
  gradient->grad_inputs[0] = tn_op (gradient->graph, "GatherGrad", TN_IN (gradient->grad_outputs[0], node->inputs[1]),
                                    TN_ATTRS (tn_attr_int ("axis", axis), tn_attr_int ("size", x->dims[axis]),
                                              tn_attr_int ("padding_idx", tn_node_int (node, "padding_idx"))));
}

/* ---- GatherD: elements along an axis ---- */

gboolean
tn_index_infer_along (const TnNode *node, const TnShape *x, const TnShape *index, int axis, GError **error)
{
  if (index->n_dims != x->n_dims)
    return tn_infer_error (node, error, _ ("the index must have as many dimensions as the data"));
  for (int d = 0; d < x->n_dims; d++)
    if (d != axis && index->dims[d] > x->dims[d])
      return tn_infer_error (node, error, _ ("dimension %d of the index is larger than that of the data"), d);
  return TRUE;
}

int64_t
tn_index_offset (const TnShape *x, const TnShape *index, int axis, int64_t i, int64_t at)
{
  int64_t offset = 0, stride = 1;
  for (int d = x->n_dims - 1; d >= 0; d--)
    {
      offset += (d == axis ? at : i % index->dims[d]) * stride;
      i /= index->dims[d];
      stride *= x->dims[d];
    }
  return offset;
}

static gboolean
infer_gather_d (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0), *index = tn_in_shape (node, 1);
  int axis;
  if (!tn_infer_index_input (node, 1, error) || !tn_infer_axis (node, "dim", x->n_dims, &axis, error)
      || !tn_index_infer_along (node, x, index, axis, error))
    return FALSE;
  tn_set_output (node, 0, tn_in_dtype (node, 0), *index);
  return TRUE;
}

static gboolean
gather_d_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *x = tn_in_shape (node, 0), *index = tn_in_shape (node, 1);
  int axis = tn_node_axis (node, "dim", x->n_dims);
  size_t elem = tn_dtype_size (tn_in_dtype (node, 0));
  int64_t n = tn_shape_count (index);
  if (!tn_index_check (context, 1, x->n_dims > 0 ? x->dims[axis] : 1, error))
    return FALSE;
  for (int64_t i = 0; i < n; i++)
    {
      int64_t from = tn_index_offset (x, index, axis, i, tn_index_at (context, 1, i));
      memcpy ((char *) context->out[0] + (size_t) i * elem, (const char *) context->in[0] + (size_t) from * elem, elem);
    }
  return TRUE;
}

/* Adds dy where @index says into zeros of @shape. */
static TnValue *
scatter_into_zeros (TnGraph *graph, const TnShape *shape, TnValue *index, TnValue *dy, int axis)
{
  return tn_op (graph, "TensorScatterElements", TN_IN (tn_fill (graph, dy->dtype, shape, 0), index, dy),
                TN_ATTRS (tn_attr_int ("axis", axis), tn_attr_string ("reduction", "add")));
}

static void
gather_d_gradient (TnGradient *gradient)
{
  const TnShape *x = tn_in_shape (gradient->node, 0);
  gradient->grad_inputs[0] =
      scatter_into_zeros (gradient->graph, x, gradient->node->inputs[1], gradient->grad_outputs[0],
                          tn_node_axis (gradient->node, "dim", x->n_dims));
}

/* ---- OneHot ---- */

static gboolean
infer_one_hot (TnNode *node, GError **error)
{
  const TnShape *indices = tn_in_shape (node, 0);
  gint64 depth = tn_node_int (node, "depth"), dtype = tn_node_int (node, "dtype");
  int axis;
  if (!tn_infer_index_input (node, 0, error))
    return FALSE;
  if (indices->n_dims == TN_MAX_DIMS || depth < 1 || dtype < 0 || dtype >= TN_DTYPE_COUNT)
    return tn_infer_error (node, error, _ ("depth must be positive, and the result have at most %d dimensions"),
                           TN_MAX_DIMS);
  if (!tn_infer_axis (node, "axis", indices->n_dims + 1, &axis, error))
    return FALSE;
  TnShape shape = { .n_dims = indices->n_dims + 1 };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = d < axis ? indices->dims[d] : d == axis ? depth : indices->dims[d - 1];
  tn_set_output (node, 0, (TnDType) dtype, shape);
  return TRUE;
}

static gboolean
one_hot_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnValue *y = &node->outputs[0];
  TnAxisView v = tn_axis_view (&y->shape, tn_node_axis (node, "axis", y->shape.n_dims));
  double on = tn_node_float (node, "on_value"), off = tn_node_float (node, "off_value");
  if (!tn_index_check (context, 0, v.n, error))
    return FALSE;
  for (int64_t o = 0; o < v.outer; o++)
    for (int64_t k = 0; k < v.n; k++)
      for (int64_t i = 0; i < v.inner; i++)
        tn_dtype_store (y->dtype, context->out[0], (size_t) ((o * v.n + k) * v.inner + i),
                        tn_index_at (context, 0, o * v.inner + i) == k ? on : off);
  return TRUE;
}

/* ---- ArgMax, ArgMin: the first of equals; NaN wins ---- */

static gboolean
infer_arg (TnNode *node, GError **error)
{
  const TnShape *x = tn_in_shape (node, 0);
  gint64 dtype = tn_node_int (node, "output_type");
  int axis;
  if (!tn_infer_axis (node, "axis", x->n_dims, &axis, error))
    return FALSE;
  if (dtype != TN_DTYPE_I32 && dtype != TN_DTYPE_I64)
    return tn_infer_error (node, error, _ ("output_type must be int32 or int64"));
  TnShape shape = { 0 };
  for (int d = 0; d < x->n_dims; d++)
    if (d != axis)
      shape.dims[shape.n_dims++] = x->dims[d];
  if (x->n_dims > 0 && x->dims[axis] == 0)
    return tn_infer_error (node, error, _ ("the axis is empty"));
  tn_set_output (node, 0, (TnDType) dtype, shape);
  return TRUE;
}

static gboolean
arg_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *x = tn_in_shape (node, 0);
  TnDType dtype = tn_in_dtype (node, 0);
  TnAxisView v = tn_axis_view (x, tn_node_axis (node, "axis", x->n_dims));
  double sign = tn_node_is (node, "ArgMax") ? 1 : -1;
  for (int64_t o = 0; o < v.outer; o++)
    for (int64_t i = 0; i < v.inner; i++)
      {
        int64_t best_at = 0;
        double best = sign * tn_dtype_load (dtype, context->in[0], (size_t) (o * v.n * v.inner + i));
        for (int64_t k = 1; k < v.n; k++)
          {
            double value = sign * tn_dtype_load (dtype, context->in[0], (size_t) ((o * v.n + k) * v.inner + i));
            if (value > best || (isnan (value) && !isnan (best)))
              {
                best = value;
                best_at = k;
              }
          }
        tn_dtype_store_int (node->outputs[0].dtype, context->out[0], (size_t) (o * v.inner + i), best_at);
      }
  return TRUE;
}

/* ---- Sort, TopK: stable, NaN counts as larger than everything ---- */

static gboolean
infer_sort (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  gint64 dtype = tn_node_int (node, "output_type");
  int axis;
  if (!tn_infer_axis (node, "axis", shape.n_dims, &axis, error))
    return FALSE;
  if (dtype != TN_DTYPE_I32 && dtype != TN_DTYPE_I64)
    return tn_infer_error (node, error, _ ("output_type must be int32 or int64"));
  if (tn_node_is (node, "TopK"))
    {
      gint64 k = tn_node_int (node, "k");
      if (shape.n_dims == 0 || k < 0 || k > shape.dims[axis])
        return tn_infer_error (node, error, _ ("k must be between 0 and the size of the axis"));
      shape.dims[axis] = k;
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  tn_set_output (node, 1, (TnDType) dtype, shape);
  return TRUE;
}

typedef struct
{
  double value;
  int64_t at;
} Item;

static int
compare_values (const Item *a, const Item *b)
{
  if (isnan (a->value) || isnan (b->value))
    return (isnan (a->value) ? 1 : 0) - (isnan (b->value) ? 1 : 0);
  return a->value < b->value ? -1 : a->value > b->value ? 1 : 0;
}

static int
compare_up (gconstpointer a, gconstpointer b)
{
  int order = compare_values (a, b);
  return order != 0 ? order : ((const Item *) a)->at < ((const Item *) b)->at ? -1 : 1;
}

static int
compare_down (gconstpointer a, gconstpointer b)
{
  int order = compare_values (b, a);
  return order != 0 ? order : ((const Item *) a)->at < ((const Item *) b)->at ? -1 : 1;
}

static gboolean
sort_kernel (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  const TnShape *x = tn_in_shape (node, 0);
  int axis = tn_node_axis (node, "axis", x->n_dims);
  TnAxisView v = tn_axis_view (x, axis);
  TnDType dtype = tn_in_dtype (node, 0);
  gboolean down = tn_node_bool (node, tn_node_is (node, "TopK") ? "largest" : "descending");
  int64_t kept = x->n_dims > 0 ? node->outputs[0].shape.dims[axis] : 1;
  g_autofree double *memory = tn_kernel_sums (context, 2 * v.n, error);
  if (memory == NULL)
    return FALSE;
  Item *items = (Item *) memory;
  for (int64_t o = 0; o < v.outer; o++)
    for (int64_t i = 0; i < v.inner; i++)
      {
        for (int64_t k = 0; k < v.n; k++)
          items[k] = (Item){ tn_dtype_load (dtype, context->in[0], (size_t) ((o * v.n + k) * v.inner + i)), k };
        qsort (items, (size_t) v.n, sizeof (Item), down ? compare_down : compare_up);
        for (int64_t k = 0; k < kept; k++)
          {
            size_t to = (size_t) ((o * kept + k) * v.inner + i),
                   from = (size_t) ((o * v.n + items[k].at) * v.inner + i);
            size_t elem = tn_dtype_size (dtype);
            memcpy ((char *) context->out[0] + to * elem, (const char *) context->in[0] + from * elem, elem);
            tn_dtype_store_int (node->outputs[1].dtype, context->out[1], to, items[k].at);
          }
      }
  return TRUE;
}

static void
sort_gradient (TnGradient *gradient)
{
  const TnNode *node = gradient->node;
  const TnShape *x = tn_in_shape (node, 0);
  if (gradient->grad_outputs[0] != NULL)
    gradient->grad_inputs[0] = scatter_into_zeros (gradient->graph, x, (TnValue *) &node->outputs[1],
                                                   gradient->grad_outputs[0], tn_node_axis (node, "axis", x->n_dims));
}

static void
sort_cost (const TnNode *node, TnCost *cost)
{
  double n = (double) tn_shape_count (tn_in_shape (node, 0));
  cost->flops = n > 1 ? n * log2 (n) : n;
}

#define INDEX_TYPE { "output_type", TN_ATTR_DTYPE, .number = TN_DTYPE_I32 }
static const TnAttrSpec gather_attrs[] = { { "axis", TN_ATTR_INT },
                                           { "padding_idx", TN_ATTR_INT, .number = -1 },
                                           { 0 } };
static const TnAttrSpec gather_grad_attrs[] = {
  { "axis", TN_ATTR_INT }, { "size", TN_ATTR_INT, TRUE }, { "padding_idx", TN_ATTR_INT, .number = -1 }, { 0 }
};
static const TnAttrSpec segment_attrs[] = { { "num_segments", TN_ATTR_INT, TRUE }, { 0 } };
static const TnAttrSpec gather_d_attrs[] = { { "dim", TN_ATTR_INT, TRUE }, { 0 } };
static const TnAttrSpec one_hot_attrs[] = { { "depth", TN_ATTR_INT, TRUE },
                                            { "on_value", TN_ATTR_FLOAT, .number = 1 },
                                            { "off_value", TN_ATTR_FLOAT },
                                            { "axis", TN_ATTR_INT, .number = -1 },
                                            { "dtype", TN_ATTR_DTYPE, .number = TN_DTYPE_F32 },
                                            { 0 } };
static const TnAttrSpec arg_attrs[] = { { "axis", TN_ATTR_INT, .number = -1 }, INDEX_TYPE, { 0 } };
static const TnAttrSpec sort_attrs[] = {
  { "axis", TN_ATTR_INT, .number = -1 }, { "descending", TN_ATTR_BOOL }, INDEX_TYPE, { 0 }
};
static const TnAttrSpec topk_attrs[] = { { "k", TN_ATTR_INT, TRUE },
                                         { "axis", TN_ATTR_INT, .number = -1 },
                                         { "largest", TN_ATTR_BOOL, .number = TRUE },
                                         INDEX_TYPE,
                                         { 0 } };
static const TnAttrSpec scatter_attrs[] = { { "axis", TN_ATTR_INT },
                                            { "reduction", TN_ATTR_STRING, .text = "none" },
                                            { 0 } };
static const TnAttrSpec index_add_attrs[] = { { "axis", TN_ATTR_INT, TRUE }, { 0 } };

const TnOp tn_ops_index[] = {
  { .name = "Gather", .doc = "Slices of params along axis at indices; row padding_idx gets no gradient.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = gather_attrs, .infer = infer_gather, .gradient = gather_gradient, .reference = gather_kernel },
  { .name = "GatherGrad", .doc = "dy added into zeros at indices along axis of size.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = gather_grad_attrs, .infer = tn_index_infer_gather_grad, .gradient = tn_index_gather_grad_gradient, .reference = tn_index_gather_grad_kernel },
  { .name = "UnsortedSegmentSum", .doc = "y[s] = Σ x[i] over the i with segment_ids[i] = s.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = segment_attrs, .infer = tn_index_infer_gather_grad, .gradient = tn_index_gather_grad_gradient, .reference = tn_index_gather_grad_kernel },
  { .name = "GatherD", .doc = "y[.., i, ..] = x[.., index[.., i, ..], ..] along dim.", .min_inputs = 2, .max_inputs = 2, .n_outputs = 1, .attrs = gather_d_attrs, .infer = infer_gather_d, .gradient = gather_d_gradient, .reference = gather_d_kernel },
  { .name = "TensorScatterElements", .doc = "x with updates written (reduction none: the last wins) or added at index along axis.", .min_inputs = 3, .max_inputs = 3, .n_outputs = 1, .attrs = scatter_attrs, .infer = tn_index_infer_scatter_elements, .gradient = tn_index_scatter_elements_gradient, .reference = tn_index_scatter_elements_kernel },
  { .name = "IndexAdd", .doc = "x with slice i of y added to slice indices[i] along axis.", .min_inputs = 3, .max_inputs = 3, .n_outputs = 1, .attrs = index_add_attrs, .infer = tn_index_infer_add, .gradient = tn_index_add_gradient, .reference = tn_index_add_kernel },
  { .name = "OneHot", .doc = "on_value where the new axis equals the index, else off_value.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = one_hot_attrs, .infer = infer_one_hot, .reference = one_hot_kernel },
  { .name = "ArgMax", .doc = "Index of the largest along axis; the first of equals, NaN wins.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = arg_attrs, .infer = infer_arg, .reference = arg_kernel },
  { .name = "ArgMin", .doc = "Index of the smallest along axis; the first of equals, NaN wins.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .attrs = arg_attrs, .infer = infer_arg, .reference = arg_kernel },
  { .name = "Sort", .doc = "Values along axis in order, stable, NaN last (first when descending), and their indices.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 2, .attrs = sort_attrs, .infer = infer_sort, .gradient = sort_gradient, .cost = sort_cost, .reference = sort_kernel },
  { .name = "TopK", .doc = "The k largest (or smallest) along axis in order, and their indices.", .min_inputs = 1, .max_inputs = 1, .n_outputs = 2, .attrs = topk_attrs, .infer = infer_sort, .gradient = sort_gradient, .cost = sort_cost, .reference = sort_kernel },
  { 0 },
};
