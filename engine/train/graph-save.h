/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/passes.h"

/** Writes @built as stage "bootstrap" and then what each pass makes of it, as .ir and .dot files of @folder (made where it is
 * missing; see ir/graph-dump.h). @accepts, @data: as in tn_passes_run(). */
gboolean tn_graph_save_stages (const TnGraph *built, TnFusionAccepts accepts, gpointer data, const char *folder, GError **error);
