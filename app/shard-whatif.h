/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "shard-view.h"

/* The What-if view: what a rank would hold and receive on any number of devices, none of which is needed. Plans run in a worker,
 * one at a time; while one runs only the newest wish waits. */
#define TN_TYPE_SHARD_WHATIF (tn_shard_whatif_get_type ())
G_DECLARE_FINAL_TYPE (TnShardWhatif, tn_shard_whatif, TN, SHARD_WHATIF, TnShardView)

GtkWidget *tn_shard_whatif_new (void);
void tn_shard_whatif_set_document (TnShardWhatif *self, TnDocument *document);
/** Nothing runs and nothing waits. */
gboolean tn_shard_whatif_is_settled (TnShardWhatif *self);
/** The newest answer; NULL. */
TnShardPlan *tn_shard_whatif_answer (TnShardWhatif *self);
