/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/trained.h"
#include "base/durable.h"
#include "base/error.h"
#include "formats/safetensors.h"
#include "train/program-graph.h"
#include <inttypes.h>
#include <stdio.h>

/* export: weights and running statistics, without the optimizer's state. */

/* The model's parameters and statistics, in the checkpoint's types and shapes. */
static gboolean
add_tensors (TnSafetensorsWriter *writer, const TnTrained *trained, guint *n, size_t *bytes, GError **error)
{
  TnProgramRecipe recipe;
  g_autoptr (TnGraph) graph = tn_program_recipe_init (&recipe, trained->model, trained->settings, error) ? tn_program_evaluation_graph (&recipe, 1, error) : NULL;
  if (graph == NULL)
    return FALSE;
  *n = (guint) tn_graph_n_parameters (graph);
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *value = tn_graph_parameter (graph, i);
      TnDType dtype;
      TnShape shape;
      if (!tn_checkpoint_describe (trained->checkpoint, value->node->name, &dtype, &shape) || dtype != value->dtype || !tn_shape_equal (&shape, &value->shape))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("Checkpoint “%s” has no tensor “%s” of the shape that the model needs."), tn_checkpoint_path (trained->checkpoint),
                       value->node->name);
          return FALSE;
        }
      *bytes += (size_t) tn_shape_count (&shape) * tn_dtype_size (dtype);
      if (!tn_safetensors_writer_add (writer, value->node->name, dtype, shape, error))
        return FALSE;
    }
  return TRUE;
}

/* One tensor at a time: what was split over ranks need not fit here whole. */
static gboolean
write_tensors (TnSafetensorsWriter *writer, const TnCheckpoint *checkpoint, const char *path, GError **error)
{
  g_autoptr (TnDurableFile) file = tn_durable_file_new (path, tn_safetensors_writer_size (writer), error);
  if (file == NULL || !tn_safetensors_writer_begin (writer, tn_safetensors_durable_sink, file, error))
    return FALSE;
  for (const char *name; (name = tn_safetensors_writer_next (writer)) != NULL;)
    {
      g_autoptr (TnTensor) tensor = tn_checkpoint_load (checkpoint, name, error);
      if (tensor == NULL || !tn_safetensors_writer_write (writer, tn_tensor_data (tensor), error))
        return FALSE;
    }
  return tn_durable_file_finish (g_steal_pointer (&file), TRUE, error);
}

static gboolean
export_weights (const char *run, const char *which, const char *path, GError **error)
{
  g_autoptr (TnTrained) trained = tn_trained_open_files (run, which, error);
  if (trained == NULL)
    return FALSE;
  g_autoptr (TnSafetensorsWriter) writer = tn_safetensors_writer_new ();
  g_autofree char *step = g_strdup_printf ("%" G_GINT64_FORMAT, tn_trained_step (trained));
  guint n = 0;
  size_t bytes = 0;
  tn_safetensors_writer_set_metadata (writer, "format", "pt");
  tn_safetensors_writer_set_metadata (writer, "tenon.model", tn_model_name (trained->model));
  tn_safetensors_writer_set_metadata (writer, "tenon.run", tn_run_folder_name (trained->folder));
  tn_safetensors_writer_set_metadata (writer, "tenon.step", step);
  if (!add_tensors (writer, trained, &n, &bytes, error) || !write_tensors (writer, trained->checkpoint, path, error))
    return FALSE;
  tn_trained_tell_passed_over (trained, NULL);
  g_autofree char *size = tn_cli_bytes ((double) bytes);
  printf (_ ("Wrote %u tensors (%s) of step %" PRId64 " to %s.\n"), n, size, tn_trained_step (trained), path);
  return TRUE;
}

int
tn_command_export (int argc, char **argv)
{
  g_autofree char *output = NULL, *which = NULL;
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output, N_ ("The file to write"), "FILE.safetensors" },
    { "checkpoint", 'c', 0, G_OPTION_ARG_STRING, &which, N_ ("newest (the default), best or a step"), "WHICH" },
    { 0 },
  };
  if (!tn_cli_parse_arguments ("export", entries, &argc, &argv, 1, 1, _ ("name a run's folder")))
    return TN_EXIT_USAGE;
  if (output == NULL)
    return tn_cli_usage ("export", _ ("name the file to write with -o"));
  g_autoptr (GError) error = NULL;
  return export_weights (argv[1], which != NULL ? which : "newest", output, &error) ? TN_EXIT_DONE : tn_cli_fail (error, FALSE);
}
