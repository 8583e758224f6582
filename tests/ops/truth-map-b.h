/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/truth.h"

/* What truth-map-b.c, -c.c and -d.c share: short ways to build pieces. */

/** A row without attributes; @b NULL: one input. */
TnValue *truth_apply (TnGraph *graph, const char *op, TnValue *a, TnValue *b);
TnValue *truth_times (TnGraph *graph, TnValue *a, double number);
TnValue *truth_reshape (TnGraph *graph, TnValue *x, TnShape shape);
TnValue *truth_expand (TnGraph *graph, TnValue *x, int axis);
TnValue *truth_fill (TnGraph *graph, TnDType dtype, TnShape shape, double value);
TnValue *truth_swap (TnGraph *graph, TnValue *x, gint64 a, gint64 b);
/** x Wᵀ + b over the last dimension; @bias may be NULL. */
TnValue *truth_linear (TnGraph *graph, TnValue *x, TnValue *weight, TnValue *bias);

/* Mappings of truth-map-c.c (norms, losses, index) and truth-map-d.c (attention, recurrent cells, resize); the table is in
 * truth-map-b.c. */
gboolean truth_build_batch_norm (TruthCase *c, TnGraph *graph);
gboolean truth_build_row_norm (TruthCase *c, TnGraph *graph);
gboolean truth_build_normalize (TruthCase *c, TnGraph *graph);
gboolean truth_build_lrn (TruthCase *c, TnGraph *graph);
gboolean truth_build_nll (TruthCase *c, TnGraph *graph);
gboolean truth_build_cross_entropy_prob (TruthCase *c, TnGraph *graph);
gboolean truth_build_sparse_cross_entropy (TruthCase *c, TnGraph *graph);
gboolean truth_build_segment_sum (TruthCase *c, TnGraph *graph);
gboolean truth_build_pair_loss (TruthCase *c, TnGraph *graph);
gboolean truth_build_cosine_similarity (TruthCase *c, TnGraph *graph);
gboolean truth_build_embedding (TruthCase *c, TnGraph *graph);
gboolean truth_build_embedding_bag (TruthCase *c, TnGraph *graph);
gboolean truth_build_gather (TruthCase *c, TnGraph *graph);
gboolean truth_build_scatter (TruthCase *c, TnGraph *graph);
gboolean truth_build_index_select (TruthCase *c, TnGraph *graph);
gboolean truth_build_masked_select (TruthCase *c, TnGraph *graph);
gboolean truth_build_one_hot (TruthCase *c, TnGraph *graph);
gboolean truth_build_sort (TruthCase *c, TnGraph *graph);
gboolean truth_build_arg (TruthCase *c, TnGraph *graph);
gboolean truth_build_attention (TruthCase *c, TnGraph *graph);
gboolean truth_build_multi_head_attention (TruthCase *c, TnGraph *graph);
gboolean truth_build_recurrent (TruthCase *c, TnGraph *graph);
gboolean truth_build_interpolate (TruthCase *c, TnGraph *graph);
