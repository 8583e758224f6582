/* SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"
#include "base/error.h"
#include "ir/autodiff.h"
#include "ir/interpret.h"
#include "nn/initializer.h"
#include "nn/loss.h"
#include "optim/optimizer.h"
#include <string.h>

#define HEAD "{\"input\": {\"shape\": [1, 8, 8]}, \"cells\": ["
#define TAIL "]}"

/* Counts of shared/bench/peers/README.md. */
static void
test_presets (void)
{
  static const struct
  {
    const char *name;
    int64_t trained, statistics;
  } presets[] = {
    { "lenet5", 61706, 0 },
    { "mlp", 669706, 0 },
    { "resnet18-cifar", 11173962, 9600 }, /* two statistics for each of 4800 batch norm channels */
    { "small-cnn", 24058, 224 }, /* 144 + 4608 + 18432 weights, 224 of batch norms, 650 of the last layer */
  };
  for (guint i = 0; i < G_N_ELEMENTS (presets); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TnModel) model = tn_model_new_preset (presets[i].name, &error);
      int64_t trained, statistics;
      TnShape output;
      g_assert_no_error (error);
      g_assert_true (tn_model_measure (model, &trained, &statistics, &output, &error));
      g_assert_cmpint (trained, ==, presets[i].trained);
      g_assert_cmpint (statistics, ==, presets[i].statistics);
      g_assert_cmpint (output.n_dims, ==, 1);
      g_assert_cmpint (output.dims[0], ==, 10);
    }
  g_assert_cmpint (g_strv_length ((char **) tn_model_preset_names ()), ==, G_N_ELEMENTS (presets));
}

static void
test_names_and_scopes (void)
{
  g_autoptr (TnModel) model = tn_model_new_preset ("resnet18-cifar", NULL);
  g_autoptr (TnGraph) graph = tn_graph_new ("test");
  g_autoptr (GError) error = NULL;
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, tn_model_batch_shape (model, 1));
  g_assert_nonnull (tn_model_build (model, graph, x, TRUE, &error));
  static const char *const names[] = { "conv1.weight", "bn1.moving_variance", "layer1.0.conv1.weight", "layer2.0.down_sample_layer.0.weight",
                                       "layer4.1.bn2.beta", "fc.bias" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_nonnull (tn_graph_find_parameter (graph, names[i]));
  TnValue *weight = tn_graph_find_parameter (graph, "layer2.0.down_sample_layer.0.weight");
  g_assert_cmpstr (weight->node->scope, ==,
                   "Default/network-ResNet18/layer2-SequentialCell/0-Residual/down_sample_layer-SequentialCell/0-Conv2d");
  g_autofree char *shape = tn_shape_to_string (&weight->shape);
  g_assert_cmpstr (shape, ==, "(128, 64, 1, 1)");
  g_assert_cmpint (tn_node_parameter_info (tn_graph_find_parameter (graph, "bn1.moving_mean")->node)->role, ==, TN_ROLE_STATISTIC);
}

/* Training and evaluation in one graph share parameters. */
static void
test_builds_twice (void)
{
  g_autoptr (TnModel) model = tn_model_new_preset ("small-cnn", NULL);
  g_autoptr (TnGraph) graph = tn_graph_new ("test");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, tn_model_batch_shape (model, 4));
  g_assert_nonnull (tn_model_build (model, graph, x, TRUE, NULL));
  int n = tn_graph_n_parameters (graph);
  g_assert_nonnull (tn_model_build (model, graph, x, FALSE, NULL));
  g_assert_cmpint (tn_graph_n_parameters (graph), ==, n);
}

static void
test_init_and_freeze (void)
{
  g_autoptr (TnModel) model = tn_model_new_preset ("lenet5", NULL);
  g_autoptr (GError) error = NULL;
  for (int round = 0; round < 2; round++)
    {
      g_autoptr (TnGraph) graph = tn_graph_new ("test");
      TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, tn_model_batch_shape (model, 1));
      g_assert_nonnull (tn_model_build (model, graph, x, TRUE, &error));
      const TnParameterInfo *weight = tn_node_parameter_info (tn_graph_find_parameter (graph, "conv2.weight")->node);
      const TnParameterInfo *bias = tn_node_parameter_info (tn_graph_find_parameter (graph, "conv2.bias")->node);
      const TnParameterInfo *fc = tn_node_parameter_info (tn_graph_find_parameter (graph, "fc1.weight")->node);
      g_assert_cmpstr (weight->init, ==, round == 0 ? "he_uniform(sqrt5)" : "normal(0.01)");
      g_assert_cmpint (g_str_has_prefix (bias->init, "uniform(0.0816"), ==, round == 0); /* 1/sqrt (6 x 25) */
      g_assert_cmpint (weight->frozen, ==, round == 1);
      g_assert_false (fc->frozen);
      g_assert_true (tn_model_set_init (model, "mindspore1", NULL));
      tn_model_set_freeze (model, "conv1.*, conv2.*");
    }
  g_assert_false (tn_model_set_init (model, "torch", &error));
  g_autofree char *text = tn_model_to_json (model);
  g_autoptr (TnModel) again = tn_model_from_json (text, -1, NULL);
  g_autofree char *second = tn_model_to_json (again);
  g_assert_cmpstr (text, ==, second);
  g_assert_cmpstr (tn_model_init (again), ==, "mindspore1");
}

/* ---- errors ---- */

/* @want: what the message must hold. */
static void
check_refused (const char *json, const char *want)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_from_json (json, -1, &error);
  int64_t trained, statistics;
  if (model != NULL)
    g_assert_false (tn_model_measure (model, &trained, &statistics, NULL, &error));
  if (strstr (error->message, want) == NULL)
    {
      g_test_message ("the message is “%s”, and should hold “%s”", error->message, want);
      g_test_fail ();
    }
}

static void
test_errors (void)
{
  check_refused ("{\n  \"cells\": [,]\n}", "line 2, column 13");
  check_refused ("[]", "object");
  check_refused ("{\"input\": {\"shape\": [1]}, \"cels\": []}", "cells");
  check_refused ("{\"input\": {\"shape\": [1, 0]}, \"cells\": []}", "input.shape");
  check_refused ("{\"input\": {\"shape\": [3, 8, 8], \"mean\": [1, 2], \"std\": [1, 1]}, \"cells\": []}", "input.mean");
  check_refused ("{\"input\": {\"shape\": [1, 4, 4], \"pad\": 2}, \"cells\": []}", "input.pad");
  check_refused (HEAD "{\"type\": \"Conv2D\", \"out_channels\": 3, \"kernel\": 3}" TAIL, "cells[0].type is “Conv2D”: did you mean “Conv2d”");
  check_refused (HEAD "{\"type\": \"ReLU\"}, {\"type\": \"Conv2d\", \"out_channels\": 3, \"kernel\": 0}" TAIL, "cells[1].kernel is 0");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3, \"kernel\": [3, 3, 3]}" TAIL, "cells[0].kernel is [3, 3, 3]");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3.5, \"kernel\": 3}" TAIL, "cells[0].out_channels is 3.5");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3}" TAIL, "cells[0].kernel is missing");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3, \"kernel\": 3, \"pad_mod\": \"same\"}" TAIL, "pad_mode");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3, \"kernel\": 3, \"pad_mode\": \"full\"}" TAIL, "same, valid, pad");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3, \"kernel\": 3, \"padding\": 1}" TAIL, "cells[0].padding");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3, \"kernel\": 3, \"group\": 2}" TAIL, "cells[0].group");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"out_channels\": 3, \"kernel\": 9, \"pad_mode\": \"valid\"}" TAIL, "cells[0] (Conv2d)");
  check_refused (HEAD "{\"type\": \"Conv2d\", \"in_channels\": 2, \"out_channels\": 3, \"kernel\": 3}" TAIL, "cells[0].in_channels");
  check_refused (HEAD "{\"type\": \"Dense\", \"out_channels\": 3, \"weight_init\": \"norml\"}" TAIL, "cells[0].weight_init");
  check_refused (HEAD "{\"type\": \"Dense\", \"out_channels\": 3, \"activation\": \"rellu\"}" TAIL, "cells[0].activation");
  check_refused (HEAD "{\"type\": \"Dropout\", \"p\": 1}" TAIL, "cells[0].p");
  check_refused (HEAD "{\"type\": \"Dropout\", \"p\": -0.1}" TAIL, "cells[0].p is -0.1");
  check_refused (HEAD "{\"type\": \"BatchNorm2d\", \"momentum\": 1.5}" TAIL, "cells[0].momentum is 1.5");
  check_refused (HEAD "{\"type\": \"ReLU\", \"name\": \"a\"}, {\"type\": \"ReLU\", \"name\": \"a\"}" TAIL, "cells[1].name");
  check_refused (HEAD "{\"type\": \"ReLU\", \"name\": \"first\"}, {\"type\": \"Add\", \"inputs\": [\"frst\", \"input\"]}" TAIL, "cells[1].inputs[0]");
  check_refused (HEAD "{\"type\": \"Add\", \"inputs\": [\"input\"]}" TAIL, "cells[0].inputs");
  check_refused (HEAD "{\"type\": \"SequentialCell\", \"cells\": [{\"type\": \"Dense\"}]}" TAIL, "cells[0].cells[0].out_channels");
  check_refused (HEAD "{\"type\": \"Residual\", \"body\": [{\"type\": \"Dense\", \"out_channels\": 3}]}" TAIL, "cells[0].body");
  check_refused (HEAD "4" TAIL, "cells[0] is 4");
}

/* y = relu (x) + relu (x) * x, by branches. */
static void
test_branches (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_from_json ("{\"input\": {\"shape\": [3]}, \"cells\": ["
                                                  "{\"type\": \"ReLU\", \"name\": \"a\"},"
                                                  "{\"type\": \"Mul\", \"name\": \"b\", \"inputs\": [\"a\", \"input\"]},"
                                                  "{\"type\": \"Add\", \"inputs\": [\"a\", \"b\"]},"
                                                  "{\"type\": \"Concat\", \"inputs\": [\"2\", \"a\"]}]}", -1, &error);
  g_assert_no_error (error);
  g_autoptr (TnGraph) graph = tn_graph_new ("test");
  TnValue *y = tn_model_build (model, graph, tn_graph_add_input (graph, "x", TN_DTYPE_F32, TN_SHAPE (1, 3)), TRUE, &error);
  g_assert_no_error (error);
  tn_graph_add_output (graph, "y", y);
  static const float x[3] = { -1, 2, 3 }, want[6] = { 0, 6, 12, 0, 2, 3 };
  g_autoptr (TnTensor) input = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (1, 3), x), output = NULL;
  g_assert_true (tn_interpret (graph, &input, NULL, &output, NULL, &error));
  for (int i = 0; i < 6; i++)
    g_assert_cmpfloat (tn_tensor_get (output, i), ==, want[i]);
}

/* One graph of forward, loss, gradients and update lowers the loss of a batch. */
static void
test_trains (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = tn_model_from_json ("{\"input\": {\"shape\": [1, 6, 6]}, \"cells\": ["
                                                  "{\"type\": \"Conv2d\", \"name\": \"conv\", \"out_channels\": 4, \"kernel\": 3},"
                                                  "{\"type\": \"BatchNorm2d\", \"name\": \"bn\"}, {\"type\": \"ReLU\"},"
                                                  "{\"type\": \"Flatten\"}, {\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 3}]}", -1, &error);
  g_assert_no_error (error);
  g_autoptr (TnGraph) graph = tn_graph_new ("test");
  TnValue *x = tn_graph_add_input (graph, "x", TN_DTYPE_F32, tn_model_batch_shape (model, 6));
  TnValue *labels = tn_graph_add_input (graph, "labels", TN_DTYPE_I32, TN_SHAPE (6));
  TnLoss loss;
  g_assert_true (tn_loss_parse ("softmax_cross_entropy", "mean", &loss, &error));
  TnValue *value = tn_loss_build (&loss, graph, tn_model_build (model, graph, x, TRUE, &error), labels, NULL);
  TnValue *wanted[16], *gradients[16];
  int n = 0;
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    if (tn_node_parameter_info (tn_graph_parameter (graph, i)->node)->role == TN_ROLE_TRAINED)
      wanted[n++] = tn_graph_parameter (graph, i);
  g_assert_cmpint (n, ==, 5);
  g_assert_true (tn_graph_add_gradients (graph, value, NULL, n, wanted, gradients));
  TnOptimizer optimizer;
  tn_optimizer_init (&optimizer, TN_OPTIMIZER_MOMENTUM);
  g_assert_true (tn_optimizer_build (&optimizer, graph, n, wanted, gradients, tn_graph_add_scalar (graph, TN_DTYPE_F32, 0.1), NULL, &error));
  tn_graph_add_output (graph, "loss", value);

  TnTensor *parameters[32], *inputs[2] = { tn_tensor_new (TN_DTYPE_F32, x->shape, NULL), tn_tensor_new (TN_DTYPE_I32, TN_SHAPE (6), NULL) };
  int n_parameters = tn_graph_n_parameters (graph);
  g_assert_true (tn_initializer_fill ("normal(1)", "x", 3, inputs[0], &error));
  for (int i = 0; i < 6; i++)
    tn_tensor_set (inputs[1], i, i % 3);
  for (int i = 0; i < n_parameters; i++)
    {
      const TnValue *parameter = tn_graph_parameter (graph, i);
      parameters[i] = tn_tensor_new (parameter->dtype, parameter->shape, NULL);
      g_assert_true (tn_initializer_fill (tn_node_parameter_info (parameter->node)->init, parameter->node->name, 1, parameters[i], &error));
    }
  double first = 0, last = 0;
  for (int step = 0; step < 60; step++)
    {
      g_autoptr (TnTensor) output = NULL;
      g_assert_true (tn_interpret (graph, inputs, parameters, &output, NULL, &error));
      last = tn_tensor_get (output, 0);
      first = step == 0 ? last : first;
    }
  g_assert_cmpfloat (first, >, 0.7);
  g_assert_cmpfloat (last, <, 0.5 * first);
  for (int i = 0; i < n_parameters; i++)
    tn_tensor_unref (parameters[i]);
  for (int i = 0; i < 2; i++)
    tn_tensor_unref (inputs[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/nn/model/presets-have-the-peers-parameter-counts", test_presets);
  g_test_add_func ("/nn/model/parameters-and-scopes-are-named-by-cell", test_names_and_scopes);
  g_test_add_func ("/nn/model/second-build-shares-parameters", test_builds_twice);
  g_test_add_func ("/nn/model/init-preset-and-freeze", test_init_and_freeze);
  g_test_add_func ("/nn/model/errors-name-the-place", test_errors);
  g_test_add_func ("/nn/model/branches-by-name", test_branches);
  g_test_add_func ("/nn/model/training-lowers-the-loss", test_trains);
  return g_test_run ();
}
