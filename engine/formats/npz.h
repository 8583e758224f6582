/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "tensor/tensor.h"

/* NumPy's .npz: a zip archive of .npy files, stored or deflated.
 *
 * Opening reads the central directory only; an array is unpacked when it is asked for, its CRC-32 checked, and memory
 * bounded by what its own header says. zip64, data descriptors and members that are no arrays are tolerated; encryption and
 * archives in several parts are refused. One thread at a time.
 *
 *   g_autoptr (TnNpz) npz = tn_npz_open ("data.npz", &error);
 *   g_autoptr (TnTensor) x = tn_npz_get (npz, "x", &error);
 */
typedef struct _TnNpz TnNpz;

TnNpz *tn_npz_open (const char *path, GError **error);
void tn_npz_free (TnNpz *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnNpz, tn_npz_free)

/** Names of the arrays, without ".npy", in the archive's order; NULL-terminated, owned by @self. */
const char *const *tn_npz_names (TnNpz *self);
gboolean tn_npz_has (TnNpz *self, const char *name);
/** A new tensor. Errors: TN_ERROR_NOT_FOUND (lists the names there are), TN_ERROR_FORMAT, TN_ERROR_DTYPE. */
TnTensor *tn_npz_get (TnNpz *self, const char *name, GError **error);

/** Type and shape of an array, its data checked on the way without unpacking it as a whole. Errors: as tn_npz_get(). */
gboolean tn_npz_probe (TnNpz *self, const char *name, TnDType *dtype, TnShape *shape, GError **error);

/** Writes arrays, stored, durably. @names and @tensors have @n elements. */
gboolean tn_npz_write (const char *path, const char *const *names, TnTensor *const *tensors, int n, GError **error);
