/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "draw/canvas-cairo.h"
#include "draw/mesh-picture.h"
#include "draw/rank-bars.h"
#include "draw/shard-style.h"
#include "draw/tensor-picture.h"
#include "draw/traffic-matrix.h"
#include "recorder.h"

static TnMesh *
mesh_of (const char *text)
{
  g_autoptr (GError) error = NULL;
  TnMesh *mesh = tn_mesh_parse (text, -1, &error);
  g_assert_no_error (error);
  return mesh;
}

/* The case of the specification: ranks 0 to 7 as dp 2, sp 2, mp 2; a tensor of 8 rows and 16 columns. */
static void
ranks_hold_the_specified_ranges (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TnMesh) mesh = mesh_of ("dp=2,sp=2,mp=2");
  g_autoptr (TnLayout) layout = tn_layout_parse (mesh, "(dp, mp)", &error);
  g_autoptr (TnTensorPicture) picture = tn_tensor_picture_new (layout, NULL, &(TnShape){ 2, { 8, 16 } }, 4, &error);
  static const char *const expected[] = { "[0:4, 0:8)", "[0:4, 8:16)", "[0:4, 0:8)", "[0:4, 8:16)", "[4:8, 0:8)", "[4:8, 8:16)", "[4:8, 0:8)", "[4:8, 8:16)" };
  g_assert_no_error (error);
  g_assert_cmpint (tn_tensor_picture_n_tiles (picture), ==, 4);
  for (int rank = 0; rank < 8; rank++)
    {
      g_autofree char *range = tn_tensor_picture_range (picture, tn_tensor_picture_tile_of (picture, rank));
      g_assert_cmpstr (range, ==, expected[rank]);
    }
  g_autofree char *owners = tn_tensor_picture_owners_text (picture, 0);
  g_assert_cmpstr (owners, ==, "ranks 0, 2");
  g_assert_cmpint (tn_tensor_picture_tile_bytes (picture), ==, 4 * 8 * 4);
}

static void
tiles_are_hit_where_they_are_drawn (void)
{
  g_autoptr (TnMesh) mesh = mesh_of ("a=3,b=5,c=2");
  g_autoptr (TnLayout) layout = tn_layout_parse (mesh, "(a, None, (b, c))", NULL);
  g_autoptr (TnTensorPicture) picture = tn_tensor_picture_new (layout, NULL, &(TnShape){ 3, { 9, 4, 20 } }, 2, NULL);
  tn_tensor_picture_place (picture, &(TnRect){ 7, 11, 500, 320 });
  g_assert_cmpint (tn_tensor_picture_n_tiles (picture), ==, 30);
  for (int64_t tile = 0; tile < 30; tile++)
    {
      TnRect r = tn_tensor_picture_tile (picture, tile);
      g_assert_cmpint (tn_tensor_picture_hit (picture, r.x + 0.5, r.y + 0.5), ==, tile);
      g_assert_cmpint (tn_tensor_picture_hit (picture, r.x + r.width - 0.5, r.y + r.height - 0.5), ==, tile);
    }
  g_assert_cmpint (tn_tensor_picture_hit (picture, picture->frame.x - 1, picture->frame.y + 1), ==, -1);
}

/* Every element has the owners that tn_layout_slice() gives it: by brute force over ranks. */
static void
owners_are_those_of_the_slices (void)
{
  g_autoptr (TnMesh) mesh = mesh_of ("dp=2,sp=3,mp=2");
  g_autoptr (TnLayout) layout = tn_layout_parse (mesh, "(mp, dp)", NULL);
  TnShape shape = TN_SHAPE (6, 4);
  g_autoptr (TnTensorPicture) picture = tn_tensor_picture_new (layout, NULL, &shape, 4, NULL);
  for (int64_t tile = 0; tile < tn_tensor_picture_n_tiles (picture); tile++)
    {
      TnBox box, own;
      int64_t n, found = 0;
      g_autofree int64_t *owners = tn_tensor_picture_owners (picture, tile, &n);
      tn_tensor_picture_box (picture, tile, &box);
      for (int64_t rank = 0; rank < 12; rank++)
        if (tn_layout_slice (layout, &shape, rank, &own, NULL) && tn_box_equal (&box, &own))
          g_assert_cmpint (owners[found++], ==, rank);
      g_assert_cmpint (found, ==, n);
    }
}

static void
large_tensors_stay_in_the_budget (void)
{
  static const char *const meshes[] = { "a=4096", "a=64,b=64", "a=40,b=50", "a=2,b=2" };
  for (gsize i = 0; i < G_N_ELEMENTS (meshes); i++)
    {
      g_autoptr (TnMesh) mesh = mesh_of (meshes[i]);
      g_autoptr (TnLayout) layout = tn_layout_parse (mesh, mesh->n_axes == 1 ? "(a, None)" : "(a, b)", NULL);
      g_autoptr (TnTensorPicture) picture = tn_tensor_picture_new (layout, NULL, &(TnShape){ 2, { 4096 * 50, 6400 } }, 4, NULL);
      g_autoptr (TnRecorder) recorder = tn_recorder_new (NULL, 1, FALSE);
      tn_tensor_picture_place (picture, &(TnRect){ 0, 0, 900, 700 });
      tn_tensor_picture_draw (picture, &recorder->canvas, &(TnRect){ 0, 0, 900, 700 }, tn_palette_get (TN_PALETTE_LIGHT), 3);
      g_assert_cmpuint (recorder->canvas.nodes, <=, 8000);
      g_assert_cmpuint (recorder->canvas.labels, <=, 250);
      g_assert_cmpuint (recorder->images, ==, tn_tensor_picture_n_tiles (picture) > TN_TENSOR_PICTURE_MAX_TILES ? 1 : 0);
    }
}

static void
mesh_cells_are_hit_where_they_are_drawn (void)
{
  static const char *const meshes[] = { "dp=8", "dp=4,tp=2", "a=2,b=3,c=4", "a=2,b=2,c=2,d=3", "dp=16384", "dp=64,tp=64", "pp=8,dp=64,tp=32", "a=4999,b=3" };
  for (gsize i = 0; i < G_N_ELEMENTS (meshes); i++)
    {
      g_autoptr (TnMesh) mesh = mesh_of (meshes[i]);
      g_autoptr (TnRecorder) recorder = tn_recorder_new (NULL, 1, FALSE);
      TnMeshPicture picture;
      tn_mesh_picture_init (&picture, mesh, &(TnRect){ 5, 9, 800, 500 });
      g_assert_cmpint (picture.n_cells * picture.block, ==, mesh->n_ranks);
      g_assert_cmpint (picture.n_cells, <=, TN_MESH_PICTURE_MAX_CELLS);
      for (int64_t cell = 0; cell < picture.n_cells; cell++)
        {
          TnRect r = tn_mesh_picture_cell (&picture, cell);
          g_assert_cmpint (tn_mesh_picture_hit (&picture, r.x + r.width / 2, r.y + r.height / 2), ==, cell * picture.block);
          g_assert_true (r.x >= 4.99 && r.y >= 8.99 && r.x + r.width < 805.01 && r.y + r.height < 509.01);
        }
      tn_mesh_picture_draw (&picture, &recorder->canvas, &(TnRect){ 0, 0, 820, 520 }, tn_palette_get (TN_PALETTE_DARK), 1, 0, 0);
      g_assert_cmpuint (recorder->canvas.nodes, <=, 8000);
      g_assert_cmpuint (recorder->canvas.labels, <=, 250);
    }
}

/* Whatever the algorithm, each rank receives what the links say. */
static void
traffic_adds_up_for_every_receiver (void)
{
  g_autoptr (TnMesh) mesh = mesh_of ("dp=3,tp=4");
  const TnTrafficLinks links[] = { { TN_MOVE_ALL_REDUCE, mesh, 1, 120 }, { TN_MOVE_ALL_TO_ALL, mesh, 2, 30 }, { TN_MOVE_ALL_GATHER, mesh, 3, 7 } };
  g_autoptr (TnTrafficMatrix) matrix = tn_traffic_matrix_new (mesh, links, 3);
  for (int to = 0; to < 12; to++)
    {
      double received = 0, sent = 0;
      for (int from = 0; from < 12; from++)
        {
          received += matrix->bytes[from * 12 + to];
          sent += matrix->bytes[to * 12 + from];
        }
      g_assert_cmpfloat_with_epsilon (received, 157, 1e-9);
      g_assert_cmpfloat_with_epsilon (sent, 157, 1e-9);
      g_assert_cmpfloat (matrix->bytes[to * 12 + to], ==, 0);
    }
  tn_traffic_matrix_place (matrix, &(TnRect){ 3, 4, 300, 300 });
  for (int64_t cell = 0; cell < 144; cell++)
    {
      TnRect r = tn_traffic_matrix_cell (matrix, cell);
      g_assert_cmpint (tn_traffic_matrix_hit (matrix, r.x + r.width / 2, r.y + r.height / 2), ==, cell);
    }
}

static void
many_ranks_become_a_strip_and_the_fullest (void)
{
  enum { N = 1000 };
  g_autofree TnRankBytes *ranks = g_new0 (TnRankBytes, N);
  g_auto (TnRankBars) bars = { 0 };
  g_autoptr (TnRecorder) recorder = tn_recorder_new (NULL, 1, FALSE);
  for (int i = 0; i < N; i++)
    ranks[i] = (TnRankBytes){ i, { i * 37 % N, 1, 2, 3, 4 } };
  tn_rank_bars_init (&bars, ranks, N, 900);
  g_assert_cmpint (bars.n_bars, ==, 10);
  for (int bar = 0; bar < 10; bar++)
    g_assert_cmpfloat (ranks[bars.bars[bar]].parts[0], ==, N - 1 - bar);
  g_assert_cmpfloat (bars.least, ==, 10);
  g_assert_cmpfloat (bars.most, ==, N - 1 + 10);
  tn_rank_bars_place (&bars, &(TnRect){ 0, 0, 600, 300 });
  for (int bar = 0; bar < 10; bar++)
    {
      TnRect row = tn_rank_bars_row (&bars, bar);
      g_assert_cmpint (tn_rank_bars_hit (&bars, 300, row.y + row.height / 2), ==, bars.bars[bar]);
    }
  tn_rank_bars_draw (&bars, &recorder->canvas, &(TnRect){ 0, 0, 600, 300 }, tn_palette_get (TN_PALETTE_LIGHT), 5);
  g_assert_cmpuint (recorder->canvas.nodes, <=, 8000);
}

/* Points of a hatch stay inside its tile: tn_draw_hatch() needs no clip. */
static void
hatches_stay_inside (void)
{
  for (TnHatch hatch = TN_HATCH_RISING; hatch < TN_N_HATCHES; hatch++)
    {
      g_autoptr (TnRecorder) recorder = tn_recorder_new (NULL, 1, FALSE);
      TnRect rect = { 10, 20, 90, 33 };
      tn_draw_hatch (&recorder->canvas, &rect, hatch, 7, &(TnStroke){ 1, { 0, 0, 0, 1 }, NULL, 0 });
      g_assert_cmpuint (recorder->points->len, >, 4);
      for (guint i = 0; i < recorder->points->len; i++)
        {
          TnPoint p = g_array_index (recorder->points, TnPoint, i);
          if (!isnan (p.x))
            g_assert_true (p.x >= 10 && p.x <= 100 && p.y >= 20 && p.y <= 53);
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/draw/sharding/ranks-hold-the-specified-ranges", ranks_hold_the_specified_ranges);
  g_test_add_func ("/draw/sharding/tiles-are-hit-where-they-are-drawn", tiles_are_hit_where_they_are_drawn);
  g_test_add_func ("/draw/sharding/owners-are-those-of-the-slices", owners_are_those_of_the_slices);
  g_test_add_func ("/draw/sharding/large-tensors-stay-in-the-budget", large_tensors_stay_in_the_budget);
  g_test_add_func ("/draw/sharding/mesh-cells-are-hit-where-they-are-drawn", mesh_cells_are_hit_where_they_are_drawn);
  g_test_add_func ("/draw/sharding/traffic-adds-up-for-every-receiver", traffic_adds_up_for_every_receiver);
  g_test_add_func ("/draw/sharding/many-ranks-become-a-strip-and-the-fullest", many_ranks_become_a_strip_and_the_fullest);
  g_test_add_func ("/draw/sharding/hatches-stay-inside", hatches_stay_inside);
  return g_test_run ();
}
