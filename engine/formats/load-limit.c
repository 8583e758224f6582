/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/load-limit.h"

#include "base/error.h"

static _Thread_local uint64_t limit = UINT64_MAX;

uint64_t
tn_load_set_limit (uint64_t bytes)
{
  uint64_t before = limit;
  limit = bytes;
  return before;
}

uint64_t
tn_load_limit (void)
{
  return limit;
}

gboolean
tn_load_check (uint64_t bytes, const char *path, GError **error)
{
  if (bytes <= limit)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_MEMORY,
               _ ("“%s” needs %.1f MB in memory, %.1f MB are allowed. Take fewer samples, or raise device.memory_limit_mb where that sets the limit."),
               path, (double) bytes / 1e6, (double) limit / 1e6);
  return FALSE;
}
