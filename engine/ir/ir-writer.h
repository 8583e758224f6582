/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* .ir text of a graph, in the dialect of MindSpore 2.1 and later.
 *
 * Any reader of that dialect finds its header, parameters, nodes, types and scopes there. What the dialect cannot say
 * (which constants are the same one, their exact bits, roles of parameters, phases, names of outputs) stands in comment
 * lines that begin with “# Tenon”; ir/ir-reader.h makes the same graph again from both.
 *
 * An output of a node that has several is read through TupleGetItem, several results are returned as MakeTuple; subgraphs
 * of If and While stand as “@name” among the operands. */

/** The whole text. Free with g_free. */
char *tn_ir_text (const TnGraph *graph);
/** The same into a file, replacing it. */
gboolean tn_ir_write (const TnGraph *graph, const char *path, GError **error);
