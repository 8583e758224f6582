/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/rewrite.h"
#include "parallel/rules.h"
#include "parallel/shard-graph.h"

/* What the parts of tn_shard_graph() share: shard-plan.c decides, shard-graph.c writes, shard-special.c and shard-window.c write
 * the rows that are more than the operator on slices. */
typedef struct
{
  TnLayout **in;   /* per input: what the node wants; owned */
  TnLayout **made; /* per output: what it makes */
  int n_in, n_made;
  TnRule rule;
  TnDimMap labels[TN_RULE_MAX_LABELS]; /* axes that split each label */
} TnNodePlan;

struct _TnSharded
{
  TnGraph *source, *graph;
  TnMesh *mesh;
  TnShardOptions options;
  GArray *own;            /* TnShardStrategy: the options', counts made into layouts */
  GPtrArray *strategies;  /* copies of the layouts on @mesh, in the order of the options' inputs */
  int n_nodes, n_values;
  int *first;             /* node id -> flat index of its first output */
  TnLayout **layouts;     /* [n_values] as kept */
  TnLayout **used;        /* [n_values] parameters: as computed with; else as kept */
  int *parameter_of;      /* [n_values] id of the parameter whose gradient a value is, or -1 */
  gboolean *is_output;    /* [n_values]: never left partial */
  TnNodePlan *plans;      /* [n_nodes] */
  GArray *traffic;        /* TnTraffic */
  /* while writing */
  GHashTable *brought;    /* key -> TnValue */
};

static inline int
tn_sharded_index (const TnSharded *self, const TnValue *value)
{
  return self->first[value->node->id] + value->index;
}

/** Sets layouts and plans of all nodes. @finer: (out): the mesh that is needed, where the plan's is too coarse; call again with it. */
gboolean tn_shard_plan (TnSharded *self, TnMesh **finer, GError **error);
/** Writes the rows of special kinds; FALSE where the node is to be written as it is. */
gboolean tn_shard_write_special (TnSharded *self, TnRewrite *rewrite, const TnNode *node, const TnNodePlan *plan, TnValue **inputs);
/** A convolution over rows or columns that are split (shard-window.c); FALSE where they are whole. */
gboolean tn_shard_write_window (TnSharded *self, TnRewrite *rewrite, const TnNode *node, const TnNodePlan *plan, TnValue **inputs);
/** A communication node over @axes of @mesh on @x. */
TnValue *tn_shard_collective (TnSharded *self, TnGraph *graph, const TnNode *asked_by, const char *what, TnMesh *mesh, uint32_t axes,
                              TnMoveKind kind, TnValue *x, int dim, int concat_dim, TnPartial op);
/** Joins all-reduces of gradients into buckets (fusion.c); the graph and the traffic are other ones then. */
gboolean tn_shard_fuse (TnSharded *self, GError **error);
void tn_shard_clear_traffic (gpointer traffic);
uint32_t tn_dim_axes (const TnDimMap *dim);
/** Index of the strategy that @node has, or -1; @offset: (out): number of inputs of those before it. */
int tn_shard_find_strategy (const TnSharded *self, const TnNode *node, int *offset);
/** Makes the options' strategies into layouts (shard-strategy.c), and one mesh that refines all of theirs. */
gboolean tn_shard_resolve_strategies (TnSharded *self, GError **error);
void tn_shard_clear_strategy (gpointer strategy);
