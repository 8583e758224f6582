/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "row.h"

/* TnPathRow: a file or folder: typed, chosen in a file dialog, or dropped on the row (see row.h).
 *
 * A path that is not there is an error; an empty field is allowed and means "none". Looking whether it is there happens
 * away from the window's thread.
 *
 *   GtkWidget *row = tn_path_row_new (GTK_FILE_CHOOSER_ACTION_OPEN);
 *   tn_path_row_set_filter (TN_PATH_ROW (row), _("Weights"), "*.safetensors", NULL);
 */
#define TN_TYPE_PATH_ROW (tn_path_row_get_type ())
G_DECLARE_FINAL_TYPE (TnPathRow, tn_path_row, TN, PATH_ROW, AdwActionRow)

/** @action: OPEN, SELECT_FOLDER or SAVE; SAVE asks for the folder around the file only. */
GtkWidget *tn_path_row_new (GtkFileChooserAction action);
/** Globs, ended by NULL; another filter "All Files" is added. */
void tn_path_row_set_filter (TnPathRow *self, const char *name, ...) G_GNUC_NULL_TERMINATED;
/** Where relative paths start and where the dialog opens. */
void tn_path_row_set_folder (TnPathRow *self, const char *folder);
/** Opens the dialog, as its button does. */
void tn_path_row_choose (TnPathRow *self);
