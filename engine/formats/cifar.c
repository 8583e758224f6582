/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/cifar.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/error.h"
#include "formats/bytes.h"

#define PIXELS 3072
#define MAX_FILE_BYTES ((uint64_t) 1 << 34)

void
tn_cifar_free (TnCifar *self)
{
  g_clear_pointer (&self->images, tn_tensor_unref);
  g_clear_pointer (&self->labels, tn_tensor_unref);
  g_clear_pointer (&self->coarse, tn_tensor_unref);
  g_strfreev (self->class_names);
  g_free (self);
}

static size_t
record_bytes (int n_classes)
{
  return PIXELS + (n_classes == 100 ? 2 : 1);
}

/* Index of the first record whose labels are out of range, or -1. */
static int64_t
first_bad_label (const uint8_t *data, size_t n, int n_classes)
{
  size_t record = record_bytes (n_classes);
  for (size_t i = 0; i < n / record; i++)
    {
      const uint8_t *p = data + i * record;
      if (n_classes == 10 ? p[0] >= 10 : p[0] >= 20 || p[1] >= 100)
        return (int64_t) i;
    }
  return -1;
}

static int
classify (const uint8_t *data, size_t n, const char *path, GError **error)
{
  const char *what = tn_sniff (data, MIN (n, 512));
  gboolean fits[2] = { n > 0 && n % record_bytes (10) == 0, n > 0 && n % record_bytes (100) == 0 };
  int64_t bad[2] = { fits[0] ? first_bad_label (data, n, 10) : 0, fits[1] ? first_bad_label (data, n, 100) : 0 };

  for (int k = 0; k < 2; k++)
    if (fits[k] && bad[k] < 0)
      return k == 0 ? 10 : 100;
  if (what)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _ ("“%s” is not a CIFAR binary file but %s. The “binary version” of the data set is needed."), path, what);
  else if (fits[0] || fits[1])
    {
      int k = fits[0] ? 0 : 1;
      const uint8_t *p = data + (size_t) bad[k] * record_bytes (k ? 100 : 10);
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s”: record %" PRId64 " has the label %d, more than CIFAR-%d has. The file is damaged, or of another kind."),
                   path, bad[k], k && p[0] < 20 ? p[1] : p[0], k ? 100 : 10);
    }
  else
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _ ("“%s” has %zu bytes, no multiple of 3073 (CIFAR-10) or 3074 (CIFAR-100). It was cut short, or is of "
                    "another kind."),
                 path, n);
  return 0;
}

int
tn_cifar_probe (const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = tn_file_read (path, MAX_FILE_BYTES, error);
  if (!bytes)
    return 0;
  gsize n;
  const uint8_t *data = g_bytes_get_data (bytes, &n);
  return classify (data, n, path, error);
}

static void
copy_records (TnCifar *self, const uint8_t *data, size_t n_records, size_t first)
{
  size_t record = record_bytes (self->n_classes);
  uint8_t *images = tn_tensor_data (self->images), *labels = tn_tensor_data (self->labels);
  uint8_t *coarse = self->coarse ? tn_tensor_data (self->coarse) : NULL;
  for (size_t i = 0; i < n_records; i++)
    {
      const uint8_t *p = data + i * record;
      if (coarse)
        coarse[first + i] = p[0];
      labels[first + i] = p[record - PIXELS - 1];
      memcpy (images + (first + i) * PIXELS, p + record - PIXELS, PIXELS);
    }
}

static char **
read_class_names (const char *folder, int n_classes)
{
  g_autofree char *path = g_build_filename (folder, n_classes == 100 ? "fine_label_names.txt" : "batches.meta.txt", NULL);
  g_autoptr (GBytes) bytes = tn_file_read (path, 1 << 16, NULL);
  if (!bytes)
    return NULL;
  g_autofree char *text = g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  g_auto (GStrv) lines = g_strsplit_set (text, "\r\n", -1);
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  int n = 0;
  for (char **line = lines; *line; line++)
    if (*g_strstrip (*line) && g_utf8_validate (*line, -1, NULL))
      {
        g_strv_builder_add (names, *line);
        n++;
      }
  return n == n_classes ? g_strv_builder_end (names) : NULL;
}

TnCifar *
tn_cifar_read (const char *const *paths, GError **error)
{
  g_autoptr (TnCifar) self = g_new0 (TnCifar, 1);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  size_t n_records = 0;

  for (int i = 0; paths[i]; i++)
    {
      GBytes *bytes = tn_file_read (paths[i], MAX_FILE_BYTES, error);
      if (!bytes)
        return NULL;
      g_ptr_array_add (files, bytes);
      int kind = classify (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes), paths[i], error);
      if (kind == 0)
        return NULL;
      if (i > 0 && kind != self->n_classes)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is CIFAR-%d, “%s” is CIFAR-%d: they cannot be one data set."), paths[0],
                       self->n_classes, paths[i], kind);
          return NULL;
        }
      self->n_classes = kind;
      n_records += g_bytes_get_size (bytes) / record_bytes (kind);
    }
  if (files->len == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("No CIFAR file was named."));
      return NULL;
    }

  int64_t N = (int64_t) n_records;
  self->images = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (N, 3, 32, 32), error);
  self->labels = self->images ? tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (N), error) : NULL;
  if (!self->labels)
    return NULL;
  if (self->n_classes == 100 && !(self->coarse = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (N), error)))
    return NULL;
  size_t first = 0;
  for (guint i = 0; i < files->len; i++)
    {
      gsize n;
      const uint8_t *data = g_bytes_get_data (files->pdata[i], &n);
      copy_records (self, data, n / record_bytes (self->n_classes), first);
      first += n / record_bytes (self->n_classes);
      /* Each is given back as soon as it is copied. */
      g_bytes_unref (g_steal_pointer (&files->pdata[i]));
      files->pdata[i] = g_bytes_new_static ("", 0);
    }
  g_autofree char *folder = g_path_get_dirname (paths[0]);
  self->class_names = read_class_names (folder, self->n_classes);
  return g_steal_pointer (&self);
}

/* The folder itself or the archive's folder in it; NULL if neither has a file of the right name. */
static char *
find_folder (const char *folder, gboolean *hundred)
{
  static const char *const inner[] = { "", "cifar-10-batches-bin", "cifar-100-binary" };
  static const char *const ten[] = { "data_batch_1.bin", "data_batch_2.bin", "test_batch.bin" };
  for (int i = 0; i < 3; i++)
    {
      g_autofree char *at = *inner[i] ? g_build_filename (folder, inner[i], NULL) : g_strdup (folder);
      for (int k = 0; k < 3; k++)
        {
          g_autofree char *file = g_build_filename (at, ten[k], NULL);
          if (g_file_test (file, G_FILE_TEST_IS_REGULAR))
            return *hundred = FALSE, g_steal_pointer (&at);
        }
      g_autofree char *train = g_build_filename (at, "train.bin", NULL);
      g_autofree char *test = g_build_filename (at, "test.bin", NULL);
      if (g_file_test (train, G_FILE_TEST_IS_REGULAR) || g_file_test (test, G_FILE_TEST_IS_REGULAR))
        return *hundred = TRUE, g_steal_pointer (&at);
    }
  return NULL;
}

gboolean
tn_cifar_is_folder (const char *folder)
{
  gboolean hundred;
  g_autofree char *at = find_folder (folder, &hundred);
  return at != NULL;
}

TnCifar *
tn_cifar_read_folder (const char *folder, gboolean test, GError **error)
{
  gboolean hundred;
  g_autofree char *at = find_folder (folder, &hundred);
  if (!at)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND,
                   _ ("“%s” holds no CIFAR files (data_batch_1.bin … data_batch_5.bin, test_batch.bin, train.bin, test.bin)."), folder);
      return NULL;
    }
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  if (hundred)
    g_ptr_array_add (paths, g_build_filename (at, test ? "test.bin" : "train.bin", NULL));
  else if (test)
    g_ptr_array_add (paths, g_build_filename (at, "test_batch.bin", NULL));
  else
    for (int i = 1; i <= 5; i++)
      {
        g_autofree char *name = g_strdup_printf ("data_batch_%d.bin", i);
        g_ptr_array_add (paths, g_build_filename (at, name, NULL));
      }
  for (guint i = 0; i < paths->len; i++)
    if (!g_file_test (paths->pdata[i], G_FILE_TEST_IS_REGULAR))
      {
        g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("“%s” is missing. Name a single file to use only that one."),
                     (char *) paths->pdata[i]);
        return NULL;
      }
  g_ptr_array_add (paths, NULL);
  return tn_cifar_read ((const char *const *) paths->pdata, error);
}

gboolean
tn_cifar_write (const char *path, TnTensor *images, TnTensor *labels, TnTensor *coarse, GError **error)
{
  int64_t N = images->shape.n_dims > 0 ? images->shape.dims[0] : 0;
  TnShape image_shape = TN_SHAPE (N, 3, 32, 32), label_shape = TN_SHAPE (N);
  if (images->dtype != TN_DTYPE_U8 || labels->dtype != TN_DTYPE_U8 || !tn_shape_equal (&images->shape, &image_shape)
      || !tn_shape_equal (&labels->shape, &label_shape)
      || (coarse && (coarse->dtype != TN_DTYPE_U8 || !tn_shape_equal (&coarse->shape, &label_shape))))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("“%s”: CIFAR files hold uint8 pictures (N, 3, 32, 32) and uint8 labels (N)."), path);
      return FALSE;
    }
  g_autoptr (TnTensor) x = tn_tensor_contiguous (images, error);
  TnDurableFile *file = x ? tn_durable_file_new (path, 0, error) : NULL;
  if (!file)
    return FALSE;
  for (int64_t i = 0; i < N; i++)
    {
      uint8_t head[2] = { coarse ? (uint8_t) tn_tensor_get (coarse, i) : 0, (uint8_t) tn_tensor_get (labels, i) };
      const uint8_t *pixels = (const uint8_t *) tn_tensor_data (x) + (size_t) i * PIXELS;
      if (!tn_durable_file_write (file, coarse ? head : head + 1, coarse ? 2 : 1, error)
          || !tn_durable_file_write (file, pixels, PIXELS, error))
        {
          tn_durable_file_abort (file);
          return FALSE;
        }
    }
  return tn_durable_file_finish (file, TRUE, error);
}
