/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "tensor/tensor.h"

/* TnDataset: samples with labels, as they lie in memory.
 *
 * A sample's id is its index in the source and never changes: it travels with the sample to its batch and its loss. Pixels
 * stay uint8; everything else is float32. Immutable once made, so any thread may read it; reference counted (atomic).
 *
 *   g_autoptr (TnDataset) digits = tn_dataset_open ("/data/mnist", NULL, &error);
 *   const uint8_t *pixels = tn_dataset_sample (digits, id, scratch);   // [1][28][28]
 */
typedef struct _TnDataset TnDataset;
struct _TnDataset
{
  int64_t n_samples;
  TnShape sample_shape;  /* (1, 28, 28): pictures are channels, rows, columns; (F) for rows of a table */
  TnDType dtype;         /* of a raw sample: TN_DTYPE_U8 or TN_DTYPE_F32 */
  size_t sample_elements, sample_bytes;
  int n_classes;         /* 0: no classes but targets */
  char **class_names;    /* [n_classes + 1], NULL-terminated; NULL if n_classes is 0 */
  const int32_t *labels; /* [n_samples], 0..n_classes-1; NULL with targets */
  const float *targets;  /* [n_samples][target_width]; NULL with classes */
  int target_width;
  char *source;          /* as it was named */
  char *description;     /* for people: "60,000 pictures of 28 x 28 in 10 classes, from ..." */
  /*< private >*/
  gatomicrefcount ref_count;
  const uint8_t *samples;   /* [n_samples][sample_bytes] */
  uint8_t *drawn;           /* drawn-digits: per sample 0 not there, 1 being drawn, 2 there */
  uint64_t seed;
  GPtrArray *owners;        /* what keeps the memory alive */
  gsize fingerprint_ready;
  uint64_t fingerprint;
};

typedef enum
{
  TN_DATASET_TRAIN,
  TN_DATASET_TEST
} TnDatasetPart;

/* All fields may be 0. */
typedef struct
{
  TnDatasetPart part;     /* which files of a folder: train-* or t10k-*, data_batch_* or test_batch */
  int64_t n_samples;      /* drawn-digits: how many (12,000) */
  uint64_t seed;          /* drawn-digits */
  const char *labels_path; /* the labels, where they are not found beside @source */
} TnDatasetOptions;

/** Opens whatever @source names:
 *   - "drawn-digits", or "drawn-digits:60000";
 *   - an IDX file of pictures or of labels (the other is found by its name), plain or gzip, or a folder with them;
 *   - a CIFAR-10 or CIFAR-100 binary file, or a folder with them;
 *   - an .npz with the arrays x,y | images,labels | data,target | data,labels | x_train,y_train (x_test,y_test), or a folder with one;
 *   - an .npy of samples with the labels beside it (x.npy, y.npy; images.npy, labels.npy ...), or a folder with them.
 * Arrays: the first dimension counts samples. uint8 (N, H, W) become (1, H, W), uint8 (N, H, W, 3) (3, H, W). Integer labels
 * (N) or (N, 1) are classes from 0, anything else targets.
 * Errors: TN_ERROR_NOT_FOUND, TN_ERROR_FORMAT (numbers of samples and labels differ, damaged ...), TN_ERROR_INVALID_ARGUMENT
 * (not understood: lists what is). */
TnDataset *tn_dataset_open (const char *source, const TnDatasetOptions *options, GError **error);
/** Samples are drawn when first asked for. */
TnDataset *tn_dataset_new_drawn_digits (int64_t n_samples, uint64_t seed);
/** From arrays in memory, by the rules above; holds on to them. @class_names may be NULL. @name is for messages. */
TnDataset *tn_dataset_new_from_tensors (TnTensor *samples, TnTensor *labels, const char *const *class_names, const char *name,
                                        GError **error);
TnDataset *tn_dataset_ref (TnDataset *self);
void tn_dataset_unref (TnDataset *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnDataset, tn_dataset_unref)

/** The raw sample @id (0..n_samples-1): in the data set's own memory, or in @scratch (sample_bytes) while another thread is
 * just drawing it. */
const void *tn_dataset_sample (TnDataset *self, int64_t id, void *scratch);
/** Gives the classes the comma-separated @names in order; an empty one keeps the old name, as do classes past the last. For the
 * one who has just opened @self, before it is shared. TN_ERROR_INVALID_ARGUMENT for more names than classes. */
gboolean tn_dataset_rename_classes (TnDataset *self, const char *names, GError **error);
/** A hash of samples, labels, shape and dtype: the same contents give the same number on every machine, wherever they lie. Computed
 * when first asked for (about 15 ms for MNIST), so perhaps on another thread. */
uint64_t tn_dataset_fingerprint (TnDataset *self);
