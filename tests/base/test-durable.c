/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/durable.h"
#include "base/error.h"
#include "base/fault.h"

static char *
new_folder (void)
{
  g_autoptr (GError) error = NULL;
  char *folder = g_dir_make_tmp ("tenon-durable-XXXXXX", &error);
  g_assert_no_error (error);
  return folder;
}

static int
count_files (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  int n = 0;
  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
remove_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_unlink (path);
    }
  g_rmdir (folder);
}

static void
assert_content (const char *path, const char *expected)
{
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, expected);
}

static void
test_replaces_whole (void)
{
  g_autofree char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "project.json", NULL);
  g_autoptr (GError) error = NULL;
  mode_t mask = umask (027);
  g_assert_true (tn_durable_write (path, "old", 3, &error));
  umask (mask);
  struct stat info;
  g_assert_cmpint (stat (path, &info), ==, 0);
  g_assert_cmpint (info.st_mode & 0777, ==, 0640);
  g_assert_true (tn_durable_write (path, "newer", 5, &error));
  assert_content (path, "newer");
  g_assert_true (tn_durable_write (path, NULL, 0, &error));
  assert_content (path, "");
  g_assert_cmpint (count_files (folder), ==, 1);
  remove_folder (folder);
}

static void
test_stream (void)
{
  g_autofree char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "rank-0000.safetensors", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GByteArray) all = g_byte_array_new ();
  TnDurableFile *file = tn_durable_file_new (path, 32 << 20, &error);
  g_assert_no_error (error);
  static const gsize sizes[] = { 1, 0, 1000, (1 << 20) - 1, 7, 3 << 20, 5, 1 << 20 };
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree guint8 *part = g_malloc (sizes[i] + 1);
      for (gsize k = 0; k < sizes[i]; k++)
        part[k] = (guint8) (k * 7 + i);
      g_assert_true (tn_durable_file_write (file, part, sizes[i], &error));
      g_byte_array_append (all, part, (guint) sizes[i]);
    }
  g_assert_cmpuint (tn_durable_file_size (file), ==, all->len);
  g_assert_cmphex (tn_durable_file_crc32c (file), ==, tn_crc32c (0, all->data, all->len));
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_true (tn_durable_file_finish (file, TRUE, &error));

  g_autofree char *data = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &data, &n, NULL));
  g_assert_cmpmem (data, n, all->data, all->len);
  struct stat info;
  g_assert_cmpint (stat (path, &info), ==, 0);
  g_assert_cmpint (info.st_blocks * 512, <, 16 << 20); /* what was reserved too much is given back */

  file = tn_durable_file_new (path, 0, &error);
  g_assert_true (tn_durable_file_write (file, "x", 1, &error));
  tn_durable_file_abort (file);
  g_assert_cmpint (count_files (folder), ==, 1);
  remove_folder (folder);
}

static gboolean
write_in_pieces (const char *path, GError **error)
{
  TnDurableFile *file = tn_durable_file_new (path, 4096, error);
  if (file == NULL)
    return FALSE;
  g_autofree char *large = g_strnfill (2 << 20, 'n');
  if (!tn_durable_file_write (file, "n", 1, error) || !tn_durable_file_write (file, large, 2 << 20, error))
    {
      g_assert_false (tn_durable_file_write (file, "n", 1, NULL)); /* the failure stays */
      tn_durable_file_abort (file);
      return FALSE;
    }
  return tn_durable_file_finish (file, TRUE, error);
}

/* Fails the N-th operation for N = 1, 2, ... until none fails. */
static void
check_failures (TnFaultMode mode, gboolean every, gboolean stream, int code)
{
  g_autofree char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "file", NULL);
  gboolean done = FALSE;
  int n_failed = 0;
  for (uint64_t nth = 1; !done; nth++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_true (tn_durable_write (path, "old", 3, NULL));
      tn_fault_set (mode, nth, every);
      done = stream ? write_in_pieces (path, &error) : tn_durable_write (path, "new", 3, &error);
      gboolean renamed = tn_fault_operations () >= (stream ? 7 : 5); /* the last operation: the folder's fsync */
      tn_fault_set (TN_FAULT_OFF, 0, FALSE);

      if (!done)
        {
          n_failed++;
          g_assert_error (error, TN_ERROR, code);
          g_assert_nonnull (strstr (error->message, folder));
        }
      g_autofree char *text = NULL;
      gsize n;
      g_assert_true (g_file_get_contents (path, &text, &n, NULL));
      if (renamed)
        g_assert_cmpuint (n, ==, stream ? (2 << 20) + 1 : 3);
      else
        g_assert_cmpstr (text, ==, "old");
      g_assert_cmpint (count_files (folder), ==, 1);
      g_assert_cmpuint (nth, <, 100);
    }
  g_assert_cmpint (n_failed, ==, stream ? 7 : 5);
  remove_folder (folder);
}

static void
test_every_failure_keeps_the_old_file (void)
{
  for (int every = 0; every < 2; every++)
    for (int stream = 0; stream < 2; stream++)
      check_failures (TN_FAULT_FAIL, every, stream, TN_ERROR_IO);
}

static void
test_full_disk_keeps_the_old_file (void)
{
  for (int every = 0; every < 2; every++)
    for (int stream = 0; stream < 2; stream++)
      check_failures (TN_FAULT_NO_SPACE, every, stream, TN_ERROR_NO_SPACE);
}

static void
test_missing_folder_is_named (void)
{
  g_autoptr (GError) error = NULL;
  g_assert_false (tn_durable_write ("/nonexistent-tenon/project.json", "x", 1, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_IO);
  g_assert_nonnull (strstr (error->message, "/nonexistent-tenon/project.json"));
}

/* The child writes and is killed at point N; whatever the moment, the file is the old or the new one. */
static void
test_kill_at_every_point (void)
{
  if (g_test_subprocess ())
    {
      const char *path = g_getenv ("TENON_TEST_FILE");
      g_assert_true (tn_durable_write (path, "new", 3, NULL));
      return;
    }
  g_autofree char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "file", NULL);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_setenv ("TENON_TEST_FILE", path, TRUE);
  gboolean seen_old = FALSE, seen_new = FALSE;
  int point = 1;
  for (;; point++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *fault = g_strdup_printf ("kill:%d", point);
      g_assert_true (tn_durable_write (path, "old", 3, NULL));
      g_setenv ("TENON_FAULT", fault, TRUE);
      char *argv[] = { self, (char *) "--GTestSubprocess", (char *) "-p", (char *) "/base/durable/kill-at-every-point", NULL };
      int status;
      g_assert_true (g_spawn_sync (NULL, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                                   NULL, NULL, NULL, &status, &error));
      g_autofree char *text = NULL;
      g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
      g_assert_true (strcmp (text, "old") == 0 || strcmp (text, "new") == 0);
      seen_old |= strcmp (text, "old") == 0;
      seen_new |= strcmp (text, "new") == 0;
      tn_durable_clean_dir (folder);
      g_assert_cmpint (count_files (folder), ==, 1);
      if (status == 0)
        break;
      g_assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
      g_assert_cmpint (point, <, 100);
    }
  g_unsetenv ("TENON_FAULT");
  g_assert_cmpint (point, ==, 11); /* five operations, a point on each side; the eleventh does not exist */
  g_assert_true (seen_old && seen_new);
  remove_folder (folder);
}

/* Every prefix of the log, in the four extremes of what a file system keeps. */
static void
test_power_cut_at_every_event (void)
{
  g_autofree char *folder = new_folder ();
  g_autofree char *path = g_build_filename (folder, "file", NULL);
  g_autoptr (GPtrArray) events = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_fault_event_free);
  tn_fault_record (events);
  g_assert_true (tn_durable_write (path, "first", 5, NULL));
  guint first_done = events->len;
  g_assert_true (tn_durable_write (path, "second", 6, NULL));
  tn_fault_record (NULL);
  g_assert_cmpuint (events->len, ==, 10);

  for (guint n = 0; n <= events->len; n++)
    for (int keep = 0; keep < 4; keep++)
      {
        g_autoptr (GError) error = NULL;
        g_autofree char *into = new_folder ();
        g_assert_true (tn_fault_replay (events, n, folder, into, keep & 1, keep & 2, &error));
        g_assert_no_error (error);
        g_autofree char *copy = g_build_filename (into, "file", NULL);
        g_autofree char *text = NULL;
        g_file_get_contents (copy, &text, NULL, NULL);
        if (n >= first_done)
          g_assert_nonnull (text);
        if (n == events->len)
          g_assert_cmpstr (text, ==, "second");
        else if (text != NULL)
          g_assert_true (strcmp (text, "first") == 0 || strcmp (text, "second") == 0);
        remove_folder (into);
      }
  remove_folder (folder);
}

/* The replay must be able to show the mistake that durable writing avoids: a rename that overtakes the data. */
static void
test_replay_shows_a_missing_fsync (void)
{
  g_autofree char *folder = new_folder ();
  g_autofree char *temporary = g_build_filename (folder, "t", NULL);
  g_autofree char *path = g_build_filename (folder, "file", NULL);
  g_autoptr (GPtrArray) events = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_fault_event_free);
  tn_fault_record (events);
  int fd = tn_fault_create (temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  g_assert_cmpint (tn_fault_write (fd, "data", 4, temporary), ==, 4);
  close (fd);
  g_assert_cmpint (tn_fault_rename (temporary, path), ==, 0);
  g_assert_true (tn_durable_sync_dir (folder, NULL));
  tn_fault_record (NULL);

  g_autofree char *into = new_folder ();
  g_autofree char *copy = g_build_filename (into, "file", NULL);
  g_assert_true (tn_fault_replay (events, events->len, folder, into, FALSE, FALSE, NULL));
  assert_content (copy, "");
  remove_folder (into);
  remove_folder (folder);
}

static void
test_only_files_are_replaced (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = new_folder (), *pipe = g_build_filename (folder, "pipe", NULL);
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  const char *const targets[] = { pipe, folder, "/dev/null" };
  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      g_assert_false (tn_durable_write (targets[i], "x", 1, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT);
      g_assert_false (g_file_test (targets[i], G_FILE_TEST_IS_REGULAR));
      g_clear_error (&error);
    }
  g_unlink (pipe);
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/durable/replaces-whole", test_replaces_whole);
  g_test_add_func ("/base/durable/stream", test_stream);
  g_test_add_func ("/base/durable/every-failure-keeps-the-old-file", test_every_failure_keeps_the_old_file);
  g_test_add_func ("/base/durable/full-disk-keeps-the-old-file", test_full_disk_keeps_the_old_file);
  g_test_add_func ("/base/durable/missing-folder-is-named", test_missing_folder_is_named);
  g_test_add_func ("/base/durable/kill-at-every-point", test_kill_at_every_point);
  g_test_add_func ("/base/durable/power-cut-at-every-event", test_power_cut_at_every_event);
  g_test_add_func ("/base/durable/only-files-are-replaced", test_only_files_are_replaced);
  g_test_add_func ("/base/fault/replay-shows-a-missing-fsync", test_replay_shows_a_missing_fsync);
  return g_test_run ();
}
