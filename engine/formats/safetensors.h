/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "base/durable.h"
#include "tensor/tensor.h"

/* safetensors: named tensors, one after the other, behind a JSON header.
 *
 *   u64 header length, header (padded with spaces to 8), data. "__metadata__": strings.
 *
 * Reading is as strict as the reference (every tensor's size is dtype x shape, together they tile the data without holes),
 * but for bytes after the last tensor: those are reported, not refused. Element types of newer versions are listed and not
 * loaded. Opening reads the header only; tensors are read when asked for, straight from the file into the tensor, by any
 * number of threads at once. */
typedef struct _TnSafetensors TnSafetensors;

typedef struct
{
  const char *name;
  const char *dtype_name; /* as in the file: "F32", "F8_E4M3" ... */
  TnDType dtype;          /* TN_DTYPE_COUNT if we have no such type */
  TnShape shape;
  uint64_t offset; /* in the file */
  uint64_t bytes;
} TnSafetensorsEntry;

/** Errors: TN_ERROR_FORMAT names the tensor and what is wrong; for a file of another kind, what it is. */
TnSafetensors *tn_safetensors_open (const char *path, GError **error);
void tn_safetensors_free (TnSafetensors *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnSafetensors, tn_safetensors_free)

/** Entries by offset. */
guint tn_safetensors_n (TnSafetensors *self);
const TnSafetensorsEntry *tn_safetensors_entry (TnSafetensors *self, guint i);
/** NULL if there is none of that name. */
const TnSafetensorsEntry *tn_safetensors_find (TnSafetensors *self, const char *name);
/** A string of __metadata__, or NULL. */
const char *tn_safetensors_metadata (TnSafetensors *self, const char *key);
/** name -> text, owned by @self; empty if the file has none. */
GHashTable *tn_safetensors_all_metadata (TnSafetensors *self);
/** Text for the user about what is odd but readable (bytes after the last tensor), or NULL. */
const char *tn_safetensors_warning (TnSafetensors *self);

/** A new tensor. Errors: TN_ERROR_NOT_FOUND, TN_ERROR_DTYPE (a type that is listed only), TN_ERROR_IO. */
TnTensor *tn_safetensors_load (TnSafetensors *self, const char *name, GError **error);
/** The raw bytes of an entry, of any type, into @out (entry->bytes). */
gboolean tn_safetensors_load_raw (TnSafetensors *self, const TnSafetensorsEntry *entry, void *out, GError **error);

/* TnSafetensorsWriter: header first, then tensors one at a time, so that nothing needs to be in memory twice.
 *
 * Add all names, then write tensors in the order that tn_safetensors_writer_next() gives: descending alignment of the
 * element type, then name.
 *
 *   tn_safetensors_writer_add (w, "conv1.weight", TN_DTYPE_F32, shape, &error); ...
 *   tn_safetensors_writer_begin (w, file, &error);
 *   while ((name = tn_safetensors_writer_next (w)))
 *     tn_safetensors_writer_write (w, data_of (name), &error);
 */
typedef struct _TnSafetensorsWriter TnSafetensorsWriter;

/** Where bytes go; @data is the caller's. */
typedef gboolean (*TnSafetensorsSink) (gpointer sink, const void *data, size_t n, GError **error);

TnSafetensorsWriter *tn_safetensors_writer_new (void);
void tn_safetensors_writer_free (TnSafetensorsWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnSafetensorsWriter, tn_safetensors_writer_free)
void tn_safetensors_writer_set_metadata (TnSafetensorsWriter *self, const char *key, const char *value);
/** Errors: TN_ERROR_EXISTS for a name that is there already, TN_ERROR_INVALID_ARGUMENT for "__metadata__" or no UTF-8. */
gboolean tn_safetensors_writer_add (TnSafetensorsWriter *self, const char *name, TnDType dtype, TnShape shape, GError **error);
/** Size of the whole file, to reserve space. */
uint64_t tn_safetensors_writer_size (TnSafetensorsWriter *self);
/** Writes the header. */
gboolean tn_safetensors_writer_begin (TnSafetensorsWriter *self, TnSafetensorsSink sink, gpointer sink_data, GError **error);
/** The tensor whose bytes come next, or NULL after the last. */
const char *tn_safetensors_writer_next (TnSafetensorsWriter *self);
/** Its bytes: dtype x shape, row-major, native order. */
gboolean tn_safetensors_writer_write (TnSafetensorsWriter *self, const void *data, GError **error);
/** A sink that writes to a #TnDurableFile. */
gboolean tn_safetensors_durable_sink (gpointer durable_file, const void *data, size_t n, GError **error);

/** All at once, durably: @names and @tensors have @n elements, @metadata is name -> text or NULL. */
gboolean tn_safetensors_write (const char *path, const char *const *names, TnTensor *const *tensors, int n, GHashTable *metadata,
                               GError **error);
