/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ir/interpret.h"
#include "ops/families.h"
#include <string.h>

/* Rows that passes make of several others (ir/fuse.c). Each says what it is made of; shapes, cost and the plain kernel
 * follow from that. The order of arithmetic is that of the parts: fusing only leaves out stores. */

/* ---- what holds for every fused row ---- */

/* The composition of @node as a graph: one input an input of the node, one output an output. */
static TnGraph *
expansion (const TnNode *node)
{
  g_autoptr (TnGraph) graph = tn_graph_new (node->op->name);
  g_autofree TnValue **inputs = g_new0 (TnValue *, node->n_inputs + 1);
  g_autofree TnValue **outputs = g_new0 (TnValue *, node->op->n_outputs + 1);
  for (int i = 0; i < node->n_inputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("input%d", i);
      inputs[i] = tn_graph_add_input (graph, name, node->inputs[i]->dtype, node->inputs[i]->shape);
    }
  node->op->expand (graph, node, inputs, outputs);
  for (int i = 0; i < node->op->n_outputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("output%d", i);
      tn_graph_add_output (graph, name, outputs[i]);
    }
  return g_steal_pointer (&graph);
}

static gboolean
infer_expanded (TnNode *node, GError **error)
{
  g_autoptr (TnGraph) graph = expansion (node);
  if (!tn_graph_check (graph, error))
    {
      g_prefix_error (error, "%s: ", node->name);
      return FALSE;
    }
  for (int i = 0; i < node->n_outputs; i++)
    {
      const TnValue *value = tn_graph_output (graph, i).value;
      tn_set_output (node, i, value->dtype, value->shape);
    }
  return TRUE;
}

static void
cost_expanded (const TnNode *node, TnCost *cost)
{
  g_autoptr (TnGraph) graph = expansion (node);
  cost->flops = 0; /* bytes stay: each tensor of the fused node once, the inner ones not at all */
  for (int id = 0; id < tn_graph_n_nodes (graph); id++)
    {
      TnCost part;
      tn_node_cost (tn_graph_node (graph, id), &part);
      cost->flops += part.flops;
    }
}

gboolean
tn_reference_expanded (const TnKernelContext *context, GError **error)
{
  const TnNode *node = context->node;
  g_autoptr (TnGraph) graph = expansion (node);
  if (!tn_graph_check (graph, error))
    return FALSE;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  g_autofree TnTensor **outputs = g_new0 (TnTensor *, node->n_outputs + 1);
  for (int i = 0; i < node->n_inputs; i++)
    g_ptr_array_add (inputs, tn_tensor_new_external (node->inputs[i]->dtype, node->inputs[i]->shape, context->in[i], NULL, NULL));
  TnRandomState random = { context->seed, context->step, context->first_sample };
  if (!tn_interpret (graph, (TnTensor *const *) inputs->pdata, NULL, outputs, &random, error))
    return FALSE;
  for (int i = 0; i < node->n_outputs; i++)
    {
      memcpy (context->out[i], tn_tensor_data (outputs[i]), tn_tensor_bytes (outputs[i]));
      tn_tensor_unref (outputs[i]);
    }
  return TRUE;
}

/* The node's attributes but for "relu", which is the fused row's own. */
static TnAttr *
inner_attrs (const TnNode *node, int *n)
{
  TnAttr *attrs = g_new0 (TnAttr, node->n_attrs + 1);
  *n = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp (node->attrs[i].name, "relu") != 0)
      attrs[(*n)++] = node->attrs[i];
  return attrs;
}

static TnValue *
apply (TnGraph *graph, const char *op, const TnNode *node, int n_inputs, TnValue **inputs)
{
  int n;
  g_autofree TnAttr *attrs = inner_attrs (node, &n);
  return tn_op (graph, op, n_inputs, inputs, n, attrs);
}

/* ---- the rows ---- */

static TnValue *
bias_and_relu (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue *y)
{
  if (node->n_inputs > 2)
    y = tn_op (graph, "BiasAdd", TN_IN (y, inputs[2]), TN_NO_ATTRS);
  return tn_node_bool (node, "relu") ? tn_op (graph, "ReLU", TN_IN (y), TN_NO_ATTRS) : y;
}

static void
expand_conv (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs)
{
  outputs[0] = bias_and_relu (graph, node, inputs, apply (graph, "Conv2D", node, 2, inputs));
}

static void
expand_dense (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs)
{
  TnValue *y = tn_op (graph, "MatMul", TN_IN (inputs[0], inputs[1]), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
  outputs[0] = bias_and_relu (graph, node, inputs, y);
}

/* dx of a convolution whose input x came out of a ReLU: inputs dy, w, x. */
static void
expand_conv_input (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs)
{
  TnValue *dx = apply (graph, "Conv2DBackpropInput", node, 2, inputs);
  outputs[0] = tn_op (graph, "ReLUGrad", TN_IN (dx, inputs[2]), TN_NO_ATTRS);
}

/* dx of a dense layer whose input x came out of a ReLU: inputs dy, w, x. */
static void
expand_dense_input (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs)
{
  TnValue *dx = tn_op (graph, "MatMul", TN_IN (inputs[0], inputs[1]), TN_NO_ATTRS);
  outputs[0] = tn_op (graph, "ReLUGrad", TN_IN (dx, inputs[2]), TN_NO_ATTRS);
}

/* Weight and bias gradient of a convolution: inputs dy, x. */
static void
expand_conv_filter (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs)
{
  outputs[0] = apply (graph, "Conv2DBackpropFilter", node, 2, inputs);
  outputs[1] = tn_op (graph, "BiasAddGrad", TN_IN (inputs[0]), TN_NO_ATTRS);
}

/* Weight and bias gradient of a dense layer: inputs dy, x. */
static void
expand_dense_weight (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs)
{
  outputs[0] = tn_op (graph, "MatMul", TN_IN (inputs[0], inputs[1]), TN_ATTRS (tn_attr_bool ("transpose_a", TRUE)));
  outputs[1] = tn_op (graph, "BiasAddGrad", TN_IN (inputs[0]), TN_NO_ATTRS);
}

/* Max pool of a ReLU's output, both gradients: inputs x (after ReLU), y, dy. */
static void
expand_pool_relu (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs)
{
  TnValue *dx = apply (graph, "MaxPoolGrad", node, 3, inputs);
  outputs[0] = tn_op (graph, "ReLUGrad", TN_IN (dx, inputs[0]), TN_NO_ATTRS);
}

#define CONV_ATTRS                                                                                                               \
  { "stride", TN_ATTR_INTS }, { "pad_mode", TN_ATTR_STRING, .text = "pad" }, { "pad", TN_ATTR_INTS }, { "dilation", TN_ATTR_INTS }, \
  { "group", TN_ATTR_INT, .number = 1 }, { "relu", TN_ATTR_BOOL }

static const TnAttrSpec conv_attrs[] = { CONV_ATTRS, { 0 } };
static const TnAttrSpec conv_input_attrs[] = { CONV_ATTRS, { "input_size", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec conv_filter_attrs[] = { CONV_ATTRS, { "filter_size", TN_ATTR_INTS, TRUE }, { 0 } };
static const TnAttrSpec dense_attrs[] = { { "relu", TN_ATTR_BOOL }, { 0 } };
static const TnAttrSpec pool_attrs[] = { { "kernel_size", TN_ATTR_INTS, TRUE }, { "strides", TN_ATTR_INTS }, { "dilation", TN_ATTR_INTS },
                                         { "pad_mode", TN_ATTR_STRING, .text = "pad" }, { "pad", TN_ATTR_INTS },
                                         { "ceil_mode", TN_ATTR_BOOL }, { 0 } };

#define FUSED(name_, doc_, min_, max_, outputs_, attrs_, expand_)                                                                \
  { .name = name_, .doc = doc_, .min_inputs = min_, .max_inputs = max_, .n_outputs = outputs_, .attrs = attrs_,                  \
    .infer = infer_expanded, .cost = cost_expanded, .reference = tn_reference_expanded, .expand = expand_ }

const TnOp tn_ops_fused[] = {
  FUSED ("FusedConv2D", "relu (Conv2D (x, w) + b)", 2, 3, 1, conv_attrs, expand_conv),
  FUSED ("FusedDense", "relu (x · wᵀ + b)", 2, 3, 1, dense_attrs, expand_dense),
  FUSED ("FusedConv2DBackpropInput", "dx of Conv2D where x > 0", 3, 3, 1, conv_input_attrs, expand_conv_input),
  FUSED ("FusedDenseBackpropInput", "dy · w where x > 0", 3, 3, 1, NULL, expand_dense_input),
  FUSED ("FusedConv2DBackpropFilter", "dw and db of Conv2D", 2, 2, 2, conv_filter_attrs, expand_conv_filter),
  FUSED ("FusedDenseBackpropWeight", "dyᵀ · x and the column sums of dy", 2, 2, 2, NULL, expand_dense_weight),
  FUSED ("FusedMaxPoolReluGrad", "dx of MaxPool (x) where x > 0", 3, 3, 1, pool_attrs, expand_pool_relu),
  { 0 },
};
