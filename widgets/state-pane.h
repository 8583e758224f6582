/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

/* TnStatePane: the states that every view shares: empty, loading, failed, or its content.
 *
 *   GtkWidget *pane = tn_state_pane_new (grid);
 *   tn_state_pane_set_loading (TN_STATE_PANE (pane), _("Reading 60,000 pictures"), -1);
 *   tn_state_pane_set_content (TN_STATE_PANE (pane));
 *
 * "cancelled" is emitted when Cancel is pressed while loading; without a handler there is no Cancel. Property "state" is the
 * word that tests ask for: "empty", "loading", "failed", "ready".
 */
#define TN_TYPE_STATE_PANE (tn_state_pane_get_type ())
G_DECLARE_FINAL_TYPE (TnStatePane, tn_state_pane, TN, STATE_PANE, GtkWidget)

/** @content is shown from the start. */
GtkWidget *tn_state_pane_new (GtkWidget *content);
/** One sentence why nothing is here; @button and @action fill it, both may be NULL. */
void tn_state_pane_set_empty (TnStatePane *self, const char *icon, const char *title, const char *text, const char *button,
                              const char *action);
/** What happened, and where and what to do. Text is plain. @button and @action may be NULL. */
void tn_state_pane_set_failed (TnStatePane *self, const char *title, const char *text, const char *button, const char *action);
/** @fraction 0 to 1, or negative while it is not known. Cheap to call often. */
void tn_state_pane_set_loading (TnStatePane *self, const char *text, double fraction);
void tn_state_pane_set_content (TnStatePane *self);
const char *tn_state_pane_get_state (TnStatePane *self);
