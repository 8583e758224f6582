/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "ir/autodiff.h"
#include "ir/interpret.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/numbers.h"

/* Cells and losses against MindSpore: outputs, gradients of inputs and parameters, running statistics. A case's "name" says
 * class and arguments, "Conv2d(4,4,k=3,stride=2,pad_mode=same)"; it is turned into the JSON of a cell. */

/* ---- from the text of a call to a cell ---- */

/* Positional arguments of each class; a leading "-" is not an option of ours. */
static const struct
{
  const char *call, *cell, *arguments;
} calls[] = {
  { "Conv2d", "Conv2d", "in_channels,out_channels,kernel,stride" },
  { "MaxPool2d", "MaxPool2d", "kernel,stride,pad_mode" },
  { "AvgPool2d", "AvgPool2d", "kernel,stride,pad_mode" },
  { "AdaptiveAvgPool2d", "AdaptiveAvgPool2d", "output_size" },
  { "AdaptiveMaxPool2d", "AdaptiveMaxPool2d", "output_size" },
  { "BatchNorm2d", "BatchNorm2d", "num_features" },
  { "BatchNorm1d", "BatchNorm1d", "num_features" },
  { "LayerNorm", "LayerNorm", "normalized_shape" },
  { "Dense", "Dense", "in_channels,out_channels" },
  { "Embedding", "Embedding", "vocab_size,embedding_size" },
  { "ReLU", "ReLU", "" },
  { "ReLU6", "ReLU6", "" },
  { "Sigmoid", "Sigmoid", "" },
  { "Tanh", "Tanh", "" },
  { "GELU", "GELU", "approximate" },
  { "FastGelu", "FastGelu", "" },
  { "SiLU", "SiLU", "" },
  { "HSwish", "HSwish", "" },
  { "HSigmoid", "HSigmoid", "" },
  { "ELU", "ELU", "alpha" },
  { "SELU", "SELU", "" },
  { "CELU", "CELU", "alpha" },
  { "Mish", "Mish", "" },
  { "Softplus", "Softplus", "" },
  { "LogSigmoid", "LogSigmoid", "" },
  { "LeakyReLU", "LeakyReLU", "alpha" },
  { "Softsign", "Softsign", "" },
  { "HShrink", "HShrink", "lambd" },
  { "HardShrink", "HShrink", "lambd" },
  { "SoftShrink", "SoftShrink", "lambd" },
  { "Tanhshrink", "Tanhshrink", "" },
  { "Threshold", "Threshold", "threshold,value" },
  { "Hardtanh", "Hardtanh", "min_val,max_val" },
  { "PReLU", "PReLU", "channel" },
  { "GLU", "GLU", "axis" },
  { "Softmax", "Softmax", "axis" },
  { "LogSoftmax", "LogSoftmax", "axis" },
  { "Softmin", "Softmin", "axis" },
  { "Flatten", "Flatten", "start_dim" },
};

/* "(1, 2)" -> [1, 2], "True" -> true, "same" -> "same", "1e-3" -> 0.001. */
static void
set_argument (JsonObject *cell, const char *key, const char *text)
{
  if (text[0] == '(')
    {
      JsonArray *array = json_array_new ();
      g_autofree char *inner = g_strndup (text + 1, strlen (text) - 2);
      g_auto (GStrv) parts = g_strsplit (inner, ",", -1);
      for (char **part = parts; *part != NULL; part++)
        if (*g_strstrip (*part) != '\0')
          json_array_add_int_element (array, g_ascii_strtoll (*part, NULL, 10));
      json_object_set_array_member (cell, key, array);
      return;
    }
  char *end, *int_end;
  double number = g_ascii_strtod (text, &end);
  gint64 whole = g_ascii_strtoll (text, &int_end, 10);
  if (strcmp (text, "True") == 0 || strcmp (text, "False") == 0)
    json_object_set_boolean_member (cell, key, text[0] == 'T');
  else if (end == text || *end != '\0')
    json_object_set_string_member (cell, key, text);
  else if (*int_end == '\0')
    json_object_set_int_member (cell, key, whole);
  else
    json_object_set_double_member (cell, key, number);
}

/* Splits at commas outside parentheses. */
static GPtrArray *
split_arguments (const char *text)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
  int depth = 0;
  const char *start = text;
  for (const char *at = text;; at++)
    {
      depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
      if (*at != '\0' && (*at != ',' || depth > 0))
        continue;
      char *part = g_strstrip (g_strndup (start, (gsize) (at - start)));
      if (*part != '\0')
        g_ptr_array_add (parts, part);
      else
        g_free (part);
      if (*at == '\0')
        return parts;
      start = at + 1;
    }
}

static const char *
our_key (const char *key)
{
  return strcmp (key, "k") == 0 ? "kernel" : strcmp (key, "kernel_size") == 0 ? "kernel" : key;
}

/* Arguments that only choose another way to the same numbers. */
static gboolean
means_nothing (const char *key)
{
  return strcmp (key, "padding_idx") == 0 || strcmp (key, "use_one_hot") == 0;
}

/* NULL where no cell does what the call says. @training is set by the words after the call, "train=0". */
static JsonObject *
cell_of_call (const char *call, gboolean *training)
{
  gsize name_length = strcspn (call, "( ");
  int row = -1;
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    if (strlen (calls[i].call) == name_length && strncmp (calls[i].call, call, name_length) == 0)
      row = (int) i;
  *training = strstr (call, "train=0") == NULL;
  if (row < 0 || call[name_length] == ' ')
    return NULL; /* "MaxPool2d negative input same" does not say its arguments */
  JsonObject *cell = json_object_new ();
  json_object_set_string_member (cell, "type", calls[row].cell);
  json_object_set_string_member (cell, "name", "net");
  const char *open = call[name_length] == '(' ? call + name_length : NULL, *close = open != NULL ? strrchr (call, ')') : NULL;
  if (open == NULL || close == NULL)
    return cell;
  g_autofree char *inner = g_strndup (open + 1, (gsize) (close - open - 1));
  g_autoptr (GPtrArray) parts = split_arguments (inner);
  g_auto (GStrv) places = g_strsplit (calls[row].arguments, ",", -1);
  guint place = 0, n_places = g_strv_length (places);
  for (guint i = 0; i < parts->len; i++)
    {
      char *part = parts->pdata[i], *equals = strchr (part, '=');
      if (equals == NULL && place < n_places)
        set_argument (cell, places[place++], part);
      else if (equals == NULL)
        json_object_set_boolean_member (cell, part, TRUE); /* "has_bias" */
      else
        {
          *equals = '\0';
          if (!means_nothing (part))
            set_argument (cell, our_key (part), equals + 1);
        }
    }
  return cell;
}

/* ---- running a cell ---- */

typedef struct
{
  Numbers *numbers;
  const char *name;
  JsonObject *object;
  TnGraph *graph;
  TnValue *inputs[8], *seed;
  int n_inputs, n_parameters;
  TnTensor *input_tensors[9], *parameters[16];
  GPtrArray *want, *labels; /* of the outputs */
  GArray *rel;
} LayerCase;

static void
expect (LayerCase *c, const char *label, JsonObject *tensor, TnValue *value, double rel)
{
  if (value == NULL || tensor == NULL)
    return;
  g_ptr_array_add (c->labels, g_strdup (label));
  g_ptr_array_add (c->want, truth_tensor (tensor, TN_DTYPE_F32));
  g_array_append_val (c->rel, rel);
  tn_graph_add_output (c->graph, label, value);
}

static TnModel *
model_of_cell (JsonObject *cell, JsonArray *inputs, GError **error)
{
  g_autoptr (JsonNode) root = json_node_new (JSON_NODE_OBJECT);
  JsonObject *model = json_object_new (), *input = json_object_new ();
  JsonArray *cells = json_array_new (), *shape = json_array_new ();
  JsonObject *x = json_array_get_object_element (inputs, 0);
  JsonArray *dims = json_object_get_array_member (x, "shape");
  for (guint d = 1; d < json_array_get_length (dims); d++)
    json_array_add_int_element (shape, json_array_get_int_element (dims, d));
  json_object_set_array_member (input, "shape", shape);
  if (g_str_has_prefix (json_object_get_string_member (x, "dtype"), "int"))
    json_object_set_string_member (input, "dtype", "int32");
  json_array_add_object_element (cells, cell);
  json_object_set_object_member (model, "input", input);
  json_object_set_array_member (model, "cells", cells);
  json_node_take_object (root, model);
  g_autofree char *text = json_to_string (root, FALSE);
  return tn_model_from_json (text, -1, error);
}

/* The case's parameters "weight" are ours "net.weight"; without names in "params" a parameter is what its cell begins with. */
static gboolean
bind_parameters (LayerCase *c)
{
  JsonObject *params = numbers_object (c->object, "params");
  c->n_parameters = tn_graph_n_parameters (c->graph);
  for (int i = 0; i < c->n_parameters; i++)
    {
      const char *name = strchr (tn_graph_parameter (c->graph, i)->node->name, '.') + 1;
      JsonObject *value = params != NULL ? numbers_object (params, name) : NULL;
      if (value == NULL)
        return FALSE;
      c->parameters[i] = truth_tensor (value, TN_DTYPE_F32);
    }
  return TRUE;
}

/* Gradients of float inputs and trained parameters, with dy entering at the output. */
static void
add_gradients (LayerCase *c, TnValue *y)
{
  JsonObject *dy = numbers_object (c->object, "dy"), *dparams = numbers_object (c->object, "dparams");
  JsonArray *dx = numbers_array (c->object, "dx");
  TnValue *wanted[24], *gradients[24];
  JsonObject *expected[24];
  char *labels[24];
  int n = 0;
  if (dy == NULL)
    return;
  TnTensor *seed = truth_tensor (dy, TN_DTYPE_F32);
  c->seed = tn_graph_add_input (c->graph, "dy", seed->dtype, seed->shape);
  c->input_tensors[c->n_inputs] = seed;
  for (guint i = 0; dx != NULL && i < json_array_get_length (dx); i++)
    {
      wanted[n] = c->inputs[i];
      expected[n] = json_array_get_object_element (dx, i);
      labels[n++] = g_strdup_printf ("dx%u", i);
    }
  for (int i = 0; dparams != NULL && i < tn_graph_n_parameters (c->graph); i++)
    {
      TnValue *parameter = tn_graph_parameter (c->graph, i);
      JsonObject *value = numbers_object (dparams, parameter->node->name);
      if (value == NULL)
        continue;
      wanted[n] = parameter;
      expected[n] = value;
      labels[n++] = g_strdup_printf ("d%s", parameter->node->name);
    }
  gboolean ok = n > 0 && tn_graph_add_gradients (c->graph, y, c->seed, n, wanted, gradients);
  for (int i = 0; i < n; i++)
    {
      if (ok)
        expect (c, labels[i], expected[i], gradients[i], 2e-5);
      g_free (labels[i]);
    }
}

/* Where MindSpore 2.10 on the CPU was measured to differ from the formula. */
static const struct
{
  const char *call;
  double tolerance;      /* its tanh is a rational function, 4e-5 off */
  gboolean borders;      /* another choice of slope where two pieces meet, which in these cases is at whole numbers */
  gboolean no_gradient;  /* its gradient of SeLU below 0 is not the derivative: finite differences agree with ours */
} deviations[] = {
  { "Tanh", 1e-4, FALSE, FALSE },
  { "Tanhshrink", 1e-4, FALSE, FALSE },
  { "Mish", 2e-4, FALSE, FALSE },
  { "ReLU6", 0, TRUE, FALSE },
  { "HSwish", 0, TRUE, FALSE },
  { "LeakyReLU", 0, TRUE, FALSE },
  { "Hardtanh", 0, TRUE, FALSE },
  { "SELU", 0, FALSE, TRUE },
};

/* Returns the tolerance; elements that are not to be compared are made equal. */
static double
allow_deviation (LayerCase *c, const char *label, TnTensor *got, TnTensor *want, double rel)
{
  gsize n = strcspn (c->name, "( ");
  gboolean is_gradient = strcmp (label, "dx0") == 0;
  for (guint i = 0; i < G_N_ELEMENTS (deviations); i++)
    {
      if (strlen (deviations[i].call) != n || strncmp (c->name, deviations[i].call, n) != 0)
        continue;
      for (int64_t k = 0; is_gradient && k < tn_tensor_count (want); k++)
        {
          double x = tn_tensor_get (c->input_tensors[0], k);
          if (deviations[i].no_gradient || (deviations[i].borders && x == floor (x)))
            tn_tensor_set (got, k, tn_tensor_get (want, k));
        }
      return MAX (rel, deviations[i].tolerance);
    }
  return rel;
}

static void
run_and_compare (LayerCase *c)
{
  g_autofree TnTensor **outputs = g_new0 (TnTensor *, c->want->len + 1);
  g_autoptr (GError) error = NULL;
  if (!tn_graph_check (c->graph, &error) || !tn_interpret (c->graph, c->input_tensors, c->parameters, outputs, NULL, &error))
    {
      numbers_fail (c->numbers, c->name, error->message);
      return;
    }
  gboolean ok = TRUE;
  for (guint i = 0; i < c->want->len; i++)
    {
      double rel = allow_deviation (c, c->labels->pdata[i], outputs[i], c->want->pdata[i], g_array_index (c->rel, double, i));
      g_autofree char *message = NULL;
      if (ok && !numbers_close (outputs[i], c->want->pdata[i], rel, rel, &message))
        {
          g_autofree char *text = g_strdup_printf ("%s: %s", (char *) c->labels->pdata[i], message);
          numbers_fail (c->numbers, c->name, text);
          ok = FALSE;
        }
      g_clear_pointer (&outputs[i], tn_tensor_unref);
    }
  JsonObject *after = numbers_object (c->object, "non_trainable_after_forward");
  for (int i = 0; ok && after != NULL && i < c->n_parameters; i++)
    {
      const char *full = tn_graph_parameter (c->graph, i)->node->name;
      JsonObject *value = numbers_object (after, full);
      g_autofree char *message = NULL;
      if (value == NULL)
        value = numbers_object (after, strchr (full, '.') + 1);
      g_autoptr (TnTensor) want = value != NULL ? truth_tensor (value, TN_DTYPE_F32) : NULL;
      if (want != NULL && !numbers_close (c->parameters[i], want, 1e-5, 1e-5, &message))
        {
          g_autofree char *text = g_strdup_printf ("%s after the forward pass: %s", full, message);
          numbers_fail (c->numbers, c->name, text);
          ok = FALSE;
        }
    }
}

static void
case_init (LayerCase *c, Numbers *numbers, JsonObject *object)
{
  *c = (LayerCase){ .numbers = numbers, .name = numbers_text (object, "name"), .object = object, .graph = tn_graph_new ("case"),
                    .want = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref),
                    .labels = g_ptr_array_new_with_free_func (g_free), .rel = g_array_new (FALSE, FALSE, sizeof (double)) };
}

static void
case_clear (LayerCase *c)
{
  for (guint i = 0; i < G_N_ELEMENTS (c->input_tensors); i++)
    g_clear_pointer (&c->input_tensors[i], tn_tensor_unref);
  for (guint i = 0; i < G_N_ELEMENTS (c->parameters); i++)
    g_clear_pointer (&c->parameters[i], tn_tensor_unref);
  g_ptr_array_unref (c->want);
  g_ptr_array_unref (c->labels);
  g_array_unref (c->rel);
  tn_graph_unref (c->graph);
}

static gboolean
add_inputs (LayerCase *c)
{
  JsonArray *inputs = numbers_array (c->object, "inputs");
  guint n = json_array_get_length (inputs);
  if (n == 0 || n > G_N_ELEMENTS (c->inputs))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("x%u", i);
      TnTensor *tensor = truth_tensor (json_array_get_object_element (inputs, i), TN_DTYPE_F32);
      c->input_tensors[i] = tensor;
      c->inputs[i] = tn_graph_add_input (c->graph, name, tensor->dtype, tensor->shape);
    }
  c->n_inputs = (int) n;
  return TRUE;
}

static void
compare_layer (Numbers *self, JsonObject *object)
{
  LayerCase c;
  gboolean training;
  g_autoptr (GError) error = NULL;
  JsonObject *cell = cell_of_call (numbers_text (object, "name"), &training), *output = numbers_object (object, "output");
  if (cell == NULL || output == NULL)
    {
      g_clear_pointer (&cell, json_object_unref);
      numbers_without (self, numbers_text (object, "name"));
      return;
    }
  case_init (&c, self, object);
  g_autoptr (TnModel) model = model_of_cell (cell, numbers_array (object, "inputs"), &error);
  TnValue *y = model != NULL && add_inputs (&c) && c.n_inputs == 1 ? tn_model_build (model, c.graph, c.inputs[0], training, &error) : NULL;
  if (y == NULL && error == NULL)
    numbers_without (self, c.name);
  else if (y == NULL)
    {
      self->compared++;
      numbers_fail (self, c.name, error->message);
    }
  else
    {
      self->compared++;
      expect (&c, "output", output, y, 1e-5);
      if (bind_parameters (&c))
        {
          add_gradients (&c, y);
          run_and_compare (&c);
        }
      else
        numbers_fail (self, c.name, "the case does not give all parameters");
    }
  case_clear (&c);
}

/* ---- sequences of forwards with running statistics: "BatchNorm2d(3, momentum=0.9): three training forwards, ..." ---- */

static void
compare_sequence (Numbers *self, JsonObject *object)
{
  JsonArray *inputs = numbers_array (object, "inputs"), *outputs = numbers_array (object, "outputs"), *after = numbers_array (object, "running_after");
  const char *call = numbers_text (object, "call");
  g_autofree char *bare = g_strndup (call, (gsize) (strchr (call, ')') - call + 1));
  gboolean training;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = model_of_cell (cell_of_call (bare, &training), inputs, &error);
  g_assert_no_error (error);
  TnTensor *state[4] = { NULL };
  int last = (int) json_array_get_length (inputs) - 1;
  gboolean has_eval = numbers_object (object, "eval_output") != NULL;
  self->compared++;
  for (int t = 0; t <= last + has_eval; t++)
    {
      gboolean eval = t > last;
      g_autoptr (TnGraph) graph = tn_graph_new ("sequence");
      g_autoptr (TnTensor) x = truth_tensor (json_array_get_object_element (inputs, eval ? 0 : (guint) t), TN_DTYPE_F32);
      g_autoptr (TnTensor) want = truth_tensor (eval ? numbers_object (object, "eval_output") : json_array_get_object_element (outputs, (guint) t), TN_DTYPE_F32);
      g_autoptr (TnTensor) got = NULL;
      g_autofree char *message = NULL;
      TnValue *y = tn_model_build (model, graph, tn_graph_add_input (graph, "x", x->dtype, x->shape), !eval, &error);
      g_assert_no_error (error);
      tn_graph_add_output (graph, "y", y);
      for (int i = 0; t == 0 && i < 4; i++)
        {
          state[i] = tn_tensor_new (TN_DTYPE_F32, tn_graph_parameter (graph, i)->shape, NULL);
          double value = strstr (tn_graph_parameter (graph, i)->node->name, "variance") || strstr (tn_graph_parameter (graph, i)->node->name, "gamma");
          for (int64_t k = 0; k < tn_tensor_count (state[i]); k++)
            tn_tensor_set (state[i], k, value);
        }
      g_assert_true (tn_interpret (graph, &x, state, &got, NULL, &error));
      gboolean ok = numbers_close (got, want, 2e-5, 2e-5, &message);
      for (int i = 0; ok && !eval && i < 4; i++)
        {
          JsonObject *running = json_array_get_object_element (after, (guint) t);
          JsonObject *value = numbers_object (running, strchr (tn_graph_parameter (graph, i)->node->name, '.') + 1);
          g_autoptr (TnTensor) statistic = value != NULL ? truth_tensor (value, TN_DTYPE_F32) : NULL;
          ok = statistic == NULL || numbers_close (state[i], statistic, 1e-5, 1e-5, &message);
        }
      if (!ok)
        {
          numbers_fail (self, numbers_text (object, "name"), message);
          break;
        }
    }
  for (int i = 0; i < 4; i++)
    g_clear_pointer (&state[i], tn_tensor_unref);
}

/* ---- losses ---- */

/* "SmoothL1Loss beta=0.3 mean": class, words, reduction. FALSE where a word is not known here. */
static gboolean
loss_of_call (const char *call, const TnValue *labels, TnLoss *loss)
{
  g_auto (GStrv) words = g_strsplit (call, " ", -1);
  guint n = g_strv_length (words);
  const char *reduction = n > 1 ? words[n - 1] : NULL;
  gboolean known = reduction != NULL && (strcmp (reduction, "none") == 0 || strcmp (reduction, "mean") == 0 || strcmp (reduction, "sum") == 0);
  if (!tn_loss_parse (words[0], known ? reduction : "none", loss, NULL))
    return FALSE;
  for (guint i = 1; i + known < n; i++)
    {
      double value;
      if (sscanf (words[i], "beta=%lf", &value) == 1 || sscanf (words[i], "delta=%lf", &value) == 1)
        loss->beta = value;
      else if (strcmp (words[i], "sparse") == 0 || strcmp (words[i], "dense") == 0 || strcmp (words[i], "soft") == 0 || strcmp (words[i], "doc") == 0
               || strcmp (words[i], "prob") == 0)
        continue; /* the labels' dtype says it */
      else
        return FALSE;
    }
  loss->sparse = !tn_dtype_is_float (labels->dtype);
  return TRUE;
}

static void
compare_loss (Numbers *self, JsonObject *object)
{
  LayerCase c;
  TnLoss loss;
  case_init (&c, self, object);
  if (!add_inputs (&c) || c.n_inputs != 2 || !loss_of_call (c.name, c.inputs[1], &loss))
    {
      numbers_without (self, c.name);
      case_clear (&c);
      return;
    }
  self->compared++;
  TnValue *value = tn_loss_build (&loss, c.graph, c.inputs[0], c.inputs[1], NULL);
  if (value != NULL)
    {
      TnValue *scalar = value->shape.n_dims == 0 ? value : tn_op (c.graph, "ReduceSum", TN_IN (value), TN_NO_ATTRS), *gradients[2] = { NULL };
      JsonObject *grad2 = numbers_object (object, "grad2");
      expect (&c, "loss", numbers_object (object, "output"), value, 1e-5);
      if (tn_graph_add_gradients (c.graph, scalar, NULL, grad2 != NULL ? 2 : 1, c.inputs, gradients))
        {
          expect (&c, "gradient", numbers_object (object, "grad"), gradients[0], 1e-5);
          expect (&c, "gradient 2", grad2, gradients[1], 1e-5);
        }
    }
  run_and_compare (&c);
  case_clear (&c);
}

/* ---- cases ---- */

static void
compare_case (Numbers *self, JsonObject *object)
{
  const char *call = numbers_text (object, "call");
  if (call == NULL || numbers_array (object, "inputs") == NULL)
    return;
  if (numbers_array (object, "outputs") != NULL && numbers_array (object, "running_after") != NULL && g_str_has_prefix (call, "BatchNorm"))
    compare_sequence (self, object);
  else if (numbers_object (object, "params") != NULL && json_object_has_member (object, "output"))
    compare_layer (self, object);
  else if (numbers_object (object, "output") != NULL && numbers_object (object, "grad") != NULL)
    compare_loss (self, object);
}

static void
test_shared (void)
{
  numbers_shared ("layers and losses", compare_case);
}

static void
test_own (void)
{
  numbers_own ("truth-nn", "layers and losses", compare_case);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/nn/layers/truth", test_shared);
  g_test_add_func ("/nn/layers/own-truth", test_own);
  return g_test_run ();
}
