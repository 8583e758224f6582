/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "base/pool.h"
#include "device/cpu/cpu-isa.h"
#include "device/cpu/lanes.h"
#include "ops/op.h"

/* TnCpuKernel: one way to compute one operator on the CPU.
 *
 * The table lists, for each operator by name, its fast kernels in order of preference; the first whose match() accepts a
 * node computes it, in PYNATIVE and GRAPH mode alike. The choice depends on the node alone (operator, shapes, attributes),
 * so the two modes give the same bits. What no kernel accepts runs through the operator's plain kernel, row-major.
 *
 * A kernel is either sliced (works on 16 rows of the batch at a time: a worker takes a slice through a whole run of such
 * kernels while it is in its cache) or whole (sees all rows, and is cut into tasks of its own that may run at once). */

/* How a value lies in memory. */
typedef enum
{
  TN_LAYOUT_ROW,     /* row-major */
  TN_LAYOUT_LANES,   /* [ceil(N/16)][...][16], see lanes.h */
  TN_LAYOUT_PANELS,  /* input of a dense weight gradient, see lanes.h dense_transpose */
  TN_LAYOUT_BLOCKED, /* [N][C/b][H][W][b], b = the vector width: what oneDNN's direct convolutions take */
  TN_LAYOUT_FILTER,      /* weights [O][C][KH][KW] packed for a wide convolution, see wide.h */
  TN_LAYOUT_FILTER_BACK, /* the same for its input's gradient */
  TN_LAYOUT_COUNT,
  TN_LAYOUT_SAME = TN_LAYOUT_COUNT /* of a kernel's table: like input 0, which may have any of ROW, LANES, BLOCKED */
} TnCpuLayout;

#define TN_SLICE_ROWS TN_LANES /* rows of a slice: depends on the graph alone, never on the number of threads */
#define TN_MAX_CHUNKS 8        /* a batch's slices are cut into at most so many chunks, whose sums are added in a fixed tree */
#define TN_MAX_ARGS 16         /* inputs or outputs of a fast kernel; plain kernels take any number */

typedef struct
{
  TnIsa isa;
  const TnLanesKernels *lanes;
  int block; /* channels of TN_LAYOUT_BLOCKED */
  gboolean strict; /* no kernels that round differently from the plain order (Winograd) */
} TnCpuTarget;

typedef struct
{
  const TnNode *node;
  const TnCpuTarget *target;
  const void *data; /* what prepare() made */
  void *const *in;  /* sliced kernels: at the first row of the slice */
  void *const *out;
  void *scratch;  /* this worker's, as many bytes as prepare() asked for */
  int64_t rows;   /* of the slice or of the batch */
  size_t elements; /* of output 0 in its layout, in this slice (flat kernels) */
  gboolean accumulate; /* sliced kernels with sums: add to what out holds; otherwise overwrite */
  int task;       /* whole kernels: 0..n_tasks-1 */
  int n_tasks;
  uint64_t seed, step;
  int64_t first_sample;
} TnCpuCall;

typedef struct _TnCpuKernel TnCpuKernel;
struct _TnCpuKernel
{
  const char *op;
  const char *name; /* "lanes", "lanes-whole", "onednn" ... as profiles show it */
  gboolean sliced;
  unsigned whole;   /* sliced: bit i set: input i is not cut by rows (weights, biases, scalars) */
  unsigned sums;    /* sliced: bit i set: output i is a sum over all rows, one buffer a chunk */
  gboolean inplace; /* output 0 may be input 0's memory (same layout and bytes) */
  TnCpuLayout in[TN_MAX_ARGS];
  TnCpuLayout out[TN_MAX_ARGS];
  gboolean (*match) (const TnNode *node, const TnCpuTarget *target);
  /* Both may be NULL. @data is freed with release(). */
  gboolean (*prepare) (const TnNode *node, const TnCpuTarget *target, void **data, size_t *scratch_bytes, GError **error);
  void (*release) (void *data);
  int (*tasks) (const TnNode *node, const void *data, const TnCpuTarget *target); /* whole; NULL: 1 */
  /* NULL: no kernel, and none of later rows; a fused node then stays in parts. */
  void (*run) (const TnCpuCall *call);
};

/** The kernel that computes @node, or NULL: the plain one. */
const TnCpuKernel *tn_cpu_kernel_find (const TnNode *node, const TnCpuTarget *target);
/** Layout conversion; NULL if it takes two (through ROW) or is none. The node of such a call is the one that makes the
 * value, its data is made by tn_cpu_convert_prepare(). */
const TnCpuKernel *tn_cpu_convert_find (TnCpuLayout from, TnCpuLayout to);
/** Bytes of @value in @layout; *@slice_bytes: of each 16 rows (0: the value has no rows to slice). */
size_t tn_cpu_layout_bytes (const TnValue *value, TnCpuLayout layout, const TnCpuTarget *target, size_t *slice_bytes);
/** Fills in @target for this machine; FALSE where it cannot run @isa. */
gboolean tn_cpu_target_init (TnCpuTarget *target, TnIsa isa, gboolean strict, GError **error);

/* Families of kernels, each ended by a row without a name. */
extern const TnCpuKernel tn_cpu_kernels_lanes[];
extern const TnCpuKernel tn_cpu_kernels_flat[];
extern const TnCpuKernel tn_cpu_kernels_wide[];
extern const TnCpuKernel tn_cpu_kernels_norm[];
extern const TnCpuKernel tn_cpu_kernels_blocked[];
extern const TnCpuKernel tn_cpu_kernels_optimizer[];

/* What conversions know of the value they convert (data of their calls). */
typedef struct
{
  TnDType dtype;
  int64_t rows, features; /* [rows][features] */
  int64_t channels, plane; /* BLOCKED, FILTER: features = channels * plane */
  TnLanesDense *dense;    /* PANELS */
} TnCpuConvert;
void *tn_cpu_convert_prepare (const TnValue *value, TnCpuLayout from, TnCpuLayout to, const TnCpuTarget *target, GError **error);
void tn_cpu_convert_release (void *data);
