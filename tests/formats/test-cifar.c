/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/cifar.h"

#include "base/error.h"
#include "support.h"

/* Records by hand from the data set's description: label, then red, green and blue planes. */
static guint8 *
make_records (int n, gboolean hundred, int bad_record, gsize *n_bytes)
{
  gsize record = hundred ? 3074 : 3073;
  guint8 *data = g_malloc (record * (gsize) n);
  *n_bytes = record * (gsize) n;
  for (int i = 0; i < n; i++)
    {
      guint8 *p = data + record * (gsize) i;
      if (hundred)
        *p++ = (guint8) (i % 20);
      *p++ = (guint8) (i == bad_record ? 200 : i % (hundred ? 100 : 10));
      for (int k = 0; k < 3072; k++)
        p[k] = (guint8) (k / 1024 * 50 + i);
    }
  return data;
}

static void
test_planes_and_labels (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "a.bin", NULL);
  gsize n;
  for (int hundred = 0; hundred < 2; hundred++)
    {
      g_autofree guint8 *data = make_records (7, hundred, -1, &n);
      g_autoptr (GError) error = NULL;
      write_bytes (path, data, n);
      g_assert_cmpint (tn_cifar_probe (path, &error), ==, hundred ? 100 : 10);
      g_autoptr (TnCifar) cifar = tn_cifar_read ((const char *[]){ path, NULL }, &error);
      g_assert_no_error (error);
      g_assert_cmpint (cifar->images->shape.dims[0], ==, 7);
      g_assert_cmpint (cifar->images->shape.dims[1], ==, 3);
      g_assert_cmpfloat (tn_tensor_get (cifar->labels, 6), ==, 6);
      g_assert_cmpfloat (tn_tensor_get (cifar->images, 6 * 3072 + 2048), ==, 106);
      g_assert_true ((cifar->coarse != NULL) == hundred);

      g_autofree char *copy = g_build_filename (folder, "copy.bin", NULL), *bytes = NULL;
      gsize n_copy;
      g_assert_true (tn_cifar_write (copy, cifar->images, cifar->labels, cifar->coarse, &error));
      g_assert_true (g_file_get_contents (copy, &bytes, &n_copy, NULL));
      g_assert_cmpmem (bytes, n_copy, data, n);
    }
  remove_folder (folder);
}

static void
test_refusals (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "a.bin", NULL);
  gsize n;
  g_autofree guint8 *data = make_records (5, FALSE, 3, &n);
  g_autoptr (GError) error = NULL;
  write_bytes (path, data, n);
  g_assert_cmpint (tn_cifar_probe (path, &error), ==, 0);
  g_assert_nonnull (strstr (error->message, "record 3 has the label 200"));
  g_clear_error (&error);
  write_bytes (path, data, n - 1);
  g_assert_cmpint (tn_cifar_probe (path, &error), ==, 0);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, "3073"));
  g_clear_error (&error);
  write_bytes (path, "\x80\x02pickle", 8);
  g_assert_cmpint (tn_cifar_probe (path, &error), ==, 0);
  g_assert_nonnull (strstr (error->message, "pickle"));
  remove_folder (folder);
}

static void
test_folder_needs_all_batches (void)
{
  g_autofree char *folder = temporary_folder ();
  gsize n;
  g_autofree guint8 *data = make_records (10, FALSE, -1, &n);
  for (int i = 1; i <= 5; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *name = g_strdup_printf ("data_batch_%d.bin", i);
      g_autofree char *path = g_build_filename (folder, name, NULL);
      write_bytes (path, data, n);
      g_autoptr (TnCifar) cifar = tn_cifar_read_folder (folder, FALSE, &error);
      if (i < 5)
        g_assert_error (error, TN_ERROR, TN_ERROR_NOT_FOUND);
      else
        g_assert_cmpint (cifar->labels->shape.dims[0], ==, 50);
    }
  remove_folder (folder);
}

static gboolean
read_damaged (const char *path, gint64 flipped_byte, gpointer data, GError **error)
{
  g_autoptr (TnCifar) cifar = tn_cifar_read ((const char *[]){ path, NULL }, error);
  if (cifar && flipped_byte >= 0)
    g_assert_cmpint (cifar->labels->shape.dims[0], ==, 3);
  return cifar != NULL;
}

static void
test_damage (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "a.bin", NULL);
  gsize n;
  g_autofree guint8 *data = make_records (3, FALSE, -1, &n);
  write_bytes (path, data, n);
  damage_file (path, TRUE, read_damaged, NULL);
  remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/cifar/planes-and-labels", test_planes_and_labels);
  g_test_add_func ("/formats/cifar/wrong-files-are-named", test_refusals);
  g_test_add_func ("/formats/cifar/folder-needs-all-batches", test_folder_needs_all_batches);
  g_test_add_func ("/formats/cifar/damage-never-crashes", test_damage);
  return g_test_run ();
}
