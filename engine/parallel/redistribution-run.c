/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/redistribution.h"

#include <string.h>

/* The moves on integers: plainly written, to check inference by. */

typedef struct
{
  int n;
  int64_t dims[TN_MOVE_MAX_DIMS];
} Dims;

static int64_t
span (const Dims *dims, int from, int to)
{
  int64_t n = 1;
  for (int d = from; d < to; d++)
    n *= dims->dims[d];
  return n;
}

/* Elements [start, start + n) of dimension @dim. */
static int64_t *
take (const int64_t *x, const Dims *dims, int dim, int64_t start, int64_t n)
{
  int64_t outer = span (dims, 0, dim), inner = span (dims, dim + 1, dims->n), size = dims->dims[dim];
  int64_t *out = g_new (int64_t, MAX (outer * n * inner, 1));
  for (int64_t o = 0; o < outer; o++)
    memcpy (out + o * n * inner, x + (o * size + start) * inner, sizeof *x * (size_t) (n * inner));
  return out;
}

/* @x of @dims into out, whose dimension @dim is @count times as long, as piece @at. */
static void
put (int64_t *out, const int64_t *x, const Dims *dims, int dim, int64_t at, int64_t count)
{
  int64_t outer = span (dims, 0, dim), chunk = span (dims, dim, dims->n);
  for (int64_t o = 0; o < outer; o++)
    memcpy (out + (o * count + at) * chunk, x + o * chunk, sizeof *x * (size_t) chunk);
}

static int64_t
reduce (TnPartial op, int64_t a, int64_t b)
{
  return op == TN_PARTIAL_MAX ? MAX (a, b) : op == TN_PARTIAL_MIN ? MIN (a, b) : op == TN_PARTIAL_PROD ? a * b : a + b;
}

/* What the rank at @place has after @move. */
static int64_t *
move_one (const TnRedistribution *self, const TnMove *move, const Dims *dims, int64_t *const *slices, int64_t place)
{
  const TnMesh *mesh = self->meshes[move->stage];
  int64_t own = tn_mesh_coordinate (mesh, place, move->axis), base = place - own * mesh->strides[move->axis], total = span (dims, 0, dims->n);
  int64_t piece = move->dim >= 0 ? dims->dims[move->dim] / move->n : 0;
  if (move->kind == TN_MOVE_SLICE)
    return take (slices[place], dims, move->dim, own * piece, piece);
  if (move->kind == TN_MOVE_ALL_GATHER || move->kind == TN_MOVE_ALL_TO_ALL)
    {
      gboolean gather = move->kind == TN_MOVE_ALL_GATHER;
      int64_t *out = g_new (int64_t, MAX (gather ? total * move->n : total, 1));
      Dims part = *dims;
      if (!gather)
        part.dims[move->dim] = piece;
      for (int64_t k = 0; k < move->n; k++)
        {
          const int64_t *peer = slices[base + k * mesh->strides[move->axis]];
          g_autofree int64_t *cut = gather ? NULL : take (peer, dims, move->dim, own * piece, piece);
          put (out, gather ? peer : cut, &part, gather ? move->dim : move->concat_dim, k, move->n);
        }
      return out;
    }
  int64_t *sum = g_memdup2 (slices[base], sizeof **slices * (size_t) MAX (total, 1));
  for (int64_t k = 1; k < move->n; k++)
    for (int64_t e = 0; e < total; e++)
      sum[e] = reduce (self->op, sum[e], slices[base + k * mesh->strides[move->axis]][e]);
  for (int64_t e = 0; self->op == TN_PARTIAL_MEAN && e < total; e++)
    sum[e] /= move->n;
  if (move->kind == TN_MOVE_ALL_REDUCE)
    return sum;
  int64_t *out = take (sum, dims, move->dim, own * piece, piece);
  g_free (sum);
  return out;
}

void
tn_redistribution_run (const TnRedistribution *self, int64_t **slices)
{
  const TnMesh *mesh = self->meshes[0];
  int64_t n = mesh->n_ranks;
  int stage = 0;
  for (int i = 0; i <= self->n_moves; i++)
    {
      const TnMove *move = i < self->n_moves ? &self->moves[i] : NULL;
      if (self->n_stages == 2 && stage == 0 && (move == NULL || move->stage == 1))
        {
          /* Every rank holds all now; places follow the other rank list. */
          g_autofree int64_t **moved = g_new (int64_t *, n);
          for (int64_t p = 0; p < n; p++)
            moved[p] = slices[tn_mesh_place (mesh, self->meshes[1]->ranks[p])];
          memcpy (slices, moved, sizeof *slices * (size_t) n);
          stage = 1;
        }
      if (move == NULL)
        return;
      Dims dims;
      dims.n = tn_redistribution_local_dims (self, i, dims.dims);
      g_autofree int64_t **next = g_new (int64_t *, n);
      for (int64_t p = 0; p < n; p++)
        next[p] = move_one (self, move, &dims, slices, p);
      for (int64_t p = 0; p < n; p++)
        {
          g_free (slices[p]);
          slices[p] = next[p];
        }
    }
}
