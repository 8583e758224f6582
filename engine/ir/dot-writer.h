/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* .dot text of a graph, drawn as MindSpore draws it: a cluster a graph, a table with a port an input for every node, its
 * operator with the attributes beside it, an octagon for every use of a parameter, one list of all parameters.
 *
 * Identifiers are numbered, so the same graph gives the same text. Names may hold anything: they are escaped for where they
 * stand. Graphviz takes the text without a warning; it lays out small graphs, big ones are for the graph page. */

/** The whole text. Free with g_free. */
char *tn_dot_text (const TnGraph *graph);
/** The same into a file, replacing it. */
gboolean tn_dot_write (const TnGraph *graph, const char *path, GError **error);
