/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "comm/comm.h"
#include "ir/graph.h"

/* TnCollectives: runs the nodes of a rank's graph that need the other ranks (ops/collective.h) over a communicator.
 *
 * The communicator's rank is the place in the mesh. Groups are split off when a node first asks for them, which every rank does
 * at the same node; messages are laid out here so that the transport moves whole rows. One thread.
 *
 *   TnPlanRun run = { ..., .collective = tn_collectives_run, .collective_data = collectives };
 */
typedef struct _TnCollectives TnCollectives;

/** @world is borrowed. */
TnCollectives *tn_collectives_new (TnComm *world);
void tn_collectives_free (TnCollectives *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnCollectives, tn_collectives_free)

/** @self: a TnCollectives. Data are row-major. */
gboolean tn_collectives_run (void *self, const TnNode *node, void *const *in, void *const *out, GError **error);
