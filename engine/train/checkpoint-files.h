/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/checkpoint.h"

/* Names and texts that the writer and the reader of checkpoints share. */
#define TN_CHECKPOINT_MANIFEST "manifest.json"
#define TN_CHECKPOINT_STATE "state.json"
#define TN_CHECKPOINT_PINNED "pinned"
#define TN_CHECKPOINT_FORMAT "tenon-checkpoint"

/** "rank-0000.safetensors"; free with g_free. */
char *tn_checkpoint_rank_file (int rank);
/** "step-00001875" -> 1875; FALSE for other names. */
gboolean tn_checkpoint_parse_step (const char *name, gint64 *step);
/** Steps of folders in @folder by name, ascending, with and without a manifest. */
GArray *tn_checkpoint_list_folders (const char *folder);
/** Text of state.json, the same for the same state. Free with g_free. */
char *tn_checkpoint_state_to_text (const TnCheckpointState *state);
gboolean tn_checkpoint_state_load (const char *path, TnCheckpointState *state, GError **error);
/** Removes a step's folder, the manifest first, so that a half removed one does not count. Failures are ignored: the next sweep
 * comes by again. */
void tn_checkpoint_remove (const char *path);
