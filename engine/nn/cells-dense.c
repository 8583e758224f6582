/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include "base/error.h"
#include "nn/cell.h"

/* Dense, Embedding, Dropout, and cells that only change the shape. */

#define END { NULL }

/* ---- Dense ---- */

static const TnOption dense_options[] = {
  { .name = "in_channels", .type = TN_OPTION_INT, .min = 1, .max = G_MAXINT32 },
  { .name = "out_channels", .type = TN_OPTION_INT, .required = TRUE, .min = 1, .max = G_MAXINT32 },
  { .name = "weight_init", .type = TN_OPTION_INIT },
  { .name = "bias_init", .type = TN_OPTION_INIT },
  { .name = "has_bias", .type = TN_OPTION_BOOL, .number = TRUE },
  { .name = "activation", .type = TN_OPTION_TEXT },
  END,
};

static TnValue *
reshape (TnGraph *graph, TnValue *x, TnShape shape)
{
  return tn_op (graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", shape.n_dims, shape.dims)));
}

/* y = x Wᵀ + b over the last dimension; more than two dimensions are folded into one and restored. */
static TnValue *
build_dense (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  TnGraph *graph = build->graph;
  TnValue *x = inputs[0];
  TnShape shape = x->shape;
  if (shape.n_dims < 1)
    return tn_cell_fail (cell, build, NULL, _ ("Dense needs an input of at least one dimension"));
  int64_t in = shape.dims[shape.n_dims - 1], out = tn_cell_int (cell, "out_channels");
  if (tn_cell_has (cell, "in_channels") && tn_cell_int (cell, "in_channels") != in)
    {
      g_autofree char *text = tn_shape_to_string (&shape);
      return tn_cell_fail (cell, build, "in_channels", _ ("%" PRId64 " does not fit the input %s, whose last dimension is %" PRId64),
                           tn_cell_int (cell, "in_channels"), text, (gint64) in);
    }
  TnValue *weight = tn_cell_parameter (cell, build, "weight", TN_SHAPE (out, in), x->dtype, TN_ROLE_TRAINED,
                                       tn_cell_weight_init (cell, build, "weight_init"));
  if (shape.n_dims != 2)
    x = reshape (graph, x, TN_SHAPE (tn_shape_span (&shape, 0, shape.n_dims - 1), in));
  TnValue *y = tn_op (graph, "MatMul", TN_IN (x, weight), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
  if (tn_cell_bool (cell, "has_bias"))
    {
      TnValue *bias = tn_cell_parameter (cell, build, "bias", TN_SHAPE (out), inputs[0]->dtype, TN_ROLE_TRAINED,
                                         tn_cell_bias_init (cell, build, "bias_init", (double) in));
      y = tn_op (graph, "BiasAdd", TN_IN (y, bias), TN_NO_ATTRS);
    }
  shape.dims[shape.n_dims - 1] = out;
  if (shape.n_dims != 2)
    y = reshape (graph, y, shape);
  return tn_cell_activation (cell, build, "activation", y);
}

/* ---- Embedding ---- */

static const TnOption embedding_options[] = {
  { .name = "vocab_size", .type = TN_OPTION_INT, .required = TRUE, .min = 1, .max = G_MAXINT32 },
  { .name = "embedding_size", .type = TN_OPTION_INT, .required = TRUE, .min = 1, .max = G_MAXINT32 },
  { .name = "embedding_table", .type = TN_OPTION_INIT, .text = "normal(0.01)" },
  END,
};

/* Rows of the table; its dtype is float32, as the input is integers. */
static TnValue *
build_embedding (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  TnShape shape = TN_SHAPE (tn_cell_int (cell, "vocab_size"), tn_cell_int (cell, "embedding_size"));
  TnValue *table = tn_cell_parameter (cell, build, "embedding_table", shape, TN_DTYPE_F32, TN_ROLE_TRAINED,
                                      tn_cell_text (cell, "embedding_table"));
  return tn_op (build->graph, "Gather", TN_IN (table, inputs[0]), TN_ATTRS (tn_attr_int ("axis", 0)));
}

/* ---- Dropout ---- */

static const TnOption dropout_options[] = {
  { .name = "p", .type = TN_OPTION_FLOAT, .number = 0.5, .min = 0, .max = 1 },
  { .name = "keep_prob", .type = TN_OPTION_FLOAT, .number = 0.5, .min = 0, .max = 1 },
  END,
};

/* @p is the probability to drop (MindSpore 2), keep_prob its older form; p wins where both stand. */
static TnValue *
build_dropout (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  gboolean old = tn_cell_has (cell, "keep_prob") && !tn_cell_has (cell, "p");
  double keep = old ? tn_cell_float (cell, "keep_prob") : 1 - tn_cell_float (cell, "p");
  if (keep <= 0)
    return tn_cell_fail (cell, build, old ? "keep_prob" : "p", _ ("nothing would be kept: p must be below 1, keep_prob above 0"));
  if (!build->training || keep == 1)
    return inputs[0];
  return tn_op (build->graph, "Dropout", TN_IN (inputs[0]), TN_ATTRS (tn_attr_float ("keep_prob", keep)));
}

/* ---- shapes ---- */

static const TnOption flatten_options[] = {
  { .name = "start_dim", .type = TN_OPTION_INT, .number = 1, .min = -TN_MAX_DIMS, .max = TN_MAX_DIMS },
  { .name = "end_dim", .type = TN_OPTION_INT, .number = -1, .min = -TN_MAX_DIMS, .max = TN_MAX_DIMS },
  END,
};

static TnValue *
build_flatten (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  return tn_op (build->graph, "Flatten", TN_IN (inputs[0]),
                TN_ATTRS (tn_attr_int ("start_dim", tn_cell_int (cell, "start_dim")), tn_attr_int ("end_dim", tn_cell_int (cell, "end_dim"))));
}

static const TnOption reshape_options[] = {
  { .name = "shape", .type = TN_OPTION_INTS, .required = TRUE, .min = -1, .max = G_MAXINT32 },
  END,
};

/* The batch stays in front; "shape" is that of a sample. */
static TnValue *
build_reshape (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  const int64_t *dims;
  int n = tn_cell_ints (cell, "shape", &dims);
  TnShape shape = { .n_dims = n + 1 };
  if (n + 1 > TN_MAX_DIMS || inputs[0]->shape.n_dims < 1)
    return tn_cell_fail (cell, build, "shape", _ ("a tensor has at most %d dimensions, the batch included"), TN_MAX_DIMS);
  shape.dims[0] = inputs[0]->shape.dims[0];
  for (int d = 0; d < n; d++)
    shape.dims[d + 1] = dims[d];
  return reshape (build->graph, inputs[0], shape);
}

static const TnOption transpose_options[] = {
  { .name = "perm", .type = TN_OPTION_INTS, .required = TRUE, .min = 0, .max = TN_MAX_DIMS - 1 },
  END,
};

static TnValue *
build_transpose (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  const int64_t *perm;
  int n = tn_cell_ints (cell, "perm", &perm);
  return tn_op (build->graph, "Transpose", TN_IN (inputs[0]), TN_ATTRS (tn_attr_ints ("perm", n, perm)));
}

const TnCellClass tn_cells_dense[] = {
  { "Dense", N_ ("y = x Wᵀ + b over the last dimension"), 1, 1, dense_options, build_dense },
  { "Embedding", N_ ("rows of a table, by index"), 1, 1, embedding_options, build_embedding },
  { "Dropout", N_ ("drops elements with probability p while training and scales the others by 1 / (1 - p)"), 1, 1, dropout_options, build_dropout },
  { "Flatten", N_ ("joins dimensions start_dim to end_dim"), 1, 1, flatten_options, build_flatten },
  { "Reshape", N_ ("gives each sample another shape"), 1, 1, reshape_options, build_reshape },
  { "Transpose", N_ ("reorders dimensions, the batch being dimension 0"), 1, 1, transpose_options, build_transpose },
  { NULL },
};
