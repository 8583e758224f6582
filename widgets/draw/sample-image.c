/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/sample-image.h"

#include <math.h>

#define MAX_SIDE 512

gboolean
tn_shape_is_picture (const TnShape *shape)
{
  if (shape->n_dims == 2)
    return shape->dims[0] > 1 && shape->dims[1] > 1;
  return shape->n_dims == 3 && (shape->dims[0] == 1 || shape->dims[0] == 3);
}

static uint32_t
pixel_of (const float *rgb, int channels, float low, float scale)
{
  uint32_t out = 0xff000000u;
  for (int c = 0; c < 3; c++)
    {
      float value = (rgb[channels == 1 ? 0 : c] - low) * scale;
      uint32_t level = isfinite (value) ? (uint32_t) lrintf (CLAMP (value, 0.0f, 1.0f) * 255) : 0;
      out |= level << (16 - 8 * c);
    }
  return out;
}

static void
fill (uint32_t *pixels, int stride, int x0, int y0, int factor, uint32_t pixel)
{
  for (int y = 0; y < factor; y++)
    for (int x = 0; x < factor; x++)
      pixels[(size_t) (y0 + y) * (size_t) stride + (size_t) (x0 + x)] = pixel;
}

uint8_t *
tn_values_image (const float *values, int channels, int rows, int columns, float low, float high, int factor)
{
  int width = columns * factor;
  uint32_t *pixels = g_new (uint32_t, (size_t) width * (size_t) rows * (size_t) factor);
  float scale = high > low ? 1 / (high - low) : 0;
  size_t plane = (size_t) rows * (size_t) columns;
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < columns; x++)
      {
        float rgb[3] = { 0 };
        for (int c = 0; c < MIN (channels, 3); c++)
          rgb[c] = values[(size_t) c * plane + (size_t) y * (size_t) columns + (size_t) x];
        fill (pixels, width, x * factor, y * factor, factor, pixel_of (rgb, channels, low, scale));
      }
  return (uint8_t *) pixels;
}

/* Values of the picture, thinned by @step. Bytes go from 0 to 255, floats over the sample's own range. */
static float *
read_values (const TnDataset *dataset, const void *sample, int channels, int rows, int columns, int step, float *low, float *high)
{
  int out_rows = rows / step, out_columns = columns / step;
  float *values = g_new (float, (size_t) channels * (size_t) out_rows * (size_t) out_columns), *out = values;
  *low = 0;
  *high = 255;
  if (dataset->dtype != TN_DTYPE_U8)
    {
      *low = INFINITY;
      *high = -INFINITY;
    }
  for (int c = 0; c < channels; c++)
    for (int y = 0; y < out_rows; y++)
      for (int x = 0; x < out_columns; x++)
        {
          size_t at = ((size_t) c * (size_t) rows + (size_t) (y * step)) * (size_t) columns + (size_t) (x * step);
          float value = dataset->dtype == TN_DTYPE_U8 ? ((const uint8_t *) sample)[at] : ((const float *) sample)[at];
          *out++ = value;
          if (dataset->dtype != TN_DTYPE_U8 && isfinite (value))
            {
              *low = MIN (*low, value);
              *high = MAX (*high, value);
            }
        }
  return values;
}

uint8_t *
tn_sample_image (TnDataset *dataset, int64_t id, int size, int *width, int *height)
{
  const TnShape *shape = &dataset->sample_shape;
  if (!tn_shape_is_picture (shape) || (dataset->dtype != TN_DTYPE_U8 && dataset->dtype != TN_DTYPE_F32))
    return NULL;
  int64_t n = shape->n_dims, side = MAX (shape->dims[n - 1], shape->dims[n - 2]);
  if (side > 1 << 20)
    return NULL;
  int channels = n == 3 ? (int) shape->dims[0] : 1, rows = (int) shape->dims[n - 2], columns = (int) shape->dims[n - 1];
  int step = (int) ((side + MAX_SIDE - 1) / MAX_SIDE), factor = MAX (size / (int) (side / step), 1);
  if (rows / step < 1 || columns / step < 1)
    return NULL;
  g_autofree void *scratch = g_malloc (dataset->sample_bytes);
  float low, high;
  g_autofree float *values = read_values (dataset, tn_dataset_sample (dataset, id, scratch), channels, rows, columns, step, &low, &high);
  *width = columns / step * factor;
  *height = rows / step * factor;
  return tn_values_image (values, channels, rows / step, columns / step, low, high, factor);
}
