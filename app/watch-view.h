/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "run-control.h"

/* TnWatchView: what the current run has learned, under its plots: Watch (held-out samples whose answers change with each checkpoint), a pad
 * on which a digit can be drawn, and the share that is right of each class. Only what the run's data allow is shown.
 *
 * Signal: told ()   tn_watch_view_confusion() or can_draw() may answer differently */
#define TN_TYPE_WATCH_VIEW (tn_watch_view_get_type ())
G_DECLARE_FINAL_TYPE (TnWatchView, tn_watch_view, TN, WATCH_VIEW, AdwBin)

GtkWidget *tn_watch_view_new (TnRunControl *control);
/** "Most often 4 is taken for 9.", of the last validation; NULL where nothing is confused or known. */
const char *tn_watch_view_confusion (TnWatchView *self);
/** Whether there is something to try the run with; grab_pad() puts the focus there. */
gboolean tn_watch_view_can_draw (TnWatchView *self);
void tn_watch_view_grab_pad (TnWatchView *self);
