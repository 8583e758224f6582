/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/error.h"
#include "formats/strategy-file.h"
#include "parallel/redistribution.h"
#include "parallel/reshard.h"

/* MindSpore's answers about converting checkpoints (truth folder mindspore/strategy). */

static gboolean
same_ints (const int64_t *got, guint n, JsonArray *want)
{
  gboolean same = n == json_array_get_length (want);
  for (guint i = 0; same && i < n; i++)
    same = got[i] == json_array_get_int_element (want, i);
  return same;
}

/* ---- operators ---- */

static int lists, lists_exact, lists_reordered, needed, needed_fewer;

static gboolean
same_operator (const TnTransformOperator *op, JsonArray *want)
{
  return g_strcmp0 (tn_transform_kind_name (op->kind), json_array_get_string_element (want, 0)) == 0 && same_ints (op->args, (guint) op->n, json_array_get_array_element (want, 1));
}

static gboolean
same_list (const GPtrArray *got, JsonArray *want, gboolean any_order)
{
  if (got->len != json_array_get_length (want))
    return FALSE;
  for (guint i = 0; i < got->len; i++)
    {
      gboolean found = FALSE;
      for (guint k = any_order ? 0 : i; k < (any_order ? got->len : i + 1) && !found; k++)
        found = same_operator (got->pdata[i], json_array_get_array_element (want, k));
      if (!found)
        return FALSE;
    }
  return TRUE;
}

static void
check_rank (JsonObject *c, JsonObject *rank, const TnRedistribution *r, const TnLayout *from, const TnLayout *to, const TnShape *shape)
{
  g_autoptr (GError) error = NULL;
  int64_t id = json_object_get_int_member (rank, "rank");
  JsonArray *operators = json_object_get_array_member (rank, "operators");
  g_autoptr (GPtrArray) got = tn_redistribution_operators (r, from, to, shape, id, &error);
  g_assert_no_error (error);
  gboolean exact = same_list (got, operators, FALSE), moved = json_object_has_member (c, "enable_redist_opt") && json_object_get_boolean_member (c, "enable_redist_opt");
  if (!exact && !(moved && same_list (got, operators, TRUE)))
    {
      for (guint i = 0; i < got->len; i++)
        g_test_message ("%s of %d", tn_transform_kind_name (((TnTransformOperator *) got->pdata[i])->kind), ((TnTransformOperator *) got->pdata[i])->n);
      g_error ("%s, rank %d: another list", json_object_get_string_member (c, "name"), (int) id);
    }
  lists++;
  lists_exact += exact;
  lists_reordered += !exact;
  if (!json_object_has_member (rank, "needed"))
    return;
  g_autoptr (GArray) by_list = tn_redistribution_operator_ranks (r, id, &error), by_box = tn_reshard_needed (from, to, shape, id, &error);
  g_assert_no_error (error);
  g_assert_true (same_ints ((int64_t *) by_list->data, by_list->len, json_object_get_array_member (rank, "needed")));
  for (guint i = 0, k = 0; i < by_box->len; i++, k++) /* boxes never need a rank that the operators do not */
    {
      while (k < by_list->len && g_array_index (by_list, int64_t, k) < g_array_index (by_box, int64_t, i))
        k++;
      g_assert_true (k < by_list->len && g_array_index (by_list, int64_t, k) == g_array_index (by_box, int64_t, i));
    }
  needed++;
  needed_fewer += by_box->len < by_list->len;
}

static void
check_operators (JsonObject *c)
{
  if (!json_object_has_member (c, "ranks") || !json_object_has_member (c, "shape"))
    return;
  g_autoptr (TnLayout) from = json_layout (c, "device_matrix", "from_map"), to = json_layout (c, json_object_has_member (c, "to_device_matrix") ? "to_device_matrix" : "device_matrix", "to_map");
  TnShape shape = json_shape (c, "shape");
  TnRedistribution r;
  g_autoptr (GError) error = NULL;
  tn_redistribution_infer (&r, from, to, &shape, TN_REDISTRIBUTION_GREEDY_NO_A2A, &error);
  g_assert_no_error (error);
  JsonArray *ranks = json_object_get_array_member (c, "ranks");
  for (guint i = 0; i < json_array_get_length (ranks); i++)
    check_rank (c, json_array_get_object_element (ranks, i), &r, from, to, &shape);
  tn_redistribution_clear (&r);
}

static void
test_operators (void)
{
  if (for_each_case ("from_map", check_operators) == 0)
    {
      g_test_skip ("no truth folder");
      return;
    }
  g_test_message ("%d of %d operator lists are MindSpore's word for word, %d with its gathers in another order (enable_redist_opt)", lists_exact, lists, lists_reordered);
  g_test_message ("ranks that its operators read: the same in %d cases; boxes need fewer of them in %d (it gathers first and cuts then)", needed, needed_fewer);
  g_assert_cmpint (lists_exact, >, 0);
  g_assert_cmpint (lists_reordered * 20, <=, lists);
}

/* ---- optimizer sharding as more dimensions ---- */

static int folds, folds_refused, folds_by_step, folds_open, folds_shuffled;

/* Flat numbers of the elements of a rank's slice, in order. */
static GArray *
elements_of (const TnLayout *layout, const TnShape *shape, int64_t rank)
{
  TnBox box;
  g_autoptr (GError) error = NULL;
  GArray *list = g_array_new (FALSE, FALSE, sizeof (int64_t));
  tn_layout_slice (layout, shape, rank, &box, &error);
  g_assert_no_error (error);
  for (int64_t e = 0; e < tn_shape_count (shape); e++)
    {
      int64_t rest = e;
      gboolean in = TRUE;
      for (int d = shape->n_dims - 1; d >= 0; d--)
        {
          int64_t i = rest % shape->dims[d];
          rest /= shape->dims[d];
          in = in && i >= box.lo[d] && i < box.hi[d];
        }
      if (in)
        g_array_append_val (list, e);
    }
  return list;
}

static TnShape
json_dims (JsonArray *array)
{
  TnShape shape = { .n_dims = (int) json_array_get_length (array) };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = json_array_get_int_element (array, (guint) d);
  return shape;
}

/* A map with one axis or a list of them a dimension. */
static TnLayout *
layout_of_lists (JsonObject *c)
{
  TnShape matrix = json_shape (c, "device_matrix");
  JsonArray *map = json_object_get_array_member (c, "tensor_map");
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  for (guint d = 0; d < json_array_get_length (map); d++)
    {
      JsonNode *node = json_array_get_element (map, d);
      JsonArray *axes = JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
      for (guint i = 0; i < (axes != NULL ? json_array_get_length (axes) : 1); i++)
        {
          int64_t axis = axes != NULL ? json_array_get_int_element (axes, i) : json_node_get_int (node);
          if (axis >= 0)
            dims[d].axes[dims[d].n++] = (int8_t) (matrix.n_dims - 1 - axis);
        }
    }
  g_autoptr (TnMesh) mesh = tn_mesh_new (matrix.n_dims, matrix.dims, NULL, -1, NULL, NULL);
  return tn_layout_new (mesh, (int) json_array_get_length (map), dims, 0, TN_PARTIAL_NONE, NULL);
}

/* The axes of dimensions are not in the order of the mesh. */
static gboolean
out_of_order (const TnLayout *layout)
{
  int last = -1;
  for (int d = 0; d < layout->n_dims; d++)
    for (int i = 0; i < layout->dims[d].n; i++)
      if (layout->mesh->sizes[layout->dims[d].axes[i]] > 1)
        {
          if (layout->dims[d].axes[i] < last)
            return TRUE;
          last = layout->dims[d].axes[i];
        }
  return FALSE;
}

/* What MindSpore's conversion cuts must be what the folded layout cuts. */
static void
check_conversion (JsonObject *c)
{
  if (!json_object_has_member (c, "opt_shard_step"))
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (TnLayout) layout = layout_of_lists (c);
  TnShape shape = json_shape (c, "shape");
  int64_t size = json_object_get_int_member (c, "opt_shard_size");
  g_autoptr (TnLayout) folded = tn_layout_fold_optimizer (layout, size, &error);
  JsonNode *result = json_object_get_member (c, "result");
  TnShape local;
  if (!JSON_NODE_HOLDS_ARRAY (result))
    {
      /* Refused: no axis left, a size that does not fit, or a step that is not the stride of the axis. Ours has no step. */
      g_assert_true (g_str_has_prefix (json_node_get_string (result), "EXC"));
      if (folded == NULL || !tn_layout_local_shape (folded, &shape, &local, NULL) || tn_layout_equal (folded, layout))
        folds_refused++;
      else
        folds_by_step++;
      return;
    }
  JsonArray *list = json_node_get_array (result);
  TnShape matrix = json_dims (json_array_get_array_element (list, 0)), map = json_dims (json_array_get_array_element (list, 1)), cut = json_dims (json_array_get_array_element (list, 2));
  g_assert_cmpint (tn_shape_count (&cut), ==, tn_shape_count (&shape));
  if (matrix.dims[0] < 0 || map.n_dims > TN_MAX_DIMS)
    {
      folds_open++; /* its -1 was not resolved: no layout */
      return;
    }
  g_assert_no_error (error);
  g_autoptr (TnMesh) mesh = tn_mesh_new (matrix.n_dims, matrix.dims, NULL, -1, NULL, &error);
  g_autoptr (TnLayout) expected = tn_layout_new_from_map (mesh, map.n_dims, map.dims, &error);
  g_assert_no_error (error);
  if (mesh->n_ranks != layout->mesh->n_ranks || !tn_layout_local_shape (expected, &cut, &local, NULL))
    {
      folds_open++;
      return;
    }
  /* Where it makes a new mesh it names the axes in the order of the tensor's dimensions, so that other ranks get the pieces
   * if the map is not in the order of the mesh: transform_checkpoints would mix up slices there. */
  if (out_of_order (layout) && !same_ints (matrix.dims, (guint) matrix.n_dims, json_object_get_array_member (c, "device_matrix")))
    {
      folds_shuffled++;
      return;
    }
  for (int64_t rank = 0; rank < mesh->n_ranks; rank++)
    {
      g_autoptr (GArray) got = elements_of (folded, &shape, rank), want = elements_of (expected, &cut, rank);
      if (got->len != want->len || memcmp (got->data, want->data, got->len * sizeof (int64_t)) != 0)
        g_error ("%s: rank %d holds other elements", json_object_get_string_member (c, "name"), (int) rank);
    }
  folds++;
}

static void
test_conversion (void)
{
  if (for_each_case ("opt_shard_step", check_conversion) == 0)
    {
      g_test_skip ("no truth folder");
      return;
    }
  g_test_message ("%d conversions cut the same elements for every rank; %d refused by both; %d refused by MindSpore for its step alone; %d with a mesh that MindSpore left open; %d where MindSpore's new mesh gives pieces to other ranks",
                  folds, folds_refused, folds_by_step, folds_open, folds_shuffled);
  g_assert_cmpint (folds, >, 4 * (folds_open + folds_shuffled));
}

/* ---- whole checkpoints ---- */

static TnStrategyFile *
load_strategy (JsonObject *c, const char *key)
{
  if (json_object_get_null_member (c, key))
    return NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = truth_folder (), *path = g_build_filename (folder, "mindspore/strategy", json_object_get_string_member (c, key), NULL);
  TnStrategyFile *file = tn_strategy_file_load (path, &error);
  g_assert_no_error (error);
  return file;
}

static TnLayout *
layout_in (const TnStrategyFile *file, const char *name, int n_dims)
{
  g_autoptr (GError) error = NULL;
  for (guint i = 0; file != NULL && i < file->parameters->len; i++)
    if (strcmp (((TnStrategyParameter *) file->parameters->pdata[i])->name, name) == 0)
      {
        TnLayout *layout = tn_strategy_parameter_kept_layout (file->parameters->pdata[i], 0, &error);
        g_assert_no_error (error);
        return layout;
      }
  g_assert_null (file);
  g_autoptr (TnMesh) mesh = tn_mesh_new (1, TN_SIZES (1), NULL, -1, NULL, NULL);
  return tn_layout_new_replicated (mesh, n_dims);
}

static void
check_slice (const TnLayout *layout, const TnShape *shape, int64_t rank, int k, JsonArray *want)
{
  g_autoptr (GArray) elements = elements_of (layout, shape, rank);
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  TnShape local;
  g_assert_true (tn_layout_local_shape (layout, shape, &local, NULL));
  g_assert_true (same_ints (local.dims, (guint) local.n_dims, json_array_get_array_element (want, 0)));
  for (guint i = 0; i < elements->len; i++)
    {
      float value = (float) ((double) g_array_index (elements, int64_t, i) * 0.5 + k);
      g_checksum_update (sum, (const guchar *) &value, sizeof value);
    }
  g_autofree char *text = g_strndup (g_checksum_get_string (sum), strlen (json_array_get_string_element (want, 1)));
  g_assert_cmpstr (text, ==, json_array_get_string_element (want, 1));
}

static int transforms, slices, rank_lists;

/* The ranks that are needed for one of the destination, over all parameters. */
static GHashTable *
ranks_needed (const TnStrategyFile *source, const TnStrategyFile *destination, JsonObject *shapes, int64_t rank)
{
  g_autoptr (GList) names = json_object_get_members (shapes);
  GHashTable *all = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (GList *l = names; l != NULL; l = l->next)
    {
      TnShape shape = json_shape (shapes, l->data);
      g_autoptr (GError) error = NULL;
      g_autoptr (TnLayout) from = layout_in (source, l->data, shape.n_dims), to = layout_in (destination, l->data, shape.n_dims);
      g_autoptr (GArray) needed_here = NULL;
      TnRedistribution r;
      if (from->mesh->n_ranks == to->mesh->n_ranks)
        {
          tn_redistribution_infer (&r, from, to, &shape, TN_REDISTRIBUTION_GREEDY_NO_A2A, &error);
          g_assert_no_error (error);
          needed_here = tn_redistribution_operator_ranks (&r, rank, &error);
          tn_redistribution_clear (&r);
        }
      else
        needed_here = tn_reshard_needed (from, to, &shape, rank, &error);
      g_assert_no_error (error);
      for (guint i = 0; i < needed_here->len; i++)
        g_hash_table_add (all, g_memdup2 (&g_array_index (needed_here, int64_t, i), sizeof (int64_t)));
    }
  return all;
}

static void
check_transform (JsonObject *c)
{
  g_autoptr (TnStrategyFile) source = load_strategy (c, "source_file"), destination = load_strategy (c, "destination_file");
  JsonObject *shapes = json_object_get_object_member (c, "shapes"), *result = json_object_get_object_member (c, "result"), *lists_of = json_object_get_object_member (c, "rank_list_for_transform");
  JsonObject *cuts = json_object_get_object_member (c, "source_slice_shapes");
  g_autoptr (GList) names = g_list_sort (json_object_get_members (shapes), (GCompareFunc) strcmp), ranks = json_object_get_members (result), sources = json_object_get_members (cuts);
  for (GList *r = ranks; r != NULL; r = r->next)
    {
      int64_t rank = g_ascii_strtoll (r->data, NULL, 10);
      JsonObject *tensors = json_object_get_object_member (result, r->data);
      int k = 0;
      for (GList *l = names; l != NULL; l = l->next, k++)
        {
          TnShape shape = json_shape (shapes, l->data);
          g_autoptr (TnLayout) to = layout_in (destination, l->data, shape.n_dims);
          check_slice (to, &shape, rank, k, json_object_get_array_member (tensors, l->data));
          slices++;
        }
      JsonArray *want = json_object_get_array_member (lists_of, r->data);
      g_autoptr (GHashTable) got = ranks_needed (source, destination, shapes, rank);
      gboolean same = g_hash_table_size (got) == json_array_get_length (want);
      for (guint i = 0; same && i < json_array_get_length (want); i++)
        {
          int64_t value = json_array_get_int_element (want, i);
          same = g_hash_table_contains (got, &value);
        }
      if (!same)
        g_error ("%s, rank %d: other ranks", json_object_get_string_member (c, "name"), (int) rank);
      rank_lists++;
    }
  for (GList *r = sources; r != NULL; r = r->next)
    for (GList *l = names; l != NULL; l = l->next)
      {
        TnShape shape = json_shape (shapes, l->data), local;
        g_autoptr (TnLayout) from = layout_in (source, l->data, shape.n_dims);
        g_assert_true (tn_layout_local_shape (from, &shape, &local, NULL));
        g_assert_true (same_ints (local.dims, (guint) local.n_dims, json_object_get_array_member (json_object_get_object_member (cuts, r->data), l->data)));
      }
  transforms++;
}

static void
test_transforms (void)
{
  if (for_each_case ("rank_list_for_transform", check_transform) == 0)
    {
      g_test_skip ("no truth folder");
      return;
    }
  g_test_message ("%d checkpoints converted: %d slices with MindSpore's bytes, %d lists of ranks the same", transforms, slices, rank_lists);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/parallel/conversion/operators-are-mindspores", test_operators);
  g_test_add_func ("/parallel/conversion/optimizer-sharding-cuts-as-mindspore-does", test_conversion);
  g_test_add_func ("/parallel/conversion/checkpoints-as-mindspore-converts-them", test_transforms);
  return g_test_run ();
}
