/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"

/* Every collective against brute force, over any transport: each rank makes what every rank has from the seed alone, so that
 * nothing is asked of the code under test. */
void check_collectives (TnComm *comm, guint32 seed, int n_rounds);
