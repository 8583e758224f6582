/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include "device/cpu/cpu-isa.h"

/* Lanes: kernels for nets with few channels, where each of 16 images has a lane of the vector.
 *
 * Layout. An activation of N images is [G][C][H][W][16] (dense: [G][F][16]) with G = ceil (N / 16); the last index is the
 * image within its group. Unused lanes of the last group are zero on entry and stay finite; tn_lanes_pack() zeroes them,
 * and what enters a weight gradient (dy) must be zero there, which the loss sees to. Weights and their gradients are plain
 * row-major: [O][C / groups][KH][KW], [O][I]. Nothing is repacked: a broadcast scalar meets a vector of images.
 *
 * Memory. The caller owns everything. Lanes arrays and scratch are aligned to 64 bytes; weights, biases, row-major arrays
 * and flat arrays to 4. Nothing allocates except the two constructors, and output never overlaps input unless said so.
 *
 * Work is cut by the caller: [g0, g1) are groups, [r0, r1) rows (outputs) and arrays are always given from their
 * beginning. Descriptors are immutable: any number of threads may run one at the same time on different slices.
 *
 * Bits. An output element of a convolution or dense layer, forward or backward-data, is one chain of fused multiply-adds
 * from 0 over (channel, ky, kx) ascending, taps in the padding left out; then + bias; then ReLU. It does not depend on
 * blocks, slices or threads. So is a dense weight gradient, over n = 0..N-1. A convolution's weight gradient is summed by
 * lane over the groups, rows and columns of one call, in that order (below 16 lanes a vector: the first lanes before the
 * last), then over the lanes in a fixed tree: cut the batch into the same calls for the same bits. All this holds on one
 * instruction level; sse2 has no fused multiply-add.
 *
 *   const TnLanesKernels *k = tn_lanes_kernels (TN_ISA_AUTO);
 *   g_autoptr (TnLanesConv) conv = tn_lanes_conv_new (k, &(TnLanesConvShape){ .channels = 1, ... }, &error);
 *   k->conv_forward (conv, x, w, bias, TRUE, y, 0, n_groups);
 */
#define TN_LANES 16

/** Groups of @n images. */
static inline int
tn_lanes_groups (int64_t n)
{
  return (int) ((n + TN_LANES - 1) / TN_LANES);
}

/** A 2-D convolution without its batch size. Dilation 1 is dense, groups 1 is ordinary. Output sizes follow:
 * out = (in + pads - dilation * (kernel - 1) - 1) / stride + 1. */
typedef struct
{
  int channels, height, width;
  int outputs, kernel_h, kernel_w;
  int stride_h, stride_w;
  int pad_top, pad_bottom, pad_left, pad_right;
  int dilation_h, dilation_w;
  int groups;
} TnLanesConvShape;

/** A pool without its batch size. Windows are clipped to the image, so any padding and any output size (ceil mode) goes
 * in which each window meets at least one element: see tn_lanes_pool_check(). */
typedef struct
{
  int channels, height, width;
  int kernel_h, kernel_w, stride_h, stride_w;
  int pad_top, pad_left;
  int out_height, out_width;
  gboolean count_padding; /* average: divide by the kernel's area, not by the elements met */
} TnLanesPool;

typedef struct
{
  float learning_rate, momentum, weight_decay;
  gboolean nesterov;
} TnLanesMomentum;

typedef struct
{
  float learning_rate, beta1, beta2, epsilon, weight_decay;
  gboolean decoupled;                  /* AdamW: weights decay by learning_rate * weight_decay, outside the moments */
  float bias_correction1, bias_correction2; /* 1 - beta^step; 1 leaves the correction out */
} TnLanesAdam;

typedef struct _TnLanesConv TnLanesConv;
typedef struct _TnLanesDense TnLanesDense;
typedef struct _TnLanesKernels TnLanesKernels;

/** The kernels of one instruction level (%TN_ISA_AUTO: the best). NULL if this machine cannot run it. Static. */
const TnLanesKernels *tn_lanes_kernels (TnIsa isa);

/** Lists the taps of every border case. Free with tn_lanes_conv_free(). Errors: %TN_ERROR_SHAPE if sizes are below 1,
 * pads are negative, groups do not divide, the output is empty, or one image group passes 2 GiB; %TN_ERROR_MEMORY. */
TnLanesConv *tn_lanes_conv_new (const TnLanesKernels *kernels, const TnLanesConvShape *shape, GError **error);
void tn_lanes_conv_free (TnLanesConv *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnLanesConv, tn_lanes_conv_free)
int tn_lanes_conv_out_height (const TnLanesConv *self);
int tn_lanes_conv_out_width (const TnLanesConv *self);
/** Bytes that conv_backward_weights needs for a call over @n_groups; more where there is padding. */
size_t tn_lanes_conv_scratch (const TnLanesConv *self, int n_groups);

/** A dense layer [n_out][n_in] over @n_images. Free with tn_lanes_dense_free(). Errors: %TN_ERROR_SHAPE if a size is
 * below 1 or an array passes 2 GiB; %TN_ERROR_MEMORY. */
TnLanesDense *tn_lanes_dense_new (const TnLanesKernels *kernels, int n_images, int n_in, int n_out, GError **error);
void tn_lanes_dense_free (TnLanesDense *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TnLanesDense, tn_lanes_dense_free)
/** Bytes of the transposed input that dense_transpose writes and dense_backward_weights reads. */
size_t tn_lanes_dense_scratch (const TnLanesDense *self);
/** Panels of dense_transpose: ceil (n_in / 16). */
int tn_lanes_dense_panels (const TnLanesDense *self);

/** Errors: %TN_ERROR_SHAPE if sizes are below 1, pads negative, or some window would lie wholly outside the image. */
gboolean tn_lanes_pool_check (const TnLanesPool *pool, GError **error);
/** Windows of 2 x 2 with stride 2: each alone, each element in one window at most. The gradient may then take the place of x. */
gboolean tn_lanes_pool_is_quarter (const TnLanesPool *pool);

struct _TnLanesKernels
{
  TnIsa isa;
  int width;       /* floats of a vector */
  const struct _TnLanesBlocks *blocks; /*< private >*/

  /* --- convolution: x [G][C][H][W][16], y [G][O][OH][OW][16], w [O][C/groups][KH][KW], bias [O] or NULL;
   * @last_lanes: lanes of group g1 - 1 that hold images, 16 in all before it. With 8 or less and vectors of 8 or less, only
   * the first 8 are computed; the others of the output become 0. --- */

  void (*conv_forward) (const TnLanesConv *conv, const float *x, const float *w, const float *bias, gboolean relu,
                        float *y, int g0, int g1, int last_lanes);
  /** @relu_y: the saved x if that came out of a ReLU: dx is 0 where it is not above 0; or NULL. */
  void (*conv_backward_data) (const TnLanesConv *conv, const float *dy, const float *w, const float *relu_y, float *dx,
                              int g0, int g1, int last_lanes);
  /** Gradients of the groups of this call, stored in @dw and @db (or NULL), or added to them if @accumulate.
   * @scratch: tn_lanes_conv_scratch (conv, g1 - g0) bytes. */
  void (*conv_backward_weights) (const TnLanesConv *conv, const float *x, const float *dy, gboolean accumulate, float *dw,
                                 float *db, void *scratch, int g0, int g1, int last_lanes);

  /** The bias gradient alone, dy [G][O][plane][16], with the bits that conv_backward_weights gives it. */
  void (*bias_gradient) (const float *dy, int outputs, int plane, gboolean accumulate, float *db, int g0, int g1);

  /* --- dense: x [G][I][16], y [G][O][16], w [O][I], bias [O] or NULL --- */

  /** Outputs [r0, r1) of groups [g0, g1). */
  void (*dense_forward) (const TnLanesDense *dense, const float *x, const float *w, const float *bias, gboolean relu,
                         float *y, int r0, int r1, int g0, int g1);
  /** Inputs [r0, r1) of dx. @relu_y as in conv_backward_data. */
  void (*dense_backward_data) (const TnLanesDense *dense, const float *dy, const float *w, const float *relu_y, float *dx,
                               int r0, int r1, int g0, int g1);
  /** Panels [p0, p1) of @xt from x, all groups. */
  void (*dense_transpose) (const TnLanesDense *dense, const float *x, float *xt, int p0, int p1);
  /** Rows [r0, r1) of dw [O][I] and db [O] (or NULL) over the whole batch; bias sums go by lane over groups, then over the
   * lanes in a fixed tree. With @accumulate the chain starts from what @dw holds. */
  void (*dense_backward_weights) (const TnLanesDense *dense, const float *xt, const float *dy, gboolean accumulate,
                                  float *dw, float *db, int r0, int r1);

  /* --- pools --- */

  /** NaN wins over numbers. */
  void (*max_pool_forward) (const TnLanesPool *pool, const float *x, float *y, int g0, int g1);
  /** The gradient goes to the first winner in row-major window order. @relu: x came out of a ReLU whose own gradient is
   * taken here too: nothing where y is not above 0. */
  void (*max_pool_backward) (const TnLanesPool *pool, const float *x, const float *y, const float *dy, gboolean relu,
                             float *dx, int g0, int g1);
  void (*avg_pool_forward) (const TnLanesPool *pool, const float *x, float *y, int g0, int g1);
  void (*avg_pool_backward) (const TnLanesPool *pool, const float *dy, float *dx, int g0, int g1);

  /* --- flat arrays of n floats; outputs may be the inputs --- */

  void (*relu_forward) (const float *x, float *y, size_t n); /* NaN stays NaN */
  void (*relu_backward) (const float *y, const float *dy, float *dx, size_t n);
  void (*add) (const float *a, const float *b, float *y, size_t n);
  void (*multiply) (const float *a, const float *b, float *y, size_t n);
  void (*scale) (float factor, const float *x, float *y, size_t n);
  /** y = x + bias by channel; @plane: positions of a channel (1 for dense). */
  void (*bias_add) (const float *x, const float *bias, float *y, int channels, int plane, int g0, int g1);
  /** velocity = momentum * velocity + g; w -= lr * velocity (nesterov: lr * (g + momentum * velocity)), where
   * g = grad + weight_decay * w. */
  void (*momentum) (const TnLanesMomentum *setting, float *w, float *velocity, const float *grad, size_t n);
  /** w -= lr * (grad + weight_decay * w) */
  void (*sgd) (float learning_rate, float weight_decay, float *w, const float *grad, size_t n);
  /** m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; w -= lr / c1 * m / (sqrt (v / c2) + eps) (Kingma and Ba 2015). */
  void (*adam) (const TnLanesAdam *setting, float *w, float *m, float *v, const float *grad, size_t n);

  /* --- layout: rows [N][F] row-major, lanes [G][F][16]; images are F = C * H * W --- */

  /** Writes groups [g0, g1); lanes from @n_images on become 0. */
  void (*pack) (const float *rows, int n_images, int n_features, float *lanes, int g0, int g1);
  void (*unpack) (const float *lanes, int n_images, int n_features, float *rows, int g0, int g1);

  /* --- loss: logits [G][K][16], labels [N] --- */

  /** loss[n] = log sum exp - logit of the label, dlogits = (softmax - onehot) * scale, exactly 0 in unused lanes. A label
   * outside 0..K-1 is "no label": loss and gradient 0. @loss or @dlogits may be NULL; @dlogits may be @logits. */
  void (*softmax_cross_entropy) (const float *logits, const int32_t *labels, int n_images, int n_classes, float scale,
                                 float *loss, float *dlogits, int g0, int g1);
  /** Row-wise softmax; unused lanes become 0. @y may be @x. */
  void (*softmax) (const float *x, int n_images, int n_classes, float *y, int g0, int g1);
  /** Index of the first largest logit, NaN before all; @best [N] by image. */
  void (*argmax) (const float *logits, int n_images, int n_classes, int32_t *best, int g0, int g1);
  /** y = exp (x) to about 1 ulp, the same bits wherever the element lies; 0 below -87.33. */
  void (*exp) (const float *x, float *y, size_t n);

  /** Sum of x², by lane over stretches of a fixed length, then over the lanes in a fixed tree; stretches in double. */
  double (*sum_of_squares) (const float *x, size_t n);

  /* --- for peak.h --- */

  /** Runs about @rounds * 1024 multiply-adds of vectors in registers; returns the floating-point operations done. */
  double (*burn) (int64_t rounds, float *sink);
  /** Sum by lane, then over the lanes in a fixed tree. */
  float (*sum) (const float *x, size_t n);
  /** y = b + factor * a. */
  void (*triad) (float factor, const float *a, const float *b, float *y, size_t n);
};
