/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "formats/strategy-file.h"
#include "parallel/shard-graph.h"

/** The strategy file of what was chosen: one item an operator that reads a parameter ("MatMul_fc1.weight", pieces of each
 * dimension of each input), one a parameter and optimizer state, with the optimizer's cut apart from the layout. All ranks have the same. */
TnStrategyFile *tn_sharded_to_strategy_file (const TnSharded *sharded);
