/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "draw/graph-cut.h"

/* TnGraphOverlay: one number or word for every operator, shown as the colour of its box and in it.
 *
 * A closed scope shows the sum of what is in it; words show the one that most operators in it have. */
typedef enum
{
  TN_OVERLAY_NONE,
  TN_OVERLAY_TIME,   /* nanoseconds, measured */
  TN_OVERLAY_MEMORY, /* bytes of results */
  TN_OVERLAY_FLOPS,
  TN_OVERLAY_DTYPE
} TnOverlayKind;

typedef struct
{
  TnOverlayKind kind;
  int n_items;
  double *values;     /* by item; NaN: not known */
  double total;
  const char *source; /* "planned", "measured at step 1200" */
  char *source_text;
} TnGraphOverlay;

/** Known without a run. NULL for TN_OVERLAY_NONE and TN_OVERLAY_TIME. */
TnGraphOverlay *tn_graph_overlay_new (const TnGraphDocument *document, TnOverlayKind kind);
/** @nanoseconds: by item, NaN where nothing was measured. */
TnGraphOverlay *tn_graph_overlay_new_times (const TnGraphDocument *document, const double *nanoseconds, const char *source);
void tn_graph_overlay_free (TnGraphOverlay *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraphOverlay, tn_graph_overlay_free)

typedef struct
{
  double value; /* NaN: none */
  const char *word; /* of words; NULL */
} TnBoxValue;

/** What each box of @cut shows. Free with g_free. */
TnBoxValue *tn_graph_overlay_sum (const TnGraphOverlay *self, const TnGraphCut *cut);
/** "0.41 ms · 13 %". Free with g_free. */
char *tn_graph_overlay_text (const TnGraphOverlay *self, TnBoxValue value);
/** "Time per step, measured at step 1200: 3.2 ms in all". Free with g_free. */
char *tn_graph_overlay_legend (const TnGraphOverlay *self);
const char *tn_overlay_kind_title (TnOverlayKind kind);
