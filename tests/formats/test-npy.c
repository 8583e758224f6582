/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "support.h"

/* Files in tests/data/npy were written by NumPy; see README.md there. */
static char *
fixture (const char *name)
{
  return g_build_filename (TEST_DATA, "npy", name, NULL);
}

static TnTensor *
read_fixture (const char *name)
{
  g_autofree char *path = fixture (name);
  g_autoptr (GError) error = NULL;
  TnTensor *t = tn_npy_read (path, &error);
  g_assert_no_error (error);
  return t;
}

static void
check_values (const char *name, TnDType dtype, int n, const double *values)
{
  g_autoptr (TnTensor) t = read_fixture (name);
  g_assert_cmpint (t->dtype, ==, dtype);
  g_assert_cmpint (tn_tensor_count (t), ==, n);
  for (int i = 0; i < n; i++)
    g_assert_cmpfloat (tn_tensor_get (t, i), ==, values[i]);
}

static void
test_numpy_dtypes (void)
{
  check_values ("i4-big-endian.npy", TN_DTYPE_I32, 6, (double[]){ -3, -2, -1, 0, 1, 2 });
  check_values ("f2.npy", TN_DTYPE_F16, 3, (double[]){ 0.5, -1.5, 65504 });
  check_values ("u2.npy", TN_DTYPE_I32, 3, (double[]){ 0, 40000, 65535 });
  check_values ("u4-big-endian.npy", TN_DTYPE_I64, 2, (double[]){ 0, 4000000000 });
  check_values ("bool.npy", TN_DTYPE_BOOL, 3, (double[]){ 1, 0, 1 });
  check_values ("scalar.npy", TN_DTYPE_I64, 1, (double[]){ 7 });
  check_values ("version2.npy", TN_DTYPE_I16, 5, (double[]){ 0, 1, 2, 3, 4 });
  check_values ("version3.npy", TN_DTYPE_I16, 5, (double[]){ 0, 1, 2, 3, 4 });
  g_autoptr (TnTensor) empty = read_fixture ("empty.npy");
  g_assert_cmpint (empty->shape.n_dims, ==, 2);
  g_assert_cmpint (empty->shape.dims[1], ==, 3);
}

static void
test_fortran_order (void)
{
  g_autoptr (TnTensor) t = read_fixture ("f8-fortran.npy");
  g_assert_cmpint (t->shape.dims[0], ==, 2);
  g_assert_cmpint (t->shape.dims[2], ==, 4);
  for (int i = 0; i < 24; i++)
    g_assert_cmpfloat (tn_tensor_get (t, i), ==, i + 0.5);
}

static void
test_refused_by_name (void)
{
  static const char *const cases[][2] = { { "object.npy", "pickle" }, { "structured.npy", "structured" }, { "complex.npy", "c8" } };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = fixture (cases[i][0]);
      g_autoptr (GError) error = NULL;
      g_assert_null (tn_npy_read (path, &error));
      g_assert_error (error, TN_ERROR, TN_ERROR_DTYPE);
      g_assert_nonnull (strstr (error->message, cases[i][1]));
    }
}

static void
test_round_trip (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "t.npy", NULL);
  for (int dtype = 0; dtype < TN_DTYPE_COUNT; dtype++)
    {
      g_autoptr (TnTensor) t = tn_tensor_new (dtype, TN_SHAPE (4, 1, 3), NULL);
      for (int i = 0; i < 12; i++)
        tn_tensor_set (t, i, i % 5);
      g_assert_true (tn_npy_write (path, t, NULL));
      g_autoptr (TnTensor) back = tn_npy_read (path, NULL);
      g_assert_cmpint (back->dtype, ==, dtype);
      g_assert_true (tn_shape_equal (&back->shape, &t->shape));
      g_assert_cmpmem (tn_tensor_data (back), tn_tensor_bytes (back), tn_tensor_data (t), tn_tensor_bytes (t));
    }
  remove_folder (folder);
}

/* Byte for byte what np.save writes for the same array (the fixture was made by it). */
static void
test_same_bytes_as_numpy (void)
{
  g_autofree char *path = fixture ("f2.npy"), *numpy = NULL;
  gsize n;
  g_assert_true (g_file_get_contents (path, &numpy, &n, NULL));
  g_autoptr (TnTensor) t = read_fixture ("f2.npy");
  g_autoptr (GBytes) ours = tn_npy_to_bytes (t, "f2", NULL);
  g_assert_cmpmem (g_bytes_get_data (ours, NULL), g_bytes_get_size (ours), numpy, n);
}

static void
check_npz (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnNpz) npz = tn_npz_open (path, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (tn_npz_names (npz)[0], ==, "x");
  g_assert_cmpstr (tn_npz_names (npz)[1], ==, "y");
  g_assert_null (tn_npz_names (npz)[2]);
  g_autoptr (TnTensor) x = tn_npz_get (npz, "x", &error);
  g_assert_no_error (error);
  g_autoptr (TnTensor) y = tn_npz_get (npz, "y", &error);
  g_assert_no_error (error);
  g_assert_cmpint (tn_tensor_count (x), ==, 240);
  for (int i = 0; i < 240; i++)
    g_assert_cmpfloat (tn_tensor_get (x, i), ==, i % 7);
  for (int i = 0; i < 40; i++)
    g_assert_cmpfloat (tn_tensor_get (y, i), ==, i % 3);
  g_assert_null (tn_npz_get (npz, "z", &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_NOT_FOUND);
}

static void
test_npz_of_numpy (void)
{
  static const char *const names[] = { "stored.npz", "deflated.npz", "streamed.npz" };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = fixture (names[i]);
      check_npz (path);
    }
}

static void
test_npz_round_trip (void)
{
  g_autofree char *folder = temporary_folder (), *from = fixture ("stored.npz");
  g_autofree char *path = g_build_filename (folder, "t.npz", NULL);
  g_autoptr (TnNpz) npz = tn_npz_open (from, NULL);
  g_autoptr (TnTensor) x = tn_npz_get (npz, "x", NULL);
  g_autoptr (TnTensor) y = tn_npz_get (npz, "y", NULL);
  g_autoptr (GError) error = NULL;
  g_assert_true (tn_npz_write (path, (const char *[]){ "x", "y" }, (TnTensor *[]){ x, y }, 2, &error));
  g_assert_no_error (error);
  check_npz (path);
  remove_folder (folder);
}

static gboolean
read_damaged_npy (const char *path, gint64 flipped_byte, gpointer data, GError **error)
{
  g_autoptr (TnTensor) t = tn_npy_read (path, error);
  if (t)
    g_assert_cmpint (tn_tensor_count (t), ==, 24);
  return t != NULL;
}

static gboolean
read_damaged_npz (const char *path, gint64 flipped_byte, gpointer data, GError **error)
{
  g_autoptr (TnNpz) npz = tn_npz_open (path, error);
  if (!npz)
    return FALSE;
  for (const char *const *name = tn_npz_names (npz); *name; name++)
    {
      TnDType dtype;
      TnShape shape;
      g_autoptr (TnTensor) t = tn_npz_get (npz, *name, error);
      g_assert_true (tn_npz_probe (npz, *name, &dtype, &shape, NULL) == (t != NULL));
      if (!t)
        return FALSE;
      g_assert_true (tn_shape_equal (&shape, &t->shape) && dtype == t->dtype);
      /* The checksum covers header and data: what comes through is right. */
      for (int i = 0; i < tn_tensor_count (t); i++)
        g_assert_cmpfloat (tn_tensor_get (t, i), ==, tn_tensor_count (t) == 240 ? i % 7 : i % 3);
    }
  return TRUE;
}

/* The directory is made to say that the second array lies where the first does. */
static void
test_npz_overlap (void)
{
  g_autofree char *folder = temporary_folder ();
  g_autofree char *path = g_build_filename (folder, "x.npz", NULL), *bytes = NULL;
  g_autoptr (TnTensor) t = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (40), NULL);
  memset (tn_tensor_data (t), 1, 40);
  gsize n;
  g_assert_true (tn_npz_write (path, (const char *[]){ "a", "b" }, (TnTensor *[]){ t, t }, 2, NULL));
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  char *entry = bytes;
  for (int i = 0; i < 2; i++)
    entry = memmem (entry + 1, (size_t) (bytes + n - entry - 1), "PK\1\2", 4);
  g_assert_nonnull (entry);
  memset (entry + 46 + strlen ("b.npy") + 4 + 16, 0, 8); /* in its zip64 field: sizes, then the offset */
  write_bytes (path, bytes, n);
  g_autoptr (GError) error = NULL;
  g_assert_null (tn_npz_open (path, &error));
  g_assert_error (error, TN_ERROR, TN_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "lies over"));
  remove_folder (folder);
}

static void
test_damage (void)
{
  static const char *const names[] = { "f8-fortran.npy", "stored.npz", "deflated.npz", "streamed.npz" };
  g_autofree char *folder = temporary_folder ();
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *from = fixture (names[i]), *bytes = NULL, *path = g_build_filename (folder, names[i], NULL);
      gsize n;
      g_assert_true (g_file_get_contents (from, &bytes, &n, NULL));
      write_bytes (path, bytes, n);
      damage_file (path, TRUE, g_str_has_suffix (path, ".npz") ? read_damaged_npz : read_damaged_npy, NULL);
    }
  remove_folder (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formats/npy/numpy-dtypes", test_numpy_dtypes);
  g_test_add_func ("/formats/npy/column-major-becomes-row-major", test_fortran_order);
  g_test_add_func ("/formats/npy/pickles-and-structures-are-refused-by-name", test_refused_by_name);
  g_test_add_func ("/formats/npy/written-file-reads-back", test_round_trip);
  g_test_add_func ("/formats/npy/same-bytes-as-numpy", test_same_bytes_as_numpy);
  g_test_add_func ("/formats/npz/stored-deflated-streamed", test_npz_of_numpy);
  g_test_add_func ("/formats/npz/written-file-reads-back", test_npz_round_trip);
  g_test_add_func ("/formats/npz/overlapping-members-are-refused", test_npz_overlap);
  g_test_add_func ("/formats/npy/damage-never-crashes", test_damage);
  return g_test_run ();
}
