/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "nn/cell.h"

/* Normalisation. BatchNorm's momentum is the share that the running statistics keep, as in MindSpore (0.9 is PyTorch's 0.1). */

#define END { NULL }

static const TnOption batch_norm_options[] = {
  { .name = "num_features", .type = TN_OPTION_INT, .min = 1, .max = G_MAXINT32 },
  { .name = "eps", .type = TN_OPTION_FLOAT, .number = 1e-5, .min = 0, .max = 1e6 },
  { .name = "momentum", .type = TN_OPTION_FLOAT, .number = 0.9, .min = 0, .max = 1 },
  { .name = "affine", .type = TN_OPTION_BOOL, .number = TRUE },
  { .name = "gamma_init", .type = TN_OPTION_INIT, .text = "ones" },
  { .name = "beta_init", .type = TN_OPTION_INIT, .text = "zeros" },
  { .name = "moving_mean_init", .type = TN_OPTION_INIT, .text = "zeros" },
  { .name = "moving_var_init", .type = TN_OPTION_INIT, .text = "ones" },
  { .name = "use_batch_statistics", .type = TN_OPTION_BOOL },
  END,
};

static gboolean
check_batch_norm_input (TnCellBuild *build, const TnCell *cell, const TnValue *x)
{
  int want = strcmp (tn_cell_class (cell)->name, "BatchNorm1d") == 0 ? 2 : 4;
  g_autofree char *text = tn_shape_to_string (&x->shape);
  if (x->shape.n_dims != want)
    tn_cell_fail (cell, build, NULL, _ ("%s needs an input of %d dimensions, not %s"), tn_cell_class (cell)->name, want, text);
  else if (tn_cell_has (cell, "num_features") && tn_cell_int (cell, "num_features") != x->shape.dims[1])
    tn_cell_fail (cell, build, "num_features", _ ("%" PRId64 " does not fit the input %s"), tn_cell_int (cell, "num_features"), text);
  return !tn_graph_failed (build->graph);
}

/* gamma and beta of a norm without affine are there and stay 1 and 0. */
static TnValue *
affine_parameter (TnCellBuild *build, const TnCell *cell, const char *name, TnShape shape, TnDType dtype, const char *init)
{
  TnParameterRole role = tn_cell_bool (cell, "affine") ? TN_ROLE_TRAINED : TN_ROLE_STATISTIC;
  return tn_cell_parameter (cell, build, name, shape, dtype, role, init);
}

static TnValue *
build_batch_norm (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  TnValue *x = inputs[0];
  if (!check_batch_norm_input (build, cell, x))
    return NULL;
  TnShape shape = TN_SHAPE (x->shape.dims[1]);
  TnValue *mean = tn_cell_parameter (cell, build, "moving_mean", shape, x->dtype, TN_ROLE_STATISTIC, tn_cell_text (cell, "moving_mean_init"));
  TnValue *variance = tn_cell_parameter (cell, build, "moving_variance", shape, x->dtype, TN_ROLE_STATISTIC, tn_cell_text (cell, "moving_var_init"));
  TnValue *gamma = affine_parameter (build, cell, "gamma", shape, x->dtype, tn_cell_text (cell, "gamma_init"));
  TnValue *beta = affine_parameter (build, cell, "beta", shape, x->dtype, tn_cell_text (cell, "beta_init"));
  gboolean batch = tn_cell_has (cell, "use_batch_statistics") ? tn_cell_bool (cell, "use_batch_statistics") : build->training;
  return tn_op (build->graph, "BatchNorm", TN_IN (x, gamma, beta, mean, variance),
                TN_ATTRS (tn_attr_bool ("is_training", batch), tn_attr_float ("epsilon", tn_cell_float (cell, "eps")),
                          tn_attr_float ("momentum", tn_cell_float (cell, "momentum"))));
}

static const TnOption layer_norm_options[] = {
  { .name = "normalized_shape", .type = TN_OPTION_INTS, .min = 1, .max = G_MAXINT32 },
  { .name = "begin_norm_axis", .type = TN_OPTION_INT, .number = -1, .min = -TN_MAX_DIMS, .max = TN_MAX_DIMS },
  { .name = "begin_params_axis", .type = TN_OPTION_INT, .number = -1, .min = -TN_MAX_DIMS, .max = TN_MAX_DIMS },
  { .name = "gamma_init", .type = TN_OPTION_INIT, .text = "ones" },
  { .name = "beta_init", .type = TN_OPTION_INIT, .text = "zeros" },
  { .name = "epsilon", .type = TN_OPTION_FLOAT, .number = 1e-7, .min = 0, .max = 1e6 },
  END,
};

static TnValue *
build_layer_norm (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  TnValue *x = inputs[0];
  gint64 norm_axis = tn_cell_int (cell, "begin_norm_axis"), params_axis = tn_cell_int (cell, "begin_params_axis");
  gint64 from = params_axis < 0 ? params_axis + x->shape.n_dims : params_axis;
  if (from < 0 || from >= x->shape.n_dims)
    return tn_cell_fail (cell, build, "begin_params_axis", _ ("%" PRId64 " is not a dimension of the input"), params_axis);
  TnShape shape = tn_shape_make (x->shape.n_dims - (int) from, x->shape.dims + from);
  if (tn_cell_has (cell, "normalized_shape"))
    {
      const int64_t *dims;
      int n = tn_cell_ints (cell, "normalized_shape", &dims);
      TnShape want = tn_shape_make (n, dims);
      g_autofree char *text = tn_shape_to_string (&x->shape);
      if (!tn_shape_equal (&want, &shape))
        return tn_cell_fail (cell, build, "normalized_shape", _ ("must be the input's dimensions from begin_params_axis on; the input is %s"), text);
    }
  TnValue *gamma = tn_cell_parameter (cell, build, "gamma", shape, x->dtype, TN_ROLE_TRAINED, tn_cell_text (cell, "gamma_init"));
  TnValue *beta = tn_cell_parameter (cell, build, "beta", shape, x->dtype, TN_ROLE_TRAINED, tn_cell_text (cell, "beta_init"));
  return tn_op (build->graph, "LayerNorm", TN_IN (x, gamma, beta),
                TN_ATTRS (tn_attr_int ("begin_norm_axis", norm_axis), tn_attr_int ("begin_params_axis", params_axis),
                          tn_attr_float ("epsilon", tn_cell_float (cell, "epsilon"))));
}

const TnCellClass tn_cells_norm[] = {
  { "BatchNorm1d", N_ ("(x - mean) / √(variance + eps) gamma + beta, over the batch"), 1, 1, batch_norm_options, build_batch_norm },
  { "BatchNorm2d", N_ ("the same over batch, height and width"), 1, 1, batch_norm_options, build_batch_norm },
  { "LayerNorm", N_ ("(x - mean) / √(variance + epsilon) gamma + beta, over the dimensions from begin_norm_axis on"), 1, 1, layer_norm_options, build_layer_norm },
  { NULL },
};
