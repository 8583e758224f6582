/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/peak.h"
#include <stdint.h>
#include <stdlib.h>
#include "device/cpu/lanes.h"

#define SLICES 10

static double
now_s (void)
{
  return g_get_monotonic_time () * 1e-6;
}

double
tn_peak_flops (TnIsa isa, double seconds)
{
  const TnLanesKernels *kernels = tn_lanes_kernels (isa);
  if (!kernels)
    return 0;
  float sink[2] = { 0.5f, 0.25f };
  double best = 0;
  /* A slice of a fraction of a millisecond fits between two interruptions; many of them find the clock's height. */
  const int64_t rounds = 400;
  for (double end = now_s () + seconds, t0 = now_s (), t1; t0 < end; t0 = t1)
    {
      double flops = 0;
      do
        {
          flops += kernels->burn (rounds, sink);
          t1 = now_s ();
        }
      while (t1 - t0 < 0.0005);
      best = MAX (best, flops / (t1 - t0));
    }
  return best;
}

typedef struct
{
  TnIsa isa;
  double seconds;
  gint *waiting;
} PeakJob;

/** The best of some slices, while the other threads do the same. */
static gpointer
peak_thread (gpointer data)
{
  const PeakJob *job = data;
  const TnLanesKernels *kernels = tn_lanes_kernels (job->isa);
  float sink[2] = { 0.5f, 0.25f };
  g_atomic_int_add (job->waiting, -1);
  while (g_atomic_int_get (job->waiting) > 0)
    g_thread_yield ();
  double best = 0;
  double slice = MAX (job->seconds / SLICES, 0.001);
  for (int i = 0; i < SLICES; i++)
    {
      double flops = 0, t0 = now_s (), t1;
      do
        {
          flops += kernels->burn (400, sink);
          t1 = now_s ();
        }
      while (t1 - t0 < slice);
      best = MAX (best, flops / (t1 - t0));
    }
  double *result = g_new (double, 1);
  *result = best;
  return result;
}

double
tn_peak_flops_threads (TnIsa isa, int n_threads, double seconds)
{
  g_return_val_if_fail (n_threads > 0, 0);
  if (!tn_lanes_kernels (isa))
    return 0;
  gint waiting = n_threads;
  PeakJob job = { isa, seconds, &waiting };
  g_autofree GThread **threads = g_new (GThread *, n_threads);
  for (int i = 0; i < n_threads; i++)
    threads[i] = g_thread_new ("tn-peak", peak_thread, &job);
  double sum = 0;
  for (int i = 0; i < n_threads; i++)
    {
      g_autofree double *flops = g_thread_join (threads[i]);
      sum += *flops;
    }
  return sum;
}

TnPeakBandwidth
tn_peak_bandwidth (TnIsa isa, double seconds)
{
  const size_t n = 16 << 20;
  TnPeakBandwidth peak = { 0 };
  const TnLanesKernels *kernels = tn_lanes_kernels (isa);
  if (!kernels)
    return peak;
  float *a = aligned_alloc (64, n * sizeof (float)), *b = aligned_alloc (64, n * sizeof (float)),
        *c = aligned_alloc (64, n * sizeof (float));
  if (a && b && c)
    {
      for (size_t i = 0; i < n; i++)
        a[i] = b[i] = c[i] = 1;
      double t0, t1, end = now_s () + seconds;
      float sum = 0;
      do
        {
          t0 = now_s ();
          sum += kernels->sum (a, n);
          t1 = now_s ();
          peak.read_bytes_per_s = MAX (peak.read_bytes_per_s, n * sizeof (float) / (t1 - t0));
          t0 = now_s ();
          kernels->triad (sum > 0 ? 0.5f : 0.25f, c, b, a, n);
          t1 = now_s ();
          peak.triad_bytes_per_s = MAX (peak.triad_bytes_per_s, 3.0 * n * sizeof (float) / (t1 - t0));
        }
      while (t1 < end);
    }
  free (a);
  free (b);
  free (c);
  return peak;
}
