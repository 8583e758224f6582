/* SPDX-License-Identifier: Apache-2.0 */
#include "collectives.h"

#include <math.h>
#include <string.h>

static const TnDType dtypes[] = { TN_DTYPE_F32, TN_DTYPE_F64, TN_DTYPE_F16, TN_DTYPE_BF16, TN_DTYPE_I32, TN_DTYPE_I64 };

/* What rank @rank has at element @i in round @round. */
static double
element (guint32 seed, int round, int rank, size_t i)
{
  guint64 x = (guint64) seed * 0x9E3779B97F4A7C15ull + (guint64) round * 0xD1B54A32D192ED03ull + (guint64) rank * 0x94D049BB133111EBull + i;
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 29;
  return (double) ((gint64) (x % 2001) - 1000) / 8;
}

static char *
make (guint32 seed, int round, int rank, size_t n, TnDType dtype)
{
  char *data = g_malloc (n * tn_dtype_size (dtype) + 1);
  for (size_t i = 0; i < n; i++)
    tn_dtype_store (dtype, data, i, element (seed, round, rank, i));
  return data;
}

/* k + d is added to k, for d = 1, 2, 4 ...: floats in their own precision, halves in float. */
static double
combine (double *x, int n, TnDType dtype, TnReduce op)
{
  for (int d = 1; d < n; d *= 2)
    for (int k = 0; k + d < n; k += 2 * d)
      {
        double a = x[k], b = x[k + d];
        double sum = dtype == TN_DTYPE_F64 || tn_dtype_is_integer (dtype) ? a + b : (double) ((float) a + (float) b);
        x[k] = op == TN_REDUCE_MAX ? fmax (a, b) : op == TN_REDUCE_MIN ? fmin (a, b) : sum;
      }
  if (op == TN_REDUCE_MEAN)
    return dtype == TN_DTYPE_F64 ? x[0] / n : (double) ((float) x[0] / (float) n);
  return x[0];
}

static void
expect_reduced (TnComm *comm, const char *got, guint32 seed, int round, size_t from, size_t n, TnDType dtype, TnReduce op)
{
  g_autofree char *want = g_malloc (n * tn_dtype_size (dtype) + 1);
  g_autofree double *x = g_new (double, comm->size);
  for (size_t i = 0; i < n; i++)
    {
      for (int k = 0; k < comm->size; k++)
        {
          char one[8];
          tn_dtype_store (dtype, one, 0, element (seed, round, k, from + i));
          x[k] = tn_dtype_load (dtype, one, 0);
        }
      tn_dtype_store (dtype, want, i, combine (x, comm->size, dtype, op));
    }
  g_assert_cmpmem (got, n * tn_dtype_size (dtype), want, n * tn_dtype_size (dtype));
}

static void
check_round (TnComm *comm, guint32 seed, int round, GRand *random)
{
  GError *error = NULL;
  TnDType dtype = dtypes[g_rand_int_range (random, 0, G_N_ELEMENTS (dtypes))];
  TnReduce op = (TnReduce) g_rand_int_range (random, 0, 4);
  if (tn_dtype_is_integer (dtype) && op == TN_REDUCE_MEAN)
    op = TN_REDUCE_SUM;
  size_t n = (size_t) (g_rand_boolean (random) ? g_rand_int_range (random, 0, 40) : g_rand_int_range (random, 0, 5000)), size = tn_dtype_size (dtype);
  int P = comm->size, root = g_rand_int_range (random, 0, P), shift = g_rand_int_range (random, 0, P);
  gboolean in_place = g_rand_boolean (random), later = g_rand_boolean (random);
  size_t N = n * (size_t) P;
  g_autofree char *in = make (seed, round, comm->rank, N, dtype);
  g_autofree char *out = g_malloc0 (N * size + 1);

  /* all_reduce, at once or as a request */
  char *to = in_place || later ? memcpy (out, in, n * size) : out;
  if (later)
    {
      TnCommSpan span;
      gboolean ok = tn_comm_wait (tn_comm_all_reduce_start (comm, to, n, dtype, op), &span, &error);
      g_assert_no_error (error);
      g_assert_true (ok && span.started_ns <= span.begun_ns && span.begun_ns <= span.ended_ns && span.bytes == n * size);
    }
  else
    g_assert_true (tn_comm_all_reduce (comm, in_place ? to : in, to, n, dtype, op, &error));
  expect_reduced (comm, out, seed, round, 0, n, dtype, op);

  g_assert_true (tn_comm_reduce_scatter (comm, in, out, n, dtype, op, &error));
  expect_reduced (comm, out, seed, round, n * (size_t) comm->rank, n, dtype, op);

  g_assert_true (tn_comm_all_gather (comm, in, out, n, dtype, &error));
  for (int k = 0; k < P; k++)
    {
      g_autofree char *theirs = make (seed, round, k, n, dtype);
      g_assert_cmpmem (out + (size_t) k * n * size, n * size, theirs, n * size);
    }

  g_assert_true (tn_comm_all_to_all (comm, in, out, n, dtype, &error));
  for (int k = 0; k < P; k++)
    {
      g_autofree char *theirs = make (seed, round, k, N, dtype);
      g_assert_cmpmem (out + (size_t) k * n * size, n * size, theirs + (size_t) comm->rank * n * size, n * size);
    }

  g_autofree char *roots = make (seed, round, root, n, dtype);
  memcpy (out, in, n * size);
  g_assert_true (tn_comm_broadcast (comm, out, n, dtype, root, &error));
  g_assert_cmpmem (out, n * size, roots, n * size);

  int next = (comm->rank + shift) % P, before = (comm->rank + P - shift) % P;
  if (shift != 0)
    {
      g_assert_true (tn_comm_exchange (comm, next, in, n, before, out, n, dtype, &error));
      g_autofree char *theirs = make (seed, round, before, n, dtype);
      g_assert_cmpmem (out, n * size, theirs, n * size);
    }
  if (P > 1 && comm->rank == 0)
    g_assert_true (tn_comm_send (comm, P - 1, in, N, dtype, &error));
  if (P > 1 && comm->rank == P - 1)
    {
      g_autofree char *theirs = make (seed, round, 0, N, dtype);
      g_assert_true (tn_comm_recv (comm, 0, out, N, dtype, &error));
      g_assert_cmpmem (out, N * size, theirs, N * size);
    }
  g_assert_true (tn_comm_barrier (comm, &error));
  g_assert_no_error (error);
}

void
check_collectives (TnComm *comm, guint32 seed, int n_rounds)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed); /* the same on every rank */
  for (int round = 0; round < n_rounds; round++)
    {
      check_round (comm, seed, round, random);
      if (round % 3 != 0)
        continue;
      /* Groups by a random cut, in reversed order, one rank left out. */
      int colors = g_rand_int_range (random, 1, comm->size + 1), out = g_rand_int_range (random, 0, comm->size);
      GError *error = NULL;
      int color = comm->rank == out && comm->size > 1 ? -1 : comm->rank % colors;
      g_autoptr (TnComm) part = tn_comm_split (comm, color, -comm->rank, &error);
      g_assert_no_error (error);
      guint32 part_seed = g_rand_int (random);
      if (color < 0)
        {
          g_assert_null (part);
          continue;
        }
      int place = 0, n = 0;
      for (int k = comm->size - 1; k >= 0; k--)
        if (k % colors == color && !(k == out && comm->size > 1))
          {
            place = k == comm->rank ? n : place;
            n++;
          }
      g_assert_cmpint (part->size, ==, n);
      g_assert_cmpint (part->rank, ==, place);
      g_autoptr (GRand) part_random = g_rand_new_with_seed (part_seed + (guint32) color);
      check_round (part, part_seed + (guint32) color, round, part_random);
    }
}
