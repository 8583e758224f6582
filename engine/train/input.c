/* SPDX-License-Identifier: Apache-2.0 */
#include "train/input.h"
#include <inttypes.h>

#include <string.h>

#include "base/error.h"
#include "formats/load-limit.h"
#include "train/memory-limit.h"
#include "train/project.h"

#define BUILT_IN "drawn-digits"

static TnDataset *
open_dataset (const TnSettings *settings, const char *folder, GError **error)
{
  const char *source = tn_settings_get_string (settings, "data.source");
  TnDatasetOptions options = { .part = TN_DATASET_TRAIN,
                               .n_samples = tn_settings_get_int (settings, "data.samples"),
                               .seed = (uint64_t) tn_settings_get_int (settings, "data.seed") };
  if (g_str_has_prefix (source, BUILT_IN) && strchr (source, '/') == NULL)
    return tn_dataset_open (source, &options, error);
  g_autofree char *path = tn_project_resolve (folder, source);
  return tn_dataset_open (path, &options, error);
}

/* Within what the run may use: a small compressed file can hold more than there is. */
static TnDataset *
open_dataset_in_limits (const TnSettings *settings, const char *folder, GError **error)
{
  size_t allowed = tn_memory_allowed (tn_settings_get_int (settings, "device.memory_limit_mb"));
  uint64_t before = tn_load_set_limit (allowed);
  g_autoptr (TnDataset) dataset = open_dataset (settings, folder, error);
  gboolean ok = dataset != NULL && tn_load_check (tn_input_dataset_bytes (dataset), dataset->source, error);
  tn_load_set_limit (before);
  return ok ? g_steal_pointer (&dataset) : NULL;
}

uint64_t
tn_input_dataset_bytes (const TnDataset *dataset)
{
  uint64_t row = dataset->sample_bytes + (dataset->labels != NULL ? sizeof (int32_t) : (size_t) dataset->target_width * sizeof (float));
  return (uint64_t) dataset->n_samples * row;
}

static void
set_normalisation (TnLoaderOptions *options, const TnSettings *settings, const TnModelInput *input, gboolean own)
{
  options->normalise = TRUE;
  if (own || input->n_channels < 1 || input->n_channels > TN_LOADER_MAX_CHANNELS)
    {
      options->n_channels = 1;
      options->mean[0] = (float) tn_settings_get_float (settings, "data.normalize_mean");
      options->std[0] = (float) tn_settings_get_float (settings, "data.normalize_std");
      options->normalise = own;
      return;
    }
  options->n_channels = input->n_channels;
  for (int c = 0; c < input->n_channels; c++)
    {
      options->mean[c] = (float) input->mean[c];
      options->std[c] = (float) input->std[c];
    }
}

/* Everything that would otherwise show in the middle of a step. */
static gboolean
check_fit (TnInput *self, TnModel *model, GError **error)
{
  const TnModelInput *input = tn_model_input (model);
  const TnShape *sample = &self->dataset->sample_shape;
  int pad = self->options.pad;
  int64_t count = sample->n_dims == 3 ? sample->dims[0] * (sample->dims[1] + 2 * pad) * (sample->dims[2] + 2 * pad)
                                      : tn_shape_count (sample);
  if (count == tn_shape_count (&input->shape))
    return TRUE;
  g_autoptr (GString) want = g_string_new (NULL);
  for (int d = 0; d < input->shape.n_dims; d++)
    g_string_append_printf (want, "%s%" PRId64, d > 0 ? " x " : "", input->shape.dims[d]);
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE,
               _("“%s” has %s; model “%s” takes samples of %s, or without the %d pixels of padding on each side that it adds itself. Choose "
                 "other data, or change the model's input or data.pad."),
               self->dataset->source, self->dataset->description, tn_model_name (model), want->str, tn_model_input (model)->pad);
  return FALSE;
}

/* Pictures that came without their one channel get it. */
static void
add_channel (TnDataset *dataset, const TnModelInput *input)
{
  TnShape *sample = &dataset->sample_shape;
  if (sample->n_dims == 2 && input->shape.n_dims == 3 && input->shape.dims[0] == 1)
    *sample = TN_SHAPE (1, sample->dims[0], sample->dims[1]);
}

/* What the model pads, unless the samples have its whole shape already. */
static int
own_padding (const TnDataset *dataset, const TnModelInput *input)
{
  if (dataset->sample_shape.n_dims != 3 || tn_shape_equal (&dataset->sample_shape, &input->shape))
    return 0;
  return input->pad;
}

static gboolean
exclude (TnSplit *split, const TnSettings *settings, GError **error)
{
  g_autoptr (TnIdRanges) excluded = tn_id_ranges_parse (tn_settings_get_string (settings, "data.exclude"), error);
  return excluded != NULL && (excluded->ranges->len == 0 || tn_split_exclude (split, excluded, error));
}

/* @own: the data that the settings name. */
static TnInput *
input_new (TnDataset *dataset, const char *rule, gboolean own, const TnSettings *settings, TnModel *model, gboolean own_normalisation,
           GError **error)
{
  g_autoptr (TnInput) self = g_new0 (TnInput, 1);
  self->dataset = tn_dataset_ref (dataset);
  self->split = tn_split_new (rule, dataset->n_samples, error);
  if (self->split == NULL)
    return NULL;
  /* Ids and names are those of the training data: another set of samples is taken as it is. */
  if (own && (!exclude (self->split, settings, error)
              || !tn_dataset_rename_classes (self->dataset, tn_settings_get_string (settings, "data.class_names"), error)))
    return NULL;

  const TnModelInput *input = tn_model_input (model);
  add_channel (self->dataset, input);
  int64_t pad = tn_settings_get_int (settings, "data.pad");
  TnLoaderOptions *options = &self->options;
  options->batch_size = (int) tn_settings_get_int (settings, "train.batch");
  options->shuffle = tn_settings_get_bool (settings, "data.shuffle");
  options->seed = (uint64_t) tn_settings_get_int (settings, "train.seed");
  options->drop_last = tn_settings_get_bool (settings, "data.drop_last");
  options->prefetch = (int) tn_settings_get_int (settings, "data.prefetch");
  options->pad = pad >= 0 ? (int) pad : own_padding (self->dataset, input);
  set_normalisation (options, settings, input, own_normalisation);
  if (!check_fit (self, model, error))
    return NULL;
  return g_steal_pointer (&self);
}

TnInput *
tn_input_open (const TnSettings *settings, TnModel *model, const char *folder, gboolean own_normalisation, GError **error)
{
  g_autoptr (TnDataset) dataset = open_dataset_in_limits (settings, folder, error);
  if (dataset == NULL)
    return NULL;
  return input_new (dataset, tn_settings_get_string (settings, "data.validation"), TRUE, settings, model, own_normalisation, error);
}

TnInput *
tn_input_new (TnDataset *dataset, const TnSettings *settings, TnModel *model, gboolean own_normalisation, GError **error)
{
  return input_new (dataset, "none", FALSE, settings, model, own_normalisation, error);
}

void
tn_input_free (TnInput *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->split, tn_split_free);
  g_clear_pointer (&self->dataset, tn_dataset_unref);
  g_free (self);
}

TnLoader *
tn_input_new_train_loader (TnInput *self, GError **error)
{
  return tn_loader_new (self->dataset, self->split->train, self->split->n_train, &self->options, error);
}

TnLoader *
tn_input_new_eval_loader (TnInput *self, const int64_t *ids, int64_t n_ids, int batch, GError **error)
{
  TnLoaderOptions options = self->options;
  options.shuffle = FALSE;
  options.drop_last = FALSE;
  options.n_epochs = 1;
  options.batch_size = batch;
  return tn_loader_new (self->dataset, ids, n_ids, &options, error);
}
