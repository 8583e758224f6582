/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/lanes-plan.h"
#include "device/cpu/lanes-simd.h"

/* What the sources of one instruction level give each other; lanes-table.c gathers it. */

extern const TnLanesBlocks ISA (tn_lanes_blocks);

double ISA (tn_lanes_burn) (int64_t rounds, float *sink);

void ISA (tn_lanes_conv_forward) (const TnLanesConv *conv, const float *x, const float *w, const float *bias,
                                  gboolean relu, float *y, int g0, int g1, int last_lanes);
void ISA (tn_lanes_conv_backward_data) (const TnLanesConv *conv, const float *dy, const float *w, const float *relu_y,
                                        float *dx, int g0, int g1, int last_lanes);
void ISA (tn_lanes_conv_backward_weights) (const TnLanesConv *conv, const float *x, const float *dy, gboolean accumulate,
                                           float *dw, float *db, void *scratch, int g0, int g1, int last_lanes);

void ISA (tn_lanes_bias_gradient) (const float *dy, int outputs, int plane, gboolean accumulate, float *db, int g0, int g1);

void ISA (tn_lanes_dense_forward) (const TnLanesDense *dense, const float *x, const float *w, const float *bias,
                                   gboolean relu, float *y, int r0, int r1, int g0, int g1);
void ISA (tn_lanes_dense_backward_data) (const TnLanesDense *dense, const float *dy, const float *w, const float *relu_y,
                                         float *dx, int r0, int r1, int g0, int g1);
void ISA (tn_lanes_dense_transpose) (const TnLanesDense *dense, const float *x, float *xt, int p0, int p1);
void ISA (tn_lanes_dense_backward_weights) (const TnLanesDense *dense, const float *xt, const float *dy,
                                            gboolean accumulate, float *dw, float *db, int r0, int r1);

void ISA (tn_lanes_max_pool_forward) (const TnLanesPool *pool, const float *x, float *y, int g0, int g1);
void ISA (tn_lanes_max_pool_backward) (const TnLanesPool *pool, const float *x, const float *y, const float *dy,
                                       gboolean relu, float *dx, int g0, int g1);
void ISA (tn_lanes_avg_pool_forward) (const TnLanesPool *pool, const float *x, float *y, int g0, int g1);
void ISA (tn_lanes_avg_pool_backward) (const TnLanesPool *pool, const float *dy, float *dx, int g0, int g1);

void ISA (tn_lanes_relu_forward) (const float *x, float *y, size_t n);
void ISA (tn_lanes_relu_backward) (const float *y, const float *dy, float *dx, size_t n);
void ISA (tn_lanes_add) (const float *a, const float *b, float *y, size_t n);
void ISA (tn_lanes_multiply) (const float *a, const float *b, float *y, size_t n);
void ISA (tn_lanes_scale) (float factor, const float *x, float *y, size_t n);
void ISA (tn_lanes_bias_add) (const float *x, const float *bias, float *y, int channels, int plane, int g0, int g1);
void ISA (tn_lanes_momentum) (const TnLanesMomentum *setting, float *w, float *velocity, const float *grad, size_t n);
void ISA (tn_lanes_sgd) (float learning_rate, float weight_decay, float *w, const float *grad, size_t n);
void ISA (tn_lanes_adam) (const TnLanesAdam *setting, float *w, float *m, float *v, const float *grad, size_t n);
float ISA (tn_lanes_sum) (const float *x, size_t n);
double ISA (tn_lanes_sum_of_squares) (const float *x, size_t n);
void ISA (tn_lanes_triad) (float factor, const float *a, const float *b, float *y, size_t n);
void ISA (tn_lanes_exp) (const float *x, float *y, size_t n);

void ISA (tn_lanes_pack) (const float *rows, int n_images, int n_features, float *lanes, int g0, int g1);
void ISA (tn_lanes_unpack) (const float *lanes, int n_images, int n_features, float *rows, int g0, int g1);

/** Turns a 16 x 16 block: out[j][i] = in[i][j]; strides in floats. */
void ISA (tn_lanes_turn) (const float *in, ptrdiff_t in_stride, float *out, ptrdiff_t out_stride);

void ISA (tn_lanes_softmax_cross_entropy) (const float *logits, const int32_t *labels, int n_images, int n_classes,
                                           float scale, float *loss, float *dlogits, int g0, int g1);
void ISA (tn_lanes_softmax) (const float *x, int n_images, int n_classes, float *y, int g0, int g1);
void ISA (tn_lanes_argmax) (const float *logits, int n_images, int n_classes, int32_t *best, int g0, int g1);
