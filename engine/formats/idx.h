/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "tensor/tensor.h"

/* IDX: the format of MNIST and its kin, plain or gzip-compressed (told by content, not by name).
 *
 *   00 00 TYPE NDIMS, NDIMS big-endian uint32 sizes, the elements in big-endian order, row-major.
 *
 * The sizes must account for the file's length exactly. Elements are kept in their own type: 60,000 pictures of 28x28 are
 * 47 MB, not 188. */

/** Reads a whole file; a tensor of uint8, int8, int16, int32, float32 or float64. Errors: TN_ERROR_FORMAT names what is
 * wrong and, for other kinds of file, what it is instead. */
TnTensor *tn_idx_read (const char *path, GError **error);
/** The same from memory (not compressed, or gzip); @name is for messages. */
TnTensor *tn_idx_parse (GBytes *bytes, const char *name, GError **error);
/** Dtype and shape only: reads the first bytes and, for plain files, checks the length. */
gboolean tn_idx_probe (const char *path, TnDType *dtype, TnShape *shape, GError **error);
/** Writes a contiguous copy of @tensor, durably, not compressed. Other dtypes are an error. */
gboolean tn_idx_write (const char *path, TnTensor *tensor, GError **error);

/** The path of the labels that belong to the pictures at @path (train-images-idx3-ubyte.gz -> train-labels-idx1-ubyte.gz, with
 * or without .gz, with a dot or a dash before idx), or of the pictures that belong to labels: an existing file, or NULL. */
char *tn_idx_find_partner (const char *path);
