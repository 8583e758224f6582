/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "model-report.h"

/* TnModelForm: the options of one layer as rows, made from the table of its kind.
 *
 * Signals: "option-edited" (const char *option, const char *json): NULL json takes the option out; option "name" renames. */
#define TN_TYPE_MODEL_FORM (tn_model_form_get_type ())
G_DECLARE_FINAL_TYPE (TnModelForm, tn_model_form, TN, MODEL_FORM, AdwBin)

GtkWidget *tn_model_form_new (void);
/** @object: the cell in the model's text, NULL for none; @cell may be NULL. The same cell again only updates the rows. */
void tn_model_form_set_cell (TnModelForm *self, const char *path, JsonObject *object, const TnCellReport *cell);
/** An error of the engine that names @option (NULL: of no one option). */
void tn_model_form_set_error (TnModelForm *self, const char *option, const char *text);
