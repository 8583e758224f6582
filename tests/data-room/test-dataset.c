/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include <zlib.h>

#include "../formats/support.h"
#include "base/error.h"
#include "formats/cifar.h"
#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/npz.h"

#define N 12

/* 12 pictures of 4 x 5; pixel k of picture i is i * 20 + k, its class i % 10. */
static TnTensor *
make_images (void)
{
  TnTensor *x = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (N, 4, 5), NULL);
  for (int i = 0; i < N * 20; i++)
    ((uint8_t *)tn_tensor_data (x))[i] = (uint8_t)i;
  return x;
}

static TnTensor *
make_labels (int n)
{
  TnTensor *y = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (n), NULL);
  for (int i = 0; i < n; i++)
    ((uint8_t *)tn_tensor_data (y))[i] = (uint8_t)(i % 10);
  return y;
}

static void
gzip_file (const char *from, const char *to)
{
  g_autofree char *bytes = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (from, &bytes, &n, NULL));
  gzFile file = gzopen (to, "wb");
  g_assert_cmpint (gzwrite (file, bytes, (unsigned)n), ==, n);
  gzclose (file);
}

static void
write_idx_pair (const char *folder, const char *images, const char *labels)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) x = make_images (), y = make_labels (N);
  g_autofree char *images_path = g_build_filename (folder, images, NULL),
                  *labels_path = g_build_filename (folder, labels, NULL);
  g_assert_true (tn_idx_write (images_path, x, &error) && tn_idx_write (labels_path, y, &error));
}

static void
check_small_pictures (TnDataset *dataset)
{
  uint8_t scratch[20];
  g_assert_cmpint (dataset->n_samples, ==, N);
  g_assert_cmpint (dataset->sample_shape.n_dims, ==, 3);
  g_assert_cmpint (dataset->sample_shape.dims[0], ==, 1);
  g_assert_cmpint (dataset->sample_shape.dims[1], ==, 4);
  g_assert_cmpint (dataset->sample_shape.dims[2], ==, 5);
  g_assert_cmpint (dataset->n_classes, ==, 10);
  g_assert_cmpstr (dataset->class_names[9], ==, "9");
  for (int64_t i = 0; i < N; i++)
    {
      const uint8_t *p = tn_dataset_sample (dataset, i, scratch);
      g_assert_cmpint (dataset->labels[i], ==, i % 10);
      for (int k = 0; k < 20; k++)
        g_assert_cmpint (p[k], ==, i * 20 + k);
    }
}

static uint64_t
open_small (const char *folder, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = name ? g_build_filename (folder, name, NULL) : g_strdup (folder);
  g_autoptr (TnDataset) dataset = tn_dataset_open (path, NULL, &error);
  g_assert_no_error (error);
  check_small_pictures (dataset);
  return tn_dataset_fingerprint (dataset);
}

static void
assert_refused (const char *folder, const char *name, const TnDatasetOptions *options, int code, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = name ? g_build_filename (folder, name, NULL) : g_strdup (folder);
  g_assert_null (tn_dataset_open (path, options, &error));
  g_assert_error (error, TN_ERROR, code);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_idx (void)
{
  g_autofree char *folder = temporary_folder ();
  write_idx_pair (folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte");
  uint64_t fingerprint = open_small (folder, NULL);
  g_assert_cmpuint (open_small (folder, "train-images-idx3-ubyte"), ==, fingerprint);
  g_assert_cmpuint (open_small (folder, "train-labels-idx1-ubyte"), ==, fingerprint);
  assert_refused (folder, NULL, &(TnDatasetOptions){ .part = TN_DATASET_TEST }, TN_ERROR_NOT_FOUND, "testing");

  /* Packed, alone: the same contents. */
  g_autofree char *packed = temporary_folder ();
  static const char *const names[] = { "train-images-idx3-ubyte", "train-labels-idx1-ubyte" };
  for (int i = 0; i < 2; i++)
    {
      g_autofree char *from = g_build_filename (folder, names[i], NULL);
      g_autofree char *name = g_strconcat (names[i], ".gz", NULL);
      g_autofree char *to = g_build_filename (packed, name, NULL);
      gzip_file (from, to);
    }
  g_assert_cmpuint (open_small (packed, NULL), ==, fingerprint);
  g_assert_cmpuint (open_small (packed, "train-labels-idx1-ubyte.gz"), ==, fingerprint);
  remove_folder (packed);
  remove_folder (folder);
}

static void
test_idx_partners (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autoptr (GError) error = NULL;
  write_idx_pair (folder, "mine-images.idx3-ubyte", "mine-labels.idx1-ubyte");
  open_small (folder, "mine-images.idx3-ubyte");
  g_autofree char *labels = g_build_filename (folder, "mine-labels.idx1-ubyte", NULL),
                  *elsewhere = g_build_filename (folder, "classes", NULL);
  g_assert_cmpint (g_rename (labels, elsewhere), ==, 0);
  assert_refused (folder, "mine-images.idx3-ubyte", NULL, TN_ERROR_NOT_FOUND, "labels");
  g_autofree char *images = g_build_filename (folder, "mine-images.idx3-ubyte", NULL);
  g_autoptr (TnDataset) dataset = tn_dataset_open (images, &(TnDatasetOptions){ .labels_path = elsewhere }, &error);
  g_assert_no_error (error);
  check_small_pictures (dataset);

  g_autoptr (TnTensor) fewer = make_labels (N - 1);
  g_assert_true (tn_idx_write (labels, fewer, &error));
  assert_refused (folder, "mine-images.idx3-ubyte", NULL, TN_ERROR_FORMAT, "12 pictures");
  assert_refused (folder, "mine-images.idx3-ubyte", NULL, TN_ERROR_FORMAT, "11 labels");
  remove_folder (folder);
}

static void
test_cifar (void)
{
  g_autofree char *folder = temporary_folder (), *path = g_build_filename (folder, "test_batch.bin", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) x = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (3, 3, 32, 32), NULL), y = make_labels (3);
  for (int i = 0; i < 3 * 3072; i++)
    ((uint8_t *)tn_tensor_data (x))[i] = (uint8_t)(i * 7 + i / 3072);
  g_assert_true (tn_cifar_write (path, x, y, NULL, &error));
  for (int whole = 0; whole < 2; whole++)
    {
      g_autoptr (TnDataset) dataset =
          tn_dataset_open (whole ? folder : path, &(TnDatasetOptions){ .part = TN_DATASET_TEST }, &error);
      g_assert_no_error (error);
      g_assert_cmpint (dataset->n_samples, ==, 3);
      g_assert_cmpint (dataset->n_classes, ==, 10); /* though only three are met */
      g_assert_cmpint (dataset->sample_shape.dims[0], ==, 3);
      g_assert_cmpint (dataset->labels[2], ==, 2);
      g_assert_cmpmem (tn_dataset_sample (dataset, 2, NULL), 3072, (uint8_t *)tn_tensor_data (x) + 2 * 3072, 3072);
    }
  assert_refused (folder, NULL, NULL, TN_ERROR_NOT_FOUND, "data_batch_1.bin");
  remove_folder (folder);
}

static void
test_arrays (void)
{
  g_autofree char *folder = temporary_folder (), *npz = g_build_filename (folder, "d.npz", NULL);
  g_autofree char *x_path = g_build_filename (folder, "x.npy", NULL),
                  *y_path = g_build_filename (folder, "y.npy", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) x = make_images (), y = make_labels (N);
  g_assert_true (tn_npz_write (npz, (const char *[]){ "images", "labels" }, (TnTensor *[]){ x, y }, 2, &error));
  uint64_t fingerprint = open_small (folder, NULL);
  g_assert_true (tn_npy_write (x_path, x, &error) && tn_npy_write (y_path, y, &error));
  g_assert_cmpuint (open_small (folder, NULL), ==, fingerprint);
  g_assert_cmpuint (open_small (folder, "x.npy"), ==, fingerprint);
  g_assert_cmpuint (open_small (folder, "d.npz"), ==, fingerprint);

  g_assert_true (tn_npz_write (npz, (const char *[]){ "pixels", "labels" }, (TnTensor *[]){ x, y }, 2, &error));
  assert_refused (folder, "d.npz", NULL, TN_ERROR_FORMAT, "pixels");
  g_assert_true (
      tn_npz_write (npz, (const char *[]){ "x_test", "y_test", "x_train" }, (TnTensor *[]){ x, y, x }, 3, &error));
  g_autoptr (TnDataset) part = tn_dataset_open (npz, &(TnDatasetOptions){ .part = TN_DATASET_TEST }, &error);
  check_small_pictures (part);
  g_autoptr (TnTensor) fewer = make_labels (N - 1);
  g_assert_true (tn_npy_write (y_path, fewer, &error));
  assert_refused (folder, "x.npy", NULL, TN_ERROR_FORMAT, "12 samples but 11 labels");
  g_unlink (y_path);
  assert_refused (folder, "x.npy", NULL, TN_ERROR_NOT_FOUND, "y.npy");
  remove_folder (folder);
}

/* Rows, targets, and pictures whose colour comes last: from the rules in dataset.h. */
static void
test_kinds_of_arrays (void)
{
  g_autoptr (GError) error = NULL;
  double rows[6] = { 1, 2, 3, 4, 5, 6 };
  g_autoptr (TnTensor) x = tn_tensor_new_from (TN_DTYPE_F64, TN_SHAPE (3, 2), rows);
  g_autoptr (TnTensor) y = tn_tensor_new_from (TN_DTYPE_F32, TN_SHAPE (3), (float[]){ .5f, 1.5f, 2.5f });
  g_autoptr (TnDataset) table = tn_dataset_new_from_tensors (x, y, NULL, "rows", &error);
  g_assert_cmpint (table->dtype, ==, TN_DTYPE_F32);
  g_assert_cmpfloat (((const float *)tn_dataset_sample (table, 1, NULL))[1], ==, 4);
  g_assert_null (table->labels);
  g_assert_cmpint (table->target_width, ==, 1);
  g_assert_cmpfloat (table->targets[2], ==, 2.5f);

  g_autoptr (TnTensor) colour = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (2, 5, 6, 3), NULL);
  for (int i = 0; i < 180; i++)
    ((uint8_t *)tn_tensor_data (colour))[i] = (uint8_t)i;
  g_autoptr (TnTensor) classes = tn_tensor_new_from (TN_DTYPE_I64, TN_SHAPE (2, 1), (int64_t[]){ 1, 0 });
  g_autoptr (TnDataset) pictures =
      tn_dataset_new_from_tensors (colour, classes, (const char *[]){ "cat", "dog", "owl", NULL }, "colour", &error);
  g_assert_cmpint (pictures->sample_shape.dims[0], ==, 3);
  g_assert_cmpint (pictures->sample_shape.dims[2], ==, 6);
  g_assert_cmpint (((const uint8_t *)tn_dataset_sample (pictures, 1, NULL))[2 * 30 + 6 * 1 + 4], ==,
                   90 + (6 + 4) * 3 + 2);
  g_assert_cmpint (pictures->n_classes, ==, 3);
  g_assert_cmpstr (pictures->class_names[2], ==, "owl");

  g_autoptr (TnTensor) negative = tn_tensor_new_from (TN_DTYPE_I64, TN_SHAPE (3), (int64_t[]){ 0, 1, -1 });
  g_assert_null (tn_dataset_new_from_tensors (x, negative, NULL, "rows", &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "sample 2 has the label -1"));
  g_clear_error (&error);
  g_autoptr (TnTensor) none = tn_tensor_new (TN_DTYPE_F32, TN_SHAPE (0, 2), NULL),
                       no_labels = tn_tensor_new (TN_DTYPE_I64, TN_SHAPE (0), NULL);
  g_assert_null (tn_dataset_new_from_tensors (none, no_labels, NULL, "nothing", &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
}

static void
test_not_understood (void)
{
  g_autofree char *folder = temporary_folder (), *path = g_build_filename (folder, "notes.txt", NULL),
                  *bin = g_build_filename (folder, "a.bin", NULL);
  static const char *const understood[] = { "drawn-digits", "IDX", "CIFAR", ".npz", "y.npy" };
  write_bytes (path, "hello", 5);
  for (gsize i = 0; i < G_N_ELEMENTS (understood); i++)
    {
      assert_refused (folder, "notes.txt", NULL, TN_ERROR_INVALID_ARGUMENT, understood[i]);
      assert_refused (folder, NULL, NULL, TN_ERROR_INVALID_ARGUMENT, understood[i]);
      assert_refused ("mnist", NULL, NULL, TN_ERROR_INVALID_ARGUMENT, understood[i]);
    }
  write_bytes (path, "", 0);
  assert_refused (folder, "notes.txt", NULL, TN_ERROR_INVALID_ARGUMENT, "an empty file");
  write_bytes (path, "<!DOCTYPE html>", 15);
  assert_refused (folder, "notes.txt", NULL, TN_ERROR_INVALID_ARGUMENT, "a web page");
  write_bytes (bin, "\1\2\3", 3);
  assert_refused (folder, "a.bin", NULL, TN_ERROR_FORMAT, "3073");
  assert_refused (folder, "not/there", NULL, TN_ERROR_NOT_FOUND, "not/there");
  assert_refused ("drawn-digits:0", NULL, NULL, TN_ERROR_INVALID_ARGUMENT, "1 to");
  assert_refused ("drawn-digits:12x", NULL, NULL, TN_ERROR_INVALID_ARGUMENT, "1 to");
  remove_folder (folder);
}

static gboolean
open_damaged (const char *path, gint64 flipped_byte, gpointer labels, GError **error)
{
  g_autoptr (TnDataset) dataset = tn_dataset_open (path, &(TnDatasetOptions){ .labels_path = labels }, error);
  if (!dataset)
    return FALSE;
  /* Whatever was read lies in memory that is there. */
  tn_dataset_fingerprint (dataset);
  for (int64_t i = 0; dataset->labels && i < dataset->n_samples; i++)
    g_assert_true (dataset->labels[i] >= 0 && dataset->labels[i] < dataset->n_classes);
  return TRUE;
}

static void
test_damage (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autoptr (GError) error = NULL;
  g_autoptr (TnTensor) x = make_images (), y = make_labels (N),
                       colour = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (2, 3, 32, 32), NULL), two = make_labels (2);
  write_idx_pair (folder, "t-images-idx3-ubyte", "t-labels-idx1-ubyte");
  g_autofree char *idx = g_build_filename (folder, "t-images-idx3-ubyte", NULL),
                  *labels = g_build_filename (folder, "t-labels-idx1-ubyte", NULL);
  g_autofree char *gz = g_build_filename (folder, "p.gz", NULL), *npz = g_build_filename (folder, "d.npz", NULL);
  g_autofree char *npy = g_build_filename (folder, "x.npy", NULL),
                  *npy_labels = g_build_filename (folder, "y.npy", NULL);
  g_autofree char *bin = g_build_filename (folder, "c.bin", NULL);
  gzip_file (idx, gz);
  g_assert_true (tn_npz_write (npz, (const char *[]){ "x", "y" }, (TnTensor *[]){ x, y }, 2, &error));
  g_assert_true (tn_npy_write (npy, x, &error) && tn_npy_write (npy_labels, y, &error));
  g_assert_true (tn_cifar_write (bin, colour, two, NULL, &error));
  damage_file (idx, TRUE, open_damaged, labels);
  damage_file (gz, TRUE, open_damaged, labels);
  damage_file (npz, TRUE, open_damaged, NULL);
  damage_file (npy, TRUE, open_damaged, npy_labels);
  damage_file (bin, TRUE, open_damaged, NULL);
  remove_folder (folder);
}

static void
test_fingerprint (void)
{
  g_autoptr (TnTensor) x = make_images (), y = make_labels (N);
  g_autoptr (TnDataset) a = tn_dataset_new_from_tensors (x, y, NULL, "a", NULL);
  uint64_t before = tn_dataset_fingerprint (a);
  for (int i = 0; i < N * 20 + N; i++)
    {
      uint8_t *at = i < N * 20 ? (uint8_t *)tn_tensor_data (x) + i : (uint8_t *)tn_tensor_data (y) + i - N * 20;
      *at ^= 1;
      g_autoptr (TnDataset) b = tn_dataset_new_from_tensors (x, y, NULL, "b", NULL);
      g_assert_cmpuint (tn_dataset_fingerprint (b), !=, before);
      *at ^= 1;
    }
  g_autoptr (TnDataset) again = tn_dataset_new_from_tensors (x, y, NULL, "named otherwise", NULL);
  g_assert_cmpuint (tn_dataset_fingerprint (again), ==, before);
  g_autoptr (TnDataset) drawn = tn_dataset_new_drawn_digits (100, 1), other = tn_dataset_new_drawn_digits (100, 2);
  g_assert_cmpuint (tn_dataset_fingerprint (drawn), !=, tn_dataset_fingerprint (other));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/data/dataset/idx-plain-packed-folder", test_idx);
  g_test_add_func ("/data/dataset/idx-partners-must-fit", test_idx_partners);
  g_test_add_func ("/data/dataset/cifar-file-and-folder", test_cifar);
  g_test_add_func ("/data/dataset/npy-and-npz", test_arrays);
  g_test_add_func ("/data/dataset/kinds-of-arrays", test_kinds_of_arrays);
  g_test_add_func ("/data/dataset/what-is-not-understood-lists-what-is", test_not_understood);
  g_test_add_func ("/data/dataset/damage-never-crashes", test_damage);
  g_test_add_func ("/data/dataset/fingerprint-is-of-contents", test_fingerprint);
  return g_test_run ();
}
