/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* Cases computed by hand for rows that no truth case reaches, or for values that none has: vectors in, vectors out. */
#define SMALL_MAX 4

typedef struct
{
  const char *op; /* row; NULL ends the table */
  int n_inputs, n; /* each input has n elements */
  TnDType dtypes[3];
  double inputs[3][SMALL_MAX];
  TnAttr attrs[3]; /* end with a NULL name */
  TnDType out_dtype;
  int n_out; /* 0: a scalar */
  double want[SMALL_MAX];
  double tolerance;
  gboolean smooth; /* the gradient exists here and is compared with finite differences */
} SmallCase;

extern const SmallCase small_cases[];

/** Rows (name patterns) whose tests stand elsewhere. */
typedef struct
{
  const char *op, *where;
} RowTestedElsewhere;
extern const RowTestedElsewhere rows_tested_elsewhere[];

/** FALSE with *message (free with g_free) where the first output is not as wanted. */
gboolean small_case_run (const SmallCase *c, char **message);
/** FALSE with *message where the gradient rule and central differences disagree. */
gboolean small_case_gradient (const SmallCase *c, char **message);
