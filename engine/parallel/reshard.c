/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/reshard.h"
#include <inttypes.h>

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/durable.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/ckpt.h"
#include "formats/safetensors.h"
#include "parallel/reshard-source.h"
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

/* ---- the target ---- */

typedef struct
{
  const TnReshardTensor *source;
  TnBox box;
} Slice;

typedef struct
{
  TnReshardSource source;
  const TnReshardOptions *options;
  const char *folder;
  GPtrArray *ranks;    /* of GArray of Slice, by rank */
  GHashTable *layouts; /* name -> TnLayout, of the strategy */
  JsonObject *files;
  TnReshardReport report;
} Job;

static TnLayout *
find_layout (const Job *job, const TnReshardTensor *source)
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

/* Which slices of @source which rank writes: in our format the first of each set of copies, by the rank list, else all. */
static gboolean
place_slices (Job *job, const TnReshardTensor *source, GError **error)
{
  TnLayout *layout = find_layout (job, source);
  if (layout == NULL)
    {
      Slice slice = { source, tn_reshard_whole_box (&source->shape) };
      slices_of (job, 0);
      for (guint r = 0; r < (job->options->format == TN_RESHARD_TENON ? 1 : job->ranks->len); r++)
        g_array_append_val (job->ranks->pdata[r], slice);
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
      if (job->options->format != TN_RESHARD_TENON || tn_layout_replica (layout, i) == 0)
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

/* The elements of @slice from wherever they lie; free with g_free. */
static char *
read_slice (Job *job, const Slice *slice, size_t *bytes, GError **error)
{
  *bytes = (size_t) tn_box_count (&slice->box) * tn_dtype_size (slice->source->dtype);
  g_autofree char *data = g_try_malloc0 (MAX (*bytes, 1));
  int64_t filled = 0;
  if (data == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _ ("No memory for a slice of “%s” (%zu bytes)."), slice->source->name, *bytes);
      return NULL;
    }
  tn_reshard_source_note_memory (&job->source, *bytes);
  for (guint i = 0; i < slice->source->parts->len && filled < tn_box_count (&slice->box); i++)
    if (!tn_reshard_source_add (&job->source, slice->source, &g_array_index (slice->source->parts, TnReshardPart, i), &slice->box, data, &filled, error))
      return NULL;
  job->source.in_memory -= *bytes;
  if (filled != tn_box_count (&slice->box) && !tn_reshard_damaged (_ ("its pieces leave a gap or overlap"), slice->source->name, error))
    return NULL;
  job->report.slices++;
  job->report.bytes += (int64_t) *bytes;
  return g_steal_pointer (&data);
}

static TnShape
slice_shape (const Slice *slice)
{
  TnShape shape = { .n_dims = slice->box.n_dims };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = slice->box.hi[d] - slice->box.lo[d];
  return shape;
}

static char *
rank_file (int64_t rank)
{
  return g_strdup_printf ("rank-%04" PRId64 ".safetensors", rank);
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

static TnDurableFile *
create (const Job *job, const char *name, uint64_t size, GError **error)
{
  g_autofree char *path = g_build_filename (job->folder, name, NULL), *folder = g_path_get_dirname (path);
  if (g_mkdir_with_parents (folder, 0755) == 0)
    return tn_durable_file_new (path, size, error);
  tn_error_set_errno (error, errno, _ ("create folder"), folder);
  return NULL;
}

static gboolean
write_safetensors (Job *job, const GArray *slices, const char *name, TnDurableFile **file, GError **error)
{
  g_autoptr (TnSafetensorsWriter) writer = tn_safetensors_writer_new ();
  tn_safetensors_writer_set_metadata (writer, "format", job->options->format == TN_RESHARD_TENON ? TN_CHECKPOINT_FORMAT : "ms");
  for (guint i = 0; i < slices->len; i++)
    {
      const Slice *slice = &g_array_index (slices, Slice, i);
      if (!tn_safetensors_writer_add (writer, slice->source->name, slice->source->dtype, slice_shape (slice), error))
        return FALSE;
    }
  *file = create (job, name, tn_safetensors_writer_size (writer), error);
  if (*file == NULL || !tn_safetensors_writer_begin (writer, tn_safetensors_durable_sink, *file, error))
    return FALSE;
  for (const char *next; (next = tn_safetensors_writer_next (writer)) != NULL;)
    {
      size_t bytes;
      g_autofree char *data = read_slice (job, find_slice (slices, next), &bytes, error);
      if (data == NULL || !tn_safetensors_writer_write (writer, data, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
write_ckpt (Job *job, const GArray *slices, const char *name, TnDurableFile **file, GError **error)
{
  *file = create (job, name, 0, error);
  for (guint i = 0; *file != NULL && i < slices->len; i++)
    {
      const Slice *slice = &g_array_index (slices, Slice, i);
      TnShape shape = slice_shape (slice);
      size_t bytes;
      g_autofree char *data = read_slice (job, slice, &bytes, error);
      if (data == NULL || !tn_ckpt_write (tn_safetensors_durable_sink, *file, slice->source->name, slice->source->dtype, &shape, data, error))
        return FALSE;
    }
  return *file != NULL;
}

static gboolean
write_rank (Job *job, int64_t rank, GError **error)
{
  const GArray *slices = job->ranks->pdata[rank];
  g_autoptr (TnDurableFile) file = NULL;
  if (slices->len == 0)
    return TRUE; /* all that it holds is written by others */
  g_autofree char *name = job->options->format == TN_RESHARD_TENON
                            ? rank_file (rank)
                            : g_strdup_printf ("rank_%" PRId64 "/%s%" PRId64 "%s", rank, job->options->prefix != NULL ? job->options->prefix : "", rank,
                                               job->options->format == TN_RESHARD_CKPT ? ".ckpt" : ".safetensors");
  if (!(job->options->format == TN_RESHARD_CKPT ? write_ckpt : write_safetensors) (job, slices, name, &file, error))
    return FALSE;
  note_file (job, name, file);
  return tn_durable_file_finish (g_steal_pointer (&file), job->options->format != TN_RESHARD_TENON, error);
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
  if (job->source.state != NULL && g_file_test (job->source.state, G_FILE_TEST_EXISTS) && !tn_checkpoint_state_load (job->source.state, &state, error))
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

/* All ranks of all layouts, so that what is not split can go to each of them. */
static void
count_ranks (Job *job)
{
  GHashTableIter iter;
  gpointer layout;
  g_hash_table_iter_init (&iter, job->layouts);
  while (g_hash_table_iter_next (&iter, NULL, &layout))
    for (int64_t i = 0; i < ((TnLayout *) layout)->mesh->n_ranks; i++)
      slices_of (job, ((TnLayout *) layout)->mesh->ranks[i]);
}

static gboolean
run (Job *job, const char *from, GError **error)
{
  gint64 step;
  if (!tn_reshard_source_open (&job->source, from, job->options->from_strategy, error)
      || !take_strategy (job, job->options->strategy, error))
    return FALSE;
  if (job->options->prefix != NULL && (strchr (job->options->prefix, '/') != NULL || *job->options->prefix == '.'))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _ ("“%s” is no beginning of a file name."), job->options->prefix);
      return FALSE;
    }
  if (job->options->format != TN_RESHARD_TENON)
    count_ranks (job);
  for (guint i = 0; i < job->source.tensors->len; i++)
    if (!place_slices (job, job->source.tensors->pdata[i], error))
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
  if (job->options->format != TN_RESHARD_TENON)
    return tn_durable_sync_dir (job->folder, error);
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

gboolean
tn_reshard (const char *from, const TnReshardOptions *options, const char *to, TnReshardReport *report, GError **error)
{
  Job job = { .folder = to, .options = options };
  job.ranks = g_ptr_array_new_with_free_func (free_slices);
  job.layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_layout);
  job.files = json_object_new ();
  gboolean ok = run (&job, from, error);
  job.report.tensors = job.source.tensors->len;
  job.report.ranks = job.ranks->len;
  job.report.peak_bytes = job.source.peak;
  if (report != NULL)
    *report = job.report;
  tn_reshard_source_clear (&job.source);
  g_ptr_array_unref (job.ranks);
  g_hash_table_unref (job.layouts);
  json_object_unref (job.files);
  return ok;
}
