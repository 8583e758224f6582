/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/trained.h"
#include "base/error.h"
#include "formats/safetensors.h"
#include <inttypes.h>
#include <stdio.h>

/* export: weights and running statistics, without the optimizer's state. */

static gboolean
export_weights (const char *run, const char *which, const char *path, GError **error)
{
  g_autoptr (TnTrained) trained = tn_trained_open (run, which, error);
  if (trained == NULL)
    return FALSE;
  g_autoptr (GPtrArray) names = g_ptr_array_new (), tensors = g_ptr_array_new ();
  size_t bytes = 0;
  for (int i = 0; i < tn_program_n_state (trained->program); i++)
    {
      const TnStateEntry *entry = tn_program_state (trained->program, i);
      if (entry->role == TN_ROLE_OPTIMIZER)
        continue;
      g_ptr_array_add (names, (gpointer) entry->name);
      g_ptr_array_add (tensors, entry->tensor);
      bytes += tn_tensor_bytes (entry->tensor);
    }
  g_autoptr (GHashTable) metadata = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  g_hash_table_insert (metadata, (gpointer) "format", g_strdup ("pt"));
  g_hash_table_insert (metadata, (gpointer) "tenon.model", g_strdup (tn_model_name (trained->model)));
  g_hash_table_insert (metadata, (gpointer) "tenon.run", g_strdup (tn_run_folder_name (trained->folder)));
  g_hash_table_insert (metadata, (gpointer) "tenon.step", g_strdup_printf ("%" G_GINT64_FORMAT, tn_trained_step (trained)));
  if (!tn_safetensors_write (path, (const char *const *) names->pdata, (TnTensor *const *) tensors->pdata, (int) names->len, metadata, error))
    return FALSE;
  tn_trained_tell_passed_over (trained, NULL);
  g_autofree char *size = tn_cli_bytes ((double) bytes);
  printf (_ ("Wrote %u tensors (%s) of step %" PRId64 " to %s.\n"), names->len, size, tn_trained_step (trained), path);
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
