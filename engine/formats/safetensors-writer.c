/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/safetensors.h"
#include <inttypes.h>

#include "base/error.h"
#include "base/json.h"
#include "formats/bytes.h"

typedef struct
{
  char *name;
  TnDType dtype;
  TnShape shape;
  size_t bytes;
} Item;

struct _TnSafetensorsWriter
{
  GArray *items; /* Item, sorted by @sorted */
  GHashTable *names;
  GPtrArray *metadata; /* key, value, key, value, as they were set */
  gboolean sorted;
  guint next;
  GString *header; /* with its length in front */
  TnSafetensorsSink sink;
  gpointer sink_data;
};

static void
item_clear (void *data)
{
  g_free (((Item *) data)->name);
}

TnSafetensorsWriter *
tn_safetensors_writer_new (void)
{
  TnSafetensorsWriter *self = g_new0 (TnSafetensorsWriter, 1);
  self->items = g_array_new (FALSE, FALSE, sizeof (Item));
  g_array_set_clear_func (self->items, item_clear);
  self->names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->metadata = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
tn_safetensors_writer_free (TnSafetensorsWriter *self)
{
  g_array_unref (self->items);
  g_hash_table_unref (self->names);
  g_ptr_array_unref (self->metadata);
  if (self->header)
    g_string_free (self->header, TRUE);
  g_free (self);
}

void
tn_safetensors_writer_set_metadata (TnSafetensorsWriter *self, const char *key, const char *value)
{
  g_return_if_fail (!self->header);
  for (guint i = 0; i < self->metadata->len; i += 2)
    if (strcmp (self->metadata->pdata[i], key) == 0)
      {
        g_free (self->metadata->pdata[i + 1]);
        self->metadata->pdata[i + 1] = g_strdup (value);
        return;
      }
  g_ptr_array_add (self->metadata, g_strdup (key));
  g_ptr_array_add (self->metadata, g_strdup (value));
}

gboolean
tn_safetensors_writer_add (TnSafetensorsWriter *self, const char *name, TnDType dtype, TnShape shape, GError **error)
{
  Item item = { .dtype = dtype, .shape = shape };
  g_return_val_if_fail (!self->header, FALSE);

  if (strcmp (name, "__metadata__") == 0 || !g_utf8_validate (name, -1, NULL))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("A tensor cannot have the name “%s” in a safetensors file."), name);
      return FALSE;
    }
  if (g_hash_table_contains (self->names, name))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_EXISTS, _ ("Two tensors have the name “%s”."), name);
      return FALSE;
    }
  if (!tn_shape_bytes (&shape, tn_dtype_size (dtype), &item.bytes, error))
    return FALSE;
  item.name = g_strdup (name);
  g_hash_table_add (self->names, g_strdup (name));
  g_array_append_val (self->items, item);
  self->sorted = FALSE;
  return TRUE;
}

static const char *
dtype_code (TnDType dtype)
{
  static const char *const codes[TN_DTYPE_COUNT] = {
    [TN_DTYPE_F32] = "F32", [TN_DTYPE_F64] = "F64", [TN_DTYPE_F16] = "F16", [TN_DTYPE_BF16] = "BF16", [TN_DTYPE_I8] = "I8",
    [TN_DTYPE_I16] = "I16", [TN_DTYPE_I32] = "I32", [TN_DTYPE_I64] = "I64", [TN_DTYPE_U8] = "U8",     [TN_DTYPE_BOOL] = "BOOL",
  };
  return codes[dtype];
}

static int
compare_items (const void *a, const void *b)
{
  const Item *x = a, *y = b;
  size_t x_size = tn_dtype_size (x->dtype), y_size = tn_dtype_size (y->dtype);
  if (x_size != y_size)
    return x_size > y_size ? -1 : 1;
  return strcmp (x->name, y->name);
}

static void
append_json_string (GString *out, const char *text)
{
  g_string_append_c (out, '"');
  for (const char *p = text; *p; p++)
    if (*p == '"' || *p == '\\')
      g_string_append_printf (out, "\\%c", *p);
    else if ((unsigned char) *p < 0x20)
      g_string_append_printf (out, "\\u%04x", (unsigned char) *p);
    else
      g_string_append_c (out, *p);
  g_string_append_c (out, '"');
}

static void
append_item (GString *out, const Item *item, uint64_t *at)
{
  append_json_string (out, item->name);
  g_string_append_printf (out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_code (item->dtype));
  for (int d = 0; d < item->shape.n_dims; d++)
    g_string_append_printf (out, "%s%" PRId64, d ? "," : "", item->shape.dims[d]);
  g_string_append_printf (out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *at, *at + item->bytes);
  *at += item->bytes;
}

/* Made once, when first asked for. Returns the number of data bytes. */
static uint64_t
make_header (TnSafetensorsWriter *self, GString *out)
{
  uint64_t at = 0;
  if (!self->sorted)
    g_array_sort (self->items, compare_items);
  self->sorted = TRUE;
  g_string_append_len (out, "\0\0\0\0\0\0\0\0", 8);
  g_string_append_c (out, '{');
  for (guint i = 0; i < self->metadata->len; i += 2)
    {
      g_string_append (out, i == 0 ? "\"__metadata__\":{" : ",");
      append_json_string (out, self->metadata->pdata[i]);
      g_string_append_c (out, ':');
      append_json_string (out, self->metadata->pdata[i + 1]);
    }
  if (self->metadata->len > 0)
    g_string_append_c (out, '}');
  for (guint i = 0; i < self->items->len; i++)
    {
      if (i > 0 || self->metadata->len > 0)
        g_string_append_c (out, ',');
      append_item (out, &g_array_index (self->items, Item, i), &at);
    }
  g_string_append_c (out, '}');
  while (out->len % 8 != 0)
    g_string_append_c (out, ' ');
  tn_write_le64 (out->str, out->len - 8);
  return at;
}

uint64_t
tn_safetensors_writer_size (TnSafetensorsWriter *self)
{
  g_autoptr (GString) header = g_string_new (NULL);
  uint64_t data = make_header (self, header);
  return header->len + data;
}

gboolean
tn_safetensors_writer_begin (TnSafetensorsWriter *self, TnSafetensorsSink sink, gpointer sink_data, GError **error)
{
  g_return_val_if_fail (!self->header, FALSE);
  self->header = g_string_new (NULL);
  make_header (self, self->header);
  self->sink = sink;
  self->sink_data = sink_data;
  return sink (sink_data, self->header->str, self->header->len, error);
}

const char *
tn_safetensors_writer_next (TnSafetensorsWriter *self)
{
  return self->header && self->next < self->items->len ? g_array_index (self->items, Item, self->next).name : NULL;
}

gboolean
tn_safetensors_writer_write (TnSafetensorsWriter *self, const void *data, GError **error)
{
  g_return_val_if_fail (self->header && self->next < self->items->len, FALSE);
  const Item *item = &g_array_index (self->items, Item, self->next++);
  if (G_BYTE_ORDER == G_LITTLE_ENDIAN || tn_dtype_size (item->dtype) == 1)
    return self->sink (self->sink_data, data, item->bytes, error);
  g_autofree uint8_t *copy = g_memdup2 (data, item->bytes);
  tn_swap_bytes (copy, tn_dtype_size (item->dtype), item->bytes / tn_dtype_size (item->dtype));
  return self->sink (self->sink_data, copy, item->bytes, error);
}

gboolean
tn_safetensors_durable_sink (gpointer durable_file, const void *data, size_t n, GError **error)
{
  return tn_durable_file_write (durable_file, data, n, error);
}

static gboolean
write_all (TnSafetensorsWriter *writer, const char *const *names, TnTensor *const *tensors, int n, GError **error)
{
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);
  const char *name;
  for (int i = 0; i < n; i++)
    g_hash_table_insert (by_name, (char *) names[i], tensors[i]);
  while ((name = tn_safetensors_writer_next (writer)))
    {
      g_autoptr (TnTensor) whole = tn_tensor_contiguous (g_hash_table_lookup (by_name, name), error);
      if (!whole || !tn_safetensors_writer_write (writer, tn_tensor_data (whole), error))
        return FALSE;
    }
  return TRUE;
}

gboolean
tn_safetensors_write (const char *path, const char *const *names, TnTensor *const *tensors, int n, GHashTable *metadata,
                      GError **error)
{
  g_autoptr (TnSafetensorsWriter) writer = tn_safetensors_writer_new ();
  if (metadata)
    {
      /* Sorted, so that the same contents give the same file. */
      g_autoptr (GList) keys = g_list_sort (g_hash_table_get_keys (metadata), (GCompareFunc) strcmp);
      for (GList *key = keys; key; key = key->next)
        tn_safetensors_writer_set_metadata (writer, key->data, g_hash_table_lookup (metadata, key->data));
    }
  for (int i = 0; i < n; i++)
    if (!tn_safetensors_writer_add (writer, names[i], tensors[i]->dtype, tensors[i]->shape, error))
      return FALSE;
  g_autoptr (TnDurableFile) file = tn_durable_file_new (path, tn_safetensors_writer_size (writer), error);
  if (!file || !tn_safetensors_writer_begin (writer, tn_safetensors_durable_sink, file, error)
      || !write_all (writer, names, tensors, n, error))
    return FALSE;
  return tn_durable_file_finish (g_steal_pointer (&file), TRUE, error);
}
