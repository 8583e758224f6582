/* SPDX-License-Identifier: Apache-2.0 */
#include "runs-scan.h"

#include <glib/gstdio.h>
#include <math.h>

#include "formats/tfevents.h"
#include "train/metrics.h"
#include "train/run-removal.h"

#define MAX_DIFFERING 3

typedef struct
{
  char *project;
  gboolean removed;
} Job;

static void
job_free (Job *job)
{
  g_free (job->project);
  g_free (job);
}

static void
entry_free (TnRunEntry *entry)
{
  g_free (entry->path);
  g_free (entry->name);
  g_free (entry->differing);
  g_free (entry->problem);
  g_free (entry);
}

void
tn_run_scan_free (TnRunScan *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->entries);
  g_free (self);
}

/* Bytes of the files of a run and of its checkpoints; links are not followed. */
static double
folder_bytes (const char *path, int depth)
{
  double sum = 0;
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);
      GStatBuf info;
      if (g_lstat (file, &info) != 0)
        continue;
      if (S_ISREG (info.st_mode))
        sum += (double) info.st_size;
      else if (S_ISDIR (info.st_mode) && depth < 4)
        sum += folder_bytes (file, depth + 1);
    }
  return sum;
}

/* The first event file has the second of its making in its name. */
static double
find_start (const char *path)
{
  double first = NAN;
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_prefix (name, "events.out.tfevents."))
      {
        double value = g_ascii_strtod (name + strlen ("events.out.tfevents."), NULL);
        first = value > 0 && !(first <= value) ? value : first;
      }
  return first;
}

static TnRunEntry *
read_entry (const char *path, TnSettings **settings)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnRunFolder) folder = tn_run_folder_open (path, &error);
  TnRunEntry *entry = g_new0 (TnRunEntry, 1);
  entry->path = g_strdup (path);
  entry->name = g_path_get_basename (path);
  entry->bytes = folder_bytes (path, 0);
  entry->started = find_start (path);
  entry->step = entry->loss = entry->accuracy = entry->best = entry->seconds = NAN;
  *settings = NULL;
  if (folder == NULL)
    {
      entry->problem = g_strdup (error->message);
      return entry;
    }
  entry->state = tn_run_folder_seen_state (folder);
  entry->step = tn_run_folder_fact_number (folder, "step");
  entry->loss = tn_run_folder_fact_number (folder, "loss");
  entry->accuracy = tn_run_folder_fact_number (folder, "accuracy");
  entry->best = tn_run_folder_fact_number (folder, "best_accuracy");
  entry->seconds = tn_run_folder_fact_number (folder, "seconds");
  *settings = tn_settings_copy (tn_run_folder_settings (folder));
  return entry;
}

/* Each run says how it differs from the oldest one that can be read; the oldest itself says nothing. */
static void
note_differing (TnRunEntry *entry, const TnSettings *settings, const TnSettings *reference)
{
  GString *text = g_string_new (NULL);
  g_autofree const char **names = settings != NULL && reference != NULL ? tn_settings_diff (reference, settings) : NULL;
  for (int i = 0; names != NULL && names[i] != NULL; i++)
    {
      if (i == MAX_DIFFERING)
        {
          g_string_append (text, " …");
          break;
        }
      g_string_append_printf (text, "%s%s %s", i > 0 ? ", " : "", names[i], tn_settings_get_text (settings, names[i]));
    }
  entry->differing = g_string_free (text, FALSE);
}

static void
settings_free (gpointer settings)
{
  if (settings != NULL)
    tn_settings_free (settings);
}

static int
newest_first (gconstpointer a_pointer, gconstpointer b_pointer)
{
  const TnRunEntry *a = *(TnRunEntry *const *) a_pointer, *b = *(TnRunEntry *const *) b_pointer;
  if (a->started > b->started || a->started < b->started)
    return a->started > b->started ? -1 : 1;
  return -g_strcmp0 (a->name, b->name);
}

static void
scan_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Job *job = data;
  GError *error = NULL;
  g_autoptr (GPtrArray) paths = job->removed ? tn_run_list_removed (job->project, &error) : tn_run_folder_list (job->project, &error);
  if (paths == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  TnRunScan *scan = g_new0 (TnRunScan, 1);
  scan->entries = g_ptr_array_new_with_free_func ((GDestroyNotify) entry_free);
  g_autoptr (GPtrArray) settings = g_ptr_array_new_with_free_func (settings_free);
  const TnSettings *reference = NULL;
  for (guint i = 0; i < paths->len && !g_cancellable_is_cancelled (cancellable); i++)
    {
      TnSettings *own;
      TnRunEntry *entry = read_entry (paths->pdata[i], &own);
      g_ptr_array_add (scan->entries, entry);
      g_ptr_array_add (settings, own);
      reference = reference != NULL ? reference : own;
      note_differing (entry, own, reference);
    }
  g_ptr_array_sort (scan->entries, newest_first);
  g_task_return_pointer (task, scan, (GDestroyNotify) tn_run_scan_free);
}

void
tn_run_scan_async (const char *project, gboolean removed, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  Job *job = g_new0 (Job, 1);
  job->project = g_strdup (project);
  job->removed = removed;
  g_task_set_task_data (task, job, (GDestroyNotify) job_free);
  g_task_run_in_thread (task, scan_thread);
}

TnRunScan *
tn_run_scan_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
curves_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  char **paths = data;
  GPtrArray *curves = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_series_unref);
  for (int i = 0; paths[i] != NULL; i++)
    {
      TnSeries *series = tn_series_new ("train/loss");
      g_autoptr (TnTfeventsRows) rows = g_cancellable_is_cancelled (cancellable) ? NULL : tn_tfevents_read_folder (paths[i], NULL, NULL);
      for (guint k = 0; rows != NULL && k < rows->rows->len; k++)
        {
          const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, k);
          if (row->kind == TN_TFEVENTS_SCALAR && tn_tag_find (row->tag) == TN_TAG_LOSS)
            tn_series_append (series, row->step, row->value, (int64_t) (row->wall_time * G_USEC_PER_SEC));
        }
      g_ptr_array_add (curves, series);
    }
  g_task_return_pointer (task, curves, (GDestroyNotify) g_ptr_array_unref);
}

void
tn_run_curves_async (const char *const *paths, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, g_strdupv ((char **) paths), (GDestroyNotify) g_strfreev);
  g_task_run_in_thread (task, curves_thread);
}

GPtrArray *
tn_run_curves_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}
