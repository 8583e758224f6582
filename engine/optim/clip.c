/* SPDX-License-Identifier: Apache-2.0 */
#include "optim/clip.h"

#include <math.h>
#include "base/error.h"

TnValue *
tn_clip_by_global_norm (TnGraph *graph, int n, TnValue **gradients, double max_norm)
{
  if (!(max_norm > 0) || !isfinite (max_norm) || n < 1)
    {
      tn_graph_fail (graph, g_error_new (TN_ERROR, TN_ERROR_INVALID_ARGUMENT,
                                         _ ("clipping by global norm: the largest norm is %g and must be greater than 0"), max_norm));
      return NULL;
    }
  tn_graph_push_scope (graph, "clip");
  TnValue *norm = tn_op (graph, "GlobalNorm", n, gradients, TN_NO_ATTRS);
  TnValue *room = tn_op (graph, "Add", TN_IN (norm, tn_graph_add_scalar (graph, TN_DTYPE_F32, 1e-6)), TN_NO_ATTRS);
  TnValue *share = tn_op (graph, "Div", TN_IN (tn_graph_add_scalar (graph, TN_DTYPE_F32, max_norm), room), TN_NO_ATTRS);
  share = tn_op (graph, "Minimum", TN_IN (share, tn_graph_add_scalar (graph, TN_DTYPE_F32, 1)), TN_NO_ATTRS);
  for (int i = 0; i < n && !tn_graph_failed (graph); i++)
    {
      TnValue *factor = share;
      if (gradients[i]->dtype != TN_DTYPE_F32)
        factor = tn_op (graph, "Cast", TN_IN (share), TN_ATTRS (tn_attr_dtype ("dtype", gradients[i]->dtype)));
      gradients[i] = tn_op (graph, "Mul", TN_IN (gradients[i], factor), TN_NO_ATTRS);
    }
  tn_graph_pop_scope (graph);
  return tn_graph_failed (graph) ? NULL : norm;
}
