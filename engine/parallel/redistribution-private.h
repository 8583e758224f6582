/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "parallel/redistribution.h"

/* What the parts of redistribution share. */
void tn_redistribution_add (TnRedistribution *self, TnMoveKind kind, int stage, int axis, int dim, int concat_dim);
void tn_redistribution_add_greedy (TnRedistribution *self, int stage, const int8_t *in, const int8_t *out, gboolean all_to_all);
/** Puts a list that receives fewer elements in the place of the one that stands there, if there is one. One stage only. */
void tn_redistribution_cheapen (TnRedistribution *self, uint32_t partial);

/** Elements that a rank with @x of them receives among @n. */
static inline double
tn_move_elements (TnMoveKind kind, double x, double n)
{
  switch (kind)
    {
    case TN_MOVE_ALL_GATHER: return x * (n - 1);
    case TN_MOVE_ALL_TO_ALL:
    case TN_MOVE_REDUCE_SCATTER: return x * (n - 1) / n;
    case TN_MOVE_ALL_REDUCE: return 2 * x * (n - 1) / n;
    default: return 0;
    }
}
