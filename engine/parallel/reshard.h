/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "formats/strategy-file.h"
#include "parallel/layout.h"

/* Checkpoints for other ranks: slices are cut from the pieces that overlap them, whatever the two strategies are.
 *
 * The source is a checkpoint folder (its manifest says which box of a tensor lies where), or one safetensors file of whole
 * tensors. Files are read and written piece by piece: at no time is more in memory than one slice and one piece. */

/**
 * tn_reshard_needed: the ranks of @from whose slices rank @rank of @to is made from.
 *
 * Of copies the one is taken that lies like @rank itself (the same place along the axes that hold copies), as
 * MindSpore's rank_list_for_transform does. Returns a GArray of int64, ascending. Errors of layouts.
 */
GArray *tn_reshard_needed (const TnLayout *from, const TnLayout *to, const TnShape *shape, int64_t rank, GError **error);

typedef struct
{
  int64_t tensors, slices, bytes; /* written */
  int64_t ranks;
  size_t peak_bytes;              /* most that was in memory at a time */
} TnReshardReport;

/**
 * tn_reshard: writes checkpoint @to (a folder that does not exist, or is empty).
 * @strategy: (nullable): layouts by parameter name; tensors that it does not name are not split; NULL: nothing is
 *
 * Each slice is written once, by the lowest rank of those that hold it. The manifest comes last. Errors: TN_ERROR_EXISTS,
 * TN_ERROR_FORMAT (a damaged source; pieces that leave a gap), those of layouts with the tensor's name.
 */
gboolean tn_reshard (const char *from, const TnStrategyFile *strategy, const char *to, TnReshardReport *report, GError **error);
