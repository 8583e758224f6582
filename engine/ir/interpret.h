/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* Runs a graph node by node with the plain reference kernels. This is the oracle that fast kernels, fusions and plans are
 * checked against; it is also what folds constants and runs subgraphs of If and While. */

typedef struct
{
  uint64_t seed, step;
  int64_t first_sample;
} TnRandomState;

/** Runs one node on tensors (contiguous, of the dtypes and shapes that the node says); makes its outputs. An effect
 * row's mutated inputs are written in place and returned as the outputs. */
gboolean tn_interpret_node (const TnNode *node, TnTensor *const *inputs, TnTensor **outputs, const TnRandomState *random,
                            GError **error);

/**
 * tn_interpret:
 * @inputs: one tensor a graph input, in order
 * @parameters: one tensor a graph parameter, in order; may be written (statistics, optimizer)
 * @outputs: (out): one new reference a graph output
 */
gboolean tn_interpret (const TnGraph *graph, TnTensor *const *inputs, TnTensor *const *parameters, TnTensor **outputs,
                       const TnRandomState *random, GError **error);
