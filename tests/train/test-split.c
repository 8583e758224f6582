/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/philox.h"
#include "parallel/forecast.h"
#include "train/program-private.h"

/* Ranks that split weights against one rank: losses, norms, gathered gradients, parameters and states of every step, and
 * evaluations. */

static const char mlp[] = "{\"name\": \"mlp\", \"input\": {\"shape\": [12]}, \"cells\": ["
                          "{\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 16}, {\"type\": \"ReLU\"},"
                          "{\"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 16}, {\"type\": \"ReLU\"},"
                          "{\"type\": \"Dense\", \"name\": \"fc3\", \"out_channels\": 8}]}";
static const char words[] = "{\"name\": \"words\", \"input\": {\"shape\": [6], \"dtype\": \"int32\"}, \"cells\": ["
                            "{\"type\": \"Embedding\", \"name\": \"table\", \"vocab_size\": 16, \"embedding_size\": 8},"
                            "{\"type\": \"LayerNorm\", \"name\": \"norm\"}, {\"type\": \"Flatten\"},"
                            "{\"type\": \"Dense\", \"name\": \"fc\", \"out_channels\": 8}]}";
static const char dropout_net[] = "{\"name\": \"drop\", \"input\": {\"shape\": [12]}, \"cells\": ["
                                  "{\"type\": \"Dense\", \"name\": \"fc1\", \"out_channels\": 32}, {\"type\": \"ReLU\"}, {\"type\": \"Dropout\", \"p\": 0.4}, "
                                  "{\"type\": \"Dense\", \"name\": \"fc2\", \"out_channels\": 8}]}";

static TnProgram *
make (const char *model, int batch, const char *more, GError **error)
{
  GError *failure = NULL;
  g_autoptr (TnModel) loaded = *model == '{' ? tn_model_from_json (model, -1, &failure) : tn_model_new_preset (model, &failure);
  g_assert_no_error (failure);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  g_autofree char *text = g_strdup_printf ("train.batch=%d;train.seed=3;device.threads=2;device.strict=true;parallel.optimizer_threshold=0;%s", batch, more);
  g_auto (GStrv) list = g_strsplit (text, ";", -1);
  for (char **set = list; *set != NULL; set++)
    if (**set != '\0')
      tn_settings_set_assignment (settings, *set, &failure);
  g_assert_no_error (failure);
  return tn_program_new_ranks (loaded, settings, error);
}

typedef struct
{
  float *x;
  int32_t *labels;
} Data;

static TnProgramBatch
batch_of (TnProgram *program, Data *data, int n, int step)
{
  const TnModelInput *input = tn_model_input (program->recipe.model);
  TnShape row = tn_model_batch_shape (program->recipe.model, n);
  size_t count = (size_t) tn_shape_count (&row);
  g_free (data->labels);
  g_aligned_free (data->x);
  data->x = g_aligned_alloc (count, sizeof (float), 64);
  data->labels = g_new (int32_t, n);
  tn_philox_normal (tn_philox_key (11, "split/x", 0), (uint64_t) step, 0, count, data->x);
  for (size_t i = 0; input->dtype == TN_DTYPE_I32 && i < count; i++)
    ((int32_t *) data->x)[i] = (int32_t) ((step * 5 + i * 7 + i / 3) % 16);
  for (int i = 0; i < n; i++)
    data->labels[i] = (int32_t) ((step * 7 + i * 3 + i * i) % tn_program_n_outputs (program));
  return (TnProgramBatch){ .n = n, .x = data->x, .labels = data->labels };
}

/* ‖a - b‖ / ‖b‖ */
static double
distance (TnTensor *a, TnTensor *b)
{
  g_assert_true (tn_shape_equal (&a->shape, &b->shape));
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < tn_tensor_count (a); i++)
    {
      double x = tn_tensor_get (a, i), y = tn_tensor_get (b, i);
      difference += (x - y) * (x - y);
      norm += y * y;
    }
  return norm > 0 ? sqrt (difference / norm) : sqrt (difference);
}

static void
compare_states (TnProgram *many, TnProgram *one, double limit)
{
  for (int i = 0; i < tn_program_n_state (one); i++)
    {
      GError *error = NULL;
      const TnStateEntry *theirs = tn_program_state (one, i);
      g_autoptr (TnTensor) own = tn_program_gather_state (many, theirs->name, &error);
      g_assert_no_error (error);
      double d = distance (own, theirs->tensor);
      if (d > limit)
        g_test_message ("%s differs by %g", theirs->name, d);
      g_assert_cmpfloat (d, <=, limit);
    }
}

static void
compare_gradients (TnProgram *many, TnProgram *one, int step, double limit)
{
  for (int i = 0; i < tn_program_n_state (one); i++)
    {
      GError *error = NULL;
      const TnStateEntry *entry = tn_program_state (one, i);
      if (entry->role != TN_ROLE_TRAINED)
        continue;
      g_autoptr (TnTensor) g = tn_program_gradient (many, entry->name, &error);
      g_autoptr (TnTensor) h = tn_program_gradient (one, entry->name, &error);
      g_assert_no_error (error);
      double d = distance (g, h);
      if (d > limit)
        g_test_message ("step %d: the gradient of %s differs by %g", step, entry->name, d);
      g_assert_cmpfloat (d, <=, limit);
    }
}

static void
compare_evaluations (TnProgram *many, TnProgram *one, Data *data, int n, int step)
{
  GError *error = NULL;
  TnEvalResult x, y;
  TnProgramBatch batch = batch_of (one, data, n, step);
  size_t width = (size_t) tn_program_n_outputs (one);
  g_autofree float *a = g_new0 (float, width * (size_t) n), *b = g_new0 (float, width * (size_t) n);
  g_assert_true (tn_program_evaluate (one, &batch, &y, b, &error));
  tn_program_evaluate (many, &batch, &x, a, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (fabs (x.loss_sum - y.loss_sum), <=, 1e-5 * fabs (y.loss_sum));
  g_assert_cmpint (x.n, ==, y.n);
  g_assert_cmpint (x.correct, ==, y.correct);
  for (size_t i = 0; i < width * (size_t) n; i++)
    g_assert_cmpfloat (fabsf (a[i] - b[i]), <=, 2e-5f);
}

/* What ranks hold is what the plan for @many says, and a slice is held by as many ranks as its layout says. */
static void
check_bytes (TnProgram *many)
{
  const TnCompiled *compiled = many->compiled->pdata[0];
  TnShardForecast forecast;
  TnMemoryForecast own;
  int64_t parameters = 0, optimizer = 0;
  tn_shard_forecast (compiled->sharded, &forecast);
  tn_program_forecast (many, &own);
  for (int i = 0; i < tn_program_n_slices (many); i++)
    {
      const TnStateEntry *entry = tn_program_slice (many, i, NULL);
      *(entry->role == TN_ROLE_OPTIMIZER ? &optimizer : &parameters) += (int64_t) tn_tensor_bytes (entry->tensor);
    }
  int64_t n = tn_ranks_n (many->ranks);
  g_assert_cmpint (parameters, ==, forecast.parameters * n);
  g_assert_cmpint (optimizer, ==, forecast.optimizer * n);
  g_assert_cmpint ((int64_t) own.parameters, ==, parameters);
  g_assert_cmpint ((int64_t) own.optimizer, ==, optimizer);
  g_assert_cmpint ((int64_t) own.gradients, ==, forecast.gradients * n);
  for (int k = 0; k < n; k++)
    {
      TnProgram *program = k == 0 ? many : tn_ranks_program (many->ranks, k);
      size_t largest = 0;
      for (guint i = 0; i < program->compiled->len; i++)
        largest = MAX (largest, tn_plan_bytes (((TnCompiled *) program->compiled->pdata[i])->plan, tn_pool_n_threads (program->pool)));
      g_assert_cmpuint (program->memory_bytes, ==, largest);
    }
}

/* @alike: settings of both. @short_rows: of every seventh batch, the last one of an epoch; need not divide. */
static void
check_with (const char *model, int batch, int short_rows, const char *alike, const char *split, int n_steps)
{
  GError *error = NULL;
  g_autofree char *more = g_strconcat (alike, ";", split, NULL);
  g_autoptr (TnProgram) many = make (model, batch, more, &error);
  g_assert_no_error (error);
  g_assert_true (tn_program_is_split (many));
  g_autoptr (TnProgram) one = make (model, batch, alike, &error);
  g_assert_no_error (error);
  g_test_message ("%s", split);
  check_bytes (many);
  compare_states (many, one, 0);
  g_assert_cmpint (tn_program_n_parameters (many), ==, tn_program_n_parameters (one));
  Data data = { 0 };
  for (int step = 0; step < n_steps; step++)
    {
      int n = step % 7 == 6 ? short_rows : batch;
      TnStepResult x, y;
      TnProgramBatch rows = batch_of (one, &data, n, step);
      g_assert_true (tn_program_forward_backward (one, &rows, step, &y, &error));
      tn_program_forward_backward (many, &rows, step, &x, &error);
      g_assert_no_error (error);
      g_assert_cmpfloat (fabs (x.loss - y.loss), <=, 1e-5 * fabs (y.loss));
      g_assert_cmpfloat (fabs (x.grad_norm - y.grad_norm), <=, 1e-5 * fabs (y.grad_norm));
      compare_gradients (many, one, step, 1e-5);
      g_assert_true (tn_program_update (one, 0.01, step, &error) && tn_program_update (many, 0.01, step, &error));
      g_assert_no_error (error);
      compare_states (many, one, 1e-5);
      if (step % 10 == 9)
        compare_evaluations (many, one, &data, step % 20 == 9 ? batch : 5, step);
    }
  g_assert_cmpfloat (fabs (tn_program_parameter_norm (many) - tn_program_parameter_norm (one)), <=, 1e-5 * tn_program_parameter_norm (one));
  g_free (data.labels);
  g_aligned_free (data.x);
}

static void
check (const char *model, int batch, const char *alike, const char *split, int n_steps)
{
  check_with (model, batch, batch / 2 + 3, alike, split, n_steps);
}

#define SEMI "parallel.mode=semi_auto_parallel;"
#define LEVEL(level) "parallel.optimizer=true;parallel.optimizer_level=" #level ";"
#define ADAM "optimizer.kind=adam;optimizer.eps=1e-3"

static void
test_data (void)
{
  check (mlp, 16, "optimizer.kind=momentum", SEMI "parallel.mesh=dp=2", 20);
  check (mlp, 16, ADAM, SEMI "parallel.mesh=dp=8", 20);
  check ("lenet5", 16, "train.clip_norm=0.1", SEMI "parallel.mesh=dp=4", 20);
}

static void
test_weights (void)
{
  check (mlp, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=tp=2", 20);
  check (mlp, 8, ADAM, SEMI "parallel.mesh=tp=8", 20);
  check ("lenet5", 8, "optimizer.kind=momentum", SEMI "parallel.mesh=tp=2", 20);
}

static void
test_column (void)
{
  check (mlp, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=x=4;parallel.strategy={\"fc*\": [[\"None\", \"None\"], [\"x\", \"None\"]]}", 20);
}

static void
test_row (void)
{
  check (mlp, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=x=4;parallel.strategy={\"fc*\": [[\"None\", \"x\"], [\"None\", \"x\"]]}", 20);
}

static void
test_both (void)
{
  check (mlp, 16, "train.clip_norm=0.5", SEMI "parallel.mesh=dp=2,tp=2", 20);
  check (mlp, 16, ADAM, SEMI "parallel.mesh=dp=2,tp=4", 20);
  check ("lenet5", 16, "optimizer.kind=momentum", SEMI "parallel.mesh=dp=2,tp=2", 20);
}

static void
test_two_dimensions (void)
{
  check (mlp, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=x=2,y=2;parallel.strategy={\"fc*\": [[\"None\", \"x\"], [\"y\", \"x\"]]}", 20);
  check_with (mlp, 8, 4, "optimizer.kind=momentum", SEMI "parallel.mesh=x=2,y=2,z=2;parallel.strategy={\"fc*\": [[\"z\", \"x\"], [\"y\", \"x\"]]}", 20);
}

static void
test_optimizer (void)
{
  check (mlp, 16, ADAM, "parallel.mode=data_parallel;parallel.ranks=4;" LEVEL (1), 20);
  check (mlp, 16, ADAM, "parallel.mode=data_parallel;parallel.ranks=8;" LEVEL (2), 20);
  check (mlp, 16, ADAM, "parallel.mode=data_parallel;parallel.ranks=2;" LEVEL (3), 20);
  check ("lenet5", 16, "optimizer.kind=momentum", "parallel.mode=data_parallel;parallel.ranks=2;" LEVEL (1), 20);
  check (mlp, 16, "optimizer.kind=momentum", SEMI "parallel.mesh=dp=2,tp=2;" LEVEL (1), 20);
  check (mlp, 16, "optimizer.kind=momentum", SEMI "parallel.mesh=dp=2,tp=2;" LEVEL (3), 20);
}

static void
test_embedding (void)
{
  check (words, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=tp=4", 20);
  check (words, 8, ADAM, SEMI "parallel.mesh=dp=2,tp=4;" LEVEL (1), 20);
  check (words, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=x=2;parallel.strategy={\"table\": [[\"None\", \"x\"], [\"None\", \"None\"]]}", 20);
}

static void
test_modes (void)
{
  check (mlp, 8, "optimizer.kind=momentum", "parallel.mode=auto_parallel;parallel.mesh=dp=2,tp=2", 10);
  check (mlp, 8, "optimizer.kind=momentum", "parallel.mode=hybrid_parallel;parallel.mesh=tp=2", 10);
  check (mlp, 8, "optimizer.kind=momentum", SEMI "parallel.ranks=4", 10);
  check (mlp, 8, "optimizer.kind=momentum", SEMI "parallel.dataset=full_batch;parallel.mesh=dp=2,tp=2", 10);
}

static void
test_dropout (void)
{
  check (dropout_net, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=dp=4", 10);
  check (dropout_net, 8, "optimizer.kind=momentum", SEMI "parallel.mesh=dp=2,tp=2", 10);
}

static void
test_batch_norm (void)
{
  check ("small-cnn", 8, "optimizer.kind=momentum", SEMI "parallel.mesh=dp=2", 5);
}

/* ---- refusals ---- */

static void
refused (const char *settings, int batch, const char *setting)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnProgram) program = make (mlp, batch, settings, &error);
  g_assert_null (program);
  g_assert_nonnull (error);
  if (strstr (error->message, setting) == NULL)
    g_error ("“%s” does not name %s", error->message, setting);
}

static void
test_refusals (void)
{
  refused (SEMI "parallel.ranks=4;parallel.pipeline_stages=2", 8, "parallel.pipeline_stages");
  refused ("parallel.mode=auto_parallel;parallel.ranks=4;parallel.search_mode=dynamic_programming", 8, "parallel.search_mode");
  refused (SEMI "parallel.ranks=4;parallel.mesh=dp=3", 12, "parallel.mesh");
  refused (SEMI "parallel.ranks=4;parallel.same_bits=4", 8, "parallel.same_bits");
  refused (SEMI "parallel.ranks=4;device.mode=pynative", 8, "device.mode");
  refused ("parallel.mode=data_parallel;parallel.optimizer=true;parallel.mesh=dp=2,tp=2", 8, "parallel.mode");
  refused (SEMI "parallel.ranks=4", 10, "train.batch");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/train/split/batches", test_data);
  g_test_add_func ("/train/split/weights", test_weights);
  g_test_add_func ("/train/split/weights-by-column", test_column);
  g_test_add_func ("/train/split/weights-by-row", test_row);
  g_test_add_func ("/train/split/batches-and-weights", test_both);
  g_test_add_func ("/train/split/weights-by-two-dimensions", test_two_dimensions);
  g_test_add_func ("/train/split/optimizer-levels", test_optimizer);
  g_test_add_func ("/train/split/embedding", test_embedding);
  g_test_add_func ("/train/split/modes", test_modes);
  g_test_add_func ("/train/split/dropout", test_dropout);
  g_test_add_func ("/train/split/batch-norm-over-ranks", test_batch_norm);
  g_test_add_func ("/train/split/refusals-name-the-setting", test_refusals);
  return g_test_run ();
}
