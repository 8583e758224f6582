/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"

/* The thread that works off a rank's requests, one after the other. Made with the first request. */

/** Waits until every request that was started is done, so that what comes next keeps its place in the order. */
void tn_comm_lane_drain (TnComm *comm);
void tn_comm_lane_free (TnComm *comm);
