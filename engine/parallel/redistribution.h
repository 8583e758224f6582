/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "parallel/layout.h"

/* TnRedistribution: how ranks get from one layout of a tensor to another.
 *
 * A list of moves, the same on every rank: each acts on one mesh axis, in groups of the ranks that differ along it. Tensor
 * dimensions that are split by several axes are cut into several first (the expanded shape), so that every dimension is
 * split by one axis at most and a move names one dimension.
 *
 *   TnRedistribution r;
 *   if (!tn_redistribution_infer (&r, from, to, &shape, TN_REDISTRIBUTION_CHEAPEST, &error)) ...
 *   for (int i = 0; i < r.n_moves; i++) ...
 *   tn_redistribution_clear (&r);
 */
#define TN_MOVE_MAX_DIMS 24
#define TN_REDISTRIBUTION_MAX_MOVES 48

typedef enum
{
  TN_MOVE_SLICE,          /* keep the piece of one's own place along the axis: nothing is sent */
  TN_MOVE_ALL_GATHER,     /* pieces of dimension @dim, in the order of the axis */
  TN_MOVE_ALL_TO_ALL,     /* dimension @dim is split, dimension @concat_dim joined */
  TN_MOVE_REDUCE_SCATTER, /* partial values reduced, dimension @dim split */
  TN_MOVE_ALL_REDUCE      /* partial values reduced */
} TnMoveKind;

/** "Slice", "AllGather", "AllToAll", "ReduceScatter", "AllReduce". */
const char *tn_move_kind_name (TnMoveKind kind);

typedef struct
{
  TnMoveKind kind;
  int stage;           /* which mesh and expanded shape: 0 or 1 */
  int axis;            /* of the stage's mesh */
  int dim, concat_dim; /* of the stage's expanded shape */
  int64_t n;           /* ranks in a group */
} TnMove;

typedef enum
{
  TN_REDISTRIBUTION_GREEDY,           /* the list that MindSpore infers, with all-to-all */
  TN_REDISTRIBUTION_GREEDY_NO_A2A,    /* the same without, as for checkpoints */
  TN_REDISTRIBUTION_CHEAPEST          /* the list that moves the fewest bytes (the greedy one where that is as cheap) */
} TnRedistributionMethod;

typedef struct
{
  TnPartial op;     /* of the source's partial axes */
  /* One stage, or two where the shapes or rank lists of the two layouts cannot be cut alike: between them every rank
   * holds the whole tensor. */
  int n_stages;
  TnMesh *meshes[2];
  int n_dims[2];
  int64_t dims[2][TN_MOVE_MAX_DIMS];   /* expanded global shape */
  int8_t from[2][TN_MOVE_MAX_DIMS];    /* axis that splits an expanded dimension before and after the stage; -1 none */
  int8_t to[2][TN_MOVE_MAX_DIMS];
  int n_moves;
  TnMove moves[TN_REDISTRIBUTION_MAX_MOVES];
  int64_t elements; /* of the tensor */
} TnRedistribution;

/**
 * tn_redistribution_infer:
 * @shape: global shape of the tensor
 *
 * Partial axes of @from that are not partial in @to are reduced. Errors: %TN_LAYOUT_ERROR_MESH where the layouts are on
 * different sets of ranks, %TN_LAYOUT_ERROR_PARTIAL where @to is partial along an axis that @from is not, and those of
 * tn_layout_local_shape().
 */
gboolean tn_redistribution_infer (TnRedistribution *self, const TnLayout *from, const TnLayout *to, const TnShape *shape,
                                  TnRedistributionMethod method, GError **error);
void tn_redistribution_clear (TnRedistribution *self);

/** Expanded local dimensions of a rank before move @i (or after the last): returns their number. */
int tn_redistribution_local_dims (const TnRedistribution *self, int i, int64_t dims[TN_MOVE_MAX_DIMS]);
/** Elements that one rank receives in move @i, and in all. */
double tn_redistribution_move_elements (const TnRedistribution *self, int i);
double tn_redistribution_elements (const TnRedistribution *self);
/** "AllGather(dim 0, dp x4), Slice(dim 1, tp x2)"; "nothing". Free with g_free. */
char *tn_redistribution_to_string (const TnRedistribution *self);

/* MindSpore's cost record, in elements (TensorRedistribution::ComputeCost): @as_written adds the split row after every
 * other operator too, as its code does. */
typedef struct
{
  double forward, backward, computation, memory;
} TnRedistributionCost;
void tn_redistribution_cost (const TnRedistribution *self, gboolean as_written, TnRedistributionCost *cost);

/**
 * tn_redistribution_run: the moves on integers, to check them by.
 * @slices: one array a place of the mesh of @from, its local slice; replaced by the result (g_free'd and allocated anew)
 */
void tn_redistribution_run (const TnRedistribution *self, int64_t **slices);

/* ---- the operators that MindSpore applies to checkpoints ---- */

typedef enum
{
  TN_TRANSFORM_RESHAPE,      /* args: the shape */
  TN_TRANSFORM_ALL_CONCAT,   /* args: ranks of the group in order, then the dimension */
  TN_TRANSFORM_STRIDED_SLICE /* args: begins, ends, strides */
} TnTransformKind;

/** "Reshape", "AllConcat", "StridedSlice". */
const char *tn_transform_kind_name (TnTransformKind kind);

typedef struct
{
  TnTransformKind kind;
  int n;
  int64_t *args;
} TnTransformOperator;

/**
 * tn_redistribution_operators: the moves of rank @rank as MindSpore's transform_checkpoints lists them, on slices without
 * the dimensions of size 1 (a Reshape at each end where there are some).
 * @self: inferred from @from to @to without all-to-all
 *
 * Returns an array of TnTransformOperator, which it frees. Errors: %TN_LAYOUT_ERROR_RANK; TN_ERROR_UNSUPPORTED for a list
 * with all-to-all or reductions, which files do not need.
 */
GPtrArray *tn_redistribution_operators (const TnRedistribution *self, const TnLayout *from, const TnLayout *to, const TnShape *shape,
                                        int64_t rank, GError **error);
/**
 * tn_redistribution_operator_ranks: the ranks whose slices those operators read for @rank, ascending (GArray of int64).
 *
 * At least those of tn_reshard_needed(); more where a list gathers first and cuts what it gathered.
 */
GArray *tn_redistribution_operator_ranks (const TnRedistribution *self, int64_t rank, GError **error);
