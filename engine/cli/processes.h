/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include "train/run-folder.h"

/* train and resume under mpirun: rank 0 is the process that a person sees, the others do what it orders. */

/** Joins the other processes if mpirun started this one among several. FALSE: told, *status is the exit code. */
gboolean tn_processes_join (gboolean json, int *status);
/** Whether this process is a rank other than 0: then all it does is tn_processes_serve(). */
gboolean tn_processes_is_follower (void);
/** Waits for the run's folder, and works for rank 0 until it ends. The exit code. */
int tn_processes_serve (void);
/** Rank 0: what mpirun says of the number of ranks goes into @settings. */
gboolean tn_processes_apply (TnSettings *settings, GError **error);
/** Rank 0: tells the others where the run is; NULL: there is none, they end. */
void tn_processes_announce (TnRunFolder *folder);
/** Rank 0: a signal asked it to end, as mpirun does when another rank has died. */
void tn_processes_note_told (void);
/** Rank 0, after the run: lets the others go and leaves; gives @status back. */
int tn_processes_leave (int status);
