/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"
#include "base/pool.h"

/* TnOp: one row of the operator table.
 *
 * Everything the program knows of an operator stands in its row: what it takes, what shapes come out, how its gradient is
 * built, what it costs, and how it is computed plainly. Rows live in one file per family (ops/activation.c ...), names are
 * MindSpore's primitive names. A new operator is a new row; nothing else has to change. Fast kernels for a device refer to
 * rows by name from the device's own table (device/cpu/kernels.h).
 */
typedef struct _TnGradient TnGradient;
typedef struct _TnKernelContext TnKernelContext;

typedef enum
{
  TN_OP_ELEMENTWISE = 1 << 0, /* every output element depends on the elements at the same place (after broadcasting) */
  TN_OP_INPLACE = 1 << 1,     /* output 0 may lie over input 0 where shapes and dtypes agree: element i is read before it is written */
  TN_OP_RANDOM = 1 << 2,      /* draws from the counter-based generator: never merged or folded */
  TN_OP_EFFECT = 1 << 3,      /* writes a parameter: never removed, merged or reordered past other readers of it */
  TN_OP_CONTROL = 1 << 4,     /* runs subgraphs */
  TN_OP_VIEW = 1 << 5,        /* the same elements in the same order under another shape (Reshape, Flatten ...) */
  TN_OP_LEAF = 1 << 6         /* Input, Parameter, Constant: nothing to compute */
} TnOpFlags;

typedef struct
{
  const char *name;
  TnAttrType type;
  gboolean required;
  double number;    /* default of int, float, bool and dtype */
  const char *text; /* default of a string */
} TnAttrSpec;

typedef struct
{
  double flops; /* a multiply-add counts two */
  double bytes; /* read and written, each tensor once */
} TnCost;

#define TN_VARIADIC -1
#define TN_MAX_MUTATED 4

struct _TnOp
{
  const char *name;
  const char *doc; /* one line with the formula */
  TnOpFlags flags;
  int min_inputs, max_inputs; /* max TN_VARIADIC: any number */
  int n_outputs;              /* TN_VARIADIC: the shape rule says (tn_node_set_n_outputs) */
  const TnAttrSpec *attrs;    /* ends with a NULL name */

  /* Shape rule: checks inputs and attributes and sets dtype and shape of every output. Uses tn_infer_error(). */
  gboolean (*infer) (TnNode *node, GError **error);

  /* Gradient rule: adds nodes to gradient->graph and sets gradient->grad_inputs. NULL: not differentiable. */
  void (*gradient) (TnGradient *gradient);

  /* NULL: one operation an output element. */
  void (*cost) (const TnNode *node, TnCost *cost);

  /* Plain kernel: row-major contiguous, obviously right; float32 and float64 (float16 and bfloat16 are brought to float32
   * around it), integers and bool where the operator takes them. */
  gboolean (*reference) (const TnKernelContext *context, GError **error);

  /* Output i is written over input mutates[i] - 1 (a parameter): 0 means a value of its own. For TN_OP_EFFECT rows. */
  int mutates[TN_MAX_MUTATED];

  /* Fused rows: what the row is made of, built into @graph from @inputs. The plain kernel of such a row runs that
   * composition (tn_reference_expanded), and a device without a kernel for the row runs it too. */
  void (*expand) (TnGraph *graph, const TnNode *node, TnValue **inputs, TnValue **outputs);
};

/* What a kernel gets. Data pointers are 64-byte aligned where they are whole tensors. */
struct _TnKernelContext
{
  const TnNode *node; /* shapes, dtypes and attributes */
  void *const *in;
  void *const *out;
  uint64_t seed; /* of the run */
  uint64_t step;
  int64_t first_sample; /* global index of the first row of the batch, for random operators */
};

/* What a gradient rule works with. */
struct _TnGradient
{
  TnGraph *graph;
  const TnNode *node;        /* the forward node; its inputs and outputs are values of the same graph */
  TnValue *const *grad_outputs; /* NULL where nothing downstream depends on that output */
  TnValue **grad_inputs;     /* (out): NULL where there is none */
  const gboolean *wanted;    /* per input: leave the others */
};

/** Plain kernel of every row that has an expansion. */
gboolean tn_reference_expanded (const TnKernelContext *context, GError **error);

/* ---- the table ---- */

const TnOp *tn_op_find (const char *name);
int tn_op_count (void);
const TnOp *tn_op_at (int i);
void tn_node_cost (const TnNode *node, TnCost *cost);

/* ---- helpers for rows ---- */

void tn_node_set_n_outputs (TnNode *node, int n);
static inline const TnShape *tn_in_shape (const TnNode *node, int i) { return &node->inputs[i]->shape; }
static inline TnDType tn_in_dtype (const TnNode *node, int i) { return node->inputs[i]->dtype; }
static inline gboolean tn_has_input (const TnNode *node, int i) { return i < node->n_inputs; }
static inline void
tn_set_output (TnNode *node, int i, TnDType dtype, TnShape shape)
{
  node->outputs[i].dtype = dtype;
  node->outputs[i].shape = shape;
}

/** Sets an error "Conv2D-op0 (Default/conv1): <message>; inputs (32, 3, 28, 28), (6, 1, 5, 5)" and returns FALSE. */
gboolean tn_infer_error (const TnNode *node, GError **error, const char *format, ...) G_GNUC_PRINTF (3, 4);
/** All inputs have dtype of input 0, which is floating; FALSE with an error otherwise. */
gboolean tn_infer_same_float (TnNode *node, GError **error);

/* Ready-made shape rules. */
gboolean tn_infer_unary (TnNode *node, GError **error);           /* output like input 0 */
gboolean tn_infer_unary_float (TnNode *node, GError **error);     /* the same, floating only */
gboolean tn_infer_broadcast (TnNode *node, GError **error);       /* equal dtypes, NumPy broadcasting */
gboolean tn_infer_broadcast_bool (TnNode *node, GError **error);  /* comparisons */

/** Sums @value down to @shape (undoes broadcasting), for gradients. Returns @value where nothing is to be done. */
TnValue *tn_sum_to (TnGraph *graph, TnValue *value, const TnShape *shape);
/** A negative axis counts from the end; FALSE if out of range. */
gboolean tn_normalize_axis (gint64 *axis, int n_dims);

/* Runs BODY with T as float or double, by dtype; returns an error for any other. Use inside reference kernels:
 *   TN_FLOAT_CASES (dtype, T, { const T *x = context->in[0]; ... });
 */
#define TN_FLOAT_CASES(dtype_, T, ...)                                                                                           \
  switch (dtype_)                                                                                                                \
    {                                                                                                                            \
    case TN_DTYPE_F32: { typedef float T; __VA_ARGS__ } break;                                                                   \
    case TN_DTYPE_F64: { typedef double T; __VA_ARGS__ } break;                                                                  \
    default: return tn_infer_error (context->node, error, _ ("no kernel for %s"), tn_dtype_name (dtype_));                       \
    }
#define TN_NUMBER_CASES(dtype_, T, ...)                                                                                          \
  switch (dtype_)                                                                                                                \
    {                                                                                                                            \
    case TN_DTYPE_F32: { typedef float T; __VA_ARGS__ } break;                                                                   \
    case TN_DTYPE_F64: { typedef double T; __VA_ARGS__ } break;                                                                  \
    case TN_DTYPE_I8: { typedef int8_t T; __VA_ARGS__ } break;                                                                   \
    case TN_DTYPE_I16: { typedef int16_t T; __VA_ARGS__ } break;                                                                 \
    case TN_DTYPE_I32: { typedef int32_t T; __VA_ARGS__ } break;                                                                 \
    case TN_DTYPE_I64: { typedef int64_t T; __VA_ARGS__ } break;                                                                 \
    case TN_DTYPE_U8: { typedef uint8_t T; __VA_ARGS__ } break;                                                                  \
    case TN_DTYPE_BOOL: { typedef uint8_t T; __VA_ARGS__ } break;                                                                \
    default: return tn_infer_error (context->node, error, _ ("no kernel for %s"), tn_dtype_name (dtype_));                       \
    }
