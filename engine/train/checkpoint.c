/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint.h"
#include <inttypes.h>

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/json.h"
#include "train/checkpoint-files.h"

#define STEP_PREFIX "step-"

gboolean
tn_checkpoint_parse_step (const char *name, gint64 *step)
{
  if (!g_str_has_prefix (name, STEP_PREFIX))
    return FALSE;
  const char *digits = name + strlen (STEP_PREFIX);
  size_t n = strspn (digits, "0123456789");
  if (n < 8 || n > 18 || digits[n] != '\0')
    return FALSE;
  *step = g_ascii_strtoll (digits, NULL, 10);
  return TRUE;
}

char *
tn_checkpoint_step_path (const char *folder, gint64 step)
{
  g_autofree char *name = g_strdup_printf (STEP_PREFIX "%08" PRId64, step);
  return g_build_filename (folder, name, NULL);
}

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;
  return (x > y) - (x < y);
}

char *
tn_checkpoint_rank_file (int rank)
{
  return g_strdup_printf ("rank-%04d.safetensors", rank);
}

GArray *
tn_checkpoint_list_folders (const char *folder)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  gint64 step;
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    if (tn_checkpoint_parse_step (name, &step))
      g_array_append_val (steps, step);
  g_array_sort (steps, compare_steps);
  return steps;
}

static gboolean
has_file (const char *path, const char *name)
{
  g_autofree char *file = g_build_filename (path, name, NULL);
  return g_file_test (file, G_FILE_TEST_IS_REGULAR);
}

GArray *
tn_checkpoint_list (const char *folder)
{
  g_autoptr (GArray) all = tn_checkpoint_list_folders (folder);
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  for (guint i = 0; i < all->len; i++)
    {
      gint64 step = g_array_index (all, gint64, i);
      g_autofree char *path = tn_checkpoint_step_path (folder, step);
      if (has_file (path, TN_CHECKPOINT_MANIFEST))
        g_array_append_val (steps, step);
    }
  return steps;
}

gboolean
tn_checkpoint_is_pinned (const char *path)
{
  return has_file (path, TN_CHECKPOINT_PINNED);
}

gboolean
tn_checkpoint_set_pinned (const char *path, gboolean pinned, GError **error)
{
  g_autofree char *file = g_build_filename (path, TN_CHECKPOINT_PINNED, NULL);
  if (pinned)
    return has_file (path, TN_CHECKPOINT_PINNED) || tn_durable_write (file, "", 0, error);
  if (tn_fault_unlink (file) != 0 && errno != ENOENT)
    {
      tn_error_set_errno (error, errno, _("remove"), file);
      return FALSE;
    }
  return TRUE;
}

void
tn_checkpoint_remove (const char *path)
{
  g_autofree char *manifest = g_build_filename (path, TN_CHECKPOINT_MANIFEST, NULL);
  if (tn_fault_unlink (manifest) != 0 && errno != ENOENT)
    return;
  if (!tn_durable_sync_dir (path, NULL))
    return;
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);
      tn_fault_unlink (file);
    }
  g_rmdir (path);
}

/* state.json */

char *
tn_checkpoint_state_to_text (const TnCheckpointState *state)
{
  g_autoptr (JsonObject) object = json_object_new ();
  json_object_set_int_member (object, "version", TN_CHECKPOINT_VERSION);
  tn_json_set_int64_string (object, "step", state->step);
  tn_json_set_int64_string (object, "epoch", state->epoch);
  tn_json_set_int64_string (object, "position", state->position);
  tn_json_set_int64_string (object, "samples", state->samples);
  /* The random numbers' counters are functions of step and position; the key is the seed. */
  tn_json_set_int64_string (object, "seed", (int64_t) state->seed);
  tn_json_set_hex_double (object, "learning_rate", state->learning_rate);
  tn_json_set_hex_double (object, "loss", state->loss);
  tn_json_set_hex_double (object, "best", state->best);
  tn_json_set_int64_string (object, "best_step", state->best_step);
  tn_json_set_int64_string (object, "bad_steps", state->bad_steps);
  tn_json_set_hex_double (object, "early_best", state->early_best);
  tn_json_set_int64_string (object, "stall", state->stall);
  json_object_set_string_member (object, "isa", state->isa);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  return tn_json_to_text (node, 2);
}

gboolean
tn_checkpoint_state_load (const char *path, TnCheckpointState *state, GError **error)
{
  g_autoptr (JsonNode) node = tn_json_load (path, error);
  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” is not the state of a run."), path);
      return FALSE;
    }
  JsonObject *object = json_node_get_object (node);
  gint64 version;
  int64_t seed, step, epoch, position, samples, best_step, bad_steps;
  const char *isa;
  if (!tn_json_get_int (object, "version", 1, TN_CHECKPOINT_VERSION, &version, path, error)
      || !tn_json_get_int64_string (object, "step", &step, path, error)
      || !tn_json_get_int64_string (object, "epoch", &epoch, path, error)
      || !tn_json_get_int64_string (object, "position", &position, path, error)
      || !tn_json_get_int64_string (object, "samples", &samples, path, error)
      || !tn_json_get_int64_string (object, "seed", &seed, path, error)
      || !tn_json_get_hex_double (object, "learning_rate", &state->learning_rate, path, error)
      || !tn_json_get_hex_double (object, "loss", &state->loss, path, error)
      || !tn_json_get_hex_double (object, "best", &state->best, path, error)
      || !tn_json_get_int64_string (object, "best_step", &best_step, path, error)
      || !tn_json_get_int64_string (object, "bad_steps", &bad_steps, path, error)
      || !tn_json_get_string (object, "isa", &isa, path, error))
    return FALSE;
  int64_t stall = 0; /* these two came later than the version */
  state->early_best = NAN;
  if ((json_object_has_member (object, "early_best") && !tn_json_get_hex_double (object, "early_best", &state->early_best, path, error))
      || (json_object_has_member (object, "stall") && !tn_json_get_int64_string (object, "stall", &stall, path, error)))
    return FALSE;
  state->stall = stall;
  if (step < 0 || epoch < 0 || position < 0 || samples < 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _("“%s” has a negative step, epoch or position."), path);
      return FALSE;
    }
  state->step = step;
  state->epoch = epoch;
  state->position = position;
  state->samples = samples;
  state->seed = (guint64) seed;
  state->best_step = best_step;
  state->bad_steps = bad_steps;
  g_strlcpy (state->isa, isa, sizeof state->isa);
  return TRUE;
}

gboolean
tn_checkpoint_newest_state (const char *folder, TnCheckpointState *state)
{
  g_autoptr (GArray) steps = tn_checkpoint_list (folder);
  for (guint i = steps->len; i-- > 0;)
    {
      g_autofree char *path = tn_checkpoint_step_path (folder, g_array_index (steps, gint64, i));
      g_autofree char *file = g_build_filename (path, TN_CHECKPOINT_STATE, NULL);
      if (tn_checkpoint_state_load (file, state, NULL))
        return TRUE;
    }
  return FALSE;
}
