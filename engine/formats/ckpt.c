/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/ckpt.h"

#include <inttypes.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "base/error.h"
#include "formats/bytes.h"
#include "formats/protobuf.h"

#define MAX_NAME 65536
#define MAX_TYPE 64
#define CHUNK ((size_t) 512 << 20)
#define TRAILER 17 /* "crc_num" and ten bytes, big endian */

typedef struct
{
  uint64_t offset, n;
} Piece;

typedef struct
{
  TnCkptEntry entry;
  GArray *pieces; /* Piece */
} Item;

struct _TnCkpt
{
  char *path;
  int fd;
  uint64_t size; /* without the trailer */
  GPtrArray *items;
  GHashTable *by_name; /* name -> Item */
};

static void
free_item (gpointer data)
{
  Item *item = data;
  g_free ((char *) item->entry.name);
  g_free ((char *) item->entry.type_name);
  g_clear_pointer (&item->pieces, g_array_unref);
  g_free (item);
}

void
tn_ckpt_free (TnCkpt *self)
{
  if (self == NULL)
    return;
  if (self->fd >= 0)
    close (self->fd);
  g_clear_pointer (&self->by_name, g_hash_table_unref);
  g_clear_pointer (&self->items, g_ptr_array_unref);
  g_free (self->path);
  g_free (self);
}

/* ---- bytes ---- */

static gboolean
read_at (const TnCkpt *self, uint64_t offset, void *out, size_t n, GError **error)
{
  return tn_file_pread (self->fd, out, n, offset, self->path, error);
}

static gboolean
damaged (const TnCkpt *self, uint64_t at, const char *what, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”, byte %" PRIu64 ": %s. The file is damaged or no MindSpore checkpoint."), self->path, at, what);
  return FALSE;
}

/* A place in the file, and where the message around it ends. */
typedef struct
{
  const TnCkpt *file;
  uint64_t at, end;
} Cursor;

static gboolean
read_varint (Cursor *c, uint64_t *value, GError **error)
{
  uint8_t bytes[10];
  size_t n = (size_t) MIN (c->end - c->at, sizeof bytes);
  if (n == 0 || !read_at (c->file, c->at, bytes, n, error))
    return n == 0 ? damaged (c->file, c->at, _ ("it ends inside of a number"), error) : FALSE;
  TnPbReader reader = tn_pb_reader (bytes, n);
  if (!tn_pb_read_varint (&reader, value))
    return damaged (c->file, c->at, _ ("a number has no end"), error);
  c->at += (uint64_t) (reader.at - bytes);
  return TRUE;
}

/* The next field; @inside: its bytes where it has a length. Skips them. */
static gboolean
next_field (Cursor *c, uint32_t *number, uint32_t *wire, uint64_t *value, Cursor *inside, GError **error)
{
  uint64_t key, start = c->at;
  if (!read_varint (c, &key, error))
    return FALSE;
  *number = (uint32_t) (key >> 3);
  *wire = key & 7;
  *value = 0;
  if (key >> 3 == 0 || key >> 32 != 0)
    return damaged (c->file, start, _ ("a field has no proper number"), error);
  if (*wire == TN_PB_VARINT)
    return read_varint (c, value, error);
  if (*wire == TN_PB_BYTES && !read_varint (c, value, error))
    return FALSE;
  uint64_t n = *wire == TN_PB_BYTES ? *value : *wire == TN_PB_FIXED64 ? 8 : *wire == TN_PB_FIXED32 ? 4 : UINT64_MAX;
  if (n > c->end - c->at)
    return damaged (c->file, start, _ ("a field is longer than what holds it"), error);
  *inside = (Cursor){ c->file, c->at, c->at + n };
  c->at += n;
  return TRUE;
}

static char *
read_text (const Cursor *c, size_t most, GError **error)
{
  size_t n = (size_t) (c->end - c->at);
  if (c->end - c->at > most)
    {
      damaged (c->file, c->at, _ ("a name is too long"), error);
      return NULL;
    }
  char *text = g_malloc0 (n + 1);
  if ((n == 0 || read_at (c->file, c->at, text, n, error)) && (g_utf8_validate (text, (gssize) n, NULL) || damaged (c->file, c->at, _ ("a name is no UTF-8"), error)))
    return text;
  g_free (text);
  return NULL;
}

/* ---- tensors ---- */

typedef struct
{
  char *name, *type;
  TnShape shape;
  gboolean too_many;
  Piece content;
  gboolean has_content, is_map;
} Value;

static void
value_clear (Value *value)
{
  g_free (value->name);
  g_free (value->type);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Value, value_clear)

static void
add_dim (Value *value, uint64_t dim)
{
  if (value->shape.n_dims < TN_MAX_DIMS)
    value->shape.dims[value->shape.n_dims++] = (int64_t) dim;
  else
    value->too_many = TRUE;
}

static gboolean
read_tensor (Cursor c, Value *value, GError **error)
{
  while (c.at < c.end)
    {
      uint32_t number, wire;
      uint64_t number_value;
      Cursor inside = { 0 };
      if (!next_field (&c, &number, &wire, &number_value, &inside, error))
        return FALSE;
      if (number == 1 && wire == TN_PB_VARINT)
        add_dim (value, number_value);
      else if (number == 1 && wire == TN_PB_BYTES)
        while (inside.at < inside.end)
          {
            if (value->too_many || !read_varint (&inside, &number_value, error))
              return value->too_many ? damaged (c.file, inside.at, _ ("a tensor has too many dimensions"), error) : FALSE;
            add_dim (value, number_value);
          }
      else if (number == 2 && wire == TN_PB_BYTES)
        {
          g_free (value->type);
          if ((value->type = read_text (&inside, MAX_TYPE, error)) == NULL)
            return FALSE;
        }
      else if (number == 3 && wire == TN_PB_BYTES)
        {
          value->content = (Piece){ inside.at, inside.end - inside.at };
          value->has_content = TRUE;
        }
    }
  return TRUE;
}

static gboolean
read_value (Cursor c, Value *value, GError **error)
{
  while (c.at < c.end)
    {
      uint32_t number, wire;
      uint64_t ignored;
      Cursor inside = { 0 };
      if (!next_field (&c, &number, &wire, &ignored, &inside, error))
        return FALSE;
      if (number == 1 && wire == TN_PB_BYTES)
        {
          g_free (value->name);
          if ((value->name = read_text (&inside, MAX_NAME, error)) == NULL)
            return FALSE;
        }
      else if (number == 2 && wire == TN_PB_BYTES && !read_tensor (inside, value, error))
        return FALSE;
      else if (number == 3 && wire == TN_PB_BYTES)
        value->is_map = TRUE;
    }
  return value->name != NULL ? TRUE : damaged (c.file, c.at, _ ("a value has no name"), error);
}

static gboolean
add_value (TnCkpt *self, Value *value, uint64_t at, GError **error)
{
  Item *item = self->items->len > 0 ? self->items->pdata[self->items->len - 1] : NULL;
  if (!value->has_content && !value->is_map)
    return damaged (self, at, _ ("a tensor has no contents"), error);
  if (item == NULL || strcmp (item->entry.name, value->name) != 0)
    {
      if (g_hash_table_contains (self->by_name, value->name))
        return damaged (self, at, _ ("a tensor is there twice"), error);
      item = g_new0 (Item, 1);
      g_ptr_array_add (self->items, item);
      item->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
      item->entry.name = g_steal_pointer (&value->name);
      item->entry.type_name = value->is_map ? g_strdup ("MapTensor") : value->type != NULL ? g_steal_pointer (&value->type) : g_strdup ("");
      item->entry.shape = value->shape;
      item->entry.dtype = TN_DTYPE_COUNT;
      TnDType dtype;
      for (int i = 0; i < TN_DTYPE_COUNT && !value->too_many; i++)
        if (g_ascii_strcasecmp (tn_dtype_ir_name (i), item->entry.type_name) == 0 && tn_dtype_parse (tn_dtype_ir_name (i), &dtype))
          item->entry.dtype = dtype;
      g_hash_table_insert (self->by_name, (char *) item->entry.name, item);
    }
  if (value->has_content)
    g_array_append_val (item->pieces, value->content);
  item->entry.bytes += value->content.n;
  return TRUE;
}

/* Dimensions against contents; a scalar has none, or [0] from older versions. */
static gboolean
check_item (TnCkpt *self, Item *item, GError **error)
{
  TnCkptEntry *e = &item->entry;
  size_t bytes;
  if (e->dtype == TN_DTYPE_COUNT)
    return TRUE;
  if (e->shape.n_dims == 1 && e->shape.dims[0] == 0 && e->bytes == tn_dtype_size (e->dtype))
    e->shape = TN_SHAPE_SCALAR;
  for (int d = 0; d < e->shape.n_dims; d++)
    if (e->shape.dims[d] < 0)
      return damaged (self, 0, _ ("a tensor has a negative dimension"), error);
  if (tn_shape_bytes (&e->shape, tn_dtype_size (e->dtype), &bytes, NULL) && bytes == e->bytes)
    return TRUE;
  g_autofree char *shape = tn_shape_to_string (&e->shape);
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”, tensor “%s”: %" PRIu64 " bytes do not fit %s of %s. The file is damaged."), self->path, e->name, e->bytes, shape, e->type_name);
  return FALSE;
}

/* ---- the file ---- */

static gboolean
check_crc (TnCkpt *self, GError **error)
{
  uint8_t trailer[TRAILER], block[65536];
  if (self->size < TRAILER)
    return TRUE;
  if (!read_at (self, self->size - TRAILER, trailer, TRAILER, error))
    return FALSE;
  if (memcmp (trailer, "crc_num", 7) != 0)
    return TRUE;
  self->size -= TRAILER;
  uint64_t want = 0;
  for (int i = 7; i < TRAILER; i++)
    want = want << 8 | trailer[i];
  uLong crc = crc32 (0, NULL, 0);
  for (uint64_t at = 0; at < self->size; at += sizeof block)
    {
      size_t n = (size_t) MIN (self->size - at, sizeof block);
      if (!read_at (self, at, block, n, error))
        return FALSE;
      crc = crc32 (crc, block, (uInt) n);
    }
  return crc == want ? TRUE : damaged (self, self->size, _ ("its checksum is another"), error);
}

static gboolean
check_kind (const TnCkpt *self, GError **error)
{
  uint8_t head[4] = { 0 };
  const char *other = NULL;
  if (self->size == 0)
    return damaged (self, 0, _ ("it is empty"), error);
  if (self->size >= 4 && !read_at (self, 0, head, 4, error))
    return FALSE;
  if (memcmp (head, "PK\3\4", 4) == 0 || head[0] == 0x80)
    other = _ ("a PyTorch file; save it as safetensors");
  else if (head[3] == 0x7f && head[2] == 0x3a && head[1] == 0x5e && head[0] >= 0xd8 && head[0] <= 0xda)
    other = _ ("encrypted; load and save it without enc_key");
  if (other == NULL)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is %s."), self->path, other);
  return FALSE;
}

static gboolean
read_file (TnCkpt *self, GError **error)
{
  if (!check_kind (self, error) || !check_crc (self, error))
    return FALSE;
  for (Cursor c = { self, 0, self->size }; c.at < c.end;)
    {
      uint32_t number, wire;
      uint64_t ignored, at = c.at;
      Cursor inside = { 0 };
      g_auto (Value) value = { 0 };
      if (!next_field (&c, &number, &wire, &ignored, &inside, error))
        return FALSE;
      if (number != 1 || wire != TN_PB_BYTES)
        return damaged (self, at, _ ("something else than a value stands there"), error);
      if (!read_value (inside, &value, error) || !add_value (self, &value, at, error))
        return FALSE;
    }
  for (guint i = 0; i < self->items->len; i++)
    if (!check_item (self, self->items->pdata[i], error))
      return FALSE;
  return TRUE;
}

TnCkpt *
tn_ckpt_open (const char *path, GError **error)
{
  g_autoptr (TnCkpt) self = g_new0 (TnCkpt, 1);
  struct stat st;
  self->path = g_strdup (path);
  self->items = g_ptr_array_new_with_free_func (free_item);
  self->by_name = g_hash_table_new (g_str_hash, g_str_equal);
  self->fd = open (path, O_RDONLY | O_CLOEXEC);
  if (self->fd < 0 || fstat (self->fd, &st) != 0)
    {
      tn_error_set_errno (error, errno, _ ("open"), path);
      return NULL;
    }
  if (!S_ISREG (st.st_mode))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is no file."), path);
      return NULL;
    }
  self->size = (uint64_t) st.st_size;
  return read_file (self, error) ? g_steal_pointer (&self) : NULL;
}

guint
tn_ckpt_n (const TnCkpt *self)
{
  return self->items->len;
}

const TnCkptEntry *
tn_ckpt_entry (const TnCkpt *self, guint i)
{
  return &((Item *) self->items->pdata[i])->entry;
}

const TnCkptEntry *
tn_ckpt_find (const TnCkpt *self, const char *name)
{
  Item *item = g_hash_table_lookup (self->by_name, name);
  return item != NULL ? &item->entry : NULL;
}

gboolean
tn_ckpt_load_raw (TnCkpt *self, const TnCkptEntry *entry, void *out, GError **error)
{
  const Item *item = g_hash_table_lookup (self->by_name, entry->name);
  size_t done = 0;
  for (guint i = 0; i < item->pieces->len; i++)
    {
      const Piece *piece = &g_array_index (item->pieces, Piece, i);
      if (!read_at (self, piece->offset, (char *) out + done, (size_t) piece->n, error))
        return FALSE;
      done += (size_t) piece->n;
    }
  return TRUE;
}

/* ---- writing ---- */

static size_t
varint_size (uint64_t value)
{
  size_t n = 1;
  while (value >>= 7)
    n++;
  return n;
}

static void
put_key_and_length (GByteArray *out, uint32_t number, uint64_t n)
{
  tn_pb_put_varint (out, (uint64_t) number << 3 | TN_PB_BYTES);
  tn_pb_put_varint (out, n);
}

static gboolean
write_piece (TnCkptSink sink, gpointer sink_data, const char *name, TnDType dtype, const TnShape *shape, const char *data, size_t n, GError **error)
{
  g_autoptr (GByteArray) tensor = g_byte_array_new (), head = g_byte_array_new (), tag = g_byte_array_new ();
  const char *type = tn_dtype_ir_name (dtype);
  for (int d = 0; d < shape->n_dims; d++)
    tn_pb_put_uint (tensor, 1, (uint64_t) shape->dims[d]);
  tn_pb_put_bytes (tensor, 2, type, strlen (type));
  put_key_and_length (tensor, 3, n);
  tn_pb_put_bytes (tag, 1, name, strlen (name));
  uint64_t tensor_size = tensor->len + n, value_size = tag->len + 1 + varint_size (tensor_size) + tensor_size;
  put_key_and_length (head, 1, value_size);
  g_byte_array_append (head, tag->data, tag->len);
  put_key_and_length (head, 2, tensor_size);
  g_byte_array_append (head, tensor->data, tensor->len);
  return sink (sink_data, head->data, head->len, error) && sink (sink_data, data, n, error);
}

gboolean
tn_ckpt_write (TnCkptSink sink, gpointer sink_data, const char *name, TnDType dtype, const TnShape *shape, const void *data, GError **error)
{
  size_t bytes;
  if (!tn_shape_bytes (shape, tn_dtype_size (dtype), &bytes, error))
    return FALSE;
  for (size_t at = 0; at < bytes; at += CHUNK)
    if (!write_piece (sink, sink_data, name, dtype, shape, (const char *) data + at, MIN (CHUNK, bytes - at), error))
      return FALSE;
  return TRUE;
}
