/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fault.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"

/* A disk as the kernel sees it and as the platter has it: files with two contents, and two tables of names. */
typedef struct
{
  int ref_count;
  GByteArray *content;
  GByteArray *synced;
} File;

typedef struct
{
  GHashTable *names;  /* path -> File, as programs see them */
  GHashTable *synced; /* the same, as they are on the disk */
} Disk;

static void
file_unref (gpointer data)
{
  File *file = data;
  if (--file->ref_count > 0)
    return;
  g_byte_array_unref (file->content);
  g_byte_array_unref (file->synced);
  g_free (file);
}

static void
put_name (GHashTable *names, const char *path, File *file)
{
  file->ref_count++;
  g_hash_table_replace (names, g_strdup (path), file);
}

static File *
add_file (Disk *disk, const char *path)
{
  File *file = g_new0 (File, 1);
  file->content = g_byte_array_new ();
  file->synced = g_byte_array_new ();
  put_name (disk->names, path, file);
  return file;
}

static File *
require_file (Disk *disk, const char *path)
{
  File *file = g_hash_table_lookup (disk->names, path);
  return file != NULL ? file : add_file (disk, path);
}

static void
resize (GByteArray *array, gsize size)
{
  gsize before = array->len;
  g_byte_array_set_size (array, (guint) size);
  if (size > before)
    memset (array->data + before, 0, size - before);
}

static void
copy_content (GByteArray *to, const GByteArray *from)
{
  g_byte_array_set_size (to, 0);
  if (from->len > 0)
    g_byte_array_append (to, from->data, from->len);
}

/* @path's folder is @folder itself, not one below it. */
static gboolean
lies_in (const char *path, const char *folder)
{
  gsize n = strlen (folder);
  return strncmp (path, folder, n) == 0 && path[n] == '/' && strchr (path + n + 1, '/') == NULL;
}

static void
sync_folder (Disk *disk, const char *folder)
{
  GHashTableIter iter;
  gpointer path, file;
  g_hash_table_iter_init (&iter, disk->synced);
  while (g_hash_table_iter_next (&iter, &path, NULL))
    if (lies_in (path, folder))
      g_hash_table_iter_remove (&iter);
  g_hash_table_iter_init (&iter, disk->names);
  while (g_hash_table_iter_next (&iter, &path, &file))
    if (lies_in (path, folder))
      put_name (disk->synced, path, file);
}

static void
apply (Disk *disk, const TnFaultEvent *event)
{
  File *file;
  switch (event->kind)
    {
    case TN_FAULT_EVENT_CREATE:
      file = require_file (disk, event->path);
      if (event->offset != 0)
        g_byte_array_set_size (file->content, 0);
      break;
    case TN_FAULT_EVENT_WRITE:
      {
        gsize n;
        const void *data = g_bytes_get_data (event->data, &n);
        file = require_file (disk, event->path);
        if (file->content->len < event->offset + n)
          resize (file->content, event->offset + n);
        if (n > 0)
          memcpy (file->content->data + event->offset, data, n);
        break;
      }
    case TN_FAULT_EVENT_TRUNCATE:
      resize (require_file (disk, event->path)->content, event->offset);
      break;
    case TN_FAULT_EVENT_FSYNC:
      file = require_file (disk, event->path);
      copy_content (file->synced, file->content);
      break;
    case TN_FAULT_EVENT_RENAME:
      file = require_file (disk, event->path);
      put_name (disk->names, event->to, file);
      g_hash_table_remove (disk->names, event->path);
      break;
    case TN_FAULT_EVENT_UNLINK:
      g_hash_table_remove (disk->names, event->path);
      break;
    case TN_FAULT_EVENT_FSYNC_DIR:
      sync_folder (disk, event->path);
      break;
    }
}

/* What lies in @into already is on the disk, under the names it had below @root. */
static gboolean
load_tree (Disk *disk, const char *into, const char *root, GError **error)
{
  g_autoptr (GDir) dir = g_dir_open (into, 0, error);
  if (dir == NULL)
    return FALSE;
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *here = g_build_filename (into, name, NULL);
      g_autofree char *path = g_build_filename (root, name, NULL);
      if (g_file_test (here, G_FILE_TEST_IS_DIR))
        {
          if (!load_tree (disk, here, path, error))
            return FALSE;
          continue;
        }
      g_autofree char *data = NULL;
      gsize n;
      if (!g_file_get_contents (here, &data, &n, error))
        return FALSE;
      File *file = add_file (disk, path);
      g_byte_array_append (file->content, (const guint8 *) data, (guint) n);
      copy_content (file->synced, file->content);
      put_name (disk->synced, path, file);
      g_unlink (here);
    }
  return TRUE;
}

static gboolean
store_tree (GHashTable *names, const char *root, const char *into, gboolean keep_unsynced, GError **error)
{
  GHashTableIter iter;
  gpointer path, value;
  g_hash_table_iter_init (&iter, names);
  while (g_hash_table_iter_next (&iter, &path, &value))
    {
      File *file = value;
      GByteArray *content = keep_unsynced ? file->content : file->synced;
      g_autofree char *target = g_build_filename (into, (const char *) path + strlen (root), NULL);
      g_autofree char *folder = g_path_get_dirname (target);
      if (g_mkdir_with_parents (folder, 0755) != 0)
        {
          tn_error_set_errno (error, errno, _("create folder"), folder);
          return FALSE;
        }
      g_remove (target); /* written in place, a longer one would keep its end */
      if (!g_file_set_contents_full (target, content->len ? (const char *) content->data : "", content->len,
                                     G_FILE_SET_CONTENTS_NONE, 0644, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
tn_fault_replay (const GPtrArray *events, guint n_events, const char *root, const char *into, gboolean keep_unsynced,
                 gboolean keep_names, GError **error)
{
  g_return_val_if_fail (events != NULL && n_events <= events->len, FALSE);
  g_autofree char *base = g_canonicalize_filename (root, NULL);
  g_autofree char *prefix = g_strconcat (base, "/", NULL);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, file_unref);
  g_autoptr (GHashTable) synced = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, file_unref);
  Disk disk = { names, synced };

  if (!load_tree (&disk, into, base, error))
    return FALSE;
  for (guint i = 0; i < n_events; i++)
    {
      const TnFaultEvent *event = g_ptr_array_index (events, i);
      if (g_str_has_prefix (event->path, prefix) || strcmp (event->path, base) == 0)
        apply (&disk, event);
    }
  return store_tree (keep_names ? names : synced, base, into, keep_unsynced, error);
}
