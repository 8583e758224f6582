/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>

/* Numbers as the window shows them: the locale's separators, few figures, a unit. Files and the clipboard use the C locale
 * instead. All results are freed with g_free. */

/** "9 380"; above 999 999 "1.2 M". */
char *tn_format_count (gint64 value);
/** All figures, with separators: for tooltips. */
char *tn_format_count_exact (gint64 value);
/** "12.3 MiB", or "12.9 MB" where @si. */
char *tn_format_bytes (double bytes, gboolean si);
/** As the setting byte-units says; see tn_format_use_si(). */
char *tn_format_size (double bytes);
void tn_format_use_si (gboolean si);
/** "8.4 GB/s". */
char *tn_format_rate (double bytes_per_second);
/** Three figures: "4.52 ms". */
char *tn_format_time_ns (gint64 ns);
/** "43 s", "4 min 10 s", "2 h 5 min". */
char *tn_format_duration (double seconds);
/** "35–40 s", "2–3 min". */
char *tn_format_duration_range (double low, double high);
/** Four figures; "NaN", "∞". */
char *tn_format_loss (double value);
/** 0.989 as "98.9 %". */
char *tn_format_share (double share);
/** "today 11:40", "yesterday 09:12", "30 Nov 2026": Unix microseconds, local zone. */
char *tn_format_moment (gint64 unix_us);
