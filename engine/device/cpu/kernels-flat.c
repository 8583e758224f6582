/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/kernels.h"

/* Elementwise kernels that do not care how their operands lie, as long as they lie alike. */

static gboolean
match_alike (const TnNode *node, const TnCpuTarget *target)
{
  const TnValue *x = node->inputs[0];
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i]->dtype != TN_DTYPE_F32 || !tn_shape_equal (&node->inputs[i]->shape, &x->shape))
      return FALSE;
  return x->shape.n_dims > 0 && tn_shape_count (&x->shape) > 0;
}

static void
run_relu (const TnCpuCall *call)
{
  call->target->lanes->relu_forward (call->in[0], call->out[0], call->elements);
}

static void
run_relu_grad (const TnCpuCall *call)
{
  call->target->lanes->relu_backward (call->in[1], call->in[0], call->out[0], call->elements);
}

static void
run_add (const TnCpuCall *call)
{
  call->target->lanes->add (call->in[0], call->in[1], call->out[0], call->elements);
}

static void
run_mul (const TnCpuCall *call)
{
  call->target->lanes->multiply (call->in[0], call->in[1], call->out[0], call->elements);
}

#define S TN_LAYOUT_SAME
#define FLAT(op_, run_)                                                                                                          \
  { .op = op_, .name = "flat", .sliced = TRUE, .inplace = TRUE, .in = { S, S }, .out = { S }, .match = match_alike, .run = run_ }

const TnCpuKernel tn_cpu_kernels_flat[] = {
  FLAT ("ReLU", run_relu), FLAT ("ReLUGrad", run_relu_grad), FLAT ("Add", run_add), FLAT ("Mul", run_mul), { 0 },
};
