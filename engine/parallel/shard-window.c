/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/shard-private.h"

#include "ops/conv.h"
#include "ops/op.h"

/* Convolutions whose rows (or columns) are split. A rank's slice of the output reads some rows of the slices before and
 * after its own (the halo). All ranks gather the edges of all slices and take those of their neighbours; the first and the
 * last rank find zeros there, which are the padding, so that the convolution itself has none along the axis.
 *
 * The gradient of the input goes the other way: a rank makes that of its slice with the halo, and each part of the halo is
 * added to the slice it came from. Both are linear, and the second is the first transposed. */

typedef struct
{
  TnSharded *self;
  TnRewrite *rewrite;
  TnGraph *graph;
  const TnNode *node;
  const TnNodePlan *plan;
  int64_t rows[2];   /* of the input's slice, without halo */
  uint32_t axes[2];  /* of the mesh; 0: whole */
} Writer;

static TnValue *
rows (Writer *w, TnValue *x, int dim, int64_t from, int64_t to)
{
  int64_t begin[TN_MAX_DIMS] = { 0 }, end[TN_MAX_DIMS];
  if (x == NULL)
    return NULL;
  for (int d = 0; d < x->shape.n_dims; d++)
    end[d] = d == dim ? to : x->shape.dims[d];
  begin[dim] = from;
  return from == 0 && to == x->shape.dims[dim] ? x : tn_op (w->graph, "StridedSlice", TN_IN (x), TN_ATTRS (tn_attr_ints ("begin", x->shape.n_dims, begin), tn_attr_ints ("end", x->shape.n_dims, end)));
}

static TnValue *
zeros_around (Writer *w, TnValue *x, int dim, int64_t before, int64_t after)
{
  int64_t paddings[2 * TN_MAX_DIMS] = { 0 };
  if (x == NULL || (before == 0 && after == 0))
    return x;
  paddings[2 * dim] = before;
  paddings[2 * dim + 1] = after;
  return tn_op (w->graph, "Pad", TN_IN (x), TN_ATTRS (tn_attr_ints ("paddings", 2 * x->shape.n_dims, paddings)));
}

/* NULL parts are left out. */
static TnValue *
joined (Writer *w, int dim, TnValue *a, TnValue *b, TnValue *c)
{
  TnValue *parts[3];
  int n = 0;
  if (a != NULL)
    parts[n++] = a;
  if (b != NULL)
    parts[n++] = b;
  if (c != NULL)
    parts[n++] = c;
  return n == 1 ? parts[0] : n == 0 ? NULL : tn_op (w->graph, "Concat", n, parts, TN_ATTRS (tn_attr_int ("axis", dim)));
}

/* Where the neighbours' rows stand among the gathered edges, which have one block of zeros before and after them: @last rows of
 * the rank before, then @first rows of the one after. */
static TnValue *
neighbour_indices (Writer *w, uint32_t axes, int64_t first, int64_t last)
{
  TnMesh *mesh = w->self->mesh;
  int64_t list[TN_MESH_MAX_AXES], block = first + last;
  int n = 0;
  for (int i = 0; i < mesh->n_axes; i++)
    if (axes >> i & 1)
      list[n++] = i;
  TnTensor *places = tn_tensor_new (TN_DTYPE_I32, TN_SHAPE (block), NULL);
  for (int64_t i = 0; i < block; i++)
    tn_tensor_set (places, i, (double) (i < last ? first + i : 2 * block + i - last));
  TnValue *rank = tn_op (w->graph, "RankIndex", 0, NULL,
                         TN_ATTRS (tn_attr_ints ("mesh", mesh->n_axes, mesh->sizes), tn_attr_ints ("axes", n, list), tn_attr_int ("group", tn_mesh_span (mesh, axes)),
                                   tn_attr_dtype ("dtype", TN_DTYPE_I32)));
  TnValue *start = tn_op (w->graph, "Mul", TN_IN (rank, tn_graph_add_scalar (w->graph, TN_DTYPE_I32, (double) block)), TN_NO_ATTRS);
  TnValue *indices = tn_op (w->graph, "Add", TN_IN (start, tn_graph_add_constant (w->graph, places)), TN_NO_ATTRS);
  tn_tensor_unref (places);
  return indices;
}

/* @first, @last: what this rank gives to the ones before and after it (either may be NULL, on all ranks alike).
 * *before: what the rank before gave as its last; *after: what the one after gave as its first; zeros at the ends. */
static void
exchange (Writer *w, uint32_t axes, int dim, TnValue *first, TnValue *last, TnValue **before, TnValue **after)
{
  int64_t n_first = first != NULL ? first->shape.dims[dim] : 0, n_last = last != NULL ? last->shape.dims[dim] : 0;
  TnValue *edges = joined (w, dim, first, last, NULL);
  *before = *after = NULL;
  if (edges == NULL)
    return;
  TnValue *all = tn_shard_collective (w->self, w->graph, w->node, w->node->name, w->self->mesh, axes, TN_MOVE_ALL_GATHER, edges, dim, -1, TN_PARTIAL_NONE);
  TnValue *padded = zeros_around (w, all, dim, n_first + n_last, n_first + n_last);
  TnValue *indices = neighbour_indices (w, axes, n_first, n_last);
  TnValue *taken = padded != NULL && indices != NULL ? tn_op (w->graph, "Gather", TN_IN (padded, indices), TN_ATTRS (tn_attr_int ("axis", dim))) : NULL;
  *before = n_last > 0 ? rows (w, taken, dim, 0, n_last) : NULL;
  *after = n_first > 0 ? rows (w, taken, dim, n_last, n_last + n_first) : NULL;
}

static TnValue *
with_halo (Writer *w, TnValue *x)
{
  for (int i = 0; i < 2 && x != NULL; i++)
    {
      const TnRuleHalo *halo = &w->plan->rule.halo[i];
      int dim = 2 + i;
      int64_t n = x->shape.dims[dim];
      TnValue *before, *after;
      if (w->axes[i] == 0)
        continue;
      exchange (w, w->axes[i], dim, halo->after > 0 ? rows (w, x, dim, 0, halo->after) : NULL, halo->before > 0 ? rows (w, x, dim, n - halo->before, n) : NULL, &before, &after);
      x = joined (w, dim, before, x, after);
    }
  return x;
}

/* The other way round, axes in the other order. */
static TnValue *
halo_added (Writer *w, TnValue *dx)
{
  for (int i = 1; i >= 0 && dx != NULL; i--)
    {
      const TnRuleHalo *halo = &w->plan->rule.halo[i];
      int dim = 2 + i;
      int64_t n = w->rows[i], end = dx->shape.dims[dim];
      TnValue *before, *after;
      if (w->axes[i] == 0)
        continue;
      exchange (w, w->axes[i], dim, halo->before > 0 ? rows (w, dx, dim, 0, halo->before) : NULL, halo->after > 0 ? rows (w, dx, dim, end - halo->after, end) : NULL, &before, &after);
      dx = rows (w, dx, dim, halo->before, halo->before + n);
      if (before != NULL)
        dx = tn_op (w->graph, "Add", TN_IN (dx, zeros_around (w, before, dim, 0, n - halo->after)), TN_NO_ATTRS);
      if (after != NULL)
        dx = tn_op (w->graph, "Add", TN_IN (dx, zeros_around (w, after, dim, n - halo->before, 0)), TN_NO_ATTRS);
    }
  return dx;
}

/* The row on @a and @b: padding stays along axes that are whole. @size: of the attribute for the input's or the filter's. */
static TnValue *
convolve (Writer *w, TnValue *a, TnValue *b, const char *size_attr, const TnShape *size)
{
  TnConv2dGeometry g;
  tn_conv2d_geometry (w->node, &g);
  int64_t pad[] = { g.pad_top, g.pad_bottom, g.pad_left, g.pad_right }, stride[] = { g.stride_h, g.stride_w }, dilation[] = { g.dilation_h, g.dilation_w };
  for (int i = 0; i < 2; i++)
    if (w->axes[i] != 0)
      pad[2 * i] = pad[2 * i + 1] = 0;
  TnAttr attrs[6] = { tn_attr_string ("pad_mode", "pad"), tn_attr_ints ("pad", 4, pad), tn_attr_ints ("stride", 2, stride), tn_attr_ints ("dilation", 2, dilation), tn_attr_int ("group", g.group) };
  int n = 5;
  if (size_attr != NULL)
    attrs[n++] = tn_attr_ints (size_attr, size->n_dims, size->dims);
  return a != NULL && b != NULL ? tn_op (w->graph, w->node->op->name, TN_IN (a, b), n, attrs) : NULL;
}

gboolean
tn_shard_write_window (TnSharded *self, TnRewrite *rewrite, const TnNode *node, const TnNodePlan *plan, TnValue **inputs)
{
  Writer w = { self, rewrite, rewrite->to, node, plan, { 0 }, { 0 } };
  gboolean by_input = tn_node_is (node, "Conv2DBackpropInput"), by_filter = tn_node_is (node, "Conv2DBackpropFilter");
  const TnShape *whole = by_input ? &node->outputs[0].shape : tn_in_shape (node, by_filter ? 1 : 0);
  for (int i = 0; i < 2; i++)
    {
      int label = plan->rule.halo[i].label;
      w.axes[i] = label >= 0 ? tn_dim_axes (&plan->labels[label]) : 0;
      w.axes[i] = tn_mesh_span (self->mesh, w.axes[i]) > 1 ? w.axes[i] : 0;
      w.rows[i] = whole->dims[2 + i] / tn_mesh_span (self->mesh, w.axes[i]);
    }
  TnShape local;
  if ((w.axes[0] == 0 && w.axes[1] == 0) || !tn_layout_local_shape (plan->made[0], &node->outputs[0].shape, &local, NULL))
    return FALSE; /* as it is, on slices */
  TnValue *y;
  if (by_input)
    {
      for (int i = 0; i < 2; i++)
        local.dims[2 + i] += w.axes[i] != 0 ? plan->rule.halo[i].before + plan->rule.halo[i].after : 0;
      y = halo_added (&w, convolve (&w, inputs[0], inputs[1], "input_size", &local));
    }
  else if (by_filter)
    y = convolve (&w, inputs[0], with_halo (&w, inputs[1]), "filter_size", &local);
  else
    y = convolve (&w, with_halo (&w, inputs[0]), inputs[1], NULL, NULL);
  tn_rewrite_set (rewrite, &node->outputs[0], y);
  return TRUE;
}
