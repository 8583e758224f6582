/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dcp.h"
#include <inttypes.h>

#include <glib/gstdio.h>
#include <string.h>
#include "base/error.h"
#include "formats/pickle.h"

#define MAX_FILE ((size_t) 256 << 20)

static void
clear_piece (gpointer data)
{
  g_free (((TnDcpPiece *) data)->file);
}

static void
free_tensor (gpointer data)
{
  TnDcpTensor *tensor = data;
  g_free (tensor->name);
  g_free (tensor->dtype_name);
  g_array_unref (tensor->pieces);
  g_free (tensor);
}

void
tn_dcp_free (TnDcp *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->tensors);
  g_ptr_array_unref (self->others);
  g_free (self);
}

static gboolean
damaged (const char *name, const char *what, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s”: %s. The metadata is damaged, or of a version that is not known."), name, what);
  return FALSE;
}

/* torch.Size ((24, 10)), or a plain tuple. */
static gboolean
read_ints (const TnPickleValue *value, int64_t *out, int *n)
{
  if (tn_pickle_is_a (value, "Size"))
    value = value->args->items->len > 0 ? value->args->items->pdata[0] : value->args;
  if (value == NULL || (value->kind != TN_PICKLE_TUPLE && value->kind != TN_PICKLE_LIST) || value->items->len > TN_MAX_DIMS)
    return FALSE;
  *n = (int) value->items->len;
  for (int d = 0; d < *n; d++)
    {
      const TnPickleValue *item = value->items->pdata[d];
      if (item->kind != TN_PICKLE_INT || item->integer < 0)
        return FALSE;
      out[d] = item->integer;
    }
  return TRUE;
}

static gboolean
read_pieces (TnDcpTensor *tensor, const TnPickleValue *chunks, GError **error)
{
  if (chunks == NULL || chunks->kind != TN_PICKLE_LIST)
    return damaged (tensor->name, _ ("it has no list of pieces"), error);
  for (guint i = 0; i < chunks->items->len; i++)
    {
      TnDcpPiece piece = { .rank = -1 };
      int n_lo, n_sizes;
      if (!read_ints (tn_pickle_get (chunks->items->pdata[i], "offsets"), piece.lo, &n_lo) || !read_ints (tn_pickle_get (chunks->items->pdata[i], "sizes"), piece.sizes, &n_sizes)
          || n_lo != tensor->shape.n_dims || n_sizes != n_lo)
        return damaged (tensor->name, _ ("a piece has no proper place"), error);
      for (int d = 0; d < n_lo; d++)
        if (piece.lo[d] > tensor->shape.dims[d] || piece.sizes[d] > tensor->shape.dims[d] - piece.lo[d])
          return damaged (tensor->name, _ ("a piece lies outside of its tensor"), error);
      g_array_append_val (tensor->pieces, piece);
    }
  return TRUE;
}

static gboolean
read_tensor (TnDcp *self, const char *name, const TnPickleValue *value, GError **error)
{
  TnDcpTensor *tensor = g_new0 (TnDcpTensor, 1);
  tensor->name = g_strdup (name);
  tensor->pieces = g_array_new (FALSE, TRUE, sizeof (TnDcpPiece));
  tensor->dtype = TN_DTYPE_COUNT;
  g_array_set_clear_func (tensor->pieces, clear_piece);
  g_ptr_array_add (self->tensors, tensor);
  const TnPickleValue *properties = tn_pickle_get (value, "properties"), *dtype = tn_pickle_get (properties, "dtype");
  if (dtype == NULL && properties != NULL && properties->kind == TN_PICKLE_OBJECT && properties->state != NULL && properties->state->kind == TN_PICKLE_TUPLE && properties->state->items->len > 0)
    dtype = properties->state->items->pdata[0]; /* TensorProperties keeps a tuple */
  if (dtype == NULL || dtype->kind != TN_PICKLE_NAME)
    return damaged (name, _ ("it has no type"), error);
  tensor->dtype_name = g_strdup (g_str_has_prefix (dtype->text, "torch.") ? dtype->text + 6 : dtype->text);
  if (!tn_dtype_parse (tensor->dtype_name, &tensor->dtype))
    tensor->dtype = TN_DTYPE_COUNT;
  size_t bytes;
  if (!read_ints (tn_pickle_get (value, "size"), tensor->shape.dims, &tensor->shape.n_dims) || !tn_shape_bytes (&tensor->shape, 16, &bytes, NULL))
    return damaged (name, _ ("it has no proper shape"), error);
  return read_pieces (tensor, tn_pickle_get (value, "chunks"), error);
}

static int64_t
writer_of (const char *file)
{
  if (!g_str_has_prefix (file, "__"))
    return -1;
  char *end;
  guint64 rank = g_ascii_strtoull (file + 2, &end, 10);
  return end != file + 2 && *end == '_' && rank < G_MAXINT32 ? (int64_t) rank : -1;
}

/* {MetadataIndex (fqn, offset): _StorageInfo (relative_path, offset, length)} */
static gboolean
read_storage (GHashTable *by_name, const TnPickleValue *key, const TnPickleValue *info, GError **error)
{
  const TnPickleValue *fqn = tn_pickle_get (key, "fqn"), *offset = tn_pickle_get (key, "offset"), *path = tn_pickle_get (info, "relative_path");
  const TnPickleValue *at = tn_pickle_get (info, "offset"), *length = tn_pickle_get (info, "length");
  if (fqn == NULL || fqn->kind != TN_PICKLE_TEXT || path == NULL || path->kind != TN_PICKLE_TEXT || at == NULL || at->kind != TN_PICKLE_INT || length == NULL || length->kind != TN_PICKLE_INT
      || at->integer < 0 || length->integer < 0)
    return damaged (fqn != NULL && fqn->text != NULL ? fqn->text : "storage_data", _ ("where it lies is not said properly"), error);
  if (strchr (path->text, '/') != NULL || *path->text == '.' || *path->text == '\0')
    return damaged (fqn->text, _ ("its file lies outside of the folder"), error);
  TnDcpTensor *tensor = g_hash_table_lookup (by_name, fqn->text);
  int64_t lo[TN_MAX_DIMS];
  int n;
  if (tensor == NULL || !read_ints (offset, lo, &n))
    return TRUE; /* no tensor */
  for (guint i = 0; i < tensor->pieces->len; i++)
    {
      TnDcpPiece *piece = &g_array_index (tensor->pieces, TnDcpPiece, i);
      if (piece->file != NULL || n != tensor->shape.n_dims || memcmp (piece->lo, lo, sizeof *lo * (size_t) n) != 0)
        continue;
      piece->file = g_strdup (path->text);
      piece->offset = (uint64_t) at->integer;
      piece->length = (uint64_t) length->integer;
      piece->rank = writer_of (path->text);
      break;
    }
  return TRUE;
}

static gboolean
read_all (TnDcp *self, const TnPickleValue *root, GError **error)
{
  const TnPickleValue *state = tn_pickle_get (root, "state_dict_metadata"), *storage = tn_pickle_get (root, "storage_data");
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);
  if (!tn_pickle_is_a (root, "Metadata") || state == NULL || state->kind != TN_PICKLE_DICT)
    return damaged (".metadata", _ ("it is no Metadata of torch.distributed.checkpoint"), error);
  for (guint i = 0; i + 1 < state->items->len; i += 2)
    {
      const TnPickleValue *name = state->items->pdata[i], *value = state->items->pdata[i + 1];
      if (name->kind != TN_PICKLE_TEXT)
        return damaged (".metadata", _ ("a name is no text"), error);
      if (!tn_pickle_is_a (value, "TensorStorageMetadata"))
        g_ptr_array_add (self->others, g_strdup (name->text));
      else if (!read_tensor (self, name->text, value, error))
        return FALSE;
      else
        g_hash_table_insert (by_name, ((TnDcpTensor *) self->tensors->pdata[self->tensors->len - 1])->name, self->tensors->pdata[self->tensors->len - 1]);
    }
  for (guint i = 0; storage != NULL && storage->kind == TN_PICKLE_DICT && i + 1 < storage->items->len; i += 2)
    if (!read_storage (by_name, storage->items->pdata[i], storage->items->pdata[i + 1], error))
      return FALSE;
  return TRUE;
}

TnDcp *
tn_dcp_parse (const void *data, size_t n, GError **error)
{
  g_autoptr (TnPickle) pickle = tn_pickle_parse (data, n, error);
  if (pickle == NULL)
    return NULL;
  g_autoptr (TnDcp) self = g_new0 (TnDcp, 1);
  self->tensors = g_ptr_array_new_with_free_func (free_tensor);
  self->others = g_ptr_array_new_with_free_func (g_free);
  return read_all (self, tn_pickle_root (pickle), error) ? g_steal_pointer (&self) : NULL;
}

TnDcp *
tn_dcp_load (const char *path, GError **error)
{
  g_autofree char *file = g_file_test (path, G_FILE_TEST_IS_DIR) ? g_build_filename (path, ".metadata", NULL) : g_strdup (path);
  g_autofree char *data = NULL;
  gsize n;
  GStatBuf st;
  if (g_stat (file, &st) == 0 && (!S_ISREG (st.st_mode) || (uint64_t) st.st_size > MAX_FILE))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” is no metadata of a checkpoint: it is no file, or too large."), file);
      return NULL;
    }
  if (!g_file_get_contents (file, &data, &n, error))
    return NULL;
  TnDcp *self = tn_dcp_parse (data, n, error);
  if (self == NULL)
    g_prefix_error (error, "“%s”: ", file);
  return self;
}

char *
tn_dcp_tensor_cut (const TnDcpTensor *tensor)
{
  if (tensor->pieces->len <= 1)
    return g_strdup (_ ("whole"));
  const TnDcpPiece *first = &g_array_index (tensor->pieces, TnDcpPiece, 0);
  TnShape sizes = { .n_dims = tensor->shape.n_dims };
  memcpy (sizes.dims, first->sizes, sizeof sizes.dims);
  for (guint i = 1; i < tensor->pieces->len; i++)
    if (memcmp (first->sizes, g_array_index (tensor->pieces, TnDcpPiece, i).sizes, sizeof *first->sizes * (size_t) sizes.n_dims) != 0)
      return g_strdup_printf (_ ("%u pieces of different sizes"), tensor->pieces->len);
  GString *text = g_string_new (NULL);
  for (int d = 0; d < sizes.n_dims; d++)
    g_string_append_printf (text, "%s%" PRId64, d > 0 ? " x " : "", sizes.dims[d] > 0 ? tensor->shape.dims[d] / sizes.dims[d] : 1);
  g_autofree char *shape = tn_shape_to_string (&sizes), *counts = g_string_free (text, FALSE);
  return g_strdup_printf (_ ("%s pieces of %s"), counts, shape);
}
