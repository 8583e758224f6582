/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/truth.h"
#include "ops/truth-map-b.h"
#include <math.h>
#include <string.h>

/* torch's shape, matrix, convolution and pooling operators in terms of our rows; attention, recurrent
 * cells and resizing are in truth-map-d.c, norms, losses and index in truth-map-c.c. */

/* ---- helpers ---- */

TnValue *
truth_apply (TnGraph *graph, const char *op, TnValue *a, TnValue *b)
{
  return b == NULL ? tn_op (graph, op, TN_IN (a), TN_NO_ATTRS) : tn_op (graph, op, TN_IN (a, b), TN_NO_ATTRS);
}

TnValue *
truth_times (TnGraph *graph, TnValue *a, double number)
{
  return number == 1 ? a : truth_apply (graph, "Mul", a, tn_graph_add_scalar (graph, a->dtype, number));
}

TnValue *
truth_reshape (TnGraph *graph, TnValue *x, TnShape shape)
{
  return tn_op (graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", shape.n_dims, shape.dims)));
}

TnValue *
truth_expand (TnGraph *graph, TnValue *x, int axis)
{
  return tn_op (graph, "ExpandDims", TN_IN (x), TN_ATTRS (tn_attr_int ("axis", axis)));
}

TnValue *
truth_fill (TnGraph *graph, TnDType dtype, TnShape shape, double value)
{
  return tn_op (graph, "Fill", 0, NULL,
                TN_ATTRS (tn_attr_ints ("shape", shape.n_dims, shape.dims), tn_attr_float ("value", value),
                          tn_attr_dtype ("dtype", dtype)));
}

TnValue *
truth_swap (TnGraph *graph, TnValue *x, gint64 a, gint64 b)
{
  int64_t perm[TN_MAX_DIMS];
  int n = x->shape.n_dims;
  for (int d = 0; d < n; d++)
    perm[d] = d;
  a += a < 0 ? n : 0;
  b += b < 0 ? n : 0;
  perm[a] = b;
  perm[b] = a;
  return tn_op (graph, "Transpose", TN_IN (x), TN_ATTRS (tn_attr_ints ("perm", n, perm)));
}

/* x Wᵀ + b over the last dimension. */
TnValue *
truth_linear (TnGraph *graph, TnValue *x, TnValue *weight, TnValue *bias)
{
  TnShape shape = x->shape;
  int last = shape.n_dims - 1;
  TnValue *y = truth_reshape (graph, x, TN_SHAPE (tn_shape_span (&shape, 0, last), shape.dims[last]));
  y = tn_op (graph, "MatMul", TN_IN (y, weight), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
  if (bias != NULL)
    y = truth_apply (graph, "BiasAdd", y, bias);
  shape.dims[last] = weight->shape.dims[0];
  return truth_reshape (graph, y, shape);
}

/* One number stands for all @n. FALSE if the attribute is missing. */
static gboolean
numbers (TruthCase *c, const char *name, int n, gint64 missing, int64_t *values)
{
  int given = truth_ints (c, name, values);
  for (int i = given; i < n; i++)
    values[i] = given > 0 ? values[0] : missing;
  return given > 0;
}

/* ---- shape ---- */

static gboolean
build_reshape (TruthCase *c, TnGraph *graph)
{
  int64_t shape[TRUTH_MAX_INTS];
  TnValue *x = truth_input (c, "x");
  if (strstr (c->note, "transposed (0,2)") != NULL)
    x = truth_swap (graph, x, 0, 2);
  truth_output (c, truth_reshape (graph, x, tn_shape_make (truth_ints (c, "shape", shape), shape)));
  return TRUE;
}

static gboolean
build_transpose (TruthCase *c, TnGraph *graph)
{
  truth_output (c, truth_swap (graph, truth_input (c, "x"), truth_int (c, "dim0", 0), truth_int (c, "dim1", 1)));
  return TRUE;
}

/* Operators that only rename a list of numbers. */
static gboolean
build_listed (TruthCase *c, TnGraph *graph)
{
  static const char *const names[][4] = {
    { "permute", "dims", "Transpose", "perm" },
    { "expand", "shape", "BroadcastTo", "shape" },
    { "repeat", "repeats", "Tile", "multiples" },
    { "flip", "dims", "ReverseV2", "axis" },
  };
  int64_t values[TRUTH_MAX_INTS];
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (c->op, names[i][0]) == 0)
      truth_output (c, tn_op (graph, names[i][2], TN_IN (truth_input (c, "x")),
                              TN_ATTRS (tn_attr_ints (names[i][3], truth_ints (c, names[i][1], values), values))));
  return TRUE;
}

static gboolean
build_repeat_interleave (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x");
  if (!truth_has (c, "dim"))
    x = truth_reshape (graph, x, TN_SHAPE (-1));
  truth_output (c, tn_op (graph, "RepeatElements", TN_IN (x),
                          TN_ATTRS (tn_attr_int ("repeats", truth_int (c, "repeats", 1)),
                                    tn_attr_int ("axis", truth_int (c, "dim", 0)))));
  return TRUE;
}

static gboolean
build_roll (TruthCase *c, TnGraph *graph)
{
  int64_t shifts[TRUTH_MAX_INTS], dims[TRUTH_MAX_INTS];
  TnValue *x = truth_input (c, "x");
  int n = truth_ints (c, "shifts", shifts);
  if (!truth_has (c, "dims"))
    {
      TnValue *flat = truth_reshape (graph, x, TN_SHAPE (-1));
      flat = tn_op (graph, "Roll", TN_IN (flat),
                    TN_ATTRS (tn_attr_ints ("shift", n, shifts), tn_attr_ints ("axis", 1, (int64_t[]){ 0 })));
      truth_output (c, truth_reshape (graph, flat, x->shape));
      return TRUE;
    }
  truth_output (c, tn_op (graph, "Roll", TN_IN (x),
                          TN_ATTRS (tn_attr_ints ("shift", n, shifts),
                                    tn_attr_ints ("axis", truth_ints (c, "dims", dims), dims))));
  return TRUE;
}

static gboolean
build_slice (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x");
  int64_t begin[TN_MAX_DIMS] = { 0 }, end[TN_MAX_DIMS], strides[TN_MAX_DIMS];
  int n = x->shape.n_dims;
  gint64 dim = truth_int (c, "dim", 0);
  for (int d = 0; d < n; d++)
    {
      end[d] = G_MAXINT64;
      strides[d] = 1;
    }
  dim += dim < 0 ? n : 0;
  begin[dim] = truth_int (c, "start", 0);
  end[dim] = truth_int (c, "end", G_MAXINT64);
  strides[dim] = truth_int (c, "step", 1);
  truth_output (c, tn_op (graph, "StridedSlice", TN_IN (x),
                          TN_ATTRS (tn_attr_ints ("begin", n, begin), tn_attr_ints ("end", n, end),
                                    tn_attr_ints ("strides", n, strides))));
  return TRUE;
}

static void
outputs_of (TruthCase *c, TnValue *first)
{
  for (int i = 0; first != NULL && i < first->node->n_outputs; i++)
    truth_output (c, tn_value_sibling (first, i));
}

/* chunk: pieces of ceil (n / chunks), the last ones shorter, empty ones left out. */
static gboolean
build_split (TruthCase *c, TnGraph *graph)
{
  int64_t sizes[TRUTH_MAX_INTS];
  TnValue *x = truth_input (c, "x");
  gint64 dim = truth_int (c, "dim", 0), size = x->shape.dims[dim < 0 ? dim + x->shape.n_dims : dim];
  int n = truth_ints (c, "sizes", sizes);
  if (n < 2)
    {
      gint64 piece = n == 1 ? sizes[0] : (size + truth_int (c, "chunks", 1) - 1) / truth_int (c, "chunks", 1);
      for (n = 0; size > 0 && n < TRUTH_MAX_INTS; size -= sizes[n++])
        sizes[n] = MIN (piece, size);
    }
  outputs_of (
      c, tn_op (graph, "Split", TN_IN (x), TN_ATTRS (tn_attr_int ("axis", dim), tn_attr_ints ("sizes", n, sizes))));
  return TRUE;
}

static gboolean
build_unbind (TruthCase *c, TnGraph *graph)
{
  outputs_of (c, tn_op (graph, "Unstack", TN_IN (truth_input (c, "x")),
                        TN_ATTRS (tn_attr_int ("axis", truth_int (c, "dim", 0)))));
  return TRUE;
}

/* torch leaves dimensions of other sizes alone. */
static gboolean
build_squeeze (TruthCase *c, TnGraph *graph)
{
  int64_t dims[TRUTH_MAX_INTS], ones[TRUTH_MAX_INTS];
  TnValue *x = truth_input (c, "x");
  int n = truth_ints (c, "dim", dims), n_ones = 0;
  for (int i = 0; i < n; i++)
    if (x->shape.dims[dims[i] < 0 ? dims[i] + x->shape.n_dims : dims[i]] == 1)
      ones[n_ones++] = dims[i];
  truth_output (c, tn_op (graph, "Squeeze", TN_IN (x), truth_has (c, "dim") ? 1 : 0,
                          (TnAttr[]){ tn_attr_ints ("axis", n_ones, ones) }));
  return TRUE;
}

/* Operators with whole numbers under the same names on both sides, but for an axis. */
static gboolean
build_numbered (TruthCase *c, TnGraph *graph)
{
  static const struct
  {
    const char *torch, *op;
    struct
    {
      const char *torch, *attr;
      gint64 missing;
    } attrs[3];
  } rows[] = {
    { "unsqueeze", "ExpandDims", { { "dim", "axis", 0 } } },
    { "flatten", "Flatten", { { "start_dim", "start_dim", 0 }, { "end_dim", "end_dim", -1 } } },
    { "tril", "Tril", { { "diagonal", "diagonal", 0 } } },
    { "triu", "Triu", { { "diagonal", "diagonal", 0 } } },
    { "diagonal", "Diagonal", { { "offset", "offset", 0 }, { "dim1", "dim1", 0 }, { "dim2", "dim2", 1 } } },
    { "pixel_shuffle", "PixelShuffle", { { "upscale_factor", "upscale_factor", 1 } } },
    { "pixel_unshuffle", "PixelUnshuffle", { { "downscale_factor", "downscale_factor", 1 } } },
    { "softmax", "Softmax", { { "dim", "axis", -1 } } },
    { "log_softmax", "LogSoftmax", { { "dim", "axis", -1 } } },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (c->op, rows[i].torch) == 0)
      {
        TnAttr attrs[3];
        int n = 0;
        for (; n < 3 && rows[i].attrs[n].attr != NULL; n++)
          attrs[n] =
              tn_attr_int (rows[i].attrs[n].attr, truth_int (c, rows[i].attrs[n].torch, rows[i].attrs[n].missing));
        truth_output (c, tn_op (graph, rows[i].op, TN_IN (truth_input (c, "x")), n, attrs));
      }
  return TRUE;
}

/* torch lists the last dimension first. */
static gboolean
build_pad (TruthCase *c, TnGraph *graph)
{
  int64_t pad[TRUTH_MAX_INTS], paddings[2 * TN_MAX_DIMS] = { 0 };
  TnValue *x = truth_input (c, "x");
  int n = truth_ints (c, "pad", pad), dims = x->shape.n_dims;
  for (int i = 0; i < n; i++)
    paddings[2 * (dims - 1 - i / 2) + i % 2] = pad[i];
  truth_output (c, tn_op (graph, "Pad", TN_IN (x),
                          TN_ATTRS (tn_attr_ints ("paddings", 2 * dims, paddings),
                                    tn_attr_string ("mode", truth_string (c, "mode", "constant")),
                                    tn_attr_float ("value", truth_float (c, "value", 0)))));
  return TRUE;
}

static gboolean
build_join (TruthCase *c, TnGraph *graph)
{
  TnValue *parts[TRUTH_MAX_INTS];
  int n = truth_n_inputs (c);
  for (int i = 0; i < n; i++)
    parts[i] = truth_input_at (c, i);
  truth_output (c, tn_op (graph, strcmp (c->op, "stack") == 0 ? "Stack" : "Concat", n, parts,
                          TN_ATTRS (tn_attr_int ("axis", truth_int (c, "dim", 0)))));
  return TRUE;
}

/* ---- matmul ---- */

static TnValue *
product (TnGraph *graph, TnValue *a, TnValue *b)
{
  gboolean vector_a = a->shape.n_dims == 1, vector_b = b->shape.n_dims == 1;
  a = vector_a ? truth_expand (graph, a, 0) : a;
  b = vector_b ? truth_expand (graph, b, 1) : b;
  TnValue *y = truth_apply (graph, a->shape.n_dims == 2 && b->shape.n_dims == 2 ? "MatMul" : "BatchMatMul", a, b);
  int64_t axes[2];
  int n = 0;
  if (vector_a)
    axes[n++] = -2;
  if (vector_b)
    axes[n++] = -1;
  return n == 0 ? y : tn_op (graph, "Squeeze", TN_IN (y), TN_ATTRS (tn_attr_ints ("axis", n, axes)));
}

static gboolean
build_matmul (TruthCase *c, TnGraph *graph)
{
  truth_output (c, product (graph, truth_input (c, "a"), truth_input (c, "b")));
  return TRUE;
}

static gboolean
build_linear (TruthCase *c, TnGraph *graph)
{
  truth_output (c, truth_linear (graph, truth_input (c, "x"), truth_input (c, "weight"), truth_input (c, "bias")));
  return TRUE;
}

static gboolean
build_bilinear (TruthCase *c, TnGraph *graph)
{
  TnValue *y = tn_op (graph, "Einsum", TN_IN (truth_input (c, "a"), truth_input (c, "weight"), truth_input (c, "b")),
                      TN_ATTRS (tn_attr_string ("equation", "...i,oij,...j->...o")));
  truth_output (c, truth_input (c, "bias") != NULL ? truth_apply (graph, "Add", y, truth_input (c, "bias")) : y);
  return TRUE;
}

static gboolean
build_addmm (TruthCase *c, TnGraph *graph)
{
  TnValue *y =
      truth_times (graph, product (graph, truth_input (c, "a"), truth_input (c, "b")), truth_float (c, "alpha", 1));
  truth_output (c,
                truth_apply (graph, "Add", truth_times (graph, truth_input (c, "c"), truth_float (c, "beta", 1)), y));
  return TRUE;
}

static gboolean
build_einsum (TruthCase *c, TnGraph *graph)
{
  TnValue *parts[TRUTH_MAX_INTS];
  int n = truth_n_inputs (c);
  for (int i = 0; i < n; i++)
    parts[i] = truth_input_at (c, i);
  truth_output (
      c, tn_op (graph, "Einsum", n, parts, TN_ATTRS (tn_attr_string ("equation", truth_string (c, "equation", "")))));
  return TRUE;
}

/* ---- windows: torch's one-dimensional operators run on height 1 ---- */

typedef struct
{
  int n; /* spatial axes of the case */
  TnAttr attrs[8];
  int n_attrs;
  int64_t kernel[4], stride[4], pad[8], dilation[4];
} Window;

/* Puts the numbers of @n axes behind a first one of @first where n is 1. */
static int
widen (int n, int per_axis, int64_t first, int64_t *values)
{
  if (n > 1)
    return n * per_axis;
  memmove (values + per_axis, values, sizeof (int64_t) * (size_t) per_axis);
  for (int i = 0; i < per_axis; i++)
    values[i] = first;
  return 2 * per_axis;
}

static void
read_window (TruthCase *c, Window *w, const char *stride_name, gboolean stride_is_kernel, gboolean kernel_attr)
{
  const char *padding = truth_string (c, "padding", NULL);
  int64_t pad[TRUTH_MAX_INTS], values[TRUTH_MAX_INTS];
  if (!numbers (c, "stride", w->n, 1, values) && stride_is_kernel)
    memcpy (values, w->kernel, sizeof w->kernel);
  memcpy (w->stride, values, sizeof (int64_t) * (size_t) w->n);
  numbers (c, "dilation", w->n, 1, values);
  memcpy (w->dilation, values, sizeof (int64_t) * (size_t) w->n);
  numbers (c, "padding", w->n, 0, pad);
  for (int i = 0; i < w->n; i++)
    {
      int64_t same = w->dilation[i] * (w->kernel[i] - 1);
      w->pad[2 * i] = padding == NULL ? pad[i] : strcmp (padding, "same") == 0 ? same / 2 : 0;
      w->pad[2 * i + 1] = padding == NULL ? pad[i] : strcmp (padding, "same") == 0 ? same - same / 2 : 0;
    }
  w->attrs[w->n_attrs++] = tn_attr_string ("pad_mode", "pad");
  w->attrs[w->n_attrs++] = tn_attr_ints (stride_name, widen (w->n, 1, 1, w->stride), w->stride);
  w->attrs[w->n_attrs++] = tn_attr_ints ("dilation", widen (w->n, 1, 1, w->dilation), w->dilation);
  w->attrs[w->n_attrs++] = tn_attr_ints ("pad", widen (w->n, 2, 0, w->pad), w->pad);
  if (kernel_attr)
    w->attrs[w->n_attrs++] = tn_attr_ints ("kernel_size", widen (w->n, 1, 1, w->kernel), w->kernel);
}

static TnValue *
add_height (TnGraph *graph, const Window *w, TnValue *x)
{
  return w->n == 1 ? truth_expand (graph, x, 2) : x;
}

static TnValue *
drop_height (TnGraph *graph, const Window *w, TnValue *y)
{
  return w->n == 1 ? tn_op (graph, "Squeeze", TN_IN (y), TN_ATTRS (tn_attr_ints ("axis", 1, (int64_t[]){ 2 }))) : y;
}

static gboolean
build_conv (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x"), *weight = truth_input (c, "weight");
  gboolean transposed = g_str_has_prefix (c->op, "conv_transpose");
  int64_t extra[TRUTH_MAX_INTS];
  Window w = { .n = x->shape.n_dims - 2 };
  memcpy (w.kernel, weight->shape.dims + 2, sizeof (int64_t) * (size_t) w.n);
  read_window (c, &w, "stride", FALSE, FALSE);
  gint64 groups = truth_int (c, "groups", 1);
  w.attrs[w.n_attrs++] = tn_attr_int ("group", groups);
  x = add_height (graph, &w, x);
  weight = add_height (graph, &w, weight);
  int axes = MAX (w.n, 2);
  TnShape size = { .n_dims = axes + 2, .dims = { x->shape.dims[0], weight->shape.dims[1] * groups } };
  numbers (c, "output_padding", w.n, 0, extra);
  widen (w.n, 1, 0, extra);
  for (int i = 0; i < axes; i++)
    size.dims[2 + i] = (x->shape.dims[2 + i] - 1) * w.stride[i] - w.pad[2 * i] - w.pad[2 * i + 1]
                       + w.dilation[i] * (weight->shape.dims[2 + i] - 1) + extra[i] + 1;
  if (transposed)
    w.attrs[w.n_attrs++] = tn_attr_ints ("input_size", size.n_dims, size.dims);
  g_autofree char *op = g_strdup_printf ("Conv%dD%s", axes, transposed ? "BackpropInput" : "");
  TnValue *y = tn_op (graph, op, TN_IN (x, weight), w.n_attrs, w.attrs);
  if (truth_input (c, "bias") != NULL)
    y = truth_apply (graph, "BiasAdd", y, truth_input (c, "bias"));
  truth_output (c, drop_height (graph, &w, y));
  return TRUE;
}

static gboolean
build_unfold (TruthCase *c, TnGraph *graph)
{
  int64_t values[TRUTH_MAX_INTS];
  Window w = { .n = 2 };
  numbers (c, "kernel_size", 2, 1, values);
  memcpy (w.kernel, values, sizeof (int64_t) * 2);
  read_window (c, &w, "strides", FALSE, TRUE);
  gboolean fold = strcmp (c->op, "fold") == 0;
  if (fold)
    {
      numbers (c, "output_size", 2, 1, values);
      w.attrs[w.n_attrs++] = tn_attr_ints ("output_size", 2, values);
    }
  truth_output (c, tn_op (graph, fold ? "Col2Im" : "Im2Col", TN_IN (truth_input (c, "x")), w.n_attrs, w.attrs));
  return TRUE;
}

/* lp_pool: (Σ x^p)^(1/p) as a sum of powers without a divisor. */
static gboolean
build_pool (TruthCase *c, TnGraph *graph)
{
  TnValue *x = truth_input (c, "x");
  gboolean max = g_str_has_prefix (c->op, "max"), lp = g_str_has_prefix (c->op, "lp");
  int64_t values[TRUTH_MAX_INTS];
  Window w = { .n = x->shape.n_dims - 2 };
  numbers (c, "kernel_size", w.n, 1, values);
  memcpy (w.kernel, values, sizeof (int64_t) * (size_t) w.n);
  read_window (c, &w, "strides", TRUE, TRUE);
  w.attrs[w.n_attrs++] = tn_attr_bool ("ceil_mode", truth_bool (c, "ceil_mode", FALSE));
  if (!max)
    w.attrs[w.n_attrs++] = tn_attr_bool ("count_include_pad", truth_bool (c, "count_include_pad", TRUE));
  if (!max)
    w.attrs[w.n_attrs++] = tn_attr_int ("divisor_override", lp ? 1 : truth_int (c, "divisor_override", 0));
  TnValue *power = tn_graph_add_scalar (graph, x->dtype, truth_float (c, "norm_type", 2));
  TnValue *root = tn_graph_add_scalar (graph, x->dtype, 1 / truth_float (c, "norm_type", 2));
  x = lp ? truth_apply (graph, "Pow", x, power) : x;
  g_autofree char *op = g_strdup_printf ("%sPool%s", max ? "Max" : "Avg", w.n == 3 ? "3D" : "");
  TnValue *y = drop_height (graph, &w, tn_op (graph, op, TN_IN (add_height (graph, &w, x)), w.n_attrs, w.attrs));
  truth_output (c, lp ? truth_apply (graph, "Pow", y, root) : y);
  return TRUE;
}

static gboolean
build_adaptive_pool (TruthCase *c, TnGraph *graph)
{
  int64_t size[TRUTH_MAX_INTS];
  numbers (c, "output_size", 2, 1, size);
  truth_output (c, tn_op (graph, g_str_has_prefix (c->op, "adaptive_avg") ? "AdaptiveAvgPool2D" : "AdaptiveMaxPool2D",
                          TN_IN (truth_input (c, "x")), TN_ATTRS (tn_attr_ints ("output_size", 2, size))));
  return TRUE;
}

const TruthMapping truth_map_b[] = {
  { "reshape", build_reshape },
  { "transpose", build_transpose },
  { "permute", build_listed },
  { "expand", build_listed },
  { "repeat", build_listed },
  { "flip", build_listed },
  { "repeat_interleave", build_repeat_interleave },
  { "roll", build_roll },
  { "slice", build_slice },
  { "split", build_split },
  { "chunk", build_split },
  { "unbind", build_unbind },
  { "squeeze", build_squeeze },
  { "unsqueeze", build_numbered },
  { "flatten", build_numbered },
  { "tril", build_numbered },
  { "triu", build_numbered },
  { "diagonal", build_numbered },
  { "pixel_shuffle", build_numbered },
  { "pixel_unshuffle", build_numbered },
  { "softmax", build_numbered },
  { "log_softmax", build_numbered },
  { "pad", build_pad },
  { "concat", build_join },
  { "cat", build_join },
  { "stack", build_join },
  { "matmul", build_matmul },
  { "linear", build_linear },
  { "bilinear", build_bilinear },
  { "addmm", build_addmm },
  { "einsum", build_einsum },
  { "conv1d", build_conv },
  { "conv2d", build_conv },
  { "conv3d", build_conv },
  { "conv_transpose1d", build_conv },
  { "conv_transpose2d", build_conv },
  { "conv_transpose3d", build_conv },
  { "unfold", build_unfold },
  { "fold", build_unfold },
  { "max_pool1d", build_pool },
  { "max_pool2d", build_pool },
  { "max_pool3d", build_pool },
  { "avg_pool1d", build_pool },
  { "avg_pool2d", build_pool },
  { "avg_pool3d", build_pool },
  { "lp_pool1d", build_pool },
  { "lp_pool2d", build_pool },
  { "adaptive_avg_pool2d", build_adaptive_pool },
  { "adaptive_max_pool2d", build_adaptive_pool },
  { "batch_norm_train", truth_build_batch_norm },
  { "batch_norm_eval", truth_build_batch_norm },
  { "batch_norm_running", truth_build_batch_norm },
  { "layer_norm", truth_build_row_norm },
  { "group_norm", truth_build_row_norm },
  { "instance_norm", truth_build_row_norm },
  { "rms_norm", truth_build_row_norm },
  { "normalize", truth_build_normalize },
  { "local_response_norm", truth_build_lrn },
  { "cross_entropy", truth_build_nll },
  { "nll_loss", truth_build_nll },
  { "cross_entropy_prob", truth_build_cross_entropy_prob },
  { "mse_loss", truth_build_pair_loss },
  { "l1_loss", truth_build_pair_loss },
  { "huber_loss", truth_build_pair_loss },
  { "smooth_l1_loss", truth_build_pair_loss },
  { "binary_cross_entropy", truth_build_pair_loss },
  { "binary_cross_entropy_with_logits", truth_build_pair_loss },
  { "kl_div", truth_build_pair_loss },
  { "hinge_embedding_loss", truth_build_pair_loss },
  { "poisson_nll_loss", truth_build_pair_loss },
  { "soft_margin_loss", truth_build_pair_loss },
  { "cosine_similarity", truth_build_cosine_similarity },
  { "embedding", truth_build_embedding },
  { "embedding_bag", truth_build_embedding_bag },
  { "gather", truth_build_gather },
  { "take_along_dim", truth_build_gather },
  { "scatter", truth_build_scatter },
  { "scatter_add", truth_build_scatter },
  { "index_select", truth_build_index_select },
  { "index_add", truth_build_index_select },
  { "masked_select", truth_build_masked_select },
  { "one_hot", truth_build_one_hot },
  { "sort", truth_build_sort },
  { "topk", truth_build_sort },
  { "argmax", truth_build_arg },
  { "argmin", truth_build_arg },
  { "scaled_dot_product_attention", truth_build_attention },
  { "multi_head_attention", truth_build_multi_head_attention },
  { "lstm_cell", truth_build_recurrent },
  { "gru_cell", truth_build_recurrent },
  { "rnn_tanh_cell", truth_build_recurrent },
  { "rnn_relu_cell", truth_build_recurrent },
  { "lstm_sequence", truth_build_recurrent },
  { "gru_sequence", truth_build_recurrent },
  { "rnn_tanh_sequence", truth_build_recurrent },
  { "rnn_relu_sequence", truth_build_recurrent },
  { "interpolate", truth_build_interpolate },
  { "sparse_cross_entropy", truth_build_sparse_cross_entropy },
  { "segment_sum", truth_build_segment_sum },
  { 0 },
};
