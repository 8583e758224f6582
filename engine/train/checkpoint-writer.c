/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "train/checkpoint-files.h"

#define CHUNK_BYTES ((size_t) 4 << 20) /* between two looks at the cancel flag */

typedef struct
{
  char *name;
  TnDType dtype;
  TnShape shape; /* of what is written */
  TnShape whole; /* of which that is this box */
  TnBox box;
  int rank;
  gboolean copy; /* is not written */
  size_t offset, bytes;
} Slot;

struct _TnCheckpointWriter
{
  char *folder;
  Slot *slots;
  int n_slots;
  int n_ranks; /* one more than the highest */
  guint8 *buffer;      /* all tensors of the one in flight */
  TnCheckpointBarrier barrier;
  TnCheckpointFunc func;
  gpointer user_data;
  pthread_t thread;
  gboolean has_thread;
  _Atomic gboolean cancelled;

  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t changed;
  gboolean busy, quit;
  GError *failure; /* of the last one */
  int keep;
  gint64 best, last;
  TnCheckpointState state;
};

/* The writer's thread. */

typedef struct
{
  TnCheckpointWriter *writer;
  TnDurableFile *file;
} Sink;

static gboolean
write_chunks (gpointer data, const void *bytes, size_t n, GError **error)
{
  Sink *sink = data;
  for (size_t at = 0; at < n; at += CHUNK_BYTES)
    {
      if (atomic_load_explicit (&sink->writer->cancelled, memory_order_relaxed))
        {
          g_set_error (error, TN_ERROR, TN_ERROR_CANCELLED, _("The checkpoint was given up."));
          return FALSE;
        }
      if (!tn_durable_file_write (sink->file, (const guint8 *) bytes + at, MIN (CHUNK_BYTES, n - at), error))
        return FALSE;
    }
  return TRUE;
}

static void
note_file (JsonObject *files, const char *name, TnDurableFile *file)
{
  JsonObject *entry = json_object_new ();
  g_autofree char *crc = g_strdup_printf ("%08x", tn_durable_file_crc32c (file));
  tn_json_set_int64_string (entry, "size", (int64_t) tn_durable_file_size (file));
  json_object_set_string_member (entry, "crc32c", crc);
  json_object_set_object_member (files, name, entry);
}

static gboolean
write_rank (TnCheckpointWriter *self, int rank, const char *path, JsonObject *files, GError **error)
{
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (TnSafetensorsWriter) writer = tn_safetensors_writer_new ();
  g_autofree char *version = g_strdup_printf ("%d", TN_CHECKPOINT_VERSION);
  tn_safetensors_writer_set_metadata (writer, "format", TN_CHECKPOINT_FORMAT);
  tn_safetensors_writer_set_metadata (writer, "version", version);
  for (int i = 0; i < self->n_slots; i++)
    {
      Slot *slot = &self->slots[i];
      if (slot->copy || slot->rank != rank)
        continue;
      g_hash_table_insert (by_name, slot->name, slot);
      if (!tn_safetensors_writer_add (writer, slot->name, slot->dtype, slot->shape, error))
        return FALSE;
    }
  if (g_hash_table_size (by_name) == 0 && self->n_slots > 0) /* holds copies only */
    return TRUE;

  g_autofree char *plain = tn_checkpoint_rank_file (rank);
  g_autofree char *name = g_build_filename (path, plain, NULL);
  g_autoptr (TnDurableFile) file = tn_durable_file_new (name, tn_safetensors_writer_size (writer), error);
  Sink sink = { self, file };
  if (file == NULL || !tn_safetensors_writer_begin (writer, write_chunks, &sink, error))
    return FALSE;
  for (const char *next; (next = tn_safetensors_writer_next (writer)) != NULL;)
    {
      const Slot *slot = g_hash_table_lookup (by_name, next);
      if (!tn_safetensors_writer_write (writer, self->buffer + slot->offset, error))
        return FALSE;
    }
  note_file (files, plain, file);
  return tn_durable_file_finish (g_steal_pointer (&file), FALSE, error);
}

static gboolean
write_tensors (TnCheckpointWriter *self, const char *path, JsonObject *files, GError **error)
{
  for (int rank = 0; rank < self->n_ranks; rank++)
    if (!write_rank (self, rank, path, files, error))
      return FALSE;
  return TRUE;
}

static gboolean
write_state (const TnCheckpointState *state, const char *path, JsonObject *files, GError **error)
{
  g_autofree char *text = tn_checkpoint_state_to_text (state);
  g_autofree char *name = g_build_filename (path, TN_CHECKPOINT_STATE, NULL);
  g_autoptr (TnDurableFile) file = tn_durable_file_new (name, 0, error);
  if (file == NULL || !tn_durable_file_write (file, text, strlen (text), error))
    return FALSE;
  note_file (files, TN_CHECKPOINT_STATE, file);
  return tn_durable_file_finish (g_steal_pointer (&file), FALSE, error);
}

static JsonObject *
describe_part (const Slot *slot)
{
  JsonArray *box = json_array_new ();
  for (int d = 0; d < slot->box.n_dims; d++)
    {
      JsonArray *range = json_array_new ();
      json_array_add_int_element (range, slot->box.lo[d]);
      json_array_add_int_element (range, slot->box.hi[d]);
      json_array_add_array_element (box, range);
    }
  JsonObject *part = json_object_new ();
  g_autofree char *file = tn_checkpoint_rank_file (slot->rank);
  json_object_set_string_member (part, "file", file);
  json_object_set_array_member (part, "box", box);
  return part;
}

/* Tensor -> where its pieces are. */
static JsonObject *
describe_tensors (const TnCheckpointWriter *self)
{
  JsonObject *tensors = json_object_new ();
  for (int i = 0; i < self->n_slots; i++)
    {
      const Slot *slot = &self->slots[i];
      if (slot->copy)
        continue;
      if (!json_object_has_member (tensors, slot->name))
        {
          JsonArray *shape = json_array_new ();
          for (int d = 0; d < slot->whole.n_dims; d++)
            json_array_add_int_element (shape, slot->whole.dims[d]);
          JsonObject *tensor = json_object_new ();
          json_object_set_string_member (tensor, "dtype", tn_dtype_name (slot->dtype));
          json_object_set_array_member (tensor, "shape", shape);
          json_object_set_array_member (tensor, "parts", json_array_new ());
          json_object_set_object_member (tensors, slot->name, tensor);
        }
      JsonArray *parts = json_object_get_array_member (json_object_get_object_member (tensors, slot->name), "parts");
      json_array_add_object_element (parts, describe_part (slot));
    }
  return tensors;
}

static gboolean
write_manifest (TnCheckpointWriter *self, gint64 step, const char *path, JsonObject *files, GError **error)
{
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_string_member (object, "format", TN_CHECKPOINT_FORMAT);
  json_object_set_int_member (object, "version", TN_CHECKPOINT_VERSION);
  tn_json_set_int64_string (object, "step", step);
  tn_json_set_int64_string (object, "time_us", g_get_real_time ());
  json_object_set_string_member (object, "host", g_get_host_name ());
  json_object_set_int_member (object, "ranks", self->n_ranks);
  json_object_set_object_member (object, "files", json_object_ref (files));
  json_object_set_object_member (object, "tensors", describe_tensors (self));
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  g_autofree char *text = tn_json_to_text (node, 2);
  g_autofree char *name = g_build_filename (path, TN_CHECKPOINT_MANIFEST, NULL);
  tn_fault_point ("checkpoint/manifest");
  return tn_durable_write (name, text, strlen (text), error);
}

static gboolean
write_checkpoint (TnCheckpointWriter *self, const TnCheckpointState *state, const char *path, GError **error)
{
  /* One of the same step is of a past that did not hold, or the rest of a killed writer. */
  if (g_file_test (path, G_FILE_TEST_IS_DIR))
    tn_checkpoint_remove (path);
  if (g_mkdir (path, 0755) != 0 && errno != EEXIST)
    {
      tn_error_set_errno (error, errno, _("create folder"), path);
      return FALSE;
    }
  g_autoptr (JsonObject) files = json_object_new ();
  return write_tensors (self, path, files, error) && write_state (state, path, files, error)
         && tn_durable_sync_dir (path, error) && tn_durable_sync_dir (self->folder, error)
         && (self->barrier == NULL || self->barrier (self->user_data, error))
         && write_manifest (self, state->step, path, files, error);
}

/* Only after the new one is safe on disk. Later steps than the newest are of a past that did not hold. */
static void
remove_old (TnCheckpointWriter *self, gint64 newest, gint64 best, int keep)
{
  g_autoptr (GArray) steps = tn_checkpoint_list_folders (self->folder);
  int n_kept = 0;
  for (guint i = steps->len; i-- > 0;)
    {
      gint64 step = g_array_index (steps, gint64, i);
      g_autofree char *path = tn_checkpoint_step_path (self->folder, step);
      if (step <= newest && n_kept < keep)
        {
          n_kept++;
          continue;
        }
      if (step != best && !tn_checkpoint_is_pinned (path))
        tn_checkpoint_remove (path);
    }
}

static void
write_one (TnCheckpointWriter *self, const TnCheckpointState *state, gint64 best, int keep, GError **error)
{
  g_autofree char *path = tn_checkpoint_step_path (self->folder, state->step);
  g_autoptr (GError) failure = NULL;
  gboolean ok = write_checkpoint (self, state, path, &failure);
  if (ok)
    remove_old (self, state->step, best, keep);
  else
    tn_checkpoint_remove (path);
  if (self->func != NULL)
    self->func (state->step, path, failure, self->user_data);
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&failure));
}

static void *
writer_main (void *data)
{
  TnCheckpointWriter *self = data;
  pthread_setname_np (pthread_self (), "tn-checkpoint");
  pthread_mutex_lock (&self->mutex);
  for (;;)
    {
      while (!self->busy && !self->quit)
        pthread_cond_wait (&self->changed, &self->mutex);
      if (!self->busy)
        break;
      TnCheckpointState state = self->state;
      gint64 best = self->best;
      int keep = self->keep;
      pthread_mutex_unlock (&self->mutex);

      GError *failure = NULL;
      write_one (self, &state, best, keep, &failure);

      pthread_mutex_lock (&self->mutex);
      g_clear_error (&self->failure);
      self->failure = failure;
      if (failure != NULL)
        self->last = -1;
      self->busy = FALSE;
      pthread_cond_broadcast (&self->changed);
    }
  pthread_mutex_unlock (&self->mutex);
  return NULL;
}

/* The caller's side. */

static void
sweep (const char *folder)
{
  tn_durable_clean_dir (folder);
  g_autoptr (GArray) all = tn_checkpoint_list_folders (folder);
  for (guint i = 0; i < all->len; i++)
    {
      g_autofree char *path = tn_checkpoint_step_path (folder, g_array_index (all, gint64, i));
      g_autofree char *manifest = g_build_filename (path, TN_CHECKPOINT_MANIFEST, NULL);
      if (g_file_test (manifest, G_FILE_TEST_EXISTS))
        tn_durable_clean_dir (path);
      else
        tn_checkpoint_remove (path);
    }
}

/* Buffers for everything, touched now: a step boundary must not meet an allocation that fails. */
static gboolean
take_buffers (TnCheckpointWriter *self, const TnCheckpointTensor *tensors, int n_tensors, GError **error)
{
  self->slots = g_new0 (Slot, MAX (n_tensors, 1));
  self->n_slots = n_tensors;
  size_t total = 0;
  for (int i = 0; i < n_tensors; i++)
    {
      Slot *slot = &self->slots[i];
      slot->name = g_strdup (tensors[i].name);
      slot->dtype = tensors[i].tensor->dtype;
      slot->shape = slot->whole = tensors[i].tensor->shape;
      slot->box.n_dims = slot->shape.n_dims;
      memcpy (slot->box.hi, slot->shape.dims, sizeof slot->box.hi);
      if (tensors[i].whole != NULL)
        {
          slot->whole = *tensors[i].whole;
          slot->box = *tensors[i].box;
        }
      slot->rank = tensors[i].rank;
      slot->copy = tensors[i].copy;
      self->n_ranks = MAX (self->n_ranks, slot->rank + 1);
      slot->offset = total;
      slot->bytes = slot->copy ? 0 : tn_tensor_bytes (tensors[i].tensor);
      if (!g_size_checked_add (&total, total, (slot->bytes + 63) & ~(size_t) 63))
        total = G_MAXSIZE;
    }
  self->buffer = total == G_MAXSIZE ? NULL : g_try_malloc0 (MAX (total, 1));
  if (self->buffer == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY,
                   _("No memory for the %zu bytes into which a checkpoint is copied."), total);
      return FALSE;
    }
  return TRUE;
}

TnCheckpointWriter *
tn_checkpoint_writer_new (const char *folder, const TnCheckpointTensor *tensors, int n_tensors, int keep,
                          TnCheckpointBarrier barrier, TnCheckpointFunc func, gpointer user_data, GError **error)
{
  g_return_val_if_fail (folder != NULL && (tensors != NULL || n_tensors == 0), NULL);
  if (g_mkdir_with_parents (folder, 0755) != 0)
    {
      tn_error_set_errno (error, errno, _("create folder"), folder);
      return NULL;
    }
  g_autoptr (TnCheckpointWriter) self = g_new0 (TnCheckpointWriter, 1);
  self->folder = g_strdup (folder);
  self->n_ranks = 1;
  self->barrier = barrier;
  self->func = func;
  self->user_data = user_data;
  self->keep = MAX (keep, 1);
  self->best = self->last = -1;
  pthread_mutex_init (&self->mutex, NULL);
  pthread_cond_init (&self->changed, NULL);
  if (!take_buffers (self, tensors, n_tensors, error))
    return NULL;
  sweep (folder);
  int result = pthread_create (&self->thread, NULL, writer_main, self);
  if (result != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_MEMORY, _("Cannot start the thread that writes checkpoints: %s."),
                   g_strerror (result));
      return NULL;
    }
  self->has_thread = TRUE;
  return g_steal_pointer (&self);
}

void
tn_checkpoint_writer_free (TnCheckpointWriter *self)
{
  if (self == NULL)
    return;
  if (self->has_thread)
    {
      pthread_mutex_lock (&self->mutex);
      self->quit = TRUE;
      pthread_cond_broadcast (&self->changed);
      pthread_mutex_unlock (&self->mutex);
      pthread_join (self->thread, NULL);
    }
  pthread_mutex_destroy (&self->mutex);
  pthread_cond_destroy (&self->changed);
  for (int i = 0; i < self->n_slots; i++)
    g_free (self->slots[i].name);
  g_clear_error (&self->failure);
  g_free (self->slots);
  g_free (self->buffer);
  g_free (self->folder);
  g_free (self);
}

static gboolean
wait_locked (TnCheckpointWriter *self, GError **error)
{
  while (self->busy)
    pthread_cond_wait (&self->changed, &self->mutex);
  if (self->failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&self->failure));
  return FALSE;
}

gboolean
tn_checkpoint_writer_save (TnCheckpointWriter *self, const TnCheckpointTensor *tensors, int n_tensors,
                           const TnCheckpointState *state, GError **error)
{
  g_return_val_if_fail (self != NULL && n_tensors == self->n_slots, FALSE);
  pthread_mutex_lock (&self->mutex);
  gboolean ok = wait_locked (self, error);
  if (ok && self->last != state->step)
    {
      for (int i = 0; i < n_tensors; i++)
        if (self->slots[i].bytes > 0)
          memcpy (self->buffer + self->slots[i].offset, tn_tensor_data (tensors[i].tensor), self->slots[i].bytes);
      self->state = *state;
      self->last = state->step;
      self->busy = TRUE;
      pthread_cond_broadcast (&self->changed);
    }
  pthread_mutex_unlock (&self->mutex);
  return ok;
}

gboolean
tn_checkpoint_writer_wait (TnCheckpointWriter *self, GError **error)
{
  pthread_mutex_lock (&self->mutex);
  gboolean ok = wait_locked (self, error);
  pthread_mutex_unlock (&self->mutex);
  return ok;
}

gboolean
tn_checkpoint_writer_busy (TnCheckpointWriter *self)
{
  pthread_mutex_lock (&self->mutex);
  gboolean busy = self->busy;
  pthread_mutex_unlock (&self->mutex);
  return busy;
}

void
tn_checkpoint_writer_cancel (TnCheckpointWriter *self)
{
  atomic_store (&self->cancelled, TRUE);
}

void
tn_checkpoint_writer_set_best (TnCheckpointWriter *self, gint64 step)
{
  pthread_mutex_lock (&self->mutex);
  self->best = step;
  pthread_mutex_unlock (&self->mutex);
}

void
tn_checkpoint_writer_set_keep (TnCheckpointWriter *self, int keep)
{
  pthread_mutex_lock (&self->mutex);
  self->keep = MAX (keep, 1);
  pthread_mutex_unlock (&self->mutex);
}

void
tn_checkpoint_writer_set_loaded (TnCheckpointWriter *self, gint64 step)
{
  pthread_mutex_lock (&self->mutex);
  self->last = step;
  pthread_mutex_unlock (&self->mutex);
}
