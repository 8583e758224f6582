/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "formats/bytes.h"
#include "formats/cifar.h"
#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/npz.h"

#define DRAWN_DEFAULT 12000
#define DRAWN_MAX 10000000

static const char *const array_pairs[][2] = {
  { "x", "y" },        { "X", "y" },           { "X", "Y" },         { "images", "labels" }, { "data", "target" },
  { "data", "labels" }, { "samples", "labels" }, { "inputs", "targets" },
};
static const char *const part_pairs[2][2] = { { "x_train", "y_train" }, { "x_test", "y_test" } };

/* Nothing that tn_dataset_open() understands. */
static TnDataset *
not_understood (const char *source, const char *what, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
               _ ("“%s”%s%s is no data set that can be read. Understood are: “drawn-digits”; IDX files (train-images-idx3-ubyte, also .gz) or a "
                  "folder with them; CIFAR-10 and CIFAR-100 binary files or a folder with them; an .npz with arrays x,y or images,labels or "
                  "data,target; x.npy with y.npy beside it."),
               source, what ? ", " : "", what ? what : "");
  return NULL;
}

static TnDataset *
open_drawn (const char *source, const TnDatasetOptions *options, GError **error)
{
  int64_t n = options->n_samples > 0 ? options->n_samples : DRAWN_DEFAULT;
  const char *colon = strchr (source, ':');
  if (colon)
    {
      guint64 asked;
      if (!g_ascii_string_to_unsigned (colon + 1, 10, 1, DRAWN_MAX, &asked, NULL))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s”: the number of drawn digits must be 1 to %d."), source, DRAWN_MAX);
          return NULL;
        }
      n = (int64_t) asked;
    }
  if (n > DRAWN_MAX)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("%" PRId64 " drawn digits are too many: at most %d."), n, DRAWN_MAX);
      return NULL;
    }
  /* The test part is another set of the same kind. */
  uint64_t seed = options->part == TN_DATASET_TEST ? options->seed ^ 0x7465737470617274ull : options->seed;
  TnDataset *self = tn_dataset_new_drawn_digits (n, seed);
  if (!self)
    g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for %" PRId64 " drawn digits."), n);
  return self;
}

static TnDataset *
open_idx (const char *path, const TnDatasetOptions *options, GError **error)
{
  TnDType dtype;
  TnShape shape;
  if (!tn_idx_probe (path, &dtype, &shape, error))
    return NULL;
  g_autofree char *partner = options->labels_path ? g_strdup (options->labels_path) : tn_idx_find_partner (path);
  if (!partner)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND,
                   shape.n_dims == 1 ? _ ("“%s” holds labels; the pictures that belong to them were not found beside it (train-labels-idx1-ubyte "
                                          "goes with train-images-idx3-ubyte).")
                                     : _ ("“%s”: the labels that belong to it were not found beside it (train-images-idx3-ubyte goes with "
                                          "train-labels-idx1-ubyte)."),
                   path);
      return NULL;
    }
  gboolean given_labels = shape.n_dims == 1 && !options->labels_path;
  const char *images_path = given_labels ? partner : path, *labels_path = given_labels ? path : partner;
  TnShape label_shape;
  if (!tn_idx_probe (images_path, &dtype, &shape, error) || !tn_idx_probe (labels_path, &dtype, &label_shape, error))
    return NULL;
  /* Compared before 47 MB are unpacked. */
  if (shape.dims[0] != label_shape.dims[0])
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” holds %" PRId64 " pictures, “%s” %" PRId64 " labels. Do the two files belong together?"), images_path,
                   shape.dims[0], labels_path, label_shape.dims[0]);
      return NULL;
    }
  g_autoptr (TnTensor) labels = tn_idx_read (labels_path, error);
  g_autoptr (TnTensor) images = labels ? tn_idx_read (images_path, error) : NULL;
  return images ? tn_dataset_new_from_tensors (images, labels, NULL, images_path, error) : NULL;
}

static TnDataset *
dataset_from_cifar (TnCifar *cifar, const char *name, GError **error)
{
  if (!cifar)
    return NULL;
  TnDataset *self = tn_dataset_new_from_tensors (cifar->images, cifar->labels, (const char *const *) cifar->class_names, name, error);
  /* A small file may lack the last class. */
  if (self && !cifar->class_names && self->n_classes < cifar->n_classes)
    {
      self->class_names = g_renew (char *, self->class_names, cifar->n_classes + 1);
      for (int i = self->n_classes; i < cifar->n_classes; i++)
        self->class_names[i] = g_strdup_printf ("%d", i);
      self->class_names[cifar->n_classes] = NULL;
      self->n_classes = cifar->n_classes;
    }
  return self;
}

static TnDataset *
open_npz (const char *path, const TnDatasetOptions *options, GError **error)
{
  g_autoptr (TnNpz) npz = tn_npz_open (path, error);
  if (!npz)
    return NULL;
  const char *const *pair = NULL;
  if (tn_npz_has (npz, part_pairs[options->part][0]) && tn_npz_has (npz, part_pairs[options->part][1]))
    pair = part_pairs[options->part];
  for (guint i = 0; !pair && i < G_N_ELEMENTS (array_pairs); i++)
    if (tn_npz_has (npz, array_pairs[i][0]) && tn_npz_has (npz, array_pairs[i][1]))
      pair = array_pairs[i];
  if (!pair)
    {
      g_autofree char *names = g_strjoinv (", ", (char **) tn_npz_names (npz));
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” has the arrays %s. Samples and labels must be called x,y or images,labels or data,target or x_train,y_train."), path,
                   *names ? names : _ ("(none)"));
      return NULL;
    }
  g_autoptr (TnTensor) y = tn_npz_get (npz, pair[1], error);
  g_autoptr (TnTensor) x = y ? tn_npz_get (npz, pair[0], error) : NULL;
  return x ? tn_dataset_new_from_tensors (x, y, NULL, path, error) : NULL;
}

/* "x.npy" -> "y.npy", also as the end of a longer name: train_images.npy -> train_labels.npy. */
static char *
npy_partner (const char *path)
{
  g_autofree char *stem = g_strndup (path, strlen (path) - (g_str_has_suffix (path, ".npy") ? 4 : 0));
  for (int i = -2; i < (int) G_N_ELEMENTS (array_pairs); i++)
    {
      const char *const *pair = i < 0 ? part_pairs[i + 2] : array_pairs[i];
      if (!g_str_has_suffix (stem, pair[0]))
        continue;
      g_autofree char *front = g_strndup (stem, strlen (stem) - strlen (pair[0]));
      char *candidate = g_strconcat (front, pair[1], ".npy", NULL);
      if (g_file_test (candidate, G_FILE_TEST_IS_REGULAR))
        return candidate;
      g_free (candidate);
    }
  return NULL;
}

static TnDataset *
open_npy (const char *path, const TnDatasetOptions *options, GError **error)
{
  g_autofree char *partner = options->labels_path ? g_strdup (options->labels_path) : npy_partner (path);
  if (!partner)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("“%s”: the labels were not found beside it (x.npy goes with y.npy, images.npy with "
                                                           "labels.npy, data.npy with target.npy)."),
                   path);
      return NULL;
    }
  g_autoptr (TnTensor) y = tn_npy_read (partner, error);
  g_autoptr (TnTensor) x = y ? tn_npy_read (path, error) : NULL;
  return x ? tn_dataset_new_from_tensors (x, y, NULL, path, error) : NULL;
}

static TnDataset *
open_file (const char *path, const TnDatasetOptions *options, GError **error)
{
  uint64_t size;
  uint8_t head[512];
  int fd = tn_file_open (path, &size, error);
  if (fd < 0)
    return NULL;
  size_t n = (size_t) MIN (size, sizeof head);
  gboolean ok = tn_file_pread (fd, head, n, 0, path, error);
  close (fd);
  if (!ok)
    return NULL;
  if (n >= 4 && memcmp (head, "PK\3\4", 4) == 0)
    return open_npz (path, options, error);
  if (n >= 6 && memcmp (head, "\x93NUMPY", 6) == 0)
    return open_npy (path, options, error);
  if ((n >= 4 && head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14 && head[3] > 0) || tn_is_gzip (head, n))
    {
      /* A CIFAR file may begin with zeros too; its length gives it away. */
      g_autoptr (GError) idx_error = NULL;
      TnDataset *self = open_idx (path, options, &idx_error);
      if (self || !g_str_has_suffix (path, ".bin"))
        {
          if (idx_error)
            g_propagate_error (error, g_steal_pointer (&idx_error));
          return self;
        }
    }
  if (g_str_has_suffix (path, ".bin"))
    {
      g_autoptr (TnCifar) cifar = tn_cifar_read ((const char *[]){ path, NULL }, error);
      return dataset_from_cifar (cifar, path, error);
    }
  return not_understood (path, n == 0 ? _ ("an empty file") : tn_sniff (head, n), error);
}

static char *
existing (const char *folder, const char *name)
{
  char *path = g_build_filename (folder, name, NULL);
  if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
    return path;
  g_free (path);
  return NULL;
}

/* The pictures' file of the wanted part in an IDX folder, or NULL. */
static char *
find_idx (const char *folder, TnDatasetPart part)
{
  static const char *const names[2][2] = { { "train-images-idx3-ubyte", "train-images.idx3-ubyte" },
                                           { "t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte" } };
  for (int i = 0; i < 2; i++)
    for (int gz = 0; gz < 2; gz++)
      {
        g_autofree char *name = g_strconcat (names[part][i], gz ? ".gz" : "", NULL);
        char *path = existing (folder, name);
        if (path)
          return path;
      }
  /* EMNIST and the like put their own name in front. */
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  g_autofree char *best = NULL;
  while (dir && (name = g_dir_read_name (dir)))
    if (strstr (name, part == TN_DATASET_TEST ? "test-images" : "train-images") && strstr (name, "idx3") && (!best || strcmp (name, best) < 0))
      {
        g_free (best);
        best = g_strdup (name);
      }
  return best ? g_build_filename (folder, best, NULL) : NULL;
}

static char *
find_single (const char *folder, const char *suffix)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  g_autofree char *found = NULL;
  while (dir && (name = g_dir_read_name (dir)))
    if (g_str_has_suffix (name, suffix))
      {
        if (found)
          return NULL;
        found = g_strdup (name);
      }
  return found ? g_build_filename (folder, found, NULL) : NULL;
}

static TnDataset *
open_folder (const char *folder, const TnDatasetOptions *options, GError **error)
{
  g_autofree char *idx = find_idx (folder, options->part);
  if (idx)
    return open_idx (idx, options, error);
  if (tn_cifar_is_folder (folder))
    {
      g_autoptr (TnCifar) cifar = tn_cifar_read_folder (folder, options->part == TN_DATASET_TEST, error);
      return dataset_from_cifar (cifar, folder, error);
    }
  for (int i = -1; i < (int) G_N_ELEMENTS (array_pairs); i++)
    {
      const char *const *pair = i < 0 ? part_pairs[options->part] : array_pairs[i];
      g_autofree char *name = g_strconcat (pair[0], ".npy", NULL);
      g_autofree char *path = existing (folder, name);
      g_autofree char *partner = path ? npy_partner (path) : NULL;
      if (partner || (path && options->labels_path))
        return open_npy (path, options, error);
    }
  g_autofree char *npz = find_single (folder, ".npz");
  if (npz)
    return open_npz (npz, options, error);
  g_autofree char *other = find_idx (folder, options->part == TN_DATASET_TEST ? TN_DATASET_TRAIN : TN_DATASET_TEST);
  if (other)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("“%s” has no files for %s; it has “%s”."), folder,
                   options->part == TN_DATASET_TEST ? _ ("testing") : _ ("training"), other);
      return NULL;
    }
  return not_understood (folder, _ ("a folder"), error);
}

TnDataset *
tn_dataset_open (const char *source, const TnDatasetOptions *options, GError **error)
{
  static const TnDatasetOptions defaults;
  if (!options)
    options = &defaults;
  if (strcmp (source, "drawn-digits") == 0 || g_str_has_prefix (source, "drawn-digits:"))
    return open_drawn (source, options, error);
  if (g_file_test (source, G_FILE_TEST_IS_DIR))
    return open_folder (source, options, error);
  if (g_file_test (source, G_FILE_TEST_EXISTS))
    return open_file (source, options, error);
  if (!strchr (source, '/') && !strchr (source, '.'))
    return not_understood (source, NULL, error);
  g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no data set “%s”. Name an existing file or folder, or “drawn-digits”."), source);
  return NULL;
}
