/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-document.h"
#include "base/error.h"
#include "formats/dot-reader.h"
#include "formats/onnx-graph.h"
#include "ir/ir-reader.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

/* Blanks and comments before the first word of .dot text do not matter. */
static gboolean
looks_like_dot (const char *text, gsize n)
{
  g_autofree char *head = g_strndup (text, MIN (n, 65536));
  static GRegex *regex;
  if (g_once_init_enter (&regex))
    g_once_init_leave (&regex, g_regex_new ("^(\\xef\\xbb\\xbf)?(\\s|//[^\\n]*\\n|#[^\\n]*\\n|/\\*.*?\\*/)*(strict\\s+)?(di)?graph\\b",
                                            G_REGEX_CASELESS | G_REGEX_DOTALL | G_REGEX_RAW, 0, NULL));
  return g_regex_match (regex, head, 0, NULL);
}

static gboolean
looks_like_ir (const char *text, gsize n)
{
  return g_strstr_len (text, (gssize) MIN (n, 1 << 20), "subgraph @") != NULL || g_strstr_len (text, (gssize) MIN (n, 65536), "IR entry") != NULL;
}

static TnGraphDocument *
read_ir (const char *text, gsize n, const char *name, GError **error)
{
  g_autoptr (TnIrDocument) ir = tn_ir_document_parse (text, (gssize) n, error);
  if (ir == NULL)
    return NULL;
  /* Our own say more than the dialect can: phases, and what belongs to what. */
  g_autoptr (TnGraph) graph = g_strstr_len (text, (gssize) MIN (n, 65536), "# Tenon") != NULL ? tn_graph_from_ir (ir, NULL) : NULL;
  return graph != NULL ? tn_graph_document_from_graph (graph) : tn_graph_document_from_ir (ir, name);
}

TnGraphDocument *
tn_graph_document_from_bytes (const void *data, gsize n, const char *name, GError **error)
{
  if (n == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("The file is empty"));
      return NULL;
    }
  if (looks_like_dot (data, n))
    return tn_dot_read (data, n, name, error);
  if (looks_like_ir (data, n))
    return read_ir (data, n, name, error);
  if (tn_onnx_graph_sniff (data, n))
    return tn_onnx_graph_read (data, n, name, error);
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("This is no graph that can be shown. Graphs are .ir and .dot files and ONNX models"));
  return NULL;
}

TnGraphDocument *
tn_graph_document_load (const char *path, GError **error)
{
  GStatBuf info;
  if (g_stat (path, &info) != 0)
    {
      tn_error_set_errno (error, errno, _ ("read"), path);
      return NULL;
    }
  if (!S_ISREG (info.st_mode) || info.st_size > TN_GRAPH_DOCUMENT_MAX_BYTES)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("%s: not a file, or of more than %u MiB"), path, TN_GRAPH_DOCUMENT_MAX_BYTES >> 20);
      return NULL;
    }
  g_autofree char *bytes = NULL;
  gsize n;
  g_autoptr (GError) failure = NULL;
  if (!g_file_get_contents (path, &bytes, &n, &failure))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_IO, _ ("Cannot read “%s”: %s"), path, failure->message);
      return NULL;
    }
  g_autofree char *base = g_path_get_basename (path);
  TnGraphDocument *document = tn_graph_document_from_bytes (bytes, n, base, error);
  if (document == NULL)
    g_prefix_error (error, "%s: ", path);
  return document;
}
