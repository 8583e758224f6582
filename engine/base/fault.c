/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What must be done at a point. UNREAD: the environment was not looked at yet. */
enum
{
  STATE_UNREAD = -1,
  STATE_OFF = 0,
  STATE_ON = 1
};

static _Atomic int state = STATE_UNREAD;
static _Atomic int mode; /* TnFaultMode */
static _Atomic uint64_t wanted;
static _Atomic gboolean wanted_and_later;
static _Atomic uint64_t n_points;
static _Atomic uint64_t n_operations;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all below */
static GPtrArray *record;
static char *count_file;

static void
write_counts (void)
{
  /* Plain stdio: not a fault point itself. */
  FILE *file = fopen (count_file, "we");
  if (file == NULL)
    return;
  fprintf (file, "points %llu\noperations %llu\n", (unsigned long long) n_points, (unsigned long long) n_operations);
  fclose (file);
}

static gboolean
read_mode (const char *text, const char *prefix, TnFaultMode value)
{
  if (!g_str_has_prefix (text, prefix))
    return FALSE;
  atomic_store (&wanted, g_ascii_strtoull (text + strlen (prefix), NULL, 10));
  atomic_store (&mode, value);
  return TRUE;
}

static void
read_environment (void)
{
  pthread_mutex_lock (&lock);
  if (atomic_load (&state) == STATE_UNREAD)
    {
      const char *text = g_getenv ("TENON_FAULT");
      gboolean on = FALSE;
      if (text != NULL && g_str_has_prefix (text, "count:"))
        {
          count_file = g_strdup (text + strlen ("count:"));
          atomic_store (&mode, TN_FAULT_COUNT);
          atexit (write_counts);
          on = TRUE;
        }
      else if (text != NULL)
        on = read_mode (text, "kill:", TN_FAULT_KILL) || read_mode (text, "fail:", TN_FAULT_FAIL)
             || read_mode (text, "nospace:", TN_FAULT_NO_SPACE);
      atomic_store (&state, on ? STATE_ON : STATE_OFF);
    }
  pthread_mutex_unlock (&lock);
}

static inline gboolean
is_off (void)
{
  int now = atomic_load_explicit (&state, memory_order_relaxed);
  if (now == STATE_OFF)
    return TRUE;
  if (now == STATE_UNREAD)
    {
      read_environment ();
      return atomic_load (&state) == STATE_OFF;
    }
  return FALSE;
}

void
tn_fault_set (TnFaultMode new_mode, uint64_t nth, gboolean every)
{
  pthread_mutex_lock (&lock);
  atomic_store (&mode, new_mode);
  atomic_store (&wanted, nth);
  atomic_store (&wanted_and_later, every);
  atomic_store (&n_points, 0);
  atomic_store (&n_operations, 0);
  atomic_store (&state, new_mode == TN_FAULT_OFF && record == NULL ? STATE_OFF : STATE_ON);
  pthread_mutex_unlock (&lock);
}

uint64_t
tn_fault_points (void)
{
  return atomic_load (&n_points);
}

uint64_t
tn_fault_operations (void)
{
  return atomic_load (&n_operations);
}

void
tn_fault_point (const char *where)
{
  if (is_off ())
    return;
  uint64_t number = atomic_fetch_add (&n_points, 1) + 1;
  if (atomic_load (&mode) == TN_FAULT_KILL && number == atomic_load (&wanted))
    raise (SIGKILL);
}

/* Counts an operation; 0 or the errno with which it has to fail. */
static int
begin_operation (void)
{
  uint64_t number = atomic_fetch_add (&n_operations, 1) + 1;
  uint64_t nth = atomic_load (&wanted);
  if (number != nth && !(atomic_load (&wanted_and_later) && number > nth))
    return 0;
  switch (atomic_load (&mode))
    {
    case TN_FAULT_FAIL:
      return EIO;
    case TN_FAULT_NO_SPACE:
      return ENOSPC;
    default:
      return 0;
    }
}

/* The recorder. */

void
tn_fault_event_free (TnFaultEvent *event)
{
  g_free (event->path);
  g_free (event->to);
  g_clear_pointer (&event->data, g_bytes_unref);
  g_free (event);
}

void
tn_fault_record (GPtrArray *events)
{
  if (atomic_load (&state) == STATE_UNREAD)
    read_environment ();
  pthread_mutex_lock (&lock);
  record = events;
  atomic_store (&state, atomic_load (&mode) == TN_FAULT_OFF && record == NULL ? STATE_OFF : STATE_ON);
  pthread_mutex_unlock (&lock);
}

static void
record_event (TnFaultEventKind kind, const char *path, const char *to, int64_t offset, const void *data, size_t n)
{
  pthread_mutex_lock (&lock);
  if (record != NULL)
    {
      TnFaultEvent *event = g_new0 (TnFaultEvent, 1);
      event->kind = kind;
      event->path = g_canonicalize_filename (path, NULL);
      event->to = to != NULL ? g_canonicalize_filename (to, NULL) : NULL;
      event->offset = offset;
      event->data = data != NULL ? g_bytes_new (data, n) : NULL;
      g_ptr_array_add (record, event);
    }
  pthread_mutex_unlock (&lock);
}

/* Where the next write of @fd goes. */
static int64_t
write_offset (int fd)
{
  struct stat info;
  if ((fcntl (fd, F_GETFL) & O_APPEND) && fstat (fd, &info) == 0)
    return info.st_size;
  return lseek (fd, 0, SEEK_CUR);
}

/* The wrappers. */

static gboolean
write_fully (int fd, const char *data, size_t n)
{
  while (n > 0)
    {
      ssize_t written = write (fd, data, n);
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        {
          errno = written == 0 ? EIO : errno;
          return FALSE;
        }
      data += written;
      n -= (size_t) written;
    }
  return TRUE;
}

static gboolean
write_watched (int fd, const void *data, size_t n, const char *path)
{
  int64_t offset = write_offset (fd);
  if (!write_fully (fd, data, n))
    return FALSE;
  record_event (TN_FAULT_EVENT_WRITE, path, NULL, offset, data, n);
  return TRUE;
}

ssize_t
tn_fault_write (int fd, const void *data, size_t n, const char *path)
{
  if (is_off ())
    return write_fully (fd, data, n) ? (ssize_t) n : -1;

  tn_fault_point ("before write");
  int failure = begin_operation ();
  gboolean ok;
  if (failure == 0)
    ok = write_watched (fd, data, n, path);
  else
    {
      if (failure == ENOSPC && !write_watched (fd, data, n / 2, path)) /* a disk is full in the middle of a write */
        return -1;
      errno = failure;
      ok = FALSE;
    }
  int saved = errno;
  tn_fault_point ("after write");
  errno = saved;
  return ok ? (ssize_t) n : -1;
}

/* One operation of the other kinds: @call is made unless it has to fail. */
#define WATCHED(result, call, what, ...)                                                                                 \
  do                                                                                                                     \
    {                                                                                                                    \
      if (is_off ())                                                                                                     \
        return call;                                                                                                     \
      tn_fault_point ("before " what);                                                                                   \
      int failure = begin_operation ();                                                                                  \
      errno = failure;                                                                                                   \
      result = failure ? -1 : call;                                                                                      \
      int saved = errno;                                                                                                 \
      if (result >= 0)                                                                                                   \
        {                                                                                                                \
          __VA_ARGS__;                                                                                                   \
        }                                                                                                                \
      tn_fault_point ("after " what);                                                                                    \
      errno = saved;                                                                                                     \
    }                                                                                                                    \
  while (0)

int
tn_fault_fsync (int fd, const char *path)
{
  int result;
  WATCHED (result, fsync (fd), "fsync", record_event (TN_FAULT_EVENT_FSYNC, path, NULL, 0, NULL, 0));
  return result;
}

int
tn_fault_fsync_dir (int fd, const char *path)
{
  int result;
  WATCHED (result, fsync (fd), "fsync of folder", record_event (TN_FAULT_EVENT_FSYNC_DIR, path, NULL, 0, NULL, 0));
  return result;
}

int
tn_fault_rename (const char *from, const char *to)
{
  int result;
  WATCHED (result, rename (from, to), "rename", record_event (TN_FAULT_EVENT_RENAME, from, to, 0, NULL, 0));
  return result;
}

int
tn_fault_create (const char *path, int flags, int permissions)
{
  int result;
  WATCHED (result, open (path, flags, permissions), "open",
           if (flags & (O_CREAT | O_TRUNC)) record_event (TN_FAULT_EVENT_CREATE, path, NULL, flags & O_TRUNC ? 1 : 0, NULL, 0));
  return result;
}

int
tn_fault_ftruncate (int fd, int64_t size, const char *path)
{
  int result;
  WATCHED (result, ftruncate (fd, size), "truncate", record_event (TN_FAULT_EVENT_TRUNCATE, path, NULL, size, NULL, 0));
  return result;
}

int
tn_fault_unlink (const char *path)
{
  int result;
  WATCHED (result, unlink (path), "unlink", record_event (TN_FAULT_EVENT_UNLINK, path, NULL, 0, NULL, 0));
  return result;
}

static int
reserve_blocks (int fd, int64_t size)
{
  int result;
  do
    result = fallocate (fd, FALLOC_FL_KEEP_SIZE, 0, size);
  while (result != 0 && errno == EINTR);
  return result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) ? 0 : result;
}

int
tn_fault_reserve (int fd, int64_t size, const char *path)
{
  int result;
  WATCHED (result, reserve_blocks (fd, size), "reserve", (void) path);
  return result;
}
