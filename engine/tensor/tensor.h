/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "tensor/dtype.h"
#include "tensor/shape.h"

/* TnTensor: a shape, a dtype and strides over shared storage.
 *
 * Reference counted (atomic); the storage lives as long as any view of it. Memory is aligned to 64 bytes and zeroed.
 * Strides are in elements and may be 0 (broadcast) or in any order (transposed), never negative. Whoever holds the only
 * reference may write; the type itself does no locking.
 *
 *   g_autoptr (TnTensor) t = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (2, 3), &error);
 *   float *x = tn_tensor_data (t);   // [2][3]
 */
typedef struct _TnTensor TnTensor;
struct _TnTensor
{
  TnDType dtype;
  TnShape shape;
  int64_t strides[TN_MAX_DIMS]; /* elements */
  /*< private >*/
  gatomicrefcount ref_count;
  struct _TnStorage *storage;
  size_t offset; /* bytes into the storage */
};

/** Zeroed. Errors: size overflow or no memory (never aborts); the message names shape and bytes. */
TnTensor *tn_tensor_new (TnDType dtype, TnShape shape, GError **error);
/** Copies @data (row-major, as many elements as the shape has). Aborts only where memory is out, so for small things. */
TnTensor *tn_tensor_new_from (TnDType dtype, TnShape shape, const void *data);
/** A view of memory that somebody else owns; @free_func (@owner) is called when the last view goes. */
TnTensor *tn_tensor_new_external (TnDType dtype, TnShape shape, void *data, GDestroyNotify free_func, void *owner);
TnTensor *tn_tensor_ref (TnTensor *self);
void tn_tensor_unref (TnTensor *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTensor, tn_tensor_unref)

/** First element. Elements lie at data + Σ index·stride. */
void *tn_tensor_data (const TnTensor *self);
int64_t tn_tensor_count (const TnTensor *self);
size_t tn_tensor_bytes (const TnTensor *self);
gboolean tn_tensor_is_contiguous (const TnTensor *self);

/* Views share storage. Each returns a new reference, or NULL with an error that names the shapes. */
TnTensor *tn_tensor_reshape (TnTensor *self, TnShape shape, GError **error); /* contiguous only; one dimension may be -1 */
TnTensor *tn_tensor_permute (TnTensor *self, const int *order, GError **error);
TnTensor *tn_tensor_slice (TnTensor *self, int dim, int64_t start, int64_t length, GError **error);
TnTensor *tn_tensor_expand (TnTensor *self, TnShape shape, GError **error);

/** Row-major with the same values: a new reference to @self if it already is, else a copy. */
TnTensor *tn_tensor_contiguous (TnTensor *self, GError **error);
/** A new contiguous tensor of @dtype. */
TnTensor *tn_tensor_cast (TnTensor *self, TnDType dtype, GError **error);
/** Copies values of equal shapes, converting; either side may be a view. */
gboolean tn_tensor_copy (TnTensor *to, TnTensor *from, GError **error);
/** Element by row-major index, through the strides. */
double tn_tensor_get (const TnTensor *self, int64_t index);
void tn_tensor_set (TnTensor *self, int64_t index, double value);
/** "Tensor[Float32], (2, 3)" and the first @max_elements values: for messages and the console. */
char *tn_tensor_to_string (const TnTensor *self, int max_elements);
