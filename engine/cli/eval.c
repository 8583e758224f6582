/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/trained.h"
#include "base/error.h"
#include "train/input.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* eval: accuracy and loss of a trained model, on the samples that the run held out or on a data set of one's own. */

typedef struct
{
  char *data, *checkpoint, *part;
  gboolean json;
} Options;

/* A folder's own test files where it has some, else its training files. */
static TnDataset *
open_other (const Options *options, const TnSettings *settings, GError **error)
{
  TnDatasetOptions wanted = { .part = TN_DATASET_TEST, .n_samples = tn_settings_get_int (settings, "data.samples"),
                              .seed = (uint64_t) tn_settings_get_int (settings, "data.seed") };
  if (g_strcmp0 (options->part, "train") == 0)
    wanted.part = TN_DATASET_TRAIN;
  g_autoptr (GError) failure = NULL;
  TnDataset *dataset = tn_dataset_open (options->data, &wanted, &failure);
  if (dataset != NULL)
    return dataset;
  wanted.part = TN_DATASET_TRAIN;
  if (options->part == NULL)
    return tn_dataset_open (options->data, &wanted, error);
  g_propagate_error (error, g_steal_pointer (&failure));
  return NULL;
}

static TnInput *
open_input (const Options *options, TnTrained *trained, GError **error)
{
  if (options->data == NULL)
    {
      g_autofree char *project = tn_run_folder_project_path (trained->folder);
      return tn_input_open (trained->settings, trained->model, project, trained->own_normalisation, error);
    }
  g_autoptr (TnDataset) dataset = open_other (options, trained->settings, error);
  return dataset != NULL ? tn_input_new (dataset, trained->settings, trained->model, trained->own_normalisation, error) : NULL;
}

static gboolean
check_classes (const TnTrained *trained, const TnDataset *dataset, GError **error)
{
  gint64 outputs = tn_program_n_outputs (trained->program);
  if (dataset->labels != NULL ? dataset->n_classes <= outputs : dataset->target_width == outputs)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("“%s” has %d classes or targets, the model has %d outputs."), dataset->source,
               dataset->labels != NULL ? dataset->n_classes : dataset->target_width, (int) outputs);
  return FALSE;
}

static gboolean
evaluate (TnTrained *trained, TnLoader *loader, TnEvalResult *total, GError **error)
{
  GError *failure = NULL;
  TnBatch *batch;
  while ((batch = tn_loader_next (loader, &failure)) != NULL)
    {
      TnProgramBatch rows = { .n = batch->n, .x = batch->x, .labels = batch->labels, .targets = batch->targets };
      TnEvalResult result;
      gboolean ok = tn_program_evaluate (trained->program, &rows, &result, NULL, error);
      tn_loader_release (loader, batch);
      if (!ok)
        return FALSE;
      total->loss_sum += result.loss_sum;
      total->correct += result.correct;
      total->n += result.n;
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  return failure == NULL;
}

static void
print_result (const Options *options, const TnTrained *trained, const TnDataset *dataset, const TnEvalResult *total)
{
  double loss = total->loss_sum / (double) total->n;
  double accuracy = dataset->labels != NULL ? (double) total->correct / (double) total->n : NAN;
  if (options->json)
    {
      JsonObject *object = json_object_new ();
      json_object_set_string_member (object, "run", tn_run_folder_path (trained->folder));
      json_object_set_int_member (object, "step", tn_trained_step (trained));
      tn_trained_tell_passed_over (trained, object);
      json_object_set_string_member (object, "data", dataset->source);
      json_object_set_string_member (object, "part", options->data == NULL ? "held-out" : "all");
      json_object_set_int_member (object, "samples", total->n);
      tn_cli_set_number (object, "accuracy", accuracy);
      tn_cli_set_number (object, "loss", loss);
      tn_cli_print_json (object);
      return;
    }
  tn_trained_tell_passed_over (trained, NULL);
  printf (_ ("Checkpoint of step %" PRId64 " on %" PRId64 " %s of %s:\n"), tn_trained_step (trained), total->n,
          options->data == NULL ? _ ("held-out samples") : _ ("samples"), dataset->source);
  if (isfinite (accuracy))
    printf (_ ("  accuracy %.2f %%  (%" PRId64 " right)\n"), accuracy * 100, total->correct);
  g_autofree char *number = tn_cli_number (loss);
  printf (_ ("  loss     %s\n"), number);
}

static gboolean
run_eval (const char *path, const Options *options, GError **error)
{
  g_autoptr (TnTrained) trained = tn_trained_open (path, options->checkpoint != NULL ? options->checkpoint : "newest", error);
  g_autoptr (TnInput) input = trained != NULL ? open_input (options, trained, error) : NULL;
  if (input == NULL || !check_classes (trained, input->dataset, error))
    return FALSE;
  const TnSplit *split = input->split;
  const int64_t *ids = options->data == NULL ? split->held_out : split->train;
  int64_t n_ids = options->data == NULL ? split->n_held_out : split->n_train;
  if (n_ids == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("The run holds no samples out (data.validation is none): name a data set with --data."));
      return FALSE;
    }
  g_autoptr (TnLoader) loader = tn_input_new_eval_loader (input, ids, n_ids, input->options.batch_size, error);
  TnEvalResult total = { 0 };
  if (loader == NULL || !evaluate (trained, loader, &total, error))
    return FALSE;
  print_result (options, trained, input->dataset, &total);
  return TRUE;
}

int
tn_command_eval (int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "data", 'd', 0, G_OPTION_ARG_FILENAME, &options.data, N_ ("Other data: a file, a folder, drawn-digits:N"), "SOURCE" },
    { "part", 0, 0, G_OPTION_ARG_STRING, &options.part, N_ ("Which files of a folder (test, if there are any)"), "train|test" },
    { "checkpoint", 'c', 0, G_OPTION_ARG_STRING, &options.checkpoint, N_ ("newest (the default), best or a step"), "WHICH" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &options.json, N_ ("The result as a JSON object"), NULL },
    { 0 },
  };
  int status = TN_EXIT_USAGE;
  if (tn_cli_parse_arguments ("eval", entries, &argc, &argv, 1, 1, _ ("name a run's folder")))
    {
      g_autoptr (GError) error = NULL;
      if (options.part != NULL && strcmp (options.part, "train") != 0 && strcmp (options.part, "test") != 0)
        status = tn_cli_usage ("eval", _ ("--part is train or test, not “%s”"), options.part);
      else
        status = run_eval (argv[1], &options, &error) ? TN_EXIT_DONE : tn_cli_fail (error, options.json);
    }
  g_free (options.data);
  g_free (options.part);
  g_free (options.checkpoint);
  return status;
}
