/* SPDX-License-Identifier: Apache-2.0 */
#include "train/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "formats/bytes.h"

#define ANSWERS_FILE "answers.jsonl"
#define MAX_FILE_BYTES ((guint64) 256 << 20)
#define MAX_WIDTH 100000

void
tn_answers_free (TnAnswers *answers)
{
  if (answers == NULL)
    return;
  g_free (answers->ids);
  g_free (answers->labels);
  g_free (answers->values);
  g_free (answers);
}

static TnAnswers *
new_answers (guint n, guint width)
{
  TnAnswers *self = g_new0 (TnAnswers, 1);
  self->n = n;
  self->width = width;
  self->ids = g_new0 (gint64, MAX (n, 1));
  self->labels = g_new0 (gint32, MAX (n, 1));
  self->values = g_new0 (float, MAX ((gsize) n * width, 1));
  return self;
}

static void
softmax (float *row, guint n)
{
  double most = -INFINITY, sum = 0;
  for (guint i = 0; i < n; i++)
    most = fmax (most, (double) row[i]);
  for (guint i = 0; i < n; i++)
    sum += exp ((double) row[i] - most);
  for (guint i = 0; i < n; i++)
    row[i] = (float) (exp ((double) row[i] - most) / sum);
}

static gboolean
ask (TnAnswers *self, TnProgram *program, TnInput *input, TnLoader *loader, GError **error)
{
  GError *failure = NULL;
  guint done = 0;
  for (TnBatch *batch; done < self->n && (batch = tn_loader_next (loader, &failure)) != NULL;)
    {
      TnProgramBatch rows = { .n = batch->n, .x = batch->x, .labels = batch->labels, .targets = batch->targets };
      TnEvalResult result;
      gboolean ok = tn_program_evaluate (program, &rows, &result, self->values + (gsize) done * self->width, error);
      for (int i = 0; i < batch->n; i++)
        {
          self->ids[done + (guint) i] = batch->ids[i];
          self->labels[done + (guint) i] = batch->labels != NULL ? batch->labels[i] : -1;
        }
      done += (guint) batch->n;
      tn_loader_release (loader, batch);
      if (!ok)
        return FALSE;
    }
  if (failure != NULL)
    g_propagate_error (error, failure);
  return failure == NULL;
}

TnAnswers *
tn_answers_new (TnProgram *program, TnInput *input, gboolean classes, const gint64 *ids, int n_ids, gint64 step, GError **error)
{
  g_autofree int64_t *known = g_new (int64_t, MAX (n_ids, 1));
  guint n = 0;
  for (int i = 0; i < n_ids; i++)
    if (ids[i] >= 0 && ids[i] < input->dataset->n_samples)
      known[n++] = ids[i];
  g_autoptr (TnAnswers) self = new_answers (n, (guint) tn_program_n_outputs (program));
  self->step = step;
  self->classes = classes;
  if (n == 0)
    return g_steal_pointer (&self);
  g_autoptr (TnLoader) loader = tn_input_new_eval_loader (input, known, n, MIN ((int) n, input->options.batch_size), error);
  if (loader == NULL || !ask (self, program, input, loader, error))
    return NULL;
  for (guint i = 0; classes && i < n; i++)
    softmax (self->values + (gsize) i * self->width, self->width);
  return g_steal_pointer (&self);
}

/* The file. */

static char *
to_line (const TnAnswers *self)
{
  g_autoptr (JsonObject) object = json_object_new ();
  JsonArray *ids = json_array_new (), *labels = json_array_new (), *rows = json_array_new ();
  for (guint i = 0; i < self->n; i++)
    {
      JsonArray *row = json_array_new ();
      for (guint k = 0; k < self->width; k++)
        json_array_add_double_element (row, (double) self->values[(gsize) i * self->width + k]);
      json_array_add_int_element (ids, self->ids[i]);
      json_array_add_int_element (labels, self->labels[i]);
      json_array_add_array_element (rows, row);
    }
  json_object_set_int_member (object, "step", self->step);
  json_object_set_int_member (object, "width", self->width);
  json_object_set_boolean_member (object, "classes", self->classes);
  json_object_set_array_member (object, "ids", ids);
  json_object_set_array_member (object, "labels", labels);
  json_object_set_array_member (object, "values", rows);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = tn_json_to_text (node, 0);
  return g_strconcat (text, "\n", NULL);
}

gboolean
tn_answers_append (const TnAnswers *self, const char *run_path, GError **error)
{
  g_autofree char *path = g_build_filename (run_path, ANSWERS_FILE, NULL);
  g_autofree char *line = to_line (self);
  size_t n = strlen (line);
  int fd = open (path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd >= 0 && write (fd, line, n) == (ssize_t) n)
    {
      close (fd);
      return TRUE;
    }
  tn_error_set_errno (error, errno, _("write"), path);
  if (fd >= 0)
    close (fd);
  return FALSE;
}

static TnAnswers *
parse_line (const char *text, gssize n)
{
  g_autoptr (JsonNode) node = tn_json_parse (text, n, NULL);
  JsonArray *ids, *labels, *rows;
  gint64 step, width;
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    return NULL;
  JsonObject *object = json_node_get_object (node);
  if (!tn_json_get_int (object, "step", 0, G_MAXINT64, &step, "", NULL) || !tn_json_get_int (object, "width", 1, MAX_WIDTH, &width, "", NULL)
      || !tn_json_get_array (object, "ids", &ids, "", NULL) || !tn_json_get_array (object, "labels", &labels, "", NULL)
      || !tn_json_get_array (object, "values", &rows, "", NULL))
    return NULL;
  guint n_rows = json_array_get_length (ids);
  if (json_array_get_length (labels) != n_rows || json_array_get_length (rows) != n_rows)
    return NULL;
  g_autoptr (TnAnswers) self = new_answers (n_rows, n_rows > 0 ? (guint) width : 0);
  self->step = step;
  self->width = (guint) width;
  self->classes = json_object_has_member (object, "classes") && json_node_get_boolean (json_object_get_member (object, "classes"));
  for (guint i = 0; i < n_rows; i++)
    {
      JsonNode *row_node = json_array_get_element (rows, i);
      JsonArray *row = JSON_NODE_HOLDS_ARRAY (row_node) ? json_node_get_array (row_node) : NULL;
      if (row == NULL || json_array_get_length (row) != self->width)
        return NULL;
      self->ids[i] = json_array_get_int_element (ids, i);
      self->labels[i] = (gint32) json_array_get_int_element (labels, i);
      for (guint k = 0; k < self->width; k++)
        self->values[(gsize) i * self->width + k] = (float) json_array_get_double_element (row, k);
    }
  return g_steal_pointer (&self);
}

GPtrArray *
tn_answers_read (const char *run_path, GError **error)
{
  g_autofree char *path = g_build_filename (run_path, ANSWERS_FILE, NULL);
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_answers_free);
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return all;
  g_autoptr (GBytes) bytes = tn_file_read (path, MAX_FILE_BYTES, error);
  if (bytes == NULL)
    {
      g_ptr_array_unref (all);
      return NULL;
    }
  gsize n;
  const char *text = g_bytes_get_data (bytes, &n), *end = text + n;
  for (const char *line = text, *next; line < end; line = next + 1)
    {
      next = memchr (line, '\n', (gsize) (end - line));
      if (next == NULL)
        break; /* its writer is at it right now */
      TnAnswers *answers = parse_line (line, next - line);
      if (answers == NULL)
        continue;
      while (all->len > 0 && ((TnAnswers *) all->pdata[all->len - 1])->step >= answers->step)
        g_ptr_array_set_size (all, (int) all->len - 1);
      g_ptr_array_add (all, answers);
    }
  return all;
}

void
tn_answers_cut (const char *run_path, gint64 step)
{
  g_autofree char *path = g_build_filename (run_path, ANSWERS_FILE, NULL);
  g_autoptr (GBytes) bytes = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? tn_file_read (path, MAX_FILE_BYTES, NULL) : NULL;
  if (bytes == NULL)
    return;
  gsize n, keep = 0;
  const char *text = g_bytes_get_data (bytes, &n), *end = text + n;
  for (const char *line = text, *next; line < end && (next = memchr (line, '\n', (gsize) (end - line))) != NULL; line = next + 1)
    {
      g_autoptr (TnAnswers) answers = parse_line (line, next - line);
      if (answers != NULL && answers->step > step)
        break;
      keep = (gsize) (next + 1 - text);
    }
  if (keep < n && truncate (path, (off_t) keep) != 0)
    errno = 0; /* readers drop what a later line contradicts */
}
