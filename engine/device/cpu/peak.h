/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "device/cpu/cpu-isa.h"

/* Peaks of this machine, measured and not looked up by name: what shares of peak are counted against. Each call keeps its
 * threads busy for about @seconds and blocks; call from any thread, best while nothing else runs. */

typedef struct
{
  double read_bytes_per_s;  /* sum of an array far larger than the caches */
  double triad_bytes_per_s; /* a = b + s * c, three arrays, as STREAM counts */
} TnPeakBandwidth;

/** Multiply-adds a second of one thread, times two; the best of several slices of @seconds. 0 if the level is not
 * available. */
double tn_peak_flops (TnIsa isa, double seconds);
/** The same for @n_threads at once: the sum of each one's best slice. */
double tn_peak_flops_threads (TnIsa isa, int n_threads, double seconds);
/** Memory bandwidth of one thread over arrays of 64 MiB; zeros if there is no memory for them. */
TnPeakBandwidth tn_peak_bandwidth (TnIsa isa, double seconds);
