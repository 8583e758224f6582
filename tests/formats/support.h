/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

/* What the tests of readers share: folders, and damage. */

/** A folder of the shared files ("truth", "data"), or NULL (the test is skipped). TENON_TRUTH and TENON_DATA name others. */
static inline char *
shared_folder (const char *variable, const char *name)
{
  const char *given = g_getenv (variable);
  g_autofree char *up = g_strdup ("../shared");
  for (int i = 0; !given && i < 5; i++)
    {
      char *path = g_build_filename (up, name, NULL);
      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        return path;
      g_free (path);
      char *more = g_strconcat ("../", up, NULL);
      g_free (up);
      up = more;
    }
  if (given && g_file_test (given, G_FILE_TEST_IS_DIR))
    return g_strdup (given);
  g_test_skip ("the shared files are not there");
  return NULL;
}

static inline char *
temporary_folder (void)
{
  char *folder = g_dir_make_tmp ("tenon-test-XXXXXX", NULL);
  g_assert_nonnull (folder);
  return folder;
}

static inline void
remove_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name (dir)))
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      if (g_file_test (path, G_FILE_TEST_IS_DIR))
        remove_folder (path);
      else
        g_unlink (path);
    }
  g_rmdir (folder);
}

static inline void
write_bytes (const char *path, const void *data, size_t n)
{
  /* Not g_file_set_contents_full(): without CONSISTENT it leaves the end of a longer file that was there before. And a new file,
   * as ext4 waits for the disk when an old one that was cut to nothing is closed. */
  g_unlink (path);
  FILE *file = fopen (path, "wb");
  g_assert_nonnull (file);
  g_assert_cmpint (fwrite (data, 1, n, file), ==, n);
  g_assert_cmpint (fclose (file), ==, 0);
}

/** Reads @path as far as the reader goes. TRUE: a success; FALSE: @error is set. The reader asserts itself that what it got is
 * plausible for @flipped_byte (-1: the file was cut). */
typedef gboolean (*DamagedReader) (const char *path, gint64 flipped_byte, gpointer data, GError **error);

/** Cuts the file @good at every 64th byte and flips 1,000 single bits; every outcome must be a success or an error, never a
 * crash, and a cut file must be refused where @cut_is_error. Prints the seed. */
static inline void
damage_file (const char *good, gboolean cut_is_error, DamagedReader reader, gpointer data)
{
  g_autofree char *bytes = NULL;
  gsize n;
  guint32 seed = g_test_rand_int_range (1, G_MAXINT32);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree char *suffix = strrchr (good, '.') ? g_strdup (strrchr (good, '.')) : g_strdup ("");
  g_autofree char *path = g_strconcat (good, ".damaged", suffix, NULL);
  int refused = 0;

  g_test_message ("damage seed %u", seed);
  g_assert_true (g_file_get_contents (good, &bytes, &n, NULL));
  for (gsize cut = 0; cut < n; cut += 64)
    {
      g_autoptr (GError) error = NULL;
      write_bytes (path, bytes, cut);
      gboolean ok = reader (path, -1, data, &error);
      g_assert_true (ok == (error == NULL));
      if (cut_is_error)
        g_assert_false (ok);
    }
  for (int i = 0; i < 1000; i++)
    {
      g_autoptr (GError) error = NULL;
      /* Half of the flips go to the beginning, where the headers are. */
      gsize at = (gsize) g_rand_int_range (rand, 0, (gint32) (i % 2 ? MIN (n, 128) : n));
      int bit = g_rand_int_range (rand, 0, 8);
      bytes[at] ^= (char) (1 << bit);
      write_bytes (path, bytes, n);
      bytes[at] ^= (char) (1 << bit);
      gboolean ok = reader (path, (gint64) at, data, &error);
      g_assert_true (ok == (error == NULL));
      refused += !ok;
    }
  g_test_message ("%d of 1000 flips were refused", refused);
  g_unlink (path);
}
