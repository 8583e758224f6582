/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/broadcast.h"
#include "base/error.h"
#include <string.h>

/* Strides of @input seen through @output: right-aligned, 0 where it is stretched. */
static void
stretched_strides (const TnShape *output, const TnShape *input, int64_t strides[TN_MAX_DIMS])
{
  int64_t own[TN_MAX_DIMS];
  int added = output->n_dims - input->n_dims;
  tn_shape_strides (input, own);
  for (int d = 0; d < output->n_dims; d++)
    strides[d] = d < added || input->dims[d - added] == 1 ? 0 : own[d - added];
}

static gboolean
can_merge (const TnBroadcast *self, int outer, int64_t inner_size, int64_t inner_strides[][TN_MAX_DIMS], int d)
{
  for (int k = 0; k < self->n_inputs; k++)
    if (self->strides[k][outer] != inner_strides[k][d] * inner_size)
      return FALSE;
  return TRUE;
}

void
tn_broadcast_init (TnBroadcast *self, const TnShape *output, int n_inputs, const TnShape *const *inputs)
{
  int64_t strides[TN_BROADCAST_MAX_INPUTS][TN_MAX_DIMS];
  memset (self, 0, sizeof *self);
  self->n_inputs = n_inputs;
  for (int k = 0; k < n_inputs; k++)
    stretched_strides (output, inputs[k], strides[k]);
  for (int d = 0; d < output->n_dims; d++)
    {
      int64_t size = output->dims[d];
      if (size == 1)
        continue;
      int at = self->n_dims;
      if (at > 0 && can_merge (self, at - 1, size, strides, d))
        self->dims[--at] *= size;
      else
        self->dims[at] = size;
      for (int k = 0; k < n_inputs; k++)
        self->strides[k][at] = strides[k][d];
      self->n_dims = at + 1;
    }
  /* The innermost dimension becomes the row, if all inputs are 0 or 1 apart in it: they are, being row-major. */
  self->row_length = 1;
  if (self->n_dims > 0)
    {
      self->n_dims--;
      self->row_length = self->dims[self->n_dims];
      for (int k = 0; k < n_inputs; k++)
        self->row_steps[k] = self->strides[k][self->n_dims] != 0;
    }
  self->rows = 1;
  for (int d = 0; d < self->n_dims; d++)
    self->rows *= self->dims[d];
  if (self->row_length == 0)
    self->rows = 0;
}

void
tn_broadcast_next (const TnBroadcast *self, TnBroadcastWalk *walk)
{
  for (int d = self->n_dims - 1; d >= 0; d--)
    {
      for (int k = 0; k < self->n_inputs; k++)
        walk->offsets[k] += self->strides[k][d];
      if (++walk->index[d] < self->dims[d])
        return;
      for (int k = 0; k < self->n_inputs; k++)
        walk->offsets[k] -= self->strides[k][d] * self->dims[d];
      walk->index[d] = 0;
    }
}

static gboolean
no_kernel (const TnKernelContext *context, GError **error)
{
  return tn_infer_error (context->node, error, _ ("no kernel for %s"), tn_dtype_name (tn_in_dtype (context->node, 0)));
}

gboolean
tn_run_unary (const TnKernelContext *context, const TnUnaryKernel *kernel, const double *p, GError **error)
{
  TnDType dtype = tn_in_dtype (context->node, 0);
  int64_t n = tn_shape_count (tn_in_shape (context->node, 0));
  if (dtype == TN_DTYPE_F32)
    kernel->f32 (n, context->in[0], context->out[0], p);
  else if (dtype == TN_DTYPE_F64)
    kernel->f64 (n, context->in[0], context->out[0], p);
  else if (kernel->integer != NULL && !tn_dtype_is_float (dtype))
    for (int64_t i = 0; i < n; i++)
      tn_store_wrapped (context->node->outputs[0].dtype, context->out[0], i,
                        kernel->integer (tn_dtype_load_int (dtype, context->in[0], (size_t) i)));
  else
    return no_kernel (context, error);
  return TRUE;
}

static void
integer_row (const TnBinaryKernel *kernel, TnDType dtype, int64_t n, const char *a, int a_step, const char *b, int b_step,
             TnDType out_dtype, char *out)
{
  for (int64_t i = 0; i < n; i++)
    tn_store_wrapped (out_dtype, out, i,
                      kernel->integer (tn_dtype_load_int (dtype, a, (size_t) (i * a_step)),
                                       tn_dtype_load_int (dtype, b, (size_t) (i * b_step))));
}

gboolean
tn_run_binary (const TnKernelContext *context, const TnBinaryKernel *kernel, const double *p, GError **error)
{
  const TnNode *node = context->node;
  TnDType dtype = tn_in_dtype (node, 0), out_dtype = node->outputs[0].dtype;
  TnBinaryRow row = dtype == TN_DTYPE_F32 ? kernel->f32 : dtype == TN_DTYPE_F64 ? kernel->f64 : NULL;
  if (row == NULL && (kernel->integer == NULL || tn_dtype_is_float (dtype)))
    return no_kernel (context, error);
  TnBroadcast broadcast;
  TnBroadcastWalk walk = { 0 };
  tn_broadcast_init (&broadcast, &node->outputs[0].shape, 2, (const TnShape *[]){ tn_in_shape (node, 0), tn_in_shape (node, 1) });
  size_t in_size = tn_dtype_size (dtype), out_size = tn_dtype_size (out_dtype);
  for (int64_t r = 0; r < broadcast.rows; r++, tn_broadcast_next (&broadcast, &walk))
    {
      const char *a = (const char *) context->in[0] + (size_t) walk.offsets[0] * in_size;
      const char *b = (const char *) context->in[1] + (size_t) walk.offsets[1] * in_size;
      char *out = (char *) context->out[0] + (size_t) (r * broadcast.row_length) * out_size;
      if (row != NULL)
        row (broadcast.row_length, a, broadcast.row_steps[0], b, broadcast.row_steps[1], out, p);
      else
        integer_row (kernel, dtype, broadcast.row_length, a, broadcast.row_steps[0], b, broadcast.row_steps[1], out_dtype, out);
    }
  return TRUE;
}
