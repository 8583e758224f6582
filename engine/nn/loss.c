/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/loss.h"

#include <string.h>
#include "base/error.h"
#include "base/json.h"

/* Every loss is one operator and, where there are weights, a product. The softmax ones give a value a sample, which is then
 * reduced. */

static const struct
{
  const char *setting, *class_name, *other, *op; /* other: another name of the class */
} kinds[] = {
  [TN_LOSS_SOFTMAX_CROSS_ENTROPY] = { "softmax_cross_entropy", "SoftmaxCrossEntropyWithLogits", "CrossEntropyLoss", "" },
  [TN_LOSS_MSE] = { "mse", "MSELoss", "", "MSELoss" },
  [TN_LOSS_L1] = { "l1", "L1Loss", "MAELoss", "L1Loss" },
  [TN_LOSS_SMOOTH_L1] = { "smooth_l1", "SmoothL1Loss", "", "SmoothL1Loss" },
  [TN_LOSS_BCE] = { "bce", "BCELoss", "", "BinaryCrossEntropy" },
  [TN_LOSS_BCE_WITH_LOGITS] = { "bce_with_logits", "BCEWithLogitsLoss", "", "BCEWithLogitsLoss" },
  [TN_LOSS_NLL] = { "nll", "NLLLoss", "", "NLLLoss" },
  [TN_LOSS_RMSE] = { "rmse", "RMSELoss", "", "MSELoss" },
  [TN_LOSS_HUBER] = { "huber", "HuberLoss", "", "HuberLoss" },
  [TN_LOSS_KL_DIV] = { "kl_div", "KLDivLoss", "", "KLDivLoss" },
  [TN_LOSS_POISSON_NLL] = { "poisson_nll", "PoissonNLLLoss", "", "PoissonNLLLoss" },
};

static const char *const reductions[] = { "none", "mean", "sum" };

const char *
tn_loss_class_name (TnLossKind kind)
{
  return kinds[kind].class_name;
}

static gboolean
parse_kind (const char *kind, TnLossKind *out, GError **error)
{
  const char *known[G_N_ELEMENTS (kinds) + 1] = { NULL };
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      known[i] = kinds[i].setting;
      if (strcmp (kind, kinds[i].setting) == 0 || strcmp (kind, kinds[i].class_name) == 0 || strcmp (kind, kinds[i].other) == 0)
        {
          *out = (TnLossKind) i;
          return TRUE;
        }
    }
  const char *near = tn_did_you_mean (kind, known);
  g_autofree char *list = g_strjoinv (", ", (char **) known);
  if (near != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("there is no loss “%s”: did you mean “%s”?"), kind, near);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("there is no loss “%s”: it is one of %s"), kind, list);
  return FALSE;
}

gboolean
tn_loss_parse (const char *kind, const char *reduction, TnLoss *out, GError **error)
{
  *out = (TnLoss){ .sparse = TRUE, .reduction = TN_REDUCTION_MEAN };
  if (!parse_kind (kind, &out->kind, error))
    return FALSE;
  for (guint i = 0; reduction != NULL && i < G_N_ELEMENTS (reductions); i++)
    if (strcmp (reduction, reductions[i]) == 0)
      {
        out->reduction = (TnReduction) i;
        return TRUE;
      }
  if (reduction == NULL)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("reduction is “%s”: it must be none, mean or sum"), reduction);
  return FALSE;
}

static gboolean
takes_classes (const TnLoss *loss)
{
  return loss->kind == TN_LOSS_NLL || (loss->kind == TN_LOSS_SOFTMAX_CROSS_ENTROPY && loss->sparse);
}

void
tn_loss_label_type (const TnLoss *loss, const TnValue *output, TnDType *dtype, TnShape *shape)
{
  *dtype = takes_classes (loss) ? TN_DTYPE_I32 : output->dtype;
  *shape = output->shape;
  if (takes_classes (loss))
    *shape = TN_SHAPE (output->shape.n_dims > 0 ? output->shape.dims[0] : 0);
}

/* ---- building ---- */

static TnValue *
reduce (TnGraph *graph, TnValue *value, TnReduction reduction)
{
  if (reduction == TN_REDUCTION_NONE)
    return value;
  return tn_op (graph, reduction == TN_REDUCTION_MEAN ? "ReduceMean" : "ReduceSum", TN_IN (value), TN_NO_ATTRS);
}

static TnValue *
build_operator (const TnLoss *loss, TnGraph *graph, TnValue *output, TnValue *labels, TnReduction reduction)
{
  TnAttr attrs[2] = { tn_attr_string ("reduction", reductions[reduction]) };
  double beta = loss->beta > 0 ? loss->beta : 1;
  if (loss->kind == TN_LOSS_SMOOTH_L1 || loss->kind == TN_LOSS_HUBER)
    attrs[1] = tn_attr_float (loss->kind == TN_LOSS_HUBER ? "delta" : "beta", beta);
  return tn_op (graph, kinds[loss->kind].op, TN_IN (output, labels), attrs[1].name != NULL ? 2 : 1, attrs);
}

static TnValue *
build_loss (const TnLoss *loss, TnGraph *graph, TnValue *output, TnValue *labels, TnValue *weight)
{
  TnReduction reduction = loss->kind == TN_LOSS_RMSE ? TN_REDUCTION_MEAN : loss->reduction;
  TnValue *value;
  if (loss->kind == TN_LOSS_SOFTMAX_CROSS_ENTROPY)
    value = tn_op (graph, loss->sparse ? "SparseSoftmaxCrossEntropyWithLogits" : "SoftmaxCrossEntropyWithLogits",
                   TN_IN (output, labels), TN_NO_ATTRS);
  else if (weight == NULL)
    value = build_operator (loss, graph, output, labels, reduction);
  else
    value = build_operator (loss, graph, output, labels, TN_REDUCTION_NONE);
  if (weight != NULL)
    value = tn_op (graph, "Mul", TN_IN (value, weight), TN_NO_ATTRS);
  if (weight != NULL || loss->kind == TN_LOSS_SOFTMAX_CROSS_ENTROPY)
    value = reduce (graph, value, reduction);
  if (loss->kind == TN_LOSS_RMSE)
    value = tn_op (graph, "Sqrt", TN_IN (value), TN_NO_ATTRS);
  return value;
}

static gboolean
check_types (const TnLoss *loss, TnGraph *graph, const TnValue *output, const TnValue *labels)
{
  TnDType dtype;
  TnShape shape;
  tn_loss_label_type (loss, output, &dtype, &shape);
  gboolean class_labels = takes_classes (loss) && labels->dtype == TN_DTYPE_I64;
  if (tn_shape_equal (&shape, &labels->shape) && (labels->dtype == dtype || class_labels)
      && (!takes_classes (loss) || output->shape.n_dims == 2))
    return TRUE;
  g_autofree char *out = tn_shape_to_string (&output->shape), *given = tn_shape_to_string (&labels->shape), *want = tn_shape_to_string (&shape);
  tn_graph_fail (graph, g_error_new (TN_ERROR, TN_ERROR_SHAPE, _ ("loss %s: for an output %s the labels must be %s %s, not %s %s"),
                                     kinds[loss->kind].class_name, out, tn_dtype_name (dtype), want, tn_dtype_name (labels->dtype), given));
  return FALSE;
}

TnValue *
tn_loss_build (const TnLoss *loss, TnGraph *graph, TnValue *output, TnValue *labels, TnValue *weight)
{
  if (tn_graph_failed (graph) || output == NULL || labels == NULL || !check_types (loss, graph, output, labels))
    return NULL;
  g_autofree char *scope = g_strdup_printf ("loss-%s", kinds[loss->kind].class_name);
  tn_graph_push_scope (graph, scope);
  TnValue *value = build_loss (loss, graph, output, labels, weight);
  tn_graph_pop_scope (graph);
  return tn_graph_failed (graph) ? NULL : value;
}
