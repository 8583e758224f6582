/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "document.h"
#include "run-control.h"

/* TnPlanView: what a run of the project would take and what speaks against it: memory by kind as a bar, and a list of findings, some with a
 * button that mends them. Looked at in a worker thread, some moments after the last edit.
 *
 * Signals: show-setting (const char *name)
 *          checked      ()                  has_errors() may say something else */
#define TN_TYPE_PLAN_VIEW (tn_plan_view_get_type ())
G_DECLARE_FINAL_TYPE (TnPlanView, tn_plan_view, TN, PLAN_VIEW, AdwBin)

GtkWidget *tn_plan_view_new (TnRunControl *control);
void tn_plan_view_set_document (TnPlanView *self, TnDocument *document);
/** After an edit. */
void tn_plan_view_edited (TnPlanView *self);
/** Opens the list and takes the focus. */
void tn_plan_view_open (TnPlanView *self);
/** The first error's text, or NULL where a run can start (as far as is known). */
const char *tn_plan_view_error (TnPlanView *self);
