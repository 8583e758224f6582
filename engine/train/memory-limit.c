/* SPDX-License-Identifier: Apache-2.0 */
#include "train/memory-limit.h"
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number in a file of one, SIZE_MAX where there is none ("max"). */
static size_t
read_number (const char *path)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL) || !g_ascii_isdigit (text[0]))
    return SIZE_MAX;
  return (size_t) g_ascii_strtoull (text, NULL, 10);
}

/* "MemAvailable:   123 kB" in /proc/meminfo and its like. */
static size_t
read_field (const char *path, const char *field)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return SIZE_MAX;
  const char *at = strstr (text, field);
  return at == NULL ? SIZE_MAX : (size_t) g_ascii_strtoull (at + strlen (field), NULL, 10) * 1024;
}

static size_t
cgroup_room (void)
{
  g_autofree char *text = NULL;
  size_t room = SIZE_MAX;
  if (!g_file_get_contents ("/proc/self/cgroup", &text, NULL, NULL))
    return room;
  const char *at = strstr (text, "0::");
  g_autofree char *path = at == NULL ? g_strdup ("/") : g_strndup (at + 3, strcspn (at + 3, "\n"));
  for (;;)
    {
      g_autofree char *limit_path = g_build_filename ("/sys/fs/cgroup", path, "memory.max", NULL);
      g_autofree char *used_path = g_build_filename ("/sys/fs/cgroup", path, "memory.current", NULL);
      size_t limit = read_number (limit_path), used = read_number (used_path);
      if (limit != SIZE_MAX)
        room = MIN (room, used == SIZE_MAX || used > limit ? limit : limit - used);
      if (strcmp (path, "/") == 0 || strcmp (path, ".") == 0)
        break;
      char *parent = g_path_get_dirname (path);
      g_free (path);
      path = parent;
    }
  size_t v1 = read_number ("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  return MIN (room, v1);
}

size_t
tn_memory_allowed (int64_t limit_mb)
{
  size_t allowed = MIN (read_field ("/proc/meminfo", "MemAvailable:"), cgroup_room ());
  struct rlimit limit;
  if (getrlimit (RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    allowed = MIN (allowed, (size_t) limit.rlim_cur);
  if (limit_mb > 0)
    allowed = MIN (allowed, (size_t) limit_mb * 1000000);
  return allowed;
}

size_t
tn_memory_resident (void)
{
  size_t bytes = read_field ("/proc/self/status", "VmRSS:");
  return bytes == SIZE_MAX ? 0 : bytes;
}

size_t
tn_memory_peak (void)
{
  size_t bytes = read_field ("/proc/self/status", "VmHWM:");
  return bytes == SIZE_MAX ? 0 : bytes;
}
