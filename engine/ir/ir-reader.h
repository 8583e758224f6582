/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"
#include "ir/ir-text.h"

/* The graph that ir/ir-writer.h wrote: the same nodes in the same order, attributes, names, scopes, phases, parameters with
 * their roles and constants bit by bit, subgraphs included.
 *
 * Operators are looked up in the operator table and their shape rules run again; a file whose types say something else is
 * refused. Only files with our comment lines can be read back, as MindSpore's own dumps do not say everything.
 *
 * Errors: TN_ERROR_UNSUPPORTED for files of other programs, TN_ERROR_FORMAT with the line for damaged ones, and whatever
 * building the graph says (unknown operator, shapes that do not fit). */
TnGraph *tn_graph_from_ir (const TnIrDocument *document, GError **error);
/** Loads the file and does the same. */
TnGraph *tn_ir_read (const char *path, GError **error);
