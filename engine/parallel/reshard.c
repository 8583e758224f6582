/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/reshard.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/durable.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "train/checkpoint-files.h"

/* ---- which ranks ---- */

static int
compare_int64 (gconstpointer a, gconstpointer b)
{
  int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
  return (x > y) - (x < y);
}

GArray *
tn_reshard_needed (const TnLayout *from, const TnLayout *to, const TnShape *shape, int64_t rank, GError **error)
{
  TnBox want, have, both;
  if (!tn_layout_slice (to, shape, rank, &want, error))
    return NULL;
  int64_t start = tn_mesh_place (from->mesh, rank) >= 0 ? rank : from->mesh->ranks[0];
  g_autofree int64_t *group = tn_mesh_group (from->mesh, from->used, start, NULL);
  g_autoptr (GArray) needed = g_array_new (FALSE, FALSE, sizeof (int64_t));
  for (int64_t i = 0; i < tn_mesh_span (from->mesh, from->used); i++)
    {
      if (!tn_layout_slice (from, shape, group[i], &have, error))
        return NULL;
      if (tn_box_intersect (&want, &have, &both))
        g_array_append_val (needed, group[i]);
    }
  g_array_sort (needed, compare_int64);
  return g_steal_pointer (&needed);
}

/* ---- the source ---- */

typedef struct
{
  char *file;
  TnBox box;
} Part;

typedef struct
{
  char *name;
  TnDType dtype;
  TnShape shape;
  GArray *parts; /* Part */
} Source;

typedef struct
{
  char *folder;
  GPtrArray *sources;   /* Source */
  GHashTable *files;    /* name -> TnSafetensors */
  char *state;          /* path of state.json, or NULL */
  size_t in_memory, peak;
} Reader;

static void
free_source (gpointer data)
{
  Source *source = data;
  for (guint i = 0; i < source->parts->len; i++)
    g_free (g_array_index (source->parts, Part, i).file);
  g_array_unref (source->parts);
  g_free (source->name);
  g_free (source);
}

static void
reader_clear (Reader *self)
{
  g_free (self->folder);
  g_free (self->state);
  g_clear_pointer (&self->sources, g_ptr_array_unref);
  g_clear_pointer (&self->files, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Reader, reader_clear)

static gboolean
damaged (const char *what, const char *name, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("The checkpoint is damaged at “%s”: %s."), name, what);
  return FALSE;
}

static gboolean
read_part (Source *source, JsonNode *node, GError **error)
{
  Part part = { .box = { .n_dims = source->shape.n_dims } };
  const char *file;
  JsonArray *box;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return damaged (_ ("a piece is no object"), source->name, error);
  JsonObject *object = json_node_get_object (node);
  if (!tn_json_get_string (object, "file", &file, source->name, error) || !tn_json_get_array (object, "box", &box, source->name, error))
    return FALSE;
  if (strchr (file, '/') != NULL || *file == '.' || json_array_get_length (box) != (guint) source->shape.n_dims)
    return damaged (_ ("a piece has no proper box or file"), source->name, error);
  for (int d = 0; d < source->shape.n_dims; d++)
    {
      JsonNode *item = json_array_get_element (box, (guint) d);
      JsonArray *range = JSON_NODE_HOLDS_ARRAY (item) ? json_node_get_array (item) : NULL;
      if (range == NULL || json_array_get_length (range) != 2)
        return damaged (_ ("a piece has no proper box"), source->name, error);
      part.box.lo[d] = json_array_get_int_element (range, 0);
      part.box.hi[d] = json_array_get_int_element (range, 1);
      if (part.box.lo[d] < 0 || part.box.hi[d] < part.box.lo[d] || part.box.hi[d] > source->shape.dims[d])
        return damaged (_ ("a piece lies outside of its tensor"), source->name, error);
    }
  part.file = g_strdup (file);
  g_array_append_val (source->parts, part);
  return TRUE;
}

static Source *
add_source (Reader *self, const char *name)
{
  Source *source = g_new0 (Source, 1);
  source->name = g_strdup (name);
  source->parts = g_array_new (FALSE, TRUE, sizeof (Part));
  g_ptr_array_add (self->sources, source);
  return source;
}

static gboolean
read_tensor (Reader *self, const char *name, JsonNode *node, GError **error)
{
  Source *source = add_source (self, name);
  const char *dtype;
  gint64 dims[TN_MAX_DIMS];
  JsonArray *parts;
  size_t bytes;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return damaged (_ ("it is no object"), name, error);
  JsonObject *object = json_node_get_object (node);
  if (!tn_json_get_string (object, "dtype", &dtype, name, error) || !tn_json_get_ints (object, "shape", 0, G_MAXINT64, dims, TN_MAX_DIMS, &source->shape.n_dims, name, error)
      || !tn_json_get_array (object, "parts", &parts, name, error))
    return FALSE;
  for (int d = 0; d < source->shape.n_dims; d++)
    source->shape.dims[d] = dims[d];
  if (!tn_dtype_parse (dtype, &source->dtype) || !tn_shape_bytes (&source->shape, tn_dtype_size (source->dtype), &bytes, error))
    return damaged (_ ("it has no proper type or shape"), name, error);
  for (guint i = 0; i < json_array_get_length (parts); i++)
    if (!read_part (source, json_array_get_element (parts, i), error))
      return FALSE;
  int64_t held = 0;
  for (guint i = 0; i < source->parts->len; i++)
    held += tn_box_count (&g_array_index (source->parts, Part, i).box);
  return held == tn_shape_count (&source->shape) ? TRUE : damaged (_ ("its pieces leave a gap or overlap"), name, error);
}

static gboolean
read_manifest (Reader *self, const char *path, GError **error)
{
  g_autofree char *manifest = g_build_filename (path, TN_CHECKPOINT_MANIFEST, NULL);
  g_autoptr (JsonNode) node = tn_json_load (manifest, error);
  JsonObject *tensors;
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return damaged (_ ("the manifest is no object"), TN_CHECKPOINT_MANIFEST, error);
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

/* One file of whole tensors. */
static gboolean
read_single (Reader *self, const char *path, GError **error)
{
  TnSafetensors *file = tn_safetensors_open (path, error);
  if (file == NULL)
    return FALSE;
  self->folder = g_path_get_dirname (path);
  char *base = g_path_get_basename (path);
  for (guint i = 0; i < tn_safetensors_n (file); i++)
    {
      const TnSafetensorsEntry *entry = tn_safetensors_entry (file, i);
      if (entry->dtype == TN_DTYPE_COUNT)
        continue;
      Source *source = add_source (self, entry->name);
      source->dtype = entry->dtype;
      source->shape = entry->shape;
      Part part = { g_strdup (base), { .n_dims = entry->shape.n_dims } };
      for (int d = 0; d < entry->shape.n_dims; d++)
        part.box.hi[d] = entry->shape.dims[d];
      g_array_append_val (source->parts, part);
    }
  g_hash_table_insert (self->files, base, file);
  return TRUE;
}

static void
note_memory (Reader *self, size_t more)
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
      int64_t rest = r, source = 0, target = 0, source_stride = 1, target_stride = 1;
      for (int d = last; d >= 0; d--)
        {
          int64_t n = both->hi[d] - both->lo[d], i = both->lo[d];
          if (d < last)
            {
              i += rest % n;
              rest /= n;
            }
          source += (i - have->lo[d]) * source_stride;
          target += (i - want->lo[d]) * target_stride;
          source_stride *= have->hi[d] - have->lo[d];
          target_stride *= want->hi[d] - want->lo[d];
        }
      memcpy (to + (size_t) target * size, from + (size_t) source * size, (size_t) width * size);
    }
}

static TnSafetensors *
open_file (Reader *self, const char *name, GError **error)
{
  TnSafetensors *file = g_hash_table_lookup (self->files, name);
  if (file != NULL)
    return file;
  g_autofree char *path = g_build_filename (self->folder, name, NULL);
  file = tn_safetensors_open (path, error);
  if (file != NULL)
    g_hash_table_insert (self->files, g_strdup (name), file);
  return file;
}

static gboolean
add_part (Reader *self, const Source *source, const Part *part, const TnBox *want, char *out, int64_t *filled, GError **error)
{
  TnBox both;
  if (source->shape.n_dims > 0 && !tn_box_intersect (want, &part->box, &both))
    return TRUE;
  if (source->shape.n_dims == 0)
    both = *want;
  TnSafetensors *file = open_file (self, part->file, error);
  const TnSafetensorsEntry *entry = file != NULL ? tn_safetensors_find (file, source->name) : NULL;
  int64_t count = tn_box_count (&part->box);
  size_t size = tn_dtype_size (source->dtype);
  if (file == NULL)
    return FALSE;
  if (entry == NULL || entry->dtype != source->dtype || entry->bytes != (uint64_t) count * size)
    return damaged (_ ("its file has another piece than the manifest says"), source->name, error);
  g_autofree char *data = g_try_malloc (MAX (entry->bytes, 1));
  if (data == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for a piece of “%s” (%" PRIu64 " bytes)."), source->name, entry->bytes);
      return FALSE;
    }
  note_memory (self, entry->bytes);
  gboolean ok = tn_safetensors_load_raw (file, entry, data, error);
  if (ok)
    copy_box (data, &part->box, out, want, &both, size);
  self->in_memory -= entry->bytes;
  *filled += tn_box_count (&both);
  return ok;
}

/* ---- the target ---- */

typedef struct
{
  const Source *source;
  TnBox box;
} Slice;

typedef struct
{
  Reader reader;
  const char *folder;
  GPtrArray *ranks;    /* of GArray of Slice, by rank */
  GHashTable *layouts; /* name -> TnLayout, of the strategy */
  JsonObject *files;
  TnReshardReport report;
} Job;

static TnLayout *
find_layout (const Job *job, const Source *source)
{
  return g_hash_table_lookup (job->layouts, source->name);
}

static GArray *
slices_of (Job *job, int64_t rank)
{
  while (job->ranks->len <= (guint) rank)
    g_ptr_array_add (job->ranks, g_array_new (FALSE, FALSE, sizeof (Slice)));
  return job->ranks->pdata[rank];
}

/* Which slices of @source which rank writes: the first of each set of copies, by the rank list. */
static gboolean
place_slices (Job *job, const Source *source, GError **error)
{
  TnLayout *layout = find_layout (job, source);
  if (layout == NULL)
    {
      Slice slice = { source, { .n_dims = source->shape.n_dims } };
      for (int d = 0; d < source->shape.n_dims; d++)
        slice.box.hi[d] = source->shape.dims[d];
      g_array_append_val (slices_of (job, 0), slice);
      return TRUE;
    }
  for (int64_t i = 0; i < layout->mesh->n_ranks; i++)
    {
      Slice slice = { .source = source };
      if (!tn_layout_slice (layout, &source->shape, layout->mesh->ranks[i], &slice.box, error))
        {
          g_prefix_error (error, "%s: ", source->name);
          return FALSE;
        }
      GArray *slices = slices_of (job, layout->mesh->ranks[i]);
      if (tn_layout_replica (layout, i) == 0)
        g_array_append_val (slices, slice);
    }
  return TRUE;
}

static const Slice *
find_slice (const GArray *slices, const char *name)
{
  for (guint i = 0; i < slices->len; i++)
    if (strcmp (g_array_index (slices, Slice, i).source->name, name) == 0)
      return &g_array_index (slices, Slice, i);
  return NULL;
}

static gboolean
write_slice (Job *job, const Slice *slice, TnSafetensorsWriter *writer, GError **error)
{
  size_t bytes = (size_t) tn_box_count (&slice->box) * tn_dtype_size (slice->source->dtype);
  g_autofree char *data = g_try_malloc0 (MAX (bytes, 1));
  int64_t filled = 0;
  if (data == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for a slice of “%s” (%zu bytes)."), slice->source->name, bytes);
      return FALSE;
    }
  note_memory (&job->reader, bytes);
  for (guint i = 0; i < slice->source->parts->len && filled < tn_box_count (&slice->box); i++)
    if (!add_part (&job->reader, slice->source, &g_array_index (slice->source->parts, Part, i), &slice->box, data, &filled, error))
      return FALSE;
  job->reader.in_memory -= bytes;
  if (filled != tn_box_count (&slice->box))
    return damaged (_ ("its pieces leave a gap or overlap"), slice->source->name, error);
  job->report.slices++;
  job->report.bytes += (int64_t) bytes;
  return tn_safetensors_writer_write (writer, data, error);
}

static char *
rank_file (int64_t rank)
{
  return g_strdup_printf ("rank-%04" G_GINT64_FORMAT ".safetensors", rank);
}

static void
note_file (Job *job, const char *name, const TnDurableFile *file)
{
  JsonObject *entry = json_object_new ();
  g_autofree char *crc = g_strdup_printf ("%08x", tn_durable_file_crc32c (file));
  tn_json_set_int64_string (entry, "size", (int64_t) tn_durable_file_size (file));
  json_object_set_string_member (entry, "crc32c", crc);
  json_object_set_object_member (job->files, name, entry);
}

static gboolean
write_rank (Job *job, int64_t rank, GError **error)
{
  const GArray *slices = job->ranks->pdata[rank];
  g_autoptr (TnSafetensorsWriter) writer = tn_safetensors_writer_new ();
  if (slices->len == 0)
    return TRUE; /* all that it holds is written by others */
  tn_safetensors_writer_set_metadata (writer, "format", TN_CHECKPOINT_FORMAT);
  for (guint i = 0; i < slices->len; i++)
    {
      const Slice *slice = &g_array_index (slices, Slice, i);
      TnShape shape = { .n_dims = slice->box.n_dims };
      for (int d = 0; d < shape.n_dims; d++)
        shape.dims[d] = slice->box.hi[d] - slice->box.lo[d];
      if (!tn_safetensors_writer_add (writer, slice->source->name, slice->source->dtype, shape, error))
        return FALSE;
    }
  g_autofree char *name = rank_file (rank), *path = g_build_filename (job->folder, name, NULL);
  g_autoptr (TnDurableFile) file = tn_durable_file_new (path, tn_safetensors_writer_size (writer), error);
  if (file == NULL || !tn_safetensors_writer_begin (writer, tn_safetensors_durable_sink, file, error))
    return FALSE;
  for (const char *next; (next = tn_safetensors_writer_next (writer)) != NULL;)
    if (!write_slice (job, find_slice (slices, next), writer, error))
      return FALSE;
  note_file (job, name, file);
  return tn_durable_file_finish (g_steal_pointer (&file), FALSE, error);
}

static JsonObject *
describe (const Job *job)
{
  JsonObject *tensors = json_object_new ();
  for (guint r = 0; r < job->ranks->len; r++)
    {
      const GArray *slices = job->ranks->pdata[r];
      g_autofree char *file = rank_file (r);
      for (guint i = 0; i < slices->len; i++)
        {
          const Slice *slice = &g_array_index (slices, Slice, i);
          JsonArray *box = json_array_new (), *shape = json_array_new ();
          for (int d = 0; d < slice->box.n_dims; d++)
            {
              JsonArray *range = json_array_new ();
              json_array_add_int_element (range, slice->box.lo[d]);
              json_array_add_int_element (range, slice->box.hi[d]);
              json_array_add_array_element (box, range);
              json_array_add_int_element (shape, slice->source->shape.dims[d]);
            }
          JsonObject *part = json_object_new ();
          json_object_set_string_member (part, "file", file);
          json_object_set_array_member (part, "box", box);
          if (!json_object_has_member (tensors, slice->source->name))
            {
              JsonObject *tensor = json_object_new ();
              json_object_set_string_member (tensor, "dtype", tn_dtype_name (slice->source->dtype));
              json_object_set_array_member (tensor, "shape", json_array_ref (shape));
              json_object_set_array_member (tensor, "parts", json_array_new ());
              json_object_set_object_member (tensors, slice->source->name, tensor);
            }
          json_array_unref (shape);
          json_array_add_object_element (json_object_get_array_member (json_object_get_object_member (tensors, slice->source->name), "parts"), part);
        }
    }
  return tensors;
}

/* state.json goes along as it is; without one there is a checkpoint of step 0. */
static gboolean
write_state (Job *job, gint64 *step, GError **error)
{
  TnCheckpointState state = { .best = G_MAXDOUBLE, .best_step = -1 };
  if (job->reader.state != NULL && g_file_test (job->reader.state, G_FILE_TEST_EXISTS) && !tn_checkpoint_state_load (job->reader.state, &state, error))
    return FALSE;
  g_autofree char *text = tn_checkpoint_state_to_text (&state), *path = g_build_filename (job->folder, TN_CHECKPOINT_STATE, NULL);
  g_autoptr (TnDurableFile) file = tn_durable_file_new (path, 0, error);
  *step = state.step;
  if (file == NULL || !tn_durable_file_write (file, text, strlen (text), error))
    return FALSE;
  note_file (job, TN_CHECKPOINT_STATE, file);
  return tn_durable_file_finish (g_steal_pointer (&file), FALSE, error);
}

static gboolean
write_manifest (Job *job, gint64 step, GError **error)
{
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_string_member (object, "format", TN_CHECKPOINT_FORMAT);
  json_object_set_int_member (object, "version", TN_CHECKPOINT_VERSION);
  tn_json_set_int64_string (object, "step", step);
  tn_json_set_int64_string (object, "time_us", g_get_real_time ());
  json_object_set_string_member (object, "host", g_get_host_name ());
  json_object_set_int_member (object, "ranks", job->ranks->len);
  json_object_set_object_member (object, "files", json_object_ref (job->files));
  json_object_set_object_member (object, "tensors", describe (job));
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = tn_json_to_text (node, 2), *path = g_build_filename (job->folder, TN_CHECKPOINT_MANIFEST, NULL);
  return tn_durable_sync_dir (job->folder, error) && tn_durable_write (path, text, strlen (text), error);
}

static gboolean
take_strategy (Job *job, const TnStrategyFile *strategy, GError **error)
{
  for (guint i = 0; strategy != NULL && i < strategy->parameters->len; i++)
    {
      const char *name;
      tn_strategy_parameter_stage (strategy->parameters->pdata[i], &name);
      TnLayout *layout = tn_strategy_parameter_kept_layout (strategy->parameters->pdata[i], 0, error);
      if (layout == NULL)
        {
          g_prefix_error (error, "%s: ", name);
          return FALSE;
        }
      g_hash_table_replace (job->layouts, g_strdup (name), layout);
    }
  return TRUE;
}

static gboolean
run (Job *job, const char *from, const TnStrategyFile *strategy, GError **error)
{
  gint64 step;
  if (!(g_file_test (from, G_FILE_TEST_IS_DIR) ? read_manifest (&job->reader, from, error) : read_single (&job->reader, from, error))
      || !take_strategy (job, strategy, error))
    return FALSE;
  for (guint i = 0; i < job->reader.sources->len; i++)
    if (!place_slices (job, job->reader.sources->pdata[i], error))
      return FALSE;
  g_autoptr (GDir) dir = g_dir_open (job->folder, 0, NULL);
  if (dir != NULL && g_dir_read_name (dir) != NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_EXISTS, _ ("“%s” exists and is not empty. Choose another folder."), job->folder);
      return FALSE;
    }
  if (dir == NULL && g_mkdir_with_parents (job->folder, 0755) != 0)
    {
      tn_error_set_errno (error, errno, _ ("create folder"), job->folder);
      return FALSE;
    }
  for (guint r = 0; r < job->ranks->len; r++)
    if (!write_rank (job, r, error))
      return FALSE;
  return write_state (job, &step, error) && write_manifest (job, step, error);
}

static void
free_slices (gpointer data)
{
  g_array_unref (data);
}

static void
free_layout (gpointer data)
{
  tn_layout_unref (data);
}

static void
free_file (gpointer data)
{
  tn_safetensors_free (data);
}

gboolean
tn_reshard (const char *from, const TnStrategyFile *strategy, const char *to, TnReshardReport *report, GError **error)
{
  Job job = { .folder = to };
  job.reader.sources = g_ptr_array_new_with_free_func (free_source);
  job.reader.files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_file);
  job.ranks = g_ptr_array_new_with_free_func (free_slices);
  job.layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_layout);
  job.files = json_object_new ();
  gboolean ok = run (&job, from, strategy, error);
  job.report.tensors = job.reader.sources->len;
  job.report.ranks = job.ranks->len;
  job.report.peak_bytes = job.reader.peak;
  if (report != NULL)
    *report = job.report;
  reader_clear (&job.reader);
  g_ptr_array_unref (job.ranks);
  g_hash_table_unref (job.layouts);
  json_object_unref (job.files);
  return ok;
}
