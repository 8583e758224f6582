/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Which random numbers a node draws. Every kernel of a random operator, plain or fast, takes key and first element from
 * here, so that they agree, and so that a rank or a slice of the batch draws the numbers of its own rows.
 *
 * Key: (seed of the run, scope of the node, ordinal inside the scope). Counter: (step, element). The ordinal is attribute
 * "ordinal", or, where that was not given, the number in the node's name ("Dropout-op2"); passes that rename or copy nodes
 * set the attribute (tn_random_ordinal() says to what). Different operators of one scope have ordinals in ranges of their
 * own.
 */
uint64_t tn_random_key (const TnNode *node, uint64_t seed);
int tn_random_ordinal (const TnNode *node);

/** Global index of the first element of the node's output. Attribute "rows_per_sample" says how many rows of dimension 0
 * belong to one sample (1: a batch; T: a batch flattened with T tokens each; 0: no batch dimension, every rank draws the
 * same). */
uint64_t tn_random_first (const TnKernelContext *context, const TnShape *shape);
