/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ir/graph.h"
#include "ops/op.h"
#include <glib.h>
#include <string.h>

/* What a shape rule refuses: the message names the node with its scope, the shapes and the rule. */

typedef struct
{
  const char *op;
  int n_inputs;
  TnDType dtypes[3];
  TnShape shapes[3];
  TnAttr attrs[3];
  const char *shapes_text, *rule; /* parts of the message */
} Refused;

#define F32 TN_DTYPE_F32
#define S1(a) { 1, { a } }
#define S2(a, b) { 2, { a, b } }
static const int64_t axis_2[] = { 2 }, axis_twice[] = { 0, -2 };
#define AXIS(list, n) { { .name = "axis", .type = TN_ATTR_INTS, .count = n, .ints = list } }

static const Refused refused[] = {
  { "Add", 2, { F32, F32 }, { S2 (2, 3), S1 (4) }, { { 0 } }, "float32 (2, 3), float32 (4)", "do not broadcast" },
  { "Add", 2, { F32, TN_DTYPE_F64 }, { S1 (3), S1 (3) }, { { 0 } }, "float32 (3), float64 (3)", "one dtype" },
  { "Mul", 2, { TN_DTYPE_BOOL, TN_DTYPE_BOOL }, { S1 (3), S1 (3) }, { { 0 } }, "bool (3), bool (3)", "not bool" },
  { "Exp", 1, { TN_DTYPE_I32 }, { S1 (3) }, { { 0 } }, "int32 (3)", "floating-point" },
  { "Select", 3, { F32, F32, F32 }, { S1 (3), S1 (3), S1 (3) }, { { 0 } }, "float32 (3), float32 (3), float32 (3)", "condition must be bool" },
  { "LogicalAnd", 2, { F32, F32 }, { S1 (3), S1 (3) }, { { 0 } }, "float32 (3)", "works on bool" },
  { "ReduceSum", 1, { F32 }, { S2 (2, 3) }, AXIS (axis_2, 1), "float32 (2, 3)", "axis 2 is out of range for 2 dimensions" },
  { "ReduceMean", 1, { F32 }, { S2 (2, 3) }, AXIS (axis_twice, 2), "float32 (2, 3)", "axis -2 is given twice" },
  { "ReduceMax", 1, { F32 }, { S2 (0, 3) }, { { 0 } }, "float32 (0, 3)", "empty axis" },
  { "GLU", 1, { F32 }, { S2 (2, 3) }, { { 0 } }, "float32 (2, 3)", "even size" },
  { "PReLU", 2, { F32, F32 }, { S2 (2, 3), S1 (2) }, { { 0 } }, "float32 (2, 3), float32 (2)", "one a channel" },
  { "GeLU", 1, { F32 }, { S1 (3) }, { { .name = "approximate", .type = TN_ATTR_STRING, .s = "erf" } }, "float32 (3)", "“erf”" },
  { "Dropout", 1, { F32 }, { S1 (3) }, { { .name = "keep_prob", .type = TN_ATTR_FLOAT, .f = 0 } }, "float32 (3)", "keep_prob" },
  { "CumSum", 1, { F32 }, { S2 (2, 3) }, { { .name = "axis", .type = TN_ATTR_INT, .i = -3 } }, "float32 (2, 3)", "axis -3 is out of range" },
  { "Clamp", 1, { F32 }, { S1 (3) }, { { .name = "low", .type = TN_ATTR_FLOAT } }, "float32 (3)", "unknown attribute “low”" },
  { "Unstack", 1, { F32 }, { S2 (0, 3) }, { { 0 } }, "float32 (0, 3)", "nothing would come out" },
  { "MaskedFill", 2, { F32, TN_DTYPE_BOOL }, { S1 (3), S1 (3) }, { { 0 } }, "float32 (3), bool (3)", "attribute “value” is missing" },
};

static void
test_refused (gconstpointer data)
{
  const Refused *r = data;
  g_autoptr (TnGraph) graph = tn_graph_new ("errors");
  g_autoptr (GError) error = NULL;
  TnValue *values[3];
  int n_attrs = 0;
  tn_graph_push_scope (graph, "layer7");
  for (int i = 0; i < r->n_inputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%d", i);
      values[i] = tn_graph_add_input (graph, name, r->dtypes[i], r->shapes[i]);
    }
  while (n_attrs < 3 && r->attrs[n_attrs].name != NULL)
    n_attrs++;
  g_assert_null (tn_op (graph, r->op, r->n_inputs, values, n_attrs, r->attrs));
  g_assert_false (tn_graph_check (graph, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_SHAPE);
  g_autofree char *node = g_strdup_printf ("layer7/%s-op0", r->op);
  const char *const parts[] = { node, r->shapes_text, r->rule };
  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    if (strstr (error->message, parts[i]) == NULL)
      {
        g_test_message ("“%s” does not say “%s”", error->message, parts[i]);
        g_test_fail ();
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autofree char *path = g_strdup_printf ("/ops/infer/%s-refuses-%zu", refused[i].op, i);
      g_test_add_data_func (path, &refused[i], test_refused);
    }
  return g_test_run ();
}
