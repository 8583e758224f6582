/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/redistribution.h"
#include <inttypes.h>

#include <string.h>
#include "base/error.h"
#include "parallel/redistribution-private.h"

static const char *const kind_names[] = { "Slice", "AllGather", "AllToAll", "ReduceScatter", "AllReduce" };

const char *
tn_move_kind_name (TnMoveKind kind)
{
  return kind_names[kind];
}

void
tn_redistribution_clear (TnRedistribution *self)
{
  for (int i = 0; i < 2; i++)
    g_clear_pointer (&self->meshes[i], tn_mesh_unref);
  self->n_moves = self->n_stages = 0;
}

/* ---- expanding dimensions ---- */

/* The axes of a dimension that cut something: neither "None" nor of size 1. */
static int
cutting_axes (const TnLayout *layout, int d, int8_t axes[TN_MESH_MAX_AXES])
{
  int n = 0;
  for (int k = 0; k < layout->dims[d].n; k++)
    if (layout->dims[d].axes[k] >= 0 && layout->mesh->sizes[layout->dims[d].axes[k]] > 1)
      axes[n++] = layout->dims[d].axes[k];
  return n;
}

typedef enum
{
  EXPANDED,
  EXPAND_CUT,  /* an axis must be cut in two first: *axis into pieces with @part at the right */
  EXPAND_APART /* the two cannot be cut alike */
} Expansion;

/* Adds dimension @d, cut wherever one of the two layouts cuts it. */
static Expansion
expand_dim (TnRedistribution *self, int stage, const TnLayout *from, const TnLayout *to, int d, int64_t size, int *axis, int64_t *part)
{
  int8_t a[TN_MESH_MAX_AXES], b[TN_MESH_MAX_AXES];
  const TnMesh *mesh = self->meshes[stage];
  int n_a = from != NULL ? cutting_axes (from, d, a) : 0, n_b = to != NULL ? cutting_axes (to, d, b) : 0, i = 0, k = 0;
  int64_t rest = size;
  while (i < n_a || k < n_b)
    {
      int64_t x = i < n_a ? mesh->sizes[a[i]] : 0, y = k < n_b ? mesh->sizes[b[k]] : 0;
      gboolean innermost = i + 1 == n_a && k + 1 == n_b; /* holds the remainder, which both sizes divide */
      if (x > 0 && y > 0 && x != y && !innermost)
        {
          int64_t large = MAX (x, y), small = MIN (x, y);
          if (large % small != 0)
            return EXPAND_APART;
          *axis = x > y ? a[i] : b[k];
          *part = large / small;
          return EXPAND_CUT;
        }
      int n = self->n_dims[stage];
      if (n + 1 >= TN_MOVE_MAX_DIMS)
        return EXPAND_APART;
      self->dims[stage][n] = innermost ? rest : x > 0 ? x : y;
      self->from[stage][n] = x > 0 ? a[i] : -1;
      self->to[stage][n] = y > 0 ? b[k] : -1;
      rest = innermost ? 1 : rest / self->dims[stage][n];
      self->n_dims[stage]++;
      i++;
      k++;
    }
  /* The innermost piece keeps the remainder, as MindSpore does. */
  int n = self->n_dims[stage], first = n - MAX (n_a, n_b);
  if (first < n)
    self->dims[stage][n - 1] *= rest;
  else
    {
      if (n == TN_MOVE_MAX_DIMS)
        return EXPAND_APART;
      self->dims[stage][n] = size;
      self->from[stage][n] = self->to[stage][n] = -1;
      self->n_dims[stage]++;
    }
  return EXPANDED;
}

static Expansion
expand (TnRedistribution *self, int stage, const TnLayout *from, const TnLayout *to, const TnShape *shape, int *axis, int64_t *part)
{
  self->n_dims[stage] = 0;
  for (int d = 0; d < shape->n_dims; d++)
    {
      Expansion e = expand_dim (self, stage, from, to, d, shape->dims[d], axis, part);
      if (e != EXPANDED)
        return e;
    }
  return EXPANDED;
}

/* ---- the greedy list ---- */

void
tn_redistribution_add (TnRedistribution *self, TnMoveKind kind, int stage, int axis, int dim, int concat_dim)
{
  g_assert (self->n_moves < TN_REDISTRIBUTION_MAX_MOVES);
  self->moves[self->n_moves++] = (TnMove){ kind, stage, axis, dim, concat_dim, self->meshes[stage]->sizes[axis] };
}

typedef struct
{
  TnRedistribution *list;
  int stage, n;
  gboolean all_to_all;
  gboolean open[TN_MOVE_MAX_DIMS]; /* still in the map M */
  int8_t at[TN_MOVE_MAX_DIMS];     /* M[d] */
  const int8_t *in, *out;
} Greedy;

static gboolean
held (const Greedy *g, int axis)
{
  for (int d = 0; d < g->n; d++)
    if (g->open[d] && g->at[d] == axis)
      return TRUE;
  return FALSE;
}

static gboolean
wanted (const Greedy *g, int axis)
{
  for (int d = 0; d < g->n; d++)
    if (g->out[d] == axis)
      return TRUE;
  return FALSE;
}

static void
split_pass (Greedy *g)
{
  for (int d = 0; d < g->n; d++)
    if (g->open[d] && g->at[d] == g->out[d])
      g->open[d] = FALSE;
    else if (g->open[d] && g->at[d] == -1 && !held (g, g->out[d]))
      {
        tn_redistribution_add (g->list, TN_MOVE_SLICE, g->stage, g->out[d], d, -1);
        g->open[d] = FALSE;
      }
}

static void
permute_pass (Greedy *g)
{
  for (int d = 0; d < g->n; d++)
    if (g->open[d] && g->at[d] == g->out[d])
      g->open[d] = FALSE;
    else if (g->open[d] && g->at[d] == -1 && held (g, g->out[d]))
      {
        int c = 0;
        while (g->in[c] != g->out[d])
          c++;
        if (g->all_to_all)
          tn_redistribution_add (g->list, TN_MOVE_ALL_TO_ALL, g->stage, g->out[d], d, c);
        else
          {
            tn_redistribution_add (g->list, TN_MOVE_ALL_GATHER, g->stage, g->out[d], c, -1);
            tn_redistribution_add (g->list, TN_MOVE_SLICE, g->stage, g->out[d], d, -1);
          }
        g->open[d] = FALSE;
        g->at[c] = -1;
      }
}

static void
concat_pass (Greedy *g)
{
  for (int d = 0; d < g->n; d++)
    if (g->open[d] && g->at[d] != -1 && !wanted (g, g->at[d]))
      {
        tn_redistribution_add (g->list, TN_MOVE_ALL_GATHER, g->stage, g->at[d], d, -1);
        g->at[d] = -1;
        g->open[d] = g->out[d] != -1;
      }
}

static int
first_open (const Greedy *g)
{
  for (int d = 0; d < g->n; d++)
    if (g->open[d])
      return d;
  return -1;
}

void
tn_redistribution_add_greedy (TnRedistribution *self, int stage, const int8_t *in, const int8_t *out, gboolean all_to_all)
{
  Greedy g = { .list = self, .stage = stage, .n = self->n_dims[stage], .all_to_all = all_to_all, .in = in, .out = out };
  for (int d = 0; d < g.n; d++)
    {
      g.open[d] = TRUE;
      g.at[d] = in[d];
    }
  while (first_open (&g) >= 0)
    {
      int mark = self->n_moves, before;
      do
        {
          before = self->n_moves;
          split_pass (&g);
          for (int last = -1; last != self->n_moves;)
            {
              last = self->n_moves;
              permute_pass (&g);
            }
        }
      while (self->n_moves != before);
      concat_pass (&g);
      int d = first_open (&g);
      if (self->n_moves == mark && d >= 0)
        {
          tn_redistribution_add (self, TN_MOVE_ALL_GATHER, stage, g.at[d], d, -1); /* forced: a circle of axes */
          g.at[d] = -1;
        }
    }
}

/* Partial axes first: where the target splits a dimension by one that nothing splits now, the reduction scatters. */
static void
reduce_partial (TnRedistribution *self, uint32_t partial, int8_t *at)
{
  for (int i = 0; i < self->meshes[0]->n_axes; i++)
    {
      if (!(partial >> i & 1) || self->meshes[0]->sizes[i] == 1)
        continue;
      int dim = -1;
      for (int d = 0; d < self->n_dims[0]; d++)
        if (self->n_stages == 1 && self->to[0][d] == i && at[d] == -1)
          dim = d;
      tn_redistribution_add (self, dim >= 0 ? TN_MOVE_REDUCE_SCATTER : TN_MOVE_ALL_REDUCE, 0, i, dim, -1);
      if (dim >= 0)
        at[dim] = (int8_t) i;
    }
}

/* ---- inference ---- */

/* @mesh with axis @at cut into [rest, part]. */
static TnMesh *
cut_mesh (const TnMesh *mesh, int at, int64_t part, GError **error)
{
  int64_t sizes[TN_MESH_MAX_AXES + 1];
  int n = 0;
  for (int i = 0; i < mesh->n_axes; i++)
    {
      sizes[n++] = i == at ? mesh->sizes[i] / part : mesh->sizes[i];
      if (i == at)
        sizes[n++] = part;
    }
  return tn_mesh_new (n, sizes, NULL, mesh->n_ranks, mesh->plain ? NULL : mesh->ranks, error);
}

/* Both layouts on one mesh, with one expanded shape. FALSE where that cannot be (no error: two stages do it). */
static gboolean
expand_together (TnRedistribution *self, TnLayout **from, TnLayout **to, const TnShape *shape)
{
  if (!tn_mesh_equal ((*from)->mesh, (*to)->mesh))
    {
      g_autoptr (TnMesh) fine = tn_mesh_refine ((*from)->mesh, (*to)->mesh, NULL);
      TnLayout *a = fine != NULL ? tn_layout_refined (*from, fine, NULL) : NULL, *b = a != NULL ? tn_layout_refined (*to, fine, NULL) : NULL;
      if (b == NULL)
        {
          tn_layout_unref (a);
          return FALSE;
        }
      tn_layout_unref (*from);
      tn_layout_unref (*to);
      *from = a;
      *to = b;
    }
  for (;;)
    {
      int axis;
      int64_t part;
      g_clear_pointer (&self->meshes[0], tn_mesh_unref);
      self->meshes[0] = tn_mesh_ref ((*from)->mesh);
      Expansion e = expand (self, 0, *from, *to, shape, &axis, &part);
      if (e != EXPAND_CUT)
        return e == EXPANDED;
      g_autoptr (TnMesh) finer = cut_mesh (self->meshes[0], axis, part, NULL);
      TnLayout *a = finer != NULL ? tn_layout_refined (*from, finer, NULL) : NULL, *b = a != NULL ? tn_layout_refined (*to, finer, NULL) : NULL;
      if (b == NULL)
        {
          tn_layout_unref (a);
          return FALSE;
        }
      tn_layout_unref (*from);
      tn_layout_unref (*to);
      *from = a;
      *to = b;
    }
}

static gboolean
same_ranks_somehow (const TnMesh *a, const TnMesh *b)
{
  if (a->n_ranks != b->n_ranks)
    return FALSE;
  for (int64_t i = 0; i < a->n_ranks; i++)
    if (tn_mesh_place (b, a->ranks[i]) < 0)
      return FALSE;
  return TRUE;
}

/* Everything is gathered, then everything is cut. */
static void
expand_apart (TnRedistribution *self, const TnLayout *from, const TnLayout *to, const TnShape *shape)
{
  int axis;
  int64_t part;
  const TnLayout *layouts[] = { from, to };
  self->n_stages = 2;
  for (int i = 0; i < 2; i++)
    {
      g_clear_pointer (&self->meshes[i], tn_mesh_unref);
      self->meshes[i] = tn_mesh_ref (layouts[i]->mesh);
      expand (self, i, i == 0 ? from : NULL, i == 1 ? to : NULL, shape, &axis, &part);
    }
}

static gboolean
check_pair (const TnLayout *from, const TnLayout *to, const TnShape *shape, GError **error)
{
  TnShape local;
  if (!tn_layout_local_shape (from, shape, &local, error) || !tn_layout_local_shape (to, shape, &local, error))
    return FALSE;
  if (from->mesh != to->mesh && !same_ranks_somehow (from->mesh, to->mesh))
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_MESH, _ ("The two layouts are on different ranks: values can only be moved between the same ones."));
      return FALSE;
    }
  return TRUE;
}

gboolean
tn_redistribution_infer (TnRedistribution *self, const TnLayout *from_layout, const TnLayout *to_layout, const TnShape *shape,
                         TnRedistributionMethod method, GError **error)
{
  self->n_stages = 1;
  self->meshes[0] = self->meshes[1] = NULL;
  self->n_dims[0] = self->n_dims[1] = self->n_moves = 0;
  self->op = from_layout->op;
  self->elements = tn_shape_count (shape);
  if (!check_pair (from_layout, to_layout, shape, error))
    return FALSE;
  g_autoptr (TnLayout) from = tn_layout_ref ((TnLayout *) from_layout), to = tn_layout_ref ((TnLayout *) to_layout);
  gboolean together = expand_together (self, &from, &to, shape);
  if (!together)
    expand_apart (self, from, to, shape);
  if (to->partial != 0 && (!together || (to->partial & ~from->partial) != 0 || to->op != from->op))
    {
      g_set_error (error, TN_LAYOUT_ERROR, TN_LAYOUT_ERROR_PARTIAL, _ ("The target is partial along an axis along which the source is not."));
      tn_redistribution_clear (self);
      return FALSE;
    }
  int8_t at[TN_MOVE_MAX_DIMS];
  memcpy (at, self->from[0], sizeof at);
  reduce_partial (self, from->partial & ~to->partial, at);
  for (int stage = 0; stage < self->n_stages; stage++)
    tn_redistribution_add_greedy (self, stage, stage == 0 ? at : self->from[1], self->to[stage], method != TN_REDISTRIBUTION_GREEDY_NO_A2A);
  if (method == TN_REDISTRIBUTION_CHEAPEST && self->n_stages == 1 && self->n_moves > 1)
    tn_redistribution_cheapen (self, from->partial & ~to->partial);
  return TRUE;
}

/* ---- what it costs ---- */

int
tn_redistribution_local_dims (const TnRedistribution *self, int i, int64_t dims[TN_MOVE_MAX_DIMS])
{
  int stage = i < self->n_moves ? self->moves[i].stage : self->n_stages - 1;
  int8_t at[TN_MOVE_MAX_DIMS];
  memcpy (at, self->from[stage], sizeof at);
  for (int k = 0; k < i; k++)
    {
      const TnMove *move = &self->moves[k];
      if (move->stage != stage)
        continue;
      if (move->kind == TN_MOVE_ALL_TO_ALL)
        at[move->concat_dim] = -1;
      if (move->kind == TN_MOVE_ALL_GATHER)
        at[move->dim] = -1;
      else if (move->kind != TN_MOVE_ALL_REDUCE)
        at[move->dim] = (int8_t) move->axis;
    }
  for (int d = 0; d < self->n_dims[stage]; d++)
    dims[d] = self->dims[stage][d] / (at[d] >= 0 ? self->meshes[stage]->sizes[at[d]] : 1);
  return self->n_dims[stage];
}

static double
local_elements (const TnRedistribution *self, int i)
{
  int64_t dims[TN_MOVE_MAX_DIMS];
  double x = 1;
  for (int d = tn_redistribution_local_dims (self, i, dims) - 1; d >= 0; d--)
    x *= (double) dims[d];
  return x;
}

double
tn_redistribution_move_elements (const TnRedistribution *self, int i)
{
  return tn_move_elements (self->moves[i].kind, local_elements (self, i), (double) self->moves[i].n);
}

double
tn_redistribution_elements (const TnRedistribution *self)
{
  double sum = 0;
  for (int i = 0; i < self->n_moves; i++)
    sum += tn_redistribution_move_elements (self, i);
  return sum;
}

void
tn_redistribution_cost (const TnRedistribution *self, gboolean as_written, TnRedistributionCost *cost)
{
  *cost = (TnRedistributionCost){ 0 };
  for (int i = 0; i < self->n_moves; i++)
    {
      const TnMove *move = &self->moves[i];
      double x = local_elements (self, i), n = (double) move->n;
      int joined = move->kind == TN_MOVE_ALL_TO_ALL ? move->concat_dim : move->dim;
      double work = joined == 0 ? x : x * (1 + 2 * n);
      if (move->kind == TN_MOVE_ALL_TO_ALL)
        {
          cost->forward += 2 * x;
          cost->backward += 2 * x;
          cost->computation += work;
          cost->memory += work;
        }
      else if (move->kind == TN_MOVE_ALL_GATHER)
        {
          cost->forward += 0.5 * x * n;
          cost->backward += 0.5 * x;
          cost->computation += work;
          cost->memory += joined == 0 ? x * n : work;
        }
      if (move->kind == TN_MOVE_SLICE || as_written)
        {
          cost->computation += x;
          cost->memory += x;
        }
    }
}

char *
tn_redistribution_to_string (const TnRedistribution *self)
{
  if (self->n_moves == 0)
    return g_strdup (_ ("nothing"));
  GString *text = g_string_new (NULL);
  for (int i = 0; i < self->n_moves; i++)
    {
      const TnMove *m = &self->moves[i];
      g_string_append_printf (text, "%s%s(", i > 0 ? ", " : "", tn_move_kind_name (m->kind));
      if (m->kind == TN_MOVE_ALL_TO_ALL)
        g_string_append_printf (text, "split %d, concat %d, ", m->dim, m->concat_dim);
      else if (m->kind != TN_MOVE_ALL_REDUCE)
        g_string_append_printf (text, "dim %d, ", m->dim);
      g_string_append_printf (text, "%s x%" PRId64 ")", self->meshes[m->stage]->names[m->axis], m->n);
    }
  return g_string_free (text, FALSE);
}
