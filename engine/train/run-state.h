/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* TnRunState: where a run is in its life. The names stand in run.json, on D-Bus and in --json output.
 *
 *   queued -> starting -> running <-> paused
 *                            |-> stopping -> stopped | parked | finished | failed
 *
 * A run whose process is gone without having written one of the four ends is lost; nobody writes that word: whoever looks
 * at a free lock beside a living state says it. All of stopped, parked, failed, lost and finished can be resumed. */
typedef enum
{
  TN_RUN_QUEUED,
  TN_RUN_STARTING,
  TN_RUN_RUNNING,
  TN_RUN_PAUSED,
  TN_RUN_PARKED,   /* saved, the process ended; resume goes on with the same bits */
  TN_RUN_STOPPING, /* finishing a step, writing the last checkpoint */
  TN_RUN_STOPPED,  /* by the user */
  TN_RUN_FINISHED, /* by itself; the reason says why */
  TN_RUN_FAILED,   /* the reason says why */
  TN_RUN_LOST
} TnRunState;
#define TN_RUN_N_STATES 10

/** "queued", "starting" ...: stable, untranslated. */
const char *tn_run_state_name (TnRunState state);
gboolean tn_run_state_parse (const char *name, TnRunState *state);
/* What somebody who looks at a run from outside can find out. */
typedef struct
{
  TnRunState stored;    /* the word in run.json */
  gboolean lock_held;
  gboolean local;       /* its process is, or was, on this machine since it booted */
  gint64 now_us, heartbeat_us, record_us; /* Unix time: now, of the last heartbeat in the lock, of the last row; 0: none */
  gint64 median_step_us; /* 0: not known */
} TnRunEvidence;

/* After so long without a sign of life a run is called silent. */
#define TN_RUN_SILENT_US (10 * G_USEC_PER_SEC)
#define TN_RUN_SILENT_STEPS 20

/**
 * tn_run_state_judge: what the run is, never from the stored word alone.
 * @silent: (out) (optional): it lives, and gave no sign of life for max (10 s, 20 x the median step)
 *
 * A living word with a free lock is lost, unless the lock cannot be seen from here: then the heartbeat tells. A held lock beside
 * queued or an end is a process that is just starting. */
TnRunState tn_run_state_judge (const TnRunEvidence *evidence, gboolean *silent);

/** parked, stopped, finished, failed or lost: no process works on it. */
gboolean tn_run_state_is_end (TnRunState state);
