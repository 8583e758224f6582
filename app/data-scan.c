/* SPDX-License-Identifier: Apache-2.0 */
#include "data-scan.h"

#include <glib/gi18n.h>
#include <string.h>

#include "data/split.h"

typedef struct
{
  char *source, *rule, *exclude, *names, *folder;
  gint64 n_samples, seed;
  TnDataScan *known;
} Request;

static void
request_free (Request *request)
{
  g_free (request->source);
  g_free (request->rule);
  g_free (request->exclude);
  g_free (request->names);
  g_free (request->folder);
  g_clear_pointer (&request->known, tn_data_scan_unref);
  g_free (request);
}

TnDataScan *
tn_data_scan_ref (TnDataScan *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_data_scan_unref (TnDataScan *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  tn_dataset_unref (self->dataset);
  g_free (self->source);
  g_free (self->sides);
  g_free (self->class_counts);
  g_strfreev (self->class_names);
  g_free (self->split_error);
  g_free (self);
}

static TnDataset *
open_source (const Request *request, GError **error)
{
  TnDatasetOptions options = { .part = TN_DATASET_TRAIN, .n_samples = request->n_samples, .seed = (uint64_t) request->seed };
  if (g_str_has_prefix (request->source, "drawn-digits") && strchr (request->source, '/') == NULL)
    return tn_dataset_open (request->source, &options, error);
  g_autofree char *path = g_canonicalize_filename (request->source, request->folder);
  return tn_dataset_open (path, &options, error);
}

static char **
names_of (const TnDataset *dataset, const char *names)
{
  char **own = g_strdupv (dataset->class_names);
  g_auto (GStrv) parts = g_strsplit (names, ",", -1);
  for (int i = 0; i < dataset->n_classes && parts[i] != NULL; i++)
    if (*g_strstrip (parts[i]) != '\0')
      {
        g_free (own[i]);
        own[i] = g_strdup (parts[i]);
      }
  return own;
}

/* The same steps as training takes, so that what is shown is what trains. */
static TnSplit *
make_split (const Request *request, int64_t n, GError **error)
{
  g_autoptr (TnSplit) split = tn_split_new (request->rule, n, error);
  g_autoptr (TnIdRanges) excluded = split != NULL ? tn_id_ranges_parse (request->exclude, error) : NULL;
  if (excluded == NULL || !tn_split_exclude (split, excluded, error))
    return NULL;
  return g_steal_pointer (&split);
}

static void
sort_samples (TnDataScan *self, const Request *request)
{
  int64_t n = self->dataset->n_samples;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSplit) split = make_split (request, n, &error);
  self->sides = g_new0 (uint8_t, (size_t) n);
  self->class_counts = g_new0 (int64_t, (size_t) MAX (self->dataset->n_classes, 1) * TN_N_SIDES);
  if (split != NULL)
    {
      memset (self->sides, TN_SIDE_EXCLUDED, (size_t) n);
      for (int64_t i = 0; i < split->n_train; i++)
        self->sides[split->train[i]] = TN_SIDE_TRAIN;
      for (int64_t i = 0; i < split->n_held_out; i++)
        self->sides[split->held_out[i]] = TN_SIDE_HELD_OUT;
    }
  else
    self->split_error = g_strdup (error->message);
  for (int64_t i = 0; i < n; i++)
    {
      self->counts[self->sides[i]]++;
      if (self->dataset->labels != NULL)
        self->class_counts[self->dataset->labels[i] * TN_N_SIDES + self->sides[i]]++;
    }
}

static void
scan_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  const Request *request = data;
  GError *error = NULL;
  TnDataset *dataset = request->known != NULL ? tn_dataset_ref (request->known->dataset) : open_source (request, &error);
  if (dataset == NULL)
    {
      g_task_return_error (task, error);
      return;
    }
  TnDataScan *self = g_new0 (TnDataScan, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->dataset = dataset;
  self->source = g_strdup (request->source);
  self->class_names = dataset->n_classes > 0 ? names_of (dataset, request->names) : NULL;
  sort_samples (self, request);
  g_task_return_pointer (task, self, (GDestroyNotify) tn_data_scan_unref);
}

void
tn_data_scan_async (const TnSettings *settings, const char *folder, TnDataScan *known, GCancellable *cancellable,
                    GAsyncReadyCallback callback, gpointer user_data)
{
  Request *request = g_new0 (Request, 1);
  request->source = g_strdup (tn_settings_get_string (settings, "data.source"));
  request->rule = g_strdup (tn_settings_get_string (settings, "data.validation"));
  request->exclude = g_strdup (tn_settings_get_string (settings, "data.exclude"));
  request->names = g_strdup (tn_settings_get_string (settings, "data.class_names"));
  request->n_samples = tn_settings_get_int (settings, "data.samples");
  request->seed = tn_settings_get_int (settings, "data.seed");
  request->folder = g_strdup (folder);
  request->known = known != NULL ? tn_data_scan_ref (known) : NULL;
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, request, (GDestroyNotify) request_free);
  g_task_set_return_on_cancel (task, TRUE);
  g_task_run_in_thread (task, scan_thread);
}

TnDataScan *
tn_data_scan_finish (GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

char *
tn_data_scan_label (const TnDataScan *self, int64_t id)
{
  const TnDataset *dataset = self->dataset;
  if (dataset->labels != NULL)
    return g_strdup (self->class_names[dataset->labels[id]]);
  if (dataset->targets == NULL || dataset->target_width < 1)
    return g_strdup ("");
  return dataset->target_width == 1 ? g_strdup_printf ("%.4g", dataset->targets[id])
                                    : g_strdup_printf (_ ("%.4g and %d more"), dataset->targets[id * dataset->target_width],
                                                       dataset->target_width - 1);
}

const char *
tn_sample_side_name (TnSampleSide side)
{
  switch (side)
    {
    case TN_SIDE_TRAIN:
      return _ ("training");
    case TN_SIDE_HELD_OUT:
      return _ ("held out");
    case TN_SIDE_EXCLUDED:
    case TN_N_SIDES:
      break;
    }
  return _ ("left out");
}
