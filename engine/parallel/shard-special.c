/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/shard-private.h"

#include <string.h>
#include "ops/op.h"

/* Rows whose arithmetic runs over the ranks: batch statistics, the global norm, tables that are split by rows. */

typedef struct
{
  TnSharded *self;
  TnRewrite *rewrite;
  TnGraph *graph;
  const TnNode *node;
} Writer;

static TnValue *
binary (Writer *w, const char *op, TnValue *a, TnValue *b)
{
  return tn_op (w->graph, op, TN_IN (a, b), TN_NO_ATTRS);
}

static TnValue *
scalar (Writer *w, TnDType dtype, double value)
{
  return tn_graph_add_scalar (w->graph, dtype, value);
}

static TnValue *
reduced (Writer *w, uint32_t axes, TnValue *x, TnPartial op)
{
  if (axes == 0 || x == NULL)
    return x;
  TnValue *y = tn_shard_collective (w->self, w->graph, w->node, w->node->name, w->self->mesh, axes, TN_MOVE_ALL_REDUCE, x, -1, -1, op);
  return y;
}

/* ---- batch norm over the ranks ---- */

/* [C] as [1, C, 1, 1]. */
static TnValue *
per_channel (Writer *w, TnValue *x, int n_dims)
{
  int64_t dims[TN_MAX_DIMS];
  if (x == NULL)
    return NULL;
  for (int d = 0; d < n_dims; d++)
    dims[d] = d == 1 ? x->shape.dims[0] : 1;
  return tn_op (w->graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", n_dims, dims)));
}

/* Over everything but the channels. */
static TnValue *
over_rows (Writer *w, const char *op, TnValue *x)
{
  int64_t axes[TN_MAX_DIMS];
  int n = 0;
  for (int d = 0; x != NULL && d < x->shape.n_dims; d++)
    if (d != 1)
      axes[n++] = d;
  return tn_op (w->graph, op, TN_IN (x), TN_ATTRS (tn_attr_ints ("axis", n, axes)));
}

/* Elements of one channel, over all ranks. */
static double
rows_of (const TnNode *node, int k)
{
  const TnShape *x = tn_in_shape (node, k);
  return (double) tn_shape_count (x) / (double) x->dims[1];
}

/* w = w - (1 - keep)·(w - new), in place. */
static TnValue *
move_average (Writer *w, TnValue *old, TnValue *now, double keep)
{
  TnValue *difference = binary (w, "Sub", old, now);
  return old != NULL ? tn_op (w->graph, "ApplyGradientDescent", TN_IN (old, difference, scalar (w, old->dtype, 1 - keep)), TN_NO_ATTRS) : NULL;
}

static void
write_batch_norm (Writer *w, uint32_t axes, TnValue **in)
{
  TnValue *x = in[0];
  int n_dims = tn_in_shape (w->node, 0)->n_dims;
  TnDType dtype = x->dtype;
  double n = rows_of (w->node, 0), keep = tn_node_float (w->node, "momentum");
  TnValue *mean = reduced (w, axes, over_rows (w, "ReduceMean", x), TN_PARTIAL_MEAN);
  TnValue *centred = binary (w, "Sub", x, per_channel (w, mean, n_dims));
  TnValue *variance = reduced (w, axes, over_rows (w, "ReduceMean", binary (w, "Mul", centred, centred)), TN_PARTIAL_MEAN);
  TnValue *deviation = tn_op (w->graph, "Sqrt", TN_IN (binary (w, "Add", variance, scalar (w, dtype, tn_node_float (w->node, "epsilon")))), TN_NO_ATTRS);
  TnValue *inverse = binary (w, "Div", scalar (w, dtype, 1), deviation);
  TnValue *scaled = binary (w, "Mul", centred, per_channel (w, binary (w, "Mul", inverse, in[1]), n_dims));
  TnValue *outputs[] = { binary (w, "Add", scaled, per_channel (w, in[2], n_dims)), move_average (w, in[3], mean, keep),
                         move_average (w, in[4], binary (w, "Mul", variance, scalar (w, dtype, n / MAX (n - 1, 1))), keep), mean, inverse };
  for (int o = 0; o < 5; o++)
    tn_rewrite_set (w->rewrite, &w->node->outputs[o], outputs[o]);
}

/* dx = gamma·invstd·(dy - mean (dy) - x̂·mean (dy·x̂)). */
static void
write_batch_norm_grad (Writer *w, uint32_t axes, TnValue **in)
{
  TnValue *dy = in[0], *gamma = in[2], *mean = in[3], *inverse = in[4];
  int n_dims = tn_in_shape (w->node, 1)->n_dims;
  TnDType dtype = dy->dtype;
  double n = rows_of (w->node, 1);
  TnValue *normal = binary (w, "Mul", binary (w, "Sub", in[1], per_channel (w, mean, n_dims)), per_channel (w, inverse, n_dims));
  TnValue *dbeta = reduced (w, axes, over_rows (w, "ReduceSum", dy), TN_PARTIAL_SUM);
  TnValue *dgamma = reduced (w, axes, over_rows (w, "ReduceSum", binary (w, "Mul", dy, normal)), TN_PARTIAL_SUM);
  TnValue *share = scalar (w, dtype, 1 / n);
  TnValue *rest = binary (w, "Sub", dy, per_channel (w, binary (w, "Mul", dbeta, share), n_dims));
  rest = binary (w, "Sub", rest, binary (w, "Mul", normal, per_channel (w, binary (w, "Mul", dgamma, share), n_dims)));
  TnValue *outputs[] = { binary (w, "Mul", rest, per_channel (w, binary (w, "Mul", gamma, inverse), n_dims)), dgamma, dbeta };
  for (int o = 0; o < 3; o++)
    tn_rewrite_set (w->rewrite, &w->node->outputs[o], outputs[o]);
}

/* ---- global norm ---- */

static void
write_global_norm (Writer *w, const TnNodePlan *plan, TnValue **in)
{
  g_autofree gboolean *done = g_new0 (gboolean, w->node->n_inputs);
  g_autofree TnValue **group = g_new0 (TnValue *, w->node->n_inputs);
  TnValue *sum = NULL;
  for (int k = 0; k < w->node->n_inputs; k++)
    {
      int n = 0;
      for (int j = k; j < w->node->n_inputs && !done[k]; j++)
        if (plan->in[j]->used == plan->in[k]->used && j >= k)
          group[n++] = in[j];
      if (n == 0)
        continue;
      for (int j = w->node->n_inputs - 1; j >= k; j--)
        done[j] |= plan->in[j]->used == plan->in[k]->used;
      TnValue *norm = tn_op (w->graph, "GlobalNorm", n, group, TN_NO_ATTRS);
      TnValue *squares = reduced (w, plan->in[k]->used, binary (w, "Mul", norm, norm), TN_PARTIAL_SUM);
      sum = sum == NULL ? squares : binary (w, "Add", sum, squares);
    }
  tn_rewrite_set (w->rewrite, &w->node->outputs[0], tn_op (w->graph, "Sqrt", TN_IN (sum), TN_NO_ATTRS));
}

/* ---- tables split by rows ---- */

/* Indices into the rank's own rows, clamped, and where they are its own (as @dtype). */
static TnValue *
own_indices (Writer *w, uint32_t axes, TnValue *indices, int64_t rows, TnDType dtype, TnValue **own)
{
  TnMesh *mesh = w->self->mesh;
  int64_t list[TN_MESH_MAX_AXES];
  int n = 0;
  for (int i = 0; i < mesh->n_axes; i++)
    if (axes >> i & 1)
      list[n++] = i;
  if (indices == NULL)
    return NULL;
  TnValue *place = tn_op (w->graph, "RankIndex", 0, NULL,
                          TN_ATTRS (tn_attr_ints ("mesh", mesh->n_axes, mesh->sizes), tn_attr_ints ("axes", n, list), tn_attr_int ("group", tn_mesh_span (mesh, axes)),
                                    tn_attr_dtype ("dtype", indices->dtype)));
  TnValue *local = binary (w, "Sub", indices, binary (w, "Mul", place, scalar (w, indices->dtype, (double) rows)));
  TnValue *inside = binary (w, "Maximum", binary (w, "Minimum", local, scalar (w, indices->dtype, (double) rows - 1)), scalar (w, indices->dtype, 0));
  *own = tn_op (w->graph, "Cast", TN_IN (binary (w, "Equal", inside, local)), TN_ATTRS (tn_attr_dtype ("dtype", dtype)));
  return inside;
}

/* @mask has the leading dimensions of @x. */
static TnValue *
masked (Writer *w, TnValue *x, TnValue *mask)
{
  TnShape shape;
  if (x == NULL || mask == NULL)
    return NULL;
  shape = mask->shape;
  while (shape.n_dims < x->shape.n_dims)
    shape.dims[shape.n_dims++] = 1;
  mask = tn_op (w->graph, "Reshape", TN_IN (mask), TN_ATTRS (tn_attr_ints ("shape", shape.n_dims, shape.dims)));
  return binary (w, "Mul", x, mask);
}

static void
write_lookup (Writer *w, uint32_t axes, TnValue **in)
{
  TnValue *own = NULL, *indices = own_indices (w, axes, in[1], in[0]->shape.dims[0], in[0]->dtype, &own);
  TnValue *rows = tn_op (w->graph, "Gather", TN_IN (in[0], indices), w->node->n_attrs, w->node->attrs);
  tn_rewrite_set (w->rewrite, &w->node->outputs[0], masked (w, rows, own));
}

static void
write_lookup_grad (Writer *w, uint32_t axes, TnValue **in)
{
  int64_t rows = w->node->outputs[0].shape.dims[0] / tn_mesh_span (w->self->mesh, axes);
  TnValue *own = NULL, *indices = own_indices (w, axes, in[1], rows, in[0]->dtype, &own), *dy = masked (w, in[0], own);
  tn_rewrite_set (w->rewrite, &w->node->outputs[0], tn_op (w->graph, "GatherGrad", TN_IN (dy, indices), TN_ATTRS (tn_attr_int ("axis", 0), tn_attr_int ("size", rows))));
}

gboolean
tn_shard_write_special (TnSharded *self, TnRewrite *rewrite, const TnNode *node, const TnNodePlan *plan, TnValue **inputs)
{
  Writer w = { self, rewrite, rewrite->to, node };
  uint32_t axes = plan->rule.kind != TN_RULE_PLAIN && plan->rule.n_labels > 0 ? tn_dim_axes (&plan->labels[0]) : 0; /* rows are label 0 in all of these */
  for (int k = 0; k < node->n_inputs; k++)
    if (inputs[k] == NULL)
      return FALSE; /* failed before */
  switch (plan->rule.kind)
    {
    case TN_RULE_GLOBAL_NORM:
      write_global_norm (&w, plan, inputs);
      return TRUE;
    case TN_RULE_BATCH_NORM:
      if (axes != 0)
        write_batch_norm (&w, axes, inputs);
      return axes != 0;
    case TN_RULE_BATCH_NORM_GRAD:
      if (axes != 0)
        write_batch_norm_grad (&w, axes, inputs);
      return axes != 0;
    case TN_RULE_LOOKUP:
      if (axes != 0)
        write_lookup (&w, axes, inputs);
      return axes != 0;
    case TN_RULE_LOOKUP_GRAD:
      if (axes != 0)
        write_lookup_grad (&w, axes, inputs);
      return axes != 0;
    case TN_RULE_CONV:
      return tn_shard_write_window (self, rewrite, node, plan, inputs);
    default:
      return FALSE;
    }
}
