/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* Losses: MindSpore's, as graph pieces under scope "Default/loss-<class>".
 *
 *   TnLoss loss = { .kind = TN_LOSS_SOFTMAX_CROSS_ENTROPY, .sparse = TRUE, .reduction = TN_REDUCTION_MEAN };
 *   TnValue *l = tn_loss_build (&loss, graph, logits, labels, NULL);      // a scalar
 */
typedef enum
{
  TN_REDUCTION_NONE,
  TN_REDUCTION_MEAN,
  TN_REDUCTION_SUM
} TnReduction;

typedef enum
{
  TN_LOSS_SOFTMAX_CROSS_ENTROPY, /* logits [N][C]; labels int32 or int64 [N] (sparse) or the logits' type [N][C] */
  TN_LOSS_MSE,                   /* mean of (x - y)^2 */
  TN_LOSS_L1,                    /* mean of |x - y| */
  TN_LOSS_SMOOTH_L1,             /* .5 d^2 / beta below beta, else |d| - .5 beta */
  TN_LOSS_BCE,                   /* -(y log x + (1 - y) log (1 - x)), x in [0, 1] */
  TN_LOSS_BCE_WITH_LOGITS,
  TN_LOSS_NLL,                   /* log probabilities [N][C], labels int32 [N] */
  TN_LOSS_RMSE,                  /* sqrt (mean (x - y)^2); always a scalar */
  TN_LOSS_HUBER,                 /* .5 d^2 to beta, then beta (|d| - .5 beta) */
  TN_LOSS_KL_DIV,                /* y (log y - x), x log probabilities */
  TN_LOSS_POISSON_NLL            /* exp x - y x */
} TnLossKind;

typedef struct
{
  TnLossKind kind;
  gboolean sparse;
  TnReduction reduction;
  double beta; /* SMOOTH_L1, HUBER (delta); 0 means 1 */
} TnLoss;

/** @kind: "softmax_cross_entropy", "mse", "l1", "smooth_l1", "bce", "bce_with_logits", "nll", "rmse", "huber", "kl_div", "poisson_nll" or MindSpore's class
 * ("SoftmaxCrossEntropyWithLogits"); @reduction: "none", "mean", "sum". Softmax is sparse by default. */
gboolean tn_loss_parse (const char *kind, const char *reduction, TnLoss *out, GError **error);
const char *tn_loss_class_name (TnLossKind kind);

/**
 * tn_loss_build:
 * @weight: (nullable): of the shape of the unreduced loss (or broadcast to it)
 *
 * Returns the loss: a scalar of the outputs' dtype, or with TN_REDUCTION_NONE one value a sample (softmax) or an element.
 * NULL with the graph in the failed state where shapes or dtypes do not fit.
 */
TnValue *tn_loss_build (const TnLoss *loss, TnGraph *graph, TnValue *output, TnValue *labels, TnValue *weight);
/** dtype and shape that labels must have beside @output. */
void tn_loss_label_type (const TnLoss *loss, const TnValue *output, TnDType *dtype, TnShape *shape);
