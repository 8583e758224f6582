/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"

#include <math.h>

static void
eq (char *text, const char *expected)
{
  g_assert_cmpstr (text, ==, expected);
  g_free (text);
}

/* Expected values: ui.md 1.15 and 1.8. */
static void
test_examples (void)
{
  eq (tn_format_count (1240), "1240");
  eq (tn_format_count (999999), "999999");
  eq (tn_format_count (1200000), "1.2 M");
  eq (tn_format_bytes (12897484, FALSE), "12.3 MiB");
  eq (tn_format_bytes (12897484, TRUE), "12.9 MB");
  eq (tn_format_rate (8.4e9), "8.4 GB/s");
  eq (tn_format_duration (250), "4 min 10 s");
  eq (tn_format_duration (43), "43 s");
  eq (tn_format_duration_range (35.4, 39.2), "35–40 s");
  eq (tn_format_share (0.989), "98.9 %");
  eq (tn_format_loss (0.21304), "0.2130");
  eq (tn_format_loss (NAN), "NaN");
  eq (tn_format_time_ns (4520000), "4.52 ms");
  eq (tn_format_time_ns (812), "812 ns");
}

/* Never a unit whose number has four figures before the point. */
static void
test_edges (void)
{
  eq (tn_format_bytes (1023, FALSE), "1023 B");
  eq (tn_format_bytes (1024, FALSE), "1.0 KiB");
  eq (tn_format_bytes (1048575, FALSE), "1.0 MiB");
  eq (tn_format_time_ns (999999), "1.00 ms");
  eq (tn_format_duration (59.7), "1 min");
  eq (tn_format_bytes (NAN, FALSE), "—");
  eq (tn_format_duration (-1), "—");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/format/examples", test_examples);
  g_test_add_func ("/format/edges", test_edges);
  return g_test_run ();
}
