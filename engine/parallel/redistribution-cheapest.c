/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel/redistribution-private.h"

#include <string.h>

/* The list of moves with the fewest received elements: Dijkstra over where each axis is. A state gives every axis a
 * place: an expanded dimension, nowhere, or partial. States that already cost as much as the greedy list are dropped, and
 * so many states mean that the greedy list is kept. */
#define MAX_STATES 512
#define NOWHERE 15
#define PARTIAL 14
#define MAX_DIMS 14
#define MAX_AXES 12

typedef struct
{
  uint64_t key; /* 4 bits an axis */
  double cost;
  int before; /* state that it was reached from */
  TnMove move;
  gboolean done;
} State;

typedef struct
{
  const TnRedistribution *list;
  const TnMesh *mesh;
  int n_dims, n_axes;
  uint64_t target;
  double limit;
  int n;
  State states[MAX_STATES];
} Search;

static inline int
place_of (uint64_t key, int axis)
{
  return (int) (key >> (4 * axis) & 15);
}

static inline uint64_t
placed (uint64_t key, int axis, int place)
{
  return (key & ~((uint64_t) 15 << (4 * axis))) | (uint64_t) place << (4 * axis);
}

static double
elements_at (const Search *s, uint64_t key)
{
  double x = (double) s->list->elements;
  for (int i = 0; i < s->n_axes; i++)
    if (place_of (key, i) < MAX_DIMS)
      x /= (double) s->mesh->sizes[i];
  return x;
}

static void
reach (Search *s, int from, uint64_t key, TnMoveKind kind, int axis, int dim, int concat_dim)
{
  int64_t n = s->mesh->sizes[axis];
  double cost = s->states[from].cost + tn_move_elements (kind, elements_at (s, s->states[from].key), (double) n);
  if (cost >= s->limit && key != s->target)
    return;
  int i = 0;
  while (i < s->n && s->states[i].key != key)
    i++;
  if (i == MAX_STATES || (i < s->n && s->states[i].cost <= cost))
    return;
  if (i == s->n)
    s->n++;
  s->states[i] = (State){ key, cost, from, { kind, 0, axis, dim, concat_dim, n }, FALSE };
}

static void
expand_state (Search *s, int from)
{
  uint64_t key = s->states[from].key;
  uint32_t taken = 0;
  for (int i = 0; i < s->n_axes; i++)
    if (place_of (key, i) < MAX_DIMS)
      taken |= 1u << place_of (key, i);
  for (int i = 0; i < s->n_axes; i++)
    {
      int at = place_of (key, i), goal = place_of (s->target, i);
      if (s->mesh->sizes[i] == 1 || at == goal)
        {
          if (at == NOWHERE || at == PARTIAL || s->mesh->sizes[i] == 1)
            continue;
        }
      if (at == PARTIAL)
        reach (s, from, placed (key, i, NOWHERE), TN_MOVE_ALL_REDUCE, i, -1, -1);
      else if (at < MAX_DIMS)
        reach (s, from, placed (key, i, NOWHERE), TN_MOVE_ALL_GATHER, i, at, -1);
      for (int d = 0; d < s->n_dims; d++)
        {
          if (taken >> d & 1 || s->list->dims[0][d] % s->mesh->sizes[i] != 0 || (at == NOWHERE && d != goal))
            continue;
          TnMoveKind kind = at == PARTIAL ? TN_MOVE_REDUCE_SCATTER : at == NOWHERE ? TN_MOVE_SLICE : TN_MOVE_ALL_TO_ALL;
          reach (s, from, placed (key, i, d), kind, i, d, at < MAX_DIMS ? at : -1);
        }
    }
}

static int
nearest (const Search *s)
{
  int best = -1;
  for (int i = 0; i < s->n; i++)
    if (!s->states[i].done && (best < 0 || s->states[i].cost < s->states[best].cost))
      best = i;
  return best;
}

static uint64_t
key_of (const Search *s, const int8_t *map, uint32_t partial)
{
  uint64_t key = 0;
  for (int i = 0; i < s->n_axes; i++)
    key = placed (key, i, partial >> i & 1 ? PARTIAL : NOWHERE);
  for (int d = 0; d < s->n_dims; d++)
    if (map[d] >= 0)
      key = placed (key, map[d], d);
  return key;
}

void
tn_redistribution_cheapen (TnRedistribution *self, uint32_t partial)
{
  Search s; /* large, and its states are set as they are reached */
  s.list = self;
  s.mesh = self->meshes[0];
  s.n_dims = self->n_dims[0];
  s.n_axes = self->meshes[0]->n_axes;
  s.limit = tn_redistribution_elements (self);
  s.n = 0;
  int communicating = 0;
  for (int i = 0; i < self->n_moves; i++)
    communicating += self->moves[i].kind != TN_MOVE_SLICE;
  if (communicating == 0 || s.n_dims > MAX_DIMS || s.n_axes > MAX_AXES || s.limit <= 0)
    return;
  for (int i = 0; i < s.n_axes; i++)
    if (self->meshes[0]->sizes[i] == 1)
      partial &= ~(1u << i);
  s.target = key_of (&s, self->to[0], 0);
  s.states[s.n++] = (State){ key_of (&s, self->from[0], partial), 0, -1, { 0 }, FALSE };
  int at;
  while ((at = nearest (&s)) >= 0 && s.states[at].key != s.target && s.states[at].cost < s.limit)
    {
      s.states[at].done = TRUE;
      expand_state (&s, at);
    }
  if (at < 0 || s.states[at].key != s.target || s.states[at].cost >= s.limit * (1 - 1e-12))
    return;
  int n = 0;
  for (int i = at; s.states[i].before >= 0; i = s.states[i].before)
    n++;
  if (n > TN_REDISTRIBUTION_MAX_MOVES)
    return;
  self->n_moves = n;
  for (int i = at; s.states[i].before >= 0; i = s.states[i].before)
    self->moves[--n] = s.states[i].move;
}
