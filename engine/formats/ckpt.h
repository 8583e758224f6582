/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "tensor/tensor.h"

/* MindSpore's checkpoints (.ckpt): a row of protobuf messages, each with one named tensor.
 *
 *   Checkpoint { Value value = 1 }   Value { tag = 1, TensorProto tensor = 2 }
 *   TensorProto { dims = 1, tensor_type = 2, tensor_content = 3 }
 *
 * Tensors over 512 MiB are cut into several values of the same tag. Opening walks over the file and reads no contents (but
 * for the checksum, where the file ends with one); they are read when asked for, straight from the file, by any number of
 * threads at once. Element types that we do not have ("str", "UInt32") are listed and not loaded. */
typedef struct _TnCkpt TnCkpt;

typedef struct
{
  const char *name;
  const char *type_name; /* as in the file: "Float32" */
  TnDType dtype;         /* TN_DTYPE_COUNT if we have no such type */
  TnShape shape;         /* of a scalar: no dimensions */
  uint64_t bytes;
} TnCkptEntry;

/** Errors: TN_ERROR_FORMAT names the tensor and what is wrong, or what else the file is (encrypted, a PyTorch file). */
TnCkpt *tn_ckpt_open (const char *path, GError **error);
void tn_ckpt_free (TnCkpt *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnCkpt, tn_ckpt_free)

/** Entries in the file's order. */
guint tn_ckpt_n (const TnCkpt *self);
const TnCkptEntry *tn_ckpt_entry (const TnCkpt *self, guint i);
/** NULL if there is none of that name. */
const TnCkptEntry *tn_ckpt_find (const TnCkpt *self, const char *name);
/** The raw bytes of an entry, of any type, into @out (entry->bytes). */
gboolean tn_ckpt_load_raw (TnCkpt *self, const TnCkptEntry *entry, void *out, GError **error);

/** Where bytes go; @sink is the caller's. The same as TnSafetensorsSink. */
typedef gboolean (*TnCkptSink) (gpointer sink, const void *data, size_t n, GError **error);
/**
 * tn_ckpt_write: appends a tensor.
 * @data: dtype x shape, row-major, native order
 *
 * Nothing is written for a tensor without elements, as MindSpore does.
 */
gboolean tn_ckpt_write (TnCkptSink sink, gpointer sink_data, const char *name, TnDType dtype, const TnShape *shape, const void *data, GError **error);
