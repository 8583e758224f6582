/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnRankFiles: what a rank that is a process leaves in the folder ranks/ of its run.
 *
 *   ranks/rank-0002.lock        pid, host and how it ended; locked while the process lives
 *         rank-0002.heartbeat   the time, once a second
 *         rank-0002.log         its messages
 *
 * A process that ends says so in its lock ("finished", "failed: why", "told to end"). Whoever finds a lock that is free and says
 * nothing of an end has found the rank that was lost. */
typedef struct _TnRankFiles TnRankFiles;

/** Takes the lock and starts the heart. From then on SIGINT, SIGTERM and SIGHUP end nothing, unless @own_signals: rank 0 obeys
 * signals, and it alone; the others note that they came. */
TnRankFiles *tn_rank_files_open (const char *run_path, int rank, gboolean own_signals, GError **error);
void tn_rank_files_log (TnRankFiles *self, const char *text);
/** Says that this process was told to end: what follows is no loss of its own. Any thread. */
void tn_rank_files_note_told (TnRankFiles *self);
/** Writes how it ended (NULL: well) and frees. */
void tn_rank_files_close (TnRankFiles *self, const char *failure);

/** Names the ranks of the run that are gone without a word: "Rank 2 (process 4711 on host) ended without a word; it was last
 * seen at 12:34:56." NULL if there are none. Free with g_free. */
char *tn_rank_files_lost (const char *run_path);
