/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"
#include "train/program-private.h"

/* TnReducer: one rank's share of a data-parallel step.
 *
 * Gradients lie one behind the other in a flat buffer, in the order in which the plan of a whole block makes them; a bucket is
 * a stretch of it. The cut is the same on every rank, whatever plan its rows need. */
typedef struct _TnReducer TnReducer;

/** @rows: of a whole block: its plan gives the order. @comm and @program are borrowed. */
TnReducer *tn_reducer_new (TnProgram *program, TnComm *comm, int n_blocks, int64_t rows, size_t bucket_bytes, GError **error);
void tn_reducer_free (TnReducer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnReducer, tn_reducer_free)

/** Rows [*from, *to) of a batch of @n are @rank's. */
void tn_reducer_rows (int n_blocks, int n_ranks, int rank, int64_t n, int64_t *from, int64_t *to);
/** The rows of block @block. */
void tn_reducer_block (int n_blocks, int block, int64_t n, int64_t *from, int64_t *to);

/** Forward, backward and everything up to the optimizer. @mine holds this rank's rows; @n of all. */
gboolean tn_reducer_step (TnReducer *self, const TnProgramBatch *mine, int64_t n, int64_t step, TnStepResult *result, GError **error);
gboolean tn_reducer_evaluate (TnReducer *self, const TnProgramBatch *mine, int64_t n, TnEvalResult *result, GError **error);

int tn_reducer_n_buckets (const TnReducer *self);
const TnCommSpan *tn_reducer_spans (const TnReducer *self); /* [n_buckets], of the last step */
void tn_reducer_ends (const TnReducer *self, gint64 *begun_ns, gint64 *backward_ns, gint64 *ended_ns);
