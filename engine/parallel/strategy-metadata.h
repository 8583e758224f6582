/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <json-glib/json-glib.h>
#include "parallel/shard-graph.h"

/* Strategy metadata: which layout every parameter has on every rank, by the calls that MindSpore has for it.
 *
 *   tn_enable_save_strategy_online ();
 *   ... compile: tn_strategy_save_online (&network, sharded, ...) ...
 *   g_autoptr (TnStrategyMetadata) metadata = tn_get_strategy_metadata (&network, -1, &error);
 *
 * The result is {rank: {parameter: [Layout, dtype, global shape]}}, or NULL where MindSpore has None. It is a view: one
 * layout a parameter, whatever the number of ranks. Ranks are real rank numbers (MindSpore counts them off). Layouts have
 * MindSpore's synthetic names a, b, c ... with axes of size 1 left out; the layout with the user's names stands beside.
 * The record is one for the process; calls from any thread. */
typedef struct
{
  const char *compile_phase; /* "" or NULL: not compiled */
} TnNetwork;

typedef struct _TnStrategyMetadata TnStrategyMetadata;

/** Compilations from now on are recorded. There is no way back, as in MindSpore. */
void tn_enable_save_strategy_online (void);
gboolean tn_strategy_save_enabled (void);

/**
 * tn_strategy_save_online: records what a compilation chose, if recording is on, the phase is not empty and it was not recorded before.
 * @recorded_mode: FALSE for stand_alone, data_parallel and pipelines without interleaving: the record is then empty, and
 *   the getters give NULL
 */
void tn_strategy_save_online (const TnNetwork *network, const TnSharded *sharded, const TnGraph *source, gboolean recorded_mode);

/**
 * tn_get_strategy_metadata:
 * @rank_id: one rank, or -1 for all (None)
 *
 * Returns NULL without an error where MindSpore gives None: no phase, a phase that was not recorded, nothing in the record.
 * Errors: TN_ERROR_NOT_FOUND for a rank that is not there (KeyError).
 */
TnStrategyMetadata *tn_get_strategy_metadata (const TnNetwork *network, int64_t rank_id, GError **error);
/** What this process holds, under key 0 whatever its rank. */
TnStrategyMetadata *tn_get_current_strategy_metadata (const TnNetwork *network);
/** Forgets all records; recording stays on, and a phase can be recorded again by a new compilation. */
void tn_clear_strategy_metadata (void);

void tn_strategy_metadata_free (TnStrategyMetadata *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnStrategyMetadata, tn_strategy_metadata_free)

int64_t tn_strategy_metadata_n_ranks (const TnStrategyMetadata *self);
/** Ascending. */
int64_t tn_strategy_metadata_rank (const TnStrategyMetadata *self, int64_t i);
int tn_strategy_metadata_n_parameters (const TnStrategyMetadata *self);

typedef struct
{
  const char *name;
  TnLayout *layout; /* synthetic names */
  TnLayout *named;  /* the user's names */
  const char *dtype; /* "float32" */
  TnShape shape;    /* global */
} TnStrategyMetadataItem;

/** The same for every rank that is in the view; by base name, the parameter before its states. */
const TnStrategyMetadataItem *tn_strategy_metadata_item (const TnStrategyMetadata *self, int i);
const TnStrategyMetadataItem *tn_strategy_metadata_find (const TnStrategyMetadata *self, const char *name);
/** {"0": {"fc.weight": [{...}, "float32", [10, 84]], ...}, ...}; ranks that are alike stand once, under "ranks 0-7" with
 * @grouped. */
JsonObject *tn_strategy_metadata_to_json (const TnStrategyMetadata *self, gboolean grouped);
