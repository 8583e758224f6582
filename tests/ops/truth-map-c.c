/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/truth-map-b.h"
#include <math.h>
#include <string.h>

/* torch's norms, losses and index operators in terms of our rows. */

static TnValue *
reduced (TruthCase *c, TnGraph *graph, TnValue *each)
{
  const char *reduction = truth_string (c, "reduction", "mean");
  if (strcmp (reduction, "none") == 0)
    return each;
  return tn_op (graph, strcmp (reduction, "sum") == 0 ? "ReduceSum" : "ReduceMean", TN_IN (each), TN_NO_ATTRS);
}

/* An input, or @value everywhere in @shape where the case has none. */
static TnValue *
input_or (TruthCase *c, TnGraph *graph, const char *name, TnShape shape, double value)
{
  TnValue *given = truth_input (c, name);
  return given != NULL ? given : truth_fill (graph, c->dtype, shape, value);
}

/* ---- norms ---- */

/* The running values are written in place: on copies, as the case's inputs must stay. */
gboolean
truth_build_batch_norm (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x");
  gboolean eval = strcmp (c->op, "batch_norm_eval") == 0, running = strcmp (c->op, "batch_norm_running") == 0;
  TnShape channels = TN_SHAPE (x->shape.dims[1]);
  TnValue *mean = input_or (c, graph, running ? "rm" : "running_mean", channels, 0),
          *variance = input_or (c, graph, running ? "rv" : "running_var", channels, 1);
  TnValue *y =
      tn_op (graph, "BatchNorm",
             TN_IN (x, input_or (c, graph, "weight", channels, 1), input_or (c, graph, "bias", channels, 0),
                    truth_apply (graph, "Identity", mean, NULL), truth_apply (graph, "Identity", variance, NULL)),
             TN_ATTRS (tn_attr_bool ("is_training", !eval), tn_attr_float ("epsilon", truth_float (c, "eps", 1e-5)),
                       tn_attr_float ("momentum", 1 - truth_float (c, "momentum", 0.1))));
  for (int i = 0; i < (running ? 3 : 1); i++)
    truth_output (c, tn_value_sibling (y, i));
  return TRUE;
}

gboolean
truth_build_row_norm (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x");
  int64_t normal[TRUTH_MAX_INTS];
  TnAttr epsilon = tn_attr_float ("epsilon", truth_float (c, "eps", 1e-5));
  int n = truth_ints (c, "normalized_shape", normal), axis = x->shape.n_dims - n;
  TnShape params = tn_shape_make (n, normal), channels = TN_SHAPE (x->shape.dims[1]);
  TnAttr norm_axis = tn_attr_int ("begin_norm_axis", axis);
  if (strcmp (c->op, "rms_norm") == 0)
    truth_output (c, tn_op (graph, "RmsNorm", TN_IN (x, input_or (c, graph, "weight", params, 1)),
                            TN_ATTRS (norm_axis, epsilon)));
  else if (strcmp (c->op, "layer_norm") == 0)
    truth_output (c, tn_op (graph, "LayerNorm",
                            TN_IN (x, input_or (c, graph, "weight", params, 1), input_or (c, graph, "bias", params, 0)),
                            TN_ATTRS (norm_axis, tn_attr_int ("begin_params_axis", axis), epsilon)));
  else
    {
      TnAttr attrs[] = { epsilon, tn_attr_int ("num_groups", truth_int (c, "num_groups", 1)) };
      gboolean group = strcmp (c->op, "group_norm") == 0;
      truth_output (
          c, tn_op (graph, group ? "GroupNorm" : "InstanceNorm",
                    TN_IN (x, input_or (c, graph, "weight", channels, 1), input_or (c, graph, "bias", channels, 0)),
                    group ? 2 : 1, attrs));
    }
  return TRUE;
}

/* torch bounds the norm, our row its square. */
static TnValue *
normalize (TnGraph *graph, TnValue *x, gint64 axis, double eps)
{
  return tn_op (graph, "L2Normalize", TN_IN (x),
                TN_ATTRS (tn_attr_int ("axis", axis), tn_attr_float ("epsilon", eps * eps)));
}

gboolean
truth_build_normalize (TruthCase *c, TnGraph *graph)
{
  double p = truth_float (c, "p", 2), eps = truth_float (c, "eps", 1e-12);
  TnValue *x = truth_input (c, "x");
  int64_t dim = truth_int (c, "dim", 1);
  if (p == 2)
    {
      truth_output (c, normalize (graph, x, dim, eps));
      return TRUE;
    }
  TnValue *norm =
      tn_op (graph, "LpNorm", TN_IN (x),
             TN_ATTRS (tn_attr_ints ("axis", 1, &dim), tn_attr_bool ("keep_dims", TRUE), tn_attr_float ("p", p)));
  truth_output (c, truth_apply (graph, "Div", x,
                                truth_apply (graph, "Maximum", norm, tn_graph_add_scalar (graph, c->dtype, eps))));
  return TRUE;
}

/* torch's alpha is for the mean over the window. */
gboolean
truth_build_lrn (TruthCase *c, TnGraph *graph)
{
  gint64 size = truth_int (c, "size", 5);
  truth_output (c, tn_op (graph, "LRN", TN_IN (truth_input (c, "x")),
                          TN_ATTRS (tn_attr_int ("size", size),
                                    tn_attr_float ("alpha", truth_float (c, "alpha", 1e-4) / (double) size),
                                    tn_attr_float ("beta", truth_float (c, "beta", 0.75)),
                                    tn_attr_float ("bias", truth_float (c, "k", 1)))));
  return TRUE;
}

/* ---- losses ---- */

/* [N, K, d...] (or [K]) as rows of classes. */
static TnValue *
class_rows (TnGraph *graph, TnValue *x)
{
  int n = x->shape.n_dims;
  int64_t perm[TN_MAX_DIMS], classes = x->shape.dims[n > 1 ? 1 : 0];
  for (int d = 0; d < n; d++)
    perm[d] = d == 0 ? 0 : d < n - 1 ? d + 1 : 1;
  if (n > 2)
    x = tn_op (graph, "Transpose", TN_IN (x), TN_ATTRS (tn_attr_ints ("perm", n, perm)));
  return truth_reshape (graph, x, TN_SHAPE (-1, classes));
}

gboolean
truth_build_nll (TruthCase *c, TnGraph *graph)
{
  TnValue *target = truth_input (c, "target"), *weight = truth_input (c, "weight"),
          *rows = class_rows (graph, truth_input (c, "x"));
  gboolean none = strcmp (truth_string (c, "reduction", "mean"), "none") == 0;
  if (strcmp (c->op, "cross_entropy") == 0)
    rows = tn_op (graph, "LogSoftmax", TN_IN (rows), TN_ATTRS (tn_attr_int ("axis", 1)));
  TnValue *inputs[] = { rows, truth_reshape (graph, target, TN_SHAPE (-1)), weight };
  TnValue *loss = tn_op (graph, "NLLLoss", weight != NULL ? 3 : 2, inputs,
                         TN_ATTRS (tn_attr_string ("reduction", truth_string (c, "reduction", "mean")),
                                   tn_attr_int ("ignore_index", truth_int (c, "ignore_index", -100)),
                                   tn_attr_float ("label_smoothing", truth_float (c, "label_smoothing", 0))));
  truth_output (c, none ? truth_reshape (graph, loss, target->shape) : loss);
  return TRUE;
}

gboolean
truth_build_cross_entropy_prob (TruthCase *c, TnGraph *graph)
{
  double smoothing = truth_float (c, "label_smoothing", 0);
  TnValue *x = class_rows (graph, truth_input (c, "x")), *target = class_rows (graph, truth_input (c, "target"));
  if (smoothing > 0)
    target = truth_apply (graph, "Add", truth_times (graph, target, 1 - smoothing),
                          tn_graph_add_scalar (graph, c->dtype, smoothing / (double) x->shape.dims[1]));
  if (truth_input (c, "weight") != NULL)
    target = truth_apply (graph, "Mul", target, truth_input (c, "weight"));
  truth_output (c, reduced (c, graph, truth_apply (graph, "SoftmaxCrossEntropyWithLogits", x, target)));
  return TRUE;
}

/* Not torch's: the row as MindSpore has it, its second output included. */
gboolean
truth_build_sparse_cross_entropy (TruthCase *c, TnGraph *graph)
{
  TnValue *loss =
      tn_op (graph, "SparseSoftmaxCrossEntropyWithLogits", TN_IN (truth_input (c, "x"), truth_input (c, "target")),
             TN_ATTRS (tn_attr_float ("grad_scale", truth_float (c, "grad_scale", 1))));
  truth_output (c, loss);
  truth_output (c, tn_value_sibling (loss, 1));
  return TRUE;
}

gboolean
truth_build_pair_loss (TruthCase *c, TnGraph *graph)
{
  static const struct
  {
    const char *torch, *op, *number;
    double missing;
  } rows[] = {
    { "mse_loss", "MSELoss" },
    { "l1_loss", "L1Loss" },
    { "huber_loss", "HuberLoss", "delta", 1 },
    { "smooth_l1_loss", "SmoothL1Loss", "beta", 1 },
    { "binary_cross_entropy", "BinaryCrossEntropy" },
    { "binary_cross_entropy_with_logits", "BCEWithLogitsLoss" },
    { "kl_div", "KLDivLoss" },
    { "hinge_embedding_loss", "HingeEmbeddingLoss", "margin", 1 },
    { "poisson_nll_loss", "PoissonNLLLoss", "eps", 1e-8 },
    { "soft_margin_loss", "SoftMarginLoss" },
  };
  TnValue *x = truth_input (c, "x"), *inputs[4] = { x, truth_input (c, "target") };
  TnAttr attrs[4] = { tn_attr_string ("reduction", truth_string (c, "reduction", "mean")) };
  int n = 1, n_inputs = 2;
  if (truth_input (c, "weight") != NULL || truth_has (c, "pos_weight"))
    inputs[n_inputs++] = input_or (c, graph, "weight", x->shape, 1);
  if (truth_has (c, "pos_weight"))
    inputs[n_inputs++] = truth_fill (graph, c->dtype, x->shape, truth_float (c, "pos_weight", 1));
  if (strcmp (c->op, "kl_div") == 0)
    attrs[n++] = tn_attr_bool ("log_target", truth_bool (c, "log_target", FALSE));
  if (strcmp (c->op, "poisson_nll_loss") == 0)
    {
      attrs[n++] = tn_attr_bool ("log_input", truth_bool (c, "log_input", TRUE));
      attrs[n++] = tn_attr_bool ("full", truth_bool (c, "full", FALSE));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (c->op, rows[i].torch) == 0)
      {
        if (rows[i].number != NULL)
          attrs[n++] = tn_attr_float (rows[i].number, truth_float (c, rows[i].number, rows[i].missing));
        truth_output (c, tn_op (graph, rows[i].op, n_inputs, inputs, n, attrs));
      }
  return TRUE;
}

gboolean
truth_build_cosine_similarity (TruthCase *c, TnGraph *graph)
{
  int64_t dim = truth_int (c, "dim", 1);
  double eps = truth_float (c, "eps", 1e-8);
  TnValue *product = truth_apply (graph, "Mul", normalize (graph, truth_input (c, "a"), dim, eps),
                                  normalize (graph, truth_input (c, "b"), dim, eps));
  truth_output (c, tn_op (graph, "ReduceSum", TN_IN (product), TN_ATTRS (tn_attr_ints ("axis", 1, &dim))));
  return TRUE;
}

/* ---- index ---- */

gboolean
truth_build_embedding (TruthCase *c, TnGraph *graph)
{
  TnValue *weight = truth_input (c, "weight");
  gint64 padding = truth_int (c, "padding_idx", G_MININT32);
  padding = padding == G_MININT32 ? -1 : padding < 0 ? padding + weight->shape.dims[0] : padding;
  truth_output (c, tn_op (graph, "Gather", TN_IN (weight, truth_input (c, "ids")),
                          TN_ATTRS (tn_attr_int ("axis", 0), tn_attr_int ("padding_idx", padding))));
  return TRUE;
}

/* Rows are gathered and added up by bag; an empty bag stays zero. */
gboolean
truth_build_embedding_bag (TruthCase *c, TnGraph *graph)
{
  const char *mode = truth_string (c, "mode", "mean");
  int64_t offsets[TRUTH_MAX_INTS];
  TnValue *ids = truth_input (c, "ids"), *weight = truth_input (c, "weight");
  int bags = truth_ints (c, "offsets", offsets);
  if (strcmp (mode, "max") == 0 || ids->shape.n_dims != 1 || bags == 0)
    return FALSE;
  g_autoptr (TnTensor) segments = tn_tensor_new (TN_DTYPE_I64, ids->shape, NULL);
  g_autoptr (TnTensor) counts = tn_tensor_new (c->dtype, TN_SHAPE (bags, 1), NULL);
  for (int b = 0; b < bags; b++)
    {
      int64_t end = b + 1 < bags ? offsets[b + 1] : ids->shape.dims[0];
      tn_tensor_set (counts, b, (double) MAX (end - offsets[b], 1));
      for (int64_t i = offsets[b]; i < end; i++)
        tn_tensor_set (segments, i, b);
    }
  TnValue *rows = tn_op (graph, "Gather", TN_IN (weight, ids), TN_NO_ATTRS);
  TnValue *sums = tn_op (graph, "UnsortedSegmentSum", TN_IN (rows, tn_graph_add_constant (graph, segments)),
                         TN_ATTRS (tn_attr_int ("num_segments", bags)));
  truth_output (c, strcmp (mode, "mean") == 0 ? truth_apply (graph, "Div", sums, tn_graph_add_constant (graph, counts))
                                              : sums);
  return TRUE;
}

gboolean
truth_build_segment_sum (TruthCase *c, TnGraph *graph)
{
  truth_output (c, tn_op (graph, "UnsortedSegmentSum", TN_IN (truth_input (c, "x"), truth_input (c, "ids")),
                          TN_ATTRS (tn_attr_int ("num_segments", truth_int (c, "num_segments", 1)))));
  return TRUE;
}

/* Dimensions other than @dim stretched to @shape. */
static TnValue *
stretch (TnGraph *graph, TnValue *x, TnShape shape, gint64 dim)
{
  shape.dims[dim] = x->shape.dims[dim];
  return tn_shape_equal (&shape, &x->shape)
             ? x
             : tn_op (graph, "BroadcastTo", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", shape.n_dims, shape.dims)));
}

/* take_along_dim broadcasts, gather does not. */
gboolean
truth_build_gather (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x"), *index = truth_input (c, "index");
  gint64 dim = truth_int (c, "dim", 0);
  if (strcmp (c->op, "take_along_dim") == 0)
    {
      TnShape a = x->shape, b = index->shape, shape;
      dim += dim < 0 ? a.n_dims : 0;
      a.dims[dim] = b.dims[dim] = 1;
      if (!tn_shape_broadcast (&a, &b, &shape))
        return FALSE;
      x = stretch (graph, x, shape, dim);
      index = stretch (graph, index, shape, dim);
    }
  truth_output (c, tn_op (graph, "GatherD", TN_IN (x, index), TN_ATTRS (tn_attr_int ("dim", dim))));
  return TRUE;
}

/* torch reads only as much of src as the index has. */
gboolean
truth_build_scatter (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x"), *index = truth_input (c, "index"), *src = truth_input (c, "src");
  int64_t begin[TN_MAX_DIMS] = { 0 };
  int n = x->shape.n_dims;
  if (src == NULL)
    src = truth_fill (graph, c->dtype, index->shape, truth_float (c, "value", 0));
  if (!tn_shape_equal (&src->shape, &index->shape))
    src = tn_op (graph, "StridedSlice", TN_IN (src),
                 TN_ATTRS (tn_attr_ints ("begin", n, begin), tn_attr_ints ("end", n, index->shape.dims)));
  truth_output (c,
                tn_op (graph, "TensorScatterElements", TN_IN (x, index, src),
                       TN_ATTRS (tn_attr_int ("axis", truth_int (c, "dim", 0)),
                                 tn_attr_string ("reduction", strcmp (c->op, "scatter_add") == 0 ? "add" : "none"))));
  return TRUE;
}

gboolean
truth_build_index_select (TruthCase *c, TnGraph *graph)
{
  TnAttr axis = tn_attr_int ("axis", truth_int (c, "dim", 0));
  TnValue *x = truth_input (c, "x"), *index = truth_input (c, "index");
  if (strcmp (c->op, "index_select") == 0)
    truth_output (c, tn_op (graph, "Gather", TN_IN (x, index), 1, &axis));
  else
    truth_output (c, tn_op (graph, "IndexAdd",
                            TN_IN (x, index, truth_times (graph, truth_input (c, "src"), truth_float (c, "alpha", 1))),
                            1, &axis));
  return TRUE;
}

/* Shapes are fixed when a graph is built: the places come from the mask's values. */
gboolean
truth_build_masked_select (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x");
  g_autoptr (TnTensor) mask = truth_input_tensor (c, "mask");
  if (mask == NULL || !tn_shape_equal (&mask->shape, &x->shape))
    return FALSE;
  int64_t n = 0, count = tn_tensor_count (mask);
  g_autofree int64_t *places = g_new (int64_t, count + 1);
  for (int64_t i = 0; i < count; i++)
    if (tn_tensor_get (mask, i) != 0)
      places[n++] = i;
  g_autoptr (TnTensor) index = tn_tensor_new_from (TN_DTYPE_I64, TN_SHAPE (n), places);
  truth_output (c, tn_op (graph, "Gather",
                          TN_IN (truth_reshape (graph, x, TN_SHAPE (count)), tn_graph_add_constant (graph, index)),
                          TN_NO_ATTRS));
  return TRUE;
}

gboolean
truth_build_one_hot (TruthCase *c, TnGraph *graph)
{
  g_autoptr (TnTensor) x = truth_input_tensor (c, "x");
  gint64 depth = truth_int (c, "num_classes", -1);
  for (int64_t i = 0; i < tn_tensor_count (x) && truth_int (c, "num_classes", -1) < 0; i++)
    depth = MAX (depth, (gint64) tn_tensor_get (x, i) + 1);
  truth_output (c, tn_op (graph, "OneHot", TN_IN (truth_input (c, "x")),
                          TN_ATTRS (tn_attr_int ("depth", depth), tn_attr_dtype ("dtype", TN_DTYPE_I64))));
  return TRUE;
}

gboolean
truth_build_sort (TruthCase *c, TnGraph *graph)
{
  TnAttr axis = tn_attr_int ("axis", truth_int (c, "dim", -1)), type = tn_attr_dtype ("output_type", TN_DTYPE_I64);
  TnValue *x = truth_input (c, "x");
  TnValue *values =
      strcmp (c->op, "sort") == 0
          ? tn_op (graph, "Sort", TN_IN (x),
                   TN_ATTRS (axis, type, tn_attr_bool ("descending", truth_bool (c, "descending", FALSE))))
          : tn_op (graph, "TopK", TN_IN (x),
                   TN_ATTRS (axis, type, tn_attr_int ("k", truth_int (c, "k", 1)),
                             tn_attr_bool ("largest", truth_bool (c, "largest", TRUE))));
  truth_output (c, values);
  truth_output (c, tn_value_sibling (values, 1));
  return TRUE;
}

gboolean
truth_build_arg (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x");
  gint64 dim = truth_int (c, "dim", 0);
  if (!truth_has (c, "dim"))
    x = truth_reshape (graph, x, TN_SHAPE (-1));
  TnValue *y = tn_op (graph, strcmp (c->op, "argmax") == 0 ? "ArgMax" : "ArgMin", TN_IN (x),
                      TN_ATTRS (tn_attr_int ("axis", dim), tn_attr_dtype ("output_type", TN_DTYPE_I64)));
  truth_output (c, truth_bool (c, "keepdim", FALSE) ? truth_expand (graph, y, (int) dim) : y);
  return TRUE;
}
