/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph-document.h"

/* Finding operators by their words, and what hangs together with them. */

/** Items whose name, type, shape or data type hold every word of @text, in any order and whatever their case; the best first, at most
 * @max. @n_all (nullable): how many there are. GArray of int; free with g_array_unref. */
GArray *tn_graph_search (const TnGraphDocument *document, const char *text, int max, int *n_all);
/** By item: TRUE for @items, and all that they depend on (@inputs) or that depend on them. Free with g_free. */
gboolean *tn_graph_cone (const TnGraphDocument *document, const int *items, int n, gboolean inputs);
/** By item: TRUE for all that lies on a way from @from to @to, or from @to to @from where there is none; NULL if there is neither. */
gboolean *tn_graph_path (const TnGraphDocument *document, int from, int to);
