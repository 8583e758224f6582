/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/strategy-metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"

/* One recorded phase: items once, for all ranks. */
typedef struct
{
  int ref_count;
  int64_t *ranks; /* ascending */
  int64_t n_ranks;
  GArray *items;  /* TnStrategyMetadataItem; strings and layouts owned */
} Record;

struct _TnStrategyMetadata
{
  Record *record;
  int64_t only; /* one rank, or -1 */
  int64_t key;  /* that it stands under */
};

static GMutex lock;
static gboolean enabled;
static GHashTable *records; /* phase -> Record */

static void
record_unref (gpointer data)
{
  Record *record = data;
  if (!g_atomic_int_dec_and_test (&record->ref_count))
    return;
  g_free (record->ranks);
  g_array_unref (record->items);
  g_free (record);
}

static void
clear_item (gpointer data)
{
  TnStrategyMetadataItem *item = data;
  g_free ((char *) item->name);
  tn_layout_unref (item->layout);
  tn_layout_unref (item->named);
}

/* ---- recording ---- */

void
tn_enable_save_strategy_online (void)
{
  g_mutex_lock (&lock);
  enabled = TRUE;
  g_mutex_unlock (&lock);
}

gboolean
tn_strategy_save_enabled (void)
{
  g_mutex_lock (&lock);
  gboolean on = enabled;
  g_mutex_unlock (&lock);
  return on;
}

/* Without axes of size 1, named a, b, c ... */
static TnLayout *
synthetic (TnLayout *layout)
{
  const TnMesh *mesh = layout->mesh;
  int64_t sizes[TN_MESH_MAX_AXES];
  int8_t to[TN_MESH_MAX_AXES];
  int n = 0;
  for (int i = 0; i < mesh->n_axes; i++)
    {
      to[i] = (int8_t) (mesh->sizes[i] > 1 ? n : -1);
      if (mesh->sizes[i] > 1)
        sizes[n++] = mesh->sizes[i];
    }
  if (n == 0)
    sizes[n++] = 1;
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  for (int d = 0; d < layout->n_dims; d++)
    for (int k = 0; k < layout->dims[d].n; k++)
      if (layout->dims[d].axes[k] >= 0 && to[layout->dims[d].axes[k]] >= 0)
        dims[d].axes[dims[d].n++] = to[layout->dims[d].axes[k]];
  for (int d = 0; d < layout->n_dims; d++)
    dims[d].tuple = dims[d].n > 1;
  g_autoptr (TnMesh) plain = tn_mesh_new (n, sizes, NULL, mesh->n_ranks, mesh->plain ? NULL : mesh->ranks, NULL);
  return tn_layout_new (plain, layout->n_dims, dims, 0, TN_PARTIAL_NONE, NULL);
}

static const char *const prefixes[] = { "adam_m.", "adam_v.", "moments.", "accu_grads.", "moment1.", "moment2.", "exp_avg.", "exp_avg_sq.", "accum." };

/* Origin < adam_m < adam_v < moments < accu_grads, as MindSpore sorts; ours behind. */
static int
category (const char *name, const char **base)
{
  *base = name;
  for (guint i = 0; i < G_N_ELEMENTS (prefixes); i++)
    if (g_str_has_prefix (name, prefixes[i]))
      {
        *base = name + strlen (prefixes[i]);
        return (int) i + 1;
      }
  return 0;
}

static int
compare_items (const void *a, const void *b)
{
  const char *base_a, *base_b;
  int x = category (((const TnStrategyMetadataItem *) a)->name, &base_a), y = category (((const TnStrategyMetadataItem *) b)->name, &base_b);
  int order = strcmp (base_a, base_b);
  return order != 0 ? order : x - y;
}

static int
compare_ranks (const void *a, const void *b)
{
  int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
  return (x > y) - (x < y);
}

static Record *
record_new (const TnSharded *sharded, const TnGraph *source)
{
  const TnMesh *mesh = tn_sharded_mesh (sharded);
  Record *record = g_new0 (Record, 1);
  record->ref_count = 1;
  record->n_ranks = mesh->n_ranks;
  record->ranks = g_memdup2 (mesh->ranks, sizeof *mesh->ranks * (size_t) mesh->n_ranks);
  qsort (record->ranks, (size_t) record->n_ranks, sizeof *record->ranks, compare_ranks);
  record->items = g_array_new (FALSE, TRUE, sizeof (TnStrategyMetadataItem));
  g_array_set_clear_func (record->items, clear_item);
  g_autoptr (GHashTable) made = g_hash_table_new (g_direct_hash, g_direct_equal); /* layouts that many parameters share */
  for (int i = 0; i < tn_graph_n_parameters (source); i++)
    {
      const TnValue *value = tn_graph_parameter (source, i);
      TnLayout *named = tn_sharded_layout (sharded, value), *layout = g_hash_table_lookup (made, named);
      layout = layout != NULL ? tn_layout_ref (layout) : synthetic (named);
      g_hash_table_insert (made, named, layout);
      TnStrategyMetadataItem item = { g_strdup (value->node->name), layout, tn_layout_ref (named), tn_dtype_name (value->dtype), value->shape };
      g_array_append_val (record->items, item);
    }
  qsort (record->items->data, record->items->len, sizeof (TnStrategyMetadataItem), compare_items);
  return record;
}

void
tn_strategy_save_online (const TnNetwork *network, const TnSharded *sharded, const TnGraph *source, gboolean recorded_mode)
{
  g_mutex_lock (&lock);
  if (records == NULL)
    records = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, record_unref);
  if (enabled && network->compile_phase != NULL && *network->compile_phase != '\0' && !g_hash_table_contains (records, network->compile_phase))
    {
      Record *record = record_new (sharded, source);
      if (!recorded_mode)
        g_array_set_size (record->items, 0);
      g_hash_table_insert (records, g_strdup (network->compile_phase), record);
    }
  g_mutex_unlock (&lock);
}

/* ---- reading ---- */

static Record *
find_record (const TnNetwork *network)
{
  Record *record = NULL;
  g_mutex_lock (&lock);
  if (records != NULL && network->compile_phase != NULL && *network->compile_phase != '\0')
    record = g_hash_table_lookup (records, network->compile_phase);
  if (record != NULL && record->items->len == 0)
    record = NULL;
  if (record != NULL)
    g_atomic_int_inc (&record->ref_count);
  g_mutex_unlock (&lock);
  return record;
}

static TnStrategyMetadata *
view_new (Record *record, int64_t only, int64_t key)
{
  TnStrategyMetadata *self = g_new0 (TnStrategyMetadata, 1);
  *self = (TnStrategyMetadata){ record, only, key };
  return self;
}

TnStrategyMetadata *
tn_get_strategy_metadata (const TnNetwork *network, int64_t rank_id, GError **error)
{
  g_return_val_if_fail (network != NULL, NULL);
  Record *record = find_record (network);
  if (record == NULL)
    return NULL;
  if (rank_id == -1 || bsearch (&rank_id, record->ranks, (size_t) record->n_ranks, sizeof rank_id, compare_ranks) != NULL)
    return view_new (record, rank_id, rank_id);
  g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("There is no rank %" PRId64 ": ranks are %" PRId64 " to %" PRId64 "."), rank_id, record->ranks[0],
               record->ranks[record->n_ranks - 1]);
  record_unref (record);
  return NULL;
}

TnStrategyMetadata *
tn_get_current_strategy_metadata (const TnNetwork *network)
{
  g_return_val_if_fail (network != NULL, NULL);
  Record *record = find_record (network);
  return record != NULL ? view_new (record, record->ranks[0], 0) : NULL;
}

void
tn_clear_strategy_metadata (void)
{
  g_mutex_lock (&lock);
  g_clear_pointer (&records, g_hash_table_unref);
  g_mutex_unlock (&lock);
}

void
tn_strategy_metadata_free (TnStrategyMetadata *self)
{
  if (self == NULL)
    return;
  record_unref (self->record);
  g_free (self);
}

int64_t
tn_strategy_metadata_n_ranks (const TnStrategyMetadata *self)
{
  return self->only == -1 ? self->record->n_ranks : 1;
}

int64_t
tn_strategy_metadata_rank (const TnStrategyMetadata *self, int64_t i)
{
  return self->only == -1 ? self->record->ranks[i] : self->key;
}

int
tn_strategy_metadata_n_parameters (const TnStrategyMetadata *self)
{
  return (int) self->record->items->len;
}

const TnStrategyMetadataItem *
tn_strategy_metadata_item (const TnStrategyMetadata *self, int i)
{
  return &g_array_index (self->record->items, TnStrategyMetadataItem, i);
}

const TnStrategyMetadataItem *
tn_strategy_metadata_find (const TnStrategyMetadata *self, const char *name)
{
  for (int i = 0; i < tn_strategy_metadata_n_parameters (self); i++)
    if (strcmp (tn_strategy_metadata_item (self, i)->name, name) == 0)
      return tn_strategy_metadata_item (self, i);
  return NULL;
}

static JsonObject *
items_json (const TnStrategyMetadata *self)
{
  JsonObject *object = json_object_new ();
  for (int i = 0; i < tn_strategy_metadata_n_parameters (self); i++)
    {
      const TnStrategyMetadataItem *item = tn_strategy_metadata_item (self, i);
      JsonArray *entry = json_array_new (), *shape = json_array_new ();
      for (int d = 0; d < item->shape.n_dims; d++)
        json_array_add_int_element (shape, item->shape.dims[d]);
      json_array_add_object_element (entry, tn_layout_to_dict (item->layout));
      json_array_add_string_element (entry, item->dtype);
      json_array_add_array_element (entry, shape);
      json_object_set_array_member (object, item->name, entry);
    }
  return object;
}

JsonObject *
tn_strategy_metadata_to_json (const TnStrategyMetadata *self, gboolean grouped)
{
  JsonObject *top = json_object_new ();
  int64_t n = tn_strategy_metadata_n_ranks (self);
  if (grouped && n > 1)
    {
      g_autofree char *key = g_strdup_printf ("ranks %" PRId64 "-%" PRId64, tn_strategy_metadata_rank (self, 0), tn_strategy_metadata_rank (self, n - 1));
      json_object_set_object_member (top, key, items_json (self));
      return top;
    }
  for (int64_t i = 0; i < n; i++)
    {
      g_autofree char *key = g_strdup_printf ("%" PRId64, tn_strategy_metadata_rank (self, i));
      json_object_set_object_member (top, key, items_json (self));
    }
  return top;
}
