/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/kernels.h"
#include "tensor/tensor.h"

/* TnEager: PYNATIVE mode. Runs the nodes of a graph one at a time, as soon as they are asked for, with the kernels that a
 * plan would take for them; so the two give the same bits. The graph is the tape: whoever builds it may look at values
 * between two operators and decide what comes next, and gradients are nodes that are added behind.
 *
 *   g_autoptr (TnEager) eager = tn_eager_new (graph, &target, pool, cache);
 *   tn_eager_bind (eager, x, batch);
 *   TnValue *y = tn_op (graph, "MatMul", TN_IN (x, w), TN_NO_ATTRS);
 *   if (tn_tensor_get (tn_eager_value (eager, y, &error), 0) > 0) ...      // ran just now
 *
 * Used by one thread; kernels may use the pool. */
typedef struct _TnEager TnEager;
typedef struct _TnEagerCache TnEagerCache;

/* Kernels made ready for one operator, shapes and attributes, kept from step to step. */
TnEagerCache *tn_eager_cache_new (void);
void tn_eager_cache_free (TnEagerCache *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnEagerCache, tn_eager_cache_free)

TnEager *tn_eager_new (TnGraph *graph, const TnCpuTarget *target, TnPool *pool, TnEagerCache *cache);
void tn_eager_free (TnEager *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnEager, tn_eager_free)

/** Gives a graph input or parameter its tensor (contiguous, of its dtype and shape); parameters are written in place. */
void tn_eager_bind (TnEager *self, const TnValue *leaf, TnTensor *tensor);
void tn_eager_set_random (TnEager *self, uint64_t seed, uint64_t step, int64_t first_sample);

/** Called before each node, and with @node NULL after the last that is there: FALSE stops here (the run returns TRUE and
 * can be gone on with), so a breakpoint can stand between any two operators. */
typedef gboolean (*TnEagerBreak) (const TnNode *node, gpointer data);
void tn_eager_set_breakpoint (TnEager *self, TnEagerBreak func, gpointer data);

/** Runs every node that has not run. */
gboolean tn_eager_run (TnEager *self, GError **error);
/** Id of the next node to run: n_nodes when all have. */
int tn_eager_position (const TnEager *self);
/** The value, after running what has not run up to its node; owned by @self. */
TnTensor *tn_eager_value (TnEager *self, const TnValue *value, GError **error);
