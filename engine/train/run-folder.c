/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/tfevents.h"
#include "train/rank-files.h"
#include "train/run-lock.h"

#define RUN_FILE "run.json"
#define RUN_FORMAT "tenon-run"
#define RESERVE_FILE ".reserve"
#define RESERVE_BYTES 65536 /* what the last words of a run need on a full disk */
#define MAX_NAME 40

struct _TnRunFolder
{
  char *path, *name;
  char *model_name, *init;
  JsonNode *network;
  TnSettings *settings;
  GHashTable *chosen; /* names of settings that were not left at their default */
  TnRunState state;
  char *cause, *reason;
  gint64 created_us;
  GPtrArray *changes; /* TnRunChange */
  JsonObject *facts;
  JsonNode *json; /* the whole; made when asked for */
  int lock_fd;    /* -1: not locked */
  char *address;  /* in the lock */
  pthread_mutex_t log_mutex;
  int log_fd;
};


static TnRunFolder *
new_folder (const char *path)
{
  TnRunFolder *self = g_new0 (TnRunFolder, 1);
  self->path = g_canonicalize_filename (path, NULL);
  self->name = g_path_get_basename (self->path);
  self->settings = tn_settings_new ();
  self->chosen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->cause = g_strdup ("");
  self->reason = g_strdup ("");
  self->changes = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_run_change_free);
  self->facts = json_object_new ();
  self->lock_fd = self->log_fd = -1;
  pthread_mutex_init (&self->log_mutex, NULL);
  return self;
}

void
tn_run_folder_free (TnRunFolder *self)
{
  if (self == NULL)
    return;
  tn_run_folder_unlock (self);
  if (self->log_fd >= 0)
    close (self->log_fd);
  pthread_mutex_destroy (&self->log_mutex);
  g_free (self->path);
  g_free (self->name);
  g_free (self->model_name);
  g_free (self->init);
  g_free (self->address);
  g_clear_pointer (&self->network, json_node_unref);
  g_clear_pointer (&self->json, json_node_unref);
  tn_settings_free (self->settings);
  g_hash_table_unref (self->chosen);
  g_free (self->cause);
  g_free (self->reason);
  g_ptr_array_unref (self->changes);
  json_object_unref (self->facts);
  g_free (self);
}

/* run.json */

static JsonNode *
changes_to_json (TnRunFolder *self)
{
  JsonArray *array = json_array_new ();
  for (guint i = 0; i < self->changes->len; i++)
    {
      const TnRunChange *change = g_ptr_array_index (self->changes, i);
      JsonObject *object = json_object_new ();
      tn_json_set_int64_string (object, "step", change->step);
      json_object_set_string_member (object, "name", change->name);
      json_object_set_string_member (object, "value", change->value);
      json_array_add_object_element (array, object);
    }
  JsonNode *node = json_node_new (JSON_NODE_ARRAY);
  json_node_take_array (node, array);
  return node;
}

/* All settings are written, so that a later default does not change an old run; these are the ones that somebody chose. */
static JsonNode *
chosen_to_json (TnRunFolder *self)
{
  JsonArray *array = json_array_new ();
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    if (g_hash_table_contains (self->chosen, row->name))
      json_array_add_string_element (array, row->name);
  JsonNode *node = json_node_new (JSON_NODE_ARRAY);
  json_node_take_array (node, array);
  return node;
}

JsonNode *
tn_run_folder_json (TnRunFolder *self)
{
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_string_member (object, "format", RUN_FORMAT);
  json_object_set_int_member (object, "version", TN_RUN_VERSION);
  json_object_set_string_member (object, "tenon", TN_VERSION);
  json_object_set_string_member (object, "name", self->name);
  json_object_set_string_member (object, "model", self->model_name);
  tn_json_set_int64_string (object, "created_us", self->created_us);
  json_object_set_string_member (object, "state", tn_run_state_name (self->state));
  json_object_set_string_member (object, "cause", self->cause);
  json_object_set_string_member (object, "reason", self->reason);
  json_object_set_object_member (object, "facts", json_object_ref (self->facts));
  json_object_set_member (object, "changes", changes_to_json (self));
  json_object_set_object_member (object, "settings", tn_settings_to_json (self->settings, TRUE));
  json_object_set_member (object, "chosen", chosen_to_json (self));
  json_object_set_string_member (object, "init", self->init);
  json_object_set_member (object, "network", json_node_copy (self->network));
  g_clear_pointer (&self->json, json_node_unref);
  self->json = json_node_init_object (json_node_alloc (), object);
  return self->json;
}

static gboolean
write_json (TnRunFolder *self, GError **error)
{
  g_autofree char *file = g_build_filename (self->path, RUN_FILE, NULL);
  g_autofree char *text = tn_json_to_text (tn_run_folder_json (self), 2);
  return tn_durable_write (file, text, strlen (text), error);
}

gboolean
tn_run_folder_save (TnRunFolder *self, GError **error)
{
  g_return_val_if_fail (self->lock_fd >= 0, FALSE);
  g_autoptr (GError) failure = NULL;
  if (write_json (self, &failure))
    return TRUE;
  if (g_error_matches (failure, TN_ERROR, TN_ERROR_NO_SPACE))
    {
      g_autofree char *reserve = g_build_filename (self->path, RESERVE_FILE, NULL);
      if (unlink (reserve) == 0)
        return write_json (self, error);
    }
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

static gboolean
take_changes (TnRunFolder *self, JsonObject *object, GError **error)
{
  JsonArray *array;
  if (!tn_json_get_array (object, "changes", &array, "", error))
    return FALSE;
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *path = tn_json_path_element ("changes", i);
      JsonNode *node = json_array_get_element (array, i);
      const char *name, *value;
      int64_t step;
      if (!JSON_NODE_HOLDS_OBJECT (node))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("%s must be an object."), path);
          return FALSE;
        }
      JsonObject *change = json_node_get_object (node);
      if (!tn_json_get_int64_string (change, "step", &step, path, error)
          || !tn_json_get_string (change, "name", &name, path, error)
          || !tn_json_get_string (change, "value", &value, path, error))
        return FALSE;
      g_autoptr (TnSettings) probe = tn_settings_new ();
      if (!tn_settings_set (probe, name, value, error))
        return FALSE;
      tn_run_folder_add_change (self, step, name, value);
    }
  return TRUE;
}

static gboolean
take_chosen (TnRunFolder *self, JsonObject *object, GError **error)
{
  JsonArray *array;
  if (!tn_json_get_array (object, "chosen", &array, "", error))
    return FALSE;
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      JsonNode *node = json_array_get_element (array, i);
      if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
        g_hash_table_add (self->chosen, g_strdup (json_node_get_string (node)));
    }
  return TRUE;
}

static gboolean
take_object (TnRunFolder *self, JsonObject *object, GError **error)
{
  const char *format = "", *model, *state, *cause = "", *reason = "", *init;
  gint64 version;
  int64_t created;
  JsonObject *settings, *facts, *network;
  if (!tn_json_get_string (object, "format", &format, "", NULL) || strcmp (format, RUN_FORMAT) != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("it is not a run of Tenon (no \"format\": \"%s\")"), RUN_FORMAT);
      return FALSE;
    }
  if (!tn_json_get_int (object, "version", 1, G_MAXINT, &version, "", error))
    return FALSE;
  if (version > TN_RUN_VERSION)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _("it was written by a newer Tenon (run version %d, this one reads up to %d); use that one"),
                   (int) version, TN_RUN_VERSION);
      return FALSE;
    }
  if (!tn_json_get_string (object, "model", &model, "", error) || !tn_json_get_string (object, "state", &state, "", error)
      || !tn_json_opt_string (object, "cause", &cause, "", error) || !tn_json_opt_string (object, "reason", &reason, "", error)
      || !tn_json_get_string (object, "init", &init, "", error)
      || !tn_json_get_int64_string (object, "created_us", &created, "", error)
      || !tn_json_get_object (object, "settings", &settings, "", error)
      || !tn_json_get_object (object, "facts", &facts, "", error)
      || !tn_json_get_object (object, "network", &network, "", error)
      || !tn_settings_from_json (self->settings, settings, NULL, error) || !take_chosen (self, object, error)
      || !take_changes (self, object, error))
    return FALSE;
  if (!tn_run_state_parse (state, &self->state))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("its state “%s” is unknown"), state);
      return FALSE;
    }
  self->created_us = created;
  self->model_name = g_strdup (model);
  self->init = g_strdup (init);
  g_free (self->cause);
  g_free (self->reason);
  self->cause = g_strdup (cause);
  self->reason = g_strdup (reason);
  self->network = json_node_copy (json_object_get_member (object, "network"));
  json_object_unref (self->facts);
  self->facts = json_object_ref (facts);
  return TRUE;
}

TnRunFolder *
tn_run_folder_open (const char *path, GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);
  g_autoptr (TnRunFolder) self = new_folder (path);
  g_autofree char *file = g_build_filename (self->path, RUN_FILE, NULL);
  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("“%s” is not a run: it has no %s. “tenon-cli runs” lists runs."),
                   self->path, RUN_FILE);
      return NULL;
    }
  g_autoptr (JsonNode) node = tn_json_load (file, error);
  if (node == NULL)
    return NULL;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s”: it is not a run of Tenon (no JSON object)"), file);
      return NULL;
    }
  if (!take_object (self, json_node_get_object (node), error))
    {
      g_prefix_error (error, "“%s”: ", file);
      return NULL;
    }
  return g_steal_pointer (&self);
}

gboolean
tn_run_folder_reload (TnRunFolder *self, GError **error)
{
  TnRunFolder *fresh = tn_run_folder_open (self->path, error);
  if (fresh == NULL)
    return FALSE;
  /* What belongs to the object and not to the file stays. */
  TnRunFolder old = *self;
  pthread_mutex_lock (&self->log_mutex);
  self->settings = fresh->settings;
  self->chosen = fresh->chosen;
  self->network = fresh->network;
  self->model_name = fresh->model_name;
  self->init = fresh->init;
  self->state = fresh->state;
  self->cause = fresh->cause;
  self->reason = fresh->reason;
  self->created_us = fresh->created_us;
  self->changes = fresh->changes;
  self->facts = fresh->facts;
  pthread_mutex_unlock (&self->log_mutex);
  fresh->settings = old.settings;
  fresh->chosen = old.chosen;
  fresh->network = old.network;
  fresh->model_name = old.model_name;
  fresh->init = old.init;
  fresh->cause = old.cause;
  fresh->reason = old.reason;
  fresh->changes = old.changes;
  fresh->facts = old.facts;
  tn_run_folder_free (fresh);
  return TRUE;
}

/* Creating. */

/* Letters, digits, '-' and '_' of a name, in lower case, for a folder that every file system takes. */
static char *
plain_name (const char *name)
{
  GString *out = g_string_new (NULL);
  for (const char *c = name; *c != '\0' && out->len < MAX_NAME; c++)
    if (g_ascii_isalnum (*c) || *c == '-' || *c == '_')
      g_string_append_c (out, g_ascii_tolower (*c));
  if (out->len == 0)
    g_string_append (out, "model");
  return g_string_free (out, FALSE);
}

/* mkdir() takes the name: of two processes one gets it, the other the next. */
static char *
make_folder (const char *runs, const char *model, GError **error)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  for (int number = 1; number < 10000; number++)
    {
      g_autofree char *name = g_strdup_printf ("%04d-%02d-%02d-%s-%02d", g_date_time_get_year (now),
                                               g_date_time_get_month (now), g_date_time_get_day_of_month (now), model, number);
      g_autofree char *path = g_build_filename (runs, name, NULL);
      if (g_mkdir (path, 0755) == 0)
        return g_steal_pointer (&path);
      if (errno != EEXIST)
        {
          tn_error_set_errno (error, errno, _("create folder"), path);
          return NULL;
        }
    }
  g_set_error (error, TN_ERROR, TN_ERROR_EXISTS, _("“%s” has 9,999 runs of today. Remove some."), runs);
  return NULL;
}

TnRunFolder *
tn_run_folder_create (TnProject *project, const TnSettings *settings, GError **error)
{
  g_return_val_if_fail (TN_IS_PROJECT (project), NULL);
  const TnSettings *used = settings != NULL ? settings : tn_project_settings (project);
  g_autoptr (TnModel) model = tn_project_load_model (project, used, error);
  if (model == NULL)
    return NULL;
  g_autofree char *text = tn_model_to_json (model);
  g_autoptr (JsonNode) network = tn_json_parse (text, -1, error);
  if (network == NULL)
    return NULL;
  g_autofree char *given_name = tn_project_model_name (project, used, model);
  g_autofree char *name = plain_name (given_name);
  g_autofree char *runs = g_build_filename (tn_project_path (project), "runs", NULL);
  if (g_mkdir (runs, 0755) != 0 && errno != EEXIST)
    {
      tn_error_set_errno (error, errno, _("create folder"), runs);
      return NULL;
    }
  g_autofree char *path = make_folder (runs, name, error);
  if (path == NULL)
    return NULL;

  g_autoptr (TnRunFolder) self = new_folder (path);
  tn_settings_free (self->settings);
  self->settings = tn_settings_copy (used);
  for (const TnSetting *row = tn_settings; row->name != NULL; row++)
    if (tn_settings_is_set (used, row->name))
      g_hash_table_add (self->chosen, g_strdup (row->name));
  self->network = g_steal_pointer (&network);
  self->model_name = g_steal_pointer (&name);
  self->init = g_strdup (tn_model_init (model));
  self->created_us = g_get_real_time ();
  if (!write_json (self, error) || !tn_durable_sync_dir (runs, error)
      || !tn_durable_sync_dir (tn_project_path (project), error))
    {
      g_rmdir (path); /* nothing in it: the name is free again */
      return NULL;
    }
  return g_steal_pointer (&self);
}

/* The lock. */

/* Space that only the last run.json may use. */
static void
make_reserve (TnRunFolder *self)
{
  g_autofree char *path = g_build_filename (self->path, RESERVE_FILE, NULL);
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (fd < 0)
    return;
  if (posix_fallocate (fd, 0, RESERVE_BYTES) != 0)
    unlink (path);
  close (fd);
}

gboolean
tn_run_folder_lock (TnRunFolder *self, GError **error)
{
  g_return_val_if_fail (self->lock_fd < 0, FALSE);
  int fd = tn_run_lock_take (self->path, error);
  if (fd < 0)
    return FALSE;
  if (!tn_run_lock_describe (fd, self->path, NULL, 0, 0, error))
    {
      close (fd);
      return FALSE;
    }
  self->lock_fd = fd;
  tn_durable_clean_dir (self->path);
  make_reserve (self);
  return TRUE;
}

void
tn_run_folder_unlock (TnRunFolder *self)
{
  if (self->lock_fd < 0)
    return;
  g_autofree char *reserve = g_build_filename (self->path, RESERVE_FILE, NULL);
  unlink (reserve);
  close (self->lock_fd);
  self->lock_fd = -1;
  g_clear_pointer (&self->address, g_free);
}

gboolean
tn_run_folder_is_locked (const TnRunFolder *self)
{
  return self->lock_fd >= 0;
}

gboolean
tn_run_folder_set_address (TnRunFolder *self, const char *address, GError **error)
{
  g_return_val_if_fail (self->lock_fd >= 0, FALSE);
  g_free (self->address);
  self->address = g_strdup (address);
  return tn_run_lock_describe (self->lock_fd, self->path, address, 0, 0, error);
}

void
tn_run_folder_beat (TnRunFolder *self, gint64 step, gint64 median_step_us)
{
  if (self->lock_fd >= 0)
    tn_run_lock_describe (self->lock_fd, self->path, self->address, step, median_step_us, NULL);
}

/* What is known. */

const char *
tn_run_folder_path (const TnRunFolder *self)
{
  return self->path;
}

const char *
tn_run_folder_name (const TnRunFolder *self)
{
  return self->name;
}

char *
tn_run_folder_project_path (const TnRunFolder *self)
{
  g_autofree char *runs = g_path_get_dirname (self->path);
  return g_path_get_dirname (runs);
}

char *
tn_run_folder_checkpoints_path (const TnRunFolder *self)
{
  return g_build_filename (self->path, "checkpoints", NULL);
}

TnSettings *
tn_run_folder_settings (const TnRunFolder *self)
{
  return self->settings;
}

gboolean
tn_run_folder_is_chosen (const TnRunFolder *self, const char *name)
{
  return g_hash_table_contains (self->chosen, name);
}

TnSettings *
tn_run_folder_settings_at (const TnRunFolder *self, gint64 step)
{
  TnSettings *settings = tn_settings_copy (self->settings);
  for (guint i = 0; i < self->changes->len; i++)
    {
      const TnRunChange *change = g_ptr_array_index (self->changes, i);
      if (change->step <= step)
        tn_settings_set (settings, change->name, change->value, NULL); /* was checked when it came in */
    }
  return settings;
}

TnModel *
tn_run_folder_load_model (const TnRunFolder *self, GError **error)
{
  g_autofree char *text = tn_json_to_text (self->network, 2);
  g_autoptr (TnModel) model = tn_model_from_json (text, -1, error);
  if (model == NULL || !tn_model_set_init (model, self->init, error))
    return NULL;
  const char *freeze = tn_settings_get_string (self->settings, "train.freeze");
  if (*freeze != '\0')
    tn_model_set_freeze (model, freeze);
  return g_steal_pointer (&model);
}

const char *
tn_run_folder_model_name (const TnRunFolder *self)
{
  return self->model_name;
}

TnRunState
tn_run_folder_state (const TnRunFolder *self)
{
  return self->state;
}

/* When the newest event file was written last. */
static gint64
last_record_us (const char *path)
{
  g_auto (GStrv) files = tn_tfevents_list (path, NULL);
  guint n = files != NULL ? g_strv_length (files) : 0;
  GStatBuf info;
  return n > 0 && g_stat (files[n - 1], &info) == 0 ? (gint64) info.st_mtim.tv_sec * G_USEC_PER_SEC + info.st_mtim.tv_nsec / 1000 : 0;
}

static TnRunState
judge (TnRunFolder *self, gboolean *silent)
{
  g_auto (TnRunOwner) owner = { 0 };
  TnRunEvidence evidence = { .stored = self->state, .now_us = g_get_real_time (), .local = TRUE };
  if (tn_run_folder_owner (self->path, &owner, NULL))
    {
      evidence.lock_held = owner.held;
      evidence.local = tn_run_owner_is_local (&owner);
      evidence.heartbeat_us = owner.heartbeat_us;
      evidence.median_step_us = owner.median_step_us;
    }
  if (silent != NULL && !tn_run_state_is_end (self->state))
    evidence.record_us = last_record_us (self->path);
  return tn_run_state_judge (&evidence, silent);
}

TnRunState
tn_run_folder_look (TnRunFolder *self, gboolean *silent)
{
  if (silent != NULL)
    *silent = FALSE;
  if (self->lock_fd >= 0)
    return self->state;
  TnRunState state = judge (self, silent);
  /* Its end may have been written between the two looks. */
  if (state == TN_RUN_LOST && self->state != TN_RUN_LOST && tn_run_folder_reload (self, NULL) && tn_run_state_is_end (self->state))
    return self->state;
  return state;
}

TnRunState
tn_run_folder_seen_state (TnRunFolder *self)
{
  TnRunState state = tn_run_folder_look (self, NULL);
  char *lost = state == TN_RUN_LOST ? tn_rank_files_lost (self->path) : NULL;
  if (lost != NULL)
    {
      g_free (self->reason);
      self->reason = lost;
    }
  return state;
}

const char *
tn_run_folder_reason (const TnRunFolder *self)
{
  return self->reason;
}

const char *
tn_run_folder_cause (const TnRunFolder *self)
{
  return self->cause;
}

void
tn_run_folder_set_state (TnRunFolder *self, TnRunState state, const char *cause, const char *reason)
{
  self->state = state;
  g_free (self->cause);
  g_free (self->reason);
  self->cause = g_strdup (cause != NULL ? cause : "");
  self->reason = g_strdup (reason != NULL ? reason : "");
}

TnRunChange *
tn_run_change_new (gint64 step, const char *name, const char *value)
{
  TnRunChange *change = g_new (TnRunChange, 1);
  *change = (TnRunChange){ step, g_strdup (name), g_strdup (value) };
  return change;
}

void
tn_run_change_free (TnRunChange *change)
{
  g_free (change->name);
  g_free (change->value);
  g_free (change);
}

void
tn_run_folder_add_change (TnRunFolder *self, gint64 step, const char *name, const char *value)
{
  g_ptr_array_add (self->changes, tn_run_change_new (step, name, value));
}

int
tn_run_folder_n_changes (const TnRunFolder *self)
{
  return (int) self->changes->len;
}

const TnRunChange *
tn_run_folder_change (const TnRunFolder *self, int i)
{
  return g_ptr_array_index (self->changes, (guint) i);
}

void
tn_run_folder_set_fact (TnRunFolder *self, const char *name, const char *value)
{
  json_object_set_string_member (self->facts, name, value);
}

void
tn_run_folder_set_fact_number (TnRunFolder *self, const char *name, double value)
{
  json_object_set_double_member (self->facts, name, value);
}

const char *
tn_run_folder_fact (const TnRunFolder *self, const char *name)
{
  const char *text = NULL;
  tn_json_opt_string (self->facts, name, &text, "", NULL);
  return text;
}

double
tn_run_folder_fact_number (const TnRunFolder *self, const char *name)
{
  double value = NAN;
  tn_json_opt_double (self->facts, name, -INFINITY, INFINITY, &value, "", NULL);
  return value;
}

/* log.txt */

void
tn_run_folder_log (TnRunFolder *self, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format_iso8601 (now);
  g_autofree char *line = g_strdup_printf ("%s %s\n", time, text);

  pthread_mutex_lock (&self->log_mutex);
  if (self->log_fd < 0)
    {
      g_autofree char *path = g_build_filename (self->path, "log.txt", NULL);
      /* Not blocking: whatever stands there in the place of a log must not hang the run. */
      self->log_fd = open (path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    }
  if (self->log_fd >= 0 && write (self->log_fd, line, strlen (line)) < 0)
    errno = 0; /* a log that cannot be written is no reason to stop */
  pthread_mutex_unlock (&self->log_mutex);
}

/* Lists. */

static int
run_number (const char *path)
{
  const char *dash = strrchr (path, '-');
  return dash != NULL ? atoi (dash + 1) : 0;
}

static int
compare_runs (gconstpointer a, gconstpointer b)
{
  const char *x = *(const char *const *) a, *y = *(const char *const *) b;
  int by_date = strncmp (strrchr (x, '/'), strrchr (y, '/'), strlen ("/2026-11-30"));
  int by_number = run_number (x) - run_number (y);
  return by_date != 0 ? by_date : by_number != 0 ? by_number : strcmp (x, y);
}

GPtrArray *
tn_run_folder_list (const char *project_path, GError **error)
{
  g_autofree char *project = g_canonicalize_filename (project_path, NULL);
  g_autofree char *runs = g_build_filename (project, "runs", NULL);
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  if (!g_file_test (project, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no folder “%s”."), project);
      g_ptr_array_unref (paths);
      return NULL;
    }
  g_autoptr (GDir) dir = g_dir_open (runs, 0, NULL); /* a project without runs has none */
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *file = g_build_filename (runs, name, RUN_FILE, NULL);
      GStatBuf info; /* whatever it is: what cannot be read is said to be damaged, and not passed over */
      if (name[0] != '.' && g_lstat (file, &info) == 0)
        g_ptr_array_add (paths, g_build_filename (runs, name, NULL));
    }
  g_ptr_array_sort (paths, compare_runs);
  return paths;
}
