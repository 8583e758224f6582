/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* Locks on files, held by an open file description: they end with the process, however it ends, and two openings in
 * one process exclude each other too. */

/** Opens @path (made if missing) and locks it for itself, trying for @wait_ms; the descriptor, or -1 with TN_ERROR_BUSY or the
 * system's error. close() ends the lock. */
int tn_file_lock_take (const char *path, int wait_ms, GError **error);
/** Whether somebody holds it; takes nothing. FALSE where there is no such file. */
gboolean tn_file_lock_is_held (const char *path);
/** Replaces what stands in a locked file, in place. */
gboolean tn_file_lock_set_text (int fd, const char *path, const char *text, GError **error);
