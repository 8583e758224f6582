/* SPDX-License-Identifier: Apache-2.0 */
#include <glib/gstdio.h>
#include <string.h>
#include "base/error.h"
#include "formats/ckpt.h"
#include "ops/truth.h"

/* Checkpoints that MindSpore wrote (truth folder mindspore/checkpoints, checkpoints.json). */

static gboolean
append_sink (gpointer sink, const void *data, size_t n, GError **error)
{
  g_byte_array_append (sink, data, (guint) n);
  return TRUE;
}

static char *
digest_of (TnCkpt *file, const TnCkptEntry *entry)
{
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *data = g_malloc (entry->bytes + 1);
  tn_ckpt_load_raw (file, entry, data, &error);
  g_assert_no_error (error);
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, data, entry->bytes);
}

/* "records": [name, dims, type, bytes, start of sha256] */
static void
check_file (const char *path, JsonObject *want)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnCkpt) file = tn_ckpt_open (path, &error);
  g_assert_no_error (error);
  JsonArray *records = json_object_get_array_member (want, "records");
  g_assert_cmpuint (tn_ckpt_n (file), ==, json_array_get_length (records));
  g_autoptr (GByteArray) again = g_byte_array_new ();
  gboolean all_known = !json_object_has_member (want, "crc_check");
  for (guint i = 0; i < tn_ckpt_n (file); i++)
    {
      const TnCkptEntry *entry = tn_ckpt_entry (file, i);
      JsonArray *record = json_array_get_array_element (records, i), *dims = json_array_get_array_element (record, 1);
      g_assert_cmpstr (entry->name, ==, json_array_get_string_element (record, 0));
      g_assert_cmpstr (entry->type_name, ==, json_array_get_string_element (record, 2));
      g_assert_cmpuint (entry->bytes, ==, json_array_get_int_element (record, 3));
      for (guint d = 0; d < json_array_get_length (dims) && entry->dtype != TN_DTYPE_COUNT; d++)
        g_assert_cmpint (entry->shape.dims[d], ==, json_array_get_int_element (dims, d));
      g_autofree char *digest = digest_of (file, entry);
      g_assert_true (g_str_has_prefix (digest, json_array_get_string_element (record, 4)));
      all_known = all_known && entry->dtype != TN_DTYPE_COUNT;
      g_autofree char *data = g_malloc (entry->bytes + 1);
      g_assert_true (tn_ckpt_load_raw (file, entry, data, NULL));
      if (all_known)
        g_assert_true (tn_ckpt_write (append_sink, again, entry->name, entry->dtype, &entry->shape, data, NULL));
    }
  g_autofree char *bytes = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  if (all_known)
    g_assert_cmpmem (again->data, again->len, bytes, n); /* written again: the same bytes */
}

/* The list holds Python's NaN and Infinity, which are no JSON. */
static JsonNode *
load_list (const char *path)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return NULL;
  g_autoptr (GString) clean = g_string_new (text);
  g_string_replace (clean, "NaN", "0", 0);
  g_string_replace (clean, "Infinity", "0", 0);
  return json_from_string (clean->str, NULL);
}

static void
for_each_checkpoint (void (*check) (const char *path, JsonObject *want))
{
  g_autofree char *folder = truth_folder (), *list = folder != NULL ? g_build_filename (folder, "mindspore/checkpoints/checkpoints.json", NULL) : NULL;
  g_autoptr (JsonNode) root = list != NULL ? load_list (list) : NULL;
  if (root == NULL)
    {
      g_test_skip ("no truth folder");
      return;
    }
  g_autoptr (GList) names = json_object_get_members (json_node_get_object (root));
  for (GList *l = names; l != NULL; l = l->next)
    if (g_str_has_suffix (l->data, ".ckpt"))
      {
        g_autofree char *path = g_build_filename (folder, "mindspore/checkpoints", l->data, NULL);
        check (path, json_object_get_object_member (json_node_get_object (root), l->data));
      }
}

static void
check_one (const char *path, JsonObject *want)
{
  g_autoptr (GError) error = NULL;
  if (json_object_has_member (want, "records"))
    check_file (path, want);
  else if (strstr (path, "encrypted") != NULL)
    {
      g_assert_null (tn_ckpt_open (path, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
      g_assert_nonnull (strstr (error->message, "encrypted"));
    }
}

static void
test_truth (void)
{
  for_each_checkpoint (check_one);
}

/* ---- damage ---- */

static int refused, read_whole;

/* Either refused with a message or read as something that can be loaded: never a crash, never more memory than the file holds. */
static void
try_bytes (const char *path, const char *bytes, gsize n)
{
  g_autoptr (GError) error = NULL;
  g_assert_true (g_file_set_contents (path, bytes, (gssize) n, NULL));
  g_autoptr (TnCkpt) file = tn_ckpt_open (path, &error);
  if (file == NULL)
    {
      g_assert_true (error != NULL && error->message[0] != '\0');
      refused++;
      return;
    }
  for (guint i = 0; i < tn_ckpt_n (file); i++)
    {
      g_assert_cmpuint (tn_ckpt_entry (file, i)->bytes, <=, n);
      g_autofree char *data = g_malloc (n + 1);
      g_assert_true (tn_ckpt_load_raw (file, tn_ckpt_entry (file, i), data, NULL));
    }
  read_whole++;
}

static void
damage (const char *path, JsonObject *want)
{
  g_autofree char *bytes = NULL, *folder = g_dir_make_tmp ("tenon-ckpt-XXXXXX", NULL), *copy = g_build_filename (folder, "x.ckpt", NULL);
  gsize n;
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  if (n > 1000)
    {
      g_rmdir (folder);
      return;
    }
  for (gsize cut = 0; cut < n; cut += 16)
    try_bytes (copy, bytes, cut);
  for (int i = 0; i < 200; i++)
    {
      gsize at = (gsize) g_test_rand_int_range (0, (gint32) n);
      char mask = (char) (1 << g_test_rand_int_range (0, 8));
      bytes[at] ^= mask;
      try_bytes (copy, bytes, n);
      bytes[at] ^= mask;
    }
  g_unlink (copy);
  g_rmdir (folder);
}

static void
test_damage (void)
{
  for_each_checkpoint (damage);
  g_test_message ("%d damaged files refused, %d readable all the same (a flip inside of contents or a name)", refused, read_whole);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/ckpt/reads-what-mindspore-wrote-and-writes-the-same-bytes", test_truth);
  g_test_add_func ("/formats/ckpt/damaged-files-are-refused", test_damage);
  return g_test_run ();
}
