/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "document.h"
#include "shard-plan.h"

/* TnShardLayout: the editor of the mesh and of one parameter's layout.
 *
 * Every change is checked at once by the engine's own rules, whose words are shown; what passes is planned in a worker, so that the cost
 * stands there before anything is applied. Apply makes undoable edits of parallel.mesh and parallel.strategy. For plans that
 * come from files, which cannot be changed, it only tells. */
#define TN_TYPE_SHARD_LAYOUT (tn_shard_layout_get_type ())
G_DECLARE_FINAL_TYPE (TnShardLayout, tn_shard_layout, TN, SHARD_LAYOUT, AdwBin)

GtkWidget *tn_shard_layout_new (void);
/** @document may be NULL: nothing to apply to. */
void tn_shard_layout_set_document (TnShardLayout *self, TnDocument *document);
/** What is in force. @item -1: the mesh only. */
void tn_shard_layout_set_item (TnShardLayout *self, TnShardPlan *plan, int item);
/** FALSE if there is nothing legal to apply. */
gboolean tn_shard_layout_apply (TnShardLayout *self);
/** A request for a plan of @document as it stands. */
TnShardRequest *tn_shard_request_for (TnDocument *document);
