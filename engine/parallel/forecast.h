/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "parallel/shard-graph.h"

/* What a step costs a rank, before anything runs. All ranks share one local graph, so that they hold the same bytes; which
 * elements they are says tn_layout_slice(). */
typedef struct
{
  int64_t parameters;  /* trained, and running statistics */
  int64_t gradients;
  int64_t optimizer;
  int64_t activations; /* at peak: everything between, by lives in the order of the local graph */
  int64_t buffers;     /* the largest message that is sent or received */
  int64_t total;
} TnShardForecast;

void tn_shard_forecast (const TnSharded *sharded, TnShardForecast *out);

/* Communications of a step that are alike, summed. */
typedef struct
{
  TnMoveKind kind;
  TnPhase phase;
  char *axes;     /* "dp", "dp+tp" */
  int64_t group;  /* ranks in a group */
  int64_t groups; /* that do this at the same time */
  int count;      /* a step */
  double bytes;   /* that a rank receives a step */
} TnTrafficSum;

/** GArray of TnTrafficSum, in the order of their first use; frees its members. */
GArray *tn_shard_traffic_sums (const TnSharded *sharded);

/* A parameter or state as ranks hold it. */
typedef struct
{
  const char *name; /* of the source graph */
  int role;         /* TnParameterRole */
  gboolean frozen;
  TnDType dtype;
  TnShape shape, local;
  TnLayout *layout; /* (transfer none) */
  int64_t bytes;    /* a rank */
  int64_t replicas; /* ranks that hold the same slice */
} TnShardEntry;

/** GArray of TnShardEntry, in the graph's order. */
GArray *tn_shard_entries (const TnSharded *sharded, const TnGraph *source);
