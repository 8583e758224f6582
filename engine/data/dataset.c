/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "data/drawn-digits.h"

#define MAX_CLASSES 1000000

/* Four lanes of multiply and rotate over little-endian words (the structure of xxHash64, not its constants' order), so that
 * hashing keeps up with memory. */
typedef struct
{
  uint64_t lanes[4];
  uint64_t n;
} Hash;

static inline uint64_t
hash_round (uint64_t lane, uint64_t word)
{
  lane ^= word * 0xc2b2ae3d27d4eb4full;
  return (lane << 31 | lane >> 33) * 0x9e3779b185ebca87ull;
}

static void
hash_bytes (Hash *hash, const void *data, size_t n)
{
  const uint8_t *p = data;
  uint64_t words[4];
  hash->n += n;
  for (; n >= sizeof words; n -= sizeof words, p += sizeof words)
    {
      memcpy (words, p, sizeof words);
      for (int k = 0; k < 4; k++)
        hash->lanes[k] = hash_round (hash->lanes[k], GUINT64_FROM_LE (words[k]));
    }
  memset (words, 0, sizeof words);
  memcpy (words, p, n);
  for (int k = 0; k < 4; k++)
    hash->lanes[k] = hash_round (hash->lanes[k], GUINT64_FROM_LE (words[k]));
}

static uint64_t
hash_end (const Hash *hash)
{
  uint64_t h = hash->n;
  for (int k = 0; k < 4; k++)
    h = hash_round (h, hash->lanes[k] + (uint64_t) k);
  h ^= h >> 33;
  h *= 0x165667b19e3779f9ull;
  return h ^ h >> 29;
}

static uint64_t
compute_fingerprint (TnDataset *self)
{
  Hash hash = { { 1, 2, 3, 4 }, 0 };
  int64_t facts[4 + TN_MAX_DIMS] = { self->n_samples, self->dtype == TN_DTYPE_U8, self->n_classes, self->target_width };
  for (int i = 0; i < self->sample_shape.n_dims; i++)
    facts[4 + i] = self->sample_shape.dims[i];
  hash_bytes (&hash, facts, sizeof facts);
  if (self->drawn)
    {
      /* What the pixels are made from: nothing needs to be drawn. */
      hash_bytes (&hash, "drawn-digits 1", 14);
      hash_bytes (&hash, &self->seed, sizeof self->seed);
    }
  else
    hash_bytes (&hash, self->samples, (size_t) self->n_samples * self->sample_bytes);
  if (self->labels)
    hash_bytes (&hash, self->labels, (size_t) self->n_samples * sizeof (int32_t));
  else
    hash_bytes (&hash, self->targets, (size_t) self->n_samples * (size_t) self->target_width * sizeof (float));
  return hash_end (&hash);
}

uint64_t
tn_dataset_fingerprint (TnDataset *self)
{
  if (g_once_init_enter (&self->fingerprint_ready))
    {
      self->fingerprint = compute_fingerprint (self);
      g_once_init_leave (&self->fingerprint_ready, 1);
    }
  return self->fingerprint;
}

static TnDataset *
dataset_new (int64_t n_samples, TnShape sample_shape, TnDType dtype)
{
  TnDataset *self = g_new0 (TnDataset, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->n_samples = n_samples;
  self->sample_shape = sample_shape;
  self->dtype = dtype;
  self->sample_elements = (size_t) tn_shape_count (&sample_shape);
  self->sample_bytes = self->sample_elements * tn_dtype_size (dtype);
  self->owners = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_tensor_unref);
  return self;
}

TnDataset *
tn_dataset_ref (TnDataset *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

void
tn_dataset_unref (TnDataset *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_ptr_array_unref (self->owners);
  g_strfreev (self->class_names);
  g_free (self->drawn);
  g_free (self->source);
  g_free (self->description);
  g_free (self);
}

static char **
number_names (int n)
{
  char **names = g_new0 (char *, n + 1);
  for (int i = 0; i < n; i++)
    names[i] = g_strdup_printf ("%d", i);
  return names;
}

static void
describe (TnDataset *self, const char *name)
{
  g_autofree char *shape = tn_shape_to_string (&self->sample_shape);
  g_free (self->source);
  g_free (self->description);
  self->source = g_strdup (name);
  self->description
      = self->n_classes > 0
            ? g_strdup_printf (_ ("%" PRId64 " samples %s in %d classes, from “%s”"), self->n_samples, shape, self->n_classes, name)
            : g_strdup_printf (_ ("%" PRId64 " samples %s with %d targets, from “%s”"), self->n_samples, shape, self->target_width,
                               name);
}

TnDataset *
tn_dataset_new_drawn_digits (int64_t n_samples, uint64_t seed)
{
  g_return_val_if_fail (n_samples > 0 && n_samples <= (int64_t) 1 << 32, NULL);
  TnDataset *self = dataset_new (n_samples, TN_SHAPE (1, TN_DRAWN_DIGITS_SIDE, TN_DRAWN_DIGITS_SIDE), TN_DTYPE_U8);
  TnTensor *labels = tn_tensor_new (TN_DTYPE_I32, TN_SHAPE (n_samples), NULL);
  TnTensor *pixels = tn_tensor_new (TN_DTYPE_U8, TN_SHAPE (n_samples, TN_DRAWN_DIGITS_PIXELS), NULL);

  if (labels)
    g_ptr_array_add (self->owners, labels);
  if (pixels)
    g_ptr_array_add (self->owners, pixels);
  self->drawn = g_try_malloc0 ((gsize) n_samples);
  if (!labels || !pixels || !self->drawn)
    {
      tn_dataset_unref (self);
      return NULL;
    }
  int32_t *to = tn_tensor_data (labels);
  for (int64_t i = 0; i < n_samples; i++)
    to[i] = (int32_t) (i % TN_DRAWN_DIGITS_CLASSES);
  self->labels = to;
  self->samples = tn_tensor_data (pixels);
  self->seed = seed;
  self->n_classes = TN_DRAWN_DIGITS_CLASSES;
  self->class_names = number_names (self->n_classes);
  describe (self, "drawn-digits");
  return self;
}

const void *
tn_dataset_sample (TnDataset *self, int64_t id, void *scratch)
{
  const uint8_t *at = self->samples + (size_t) id * self->sample_bytes;
  if (!self->drawn || __atomic_load_n (&self->drawn[id], __ATOMIC_ACQUIRE) == 2)
    return at;
  uint8_t nobody = 0;
  if (__atomic_compare_exchange_n (&self->drawn[id], &nobody, 1, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    {
      tn_drawn_digits_draw (self->seed, id, (uint8_t *) at);
      __atomic_store_n (&self->drawn[id], 2, __ATOMIC_RELEASE);
      return at;
    }
  tn_drawn_digits_draw (self->seed, id, scratch);
  return scratch;
}

/* (N, H, W, C) to (N, C, H, W) for pictures that are stored with the colour last. */
static TnTensor *
colour_first (TnTensor *samples, GError **error)
{
  g_autoptr (TnTensor) view = tn_tensor_permute (samples, (int[]){ 0, 3, 1, 2 }, error);
  return view ? tn_tensor_contiguous (view, error) : NULL;
}

static TnTensor *
prepare_samples (TnTensor *samples, TnShape *sample_shape, GError **error)
{
  g_autoptr (TnTensor) whole = tn_tensor_contiguous (samples, error);
  if (!whole)
    return NULL;
  const int64_t *d = whole->shape.dims;
  int n = whole->shape.n_dims;
  if (whole->dtype == TN_DTYPE_U8 && n == 4 && (d[3] == 1 || d[3] == 3 || d[3] == 4) && d[1] > 4)
    {
      TnTensor *moved = colour_first (whole, error);
      if (!moved)
        return NULL;
      tn_tensor_unref (whole);
      whole = moved;
      d = whole->shape.dims;
    }
  *sample_shape = whole->dtype == TN_DTYPE_U8 && n == 3 ? TN_SHAPE (1, d[1], d[2]) : n == 1 ? TN_SHAPE (1) : tn_shape_make (n - 1, d + 1);
  if (whole->dtype == TN_DTYPE_U8 || whole->dtype == TN_DTYPE_F32)
    return g_steal_pointer (&whole);
  return tn_tensor_cast (whole, TN_DTYPE_F32, error);
}

/* Class labels as int32, with their number. */
static gboolean
take_classes (TnDataset *self, TnTensor *labels, const char *name, GError **error)
{
  g_autoptr (TnTensor) whole = tn_tensor_contiguous (labels, error);
  TnTensor *out = whole ? tn_tensor_new (TN_DTYPE_I32, TN_SHAPE (self->n_samples), error) : NULL;
  if (!out)
    return FALSE;
  g_ptr_array_add (self->owners, out);
  const void *from = tn_tensor_data (whole);
  int32_t *to = tn_tensor_data (out);
  for (int64_t i = 0; i < self->n_samples; i++)
    {
      int64_t label = tn_dtype_load_int (whole->dtype, from, (size_t) i);
      if (label < 0 || label >= MAX_CLASSES)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                       _ ("“%s”: sample %" PRId64 " has the label %" PRId64 ". Classes are numbered from 0; targets must be "
                          "floating-point numbers."),
                       name, i, label);
          return FALSE;
        }
      to[i] = (int32_t) label;
      self->n_classes = MAX (self->n_classes, (int) label + 1);
    }
  self->labels = to;
  return TRUE;
}

static gboolean
take_targets (TnDataset *self, TnTensor *labels, GError **error)
{
  int64_t width = tn_tensor_count (labels) / MAX (self->n_samples, 1);
  g_autoptr (TnTensor) whole = tn_tensor_contiguous (labels, error);
  TnTensor *out = whole ? tn_tensor_cast (whole, TN_DTYPE_F32, error) : NULL;
  if (!out)
    return FALSE;
  g_ptr_array_add (self->owners, out);
  self->targets = tn_tensor_data (out);
  self->target_width = (int) MIN (width, G_MAXINT);
  return TRUE;
}

TnDataset *
tn_dataset_new_from_tensors (TnTensor *samples, TnTensor *labels, const char *const *class_names, const char *name,
                             GError **error)
{
  TnShape sample_shape;
  int64_t N = samples->shape.n_dims > 0 ? samples->shape.dims[0] : 0;
  int64_t n_labels = labels->shape.n_dims > 0 ? labels->shape.dims[0] : 0;

  if (N != n_labels)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” has %" PRId64 " samples but %" PRId64 " labels. Do the two files belong together?"), name, N, n_labels);
      return NULL;
    }
  if (N == 0 || tn_tensor_count (samples) == 0 || tn_tensor_count (labels) == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” holds no samples."), name);
      return NULL;
    }
  TnTensor *prepared = prepare_samples (samples, &sample_shape, error);
  if (!prepared)
    return NULL;
  g_autoptr (TnDataset) self = dataset_new (N, sample_shape, prepared->dtype);
  g_ptr_array_add (self->owners, prepared);
  self->samples = tn_tensor_data (prepared);

  gboolean classes = !tn_dtype_is_float (labels->dtype)
                     && (labels->shape.n_dims == 1 || (labels->shape.n_dims == 2 && labels->shape.dims[1] == 1));
  if (classes ? !take_classes (self, labels, name, error) : !take_targets (self, labels, error))
    return NULL;
  if (classes && class_names && g_strv_length ((char **) class_names) >= (guint) self->n_classes)
    {
      self->class_names = g_strdupv ((char **) class_names);
      self->n_classes = (int) g_strv_length (self->class_names);
    }
  else if (classes)
    self->class_names = number_names (self->n_classes);
  describe (self, name);
  return g_steal_pointer (&self);
}

gboolean
tn_dataset_rename_classes (TnDataset *self, const char *names, GError **error)
{
  if (*names == '\0')
    return TRUE;
  g_auto (GStrv) parts = g_strsplit (names, ",", -1);
  guint n = g_strv_length (parts);
  if (n > (guint) self->n_classes)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("data.class_names has %u names, but “%s” has %d classes. Leave some out."), n,
                   self->source, self->n_classes);
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      if (*g_strstrip (parts[i]) == '\0')
        continue;
      g_free (self->class_names[i]);
      self->class_names[i] = g_strdup (parts[i]);
    }
  return TRUE;
}
