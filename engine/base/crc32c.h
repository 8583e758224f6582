/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* CRC-32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720 appendix B.4): checkpoints and TFRecord files. Uses the
 * SSE4.2 instruction where the processor has it. */

/** CRC of @n bytes that follow bytes whose CRC is @crc; start with 0. */
uint32_t tn_crc32c (uint32_t crc, const void *data, size_t n);
/** The same by table, whatever the processor: for the tests. */
uint32_t tn_crc32c_table (uint32_t crc, const void *data, size_t n);

/** TFRecord's masked form: rotated right by 15 and 0xa282ead8 added, so that the CRC of data holding CRCs stays good. */
static inline uint32_t
tn_crc32c_mask (uint32_t crc)
{
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static inline uint32_t
tn_crc32c_unmask (uint32_t masked)
{
  uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}
