/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/small-cases.h"
#include "ir/autodiff.h"
#include "ir/interpret.h"
#include "ops/truth.h"
#include <math.h>

#define F64 TN_DTYPE_F64
#define BOOL TN_DTYPE_BOOL
#define I32 TN_DTYPE_I32
#define TWO_F64 { F64, F64 }
#define COMPARES(op_, ...)                                                                                                       \
  { op_, 2, 4, TWO_F64, { { 1, 2, 3, NAN }, { 2, 2, 2, NAN } }, { { 0 } }, BOOL, 4, __VA_ARGS__, 0 }

const SmallCase small_cases[] = {
  COMPARES ("Equal", { 0, 1, 0, 0 }),
  COMPARES ("NotEqual", { 1, 0, 1, 1 }),
  COMPARES ("Less", { 1, 0, 0, 0 }),
  COMPARES ("LessEqual", { 1, 1, 0, 0 }),
  COMPARES ("Greater", { 0, 0, 1, 0 }),
  COMPARES ("GreaterEqual", { 0, 1, 1, 0 }),
  { "LogicalAnd", 2, 4, { BOOL, BOOL }, { { 0, 0, 1, 1 }, { 0, 1, 0, 1 } }, { { 0 } }, BOOL, 4, { 0, 0, 0, 1 }, 0 },
  { "LogicalOr", 2, 4, { BOOL, BOOL }, { { 0, 0, 1, 1 }, { 0, 1, 0, 1 } }, { { 0 } }, BOOL, 4, { 0, 1, 1, 1 }, 0 },
  { "LogicalNot", 1, 2, { BOOL }, { { 0, 1 } }, { { 0 } }, BOOL, 2, { 1, 0 }, 0 },
  { "IsNan", 1, 4, { F64 }, { { NAN, 1, INFINITY, -INFINITY } }, { { 0 } }, BOOL, 4, { 1, 0, 0, 0 }, 0 },
  { "IsFinite", 1, 4, { F64 }, { { NAN, 1, INFINITY, -INFINITY } }, { { 0 } }, BOOL, 4, { 0, 1, 0, 0 }, 0 },
  { "Cast", 1, 4, { F64 }, { { -1.75, 2.5, NAN, 1e300 } }, { { .name = "dtype", .type = TN_ATTR_DTYPE, .i = I32 } }, I32, 4, { -1, 2, 0, INT32_MAX }, 0 },
  { "AddN", 3, 3, { F64, F64, F64 }, { { 1, 2, 3 }, { 10, 20, 30 }, { 100, 200, 300 } }, { { 0 } }, F64, 3, { 111, 222, 333 }, 0 },
  { "GlobalNorm", 2, 2, TWO_F64, { { 1, 2 }, { 2, 4 } }, { { 0 } }, F64, 0, { 5 }, 1e-15 },
  /* Integers: exact, wrapping around. */
  { "Add", 2, 2, { I32, I32 }, { { INT32_MAX, 3 }, { 1, -5 } }, { { 0 } }, I32, 2, { INT32_MIN, -2 }, 0 },
  { "Maximum", 2, 3, { I32, I32 }, { { 1, 5, -3 }, { 2, 4, -2 } }, { { 0 } }, I32, 3, { 2, 5, -2 }, 0 },
  { "Maximum", 2, 3, TWO_F64, { { NAN, 1, 2 }, { 1, NAN, 3 } }, { { 0 } }, F64, 3, { NAN, NAN, 3 }, 0 },
  { "ReduceSum", 1, 4, { TN_DTYPE_I64 }, { { 1, 2, 3, -10 } }, { { 0 } }, TN_DTYPE_I64, 0, { -4 }, 0 },
  { "ReduceMax", 1, 4, { I32 }, { { -7, -2, -3, -10 } }, { { 0 } }, I32, 0, { -2 }, 0 },
  { "CumSum", 1, 4, { F64 }, { { 1, 2, 3, 4 } }, { { .name = "exclusive", .type = TN_ATTR_BOOL, .i = 1 } }, F64, 4, { 0, 1, 3, 6 }, 0 },
  { "CumSum", 1, 4, { F64 }, { { 1, 2, 3, 4 } }, { { .name = "reverse", .type = TN_ATTR_BOOL, .i = 1 } }, F64, 4, { 10, 9, 7, 4 }, 0 },
  { "CumProd", 1, 4, { F64 }, { { 1, 2, 3, 4 } }, { { .name = "reverse", .type = TN_ATTR_BOOL, .i = 1 }, { .name = "exclusive", .type = TN_ATTR_BOOL, .i = 1 } }, F64, 4, { 24, 12, 4, 1 }, 0 },
  /* d/dx of x0, x0 x1, x0 x1 x2 with dy = 1: products of the others, added up. */
  { "CumProdGrad", 2, 3, TWO_F64, { { 1, 1, 1 }, { 2, 0, 5 } }, { { 0 } }, F64, 3, { 1, 12, 0 }, 0 },
  { "LpNorm", 1, 4, { F64 }, { { 3, 0, -4, 0 } }, { { .name = "p", .type = TN_ATTR_FLOAT, .f = 0 } }, F64, 0, { 2 }, 0 },
  { "LpNorm", 1, 4, { F64 }, { { 3, 0, -4, 0 } }, { { .name = "p", .type = TN_ATTR_FLOAT, .f = INFINITY } }, F64, 0, { 4 }, 0 },
  { "LpNorm", 1, 4, { F64 }, { { 3, 1, -4, 2 } }, { { .name = "p", .type = TN_ATTR_FLOAT, .f = -INFINITY } }, F64, 0, { 1 }, 0 },
  { "LpNorm", 1, 2, { F64 }, { { 1, 2 } }, { { .name = "p", .type = TN_ATTR_FLOAT, .f = 3 } }, F64, 0, { 2.0800838230519041145 }, 1e-14 }, /* ∛9 */
  /* 2 σ(3.404) = 1.93565862314420815, by bc -l */
  { "FastGeLU", 1, 2, { F64 }, { { 0, 2 } }, { { 0 } }, F64, 2, { 0, 1.9356586231442083 }, 1e-15 },
  { "FastGeLUGrad", 2, 1, TWO_F64, { { 2 }, { 0 } }, { { 0 } }, F64, 1, { 1 }, 1e-15 }, /* 2 σ(0) */
  { "StopGradient", 1, 2, { F64 }, { { 3, -1 } }, { { 0 } }, F64, 2, { 3, -1 }, 0 },
  { "ZerosLike", 1, 2, { F64 }, { { 3, -1 } }, { { 0 } }, F64, 2, { 0, 0 }, 0 },
  { "OnesLike", 1, 2, { F64 }, { { 3, -1 } }, { { 0 } }, F64, 2, { 1, 1 }, 0 },
  { "Identity", 1, 2, { F64 }, { { 3, -1 } }, { { 0 } }, F64, 2, { 3, -1 }, 0, TRUE },
  /* Values by hand; slopes against differences. */
  { "Maximum", 2, 3, TWO_F64, { { 1, 5, -3 }, { 2, 4, -2 } }, { { 0 } }, F64, 3, { 2, 5, -2 }, 0, TRUE },
  { "Minimum", 2, 3, TWO_F64, { { 1, 5, -3 }, { 2, 4, -2 } }, { { 0 } }, F64, 3, { 1, 4, -3 }, 0, TRUE },
  { "AddN", 3, 2, { F64, F64, F64 }, { { 1, 2 }, { 10, 20 }, { 100, 200 } }, { { 0 } }, F64, 2, { 111, 222 }, 0, TRUE },
  { "GlobalNorm", 2, 2, TWO_F64, { { 1, 2 }, { 2, 4 } }, { { 0 } }, F64, 0, { 5 }, 1e-15, TRUE },
  { "FastGeLU", 1, 2, { F64 }, { { 0, 2 } }, { { 0 } }, F64, 2, { 0, 1.9356586231442083 }, 1e-15, TRUE },
  { "CumSum", 1, 3, { F64 }, { { 1, 2, 3 } }, { { .name = "exclusive", .type = TN_ATTR_BOOL, .i = 1 }, { .name = "reverse", .type = TN_ATTR_BOOL, .i = 1 } }, F64, 3, { 5, 3, 0 }, 0, TRUE },
  { "CumProd", 1, 4, { F64 }, { { 1, 2, 0, 4 } }, { { .name = "exclusive", .type = TN_ATTR_BOOL, .i = 1 } }, F64, 4, { 1, 1, 2, 0 }, 0, TRUE },
  { "CumProd", 1, 4, { F64 }, { { 1, 2, 0, 4 } }, { { .name = "reverse", .type = TN_ATTR_BOOL, .i = 1 } }, F64, 4, { 0, 0, 0, 4 }, 0, TRUE },
  { "ReduceProd", 1, 4, { F64 }, { { 1, 2, 0, 4 } }, { { 0 } }, F64, 0, { 0 }, 0, TRUE },
  { "LpNorm", 1, 2, { F64 }, { { 1, -2 } }, { { .name = "p", .type = TN_ATTR_FLOAT, .f = 3 } }, F64, 0, { 2.0800838230519041145 }, 1e-14, TRUE },
  { "LpNorm", 1, 2, { F64 }, { { 4, -1 } }, { { .name = "p", .type = TN_ATTR_FLOAT, .f = 0.5 } }, F64, 0, { 9 }, 1e-14, TRUE }, /* (2 + 1)² */
  { "LpNorm", 1, 3, { F64 }, { { 4, -1, -5 } }, { { .name = "p", .type = TN_ATTR_FLOAT, .f = INFINITY } }, F64, 0, { 5 }, 0, TRUE },
  { "ReduceMaxWithIndex", 1, 3, { F64 }, { { 4, -1, 5 } }, { { 0 } }, F64, 0, { 5 }, 0, TRUE },
  { "ReduceMinWithIndex", 1, 3, { F64 }, { { 4, -1, 5 } }, { { 0 } }, F64, 0, { -1 }, 0, TRUE },
  { "Cast", 1, 2, { F64 }, { { 4, -1 } }, { { .name = "dtype", .type = TN_ATTR_DTYPE, .i = F64 } }, F64, 2, { 4, -1 }, 0, TRUE },
  { 0 },
};

const RowTestedElsewhere rows_tested_elsewhere[] = {
  { "If", "tests/ir" },
  { "AllReduce", "tests/parallel/test-shard-graph.c" },
  { "AllGather", "tests/parallel/test-shard-graph.c" },
  { "ReduceScatter", "tests/parallel/test-shard-graph.c" },
  { "AllToAll", "tests/parallel/test-shard-graph.c" },
  { "ShardSlice", "tests/parallel/test-shard-graph.c" },
  { "RankIndex", "tests/parallel/test-shard-graph.c" },
  { "While", "tests/ir" },
  { "StandardNormal", "tests/ops/test-random.c" },
  { "UniformReal", "tests/ops/test-random.c" },
  { "UniformInt", "tests/ops/test-random.c" },
  { "Bernoulli", "tests/ops/test-random.c" },
  { "Dropout", "tests/ops/test-random.c" },
  { "Apply*", "tests/optim" },
  { "SGD", "tests/optim" },
  { "Adam*", "tests/optim" },
  { "Fused*", "tests/device" },
  { 0 },
};

static int
count_attrs (const SmallCase *c)
{
  int n = 0;
  while (n < 3 && c->attrs[n].name != NULL)
    n++;
  return n;
}

/* Adds the case's inputs to @graph and its operator; the tensors to @tensors. */
static TnValue *
build (const SmallCase *c, TnGraph *graph, TnValue **values, GPtrArray *tensors)
{
  for (int i = 0; i < c->n_inputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%d", i);
      TnTensor *tensor = tn_tensor_new (c->dtypes[i], TN_SHAPE (c->n), NULL);
      for (int k = 0; k < c->n; k++)
        tn_tensor_set (tensor, k, c->inputs[i][k]);
      g_ptr_array_add (tensors, tensor);
      values[i] = tn_graph_add_input (graph, name, tensor->dtype, tensor->shape);
    }
  return tn_op (graph, c->op, c->n_inputs, values, count_attrs (c), c->attrs);
}

gboolean
small_case_run (const SmallCase *c, char **message)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("small");
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) got = NULL;
  TnValue *values[3];
  tn_graph_add_output (graph, "y", build (c, graph, values, tensors));
  if (!tn_graph_check (graph, &error) || !tn_interpret (graph, (TnTensor *const *) tensors->pdata, NULL, &got, NULL, &error))
    {
      *message = g_strdup (error->message);
      return FALSE;
    }
  g_autoptr (TnTensor) want = tn_tensor_new (c->out_dtype, c->n_out > 0 ? TN_SHAPE (c->n_out) : TN_SHAPE_SCALAR, NULL);
  for (int k = 0; k < MAX (c->n_out, 1); k++)
    tn_tensor_set (want, k, c->want[k]);
  g_assert_cmpint (got->dtype, ==, want->dtype);
  return truth_compare (got, want, c->tolerance, 0, message);
}

/* Σ (k + 1) y_k, so that every output counts differently. */
static double
weighted_sum (TnGraph *graph, GPtrArray *tensors)
{
  TnTensor *results[4] = { NULL };
  double sum = 0;
  g_assert_true (tn_interpret (graph, (TnTensor *const *) tensors->pdata, NULL, results, NULL, NULL));
  for (int64_t k = 0; k < tn_tensor_count (results[0]); k++)
    sum += (double) (k + 1) * tn_tensor_get (results[0], k);
  for (int i = 0; i < tn_graph_n_outputs (graph); i++)
    tn_tensor_unref (results[i]);
  return sum;
}

gboolean
small_case_gradient (const SmallCase *c, char **message)
{
  const double h = 1e-6;
  g_autoptr (TnGraph) graph = tn_graph_new ("small");
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  g_autoptr (GError) error = NULL;
  TnValue *values[3], *gradients[3] = { NULL };
  TnTensor *results[4] = { NULL };
  TnValue *y = build (c, graph, values, tensors);
  g_autoptr (TnTensor) weights = tn_tensor_new (c->out_dtype, c->n_out > 0 ? TN_SHAPE (c->n_out) : TN_SHAPE_SCALAR, NULL);
  for (int k = 0; k < MAX (c->n_out, 1); k++)
    tn_tensor_set (weights, k, k + 1);
  tn_graph_add_output (graph, "y", y);
  if (y != NULL)
    tn_graph_add_gradients (graph, y, tn_graph_add_constant (graph, weights), c->n_inputs, values, gradients);
  for (int i = 0; i < c->n_inputs; i++)
    tn_graph_add_output (graph, "dx", gradients[i]);
  if (!tn_graph_check (graph, &error) || !tn_interpret (graph, (TnTensor *const *) tensors->pdata, NULL, results, NULL, &error))
    {
      *message = g_strdup (error->message);
      return FALSE;
    }
  for (int i = 0; i < c->n_inputs && *message == NULL; i++)
    for (int k = 0; k < c->n && *message == NULL; k++)
      {
        TnTensor *x = tensors->pdata[i];
        double by_rule = tn_tensor_get (results[i + 1], k);
        tn_tensor_set (x, k, c->inputs[i][k] + h);
        double above = weighted_sum (graph, tensors);
        tn_tensor_set (x, k, c->inputs[i][k] - h);
        double by_differences = (above - weighted_sum (graph, tensors)) / (2 * h);
        tn_tensor_set (x, k, c->inputs[i][k]);
        if (!(fabs (by_rule - by_differences) <= 1e-7 * MAX (1, fabs (by_rule))))
          *message = g_strdup_printf ("d/dx%d[%d] is %.10g by the rule, %.10g by differences", i, k, by_rule, by_differences);
      }
  for (int i = 0; i <= c->n_inputs; i++)
    tn_tensor_unref (results[i]);
  return *message == NULL;
}
