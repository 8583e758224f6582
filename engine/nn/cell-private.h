/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "nn/cell.h"

/* How a cell is held: shared by cell.c and cell-options.c. */

typedef struct
{
  gboolean given;
  double number;
  char *text;
  int64_t ints[TN_MAX_DIMS];
  int n_ints;
  GPtrArray *cells;
} TnOptionValue;

struct _TnCell
{
  const TnCellClass *klass;
  char *name, *path;
  char **inputs; /* NULL: the cell before */
  int n_options;
  TnOptionValue *values; /* in the order of the class's options */
};
