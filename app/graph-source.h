/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include "ir/graph-document.h"

/* Where the graph page gets graphs from: the project's training step, a run's, or a file. Read in worker threads. */
typedef enum
{
  TN_GRAPH_SOURCE_PROJECT,
  TN_GRAPH_SOURCE_RUN,
  TN_GRAPH_SOURCE_FILE
} TnGraphSourceKind;

typedef struct
{
  TnGraphSourceKind kind;
  char *path;         /* of the project, the run or the file */
  gboolean optimized; /* project and run: as the passes left it */
  char *title;
} TnGraphSource;

TnGraphSource *tn_graph_source_new (TnGraphSourceKind kind, const char *path, gboolean optimized, const char *title);
void tn_graph_source_free (TnGraphSource *self);

/** Graphs saved in folder @path ("graphs" of a run) in the order of their stages. GPtrArray of TnGraphSource; free. */
GPtrArray *tn_graph_sources_in (const char *path);

typedef struct
{
  TnGraphDocument *document;
  TnGraph *graph; /* NULL for files */
} TnLoadedGraph;

void tn_loaded_graph_free (TnLoadedGraph *self);
void tn_graph_source_load_async (const TnGraphSource *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
TnLoadedGraph *tn_graph_source_load_finish (GAsyncResult *result, GError **error);
/** The same, blocking: for a thread. Free with tn_loaded_graph_free. */
TnLoadedGraph *tn_graph_source_load (const TnGraphSource *self, GError **error);
