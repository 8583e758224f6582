/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <json-glib/json-glib.h>

#include "model-report.h"

/* Edits of a model's JSON: cells are named by their path, "cells[3].body[0]". All change @root in place; what they return is
 * the path of the cell that was worked on, to be freed with g_free, or NULL where there is no such cell or nothing to do.
 *
 *   g_autofree char *path = tn_model_edit_add (root, "cells[2]", "ReLU");
 */

/** A cell of @type with its required options after cell @after (NULL: at the end), under a name of its own ("relu5"). */
char *tn_model_edit_add (JsonNode *root, const char *after, const char *type);
char *tn_model_edit_remove (JsonNode *root, const char *path);
/** @by places within its list, as far as the ends. */
char *tn_model_edit_move (JsonNode *root, const char *path, int by);
char *tn_model_edit_duplicate (JsonNode *root, const char *path);
/** The cell with all in it as JSON text, to be pasted elsewhere. Free with g_free; NULL if there is no such cell. */
char *tn_model_edit_copy (JsonNode *root, const char *path);
/** Cells of @text (one object, or an array of them) after cell @after (NULL: at the end), under names of their own. The path of the first;
 * NULL with an error where @text is no cell: TN_ERROR_PARSE, TN_ERROR_INVALID_ARGUMENT. */
char *tn_model_edit_paste (JsonNode *root, const char *after, const char *text, GError **error);
/** Cells that read it by name read the new name. */
char *tn_model_edit_rename (JsonNode *root, const char *path, const char *name);
/** @value NULL takes the option out; else it is the callee's. */
char *tn_model_edit_set_option (JsonNode *root, const char *path, const char *option, JsonNode *value);
/** The cell's object; NULL if there is none. Belongs to @root. */
JsonObject *tn_model_edit_find (JsonNode *root, const char *path);
/** Writes the sizes that cells take from their inputs into the text, so that a later change that does not fit is seen. */
void tn_model_edit_state_sizes (JsonNode *root, const TnModelReport *report);
/** train.freeze so that exactly @frozen (NULL-terminated) of @all are frozen: patterns of @old stay where they say only what holds.
 * Free with g_free. */
char *tn_model_freeze_text (const char *old, const char *const *all, const char *const *frozen);
