/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ir/passes.h"
#include "ir/rewrite.h"
#include "ops/op.h"
#include <string.h>

/* Pattern matching for tn_pass_fuse(). A pattern is recognised at its last node, so that everything it reads has been
 * made; nodes in its middle were copied before and fall to the dead-code pass. */

typedef struct
{
  const TnGraph *graph;
  const int *uses; /* by flat index */
  TnFusionAccepts accepts;
  gpointer data;
} Fusion;

static gboolean
used_once (const Fusion *fusion, const TnRewrite *rewrite, const TnValue *value)
{
  return fusion->uses[rewrite->first[value->node->id] + value->index] == 1;
}

/* The node that makes @value, if that is an @op and nobody else reads it. */
static const TnNode *
sole_maker (const Fusion *fusion, const TnRewrite *rewrite, const TnValue *value, const char *op)
{
  return tn_node_is (value->node, op) && used_once (fusion, rewrite, value) ? value->node : NULL;
}

/* Adds the fused node; FALSE where the device has no kernel for it (the parts then stay). */
static TnNode *
add_fused (const Fusion *fusion, TnRewrite *rewrite, const TnNode *anchor, const char *op, int n, TnValue **old_inputs,
           int n_attrs, const TnAttr *attrs)
{
  TnValue *inputs[4];
  for (int i = 0; i < n; i++)
    inputs[i] = tn_rewrite_get (rewrite, old_inputs[i]);
  tn_graph_set_phase (rewrite->to, anchor->phase);
  tn_graph_set_origin (rewrite->to, anchor);
  TnNode *fused = tn_graph_add_node (rewrite->to, op, n, inputs, n_attrs, attrs);
  tn_graph_set_origin (rewrite->to, NULL);
  return fused != NULL && fusion->accepts (fused, fusion->data) ? fused : NULL;
}

static gboolean
replace (TnRewrite *rewrite, const TnNode *last, TnNode *fused)
{
  if (fused == NULL)
    return FALSE;
  tn_rewrite_set (rewrite, &last->outputs[0], &fused->outputs[0]);
  return TRUE;
}

/* The attributes of @node and relu. */
static TnAttr *
with_relu (const TnNode *node, gboolean relu, int *n)
{
  TnAttr *attrs = g_new0 (TnAttr, node->n_attrs + 2);
  *n = 0;
  for (int i = 0; i < node->n_attrs; i++)
    if (strcmp (node->op->name, "MatMul") != 0)
      attrs[(*n)++] = node->attrs[i];
  if (relu)
    attrs[(*n)++] = tn_attr_bool ("relu", TRUE);
  return attrs;
}

static gboolean
is_dense (const TnNode *node)
{
  return tn_node_is (node, "MatMul") && tn_node_bool (node, "transpose_b") && !tn_node_bool (node, "transpose_a");
}

/* [Conv2D | MatMul], [BiasAdd], [ReLU] ending at @node. */
static gboolean
fuse_forward (const Fusion *fusion, TnRewrite *rewrite, const TnNode *node)
{
  gboolean relu = tn_node_is (node, "ReLU");
  const TnNode *bias = relu ? sole_maker (fusion, rewrite, node->inputs[0], "BiasAdd") : tn_node_is (node, "BiasAdd") ? node : NULL;
  const TnValue *product_value = bias != NULL ? bias->inputs[0] : relu ? node->inputs[0] : NULL;
  if (product_value == NULL || !used_once (fusion, rewrite, product_value))
    return FALSE;
  const TnNode *product = product_value->node;
  gboolean conv = tn_node_is (product, "Conv2D");
  if (!conv && !is_dense (product))
    return FALSE;
  int n_attrs;
  g_autofree TnAttr *attrs = with_relu (product, relu, &n_attrs);
  TnValue *inputs[] = { product->inputs[0], product->inputs[1], bias != NULL ? bias->inputs[1] : NULL };
  return replace (rewrite, node, add_fused (fusion, rewrite, product, conv ? "FusedConv2D" : "FusedDense", bias != NULL ? 3 : 2, inputs, n_attrs, attrs));
}

/* ReLUGrad of what came out of a pool's, a convolution's or a dense layer's gradient. */
static gboolean
fuse_relu_grad (const Fusion *fusion, TnRewrite *rewrite, const TnNode *node)
{
  if (!tn_node_is (node, "ReLUGrad") || !used_once (fusion, rewrite, node->inputs[0]))
    return FALSE;
  const TnNode *before = node->inputs[0]->node;
  TnValue *y = node->inputs[1];
  int n_attrs;
  g_autofree TnAttr *attrs = with_relu (before, FALSE, &n_attrs);
  TnValue *inputs[] = { before->n_inputs > 0 ? before->inputs[0] : NULL, before->n_inputs > 1 ? before->inputs[1] : NULL, y };
  const char *op = NULL;
  if (tn_node_is (before, "MaxPoolGrad") && before->inputs[0] == y)
    {
      op = "FusedMaxPoolReluGrad";
      inputs[2] = before->inputs[2];
    }
  else if (tn_node_is (before, "Conv2DBackpropInput"))
    op = "FusedConv2DBackpropInput";
  else if (tn_node_is (before, "MatMul") && !tn_node_bool (before, "transpose_a") && !tn_node_bool (before, "transpose_b"))
    op = "FusedDenseBackpropInput";
  return op != NULL && replace (rewrite, node, add_fused (fusion, rewrite, before, op, 3, inputs, n_attrs, attrs));
}

static gboolean
is_weight_gradient (const TnNode *node, const TnValue *dy)
{
  return node->n_inputs == 2 && node->inputs[0] == dy
         && (tn_node_is (node, "Conv2DBackpropFilter")
             || (tn_node_is (node, "MatMul") && tn_node_bool (node, "transpose_a") && !tn_node_bool (node, "transpose_b")));
}

/* BiasAddGrad (dy) and the weight gradient from the same dy, at whichever of the two comes first, if all is there. */
static gboolean
fuse_weight_grad (const Fusion *fusion, TnRewrite *rewrite, const TnNode *node)
{
  const TnValue *dy = node->inputs[0];
  const TnNode *weight = is_weight_gradient (node, dy) ? node : NULL, *bias = tn_node_is (node, "BiasAddGrad") ? node : NULL;
  if (weight == NULL && bias == NULL)
    return FALSE;
  for (int id = 0; id < tn_graph_n_nodes (fusion->graph); id++)
    {
      const TnNode *other = tn_graph_node (fusion->graph, id);
      if (weight == NULL && is_weight_gradient (other, dy))
        weight = other;
      else if (bias == NULL && tn_node_is (other, "BiasAddGrad") && other->inputs[0] == dy)
        bias = other;
    }
  if (weight == NULL || bias == NULL || tn_rewrite_get (rewrite, weight->inputs[1]) == NULL)
    return FALSE;
  int n_attrs;
  g_autofree TnAttr *attrs = with_relu (weight, FALSE, &n_attrs);
  TnNode *fused = add_fused (fusion, rewrite, weight, tn_node_is (weight, "MatMul") ? "FusedDenseBackpropWeight" : "FusedConv2DBackpropFilter",
                             2, weight->inputs, n_attrs, attrs);
  if (fused == NULL)
    return FALSE;
  tn_rewrite_set (rewrite, &weight->outputs[0], &fused->outputs[0]);
  tn_rewrite_set (rewrite, &bias->outputs[0], &fused->outputs[1]);
  return TRUE;
}

/* Every element of a constant, if they are all one number. */
static gboolean
uniform_constant (const TnValue *value, double *number)
{
  if (!tn_node_is_constant (value->node))
    return FALSE;
  const TnTensor *tensor = tn_node_constant (value->node);
  int64_t n = tn_tensor_count (tensor);
  for (int64_t i = 1; i < n; i++)
    if (tn_tensor_get (tensor, i) != tn_tensor_get (tensor, 0))
      return FALSE;
  *number = n > 0 ? tn_tensor_get (tensor, 0) : 0;
  return n > 0;
}

/* Mul (backprop of the sparse cross entropy, 1/N): the factor moves into the loss, where the two are made. */
static gboolean
fuse_loss_scale (const Fusion *fusion, TnRewrite *rewrite, const TnNode *node)
{
  if (!tn_node_is (node, "SparseSoftmaxCrossEntropyWithLogits") || tn_node_float (node, "grad_scale") != 1
      || !used_once (fusion, rewrite, &node->outputs[1]))
    return FALSE;
  const TnNode *scaled = NULL;
  double factor;
  for (int id = node->id + 1; id < tn_graph_n_nodes (fusion->graph) && scaled == NULL; id++)
    {
      const TnNode *user = tn_graph_node (fusion->graph, id);
      if (tn_node_is (user, "Mul") && user->inputs[0] == &node->outputs[1])
        scaled = user;
    }
  if (scaled == NULL || !uniform_constant (scaled->inputs[1], &factor)
      || !tn_shape_equal (&scaled->outputs[0].shape, &node->outputs[1].shape))
    return FALSE;
  TnAttr attr = tn_attr_float ("grad_scale", factor);
  TnNode *fused = add_fused (fusion, rewrite, node, node->op->name, 2, node->inputs, 1, &attr);
  if (fused == NULL)
    return FALSE;
  tn_rewrite_set (rewrite, &node->outputs[0], &fused->outputs[0]);
  tn_rewrite_set (rewrite, &node->outputs[1], &fused->outputs[1]);
  tn_rewrite_set (rewrite, &scaled->outputs[0], &fused->outputs[1]);
  return TRUE;
}

static gboolean
fuse_node (TnRewrite *rewrite, const TnNode *node, gpointer data)
{
  const Fusion *fusion = data;
  if ((node->op->flags & TN_OP_LEAF) != 0 || node->n_inputs == 0)
    return FALSE;
  if (tn_rewrite_get (rewrite, &node->outputs[0]) != NULL)
    return TRUE; /* made with an earlier node */
  return fuse_forward (fusion, rewrite, node) || fuse_relu_grad (fusion, rewrite, node) || fuse_weight_grad (fusion, rewrite, node)
         || fuse_loss_scale (fusion, rewrite, node);
}

TnGraph *
tn_pass_fuse (const TnGraph *graph, TnFusionAccepts accepts, gpointer data, GError **error)
{
  g_autofree int *first = NULL;
  g_autofree int *uses = tn_graph_use_counts (graph, &first);
  Fusion fusion = { graph, uses, accepts, data };
  return tn_graph_rewrite (graph, fuse_node, &fusion, error);
}
