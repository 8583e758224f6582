/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "page.h"

/* TnPageGraph: what is computed: the training step of the project or run, or a graph of another program, to be walked through. */
#define TN_TYPE_PAGE_GRAPH (tn_page_graph_get_type ())
G_DECLARE_FINAL_TYPE (TnPageGraph, tn_page_graph, TN, PAGE_GRAPH, TnPage)

/** Shows the graph in file @path. */
void tn_page_graph_open_file (TnPageGraph *self, const char *path);
