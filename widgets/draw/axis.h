/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <glib.h>
#include <stdint.h>

/* TnAxis: where values lie on a line of pixels, and which of them get a mark.
 *
 * Values are told as a distance from an int64 origin, which is subtracted before anything becomes a floating-point number: steps
 * and times in nanoseconds keep all their digits at any zoom. A plain struct; no GTK, no canvas.
 *
 *   TnAxis x = { .low = 0, .high = 9380, .from = 48, .to = 640 };
 *   tn_axis_zoom (&x, pointer_x, 1.15);
 */
typedef enum
{
  TN_TICKS_NUMBER,
  TN_TICKS_WHOLE,    /* steps: never a fraction */
  TN_TICKS_DURATION, /* microseconds, shown in us, ms, s, min, h or d */
  TN_TICKS_CLOCK     /* microseconds since 1970, shown as local time */
} TnTicksKind;

typedef struct
{
  int64_t origin;    /* 0 where log */
  double low, high;  /* what is seen, from the origin; low < high; log: 0 < low */
  double from, to;   /* pixels of low and high; from > to for an axis that points upwards */
  gboolean log;
} TnAxis;

#define TN_TICK_LABEL 32
typedef struct
{
  double value;
  gboolean major; /* has a label */
  char label[TN_TICK_LABEL];
} TnTick;

double tn_axis_pixel (const TnAxis *self, double value);
double tn_axis_value (const TnAxis *self, double pixel);
/** What lies under @pixel stays there; @factor > 1 shows less. */
void tn_axis_zoom (TnAxis *self, double pixel, double factor);
/** Moves what is seen by @pixels. */
void tn_axis_pan (TnAxis *self, double pixels);
/** Pushes what is seen into [@low, @high] and widens it to at least @least (a ratio on a log axis). */
void tn_axis_limit (TnAxis *self, double low, double high, double least);

/** Marks on a 1-2-5 ladder, those with labels at least @gap pixels apart, in order; on a log axis also minor ones at 2 to 9. @unit, of
 * TN_TICK_LABEL bytes: what stands once at the axis' end, "" for none. @localized: the user's decimal point, else that of the C
 * locale. Array of TnTick; free with g_array_unref. */
GArray *tn_axis_ticks (const TnAxis *self, TnTicksKind kind, double gap, gboolean localized, char *unit);

/** Smallest number of the ladder 1, 2, 5, 10, 20 ... that is not below @value. */
double tn_axis_ladder (double value);
/** "0.042", "12.3 k", "1.25 µ": @digits significant digits, with an SI prefix from 10^4 on and below 10^-3. "NaN", "∞", "−∞" where not
 * finite. @text: TN_TICK_LABEL bytes. */
const char *tn_format_si (double value, int digits, gboolean localized, char *text);
