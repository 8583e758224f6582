/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* TnRewrite: makes a graph from another, node by node in order. A visitor may stand in for a node (it then sets the new
 * values of the old outputs and returns TRUE) or leave it to be copied (FALSE). */
typedef struct
{
  const TnGraph *from;
  TnGraph *to;
  int *first;    /* node id -> flat index of its first output */
  TnValue **map; /* flat index -> value of the new graph */
} TnRewrite;

typedef gboolean (*TnRewriteVisitor) (TnRewrite *rewrite, const TnNode *node, gpointer data);

TnGraph *tn_graph_rewrite (const TnGraph *from, TnRewriteVisitor visitor, gpointer data, GError **error);

/** The new graph's value for one of the old graph; NULL where it has none (yet). */
TnValue *tn_rewrite_get (const TnRewrite *rewrite, const TnValue *value);
void tn_rewrite_set (TnRewrite *rewrite, const TnValue *value, TnValue *replacement);
/** Copies @node now; NULL if the new graph failed. */
TnNode *tn_rewrite_copy (TnRewrite *rewrite, const TnNode *node);
