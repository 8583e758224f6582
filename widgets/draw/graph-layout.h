/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdio.h>
#include <gio/gio.h>
#include "draw/canvas.h"
#include "draw/graph-cut.h"

/* TnGraphLayout: where the boxes, frames and edges of a cut lie, in pixels at zoom 1.
 *
 * Two makers. The own layered layout always succeeds: layers by longest path, four sweeps of barycentres, forward and backward
 * side by side with what belongs together on one height, the optimizer below. For cuts of one column libgvc draws better:
 * it runs in a child process (`tenon-cli layout`), which can be killed, may use so much memory and time and no more, and whose
 * answer is checked before it is used; if anything of that fails the own layout is taken and says why.
 *
 * Immutable once made; references are atomic. */
typedef struct
{
  gint refs;
  double width, height;
  int n_boxes, n_frames, n_edges;
  TnRect *boxes, *frames;
  int *first_point; /* of an edge; place n_edges ends the last. Tunnels have none */
  TnPoint *points;
  TnRect columns[3]; /* forward, backward, optimizer; width 0: there is none */
  const char *maker; /* "dot", "layered" */
  const char *why;   /* NULL, or why it is not dot: "time", "memory", "crash", "cancelled", "missing", "overlap" */
} TnGraphLayout;

TnGraphLayout *tn_graph_layout_ref (TnGraphLayout *self);
void tn_graph_layout_unref (TnGraphLayout *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraphLayout, tn_graph_layout_unref)

/** The own layout. Never fails. */
TnGraphLayout *tn_graph_layout_layered (const TnGraphCut *cut);

typedef struct
{
  const char *program; /* tenon-cli; NULL: tn_graph_layout_program() */
  int seconds;         /* at most; 0: 10 */
  int memory_mib;      /* at most; 0: 1024 */
} TnGraphLayoutLimits;

/** libgvc in a child where the cut has one column, else the own layout; the own one too where @cancellable ends the child. Never NULL.
 * Blocks: call it in a thread. */
TnGraphLayout *tn_graph_layout_make (const TnGraphCut *cut, const TnGraphLayoutLimits *limits, GCancellable *cancellable, GError **error);
/** The same in a thread; @callback gets tn_graph_layout_finish(). */
void tn_graph_layout_make_async (TnGraphCut *cut, const TnGraphLayoutLimits *limits, GCancellable *cancellable, GAsyncReadyCallback callback,
                                 gpointer user_data);
TnGraphLayout *tn_graph_layout_make_finish (GAsyncResult *result, GError **error);
/** tenon-cli beside this program, then in TENON_CLI, then in PATH; NULL where there is none. Free with g_free. */
char *tn_graph_layout_program (void);
/** The child's side: reads sizes and links from @in, lays out, writes places to @out. Exit code. */
int tn_graph_layout_child (FILE *in, FILE *out, int seconds, int memory_mib);

/** Whether no two boxes overlap, boxes and frames lie in their frames, and every drawn edge begins and ends at its boxes; @reason (free
 * with g_free) says what does not hold. */
gboolean tn_graph_layout_check (const TnGraphLayout *self, const TnGraphCut *cut, char **reason);
