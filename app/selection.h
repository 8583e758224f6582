/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>

/* TnSelection: what is selected, shared by all pages of one window.
 *
 * Setters compare and remember; "changed" (guint mask of TnSelectionPart) is emitted at most once a frame, from an idle.
 * Nobody switches pages by it: a page that is hidden looks at the last state when it is shown.
 *
 *   tn_selection_set_steps (selection, 1200, 1240);
 *   g_signal_connect_object (selection, "changed", G_CALLBACK (selection_changed_cb), self, 0);
 */
typedef enum
{
  TN_SELECTION_RUN = 1 << 0,
  TN_SELECTION_RUNS = 1 << 1,      /* the set for overlays */
  TN_SELECTION_STEPS = 1 << 2,     /* one step: first = last */
  TN_SELECTION_TIME = 1 << 3,      /* nanoseconds in the run's clock */
  TN_SELECTION_RANK = 1 << 4,
  TN_SELECTION_NODE = 1 << 5,      /* path in the graph */
  TN_SELECTION_PARAMETER = 1 << 6, /* full name */
  TN_SELECTION_SAMPLE = 1 << 7,    /* "validation:17" */
  TN_SELECTION_HOVER = 1 << 8      /* passing: step under the pointer; never a chip */
} TnSelectionPart;
#define TN_SELECTION_N_PARTS 8 /* without hover */

#define TN_TYPE_SELECTION (tn_selection_get_type ())
G_DECLARE_FINAL_TYPE (TnSelection, tn_selection, TN, SELECTION, GObject)

TnSelection *tn_selection_new (void);

/** Parts that are set now. */
guint tn_selection_parts (TnSelection *self);
/** The part set most recently; 0 for none. */
TnSelectionPart tn_selection_latest (TnSelection *self);
void tn_selection_clear (TnSelection *self, guint mask);
void tn_selection_clear_all (TnSelection *self);

/* RUN (path of the run's folder), NODE, PARAMETER, SAMPLE; NULL where the part is not set. */
const char *tn_selection_get_text (TnSelection *self, TnSelectionPart part);
/** @text NULL clears the part. */
void tn_selection_set_text (TnSelection *self, TnSelectionPart part, const char *text);
/* STEPS, TIME, RANK, HOVER: inclusive ranges; FALSE where the part is not set. */
gboolean tn_selection_get_range (TnSelection *self, TnSelectionPart part, gint64 *first, gint64 *last);
void tn_selection_set_range (TnSelection *self, TnSelectionPart part, gint64 first, gint64 last);
/** Paths of the runs to show together, NULL-terminated; NULL for none. */
const char *const *tn_selection_get_runs (TnSelection *self);
void tn_selection_set_runs (TnSelection *self, const char *const *runs);

/** "step 1 200–1 240": for the chip of the part; NULL where it is not set. Free with g_free. */
char *tn_selection_describe (TnSelection *self, TnSelectionPart part);
/** The plain value, C locale: for copying. Free with g_free. */
char *tn_selection_value (TnSelection *self, TnSelectionPart part);
/** Everything as a{sv}: for the session and for tests. Floating. */
GVariant *tn_selection_to_variant (TnSelection *self);
void tn_selection_from_variant (TnSelection *self, GVariant *variant);
