/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/autodiff.h"
#include "ir/interpret.h"
#include "ops/op.h"
#include <string.h>

/* Every row with inputs and attributes drawn at random: its shape rule refuses them, or its plain kernel runs within the arrays that
 * the rule laid out. Each tensor lies in memory of its own, so that the address sanitizer sees a step beside it. */

static TnTensor *
random_tensor (GRand *rand, TnDType dtype, TnShape shape)
{
  TnTensor *tensor = tn_tensor_new (dtype, shape, NULL);
  for (int64_t i = 0; i < tn_shape_count (&shape); i++)
    tn_tensor_set (tensor, i, dtype == TN_DTYPE_BOOL ? g_rand_boolean (rand) : g_rand_int_range (rand, -2, 5));
  return tensor;
}

static TnShape
random_shape (GRand *rand)
{
  TnShape shape = { .n_dims = g_rand_int_range (rand, 0, 5) };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = g_rand_int_range (rand, 0, 12) == 0 ? 0 : g_rand_int_range (rand, 1, 5);
  return shape;
}

/* Near relatives are drawn more often than strangers: that is where a rule may be too lax. */
static TnShape
related_shape (GRand *rand, const TnShape *first)
{
  TnShape shape = *first;
  switch (g_rand_int_range (rand, 0, 5))
    {
    case 0:
      return random_shape (rand);
    case 1:
      if (shape.n_dims > 0)
        shape.dims[g_rand_int_range (rand, 0, shape.n_dims)] = g_rand_int_range (rand, 1, 5);
      return shape;
    case 2:
      if (shape.n_dims > 0)
        shape.n_dims--;
      return shape;
    default:
      return shape;
    }
}

typedef struct
{
  int64_t ints[4];
  double floats[4];
} Numbers;

static TnAttr
random_attr (GRand *rand, const TnAttrSpec *spec, Numbers *numbers)
{
  static const char *const words[] = { "none", "sum", "mean", "batchmean", "same", "valid", "pad", "reflect", "constant", "edge", "nearest",
                                       "linear", "bilinear", "bicubic", "tanh", "NCHW", "ij,jk->ik", "bij,bjk->bik", "ii->i", "" };
  int n = g_rand_int_range (rand, 0, 5);
  for (int i = 0; i < 4; i++)
    {
      numbers->ints[i] = g_rand_int_range (rand, -3, 5);
      numbers->floats[i] = g_rand_int_range (rand, -2, 4);
    }
  switch (spec->type)
    {
    case TN_ATTR_INT:
      return tn_attr_int (spec->name, g_rand_int_range (rand, -3, 5));
    case TN_ATTR_BOOL:
      return tn_attr_bool (spec->name, g_rand_boolean (rand));
    case TN_ATTR_FLOAT:
      return tn_attr_float (spec->name, g_rand_double_range (rand, -1, 3));
    case TN_ATTR_STRING:
      return tn_attr_string (spec->name, words[g_rand_int_range (rand, 0, G_N_ELEMENTS (words))]);
    case TN_ATTR_DTYPE:
      return tn_attr_dtype (spec->name, g_rand_int_range (rand, 0, TN_DTYPE_COUNT));
    case TN_ATTR_INTS:
      return tn_attr_ints (spec->name, n, numbers->ints);
    case TN_ATTR_FLOATS:
      return tn_attr_floats (spec->name, n, numbers->floats);
    default:
      return (TnAttr){ 0 };
    }
}

static TnDType
random_dtype (GRand *rand, TnDType usual)
{
  static const TnDType dtypes[] = { TN_DTYPE_F32, TN_DTYPE_F64, TN_DTYPE_F16, TN_DTYPE_BF16, TN_DTYPE_I32, TN_DTYPE_I64, TN_DTYPE_I8, TN_DTYPE_BOOL };
  return g_rand_int_range (rand, 0, 4) > 0 ? usual : dtypes[g_rand_int_range (rand, 0, G_N_ELEMENTS (dtypes))];
}

/* Whether the rule took it. */
static gboolean
try_node (GRand *rand, const TnOp *op)
{
  g_autoptr (TnGraph) graph = tn_graph_new ("wild");
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  TnValue *values[6];
  TnAttr attrs[16];
  Numbers numbers[16];
  int most = op->max_inputs == TN_VARIADIC ? MAX (op->min_inputs, 3) : op->max_inputs, n_attrs = 0;
  int wanted = g_rand_int_range (rand, op->min_inputs, most + 1), n = MIN (wanted, (int) G_N_ELEMENTS (values));
  TnShape first = random_shape (rand);
  TnDType usual = random_dtype (rand, TN_DTYPE_F32);
  for (int i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%d", i);
      TnShape shape = i == 0 ? first : related_shape (rand, &first);
      TnDType dtype = random_dtype (rand, usual);
      values[i] = op->mutates[0] > 0 ? tn_graph_add_parameter (graph, name, dtype, shape, &(TnParameterInfo){ .init = NULL }) : tn_graph_add_input (graph, name, dtype, shape);
      g_ptr_array_add (inputs, random_tensor (rand, dtype, shape));
    }
  for (const TnAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL && n_attrs < 16; spec++)
    if (spec->type != TN_ATTR_TENSOR && (spec->required || g_rand_boolean (rand)))
      {
        attrs[n_attrs] = random_attr (rand, spec, &numbers[n_attrs]);
        n_attrs++;
      }
  const TnNode *node = tn_graph_add_node (graph, op->name, n, values, n_attrs, attrs);
  g_assert_true (tn_graph_check (graph, &error) == (node != NULL));
  if (node == NULL)
    return FALSE;
  int64_t elements = 0;
  for (int i = 0; i < node->n_outputs; i++)
    {
      TnShape whole = node->outputs[i].shape;
      for (int d = 0; d < whole.n_dims; d++)
        g_assert_cmpint (whole.dims[d], >=, 0);
      elements = MAX (elements, tn_shape_count (&whole));
    }
  if (elements > 1 << 20)
    return TRUE;
  g_autofree TnTensor **outputs = g_new0 (TnTensor *, node->n_outputs + 1);
  const TnRandomState random = { 7, 1, 0 };
  gboolean ok = tn_interpret_node (node, (TnTensor *const *) inputs->pdata, outputs, &random, &error);
  g_assert_true (ok == (error == NULL));
  for (int i = 0; ok && i < node->n_outputs; i++)
    {
      g_assert_true (tn_shape_equal (&outputs[i]->shape, &node->outputs[i].shape));
      g_assert_cmpint (outputs[i]->dtype, ==, node->outputs[i].dtype);
      tn_tensor_unref (outputs[i]);
    }
  return TRUE;
}

static void
test_wild (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  int taken = 0, rows = 0;
  for (int i = 0; i < tn_op_count (); i++)
    {
      const TnOp *op = tn_op_at (i);
      if ((op->flags & (TN_OP_CONTROL | TN_OP_LEAF)) != 0)
        continue;
      int before = taken;
      for (int k = 0; k < 400; k++)
        taken += try_node (rand, op);
      rows += taken > before;
    }
  g_test_message ("%d nodes of %d rows were taken", taken, rows);
  g_assert_cmpint (rows, >, 100); /* or it proves little */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/wild-nodes/are-refused-or-stay-in-their-arrays", test_wild);
  return g_test_run ();
}
