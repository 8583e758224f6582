/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* Reverse-mode differentiation as a graph transform: adds nodes of phase backward to the graph that the forward nodes
 * stand in, by the gradient rule of each operator's row. Nodes that no wanted value depends on get none. */

/**
 * tn_graph_add_gradients:
 * @loss: any value; where it is not a scalar, @seed must be given
 * @seed: (nullable): gradient that enters at @loss, of its shape; NULL: ones
 * @wanted: values to differentiate by (parameters, inputs)
 * @gradients: (out): one a wanted value, of its shape and dtype; zeros where the loss does not depend on it
 *
 * Returns FALSE, with the graph in the failed state, where an operator on the way has no gradient.
 */
gboolean tn_graph_add_gradients (TnGraph *graph, TnValue *loss, TnValue *seed, int n_wanted, TnValue *const *wanted,
                                 TnValue **gradients);
