/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "nn/loss.h"
#include "nn/model.h"
#include "optim/optimizer.h"
#include "base/settings.h"

/* The graphs of a program: what a training step and an evaluation compute, for a number of rows. */

typedef struct
{
  TnModel *model;
  TnLoss loss;
  TnOptimizer optimizer;
  double clip_norm; /* 0: none */
} TnProgramRecipe;

/** Reads train.loss, train.clip_norm, optimizer.* of @settings. Errors name the setting. */
gboolean tn_program_recipe_init (TnProgramRecipe *recipe, TnModel *model, TnSettings *settings, GError **error);

/** Inputs "x", "labels" (or "targets"), "lr", "step"; outputs "loss", "grad_norm", "grad:<parameter>" each. */
TnGraph *tn_program_training_graph (const TnProgramRecipe *recipe, int64_t rows, GError **error);
/** Inputs "x", "labels" (or "targets"); outputs "logits" and "loss" (by row or element). */
TnGraph *tn_program_evaluation_graph (const TnProgramRecipe *recipe, int64_t rows, GError **error);
