/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run-state.h"

#include <string.h>

static const char *const names[TN_RUN_N_STATES] = { "queued",   "starting", "running",  "paused", "parked",
                                                    "stopping", "stopped",  "finished", "failed", "lost" };

const char *
tn_run_state_name (TnRunState state)
{
  return (unsigned) state < TN_RUN_N_STATES ? names[state] : "unknown";
}

gboolean
tn_run_state_parse (const char *name, TnRunState *state)
{
  for (int i = 0; i < TN_RUN_N_STATES; i++)
    if (strcmp (names[i], name) == 0)
      {
        *state = (TnRunState) i;
        return TRUE;
      }
  return FALSE;
}

gboolean
tn_run_state_is_end (TnRunState state)
{
  return state == TN_RUN_PARKED || state == TN_RUN_STOPPED || state == TN_RUN_FINISHED || state == TN_RUN_FAILED
         || state == TN_RUN_LOST;
}

static gint64
last_sign_us (const TnRunEvidence *e)
{
  return MAX (e->heartbeat_us, e->record_us);
}

static gboolean
is_there (const TnRunEvidence *e)
{
  if (e->lock_held)
    return TRUE;
  if (e->local)
    return FALSE; /* its lock is free, so its process is gone, whatever has its number now */
  return e->heartbeat_us > 0 && e->now_us - e->heartbeat_us <= TN_RUN_SILENT_US; /* locks do not travel over every network */
}

TnRunState
tn_run_state_judge (const TnRunEvidence *e, gboolean *silent)
{
  gboolean there = is_there (e);
  if (silent != NULL)
    *silent = FALSE;
  if (e->stored == TN_RUN_QUEUED || tn_run_state_is_end (e->stored))
    return e->lock_held ? TN_RUN_STARTING : e->stored;
  if (!there)
    return TN_RUN_LOST;
  gint64 patience = MAX (TN_RUN_SILENT_US, TN_RUN_SILENT_STEPS * e->median_step_us);
  if (silent != NULL)
    *silent = last_sign_us (e) > 0 && e->now_us - last_sign_us (e) > patience;
  return e->stored;
}
