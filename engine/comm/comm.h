/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "tensor/dtype.h"

/* TnComm: one rank's end of a group of ranks.
 *
 * Every member calls the same collectives in the same order, each from one thread at a time. What carries them stands behind
 * one table: threads of this process (comm/threads.h), processes under MPI (comm/mpi.h), or what a test puts there.
 *
 * Sums are the same bits at every call: element by element, members are added in one balanced tree in rank order (k + d is
 * added to k, for d = 1, 2, 4 ...), float16 and bfloat16 in float32, rounded once. The transport moves bytes and never adds.
 *
 * A member that fails calls tn_comm_fail(): all that wait, and all that come later, get an error that names it and its reason.
 * A member that goes away without a word counts as failed too.
 *
 * Buckets overlap with compute through requests, which a thread of the rank's own works off in the order of their start:
 *
 *   TnCommRequest *request = tn_comm_all_reduce_start (comm, bucket, n, TN_DTYPE_F32, TN_REDUCE_SUM);
 *   ... compute ...
 *   if (!tn_comm_wait (request, &span, &error)) return FALSE;
 */
typedef struct _TnComm TnComm;
typedef struct _TnCommRequest TnCommRequest;
typedef struct _TnCommLane TnCommLane;

typedef enum
{
  TN_REDUCE_SUM,
  TN_REDUCE_MEAN, /* the sum divided by the number of members; floating dtypes only */
  TN_REDUCE_MAX,  /* NaN wins */
  TN_REDUCE_MIN
} TnReduce;

/* What a transport does. Arguments have been checked; counts are elements. Every member calls the same row. */
typedef struct
{
  const char *name; /* "threads", "mpi" */
  gboolean (*all_reduce) (TnComm *comm, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error);
  gboolean (*all_gather) (TnComm *comm, const void *in, void *out, size_t bytes, GError **error);
  gboolean (*reduce_scatter) (TnComm *comm, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error);
  gboolean (*all_to_all) (TnComm *comm, const void *in, void *out, size_t bytes, GError **error);
  gboolean (*broadcast) (TnComm *comm, void *data, size_t bytes, int root, GError **error);
  gboolean (*exchange) (TnComm *comm, int to, const void *out, size_t n_out, int from, void *in, size_t n_in, GError **error);
  gboolean (*barrier) (TnComm *comm, GError **error);
  TnComm *(*split) (TnComm *comm, int color, int key, GError **error);
  void (*fail) (TnComm *comm, const char *reason);
  void (*free) (TnComm *comm);
} TnCommTable;

/* What every transport's handle begins with. */
struct _TnComm
{
  const TnCommTable *table;
  int rank, size;
  TnCommLane *lane; /* made with the first request */
};

/* When a request was worked off; monotonic ns. */
typedef struct
{
  gint64 started_ns, begun_ns, ended_ns; /* started: handed over; begun and ended: its turn in the rank's lane */
  size_t bytes;
} TnCommSpan;

static inline int tn_comm_rank (const TnComm *self) { return self->rank; }
static inline int tn_comm_size (const TnComm *self) { return self->size; }

/** Reduces @n elements of every member to all. @in may be @out. Dtypes float32, float64, float16, bfloat16, int32, int64. */
gboolean tn_comm_all_reduce (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error);
/** @n elements of every member stand in @out [size][n] by rank. @in may be @out's own place. */
gboolean tn_comm_all_gather (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, GError **error);
/** @in is [size][n]; @out gets row [rank] reduced over all members. @out may be @in's own row. */
gboolean tn_comm_reduce_scatter (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, TnReduce op, GError **error);
/** @in is [size][n], row k for member k; @out [size][n] gets row k from member k. They do not overlap. */
gboolean tn_comm_all_to_all (TnComm *self, const void *in, void *out, size_t n, TnDType dtype, GError **error);
gboolean tn_comm_broadcast (TnComm *self, void *data, size_t n, TnDType dtype, int root, GError **error);
/** To and from one other member. Both sides give the same number of elements; a send may wait for its recv. */
gboolean tn_comm_send (TnComm *self, int to, const void *data, size_t n, TnDType dtype, GError **error);
gboolean tn_comm_recv (TnComm *self, int from, void *data, size_t n, TnDType dtype, GError **error);
/** Both at once, so that a ring or a halo cannot lock up; -1 for none. */
gboolean tn_comm_exchange (TnComm *self, int to, const void *out, size_t n_out, int from, void *in, size_t n_in, TnDType dtype, GError **error);
gboolean tn_comm_barrier (TnComm *self, GError **error);
/** Members of one @color >= 0 make a group, ordered by @key, then rank; a negative color gets none: NULL without an error. */
TnComm *tn_comm_split (TnComm *self, int color, int key, GError **error);

/** Starts an all-reduce in place. @data is the request's until it was waited for. */
TnCommRequest *tn_comm_all_reduce_start (TnComm *self, void *data, size_t n, TnDType dtype, TnReduce op);
/** Waits and frees. @span: (out)(nullable). */
gboolean tn_comm_wait (TnCommRequest *request, TnCommSpan *span, GError **error);

/** This member cannot go on: makes the others stop with its number and @reason. The first one counts. */
void tn_comm_fail (TnComm *self, const char *reason);
void tn_comm_free (TnComm *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnComm, tn_comm_free)
