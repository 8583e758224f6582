/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "shard-layout.h"
#include "shard-view.h"

#define TN_TYPE_SHARD_TENSORS (tn_shard_tensors_get_type ())
G_DECLARE_FINAL_TYPE (TnShardTensors, tn_shard_tensors, TN, SHARD_TENSORS, TnShardView)

/** The editor of the chosen parameter's layout. */
TnShardLayout *tn_shard_tensors_editor (TnShardTensors *self);
