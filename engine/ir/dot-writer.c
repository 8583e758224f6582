/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/dot-writer.h"
#include "base/durable.h"
#include "ir/graph-document.h"
#include <string.h>

char *
tn_dot_text (const TnGraph *graph)
{
  g_autoptr (TnGraphDocument) document = tn_graph_document_from_graph (graph);
  return tn_graph_document_to_dot (document);
}

gboolean
tn_dot_write (const TnGraph *graph, const char *path, GError **error)
{
  g_autofree char *text = tn_dot_text (graph);
  return tn_durable_write (path, text, strlen (text), error);
}
