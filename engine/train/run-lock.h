/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/run-folder.h"

/* The file "lock" of a run folder. Its text stays when the process ends; only the lock on it says that somebody is there. */

/** The locked descriptor, or -1; TN_ERROR_BUSY names who has it. close() ends the lock. */
int tn_run_lock_take (const char *run_path, GError **error);
/** Writes who we are, that we live now, @address (or NULL), and how far the run is. */
gboolean tn_run_lock_describe (int fd, const char *run_path, const char *address, gint64 step, gint64 median_step_us, GError **error);
