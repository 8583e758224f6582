/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/run-folder.h"

typedef enum
{
  TN_SESSION_NEW = 1 << 0,    /* this command made the run: one that is refused before its first step leaves no folder */
  TN_SESSION_RESTART = 1 << 1 /* tn_trainer_allow_restart() */
} TnSessionFlags;

/** Trains in @folder (taken) to the end with progress, D-Bus service and Ctrl-C. @changes: (nullable): assignments from here on.
 * Returns the exit code. */
int tn_session_run (const char *command, TnRunFolder *folder, char **changes, TnSessionFlags flags, gboolean json);
