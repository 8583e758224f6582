/* SPDX-License-Identifier: Apache-2.0 */
#include "train/run-removal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/error.h"
#include "train/run-lock.h"

#define REMOVED "runs/.removed"
#define MAX_NAME_BYTES 80
#define MAX_COPIES 1000

static gboolean
is_run (const char *path)
{
  g_autofree char *file = g_build_filename (path, "run.json", NULL);
  return g_file_test (path, G_FILE_TEST_IS_DIR) && !g_file_test (path, G_FILE_TEST_IS_SYMLINK)
         && (g_file_test (file, G_FILE_TEST_EXISTS) || g_file_test (file, G_FILE_TEST_IS_SYMLINK));
}

/* The locked descriptor: nobody begins to train in a run that is about to move. */
static int
lock_run (const char *path, GError **error)
{
  if (is_run (path))
    return tn_run_lock_take (path, error);
  g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no run “%s”. “tenon-cli runs” lists runs."), path);
  return -1;
}

static gboolean
sync_both (const char *from, const char *to, GError **error)
{
  g_autofree char *from_dir = g_path_get_dirname (from), *to_dir = g_path_get_dirname (to);
  return tn_durable_sync_dir (to_dir, error) && tn_durable_sync_dir (from_dir, error);
}

/* Into @folder as @name, or "name~2" ...: nothing is ever overwritten. */
static char *
move_into (const char *path, const char *folder, const char *name, GError **error)
{
  for (int copy = 1; copy < MAX_COPIES; copy++)
    {
      g_autofree char *unique = copy == 1 ? g_strdup (name) : g_strdup_printf ("%s~%d", name, copy);
      g_autofree char *to = g_build_filename (folder, unique, NULL);
      if (renameat2 (AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return sync_both (path, to, error) ? g_steal_pointer (&to) : NULL;
      if (errno == EINVAL && !g_file_test (to, G_FILE_TEST_EXISTS) && g_rename (path, to) == 0) /* a file system without that flag */
        return sync_both (path, to, error) ? g_steal_pointer (&to) : NULL;
      if (errno != EEXIST && errno != EINVAL)
        {
          tn_error_set_errno (error, errno, _("move"), path);
          return NULL;
        }
    }
  g_set_error (error, TN_ERROR, TN_ERROR_EXISTS, _("“%s” has too many runs of the name “%s”."), folder, name);
  return NULL;
}

static char *
own_name (const char *path)
{
  char *name = g_path_get_basename (path), *mark = strrchr (name, '~');
  if (mark != NULL && mark != name && mark[1] != '\0' && strspn (mark + 1, "0123456789") == strlen (mark + 1))
    *mark = '\0';
  return name;
}

char *
tn_run_remove (const char *run_path, GError **error)
{
  g_autofree char *path = g_canonicalize_filename (run_path, NULL);
  int fd = lock_run (path, error);
  if (fd < 0)
    return NULL;
  g_autofree char *runs = g_path_get_dirname (path), *project = g_path_get_dirname (runs);
  g_autofree char *folder = g_build_filename (project, REMOVED, NULL), *name = g_path_get_basename (path);
  char *to = NULL;
  if (g_mkdir_with_parents (folder, 0755) == 0)
    to = move_into (path, folder, name, error);
  else
    tn_error_set_errno (error, errno, _("create folder"), folder);
  close (fd);
  return to;
}

char *
tn_run_restore (const char *removed_path, GError **error)
{
  g_autofree char *path = g_canonicalize_filename (removed_path, NULL);
  g_autofree char *folder = g_path_get_dirname (path), *runs = g_path_get_dirname (folder), *name = own_name (path);
  if (!g_str_has_suffix (folder, "/" REMOVED))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("“%s” is no removed run."), path);
      return NULL;
    }
  int fd = lock_run (path, error);
  if (fd < 0)
    return NULL;
  char *to = move_into (path, runs, name, error);
  close (fd);
  return to;
}

static int
compare_paths (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
tn_run_list_removed (const char *project_path, GError **error)
{
  g_autofree char *project = g_canonicalize_filename (project_path, NULL);
  g_autofree char *folder = g_build_filename (project, REMOVED, NULL);
  if (!g_file_test (project, G_FILE_TEST_IS_DIR))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no folder “%s”."), project);
      return NULL;
    }
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      if (is_run (path))
        g_ptr_array_add (paths, g_steal_pointer (&path));
    }
  g_ptr_array_sort (paths, compare_paths);
  return paths;
}

/* Depth first; links are removed and not followed. */
static gboolean
delete_tree (const char *path, GError **error)
{
  if (g_file_test (path, G_FILE_TEST_IS_DIR) && !g_file_test (path, G_FILE_TEST_IS_SYMLINK))
    {
      g_autoptr (GDir) dir = g_dir_open (path, 0, error);
      if (dir == NULL)
        return FALSE;
      for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
        {
          g_autofree char *child = g_build_filename (path, name, NULL);
          if (!delete_tree (child, error))
            return FALSE;
        }
    }
  if (g_remove (path) == 0)
    return TRUE;
  tn_error_set_errno (error, errno, _("remove"), path);
  return FALSE;
}

gboolean
tn_run_delete (const char *run_path, GError **error)
{
  g_autofree char *path = g_canonicalize_filename (run_path, NULL);
  int fd = lock_run (path, error);
  if (fd < 0)
    return FALSE;
  gboolean ok = delete_tree (path, error);
  close (fd);
  return ok;
}

static gboolean
check_name (const char *name, GError **error)
{
  gboolean ok = *name != '\0' && *name != '.' && strlen (name) <= MAX_NAME_BYTES && g_utf8_validate (name, -1, NULL);
  for (const char *c = name; ok && *c != '\0'; c = g_utf8_next_char (c))
    ok = g_unichar_isalnum (g_utf8_get_char (c)) || strchr (" -_.", *c) != NULL;
  if (!ok)
    g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                 _("“%s” is no name for a run: letters, digits, spaces, “-”, “_” and “.” may be in it, %d bytes at most."), name, MAX_NAME_BYTES);
  return ok;
}

char *
tn_run_rename (const char *run_path, const char *name, GError **error)
{
  g_autofree char *path = g_canonicalize_filename (run_path, NULL);
  g_autofree char *runs = g_path_get_dirname (path), *to = g_build_filename (runs, name, NULL);
  if (!check_name (name, error))
    return NULL;
  int fd = lock_run (path, error);
  if (fd < 0)
    return NULL;
  gboolean ok = !g_file_test (to, G_FILE_TEST_EXISTS) && g_rename (path, to) == 0;
  if (!ok && g_file_test (to, G_FILE_TEST_EXISTS))
    g_set_error (error, TN_ERROR, TN_ERROR_EXISTS, _("There is a run “%s” already."), name);
  else if (!ok)
    tn_error_set_errno (error, errno, _("rename"), path);
  close (fd);
  return ok && sync_both (path, to, error) ? g_steal_pointer (&to) : NULL;
}
