/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "support.h"

#include <math.h>
#include "ir/interpret.h"
#include "ops/collective.h"
#include "ops/op.h"
#include "parallel/shard-graph.h"
#include "train/program-graph.h"

/* N ranks against one: the whole graph and the local graph of each rank are interpreted by the plain kernels, the ranks in
 * step with each other, collectives by copying here. After some steps all that was computed must agree. */

typedef struct
{
  const TnGraph *graph;
  TnMesh *mesh;
  int n, *first;
  TnTensor ***values; /* [rank place][flat value] */
  int64_t first_sample[64]; /* [rank place] */
} Ranks;

static inline TnTensor *
contiguous_cut (TnTensor *whole, const TnBox *box)
{
  TnShape shape = { .n_dims = box->n_dims };
  int64_t strides[TN_MAX_DIMS], n = tn_box_count (box);
  for (int d = 0; d < box->n_dims; d++)
    shape.dims[d] = box->hi[d] - box->lo[d];
  tn_shape_strides (&whole->shape, strides);
  TnTensor *out = tn_tensor_new (whole->dtype, shape, NULL);
  size_t size = tn_dtype_size (whole->dtype);
  for (int64_t e = 0; e < n; e++)
    {
      int64_t rest = e, at = 0;
      for (int d = box->n_dims - 1; d >= 0; d--)
        {
          at += (box->lo[d] + rest % shape.dims[d]) * strides[d];
          rest /= shape.dims[d];
        }
      memcpy ((char *) tn_tensor_data (out) + (size_t) e * size, (char *) tn_tensor_data (whole) + (size_t) at * size, size);
    }
  return out;
}

/* Reads elements as doubles, writes them back: enough for checks. */
static inline TnTensor *
collective (const Ranks *ranks, const TnNode *node, int place)
{
  const int64_t *axes_list, *sizes;
  int n_axes = tn_node_ints (node, "axes", &axes_list), n_sizes = tn_node_ints (node, "mesh", &sizes);
  g_autoptr (GError) error = NULL;
  g_autoptr (TnMesh) mesh = tn_mesh_new (n_sizes, sizes, NULL, -1, NULL, &error);
  g_assert_no_error (error);
  uint32_t axes = 0;
  for (int i = 0; i < n_axes; i++)
    axes |= 1u << axes_list[i];
  int64_t index, group = tn_mesh_span (mesh, axes);
  g_autofree int64_t *places = tn_mesh_group (mesh, axes, place, &index);
  g_assert_cmpint (group, ==, tn_node_int (node, "group"));
  TnTensor *out = tn_tensor_new (node->outputs[0].dtype, node->outputs[0].shape, NULL);
  if (tn_node_is (node, "RankIndex"))
    {
      tn_tensor_set (out, 0, (double) index);
      return out;
    }
  int at = ranks->first[node->inputs[0]->node->id] + node->inputs[0]->index;
  gboolean reduces = tn_node_is (node, "AllReduce") || tn_node_is (node, "ReduceScatter");
  int dim = tn_node_is (node, "AllReduce") ? 0 : (int) tn_node_int (node, "dim"), concat = tn_node_is (node, "AllToAll") ? (int) tn_node_int (node, "concat_dim") : -1;
  const char *op = reduces ? tn_node_string (node, "op") : "";
  const TnShape *x = &node->inputs[0]->shape, *y = &out->shape;
  int64_t x_strides[TN_MAX_DIMS], n = tn_shape_count (y);
  tn_shape_strides (x, x_strides);
  for (int64_t e = 0; e < n; e++)
    {
      int64_t rest = e, i[TN_MAX_DIMS], peer = index, from = 0;
      for (int d = y->n_dims - 1; d >= 0; d--)
        {
          i[d] = rest % y->dims[d];
          rest /= y->dims[d];
        }
      if (tn_node_is (node, "AllGather"))
        {
          peer = i[dim] / x->dims[dim];
          i[dim] %= x->dims[dim];
        }
      else if (tn_node_is (node, "AllToAll"))
        {
          peer = i[concat] / x->dims[concat];
          i[concat] %= x->dims[concat];
          i[dim] += index * y->dims[dim];
        }
      else if (!tn_node_is (node, "AllReduce"))
        i[dim] += index * y->dims[dim];
      for (int d = 0; d < x->n_dims; d++)
        from += i[d] * x_strides[d];
      double value = tn_tensor_get (ranks->values[places[reduces ? 0 : peer]][at], from);
      for (int64_t k = 1; reduces && k < group; k++)
        {
          double other = tn_tensor_get (ranks->values[places[k]][at], from);
          value = strcmp (op, "max") == 0 ? MAX (value, other) : strcmp (op, "min") == 0 ? MIN (value, other) : strcmp (op, "prod") == 0 ? value * other : value + other;
        }
      tn_tensor_set (out, e, strcmp (op, "mean") == 0 ? value / (double) group : value);
    }
  return out;
}

static inline void
run_ranks (Ranks *ranks)
{
  for (int id = 0; id < tn_graph_n_nodes (ranks->graph); id++)
    {
      const TnNode *node = tn_graph_node (ranks->graph, id);
      if (tn_node_is_input (node) || tn_node_is_parameter (node))
        continue;
      for (int p = 0; p < ranks->n; p++)
        {
          TnTensor **values = ranks->values[p];
          if (tn_node_is_constant (node))
            values[ranks->first[id]] = tn_tensor_ref (tn_node_constant (node));
          else if (tn_node_is_collective (node))
            values[ranks->first[id]] = collective (ranks, node, p);
          else
            {
              g_autofree TnTensor **in = g_new0 (TnTensor *, node->n_inputs + 1);
              g_autoptr (GError) error = NULL;
              TnRandomState random = { 7, 1, ranks->first_sample[p] };
              for (int k = 0; k < node->n_inputs; k++)
                in[k] = values[ranks->first[node->inputs[k]->node->id] + node->inputs[k]->index];
              tn_interpret_node (node, in, values + ranks->first[id], &random, &error);
              g_assert_no_error (error);
            }
        }
    }
}

static inline void
clear_values (Ranks *ranks, gboolean parameters_too)
{
  for (int id = 0; id < tn_graph_n_nodes (ranks->graph); id++)
    {
      const TnNode *node = tn_graph_node (ranks->graph, id);
      for (int p = 0; p < ranks->n && (parameters_too || !tn_node_is_parameter (node)); p++)
        for (int o = 0; o < node->n_outputs; o++)
          g_clear_pointer (&ranks->values[p][ranks->first[id] + o], tn_tensor_unref);
    }
  for (int p = 0; p < ranks->n && parameters_too; p++)
    g_free (ranks->values[p]);
  if (parameters_too)
    {
      g_free (ranks->values);
      g_free (ranks->first);
    }
}

static inline void
check_close (const char *what, TnTensor *whole, TnTensor *const *parts, const TnLayout *layout, double tolerance)
{
  double largest = 0, worst = 0;
  for (int64_t e = 0; e < tn_tensor_count (whole); e++)
    largest = MAX (largest, fabs (tn_tensor_get (whole, e)));
  for (int64_t p = 0; p < layout->mesh->n_ranks; p++)
    {
      TnBox box;
      g_assert_true (tn_layout_slice (layout, &whole->shape, layout->mesh->ranks[p], &box, NULL));
      g_autoptr (TnTensor) want = contiguous_cut (whole, &box);
      g_assert_true (tn_shape_equal (&want->shape, &parts[p]->shape));
      for (int64_t e = 0; e < tn_tensor_count (want); e++)
        worst = MAX (worst, fabs (tn_tensor_get (want, e) - tn_tensor_get (parts[p], e)));
    }
  if (!(worst <= tolerance * MAX (largest, 1e-30)) && worst > 1e-12)
    {
      g_autofree char *text = tn_layout_to_string (layout);
      g_error ("%s as %s differs by %g of %g", what, text, worst, largest);
    }
}

typedef struct
{
  const char *model; /* JSON */
  const char *preset;
  int64_t batch;
} Net;

static inline TnGraph *
whole_graph (const Net *net, const char *optimizer, double clip)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnModel) model = net->preset != NULL ? tn_model_new_preset (net->preset, &error) : tn_model_from_json (net->model, -1, &error);
  g_assert_no_error (error);
  g_autoptr (TnSettings) settings = tn_settings_new ();
  tn_settings_set (settings, "optimizer.kind", optimizer, NULL);
  g_autofree char *number = g_strdup_printf ("%g", clip);
  tn_settings_set (settings, "train.clip_norm", number, NULL);
  TnProgramRecipe recipe;
  tn_program_recipe_init (&recipe, model, settings, &error);
  TnGraph *graph = tn_program_training_graph (&recipe, net->batch, &error);
  g_assert_no_error (error);
  return graph;
}

static inline TnTensor *
random_tensor (GRand *rand, const TnValue *value, const char *name)
{
  TnTensor *tensor = tn_tensor_new (value->dtype, value->shape, NULL);
  for (int64_t e = 0; e < tn_tensor_count (tensor); e++)
    tn_tensor_set (tensor, e, strcmp (name, "lr") == 0 ? 0.05 : strcmp (name, "step") == 0 ? 1 : tn_dtype_is_float (value->dtype) ? g_rand_double_range (rand, -0.5, 0.5) : g_rand_int_range (rand, 0, 4));
  return tensor;
}

/* Runs @steps of both and compares parameters, states, losses and gradients. Returns the traffic's count. */
static inline int
compare (TnGraph *whole, const TnShardOptions *options, int steps, double tolerance)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnSharded) sharded = tn_shard_graph (whole, options, &error);
  g_assert_no_error (error);
  TnGraph *local = tn_sharded_graph (sharded);
  TnMesh *mesh = tn_sharded_mesh (sharded);
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  Ranks one = { .graph = whole, .mesh = NULL, .n = 1 }, many = { .graph = local, .mesh = mesh, .n = (int) mesh->n_ranks };
  g_autofree int *uses_one = tn_graph_use_counts (whole, &one.first), *uses_many = tn_graph_use_counts (local, &many.first);
  int n_one = one.first[tn_graph_n_nodes (whole) - 1] + 8, n_many = many.first[tn_graph_n_nodes (local) - 1] + 8;
  one.values = g_new0 (TnTensor **, 1);
  one.values[0] = g_new0 (TnTensor *, n_one);
  many.values = g_new0 (TnTensor **, many.n);
  for (int p = 0; p < many.n; p++)
    many.values[p] = g_new0 (TnTensor *, n_many);

  int n_parameters = tn_graph_n_parameters (whole);
  g_assert_cmpint (n_parameters, ==, tn_graph_n_parameters (local));
  g_autoptr (GPtrArray) state = g_ptr_array_new (); /* whole values of the parameters */
  for (int i = 0; i < n_parameters; i++)
    {
      const TnValue *value = tn_graph_parameter (whole, i);
      TnTensor *tensor = random_tensor (rand, value, value->node->name);
      for (int64_t e = 0; e < tn_tensor_count (tensor); e++)
        if (tn_node_parameter_info (value->node)->role == TN_ROLE_OPTIMIZER || g_str_has_suffix (value->node->name, "variance"))
          tn_tensor_set (tensor, e, fabs (tn_tensor_get (tensor, e)));
      g_ptr_array_add (state, tensor);
      one.values[0][one.first[value->node->id]] = tensor;
      const TnLayout *layout = tn_sharded_parameter (sharded, value->node->name);
      for (int p = 0; p < many.n; p++)
        {
          TnBox box;
          g_assert_true (tn_layout_slice (layout, &value->shape, mesh->ranks[p], &box, NULL));
          many.values[p][many.first[tn_graph_find_parameter (local, value->node->name)->node->id]] = contiguous_cut (tensor, &box);
        }
    }
  for (int step = 0; step < steps; step++)
    {
      for (int i = 0; i < tn_graph_n_inputs (whole); i++)
        {
          const TnValue *value = tn_graph_input (whole, i), *mine = tn_graph_input (local, i);
          TnTensor *tensor = random_tensor (rand, value, value->node->name);
          one.values[0][one.first[value->node->id]] = tensor;
          const TnLayout *layout = tn_sharded_input (sharded, value->node->name);
          for (int p = 0; p < many.n; p++)
            {
              TnBox box;
              g_assert_true (tn_layout_slice (layout, &value->shape, mesh->ranks[p], &box, NULL));
              many.values[p][many.first[mine->node->id]] = contiguous_cut (tensor, &box);
              many.first_sample[p] = i == 0 ? box.lo[0] : many.first_sample[p];
            }
        }
      run_ranks (&one);
      run_ranks (&many);
      for (int i = 0; i < tn_graph_n_outputs (whole); i++)
        {
          TnNamedValue a = tn_graph_output (whole, i), b = tn_graph_output (local, i);
          g_autofree TnTensor **parts = g_new0 (TnTensor *, many.n);
          for (int p = 0; p < many.n; p++)
            parts[p] = many.values[p][many.first[b.value->node->id] + b.value->index];
          check_close (a.name, one.values[0][one.first[a.value->node->id] + a.value->index], parts, tn_sharded_output (sharded, a.name), tolerance);
        }
      for (int i = 0; i < n_parameters; i++)
        {
          const char *name = tn_graph_parameter (whole, i)->node->name;
          g_autofree TnTensor **parts = g_new0 (TnTensor *, many.n);
          for (int p = 0; p < many.n; p++)
            parts[p] = many.values[p][many.first[tn_graph_find_parameter (local, name)->node->id]];
          check_close (name, state->pdata[i], parts, tn_sharded_parameter (sharded, name), tolerance);
        }
      clear_values (&one, FALSE);
      clear_values (&many, FALSE);
    }
  clear_values (&one, TRUE);
  clear_values (&many, TRUE);
  return tn_sharded_n_traffic (sharded);
}
