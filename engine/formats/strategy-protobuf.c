/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/strategy-file.h"

#include <string.h>
#include "base/error.h"
#include "formats/protobuf.h"
#include "formats/strategy-private.h"

/* proto2, package straspb: repeated numbers are written one by one, and read packed too; required fields are written even
 * where they are 0. */

/* ---- reading ---- */

static gboolean
damaged (GError **error)
{
  g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, _ ("This is no strategy file of MindSpore, or it is damaged."));
  return FALSE;
}

/* A message whose field 1 is a row of numbers (dim). */
static GArray *
read_dims (const TnPbField *message)
{
  g_autoptr (GArray) dims = g_array_new (FALSE, FALSE, sizeof (int64_t));
  TnPbReader reader = tn_pb_reader (message->bytes, message->n);
  TnPbField field;
  while (tn_pb_next (&reader, &field))
    {
      if (field.number != 1)
        continue;
      if (field.wire == TN_PB_VARINT)
        {
          int64_t value = (int64_t) field.value;
          g_array_append_val (dims, value);
        }
      else if (field.wire == TN_PB_BYTES)
        {
          TnPbReader packed = tn_pb_reader (field.bytes, field.n);
          uint64_t bits;
          while (packed.at < packed.end && tn_pb_read_varint (&packed, &bits))
            g_array_append_val (dims, bits);
          if (packed.bad)
            return NULL;
        }
      else
        return NULL;
    }
  return reader.bad ? NULL : g_steal_pointer (&dims);
}

static char *
read_name (const TnPbField *field)
{
  return field->wire == TN_PB_BYTES && field->n < (1u << 20) && g_utf8_validate ((const char *) field->bytes, (gssize) field->n, NULL)
             ? g_strndup ((const char *) field->bytes, field->n)
             : NULL;
}

/* "name, message" as both kinds of items have it. */
static gboolean
read_item (const TnPbField *item, char **name, TnPbField *message)
{
  gboolean has_message = FALSE;
  *name = NULL;
  if (item->wire != TN_PB_BYTES)
    return FALSE;
  TnPbReader reader = tn_pb_reader (item->bytes, item->n);
  TnPbField field;
  while (tn_pb_next (&reader, &field))
    if (field.number == 1 && *name == NULL)
      *name = read_name (&field);
    else if (field.number == 2 && field.wire == TN_PB_BYTES)
      {
        *message = field;
        has_message = TRUE;
      }
  if (!reader.bad && *name != NULL && has_message)
    return TRUE;
  g_clear_pointer (name, g_free);
  return FALSE;
}

static gboolean
read_node (TnStrategyFile *self, const TnPbField *item)
{
  g_autofree char *name = NULL;
  TnPbField message, field;
  if (!read_item (item, &name, &message))
    return FALSE;
  TnStrategyNode *node = tn_strategy_file_add_node (self, name, 0);
  TnPbReader reader = tn_pb_reader (message.bytes, message.n);
  gboolean has_stage = FALSE;
  while (tn_pb_next (&reader, &field))
    if (field.number == 1 && field.wire == TN_PB_VARINT)
      {
        node->stage = (gint64) field.value;
        has_stage = TRUE;
      }
    else if (field.number == 2)
      {
        GArray *dims = field.wire == TN_PB_BYTES ? read_dims (&field) : NULL;
        if (dims == NULL)
          return FALSE;
        g_ptr_array_add (node->strategies, dims);
      }
  return !reader.bad && has_stage;
}

static gboolean
read_parameter_field (TnStrategyParameter *p, const TnPbField *field)
{
  GArray **lists[] = { &p->dev_matrix, NULL, &p->split_shape, &p->offsets };
  gint64 *numbers[] = { &p->field, &p->opt_step, &p->opt_size };
  if (field->number >= 5 && field->number <= 7 && field->wire == TN_PB_VARINT)
    {
      *numbers[field->number - 5] = (gint64) field->value;
      return TRUE;
    }
  if (field->number < 1 || field->number > 4)
    return TRUE; /* of a newer version */
  GArray *dims = field->wire == TN_PB_BYTES ? read_dims (field) : NULL;
  if (dims == NULL)
    return FALSE;
  if (field->number == 2)
    {
      g_ptr_array_add (p->maps, dims);
      return TRUE;
    }
  g_clear_pointer (lists[field->number - 1], g_array_unref);
  *lists[field->number - 1] = dims;
  return TRUE;
}

static gboolean
read_parameter (TnStrategyFile *self, const TnPbField *item)
{
  g_autofree char *name = NULL;
  TnPbField message, field;
  uint32_t seen = 0;
  if (!read_item (item, &name, &message))
    return FALSE;
  TnStrategyParameter *p = tn_strategy_file_add_parameter (self, name);
  TnPbReader reader = tn_pb_reader (message.bytes, message.n);
  while (tn_pb_next (&reader, &field))
    {
      if (!read_parameter_field (p, &field))
        return FALSE;
      seen |= field.number < 32 ? 1u << field.number : 0;
    }
  if (reader.bad || p->dev_matrix == NULL)
    return FALSE;
  /* More than one map, or one and an empty one beside it: one list a dimension. */
  p->per_dim = p->maps->len > 1;
  for (guint i = p->maps->len; i > 0; i--)
    if (p->per_dim && ((GArray *) p->maps->pdata[i - 1])->len == 0)
      g_ptr_array_remove_index (p->maps, i - 1);
  if ((seen & (1u << 5 | 1u << 6 | 1u << 7)) != (1u << 5 | 1u << 6 | 1u << 7))
    g_ptr_array_add (self->notes, g_strdup_printf (_ ("%s: no optimizer sharding is told; it was written by an old version."), name));
  return TRUE;
}

gboolean
tn_strategy_file_read_protobuf (TnStrategyFile *self, const void *data, size_t n, GError **error)
{
  TnPbReader reader = tn_pb_reader (data, n);
  TnPbField field;
  gboolean has_stage = FALSE;
  while (tn_pb_next (&reader, &field))
    {
      if (field.number == 1 && field.wire == TN_PB_VARINT)
        {
          self->current_stage = (gint64) field.value;
          has_stage = TRUE;
        }
      else if ((field.number == 2 && !read_node (self, &field)) || (field.number == 3 && !read_parameter (self, &field)))
        return damaged (error);
      else if (field.number < 1 || field.number > 3)
        return damaged (error);
    }
  if (reader.bad || !has_stage)
    return damaged (error);
  if (self->parameters->len == 0)
    g_ptr_array_add (self->notes, g_strdup (_ ("No parameter layouts are told: the file may be of a version before they were written.")));
  return TRUE;
}

/* ---- writing ---- */

static void
put_message (GByteArray *out, uint32_t number, GByteArray *message)
{
  tn_pb_put_bytes (out, number, message->data, message->len);
  g_byte_array_unref (message);
}

static GByteArray *
dims_message (const GArray *dims)
{
  GByteArray *out = g_byte_array_new ();
  for (guint i = 0; dims != NULL && i < dims->len; i++)
    tn_pb_put_uint (out, 1, (uint64_t) g_array_index (dims, int64_t, i));
  return out;
}

static void
put_node (GByteArray *out, const TnStrategyNode *node)
{
  GByteArray *item = g_byte_array_new (), *inner = g_byte_array_new ();
  tn_pb_put_bytes (item, 1, node->node, strlen (node->node));
  tn_pb_put_uint (inner, 1, (uint64_t) node->stage);
  for (guint i = 0; i < node->strategies->len; i++)
    put_message (inner, 2, dims_message (node->strategies->pdata[i]));
  put_message (item, 2, inner);
  put_message (out, 2, item);
}

static void
put_parameter (GByteArray *out, const TnStrategyParameter *p)
{
  GByteArray *item = g_byte_array_new (), *inner = g_byte_array_new ();
  tn_pb_put_bytes (item, 1, p->name, strlen (p->name));
  put_message (inner, 1, dims_message (p->dev_matrix));
  for (guint i = 0; i < p->maps->len; i++)
    put_message (inner, 2, dims_message (p->maps->pdata[i]));
  if (p->per_dim && p->maps->len == 1)
    put_message (inner, 2, dims_message (NULL)); /* marks the form */
  if (p->split_shape != NULL)
    put_message (inner, 3, dims_message (p->split_shape));
  if (p->offsets != NULL)
    put_message (inner, 4, dims_message (p->offsets));
  tn_pb_put_uint (inner, 5, (uint64_t) p->field);
  tn_pb_put_uint (inner, 6, (uint64_t) p->opt_step);
  tn_pb_put_uint (inner, 7, (uint64_t) p->opt_size);
  put_message (item, 2, inner);
  put_message (out, 3, item);
}

GByteArray *
tn_strategy_file_to_protobuf (const TnStrategyFile *self)
{
  GByteArray *out = g_byte_array_new ();
  tn_pb_put_uint (out, 1, (uint64_t) self->current_stage);
  for (guint i = 0; i < self->nodes->len; i++)
    put_node (out, self->nodes->pdata[i]);
  for (guint i = 0; i < self->parameters->len; i++)
    put_parameter (out, self->parameters->pdata[i]);
  return out;
}

/* ---- group-info files ---- */

static void
free_array (gpointer data)
{
  g_array_unref (data);
}

TnGroupFile *
tn_group_file_parse (const void *data, size_t n, GError **error)
{
  g_autoptr (TnGroupFile) self = g_new0 (TnGroupFile, 1);
  self->names = g_ptr_array_new_with_free_func (g_free);
  self->groups = g_ptr_array_new_with_free_func (free_array);
  TnPbReader reader = tn_pb_reader (data, n);
  TnPbField field, message;
  gboolean ok = n > 0;
  while (ok && tn_pb_next (&reader, &field))
    {
      char *name = NULL;
      GArray *dims = NULL;
      if (field.number == 1)
        {
          ok = read_item (&field, &name, &message) && (dims = read_dims (&message)) != NULL;
          if (ok)
            {
              g_ptr_array_add (self->names, g_steal_pointer (&name));
              g_ptr_array_add (self->groups, dims);
            }
          g_free (name);
        }
      else
        {
          ok = field.number == 2 && field.wire == TN_PB_BYTES && self->restore == NULL && (dims = read_dims (&field)) != NULL;
          self->restore = ok ? dims : self->restore;
        }
    }
  if (ok && !reader.bad && self->restore != NULL)
    return g_steal_pointer (&self);
  damaged (error);
  return NULL;
}

GByteArray *
tn_group_file_to_protobuf (const TnGroupFile *self)
{
  GByteArray *out = g_byte_array_new ();
  for (guint i = 0; i < self->names->len; i++)
    {
      GByteArray *item = g_byte_array_new ();
      tn_pb_put_bytes (item, 1, self->names->pdata[i], strlen (self->names->pdata[i]));
      put_message (item, 2, dims_message (self->groups->pdata[i]));
      put_message (out, 1, item);
    }
  put_message (out, 2, dims_message (self->restore));
  return out;
}

void
tn_group_file_free (TnGroupFile *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->names);
  g_ptr_array_unref (self->groups);
  g_clear_pointer (&self->restore, g_array_unref);
  g_free (self);
}
