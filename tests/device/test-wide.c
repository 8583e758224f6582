/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include "device/cpu/dnnl-conv.h"
#include "device/cpu/eager.h"
#include "device/cpu/plan.h"
#include "device/cpu/wide.h"
#include "ir/interpret.h"

/* Kernels of wide nets against the operators' plain kernels (ir/interpret.h) over random shapes, on every level this machine
 * runs; and that bits depend neither on threads nor on the mode. Set TENON_SEED to run a printed seed again. */

static GRand *rng;
static TnCpuTarget targets[3];
static int n_targets;

static int
pick (int lo, int hi)
{
  return g_rand_int_range (rng, lo, hi + 1);
}

static TnTensor *
random_tensor (const TnShape *shape, double lo, double hi)
{
  TnTensor *tensor = tn_tensor_new (TN_DTYPE_F32, *shape, NULL);
  float *x = tn_tensor_data (tensor);
  for (int64_t i = 0; i < tn_shape_count (shape); i++)
    x[i] = (float) g_rand_double_range (rng, lo, hi);
  return tensor;
}

/* A graph of one node and what it is run on: inputs, then parameters. */
typedef struct
{
  TnGraph *graph;
  TnValue *in[6];
  TnTensor *tensors[6];
  TnNode *node;
  int n_inputs, n_parameters;
} Case;

static TnValue *
add_input (Case *c, const TnShape shape, double lo, double hi)
{
  if (c->graph == NULL)
    c->graph = tn_graph_new ("case");
  g_autofree char *name = g_strdup_printf ("input%d", c->n_inputs);
  int i = c->n_inputs++;
  c->tensors[i] = random_tensor (&shape, lo, hi);
  return c->in[i] = tn_graph_add_input (c->graph, name, TN_DTYPE_F32, shape);
}

static TnValue *
add_parameter (Case *c, const TnShape shape, double lo, double hi)
{
  g_autofree char *name = g_strdup_printf ("parameter%d", c->n_parameters);
  int i = c->n_inputs + c->n_parameters++;
  c->tensors[i] = random_tensor (&shape, lo, hi);
  return c->in[i] = tn_graph_add_parameter (c->graph, name, TN_DTYPE_F32, shape, &(TnParameterInfo){ .init = "zeros" });
}

static void
finish (Case *c, TnValue *value)
{
  g_autoptr (GError) error = NULL;
  tn_graph_check (c->graph, &error);
  g_assert_no_error (error);
  c->node = value->node;
  for (int i = 0; i < c->node->n_outputs; i++)
    {
      g_autofree char *name = g_strdup_printf ("output%d", i);
      tn_graph_add_output (c->graph, name, &c->node->outputs[i]);
    }
}

static void
clear (Case *c)
{
  for (int i = 0; i < c->n_inputs + c->n_parameters; i++)
    tn_tensor_unref (c->tensors[i]);
  tn_graph_unref (c->graph);
}

/* The parameters as they are, for a run that may write them. */
static void
copy_parameters (const Case *c, TnTensor **copies)
{
  for (int i = 0; i < c->n_parameters; i++)
    {
      const TnTensor *from = c->tensors[c->n_inputs + i];
      copies[i] = tn_tensor_new (from->dtype, from->shape, NULL);
      memcpy (tn_tensor_data (copies[i]), tn_tensor_data (from), tn_tensor_bytes (from));
    }
}

/* Outputs by the plan on @threads, or by the plain kernels (@target NULL). */
static void
run (const Case *c, const TnCpuTarget *target, int threads, TnTensor **outputs)
{
  g_autoptr (GError) error = NULL;
  TnTensor *parameters[6];
  copy_parameters (c, parameters);
  if (target == NULL)
    {
      tn_interpret (c->graph, c->tensors, parameters, outputs, &(TnRandomState){ 0 }, &error);
      g_assert_no_error (error);
    }
  else
    {
      g_autoptr (TnPool) pool = tn_pool_new (threads, &error);
      g_autoptr (TnPlan) plan = tn_plan_new (c->graph, target, &error);
      g_assert_no_error (error);
      const void *inputs[6];
      void *state[6];
      for (int i = 0; i < c->n_inputs; i++)
        inputs[i] = tn_tensor_data (c->tensors[i]);
      for (int i = 0; i < c->n_parameters; i++)
        state[i] = tn_tensor_data (parameters[i]);
      size_t bytes = MAX (tn_plan_bytes (plan, threads), 64);
      char *memory = g_aligned_alloc (1, bytes, 64);
      memset (memory, 0xff, bytes); /* NaN: what is not written shows */
      TnPlanRun about = { .pool = pool, .memory = memory, .inputs = inputs, .state = state };
      tn_plan_run (plan, &about, 0, tn_plan_n_waves (plan), &error);
      g_assert_no_error (error);
      for (int i = 0; i < tn_graph_n_outputs (c->graph); i++)
        {
          const TnValue *value = tn_graph_output (c->graph, i).value;
          outputs[i] = tn_tensor_new (value->dtype, value->shape, NULL);
          memcpy (tn_tensor_data (outputs[i]), tn_plan_output (plan, &about, i), tn_tensor_bytes (outputs[i]));
        }
      g_aligned_free (memory);
    }
  for (int i = 0; i < c->n_parameters; i++)
    tn_tensor_unref (parameters[i]);
}

/* @kernel: the name of the kernel that is meant; FALSE if another one takes the node on some level. @tolerance: relative to
 * the largest element of an output. */
static gboolean
check (const Case *c, const char *kernel, double tolerance)
{
  TnTensor *expected[6];
  run (c, NULL, 1, expected);
  int n = tn_graph_n_outputs (c->graph);
  gboolean ours = TRUE;
  for (int t = 0; t < n_targets; t++)
    {
      const TnCpuKernel *found = tn_cpu_kernel_find (c->node, &targets[t]);
      if (found == NULL || strcmp (found->name, kernel) != 0)
        {
          ours = FALSE;
          continue;
        }
      TnTensor *first[6];
      run (c, &targets[t], 1, first);
      for (int threads = 2; threads <= 4; threads *= 2)
        {
          TnTensor *again[6];
          run (c, &targets[t], threads, again);
          for (int i = 0; i < n; i++)
            {
              g_assert_cmpmem (tn_tensor_data (again[i]), tn_tensor_bytes (again[i]), tn_tensor_data (first[i]), tn_tensor_bytes (first[i]));
              tn_tensor_unref (again[i]);
            }
        }
      for (int i = 0; i < n; i++)
        {
          const float *got = tn_tensor_data (first[i]), *want = tn_tensor_data (expected[i]);
          double largest = 1e-3;
          for (int64_t k = 0; k < tn_tensor_count (first[i]); k++)
            largest = MAX (largest, fabs (want[k]));
          for (int64_t k = 0; k < tn_tensor_count (first[i]); k++)
            if (!(fabs (got[k] - want[k]) <= tolerance * largest))
              g_error ("%s, %s, output %d at %d: %.9g, expected %.9g", c->node->op->name, tn_isa_name (targets[t].isa), i, (int) k, got[k], want[k]);
          tn_tensor_unref (first[i]);
        }
    }
  for (int i = 0; i < n; i++)
    tn_tensor_unref (expected[i]);
  return ours;
}

/* ---- convolutions ---- */

typedef struct
{
  int64_t n, c, h, w, o, oh, ow, kernel, stride[2], pad[4];
} Conv;

static Conv
random_conv (gboolean stem)
{
  static const int kernels[] = { 1, 3, 3, 5, 7 };
  Conv v = { .n = pick (1, 19), .c = stem ? pick (1, 4) : 16 * pick (2, 6), .o = 16 * pick (3, 6), .h = pick (5, 10), .w = pick (5, 10),
             .kernel = kernels[pick (0, 4)] };
  if (pick (0, 3) == 0)
    {
      v.o = 192;
      v.c = stem ? 3 : 128; /* weights in several chunks */
      v.kernel = MIN (v.kernel, 3);
    }
  v.stride[0] = v.stride[1] = pick (1, 2);
  for (int i = 0; i < 4; i++)
    v.pad[i] = pick (0, 2) == 0 ? pick (0, (int) v.kernel / 2) : v.kernel / 2;
  v.h = MAX (v.h, v.kernel - v.pad[0] - v.pad[1]); /* the window must fit */
  v.w = MAX (v.w, v.kernel - v.pad[2] - v.pad[3]);
  v.oh = (v.h + v.pad[0] + v.pad[1] - v.kernel) / v.stride[0] + 1;
  v.ow = (v.w + v.pad[2] + v.pad[3] - v.kernel) / v.stride[1] + 1;
  return v;
}

static Case
make_conv (const Conv *v, const char *op)
{
  Case c = { 0 };
  TnShape x = TN_SHAPE (v->n, v->c, v->h, v->w), w = TN_SHAPE (v->o, v->c, v->kernel, v->kernel), y = TN_SHAPE (v->n, v->o, v->oh, v->ow);
  gboolean fused = g_str_has_prefix (op, "Fused");
  TnAttr attrs[6] = { tn_attr_ints ("stride", 2, v->stride), tn_attr_string ("pad_mode", "pad"), tn_attr_ints ("pad", 4, v->pad) };
  int n = 3;
  TnValue *in[3];
  if (g_str_has_suffix (op, "Filter"))
    {
      in[0] = add_input (&c, y, -1, 1);
      in[1] = add_input (&c, x, -1, 1);
      attrs[n++] = tn_attr_ints ("filter_size", 4, w.dims);
    }
  else if (g_str_has_suffix (op, "Input"))
    {
      in[0] = add_input (&c, y, -1, 1);
      in[1] = add_input (&c, w, -1, 1);
      if (fused)
        in[2] = add_input (&c, x, -1, 1);
      attrs[n++] = tn_attr_ints ("input_size", 4, x.dims);
    }
  else
    {
      in[0] = add_input (&c, x, -1, 1);
      in[1] = add_input (&c, w, -1, 1);
      if (fused)
        {
          in[2] = add_input (&c, TN_SHAPE (v->o), -1, 1);
          attrs[n++] = tn_attr_bool ("relu", pick (0, 1));
        }
    }
  finish (&c, tn_op (c.graph, op, fused ? 3 : 2, in, n, attrs));
  return c;
}

static void
test_conv (gconstpointer data)
{
  const char *op = data;
  gboolean input = g_str_has_suffix (op, "Input");
  int taken = 0;
  for (int round = 0; round < 8; round++)
    {
      Conv v = random_conv (!input && round % 4 == 3);
      g_test_message ("%s n%d c%d %dx%d o%d k%d s%d pads %d %d %d %d", op, (int) v.n, (int) v.c, (int) v.h, (int) v.w, (int) v.o,
                      (int) v.kernel, (int) v.stride[0], (int) v.pad[0], (int) v.pad[1], (int) v.pad[2], (int) v.pad[3]);
      Case c = make_conv (&v, op);
      taken += check (&c, "onednn", 1e-5);
      clear (&c);
    }
  /* oneDNN has no kernel for some sizes, which are then left to others. */
  g_assert_cmpint (taken, >=, 4);
  Conv usual = { .n = 3, .c = 64, .h = 8, .w = 8, .o = 64, .oh = 8, .ow = 8, .kernel = 3, .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 } };
  Case c = make_conv (&usual, op);
  g_assert_true (check (&c, "onednn", 1e-5));
  clear (&c);
}

/* A row's forward and input gradient are the same whatever rows stand around it. */
static void
test_rows_alone (void)
{
  Conv v = { .n = 5, .c = 64, .h = 8, .w = 8, .o = 128, .oh = 8, .ow = 8, .kernel = 3, .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 } };
  Case all = make_conv (&v, "Conv2D");
  TnTensor *y, *alone;
  run (&all, &targets[0], 2, &y);
  v.n = 1;
  Case one = make_conv (&v, "Conv2D");
  for (int i = 0; i < 2; i++)
    memcpy (tn_tensor_data (one.tensors[i]),
            (const char *) tn_tensor_data (all.tensors[i]) + (i == 0 ? 3 * tn_tensor_bytes (one.tensors[0]) : 0), tn_tensor_bytes (one.tensors[i]));
  run (&one, &targets[0], 1, &alone);
  g_assert_cmpmem (tn_tensor_data (alone), tn_tensor_bytes (alone), (const char *) tn_tensor_data (y) + 3 * tn_tensor_bytes (alone),
                   tn_tensor_bytes (alone));
  tn_tensor_unref (y);
  tn_tensor_unref (alone);
  clear (&all);
  clear (&one);
}

/* ---- batch norm ---- */

static void
check_norm (int64_t channels, const char *kernel, const char *op, gboolean training, int64_t n, int64_t size, double around)
{
  Case c = { 0 };
  TnShape x = TN_SHAPE (n, channels, size, size + 1), by_channel = TN_SHAPE (channels);
  if (size == 0)
    x = TN_SHAPE (n, channels);
  gboolean grad = g_str_has_suffix (op, "Grad");
  TnValue *in[5];
  int k = 0;
  if (grad)
    in[k++] = add_input (&c, x, -1, 1);
  in[k++] = add_input (&c, x, around - 1, around + 1);
  in[k++] = add_input (&c, by_channel, 0.5, 2);
  if (grad)
    {
      in[k++] = add_input (&c, by_channel, around - 0.1, around + 0.1);
      in[k++] = add_input (&c, by_channel, 1, 2);
    }
  else
    {
      in[k++] = add_input (&c, by_channel, -1, 1);
      in[k++] = add_parameter (&c, by_channel, around - 0.1, around + 0.1);
      in[k++] = add_parameter (&c, by_channel, 0.5, 1);
    }
  finish (&c, tn_op (c.graph, op, 5, in, TN_ATTRS (tn_attr_bool ("is_training", training))));
  g_assert_true (check (&c, kernel, around == 0 ? 1e-5 : 1e-4));
  clear (&c);
}

static void
test_norm (gconstpointer data)
{
  for (int training = 0; training < 2; training++)
    for (int round = 0; round < 4; round++)
      {
        check_norm (16 * pick (3, 5), "blocked", data, training, pick (2, 20), pick (1, 9), 0);
        check_norm (pick (1, 21), "lanes", data, training, pick (2, 35), pick (0, 9), 0);
        check_norm (48, "blocked", data, training, pick (2, 20), 4, 100);
        check_norm (7, "lanes", data, training, pick (2, 20), 4, 100);
      }
}

/* ---- pools ---- */

/* Few distinct values, so that windows have several winners. */
static void
make_ties (TnTensor *tensor)
{
  float *x = tn_tensor_data (tensor);
  for (int64_t i = 0; i < tn_tensor_count (tensor); i++)
    x[i] = floorf (3 * x[i]);
}

static void
test_max_pool (void)
{
  for (int round = 0; round < 12; round++)
    {
      Case c = { 0 };
      int64_t kernel[] = { pick (1, 3), pick (1, 3) }, stride[] = { pick (1, 3), pick (1, 3) },
              pad[] = { pick (0, 1) * (kernel[0] / 2), 0, pick (0, 1) * (kernel[1] / 2), 0 };
      TnAttr attrs[] = { tn_attr_ints ("kernel_size", 2, kernel), tn_attr_ints ("strides", 2, stride), tn_attr_string ("pad_mode", "pad"),
                         tn_attr_ints ("pad", 4, pad) };
      TnValue *x = add_input (&c, TN_SHAPE (pick (1, 20), 16 * pick (3, 5), pick (3, 9), pick (3, 9)), -1, 1);
      make_ties (c.tensors[0]);
      TnValue *y = tn_op (c.graph, "MaxPool", 1, &x, G_N_ELEMENTS (attrs), attrs);
      if (round % 3 > 0)
        {
          TnTensor *pooled;
          finish (&c, y);
          run (&c, NULL, 1, &pooled);
          TnShape small = y->shape, large = x->shape;
          Case grad = { 0 };
          TnValue *in[] = { add_input (&grad, large, -1, 1), add_input (&grad, small, -1, 1), add_input (&grad, small, -1, 1) };
          memcpy (tn_tensor_data (grad.tensors[0]), tn_tensor_data (c.tensors[0]), tn_tensor_bytes (c.tensors[0]));
          memcpy (tn_tensor_data (grad.tensors[1]), tn_tensor_data (pooled), tn_tensor_bytes (pooled));
          finish (&grad, tn_op (grad.graph, round % 3 == 1 ? "MaxPoolGrad" : "FusedMaxPoolReluGrad", 3, in, G_N_ELEMENTS (attrs), attrs));
          g_assert_true (check (&grad, "blocked", 1e-6));
          clear (&grad);
          tn_tensor_unref (pooled);
        }
      else
        {
          finish (&c, y);
          g_assert_true (check (&c, "blocked", 0));
        }
      clear (&c);
    }
}

/* ---- modes ---- */

/* conv - norm - relu - conv - norm - add - relu, loss = sum of y * weights, and its gradients, in both modes. */
static void
test_residual_modes (void)
{
  Case c = { 0 };
  int64_t stride[] = { 1, 1 }, pad[] = { 1, 1, 1, 1 };
  TnShape image = TN_SHAPE (18, 48, 6, 6), weights = TN_SHAPE (48, 48, 3, 3);
  TnValue *x = add_input (&c, image, -1, 1), *w = add_input (&c, weights, -0.1, 0.1), *gamma = add_input (&c, TN_SHAPE (48), 0.5, 1),
          *beta = add_input (&c, TN_SHAPE (48), -1, 1);
  TnValue *mean = add_parameter (&c, TN_SHAPE (48), 0, 1), *variance = add_parameter (&c, TN_SHAPE (48), 1, 2);
  TnAttr conv[] = { tn_attr_ints ("stride", 2, stride), tn_attr_string ("pad_mode", "pad"), tn_attr_ints ("pad", 4, pad),
                    tn_attr_ints ("input_size", 4, image.dims) };
  TnAttr filter[] = { conv[0], conv[1], conv[2], tn_attr_ints ("filter_size", 4, weights.dims) };
  TnValue *a = tn_op (c.graph, "Conv2D", TN_IN (x, w), 3, conv);
  TnValue *n = tn_op (c.graph, "BatchNorm", TN_IN (a, gamma, beta, mean, variance), TN_ATTRS (tn_attr_bool ("is_training", TRUE)));
  TnValue *s = tn_op (c.graph, "Add", TN_IN (n, x), TN_NO_ATTRS);
  TnValue *y = tn_op (c.graph, "ReLU", TN_IN (s), TN_NO_ATTRS);
  TnValue *dy = tn_op (c.graph, "ReLUGrad", TN_IN (y, y), TN_NO_ATTRS);
  TnValue *dn = tn_op (c.graph, "BatchNormGrad", TN_IN (dy, a, gamma, tn_value_sibling (n, 3), tn_value_sibling (n, 4)),
                       TN_ATTRS (tn_attr_bool ("is_training", TRUE)));
  TnValue *outputs[] = { y, dn, tn_value_sibling (dn, 1), tn_op (c.graph, "Conv2DBackpropInput", TN_IN (dn, w), 4, conv),
                         tn_op (c.graph, "Conv2DBackpropFilter", TN_IN (dn, x), 4, filter) };
  g_autoptr (GError) error = NULL;
  tn_graph_check (c.graph, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < G_N_ELEMENTS (outputs); i++)
    tn_graph_add_output (c.graph, "y", outputs[i]);
  for (int t = 0; t < n_targets; t++)
    {
      TnTensor *planned[6], *parameters[2];
      run (&c, &targets[t], 2, planned);
      copy_parameters (&c, parameters);
      g_autoptr (TnEagerCache) cache = tn_eager_cache_new ();
      TnEager *eager = tn_eager_new (c.graph, &targets[t], NULL, cache);
      for (int i = 0; i < c.n_inputs + c.n_parameters; i++)
        tn_eager_bind (eager, c.in[i], i < c.n_inputs ? c.tensors[i] : parameters[i - c.n_inputs]);
      for (gsize i = 0; i < G_N_ELEMENTS (outputs); i++)
        {
          TnTensor *value = tn_eager_value (eager, outputs[i], &error);
          g_assert_no_error (error);
          g_assert_cmpmem (tn_tensor_data (value), tn_tensor_bytes (value), tn_tensor_data (planned[i]), tn_tensor_bytes (planned[i]));
          tn_tensor_unref (planned[i]);
        }
      tn_eager_free (eager);
      for (int i = 0; i < 2; i++)
        tn_tensor_unref (parameters[i]);
    }
  clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  const char *text = g_getenv ("TENON_SEED");
  guint32 seed = text != NULL ? (guint32) g_ascii_strtoull (text, NULL, 10) : g_random_int ();
  rng = g_rand_new_with_seed (seed);
  g_test_message ("TENON_SEED=%u, oneDNN %s", seed, tn_dnnl_version ());
  tn_pool_enter_worker ();
  for (TnIsa isa = TN_ISA_SSE2; isa <= TN_ISA_AVX512; isa++)
    if (tn_isa_available (isa) && tn_cpu_target_init (&targets[n_targets], isa, TRUE, NULL))
      n_targets++;
  static const char *const convs[] = { "Conv2D", "FusedConv2D", "Conv2DBackpropInput", "FusedConv2DBackpropInput", "Conv2DBackpropFilter" };
  for (gsize i = 0; i < G_N_ELEMENTS (convs); i++)
    {
      g_autofree char *path = g_strdup_printf ("/device/wide/%s-agrees-with-plain", convs[i]);
      g_test_add_data_func (path, convs[i], test_conv);
    }
  g_test_add_func ("/device/wide/a-row-does-not-depend-on-others", test_rows_alone);
  g_test_add_data_func ("/device/wide/BatchNorm-agrees-with-plain", "BatchNorm", test_norm);
  g_test_add_data_func ("/device/wide/BatchNormGrad-agrees-with-plain", "BatchNormGrad", test_norm);
  g_test_add_func ("/device/wide/MaxPool-and-its-gradients-agree-with-plain", test_max_pool);
  g_test_add_func ("/device/wide/both-modes-give-the-same-bits", test_residual_modes);
  int status = g_test_run ();
  g_rand_free (rng);
  return status;
}
