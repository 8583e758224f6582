/* SPDX-License-Identifier: Apache-2.0 */
#include "document.h"

#include <glib/gi18n.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "train/run-folder.h"

#define MAX_EDITS 200

typedef struct
{
  const TnEditKind *kind;
  char *key, *before, *after;
} Edit;

struct _TnDocument
{
  GObject parent_instance;
  char *path, *name;
  TnSettings *settings;
  JsonNode *network;
  gboolean read_only;
  guint64 revision, saved_revision; /* of the values here */

  GPtrArray *edits; /* Edit */
  guint done;       /* edits[0 .. done) are in effect */

  guint autosave_seconds, autosave;
  GFileMonitor *monitor;

  /* Worker side: used by one task at a time. */
  GMutex *file_mutex; /* outlives us in tasks through our reference */
  TnProject *project;
  guint64 known_generation; /* of the file as last read or written here */
};

enum
{
  SIGNAL_EDITED,
  SIGNAL_SAVED,
  SIGNAL_SAVE_FAILED,
  SIGNAL_CHANGED_ELSEWHERE,
  SIGNAL_COMMAND,
  N_SIGNALS
};

enum
{
  PROP_NAME = 1,
  PROP_DIRTY,
  PROP_CAN_UNDO,
  PROP_CAN_REDO,
  N_PROPS
};

static guint signals[N_SIGNALS];
static GParamSpec *properties[N_PROPS];

G_DEFINE_FINAL_TYPE (TnDocument, tn_document, G_TYPE_OBJECT)

static void
edit_free (Edit *edit)
{
  g_free (edit->key);
  g_free (edit->before);
  g_free (edit->after);
  g_free (edit);
}

static const TnEditKind *
find_kind (const char *name)
{
  for (const TnEditKind *kind = tn_edit_kinds; kind->kind != NULL; kind++)
    if (g_str_equal (kind->kind, name))
      return kind;
  return NULL;
}

static void
notify_state (TnDocument *self)
{
  for (int i = PROP_DIRTY; i < N_PROPS; i++)
    g_object_notify_by_pspec (G_OBJECT (self), properties[i]);
}

/* Saving. A task carries copies of the values; only it touches the project. */

typedef struct
{
  char *name;
  TnSettings *settings, *run_settings;
  JsonNode *network;
  guint64 revision;
  gboolean save, reload;
  char *run_path;
  TnRunMadeFunc made;
  gpointer made_data;
} Job;

static void
job_free (Job *job)
{
  g_free (job->name);
  g_clear_pointer (&job->settings, tn_settings_free);
  g_clear_pointer (&job->run_settings, tn_settings_free);
  g_clear_pointer (&job->network, json_node_unref);
  g_free (job->run_path);
  g_free (job);
}

static Job *
job_new (TnDocument *self)
{
  Job *job = g_new0 (Job, 1);
  job->name = g_strdup (self->name);
  job->settings = tn_settings_copy (self->settings);
  job->network = self->network != NULL ? json_node_copy (self->network) : NULL;
  job->revision = self->revision;
  job->save = self->revision != self->saved_revision;
  return job;
}

static gboolean
write_project (TnDocument *self, const Job *job, GError **error)
{
  tn_project_set_name (self->project, job->name);
  TnSettings *target = tn_project_settings (self->project);
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    if (!tn_settings_is_set (job->settings, row->name))
      tn_settings_reset (target, row->name);
    else if (!tn_settings_set (target, row->name, tn_settings_get_text (job->settings, row->name), error))
      return FALSE;
  tn_project_set_network (self->project, job->network);
  if (!job->save)
    return TRUE;
  if (!tn_project_save (self->project, error))
    return FALSE;
  self->known_generation = tn_project_generation (self->project);
  return TRUE;
}

static void
save_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  TnDocument *self = source;
  Job *job = data;
  GError *error = NULL;
  g_mutex_lock (self->file_mutex);
  gboolean ok = write_project (self, job, &error);
  if (ok && job->run_settings != NULL)
    {
      g_autoptr (TnRunFolder) folder = tn_run_folder_create (self->project, job->run_settings, &error);
      ok = folder != NULL;
      job->run_path = ok ? g_strdup (tn_run_folder_path (folder)) : NULL;
    }
  g_mutex_unlock (self->file_mutex);
  if (ok && job->run_path != NULL && job->made != NULL)
    job->made (job->run_path, job->made_data);
  if (ok)
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_error (task, error);
}

/* Common end of saving and of making a run: tells the world, then the caller through @outer. */
static void
job_done_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnDocument *self = TN_DOCUMENT (source);
  g_autoptr (GTask) outer = data;
  Job *job = g_task_get_task_data (G_TASK (result));
  GError *error = NULL;
  if (g_task_propagate_boolean (G_TASK (result), &error))
    {
      self->saved_revision = MAX (self->saved_revision, job->revision);
      notify_state (self);
      if (job->save)
        g_signal_emit (self, signals[SIGNAL_SAVED], 0);
      if (job->run_settings != NULL)
        g_task_return_pointer (outer, g_steal_pointer (&job->run_path), g_free);
      else
        g_task_return_boolean (outer, TRUE);
      return;
    }
  if (g_error_matches (error, TN_ERROR, TN_ERROR_STATE) && job->save)
    g_signal_emit (self, signals[SIGNAL_CHANGED_ELSEWHERE], 0);
  else if (job->run_settings == NULL)
    g_signal_emit (self, signals[SIGNAL_SAVE_FAILED], 0, error);
  g_task_return_error (outer, error);
}

static void
run_job (TnDocument *self, Job *job, GTask *outer)
{
  g_clear_handle_id (&self->autosave, g_source_remove);
  g_autoptr (GTask) task = g_task_new (self, NULL, job_done_cb, outer);
  g_task_set_task_data (task, job, (GDestroyNotify) job_free);
  g_task_run_in_thread (task, save_thread);
}

void
tn_document_save_async (TnDocument *self, GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (TN_IS_DOCUMENT (self));
  GTask *outer = g_task_new (self, NULL, callback, user_data);
  if (self->revision != self->saved_revision)
    {
      run_job (self, job_new (self), outer);
      return;
    }
  g_task_return_boolean (outer, TRUE);
  g_object_unref (outer);
}

gboolean
tn_document_save_finish (TnDocument *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_boolean (G_TASK (result), error);
}

void
tn_document_new_run_async (TnDocument *self, const TnSettings *settings, TnRunMadeFunc made, GAsyncReadyCallback callback, gpointer user_data)
{
  g_return_if_fail (TN_IS_DOCUMENT (self));
  Job *job = job_new (self);
  job->run_settings = tn_settings_copy (settings != NULL ? settings : self->settings);
  job->made = made;
  job->made_data = user_data;
  run_job (self, job, g_task_new (self, NULL, callback, user_data));
}

char *
tn_document_new_run_finish (TnDocument *self, GAsyncResult *result, GError **error)
{
  return g_task_propagate_pointer (G_TASK (result), error);
}

static gboolean
autosave_cb (gpointer data)
{
  TnDocument *self = data;
  self->autosave = 0;
  tn_document_save_async (self, NULL, NULL);
  return G_SOURCE_REMOVE;
}

static void
changed (TnDocument *self, const TnEditKind *kind, const char *key)
{
  if (!g_str_equal (kind->kind, "live"))
    {
      self->revision++;
      g_clear_handle_id (&self->autosave, g_source_remove);
      self->autosave = g_timeout_add_seconds (MAX (1, self->autosave_seconds), autosave_cb, self);
    }
  g_signal_emit (self, signals[SIGNAL_EDITED], 0, kind->kind, key);
  notify_state (self);
}

/* Somebody else's save. */

static gboolean
same_network (JsonNode *a, JsonNode *b)
{
  return a == NULL || b == NULL ? a == b : json_node_equal (a, b);
}

static void
take_values (TnDocument *self, const char *name, const TnSettings *settings, JsonNode *network)
{
  g_autofree const char **names = tn_settings_diff (self->settings, settings);
  gboolean other_network = !same_network (self->network, network), other_name = g_strcmp0 (self->name, name) != 0;
  tn_settings_free (self->settings);
  self->settings = tn_settings_copy (settings);
  tn_document_take_network (self, network != NULL ? json_node_copy (network) : NULL);
  tn_document_take_name (self, name);
  self->saved_revision = ++self->revision;
  g_ptr_array_set_size (self->edits, 0); /* they led from values that are no more */
  self->done = 0;
  for (int i = 0; names[i] != NULL; i++)
    g_signal_emit (self, signals[SIGNAL_EDITED], 0, "setting", names[i]);
  if (other_network)
    g_signal_emit (self, signals[SIGNAL_EDITED], 0, "network", "");
  if (other_name)
    g_signal_emit (self, signals[SIGNAL_EDITED], 0, "name", "");
  notify_state (self);
}

static void
reload_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  TnDocument *self = source;
  Job *job = data;
  GError *error = NULL;
  g_mutex_lock (self->file_mutex);
  g_autoptr (TnProject) project = tn_project_open (self->path, &error);
  if (project != NULL && (tn_project_generation (project) != self->known_generation || job->reload))
    {
      self->known_generation = tn_project_generation (project);
      g_set_object (&self->project, project);
      job->name = g_strdup (tn_project_name (project));
      job->settings = tn_settings_copy (tn_project_settings (project));
      JsonNode *network = tn_project_network (project);
      job->network = network != NULL ? json_node_copy (network) : NULL;
    }
  g_mutex_unlock (self->file_mutex);
  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_boolean (task, TRUE);
}

static void
reloaded_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  TnDocument *self = TN_DOCUMENT (source);
  Job *job = g_task_get_task_data (G_TASK (result));
  g_autoptr (GError) error = NULL;
  if (!g_task_propagate_boolean (G_TASK (result), &error))
    {
      g_signal_emit (self, signals[SIGNAL_SAVE_FAILED], 0, error);
      return;
    }
  if (job->settings == NULL)
    return; /* it was our own save */
  if (self->revision != self->saved_revision && !job->reload)
    g_signal_emit (self, signals[SIGNAL_CHANGED_ELSEWHERE], 0);
  else
    take_values (self, job->name, job->settings, job->network);
}

static void
start_reload (TnDocument *self, gboolean forced)
{
  Job *job = g_new0 (Job, 1);
  job->reload = forced;
  g_autoptr (GTask) task = g_task_new (self, NULL, reloaded_cb, NULL);
  g_task_set_task_data (task, job, (GDestroyNotify) job_free);
  g_task_run_in_thread (task, reload_thread);
}

void
tn_document_reload (TnDocument *self)
{
  g_return_if_fail (TN_IS_DOCUMENT (self));
  start_reload (self, TRUE);
}

static void
file_changed_cb (GFileMonitor *monitor, GFile *file, GFile *other, GFileMonitorEvent event, TnDocument *self)
{
  /* With edits of our own unsaved, the save that follows finds out and says so. */
  if ((event == G_FILE_MONITOR_EVENT_CHANGES_DONE_HINT || event == G_FILE_MONITOR_EVENT_RENAMED || event == G_FILE_MONITOR_EVENT_CREATED
       || event == G_FILE_MONITOR_EVENT_MOVED_IN)
      && self->revision == self->saved_revision)
    start_reload (self, FALSE);
}

/* Opening. */

typedef struct
{
  char *path, *folder, *name;
  TnSettings *settings;
  JsonNode *network;
} Request;

static void
request_free (Request *request)
{
  g_free (request->path);
  g_free (request->folder);
  g_free (request->name);
  g_clear_pointer (&request->settings, tn_settings_free);
  g_clear_pointer (&request->network, json_node_unref);
  g_free (request);
}

static TnProject *
create_project (const Request *request, GError **error)
{
  if (g_mkdir_with_parents (request->folder, 0777) != 0)
    {
      tn_error_set_errno (error, errno, _("make the folder"), request->folder);
      return NULL;
    }
  for (int i = 1; i < 10000; i++)
    {
      g_autofree char *name = i == 1 ? g_strdup (request->name) : g_strdup_printf ("%s %d", request->name, i);
      g_autofree char *path = g_build_filename (request->folder, name, NULL);
      if (g_file_test (path, G_FILE_TEST_EXISTS))
        continue;
      g_autoptr (GError) failure = NULL;
      TnProject *project = tn_project_create (path, request->settings, request->network, &failure);
      if (project != NULL)
        return project;
      if (!g_error_matches (failure, TN_ERROR, TN_ERROR_EXISTS))
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return NULL;
        }
    }
  g_set_error (error, TN_ERROR, TN_ERROR_EXISTS, _("Every name like “%s” is taken in “%s”."), request->name, request->folder);
  return NULL;
}

static void
open_thread (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Request *request = data;
  GError *error = NULL;
  TnProject *project = request->path != NULL ? tn_project_open (request->path, &error) : create_project (request, &error);
  if (project != NULL)
    g_task_return_pointer (task, project, g_object_unref);
  else
    g_task_return_error (task, error);
}

static TnDocument *
document_new (TnProject *project)
{
  TnDocument *self = g_object_new (TN_TYPE_DOCUMENT, NULL);
  self->project = project;
  self->path = g_strdup (tn_project_path (project));
  self->name = g_strdup (tn_project_name (project));
  self->settings = tn_settings_copy (tn_project_settings (project));
  JsonNode *network = tn_project_network (project);
  self->network = network != NULL ? json_node_copy (network) : NULL;
  self->known_generation = tn_project_generation (project);
  self->read_only = access (self->path, W_OK) != 0;
  g_autofree char *file_path = g_build_filename (self->path, "project.json", NULL);
  g_autoptr (GFile) file = g_file_new_for_path (file_path);
  self->monitor = g_file_monitor_file (file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL);
  if (self->monitor != NULL)
    {
      g_file_monitor_set_rate_limit (self->monitor, 300);
      g_signal_connect_object (self->monitor, "changed", G_CALLBACK (file_changed_cb), self, 0);
    }
  return self;
}

void
tn_document_open_async (const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  Request *request = g_new0 (Request, 1);
  request->path = g_strdup (path);
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, request, (GDestroyNotify) request_free);
  g_task_run_in_thread (task, open_thread);
}

void
tn_document_create_async (const char *folder, const char *name, const TnSettings *settings, JsonNode *network,
                          GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data)
{
  Request *request = g_new0 (Request, 1);
  request->folder = g_strdup (folder);
  request->name = g_strdup (name);
  request->settings = settings != NULL ? tn_settings_copy (settings) : tn_settings_new ();
  request->network = network != NULL ? json_node_copy (network) : NULL;
  g_autoptr (GTask) task = g_task_new (NULL, cancellable, callback, user_data);
  g_task_set_task_data (task, request, (GDestroyNotify) request_free);
  g_task_run_in_thread (task, open_thread);
}

TnDocument *
tn_document_open_finish (GAsyncResult *result, GError **error)
{
  TnProject *project = g_task_propagate_pointer (G_TASK (result), error);
  return project != NULL ? document_new (project) : NULL;
}

TnDocument *
tn_document_create_finish (GAsyncResult *result, GError **error)
{
  return tn_document_open_finish (result, error);
}

/* Edits. */

static void
push (TnDocument *self, const TnEditKind *kind, const char *key, const char *before, const char *after)
{
  g_ptr_array_set_size (self->edits, (int) self->done);
  Edit *edit = g_new0 (Edit, 1);
  edit->kind = kind;
  edit->key = g_strdup (key);
  edit->before = g_strdup (before);
  edit->after = g_strdup (after);
  g_ptr_array_add (self->edits, edit);
  if (self->edits->len > MAX_EDITS)
    g_ptr_array_remove_index (self->edits, 0);
  self->done = self->edits->len;
}

gboolean
tn_document_edit (TnDocument *self, const char *kind_name, const char *key, const char *value, GError **error)
{
  const TnEditKind *kind = find_kind (kind_name);
  g_return_val_if_fail (TN_IS_DOCUMENT (self) && kind != NULL, FALSE);
  if (self->read_only)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("This project is read-only. Save a copy to change it."));
      return FALSE;
    }
  g_autofree char *before = kind->get (self, key);
  if (!kind->set (self, key, value, error))
    return FALSE;
  g_autofree char *after = kind->get (self, key);
  if (g_strcmp0 (before, after) == 0)
    return TRUE;
  push (self, kind, key, before, after);
  changed (self, kind, key);
  return TRUE;
}

void
tn_document_note (TnDocument *self, const char *kind_name, const char *key, const char *before, const char *after)
{
  const TnEditKind *kind = find_kind (kind_name);
  g_return_if_fail (TN_IS_DOCUMENT (self) && kind != NULL);
  push (self, kind, key, before, after);
  notify_state (self);
}

static void
apply (TnDocument *self, Edit *edit, const char *value)
{
  g_autoptr (GError) error = NULL;
  if (edit->kind->set (self, edit->key, value, &error))
    changed (self, edit->kind, edit->key);
  else
    g_signal_emit (self, signals[SIGNAL_SAVE_FAILED], 0, error);
}

void
tn_document_undo (TnDocument *self)
{
  g_return_if_fail (TN_IS_DOCUMENT (self));
  if (self->done == 0)
    return;
  Edit *edit = g_ptr_array_index (self->edits, --self->done);
  apply (self, edit, edit->before);
}

void
tn_document_redo (TnDocument *self)
{
  g_return_if_fail (TN_IS_DOCUMENT (self));
  if (self->done == self->edits->len)
    return;
  Edit *edit = g_ptr_array_index (self->edits, self->done++);
  apply (self, edit, edit->after);
}

gboolean
tn_document_can_undo (TnDocument *self)
{
  return self->done > 0;
}

gboolean
tn_document_can_redo (TnDocument *self)
{
  return self->done < self->edits->len;
}

static char *
title_at (TnDocument *self, guint place)
{
  const Edit *edit = g_ptr_array_index (self->edits, place);
  return edit->kind->title (edit->key);
}

char *
tn_document_undo_title (TnDocument *self)
{
  return tn_document_can_undo (self) ? title_at (self, self->done - 1) : NULL;
}

char *
tn_document_redo_title (TnDocument *self)
{
  return tn_document_can_redo (self) ? title_at (self, self->done) : NULL;
}

/* Values. */

const char *
tn_document_path (TnDocument *self)
{
  return self->path;
}

const char *
tn_document_name (TnDocument *self)
{
  return self->name;
}

const TnSettings *
tn_document_settings (TnDocument *self)
{
  return self->settings;
}

TnSettings *
tn_document_settings_mutable (TnDocument *self)
{
  return self->settings;
}

JsonNode *
tn_document_network (TnDocument *self)
{
  return self->network;
}

void
tn_document_take_network (TnDocument *self, JsonNode *network)
{
  g_clear_pointer (&self->network, json_node_unref);
  self->network = network;
}

void
tn_document_take_name (TnDocument *self, const char *name)
{
  if (g_strcmp0 (self->name, name) == 0)
    return;
  g_autofree char *old = self->name;
  self->name = g_strdup (name);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_NAME]);
}

gboolean
tn_document_is_dirty (TnDocument *self)
{
  return self->revision != self->saved_revision;
}

gboolean
tn_document_is_read_only (TnDocument *self)
{
  return self->read_only;
}

void
tn_document_set_autosave (TnDocument *self, guint seconds)
{
  self->autosave_seconds = seconds;
}

/* Class. */

static void
tn_document_finalize (GObject *object)
{
  TnDocument *self = TN_DOCUMENT (object);
  g_clear_handle_id (&self->autosave, g_source_remove);
  if (self->monitor != NULL)
    g_file_monitor_cancel (self->monitor);
  g_clear_object (&self->monitor);
  g_clear_object (&self->project);
  g_free (self->path);
  g_free (self->name);
  g_clear_pointer (&self->settings, tn_settings_free);
  g_clear_pointer (&self->network, json_node_unref);
  g_ptr_array_unref (self->edits);
  g_mutex_clear (self->file_mutex);
  g_free (self->file_mutex);
  G_OBJECT_CLASS (tn_document_parent_class)->finalize (object);
}

static void
tn_document_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  TnDocument *self = TN_DOCUMENT (object);
  switch (id)
    {
    case PROP_NAME:
      g_value_set_string (value, self->name);
      break;
    case PROP_DIRTY:
      g_value_set_boolean (value, tn_document_is_dirty (self));
      break;
    case PROP_CAN_UNDO:
      g_value_set_boolean (value, tn_document_can_undo (self));
      break;
    case PROP_CAN_REDO:
      g_value_set_boolean (value, tn_document_can_redo (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
    }
}

static void
tn_document_class_init (TnDocumentClass *class)
{
  GObjectClass *object_class = G_OBJECT_CLASS (class);
  object_class->finalize = tn_document_finalize;
  object_class->get_property = tn_document_get_property;
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, NULL, flags);
  properties[PROP_DIRTY] = g_param_spec_boolean ("dirty", NULL, NULL, FALSE, flags);
  properties[PROP_CAN_UNDO] = g_param_spec_boolean ("can-undo", NULL, NULL, FALSE, flags);
  properties[PROP_CAN_REDO] = g_param_spec_boolean ("can-redo", NULL, NULL, FALSE, flags);
  g_object_class_install_properties (object_class, N_PROPS, properties);

  GType type = G_TYPE_FROM_CLASS (class);
  signals[SIGNAL_EDITED] = g_signal_new ("edited", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_STRING);
  signals[SIGNAL_SAVED] = g_signal_new ("saved", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SIGNAL_SAVE_FAILED] = g_signal_new ("save-failed", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_ERROR);
  signals[SIGNAL_CHANGED_ELSEWHERE] = g_signal_new ("changed-elsewhere", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[SIGNAL_COMMAND] = g_signal_new ("command", type, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, G_TYPE_STRING, G_TYPE_STRING);
}

static void
tn_document_init (TnDocument *self)
{
  self->edits = g_ptr_array_new_with_free_func ((GDestroyNotify) edit_free);
  self->autosave_seconds = 3;
  self->file_mutex = g_new0 (GMutex, 1);
  g_mutex_init (self->file_mutex);
}
