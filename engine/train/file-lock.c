/* SPDX-License-Identifier: Apache-2.0 */
#include "train/file-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define RETRY_MS 10

static struct flock
whole_file (void)
{
  return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0 };
}

int
tn_file_lock_take (const char *path, int wait_ms, GError **error)
{
  int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0)
    {
      tn_error_set_errno (error, errno, _("lock"), path);
      return -1;
    }
  for (;;)
    {
      struct flock lock = whole_file ();
      if (fcntl (fd, F_OFD_SETLK, &lock) == 0)
        return fd;
      if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || wait_ms <= 0)
        break;
      g_usleep (RETRY_MS * 1000);
      wait_ms -= RETRY_MS;
    }
  if (errno == EAGAIN || errno == EACCES)
    g_set_error (error, TN_ERROR, TN_ERROR_BUSY, _("“%s” is held by another process."), path);
  else
    tn_error_set_errno (error, errno, _("lock"), path);
  close (fd);
  return -1;
}

gboolean
tn_file_lock_is_held (const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0)
    return FALSE;
  struct flock lock = whole_file ();
  gboolean held = fcntl (fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close (fd);
  return held;
}

gboolean
tn_file_lock_set_text (int fd, const char *path, const char *text, GError **error)
{
  ssize_t n = (ssize_t) strlen (text);
  if (pwrite (fd, text, (size_t) n, 0) == n && ftruncate (fd, n) == 0)
    return TRUE;
  tn_error_set_errno (error, errno, _("write"), path);
  return FALSE;
}
