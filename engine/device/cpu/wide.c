/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/wide.h"
#include "device/cpu/dnnl-conv.h"

#define CHUNK_BYTES (384 << 10) /* weights up to this stay whole: they fit a second-level cache */
#define CHUNK_CHANNELS 64       /* measured: fewer start oneDNN's kernels too often, more fall out of the cache */

gboolean
tn_wide_image (const TnValue *value, const TnCpuTarget *target, int64_t channels)
{
  const TnShape *shape = &value->shape;
  return value->dtype == TN_DTYPE_F32 && shape->n_dims == 4 && shape->dims[1] >= channels && shape->dims[1] % target->block == 0
         && tn_shape_count (shape) > 0 && tn_shape_count (shape) < G_MAXINT32;
}

int64_t
tn_wide_chunk (int64_t channels, int64_t others, int64_t taps, int block)
{
  if (channels * others * taps * (int64_t) sizeof (float) <= CHUNK_BYTES)
    return channels;
  int64_t blocks = channels / block, m = CHUNK_CHANNELS / block;
  while (blocks % m != 0)
    m--;
  return m * block;
}

/* [b of o][b of c][taps] of @w to [taps][b of c][b of o]. */
static void
pack_tile (const float *w, int64_t row, int64_t taps, int b, float *to)
{
  for (int o = 0; o < b; o++)
    for (int i = 0; i < b; i++)
      for (int64_t k = 0; k < taps; k++)
        to[(k * b + i) * b + o] = w[o * row + i * taps + k];
}

/* The same to [taps][b of o][b of c]. */
static void
pack_tile_back (const float *w, int64_t row, int64_t taps, int b, float *to)
{
  for (int o = 0; o < b; o++)
    for (int i = 0; i < b; i++)
      for (int64_t k = 0; k < taps; k++)
        to[(k * b + o) * b + i] = w[o * row + i * taps + k];
}

void
tn_wide_pack_filter (const float *w, int64_t o, int64_t c, int64_t taps, int block, float *packed, int64_t o0, int64_t o1)
{
  int64_t row = c * taps, b = block;
  for (int64_t ob = o0; ob < o1; ob++)
    if (c <= TN_DNNL_FEW_CHANNELS)
      {
        for (int64_t i = 0; i < c; i++)
          for (int64_t k = 0; k < taps; k++)
            for (int64_t j = 0; j < b; j++)
              packed[((ob * taps + k) * c + i) * b + j] = w[(ob * b + j) * row + i * taps + k];
      }
    else
      for (int64_t cb = 0; cb < c / b; cb++)
        pack_tile (w + ob * b * row + cb * b * taps, row, taps, block, packed + (ob * (c / b) + cb) * taps * b * b);
}

void
tn_wide_pack_filter_back (const float *w, int64_t o, int64_t c, int64_t taps, int block, float *packed, int64_t k0, int64_t k1)
{
  int64_t row = c * taps, b = block, blocks = tn_wide_chunk (c, o, taps, block) / b;
  for (int64_t chunk = k0; chunk < k1; chunk++)
    for (int64_t ob = 0; ob < o / b; ob++)
      for (int64_t i = 0; i < blocks; i++)
        pack_tile_back (w + ob * b * row + (chunk * blocks + i) * b * taps, row, taps, block,
                        packed + ((chunk * (o / b) + ob) * blocks + i) * taps * b * b);
}

void
tn_wide_unpack_filter (const float *packed, int64_t o, int64_t c, int64_t taps, int block, float *w)
{
  int64_t row = c * taps, b = block;
  for (int64_t ob = 0; ob < o / b; ob++)
    for (int64_t j = 0; j < b; j++)
      for (int64_t i = 0; i < c; i++)
        {
          float *to = w + (ob * b + j) * row + i * taps;
          const float *from = c <= TN_DNNL_FEW_CHANNELS ? packed + (ob * taps * c + i) * b + j
                                                        : packed + (ob * (c / b) + i / b) * taps * b * b + i % b * b + j;
          int64_t step = c <= TN_DNNL_FEW_CHANNELS ? c * b : b * b;
          for (int64_t k = 0; k < taps; k++)
            to[k] = from[k * step];
        }
}
