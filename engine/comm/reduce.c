/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/reduce.h"
#include <string.h>

#define BLOCK 512 /* elements that are brought together at a time: they stay in the first cache */
#define MAX_DEPTH 32

gboolean
tn_reduce_takes (TnDType dtype, TnReduce op)
{
  switch (dtype)
    {
    case TN_DTYPE_F32:
    case TN_DTYPE_F64:
    case TN_DTYPE_F16:
    case TN_DTYPE_BF16:
      return TRUE;
    case TN_DTYPE_I32:
    case TN_DTYPE_I64:
      return op != TN_REDUCE_MEAN;
    default:
      return FALSE;
    }
}

/* Integers wrap around. */
#define PAIR(name, T, sum)                                                                                                       \
  static void name (T *restrict a, const T *restrict b, size_t n, TnReduce op)                                                   \
  {                                                                                                                              \
    switch (op)                                                                                                                  \
      {                                                                                                                          \
      case TN_REDUCE_MAX:                                                                                                        \
        for (size_t i = 0; i < n; i++)                                                                                           \
          a[i] = b[i] > a[i] || b[i] != b[i] ? b[i] : a[i];                                                                      \
        break;                                                                                                                   \
      case TN_REDUCE_MIN:                                                                                                        \
        for (size_t i = 0; i < n; i++)                                                                                           \
          a[i] = b[i] < a[i] || b[i] != b[i] ? b[i] : a[i];                                                                      \
        break;                                                                                                                   \
      default:                                                                                                                   \
        for (size_t i = 0; i < n; i++)                                                                                           \
          a[i] = sum;                                                                                                            \
      }                                                                                                                          \
  }
PAIR (pair_f32, float, a[i] + b[i])
PAIR (pair_f64, double, a[i] + b[i])
PAIR (pair_i32, int32_t, (int32_t) ((uint32_t) a[i] + (uint32_t) b[i]))
PAIR (pair_i64, int64_t, (int64_t) ((uint64_t) a[i] + (uint64_t) b[i]))

static void
pair (void *a, const void *b, size_t n, TnDType dtype, TnReduce op)
{
  switch (dtype)
    {
    case TN_DTYPE_F64:
      pair_f64 (a, b, n, op);
      break;
    case TN_DTYPE_I32:
      pair_i32 (a, b, n, op);
      break;
    case TN_DTYPE_I64:
      pair_i64 (a, b, n, op);
      break;
    default:
      pair_f32 (a, b, n, op);
    }
}

static void
divide (void *data, size_t n, TnDType dtype, int by)
{
  if (dtype == TN_DTYPE_F64)
    for (size_t i = 0; i < n; i++)
      ((double *) data)[i] /= by;
  else
    for (size_t i = 0; i < n; i++)
      ((float *) data)[i] /= (float) by;
}

/* One block. Leaves come in order; two sums of the same number of leaves are joined as soon as both are there, and what is
 * left at the end from the smallest up: the same tree as adding k + d to k for d = 1, 2, 4 ... */
static void
reduce_block (char *out, const void *const *in, int n_in, size_t from, size_t n, TnDType dtype, TnDType as, TnReduce op)
{
  _Alignas (64) char stack[8][BLOCK * 8];
  g_autofree char *deep = n_in > 128 ? g_malloc (MAX_DEPTH * BLOCK * 8) : NULL;
  size_t size = tn_dtype_size (dtype);
  int depth = 0;
#define LEVEL(d) (deep != NULL ? deep + (size_t) (d) *BLOCK * 8 : stack[d])
  for (int k = 0; k < n_in; k++)
    {
      tn_dtype_convert (dtype, (const char *) in[k] + from * size, as, LEVEL (depth), n);
      depth++;
      for (int bits = k + 1; (bits & 1) == 0; bits >>= 1, depth--)
        pair (LEVEL (depth - 2), LEVEL (depth - 1), n, as, op);
    }
  for (; depth > 1; depth--)
    pair (LEVEL (depth - 2), LEVEL (depth - 1), n, as, op);
  if (op == TN_REDUCE_MEAN)
    divide (LEVEL (0), n, as, n_in);
  tn_dtype_convert (as, LEVEL (0), dtype, out, n);
#undef LEVEL
}

/* Two members are the common case: no way through a stack. */
static void
reduce_two (void *out, const void *a, const void *b, size_t n, TnReduce op)
{
  float *to = out;
  const float *x = a, *y = b;
  if (op == TN_REDUCE_SUM)
    for (size_t i = 0; i < n; i++)
      to[i] = x[i] + y[i];
  else
    for (size_t i = 0; i < n; i++)
      to[i] = (x[i] + y[i]) / 2;
}

void
tn_reduce_tree (void *out, const void *const *in, int n_in, size_t from, size_t n, TnDType dtype, TnReduce op)
{
  size_t size = tn_dtype_size (dtype);
  if (n_in == 2 && dtype == TN_DTYPE_F32 && op <= TN_REDUCE_MEAN)
    {
      reduce_two (out, (const float *) in[0] + from, (const float *) in[1] + from, n, op);
      return;
    }
  TnDType as = dtype == TN_DTYPE_F16 || dtype == TN_DTYPE_BF16 ? TN_DTYPE_F32 : dtype;
  for (size_t at = 0; at < n; at += BLOCK)
    reduce_block ((char *) out + at * size, in, n_in, from + at, MIN (BLOCK, n - at), dtype, as, op);
}
