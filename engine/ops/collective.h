/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Rows that need the other ranks: AllReduce, AllGather, ReduceScatter, AllToAll, ShardSlice, RankIndex.
 *
 * Attributes say with whom, the same on every rank: "mesh" (sizes of the mesh's axes), "axes" (which of them the group runs
 * over) and "group" (its number of ranks). A rank's group is tn_mesh_group (mesh, axes, rank, &index): the pieces stand
 * in that order, and ShardSlice and RankIndex take @index. "op" is "sum", "mean", "max", "min" or "prod". No kernel of one rank can run them (ShardSlice and
 * RankIndex send nothing, but need the index): whoever runs a rank's plan does. */
gboolean tn_node_is_collective (const TnNode *node);
