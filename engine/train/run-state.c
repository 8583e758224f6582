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
