/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "window.h"

/* TnInspector: facts about the most specific thing that is selected, each to copy, and where else the thing is shown. */
#define TN_TYPE_INSPECTOR (tn_inspector_get_type ())
G_DECLARE_FINAL_TYPE (TnInspector, tn_inspector, TN, INSPECTOR, AdwBin)

GtkWidget *tn_inspector_new (TnWindow *window);
