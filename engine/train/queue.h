/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnQueue: runs of a project that wait for each other, in queue.json of the project.
 *
 *   { "format": "tenon-queue", "version": 1,
 *     "entries": [ {"run": "2026-11-30-lenet5-01", "tries": 1, "failed": 0, "error": ""} ] }
 *
 * The order of the file is the order of the runs. Whoever changes it reads it, changes it and writes it durably under a lock
 * (queue.lock), which every function here does; what is returned is a copy. An entry goes when its run ended well; one whose run
 * failed stays with its count until all of its tries are used, and then stays as failed until somebody removes it.
 *
 * The process that works through the queue (tenon-cli queue run) holds queue.run meanwhile: there is one a project. */
#define TN_QUEUE_VERSION 1
#define TN_QUEUE_MAX_TRIES 100

typedef struct
{
  char *run;   /* name of its folder in runs/ */
  int tries;   /* how often it may be begun in all, 1 .. TN_QUEUE_MAX_TRIES */
  int failed;  /* how often it failed */
  char *error; /* of the last failure; "" */
} TnQueueEntry;

void tn_queue_entry_free (TnQueueEntry *entry);

/** TnQueueEntry in order; empty where there is no queue. Errors: TN_ERROR_FORMAT for a damaged or newer file. */
GPtrArray *tn_queue_read (const char *project_path, GError **error);
/** Appends; TN_ERROR_EXISTS where it is there already, TN_ERROR_NOT_FOUND where the project has no such run. */
gboolean tn_queue_add (const char *project_path, const char *run, int tries, GError **error);
/** To @place (0: first; past the end: last). */
gboolean tn_queue_move (const char *project_path, const char *run, int place, GError **error);
gboolean tn_queue_remove (const char *project_path, const char *run, GError **error);

/** The first entry with a try left, NULL (no error) where there is none. Free with tn_queue_entry_free(). */
TnQueueEntry *tn_queue_next (const char *project_path, GError **error);
/** What became of it: @failure NULL: it goes; else it is counted as failed and goes behind the entries that wait. */
gboolean tn_queue_done (const char *project_path, const char *run, const char *failure, GError **error);

/** The lock of the working process: the descriptor, or -1 with TN_ERROR_BUSY. close() gives it back. */
int tn_queue_take (const char *project_path, GError **error);
/** Whether a process works through the queue. */
gboolean tn_queue_is_running (const char *project_path);
