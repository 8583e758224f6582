/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* Durable files: after a crash or a power cut the old file is there or the new one, whole, never a mixture.
 *
 * A temporary file in the same folder (".NAME.XXXXXX.tmp") is written, synced, closed and renamed over the name, and the
 * folder is synced. On failure the temporary file is removed and the old file is as it was. Errors: TN_ERROR_NO_SPACE for
 * a full disk or quota, TN_ERROR_IO for the rest; the message names the file, the system's reason and what to do.
 *
 *   if (!tn_durable_write (path, text, strlen (text), &error))
 *     return FALSE;
 */

/** Writes the whole file at once. Mode 0644 less the umask. */
gboolean tn_durable_write (const char *path, const void *data, size_t n, GError **error);

/** Makes names created, renamed or removed in folder @path last. */
gboolean tn_durable_sync_dir (const char *path, GError **error);

/** Removes temporary files that a killed process left in folder @path; returns how many. Only where no other process
 * writes there (the run's lock is held). */
int tn_durable_clean_dir (const char *path);

/* TnDurableFile: the same for what is written piece by piece. One thread at a time. */
typedef struct _TnDurableFile TnDurableFile;

/** @reserve_bytes: space to reserve first, so that a full disk is known before the work starts; 0 for none. */
TnDurableFile *tn_durable_file_new (const char *path, uint64_t reserve_bytes, GError **error);
/** Buffered (1 MiB). After an error every further call fails with the same one. */
gboolean tn_durable_file_write (TnDurableFile *self, const void *data, size_t n, GError **error);
/** Bytes written so far. */
uint64_t tn_durable_file_size (const TnDurableFile *self);
/** CRC-32C of all bytes written so far. */
uint32_t tn_durable_file_crc32c (const TnDurableFile *self);
/** Syncs, renames, and frees @self whatever happens. With @sync_dir FALSE the caller syncs the folder once for many. */
gboolean tn_durable_file_finish (TnDurableFile *self, gboolean sync_dir, GError **error);
/** Drops the temporary file and frees @self. */
void tn_durable_file_abort (TnDurableFile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnDurableFile, tn_durable_file_abort)
