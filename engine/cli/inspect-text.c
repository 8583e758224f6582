/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inspect.h"
#include "cli/cli.h"
#include "base/error.h"
#include "formats/bytes.h"
#include <string.h>

/* Text files that a run leaves: its log, and graphs for Graphviz. */

#define MOST_BYTES ((uint64_t) 1 << 28)
#define STAMP "dddd-dd-ddTdd:dd:dd"

gboolean
tn_looks_like_log (const char *head, size_t n)
{
  if (n < sizeof STAMP)
    return FALSE;
  for (size_t i = 0; i < sizeof STAMP - 1; i++)
    if (STAMP[i] == 'd' ? !g_ascii_isdigit (head[i]) : head[i] != STAMP[i])
      return FALSE;
  return TRUE;
}

JsonObject *
tn_inspect_log (const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = tn_file_read (path, MOST_BYTES, error);
  if (bytes == NULL)
    return NULL;
  gsize n;
  const char *data = g_bytes_get_data (bytes, &n);
  g_autofree char *raw = g_strndup (data, n), *text = g_utf8_make_valid (raw, -1);
  g_auto (GStrv) lines = g_strsplit (g_strchomp (text), "\n", -1);
  guint n_lines = g_strv_length (lines);
  JsonObject *object = tn_inspection_new ("log", path);
  json_object_set_int_member (object, "lines", n_lines);
  if (n_lines > 0)
    {
      g_autofree char *begin = g_strndup (lines[0], strcspn (lines[0], " "));
      json_object_set_string_member (object, "begins", begin);
      json_object_set_string_member (object, "last_line", lines[n_lines - 1]);
    }
  return object;
}

/* DOT is read only as far as counting needs: strings and HTML labels are skipped, statements end at newlines too, as all writers put them
 * on lines of their own. */

typedef struct
{
  gint64 nodes, edges, clusters;
  gboolean in_edge;        /* the statement has an arrow */
  int brackets;            /* inside an attribute list */
  const char *word;        /* first word of the statement */
  size_t word_length;
} Counter;

static const char *
skip_string (const char *at, const char *end)
{
  for (at++; at < end && *at != '"'; at++)
    if (*at == '\\')
      at++;
  return at;
}

static const char *
skip_html (const char *at, const char *end)
{
  int depth = 0;
  for (; at < end; at++)
    {
      depth += (*at == '<') - (*at == '>');
      if (depth == 0)
        break;
    }
  return at;
}

static gboolean
word_is (const Counter *self, const char *word)
{
  return self->word != NULL && strlen (word) == self->word_length && memcmp (self->word, word, self->word_length) == 0;
}

static void
begin_attributes (Counter *self)
{
  if (self->brackets++ == 0 && !self->in_edge && self->word != NULL && !word_is (self, "node") && !word_is (self, "edge")
      && !word_is (self, "graph"))
    self->nodes++;
}

static void
end_statement (Counter *self)
{
  self->clusters += word_is (self, "subgraph");
  self->in_edge = FALSE;
  self->word = NULL;
}

static void
count (Counter *self, const char *at, const char *end)
{
  for (; at < end; at++)
    {
      gboolean outside = self->brackets == 0;
      if (outside && self->word == NULL && (g_ascii_isalnum (*at) || *at == '_' || *at == '"'))
        {
          const char *stop = at;
          while (stop < end && (g_ascii_isalnum (*stop) || *stop == '_'))
            stop++;
          self->word = at;
          self->word_length = (size_t) (stop - at);
        }
      if (*at == '"')
        at = skip_string (at, end);
      else if (*at == '<' && !outside)
        at = skip_html (at, end);
      else if (*at == '[')
        begin_attributes (self);
      else if (*at == ']' && !outside)
        self->brackets--;
      else if (outside && *at == '-' && at + 1 < end && at[1] == '>')
        {
          self->edges++;
          self->in_edge = TRUE;
          at++;
        }
      else if (outside && strchr ("\n;{}", *at) != NULL)
        end_statement (self);
    }
}

JsonObject *
tn_inspect_dot (const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = tn_file_read (path, MOST_BYTES, error);
  if (bytes == NULL)
    return NULL;
  gsize n;
  const char *data = g_bytes_get_data (bytes, &n);
  Counter counter = { 0 };
  count (&counter, data, data + n);
  JsonObject *object = tn_inspection_new ("dot", path);
  json_object_set_int_member (object, "nodes", counter.nodes);
  json_object_set_int_member (object, "edges", counter.edges);
  json_object_set_int_member (object, "clusters", counter.clusters);
  return object;
}
