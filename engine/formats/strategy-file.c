/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/strategy-file.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include "base/durable.h"
#include "base/error.h"
#include "formats/strategy-private.h"

#define MAX_BYTES (256u << 20)

/* ---- items ---- */

static void
free_array (gpointer data)
{
  g_array_unref (data);
}

static void
free_node (gpointer data)
{
  TnStrategyNode *node = data;
  g_free (node->node);
  g_ptr_array_unref (node->strategies);
  g_free (node);
}

static void
free_parameter (gpointer data)
{
  TnStrategyParameter *p = data;
  g_free (p->name);
  g_clear_pointer (&p->dev_matrix, g_array_unref);
  g_ptr_array_unref (p->maps);
  g_clear_pointer (&p->tensor_shape, g_array_unref);
  g_clear_pointer (&p->split_shape, g_array_unref);
  g_clear_pointer (&p->offsets, g_array_unref);
  g_free (p);
}

TnStrategyFile *
tn_strategy_file_new (void)
{
  TnStrategyFile *self = g_new0 (TnStrategyFile, 1);
  self->nodes = g_ptr_array_new_with_free_func (free_node);
  self->parameters = g_ptr_array_new_with_free_func (free_parameter);
  self->notes = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
tn_strategy_file_free (TnStrategyFile *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->nodes);
  g_ptr_array_unref (self->parameters);
  g_ptr_array_unref (self->notes);
  g_free (self);
}

TnStrategyNode *
tn_strategy_file_add_node (TnStrategyFile *self, const char *name, gint64 stage)
{
  TnStrategyNode *node = g_new0 (TnStrategyNode, 1);
  node->node = g_strdup (name);
  node->stage = stage;
  node->strategies = g_ptr_array_new_with_free_func (free_array);
  g_ptr_array_add (self->nodes, node);
  return node;
}

TnStrategyParameter *
tn_strategy_file_add_parameter (TnStrategyFile *self, const char *name)
{
  TnStrategyParameter *p = g_new0 (TnStrategyParameter, 1);
  p->name = g_strdup (name);
  p->maps = g_ptr_array_new_with_free_func (free_array);
  g_ptr_array_add (self->parameters, p);
  return p;
}

static GArray *
new_list (void)
{
  return g_array_new (FALSE, FALSE, sizeof (int64_t));
}

void
tn_strategy_parameter_set_layout (TnStrategyParameter *self, const TnLayout *layout)
{
  g_clear_pointer (&self->dev_matrix, g_array_unref);
  g_ptr_array_set_size (self->maps, 0);
  self->dev_matrix = g_array_append_vals (new_list (), layout->mesh->sizes, (guint) layout->mesh->n_axes);
  self->per_dim = FALSE;
  for (int d = 0; d < layout->n_dims; d++)
    self->per_dim |= layout->dims[d].n > 1;
  GArray *list = self->per_dim ? NULL : new_list ();
  if (list != NULL)
    g_ptr_array_add (self->maps, list);
  for (int d = 0; d < layout->n_dims; d++)
    {
      if (self->per_dim)
        g_ptr_array_add (self->maps, list = new_list ());
      int64_t none = -1;
      for (int k = 0; k < layout->dims[d].n; k++)
        {
          int64_t value = layout->dims[d].axes[k] < 0 ? -1 : layout->mesh->n_axes - 1 - layout->dims[d].axes[k];
          g_array_append_val (list, value);
        }
      if (layout->dims[d].n == 0)
        g_array_append_val (list, none);
    }
  if (self->split_shape == NULL)
    {
      self->split_shape = new_list ();
      self->offsets = new_list ();
    }
}

/* ---- files ---- */

TnStrategyFile *
tn_strategy_file_parse (const void *data, size_t n, GError **error)
{
  g_autoptr (TnStrategyFile) self = tn_strategy_file_new ();
  const char *text = data;
  size_t at = 0;
  if (n == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("The strategy file is empty."));
      return NULL;
    }
  while (at < n && g_ascii_isspace (text[at]))
    at++;
  gboolean ok = at < n && text[at] == '{' ? tn_strategy_file_read_json (self, data, n, error) : tn_strategy_file_read_protobuf (self, data, n, error);
  return ok ? g_steal_pointer (&self) : NULL;
}

TnStrategyFile *
tn_strategy_file_load (const char *path, GError **error)
{
  g_autofree char *data = NULL;
  gsize n;
  GError *failure = NULL;
  struct stat info;
  if (stat (path, &info) == 0 && (!S_ISREG (info.st_mode) || info.st_size > MAX_BYTES))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is no strategy file: it is no file, or too large."), path);
      return NULL;
    }
  if (!g_file_get_contents (path, &data, &n, &failure))
    {
      g_set_error (error, TN_ERROR, g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? TN_ERROR_NOT_FOUND : TN_ERROR_IO, _ ("Cannot read “%s”: %s."), path,
                   failure->message);
      g_error_free (failure);
      return NULL;
    }
  TnStrategyFile *self = tn_strategy_file_parse (data, n, error);
  if (self == NULL)
    g_prefix_error (error, "“%s”: ", path);
  return self;
}

gboolean
tn_strategy_file_save (const TnStrategyFile *self, const char *path, GError **error)
{
  if (g_str_has_suffix (path, ".json"))
    {
      g_autofree char *text = tn_strategy_file_to_json (self);
      return tn_durable_write (path, text, strlen (text), error) && chmod (path, 0600) == 0;
    }
  g_autoptr (GByteArray) bytes = tn_strategy_file_to_protobuf (self);
  return tn_durable_write (path, bytes->data, bytes->len, error) && chmod (path, 0600) == 0;
}

/* ---- layouts ---- */

gint64
tn_strategy_parameter_stage (const TnStrategyParameter *self, const char **name)
{
  size_t digits = strspn (self->name, "0123456789");
  gboolean has = digits > 0 && digits < 10 && self->name[digits] == '-';
  *name = has ? self->name + digits + 1 : self->name;
  return has ? g_ascii_strtoll (self->name, NULL, 10) : -1;
}

TnLayout *
tn_strategy_parameter_layout (const TnStrategyParameter *self, int64_t first_rank, GError **error)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  if (self->split_shape != NULL && self->split_shape->len > 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("%s is split by hand into uneven pieces, which is no layout."), self->name);
      return NULL;
    }
  g_autoptr (TnMesh) plain = tn_mesh_new ((int) self->dev_matrix->len, (const int64_t *) self->dev_matrix->data, NULL, -1, NULL, error);
  if (plain == NULL)
    return NULL;
  g_autofree int64_t *ranks = g_new (int64_t, plain->n_ranks);
  for (int64_t i = 0; i < plain->n_ranks; i++)
    ranks[i] = first_rank + i;
  g_autoptr (TnMesh) mesh = first_rank == 0 ? tn_mesh_ref (plain) : tn_mesh_new (plain->n_axes, plain->sizes, NULL, plain->n_ranks, ranks, error);
  const GArray *flat = !self->per_dim && self->maps->len > 0 ? self->maps->pdata[0] : NULL;
  guint n = self->per_dim ? self->maps->len : flat != NULL ? flat->len : 0;
  if (mesh == NULL)
    return NULL;
  for (guint d = 0; d < MIN (n, TN_MAX_DIMS); d++)
    {
      const GArray *list = self->per_dim ? self->maps->pdata[d] : flat;
      for (guint k = self->per_dim ? 0 : d; k < (self->per_dim ? list->len : d + 1); k++)
        {
          int64_t value = g_array_index (list, int64_t, k);
          if (value < -1 || value >= mesh->n_axes || dims[d].n == TN_MESH_MAX_AXES)
            {
              g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_AXIS, _ ("%s: the tensor map has %" PRId64 ", the device matrix %d axes."), self->name, value, mesh->n_axes);
              return NULL;
            }
          if (value >= 0)
            dims[d].axes[dims[d].n++] = (int8_t) (mesh->n_axes - 1 - value);
        }
    }
  return tn_layout_new (mesh, (int) MIN (n, G_MAXINT), dims, 0, TN_PARTIAL_NONE, error);
}

TnLayout *
tn_strategy_parameter_kept_layout (const TnStrategyParameter *self, int64_t first_rank, GError **error)
{
  g_autoptr (TnLayout) layout = tn_strategy_parameter_layout (self, first_rank, error);
  return layout != NULL ? tn_layout_fold_optimizer (layout, self->opt_size, error) : NULL;
}

/* ---- merging and comparing ---- */

static GArray *
copy_list (const GArray *list)
{
  return list != NULL ? g_array_append_vals (new_list (), list->data, list->len) : NULL;
}

static void
copy_parameter (TnStrategyFile *to, const TnStrategyParameter *p, gint64 stage)
{
  g_autofree char *name = g_strdup_printf ("%" PRId64 "-%s", stage, p->name);
  TnStrategyParameter *copy = tn_strategy_file_add_parameter (to, name);
  copy->dev_matrix = copy_list (p->dev_matrix);
  copy->tensor_shape = copy_list (p->tensor_shape);
  copy->split_shape = copy_list (p->split_shape);
  copy->offsets = copy_list (p->offsets);
  copy->per_dim = p->per_dim;
  copy->field = p->field;
  copy->opt_step = p->opt_step;
  copy->opt_size = p->opt_size;
  for (guint i = 0; i < p->maps->len; i++)
    g_ptr_array_add (copy->maps, copy_list (p->maps->pdata[i]));
}

TnStrategyFile *
tn_strategy_files_merge (TnStrategyFile *const *files, int n, GError **error)
{
  g_autoptr (TnStrategyFile) merged = tn_strategy_file_new ();
  g_autoptr (GHashTable) stages = g_hash_table_new (g_direct_hash, g_direct_equal);
  merged->current_stage = 1;
  for (int i = 0; i < n; i++)
    {
      const TnStrategyFile *file = files[i];
      gint64 stage = file->nodes->len > 0 ? ((TnStrategyNode *) file->nodes->pdata[0])->stage : 0;
      if (!g_hash_table_add (stages, GSIZE_TO_POINTER ((gsize) stage)))
        continue;
      for (guint k = 0; k < file->nodes->len; k++)
        {
          const TnStrategyNode *node = file->nodes->pdata[k];
          TnStrategyNode *copy = tn_strategy_file_add_node (merged, node->node, node->stage);
          for (guint s = 0; s < node->strategies->len; s++)
            g_ptr_array_add (copy->strategies, copy_list (node->strategies->pdata[s]));
        }
      for (guint k = 0; k < file->parameters->len; k++)
        copy_parameter (merged, file->parameters->pdata[k], stage);
    }
  return g_steal_pointer (&merged);
}

static void
append_list (GString *text, const GArray *list)
{
  g_string_append_c (text, '[');
  for (guint i = 0; list != NULL && i < list->len; i++)
    g_string_append_printf (text, "%s%" PRId64, i > 0 ? ", " : "", g_array_index (list, int64_t, i));
  g_string_append_c (text, ']');
}

static char *
describe_parameter (const TnStrategyParameter *p)
{
  GString *text = g_string_new ("dev ");
  append_list (text, p->dev_matrix);
  g_string_append (text, " map ");
  for (guint i = 0; i < p->maps->len; i++)
    append_list (text, p->maps->pdata[i]);
  if (p->opt_size != 0)
    g_string_append_printf (text, " optimizer %" PRId64 " step %" PRId64, p->opt_size, p->opt_step);
  if (p->split_shape != NULL && p->split_shape->len > 0)
    {
      g_string_append (text, " rows ");
      append_list (text, p->split_shape);
    }
  return g_string_free (text, FALSE);
}

static char *
describe_node (const TnStrategyNode *node)
{
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "stage %" PRId64, node->stage);
  for (guint i = 0; i < node->strategies->len; i++)
    {
      g_string_append_c (text, ' ');
      append_list (text, node->strategies->pdata[i]);
    }
  return g_string_free (text, FALSE);
}

/* name -> description of all items. */
static GHashTable *
describe (const TnStrategyFile *file)
{
  GHashTable *table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  for (guint i = 0; i < file->parameters->len; i++)
    g_hash_table_insert (table, g_strdup (((TnStrategyParameter *) file->parameters->pdata[i])->name), describe_parameter (file->parameters->pdata[i]));
  for (guint i = 0; i < file->nodes->len; i++)
    g_hash_table_insert (table, g_strdup (((TnStrategyNode *) file->nodes->pdata[i])->node), describe_node (file->nodes->pdata[i]));
  return table;
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

GPtrArray *
tn_strategy_files_diff (const TnStrategyFile *a, const TnStrategyFile *b)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) left = describe (a), right = describe (b);
  GHashTableIter iter;
  gpointer name, text;
  g_hash_table_iter_init (&iter, left);
  while (g_hash_table_iter_next (&iter, &name, &text))
    {
      const char *other = g_hash_table_lookup (right, name);
      if (other == NULL)
        g_ptr_array_add (lines, g_strdup_printf (_ ("%s: only in the first (%s)"), (char *) name, (char *) text));
      else if (strcmp (text, other) != 0)
        g_ptr_array_add (lines, g_strdup_printf (_ ("%s: %s, was %s"), (char *) name, other, (char *) text));
    }
  g_hash_table_iter_init (&iter, right);
  while (g_hash_table_iter_next (&iter, &name, &text))
    if (!g_hash_table_contains (left, name))
      g_ptr_array_add (lines, g_strdup_printf (_ ("%s: only in the second (%s)"), (char *) name, (char *) text));
  g_ptr_array_sort (lines, compare_texts);
  return lines;
}
