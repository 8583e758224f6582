/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "data-scan.h"
#include "document.h"

/* TnDataForm: the settings beside the samples: source, what is held out, how batches end. Edits the document; shows what a scan
 * found where that says more than the setting. */
#define TN_TYPE_DATA_FORM (tn_data_form_get_type ())
G_DECLARE_FINAL_TYPE (TnDataForm, tn_data_form, TN, DATA_FORM, AdwBin)

GtkWidget *tn_data_form_new (void);
void tn_data_form_set_document (TnDataForm *self, TnDocument *document);
/** Takes the values of the document again. */
void tn_data_form_update (TnDataForm *self);
/** @scan may be NULL. */
void tn_data_form_set_scan (TnDataForm *self, TnDataScan *scan);
/** Opens the dialog for another source, as its buttons do. */
void tn_data_form_choose (TnDataForm *self, gboolean folder);
