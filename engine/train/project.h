/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include "base/settings.h"
#include "nn/model.h"

/* TnProject: a folder that the user owns, with project.json in it: the model and the settings that new runs start from.
 *
 *   { "format": "tenon-project", "version": 1, "name": "digits",
 *     "model": {"preset": "lenet5"}, "train": {"batch": 64}, ...   // settings that differ from their defaults
 *     "network": {"cells": [...]} }                                // optional: a model of its own (nn/model.h)
 *
 * The network is "network" where it stands, else the file that setting model.file names (relative to the project), else the
 * preset. Runs lie in runs/ (run-folder.h). Two windows may have a project open: "lock" holds a generation number
 * that every save raises, and a save whose project.json was changed by somebody else meanwhile is refused
 * (TN_ERROR_STATE), so that nobody's edit is lost unseen.
 *
 * One thread at a time; calls read and write files. */
#define TN_PROJECT_VERSION 1

#define TN_TYPE_PROJECT (tn_project_get_type ())
G_DECLARE_FINAL_TYPE (TnProject, tn_project, TN, PROJECT, GObject)

/**
 * tn_project_create: makes the folder (parents too) and writes project.json.
 * @path: must not exist, or be an empty folder
 * @settings: (transfer none) (nullable): copied
 * @network: (transfer none) (nullable): an object node; NULL for the preset or file of @settings
 *
 * The model is built once, so that a preset or network with a mistake is refused before anything is written. Errors:
 * TN_ERROR_EXISTS for a folder that has something in it, TN_ERROR_IO and kin, those of nn/model.h.
 */
TnProject *tn_project_create (const char *path, const TnSettings *settings, JsonNode *network, GError **error);
/**
 * tn_project_open: reads project.json. @path may be the folder or the file.
 *
 * Errors: TN_ERROR_NOT_FOUND (no such folder, or no project in it), TN_ERROR_FORMAT (another kind of file; written by a
 * newer Tenon: the message has both versions), TN_ERROR_PARSE, TN_ERROR_INVALID_ARGUMENT (a setting).
 */
TnProject *tn_project_open (const char *path, GError **error);
/** Writes project.json durably and raises the generation. TN_ERROR_STATE if it was changed on disk since it was read;
 * TN_ERROR_BUSY if another process is saving it. */
gboolean tn_project_save (TnProject *self, GError **error);

/** Absolute, without a trailing slash. */
const char *tn_project_path (TnProject *self);
const char *tn_project_name (TnProject *self);
void tn_project_set_name (TnProject *self, const char *name);
/** Change it in place, then save. */
TnSettings *tn_project_settings (TnProject *self);
/** NULL where the project has none of its own. */
JsonNode *tn_project_network (TnProject *self);
void tn_project_set_network (TnProject *self, JsonNode *network);
guint64 tn_project_generation (TnProject *self);

/** Where a setting's path leads: an absolute one to itself, a relative one to what lies there in the project's @folder, else to what
 * lies there in the working folder, else into @folder (where it is missed). Free with g_free. */
char *tn_project_resolve (const char *folder, const char *path);

/** The model that a run with @settings (NULL: the project's) trains, with init.preset and train.freeze applied. */
TnModel *tn_project_load_model (TnProject *self, const TnSettings *settings, GError **error);
/** The preset's name where a preset is meant, else the model's own: what run folders are named after. Free with g_free. */
char *tn_project_model_name (TnProject *self, const TnSettings *settings, TnModel *model);
