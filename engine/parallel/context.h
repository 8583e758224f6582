/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/settings.h"
#include "parallel/shard-graph.h"

/* TnParallelContext: what the parallel.* settings say, checked and ready for tn_shard_graph(). */
typedef struct
{
  TnMesh *mesh;
  GArray *strategies;     /* TnShardStrategy, owned */
  int64_t *bucket_ends;
  TnShardOptions options; /* points into the above */
} TnParallelContext;

/**
 * tn_parallel_context_new:
 * @ranks: -1: parallel.ranks
 *
 * Errors: what a mesh or strategy text has wrong (%TN_LAYOUT_ERROR), TN_ERROR_INVALID_ARGUMENT for settings that
 * contradict each other; the message names the setting to change.
 */
TnParallelContext *tn_parallel_context_new (const TnSettings *settings, int64_t ranks, GError **error);
void tn_parallel_context_free (TnParallelContext *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnParallelContext, tn_parallel_context_free)

/** FALSE, naming the setting, where a run with these settings is not possible (pipelines, search), though they can be planned
 * and stored. */
gboolean tn_parallel_context_can_run (const TnSettings *settings, GError **error);

/**
 * tn_shard_strategies_parse: {"fc*": [["dp", "None"], ["tp", ["dp", "tp"]]]} by axis names, or {"fc1": [[4, 1], [2, 1]]} by
 * counts, which make a device matrix of their own in the order of the operator's dimensions: the counts of input dimensions that go together must agree.
 *
 * Returns a GArray of TnShardStrategy that owns its members. Errors: TN_ERROR_PARSE, %TN_LAYOUT_ERROR_TYPE and those of layouts.
 */
GArray *tn_shard_strategies_parse (const char *text, TnMesh *mesh, GError **error);
