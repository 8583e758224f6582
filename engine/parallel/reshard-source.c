/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/reshard-source.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "formats/ckpt.h"
#include "formats/safetensors.h"
#include "train/checkpoint-files.h"

#define MAX_OPEN 200

/* ---- files of either kind ---- */

typedef struct
{
  TnSafetensors *safetensors; /* or */
  TnCkpt *ckpt;
} Container;

/* A tensor in a file. */
typedef struct
{
  const char *name;
  TnDType dtype; /* TN_DTYPE_COUNT: listed, not loaded */
  TnShape shape;
  uint64_t bytes;
} Held;

static void
free_container (gpointer data)
{
  Container *self = data;
  g_clear_pointer (&self->safetensors, tn_safetensors_free);
  g_clear_pointer (&self->ckpt, tn_ckpt_free);
  g_free (self);
}

static Container *
container_open (const char *path, GError **error)
{
  Container *self = g_new0 (Container, 1);
  if (g_str_has_suffix (path, ".ckpt"))
    self->ckpt = tn_ckpt_open (path, error);
  else
    self->safetensors = tn_safetensors_open (path, error);
  if (self->ckpt != NULL || self->safetensors != NULL)
    return self;
  g_free (self);
  return NULL;
}

static guint
container_n (const Container *self)
{
  return self->ckpt != NULL ? tn_ckpt_n (self->ckpt) : tn_safetensors_n (self->safetensors);
}

static Held
container_held (const Container *self, guint i)
{
  if (self->ckpt != NULL)
    {
      const TnCkptEntry *e = tn_ckpt_entry (self->ckpt, i);
      return (Held){ e->name, e->dtype, e->shape, e->bytes };
    }
  const TnSafetensorsEntry *e = tn_safetensors_entry (self->safetensors, i);
  return (Held){ e->name, e->dtype, e->shape, e->bytes };
}

static gboolean
container_find (const Container *self, const char *name, Held *held)
{
  if (self->ckpt != NULL)
    {
      const TnCkptEntry *e = tn_ckpt_find (self->ckpt, name);
      if (e != NULL)
        *held = (Held){ e->name, e->dtype, e->shape, e->bytes };
      return e != NULL;
    }
  const TnSafetensorsEntry *e = tn_safetensors_find (self->safetensors, name);
  if (e != NULL)
    *held = (Held){ e->name, e->dtype, e->shape, e->bytes };
  return e != NULL;
}

static gboolean
container_load (const Container *self, const char *name, void *out, GError **error)
{
  if (self->ckpt != NULL)
    return tn_ckpt_load_raw (self->ckpt, tn_ckpt_find (self->ckpt, name), out, error);
  return tn_safetensors_load_raw (self->safetensors, tn_safetensors_find (self->safetensors, name), out, error);
}

static Container *
open_file (TnReshardSource *self, const char *name, GError **error)
{
  Container *file = g_hash_table_lookup (self->files, name);
  if (file != NULL)
    return file;
  if (g_hash_table_size (self->files) >= MAX_OPEN)
    g_hash_table_remove_all (self->files); /* thousands of ranks: descriptors are few */
  g_autofree char *path = g_build_filename (self->folder, name, NULL);
  file = container_open (path, error);
  if (file != NULL)
    g_hash_table_insert (self->files, g_strdup (name), file);
  return file;
}

/* ---- our own checkpoints, and single files ---- */

static void
free_tensor (gpointer data)
{
  TnReshardTensor *tensor = data;
  for (guint i = 0; i < tensor->parts->len; i++)
    g_free (g_array_index (tensor->parts, TnReshardPart, i).file);
  g_array_unref (tensor->parts);
  g_free (tensor->name);
  g_free (tensor);
}

void
tn_reshard_source_clear (TnReshardSource *self)
{
  g_free (self->folder);
  g_free (self->state);
  g_clear_pointer (&self->tensors, g_ptr_array_unref);
  g_clear_pointer (&self->files, g_hash_table_unref);
}

gboolean
tn_reshard_damaged (const char *what, const char *name, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("The checkpoint is damaged at “%s”: %s."), name, what);
  return FALSE;
}

static gboolean
read_part (TnReshardTensor *tensor, JsonNode *node, GError **error)
{
  TnReshardPart part = { .box = { .n_dims = tensor->shape.n_dims } };
  const char *file;
  JsonArray *box;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return tn_reshard_damaged (_ ("a piece is no object"), tensor->name, error);
  JsonObject *object = json_node_get_object (node);
  if (!tn_json_get_string (object, "file", &file, tensor->name, error) || !tn_json_get_array (object, "box", &box, tensor->name, error))
    return FALSE;
  if (strchr (file, '/') != NULL || *file == '.' || json_array_get_length (box) != (guint) tensor->shape.n_dims)
    return tn_reshard_damaged (_ ("a piece has no proper box or file"), tensor->name, error);
  for (int d = 0; d < tensor->shape.n_dims; d++)
    {
      JsonNode *item = json_array_get_element (box, (guint) d);
      JsonArray *range = JSON_NODE_HOLDS_ARRAY (item) ? json_node_get_array (item) : NULL;
      if (range == NULL || json_array_get_length (range) != 2)
        return tn_reshard_damaged (_ ("a piece has no proper box"), tensor->name, error);
      part.box.lo[d] = json_array_get_int_element (range, 0);
      part.box.hi[d] = json_array_get_int_element (range, 1);
      if (part.box.lo[d] < 0 || part.box.hi[d] < part.box.lo[d] || part.box.hi[d] > tensor->shape.dims[d])
        return tn_reshard_damaged (_ ("a piece lies outside of its tensor"), tensor->name, error);
    }
  part.file = g_strdup (file);
  g_array_append_val (tensor->parts, part);
  return TRUE;
}

static TnReshardTensor *
add_tensor (TnReshardSource *self, const char *name)
{
  TnReshardTensor *tensor = g_new0 (TnReshardTensor, 1);
  tensor->name = g_strdup (name);
  tensor->parts = g_array_new (FALSE, TRUE, sizeof (TnReshardPart));
  g_ptr_array_add (self->tensors, tensor);
  return tensor;
}

static gboolean
read_tensor (TnReshardSource *self, const char *name, JsonNode *node, GError **error)
{
  TnReshardTensor *tensor = add_tensor (self, name);
  const char *dtype;
  gint64 dims[TN_MAX_DIMS];
  JsonArray *parts;
  size_t bytes;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return tn_reshard_damaged (_ ("it is no object"), name, error);
  JsonObject *object = json_node_get_object (node);
  if (!tn_json_get_string (object, "dtype", &dtype, name, error) || !tn_json_get_ints (object, "shape", 0, G_MAXINT64, dims, TN_MAX_DIMS, &tensor->shape.n_dims, name, error)
      || !tn_json_get_array (object, "parts", &parts, name, error))
    return FALSE;
  for (int d = 0; d < tensor->shape.n_dims; d++)
    tensor->shape.dims[d] = dims[d];
  if (!tn_dtype_parse (dtype, &tensor->dtype) || !tn_shape_bytes (&tensor->shape, tn_dtype_size (tensor->dtype), &bytes, error))
    return tn_reshard_damaged (_ ("it has no proper type or shape"), name, error);
  for (guint i = 0; i < json_array_get_length (parts); i++)
    if (!read_part (tensor, json_array_get_element (parts, i), error))
      return FALSE;
  int64_t held = 0;
  for (guint i = 0; i < tensor->parts->len; i++)
    held += tn_box_count (&g_array_index (tensor->parts, TnReshardPart, i).box);
  return held == tn_shape_count (&tensor->shape) ? TRUE : tn_reshard_damaged (_ ("its pieces leave a gap or overlap"), name, error);
}

static gboolean
read_manifest (TnReshardSource *self, const char *path, GError **error)
{
  g_autofree char *manifest = g_build_filename (path, TN_CHECKPOINT_MANIFEST, NULL);
  g_autoptr (JsonNode) node = tn_json_load (manifest, error);
  JsonObject *tensors;
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return tn_reshard_damaged (_ ("the manifest is no object"), TN_CHECKPOINT_MANIFEST, error);
  if (!tn_json_get_object (json_node_get_object (node), "tensors", &tensors, TN_CHECKPOINT_MANIFEST, error))
    return FALSE;
  self->folder = g_strdup (path);
  self->state = g_build_filename (path, TN_CHECKPOINT_STATE, NULL);
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;
  json_object_iter_init_ordered (&iter, tensors);
  while (json_object_iter_next_ordered (&iter, &name, &value))
    if (!read_tensor (self, name, value, error))
      return FALSE;
  return TRUE;
}

TnBox
tn_reshard_whole_box (const TnShape *shape)
{
  TnBox box = { .n_dims = shape->n_dims };
  for (int d = 0; d < shape->n_dims; d++)
    box.hi[d] = shape->dims[d];
  return box;
}

static void
add_piece (TnReshardTensor *tensor, const char *file, const TnBox *box)
{
  TnReshardPart part = { g_strdup (file), *box };
  g_array_append_val (tensor->parts, part);
}

/* One file of whole tensors. */
static gboolean
read_single (TnReshardSource *self, const char *path, GError **error)
{
  g_autofree char *base = g_path_get_basename (path);
  self->folder = g_path_get_dirname (path);
  Container *file = open_file (self, base, error);
  for (guint i = 0; file != NULL && i < container_n (file); i++)
    {
      Held held = container_held (file, i);
      if (held.dtype == TN_DTYPE_COUNT)
        continue;
      TnReshardTensor *tensor = add_tensor (self, held.name);
      tensor->dtype = held.dtype;
      tensor->shape = held.shape;
      TnBox whole = tn_reshard_whole_box (&held.shape);
      add_piece (tensor, base, &whole);
    }
  return file != NULL;
}

void
tn_reshard_source_note_memory (TnReshardSource *self, size_t more)
{
  self->in_memory += more;
  self->peak = MAX (self->peak, self->in_memory);
}

/* ---- cutting ---- */

/* The elements of @both from @from (of box @have) to @to (of box @want), rows at a time. */
static void
copy_box (const char *from, const TnBox *have, char *to, const TnBox *want, const TnBox *both, size_t size)
{
  int last = both->n_dims - 1;
  int64_t rows = 1, width = both->n_dims > 0 ? both->hi[last] - both->lo[last] : 1;
  for (int d = 0; d < last; d++)
    rows *= both->hi[d] - both->lo[d];
  for (int64_t r = 0; r < rows; r++)
    {
      int64_t rest = r, tensor = 0, target = 0, source_stride = 1, target_stride = 1;
      for (int d = last; d >= 0; d--)
        {
          int64_t n = both->hi[d] - both->lo[d], i = both->lo[d];
          if (d < last)
            {
              i += rest % n;
              rest /= n;
            }
          tensor += (i - have->lo[d]) * source_stride;
          target += (i - want->lo[d]) * target_stride;
          source_stride *= have->hi[d] - have->lo[d];
          target_stride *= want->hi[d] - want->lo[d];
        }
      memcpy (to + (size_t) target * size, from + (size_t) tensor * size, (size_t) width * size);
    }
}

gboolean
tn_reshard_source_add (TnReshardSource *self, const TnReshardTensor *tensor, const TnReshardPart *part, const TnBox *want, char *out, int64_t *filled, GError **error)
{
  TnBox both;
  if (tensor->shape.n_dims > 0 && !tn_box_intersect (want, &part->box, &both))
    return TRUE;
  if (tensor->shape.n_dims == 0)
    both = *want;
  Container *file = open_file (self, part->file, error);
  Held held = { 0 };
  int64_t count = tn_box_count (&part->box);
  size_t size = tn_dtype_size (tensor->dtype);
  if (file == NULL)
    return FALSE;
  if (!container_find (file, tensor->name, &held) || held.dtype != tensor->dtype || held.bytes != (uint64_t) count * size)
    return tn_reshard_damaged (_ ("its file has another piece than it should"), tensor->name, error);
  g_autofree char *data = g_try_malloc (MAX (held.bytes, 1));
  if (data == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for a piece of “%s” (%" PRIu64 " bytes)."), tensor->name, held.bytes);
      return FALSE;
    }
  tn_reshard_source_note_memory (self, held.bytes);
  gboolean ok = container_load (file, tensor->name, data, error);
  if (ok)
    copy_box (data, &part->box, out, want, &both, size);
  self->in_memory -= held.bytes;
  *filled += tn_box_count (&both);
  return ok;
}

/* ---- folders of ranks ---- */

/* rank_<n>/<the last file by name>; NULL without an error where there is none. */
static char *
rank_path (const char *folder, const char *name, GError **error)
{
  g_autofree char *path = g_build_filename (folder, name, NULL), *last = NULL;
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *suffix = NULL;
  for (const char *file; dir != NULL && (file = g_dir_read_name (dir)) != NULL;)
    {
      const char *kind = g_str_has_suffix (file, ".ckpt") ? ".ckpt" : g_str_has_suffix (file, ".safetensors") ? ".safetensors" : NULL;
      if (kind == NULL || strstr (file, "_strategy.") != NULL)
        continue;
      if (suffix != NULL && strcmp (kind, suffix) != 0)
        {
          g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("“%s” holds .ckpt and .safetensors files. Leave one kind in it."), path);
          return NULL;
        }
      suffix = kind;
      if (last == NULL || strcmp (file, last) > 0)
        {
          g_free (last);
          last = g_strdup (file);
        }
    }
  return last != NULL ? g_build_filename (name, last, NULL) : NULL;
}

/* rank -> file below the folder. */
static GHashTable *
list_ranks (const char *folder, GError **error)
{
  g_autoptr (GHashTable) ranks = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      guint64 rank;
      GError *problem = NULL;
      if (!g_str_has_prefix (name, "rank_") || !g_ascii_string_to_unsigned (name + 5, 10, 0, TN_MESH_MAX_RANKS, &rank, NULL))
        continue;
      char *path = rank_path (folder, name, &problem);
      if (problem != NULL)
        {
          g_propagate_error (error, problem);
          return NULL;
        }
      int64_t key = (int64_t) rank;
      if (path != NULL)
        g_hash_table_insert (ranks, g_memdup2 (&key, sizeof key), path);
    }
  return g_steal_pointer (&ranks);
}

typedef struct
{
  TnReshardSource *self;
  GHashTable *ranks;
} RankFolder;

static gboolean
held_by (const RankFolder *folder, int64_t rank, const char *name, Held *held, const char **path, GError **error)
{
  *path = g_hash_table_lookup (folder->ranks, &rank);
  Container *file = *path != NULL ? open_file (folder->self, *path, error) : NULL;
  return file != NULL && container_find (file, name, held) && held->dtype != TN_DTYPE_COUNT;
}

/* A parameter that the strategy names: one rank for each slice, whichever of its copies is there. */
static gboolean
read_sliced (const RankFolder *folder, const char *name, const TnLayout *layout, GError **error)
{
  g_autofree gboolean *found = g_new0 (gboolean, tn_layout_n_slices (layout));
  TnReshardTensor *tensor = NULL;
  GError *problem = NULL;
  for (int64_t place = 0; place < layout->mesh->n_ranks; place++)
    {
      Held held;
      const char *path;
      TnBox box;
      int64_t rank = layout->mesh->ranks[place], slice = tn_layout_slice_index (layout, place);
      if (found[slice] || !held_by (folder, rank, name, &held, &path, &problem))
        {
          if (problem == NULL)
            continue;
          g_propagate_error (error, problem);
          return FALSE;
        }
      if (held.shape.n_dims != layout->n_dims)
        return tn_reshard_damaged (_ ("it has other dimensions than the strategy says"), name, error);
      if (tensor == NULL)
        {
          size_t bytes;
          tensor = add_tensor (folder->self, name);
          tensor->dtype = held.dtype;
          tensor->shape = held.shape;
          for (int d = 0; d < layout->n_dims; d++)
            if (__builtin_mul_overflow (held.shape.dims[d], tn_layout_shards (layout, d), &tensor->shape.dims[d]))
              return tn_reshard_damaged (_ ("it is too large"), name, error);
          if (!tn_shape_bytes (&tensor->shape, tn_dtype_size (held.dtype), &bytes, error))
            return FALSE;
        }
      if (!tn_layout_slice (layout, &tensor->shape, rank, &box, error))
        return FALSE;
      if (held.dtype != tensor->dtype || held.bytes != (uint64_t) tn_box_count (&box) * tn_dtype_size (held.dtype))
        return tn_reshard_damaged (_ ("its slices have different types or shapes"), name, error);
      add_piece (tensor, path, &box);
      found[slice] = TRUE;
    }
  for (int64_t place = 0; tensor != NULL && place < layout->mesh->n_ranks; place++)
    if (!found[tn_layout_slice_index (layout, place)])
      {
        g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("“%s”: the slice of rank %" PRId64 " is in no file: rank_%" PRId64 " and its copies are missing."), name,
                     layout->mesh->ranks[place], layout->mesh->ranks[place]);
        return FALSE;
      }
  return TRUE;
}

static gboolean
has_tensor (const TnReshardSource *self, const char *name)
{
  for (guint i = 0; i < self->tensors->len; i++)
    if (strcmp (((TnReshardTensor *) self->tensors->pdata[i])->name, name) == 0)
      return TRUE;
  return FALSE;
}

static int
compare_ranks (gconstpointer a, gconstpointer b)
{
  int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
  return (x > y) - (x < y);
}

/* What the strategy does not name is whole, and taken from the lowest rank that has it. */
static gboolean
read_unsplit (const RankFolder *folder, GError **error)
{
  g_autoptr (GList) ranks = g_list_sort (g_hash_table_get_keys (folder->ranks), compare_ranks);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < folder->self->tensors->len; i++)
    g_hash_table_add (seen, ((TnReshardTensor *) folder->self->tensors->pdata[i])->name);
  for (GList *l = ranks; l != NULL; l = l->next)
    {
      const char *path = g_hash_table_lookup (folder->ranks, l->data);
      Container *file = open_file (folder->self, path, error);
      if (file == NULL)
        return FALSE;
      for (guint i = 0; i < container_n (file); i++)
        {
          Held held = container_held (file, i);
          if (held.dtype == TN_DTYPE_COUNT || g_hash_table_contains (seen, held.name))
            continue;
          TnReshardTensor *tensor = add_tensor (folder->self, held.name);
          TnBox whole = tn_reshard_whole_box (&held.shape);
          tensor->dtype = held.dtype;
          tensor->shape = held.shape;
          add_piece (tensor, path, &whole);
          g_hash_table_add (seen, tensor->name);
        }
    }
  return TRUE;
}

static gboolean
read_ranks (TnReshardSource *self, const char *path, const TnStrategyFile *strategy, GError **error)
{
  g_autoptr (GHashTable) ranks = list_ranks (path, error);
  if (ranks == NULL)
    return FALSE;
  RankFolder folder = { self, ranks };
  if (g_hash_table_size (ranks) == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("“%s” is no checkpoint: it has neither %s nor folders rank_0, rank_1 ... with .ckpt or .safetensors files."), path, TN_CHECKPOINT_MANIFEST);
      return FALSE;
    }
  if (strategy == NULL && g_hash_table_size (ranks) > 1)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s” has the slices of %u ranks: name the strategy file that they were cut by."), path, g_hash_table_size (ranks));
      return FALSE;
    }
  self->folder = g_strdup (path);
  for (guint i = 0; strategy != NULL && i < strategy->parameters->len; i++)
    {
      const TnStrategyParameter *p = strategy->parameters->pdata[i];
      const char *name;
      gint64 stage = tn_strategy_parameter_stage (p, &name);
      g_autoptr (TnLayout) layout = tn_strategy_parameter_kept_layout (p, 0, error);
      if (layout != NULL && stage > 0) /* the ranks of a pipeline stage follow those of the one before */
        {
          int64_t first = stage <= TN_MESH_MAX_RANKS / layout->mesh->n_ranks ? stage * layout->mesh->n_ranks : TN_MESH_MAX_RANKS;
          tn_layout_unref (layout);
          layout = tn_strategy_parameter_kept_layout (p, first, error);
        }
      if (layout == NULL || (!has_tensor (self, name) && !read_sliced (&folder, name, layout, error)))
        {
          g_prefix_error (error, "%s: ", name);
          return FALSE;
        }
    }
  return read_unsplit (&folder, error);
}

gboolean
tn_reshard_source_open (TnReshardSource *self, const char *path, const TnStrategyFile *strategy, GError **error)
{
  self->tensors = g_ptr_array_new_with_free_func (free_tensor);
  self->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_container);
  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return read_single (self, path, error);
  g_autofree char *manifest = g_build_filename (path, TN_CHECKPOINT_MANIFEST, NULL);
  return g_file_test (manifest, G_FILE_TEST_EXISTS) ? read_manifest (self, path, error) : read_ranks (self, path, strategy, error);
}
