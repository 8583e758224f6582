/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/settings.h"
#include "device/cpu/plan.h"
#include "ir/graph.h"
#include "nn/model.h"
#include "optim/optimizer.h"
#include "parallel/layout.h"

/* TnProgram: a model, a loss and an optimizer made into something that takes steps.
 *
 * It holds the model's state (parameters, statistics, optimizer state) and the plans that work on it: one for training at
 * each batch size that comes up, one for evaluation, compiled when first needed and kept. Which mode runs (GRAPH: the
 * plan; PYNATIVE: operator by operator) can be changed between steps. A program belongs to one thread at a time; it uses
 * the pool's threads inside a call.
 *
 * A step has two stages, so that whoever drives it can look before the weights change:
 *
 *   TnStepResult result;
 *   tn_program_forward_backward (program, &batch, step, &result, &error);   // loss, gradients, their norm
 *   if (isfinite (result.loss) && isfinite (result.grad_norm))
 *     tn_program_update (program, lr, step, &error);
 */
typedef struct _TnProgram TnProgram;

typedef enum
{
  TN_MODE_GRAPH,
  TN_MODE_PYNATIVE
} TnMode;

/* One batch. Rows are samples; memory belongs to the caller and is only read. */
typedef struct
{
  int64_t n;              /* rows */
  const float *x;         /* [n] of the model's input shape, row-major */
  const int32_t *labels;  /* [n], classes; or NULL */
  const float *targets;   /* [n][outputs] for mse, l1, bce; or NULL */
  int64_t first_sample;   /* global index of row 0 in this step: keys the random operators */
} TnProgramBatch;

typedef struct
{
  double loss;      /* mean over the batch */
  double grad_norm; /* global 2-norm of all trained gradients, before clipping; NaN or infinite where any gradient is */
} TnStepResult;

typedef struct
{
  double loss_sum;  /* over the rows */
  int64_t correct;  /* rows whose largest logit is the label; 0 without labels */
  int64_t n;
} TnEvalResult;

/* One tensor of the state. */
typedef struct
{
  const char *name;
  TnParameterRole role;
  gboolean frozen;
  TnTensor *tensor; /* contiguous; owned by the program: all of it, or the rank's slice */
  TnShape shape;    /* of the whole */
  TnBox box;        /* what of it @tensor is */
  gboolean copy;    /* a rank before this one has the same slice */
} TnStateEntry;

/* Bytes by kind, forecast before anything is allocated. */
typedef struct
{
  size_t parameters, gradients, optimizer, activations, buffers, total;
} TnMemoryForecast;

/**
 * tn_program_new: builds and checks the graph and forecasts memory for @batch_size; allocates the state and initialises
 * it from @seed (settings train.seed) unless init.from says otherwise. Uses settings train.loss, train.batch,
 * train.freeze, train.clip_norm, optimizer.*, device.*. Errors name the cell, the shapes and the rule; a forecast above
 * what the machine allows is TN_ERROR_MEMORY and says which batch would fit.
 */
TnProgram *tn_program_new (TnModel *model, TnSettings *settings, GError **error);
/* What a program would take, without making one. */
typedef struct
{
  TnMemoryForecast forecast;
  size_t allowed;        /* bytes that it may take */
  int64_t largest_batch; /* where train.batch does not fit: one that does, or 0; else train.batch itself */
} TnProgramMeasure;

/** Builds and checks the graph and its plan for train.batch and forecasts memory; allocates no state. @beside: bytes that
 * something else, the data, will take of what is allowed. Errors as tn_program_new(), but that
 * too much memory is an answer and no error. */
gboolean tn_program_measure (TnModel *model, TnSettings *settings, size_t beside, TnProgramMeasure *out, GError **error);
void tn_program_free (TnProgram *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnProgram, tn_program_free)

void tn_program_forecast (const TnProgram *self, TnMemoryForecast *forecast);
/** The same, but with the ranks that parallel.mode, parallel.ranks and parallel.same_bits ask for (ranks.h): every rank takes its
 * rows of a batch, and gradients, loss and running statistics are brought together before the update. */
TnProgram *tn_program_new_ranks (TnModel *model, TnSettings *settings, GError **error);
/** The state was written to from outside: brings every rank to it. Nothing to do for one rank. */
gboolean tn_program_state_changed (TnProgram *self, GError **error);

/** In a process that is not rank 0 (tn_ranks_process): takes part in rank 0's steps until it ends. */
gboolean tn_program_serve (TnProgram *self, GError **error);

/** Compiles the plans for @batch rows now, so that no step has to. */
gboolean tn_program_prepare (TnProgram *self, int64_t batch, GError **error);

gboolean tn_program_forward_backward (TnProgram *self, const TnProgramBatch *batch, int64_t step, TnStepResult *result, GError **error);
/** Applies the gradients of the last forward_backward; @step counts from 0. */
gboolean tn_program_update (TnProgram *self, double lr, int64_t step, GError **error);
/** Forward in evaluation mode. @outputs: (nullable): [n][outputs] logits. */
gboolean tn_program_evaluate (TnProgram *self, const TnProgramBatch *batch, TnEvalResult *result, float *outputs, GError **error);

int tn_program_n_state (const TnProgram *self);
const TnStateEntry *tn_program_state (const TnProgram *self, int i);
const TnStateEntry *tn_program_find_state (const TnProgram *self, const char *name);
/** Whether weights are split over ranks: then tn_program_state() is what rank 0 has. */
gboolean tn_program_is_split (const TnProgram *self);
/** What all ranks of this process hold, one rank after the other; where weights are not split, the state of the one that stands for
 * all. @rank: (out) (optional): the mesh's number of the rank. Between steps. */
int tn_program_n_slices (const TnProgram *self);
const TnStateEntry *tn_program_slice (const TnProgram *self, int i, int *rank);
/** One tensor of the state, put together from its slices: a new tensor, or NULL with an error. */
TnTensor *tn_program_gather_state (TnProgram *self, const char *name, GError **error);
/** Writes what each rank has into strategy/rank_N.json of @folder; nothing where weights are not split. */
gboolean tn_program_save_strategy (TnProgram *self, const char *folder, GError **error);
/** The gradient of a trained parameter after forward_backward (a new tensor, copied), or NULL with an error. */
TnTensor *tn_program_gradient (TnProgram *self, const char *parameter, GError **error);
/** 2-norm of all trained parameters. */
double tn_program_parameter_norm (const TnProgram *self);
/** Runs the last batch again operator by operator and describes the first value that is not finite: "gradient of conv2.weight
 * (...), where 3 of 2400 numbers are not finite", "output of ..."; where only the norm of the gradients is too large for its type, the
 * gradient with the largest number. NULL: all are finite. Free with g_free. */
char *tn_program_find_nonfinite (TnProgram *self, const TnProgramBatch *batch, int64_t step);
/** The first tensor of the state with a number that is not finite, in the same form; NULL: all are finite. Free with g_free. */
char *tn_program_find_nonfinite_state (const TnProgram *self);

void tn_program_set_mode (TnProgram *self, TnMode mode);
TnMode tn_program_mode (const TnProgram *self);
int64_t tn_program_n_outputs (const TnProgram *self); /* width of the model's output row */
int64_t tn_program_n_parameters (const TnProgram *self); /* trained and frozen elements, statistics not counted */
double tn_program_flops (const TnProgram *self, int64_t batch); /* dense and convolution products of one training step */
/** The compiled training graph of @batch rows (forward, backward, optimizer), as passes left it; and as built. */
TnGraph *tn_program_graph (TnProgram *self, int64_t batch, gboolean optimized, GError **error);
/** The training graph of @batch rows as files of @folder (ir/graph-dump.h): stage "bootstrap" as it was built, then one stage a pass. */
gboolean tn_program_save_graphs (TnProgram *self, int64_t batch, const char *folder, GError **error);
/** The plan of a training step (borrowed), and a hook around each of its calls (NULL: off; see plan.h). */
TnPlan *tn_program_plan (TnProgram *self, int64_t batch, GError **error);
/** The plan that this rank runs at a full batch (borrowed): of train.batch, or of one of the blocks that ranks cut it into. */
TnPlan *tn_program_step_plan (const TnProgram *self);
void tn_program_set_span_hook (TnProgram *self, const TnSpanHook *hook);
/** "isa=avx2 onednn=2.7.3": what bits depend on, for run.json. */
char *tn_program_build_facts (const TnProgram *self);
int tn_program_n_threads (const TnProgram *self);
/** Weights by name from a safetensors file; what did and did not match is listed in @report (g_free). */
gboolean tn_program_load_weights (TnProgram *self, const char *path, char **report, GError **error);
/** What init.from brought and what it did not, one line a tensor; NULL where the setting is not used. */
const char *tn_program_weights_report (const TnProgram *self);
