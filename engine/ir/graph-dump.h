/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph.h"

/* TnGraphDump: the graphs of each stage of a compilation as files, named as MindSpore names them.
 *
 * "00_bootstrap_0000.ir", "00_bootstrap_0001.dot", "01_type_inference_0002.ir", ...: the number of the stage, its name, and
 * a counter over all files of the folder. Each call of tn_graph_dump_stage() is one stage and writes one pair. Files of an
 * earlier compilation with the same names are replaced, others stay. Not thread safe.
 *
 *   g_autoptr (TnGraphDump) dump = tn_graph_dump_new (folder, 0, 1, &error);
 *   if (!tn_graph_dump_stage (dump, "bootstrap", graph, &error)) ...
 */
typedef struct _TnGraphDump TnGraphDump;

/** Makes @folder where it is missing, and "rank_<rank>" in it where there is more than one rank. */
TnGraphDump *tn_graph_dump_new (const char *folder, int rank, int n_ranks, GError **error);
void tn_graph_dump_free (TnGraphDump *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraphDump, tn_graph_dump_free)

/** The folder that the files go to. */
const char *tn_graph_dump_folder (const TnGraphDump *self);
/** Writes .ir and .dot of @graph. @stage: "type_inference"; anything but letters, digits, ".", "-" and "_" becomes "_". */
gboolean tn_graph_dump_stage (TnGraphDump *self, const char *stage, const TnGraph *graph, GError **error);
/** The same with the .ir only, for graphs too big to be drawn. */
gboolean tn_graph_dump_stage_text (TnGraphDump *self, const char *stage, const TnGraph *graph, GError **error);

/** Takes a dump's file name to pieces, MindSpore's of all releases included: *stage is -1 where there is no number of a
 * stage, *counter -1 where there is no counter. Files of one compilation are in order by counter. FALSE if @file ends
 * neither in .ir, .dat, .dot nor .pb. Free *name with g_free. */
gboolean tn_graph_dump_parse_name (const char *file, int *stage, char **name, int *counter);
