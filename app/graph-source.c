/* SPDX-License-Identifier: Apache-2.0 */
#include "graph-source.h"

#include "ir/graph-dump.h"
#include "train/program.h"
#include "train/project.h"
#include "train/run-folder.h"

TnGraphSource *
tn_graph_source_new (TnGraphSourceKind kind, const char *path, gboolean optimized, const char *title)
{
  TnGraphSource *self = g_new0 (TnGraphSource, 1);
  *self = (TnGraphSource){ kind, g_strdup (path), optimized, g_strdup (title) };
  return self;
}

void
tn_graph_source_free (TnGraphSource *self)
{
  g_free (self->path);
  g_free (self->title);
  g_free (self);
}

typedef struct
{
  int counter;
  char *name;
} Dump;

static int
compare_dumps (gconstpointer a, gconstpointer b)
{
  const Dump *x = a, *y = b;
  return x->counter != y->counter ? x->counter - y->counter : g_strcmp0 (x->name, y->name);
}

GPtrArray *
tn_graph_sources_in (const char *path)
{
  GPtrArray *sources = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_graph_source_free);
  g_autoptr (GArray) dumps = g_array_new (FALSE, FALSE, sizeof (Dump));
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  for (const char *name; dir != NULL && dumps->len < 2000 && (name = g_dir_read_name (dir)) != NULL;)
    {
      int stage;
      g_autofree char *stage_name = NULL;
      Dump dump = { 0 };
      if (!g_str_has_suffix (name, ".ir") || !tn_graph_dump_parse_name (name, &stage, &stage_name, &dump.counter))
        continue;
      dump.name = g_strdup (name);
      g_array_append_val (dumps, dump);
    }
  g_array_sort (dumps, compare_dumps);
  for (guint i = 0; i < dumps->len; i++)
    {
      Dump *dump = &g_array_index (dumps, Dump, i);
      g_autofree char *file = g_build_filename (path, dump->name, NULL);
      g_ptr_array_add (sources, tn_graph_source_new (TN_GRAPH_SOURCE_FILE, file, FALSE, dump->name));
      g_free (dump->name);
    }
  return sources;
}

void
tn_loaded_graph_free (TnLoadedGraph *self)
{
  g_clear_pointer (&self->document, tn_graph_document_unref);
  g_clear_pointer (&self->graph, tn_graph_unref);
  g_free (self);
}

/* The graph needs no weights: what init.from names may be gone. */
static TnGraph *
build_graph (const TnGraphSource *self, GError **error)
{
  g_autoptr (TnModel) model = NULL;
  g_autoptr (TnSettings) settings = NULL;
  if (self->kind == TN_GRAPH_SOURCE_RUN)
    {
      g_autoptr (TnRunFolder) run = tn_run_folder_open (self->path, error);
      model = run != NULL ? tn_run_folder_load_model (run, error) : NULL;
      settings = run != NULL ? tn_settings_copy (tn_run_folder_settings (run)) : NULL;
    }
  else
    {
      g_autoptr (TnProject) project = tn_project_open (self->path, error);
      settings = project != NULL ? tn_settings_copy (tn_project_settings (project)) : NULL;
      model = project != NULL ? tn_project_load_model (project, settings, error) : NULL;
    }
  if (model == NULL)
    return NULL;
  tn_settings_reset (settings, "init.from");
  g_autoptr (TnProgram) program = tn_program_new (model, settings, error);
  return program != NULL ? tn_program_graph (program, tn_settings_get_int (settings, "train.batch"), self->optimized, error) : NULL;
}

TnLoadedGraph *
tn_graph_source_load (const TnGraphSource *self, GError **error)
{
  TnLoadedGraph *loaded = g_new0 (TnLoadedGraph, 1);
  if (self->kind == TN_GRAPH_SOURCE_FILE)
    loaded->document = tn_graph_document_load (self->path, error);
  else
    {
      loaded->graph = build_graph (self, error);
      loaded->document = loaded->graph != NULL ? tn_graph_document_from_graph (loaded->graph) : NULL;
    }
  if (loaded->document == NULL)
    g_clear_pointer (&loaded, tn_loaded_graph_free);
  return loaded;
}

static void
load_in_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  GError *error = NULL;
  TnLoadedGraph *loaded = tn_graph_source_load (data, &error);
  if (loaded != NULL)
    g_task_return_pointer (task, loaded, (GDestroyNotify) tn_loaded_graph_free);
  else
    g_task_return_error (task, error);
}

void
tn_graph_source_load_async (const TnGraphSource *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_return_on_cancel (task, FALSE);
  g_task_set_task_data (task, tn_graph_source_new (self->kind, self->path, self->optimized, self->title), (GDestroyNotify) tn_graph_source_free);
  g_task_run_in_thread (task, load_in_thread);
}

TnLoadedGraph *
tn_graph_source_load_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
