/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "parallel/redistribution.h"
#include "ir/graph.h"

/* TnSharded: the graph of one rank, made from the graph of the whole.
 *
 * Every value of the whole graph (forward, backward and update) gets a layout: from the strategy of its node, or from what the
 * node's inputs have (parallel/rules.h). Where a node wants another layout than a value has, the moves of a redistribution
 * come between; where a reduced dimension is split the value is partial until somebody reads it, so that a parameter's
 * gradient is all-reduced (MindSpore's mirror operator) or reduce-scattered to where the parameter lies as soon as it is
 * there. What the ranks compute together is what the whole graph computes; constants in it are those of the whole batch.
 *
 * All ranks share the one local graph: nodes AllReduce, AllGather ... (ops/collective.h) say over which axes of the mesh.
 *
 *   TnShardOptions options = { .mesh = mesh };
 *   g_autoptr (TnSharded) sharded = tn_shard_graph (graph, &options, &error);
 *   run (tn_sharded_graph (sharded));
 */
typedef struct _TnSharded TnSharded;

/* How the nodes whose cell or name matches @pattern are split. */
typedef struct
{
  const char *pattern; /* glob over the cell's path below the network ("fc1", "block0/fc?"), or over the node's name */
  int n_inputs;
  TnLayout **inputs;   /* one an input of the cell's main operator; an entry may be NULL: as it comes */
  const TnShape *counts; /* or, with @inputs NULL, MindSpore's tuples: into how many pieces each dimension of each input is cut */
} TnShardStrategy;

typedef enum
{
  TN_DATASET_DATA_PARALLEL, /* dimension 0 over the axes for batches */
  TN_DATASET_FULL_BATCH
} TnDatasetStrategy;

typedef struct
{
  TnMesh *mesh;
  int n_strategies;
  const TnShardStrategy *strategies; /* the first that matches counts */
  TnDatasetStrategy dataset;
  int optimizer_level;        /* 0: parameters and states lie as they are computed with; 1 to 3: cut over the replicas too */
  int64_t optimizer_shard;    /* -1: over all replicas */
  int64_t optimizer_threshold; /* bytes that a parameter must have */
  const struct _TnSharded *like; /* (nullable): parameters lie as in this one, over a mesh that @mesh is or refines */
  gboolean local_batch_norm;  /* statistics of each rank's rows alone, as MindSpore's data_parallel has them */
} TnShardOptions;

/* What an axis splits by default, from its name: dp, data, batch, fsdp - samples; tp, mp, model - weights; sp, seq, cp - the
 * sequence (dimension 1 of tokens). Axes of other names split what strategies say. */
typedef enum
{
  TN_AXIS_OTHER,
  TN_AXIS_BATCH,
  TN_AXIS_WEIGHT,
  TN_AXIS_SEQUENCE
} TnAxisRole;
TnAxisRole tn_axis_role (const char *name);

/** Errors: those of layouts (an uneven batch, a strategy that does not fit its node; the message names the node). */
TnSharded *tn_shard_graph (TnGraph *graph, const TnShardOptions *options, GError **error);
void tn_sharded_free (TnSharded *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnSharded, tn_sharded_free)

/** The graph of every rank: local shapes. */
TnGraph *tn_sharded_graph (const TnSharded *self);
/** The options' mesh, or a finer one where strategies needed it. */
TnMesh *tn_sharded_mesh (const TnSharded *self);
/** The layout in which a value of the whole graph lies (gradients of parameters: after they were reduced). */
TnLayout *tn_sharded_layout (const TnSharded *self, const TnValue *value);
/** The layout in which a parameter, or an optimizer state, is kept; NULL if there is none of that name. */
TnLayout *tn_sharded_parameter (const TnSharded *self, const char *name);
/** The layout of an input or of an output by its name; NULL if there is none. */
TnLayout *tn_sharded_input (const TnSharded *self, const char *name);
TnLayout *tn_sharded_output (const TnSharded *self, const char *name);

/* One communication of a step. */
typedef struct
{
  TnMoveKind kind;
  TnPhase phase;      /* of the node that asked for it: forward, backward or optimizer */
  const char *node;   /* its name in the local graph */
  const char *value;  /* what is moved: name of the node of the whole graph that made it */
  TnMesh *mesh;       /* the mesh of @axes */
  uint32_t axes;      /* the group runs over these */
  int64_t group;      /* ranks in it */
  int64_t bytes_in;   /* a rank puts in */
  double bytes;       /* a rank receives, by the ring */
} TnTraffic;

int tn_sharded_n_traffic (const TnSharded *self);
const TnTraffic *tn_sharded_traffic (const TnSharded *self, int i);
