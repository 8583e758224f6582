/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "page.h"
#include "shard-plan.h"

/* The Sharding page: who holds which bytes, who sends what, and what other ranks would change: of the project, or of a
 * strategy file of another program. */
#define TN_TYPE_PAGE_SHARD (tn_page_shard_get_type ())
G_DECLARE_FINAL_TYPE (TnPageShard, tn_page_shard, TN, PAGE_SHARD, TnPage)

/** Shows a strategy file, or a folder of them. */
void tn_page_shard_open_file (TnPageShard *self, const char *path);
/** What is shown; NULL while there is none. */
TnShardPlan *tn_page_shard_plan (TnPageShard *self);
/** By the ending of @path: .json and .csv are everything, .png, .svg and .pdf the picture of the view. */
gboolean tn_page_shard_export (TnPageShard *self, const char *path, GError **error);
