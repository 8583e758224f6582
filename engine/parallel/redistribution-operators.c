/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/redistribution.h"

#include <inttypes.h>
#include <string.h>
#include "base/error.h"

static const char *const kind_names[] = { "Reshape", "AllConcat", "StridedSlice" };

const char *
tn_transform_kind_name (TnTransformKind kind)
{
  return kind_names[kind];
}

static void
free_operator (gpointer data)
{
  TnTransformOperator *op = data;
  g_free (op->args);
  g_free (op);
}

static TnTransformOperator *
add (GPtrArray *list, TnTransformKind kind, int n)
{
  TnTransformOperator *op = g_new0 (TnTransformOperator, 1);
  op->kind = kind;
  op->n = n;
  op->args = g_new0 (int64_t, n + 1);
  g_ptr_array_add (list, op);
  return op;
}

static gboolean
same_dims (const int64_t *a, int n_a, const int64_t *b, int n_b)
{
  return n_a == n_b && memcmp (a, b, sizeof *a * (size_t) n_a) == 0;
}

static void
add_reshape (GPtrArray *list, const int64_t *now, int n_now, const int64_t *dims, int n)
{
  if (same_dims (now, n_now, dims, n))
    return;
  TnTransformOperator *op = add (list, TN_TRANSFORM_RESHAPE, n);
  memcpy (op->args, dims, sizeof *dims * (size_t) n);
}

/* Local dimensions before move @i without those that are 1 as a whole (one stays where all are); @place: where an expanded
 * one went. */
static int
squeezed (const TnRedistribution *self, int i, int stage, int64_t *dims, int *place)
{
  int64_t all[TN_MOVE_MAX_DIMS];
  int n = 0, n_all = tn_redistribution_local_dims (self, i, all);
  for (int d = 0; d < n_all; d++)
    {
      place[d] = n;
      if (self->dims[stage][d] != 1)
        dims[n++] = all[d];
    }
  if (n == 0 && n_all > 0)
    dims[n++] = 1;
  return n;
}

static gboolean
check_list (const TnRedistribution *self, int64_t rank, GError **error)
{
  if (tn_mesh_place (self->meshes[0], rank) < 0)
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_RANK, _ ("Rank %" PRId64 " is not in the mesh."), rank);
      return FALSE;
    }
  for (int i = 0; i < self->n_moves; i++)
    if (self->moves[i].kind != TN_MOVE_SLICE && self->moves[i].kind != TN_MOVE_ALL_GATHER)
      {
        g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _ ("%s is no operator on files: infer the list without all-to-all and without partial values."), tn_move_kind_name (self->moves[i].kind));
        return FALSE;
      }
  return TRUE;
}

static void
add_move (GPtrArray *list, const TnRedistribution *self, const TnMove *move, const int64_t *dims, int n, int dim, int64_t rank)
{
  int64_t index;
  g_autofree int64_t *group = tn_mesh_group (self->meshes[move->stage], 1u << move->axis, rank, &index);
  if (move->kind == TN_MOVE_ALL_GATHER)
    {
      TnTransformOperator *op = add (list, TN_TRANSFORM_ALL_CONCAT, (int) move->n + 1);
      memcpy (op->args, group, sizeof *group * (size_t) move->n);
      op->args[move->n] = dim;
      return;
    }
  TnTransformOperator *op = add (list, TN_TRANSFORM_STRIDED_SLICE, 3 * n);
  for (int d = 0; d < n; d++)
    {
      int64_t piece = d == dim ? dims[d] / move->n : dims[d];
      op->args[d] = d == dim ? index * piece : 0;
      op->args[n + d] = op->args[d] + piece;
      op->args[2 * n + d] = 1;
    }
}

GPtrArray *
tn_redistribution_operators (const TnRedistribution *self, const TnLayout *from, const TnLayout *to, const TnShape *shape, int64_t rank, GError **error)
{
  TnShape first, last;
  if (!check_list (self, rank, error) || !tn_layout_local_shape (from, shape, &first, error) || !tn_layout_local_shape (to, shape, &last, error))
    return NULL;
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (free_operator);
  int64_t dims[TN_MOVE_MAX_DIMS], now[TN_MOVE_MAX_DIMS];
  int place[TN_MOVE_MAX_DIMS], n = 0, n_now = first.n_dims;
  memcpy (now, first.dims, sizeof *now * (size_t) n_now);
  for (int i = 0; i < self->n_moves; i++)
    {
      const TnMove *move = &self->moves[i];
      n = squeezed (self, i, move->stage, dims, place);
      add_reshape (list, now, n_now, dims, n);
      add_move (list, self, move, dims, n, place[move->dim], rank);
      int d = place[move->dim];
      dims[d] = move->kind == TN_MOVE_SLICE ? dims[d] / move->n : dims[d] * move->n;
      memcpy (now, dims, sizeof *now * (size_t) n);
      n_now = n;
    }
  n = squeezed (self, self->n_moves, self->n_stages - 1, dims, place);
  add_reshape (list, now, n_now, dims, n);
  add_reshape (list, dims, n, last.dims, last.n_dims);
  return g_steal_pointer (&list);
}

static int
compare_int64 (gconstpointer a, gconstpointer b)
{
  int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
  return (x > y) - (x < y);
}

GArray *
tn_redistribution_operator_ranks (const TnRedistribution *self, int64_t rank, GError **error)
{
  if (!check_list (self, rank, error))
    return NULL;
  g_autoptr (GHashTable) seen = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_autoptr (GArray) ranks = g_array_sized_new (FALSE, FALSE, sizeof (int64_t), (guint) self->meshes[0]->n_ranks); /* never moves: @seen points into it */
  g_array_append_val (ranks, rank);
  g_hash_table_add (seen, &g_array_index (ranks, int64_t, 0));
  for (int i = self->n_moves - 1; i >= 0; i--)
    {
      const TnMove *move = &self->moves[i];
      for (guint k = 0, n = ranks->len; move->kind == TN_MOVE_ALL_GATHER && k < n; k++)
        {
          g_autofree int64_t *group = tn_mesh_group (self->meshes[move->stage], 1u << move->axis, g_array_index (ranks, int64_t, k), NULL);
          for (int64_t g = 0; g < move->n; g++)
            if (!g_hash_table_contains (seen, &group[g]))
              {
                g_array_append_val (ranks, group[g]);
                g_hash_table_add (seen, &g_array_index (ranks, int64_t, ranks->len - 1));
              }
        }
    }
  g_array_sort (ranks, compare_int64);
  return g_steal_pointer (&ranks);
}
