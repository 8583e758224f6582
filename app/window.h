/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "document.h"
#include "page.h"
#include "run-control.h"
#include "selection.h"

/* TnWindow: one project (or the start page) with its pages.
 *
 * What belongs to a window and not to a page is here: the document, the current run, the selection, the actions of the
 * group "win", banners and toasts. */
#define TN_TYPE_WINDOW (tn_window_get_type ())
G_DECLARE_FINAL_TYPE (TnWindow, tn_window, TN, WINDOW, AdwApplicationWindow)

TnWindow *tn_window_new (GtkApplication *application);

/** NULL while no project is open. */
TnDocument *tn_window_document (TnWindow *self);
TnRunControl *tn_window_control (TnWindow *self);
TnSelection *tn_window_selection (TnWindow *self);
/** Has edits that could be undone, or a live run: another project then opens in another window. */
gboolean tn_window_is_busy (TnWindow *self);

/** Whatever @path is: a project, a run's folder, data ... recognised by content in a worker. */
void tn_window_open (TnWindow *self, const char *path);
/** "digits", "spirals" or "empty": makes a project of it; @train: and trains at once. */
void tn_window_start_sample (TnWindow *self, const char *sample, gboolean train);
/** Takes a reference; NULL shows the start page. */
void tn_window_set_document (TnWindow *self, TnDocument *document);
void tn_window_show_start (TnWindow *self);

/** NULL while the start page is shown. */
TnPage *tn_window_visible_page (TnWindow *self);
TnPage *tn_window_page (TnWindow *self, const char *id);
/** Does nothing for a page that there is not. */
void tn_window_show_page (TnWindow *self, const char *id);

void tn_window_toast (TnWindow *self, const char *text);
/** With a button that calls @action. */
void tn_window_toast_action (TnWindow *self, const char *text, const char *button, const char *action);
/** In the banner over the pages: what happened, where, what to do. */
void tn_window_show_error (TnWindow *self, const GError *error);
/** A banner with one button; @action may be NULL. */
void tn_window_show_banner (TnWindow *self, GtkMessageType type, const char *text, const char *button, const char *action);
