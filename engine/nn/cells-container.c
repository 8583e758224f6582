/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "base/error.h"
#include "nn/cell.h"

/* Cells made of cells, and cells that join branches. */

#define END { NULL }

/* Parameters inside are named under @name: "layer1.0." */
static gsize
enter (TnCellBuild *build, const char *name)
{
  gsize mark = build->prefix->len;
  g_string_append_printf (build->prefix, "%s.", name);
  return mark;
}

static const TnOption sequential_options[] = {
  { .name = "cells", .type = TN_OPTION_CELLS, .required = TRUE },
  END,
};

static TnValue *
build_sequential (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  gsize mark = enter (build, tn_cell_name (cell));
  TnValue *y = tn_cells_build (tn_cell_cells (cell, "cells"), build, inputs[0]);
  g_string_truncate (build->prefix, mark);
  return y;
}

static const TnOption residual_options[] = {
  { .name = "body", .type = TN_OPTION_CELLS, .required = TRUE },
  { .name = "shortcut", .type = TN_OPTION_CELLS },
  { .name = "activation", .type = TN_OPTION_TEXT },
  END,
};

/* The shortcut's parameters stand under "down_sample_layer", as in MindSpore's ResNet. */
static TnValue *
build_shortcut (TnCellBuild *build, const TnCell *cell, TnValue *x)
{
  GPtrArray *cells = tn_cell_cells (cell, "shortcut");
  if (cells == NULL)
    return x;
  gsize mark = enter (build, "down_sample_layer");
  tn_graph_push_scope (build->graph, "down_sample_layer-SequentialCell");
  TnValue *y = tn_cells_build (cells, build, x);
  tn_graph_pop_scope (build->graph);
  g_string_truncate (build->prefix, mark);
  return y;
}

/* activation (body (x) + shortcut (x)) */
static TnValue *
build_residual (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  gsize mark = enter (build, tn_cell_name (cell));
  TnValue *y = tn_cells_build (tn_cell_cells (cell, "body"), build, inputs[0]);
  TnValue *shortcut = build_shortcut (build, cell, inputs[0]);
  g_string_truncate (build->prefix, mark);
  if (y == NULL || shortcut == NULL)
    return NULL;
  if (!tn_shape_equal (&y->shape, &shortcut->shape))
    {
      g_autofree char *a = tn_shape_to_string (&y->shape), *b = tn_shape_to_string (&shortcut->shape);
      return tn_cell_fail (cell, build, "body", _ ("gives %s and the shortcut %s: they are added and must agree"), a, b);
    }
  y = tn_op (build->graph, "Add", TN_IN (y, shortcut), TN_NO_ATTRS);
  return tn_cell_activation (cell, build, "activation", y);
}

/* ---- joining branches ---- */

static const TnOption no_options[] = { END };
static const TnOption concat_options[] = {
  { .name = "axis", .type = TN_OPTION_INT, .number = 1, .min = -TN_MAX_DIMS, .max = TN_MAX_DIMS - 1 },
  END,
};

static TnValue *
build_fold (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  const char *op = tn_cell_class (cell)->name;
  TnValue *y = inputs[0];
  for (int i = 1; i < n_inputs; i++)
    y = tn_op (build->graph, op, TN_IN (y, inputs[i]), TN_NO_ATTRS);
  return y;
}

static TnValue *
build_concat (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  return tn_op (build->graph, "Concat", n_inputs, inputs, TN_ATTRS (tn_attr_int ("axis", tn_cell_int (cell, "axis"))));
}

static TnValue *
build_identity (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  return inputs[0];
}

const TnCellClass tn_cells_container[] = {
  { "SequentialCell", N_ ("cells one after the other"), 1, 1, sequential_options, build_sequential },
  { "Residual", N_ ("activation (body (x) + shortcut (x)); without shortcut x itself"), 1, 1, residual_options, build_residual },
  { "Add", N_ ("sum of its inputs"), 2, -1, no_options, build_fold },
  { "Sub", N_ ("first input minus the others"), 2, -1, no_options, build_fold },
  { "Mul", N_ ("product of its inputs"), 2, -1, no_options, build_fold },
  { "Concat", N_ ("its inputs side by side along axis"), 2, -1, concat_options, build_concat },
  { "Identity", N_ ("its input: a name for a branch"), 1, 1, no_options, build_identity },
  { NULL },
};
