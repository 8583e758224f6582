/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* TnOptimizer: how parameters are updated from their gradients.
 *
 * A description in numbers, made from settings or by hand. Building it into a graph adds one update node a parameter
 * (ApplyMomentum, SGD, Adam ...: ops/optimizer.c) and the states they keep as parameters of role TN_ROLE_OPTIMIZER, named as
 * MindSpore names them ("moments.conv1.weight", "moment1.", "moment2.", "adam_m.", "adam_v.", "accum.").
 *
 *   TnOptimizer optimizer;
 *   tn_optimizer_init (&optimizer, TN_OPTIMIZER_MOMENTUM);
 *   optimizer.momentum = 0.9;
 *   tn_optimizer_build (&optimizer, graph, n, parameters, gradients, lr, step, &error);
 */
typedef enum
{
  TN_OPTIMIZER_MOMENTUM,          /* v = u v + g;  w -= lr v, Nesterov: w -= lr (g + u v) */
  TN_OPTIMIZER_SGD,               /* PyTorch's: dampening, and the first gradient taken undamped */
  TN_OPTIMIZER_ADAM,              /* weight decay as L2 added to the gradient */
  TN_OPTIMIZER_ADAMW,             /* PyTorch's: w -= lr wd w first, then Adam with bias correction */
  TN_OPTIMIZER_ADAM_WEIGHT_DECAY  /* MindSpore's: no bias correction, w -= lr (m / (sqrt v + eps) + wd w) */
} TnOptimizerKind;

typedef enum
{
  TN_STYLE_MINDSPORE, /* eps outside the bias correction; parameters named *beta* or *gamma* are not decayed */
  TN_STYLE_TORCH,     /* eps inside; every parameter is decayed; coefficients in double */
  TN_STYLE_EXPERIMENTAL /* mindspore.experimental.optim: as MINDSPORE, but every parameter is decayed */
} TnOptimizerStyle;

/* Parameters whose names match get numbers of their own. The first group that matches counts; parameters of no group have the optimizer's numbers. */
typedef struct
{
  const char *pattern;  /* globs over names, separated by commas; not owned */
  double lr_factor;     /* times the learning rate of the step (own lr / base lr); 1 */
  double weight_decay;  /* NAN: the optimizer's. In a group the names beta and gamma are decayed too */
} TnOptimizerGroup;

#define TN_OPTIMIZER_MAX_GROUPS 32

typedef struct
{
  TnOptimizerKind kind;
  TnOptimizerStyle style;
  double momentum;     /* MOMENTUM, SGD: 0.9, 0 */
  double dampening;    /* SGD: 0 */
  gboolean nesterov;   /* MOMENTUM, SGD; ADAM: MindSpore's use_nesterov */
  double beta1, beta2; /* 0.9, 0.999 */
  double eps;          /* 1e-8; ADAM_WEIGHT_DECAY 1e-6 */
  gboolean amsgrad;
  double weight_decay; /* 0; ADAMW 0.01 */
  double loss_scale;   /* gradients come multiplied by this; 1 */
  int n_groups;
  TnOptimizerGroup groups[TN_OPTIMIZER_MAX_GROUPS];
} TnOptimizer;

/** The kind's defaults, style MindSpore (ADAMW: PyTorch). */
void tn_optimizer_init (TnOptimizer *self, TnOptimizerKind kind);
/** "momentum", "sgd", "adam", "adamw", "adam_weight_decay" and MindSpore's class names, in any case; FALSE with a did-you-mean. */
gboolean tn_optimizer_kind_parse (const char *name, TnOptimizerKind *out, GError **error);
/** "Momentum", "SGD", "Adam", "AdamW", "AdamWeightDecay". */
const char *tn_optimizer_kind_name (TnOptimizerKind kind);
/** Ranges as MindSpore checks them: momentum >= 0, betas in (0, 1), eps > 0, Nesterov SGD needs momentum and no dampening ... */
gboolean tn_optimizer_check (const TnOptimizer *self, GError **error);

/**
 * tn_optimizer_build:
 * @parameters, @gradients: @n of each, of equal shapes and dtypes; frozen ones are to be left out by the caller
 * @lr: float32 (or the parameters' dtype) scalar: the learning rate of this step
 * @step: int64 scalar, 1 at the first update
 *
 * Adds states and update nodes in phase TN_PHASE_OPTIMIZER under "Default/optimizer-<kind>"; the phase is set back to
 * FORWARD. FALSE with @error where numbers are out of range or the graph failed.
 */
gboolean tn_optimizer_build (const TnOptimizer *self, TnGraph *graph, int n, TnValue *const *parameters,
                             TnValue *const *gradients, TnValue *lr, TnValue *step, GError **error);

/** Numbers that parameter @name is updated with. */
double tn_optimizer_weight_decay_of (const TnOptimizer *self, const char *name);
double tn_optimizer_lr_factor_of (const TnOptimizer *self, const char *name);
/** States a parameter has, and the prefix of each ("moment1."). */
int tn_optimizer_states (const TnOptimizer *self, const char *prefixes[4]);
