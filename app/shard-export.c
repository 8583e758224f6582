/* SPDX-License-Identifier: Apache-2.0 */
#include "shard-export.h"
#include <inttypes.h>

#include "base/json.h"

static const char *const parts[] = { "parameters", "gradients", "optimizer", "activations", "buffers" };

static JsonArray *
shape_json (const TnShape *shape)
{
  JsonArray *array = json_array_new ();
  for (int d = 0; d < shape->n_dims; d++)
    json_array_add_int_element (array, shape->dims[d]);
  return array;
}

static JsonObject *
item_json (const TnShardItem *item)
{
  JsonObject *object = json_object_new ();
  json_object_set_string_member (object, "name", item->name);
  json_object_set_string_member (object, "kind", item->kind);
  json_object_set_string_member (object, "dtype", item->dtype);
  if (item->has_shape)
    json_object_set_array_member (object, "shape", shape_json (&item->shape));
  if (item->has_shape && item->problem == NULL)
    json_object_set_array_member (object, "slice", shape_json (&item->local));
  if (item->stage >= 0)
    json_object_set_int_member (object, "stage", item->stage);
  if (item->layout != NULL)
    json_object_set_object_member (object, "layout", tn_layout_to_dict (item->layout));
  if (item->kept != NULL && item->kept != item->layout)
    json_object_set_object_member (object, "kept", tn_layout_to_dict (item->kept));
  if (item->bytes >= 0)
    json_object_set_int_member (object, "bytes", item->bytes);
  json_object_set_int_member (object, "copies", item->replicas);
  return object;
}

static JsonObject *
ranks_json (const TnShardPlan *self, int64_t first)
{
  TnRankBytes bytes;
  JsonObject *object = json_object_new ();
  tn_shard_plan_rank (self, first, &bytes);
  json_object_set_int_member (object, "first", bytes.rank);
  json_object_set_int_member (object, "last", self->mesh->ranks[MIN (first + self->stage_ranks, self->mesh->n_ranks) - 1]);
  for (int part = 0; part < TN_N_RANK_PARTS; part++)
    json_object_set_int_member (object, parts[part], (gint64) bytes.parts[part]);
  json_object_set_int_member (object, "total", (gint64) tn_rank_bytes_total (&bytes));
  return object;
}

static JsonObject *
move_json (const TnShardMove *move)
{
  JsonObject *object = json_object_new ();
  JsonArray *axes = json_array_new ();
  for (int i = 0; i < move->mesh->n_axes; i++)
    if (move->axes >> i & 1)
      json_array_add_string_element (axes, move->mesh->names[i]);
  json_object_set_string_member (object, "kind", tn_move_kind_name (move->kind));
  json_object_set_string_member (object, "phase", tn_phase_name (move->phase));
  json_object_set_string_member (object, "value", move->value);
  json_object_set_array_member (object, "axes", axes);
  json_object_set_int_member (object, "group", move->group);
  json_object_set_double_member (object, "bytes", move->bytes);
  return object;
}

char *
tn_shard_plan_to_json (const TnShardPlan *self)
{
  JsonObject *object = json_object_new ();
  JsonArray *items = json_array_new (), *ranks = json_array_new (), *moves = json_array_new (), *notes = json_array_new ();
  g_autofree char *mesh = tn_mesh_to_string (self->mesh);
  for (guint i = 0; i < self->items->len; i++)
    json_array_add_object_element (items, item_json (tn_shard_plan_item (self, i)));
  for (int64_t first = 0; first < self->mesh->n_ranks; first += MAX (self->stage_ranks, 1))
    json_array_add_object_element (ranks, ranks_json (self, first));
  for (guint i = 0; i < self->moves->len; i++)
    json_array_add_object_element (moves, move_json (&g_array_index (self->moves, TnShardMove, i)));
  for (guint i = 0; i < self->notes->len; i++)
    json_array_add_string_element (notes, self->notes->pdata[i]);
  json_object_set_string_member (object, "mesh", mesh);
  json_object_set_int_member (object, "n_ranks", self->mesh->n_ranks);
  json_object_set_array_member (object, "parameters", items);
  json_object_set_array_member (object, "ranks", ranks);
  json_object_set_array_member (object, "traffic", moves);
  json_object_set_array_member (object, "notes", notes);
  g_autoptr (JsonNode) node = json_node_init_object (json_node_alloc (), object);
  json_object_unref (object);
  return tn_json_to_text (node, 2);
}

char *
tn_shard_plan_ranks_csv (const TnShardPlan *self)
{
  GString *text = g_string_new ("rank");
  g_autofree TnRankBytes *ranks = tn_shard_plan_ranks (self);
  for (int i = 0; i < self->mesh->n_axes; i++)
    g_string_append_printf (text, ",%s", self->mesh->names[i]);
  for (int part = 0; part < TN_N_RANK_PARTS; part++)
    g_string_append_printf (text, ",%s", parts[part]);
  g_string_append (text, ",total\r\n");
  for (int64_t place = 0; place < self->mesh->n_ranks; place++)
    {
      g_string_append_printf (text, "%" PRId64, ranks[place].rank);
      for (int i = 0; i < self->mesh->n_axes; i++)
        g_string_append_printf (text, ",%" PRId64, tn_mesh_coordinate (self->mesh, place, i));
      for (int part = 0; part < TN_N_RANK_PARTS; part++)
        g_string_append_printf (text, ",%.0f", ranks[place].parts[part]);
      g_string_append_printf (text, ",%.0f\r\n", tn_rank_bytes_total (&ranks[place]));
    }
  return g_string_free (text, FALSE);
}
