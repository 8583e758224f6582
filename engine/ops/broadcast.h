/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* Loops over tensors that broadcast to one shape, and the small vocabulary that elementwise kernels and gradient rules are
 * written in. Internal to ops/.
 *
 * Dimensions are merged as far as the inputs allow, so that inputs of one shape become one flat loop, a bias over
 * (N, C, H, W) becomes N·C rows with a constant, and a scalar costs nothing. Kernels see rows: n outputs side by side, each
 * input either walks along (step 1) or stands still (step 0).
 */
#define TN_BROADCAST_MAX_INPUTS 3

typedef struct
{
  int n_inputs;
  int64_t rows, row_length;                               /* rows · row_length = elements of the output */
  int row_steps[TN_BROADCAST_MAX_INPUTS];                 /* 0 or 1 */
  int n_dims;                                             /* of the walk over rows */
  int64_t dims[TN_MAX_DIMS];                              /* outermost first */
  int64_t strides[TN_BROADCAST_MAX_INPUTS][TN_MAX_DIMS]; /* elements */
} TnBroadcast;

void tn_broadcast_init (TnBroadcast *self, const TnShape *output, int n_inputs, const TnShape *const *inputs);

/* Where each input's row starts; begin with zeros. */
typedef struct
{
  int64_t index[TN_MAX_DIMS];
  int64_t offsets[TN_BROADCAST_MAX_INPUTS]; /* elements */
} TnBroadcastWalk;

void tn_broadcast_next (const TnBroadcast *self, TnBroadcastWalk *walk);

/* Kernels of one row. @p: parameters of the operator (attributes), or NULL. */
typedef void (*TnUnaryRow) (int64_t n, const void *x, void *out, const double *p);
typedef void (*TnBinaryRow) (int64_t n, const void *a, int a_step, const void *b, int b_step, void *out, const double *p);
typedef int64_t (*TnUnaryInt) (int64_t x);
typedef int64_t (*TnBinaryInt) (int64_t a, int64_t b);

typedef struct
{
  TnUnaryRow f32, f64;
  TnUnaryInt integer; /* NULL: floating only */
} TnUnaryKernel;

typedef struct
{
  TnBinaryRow f32, f64;
  TnBinaryInt integer; /* NULL: floating only. Also bool. */
} TnBinaryKernel;

/** Stores the low bits of an integer: arithmetic wraps around, where tn_dtype_store_int() would hold it at the limit. */
static inline void
tn_store_wrapped (TnDType dtype, void *data, int64_t i, int64_t value)
{
  switch (dtype == TN_DTYPE_BOOL ? 0 : tn_dtype_size (dtype))
    {
    case 0: ((uint8_t *) data)[i] = value != 0; break;
    case 1: ((uint8_t *) data)[i] = (uint8_t) value; break;
    case 2: ((uint16_t *) data)[i] = (uint16_t) value; break;
    case 4: ((uint32_t *) data)[i] = (uint32_t) value; break;
    default: ((uint64_t *) data)[i] = (uint64_t) value; break;
    }
}

gboolean tn_run_unary (const TnKernelContext *context, const TnUnaryKernel *kernel, const double *p, GError **error);
/** Inputs 0 and 1, of one dtype; the output may be of another size of element (bool). */
gboolean tn_run_binary (const TnKernelContext *context, const TnBinaryKernel *kernel, const double *p, GError **error);

/* Defines NAME_f32 and NAME_f64: out = EXPR of x (and p[0], p[1]), in the precision of the elements (tgmath.h). */
#define TN_UNARY_ROW(NAME, T, EXPR)                                                                                              \
  static void NAME (int64_t n, const void *x_, void *out_, const double *p)                                                      \
  {                                                                                                                              \
    const T *x_row = x_;                                                                                                         \
    T *out = out_;                                                                                                               \
    const T p0 = p != NULL ? (T) p[0] : 0, p1 = p != NULL ? (T) p[1] : 0;                                                        \
    (void) p0, (void) p1;                                                                                                        \
    for (int64_t i = 0; i < n; i++)                                                                                              \
      {                                                                                                                          \
        const T x = x_row[i];                                                                                                    \
        out[i] = (T) (EXPR);                                                                                                     \
      }                                                                                                                          \
  }
#define TN_UNARY_ROWS(NAME, EXPR)                                                                                                \
  TN_UNARY_ROW (NAME##_f32, float, EXPR)                                                                                         \
  TN_UNARY_ROW (NAME##_f64, double, EXPR)

/* The same of a and b; U is the type of the output. Three loops, so that each of them vectorises. */
#define TN_BINARY_ROW(NAME, T, U, EXPR)                                                                                          \
  static void NAME (int64_t n, const void *a_, int a_step, const void *b_, int b_step, void *out_, const double *p)              \
  {                                                                                                                              \
    const T *a_row = a_, *b_row = b_;                                                                                            \
    U *out = out_;                                                                                                               \
    const T p0 = p != NULL ? (T) p[0] : 0, p1 = p != NULL ? (T) p[1] : 0;                                                        \
    (void) p0, (void) p1;                                                                                                        \
    if (a_step == 1 && b_step == 1)                                                                                              \
      for (int64_t i = 0; i < n; i++)                                                                                            \
        {                                                                                                                        \
          const T a = a_row[i], b = b_row[i];                                                                                    \
          out[i] = (U) (EXPR);                                                                                                   \
        }                                                                                                                        \
    else if (a_step == 1)                                                                                                        \
      {                                                                                                                          \
        const T b = b_row[0];                                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                                                          \
          {                                                                                                                      \
            const T a = a_row[i];                                                                                                \
            out[i] = (U) (EXPR);                                                                                                 \
          }                                                                                                                      \
      }                                                                                                                          \
    else                                                                                                                         \
      {                                                                                                                          \
        const T a = a_row[0];                                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                                                          \
          {                                                                                                                      \
            const T b = b_row[i * b_step];                                                                                       \
            out[i] = (U) (EXPR);                                                                                                 \
          }                                                                                                                      \
      }                                                                                                                          \
  }
#define TN_BINARY_ROWS(NAME, EXPR)                                                                                               \
  TN_BINARY_ROW (NAME##_f32, float, float, EXPR)                                                                                 \
  TN_BINARY_ROW (NAME##_f64, double, double, EXPR)

/* ---- words for gradient rules: nodes of one or two inputs without attributes ---- */

static inline TnValue *
tn_apply1 (TnGraph *graph, const char *op, TnValue *x)
{
  return tn_op (graph, op, TN_IN (x), TN_NO_ATTRS);
}

static inline TnValue *
tn_apply2 (TnGraph *graph, const char *op, TnValue *a, TnValue *b)
{
  return tn_op (graph, op, TN_IN (a, b), TN_NO_ATTRS);
}

/** @op of @x and a number of its dtype. */
static inline TnValue *
tn_apply_number (TnGraph *graph, const char *op, TnValue *x, double number)
{
  return x == NULL ? NULL : tn_apply2 (graph, op, x, tn_graph_add_scalar (graph, x->dtype, number));
}

/** Sets the gradient of input @k, summed down to its shape. */
static inline void
tn_set_gradient (TnGradient *gradient, int k, TnValue *value)
{
  gradient->grad_inputs[k] = tn_sum_to (gradient->graph, value, tn_in_shape (gradient->node, k));
}

static inline TnValue *
tn_forward_output (const TnGradient *gradient, int i)
{
  return &gradient->node->outputs[i];
}
