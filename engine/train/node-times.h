/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/plan.h"

/* TnNodeTimes: how long each node of a plan takes, while somebody asks.
 *
 * Sits on the span hook: two clock reads a call, added up without locks in memory of each worker's own. A node's time is that of
 * all its calls (slices, sums, conversions) on all workers: processor time and not the share of the wall clock. */
typedef struct _TnNodeTimes TnNodeTimes;

#define TN_NODE_TIMES_STEPS 20 /* a report is the mean over so many */

/** What one report says. One block of memory: g_free(). */
typedef struct
{
  gint64 step;  /* steps done at its end */
  guint n_steps, n;
  const guint32 *ids;    /* of nodes in the planned graph, see tn_node_times_table() */
  const double *mean_ns; /* of one step */
} TnNodeTimesReport;

TnNodeTimes *tn_node_times_new (TnPlan *plan, int n_workers);
void tn_node_times_free (TnNodeTimes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnNodeTimes, tn_node_times_free)
/** For tn_program_set_span_hook(); calls of other plans are not counted. */
const TnSpanHook *tn_node_times_hook (TnNodeTimes *self);
/** A step of the plan is done; every TN_NODE_TIMES_STEPS-th time a report, and the sums begin anew. Not while the plan runs. */
TnNodeTimesReport *tn_node_times_step (TnNodeTimes *self, gint64 steps_done);
/** (transfer full): "a(usss)": id, name, scope and phase of each node that has calls, in the order of reports. */
GVariant *tn_node_times_table (const TnNodeTimes *self);
TnNodeTimesReport *tn_node_times_report_copy (const TnNodeTimesReport *report);
