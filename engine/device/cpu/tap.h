/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/plan.h"
#include "tensor/tensor.h"

/* TnTap: reads what nodes of a plan made, while the plan runs in GRAPH mode.
 *
 * A tap sits on the span hook and copies a node's output, row-major, as it is made: also values that live in a worker's
 * slice buffer only. Nothing of the plan changes, so neither do its bits. Any number of taps share one set.
 *
 *   g_autoptr (TnTapSet) taps = tn_tap_set_new (plan);
 *   int i = tn_tap_set_add (taps, "Default/network-LeNet5/conv1-Conv2d/FusedConv2D-op0", 0, &error);
 *   run.hook = tn_tap_set_hook (taps);
 *   tn_plan_run (plan, &run, ...);
 *   TnTensor *activation = tn_tap_set_value (taps, i);
 */
typedef struct _TnTapSet TnTapSet;

TnTapSet *tn_tap_set_new (TnPlan *plan);
void tn_tap_set_free (TnTapSet *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnTapSet, tn_tap_set_free)

/** Taps output @output of the node named @node; its number in the set, or -1. A node that a pass merged into another or
 * left out is an error that names what the plan has in its place. */
int tn_tap_set_add (TnTapSet *self, const char *node, int output, GError **error);
/** Belongs to @self. */
const TnSpanHook *tn_tap_set_hook (TnTapSet *self);
/** What the last run made; zeros before the first. Sums over the batch are those of all rows. */
TnTensor *tn_tap_set_value (TnTapSet *self, int tap);
