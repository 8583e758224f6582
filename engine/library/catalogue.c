/* SPDX-License-Identifier: Apache-2.0 */
#include "library/catalogue.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "base/error.h"
#include "train/project.h"
#include "train/run-folder.h"

#define SCHEMA_VERSION 1
#define BUSY_MS 2000

struct _TnCatalogue
{
  sqlite3 *db;
  char *path;
  gboolean was_damaged;
};

static const char schema[] = "BEGIN IMMEDIATE;"
                             "CREATE TABLE IF NOT EXISTS project (path TEXT PRIMARY KEY, name TEXT NOT NULL, opened_us INTEGER NOT NULL);"
                             "CREATE TABLE IF NOT EXISTS run (path TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL,"
                             " model TEXT NOT NULL, state TEXT NOT NULL, cause TEXT NOT NULL, created_us INTEGER NOT NULL,"
                             " changed_us INTEGER NOT NULL, step INTEGER NOT NULL, loss REAL, accuracy REAL);"
                             "CREATE INDEX IF NOT EXISTS run_by_project ON run (project, created_us);"
                             "PRAGMA user_version = 1;"
                             "COMMIT;";

void
tn_catalogue_run_free (TnCatalogueRun *run)
{
  g_free (run->path);
  g_free (run->project);
  g_free (run->name);
  g_free (run->model);
  g_free (run->state);
  g_free (run->cause);
  g_free (run);
}

void
tn_catalogue_project_free (TnCatalogueProject *project)
{
  g_free (project->path);
  g_free (project->name);
  g_free (project);
}

/* SQLite. */

static gboolean
is_damage (int code)
{
  return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

static gboolean
set_error (TnCatalogue *self, int code, GError **error)
{
  int kind = TN_ERROR_IO;
  const char *advice = "";
  switch (code & 0xff)
    {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      kind = TN_ERROR_BUSY;
      advice = _(" Another process is writing it; try again.");
      break;
    case SQLITE_FULL:
      kind = TN_ERROR_NO_SPACE;
      break;
    case SQLITE_NOMEM:
      kind = TN_ERROR_MEMORY;
      break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      kind = TN_ERROR_FORMAT;
      advice = _(" Open it again: it will be made anew from the projects' folders.");
      break;
    }
  g_set_error (error, TN_ERROR, kind, _("The catalogue “%s” cannot be used: %s.%s"), self->path,
               self->db != NULL ? sqlite3_errmsg (self->db) : sqlite3_errstr (code), advice);
  return FALSE;
}

static gboolean
execute (TnCatalogue *self, const char *sql, GError **error)
{
  int code = sqlite3_exec (self->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK || set_error (self, code, error);
}

static sqlite3_stmt *
prepare (TnCatalogue *self, const char *sql, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2 (self->db, sql, -1, &statement, NULL);
  if (code != SQLITE_OK)
    set_error (self, code, error);
  return statement;
}

/* Runs a statement without rows, and frees it. */
static gboolean
finish (TnCatalogue *self, sqlite3_stmt *statement, GError **error)
{
  int code = sqlite3_step (statement);
  gboolean ok = code == SQLITE_DONE || set_error (self, code, error);
  sqlite3_finalize (statement);
  return ok;
}

static void
bind_text (sqlite3_stmt *statement, int place, const char *text)
{
  sqlite3_bind_text (statement, place, text, -1, SQLITE_TRANSIENT);
}

static void
bind_number (sqlite3_stmt *statement, int place, double value)
{
  if (isnan (value))
    sqlite3_bind_null (statement, place);
  else
    sqlite3_bind_double (statement, place, value);
}

static char *
column_text (sqlite3_stmt *statement, int place)
{
  const char *text = (const char *) sqlite3_column_text (statement, place);
  return g_strdup (text != NULL ? text : "");
}

static double
column_number (sqlite3_stmt *statement, int place)
{
  return sqlite3_column_type (statement, place) == SQLITE_NULL ? NAN : sqlite3_column_double (statement, place);
}

/* Opening. */

static void
close_database (TnCatalogue *self)
{
  sqlite3_close_v2 (self->db);
  self->db = NULL;
}

static int
stored_version (TnCatalogue *self, int *code)
{
  sqlite3_stmt *statement = NULL;
  int version = -1;
  *code = sqlite3_prepare_v2 (self->db, "PRAGMA user_version", -1, &statement, NULL);
  if (*code == SQLITE_OK && (*code = sqlite3_step (statement)) == SQLITE_ROW)
    {
      version = sqlite3_column_int (statement, 0);
      *code = SQLITE_OK;
    }
  sqlite3_finalize (statement);
  return version;
}

/* Damage in pages that a list needs shows here and not in the middle of one. */
static int
quick_check (TnCatalogue *self)
{
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2 (self->db, "PRAGMA quick_check(1)", -1, &statement, NULL);
  if (code == SQLITE_OK && (code = sqlite3_step (statement)) == SQLITE_ROW)
    code = strcmp ((const char *) sqlite3_column_text (statement, 0), "ok") == 0 ? SQLITE_OK : SQLITE_CORRUPT;
  sqlite3_finalize (statement);
  return code;
}

static int
open_database (TnCatalogue *self, GError **error)
{
  int code = sqlite3_open_v2 (self->path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, NULL);
  if (code == SQLITE_OK)
    {
      sqlite3_busy_timeout (self->db, BUSY_MS);
      /* A file from elsewhere may hold triggers and views: none of it is run. */
      sqlite3_db_config (self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
      sqlite3_db_config (self->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
      sqlite3_db_config (self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
      code = quick_check (self);
    }
  int version = code == SQLITE_OK ? stored_version (self, &code) : 0;
  if (code == SQLITE_OK && version > SCHEMA_VERSION)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _("The catalogue “%s” was written by a newer Tenon (version %d, this one knows %d). Use that one, or remove the "
                     "file: it is made anew."),
                   self->path, version, SCHEMA_VERSION);
      return SQLITE_ERROR;
    }
  if (code == SQLITE_OK && version < SCHEMA_VERSION)
    code = sqlite3_exec (self->db, schema, NULL, NULL, NULL);
  if (code != SQLITE_OK)
    set_error (self, code, error);
  return code;
}

static void
set_aside (TnCatalogue *self)
{
  static const char *const companions[] = { "-journal", "-wal", "-shm" };
  g_autofree char *damaged = g_strconcat (self->path, ".damaged", NULL);
  g_rename (self->path, damaged);
  for (guint i = 0; i < G_N_ELEMENTS (companions); i++)
    {
      g_autofree char *file = g_strconcat (self->path, companions[i], NULL);
      g_unlink (file);
    }
  self->was_damaged = TRUE;
}

TnCatalogue *
tn_catalogue_open (const char *path, GError **error)
{
  g_autoptr (TnCatalogue) self = g_new0 (TnCatalogue, 1);
  self->path = path != NULL ? g_strdup (path) : g_build_filename (g_get_user_data_dir (), "tenon", "catalogue.sqlite", NULL);
  g_autofree char *folder = g_path_get_dirname (self->path);
  if (g_mkdir_with_parents (folder, 0700) != 0)
    {
      tn_error_set_errno (error, errno, _("create folder"), folder);
      return NULL;
    }
  g_autoptr (GError) failure = NULL;
  int code = open_database (self, &failure);
  if (is_damage (code))
    {
      g_clear_error (&failure);
      close_database (self);
      set_aside (self);
      code = open_database (self, &failure);
    }
  if (code == SQLITE_OK)
    return g_steal_pointer (&self);
  g_propagate_error (error, g_steal_pointer (&failure));
  return NULL;
}

void
tn_catalogue_free (TnCatalogue *self)
{
  if (self == NULL)
    return;
  close_database (self);
  g_free (self->path);
  g_free (self);
}

gboolean
tn_catalogue_was_damaged (const TnCatalogue *self)
{
  return self->was_damaged;
}

/* Scanning. */

/* All or nothing. */
static gboolean
in_transaction (TnCatalogue *self, gboolean (*work) (TnCatalogue *self, const char *path, GError **error), const char *path,
                GError **error)
{
  if (!execute (self, "BEGIN IMMEDIATE", error))
    return FALSE;
  if (work (self, path, error) && execute (self, "COMMIT", error))
    return TRUE;
  sqlite3_exec (self->db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

static gint64
created_us (TnRunFolder *run)
{
  JsonObject *object = json_node_get_object (tn_run_folder_json (run));
  return g_ascii_strtoll (json_object_get_string_member_with_default (object, "created_us", "0"), NULL, 10);
}

static gboolean
forget (TnCatalogue *self, const char *sql, const char *path, GError **error)
{
  sqlite3_stmt *statement = prepare (self, sql, error);
  if (statement == NULL)
    return FALSE;
  bind_text (statement, 1, path);
  return finish (self, statement, error);
}

/* A run that cannot be read is left out of the list: its folder still shows what it is. */
static gboolean
put_run (TnCatalogue *self, const char *path, GError **error)
{
  g_autoptr (TnRunFolder) run = tn_run_folder_open (path, NULL);
  if (run == NULL)
    return forget (self, "DELETE FROM run WHERE path = ?1", path, error);
  g_autofree char *project = tn_run_folder_project_path (run);
  g_autofree char *file = g_build_filename (tn_run_folder_path (run), "run.json", NULL);
  GStatBuf info = { 0 };
  g_stat (file, &info);
  double step = tn_run_folder_fact_number (run, "step");
  sqlite3_stmt *statement = prepare (self, "INSERT OR REPLACE INTO run VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)", error);
  if (statement == NULL)
    return FALSE;
  bind_text (statement, 1, tn_run_folder_path (run));
  bind_text (statement, 2, project);
  bind_text (statement, 3, tn_run_folder_name (run));
  bind_text (statement, 4, tn_run_folder_model_name (run));
  bind_text (statement, 5, tn_run_state_name (tn_run_folder_seen_state (run)));
  bind_text (statement, 6, tn_run_folder_cause (run));
  sqlite3_bind_int64 (statement, 7, created_us (run));
  sqlite3_bind_int64 (statement, 8, (gint64) info.st_mtim.tv_sec * 1000000 + info.st_mtim.tv_nsec / 1000);
  sqlite3_bind_int64 (statement, 9, isnan (step) ? 0 : (gint64) step);
  bind_number (statement, 10, tn_run_folder_fact_number (run, "loss"));
  bind_number (statement, 11, tn_run_folder_fact_number (run, "accuracy"));
  return finish (self, statement, error);
}

static gboolean
put_runs (TnCatalogue *self, const char *path, GError **error)
{
  g_autoptr (GPtrArray) runs = tn_run_folder_list (path, error);
  if (runs == NULL || !forget (self, "DELETE FROM run WHERE project = ?1", path, error))
    return FALSE;
  for (guint i = 0; i < runs->len; i++)
    if (!put_run (self, g_ptr_array_index (runs, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
put_project (TnCatalogue *self, const char *path, GError **error)
{
  g_autoptr (TnProject) project = tn_project_open (path, error);
  if (project == NULL)
    return FALSE;
  sqlite3_stmt *statement = prepare (self, "INSERT OR REPLACE INTO project VALUES (?1,?2,?3)", error);
  if (statement == NULL)
    return FALSE;
  bind_text (statement, 1, tn_project_path (project));
  bind_text (statement, 2, tn_project_name (project));
  sqlite3_bind_int64 (statement, 3, g_get_real_time ());
  return finish (self, statement, error) && put_runs (self, tn_project_path (project), error);
}

static gboolean
drop_project (TnCatalogue *self, const char *path, GError **error)
{
  g_autofree char *full = g_canonicalize_filename (path, NULL);
  return forget (self, "DELETE FROM run WHERE project = ?1", full, error)
         && forget (self, "DELETE FROM project WHERE path = ?1", full, error);
}

static gboolean
put_everything (TnCatalogue *self, const char *unused, GError **error)
{
  g_autoptr (GPtrArray) projects = tn_catalogue_projects (self, error);
  if (projects == NULL || !execute (self, "DELETE FROM run", error))
    return FALSE;
  for (guint i = 0; i < projects->len; i++)
    {
      const TnCatalogueProject *project = g_ptr_array_index (projects, i);
      if (project->exists && !put_runs (self, project->path, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
tn_catalogue_scan_project (TnCatalogue *self, const char *project_path, GError **error)
{
  return in_transaction (self, put_project, project_path, error);
}

gboolean
tn_catalogue_forget_project (TnCatalogue *self, const char *project_path, GError **error)
{
  return in_transaction (self, drop_project, project_path, error);
}

gboolean
tn_catalogue_scan_run (TnCatalogue *self, const char *run_path, GError **error)
{
  return in_transaction (self, put_run, run_path, error);
}

gboolean
tn_catalogue_rebuild (TnCatalogue *self, GError **error)
{
  return in_transaction (self, put_everything, NULL, error);
}

/* Lists. */

GPtrArray *
tn_catalogue_projects (TnCatalogue *self, GError **error)
{
  sqlite3_stmt *statement = prepare (self, "SELECT path, name, opened_us FROM project ORDER BY opened_us DESC, path", error);
  if (statement == NULL)
    return NULL;
  g_autoptr (GPtrArray) projects = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_catalogue_project_free);
  int code;
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    {
      TnCatalogueProject *project = g_new0 (TnCatalogueProject, 1);
      project->path = column_text (statement, 0);
      project->name = column_text (statement, 1);
      project->opened_us = sqlite3_column_int64 (statement, 2);
      g_autofree char *file = g_build_filename (project->path, "project.json", NULL);
      project->exists = g_file_test (file, G_FILE_TEST_EXISTS);
      g_ptr_array_add (projects, project);
    }
  if (code != SQLITE_DONE)
    set_error (self, code, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? g_steal_pointer (&projects) : NULL;
}

static TnCatalogueRun *
read_run (sqlite3_stmt *statement)
{
  TnCatalogueRun *run = g_new0 (TnCatalogueRun, 1);
  run->path = column_text (statement, 0);
  run->project = column_text (statement, 1);
  run->name = column_text (statement, 2);
  run->model = column_text (statement, 3);
  run->state = column_text (statement, 4);
  run->cause = column_text (statement, 5);
  run->created_us = sqlite3_column_int64 (statement, 6);
  run->changed_us = sqlite3_column_int64 (statement, 7);
  run->step = sqlite3_column_int64 (statement, 8);
  run->loss = column_number (statement, 9);
  run->accuracy = column_number (statement, 10);
  return run;
}

GPtrArray *
tn_catalogue_runs (TnCatalogue *self, const char *project_path, const char *state, GError **error)
{
  sqlite3_stmt *statement = prepare (self,
                                     "SELECT * FROM run WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR state = ?2)"
                                     " ORDER BY created_us DESC, path DESC",
                                     error);
  if (statement == NULL)
    return NULL;
  g_autofree char *full = project_path != NULL ? g_canonicalize_filename (project_path, NULL) : NULL;
  bind_text (statement, 1, full);
  bind_text (statement, 2, state);
  g_autoptr (GPtrArray) runs = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_catalogue_run_free);
  int code;
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    g_ptr_array_add (runs, read_run (statement));
  if (code != SQLITE_DONE)
    set_error (self, code, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? g_steal_pointer (&runs) : NULL;
}
