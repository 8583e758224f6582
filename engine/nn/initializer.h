/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "tensor/tensor.h"

/* Initializers: how the first values of a parameter are drawn.
 *
 * An initializer is a short text, so that it can stand in a model file, in a graph and in a command line. Names are
 * MindSpore's, case and underscores do not matter, arguments may be named:
 *
 *   zeros  ones  constant(0.1)  0.1  normal(0.01)  normal(sigma, mean)  truncated_normal(sigma, mean, a, b)  uniform(0.07)
 *   xavier_uniform(gain)  xavier_normal(gain)  he_uniform(negative_slope, fan_in|fan_out, leaky_relu|relu|tanh|linear|sigmoid)
 *   he_normal(...)  variance_scaling(scale, fan_in|fan_out|fan_avg, truncated_normal|untruncated_normal|uniform)
 *   uniform_fan_in  (+-1/sqrt(fan_in))  sparse(sparsity, sigma)  identity  dirac(groups)  orthogonal(gain)
 *
 * "sqrt5" is a number where one is expected: he_uniform(sqrt5) is the weight of MindSpore 2's and PyTorch's layers.
 *
 * Values are made element by element from (seed, parameter name, global element index) by the counter-based generator, so
 * a slice of a parameter can be made where it is needed without the rest (deferred initialisation), and equals that slice
 * of the whole. orthogonal and sparse make the whole matrix (sparse: a column) on the way. Functions are pure and may be
 * called from any thread.
 *
 *   if (!tn_initializer_fill ("he_uniform(sqrt5)", "conv1.weight", seed, tensor, &error)) ...
 */

/** FALSE with TN_ERROR_INVALID_ARGUMENT, naming the place and a "did you mean", if @text is not an initializer. */
gboolean tn_initializer_check (const char *text, GError **error);

/** Whether the initializer can make a parameter of @shape: fans need 2 dimensions, identity exactly 2, dirac 3 to 5. */
gboolean tn_initializer_check_shape (const char *text, const TnShape *shape, GError **error);

/**
 * tn_initializer_fill:
 * @text: an initializer
 * @parameter_name: the key under which values are drawn
 * @out: float16, bfloat16, float32 or float64, or an integer type for values that are integers; contiguous
 */
gboolean tn_initializer_fill (const char *text, const char *parameter_name, uint64_t seed, TnTensor *out, GError **error);

/** The box of a parameter of shape @whole that begins at @start and has the shape of @out. */
gboolean tn_initializer_fill_box (const char *text, const char *parameter_name, uint64_t seed, const TnShape *whole,
                                  const int64_t *start, TnTensor *out, GError **error);

/** fan_in = shape[1] x receptive field, fan_out = shape[0] x receptive field of a weight [out][in][...]. */
void tn_initializer_fans (const TnShape *shape, double *fan_in, double *fan_out);
