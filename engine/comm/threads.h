/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"

/* Ranks as threads of one process: members read each other's buffers where they lie.
 *
 * At most as many rank threads compute at once as the world has cores, where there are more ranks than cores: each takes one
 * of `cores` permits with tn_comm_threads_enter() and every wait inside a collective gives it back. Waits spin for at most
 * 30 us, and only while no more threads can run than there are cores; then they block. */

/** Makes @n_ranks handles, comms[rank]; each is for one rank's thread and freed by it. @cores: 0 for all that may be used.
 * The handles belong to the caller, the array (g_free) too. */
TnComm **tn_comm_threads_new (int n_ranks, int cores, GError **error);

/** This thread computes for a rank of @comm's world; a no-op where the transport is another one or there are cores enough. */
void tn_comm_threads_enter (TnComm *comm);
/** Whether this thread had a permit. */
gboolean tn_comm_threads_leave (TnComm *comm);
