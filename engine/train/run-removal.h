/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/run-folder.h"

/* Taking runs out of a project, and giving them other names.
 *
 * A removed run is moved into the project's runs/.removed and can be moved back from there until it is deleted for good. All of
 * these refuse a run that a process trains (TN_ERROR_BUSY), and hold its lock meanwhile.
 *
 *   g_autofree char *removed = tn_run_remove ("digits/runs/2026-11-30-lenet5-01", &error);
 *   g_autofree char *path = tn_run_restore (removed, &error);      // undo
 */

/** Where it lies now, absolute, free with g_free. Where a run of its name was removed before, this one's gets "~2" and so on. */
char *tn_run_remove (const char *run_path, GError **error);
/** Moves back what tn_run_remove() returned, to its name or, where that is taken, the same with "~2" and so on. */
char *tn_run_restore (const char *removed_path, GError **error);
/** Absolute paths of a project's removed runs, by name. */
GPtrArray *tn_run_list_removed (const char *project_path, GError **error);
/** Deletes one of these, or a run, for good. */
gboolean tn_run_delete (const char *path, GError **error);
/** @name: letters of any script, digits, spaces, '-', '_', '.', not first a dot, 80 bytes at most, not taken: TN_ERROR_INVALID_ARGUMENT,
 * TN_ERROR_EXISTS. Returns the new path. */
char *tn_run_rename (const char *run_path, const char *name, GError **error);
