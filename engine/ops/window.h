/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* TnWindow: how a kernel slides over up to three spatial axes, outermost first: what convolution and pooling share.
 * Output place o reads input places o·stride - before + k·dilation for k = 0..kernel-1, as far as they lie inside. */
#define TN_WINDOW_AXES 3

typedef struct
{
  int64_t in, kernel, stride, dilation, before, after, out;
} TnWindowAxis;

typedef struct
{
  int n_axes;
  TnWindowAxis axis[TN_WINDOW_AXES];
} TnWindow;

/**
 * tn_window_resolve: from the attributes @stride_name, "dilation", "pad_mode" (pad, same, valid) and "pad" (before and
 * after of each axis, for pad_mode "pad"). @ceil: the last window may begin inside and end outside (torch's ceil_mode).
 * same: out = ceil (in / stride), half of the padding (rounded down) before, the rest after (MindSpore).
 * Errors: a window larger than the padded input, numbers out of range.
 */
gboolean tn_window_resolve (const TnNode *node, const char *stride_name, gboolean ceil, int n_axes, const int64_t *in,
                            const int64_t *kernel, TnWindow *window, GError **error);

/** Kernel places that lie inside the input for output place @o: *first to *last - 1. */
static inline void
tn_window_inside (const TnWindowAxis *axis, int64_t o, int64_t *first, int64_t *last)
{
  int64_t start = o * axis->stride - axis->before, d = axis->dilation;
  *first = start < 0 ? (-start + d - 1) / d : 0;
  *last = start >= axis->in ? 0 : (axis->in - start + d - 1) / d;
  if (*last > axis->kernel)
    *last = axis->kernel;
}

/** Output places whose input place for kernel place @k lies inside: *first to *last - 1. */
static inline void
tn_window_places (const TnWindowAxis *axis, int64_t k, int64_t *first, int64_t *last)
{
  int64_t shift = k * axis->dilation - axis->before, s = axis->stride;
  *first = shift < 0 ? (-shift + s - 1) / s : 0;
  *last = shift >= axis->in ? 0 : (axis->in - shift + s - 1) / s;
  if (*last > axis->out)
    *last = axis->out;
}
