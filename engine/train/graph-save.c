/* SPDX-License-Identifier: Apache-2.0 */
#include "train/graph-save.h"

#include "ir/graph-dump.h"

typedef struct
{
  TnGraphDump *dump;
  GError *error; /* the first one */
} Saving;

static void
stage_cb (gpointer data, const char *name, TnGraph *graph)
{
  Saving *saving = data;
  if (saving->error == NULL)
    tn_graph_dump_stage (saving->dump, name, graph, &saving->error);
}

gboolean
tn_graph_save_stages (const TnGraph *built, TnFusionAccepts accepts, gpointer data, const char *folder, GError **error)
{
  g_autoptr (TnGraphDump) dump = tn_graph_dump_new (folder, 0, 1, error);
  if (dump == NULL || !tn_graph_dump_stage (dump, "bootstrap", built, error))
    return FALSE;
  Saving saving = { .dump = dump };
  g_autoptr (TnGraph) last = tn_passes_run (built, accepts, data, stage_cb, &saving, error);
  if (saving.error == NULL)
    return last != NULL;
  if (last != NULL)
    g_propagate_error (error, saving.error);
  else
    g_error_free (saving.error);
  return FALSE;
}
