/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

/* Fault points: how tests make the disk fail, or the process die, at an exact moment.
 *
 * Everything that writes files for keeps calls the tn_fault_*() wrappers below instead of the system's, or
 * tn_fault_point() at moments of its own. When nothing is switched on a point is one relaxed load.
 *
 * From outside, environment variable TENON_FAULT (read at the first point):
 *   kill:N       SIGKILL at the N-th point (there is one before and one after every operation)
 *   fail:N       the N-th operation fails with EIO
 *   nospace:N    the N-th operation fails with ENOSPC, having written half of its data
 *   count:FILE   the totals "points P\noperations O\n" are written to FILE at exit
 * From a test in the same process: tn_fault_set(). N counts from 1. */
typedef enum
{
  TN_FAULT_OFF,
  TN_FAULT_COUNT,
  TN_FAULT_KILL,
  TN_FAULT_FAIL,
  TN_FAULT_NO_SPACE
} TnFaultMode;

/** Switches a mode on in this process and sets both counters to 0. @every: fails all operations from the @nth on (a full
 * disk stays full), not only that one. */
void tn_fault_set (TnFaultMode mode, uint64_t nth, gboolean every);
uint64_t tn_fault_points (void);
uint64_t tn_fault_operations (void);

/** A moment at which a test may want the process to die. @where is a short constant name, "checkpoint/manifest". */
void tn_fault_point (const char *where);

/* The system calls with a point before and after, that may be told to fail. They return what the call returns and set
 * errno. Interrupted and short writes are continued inside tn_fault_write(); @path names the file in the record. */
ssize_t tn_fault_write (int fd, const void *data, size_t n, const char *path);
int tn_fault_fsync (int fd, const char *path);
int tn_fault_rename (const char *from, const char *to);
int tn_fault_fsync_dir (int fd, const char *path);
/** open(2); counted as an operation. Recorded as TN_FAULT_EVENT_CREATE if @flags have O_CREAT or O_TRUNC. */
int tn_fault_create (const char *path, int flags, int mode);
int tn_fault_ftruncate (int fd, int64_t size, const char *path);
int tn_fault_unlink (const char *path);
/** Reserves blocks without changing the size; 0 too where the file system cannot. Counted as an operation. */
int tn_fault_reserve (int fd, int64_t size, const char *path);

/* The recorder: what was done to the disk, in order, so that a test can build the disk of every moment at which the power
 * could have gone. */
typedef enum
{
  TN_FAULT_EVENT_CREATE,
  TN_FAULT_EVENT_WRITE,
  TN_FAULT_EVENT_TRUNCATE,
  TN_FAULT_EVENT_FSYNC,
  TN_FAULT_EVENT_RENAME,
  TN_FAULT_EVENT_UNLINK,
  TN_FAULT_EVENT_FSYNC_DIR
} TnFaultEventKind;

typedef struct
{
  TnFaultEventKind kind;
  char *path;
  char *to;       /* RENAME: the new name */
  int64_t offset; /* WRITE: where; TRUNCATE: the new size; CREATE: 1 if what was there is cut off */
  GBytes *data;   /* WRITE */
} TnFaultEvent;

void tn_fault_event_free (TnFaultEvent *event);

/** Starts recording into @events (TnFaultEvent, owned by the array if it has a free function); NULL stops. The array must
 * not be touched meanwhile. Thread-safe. */
void tn_fault_record (GPtrArray *events);

/** Builds in folder @into what a disk could hold after the first @n_events of @events, if the power went then. Events outside
 * @root are left out; @into holds what @root held when the recording began (nothing, or a copy made then).
 *
 * Data that was not synced is lost (@keep_unsynced FALSE: the file has its last synced content, or is empty) or there
 * (TRUE). Names follow the same rule by folder: a created, renamed or removed name holds once its folder was synced, or
 * with @keep_names. The four combinations are the extremes of what file systems do. */
gboolean tn_fault_replay (const GPtrArray *events, guint n_events, const char *root, const char *into,
                          gboolean keep_unsynced, gboolean keep_names, GError **error);
