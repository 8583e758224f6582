/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/families.h"

/* Leaves get dtype and shape when they are added (ir/graph.c); nothing is computed. */
static gboolean
infer_leaf (TnNode *node, GError **error)
{
  return TRUE;
}

static const TnAttrSpec constant_attrs[] = { { "value", TN_ATTR_TENSOR }, { 0 } };

const TnOp tn_ops_leaf[] = {
  { .name = "Input", .doc = "A tensor that is given at each step.", .flags = TN_OP_LEAF, .n_outputs = 1, .infer = infer_leaf },
  { .name = "Parameter", .doc = "A tensor that stays between steps.", .flags = TN_OP_LEAF, .n_outputs = 1, .infer = infer_leaf },
  { .name = "Constant", .doc = "A tensor known when the graph is built.", .flags = TN_OP_LEAF, .n_outputs = 1, .attrs = constant_attrs, .infer = infer_leaf },
  { 0 },
};
