/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/trainer.h"

/* TnProgressView: shows how far a run is, in one of three ways:
 *
 *   a bar        stderr is a terminal: one line, drawn anew up to 10 times a second
 *   plain lines  on stdout: one a second at most, and one an epoch
 *   JSON         one object a line on stdout
 *
 * Messages go between: the bar is taken away for them and comes back. One thread. */
typedef struct _TnProgressView TnProgressView;

TnProgressView *tn_progress_view_new (gboolean json);
/** Takes the bar away. */
void tn_progress_view_free (TnProgressView *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnProgressView, tn_progress_view_free)

gboolean tn_progress_view_is_json (const TnProgressView *self);
/** Shows @progress unless that was done just now. */
void tn_progress_view_update (TnProgressView *self, const TnTrainerProgress *progress);
/** Rows of a batch that are worth a line: what validation found at the end of an epoch. */
void tn_progress_view_batch (TnProgressView *self, const TnMetricsBatch *batch);
/** A line for people on stdout (stderr with @is_warning); with JSON an object {"event": "message", "level", "text"}. */
void tn_progress_view_message (TnProgressView *self, gboolean is_warning, const char *text);
/** An object for JSON output; dropped (and freed) in the other two ways. Takes @object. */
void tn_progress_view_object (TnProgressView *self, JsonObject *object);
/** Takes the bar away, so that something else can be written. */
void tn_progress_view_clear (TnProgressView *self);
