/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "window.h"

/* Shared by the files of the window: window.c (layout, document), window-actions.c, window-header.c, window-files.c,
 * window-close.c. */
struct _TnWindow
{
  AdwApplicationWindow parent_instance;

  TnSelection *selection;
  TnRunControl *control;
  TnDocument *document;

  GtkWidget *adaptive, *toasts, *root_stack, *start, *sidebar_flap, *inspector_flap, *sidebar, *inspector, *page_stack;
  GtkWidget *banner, *selection_bar, *status_label, *drop_overlay;
  GPtrArray *pages; /* TnPage, as in tn_pages[]; borrowed */
  TnWidthClass width;
  gboolean wish_sidebar, wish_inspector; /* in the wide classes */

  /* Header. */
  GtkWidget *header, *header_title, *header_train_button, *header_pause_toggle, *header_stop_button, *header_goto_button;
  GtkWidget *header_sidebar_toggle, *header_inspector_toggle, *header_menu_button, *header_group;
  GtkWidget *action_bar; /* where the train group is in compact width */
  GMenu *train_menu;
  const char *train_action; /* what the Train button does now: "new", "resume" ... */
  gint64 last_reason_us;
  gint64 status_us;
  guint status_timer, prepare_timer;

  /* History of what was shown. */
  GPtrArray *history; /* page ids, static */
  guint history_at;   /* the shown one */
  gboolean walking;

  gboolean closing, train_when_ready;
  guint inhibit_cookie;
  gint64 run_started_us;
  TnRunWord last_word;
};

/* window-actions.c */
void tn_window_install_actions (TnWindow *self);
void tn_window_update_actions (TnWindow *self);
/** Why the action is off now, translated; NULL while it is on or there is nothing to say. */
const char *tn_window_reason (TnWindow *self, const char *action);

/* window-header.c */
void tn_window_build_header (TnWindow *self);
void tn_window_update_header (TnWindow *self);
void tn_window_place_header (TnWindow *self);

/* window-files.c */
void tn_window_choose_file (TnWindow *self, gboolean folder);
void tn_window_save_copy (TnWindow *self);
void tn_window_accept_drops (TnWindow *self);

/* window-close.c */
gboolean tn_window_close_request (TnWindow *self);
void tn_window_follow_run (TnWindow *self);

/* window.c */
void tn_window_go (TnWindow *self, int by);
