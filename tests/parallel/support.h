/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/truth.h"
#include "parallel/layout.h"
#include <string.h>

/* Files below mindspore/strategy and torch/sharding of the truth folder whose cases have @key. Calls @check for each case. */
static inline int
for_each_case (const char *key, void (*check) (JsonObject *c))
{
  int n = 0;
  g_autofree char *folder = truth_folder ();
  const char *const rooms[] = { "mindspore/strategy", "torch/sharding" };
  for (int room = 0; folder != NULL && room < 2; room++)
    {
      g_autofree char *path = g_build_filename (folder, rooms[room], NULL);
      g_autoptr (GPtrArray) files = truth_files (path);
      for (guint i = 0; i < files->len; i++)
        {
          g_autoptr (JsonNode) root = truth_load (files->pdata[i]);
          if (root == NULL || !json_object_has_member (json_node_get_object (root), "cases"))
            continue;
          JsonArray *cases = json_object_get_array_member (json_node_get_object (root), "cases");
          for (guint k = 0; k < json_array_get_length (cases); k++)
            {
              JsonObject *c = json_array_get_object_element (cases, k);
              if (json_object_has_member (c, key))
                {
                  check (c);
                  n++;
                }
            }
        }
    }
  return n;
}

static inline TnShape
json_shape (JsonObject *object, const char *key)
{
  JsonArray *array = json_object_get_array_member (object, key);
  TnShape shape = { .n_dims = (int) json_array_get_length (array) };
  for (int d = 0; d < shape.n_dims; d++)
    shape.dims[d] = json_array_get_int_element (array, (guint) d);
  return shape;
}

/* "device_matrix" and a flat "tensor_map" as layout. */
static inline TnLayout *
json_layout (JsonObject *c, const char *matrix_key, const char *map_key)
{
  TnShape matrix = json_shape (c, matrix_key), map = json_shape (c, map_key);
  g_autoptr (TnMesh) mesh = tn_mesh_new (matrix.n_dims, matrix.dims, NULL, -1, NULL, NULL);
  return mesh != NULL ? tn_layout_new_from_map (mesh, map.n_dims, map.dims, NULL) : NULL;
}

/* A mesh of @n_axes axes of random sizes up to 4, at most @most ranks, its rank list shuffled half of the time. */
static inline TnMesh *
random_mesh (GRand *rand, int most)
{
  int64_t sizes[4], product = 1;
  int n = g_rand_int_range (rand, 1, 5);
  for (int i = 0; i < n; i++)
    {
      do
        sizes[i] = g_rand_int_range (rand, 1, 5);
      while (product * sizes[i] > most);
      product *= sizes[i];
    }
  int64_t *ranks = g_new (int64_t, product);
  for (int64_t i = 0; i < product; i++)
    ranks[i] = i * 3 + 1;
  for (int64_t i = product - 1; i > 0; i--)
    {
      int64_t k = g_rand_int_range (rand, 0, (gint32) i + 1), t = ranks[i];
      ranks[i] = ranks[k];
      ranks[k] = t;
    }
  TnMesh *mesh = tn_mesh_new (n, sizes, NULL, product, g_rand_boolean (rand) ? ranks : NULL, NULL);
  if (mesh == NULL)
    mesh = tn_mesh_new (n, sizes, NULL, -1, NULL, NULL);
  g_free (ranks);
  return mesh;
}

/* A random layout of a tensor of @n_dims; each axis splits some dimension, or none. */
static inline TnLayout *
random_layout (GRand *rand, TnMesh *mesh, int n_dims)
{
  TnDimMap dims[TN_MAX_DIMS] = { 0 };
  int order[TN_MESH_MAX_AXES];
  for (int i = 0; i < mesh->n_axes; i++)
    order[i] = i;
  for (int i = mesh->n_axes - 1; i > 0; i--)
    {
      int k = g_rand_int_range (rand, 0, i + 1), t = order[i];
      order[i] = order[k];
      order[k] = t;
    }
  for (int i = 0; i < mesh->n_axes; i++)
    {
      int d = g_rand_int_range (rand, -1, n_dims);
      if (d >= 0)
        dims[d].axes[dims[d].n++] = (int8_t) order[i];
    }
  return tn_layout_new (mesh, n_dims, dims, 0, TN_PARTIAL_NONE, NULL);
}
