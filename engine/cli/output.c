/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include <glib-unix.h>
#include <sys/stat.h>
#include <unistd.h>

/* Readers of our output that go away ("tenon-cli attach RUN watch | head -1"): the kernel reports it at once, also while there is
 * nothing to write. */

typedef struct
{
  GDestroyNotify gone;
  gpointer data;
} Watch;

static gboolean
output_cb (int fd, GIOCondition condition, gpointer data)
{
  Watch *watch = data;
  watch->gone (watch->data);
  return G_SOURCE_REMOVE;
}

guint
tn_cli_watch_output (GDestroyNotify gone, gpointer data)
{
  struct stat info;
  if (fstat (STDOUT_FILENO, &info) != 0 || !(S_ISFIFO (info.st_mode) || S_ISSOCK (info.st_mode)))
    return 0;
  Watch *watch = g_new (Watch, 1);
  *watch = (Watch){ gone, data };
  return g_unix_fd_add_full (G_PRIORITY_DEFAULT, STDOUT_FILENO, G_IO_ERR, output_cb, watch, g_free);
}
