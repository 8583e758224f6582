/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/kernels.h"

/* Wide: nets whose layers have enough channels that a vector holds b of them (TN_LAYOUT_BLOCKED). What the kernels of
 * such nets, kernels-wide.c, kernels-norm.c and kernels-blocked.c, decide alike. */

#define TN_WIDE_CHANNELS 48       /* of an image that is kept blocked; fewer do better in lanes */
#define TN_WIDE_INPUT_CHANNELS 32 /* of a convolution's input, if its output has TN_WIDE_CHANNELS */

/** Whether @value is a batch of float32 images that wide kernels take: [N][C][H][W], C whole blocks and at least
 * @channels. */
gboolean tn_wide_image (const TnValue *value, const TnCpuTarget *target, int64_t channels);

/** Channels of a chunk when weights [channels][others][taps] are cut by their channels so that a chunk stays in the cache
 * while images pass by: whole blocks, a divisor of @channels. Depends on the weights alone, for they are packed by it. */
int64_t tn_wide_chunk (int64_t channels, int64_t others, int64_t taps, int block);

/** Packs weights [o][c][taps] for oneDNN: forward (TN_LAYOUT_FILTER, output blocks [o0, o1)) or backward data
 * (TN_LAYOUT_FILTER_BACK, chunk by chunk of tn_wide_chunk (c, o, taps), chunks [k0, k1)). */
void tn_wide_pack_filter (const float *w, int64_t o, int64_t c, int64_t taps, int block, float *packed, int64_t o0, int64_t o1);
void tn_wide_pack_filter_back (const float *w, int64_t o, int64_t c, int64_t taps, int block, float *packed, int64_t k0, int64_t k1);
/** The reverse of tn_wide_pack_filter() for all of @o: @w is [o][c][taps]. */
void tn_wide_unpack_filter (const float *packed, int64_t o, int64_t c, int64_t taps, int block, float *w);
