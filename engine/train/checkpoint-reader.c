/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/bytes.h"
#include "formats/safetensors.h"
#include "train/checkpoint-files.h"

#define MAX_FILES 65536
#define READ_BYTES ((size_t) 1 << 20)

struct _TnCheckpoint
{
  char *path;
  TnCheckpointState state;
  GPtrArray *names;    /* char *, in the manifest's order */
  GHashTable *stored;  /* name -> Stored */
  GHashTable *tensors; /* name -> TnTensor; none where they were left in the files */
  GHashTable *files;   /* name -> TnSafetensors */
};

/* A piece of a tensor. */
typedef struct
{
  TnSafetensors *file;
  TnBox box;
} Part;

typedef struct
{
  TnDType dtype;
  TnShape shape;
  GArray *parts; /* Part */
  int64_t n;     /* elements in them */
} Stored;

static void
stored_free (gpointer data)
{
  Stored *stored = data;
  g_array_unref (stored->parts);
  g_free (stored);
}

static gboolean
refuse (const char *path, const char *what, GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("Checkpoint “%s” is damaged: %s."), path, what);
  return FALSE;
}

/* Names in a manifest stay inside its folder. */
static gboolean
is_plain_name (const char *name)
{
  return name[0] != '\0' && name[0] != '.' && strchr (name, '/') == NULL;
}

static gboolean
file_crc (const char *path, gint64 expected_size, guint32 *crc, GError **error)
{
  guint64 size;
  int fd = tn_file_open (path, &size, error);
  if (fd < 0)
    return FALSE;
  gboolean ok = (gint64) size == expected_size;
  if (!ok)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _("“%s” has %" PRIu64 " bytes, the manifest says %" PRId64 "."), path, size, expected_size);
  g_autofree guint8 *block = g_malloc (READ_BYTES);
  *crc = 0;
  for (guint64 at = 0; ok && at < size; at += READ_BYTES)
    {
      size_t n = (size_t) MIN (READ_BYTES, size - at);
      ok = tn_file_pread (fd, block, n, at, path, error);
      *crc = ok ? tn_crc32c (*crc, block, n) : 0;
    }
  close (fd);
  return ok;
}

static gboolean
check_file (const char *folder, const char *name, JsonObject *entry, GError **error)
{
  if (!is_plain_name (name))
    return refuse (folder, _("its manifest names a file outside of it"), error);
  int64_t size;
  const char *text;
  if (!tn_json_get_int64_string (entry, "size", &size, name, error)
      || !tn_json_get_string (entry, "crc32c", &text, name, error))
    return FALSE;
  g_autofree char *path = g_build_filename (folder, name, NULL);
  guint32 crc;
  if (!file_crc (path, size, &crc, error))
    return FALSE;
  g_autofree char *found = g_strdup_printf ("%08x", crc);
  if (strcmp (found, text) == 0)
    return TRUE;
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” has checksum %s, the manifest says %s."), path, found, text);
  return FALSE;
}

static gboolean
check_files (const char *folder, JsonObject *files, GError **error)
{
  g_autoptr (GList) names = json_object_get_members (files);
  if (g_list_length (names) > MAX_FILES || !json_object_has_member (files, TN_CHECKPOINT_STATE))
    return refuse (folder, _("its manifest does not name the files that it needs"), error);
  for (GList *l = names; l != NULL; l = l->next)
    {
      JsonObject *entry;
      if (!tn_json_get_object (files, l->data, &entry, "files", error) || !check_file (folder, l->data, entry, error))
        return FALSE;
    }
  return TRUE;
}

/* Tensors. */

static TnSafetensors *
open_file (TnCheckpoint *self, JsonObject *files, const char *name, GError **error)
{
  TnSafetensors *file = g_hash_table_lookup (self->files, name);
  if (file != NULL)
    return file;
  if (!is_plain_name (name) || !json_object_has_member (files, name)) /* then its checksum was compared */
    {
      refuse (self->path, _("a tensor lies in a file that the manifest does not name"), error);
      return NULL;
    }
  g_autofree char *path = g_build_filename (self->path, name, NULL);
  file = tn_safetensors_open (path, error);
  if (file != NULL)
    g_hash_table_insert (self->files, g_strdup (name), file);
  return file;
}

static gboolean
read_box (TnCheckpoint *self, JsonArray *box, const TnShape *shape, TnBox *out, TnShape *size, GError **error)
{
  size->n_dims = out->n_dims = shape->n_dims;
  if (json_array_get_length (box) != (guint) shape->n_dims)
    return refuse (self->path, _("a piece has another number of dimensions than its tensor"), error);
  for (int d = 0; d < shape->n_dims; d++)
    {
      JsonNode *node = json_array_get_element (box, (guint) d);
      JsonArray *range = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
      if (range == NULL || json_array_get_length (range) != 2)
        return refuse (self->path, _("a piece has no proper box"), error);
      out->lo[d] = json_array_get_int_element (range, 0);
      out->hi[d] = json_array_get_int_element (range, 1);
      if (out->lo[d] < 0 || out->hi[d] < out->lo[d] || out->hi[d] > shape->dims[d])
        return refuse (self->path, _("a piece lies outside of its tensor"), error);
      size->dims[d] = out->hi[d] - out->lo[d];
    }
  return TRUE;
}

/* What the header of its file says of a piece must be what the manifest says. */
static gboolean
read_part (TnCheckpoint *self, JsonObject *files, const char *name, JsonNode *node, Stored *stored, GError **error)
{
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *file_name;
  JsonArray *box;
  TnShape size = { 0 };
  Part part = { 0 };
  if (object == NULL)
    return refuse (self->path, _("a piece is not an object"), error);
  if (!tn_json_get_string (object, "file", &file_name, name, error) || !tn_json_get_array (object, "box", &box, name, error)
      || !read_box (self, box, &stored->shape, &part.box, &size, error) || (part.file = open_file (self, files, file_name, error)) == NULL)
    return FALSE;
  const TnSafetensorsEntry *entry = tn_safetensors_find (part.file, name);
  if (entry == NULL)
    return refuse (self->path, _("a piece is not in the file that the manifest names"), error);
  if (entry->dtype != stored->dtype || !tn_shape_equal (&entry->shape, &size))
    return refuse (self->path, _("a piece has another shape or type than the manifest says"), error);
  for (guint i = 0; i < stored->parts->len; i++)
    {
      TnBox both;
      if (tn_box_intersect (&g_array_index (stored->parts, Part, i).box, &part.box, &both) && tn_box_count (&both) > 0)
        return refuse (self->path, _("two pieces of a tensor overlap"), error);
    }
  stored->n += tn_box_count (&part.box);
  g_array_append_val (stored->parts, part);
  return TRUE;
}

static gboolean
read_tensor (TnCheckpoint *self, JsonObject *files, const char *name, JsonObject *entry, GError **error)
{
  const char *dtype_name;
  JsonArray *parts;
  size_t bytes;
  gint64 dims[TN_MAX_DIMS];
  Stored *stored = g_new0 (Stored, 1);
  stored->parts = g_array_new (FALSE, TRUE, sizeof (Part));
  char *key = g_strdup (name);
  g_ptr_array_add (self->names, key);
  g_hash_table_insert (self->stored, key, stored);
  if (!tn_json_get_string (entry, "dtype", &dtype_name, name, error)
      || !tn_json_get_ints (entry, "shape", 0, G_MAXINT64, dims, TN_MAX_DIMS, &stored->shape.n_dims, name, error)
      || !tn_json_get_array (entry, "parts", &parts, name, error))
    return FALSE;
  for (int d = 0; d < stored->shape.n_dims; d++)
    stored->shape.dims[d] = dims[d];
  if (!tn_dtype_parse (dtype_name, &stored->dtype))
    return refuse (self->path, _("it has a tensor of an unknown type"), error);
  if (!tn_shape_bytes (&stored->shape, tn_dtype_size (stored->dtype), &bytes, error))
    return FALSE;
  for (guint i = 0; i < json_array_get_length (parts); i++)
    if (!read_part (self, files, name, json_array_get_element (parts, i), stored, error))
      return FALSE;
  if (stored->parts->len == 0 || stored->n != tn_shape_count (&stored->shape))
    return refuse (self->path, _("the pieces of a tensor do not make the whole"), error);
  return TRUE;
}

/* The window of @tensor that @inner of the whole is, of which the tensor itself is @outer. */
static TnTensor *
window (TnTensor *tensor, const TnBox *outer, const TnBox *inner, GError **error)
{
  TnTensor *view = tn_tensor_ref (tensor);
  for (int d = 0; d < inner->n_dims && view != NULL; d++)
    {
      TnTensor *next = tn_tensor_slice (view, d, inner->lo[d] - outer->lo[d], inner->hi[d] - inner->lo[d], error);
      tn_tensor_unref (view);
      view = next;
    }
  return view;
}

/* @box of the tensor, from the pieces that are in it. */
static gboolean
load_box (const Stored *stored, const char *name, const TnBox *box, TnTensor *out, GError **error)
{
  for (guint i = 0; i < stored->parts->len; i++)
    {
      const Part *part = &g_array_index (stored->parts, Part, i);
      TnBox both;
      if (tn_box_equal (&part->box, box) && stored->dtype != TN_DTYPE_BOOL && G_BYTE_ORDER == G_LITTLE_ENDIAN)
        return tn_safetensors_load_raw (part->file, tn_safetensors_find (part->file, name), tn_tensor_data (out), error);
      if (!tn_box_intersect (&part->box, box, &both))
        continue;
      g_autoptr (TnTensor) piece = tn_safetensors_load (part->file, name, error);
      g_autoptr (TnTensor) from = piece != NULL ? window (piece, &part->box, &both, error) : NULL;
      g_autoptr (TnTensor) to = from != NULL ? window (out, box, &both, error) : NULL;
      if (to == NULL || !tn_tensor_copy (to, from, error))
        return FALSE;
    }
  return TRUE;
}

static TnBox
whole_box (const TnShape *shape)
{
  TnBox box = { .n_dims = shape->n_dims };
  memcpy (box.hi, shape->dims, sizeof box.hi);
  return box;
}

static gboolean
load_tensors (TnCheckpoint *self, GError **error)
{
  for (guint i = 0; i < self->names->len; i++)
    {
      const char *name = g_ptr_array_index (self->names, i);
      const Stored *stored = g_hash_table_lookup (self->stored, name);
      g_autoptr (TnTensor) tensor = tn_tensor_new (stored->dtype, stored->shape, error);
      TnBox box = whole_box (&stored->shape);
      if (tensor == NULL || !load_box (stored, name, &box, tensor, error))
        return FALSE;
      g_hash_table_insert (self->tensors, g_strdup (name), g_steal_pointer (&tensor));
    }
  return TRUE;
}

static gboolean
load_manifest (TnCheckpoint *self, GError **error)
{
  g_autofree char *manifest = g_build_filename (self->path, TN_CHECKPOINT_MANIFEST, NULL);
  g_autofree char *state = g_build_filename (self->path, TN_CHECKPOINT_STATE, NULL);
  g_autoptr (JsonNode) node = tn_json_load (manifest, error);
  if (node == NULL)
    return FALSE;
  JsonObject *object = JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const char *format = "";
  gint64 version = 0;
  int64_t step;
  JsonObject *files, *tensors;
  if (object == NULL || !tn_json_get_string (object, "format", &format, manifest, NULL)
      || strcmp (format, TN_CHECKPOINT_FORMAT) != 0)
    return refuse (self->path, _("its manifest is not one of a checkpoint"), error);
  if (!tn_json_get_int (object, "version", 1, G_MAXINT, &version, manifest, error))
    return FALSE;
  if (version > TN_CHECKPOINT_VERSION)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                   _("Checkpoint “%s” has format version %d, this Tenon reads up to %d: use a newer one."), self->path,
                   (int) version, TN_CHECKPOINT_VERSION);
      return FALSE;
    }
  if (!tn_json_get_int64_string (object, "step", &step, manifest, error)
      || !tn_json_get_object (object, "files", &files, manifest, error)
      || !tn_json_get_object (object, "tensors", &tensors, manifest, error) || !check_files (self->path, files, error)
      || !tn_checkpoint_state_load (state, &self->state, error))
    return FALSE;
  if (step != self->state.step)
    return refuse (self->path, _("its files are of different steps"), error);
  g_autoptr (GList) names = json_object_get_members (tensors);
  for (GList *l = names; l != NULL; l = l->next)
    {
      JsonObject *entry;
      if (!tn_json_get_object (tensors, l->data, &entry, "tensors", error)
          || !read_tensor (self, files, l->data, entry, error))
        return FALSE;
    }
  return TRUE;
}

static TnCheckpoint *
open_unread (const char *path, GError **error)
{
  g_autoptr (TnCheckpoint) self = g_new0 (TnCheckpoint, 1);
  self->path = g_strdup (path);
  self->names = g_ptr_array_new ();
  self->stored = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, stored_free);
  self->tensors = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) tn_tensor_unref);
  self->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) tn_safetensors_free);
  return load_manifest (self, error) ? g_steal_pointer (&self) : NULL;
}

TnCheckpoint *
tn_checkpoint_open (const char *path, GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);
  g_autoptr (TnCheckpoint) self = open_unread (path, error);
  return self != NULL && load_tensors (self, error) ? g_steal_pointer (&self) : NULL;
}

static TnCheckpoint *
open_newest (const char *folder, gboolean unread, char **passed_over, GError **error)
{
  g_return_val_if_fail (folder != NULL, NULL);
  if (passed_over != NULL)
    *passed_over = NULL;
  g_autoptr (GArray) steps = tn_checkpoint_list (folder);
  g_autoptr (GString) skipped = g_string_new (NULL);
  for (guint i = steps->len; i-- > 0;)
    {
      g_autofree char *path = tn_checkpoint_step_path (folder, g_array_index (steps, gint64, i));
      g_autoptr (GError) failure = NULL;
      TnCheckpoint *self = unread ? open_unread (path, &failure) : tn_checkpoint_open (path, &failure);
      if (self != NULL)
        {
          if (passed_over != NULL && skipped->len > 0)
            *passed_over = g_string_free (g_steal_pointer (&skipped), FALSE);
          return self;
        }
      /* No memory is no damage: going back would throw work away. */
      if (g_error_matches (failure, TN_ERROR, TN_ERROR_MEMORY))
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return NULL;
        }
      g_string_append_printf (skipped, "%s%s", skipped->len > 0 ? "\n" : "", failure->message);
    }
  if (skipped->len > 0)
    g_set_error (error, TN_ERROR, TN_ERROR_FORMAT,
                 _("No checkpoint in “%s” can be read:\n%s\nMove the folder away to begin at step 0."), folder, skipped->str);
  return NULL;
}

TnCheckpoint *
tn_checkpoint_open_newest (const char *folder, char **passed_over, GError **error)
{
  return open_newest (folder, FALSE, passed_over, error);
}

TnCheckpoint *
tn_checkpoint_open_newest_unread (const char *folder, char **passed_over, GError **error)
{
  return open_newest (folder, TRUE, passed_over, error);
}

void
tn_checkpoint_free (TnCheckpoint *self)
{
  if (self == NULL)
    return;
  g_free (self->path);
  g_ptr_array_unref (self->names);
  g_hash_table_unref (self->stored);
  g_hash_table_unref (self->tensors);
  g_hash_table_unref (self->files);
  g_free (self);
}

const char *
tn_checkpoint_path (const TnCheckpoint *self)
{
  return self->path;
}

const TnCheckpointState *
tn_checkpoint_state (const TnCheckpoint *self)
{
  return &self->state;
}

int
tn_checkpoint_n_tensors (const TnCheckpoint *self)
{
  return (int) self->names->len;
}

const char *
tn_checkpoint_tensor_name (const TnCheckpoint *self, int i)
{
  return g_ptr_array_index (self->names, (guint) i);
}

TnTensor *
tn_checkpoint_tensor (const TnCheckpoint *self, const char *name)
{
  return g_hash_table_lookup (self->tensors, name);
}

static gboolean
check_match (const TnCheckpoint *self, const TnCheckpointTensor *wanted, GError **error)
{
  const Stored *found = g_hash_table_lookup (self->stored, wanted->name);
  const TnShape *shape = wanted->whole != NULL ? wanted->whole : &wanted->tensor->shape;
  if (found == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("Checkpoint “%s” has no tensor “%s”, which the model needs."),
                   self->path, wanted->name);
      return FALSE;
    }
  if (found->dtype == wanted->tensor->dtype && tn_shape_equal (&found->shape, shape))
    return TRUE;
  g_autofree char *have = tn_shape_to_string (&found->shape), *want = tn_shape_to_string (shape);
  g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _("“%s” is %s %s in checkpoint “%s”, the model needs %s %s."), wanted->name,
               tn_dtype_name (found->dtype), have, self->path, tn_dtype_name (wanted->tensor->dtype), want);
  return FALSE;
}

gboolean
tn_checkpoint_restore (const TnCheckpoint *self, const TnCheckpointTensor *tensors, int n_tensors, GError **error)
{
  g_autoptr (GHashTable) wanted = g_hash_table_new (g_str_hash, g_str_equal);
  for (int i = 0; i < n_tensors; i++)
    {
      if (!check_match (self, &tensors[i], error))
        return FALSE;
      g_hash_table_add (wanted, (gpointer) tensors[i].name);
    }
  for (guint i = 0; i < self->names->len; i++)
    if (!g_hash_table_contains (wanted, g_ptr_array_index (self->names, i)))
      {
        g_set_error (error, TN_ERROR, TN_ERROR_SHAPE, _("Checkpoint “%s” has tensor “%s”, which the model does not."),
                     self->path, (const char *) g_ptr_array_index (self->names, i));
        return FALSE;
      }
  for (int i = 0; i < n_tensors; i++)
    {
      const TnCheckpointTensor *next = &tensors[i];
      TnTensor *there = tn_checkpoint_tensor (self, next->name);
      const Stored *stored = g_hash_table_lookup (self->stored, next->name);
      TnBox whole = whole_box (&stored->shape);
      if (there != NULL && next->whole == NULL)
        memcpy (tn_tensor_data (next->tensor), tn_tensor_data (there), tn_tensor_bytes (next->tensor));
      else if (!load_box (stored, next->name, next->whole != NULL ? next->box : &whole, next->tensor, error))
        return FALSE;
    }
  return TRUE;
}
