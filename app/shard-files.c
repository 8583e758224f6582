/* SPDX-License-Identifier: Apache-2.0 */
#include "shard-plan-private.h"

#include <glib/gi18n.h>
#include <string.h>

#include "base/error.h"

/* Plans of strategy files: MindSpore's protobuf and JSON, and profiled strategies, which know operators only. */

#define MAX_FILES 4096

static const char *
kind_of (const char *name)
{
  static const char *const prefixes[] = { "adam_m.", "adam_v.", "moments.", "moment1.", "moment2.", "accum.", "accu_grads.", "momentum." };
  for (gsize i = 0; i < G_N_ELEMENTS (prefixes); i++)
    if (g_str_has_prefix (name, prefixes[i]))
      return "optimizer";
  return "parameter";
}

/* Layouts of one file share their meshes. */
static TnLayout *
on_shared_mesh (GPtrArray *meshes, TnLayout *layout)
{
  for (guint i = 0; layout != NULL && i < meshes->len; i++)
    if (meshes->pdata[i] != layout->mesh && tn_mesh_equal (meshes->pdata[i], layout->mesh))
      {
        TnLayout *shared = tn_layout_new (meshes->pdata[i], layout->n_dims, layout->dims, layout->partial, layout->op, NULL);
        tn_layout_unref (layout);
        return shared;
      }
  if (layout != NULL)
    g_ptr_array_add (meshes, tn_mesh_ref (layout->mesh));
  return layout;
}

static TnShape
pieces (const TnLayout *layout)
{
  TnShape shape = { .n_dims = layout->n_dims };
  for (int d = 0; d < layout->n_dims; d++)
    shape.dims[d] = tn_layout_shards (layout, d);
  return shape;
}

/* Says why, and shows the tensor whole, where the shape does not divide. */
static void
measure_item (TnShardItem *item)
{
  g_autoptr (GError) error = NULL;
  item->bytes = -1;
  if (item->layout == NULL)
    return;
  if (!item->has_shape)
    item->shape = pieces (item->layout);
  item->replicas = tn_mesh_span (item->layout->mesh, tn_layout_replica_axes (item->kept != NULL ? item->kept : item->layout));
  if (!tn_layout_local_shape (item->kept != NULL ? item->kept : item->layout, &item->shape, &item->local, &error))
    item->problem = g_strdup (error->message);
  else if (item->has_shape && item->element > 0)
    item->bytes = tn_shape_count (&item->local) * item->element;
}

static void
take_shape (TnShardItem *item, const TnStrategyParameter *p, const TnShardPlan *shapes, GPtrArray *notes)
{
  int at = shapes != NULL ? tn_shard_plan_find (shapes, item->name) : -1;
  const TnShardItem *known = at >= 0 ? tn_shard_plan_item (shapes, (guint) at) : NULL;
  gboolean told = p->tensor_shape != NULL && p->tensor_shape->len > 0 && p->tensor_shape->len <= TN_MAX_DIMS;
  if (told)
    item->shape = tn_shape_make ((int) p->tensor_shape->len, (const int64_t *) p->tensor_shape->data);
  item->dtype = known != NULL ? known->dtype : "";
  item->element = known != NULL ? known->element : 4;
  item->has_shape = (told && tn_shape_bytes (&item->shape, (size_t) item->element, &(size_t){ 0 }, NULL)) || known != NULL;
  if (known != NULL && !told)
    item->shape = known->shape;
  else if (known != NULL && told && !tn_shape_equal (&item->shape, &known->shape))
    {
      g_autofree char *ours = tn_shape_to_string (&known->shape), *theirs = tn_shape_to_string (&item->shape);
      g_ptr_array_add (notes, g_strdup_printf (_("%s: the model's shape is %s, the file says %s."), item->name, ours, theirs));
    }
}

static gboolean
add_parameter (TnShardPlan *plan, GPtrArray *meshes, const TnStrategyParameter *p, const TnShardPlan *shapes, int64_t stage_ranks)
{
  g_autoptr (GError) error = NULL;
  const char *name;
  TnShardItem item = { .stage = (int) CLAMP (tn_strategy_parameter_stage (p, &name), -1, G_MAXINT) };
  item.first_rank = item.stage > 0 && stage_ranks > 0 ? item.stage * stage_ranks : 0;
  if (item.first_rank < 0 || item.first_rank > TN_MESH_MAX_RANKS)
    item.first_rank = 0;
  item.layout = on_shared_mesh (meshes, tn_strategy_parameter_layout (p, item.first_rank, &error));
  if (item.layout != NULL && p->opt_size != 0 && p->opt_size != 1)
    item.kept = on_shared_mesh (meshes, tn_strategy_parameter_kept_layout (p, item.first_rank, &error));
  else if (item.layout != NULL)
    item.kept = tn_layout_ref (item.layout);
  item.name = g_strdup (name);
  item.kind = kind_of (name);
  if (error != NULL)
    item.problem = g_strdup (error->message);
  take_shape (&item, p, shapes, plan->notes);
  measure_item (&item);
  if (item.problem != NULL)
    g_ptr_array_add (plan->notes, g_strdup_printf ("%s: %s", item.name, item.problem));
  g_array_append_val (plan->items, item);
  return item.layout != NULL;
}

/* Counts as a layout: one axis a split dimension. */
static TnLayout *
layout_of_counts (const GArray *counts, int64_t n_ranks)
{
  int64_t sizes[TN_MESH_MAX_AXES], product = 1;
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  int n = 1;
  for (guint d = 0; d < MIN (counts->len, TN_MAX_DIMS); d++)
    {
      int64_t count = g_array_index (counts, int64_t, d);
      if (count < 1 || count > TN_MESH_MAX_RANKS / product)
        return NULL;
      if (count == 1)
        continue;
      dims[d] = (TnDimMap){ .n = 1, .axes = { (int8_t) n } };
      sizes[n++] = count;
      product *= count;
    }
  if (n_ranks % product != 0)
    return NULL;
  sizes[0] = n_ranks / product;
  g_autoptr (TnMesh) mesh = tn_mesh_new (n, sizes, NULL, -1, NULL, NULL);
  return mesh != NULL ? tn_layout_new (mesh, (int) MIN (counts->len, TN_MAX_DIMS), dims, 0, TN_PARTIAL_NONE, NULL) : NULL;
}

static int64_t
most_pieces (const TnStrategyFile *file)
{
  int64_t most = 1;
  for (guint i = 0; i < file->nodes->len; i++)
    {
      const TnStrategyNode *node = file->nodes->pdata[i];
      for (guint k = 0; k < node->strategies->len; k++)
        {
          const GArray *counts = node->strategies->pdata[k];
          int64_t product = 1;
          for (guint d = 0; d < counts->len && product <= TN_MESH_MAX_RANKS; d++)
            product *= CLAMP (g_array_index (counts, int64_t, d), 1, TN_MESH_MAX_RANKS);
          most = product <= TN_MESH_MAX_RANKS ? MAX (most, product) : most;
        }
    }
  return most;
}

/* Where a file tells no parameters its operators are shown, one item an input. */
static void
add_operators (TnShardPlan *plan, GPtrArray *meshes, const TnStrategyFile *file)
{
  int64_t n_ranks = most_pieces (file);
  for (guint i = 0; i < file->nodes->len; i++)
    {
      const TnStrategyNode *node = file->nodes->pdata[i];
      for (guint k = 0; k < node->strategies->len; k++)
        {
          TnShardItem item = { .stage = -1, .kind = "operator", .dtype = "" };
          item.name = g_strdup_printf (_("%s, input %u"), node->node, k);
          item.layout = on_shared_mesh (meshes, layout_of_counts (node->strategies->pdata[k], n_ranks));
          item.kept = item.layout != NULL ? tn_layout_ref (item.layout) : NULL;
          measure_item (&item);
          g_array_append_val (plan->items, item);
        }
    }
  g_ptr_array_add (plan->notes, g_strdup (_("This file tells how operators are cut, not which parameters there are.")));
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

static TnStrategyFile *
load_folder (const char *path, GPtrArray *notes, GError **error)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_strategy_file_free);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (path, 0, error);
  for (const char *name; dir != NULL && names->len < MAX_FILES && (name = g_dir_read_name (dir)) != NULL;)
    if (strstr (name, "strategy") != NULL || g_str_has_suffix (name, ".ckpt") || g_str_has_suffix (name, ".pb"))
      g_ptr_array_add (names, g_strdup (name));
  if (dir == NULL)
    return NULL;
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *file_path = g_build_filename (path, names->pdata[i], NULL);
      g_autoptr (GError) own = NULL;
      TnStrategyFile *file = tn_strategy_file_load (file_path, &own);
      if (file != NULL)
        g_ptr_array_add (files, file);
      else
        g_ptr_array_add (notes, g_strdup (own->message));
    }
  if (files->len == 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_NOT_FOUND, _("There is no strategy file in %s. Choose a .ckpt, .pb or .json file that a training saved."), path);
      return NULL;
    }
  if (files->len == 1)
    return g_ptr_array_steal_index (files, 0);
  return tn_strategy_files_merge ((TnStrategyFile *const *) files->pdata, (int) files->len, error);
}

/* Ranks 0 to the last that any layout has; those of one stage follow one another. */
static gboolean
find_mesh (TnShardPlan *plan, GError **error)
{
  const TnMesh *largest = NULL;
  int64_t end = 0;
  for (guint i = 0; i < plan->items->len; i++)
    {
      const TnShardItem *item = tn_shard_plan_item (plan, i);
      if (item->layout == NULL)
        continue;
      if (largest == NULL || item->layout->mesh->n_ranks > largest->n_ranks || (item->layout->mesh->n_ranks == largest->n_ranks && item->layout->mesh->n_axes > largest->n_axes))
        largest = item->layout->mesh;
      end = MAX (end, item->layout->mesh->ranks[item->layout->mesh->n_ranks - 1] + 1);
    }
  if (largest == NULL)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_FORMAT, "%s", plan->notes->len > 0 ? (const char *) plan->notes->pdata[0] : _("The file has no layout in it."));
      return FALSE;
    }
  plan->stage_ranks = largest->n_ranks;
  if (end == largest->n_ranks)
    plan->mesh = tn_mesh_ref ((TnMesh *) largest);
  else
    plan->mesh = tn_mesh_new (2, TN_SIZES (end / largest->n_ranks, largest->n_ranks), TN_NAMES ("stage", "rank"), -1, NULL, error);
  return plan->mesh != NULL;
}

static int64_t
ranks_of_stage (const TnStrategyFile *file)
{
  int64_t most = 0;
  for (guint i = 0; i < file->parameters->len; i++)
    {
      const GArray *matrix = ((const TnStrategyParameter *) file->parameters->pdata[i])->dev_matrix;
      int64_t product = 1;
      for (guint k = 0; k < matrix->len && product <= TN_MESH_MAX_RANKS; k++)
        product *= CLAMP (g_array_index (matrix, int64_t, k), 1, TN_MESH_MAX_RANKS);
      most = product <= TN_MESH_MAX_RANKS ? MAX (most, product) : most;
    }
  return most;
}

TnShardPlan *
tn_shard_plan_from_files (const TnShardRequest *request, GError **error)
{
  g_autoptr (TnShardPlan) plan = tn_shard_plan_new ();
  g_autoptr (GPtrArray) meshes = g_ptr_array_new_with_free_func ((GDestroyNotify) tn_mesh_unref);
  if (g_file_test (request->path, G_FILE_TEST_IS_DIR))
    plan->file = load_folder (request->path, plan->notes, error);
  else
    plan->file = tn_strategy_file_load (request->path, error);
  if (plan->file == NULL)
    return NULL;
  plan->title = g_path_get_basename (request->path);
  for (guint i = 0; i < plan->file->notes->len; i++)
    g_ptr_array_add (plan->notes, g_strdup (plan->file->notes->pdata[i]));
  int64_t stage_ranks = ranks_of_stage (plan->file);
  gboolean no_dtype = FALSE;
  for (guint i = 0; i < plan->file->parameters->len; i++)
    {
      add_parameter (plan, meshes, plan->file->parameters->pdata[i], request->shapes, stage_ranks);
      const TnShardItem *item = tn_shard_plan_item (plan, plan->items->len - 1);
      no_dtype |= item->has_shape && *item->dtype == '\0';
    }
  if (no_dtype)
    g_ptr_array_add (plan->notes, g_strdup (_("The file does not say data types: bytes are those of float32.")));
  if (plan->items->len == 0)
    add_operators (plan, meshes, plan->file);
  return find_mesh (plan, error) ? g_steal_pointer (&plan) : NULL;
}
