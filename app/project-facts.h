/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>

#include "data-scan.h"
#include "ir/graph-document.h"
#include "model-report.h"

/* What the inspector and the palette know of a project beyond the selection: its model and its training graph. Read in
 * a worker thread, immutable, shared by reference. A part that cannot be made (the model has a mistake) is NULL.
 *
 *   tn_project_facts_async (path, cancellable, done_cb, self);
 */
typedef struct
{
  gatomicrefcount ref_count;
  TnModelReport *model;
  TnGraphDocument *graph; /* NULL where the model does not build */
} TnProjectFacts;

/** Of the project saved at @path. */
void tn_project_facts_async (const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
/** NULL only where it was cancelled. */
TnProjectFacts *tn_project_facts_finish (GAsyncResult *result, GError **error);
/** The same, blocking. */
TnProjectFacts *tn_project_facts_new (const char *path);
TnProjectFacts *tn_project_facts_ref (TnProjectFacts *self);
void tn_project_facts_unref (TnProjectFacts *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnProjectFacts, tn_project_facts_unref)

/* Facts as pairs of a name (translated) and a value. */
typedef struct
{
  const char *name; /* static */
  char *value;
} TnFact;

/** GArray of TnFact; values are freed with it. */
GArray *tn_facts_new (void);
void tn_facts_take (GArray *facts, const char *name, char *value);
/** @node: an operator or a scope of the graph. Empty for one that is not there. */
GArray *tn_facts_of_node (const TnProjectFacts *self, const char *node);
GArray *tn_facts_of_parameter (const TnProjectFacts *self, const char *parameter);
/** @id: of the data set. */
GArray *tn_facts_of_sample (TnDataScan *scan, gint64 id);
