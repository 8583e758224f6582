/* SPDX-License-Identifier: Apache-2.0 */
#include "draw/axis.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECOND 1e6
#define MAX_TICKS 400

double
tn_axis_pixel (const TnAxis *self, double value)
{
  double share = self->log ? log (value / self->low) / log (self->high / self->low) : (value - self->low) / (self->high - self->low);
  return self->from + share * (self->to - self->from);
}

double
tn_axis_value (const TnAxis *self, double pixel)
{
  double share = (pixel - self->from) / (self->to - self->from);
  return self->log ? self->low * pow (self->high / self->low, share) : self->low + share * (self->high - self->low);
}

void
tn_axis_zoom (TnAxis *self, double pixel, double factor)
{
  double at = tn_axis_value (self, pixel);
  if (!(factor > 0) || !isfinite (at))
    return;
  if (self->log)
    {
      self->low = at * pow (self->low / at, 1 / factor);
      self->high = at * pow (self->high / at, 1 / factor);
      return;
    }
  self->low = at + (self->low - at) / factor;
  self->high = at + (self->high - at) / factor;
}

void
tn_axis_pan (TnAxis *self, double pixels)
{
  double low = tn_axis_value (self, self->from + pixels), high = tn_axis_value (self, self->to + pixels);
  self->low = low;
  self->high = high;
}

void
tn_axis_limit (TnAxis *self, double low, double high, double least)
{
  if (self->log)
    {
      TnAxis logs = { .low = log (self->low), .high = log (self->high) };
      tn_axis_limit (&logs, log (low), log (high), log (least));
      self->low = exp (logs.low);
      self->high = exp (logs.high);
      return;
    }
  double span = fmax (self->high - self->low, least), middle = (self->low + self->high) / 2;
  if (span > self->high - self->low)
    {
      self->low = middle - span / 2;
      self->high = middle + span / 2;
    }
  if (span >= high - low)
    {
      self->low = fmin (low, (low + high - least) / 2);
      self->high = fmax (high, (low + high + least) / 2);
    }
  else if (self->low < low)
    {
      self->high = low + span;
      self->low = low;
    }
  else if (self->high > high)
    {
      self->low = high - span;
      self->high = high;
    }
}

double
tn_axis_ladder (double value)
{
  if (!(value > 0) || !isfinite (value))
    return 1;
  double power = pow (10, floor (log10 (value)));
  static const double rungs[] = { 1, 2, 5, 10, 20 };
  for (int i = 0; i < G_N_ELEMENTS (rungs); i++)
    if (rungs[i] * power >= value * (1 - 1e-9))
      return rungs[i] * power;
  return 10 * power;
}

/* --- labels --- */

static const char *
prefix_of (int thousands)
{
  static const char *const prefixes[] = { "q", "r", "y", "z", "a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q" };
  return thousands >= -10 && thousands <= 10 ? prefixes[thousands + 10] : NULL;
}

static void
localize (char *text)
{
  const char *point = localeconv ()->decimal_point;
  char *at = strchr (text, '.');
  if (at != NULL && point != NULL && strlen (point) == 1)
    *at = *point;
}

/* A hyphen is no minus sign. */
static void
put_number (char *text, const char *digits, const char *prefix, gboolean localized)
{
  gboolean negative = digits[0] == '-';
  gboolean zero = strspn (digits + negative, "0.") == strlen (digits + negative);
  snprintf (text, TN_TICK_LABEL, "%s%s%s%s", negative && !zero ? "−" : "", digits + negative, *prefix != '\0' ? " " : "", prefix);
  if (localized)
    localize (text);
}

static int
thousands_of (double value)
{
  double size = fabs (value);
  if (size == 0 || (size >= 1e-3 && size < 1e4))
    return 0;
  return (int) floor (log10 (size) / 3 + 1e-12);
}

const char *
tn_format_si (double value, int digits, gboolean localized, char *text)
{
  if (!isfinite (value))
    return strcpy (text, isnan (value) ? "NaN" : value > 0 ? "∞" : "−∞");
  int thousands = thousands_of (value);
  const char *prefix = prefix_of (thousands);
  char number[64], format[16];
  if (prefix == NULL)
    {
      g_snprintf (format, sizeof format, "%%.%de", MAX (0, digits - 1));
      g_ascii_formatd (number, sizeof number, format, value);
      put_number (text, number, "", localized);
      return text;
    }
  double scaled = value / pow (1000, thousands);
  int before = scaled == 0 ? 1 : (int) floor (log10 (fabs (scaled)) + 1e-12) + 1;
  g_snprintf (format, sizeof format, "%%.%df", CLAMP (digits - before, 0, 12));
  g_ascii_formatd (number, sizeof number, format, scaled);
  put_number (text, number, prefix, localized);
  return text;
}

/* --- linear --- */

static void
add_tick (GArray *ticks, double value, gboolean major, const char *label)
{
  TnTick tick = { .value = value, .major = major };
  g_strlcpy (tick.label, label, sizeof tick.label);
  g_array_append_val (ticks, tick);
}

/* All labels of an axis have the same prefix and the same number of decimals, so that they can be compared at a glance. */
static void
label_linear (TnTick *tick, double value, double interval, int thousands, gboolean localized)
{
  double unit = pow (1000, thousands);
  int decimals = CLAMP ((int) ceil (-log10 (interval / unit) - 1e-9), 0, 15);
  char format[16], number[64];
  const char *prefix = prefix_of (thousands);
  if (prefix == NULL)
    {
      tn_format_si (value, 3, localized, tick->label);
      return;
    }
  g_snprintf (format, sizeof format, "%%.%df", decimals);
  g_ascii_formatd (number, sizeof number, format, value / unit);
  put_number (tick->label, number, fabs (value) < interval / 2 ? "" : prefix, localized);
}

static int64_t
floor_to (int64_t value, int64_t multiple)
{
  int64_t rest = value % multiple;
  return value - (rest < 0 ? rest + multiple : rest);
}

/* Distance from the origin of a multiple of @interval at or below the origin. */
static double
anchor_of (int64_t origin, double interval)
{
  if (origin == 0)
    return 0;
  if (interval >= 1 && interval < 9e18)
    return (double) (floor_to (origin, (int64_t) interval) - origin);
  return 0; /* the origin is whole, and so a multiple of what is smaller than 1 */
}

static double
value_gap (const TnAxis *self, double gap)
{
  double pixels = fabs (self->to - self->from);
  return pixels > 0 ? (self->high - self->low) * gap / pixels : self->high - self->low;
}

/* Rounding may put a multiple of a large interval beside a small range. */
static gboolean
is_in_range (const TnAxis *self, double value)
{
  double slack = 1e-6 * (self->high - self->low);
  return value >= self->low - slack && value <= self->high + slack;
}

static GArray *
linear_ticks (const TnAxis *self, double interval, double unit_size, gboolean localized)
{
  GArray *ticks = g_array_new (FALSE, TRUE, sizeof (TnTick));
  double anchor = anchor_of (self->origin, interval);
  double first = ceil ((self->low - anchor) / interval - 1e-9), last = floor ((self->high - anchor) / interval + 1e-9);
  if (!(last - first < MAX_TICKS))
    return ticks;
  double largest = fmax (fabs (self->low + (double) self->origin), fabs (self->high + (double) self->origin)) / unit_size;
  int thousands = thousands_of (fmax (largest, interval / unit_size));
  for (double i = first; i <= last; i++)
    {
      TnTick tick = { .value = anchor + i * interval, .major = TRUE };
      if (!is_in_range (self, tick.value))
        continue;
      label_linear (&tick, ((double) self->origin + tick.value) / unit_size, interval / unit_size, thousands, localized);
      g_array_append_val (ticks, tick);
    }
  return ticks;
}

static GArray *
duration_ticks (const TnAxis *self, double gap, gboolean localized, char *unit)
{
  static const struct { double size; const char *name; } units[] = {
    { 86400 * SECOND, "d" }, { 3600 * SECOND, "h" }, { 60 * SECOND, "min" }, { SECOND, "s" }, { 1e3, "ms" }, { 1, "µs" },
  };
  double largest = fmax (fabs (self->low), fabs (self->high));
  int i = 0;
  while (i + 1 < G_N_ELEMENTS (units) && largest < 2 * units[i].size)
    i++;
  g_strlcpy (unit, units[i].name, TN_TICK_LABEL);
  return linear_ticks (self, units[i].size * tn_axis_ladder (value_gap (self, gap) / units[i].size), units[i].size, localized);
}

/* --- local time --- */

static double
clock_interval (double least)
{
  static const double steps[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800 };
  if (least < SECOND)
    return fmax (1, tn_axis_ladder (least));
  for (int i = 0; i < G_N_ELEMENTS (steps); i++)
    if (steps[i] * SECOND >= least)
      return steps[i] * SECOND;
  return 7 * 86400 * SECOND * tn_axis_ladder (least / (7 * 86400 * SECOND));
}

static GArray *
clock_ticks (const TnAxis *self, double gap)
{
  GArray *ticks = g_array_new (FALSE, TRUE, sizeof (TnTick));
  double interval = clock_interval (value_gap (self, gap));
  g_autoptr (GDateTime) start = g_date_time_new_from_unix_local ((self->origin + (int64_t) self->low) / (int64_t) SECOND);
  int64_t shift = start != NULL ? g_date_time_get_utc_offset (start) : 0; /* whole hours and days of the local zone */
  double anchor = anchor_of (self->origin + shift, interval);
  double first = ceil ((self->low - anchor) / interval), last = floor ((self->high - anchor) / interval);
  if (!(last - first < MAX_TICKS))
    return ticks;
  int day = -1;
  for (double i = first; i <= last; i++)
    {
      double value = anchor + i * interval;
      int64_t us = self->origin + (int64_t) value;
      g_autoptr (GDateTime) time = g_date_time_new_from_unix_local (us / (int64_t) SECOND);
      if (time == NULL || !is_in_range (self, value))
        continue;
      gboolean new_day = day >= 0 && day != g_date_time_get_day_of_year (time);
      day = g_date_time_get_day_of_year (time);
      const char *format = interval >= 86400 * SECOND || new_day ? "%-d %b" : interval >= 60 * SECOND ? "%H:%M" : "%H:%M:%S";
      g_autofree char *text = g_date_time_format (time, format);
      g_autofree char *fine = g_strdup_printf ("%s.%03d", text, (int) (us % (int64_t) SECOND / 1000));
      add_tick (ticks, value, TRUE, interval < SECOND ? fine : text);
    }
  return ticks;
}

/* --- log --- */

static GArray *
log_ticks (const TnAxis *self, double gap, gboolean localized)
{
  GArray *ticks = g_array_new (FALSE, TRUE, sizeof (TnTick));
  double decades = log10 (self->high / self->low), pixels = fabs (self->to - self->from) / decades;
  int every = (int) ceil (gap / pixels);
  gboolean halves = pixels * log10 (2) >= gap; /* 2 and 5 get labels too: the smallest distance is from 1 to 2 or 5 to 10 */
  int first = (int) floor (log10 (self->low)), last = (int) ceil (log10 (self->high));
  if (last - first > MAX_TICKS)
    return ticks;
  for (int decade = first; decade <= last; decade++)
    for (int digit = 1; digit <= 9; digit++)
      {
        double value = digit * pow (10, decade);
        gboolean major = (digit == 1 && ((decade % every) + every) % every == 0) || (halves && (digit == 2 || digit == 5));
        gboolean seen = value >= self->low * (1 - 1e-12) && value <= self->high * (1 + 1e-12);
        if (!seen || (!major && pixels < 16))
          continue;
        char label[TN_TICK_LABEL] = "";
        if (major)
          tn_format_si (value, 1, localized, label);
        add_tick (ticks, value, major, label);
      }
  return ticks;
}

static int
count_major (GArray *ticks)
{
  int n = 0;
  for (guint i = 0; i < ticks->len; i++)
    n += g_array_index (ticks, TnTick, i).major;
  return n;
}

/* Less than a decade is seen: values of the linear ladder, as far apart as those at the crowded upper end need. */
static GArray *
short_log_ticks (const TnAxis *self, double gap, gboolean localized)
{
  double sign = self->to > self->from ? 1 : -1;
  double width = self->high - tn_axis_value (self, self->to - sign * gap);
  GArray *ticks = linear_ticks (self, tn_axis_ladder (width), 1, localized);
  if (ticks->len > 0 && g_array_index (ticks, TnTick, 0).value < self->low * (1 - 1e-9)) /* 0, within rounding */
    g_array_remove_index (ticks, 0);
  return ticks;
}

/* Decades where two of them have room, else the linear ladder. */
static GArray *
choose_log_ticks (const TnAxis *self, double gap, gboolean localized)
{
  GArray *ticks = log_ticks (self, gap, localized);
  int n = count_major (ticks);
  if (n >= 2)
    return ticks;
  GArray *few = short_log_ticks (self, gap, localized);
  gboolean better = count_major (few) > n;
  g_array_unref (better ? ticks : few);
  return better ? few : ticks;
}

GArray *
tn_axis_ticks (const TnAxis *self, TnTicksKind kind, double gap, gboolean localized, char *unit)
{
  unit[0] = '\0';
  if (!(self->high > self->low) || self->from == self->to || (self->log && !(self->low > 0)))
    return g_array_new (FALSE, TRUE, sizeof (TnTick));
  if (self->log)
    {
      TnAxis axis = *self;
      if (kind == TN_TICKS_DURATION)
        {
          g_strlcpy (unit, "s", TN_TICK_LABEL);
          axis.low /= SECOND;
          axis.high /= SECOND;
        }
      GArray *ticks = choose_log_ticks (&axis, gap, localized);
      for (guint i = 0; i < ticks->len && kind == TN_TICKS_DURATION; i++)
        g_array_index (ticks, TnTick, i).value *= SECOND;
      return ticks;
    }
  if (kind == TN_TICKS_DURATION)
    return duration_ticks (self, gap, localized, unit);
  if (kind == TN_TICKS_CLOCK)
    return clock_ticks (self, gap);
  double interval = tn_axis_ladder (value_gap (self, gap));
  return linear_ticks (self, kind == TN_TICKS_WHOLE ? fmax (1, interval) : interval, 1, localized);
}
