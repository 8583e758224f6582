/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/mpi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/pool.h"
#include "comm/link.h"
#include "comm/reduce.h"

#define MODULE "tenon-mpi.so"
#define SPIN_NS 30000
#define FIRST_SLEEP_NS 10000
#define LONGEST_SLEEP_NS 500000
#define LONGEST_IDLE_NS 4000000
#define LOOKS_PER_FAILURE 16 /* so many looks at data come to one at failures */
#define FAREWELL_NS 300000000 /* how long a failure is given to reach the others */
#define TAG_FAILED 1
#define TAG_FIRST 2   /* of group 0; group k has TAG_FIRST + k */
#define MAX_GROUPS 30000
#define SMALL 4096 /* bytes up to which everybody gets everything: one round in place of two */
#define MAX_REASON 4096

/* The process among its peers. */
typedef struct
{
  const TnCommLink *link;
  int rank, size, n_cores, references, next_group;
  pthread_mutex_t mutex; /* one call of the link at a time; the rest too */
  _Atomic gboolean failed;
  int failed_rank;
  char *reason;
} Process;

typedef struct
{
  TnComm base;
  Process *process;
  int *world_ranks, tag;
  char *scratch;
  size_t scratch_bytes;
} Member;

static const TnCommTable table;

/* ---- the module ---- */

static void
add_candidate (GPtrArray *paths, const char *folder, const char *below)
{
  if (folder != NULL)
    g_ptr_array_add (paths, g_build_filename (folder, below, MODULE, NULL));
}

static const TnCommLink *
open_module (char **path, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = program != NULL ? g_path_get_dirname (program) : NULL;
  add_candidate (paths, g_getenv ("TENON_MODULES"), "");
  add_candidate (paths, folder, "");
  add_candidate (paths, folder, "../comm");
  add_candidate (paths, folder, "../lib/tenon");
#ifdef TN_MODULE_DIR
  add_candidate (paths, TN_MODULE_DIR, "");
#endif
  for (guint i = 0; i < paths->len; i++)
    {
      const char *candidate = g_ptr_array_index (paths, i);
      if (!g_file_test (candidate, G_FILE_TEST_IS_REGULAR))
        continue;
      /* MPI opens parts of its own that look for the library's symbols. */
      void *module = dlopen (candidate, RTLD_NOW | RTLD_GLOBAL);
      TnCommLinkFunc func = module != NULL ? (TnCommLinkFunc) dlsym (module, TN_COMM_LINK_SYMBOL) : NULL;
      if (func == NULL)
        {
          const char *why = dlerror ();
          g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _("Cannot use “%s”: %s. Install Open MPI (openmpi-bin), or run ranks as threads."), candidate,
                       why != NULL ? why : "");
          return NULL;
        }
      if (func ()->version == TN_COMM_LINK_VERSION)
        {
          *path = g_strdup (candidate);
          return func ();
        }
    }
  g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED,
               _("This build has no module for MPI (%s): build with libopenmpi-dev, name its folder in TENON_MODULES, or run ranks as threads."), MODULE);
  return NULL;
}

char *
tn_comm_mpi_describe (GError **error)
{
  g_autofree char *path = NULL;
  const TnCommLink *link = open_module (&path, error);
  return link != NULL ? g_strdup_printf ("%s (%s)", link->library (), path) : NULL;
}

gboolean
tn_comm_mpi_is_started (void)
{
  static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE" };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_getenv (names[i]) != NULL && g_ascii_strtoll (g_getenv (names[i]), NULL, 10) > 1)
      return TRUE;
  return FALSE;
}

/* ---- waiting ---- */

static int64_t
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static gboolean
set_failure (Process *process, GError **error)
{
  pthread_mutex_lock (&process->mutex);
  g_set_error (error, TN_ERROR, TN_ERROR_STATE, _("Rank %d stopped: %s"), process->failed_rank, process->reason);
  pthread_mutex_unlock (&process->mutex);
  return FALSE;
}

static void
set_reason (Process *process, int rank, const char *reason)
{
  if (process->reason == NULL)
    {
      process->reason = g_strndup (reason, MAX_REASON - 1);
      process->failed_rank = rank;
    }
  atomic_store (&process->failed, TRUE);
}

/* With the mutex held. */
static void
look_for_failures (Process *process)
{
  int from;
  size_t bytes;
  char text[MAX_REASON] = { 0 };
  if (process->failed || !process->link->probe (TAG_FAILED, &from, &bytes) || bytes >= sizeof text)
    return;
  void *request = process->link->receive (text, bytes, from, TAG_FAILED);
  int state = 0;
  while (request != NULL && (state = process->link->test (request)) == 0)
    ;
  set_reason (process, from, text);
}

/* Tests requests up to the first that is not done: every test moves all of them on. How many are left, or -1; done ones become
 * NULL. */
static int
count_left (Process *process, void **requests, int n)
{
  for (int i = 0; i < n; i++)
    {
      int state = requests[i] != NULL ? process->link->test (requests[i]) : 1;
      if (state == 0)
        return n - i;
      requests[i] = NULL;
      if (state < 0)
        return -1;
    }
  return 0;
}

static void
drop_all (Process *process, void **requests, int n)
{
  for (int i = 0; i < n; i++)
    if (requests[i] != NULL)
      process->link->drop (requests[i]);
}

static gboolean
complete (Member *self, void **requests, int n, GError **error)
{
  Process *process = self->process;
  int64_t begun = now_ns (), sleep = FIRST_SLEEP_NS;
  unsigned n_sleeps = 0;
  gboolean may_spin = process->size <= process->n_cores;
  for (;;)
    {
      pthread_mutex_lock (&process->mutex);
      int left = count_left (process, requests, n);
      gboolean sleeps = left > 0 && (!may_spin || now_ns () - begun > SPIN_NS);
      if (sleeps && n_sleeps++ % LOOKS_PER_FAILURE == 0)
        look_for_failures (process);
      gboolean failed = left > 0 && atomic_load (&process->failed);
      if (failed || left < 0)
        drop_all (process, requests, n);
      pthread_mutex_unlock (&process->mutex);
      if (left == 0)
        return TRUE;
      if (left < 0)
        {
          tn_comm_fail (&self->base, _("ranks do not call the same collective with the same size"));
          return set_failure (process, error);
        }
      if (failed)
        return set_failure (process, error);
      if (sleeps)
        {
          struct timespec t = { 0, sleep };
          nanosleep (&t, NULL);
          /* Who has waited long may be late by a fiftieth of that. */
          int64_t longest = CLAMP ((now_ns () - begun) / 50, LONGEST_SLEEP_NS, LONGEST_IDLE_NS);
          sleep = MIN (sleep * 3 / 2, longest);
        }
    }
}

/* ---- moving ---- */

typedef struct
{
  void **requests;
  int n;
  gboolean refused;
} Batch;

static void
add_send (Member *self, Batch *batch, const void *data, size_t bytes, int to)
{
  pthread_mutex_lock (&self->process->mutex);
  void *request = self->process->link->send (data, bytes, self->world_ranks[to], self->tag);
  pthread_mutex_unlock (&self->process->mutex);
  batch->refused |= request == NULL;
  batch->requests[batch->n++] = request;
}

static void
add_receive (Member *self, Batch *batch, void *data, size_t bytes, int from)
{
  pthread_mutex_lock (&self->process->mutex);
  void *request = self->process->link->receive (data, bytes, self->world_ranks[from], self->tag);
  pthread_mutex_unlock (&self->process->mutex);
  batch->refused |= request == NULL;
  batch->requests[batch->n++] = request;
}

static gboolean
end_batch (Member *self, Batch *batch, GError **error)
{
  if (!batch->refused)
    return complete (self, batch->requests, batch->n, error);
  pthread_mutex_lock (&self->process->mutex);
  drop_all (self->process, batch->requests, batch->n);
  pthread_mutex_unlock (&self->process->mutex);
  tn_comm_fail (&self->base, _("MPI refused to move data"));
  return set_failure (self->process, error);
}

static char *
scratch (Member *self, size_t bytes)
{
  if (bytes > self->scratch_bytes)
    {
      g_free (self->scratch);
      self->scratch = g_try_malloc (bytes);
      self->scratch_bytes = self->scratch != NULL ? bytes : 0;
      if (self->scratch == NULL)
        tn_comm_fail (&self->base, _("no memory for what the ranks exchange"));
    }
  return self->scratch;
}

static gboolean
begin (Member *self, GError **error)
{
  return !atomic_load (&self->process->failed) || set_failure (self->process, error);
}

/* ---- collectives ---- */

static gboolean
all_gather (TnComm *comm, const void *in, void *out, size_t bytes, GError **error)
{
  Member *self = (Member *) comm;
  Batch batch = { .requests = g_newa (void *, 2 * comm->size) };
  if (!begin (self, error))
    return FALSE;
  char *own = (char *) out + (size_t) comm->rank * bytes;
  if (own != in && bytes > 0)
    memcpy (own, in, bytes);
  for (int i = 1; i < comm->size; i++)
    add_receive (self, &batch, (char *) out + (size_t) ((comm->rank + i) % comm->size) * bytes, bytes, (comm->rank + i) % comm->size);
  for (int i = 1; i < comm->size; i++)
    add_send (self, &batch, own, bytes, (comm->rank + comm->size - i) % comm->size);
  return end_batch (self, &batch, error);
}

/* Row [rank] of every member's @in, [size] rows that begin at starts[k], reduced into @out. */
static gboolean
reduce_rows (Member *self, const char *in, const size_t *starts, char *out, TnDType dtype, TnReduce op, GError **error)
{
  int P = self->base.size, rank = self->base.rank;
  size_t size = tn_dtype_size (dtype), own = starts[rank + 1] - starts[rank];
  Batch batch = { .requests = g_newa (void *, 2 * P) };
  const void **inputs = g_newa (const void *, P);
  char *from = scratch (self, own * size * (size_t) P + 1);
  if (from == NULL)
    return set_failure (self->process, error);
  for (int k = 0; k < P; k++)
    inputs[k] = k == rank ? in + starts[rank] * size : from + (size_t) k * own * size;
  for (int i = 1; i < P; i++)
    add_receive (self, &batch, (void *) inputs[(rank + i) % P], own * size, (rank + i) % P);
  for (int i = 1; i < P; i++)
    {
      int k = (rank + P - i) % P;
      add_send (self, &batch, in + starts[k] * size, (starts[k + 1] - starts[k]) * size, k);
    }
  if (!end_batch (self, &batch, error))
    return FALSE;
  tn_reduce_tree (out, inputs, P, 0, own, dtype, op);
  return TRUE;
}

static gboolean
all_reduce_small (Member *self, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  int P = self->base.size;
  size_t bytes = n * tn_dtype_size (dtype);
  const void **inputs = g_newa (const void *, P);
  char *all = scratch (self, bytes * (size_t) P + 1);
  if (all == NULL)
    return set_failure (self->process, error);
  if (!all_gather (&self->base, in, all, bytes, error))
    return FALSE;
  for (int k = 0; k < P; k++)
    inputs[k] = all + (size_t) k * bytes;
  tn_reduce_tree (out, inputs, P, 0, n, dtype, op);
  return TRUE;
}

/* Each member reduces its share of the elements and gives it to all. */
static gboolean
all_reduce (TnComm *comm, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  Member *self = (Member *) comm;
  int P = comm->size, rank = comm->rank;
  size_t size = tn_dtype_size (dtype);
  if (!begin (self, error))
    return FALSE;
  if (n * size <= SMALL)
    return all_reduce_small (self, in, out, n, dtype, op, error);
  size_t *starts = g_newa (size_t, P + 1);
  for (int k = 0; k <= P; k++)
    starts[k] = n / (size_t) P * (size_t) k + MIN ((size_t) k, n % (size_t) P);
  char *own = (char *) out + starts[rank] * size;
  if (!reduce_rows (self, in, starts, own, dtype, op, error))
    return FALSE;
  Batch batch = { .requests = g_newa (void *, 2 * P) };
  for (int i = 1; i < P; i++)
    {
      int k = (rank + i) % P;
      add_receive (self, &batch, (char *) out + starts[k] * size, (starts[k + 1] - starts[k]) * size, k);
    }
  for (int i = 1; i < P; i++)
    add_send (self, &batch, own, (starts[rank + 1] - starts[rank]) * size, (rank + P - i) % P);
  return end_batch (self, &batch, error);
}

static gboolean
reduce_scatter (TnComm *comm, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error)
{
  Member *self = (Member *) comm;
  size_t *starts = g_newa (size_t, comm->size + 1);
  for (int k = 0; k <= comm->size; k++)
    starts[k] = n * (size_t) k;
  return begin (self, error) && reduce_rows (self, in, starts, out, dtype, op, error);
}

static gboolean
all_to_all (TnComm *comm, const void *in, void *out, size_t bytes, GError **error)
{
  Member *self = (Member *) comm;
  int P = comm->size, rank = comm->rank;
  Batch batch = { .requests = g_newa (void *, 2 * P) };
  if (!begin (self, error))
    return FALSE;
  if (bytes > 0)
    memcpy ((char *) out + (size_t) rank * bytes, (const char *) in + (size_t) rank * bytes, bytes);
  for (int i = 1; i < P; i++)
    add_receive (self, &batch, (char *) out + (size_t) ((rank + i) % P) * bytes, bytes, (rank + i) % P);
  for (int i = 1; i < P; i++)
    add_send (self, &batch, (const char *) in + (size_t) ((rank + P - i) % P) * bytes, bytes, (rank + P - i) % P);
  return end_batch (self, &batch, error);
}

/* Along a binary tree, so that the root sends log P times. */
static gboolean
broadcast (TnComm *comm, void *data, size_t bytes, int root, GError **error)
{
  Member *self = (Member *) comm;
  int P = comm->size, place = (comm->rank + P - root) % P, bit = 1;
  if (!begin (self, error))
    return FALSE;
  for (; bit < P && !(place & bit); bit *= 2)
    ;
  if (place != 0)
    {
      Batch batch = { .requests = g_newa (void *, 1) };
      add_receive (self, &batch, data, bytes, (place - bit + root) % P);
      if (!end_batch (self, &batch, error))
        return FALSE;
    }
  Batch batch = { .requests = g_newa (void *, 32) };
  for (bit /= 2; bit > 0; bit /= 2)
    if (place + bit < P)
      add_send (self, &batch, data, bytes, (place + bit + root) % P);
  return end_batch (self, &batch, error);
}

static gboolean
exchange (TnComm *comm, int to, const void *out, size_t n_out, int from, void *in, size_t n_in, GError **error)
{
  Member *self = (Member *) comm;
  void *requests[2];
  Batch batch = { .requests = requests };
  if (!begin (self, error))
    return FALSE;
  if (from >= 0)
    add_receive (self, &batch, in, n_in, from);
  if (to >= 0)
    add_send (self, &batch, out, n_out, to);
  return end_batch (self, &batch, error);
}

static gboolean
barrier (TnComm *comm, GError **error)
{
  char *all = g_newa (char, comm->size);
  return all_gather (comm, "", all, 1, error);
}

/* ---- groups ---- */

typedef struct
{
  int color, key, rank, next_group;
} Wish;

static int
compare_wishes (const void *a, const void *b)
{
  const Wish *x = a, *y = b;
  return x->color != y->color ? (x->color > y->color) - (x->color < y->color)
         : x->key != y->key   ? (x->key > y->key) - (x->key < y->key)
                              : x->rank - y->rank;
}

static TnComm *
split (TnComm *comm, int color, int key, GError **error)
{
  Member *self = (Member *) comm;
  g_autofree Wish *wishes = g_new0 (Wish, comm->size);
  Wish mine = { color, key, comm->rank, self->process->next_group };
  if (!all_gather (comm, &mine, wishes, sizeof mine, error))
    return NULL;
  int group = 0;
  for (int k = 0; k < comm->size; k++)
    group = MAX (group, wishes[k].next_group);
  self->process->next_group = group + 1;
  if (group >= MAX_GROUPS)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _("More than %d groups of ranks."), MAX_GROUPS);
      return NULL;
    }
  if (color < 0)
    return NULL;
  qsort (wishes, (size_t) comm->size, sizeof *wishes, compare_wishes);
  Member *made = g_new0 (Member, 1);
  made->base = (TnComm){ .table = &table };
  made->process = self->process;
  made->process->references++;
  made->tag = TAG_FIRST + group;
  made->world_ranks = g_new0 (int, comm->size);
  for (int i = 0; i < comm->size; i++)
    if (wishes[i].color == color)
      {
        if (wishes[i].rank == comm->rank)
          made->base.rank = made->base.size;
        made->world_ranks[made->base.size++] = self->world_ranks[wishes[i].rank];
      }
  return &made->base;
}

static void
fail (TnComm *comm, const char *reason)
{
  Process *process = ((Member *) comm)->process;
  g_autofree char *text = g_strndup (reason, MAX_REASON - 1);
  void **requests = g_newa (void *, process->size);
  memset (requests, 0, sizeof (void *) * (size_t) process->size);
  int64_t until = now_ns () + FAREWELL_NS;
  pthread_mutex_lock (&process->mutex);
  if (!atomic_load (&process->failed))
    {
      set_reason (process, process->rank, reason);
      for (int k = 0; k < process->size; k++)
        if (k != process->rank)
          requests[k] = process->link->send (text, strlen (text), k, TAG_FAILED);
      while (count_left (process, requests, process->size) > 0 && now_ns () < until)
        g_usleep (500);
      drop_all (process, requests, process->size);
    }
  pthread_mutex_unlock (&process->mutex);
}

static void
member_free (TnComm *comm)
{
  Member *self = (Member *) comm;
  Process *process = self->process;
  if (--process->references == 0)
    {
      if (!atomic_load (&process->failed)) /* the others may never come to the end together with this one */
        process->link->finish ();
      pthread_mutex_destroy (&process->mutex);
      g_free (process->reason);
      g_free (process);
    }
  g_free (self->world_ranks);
  g_free (self->scratch);
  g_free (self);
}

static const TnCommTable table = { .name = "mpi",
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

TnComm *
tn_comm_mpi_open (GError **error)
{
  g_autofree char *path = NULL;
  const TnCommLink *link = open_module (&path, error);
  if (link == NULL)
    return NULL;
  int rank, size;
  char why[256] = { 0 };
  if (link->start (&rank, &size, why, sizeof why) != 0)
    {
      g_set_error (error, TN_ERROR, TN_ERROR_UNSUPPORTED, _("MPI did not start: %s."), why);
      return NULL;
    }
  Process *process = g_new0 (Process, 1);
  *process = (Process){ .link = link, .rank = rank, .size = size, .n_cores = tn_cpu_count_allowed (), .references = 1, .next_group = 1 };
  pthread_mutex_init (&process->mutex, NULL);
  Member *self = g_new0 (Member, 1);
  self->base = (TnComm){ .table = &table, .rank = rank, .size = size };
  self->process = process;
  self->tag = TAG_FIRST;
  self->world_ranks = g_new0 (int, size);
  for (int k = 0; k < size; k++)
    self->world_ranks[k] = k;
  return &self->base;
}
