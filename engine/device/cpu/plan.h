/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/kernels.h"

/* TnPlan: a graph made into a flat list of kernel calls over planned memory.
 *
 * Made once from a graph and never changed; holds offsets, not addresses, so any number of runs with their own memory can
 * share it. Calls stand in waves: all calls of a wave are independent of each other and run in one go of the pool. A wave
 * is either a region (sliced calls: each worker takes 16-row slices of the batch through all calls of the region) or a
 * set of whole calls cut into tasks.
 *
 * Values that only one region uses lie in a slice buffer that each worker has; the others in the arena. Sums over the
 * batch inside a region are kept by chunk (a fixed cut of the batch) and added in a fixed tree afterwards. Nothing depends
 * on the number of threads. A run allocates nothing.
 *
 * The waves before the first one of phase optimizer are stage 0, the rest stage 1. */
typedef struct _TnPlan TnPlan;
typedef struct _TnPlanRun TnPlanRun;

typedef struct
{
  const TnNode *node; /* of the planned graph; a conversion has the node whose value it converts */
  const TnCpuKernel *kernel; /* NULL: the operator's plain kernel */
  int wave;
  gboolean conversion;
  TnCpuLayout from, to; /* of a conversion */
  TnCpuLayout layout;   /* of output 0 */
} TnPlanCall;

TnPlan *tn_plan_new (TnGraph *graph, const TnCpuTarget *target, GError **error);
TnPlan *tn_plan_ref (TnPlan *self);
void tn_plan_unref (TnPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnPlan, tn_plan_unref)

TnGraph *tn_plan_graph (const TnPlan *self);
int tn_plan_n_calls (const TnPlan *self);
TnPlanCall tn_plan_call (const TnPlan *self, int i);
int tn_plan_n_waves (const TnPlan *self);
int tn_plan_optimizer_wave (const TnPlan *self); /* first wave of stage 1; n_waves if there is none */
/** Bytes that a run with @n_workers needs: arena, slice buffers, scratch. */
size_t tn_plan_bytes (const TnPlan *self, int n_workers);
size_t tn_plan_arena_bytes (const TnPlan *self);
/** One line a wave: kind, calls, kernels, bytes. For `graph --format plan` and for people. */
char *tn_plan_describe (const TnPlan *self);

/* Surrounds every call: begin and end run on the worker's thread, so they must be thread safe and quick. With no hook
 * set, a call costs one load and branch more. */
typedef struct
{
  void (*begin) (void *data, const TnPlan *plan, int call, int64_t slice, int worker);
  void (*end) (void *data, const TnPlan *plan, int call, int64_t slice, int worker, const TnCpuCall *values);
  void *data;
} TnSpanHook;

/* One run of a plan: addresses. Bound once and used at every step. */
struct _TnPlanRun
{
  TnPool *pool;
  char *memory;          /* tn_plan_bytes() bytes, 64-byte aligned; contents need not be kept between runs */
  const void **inputs;   /* one a graph input */
  void **state;          /* one a graph parameter */
  uint64_t seed, step;
  int64_t first_sample;
  const TnSpanHook *hook; /* NULL: off */
  /* Runs a node that needs the other ranks (ops/collective.h): on the thread that runs the plan, one after the other, in the same
   * order on every rank. NULL: such a node is an error. */
  gboolean (*collective) (void *data, const TnNode *node, void *const *in, void *const *out, GError **error);
  void *collective_data;
};

/** Runs the waves [@from, @to). Errors come from operators that check values (an index out of range). */
gboolean tn_plan_run (const TnPlan *self, const TnPlanRun *run, int from, int to, GError **error);
/** The first wave at which graph output @i is complete. */
int tn_plan_output_wave (const TnPlan *self, int i);
/** Where graph output @i lies in the run's memory after its wave, row-major. */
const void *tn_plan_output (const TnPlan *self, const TnPlanRun *run, int i);
