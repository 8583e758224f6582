/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "model-report.h"

/* TnModelParameters: the parameters of a model as a table of which several rows can be changed at once.
 *
 * Signals: "selection-changed"; "trained-edited" (gboolean): for all selected. */
#define TN_TYPE_MODEL_PARAMETERS (tn_model_parameters_get_type ())
G_DECLARE_FINAL_TYPE (TnModelParameters, tn_model_parameters, TN, MODEL_PARAMETERS, AdwBin)

GtkWidget *tn_model_parameters_new (void);
void tn_model_parameters_set_report (TnModelParameters *self, TnModelReport *report);
/** Names of the selected rows, NULL-terminated; free with g_strfreev. */
char **tn_model_parameters_selected (TnModelParameters *self);
void tn_model_parameters_set_narrow (TnModelParameters *self, gboolean narrow);
void tn_model_parameters_focus_filter (TnModelParameters *self);
/** The rows about the selected ones, for the pane beside. Owned by @self until it is put somewhere. */
GtkWidget *tn_model_parameters_form (TnModelParameters *self);
void tn_model_parameters_set_error (TnModelParameters *self, const char *text);
/** Selects the row of parameter @name alone; FALSE if there is none. */
gboolean tn_model_parameters_select (TnModelParameters *self, const char *name);
