/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <adwaita.h>

#include "document.h"
#include "run-control.h"

/* TnSettingsForm: the settings of a training as rows, made from the settings table: groups that open, a search over names, help and
 * API names, a dot on what was changed, errors that stay beside the field.
 *
 * A row's contents are made when its group is first opened or found. While a training runs, rows without the live flag still
 * edit the project (for the next run) and say so; live ones reach the trainer too. */
#define TN_TYPE_SETTINGS_FORM (tn_settings_form_get_type ())
G_DECLARE_FINAL_TYPE (TnSettingsForm, tn_settings_form, TN, SETTINGS_FORM, AdwBin)

GtkWidget *tn_settings_form_new (TnRunControl *control);
void tn_settings_form_set_document (TnSettingsForm *self, TnDocument *document);
/** A value changed. @key: NULL for any. */
void tn_settings_form_update (TnSettingsForm *self, const char *key);
/** The training began or ended. */
void tn_settings_form_set_running (TnSettingsForm *self, gboolean running);
/** Into the search entry. */
void tn_settings_form_find (TnSettingsForm *self);
/** Opens the group of @name and puts the focus on its row. */
void tn_settings_form_show (TnSettingsForm *self, const char *name);
void tn_settings_form_set_show_all (TnSettingsForm *self, gboolean show_all);
/** At the end of the list: plan and checks. */
void tn_settings_form_append (TnSettingsForm *self, GtkWidget *widget);
