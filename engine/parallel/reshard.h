/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "formats/strategy-file.h"
#include "parallel/layout.h"

/* Checkpoints for other ranks: slices are cut from the pieces that overlap them, whatever the two strategies are.
 *
 * The source is a checkpoint folder (its manifest says which box of a tensor lies where), one safetensors or .ckpt file of
 * whole tensors, or a folder of ranks (rank_0, rank_1 ... with one or more of these files; the last by name counts) with the
 * strategy that it was cut by. Files are read and written piece by piece: at no time is more in memory than one slice and one piece. */

/**
 * tn_reshard_needed: the ranks of @from whose slices rank @rank of @to is made from.
 *
 * Of copies the one is taken that lies like @rank itself (the same place along the axes that hold copies), as
 * MindSpore's rank_list_for_transform does. Its list can be longer: its operators gather whole groups and cut then
 * (tn_redistribution_operator_ranks() gives that one). Returns a GArray of int64, ascending. Errors of layouts.
 */
GArray *tn_reshard_needed (const TnLayout *from, const TnLayout *to, const TnShape *shape, int64_t rank, GError **error);

typedef struct
{
  int64_t tensors, slices, bytes; /* written */
  int64_t ranks;
  size_t peak_bytes;              /* most that was in memory at a time */
} TnReshardReport;

typedef enum
{
  TN_RESHARD_TENON,      /* a checkpoint folder with a manifest: each slice once, by the lowest rank of those that hold it */
  TN_RESHARD_CKPT,       /* rank_<n>/<prefix><n>.ckpt for every rank, as MindSpore loads them */
  TN_RESHARD_SAFETENSORS /* the same in safetensors */
} TnReshardFormat;

typedef struct
{
  const TnStrategyFile *from_strategy; /* (nullable): what a folder of ranks was cut by; whole tensors and manifests need none */
  const TnStrategyFile *strategy;      /* (nullable): layouts by parameter name; tensors that it does not name are not split */
  TnReshardFormat format;
  const char *prefix;                  /* (nullable): "" */
} TnReshardOptions;

/**
 * tn_reshard: writes checkpoint @to (a folder that does not exist, or is empty).
 *
 * The manifest comes last. Errors: TN_ERROR_EXISTS, TN_ERROR_FORMAT (a damaged source; pieces that leave a gap),
 * TN_ERROR_NOT_FOUND (a slice whose rank and copies are missing), those of layouts with the tensor's name.
 */
gboolean tn_reshard (const char *from, const TnReshardOptions *options, const char *to, TnReshardReport *report, GError **error);
