/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/plan.h"

/* What plan-build.c, plan-schedule.c, plan-memory.c and plan-run.c share: steps over buffers while a plan is made, calls
 * over addresses once it is. */

typedef enum
{
  TN_HOME_ARENA,
  TN_HOME_SLICE, /* the worker's slice buffer */
  TN_HOME_STATE,
  TN_HOME_INPUT,
  TN_HOME_CONSTANT
} TnHome;

/* A value in one layout. */
typedef struct
{
  const TnValue *value;
  TnCpuLayout layout;
  size_t bytes, slice_bytes;
  TnHome home;
  int index;            /* STATE, INPUT */
  const void *constant; /* CONSTANT */
  int parent;           /* buffer whose memory it is (views, in place, effects); -1: its own */
  int producer;         /* step; -1: leaf */
  gboolean sums;        /* one copy a chunk */
  gboolean output;      /* of the graph: stays until the end */
  gboolean local;       /* only one region uses it */
  size_t offset;        /* of the value, or of chunk 0 */
  size_t chunk_offset;  /* of chunks 1.. */
} TnBuffer;

/* One thing to do: a node's kernel, or a conversion of a value's layout. */
typedef struct
{
  const TnNode *node;
  const TnCpuKernel *kernel; /* NULL: plain */
  gboolean conversion;
  TnCpuLayout from, to;
  void *data;
  size_t scratch;
  int n_in, n_out;
  int *in, *out; /* buffers */
  gboolean sliced;
  int64_t rows;
  int stage; /* 1: optimizer */
  int wave;
  int position; /* in the order of running */
} TnStep;

typedef struct
{
  TnHome home;
  int index;
  size_t offset;       /* bytes: in the arena, in the slice buffer */
  size_t slice_bytes;  /* added a slice; 0: not cut */
  gboolean chunked;    /* a sum in several chunks, the first at offset */
  size_t chunk_offset; /* where chunk 1 lies */
  size_t bytes;        /* of one chunk */
  const void *constant;
} TnArg;

typedef struct
{
  TnPlanCall about;
  const TnNode *node;
  void *data;
  int n_in, n_out, n_tasks;
  TnArg *in, *out;
  size_t elements_row; /* of output 0, a row (ROW) or a slice (other layouts) */
  size_t elements;     /* of output 0, all */
  gboolean collective; /* needs the other ranks */
  gboolean combine;    /* adds the chunks of in[0] in a fixed tree */
  int n_chunks;
} TnCall;

typedef struct
{
  gboolean region;
  gboolean has_collectives;
  int first_call, n_calls;
  int64_t rows, n_slices;
  int n_chunks;
  int64_t n_tasks; /* of a wave of whole calls: over all of them */
  int64_t *task_end; /* [n_calls] running sum */
} TnWave;

struct _TnPlan
{
  gatomicrefcount ref_count;
  TnGraph *graph;
  TnCpuTarget target;
  TnArena *arena;
  GArray *buffers; /* TnBuffer */
  GArray *steps;   /* TnStep */
  GArray *waves;   /* TnWave */
  GArray *calls;   /* TnCall */
  int *first;      /* node id -> first flat output index */
  int n_values;
  int *buffer_of;  /* [n_values][TN_LAYOUT_COUNT] -> buffer or -1 */
  TnCpuLayout *native; /* [n_values] layout that a value was made in */
  int optimizer_wave;
  size_t arena_bytes, slice_bytes, scratch_bytes;
};

/* Functions and not macros: an argument may be a call that grows the array. */
static inline TnBuffer *
tn_plan_buffer (const TnPlan *plan, int i)
{
  return &g_array_index (plan->buffers, TnBuffer, i);
}

static inline TnStep *
tn_plan_step (const TnPlan *plan, int i)
{
  return &g_array_index (plan->steps, TnStep, i);
}

static inline TnWave *
tn_plan_wave (const TnPlan *plan, int i)
{
  return &g_array_index (plan->waves, TnWave, i);
}

int tn_plan_root (const TnPlan *plan, int buffer);
int tn_plan_n_chunks (int64_t rows);
void tn_plan_schedule (TnPlan *plan); /* sets wave and position of every step, makes the waves */
void tn_plan_place (TnPlan *plan);    /* sets in-place parents and offsets of every buffer */
void tn_plan_emit (TnPlan *plan);     /* makes the calls */
