/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/threads.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/pool.h"
#include "comm/reduce.h"

#define SPIN_NS 30000
#define PAUSES_PER_CLOCK 16
#define LOOK_NS 100000000 /* how often a blocked member looks whether one has failed */
#define MAX_RANKS 4096

/* What all groups that were split off one another share. */
typedef struct
{
  _Atomic int references;
  int n_cores, n_threads;
  gboolean limited; /* more ranks than cores: permits are needed */

  pthread_mutex_t mutex; /* for what follows */
  pthread_cond_t free_permit;
  int permits;
  _Atomic gboolean failed;
  int failed_rank;
  char *reason;
} World;

/* What a member shows the others. Written before a meeting, read after it. */
typedef struct
{
  const void *in;
  void *out;
  size_t bytes;
  int what, detail;
} Slot;

/* One direction between two members: the sender lays down where its data are and waits until they were fetched. */
typedef struct
{
  _Atomic (const void *) data;
  size_t bytes;
} Letter;

typedef struct
{
  _Atomic int references;
  World *world;
  int size;
  int *world_ranks; /* [size] */
  Slot *slots;
  Letter *letters; /* [from][to] */
  _Alignas (64) _Atomic uint64_t meeting; /* its number << 32 | members that have arrived */
  _Alignas (64) _Atomic int reading; /* members that read others' buffers */
  _Atomic int left;         /* members that have gone */
  _Atomic int first_left;   /* one of them */
  _Atomic int sleeping;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
} Group;

typedef struct
{
  TnComm base;
  Group *group;
} Member;

static _Thread_local World *permit_of; /* whose permit this thread holds */

static const TnCommTable table;

/* ---- permits ---- */

static void
take_permit (World *world)
{
  if (!world->limited)
    return;
  pthread_mutex_lock (&world->mutex);
  while (world->permits == 0)
    pthread_cond_wait (&world->free_permit, &world->mutex);
  world->permits--;
  pthread_mutex_unlock (&world->mutex);
  permit_of = world;
}

static void
give_permit_back (World *world)
{
  if (permit_of != world)
    return;
  permit_of = NULL;
  pthread_mutex_lock (&world->mutex);
  world->permits++;
  pthread_cond_signal (&world->free_permit);
  pthread_mutex_unlock (&world->mutex);
}

void
tn_comm_threads_enter (TnComm *comm)
{
  if (comm->table->free == table.free && permit_of == NULL)
    take_permit (((Member *) comm)->group->world);
}

gboolean
tn_comm_threads_leave (TnComm *comm)
{
  gboolean had = permit_of != NULL;
  if (comm->table->free == table.free)
    give_permit_back (((Member *) comm)->group->world);
  return had;
}

/* ---- waiting ---- */

static int64_t
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void
pause_briefly (void)
{
#if defined(__x86_64__)
  __builtin_ia32_pause ();
#elif defined(__aarch64__)
  __asm__ volatile ("yield");
#endif
}

/* What a wait is for. */
typedef gboolean (*Ready) (Member *self, uintptr_t what);

static gboolean
spin (Member *self, Ready ready, uintptr_t what)
{
  World *world = self->group->world;
  if (world->n_threads > world->n_cores)
    return ready (self, what);
  int64_t end = now_ns () + SPIN_NS;
  do
    for (int i = 0; i < PAUSES_PER_CLOCK; i++)
      {
        if (ready (self, what))
          return TRUE;
        pause_briefly ();
      }
  while (now_ns () < end);
  return FALSE;
}

static gboolean
set_failure (Member *self, GError **error)
{
  Group *group = self->group;
  World *world = group->world;
  pthread_mutex_lock (&world->mutex);
  if (world->reason != NULL)
    g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("Rank %d stopped: %s"), world->failed_rank, world->reason);
  else
    g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("Rank %d went away while rank %d waited for it."),
                 group->world_ranks[atomic_load (&group->first_left)], group->world_ranks[self->base.rank]);
  pthread_mutex_unlock (&world->mutex);
  return FALSE;
}

static gboolean
is_hopeless (Member *self)
{
  return atomic_load (&self->group->world->failed) || atomic_load (&self->group->left) > 0;
}

/* The order matters: a sleeper counts itself, then looks again; a waker changes what is looked at, then looks for sleepers. */
static void
block (Member *self, Ready ready, uintptr_t what)
{
  Group *group = self->group;
  pthread_mutex_lock (&group->mutex);
  atomic_fetch_add (&group->sleeping, 1);
  while (!ready (self, what) && !is_hopeless (self))
    {
      int64_t until = now_ns () + LOOK_NS;
      struct timespec t = { until / 1000000000, until % 1000000000 };
      pthread_cond_timedwait (&group->changed, &group->mutex, &t);
    }
  atomic_fetch_sub (&group->sleeping, 1);
  pthread_mutex_unlock (&group->mutex);
}

static gboolean
wait_until (Member *self, Ready ready, uintptr_t what, GError **error)
{
  World *world = self->group->world;
  if (spin (self, ready, what))
    return TRUE;
  gboolean had_permit = permit_of == world;
  give_permit_back (world);
  block (self, ready, what);
  if (had_permit)
    take_permit (world);
  /* What came before the failure counts. */
  return ready (self, what) || set_failure (self, error);
}

static void
wake (Group *group)
{
  if (atomic_load (&group->sleeping) == 0)
    return;
  pthread_mutex_lock (&group->mutex);
  pthread_cond_broadcast (&group->changed);
  pthread_mutex_unlock (&group->mutex);
}

#define ARRIVED(meeting) ((uint32_t) (meeting))
#define NUMBER(meeting) ((uint32_t) ((meeting) >> 32))

static gboolean
is_past (Member *self, uintptr_t number)
{
  return NUMBER (atomic_load (&self->group->meeting)) != (uint32_t) number;
}

/* A member that gives up must not be counted on: others would read buffers that are gone. FALSE: the meeting has come about
 * after all. */
static gboolean
withdraw (Member *self, uint32_t number)
{
  Group *group = self->group;
  uint64_t meeting = atomic_load (&group->meeting);
  for (;;)
    if (NUMBER (meeting) != number)
      return FALSE;
    else if (ARRIVED (meeting) == (uint32_t) group->size) /* the last one is about to close it */
      meeting = atomic_load (&group->meeting);
    else if (atomic_compare_exchange_weak (&group->meeting, &meeting, meeting - 1))
      return TRUE;
}

/* All members have come here. @reads: each will read what the others have shown until it calls finish(). */
static gboolean
meet (Member *self, gboolean reads, GError **error)
{
  Group *group = self->group;
  if (is_hopeless (self))
    return set_failure (self, error);
  uint64_t meeting = atomic_fetch_add (&group->meeting, 1) + 1;
  if (ARRIVED (meeting) == (uint32_t) group->size)
    {
      atomic_store (&group->reading, reads ? group->size : 0);
      atomic_store (&group->meeting, (uint64_t) (NUMBER (meeting) + 1) << 32);
      wake (group);
      return TRUE;
    }
  GError *failure = NULL;
  if (wait_until (self, is_past, NUMBER (meeting), &failure))
    return TRUE;
  if (!withdraw (self, NUMBER (meeting)))
    {
      g_error_free (failure);
      return TRUE;
    }
  g_propagate_error (error, failure);
  return FALSE;
}

/* This member has read what it wanted. Its own buffers are its own again when nobody reads them any more, which even a failure
 * has to wait for: readers do not wait for anybody, so that is soon. */
static gboolean
finish (Member *self, GError **error)
{
  Group *group = self->group;
  atomic_fetch_sub (&group->reading, 1);
  if (meet (self, FALSE, error))
    return TRUE;
  gboolean had_permit = permit_of == group->world;
  give_permit_back (group->world);
  while (atomic_load (&group->reading) > 0)
    g_usleep (50);
  if (had_permit)
    take_permit (group->world);
  return FALSE;
}

/* ---- collectives ---- */

enum
{
  ALL_REDUCE = 1,
  ALL_GATHER,
  REDUCE_SCATTER,
  ALL_TO_ALL,
  BROADCAST,
  BARRIER,
  SPLIT
};

/* Shows what this member brings, waits for the others, and finds members that call something else. */
static gboolean
begin (Member *self, const void *in, void *out, size_t bytes, int what, int detail, GError **error)
{
  Group *group = self->group;
  Slot *mine = &group->slots[self->base.rank];
  *mine = (Slot){ in, out, bytes, what, detail };
  if (!meet (self, TRUE, error))
    return FALSE;
  for (int k = 0; k < group->size; k++)
    {
      const Slot *slot = &group->slots[k];
      if (slot->what == what && slot->bytes == bytes && slot->detail == detail)
        continue;
      /* Everybody sees it; whoever is first tells. */
      g_autofree char *reason = g_strdup_printf (_("ranks %d and %d do not call the same collective with the same size (%zu"
                                                   " and %zu bytes)"),
                                                 group->world_ranks[0], group->world_ranks[k != 0 ? k : self->base.rank],
                                                 group->slots[0].bytes, slot->bytes);
      tn_comm_fail (&self->base, reason);
      finish (self, NULL);
      return set_failure (self, error);
    }
  return TRUE;
}

/* Members cut a vector where cache lines begin. */
static void
share (const Member *self, size_t n, size_t size, size_t *from, size_t *count)
{
  size_t line = 64 / size, lines = (n + line - 1) / line, ranks = (size_t) self->group->size, rank = (size_t) self->base.rank;
  *from = MIN (n, lines * rank / ranks * line);
  *count = MIN (n, lines * (rank + 1) / ranks * line) - *from;
}

static gboolean
all_reduce (TnComm *comm, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  Member *self = (Member *) comm;
  Group *group = self->group;
  size_t size = tn_dtype_size (dtype), from, count;
  if (!begin (self, in, out, n * size, ALL_REDUCE, dtype * 16 + op, error))
    return FALSE;
  share (self, n, size, &from, &count);
  _Alignas (64) char block[8192];
  size_t step = sizeof block / size;
  const void **inputs = g_newa (const void *, group->size);
  for (int k = 0; k < group->size; k++)
    inputs[k] = group->slots[k].in;
  for (size_t at = from; at < from + count; at += step)
    {
      size_t m = MIN (step, from + count - at);
      tn_reduce_tree (block, inputs, group->size, at, m, dtype, op);
      for (int k = 0; k < group->size; k++)
        memcpy ((char *) group->slots[k].out + at * size, block, m * size);
    }
  return finish (self, error);
}

static gboolean
all_gather (TnComm *comm, const void *in, void *out, size_t bytes, GError **error)
{
  Member *self = (Member *) comm;
  if (!begin (self, in, NULL, bytes, ALL_GATHER, 0, error))
    return FALSE;
  for (int i = 0; i < comm->size; i++)
    {
      int k = (i + comm->rank) % comm->size;
      char *to = (char *) out + (size_t) k * bytes;
      if (self->group->slots[k].in != to && bytes > 0)
        memcpy (to, self->group->slots[k].in, bytes);
    }
  return finish (self, error);
}

static gboolean
reduce_scatter (TnComm *comm, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  Member *self = (Member *) comm;
  Group *group = self->group;
  if (!begin (self, in, NULL, n * tn_dtype_size (dtype), REDUCE_SCATTER, dtype * 16 + op, error))
    return FALSE;
  const void **inputs = g_newa (const void *, group->size);
  for (int k = 0; k < group->size; k++)
    inputs[k] = group->slots[k].in;
  tn_reduce_tree (out, inputs, group->size, n * (size_t) comm->rank, n, dtype, op);
  return finish (self, error);
}

static gboolean
all_to_all (TnComm *comm, const void *in, void *out, size_t bytes, GError **error)
{
  Member *self = (Member *) comm;
  if (!begin (self, in, NULL, bytes, ALL_TO_ALL, 0, error))
    return FALSE;
  for (int i = 0; i < comm->size && bytes > 0; i++)
    {
      int k = (i + comm->rank) % comm->size;
      memcpy ((char *) out + (size_t) k * bytes, (const char *) self->group->slots[k].in + (size_t) comm->rank * bytes, bytes);
    }
  return finish (self, error);
}

static gboolean
broadcast (TnComm *comm, void *data, size_t bytes, int root, GError **error)
{
  Member *self = (Member *) comm;
  if (!begin (self, data, NULL, bytes, BROADCAST, root, error))
    return FALSE;
  if (comm->rank != root && bytes > 0)
    memcpy (data, self->group->slots[root].in, bytes);
  return finish (self, error);
}

static gboolean
barrier (TnComm *comm, GError **error)
{
  Member *self = (Member *) comm;
  return begin (self, NULL, NULL, 0, BARRIER, 0, error) && finish (self, error);
}

/* ---- between two ---- */

static const char nothing, being_read;

static gboolean
is_there (Member *self, uintptr_t letter)
{
  return atomic_load (&((Letter *) letter)->data) != NULL;
}

static gboolean
is_fetched (Member *self, uintptr_t letter)
{
  return atomic_load (&((Letter *) letter)->data) == NULL;
}

static gboolean
fetch (Member *self, int from, void *in, size_t bytes, GError **error)
{
  Group *group = self->group;
  Letter *letter = &group->letters[from * group->size + self->base.rank];
  if (!wait_until (self, is_there, (uintptr_t) letter, error))
    return FALSE;
  const void *data = atomic_exchange (&letter->data, &being_read);
  if (data == NULL) /* withdrawn just now */
    {
      atomic_store (&letter->data, NULL);
      return set_failure (self, error);
    }
  gboolean fits = letter->bytes == bytes;
  g_autofree char *reason = fits ? NULL
                                 : g_strdup_printf (_("rank %d sent %zu bytes, rank %d asked for %zu"),
                                                    group->world_ranks[from], letter->bytes, group->world_ranks[self->base.rank], bytes);
  if (fits && bytes > 0)
    memcpy (in, data, bytes);
  atomic_store (&letter->data, NULL);
  wake (group);
  if (fits)
    return TRUE;
  tn_comm_fail (&self->base, reason);
  return set_failure (self, error);
}

/* A sender that gives up takes its letter back, or waits until it has been read. */
static gboolean
was_fetched (Member *self, Letter *letter, const void *data, GError **error)
{
  if (wait_until (self, is_fetched, (uintptr_t) letter, error))
    return TRUE;
  if (!atomic_compare_exchange_strong (&letter->data, &data, NULL))
    while (!is_fetched (self, (uintptr_t) letter))
      g_usleep (50);
  return FALSE;
}

static gboolean
exchange (TnComm *comm, int to, const void *out, size_t n_out, int from, void *in, size_t n_in, GError **error)
{
  Member *self = (Member *) comm;
  Group *group = self->group;
  const void *data = n_out > 0 ? out : &nothing;
  Letter *letter = to >= 0 ? &group->letters[comm->rank * group->size + to] : NULL;
  if (atomic_load (&group->world->failed))
    return set_failure (self, error);
  if (letter != NULL)
    {
      letter->bytes = n_out;
      atomic_store (&letter->data, data);
      wake (group);
    }
  GError *failure = NULL;
  gboolean received = from < 0 || fetch (self, from, in, n_in, &failure);
  gboolean sent = letter == NULL || was_fetched (self, letter, data, received ? &failure : NULL);
  if (received && sent)
    return TRUE;
  g_propagate_error (error, failure);
  return FALSE;
}

/* ---- groups ---- */

static void
world_unref (World *world)
{
  if (atomic_fetch_sub (&world->references, 1) > 1)
    return;
  pthread_mutex_destroy (&world->mutex);
  pthread_cond_destroy (&world->free_permit);
  g_free (world->reason);
  g_free (world);
}

static Group *
group_new (World *world, int size)
{
  Group *group = g_aligned_alloc0 (1, (sizeof (Group) + 63) & ~(size_t) 63, 64);
  group->references = size;
  group->world = world;
  group->size = size;
  group->world_ranks = g_new0 (int, size);
  group->slots = g_new0 (Slot, size);
  group->letters = g_new0 (Letter, (size_t) size * (size_t) size);
  atomic_fetch_add (&world->references, 1);
  pthread_mutex_init (&group->mutex, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init (&clock);
  pthread_condattr_setclock (&clock, CLOCK_MONOTONIC);
  pthread_cond_init (&group->changed, &clock);
  pthread_condattr_destroy (&clock);
  return group;
}

static void
group_unref (Group *group)
{
  if (atomic_fetch_sub (&group->references, 1) > 1)
    return;
  pthread_mutex_destroy (&group->mutex);
  pthread_cond_destroy (&group->changed);
  world_unref (group->world);
  g_free (group->world_ranks);
  g_free (group->slots);
  g_free (group->letters);
  g_aligned_free (group);
}

static TnComm *
member_new (Group *group, int rank)
{
  Member *self = g_new0 (Member, 1);
  self->base = (TnComm){ .table = &table, .rank = rank, .size = group->size };
  self->group = group;
  return &self->base;
}

typedef struct
{
  int color, key, rank;
} Wish;

static int
compare_wishes (const void *a, const void *b)
{
  const Wish *x = a, *y = b;
  return x->color != y->color ? (x->color > y->color) - (x->color < y->color)
         : x->key != y->key   ? (x->key > y->key) - (x->key < y->key)
                              : x->rank - y->rank;
}

/* The first of a color makes its group, and the others fetch it from its slot. */
static TnComm *
split (TnComm *comm, int color, int key, GError **error)
{
  Member *self = (Member *) comm;
  Group *group = self->group;
  g_autofree Wish *wishes = g_new0 (Wish, comm->size);
  Wish mine = { color, key, comm->rank };
  if (!all_gather (comm, &mine, wishes, sizeof mine, error))
    return NULL;
  qsort (wishes, (size_t) comm->size, sizeof *wishes, compare_wishes);
  int first = 0, n = 0, rank = 0;
  for (int i = comm->size - 1; i >= 0; i--)
    if (wishes[i].color == color)
      {
        first = i;
        n++;
        rank = wishes[i].rank == comm->rank ? i : rank;
      }
  rank -= first;
  Group *made = NULL;
  if (color >= 0 && rank == 0)
    {
      made = group_new (group->world, n);
      for (int i = 0; i < n; i++)
        made->world_ranks[i] = group->world_ranks[wishes[first + i].rank];
    }
  if (!begin (self, made, NULL, 0, SPLIT, 0, error))
    {
      if (made != NULL)
        {
          atomic_store (&made->references, 1);
          group_unref (made);
        }
      return NULL;
    }
  TnComm *member = color >= 0 ? member_new ((Group *) group->slots[wishes[first].rank].in, rank) : NULL;
  if (finish (self, error))
    return member;
  if (member != NULL)
    tn_comm_free (member);
  return NULL;
}

static void
fail (TnComm *comm, const char *reason)
{
  Member *self = (Member *) comm;
  World *world = self->group->world;
  pthread_mutex_lock (&world->mutex);
  if (world->reason == NULL)
    {
      world->reason = g_strdup (reason);
      world->failed_rank = self->group->world_ranks[comm->rank];
    }
  pthread_mutex_unlock (&world->mutex);
  atomic_store (&world->failed, TRUE);
  wake (self->group); /* members of other groups look by themselves */
}

static void
member_free (TnComm *comm)
{
  Member *self = (Member *) comm;
  Group *group = self->group;
  give_permit_back (group->world);
  atomic_store (&group->first_left, comm->rank);
  atomic_fetch_add (&group->left, 1);
  wake (group);
  group_unref (group);
  g_free (self);
}

static const TnCommTable table = { .name = "threads",
                                   .all_reduce = all_reduce,
                                   .all_gather = all_gather,
                                   .reduce_scatter = reduce_scatter,
                                   .all_to_all = all_to_all,
                                   .broadcast = broadcast,
                                   .exchange = exchange,
                                   .barrier = barrier,
                                   .split = split,
                                   .fail = fail,
                                   .free = member_free };

TnComm **
tn_comm_threads_new (int n_ranks, int cores, GError **error)
{
  if (n_ranks < 1 || n_ranks > MAX_RANKS)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_INVALID_ARGUMENT, _("Cannot run %d ranks as threads: choose 1 to %d."), n_ranks, MAX_RANKS);
      return NULL;
    }
  World *world = g_new0 (World, 1);
  world->references = 1;
  world->n_cores = cores > 0 ? cores : tn_cpu_count_allowed ();
  world->n_threads = n_ranks;
  world->limited = n_ranks > world->n_cores;
  world->permits = world->n_cores;
  pthread_mutex_init (&world->mutex, NULL);
  pthread_cond_init (&world->free_permit, NULL);
  Group *group = group_new (world, n_ranks);
  world_unref (world);
  TnComm **comms = g_new0 (TnComm *, n_ranks + 1);
  for (int k = 0; k < n_ranks; k++)
    {
      group->world_ranks[k] = k;
      comms[k] = member_new (group, k);
    }
  return comms;
}
