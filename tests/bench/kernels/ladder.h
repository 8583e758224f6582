/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/cpu/lanes.h"
#include "device/cpu/peak.h"

/* What a ladder of kernels needs besides the kernels: arrays, the least time of many runs, a line of report, a check. */

static const TnLanesKernels *kernels;
static double peak; /* FLOP/s of one thread */
static const char *wanted = "";
static gboolean time_plain;
static int n_wrong;

static double
now_us (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static float *
floats (size_t n)
{
  float *p = aligned_alloc (64, (n * sizeof (float) + 127) / 64 * 64);
  memset (p, 0, (n * sizeof (float) + 127) / 64 * 64);
  return p;
}

static float *
random_floats (size_t n)
{
  float *p = floats (n);
  for (size_t i = 0; i < n; i++)
    p[i] = (float) rand () / (float) RAND_MAX - 0.5f;
  return p;
}

typedef void (*Work) (void *data);

/** Least time of a run, over at least @total_us. */
static double
time_us (Work work, void *data, double total_us)
{
  double best = 1e30;
  int inner = 1;
  for (double end = now_us () + total_us; now_us () < end;)
    {
      double t0 = now_us ();
      for (int i = 0; i < inner; i++)
        work (data);
      double t = (now_us () - t0) / inner;
      best = MIN (best, t);
      if (t * inner < 30)
        inner *= 2;
    }
  return best;
}

static void
report (const char *name, int variant, double us, double flops, double bytes)
{
  if (flops > 0)
    printf ("%-34s %d %10.2f us %8.1f GF/s %6.1f %%\n", name, variant, us, flops / us * 1e-3, 100 * flops / us * 1e6 / peak);
  else
    printf ("%-34s %d %10.2f us %8.1f GB/s\n", name, variant, us, bytes / us * 1e-3);
  fflush (stdout);
}

static int
variant_of (const TnLanesKernels *k)
{
  return k->isa == TN_ISA_SSE2 ? 1 : k->isa == TN_ISA_AVX2 ? 2 : 3;
}

static gboolean
is_near (const float *got, const float *expected, size_t n, const char *name)
{
  double scale = 0;
  for (size_t i = 0; i < n; i++)
    scale = MAX (scale, fabs (expected[i]));
  for (size_t i = 0; i < n; i++)
    if (!(fabs (got[i] - expected[i]) <= 1e-4 * (scale + 1e-6)))
      {
        printf ("%-34s WRONG at %zu: %g, expected %g\n", name, i, got[i], expected[i]);
        n_wrong++;
        return FALSE;
      }
  return TRUE;
}
