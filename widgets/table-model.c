/* SPDX-License-Identifier: Apache-2.0 */
#include "table-model.h"

#include <math.h>
#include <string.h>

#include "number.h"

#define ROWS_AT_ONCE 20000 /* up to here all is done before the call returns */
#define SLICE_US 3000
#define MIN_SLICE_ROWS 64 /* between two looks at the clock */

struct _TnTableRow
{
  GObject parent_instance;
  guint index;
};

G_DEFINE_FINAL_TYPE (TnTableRow, tn_table_row, G_TYPE_OBJECT)

static void
tn_table_row_class_init (TnTableRowClass *klass)
{
}

static void
tn_table_row_init (TnTableRow *self)
{
}

guint
tn_table_row_index (TnTableRow *self)
{
  g_return_val_if_fail (TN_IS_TABLE_ROW (self), 0);
  return self->index;
}

typedef struct
{
  double number;
  char *text; /* collation key; NULL in a column of numbers */
  guint row;
} Key;

/* One making of the order: filter and keys in slices, then the sorting. */
typedef struct
{
  guint next, n_rows;
  GArray *keys; /* Key, of the rows that pass */
  gboolean sorted, by_text, descending;
} Job;

struct _TnTableModel
{
  GObject parent_instance;
  TnTableColumn *columns;
  guint n_columns;
  TnTableFuncs funcs;
  gpointer data;
  GDestroyNotify destroy;

  guint *order; /* rows in the order shown; NULL: the rows' own */
  guint n_order, n_rows;
  TnTableFilter *filter;
  int sort; /* column or -1 */
  gboolean descending;

  Job *job;    /* while slices run */
  guint slice; /* their idle source */
  GCancellable *sorting; /* while the thread runs */
};

enum
{
  PROP_0,
  PROP_BUSY,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void list_iface_init (GListModelInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TnTableModel, tn_table_model, G_TYPE_OBJECT, G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, list_iface_init))

static void
key_clear (gpointer key)
{
  g_free (((Key *) key)->text);
}

static void
job_free (Job *job)
{
  g_array_unref (job->keys);
  g_free (job);
}

static int
compare_keys (gconstpointer a_pointer, gconstpointer b_pointer, gpointer data)
{
  const Key *a = a_pointer, *b = b_pointer;
  const Job *job = data;
  int order = 0;
  if (job->by_text)
    order = strcmp (a->text, b->text);
  else if (isnan (a->number) || isnan (b->number))
    /* Missing ones last, whichever way the others go. */
    return isnan (a->number) && isnan (b->number) ? (a->row > b->row) - (a->row < b->row) : isnan (a->number) ? 1 : -1;
  else
    order = (a->number > b->number) - (a->number < b->number);
  if (order != 0)
    return job->descending ? -order : order;
  return (a->row > b->row) - (a->row < b->row);
}

static void
publish (TnTableModel *self, Job *job)
{
  guint before = g_list_model_get_n_items (G_LIST_MODEL (self));
  g_clear_pointer (&self->order, g_free);
  self->n_rows = job->n_rows;
  self->n_order = job->keys->len;
  self->order = g_new (guint, MAX (self->n_order, 1));
  for (guint i = 0; i < self->n_order; i++)
    self->order[i] = g_array_index (job->keys, Key, i).row;
  g_list_model_items_changed (G_LIST_MODEL (self), 0, before, self->n_order);
}

static void
read_row (TnTableModel *self, Job *job, guint row)
{
  if (self->filter != NULL && !tn_table_filter_match (self->filter, row, self->funcs.text, self->funcs.number, self->data))
    return;
  Key key = { .row = row };
  if (job->by_text)
    {
      g_autofree char *text = self->funcs.text (self->data, row, (guint) self->sort);
      /* "conv2" before "conv10": the same order as of file names. */
      key.text = g_utf8_collate_key_for_filename (text != NULL ? text : "", -1);
    }
  else if (job->sorted)
    key.number = self->funcs.number (self->data, row, (guint) self->sort);
  g_array_append_val (job->keys, key);
}

static void
finish (TnTableModel *self)
{
  g_autofree Job *job = g_steal_pointer (&self->job);
  publish (self, job);
  g_array_unref (job->keys);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BUSY]);
}

static void
sort_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Job *job = data;
  if (!g_cancellable_is_cancelled (cancellable))
    g_array_sort_with_data (job->keys, compare_keys, job);
  g_task_return_boolean (task, TRUE);
}

static void
sorted_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  TnTableModel *self = TN_TABLE_MODEL (source);
  GTask *task = G_TASK (result);
  if (g_cancellable_is_cancelled (g_task_get_cancellable (task)))
    return;
  g_clear_object (&self->sorting);
  publish (self, g_task_get_task_data (task));
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BUSY]);
}

static void
sort_in_thread (TnTableModel *self)
{
  self->sorting = g_cancellable_new ();
  g_autoptr (GTask) task = g_task_new (self, self->sorting, sorted_cb, NULL);
  g_task_set_return_on_cancel (task, FALSE);
  g_task_set_task_data (task, g_steal_pointer (&self->job), (GDestroyNotify) job_free);
  g_task_run_in_thread (task, sort_thread);
}

static gboolean
slice_cb (gpointer data)
{
  TnTableModel *self = data;
  Job *job = self->job;
  gint64 end = g_get_monotonic_time () + SLICE_US;
  while (job->next < job->n_rows && g_get_monotonic_time () < end)
    for (guint last = MIN (job->next + MIN_SLICE_ROWS, job->n_rows); job->next < last; job->next++)
      read_row (self, job, job->next);
  if (job->next < job->n_rows)
    return G_SOURCE_CONTINUE;
  self->slice = 0;
  if (job->sorted)
    sort_in_thread (self);
  else
    finish (self);
  return G_SOURCE_REMOVE;
}

static void
stop (TnTableModel *self)
{
  g_clear_handle_id (&self->slice, g_source_remove);
  g_clear_pointer (&self->job, job_free);
  if (self->sorting != NULL)
    g_cancellable_cancel (self->sorting);
  g_clear_object (&self->sorting);
}

static void
show_own_order (TnTableModel *self)
{
  guint before = g_list_model_get_n_items (G_LIST_MODEL (self));
  g_clear_pointer (&self->order, g_free);
  self->n_rows = self->funcs.n_rows (self->data);
  g_list_model_items_changed (G_LIST_MODEL (self), 0, before, self->n_rows);
}

static void
rebuild (TnTableModel *self)
{
  gboolean was_busy = tn_table_model_is_busy (self);
  stop (self);
  if (self->filter == NULL && self->sort < 0)
    show_own_order (self);
  else
    {
      Job *job = self->job = g_new0 (Job, 1);
      job->n_rows = self->funcs.n_rows (self->data);
      job->keys = g_array_new (FALSE, FALSE, sizeof (Key));
      g_array_set_clear_func (job->keys, key_clear);
      job->sorted = self->sort >= 0;
      job->by_text = job->sorted && (self->columns[self->sort].kind == TN_COLUMN_TEXT || self->funcs.number == NULL);
      job->descending = self->descending;
      if (job->n_rows > ROWS_AT_ONCE)
        self->slice = g_idle_add (slice_cb, self);
      else
        {
          for (; job->next < job->n_rows; job->next++)
            read_row (self, job, job->next);
          if (job->sorted)
            g_array_sort_with_data (job->keys, compare_keys, job);
          finish (self);
        }
    }
  if (was_busy != tn_table_model_is_busy (self))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BUSY]);
}

/* GListModel. */

static GType
get_item_type (GListModel *model)
{
  return TN_TYPE_TABLE_ROW;
}

static guint
get_n_items (GListModel *model)
{
  TnTableModel *self = TN_TABLE_MODEL (model);
  return self->order != NULL ? self->n_order : self->n_rows;
}

static gpointer
get_item (GListModel *model, guint position)
{
  if (position >= get_n_items (model))
    return NULL;
  TnTableRow *row = g_object_new (TN_TYPE_TABLE_ROW, NULL);
  row->index = tn_table_model_row_at (TN_TABLE_MODEL (model), position);
  return row;
}

static void
list_iface_init (GListModelInterface *iface)
{
  iface->get_item_type = get_item_type;
  iface->get_n_items = get_n_items;
  iface->get_item = get_item;
}

static void
tn_table_model_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  if (id == PROP_BUSY)
    g_value_set_boolean (value, tn_table_model_is_busy (TN_TABLE_MODEL (object)));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
tn_table_model_finalize (GObject *object)
{
  TnTableModel *self = TN_TABLE_MODEL (object);
  stop (self);
  for (guint i = 0; i < self->n_columns; i++)
    {
      g_free ((char *) self->columns[i].id);
      g_free ((char *) self->columns[i].title);
    }
  g_free (self->columns);
  g_free (self->order);
  g_clear_pointer (&self->filter, tn_table_filter_free);
  if (self->destroy != NULL)
    self->destroy (self->data);
  G_OBJECT_CLASS (tn_table_model_parent_class)->finalize (object);
}

static void
tn_table_model_class_init (TnTableModelClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  object_class->get_property = tn_table_model_get_property;
  object_class->finalize = tn_table_model_finalize;
  properties[PROP_BUSY] = g_param_spec_boolean ("busy", NULL, NULL, FALSE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
tn_table_model_init (TnTableModel *self)
{
  self->sort = -1;
}

TnTableModel *
tn_table_model_new (const TnTableColumn *columns, guint n_columns, const TnTableFuncs *funcs, gpointer data, GDestroyNotify destroy)
{
  TnTableModel *self = g_object_new (TN_TYPE_TABLE_MODEL, NULL);
  self->columns = g_memdup2 (columns, n_columns * sizeof *columns);
  self->n_columns = n_columns;
  for (guint i = 0; i < n_columns; i++)
    {
      self->columns[i].id = g_strdup (columns[i].id);
      self->columns[i].title = g_strdup (columns[i].title);
    }
  self->funcs = *funcs;
  self->data = data;
  self->destroy = destroy;
  self->n_rows = funcs->n_rows (data);
  return self;
}

const TnTableColumn *
tn_table_model_columns (TnTableModel *self, guint *n)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), NULL);
  *n = self->n_columns;
  return self->columns;
}

int
tn_table_model_find_column (TnTableModel *self, const char *id)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), -1);
  for (guint i = 0; i < self->n_columns; i++)
    if (g_strcmp0 (self->columns[i].id, id) == 0)
      return (int) i;
  return -1;
}

void
tn_table_model_changed (TnTableModel *self)
{
  g_return_if_fail (TN_IS_TABLE_MODEL (self));
  rebuild (self);
}

void
tn_table_model_appended (TnTableModel *self)
{
  g_return_if_fail (TN_IS_TABLE_MODEL (self));
  if (self->filter != NULL || self->sort >= 0)
    {
      rebuild (self);
      return;
    }
  guint before = self->n_rows;
  self->n_rows = self->funcs.n_rows (self->data);
  g_return_if_fail (self->n_rows >= before);
  if (self->n_rows > before)
    g_list_model_items_changed (G_LIST_MODEL (self), before, 0, self->n_rows - before);
}

gboolean
tn_table_model_set_filter (TnTableModel *self, const char *text, char **error)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), FALSE);
  char *problem = NULL;
  TnTableFilter *filter = tn_table_filter_new (text != NULL ? text : "", self->columns, self->n_columns, &problem);
  if (problem != NULL)
    {
      *error = problem;
      return FALSE;
    }
  if (filter == NULL && self->filter == NULL)
    return TRUE;
  g_clear_pointer (&self->filter, tn_table_filter_free);
  self->filter = filter;
  rebuild (self);
  return TRUE;
}

void
tn_table_model_set_sort (TnTableModel *self, const char *id, gboolean descending)
{
  g_return_if_fail (TN_IS_TABLE_MODEL (self));
  int sort = id == NULL ? -1 : tn_table_model_find_column (self, id);
  if (sort == self->sort && descending == self->descending)
    return;
  self->sort = sort;
  self->descending = descending;
  rebuild (self);
}

const char *
tn_table_model_sort_column (TnTableModel *self, gboolean *descending)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), NULL);
  if (descending != NULL)
    *descending = self->descending;
  return self->sort < 0 ? NULL : self->columns[self->sort].id;
}

guint
tn_table_model_n_rows (TnTableModel *self)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), 0);
  return self->n_rows;
}

guint
tn_table_model_row_at (TnTableModel *self, guint position)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self) && position < get_n_items (G_LIST_MODEL (self)), 0);
  return self->order != NULL ? self->order[position] : position;
}

gint64
tn_table_model_position_of (TnTableModel *self, guint row)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), -1);
  if (self->order == NULL)
    return row < self->n_rows ? (gint64) row : -1;
  for (guint i = 0; i < self->n_order; i++)
    if (self->order[i] == row)
      return i;
  return -1;
}

char *
tn_table_model_text (TnTableModel *self, guint row, guint column)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), NULL);
  return self->funcs.text (self->data, row, column);
}

gboolean
tn_table_model_is_busy (TnTableModel *self)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), FALSE);
  return self->job != NULL || self->sorting != NULL;
}

static void
append_field (GString *out, const char *text, char separator)
{
  gboolean quoted = strchr (text, separator) != NULL || strpbrk (text, "\"\r\n") != NULL;
  if (!quoted)
    {
      g_string_append (out, text);
      return;
    }
  g_string_append_c (out, '"');
  for (const char *p = text; *p != '\0'; p++)
    {
      if (*p == '"')
        g_string_append_c (out, '"');
      g_string_append_c (out, *p);
    }
  g_string_append_c (out, '"');
}

static void
append_cell (TnTableModel *self, GString *out, guint row, guint column, char separator)
{
  if (self->columns[column].kind == TN_COLUMN_TEXT || self->funcs.number == NULL)
    {
      g_autofree char *text = self->funcs.text (self->data, row, column);
      append_field (out, text != NULL ? text : "", separator);
      return;
    }
  double value = self->funcs.number (self->data, row, column);
  if (isnan (value))
    return;
  g_autofree char *text = isinf (value) ? g_strdup (value > 0 ? "inf" : "-inf") : tn_number_text_c (value);
  g_string_append (out, text);
}

char *
tn_table_model_to_csv (TnTableModel *self, const guint *positions, guint n, const guint *columns, guint n_columns, char separator)
{
  g_return_val_if_fail (TN_IS_TABLE_MODEL (self), NULL);
  g_autoptr (GString) out = g_string_new (NULL);
  if (positions == NULL)
    n = get_n_items (G_LIST_MODEL (self));
  if (columns == NULL)
    n_columns = self->n_columns;
  for (guint c = 0; c < n_columns; c++)
    {
      if (c > 0)
        g_string_append_c (out, separator);
      append_field (out, self->columns[columns != NULL ? columns[c] : c].title, separator);
    }
  g_string_append (out, "\r\n");
  for (guint i = 0; i < n; i++)
    {
      guint row = tn_table_model_row_at (self, positions != NULL ? positions[i] : i);
      for (guint c = 0; c < n_columns; c++)
        {
          if (c > 0)
            g_string_append_c (out, separator);
          append_cell (self, out, row, columns != NULL ? columns[c] : c, separator);
        }
      g_string_append (out, "\r\n");
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}
