/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "nn/cell.h"

/* Convolution and pooling over [N][C][H][W]. */

#define END { NULL }
#define MAX_WINDOW 32768

static const TnOption conv_options[] = {
  { .name = "in_channels", .type = TN_OPTION_INT, .min = 1, .max = G_MAXINT32 },
  { .name = "out_channels", .type = TN_OPTION_INT, .required = TRUE, .min = 1, .max = G_MAXINT32 },
  { .name = "kernel", .type = TN_OPTION_INTS, .required = TRUE, .min = 1, .max = MAX_WINDOW, .count = 2 },
  { .name = "stride", .type = TN_OPTION_INTS, .number = 1, .min = 1, .max = MAX_WINDOW, .count = 2 },
  { .name = "pad_mode", .type = TN_OPTION_CHOICE, .choices = "same|valid|pad" },
  { .name = "padding", .type = TN_OPTION_INTS, .number = 0, .min = 0, .max = MAX_WINDOW, .count = 4 },
  { .name = "dilation", .type = TN_OPTION_INTS, .number = 1, .min = 1, .max = MAX_WINDOW, .count = 2 },
  { .name = "group", .type = TN_OPTION_INT, .number = 1, .min = 1, .max = G_MAXINT32 },
  { .name = "has_bias", .type = TN_OPTION_BOOL },
  { .name = "weight_init", .type = TN_OPTION_INIT },
  { .name = "bias_init", .type = TN_OPTION_INIT },
  END,
};

static gboolean
check_image (TnCellBuild *build, const TnCell *cell, const TnValue *x)
{
  if (x->shape.n_dims == 4)
    return TRUE;
  g_autofree char *text = tn_shape_to_string (&x->shape);
  tn_cell_fail (cell, build, NULL, _ ("%s needs an input of 4 dimensions (batch, channels, height, width), not %s"),
                tn_cell_class (cell)->name, text);
  return FALSE;
}

static gboolean
check_padding (TnCellBuild *build, const TnCell *cell, const int64_t *padding, int n)
{
  gboolean any = FALSE;
  for (int i = 0; i < n; i++)
    any |= padding[i] != 0;
  if (!any || strcmp (tn_cell_text (cell, "pad_mode"), "pad") == 0)
    return TRUE;
  tn_cell_fail (cell, build, "padding", _ ("must be 0 unless pad_mode is “pad”; it is “%s”"), tn_cell_text (cell, "pad_mode"));
  return FALSE;
}

static gboolean
check_channels (TnCellBuild *build, const TnCell *cell, int64_t in, int64_t out, int64_t group)
{
  if (tn_cell_has (cell, "in_channels") && tn_cell_int (cell, "in_channels") != in)
    tn_cell_fail (cell, build, "in_channels", _ ("%" PRId64 " does not fit the input, which has %" PRId64 " channels"),
                  tn_cell_int (cell, "in_channels"), (gint64) in);
  else if (in % group != 0 || out % group != 0)
    tn_cell_fail (cell, build, "group", _ ("%" PRId64 " must divide in_channels (%" PRId64 ") and out_channels (%" PRId64 ")"),
                  (gint64) group, (gint64) in, (gint64) out);
  return !tn_graph_failed (build->graph);
}

static TnValue *
build_conv2d (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  TnValue *x = inputs[0];
  const int64_t *kernel, *stride, *padding, *dilation;
  tn_cell_ints (cell, "kernel", &kernel);
  tn_cell_ints (cell, "stride", &stride);
  tn_cell_ints (cell, "padding", &padding);
  tn_cell_ints (cell, "dilation", &dilation);
  int64_t out = tn_cell_int (cell, "out_channels"), group = tn_cell_int (cell, "group");
  if (!check_image (build, cell, x) || !check_padding (build, cell, padding, 4)
      || !check_channels (build, cell, x->shape.dims[1], out, group))
    return NULL;
  int64_t in = x->shape.dims[1] / group;
  TnValue *weight = tn_cell_parameter (cell, build, "weight", TN_SHAPE (out, in, kernel[0], kernel[1]), x->dtype, TN_ROLE_TRAINED,
                                       tn_cell_weight_init (cell, build, "weight_init"));
  TnValue *y = tn_op (build->graph, "Conv2D", TN_IN (x, weight),
                      TN_ATTRS (tn_attr_ints ("stride", 2, stride), tn_attr_string ("pad_mode", tn_cell_text (cell, "pad_mode")),
                                tn_attr_ints ("pad", 4, padding), tn_attr_ints ("dilation", 2, dilation), tn_attr_int ("group", group)));
  if (!tn_cell_bool (cell, "has_bias"))
    return y;
  double fan_in = (double) in * (double) kernel[0] * (double) kernel[1];
  TnValue *bias = tn_cell_parameter (cell, build, "bias", TN_SHAPE (out), x->dtype, TN_ROLE_TRAINED,
                                     tn_cell_bias_init (cell, build, "bias_init", fan_in));
  return tn_op (build->graph, "BiasAdd", TN_IN (y, bias), TN_NO_ATTRS);
}

/* ---- pools ---- */

#define POOL_OPTIONS                                                                                                            \
  { .name = "kernel", .type = TN_OPTION_INTS, .number = 1, .min = 1, .max = MAX_WINDOW, .count = 2 },                           \
  { .name = "stride", .type = TN_OPTION_INTS, .number = 1, .min = 1, .max = MAX_WINDOW, .count = 2 },                           \
  { .name = "pad_mode", .type = TN_OPTION_CHOICE, .choices = "valid|same|pad" },                                                \
  { .name = "padding", .type = TN_OPTION_INTS, .number = 0, .min = 0, .max = MAX_WINDOW, .count = 2 },                          \
  { .name = "ceil_mode", .type = TN_OPTION_BOOL }

static const TnOption max_pool_options[] = {
  POOL_OPTIONS,
  { .name = "dilation", .type = TN_OPTION_INTS, .number = 1, .min = 1, .max = MAX_WINDOW, .count = 2 },
  END,
};
static const TnOption avg_pool_options[] = {
  POOL_OPTIONS,
  { .name = "count_include_pad", .type = TN_OPTION_BOOL, .number = TRUE },
  END,
};

static TnValue *
build_pool (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  const int64_t *kernel, *stride, *padding, *dilation;
  gboolean max = strcmp (tn_cell_class (cell)->name, "MaxPool2d") == 0;
  tn_cell_ints (cell, "kernel", &kernel);
  tn_cell_ints (cell, "stride", &stride);
  tn_cell_ints (cell, "padding", &padding);
  if (!check_image (build, cell, inputs[0]) || !check_padding (build, cell, padding, 2))
    return NULL;
  TnAttr attrs[8] = {
    tn_attr_ints ("kernel_size", 2, kernel),
    tn_attr_ints ("strides", 2, stride),
    tn_attr_string ("pad_mode", tn_cell_text (cell, "pad_mode")),
    tn_attr_ints ("pad", 4, (int64_t[]){ padding[0], padding[0], padding[1], padding[1] }),
    tn_attr_bool ("ceil_mode", tn_cell_bool (cell, "ceil_mode")),
  };
  if (max)
    {
      tn_cell_ints (cell, "dilation", &dilation);
      attrs[5] = tn_attr_ints ("dilation", 2, dilation);
    }
  else
    attrs[5] = tn_attr_bool ("count_include_pad", tn_cell_bool (cell, "count_include_pad"));
  return tn_op (build->graph, max ? "MaxPool" : "AvgPool", TN_IN (inputs[0]), 6, attrs);
}

static const TnOption adaptive_options[] = {
  { .name = "output_size", .type = TN_OPTION_INTS, .required = TRUE, .min = 1, .max = MAX_WINDOW, .count = 2 },
  END,
};

static TnValue *
build_adaptive_pool (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  const int64_t *size;
  tn_cell_ints (cell, "output_size", &size);
  if (!check_image (build, cell, inputs[0]))
    return NULL;
  gboolean max = strcmp (tn_cell_class (cell)->name, "AdaptiveMaxPool2d") == 0;
  return tn_op (build->graph, max ? "AdaptiveMaxPool2D" : "AdaptiveAvgPool2D", TN_IN (inputs[0]),
                TN_ATTRS (tn_attr_ints ("output_size", 2, size)));
}

static const TnOption global_options[] = {
  { .name = "keep_dims", .type = TN_OPTION_BOOL },
  END,
};

/* Mean over height and width: [N][C], or [N][C][1][1]. */
static TnValue *
build_global_pool (TnCellBuild *build, const TnCell *cell, int n_inputs, TnValue **inputs)
{
  if (!check_image (build, cell, inputs[0]))
    return NULL;
  return tn_op (build->graph, "ReduceMean", TN_IN (inputs[0]),
                TN_ATTRS (tn_attr_ints ("axis", 2, (int64_t[]){ 2, 3 }), tn_attr_bool ("keep_dims", tn_cell_bool (cell, "keep_dims"))));
}

const TnCellClass tn_cells_conv[] = {
  { "Conv2d", N_ ("2-D convolution (cross-correlation); padding is top, bottom, left, right"), 1, 1, conv_options, build_conv2d },
  { "MaxPool2d", N_ ("largest element of a window"), 1, 1, max_pool_options, build_pool },
  { "AvgPool2d", N_ ("mean of a window"), 1, 1, avg_pool_options, build_pool },
  { "AdaptiveAvgPool2d", N_ ("means of windows that give output_size"), 1, 1, adaptive_options, build_adaptive_pool },
  { "AdaptiveMaxPool2d", N_ ("largest elements of windows that give output_size"), 1, 1, adaptive_options, build_adaptive_pool },
  { "GlobalAvgPool", N_ ("mean over height and width"), 1, 1, global_options, build_global_pool },
  { NULL },
};
