/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph-document.h"

/* .dot text (Graphviz) as a document, read by our own parser: nothing of it is executed, laid out or looked up.
 *
 * Clusters become scopes, other attributes stay as text, images and links are dropped. What MindSpore writes is recognised:
 * the boxes of operators and the lists of parameters that it draws are put back together into operators. What
 * tn_graph_document_to_dot() writes comes back with kinds, phases and scopes.
 *
 * A mistake in the text ends the reading: the document then has what stands before it and its note has the line. Errors:
 * TN_ERROR_FORMAT where there is not even the first node. */
TnGraphDocument *tn_dot_read (const char *text, gsize n, const char *name, GError **error);
