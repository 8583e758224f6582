/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* Clipping by global norm, as torch.nn.utils.clip_grad_norm_: every gradient times min (1, max_norm / (norm + 1e-6)). */

/**
 * tn_clip_by_global_norm:
 * @gradients: (inout): @n values, replaced by the clipped ones
 * @max_norm: > 0
 *
 * Returns the norm before clipping, a float32 scalar (a metric of the step). NULL with the graph in the failed state on
 * error. Nodes are of the graph's present phase, under scope "Default/clip".
 */
TnValue *tn_clip_by_global_norm (TnGraph *graph, int n, TnValue **gradients, double max_norm);
