/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* Passes: each makes a new graph from one, with the same inputs, parameters and outputs. Nodes keep names and scopes and
 * say where they come from. None of these changes a rounding: results are the same bits. */

/** Nodes that no output and no effect depends on are left out. */
TnGraph *tn_pass_dead_code (const TnGraph *graph, GError **error);
/** Nodes whose inputs are all constant are computed now, unless that would make more than 16 MiB. */
TnGraph *tn_pass_fold_constants (const TnGraph *graph, GError **error);
/** Nodes that compute the same from the same inputs are merged; random and effect nodes are not. */
TnGraph *tn_pass_common_subexpressions (const TnGraph *graph, GError **error);

/** Answers whether the device has a kernel for a fused node; where it has none, the parts stay apart. */
typedef gboolean (*TnFusionAccepts) (const TnNode *fused, gpointer data);
/** Rows that run faster as one (ops/fused.c): bias and ReLU into convolutions and dense products, ReLU's gradient into what
 * comes before it, the bias gradient into the weight gradient, the loss gradient's factor into the loss. */
TnGraph *tn_pass_fuse (const TnGraph *graph, TnFusionAccepts accepts, gpointer data, GError **error);

/** All of the above in their order. @stage (nullable) sees the graph after each, by the pass's name. */
TnGraph *tn_passes_run (const TnGraph *graph, TnFusionAccepts accepts, gpointer data,
                        void (*stage) (gpointer stage_data, const char *name, TnGraph *graph), gpointer stage_data, GError **error);
