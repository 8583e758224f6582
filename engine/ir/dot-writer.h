/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* .dot text of a graph that Graphviz lays out on a page: a cluster a side (forward, backward, optimizer) and in it one a scope,
 * a box an operator, parameters as small names. Links of parameters between far places, and those from the forward to the
 * backward side, do not pull.
 *
 * Everything stands in attributes ("tn_op" ...) that Graphviz passes over, so that tn_graph_document_load() gives the same
 * graph again. Nodes are numbered: the same graph gives the same text. Names may hold anything: they are escaped. */

/** The whole text. Free with g_free. */
char *tn_dot_text (const TnGraph *graph);
/** The same into a file, replacing it. */
gboolean tn_dot_write (const TnGraph *graph, const char *path, GError **error);
