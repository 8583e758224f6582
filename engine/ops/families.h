/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "ops/op.h"

/* The rows of each family, ended by a row without a name. */
extern const TnOp tn_ops_leaf[];        /* leaf.c: Input, Parameter, Constant */
extern const TnOp tn_ops_control[];     /* control.c: If, While */
extern const TnOp tn_ops_elementwise[]; /* elementwise.c: Add, Mul, Exp ... */
extern const TnOp tn_ops_compare[];     /* compare.c: Less, Equal, LogicalAnd, Select, Cast ... */
extern const TnOp tn_ops_activation[];  /* activation.c: ReLU, GeLU ... and their gradients */
extern const TnOp tn_ops_reduce[];      /* reduce.c: ReduceSum, CumSum ... */
extern const TnOp tn_ops_random[];      /* random.c: StandardNormal, UniformReal, Bernoulli, Dropout */
extern const TnOp tn_ops_shape[];       /* shape.c: Reshape, Transpose, Concat, Pad ... */
extern const TnOp tn_ops_matmul[];      /* matmul.c: MatMul, BatchMatMul, Einsum, BiasAdd ... */
extern const TnOp tn_ops_conv[];        /* conv.c: Conv2D and its gradients */
extern const TnOp tn_ops_pool[];        /* pool.c: MaxPool, AvgPool ... */
extern const TnOp tn_ops_norm[];        /* norm.c: BatchNorm, LayerNorm ... */
extern const TnOp tn_ops_softmax[];     /* softmax.c: Softmax, LogSoftmax, SoftmaxCrossEntropy ... */
extern const TnOp tn_ops_loss[];        /* loss.c: MSELoss, L1Loss, BCELoss ... */
extern const TnOp tn_ops_index[];       /* index.c: Gather, OneHot, ArgMax, Sort ... */
extern const TnOp tn_ops_optimizer[];   /* optimizer.c: ApplyMomentum, ApplyAdam ... */
extern const TnOp tn_ops_fused[];       /* fused.c: what passes make of several rows */
extern const TnOp tn_ops_collective[];  /* collective.c: AllReduce, AllGather ... */
