/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/idx.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/error.h"
#include "formats/bytes.h"

#define MAX_FILE_BYTES ((uint64_t) 1 << 36)
#define MAX_HEADER (4 + 4 * TN_MAX_DIMS)

static const struct
{
  uint8_t code;
  TnDType dtype;
} types[] = {
  { 0x08, TN_DTYPE_U8 },  { 0x09, TN_DTYPE_I8 },  { 0x0b, TN_DTYPE_I16 },
  { 0x0c, TN_DTYPE_I32 }, { 0x0d, TN_DTYPE_F32 }, { 0x0e, TN_DTYPE_F64 },
};

/* Header of @n bytes that are the beginning of a file. Sets where the data starts and how long the file must be. */
static gboolean
parse_header (const uint8_t *head, size_t n, const char *name, TnDType *dtype, TnShape *shape, size_t *header_bytes,
              uint64_t *total_bytes, GError **error)
{
  if (n < 4)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” has %zu bytes: too short for an IDX file. Copy or download it again."), name, n);
      return FALSE;
    }
  int type = -1;
  for (int i = 0; i < (int) G_N_ELEMENTS (types); i++)
    if (types[i].code == head[2])
      type = i;
  if (head[0] != 0 || head[1] != 0 || type < 0)
    {
      const char *what = tn_sniff (head, n);
      if (what)
        g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is not an IDX file but %s."), name, what);
      else
        g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                     _ ("“%s” is not an IDX file: it begins with %02x %02x %02x %02x instead of 00 00, a type code and the number "
                        "of dimensions."),
                     name, head[0], head[1], head[2], head[3]);
      return FALSE;
    }
  int n_dims = head[3];
  if (n_dims < 1 || n_dims > TN_MAX_DIMS)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: %d dimensions; 1 to %d are possible. The header is damaged."), name,
                   n_dims, TN_MAX_DIMS);
      return FALSE;
    }
  *header_bytes = 4 + 4 * (size_t) n_dims;
  if (n < *header_bytes)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” ends inside its header, at byte %zu. It was cut short: copy or download it again."), name, n);
      return FALSE;
    }
  *dtype = types[type].dtype;
  *shape = TN_SHAPE_SCALAR;
  shape->n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    shape->dims[i] = tn_read_be32 (head + 4 + 4 * i);

  size_t bytes;
  g_autoptr (GError) too_large = NULL;
  if (!tn_shape_bytes (shape, tn_dtype_size (*dtype), &bytes, &too_large) || bytes > MAX_FILE_BYTES)
    {
      g_autofree char *text = tn_shape_to_string (shape);
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: the header says %s elements, more than a file can hold. It is damaged."), name,
                   text);
      return FALSE;
    }
  *total_bytes = *header_bytes + bytes;
  return TRUE;
}

static gboolean
check_length (uint64_t have, uint64_t want, const TnShape *shape, const char *name, GError **error)
{
  if (have == want)
    return TRUE;
  g_autofree char *text = tn_shape_to_string (shape);
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
               _ ("“%s”: the header says %s elements, so %" PRIu64 " bytes; the file has %" PRIu64
                  ". %s"),
               name, text, want, have,
               have < want ? _ ("It was cut short: copy or download it again.") : _ ("Its header is damaged, or two files were joined."));
  return FALSE;
}

TnTensor *
tn_idx_parse (GBytes *bytes, const char *name, GError **error)
{
  gsize n;
  const uint8_t *data = g_bytes_get_data (bytes, &n);
  g_autoptr (GBytes) plain = NULL;
  uint8_t head[MAX_HEADER];
  TnDType dtype;
  TnShape shape;
  size_t header_bytes;
  uint64_t total;

  if (n == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is empty. Copy or download it again."), name);
      return NULL;
    }
  if (tn_is_gzip (data, n))
    {
      /* The header first: then the pictures are unpacked into memory of just the right size. */
      size_t n_head = tn_gunzip_head (data, n, head, sizeof head);
      if (!parse_header (head, n_head, name, &dtype, &shape, &header_bytes, &total, error))
        return NULL;
      plain = tn_gunzip (data, n, total, MAX_FILE_BYTES, name, error);
      if (!plain)
        return NULL;
    }
  else
    {
      if (!parse_header (data, n, name, &dtype, &shape, &header_bytes, &total, error)
          || !check_length (n, total, &shape, name, error))
        return NULL;
      plain = g_bytes_ref (bytes);
    }

  const uint8_t *elements = (const uint8_t *) g_bytes_get_data (plain, NULL) + header_bytes;
  if (tn_dtype_size (dtype) == 1)
    {
      /* Bytes stay where they are: the tensor is a view of the file's memory. */
      GBytes *owner = g_steal_pointer (&plain);
      return tn_tensor_new_external (dtype, shape, (void *) elements, (GDestroyNotify) g_bytes_unref, owner);
    }
  TnTensor *tensor = tn_tensor_new (dtype, shape, error);
  if (!tensor)
    return NULL;
  memcpy (tn_tensor_data (tensor), elements, total - header_bytes);
  if (G_BYTE_ORDER == G_LITTLE_ENDIAN)
    tn_swap_bytes (tn_tensor_data (tensor), tn_dtype_size (dtype), (size_t) tn_tensor_count (tensor));
  return tensor;
}

TnTensor *
tn_idx_read (const char *path, GError **error)
{
  g_autoptr (GBytes) bytes = tn_file_read (path, MAX_FILE_BYTES, error);
  return bytes ? tn_idx_parse (bytes, path, error) : NULL;
}

gboolean
tn_idx_probe (const char *path, TnDType *dtype, TnShape *shape, GError **error)
{
  uint64_t size, total;
  uint8_t start[4096], head[MAX_HEADER];
  size_t header_bytes;
  int fd = tn_file_open (path, &size, error);
  if (fd < 0)
    return FALSE;
  size_t n = (size_t) MIN (size, sizeof start);
  gboolean ok = tn_file_pread (fd, start, n, 0, path, error);
  close (fd);
  if (!ok)
    return FALSE;
  if (tn_is_gzip (start, n))
    {
      n = tn_gunzip_head (start, n, head, sizeof head);
      return parse_header (head, n, path, dtype, shape, &header_bytes, &total, error);
    }
  return parse_header (start, n, path, dtype, shape, &header_bytes, &total, error)
         && check_length (size, total, shape, path, error);
}

gboolean
tn_idx_write (const char *path, TnTensor *tensor, GError **error)
{
  uint8_t head[MAX_HEADER] = { 0 };
  int type = -1;
  for (int i = 0; i < (int) G_N_ELEMENTS (types); i++)
    if (types[i].dtype == tensor->dtype)
      type = i;
  if (type < 0 || tensor->shape.n_dims < 1)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_DTYPE,
                   _ ("“%s”: IDX files hold uint8, int8, int16, int32, float32 and float64 of at least one dimension, not %s."), path,
                   tn_dtype_name (tensor->dtype));
      return FALSE;
    }
  head[2] = types[type].code;
  head[3] = (uint8_t) tensor->shape.n_dims;
  for (int i = 0; i < tensor->shape.n_dims; i++)
    {
      if (tensor->shape.dims[i] > UINT32_MAX)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _ ("“%s”: a dimension of %" PRId64 " does not fit an IDX header."), path,
                       tensor->shape.dims[i]);
          return FALSE;
        }
      tn_write_be32 (head + 4 + 4 * i, (uint32_t) tensor->shape.dims[i]);
    }

  /* Always a copy: its bytes are swapped. */
  g_autoptr (TnTensor) copy = tn_tensor_new (tensor->dtype, tensor->shape, error);
  if (!copy || !tn_tensor_copy (copy, tensor, error))
    return FALSE;
  if (G_BYTE_ORDER == G_LITTLE_ENDIAN)
    tn_swap_bytes (tn_tensor_data (copy), tn_dtype_size (copy->dtype), (size_t) tn_tensor_count (copy));

  TnDurableFile *file = tn_durable_file_new (path, 0, error);
  if (!file)
    return FALSE;
  if (!tn_durable_file_write (file, head, 4 + 4 * (size_t) tensor->shape.n_dims, error)
      || !tn_durable_file_write (file, tn_tensor_data (copy), tn_tensor_bytes (copy), error))
    {
      tn_durable_file_abort (file);
      return FALSE;
    }
  return tn_durable_file_finish (file, TRUE, error);
}

/* "…images…idx3…" and "…labels…idx1…" are the two halves of one name. */
static char *
swap_words (const char *name, gboolean to_labels)
{
  static const char *const words[][2] = { { "images", "labels" }, { "idx3", "idx1" } };
  GString *text = g_string_new (name);
  for (int i = 0; i < 2; i++)
    if (g_string_replace (text, words[i][to_labels ? 0 : 1], words[i][to_labels ? 1 : 0], 1) == 0 && i == 0)
      return g_string_free (text, TRUE), NULL;
  return g_string_free (text, FALSE);
}

char *
tn_idx_find_partner (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_autofree char *name = g_path_get_basename (path);
  gboolean to_labels = strstr (name, "images") != NULL;
  g_autofree char *other = swap_words (name, to_labels);
  if (!other)
    return NULL;

  g_autofree char *stem = g_str_has_suffix (other, ".gz") ? g_strndup (other, strlen (other) - 3) : g_strdup (other);
  g_autofree char *dotted = g_strdup (stem);
  char *idx = strstr (dotted, "idx");
  if (idx && idx > dotted && (idx[-1] == '-' || idx[-1] == '.'))
    idx[-1] = idx[-1] == '-' ? '.' : '-';
  const char *stems[] = { stem, dotted };
  for (int i = 0; i < 2; i++)
    for (int gz = 0; gz < 2; gz++)
      {
        g_autofree char *file = g_strconcat (stems[i], gz ? ".gz" : "", NULL);
        char *candidate = g_build_filename (folder, file, NULL);
        if (g_file_test (candidate, G_FILE_TEST_IS_REGULAR))
          return candidate;
        g_free (candidate);
      }
  return NULL;
}
