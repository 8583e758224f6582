/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/crc32c.h"

/* RFC 3720, B.4. There the CRC bytes are listed in transmission order; as numbers (and in every other implementation): */
static void
test_rfc3720 (void)
{
  uint8_t data[32];
  memset (data, 0, 32);
  g_assert_cmphex (tn_crc32c (0, data, 32), ==, 0x8a9136aa);
  memset (data, 0xff, 32);
  g_assert_cmphex (tn_crc32c (0, data, 32), ==, 0x62a8ab43);
  for (int i = 0; i < 32; i++)
    data[i] = (uint8_t) i;
  g_assert_cmphex (tn_crc32c (0, data, 32), ==, 0x46dd794e);
  for (int i = 0; i < 32; i++)
    data[i] = (uint8_t) (31 - i);
  g_assert_cmphex (tn_crc32c (0, data, 32), ==, 0x113fdb5c);

  static const uint8_t scsi_read[48] = { [0] = 0x01, [1] = 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02 };
  g_assert_cmphex (tn_crc32c (0, scsi_read, 48), ==, 0xd9963a56);
  g_assert_cmphex (tn_crc32c (0, "123456789", 9), ==, 0xe3069283); /* the check value of the CRC catalogue */
}

static void
test_incremental_and_table_agree (void)
{
  guint32 seed = g_test_rand_int ();
  g_test_message ("seed %u", seed);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  uint8_t data[1000];
  for (gsize i = 0; i < sizeof data; i++)
    data[i] = (uint8_t) g_rand_int (rand);
  for (int round = 0; round < 300; round++)
    {
      gsize start = g_rand_int_range (rand, 0, 50), end = g_rand_int_range (rand, start, sizeof data);
      gsize middle = g_rand_int_range (rand, start, end + 1);
      uint32_t whole = tn_crc32c (0, data + start, end - start);
      uint32_t first = tn_crc32c (0, data + start, middle - start);
      g_assert_cmphex (tn_crc32c (first, data + middle, end - middle), ==, whole);
      g_assert_cmphex (tn_crc32c_table (0, data + start, end - start), ==, whole);
    }
}

/* The TFRecord length field of a 24-byte first record (brain.Event:2), as TensorFlow writes it: 18 00 .. 00, a3 7f 4b 22. */
static void
test_masked_as_tensorflow (void)
{
  static const uint8_t length[8] = { 0x18 };
  uint32_t masked = tn_crc32c_mask (tn_crc32c (0, length, 8));
  g_assert_cmphex (masked, ==, 0x224b7fa3);
  g_assert_cmphex (tn_crc32c_unmask (masked), ==, tn_crc32c (0, length, 8));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/base/crc32c/rfc3720-vectors", test_rfc3720);
  g_test_add_func ("/base/crc32c/incremental-and-table-agree", test_incremental_and_table_agree);
  g_test_add_func ("/base/crc32c/masked-as-tensorflow", test_masked_as_tensorflow);
  return g_test_run ();
}
