/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* TnConv2dGeometry: the sizes of a two-dimensional convolution with everything resolved, pad_mode "same" included. The
 * same for Conv2D, Conv2DBackpropInput and Conv2DBackpropFilter of one layer. */
typedef struct
{
  int64_t n, c, h, w;    /* input [n][c][h][w] */
  int64_t o, kh, kw;     /* weights [o][c/group][kh][kw] */
  int64_t oh, ow;        /* output [n][o][oh][ow] */
  int64_t stride_h, stride_w;
  int64_t dilation_h, dilation_w;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  int64_t group;
} TnConv2dGeometry;

/** @node: one of the three rows or their fused forms, which has passed its shape rule. */
void tn_conv2d_geometry (const TnNode *node, TnConv2dGeometry *out);
