/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/trainer.h"

/* What train, resume and sample have in common: a trainer in this process, served on D-Bus, shown on the terminal, ended by
 * Ctrl-C. Returns the exit code. Takes @folder. @changes: NULL-terminated "name=value" that hold from this start on, or NULL. */
int tn_session_run (const char *command, TnRunFolder *folder, char **changes, gboolean json);
