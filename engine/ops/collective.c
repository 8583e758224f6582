/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "ops/collective.h"
#include "ops/families.h"

/* What ranks do together, as nodes of a rank's graph (parallel/shard-graph.h puts them there). */

static gboolean
check_dim (const TnNode *node, const char *name, const TnShape *shape, gint64 *dim, GError **error)
{
  *dim = tn_node_int (node, name);
  if (*dim >= 0 && *dim < shape->n_dims)
    return TRUE;
  return tn_infer_error (node, error, _ ("attribute “%s” is no dimension of the input"), name);
}

static gboolean
infer_collective (TnNode *node, GError **error)
{
  TnShape shape = *tn_in_shape (node, 0);
  gint64 group = tn_node_int (node, "group"), dim = 0, concat = 0;
  const char *name = node->op->name;
  if (group < 1)
    return tn_infer_error (node, error, _ ("a group has one rank or more"));
  if (strcmp (name, "AllReduce") != 0)
    {
      if (!check_dim (node, "dim", &shape, &dim, error))
        return FALSE;
      if (strcmp (name, "AllGather") == 0)
        shape.dims[dim] *= group;
      else if (shape.dims[dim] % group != 0)
        return tn_infer_error (node, error, _ ("dimension %d does not divide by the %d ranks of a group"), (int) dim, (int) group);
      else
        shape.dims[dim] /= group;
    }
  if (strcmp (name, "AllToAll") == 0)
    {
      if (!check_dim (node, "concat_dim", &shape, &concat, error))
        return FALSE;
      shape.dims[concat] *= group;
    }
  tn_set_output (node, 0, tn_in_dtype (node, 0), shape);
  return TRUE;
}

static gboolean
infer_rank_index (TnNode *node, GError **error)
{
  TnDType dtype = (TnDType) tn_node_int (node, "dtype");
  if (dtype != TN_DTYPE_I32 && dtype != TN_DTYPE_I64)
    return tn_infer_error (node, error, _ ("an index is int32 or int64"));
  tn_set_output (node, 0, dtype, TN_SHAPE_SCALAR);
  return TRUE;
}

static gboolean
no_ranks (const TnKernelContext *context, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_STATE, _ ("%s needs the other ranks: run it on a group of them (parallel.ranks)."), context->node->name);
  return FALSE;
}

static void
no_arithmetic (const TnNode *node, TnCost *cost)
{
  double in = node->n_inputs > 0 ? (double) tn_shape_count (tn_in_shape (node, 0)) : 0, out = (double) tn_shape_count (&node->outputs[0].shape);
  cost->bytes = (in + out) * (double) tn_dtype_size (node->outputs[0].dtype);
}

#define GROUP { "mesh", TN_ATTR_INTS, TRUE }, { "axes", TN_ATTR_INTS, TRUE }, { "group", TN_ATTR_INT, TRUE }

static const TnAttrSpec reduce_attrs[] = { GROUP, { "op", TN_ATTR_STRING, .text = "sum" }, { 0 } };
static const TnAttrSpec dim_attrs[] = { GROUP, { "dim", TN_ATTR_INT, TRUE }, { 0 } };
static const TnAttrSpec scatter_attrs[] = { GROUP, { "dim", TN_ATTR_INT, TRUE }, { "op", TN_ATTR_STRING, .text = "sum" }, { 0 } };
static const TnAttrSpec exchange_attrs[] = { GROUP, { "dim", TN_ATTR_INT, TRUE }, { "concat_dim", TN_ATTR_INT, TRUE }, { 0 } };
static const TnAttrSpec index_attrs[] = { GROUP, { "dtype", TN_ATTR_DTYPE, .number = TN_DTYPE_I32 }, { 0 } };

#define ROW .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .infer = infer_collective, .cost = no_arithmetic, .reference = no_ranks

const TnOp tn_ops_collective[] = {
  { .name = "AllReduce", .doc = "op over the ranks of a group; all get it", .attrs = reduce_attrs, ROW },
  { .name = "AllGather", .doc = "the group's pieces of dimension dim, in the order of its ranks", .attrs = dim_attrs, ROW },
  { .name = "ReduceScatter", .doc = "op over the ranks of a group; each gets its piece of dimension dim", .attrs = scatter_attrs, ROW },
  { .name = "AllToAll", .doc = "piece k of dimension dim goes to rank k of the group; what comes is joined along concat_dim", .attrs = exchange_attrs, ROW },
  { .name = "ShardSlice", .doc = "the rank's own piece of dimension dim; nothing is sent", .attrs = dim_attrs, ROW },
  { .name = "RankIndex", .doc = "the rank's place in its group", .attrs = index_attrs, .n_outputs = 1, .infer = infer_rank_index, .cost = no_arithmetic, .reference = no_ranks },
  { 0 },
};

gboolean
tn_node_is_collective (const TnNode *node)
{
  return node->op->infer == infer_collective || node->op->infer == infer_rank_index;
}
