/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/trained.h"
#include "base/error.h"
#include "formats/idx.h"
#include "formats/npy.h"
#include "train/input.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* predict: what a trained model says about the samples of a file. */

#define MOST_TOLD 20 /* samples told about to people who named none */
#define N_TOP 3

typedef struct
{
  char **indices, *checkpoint;
  gboolean json;
} Options;

typedef struct
{
  int64_t index;
  double probability;
} Guess;

/* Reading. */

static gboolean
starts_as_npy (const char *path)
{
  FILE *file = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? fopen (path, "rb") : NULL; /* a pipe would hang here */
  char bytes[6] = { 0 };
  gboolean npy = file != NULL && fread (bytes, 1, sizeof bytes, file) == sizeof bytes && memcmp (bytes, "\x93NUMPY", 6) == 0;
  if (file != NULL)
    fclose (file);
  return npy;
}

/* One sample alone gets a dimension in front that counts samples. */
static TnTensor *
as_samples (TnTensor *tensor, const TnModel *model, GError **error)
{
  const TnModelInput *input = tn_model_input ((TnModel *) model);
  int64_t side = input->shape.n_dims == 3 ? input->shape.dims[1] - 2 * input->pad : 0;
  int n = tensor->shape.n_dims;
  gboolean single = input->shape.n_dims == 3 ? n == 2 || (n == 3 && tensor->shape.dims[0] == input->shape.dims[0] && tensor->shape.dims[1] == side
                                                           && tensor->shape.dims[0] != 1 && tensor->shape.dims[2] == side)
                                             : tn_shape_equal (&tensor->shape, &input->shape);
  if (!single)
    return tn_tensor_ref (tensor);
  TnShape shape = { .n_dims = n + 1 };
  shape.dims[0] = 1;
  memcpy (shape.dims + 1, tensor->shape.dims, sizeof (int64_t) * (size_t) n);
  return tn_tensor_reshape (tensor, shape, error);
}

static TnDataset *
open_samples (const char *path, TnModel *model, GError **error)
{
  g_autoptr (TnTensor) tensor = starts_as_npy (path) ? tn_npy_read (path, error) : tn_idx_read (path, error);
  g_autoptr (TnTensor) samples = tensor != NULL ? as_samples (tensor, model, error) : NULL;
  if (samples == NULL)
    return NULL;
  /* Nothing is known about the answers: every sample gets class 0, which nobody looks at. */
  g_autoptr (TnTensor) labels = tn_tensor_new (TN_DTYPE_I32, TN_SHAPE (samples->shape.n_dims > 0 ? samples->shape.dims[0] : 0), error);
  if (labels == NULL)
    return NULL;
  memset (tn_tensor_data (labels), 0, tn_tensor_bytes (labels));
  TnDataset *dataset = tn_dataset_new_from_tensors (samples, labels, NULL, path, error);
  if (dataset == NULL)
    return NULL;
  g_autofree char *shape = tn_shape_to_string (&dataset->sample_shape);
  g_free (dataset->description); /* nobody else has it yet; it would tell of those classes */
  dataset->description = g_strdup_printf (_ ("%" PRId64 " samples %s"), dataset->n_samples, shape);
  return dataset;
}

/* Telling. */

static int
compare_guesses (const void *a, const void *b)
{
  const Guess *x = a, *y = b;
  if (x->probability != y->probability)
    return x->probability < y->probability ? 1 : -1;
  return (x->index > y->index) - (x->index < y->index);
}

static void
softmax (float *row, int64_t n)
{
  double most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++)
    most = fmax (most, (double) row[i]);
  for (int64_t i = 0; i < n; i++)
    sum += exp ((double) row[i] - most);
  for (int64_t i = 0; i < n; i++)
    row[i] = (float) (exp ((double) row[i] - most) / sum);
}

/* Which answers these are: every line stands alone. */
static void
set_checkpoint (JsonObject *object, const TnTrained *trained)
{
  json_object_set_int_member (object, "step", tn_trained_step (trained));
  if (trained->passed_over != NULL)
    json_object_set_string_member (object, "passed_over", trained->passed_over);
  else
    json_object_set_null_member (object, "passed_over");
}

static void
print_numbers (const Options *options, const TnTrained *trained, int64_t sample, const float *row, int64_t n)
{
  if (options->json)
    {
      JsonObject *object = json_object_new ();
      JsonArray *array = json_array_new ();
      for (int64_t i = 0; i < n; i++)
        json_array_add_double_element (array, (double) row[i]);
      json_object_set_int_member (object, "index", sample);
      json_object_set_array_member (object, "outputs", array);
      set_checkpoint (object, trained);
      tn_cli_print_json (object);
      return;
    }
  printf ("%" G_GINT64_FORMAT ":", sample);
  for (int64_t i = 0; i < n; i++)
    printf (" %.6g", (double) row[i]);
  putchar ('\n');
}

static void
print_classes (const Options *options, const TnTrained *trained, int64_t sample, float *row, int64_t n)
{
  softmax (row, n);
  g_autofree Guess *guesses = g_new (Guess, n);
  for (int64_t i = 0; i < n; i++)
    guesses[i] = (Guess){ i, (double) row[i] };
  qsort (guesses, (size_t) n, sizeof *guesses, compare_guesses);
  if (!options->json)
    {
      printf (_ ("sample %" PRId64 ":"), sample);
      for (int64_t i = 0; i < MIN (n, N_TOP); i++)
        printf (_ ("%s class %" PRId64 " (%.1f %%)"), i > 0 ? "," : "", guesses[i].index, guesses[i].probability * 100);
      putchar ('\n');
      return;
    }
  JsonObject *object = json_object_new ();
  JsonArray *top = json_array_new (), *all = json_array_new ();
  for (int64_t i = 0; i < MIN (n, N_TOP); i++)
    {
      JsonObject *guess = json_object_new ();
      json_object_set_int_member (guess, "class", guesses[i].index);
      json_object_set_double_member (guess, "probability", guesses[i].probability);
      json_array_add_object_element (top, guess);
    }
  for (int64_t i = 0; i < n; i++)
    json_array_add_double_element (all, (double) row[i]);
  json_object_set_int_member (object, "index", sample);
  json_object_set_int_member (object, "class", guesses[0].index);
  json_object_set_array_member (object, "top", top);
  json_object_set_array_member (object, "probabilities", all);
  set_checkpoint (object, trained);
  tn_cli_print_json (object);
}

/* Which samples. */

static int64_t *
choose (const Options *options, int64_t n_samples, int64_t *n, GError **error)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (int64_t));
  for (char **text = options->indices; text != NULL && *text != NULL; text++)
    {
      gint64 id;
      if (!g_ascii_string_to_signed (*text, 10, 0, n_samples - 1, &id, NULL))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("--index %s: there are samples 0 to %" PRId64 "."), *text, n_samples - 1);
          return NULL;
        }
      int64_t value = id;
      g_array_append_val (ids, value);
    }
  int64_t all = options->json ? n_samples : MIN (n_samples, MOST_TOLD);
  for (int64_t id = 0; options->indices == NULL && id < all; id++)
    g_array_append_val (ids, id);
  if (options->indices == NULL && all < n_samples)
    g_printerr (_ ("The first %d of %" PRId64 " samples; --index names others, --json takes all.\n"), MOST_TOLD, n_samples);
  *n = ids->len;
  return (int64_t *) (gpointer) g_array_free (g_steal_pointer (&ids), FALSE);
}

static gboolean
answer (const Options *options, TnTrained *trained, TnLoader *loader, GError **error)
{
  int64_t n = tn_program_n_outputs (trained->program);
  int64_t batch_rows = tn_settings_get_int (trained->settings, "train.batch");
  g_autofree float *outputs = g_new (float, n * batch_rows);
  gboolean classes = tn_settings_enum_is (trained->settings, "train.loss", "softmax_cross_entropy");
  GError *failure = NULL;
  TnBatch *batch;
  while ((batch = tn_loader_next (loader, &failure)) != NULL)
    {
      g_autofree float *targets = classes ? NULL : g_new0 (float, n * batch->n);
      TnProgramBatch rows = { .n = batch->n, .x = batch->x, .labels = classes ? batch->labels : NULL, .targets = targets };
      TnEvalResult result;
      gboolean ok = tn_program_evaluate (trained->program, &rows, &result, outputs, error);
      for (int i = 0; ok && i < batch->n; i++)
        (classes ? print_classes (options, trained, batch->ids[i], outputs + i * n, n) : print_numbers (options, trained, batch->ids[i], outputs + i * n, n));
      tn_loader_release (loader, batch);
      if (!ok)
        return FALSE;
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  return failure == NULL;
}

static gboolean
predict (const char *run, const char *file, const Options *options, GError **error)
{
  g_autoptr (TnTrained) trained = tn_trained_open (run, options->checkpoint != NULL ? options->checkpoint : "newest", error);
  g_autoptr (TnDataset) dataset = trained != NULL ? open_samples (file, trained->model, error) : NULL;
  if (dataset == NULL)
    return FALSE;
  g_autoptr (TnInput) input = tn_input_new (dataset, trained->settings, trained->model, trained->own_normalisation, error);
  int64_t n = 0;
  g_autofree int64_t *ids = input != NULL ? choose (options, dataset->n_samples, &n, error) : NULL;
  if (ids == NULL)
    return FALSE;
  tn_trained_tell_passed_over (trained, NULL);
  int batch = (int) MIN (n, tn_settings_get_int (trained->settings, "train.batch"));
  g_autoptr (TnLoader) loader = tn_input_new_eval_loader (input, ids, n, batch, error);
  return loader != NULL && answer (options, trained, loader, error);
}

int
tn_command_predict (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "index", 'i', 0, G_OPTION_ARG_STRING_ARRAY, &options.indices, N_ ("A sample, from 0; may be given again"), "N" },
    { "checkpoint", 'c', 0, G_OPTION_ARG_STRING, &options.checkpoint, N_ ("newest (the default), best or a step"), "WHICH" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, N_ ("One JSON object a sample, with all probabilities"), NULL },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("predict", entries, &argc, &argv, 2, 2, _ ("name a run's folder and a file of samples")))
    {
      g_autoptr (GError) error = NULL;
      status = predict (argv[1], argv[2], &options, &error) ? TN_EXIT_DONE : tn_cli_fail (error, options.json);
    }
  g_strfreev (options.indices);
  g_free (options.checkpoint);
  return status;
}
