/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "adaptive-bin.h"

/* TnPageStart: begin in one press: samples, own files, recent projects. Shown while no project is. */
#define TN_TYPE_PAGE_START (tn_page_start_get_type ())
G_DECLARE_FINAL_TYPE (TnPageStart, tn_page_start, TN, PAGE_START, AdwBin)

GtkWidget *tn_page_start_new (void);
/** Reads the list of recent projects again, in a worker. */
void tn_page_start_refresh (TnPageStart *self);
void tn_page_start_set_width (TnPageStart *self, TnWidthClass width);
