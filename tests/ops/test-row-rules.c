/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ir/interpret.h"
#include "ops/conv.h"
#include "ops/pool.h"

/* What rows say beside values: resolved windows, costs, and errors that name the numbers. Expected values by hand. */

#define F32 TN_DTYPE_F32
#define F64 TN_DTYPE_F64

static TnValue *
input (TnGraph *graph, const char *name, TnDType dtype, TnShape shape)
{
  return tn_graph_add_input (graph, name, dtype, shape);
}

static TnValue *
conv (TnGraph *graph, TnShape x, TnShape w, const char *pad_mode, int64_t stride, int64_t dilation, int64_t group)
{
  return tn_op (
      graph, "Conv2D", TN_IN (input (graph, "x", F32, x), input (graph, "w", F32, w)),
      TN_ATTRS (tn_attr_string ("pad_mode", pad_mode), tn_attr_ints ("stride", 2, (int64_t[]){ stride, stride }),
                tn_attr_ints ("dilation", 2, (int64_t[]){ dilation, dilation }), tn_attr_int ("group", group)));
}

static void
assert_refused (TnGraph *graph, const char *part)
{
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_graph_check (graph, &error));
  if (strstr (error->message, part) == NULL)
    g_error ("“%s” is not in: %s", part, error->message);
}

/* MindSpore: same gives ceil (28 / 2) = 14; (14 - 1)·2 + 5 - 28 = 3 places of padding, 1 before and 2 after. */
static void
test_same_padding (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("same");
  TnConv2dGeometry g;
  TnValue *y = conv (graph, TN_SHAPE (2, 3, 28, 28), TN_SHAPE (6, 3, 5, 5), "same", 2, 1, 1);
  g_assert_nonnull (y);
  tn_conv2d_geometry (y->node, &g);
  g_assert_cmpint (g.oh, ==, 14);
  g_assert_cmpint (g.ow, ==, 14);
  g_assert_cmpint (g.pad_top, ==, 1);
  g_assert_cmpint (g.pad_left, ==, 1);
  g_assert_cmpint (g.pad_bottom, ==, 2);
  g_assert_cmpint (g.pad_right, ==, 2);
  g_assert_cmpint (g.o, ==, 6);
  g_assert_cmpint (g.kh, ==, 5);
}

/* 5x5 input, 3x3 kernel, same: rows 2, 3, 3, 3, 2 of the kernel are inside, so 13 · 13 multiply-adds a channel pair. */
static void
test_conv_cost (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("cost");
  TnCost cost;
  TnValue *y = conv (graph, TN_SHAPE (2, 4, 5, 5), TN_SHAPE (6, 2, 3, 3), "same", 1, 1, 2);
  g_assert_nonnull (y);
  tn_node_cost (y->node, &cost);
  g_assert_cmpfloat (cost.flops, ==, 2.0 * 2 * 6 * 2 * 13 * 13);
  g_assert_cmpfloat (cost.bytes, ==, 4.0 * (2 * 4 * 25 + 6 * 2 * 9 + 2 * 6 * 25));
  TnValue *product = tn_op (graph, "MatMul",
                            TN_IN (input (graph, "a", F32, TN_SHAPE (7, 3)), input (graph, "b", F32, TN_SHAPE (7, 5))),
                            TN_ATTRS (tn_attr_bool ("transpose_a", TRUE)));
  tn_node_cost (product->node, &cost);
  g_assert_cmpfloat (cost.flops, ==, 2.0 * 3 * 5 * 7);
}

static void
test_pool_ceil_mode (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("pool");
  TnPool2dGeometry g;
  const int64_t two[] = { 2, 2 };
  TnValue *y = tn_op (graph, "AvgPool", TN_IN (input (graph, "x", F32, TN_SHAPE (1, 1, 5, 6))),
                      TN_ATTRS (tn_attr_ints ("kernel_size", 2, two), tn_attr_ints ("strides", 2, two),
                                tn_attr_bool ("ceil_mode", TRUE)));
  g_assert_nonnull (y);
  tn_pool2d_geometry (y->node, &g);
  g_assert_cmpint (g.oh, ==, 3);
  g_assert_cmpint (g.ow, ==, 3);
  g_assert_false (g.count_include_pad); /* only explicit padding counts */
}

static void
test_shape_errors (void)
{
  static const char *const parts[] = { "4 input channels",        "spans 9 places",
                                       "inner sizes 3 and 4",     "7 elements do not fit",
                                       "must agree with input 0", "do not divide into 3 groups",
                                       "dimension 0 of size 3" };
  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      g_autoptr (TnGraph) graph = tn_graph_new ("refused");
      TnValue *x = input (graph, "v", F64, TN_SHAPE (7)), *m = input (graph, "m", F64, TN_SHAPE (2, 3)),
              *k = input (graph, "k", F64, TN_SHAPE (4, 3));
      TnValue *image = input (graph, "image", F64, TN_SHAPE (1, 4, 2, 2)), *c = input (graph, "c", F64, TN_SHAPE (4));
      switch (i)
        {
        case 0: conv (graph, TN_SHAPE (1, 4, 5, 5), TN_SHAPE (6, 3, 3, 3), "valid", 1, 1, 1); break;
        case 1: conv (graph, TN_SHAPE (1, 3, 5, 5), TN_SHAPE (6, 3, 3, 3), "valid", 1, 4, 1); break;
        case 2: tn_op (graph, "MatMul", TN_IN (m, k), TN_NO_ATTRS); break;
        case 3: tn_op (graph, "Reshape", TN_IN (x), TN_ATTRS (tn_attr_ints ("shape", 2, (int64_t[]){ 2, -1 }))); break;
        case 4: tn_op (graph, "Concat", TN_IN (m, k), TN_ATTRS (tn_attr_int ("axis", 1))); break;
        case 5: tn_op (graph, "GroupNorm", TN_IN (image, c, c), TN_ATTRS (tn_attr_int ("num_groups", 3))); break;
        default:
          tn_op (graph, "Pad", TN_IN (input (graph, "p", F64, TN_SHAPE (3))),
                 TN_ATTRS (tn_attr_ints ("paddings", 2, (int64_t[]){ 3, 0 }), tn_attr_string ("mode", "reflect")));
          break;
        }
      assert_refused (graph, parts[i]);
    }
}

/* Runs @op on a [3,2] float tensor and indices { 0, 3, 1 }, 3 being one too many. */
static void
assert_index_refused (const char *op, const TnAttr *attr, const char *part)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("index");
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) data = tn_tensor_new (F64, TN_SHAPE (3, 3), NULL);
  g_autoptr (TnTensor) index = tn_tensor_new_from (TN_DTYPE_I32, TN_SHAPE (3), (int32_t[]){ 0, 3, 1 });
  TnTensor *outputs[2] = { NULL };
  TnValue *x = input (graph, "x", F64, TN_SHAPE (3, 3)), *i = input (graph, "i", TN_DTYPE_I32, TN_SHAPE (3));
  TnValue *y = tn_op (graph, op, TN_IN (x, i), attr != NULL ? 1 : 0, attr);
  g_assert_true (tn_graph_check (graph, NULL));
  g_assert_false (tn_interpret_node (y->node, (TnTensor *[]){ data, index }, outputs, NULL, &error));
  if (strstr (error->message, part) == NULL)
    g_error ("“%s” is not in: %s", part, error->message);
}

static void
test_index_errors (void)
{
  TnAttr axis = tn_attr_int ("axis", 1), segments = tn_attr_int ("num_segments", 3);
  assert_index_refused ("Gather", &axis, "index 3 at position 1 of input 1 is outside 0 to 2 (size 3)");
  assert_index_refused ("UnsortedSegmentSum", &segments, "index 3 at position 1");
  assert_index_refused ("SparseSoftmaxCrossEntropyWithLogits", NULL, "label 3 in row 1");
  assert_index_refused ("NLLLoss", NULL, "target 3 in row 1");
}

/* momentum is what is kept: 0.75·4 + 0.25·(1 + 3)/2 = 3.5; 0.75·8 + 0.25·2 (unbiased variance of 1, 3) = 6.5. Written in
 * place, by training alone. */
static void
test_running_statistics (void)
{
  for (int training = 0; training < 2; training++)
    {
      g_autoptr (TnGraph) graph = tn_graph_new ("norm");
      g_autoptr (TnTensor) x = tn_tensor_new_from (F64, TN_SHAPE (2, 1), (double[]){ 1, 3 });
      g_autoptr (TnTensor) one = tn_tensor_new_from (F64, TN_SHAPE (1), (double[]){ 1 });
      g_autoptr (TnTensor) mean = tn_tensor_new_from (F64, TN_SHAPE (1), (double[]){ 4 });
      g_autoptr (TnTensor) variance = tn_tensor_new_from (F64, TN_SHAPE (1), (double[]){ 8 });
      TnTensor *outputs[5] = { NULL };
      TnValue *c = input (graph, "c", F64, TN_SHAPE (1));
      TnValue *y = tn_op (graph, "BatchNorm", TN_IN (input (graph, "x", F64, TN_SHAPE (2, 1)), c, c, c, c),
                          TN_ATTRS (tn_attr_bool ("is_training", training), tn_attr_float ("momentum", 0.75),
                                    tn_attr_float ("epsilon", 1)));
      g_assert_nonnull (y);
      g_assert_true (tn_interpret_node (y->node, (TnTensor *[]){ x, one, one, mean, variance }, outputs, NULL, NULL));
      g_assert_cmpfloat (tn_tensor_get (mean, 0), ==, training ? 3.5 : 4);
      g_assert_cmpfloat (tn_tensor_get (variance, 0), ==, training ? 6.5 : 8);
      /* (1 - 2)/√2 + 1, and (1 - 4)/√9 + 1 */
      g_assert_cmpfloat_with_epsilon (tn_tensor_get (outputs[0], 0), training ? 1 - sqrt (0.5) : 0, 1e-15);
      for (int i = 0; i < 5; i++)
        tn_tensor_unref (outputs[i]);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/conv/same-pads-half-before-and-the-rest-after", test_same_padding);
  g_test_add_func ("/ops/conv/cost-counts-multiply-adds-inside-the-input", test_conv_cost);
  g_test_add_func ("/ops/pool/ceil-mode-keeps-partial-windows", test_pool_ceil_mode);
  g_test_add_func ("/ops/errors/shapes-are-named", test_shape_errors);
  g_test_add_func ("/ops/errors/index-position-and-size-are-named", test_index_errors);
  g_test_add_func ("/ops/batch-norm/momentum-keeps-and-inference-leaves", test_running_statistics);
  return g_test_run ();
}
