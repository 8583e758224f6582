/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* TnPool2dGeometry: the sizes of two-dimensional pooling with everything resolved, pad_mode "same" and ceil_mode included.
 * The same for MaxPool, MaxPoolGrad, AvgPool and AvgPoolGrad of one layer. */
typedef struct
{
  int64_t n, c, h, w; /* input [n][c][h][w] */
  int64_t oh, ow;     /* output [n][c][oh][ow] */
  int64_t kh, kw;
  int64_t stride_h, stride_w;
  int64_t dilation_h, dilation_w;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  gboolean count_include_pad; /* AvgPool: padding counts in the divisor */
  int64_t divisor_override;   /* AvgPool: 0: none */
} TnPool2dGeometry;

/** @node: one of the four rows, which has passed its shape rule. */
void tn_pool2d_geometry (const TnNode *node, TnPool2dGeometry *out);
