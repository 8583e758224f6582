/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static int
affinity_count (void)
{
  /* The kernel refuses masks smaller than its own: grow until it fits. */
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2)
    {
      cpu_set_t *set = CPU_ALLOC (cpus);
      size_t size = CPU_ALLOC_SIZE (cpus);
      int count = set != NULL && sched_getaffinity (0, size, set) == 0 ? CPU_COUNT_S (size, set) : 0;
      int failure = errno;
      if (set != NULL)
        CPU_FREE (set);
      if (count > 0)
        return count;
      if (failure != EINVAL)
        break;
    }
  return (int) sysconf (_SC_NPROCESSORS_ONLN);
}

static int
round_up (gint64 quota, gint64 period)
{
  if (quota <= 0 || period <= 0 || quota / period >= G_MAXINT - 1)
    return G_MAXINT;
  return (int) (quota / period + (quota % period != 0));
}

static char *
read_small_file (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  char *text = NULL;
  return g_file_get_contents (path, &text, NULL, NULL) ? text : NULL;
}

/* v2: "max 100000" or "150000 100000". */
static int
quota_v2 (const char *folder)
{
  g_autofree char *text = read_small_file (folder, "cpu.max");
  if (text == NULL || g_str_has_prefix (text, "max"))
    return G_MAXINT;
  char *rest;
  gint64 quota = g_ascii_strtoll (text, &rest, 10);
  gint64 period = g_ascii_strtoll (rest, NULL, 10);
  return round_up (quota, period);
}

static int
quota_v1 (const char *folder)
{
  g_autofree char *quota = read_small_file (folder, "cpu.cfs_quota_us"); /* -1: none */
  g_autofree char *period = read_small_file (folder, "cpu.cfs_period_us");
  if (quota == NULL || period == NULL)
    return G_MAXINT;
  return round_up (g_ascii_strtoll (quota, NULL, 10), g_ascii_strtoll (period, NULL, 10));
}

/* The least quota of the group and all above it. Up to the root of the mount, as in a container the path may name groups
 * that are not visible while the container's own group is the root. */
static int
least_upwards (const char *mount, const char *group, int (*quota_of) (const char *folder))
{
  g_autofree char *path = g_strdup (group);
  int least = G_MAXINT;
  for (;;)
    {
      g_autofree char *folder = g_build_filename (mount, path, NULL);
      least = MIN (least, quota_of (folder));
      char *slash = strrchr (path, '/');
      if (slash == NULL)
        return least;
      *slash = '\0';
    }
}

static gboolean
lists_controller (const char *controllers, const char *wanted)
{
  g_auto (GStrv) names = g_strsplit (controllers, ",", -1);
  return g_strv_contains ((const char *const *) names, wanted);
}

int
tn_cpu_quota (const char *cgroup_text, const char *root)
{
  g_auto (GStrv) lines = g_strsplit (cgroup_text, "\n", -1);
  int least = G_MAXINT;
  for (char **line = lines; *line != NULL; line++)
    {
      g_auto (GStrv) fields = g_strsplit (*line, ":", 3); /* id:controllers:group */
      if (g_strv_length (fields) != 3 || strstr (fields[2], "..") != NULL)
        continue;
      if (*fields[1] == '\0')
        {
          g_autofree char *unified = g_build_filename (root, "unified", NULL);
          least = MIN (least, least_upwards (root, fields[2], quota_v2));
          least = MIN (least, least_upwards (unified, fields[2], quota_v2));
        }
      else if (lists_controller (fields[1], "cpu"))
        {
          g_autofree char *joint = g_build_filename (root, fields[1], NULL);
          g_autofree char *single = g_build_filename (root, "cpu", NULL);
          least = MIN (least, least_upwards (joint, fields[2], quota_v1));
          least = MIN (least, least_upwards (single, fields[2], quota_v1));
        }
    }
  return least;
}

int
tn_cpu_count_allowed (void)
{
  int count = affinity_count ();
  g_autofree char *text = read_small_file ("/proc/self", "cgroup");
  if (text != NULL)
    count = MIN (count, tn_cpu_quota (text, "/sys/fs/cgroup"));
  return MAX (count, 1);
}
