/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/settings.h"
#include "data/loader.h"
#include "data/split.h"
#include "nn/model.h"

/* TnInput: what a run reads: its data set, which samples train, and how a sample becomes a row of the model's input.
 *
 * Padding and normalisation are the model's, unless the settings were chosen otherwise. Shapes and classes are compared
 * with the model before anything is computed. */
typedef struct
{
  TnDataset *dataset;
  TnSplit *split;
  TnLoaderOptions options; /* of the training loader */
} TnInput;

/**
 * tn_input_open:
 * @folder: what a relative data.source is relative to (tn_project_resolve(), the project's)
 * @own_normalisation: take data.normalize_* even where the model has its own
 *
 * Errors: those of data/dataset.h and data/split.h; TN_ERROR_SHAPE where samples do not fit the model; TN_ERROR_MEMORY where
 * they would take more than device.memory_limit_mb or the machine allows.
 */
TnInput *tn_input_open (const TnSettings *settings, TnModel *model, const char *folder, gboolean own_normalisation,
                        GError **error);
/** The same over a data set that is open: settings data.source and data.validation are not looked at, all samples are to be trained
 * on. For evaluation and prediction. */
TnInput *tn_input_new (TnDataset *dataset, const TnSettings *settings, TnModel *model, gboolean own_normalisation, GError **error);
/** Bytes that the whole data set takes in memory, also where its samples are drawn later. */
uint64_t tn_input_dataset_bytes (const TnDataset *dataset);
void tn_input_free (TnInput *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnInput, tn_input_free)

/** Shuffled as the settings say, without end: seek to where the run stands. */
TnLoader *tn_input_new_train_loader (TnInput *self, GError **error);
/** One pass over @ids in their order, last partial batch included. NULL with an error. */
TnLoader *tn_input_new_eval_loader (TnInput *self, const int64_t *ids, int64_t n_ids, int batch, GError **error);
