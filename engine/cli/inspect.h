/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <json-glib/json-glib.h>

/* What inspect finds: an object with "kind" ("npy", "safetensors", "run" ...), "path", what else is known of that kind, and "items" where
 * it has parts. The text for people is made from the object, so that both say the same. */

/** One file, recognised by its content. NULL with an error that says what was tried. */
JsonObject *tn_inspect_file (const char *path, GError **error);
/** A folder: a project, a run, its checkpoints or one of them, or data. */
JsonObject *tn_inspect_folder (const char *path, GError **error);
/** A JSON file: a project, a run, parts of a checkpoint, a model, or any. */
JsonObject *tn_inspect_json (const char *path, GError **error);

/** Whether text begins with a time, as log.txt does. */
gboolean tn_looks_like_log (const char *head, size_t n);
/** The log of a run. */
JsonObject *tn_inspect_log (const char *path, GError **error);
/** A graph in Graphviz's language: how many nodes and edges. */
JsonObject *tn_inspect_dot (const char *path, GError **error);

JsonObject *tn_inspection_new (const char *kind, const char *path);
/** An item with a name; belongs to @object. */
JsonObject *tn_inspection_add_item (JsonObject *object, const char *name);
void tn_inspection_set_shape (JsonObject *object, const int64_t *dims, int n_dims);
