/* SPDX-License-Identifier: Apache-2.0 */
/* The third check of every operator: each fast kernel of the CPU's table against the operator's plain kernel, over random
 * shapes. A node is made at random for each operator that has fast kernels, run by a one-node plan, and compared. */
#include "base/error.h"
#include "device/cpu/plan.h"
#include "ir/interpret.h"
#include <math.h>
#include <string.h>

static GRand *rand_source;

static int
draw (int from, int to)
{
  return g_rand_int_range (rand_source, from, to + 1);
}

/* ---- random nodes ---- */

typedef struct
{
  TnGraph *graph;
  TnValue *inputs[8];
  int n_inputs;
  int labels; /* this input holds classes below @classes; -1: none */
  int classes;
} Maker;

static TnValue *
input (Maker *maker, TnDType dtype, TnShape shape)
{
  g_autofree char *name = g_strdup_printf ("input%d", maker->n_inputs);
  return maker->inputs[maker->n_inputs++] = tn_graph_add_input (maker->graph, name, dtype, shape);
}

static TnValue *
state (Maker *maker, TnShape shape)
{
  g_autofree char *name = g_strdup_printf ("state%d", maker->n_inputs);
  return maker->inputs[maker->n_inputs++] = tn_graph_add_parameter (maker->graph, name, TN_DTYPE_F32, shape, &(TnParameterInfo){ .init = "zeros" });
}

#define F32(...) input (maker, TN_DTYPE_F32, TN_SHAPE (__VA_ARGS__))

typedef struct
{
  int64_t n, c, h, w, o, k;
  TnAttr attrs[8];
  int n_attrs;
  int64_t stride[2], pad[4], dilation[2], input_size[4], filter_size[4];
  TnShape y;
} Conv;

/* Sizes, attributes and the output's shape, by building the forward node in a graph of its own. */
static Conv *
draw_conv (gboolean wide)
{
  for (;;)
    {
      Conv *c = g_new0 (Conv, 1);
      int group = wide || draw (0, 3) > 0 ? 1 : 2;
      c->n = draw (1, 40);
      c->c = wide ? 64 : group * draw (1, 9);
      c->o = wide ? 64 : group * draw (1, 13);
      c->h = draw (3, 13);
      c->w = draw (3, 13);
      c->k = draw (1, 5);
      c->stride[0] = draw (1, 2);
      c->stride[1] = draw (1, 2);
      c->dilation[0] = c->dilation[1] = wide ? 1 : draw (1, 2);
      for (int i = 0; i < 4; i++)
        c->pad[i] = draw (0, 2);
      static const char *const modes[] = { "same", "valid", "pad" };
      const char *mode = modes[draw (0, 2)];
      c->attrs[c->n_attrs++] = tn_attr_ints ("stride", 2, c->stride);
      c->attrs[c->n_attrs++] = tn_attr_ints ("dilation", 2, c->dilation);
      c->attrs[c->n_attrs++] = tn_attr_string ("pad_mode", mode);
      c->attrs[c->n_attrs++] = tn_attr_int ("group", group);
      if (strcmp (mode, "pad") == 0)
        c->attrs[c->n_attrs++] = tn_attr_ints ("pad", 4, c->pad);
      memcpy (c->input_size, (int64_t[]){ c->n, c->c, c->h, c->w }, sizeof c->input_size);
      memcpy (c->filter_size, (int64_t[]){ c->o, c->c / group, c->k, c->k }, sizeof c->filter_size);
      g_autoptr (TnGraph) trial = tn_graph_new ("trial");
      TnValue *x = tn_graph_add_input (trial, "x", TN_DTYPE_F32, tn_shape_make (4, c->input_size));
      TnValue *w = tn_graph_add_input (trial, "w", TN_DTYPE_F32, tn_shape_make (4, c->filter_size));
      TnValue *y = tn_op (trial, "Conv2D", TN_IN (x, w), c->n_attrs, c->attrs);
      if (y != NULL && tn_shape_count (&y->shape) > 0)
        {
          c->y = y->shape;
          return c;
        }
      g_free (c);
    }
}

static gboolean wide_round;

static void
make_conv (Maker *maker, const char *op)
{
  g_autofree Conv *c = draw_conv (wide_round);
  gboolean fused = g_str_has_prefix (op, "Fused");
  TnValue *in[3];
  int n = 2;
  if (strstr (op, "BackpropInput") != NULL)
    {
      in[0] = input (maker, TN_DTYPE_F32, c->y);
      in[1] = input (maker, TN_DTYPE_F32, tn_shape_make (4, c->filter_size));
      in[2] = fused ? input (maker, TN_DTYPE_F32, tn_shape_make (4, c->input_size)) : NULL;
      n = fused ? 3 : 2;
      c->attrs[c->n_attrs++] = tn_attr_ints ("input_size", 4, c->input_size);
    }
  else if (strstr (op, "BackpropFilter") != NULL)
    {
      in[0] = input (maker, TN_DTYPE_F32, c->y);
      in[1] = input (maker, TN_DTYPE_F32, tn_shape_make (4, c->input_size));
      c->attrs[c->n_attrs++] = tn_attr_ints ("filter_size", 4, c->filter_size);
    }
  else
    {
      in[0] = input (maker, TN_DTYPE_F32, tn_shape_make (4, c->input_size));
      in[1] = input (maker, TN_DTYPE_F32, tn_shape_make (4, c->filter_size));
      if (fused && draw (0, 2) > 0)
        in[n++] = F32 (c->o);
      if (fused)
        c->attrs[c->n_attrs++] = tn_attr_bool ("relu", draw (0, 1));
    }
  tn_graph_add_node (maker->graph, op, n, in, c->n_attrs, c->attrs);
}

static void
make_dense (Maker *maker, const char *op)
{
  gboolean large = draw (0, 3) == 0;
  int64_t n = draw (1, 70), i = draw (1, large ? 400 : 60), o = draw (1, large ? 300 : 50);
  if (strcmp (op, "MatMul") == 0)
    {
      int form = draw (0, 2);
      TnValue *a = form == 0 ? F32 (n, i) : F32 (n, o), *b = form == 0 ? F32 (o, i) : form == 1 ? F32 (o, i) : F32 (n, i);
      tn_graph_add_node (maker->graph, op, TN_IN (a, b), TN_ATTRS (tn_attr_bool ("transpose_a", form == 2), tn_attr_bool ("transpose_b", form == 0)));
    }
  else if (strcmp (op, "FusedDense") == 0)
    {
      TnValue *x = F32 (n, i), *w = F32 (o, i), *b = draw (0, 2) > 0 ? F32 (o) : NULL;
      tn_graph_add_node (maker->graph, op, b != NULL ? 3 : 2, (TnValue *[]){ x, w, b }, TN_ATTRS (tn_attr_bool ("relu", draw (0, 1))));
    }
  else if (strcmp (op, "FusedDenseBackpropInput") == 0)
    {
      TnValue *dy = F32 (n, o), *w = F32 (o, i), *x = F32 (n, i);
      tn_graph_add_node (maker->graph, op, TN_IN (dy, w, x), TN_NO_ATTRS);
    }
  else
    {
      TnValue *dy = F32 (n, o), *x = F32 (n, i);
      tn_graph_add_node (maker->graph, op, TN_IN (dy, x), TN_NO_ATTRS);
    }
}

static void
make_bias (Maker *maker, const char *op)
{
  int64_t n = draw (1, 40), c = draw (1, 20);
  TnValue *x = draw (0, 1) ? F32 (n, c, draw (1, 9), draw (1, 9)) : F32 (n, c);
  if (strcmp (op, "BiasAdd") == 0)
    tn_graph_add_node (maker->graph, op, TN_IN (x, F32 (c)), TN_NO_ATTRS);
  else
    tn_graph_add_node (maker->graph, op, TN_IN (x), TN_NO_ATTRS);
}

static void
make_pool (Maker *maker, const char *op)
{
  int64_t n = draw (1, 40), c = wide_round ? 64 : draw (1, 9), h = draw (4, 12), w = draw (4, 12);
  int64_t kernel[] = { draw (1, 3), draw (1, 3) }, strides[] = { draw (1, 3), draw (1, 3) };
  TnAttr attrs[] = { tn_attr_ints ("kernel_size", 2, kernel), tn_attr_ints ("strides", 2, strides), tn_attr_string ("pad_mode", draw (0, 1) ? "same" : "valid") };
  TnValue *x = F32 (n, c, h, w);
  if (strcmp (op, "MaxPool") == 0 || strcmp (op, "AvgPool") == 0)
    {
      tn_graph_add_node (maker->graph, op, TN_IN (x), 3, attrs);
      return;
    }
  g_autoptr (TnGraph) trial = tn_graph_new ("trial");
  TnValue *tx = tn_graph_add_input (trial, "x", TN_DTYPE_F32, x->shape);
  TnValue *y = tn_op (trial, strstr (op, "Avg") ? "AvgPool" : "MaxPool", TN_IN (tx), 3, attrs);
  g_assert_nonnull (y);
  TnValue *in_y = input (maker, TN_DTYPE_F32, y->shape), *dy = input (maker, TN_DTYPE_F32, y->shape);
  tn_graph_add_node (maker->graph, op, TN_IN (x, in_y, dy), 3, attrs);
}

static void
make_flat (Maker *maker, const char *op)
{
  TnShape shape = draw (0, 1) ? TN_SHAPE (draw (1, 40), draw (1, 9), draw (1, 5), draw (1, 5)) : TN_SHAPE (draw (1, 70), draw (1, 30));
  TnValue *a = input (maker, TN_DTYPE_F32, shape), *b = strcmp (op, "ReLU") == 0 ? NULL : input (maker, TN_DTYPE_F32, shape);
  tn_graph_add_node (maker->graph, op, b != NULL ? 2 : 1, (TnValue *[]){ a, b }, TN_NO_ATTRS);
}

static void
make_loss (Maker *maker, const char *op)
{
  int64_t n = draw (1, 50);
  maker->classes = draw (2, 30);
  TnValue *logits = F32 (n, maker->classes);
  maker->labels = maker->n_inputs;
  TnValue *labels = input (maker, TN_DTYPE_I32, TN_SHAPE (n));
  tn_graph_add_node (maker->graph, op, TN_IN (logits, labels), TN_ATTRS (tn_attr_float ("grad_scale", 1.0 / (double) n)));
}

static void
make_momentum (Maker *maker, const char *op)
{
  TnShape shape = TN_SHAPE (draw (1, 40000));
  TnValue *w = state (maker, shape), *v = state (maker, shape), *g = input (maker, TN_DTYPE_F32, shape), *lr = input (maker, TN_DTYPE_F32, TN_SHAPE_SCALAR);
  tn_graph_add_node (maker->graph, op, TN_IN (w, v, g, lr),
                     TN_ATTRS (tn_attr_float ("momentum", 0.9), tn_attr_bool ("use_nesterov", draw (0, 1)), tn_attr_float ("weight_decay", draw (0, 1) ? 0.01 : 0)));
}

static void
make_norm (Maker *maker, const char *op)
{
  TnValue *a = F32 (draw (1, 5000)), *b = F32 (draw (1, 30), draw (1, 30));
  tn_graph_add_node (maker->graph, op, TN_IN (a, b), TN_NO_ATTRS);
}

static const struct
{
  const char *op;
  void (*make) (Maker *maker, const char *op);
} makers[] = {
  { "Conv2D", make_conv }, { "FusedConv2D", make_conv }, { "Conv2DBackpropInput", make_conv }, { "FusedConv2DBackpropInput", make_conv },
  { "Conv2DBackpropFilter", make_conv }, { "FusedConv2DBackpropFilter", make_conv }, { "MatMul", make_dense }, { "FusedDense", make_dense },
  { "FusedDenseBackpropInput", make_dense }, { "FusedDenseBackpropWeight", make_dense }, { "BiasAdd", make_bias }, { "BiasAddGrad", make_bias },
  { "MaxPool", make_pool }, { "MaxPoolGrad", make_pool }, { "FusedMaxPoolReluGrad", make_pool },
  { "ReLU", make_flat }, { "ReLUGrad", make_flat }, { "Add", make_flat }, { "Mul", make_flat },
  { "SparseSoftmaxCrossEntropyWithLogits", make_loss }, { "ApplyMomentum", make_momentum }, { "GlobalNorm", make_norm },
};

/* ---- comparing ---- */

static TnTensor *
random_tensor (const TnValue *value, int classes)
{
  TnTensor *tensor = tn_tensor_new (value->dtype, value->shape, NULL);
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    tn_tensor_set (tensor, i, value->dtype == TN_DTYPE_I32 ? draw (0, classes - 1) : g_rand_double_range (rand_source, -1, 1));
  return tensor;
}

/* Differences are weighed against the largest value and the length of the sums. Terms lie in -1..1: where many become one, the
 * sum may be near 0 by chance, while its rounding is that of the terms. */
static void
compare (const TnNode *node, int output, TnTensor *want, const float *got)
{
  double largest = 0, worst = 0;
  int64_t longest = 1;
  for (int i = 0; i < node->n_inputs; i++)
    longest = MAX (longest, tn_shape_count (&node->inputs[i]->shape));
  for (int64_t i = 0; i < tn_tensor_count (want); i++)
    {
      largest = MAX (largest, fabs (tn_tensor_get (want, i)));
      worst = MAX (worst, fabs (tn_tensor_get (want, i) - (double) got[i]));
    }
  gboolean sums = tn_tensor_count (want) < tn_shape_count (&node->inputs[0]->shape);
  if (!(worst <= 2e-6 * sqrt ((double) longest) * MAX (largest, sums ? 0.1 : 1e-3)))
    {
      g_autofree char *shape = tn_shape_to_string (&node->inputs[0]->shape);
      g_error ("%s on %s, output %d: off by %g of %g", node->op->name, shape, output, worst, largest);
    }
}

static gboolean
run_one (int which, const TnCpuTarget *target, TnPool *pool)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraph) graph = tn_graph_new ("one");
  Maker maker = { .graph = graph, .labels = -1 };
  makers[which].make (&maker, makers[which].op);
  tn_graph_check (graph, &error);
  g_assert_no_error (error);
  const TnNode *node = tn_graph_node (graph, tn_graph_n_nodes (graph) - 1);
  if (tn_cpu_kernel_find (node, target) == NULL)
    return FALSE;
  for (int i = 0; i < node->n_outputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("output%d", i);
      tn_graph_add_output (graph, name, &node->outputs[i]);
    }
  TnTensor *tensors[8], *plain[8], *wants[TN_MAX_ARGS];
  const void *data[8];
  void *states[8];
  int n_data = 0, n_states = 0;
  for (int i = 0; i < maker.n_inputs; i++)
    {
      tensors[i] = random_tensor (maker.inputs[i], i == maker.labels ? maker.classes : 0);
      plain[i] = tn_tensor_cast (tensors[i], tensors[i]->dtype, NULL);
      if (tn_node_is_parameter (maker.inputs[i]->node))
        states[n_states++] = tn_tensor_data (tensors[i]);
      else
        data[n_data++] = tn_tensor_data (tensors[i]);
    }
  /* A pool's output is that of its input, or there is no winner. */
  if (strstr (node->op->name, "MaxPool") != NULL && node->n_inputs == 3)
    {
      g_autoptr (TnGraph) forward = tn_graph_new ("forward");
      TnValue *x = tn_graph_add_input (forward, "x", TN_DTYPE_F32, node->inputs[0]->shape);
      TnValue *y = tn_op (forward, "MaxPool", TN_IN (x), node->n_attrs, node->attrs);
      TnTensor *made;
      g_assert_true (tn_interpret_node (y->node, &plain[0], &made, NULL, &error));
      g_assert_true (tn_tensor_copy (plain[1], made, &error) && tn_tensor_copy (tensors[1], made, &error));
      tn_tensor_unref (made);
    }
  g_assert_true (tn_interpret_node (node, plain, wants, NULL, &error));
  g_autoptr (TnPlan) plan = tn_plan_new (graph, target, &error);
  g_assert_no_error (error);
  void *memory = g_aligned_alloc0 (1, tn_plan_bytes (plan, tn_pool_n_threads (pool)) + 64, 64);
  memset (memory, 0xff, tn_plan_bytes (plan, tn_pool_n_threads (pool))); /* NaN: nothing may be read before it is written */
  TnPlanRun run = { .pool = pool, .memory = memory, .inputs = data, .state = states };
  g_assert_true (tn_plan_run (plan, &run, 0, tn_plan_n_waves (plan), &error));
  for (int i = 0; i < node->n_outputs; i++)
    {
      compare (node, i, wants[i], tn_plan_output (plan, &run, i));
      tn_tensor_unref (wants[i]);
    }
  for (int i = 0; i < maker.n_inputs; i++)
    {
      tn_tensor_unref (tensors[i]);
      tn_tensor_unref (plain[i]);
    }
  g_aligned_free (memory);
  return TRUE;
}

static void
test_kernel (gconstpointer data)
{
  int which = GPOINTER_TO_INT (data), compared = 0;
  g_autoptr (TnPool) pool = tn_pool_new (2, NULL);
  tn_pool_enter_worker ();
  for (TnIsa isa = TN_ISA_SSE2; isa <= TN_ISA_AVX512; isa++)
    {
      TnCpuTarget target;
      if (!tn_isa_available (isa) || !tn_cpu_target_init (&target, isa, FALSE, NULL))
        continue;
      for (int round = 0; round < 40; round++)
        {
          wide_round = round % 8 == 7;
          compared += run_one (which, &target, pool);
        }
    }
  g_test_message ("compared %d random nodes", compared);
  g_assert_cmpint (compared, >, 20);
}

/* A kernel that no maker reaches would go unchecked. */
static void
test_every_kernel_has_a_check (void)
{
  for (int i = 0; i < tn_op_count (); i++)
    {
      const char *op = tn_op_at (i)->name;
      gboolean has = FALSE;
      for (gsize k = 0; k < G_N_ELEMENTS (makers); k++)
        has |= strcmp (makers[k].op, op) == 0;
      for (const TnCpuKernel *families[] = { tn_cpu_kernels_lanes, tn_cpu_kernels_flat, tn_cpu_kernels_optimizer }, **f = families;
           f < families + 3; f++)
        for (const TnCpuKernel *kernel = *f; kernel->op != NULL; kernel++)
          if (strcmp (kernel->op, op) == 0 && !has)
            g_error ("no random nodes for %s", op);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  uint32_t seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  rand_source = g_rand_new_with_seed (seed);
  for (gsize i = 0; i < G_N_ELEMENTS (makers); i++)
    {
      g_autofree char *path = g_strdup_printf ("/kernels/as-plain/%s", makers[i].op);
      g_test_add_data_func (path, GINT_TO_POINTER (i), test_kernel);
    }
  g_test_add_func ("/kernels/every-kernel-has-a-check", test_every_kernel_has_a_check);
  int status = g_test_run ();
  g_rand_free (rand_source);
  return status;
}
