/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "shard-plan.h"

/* For the makers of plans: shard-project.c and shard-files.c. */
TnShardPlan *tn_shard_plan_new (void);
TnShardPlan *tn_shard_plan_from_project (const TnShardRequest *request, GError **error);
TnShardPlan *tn_shard_plan_from_files (const TnShardRequest *request, GError **error);
