/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "train/project.h"

/* TnDocument: a project that is open in a window: what the pages read and edit.
 *
 * The file side (TnProject) lives in worker threads; what is here are copies that belong to the main thread. Every change is
 * an edit of one of the kinds in the table of document-edits.c, as text before and after, so that undo, redo, saving and
 * tests need not know what an edit means. Edits are saved some seconds after the last one.
 *
 *   tn_document_edit (document, "setting", "optimizer.lr", "0.1", &error);   // refused values change nothing
 *   tn_document_undo (document);
 *
 * Signals:
 *   edited            (const char *kind, const char *key)   a value changed: by an edit, undo, redo or somebody else's save
 *   saved             ()
 *   save-failed       (GError *error)
 *   changed-elsewhere ()   another window saved other values while there are edits here; reload() takes them
 *   command           (const char *name, const char *value)  undo or redo of a change made to a running trainer
 * Properties: name, dirty, can-undo, can-redo. */
#define TN_TYPE_DOCUMENT (tn_document_get_type ())
G_DECLARE_FINAL_TYPE (TnDocument, tn_document, TN, DOCUMENT, GObject)

/** One kind of edit. Values are text; NULL means "not set". */
typedef struct
{
  const char *kind; /* "setting", "network", "name", "live" */
  char *(*get) (TnDocument *self, const char *key);
  gboolean (*set) (TnDocument *self, const char *key, const char *value, GError **error);
  /** "change of Batch": untranslated parts are put in by the row. Free with g_free. */
  char *(*title) (const char *key);
} TnEditKind;

/** Ends with a row whose kind is NULL. */
extern const TnEditKind tn_edit_kinds[];

/** Reads @path (folder or project.json) in a worker thread. */
void tn_document_open_async (const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
TnDocument *tn_document_open_finish (GAsyncResult *result, GError **error);
/** Makes a project "<name>", "<name> 2" ... in @folder (made if missing), in a worker thread. @settings and @network are copied. */
void tn_document_create_async (const char *folder, const char *name, const TnSettings *settings, JsonNode *network,
                               GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
TnDocument *tn_document_create_finish (GAsyncResult *result, GError **error);

const char *tn_document_path (TnDocument *self);
const char *tn_document_name (TnDocument *self);
/** Belongs to the document; changed by edits only. */
const TnSettings *tn_document_settings (TnDocument *self);
/** NULL where the project uses a preset or file. */
JsonNode *tn_document_network (TnDocument *self);
gboolean tn_document_is_dirty (TnDocument *self);
/** Cannot be written: edits are refused. */
gboolean tn_document_is_read_only (TnDocument *self);

/** FALSE with the error of a bad value. @value NULL resets. An edit that changes nothing is none. */
gboolean tn_document_edit (TnDocument *self, const char *kind, const char *key, const char *value, GError **error);
/** Notes an edit whose effect has happened (kind "live"): undo sends @before. */
void tn_document_note (TnDocument *self, const char *kind, const char *key, const char *before, const char *after);
gboolean tn_document_can_undo (TnDocument *self);
gboolean tn_document_can_redo (TnDocument *self);
/** "change of Batch"; NULL if there is nothing. Free with g_free. */
char *tn_document_undo_title (TnDocument *self);
char *tn_document_redo_title (TnDocument *self);
void tn_document_undo (TnDocument *self);
void tn_document_redo (TnDocument *self);

/** Seconds from the last edit to saving; 3 at first. */
void tn_document_set_autosave (TnDocument *self, guint seconds);
/** Now, in a worker thread; done at once where nothing changed. */
void tn_document_save_async (TnDocument *self, GAsyncReadyCallback callback, gpointer user_data);
gboolean tn_document_save_finish (TnDocument *self, GAsyncResult *result, GError **error);
/** Takes what is on disk; edits made here since the last save are lost. */
void tn_document_reload (TnDocument *self);

/** Called in the worker thread as soon as the run's folder is there. */
typedef void (*TnRunMadeFunc) (const char *run_path, gpointer user_data);
/** Makes a run of the project as it stands (saved first), in a worker thread. The path of its folder. @made: (nullable): called there
 * before @callback, with the same @user_data: what is to begin without waiting for the main thread. */
void tn_document_new_run_async (TnDocument *self, const TnSettings *settings, TnRunMadeFunc made, GAsyncReadyCallback callback, gpointer user_data);
char *tn_document_new_run_finish (TnDocument *self, GAsyncResult *result, GError **error);

/* For document-edits.c: change a value without noting an edit. */
TnSettings *tn_document_settings_mutable (TnDocument *self);
void tn_document_take_network (TnDocument *self, JsonNode *network);
void tn_document_take_name (TnDocument *self, const char *name);
