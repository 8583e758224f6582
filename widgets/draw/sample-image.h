/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "data/dataset.h"

/* A sample, or any array of rows of numbers, as a picture: for tiles, kernels and heat maps. No GTK, any thread.
 *
 *   int width, height;
 *   g_autofree uint8_t *pixels = tn_sample_image (dataset, id, 96, &width, &height);   // premultiplied ARGB32, stride width * 4
 */

/** Whether samples of @shape are pictures: (C, H, W) with 1 or 3 channels, or (H, W). */
gboolean tn_shape_is_picture (const TnShape *shape);
/** The sample enlarged by a whole number, so that its pixels stay sharp, to at most @size a side (never smaller than it is up to
 * 512 a side; larger ones are thinned). NULL for what is no picture. Free with g_free. */
uint8_t *tn_sample_image (TnDataset *dataset, int64_t id, int size, int *width, int *height);
/** @values [channels][rows][columns] from @low (black) to @high (white); 1 channel is grey. Enlarged by @factor. */
uint8_t *tn_values_image (const float *values, int channels, int rows, int columns, float low, float high, int factor);
