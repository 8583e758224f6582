/* SPDX-License-Identifier: Apache-2.0 */
#include "base/philox.h"

#include <math.h>
#include <string.h>

/* Multipliers and Weyl increments of the paper, section 4.3 and Random123's philox.h. */
#define M0 0xd2511f53u
#define M1 0xcd9e8d57u
#define W0 0x9e3779b9u
#define W1 0xbb67ae85u
#define ROUNDS 10

TnPhilox
tn_philox_words (uint64_t key)
{
  return (TnPhilox){ { (uint32_t) key, (uint32_t) (key >> 32) } };
}

void
tn_philox_block (uint64_t key, uint64_t counter_hi, uint64_t counter_lo, uint32_t out[4])
{
  TnPhilox words = tn_philox_words (key);
  uint32_t k0 = words.key[0], k1 = words.key[1];
  uint32_t c0 = (uint32_t) counter_lo, c1 = (uint32_t) (counter_lo >> 32);
  uint32_t c2 = (uint32_t) counter_hi, c3 = (uint32_t) (counter_hi >> 32);

  for (int round = 0; round < ROUNDS; round++)
    {
      uint64_t p0 = (uint64_t) M0 * c0;
      uint64_t p1 = (uint64_t) M1 * c2;
      c0 = (uint32_t) (p1 >> 32) ^ c1 ^ k0;
      c1 = (uint32_t) p1;
      c2 = (uint32_t) (p0 >> 32) ^ c3 ^ k1;
      c3 = (uint32_t) p0;
      k0 += W0;
      k1 += W1;
    }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

static uint64_t
fnv1a (uint64_t hash, const void *data, size_t n)
{
  const uint8_t *bytes = data;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  return hash;
}

uint64_t
tn_philox_key (uint64_t seed, const char *scope_path, uint32_t ordinal)
{
  g_return_val_if_fail (scope_path != NULL, 0);
  uint64_t seed_le = GUINT64_TO_LE (seed);
  uint32_t ordinal_le = GUINT32_TO_LE (ordinal);
  uint64_t hash = fnv1a (0xcbf29ce484222325ull, &seed_le, sizeof seed_le);
  hash = fnv1a (hash, scope_path, strlen (scope_path) + 1);
  hash = fnv1a (hash, &ordinal_le, sizeof ordinal_le);

  /* FNV leaves neighbours (ordinal 0, 1, ...) alike in the high bits; the finalizer of SplitMix64 spreads them. */
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 31);
}

void
tn_philox_to_normal (const uint32_t words[4], double out[2])
{
  /* 1 - u is in (0, 1]: the logarithm is finite, the largest number drawn is sqrt (2·53·ln 2) = 8.57. */
  double u = 1.0 - tn_philox_to_double (words[0], words[1]);
  double angle = 2.0 * G_PI * tn_philox_to_double (words[2], words[3]);
  double radius = sqrt (-2.0 * log (u));
  out[0] = radius * cos (angle);
  out[1] = radius * sin (angle);
}

uint64_t
tn_philox_bounded (uint64_t key, uint64_t step, uint64_t index, uint64_t bound)
{
  g_return_val_if_fail (bound > 0, 0);
  /* Lemire, "Fast random integer generation in an interval", 2019: the high half of x·bound is uniform once the x whose
   * low half is under 2^64 mod bound are left out. */
  uint64_t threshold = (0 - bound) % bound;
  for (uint64_t attempt = 0;; attempt++)
    {
      uint32_t words[4];
      tn_philox_block (key, step, index + (attempt << 56), words);
      for (int half = 0; half < 2; half++)
        {
          uint64_t x = (uint64_t) words[2 * half] << 32 | words[2 * half + 1];
          __extension__ unsigned __int128 product = (unsigned __int128) x * bound;
          if ((uint64_t) product >= threshold)
            return (uint64_t) (product >> 64);
        }
    }
}

double
tn_philox_double (uint64_t key, uint64_t step, uint64_t index)
{
  double value;
  tn_philox_uniform_f64 (key, step, index, 1, &value);
  return value;
}

void
tn_philox_uniform (uint64_t key, uint64_t step, uint64_t first_index, size_t n, float *out)
{
  uint32_t words[4];
  for (size_t i = 0; i < n; i++)
    {
      uint64_t index = first_index + i;
      if (i == 0 || index % 4 == 0)
        tn_philox_block (key, step, index / 4, words);
      out[i] = tn_philox_to_float (words[index % 4]);
    }
}

void
tn_philox_bernoulli (uint64_t key, uint64_t step, uint64_t first_index, size_t n, float p, uint8_t *out)
{
  uint32_t words[4];
  for (size_t i = 0; i < n; i++)
    {
      uint64_t index = first_index + i;
      if (i == 0 || index % 4 == 0)
        tn_philox_block (key, step, index / 4, words);
      out[i] = tn_philox_to_float (words[index % 4]) < p;
    }
}

void
tn_philox_uniform_f64 (uint64_t key, uint64_t step, uint64_t first_index, size_t n, double *out)
{
  uint32_t words[4];
  for (size_t i = 0; i < n; i++)
    {
      uint64_t index = first_index + i;
      if (i == 0 || index % 2 == 0)
        tn_philox_block (key, step, index / 2, words);
      out[i] = tn_philox_to_double (words[index % 2 * 2], words[index % 2 * 2 + 1]);
    }
}

static inline void
normal_pair (uint64_t key, uint64_t step, uint64_t block, double pair[2])
{
  uint32_t words[4];
  tn_philox_block (key, step, block, words);
  tn_philox_to_normal (words, pair);
}

void
tn_philox_normal (uint64_t key, uint64_t step, uint64_t first_index, size_t n, float *out)
{
  double pair[2];
  for (size_t i = 0; i < n; i++)
    {
      uint64_t index = first_index + i;
      if (i == 0 || index % 2 == 0)
        normal_pair (key, step, index / 2, pair);
      out[i] = (float) pair[index % 2];
    }
}

void
tn_philox_normal_f64 (uint64_t key, uint64_t step, uint64_t first_index, size_t n, double *out)
{
  double pair[2];
  for (size_t i = 0; i < n; i++)
    {
      uint64_t index = first_index + i;
      if (i == 0 || index % 2 == 0)
        normal_pair (key, step, index / 2, pair);
      out[i] = pair[index % 2];
    }
}

void
tn_philox_shuffle (uint64_t key, uint64_t step, int64_t n, int64_t *out)
{
  for (int64_t i = 0; i < n; i++)
    out[i] = i;
  for (int64_t i = n - 1; i > 0; i--)
    {
      int64_t j = (int64_t) tn_philox_bounded (key, step, (uint64_t) i, (uint64_t) i + 1);
      int64_t swap = out[i];
      out[i] = out[j];
      out[j] = swap;
    }
}
