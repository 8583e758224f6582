/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "run-control.h"

/* TnLogDrawer: below the plots: console, events, checkpoints and the one rank of the run, as tabs. */
#define TN_TYPE_LOG_DRAWER (tn_log_drawer_get_type ())
G_DECLARE_FINAL_TYPE (TnLogDrawer, tn_log_drawer, TN, LOG_DRAWER, AdwBin)

GtkWidget *tn_log_drawer_new (TnRunControl *control);
