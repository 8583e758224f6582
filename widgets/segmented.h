/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

/* TnSegmented: one of at most five choices as linked buttons: the views of a page, a kind of axis.
 *
 * A radio group for a screen reader; Left and Right move the choice, as does a press. Emits notify::active-id when it
 * changes, by whomever.
 *
 *   GtkWidget *views = tn_segmented_new (_("View"));
 *   tn_segmented_add (TN_SEGMENTED (views), "preview", _("Preview"));
 *   tn_segmented_add (TN_SEGMENTED (views), "classes", _("Classes"));
 *   g_object_bind_property (views, "active-id", stack, "visible-child-name", G_BINDING_SYNC_CREATE);
 */
#define TN_TYPE_SEGMENTED (tn_segmented_get_type ())
G_DECLARE_FINAL_TYPE (TnSegmented, tn_segmented, TN, SEGMENTED, GtkWidget)

GtkWidget *tn_segmented_new (const char *label);
/** The first one added is chosen. Returns its button, owned by @self. */
GtkWidget *tn_segmented_add (TnSegmented *self, const char *id, const char *name);
const char *tn_segmented_get_active_id (TnSegmented *self);
void tn_segmented_set_active_id (TnSegmented *self, const char *id);
/** Moves the choice by @by places, as far as the ends. FALSE if it stayed. */
gboolean tn_segmented_move (TnSegmented *self, int by);
