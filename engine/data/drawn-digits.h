/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* Drawn digits: handwriting made by a procedure, so that a fresh installation can train something real without a download.
 *
 * Ten classes, 28x28 grey levels, white on black, prepared like MNIST: the strokes fit a 20x20 box and the centre of mass
 * lies in the middle of the picture. Each digit has several ways of being written (splines through control points); a
 * sample picks one and varies control points, slant, rotation, proportions, bend, pen width, edge softness, ink level and
 * grain. Everything about sample @index of @seed comes from Philox with that key and counter: any sample can be made
 * alone, by any thread, in any order, and always the same.
 *
 * The class is index % 10, so every run of ten samples holds each digit once.
 *
 * The constants in drawn-digits.c are fixed: a project that names this set and a seed must find the same pixels in a
 * later version. Measured with seed 1 when they were fixed, training on samples 0..11999, testing on 12000..13999: logistic
 * regression 87 % (its best over 40 epochs 87.8 %), LeNet-5 after 4 epochs 97.8 %; that LeNet-5, which never saw another
 * digit, read 92.5 % of the last 10,000 pictures of ../shared/data/mnist (88 to 93 % after each of its epochs). One core draws
 * about 70,000 samples a second. */

#define TN_DRAWN_DIGITS_SIDE 28
#define TN_DRAWN_DIGITS_PIXELS (28 * 28)
#define TN_DRAWN_DIGITS_CLASSES 10

/** Draws sample @index (>= 0) of the set @seed into @pixels ([28][28], rows first) and returns its class, 0..9. */
int tn_drawn_digits_draw (uint64_t seed, int64_t index, uint8_t pixels[TN_DRAWN_DIGITS_PIXELS]);
/** Draws @n samples from @first on, one after the other in @pixels ([n][28][28]); @labels may be NULL. */
void tn_drawn_digits_fill (uint64_t seed, int64_t first, int64_t n, uint8_t *pixels, int32_t *labels);
