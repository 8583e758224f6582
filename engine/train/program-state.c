/* SPDX-License-Identifier: Apache-2.0 */
#include "train/program-private.h"
#include "base/error.h"
#include "formats/safetensors.h"
#include "nn/initializer.h"
#include <math.h>
#include <string.h>

/* Which part of the whole this rank holds. */
static gboolean
place_slice (const TnProgram *self, const TnCompiled *compiled, const TnValue *value, TnStateEntry *entry, GError **error)
{
  if (compiled->sharded != NULL)
    {
      const TnLayout *layout = tn_sharded_layout (compiled->sharded, value);
      entry->copy = tn_layout_replica (layout, self->place) != 0;
      return tn_layout_slice (layout, &value->shape, layout->mesh->ranks[self->place], &entry->box, error);
    }
  entry->box.n_dims = value->shape.n_dims;
  memcpy (entry->box.hi, value->shape.dims, sizeof value->shape.dims);
  return TRUE;
}

gboolean
tn_program_add_state (TnProgram *self, const TnCompiled *compiled, GError **error)
{
  const TnGraph *graph = compiled->whole != NULL ? compiled->whole : compiled->built;
  for (int i = 0; i < tn_graph_n_parameters (graph); i++)
    {
      const TnValue *value = tn_graph_parameter (graph, i);
      if (g_hash_table_contains (self->state_by_name, value->node->name))
        continue;
      const TnParameterInfo *info = tn_node_parameter_info (value->node);
      TnStateEntry entry = { .role = info->role, .frozen = info->frozen, .shape = value->shape };
      if (!place_slice (self, compiled, value, &entry, error))
        return FALSE;
      TnShape local = { .n_dims = entry.shape.n_dims };
      for (int d = 0; d < local.n_dims; d++)
        local.dims[d] = entry.box.hi[d] - entry.box.lo[d];
      entry.tensor = tn_tensor_new (value->dtype, local, error);
      if (entry.tensor == NULL)
        return FALSE;
      entry.name = g_strdup (value->node->name);
      g_array_append_val (self->state, entry);
      g_hash_table_insert (self->state_by_name, (gpointer) entry.name, GINT_TO_POINTER (self->state->len));
      if (info->init != NULL && !tn_initializer_fill_box (info->init, entry.name, self->seed, &entry.shape, entry.box.lo, entry.tensor, error))
        return FALSE;
    }
  return TRUE;
}

void
tn_program_clear_state_entry (gpointer data)
{
  TnStateEntry *entry = data;
  g_free ((char *) entry->name);
  tn_tensor_unref (entry->tensor);
}

int
tn_program_n_state (const TnProgram *self)
{
  return (int) self->state->len;
}

const TnStateEntry *
tn_program_state (const TnProgram *self, int i)
{
  return &g_array_index (self->state, TnStateEntry, i);
}

const TnStateEntry *
tn_program_find_state (const TnProgram *self, const char *name)
{
  int index = GPOINTER_TO_INT (g_hash_table_lookup (self->state_by_name, name));
  return index > 0 ? tn_program_state (self, index - 1) : NULL;
}

double
tn_program_parameter_norm (const TnProgram *self)
{
  double total = 0;
  for (int i = 0; i < tn_program_n_slices (self); i++)
    {
      const TnStateEntry *entry = tn_program_slice (self, i, NULL);
      const float *x = tn_tensor_data (entry->tensor);
      if (entry->role == TN_ROLE_TRAINED && !entry->copy && entry->tensor->dtype == TN_DTYPE_F32)
        for (int64_t k = 0; k < tn_tensor_count (entry->tensor); k++)
          total += (double) x[k] * (double) x[k];
    }
  return sqrt (total);
}

gboolean
tn_program_load_weights (TnProgram *self, const char *path, char **report, GError **error)
{
  g_autoptr (TnSafetensors) file = tn_safetensors_open (path, error);
  if (file == NULL)
    return FALSE;
  g_autoptr (GString) kept = g_string_new (NULL), text = g_string_new (NULL);
  int n_matched = 0;
  for (guint i = 0; i < self->state->len; i++)
    {
      const TnStateEntry *entry = tn_program_state (self, (int) i);
      if (entry->role == TN_ROLE_OPTIMIZER)
        continue;
      const TnSafetensorsEntry *stored = tn_safetensors_find (file, entry->name);
      if (stored == NULL || !tn_shape_equal (&stored->shape, &entry->shape))
        {
          g_autofree char *want = tn_shape_to_string (&entry->shape);
          g_autofree char *have = stored != NULL ? tn_shape_to_string (&stored->shape) : NULL;
          if (have != NULL)
            g_string_append_printf (kept, _ ("\n  %s: is %s here, but %s in the file"), entry->name, want, have);
          else
            g_string_append_printf (kept, _ ("\n  %s: is not in the file"), entry->name);
          continue;
        }
      g_autoptr (TnTensor) tensor = tn_safetensors_load (file, entry->name, error);
      g_autoptr (TnTensor) part = tensor != NULL ? tn_tensor_ref (tensor) : NULL;
      for (int d = 0; part != NULL && d < entry->box.n_dims; d++)
        {
          TnTensor *narrower = tn_tensor_slice (part, d, entry->box.lo[d], entry->box.hi[d] - entry->box.lo[d], error);
          tn_tensor_unref (part);
          part = narrower;
        }
      if (part == NULL || !tn_tensor_copy (entry->tensor, part, error))
        return FALSE;
      n_matched++;
    }
  if (n_matched == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _ ("No tensor of %s has the name and shape of a parameter of this model:%s"), path,
                   kept->str);
      return FALSE;
    }
  g_string_append_printf (text, _ ("%d tensors taken from %s."), n_matched, path);
  if (kept->len > 0)
    g_string_append_printf (text, _ ("\nThese begin with fresh values instead:%s"), kept->str);
  g_autoptr (GString) unused = g_string_new (NULL);
  for (guint i = 0; i < tn_safetensors_n (file); i++)
    if (tn_program_find_state (self, tn_safetensors_entry (file, i)->name) == NULL)
      g_string_append_printf (unused, "\n  %s", tn_safetensors_entry (file, i)->name);
  if (unused->len > 0)
    g_string_append_printf (text, _ ("\nThe file has these besides, which this model does not use:%s"), unused->str);
  if (report != NULL)
    *report = g_strdup (text->str);
  return TRUE;
}
