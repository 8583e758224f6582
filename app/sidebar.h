/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "document.h"
#include "page.h"

/* TnSidebar: the list of pages with their badges, below the project's name and menu. Signal: chosen (const char *id). */
#define TN_TYPE_SIDEBAR (tn_sidebar_get_type ())
G_DECLARE_FINAL_TYPE (TnSidebar, tn_sidebar, TN, SIDEBAR, AdwBin)

GtkWidget *tn_sidebar_new (void);
void tn_sidebar_add (TnSidebar *self, const TnPageInfo *info);
void tn_sidebar_select (TnSidebar *self, const char *id);
void tn_sidebar_set_badge (TnSidebar *self, const char *id, const char *text, const char *explanation);
void tn_sidebar_set_document (TnSidebar *self, TnDocument *document);
