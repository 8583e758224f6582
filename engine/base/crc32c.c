/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

/* Slicing by four: table[k][b] is the CRC of byte b followed by k zero bytes. */
static uint32_t table[4][256];

static void
fill_table (void)
{
  for (uint32_t byte = 0; byte < 256; byte++)
    {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; bit++)
        crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
      table[0][byte] = crc;
    }
  for (int k = 1; k < 4; k++)
    for (int byte = 0; byte < 256; byte++)
      table[k][byte] = (table[k - 1][byte] >> 8) ^ table[0][table[k - 1][byte] & 0xff];
}

uint32_t
tn_crc32c_table (uint32_t crc, const void *data, size_t n)
{
  static gsize filled = 0;
  if (g_once_init_enter (&filled))
    {
      fill_table ();
      g_once_init_leave (&filled, 1);
    }

  const uint8_t *bytes = data;
  crc = ~crc;
  for (; n >= 4; n -= 4, bytes += 4)
    {
      uint32_t word;
      memcpy (&word, bytes, 4);
      crc ^= GUINT32_FROM_LE (word);
      crc = table[3][crc & 0xff] ^ table[2][(crc >> 8) & 0xff] ^ table[1][(crc >> 16) & 0xff] ^ table[0][crc >> 24];
    }
  for (; n > 0; n--, bytes++)
    crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 0xff];
  return ~crc;
}

#ifdef __x86_64__
__attribute__ ((target ("sse4.2"))) static uint32_t
crc32c_sse42 (uint32_t crc, const void *data, size_t n)
{
  const uint8_t *bytes = data;
  uint64_t state = ~crc;
  for (; n >= 8; n -= 8, bytes += 8)
    {
      uint64_t word;
      memcpy (&word, bytes, 8);
      state = __builtin_ia32_crc32di (state, word);
    }
  for (; n > 0; n--, bytes++)
    state = __builtin_ia32_crc32qi ((uint32_t) state, *bytes);
  return ~(uint32_t) state;
}
#endif

uint32_t
tn_crc32c (uint32_t crc, const void *data, size_t n)
{
#ifdef __x86_64__
  if (__builtin_cpu_supports ("sse4.2"))
    return crc32c_sse42 (crc, data, n);
#endif
  return tn_crc32c_table (crc, data, n);
}
