/* SPDX-License-Identifier: Apache-2.0 */
/* The plan against the interpreter, against PYNATIVE mode, and against itself with other threads. The oracle is the plain
 * kernels (checked against other frameworks in tests/ops) and the law that nothing may change a bit. */
#include "base/philox.h"
#include "device/cpu/eager.h"
#include "device/cpu/plan.h"
#include "device/cpu/tap.h"
#include "ir/autodiff.h"
#include "ir/interpret.h"
#include "ir/memory-plan.h"
#include "ir/passes.h"
#include "train/program.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting allocations ---- */

static _Atomic int64_t n_allocations;

void *
malloc (size_t size)
{
  static void *(*real) (size_t);
  if (real == NULL)
    real = (void *(*) (size_t)) dlsym (RTLD_NEXT, "malloc");
  n_allocations++;
  return real (size);
}

/* ---- programs ---- */

static TnProgram *
new_program (const char *preset, int batch, int threads, const char *mode)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_new_preset (preset, &error);
  g_assert_no_error (error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autofree char *text = g_strdup_printf ("{\"train.batch\": %d, \"device.threads\": %d, \"device.mode\": \"%s\", \"train.seed\": 3}", batch, threads, mode);
  g_autoptr (JsonNode) node = json_from_string (text, &error);
  g_assert_no_error (error);
  tn_settings_from_json (settings, json_node_get_object (node), NULL, &error);
  g_assert_no_error (error);
  TnProgram *program = tn_program_new (model, settings, &error);
  g_assert_no_error (error);
  return program;
}

typedef struct
{
  float *x;
  int32_t *labels;
  TnProgramBatch batch;
} Rows;

static Rows
new_rows (const char *preset, int n, int seed)
{
  g_autoptr (TnModel) model = tn_model_new_preset (preset, NULL);
  TnShape shape = tn_model_batch_shape (model, n);
  Rows rows = { g_new (float, tn_shape_count (&shape)), g_new (int32_t, n), { .n = n } };
  tn_philox_normal (tn_philox_key ((uint64_t) seed, "rows", 0), 0, 0, (size_t) tn_shape_count (&shape), rows.x);
  for (int i = 0; i < n; i++)
    rows.labels[i] = (i * 7 + seed) % 10;
  rows.batch.x = rows.x;
  rows.batch.labels = rows.labels;
  return rows;
}

static void
free_rows (Rows *rows)
{
  g_free (rows->x);
  g_free (rows->labels);
}

static double
step (TnProgram *program, const Rows *rows, int64_t number)
{
  g_autoptr (GError) error = NULL;
  TnStepResult result;
  tn_program_forward_backward (program, &rows->batch, number, &result, &error);
  g_assert_no_error (error);
  tn_program_update (program, 0.01, number, &error);
  g_assert_no_error (error);
  return result.loss;
}

static void
assert_same_state (const TnProgram *a, const TnProgram *b)
{
  g_assert_cmpint (tn_program_n_state (a), ==, tn_program_n_state (b));
  for (int i = 0; i < tn_program_n_state (a); i++)
    {
      const TnStateEntry *x = tn_program_state (a, i), *y = tn_program_find_state (b, x->name);
      g_assert_nonnull (y);
      if (memcmp (tn_tensor_data (x->tensor), tn_tensor_data (y->tensor), tn_tensor_bytes (x->tensor)) != 0)
        g_error ("%s differs", x->name);
    }
}

typedef struct
{
  const char *preset;
  int batch, steps;
} Case;

/* Full, partial and more than one chunk of slices. */
static const Case cases[] = {
  { "lenet5", 32, 5 }, { "lenet5", 23, 5 }, { "lenet5", 200, 2 }, { "mlp", 128, 4 }, { "mlp", 40, 3 }, { "small-cnn", 48, 3 }, { "resnet18-cifar", 4, 1 },
};

static void
test_modes_give_the_same_bits (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (TnProgram) graph = new_program (c->preset, c->batch, 2, "graph");
  g_autoptr (TnProgram) pynative = new_program (c->preset, c->batch, 1, "pynative");
  Rows rows = new_rows (c->preset, c->batch, 1);
  for (int i = 0; i < c->steps; i++)
    {
      double a = step (graph, &rows, i), b = step (pynative, &rows, i);
      g_assert_cmpfloat (a, ==, b);
    }
  assert_same_state (graph, pynative);
  free_rows (&rows);
}

static void
test_threads_give_the_same_bits (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (TnProgram) one = new_program (c->preset, c->batch, 1, "graph");
  Rows rows = new_rows (c->preset, c->batch, 2);
  for (int i = 0; i < c->steps; i++)
    step (one, &rows, i);
  for (int threads = 2; threads <= 4; threads += 2)
    {
      g_autoptr (TnProgram) many = new_program (c->preset, c->batch, threads, "graph");
      for (int i = 0; i < c->steps; i++)
        step (many, &rows, i);
      assert_same_state (one, many);
    }
  free_rows (&rows);
}

static void
test_modes_can_be_switched_between_steps (void)
{
  g_autoptr (TnProgram) mixed = new_program ("lenet5", 32, 2, "graph");
  g_autoptr (TnProgram) pure = new_program ("lenet5", 32, 2, "graph");
  Rows rows = new_rows ("lenet5", 32, 3);
  for (int i = 0; i < 6; i++)
    {
      tn_program_set_mode (mixed, i % 2 == 0 ? TN_MODE_GRAPH : TN_MODE_PYNATIVE);
      g_assert_cmpfloat (step (mixed, &rows, i), ==, step (pure, &rows, i));
    }
  assert_same_state (mixed, pure);
  free_rows (&rows);
}

/* The training graph's outputs by plan and by interpreter: float32 against plain kernels that sum in double. */
static void
test_plan_agrees_with_the_plain_kernels (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProgram) program = new_program (c->preset, c->batch, 2, "graph");
  Rows rows = new_rows (c->preset, c->batch, 4);
  g_autoptr (TnGraph) built = tn_program_graph (program, c->batch, FALSE, &error);
  int n_inputs = tn_graph_n_inputs (built), n_state = tn_graph_n_parameters (built), n_outputs = tn_graph_n_outputs (built);
  g_autofree TnTensor **inputs = g_new0 (TnTensor *, n_inputs), **state = g_new0 (TnTensor *, n_state), **outputs = g_new0 (TnTensor *, n_outputs);
  for (int i = 0; i < n_inputs; i++)
    {
      const TnValue *value = tn_graph_input (built, i);
      inputs[i] = tn_tensor_new (value->dtype, value->shape, NULL);
      if (strcmp (value->node->name, "x") == 0)
        memcpy (tn_tensor_data (inputs[i]), rows.x, tn_tensor_bytes (inputs[i]));
      else if (strcmp (value->node->name, "labels") == 0)
        memcpy (tn_tensor_data (inputs[i]), rows.labels, tn_tensor_bytes (inputs[i]));
      else
        tn_tensor_set (inputs[i], 0, strcmp (value->node->name, "lr") == 0 ? 0.01 : 1);
    }
  for (int i = 0; i < n_state; i++)
    state[i] = tn_tensor_cast (tn_program_find_state (program, tn_graph_parameter (built, i)->node->name)->tensor, TN_DTYPE_F32, NULL);
  TnRandomState random = { .seed = 3 };
  tn_interpret (built, inputs, state, outputs, &random, &error);
  g_assert_no_error (error);

  TnStepResult result;
  tn_program_forward_backward (program, &rows.batch, 0, &result, &error);
  g_assert_no_error (error);
  for (int i = 0; i < n_outputs; i++)
    {
      TnNamedValue output = tn_graph_output (built, i);
      if (!g_str_has_prefix (output.name, "grad:"))
        continue;
      g_autoptr (TnTensor) got = tn_program_gradient (program, output.name + strlen ("grad:"), &error);
      g_assert_no_error (error);
      double largest = 0, worst = 0;
      for (int64_t k = 0; k < tn_tensor_count (got); k++)
        {
          largest = MAX (largest, fabs (tn_tensor_get (outputs[i], k)));
          worst = MAX (worst, fabs (tn_tensor_get (outputs[i], k) - tn_tensor_get (got, k)));
        }
      if (worst > 2e-4 * largest + 1e-7)
        g_error ("%s: off by %g of %g", output.name, worst, largest);
    }
  for (int i = 0; i < n_inputs; i++)
    tn_tensor_unref (inputs[i]);
  for (int i = 0; i < n_state; i++)
    tn_tensor_unref (state[i]);
  for (int i = 0; i < n_outputs; i++)
    tn_tensor_unref (outputs[i]);
  free_rows (&rows);
}

static void
test_a_step_allocates_nothing (void)
{
  g_autoptr (TnProgram) program = new_program ("lenet5", 32, 2, "graph");
  Rows rows = new_rows ("lenet5", 32, 5);
  step (program, &rows, 0);
  int64_t before = n_allocations;
  for (int i = 1; i < 50; i++)
    step (program, &rows, i);
  g_assert_cmpint (n_allocations - before, ==, 0);
  g_assert_cmpint (before, >, 0); /* the count counts */
  free_rows (&rows);
}

/* ---- memory ---- */

static void
test_memory_plan_never_overlaps (void)
{
  uint32_t seed = g_random_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (int round = 0; round < 200; round++)
    {
      TnMemoryBlock blocks[60];
      int n = g_rand_int_range (rand, 1, 60);
      size_t bound = 0, at[60] = { 0 };
      for (int i = 0; i < n; i++)
        {
          int first = g_rand_int_range (rand, 0, 50), last = first + g_rand_int_range (rand, 0, 10);
          blocks[i] = (TnMemoryBlock){ .size = (size_t) g_rand_int_range (rand, 0, 5000), .first = first, .last = MIN (last, 59) };
          for (int t = blocks[i].first; t <= blocks[i].last; t++)
            at[t] += blocks[i].size;
        }
      for (int t = 0; t < 60; t++)
        bound = MAX (bound, at[t]);
      size_t total = tn_memory_plan (blocks, n, 64);
      g_assert_true (tn_memory_plan_is_sound (blocks, n));
      g_assert_cmpuint (total, >=, bound); /* what is alive at once must fit */
      for (int i = 0; i < n; i++)
        {
          g_assert_cmpuint (blocks[i].offset % 64, ==, 0);
          g_assert_cmpuint (blocks[i].offset + blocks[i].size, <=, total);
        }
    }
}

/* ---- passes ---- */

static gboolean
accept_all (const TnNode *fused, gpointer data)
{
  return TRUE;
}

/* Every pass keeps the values: fused rows run as their composition, so even the bits. */
static void
test_passes_keep_the_values (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraph) graph = tn_graph_new ("passes");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F64, TN_SHAPE (4, 1, 8, 8));
  TnValue *labels = tn_graph_add_input (graph, "labels", TN_DTYPE_I32, TN_SHAPE (4));
  TnParameterInfo info = { .init = "zeros" };
  TnValue *w = tn_graph_add_parameter (graph, "w", TN_DTYPE_F64, TN_SHAPE (3, 1, 3, 3), &info);
  TnValue *b = tn_graph_add_parameter (graph, "b", TN_DTYPE_F64, TN_SHAPE (3), &info);
  TnValue *v = tn_graph_add_parameter (graph, "v", TN_DTYPE_F64, TN_SHAPE (5, 27), &info);
  const int64_t two[] = { 2, 2 }, one[] = { 1, 1 };
  TnValue *y = tn_op (graph, "Conv2D", TN_IN (x, w), TN_ATTRS (tn_attr_ints ("stride", 2, one), tn_attr_string ("pad_mode", "valid")));
  y = tn_op (graph, "ReLU", TN_IN (tn_op (graph, "BiasAdd", TN_IN (y, b), TN_NO_ATTRS)), TN_NO_ATTRS);
  y = tn_op (graph, "MaxPool", TN_IN (y), TN_ATTRS (tn_attr_ints ("kernel_size", 2, two), tn_attr_ints ("strides", 2, two), tn_attr_string ("pad_mode", "valid")));
  y = tn_op (graph, "Flatten", TN_IN (y), TN_NO_ATTRS);
  y = tn_op (graph, "MatMul", TN_IN (y, v), TN_ATTRS (tn_attr_bool ("transpose_b", TRUE)));
  TnValue *dead = tn_op (graph, "Exp", TN_IN (y), TN_NO_ATTRS);
  TnValue *twice = tn_op (graph, "Add", TN_IN (tn_op (graph, "Sin", TN_IN (y), TN_NO_ATTRS), tn_op (graph, "Sin", TN_IN (y), TN_NO_ATTRS)), TN_NO_ATTRS);
  TnValue *three = tn_op (graph, "Add", TN_IN (tn_graph_add_scalar (graph, TN_DTYPE_F64, 1), tn_graph_add_scalar (graph, TN_DTYPE_F64, 2)), TN_NO_ATTRS);
  TnValue *loss = tn_op (graph, "SparseSoftmaxCrossEntropyWithLogits", TN_IN (tn_op (graph, "Mul", TN_IN (twice, three), TN_NO_ATTRS), labels), TN_NO_ATTRS);
  loss = tn_op (graph, "ReduceMean", TN_IN (loss), TN_NO_ATTRS);
  TnValue *wanted[] = { w, b, v }, *gradients[3];
  g_assert_true (tn_graph_add_gradients (graph, loss, NULL, 3, wanted, gradients) || !tn_graph_check (graph, &error));
  g_assert_no_error (error);
  g_assert_nonnull (dead);
  tn_graph_add_output (graph, "loss", loss);
  for (int i = 0; i < 3; i++)
    tn_graph_add_output (graph, wanted[i]->node->name, gradients[i]);

  g_autoptr (TnGraph) optimized = tn_passes_run (graph, accept_all, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  int fused = 0, sines = 0;
  for (int id = 0; id < tn_graph_n_nodes (optimized); id++)
    {
      const TnNode *node = tn_graph_node (optimized, id);
      fused += g_str_has_prefix (node->op->name, "Fused");
      sines += tn_node_is (node, "Sin");
      g_assert_false (tn_node_is (node, "Exp"));
      g_assert_cmpint (node->from, <, tn_graph_n_nodes (graph));
    }
  g_assert_cmpint (sines, ==, 1);
  g_assert_cmpint (fused, >=, 3);

  TnTensor *in[2], *state[3], *a[4], *c[4];
  in[0] = tn_tensor_new (TN_DTYPE_F64, TN_SHAPE (4, 1, 8, 8), NULL);
  in[1] = tn_tensor_new_from (TN_DTYPE_I32, TN_SHAPE (4), (int32_t[]){ 0, 3, 4, 1 });
  for (int i = 0; i < 3; i++)
    state[i] = tn_tensor_new (TN_DTYPE_F64, wanted[i]->shape, NULL);
  for (int i = 0; i < 4; i++)
    {
      TnTensor *t = i < 3 ? state[i] : in[0];
      for (int64_t k = 0; k < tn_tensor_count (t); k++)
        tn_tensor_set (t, k, sin (1 + i + (double) k * 0.7));
    }
  tn_interpret (graph, in, state, a, NULL, &error);
  g_assert_no_error (error);
  tn_interpret (optimized, in, state, c, NULL, &error);
  g_assert_no_error (error);
  for (int i = 0; i < 4; i++)
    {
      g_assert_cmpmem (tn_tensor_data (a[i]), tn_tensor_bytes (a[i]), tn_tensor_data (c[i]), tn_tensor_bytes (c[i]));
      tn_tensor_unref (a[i]);
      tn_tensor_unref (c[i]);
    }
  for (int i = 0; i < 3; i++)
    tn_tensor_unref (state[i]);
  tn_tensor_unref (in[0]);
  tn_tensor_unref (in[1]);
}

/* ---- taps and hooks ---- */

static void
test_taps_read_what_pynative_has (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProgram) program = new_program ("lenet5", 40, 2, "graph");
  Rows rows = new_rows ("lenet5", 40, 6);
  g_autoptr (TnTapSet) taps = tn_tap_set_new (tn_program_plan (program, 40, &error));
  static const char *const names[] = { "Default/network-LeNet5/pool1-MaxPool2d/MaxPool-op0", "Default/network-LeNet5/pool1-MaxPool2d/FusedMaxPoolReluGrad-op0",
                                       "Default/network-LeNet5/conv2-Conv2d/FusedConv2DBackpropFilter-op0" };
  int tap[3];
  for (int i = 0; i < 3; i++)
    {
      tap[i] = tn_tap_set_add (taps, names[i], 0, &error);
      g_assert_no_error (error);
    }
  tn_program_set_span_hook (program, tn_tap_set_hook (taps));
  TnStepResult result;
  g_assert_true (tn_program_forward_backward (program, &rows.batch, 0, &result, &error));

  g_autoptr (TnTensor) gradient = tn_program_gradient (program, "conv2.weight", &error);
  TnTensor *tapped = tn_tap_set_value (taps, tap[2]);
  g_assert_cmpmem (tn_tensor_data (gradient), tn_tensor_bytes (gradient), tn_tensor_data (tapped), tn_tensor_bytes (tapped));

  g_autoptr (TnGraph) built = tn_program_graph (program, 40, FALSE, &error);
  g_autoptr (TnEagerCache) cache = tn_eager_cache_new ();
  TnCpuTarget target;
  g_assert_true (tn_cpu_target_init (&target, TN_ISA_AUTO, FALSE, &error));
  g_autoptr (TnEager) eager = tn_eager_new (built, &target, NULL, cache);
  float lr = 0;
  int64_t number = 1;
  const void *inputs[] = { rows.x, rows.labels, &lr, &number };
  for (int i = 0; i < tn_graph_n_inputs (built); i++)
    {
      const TnValue *value = tn_graph_input (built, i);
      g_autoptr (TnTensor) tensor = tn_tensor_new_external (value->dtype, value->shape, (void *) inputs[i], NULL, NULL);
      tn_eager_bind (eager, value, tensor);
    }
  for (int i = 0; i < tn_graph_n_parameters (built); i++)
    tn_eager_bind (eager, tn_graph_parameter (built, i), tn_program_find_state (program, tn_graph_parameter (built, i)->node->name)->tensor);
  for (int id = 0; id < tn_graph_n_nodes (built); id++)
    {
      const TnNode *node = tn_graph_node (built, id);
      int which = strcmp (node->name, names[0]) == 0 ? 0 : tn_node_is (node, "ReLUGrad") && g_str_has_suffix (node->scope, "relu1-ReLU") ? 1 : -1;
      if (which < 0)
        continue;
      TnTensor *want = tn_eager_value (eager, &node->outputs[0], &error);
      g_assert_no_error (error);
      TnTensor *got = tn_tap_set_value (taps, tap[which]);
      g_assert_cmpmem (tn_tensor_data (want), tn_tensor_bytes (want), tn_tensor_data (got), tn_tensor_bytes (got));
    }
  g_assert_cmpint (tn_tap_set_add (taps, "Default/network-LeNet5/conv1-Conv2d/Conv2D-op0", 0, &error), ==, -1);
  g_assert_nonnull (strstr (error->message, "FusedConv2D"));
  tn_program_set_span_hook (program, NULL);
  free_rows (&rows);
}

static void
count_begin (void *data, const TnPlan *plan, int call, int64_t slice, int worker)
{
  __atomic_fetch_add ((int *) data, 1, __ATOMIC_RELAXED);
}

static void
count_end (void *data, const TnPlan *plan, int call, int64_t slice, int worker, const TnCpuCall *values)
{
  __atomic_fetch_add ((int *) data + 1, 1, __ATOMIC_RELAXED);
}

static void
test_span_hook_surrounds_every_call (void)
{
  g_autoptr (TnProgram) program = new_program ("lenet5", 32, 2, "graph");
  Rows rows = new_rows ("lenet5", 32, 7);
  int counts[2] = { 0 };
  TnSpanHook hook = { count_begin, count_end, counts };
  tn_program_set_span_hook (program, &hook);
  step (program, &rows, 0);
  g_assert_cmpint (counts[0], ==, counts[1]);
  g_assert_cmpint (counts[0], >=, tn_plan_n_calls (tn_program_plan (program, 32, NULL)));
  free_rows (&rows);
}

static void
empty_begin (void *data, const TnPlan *plan, int call, int64_t slice, int worker)
{
}

static void
empty_end (void *data, const TnPlan *plan, int call, int64_t slice, int worker, const TnCpuCall *values)
{
}

/* An upper bound of what a hook that is off costs: the same steps in turn without one and with one whose functions are empty; the
 * least time of many steps each, more of them where a busy machine spoils the first. With a hook a call of the plan makes six
 * jumps more than without any (two tests, two calls, two returns), of which a hook that is off makes the two tests, which the
 * processor foresees: a third, at most. */
static void
test_span_hook_off_costs_nothing (void)
{
  g_autoptr (TnProgram) program = new_program ("lenet5", 32, 1, "graph");
  Rows rows = new_rows ("lenet5", 32, 8);
  TnSpanHook hook = { empty_begin, empty_end, NULL };
  double cost = INFINITY, best[2] = { INFINITY, INFINITY };
  for (int round = 0; round < 12 && !(fabs (cost) / 3 < 0.005); round++) /* far below 0 is noise too */
    {
      for (int i = 0; i < 120; i++)
        {
          tn_program_set_span_hook (program, i % 2 ? &hook : NULL);
          gint64 begin = g_get_monotonic_time ();
          for (int k = 0; k < 3; k++)
            step (program, &rows, i);
          best[i % 2] = MIN (best[i % 2], (double) (g_get_monotonic_time () - begin));
        }
      cost = best[1] / best[0] - 1;
    }
  tn_program_set_span_hook (program, NULL);
  g_test_message ("a hook of empty functions costs %.3f %% of a step, one that is off %.3f %% at most", cost * 100, cost / 3 * 100);
  if (g_getenv ("TENON_SANITIZED") == NULL)
    g_assert_cmpfloat (cost / 3, <, 0.005);
  free_rows (&rows);
}

/* ---- PYNATIVE ---- */

static gboolean
stop_at (const TnNode *node, gpointer data)
{
  return node == NULL || node->id != *(int *) data;
}

static void
test_breakpoint_stops_between_any_two_operators (void)
{
  g_autoptr (GError) error = NULL;
  TnCpuTarget target;
  g_assert_true (tn_cpu_target_init (&target, TN_ISA_AUTO, FALSE, &error));
  g_autoptr (TnEagerCache) cache = tn_eager_cache_new ();
  g_autoptr (TnGraph) graph = tn_graph_new ("stops");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2, 3));
  TnValue *y = x;
  for (int i = 0; i < 6; i++)
    y = tn_op (graph, i % 2 ? "ReLU" : "Neg", TN_IN (y), TN_NO_ATTRS);
  g_autoptr (TnTensor) value = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (2, 3), (float[]){ 1, -2, 3, -4, 5, -6 });
  for (int stop = 1; stop < tn_graph_n_nodes (graph); stop++)
    {
      g_autoptr (TnEager) eager = tn_eager_new (graph, &target, NULL, cache);
      tn_eager_bind (eager, x, value);
      tn_eager_set_breakpoint (eager, stop_at, &stop);
      g_assert_true (tn_eager_run (eager, &error));
      g_assert_cmpint (tn_eager_position (eager), ==, stop);
      g_assert_nonnull (tn_eager_value (eager, &tn_graph_node (graph, stop - 1)->outputs[0], &error));
      g_assert_null (tn_eager_value (eager, y, NULL));
      tn_eager_set_breakpoint (eager, NULL, NULL);
      g_assert_true (tn_eager_run (eager, &error));
      g_assert_cmpint (tn_eager_position (eager), ==, tn_graph_n_nodes (graph));
    }
}

/* y = a x where the mean of x is positive, else y = exp (b) x: which operators run depends on the values of the step, and so
 * does which parameter learns. Targets are 3 x and 0.5 x. */
static void
test_value_dependent_model_trains_in_pynative (void)
{
  g_autoptr (GError) error = NULL;
  TnCpuTarget target;
  g_assert_true (tn_cpu_target_init (&target, TN_ISA_AUTO, FALSE, &error));
  g_autoptr (TnEagerCache) cache = tn_eager_cache_new ();
  g_autoptr (TnTensor) a = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (1), (float[]){ 1 });
  g_autoptr (TnTensor) b = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (1), (float[]){ 0 });
  int taken[2] = { 0 };
  for (int number = 0; number < 300; number++)
    {
      g_autoptr (TnTensor) batch = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (16, 1), &error);
      tn_philox_uniform (tn_philox_key (9, "x", 0), (uint64_t) number, 0, 16, tn_tensor_data (batch));
      float *values = tn_tensor_data (batch);
      gboolean positive = number % 3 != 0;
      for (int i = 0; i < 16; i++)
        values[i] = positive ? values[i] + 0.1f : -values[i] - 0.1f;

      g_autoptr (TnGraph) tape = tn_graph_new ("dependent");
      g_autoptr (TnEager) eager = tn_eager_new (tape, &target, NULL, cache);
      TnParameterInfo info = { .init = "zeros" };
      TnValue *x = tn_graph_add_input (tape, "x", TN_DTYPE_F32, TN_SHAPE (16, 1));
      TnValue *pa = tn_graph_add_parameter (tape, "a", TN_DTYPE_F32, TN_SHAPE (1), &info);
      TnValue *pb = tn_graph_add_parameter (tape, "b", TN_DTYPE_F32, TN_SHAPE (1), &info);
      tn_eager_bind (eager, x, batch);
      tn_eager_bind (eager, pa, a);
      tn_eager_bind (eager, pb, b);
      TnValue *mean = tn_op (tape, "ReduceMean", TN_IN (x), TN_NO_ATTRS);
      gboolean branch = tn_tensor_get (tn_eager_value (eager, mean, &error), 0) > 0; /* read in the middle of the step */
      taken[branch]++;
      TnValue *factor = branch ? pa : tn_op (tape, "Exp", TN_IN (pb), TN_NO_ATTRS);
      TnValue *y = tn_op (tape, "Mul", TN_IN (x, factor), TN_NO_ATTRS);
      TnValue *want = tn_op (tape, "Mul", TN_IN (x, tn_graph_add_scalar (tape, TN_DTYPE_F32, branch ? 3 : 0.5)), TN_NO_ATTRS);
      TnValue *loss = tn_op (tape, "ReduceMean", TN_IN (tn_op (tape, "Square", TN_IN (tn_op (tape, "Sub", TN_IN (y, want), TN_NO_ATTRS)), TN_NO_ATTRS)), TN_NO_ATTRS);
      TnValue *wanted[] = { pa, pb }, *gradients[2];
      g_assert_true (tn_graph_add_gradients (tape, loss, NULL, 2, wanted, gradients));
      for (int k = 0; k < 2; k++)
        {
          TnTensor *gradient = tn_eager_value (eager, gradients[k], &error);
          g_assert_no_error (error);
          g_assert_cmpfloat (branch == (k == 0) ? 1 : fabs (tn_tensor_get (gradient, 0)), ==, branch == (k == 0) ? 1 : 0);
          TnTensor *parameter = k == 0 ? a : b;
          tn_tensor_set (parameter, 0, tn_tensor_get (parameter, 0) - 0.5 * tn_tensor_get (gradient, 0));
        }
    }
  g_assert_cmpint (taken[0], ==, 100);
  g_assert_cmpint (taken[1], ==, 200);
  g_assert_cmpfloat_with_epsilon (tn_tensor_get (a, 0), 3, 1e-3);
  g_assert_cmpfloat_with_epsilon (exp (tn_tensor_get (b, 0)), 0.5, 1e-3);
}

/* ---- control flow ---- */

static TnGraph *
scale_graph (double factor)
{
  TnGraph *graph = tn_graph_new (factor > 1 ? "grow" : "shrink");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2));
  tn_graph_add_output (graph, "y", tn_op (graph, "Mul", TN_IN (x, tn_graph_add_scalar (graph, TN_DTYPE_F32, factor)), TN_NO_ATTRS));
  return graph;
}

static void
test_control_flow_runs_in_a_plan (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnGraph) grow = scale_graph (2), shrink = scale_graph (0.5), go_on = tn_graph_new ("go_on"), graph = tn_graph_new ("flow");
  TnValue *inner = tn_graph_add_input (go_on, "x", TN_DTYPE_F32, TN_SHAPE (2));
  TnValue *largest = tn_op (go_on, "ReduceMax", TN_IN (inner), TN_NO_ATTRS);
  tn_graph_add_output (go_on, "more", tn_op (go_on, "Less", TN_IN (largest, tn_graph_add_scalar (go_on, TN_DTYPE_F32, 100)), TN_NO_ATTRS));

  TnValue *flag = tn_graph_add_input (graph, "flag", TN_DTYPE_BOOL, TN_SHAPE (1));
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (2));
  TnGraph *branches[] = { grow, shrink }, *loop[] = { go_on, grow };
  TnNode *chosen = tn_graph_add_node_full (graph, "If", TN_IN (flag, x), TN_NO_ATTRS, 2, branches);
  g_assert_nonnull (chosen);
  TnNode *grown = tn_graph_add_node_full (graph, "While", TN_IN (&chosen->outputs[0]), TN_NO_ATTRS, 2, loop);
  tn_graph_add_output (graph, "chosen", &chosen->outputs[0]);
  tn_graph_add_output (graph, "grown", &grown->outputs[0]);
  TnCpuTarget target;
  g_assert_true (tn_cpu_target_init (&target, TN_ISA_AUTO, FALSE, &error));
  g_autoptr (TnPlan) plan = tn_plan_new (graph, &target, &error);
  g_assert_no_error (error);
  for (int taken = 0; taken < 2; taken++)
    {
      uint8_t condition = (uint8_t) taken;
      float start[] = { 3, 1 };
      const void *inputs[] = { &condition, start };
      g_autofree char *memory = NULL;
      void *aligned = g_aligned_alloc0 (1, tn_plan_bytes (plan, 1), 64);
      TnPlanRun run = { .memory = aligned, .inputs = inputs };
      g_assert_true (tn_plan_run (plan, &run, 0, tn_plan_n_waves (plan), &error));
      const float *first = tn_plan_output (plan, &run, 0), *second = tn_plan_output (plan, &run, 1);
      g_assert_cmpfloat (first[0], ==, taken ? 6 : 1.5);
      float expected = taken ? 6 : 1.5f;
      while (expected < 100)
        expected *= 2;
      g_assert_cmpfloat (second[0], ==, expected);
      g_aligned_free (aligned);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *modes = g_strdup_printf ("/plan/graph-equals-pynative/%s-%d", cases[i].preset, cases[i].batch);
      g_autofree char *threads = g_strdup_printf ("/plan/same-bits-with-1-2-4-threads/%s-%d", cases[i].preset, cases[i].batch);
      g_autofree char *plain = g_strdup_printf ("/plan/agrees-with-plain-kernels/%s-%d", cases[i].preset, cases[i].batch);
      g_test_add_data_func (modes, &cases[i], test_modes_give_the_same_bits);
      g_test_add_data_func (threads, &cases[i], test_threads_give_the_same_bits);
      if (strcmp (cases[i].preset, "resnet18-cifar") != 0 || g_test_slow ())
        g_test_add_data_func (plain, &cases[i], test_plan_agrees_with_the_plain_kernels);
    }
  g_test_add_func ("/plan/modes-can-be-switched-between-steps", test_modes_can_be_switched_between_steps);
  g_test_add_func ("/plan/a-step-allocates-nothing", test_a_step_allocates_nothing);
  g_test_add_func ("/plan/memory/never-overlaps", test_memory_plan_never_overlaps);
  g_test_add_func ("/plan/passes-keep-the-values", test_passes_keep_the_values);
  g_test_add_func ("/plan/taps-read-what-pynative-has", test_taps_read_what_pynative_has);
  g_test_add_func ("/plan/span-hook/surrounds-every-call", test_span_hook_surrounds_every_call);
  g_test_add_func ("/plan/span-hook/off-costs-nothing", test_span_hook_off_costs_nothing);
  g_test_add_func ("/plan/control-flow-runs", test_control_flow_runs_in_a_plan);
  g_test_add_func ("/eager/breakpoint-stops-between-any-two-operators", test_breakpoint_stops_between_any_two_operators);
  g_test_add_func ("/eager/value-dependent-model-trains", test_value_dependent_model_trains_in_pynative);
  return g_test_run ();
}
