/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

#include "data-scan.h"
#include "table-model.h"

/* TnDataPreview: the samples of a scan: a grid of pictures, or a table where they are no pictures, with class, set and size above.
 *
 * Signals: "selected" (gint64 id; -1 for none), "opened" (gint64 id). */
#define TN_TYPE_DATA_PREVIEW (tn_data_preview_get_type ())
G_DECLARE_FINAL_TYPE (TnDataPreview, tn_data_preview, TN, DATA_PREVIEW, GtkWidget)

GtkWidget *tn_data_preview_new (void);
/** Another scan of the same data set only updates what has changed. NULL empties it. */
void tn_data_preview_set_scan (TnDataPreview *self, TnDataScan *scan);
/** The rows shown, filtered and sorted; NULL before the first scan. For a table beside it. */
TnTableModel *tn_data_preview_model (TnDataPreview *self);
/** Ids of the selected samples; free with g_array_unref (gint64). */
GArray *tn_data_preview_selected (TnDataPreview *self);
void tn_data_preview_select (TnDataPreview *self, gint64 id);
/** Only class @index; -1 for all. */
void tn_data_preview_show_class (TnDataPreview *self, int index);
/** Two lines of controls in place of one. */
void tn_data_preview_set_narrow (TnDataPreview *self, gboolean narrow);
void tn_data_preview_focus_filter (TnDataPreview *self);
