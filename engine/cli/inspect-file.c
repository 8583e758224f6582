/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inspect.h"
#include "cli/cli.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/bytes.h"
#include "formats/cifar.h"
#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "formats/safetensors.h"
#include "formats/tfevents.h"
#include "ir/ir-text.h"
#include <string.h>
#include <unistd.h>

#define HEAD_BYTES 16384
#define MOST_INFLATED ((uint64_t) 1 << 28)
#define CIFAR_RECORD_10 3073
#define CIFAR_RECORD_100 3074

/* One kind of file: whether the first bytes look like it, and what to say. */
typedef struct
{
  const char *kind;
  gboolean (*looks) (const uint8_t *head, size_t n, uint64_t size);
  JsonObject *(*describe) (const char *path, const uint8_t *head, size_t n, GError **error);
} Kind;

static void
set_tensor (JsonObject *object, const char *dtype, const TnShape *shape)
{
  json_object_set_string_member (object, "dtype", dtype);
  tn_inspection_set_shape (object, shape->dims, shape->n_dims);
}

static gboolean
looks_npy (const uint8_t *head, size_t n, uint64_t size)
{
  return n >= 10 && memcmp (head, "\x93NUMPY", 6) == 0;
}

static JsonObject *
describe_npy (const char *path, const uint8_t *head, size_t n, GError **error)
{
  TnDType dtype;
  TnShape shape;
  size_t stored, offset;
  if (!tn_npy_parse_header (head, n, path, &dtype, &shape, &stored, &offset, error))
    return NULL;
  JsonObject *object = tn_inspection_new ("npy", path);
  set_tensor (object, tn_dtype_name (dtype), &shape);
  json_object_set_int_member (object, "data_offset", (gint64) offset);
  return object;
}

static gboolean
looks_npz (const uint8_t *head, size_t n, uint64_t size)
{
  return n >= 4 && (memcmp (head, "PK\3\4", 4) == 0 || memcmp (head, "PK\5\6", 4) == 0);
}

static JsonObject *
describe_npz (const char *path, const uint8_t *head, size_t n, GError **error)
{
  g_autoptr (TnNpz) npz = tn_npz_open (path, error);
  if (npz == NULL)
    return NULL;
  JsonObject *object = tn_inspection_new ("npz", path);
  for (const char *const *name = tn_npz_names (npz); *name != NULL; name++)
    {
      g_autoptr (GError) failure = NULL;
      JsonObject *item = tn_inspection_add_item (object, *name);
      TnDType dtype;
      TnShape shape;
      if (tn_npz_probe (npz, *name, &dtype, &shape, &failure))
        set_tensor (item, tn_dtype_name (dtype), &shape);
      else
        json_object_set_string_member (item, "error", failure->message);
    }
  return object;
}

static gboolean
is_idx_head (const uint8_t *head, size_t n)
{
  return n >= 4 && head[0] == 0 && head[1] == 0 && head[2] >= 0x08 && head[2] <= 0x0e && head[3] >= 1 && head[3] <= TN_MAX_DIMS;
}

static gboolean
looks_idx (const uint8_t *head, size_t n, uint64_t size)
{
  uint8_t inner[4];
  return tn_is_gzip (head, n) ? is_idx_head (inner, tn_gunzip_head (head, n, inner, sizeof inner)) : is_idx_head (head, n);
}

static JsonObject *
describe_idx (const char *path, const uint8_t *head, size_t n, GError **error)
{
  TnDType dtype;
  TnShape shape;
  if (!tn_idx_probe (path, &dtype, &shape, error))
    return NULL;
  JsonObject *object = tn_inspection_new ("idx", path);
  set_tensor (object, tn_dtype_name (dtype), &shape);
  json_object_set_boolean_member (object, "gzip", tn_is_gzip (head, n));
  g_autofree char *partner = tn_idx_find_partner (path);
  if (partner != NULL)
    json_object_set_string_member (object, "belongs_to", partner);
  if (tn_is_gzip (head, n)) /* the header of a compressed file says nothing of what follows */
    {
      g_autoptr (GError) failure = NULL;
      g_autoptr (TnTensor) whole = tn_idx_read (path, &failure);
      if (whole == NULL)
        json_object_set_string_member (object, "damage", failure->message);
    }
  return object;
}

/* A record begins with its length and the masked checksum of the length. */
static gboolean
looks_tfevents (const uint8_t *head, size_t n, uint64_t size)
{
  if (n < 16)
    return FALSE;
  return tn_read_le32 (head + 8) == tn_crc32c_mask (tn_crc32c (0, head, 8));
}

typedef struct
{
  gint64 n, first, last;
  double value;
  gboolean histogram;
} TagSummary;

static JsonObject *
describe_tfevents (const char *path, const uint8_t *head, size_t n, GError **error)
{
  g_autoptr (TnTfeventsReader) reader = tn_tfevents_reader_new (path, 0, error);
  if (reader == NULL)
    return NULL;
  g_autoptr (TnTfeventsRows) rows = tn_tfevents_rows_new ();
  g_autoptr (GError) failure = NULL;
  gboolean whole = tn_tfevents_reader_read (reader, rows, &failure);
  JsonObject *object = tn_inspection_new ("tfevents", path);
  json_object_set_int_member (object, "rows", rows->rows->len);
  json_object_set_int_member (object, "damaged_records", (gint64) tn_tfevents_reader_n_damaged (reader, NULL));
  if (!whole)
    json_object_set_string_member (object, "damage", failure->message);
  else if (tn_tfevents_reader_is_waiting (reader))
    json_object_set_string_member (object, "damage", _ ("the last record is not whole"));
  g_autoptr (GHashTable) tags = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  for (guint i = 0; i < rows->rows->len; i++)
    {
      const TnTfeventsRow *row = &g_array_index (rows->rows, TnTfeventsRow, i);
      if (row->kind == TN_TFEVENTS_START)
        {
          json_object_set_int_member (object, "resumed_at_step", row->step);
          continue;
        }
      TagSummary *summary = g_hash_table_lookup (tags, row->tag);
      if (summary == NULL)
        {
          summary = g_new0 (TagSummary, 1);
          summary->first = row->step;
          g_hash_table_insert (tags, (gpointer) row->tag, summary);
          g_ptr_array_add (order, (gpointer) row->tag);
        }
      summary->n++;
      summary->last = row->step;
      summary->value = row->value;
      summary->histogram = row->kind == TN_TFEVENTS_HISTOGRAM;
    }
  for (guint i = 0; i < order->len; i++)
    {
      const TagSummary *summary = g_hash_table_lookup (tags, order->pdata[i]);
      JsonObject *item = tn_inspection_add_item (object, order->pdata[i]);
      json_object_set_int_member (item, "rows", summary->n);
      json_object_set_int_member (item, "first_step", summary->first);
      json_object_set_int_member (item, "last_step", summary->last);
      if (!summary->histogram)
        tn_cli_set_number (item, "last_value", summary->value);
    }
  return object;
}

static gboolean
looks_safetensors (const uint8_t *head, size_t n, uint64_t size)
{
  return n >= 10 && head[8] == '{' && tn_read_le64 (head) <= size - 8;
}

static JsonObject *
describe_safetensors (const char *path, const uint8_t *head, size_t n, GError **error)
{
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, error);
  if (file == NULL)
    return NULL;
  JsonObject *object = tn_inspection_new ("safetensors", path);
  GHashTableIter iter;
  gpointer key, value;
  g_hash_table_iter_init (&iter, tn_safetensors_all_metadata (file));
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      g_autofree char *name = g_strdup_printf ("metadata.%s", (const char *) key);
      json_object_set_string_member (object, name, value);
    }
  if (tn_safetensors_warning (file) != NULL)
    json_object_set_string_member (object, "warning", tn_safetensors_warning (file));
  for (guint i = 0; i < tn_safetensors_n (file); i++)
    {
      const TnSafetensorsEntry *entry = tn_safetensors_entry (file, i);
      set_tensor (tn_inspection_add_item (object, entry->name), entry->dtype_name, &entry->shape);
    }
  return object;
}

static gboolean
first_text_is (const uint8_t *head, size_t n, char wanted)
{
  size_t i = 0;
  while (i < n && g_ascii_isspace ((char) head[i]))
    i++;
  return i < n && (char) head[i] == wanted;
}

static gboolean
looks_json (const uint8_t *head, size_t n, uint64_t size)
{
  return first_text_is (head, n, '{') || first_text_is (head, n, '[');
}

static JsonObject *
describe_json (const char *path, const uint8_t *head, size_t n, GError **error)
{
  return tn_inspect_json (path, error);
}

static gboolean
looks_ir (const uint8_t *head, size_t n, uint64_t size)
{
  g_autofree char *text = g_strndup ((const char *) head, n);
  return strstr (text, "# IR entry") != NULL || strstr (text, "#IR entry") != NULL || strstr (text, "subgraph @") != NULL;
}

static JsonObject *
describe_ir (const char *path, const uint8_t *head, size_t n, GError **error)
{
  g_autoptr (TnIrDocument) document = tn_ir_document_load (path, error);
  if (document == NULL)
    return NULL;
  JsonObject *object = tn_inspection_new ("ir", path);
  if (document->entry != NULL)
    json_object_set_string_member (object, "entry", document->entry);
  json_object_set_int_member (object, "parameters", document->parameters->len);
  json_object_set_boolean_member (object, "truncated", document->truncated);
  for (guint i = 0; i < document->graphs->len; i++)
    {
      const TnIrGraph *graph = document->graphs->pdata[i];
      json_object_set_int_member (tn_inspection_add_item (object, graph->name), "nodes", graph->nodes->len);
    }
  return object;
}

static gboolean
looks_dot (const uint8_t *head, size_t n, uint64_t size)
{
  return n >= 7 && memcmp (head, "digraph", 7) == 0;
}

static JsonObject *
describe_dot (const char *path, const uint8_t *head, size_t n, GError **error)
{
  return tn_inspect_dot (path, error);
}

static gboolean
looks_log (const uint8_t *head, size_t n, uint64_t size)
{
  return tn_looks_like_log ((const char *) head, n);
}

static JsonObject *
describe_log (const char *path, const uint8_t *head, size_t n, GError **error)
{
  return tn_inspect_log (path, error);
}

/* Nothing marks these files but their size: the last that is tried. */
static gboolean
looks_cifar (const uint8_t *head, size_t n, uint64_t size)
{
  return size > 0 && (size % CIFAR_RECORD_10 == 0 || size % CIFAR_RECORD_100 == 0);
}

static JsonObject *
describe_cifar (const char *path, const uint8_t *head, size_t n, GError **error)
{
  int classes = tn_cifar_probe (path, error);
  uint64_t size = 0;
  if (classes == 0)
    return NULL;
  int fd = tn_file_open (path, &size, error);
  if (fd < 0)
    return NULL;
  close (fd);
  JsonObject *object = tn_inspection_new (classes == 10 ? "cifar-10" : "cifar-100", path);
  json_object_set_int_member (object, "samples", (gint64) (size / (classes == 10 ? CIFAR_RECORD_10 : CIFAR_RECORD_100)));
  return object;
}

static const Kind kinds[] = {
  { "npy", looks_npy, describe_npy },
  { "npz", looks_npz, describe_npz },
  { "idx", looks_idx, describe_idx },
  { "tfevents", looks_tfevents, describe_tfevents },
  { "safetensors", looks_safetensors, describe_safetensors },
  { "json", looks_json, describe_json },
  { "ir", looks_ir, describe_ir },
  { "dot", looks_dot, describe_dot },
  { "log", looks_log, describe_log },
  { "cifar", looks_cifar, describe_cifar },
};

JsonObject *
tn_inspect_file (const char *path, GError **error)
{
  uint64_t size = 0;
  int fd = tn_file_open (path, &size, error);
  if (fd < 0)
    return NULL;
  size_t n = (size_t) MIN (size, HEAD_BYTES);
  g_autofree uint8_t *head = g_malloc (n + 1);
  gboolean ok = tn_file_pread (fd, head, n, 0, path, error);
  close (fd);
  if (!ok)
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (kinds[i].looks (head, n, size))
      {
        JsonObject *object = kinds[i].describe (path, head, n, error);
        if (object != NULL)
          json_object_set_int_member (object, "bytes", (gint64) size);
        return object;
      }
  if (tn_is_gzip (head, n) && size < MOST_INFLATED)
    {
      g_autoptr (GBytes) bytes = tn_file_read (path, size, NULL);
      gsize n_bytes = 0;
      const void *data = bytes != NULL ? g_bytes_get_data (bytes, &n_bytes) : NULL;
      g_autoptr (GBytes) inflated = data != NULL ? tn_gunzip (data, n_bytes, UINT64_MAX, MOST_INFLATED, path, error) : NULL;
      if (data != NULL && inflated == NULL)
        return NULL;
    }
  const char *what = size == 0 ? _ ("an empty file") : tn_sniff (head, n);
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
               _ ("“%s” is %s: none of npy, npz, IDX, CIFAR, safetensors, event files, .ir, .dot, log.txt, or JSON of projects, runs, checkpoints and models."), path,
               what != NULL ? what : _ ("of a kind that is not known"));
  return NULL;
}
