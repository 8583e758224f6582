/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/rules.h"

#include <string.h>
#include "ops/collective.h"
#include "ops/conv.h"
#include "ops/op.h"
#include "ops/window.h"

void
tn_rule_clear (TnRule *rule)
{
  g_clear_pointer (&rule->in, g_free);
}

static void
begin (TnRule *rule, const TnNode *node)
{
  *rule = (TnRule){ .n_inputs = node->n_inputs, .weight_label = -1 };
  rule->in = g_malloc (sizeof *rule->in * (size_t) MAX (node->n_inputs, 1));
  memset (rule->in, TN_RULE_WHOLE, sizeof *rule->in * (size_t) MAX (node->n_inputs, 1));
  memset (rule->out, TN_RULE_WHOLE, sizeof rule->out);
}

static int8_t
label (TnRule *rule)
{
  g_assert (rule->n_labels < TN_RULE_MAX_LABELS);
  return (int8_t) rule->n_labels++;
}

gboolean
tn_rule_label_in_outputs (const TnRule *rule, const TnNode *node, int wanted)
{
  for (int o = 0; o < MIN (node->n_outputs, TN_RULE_MAX_OUTPUTS); o++)
    for (int d = 0; d < node->outputs[o].shape.n_dims; d++)
      if (rule->out[o][d] == wanted)
        return TRUE;
  return FALSE;
}

/* ---- families ---- */

/* Inputs aligned from the right with the output's dimensions; size 1 beside a larger one is whole. */
static gboolean
elementwise (const TnNode *node, TnRule *rule)
{
  const TnShape *y = &node->outputs[0].shape;
  for (int d = 0; d < y->n_dims; d++)
    {
      int8_t l = label (rule);
      for (int o = 0; o < MIN (node->n_outputs, TN_RULE_MAX_OUTPUTS); o++)
        if (tn_shape_equal (&node->outputs[o].shape, y))
          rule->out[o][d] = l;
      for (int k = 0; k < node->n_inputs; k++)
        {
          const TnShape *x = tn_in_shape (node, k);
          int at = d - (y->n_dims - x->n_dims);
          if (at >= 0 && x->dims[at] == y->dims[d])
            rule->in[k][at] = l;
        }
    }
  return TRUE;
}

/* One input like the output, partial values may pass. */
static gboolean
identity (const TnNode *node, TnRule *rule)
{
  rule->partial_through = TRUE;
  return elementwise (node, rule);
}

static gboolean
matmul (const TnNode *node, TnRule *rule)
{
  const TnShape *a = tn_in_shape (node, 0), *b = tn_in_shape (node, 1), *y = &node->outputs[0].shape;
  gboolean ta = tn_node_bool (node, "transpose_a"), tb = tn_node_bool (node, "transpose_b");
  for (int d = 0; d + 2 < y->n_dims; d++)
    {
      int8_t l = rule->out[0][d] = label (rule);
      int at_a = d - (y->n_dims - a->n_dims), at_b = d - (y->n_dims - b->n_dims);
      if (at_a >= 0 && a->dims[at_a] == y->dims[d])
        rule->in[0][at_a] = l;
      if (at_b >= 0 && b->dims[at_b] == y->dims[d])
        rule->in[1][at_b] = l;
    }
  int8_t m = label (rule), k = label (rule), n = label (rule);
  rule->in[0][a->n_dims - (ta ? 1 : 2)] = rule->out[0][y->n_dims - 2] = m;
  rule->in[0][a->n_dims - (ta ? 2 : 1)] = rule->in[1][b->n_dims - (tb ? 1 : 2)] = k;
  rule->in[1][b->n_dims - (tb ? 2 : 1)] = rule->out[0][y->n_dims - 1] = n;
  rule->reduce[k] = TN_PARTIAL_SUM;
  rule->weight_label = n;
  return TRUE;
}

static gboolean
bias_add (const TnNode *node, TnRule *rule)
{
  for (int d = 0; d < tn_in_shape (node, 0)->n_dims; d++)
    rule->in[0][d] = rule->out[0][d] = label (rule);
  rule->in[1][0] = rule->in[0][1];
  return TRUE;
}

static gboolean
bias_add_grad (const TnNode *node, TnRule *rule)
{
  for (int d = 0; d < tn_in_shape (node, 0)->n_dims; d++)
    {
      int8_t l = rule->in[0][d] = label (rule);
      rule->reduce[l] = d == 1 ? TN_PARTIAL_NONE : TN_PARTIAL_SUM;
    }
  rule->out[0][0] = rule->in[0][1];
  return TRUE;
}

/* A split axis of a convolution: ranks must be alike, so that every slice of the output needs as many rows before its slice of
 * the input as the first one has padding, and as many after it. That is so where in = out x stride; the outermost ranks take
 * zeros for the padding. (MindSpore allows rows that differ by rank too: conv2d_info.cc, the reference's 3.3.) */
static void
spatial (TnRule *rule, int at, const TnWindowAxis *axis, int8_t l, int8_t *x, int8_t *y)
{
  int64_t reach = axis->dilation * (axis->kernel - 1) + 1, after = reach - axis->stride - axis->before;
  rule->halo[at].label = TN_RULE_WHOLE;
  if (axis->in != axis->out * axis->stride || (reach <= axis->stride && axis->before != 0) || (reach > axis->stride && after < 0))
    return;
  rule->halo[at] = (TnRuleHalo){ l, axis->before, MAX (after, 0) };
  rule->least[l] = MAX (axis->before, MAX (after, 0));
  x[2 + at] = y[2 + at] = l;
}

/* [N I H W] and [O I ...] and [N O H W] in the order of the row; groups keep channels whole. */
static gboolean
conv (const TnNode *node, TnRule *rule)
{
  gboolean by_input = tn_node_is (node, "Conv2DBackpropInput"), by_filter = tn_node_is (node, "Conv2DBackpropFilter");
  gboolean grouped = tn_node_int (node, "group") != 1;
  int8_t n = label (rule), i = label (rule), h = label (rule), v = label (rule), o = label (rule);
  int8_t ci = grouped ? TN_RULE_WHOLE : i, co = grouped ? TN_RULE_WHOLE : o;
  int8_t *x = by_input ? rule->out[0] : by_filter ? rule->in[1] : rule->in[0];
  int8_t *w = by_filter ? rule->out[0] : rule->in[1];
  int8_t *y = by_input || by_filter ? rule->in[0] : rule->out[0];
  x[0] = y[0] = n;
  x[1] = w[1] = ci;
  w[0] = y[1] = co;
  rule->reduce[by_filter ? n : by_input ? o : i] = TN_PARTIAL_SUM;
  TnConv2dGeometry g;
  tn_conv2d_geometry (node, &g);
  spatial (rule, 0, &(TnWindowAxis){ .in = g.h, .kernel = g.kh, .stride = g.stride_h, .dilation = g.dilation_h, .before = g.pad_top, .after = g.pad_bottom, .out = g.oh }, h, x, y);
  spatial (rule, 1, &(TnWindowAxis){ .in = g.w, .kernel = g.kw, .stride = g.stride_w, .dilation = g.dilation_w, .before = g.pad_left, .after = g.pad_right, .out = g.ow }, v, x, y);
  rule->kind = TN_RULE_CONV;
  if (by_filter)
    rule->reduce[h] = rule->reduce[v] = TN_PARTIAL_SUM;
  rule->shape_attr = by_input ? "input_size" : by_filter ? "filter_size" : NULL;
  rule->weight_label = by_input || by_filter || grouped ? -1 : o;
  return TRUE;
}

/* Pools: samples and channels of every tensor. */
static gboolean
planes (const TnNode *node, TnRule *rule)
{
  int8_t n = label (rule), c = label (rule);
  for (int k = 0; k < node->n_inputs; k++)
    {
      rule->in[k][0] = n;
      rule->in[k][1] = c;
    }
  rule->out[0][0] = n;
  rule->out[0][1] = c;
  return TRUE;
}

/* Pools whose windows lie behind each other without overlap or padding may be split along height and width too. */
static void
free_windows (const TnNode *node, TnRule *rule)
{
  const int64_t *kernel;
  const TnShape *y = node->outputs[0].shape.n_dims == 4 ? &node->outputs[0].shape : NULL, *dy = tn_in_shape (node, 0);
  gboolean backward = g_str_has_suffix (node->op->name, "Grad");
  if (y == NULL || tn_node_ints (node, "kernel_size", &kernel) != 2)
    return;
  const TnShape *x = backward ? y : dy;
  TnWindow window;
  if (!tn_window_resolve (node, "strides", tn_node_bool (node, "ceil_mode"), 2, x->dims + 2, kernel, &window, NULL))
    return;
  for (int d = 0; d < 2; d++)
    {
      const TnWindowAxis *a = &window.axis[d];
      int8_t l = label (rule);
      if (a->before != 0 || a->after != 0 || a->in != a->out * a->stride || a->dilation * (a->kernel - 1) + 1 > a->stride)
        continue;
      for (int k = 0; k < node->n_inputs; k++)
        rule->in[k][2 + d] = l;
      rule->out[0][2 + d] = l;
    }
}

static gboolean
pool (const TnNode *node, TnRule *rule)
{
  planes (node, rule);
  free_windows (node, rule);
  return TRUE;
}

static gboolean
pool_grad (const TnNode *node, TnRule *rule)
{
  if (tn_node_attr (node, "input_size") != NULL)
    rule->shape_attr = "input_size";
  return pool (node, rule);
}

static gboolean
batch_norm (const TnNode *node, TnRule *rule)
{
  gboolean backward = tn_node_is (node, "BatchNormGrad");
  const TnShape *x = tn_in_shape (node, 0);
  rule->kind = backward ? TN_RULE_BATCH_NORM_GRAD : TN_RULE_BATCH_NORM;
  int8_t n = label (rule), c = label (rule);
  for (int k = 0; k < (backward ? 2 : 1); k++)
    {
      rule->in[k][0] = n;
      rule->in[k][1] = c;
      for (int d = 2; d < x->n_dims; d++)
        rule->in[k][d] = TN_RULE_WHOLE;
    }
  rule->out[0][0] = n;
  rule->out[0][1] = c;
  for (int k = backward ? 2 : 1; k < node->n_inputs; k++)
    rule->in[k][0] = c;
  for (int o = 1; o < node->n_outputs; o++)
    rule->out[o][0] = c;
  return TRUE;
}

/* LayerNorm, RmsNorm and their gradients: rows are free, what is normalised is whole. */
static gboolean
row_norm (const TnNode *node, TnRule *rule)
{
  gboolean backward = g_str_has_suffix (node->op->name, "Grad");
  gint64 axis = tn_node_int (node, "begin_norm_axis");
  int n_dims = tn_in_shape (node, 0)->n_dims, n_data = backward ? 2 : 1, n_params = tn_node_is (node, "RmsNorm") || tn_node_is (node, "RmsNormGrad") ? 1 : backward ? 1 : 2;
  if (!tn_normalize_axis (&axis, n_dims) || (tn_node_attr (node, "begin_params_axis") != NULL && tn_node_int (node, "begin_params_axis") != axis
                                             && tn_node_int (node, "begin_params_axis") + n_dims != axis && axis < n_dims - 1))
    return FALSE;
  for (int d = 0; d < axis; d++)
    {
      int8_t l = label (rule);
      for (int k = 0; k < n_data; k++)
        rule->in[k][d] = l;
      rule->out[0][d] = l;
      for (int k = n_data + n_params; k < node->n_inputs; k++) /* statistics of the rows */
        if (d < tn_in_shape (node, k)->n_dims)
          rule->in[k][d] = l;
      for (int o = 1; !backward && o < node->n_outputs; o++)
        if (d < node->outputs[o].shape.n_dims)
          rule->out[o][d] = l;
      rule->reduce[l] = TN_PARTIAL_SUM; /* of the parameters' gradients */
    }
  return TRUE;
}

static gboolean
softmax (const TnNode *node, TnRule *rule)
{
  gint64 axis = tn_node_int (node, "axis");
  const TnShape *x = tn_in_shape (node, 0);
  if (!tn_normalize_axis (&axis, x->n_dims))
    return FALSE;
  for (int d = 0; d < x->n_dims; d++)
    {
      int8_t l = d == axis ? TN_RULE_WHOLE : label (rule);
      for (int k = 0; k < node->n_inputs; k++)
        rule->in[k][d] = l;
      rule->out[0][d] = l;
    }
  return TRUE;
}

static gboolean
cross_entropy (const TnNode *node, TnRule *rule)
{
  int8_t n = label (rule);
  rule->in[0][0] = rule->in[1][0] = rule->out[0][0] = rule->out[1][0] = n;
  return TRUE;
}

static gboolean
reduction (const TnNode *node, TnRule *rule)
{
  static const struct { const char *name; TnPartial op; } kinds[] = {
    { "ReduceSum", TN_PARTIAL_SUM }, { "ReduceMean", TN_PARTIAL_MEAN }, { "ReduceMax", TN_PARTIAL_MAX }, { "ReduceMin", TN_PARTIAL_MIN }, { "ReduceProd", TN_PARTIAL_PROD },
  };
  TnPartial op = TN_PARTIAL_NONE;
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (tn_node_is (node, kinds[i].name))
      op = kinds[i].op;
  const TnShape *x = tn_in_shape (node, 0), *y = &node->outputs[0].shape;
  const int64_t *axes;
  int n_axes = tn_node_ints (node, "axis", &axes);
  gboolean keep = tn_node_bool (node, "keep_dims"), reduced[TN_MAX_DIMS];
  for (int d = 0; d < x->n_dims; d++)
    reduced[d] = n_axes == 0;
  for (int i = 0; i < n_axes; i++)
    {
      gint64 axis = axes[i];
      if (!tn_normalize_axis (&axis, x->n_dims))
        return FALSE;
      reduced[axis] = TRUE;
    }
  for (int d = 0, out = 0; d < x->n_dims; d++)
    {
      if (!reduced[d])
        {
          rule->in[0][d] = rule->out[0][out] = label (rule);
          out++;
          continue;
        }
      int8_t l = rule->in[0][d] = op == TN_PARTIAL_NONE || tn_dtype_is_float (tn_in_dtype (node, 0)) == FALSE ? TN_RULE_WHOLE : label (rule);
      if (l >= 0)
        rule->reduce[l] = op;
      out += keep;
    }
  return y->n_dims <= TN_MAX_DIMS;
}

static gboolean
transpose (const TnNode *node, TnRule *rule)
{
  const int64_t *perm;
  int n = tn_node_ints (node, "perm", &perm);
  const TnShape *x = tn_in_shape (node, 0);
  rule->partial_through = TRUE;
  for (int d = 0; d < x->n_dims; d++)
    rule->in[0][d] = label (rule);
  for (int d = 0; d < x->n_dims; d++)
    {
      gint64 from = n == 0 ? x->n_dims - 1 - d : perm[d];
      if (!tn_normalize_axis (&from, x->n_dims))
        return FALSE;
      rule->out[0][d] = rule->in[0][from];
    }
  return TRUE;
}

/* The same elements in the same order: dimensions are matched in the smallest groups of equal products, and the first of
 * each group, which is the most significant, may be split. */
static gboolean
reshape (const TnNode *node, TnRule *rule)
{
  const TnShape *x = tn_in_shape (node, 0), *y = &node->outputs[0].shape;
  rule->partial_through = TRUE;
  rule->shape_attr = tn_node_is (node, "Reshape") ? "shape" : NULL;
  for (int i = 0, k = 0; i < x->n_dims && k < y->n_dims;)
    {
      while (i < x->n_dims && x->dims[i] == 1)
        i++;
      while (k < y->n_dims && y->dims[k] == 1)
        k++;
      if (i == x->n_dims || k == y->n_dims)
        break;
      int64_t a = x->dims[i], b = y->dims[k];
      rule->in[0][i] = rule->out[0][k] = label (rule);
      i++;
      k++;
      while (a != b && (a < b ? i < x->n_dims : k < y->n_dims))
        if (a < b)
          a *= x->dims[i++];
        else
          b *= y->dims[k++];
    }
  return TRUE;
}

static gboolean
broadcast_to (const TnNode *node, TnRule *rule)
{
  const TnShape *x = tn_in_shape (node, 0), *y = &node->outputs[0].shape;
  rule->shape_attr = "shape";
  for (int d = 0; d < x->n_dims; d++)
    {
      int at = y->n_dims - x->n_dims + d;
      if (x->dims[d] == y->dims[at])
        rule->in[0][d] = rule->out[0][at] = label (rule);
    }
  return TRUE;
}

/* Numbers are drawn by the global element: only the batch may be split, whose first row a rank knows. */
static gboolean
dropout (const TnNode *node, TnRule *rule)
{
  if (tn_node_int (node, "rows_per_sample") == 0)
    return TRUE;
  rule->in[0][0] = rule->out[0][0] = rule->out[1][0] = label (rule);
  return TRUE;
}

static gboolean
gather (const TnNode *node, TnRule *rule)
{
  const TnShape *table = tn_in_shape (node, 0), *indices = tn_in_shape (node, 1);
  if (tn_node_int (node, "axis") != 0)
    return FALSE;
  int8_t rows = label (rule);
  rule->kind = TN_RULE_LOOKUP;
  rule->in[0][0] = rows;
  rule->reduce[rows] = TN_PARTIAL_SUM;
  rule->weight_label = rows;
  for (int d = 0; d < indices->n_dims; d++)
    rule->in[1][d] = rule->out[0][d] = label (rule);
  for (int d = 1; d < table->n_dims; d++)
    rule->in[0][d] = rule->out[0][indices->n_dims + d - 1] = label (rule);
  return TRUE;
}

static gboolean
gather_grad (const TnNode *node, TnRule *rule)
{
  const TnShape *dy = tn_in_shape (node, 0), *indices = tn_in_shape (node, 1);
  if (tn_node_int (node, "axis") != 0)
    return FALSE;
  rule->kind = TN_RULE_LOOKUP_GRAD;
  rule->out[0][0] = label (rule);
  for (int d = 0; d < indices->n_dims; d++)
    {
      int8_t l = rule->in[0][d] = rule->in[1][d] = label (rule);
      rule->reduce[l] = TN_PARTIAL_SUM;
    }
  for (int d = indices->n_dims; d < dy->n_dims; d++)
    rule->in[0][d] = rule->out[0][d - indices->n_dims + 1] = label (rule);
  return TRUE;
}

static gboolean
one_hot (const TnNode *node, TnRule *rule)
{
  const TnShape *x = tn_in_shape (node, 0);
  gint64 axis = tn_node_int (node, "axis");
  if (!tn_normalize_axis (&axis, x->n_dims + 1))
    return FALSE;
  for (int d = 0; d < x->n_dims; d++)
    rule->in[0][d] = rule->out[0][d + (d >= axis)] = label (rule);
  return TRUE;
}

/* The joined dimension is whole, the others are shared. */
static gboolean
join (const TnNode *node, TnRule *rule)
{
  gint64 axis = tn_node_int (node, "axis");
  const TnShape *x = tn_in_shape (node, 0);
  if (!tn_normalize_axis (&axis, x->n_dims) || node->n_outputs > TN_RULE_MAX_OUTPUTS)
    return FALSE;
  for (int d = 0; d < x->n_dims; d++)
    {
      int8_t l = d == axis ? TN_RULE_WHOLE : label (rule);
      for (int k = 0; k < node->n_inputs; k++)
        rule->in[k][d] = l;
      for (int o = 0; o < node->n_outputs; o++)
        rule->out[o][d] = l;
    }
  return TRUE;
}

/* Parameter, states and gradient alike; scalars beside them. */
static gboolean
update (const TnNode *node, TnRule *rule)
{
  const TnShape *w = tn_in_shape (node, 0);
  for (int d = 0; d < w->n_dims; d++)
    {
      int8_t l = label (rule);
      for (int k = 0; k < node->n_inputs; k++)
        if (tn_shape_equal (tn_in_shape (node, k), w))
          rule->in[k][d] = l;
      for (int o = 0; o < MIN (node->n_outputs, TN_RULE_MAX_OUTPUTS); o++)
        rule->out[o][d] = l;
    }
  return TRUE;
}

static gboolean
global_norm (const TnNode *node, TnRule *rule)
{
  rule->kind = TN_RULE_GLOBAL_NORM; /* takes its inputs as they lie */
  return TRUE;
}

/* ---- the table ---- */

typedef gboolean (*RuleFunc) (const TnNode *node, TnRule *rule);

static const struct
{
  const char *op;
  RuleFunc rule;
} table[] = {
  { "MatMul", matmul },
  { "BatchMatMul", matmul },
  { "BiasAdd", bias_add },
  { "BiasAddGrad", bias_add_grad },
  { "Conv2D", conv },
  { "Conv2DBackpropInput", conv },
  { "Conv2DBackpropFilter", conv },
  { "MaxPool", pool },
  { "AvgPool", pool },
  { "MaxPoolGrad", pool_grad },
  { "AvgPoolGrad", pool_grad },
  { "BatchNorm", batch_norm },
  { "BatchNormGrad", batch_norm },
  { "LayerNorm", row_norm },
  { "LayerNormGrad", row_norm },
  { "RmsNorm", row_norm },
  { "RmsNormGrad", row_norm },
  { "Softmax", softmax },
  { "SoftmaxGrad", softmax },
  { "LogSoftmax", softmax },
  { "LogSoftmaxGrad", softmax },
  { "SoftmaxCrossEntropyWithLogits", cross_entropy },
  { "SparseSoftmaxCrossEntropyWithLogits", cross_entropy },
  { "ReduceSum", reduction },
  { "ReduceMean", reduction },
  { "ReduceMax", reduction },
  { "ReduceMin", reduction },
  { "ReduceProd", reduction },
  { "ReduceVar", reduction },
  { "ReduceStd", reduction },
  { "LogSumExp", reduction },
  { "Transpose", transpose },
  { "Reshape", reshape },
  { "Flatten", reshape },
  { "ExpandDims", reshape },
  { "Squeeze", reshape },
  { "Identity", identity },
  { "StopGradient", identity },
  { "Neg", identity },
  { "BroadcastTo", broadcast_to },
  { "Dropout", dropout },
  { "Gather", gather },
  { "GatherGrad", gather_grad },
  { "OneHot", one_hot },
  { "Concat", join },
  { "Split", join },
  { "GlobalNorm", global_norm },
  { "GeLU", elementwise },
  { "GeLUGrad", elementwise },
};

gboolean
tn_rule_for (const TnNode *node, TnRule *rule)
{
  begin (rule, node);
  if (node->n_outputs > TN_RULE_MAX_OUTPUTS)
    return FALSE;
  gboolean known = FALSE, found = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (table) && !found; i++)
    if (tn_node_is (node, table[i].op))
      {
        found = TRUE;
        known = table[i].rule (node, rule);
      }
  if (!found && (node->op->flags & TN_OP_EFFECT) && node->phase == TN_PHASE_OPTIMIZER)
    known = found = update (node, rule);
  if (!found && (node->op->flags & TN_OP_ELEMENTWISE) && !(node->op->flags & TN_OP_RANDOM))
    known = elementwise (node, rule);
  if (known)
    return TRUE;
  tn_rule_clear (rule);
  begin (rule, node);
  return FALSE;
}
