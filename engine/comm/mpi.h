/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"

/* Ranks as processes that mpirun started. Open MPI is reached through a module (tenon-mpi.so) that is opened at run time:
 * without it the program runs all the same, with ranks as threads.
 *
 * MPI only moves bytes. Waits look, for at most 30 us without pause while every process can have a core, then sleep between
 * looks, up to 500 us, and after long waits up to 4 ms: an idle rank costs next to nothing. The module is looked for in $TENON_MODULES, beside the program, in
 * ../comm and ../lib/tenon from there, and in the installation's library folder. */

/** Whether mpirun (or srun with its PMI) started this process as one of several. */
gboolean tn_comm_mpi_is_started (void);
/** Joins the other processes: once. The handle leaves them when it is freed; a failed one does not wait for the others. Errors:
 * TN_ERROR_UNSUPPORTED where there is no module or MPI. */
TnComm *tn_comm_mpi_open (GError **error);
/** "Open MPI v4.1.4 (/usr/lib/tenon/tenon-mpi.so)" or NULL with why not; for doctor. Does not join anything. */
char *tn_comm_mpi_describe (GError **error);
