/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

/* TnBanner: news over a page: one sentence, up to three buttons that name actions, and a close button.
 *
 * Hidden until it is shown. Screen readers announce it (role ALERT).
 *
 *   GtkWidget *banner = tn_banner_new ();
 *   tn_banner_add_button (TN_BANNER (banner), _("Re-scan"), "page.rescan", NULL);
 *   tn_banner_show (TN_BANNER (banner), GTK_MESSAGE_WARNING, _("12 files changed since the scan."));
 */
#define TN_TYPE_BANNER (tn_banner_get_type ())
G_DECLARE_FINAL_TYPE (TnBanner, tn_banner, TN, BANNER, GtkWidget)

GtkWidget *tn_banner_new (void);
/** @type: INFO, WARNING or ERROR. */
void tn_banner_show (TnBanner *self, GtkMessageType type, const char *text);
void tn_banner_hide (TnBanner *self);
gboolean tn_banner_get_revealed (TnBanner *self);
const char *tn_banner_get_text (TnBanner *self);
/** @action with @target (floating, may be NULL) as a GtkActionable takes them. Returns the button, owned by @self. */
GtkWidget *tn_banner_add_button (TnBanner *self, const char *label, const char *action, GVariant *target);
void tn_banner_clear_buttons (TnBanner *self);
/** Whether it can be closed; it can unless told. */
void tn_banner_set_closable (TnBanner *self, gboolean closable);
