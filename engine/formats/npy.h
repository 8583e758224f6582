/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "tensor/tensor.h"

/* NumPy's .npy, versions 1 to 3: one array.
 *
 * Read: float16/32/64, int8/16/32/64, uint8, bool of either byte order, and unsigned types whose values fit (uint16 becomes
 * int32, uint32 int64); column-major arrays come back row-major. bfloat16 has no name in NumPy and is written as "|V2" by
 * its extensions: that is read as bfloat16. Object arrays are pickles, that is programs: never run, refused by name.
 * Written: version 1, little-endian, row-major. */

/** Errors: TN_ERROR_FORMAT for a damaged file or one of another kind, TN_ERROR_DTYPE for element types we do not have. */
TnTensor *tn_npy_read (const char *path, GError **error);
/** From memory; @name is for messages. */
TnTensor *tn_npy_parse (const void *data, size_t n, const char *name, GError **error);
/** The file's bytes (header and elements) of any tensor; @name is for messages. */
GBytes *tn_npy_to_bytes (TnTensor *tensor, const char *name, GError **error);
/** Durably. */
gboolean tn_npy_write (const char *path, TnTensor *tensor, GError **error);

/** Of the first bytes of a file (a few hundred; up to 10 KiB of header are needed at most): dtype, shape, and where the
 * elements begin. @dtype is the type that reading gives. For listings, and for checking a member of an archive before it
 * is unpacked. @stored_size: bytes of one element in the file. */
gboolean tn_npy_parse_header (const void *data, size_t n, const char *name, TnDType *dtype, TnShape *shape, size_t *stored_size,
                              size_t *data_offset, GError **error);
