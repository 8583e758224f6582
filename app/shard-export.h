/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "shard-plan.h"

/* A plan as text, in the C locale. */

/** Mesh, parameters with layouts, bytes of ranks (equal ones once) and traffic. Free with g_free. */
char *tn_shard_plan_to_json (const TnShardPlan *self);
/** A row a rank, to the byte. Free with g_free. */
char *tn_shard_plan_ranks_csv (const TnShardPlan *self);
