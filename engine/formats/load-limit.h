/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* How many bytes the readers of this thread may take for one file: a small gzip file can hold gigabytes, and a run that may use
 * little memory must not find out when it is gone.
 *
 *   uint64_t before = tn_load_set_limit (tn_memory_allowed (0));
 *   dataset = tn_dataset_open (...);        // TN_ERROR_MEMORY where a file would take more
 *   tn_load_set_limit (before);
 */

/** For the calling thread; UINT64_MAX: none. Returns what it was. */
uint64_t tn_load_set_limit (uint64_t bytes);
uint64_t tn_load_limit (void);
/** FALSE with TN_ERROR_MEMORY where @bytes are more than the limit; the message names @path and both numbers. */
gboolean tn_load_check (uint64_t bytes, const char *path, GError **error);
