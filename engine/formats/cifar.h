/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "tensor/tensor.h"

/* CIFAR-10 and CIFAR-100, the binary version: records of a label byte (two for CIFAR-100: coarse, fine) and 3072 pixels,
 * the red, the green and the blue plane of 32x32, rows first. That is [3][32][32] as it lies, so nothing is reordered. */
typedef struct
{
  int n_classes;     /* 10 or 100 */
  TnTensor *images;  /* uint8 [N][3][32][32] */
  TnTensor *labels;  /* uint8 [N]; the fine label of CIFAR-100 */
  TnTensor *coarse;  /* uint8 [N], CIFAR-100 only, else NULL */
  char **class_names; /* NULL where the folder has no *meta.txt */
} TnCifar;

void tn_cifar_free (TnCifar *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnCifar, tn_cifar_free)

/** Which of the two a file is by size and label bytes: 10, 100, or 0 with an error. Where both record sizes divide the file's length
 * the labels decide. */
int tn_cifar_probe (const char *path, GError **error);
/** Reads one file or several as one set, in the order given (NULL-terminated). All must be of one kind. Errors:
 * TN_ERROR_FORMAT names file, record and label. */
TnCifar *tn_cifar_read (const char *const *paths, GError **error);
/** A folder: data_batch_1..5.bin for training, or test_batch.bin; train.bin or test.bin for CIFAR-100. A missing batch is an
 * error that names it. Also looks one level down for the archive's own folder (cifar-10-batches-bin, cifar-100-binary). */
TnCifar *tn_cifar_read_folder (const char *folder, gboolean test, GError **error);
/** Whether @folder (or the archive's folder in it) holds CIFAR files. */
gboolean tn_cifar_is_folder (const char *folder);
/** Writes records of CIFAR-10 (@coarse NULL) or CIFAR-100, durably. @images uint8 [N][3][32][32], labels uint8 [N]. */
gboolean tn_cifar_write (const char *path, TnTensor *images, TnTensor *labels, TnTensor *coarse, GError **error);
