/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"
#include <inttypes.h>

#include <glib/gi18n.h>
#include <math.h>

static gboolean use_si;

void
tn_format_use_si (gboolean si)
{
  use_si = si;
}

char *
tn_format_count_exact (gint64 value)
{
  return g_strdup_printf ("%'" PRId64, value);
}

char *
tn_format_count (gint64 value)
{
  static const char *const signs[] = { "M", "G", "T", "P" };
  if (value > -1000000 && value < 1000000)
    return tn_format_count_exact (value);
  double scaled = (double) value / 1e6;
  guint i = 0;
  for (; fabs (scaled) >= 999.95 && i + 1 < G_N_ELEMENTS (signs); i++)
    scaled /= 1000;
  return g_strdup_printf ("%.1f %s", scaled, signs[i]);
}

static char *
scaled (double value, double base, const char *const *units, int n)
{
  int i = 0;
  for (; fabs (value) >= base * 0.99995 && i + 1 < n; i++)
    value /= base;
  return g_strdup_printf (i == 0 ? "%.0f %s" : "%.1f %s", value, units[i]);
}

char *
tn_format_bytes (double bytes, gboolean si)
{
  static const char *const iec[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
  static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
  return isfinite (bytes) ? scaled (bytes, si ? 1000 : 1024, si ? units : iec, 6) : g_strdup ("—");
}

char *
tn_format_size (double bytes)
{
  return tn_format_bytes (bytes, use_si);
}

char *
tn_format_rate (double bytes_per_second)
{
  static const char *const units[] = { "B/s", "kB/s", "MB/s", "GB/s", "TB/s" };
  return isfinite (bytes_per_second) ? scaled (bytes_per_second, 1000, units, 5) : g_strdup ("—");
}

/* Three figures without an exponent. */
static char *
three_figures (double value)
{
  double size = fabs (value);
  return g_strdup_printf (size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : "%.2f", value);
}

char *
tn_format_time_ns (gint64 ns)
{
  double value = (double) ns;
  const char *unit = "ns";
  if (fabs (value) >= 999.5e6)
    value /= 1e9, unit = "s";
  else if (fabs (value) >= 999.5e3)
    value /= 1e6, unit = "ms";
  else if (fabs (value) >= 1000)
    value /= 1e3, unit = "µs";
  else
    return g_strdup_printf ("%" PRId64 " ns", ns);
  g_autofree char *text = three_figures (value);
  return g_strdup_printf ("%s %s", text, unit);
}

char *
tn_format_duration (double seconds)
{
  if (!isfinite (seconds) || seconds < 0)
    return g_strdup ("—");
  if (seconds < 1)
    return tn_format_time_ns ((gint64) (seconds * 1e9));
  gint64 s = (gint64) (seconds + 0.5);
  if (s < 60)
    return g_strdup_printf (_("%d s"), (int) s);
  if (s < 3600)
    return s % 60 == 0 ? g_strdup_printf (_("%d min"), (int) (s / 60)) : g_strdup_printf (_("%d min %d s"), (int) (s / 60), (int) (s % 60));
  if (s < 86400)
    return g_strdup_printf (_("%d h %d min"), (int) (s / 3600), (int) (s % 3600 / 60));
  return g_strdup_printf (_("%d d %d h"), (int) MIN (s / 86400, G_MAXINT), (int) (s % 86400 / 3600));
}

char *
tn_format_duration_range (double low, double high)
{
  if (!isfinite (low) || !isfinite (high) || high < 0)
    return g_strdup ("—");
  gint64 a = (gint64) floor (MAX (0, low)), b = (gint64) ceil (high);
  if (b < 60)
    return a == b ? g_strdup_printf (_("%d s"), (int) a) : g_strdup_printf (_("%d–%d s"), (int) a, (int) b);
  if (b < 3600)
    {
      a /= 60;
      b = (b + 59) / 60;
      return a == b ? g_strdup_printf (_("%d min"), (int) a) : g_strdup_printf (_("%d–%d min"), (int) a, (int) b);
    }
  a /= 3600;
  b = MIN ((b + 3599) / 3600, G_MAXINT);
  return a == b ? g_strdup_printf (_("%d h"), (int) a) : g_strdup_printf (_("%d–%d h"), (int) a, (int) b);
}

char *
tn_format_loss (double value)
{
  if (isnan (value))
    return g_strdup ("NaN");
  if (isinf (value))
    return g_strdup (value > 0 ? "∞" : "−∞");
  double size = fabs (value);
  if (value != 0 && (size < 1e-3 || size >= 1e6))
    return g_strdup_printf ("%.3e", value);
  return g_strdup_printf (size >= 999.95 ? "%.0f" : size >= 99.995 ? "%.1f" : size >= 9.9995 ? "%.2f" : size >= 0.99995 ? "%.3f" : "%.4f", value);
}

char *
tn_format_share (double share)
{
  return isfinite (share) ? g_strdup_printf ("%.1f %%", share * 100) : g_strdup ("—");
}

char *
tn_format_moment (gint64 unix_us)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  g_autoptr (GDateTime) utc = g_date_time_new_from_unix_utc (unix_us / G_USEC_PER_SEC);
  g_autoptr (GDateTime) moment = utc != NULL ? g_date_time_to_local (utc) : NULL;
  if (moment == NULL)
    return g_strdup ("—");
  g_autofree char *clock = g_date_time_format (moment, "%H:%M");
  g_autoptr (GDateTime) day = g_date_time_add_days (now, -1);
  if (g_date_time_get_year (moment) == g_date_time_get_year (now) && g_date_time_get_day_of_year (moment) == g_date_time_get_day_of_year (now))
    return g_strdup_printf (_("today %s"), clock);
  if (g_date_time_get_year (moment) == g_date_time_get_year (day) && g_date_time_get_day_of_year (moment) == g_date_time_get_day_of_year (day))
    return g_strdup_printf (_("yesterday %s"), clock);
  return g_date_time_format (moment, "%-d %b %Y");
}
