/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ir/graph-document.h"

/* Two graphs beside each other: another run's, another mode's, another stage of one compilation.
 *
 * Items are the same when scope, operator, side and ordinal among such agree: never by number or address. */
typedef enum
{
  TN_CHANGE_NONE,
  TN_CHANGE_ADDED,   /* only in the graph that is shown */
  TN_CHANGE_REMOVED, /* only in the other one */
  TN_CHANGE_CHANGED  /* other shape, data type, attributes or inputs */
} TnChange;

typedef struct
{
  TnGraphDocument *document; /* the shown graph with what was removed put in */
  guint8 *changes;           /* TnChange by item of it */
  int n_added, n_removed, n_changed;
} TnGraphComparison;

TnGraphComparison *tn_graph_compare (TnGraphDocument *shown, TnGraphDocument *other);
void tn_graph_comparison_free (TnGraphComparison *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnGraphComparison, tn_graph_comparison_free)
