/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/eager.h"
#include "parallel/context.h"
#include "train/collectives.h"
#include "train/program-graph.h"
#include "train/program.h"
#include "train/ranks.h"

/* What program.c (compiling and steps), program-state.c and program-inspect.c share. */

/* A graph made ready for one batch size. */
typedef struct
{
  int64_t rows;
  gboolean training;
  TnGraph *whole;     /* where weights are split: what @built is one rank's part of */
  TnSharded *sharded; /* and how; a replica's is its origin's */
  gboolean borrowed;
  int64_t padded;     /* rows of @whole: evaluations are filled up to what all ranks can share */
  TnGraph *built; /* as the model made it: what PYNATIVE runs */
  TnPlan *plan;   /* of the graph that the passes made of it */
  void **state;   /* addresses by graph parameter */
  int n_inputs;
  int x, labels, lr, step; /* input places; -1: none */
  int loss, grad_norm, logits; /* output places of the plan; -1: none */
  gboolean classes; /* labels are classes and not target values */
} TnCompiled;

struct _TnProgram
{
  TnRanks *ranks;    /* what shares the steps with other ranks; NULL: this program takes them alone */
  TnProgram *origin; /* a replica of it in another thread; NULL */
  int n_joined;      /* ranks whose rows one graph takes together (batch norm over all of them); 0: each has a graph of its own */
  TnCollectives *collectives; /* what its nodes call; NULL without */
  TnParallelContext *context; /* how weights are split; NULL: every rank has all. A replica's is its origin's */
  gboolean is_recorded;       /* whether the mode is one of those that strategy metadata know */
  int place;                  /* of this rank in the mesh */
  char *parts[2];             /* the rank's part of x and of the labels, where it does not lie in one piece */
  size_t part_bytes[2];
  int64_t first_row;          /* of the batch, that this rank has */
  char *weights;              /* init.from, or NULL */
  int n_replicas;    /* programs of this process, this one included: for the forecast */
  TnProgramRecipe recipe;
  uint64_t seed;
  TnCpuTarget target;
  TnPool *pool;
  TnMode mode;
  GArray *state; /* TnStateEntry */
  GHashTable *state_by_name; /* name -> index + 1 */
  GPtrArray *compiled;
  char *memory; /* one arena for all plans, as large as the largest needs */
  size_t memory_bytes;
  TnMemoryForecast forecast;
  const TnSpanHook *hook;
  char *weights_report; /* of init.from; NULL: not set */

  /* the step at hand: between forward_backward and update */
  TnCompiled *current;
  const void *inputs[4];
  float lr;
  int64_t step_number; /* from 1, as optimizers count */
  TnEager *eager;
  TnEagerCache *eager_cache;
};

/** The graph and plan for @rows, made when first asked for. */
TnCompiled *tn_program_compiled (TnProgram *self, int64_t rows, gboolean training, GError **error);
gboolean tn_program_has_kernel (const TnNode *fused, gpointer target);
/** Another program with the same state, plans and settings and with memory and threads of its own, for another rank's thread.
 * @origin must live longer; while a replica looks for a plan it must not make one. */
TnProgram *tn_program_new_replica (TnProgram *origin, int place, GError **error);
/** Whether @batch has what the loss compares with. */
gboolean tn_program_check_batch (const TnCompiled *compiled, const TnProgramBatch *batch, GError **error);
/** What the public functions do where there is one rank. */
gboolean tn_program_forward_backward_alone (TnProgram *self, const TnProgramBatch *batch, int64_t step, TnStepResult *result, GError **error);
gboolean tn_program_update_alone (TnProgram *self, double lr, int64_t step, GError **error);
gboolean tn_program_evaluate_alone (TnProgram *self, const TnProgramBatch *batch, TnEvalResult *result, float *outputs, GError **error);
/** Makes and initialises what the graph's parameters need and is not there yet: of what is split, this rank's slice. */
gboolean tn_program_add_state (TnProgram *self, const TnCompiled *compiled, GError **error);
/** Frees what a TnStateEntry holds. */
void tn_program_clear_state_entry (gpointer entry);
TnPlanRun tn_program_run (TnProgram *self, const TnCompiled *compiled, int64_t step, int64_t first_sample);
void tn_program_set_inputs (TnProgram *self, const TnCompiled *compiled, const TnProgramBatch *batch);
/** @copy_state: work on copies, so that nothing of the program changes. */
TnEager *tn_program_new_eager (TnProgram *self, const TnCompiled *compiled, gboolean copy_state, int64_t step, int64_t first_sample);

/* program-split.c: weights split over ranks. */

/** Makes @compiled's graphs. */
gboolean tn_program_split_graph (TnProgram *self, TnCompiled *compiled, GError **error);
/** Whether the plan wants the state's slices as they are; makes room for the rank's part of the batch. */
gboolean tn_program_check_split (TnProgram *self, const TnCompiled *compiled, GError **error);
void tn_program_set_split_inputs (TnProgram *self, const TnCompiled *compiled, const TnProgramBatch *batch);
/** Runs the plan of an evaluation; what it makes stays in the rank's memory. */
gboolean tn_program_run_evaluation (TnProgram *self, const TnProgramBatch *batch, GError **error);
/** On rank 0, after all ranks have run: the sums and (nullable) @outputs. */
gboolean tn_program_collect_evaluation (TnProgram *self, const TnProgramBatch *batch, TnEvalResult *result, float *outputs, GError **error);
/** Output @name of the plan that all ranks ran last, put together. */
TnTensor *tn_program_gather_output (TnProgram *self, const TnCompiled *compiled, const char *name, GError **error);
/** Where each rank has statistics of its own rows: their mean, on all. */
gboolean tn_program_join_statistics (TnProgram *self, TnComm *comm, GError **error);
int64_t tn_program_count_correct (const float *logits, int64_t width, const int32_t *labels, int64_t n);
/** A graph output of that name in the run's memory; NULL if there is none. */
const void *tn_program_output (const TnCompiled *compiled, const TnPlanRun *run, const char *name);
