/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* Philox4x32-10: random numbers without state (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
 *
 * A block of four 32-bit words is a pure function of a 64-bit key and a 128-bit counter. The key says whose numbers these
 * are (seed, scope path, ordinal inside the scope), the counter which ones (step, element). So every rank, thread and
 * recomputation draws the same numbers without passing anything on, and a slice is drawn without what lies before it.
 * All functions are pure and may be called from any thread.
 *
 *   uint64_t key = tn_philox_key (seed, "Default/network-LeNet5/conv1", 0);
 *   tn_philox_uniform (key, step, first, n, out);   // elements first .. first+n-1 of the stream
 */

/** The two key words as Random123 orders them: key[0] is the low word. */
typedef struct
{
  uint32_t key[2];
} TnPhilox;

/** One block. Words in Random123's order: counter {lo & ffffffff, lo >> 32, hi & ffffffff, hi >> 32}. */
void tn_philox_block (uint64_t key, uint64_t counter_hi, uint64_t counter_lo, uint32_t out[4]);
TnPhilox tn_philox_words (uint64_t key);

/** Key of one consumer of randomness: FNV-1a (64 bit) over the 8 bytes of @seed, the bytes of @scope_path, a 0 byte and the
 * 4 bytes of @ordinal (integers little endian), then the finalizer of SplitMix64. Never changes: runs are resumed with
 * it. */
uint64_t tn_philox_key (uint64_t seed, const char *scope_path, uint32_t ordinal);

/* From words to numbers. */
/** [0, 1), 24 bits. */
static inline float
tn_philox_to_float (uint32_t word)
{
  return (float) (word >> 8) * 0x1p-24f;
}

/** [0, 1), 53 bits. */
static inline double
tn_philox_to_double (uint32_t high, uint32_t low)
{
  return (double) ((((uint64_t) high << 32) | low) >> 11) * 0x1p-53;
}

/** Two independent standard normal numbers from one block: Box-Muller in double over two 53-bit uniforms. */
void tn_philox_to_normal (const uint32_t words[4], double out[2]);

/* Single draws: element @index of the stream (@key, @step). */
/** An integer in [0, @bound) without bias (Lemire's multiplication with rejection); @bound > 0. Two tries a block; after
 * rejections block {hi: step, lo: @index + attempt·2^56} follows, so @index is less than 2^56. */
uint64_t tn_philox_bounded (uint64_t key, uint64_t step, uint64_t index, uint64_t bound);
double tn_philox_double (uint64_t key, uint64_t step, uint64_t index);

/* Arrays: elements [first_index, first_index + n). Any sub-range gives the same numbers as the whole. Element i of the
 * uniform and Bernoulli streams is word i % 4 of block i / 4; of the normal stream number i % 2 of block i / 2. The
 * counter is {hi: step, lo: block}. */
void tn_philox_uniform (uint64_t key, uint64_t step, uint64_t first_index, size_t n, float *out);
void tn_philox_normal (uint64_t key, uint64_t step, uint64_t first_index, size_t n, float *out);
/** 1 with probability @p (the comparison is made on 24-bit uniforms: u < p). */
void tn_philox_bernoulli (uint64_t key, uint64_t step, uint64_t first_index, size_t n, float p, uint8_t *out);
/** Double-precision streams, of their own: uniform element i is half i % 2 of block i / 2. Normal element i is the same
 * number that tn_philox_normal() rounds to float. */
void tn_philox_uniform_f64 (uint64_t key, uint64_t step, uint64_t first_index, size_t n, double *out);
void tn_philox_normal_f64 (uint64_t key, uint64_t step, uint64_t first_index, size_t n, double *out);

/** Fills @out with a permutation of 0..n-1 (Fisher-Yates, bounded draws n-1 .. 1 of the stream): the same for the same
 * (key, step). */
void tn_philox_shuffle (uint64_t key, uint64_t step, int64_t n, int64_t *out);
