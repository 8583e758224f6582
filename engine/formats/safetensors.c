/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "formats/bytes.h"

#define MAX_HEADER 100000000u /* the reference's own limit */
#define MAX_HEADER_DIMS 64

/* What the format knows; bits because of its 4 and 6 bit types. */
static const struct
{
  const char *name;
  int bits;
  TnDType dtype;
} types[] = {
  { "BOOL", 8, TN_DTYPE_BOOL },        { "U8", 8, TN_DTYPE_U8 },           { "I8", 8, TN_DTYPE_I8 },
  { "I16", 16, TN_DTYPE_I16 },         { "U16", 16, TN_DTYPE_COUNT },      { "F16", 16, TN_DTYPE_F16 },
  { "BF16", 16, TN_DTYPE_BF16 },       { "I32", 32, TN_DTYPE_I32 },        { "U32", 32, TN_DTYPE_COUNT },
  { "F32", 32, TN_DTYPE_F32 },         { "C64", 64, TN_DTYPE_COUNT },      { "F64", 64, TN_DTYPE_F64 },
  { "I64", 64, TN_DTYPE_I64 },         { "U64", 64, TN_DTYPE_COUNT },      { "F8_E5M2", 8, TN_DTYPE_COUNT },
  { "F8_E4M3", 8, TN_DTYPE_COUNT },    { "F8_E8M0", 8, TN_DTYPE_COUNT },   { "F8_E4M3FNUZ", 8, TN_DTYPE_COUNT },
  { "F8_E5M2FNUZ", 8, TN_DTYPE_COUNT }, { "F6_E2M3", 6, TN_DTYPE_COUNT },  { "F6_E3M2", 6, TN_DTYPE_COUNT },
  { "F4", 4, TN_DTYPE_COUNT },
};

struct _TnSafetensors
{
  char *path;
  int fd;
  uint64_t size, data_offset;
  GArray *entries; /* TnSafetensorsEntry by offset; names are interned in @strings */
  GStringChunk *strings;
  GHashTable *by_name;  /* name -> index + 1 */
  GHashTable *metadata; /* name -> text */
  char *warning;
};

void
tn_safetensors_free (TnSafetensors *self)
{
  if (self->fd >= 0)
    close (self->fd);
  g_clear_pointer (&self->entries, g_array_unref);
  g_clear_pointer (&self->by_name, g_hash_table_unref);
  g_clear_pointer (&self->metadata, g_hash_table_unref);
  g_clear_pointer (&self->strings, g_string_chunk_free);
  g_free (self->warning);
  g_free (self->path);
  g_free (self);
}

static gboolean
bad_tensor (TnSafetensors *self, const char *name, const char *what, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”, tensor “%s”: %s. The file is damaged, or its writer was wrong."), self->path, name,
               what);
  return FALSE;
}

static gboolean
uint_at (JsonArray *array, guint i, uint64_t *out)
{
  JsonNode *node = json_array_get_element (array, i);
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64 || json_node_get_int (node) < 0)
    return FALSE;
  *out = (uint64_t) json_node_get_int (node);
  return TRUE;
}

/* Sets shape and the element count; more than TN_MAX_DIMS dimensions are legal in the file but make the entry list-only. */
static gboolean
read_shape (JsonArray *array, TnSafetensorsEntry *entry, uint64_t *count)
{
  guint n = json_array_get_length (array);
  gboolean zero = FALSE;
  *count = 1;
  if (n > MAX_HEADER_DIMS)
    return FALSE;
  entry->shape = TN_SHAPE_SCALAR;
  entry->shape.n_dims = (int) MIN (n, TN_MAX_DIMS);
  for (guint i = 0; i < n; i++)
    {
      uint64_t dim;
      if (!uint_at (array, i, &dim))
        return FALSE;
      if (i < TN_MAX_DIMS)
        entry->shape.dims[i] = (int64_t) dim;
      zero |= dim == 0;
      if (__builtin_mul_overflow (*count, MAX (dim, 1), count))
        return FALSE;
    }
  if (n > TN_MAX_DIMS)
    entry->dtype = TN_DTYPE_COUNT;
  if (zero)
    *count = 0;
  return TRUE;
}

static gboolean
read_entry (TnSafetensors *self, const char *name, JsonNode *node, TnSafetensorsEntry *entry, GError **error)
{
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  JsonNode *dtype = object ? json_object_get_member (object, "dtype") : NULL;
  JsonNode *shape = object ? json_object_get_member (object, "shape") : NULL;
  JsonNode *offsets = object ? json_object_get_member (object, "data_offsets") : NULL;
  uint64_t begin, end, count, bits;

  if (!dtype || !JSON_NODE_HOLDS_VALUE (dtype) || json_node_get_value_type (dtype) != G_TYPE_STRING || !shape
      || !JSON_NODE_HOLDS_ARRAY (shape) || !offsets || !JSON_NODE_HOLDS_ARRAY (offsets)
      || json_array_get_length (json_node_get_array (offsets)) != 2)
    return bad_tensor (self, name, _ ("dtype, shape or data_offsets is missing or of the wrong kind"), error);

  int type = -1;
  for (int i = 0; i < (int) G_N_ELEMENTS (types); i++)
    if (strcmp (types[i].name, json_node_get_string (dtype)) == 0)
      type = i;
  entry->name = g_string_chunk_insert (self->strings, name);
  entry->dtype_name = g_string_chunk_insert_const (self->strings, json_node_get_string (dtype));
  entry->dtype = type >= 0 ? types[type].dtype : TN_DTYPE_COUNT;
  if (!read_shape (json_node_get_array (shape), entry, &count))
    return bad_tensor (self, name, _ ("its shape is impossible"), error);
  if (!uint_at (json_node_get_array (offsets), 0, &begin) || !uint_at (json_node_get_array (offsets), 1, &end) || begin > end)
    return bad_tensor (self, name, _ ("its data_offsets are impossible"), error);
  if (end > self->size - self->data_offset)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _ ("“%s” ends early: tensor “%s” needs bytes up to %" PRIu64 ", the file has %" PRIu64
                      ". It was cut short: copy or download it again."),
                   self->path, name, self->data_offset + end, self->size);
      return FALSE;
    }
  /* The size of an element type that we have never heard of cannot be checked. */
  if (type >= 0
      && (__builtin_mul_overflow (count, (uint64_t) types[type].bits, &bits) || bits % 8 != 0 || bits / 8 != end - begin))
    {
      g_autofree char *shape_text = tn_shape_to_string (&entry->shape);
      g_autofree char *what = g_strdup_printf (_ ("it has %" PRIu64 " bytes, not what %s %s needs"), end - begin, entry->dtype_name,
                                               shape_text);
      return bad_tensor (self, name, what, error);
    }
  entry->offset = self->data_offset + begin;
  entry->bytes = end - begin;
  return TRUE;
}

static int
compare_entries (const void *a, const void *b)
{
  const TnSafetensorsEntry *x = a, *y = b;
  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? -1 : 1;
  return strcmp (x->name, y->name);
}

static gboolean
check_tiling (TnSafetensors *self, GError **error)
{
  uint64_t at = self->data_offset;
  for (guint i = 0; i < self->entries->len; i++)
    {
      const TnSafetensorsEntry *e = &g_array_index (self->entries, TnSafetensorsEntry, i);
      if (e->offset != at)
        return bad_tensor (self, e->name,
                           e->offset < at ? _ ("it lies on the bytes of another tensor") : _ ("there is a hole before its bytes"), error);
      at += e->bytes;
    }
  if (self->size > at)
    self->warning = g_strdup_printf (_ ("%" PRIu64 " bytes after the last tensor were ignored."), self->size - at);
  return TRUE;
}

static gboolean
read_metadata (TnSafetensors *self, JsonNode *node, GError **error)
{
  JsonObjectIter iter;
  const char *key;
  JsonNode *value;
  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      gboolean ok = TRUE;
      json_object_iter_init (&iter, json_node_get_object (node));
      while (ok && json_object_iter_next (&iter, &key, &value))
        {
          ok = JSON_NODE_HOLDS_VALUE (value) && json_node_get_value_type (value) == G_TYPE_STRING;
          if (ok)
            g_hash_table_insert (self->metadata, g_strdup (key), json_node_dup_string (value));
        }
      if (ok)
        return TRUE;
    }
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: __metadata__ may hold strings only. The file is damaged."), self->path);
  return FALSE;
}

static gboolean
parse_header (TnSafetensors *self, const char *text, size_t n, GError **error)
{
  g_autoptr (GError) json_error = NULL;
  g_autoptr (JsonNode) root = tn_json_parse (text, (gssize) n, &json_error);
  if (!root || !JSON_NODE_HOLDS_OBJECT (root))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is damaged, or no safetensors file: its header is not a JSON object (%s)."), self->path,
                   json_error ? json_error->message : _ ("another value"));
      return FALSE;
    }
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;
  json_object_iter_init (&iter, json_node_get_object (root));
  while (json_object_iter_next (&iter, &name, &node))
    {
      TnSafetensorsEntry entry = { 0 };
      if (strcmp (name, "__metadata__") == 0)
        {
          if (!read_metadata (self, node, error))
            return FALSE;
          continue;
        }
      if (!read_entry (self, name, node, &entry, error))
        return FALSE;
      g_array_append_val (self->entries, entry);
    }
  g_array_sort (self->entries, compare_entries);
  for (guint i = 0; i < self->entries->len; i++)
    g_hash_table_insert (self->by_name, (char *) g_array_index (self->entries, TnSafetensorsEntry, i).name, GUINT_TO_POINTER (i + 1));
  return check_tiling (self, error);
}

static gboolean
check_length (TnSafetensors *self, const uint8_t *head, size_t n_head, uint64_t length, GError **error)
{
  const char *what = tn_sniff (head, n_head);
  gboolean brace = n_head > 8 && head[8] == '{';

  if (what && !brace)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is not a safetensors file but %s."), self->path, what);
  else if (self->size < 8)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _ ("“%s” has %" PRIu64 " bytes: too short for a safetensors file. Copy or download it again."), self->path, self->size);
  else if (length > self->size - 8)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 brace ? _ ("“%s”: a header of %" PRIu64 " bytes is longer than the file. It was cut short: copy or download it again.")
                       : _ ("“%s” is no safetensors file: a header of %" PRIu64 " bytes is longer than the file."),
                 self->path, length);
  else if (length > MAX_HEADER)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: a header of %" PRIu64 " bytes is over the format's limit of %u."),
                 self->path, length, MAX_HEADER);
  else if (!brace)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is damaged, or no safetensors file: its header does not begin with “{”."), self->path);
  else
    return TRUE;
  return FALSE;
}

TnSafetensors *
tn_safetensors_open (const char *path, GError **error)
{
  g_autoptr (TnSafetensors) self = g_new0 (TnSafetensors, 1);
  uint8_t head[512];

  self->path = g_strdup (path);
  self->entries = g_array_new (FALSE, FALSE, sizeof (TnSafetensorsEntry));
  self->strings = g_string_chunk_new (4096);
  self->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->metadata = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->fd = tn_file_open (path, &self->size, error);
  size_t n_head = (size_t) MIN (self->size, sizeof head);
  if (self->fd < 0 || !tn_file_pread (self->fd, head, n_head, 0, path, error))
    return NULL;
  uint64_t length = n_head >= 8 ? tn_read_le64 (head) : 0;
  if (!check_length (self, head, n_head, length, error))
    return NULL;
  self->data_offset = 8 + length;

  char *text = malloc (MAX (length, 1));
  if (!text)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for the header of “%s”."), path);
      return NULL;
    }
  gboolean ok = tn_file_pread (self->fd, text, (size_t) length, 8, path, error) && parse_header (self, text, (size_t) length, error);
  free (text);
  return ok ? g_steal_pointer (&self) : NULL;
}

guint
tn_safetensors_n (TnSafetensors *self)
{
  return self->entries->len;
}

const TnSafetensorsEntry *
tn_safetensors_entry (TnSafetensors *self, guint i)
{
  g_return_val_if_fail (i < self->entries->len, NULL);
  return &g_array_index (self->entries, TnSafetensorsEntry, i);
}

const TnSafetensorsEntry *
tn_safetensors_find (TnSafetensors *self, const char *name)
{
  guint i = GPOINTER_TO_UINT (g_hash_table_lookup (self->by_name, name));
  return i ? tn_safetensors_entry (self, i - 1) : NULL;
}

const char *
tn_safetensors_metadata (TnSafetensors *self, const char *key)
{
  return g_hash_table_lookup (self->metadata, key);
}

GHashTable *
tn_safetensors_all_metadata (TnSafetensors *self)
{
  return self->metadata;
}

const char *
tn_safetensors_warning (TnSafetensors *self)
{
  return self->warning;
}

gboolean
tn_safetensors_load_raw (TnSafetensors *self, const TnSafetensorsEntry *entry, void *out, GError **error)
{
  return tn_file_pread (self->fd, out, (size_t) entry->bytes, entry->offset, self->path, error);
}

TnTensor *
tn_safetensors_load (TnSafetensors *self, const char *name, GError **error)
{
  const TnSafetensorsEntry *entry = tn_safetensors_find (self, name);
  if (!entry)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("“%s” has no tensor “%s”."), self->path, name);
      return NULL;
    }
  if (entry->dtype == TN_DTYPE_COUNT)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_DTYPE, _ ("“%s”, tensor “%s”: elements of type %s, or that many dimensions, cannot be loaded."),
                   self->path, name, entry->dtype_name);
      return NULL;
    }
  g_autoptr (TnTensor) tensor = tn_tensor_new (entry->dtype, entry->shape, error);
  if (!tensor || !tn_safetensors_load_raw (self, entry, tn_tensor_data (tensor), error))
    return NULL;
  if (entry->dtype == TN_DTYPE_BOOL)
    {
      /* A byte that is neither 0 nor 1 would not be a bool of ours. */
      uint8_t *p = tn_tensor_data (tensor);
      for (uint64_t i = 0; i < entry->bytes; i++)
        p[i] = p[i] != 0;
    }
  if (G_BYTE_ORDER == G_BIG_ENDIAN)
    tn_swap_bytes (tn_tensor_data (tensor), tn_dtype_size (entry->dtype), (size_t) tn_tensor_count (tensor));
  return g_steal_pointer (&tensor);
}
