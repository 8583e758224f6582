/* SPDX-License-Identifier: Apache-2.0 */
#include "base/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/fault.h"

#define BUFFER_BYTES (1u << 20)
#define RANDOM_CHARS 6
#define SUFFIX ".tmp"

struct _TnDurableFile
{
  char *path;
  char *folder;
  char *temporary; /* NULL once it has its name or is gone */
  int fd;
  uint64_t size;
  uint64_t reserved;
  uint32_t crc;
  size_t n_buffered;
  char *buffer; /* [BUFFER_BYTES] */
  GError *failure;
};

/* ".NAME.XXXXXX.tmp"; a long name is cut, so that the whole stays within what file systems take. */
static char *
temporary_name (const char *folder, const char *path)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  g_autofree char *base = g_path_get_basename (path);
  char random[RANDOM_CHARS + 1] = { 0 };
  for (int i = 0; i < RANDOM_CHARS; i++)
    random[i] = letters[g_random_int_range (0, (int) sizeof letters - 1)];
  g_autofree char *name = g_strdup_printf (".%.*s.%s" SUFFIX, NAME_MAX - RANDOM_CHARS - 6, base, random);
  return g_build_filename (folder, name, NULL);
}

static gboolean
is_temporary_name (const char *name)
{
  size_t n = strlen (name);
  return n > RANDOM_CHARS + 6 && name[0] == '.' && g_str_has_suffix (name, SUFFIX)
         && name[n - strlen (SUFFIX) - RANDOM_CHARS - 1] == '.';
}

/* Callers branch on "disk full" alone: everything else is an I/O error, whatever the reason. */
static void
set_error (GError **error, int errno_value, const char *verb, const char *path)
{
  GError *failure = NULL;
  tn_error_set_errno (&failure, errno_value, verb, path);
  if (failure->code != TN_ERROR_NO_SPACE)
    failure->code = TN_ERROR_IO;
  g_propagate_error (error, failure);
}

gboolean
tn_durable_sync_dir (const char *path, GError **error)
{
  g_return_val_if_fail (path != NULL, FALSE);
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    {
      set_error (error, errno, _("open folder"), path);
      return FALSE;
    }
  int result = tn_fault_fsync_dir (fd, path);
  int failure = errno;
  close (fd);
  if (result != 0 && failure != EINVAL && failure != EOPNOTSUPP) /* some network file systems cannot: nothing to be done */
    {
      set_error (error, failure, _("save the names in folder"), path);
      return FALSE;
    }
  return TRUE;
}

int
tn_durable_clean_dir (const char *path)
{
  int n_removed = 0;
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    if (is_temporary_name (name))
      {
        g_autofree char *file = g_build_filename (path, name, NULL);
        n_removed += tn_fault_unlink (file) == 0;
      }
  return n_removed;
}

static void
close_and_free (TnDurableFile *self)
{
  if (self->fd >= 0)
    close (self->fd);
  if (self->temporary != NULL)
    unlink (self->temporary); /* not a fault point: what fails here leaves a file that tn_durable_clean_dir() removes */
  g_free (self->temporary);
  g_free (self->folder);
  g_free (self->path);
  g_free (self->buffer);
  g_clear_error (&self->failure);
  g_free (self);
}

static gboolean
fail (TnDurableFile *self, int errno_value, GError **error)
{
  set_error (&self->failure, errno_value, _("write"), self->path);
  g_propagate_error (error, g_error_copy (self->failure));
  return FALSE;
}

/* Another program may have the same random name: try some. */
static gboolean
open_temporary (TnDurableFile *self, GError **error)
{
  for (int attempt = 0; attempt < 16; attempt++)
    {
      g_autofree char *name = temporary_name (self->folder, self->path);
      self->fd = tn_fault_create (name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
      if (self->fd >= 0)
        {
          self->temporary = g_steal_pointer (&name);
          return TRUE;
        }
      if (errno != EEXIST)
        break;
    }
  set_error (error, errno, _("write"), self->path);
  return FALSE;
}

/* The rename at the end would put a file in the place of whatever stands there: a device, a pipe or a folder is left alone. */
static gboolean
check_target (const char *path, GError **error)
{
  struct stat info;
  if (lstat (path, &info) != 0 || S_ISREG (info.st_mode) || S_ISLNK (info.st_mode))
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s” is a folder, a device or a pipe and cannot be replaced: name a file."), path);
  return FALSE;
}

TnDurableFile *
tn_durable_file_new (const char *path, uint64_t reserve_bytes, GError **error)
{
  g_return_val_if_fail (path != NULL && *path != '\0', NULL);
  if (!check_target (path, error))
    return NULL;
  TnDurableFile *self = g_new0 (TnDurableFile, 1);
  self->fd = -1;
  self->path = g_strdup (path);
  self->folder = g_path_get_dirname (path);
  self->reserved = reserve_bytes;
  if (!open_temporary (self, error))
    {
      close_and_free (self);
      return NULL;
    }
  if (reserve_bytes > INT64_MAX
      || (reserve_bytes > 0 && tn_fault_reserve (self->fd, (int64_t) reserve_bytes, self->temporary) != 0))
    {
      fail (self, reserve_bytes > INT64_MAX ? EFBIG : errno, error);
      close_and_free (self);
      return NULL;
    }
  return self;
}

static gboolean
write_out (TnDurableFile *self, const void *data, size_t n, GError **error)
{
  if (n > 0 && tn_fault_write (self->fd, data, n, self->temporary) < 0)
    return fail (self, errno, error);
  return TRUE;
}

static gboolean
flush (TnDurableFile *self, GError **error)
{
  size_t n = self->n_buffered;
  self->n_buffered = 0;
  return write_out (self, self->buffer, n, error);
}

gboolean
tn_durable_file_write (TnDurableFile *self, const void *data, size_t n, GError **error)
{
  g_return_val_if_fail (self != NULL && (data != NULL || n == 0), FALSE);
  if (self->failure != NULL)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      return FALSE;
    }
  if (n == 0)
    return TRUE;
  self->size += n;
  self->crc = tn_crc32c (self->crc, data, n);

  if (n > BUFFER_BYTES - self->n_buffered && !flush (self, error))
    return FALSE;
  if (n >= BUFFER_BYTES)
    return write_out (self, data, n, error);
  if (self->buffer == NULL)
    self->buffer = g_malloc (BUFFER_BYTES);
  memcpy (self->buffer + self->n_buffered, data, n);
  self->n_buffered += n;
  return TRUE;
}

uint64_t
tn_durable_file_size (const TnDurableFile *self)
{
  return self->size;
}

uint32_t
tn_durable_file_crc32c (const TnDurableFile *self)
{
  return self->crc;
}

static gboolean
make_durable (TnDurableFile *self, gboolean sync_dir, GError **error)
{
  if (self->failure != NULL)
    {
      g_propagate_error (error, g_error_copy (self->failure));
      return FALSE;
    }
  if (!flush (self, error))
    return FALSE;
  if (self->reserved > self->size && tn_fault_ftruncate (self->fd, (int64_t) self->size, self->temporary) != 0)
    return fail (self, errno, error);
  if (tn_fault_fsync (self->fd, self->temporary) != 0)
    return fail (self, errno, error);
  int fd = self->fd;
  self->fd = -1;
  if (close (fd) != 0 && errno != EINTR)
    return fail (self, errno, error);
  if (tn_fault_rename (self->temporary, self->path) != 0)
    return fail (self, errno, error);
  g_clear_pointer (&self->temporary, g_free);
  return !sync_dir || tn_durable_sync_dir (self->folder, error);
}

gboolean
tn_durable_file_finish (TnDurableFile *self, gboolean sync_dir, GError **error)
{
  g_return_val_if_fail (self != NULL, FALSE);
  gboolean ok = make_durable (self, sync_dir, error);
  close_and_free (self);
  return ok;
}

void
tn_durable_file_abort (TnDurableFile *self)
{
  if (self != NULL)
    close_and_free (self);
}

gboolean
tn_durable_write (const char *path, const void *data, size_t n, GError **error)
{
  TnDurableFile *file = tn_durable_file_new (path, 0, error);
  if (file == NULL)
    return FALSE;
  if (!tn_durable_file_write (file, data, n, error))
    {
      tn_durable_file_abort (file);
      return FALSE;
    }
  return tn_durable_file_finish (file, TRUE, error);
}
