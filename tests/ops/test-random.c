/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/autodiff.h"
#include "ir/interpret.h"
#include "ops/op.h"
#include <glib.h>
#include <math.h>
#include <string.h>

/* Random operators: the same numbers for the same (seed, scope, ordinal, step, element), others otherwise, and the
 * distribution that they promise. Limits are five standard errors, so they hold for any seed but one in a million. */

static TnTensor *
draw (TnGraph *graph, TnTensor *input, uint64_t seed, uint64_t step, int64_t first_sample)
{
  TnTensor *outputs[4] = { NULL };
  g_autoptr (GError) error = NULL;
  TnRandomState state = { seed, step, first_sample };
  g_assert_true (tn_graph_check (graph, NULL));
  gboolean ok = tn_interpret (graph, &input, NULL, outputs, &state, &error);
  g_assert_no_error (error);
  g_assert_true (ok);
  for (int i = 1; i < tn_graph_n_outputs (graph); i++)
    tn_tensor_unref (outputs[i]);
  return outputs[0];
}

static TnGraph *
generator (const char *op, TnShape shape, int n_attrs, const TnAttr *attrs)
{
  TnGraph *graph = tn_graph_new ("random");
  TnAttr all[6] = { tn_attr_ints ("shape", shape.n_dims, shape.dims) };
  for (int i = 0; i < n_attrs; i++)
    all[i + 1] = attrs[i];
  tn_graph_add_output (graph, "y", tn_op (graph, op, 0, NULL, n_attrs + 1, all));
  return graph;
}

static gboolean
same (TnTensor *a, TnTensor *b)
{
  return tn_tensor_bytes (a) == tn_tensor_bytes (b) && memcmp (tn_tensor_data (a), tn_tensor_data (b), tn_tensor_bytes (a)) == 0;
}

static void
moments (TnTensor *tensor, double *mean, double *variance)
{
  double n = (double) tn_tensor_count (tensor);
  *mean = *variance = 0;
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    *mean += tn_tensor_get (tensor, i) / n;
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    *variance += pow (tn_tensor_get (tensor, i) - *mean, 2) / n;
}

#define N 40000

static void
check_distribution (const char *op, int n_attrs, const TnAttr *attrs, double mean, double variance, double lowest, double highest)
{
  g_autoptr (TnGraph) graph = generator (op, TN_SHAPE (N / 10, 10), n_attrs, attrs);
  g_autoptr (TnTensor) x = draw (graph, NULL, 7, 0, 0);
  double m, v;
  moments (x, &m, &v);
  g_assert_cmpfloat (fabs (m - mean), <, 5 * sqrt (variance / N));
  g_assert_cmpfloat (fabs (v - variance), <, 5 * 2 * variance / sqrt (N));
  for (int64_t i = 0; i < N; i++)
    g_assert_true (tn_tensor_get (x, i) >= lowest && tn_tensor_get (x, i) <= highest);
}

static void
test_distributions (void)
{
  check_distribution ("StandardNormal", 0, NULL, 0, 1, -7, 7);
  check_distribution ("StandardNormal", TN_ATTRS (tn_attr_dtype ("dtype", TN_DTYPE_F64)), 0, 1, -9, 9);
  check_distribution ("UniformReal", 0, NULL, 0.5, 1.0 / 12, 0, 0.99999998);
  check_distribution ("UniformInt", TN_ATTRS (tn_attr_int ("minval", -3), tn_attr_int ("maxval", 4)), 0, 4, -3, 3); /* (7² - 1) / 12 */
  check_distribution ("Bernoulli", TN_ATTRS (tn_attr_float ("p", 0.3)), 0.3, 0.21, 0, 1);
}

static void
test_repeatable (void)
{
  g_autoptr (TnGraph) graph = generator ("StandardNormal", TN_SHAPE (100), 0, NULL);
  g_autoptr (TnTensor) a = draw (graph, NULL, 7, 3, 0), b = draw (graph, NULL, 7, 3, 0);
  g_autoptr (TnTensor) other_step = draw (graph, NULL, 7, 4, 0), other_seed = draw (graph, NULL, 8, 3, 0);
  g_assert_true (same (a, b));
  g_assert_false (same (a, other_step));
  g_assert_false (same (a, other_seed));
}

/* Two in one scope, one in another, and the first again under another name with its ordinal given. */
static void
test_scope_and_ordinal (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("random");
  int64_t shape[] = { 50 };
  TnAttr attrs[] = { tn_attr_ints ("shape", 1, shape), tn_attr_int ("ordinal", 0) };
  TnValue *values[4];
  for (int i = 0; i < 4; i++)
    {
      if (i == 2)
        tn_graph_push_scope (graph, "other");
      if (i == 3)
        tn_graph_pop_scope (graph);
      values[i] = tn_op (graph, "UniformReal", 0, NULL, i == 3 ? 2 : 1, attrs);
      tn_graph_add_output (graph, "y", values[i]);
    }
  TnTensor *outputs[4];
  TnRandomState state = { 1, 0, 0 };
  g_assert_true (tn_interpret (graph, NULL, NULL, outputs, &state, NULL));
  g_assert_false (same (outputs[0], outputs[1]));
  g_assert_false (same (outputs[0], outputs[2]));
  g_assert_true (same (outputs[0], outputs[3]));
  for (int i = 0; i < 4; i++)
    tn_tensor_unref (outputs[i]);
}

static TnGraph *
dropout (TnShape shape, double keep_prob, int rows_per_sample)
{
  TnGraph *graph = tn_graph_new ("dropout");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, shape);
  TnValue *y = tn_op (graph, "Dropout", TN_IN (x),
                      TN_ATTRS (tn_attr_float ("keep_prob", keep_prob), tn_attr_int ("rows_per_sample", rows_per_sample)));
  tn_graph_add_output (graph, "y", y);
  tn_graph_add_output (graph, "mask", tn_value_sibling (y, 1));
  return graph;
}

static TnTensor *
ones (TnShape shape)
{
  TnTensor *tensor = tn_tensor_new (TN_DTYPE_F32, shape, NULL);
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    tn_tensor_set (tensor, i, 1);
  return tensor;
}

/* A batch of 8 against its samples 5, 6, 7 alone, one row or two rows a sample. */
static void
test_sub_batch_draws_its_rows (void)
{
  for (int rows = 1; rows <= 2; rows++)
    {
      g_autoptr (TnGraph) whole_graph = dropout (TN_SHAPE (8 * rows, 5), 0.5, rows), part_graph = dropout (TN_SHAPE (3 * rows, 5), 0.5, rows);
      g_autoptr (TnTensor) whole_x = ones (TN_SHAPE (8 * rows, 5)), part_x = ones (TN_SHAPE (3 * rows, 5));
      g_autoptr (TnTensor) whole = draw (whole_graph, whole_x, 7, 2, 0), part = draw (part_graph, part_x, 7, 2, 5);
      for (int64_t i = 0; i < 15 * rows; i++)
        g_assert_cmpfloat (tn_tensor_get (part, i), ==, tn_tensor_get (whole, 25 * rows + i));
    }
}

static void
test_dropout_keeps_the_mean (void)
{
  g_autoptr (TnGraph) graph = dropout (TN_SHAPE (N / 10, 10), 0.8, 1);
  g_autoptr (TnTensor) x = ones (TN_SHAPE (N / 10, 10)), y = draw (graph, x, 3, 0, 0);
  double mean, variance;
  moments (y, &mean, &variance);
  g_assert_cmpfloat (fabs (mean - 1), <, 5 * sqrt (0.25 / N)); /* (1 - p) / p = 0.25 */
  for (int64_t i = 0; i < N; i++)
    g_assert_true (tn_tensor_get (y, i) == 0 || (float) tn_tensor_get (y, i) == 1 / 0.8f);
}

/* What was kept lets the gradient through, scaled alike. */
static void
test_dropout_gradient_uses_the_mask (void)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("dropout");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (64)), *dx;
  TnValue *y = tn_op (graph, "Dropout", TN_IN (x), TN_ATTRS (tn_attr_float ("keep_prob", 0.5)));
  tn_graph_add_output (graph, "y", y);
  g_assert_true (tn_graph_add_gradients (graph, y, NULL, 1, &x, &dx));
  tn_graph_add_output (graph, "dx", dx);
  g_autoptr (TnTensor) input = ones (TN_SHAPE (64));
  TnTensor *outputs[2];
  TnRandomState state = { 5, 0, 0 };
  g_assert_true (tn_interpret (graph, &input, NULL, outputs, &state, NULL));
  g_assert_true (same (outputs[0], outputs[1])); /* x and dy are ones */
  tn_tensor_unref (outputs[0]);
  tn_tensor_unref (outputs[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/random/distributions", test_distributions);
  g_test_add_func ("/ops/random/same-counter-same-numbers", test_repeatable);
  g_test_add_func ("/ops/random/scope-and-ordinal-choose-the-stream", test_scope_and_ordinal);
  g_test_add_func ("/ops/random/sub-batch-draws-its-rows", test_sub_batch_draws_its_rows);
  g_test_add_func ("/ops/random/dropout-keeps-the-mean", test_dropout_keeps_the_mean);
  g_test_add_func ("/ops/random/dropout-gradient-uses-the-mask", test_dropout_gradient_uses_the_mask);
  return g_test_run ();
}
