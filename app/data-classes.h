/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "data-scan.h"

/* TnDataClasses: the classes of a scan as a table and as bars.
 *
 * Signals: "opened" (int class): show only that one; "renamed" (int class, const char *name). */
#define TN_TYPE_DATA_CLASSES (tn_data_classes_get_type ())
G_DECLARE_FINAL_TYPE (TnDataClasses, tn_data_classes, TN, DATA_CLASSES, AdwBin)

GtkWidget *tn_data_classes_new (void);
void tn_data_classes_set_scan (TnDataClasses *self, TnDataScan *scan);
void tn_data_classes_set_narrow (TnDataClasses *self, gboolean narrow);
void tn_data_classes_focus_filter (TnDataClasses *self);
