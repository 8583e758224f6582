/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/idx.h"

#include <zlib.h>

#include "base/error.h"
#include "support.h"

/* [2][2][3] uint8, 0..11, written out by hand from the format's description. */
static const guint8 small[] = { 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

static void
test_reads_hand_written_file (void)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (small, sizeof small);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) t = tn_idx_parse (bytes, "small", &error);
  g_assert_no_error (error);
  g_assert_cmpint (t->dtype, ==, TN_DTYPE_U8);
  g_assert_cmpint (t->shape.n_dims, ==, 3);
  g_assert_cmpint (t->shape.dims[2], ==, 3);
  for (int i = 0; i < 12; i++)
    g_assert_cmpfloat (tn_tensor_get (t, i), ==, i);
}

static void
test_big_endian_types (void)
{
  static const struct
  {
    guint8 bytes[16];
    gsize n;
    double value;
  } cases[] = {
    { { 0, 0, 9, 1, 0, 0, 0, 1, 0xfe }, 9, -2 },
    { { 0, 0, 0xb, 1, 0, 0, 0, 1, 0xff, 0x00 }, 10, -256 },
    { { 0, 0, 0xc, 1, 0, 0, 0, 1, 0, 1, 0, 2 }, 12, 65538 },
    { { 0, 0, 0xd, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0 }, 12, 1.5 },
    { { 0, 0, 0xe, 1, 0, 0, 0, 1, 0xbf, 0xf8, 0, 0, 0, 0, 0, 0 }, 16, -1.5 },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GBytes) bytes = g_bytes_new_static (cases[i].bytes, cases[i].n);
      g_autoptr (TnTensor) t = tn_idx_parse (bytes, "case", NULL);
      g_assert_nonnull (t);
      g_assert_cmpfloat (tn_tensor_get (t, 0), ==, cases[i].value);
    }
}

static void
test_written_file_reads_back (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "t-idx2", NULL);
  g_autoptr (GError) error = NULL;
  const TnDType dtypes[] = { TN_DTYPE_U8, TN_DTYPE_I8, TN_DTYPE_I16, TN_DTYPE_I32, TN_DTYPE_F32, TN_DTYPE_F64 };
  for (gsize k = 0; k < G_N_ELEMENTS (dtypes); k++)
    {
      g_autoptr (TnTensor) t = tn_tensor_new (dtypes[k], TN_SHAPE (3, 5), NULL);
      for (int i = 0; i < 15; i++)
        tn_tensor_set (t, i, i * 3);
      g_assert_true (tn_idx_write (path, t, &error));
      g_assert_no_error (error);
      g_autoptr (TnTensor) back = tn_idx_read (path, &error);
      g_assert_no_error (error);
      g_assert_cmpint (back->dtype, ==, dtypes[k]);
      for (int i = 0; i < 15; i++)
        g_assert_cmpfloat (tn_tensor_get (back, i), ==, i * 3);
    }
  remove_folder (folder);
}

static void
expect_refusal (const guint8 *data, gsize n, const char *in_message)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, n);
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_idx_parse (bytes, "bad", &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, in_message));
}

static void
test_wrong_files_are_named (void)
{
  guint8 longer[sizeof small + 1] = { 0 }, huge[] = { 0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };
  memcpy (longer, small, sizeof small);
  expect_refusal (small, sizeof small - 1, "cut short");
  expect_refusal (longer, sizeof longer, "29");
  expect_refusal (huge, sizeof huge, "more than a file can hold");
  expect_refusal ((const guint8 *) "", 0, "empty");
  expect_refusal ((const guint8 *) "<!DOCTYPE html>", 15, "web page");
  expect_refusal ((const guint8 *) "PK\3\4aaaaaaaaaaaa", 16, "zip");
}

static gboolean
write_gzip (const char *path, const void *data, unsigned n)
{
  gzFile file = gzopen (path, "wb");
  return gzwrite (file, data, n) == (int) n && gzclose (file) == Z_OK;
}

static void
test_gzip_is_told_by_content (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "no-suffix-idx3-ubyte", NULL);
  g_assert_true (write_gzip (path, small, sizeof small));
  g_autoptr (TnTensor) t = tn_idx_read (path, NULL);
  g_assert_nonnull (t);
  g_assert_cmpfloat (tn_tensor_get (t, 11), ==, 11);
  remove_folder (folder);
}

/* zlib makes the data; what is put behind it is ours. Zeros are padding, as on tape; anything else is a fault. */
static void
test_what_follows_gzip_data (void)
{
  static const struct
  {
    const char *tail;
    gsize n;
    gboolean ok;
  } tails[] = { { "", 0, TRUE }, { "\0\0\0\0\0", 5, TRUE }, { "x", 1, FALSE }, { "\0\0more", 6, FALSE }, { "\x1f\x8b\x08", 3, FALSE } };
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "x", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (tails); i++)
    {
      g_autofree char *bytes = NULL;
      gsize n = 0;
      g_assert_true (write_gzip (path, small, sizeof small) && g_file_get_contents (path, &bytes, &n, NULL));
      g_autoptr (GByteArray) joined = g_byte_array_new ();
      g_byte_array_append (joined, (guint8 *) bytes, (guint) n);
      g_byte_array_append (joined, (const guint8 *) tails[i].tail, (guint) tails[i].n);
      write_bytes (path, joined->data, joined->len);
      g_autoptr (GError) error = NULL;
      g_autoptr (TnTensor) t = tn_idx_read (path, &error);
      g_assert_true ((t != NULL) == tails[i].ok);
      if (!tails[i].ok)
        g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
    }
  remove_folder (folder);
}

static void
test_small_gzip_cannot_claim_much (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "x", NULL);
  const guint8 header[] = { 0, 0, 8, 2, 0, 1, 0, 0, 0, 0, 255, 0, 1, 2, 3 };
  g_autoptr (GError) error = NULL;
  g_assert_true (write_gzip (path, header, sizeof header));
  g_assert_null (tn_idx_read (path, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "cannot"));
  remove_folder (folder);
}

static void
test_partners (void)
{
  static const char *const pairs[][2] = {
    { "train-images-idx3-ubyte", "train-labels-idx1-ubyte" },
    { "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz" },
    { "a-images-idx3-ubyte.gz", "a-labels-idx1-ubyte" },
    { "b-images.idx3-ubyte", "b-labels.idx1-ubyte" },
    { "c-images.idx3-ubyte", "c-labels-idx1-ubyte.gz" },
  };
  g_autofree char *folder = temporary_folder ();
  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autofree char *images = g_build_filename (folder, pairs[i][0], NULL), *labels = g_build_filename (folder, pairs[i][1], NULL);
      g_assert_null (tn_idx_find_partner (images));
      write_bytes (images, small, sizeof small);
      write_bytes (labels, small, sizeof small);
      g_autofree char *to = tn_idx_find_partner (images), *fro = tn_idx_find_partner (labels);
      g_assert_cmpstr (to, ==, labels);
      g_assert_cmpstr (fro, ==, images);
    }
  remove_folder (folder);
}

static gboolean
read_damaged (const char *path, gint64 flipped_byte, gpointer data, GError **error)
{
  g_autoptr (TnTensor) t = tn_idx_read (path, error);
  if (t && flipped_byte >= 0)
    {
      /* A changed size or type never goes through: only elements may differ. Sizes 17 x 8 have no other factors that a single bit makes. */
      g_assert_cmpint (tn_tensor_bytes (t), ==, 17 * 8 * 8);
      g_assert_true (!data || flipped_byte >= 16 || flipped_byte == 2);
    }
  return t != NULL;
}

static void
test_damage (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "x-idx3-ubyte", NULL), *gz = g_build_filename (folder, "x-idx3-ubyte.gz", NULL);
  g_autoptr (TnTensor) t = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (17, 8, 8), NULL);
  for (int i = 0; i < 17 * 64; i++)
    tn_tensor_set (t, i, i * 7 % 251);
  g_assert_true (tn_idx_write (path, t, NULL));
  damage_file (path, TRUE, read_damaged, t);
  g_autofree char *bytes = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL) && write_gzip (gz, bytes, (unsigned) n));
  damage_file (gz, TRUE, read_damaged, NULL);
  remove_folder (folder);
}

static void
test_mnist (void)
{
  g_autofree char *data = shared_folder ("TENON_DATA", "data");
  if (!data)
    return;
  g_autofree char *path = g_build_filename (data, "mnist", "train-images-idx3-ubyte.gz", NULL);
  g_autofree char *labels_path = tn_idx_find_partner (path);
  g_autoptr (GError) error = NULL;
  gint64 start = g_get_monotonic_time ();
  g_autoptr (TnTensor) images = tn_idx_read (path, &error);
  g_test_message ("60,000 pictures unpacked in %" G_GINT64_FORMAT " ms", (g_get_monotonic_time () - start) / 1000);
  g_assert_no_error (error);
  g_autoptr (TnTensor) labels = tn_idx_read (labels_path, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_tensor_count (images), ==, 60000 * 784);
  /* The first labels, and how often each class is met among the first 10,000 (counted with NumPy); the mean pixel that
   * everybody normalises with. */
  static const int counts[10] = { 1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978 };
  const guint8 *l = tn_tensor_data (labels), *p = tn_tensor_data (images), first[] = { 5, 0, 4, 1, 9 };
  int found[10] = { 0 };
  double sum = 0;
  g_assert_cmpmem (l, 5, first, 5);
  for (int i = 0; i < 10000; i++)
    found[l[i]]++;
  g_assert_cmpmem (found, sizeof found, counts, sizeof counts);
  for (int i = 0; i < 60000 * 784; i++)
    sum += p[i];
  g_assert_cmpfloat_with_epsilon (sum / 60000 / 784 / 255, 0.1307, 1e-3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/idx/reads-hand-written-file", test_reads_hand_written_file);
  g_test_add_func ("/formats/idx/big-endian-types", test_big_endian_types);
  g_test_add_func ("/formats/idx/written-file-reads-back", test_written_file_reads_back);
  g_test_add_func ("/formats/idx/wrong-files-are-named", test_wrong_files_are_named);
  g_test_add_func ("/formats/idx/gzip-is-told-by-content", test_gzip_is_told_by_content);
  g_test_add_func ("/formats/idx/small-gzip-cannot-claim-much", test_small_gzip_cannot_claim_much);
  g_test_add_func ("/formats/idx/what-follows-gzip-data-is-refused", test_what_follows_gzip_data);
  g_test_add_func ("/formats/idx/images-and-labels-find-each-other", test_partners);
  g_test_add_func ("/formats/idx/damage-never-crashes-nor-changes-sizes", test_damage);
  g_test_add_func ("/formats/idx/mnist-is-what-it-is-known-to-be", test_mnist);
  return g_test_run ();
}
