/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/truth.h"
#include "tensor/tensor.h"

/* A truth case made into a graph with its gradients, ready to run. */
typedef struct
{
  TruthCase c;
  GPtrArray *inputs;         /* TnTensor: one a graph input: the case's inputs, then the gradients that enter */
  GPtrArray *want;           /* TnTensor: one a graph output: the case's outputs, then its grad_inputs */
  GPtrArray *names;          /* char *: of the same: "output 0", "gradient of x" */
  int n_outputs;             /* the rest of @want are gradients */
  int *seed_of;              /* output -> index of its entering gradient in @inputs, or -1 */
  gboolean gradcheck;        /* finite differences agree with these gradients */
} TruthRun;

/** TRUE if @json has the form of an operator's case. */
gboolean truth_is_case (JsonNode *node);

typedef enum
{
  TRUTH_READY,
  TRUTH_NO_OPERATOR, /* no mapping, or it declined */
  TRUTH_BROKEN       /* the graph could not be built: *message */
} TruthState;

/** @run is to be cleared with truth_run_clear() whatever comes back. */
TruthState truth_run_init (TruthRun *run, JsonObject *json, TnDType dtype, char **message);
void truth_run_clear (TruthRun *run);

/** Runs the graph on @inputs (as many as run->inputs): new tensors, freed with the array; NULL with *message. */
GPtrArray *truth_run_compute (TruthRun *run, GPtrArray *inputs, char **message);

/** The group of a case: the part of its id before the slash. Free with g_free. */
char *truth_group (const char *id);
