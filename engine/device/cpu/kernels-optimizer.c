/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/kernels.h"
#include <math.h>

/* Updates over long flat arrays, cut into tasks of a fixed length. */

#define ELEMENTS_A_TASK 16384

static gboolean
match_momentum (const TnNode *node, const TnCpuTarget *target)
{
  return node->inputs[0]->dtype == TN_DTYPE_F32 && node->inputs[3]->dtype == TN_DTYPE_F32 && tn_node_float (node, "grad_scale") == 1;
}

static int
tasks_update (const TnNode *node, const void *data, const TnCpuTarget *target)
{
  return (int) ((tn_shape_count (&node->inputs[0]->shape) + ELEMENTS_A_TASK - 1) / ELEMENTS_A_TASK);
}

/* Inputs w, v, g, lr; w and v are written in place. */
static void
run_momentum (const TnCpuCall *call)
{
  TnLanesMomentum setting = { .learning_rate = (float) (*(const float *) call->in[3] * tn_node_float (call->node, "lr_factor")),
                              .momentum = (float) tn_node_float (call->node, "momentum"),
                              .weight_decay = (float) tn_node_float (call->node, "weight_decay"),
                              .nesterov = tn_node_bool (call->node, "use_nesterov") };
  size_t n = (size_t) tn_shape_count (&call->node->inputs[0]->shape), from = (size_t) call->task * ELEMENTS_A_TASK;
  call->target->lanes->momentum (&setting, (float *) call->in[0] + from, (float *) call->in[1] + from,
                                 (const float *) call->in[2] + from, MIN ((size_t) ELEMENTS_A_TASK, n - from));
}

static gboolean
match_norm (const TnNode *node, const TnCpuTarget *target)
{
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]->dtype != TN_DTYPE_F32)
      return FALSE;
  return TRUE;
}

static void
run_norm (const TnCpuCall *call)
{
  double total = 0;
  for (int i = 0; i < call->node->n_inputs; i++)
    total += call->target->lanes->sum_of_squares (call->in[i], (size_t) tn_shape_count (&call->node->inputs[i]->shape));
  *(float *) call->out[0] = (float) sqrt (total);
}

const TnCpuKernel tn_cpu_kernels_optimizer[] = {
  { .op = "ApplyMomentum", .name = "flat", .match = match_momentum, .tasks = tasks_update, .run = run_momentum },
  { .op = "GlobalNorm", .name = "flat", .match = match_norm, .run = run_norm },
  { 0 },
};
