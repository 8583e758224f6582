/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/graph-dump.h"
#include "base/error.h"
#include "ir/dot-writer.h"
#include "ir/ir-writer.h"
#include <errno.h>
#include <string.h>

struct _TnGraphDump
{
  char *folder;
  int stage;   /* of the next pair */
  int counter; /* of the next file */
};

TnGraphDump *
tn_graph_dump_new (const char *folder, int rank, int n_ranks, GError **error)
{
  g_autofree char *rank_name = g_strdup_printf ("rank_%d", rank);
  g_autofree char *path = n_ranks > 1 ? g_build_filename (folder, rank_name, NULL) : g_strdup (folder);
  if (g_mkdir_with_parents (path, 0777) != 0)
    {
      tn_error_set_errno (error, errno, _ ("create"), path);
      return NULL;
    }
  TnGraphDump *self = g_new0 (TnGraphDump, 1);
  self->folder = g_steal_pointer (&path);
  return self;
}

void
tn_graph_dump_free (TnGraphDump *self)
{
  g_free (self->folder);
  g_free (self);
}

const char *
tn_graph_dump_folder (const TnGraphDump *self)
{
  return self->folder;
}

/* The next file's path; counts on. */
static char *
next_path (TnGraphDump *self, const char *stage, const char *extension)
{
  g_autofree char *safe = g_strdup (stage);
  g_strcanon (safe, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-", '_');
  g_autofree char *file = g_strdup_printf ("%02d_%s_%04d.%s", self->stage, safe, self->counter++, extension);
  return g_build_filename (self->folder, file, NULL);
}

gboolean
tn_graph_dump_stage_text (TnGraphDump *self, const char *stage, const TnGraph *graph, GError **error)
{
  g_autofree char *path = next_path (self, stage, "ir");
  self->stage++;
  return tn_ir_write (graph, path, error);
}

gboolean
tn_graph_dump_stage (TnGraphDump *self, const char *stage, const TnGraph *graph, GError **error)
{
  g_autofree char *ir = next_path (self, stage, "ir"), *dot = next_path (self, stage, "dot");
  self->stage++;
  return tn_ir_write (graph, ir, error) && tn_dot_write (graph, dot, error);
}

/* ---- names ---- */

static int
n_digits (const char *text)
{
  return (int) strspn (text, G_CSET_DIGITS);
}

/* "_0012" at the end of @name: cuts it off. */
static int
take_counter (char *name)
{
  char *underscore = strrchr (name, '_');
  if (underscore == NULL || n_digits (underscore + 1) < 4 || underscore[1 + n_digits (underscore + 1)] != '\0')
    return -1;
  gint64 value = g_ascii_strtoll (underscore + 1, NULL, 10);
  if (value > G_MAXINT)
    return -1;
  *underscore = '\0';
  return (int) value;
}

gboolean
tn_graph_dump_parse_name (const char *file, int *stage, char **name, int *counter)
{
  static const char *const extensions[] = { ".ir", ".dat", ".dot", ".pb", NULL };
  const char *slash = strrchr (file, '/');
  if (slash != NULL)
    file = slash + 1;
  int e = 0;
  while (extensions[e] != NULL && !g_str_has_suffix (file, extensions[e]))
    e++;
  if (extensions[e] == NULL)
    return FALSE;
  *stage = *counter = -1;
  g_autofree char *rest = g_strndup (file, strlen (file) - strlen (extensions[e]));
  char *p = rest;
  if (n_digits (p) == 4 && p[4] == '_') /* release 1.0: the counter comes first */
    {
      *counter = (int) g_ascii_strtoll (p, NULL, 10);
      p += 5;
    }
  if (n_digits (p) == 2 && p[2] == '_')
    {
      *stage = (int) g_ascii_strtoll (p, NULL, 10);
      p += 3;
    }
  int last = take_counter (p);
  if (last >= 0)
    *counter = last;
  *name = g_strdup (p);
  return TRUE;
}
