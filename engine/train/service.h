/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include "train/trainer.h"

/* TnService: a trainer on D-Bus, peer to peer on a unix socket of the same user (mode 0600).
 *
 * Object /io/github/tenon_ml/Tenon/Run, interface io.github.tenon_ml.Tenon.Run:
 *
 *   Pause () Resume () Park () Stop () StopNow () Checkpoint ()
 *   Extend (x epochs)   SetValue (s name, s value)
 *   Resync (s file, t offset) -> (s file, t end)
 *       sent by a client that has read so far; live batches begin again, the first one at the end that is answered
 *   WatchTimes (b on)   Nodes () -> (a(usss) id, name, scope, phase)
 *   Properties: State s, Reason s, Step x, TotalSteps x, Epoch x, Tags a(ss)   (name, unit; index = tag id),
 *       SecondsLeft (dd)  (least, most; NaN while estimating), ChecksWithoutGain x
 *   State (s state, s cause, s reason)
 *   Metrics (s file, t begin, t end, au tags, ax steps, ad values, ax times_us)
 *   Message (i level, s text)   Checkpointed (x step, s path)
 *   NodeTimes (x step, u steps, au ids, ad mean_ns)   to clients that called WatchTimes (true): means over 20 steps; Nodes()
 *       says what the ids are
 *
 * At most 20 Metrics a second, and at most 4 of them unsent a client. A client gets none before it calls Resync, and none
 * after it fell behind until it calls Resync again: it reads the event file from its offset meanwhile. So a stopped client costs
 * no memory. Errors are those of TnError under io.github.tenon_ml.Tenon.Error. */
#define TN_SERVICE_INTERFACE "io.github.tenon_ml.Tenon.Run"
#define TN_SERVICE_PATH "/io/github/tenon_ml/Tenon/Run"

/** Makes TnError travel over D-Bus; both sides call it. */
void tn_service_register_errors (void);

typedef struct _TnService TnService;

/** Serves @trainer (started: the folder is locked) and writes the address into the run's lock. Calls and signals are handled
 * in the thread-default main context. */
TnService *tn_service_new (TnTrainer *trainer, GError **error);
/** Closes connections and removes the socket. */
void tn_service_free (TnService *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnService, tn_service_free)
const char *tn_service_address (const TnService *self);
/** Clients connected now. */
guint tn_service_n_clients (const TnService *self);
