/* SPDX-License-Identifier: Apache-2.0 */
#include "train/queue.h"

#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/error.h"
#include "base/json.h"
#include "train/file-lock.h"

#define QUEUE_FILE "queue.json"
#define QUEUE_FORMAT "tenon-queue"
#define LOCK_FILE "queue.lock"
#define RUN_LOCK_FILE "queue.run"
#define LOCK_WAIT_MS 2000
#define MAX_ENTRIES 100000

void
tn_queue_entry_free (TnQueueEntry *entry)
{
  if (entry == NULL)
    return;
  g_free (entry->run);
  g_free (entry->error);
  g_free (entry);
}

static TnQueueEntry *
new_entry (const char *run, int tries, int failed, const char *error)
{
  TnQueueEntry *entry = g_new (TnQueueEntry, 1);
  *entry = (TnQueueEntry){ g_strdup (run), tries, failed, g_strdup (error) };
  return entry;
}

/* A name and not a path: nothing outside the project's runs is ever begun. */
static gboolean
is_run_name (const char *name)
{
  return *name != '\0' && *name != '.' && strchr (name, '/') == NULL;
}

static TnQueueEntry *
take_entry (JsonNode *node, const char *path, GError **error)
{
  const char *run, *failure = "";
  gint64 tries = 1, failed = 0;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("%s must be an object."), path);
      return NULL;
    }
  JsonObject *object = json_node_get_object (node);
  if (!tn_json_get_string (object, "run", &run, path, error) || !tn_json_opt_int (object, "tries", 1, TN_QUEUE_MAX_TRIES, &tries, path, error)
      || !tn_json_opt_int (object, "failed", 0, G_MAXINT, &failed, path, error) || !tn_json_opt_string (object, "error", &failure, path, error))
    return NULL;
  if (is_run_name (run))
    return new_entry (run, (int) tries, (int) failed, failure);
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("%s: “%s” is not the name of a run."), path, run);
  return NULL;
}

static gboolean
take_object (GPtrArray *entries, JsonObject *object, GError **error)
{
  const char *format = "";
  gint64 version;
  JsonArray *array;
  if (!tn_json_get_string (object, "format", &format, "", NULL) || strcmp (format, QUEUE_FORMAT) != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("it is not a queue of Tenon (no \"format\": \"%s\")"), QUEUE_FORMAT);
      return FALSE;
    }
  if (!tn_json_get_int (object, "version", 1, TN_QUEUE_VERSION, &version, "", error) || !tn_json_get_array (object, "entries", &array, "", error))
    return FALSE;
  if (json_array_get_length (array) > MAX_ENTRIES)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("it has more than %d entries"), MAX_ENTRIES);
      return FALSE;
    }
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *path = tn_json_path_element ("entries", i);
      TnQueueEntry *entry = take_entry (json_array_get_element (array, i), path, error);
      if (entry == NULL)
        return FALSE;
      g_ptr_array_add (entries, entry);
    }
  return TRUE;
}

GPtrArray *
tn_queue_read (const char *project_path, GError **error)
{
  g_autofree char *file = g_build_filename (project_path, QUEUE_FILE, NULL);
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_queue_entry_free);
  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&entries);
  g_autoptr (JsonNode) node = tn_json_load (file, error);
  if (node == NULL)
    return NULL;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” is not a queue of Tenon."), file);
      return NULL;
    }
  if (take_object (entries, json_node_get_object (node), error))
    return g_steal_pointer (&entries);
  g_prefix_error (error, "“%s”: ", file);
  return NULL;
}

static gboolean
write_queue (const char *project_path, GPtrArray *entries, GError **error)
{
  g_autoptr (JsonObject) object = json_object_new ();
  JsonArray *array = json_array_new ();
  for (guint i = 0; i < entries->len; i++)
    {
      const TnQueueEntry *entry = entries->pdata[i];
      JsonObject *row = json_object_new ();
      json_object_set_string_member (row, "run", entry->run);
      json_object_set_int_member (row, "tries", entry->tries);
      json_object_set_int_member (row, "failed", entry->failed);
      json_object_set_string_member (row, "error", entry->error);
      json_array_add_object_element (array, row);
    }
  json_object_set_string_member (object, "format", QUEUE_FORMAT);
  json_object_set_int_member (object, "version", TN_QUEUE_VERSION);
  json_object_set_array_member (object, "entries", array);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = tn_json_to_text (node, 2), *file = g_build_filename (project_path, QUEUE_FILE, NULL);
  return tn_durable_write (file, text, strlen (text), error);
}

static int
find (GPtrArray *entries, const char *run)
{
  for (guint i = 0; i < entries->len; i++)
    if (strcmp (((TnQueueEntry *) entries->pdata[i])->run, run) == 0)
      return (int) i;
  return -1;
}

/* Read, change, write; alone. */

typedef gboolean (*Change) (GPtrArray *entries, const char *project_path, const char *run, const void *data, GError **error);

static gboolean
change (const char *project_path, const char *run, Change how, const void *data, GError **error)
{
  g_autofree char *lock = g_build_filename (project_path, LOCK_FILE, NULL);
  int fd = tn_file_lock_take (lock, LOCK_WAIT_MS, error);
  if (fd < 0)
    return FALSE;
  g_autoptr (GPtrArray) entries = tn_queue_read (project_path, error);
  gboolean ok = entries != NULL && how (entries, project_path, run, data, error) && write_queue (project_path, entries, error);
  close (fd);
  return ok;
}

static gboolean
check_there (GPtrArray *entries, const char *run, int *place, GError **error)
{
  *place = find (entries, run);
  if (*place >= 0)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("“%s” is not in the queue."), run);
  return FALSE;
}

static gboolean
add_change (GPtrArray *entries, const char *project_path, const char *run, const void *data, GError **error)
{
  g_autofree char *file = g_build_filename (project_path, "runs", run, "run.json", NULL);
  if (!is_run_name (run) || !g_file_test (file, G_FILE_TEST_IS_REGULAR))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("The project has no run “%s”. “tenon-cli runs” lists runs."), run);
      return FALSE;
    }
  if (find (entries, run) >= 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_EXISTS, _("“%s” is in the queue already."), run);
      return FALSE;
    }
  g_ptr_array_add (entries, new_entry (run, *(const int *) data, 0, ""));
  return TRUE;
}

gboolean
tn_queue_add (const char *project_path, const char *run, int tries, GError **error)
{
  g_return_val_if_fail (tries >= 1 && tries <= TN_QUEUE_MAX_TRIES, FALSE);
  return change (project_path, run, add_change, &tries, error);
}

static gboolean
move_change (GPtrArray *entries, const char *project_path, const char *run, const void *data, GError **error)
{
  int place, to = *(const int *) data;
  if (!check_there (entries, run, &place, error))
    return FALSE;
  gpointer entry = g_ptr_array_steal_index (entries, (guint) place);
  g_ptr_array_insert (entries, CLAMP (to, 0, (int) entries->len), entry);
  return TRUE;
}

gboolean
tn_queue_move (const char *project_path, const char *run, int place, GError **error)
{
  return change (project_path, run, move_change, &place, error);
}

static gboolean
remove_change (GPtrArray *entries, const char *project_path, const char *run, const void *data, GError **error)
{
  int place;
  if (!check_there (entries, run, &place, error))
    return FALSE;
  g_ptr_array_remove_index (entries, (guint) place);
  return TRUE;
}

gboolean
tn_queue_remove (const char *project_path, const char *run, GError **error)
{
  return change (project_path, run, remove_change, NULL, error);
}

TnQueueEntry *
tn_queue_next (const char *project_path, GError **error)
{
  g_autoptr (GPtrArray) entries = tn_queue_read (project_path, error);
  for (guint i = 0; entries != NULL && i < entries->len; i++)
    {
      const TnQueueEntry *entry = entries->pdata[i];
      if (entry->failed < entry->tries)
        return new_entry (entry->run, entry->tries, entry->failed, entry->error);
    }
  return NULL;
}

/* Somebody may have taken it out meanwhile: then there is nothing to note. */
static gboolean
done_change (GPtrArray *entries, const char *project_path, const char *run, const void *failure, GError **error)
{
  int place = find (entries, run);
  if (place < 0)
    return TRUE;
  if (failure == NULL)
    {
      g_ptr_array_remove_index (entries, (guint) place);
      return TRUE;
    }
  TnQueueEntry *entry = g_ptr_array_steal_index (entries, (guint) place);
  entry->failed++;
  g_free (entry->error);
  entry->error = g_strdup (failure);
  g_ptr_array_add (entries, entry);
  return TRUE;
}

gboolean
tn_queue_done (const char *project_path, const char *run, const char *failure, GError **error)
{
  return change (project_path, run, done_change, failure, error);
}

int
tn_queue_take (const char *project_path, GError **error)
{
  g_autofree char *lock = g_build_filename (project_path, RUN_LOCK_FILE, NULL);
  g_autoptr (GError) failure = NULL;
  int fd = tn_file_lock_take (lock, 0, &failure);
  if (fd >= 0)
    return fd;
  if (g_error_matches (failure, TN_ERROR, TN_ERROR_BUSY))
    g_set_error (error, TN_ERROR, TN_ERROR_BUSY, _("Another process works through the queue of “%s”."), project_path);
  else
    g_propagate_error (error, g_steal_pointer (&failure));
  return -1;
}

gboolean
tn_queue_is_running (const char *project_path)
{
  g_autofree char *lock = g_build_filename (project_path, RUN_LOCK_FILE, NULL);
  return tn_file_lock_is_held (lock);
}
