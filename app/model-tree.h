/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gtk/gtk.h>

#include "model-report.h"

/* TnModelTree: the layers of a model as a tree of rows, with what a report knows of each, and the first error at its row.
 *
 * Signals: "selected" (const char *path), "opened" (const char *path), "fix" () : the button at the error was pressed. */
#define TN_TYPE_MODEL_TREE (tn_model_tree_get_type ())
G_DECLARE_FINAL_TYPE (TnModelTree, tn_model_tree, TN, MODEL_TREE, GtkWidget)

GtkWidget *tn_model_tree_new (void);
/** Other cells: the rows are made anew; open rows and the selection stay. @root is read during the call only. */
void tn_model_tree_set_model (TnModelTree *self, JsonNode *root);
/** What is known of the cells now; NULL for nothing. */
void tn_model_tree_set_report (TnModelTree *self, TnModelReport *report);
const char *tn_model_tree_get_selected (TnModelTree *self);
void tn_model_tree_select (TnModelTree *self, const char *path);
/** Fewer columns. */
void tn_model_tree_set_narrow (TnModelTree *self, gboolean narrow);
